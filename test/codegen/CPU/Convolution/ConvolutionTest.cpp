//===- ConvolutionTest.cpp - direct convolutions in all directions ----------------------------===//
#include "test/codegen/CPU/Convolution/ConvolutionKernels.h"
#include <gtest/gtest.h>

using namespace dlc::test;

// Sums of some thousand products at most, in blocks.
static const double rounding = 4e-6;

/// All three directions.
static void check(const ConvolutionShapes &shapes) {
  for (const KernelSource &source : convolutionKernels(shapes))
    checkKernel(source, rounding, "cpu-convolution");
}

TEST(Convolution, Square) {
  check({{3, 5, 13, 13}, {20, 5, 3, 3}, {3, 20, 13, 13}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{2, 1, 28, 28}, {20, 1, 5, 5}, {2, 20, 24, 24}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 20, 12, 12}, {50, 20, 5, 5}, {2, 50, 8, 8}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
}

/// Tiles of several whole rows, and images of one pixel.
TEST(Convolution, SmallImages) {
  check({{2, 6, 4, 4}, {18, 6, 3, 3}, {2, 18, 4, 4}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{2, 6, 5, 3}, {18, 6, 5, 3}, {2, 18, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
}

/// Rows of taps in the padding are left out: with strides and dilations, of tiles of one row and of
/// several, of target rows that meet no row of the source at all, in one block of channels and in
/// several that divide them or do not, groups, odd channels.
TEST(Convolution, RowsOutside) {
  const ConvolutionShapes all[] = {
      {{2, 16, 3, 7}, {32, 16, 3, 3}, {2, 32, 3, 7}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{2, 32, 7, 7}, {32, 32, 3, 3}, {2, 32, 4, 4}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
      {{1, 16, 3, 9}, {16, 16, 3, 2}, {1, 16, 9, 10}, {1, 1}, {4, 4, 1, 1}, {1, 1}},
      {{1, 16, 4, 9}, {16, 16, 3, 3}, {1, 16, 4, 5}, {2, 2}, {4, 4, 2, 2}, {2, 2}},
      {{2, 16, 2, 5}, {16, 16, 5, 1}, {2, 16, 1, 5}, {3, 1}, {2, 1, 0, 0}, {1, 1}},
      {{1, 1040, 3, 3}, {32, 1040, 3, 3}, {1, 32, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{1, 512, 4, 3}, {16, 512, 3, 3}, {1, 16, 2, 3}, {2, 1}, {1, 0, 1, 1}, {1, 1}},
      {{1, 6, 4, 5}, {10, 3, 3, 3}, {1, 10, 4, 5}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2},
      {{1, 5, 4, 5}, {10, 5, 3, 3}, {1, 10, 4, 5}, {1, 1}, {1, 1, 1, 1}, {1, 1}}};
  for (const ConvolutionShapes &shapes : all)
    for (int direction : {0, 1}) {
      const KernelSource source = convolutionKernels(shapes)[direction];
      checkKernel(source, rounding, "cpu-convolution");
      checkKernel(inElement(source, "bf16"), otherElements[1].rounding, "cpu-convolution");
      if (shapes.x[1] % 16 != 0)
        continue;
      const KernelSource blocked = withBlocks(source, shapes, Blocked::Both);
      checkKernel(blocked, rounding, "cpu-convolution");
      checkKernel(inElement(blocked, "bf16"), otherElements[1].rounding, "cpu-convolution");
    }
}

/// A filter that is packed by rows of taps is kept under a name of its own.
TEST(Convolution, PreparedByRows) {
  const ConvolutionShapes inside = {{2, 32, 8, 8}, {32, 32, 3, 3}, {2, 32, 6, 6},
                                    {1, 1},        {0, 0, 0, 0},   {1, 1}},
                          outside = {{2, 32, 8, 8}, {32, 32, 3, 3}, {2, 32, 8, 8},
                                     {1, 1},        {1, 1, 1, 1},   {1, 1}};
  auto isByRows = [](const ConvolutionShapes &shapes) {
    const auto candidate =
        CompiledTestKernel::select(convolutionKernels(shapes)[0], "avx2", "cpu-convolution")
            .candidate;
    return candidate.preparation &&
           llvm::StringRef(candidate.preparation->form).contains(" blocks of ");
  };
  EXPECT_FALSE(isByRows(inside));
  EXPECT_TRUE(isByRows(outside));
}

/// Matrix products in disguise: plain, grouped, and as 1x1 that is none because of stride or
/// padding.
TEST(Convolution, Pointwise) {
  check({{2, 12, 9, 7}, {20, 12, 1, 1}, {2, 20, 9, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 12, 9, 7}, {20, 3, 1, 1}, {2, 20, 9, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 4});
  check({{2, 12, 9, 7}, {20, 12, 1, 1}, {2, 20, 5, 4}, {2, 2}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 4, 3, 3}, {5, 4, 1, 1}, {2, 5, 6, 4}, {1, 1}, {1, 2, 0, 1}, {1, 1}});
}

/// Every target element meets one source element of a channel: tiles are copied in their order.
/// Several blocks of channels, rows and columns behind the last tile, phases that share a tile and
/// phases without taps, depth, groups.
TEST(Convolution, Sampling) {
  check({{2, 300, 9, 14}, {20, 300, 1, 1}, {2, 20, 5, 7}, {2, 2}, {0, 0, 0, 0}, {1, 1}});
  check({{1, 5, 57, 61}, {40, 5, 1, 1}, {1, 40, 19, 21}, {3, 3}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 6, 9, 10}, {20, 6, 2, 2}, {2, 20, 4, 5}, {2, 2}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 6, 5, 8, 6},
         {10, 3, 1, 1, 1},
         {2, 10, 3, 8, 3},
         {2, 1, 2},
         {0, 0, 0, 0, 0, 0},
         {1, 1, 1},
         2});
}

/// Filters and their gradients in parts of tiles: fewer taps or channels than a vector has lanes,
/// and tiles that overlap.
TEST(Convolution, FilterTiles) {
  check({{2, 7, 9, 9}, {9, 7, 1, 3}, {2, 9, 9, 9}, {1, 1}, {0, 0, 1, 1}, {1, 1}});
  check({{2, 17, 9, 9}, {19, 17, 2, 3}, {2, 19, 4, 5}, {2, 2}, {0, 0, 1, 1}, {1, 1}});
  check({{1, 34, 8, 8}, {50, 34, 5, 5}, {1, 50, 4, 4}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
}

/// The filter's gradient as a product: a sum over images in parts, and over one image in tasks.
TEST(Convolution, PointwiseFilterGradient) {
  auto check = [](const ConvolutionShapes &shapes) {
    checkKernel(convolutionKernels(shapes)[2], rounding, "cpu-convolution");
  };
  check({{16, 24, 20, 20}, {40, 24, 1, 1}, {16, 40, 20, 20}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{1, 32, 47, 49}, {90, 32, 1, 1}, {1, 90, 47, 49}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
}

/// Phases of backward data of unequal size, taps that some phases lack, borders that no window
/// reaches.
TEST(Convolution, Strides) {
  check({{2, 5, 14, 14}, {20, 5, 3, 3}, {2, 20, 7, 7}, {2, 2}, {1, 1, 1, 1}, {1, 1}});
  check({{2, 3, 27, 26}, {8, 3, 11, 11}, {2, 8, 6, 5}, {4, 4}, {2, 2, 2, 2}, {1, 1}});
  check({{2, 3, 11, 13}, {8, 3, 2, 2}, {2, 8, 4, 4}, {3, 4}, {0, 1, 1, 0}, {1, 1}});
}

TEST(Convolution, Dilation) {
  check({{2, 5, 12, 11}, {7, 5, 3, 3}, {2, 7, 12, 11}, {1, 1}, {2, 2, 2, 2}, {2, 2}});
  check({{2, 5, 15, 16}, {7, 5, 3, 2}, {2, 7, 5, 8}, {2, 2}, {0, 0, 1, 2}, {3, 4}});
}

TEST(Convolution, PaddingPerSide) {
  check({{2, 3, 6, 7}, {5, 3, 3, 3}, {2, 5, 7, 8}, {1, 1}, {2, 1, 0, 3}, {1, 1}});
}

TEST(Convolution, Groups) {
  check({{2, 8, 9, 9}, {12, 2, 3, 3}, {2, 12, 9, 9}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 4});
  check({{2, 6, 9, 9}, {12, 1, 3, 3}, {2, 12, 5, 5}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 6});
}

/// Other types in all directions: 3x3 of several blocks of pixels and ragged channels, products of
/// pixels, tiles that a stride samples, phases of a stride, dilation, groups, three dimensions.
TEST(Convolution, Elements) {
  const ConvolutionShapes all[] = {
      {{3, 5, 13, 13}, {20, 5, 3, 3}, {3, 20, 13, 13}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{2, 12, 9, 7}, {20, 12, 1, 1}, {2, 20, 9, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {{2, 12, 9, 7}, {20, 12, 1, 1}, {2, 20, 5, 4}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
      {{2, 3, 27, 26}, {8, 3, 11, 11}, {2, 8, 6, 5}, {4, 4}, {2, 2, 2, 2}, {1, 1}},
      {{2, 8, 9, 9}, {12, 2, 3, 2}, {2, 12, 9, 11}, {1, 1}, {2, 2, 2, 2}, {2, 2}, 4},
      {{2, 4, 7, 6, 5},
       {6, 2, 2, 3, 1},
       {2, 6, 4, 2, 5},
       {2, 2, 1},
       {1, 1, 0, 1, 0, 0},
       {2, 2, 1},
       2}};
  for (const auto &[element, rounding] : otherElements)
    for (const ConvolutionShapes &shapes : all)
      for (const KernelSource &source : convolutionKernels(shapes))
        checkKernel(inElement(source, element), rounding, "cpu-convolution");
}

/// Blocks of channels: phases, groups, several vectors of a block, and panels that end early.
TEST(Convolution, ElementsInBlocks) {
  for (const auto &[element, rounding] : otherElements)
    for (const ConvolutionShapes &shapes : std::vector<ConvolutionShapes>{
             {{2, 32, 9, 10}, {48, 32, 1, 1}, {2, 48, 5, 5}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
             {{2, 32, 9, 9}, {32, 16, 3, 3}, {2, 32, 5, 5}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 2},
             {{1, 32, 12, 7}, {80, 32, 1, 1}, {1, 80, 12, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}}})
      for (unsigned direction : {0, 1})
        checkKernel(
            inElement(withBlocks(convolutionKernels(shapes)[direction], shapes, Blocked::Both),
                      element),
            rounding, "cpu-convolution");
}

/// Beside the convolution itself its ReLU is a result.
TEST(Convolution, TwoResults) {
  const ConvolutionShapes shapes = {{2, 32, 9, 10}, {48, 32, 1, 1}, {2, 48, 9, 10},
                                    {1, 1},         {0, 0, 0, 0},   {1, 1}};
  const std::string plain = tensorType(shapes.y), stored = blockedType(shapes.y);
  KernelSource source = withBlocks(convolutionKernels(shapes)[0], shapes, Blocked::Both);
  source.block = source.block.substr(0, source.block.find("  dl.yield")) +
                 "  %relu = dl.relu %c : " + plain +
                 "\n  %other = dl.convert_layout %relu : " + plain + " to " + stored +
                 "\n  dl.yield %stored, %other : " + stored + ", " + stored;
  source.results = stored + ", " + stored;
  checkKernel(source, rounding, "cpu-convolution");
}

/// Bodies before and behind, each op of which rounds.
TEST(Convolution, ElementsOfBodies) {
  for (const auto &[element, rounding] : otherElements)
    for (const KernelSource &source : convolutionBodies())
      checkKernel(inElement(source, element), 6 * rounding, "cpu-convolution");
}

/// One and three spatial dimensions, with everything at once.
TEST(Convolution, OtherRanks) {
  check({{2, 4, 40}, {20, 4, 5}, {2, 20, 20}, {2}, {2, 2}, {1}});
  check({{2, 4, 5, 6, 7},
         {6, 4, 3, 3, 3},
         {2, 6, 5, 6, 7},
         {1, 1, 1},
         {1, 1, 1, 1, 1, 1},
         {1, 1, 1}});
  check({{2, 4, 7, 6, 5},
         {6, 2, 2, 3, 1},
         {2, 6, 4, 2, 5},
         {2, 2, 1},
         {1, 1, 0, 1, 0, 0},
         {2, 2, 1},
         2});
}

/// Channels and pixels in several blocks: reductions that pass through memory, rows in bands.
TEST(Convolution, Blocks) {
  check({{1, 40, 60, 70}, {70, 40, 3, 3}, {1, 70, 60, 70}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{9, 260, 6, 6}, {40, 260, 3, 3}, {9, 40, 6, 6}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
}

/// Bias by channel and ReLU; the image's own rows decide whether tiles may hold several of them.
TEST(Convolution, Epilogue) {
  for (const char *bias : {"dl.broadcast %b dims = [1] : tensor<18xf32>",
                           "dl.broadcast %h dims = [2] : tensor<4xf32>"})
    checkKernel({"tensor<2x6x4x4xf32>, tensor<18x6x3x3xf32>, tensor<18xf32>, tensor<4xf32>",
                 "tensor<2x18x4x4xf32>, tensor<2x18x4x4xi1>", R"(
^bb0(%x: tensor<2x6x4x4xf32>, %w: tensor<18x6x3x3xf32>, %b: tensor<18xf32>, %h: tensor<4xf32>):
  %c = dl.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1
    : tensor<2x6x4x4xf32>, tensor<18x6x3x3xf32>
  %zero = dl.constant dense<0.0> : tensor<2x18x4x4xf32>
  %bias = )" + std::string(bias) + R"( to tensor<2x18x4x4xf32>
  %z = dl.add %c, %bias : tensor<2x18x4x4xf32>
  %y = dl.relu %z : tensor<2x18x4x4xf32>
  %on = dl.compare gt %y, %zero : tensor<2x18x4x4xf32>
  dl.yield %y, %on : tensor<2x18x4x4xf32>, tensor<2x18x4x4xi1>)"},
                rounding, "cpu-convolution");
}

/// A body before the image must not leak into the padding: exp(0) is 1.
TEST(Convolution, Prologue) {
  checkKernel(
      {"tensor<2x6x7x7xf32>, tensor<18x6x3x3xf32>, tensor<6xf32>", "tensor<2x18x7x7xf32>", R"(
^bb0(%x: tensor<2x6x7x7xf32>, %w: tensor<18x6x3x3xf32>, %s: tensor<6xf32>):
  %scale = dl.broadcast %s dims = [1] : tensor<6xf32> to tensor<2x6x7x7xf32>
  %m = dl.multiply %x, %scale : tensor<2x6x7x7xf32>
  %e = dl.exp %m : tensor<2x6x7x7xf32>
  %c = dl.convolution %e, %w strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1
    : tensor<2x6x7x7xf32>, tensor<18x6x3x3xf32>
  dl.yield %c : tensor<2x18x7x7xf32>)"},
      rounding, "cpu-convolution");
}

/// An image that is computed while it is read, plain and in blocks of channels.
TEST(Convolution, ComputedImages) {
  for (const ConvolutionShapes &shapes : std::vector<ConvolutionShapes>{
           {{2, 32, 9, 11}, {48, 32, 1, 1}, {2, 48, 9, 11}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
           {{2, 16, 12, 9}, {32, 16, 3, 3}, {2, 32, 6, 5}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
           {{2, 32, 13, 11}, {48, 32, 3, 3}, {2, 48, 13, 11}, {1, 1}, {1, 1, 1, 1}, {1, 1}}})
    for (const KernelSource &source : convolutionImages(shapes)) {
      checkKernel(source, rounding, "cpu-convolution");
      checkKernel(withBlocks(source, shapes, Blocked::Both), rounding, "cpu-convolution");
    }
}

/// The filter's gradient behind a ReLU, with weight decay behind it; the masked gradient is a
/// result, too.
TEST(Convolution, FilterGradientWithBodies) {
  checkKernel(convolutionBodies()[1], rounding, "cpu-convolution");
}

/// What is added to the filter's gradient differs between its rows: taps cannot be written as one.
TEST(Convolution, FilterGradientByRows) {
  checkKernel({"tensor<3x5x9x9xf32>, tensor<3x7x9x9xf32>, tensor<3xf32>", "tensor<7x5x3x3xf32>", R"(
^bb0(%x: tensor<3x5x9x9xf32>, %dy: tensor<3x7x9x9xf32>, %r: tensor<3xf32>):
  %g = dl.convolution_backward_filter %x, %dy strides = [1, 1] padding = [1, 1, 1, 1]
    dilations = [1, 1] groups = 1 : tensor<3x5x9x9xf32>, tensor<3x7x9x9xf32> to tensor<7x5x3x3xf32>
  %rows = dl.broadcast %r dims = [2] : tensor<3xf32> to tensor<7x5x3x3xf32>
  %d = dl.add %g, %rows : tensor<7x5x3x3xf32>
  dl.yield %d : tensor<7x5x3x3xf32>)"},
              rounding, "cpu-convolution");
}

/// Backward data with a stride writes every second element; a body follows it there.
TEST(Convolution, StridedEpilogue) {
  checkKernel(
      {"tensor<2x7x5x5xf32>, tensor<7x6x3x3xf32>, tensor<2x6x10x9xf32>", "tensor<2x6x10x9xf32>", R"(
^bb0(%dy: tensor<2x7x5x5xf32>, %w: tensor<7x6x3x3xf32>, %r: tensor<2x6x10x9xf32>):
  %g = dl.convolution_backward_data %dy, %w strides = [2, 2] padding = [1, 1, 1, 1]
      dilations = [1, 1] groups = 1
    : tensor<2x7x5x5xf32>, tensor<7x6x3x3xf32> to tensor<2x6x10x9xf32>
  %s = dl.add %g, %r : tensor<2x6x10x9xf32>
  dl.yield %s : tensor<2x6x10x9xf32>)"},
      rounding, "cpu-convolution");
}

//===------------------------------------------------------------------------------------------===//
// Blocks of channels
//===------------------------------------------------------------------------------------------===//

/// The first `directions` with x, y and both in blocks, those of a pixel side by side or apart.
static void checkBlocked(const ConvolutionShapes &shapes,
                         std::vector<Blocked> which = {Blocked::X, Blocked::Y, Blocked::Both},
                         size_t directions = 3) {
  const auto sources = convolutionKernels(shapes);
  for (Blocked blocked : which)
    for (const KernelSource &source : llvm::ArrayRef(sources).take_front(directions))
      for (bool last : {false, true})
        checkKernel(withBlocks(source, shapes, blocked, last), rounding, "cpu-convolution");
}

/// Read in place: pixels that tiles do not divide, fewer than a tile has, one; a block, and blocks
/// that panels do not divide.
TEST(Convolution, BlockedPointwise) {
  checkBlocked({{2, 32, 9, 7}, {48, 32, 1, 1}, {2, 48, 9, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  checkBlocked({{2, 16, 2, 2}, {16, 16, 1, 1}, {2, 16, 2, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
               {Blocked::Both});
  checkBlocked({{1, 32, 1, 1}, {80, 32, 1, 1}, {1, 80, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
               {Blocked::Both});
  checkBlocked({{2, 64, 5, 5}, {96, 32, 1, 1}, {2, 96, 5, 5}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 2},
               {Blocked::Both});
}

/// The filter's gradient in place: bands that end early, in parts and in one, chunks of channels of
/// which the last is smaller, rows that a stride skips, and a last row that no pixel of y meets.
TEST(Convolution, BlockedPointwiseFilterGradient) {
  auto check = [](const ConvolutionShapes &shapes) {
    for (bool last : {false, true})
      checkKernel(withBlocks(convolutionKernels(shapes)[2], shapes, Blocked::Both, last), rounding,
                  "cpu-convolution");
  };
  check({{3, 80, 24, 25}, {96, 80, 1, 1}, {3, 96, 24, 25}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 208, 5, 5}, {400, 208, 1, 1}, {2, 400, 5, 5}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 80, 43, 31}, {96, 80, 1, 1}, {2, 96, 22, 16}, {2, 2}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 32, 12, 12}, {64, 32, 1, 1}, {2, 64, 4, 4}, {3, 3}, {0, 0, 0, 0}, {1, 1}});
}

/// The filter's gradient in parts, which tasks of some of its channels add: boxes of taps that two
/// of them share, and channels of which the last task has fewer; copied by rows, and by blocks of
/// channels, of f32 and of pairs.
TEST(Convolution, FilterGradientInParts) {
  const std::vector<ConvolutionShapes> all = {
      {{8, 160, 24, 24}, {32, 160, 1, 1}, {8, 32, 24, 24}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {{8, 112, 23, 25}, {48, 112, 1, 1}, {8, 48, 12, 13}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
      {{6, 48, 16, 16}, {32, 48, 3, 3}, {6, 32, 16, 16}, {1, 1}, {1, 1, 1, 1}, {1, 1}}};
  for (const ConvolutionShapes &shapes : all) {
    const KernelSource rows = convolutionKernels(shapes)[2],
                       blocks = withBlocks(rows, shapes, Blocked::Both);
    for (const KernelSource &source : {rows, blocks}) {
      const std::string schedule =
          CompiledTestKernel::select(source, "znver4", "cpu-convolution").candidate.schedule;
      EXPECT_FALSE(llvm::StringRef(schedule + " ").contains("splits 1 ")) << schedule;
      checkKernel(source, rounding, "cpu-convolution");
      checkKernel(inElement(source, "bf16"), otherElements[1].rounding, "cpu-convolution");
    }
  }
}

/// Copied: padding per side, strides, dilations, depth, images read and written in bands; x whose
/// few channels have no blocks.
TEST(Convolution, BlockedCopies) {
  checkBlocked({{2, 16, 13, 14}, {32, 16, 3, 3}, {2, 32, 7, 7}, {2, 2}, {2, 1, 1, 0}, {1, 1}});
  const std::vector<Blocked> both = {Blocked::Both};
  checkBlocked({{2, 16, 15, 16}, {16, 16, 3, 2}, {2, 16, 5, 8}, {2, 2}, {0, 0, 1, 2}, {3, 4}},
               both);
  checkBlocked({{1, 32, 40, 50}, {48, 32, 3, 3}, {1, 48, 40, 50}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
               both);
  checkBlocked({{2, 48, 9, 9}, {48, 16, 3, 3}, {2, 48, 5, 5}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 3},
               both);
  checkBlocked({{2, 16, 7, 6, 5},
                {16, 16, 2, 3, 1},
                {2, 16, 4, 2, 5},
                {2, 2, 1},
                {1, 1, 0, 1, 0, 0},
                {2, 2, 1},
                1},
               both, 2);
  checkBlocked({{2, 3, 27, 26}, {32, 3, 11, 11}, {2, 32, 6, 5}, {4, 4}, {2, 2, 2, 2}, {1, 1}},
               {Blocked::Y});
}

/// Every target element meets one source element: in place with a stride, several blocks of
/// channels, and phases without taps.
TEST(Convolution, BlockedSampling) {
  checkBlocked({{2, 304, 9, 14}, {32, 304, 1, 1}, {2, 32, 5, 7}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
               {Blocked::Both});
  checkBlocked({{1, 16, 28, 31}, {48, 16, 1, 1}, {1, 48, 10, 11}, {3, 3}, {0, 0, 0, 0}, {1, 1}});
  checkBlocked({{2, 16, 9, 10}, {32, 16, 2, 2}, {2, 32, 4, 5}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
               {Blocked::Both});
}

/// One phase has taps, of those that the others lie around: not the first, of several taps, with
/// fewer rows and columns than others, in a task that packs.
TEST(Convolution, BlockedSolePhase) {
  const std::vector<Blocked> both = {Blocked::Both};
  checkBlocked({{2, 32, 9, 10}, {32, 32, 1, 1}, {2, 32, 6, 6}, {2, 2}, {1, 1, 1, 1}, {1, 1}}, both);
  checkBlocked({{2, 16, 13, 12}, {32, 16, 3, 3}, {2, 32, 7, 6}, {2, 2}, {2, 2, 2, 2}, {2, 2}},
               both);
  checkBlocked({{2, 32, 40, 8}, {32, 16, 1, 1}, {2, 32, 20, 8}, {2, 1}, {0, 0, 0, 0}, {1, 1}, 2},
               both);
  checkBlocked({{2, 32, 8, 40}, {304, 32, 1, 1}, {2, 304, 8, 14}, {1, 3}, {0, 0, 0, 2}, {1, 1}},
               both);
  checkBlocked({{1, 80, 7, 7}, {112, 80, 1, 1}, {1, 112, 4, 4}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
               both);
  checkBlocked({{1, 80, 8, 9}, {112, 80, 1, 1}, {1, 112, 5, 6}, {2, 2}, {1, 1, 1, 1}, {1, 1}});
  checkBlocked({{1, 80, 7, 7}, {112, 80, 3, 3}, {1, 112, 4, 4}, {2, 2}, {2, 2, 2, 2}, {2, 2}},
               both);
  // More phases than have code of their own.
  checkBlocked({{1, 16, 10, 11}, {16, 16, 1, 1}, {1, 16, 2, 3}, {5, 5}, {0, 0, 0, 0}, {1, 1}},
               both);
}

/// Of one image, whose filter is larger: tasks pack it. Panels and blocks of channels that end
/// early, of plain images, groups, phases of columns, and phases without taps.
TEST(Convolution, PackedByTasks) {
  const std::vector<Blocked> both = {Blocked::Both};
  check({{1, 20, 5, 6}, {37, 20, 3, 3}, {1, 37, 5, 6}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{1, 36, 5, 9}, {42, 18, 3, 2}, {1, 42, 5, 4}, {1, 2}, {1, 1, 0, 0}, {1, 1}, 2});
  checkBlocked({{1, 304, 4, 5}, {208, 304, 1, 1}, {1, 208, 4, 5}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
               both, 2);
  checkBlocked({{1, 80, 5, 7}, {48, 80, 1, 1}, {1, 48, 3, 4}, {2, 2}, {0, 0, 0, 0}, {1, 1}}, both,
               2);
  checkBlocked({{1, 80, 7, 7}, {112, 80, 3, 3}, {1, 112, 4, 4}, {2, 2}, {1, 1, 1, 1}, {1, 1}});
  checkBlocked({{1, 96, 5, 6}, {64, 48, 3, 3}, {1, 64, 5, 6}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2},
               both, 2);
}

/// Bands of one row and of several, pixels that are one row, rows and columns of two phases,
/// groups.
TEST(Convolution, Reductions) {
  for (const ConvolutionShapes &shapes : std::vector<ConvolutionShapes>{
           {{3, 32, 13, 17}, {48, 32, 1, 1}, {3, 48, 13, 17}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
           {{2, 16, 19, 21}, {80, 16, 3, 3}, {2, 80, 19, 21}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
           {{2, 16, 13, 15}, {32, 16, 3, 3}, {2, 32, 7, 8}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
           {{1, 32, 4, 5}, {80, 32, 3, 3}, {1, 80, 4, 5}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
           {{2, 32, 9, 8}, {32, 16, 3, 1}, {2, 32, 9, 8}, {1, 1}, {1, 1, 0, 0}, {1, 1}, 2},
           {{2, 32, 9, 10}, {48, 32, 1, 1}, {2, 48, 5, 5}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
           {{2, 32, 9, 8}, {48, 32, 1, 1}, {2, 48, 6, 5}, {2, 2}, {1, 1, 1, 1}, {1, 1}}})
    for (auto [last, relu] : {std::pair(false, true), {true, true}, {false, false}})
      for (const KernelSource &source : convolutionReductions(shapes, last, "f32", relu))
        checkKernel(source, rounding, "cpu-convolution");
}

/// What is reduced in 16 bits is what is stored, rounded to them. Results of 16 bits are rounded
/// once more, and so are sums of them.
TEST(Convolution, SmallReductions) {
  const ConvolutionShapes shapes = {{2, 16, 13, 15}, {32, 16, 3, 3}, {2, 32, 7, 8},
                                    {2, 2},          {1, 1, 1, 1},   {1, 1}};
  for (const OtherElement &element : otherElements) {
    if (element.name == std::string("f64"))
      continue;
    for (bool relu : {true, false})
      for (const KernelSource &source : convolutionReductions(shapes, false, element.name, relu)) {
        checkKernel(source, element.rounding, "cpu-convolution");
        checkReducesStored(source, rounding, "cpu-convolution");
      }
    for (const char *kind : {"sum", "max"})
      for (const KernelSource &source : uncastReductions(shapes, element.name, kind))
        checkKernel(source, 2 * element.rounding, "cpu-convolution");
  }
}

/// A sum behind a convolution where a mask says so that is a result too: its bytes are no
/// condition.
TEST(Convolution, MaskBehind) {
  const ConvolutionShapes shapes = {{2, 32, 13, 15}, {32, 32, 1, 1}, {2, 32, 13, 15},
                                    {1, 1},          {0, 0, 0, 0},   {1, 1}};
  const std::string plain = tensorType(shapes.y), bits = "tensor<2x32x13x15xi1>",
                    mask = blockedType(shapes.y, false, "i1");
  KernelSource source = convolutionReductions(shapes)[0];
  source.results = blockedType(shapes.y) + ", " + mask + ", tensor<32xf32>";
  source.block = source.block.substr(0, source.block.find("  %moments")) +
                 "  %zero = dl.constant dense<0.0> : " + plain +
                 "\n  %on = dl.compare gt %relu, %zero : " + plain +
                 "\n  %mask = dl.convert_layout %on : " + bits + " to " + mask +
                 "\n  %kept = dl.select %on, %relu, %zero : " + plain +
                 "\n  %sum = dl.reduce sum %kept axes = [0, 2, 3] : " + plain +
                 "\n  %shifted = dl.add %sum, %each : tensor<32xf32>" +
                 "\n  dl.yield %stored, %mask, %shifted : " + source.results;
  checkKernel(source, rounding, "cpu-convolution");
}

/// A gradient that takes the place of the activation that masks it, as soon as that has been read:
/// its sums over a channel's pixels are those of what has been stored.
TEST(Convolution, MaskedInPlace) {
  const ConvolutionShapes shapes = {{2, 32, 13, 15}, {48, 32, 3, 3}, {2, 48, 13, 15},
                                    {1, 1},          {1, 1, 1, 1},   {1, 1}};
  const std::string x = tensorType(shapes.x), y = tensorType(shapes.y), w = tensorType(shapes.w),
                    storedX = blockedType(shapes.x), storedY = blockedType(shapes.y);
  KernelSource source;
  source.operands = storedY + ", " + w + ", " + storedX;
  source.results = storedX + ", tensor<32xf32>";
  source.block = "^bb0(%0: " + storedY + ", %1: " + w + ", %2: " + storedX +
                 "):\n  %dy = dl.convert_layout %0 : " + storedY + " to " + y +
                 "\n  %x = dl.convert_layout %2 : " + storedX + " to " + x +
                 "\n  %c = dl.convolution_backward_data %dy, %1 strides = [1, 1] padding = [1, 1, "
                 "1, 1] dilations = [1, 1] groups = 1 : " +
                 y + ", " + w + " to " + x + "\n  %zero = dl.constant dense<0.0> : " + x +
                 "\n  %on = dl.compare gt %x, %zero : " + x +
                 "\n  %dx = dl.select %on, %c, %zero : " + x +
                 "\n  %stored = dl.convert_layout %dx : " + x + " to " + storedX +
                 "\n  %sum = dl.reduce sum %dx axes = [0, 2, 3] : " + x +
                 "\n  dl.yield %stored, %sum : " + source.results;
  for (const char *generator : {"cpu-convolution", "cpu-winograd"})
    for (unsigned number = 0, all = 1; number < all; ++number) {
      CompiledTestKernel kernel(source, "native", generator, number);
      ASSERT_TRUE(kernel);
      all = kernel.candidates();
      const std::vector<Tensor> inputs = kernel.randomInputs();
      const std::vector<Tensor> apart = kernel.run(inputs);
      const std::vector<Tensor> inPlace =
          kernel.run(inputs, TaskOrder::Forward, CompiledTestKernel::InPlace{2, 0});
      for (size_t result = 0; result < apart.size(); ++result)
        EXPECT_EQ(inPlace[result].values, apart[result].values)
            << kernel.selection().candidate.schedule;
    }
}

/// The code that a processor's name chooses for a layer of ResNet-50, in all directions.
static void checkCodeOfBf16(llvm::StringRef cpu, llvm::StringRef ending) {
  const ConvolutionShapes large = {{16, 64, 28, 28}, {64, 64, 3, 3}, {16, 64, 28, 28},
                                   {1, 1},           {1, 1, 1, 1},   {1, 1}};
  for (int direction : {0, 1, 2}) {
    const KernelSource source =
        withBlocks(convolutionKernels(large)[direction], large, Blocked::Both);
    const std::string schedule =
        CompiledTestKernel::select(inElement(source, "bf16"), cpu, "cpu-convolution")
            .candidate.schedule;
    EXPECT_TRUE(llvm::StringRef(schedule).ends_with(ending)) << schedule;
  }
}

/// Pairs of channels of bf16, read as they lie in a block: forward and backward, taps of one and of
/// several, which are put together in another way each, strides, dilations, groups, depth, panels
/// and blocks of channels that end early, and filters that tasks pack. In the filter's gradient
/// pairs of images, of an even number of them and of an odd one, or of a single one's upper and
/// lower rows, of which there are as many or one more.
TEST(Convolution, BlockedPairsOfBf16) {
  const std::vector<ConvolutionShapes> all = {
      {{2, 32, 9, 7}, {48, 32, 1, 1}, {2, 48, 9, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {{2, 304, 9, 14}, {32, 304, 1, 1}, {2, 32, 5, 7}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
      {{1, 32, 9, 14}, {48, 32, 1, 1}, {1, 48, 5, 7}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
      {{1, 80, 6, 7}, {32, 80, 1, 1}, {1, 32, 6, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {{2, 16, 13, 14}, {32, 16, 3, 3}, {2, 32, 7, 7}, {2, 2}, {2, 1, 1, 0}, {1, 1}},
      {{1, 16, 15, 16}, {16, 16, 3, 2}, {1, 16, 5, 8}, {2, 2}, {0, 0, 1, 2}, {3, 4}},
      {{5, 48, 9, 9}, {48, 16, 3, 3}, {5, 48, 5, 5}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 3},
      {{1, 80, 7, 7}, {112, 80, 3, 3}, {1, 112, 7, 7}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{2, 16, 7, 6, 5},
       {16, 16, 2, 3, 1},
       {2, 16, 4, 2, 5},
       {2, 2, 1},
       {1, 1, 0, 1, 0, 0},
       {2, 2, 1},
       1}};
  const double rounding = otherElements[1].rounding;
  for (const ConvolutionShapes &shapes : all)
    for (int direction : {0, 1, 2})
      for (bool last : {false, true}) {
        // Taps along the depth are no channels of a block; what is copied is read either way.
        if (shapes.w.size() == 5 ? direction == 2 : last && shapes.w[2] > 1)
          continue;
        const KernelSource source = convolutionKernels(shapes)[direction];
        // An image that is read is in blocks, the other one may be.
        for (Blocked blocked : {direction ? Blocked::Y : Blocked::X, Blocked::Both}) {
          const KernelSource bf16 = inElement(withBlocks(source, shapes, blocked, last), "bf16");
          // Of a single image whose pixels are one row, a filter's gradient has nothing to pair.
          if (direction == 2 && shapes.x[0] == 1 && shapes.w[2] == 1 && shapes.strides[0] == 1)
            checkKernel(bf16, rounding, "cpu-convolution");
          else
            checkPairsKernel(bf16, rounding, "cpu-convolution");
        }
      }
  // Images that are computed while they are copied.
  for (const ConvolutionShapes &shapes : {all[0], all[2], all[4]})
    for (int direction : {0, 2}) {
      const KernelSource source = convolutionImages(shapes)[direction];
      checkPairsKernel(inElement(withBlocks(source, shapes, Blocked::Both), "bf16"), 6 * rounding,
                       "cpu-convolution");
    }
  checkCodeOfBf16("znver4", " bf16");
}

/// Two row-major planes make one of pairs: of a first layer's three channels, the last with zeros,
/// and of an image whose gradient has the channels of several groups. Also where the filter is
/// computed.
TEST(Convolution, PlanesOfPairs) {
  const ConvolutionShapes first = {{16, 3, 64, 64}, {32, 3, 7, 7}, {16, 32, 32, 32},
                                   {2, 2},          {3, 3, 3, 3},  {1, 1}};
  const std::string schedule =
      CompiledTestKernel::select(inElement(convolutionKernels(first)[0], "bf16"), "znver4",
                                 "cpu-convolution")
          .candidate.schedule;
  EXPECT_TRUE(llvm::StringRef(schedule).ends_with(" bf16")) << schedule;
  const std::vector<ConvolutionShapes> all = {
      {{2, 3, 19, 35}, {20, 3, 7, 7}, {2, 20, 10, 18}, {2, 2}, {3, 3, 3, 3}, {1, 1}},
      {{2, 5, 9, 9}, {36, 5, 1, 3}, {2, 36, 9, 9}, {1, 1}, {0, 0, 1, 1}, {1, 1}},
      {{2, 8, 9, 9}, {12, 4, 3, 3}, {2, 12, 9, 9}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2}};
  for (const ConvolutionShapes &shapes : all)
    for (int direction : {0, 1})
      checkPairsKernel(inElement(convolutionKernels(shapes)[direction], "bf16"),
                       otherElements[1].rounding, "cpu-convolution");
  KernelSource computed = inElement(convolutionKernels(all[0])[0], "bf16");
  const std::string read = "%c = dl.convolution %a, %b";
  computed.block.replace(computed.block.find(read), read.size(),
                         "%n = dl.negate %b : tensor<20x3x7x7xbf16>\n  %c = dl.convolution %a, %n");
  checkPairsKernel(computed, otherElements[1].rounding, "cpu-convolution");
}

/// What an infinity in a row of an operand, in its middle, reaches is what it reaches in the
/// oracle.
static void checkInfinities(const KernelSource &source, unsigned operand, int64_t firstRow,
                            int64_t rows, int64_t cols) {
  for (llvm::StringRef target : pairsTargets())
    for (unsigned number = 0, all = 1; number < all; ++number) {
      CompiledTestKernel kernel(source, target, "cpu-convolution", number);
      ASSERT_TRUE(kernel);
      all = kernel.candidates();
      for (int64_t row = firstRow; row < rows; ++row) {
        std::vector<Tensor> inputs = kernel.randomInputs();
        inputs[operand].values[row * cols + cols / 2] = INFINITY;
        const Tensor expected = kernel.oracle(inputs).front(), got = kernel.run(inputs).front();
        for (size_t i = 0; i < got.values.size(); ++i)
          ASSERT_EQ(std::isfinite(got.values[i]), std::isfinite(expected.values[i]))
              << kernel.selection().candidate.schedule << ", operand " << operand << ", row " << row
              << ", number " << i << " " << got.values[i] << " " << expected.values[i];
      }
    }
}

/// Of an odd number of channels the rows of taps make pairs: of one channel and of three, as many
/// as there are or one too few, strides, dilations, padding of more rows than the image has, taps
/// of one column, blocks of channels behind, images that are computed while they are read, and an
/// infinity in a row that an odd number of taps meets.
TEST(Convolution, PairsOfTapRows) {
  const std::vector<ConvolutionShapes> all = {
      {{2, 3, 9, 11}, {20, 3, 3, 3}, {2, 20, 9, 11}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{2, 1, 12, 11}, {20, 1, 5, 5}, {2, 20, 8, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {{2, 3, 27, 31}, {16, 3, 11, 11}, {2, 16, 6, 7}, {4, 4}, {2, 2, 2, 2}, {1, 1}},
      {{2, 3, 15, 16}, {16, 3, 3, 2}, {2, 16, 5, 8}, {2, 2}, {0, 0, 1, 2}, {3, 4}},
      {{2, 3, 9, 9}, {48, 3, 4, 3}, {2, 48, 8, 9}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{2, 3, 9, 9}, {16, 3, 3, 1}, {2, 16, 9, 11}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{1, 3, 2, 9}, {16, 3, 5, 3}, {1, 16, 4, 9}, {1, 1}, {3, 3, 1, 1}, {1, 1}}};
  const double rounding = otherElements[1].rounding;
  for (const ConvolutionShapes &shapes : all) {
    const KernelSource source = convolutionKernels(shapes)[0];
    checkPairsKernel(inElement(source, "bf16"), rounding, "cpu-convolution");
    if (shapes.y[1] % 16 == 0)
      checkPairsKernel(inElement(withBlocks(source, shapes, Blocked::Y), "bf16"), rounding,
                       "cpu-convolution");
    checkPairsKernel(inElement(convolutionImages(shapes)[0], "bf16"), 6 * rounding,
                     "cpu-convolution");
  }
  checkInfinities(inElement(convolutionKernels(all[0])[0], "bf16"), 0, 0, 9, 11);
  const std::string schedule =
      CompiledTestKernel::select(inElement(convolutionKernels(all[2])[0], "bf16"), "znver4",
                                 "cpu-convolution")
          .candidate.schedule;
  EXPECT_TRUE(llvm::StringRef(schedule).ends_with(" rows as channels bf16")) << schedule;
}

/// The filter's gradient of a single image sums over pairs of an upper and a lower row: row-major
/// images and those in blocks, as many rows above as below and one more, which both halves have and
/// an infinity of which stays where it belongs, fewer rows than taps, strides, dilations and depth.
TEST(Convolution, PairsOfRows) {
  const std::vector<ConvolutionShapes> all = {
      {{1, 16, 7, 9}, {16, 16, 3, 3}, {1, 16, 7, 9}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{1, 16, 8, 9}, {32, 16, 3, 3}, {1, 32, 4, 4}, {2, 2}, {1, 1, 0, 1}, {1, 1}},
      {{1, 16, 2, 9}, {16, 16, 5, 1}, {1, 16, 3, 9}, {1, 1}, {3, 2, 0, 0}, {1, 1}},
      {{1, 32, 9, 9}, {32, 16, 3, 3}, {1, 32, 7, 7}, {1, 1}, {1, 1, 1, 1}, {2, 2}, 2},
      {{1, 3, 19, 35}, {20, 3, 7, 7}, {1, 20, 10, 18}, {2, 2}, {3, 3, 3, 3}, {1, 1}},
      {{1, 4, 5, 6, 5},
       {16, 4, 2, 3, 1},
       {1, 16, 4, 6, 5},
       {1, 1, 1},
       {0, 0, 1, 1, 0, 0},
       {1, 1, 1},
       1}};
  const double rounding = otherElements[1].rounding;
  for (const ConvolutionShapes &shapes : all) {
    const KernelSource source = convolutionKernels(shapes)[2];
    checkPairsKernel(inElement(source, "bf16"), rounding, "cpu-convolution");
    if (shapes.x[1] % 16 != 0)
      continue;
    for (bool last : {false, true})
      checkPairsKernel(inElement(withBlocks(source, shapes, Blocked::Both, last), "bf16"), rounding,
                       "cpu-convolution");
  }
  // Rows of 7, of which the fourth is in both halves; dy's first and last meet zeros of the
  // padding.
  const KernelSource source = inElement(convolutionKernels(all[0])[2], "bf16");
  for (unsigned operand : {0, 1})
    checkInfinities(source, operand, operand, 7 - operand, 9);
}

/// By AMX's tiles, on any machine: taps of one and of several, strides, dilations and groups,
/// pixels that fill no tile, images in blocks and with their channels last, read where they lie or
/// copied, and computed while they are copied. In the filter's gradient an even number of images
/// and an odd one, rows in turns as a stride takes them, and images of rows of pixels.
TEST(Convolution, TilesOfBf16) {
  const std::vector<ConvolutionShapes> all = {
      {{2, 32, 9, 7}, {48, 32, 1, 1}, {2, 48, 9, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {{2, 64, 9, 36}, {32, 64, 1, 1}, {2, 32, 5, 18}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
      {{3, 32, 13, 14}, {32, 32, 3, 3}, {3, 32, 7, 7}, {2, 2}, {2, 1, 1, 0}, {1, 1}},
      {{2, 64, 15, 18}, {32, 32, 3, 2}, {2, 32, 5, 9}, {2, 2}, {0, 0, 1, 2}, {3, 4}, 2},
      {{2, 32, 6, 20}, {96, 32, 3, 3}, {2, 96, 6, 20}, {1, 1}, {1, 1, 1, 1}, {1, 1}}};
  const double rounding = otherElements[1].rounding;
  for (const ConvolutionShapes &shapes : all)
    for (int direction : {0, 1, 2}) {
      // Backward data sums over y's channels, of which there are to be whole groups.
      if (direction == 1 && shapes.w[0] / shapes.groups % 32 != 0)
        continue;
      const KernelSource source = convolutionKernels(shapes)[direction];
      // A filter's gradient takes x in turns of its columns from blocks alone.
      const bool ofX = direction == 0 || (direction == 2 && shapes.strides[1] > 1);
      for (bool last : {false, true})
        for (Blocked blocked : {ofX ? Blocked::X : Blocked::Y, Blocked::Both})
          checkAmxKernel(inElement(withBlocks(source, shapes, blocked, last), "bf16"), rounding,
                         "cpu-convolution");
    }
  for (int direction : {0, 2})
    checkAmxKernel(
        inElement(withBlocks(convolutionImages(all[2])[direction], all[2], Blocked::Both), "bf16"),
        6 * rounding, "cpu-convolution");
  checkCodeOfBf16("sapphirerapids", " amx");
}

/// Groups whose channels are no whole blocks are left to loops of single elements.
TEST(Convolution, BlocksAcrossGroups) {
  const ConvolutionShapes shapes = {
      {2, 48, 5, 6}, {32, 12, 1, 1}, {2, 32, 5, 6}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 4};
  for (const KernelSource &source : convolutionKernels(shapes))
    checkKernel(withBlocks(source, shapes, Blocked::Both), rounding, "cpu-loops");
}

TEST(Convolution, BlockedBodies) {
  for (const BlockedBody &body :
       {BlockedBody{}, BlockedBody{.plainAddend = true}, BlockedBody{.scaled = true},
        BlockedBody{.stride = 2}, BlockedBody{.kernel = 3, .pad = 1, .scaled = true},
        BlockedBody{.kernel = 3, .stride = 2, .pad = 1}, BlockedBody{.last = true},
        BlockedBody{.plainAddend = true, .last = true}, BlockedBody{.scaled = true, .last = true},
        BlockedBody{.kernel = 3, .stride = 2, .pad = 1, .last = true}})
    checkKernel(body.source(), rounding, "cpu-convolution");
}
