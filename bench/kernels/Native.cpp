// See Native.h.
#include "bench/kernels/Native.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include <chrono>

using namespace dlc::bench;

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static std::string hostFeatures() {
  std::string text;
  for (auto &feature : llvm::sys::getHostCPUFeatures())
    text += (text.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") +
            feature.first().str();
  return text;
}

dlc::codegen::MachineModel dlc::bench::hostModel() {
  return codegen::MachineModel::forFeatures(hostFeatures());
}

Buffer::Buffer(size_t bytes)
    : size((std::max<size_t>(bytes, 64) + 63) / 64 * 64),
      memory(static_cast<float *>(std::aligned_alloc(64, size))) {}

static size_t maxScratch(const dlc::codegen::EmittedKernel &kernel) {
  size_t bytes = 0;
  for (auto &phase : kernel.phases)
    bytes = std::max<size_t>(bytes, phase.scratchBytes);
  return bytes;
}

NativeKernel::NativeKernel(mlir::ModuleOp module, codegen::EmittedKernel emitted, std::string dump)
    : kernel(std::move(emitted)), workspace(kernel.workspaceBytes), scratch(maxScratch(kernel)) {
  double start = now();
  mlir::PassManager passes(module.getContext());
  passes.addPass(mlir::createSCFToControlFlowPass());
  passes.addPass(mlir::createConvertVectorToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
  if (failed(passes.run(module)))
    llvm::report_fatal_error("lowering failed");
  double lowered = now();
  mlir::registerBuiltinDialectTranslation(*module.getContext());
  mlir::registerLLVMDialectTranslation(*module.getContext());
  llvm::LLVMContext context;
  auto native = mlir::translateModuleToLLVMIR(module, context);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, llvm::sys::getHostCPUName(), hostFeatures(), options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
  native->setDataLayout(machine->createDataLayout());
  native->setTargetTriple(triple);
  double translated = now();
  if (auto error = mlir::makeOptimizingTransformer(2, 0, machine.get())(native.get()))
    llvm::report_fatal_error(std::move(error));
  double optimized = now();
  std::string stem = dump + "/" + kernel.phases.front().symbol;
  if (!dump.empty()) {
    std::error_code ignored;
    llvm::raw_fd_ostream(stem + ".ll", ignored) << *native;
  }
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager backend;
  machine->addPassesToEmitFile(backend, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
  backend.run(*native);
  if (!dump.empty()) {
    std::error_code ignored;
    llvm::raw_fd_ostream(stem + ".o", ignored) << stream.str();
  }
  seconds = now() - start;
  phaseSeconds[0] = lowered - start, phaseSeconds[1] = translated - lowered;
  phaseSeconds[2] = optimized - translated, phaseSeconds[3] = now() - optimized;
  jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::cantFail(jit->addObjectFile(
      std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), false)));
  for (auto &phase : kernel.phases)
    functions.push_back(llvm::cantFail(jit->lookup(phase.symbol)).toPtr<dlc_kernel_fn>());
}

NativeKernel::~NativeKernel() = default;

void NativeKernel::run(std::vector<void *> buffers) {
  buffers.push_back(workspace.data());
  dlc_args args{sizeof(dlc_args), uint32_t(buffers.size()), buffers.data(), nullptr};
  for (size_t phase = 0; phase < functions.size(); ++phase)
    for (int64_t task = 0; task < kernel.phases[phase].tasks; ++task)
      functions[phase](&args, uint32_t(task), scratch.data());
}
