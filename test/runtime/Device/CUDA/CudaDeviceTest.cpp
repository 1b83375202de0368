// The CUDA device on a fake CUDA runtime: launches and their parameters, streams, graphs, and the
// one line it says about each thing that is missing.
#include "runtime/Device/CUDA/CudaDevice.h"
#include "dlc/context.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Training/Trainer.h"
#include "test/lib/FakeCuda/FakeCublasLt.h"
#include "test/lib/FakeCuda/FakeCuda.h"
#include "test/lib/FakeCuda/FakeNccl.h"
#include "test/lib/SmallModel/SlowTransport.h"
#include "test/runtime/Device/CUDA/FakeModel.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <tuple>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

class CudaDeviceTest : public FakeCudaTest {
protected:
  std::shared_ptr<const Module> load(const PlanBuilder &plan, uint32_t targets = simtTargets) {
    // A name of its own: a module of that name may still be loaded.
    path = folder.path("x" + std::to_string(files++) + ".so");
    return loadOnFake(path, plan, targets);
  }

  /// Trains six steps and gives weights, biases and losses.
  std::vector<float> train(const std::shared_ptr<const Module> &module,
                           std::shared_ptr<Device> device, Trace *trace = nullptr,
                           double ranksScale = 1) {
    auto state = State::create(module, std::move(device), 3).take();
    auto context = Context::create(state, "train_step").take();
    std::vector<float> image(8 * 16), values;
    std::vector<int32_t> label(8);
    for (int step = 0; step < 6; ++step) {
      for (size_t i = 0; i < image.size(); ++i)
        image[i] = float((i + size_t(step)) * 37 % 101) / 101;
      for (size_t i = 0; i < label.size(); ++i)
        label[i] = int32_t((i + size_t(step)) % 4);
      EXPECT_TRUE(context->bind(0, std::as_bytes(std::span(image))).ok());
      EXPECT_TRUE(context->bind(1, std::as_bytes(std::span(label))).ok());
      EXPECT_TRUE(context->setScalar("step", step).ok());
      if (module->plan().dataParallel)
        EXPECT_TRUE(context->setScalar("ranks.scale", ranksScale).ok());
      Status ran = context->run(trace);
      EXPECT_TRUE(ran.ok()) << ran.message();
      values.push_back(float(context->metric(0)->number));
    }
    for (size_t i = 0; i < 4; ++i) {
      std::vector<float> one(module->plan().variables[i].type.elementCount());
      EXPECT_TRUE(state->read(i, std::as_writable_bytes(std::span(one))).ok());
      values.insert(values.end(), one.begin(), one.end());
    }
    return values;
  }

  std::vector<float> expected() {
    return train(load(smallModel(), 1u << DLC_TARGET_CPU), openCpu({.threads = 1}).take());
  }

  std::string messageOf(const PlanBuilder &plan) {
    auto device = CudaDevice::open({});
    if (!device.ok())
      return std::string(device.status().message());
    auto state = State::create(load(plan), *device, 3);
    if (!state.ok())
      return std::string(state.status().message());
    auto context = Context::create(*state, "train_step");
    return std::string(context.status().message());
  }

  TemporaryFolder folder;
  /// The last module's file.
  std::string path;
  unsigned files = 0;
};

// The first step is issued, the second recorded, and the graph is launched from then on; its
// kernels read what was written before each launch: inputs, scalars.
TEST_F(CudaDeviceTest, RecordsAStepAndReplaysIt) {
  const std::vector<float> right = expected();
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    begin(seed);
    EXPECT_EQ(train(load(cudaModel()), CudaDevice::open({}).take()), right) << "seed " << seed;
    EXPECT_EQ(fakeCuda().captures, 2u) << "one for each of two staging buffers";
    EXPECT_EQ(fakeCuda().graphLaunches, 5u);
    EXPECT_EQ(fakeCuda().launches, 6u * 7);
    EXPECT_EQ(fakeCuda().used, 0u) << "all memory was given back";
  }
}

// Among several ranks a sum goes through the host: it starts and is waited for once a step, and is
// back on the device before the update that waits for its event. A step of two ranks that have the
// same samples is a step of one. Nothing is recorded as a graph.
TEST_F(CudaDeviceTest, SumsOverRanksThroughTheHost) {
  const std::vector<float> right = expected();
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    begin(seed);
    auto module = load(cudaModel(90, smallParallelModel(DLC_TARGET_CUDA)));
    for (bool traced : {false, true}) {
      auto device = CudaDevice::open({}).take();
      auto two = std::make_shared<SlowTransport>();
      device->join(two);
      Trace trace;
      EXPECT_EQ(train(module, device, traced ? &trace : nullptr, 0.5), right) << "seed " << seed;
      EXPECT_EQ(two->log, "start wait start wait start wait start wait start wait start wait ");
    }
    EXPECT_EQ(fakeCuda().captures, 0u);
    // Alone it records the step, and sums nothing.
    EXPECT_EQ(train(module, CudaDevice::open({}).take()), right);
    EXPECT_EQ(fakeCuda().captures, 2u);
    EXPECT_EQ(fakeCuda().used, 0u) << "all memory was given back";
  }
}

