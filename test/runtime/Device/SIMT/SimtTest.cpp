// The SIMT device: that it computes what the CPU does, in many orders, and that it sees the errors
// it is there for.
#include "dlc/context.h"
#include "runtime/Device/SIMT/Schedule.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <set>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

constexpr uint64_t seeds = 20;

/// Variables after three steps, or what went wrong.
struct Outcome {
  std::string message;
  std::vector<float> values;
  bool operator==(const Outcome &) const = default;
};

Outcome train(const PlanBuilder &plan, uint32_t targets, std::shared_ptr<Device> device) {
  TemporaryFolder folder;
  const std::string path = folder.path("x.so");
  writeFile(path, moduleWith(plan.blob(), {.targets = targets}));
  auto module = Module::load(path);
  if (!module.ok())
    return {std::string(module.status().message()), {}};
  auto state = State::create(*module, std::move(device), 3).take();
  auto context = Context::create(state, "train_step");
  if (!context.ok())
    return {std::string(context.status().message()), {}};
  std::vector<float> image(8 * 16);
  std::vector<int32_t> label(8);
  for (size_t i = 0; i < image.size(); ++i)
    image[i] = float(i * 37 % 101) / 101;
  for (size_t i = 0; i < label.size(); ++i)
    label[i] = int32_t(i % 4);
  EXPECT_TRUE((*context)->bind(0, std::as_bytes(std::span(image))).ok());
  EXPECT_TRUE((*context)->bind(1, std::as_bytes(std::span(label))).ok());
  Outcome outcome;
  for (int step = 0; step < 3; ++step)
    if (Status ran = (*context)->run(); !ran.ok())
      return {std::string(ran.message()), {}};
  for (size_t i = 0; i < 4; ++i) {
    std::vector<float> one((*module)->plan().variables[i].type.elementCount());
    EXPECT_TRUE(state->read(i, std::as_writable_bytes(std::span(one))).ok());
    outcome.values.insert(outcome.values.end(), one.begin(), one.end());
  }
  return outcome;
}

Outcome trainOnSimt(const PlanBuilder &plan, uint64_t seed, unsigned threads = 1) {
  return train(plan, simtTargets, openSimt({.threads = threads, .seed = seed}).take());
}

Outcome expected() {
  return train(smallModel(), 1u << DLC_TARGET_CPU, openCpu({.threads = 1}).take());
}

/// Seeds under which a plan gives anything but the right values.
unsigned seedsThatSee(const PlanBuilder &plan) {
  const Outcome right = expected();
  unsigned count = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed)
    count += trainOnSimt(plan, seed) != right;
  return count;
}

// The same kernels give the same bits on both devices, under every seed, for any number of threads.
TEST(Simt, ComputesWhatTheCpuDoes) {
  const Outcome right = expected();
  ASSERT_EQ(right.message, "");
  for (uint64_t seed = 0; seed < seeds; ++seed)
    EXPECT_EQ(trainOnSimt(smallSimtModel(), seed), right) << "seed " << seed;
  EXPECT_EQ(trainOnSimt(smallSimtModel(), 1, 3), right);
}

size_t findRecord(const PlanBuilder &plan, uint32_t kind) {
  return size_t(std::find_if(plan.records.begin(), plan.records.end(),
                             [&](const dlc_record &r) { return r.kind == kind; }) -
                plan.records.begin());
}

/// Makes a record of the training step do nothing.
void silence(PlanBuilder &plan, size_t record) {
  plan.records[record].kind = DLC_RECORD_RECORD_EVENT;
  plan.records[record].index = 0;
  plan.records[record].arguments.count = plan.records[record].immediates.count = 0;
}

// Without its event, the bias on the second stream may be updated before its gradient is there.
TEST(Simt, SeesAMissingEvent) {
  PlanBuilder plan = smallSimtModel();
  silence(plan, findRecord(plan, DLC_RECORD_WAIT_EVENT));
  const unsigned seen = seedsThatSee(plan);
  EXPECT_GT(seen, 0u);
  EXPECT_LT(seen, seeds) << "some order hides it: that is why there are seeds";
}

// The gradients of weight and bias in one place: the second overwrites a part of the first.
TEST(Simt, SeesAnOverlapInMemory) {
  PlanBuilder plan = smallSimtModel();
  for (size_t record = 3; record < 9; ++record) {
    dlc_argument *arguments = plan.arguments.data() + plan.records[record].arguments.first;
    for (uint32_t i = 0; i < plan.records[record].arguments.count; ++i)
      if (arguments[i].space == DLC_SPACE_ARENA && arguments[i].bytes == 4 * sizeof(float))
        arguments[i].offset -= 64;
  }
  EXPECT_GT(seedsThatSee(plan), 0u);
}

