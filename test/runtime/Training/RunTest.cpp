// A run as a program has it: that it trains as the trainer does, in whatever way it is given its
// data, goes on to the bit, and says what is wrong.
#include "dlc/run.h"
#include "runtime/Collectives/Transport.h"
#include "runtime/Core/PathClaim.h"
#include "runtime/Core/Support.h"
#include "test/lib/SmallModel/SmallModel.h"
#include "test/lib/SmallModel/SmallRuns.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

constexpr uint64_t batchSize = 8, pixels = 16, batches = 12;

/// 100 training samples: an epoch of 12 batches.
struct Folder {
  TemporaryFolder folder;
  std::vector<std::string> heard;
  explicit Folder(const PlanBuilder &plan = smallModel()) {
    writeFile(folder.path("small.so"), moduleWith(plan.blob()));
    writeSmallData(folder.root(), 100, 30);
  }
  std::string path(const char *name) const { return folder.path(name); }
  RunOptions options() {
    return {.module = path("small.so"),
            .device = {.threads = 1},
            .data = "idx:" + folder.root(),
            .seed = 1,
            .log = [this](Severity severity, std::string_view line) {
              const char *kind[] = {"note: ", "warning: ", "error: "};
              heard.push_back(kind[static_cast<int>(severity)] + std::string(line));
            }};
  }
};

std::unique_ptr<Run> opened(RunOptions options) {
  Result<std::unique_ptr<Run>> run = Run::open(std::move(options));
  EXPECT_TRUE(run.ok()) << run.status().message();
  return run.ok() ? run.take() : nullptr;
}

std::string refusal(RunOptions options) {
  Result<std::unique_ptr<Run>> run = Run::open(std::move(options));
  return run.ok() ? "opened" : std::string(run.status().message());
}

std::vector<std::byte> weightsOf(const Run &run) {
  std::vector<std::byte> weights(run.weightsBytes());
  EXPECT_TRUE(run.readWeights(weights).ok());
  return weights;
}

std::vector<float> numbersOf(const std::vector<std::byte> &bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

struct Counter : TrainObserver {
  std::vector<double> losses;
  std::vector<std::string> checkpoints;
  uint64_t epochs = 0, stopAt = UINT64_MAX;
  void onStep(const StepReport &report) override {
    losses.push_back(report.batch[0].second.number);
  }
  void onEpoch(const EpochReport &) override { ++epochs; }
  void onCheckpoint(const std::string &path) override { checkpoints.push_back(path); }
  bool shouldStop() override { return losses.size() >= stopAt; }
};

/// A batch that learns something, made of its number.
struct OwnBatch {
  std::vector<float> image = std::vector<float>(batchSize * pixels);
  std::vector<int32_t> label = std::vector<int32_t>(batchSize);
  void make(uint64_t number) {
    for (uint64_t i = 0; i < batchSize; ++i) {
      label[i] = static_cast<int32_t>((number + i) % 4);
      for (uint64_t p = 0; p < pixels; ++p)
        image[i * pixels + p] = static_cast<float>((number * 7 + i * 3 + p) % 5) / 8 +
                                (p / 4 == static_cast<uint64_t>(label[i]) ? 0.5f : 0);
    }
  }
  std::vector<Array> arrays() const {
    return {{"image", DLC_F32, {batchSize, 1, 4, 4}, image.data()},
            {"label", DLC_I32, {batchSize}, label.data()}};
  }
};

TEST(Run, TrainsEvaluatesAndSaves) {
  Folder folder;
  RunOptions options = folder.options();
  options.checkpoint = folder.path("c.safetensors");
  auto run = opened(options);
  EXPECT_EQ(run->epochs(), 3u);
  Counter first, second;
  ASSERT_TRUE(run->train({&first, &second}).ok());
  EXPECT_EQ(first.losses.size(), 3 * batches);
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_EQ(first.epochs, 3u);
  EXPECT_EQ(first.checkpoints, std::vector<std::string>(3, options.checkpoint));
  EXPECT_EQ(run->progress().step, 3 * batches);
  EXPECT_EQ(run->lastSaved(), 3 * batches);
  auto report = run->evaluate();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->samples, 30u);
  EXPECT_GT(report->metrics[1].second.number, 0.9);
  // What save() writes now is what train() wrote last.
  ASSERT_TRUE(run->save(folder.path("again.safetensors")).ok());
  EXPECT_EQ(readFile(folder.path("again.safetensors")), readFile(options.checkpoint));
  EXPECT_EQ(folder.heard, (std::vector<std::string>{
                              "note: " + folder.folder.root() +
                              ": 4 of 100 samples are left out each time, as they do not fill a "
                              "batch of 8"}));
  // There is nothing left to do, and nothing goes wrong.
  ASSERT_TRUE(run->train({&first}).ok());
  EXPECT_EQ(first.losses.size(), 3 * batches);
}

// More epochs than were meant at first, and fewer.
TEST(Run, TrainsUpToOtherEpochs) {
  Folder folder;
  auto whole = opened(folder.options());
  ASSERT_TRUE(whole->train().ok());
  auto run = opened(folder.options());
  for (uint64_t epochs : {2, 1, 3}) {
    run->setEpochs(epochs);
    EXPECT_EQ(run->epochs(), epochs);
    ASSERT_TRUE(run->train().ok());
    EXPECT_EQ(run->progress().epoch, std::max<uint64_t>(epochs, 2));
  }
  EXPECT_EQ(weightsOf(*run), weightsOf(*whole));
}

// Stopped by an observer, by stop(), by a number of steps, and resumed in another Run.
TEST(Run, GoesOnToTheBit) {
  Folder folder;
  auto whole = opened(folder.options());
  ASSERT_TRUE(whole->train().ok());
  RunOptions options = folder.options();
  options.checkpoint = folder.path("c.safetensors");
  options.steps = 5;
  auto run = opened(options);
  ASSERT_TRUE(run->train().ok());
  EXPECT_EQ(run->progress().step, 5u);
  Counter stopping;
  stopping.stopAt = 3;
  ASSERT_TRUE(run->train({&stopping}).ok());
  EXPECT_EQ(run->progress().step, 8u);
  run->stop();
  ASSERT_TRUE(run->train().ok());
  EXPECT_EQ(run->progress().step, 8u);
  EXPECT_EQ(run->lastSaved(), 8u);
  options.resume = true;
  options.steps = {};
  options.seed = {};
  run = opened(options);
  EXPECT_EQ(run->progress().step, 8u);
  EXPECT_EQ(run->progress().seed, 1u);
  ASSERT_TRUE(run->train().ok());
  EXPECT_EQ(weightsOf(*run), weightsOf(*whole));
}

/// Losses of each step, and what the epochs' evaluations said.
struct Listener : Counter {
  std::vector<EvaluateReport> tests;
  void onEpoch(const EpochReport &report) override {
    Counter::onEpoch(report);
    if (report.test)
      tests.push_back(*report.test);
  }
};