/// Puts the fake in NCCL's place as long as it lives.
struct NcclStandIn {
  NcclStandIn() {
    Nccl::replace(&fakeNcclCalls());
    fakeNccl() = {};
  }
  ~NcclStandIn() { Nccl::replace(nullptr); }
};

/// Of two ranks, each with a device of its own.
std::shared_ptr<SlowTransport> joinTwo(Device &device) {
  auto two = std::make_shared<SlowTransport>();
  two->otherTexts = true;
  device.join(two);
  return two;
}

// With NCCL, and a device for each rank, sums are the collective's stream's own commands: between
// the backward pass and the update, in the step's graph. The bucket is registered before. The
// transport hears of each, and that this rank waits.
TEST_F(CudaDeviceTest, SumsOverRanksByNccl) {
  const std::vector<float> right = expected();
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    begin(seed);
    const NcclStandIn nccl;
    auto module = load(cudaModel(90, smallParallelModel(DLC_TARGET_CUDA)));
    std::shared_ptr<SlowTransport> two;
    {
      auto device = CudaDevice::open({}).take();
      two = joinTwo(*device);
      EXPECT_EQ(train(module, device, nullptr, 0.5), right) << "seed " << seed;
      EXPECT_EQ(two->log, "") << "nothing goes through the host";
    }
    std::string sums;
    for (int step = 0; step < 6; ++step)
      sums += "sum 68 ";
    EXPECT_EQ(fakeNccl().log,
              "connect 2 rank 0 register 272 " + sums + "deregister finalize destroy ");
    EXPECT_EQ(fakeCuda().captures, 2u);
    EXPECT_EQ(fakeCuda().graphLaunches, 5u);
    EXPECT_EQ(two->started, 1u + 6) << "they connect, and sum";
    EXPECT_GE(two->waits, 1u + 6);
    EXPECT_FALSE(two->waiting);
  }
}

// Where ranks share a device sums go through the host, and one line says so.
TEST_F(CudaDeviceTest, SaysWhyNcclIsNotUsed) {
  const std::vector<float> right = expected();
  const NcclStandIn nccl;
  std::string said;
  auto device = CudaDevice::open({.warn = [&](std::string_view line) { said += line; }}).take();
  device->join(std::make_shared<SlowTransport>());
  auto module = load(cudaModel(90, smallParallelModel(DLC_TARGET_CUDA)));
  EXPECT_EQ(train(module, device, nullptr, 0.5), right);
  EXPECT_EQ(said, "sums over ranks go through the host: ranks 0 and 1 share a device");
}

// The channels of a plan have one communicator and one stream, which goes before all others, and
// sum in the order of the plan; or they have the first stream, where the plan sums on it.
TEST_F(CudaDeviceTest, SumsInTheOrderOfThePlan) {
  const std::vector<float> right = expected();
  for (uint64_t seed = 0; seed < seeds; ++seed)
    for (Sums sums : {Sums::OfTwoChannels, Sums::Between}) {
      begin(seed);
      const NcclStandIn nccl;
      auto device = CudaDevice::open({}).take();
      joinTwo(*device);
      auto module = load(cudaModel(90, smallParallelModel(DLC_TARGET_CUDA, sums)));
      EXPECT_EQ(train(module, device, nullptr, 0.5), right) << "seed " << seed;
      device.reset();
      const bool two = sums == Sums::OfTwoChannels;
      std::string steps;
      for (int step = 0; step < 6; ++step)
        steps += two ? "sum 64 sum 4 " : "sum 68 ";
      EXPECT_NE(fakeNccl().log.find(steps), std::string::npos) << fakeNccl().log;
      EXPECT_EQ(fakeCuda().priorities, two ? std::vector({0, 0, -5}) : std::vector({0, 0}));
    }
}

