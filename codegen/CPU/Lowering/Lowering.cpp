//===- Lowering.cpp - see Lowering.h ----------------------------------------------------------===//
#include "codegen/CPU/Lowering/Lowering.h"
#include "codegen/CPU/Architecture.h"
#include "codegen/CPU/Emitter/CodeEmitter.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include <mutex>

using namespace mlir;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// To the LLVM dialect
//===------------------------------------------------------------------------------------------===//

/// A scalar or vector as `type` is, of `element`.
static Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

namespace {
/// f64 to bf16 or f16 in one rounding, by way of f32: where that step is inexact it goes to the
/// neighbour with an odd last bit, which is no tie and no value of the smaller type ("round to
/// odd", Boldo and Melquiond 2008).
struct NarrowDouble : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &b) const override {
    Value x = op.getIn();
    if (!getElementTypeOrSelf(x).isF64() || !isSmallFloat(getElementTypeOrSelf(op.getType())))
      return failure();
    Location loc = op.getLoc();
    Type f32 = withElement(x.getType(), b.getF32Type()),
         i32 = withElement(x.getType(), b.getI32Type());
    CodeEmitter e(b, loc);
    Value near = arith::TruncFOp::create(b, loc, f32, x);
    Value back = arith::ExtFOp::create(b, loc, x.getType(), near);
    Value bits = arith::BitcastOp::create(b, loc, i32, near);
    // Bits of floats rise with the magnitude, whatever the sign. False for NaN.
    Value inexact = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE, back, x);
    Value below =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, math::AbsFOp::create(b, loc, back),
                              math::AbsFOp::create(b, loc, x));
    Value even = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                       arith::AndIOp::create(b, loc, bits, e.number(1, i32)),
                                       e.number(0, i32));
    Value step = arith::SelectOp::create(b, loc, below, e.number(1, i32), e.number(-1, i32));
    Value odd = arith::SelectOp::create(b, loc, arith::AndIOp::create(b, loc, inexact, even),
                                        arith::AddIOp::create(b, loc, bits, step), bits);
    b.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(),
                                          arith::BitcastOp::create(b, loc, f32, odd));
    return success();
  }
};

/// What was narrowed exactly is what it was.
struct FoldExactNarrowing : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &b) const override {
    auto narrow = op.getIn().getDefiningOp<arith::TruncFOp>();
    if (!narrow || narrow.getRoundingmode() != exactNarrowing ||
        narrow.getIn().getType() != op.getType())
      return failure();
    b.replaceOp(op, narrow.getIn());
    return success();
  }
};

/// Of f32 to bf16 the upper half; f16 has an instruction, which rounds nothing here.
struct NarrowExactly : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &b) const override {
    if (op.getRoundingmode() != exactNarrowing)
      return failure();
    if (!getElementTypeOrSelf(op.getType()).isBF16()) {
      b.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), op.getIn());
      return success();
    }
    const Location loc = op.getLoc();
    const Type i32 = withElement(op.getType(), b.getI32Type()),
               i16 = withElement(op.getType(), b.getI16Type());
    Value bits = arith::BitcastOp::create(b, loc, i32, op.getIn());
    bits = arith::ShRUIOp::create(b, loc, bits, CodeEmitter(b, loc).number(16, i32));
    Value upper = arith::TruncIOp::create(b, loc, i16, bits);
    b.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), upper);
    return success();
  }
};
} // namespace

/// Selects bf16 by its bits: widened to f32 and rounded again it would call a library.
static void selectBits(arith::SelectOp op) {
  if (!getElementTypeOrSelf(op.getType()).isBF16())
    return;
  OpBuilder b(op);
  auto cast = [&](Value value, Type element) -> Value {
    return arith::BitcastOp::create(b, op.getLoc(), withElement(value.getType(), element), value);
  };
  Value bits = arith::SelectOp::create(b, op.getLoc(), op.getCondition(),
                                       cast(op.getTrueValue(), b.getI16Type()),
                                       cast(op.getFalseValue(), b.getI16Type()));
  op.replaceAllUsesWith(cast(bits, b.getBF16Type()));
  op.erase();
}

