//===- Routines.cpp - functions that many kernels share ---------------------------------------===//
#include "codegen/CPU/Lowering/Routines.h"
#include "codegen/Compile/KernelCache.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Names
//===------------------------------------------------------------------------------------------===//

StringAttr RoutineNames::take(LLVM::LLVMFuncOp function) {
  function.setSymName(routinePrefix);
  llvm::hash_code hash = 0;
  function.walk([&](Operation *op) {
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(op, OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::IgnoreLocations));
  });
  auto [first, last] = all.equal_range(hash);
  for (auto &[key, known] : llvm::make_range(first, last))
    if (OperationEquivalence::isEquivalentTo(function, known.function->getOperation(),
                                             OperationEquivalence::IgnoreLocations))
      return known.name;
  std::string text;
  llvm::raw_string_ostream stream(text);
  function->print(stream, OpPrintingFlags().useLocalScope());
  auto name =
      StringAttr::get(function.getContext(), routinePrefix.str() + hexadecimal(hashText(text)));
  all.emplace(hash, Known{function.clone(), name});
  return name;
}

namespace {
/// Finds a module's routines and gives them their names.
class RoutineFinder {
public:
  RoutineFinder(ModuleOp module, RoutineNames &names) : module(module), names(names) {
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      all[function.getSymNameAttr()].function = function;
    for (auto &entry : all)
      collectUses(entry.second);
  }

  /// Those that a routine calls come before it.
  SmallVector<LLVM::LLVMFuncOp> run() {
    for (auto &entry : all)
      take(entry.second);
    return routines;
  }

private:
  struct Function {
    LLVM::LLVMFuncOp function;
    SmallVector<LLVM::CallOp> callers;
    SmallVector<Function *> callees;
    bool needsOther = false; ///< than functions of the module
    bool seen = false, isRoutine = false;
  };

  void collectUses(Function &one) {
    auto uses = SymbolTable::getSymbolUses(&one.function.getBody());
    one.needsOther = !uses;
    if (!uses)
      return;
    for (const SymbolTable::SymbolUse &use : *uses) {
      auto call = dyn_cast<LLVM::CallOp>(use.getUser());
      auto callee = all.find(use.getSymbolRef().getLeafReference());
      if (!call || callee == all.end()) {
        one.needsOther = true;
        continue;
      }
      callee->second.callers.push_back(call);
      one.callees.push_back(&callee->second);
    }
  }

  /// Whether it is one. A function that calls itself is none.
  bool take(Function &one) {
    if (std::exchange(one.seen, true))
      return one.isRoutine;
    if (one.function.getLinkage() != LLVM::Linkage::Internal || one.needsOther)
      return false;
    for (Function *callee : one.callees)
      if (!take(*callee))
        return false;
    StringAttr name = names.take(one.function);
    for (LLVM::CallOp call : one.callers)
      call.setCalleeAttr(FlatSymbolRefAttr::get(name));
    one.isRoutine = true;
    if (module.lookupSymbol(name)) { // the kernel itself has it twice
      one.function.erase();
      return true;
    }
    one.function.setSymNameAttr(name);
    routines.push_back(one.function);
    return true;
  }

  ModuleOp module;
  RoutineNames &names;
  llvm::MapVector<StringAttr, Function> all;
  SmallVector<LLVM::LLVMFuncOp> routines;
};
} // namespace

//===------------------------------------------------------------------------------------------===//
// Objects
//===------------------------------------------------------------------------------------------===//

/// A module of `routine` and the declarations of what it calls.
static OwningOpRef<ModuleOp> moduleOf(LLVM::LLVMFuncOp routine, ModuleOp module) {
  OwningOpRef<ModuleOp> alone = ModuleOp::create(module.getLoc());
  alone->push_back(routine->clone());
  const auto uses = SymbolTable::getSymbolUses(&routine.getBody());
  for (const SymbolTable::SymbolUse &use : *uses)
    if (StringAttr callee = use.getSymbolRef().getLeafReference(); !alone->lookupSymbol(callee))
      alone->push_back(module.lookupSymbol(callee)->clone());
  return alone;
}

std::vector<std::string> Routines::takeOut(ModuleOp module, RoutineNames &names, Compile compile) {
  std::vector<std::string> all;
  for (LLVM::LLVMFuncOp function : RoutineFinder(module, names).run()) {
    function.setLinkage(LLVM::Linkage::External);
    function.setVisibility_(LLVM::Visibility::Hidden);
    all.push_back(function.getSymName().str());
    std::unique_lock<std::mutex> lock(mutex);
    auto [entry, isNew] = known.try_emplace(all.back());
    lock.unlock();
    if (isNew) {
      llvm::Expected<std::string> object = compile(*moduleOf(function, module));
      lock.lock();
      if (object)
        entry->second.object = std::move(*object);
      else
        entry->second.error = llvm::toString(object.takeError());
      entry->second.compiled = true;
      changed.notify_all();
    }
    function.getBody().dropAllReferences();
    function.getBody().getBlocks().clear();
  }
  return all;
}

llvm::Expected<std::vector<std::string>> Routines::objects(ArrayRef<std::string> routines) {
  std::vector<std::string> all;
  std::unique_lock<std::mutex> lock(mutex);
  for (const std::string &name : routines) {
    const Routine &routine = known[name];
    changed.wait(lock, [&] { return routine.compiled; });
    if (!routine.error.empty())
      return llvm::createStringError(routine.error);
    all.push_back(routine.object);
  }
  return all;
}