// A rank that is lost would leave the device waiting: the sums are aborted, and the run fails.
// Nothing waits for the device before that, whoever asks for it.
TEST_F(CudaDeviceTest, EndsWhereNcclHasLostARank) {
  const std::vector<float> image(8 * 16);
  const std::vector<int32_t> label(8);
  enum class Asks { Results, Variable, Nothing, ItsEnd };
  for (Asks asks : {Asks::Results, Asks::Variable, Asks::Nothing, Asks::ItsEnd}) {
    const NcclStandIn nccl;
    auto module = load(cudaModel(90, smallParallelModel(DLC_TARGET_CUDA)));
    auto device = CudaDevice::open({}).take();
    auto two = joinTwo(*device);
    auto state = State::create(module, device, 3).take();
    auto context = Context::create(state, "train_step").take();
    ASSERT_TRUE(context->bind(0, std::as_bytes(std::span(image))).ok());
    ASSERT_TRUE(context->bind(1, std::as_bytes(std::span(label))).ok());
    ASSERT_TRUE(context->run().ok());
    fakeCuda().stuck = true;
    ASSERT_TRUE(context->start().ok());
    std::vector<float> weight(64);
    if (asks != Asks::Variable)
      fakeNccl().error = ncclRemoteError;
    else
      two->failure = "rank 1 ended in step 2";
    if (asks == Asks::Results)
      EXPECT_EQ(context->finish().message(), "entry 'train_step': NCCL: summing: of the fake");
    if (asks == Asks::Variable)
      EXPECT_EQ(state->read(0, std::as_writable_bytes(std::span(weight))).message(),
                "rank 1 ended in step 2");
    if (asks != Asks::ItsEnd)
      EXPECT_FALSE(context->start().ok()) << "nothing can be summed any more";
    context.reset();
    state.reset();
    EXPECT_TRUE(fakeNccl().log.ends_with("abort ")) << fakeNccl().log;
    EXPECT_EQ(fakeCuda().hung, 0u);
    fakeCuda().stuck = false;
  }
}

// A rank that is lost fails the run, and the device can be given back: the end of the run waits for
// all sums that were started, as they are at its memory until then.
TEST_F(CudaDeviceTest, SaysWhyASumFailed) {
  auto device = CudaDevice::open({}).take();
  auto two = std::make_shared<SlowTransport>();
  two->failure = "rank 1 ended in step 2";
  device->join(two);
  auto module = load(cudaModel(90, smallParallelModel(DLC_TARGET_CUDA, Sums::OfTwoChannels)));
  auto context = Context::create(State::create(module, device, 3).take(), "train_step").take();
  std::vector<float> image(8 * 16);
  std::vector<int32_t> label(8);
  ASSERT_TRUE(context->bind(0, std::as_bytes(std::span(image))).ok());
  ASSERT_TRUE(context->bind(1, std::as_bytes(std::span(label))).ok());
  EXPECT_EQ(context->run().message(), "entry 'train_step': rank 1 ended in step 2");
  EXPECT_EQ(two->log, "start start wait wait wait wait ");
}

/// Losses as the trainer reports them, then every checkpoint's step.
struct Observer : TrainObserver {
  std::vector<double> losses;
  std::vector<uint64_t> checkpoints;
  void onStep(const StepReport &report) override {
    losses.push_back(report.batch[0].second.number);
    if (report.progress.step != losses.size())
      ADD_FAILURE() << "step " << report.progress.step << " is report " << losses.size();
  }
  void onCheckpoint(const std::string &path) override {
    auto file = SafetensorsFile::open(path).take();
    checkpoints.push_back(std::stoull(file.metadata().at("step")));
    int32_t applied = 0;
    ASSERT_TRUE(
        file.read(*file.find("applied"), std::as_writable_bytes(std::span(&applied, 1))).ok());
    EXPECT_EQ(uint64_t(applied), checkpoints.back()) << "the variables are those of the step";
  }
};

