//===- WinogradTest.cpp - minimal filtering: matrices, kernels, errors ------------------------===//
#include "codegen/CPU/Winograd/WinogradSchedule.h"
#include "test/codegen/CPU/ConvolutionKernels.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dlc;
using namespace dlc::test;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Matrices
//===------------------------------------------------------------------------------------------===//

using Numbers = std::vector<double>;

static Numbers operator*(const TransformMatrix &matrix, const Numbers &values) {
  Numbers result(matrix.rows, 0);
  for (int64_t i = 0; i < matrix.rows; ++i)
    for (int64_t j = 0; j < matrix.columns; ++j)
      result[i] += matrix.at(i, j) * values[j];
  return result;
}
static Numbers operator*(Numbers a, const Numbers &b) {
  for (size_t i = 0; i < a.size(); ++i)
    a[i] *= b[i];
  return a;
}

/// d correlated with g.
static Numbers correlation(const Numbers &d, const Numbers &g) {
  Numbers y(d.size() + 1 - g.size(), 0);
  for (size_t i = 0; i < y.size(); ++i)
    for (size_t k = 0; k < g.size(); ++k)
      y[i] += d[i + k] * g[k];
  return y;
}

// In float64 the matrices compute correlations: forward, and by their transposes the gradient of
// the taps, which is a correlation of the input with the gradient of the outputs.
TEST(Winograd, MatricesComputeCorrelations) {
  for (int64_t taps : {1, 3, 5})
    for (int64_t outputs : {1, 2, 4}) {
      if (taps == 1 && outputs > 1)
        continue;
      WinogradTransform f(outputs, taps);
      Numbers d = randomNumbers(f.points(), 1), g = randomNumbers(taps, 2),
              dy = randomNumbers(outputs, 3);
      Numbers y = f.output * ((f.filter * g) * (f.input * d)), expected = correlation(d, g);
      for (int64_t i = 0; i < outputs; ++i)
        EXPECT_NEAR(y[i], expected[i], 1e-13) << "F(" << outputs << ", " << taps << ")";
      Numbers dg = f.filter.transposed() * ((f.input * d) * (f.output.transposed() * dy));
      expected = correlation(d, dy);
      for (int64_t i = 0; i < taps; ++i)
        EXPECT_NEAR(dg[i], expected[i], 1e-13) << "F(" << outputs << ", " << taps << ")";
    }
}

// Sums that rows or columns share are computed once: Lavin and Gray count 32 additions for the
// input of F(2x2, 3x3); a multiplication joins an addition.
TEST(Winograd, TransformsShareSums) {
  WinogradTransform two(2, 3), four(4, 3);
  EXPECT_EQ(transformOperations(two.input, two.input), 32);
  EXPECT_EQ(transformOperations(two.output, two.output), 24);
  EXPECT_EQ(transformOperations(four.input, four.input), 144);
}

//===------------------------------------------------------------------------------------------===//
// Kernels
//===------------------------------------------------------------------------------------------===//

// The largest difference from float64, as part of the largest result. F(4x4) and filters of five
// taps multiply by up to 20 what they subtract again.
static const double rounding = 4e-5;

/// All three directions.
static void check(const ConvolutionShapes &shapes) {
  for (const KernelSource &source : convolutionKernels(shapes))
    checkKernel(source, rounding, "cpu-winograd");
}

