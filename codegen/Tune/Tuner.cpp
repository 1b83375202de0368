//===- Tuner.cpp - see Tuner.h ----------------------------------------------------------------===//
#include "codegen/Tune/Tuner.h"
#include "codegen/Plan/ModuleCompiler.h"
#include "codegen/Plan/TargetCandidates.h"
#include "dialects/Exec/Memory.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <chrono>
#include <numeric>
#include <set>

using namespace mlir;
namespace json = llvm::json;

namespace dlc::codegen {

/// Runs of less are repeated, so that the clock does not matter.
static constexpr double shortestSample = 1e-3;
static constexpr unsigned leastRounds = 3;

//===------------------------------------------------------------------------------------------===//
// One kernel
//===------------------------------------------------------------------------------------------===//

namespace {
/// What one candidate took.
class Series {
public:
  explicit Series(KernelTimer::Run run) : run(std::move(run)) {}

  /// Twice without counting: memory is touched, and how often to repeat becomes known.
  llvm::Error warmUp() {
    for (unsigned i = 0; i < 2; ++i) {
      llvm::Expected<double> taken = run();
      if (!taken)
        return taken.takeError();
      first = *taken;
    }
    repeats = std::clamp(shortestSample / std::max(first, 1e-9), 1.0, 1000.0);
    return llvm::Error::success();
  }
  llvm::Error measure() {
    double sum = 0;
    for (unsigned i = 0; i < repeats; ++i) {
      llvm::Expected<double> taken = run();
      if (!taken)
        return taken.takeError();
      sum += *taken;
    }
    samples.insert(llvm::upper_bound(samples, sum / repeats), sum / repeats);
    return llvm::Error::success();
  }

  double median() const {
    return samples.empty() ? first
                           : (samples[(samples.size() - 1) / 2] + samples[samples.size() / 2]) / 2;
  }
  double least() const { return samples.empty() ? first : samples.front(); }

private:
  KernelTimer::Run run;
  double first = 0;
  unsigned repeats = 1;
  std::vector<double> samples; ///< ascending
};

/// Times candidates in turns.
class Race {
public:
  Race(std::vector<KernelTimer::Run> runs, const TuneOptions &options) : options(options) {
    for (KernelTimer::Run &run : runs)
      all.emplace_back(std::move(run));
    running.resize(all.size());
    std::iota(running.begin(), running.end(), 0);
  }

  /// The median of each.
  llvm::Expected<std::vector<double>> run() {
    for (Series &series : all)
      if (llvm::Error error = series.warmUp())
        return std::move(error);
    drop(/*margin=*/2);
    const auto start = std::chrono::steady_clock::now();
    for (unsigned round = 0; running.size() > 1 && round < options.rounds; ++round) {
      for (size_t i = 0; i < running.size(); ++i)
        if (llvm::Error error = all[running[(i + round) % running.size()]].measure())
          return std::move(error);
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      if (round + 1 < leastRounds)
        continue;
      drop(/*margin=*/1);
      if (passed.count() > options.seconds)
        break;
    }
    std::vector<double> medians;
    for (const Series &series : all)
      medians.push_back(series.median());
    return medians;
  }

private:
  /// Takes out whose fastest run is slower than `margin` medians of the best.
  void drop(double margin) {
    double best = std::numeric_limits<double>::infinity();
    for (size_t number : running)
      best = std::min(best, all[number].median());
    llvm::erase_if(running, [&](size_t number) { return all[number].least() > margin * best; });
  }

