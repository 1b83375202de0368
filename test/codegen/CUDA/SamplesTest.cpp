//===- SamplesTest.cpp - images read at places on the SIMT device -----------------------------===//
//
// dl.grid_sample, dl.grid_sample_backward_image and dl.grid_sample_backward_grid.
//
//===------------------------------------------------------------------------------------------===//
#include "test/codegen/SampleKernels.h"
#include <gtest/gtest.h>

using namespace dlc::test;

/// Each kind at one size, and each size in one kind: a compiler takes a while for each.
TEST(CudaSamples, AllKinds) {
  for (const char *kind : sampleKinds)
    for (const KernelSource &source : sampleKernels(sampleSizes[0], kind))
      checkCudaKernel(source, sampleRounding, "cuda-elements");
}

TEST(CudaSamples, AllSizes) {
  for (const SampleSizes &sizes : llvm::drop_begin(sampleSizes))
    for (const KernelSource &source : sampleKernels(sizes, "reflect align_corners"))
      checkCudaKernel(source, sampleRounding, "cuda-elements");
}

TEST(CudaSamples, OtherElements) {
  for (const KernelSource &source : sampleKernels(sampleSizes[0], "reflect"))
    for (const auto &[element, rounding] : otherElements)
      checkCudaKernel(inElement(source, element), rounding, "cuda-elements");
}
