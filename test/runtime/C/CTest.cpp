// The C API: that it is the C++ API's run, and that no mistake of a program with handles, sizes,
// threads and callbacks is more than a status.
#include "dlc/c.h"
#include "dlc/run.h"
#include "runtime/C/Handles.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <new>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace dlc::test;

extern "C" int useHeaderFromC(const char *module);

namespace {

constexpr uint64_t batchSize = 8, pixels = 16, classes = 4, batches = 12;

/// The small model, 100 training samples (an epoch of 12 batches) and 30 of tests.
struct Folder {
  TemporaryFolder folder;
  std::string module = folder.path("small.so"), data = "idx:" + folder.path("data");
  Folder() {
    PlanBuilder plan = smallModel();
    plan.scalars[0].scheduled = 1;
    writeFile(module, moduleWith(plan.blob()));
    std::filesystem::create_directory(folder.path("data"));
    writeSmallData(folder.path("data"), 100, 30);
  }

  std::string path(const char *name) const { return folder.path(name); }
  dlc_options options() const {
    dlc_options options = {};
    options.size = sizeof(options);
    options.module = module.c_str();
    options.data = data.c_str();
    options.threads = 1;
    options.seed = 1;
    return options;
  }
};

dlc_run *opened(const dlc_options &options) {
  dlc_run *run = nullptr;
  EXPECT_EQ(dlc_run_open(&options, &run), DLC_OK) << dlc_message();
  return run;
}

/// Frees a run at the end of the scope.
struct Opened {
  dlc_run *const run;
  explicit Opened(const dlc_options &options) : run(opened(options)) {}
  ~Opened() { EXPECT_EQ(dlc_run_free(run), DLC_OK) << dlc_message(); }
  operator dlc_run *() const { return run; }
};

/// What a call that fails says.
std::string said(dlc_status status, dlc_status expected = DLC_INVALID_ARGUMENT) {
  EXPECT_EQ(status, expected);
  return status == DLC_OK ? "ok" : dlc_message();
}

double metric(dlc_run *run, dlc_report report, const char *name) {
  double value = -1;
  EXPECT_EQ(dlc_run_metric(run, report, name, &value), DLC_OK) << dlc_message();
  return value;
}

uint64_t stepOf(dlc_run *run) {
  dlc_progress progress = {};
  progress.size = sizeof(progress);
  EXPECT_EQ(dlc_run_progress(run, &progress), DLC_OK) << dlc_message();
  return progress.step;
}

std::vector<std::byte> weightsOf(dlc_run *run) {
  uint64_t bytes = 0;
  EXPECT_EQ(dlc_run_weights_bytes(run, &bytes), DLC_OK);
  std::vector<std::byte> weights(bytes);
  EXPECT_EQ(dlc_run_read_weights(run, weights.data(), bytes), DLC_OK) << dlc_message();
  return weights;
}

/// A batch that can be learnt.
struct OwnBatch {
  std::vector<float> image = std::vector<float>(batchSize * pixels);
  std::vector<int32_t> label = std::vector<int32_t>(batchSize);
  dlc_array arrays[2] = {{"image", DLC_F32, 4, {batchSize, 1, 4, 4}, image.data()},
                         {"label", DLC_I32, 1, {batchSize}, label.data()}};
  OwnBatch() {
    for (uint64_t i = 0; i < batchSize; ++i) {
      label[i] = static_cast<int32_t>(i % classes);
      for (uint64_t p = 0; p < pixels; ++p)
        image[i * pixels + p] = p / 4 == i % classes ? 1.0f : 0.0f;
    }
  }
  OwnBatch(const OwnBatch &) = delete;
};

/// Callbacks that are what a test says.
struct Callbacks {
  std::function<int(dlc_run *, const dlc_progress &)> step, epoch, stop;
  dlc_observer observer() {
    dlc_observer observer = {};
    observer.size = sizeof(observer);
    observer.user = this;
    if (step)
      observer.on_step = call<&Callbacks::step>;
    if (epoch)
      observer.on_epoch = call<&Callbacks::epoch>;
    if (stop)
      observer.should_stop = call<&Callbacks::stop>;
    return observer;
  }
  dlc_status train(dlc_run *run) {
    const dlc_observer hears = observer();
    return dlc_run_train(run, &hears);
  }

private:
  template <auto member> static int call(void *user, dlc_run *run, const dlc_progress *progress) {
    return (static_cast<Callbacks *>(user)->*member)(run, *progress);
  }
};

TEST(C, IsTheRunOfCpp) {
  Folder folder;
  dlc_options options = folder.options();
  const std::string written = folder.path("c.safetensors");
  options.checkpoint = written.c_str();
  options.epochs = 2;
  const Opened run(options);
  ASSERT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
  auto expected = dlc::Run::open({.module = folder.module,
                                  .data = folder.data,
                                  .seed = 1,
                                  .epochs = 2,
                                  .checkpoint = folder.path("cpp.safetensors")});
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  ASSERT_TRUE((*expected)->train().ok());
  EXPECT_EQ(readFile(written), readFile(folder.path("cpp.safetensors")));
  // What is kept of the reports.
  dlc_progress progress = {};
  progress.size = sizeof(progress);
  ASSERT_EQ(dlc_run_progress(run, &progress), DLC_OK);
  EXPECT_EQ(progress.size, sizeof(progress));
  EXPECT_EQ(progress.seed, 1u);
  EXPECT_EQ(progress.step, 2 * batches);
  EXPECT_EQ(progress.epoch, 2u);
  EXPECT_EQ(progress.position, 0u);
  EXPECT_EQ(progress.epochs, 2u);
  EXPECT_EQ(progress.steps_in_epoch, batches);
  EXPECT_EQ(progress.saved_step, 2 * batches);
  EXPECT_GT(metric(run, DLC_REPORT_TEST, "accuracy"), 0.9);
  EXPECT_EQ(metric(run, DLC_REPORT_RATES, "optimizer.learning_rate"), 0.1);
  EXPECT_GT(metric(run, DLC_REPORT_EPOCH, "loss"), 0);
  // Each weight by its name, in the block of all.
  size_t count = 0;
  ASSERT_EQ(dlc_run_variable_count(run, &count), DLC_OK);
  ASSERT_EQ(count, 5u);
  dlc_array first = {};
  uint32_t role = 0;
  ASSERT_EQ(dlc_run_variable(run, 0, &first, &role), DLC_OK);
  EXPECT_STREQ(first.name, "linear1.weight");
  EXPECT_EQ(role, DLC_ROLE_PARAMETER);
  EXPECT_EQ(first.dtype, DLC_F32);
  ASSERT_EQ(first.rank, 2u);
  EXPECT_EQ(first.shape[0], classes);
  EXPECT_EQ(first.shape[1], pixels);
  std::vector<float> weight(classes * pixels);
  const dlc_output read = {first.name, DLC_F32, 3, {classes, 1, pixels}, weight.data()};
  ASSERT_EQ(dlc_run_read_variable(run, &read), DLC_OK) << dlc_message();
  const std::vector<std::byte> block = weightsOf(run);
  ASSERT_EQ(block.size(), (classes * pixels + classes) * sizeof(float));
  EXPECT_EQ(std::memcmp(block.data(), weight.data(), weight.size() * sizeof(float)), 0);
}

// What is kept of a run, and when it ends: the loss falls, so with more of it as better only the
// first evaluation is.
TEST(C, KeepsAndEnds) {
  Folder folder;
  dlc_options options = folder.options();
  const std::string written = folder.path("c.safetensors");
  options.checkpoint = written.c_str();
  options.epochs = 9;
  options.keep = 2;
  options.save_best = "loss:max";
  options.patience = 1;
  options.evaluate_every = batches - 1;
  const std::string log = folder.path("log.csv");
  options.log_file = log.c_str();
  const Opened run(options);
  ASSERT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
  EXPECT_EQ(stepOf(run), batches);
  EXPECT_EQ(readFile(written + ".best"), readFile(written + ".step-11"));
  EXPECT_EQ(std::ranges::count(readFile(log), std::byte('\n')), 1 + batches + 2);
  // Names of a file's tensors become the module's.
  options = folder.options();
  options.init_from = written.c_str();
  const char *rules[] = {"^linear1=first", "^first=linear1"};
  options.rename = rules;
  options.rename_count = 1;
  dlc_run *other = nullptr;
  EXPECT_NE(said(dlc_run_open(&options, &other)).find("none of its tensors is a parameter"),
            std::string::npos);
  options.rename_count = 2;
  const Opened named(options);
}

/// Names and values of a report.
std::vector<std::pair<std::string, double>> reported(dlc_run *run, dlc_report report) {
  size_t count = 0;
  EXPECT_EQ(dlc_run_metric_count(run, report, &count), DLC_OK) << dlc_message();
  std::vector<std::pair<std::string, double>> values;
  for (size_t i = 0; i < count; ++i) {
    const char *name = nullptr;
    EXPECT_EQ(dlc_run_metric_name(run, report, i, &name), DLC_OK) << dlc_message();
    values.emplace_back(name, metric(run, report, name));
  }
  return values;
}

// Parts of an epoch, the same batches again and again, and a try that writes nothing.
TEST(C, TrainsOnAPart) {
  Folder folder;
  dlc_options options = folder.options();
  options.limit = 5;
  options.epochs = 1;
  {
    const Opened run(options);
    ASSERT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
    EXPECT_EQ(stepOf(run), 5u);
  }
  options.limit = 0;
  options.overfit_batches = 2;
  options.epochs = 3;
  {
    const Opened run(options);
    ASSERT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
    EXPECT_EQ(stepOf(run), 6u);
  }
  options = folder.options();
  const std::string written = folder.path("c.safetensors");
  options.checkpoint = written.c_str();
  options.fast_dev_run = 1;
  const Opened run(options);
  ASSERT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
  EXPECT_EQ(stepOf(run), 1u);
  EXPECT_FALSE(std::filesystem::exists(written));
}

// What C++ hears, by the parameters' names, of the last step that has them; no bit depends on a
// part of the time.
TEST(C, ReportsNorms) {
  Folder folder;
  dlc_options options = folder.options();
  options.steps = 5;
  options.norms = 4;
  options.share = 0.9;
  const Opened run(options);
  EXPECT_TRUE(reported(run, DLC_REPORT_WEIGHT_NORMS).empty());
  ASSERT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();

  struct Norms : dlc::TrainObserver {
    std::vector<std::pair<std::string, double>> weights, gradients;
    void onStep(const dlc::StepReport &report) override {
      for (const dlc::runtime::ParameterNorm &norm : report.norms) {
        weights.emplace_back(norm.name, norm.weight);
        gradients.emplace_back(norm.name, norm.gradient.value());
      }
    }
  } norms;
  auto same = dlc::Run::open({.module = folder.module,
                              .device = {.threads = 1},
                              .data = folder.data,
                              .seed = 1,
                              .steps = 5,
                              .norms = 4});
  ASSERT_TRUE(same.ok());
  ASSERT_TRUE((*same)->train({&norms}).ok());
  ASSERT_EQ(norms.weights.size(), 2u);
  EXPECT_EQ(reported(run, DLC_REPORT_WEIGHT_NORMS), norms.weights);
  EXPECT_EQ(reported(run, DLC_REPORT_GRADIENT_NORMS), norms.gradients);
}

TEST(C, NamesWhatIsNotFiniteFirst) {
  Folder folder;
  dlc_options options = folder.options();
  options.data = nullptr;
  options.check_finite = 1;
  const Opened run(options);
  OwnBatch batch;
  batch.image[37] = -HUGE_VALF;
  EXPECT_NE(said(dlc_run_step(run, batch.arrays, 2), DLC_FAILED)
                .find("; the first not finite: input 'image', element 37 of 128 f32 is -inf"),
            std::string::npos);
}

// The curve is that of C++, and nothing of the run changes.
TEST(C, FindsARate) {
  Folder folder;
  const Opened run(folder.options());
  const auto before = weightsOf(run);
  dlc_rate_point point = {};
  EXPECT_EQ(said(dlc_run_rate_point(run, 0, &point)),
            "the sweep has 0 points, and none of number 0");
  dlc_rate_options options = {.size = sizeof(options), .from = 1e-3, .to = 1e3, .steps = 31};
  dlc_rate_search search = {};
  search.size = sizeof(search);
  ASSERT_EQ(dlc_run_find_rate(run, &options, &search), DLC_OK) << dlc_message();
  EXPECT_EQ(weightsOf(run), before);
  EXPECT_EQ(stepOf(run), 0u);

  auto same = dlc::Run::open(
      {.module = folder.module, .device = {.threads = 1}, .data = folder.data, .seed = 1});
  ASSERT_TRUE(same.ok());
  const auto found = (*same)->findRate({.from = 1e-3, .to = 1e3, .steps = 31});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(search.setting, found->setting);
  EXPECT_EQ(search.suggested, found->suggested.value_or(0));
  EXPECT_EQ(search.diverged != 0, found->diverged);
  ASSERT_EQ(search.count, found->points.size());
  for (size_t i = 0; i < search.count; ++i) {
    ASSERT_EQ(dlc_run_rate_point(run, i, &point), DLC_OK) << dlc_message();
    const dlc::RatePoint &expected = found->points[i];
    EXPECT_EQ(std::tuple(point.rate, point.loss, point.smoothed),
              std::tuple(expected.rate, expected.loss, expected.smoothed));
  }
  EXPECT_EQ(said(dlc_run_rate_point(run, search.count, &point)),
            "the sweep has " + std::to_string(search.count) + " points, and none of number " +
                std::to_string(search.count));
  // Without options it is C++'s.
  ASSERT_EQ(dlc_run_find_rate(run, nullptr, &search), DLC_OK) << dlc_message();
  ASSERT_EQ(dlc_run_rate_point(run, 0, &point), DLC_OK);
  EXPECT_EQ(point.rate, 1e-7);
  options.steps = 9;
  EXPECT_NE(said(dlc_run_find_rate(run, &options, &search)).find("a sweep of 9 steps says nothing"),
            std::string::npos);
  search.size = 0;
  EXPECT_EQ(said(dlc_run_find_rate(run, nullptr, &search)).substr(0, 33),
            "`size` of dlc_rate_search is 0: e");
}

#ifdef DLC_TEST_PICTURES
// A damaged sample is left out and counted, or named.
TEST(C, LeavesOutDamagedSamples) {
  Folder folder;
  // A picture of 4x4 bytes whose first row is bright.
  const unsigned char png[] = {
      0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44,
      0x52, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x04, 0x08, 0x00, 0x00, 0x00, 0x00, 0x8c,
      0x9a, 0xc1, 0xa2, 0x00, 0x00, 0x00, 0x0e, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xf8,
      0x0f, 0x04, 0x0c, 0xa8, 0x00, 0x00, 0x45, 0xce, 0x03, 0xfd, 0xf9, 0xbb, 0xae, 0xc3, 0x00,
      0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
  const auto *bytes = reinterpret_cast<const std::byte *>(png);
  std::vector<std::byte> picture(bytes, bytes + sizeof(png));
  for (int i = 0; i < 16; ++i) {
    const std::string place = folder.path("pictures/train/") + std::to_string(i % 4);
    std::filesystem::create_directories(place);
    writeFile(place + "/" + std::to_string(i) + ".png", picture);
  }
  picture.resize(50);
  writeFile(folder.path("pictures/train/2/6.png"), picture);
  dlc_options options = folder.options();
  const std::string pictures = "images:" + folder.path("pictures");
  options.data = pictures.c_str();
  options.epochs = 1;
  const Opened strict(options);
  EXPECT_NE(said(dlc_run_train(strict, nullptr), DLC_DAMAGED).find("/2/6.png: "),
            std::string::npos);
  options.max_bad_records = 1;
  const Opened run(options);
  ASSERT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
  dlc_progress progress = {};
  progress.size = sizeof(progress);
  ASSERT_EQ(dlc_run_progress(run, &progress), DLC_OK);
  EXPECT_EQ(std::pair(progress.bad_records, progress.test_bad_records), std::pair(1ul, 0ul));
  // A program that was compiled before there was such a number.
  progress = {};
  progress.size = offsetof(dlc_progress, bad_records);
  ASSERT_EQ(dlc_run_progress(run, &progress), DLC_OK);
  EXPECT_EQ(progress.step, 2u);
  EXPECT_EQ(progress.bad_records, 0u);
}
#endif

TEST(C, StepsFromC) {
  Folder folder;
  EXPECT_EQ(useHeaderFromC(folder.module.c_str()), 0);
}

// Samples in arrays of the program, in the place of files; evaluation of others; tables.
TEST(C, ReadsArrays) {
  Folder folder;
  const std::vector<std::byte> images = readFile(folder.path("data/train-images-idx3-ubyte")),
                               labels = readFile(folder.path("data/train-labels-idx1-ubyte"));
  constexpr size_t imagesHeader = 16, labelsHeader = 8;
  const dlc_array samples[] = {{"image", DLC_U8, 3, {100, 4, 4}, images.data() + imagesHeader},
                               {"label", DLC_U8, 1, {100}, labels.data() + labelsHeader}};
  dlc_options options = folder.options();
  const Opened files(options);
  ASSERT_EQ(dlc_run_train(files, nullptr), DLC_OK) << dlc_message();
  options.data = nullptr;
  options.train = samples;
  options.train_count = 2;
  const Opened arrays(options);
  ASSERT_EQ(dlc_run_train(arrays, nullptr), DLC_OK) << dlc_message();
  EXPECT_EQ(weightsOf(arrays), weightsOf(files));
  EXPECT_EQ(said(dlc_run_evaluate(arrays, nullptr, 0)),
            "entry 'evaluate' has no test data: `data` or `test` gives them");
  size_t count = 1;
  ASSERT_EQ(dlc_run_metric_count(arrays, DLC_REPORT_TEST, &count), DLC_OK);
  EXPECT_EQ(count, 0u);
  ASSERT_EQ(dlc_run_evaluate(arrays, samples, 2), DLC_OK) << dlc_message();
  ASSERT_EQ(dlc_run_metric_count(arrays, DLC_REPORT_TEST, &count), DLC_OK);
  EXPECT_EQ(count, 2u);
  const char *name = nullptr;
  ASSERT_EQ(dlc_run_metric_name(arrays, DLC_REPORT_TEST, 1, &name), DLC_OK);
  EXPECT_STREQ(name, "accuracy");
  EXPECT_EQ(said(dlc_run_metric_name(arrays, DLC_REPORT_TEST, 2, &name)),
            "the report has 2 metrics, and none of number 2");
  size_t side = 1;
  ASSERT_EQ(dlc_run_metric_table(arrays, DLC_REPORT_TEST, name, &side, nullptr, 0), DLC_OK);
  EXPECT_EQ(side, 0u);
}

TEST(C, SaysWhatTheModuleTakes) {
  Folder folder;
  const Opened run(folder.options());
  dlc_array value = {};
  ASSERT_EQ(dlc_run_input(run, nullptr, 1, &value), DLC_OK) << dlc_message();
  EXPECT_STREQ(value.name, "label");
  EXPECT_EQ(value.dtype, DLC_I32);
  EXPECT_EQ(value.rank, 1u);
  EXPECT_EQ(value.shape[0], batchSize);
  EXPECT_EQ(value.data, nullptr);
  ASSERT_EQ(dlc_run_input(run, "evaluate", 2, &value), DLC_OK) << dlc_message();
  EXPECT_STREQ(value.name, "valid");
  EXPECT_EQ(value.rank, 0u);
  ASSERT_EQ(dlc_run_output(run, nullptr, 0, &value), DLC_OK) << dlc_message();
  EXPECT_STREQ(value.name, "output");
  EXPECT_EQ(said(dlc_run_input(run, nullptr, 2, &value)),
            "entry 'train_step' has 2, and none of number 2");
  EXPECT_EQ(said(dlc_run_output(run, "infer", 0, &value)),
            folder.module + ": no entry 'infer'; there are: train_step, evaluate, infer_n1");
}

// Stops, goes on, keeps and takes weights.
TEST(C, SavesLoadsAndGoesOn) {
  Folder folder;
  const std::string checkpoint = folder.path("c.safetensors"), other = folder.path("d.safetensors");
  dlc_options options = folder.options();
  const Opened whole(options);
  ASSERT_EQ(dlc_run_train(whole, nullptr), DLC_OK) << dlc_message();
  options.checkpoint = checkpoint.c_str();
  options.steps = 5;
  {
    const Opened run(options);
    ASSERT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
    EXPECT_EQ(stepOf(run), 5u);
    ASSERT_EQ(dlc_run_save(run, other.c_str()), DLC_OK) << dlc_message();
  }
  EXPECT_EQ(readFile(checkpoint), readFile(other));
  options.resume = 1;
  options.steps = 0;
  const Opened run(options);
  ASSERT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
  const std::vector<std::byte> trained = weightsOf(run);
  EXPECT_EQ(trained, weightsOf(whole));
  ASSERT_EQ(dlc_run_load(run, other.c_str()), DLC_OK) << dlc_message();
  EXPECT_NE(weightsOf(run), trained);
  ASSERT_EQ(dlc_run_write_weights(run, trained.data(), trained.size()), DLC_OK) << dlc_message();
  EXPECT_EQ(weightsOf(run), trained);
  float bias[classes] = {1, 2, 3, 4};
  const dlc_array written = {"linear1.bias", DLC_F32, 1, {classes}, bias};
  ASSERT_EQ(dlc_run_write_variable(run, &written), DLC_OK) << dlc_message();
  EXPECT_NE(weightsOf(run), trained);
  EXPECT_EQ(said(dlc_run_load(run, nullptr)), "path is NULL");
  EXPECT_EQ(said(dlc_run_save(run, folder.path("no/file").c_str()), DLC_IO).substr(0, 5), "/tmp/");
}

TEST(C, HandlesThatAreNone) {
  Folder folder;
  dlc_run *freed = opened(folder.options());
  ASSERT_EQ(dlc_run_free(freed), DLC_OK);
  // A new one is another, wherever it lies.
  const Opened alive(folder.options());
  EXPECT_NE(freed, alive.run);
  int local = 0;
  const std::pair<dlc_run *, const char *> bad[] = {
      {nullptr, "the handle is NULL"},
      {freed, "the handle was freed"},
      {reinterpret_cast<dlc_run *>(&local), "the handle is none that this library gave"},
      {reinterpret_cast<dlc_run *>(reinterpret_cast<char *>(alive.run) + 1),
       "the handle is none that this library gave"},
      {reinterpret_cast<dlc_run *>(UINTPTR_MAX), "the handle is none that this library gave"}};
  for (const auto &[run, why] : bad) {
    SCOPED_TRACE(why);
    auto expect = [&, why = why](dlc_status status) {
      EXPECT_EQ(said(status, DLC_NOT_ALIVE), why);
      EXPECT_EQ(dlc_run_set(alive, "nothing", 1), DLC_INVALID_ARGUMENT); // another message
    };
    dlc_progress progress = {};
    progress.size = sizeof(progress);
    size_t count = 0;
    uint64_t bytes = 0;
    double value = 0;
    const char *name = nullptr;
    dlc_array array = {};
    const dlc_output output = {};
    expect(dlc_run_train(run, nullptr));
    expect(dlc_run_step(run, nullptr, 0));
    expect(dlc_run_evaluate(run, nullptr, 0));
    expect(dlc_run_predict(run, nullptr, nullptr, 0, nullptr, 0));
    expect(dlc_run_save(run, "x"));
    expect(dlc_run_load(run, "x"));
    expect(dlc_run_set(run, "x", 1));
    expect(dlc_run_progress(run, &progress));
    expect(dlc_run_metric_count(run, DLC_REPORT_BATCH, &count));
    expect(dlc_run_metric_name(run, DLC_REPORT_BATCH, 0, &name));
    expect(dlc_run_metric(run, DLC_REPORT_BATCH, "loss", &value));
    expect(dlc_run_metric_table(run, DLC_REPORT_BATCH, "loss", &count, nullptr, 0));
    expect(dlc_run_input(run, nullptr, 0, &array));
    expect(dlc_run_output(run, nullptr, 0, &array));
    expect(dlc_run_weights_bytes(run, &bytes));
    expect(dlc_run_read_weights(run, &bytes, 8));
    expect(dlc_run_write_weights(run, &bytes, 8));
    expect(dlc_run_average_weights(run, nullptr, 1));
    expect(dlc_run_variable_count(run, &count));
    expect(dlc_run_variable(run, 0, &array, nullptr));
    expect(dlc_run_read_variable(run, &output));
    expect(dlc_run_write_variable(run, &array));
    expect(dlc_run_free(run));
    EXPECT_EQ(dlc_run_stop(run), DLC_NOT_ALIVE);
  }
  EXPECT_EQ(stepOf(alive), 0u);
}

TEST(C, HandlesOfAnotherKind) {
  Folder folder;
  dlc_ranks *ranks = nullptr;
  ASSERT_EQ(dlc_ranks_launched(nullptr, &ranks), DLC_OK) << dlc_message();
  unsigned rank = 7, size = 7;
  EXPECT_EQ(dlc_ranks_rank(ranks, &rank), DLC_OK);
  EXPECT_EQ(dlc_ranks_size(ranks, &size), DLC_OK);
  EXPECT_EQ(rank, 0u);
  EXPECT_EQ(size, 1u);
  dlc_options options = folder.options();
  options.ranks = ranks;
  const Opened run(options);
  auto *asRun = reinterpret_cast<dlc_run *>(ranks);
  auto *asRanks = reinterpret_cast<dlc_ranks *>(run.run);
  EXPECT_EQ(said(dlc_run_train(asRun, nullptr), DLC_NOT_ALIVE),
            "the handle is of ranks, not of a run");
  EXPECT_EQ(dlc_run_stop(asRun), DLC_NOT_ALIVE);
  EXPECT_EQ(said(dlc_ranks_leave(asRanks), DLC_NOT_ALIVE), "the handle is of a run, not of ranks");
  EXPECT_EQ(said(dlc_ranks_rank(asRanks, &rank), DLC_NOT_ALIVE),
            "the handle is of a run, not of ranks");
  EXPECT_EQ(said(dlc_run_average_weights(run, asRanks, 1), DLC_NOT_ALIVE),
            "the handle is of a run, not of ranks");
  dlc_run *none = run;
  options.ranks = asRanks;
  EXPECT_EQ(said(dlc_run_open(&options, &none), DLC_NOT_ALIVE),
            "the handle is of a run, not of ranks");
  EXPECT_EQ(none, nullptr);
  // The run and its ranks are entered together. It goes on when their handle is freed.
  EXPECT_EQ(dlc_run_average_weights(run, ranks, 1), DLC_OK) << dlc_message();
  EXPECT_EQ(dlc_ranks_free(ranks), DLC_OK) << dlc_message();
  EXPECT_EQ(said(dlc_ranks_size(ranks, &size), DLC_NOT_ALIVE), "the handle was freed");
  EXPECT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
}

TEST(C, StructsOfAnotherSize) {
  Folder folder;
  dlc_run *run = nullptr;
  EXPECT_EQ(said(dlc_run_open(nullptr, &run)), "dlc_options is NULL");
  EXPECT_EQ(said(dlc_run_open(nullptr, nullptr)), "out_run is NULL");
  dlc_options options = folder.options();
  constexpr size_t first = offsetof(dlc_options, seed_given);
  for (size_t size : {size_t(0), size_t(8), first - 1, size_t(4097), SIZE_MAX}) {
    options.size = size;
    EXPECT_EQ(said(dlc_run_open(&options, &run)), "`size` of dlc_options is " +
                                                      std::to_string(size) + ": expected sizeof, " +
                                                      std::to_string(sizeof(options)));
  }
  // A later version's struct: what it does not use is zero.
  struct {
    dlc_options known;
    uint64_t later;
  } newer = {folder.options(), 0};
  newer.known.size = sizeof(newer);
  EXPECT_EQ(dlc_run_open(&newer.known, &run), DLC_OK) << dlc_message();
  EXPECT_EQ(dlc_run_free(run), DLC_OK);
  newer.later = 1;
  EXPECT_EQ(said(dlc_run_open(&newer.known, &run), DLC_UNSUPPORTED),
            std::string("dlc_options: has a field set that this version of the library, ") +
                dlc_version() + ", does not know");
  // An earlier version's: what lies behind it is not looked at.
  options = folder.options();
  options.size = first;
  options.seed_given = -1;
  const Opened good(options);
  dlc_observer observer = {};
  EXPECT_EQ(said(dlc_run_train(good, &observer)).substr(0, 30), "`size` of dlc_observer is 0: e");
  observer.size = offsetof(dlc_observer, on_checkpoint);
  observer.on_checkpoint = [](void *, dlc_run *, const dlc_progress *) { return 1; };
  observer.should_stop = [](void *, dlc_run *, const dlc_progress *) { return 1; };
  EXPECT_EQ(dlc_run_train(good, &observer), DLC_OK) << dlc_message();
  dlc_progress progress = {};
  EXPECT_EQ(said(dlc_run_progress(good, &progress)).substr(0, 30),
            "`size` of dlc_progress is 0: e");
  EXPECT_EQ(stepOf(good), 0u);
}

// Fields that are wrong have the names that they have in C.
TEST(C, NamesItsOwnFields) {
  Folder folder;
  dlc_run *run = nullptr;
  dlc_options options = folder.options();
  options.module = nullptr;
  EXPECT_EQ(said(dlc_run_open(&options, &run)), "`module` is NULL");
  options = folder.options();
  options.data = nullptr;
  options.batches_fill = [](void *, uint64_t, uint64_t, const dlc_output *, size_t) { return 0; };
  EXPECT_EQ(said(dlc_run_open(&options, &run)),
            "`batches_fill` is given without `batches_per_epoch`");
  options = folder.options();
  options.train_count = 1;
  EXPECT_EQ(said(dlc_run_open(&options, &run)), "`train` is NULL");
  options = folder.options();
  options.override_count = 1;
  EXPECT_EQ(said(dlc_run_open(&options, &run)), "`overrides` is NULL");
  options = folder.options();
  options.save_best = "loss";
  EXPECT_EQ(said(dlc_run_open(&options, &run)), "`save_best` is given without `checkpoint`");
  options = folder.options();
  options.rename_count = 1;
  EXPECT_EQ(said(dlc_run_open(&options, &run)), "`rename` is NULL");
  options = folder.options();
  options.time_limit = -1;
  EXPECT_EQ(said(dlc_run_open(&options, &run)), "`time_limit` is -1, expected a number from 0 on");
  options = folder.options();
  options.limit = 1.5;
  EXPECT_EQ(said(dlc_run_open(&options, &run)),
            "`limit` is 1.5, expected a part below 1 or a whole number of batches");
  options = folder.options();
  options.share = 2;
  EXPECT_EQ(said(dlc_run_open(&options, &run)),
            "`share` is 2, expected a part of the time, above 0 and up to 1");
  options = folder.options();
  options.data = nullptr;
  options.overfit_batches = 1;
  options.batches_per_epoch = 1;
  options.batches_fill = [](void *, uint64_t, uint64_t, const dlc_output *, size_t) { return 0; };
  EXPECT_EQ(said(dlc_run_open(&options, &run)),
            "`overfit_batches` is given, and the batches are the program's");
  using dlc::runtime::withFieldsOfC;
  EXPECT_EQ(withFieldsOfC("`checkpointEvery` and `batches.perEpoch`"),
            "`checkpoint_every` and `batches_per_epoch`");
  EXPECT_EQ(withFieldsOfC("a.B `c D` e.F"), "a.B `c D` e.F");
  EXPECT_EQ(withFieldsOfC("`aB"), "`aB");
  EXPECT_EQ(withFieldsOfC(""), "");
  // The log has them too.
  options = folder.options();
  std::vector<std::string> heard;
  options.user = &heard;
  options.log = [](void *user, dlc_severity severity, const char *line) {
    EXPECT_EQ(severity, DLC_SEVERITY_NOTE);
    static_cast<std::vector<std::string> *>(user)->push_back(line);
    throw std::bad_alloc(); // is nothing
  };
  const Opened good(options);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0], folder.path("data") + ": 4 of 100 samples are left out each time, as they do "
                                            "not fill a batch of 8");
}

