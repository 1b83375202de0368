//===- FourierTest.cpp - Fourier transforms as sums, and their points -------------------------===//
#include "codegen/Kernel/FourierCodelet.h"
#include "codegen/Kernel/FourierTile.h"
#include "test/codegen/CPU/Convolution/ConvolutionKernels.h"
#include <cmath>
#include <complex>
#include <gtest/gtest.h>

using namespace dlc;
using namespace dlc::test;
using namespace dlc::codegen;

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
  EXPECT_EQ((FourierTile{32, 32}.points()), 514);
  EXPECT_EQ((FourierTile{16, 16}.points()), 130);
  EXPECT_EQ((FourierTile{1, 16}.points()), 9);
  EXPECT_EQ((FourierTile{16, 1}.points()), 9);
}
