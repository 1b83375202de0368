// 2,000 damaged modules. A changed file is found by its hash before anything of it is opened; a
// changed plan whose hashes are right again is found by the checks, or is still a valid plan.
#include "dlc/module.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <gtest/gtest.h>
#include <random>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

/// Loads a file of this content; what comes back is a module or one line.
bool loads(const TemporaryFolder &folder, const std::vector<std::byte> &content) {
  const std::string path = folder.path("x.so");
  writeFile(path, content);
  auto module = Module::load(path);
  if (!module.ok())
    EXPECT_EQ(module.status().message().find('\n'), std::string::npos) << module.status().message();
  return module.ok();
}

TEST(Damage, FilesAreRefused) {
  TemporaryFolder folder;
  std::mt19937 random(11);
  const auto good = moduleWith(smallModel().blob());
  ASSERT_TRUE(loads(folder, good));
  for (int round = 0; round < 1000; ++round) {
    auto content = good;
    if (round % 4 == 0)
      content.resize(random() % content.size());
    else if (round % 4 == 1)
      content.insert(content.end(), 1 + random() % 100, std::byte(random()));
    else // Half of these in the headers and the note.
      for (unsigned flips = 1 + random() % 4; flips > 0; --flips)
        content[random() % (round % 4 == 2 ? size_t(800) : content.size())] ^=
            std::byte(1u << random() % 8);
    if (content != good)
      EXPECT_FALSE(loads(folder, content)) << "round " << round;
  }
}

/// The CUDA model with an image and a library call.
PlanBuilder cudaModel() {
  PlanBuilder plan = smallSimtModel();
  plan.imageBytes.resize(128);
  plan.images.push_back({DLC_IMAGE_CUBIN, 90, 64, 64, 32, 0, 0, 0});
  plan.kernels[0].images = {0, 1};
  dlc_library_call call = {};
  call.op = DLC_CALL_CONVOLUTION;
  const uint64_t sizes[] = {2, 8, 1, 1, 4, 4, 4, 1, 1, 0, 0, 1, 4, 4, 1, 1, 0, 0, 1};
  std::copy(std::begin(sizes), std::end(sizes), call.sizes);
  plan.beginEntry("library", DLC_ENTRY_INFER, 8);
  plan.input("image", PlanBuilder::type(DLC_F32, {8, 1, 4, 4}));
  plan.library("conv", call, {writing(plan.arena(128)), plan.ofInput(0), plan.ofVariable(0)});
  plan.endEntry();
  return plan;
}

class DamagedPlans : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Targets, DamagedPlans, testing::Bool());

TEST_P(DamagedPlans, AreChecked) {
  TemporaryFolder folder;
  std::mt19937 random(13);
  const auto good = (GetParam() ? cudaModel() : smallModel()).blob();
  const NoteFields note{.targets = GetParam() ? simtTargets : 1u << DLC_TARGET_CPU};
  ASSERT_TRUE(loads(folder, moduleWith(good, note)));
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    auto blob = good;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      std::byte &byte = blob[random() % blob.size()];
      byte = random() % 2 ? byte ^ std::byte(1u << random() % 8)
                          : std::byte(random() % 3 ? 0xff : random());
    }
    refused += !loads(folder, moduleWith(blob, note));
  }
  // Many bytes are free: alignment, text, initial values, sizes of work.
  EXPECT_GT(refused, 200);
}

} // namespace