TEST(C, ArraysThatAreNone) {
  Folder folder;
  const Opened run(folder.options());
  OwnBatch batch;
  auto says = [&](const std::function<void(dlc_array &)> &change) {
    dlc_array arrays[2] = {batch.arrays[0], batch.arrays[1]};
    change(arrays[1]);
    return said(dlc_run_step(run, arrays, 2));
  };
  EXPECT_EQ(said(dlc_run_step(run, nullptr, 2)), "the batch is NULL");
  EXPECT_EQ(says([](dlc_array &a) { a.name = nullptr; }), "the batch: array 1 has no name");
  EXPECT_EQ(says([](dlc_array &a) { a.dtype = 99; }),
            "the batch: 'label' has dtype 99, which is none");
  EXPECT_EQ(says([](dlc_array &a) { a.rank = 9; }), "the batch: 'label' has 9 axes, at most 8");
  EXPECT_EQ(says([](dlc_array &a) { a.data = nullptr; }), "the batch: 'label' has no data");
  EXPECT_EQ(says([](dlc_array &a) { a.dtype = DLC_F32; }),
            "array 'label' is f32[8], entry 'train_step' expects i32[8]");
  EXPECT_EQ(says([](dlc_array &a) { a.shape[0] = 9; }),
            "array 'label' is i32[9], entry 'train_step' expects i32[8]");
  EXPECT_EQ(stepOf(run), 0u);
  // Variables are asked for by name, dtype and shape.
  float bias[classes] = {};
  dlc_output variable = {"linear1.bais", DLC_F32, 1, {classes}, bias};
  EXPECT_EQ(said(dlc_run_read_variable(run, &variable)),
            folder.module + ": no variable 'linear1.bais'; there is 'linear1.bias'");
  variable.name = "linear1.bias";
  variable.dtype = DLC_I32;
  EXPECT_EQ(said(dlc_run_read_variable(run, &variable)),
            folder.module + ": variable 'linear1.bias' is f32[4], the array i32[4]");
  variable.dtype = DLC_F32;
  variable.shape[0] = 3;
  EXPECT_EQ(said(dlc_run_read_variable(run, &variable)),
            folder.module + ": variable 'linear1.bias' is f32[4], the array f32[3]");
  EXPECT_EQ(said(dlc_run_read_variable(run, nullptr)), "the variable is NULL");
  EXPECT_EQ(dlc_run_read_weights(run, bias, sizeof(bias)), DLC_INVALID_ARGUMENT);
  dlc_array described = {};
  EXPECT_EQ(said(dlc_run_variable(run, 5, &described, nullptr)),
            "the module has 5 variables, and none of number 5");
  double value = 0;
  EXPECT_EQ(said(dlc_run_metric(run, DLC_REPORT_BATCH, "loss", &value)),
            "the report has no 'loss'; it is empty");
  ASSERT_EQ(dlc_run_step(run, batch.arrays, 2), DLC_OK) << dlc_message();
  EXPECT_EQ(said(dlc_run_metric(run, DLC_REPORT_BATCH, "lost", &value)),
            "the report has no 'lost'; there are: loss, accuracy");
  EXPECT_EQ(said(dlc_run_metric(run, static_cast<dlc_report>(7), "loss", &value)),
            "there is no report number 7");
}