  const TuneOptions &options;
  std::vector<Series> all;
  std::vector<size_t> running;
};

class Tuner {
public:
  Tuner(KernelSelector &selector, KernelTimer &timer, const TuneOptions &options)
      : selector(selector), timer(timer), options(options), cache(options.cacheFolder) {
    DialectRegistry registry;
    registerKernelDialects(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
  }

  llvm::Expected<TunedKernel> tune(const KernelOffer &offer, bool &fromCache);

private:
  llvm::Expected<std::vector<double>> measure(ArrayRef<SelectedKernel> candidates, bool &fromCache);
  std::optional<std::vector<double>> lookUp(const KernelKey &key, size_t count) const;

  KernelSelector &selector;
  KernelTimer &timer;
  const TuneOptions &options;
  KernelCache cache;
  std::unique_ptr<MLIRContext> context;
};
} // namespace

/// Nothing for what is no list of as many numbers.
std::optional<std::vector<double>> Tuner::lookUp(const KernelKey &key, size_t count) const {
  std::optional<std::string> text = options.cache ? cache.load(key) : std::nullopt;
  if (!text)
    return std::nullopt;
  llvm::Expected<std::vector<double>> seconds = json::parse<std::vector<double>>(*text);
  if (!seconds) {
    llvm::consumeError(seconds.takeError());
    return std::nullopt;
  }
  return seconds->size() == count ? std::optional(*seconds) : std::nullopt;
}

llvm::Expected<std::vector<double>> Tuner::measure(ArrayRef<SelectedKernel> candidates,
                                                   bool &fromCache) {
  std::string identity = "timing " + timer.machine();
  for (const SelectedKernel &candidate : candidates)
    identity += '\0' + candidate.keyText();
  const KernelKey key = hashText(identity);
  std::optional<std::vector<double>> known = lookUp(key, candidates.size());
  fromCache = known.has_value();
  if (known)
    return *known;
  llvm::Expected<std::vector<KernelTimer::Run>> runs = timer.load(selector, candidates);
  if (!runs)
    return runs.takeError();
  llvm::Expected<std::vector<double>> seconds = Race(std::move(*runs), options).run();
  if (seconds && options.cache)
    cache.store(key, llvm::formatv("{0}", json::Value(json::Array(*seconds))).str());
  return seconds;
}

static MeasuredCandidate describe(const GeneratedCandidate &one, double seconds) {
  const Candidate &candidate = one.candidate;
  return {one.generator->name().str(), candidate.schedule,
          candidate.algorithm ? dl::stringifyConvolutionAlgorithm(*candidate.algorithm).str() : "",
          candidate.workspaceBytes, seconds};
}

llvm::Expected<TunedKernel> Tuner::tune(const KernelOffer &offer, bool &fromCache) {
  std::vector<const GeneratedCandidate *> contenders = contendersOf(offer);
  std::vector<SelectedKernel> kernels;
  for (const GeneratedCandidate *one : contenders)
    kernels.push_back(selector.select(offer, *one));
  llvm::Expected<std::vector<double>> seconds = measure(kernels, fromCache);
  if (!seconds)
    return seconds.takeError();
  llvm::Expected<TunedProblem> problem = TunedProblem::get(offer.text, *context);
  if (!problem)
    return problem.takeError();
  // Ascending by their estimates: the first that is as good as the best.
  const double best = *llvm::min_element(*seconds);
  const size_t chosen =
      llvm::find_if(*seconds, [&](double taken) { return taken <= 1.01 * best; }) -
      seconds->begin();
  TunedKernel kernel{std::move(*problem), {}, {}, {}};
  for (auto [i, one] : llvm::enumerate(contenders))
    if (i == chosen)
      kernel.chosen = describe(*one, (*seconds)[i]);
    else
      kernel.others.push_back(describe(*one, (*seconds)[i]));
  llvm::sort(kernel.others, [](const MeasuredCandidate &a, const MeasuredCandidate &b) {
    return std::pair(a.seconds, a.name()) < std::pair(b.seconds, b.name());
  });
  return kernel;
}

//===------------------------------------------------------------------------------------------===//
// All kernels of a model
//===------------------------------------------------------------------------------------------===//

namespace {
class ModuleTuner {
public:
  ModuleTuner(ModuleOp module, const Target &target, const DLPipelineOptions &pipeline,
              KernelTimer &timer, const TuneOptions &options)
      : module(module), target(target), pipeline(pipeline), timer(timer), options(options) {
    file.target = describeTarget(target);
    file.machine = timer.machine();
  }
  llvm::Expected<LockFile> run();

private:
  llvm::Error tuneOpen(KernelSelector &selector, ArrayRef<const KernelOffer *> open);
  llvm::Error label(ModuleOp fused, KernelSelector &selector);

