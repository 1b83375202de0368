//===- SlidingSumTest.cpp - sums of neighbours on the CPU
//-----------------------------------------===//
#include "test/codegen/SlidingSumKernels.h"
#include <gtest/gtest.h>

using namespace dlc::test;

TEST(SlidingSum, Sums) {
  for (const SlidingCase &of : slidingCases) {
    checkKernel(slidingSum(of), slidingRounding, "cpu-sliding-sum");
    checkKernel(slidingSum(of), slidingRounding, "cpu-loops");
    checkKernel(slidingSum(of, "f64"), 1e-14, "cpu-loops");
    for (const auto &[element, rounding] : otherElements)
      checkKernel(slidingSum(of, element), rounding, "cpu-sliding-sum");
    checkKernel(slidingSumBetween(of, false), slidingRounding, "cpu-sliding-sum");
    checkKernel(slidingSumBetween(of, true), slidingRounding, "cpu-sliding-sum");
  }
}

/// What a sum is computed from and what it is needed for may differ along an axis that vectors go
/// along: then single elements are walked.
TEST(SlidingSum, WalksSingleElements) {
  const std::string type = "tensor<2x6x3x5xf32>";
  checkKernel({type + ", tensor<3xf32>", type,
               "^bb0(%x: " + type +
                   ", %r: tensor<3xf32>):\n %w = dl.broadcast %r dims = [2] : "
                   "tensor<3xf32> to " +
                   type + "\n %p = dl.multiply %x, %w : " + type +
                   "\n %y = dl.sliding_sum %p axis = 1 before = 1 after = 1 : " + type +
                   "\n dl.yield %y : " + type},
              slidingRounding, "cpu-sliding-sum");
}
