// Which checkpoints stay: the last ones, each of which a run goes on from to the bit, and the best.
#include "runtime/Training/KeptCheckpoints.h"
#include "dlc/run.h"
#include "runtime/Core/PathClaim.h"
#include "runtime/Data/Safetensors.h"
#include "test/lib/SmallModel/SmallModel.h"
#include "test/lib/SmallModel/SmallRuns.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

/// 100 training samples: an epoch of 12 batches.
struct Folder {
  TemporaryFolder folder;
  Folder() {
    writeSmallModule(folder);
    writeSmallData(folder.root(), 100, 30);
  }
  std::string path(std::string_view name) const { return folder.path(name); }
  RunOptions options(std::string_view checkpoint = "c") const {
    return {.module = path("small.so"),
            .device = {.threads = 1},
            .data = "idx:" + folder.root(),
            .seed = 1,
            .checkpoint = path(checkpoint)};
  }
  /// The names of all files of a checkpoint, in order.
  std::vector<std::string> filesOf(const std::string &checkpoint) const {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(folder.root()))
      if (const std::string name = entry.path().filename(); name.starts_with(checkpoint))
        names.push_back(name);
    std::ranges::sort(names);
    return names;
  }
};

using Names = std::vector<std::string>;

std::string stepIn(const std::string &path) {
  return SafetensorsFile::open(path)->metadata().at("step");
}

// Steps 5, 10, 12 (an epoch's end), 15, 20, 24, 25, 30, 35 and 36 are written. From each that is
// there a run goes on, in that file, to the bits of the one that was not interrupted.
TEST(KeptCheckpoints, AreTheLastAndGoOnToTheBit) {
  const Folder folder;
  RunOptions options = folder.options();
  options.checkpointEvery = 5;
  options.keep = 3;
  ASSERT_EQ(trained(options), "");
  EXPECT_EQ(folder.filesOf("c"), (Names{"c", "c.step-30", "c.step-35"}));
  const auto expected = readFile(options.checkpoint);
  for (const char *step : {"30", "35"}) {
    const std::string name = options.checkpoint + ".step-" + step;
    EXPECT_EQ(stepIn(name), step);
    RunOptions again = folder.options();
    again.checkpoint = name;
    again.resume = true;
    EXPECT_EQ(trained(again), "");
    EXPECT_EQ(readFile(name), expected) << name;
  }
}

// A run that goes on counts those that it finds. The checkpoint that it began with stays as well,
// and one of the same step takes its place.
TEST(KeptCheckpoints, AreCountedOverResumptions) {
  const Folder folder;
  RunOptions options = folder.options();
  options.keep = 3;
  for (const uint64_t steps : {5, 7, 0, 2, 4}) {
    options.steps = steps;
    ASSERT_EQ(trained(options), "");
    options.resume = true;
  }
  EXPECT_EQ(folder.filesOf("c"), (Names{"c", "c.step-12", "c.step-14"}));
  EXPECT_EQ(stepIn(options.checkpoint), "18");
}

// Names that only look like one of them are left alone, and a file in which another run goes on.
TEST(KeptCheckpoints, LeaveOthersAlone) {
  const Folder folder;
  RunOptions options = folder.options();
  options.keep = 2;
  const Names others = {"c.step-", "c.step-05", "c.step-3x", "c.step-4.best"};
  for (const std::string &name : others)
    writeFile(folder.path(name), std::vector<std::byte>());
  options.steps = 5;
  ASSERT_EQ(trained(options), "");
  options.resume = true;
  ASSERT_EQ(trained(options), "");
  const Result<PathClaim> claim = PathClaim::take(folder.path("c.step-5"));
  ASSERT_EQ(trained(options), "");
  Names expected = {"c", "c.step-12", "c.step-5"};
  expected.insert(expected.end(), others.begin(), others.end());
  std::ranges::sort(expected);
  EXPECT_EQ(folder.filesOf("c"), expected);
}

