//===- MultiTensorTest.cpp - one update over many tensors -------------------------------------===//
#include "test/codegen/Updates.h"

using namespace dlc::test;

/// Sums over tensors of all sizes, one of them empty, beside a stream of another type.
TEST(MultiTensor, SumsOverTensors) {
  for (const char *target : {"native", "avx2"})
    checkSums(target, /*tolerance=*/2e-6);
}

/// Tensors of all sizes in flat buffers: each starts at the next multiple of 64 bytes, its
/// multipliers are its own, and the gaps between tensors stay as they were.
TEST(MultiTensor, Momentum) {
  const std::string types =
      "tensor<5xf32>, tensor<3x9001xf32>, tensor<1xf32>, tensor<5xf32>, tensor<3x9001xf32>, "
      "tensor<1xf32>, tensor<5xf32>, tensor<3x9001xf32>, tensor<1xf32>";
  const std::string results =
      "tensor<5xf32>, tensor<3x9001xf32>, tensor<1xf32>, tensor<5xf32>, tensor<3x9001xf32>, "
      "tensor<1xf32>";
  const std::vector<int64_t> sizes = {5, 27003, 1}, starts = {0, 16, 27024};
  const int64_t flat = 27040;
  for (const char *target : {"native", "avx2"}) {
    CompiledTestKernel kernel({types + ", tensor<3xf32>, tensor<3xf32>, tensor<f32>", results,
                               R"(
^bb0(%p0: tensor<5xf32>, %p1: tensor<3x9001xf32>, %p2: tensor<1xf32>,
     %g0: tensor<5xf32>, %g1: tensor<3x9001xf32>, %g2: tensor<1xf32>,
     %v0: tensor<5xf32>, %v1: tensor<3x9001xf32>, %v2: tensor<1xf32>, %lrs: tensor<3xf32>,
     %decays: tensor<3xf32>, %lr: tensor<f32>):
  %r:6 = dl.multi_tensor(%p0, %p1, %p2, %g0, %g1, %g2, %v0, %v1, %v2)
      each(%lrs, %decays) scalars(%lr) {streams = 3 : i64} : ()" +
                                   types + ", tensor<3xf32>, tensor<3xf32>, tensor<f32>) -> (" +
                                   results +
                                   R"() {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>, %v: tensor<f32>, %a: tensor<f32>, %b: tensor<f32>,
      %s: tensor<f32>):
    %0 = dl.multiply %b, %p : tensor<f32>
    %1 = dl.add %g, %0 : tensor<f32>
    %2 = dl.add %v, %1 : tensor<f32>
    %3 = dl.multiply %s, %a : tensor<f32>
    %4 = dl.multiply %3, %2 : tensor<f32>
    %5 = dl.subtract %p, %4 : tensor<f32>
    dl.yield %5, %2 : tensor<f32>, tensor<f32>
  }
  dl.yield %r#0, %r#1, %r#2, %r#3, %r#4, %r#5 : )" +
                                   results},
                              target);
    ASSERT_TRUE(kernel);
    std::vector<Tensor> inputs = kernel.randomInputs();
    inputs[3].values = {1.0, 2.0, 4.0};
    inputs[4].values = {0.5, 0.25, 0.0};
    inputs[5].values[0] = 0.125;
    inputs[6].values = piecesOf(sizes);
    std::vector<Tensor> outputs = kernel.run(inputs);
    const double lr[] = {1.0, 2.0, 4.0}, decay[] = {0.5, 0.25, 0.0};
    std::vector<bool> covered(flat, false);
    for (int tensor = 0; tensor < 3; ++tensor)
      for (int64_t i = starts[tensor]; i < starts[tensor] + sizes[tensor]; ++i) {
        covered[i] = true;
        float p = inputs[0].values[i], g = inputs[1].values[i], v = inputs[2].values[i];
        double velocity = double(v) + g + decay[tensor] * p;
        ASSERT_NEAR(outputs[1].values[i], velocity, 1e-6) << i;
        ASSERT_NEAR(outputs[0].values[i], p - 0.125 * lr[tensor] * velocity, 1e-6) << i;
      }
    // The harness poisons results: bytes 0xcb.
    for (int64_t i = 0; i < flat; ++i)
      if (!covered[i])
        ASSERT_LT(outputs[0].values[i], -2e7) << "wrote between tensors at " << i;
    EXPECT_EQ(outputs[0].values, kernel.run(inputs, TaskOrder::Shuffled)[0].values);
  }
}

TEST(MultiTensor, NumbersElements) {
  for (const char *target : {"native", "avx2"})
    checkNumberedUpdate(target);
}

TEST(MultiTensor, CountsBeyond24Bits) {
  for (const char *target : {"native", "avx2"})
    checkCountingUpdate(target);
}
