//===- ModuleCompiler.cpp - from fused dl to a module -----------------------------------------===//
#include "codegen/Plan/ModuleCompiler.h"
#include "codegen/Plan/Link.h"
#include "codegen/Plan/ModuleObject.h"
#include "codegen/Plan/PlanWriter.h"
#include "codegen/Plan/Report.h"
#include "codegen/Plan/TargetCandidates.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/Exec/Memory.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/DL/Memory/Buffers.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dlc::codegen {

/// Whether a program's arena is much more than what is in use at once: what may run side by side
/// shares no memory.
static bool takesMuchMore(ModuleOp module) {
  return llvm::any_of(module.getOps<exec::ProgramOp>(), [](exec::ProgramOp program) {
    return double(program.getArenaBytes()) > 1.05 * double(program.getLiveBytes());
  });
}

/// Without verifying each pass's module: that takes a tenth of the time.
static LogicalResult runPasses(ModuleOp module, llvm::function_ref<void(PassManager &)> add) {
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  add(manager);
  return manager.run(module);
}

/// planModule without the proof that the module is well formed.
static FailureOr<std::vector<SelectedKernel>> makePlan(ModuleOp module, KernelSelector &selector,
                                                       const DLPipelineOptions &options) {
  if (failed(runPasses(module, [](PassManager &manager) { addConversionPasses(manager); })))
    return failure();
  FailureOr<std::vector<SelectedKernel>> kernels = selectKernels(module, selector);
  if (failed(kernels))
    return failure();
  const exec::ScheduleStreamsOptions streams = selector.target().streams();
  if (failed(runPasses(module,
                       [&](PassManager &manager) { addPlanPasses(manager, options, streams); })))
    return failure();
  if (streams.streams > 1 && takesMuchMore(module) &&
      failed(
          runPasses(module, [&](PassManager &manager) { addStreamPasses(manager, options, {}); })))
    return failure();
  return kernels;
}

FailureOr<std::vector<SelectedKernel>> planModule(ModuleOp module, KernelSelector &selector,
                                                  const DLPipelineOptions &options) {
  FailureOr<std::vector<SelectedKernel>> kernels = makePlan(module, selector, options);
  if (failed(kernels) || failed(verify(module)))
    return failure();
  return kernels;
}

/// What dl-rematerialize asks: the memory that planModule arrives at.
static dl::MemoryPlanner createMemoryPlanner(std::shared_ptr<KernelSelector> selector,
                                             DLPipelineOptions options) {
  return [=](ModuleOp module) -> FailureOr<dl::PlannedMemory> {
    auto addBuckets = [&](PassManager &manager) { addBucketPasses(manager, options); };
    if (failed(runPasses(module, addBuckets)) || failed(makePlan(module, *selector, options)))
      return failure();
    dl::PlannedMemory memory;
    llvm::DenseSet<Operation *> ofTraining;
    for (auto program : module.getOps<exec::ProgramOp>())
      if (!program::usesModel(program.getKind()) &&
          program.getKind() != program::EntryKind::Prepare)
        ofTraining.insert_range(exec::findUsedVariables(program, module));
    for (auto variable : module.getOps<exec::VariableOp>())
      (variable.getRole() == program::Role::Derived && !ofTraining.contains(variable)
           ? memory.derivedBytes
           : memory.stateBytes) += exec::alignUp(variable.getBytes());
    for (auto program : module.getOps<exec::ProgramOp>())
      memory.arenaBytes[program.getSymName()] = program.getArenaBytes();
    return memory;
  };
}

