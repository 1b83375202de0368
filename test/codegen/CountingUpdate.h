//===- CountingUpdate.h - an update that shows how exact its integers are -----------*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_COUNTINGUPDATE_H
#define DLC_TEST_CODEGEN_COUNTINGUPDATE_H

#include "test/codegen/Harness.h"
#include <gtest/gtest.h>

namespace dlc::test {

/// Adds the last three bits of a step, an i64, and whether an i32 is one above 2^24: neither is
/// what it was once it has been an f32.
inline void checkCountingUpdate(const char *target) {
  CompiledTestKernel kernel({"tensor<19xf32>, tensor<i64>, tensor<i32>", "tensor<19xf32>", R"(
^bb0(%p0: tensor<19xf32>, %step: tensor<i64>, %count: tensor<i32>):
  %r = dl.multi_tensor(%p0) scalars(%step, %count) {streams = 1 : i64, multipliers = array<f64>}
      : (tensor<19xf32>, tensor<i64>, tensor<i32>) -> tensor<19xf32> {
  ^bb0(%p: tensor<f32>, %s: tensor<i64>, %c: tensor<i32>):
    %eighth = dl.constant dense<8> : tensor<i64>
    %0 = dl.divide %s, %eighth : tensor<i64>
    %1 = dl.multiply %0, %eighth : tensor<i64>
    %2 = dl.subtract %s, %1 : tensor<i64>
    %3 = dl.cast %2 : tensor<i64> to tensor<f32>
    %wanted = dl.constant dense<16777217> : tensor<i32>
    %same = dl.compare eq %c, %wanted : tensor<i32>
    %4 = dl.cast %same : tensor<i1> to tensor<f32>
    %5 = dl.add %3, %4 : tensor<f32>
    %6 = dl.add %p, %5 : tensor<f32>
    dl.yield %6 : tensor<f32>
  }
  dl.yield %r : tensor<19xf32>)"},
                            target);
  ASSERT_TRUE(kernel);
  std::vector<Tensor> inputs = kernel.randomInputs();
  auto added = [&](double step, double count) {
    inputs[1].values[0] = step;
    inputs[2].values[0] = count;
    return kernel.run(inputs)[0].values[18] - inputs[0].values[18];
  };
  // A sum of at most 8 and a number below 1 is off by half of its last bit.
  const double half = 0x1p-21;
  EXPECT_NEAR(added(16777217, 16777217), 2, half);
  EXPECT_NEAR(added(16777217, 16777216), 1, half);
  EXPECT_NEAR(added(0x1p40 + 7, 0), 7, half);
}

} // namespace dlc::test

#endif
