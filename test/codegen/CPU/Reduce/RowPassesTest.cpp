//===- RowPassesTest.cpp - softmax, norms: what needs all of a row first ----------------------===//
#include "test/codegen/RowPassesKernels.h"
#include <gtest/gtest.h>

using namespace dlc::test;

// exp and a sum of blocks: a few roundings.
static const double rounding = 2e-6;

/// Rows of all lengths around vectors and unrolled steps; one row, and more than a task takes.
TEST(RowPasses, Softmax) {
  for (int64_t length : {2, 3, 10, 16, 17, 64, 67, 5000})
    checkKernel(softmaxKernel(7, length), rounding, "cpu-row-passes");
  checkKernel(softmaxKernel(1, 1000), rounding, "cpu-row-passes");
  checkKernel(softmaxKernel(1003, 100), rounding, "cpu-row-passes");
  checkKernel(softmaxKernel(5, 70, "f64"), 1e-12, "cpu-row-passes");
}

/// In bf16 each op rounds its result, wherever it is computed.
TEST(RowPasses, SmallFloats) { checkKernel(softmaxKernel(7, 67, "bf16"), 1e-2, "cpu-row-passes"); }

TEST(RowPasses, Gradient) {
  checkKernel(softmaxGradientKernel(33, 37), rounding, "cpu-row-passes");
}

TEST(RowPasses, RowsOfSeveralAxes) { checkKernel(groupNormKernel, 4e-6, "cpu-row-passes"); }

TEST(RowPasses, OneElementARow) { checkKernel(smoothedLossKernel, rounding, "cpu-row-passes"); }

/// The definition, each element for itself.
TEST(RowPasses, Loops) {
  checkKernel(softmaxKernel(5, 19), rounding, "cpu-loops");
  checkKernel(groupNormKernel, 4e-6, "cpu-loops");
  checkKernel(turnedSoftmaxKernel, 4e-6, "");
}

/// exp is computed once, and its row lies in scratch until the sum is known.
TEST(RowPasses, KeepsExpensiveValues) {
  auto softmax = CompiledTestKernel::select(softmaxKernel(8, 100), "avx2", "cpu-row-passes");
  ASSERT_NE(softmax.generator, nullptr);
  EXPECT_EQ(softmax.candidate.phases.front().scratchBytes, 448u);
  auto gradient =
      CompiledTestKernel::select(softmaxGradientKernel(8, 100), "avx2", "cpu-row-passes");
  ASSERT_NE(gradient.generator, nullptr);
  EXPECT_EQ(gradient.candidate.phases.front().scratchBytes, 0u);
}

/// A result may lie in an operand's memory if nothing is stored before the last pass.
TEST(RowPasses, InPlace) {
  EXPECT_TRUE(CompiledTestKernel::select(softmaxKernel(8, 100), "avx2", "cpu-row-passes")
                  .candidate.inPlace);
  EXPECT_FALSE(
      CompiledTestKernel::select(groupNormKernel, "avx2", "cpu-row-passes").candidate.inPlace);
  EXPECT_FALSE(
      CompiledTestKernel::select(softmaxKernel(8, 100), "avx2", "cpu-loops").candidate.inPlace);
}