/// Rewrites arithmetic on bf16 and f16 to f32 between conversions, and where the processor does not
/// round to bf16 that to integer ops, which would call library functions.
static LogicalResult expandSmallFloats(ModuleOp module, bool roundsToBF16) {
  bool found = module
                   .walk([](Operation *op) {
                     return llvm::any_of(op->getResultTypes(),
                                         [](Type type) {
                                           Type element = getElementTypeOrSelf(type);
                                           return element.isBF16() || element.isF16();
                                         })
                                ? WalkResult::interrupt()
                                : WalkResult::advance();
                   })
                   .wasInterrupted();
  if (!found)
    return success();
  module.walk(selectBits);
  MLIRContext *context = module.getContext();
  TypeConverter converter;
  Type f32 = Float32Type::get(context);
  arith::populateEmulateUnsupportedFloatsConversions(
      converter, {BFloat16Type::get(context), Float16Type::get(context)}, f32);
  RewritePatternSet emulate(context);
  arith::populateEmulateUnsupportedFloatsPatterns(emulate, converter);
  ConversionTarget target(*context);
  arith::populateEmulateUnsupportedFloatsLegality(target, converter);
  target.addDynamicallyLegalDialect<math::MathDialect>(
      [&](Operation *op) { return converter.isLegal(op); });
  if (failed(applyPartialConversion(module, target, std::move(emulate))))
    return failure();
  RewritePatternSet expand(context);
  if (!roundsToBF16)
    arith::populateExpandBFloat16Patterns(expand);
  expand.add<NarrowDouble>(context, /*benefit=*/2);
  expand.add<NarrowExactly>(context, /*benefit=*/3);
  expand.add<FoldExactNarrowing>(context, /*benefit=*/4);
  return applyPatternsGreedily(module, std::move(expand));
}

/// max(x, 0) as select(0 > x, 0, x): one instruction for three where the processor's maximum is its
/// second operand if one is NaN.
static void takeMaximaOfZero(ModuleOp module) {
  module.walk([](arith::MaximumFOp op) {
    Value zero = op.getRhs();
    if (!matchPattern(zero, m_AnyZeroFloat()))
      return;
    OpBuilder b(op);
    Value isAbove =
        arith::CmpFOp::create(b, op.getLoc(), arith::CmpFPredicate::OGT, zero, op.getLhs());
    op.replaceAllUsesWith(
        arith::SelectOp::create(b, op.getLoc(), isAbove, zero, op.getLhs()).getResult());
    op.erase();
  });
}

/// Leaves one of each constant, where its function begins. Generators make one wherever they need a
/// number: about half of all ops.
static void shareConstants(LLVM::LLVMFuncOp function) {
  SmallVector<arith::ConstantOp> constants;
  function.walk([&](arith::ConstantOp constant) { constants.push_back(constant); });
  llvm::DenseMap<Attribute, arith::ConstantOp> kept;
  for (arith::ConstantOp constant : constants) {
    if (constant->use_empty()) {
      constant.erase();
    } else if (auto [known, isNew] = kept.try_emplace(constant.getValue(), constant); isNew) {
      constant->moveBefore(&function.getBody().front().front());
    } else {
      constant.replaceAllUsesWith(known->second.getResult());
      constant.erase();
    }
  }
}

struct Lowering::Patterns {
  explicit Patterns(MLIRContext &context, const CpuTarget &target);

  const bool roundsToBF16, maximumIsSecond;
  LLVMTypeConverter converter;
  ConversionTarget noLoops;
  LLVMConversionTarget onlyLLVM;
  FrozenRewritePatternSet toBranches, toLLVM;
};