// On the CPU the device's memory is the host's, and a stream is not looked at.
TEST(C, TakesArraysOnTheDevice) {
  Folder folder;
  const Opened run(folder.options()), other(folder.options());
  OwnBatch batch;
  int device = 0, stream = 0;
  ASSERT_EQ(dlc_run_cuda_device(run, &device), DLC_OK) << dlc_message();
  EXPECT_EQ(device, -1);
  EXPECT_EQ(said(dlc_run_cuda_device(run, nullptr)), "out_device is NULL");
  ASSERT_EQ(dlc_run_set_stream(run, &stream), DLC_OK) << dlc_message();
  ASSERT_EQ(dlc_run_step(other, batch.arrays, 2), DLC_OK) << dlc_message();
  dlc_array arrays[2] = {batch.arrays[0], batch.arrays[1]};
  for (dlc_array &array : arrays)
    array.dtype |= DLC_ON_DEVICE;
  ASSERT_EQ(dlc_run_step(run, arrays, 2), DLC_OK) << dlc_message();
  EXPECT_EQ(weightsOf(run), weightsOf(other));

  std::vector<std::byte> weights = weightsOf(other);
  std::ranges::fill(weights, std::byte(0));
  ASSERT_EQ(dlc_run_write_device_weights(run, weights.data(), weights.size()), DLC_OK)
      << dlc_message();
  EXPECT_EQ(weightsOf(run), weights);
  ASSERT_EQ(dlc_run_read_device_weights(other, weights.data(), weights.size()), DLC_OK)
      << dlc_message();
  EXPECT_EQ(weights, weightsOf(other));
  float bias[classes] = {1};
  const dlc_output variable = {"linear1.bias", DLC_F32 | DLC_ON_DEVICE, 1, {classes}, bias};
  ASSERT_EQ(dlc_run_read_variable(run, &variable), DLC_OK) << dlc_message();
  EXPECT_EQ(bias[0], 0);
  // Samples are read on the host, one by one.
  EXPECT_EQ(said(dlc_run_evaluate(run, arrays, 2)),
            "the arrays: 'image' lies on the device, samples are read on the host");
  arrays[0].dtype = 99 | DLC_ON_DEVICE;
  EXPECT_EQ(said(dlc_run_step(run, arrays, 2)), "the batch: 'image' has dtype 99, which is none");
}