// A part of each epoch and of its evaluation, by number or by share: epochs count what is taken,
// and a run that is interrupted in one ends with the same bits.
TEST(Run, TakesAPartOfEachEpoch) {
  Folder folder;
  Counter all;
  ASSERT_TRUE(opened(folder.options())->train({&all}).ok());
  RunOptions options = folder.options();
  options.epochs = 2;
  for (const auto &[limit, trained, samples] :
       {std::tuple(2.0, 2u, 16u), std::tuple(0.2, 3u, 8u), std::tuple(0.6, 8u, 24u),
        std::tuple(100.0, 12u, 30u)}) {
    options.limit = limit;
    auto run = opened(options);
    Listener part;
    ASSERT_TRUE(run->train({&part}).ok());
    ASSERT_EQ(part.losses.size(), 2 * trained) << limit;
    EXPECT_TRUE(std::equal(all.losses.begin(), all.losses.begin() + trained, part.losses.begin()));
    ASSERT_EQ(part.tests.size(), 2u);
    EXPECT_EQ(part.tests[1].samples, samples) << limit;
    EXPECT_EQ(run->progress().epoch, 2u);
  }
  options.limit = 0.6;
  options.checkpoint = folder.path("c.safetensors");
  auto whole = opened(options);
  ASSERT_TRUE(whole->train().ok());
  options.overwrite = true;
  options.steps = 11;
  ASSERT_TRUE(opened(options)->train().ok());
  options.steps = {};
  options.resume = true;
  auto resumed = opened(options);
  ASSERT_TRUE(resumed->train().ok());
  EXPECT_EQ(weightsOf(*resumed), weightsOf(*whole));
  options = folder.options();
  for (double limit : {-1.0, 1.5, -0.5, std::nan(""), HUGE_VAL}) {
    options.limit = limit;
    EXPECT_NE(refusal(options).find("expected a part below 1 or a whole number of batches"),
              std::string::npos)
        << limit;
  }
}

// The first batches in their order, again and again, and an evaluation on them: what a program
// makes of them that steps by itself.
TEST(Run, LearnsAFewBatchesByHeart) {
  Folder folder;
  RunOptions options = folder.options();
  options.data = "";
  auto own = opened(options);
  const std::vector<std::byte> images = readFile(folder.path("train-images-idx3-ubyte")),
                               labels = readFile(folder.path("train-labels-idx1-ubyte"));
  constexpr size_t imagesHeader = 16, labelsHeader = 8, samples = 2 * batchSize;
  std::vector<float> image(samples * pixels);
  std::vector<int32_t> label(samples);
  for (size_t i = 0; i < image.size(); ++i)
    image[i] = static_cast<float>(std::to_integer<int>(images[imagesHeader + i])) * (1.0f / 255);
  for (size_t i = 0; i < samples; ++i)
    label[i] = std::to_integer<int32_t>(labels[labelsHeader + i]);
  std::vector<double> losses;
  for (size_t step = 0; step < 6; ++step) {
    const size_t first = step % 2 * batchSize;
    auto report = own->step(
        std::vector<Array>{{"image", DLC_F32, {batchSize, 1, 4, 4}, &image[first * pixels]},
                           {"label", DLC_I32, {batchSize}, &label[first]}});
    ASSERT_TRUE(report.ok()) << report.status().message();
    losses.push_back(report->batch[0].second.number);
  }
  options = folder.options();
  options.overfitBatches = 2;
  auto run = opened(options);
  Listener heard;
  ASSERT_TRUE(run->train({&heard}).ok());
  EXPECT_EQ(heard.losses, losses);
  EXPECT_EQ(weightsOf(*run), weightsOf(*own));
  ASSERT_EQ(heard.tests.size(), 3u);
  EXPECT_EQ(heard.tests[2].samples, samples);
  auto there = run->evaluate(datasetOf({{"image", DLC_F32, {samples, 4, 4}, image.data()},
                                        {"label", DLC_I32, {samples}, label.data()}})
                                 .take());
  ASSERT_TRUE(there.ok()) << there.status().message();
  EXPECT_EQ(there->metrics, heard.tests[2].metrics);
  // More batches than there are: all, in order, of the whole ones.
  options.overfitBatches = UINT64_MAX;
  run = opened(options);
  Listener all;
  ASSERT_TRUE(run->train({&all}).ok());
  EXPECT_EQ(all.losses.size(), 3 * batches);
  EXPECT_EQ(all.tests[0].samples, 100u);
}

// One batch and an evaluation of one, and no file: also where a run goes on in an epoch.
TEST(Run, TriesOneBatch) {
  Folder folder;
  RunOptions options = folder.options();
  options.checkpoint = folder.path("c.safetensors");
  options.logFile = folder.path("log.jsonl");
  options.fastDevRun = true;
  auto tried = [&] {
    auto run = opened(options);
    Listener heard;
    EXPECT_TRUE(run->train({&heard}).ok());
    EXPECT_EQ(heard.losses.size(), 1u);
    ASSERT_EQ(heard.tests.size(), 1u);
    EXPECT_EQ(heard.tests[0].samples, batchSize);
    EXPECT_TRUE(heard.checkpoints.empty());
    EXPECT_FALSE(std::filesystem::exists(options.logFile));
  };
  tried();
  EXPECT_FALSE(std::filesystem::exists(options.checkpoint));
  options.fastDevRun = false;
  options.logFile.clear();
  options.steps = 11;
  ASSERT_TRUE(opened(options)->train().ok());
  const auto before = readFile(options.checkpoint);
  options.fastDevRun = options.resume = true;
  options.logFile = folder.path("log.jsonl");
  tried();
  EXPECT_EQ(readFile(options.checkpoint), before);
  // What the run would refuse is refused.
  options.resume = false;
  EXPECT_NE(refusal(options).find("is the checkpoint of an earlier run"), std::string::npos);
}

// Events go on in one file from train() to train(); where there are none, nothing is written.
TEST(Run, WritesEvents) {
  Folder folder;
  RunOptions options = folder.options();
  options.histograms = 1;
  EXPECT_EQ(refusal(options), "`histograms` is given without `tensorboard`");
  options.tensorboard = folder.path("a/board");
  options.steps = 3;
  auto run = opened(options);
  EXPECT_FALSE(std::filesystem::exists(folder.path("a")));
  const auto events = [&] {
    std::vector<std::string> files;
    for (const auto &file : std::filesystem::directory_iterator(options.tensorboard))
      files.push_back(file.path());
    EXPECT_EQ(files.size(), 1u);
    const std::vector<std::byte> content = readFile(files.at(0));
    const std::string text(reinterpret_cast<const char *>(content.data()), content.size());
    uint64_t steps = 0;
    for (size_t at = 0; (at = text.find("step/loss", at)) != std::string::npos; ++at)
      ++steps;
    return steps;
  };
  ASSERT_TRUE(run->train().ok());
  EXPECT_EQ(events(), 3u);
  ASSERT_TRUE(run->train().ok());
  EXPECT_EQ(events(), 6u);
  // A folder that cannot be made ends the run before it begins.
  options.tensorboard = options.module + "/board";
  run = opened(options);
  EXPECT_NE(run->train().message().find("/board: cannot make the folder: "), std::string::npos);
  EXPECT_EQ(run->progress().step, 0u);
}

