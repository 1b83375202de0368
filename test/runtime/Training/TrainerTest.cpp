// Training: that it learns, stops, and goes on after a kill with the bits of a run that was not
// killed.
#include "runtime/Training/Trainer.h"
#include "runtime/Data/Safetensors.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <cmath>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

struct Observer : TrainObserver {
  std::vector<double> losses;
  std::vector<EpochReport> epochs;
  /// Checkpoints until the process is killed; steps until it is asked to stop.
  uint64_t killAt = UINT64_MAX, stopAt = UINT64_MAX;
  void onStep(const StepReport &report) override {
    losses.push_back(report.batch[0].second.number);
  }
  void onCheckpoint(const std::string &) override {
    if (--killAt == 0)
      raise(SIGKILL);
  }
  void onEpoch(const EpochReport &report) override { epochs.push_back(report); }
  bool shouldStop() override { return losses.size() >= stopAt; }
};

/// 100 training samples: an epoch of 12 batches.
struct Training {
  TemporaryFolder folder;
  Training() {
    writeSmallModule(folder);
    writeSmallData(folder.root(), 100, 30);
  }

  std::shared_ptr<State> freshState(unsigned threads = 1, uint64_t seed = 1) {
    return State::create(Module::load(folder.path("small.so")).take(),
                         openCpu({.threads = threads}).take(), seed)
        .take();
  }

  Status train(const std::shared_ptr<State> &state, const RunOptions &options, bool resume,
               TrainObserver &observer, bool tests = true) {
    TrainingProgress start;
    start.seed = state->seed();
    Metadata metadata;
    if (resume) {
      metadata = loadVariables(*state, options.checkpoint, LoadMode::Everything).take();
      start = progressFrom(metadata).take();
    }
    const std::string data = "idx:" + folder.root();
    auto trainer = Trainer::create(state, openDataset(data, Split::Train).take(),
                                   tests ? openDataset(data, Split::Test).take() : nullptr, options,
                                   {}, start);
    if (!trainer.ok())
      return trainer.takeStatus();
    if (Status restored = (*trainer)->restore(metadata); !restored.ok())
      return restored;
    if (Status ran = (*trainer)->run(observer); !ran.ok())
      return ran;
    return (*trainer)->checkpointStatus();
  }

  std::string checkpoint(const char *name) const { return folder.path(name); }
};

TEST(Trainer, LearnsAndReports) {
  Training run;
  Observer observer;
  auto state = run.freshState();
  // The module's own setting says three epochs.
  ASSERT_TRUE(run.train(state, {}, false, observer).ok());
  ASSERT_EQ(observer.epochs.size(), 3u);
  EXPECT_EQ(observer.losses.size(), 36u);
  const EpochReport &last = observer.epochs.back();
  EXPECT_EQ(last.samples, 96u);
  EXPECT_EQ(last.train[1].first, "accuracy");
  ASSERT_TRUE(last.test.has_value());
  EXPECT_EQ(last.test->samples, 30u);
  EXPECT_GT(last.test->metrics[1].second.number, 0.9);
  EXPECT_LT(last.train[0].second.number, observer.epochs[0].train[0].second.number);
}

/// The weights after two epochs of the small model with this schedule and rate.
static std::vector<std::byte> weightsAfter(std::vector<dlc_schedule_part> parts, double rate,
                                           const std::vector<uint64_t> &pieces = {24}) {
  Training run;
  PlanBuilder plan = smallModel();
  plan.scalars[0].scheduled = 1;
  plan.steps[0].schedule = {0, static_cast<uint32_t>(parts.size())};
  plan.schedule = std::move(parts);
  writeFile(run.folder.path("small.so"), moduleWith(plan.blob()));
  const std::string path = run.checkpoint("scheduled.safetensors");
  std::shared_ptr<State> state;
  for (const uint64_t &steps : pieces) {
    Observer observer;
    state = run.freshState();
    EXPECT_TRUE(run.train(state,
                          {.epochs = 2,
                           .steps = steps,
                           .overrides = {{"optimizer.learning_rate", rate}},
                           .checkpoint = path},
                          &steps != pieces.data(), observer)
                    .ok());
  }
  std::vector<std::byte> weights(4 * 16 * sizeof(float));
  EXPECT_TRUE(state->read(0, weights).ok());
  return weights;
}

