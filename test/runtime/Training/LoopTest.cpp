// What happens to a run on its way: evaluations within an epoch, checkpoints on demand, and ends
// before the last epoch.
#include "dlc/run.h"
#include "runtime/Data/Safetensors.h"
#include "test/lib/SmallModel/SmallModel.h"
#include "test/lib/SmallModel/SmallRuns.h"

#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <thread>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

using Steps = std::vector<uint64_t>;

/// Hears a run, and asks it for things.
struct Observer : TrainObserver {
  Steps evaluated, epochs, saved;
  /// Behind these steps a checkpoint is asked for.
  Steps saveBehind;
  std::chrono::milliseconds pause{0};
  uint64_t step = 0;
  void onStep(const StepReport &report) override {
    step = report.progress.step;
    std::this_thread::sleep_for(pause);
  }
  void onEvaluation(const EvaluationReport &report) override {
    evaluated.push_back(report.progress.step);
    EXPECT_EQ(report.test.samples, 30u);
  }
  void onEpoch(const EpochReport &report) override { epochs.push_back(report.progress.step); }
  void onCheckpoint(const std::string &path) override {
    const auto file = SafetensorsFile::open(path);
    saved.push_back(std::stoull(file->metadata().at("step")));
  }
  bool shouldSave() override { return std::erase(saveBehind, step + 1) != 0; }
};

/// 100 training samples: an epoch of 12 batches.
struct Folder {
  TemporaryFolder folder;
  std::vector<std::string> heard;
  explicit Folder(const PlanBuilder &plan = smallModel()) {
    writeFile(folder.path("small.so"), moduleWith(plan.blob()));
    writeSmallData(folder.root(), 100, 30);
  }
  RunOptions options(std::string_view checkpoint = "c") {
    return {.module = folder.path("small.so"),
            .device = {.threads = 1},
            .data = "idx:" + folder.root(),
            .seed = 1,
            .epochs = 10,
            .checkpoint = folder.path(checkpoint),
            .log = [this](Severity, std::string_view line) { heard.emplace_back(line); }};
  }
};

// Within the epoch, but not twice at its end. It changes no bit of what is trained.
TEST(Loop, EvaluatesWithinTheEpoch) {
  Folder folder;
  RunOptions options = folder.options();
  options.epochs = 2;
  ASSERT_EQ(trained(options), "");
  RunOptions often = folder.options("often");
  often.epochs = 2;
  often.evaluateEvery = 4;
  Observer observer;
  ASSERT_EQ(trained(often, {&observer}), "");
  EXPECT_EQ(observer.evaluated, (Steps{4, 8, 16, 20}));
  EXPECT_EQ(observer.epochs, (Steps{12, 24}));
  EXPECT_EQ(observer.saved, (Steps{4, 8, 12, 16, 20, 24}));
  EXPECT_EQ(readFile(often.checkpoint), readFile(options.checkpoint));
}

// The best may be one of them.
TEST(Loop, TheBestIsWithinTheEpoch) {
  Folder folder;
  RunOptions options = folder.options();
  options.epochs = 1;
  options.evaluateEvery = 5;
  options.saveBest = "loss:max";
  ASSERT_EQ(trained(options), "");
  EXPECT_EQ(SafetensorsFile::open(options.checkpoint + ".best")->metadata().at("step"), "5");
}

TEST(Loop, SavesOnDemand) {
  Folder folder;
  RunOptions options = folder.options();
  options.steps = 9;
  Observer observer;
  observer.saveBehind = {3, 7};
  ASSERT_EQ(trained(options, {&observer}), "");
  EXPECT_EQ(observer.saved, (Steps{3, 7, 9}));
}

// Once for a request, though more steps of the epoch and its end follow.
TEST(Loop, SavesOnceOnDemand) {
  Folder folder;
  RunOptions options = folder.options();
  options.epochs = 2;
  Observer observer;
  observer.saveBehind = {11};
  ASSERT_EQ(trained(options, {&observer}), "");
  EXPECT_EQ(observer.saved, (Steps{11, 12, 24}));
}

