//===- TunerTest.cpp - what is chosen follows the clock, and a plan keeps it ------------------===//
#include "codegen/CPU/CpuTarget.h"
#include "codegen/Plan/ModuleCompiler.h"
#include "codegen/Targets.h"
#include "codegen/Tune/Probe.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/Exec/Exec.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fstream>
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

/// Two equal convolutions, which Winograd's algorithm can run, and a product.
static const char *const model = R"mlir(
dl.entry @infer_n4(%x: tensor<4x24x16x16xf32>, %w: tensor<24x24x3x3xf32>, %a: tensor<64x96xf32>,
                   %b: tensor<96x80xf32>)
    -> (tensor<4x24x16x16xf32>, tensor<64x80xf32>) attributes {kind = #program.entry<infer>} {
  %0 = dl.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1
      : tensor<4x24x16x16xf32>, tensor<24x24x3x3xf32>
  %1 = dl.convolution %0, %w strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1
      : tensor<4x24x16x16xf32>, tensor<24x24x3x3xf32>
  %2 = dl.matmul %a, %b : tensor<64x96xf32>, tensor<96x80xf32>
  dl.return %1, %2 : tensor<4x24x16x16xf32>, tensor<64x80xf32>
}
)mlir";

namespace {

/// Takes as long as it is told to.
class FakeTimer : public KernelTimer {
public:
  /// Of candidate `number` of `count`, in the order of their estimates, in run `run`.
  using Clock = std::function<double(size_t number, size_t count, size_t run)>;
  /// `prepared`: the part of its time that a candidate takes behind its preparation, if it has one.
  explicit FakeTimer(Clock clock, std::string name = "a fake", double prepared = 1)
      : clock(std::move(clock)), name(std::move(name)), prepared(prepared) {}

  std::string machine() const override { return name; }
  llvm::Expected<std::vector<Run>> load(KernelSelector &,
                                        ArrayRef<SelectedKernel> candidates) override {
    ++loads;
    std::vector<Run> runs;
    for (size_t i = 0; i < candidates.size(); ++i)
      runs.push_back([this, i, prepares = candidates[i].candidate.preparation.has_value(),
                      count = candidates.size(), number = size_t(0)]() mutable {
        ++calls;
        const double taken = clock(i, count, number++);
        return llvm::Expected<Seconds>(Seconds{taken, prepares ? taken * prepared : taken});
      });
    return runs;
  }

  size_t loads = 0, calls = 0;

private:
  Clock clock;
  std::string name;
  double prepared;
};

/// Long enough not to be repeated.
constexpr double second = 1;

double asEstimated(size_t number, size_t, size_t) { return second * double(number + 1); }
double reversed(size_t number, size_t count, size_t) { return second * double(count - number); }

class Tuning : public testing::Test {
protected:
  explicit Tuning(const char *target = "cpu:avx2") : target(llvm::cantFail(getTarget(target))) {
    DialectRegistry registry;
    registerKernelDialects(registry);
    registry.insert<exec::ExecDialect>();
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(model, context.get());
    llvm::sys::fs::createUniqueDirectory("dlc-tune", folder);
    options.cache = false;
    options.cacheFolder = folder.str().str() + "/cache";
  }
  ~Tuning() override { llvm::sys::fs::remove_directories(folder); }