// The trainer keeps one batch ahead of the device; losses, their order, checkpoints and variables
// are those of the CPU, which it waits for. Batches lie in pinned memory.
TEST_F(CudaDeviceTest, TrainsOneBatchAhead) {
  writeSmallData(folder.root(), 100, 30);
  const std::string data = "idx:" + folder.root();
  auto run = [&](std::shared_ptr<const Module> module, std::shared_ptr<Device> device,
                 Observer &observer) {
    auto state = State::create(std::move(module), std::move(device), 1).take();
    const uint64_t before = fakeCuda().pinned;
    auto trainer =
        Trainer::create(
            state, openDataset(data, Split::Train).take(), openDataset(data, Split::Test).take(),
            {.epochs = 2, .checkpoint = folder.path("checkpoint"), .checkpointEvery = 5}, {},
            {.seed = 1})
            .take();
    // Images and labels, of at least one batch that is made and three that are ahead, for two
    // loaders.
    constexpr uint64_t batch = 8 * (16 + 1) * 4;
    if (!state->device()->sharesHostMemory())
      EXPECT_GE(fakeCuda().pinned, before + 2 * 4 * batch);
    EXPECT_TRUE(trainer->run(observer).ok());
    std::vector<float> weights(64);
    EXPECT_TRUE(state->read(0, std::as_writable_bytes(std::span(weights))).ok());
    return weights;
  };
  Observer right;
  const std::vector<float> weights =
      run(load(smallModel(), 1u << DLC_TARGET_CPU), openCpu({.threads = 1}).take(), right);
  EXPECT_EQ(right.losses.size(), 24u);
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    begin(seed);
    Observer observer;
    EXPECT_EQ(run(load(cudaModel()), CudaDevice::open({}).take(), observer), weights) << seed;
    EXPECT_EQ(fakeCuda().pinned, 0u);
    EXPECT_EQ(fakeCuda().freedInUse, 0u);
    EXPECT_EQ(observer.losses, right.losses) << "seed " << seed;
    EXPECT_EQ(observer.checkpoints, (std::vector<uint64_t>{5, 10, 12, 15, 20, 24}));
  }
}

// What is written from the device's host memory is read from there, until settle() has returned;
// and where there is no more of it, nothing is wrong.
TEST_F(CudaDeviceTest, TakesInputsFromItsHostMemory) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    begin(seed);
    fakeCuda().fast = 0;
    auto device = CudaDevice::open({}).take();
    auto staging = device->allocateStaging(64).take();
    std::shared_ptr<std::byte> host = device->allocateHost(256);
    ASSERT_NE(host, nullptr);
    EXPECT_EQ(*host, std::byte(0));
    const uint64_t pinned = fakeCuda().pinned;
    std::memset(host.get(), 7, 256);
    ASSERT_TRUE(staging->write(0, {host.get() + 192, 64}).ok());
    EXPECT_EQ(fakeCuda().pinned, pinned) << "no copy of the host's";
    ASSERT_TRUE(device->settle().ok());
    std::memset(host.get(), 9, 256);
    std::vector<std::byte> read(64);
    ASSERT_TRUE(staging->read(0, read).ok());
    EXPECT_EQ(read, std::vector<std::byte>(64, std::byte(7)));
    ASSERT_TRUE(staging->write(0, {host.get(), 64}).ok());
    host.reset();
    EXPECT_EQ(fakeCuda().freedInUse, 0u);
    fakeCuda().pinsNoMore = true;
    EXPECT_EQ(device->allocateHost(256), nullptr);
    EXPECT_TRUE(device->settle().ok());
  }
}

TEST_F(CudaDeviceTest, RunsWithoutGraphs) {
  const std::vector<float> right = expected();
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    begin(seed);
    EXPECT_EQ(train(load(cudaModel()), CudaDevice::open({.graph = false}).take()), right);
    EXPECT_EQ(fakeCuda().captures, 0u);
  }
}

// Inputs that are kept on the device are read from there until one is bound anew.
TEST_F(CudaDeviceTest, KeepsInputs) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    begin(seed);
    auto state = State::create(load(cudaModel()), CudaDevice::open({}).take(), 3).take();
    auto context = Context::create(state, "evaluate").take();
    std::vector<float> image(8 * 16, 0.5f);
    std::vector<int32_t> label(8, 1);
    ASSERT_TRUE(context->bind(0, std::as_bytes(std::span(image))).ok());
    ASSERT_TRUE(context->bind(1, std::as_bytes(std::span(label))).ok());
    auto loss = [&] {
      EXPECT_TRUE(context->run().ok());
      return context->metric(0)->number;
    };
    const double first = loss();
    ASSERT_TRUE(context->keepInputs().ok());
    std::fill(image.begin(), image.end(), 3.0f);
    for (int run = 0; run < 3; ++run)
      EXPECT_EQ(loss(), first);
    ASSERT_TRUE(context->bind(0, std::as_bytes(std::span(image))).ok());
    EXPECT_NE(loss(), first);
  }
}