  ModuleOp module;
  const Target &target;
  const DLPipelineOptions &pipeline;
  KernelTimer &timer;
  const TuneOptions &options;
  LockFile file;
  llvm::StringSet<> known; ///< hashes of the file's problems
};
} // namespace

static llvm::Error passFailed() {
  return llvm::createStringError("the model cannot be compiled for the target");
}

llvm::Expected<LockFile> ModuleTuner::run() {
  for (;;) {
    auto selector = std::make_shared<KernelSelector>(target, file.choices());
    DLPipelineOptions choosing = pipeline;
    choosing.candidates = createCandidateSource(selector);
    OwningOpRef<ModuleOp> copy = module.clone();
    PassManager manager(module.getContext());
    addFusionPasses(manager, choosing);
    if (failed(manager.run(*copy)))
      return passFailed();
    std::vector<const KernelOffer *> open;
    for (const KernelOffer *offer : selector->offers())
      if (contendersOf(*offer).size() > 1 && !known.contains(problemHash(offer->text)))
        open.push_back(offer);
    if (open.empty()) {
      if (llvm::Error error = label(*copy, *selector))
        return std::move(error);
      return std::move(file);
    }
    if (llvm::Error error = tuneOpen(*selector, open))
      return std::move(error);
  }
}

llvm::Error ModuleTuner::tuneOpen(KernelSelector &selector, ArrayRef<const KernelOffer *> open) {
  Tuner tuner(selector, timer, options);
  const size_t all = file.kernels.size() + open.size();
  for (const KernelOffer *offer : open) {
    bool fromCache = false;
    llvm::Expected<TunedKernel> kernel = tuner.tune(*offer, fromCache);
    if (!kernel)
      return kernel.takeError();
    known.insert(kernel->problem.hash);
    file.kernels.push_back(std::move(*kernel));
    if (options.progress)
      options.progress(file.kernels.size(), all, file.kernels.back(), fromCache,
                       file.kernels.back().chosen.name() == offer->candidates.front().name());
  }
  llvm::sort(file.kernels, [](const TunedKernel &a, const TunedKernel &b) {
    return a.problem.hash < b.problem.hash;
  });
  return llvm::Error::success();
}

/// The layers that launch each kernel that was chosen in the end.
llvm::Error ModuleTuner::label(ModuleOp fused, KernelSelector &selector) {
  FailureOr<std::vector<SelectedKernel>> kernels = planModule(fused, selector, pipeline);
  if (failed(kernels))
    return passFailed();
  llvm::StringMap<std::string> hashes; ///< by the kernel's symbol
  for (const SelectedKernel &kernel : *kernels)
    hashes[kernel.symbol] = problemHash(kernel.text);
  llvm::StringMap<std::set<std::string>> layers;
  fused.walk([&](exec::LaunchOp launch) {
    layers[hashes[launch.getKernel()]].insert(exec::getRecordName(launch.getLoc()).str());
  });
  for (TunedKernel &kernel : file.kernels)
    if (auto found = layers.find(kernel.problem.hash); found != layers.end())
      kernel.layers.assign(found->second.begin(), found->second.end());
  return llvm::Error::success();
}

llvm::Expected<LockFile> tuneModule(ModuleOp module, const Target &target,
                                    const DLPipelineOptions &pipeline, KernelTimer &timer,
                                    const TuneOptions &options) {
  return ModuleTuner(module, target, pipeline, timer, options).run();
}

} // namespace dlc::codegen
