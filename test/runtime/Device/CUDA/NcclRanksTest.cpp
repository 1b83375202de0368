// Ranks that are processes, each with a fake CUDA device, and NCCL's stand-in between them
// (SharedNccl.cpp): what they sum, and what is said of one that dies, stands still or is late. Run
// by mpirun.
#include "dlc/context.h"
#include "runtime/Device/CUDA/CudaDevice.h"
#include "test/runtime/Device/CUDA/FakeModel.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <semaphore.h>
#include <unistd.h>

using namespace dlc::runtime;
using namespace dlc::test;

/// What NCCL's stand-in gives to a stream.
extern "C" __attribute__((visibility("default"))) bool
dlc_test_issue(cudaStream_t stream, bool (*work)(void *), void *argument) {
  return issueFake(stream, [=] { return work(argument); });
}

namespace {

/// The ranks of this run, who hears their warnings, and their processes.
std::shared_ptr<Transport> ranks;
std::function<void(std::string_view line)> onWarning;
std::vector<pid_t> processes;

struct Ranks : testing::Environment {
  void SetUp() override {
    const char *timeout = std::getenv("DLC_TEST_TIMEOUT");
    auto opened = openTransport({.timeout = timeout ? std::atof(timeout) : 3000,
                                 .log = [](Severity, std::string_view line) {
                                   if (onWarning)
                                     onWarning(line);
                                 }});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    ranks = opened.take();
    ranks->setPhase(Phase::Compute);
    if (ranks->rank() != 0) {
      auto &listeners = testing::UnitTest::GetInstance()->listeners();
      delete listeners.Release(listeners.default_result_printer());
    }
    auto numbers = ranks->gather(std::to_string(getpid()));
    ASSERT_TRUE(numbers.ok());
    for (const std::string &number : *numbers)
      processes.push_back(std::stoi(number));
  }
  void TearDown() override {
    EXPECT_TRUE(ranks->leave().ok());
    ranks.reset();
  }
};
[[maybe_unused]] auto *const environment = testing::AddGlobalTestEnvironment(new Ranks);

/// The model on a device of this rank's.
struct Replica {
  Replica(std::shared_ptr<const Module> loaded, std::shared_ptr<Device> device)
      : module(std::move(loaded)) {
    device->join(ranks);
    state = State::create(module, std::move(device), 3).take();
    context = Context::create(state, "train_step").take();
  }

  /// On samples that each rank has for itself.
  Status step(int number) {
    ranks->setStep(uint64_t(number));
    for (size_t i = 0; i < image.size(); ++i)
      image[i] = float((i + size_t(number) + 17 * ranks->rank()) * 37 % 101) / 101;
    for (size_t i = 0; i < label.size(); ++i)
      label[i] = int32_t((i + size_t(number) + ranks->rank()) % 4);
    EXPECT_TRUE(context->bind(0, std::as_bytes(std::span(image))).ok());
    EXPECT_TRUE(context->bind(1, std::as_bytes(std::span(label))).ok());
    EXPECT_TRUE(context->setScalar("step", number).ok());
    EXPECT_TRUE(context->setScalar("ranks.scale", 1.0 / ranks->ranks()).ok());
    return context->run();
  }