TEST(C, CallbacksHearAndRead) {
  Folder folder;
  const Opened run(folder.options());
  Callbacks callbacks;
  std::vector<double> losses;
  uint64_t epochs = 0;
  std::vector<float> scores(classes);
  OwnBatch batch;
  callbacks.step = [&](dlc_run *self, const dlc_progress &progress) {
    EXPECT_EQ(self, run.run);
    EXPECT_EQ(progress.step, losses.size() + 1);
    EXPECT_EQ(progress.samples, batchSize);
    EXPECT_EQ(stepOf(self), progress.step);
    losses.push_back(metric(self, DLC_REPORT_BATCH, "loss"));
    EXPECT_EQ(dlc_run_set(self, "optimizer.learning_rate", 0.2), DLC_OK) << dlc_message();
    return 0;
  };
  callbacks.epoch = [&](dlc_run *self, const dlc_progress &progress) {
    EXPECT_EQ(progress.epoch, ++epochs);
    EXPECT_EQ(progress.samples, batches * batchSize);
    EXPECT_EQ(metric(self, DLC_REPORT_RATES, "optimizer.learning_rate"), 0.2);
    const double before = metric(self, DLC_REPORT_TEST, "loss");
    EXPECT_EQ(dlc_run_evaluate(self, nullptr, 0), DLC_OK) << dlc_message();
    EXPECT_EQ(metric(self, DLC_REPORT_TEST, "loss"), before);
    const dlc_array image = {"image", DLC_F32, 4, {1, 1, 4, 4}, batch.image.data()};
    const dlc_output output = {"output", DLC_F32, 2, {1, classes}, scores.data()};
    EXPECT_EQ(dlc_run_predict(self, nullptr, &image, 1, &output, 1), DLC_OK) << dlc_message();
    EXPECT_EQ(weightsOf(self).size(), (classes * pixels + classes) * sizeof(float));
    return 0;
  };
  ASSERT_EQ(callbacks.train(run), DLC_OK) << dlc_message();
  EXPECT_EQ(losses.size(), 3 * batches);
  EXPECT_EQ(epochs, 3u);
  EXPECT_EQ(losses.back(), metric(run, DLC_REPORT_BATCH, "loss"));
}

