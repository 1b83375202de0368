//===- ModuleObject.cpp - the object file that makes kernels a module -------------------------===//
//
// Data and one function, as LLVM IR:
//
//   @plan    = constant [N x i8] ..., section ".dlc.plan", align 64
//   @kernels = constant [K x ptr] [...]
//   @module  = constant dlc_module { ..., @plan, N, @kernels, K }
//   @note    = constant { 4, sizeof(dlc_note), 1, "dlc\0", dlc_note }, section ".note.dlc"
//              (LLVM makes it SHT_NOTE)
//   define ptr @dlc_module_query(i32 %newest) { return %newest >= ABI ? @module : null }
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/Plan/ModuleObject.h"
#include "codegen/CPU/Architecture.h"
#include "codegen/Compile/KernelCache.h"
#include "dlc/abi.h"
#include "dlc/version.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"
#include <cstring>

using namespace llvm;

namespace dlc::codegen {

namespace {

class ModuleBuilder {
public:
  explicit ModuleBuilder(LLVMContext &context)
      : module("dlc", context), pointer(PointerType::getUnqual(context)),
        i32(Type::getInt32Ty(context)), i64(Type::getInt64Ty(context)) {}

  void build(const PlanBlob &plan, const dlc_note &note) {
    GlobalVariable *blob = addData("plan", StringRef(plan.bytes), DLC_ALIGNMENT);
    blob->setSection(".dlc.plan");
    addNote(note);
    addQuery(addModule(blob, plan.bytes.size(), addKernels(plan.functions)));
  }

  Module module;

private:
  GlobalVariable *addConstant(StringRef name, Constant *value, uint64_t alignment) {
    auto *global = new GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                      GlobalValue::InternalLinkage, value, name);
    global->setAlignment(Align(alignment));
    return global;
  }

  GlobalVariable *addData(StringRef name, StringRef bytes, uint64_t alignment) {
    return addConstant(name,
                       ConstantDataArray::getString(module.getContext(), bytes, /*AddNull=*/false),
                       alignment);
  }

  GlobalVariable *addKernels(ArrayRef<std::string> functions) {
    Type *void_ = Type::getVoidTy(module.getContext());
    auto *type = FunctionType::get(void_, {pointer, i32, pointer}, /*isVarArg=*/false);
    SmallVector<Constant *> table;
    for (const std::string &name : functions) {
      auto *kernel = cast<Function>(module.getOrInsertFunction(name, type).getCallee());
      kernel->setVisibility(GlobalValue::HiddenVisibility);
      table.push_back(kernel);
    }
    return addConstant("kernels", ConstantArray::get(ArrayType::get(pointer, table.size()), table),
                       8);
  }

  GlobalVariable *addModule(GlobalVariable *blob, uint64_t size, GlobalVariable *kernels) {
    uint64_t count = cast<ArrayType>(kernels->getValueType())->getNumElements();
    Constant *fields[] = {ConstantInt::get(i32, sizeof(dlc_module)),
                          ConstantInt::get(i32, DLC_ABI_VERSION),
                          blob,
                          ConstantInt::get(i64, size),
                          kernels,
                          ConstantInt::get(i32, count),
                          ConstantInt::get(i32, 0)};
    return addConstant("module", ConstantStruct::getAnon(fields), 8);
  }

  void addNote(const dlc_note &note) {
    std::string bytes;
    for (uint32_t number :
         {uint32_t(sizeof(DLC_NOTE_NAME)), uint32_t(sizeof(dlc_note)), DLC_NOTE_TYPE})
      bytes.append(reinterpret_cast<const char *>(&number), sizeof(number));
    bytes.append(DLC_NOTE_NAME, sizeof(DLC_NOTE_NAME));
    bytes.append(reinterpret_cast<const char *>(&note), sizeof(note));
    addData("note", bytes, 4)->setSection(".note.dlc");
  }

  void addQuery(GlobalVariable *description) {
    auto *type = FunctionType::get(pointer, {i32}, /*isVarArg=*/false);
    auto *query = Function::Create(type, GlobalValue::ExternalLinkage, "dlc_module_query", module);
    query->addFnAttr(Attribute::NoUnwind);
    IRBuilder<> builder(BasicBlock::Create(module.getContext(), "", query));
    Value *known = builder.CreateICmpUGE(query->getArg(0), ConstantInt::get(i32, DLC_ABI_VERSION));
    builder.CreateRet(builder.CreateSelect(known, description, ConstantPointerNull::get(pointer)));
  }

  PointerType *pointer;
  Type *i32, *i64;
};

} // namespace

static dlc_note describe(const PlanBlob &plan, const codegen::ModuleNeeds &needs) {
  dlc_note note = {};
  note.magic = DLC_NOTE_MAGIC;
  note.size = sizeof(dlc_note);
  note.abi_version = DLC_ABI_VERSION;
  note.targets = needs.targets;
  note.cpu_features = needs.cpuFeatures;
  std::strncpy(note.cpu_name, needs.cpu.c_str(), sizeof(note.cpu_name) - 1);
  note.plan_size = plan.bytes.size();
  llvm::copy(hashText(plan.bytes), note.graph_hash);
  std::strncpy(note.compiler, "dlc " DLC_VERSION, sizeof(note.compiler) - 1);
  return note;
}

Expected<std::string> buildModuleObject(const PlanBlob &plan, const codegen::Target &target,
                                        ArrayRef<SelectedKernel> kernels) {
  LLVMContext context;
  ModuleBuilder builder(context);
  builder.build(plan, describe(plan, target.needsOf(kernels)));
  const Architecture &architecture = architectureOf(Triple(target.triple()));
  architecture.registerBackend();
  const Triple triple(architecture.triple());
  std::string error;
  const llvm::Target *backend = TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return createStringError(error);
  std::unique_ptr<TargetMachine> machine(
      backend->createTargetMachine(triple, architecture.plainest(), "", TargetOptions(),
                                   Reloc::PIC_, std::nullopt, CodeGenOptLevel::None));
  builder.module.setTargetTriple(triple);
  builder.module.setDataLayout(machine->createDataLayout());
  SmallVector<char> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile))
    return createStringError("this LLVM writes no object files for " + triple.str());
  passes.run(builder.module);
  return std::string(object.begin(), object.end());
}

} // namespace dlc::codegen
