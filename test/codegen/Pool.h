//===- Pool.h - pooling problems of the tests of kernels ----------------------------*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_POOL_H
#define DLC_TEST_CODEGEN_POOL_H

#include "test/codegen/Harness.h"
#include <cmath>
#include <string>

namespace dlc::test {

/// A pooling problem: sizes as text.
struct Pool {
  std::string x, y, kernel, strides, padding, dilations;
  std::string attributes() const {
    return " kernel = [" + kernel + "] strides = [" + strides + "] padding = [" + padding +
           "] dilations = [" + dilations + "]";
  }
  std::string typeX() const { return "tensor<" + x + "xf32>"; }
  std::string typeY() const { return "tensor<" + y + "xf32>"; }
  std::string typeIndex() const { return "tensor<" + y + "xui8>"; }
};

/// Among `x` values whose winners are hard to tell: equal ones, infinities and what is not a
/// number.
inline void addTies(Tensor &x) {
  const double values[] = {0.5, 0.5, -INFINITY, -0.0, 0.0, NAN, -INFINITY, INFINITY};
  for (size_t i = 0; i < x.values.size(); i += 3)
    x.values[i] = values[i / 3 * 5 % 31 % 8];
  // Windows of nothing but -infinity.
  for (size_t i = 0; i < x.values.size() / 4; ++i)
    x.values[i] = -INFINITY;
}

} // namespace dlc::test

#endif