// Half the rate times two is the rate; the factor counts batches, over epochs and resumptions.
TEST(Trainer, MultipliesScheduledScalars) {
  const auto whole = weightsAfter({}, 0.125);
  EXPECT_EQ(weightsAfter({{DLC_SCHEDULE_CONSTANT, 0, 0, 0, 0.5, 0, 0, {}}}, 0.25), whole);
  EXPECT_NE(weightsAfter({{DLC_SCHEDULE_CONSTANT, 0, 0, 0, 0.5, 0, 0, {}}}, 0.125), whole);
  const std::vector<dlc_schedule_part> cosine = {{DLC_SCHEDULE_COSINE, 1, 0, 2, 0, 0, 0, {}}};
  EXPECT_NE(weightsAfter(cosine, 0.125), whole);
  EXPECT_EQ(weightsAfter(cosine, 0.125, {5, 9, 10}), weightsAfter(cosine, 0.125));
  // A fall behind the last batch changes nothing.
  EXPECT_EQ(weightsAfter({{DLC_SCHEDULE_STEP, 1, 0, 2, 0.1, 0, 0, {}}}, 0.125), whole);
  EXPECT_NE(weightsAfter({{DLC_SCHEDULE_STEP, 0, 0, 23, 0.1, 0, 0, {}}}, 0.125), whole);
}

// A plateau sees each evaluation, also over a resumption, and needs one.
TEST(Trainer, FallsOnPlateaus) {
  auto train = [](std::vector<uint64_t> pieces, double mode, const char *metric, bool tests) {
    Training run;
    PlanBuilder plan = smallModel();
    plan.scalars[0].scheduled = 1;
    plan.steps[0].schedule = {0, 1};
    plan.schedule.push_back({DLC_SCHEDULE_PLATEAU, 1, 0, 0, 0.5, 0, mode, plan.text(metric)});
    writeFile(run.folder.path("small.so"), moduleWith(plan.blob()));
    const std::string path = run.checkpoint("plateau.safetensors");
    std::string seen;
    for (const uint64_t &steps : pieces) {
      Observer observer;
      Status status = run.train(run.freshState(), {.epochs = 5, .steps = steps, .checkpoint = path},
                                &steps != pieces.data(), observer, tests);
      if (!status.ok())
        return std::string(status.message());
      seen =
          loadVariables(*run.freshState(), path, LoadMode::Everything).take()["plateau.train_step"];
    }
    return seen;
  };
  // The loss falls in each epoch; that it does not rise is five times no better than before.
  const std::string better = train({60}, 0, "loss", true), worse = train({60}, 1, "loss", true);
  EXPECT_TRUE(better.ends_with(" 1p+0")) << better;
  EXPECT_TRUE(worse.ends_with(" 1p-4")) << worse;
  EXPECT_EQ(train({7, 20, 33}, 1, "loss", true), worse);
  EXPECT_TRUE(
      train({60}, 0, "loss", false)
          .ends_with("the schedule waits for 'loss' of an evaluation, and there is no test data"));
  EXPECT_TRUE(train({60}, 0, "perplexity", true)
                  .ends_with("the schedule waits for 'perplexity', which no evaluation yields"));
}

// The report of an epoch is the mean over its samples, so over equal batches the mean of their
// losses.
TEST(Trainer, AveragesOverTheEpoch) {
  Training run;
  Observer observer;
  ASSERT_TRUE(run.train(run.freshState(), {.epochs = 1}, false, observer).ok());
  double sum = 0;
  for (double loss : observer.losses)
    sum += loss;
  EXPECT_NEAR(observer.epochs[0].train[0].second.number, sum / double(observer.losses.size()),
              1e-6);
}

