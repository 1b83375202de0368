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

// A mean is as exact as the elements that it is of; of those around zero it is a small part.
static const double momentsRounding = 4e-6;

static KernelSource moments(const std::string &from, const std::string &to,
                            const std::string &axes) {
  return {from, to + ", " + to,
          "^bb0(%x: " + from + "):\n %0:2 = dl.moments %x axes = [" + axes + "] : " + from +
              "\n dl.yield %0#0, %0#1 : " + to + ", " + to};
}

/// Rows of all lengths around vectors, unrolled steps and blocks of them; kept axes anywhere; of
/// one element each.
TEST(Reduce, Moments) {
  for (int size : {2, 3, 10, 16, 17, 49, 64, 67, 5000, 9001}) {
    std::string from = "tensor<7x" + std::to_string(size) + "xf32>";
    checkKernel(moments(from, "tensor<7xf32>", "1"), momentsRounding, "cpu-reduce");
  }
  checkKernel(moments("tensor<8x20x13x11xf32>", "tensor<20xf32>", "0, 2, 3"), momentsRounding,
              "cpu-reduce");
  checkKernel(moments("tensor<3x4x5x6xf32>", "tensor<4x6xf32>", "0, 2"), momentsRounding,
              "cpu-reduce");
  checkKernel(moments("tensor<67x37xf32>", "tensor<37xf32>", "0"), momentsRounding, "cpu-reduce");
  checkKernel(moments("tensor<1x37xf32>", "tensor<37xf32>", "0"), momentsRounding, "cpu-reduce");
  checkKernel(moments("tensor<7x67xf32>", "tensor<7xf32>", "1"), momentsRounding, "cpu-loops");
}

/// Two phases merge pieces by the same formula, along rows and columns.
TEST(Reduce, MomentsInPieces) {
  checkKernel(moments("tensor<1001x503xf32>", "tensor<f32>", "0, 1"), momentsRounding,
              "cpu-reduce");
  checkKernel(moments("tensor<40009x5xf32>", "tensor<5xf32>", "0"), momentsRounding, "cpu-reduce");
}

/// A mean some thousand times the deviation: the difference of squares and squared mean would have
/// no right digit. The means of parts are rounded by 1/4096, where they differ by a few hundredths:
/// their share of m2 is a few hundredths as well.
TEST(Reduce, MomentsOfALargeMean) {
  checkKernel({"tensor<6x5x40x9xf32>", "tensor<5xf32>, tensor<5xf32>", R"(
^bb0(%x: tensor<6x5x40x9xf32>):
  %c = dl.constant dense<4096.0> : tensor<6x5x40x9xf32>
  %0 = dl.add %x, %c : tensor<6x5x40x9xf32>
  %1:2 = dl.moments %0 axes = [0, 2, 3] : tensor<6x5x40x9xf32>
  dl.yield %1#0, %1#1 : tensor<5xf32>, tensor<5xf32>)"},
              2e-4, "cpu-reduce");
}

/// Small floats: one rounding of each result.
TEST(Reduce, MomentsOfSmallFloats) {
  checkKernel(moments("tensor<300x7xbf16>", "tensor<7xbf16>", "0"), 1.0 / 256, "cpu-reduce");
  checkKernel(moments("tensor<7x300xf16>", "tensor<7xf16>", "1"), 1.0 / 1024, "cpu-reduce");
}

/// The sums of a batch norm's backward pass: one walk over dy and x, which also stores the masked
/// dy; a scaled result behind each.
static KernelSource severalReductions(const std::string &shape, const std::string &kept,
                                      const std::string &axes, const std::string &dims) {
  const std::string x = "tensor<" + shape + "xf32>", c = "tensor<" + kept + "xf32>",
                    b = " dims = [" + dims + "] : " + c + " to " + x,
                    r = " axes = [" + axes + "] : " + x;
  return {x + ", " + x + ", " + c, x + ", " + c + ", " + c + ", " + c + ", " + c,
          "^bb0(%dy: " + x + ", %x: " + x + ", %mean: " + c + "):\n" +
              " %zero = dl.constant dense<0.0> : " + x + "\n %m = dl.compare gt %x, %zero : " + x +
              "\n %dz = dl.select %m, %dy, %zero : " + x + "\n %mb = dl.broadcast %mean" + b +
              "\n %d = dl.subtract %x, %mb : " + x + "\n %p = dl.multiply %dz, %d : " + x +
              "\n %s = dl.reduce sum %dz" + r + "\n %t = dl.reduce sum %p" + r +
              "\n %scaled = dl.multiply %t, %mean : " + c + "\n %max = dl.reduce max %x" + r +
              "\n %mo:2 = dl.moments %x" + r + "\n %v = dl.multiply %mo#1, %s : " + c +
              "\n dl.yield %dz, %s, %scaled, %max, %v : " + x + ", " + c + ", " + c + ", " + c +
              ", " + c};
}

TEST(Reduce, Several) {
  // Products of sums that nearly cancel: the largest is what the tolerance is of.
  checkKernel(severalReductions("6x5x4x9", "5", "0, 2, 3", "1"), 4e-6, "cpu-reduce");
  checkKernel(severalReductions("64x37", "37", "0", "1"), 4e-6, "cpu-reduce");
  checkKernel(severalReductions("40009x5", "5", "0", "1"), 4e-5, "cpu-reduce");
  checkKernel(severalReductions("64x37", "37", "0", "1"), 4e-6, "cpu-loops");
}

/// 16-bit floats are summed in f32: one rounding at the end.
TEST(Reduce, SmallFloats) {
  checkKernel(reduction("sum", "tensor<3000x7xbf16>", "tensor<7xbf16>", "0"), 1.0 / 256,
              "cpu-reduce");
  checkKernel(reduction("sum", "tensor<7x3000xf16>", "tensor<7xf16>", "1"), 1.0 / 1024,
              "cpu-reduce");
  checkKernel(reduction("sum", "tensor<7x3000xf16>", "tensor<7xf16>", "1"), 1.0 / 1024,
              "cpu-loops");
}