// Who asks for the end while an epoch is closed is told of that epoch once.
TEST(Loop, EndsBehindAnEpoch) {
  struct Ender : Observer {
    bool shouldStop() override { return !epochs.empty(); }
  };
  Folder folder;
  Ender observer;
  ASSERT_EQ(trained(folder.options(), {&observer}), "");
  EXPECT_EQ(observer.epochs, Steps{12});
  EXPECT_EQ(observer.saved, Steps{12});
}

// What save() writes into the run's own file is the checkpoint before the next one.
TEST(Loop, KeepsWhatWasSavedByHand) {
  Folder folder;
  RunOptions options = folder.options();
  options.keep = 3;
  options.steps = 5;
  auto run = dlc::runtime::Run::open(options);
  ASSERT_TRUE(run.ok() && (*run)->train().ok());
  std::vector<float> image(8 * 16, 0.5f);
  std::vector<int32_t> label(8, 1);
  const std::vector<Array> batch = {{"image", DLC_F32, {8, 1, 4, 4}, image.data()},
                                    {"label", DLC_I32, {8}, label.data()}};
  ASSERT_TRUE((*run)->step(batch).ok());
  ASSERT_TRUE((*run)->save(options.checkpoint).ok());
  ASSERT_TRUE((*run)->train().ok());
  const auto kept = SafetensorsFile::open(options.checkpoint + ".step-6");
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->metadata().at("step"), "6");
}

// The loss falls, so with more of it as better only the first evaluation is.
TEST(Loop, LosesPatience) {
  Folder folder;
  RunOptions options = folder.options();
  options.patience = 2;
  options.patienceMetric = "loss:max";
  Observer observer;
  ASSERT_EQ(trained(options, {&observer}), "");
  EXPECT_EQ(observer.epochs, (Steps{12, 24, 36}));
  EXPECT_TRUE(folder.heard.back().starts_with("the last 2 evaluations had no better loss than 0."))
      << folder.heard.back();
  // Where it is told to go on it waits for the next one alone.
  options.resume = true;
  ASSERT_EQ(trained(options, {&observer}), "");
  EXPECT_EQ(observer.epochs, (Steps{12, 24, 36, 48}));
}

// The checkpoint knows how many there were, also of those within epochs.
TEST(Loop, CountsOverResumptions) {
  Folder folder;
  RunOptions options = folder.options("whole");
  options.patience = 3;
  options.saveBest = "loss:max";
  options.evaluateEvery = 9;
  Observer whole, parts;
  ASSERT_EQ(trained(options, {&whole}), "");
  // Steps 9 (the best), 12, 18 and 24.
  EXPECT_EQ(whole.step, 24u);
  options.checkpoint = folder.folder.path("parts");
  for (const uint64_t steps : {10, 3, 100}) {
    options.steps = steps;
    ASSERT_EQ(trained(options, {&parts}), "");
    options.resume = true;
  }
  EXPECT_EQ(parts.step, 24u);
  EXPECT_EQ(readFile(options.checkpoint), readFile(folder.folder.path("whole")));
}

// Better by less than `minDelta` is not better.
TEST(Loop, WantsMuchBetter) {
  Folder folder;
  RunOptions options = folder.options();
  options.epochs = 3;
  options.patience = 1;
  options.minDelta = 10;
  Observer observer;
  ASSERT_EQ(trained(options, {&observer}), "");
  EXPECT_EQ(observer.epochs, (Steps{12, 24}));
  const std::string said = folder.heard.back();
  EXPECT_TRUE(said.starts_with("the last evaluation had no better loss than 0.")) << said;
  EXPECT_TRUE(said.ends_with(" by more than 10")) << said;
}

