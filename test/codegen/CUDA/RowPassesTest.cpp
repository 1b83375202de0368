//===- RowPassesTest.cpp - CUDA kernels that need all of a row first, on the SIMT device ------===//
#include "test/codegen/RowPassesKernels.h"
#include <gtest/gtest.h>

using namespace dlc::test;

static const double rounding = 2e-6;

/// Rows shorter than a warp, of some warps, and longer than a block.
TEST(CudaRowPasses, Softmax) {
  for (int64_t length : {2, 10, 70, 1001})
    checkCudaKernel(softmaxKernel(5, length), rounding, "cuda-row-passes");
  checkCudaKernel(softmaxKernel(2, 9001), rounding, "cuda-row-passes");
  checkCudaKernel(softmaxKernel(5, 70, "f64"), 1e-12, "cuda-row-passes");
}

TEST(CudaRowPasses, SmallFloats) {
  checkCudaKernel(softmaxKernel(7, 67, "bf16"), 1e-2, "cuda-row-passes");
}

TEST(CudaRowPasses, Gradient) {
  checkCudaKernel(softmaxGradientKernel(33, 300), rounding, "cuda-row-passes");
}

TEST(CudaRowPasses, RowsOfSeveralAxes) {
  checkCudaKernel(groupNormKernel, 4e-6, "cuda-row-passes");
}

TEST(CudaRowPasses, OneElementARow) {
  checkCudaKernel(smoothedLossKernel, rounding, "cuda-row-passes");
}

TEST(CudaRowPasses, Elements) {
  checkCudaKernel(softmaxKernel(5, 19), rounding, "cuda-elements");
  checkCudaKernel(turnedSoftmaxKernel, 4e-6, "cuda-elements");
}