/// The last report.
struct LastStep : TrainObserver {
  std::optional<StepReport> report;
  void onStep(const StepReport &step) override { report = step; }
};

double distance(const std::vector<float> &a, const std::vector<float> &b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i)
    squares += std::pow(double(a[i]) - double(b[i]), 2);
  return std::sqrt(squares);
}

// Gradients are what the first step of descent has moved the weights by.
TEST(Run, ReportsNorms) {
  Folder folder;
  RunOptions options = folder.options();
  options.steps = 1;
  options.norms = 2;
  options.overrides = {{"optimizer.learning_rate", 0.25}};
  LastStep heard;
  ASSERT_TRUE(opened(options)->train({&heard}).ok());
  EXPECT_TRUE(heard.report->norms.empty());
  options.norms = 1;
  auto run = opened(options);
  const std::vector<float> before = numbersOf(weightsOf(*run));
  ASSERT_TRUE(run->train({&heard}).ok());
  const std::vector<float> after = numbersOf(weightsOf(*run));
  const std::vector<ParameterNorm> &norms = heard.report->norms;
  ASSERT_EQ(norms.size(), 2u);
  EXPECT_EQ(norms[0].name, "linear1.weight");
  EXPECT_EQ(norms[1].name, "linear1.bias");
  const std::vector<float> zeros(after.size());
  EXPECT_NEAR(std::hypot(norms[0].weight, norms[1].weight), distance(after, zeros), 1e-9);
  ASSERT_TRUE(norms[0].gradient && norms[1].gradient);
  EXPECT_NEAR(std::hypot(*norms[0].gradient, *norms[1].gradient), distance(after, before) / 0.25,
              1e-5);
}

// What was not finite first: a sample, what a record made of it, or a parameter behind the step
// that spoilt it. Without the flag it is the loss that shows it, a step later.
TEST(Run, NamesWhatIsNotFiniteFirst) {
  Folder folder;
  RunOptions options = folder.options();
  auto plain = opened(options);
  ASSERT_TRUE(plain->train().ok());
  options.checkFinite = true;
  auto watched = opened(options);
  ASSERT_TRUE(watched->train().ok());
  EXPECT_EQ(weightsOf(*plain), weightsOf(*watched));

  options.overrides = {{"optimizer.learning_rate", 1e300}};
  const std::string failed(opened(options)->train().message());
  EXPECT_NE(
      failed.find(": step 1: the parameter 'linear1.weight' holds a number that is not finite; "
                  "a smaller learning rate may help"),
      std::string::npos)
      << failed;

  options = folder.options();
  OwnBatch batch;
  batch.make(0);
  batch.image[37] = -HUGE_VALF;
  options.data = "";
  for (const bool named : {false, true}) {
    options.checkFinite = named;
    const std::string message(opened(options)->step(batch.arrays()).status().message());
    EXPECT_TRUE(message.starts_with("step 1 of entry 'train_step': the loss is ")) << message;
    EXPECT_EQ(
        message.find("; the first not finite: input 'image', element 37 of 128 f32 is -inf") !=
            std::string::npos,
        named)
        << message;
  }
}

// On which of several ranks it was.
TEST(Run, NamesTheRankThatIsNotFiniteFirst) {
  Folder folder(smallParallelModel());
  std::vector<std::string> messages(2);
  among(2, [&](const auto &ranks) {
    RunOptions options = folder.options();
    options.log = {};
    options.ranks = ranks;
    options.data = "";
    options.checkFinite = true;
    auto run = opened(options);
    const unsigned rank = ranks->rank();
    OwnBatch batch;
    batch.make(rank);
    if (rank == 1)
      batch.image[5] = std::nanf("");
    messages[rank] = run->step(batch.arrays()).status().message();
  });
  for (const std::string &message : messages)
    EXPECT_NE(message.find("; the first not finite on rank 1: input 'image', element 5 of 128 f32 "
                           "is not a number"),
              std::string::npos)
        << message;
}

// Rests change no bit, and a run that is told to stop waits for none.
TEST(Run, WorksAPartOfTheTime) {
  Folder folder;
  auto whole = opened(folder.options());
  ASSERT_TRUE(whole->train().ok());
  RunOptions options = folder.options();
  options.share = 0.9;
  auto part = opened(options);
  LastStep heard;
  ASSERT_TRUE(part->train({&heard}).ok());
  EXPECT_GT(heard.report->rested, 0);
  EXPECT_EQ(weightsOf(*part), weightsOf(*whole));
  for (double share : {0.0, -1.0, 1.5, std::nan("")}) {
    options.share = share;
    EXPECT_NE(refusal(options).find("expected a part of the time, above 0 and up to 1"),
              std::string::npos);
  }
}

// The same samples in arrays of the program: bytes are converted as those of files are.
TEST(Run, ReadsArraysWhereTheyLie) {
  Folder folder;
  auto files = opened(folder.options());
  ASSERT_TRUE(files->train().ok());
  const std::vector<std::byte> images = readFile(folder.path("train-images-idx3-ubyte")),
                               labels = readFile(folder.path("train-labels-idx1-ubyte"));
  constexpr size_t imagesHeader = 16, labelsHeader = 8;
  RunOptions options = folder.options();
  options.data = "";
  options.train = datasetOf({{"image", DLC_U8, {100, 4, 4}, images.data() + imagesHeader},
                             {"label", DLC_U8, {100}, labels.data() + labelsHeader}})
                      .take();
  auto run = opened(options);
  ASSERT_TRUE(run->train().ok());
  EXPECT_EQ(weightsOf(*run), weightsOf(*files));
  EXPECT_EQ(run->evaluate().status().message(),
            "entry 'evaluate' has no test data: `data` or `test` gives them");
  // It may be evaluated on others.
  auto report = run->evaluate(options.train);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->samples, 100u);
}

TEST(Run, ArraysThatAreNoSamples) {
  const float number = 1;
  auto says = [](std::vector<Array> arrays) {
    return std::string(datasetOf(std::move(arrays)).status().message());
  };
  EXPECT_EQ(says({}), "the arrays: there are none");
  EXPECT_EQ(says({{"x", DLC_F32, {}, &number}}),
            "the arrays: 'x' is one number, expected one a sample");
  EXPECT_EQ(says({{"x", DLC_F32, {0, 2}, &number}}), "the arrays: 'x' has no samples");
  EXPECT_EQ(says({{"x", DLC_F32, {1}, nullptr}}), "the arrays: 'x' has no data");
  EXPECT_EQ(says({{"x", DLC_F32, {1}, &number, Place::Device}}),
            "the arrays: 'x' lies on the device, samples are read on the host");
  EXPECT_EQ(says({{"x", DLC_F32, {1}, &number}, {"y", DLC_F32, {2}, &number}}),
            "the arrays: 'y' has 2 samples, 'x' 1");
  EXPECT_EQ(says({{"x", DLC_F32, {1}, &number}, {"x", DLC_F32, {1}, &number}}),
            "the arrays: there are two arrays 'x'");
}