// The copy that a run of kept inputs still reads is not written for the next one.
TEST_F(CudaDeviceTest, LeavesKeptInputsToTheirRun) {
  double losses[2] = {};
  for (bool together : {false, true})
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      begin(seed);
      auto state = State::create(load(cudaModel()), CudaDevice::open({}).take(), 3).take();
      auto context = Context::create(state, "evaluate").take();
      std::vector<float> image(8 * 16, 0.5f), other(8 * 16, 3.0f);
      const std::vector<int32_t> label(8, 1);
      ASSERT_TRUE(context->bind(0, std::as_bytes(std::span(image))).ok());
      ASSERT_TRUE(context->bind(1, std::as_bytes(std::span(label))).ok());
      ASSERT_TRUE(context->keepInputs().ok());
      ASSERT_TRUE(context->run().ok());
      ASSERT_TRUE(context->start().ok());
      ASSERT_TRUE(together || context->finish().ok());
      const double before = together ? 0 : context->metric(0)->number;
      ASSERT_TRUE(context->bind(0, std::as_bytes(std::span(other))).ok());
      ASSERT_TRUE(context->start().ok());
      if (together) {
        EXPECT_EQ(context->keepInputs().message(),
                  "entry 'evaluate': two runs are not finished yet");
        ASSERT_TRUE(context->finish().ok());
      }
      const double first = together ? context->metric(0)->number : before;
      ASSERT_TRUE(context->finish().ok());
      const double second = context->metric(0)->number;
      if (!together && seed == 0)
        std::tie(losses[0], losses[1]) = std::pair(first, second);
      EXPECT_EQ(first, losses[0]) << seed;
      EXPECT_EQ(second, losses[1]) << seed;
    }
  EXPECT_NE(losses[0], losses[1]);
}

// A traced run is never a graph; the device's clock times its launches, not the events between
// them.
TEST_F(CudaDeviceTest, TimesByTheDevicesClock) {
  const std::vector<float> right = expected();
  Trace trace;
  EXPECT_EQ(train(load(cudaModel()), CudaDevice::open({}).take(), &trace), right);
  EXPECT_EQ(fakeCuda().captures, 0u);
  EXPECT_FLOAT_EQ(float(trace.seconds[0]), 2e-3f);
  EXPECT_LT(trace.seconds[4], 1e-3); // records an event
}

// A launch that fails while a step is recorded leaves no graph behind: the next run records again.
TEST_F(CudaDeviceTest, ForgetsAGraphThatFailed) {
  auto module = load(cudaModel());
  auto state = State::create(module, CudaDevice::open({}).take(), 3).take();
  auto context = Context::create(state, "train_step").take();
  std::vector<float> image(8 * 16, 0.5f);
  std::vector<int32_t> label(8, 1);
  ASSERT_TRUE(context->bind(0, std::as_bytes(std::span(image))).ok());
  ASSERT_TRUE(context->bind(1, std::as_bytes(std::span(label))).ok());
  ASSERT_TRUE(context->run().ok());
  fakeCuda().launchesLeft = 3;
  EXPECT_EQ(context->run().message(), "entry 'train_step': 'linear1/backward_weight': device cuda: "
                                      "launching: the fake fails");
  fakeCuda().launchesLeft = UINT64_MAX;
  EXPECT_EQ(fakeCuda().graphLaunches, 0u);
  ASSERT_TRUE(context->run().ok());
  EXPECT_EQ(fakeCuda().captures, 2u);
  EXPECT_EQ(fakeCuda().graphLaunches, 1u);
}

/// The model with its first record as a product of cuBLASLt; behind it, as an alternative, the
/// launch that it was.
PlanBuilder libraryModel(bool alternative) {
  PlanBuilder plan = cudaModel();
  dlc_library_call call = {};
  call.op = DLC_CALL_PRODUCT;
  call.epilogue = DLC_EPILOGUE_BIAS;
  call.transpose_b = 1;
  const uint64_t sizes[] = {1, 8, 4, 16};
  std::copy(std::begin(sizes), std::end(sizes), call.sizes);
  plan.calls.push_back(call);
  dlc_record record = plan.records[0];
  const dlc_argument *old = plan.arguments.data() + record.arguments.first;
  const std::vector<dlc_argument> arguments = {old[3], old[0], old[1],
                                               old[2]}; // result, a, b, bias
  record.kind = DLC_RECORD_LIBRARY;
  record.index = record.tasks = record.immediates.count = 0;
  record.arguments.first = static_cast<uint32_t>(plan.arguments.size());
  plan.arguments.insert(plan.arguments.end(), arguments.begin(), arguments.end());
  if (!alternative) {
    plan.records[0] = record;
    return plan;
  }
  record.condition = DLC_IF_ACCEPTED;
  plan.records[0].condition = DLC_IF_REFUSED;
  plan.records.insert(plan.records.begin(), record);
  for (dlc_entry &entry : plan.entries)
    (&entry == plan.entries.data() ? entry.records.count : entry.records.first) += 1;
  return plan;
}

/// Puts the fake in cuBLASLt's place as long as it lives.
struct StandIn {
  explicit StandIn(std::set<cublasLtEpilogue_t> refused) {
    epiloguesWithoutAlgorithm = std::move(refused);
    CublasLt::replace(&fakeCublasLt());
  }
  ~StandIn() {
    CublasLt::replace(nullptr);
    epiloguesWithoutAlgorithm.clear();
  }
};

