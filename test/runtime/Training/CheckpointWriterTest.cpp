// The copy of a checkpoint, and the thread that writes it.
#include "runtime/Training/CheckpointWriter.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

/// Of the small model, with a state of so many megabytes.
std::shared_ptr<State> stateWith(const TemporaryFolder &folder, uint64_t megabytes) {
  PlanBuilder plan = smallModel();
  plan.variable("hidden", PlanBuilder::type(DLC_F32, {megabytes << 18}), DLC_ROLE_STATE,
                DLC_INIT_CONSTANT, 0, 0);
  writeFile(folder.path("m.so"), moduleWith(plan.blob()));
  return State::create(Module::load(folder.path("m.so")).take(), openCpu({.threads = 1}).take(), 1)
      .take();
}

/// Of this process's address space.
uint64_t megabytesOfSpace() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return (pages * uint64_t(sysconf(_SC_PAGESIZE))) >> 20;
}

// What is taken of three ranks finds its memory.
TEST(CheckpointImage, ReservesForAllRanks) {
  const TemporaryFolder folder;
  constexpr uint64_t megabytes = 16, most = 4; // of what else a copy takes
  const auto state = stateWith(folder, megabytes);
  const CarriedStates all(3, std::string(megabytes << 20, 0));
  CheckpointImage image;
  image.reserve(*state, 3);
  const uint64_t before = megabytesOfSpace();
  ASSERT_TRUE(image.take(*state, all, {}).ok());
  EXPECT_LT(megabytesOfSpace(), before + most);
}

// A run that was left by an exception may still write when the next one gets its memory ready.
TEST(CheckpointWriter, WaitsBeforeItsMemoryGoes) {
  const TemporaryFolder folder;
  const auto state = stateWith(folder, 1);
  const std::string pipe = folder.path("pipe"), file = folder.path("c");
  ASSERT_TRUE(saveVariablesOf(*state, {}, file, {}).ok());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  CheckpointWriter writer;
  ASSERT_TRUE(writer.begin(*state, {}, {.path = pipe}, {}, 0, nullptr).ok());
  // The file is not written before somebody reads it, and that begins behind prepare().
  std::atomic<bool> begun = false;
  std::thread next([&] {
    begun = true;
    begun.notify_one();
    writer.prepare(*state, 1);
  });
  begun.wait(false);
  std::ifstream in(pipe, std::ios::binary);
  const std::vector<char> content(std::istreambuf_iterator<char>(in), {});
  next.join();
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(content)), readFile(file)));
}

// No file comes or goes for a number that is not finite. What else fails is no matter of numbers.
TEST(CheckpointWriter, TellsNumbersFromFiles) {
  const TemporaryFolder folder;
  const auto state = stateWith(folder, 1);
  CheckpointWriter writer;
  ASSERT_TRUE(writer.begin(*state, {}, {.path = folder.path("no/c")}, {}, 3, nullptr).ok());
  std::optional<CheckpointWriter::Outcome> outcome = writer.finish();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->notFinite, "");
  EXPECT_EQ(outcome->status.code(), StatusCode::Io);

  const std::vector<float> values(4, std::numeric_limits<float>::infinity());
  ASSERT_TRUE(state->write(1, std::as_bytes(std::span(values))).ok());
  ASSERT_TRUE(
      writer.begin(*state, {}, {.path = folder.path("c"), .isBest = true}, {}, 4, nullptr).ok());
  outcome = writer.finish();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->notFinite, "the parameter 'linear1.bias' holds a number that is not finite");
  EXPECT_TRUE(outcome->status.ok());
  EXPECT_TRUE(outcome->bestIsLost);
  EXPECT_NE(access(folder.path("c").c_str(), F_OK), 0);
}

} // namespace
