// Threads, contexts and what a run of the hand-made model yields.
#include "dlc/context.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Device/CPU/ThreadPool.h"
#include "runtime/Device/Device.h"
#include "test/lib/SmallModel/SlowTransport.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

// Each task runs exactly once, whatever the number of threads, over many launches of changing size,
// and what a launch wrote is seen by the next.
TEST(ThreadPool, RunsEachTaskOnce) {
  for (unsigned threads : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(threads);
    std::vector<uint32_t> counts(100, 0);
    uint32_t launches = 0;
    for (uint32_t round = 0; round < 3000; ++round) {
      const uint32_t tasks = round * 7 % 101;
      pool.run(
          tasks,
          [](const void *context, uint32_t task, unsigned) {
            ++(*const_cast<std::vector<uint32_t> *>(
                static_cast<const std::vector<uint32_t> *>(context)))[task];
          },
          &counts);
      launches += tasks;
    }
    uint32_t total = 0;
    for (uint32_t count : counts)
      total += count;
    EXPECT_EQ(total, launches) << threads << " threads";
  }
}

// Thread numbers index scratch memory, so no two threads may share one at a time.
TEST(ThreadPool, NumbersThreads) {
  struct Shared {
    std::atomic<int> inside[3] = {};
    std::atomic<bool> clash{false};
  } shared;
  ThreadPool pool(3);
  EXPECT_EQ(pool.threads(), 3u);
  for (int round = 0; round < 500; ++round)
    pool.run(
        64,
        [](const void *context, uint32_t, unsigned thread) {
          auto &s = *const_cast<Shared *>(static_cast<const Shared *>(context));
          if (s.inside[thread].fetch_add(1) != 0)
            s.clash = true;
          s.inside[thread].fetch_sub(1);
        },
        &shared);
  EXPECT_FALSE(shared.clash);
}

struct Ready {
  TemporaryFolder folder;
  std::shared_ptr<const Module> module;

  Ready() {
    auto loaded = Module::load(writeSmallModule(folder));
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    module = loaded.take();
  }
  std::shared_ptr<State> state(unsigned threads = 1, uint64_t seed = 3) {
    return State::create(module, openCpu({.threads = threads}).take(), seed).take();
  }
};

/// A batch that differs from sample to sample.
struct Inputs {
  std::vector<float> image = std::vector<float>(8 * 16);
  std::vector<int32_t> label = std::vector<int32_t>(8);
  Inputs() {
    for (size_t i = 0; i < image.size(); ++i)
      image[i] = float(i * 37 % 101) / 101;
    for (size_t i = 0; i < label.size(); ++i)
      label[i] = int32_t(i % 4);
  }
  void bindTo(Context &context) {
    EXPECT_TRUE(context.bind(0, std::as_bytes(std::span(image))).ok());
    EXPECT_TRUE(context.bind(1, std::as_bytes(std::span(label))).ok());
  }
};

