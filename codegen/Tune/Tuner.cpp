//===- Tuner.cpp - see Tuner.h ----------------------------------------------------------------===//
#include "codegen/Tune/Tuner.h"
#include "codegen/Plan/ModuleCompiler.h"
#include "codegen/Plan/Shortfalls.h"
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
/// Runs of one kind.
class Samples {
public:
  void add(double seconds) { sorted.insert(llvm::upper_bound(sorted, seconds), seconds); }
  double median() const {
    return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  }
  double least() const { return sorted.front(); }

private:
  std::vector<double> sorted; ///< ascending
};

/// What one candidate took.
class Series {
public:
  explicit Series(KernelTimer::Run run) : run(std::move(run)) {}

  /// Twice: memory is touched, and how often to repeat becomes known. The second run counts until
  /// there is a measured one.
  llvm::Error warmUp() {
    for (unsigned i = 0; i < 2; ++i)
      if (llvm::Error error = sampleAnew(1))
        return error;
    repeats = std::clamp(shortestSample / std::max(all.least(), 1e-9), 1.0, 1000.0);
    return llvm::Error::success();
  }
  llvm::Error measure() {
    return std::exchange(isMeasured, true) ? sample(repeats) : sampleAnew(repeats);
  }

  Samples all, prepared;

private:
  llvm::Error sample(unsigned runs) {
    KernelTimer::Seconds sum{0, 0};
    for (unsigned i = 0; i < runs; ++i) {
      llvm::Expected<KernelTimer::Seconds> taken = run();
      if (!taken)
        return taken.takeError();
      sum.all += taken->all;
      sum.prepared += taken->prepared;
    }
    all.add(sum.all / runs);
    prepared.add(sum.prepared / runs);
    return llvm::Error::success();
  }
  /// What came before does not count.
  llvm::Error sampleAnew(unsigned runs) {
    all = prepared = Samples();
    return sample(runs);
  }

  KernelTimer::Run run;
  unsigned repeats = 1;
  bool isMeasured = false;
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

  /// The medians of each.
  llvm::Expected<std::vector<PinnedKernel::Seconds>> run() {
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
    std::vector<PinnedKernel::Seconds> medians;
    for (const Series &series : all) {
      const double whole = series.all.median();
      medians.push_back({whole, std::max(0.0, whole - series.prepared.median())});
    }
    return medians;
  }

private:
  /// Takes out whose fastest run is slower than `margin` medians of the best, with the preparing
  /// and without it.
  void drop(double margin) {
    auto isSlow = [&](Samples Series::*kind) {
      double best = std::numeric_limits<double>::infinity();
      for (size_t number : running)
        best = std::min(best, (all[number].*kind).median());
      return [this, kind, limit = margin * best](size_t number) {
        return (all[number].*kind).least() > limit;
      };
    };
    auto whole = isSlow(&Series::all), prepared = isSlow(&Series::prepared);
    llvm::erase_if(running, [&](size_t number) { return whole(number) && prepared(number); });
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
  using Seconds = std::vector<PinnedKernel::Seconds>; ///< of each candidate
  llvm::Expected<Seconds> measure(ArrayRef<SelectedKernel> candidates, bool &fromCache);
  std::optional<Seconds> lookUp(const KernelKey &key, size_t count) const;
  void keep(const KernelKey &key, const Seconds &seconds) const;

  KernelSelector &selector;
  KernelTimer &timer;
  const TuneOptions &options;
  KernelCache cache;
  std::unique_ptr<MLIRContext> context;
};
} // namespace

/// Nothing for what is no list of two numbers for each.
std::optional<Tuner::Seconds> Tuner::lookUp(const KernelKey &key, size_t count) const {
  std::optional<std::string> text = options.cache ? cache.load(key) : std::nullopt;
  if (!text)
    return std::nullopt;
  llvm::Expected<std::vector<double>> numbers = json::parse<std::vector<double>>(*text);
  if (!numbers) {
    llvm::consumeError(numbers.takeError());
    return std::nullopt;
  }
  if (numbers->size() != 2 * count)
    return std::nullopt;
  Seconds seconds;
  for (size_t i = 0; i < numbers->size(); i += 2)
    seconds.push_back({(*numbers)[i], (*numbers)[i + 1]});
  return seconds;
}

void Tuner::keep(const KernelKey &key, const Seconds &seconds) const {
  json::Array numbers;
  for (const PinnedKernel::Seconds &one : seconds) {
    numbers.push_back(one.all);
    numbers.push_back(one.preparing);
  }
  cache.store(key, llvm::formatv("{0}", json::Value(std::move(numbers))).str());
}

llvm::Expected<Tuner::Seconds> Tuner::measure(ArrayRef<SelectedKernel> candidates,
                                              bool &fromCache) {
  std::string identity = "timing " + timer.machine();
  for (const SelectedKernel &candidate : candidates)
    identity += '\0' + candidate.keyText();
  const KernelKey key = hashText(identity);
  std::optional<Seconds> known = lookUp(key, candidates.size());
  fromCache = known.has_value();
  if (known)
    return *known;
  llvm::Expected<std::vector<KernelTimer::Run>> runs = timer.load(selector, candidates);
  if (!runs)
    return runs.takeError();
  llvm::Expected<Seconds> seconds = Race(std::move(*runs), options).run();
  if (seconds && options.cache)
    keep(key, *seconds);
  return seconds;
}