// A loop of the program's own and batches that it fills are the same run.
TEST(Run, StepsAsItTrains) {
  Folder folder;
  RunOptions options = folder.options();
  options.data = "";
  options.epochs = 2;
  std::vector<std::pair<uint64_t, uint64_t>> asked;
  options.batches = {
      .perEpoch = 5, .fill = [&](uint64_t epoch, uint64_t number, auto inputs) {
        asked.emplace_back(epoch, number);
        OwnBatch batch;
        batch.make(epoch * 5 + number);
        EXPECT_EQ(inputs.size(), 2u);
        EXPECT_EQ(inputs[0].name, "image");
        EXPECT_EQ(inputs[1].shape, (std::vector<uint64_t>{batchSize}));
        std::memcpy(inputs[0].data, batch.image.data(), batch.image.size() * sizeof(float));
        std::memcpy(inputs[1].data, batch.label.data(), batch.label.size() * sizeof(int32_t));
        return Status();
      }};
  auto filled = opened(options);
  Counter counter;
  ASSERT_TRUE(filled->train({&counter}).ok());
  EXPECT_EQ(counter.epochs, 2u);
  ASSERT_EQ(asked.size(), 10u);
  EXPECT_EQ(asked[7], (std::pair<uint64_t, uint64_t>(1, 2)));

  options.batches = {};
  auto stepped = opened(options);
  std::vector<double> losses;
  for (uint64_t number = 0; number < 10; ++number) {
    OwnBatch batch;
    batch.make(number);
    auto report = stepped->step(batch.arrays());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->samples, batchSize);
    EXPECT_EQ(report->progress.step, number + 1);
    EXPECT_EQ(&*report, &*stepped->lastStep());
    losses.push_back(report->batch[0].second.number);
  }
  EXPECT_EQ(losses, counter.losses);
  EXPECT_EQ(weightsOf(*stepped), weightsOf(*filled));
  EXPECT_LT(losses.back(), losses.front());
}

// A resumption asks for what comes behind the checkpoint.
TEST(Run, FilledBatchesGoOn) {
  Folder folder;
  RunOptions options = folder.options();
  options.data = "";
  options.epochs = 2;
  options.checkpoint = folder.path("c.safetensors");
  options.steps = 7;
  uint64_t first = UINT64_MAX, firstEpoch = UINT64_MAX;
  options.batches = {.perEpoch = 5, .fill = [&](uint64_t epoch, uint64_t number, auto) {
                       if (first == UINT64_MAX)
                         first = number, firstEpoch = epoch;
                       return Status();
                     }};
  ASSERT_TRUE(opened(options)->train().ok());
  EXPECT_EQ(first, 0u);
  first = UINT64_MAX;
  options.resume = true;
  options.steps = {};
  ASSERT_TRUE(opened(options)->train().ok());
  EXPECT_EQ(first, 2u);
  EXPECT_EQ(firstEpoch, 1u);
}

TEST(Run, SaysWhatIsWrongWithBatches) {
  Folder folder;
  RunOptions options = folder.options();
  options.data = "";
  options.batches = {.perEpoch = 5, .fill = [](uint64_t, uint64_t number, auto) {
                       return number == 2 ? Status(StatusCode::Io, "the sensor is gone") : Status();
                     }};
  auto run = opened(options);
  Status status = run->train();
  EXPECT_EQ(status.code(), StatusCode::Io);
  EXPECT_EQ(status.message(),
            folder.path("small.so") + ": `batches.fill`: batch 2 of epoch 0: the sensor is gone");
  EXPECT_EQ(run->progress().step, 2u);
  options.batches.perEpoch = 0;
  EXPECT_EQ(refusal(options), "`batches.fill` is given without `batches.perEpoch`");

  options.batches = {};
  run = opened(options);
  EXPECT_EQ(run->train().message(), "entry 'train_step' has no training data: `data`, `train` or "
                                    "`batches.fill` gives them");
  OwnBatch batch;
  batch.make(0);
  auto says = [&](const std::function<void(std::vector<Array> &)> &change) {
    std::vector<Array> arrays = batch.arrays();
    change(arrays);
    auto report = run->step(arrays);
    return report.ok() ? "trained" : std::string(report.status().message());
  };
  EXPECT_EQ(says([](auto &a) { a.pop_back(); }),
            "entry 'train_step': no array 'label', the input i32[8]");
  EXPECT_EQ(says([](auto &a) { a[0].name = "picture"; }),
            "entry 'train_step' has no input 'picture'; there are: image, label");
  EXPECT_EQ(says([](auto &a) { a[1] = a[0]; }), "there are two arrays 'image'");
  EXPECT_EQ(says([](auto &a) { a[0].dtype = DLC_F64; }),
            "array 'image' is f64[8, 1, 4, 4], entry 'train_step' expects f32[8, 1, 4, 4]");
  EXPECT_EQ(says([](auto &a) { a[0].shape = {7, 1, 4, 4}; }),
            "array 'image' is f32[7, 1, 4, 4], entry 'train_step' expects f32[8, 1, 4, 4]");
  EXPECT_EQ(says([](auto &a) { a[0].data = nullptr; }), "array 'image' has no data");
  batch.label[3] = 4;
  EXPECT_EQ(says([](auto &) {}), "entry 'train_step': sample 3 of input 'label' is 4, its classes "
                                 "are 0 to 3");
  // None of it has trained, and the run goes on.
  EXPECT_EQ(run->progress().step, 0u);
  batch.label[3] = 0;
  EXPECT_EQ(says([](auto &a) { a[0].shape = {8, 4, 4}; }), "trained");
}

// After a step whose loss is no number the next one trains.
TEST(Run, GoesOnAfterAStepThatFails) {
  Folder folder;
  RunOptions options = folder.options();
  options.data = "";
  auto run = opened(options);
  OwnBatch batch;
  batch.make(0);
  const std::vector<std::byte> before = weightsOf(*run);
  batch.image[0] = std::numeric_limits<float>::quiet_NaN();
  auto failed = run->step(batch.arrays());
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), StatusCode::Failed);
  ASSERT_TRUE(run->writeWeights(before).ok());
  batch.make(0);
  EXPECT_TRUE(run->step(batch.arrays()).ok());
}

TEST(Run, SetsRatesBetweenSteps) {
  Folder folder;
  auto train = [&](double rate, bool later) {
    RunOptions options = folder.options();
    options.data = "";
    if (!later)
      options.overrides = {{"optimizer.learning_rate", rate}};
    auto run = opened(options);
    if (later)
      EXPECT_TRUE(run->set("optimizer.learning_rate", rate).ok());
    OwnBatch batch;
    batch.make(0);
    EXPECT_TRUE(run->step(batch.arrays()).ok());
    EXPECT_EQ(run->set("momentum", 1).message(),
              folder.path("small.so") +
                  ": no setting 'momentum' to override; there are: optimizer.learning_rate");
    return weightsOf(*run);
  };
  EXPECT_EQ(train(0.5, true), train(0.5, false));
  EXPECT_NE(train(0.5, true), train(0.25, true));
}

