//===- LoopsTest.cpp - the generator of last resort takes every anchor ------------------------===//
#include "test/codegen/Harness.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace dlc::test;

// Plain sums of up to some hundred products.
static const double rounding = 1e-5;
static const char *const generator = "cpu-loops";

TEST(Loops, Matmul) {
  checkKernel({"tensor<3x5x7xf32>, tensor<3x7x4xf32>, tensor<4xf32>", "tensor<3x5x4xf32>", R"(
^bb0(%a: tensor<3x5x7xf32>, %b: tensor<3x7x4xf32>, %c: tensor<4xf32>):
  %0 = dl.matmul %a, %b : tensor<3x5x7xf32>, tensor<3x7x4xf32>
  %1 = dl.broadcast %c dims = [2] : tensor<4xf32> to tensor<3x5x4xf32>
  %2 = dl.add %0, %1 : tensor<3x5x4xf32>
  %3 = dl.relu %2 : tensor<3x5x4xf32>
  dl.yield %3 : tensor<3x5x4xf32>)"},
              rounding, generator);
  checkKernel({"tensor<7x5xf32>, tensor<4x7xf32>", "tensor<5x4xf32>", R"(
^bb0(%a: tensor<7x5xf32>, %b: tensor<4x7xf32>):
  %0 = dl.matmul %a, %b transpose_a transpose_b : tensor<7x5xf32>, tensor<4x7xf32>
  dl.yield %0 : tensor<5x4xf32>)"},
              rounding, generator);
}

/// Groups, strides, dilation, padding per side.
TEST(Loops, Convolution) {
  const std::string attributes =
      " strides = [2, 1] padding = [1, 0, 2, 1] dilations = [1, 2] groups = 2 : ";
  const std::string x = "tensor<2x4x9x8xf32>", w = "tensor<6x2x3x2xf32>", y = "tensor<2x6x4x9xf32>";
  checkKernel({x + ", " + w, y,
               "^bb0(%x: " + x + ", %w: " + w + "):\n %0 = dl.convolution %x, %w" + attributes + x +
                   ", " + w + "\n dl.yield %0 : " + y},
              rounding, generator);
  checkKernel({y + ", " + w, x,
               "^bb0(%d: " + y + ", %w: " + w + "):\n %0 = dl.convolution_backward_data %d, %w" +
                   attributes + y + ", " + w + " to " + x + "\n dl.yield %0 : " + x},
              rounding, generator);
  checkKernel({x + ", " + y, w,
               "^bb0(%x: " + x + ", %d: " + y + "):\n %0 = dl.convolution_backward_filter %x, %d" +
                   attributes + x + ", " + y + " to " + w + "\n dl.yield %0 : " + w},
              rounding, generator);
}

TEST(Loops, Reduce) {
  checkKernel({"tensor<4x5x6xf32>", "tensor<4x6xf32>", R"(
^bb0(%x: tensor<4x5x6xf32>):
  %0 = dl.reduce sum %x axes = [1] : tensor<4x5x6xf32>
  dl.yield %0 : tensor<4x6xf32>)"},
              rounding, generator);
  checkKernel({"tensor<4x5xui8>", "tensor<5xui8>", R"(
^bb0(%x: tensor<4x5xui8>):
  %0 = dl.reduce max %x axes = [0] : tensor<4x5xui8>
  dl.yield %0 : tensor<5xui8>)"},
              0, generator);
}

TEST(Loops, Windows) {
  const std::string attributes =
      " kernel = [3, 3] strides = [2, 2] padding = [1, 1, 0, 1] dilations = [1, 1]";
  const std::string x = "tensor<1x4x13x15xf32>", y = "tensor<1x4x7x7xf32>",
                    i = "tensor<1x4x7x7xui8>";
  checkKernel({x, y + ", " + i,
               "^bb0(%x: " + x + "):\n %y, %i = dl.max_pool %x" + attributes + " : " + x + " -> " +
                   y + ", " + i + "\n dl.yield %y, %i : " + y + ", " + i},
              0, generator);
  for (std::string padding : {"", " count_include_pad"}) {
    checkKernel({x, y,
                 "^bb0(%x: " + x + "):\n %y = dl.average_pool %x" + attributes + padding + " : " +
                     x + " -> " + y + "\n dl.yield %y : " + y},
                rounding, generator);
    checkKernel({y, x,
                 "^bb0(%d: " + y + "):\n %x = dl.average_pool_backward %d" + attributes + padding +
                     " : " + y + " to " + x + "\n dl.yield %x : " + x},
                rounding, generator);
  }
}

TEST(Loops, Classification) {
  const std::string x = "tensor<3x40x5xf32>", l = "tensor<3x5xi32>", r = "tensor<3x5xf32>";
  for (std::string op : {"softmax_cross_entropy", "accuracy"})
    checkKernel({x + ", " + l, r,
                 "^bb0(%x: " + x + ", %l: " + l + "):\n %0 = dl." + op + " %x, %l axis = 1 : " + x +
                     ", " + l + "\n dl.yield %0 : " + r},
                rounding, generator);
  checkKernel({r + ", " + x + ", " + l, x,
               "^bb0(%d: " + r + ", %x: " + x + ", %l: " + l +
                   "):\n %0 = dl.softmax_cross_entropy_backward %d, %x, %l axis = 1 : " + r + ", " +
                   x + ", " + l + "\n dl.yield %0 : " + x},
              rounding, generator);
}