// The second stream fills the gradient that the first one updates from, without an order between
// the two. In table order nothing shows.
TEST(Simt, SeesAnOverlapBetweenStreams) {
  PlanBuilder plan = smallSimtModel();
  const size_t wait = findRecord(plan, DLC_RECORD_WAIT_EVENT);
  dlc_argument gradient = plan.arguments[plan.records[wait - 1].arguments.first + 2];
  ASSERT_EQ(gradient.space, uint32_t(DLC_SPACE_ARENA));
  ASSERT_EQ(gradient.bytes, 64 * sizeof(float));
  dlc_record &record = plan.records[wait + 1];
  record.kind = DLC_RECORD_FILL;
  record.arguments = {uint32_t(plan.arguments.size()), 1};
  record.immediates.count = 0;
  plan.arguments.push_back(writing(gradient));
  std::set<std::vector<float>> outcomes;
  for (uint64_t seed = 0; seed < seeds; ++seed)
    outcomes.insert(trainOnSimt(plan, seed).values);
  EXPECT_GT(outcomes.size(), 1u);
}

// What no record has written is garbage, and different garbage in different runs.
TEST(Simt, SeesAnUninitialisedRead) {
  PlanBuilder plan = smallSimtModel();
  ASSERT_EQ(plan.records[1].index, 1u); // cross_entropy
  silence(plan, 1);
  EXPECT_EQ(seedsThatSee(plan), seeds);
}

/// The small model with a last launch that stores four floats, `stride` apart, into a buffer.
PlanBuilder withStore(uint64_t stride) {
  PlanBuilder plan;
  plan.target = DLC_TARGET_CUDA;
  const uint32_t kernel = plan.kernel("store", 6, 1, 1, 32768);
  plan.variable("v", PlanBuilder::type(DLC_F32, {4}), DLC_ROLE_PARAMETER, DLC_INIT_CONSTANT, 0, 0);
  plan.beginEntry("train_step", DLC_ENTRY_TRAIN, 0);
  plan.launch("layer7/forward", kernel, 4, {writing(plan.ofVariable(0))}, {stride});
  plan.endEntry();
  return plan;
}

/// Runs it; the message without the file's name, or how many ones were stored.
std::string runStore(uint64_t stride, unsigned threads, uint64_t seed) {
  TemporaryFolder folder;
  const std::string path = folder.path("x.so");
  writeFile(path, moduleWith(withStore(stride).blob(), {.targets = simtTargets}));
  auto module = Module::load(path).take();
  auto state = State::create(module, openSimt({.threads = threads, .seed = seed}).take(), 0).take();
  auto context = Context::create(state, "train_step").take();
  for (int again = 0; again < 3; ++again) // A context whose run failed may run again.
    if (Status ran = context->run(); !ran.ok() && again == 2)
      return std::string(ran.message());
  float values[4];
  EXPECT_TRUE(state->read(0, std::as_writable_bytes(std::span(values))).ok());
  return std::to_string(std::count(values, values + 4, 1.0f));
}

// A kernel that finds an access outside of a buffer ends the run from the stack of its fiber, with
// one line that says where.
TEST(Simt, ReportsWhereAKernelFailed) {
  EXPECT_EQ(runStore(1, 1, 0), "4");
  std::set<std::string> messages;
  for (uint64_t seed = 0; seed < seeds; ++seed)
    messages.insert(runStore(2, seed % 2 ? 2 : 1, seed));
  // Blocks 2 and 3 are outside; which one comes first depends on the seed.
  EXPECT_EQ(messages, (std::set<std::string>{
                          "entry 'train_step': 'layer7/forward', kernel store, block 2, thread 5, "
                          "small.cuh:42: writes outside of buffer 0",
                          "entry 'train_step': 'layer7/forward', kernel store, block 3, thread 5, "
                          "small.cuh:42: writes outside of buffer 0"}));
}

/// The kernels of SmallModelSimt.cpp.
enum Reverse : uint32_t { right = 7, withoutBarrier, writingOutside, withDivergentBarrier };