  LockFile tune(KernelTimer &timer) {
    return llvm::cantFail(tuneModule(*module, target, pipeline, timer, options));
  }
  LockFile tune(FakeTimer::Clock clock) {
    FakeTimer timer(std::move(clock));
    return tune(timer);
  }
  /// The model behind dl-choose with a plan.
  OwningOpRef<ModuleOp> fuse(const LockFile &file) {
    DLPipelineOptions asking = pipeline;
    selectors = openSelectors(target, file.choices(), asking);
    OwningOpRef<ModuleOp> copy = module->clone();
    PassManager manager(context.get());
    addFusionPasses(manager, asking);
    EXPECT_TRUE(succeeded(manager.run(*copy)));
    return copy;
  }
  /// What is taken with a plan wherever all of a kernel runs, by the kernels' names.
  std::map<std::string, std::string> choose(const LockFile &file) {
    fuse(file);
    std::map<std::string, std::string> chosen;
    for (const KernelOffer *offer : selectors.used->offers())
      chosen[offer->stem] = offer->candidates.front().name();
    return chosen;
  }
  /// The schedules of all regions.
  std::multiset<std::string> schedules(const LockFile &file) {
    std::multiset<std::string> all;
    fuse(file)->walk(
        [&](dl::FusedOp fused) { all.insert(fused.getCandidateAttr().getSchedule().str()); });
    return all;
  }
  std::string path(const char *name) const { return folder.str().str() + "/" + name; }
  std::string write(const std::string &text) {
    std::ofstream(path("plan.json")) << text;
    return path("plan.json");
  }
  /// What is wrong with a plan of this text, behind the file's name.
  std::string complaint(const std::string &text) {
    llvm::Expected<LockFile> file = LockFile::read(write(text), *target);
    if (file)
      return "nothing";
    std::string message = llvm::toString(file.takeError());
    EXPECT_TRUE(StringRef(message).consume_front(path("plan.json") + ": ")) << message;
    return message.substr(message.find(": ") + 2);
  }

  std::shared_ptr<const Target> target;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  DLPipelineOptions pipeline;
  Selectors selectors;
  llvm::SmallString<128> folder;
  TuneOptions options;
};

} // namespace

static std::string contentOf(const std::string &path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST_F(Tuning, AReversedClockReversesTheChoice) {
  const LockFile plain = tune(asEstimated), turned = tune(reversed);
  // Equal convolutions are one problem.
  ASSERT_EQ(plain.kernels.size(), 2u);
  ASSERT_EQ(turned.kernels.size(), 2u);
  const auto estimated = choose(LockFile());
  EXPECT_EQ(choose(plain), estimated);
  const auto other = choose(turned);
  for (auto [a, b] : llvm::zip(plain.kernels, turned.kernels)) {
    EXPECT_EQ(a.problem.hash, b.problem.hash);
    EXPECT_EQ(a.chosen.seconds, second);
    EXPECT_EQ(b.chosen.seconds, second);
    EXPECT_EQ(a.others.size(), b.others.size());
    EXPECT_EQ(a.chosen.name(), estimated.at(a.problem.name));
    EXPECT_EQ(b.chosen.name(), other.at(b.problem.name));
    EXPECT_NE(a.chosen.name(), b.chosen.name());
    // The one that was best is the slowest now.
    EXPECT_EQ(b.others.back().name(), a.chosen.name());
  }
  EXPECT_EQ(plain.kernels[0].layers.size() + plain.kernels[1].layers.size(), 2u);
}

namespace {
class CudaTuning : public Tuning {
protected:
  CudaTuning() : Tuning("cuda:sm_90") {}
};
} // namespace

/// Where nothing is measured cuDNN has a convolution that our algorithms can run; a clock that
/// finds the one fastest that is behind all others makes the plan say so.
TEST_F(CudaTuning, TheClockMayChooseAlgorithms) {
  const char *name = "conv3x3_24x16x16";
  EXPECT_TRUE(StringRef(choose(LockFile()).at(name)).starts_with("library: cuDNN"));
  const LockFile file = tune(reversed);
  EXPECT_TRUE(StringRef(choose(file).at(name)).starts_with("cuda-patches: gemm tile"));
  const auto kernel = llvm::find_if(
      file.kernels, [&](const TunedKernel &kernel) { return kernel.problem.name == name; });
  ASSERT_NE(kernel, file.kernels.end());
  EXPECT_EQ(kernel->chosen.algorithm, "gemm");
  EXPECT_GT(kernel->chosen.workspaceBytes, 0u);
}

/// A product with weights as an entry's input, and with weights that stay as they are.
static const char *const products = R"mlir(
dl.variable @w : tensor<96x80xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @infer_n64(%a: tensor<64x96xf32>, %b: tensor<96x80xf32>)
    -> (tensor<64x80xf32>, tensor<64x80xf32>) attributes {kind = #program.entry<infer>} {
  %w = dl.read @w : tensor<96x80xf32>
  %0 = dl.matmul %a, %b : tensor<64x96xf32>, tensor<96x80xf32>
  %1 = dl.matmul %a, %w : tensor<64x96xf32>, tensor<96x80xf32>
  dl.return %0, %1 : tensor<64x80xf32>, tensor<64x80xf32>
}
)mlir";

