//===- ConvolutionKernels.h - convolutions as kernels of one op ---------------------*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_CPU_CONVOLUTIONKERNELS_H
#define DLC_TEST_CODEGEN_CPU_CONVOLUTIONKERNELS_H

#include "test/codegen/Harness.h"
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace dlc::test {

struct ConvolutionShapes {
  std::vector<int> x, w, y;
  std::vector<int> strides, padding, dilations;
  int groups = 1;
};

inline std::string numberList(const std::vector<int> &numbers, const char *separator) {
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? separator : "") + std::to_string(numbers[i]);
  return text;
}

/// Forward, backward data, backward filter.
inline std::array<KernelSource, 3> convolutionKernels(const ConvolutionShapes &s) {
  auto type = [](const std::vector<int> &shape) {
    return "tensor<" + numberList(shape, "x") + "xf32>";
  };
  auto source = [](const std::string &op, const std::string &a, const std::string &b,
                   const std::string &c, const std::string &types) -> KernelSource {
    return {a + ", " + b, c,
            "^bb0(%a: " + a + ", %b: " + b + "):\n  %c = " + op + types + "\n  dl.yield %c : " + c};
  };
  std::string attributes = " strides = [" + numberList(s.strides, ", ") + "] padding = [" +
                           numberList(s.padding, ", ") + "] dilations = [" +
                           numberList(s.dilations, ", ") +
                           "] groups = " + std::to_string(s.groups) + " : ";
  std::string x = type(s.x), w = type(s.w), y = type(s.y);
  return {source("dl.convolution %a, %b" + attributes, x, w, y, x + ", " + w),
          source("dl.convolution_backward_data %a, %b" + attributes, y, w, x,
                 y + ", " + w + " to " + x),
          source("dl.convolution_backward_filter %a, %b" + attributes, x, y, w,
                 x + ", " + y + " to " + w)};
}

/// 3x3 with what is fused around: forward, a prologue before the image, a bias, an addend and ReLU
/// behind; the filter's gradient, a masked gradient that is a result too, and an addend.
inline std::array<KernelSource, 2> convolutionBodies() {
  return {KernelSource{
              "tensor<2x6x9x9xf32>, tensor<18x6x3x3xf32>, tensor<18xf32>, tensor<2x18x9x9xf32>",
              "tensor<2x18x9x9xf32>", R"(
^bb0(%x: tensor<2x6x9x9xf32>, %w: tensor<18x6x3x3xf32>, %b: tensor<18xf32>,
     %r: tensor<2x18x9x9xf32>):
  %e = dl.exp %x : tensor<2x6x9x9xf32>
  %c = dl.convolution %e, %w strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1
    : tensor<2x6x9x9xf32>, tensor<18x6x3x3xf32>
  %bias = dl.broadcast %b dims = [1] : tensor<18xf32> to tensor<2x18x9x9xf32>
  %z = dl.add %c, %bias : tensor<2x18x9x9xf32>
  %a = dl.add %z, %r : tensor<2x18x9x9xf32>
  %y = dl.relu %a : tensor<2x18x9x9xf32>
  dl.yield %y : tensor<2x18x9x9xf32>)"},
          KernelSource{
              "tensor<3x5x9x9xf32>, tensor<3x7x9x9xf32>, tensor<3x7x9x9xf32>, tensor<7x5x3x3xf32>",
              "tensor<7x5x3x3xf32>, tensor<3x7x9x9xf32>", R"(
^bb0(%x: tensor<3x5x9x9xf32>, %dy: tensor<3x7x9x9xf32>, %y: tensor<3x7x9x9xf32>,
     %w: tensor<7x5x3x3xf32>):
  %zero = dl.constant dense<0.0> : tensor<3x7x9x9xf32>
  %on = dl.compare gt %y, %zero : tensor<3x7x9x9xf32>
  %m = dl.select %on, %dy, %zero : tensor<3x7x9x9xf32>
  %g = dl.convolution_backward_filter %x, %m strides = [1, 1] padding = [1, 1, 1, 1]
    dilations = [1, 1] groups = 1 : tensor<3x5x9x9xf32>, tensor<3x7x9x9xf32> to tensor<7x5x3x3xf32>
  %d = dl.add %g, %w : tensor<7x5x3x3xf32>
  dl.yield %d, %m : tensor<7x5x3x3xf32>, tensor<3x7x9x9xf32>)"}};
}

/// Uniform in [-1, 1).
inline std::vector<double> randomNumbers(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> numbers(count);
  for (double &number : numbers)
    number = std::uniform_real_distribution<double>(-1, 1)(random);
  return numbers;
}

/// Root of the mean squared difference, as part of the root of the mean square.
inline double meanError(const Tensor &a, const Tensor &b) {
  double difference = 0, size = 0;
  for (auto [x, y] : llvm::zip_equal(a.values, b.values)) {
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return std::sqrt(difference / size);
}

/// Of the candidate whose schedule begins with `schedule`.
inline double errorOf(const KernelSource &source, const std::string &generator,
                      const std::string &schedule) {
  for (unsigned number = 0, count = 1; number < count; ++number) {
    CompiledTestKernel kernel(source, "native", generator, number);
    if (!kernel)
      break;
    count = kernel.candidates();
    if (!llvm::StringRef(kernel.selection().candidate.schedule).starts_with(schedule))
      continue;
    std::vector<Tensor> inputs = kernel.randomInputs();
    return meanError(kernel.run(inputs)[0], kernel.oracle(inputs)[0]);
  }
  ADD_FAILURE() << "no " << schedule << " for\n" << source.moduleText();
  return 0;
}

} // namespace dlc::test

#endif
