//===- StochasticRound.h - rounding by chance, for the tests of all targets ---------*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_STOCHASTICROUND_H
#define DLC_TEST_CODEGEN_STOCHASTICROUND_H

#include "test/codegen/Harness.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace dlc::test {

/// All finite numbers of a type of 16 bits with so many of exponent, in order.
inline std::vector<double> numbersOf(int exponentBits) {
  const int digits = 15 - exponentBits, bias = (1 << (exponentBits - 1)) - 1;
  std::vector<double> numbers;
  for (int exponent = 0; exponent + 1 < 1 << exponentBits; ++exponent)
    for (int part = 0; part < 1 << digits; ++part)
      numbers.push_back(exponent == 0 ? std::ldexp(part, 1 - bias - digits)
                                      : std::ldexp((1 << digits) + part, exponent - bias - digits));
  for (size_t i = numbers.size(); i-- > 1;)
    numbers.push_back(-numbers[i]);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// The draw of an element with its number and key, as dl.stochastic_round says.
inline double drawOf(double number, double key) {
  auto bits = static_cast<uint32_t>(static_cast<int64_t>(number) + static_cast<int64_t>(key));
  bits = (bits ^ bits >> 16) * 0x85EBCA6Bu;
  bits = (bits ^ bits >> 13) * 0xC2B2AE35u;
  return ((bits ^ bits >> 16) >> 8) * 0x1p-24;
}

/// Numbers of all sizes and on both sides, denormal ones, what is too large, and what the type
/// holds: of the two neighbours, looked up among all numbers of the type, the upper one where the
/// draw is less than the part of the way to it.
inline void checkStochasticRound(const char *target, const std::string &element,
                                 const char *generator) {
  const std::vector<double> numbers = numbersOf(element == "bf16" ? 8 : 5);
  const double largest = numbers.back(), least = numbers[numbers.size() / 2 + 1];
  constexpr int64_t count = 4096;
  auto typeOf = [](const std::string &element) {
    return "tensor<" + std::to_string(count) + "x" + element + ">";
  };
  const std::string x = typeOf("f32"), n = typeOf("i32"), y = typeOf(element);
  CompiledTestKernel kernel({x + ", " + n + ", tensor<i32>", y,
                             "^bb0(%x: " + x + ", %n: " + n +
                                 ", %one: tensor<i32>):\n%key = dl.broadcast %one dims = [] : "
                                 "tensor<i32> to " +
                                 n + "\n%y = dl.stochastic_round %x, %n, %key : " + x + ", " + n +
                                 " to " + y + "\ndl.yield %y : " + y},
                            target, generator);
  ASSERT_TRUE(kernel);
  std::vector<Tensor> inputs = kernel.randomInputs();
  std::mt19937 random(7);
  auto fraction = [&] { return double(random() >> 8) * 0x1p-24; };
  for (int64_t i = 0; i < count; ++i) {
    const double held = numbers[random() % numbers.size()];
    const double sizes[] = {held, held * (1 + fraction() / 64), least * 8 * (fraction() - 0.5),
                            largest * (1 + 0.004 * (fraction() - 0.5)), fraction() - 0.5};
    inputs[0].values[i] = float(sizes[i % 5]);
    inputs[1].values[i] = i % 3 == 0 ? double(i) : double(int32_t(random()));
  }
  inputs[2].values[0] = -1234567890;
  const double infinity = std::numeric_limits<double>::infinity();
  const double special[] = {infinity, -infinity, std::nan(""), 0.0, 0x1.fffffep127};
  std::copy(std::begin(special), std::end(special), inputs[0].values.begin());
  const std::vector<double> found = kernel.run(inputs)[0].values;
  // One step behind the last finite number is infinity.
  const double step = largest - numbers[numbers.size() - 2];
  int lower = 0, upper = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = inputs[0].values[i],
                 draw = drawOf(inputs[1].values[i], inputs[2].values[0]);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(found[i]));
      continue;
    }
    const auto above = std::lower_bound(numbers.begin(), numbers.end(), value);
    double expected = value;
    if (std::abs(value) >= largest + step) {
      expected = std::copysign(infinity, value);
    } else if (above == numbers.end() || *above != value) {
      const double high = above == numbers.end() ? largest + step : *above,
                   low = above == numbers.begin() ? -largest - step : above[-1];
      const bool isUpper = draw < (value - low) / (high - low);
      expected = isUpper ? high : low;
      if (std::abs(expected) > largest)
        expected = std::copysign(infinity, expected);
      ++(isUpper ? upper : lower);
    }
    EXPECT_EQ(found[i], expected) << value << " with " << draw << ", number " << i;
  }
  EXPECT_GT(lower, 800);
  EXPECT_GT(upper, 800);
}

} // namespace dlc::test

#endif
