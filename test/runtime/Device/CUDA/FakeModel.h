// The small model on the fake CUDA device: its kernels are the module's native ones.
#ifndef DLC_TEST_RUNTIME_DEVICE_CUDA_FAKEMODEL_H
#define DLC_TEST_RUNTIME_DEVICE_CUDA_FAKEMODEL_H

#include "dlc/module.h"
#include "test/lib/FakeCuda/FakeCuda.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace dlc::test {

/// A plan for CUDA with an image for sm_90 for each kernel.
inline PlanBuilder cudaModel(uint32_t architecture = 90, PlanBuilder plan = smallSimtModel()) {
  plan.imageBytes.resize(64);
  for (dlc_kernel &kernel : plan.kernels) {
    kernel.images = {uint32_t(plan.images.size()), 1};
    plan.images.push_back({DLC_IMAGE_CUBIN, architecture, 0, 64, 32, 0, 0, 0});
  }
  return plan;
}

/// Loads it from a new file, and tells the fake of its kernels.
inline std::shared_ptr<const runtime::Module>
loadOnFake(const std::string &path, const PlanBuilder &plan, uint32_t targets = simtTargets) {
  writeFile(path, moduleWith(plan.blob(), {.targets = targets}));
  auto module = runtime::Module::load(path).take();
  for (const runtime::KernelInfo &kernel : module->plan().kernels)
    fakeCuda().kernels[std::string(kernel.symbol)] = {
        kernel.arguments + kernel.immediates,
        [module, &kernel](void **parameters, uint32_t blocks) {
          std::vector<void *> buffers;
          std::vector<uint64_t> constants;
          for (uint32_t i = 0; i < kernel.arguments; ++i)
            buffers.push_back(*static_cast<void **>(parameters[i]));
          for (uint32_t i = 0; i < kernel.immediates; ++i)
            constants.push_back(*static_cast<uint64_t *>(parameters[kernel.arguments + i]));
          const dlc_args args = {sizeof(args), kernel.arguments, buffers.data(), constants.data(),
                                 nullptr};
          alignas(64) std::byte scratch[4096];
          for (uint32_t block = 0; block < blocks; ++block)
            module->kernelFunctions()[kernel.function](&args, block, scratch);
        }};
  return module;
}

/// Tests on the fake device, in one order after the other of what it is given.
class FakeCudaTest : public testing::Test {
protected:
  static constexpr uint64_t seeds = 10;

  void SetUp() override { begin(0); }
  void TearDown() override {
    EXPECT_EQ(fakeCuda().hung, 0u);
    EXPECT_EQ(fakeCuda().freedInUse, 0u);
  }

  /// A new device, with an order of its own.
  void begin(uint64_t seed) {
    if (seed != 0)
      TearDown();
    fakeCuda() = FakeCuda();
    fakeCuda().random.seed(seed);
    fakeCuda().fast = seed % 2 * 8;
  }
};

} // namespace dlc::test

#endif