// A call that the library takes is made, and the launch in its place is not; a call that it refuses
// is one warning, and the launch runs. Libraries can be left out by choice: nothing to warn of.
TEST_F(CudaDeviceTest, RunsItsOwnKernelWhereALibraryRefuses) {
  const std::vector<float> right = expected();
  std::vector<std::string> warnings;
  auto open = [&](bool libraries) {
    return CudaDevice::open({.libraries = libraries,
                             .warn = [&](std::string_view line) { warnings.emplace_back(line); }})
        .take();
  };
  auto near = [&](const std::vector<float> &values) {
    ASSERT_EQ(values.size(), right.size());
    for (size_t i = 0; i < right.size(); ++i)
      EXPECT_NEAR(values[i], right[i], 1e-5) << i;
  };
  StandIn takesAll({});
  near(train(load(libraryModel(true)), open(true)));
  EXPECT_EQ(fakeCuda().launches, 6u * 6);
  EXPECT_TRUE(warnings.empty());

  fakeCuda().launches = 0;
  EXPECT_EQ(train(load(libraryModel(true)), open(false)), right);
  EXPECT_EQ(fakeCuda().launches, 6u * 7);
  EXPECT_TRUE(warnings.empty());

  StandIn refuses({CUBLASLT_EPILOGUE_BIAS});
  fakeCuda().launches = 0;
  EXPECT_EQ(train(load(libraryModel(true)), open(true)), right);
  EXPECT_EQ(fakeCuda().launches, 6u * 7);
  EXPECT_EQ(warnings,
            std::vector<std::string>{
                "cuBLASLt has no algorithm for a product of 8x4x16 with epilogue 1 in a workspace "
                "of 0 bytes: kernels of dlc run for 'linear1/forward'"});
}

/// Puts a record behind the one that is `at` in the training step.
void insertBehind(PlanBuilder &plan, size_t at, const dlc_record &record) {
  plan.records.insert(plan.records.begin() + ptrdiff_t(at) + 1, record);
  for (dlc_entry &entry : plan.entries)
    (&entry == plan.entries.data() ? entry.records.count : entry.records.first) += 1;
}

size_t findRecord(const PlanBuilder &plan, uint32_t kind) {
  return size_t(std::ranges::find(plan.records, kind, &dlc_record::kind) - plan.records.begin());
}

/// The model with a sum on its first stream; directly behind it is a record that changes the bias's
/// gradient: a copy of some of the weight's, zeros, or a product of the weight's with itself.
PlanBuilder changingModel(dlc_record_kind kind) {
  PlanBuilder plan = cudaModel(90, smallParallelModel(DLC_TARGET_CUDA, Sums::Between));
  const size_t at = findRecord(plan, DLC_RECORD_COLLECTIVE);
  dlc_record record = plan.records[at];
  dlc_argument weight = plan.arguments[record.arguments.first], bias = weight, row = weight;
  weight.bytes = 4 * 16 * sizeof(float);
  row.bytes = 16 * sizeof(float);
  bias.offset += weight.bytes;
  bias.bytes = 4 * sizeof(float);
  dlc_argument some = weight;
  some.bytes = bias.bytes;
  std::vector<dlc_argument> arguments = {writing(bias)};
  if (kind == DLC_RECORD_COPY)
    arguments.push_back(reading(some));
  if (kind == DLC_RECORD_LIBRARY)
    arguments.insert(arguments.end(), {reading(row), reading(weight)});
  record.kind = kind;
  record.index = record.value = 0;
  record.arguments = {uint32_t(plan.arguments.size()), uint32_t(arguments.size())};
  plan.arguments.insert(plan.arguments.end(), arguments.begin(), arguments.end());
  if (kind == DLC_RECORD_LIBRARY) {
    dlc_library_call call = {};
    call.op = DLC_CALL_PRODUCT;
    call.transpose_b = 1;
    const uint64_t sizes[] = {1, 1, 4, 16};
    std::copy(std::begin(sizes), std::end(sizes), call.sizes);
    plan.calls.push_back(call);
  }
  insertBehind(plan, at, record);
  return plan;
}

