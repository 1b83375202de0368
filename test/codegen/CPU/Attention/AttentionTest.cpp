//===- AttentionTest.cpp - dl.attention and dl.attention_backward on the CPU
//---------------------===//
#include "test/codegen/AttentionKernels.h"
#include "test/codegen/Harness.h"
#include <gtest/gtest.h>

using namespace dlc::test;

// Exponentials and products of float32 whose sums are of some hundred terms; gradients are
// differences of such.
static const double rounding = 4e-6;

/// One query, one key, odd numbers and primes, several blocks, deep and wide heads, more keys than
/// queries and fewer.
TEST(Attention, Shapes) {
  for (const AttentionSizes &sizes : {AttentionSizes{1, 1, 1, 1, 1, 1},
                                      {2, 3, 5, 7, 4, 6},
                                      {1, 2, 131, 1, 3, 5},
                                      {1, 17, 100, 131, 64, 64}}) {
    checkKernel(attention(sizes), rounding, "cpu-attention");
    checkKernel(attentionBackward(sizes), rounding, "cpu-attention");
  }
}

/// What is behind a position is not seen, whether the blocks meet the diagonal or not.
TEST(Attention, Causal) {
  for (const AttentionSizes &sizes : {AttentionSizes{1, 2, 7, 7, 4, 4},
                                      {1, 16, 150, 150, 16, 16},
                                      {1, 1, 210, 300, 8, 8},
                                      {2, 1, 300, 210, 8, 8}}) {
    checkKernel(attention(sizes, " causal"), rounding, "cpu-attention");
    checkKernel(attentionBackward(sizes, " causal"), rounding, "cpu-attention");
  }
}

/// Masks of bools and of numbers, dropout, and all of them with each other; read as they are stored
/// and computed where they are read.
TEST(Attention, MaskAndDropout) {
  const AttentionSizes small{2, 2, 21, 19, 6, 5}, large{1, 2, 130, 140, 8, 8};
  checkKernel(attention(small, "", "xi1"), rounding, "cpu-attention");
  checkKernel(attention(large, " causal", "xf32", true), rounding, "cpu-attention");
  checkKernel(attentionBackward(small, "", "xf32"), rounding, "cpu-attention");
  checkKernel(attentionBackward(large, " causal", "xi1", true), rounding, "cpu-attention");
  checkKernel(fusedAttention(), rounding, "cpu-attention");
}

/// Scores of +-1000 neither overflow nor hide each other; a row that sees nothing gives 0.
TEST(Attention, Extremes) {
  CompiledTestKernel kernel(attention({1, 1, 2, 3, 1, 1}, "", "xi1"));
  ASSERT_TRUE(kernel);
  Tensor q{{1, 1, 2, 1}, {1000, 1}}, k{{1, 1, 3, 1}, {1, -1, 0.5}}, v{{1, 1, 3, 1}, {2, 3, 5}},
      mask{{1, 1, 2, 3}, {1, 1, 1, 0, 0, 0}};
  std::vector<Tensor> results = kernel.run({q, k, v, mask});
  EXPECT_EQ(results[0].values, (std::vector<double>{2, 0}));
  EXPECT_NEAR(results[1].values[0], 500, 1e-3); // scale is 0.5
}

/// Of results that nobody asks for nothing is stored.
TEST(Attention, WithoutAll) {
  KernelSource source = attention({1, 2, 5, 7, 4, 4});
  source.results = "tensor<1x2x5x4xf32>";
  source.block.replace(source.block.find("dl.yield"), std::string::npos,
                       "dl.yield %0#0 : tensor<1x2x5x4xf32>");
  checkKernel(source, rounding, "cpu-attention");
}