// It ends with a checkpoint, from which it goes on to the bit.
TEST(Loop, EndsInTime) {
  Folder folder;
  RunOptions options = folder.options();
  options.epochs = 2;
  options.timeLimit = 0.1;
  Observer observer;
  observer.pause = std::chrono::milliseconds(30);
  ASSERT_EQ(trained(options, {&observer}), "");
  EXPECT_LE(observer.step, 4u);
  EXPECT_EQ(folder.heard.back(), "the 0.1 s of `timeLimit` are over");
  EXPECT_EQ(observer.saved, Steps{observer.step});
  options.timeLimit = 0;
  options.resume = true;
  ASSERT_EQ(trained(options), "");
  RunOptions whole = folder.options("whole");
  whole.epochs = 2;
  ASSERT_EQ(trained(whole), "");
  EXPECT_EQ(readFile(options.checkpoint), readFile(whole.checkpoint));
}

// What one of them wants all do behind the same step: save, end in time, lose patience.
TEST(Loop, RanksDoTheSame) {
  Folder folder(smallParallelModel());
  std::vector<Observer> observers(2);
  auto run = [&](auto change) {
    among(2, [&](const auto &ranks) {
      RunOptions options = folder.options();
      options.log = {};
      options.ranks = ranks;
      options.overwrite = true;
      Observer &observer = observers[ranks->rank()];
      observer = {};
      change(options, observer, ranks->rank());
      EXPECT_EQ(trained(options, {&observer}), "");
    });
    EXPECT_EQ(observers[0].step, observers[1].step);
  };
  run([](RunOptions &options, Observer &observer, unsigned rank) {
    options.steps = 5;
    if (rank == 1)
      observer.saveBehind = {2};
  });
  EXPECT_EQ(observers[0].saved, (Steps{2, 5}));
  run([](RunOptions &options, Observer &observer, unsigned rank) {
    options.timeLimit = 0.05;
    observer.pause = std::chrono::milliseconds(rank == 1 ? 20 : 0);
  });
  EXPECT_LE(observers[0].step, 4u);
  run([](RunOptions &options, Observer &, unsigned) {
    options.patience = 1;
    options.patienceMetric = "loss:max";
    options.evaluateEvery = 4;
  });
  // An epoch has 6 batches of two ranks.
  EXPECT_EQ(observers[1].evaluated, Steps{4});
  EXPECT_EQ(observers[0].step, 6u);
}

/// The lines of a log.
std::vector<std::string> linesOf(const std::string &path) {
  std::vector<std::string> lines;
  const auto content = readFile(path);
  std::istringstream text(
      std::string(reinterpret_cast<const char *>(content.data()), content.size()));
  for (std::string line; std::getline(text, line);)
    lines.push_back(line);
  return lines;
}

// A line for each step, evaluation and epoch, as it is reported; a run that resumes goes on behind
// them, behind a line that was not written to its end too.
TEST(Loop, LogsReports) {
  Folder folder;
  RunOptions options = folder.options();
  options.evaluateEvery = 8;
  options.steps = 9;
  options.logFile = folder.folder.path("log.jsonl");
  ASSERT_EQ(trained(options), "");
  const auto before = linesOf(options.logFile);
  ASSERT_EQ(before.size(), 11u);
  EXPECT_TRUE(before[0].starts_with(R"({"report":"step","step":1,"epoch":1,"loss":)")) << before[0];
  EXPECT_NE(before[0].find(R"("samples_per_second":)"), std::string::npos) << before[0];
  EXPECT_TRUE(before[8].starts_with(R"({"report":"evaluation","step":8,"epoch":1,"test_loss":)"))
      << before[8];
  EXPECT_TRUE(before[10].starts_with(R"({"report":"epoch","epoch":0,"step":9,"loss":)"))
      << before[10];
  EXPECT_EQ(trained(options), options.checkpoint +
                                  ": is the checkpoint of an earlier run, after step 9; `resume` "
                                  "continues it, `overwrite` replaces it");
  RunOptions other = folder.options("other");
  other.logFile = options.logFile;
  EXPECT_EQ(trained(other), options.logFile + ": is there already; `resume` goes on behind it, "
                                              "`overwrite` replaces it");
  auto torn = readFile(options.logFile);
  torn.resize(torn.size() - 5);
  writeFile(options.logFile, torn);
  options.resume = true;
  options.steps = 1;
  ASSERT_EQ(trained(options), "");
  const auto after = linesOf(options.logFile);
  ASSERT_EQ(after.size(), 13u);
  EXPECT_TRUE(after[11].starts_with(R"({"report":"step","step":10,)")) << after[11];
  options.resume = false;
  options.overwrite = true;
  ASSERT_EQ(trained(options), "");
  EXPECT_EQ(linesOf(options.logFile).size(), 2u);
}