TEST(C, CallbacksMayNotDoAll) {
  Folder folder;
  const Opened run(folder.options());
  Callbacks callbacks;
  OwnBatch batch;
  auto refuses = [&](dlc_status status) {
    EXPECT_EQ(said(status, DLC_IN_USE), "a callback may not call this");
  };
  auto refusesAll = [&](dlc_run *self) {
    refuses(dlc_run_train(self, nullptr));
    refuses(dlc_run_step(self, batch.arrays, 2));
    refuses(dlc_run_save(self, "x"));
    refuses(dlc_run_load(self, "x"));
    refuses(dlc_run_write_weights(self, &batch, 1));
    refuses(dlc_run_free(self));
    return 0;
  };
  callbacks.step = [&](dlc_run *self, const dlc_progress &) {
    refuses(dlc_run_evaluate(self, nullptr, 0));
    refuses(dlc_run_read_weights(self, &batch, 1));
    return refusesAll(self);
  };
  callbacks.epoch = [&](dlc_run *self, const dlc_progress &) { return refusesAll(self); };
  callbacks.stop = [&](dlc_run *self, const dlc_progress &) {
    refuses(dlc_run_set(self, "optimizer.learning_rate", 1));
    return refusesAll(self);
  };
  ASSERT_EQ(callbacks.train(run), DLC_OK) << dlc_message();
  EXPECT_EQ(stepOf(run), 3 * batches);
}

