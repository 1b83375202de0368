//===- MathTest.cpp - errors of exp, log, tanh and sigmoid in units in the last place ---------===//
//
// Against libm in double (f32) or long double (f64), on a dense sample of bit patterns. The limits
// are those stated in MathPolynomials.cpp; libm's own error is far below them.
//
//===------------------------------------------------------------------------------------------===//
#include "test/codegen/Harness.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace dlc::test;

static Tensor apply(const std::string &op, const std::string &type, const std::vector<double> &x,
                    const char *target) {
  std::string tensor = "tensor<" + std::to_string(x.size()) + "x" + type + ">";
  CompiledTestKernel kernel({tensor, tensor,
                             "^bb0(%x: " + tensor + "):\n %y = dl." + op + " %x : " + tensor +
                                 "\n dl.yield %y : " + tensor},
                            target);
  EXPECT_TRUE(kernel);
  return kernel ? kernel.run(Tensor{{int64_t(x.size())}, x})[0] : Tensor();
}

/// Every 2^13th float, all signs, exponents, denormals, infinities and NaNs.
static std::vector<double> floatSample() {
  std::vector<double> sample;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 8191) {
    uint32_t pattern = bits;
    float value;
    std::memcpy(&value, &pattern, 4);
    sample.push_back(value);
  }
  for (float value : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 88.72283f, 88.72284f, -87.33655f,
                      -103.97f, -104.0f, 1e-45f, 1.1754942e-38f})
    sample.push_back(value);
  return sample;
}

/// The distance of neighbours at a float.
static double floatUlp(double exact) {
  float magnitude = std::fabs(float(exact));
  magnitude = std::max(magnitude, 1.1754944e-38f);
  return double(std::nextafter(magnitude, INFINITY)) - double(magnitude);
}

static void checkFloat(const std::string &op, double limit, double (*exact)(double)) {
  std::vector<double> x = floatSample();
  for (const char *target : {"native", "avx2"}) {
    Tensor y = apply(op, "f32", x, target);
    double worst = 0, at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double reference = exact(x[i]);
      float rounded = float(reference);
      if (std::isnan(rounded) || std::isinf(rounded)) {
        // One ulp below the largest number may also round to it.
        bool same = std::isnan(rounded) ? std::isnan(y.values[i]) : y.values[i] == rounded;
        EXPECT_TRUE(same) << op << "(" << x[i] << ") = " << y.values[i] << ", not " << rounded;
        continue;
      }
      double error = std::abs(y.values[i] - reference) / floatUlp(reference);
      if (!(error <= worst))
        worst = error, at = x[i];
    }
    EXPECT_LE(worst, limit) << op << " at " << at << " on " << target;
    std::printf("  %s f32 %s: %.3f ulp at %g\n", op.c_str(), target, worst, at);
  }
}

TEST(Math, ExpFloat) {
  checkFloat("exp", 1.0, [](double x) { return std::exp(x); });
}
TEST(Math, LogFloat) {
  checkFloat("log", 1.0, [](double x) { return std::log(x); });
}
TEST(Math, TanhFloat) {
  checkFloat("tanh", 1.5, [](double x) { return std::tanh(x); });
}

TEST(Math, ErfFloat) {
  checkFloat("erf", 3.0, [](double x) { return std::erf(x); });
}

/// Sigmoid is composed: exp, an addition, a division. Denormal results are exact to their unit.
TEST(Math, SigmoidFloat) {
  checkFloat("sigmoid", 3.0, [](double x) {
    return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
  });
}