  std::vector<float> weights() {
    std::vector<float> all;
    for (size_t i = 0; i < 4; ++i) {
      std::vector<float> one(module->plan().variables[i].type.elementCount());
      EXPECT_TRUE(state->read(i, std::as_writable_bytes(std::span(one))).ok());
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  std::shared_ptr<const Module> module;
  std::shared_ptr<State> state;
  std::unique_ptr<Context> context;
  std::vector<float> image = std::vector<float>(8 * 16);
  std::vector<int32_t> label = std::vector<int32_t>(8);
};

class NcclRanksTest : public testing::Test {
protected:
  Replica onCuda(Sums sums) {
    // Each rank's device does things in an order of its own.
    fakeCuda() = FakeCuda();
    fakeCuda().random.seed(ranks->rank());
    const auto plan = cudaModel(90, smallParallelModel(DLC_TARGET_CUDA, sums));
    return {
        loadOnFake(folder.path("x" + std::to_string(files++) + ".so"), plan),
        CudaDevice::open({.warn = [](std::string_view line) { ADD_FAILURE() << line; }}).take()};
  }
  Replica onCpu() {
    const std::string path = folder.path("cpu.so");
    writeFile(path, moduleWith(smallParallelModel().blob(), {.targets = 1u << DLC_TARGET_CPU}));
    return {Module::load(path).take(), openCpu({.threads = 1}).take()};
  }

  /// Trains until something fails.
  std::string trainToTheEnd() {
    Replica replica = onCuda(Sums::Beside);
    for (int step = 0; step < 6; ++step)
      if (Status status = replica.step(step); !status.ok())
        return std::string(status.message());
    return "";
  }

  TemporaryFolder folder;
  unsigned files = 0;
};

// All ranks have the same weights, those of ranks whose gradients MPI has summed; up to the order
// of additions, which two ranks do not have.
TEST_F(NcclRanksTest, TrainsAsOverMpi) {
  Replica right = onCpu();
  for (int step = 0; step < 6; ++step)
    ASSERT_TRUE(right.step(step).ok());
  const std::vector<float> expected = right.weights();
  for (Sums sums : {Sums::Beside, Sums::OfTwoChannels, Sums::Between}) {
    std::vector<float> weights;
    {
      Replica replica = onCuda(sums);
      for (int step = 0; step < 6; ++step) {
        Status status = replica.step(step);
        ASSERT_TRUE(status.ok()) << status.message();
      }
      weights = replica.weights();
    }
    EXPECT_EQ(fakeCuda().graphLaunches, 5u) << "sums are in the step's graph";
    const auto *bytes = reinterpret_cast<const char *>(weights.data());
    auto all = ranks->gather(std::string_view(bytes, weights.size() * sizeof(float)));
    ASSERT_TRUE(all.ok());
    for (const std::string &other : *all)
      EXPECT_EQ(other, all->front());
    for (size_t i = 0; i < weights.size(); ++i)
      EXPECT_NEAR(weights[i], expected[i], ranks->ranks() == 2 ? 0 : 1e-6) << i;
  }
}

// Who is left says who is not, whether that one ended or stands still, in the start or in a sum.
// DLC_TEST_FAULT says where.
TEST_F(NcclRanksTest, SaysWhoIsLost) {
  const std::string message = trainToTheEnd();
  std::printf("rank %u goes on: %s\n", ranks->rank(), message.c_str());
  std::fflush(stdout);
  // It may stand still, and mpirun waits for it.
  kill(processes[1], SIGKILL);
  // MPI's end would wait for it too.
  std::_Exit(0);
}

/// What rank 1 waits for and rank 0 posts, at its end in any case.
struct Semaphore {
  Semaphore() { EXPECT_NE(named, SEM_FAILED); }
  ~Semaphore() {
    if (ranks->rank() == 0)
      sem_post(named);
    sem_unlink(name.c_str());
  }
  const std::string name = concat("/dlc-test-late-", processes[0]);
  sem_t *const named = sem_open(name.c_str(), O_CREAT, 0600, 0);
};

// A rank that comes late is named in one line, and the run goes on when it has come: it does not
// come before the line is there.
TEST_F(NcclRanksTest, NamesWhoIsLate) {
  static constexpr std::string_view line =
      "step 2: ranks that wait: 0; for rank 1, which is in step 1";
  const Semaphore said;
  onWarning = [named = said.named](std::string_view warning) {
    if (warning == line)
      sem_post(named);
  };
  Replica replica = onCuda(Sums::Beside);
  for (int step = 0; step < 6; ++step) {
    if (step == 2 && ranks->rank() == 1)
      sem_wait(said.named);
    Status status = replica.step(step);
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

} // namespace