// Whatever follows a sum on its stream comes after it, through the host as by NCCL.
TEST_F(CudaDeviceTest, KeepsBackWhatFollowsASum) {
  const StandIn takesAll({});
  for (dlc_record_kind kind :
       {DLC_RECORD_LAUNCH, DLC_RECORD_COPY, DLC_RECORD_FILL, DLC_RECORD_LIBRARY}) {
    const PlanBuilder plan = kind == DLC_RECORD_LAUNCH
                                 ? cudaModel(90, smallParallelModel(DLC_TARGET_CUDA, Sums::Between))
                                 : changingModel(kind);
    std::vector<float> right;
    {
      const NcclStandIn nccl;
      auto device = CudaDevice::open({}).take();
      joinTwo(*device);
      right = train(load(plan), device, nullptr, 0.5);
    }
    for (uint64_t seed = 1; seed < seeds; ++seed) {
      begin(seed);
      auto device = CudaDevice::open({}).take();
      device->join(std::make_shared<SlowTransport>());
      EXPECT_EQ(train(load(plan), device, nullptr, 0.5), right) << "kind " << kind << ", " << seed;
    }
  }
}

// A stream may begin with a command that waits for no other of the run: it is behind the run before
// all the same, and in the graph.
TEST_F(CudaDeviceTest, BeginsAllStreamsTogether) {
  PlanBuilder plan = cudaModel();
  const size_t wait = findRecord(plan, DLC_RECORD_WAIT_EVENT);
  // Counting steps, which is the last thing that the first stream does, goes to the second one's
  // start.
  const auto count = plan.records.begin() + plan.entries[0].records.count - 1;
  dlc_record record = *count;
  record.stream = 1;
  plan.records.erase(count);
  plan.records.insert(plan.records.begin() + ptrdiff_t(wait), record);
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    begin(seed);
    auto state = State::create(load(plan), CudaDevice::open({}).take(), 3).take();
    auto context = Context::create(state, "train_step").take();
    const std::vector<float> image(8 * 16);
    const std::vector<int32_t> label(8);
    for (int step = 0; step < 4; ++step) {
      ASSERT_TRUE(context->bind(0, std::as_bytes(std::span(image))).ok());
      ASSERT_TRUE(context->bind(1, std::as_bytes(std::span(label))).ok());
      ASSERT_TRUE(context->run().ok());
    }
    int32_t applied = 0;
    ASSERT_TRUE(state->read(4, std::as_writable_bytes(std::span(&applied, 1))).ok());
    EXPECT_EQ(applied, 4) << "seed " << seed;
  }
}

// Scalars may be written as often as one likes before a run: what they pass through is not filled
// anew before it was copied.
TEST_F(CudaDeviceTest, WritesManyScalars) {
  std::vector<float> right;
  for (uint64_t seed = 0; seed < seeds; ++seed)
    for (int writes : {1, 2000}) {
      begin(seed);
      auto state = State::create(load(cudaModel()), CudaDevice::open({}).take(), 3).take();
      auto context = Context::create(state, "train_step").take();
      const std::vector<float> image(8 * 16, 1.0f);
      const std::vector<int32_t> label(8);
      ASSERT_TRUE(context->setScalar("optimizer.learning_rate", 0.25).ok());
      for (int i = writes; i-- > 0;)
        ASSERT_TRUE(context->setScalar("step", i).ok());
      ASSERT_TRUE(context->bind(0, std::as_bytes(std::span(image))).ok());
      ASSERT_TRUE(context->bind(1, std::as_bytes(std::span(label))).ok());
      ASSERT_TRUE(context->run().ok());
      std::vector<float> weights(64);
      ASSERT_TRUE(state->read(0, std::as_writable_bytes(std::span(weights))).ok());
      if (right.empty())
        right = weights;
      EXPECT_EQ(weights, right) << "seed " << seed << ", " << writes << " writes";
    }
}

// A large write has taken the caller's bytes when it returns.
TEST_F(CudaDeviceTest, TakesLargeWrites) {
  auto device = CudaDevice::open({}).take();
  std::vector<float> values(16 << 10, 1.0f), read(values.size());
  auto memory = device->allocate(values.size() * sizeof(float)).take();
  ASSERT_TRUE(memory->write(0, std::as_bytes(std::span(values))).ok());
  std::ranges::fill(values, 2.0f);
  ASSERT_TRUE(memory->read(0, std::as_writable_bytes(std::span(read))).ok());
  EXPECT_EQ(read, std::vector<float>(values.size(), 1.0f));
}