/// What dl-divide-batch asks: what the passes behind it make of a module. `options` without fitter.
static dl::MemoryFitter createMemoryFitter(DLPipelineOptions options) {
  return [=](ModuleOp module, bool early) mutable -> FailureOr<dl::MemoryFit> {
    ScopedDiagnosticHandler silence(module.getContext(), [](Diagnostic &) {});
    options.refuseEarly = early;
    const bool isFailed =
        failed(runPasses(module, [&](PassManager &manager) { addRegionPasses(manager, options); }));
    dl::MemoryFit fit;
    fit.budget = options.memoryBudget;
    for (auto entry : module.getOps<dl::EntryOp>()) {
      double seconds = 0, again = 0;
      for (Operation &op : entry.getBlock())
        (op.hasAttr("dl.recomputed") ? again : seconds) += dl::secondsOf(&op);
      fit.seconds += seconds + again;
      auto memory = entry->getAttrOfType<DictionaryAttr>("dl.memory");
      if (!memory || !memory.contains("bound"))
        continue;
      auto bytes = [&](StringRef name) { return memory.getAs<IntegerAttr>(name).getInt(); };
      const bool isSearched = memory.contains("least");
      fit.tooLarge[entry.getSymName()] = {bytes("before"), seconds};
      fit.isSearched &= isSearched;
      fit.bound = std::max(fit.bound, bytes("bound"));
      if (const int64_t needed = bytes(isSearched ? "least" : "bound"); needed > fit.bytes) {
        fit.bytes = needed;
        fit.largest = entry.getSymName();
      }
    }
    if (isFailed && fit.fits())
      return failure();
    return fit;
  };
}

static std::shared_ptr<KernelSelector> openSelector(std::shared_ptr<const Target> target,
                                                    const PinnedChoices &pinned,
                                                    DLPipelineOptions &options, unsigned threads) {
  auto selector = std::make_shared<KernelSelector>(std::move(target), pinned);
  options.candidates = createCandidateSource(selector, threads);
  options.memoryPlanner = createMemoryPlanner(selector, options);
  return selector;
}

Selectors openSelectors(const std::shared_ptr<const Target> &target, const PinnedChoices &pinned,
                        DLPipelineOptions &options, unsigned threads) {
  Selectors selectors;
  selectors.used = openSelector(target, pinned, options, threads);
  if (options.memoryBudget > 0) {
    DLPipelineOptions trials = options;
    selectors.tried = openSelector(target, pinned, trials, threads);
    options.memoryFitter = createMemoryFitter(std::move(trials));
  }
  return selectors;
}

std::vector<const KernelOffer *> Selectors::offers() const {
  std::vector<const KernelOffer *> all = used->offers();
  if (tried)
    llvm::append_range(all, tried->offers());
  return all;
}

llvm::Expected<std::string> compileModule(ModuleOp module, ArrayRef<SelectedKernel> kernels,
                                          KernelSelector &selector, const CompileOptions &options) {
  const Target &target = selector.target();
  // What a plan with images holds is known when its kernels are compiled.
  llvm::Expected<std::vector<CompiledKernel>> compiled = target.compile(kernels, options);
  if (!compiled)
    return compiled.takeError();
  llvm::Expected<std::vector<std::string>> beside = target.compileBeside(kernels, options);
  if (!beside)
    return beside.takeError();
  std::string report = llvm::formatv("{0}", buildReport(module, selector, kernels, *compiled)),
              message;
  const DeviceCode code{target, kernels, *compiled};
  FailureOr<PlanBlob> plan = [&] {
    ScopedDiagnosticHandler handler(module.getContext(),
                                    [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
    return writePlan(module, report, target.hasImages() ? &code : nullptr);
  }();
  if (failed(plan))
    return llvm::createStringError(message);
  llvm::Expected<std::string> own = buildModuleObject(*plan, target, kernels);
  if (!own)
    return own.takeError();
  SmallVector<StringRef> objects = {*own};
  llvm::StringSet<> routines;
  for (const CompiledKernel &kernel : *compiled)
    for (auto [i, object] : llvm::enumerate(kernel.objects))
      if (i == 0 || routines.insert(object).second)
        objects.push_back(object);
  llvm::append_range(objects, *beside);
  return linkModule(objects);
}

} // namespace dlc::codegen