/// Reverses three rows; "right", "wrong", or the message.
std::string runReverse(Reverse function, uint64_t seed) {
  constexpr uint64_t blocks = 3, count = blocks * 64;
  PlanBuilder plan;
  plan.target = DLC_TARGET_CUDA;
  // More than 64 stacks of the shim and its shared memory take.
  const uint32_t kernel = plan.kernel("reverse", function, 2, 0, 8 << 20);
  plan.kernels[kernel].threads = 64;
  const dlc_type type = PlanBuilder::type(DLC_F32, {blocks, 64});
  plan.variable("in", type, DLC_ROLE_PARAMETER, DLC_INIT_UNIFORM, 0, 1);
  plan.variable("out", type, DLC_ROLE_PARAMETER, DLC_INIT_CONSTANT, 0, 0);
  plan.beginEntry("train_step", DLC_ENTRY_TRAIN, 0);
  plan.launch("rows", kernel, blocks, {plan.ofVariable(0), writing(plan.ofVariable(1))}, {});
  plan.endEntry();
  TemporaryFolder folder;
  const std::string path = folder.path("x.so");
  writeFile(path, moduleWith(plan.blob(), {.targets = simtTargets}));
  auto state =
      State::create(Module::load(path).take(), openSimt({.threads = 1, .seed = seed}).take(), 0)
          .take();
  auto context = Context::create(state, "train_step").take();
  if (Status ran = context->run(); !ran.ok())
    return std::string(ran.message());
  std::vector<float> in(count), out(count);
  EXPECT_TRUE(state->read(0, std::as_writable_bytes(std::span(in))).ok());
  EXPECT_TRUE(state->read(1, std::as_writable_bytes(std::span(out))).ok());
  for (size_t i = 0; i < count; ++i)
    if (out[i] != in[i / 64 * 64 + 63 - i % 64])
      return "wrong";
  return "right";
}

// CUDA text on the compiler's shim: a removed __syncthreads gives wrong values under most seeds.
TEST(Simt, SeesAMissingBarrier) {
  unsigned wrong = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    EXPECT_EQ(runReverse(right, seed), "right") << "seed " << seed;
    wrong += runReverse(withoutBarrier, seed) == "wrong";
  }
  EXPECT_GT(wrong, 0u);
}

// A barrier that some threads of a block pass by is reported, with the line where the others wait.
TEST(Simt, SeesADivergentBarrier) {
  const std::string message = runReverse(withDivergentBarrier, 0);
  EXPECT_TRUE(message.starts_with("entry 'train_step': 'rows', kernel reverse, block ")) << message;
  EXPECT_NE(message.find("SmallModelSimt.cpp:21: divergent barrier"), std::string::npos) << message;
}

// A write outside of a buffer: the last thread of the last block.
TEST(Simt, SeesAWriteOutsideOfABuffer) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    const std::string message = runReverse(writingOutside, seed);
    EXPECT_TRUE(
        message.starts_with("entry 'train_step': 'rows', kernel reverse, block 2, thread 63, "))
        << message;
    EXPECT_NE(message.find("SmallModelSimt.cpp:22: "), std::string::npos) << message;
    EXPECT_NE(message.find("of element 192 of buffer 1, which has 192"), std::string::npos)
        << message;
  }
}

// A sum over one rank changes nothing, in any order of its stream and the others.
TEST(Simt, SumsOverRanks) {
  const Outcome right = expected();
  for (uint64_t seed = 0; seed < seeds; ++seed)
    EXPECT_EQ(trainOnSimt(smallParallelModel(DLC_TARGET_CUDA), seed), right) << "seed " << seed;
}

// Without the event behind it, the sum may still be under way when its result is read; without the
// one before it, what is summed may not be there yet.
TEST(Simt, SeesASumWithoutItsEvents) {
  for (uint32_t event : {0, 1}) {
    PlanBuilder plan = smallParallelModel(DLC_TARGET_CUDA);
    for (size_t i = 0; i < plan.records.size(); ++i)
      if (plan.records[i].kind == DLC_RECORD_WAIT_EVENT && plan.records[i].index == event)
        silence(plan, i);
    EXPECT_GT(seedsThatSee(plan), 0u) << "event " << event;
  }
}

// Every order keeps streams and events, and in many seeds every pair of commands that nothing
// orders is seen both ways.
TEST(Schedule, ObeysAndExplores) {
  // Stream 0: 0 1 2 5; stream 1: 3 4; 4 waits for 1.
  const std::vector<OrderedCommand> commands = {{0}, {0}, {0}, {1}, {1, 1}, {0}};
  std::set<std::pair<size_t, size_t>> before;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<size_t> order = adversarialOrder(commands, random);
    ASSERT_EQ(std::set<size_t>(order.begin(), order.end()).size(), commands.size());
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t j = i + 1; j < order.size(); ++j)
        before.insert({order[i], order[j]});
  }
  for (auto [first, second] : {std::pair{0, 1}, {1, 2}, {2, 5}, {3, 4}, {1, 4}, {0, 4}})
    EXPECT_FALSE(before.contains({size_t(second), size_t(first)})) << first << " " << second;
  for (auto [a, b] : {std::pair{0, 3}, {1, 3}, {2, 3}, {2, 4}, {5, 3}, {5, 4}}) {
    EXPECT_TRUE(before.contains({size_t(a), size_t(b)})) << a << " " << b;
    EXPECT_TRUE(before.contains({size_t(b), size_t(a)})) << b << " " << a;
  }
}

} // namespace
