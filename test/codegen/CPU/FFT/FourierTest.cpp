//===- FourierTest.cpp - convolution by Fourier transforms: codelets, kernels, errors ---------===//
#include "codegen/CPU/FFT/FourierTransform.h"
#include "codegen/CPU/Winograd/WinogradSchedule.h"
#include "test/codegen/CPU/Convolution/ConvolutionKernels.h"
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
static void check(const TransformShapes::List &list) {
  for (const ConvolutionShapes &shapes : list)
    for (const KernelSource &source : convolutionKernels(shapes))
      checkKernel(source, rounding, "cpu-fft");
}

TEST(Fourier, Square) { check(TransformShapes::square); }
TEST(Fourier, Images) { check(TransformShapes::images); }
TEST(Fourier, PaddingPerSide) { check(TransformShapes::paddingPerSide); }
TEST(Fourier, OblongFilters) { check(TransformShapes::oblong); }
TEST(Fourier, Blocks) { check(TransformShapes::blocks); }

/// An image of one tile of 32; filters that are large or even.
TEST(Fourier, Sizes) {
  check({{{2, 3, 27, 27}, {17, 3, 5, 5}, {2, 17, 27, 27}, {1, 1}, {2, 2, 2, 2}, {1, 1}},
         {{2, 3, 20, 21}, {6, 3, 7, 7}, {2, 6, 20, 21}, {1, 1}, {3, 3, 3, 3}, {1, 1}},
         {{2, 3, 24, 30}, {6, 3, 11, 11}, {2, 6, 14, 20}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
         {{1, 2, 40, 40}, {3, 2, 24, 2}, {1, 3, 17, 39}, {1, 1}, {0, 0, 0, 0}, {1, 1}}});
}

/// What is fused around: bias, ReLU and an addend behind; a body before the image, which must not
/// leak into the padding; results from the prologue.
TEST(Fourier, Bodies) {
  for (const KernelSource &source : convolutionBodies())
    checkKernel(source, rounding, "cpu-fft");
}

TEST(Fourier, Reductions) {
  const ConvolutionShapes shapes = {{2, 16, 27, 38}, {32, 16, 5, 5}, {2, 32, 27, 38},
                                    {1, 1},          {2, 2, 2, 2},   {1, 1}};
  for (const KernelSource &source : convolutionReductions(shapes))
    checkKernel(source, rounding, "cpu-fft");
}

// What has no transform is left to others.
TEST(Fourier, Refuses) {
  expectRefusals(fourierRefusal);
  EXPECT_EQ(fourierRefusal(transformProblem(11, 2)), "");
  EXPECT_EQ(fourierRefusal(transformProblem(25, 3)),
            "a filter of 25x3 leaves too little of a tile of 32x32");
  EXPECT_EQ(fourierRefusal(transformProblem(1, 1)), "a filter of 1x1 needs no transform");
}

//===------------------------------------------------------------------------------------------===//
// Errors
//===------------------------------------------------------------------------------------------===//

// Against float64, uniform inputs in [-1, 1), 32 channels. A transform turns what it is given
// without making it larger, and the sums at its points are short (FourierGenerator.cpp has the
// figures): it errs less than a sum of one product after the other in each direction, so
// --math=strict keeps it. What direct convolution errs depends on the blocks that it sums by, and
// so on the machine.
TEST(Fourier, ErrsLessThanSumsInOrder) {
  const char *directions[] = {"forward", "backward data", "backward filter"};
  for (int taps : {3, 5, 11}) {
    const int pad = taps / 2;
    const ConvolutionShapes shapes = {{2, 32, 13, 15}, {64, 32, taps, taps}, {2, 64, 13, 15},
                                      {1, 1},          {pad, pad, pad, pad}, {1, 1}};
    for (int direction = 0; direction < 3; ++direction) {
      KernelSource source = convolutionKernels(shapes)[direction];
      EXPECT_LE(errorOf(source, "cpu-fft", "fft tile"), errorOf(source, "cpu-loops", ""))
          << taps << " taps, " << directions[direction];
    }
  }
}
