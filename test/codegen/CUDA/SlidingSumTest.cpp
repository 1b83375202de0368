//===- SlidingSumTest.cpp - sums of neighbours on the SIMT device
//---------------------------------===//
#include "test/codegen/SlidingSumKernels.h"
#include <gtest/gtest.h>

using namespace dlc::test;

TEST(CudaSlidingSum, Sums) {
  for (const SlidingCase &of : slidingCases) {
    // Longer sums are computed element by element.
    const bool isLong = of.attributes.find("20") != std::string::npos;
    const char *generator = isLong ? "cuda-elements" : "cuda-sliding-sum";
    checkCudaKernel(slidingSum(of), slidingRounding, generator);
    checkCudaKernel(slidingSum(of, "f64"), 1e-14, generator);
    checkCudaKernel(slidingSumBetween(of, false), slidingRounding, generator);
    checkCudaKernel(slidingSumBetween(of, true), slidingRounding, "cuda-elements");
  }
}