// One that fails ends the training with one status; what was trained is kept.
TEST(C, CallbacksFail) {
  Folder folder;
  dlc_options options = folder.options();
  const std::string checkpoint = folder.path("c.safetensors");
  options.checkpoint = checkpoint.c_str();
  const Opened run(options);
  Callbacks step;
  step.step = [](dlc_run *, const dlc_progress &progress) { return progress.step == 4 ? -3 : 0; };
  EXPECT_EQ(said(step.train(run), DLC_FAILED), "`on_step` returned -3");
  EXPECT_EQ(stepOf(run), 4u);
  EXPECT_FALSE(readFile(checkpoint).empty());
  Callbacks epoch;
  epoch.epoch = [](dlc_run *, const dlc_progress &) -> int { throw 1; };
  EXPECT_EQ(said(epoch.train(run), DLC_FAILED), "`on_epoch` threw an exception");
  EXPECT_EQ(stepOf(run), batches);
  Callbacks stop;
  stop.stop = [](dlc_run *, const dlc_progress &progress) { return progress.step == 14; };
  EXPECT_EQ(stop.train(run), DLC_OK) << dlc_message();
  EXPECT_EQ(stepOf(run), 14u);
  Callbacks asks;
  asks.step = [](dlc_run *self, const dlc_progress &progress) {
    return progress.step == 20 && dlc_run_stop(self) != DLC_OK;
  };
  EXPECT_EQ(asks.train(run), DLC_OK) << dlc_message();
  EXPECT_EQ(stepOf(run), 20u);
  EXPECT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
  EXPECT_EQ(stepOf(run), 3 * batches);
}

