//===- SamplesTest.cpp - images read at places on the CPU -------------------------------------===//
//
// dl.grid_sample, dl.grid_sample_backward_image and dl.grid_sample_backward_grid.
//
//===------------------------------------------------------------------------------------------===//
#include "test/codegen/SampleKernels.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dlc::test;

TEST(Samples, AllKinds) {
  for (const SampleSizes &sizes : sampleSizes)
    for (const char *kind : sampleKinds)
      for (const KernelSource &source : sampleKernels(sizes, kind))
        checkKernel(source, sampleRounding, "cpu-loops");
}

/// The gradient of the image has code that adds, in the same order, where places have read.
TEST(Samples, GradientOfTheImage) {
  for (const SampleSizes &sizes : sampleSizes)
    for (const char *kind : sampleKinds) {
      const KernelSource source = sampleKernels(sizes, kind)[1];
      checkKernel(source, sampleRounding, "cpu-sample-gradient");
      checkKernel(inElement(source, "f64"), 1e-13, "cpu-sample-gradient");
    }
}

/// Places and shares are of f32, so that results are rounded once.
TEST(Samples, OtherElements) {
  for (const char *kind : {"", "reflect", "nearest reflect align_corners"})
    for (const KernelSource &source : sampleKernels(sampleSizes[0], kind))
      for (const auto &[element, rounding] : otherElements)
        checkKernel(inElement(source, element), rounding, "cpu-loops");
}

/// What is not a number reads nothing, and what is not finite reaches what was read alone.
TEST(Samples, NotFinite) {
  const double nan = std::nan("");
  for (const char *kind : {"", "border", "reflect", "nearest"}) {
    std::vector<KernelSource> sources = sampleKernels({"1x1x2x2", "1x1x2x2", "1x1x1x2"}, kind);
    CompiledTestKernel forward(sources[0]), backward(sources[1]);
    ASSERT_TRUE(forward && backward);
    const Tensor grid{{1, 1, 2, 2}, {nan, 0, 0.1, 0.1}};
    const Tensor y = forward.run({Tensor{{1, 1, 2, 2}, {1, 2, 3, 4}}, grid})[0];
    EXPECT_EQ(y.values[0], 0) << kind;
    EXPECT_GT(y.values[1], 0) << kind;
    const Tensor dx = backward.run({Tensor{{1, 1, 1, 2}, {INFINITY, 1}}, grid})[0];
    for (double value : dx.values)
      EXPECT_LE(value, 1) << kind;
  }
}