/// What packs its weights takes twice as long as others with the packing, and half without it: it
/// runs where the weights are packed once, unless the plan says something else.
TEST_F(Tuning, APreparedOperandTakesTheLeastWithoutPreparing) {
  module = parseSourceString<ModuleOp>(products, context.get());
  std::vector<bool> packs; ///< each candidate, in the order of their estimates
  choose(LockFile());
  ASSERT_EQ(selectors.used->offers().size(), 1u);
  for (const GeneratedCandidate *one : contendersOf(*selectors.used->offers().front()))
    packs.push_back(one->candidate.preparation.has_value());
  FakeTimer timer([&](size_t number, size_t, size_t) { return packs[number] ? 2.0 + number : 1.0; },
                  "a fake", /*prepared=*/0.125);
  LockFile file = tune(timer);
  TunedKernel &kernel = file.kernels.front();
  EXPECT_EQ(kernel.chosen.seconds, 1);
  EXPECT_EQ(kernel.chosen.preparing, 0);
  ASSERT_TRUE(kernel.chosenPrepared);
  EXPECT_EQ(kernel.chosenPrepared->preparing, 0.875 * kernel.chosenPrepared->seconds);
  auto expected = [&] {
    return std::multiset{kernel.chosen.schedule, kernel.chosenPrepared->schedule};
  };
  EXPECT_EQ(schedules(file), expected());

  auto slower =
      llvm::find_if(kernel.others, [](const MeasuredCandidate &one) { return one.preparing > 0; });
  ASSERT_NE(slower, kernel.others.end());
  std::swap(*kernel.chosenPrepared, *slower);
  EXPECT_EQ(schedules(file), expected());

  const std::string path = this->path("plan.json");
  ASSERT_FALSE(file.write(path));
  llvm::Expected<LockFile> read = LockFile::read(path, *target);
  ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(schedules(*read), expected());

  kernel.chosenPrepared->schedule = "gone";
  kernel.chosen.schedule = "gone, too";
  choose(file);
  // One a line, whatever of it does not fit.
  const std::vector<Misfit> misfits = file.findMisfits(selectors);
  ASSERT_EQ(misfits.size(), 1u);
  EXPECT_NE(misfits[0].message.find(kernel.chosen.name()), std::string::npos);
  EXPECT_NE(misfits[0].message.find(kernel.chosenPrepared->name()), std::string::npos);
}

/// A convolution whose moments its kernel computes where images lie in blocks of channels.
static const char *const normalized = R"mlir(
dl.entry @train_step(%x: tensor<4x32x16x16xf32>, %w: tensor<32x32x3x3xf32>)
    -> (tensor<4x32x16x16xf32>, tensor<32xf32>, tensor<32xf32>)
    attributes {kind = #program.entry<train>} {
  %0 = dl.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1
      : tensor<4x32x16x16xf32>, tensor<32x32x3x3xf32>
  %1 = dl.convolution %0, %w strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1
      : tensor<4x32x16x16xf32>, tensor<32x32x3x3xf32>
  %mean, %m2 = dl.moments %0 axes = [0, 2, 3] : tensor<4x32x16x16xf32>
  dl.return %1, %mean, %m2 : tensor<4x32x16x16xf32>, tensor<32xf32>, tensor<32xf32>
}
)mlir";

/// The plan has what the compiler asks for with it, and no more: what the estimates' choice joined
/// was measured, too, but joins no longer.
TEST_F(Tuning, AFreshPlanFits) {
  module = parseSourceString<ModuleOp>(normalized, context.get());
  ASSERT_TRUE(module);
  for (const FakeTimer::Clock &clock :
       {FakeTimer::Clock(asEstimated), FakeTimer::Clock(reversed)}) {
    FakeTimer timer(clock);
    const LockFile file = tune(timer);
    fuse(file);
    for (const Misfit &misfit : file.findMisfits(selectors))
      ADD_FAILURE() << misfit.message;
    EXPECT_LT(file.kernels.size(), timer.loads);
  }
}

