//===- ReduceTest.cpp - CUDA reductions and softmax on the SIMT device ------------------------===//
#include "test/codegen/Harness.h"
#include <gtest/gtest.h>

using namespace dlc::test;

// Sums of up to some ten thousand elements by halves.
static const double rounding = 2e-6;
// A mean is as exact as the elements that it is of; of those around zero it is a small part.
static const double momentsRounding = 4e-6;

static KernelSource reduce(const std::string &kind, const std::string &from, const std::string &to,
                           const std::string &axes) {
  return {"tensor<" + from + ">", "tensor<" + to + ">",
          "^bb0(%x: tensor<" + from + ">):\n %0 = dl.reduce " + kind + " %x axes = [" + axes +
              "] : tensor<" + from + ">\n dl.yield %0 : tensor<" + to + ">"};
}

/// Rows: short, longer than a block, shared by several blocks; all elements; other operators and
/// types.
TEST(CudaReduce, Rows) {
  checkCudaKernel(reduce("sum", "5x7xf32", "5xf32", "1"), rounding, "cuda-reduce");
  checkCudaKernel(reduce("sum", "3x1001xf32", "3xf32", "1"), rounding, "cuda-reduce");
  checkCudaKernel(reduce("sum", "64x3x15x15xf32", "3xf32", "0, 2, 3"), rounding, "cuda-reduce");
  checkCudaKernel(reduce("max", "2x9001xf32", "2xf32", "1"), 0, "cuda-reduce");
  checkCudaKernel(reduce("min", "300xf32", "f32", "0"), 0, "cuda-reduce");
  checkCudaKernel(reduce("max", "4x33xui8", "4xui8", "1"), 0, "cuda-reduce");
  checkCudaKernel(reduce("sum", "4x0xf32", "4xf32", "1"), 0, "cuda-reduce");
}

/// Channels that are neighbours in memory, fewer and more than a warp's lanes; shared by several
/// blocks, with a shorter last part.
TEST(CudaReduce, Channels) {
  checkCudaKernel(reduce("sum", "9x11x13x20xf32", "20xf32", "0, 1, 2"), rounding, "cuda-reduce");
  checkCudaKernel(reduce("max", "1001x40xf32", "40xf32", "0"), 0, "cuda-reduce");
  checkCudaKernel(reduce("sum", "64x10xf32", "10xf32", "0"), rounding, "cuda-reduce");
  checkCudaKernel(reduce("sum", "33x70xf32", "70xf32", "0"), rounding, "cuda-reduce");
  checkCudaKernel(reduce("max", "3x5x40xi32", "3x40xi32", "1"), 0, "cuda-reduce");
}

/// Four channels a thread: in two passes over rows, with vectors along the channels, operands that
/// lie otherwise, a result on the way, in 32 and 16 bits; and where a block has less channels.
TEST(CudaReduce, FourChannels) {
  for (const std::string rows : {"3x7", "5x200"})
    for (const std::string channels : {"4", "8", "72", "132"})
      for (const std::string element : {"f32", "bf16", "f16"}) {
        const std::string space = rows + "x" + channels + "x",
                          small = "tensor<" + space + element + ">",
                          wide = "tensor<" + space + "f32>", sums = "tensor<" + channels + "xf32>",
                          row = "tensor<" + rows.substr(2) + "x" + channels + "xf32>";
        SCOPED_TRACE(small);
        checkCudaKernel({small + ", " + sums + ", " + row, small + ", " + sums + ", " + sums, R"(
^bb0(%x: )" + small + ", %s: " + sums + ", %r: " + row + R"():
  %w = dl.cast %x : )" + small + " to " + wide + R"(
  %m = dl.broadcast %s dims = [2] : )" + sums + " to " + wide + R"(
  %n = dl.broadcast %r dims = [1, 2] : )" + row + " to " + wide + R"(
  %0 = dl.subtract %w, %m : )" + wide + R"(
  %1 = dl.multiply %0, %n : )" + wide + R"(
  %2 = dl.cast %1 : )" + wide + " to " + small + R"(
  %3 = dl.cast %2 : )" + small + " to " + wide + R"(
  %4 = dl.reduce sum %3 axes = [0, 1] : )" + wide + R"(
  %5 = dl.reduce max %1 axes = [0, 1] : )" + wide + R"(
  dl.yield %2, %4, %5 : )" + small + ", " + sums + ", " + sums},
                        // What the oracle does not round, once.
                        element == "bf16"  ? 0x1p-8
                        : element == "f16" ? 0x1p-11
                                           : rounding,
                        "cuda-reduce");
      }
}