/// The anchor's value at other places than its own: what no other generator takes.
TEST(Loops, BroadcastBehindAnchor) {
  checkKernel({"tensor<4x6xf32>", "tensor<4x6xf32>, tensor<6x4xf32>", R"(
^bb0(%x: tensor<4x6xf32>):
  %0 = dl.reduce max %x axes = [1] : tensor<4x6xf32>
  %1 = dl.broadcast %0 dims = [0] : tensor<4xf32> to tensor<4x6xf32>
  %2 = dl.subtract %x, %1 : tensor<4x6xf32>
  %3 = dl.transpose %2 order = [1, 0] : tensor<4x6xf32>
  dl.yield %2, %3 : tensor<4x6xf32>, tensor<6x4xf32>)"},
              rounding);
}

/// Results of different sizes, and one without elements.
TEST(Loops, SizesThatDoNotFit) {
  checkKernel({"tensor<4x6xf32>, tensor<3xf32>, tensor<0x2xf32>",
               "tensor<4x6xf32>, tensor<3xf32>, tensor<0x2xf32>", R"(
^bb0(%x: tensor<4x6xf32>, %y: tensor<3xf32>, %z: tensor<0x2xf32>):
  %0 = dl.relu %x : tensor<4x6xf32>
  %1 = dl.negate %y : tensor<3xf32>
  %2 = dl.negate %z : tensor<0x2xf32>
  dl.yield %0, %1, %2 : tensor<4x6xf32>, tensor<3xf32>, tensor<0x2xf32>)"},
              rounding, generator);
}

/// Blocks that do not divide their axis are padded with zeros.
TEST(Loops, PaddedLayout) {
  const std::string type =
      "tensor<2x5x3xf32, #program.layout<order = [0, 2, 1], blocks = [1, 4, 2, 2]>>";
  CompiledTestKernel kernel(
      {type, type,
       "^bb0(%x: " + type + "):\n %0 = dl.exp %x : " + type + "\n dl.yield %0 : " + type});
  ASSERT_TRUE(kernel);
  std::vector<Tensor> inputs = kernel.randomInputs();
  EXPECT_LE(relativeError(kernel.run(inputs)[0], kernel.oracle(inputs)[0]), 1e-6);
  std::vector<float> memory = kernel.resultMemory(0);
  ASSERT_EQ(memory.size(), 2u * 2 * 2 * 4 * 2);
  // exp is never zero: the zeros are the padding.
  EXPECT_EQ(std::count(memory.begin(), memory.end(), 0.0f), 64 - 30);
}

/// Anchors on 16-bit floats compute in f32 and round once: products beyond f16's largest number
/// meet their opposites, and a window of 289 elements, which is no number of bf16, counts them all.
TEST(Loops, SmallFloats) {
  CompiledTestKernel product({"tensor<1x2xf16>, tensor<2x1xf16>", "tensor<1x1xf16>", R"(
^bb0(%a: tensor<1x2xf16>, %b: tensor<2x1xf16>):
  %0 = dl.matmul %a, %b : tensor<1x2xf16>, tensor<2x1xf16>
  dl.yield %0 : tensor<1x1xf16>)"});
  ASSERT_TRUE(product);
  EXPECT_EQ(product.run({Tensor{{1, 2}, {1024, 1024}}, Tensor{{2, 1}, {1024, -1016}}})[0].values[0],
            8192);
  CompiledTestKernel mean({"tensor<1x1x17x17xbf16>", "tensor<1x1x1x1xbf16>", R"(
^bb0(%x: tensor<1x1x17x17xbf16>):
  %y = dl.average_pool %x kernel = [17, 17] strides = [1, 1] padding = [0, 0, 0, 0]
      dilations = [1, 1] : tensor<1x1x17x17xbf16> -> tensor<1x1x1x1xbf16>
  dl.yield %y : tensor<1x1x1x1xbf16>)"});
  ASSERT_TRUE(mean);
  // 145 / 289 lies below 0.502, 145 / 288 above.
  std::vector<Tensor> image = mean.randomInputs();
  std::fill(image[0].values.begin(), image[0].values.end(), 0.0);
  std::fill_n(image[0].values.begin(), 145, 1.0);
  EXPECT_EQ(mean.run(image)[0].values[0], 0.5);
}

/// Sums beside a product, of its operands and of what is made of it: a generator that takes
/// everything takes them.
TEST(Loops, SumsBesideAProduct) {
  checkKernel({"tensor<7x5xf32>, tensor<7x19xf32>",
               "tensor<5x19xf32>, tensor<5xf32>, tensor<19xf32>, tensor<19xf32>", R"(
^bb0(%a: tensor<7x5xf32>, %b: tensor<7x19xf32>):
  %0 = dl.matmul %a, %b transpose_a : tensor<7x5xf32>, tensor<7x19xf32>
  %1 = dl.relu %0 : tensor<5x19xf32>
  %2 = dl.reduce sum %a axes = [0] : tensor<7x5xf32>
  %3 = dl.reduce sum %b axes = [0] : tensor<7x19xf32>
  %4 = dl.reduce sum %1 axes = [0] : tensor<5x19xf32>
  dl.yield %1, %2, %3, %4 : tensor<5x19xf32>, tensor<5xf32>, tensor<19xf32>, tensor<19xf32>)"},
              1e-6, "cpu-loops");
  // One rounding to bf16.
  checkKernel({"tensor<7x5xbf16>, tensor<7x3xbf16>", "tensor<5x3xbf16>, tensor<5xbf16>", R"(
^bb0(%a: tensor<7x5xbf16>, %b: tensor<7x3xbf16>):
  %0 = dl.matmul %a, %b transpose_a : tensor<7x5xbf16>, tensor<7x3xbf16>
  %1 = dl.reduce sum %a axes = [0] : tensor<7x5xbf16>
  dl.yield %0, %1 : tensor<5x3xbf16>, tensor<5xbf16>)"},
              4e-3, "cpu-loops");
}