/// Large images, and smaller ones behind them, that cannot all lie in memory at once.
static const char *const large = R"mlir(
dl.entry @train_step(%x: tensor<16x8x16x16xf32> {dl.batch_axis = 0 : i64}, %v: tensor<16x8x3x3xf32>,
                     %w: tensor<16x16x3x3xf32>)
    -> tensor<16x16x8x8xf32> attributes {kind = #program.entry<train>} {
  %0 = dl.convolution %x, %v strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1
      : tensor<16x8x16x16xf32>, tensor<16x8x3x3xf32>
  %1 = dl.convolution %0, %w strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1
      : tensor<16x16x16x16xf32>, tensor<16x16x3x3xf32>
  %2 = dl.max_pool %1 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1]
      : tensor<16x16x16x16xf32> -> tensor<16x16x8x8xf32>
  %3 = dl.convolution %2, %w strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1
      : tensor<16x16x8x8xf32>, tensor<16x16x3x3xf32>
  dl.return %3 : tensor<16x16x8x8xf32>
}
)mlir";

/// Whatever is measured takes longer than what is estimated, so one division after another is taken
/// and timed. The plan has all of them: without those that are not taken another would be.
TEST_F(Tuning, APlanHasWhatADivisionIsChosenBy) {
  module = parseSourceString<ModuleOp>(large, context.get());
  ASSERT_TRUE(module);
  pipeline.recompute = DLPipelineOptions::Recompute::Any;
  pipeline.memoryBudget = 400 << 10;
  auto kernelsWith = [&](const LockFile &file) {
    size_t count = 0;
    fuse(file)->walk([&](dl::FusedOp) { ++count; });
    return count;
  };
  LockFile file = tune(asEstimated);
  const size_t kernels = kernelsWith(file);
  for (const Misfit &misfit : file.findMisfits(selectors))
    ADD_FAILURE() << misfit.message;
  auto isTried = [](const TunedKernel &kernel) { return kernel.layers.empty(); };
  ASSERT_TRUE(llvm::any_of(file.kernels, isTried));
  llvm::erase_if(file.kernels, isTried);
  EXPECT_NE(kernelsWith(file), kernels);
}

TEST_F(Tuning, NoiseDoesNotDecide) {
  // Each third run takes half as long again; the last candidate is a tenth faster than the others.
  const LockFile file = tune([](size_t number, size_t count, size_t run) {
    return second * (number + 1 == count ? 0.9 : 1.0) * (run % 3 == number % 3 ? 1.5 : 1.0);
  });
  for (const TunedKernel &kernel : file.kernels)
    EXPECT_EQ(kernel.chosen.seconds, 0.9 * second) << kernel.problem.name;
}

TEST_F(Tuning, TheEstimateDecidesBetweenEqualOnes) {
  const LockFile file =
      tune([](size_t number, size_t, size_t) { return second * (number == 0 ? 1.005 : 1.0); });
  EXPECT_EQ(choose(file), choose(LockFile()));
}

TEST_F(Tuning, StopsWhenTheRankingIsClear) {
  FakeTimer clear([](size_t number, size_t, size_t) { return number == 0 ? second : 3 * second; });
  FakeTimer close([](size_t number, size_t, size_t run) {
    return second * (run % 2 == number % 2 ? 1.0 : 1.02);
  });
  options.seconds = 1e9;
  tune(clear);
  tune(close);
  // Two runs of each to warm up, against all rounds.
  EXPECT_LT(clear.calls * 4, close.calls);
}

TEST_F(Tuning, KeepsWhatWasMeasuredUnlessDamaged) {
  options.cache = true;
  FakeTimer first(reversed), second(asEstimated), elsewhere(asEstimated, "another machine");
  const LockFile measured = tune(first);
  EXPECT_EQ(first.loads, 2u);
  tune(second);
  EXPECT_EQ(second.loads, 0u);
  EXPECT_EQ(choose(tune(second)), choose(measured));
  tune(elsewhere);
  EXPECT_EQ(elsewhere.loads, 2u);
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(options.cacheFolder, error), end; it != end;
       it.increment(error)) {
    std::fstream file(it->path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('7');
  }
  ASSERT_FALSE(error);
  tune(second);
  EXPECT_EQ(second.loads, 2u);
}

