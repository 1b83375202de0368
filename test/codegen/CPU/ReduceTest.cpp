//===- ReduceTest.cpp - reductions along any axes ---------------------------------------------===//
#include "test/codegen/Harness.h"
#include <gtest/gtest.h>

using namespace dlc::test;

// Sums are blocked: the error stays near that of one addition however long they are.
static const double rounding = 1e-6;

static KernelSource reduction(const std::string &kind, const std::string &from,
                              const std::string &to, const std::string &axes) {
  return {from, to,
          "^bb0(%x: " + from + "):\n %0 = dl.reduce " + kind + " %x axes = [" + axes +
              "] : " + from + "\n dl.yield %0 : " + to};
}

/// Along the last axis, of all lengths around vectors and unrolled steps.
TEST(Reduce, Rows) {
  for (int size : {1, 3, 10, 16, 17, 64, 67, 5000}) {
    std::string from = "tensor<7x" + std::to_string(size) + "xf32>";
    checkKernel(reduction("sum", from, "tensor<7xf32>", "1"), rounding, "cpu-reduce");
  }
}

/// Along the first axis: whole vectors of columns, and a tail.
TEST(Reduce, Columns) {
  for (int size : {1, 10, 16, 37, 64, 500}) {
    std::string from = "tensor<64x" + std::to_string(size) + "xf32>";
    std::string to = "tensor<" + std::to_string(size) + "xf32>";
    checkKernel(reduction("sum", from, to, "0"), rounding, "cpu-reduce");
  }
}

/// The gradient of a convolution's bias; kept axes inside and between reduced ones.
TEST(Reduce, Inner) {
  checkKernel(reduction("sum", "tensor<8x20x13x11xf32>", "tensor<20xf32>", "0, 2, 3"), rounding,
              "cpu-reduce");
  checkKernel(reduction("sum", "tensor<3x4x5x6xf32>", "tensor<4x6xf32>", "0, 2"), rounding,
              "cpu-reduce");
  checkKernel(reduction("max", "tensor<3x4x5x6xf32>", "tensor<3x5xf32>", "1, 3"), 0, "cpu-reduce");
}

/// To a single number, in two phases; the whole tensor is one axis.
TEST(Reduce, Everything) {
  checkKernel(reduction("sum", "tensor<1001x503xf32>", "tensor<f32>", "0, 1"), rounding,
              "cpu-reduce");
  checkKernel(reduction("min", "tensor<1001x503xf32>", "tensor<f32>", "0, 1"), 0, "cpu-reduce");
}

/// Few columns and many rows: the rows are split into pieces.
TEST(Reduce, SplitColumns) {
  checkKernel(reduction("sum", "tensor<40009x5xf32>", "tensor<5xf32>", "0"), rounding,
              "cpu-reduce");
}

/// Integers, also unsigned, and bool counts by way of a cast.
TEST(Reduce, Integers) {
  checkKernel(reduction("sum", "tensor<9x33xi32>", "tensor<9xi32>", "1"), 0, "cpu-reduce");
  checkKernel(reduction("max", "tensor<9x33xui8>", "tensor<33xui8>", "0"), 0, "cpu-reduce");
  checkKernel(reduction("min", "tensor<9x33xi64>", "tensor<9xi64>", "1"), 0, "cpu-reduce");
}

/// A body before and behind: the masked gradient is stored from the walk that sums it, the sum is
/// scaled.
TEST(Reduce, PrologueEpilogueAndStoredOperand) {
  checkKernel({"tensor<6x5x4x9xf32>, tensor<6x5x4x9xf32>, tensor<5xf32>",
               "tensor<6x5x4x9xf32>, tensor<5xf32>", R"(
^bb0(%dy: tensor<6x5x4x9xf32>, %y: tensor<6x5x4x9xf32>, %s: tensor<5xf32>):
  %zero = dl.constant dense<0.0> : tensor<6x5x4x9xf32>
  %m = dl.compare gt %y, %zero : tensor<6x5x4x9xf32>
  %dx = dl.select %m, %dy, %zero : tensor<6x5x4x9xf32>
  %sum = dl.reduce sum %dx axes = [0, 2, 3] : tensor<6x5x4x9xf32>
  %db = dl.multiply %sum, %s : tensor<5xf32>
  dl.yield %dx, %db : tensor<6x5x4x9xf32>, tensor<5xf32>)"},
              rounding, "cpu-reduce");
}

/// A bias inside the sum splits the reduced axes; exp of masked lanes must not count.
TEST(Reduce, BroadcastInside) {
  checkKernel({"tensor<4x6x7xf32>, tensor<6xf32>", "tensor<4xf32>", R"(
^bb0(%x: tensor<4x6x7xf32>, %b: tensor<6xf32>):
  %0 = dl.broadcast %b dims = [1] : tensor<6xf32> to tensor<4x6x7xf32>
  %1 = dl.add %x, %0 : tensor<4x6x7xf32>
  %2 = dl.exp %1 : tensor<4x6x7xf32>
  %3 = dl.reduce sum %2 axes = [1, 2] : tensor<4x6x7xf32>
  dl.yield %3 : tensor<4xf32>)"},
              rounding, "cpu-reduce");
}

/// Of nothing: a sum is zero.
TEST(Reduce, Empty) { checkKernel(reduction("sum", "tensor<0x5xf32>", "tensor<5xf32>", "0"), 0); }

/// 16-bit floats are summed in f32: one rounding at the end.
TEST(Reduce, SmallFloats) {
  checkKernel(reduction("sum", "tensor<3000x7xbf16>", "tensor<7xbf16>", "0"), 1.0 / 256,
              "cpu-reduce");
  checkKernel(reduction("sum", "tensor<7x3000xf16>", "tensor<7xf16>", "1"), 1.0 / 1024,
              "cpu-reduce");
  checkKernel(reduction("sum", "tensor<7x3000xf16>", "tensor<7xf16>", "1"), 1.0 / 1024,
              "cpu-loops");
}
