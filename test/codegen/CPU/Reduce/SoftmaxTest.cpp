//===- SoftmaxTest.cpp - cross entropy, its gradient, accuracy --------------------------------===//
#include "test/codegen/Harness.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dlc::test;

// exp and log are good to one ulp; a sum over the classes and a division come on top.
static const double rounding = 2e-6;

static std::string join(const std::string &a, const std::string &b) { return a + ", " + b; }

static KernelSource loss(const std::string &op, const std::string &logits, const std::string &label,
                         const std::string &result, int axis) {
  return {join(logits, label), result,
          "^bb0(%x: " + logits + ", %l: " + label + "):\n %0 = dl." + op + " %x, %l axis = " +
              std::to_string(axis) + " : " + join(logits, label) + "\n dl.yield %0 : " + result};
}

static KernelSource gradient(const std::string &logits, const std::string &label,
                             const std::string &dloss, int axis) {
  return {
      join(dloss, join(logits, label)), logits,
      "^bb0(%d: " + dloss + ", %x: " + logits + ", %l: " + label +
          "):\n %0 = dl.softmax_cross_entropy_backward %d, %x, %l axis = " + std::to_string(axis) +
          " : " + join(dloss, join(logits, label)) + "\n dl.yield %0 : " + logits};
}

/// Classes along the last axis, from a few to more than some vectors; labels beyond the classes
/// among them.
TEST(Softmax, LastAxis) {
  for (int classes : {2, 5, 10, 16, 50, 200}) {
    std::string logits = "tensor<33x" + std::to_string(classes) + "xf32>";
    for (std::string type : {"i32", "i64"}) {
      std::string label = "tensor<33x" + type + ">";
      checkKernel(loss("softmax_cross_entropy", logits, label, "tensor<33xf32>", 1), rounding,
                  "cpu-row-passes");
      checkKernel(gradient(logits, label, "tensor<33xf32>", 1), rounding, "cpu-row-passes");
      checkKernel(loss("accuracy", logits, label, "tensor<33xf32>", 1), 0, "cpu-row-passes");
    }
  }
}

/// A single class is no row to reduce.
TEST(Softmax, OneClass) {
  const char *logits = "tensor<33x1xf32>", *label = "tensor<33xi32>", *result = "tensor<33xf32>";
  checkKernel(loss("softmax_cross_entropy", logits, label, result, 1), rounding);
  checkKernel(gradient(logits, label, result, 1), rounding);
  checkKernel(loss("accuracy", logits, label, result, 1), 0);
}

/// Few classes along an inner axis are taken one by one, many by the definition.
TEST(Softmax, InnerAxis) {
  const char *label = "tensor<3x5x9xi32>", *result = "tensor<3x5x9xf32>";
  for (auto [logits, generator] :
       {std::pair("tensor<3x7x5x9xf32>", "cpu-map"), {"tensor<3x40x5x9xf32>", "cpu-loops"}}) {
    checkKernel(loss("softmax_cross_entropy", logits, label, result, 1), rounding, generator);
    checkKernel(gradient(logits, label, result, 1), rounding);
    checkKernel(loss("accuracy", logits, label, result, 1), 0, generator);
  }
}

/// A single row.
TEST(Softmax, OneRow) {
  checkKernel(loss("softmax_cross_entropy", "tensor<9xf32>", "tensor<i32>", "tensor<f32>", 0),
              rounding, "cpu-row-passes");
}

/// A body before and behind: scaled logits, the gradient cast to another type.
TEST(Softmax, Body) {
  checkKernel(
      {"tensor<f32>, tensor<9x10xf32>, tensor<10xf32>, tensor<9xi32>", "tensor<9x10xf32>", R"(
^bb0(%s: tensor<f32>, %x: tensor<9x10xf32>, %b: tensor<10xf32>, %l: tensor<9xi32>):
  %0 = dl.broadcast %b dims = [1] : tensor<10xf32> to tensor<9x10xf32>
  %1 = dl.add %x, %0 : tensor<9x10xf32>
  %d = dl.broadcast %s dims = [] : tensor<f32> to tensor<9xf32>
  %2 = dl.softmax_cross_entropy_backward %d, %1, %l axis = 1 : tensor<9xf32>, tensor<9x10xf32>,
      tensor<9xi32>
  %3 = dl.multiply %2, %0 : tensor<9x10xf32>
  dl.yield %3 : tensor<9x10xf32>)"},
      rounding, "cpu-row-passes");
}

/// Logits of +-500: nothing overflows, the loss is their distance.
TEST(Softmax, Extremes) {
  CompiledTestKernel forward(
      loss("softmax_cross_entropy", "tensor<2x3xf32>", "tensor<2xi32>", "tensor<2xf32>", 1));
  CompiledTestKernel backward(gradient("tensor<2x3xf32>", "tensor<2xi32>", "tensor<2xf32>", 1));
  ASSERT_TRUE(forward && backward);
  Tensor logits{{2, 3}, {500, -500, -500, 500, -500, -500}}, label{{2}, {0, 1}};
  EXPECT_EQ(forward.run({logits, label})[0].values, (std::vector<double>{0, 1000}));
  EXPECT_EQ(backward.run({Tensor{{2}, {1, 1}}, logits, label})[0].values,
            (std::vector<double>{0, 0, 0, 1, -1, 0}));
}