static MeasuredCandidate describe(const GeneratedCandidate &one,
                                  const PinnedKernel::Seconds &seconds) {
  const Candidate &candidate = one.candidate;
  return {one.generator->name().str(),
          candidate.schedule,
          candidate.algorithm ? dl::stringifyConvolutionAlgorithm(*candidate.algorithm).str() : "",
          candidate.allWorkspaceBytes(),
          seconds.all,
          seconds.preparing};
}

/// Of candidates in the order of their estimates the first that is as good as the best.
static size_t bestOf(ArrayRef<PinnedKernel::Seconds> seconds,
                     llvm::function_ref<double(const PinnedKernel::Seconds &)> of) {
  double best = std::numeric_limits<double>::infinity();
  for (const PinnedKernel::Seconds &taken : seconds)
    best = std::min(best, of(taken));
  return llvm::find_if(seconds, [&](auto &taken) { return of(taken) <= 1.01 * best; }) -
         seconds.begin();
}

llvm::Expected<TunedKernel> Tuner::tune(const KernelOffer &offer, bool &fromCache) {
  std::vector<const GeneratedCandidate *> contenders = contendersOf(offer);
  std::vector<SelectedKernel> kernels;
  for (const GeneratedCandidate *one : contenders)
    kernels.push_back(selector.select(offer, *one));
  llvm::Expected<Seconds> seconds = measure(kernels, fromCache);
  if (!seconds)
    return seconds.takeError();
  llvm::Expected<TunedProblem> problem = TunedProblem::get(offer.text, *context);
  if (!problem)
    return problem.takeError();
  auto all = [](const PinnedKernel::Seconds &taken) { return taken.all; };
  auto prepared = [](const PinnedKernel::Seconds &taken) { return taken.all - taken.preparing; };
  const size_t chosen = bestOf(*seconds, all), chosenPrepared = bestOf(*seconds, prepared);
  TunedKernel kernel{std::move(*problem), {}, {}, {}, {}};
  for (auto [i, one] : llvm::enumerate(contenders)) {
    MeasuredCandidate measured = describe(*one, (*seconds)[i]);
    if (i == chosen)
      kernel.chosen = std::move(measured);
    else if (i == chosenPrepared && measured.preparing > 0)
      kernel.chosenPrepared = std::move(measured);
    else
      kernel.others.push_back(std::move(measured));
  }
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
  ModuleTuner(ModuleOp module, const std::shared_ptr<const Target> &target,
              const DLPipelineOptions &pipeline, KernelTimer &timer, const TuneOptions &options)
      : module(module), target(target), pipeline(pipeline), timer(timer), options(options) {
    file.target = target->description();
    file.machine = timer.machine();
  }
  llvm::Expected<LockFile> run();

private:
  llvm::Error tuneOpen(KernelSelector &selector, ArrayRef<const KernelOffer *> open);
  llvm::Error label(ModuleOp fused, KernelSelector &selector);
  void keepAsked(const Selectors &selectors);

  ModuleOp module;
  const std::shared_ptr<const Target> target;
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
    DLPipelineOptions choosing = pipeline;
    const Selectors selectors = openSelectors(target, file.choices(), choosing);
    KernelSelector &selector = *selectors.used;
    if (choosing.memoryFitter && options.watchTrials)
      choosing.memoryFitter = options.watchTrials(std::move(choosing.memoryFitter));
    OwningOpRef<ModuleOp> copy = module.clone();
    PassManager manager(module.getContext());
    addFusionPasses(manager, choosing);
    if (failed(manager.run(*copy)))
      return passFailed();
    std::vector<const KernelOffer *> open;
    for (const KernelOffer *offer : selector.offers())
      if (contendersOf(*offer).size() > 1 && !known.contains(problemHash(offer->text)))
        open.push_back(offer);
    if (open.empty()) {
      if (llvm::Error error = label(*copy, selector))
        return std::move(error);
      keepAsked(selectors);
      return std::move(file);
    }
    if (llvm::Error error = tuneOpen(selector, open))
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

/// The layers that launch each kernel that was chosen in the end. Warns of those that fall short.
llvm::Error ModuleTuner::label(ModuleOp fused, KernelSelector &selector) {
  FailureOr<std::vector<SelectedKernel>> kernels = planModule(fused, selector, pipeline);
  if (failed(kernels))
    return passFailed();
  warnOfShortfalls(fused, selector, *kernels);
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

/// Drops what was asked for only beside choices that measuring has changed: regions that passes
/// join behind dl-choose have the code and the layouts that it has chosen. What dl-divide-batch has
/// tried out stays: with it another division took longer than the one that was taken.
void ModuleTuner::keepAsked(const Selectors &selectors) {
  llvm::StringSet<> asked;
  for (const KernelOffer *offer : selectors.offers())
    asked.insert(problemHash(offer->text));
  llvm::erase_if(file.kernels,
                 [&](const TunedKernel &kernel) { return !asked.contains(kernel.problem.hash); });
}

llvm::Expected<LockFile> tuneModule(ModuleOp module, const std::shared_ptr<const Target> &target,
                                    const DLPipelineOptions &pipeline, KernelTimer &timer,
                                    const TuneOptions &options) {
  return ModuleTuner(module, target, pipeline, timer, options).run();
}

} // namespace dlc::codegen
