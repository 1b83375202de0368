//===- ConvolutionKernels.h - convolutions as kernels of one op ---------------------*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_CPU_CONVOLUTIONKERNELS_H
#define DLC_TEST_CODEGEN_CPU_CONVOLUTIONKERNELS_H

#include "test/codegen/Harness.h"
#include <array>

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

} // namespace dlc::test

#endif
