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

/// The largest with the winner's index.
inline KernelSource winners(const Pool &p) {
  const std::string both = p.typeY() + ", " + p.typeIndex();
  return {p.typeX(), both,
          "^bb0(%x: " + p.typeX() + "):\n %y, %i = dl.max_pool %x" + p.attributes() + " : " +
              p.typeX() + " -> " + both + "\n dl.yield %y, %i : " + both};
}

/// What an op makes of a tensor at the winners of an index.
inline KernelSource atWinners(const Pool &p, const std::string &op, const std::string &from,
                              const std::string &to) {
  const std::string operands = from + ", " + p.typeIndex();
  return {operands, to,
          "^bb0(%a: " + from + ", %i: " + p.typeIndex() + "):\n %b = " + op + " %a, %i" +
              p.attributes() + " : " + operands + " to " + to + "\n dl.yield %b : " + to};
}

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
