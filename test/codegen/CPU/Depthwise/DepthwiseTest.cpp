//===- DepthwiseTest.cpp - convolutions of each channel with a filter of its own --------------===//
#include "codegen/CPU/Depthwise/Depthwise.h"
#include "test/codegen/CPU/Convolution/ConvolutionKernels.h"

using namespace dlc;
using namespace dlc::test;
using namespace dlc::codegen;

// Sums of at most some thousand products, in lanes and parts.
static const double rounding = 4e-6;

/// A filter for each channel.
static ConvolutionShapes shapesOf(int channels, const std::vector<int> &image,
                                  const std::vector<int> &filter, const std::vector<int> &result,
                                  const std::vector<int> &strides, const std::vector<int> &padding,
                                  const std::vector<int> &dilations, int batch = 2) {
  auto shape = [](int outer, int inner, const std::vector<int> &extents) {
    std::vector<int> all{outer, inner};
    all.insert(all.end(), extents.begin(), extents.end());
    return all;
  };
  return {shape(batch, channels, image),
          shape(channels, 1, filter),
          shape(batch, channels, result),
          strides,
          padding,
          dilations,
          channels};
}

/// All three directions.
static void check(int channels, std::vector<int> image, std::vector<int> filter,
                  std::vector<int> result, std::vector<int> strides, std::vector<int> padding,
                  std::vector<int> dilations, int batch = 2) {
  for (const KernelSource &source : convolutionKernels(
           shapesOf(channels, image, filter, result, strides, padding, dilations, batch)))
    checkKernel(source, rounding, "cpu-depthwise");
}

TEST(Depthwise, Square) {
  check(19, {14, 14}, {3, 3}, {14, 14}, {1, 1}, {1, 1, 1, 1}, {1, 1});
  check(8, {23, 23}, {5, 5}, {23, 23}, {1, 1}, {2, 2, 2, 2}, {1, 1});
  check(3, {7, 7}, {7, 7}, {7, 7}, {1, 1}, {3, 3, 3, 3}, {1, 1});
}

/// Remainders of even and odd images, skipped borders, and strides that differ or exceed the
/// filter.
TEST(Depthwise, Strides) {
  check(10, {14, 14}, {3, 3}, {7, 7}, {2, 2}, {1, 1, 1, 1}, {1, 1});
  check(5, {15, 33}, {5, 5}, {8, 17}, {2, 2}, {2, 2, 2, 2}, {1, 1});
  check(5, {14, 20}, {3, 3}, {7, 18}, {2, 1}, {1, 1, 0, 0}, {1, 1});
  check(3, {11, 17}, {2, 2}, {4, 5}, {3, 4}, {0, 1, 1, 0}, {1, 1});
  check(3, {9, 1}, {3, 1}, {5, 1}, {2, 2}, {1, 1, 0, 0}, {1, 1});
}

/// Other types: ragged vectors of channels and pixels, remainders of a stride, dilation.
TEST(Depthwise, Elements) {
  for (const auto &[element, rounding] : otherElements)
    for (const ConvolutionShapes &shapes :
         {shapesOf(19, {14, 14}, {3, 3}, {14, 14}, {1, 1}, {1, 1, 1, 1}, {1, 1}),
          shapesOf(5, {15, 33}, {5, 5}, {8, 17}, {2, 2}, {2, 2, 2, 2}, {1, 1}),
          shapesOf(6, {15, 16}, {3, 2}, {5, 8}, {2, 2}, {0, 0, 1, 2}, {3, 4})})
      for (const KernelSource &source : convolutionKernels(shapes))
        checkKernel(inElement(source, element), rounding, "cpu-depthwise");
}

TEST(Depthwise, Dilation) {
  check(6, {13, 20}, {3, 3}, {13, 20}, {1, 1}, {2, 2, 2, 2}, {2, 2});
  check(6, {15, 16}, {3, 2}, {5, 8}, {2, 2}, {0, 0, 1, 2}, {3, 4});
}

/// Padding that differs by side, and more of it than an image has pixels.
TEST(Depthwise, Padding) {
  check(4, {6, 9}, {3, 3}, {7, 10}, {1, 1}, {2, 1, 0, 3}, {1, 1});
  check(4, {2, 3}, {5, 5}, {6, 7}, {1, 1}, {4, 4, 4, 4}, {1, 1});
}

TEST(Depthwise, OneAxis) { check(9, {50}, {5}, {25}, {2}, {2, 2}, {1}); }

/// Planes in bands, tasks of several vectors of channels, parts of the batch.
TEST(Depthwise, Blocks) {
  check(2, {300, 700}, {3, 3}, {300, 700}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1);
  check(600, {4, 4}, {3, 3}, {4, 4}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 5);
  check(9, {56, 56}, {3, 3}, {28, 28}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 9);
}

/// Both images in blocks of channels: whole tiles and their rest, bands of rows, strides, phases
/// without taps.
TEST(Depthwise, BlocksOfChannels) {
  const std::vector<ConvolutionShapes> list = {
      shapesOf(32, {14, 13}, {3, 3}, {14, 13}, {1, 1}, {1, 1, 1, 1}, {1, 1}),
      shapesOf(16, {15, 33}, {5, 5}, {8, 17}, {2, 2}, {2, 2, 2, 2}, {1, 1}),
      shapesOf(16, {11, 17}, {2, 2}, {4, 5}, {3, 4}, {0, 1, 1, 0}, {1, 1}),
      shapesOf(48, {13, 20}, {3, 3}, {13, 20}, {1, 1}, {2, 2, 2, 2}, {2, 2}),
      shapesOf(16, {112, 112}, {3, 3}, {112, 112}, {1, 1}, {1, 1, 1, 1}, {1, 1}),
      shapesOf(16, {50}, {5}, {25}, {2}, {2, 2}, {1})};
  for (const ConvolutionShapes &shapes : list) {
    const auto sources = convolutionKernels(shapes);
    for (const KernelSource &source : llvm::ArrayRef(sources).take_front(2))
      for (bool last : {false, true})
        checkKernel(withBlocks(source, shapes, Blocked::Both, last), rounding, "cpu-depthwise");
  }
}