static void checkDouble(const std::string &op, double limit, double low, double high,
                        long double (*exact)(long double)) {
  std::vector<double> x;
  const int count = 200000;
  for (int i = 0; i < count; ++i)
    x.push_back(low + (high - low) * (i + 0.37) / count);
  for (int exponent = -1070; exponent < 1020; exponent += 3)
    if (double value = std::ldexp(1.37, exponent); value > low && value < high)
      x.push_back(value);
  x.push_back(NAN);
  Tensor y = apply(op, "f64", x, "native");
  double worst = 0, at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    long double reference = exact(x[i]);
    if (std::isnan(x[i])) {
      EXPECT_TRUE(std::isnan(y.values[i]));
      continue;
    }
    double magnitude = std::max(std::fabs(double(reference)), 2.2250738585072014e-308);
    double ulp = std::nextafter(magnitude, INFINITY) - magnitude;
    double error = double(std::fabs((long double)(y.values[i]) - reference) / ulp);
    if (!(error <= worst))
      worst = error, at = x[i];
  }
  EXPECT_LE(worst, limit) << op << " at " << at;
  std::printf("  %s f64: %.3f ulp at %g\n", op.c_str(), worst, at);
}

TEST(Math, Double) {
  checkDouble("exp", 1.0, -745.5, 709.7, [](long double x) { return std::exp(x); });
  checkDouble("log", 2.0, 0, 1e10, [](long double x) { return std::log(x); });
  checkDouble("log", 2.0, 0.5, 2, [](long double x) { return std::log(x); });
  checkDouble("tanh", 2.0, -25, 25, [](long double x) { return std::tanh(x); });
  checkDouble("tanh", 2.0, -1, 1, [](long double x) { return std::tanh(x); });
  checkDouble("erf", 4.0, -7, 7, [](long double x) { return std::erf(x); });
  checkDouble("erf", 4.0, -1, 1, [](long double x) { return std::erf(x); });
}

/// Bases and exponents of all signs and sizes, f32 within 1 ulp, f64 within 2.5 |b log a| + 2:
/// the error of the logarithm, and of its product.
TEST(Math, Power) {
  const double numbers[] = {0, 0.25, 0.7, 1, 1.3, 2, 3, 5.5, 11, 40, 126, 1e-3, 1e-20, 1e20};
  std::vector<double> a, b;
  for (double x : numbers)
    for (double y : numbers)
      for (double signs : {0, 1, 2, 3}) {
        a.push_back(std::fmod(signs, 2) ? -x : x);
        b.push_back(signs > 1 ? -y : y);
      }
  for (std::string type : {"f32", "f64"}) {
    std::string tensor = "tensor<" + std::to_string(a.size()) + "x" + type + ">";
    CompiledTestKernel kernel({tensor + ", " + tensor, tensor,
                               "^bb0(%a: " + tensor + ", %b: " + tensor +
                                   "):\n %c = dl.power %a, %b : " + tensor +
                                   "\n dl.yield %c : " + tensor});
    ASSERT_TRUE(kernel);
    const int64_t count = a.size();
    Tensor inputs[] = {{{count}, a}, {{count}, b}};
    Tensor c = kernel.run(inputs)[0];
    for (size_t i = 0; i < a.size(); ++i) {
      bool single = type == "f32";
      double x = single ? float(a[i]) : a[i], y = single ? float(b[i]) : b[i];
      double exact = std::pow(x, y), rounded = single ? float(exact) : exact;
      if (y == 0) {
        EXPECT_EQ(c.values[i], 1);
        continue;
      }
      // A power of -0 that is odd and below 0 is -infinity, which no model asks for.
      if (x == 0 && y < 0) {
        EXPECT_TRUE(std::isinf(c.values[i]));
        continue;
      }
      if (!std::isfinite(rounded) || rounded == 0) {
        EXPECT_TRUE(std::isnan(rounded) ? std::isnan(c.values[i]) : c.values[i] == rounded)
            << x << " ** " << y << " = " << c.values[i];
        continue;
      }
      double ulp =
          single ? floatUlp(exact) : std::nextafter(std::fabs(exact), INFINITY) - std::fabs(exact);
      double limit = single ? 1 : 2.5 * std::fabs(y * std::log(std::fabs(x))) + 2;
      EXPECT_LE(std::fabs(c.values[i] - exact) / ulp, limit) << x << " ** " << y;
    }
  }
}
