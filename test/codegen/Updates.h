//===- Updates.h - updates that are checked alike on both targets -------------------*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_UPDATES_H
#define DLC_TEST_CODEGEN_UPDATES_H

#include "test/codegen/Harness.h"
#include <cmath>
#include <gtest/gtest.h>

namespace dlc::test {

/// The table of pieces of tensors of so many f32, the slow way: pieces of 4096, tensors at
/// multiples of 16, empty pieces up to a multiple of four.
inline std::vector<double> piecesOf(const std::vector<int64_t> &sizes) {
  std::vector<double> table;
  int64_t start = 0;
  for (size_t tensor = 0; tensor < sizes.size(); ++tensor) {
    for (int64_t done = 0; done < sizes[tensor]; done += 4096)
      for (int64_t number :
           {int64_t(tensor), start + done, std::min<int64_t>(4096, sizes[tensor] - done), done})
        table.push_back(double(number));
    start += (sizes[tensor] + 15) / 16 * 16;
  }
  while (table.size() % 16 != 0)
    table.push_back(0);
  return table;
}

/// Adds the last three bits of a step, an i64, and whether an i32 is one above 2^24: neither is
/// what it was once it has been an f32.
inline void checkCountingUpdate(const char *target) {
  CompiledTestKernel kernel({"tensor<19xf32>, tensor<i64>, tensor<i32>", "tensor<19xf32>", R"(
^bb0(%p0: tensor<19xf32>, %step: tensor<i64>, %count: tensor<i32>):
  %r = dl.multi_tensor(%p0) scalars(%step, %count) {streams = 1 : i64}
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
  inputs[3].values = piecesOf({19});
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

/// Elements of two tensors, one in seven pieces, numbered from a number of the tensor's own on.
inline void checkNumberedUpdate(const char *target) {
  const std::string types = "tensor<5xf32>, tensor<3x9001xf32>";
  CompiledTestKernel kernel({types + ", tensor<2xi32>", types, R"(
^bb0(%p0: tensor<5xf32>, %p1: tensor<3x9001xf32>, %firsts: tensor<2xi32>):
  %r:2 = dl.multi_tensor(%p0, %p1) each(%firsts) scalars() {numbered, streams = 1 : i64}
      : ()" + types + ", tensor<2xi32>) -> (" + types + R"() {
  ^bb0(%p: tensor<f32>, %first: tensor<i32>, %number: tensor<i32>):
    %0 = dl.add %first, %number : tensor<i32>
    %1 = dl.cast %0 : tensor<i32> to tensor<f32>
    dl.yield %1 : tensor<f32>
  }
  dl.yield %r#0, %r#1 : )" + types},
                            target);
  ASSERT_TRUE(kernel);
  std::vector<Tensor> inputs = kernel.randomInputs();
  const std::vector<int64_t> sizes = {5, 27003}, starts = {0, 16};
  const double firsts[] = {-3, 1000};
  inputs[1].values = {firsts[0], firsts[1]};
  inputs[2].values = piecesOf(sizes);
  const std::vector<double> found = kernel.run(inputs)[0].values;
  for (int tensor = 0; tensor < 2; ++tensor)
    for (int64_t i = 0; i < sizes[tensor]; ++i)
      ASSERT_EQ(found[starts[tensor] + i], firsts[tensor] + double(i)) << tensor;
}

/// Adds up x * y in f32 and x in f64 over each tensor, and stores their sum in bf16. x is f32, y
/// bf16, so tensors begin at multiples of 32 elements.
inline void checkSums(const char *target, double tolerance) {
  const std::string xs = "tensor<5xf32>, tensor<0xf32>, tensor<3x9001xf32>",
                    ys = "tensor<5xbf16>, tensor<0xbf16>, tensor<3x9001xbf16>",
                    results = ys + ", tensor<3xf32>, tensor<3xf64>";
  CompiledTestKernel kernel({xs + ", " + ys, results, R"(
^bb0(%x0: tensor<5xf32>, %x1: tensor<0xf32>, %x2: tensor<3x9001xf32>,
     %y0: tensor<5xbf16>, %y1: tensor<0xbf16>, %y2: tensor<3x9001xbf16>):
  %r:5 = dl.multi_tensor(%x0, %x1, %x2, %y0, %y1, %y2) scalars() {streams = 2 : i64, sums = 2 : i64}
      : ()" + xs + ", " + ys + ") -> (" + results + R"() {
  ^bb0(%x: tensor<f32>, %y: tensor<bf16>):
    %0 = dl.cast %y : tensor<bf16> to tensor<f32>
    %1 = dl.multiply %x, %0 : tensor<f32>
    %2 = dl.add %x, %0 : tensor<f32>
    %3 = dl.cast %2 : tensor<f32> to tensor<bf16>
    %4 = dl.cast %x : tensor<f32> to tensor<f64>
    dl.yield %3, %1, %4 : tensor<bf16>, tensor<f32>, tensor<f64>
  }
  dl.yield %r#0, %r#1, %r#2, %r#3, %r#4 : )" + results},
                            target);
  ASSERT_TRUE(kernel);
  std::vector<Tensor> inputs = kernel.randomInputs();
  // Tensors at 0, 32 and 32; the last in seven pieces.
  inputs[2].values = {0, 0, 5, 0};
  std::vector<double> firsts = {0, 1, 1, 8};
  for (int64_t done = 0; done < 27003; done += 4096)
    for (int64_t number : {int64_t(2), 32 + done, std::min<int64_t>(4096, 27003 - done), done})
      inputs[2].values.push_back(double(number));
  inputs[3].values = firsts;
  // So that a bf16 holds y.
  for (double &y : inputs[1].values)
    y = std::round(y * 128) / 128;
  // What lies between tensors counts for nothing.
  for (int64_t i = 5; i < 32; ++i)
    inputs[0].values[i] = inputs[1].values[i] = 1e30;
  std::vector<Tensor> outputs = kernel.run(inputs);
  const int64_t starts[] = {0, 32, 32}, ends[] = {5, 32, 27035};
  for (int tensor = 0; tensor < 3; ++tensor) {
    double products = 0, sum = 0, scale = 0;
    for (int64_t i = starts[tensor]; i < ends[tensor]; ++i) {
      double x = float(inputs[0].values[i]), y = inputs[1].values[i];
      products += x * y;
      sum += x;
      scale += std::abs(x);
      // A bf16 keeps eight bits.
      EXPECT_NEAR(outputs[0].values[i], x + y, std::abs(x + y) * 0x1p-8) << i;
    }
    // Of terms that cancel, what rounding moves is a part of their magnitudes.
    EXPECT_NEAR(outputs[1].values[tensor], products, tolerance * scale) << tensor;
    EXPECT_NEAR(outputs[2].values[tensor], sum, 27003 * 0x1p-53 * scale) << tensor;
  }
  for (TaskOrder order : {TaskOrder::Backward, TaskOrder::Shuffled})
    for (int sums : {1, 2})
      EXPECT_EQ(outputs[sums].values, kernel.run(inputs, order)[sums].values);
}

} // namespace dlc::test

#endif