// A run ends with its sums, also with one that no record waits for; a traced one has it where it is
// timed. A queue may go before its run is done.
TEST_F(CudaDeviceTest, EndsSumsThatNobodyWaitsFor) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    begin(seed);
    auto device = CudaDevice::open({}).take();
    auto two = std::make_shared<SlowTransport>();
    device->join(two);
    const PlanBuilder plan = cudaModel(90, smallParallelModel(DLC_TARGET_CUDA));
    auto module = load(plan);
    auto queue = device->createQueue(module, *module->plan().findEntry("train_step")).take();
    auto buffer = device->allocate(4 * sizeof(float)).take();
    std::vector<float> values(4, 1.0f);
    ASSERT_TRUE(buffer->write(0, std::as_bytes(std::span(values))).ok());
    const auto record = uint32_t(findRecord(plan, DLC_RECORD_COLLECTIVE));
    const AccumulatorPlace loss = {buffer->address(), 3 * sizeof(float)};
    for (bool traced : {false, true}) {
      two->log = "";
      ASSERT_TRUE(queue->begin({nullptr, {}, traced, std::span(&loss, 1), 0, nullptr}).ok());
      ASSERT_TRUE(queue
                      ->sum(1, {record,
                                DLC_COLLECTIVE_SUM,
                                DLC_CHANNEL_BUCKETS,
                                DLC_F32,
                                buffer->address(),
                                buffer->size(),
                                {}})
                      .ok());
      if (traced) {
        ASSERT_TRUE(queue->synchronize().ok());
        EXPECT_EQ(two->log, "start wait ");
      }
      ASSERT_TRUE(queue->end().ok());
      EXPECT_EQ(two->log, "start wait ");
    }
    queue.reset();
    ASSERT_TRUE(buffer->read(0, std::as_writable_bytes(std::span(values))).ok());
    EXPECT_EQ(values, std::vector<float>(4, 4.0f));
  }
}

// Without an alternative a call that is refused ends loading.
TEST_F(CudaDeviceTest, NeedsWhatHasNoAlternative) {
  StandIn refuses({CUBLASLT_EPILOGUE_BIAS});
  EXPECT_EQ(messageOf(libraryModel(false)),
            path + ": entry 'train_step': cuBLASLt has no algorithm for a product of 8x4x16 with "
                   "epilogue 1 in a workspace of 0 bytes: 'linear1/forward'; the plan has no "
                   "kernels of dlc beside these calls");
}

// All calls that were refused are listed, those of one reason together, each name once.
TEST(Refusals, ListsAll) {
  Refusals refusals;
  EXPECT_TRUE(refusals.empty());
  for (const char *name : {"a", "b", "a", "c", "d", "e", "f"})
    refusals.add("no cuDNN", name);
  refusals.add("no algorithm", "g");
  EXPECT_EQ(refusals.text(), "no algorithm: 'g'; no cuDNN: 'a', 'b', 'c', 'd', 'e', 'f'");
  EXPECT_EQ(
      refusals.warnings(),
      (std::vector<std::string>{"no algorithm: kernels of dlc run for 'g'",
                                "no cuDNN: kernels of dlc run for 'a', 'b', 'c', 'd' and 2 more"}));
}

TEST_F(CudaDeviceTest, SaysWhatIsMissing) {
  fakeCuda().driver = 0;
  EXPECT_EQ(messageOf(cudaModel()), "device cuda: no NVIDIA driver (libcuda.so.1) on this machine");
  fakeCuda().driver = 12040;
  EXPECT_EQ(messageOf(cudaModel()),
            "device cuda: the driver supports CUDA 12.4, needed is 13.0 or newer");
  fakeCuda() = FakeCuda();
  fakeCuda().devices = 0;
  EXPECT_EQ(messageOf(cudaModel()), "device cuda: the driver offers no device");
  EXPECT_EQ(CudaDevice::open({.ordinal = 3}).status().message(),
            "device cuda: the driver offers no device");
  fakeCuda() = FakeCuda();
  EXPECT_EQ(CudaDevice::open({.ordinal = 3}).status().message(), "device cuda: device 3 of 1");
  EXPECT_EQ(messageOf(cudaModel()), "");
  std::string message = messageOf(cudaModel(80));
  EXPECT_EQ(message, path + ": entry 'train_step': compiled for sm_80; the Fake is sm_90");
  fakeCuda().memory = 1000;
  message = messageOf(cudaModel());
  EXPECT_EQ(message, path +
                         ": entry 'train_step': device cuda: needs 1 MiB more, the Fake has 0 MiB "
                         "free of 0");
}

// A device is described as JSON; its peaks are the floors of bench.
TEST_F(CudaDeviceTest, DescribesItself) {
  auto device = CudaDevice::open({}).take();
  EXPECT_TRUE(device->properties().starts_with(
      R"({"device":"cuda","name":"Fake","architecture":"sm_90","driver":13000,)"))
      << device->properties();
  EXPECT_EQ(device->peaks().flopsPerSecond, 100 * 128 * 2 * 1e9);
  EXPECT_EQ(device->peaks().bytesPerSecond, 1e9 * 2 * 128);
}

} // namespace