static KernelSource moments(const std::string &from, const std::string &to,
                            const std::string &axes) {
  const std::string x = "tensor<" + from + "xf32>", y = "tensor<" + to + ">";
  return {x, y + ", " + y,
          "^bb0(%x: " + x + "):\n %0:2 = dl.moments %x axes = [" + axes + "] : " + x +
              "\n dl.yield %0#0, %0#1 : " + y + ", " + y};
}

/// Rows and channels, of one block and of several.
TEST(CudaReduce, Moments) {
  for (const char *generator : {"cuda-reduce", "cuda-elements"}) {
    checkCudaKernel(moments("5x7", "5xf32", "1"), momentsRounding, generator);
    checkCudaKernel(moments("33x70", "70xf32", "0"), momentsRounding, generator);
  }
  checkCudaKernel(moments("64x3x15x15", "3xf32", "0, 2, 3"), momentsRounding, "cuda-reduce");
  checkCudaKernel(moments("1001x40", "40xf32", "0"), momentsRounding, "cuda-reduce");
  checkCudaKernel(moments("9001", "f32", "0"), momentsRounding, "cuda-reduce");
}

/// A mean some thousand times the deviation: what is left is the momentsRounding of x itself.
TEST(CudaReduce, MomentsOfALargeMean) {
  checkCudaKernel({"tensor<8x6x25x5xf32>", "tensor<6xf32>, tensor<6xf32>", R"(
^bb0(%x: tensor<8x6x25x5xf32>):
  %c = dl.constant dense<4096.0> : tensor<8x6x25x5xf32>
  %0 = dl.add %x, %c : tensor<8x6x25x5xf32>
  %1:2 = dl.moments %0 axes = [0, 2, 3] : tensor<8x6x25x5xf32>
  dl.yield %1#0, %1#1 : tensor<6xf32>, tensor<6xf32>)"},
                  2e-4, "cuda-reduce");
}

/// Several reductions in one walk, which also stores what two of them read; totals of two types
/// take one block a row.
TEST(CudaReduce, Several) {
  for (const char *generator : {"cuda-reduce", "cuda-elements"})
    checkCudaKernel({"tensor<8x6x5x5xf32>, tensor<8x6x5x5xf32>, tensor<6xf32>",
                     "tensor<8x6x5x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>", R"(
^bb0(%x: tensor<8x6x5x5xf32>, %d: tensor<8x6x5x5xf32>, %s: tensor<6xf32>):
  %z = dl.constant dense<0.0> : tensor<8x6x5x5xf32>
  %m = dl.compare gt %x, %z : tensor<8x6x5x5xf32>
  %dx = dl.select %m, %d, %z : tensor<8x6x5x5xf32>
  %p = dl.multiply %dx, %x : tensor<8x6x5x5xf32>
  %db = dl.reduce sum %dx axes = [0, 2, 3] : tensor<8x6x5x5xf32>
  %ds = dl.reduce sum %p axes = [0, 2, 3] : tensor<8x6x5x5xf32>
  %mo:2 = dl.moments %x axes = [0, 2, 3] : tensor<8x6x5x5xf32>
  %0 = dl.multiply %ds, %mo#0 : tensor<6xf32>
  %1 = dl.add %0, %s : tensor<6xf32>
  dl.yield %dx, %1, %db, %mo#1 : tensor<8x6x5x5xf32>, tensor<6xf32>, tensor<6xf32>,
      tensor<6xf32>)"},
                    rounding, generator);
  checkCudaKernel({"tensor<2x9001xf32>", "tensor<2xf32>, tensor<2xi32>", R"(
^bb0(%x: tensor<2x9001xf32>):
  %z = dl.constant dense<0.0> : tensor<2x9001xf32>
  %m = dl.compare gt %x, %z : tensor<2x9001xf32>
  %i = dl.cast %m : tensor<2x9001xi1> to tensor<2x9001xi32>
  %0 = dl.reduce max %x axes = [1] : tensor<2x9001xf32>
  %1 = dl.reduce sum %i axes = [1] : tensor<2x9001xi32>
  dl.yield %0, %1 : tensor<2xf32>, tensor<2xi32>)"},
                  0, "cuda-reduce");
}

/// What is fused in front may be a result itself: dx behind ReLU, whose sum is the bias' gradient.
/// Behind, a scale.
TEST(CudaReduce, Fused) {
  checkCudaKernel({"tensor<8x6x5x5xf32>, tensor<8x6x5x5xf32>, tensor<6xf32>",
                   "tensor<8x6x5x5xf32>, tensor<6xf32>", R"(
^bb0(%x: tensor<8x6x5x5xf32>, %d: tensor<8x6x5x5xf32>, %s: tensor<6xf32>):
  %z = dl.constant dense<0.0> : tensor<8x6x5x5xf32>
  %m = dl.compare gt %x, %z : tensor<8x6x5x5xf32>
  %dx = dl.select %m, %d, %z : tensor<8x6x5x5xf32>
  %db = dl.reduce sum %dx axes = [0, 2, 3] : tensor<8x6x5x5xf32>
  %1 = dl.multiply %db, %s : tensor<6xf32>
  dl.yield %dx, %1 : tensor<8x6x5x5xf32>, tensor<6xf32>)"},
                  rounding, "cuda-reduce");
}

/// The reduction's value at other places than its own.
TEST(CudaReduce, Elements) {
  checkCudaKernel({"tensor<4x6xf32>", "tensor<4x6xf32>, tensor<6x4xf32>", R"(
^bb0(%x: tensor<4x6xf32>):
  %0 = dl.reduce max %x axes = [1] : tensor<4x6xf32>
  %1 = dl.broadcast %0 dims = [0] : tensor<4xf32> to tensor<4x6xf32>
  %2 = dl.subtract %x, %1 : tensor<4x6xf32>
  %3 = dl.transpose %2 order = [1, 0] : tensor<4x6xf32>
  dl.yield %2, %3 : tensor<4x6xf32>, tensor<6x4xf32>)"},
                  rounding, "cuda-elements");
}

/// Classes fewer and more than a warp's lanes; behind the classes other axes, where few of them are
/// taken one by one.
TEST(CudaSoftmax, Classification) {
  struct Case {
    std::string logits, label, generator, backward;
  };
  for (const Case &c : {Case{"9x10", "9", "cuda-row-passes", "cuda-row-passes"},
                        Case{"2x70", "2", "cuda-row-passes", "cuda-row-passes"},
                        Case{"2x70", "2", "cuda-elements", "cuda-elements"},
                        Case{"3x7x5", "3x5", "cuda-map", "cuda-elements"},
                        Case{"3x40x5", "3x5", "cuda-elements", "cuda-elements"}}) {
    const std::string x = "tensor<" + c.logits + "xf32>", l = "tensor<" + c.label + "xi32>",
                      r = "tensor<" + c.label + "xf32>";
    for (std::string op : {"softmax_cross_entropy", "accuracy"})
      checkCudaKernel({x + ", " + l, r,
                       "^bb0(%x: " + x + ", %l: " + l + "):\n %0 = dl." + op +
                           " %x, %l axis = 1 : " + x + ", " + l + "\n dl.yield %0 : " + r},
                      rounding, c.generator);
    checkCudaKernel({r + ", " + x + ", " + l, x,
                     "^bb0(%d: " + r + ", %x: " + x + ", %l: " + l +
                         "):\n %0 = dl.softmax_cross_entropy_backward %d, %x, %l axis = 1 : " + r +
                         ", " + x + ", " + l + "\n dl.yield %0 : " + x},
                    rounding, c.backward);
  }
}
