//===- Probe.cpp - see Probe.h ----------------------------------------------------------------===//
#include "codegen/Tune/Probe.h"

using namespace mlir;

namespace dlc::codegen {

static llvm::Error fail(const MachineProbe &probe) {
  return llvm::createStringError("no kernel measures " + probe.name);
}

/// Of as many runs as take a second, 5 at least, behind two that touch memory.
static llvm::Expected<double> medianOf(const KernelTimer::Run &run) {
  const double enough = 1;
  const size_t few = 5, many = 1000;
  std::vector<double> taken;
  double sum = 0;
  for (size_t number = 0; number < 2 + few || (sum < enough && number < many); ++number) {
    llvm::Expected<KernelTimer::Seconds> seconds = run();
    if (!seconds)
      return seconds.takeError();
    if (number < 2)
      continue;
    taken.push_back(seconds->all);
    sum += seconds->all;
  }
  llvm::sort(taken);
  return taken[taken.size() / 2];
}

/// The estimate for a kernel's schedule, or for the first one.
static std::optional<double> estimate(const KernelOffer &offer, StringRef name) {
  auto found = llvm::find_if(offer.candidates,
                             [&](const GeneratedCandidate &one) { return one.name() == name; });
  return found == offer.candidates.end() ? std::nullopt : std::optional(found->candidate.cost);
}

/// Changes the probe's numbers, which are the target's, until its estimate is what it took.
static llvm::Expected<ProbedKernel> adjust(const MachineProbe &probe, const Target &target,
                                           KernelTimer &timer, MLIRContext &context) {
  FailureOr<OwningOpRef<ModuleOp>> module = parseKernel(probe.text, &context);
  FailureOr<KernelSpec> spec =
      failed(module) ? FailureOr<KernelSpec>() : KernelSpec::get(kernelBlock(**module));
  if (failed(spec))
    return fail(probe);
  KernelSelector selector(target.clone());
  const KernelOffer &offer = selector.offer(*spec);
  if (offer.candidates.empty())
    return fail(probe);
  const GeneratedCandidate &first = offer.candidates.front();
  const SelectedKernel kernel = selector.select(offer, first);
  auto runs = timer.load(selector, kernel);
  if (!runs)
    return runs.takeError();
  llvm::Expected<double> seconds = medianOf(runs->front());
  if (!seconds)
    return seconds.takeError();
  const ProbedKernel probed{probe.name, first.candidate.cost, *seconds};
  // A part of the estimate may follow other numbers, and the schedule may be another one then.
  const unsigned rounds = 8;
  std::optional<double> estimated = probed.estimated;
  for (unsigned round = 0; round < rounds && estimated && *seconds > 0; ++round) {
    const double factor = std::clamp(*estimated / *seconds, 0.5, 2.0);
    for (double *rate : probe.rates)
      *rate *= factor;
    estimated = estimate(KernelSelector(target.clone()).offer(*spec), first.name());
  }
  return probed;
}

llvm::Error measureMachine(Target &target, KernelTimer &timer,
                           llvm::function_ref<void(const ProbedKernel &)> progress) {
  DialectRegistry registry;
  registerKernelDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  for (const MachineProbe &probe : target.probes()) {
    llvm::Expected<ProbedKernel> probed = adjust(probe, target, timer, context);
    if (!probed)
      return probed.takeError();
    if (progress)
      progress(*probed);
  }
  return llvm::Error::success();
}

} // namespace dlc::codegen