// Those of an earlier run are kept until they are to be replaced, and then go with its checkpoint.
TEST(KeptCheckpoints, OfAnEarlierRun) {
  const Folder folder;
  RunOptions options = folder.options();
  options.keep = 2;
  options.epochs = 2;
  ASSERT_EQ(trained(options), "");
  ASSERT_EQ(folder.filesOf("c"), (Names{"c", "c.step-12"}));
  std::filesystem::remove(options.checkpoint);
  const std::string earlier = options.checkpoint + ".step-12: is the checkpoint of an earlier run";
  EXPECT_EQ(trained(options), earlier + "; `overwrite` removes it");
  RunOptions alone = options;
  alone.keep = 1;
  alone.steps = 3;
  ASSERT_EQ(trained(alone), "");
  alone.resume = true;
  alone.keep = 2;
  EXPECT_EQ(trained(alone), earlier + ", and this one goes on from step 3; `overwrite` removes it");
  options.overwrite = true;
  options.steps = 5;
  ASSERT_EQ(trained(options), "");
  EXPECT_EQ(folder.filesOf("c"), (Names{"c"}));
}

/// Ends the process at the nth checkpoint.
struct Killer : TrainObserver {
  uint64_t at;
  explicit Killer(uint64_t at) : at(at) {}
  void onCheckpoint(const std::string &) override {
    if (--at == 0)
      raise(SIGKILL);
  }
};