TEST_F(Tuning, APlanIsReadAsItWasWritten) {
  const LockFile file = tune(reversed);
  ASSERT_FALSE(bool(file.write(path("a.json"))));
  const LockFile read = llvm::cantFail(LockFile::read(path("a.json"), *target));
  EXPECT_EQ(read.machine, "a fake");
  ASSERT_FALSE(bool(read.write(path("b.json"))));
  EXPECT_EQ(contentOf(path("a.json")), contentOf(path("b.json")));
  EXPECT_EQ(choose(read), choose(file));
  EXPECT_TRUE(read.findMisfits(selectors).empty());
}

TEST_F(Tuning, LinesThatDoNotFitAreNamed) {
  LockFile file = tune(reversed);
  const auto estimated = choose(LockFile());
  file.kernels[0].chosen.schedule = "gone";
  file.kernels[1].problem.hash = std::string(32, '0');
  EXPECT_EQ(choose(file), estimated);
  const std::vector<Misfit> misfits = file.findMisfits(selectors);
  ASSERT_EQ(misfits.size(), 3u);
  EXPECT_EQ(misfits[0].message, "for " + file.kernels[0].layers[0] + " there is no '" +
                                    file.kernels[0].chosen.generator + ": gone' any longer");
  EXPECT_EQ(misfits[1].message,
            "the model has no such kernel as that of " + file.kernels[1].layers[0]);
  EXPECT_EQ(misfits[2].message, "nothing was measured for " + file.kernels[1].problem.name);

  ASSERT_FALSE(bool(file.write(path("old.json"))));
  const LockFile read = llvm::cantFail(LockFile::read(path("old.json"), *target));
  choose(read);
  auto lines = llvm::map_to_vector(read.findMisfits(selectors),
                                   [](const Misfit &misfit) { return misfit.line; });
  EXPECT_EQ(ArrayRef(lines), ArrayRef<unsigned>({6, 7, 0}));
}

TEST_F(Tuning, PlansThatCannotBeUsed) {
  const LockFile file = tune(asEstimated);
  ASSERT_FALSE(bool(file.write(path("good.json"))));
  const std::string good = contentOf(path("good.json"));
  auto with = [&](StringRef old, StringRef replacement) {
    std::string text = good;
    const size_t place = text.find(old.str());
    EXPECT_NE(place, std::string::npos) << old.str();
    return text.replace(place, old.size(), replacement.str());
  };
  EXPECT_EQ(complaint(good), "nothing");
  EXPECT_EQ(complaint("plan"),
            "expected the JSON that dlc tune writes: [1:1, byte=1]: Invalid JSON value");
  EXPECT_EQ(complaint("[]"), "expected an object with the field dlc_plan when parsing plan");
  EXPECT_EQ(complaint(with("\"dlc_plan\": 2", "\"dlc_plan\": 1")),
            "expected version 2 at plan.dlc_plan");
  EXPECT_EQ(complaint(with("\"machine\"", "\"maschine\"")), "missing at plan.machine");
  EXPECT_EQ(complaint(with("\"machine\"", "\"more\": 1, \"machine\"")),
            "unknown field at plan.more");
  EXPECT_EQ(complaint(with("\"workspace\":", "\"workspace\":-1,\"old\":")),
            "expected a whole number of 0 or more at plan.kernels[0].chosen.workspace");
  EXPECT_EQ(complaint(with("\"seconds\":1", "\"seconds\":0")),
            "expected a number above 0 at plan.kernels[0].chosen.seconds");
  EXPECT_EQ(complaint(with("\"preparing\":0", "\"preparing\":-1")),
            "expected a number of 0 or more at plan.kernels[0].chosen.preparing");
  EXPECT_EQ(complaint(with("\"layers\":[", "\"layers\":[1,")),
            "expected string at plan.kernels[0].layers[0]");
  EXPECT_EQ(complaint(with("\"hash\":\"", "\"hash\":\"x")),
            "expected 32 hexadecimal digits at plan.kernels[0].problem.hash");
  EXPECT_EQ(complaint(with(file.kernels[1].problem.hash, file.kernels[0].problem.hash)),
            "stands in the plan twice at plan.kernels[1].problem");
  EXPECT_EQ(complaint(with(file.target, "a toaster")),
            "tuned for another machine, a toaster; this compiles for " + target->description());
  llvm::Expected<LockFile> none = LockFile::read(path("none.json"), *target);
  EXPECT_FALSE(bool(none));
  EXPECT_EQ(llvm::toString(none.takeError()),
            path("none.json") + ": cannot open: No such file or directory");
}