std::vector<std::byte> variablesOf(const State &state) {
  std::vector<std::byte> all;
  for (size_t i = 0; i < state.module()->plan().variables.size(); ++i) {
    std::vector<std::byte> one(state.module()->plan().variables[i].type.logicalBytes());
    EXPECT_TRUE(state.read(i, one).ok());
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

/// Variables after some steps.
std::vector<std::byte> trainedOn(Ready &ready, unsigned threads) {
  auto state = ready.state(threads);
  auto context = Context::create(state, "train_step").take();
  Inputs inputs;
  inputs.bindTo(*context);
  for (int i = 0; i < 50; ++i)
    EXPECT_TRUE(context->run().ok());
  return variablesOf(*state);
}

// A label outside of the classes is an error before anything has run; in padding it is none.
TEST(Exec, RefusesLabelsThatAreNoClass) {
  Ready ready;
  auto state = ready.state();
  auto step = Context::create(state, "train_step").take();
  Inputs inputs;
  inputs.bindTo(*step);
  const auto before = variablesOf(*state);
  for (int32_t label : {4, -1}) {
    inputs.label[5] = label;
    const Status status = step->run();
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_EQ(status.message(), "entry 'train_step': sample 5 of input 'label' is " +
                                    std::to_string(label) + ", its classes are 0 to 3");
  }
  EXPECT_EQ(variablesOf(*state), before);
  auto evaluation = Context::create(state, "evaluate").take();
  inputs.bindTo(*evaluation);
  int32_t valid = 5;
  ASSERT_TRUE(evaluation->bind(2, std::as_bytes(std::span(&valid, 1))).ok());
  EXPECT_TRUE(evaluation->run().ok());
  valid = 6;
  EXPECT_FALSE(evaluation->run().ok());
}

// What a watcher makes of a result is what later records read.
TEST(Exec, LetsAWatcherChangeResults) {
  Ready ready;
  auto context = Context::create(ready.state(), "train_step").take();
  Inputs inputs;
  inputs.bindTo(*context);
  Trace trace;
  trace.onWrite = [&](uint32_t record, const dlc_argument &argument, std::span<std::byte> written) {
    EXPECT_EQ(argument.dtype, uint32_t(DLC_F32));
    const bool isLogits = ready.module->plan().recordNames[record] == "linear1/forward";
    if (isLogits)
      std::ranges::fill(written, std::byte(0));
    return isLogits;
  };
  ASSERT_TRUE(context->run(&trace).ok());
  // Equal logits of four classes; the kernel's logarithm is good to about 3e-5.
  EXPECT_NEAR(context->metric(0)->number, std::log(4.0), 1e-4);
}

// The same bits with 1, 2 and 3 threads, and in two runs.
TEST(Exec, SameBitsForAnyNumberOfThreads) {
  Ready ready;
  const auto expected = trainedOn(ready, 1);
  for (unsigned threads : {1u, 2u, 3u})
    EXPECT_EQ(trainedOn(ready, threads), expected) << threads << " threads";
}

// The loss of a step, its gradient and the update belong together: parameter moves against the
// gradient by the rate.
TEST(Exec, RunsATrainingStep) {
  Ready ready;
  auto state = ready.state();
  auto context = Context::create(state, "train_step").take();
  Inputs inputs;
  inputs.bindTo(*context);
  std::vector<float> before(64), after(64), gradient(64);
  ASSERT_TRUE(state->read(0, std::as_writable_bytes(std::span(before))).ok());
  ASSERT_TRUE(context->run().ok());
  const double loss = context->metric(0)->number;
  EXPECT_NEAR(loss, std::log(4.0), 0.5); // chance, nearly
  ASSERT_TRUE(state->read(0, std::as_writable_bytes(std::span(after))).ok());
  const int number = context->findOutput("gradient.linear1.weight");
  ASSERT_TRUE(context->read(size_t(number), std::as_writable_bytes(std::span(gradient))).ok());
  for (size_t i = 0; i < 64; ++i)
    EXPECT_NEAR(after[i], before[i] - 0.1f * gradient[i], 1e-6);
  ASSERT_TRUE(context->setScalar("optimizer.learning_rate", 0).ok());
  ASSERT_TRUE(context->run().ok());
  EXPECT_LT(context->metric(0)->number, loss);
  std::vector<float> still(64);
  ASSERT_TRUE(state->read(0, std::as_writable_bytes(std::span(still))).ok());
  EXPECT_EQ(still, after);
}

/// The small model with `change` made to its plan, as a module in `folder`.
std::shared_ptr<const Module> changedModel(TemporaryFolder &folder,
                                           const std::function<void(PlanBuilder &)> &change) {
  PlanBuilder plan = smallModel();
  change(plan);
  writeFile(folder.path("changed.so"), moduleWith(plan.blob()));
  auto module = Module::load(folder.path("changed.so"));
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.take();
}

/// Learning rates by a schedule of these parts.
std::function<void(PlanBuilder &)> scheduledBy(std::vector<dlc_schedule_part> parts) {
  return [parts](PlanBuilder &plan) {
    plan.scalars[0].scheduled = 1;
    plan.schedule = parts;
    plan.steps[0].schedule = {0, static_cast<uint32_t>(parts.size())};
  };
}

constexpr dlc_schedule_part halving = {DLC_SCHEDULE_STEP, 0, 0, 2, 0.5, 0, 0, {}};

std::shared_ptr<State> stateOf(std::shared_ptr<const Module> module) {
  return State::create(std::move(module), openCpu({.threads = 1}).take(), 3).take();
}

/// Variables after six runs of train_step in contexts of three runs each; `before` hears of each.
std::vector<std::byte> trainedBy(const std::shared_ptr<State> &state,
                                 const std::function<void(Context &, int run)> &before) {
  Inputs inputs;
  for (int run = 0; run < 6; run += 3) {
    auto context = Context::create(state, "train_step").take();
    inputs.bindTo(*context);
    for (int i = run; i < run + 3; ++i) {
      before(*context, i);
      EXPECT_TRUE(context->run().ok());
    }
  }
  return variablesOf(*state);
}

// A run that trains goes by the runs before it, in whatever context they were: the number of its
// update, and the schedule's rate. What a caller sets stays.
TEST(Exec, CountsRunsThatTrain) {
  TemporaryFolder folder;
  auto module = changedModel(folder, scheduledBy({halving}));
  auto nothing = [](Context &, int) {};
  auto state = stateOf(module);
  const auto counted = trainedBy(state, nothing);
  EXPECT_EQ(state->step(), 6u);
  EXPECT_EQ(state->runs(0), 6u);
  EXPECT_EQ(state->runs(1), 0u);
  EXPECT_EQ(
      trainedBy(stateOf(module),
                [](Context &context, int run) {
                  EXPECT_TRUE(context.setScalar("step", run).ok());
                  EXPECT_TRUE(
                      context.setScalar("optimizer.learning_rate", 0.1 / (1 << run / 2)).ok());
                }),
      counted);
  for (const char *scalar : {"step", "optimizer.learning_rate"})
    EXPECT_NE(trainedBy(stateOf(module),
                        [&](Context &context, int run) {
                          if (run % 3 == 0)
                            EXPECT_TRUE(context.setScalar(scalar, 0.1).ok());
                        }),
              counted)
        << scalar;
  // As if six had been before.
  auto later = stateOf(module);
  later->setStep(6);
  EXPECT_NE(trainedBy(later, nothing), counted);
  EXPECT_EQ(later->step(), 12u);
  EXPECT_EQ(later->clone().take()->step(), 12u);
}

// An entry that runs on each third batch counts its own runs.
TEST(Exec, CountsRunsOfAStepThatIsSeldom) {
  TemporaryFolder folder;
  auto state = stateOf(changedModel(folder, [](PlanBuilder &plan) { plan.steps[0].every = 3; }));
  state->setStep(13);
  EXPECT_EQ(state->runs(0), 4u);
  EXPECT_EQ(state->step(), 12u);
}

// What a context cannot know it asks for, before anything has run.
TEST(Exec, AsksForWhatAScheduleNeeds) {
  TemporaryFolder folder;
  dlc_schedule_part epochs = halving;
  epochs.in_epochs = 1;
  epochs.n = 1;
  auto state = stateOf(changedModel(folder, scheduledBy({epochs})));
  auto context = Context::create(state, "train_step").take();
  Inputs inputs;
  inputs.bindTo(*context);
  const auto before = variablesOf(*state);
  EXPECT_EQ(context->run().message(), "entry 'train_step': its schedule counts epochs: setEpoch() "
                                      "says how many batches one has");
  EXPECT_EQ(variablesOf(*state), before);
  EXPECT_EQ(state->step(), 0u);
  const auto byHand =
      trainedBy(stateOf(changedModel(folder, scheduledBy({halving}))), [](Context &, int) {});
  EXPECT_EQ(trainedBy(state, [](Context &context, int) { context.setEpoch(2); }), byHand);

  auto waiting = stateOf(changedModel(folder, [](PlanBuilder &plan) {
    scheduledBy({{DLC_SCHEDULE_PLATEAU, 1, 0, 1, 0.1, 10, 0, plan.text("loss")}})(plan);
  }));
  context = Context::create(waiting, "train_step").take();
  inputs.bindTo(*context);
  EXPECT_EQ(context->run().message(),
            "entry 'train_step': its schedule waits for evaluations, of which a Context knows "
            "nothing: give it the learning rates of each run by setScalar()");
  EXPECT_TRUE(context->setScalar("optimizer.learning_rate", 0.1).ok());
  EXPECT_TRUE(context->run().ok());
}

// Numbers that are to be finite behind a run: the parameter that is not says whose gradient was
// not.
TEST(Exec, FailsWhereACheckIsNotFinite) {
  TemporaryFolder folder;
  auto state = stateOf(changedModel(folder, [](PlanBuilder &plan) {
    for (dlc_value &value : plan.values)
      if (value.kind == DLC_VALUE_GRADIENT && value.of == 0) {
        value.kind = DLC_VALUE_CHECK;
        value.of = DLC_NONE;
      }
  }));
  auto context = Context::create(state, "train_step").take();
  Inputs inputs;
  inputs.bindTo(*context);
  EXPECT_TRUE(context->run().ok());
  inputs.image[5] = INFINITY;
  Status status = context->run();
  EXPECT_EQ(status.code(), StatusCode::Failed);
  EXPECT_EQ(status.message(), "entry 'train_step': the gradient of 'linear1.weight' is not finite, "
                              "so it cannot be clipped");
  EXPECT_TRUE(context->metric(0).ok());
}

// Memory that is not aligned gives the same result through a copy.
TEST(Exec, TakesUnalignedInputs) {
  Ready ready;
  auto state = ready.state();
  auto context = Context::create(state, "infer_n1").take();
  alignas(64) float aligned[17] = {};
  for (int i = 0; i < 17; ++i)
    aligned[i] = float(i);
  float first[4], second[4];
  auto runOn = [&](const float *image, float *out) {
    ASSERT_TRUE(context->bind(0, std::as_bytes(std::span(image, 16))).ok());
    ASSERT_TRUE(context->run().ok());
    ASSERT_TRUE(context->read(0, std::as_writable_bytes(std::span(out, 4))).ok());
  };
  runOn(aligned, first);
  std::memmove(aligned + 1, aligned, 64);
  runOn(aligned + 1, second);
  EXPECT_EQ(std::memcmp(first, second, sizeof(first)), 0);
}

// Without a count of its own, evaluation takes the whole batch; with one, the samples behind it do
// not matter.
TEST(Exec, CountsValidSamples) {
  Ready ready;
  auto context = Context::create(ready.state(), "evaluate").take();
  Inputs inputs;
  inputs.bindTo(*context);
  ASSERT_TRUE(context->run().ok());
  const double all = context->metric(0)->number;
  const int32_t valid = 3;
  ASSERT_TRUE(context->bind(2, std::as_bytes(std::span(&valid, 1))).ok());
  ASSERT_TRUE(context->run().ok());
  const double some = context->metric(0)->number;
  EXPECT_NE(some, all);
  inputs.image[5 * 16] = 1000;
  ASSERT_TRUE(context->run().ok());
  EXPECT_EQ(context->metric(0)->number, some);
}

TEST(Exec, ClonesShareNothing) {
  Ready ready;
  auto state = ready.state();
  auto copy = state->clone().take();
  const auto before = variablesOf(*state);
  EXPECT_EQ(variablesOf(*copy), before);
  auto context = Context::create(copy, "train_step").take();
  Inputs inputs;
  inputs.bindTo(*context);
  ASSERT_TRUE(context->run().ok());
  EXPECT_NE(variablesOf(*copy), before);
  EXPECT_EQ(variablesOf(*state), before);
}

TEST(Exec, TimesEachRecord) {
  Ready ready;
  auto context = Context::create(ready.state(), "train_step").take();
  Inputs inputs;
  inputs.bindTo(*context);
  Trace trace;
  ASSERT_TRUE(context->run(&trace).ok());
  ASSERT_EQ(trace.seconds.size(), 7u);
  for (double seconds : trace.seconds)
    EXPECT_GE(seconds, 0);
}

// Each launch of a run lies in it, one behind the other, with the time of no other run; without a
// timeline nothing is noted.
TEST(Exec, NotesWhatRunsWhen) {
  Ready ready;
  auto context = Context::create(ready.state(), "train_step").take();
  Inputs inputs;
  inputs.bindTo(*context);
  Timeline timeline;
  timeline.setStep(4);
  const int64_t before = steadyNanoseconds();
  context->setTimeline(&timeline);
  ASSERT_TRUE(context->run().ok());
  context->setTimeline(nullptr);
  const int64_t after = steadyNanoseconds();
  ASSERT_TRUE(context->run().ok());
  ASSERT_EQ(timeline.spans().size(), 8u);
  const Span run = timeline.spans().back();
  EXPECT_EQ(run.kind, SpanKind::Run);
  EXPECT_EQ(ready.module->plan().entries[run.number].name, "train_step");
  EXPECT_GE(run.begin, before);
  EXPECT_LE(run.end, after);
  int64_t last = run.begin;
  for (uint32_t i = 0; i < 7; ++i) {
    const Span &kernel = timeline.spans()[i];
    EXPECT_EQ(kernel.kind, SpanKind::Kernel);
    EXPECT_EQ(kernel.number, context->entry().records.first + i);
    EXPECT_EQ(kernel.step, 4u);
    EXPECT_LE(last, kernel.begin);
    EXPECT_LE(kernel.begin, kernel.end);
    last = kernel.end;
  }
  EXPECT_LE(last, run.end);
}

TEST(Exec, SaysWhatIsWrong) {
  Ready ready;
  auto state = ready.state();
  auto unknown = Context::create(state, "train");
  EXPECT_EQ(unknown.status().message(),
            ready.module->path() + ": no entry 'train'; there are: train_step, evaluate, infer_n1");
  auto context = Context::create(state, "train_step").take();
  EXPECT_EQ(context->run().message(), "entry 'train_step': input 'image' is not bound");
  std::vector<float> shorter(3);
  EXPECT_EQ(context->bind(0, std::as_bytes(std::span(shorter))).message(),
            "entry 'train_step': 'image' is f32[8, 1, 4, 4], 512 bytes, found 12");
  EXPECT_EQ(context->bind(9, {}).message(), "entry 'train_step': input 9 of 2");
  EXPECT_EQ(context->setScalar("rate", 1).message(), ready.module->path() + ": no scalar 'rate'");
  EXPECT_EQ(state->write(0, {}).message(),
            "variable 'linear1.weight' is f32[4, 16], 256 bytes, found 0");
  const std::string none = ready.module->path() + ": variable 5 of 5";
  EXPECT_EQ(state->read(5, {}).message(), none);
  EXPECT_EQ(state->write(5, {}).message(), none);
  EXPECT_EQ(state->initialise(5).message(), none);
  EXPECT_FALSE(state->isFresh(5));
  EXPECT_EQ(context->metric(2).status().message(), "entry 'train_step': metric 2 of 2");
  EXPECT_FALSE(openCpu({.threads = 100000}).ok());
}

/// The small model with its scalar 'step' an i32, which inference hands out.
std::shared_ptr<const Module> countingModel(TemporaryFolder &folder) {
  PlanBuilder plan = smallModel();
  plan.scalars[1].dtype = DLC_I32;
  dlc_value &output = plan.values.back();
  output.type = PlanBuilder::type(DLC_I32, {});
  output.batch_axis = DLC_NONE;
  output.location = plan.ofScalar(1);
  const std::string path = folder.path("counting.so");
  writeFile(path, moduleWith(plan.blob()));
  auto module = Module::load(path);
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.take();
}

// An integer is exact, where an f32 would be rounded; what is none is refused.
TEST(Exec, WritesIntegerScalars) {
  TemporaryFolder folder;
  auto module = countingModel(folder);
  auto state = State::create(module, openCpu({.threads = 1}).take(), 0).take();
  auto context = Context::create(state, "infer_n1").take();
  std::vector<float> image(16);
  EXPECT_TRUE(context->bind(0, std::as_bytes(std::span(image))).ok());
  EXPECT_TRUE(context->setScalar("step", 16777217).ok());
  ASSERT_TRUE(context->run().ok());
  int32_t found = 0;
  EXPECT_TRUE(context->read(0, std::as_writable_bytes(std::span(&found, 1))).ok());
  EXPECT_EQ(found, 16777217);
  const std::string wrong = module->path() + ": scalar 'step' is an i32, which ";
  EXPECT_EQ(context->setScalar("step", 0.5).message(), wrong + "0.5 is not");
  EXPECT_EQ(context->setScalar("step", 4e9).message(), wrong + "4e+09 is not");
}

/// The small model with its first record changed; the message of making a context.
std::string refusal(const std::function<void(PlanBuilder &)> &change) {
  TemporaryFolder folder;
  PlanBuilder plan = smallModel();
  change(plan);
  const std::string path = folder.path("x.so");
  writeFile(path, moduleWith(plan.blob()));
  auto module = Module::load(path);
  EXPECT_TRUE(module.ok()) << module.status().message();
  auto state = State::create(module.take(), openCpu({.threads = 1}).take(), 0).take();
  auto context = Context::create(state, "train_step");
  return std::string(context.status().message()).substr(path.size() + 2);
}

// Plans for other devices load, so that they can be inspected, but do not run on the CPU.
TEST(Exec, RefusesRecordsOfOtherDevices) {
  EXPECT_EQ(refusal([](PlanBuilder &plan) {
              dlc_library_call call = {};
              call.op = DLC_CALL_PRODUCT;
              call.sizes[0] = call.sizes[1] = call.sizes[2] = call.sizes[3] = 1;
              plan.calls.push_back(call);
              dlc_record &record = plan.records[0];
              record.kind = DLC_RECORD_LIBRARY;
              record.index = 0;
              record.arguments.count = 3;
              record.immediates.count = 0;
              plan.arguments[record.arguments.first].space = DLC_SPACE_ARENA;
              plan.arguments[record.arguments.first].access = DLC_WRITE;
            }),
            "entry 'train_step': record 0 'linear1/forward' is a library call, "
            "which the cpu does not run");
}

// A collective is started where its record stands and waited for where its event is; a step with
// two ranks that have the same samples is a step with one. What fails it, fails the run.
TEST(Exec, RunsCollectivesBesideTheStep) {
  TemporaryFolder folder;
  auto train = [&](const PlanBuilder &plan, std::shared_ptr<Transport> ranks, double scale) {
    writeFile(folder.path("x.so"), moduleWith(plan.blob()));
    auto device = openCpu({.threads = 1}).take();
    if (ranks)
      device->join(ranks);
    auto state = State::create(Module::load(folder.path("x.so")).take(), device, 3).take();
    auto context = Context::create(state, "train_step").take();
    if (ranks)
      EXPECT_TRUE(context->setScalar("ranks.scale", scale).ok());
    Inputs inputs;
    inputs.bindTo(*context);
    for (int i = 0; i < 3; ++i)
      if (Status status = context->run(); !status.ok())
        return std::pair(std::string(status.message()), variablesOf(*state));
    return std::pair(std::string(), variablesOf(*state));
  };
  const auto alone = train(smallModel(), nullptr, 1);
  EXPECT_EQ(train(smallParallelModel(), nullptr, 1), alone);
  auto two = std::make_shared<SlowTransport>();
  EXPECT_EQ(train(smallParallelModel(), two, 0.5), alone);
  EXPECT_EQ(two->log, "start wait start wait start wait ");

  // Without the wait for its event it ends with the run, after the update.
  PlanBuilder plan = smallParallelModel();
  for (dlc_record &record : plan.records)
    if (record.kind == DLC_RECORD_WAIT_EVENT && record.index == 1)
      record.kind = DLC_RECORD_RECORD_EVENT;
  auto late = std::make_shared<SlowTransport>();
  EXPECT_NE(train(plan, late, 0.5), alone);
  EXPECT_EQ(late->log, "start wait start wait start wait ");

  auto broken = std::make_shared<SlowTransport>();
  broken->failure = "rank 1 ended in step 2";
  EXPECT_EQ(train(smallParallelModel(), broken, 0.5).first,
            "entry 'train_step': rank 1 ended in step 2");
}

/// The small model with derived variables that count how often they were made, and entries without
/// inputs that read them: `a` the first, `b` the second by a result, `both` both. The first is made
/// of the weight, the second of a buffer that is made of the third, and that of the bias. `own`
/// trains: it reads the first, and writes it beside the weight.
struct Derived {
  PlanBuilder plan = smallModel();
  std::vector<uint32_t> numbers;
  TemporaryFolder folder;
  std::shared_ptr<State> state;

  Derived() {
    const dlc_type number = PlanBuilder::type(DLC_I32, {});
    for (const char *name : {"first", "second", "third"})
      numbers.push_back(plan.variable(name, number, DLC_ROLE_DERIVED, DLC_INIT_CONSTANT, 0, 0));
    const uint32_t count = 5, touch = plan.kernel("touch", 11, 2, 0);
    auto variable = [&](unsigned i) { return plan.ofVariable(numbers[i]); };
    plan.beginEntry("prepare", DLC_ENTRY_PREPARE, 0);
    const dlc_argument buffer = plan.arena(sizeof(int32_t));
    plan.launch("first/use", touch, 1, {plan.ofVariable(0), writing(variable(0))}, {});
    plan.launch("first/prepare", count, 1, {updating(variable(0))}, {});
    plan.launch("third/use", touch, 1, {plan.ofVariable(1), writing(variable(2))}, {});
    plan.launch("third/prepare", count, 1, {updating(variable(2))}, {});
    plan.launch("buffer/prepare", touch, 1, {variable(2), writing(buffer)}, {});
    plan.launch("second/use", touch, 1, {buffer, writing(variable(1))}, {});
    plan.launch("second/prepare", count, 1, {updating(variable(1))}, {});
    plan.endEntry();
    plan.beginEntry("a", DLC_ENTRY_INFER, 0);
    plan.launch("a", touch, 1, {variable(0), variable(0)}, {});
    plan.endEntry();
    plan.beginEntry("b", DLC_ENTRY_EVALUATE, 0);
    plan.output("second", number, DLC_VALUE_RESULT, variable(1));
    plan.endEntry();
    plan.beginEntry("both", DLC_ENTRY_INFER, 0);
    plan.launch("both", touch, 1, {variable(0), variable(1)}, {});
    plan.endEntry();
    plan.beginEntry("own", DLC_ENTRY_ACCUMULATE, 0);
    plan.launch("own/read", touch, 1, {variable(0), variable(0)}, {});
    plan.launch("own/update", touch, 1, {writing(plan.ofVariable(0)), writing(variable(0))}, {});
    plan.endEntry();
    writeFile(folder.path("x.so"), moduleWith(plan.blob()));
    auto module = Module::load(folder.path("x.so"));
    EXPECT_TRUE(module.ok()) << module.status().message();
    state = State::create(module.take(), openCpu({.threads = 1}).take(), 0).take();
  }
  static std::vector<int32_t> made(const State &state, const std::vector<uint32_t> &numbers) {
    std::vector<int32_t> counts;
    for (uint32_t number : numbers) {
      int32_t count = -1;
      EXPECT_TRUE(state.read(number, std::as_writable_bytes(std::span(&count, 1))).ok());
      counts.push_back(count);
    }
    return counts;
  }
  std::vector<int32_t> made() const { return made(*state, numbers); }
};

// An entry makes those derived variables that it reads, and what they are made of, before its first
// run and after a write from outside; of others it leaves those that it does not read.
TEST(Exec, PreparesTheDerivedVariablesOfAnEntry) {
  using Counts = std::vector<int32_t>;
  Derived derived;
  auto a = Context::create(derived.state, "a").take(),
       b = Context::create(derived.state, "b").take(),
       both = Context::create(derived.state, "both").take();
  ASSERT_TRUE(a->run().ok() && a->run().ok());
  EXPECT_EQ(derived.made(), (Counts{1, 0, 0}));
  ASSERT_TRUE(b->run().ok() && b->run().ok());
  EXPECT_EQ(derived.made(), (Counts{1, 1, 1}));
  ASSERT_TRUE(both->run().ok());
  EXPECT_EQ(derived.made(), (Counts{1, 1, 1}));

  std::vector<float> bias(4);
  ASSERT_TRUE(derived.state->write(1, std::as_bytes(std::span(bias))).ok());
  ASSERT_TRUE(b->run().ok());
  EXPECT_EQ(derived.made(), (Counts{1, 2, 2}));
  ASSERT_TRUE(both->run().ok() && a->run().ok());
  EXPECT_EQ(derived.made(), (Counts{2, 3, 3}));

  // Training reads none of them, and leaves them stale.
  auto step = Context::create(derived.state, "train_step").take();
  Inputs inputs;
  inputs.bindTo(*step);
  ASSERT_TRUE(step->run().ok());
  EXPECT_EQ(derived.made(), (Counts{2, 3, 3}));
  ASSERT_TRUE(a->run().ok());
  EXPECT_EQ(derived.made(), (Counts{3, 3, 3}));

  // A step that writes one beside what it is made of leaves it fresh, and those that are made of
  // what it does not write; it has made what it reads itself before.
  auto own = Context::create(derived.state, "own").take();
  ASSERT_TRUE(both->run().ok());
  EXPECT_EQ(derived.made(), (Counts{4, 4, 4}));
  ASSERT_TRUE(own->run().ok() && own->run().ok() && both->run().ok());
  EXPECT_EQ(derived.made(), (Counts{4, 4, 4}));
  ASSERT_TRUE(step->run().ok() && own->run().ok());
  EXPECT_EQ(derived.made(), (Counts{5, 4, 4}));
  ASSERT_TRUE(step->run().ok() && a->run().ok());
  EXPECT_EQ(derived.made(), (Counts{6, 4, 4}));

  // A copy takes those that are made, and knows the others for stale.
  auto copy = derived.state->clone().take();
  ASSERT_TRUE(Context::create(copy, "a").take()->run().ok());
  EXPECT_EQ(Derived::made(*copy, derived.numbers), (Counts{6, 0, 0}));
  ASSERT_TRUE(Context::create(copy, "both").take()->run().ok());
  EXPECT_EQ(Derived::made(*copy, derived.numbers), (Counts{7, 1, 1}));
}

} // namespace