// Killed anywhere, all files are whole, and the run that goes on has the same ones in the end.
TEST(KeptCheckpoints, SurviveKills) {
  const Folder folder;
  RunOptions options = folder.options("whole");
  options.checkpointEvery = 5;
  options.keep = 3;
  options.saveBest = "loss";
  ASSERT_EQ(trained(options), "");
  options.checkpoint = folder.path("c");
  for (const uint64_t at : {1, 2, 3, 2, 1}) {
    const pid_t child = fork();
    if (child == 0) {
      Killer killer(at);
      static_cast<void>(trained(options, {&killer}));
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    for (const uint64_t step : keptSteps(options.checkpoint))
      EXPECT_EQ(stepIn(keptName(options.checkpoint, step)), std::to_string(step));
    options.resume = true;
  }
  ASSERT_EQ(trained(options), "");
  EXPECT_EQ(folder.filesOf("c"), (Names{"c", "c.best", "c.step-30", "c.step-35"}));
  for (const std::string &name : folder.filesOf("c"))
    EXPECT_EQ(readFile(folder.path(name)), readFile(folder.path("whole" + name.substr(1)))) << name;
}

// The loss of an evaluation falls with each epoch: the last one is the best, and where more is
// better the first. It stays that over a resumption.
TEST(KeptCheckpoints, TheBestIsOfTheBestEvaluation) {
  const Folder folder;
  RunOptions least = folder.options("least"), most = folder.options("most");
  least.saveBest = "loss";
  ASSERT_EQ(trained(least), "");
  EXPECT_EQ(readFile(least.checkpoint + ".best"), readFile(least.checkpoint));
  most.saveBest = "loss:max";
  most.epochs = 1;
  ASSERT_EQ(trained(most), "");
  const auto first = readFile(most.checkpoint);
  EXPECT_EQ(readFile(most.checkpoint + ".best"), first);
  most.resume = true;
  most.epochs = 2;
  ASSERT_EQ(trained(most), "");
  EXPECT_EQ(stepIn(most.checkpoint), "24");
  EXPECT_EQ(readFile(most.checkpoint + ".best"), first);
  // Where the file is gone the checkpoint knows what it had in it.
  std::filesystem::remove(most.checkpoint + ".best");
  most.epochs = 3;
  ASSERT_EQ(trained(most), "");
  EXPECT_EQ(folder.filesOf("most"), Names{"most"});
}

// A run that has gone back, or had no eye on the best before, asks the file.
TEST(KeptCheckpoints, TheBestIsNotLostToAnOlderRun) {
  const Folder folder;
  RunOptions options = folder.options();
  options.saveBest = "loss";
  options.epochs = 1;
  ASSERT_EQ(trained(options), "");
  const auto before = readFile(options.checkpoint);
  options.resume = true;
  options.epochs = 4;
  ASSERT_EQ(trained(options), "");
  const auto best = readFile(options.checkpoint + ".best");
  writeFile(options.checkpoint, before);
  options.epochs = 3;
  ASSERT_EQ(trained(options), "");
  EXPECT_EQ(stepIn(options.checkpoint), "36");
  EXPECT_EQ(readFile(options.checkpoint + ".best"), best);
}

TEST(KeptCheckpoints, TheBestOfAnEarlierRun) {
  const Folder folder;
  RunOptions options = folder.options();
  options.saveBest = "loss:max";
  options.epochs = 1;
  ASSERT_EQ(trained(options), "");
  std::filesystem::remove(options.checkpoint);
  const std::string best = options.checkpoint + ".best";
  EXPECT_EQ(trained(options), best + ": is the best checkpoint of an earlier run; `overwrite` "
                                     "replaces it");
  options.saveBest = "";
  ASSERT_EQ(trained(options), "");
  options.resume = true;
  options.saveBest = "accuracy";
  EXPECT_EQ(trained(options),
            best + ": is the best by another metric than accuracy:max; `overwrite` replaces it");
  // It goes as soon as there is a checkpoint of the run that replaces the earlier one.
  options.resume = false;
  options.overwrite = true;
  options.steps = 3;
  ASSERT_EQ(trained(options), "");
  EXPECT_EQ(folder.filesOf("c"), Names{"c"});
}

// Of a run that was killed while it replaced an earlier one, the best is never taken for the
// other's.
TEST(KeptCheckpoints, TheBestOfARunThatWasReplaced) {
  const Folder folder;
  RunOptions options = folder.options();
  options.saveBest = "loss";
  options.epochs = 2;
  ASSERT_EQ(trained(options), "");
  const auto earlier = readFile(options.checkpoint), best = readFile(options.checkpoint + ".best");
  // The best of the earlier run is gone before its checkpoint is.
  RunOptions other = options;
  other.overwrite = true;
  other.seed = 2;
  other.steps = 3;
  bool sawBoth = false;
  bool lost = false;
  const CheckpointFiles files = {.path = options.checkpoint, .savesBest = true};
  ASSERT_TRUE(writeFiles(
                  files, 3,
                  [&](const std::string &name) {
                    sawBoth |= name == options.checkpoint &&
                               std::filesystem::exists(options.checkpoint + ".best");
                    return Status();
                  },
                  lost)
                  .ok());
  EXPECT_FALSE(sawBoth);
  // The checkpoint is the earlier run's still, the best the new one's.
  other.steps.reset();
  other.epochs = 1;
  ASSERT_EQ(trained(other), "");
  writeFile(options.checkpoint, earlier);
  options.resume = true;
  options.epochs = 3;
  EXPECT_EQ(trained(options), options.checkpoint + ".best: is the best of another run than " +
                                  options.checkpoint + " is of; `overwrite` replaces it");
  options.overwrite = true;
  ASSERT_EQ(trained(options), "");
  EXPECT_EQ(readFile(options.checkpoint + ".best"), readFile(options.checkpoint));
  EXPECT_NE(readFile(options.checkpoint + ".best"), best);
}

// A run is killed behind an epoch whose last step was saved, when the best is written and the
// checkpoint is not: the best is its own.
TEST(KeptCheckpoints, TheBestBehindAStepThatWasSaved) {
  const Folder folder;
  struct Witness : TrainObserver {
    std::vector<std::byte> first;
    void onCheckpoint(const std::string &path) override {
      if (first.empty())
        first = readFile(path);
    }
  } witness;
  RunOptions options = folder.options();
  options.saveBest = "loss";
  options.epochs = 1;
  options.checkpointEvery = 12;
  ASSERT_EQ(trained(options, {&witness}), "");
  const auto last = readFile(options.checkpoint), best = readFile(options.checkpoint + ".best");
  ASSERT_NE(witness.first, last);
  writeFile(options.checkpoint, witness.first);
  ASSERT_EQ(stepIn(options.checkpoint), "12");
  options.resume = true;
  EXPECT_EQ(trained(options), "");
  EXPECT_EQ(readFile(options.checkpoint), last);
  EXPECT_EQ(readFile(options.checkpoint + ".best"), best);
}

// Where the best cannot be written it is none: the next evaluation that is better than the last one
// that was written is.
TEST(KeptCheckpoints, TheBestThatIsNotWritten) {
  const Folder folder;
  struct Saboteur : TrainObserver {
    std::string best;
    std::vector<std::string> failures;
    void onStep(const StepReport &report) override {
      if (report.progress.step == 6)
        std::filesystem::create_directory(best);
    }
    void onCheckpointFailed(const Status &reason) override {
      failures.emplace_back(reason.message());
      std::filesystem::remove(best);
    }
  } saboteur;
  RunOptions options = folder.options();
  saboteur.best = options.checkpoint + ".best";
  options.saveBest = "loss";
  options.epochs = 2;
  EXPECT_EQ(trained(options, {&saboteur}),
            options.checkpoint +
                ": 1 of 2 checkpoints could not be written; the file holds step 24");
  EXPECT_EQ(saboteur.failures, Names{saboteur.best + ": cannot write: it is a folder"});
  EXPECT_EQ(readFile(saboteur.best), readFile(options.checkpoint));
}

// Numbers that are not finite are found before any file comes or goes: the best of an earlier run,
// and a second name of the checkpoint before.
TEST(KeptCheckpoints, NoneOfNumbersThatAreNotFinite) {
  const Folder folder;
  RunOptions options = folder.options();
  options.keep = 2;
  options.saveBest = "loss";
  options.overwrite = true;
  options.checkpointEvery = 1;
  options.overrides = {{"optimizer.learning_rate", 1e300}};
  const std::string best = options.checkpoint + ".best";
  auto isRefused = [&](const char *step) {
    const std::string message = trained(options);
    EXPECT_TRUE(message.ends_with(std::string(step) +
                                  ": the parameter 'linear1.weight' holds a number that is not "
                                  "finite; a smaller learning rate may help"))
        << message;
  };
  RunOptions earlier = folder.options();
  earlier.steps = 5;
  ASSERT_EQ(trained(earlier), "");
  std::filesystem::rename(options.checkpoint, best);
  const auto content = readFile(best);
  isRefused("step 1");
  EXPECT_EQ(folder.filesOf("c"), Names{"c.best"});
  EXPECT_EQ(readFile(best), content);

  std::filesystem::rename(best, options.checkpoint);
  options.resume = true;
  isRefused("step 6");
  EXPECT_EQ(folder.filesOf("c"), Names{"c"});
}

TEST(KeptCheckpoints, SaysWhatIsWrong) {
  const Folder folder;
  RunOptions options = folder.options();
  options.saveBest = "acuracy";
  const std::string module = options.module + ": ";
  EXPECT_EQ(trained(options), module + "no evaluation yields 'acuracy'; there are: loss, accuracy");
  options.saveBest = "accuracy:most";
  EXPECT_EQ(trained(options),
            module + "no evaluation yields 'accuracy:most'; there are: loss, accuracy");
  options.saveBest = "accuracy";
  options.data = "";
  options.train = openDataset("idx:" + folder.folder.root(), Split::Train).take();
  EXPECT_EQ(trained(options),
            "`saveBest` waits for 'accuracy' of an evaluation, and there is no test data");
  options.checkpoint = "";
  EXPECT_EQ(trained(options), "`saveBest` is given without `checkpoint`");
  options.keep = 2;
  EXPECT_EQ(trained(options), "`keep` is given without `checkpoint`");
  EXPECT_TRUE(folder.filesOf("c").empty());
}

} // namespace
