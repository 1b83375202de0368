//===- FourierTest.cpp - convolution by Fourier transforms: codelets, kernels, errors ---------===//
#include "codegen/CPU/FFT/FourierTransform.h"
#include "codegen/CPU/Winograd/WinogradSchedule.h"
#include "test/codegen/CPU/ConvolutionKernels.h"
#include <cmath>
#include <complex>
#include <gtest/gtest.h>

using namespace dlc;
using namespace dlc::test;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Codelets
//===------------------------------------------------------------------------------------------===//

using Numbers = std::vector<double>;
using Points = std::vector<std::complex<double>>;

/// A codelet's outputs in float64.
static Numbers run(const FourierCodelet &codelet, const Numbers &inputs) {
  Numbers values;
  for (const FourierCodelet::Operation &one : codelet.operations()) {
    auto value = [&](FourierCodelet::Number number) { return values.at(number); };
    switch (one.kind) {
    case FourierCodelet::Operation::Input:
      values.push_back(inputs.at(one.a));
      break;
    case FourierCodelet::Operation::Add:
      values.push_back(value(one.a) + value(one.b));
      break;
    case FourierCodelet::Operation::Subtract:
      values.push_back(value(one.a) - value(one.b));
      break;
    case FourierCodelet::Operation::Scale:
      values.push_back(one.factor * value(one.a));
      break;
    case FourierCodelet::Operation::ScaleAdd:
      values.push_back(one.factor * value(one.a) + value(one.b));
      break;
    }
  }
  Numbers outputs;
  for (FourierCodelet::Number number : codelet.outputs())
    outputs.push_back(number == FourierCodelet::zero ? 0 : values.at(number));
  return outputs;
}

/// Of the first numbers of n; the others are zero.
static Points transformOf(const Points &x, int64_t n, int sign) {
  Points points(n);
  for (int64_t k = 0; k < n; ++k)
    for (size_t j = 0; j < x.size(); ++j)
      points[k] += x[j] * std::polar(1.0, sign * 2 * M_PI * double(j) * double(k) / double(n));
  return points;
}

/// Numbers whose first half are real parts and the other imaginary ones.
static Points complexOf(const Numbers &parts) {
  Points points(parts.size() / 2);
  for (size_t i = 0; i < points.size(); ++i)
    points[i] = {parts[i], parts[points.size() + i]};
  return points;
}

static double distance(const Points &a, const Points &b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(a[i] - b.at(i)));
  return most;
}

// Against the sums that define the transform, in float64: 32 numbers of 1 with errors of 1e-16.
TEST(Fourier, CodeletsAreFourierTransforms) {
  const double rounding = 1e-13;
  for (int64_t n : {1, 2, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32})
    for (int sign : {-1, 1})
      for (int64_t part : {int64_t(1), n / 3, n}) {
        if (part == 0)
          continue;
        SCOPED_TRACE(testing::Message() << part << " of " << n << ", sign " << sign);
        const int64_t half = FourierCodelet::half(n);

        Numbers x = randomNumbers(part, n);
        Points expected = transformOf(Points(x.begin(), x.end()), n, sign);
        expected.resize(half);
        EXPECT_LE(distance(complexOf(run(FourierCodelet::fromReal(n, part, sign), x)), expected),
                  rounding);

        Numbers z = randomNumbers(2 * part, n + 1);
        Points all = transformOf(complexOf(z), n, sign);
        EXPECT_LE(distance(complexOf(run(FourierCodelet::complex(n, part, n, sign), z)), all),
                  rounding);
        Numbers whole = randomNumbers(2 * n, n + 2);
        all = transformOf(complexOf(whole), n, sign);
        all.resize(part);
        EXPECT_LE(distance(complexOf(run(FourierCodelet::complex(n, n, part, sign), whole)), all),
                  rounding);

        // Back from what a real signal has: the others mirror these points.
        Numbers points = randomNumbers(2 * half, n + 3);
        Points mirrored = complexOf(points);
        mirrored[0] = mirrored[0].real();
        if (n % 2 == 0)
          mirrored[n / 2] = mirrored[n / 2].real();
        mirrored.resize(n);
        for (int64_t k = half; k < n; ++k)
          mirrored[k] = std::conj(mirrored[n - k]);
        all = transformOf(mirrored, n, sign);
        Numbers back = run(FourierCodelet::toReal(n, part, sign), points);
        ASSERT_EQ(int64_t(back.size()), part);
        for (int64_t j = 0; j < part; ++j)
          EXPECT_NEAR(back[j], all[j].real(), rounding);
      }
}

// n log n operations, and about half for real numbers; zeros and unwanted numbers cost nothing.
TEST(Fourier, CodeletsAreShort) {
  EXPECT_EQ(FourierCodelet::complex(8, 8, 8, -1).count(), 52);
  EXPECT_EQ(FourierCodelet::complex(32, 32, 32, -1).count(), 388);
  EXPECT_EQ(FourierCodelet::fromReal(32, 32, -1).count(), 196);
  EXPECT_EQ(FourierCodelet::toReal(32, 32, 1).count(), 228);
  EXPECT_LT(FourierCodelet::fromReal(32, 5, -1).count(), 196);
  EXPECT_LT(FourierCodelet::toReal(32, 5, 1).count(), 228);
  EXPECT_LT(FourierCodelet::complex(32, 5, 32, -1).count(), 388);
}

// A real tile of n x n has n^2 / 2 + 2 points, four of them real.
TEST(Fourier, MirroredPointsAreLeftOut) {
  EXPECT_EQ(FourierTransform::points(32, 32), 514);
  EXPECT_EQ(FourierTransform::points(16, 16), 130);
  EXPECT_EQ(FourierTransform::points(1, 16), 9);
  EXPECT_EQ(FourierTransform::points(16, 1), 9);
}