TEST(Run, PredictsAnyNumberOfSamples) {
  Folder folder;
  auto run = opened(folder.options());
  ASSERT_TRUE(run->train().ok());
  OwnBatch batch;
  batch.make(1);
  const std::vector<Array> images = {{"image", DLC_F32, {batchSize, 1, 4, 4}, batch.image.data()}};
  auto all = run->predict(images);
  ASSERT_TRUE(all.ok()) << all.status().message();
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ((*all)[0].shape, (std::vector<uint64_t>{batchSize, 4}));
  // One by one, and into memory of the caller.
  std::vector<float> scores(batchSize * 4);
  for (uint64_t i = 0; i < batchSize; ++i)
    ASSERT_TRUE(
        run->predict(
               std::vector<Array>{
                   {"image", DLC_F32, {1, 1, 4, 4}, batch.image.data() + i * pixels}},
               std::vector<OutputArray>{{(*all)[0].name, DLC_F32, {1, 4}, scores.data() + i * 4}},
               "infer_n1")
            .ok());
  EXPECT_EQ(scores, numbersOf((*all)[0].bytes));
  // An entry with a batch of 8 and a count: the last samples are padded.
  EXPECT_EQ(run->predict(images, "infer_n9").status().message(),
            folder.path("small.so") +
                ": no entry 'infer_n9'; there are: train_step, evaluate, infer_n1");
  EXPECT_EQ(run->predict(std::vector<Array>{{"image", DLC_F32, {0, 1, 4, 4}, scores.data()}})
                .status()
                .message(),
            "array 'image' has no samples");
  EXPECT_EQ(run->predict(images,
                         std::vector<OutputArray>{{(*all)[0].name, DLC_F32, {1, 4}, scores.data()}})
                .message(),
            "array '" + (*all)[0].name + "' is f32[1, 4], entry 'infer_n1' yields f32[8, 4]");
  EXPECT_EQ(run->predict(images, std::vector<OutputArray>{{"y", DLC_F32, {1, 4}, scores.data()}})
                .message(),
            "entry 'infer_n1' has no output 'y'; there are: " + (*all)[0].name);
}

TEST(Run, PadsTheLastBatch) {
  Folder folder;
  auto run = opened(folder.options());
  OwnBatch first, second;
  first.make(1);
  second.make(2);
  first.image.insert(first.image.end(), second.image.begin(), second.image.end());
  first.label.insert(first.label.end(), second.label.begin(), second.label.end());
  auto outputs = [&](uint64_t samples) {
    auto all =
        run->predict(std::vector<Array>{{"image", DLC_F32, {samples, 1, 4, 4}, first.image.data()},
                                        {"label", DLC_I32, {samples}, first.label.data()}},
                     "evaluate");
    EXPECT_TRUE(all.ok()) << all.status().message();
    EXPECT_EQ((*all)[0].shape, (std::vector<uint64_t>{samples, 4}));
    return numbersOf((*all)[0].bytes);
  };
  std::vector<float> whole = outputs(16);
  whole.resize(11 * 4);
  EXPECT_EQ(outputs(11), whole);
  whole.resize(3 * 4);
  EXPECT_EQ(outputs(3), whole);
}

// The memory of the CPU and of SIMT is the host's: arrays there give the bits of those, and no
// stream is looked at.
TEST(Run, TakesMemoryOfTheDevice) {
  for (const char *device : {"cpu", "simt"}) {
    Folder folder;
    if (device == std::string_view("simt"))
      writeFile(folder.path("small.so"),
                moduleWith(smallSimtModel().blob(), {.targets = simtTargets}));
    std::vector<std::vector<std::byte>> outcomes[2];
    for (Place place : {Place::Host, Place::Device}) {
      RunOptions options = folder.options();
      options.device.name = device;
      auto run = opened(options);
      EXPECT_EQ(cudaOrdinal(*run->state()->device()), std::nullopt);
      int stream = 0;
      run->setStream(&stream);
      OwnBatch batch;
      std::vector<std::byte> weights(run->weightsBytes()), scores(11 * 4 * sizeof(float));
      auto placed = [&](std::vector<Array> arrays) {
        for (Array &array : arrays)
          array.place = place;
        return arrays;
      };
      for (uint64_t number = 0; number < 5; ++number) {
        batch.make(number);
        ASSERT_TRUE(run->step(placed(batch.arrays())).ok());
      }
      batch.image.resize(11 * pixels);
      const std::vector<OutputArray> outputs = {{"output", DLC_F32, {11, 4}, scores.data(), place}};
      Status predicted = run->predict(
          placed({{"image", DLC_F32, {11, 1, 4, 4}, batch.image.data()}}), outputs, "infer_n1");
      ASSERT_TRUE(predicted.ok()) << predicted.message();
      ASSERT_TRUE(run->readWeights(weights, place).ok());
      outcomes[place == Place::Device] = {weights, scores};
      std::ranges::fill(weights, std::byte(0));
      ASSERT_TRUE(run->writeWeights(weights, place).ok());
      EXPECT_EQ(weightsOf(*run), weights);
    }
    EXPECT_EQ(outcomes[1], outcomes[0]) << device;
  }
}