// A seed of 0 is given where the program says so: then no other is resumed.
TEST(C, TakesASeedOfZero) {
  Folder folder;
  const std::string checkpoint = folder.path("c.safetensors");
  dlc_options options = folder.options();
  options.checkpoint = checkpoint.c_str();
  options.seed = 5;
  options.steps = 2;
  {
    const Opened run(options);
    ASSERT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
  }
  options.resume = 1;
  options.seed = 0;
  options.seed_given = 1;
  dlc_run *none = nullptr;
  EXPECT_EQ(said(dlc_run_open(&options, &none)),
            checkpoint + ": was trained with seed 5, `seed` is 0");
  options.seed_given = 0;
  const Opened run(options);
  dlc_progress progress = {};
  progress.size = sizeof(progress);
  ASSERT_EQ(dlc_run_progress(run, &progress), DLC_OK);
  EXPECT_EQ(progress.seed, 5u);
}

// However samples are put together beside the training, the weights are the same.
TEST(C, LoadsOnThreads) {
  Folder folder;
  dlc_options options = folder.options();
  const Opened one(options);
  ASSERT_EQ(dlc_run_train(one, nullptr), DLC_OK) << dlc_message();
  options.load_workers = 3;
  options.load_ahead = 1;
  const Opened run(options);
  ASSERT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
  EXPECT_EQ(weightsOf(run), weightsOf(one));
}

// What is needed to evaluate what was trained.
TEST(C, EvaluatesWeights) {
  Folder folder;
  const std::string checkpoint = folder.path("c.safetensors");
  dlc_options options = folder.options();
  options.checkpoint = checkpoint.c_str();
  const Opened trained(options);
  ASSERT_EQ(dlc_run_train(trained, nullptr), DLC_OK) << dlc_message();
  options = folder.options();
  options.test_data = std::exchange(options.data, nullptr);
  options.weights = checkpoint.c_str();
  const Opened run(options);
  EXPECT_EQ(weightsOf(run), weightsOf(trained));
  ASSERT_EQ(dlc_run_evaluate(run, nullptr, 0), DLC_OK) << dlc_message();
  EXPECT_EQ(metric(run, DLC_REPORT_TEST, "loss"), metric(trained, DLC_REPORT_TEST, "loss"));
}

// The folder of the checkpoint is gone until the first one has failed.
TEST(C, HearsOfCheckpoints) {
  Folder folder;
  const std::string place = folder.path("kept"), checkpoint = place + "/c.safetensors";
  std::filesystem::create_directory(place);
  dlc_options options = folder.options();
  options.checkpoint = checkpoint.c_str();
  const Opened run(options);
  struct Heard {
    const std::string &place;
    std::vector<uint64_t> written;
    std::string reason;
    int failed = 0;
  } heard = {place, {}, {}};
  dlc_observer observer = {};
  observer.size = sizeof(observer);
  observer.user = &heard;
  observer.on_step = [](void *user, dlc_run *, const dlc_progress *progress) {
    const std::string &place = static_cast<Heard *>(user)->place;
    if (progress->step == 1)
      std::filesystem::remove_all(place);
    return 0;
  };
  observer.on_checkpoint = [](void *user, dlc_run *self, const dlc_progress *progress) {
    static_cast<Heard *>(user)->written.push_back(progress->saved_step);
    EXPECT_EQ(said(dlc_run_save(self, "x"), DLC_IN_USE), "a callback may not call this");
    return progress->saved_step == 3 * batches ? 9 : 0;
  };
  observer.on_checkpoint_failed = [](void *user, dlc_run *self, const dlc_progress *progress,
                                     const char *reason) {
    auto &heard = *static_cast<Heard *>(user);
    std::filesystem::create_directory(heard.place);
    heard.reason = reason;
    ++heard.failed;
    EXPECT_GE(progress->step, batches);
    EXPECT_EQ(progress->saved_step, UINT64_MAX);
    EXPECT_GT(metric(self, DLC_REPORT_BATCH, "loss"), 0);
    return 0;
  };
  EXPECT_EQ(said(dlc_run_train(run, &observer), DLC_IO),
            checkpoint + ": 1 of 3 checkpoints could not be written; the file holds step 36");
  EXPECT_EQ(heard.written, (std::vector<uint64_t>{2 * batches, 3 * batches}));
  EXPECT_EQ(heard.failed, 1);
  EXPECT_EQ(heard.reason.substr(0, place.size()), place);
}