//===------------------------------------------------------------------------------------------===//
// Kernels
//===------------------------------------------------------------------------------------------===//

// The largest difference from float64, as part of the largest result: that of direct convolution.
static const double rounding = 4e-6;

/// All three directions.
static void check(const ConvolutionShapes &shapes) {
  for (const KernelSource &source : convolutionKernels(shapes))
    checkKernel(source, rounding, "cpu-fft");
}

TEST(Fourier, Square) {
  check({{3, 5, 13, 13}, {20, 5, 3, 3}, {3, 20, 13, 13}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{2, 20, 12, 12}, {50, 20, 5, 5}, {2, 50, 8, 8}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
}

/// Images smaller than a tile, of one tile of 32, rows of several segments, and a batch of more
/// than one block.
TEST(Fourier, Images) {
  check({{2, 6, 5, 3}, {18, 6, 3, 3}, {2, 18, 3, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 3, 27, 27}, {17, 3, 5, 5}, {2, 17, 27, 27}, {1, 1}, {2, 2, 2, 2}, {1, 1}});
  check({{2, 3, 6, 71}, {4, 3, 3, 3}, {2, 4, 6, 71}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{9, 16, 23, 22}, {32, 16, 3, 3}, {9, 32, 23, 22}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
}

TEST(Fourier, PaddingPerSide) {
  check({{2, 3, 6, 7}, {5, 3, 3, 3}, {2, 5, 7, 8}, {1, 1}, {2, 1, 0, 3}, {1, 1}});
  check({{2, 3, 4, 4}, {5, 3, 3, 3}, {2, 5, 9, 9}, {1, 1}, {4, 3, 3, 4}, {1, 1}});
}

/// Large, even and oblong filters; one axis.
TEST(Fourier, Filters) {
  check({{2, 3, 20, 21}, {6, 3, 7, 7}, {2, 6, 20, 21}, {1, 1}, {3, 3, 3, 3}, {1, 1}});
  check({{2, 3, 24, 30}, {6, 3, 11, 11}, {2, 6, 14, 20}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{1, 2, 40, 40}, {3, 2, 24, 2}, {1, 3, 17, 39}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 4, 9, 11}, {6, 4, 3, 5}, {2, 6, 9, 11}, {1, 1}, {1, 1, 2, 2}, {1, 1}});
  check({{2, 4, 9, 11}, {6, 4, 1, 3}, {2, 6, 9, 11}, {1, 1}, {0, 0, 1, 1}, {1, 1}});
  check({{2, 4, 9, 11}, {6, 4, 3, 1}, {2, 6, 9, 11}, {1, 1}, {1, 1, 0, 0}, {1, 1}});
  check({{2, 4, 40}, {20, 4, 5}, {2, 20, 40}, {1}, {2, 2}, {1}});
}

/// Chunks of channels, and parts of the batch.
TEST(Fourier, Blocks) {
  check({{4, 70, 28, 28}, {100, 70, 3, 3}, {4, 100, 28, 28}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{1, 260, 6, 6}, {140, 260, 3, 3}, {1, 140, 6, 6}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
}

/// What is fused around: bias, ReLU and an addend behind; a body before the image, which must not
/// leak into the padding; results from the prologue.
TEST(Fourier, Bodies) {
  for (const KernelSource &source : convolutionBodies())
    checkKernel(source, rounding, "cpu-fft");
}

// What has no transform is left to others.
TEST(Fourier, Refuses) {
  ConvolutionProblem good;
  good.input = good.output = {1, 28, 28};
  good.kernel = {1, 11, 2};
  EXPECT_EQ(fourierRefusal(good), "");
  ConvolutionProblem strided = good, dilated = good, grouped = good, deep = good, large = good,
                     point = good;
  strided.stride = {1, 1, 2};
  dilated.dilation = {1, 2, 1};
  grouped.groups = 2;
  deep.input[0] = deep.output[0] = 4;
  large.kernel = {1, 25, 3};
  point.kernel = {1, 1, 1};
  EXPECT_EQ(fourierRefusal(strided), "its stride is not 1");
  EXPECT_EQ(fourierRefusal(dilated), "its dilation is not 1");
  EXPECT_EQ(fourierRefusal(grouped), "it has 2 groups");
  EXPECT_EQ(fourierRefusal(deep), "it has three spatial dimensions");
  EXPECT_EQ(fourierRefusal(large), "a filter of 25x3 leaves too little of a tile of 32x32");
  EXPECT_EQ(fourierRefusal(point), "a filter of 1x1 needs no transform");
}

//===------------------------------------------------------------------------------------------===//
// Errors
//===------------------------------------------------------------------------------------------===//

// Against float64, uniform inputs in [-1, 1), 32 channels. A transform turns what it is given
// without making it larger, and the sums at its points are short (FourierGenerator.cpp has the
// figures): it errs less than direct convolution in each direction, so --math=strict keeps it.
TEST(Fourier, ErrsLessThanDirectConvolution) {
  const char *directions[] = {"forward", "backward data", "backward filter"};
  for (int taps : {3, 5, 11}) {
    const int pad = taps / 2;
    const ConvolutionShapes shapes = {{2, 32, 13, 15}, {64, 32, taps, taps}, {2, 64, 13, 15},
                                      {1, 1},          {pad, pad, pad, pad}, {1, 1}};
    for (int direction = 0; direction < 3; ++direction) {
      KernelSource source = convolutionKernels(shapes)[direction];
      EXPECT_LE(errorOf(source, "cpu-fft", "fft tile"), errorOf(source, "cpu-convolution", ""))
          << taps << " taps, " << directions[direction];
    }
  }
}
