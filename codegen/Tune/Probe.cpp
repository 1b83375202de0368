//===- Probe.cpp - see Probe.h ----------------------------------------------------------------===//
#include "codegen/Tune/Probe.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dlc::codegen {

using Rate = double CpuMachine::*;

namespace {
/// A kernel, and the numbers that it takes as long as.
struct Probe {
  std::string name, text;
  SmallVector<Rate> rates;
};
} // namespace

/// The text of a kernel, as KernelSpec::canonicalText gives it: `types` of operands as of the
/// block's arguments.
static std::string kernelText(ArrayRef<std::string> types, StringRef op) {
  std::string numbers, arguments;
  for (auto [number, type] : llvm::enumerate(types)) {
    numbers += llvm::formatv("{0}%in#{1}", number == 0 ? "" : ", ", number);
    arguments += llvm::formatv("{0}%{1}: {2}", number == 0 ? "" : ", ",
                               StringRef("ab").substr(number, 1), type);
  }
  const std::string list = llvm::join(types, ", ");
  return llvm::formatv("%in:{0} = builtin.unrealized_conversion_cast to {1}\n"
                       "%out = dl.fused({2}) : ({1}) -> {3} {{\n^bb0({4}):\n  %0 = dl.{5} : {1}\n"
                       "  dl.yield %0 : {3}\n}\n",
                       types.size(), list, numbers, types.front(), arguments, op);
}

/// y = f(a), which are so many bytes together, but a row at least.
static std::string mapText(int64_t bytes, StringRef op) {
  const int64_t rows = std::max<int64_t>(1, bytes / 2 / 4096);
  return kernelText({llvm::formatv("tensor<{0}x1024xf32>", rows)}, (op + " %a").str());
}

/// Computes far longer than its operands take from the last cache.
static std::string productText() {
  const std::string square = "tensor<768x768xf32>";
  return kernelText({square, square}, "matmul %a, %b");
}

/// Memory first, which the others wait for a little.
static SmallVector<Probe> probesFor(const CpuTarget &target) {
  const int64_t l3 = target.machine.lastCacheBytes();
  return {{"what memory gives",
           mapText(16 * l3, "relu"),
           {&CpuMachine::memoryBytesPerSecond, &CpuMachine::streamBytesPerSecond,
            &CpuMachine::runBytesPerSecond, &CpuMachine::sumBytesPerSecond,
            &CpuMachine::gatherBytesPerSecond, &CpuMachine::elementBytesPerSecond,
            &CpuMachine::copyBytesPerSecond}},
          {"what the last cache gives",
           mapText(l3 / 2, "relu"),
           {&CpuMachine::l3BytesPerSecond, &CpuMachine::l3StreamBytesPerSecond,
            &CpuMachine::gatherL3BytesPerSecond}},
          {"arithmetic of vectors",
           mapText(target.machine.l2Bytes / 2, "tanh"),
           {&CpuMachine::vectorOperationsPerSecond}},
          {"register tiles",
           productText(),
           {target.vectorBytes == 64 ? &CpuMachine::tileCyclesPerSecond64
                                     : &CpuMachine::tileCyclesPerSecond32}}};
}

static llvm::Error fail(const Probe &probe) {
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

/// Changes the probe's numbers until its estimate is what it took.
static llvm::Expected<ProbedKernel> adjust(const Probe &probe, CpuTarget &target,
                                           KernelTimer &timer, MLIRContext &context) {
  FailureOr<OwningOpRef<ModuleOp>> module = parseKernel(probe.text, &context);
  FailureOr<KernelSpec> spec =
      failed(module) ? FailureOr<KernelSpec>() : KernelSpec::get(kernelBlock(**module));
  if (failed(spec))
    return fail(probe);
  KernelSelector selector(target);
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
    for (Rate rate : probe.rates)
      target.machine.*rate *= factor;
    estimated = estimate(KernelSelector(target).offer(*spec), first.name());
  }
  return probed;
}

llvm::Expected<CpuMachine> measureMachine(const CpuTarget &target, KernelTimer &timer,
                                          llvm::function_ref<void(const ProbedKernel &)> progress) {
  DialectRegistry registry;
  registerKernelDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  CpuTarget measured = target;
  for (const Probe &probe : probesFor(target)) {
    llvm::Expected<ProbedKernel> probed = adjust(probe, measured, timer, context);
    if (!probed)
      return probed.takeError();
    if (progress)
      progress(*probed);
  }
  return measured.machine;
}

} // namespace dlc::codegen