// Samples of a dataset are converted as those of training are, and give what arrays of them do.
TEST(Run, PredictsADataset) {
  Folder folder;
  auto run = opened(folder.options());
  OwnBatch batch;
  batch.make(1);
  std::vector<double> wide(batch.image.begin(), batch.image.end());
  wide.resize(11 * pixels, 0.25);
  batch.image.resize(11 * pixels, 0.25f);
  batch.label.resize(11);
  const auto data = datasetOf({{"image", DLC_F64, {11, 1, 4, 4}, wide.data()},
                               {"label", DLC_I32, {11}, batch.label.data()},
                               {"weight", DLC_I32, {11}, batch.label.data()}})
                        .take();
  auto expected = run->predict(
      std::vector<Array>{{"image", DLC_F32, {11, 1, 4, 4}, batch.image.data()}}, "infer_n1");
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  // By batches of 1 and of 8, of which the last is padded.
  for (const char *entry : {"infer_n1", "evaluate"}) {
    auto all = run->predict(data, {.entry = entry});
    ASSERT_TRUE(all.ok()) << all.status().message();
    EXPECT_EQ((*all)[0].name, "output");
    EXPECT_EQ((*all)[0].shape, (std::vector<uint64_t>{11, 4}));
    EXPECT_EQ((*all)[0].bytes, (*expected)[0].bytes) << entry;
  }
  EXPECT_EQ((*run->predict(data, {.entry = "evaluate", .steps = 1}))[0].shape[0], 8u);

  std::vector<uint32_t> samples;
  std::vector<std::byte> outputs;
  auto hear = [&](const PredictedBatch &heard) {
    EXPECT_EQ(heard.outputs[0].shape[0], heard.samples.size());
    samples.insert(samples.end(), heard.samples.begin(), heard.samples.end());
    outputs.insert(outputs.end(), heard.outputs[0].bytes.begin(), heard.outputs[0].bytes.end());
    return samples.size() == 11 ? Status(StatusCode::Io, "the paper is out") : Status();
  };
  EXPECT_EQ(run->predict(data, hear, {.entry = "evaluate"}).message(), "the paper is out");
  EXPECT_EQ(samples, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(outputs, (*expected)[0].bytes);
  EXPECT_EQ(run->predict(nullptr).status().message(), "`data` is null");
  writeFile(folder.path("a.txt"), std::vector<std::byte>(100, std::byte('x')));
  EXPECT_EQ(run->predict(openDataset("text:" + folder.path("a.txt"), Split::Train).take())
                .status()
                .message(),
            folder.path("a.txt") + ": a text has no samples to predict from; arrays of the numbers "
                                   "of its characters or words have");
}

// Weights and test data alone: what is needed to evaluate what was trained.
TEST(Run, EvaluatesWeights) {
  Folder folder;
  RunOptions options = folder.options();
  options.checkpoint = folder.path("c.safetensors");
  auto trained = opened(options);
  ASSERT_TRUE(trained->train().ok());
  const auto expected = trained->evaluate();
  folder.heard.clear();
  options = folder.options();
  options.testData = std::exchange(options.data, "");
  options.weights = folder.path("c.safetensors");
  auto run = opened(options);
  EXPECT_EQ(weightsOf(*run), weightsOf(*trained));
  EXPECT_EQ(run->progress().step, 0u);
  auto report = run->evaluate();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->metrics, expected->metrics);
  EXPECT_EQ(run->train().message(), "entry 'train_step' has no training data: `data`, `train` or "
                                    "`batches.fill` gives them");
  // Some of the batches.
  std::vector<std::pair<uint64_t, uint64_t>> heard;
  report = run->evaluate({}, {.steps = 2, .progress = [&](uint64_t done, uint64_t all) {
                                heard.emplace_back(done, all);
                              }});
  EXPECT_EQ(report->samples, 2 * batchSize);
  EXPECT_EQ(heard, (std::vector<std::pair<uint64_t, uint64_t>>{{1, 2}, {2, 2}}));
  // What does not fit is known before the first batch.
  std::filesystem::remove(folder.path("t10k-labels-idx1-ubyte"));
  EXPECT_NE(refusal(options).find("t10k-labels-idx1-ubyte"), std::string::npos);
  options.testData = "";
  options.weights = folder.path("none");
  EXPECT_EQ(refusal(options), folder.path("none") + ": cannot open: No such file or directory");
  options.weights = options.checkpoint = folder.path("c.safetensors");
  options.overwrite = true;
  EXPECT_NE(refusal(options).find("c.safetensors: "), std::string::npos);
}

TEST(Run, LoadsAndWritesWeights) {
  Folder folder;
  RunOptions options = folder.options();
  options.checkpoint = folder.path("c.safetensors");
  auto trained = opened(options);
  ASSERT_TRUE(trained->train().ok());
  options = folder.options();
  auto run = opened(options);
  EXPECT_NE(weightsOf(*run), weightsOf(*trained));
  ASSERT_TRUE(run->load(folder.path("c.safetensors")).ok());
  EXPECT_EQ(weightsOf(*run), weightsOf(*trained));
  EXPECT_EQ(run->progress().step, 0u);
  EXPECT_EQ(run->weightsBytes(), (4 * pixels + 4) * sizeof(float));
  std::vector<std::byte> zeros(run->weightsBytes());
  ASSERT_TRUE(run->writeWeights(zeros).ok());
  EXPECT_EQ(weightsOf(*run), zeros);
  zeros.pop_back();
  EXPECT_EQ(run->writeWeights(zeros).message(), "the weights have 272 bytes, the block 271");
  EXPECT_EQ(run->load(folder.path("none")).code(), StatusCode::Io);
}

// Nothing that others made is replaced.
TEST(Run, KeepsFiles) {
  Folder folder;
  auto run = opened(folder.options());
  writeFile(folder.path("notes.txt"), std::vector<std::byte>(100, std::byte('x')));
  EXPECT_NE(run->save(folder.path("notes.txt")).message().find(": exists and is "),
            std::string_view::npos);
  EXPECT_FALSE(run->save(folder.path("small.so")).ok());
  EXPECT_FALSE(run->save(folder.path("train-images-idx3-ubyte")).ok());
  RunOptions options = folder.options();
  options.checkpoint = folder.path("c.safetensors");
  options.steps = 1;
  ASSERT_TRUE(opened(options)->train().ok());
  EXPECT_EQ(refusal(options), options.checkpoint +
                                  ": is the checkpoint of an earlier run, after step 1; `resume` "
                                  "continues it, `overwrite` replaces it");
  options.overwrite = true;
  EXPECT_EQ(refusal(options), "opened");
  options = folder.options();
  options.resume = true;
  EXPECT_EQ(refusal(options), "`resume` is given without `checkpoint`");
  options.checkpoint = folder.path("none");
  EXPECT_FALSE(opened(folder.options()) == nullptr);
  EXPECT_NE(refusal(options).find("No such file"), std::string::npos);
}

// Two runs that write one checkpoint: the second has a word to say before it trains.
TEST(Run, OneRunWritesACheckpoint) {
  Folder folder;
  RunOptions options = folder.options();
  options.checkpoint = folder.path("c.safetensors");
  auto first = opened(options), second = opened(options);
  struct Nested : TrainObserver {
    dlc::Run *other = nullptr;
    std::string message;
    void onStep(const StepReport &) override {
      if (message.empty())
        message = other->train().message();
    }
  } nested;
  nested.other = second.get();
  ASSERT_TRUE(first->train({&nested}).ok());
  EXPECT_EQ(nested.message, options.checkpoint + ": is being written by another run");
  const auto written = readFile(options.checkpoint);
  EXPECT_EQ(second->train().message(),
            options.checkpoint + ": is the checkpoint of an earlier run, after step 36; `resume` "
                                 "continues it, `overwrite` replaces it");
  EXPECT_EQ(readFile(options.checkpoint), written);
  EXPECT_EQ(second->progress().step, 0u);
  // The same where both go on from one checkpoint.
  options.resume = true;
  options.epochs = 4;
  first = opened(options);
  second = opened(options);
  ASSERT_TRUE(second->train().ok());
  EXPECT_EQ(first->train().message(),
            options.checkpoint +
                ": was at step 36 when it was read, and is at step 48 now: another run has written "
                "it");
}

// Of one name in two folders are two files.
TEST(Run, ClaimsAPlaceAndNotAName) {
  TemporaryFolder here, there;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(here.root());
  auto own = PathClaim::take("c.safetensors");
  EXPECT_TRUE(own.ok()) << own.status().message();
  EXPECT_FALSE(PathClaim::take("./c.safetensors").ok());
  EXPECT_FALSE(PathClaim::take(here.path("c.safetensors")).ok());
  std::filesystem::current_path(there.root());
  EXPECT_TRUE(PathClaim::take("c.safetensors").ok());
  std::filesystem::current_path(before);
}