TEST(C, FillsBatches) {
  Folder folder;
  OwnBatch batch;
  dlc_options options = folder.options();
  options.data = nullptr;
  options.batches_per_epoch = 5;
  options.epochs = 2;
  options.user = &batch;
  options.batches_fill = [](void *user, uint64_t epoch, uint64_t number, const dlc_output *inputs,
                            size_t count) {
    auto &from = *static_cast<OwnBatch *>(user);
    EXPECT_EQ(count, 2u);
    EXPECT_STREQ(inputs[0].name, "image");
    EXPECT_EQ(inputs[0].rank, 4u);
    EXPECT_STREQ(inputs[1].name, "label");
    EXPECT_EQ(inputs[1].dtype, DLC_I32);
    std::memcpy(inputs[0].data, from.image.data(), from.image.size() * sizeof(float));
    std::memcpy(inputs[1].data, from.label.data(), from.label.size() * sizeof(int32_t));
    return epoch == 1 && number == 3 ? 5 : 0;
  };
  const Opened run(options), stepped(options);
  EXPECT_EQ(said(dlc_run_train(run, nullptr), DLC_FAILED),
            folder.module + ": `batches_fill`: batch 3 of epoch 1: returned 5");
  EXPECT_EQ(stepOf(run), 8u);
  for (int i = 0; i < 8; ++i)
    ASSERT_EQ(dlc_run_step(stepped, batch.arrays, 2), DLC_OK) << dlc_message();
  EXPECT_EQ(weightsOf(stepped), weightsOf(run));
}

TEST(C, AnotherThreadIsAtWork) {
  Folder folder;
  dlc_options options = folder.options();
  options.epochs = 1000000;
  dlc_run *run = opened(options);
  std::atomic<bool> trains = false;
  Callbacks callbacks;
  callbacks.step = [&](dlc_run *, const dlc_progress &) {
    trains = true;
    return 0;
  };
  std::thread trainer([&] { EXPECT_EQ(callbacks.train(run), DLC_OK) << dlc_message(); });
  while (!trains)
    std::this_thread::yield();
  OwnBatch batch;
  dlc_progress progress = {};
  progress.size = sizeof(progress);
  for (dlc_status status :
       {dlc_run_step(run, batch.arrays, 2), dlc_run_train(run, nullptr), dlc_run_free(run),
        dlc_run_evaluate(run, nullptr, 0), dlc_run_progress(run, &progress)})
    EXPECT_EQ(said(status, DLC_IN_USE), "another thread is at work in it");
  EXPECT_EQ(dlc_run_stop(run), DLC_OK);
  trainer.join();
  EXPECT_EQ(dlc_run_progress(run, &progress), DLC_OK) << dlc_message();
  EXPECT_EQ(dlc_run_free(run), DLC_OK) << dlc_message();
}

dlc_run *stoppedBySignal = nullptr;

// A signal's handler may stop a run, also where it comes while handles are looked up.
TEST(C, StopsFromASignal) {
  Folder folder;
  dlc_options options = folder.options();
  options.epochs = 1000000;
  const Opened run(options);
  stoppedBySignal = run;
  auto before = std::signal(SIGUSR1, [](int) {
    if (dlc_run_stop(stoppedBySignal) != DLC_OK)
      _exit(99);
  });
  const pthread_t here = pthread_self();
  std::atomic<bool> ended = false;
  std::thread sender([&] {
    while (!ended) {
      pthread_kill(here, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
  for (int i = 0; i < 10000; ++i)
    stepOf(run);
  ended = true;
  sender.join();
  std::signal(SIGUSR1, before);
}

// The child has none of the parent's threads. It may open runs of its own, and its parent goes on.
TEST(C, ForksHaveNoHandles) {
  Folder folder;
  const Opened run(folder.options());
  const pid_t child = fork();
  if (child == 0) {
    const char *before = "the handle was made in another process, before a fork";
    int bad = dlc_run_train(run, nullptr) != DLC_NOT_ALIVE || std::strcmp(dlc_message(), before);
    bad |= (dlc_run_free(run) != DLC_NOT_ALIVE) << 1;
    bad |= (dlc_run_stop(run) != DLC_NOT_ALIVE) << 2;
    dlc_run *own = nullptr;
    const dlc_options options = folder.options();
    bad |= (dlc_run_open(&options, &own) != DLC_OK || dlc_run_train(own, nullptr) != DLC_OK) << 3;
    bad |= (dlc_run_train(run, nullptr) != DLC_NOT_ALIVE || std::strcmp(dlc_message(), before))
           << 4;
    bad |= (dlc_run_free(own) != DLC_OK) << 5;
    _exit(bad);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(dlc_run_train(run, nullptr), DLC_OK) << dlc_message();
}

TEST(C, MessagesBelongToThreads) {
  EXPECT_EQ(dlc_run_free(nullptr), DLC_NOT_ALIVE);
  std::thread([] {
    EXPECT_STREQ(dlc_message(), "");
    dlc_run *run = nullptr;
    EXPECT_EQ(dlc_run_open(nullptr, &run), DLC_INVALID_ARGUMENT);
    EXPECT_STREQ(dlc_message(), "dlc_options is NULL");
  }).join();
  EXPECT_STREQ(dlc_message(), "the handle is NULL");
  EXPECT_STREQ(dlc_version(), DLC_VERSION);
}

// Each thread has a run of its own, and all of them want one more, which one at a time has.
TEST(C, EightThreads) {
  Folder folder;
  dlc_run *shared = opened(folder.options());
  std::atomic<int> stepped = 0;
  std::vector<std::vector<std::byte>> weights(8);
  std::vector<std::thread> threads;
  for (std::vector<std::byte> &mine : weights)
    threads.emplace_back([&] {
      OwnBatch batch;
      for (int again = 0; again < 3; ++again) {
        const Opened run(folder.options());
        for (int i = 0; i < 20; ++i) {
          EXPECT_EQ(dlc_run_step(run, batch.arrays, 2), DLC_OK) << dlc_message();
          metric(run, DLC_REPORT_BATCH, "loss");
          const dlc_status status = dlc_run_step(shared, batch.arrays, 2);
          EXPECT_TRUE(status == DLC_OK || status == DLC_IN_USE) << dlc_message();
          stepped += status == DLC_OK;
          EXPECT_EQ(dlc_run_stop(shared), DLC_OK);
        }
        mine = weightsOf(run);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<std::byte> &each : weights)
    EXPECT_EQ(each, weights[0]);
  EXPECT_EQ(stepOf(shared), static_cast<uint64_t>(stepped.load()));
  // All of them free it: one does.
  std::atomic<int> freed = 0;
  threads.clear();
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { freed += dlc_run_free(shared) == DLC_OK; });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(freed, 1);
}

} // namespace