Lowering::Patterns::Patterns(MLIRContext &context, const CpuTarget &target)
    : roundsToBF16(target.roundsToBF16 && !target.isStrict()),
      maximumIsSecond(target.maximumIsSecond), converter(&context), noLoops(context),
      onlyLLVM(context) {
  RewritePatternSet control(&context), rest(&context);
  populateSCFToControlFlowConversionPatterns(control);
  noLoops.addIllegalDialect<scf::SCFDialect>();
  noLoops.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  toBranches = std::move(control);
  cf::populateControlFlowToLLVMConversionPatterns(converter, rest);
  arith::populateArithToLLVMConversionPatterns(converter, rest);
  populateMathToLLVMConversionPatterns(converter, rest);
  populateVectorToLLVMConversionPatterns(converter, rest);
  ub::populateUBToLLVMConversionPatterns(converter, rest);
  onlyLLVM.addLegalOp<ModuleOp>();
  toLLVM = std::move(rest);
}

Lowering::Lowering(MLIRContext &context, const CpuTarget &target)
    : patterns(std::make_unique<Patterns>(context, target)) {}
Lowering::Lowering(Lowering &&) = default;
Lowering::~Lowering() = default;

LogicalResult Lowering::run(ModuleOp module) const {
  if (failed(expandSmallFloats(module, patterns->roundsToBF16)))
    return failure();
  expandMath(module);
  if (patterns->maximumIsSecond)
    takeMaximaOfZero(module);
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    shareConstants(function);
  if (failed(applyPartialConversion(module, patterns->noLoops, patterns->toBranches)))
    return failure();
  return applyFullConversion(module, patterns->onlyLLVM, patterns->toLLVM);
}

//===------------------------------------------------------------------------------------------===//
// To machine code
//===------------------------------------------------------------------------------------------===//

void dlc::codegen::registerTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

CodeWriter::CodeWriter(std::unique_ptr<llvm::TargetMachine> machine)
    : machine(std::move(machine)) {}
CodeWriter::CodeWriter(CodeWriter &&) = default;
CodeWriter::~CodeWriter() = default;

llvm::Expected<CodeWriter> CodeWriter::create(const CpuTarget &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const Architecture *one : architectures())
      one->registerBackend();
  });
  llvm::Triple triple(target.architecture->triple());
  std::string message;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found)
    return llvm::createStringError(message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                 std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return llvm::createStringError("LLVM cannot generate code for '" + target.cpu + "'");
  return CodeWriter(std::move(machine));
}

/// Generators write the code nearly as it is to be; what is left are address arithmetic, common
/// expressions and invariants.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  // No library at all: no pass may invent a call.
  llvm::TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager pipeline;
  pipeline.addPass(llvm::EarlyCSEPass());
  pipeline.addPass(llvm::InstCombinePass());
  pipeline.addPass(llvm::SimplifyCFGPass());
  pipeline.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                         /*UseMemorySSA=*/true));
  pipeline.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(pipeline)));
  all.run(module, modules);
}

llvm::Expected<std::string> CodeWriter::write(ModuleOp source, Output output) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(source, context, "kernel");
  if (!module)
    return llvm::createStringError("the kernel's code does not translate to LLVM IR");
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(machine->getTargetTriple());
  optimize(*module, *machine);
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (output == Output::LLVM) {
    module->print(stream, nullptr);
    return bytes.str().str();
  }
  llvm::legacy::PassManager passes;
  auto type = output == Output::Object ? llvm::CodeGenFileType::ObjectFile
                                       : llvm::CodeGenFileType::AssemblyFile;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type))
    return llvm::createStringError("LLVM cannot write this kind of file");
  passes.run(*module);
  return bytes.str().str();
}

std::string dlc::codegen::foreignSymbol(StringRef bytes, StringRef prefix) {
  auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "kernel"));
  if (!object)
    return llvm::toString(object.takeError());
  for (const llvm::object::SymbolRef &symbol : (*object)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<StringRef> name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      continue;
    }
    bool needed = *flags & llvm::object::SymbolRef::SF_Undefined;
    if (needed && !name->empty() && *name != "memcpy" && *name != "memset" &&
        !name->starts_with(prefix))
      return name->str();
  }
  return "";
}
