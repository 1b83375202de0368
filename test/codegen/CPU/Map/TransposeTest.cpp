//===- TransposeTest.cpp - permutations -------------------------------------------------------===//
#include "test/codegen/Harness.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace dlc::test;

static KernelSource transpose(const std::string &from, const std::string &to,
                              const std::string &order) {
  return {from, to,
          "^bb0(%x: " + from + "):\n %0 = dl.transpose %x order = [" + order + "] : " + from +
              "\n dl.yield %0 : " + to};
}

/// Whole tiles and tails on both sides; batches before, between and behind.
TEST(Transpose, Tiles) {
  const char *generator = "cpu-transpose";
  checkKernel(transpose("tensor<64x32xf32>", "tensor<32x64xf32>", "1, 0"), 0, generator);
  checkKernel(transpose("tensor<37x21xf32>", "tensor<21x37xf32>", "1, 0"), 0, generator);
  checkKernel(transpose("tensor<9x130xi32>", "tensor<130x9xi32>", "1, 0"), 0, generator);
  checkKernel(transpose("tensor<37x21xf64>", "tensor<21x37xf64>", "1, 0"), 0, generator);
  checkKernel(transpose("tensor<2x16x24xi64>", "tensor<2x24x16xi64>", "0, 2, 1"), 0, generator);
  checkKernel(transpose("tensor<3x20x5x7xf32>", "tensor<3x5x7x20xf32>", "0, 2, 3, 1"), 0,
              generator);
  checkKernel(transpose("tensor<17x3x18xf32>", "tensor<18x3x17xf32>", "2, 1, 0"), 0, generator);
  checkKernel(transpose("tensor<2x17x3x18xf32>", "tensor<3x18x2x17xf32>", "2, 3, 0, 1"), 0,
              generator);
}

/// 16 bits, among them what is no number, and what is none of the usual size.
TEST(Transpose, SixteenBits) {
  const char *generator = "cpu-transpose";
  for (std::string type : {"bf16", "f16"}) {
    auto of = [&](const std::string &shape) { return "tensor<" + shape + "x" + type + ">"; };
    checkKernel(transpose(of("64x32"), of("32x64"), "1, 0"), 0, generator);
    checkKernel(transpose(of("9x130"), of("130x9"), "1, 0"), 0, generator);
    checkKernel(transpose(of("3x14x14x16"), of("3x16x14x14"), "0, 3, 1, 2"), 0, generator);
    const KernelSource source = transpose(of("37x21"), of("21x37"), "1, 0");
    checkKernel(source, 0, generator);
    CompiledTestKernel kernel(source, "native", generator);
    ASSERT_TRUE(kernel);
    std::vector<Tensor> inputs = kernel.randomInputs();
    const double special[] = {NAN, INFINITY, -INFINITY, -0.0, std::ldexp(1.0, -24)};
    std::ranges::copy(special, inputs.front().values.begin() + 100);
    const Tensor result = kernel.run(inputs).front();
    for (size_t i = 100; i < 105; ++i) {
      const double from = inputs.front().values[i], to = result.values[i % 21 * 37 + i / 21];
      EXPECT_EQ(std::isnan(from), std::isnan(to));
      if (!std::isnan(from)) {
        EXPECT_EQ(from, to);
        EXPECT_EQ(std::signbit(from), std::signbit(to));
      }
    }
  }
}

/// What the tiles do not take: the last axis stays, other element sizes, short axes.
TEST(Transpose, Others) {
  checkKernel(transpose("tensor<6x5x33xf32>", "tensor<5x6x33xf32>", "1, 0, 2"), 0, "cpu-map");
  checkKernel(transpose("tensor<33x35xui8>", "tensor<35x33xui8>", "1, 0"), 0, "cpu-map");
  checkKernel(transpose("tensor<33x3xf32>", "tensor<3x33xf32>", "1, 0"), 0, "cpu-map");
  checkKernel(transpose("tensor<33x3xi1>", "tensor<3x33xi1>", "1, 0"), 0, "cpu-map");
}

/// A bias before, a ReLU and another tensor behind.
TEST(Transpose, Body) {
  const KernelSource source = {"tensor<2x18x40xf32>, tensor<18xf32>, tensor<2x40x18xf32>",
                               "tensor<2x40x18xf32>", R"(
^bb0(%x: tensor<2x18x40xf32>, %b: tensor<18xf32>, %y: tensor<2x40x18xf32>):
  %0 = dl.broadcast %b dims = [1] : tensor<18xf32> to tensor<2x18x40xf32>
  %1 = dl.add %x, %0 : tensor<2x18x40xf32>
  %2 = dl.transpose %1 order = [0, 2, 1] : tensor<2x18x40xf32>
  %3 = dl.add %2, %y : tensor<2x40x18xf32>
  %4 = dl.relu %3 : tensor<2x40x18xf32>
  dl.yield %4 : tensor<2x40x18xf32>)"};
  checkKernel(source, 4e-7, "cpu-transpose");
  // Each of the two sums is rounded.
  for (const OtherElement &element : otherElements)
    checkKernel(inElement(source, element.name), 2 * element.rounding, "cpu-transpose");
}