namespace {
/// A machine of which all is known: each kernel takes what its estimate says.
class KnownMachine : public KernelTimer {
public:
  explicit KnownMachine(CpuTarget target) : target(std::move(target)) {}
  std::string machine() const override { return "known"; }
  llvm::Expected<std::vector<Run>> load(KernelSelector &,
                                        ArrayRef<SelectedKernel> candidates) override {
    DialectRegistry registry;
    registerKernelDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    OwningOpRef<ModuleOp> module = *parseKernel(candidates.front().text, &context);
    KernelSelector selector(target.clone());
    const KernelOffer &offer = selector.offer(*KernelSpec::get(kernelBlock(*module)));
    std::vector<Run> runs;
    for (const SelectedKernel &kernel : candidates) {
      auto found = llvm::find_if(offer.candidates, [&](const GeneratedCandidate &one) {
        return one.candidate.schedule == kernel.candidate.schedule;
      });
      const double taken = found->candidate.cost;
      runs.push_back([taken] { return llvm::Expected<Seconds>(Seconds{taken, taken}); });
    }
    return runs;
  }

private:
  CpuTarget target;
};
} // namespace

/// Of a machine that is faster in one way and slower in others the record is found, and what no
/// kernel tells apart goes along.
TEST(Probe, FindsAMachine) {
  const CpuTarget target = llvm::cantFail(CpuTarget::get("znver4"));
  CpuTarget truth = target;
  truth.machine.memoryBytesPerSecond *= 0.4;
  truth.machine.l3BytesPerSecond *= 1.5;
  truth.machine.vectorOperationsPerSecond *= 0.8;
  truth.machine.tileCyclesPerSecond64 *= 3;
  KnownMachine timer(truth);
  std::vector<std::string> names;
  CpuTarget measured = target;
  llvm::cantFail(measureMachine(measured, timer,
                                [&](const ProbedKernel &kernel) { names.push_back(kernel.name); }));
  const CpuMachine &found = measured.machine;
  EXPECT_EQ(names.size(), 4u);
  for (double CpuMachine::*rate :
       {&CpuMachine::memoryBytesPerSecond, &CpuMachine::l3BytesPerSecond,
        &CpuMachine::vectorOperationsPerSecond, &CpuMachine::tileCyclesPerSecond64})
    EXPECT_NEAR(found.*rate / truth.machine.*rate, 1, 0.02);
  EXPECT_NEAR(found.streamBytesPerSecond / target.machine.streamBytesPerSecond, 0.4, 0.01);
  EXPECT_EQ(found.tileCyclesPerSecond32, target.machine.tileCyclesPerSecond32);
  EXPECT_EQ(found.l1Bytes, target.machine.l1Bytes);
}

/// Where the record is right it stays, as far as a double knows.
TEST(Probe, LeavesWhatIsRight) {
  CpuTarget measured = llvm::cantFail(CpuTarget::get("avx2"));
  const CpuMachine right = measured.machine;
  KnownMachine timer(measured);
  llvm::cantFail(measureMachine(measured, timer));
  EXPECT_DOUBLE_EQ(measured.machine.memoryBytesPerSecond, right.memoryBytesPerSecond);
  EXPECT_DOUBLE_EQ(measured.machine.tileCyclesPerSecond32, right.tileCyclesPerSecond32);
}

/// The least caches that a record may have leave each kernel something to compute.
TEST(Probe, TinyCaches) {
  CpuTarget target = llvm::cantFail(CpuTarget::get("avx2"));
  target.machine.l2Bytes = target.machine.l3Bytes = 1;
  CpuTarget truth = target;
  truth.machine.memoryBytesPerSecond *= 0.5;
  KnownMachine timer(truth);
  llvm::cantFail(measureMachine(target, timer, [](const ProbedKernel &kernel) {
    EXPECT_GT(kernel.seconds, 0) << kernel.name;
  }));
  EXPECT_NEAR(target.machine.memoryBytesPerSecond / truth.machine.memoryBytesPerSecond, 1, 0.02);
}