TEST(Winograd, Square) {
  check({{3, 5, 13, 13}, {20, 5, 3, 3}, {3, 20, 13, 13}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{2, 20, 12, 12}, {50, 20, 5, 5}, {2, 50, 8, 8}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
}

/// Images smaller than a tile, rows of several segments, and a batch of more than one block.
TEST(Winograd, Images) {
  check({{2, 6, 5, 3}, {18, 6, 3, 3}, {2, 18, 3, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 3, 6, 71}, {4, 3, 3, 3}, {2, 4, 6, 71}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{9, 16, 23, 22}, {32, 16, 3, 3}, {9, 32, 23, 22}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
}

TEST(Winograd, PaddingPerSide) {
  check({{2, 3, 6, 7}, {5, 3, 3, 3}, {2, 5, 7, 8}, {1, 1}, {2, 1, 0, 3}, {1, 1}});
  check({{2, 3, 4, 4}, {5, 3, 3, 3}, {2, 5, 9, 9}, {1, 1}, {4, 3, 3, 4}, {1, 1}});
}

/// Filters that are no squares; one axis.
TEST(Winograd, Filters) {
  check({{2, 4, 9, 11}, {6, 4, 3, 5}, {2, 6, 9, 11}, {1, 1}, {1, 1, 2, 2}, {1, 1}});
  check({{2, 4, 9, 11}, {6, 4, 1, 3}, {2, 6, 9, 11}, {1, 1}, {0, 0, 1, 1}, {1, 1}});
  check({{2, 4, 9, 11}, {6, 4, 3, 1}, {2, 6, 9, 11}, {1, 1}, {1, 1, 0, 0}, {1, 1}});
  check({{2, 4, 40}, {20, 4, 5}, {2, 20, 40}, {1}, {2, 2}, {1}});
}

/// Chunks of channels, and parts of the batch.
TEST(Winograd, Blocks) {
  check({{4, 70, 28, 28}, {100, 70, 3, 3}, {4, 100, 28, 28}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{1, 260, 6, 6}, {140, 260, 3, 3}, {1, 140, 6, 6}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
}

/// What is fused around: bias, ReLU and an addend behind; a body before the image, which must not
/// leak into the padding; results from the prologue.
TEST(Winograd, Bodies) {
  for (const KernelSource &source : convolutionBodies())
    checkKernel(source, rounding, "cpu-winograd");
}

// What has no transform is left to others.
TEST(Winograd, Refuses) {
  ConvolutionProblem good;
  good.input = good.output = {1, 28, 28};
  good.kernel = {1, 3, 3};
  EXPECT_EQ(winogradRefusal(good), "");
  ConvolutionProblem strided = good, dilated = good, grouped = good, deep = good, large = good,
                     point = good;
  strided.stride = {1, 1, 2};
  dilated.dilation = {1, 2, 1};
  grouped.groups = 2;
  deep.input[0] = deep.output[0] = 4;
  large.kernel = {1, 7, 7};
  point.kernel = {1, 1, 1};
  EXPECT_EQ(winogradRefusal(strided), "its stride is not 1");
  EXPECT_EQ(winogradRefusal(dilated), "its dilation is not 1");
  EXPECT_EQ(winogradRefusal(grouped), "it has 2 groups");
  EXPECT_EQ(winogradRefusal(deep), "it has three spatial dimensions");
  EXPECT_EQ(winogradRefusal(large), "a filter of 7x7 has no transform");
  EXPECT_EQ(winogradRefusal(point), "a filter of 1x1 has no transform");
}

//===------------------------------------------------------------------------------------------===//
// Errors
//===------------------------------------------------------------------------------------------===//

// Against float64, uniform inputs in [-1, 1), 32 channels. An error grows with what the transforms
// multiply by before they subtract: the bounds are twice what was measured (Winograd.h). In the
// data directions F(2x2, 3x3) errs less than direct convolution, as it sums fewer products:
// --math=strict keeps it there.
TEST(Winograd, ErrorsAreBounded) {
  const ConvolutionShapes three = {{2, 32, 13, 15}, {64, 32, 3, 3}, {2, 64, 13, 15},
                                   {1, 1},          {1, 1, 1, 1},   {1, 1}};
  const ConvolutionShapes five = {{2, 32, 13, 15}, {64, 32, 5, 5}, {2, 64, 13, 15},
                                  {1, 1},          {2, 2, 2, 2},   {1, 1}};
  const char *directions[] = {"forward", "backward data", "backward filter"};
  for (int direction = 0; direction < 3; ++direction) {
    KernelSource small = convolutionKernels(three)[direction],
                 large = convolutionKernels(five)[direction];
    double direct = errorOf(small, "cpu-convolution", ""),
           two = errorOf(small, "cpu-winograd", "winograd tile 2x2"),
           four = errorOf(small, "cpu-winograd", "winograd tile 4x4"),
           twoFive = errorOf(large, "cpu-winograd", "winograd tile 2x2"),
           fourFive = errorOf(large, "cpu-winograd", "winograd tile 4x4");
    EXPECT_LE(two, direction == 2 ? 2 * direct : direct) << directions[direction];
    EXPECT_LE(four, 3e-6) << directions[direction];
    EXPECT_LE(twoFive, 4e-6) << directions[direction];
    EXPECT_LE(fourFive, 6e-6) << directions[direction];
  }
}