// The same under columns, which those of a run that resumes stand under too.
TEST(Loop, LogsColumns) {
  PlanBuilder plan = smallModel();
  plan.scalars[0].scheduled = 1;
  Folder folder(plan);
  RunOptions options = folder.options();
  options.steps = 12;
  options.logFile = folder.folder.path("log.csv");
  ASSERT_EQ(trained(options), "");
  options.resume = true;
  options.steps = 1;
  ASSERT_EQ(trained(options), "");
  const auto lines = linesOf(options.logFile);
  ASSERT_EQ(lines.size(), 1u + 12 + 1 + 2);
  EXPECT_EQ(lines[0], "report,step,epoch,loss,accuracy,seconds,samples_per_second,"
                      "learning_rates.optimizer.learning_rate,test_loss,test_accuracy");
  EXPECT_TRUE(lines[1].starts_with("step,1,1,")) << lines[1];
  EXPECT_TRUE(lines[1].ends_with(",0.1,,")) << lines[1];
  EXPECT_TRUE(lines[13].starts_with("epoch,12,1,")) << lines[13];
  EXPECT_NE(lines[13].find(",,,0.1,0."), std::string::npos) << lines[13];
  EXPECT_TRUE(lines[14].starts_with("step,13,2,")) << lines[14];
  writeFile(options.logFile, readFile(folder.folder.path("train-labels-idx1-ubyte")));
  EXPECT_NE(trained(options).find(": is no log of a run: its first column is '"),
            std::string::npos);
}

// Where it cannot be written it is said once, and the run goes on.
TEST(Loop, GoesOnWithoutALog) {
  Folder folder;
  RunOptions options = folder.options();
  options.epochs = 1;
  options.logFile = "/dev/full";
  ASSERT_EQ(trained(options), "");
  EXPECT_EQ(folder.heard.back(),
            "/dev/full: cannot write: No space left on device; training goes on without it");
  options.overwrite = true;
  options.logFile = options.checkpoint;
  EXPECT_EQ(trained(options),
            options.checkpoint + ": is an input as well; name another file for the output");
}

TEST(Loop, SaysWhatIsWrong) {
  Folder folder;
  RunOptions options = folder.options();
  options.minDelta = -1;
  EXPECT_EQ(trained(options), "`minDelta` is -1, expected a number from 0 on");
  options.minDelta = 0;
  options.timeLimit = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(trained(options), "`timeLimit` is not a number, expected a number from 0 on");
  options.timeLimit = 0;
  options.patience = 1;
  options.patienceMetric = "perplexity";
  EXPECT_EQ(trained(options),
            options.module + ": no evaluation yields 'perplexity'; there are: loss, accuracy");
  options.patienceMetric = "";
  options.data = "";
  options.train = openDataset("idx:" + folder.folder.root(), Split::Train).take();
  EXPECT_EQ(trained(options),
            "`patience` waits for 'loss' of an evaluation, and there is no test data");
  options.patience = 0;
  options.evaluateEvery = 3;
  EXPECT_EQ(trained(options), "`evaluateEvery` is 3, and there is no test data");
}

} // namespace