TEST(Run, IsNotForked) {
  Folder folder;
  RunOptions options = folder.options();
  options.device.threads = 2;
  auto run = opened(options);
  const pid_t child = fork();
  if (child == 0) {
    const std::string message(run->train().message());
    _exit(message.find("the run belongs to process ") != std::string::npos ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_TRUE(run->train().ok());
}

TEST(Run, SaysWhatIsWrong) {
  Folder folder;
  RunOptions options = folder.options();
  options.module = folder.path("none.so");
  EXPECT_NE(refusal(options).find("No such file"), std::string::npos);
  options = folder.options();
  options.device.name = "tpu";
  EXPECT_EQ(refusal(options), "no device 'tpu'; there are: cpu, cuda, simt");
  options.device.name = "simt";
  EXPECT_NE(refusal(options).find("compiled for cpu, not for simt"), std::string::npos)
      << refusal(options);
  options = folder.options();
  options.overrides = {{"momentum", 1}};
  EXPECT_NE(refusal(options).find("no setting 'momentum'"), std::string::npos);
}

// Several runs of a process know nothing of each other, also at the same time.
TEST(Run, SeveralAtOnce) {
  Folder folder;
  auto alone = opened(folder.options());
  ASSERT_TRUE(alone->train().ok());
  std::vector<std::vector<std::byte>> weights(4);
  std::vector<std::thread> threads;
  for (auto &each : weights)
    threads.emplace_back([&each, &folder] {
      RunOptions options = folder.options();
      options.log = {};
      auto run = opened(options);
      EXPECT_TRUE(run->train().ok());
      each = weightsOf(*run);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const auto &each : weights)
    EXPECT_EQ(each, weightsOf(*alone));
}

TEST(Run, AmongRanks) {
  Folder folder(smallParallelModel());
  std::vector<std::vector<std::byte>> weights(2);
  among(2, [&](const auto &ranks) {
    RunOptions options = folder.options();
    options.log = {};
    options.ranks = ranks;
    options.checkpoint = folder.path("c.safetensors");
    auto run = opened(options);
    EXPECT_TRUE(run->train().ok());
    weights[ranks->rank()] = weightsOf(*run);
    EXPECT_TRUE(run->save(folder.path("again.safetensors")).ok());
  });
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_EQ(readFile(folder.path("again.safetensors")), readFile(folder.path("c.safetensors")));
}

/// One rank that keeps what it says that it is at.
struct Recorder : Transport {
  std::shared_ptr<Transport> self = selfTransport();
  std::vector<Phase> phases;
  std::string_view name() const override { return self->name(); }
  unsigned rank() const override { return 0; }
  unsigned ranks() const override { return 1; }
  Result<Ticket> start(const Collective &collective) override { return self->start(collective); }
  Status wait(Ticket ticket) override { return self->wait(ticket); }
  Status leave() override { return self->leave(); }
  void showPhase(Phase phase) override { phases.push_back(phase); }
  std::vector<Phase> take() { return std::exchange(phases, {}); }
};

// What may take long is called what it is, so that others wait for it.
TEST(Run, SaysWhatItIsAt) {
  using enum Phase;
  Folder folder;
  RunOptions options = folder.options();
  options.checkpoint = folder.path("c.safetensors");
  options.epochs = 1;
  auto recorder = std::make_shared<Recorder>();
  options.ranks = std::make_shared<Ranks>(recorder);
  auto run = opened(options);
  EXPECT_EQ(recorder->take(), (std::vector{Load, Start, Load, Start, Program}))
      << "data, and a trainer";
  ASSERT_TRUE(run->train({}).ok());
  std::vector<Phase> expected = {Compute};
  // Whether it stops, the batch, whether it saves, what it was.
  for (uint64_t batch = 0; batch < batches; ++batch)
    expected.insert(expected.end(),
                    {Program, Compute, Load, Compute, Program, Compute, Program, Compute});
  expected.insert(expected.end(), {Program, Compute, Load, Compute});
  // A checkpoint begins, the epoch is told, and the end waits for the checkpoint and tells it.
  expected.insert(expected.end(), {Evaluate, Compute, Write, Compute, Program, Compute, Write,
                                   Program, Write, Compute, Program});
  EXPECT_EQ(recorder->take(), expected);
  ASSERT_TRUE(run->load(options.checkpoint).ok());
  EXPECT_EQ(recorder->take(), (std::vector{Compute, Load, Compute, Program}));
}

/// Counts what a rank starts.
struct Counting : Transport {
  explicit Counting(std::shared_ptr<Transport> of) : of(std::move(of)) {}
  std::shared_ptr<Transport> of;
  std::atomic<uint64_t> started = 0;
  std::string_view name() const override { return of->name(); }
  unsigned rank() const override { return of->rank(); }
  unsigned ranks() const override { return of->ranks(); }
  Result<Ticket> start(const Collective &collective) override {
    ++started;
    return of->start(collective);
  }
  Status wait(Ticket ticket) override { return of->wait(ticket); }
  Status health() const override { return of->health(); }
  Status leave() override { return of->leave(); }
};

// Behind a step whose parameters are checked and saved they are compared once.
TEST(Run, ComparesParametersOnce) {
  Folder folder(smallParallelModel());
  auto collectives = [&](uint64_t checkRanks) {
    std::atomic<uint64_t> all = 0;
    among(2, [&](const auto &ranks) {
      auto counting = std::make_shared<Counting>(ranks->transport());
      RunOptions options = folder.options();
      options.log = {};
      options.ranks = std::make_shared<Ranks>(counting);
      options.checkpoint = folder.path("c.safetensors");
      options.overwrite = true;
      options.checkRanks = checkRanks;
      EXPECT_TRUE(opened(options)->train().ok());
      all += counting->started;
    });
    return all.load();
  };
  constexpr uint64_t epochOfTwo = batches / 2;
  EXPECT_EQ(collectives(epochOfTwo), collectives(0));
  EXPECT_GT(collectives(epochOfTwo - 1), collectives(0));
}

// A module for one evaluates among ranks, which share the batches; it trains on none of them.
TEST(Run, EvaluatesAmongRanks) {
  Folder folder;
  RunOptions alone = folder.options();
  alone.testData = std::exchange(alone.data, "");
  const auto expected = opened(alone)->evaluate();
  const std::vector<float> images(16 * pixels, 0.5f);
  std::vector<std::string> refusals(2), differences(2);
  among(2, [&](const auto &ranks) {
    RunOptions options = folder.options();
    options.log = {};
    options.testData = std::exchange(options.data, "");
    options.ranks = ranks;
    auto run = opened(options);
    auto report = run->evaluate();
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->samples, 30u);
    EXPECT_NEAR(report->metrics[0].second.number, expected->metrics[0].second.number, 1e-6);
    OwnBatch batch;
    batch.make(0);
    refusals[ranks->rank()] = run->step(batch.arrays()).status().message();
    // Samples that are not the same.
    std::vector<int32_t> labels(16, int32_t(ranks->rank()));
    auto data = datasetOf({{"image", DLC_F32, {16, 1, 4, 4}, images.data()},
                           {"label", DLC_I32, {16}, labels.data()}})
                    .take();
    differences[ranks->rank()] = run->evaluate(data).status().message();
    labels.assign(16, 1);
    EXPECT_TRUE(run->evaluate(data).ok());
  });
  EXPECT_EQ(refusals[0], folder.path("small.so") +
                             ": was compiled without --data-parallel, and there are 2 ranks");
  EXPECT_EQ(refusals[1], refusals[0]);
  EXPECT_TRUE(differences[0].starts_with("the ranks differ: rank 1 has test data of 16 samples, "))
      << differences[0];
  EXPECT_EQ(differences[1], differences[0]);
}

// Where they differ all fail alike, and one of them has a line to say before any other ends.
TEST(Run, RanksThatDiffer) {
  Folder folder(smallParallelModel());
  std::vector<std::string> messages(2), errors(2);
  among(2, [&](const auto &ranks) {
    RunOptions options = folder.options();
    options.log = [&, rank = ranks->rank()](Severity severity, std::string_view line) {
      if (severity == Severity::Error)
        errors[rank] = line;
    };
    options.ranks = ranks;
    options.epochs = ranks->rank() + 2;
    messages[ranks->rank()] = refusal(options);
  });
  EXPECT_EQ(messages[0], "the ranks differ: rank 1 has `epochs` 3, rank 0 has 2");
  EXPECT_EQ(messages[1], messages[0]);
  EXPECT_EQ(errors, messages);
}

/// Steps of several ranks, of which rank r has as many batches as `counts` says; their weights
/// then.
std::vector<std::vector<std::byte>> stepped(Folder &folder, std::vector<uint64_t> counts) {
  std::vector<std::vector<std::byte>> weights(counts.size());
  among(unsigned(counts.size()), [&](const auto &ranks) {
    RunOptions options = folder.options();
    options.log = {};
    options.data = "";
    options.ranks = ranks;
    auto run = opened(options);
    OwnBatch batch;
    for (uint64_t i = 0; true; ++i) {
      batch.make(10 * ranks->rank() + i);
      const bool has = i < counts[ranks->rank()];
      if (!has && counts.size() == 1)
        break;
      auto report = run->step(has ? batch.arrays() : std::vector<Array>());
      ASSERT_TRUE(report.ok()) << report.status().message();
      const auto having = std::ranges::count_if(counts, [&](uint64_t count) { return i < count; });
      EXPECT_EQ(report->samples, having * batchSize);
      EXPECT_EQ(run->progress().step, having == 0 ? i : i + 1);
      if (having == 0)
        break;
      EXPECT_EQ(run->lastStep()->batch[0].second.number, report->batch[0].second.number);
    }
    weights[ranks->rank()] = weightsOf(*run);
  });
  return weights;
}

// Those that have a batch make of it what they would alone, and all end with the same weights; sums
// that are compressed leave out no less and no more.
TEST(Run, GoesOnWithoutABatchOnEachRank) {
  for (uint32_t kind : {DLC_COLLECTIVE_SUM, DLC_COLLECTIVE_SUM_ONE_BIT, DLC_COLLECTIVE_SUM_TOP_K}) {
    SCOPED_TRACE(kind);
    PlanBuilder plan = smallParallelModel();
    for (dlc_record &record : plan.records)
      if (record.kind == DLC_RECORD_COLLECTIVE)
        record.index = kind;
    Folder folder(plan);
    const auto all = stepped(folder, {5, 5, 0, 0});
    const auto two = stepped(folder, {5, 5});
    EXPECT_EQ(all[0], two[0]);
    EXPECT_EQ(all, std::vector(4, all[0]));
    const auto later = stepped(folder, {5, 2});
    EXPECT_EQ(later[0], later[1]);
    EXPECT_NE(later[0], two[0]);
    if (kind == DLC_COLLECTIVE_SUM)
      EXPECT_EQ(stepped(folder, {5, 0})[1], stepped(folder, {5})[0]);
  }
}

// Arrays of one rank that do not fit, or a label that is none, end the step of all, and they go on.
TEST(Run, RefusesTheStepOfAllRanks) {
  Folder folder(smallParallelModel());
  std::vector<std::string> messages(2), classes(2);
  among(2, [&](const auto &ranks) {
    RunOptions options = folder.options();
    options.log = {};
    options.data = "";
    options.ranks = ranks;
    auto run = opened(options);
    EXPECT_FALSE(run->lastStep());
    OwnBatch batch;
    batch.make(0);
    std::vector<Array> arrays = batch.arrays();
    arrays.resize(2 - ranks->rank());
    messages[ranks->rank()] = run->step(arrays).status().message();
    std::vector<int32_t> labels(8, ranks->rank() == 0 ? 4 : 1);
    arrays = batch.arrays();
    arrays[1].data = labels.data();
    classes[ranks->rank()] = run->step(arrays).status().message();
    EXPECT_EQ(run->progress().step, 0u);
    EXPECT_TRUE(run->step(batch.arrays()).ok());
    EXPECT_EQ(run->lastStep()->progress.step, 1u);
  });
  EXPECT_EQ(messages[0], "the batch of another rank was refused");
  EXPECT_EQ(messages[1], "entry 'train_step': no array 'label', the input i32[8]");
  EXPECT_EQ(classes[0],
            "entry 'train_step': sample 0 of input 'label' is 4, its classes are 0 to 3");
  EXPECT_EQ(classes[1], "the batch of another rank was refused");
}

// Local steps, each rank alone with a module for one, and then a mean in which one counts thrice.
TEST(Run, AveragesWeights) {
  Folder folder;
  std::vector<std::vector<float>> before(2), after(2);
  std::vector<std::string> refusals(2), none(2);
  among(2, [&](const auto &ranks) {
    const unsigned rank = ranks->rank();
    RunOptions options = folder.options();
    options.log = {};
    options.data = "";
    auto run = opened(options);
    OwnBatch batch;
    for (uint64_t i = 0; i < 3; ++i) {
      batch.make(10 * rank + i);
      EXPECT_TRUE(run->step(batch.arrays()).ok());
    }
    before[rank] = numbersOf(weightsOf(*run));
    EXPECT_TRUE(run->averageWeights(*ranks, rank == 0 ? 3 : 1).ok());
    after[rank] = numbersOf(weightsOf(*run));
    refusals[rank] = run->averageWeights(*ranks, rank == 0 ? 1 : -1).message();
    none[rank] = run->averageWeights(*ranks, 0).message();
    EXPECT_EQ(numbersOf(weightsOf(*run)), after[rank]);
    // Without data on rank 1, what rank 0 has.
    EXPECT_TRUE(run->averageWeights(*ranks, rank == 0 ? 2 : 0).ok());
    EXPECT_EQ(numbersOf(weightsOf(*run)), after[0]);
  });
  EXPECT_EQ(after[0], after[1]);
  EXPECT_NE(before[0], before[1]);
  for (size_t i = 0; i < after[0].size(); ++i)
    EXPECT_EQ(after[0][i], static_cast<float>((3.0 * before[0][i] + 1.0 * before[1][i]) / 4.0));
  EXPECT_EQ(refusals[0], "rank 1: a rank's weight is -1");
  EXPECT_EQ(refusals[1], refusals[0]);
  EXPECT_EQ(none, std::vector<std::string>(2, "the weights of all ranks are 0"));
}

} // namespace
