//===- Pool.h - pooling problems of the tests of kernels ----------------------------*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_POOL_H
#define DLC_TEST_CODEGEN_POOL_H

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

} // namespace dlc::test

#endif