/// Bytes of the checkpoint after 20 batches: of one run, or of several with the given steps each.
std::vector<std::byte> after(Training &run, std::vector<uint64_t> pieces, unsigned threads = 1) {
  const std::string path = run.checkpoint("c.safetensors");
  bool resume = false;
  for (uint64_t steps : pieces) {
    Observer observer;
    Status status = run.train(run.freshState(threads),
                              {.epochs = 5, .steps = steps, .checkpoint = path}, resume, observer);
    EXPECT_TRUE(status.ok()) << status.message();
    resume = true;
  }
  return readFile(path);
}

// 10 steps, an end, 10 steps: the bits of 20 steps. Cut within an epoch, at its end, and several
// times; with any threads.
TEST(Trainer, ResumesWithTheSameBits) {
  Training run;
  const auto expected = after(run, {20});
  EXPECT_EQ(after(run, {10, 10}), expected);
  EXPECT_EQ(after(run, {12, 8}), expected);
  EXPECT_EQ(after(run, {1, 4, 6, 2, 7}, 2), expected);
  EXPECT_EQ(after(run, {20}, 3), expected);
  EXPECT_NE(after(run, {19}), expected);
}

// Killed behind step 12, a run goes on from its last checkpoint, that of the epoch of 12 steps.
TEST(Trainer, SurvivesAKill) {
  Training run;
  const auto expected = after(run, {20});
  const std::string path = run.checkpoint("killed.safetensors");
  const pid_t child = fork();
  if (child == 0) {
    Observer observer;
    observer.killAt = 2;
    static_cast<void>(run.train(run.freshState(),
                                {.epochs = 5, .checkpoint = path, .checkpointEvery = 10}, false,
                                observer));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  Observer observer;
  ASSERT_TRUE(
      run.train(run.freshState(), {.epochs = 5, .steps = 8, .checkpoint = path}, true, observer)
          .ok());
  EXPECT_EQ(readFile(path), expected);
}

// An epoch that was cut reports what an uncut one reports.
TEST(Trainer, RestoresTheEpochsSums) {
  Training run;
  Observer whole, cut;
  const std::string path = run.checkpoint("c.safetensors");
  ASSERT_TRUE(run.train(run.freshState(), {.epochs = 1, .checkpoint = path}, false, whole).ok());
  ASSERT_TRUE(
      run.train(run.freshState(), {.epochs = 1, .steps = 5, .checkpoint = path}, false, cut).ok());
  ASSERT_TRUE(run.train(run.freshState(), {.epochs = 1, .checkpoint = path}, true, cut).ok());
  EXPECT_EQ(cut.epochs.back().train, whole.epochs.back().train);
  EXPECT_EQ(cut.epochs.back().samples, whole.epochs.back().samples);
}

TEST(Trainer, StopsWhenAsked) {
  Training run;
  Observer observer;
  observer.stopAt = 5;
  const std::string path = run.checkpoint("c.safetensors");
  ASSERT_TRUE(run.train(run.freshState(), {.epochs = 2, .checkpoint = path}, false, observer).ok());
  EXPECT_EQ(observer.losses.size(), 5u);
  EXPECT_EQ(SafetensorsFile::open(path)->metadata().at("position"), "5");
}

// A loss that is no number ends the run with the last good checkpoint in place.
TEST(Trainer, StopsAtALossThatIsNoNumber) {
  Training run;
  Observer observer;
  const std::string path = run.checkpoint("c.safetensors");
  ASSERT_TRUE(
      run.train(run.freshState(), {.epochs = 5, .steps = 6, .checkpoint = path}, false, observer)
          .ok());
  const auto good = readFile(path);
  Status status =
      run.train(run.freshState(),
                {.epochs = 5, .overrides = {{"optimizer.learning_rate", 1e30}}, .checkpoint = path},
                true, observer);
  EXPECT_EQ(status.code(), StatusCode::Failed);
  EXPECT_NE(std::string(status.message()).find("entry 'train_step': the loss is"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(readFile(path), good);
}

// The place for the checkpoint is tried before anything is computed.
TEST(Trainer, NeedsAPlaceForTheCheckpoint) {
  Training run;
  Observer observer;
  const std::string path = run.folder.path("none/c");
  EXPECT_EQ(run.train(run.freshState(), {.checkpoint = path}, false, observer).message(),
            path + ": cannot write: folder " + run.folder.path("none/") +
                ": No such file or directory");
  EXPECT_TRUE(observer.losses.empty());
  EXPECT_EQ(
      run.train(run.freshState(), {.checkpoint = run.folder.root()}, false, observer).message(),
      run.folder.root() + ": cannot write: it is a folder");
}

/// Takes the checkpoint's folder away behind some checkpoint, until so many could not be written.
struct Saboteur : Observer {
  std::string folder;
  uint64_t behind = 0, back = 0;
  std::vector<std::string> failures;
  void onCheckpoint(const std::string &) override {
    if (--behind == 0)
      std::filesystem::rename(folder, folder + ".away");
  }
  void onCheckpointFailed(const Status &reason) override {
    failures.emplace_back(reason.message());
    if (--back == 0)
      std::filesystem::rename(folder + ".away", folder);
  }
};

// A checkpoint that cannot be written costs nothing but itself: the run goes on, the next is tried.
TEST(Trainer, GoesOnWithoutACheckpoint) {
  Training run;
  const auto expected = after(run, {10});
  Saboteur observer;
  observer.folder = run.folder.path("place");
  observer.behind = 1;
  observer.back = 2;
  std::filesystem::create_directory(observer.folder);
  const RunOptions options{
      .epochs = 5, .steps = 10, .checkpoint = observer.folder + "/c", .checkpointEvery = 2};
  Status status = run.train(run.freshState(), options, false, observer);
  EXPECT_EQ(status.code(), StatusCode::Io);
  EXPECT_EQ(status.message(), options.checkpoint + ": 2 of 6 checkpoints could not be written; "
                                                   "the file holds step 10");
  EXPECT_EQ(observer.failures,
            (std::vector<std::string>(2, options.checkpoint + ": cannot write: folder " +
                                             observer.folder + "/: No such file or directory")));
  EXPECT_EQ(readFile(options.checkpoint), expected);
  // Of steps 12 (which ends an epoch as well), 14, 16, 18, 20 and the end.
  observer.behind = 3;
  observer.back = UINT64_MAX;
  EXPECT_EQ(run.train(run.freshState(), options, true, observer).message(),
            options.checkpoint +
                ": 4 of 7 checkpoints could not be written; the file holds step 14");
}

/// Begins to read the pipe that is the checkpoint at some step: until then nothing can be written.
struct Reader : Observer {
  std::string path;
  uint64_t from = 0;
  std::vector<std::byte> content;
  std::thread thread;
  void onStep(const StepReport &report) override {
    Observer::onStep(report);
    if (report.progress.step == from)
      thread = std::thread([this] { read(); });
  }
  void read() {
    const int pipe = open(path.c_str(), O_RDWR | O_CLOEXEC); // One of its ends is always open.
    for (size_t done = 0; done < content.size();) {
      const ssize_t got = ::read(pipe, content.data() + done, content.size() - done);
      if (got <= 0)
        break;
      done += static_cast<size_t>(got);
    }
    close(pipe);
  }
};

// The step goes on while a checkpoint is written, which holds what there was when it was due: step
// 8 is trained before a byte of that of step 5 has gone anywhere. The end waits for both.
TEST(Trainer, GoesOnWhileACheckpointIsWritten) {
  Training run;
  std::vector<std::byte> expected = after(run, {5});
  const auto last = after(run, {8});
  expected.insert(expected.end(), last.begin(), last.end());
  Reader observer;
  observer.path = run.folder.path("pipe");
  observer.from = 8;
  observer.content.resize(expected.size());
  ASSERT_EQ(mkfifo(observer.path.c_str(), 0600), 0);
  const RunOptions options{
      .epochs = 5, .steps = 8, .checkpoint = observer.path, .checkpointEvery = 5};
  const Status status = run.train(run.freshState(), options, false, observer);
  EXPECT_TRUE(status.ok()) << status.message();
  observer.thread.join();
  EXPECT_EQ(observer.content, expected);
}

// Weights may be infinite a step before the loss is: they are not saved, and are what is said,
// whether the thread that writes finds them before the next step ends or behind it.
TEST(Trainer, SavesNothingThatIsNotFinite) {
  Training run;
  Observer observer;
  const std::string path = run.checkpoint("c.safetensors");
  ASSERT_TRUE(
      run.train(run.freshState(), {.epochs = 5, .steps = 6, .checkpoint = path}, false, observer)
          .ok());
  const auto good = readFile(path);
  for (const uint64_t last : {1, 3}) {
    const RunOptions options{.epochs = 5,
                             .steps = last,
                             .overrides = {{"optimizer.learning_rate", 1e300}},
                             .checkpoint = path,
                             .checkpointEvery = 7};
    Status status = run.train(run.freshState(), options, true, observer);
    EXPECT_EQ(status.code(), StatusCode::Failed);
    EXPECT_EQ(status.message(), "step 7: the parameter 'linear1.weight' holds a number that is not "
                                "finite; a smaller learning rate may help");
    EXPECT_EQ(readFile(path), good);
  }
}

// The last step of an epoch spoils the weights, yet not the scores: the evaluation's loss shows it.
TEST(Trainer, StopsAtAnEvaluationThatIsNoNumber) {
  Training run;
  Observer observer;
  const std::string path = run.checkpoint("c.safetensors");
  ASSERT_TRUE(
      run.train(run.freshState(), {.epochs = 5, .steps = 11, .checkpoint = path}, false, observer)
          .ok());
  const auto good = readFile(path);
  const RunOptions options{
      .epochs = 5, .overrides = {{"optimizer.learning_rate", 1e36}}, .checkpoint = path};
  Status status = run.train(run.freshState(), options, true, observer);
  EXPECT_EQ(status.code(), StatusCode::Failed);
  EXPECT_EQ(observer.losses.size(), 12u);
  const std::string message(status.message());
  EXPECT_TRUE(message.starts_with("evaluation after epoch 1: ")) << message;
  EXPECT_TRUE(message.ends_with(": samples 0 to 7: the loss is not a number; a smaller learning "
                                "rate may help"))
      << message;
  EXPECT_EQ(readFile(path), good);
}

TEST(Trainer, SaysWhatIsWrong) {
  Training run;
  Observer observer;
  EXPECT_EQ(
      run.train(run.freshState(), {.overrides = {{"momentum", 1}}}, false, observer).message(),
      run.folder.path("small.so") +
          ": no setting 'momentum' to override; there are: optimizer.learning_rate");
  writeSmallData(run.folder.root(), 7, 1);
  EXPECT_EQ(run.train(run.freshState(), {}, false, observer).message(),
            run.folder.root() + ": 7 samples do not fill one batch of 8");
  EXPECT_EQ(progressFrom({{"seed", "1"}}).status().message(),
            "no 'step' in the metadata: not written by a training run");
  auto claims = [](const char *step, const char *epoch, const char *position) {
    return std::string(
        progressFrom({{"seed", "1"}, {"step", step}, {"epoch", epoch}, {"position", position}})
            .status()
            .message());
  };
  EXPECT_EQ(claims("20", "2", "18"), "");
  EXPECT_EQ(claims("20", "2", "19"), "the metadata claims 2 epochs and 19 batches after 20 steps");
  EXPECT_EQ(claims("20", "18446744073709551615", "0"),
            "the metadata claims 18446744073709551615 epochs and 0 batches after 20 steps");
  EXPECT_EQ(claims("18446744073709551615", "4294967296", "0"),
            "the metadata claims 4294967296 epochs and 0 batches after 18446744073709551615 steps");
  EXPECT_EQ(progressFrom({{"seed", "x"}}).status().message(),
            "'seed' in the metadata is no whole number");
}

} // namespace