/// A body before the image, which must not leak into the padding; bias, ReLU6 and an addend behind.
TEST(Depthwise, Bodies) {
  checkKernel({"tensor<2x6x9x9xf32>, tensor<6x1x3x3xf32>, tensor<6xf32>, tensor<2x6x5x5xf32>",
               "tensor<2x6x5x5xf32>", R"(
^bb0(%x: tensor<2x6x9x9xf32>, %w: tensor<6x1x3x3xf32>, %b: tensor<6xf32>,
     %r: tensor<2x6x5x5xf32>):
  %e = dl.exp %x : tensor<2x6x9x9xf32>
  %c = dl.convolution %e, %w strides = [2, 2] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 6
    : tensor<2x6x9x9xf32>, tensor<6x1x3x3xf32>
  %bias = dl.broadcast %b dims = [1] : tensor<6xf32> to tensor<2x6x5x5xf32>
  %z = dl.add %c, %bias : tensor<2x6x5x5xf32>
  %a = dl.add %z, %r : tensor<2x6x5x5xf32>
  %six = dl.constant dense<6.0> : tensor<2x6x5x5xf32>
  %p = dl.relu %a : tensor<2x6x5x5xf32>
  %y = dl.minimum %p, %six : tensor<2x6x5x5xf32>
  dl.yield %y : tensor<2x6x5x5xf32>)"},
              rounding, "cpu-depthwise");
  checkKernel(
      {"tensor<2x6x5x5xf32>, tensor<6x1x3x3xf32>, tensor<2x6x10x9xf32>", "tensor<2x6x10x9xf32>", R"(
^bb0(%dy: tensor<2x6x5x5xf32>, %w: tensor<6x1x3x3xf32>, %r: tensor<2x6x10x9xf32>):
  %g = dl.convolution_backward_data %dy, %w strides = [2, 2] padding = [1, 1, 1, 1]
      dilations = [1, 1] groups = 6
    : tensor<2x6x5x5xf32>, tensor<6x1x3x3xf32> to tensor<2x6x10x9xf32>
  %s = dl.add %g, %r : tensor<2x6x10x9xf32>
  dl.yield %s : tensor<2x6x10x9xf32>)"},
      rounding, "cpu-depthwise");
}

/// The filter's gradient of a masked gradient that is a result too, with weight decay behind.
TEST(Depthwise, FilterGradientWithBodies) {
  checkKernel({"tensor<3x5x9x9xf32>, tensor<3x5x9x9xf32>, tensor<3x5x9x9xf32>, tensor<5x1x3x3xf32>",
               "tensor<5x1x3x3xf32>, tensor<3x5x9x9xf32>", R"(
^bb0(%x: tensor<3x5x9x9xf32>, %dy: tensor<3x5x9x9xf32>, %y: tensor<3x5x9x9xf32>,
     %w: tensor<5x1x3x3xf32>):
  %zero = dl.constant dense<0.0> : tensor<3x5x9x9xf32>
  %on = dl.compare gt %y, %zero : tensor<3x5x9x9xf32>
  %m = dl.select %on, %dy, %zero : tensor<3x5x9x9xf32>
  %g = dl.convolution_backward_filter %x, %m strides = [1, 1] padding = [1, 1, 1, 1]
    dilations = [1, 1] groups = 5 : tensor<3x5x9x9xf32>, tensor<3x5x9x9xf32> to tensor<5x1x3x3xf32>
  %d = dl.add %g, %w : tensor<5x1x3x3xf32>
  dl.yield %d, %m : tensor<5x1x3x3xf32>, tensor<3x5x9x9xf32>)"},
              rounding, "cpu-depthwise");
}

/// Rows of one and of two phases.
TEST(Depthwise, Reductions) {
  for (const ConvolutionShapes &shapes : std::vector<ConvolutionShapes>{
           {{3, 32, 14, 15}, {32, 1, 3, 3}, {3, 32, 14, 15}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 32},
           {{2, 16, 15, 18}, {16, 1, 3, 3}, {2, 16, 8, 9}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 16}})
    for (const KernelSource &source : convolutionReductions(shapes))
      checkKernel(source, rounding, "cpu-depthwise");
}

// What is left to direct convolution.
TEST(Depthwise, Refuses) {
  ConvolutionProblem good;
  good.groups = good.inChannels = good.outChannels = 8;
  good.input = good.output = {1, 28, 28};
  good.kernel = {1, 3, 3};
  EXPECT_EQ(depthwiseRefusal(good), "");
  ConvolutionProblem whole = good, multiplied = good, grouped = good, deep = good, large = good;
  whole.groups = 1;
  multiplied.outChannels = 16;
  grouped.inChannels = grouped.outChannels = 16;
  deep.input[0] = deep.output[0] = 4;
  large.kernel = {1, 11, 5};
  for (const ConvolutionProblem &other : {whole, multiplied, grouped})
    EXPECT_EQ(depthwiseRefusal(other), "it has not a filter for each channel");
  EXPECT_EQ(depthwiseRefusal(deep), "it has three spatial dimensions");
  EXPECT_EQ(depthwiseRefusal(large), "a filter of 11x5 has too many taps");
}
