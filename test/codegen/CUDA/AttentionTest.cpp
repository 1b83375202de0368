//===- AttentionTest.cpp - dl.attention and dl.attention_backward on the SIMT device
//-------------===//
#include "test/codegen/AttentionKernels.h"
#include "test/codegen/Harness.h"
#include <gtest/gtest.h>

using namespace dlc::test;

// As on the CPU.
static const double rounding = 4e-6;

/// One tile and several, heads that no tile of columns divides, causal with more and fewer keys.
TEST(CudaAttention, Shapes) {
  const AttentionSizes small{2, 3, 5, 7, 4, 6}, deep{1, 2, 67, 37, 33, 40},
      wide{1, 1, 40, 70, 8, 8};
  checkCudaKernel(attention(small), rounding, "cuda-attention");
  checkCudaKernel(attention(deep, " causal"), rounding, "cuda-attention");
  checkCudaKernel(attentionBackward(small), rounding, "cuda-attention");
  checkCudaKernel(attentionBackward(deep, " causal"), rounding, "cuda-attention");
  checkCudaKernel(attentionBackward(wide, " causal"), rounding, "cuda-attention");
}

TEST(CudaAttention, MaskAndDropout) {
  const AttentionSizes sizes{2, 1, 21, 35, 6, 5};
  checkCudaKernel(attention(sizes, "", "xi1", true), rounding, "cuda-attention");
  checkCudaKernel(attentionBackward(sizes, " causal", "xf32", true), rounding, "cuda-attention");
  checkCudaKernel(fusedAttention(), rounding, "cuda-attention");
}
