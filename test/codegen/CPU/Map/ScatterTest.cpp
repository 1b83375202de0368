//===- ScatterTest.cpp - sums of what has one number ------------------------------------------===//
#include "test/codegen/Harness.h"
#include <gtest/gtest.h>

using namespace dlc::test;

// One float32 rounding an addition; a number has a handful of values.
static const double rounding = 1e-6;

static KernelSource scatter(const std::string &values, const std::string &index, int axis,
                            const std::string &result, const std::string &prologue = "") {
  std::string block = "^bb0(%v: " + values + ", %i: " + index + "):\n";
  if (!prologue.empty())
    block += "%w = dl." + prologue + " %v : " + values + "\n";
  return {values + ", " + index, result,
          block + "%y = dl.scatter_add " + (prologue.empty() ? "%v" : "%w") +
              ", %i axis = " + std::to_string(axis) + " : " + values + ", " + index + " to " +
              result + "\n dl.yield %y : " + result};
}

/// Rows, columns of what is between, and single elements; numbers that the result does not have.
TEST(Scatter, AlongEachAxis) {
  for (const char *generator : {"cpu-scatter", "cpu-loops"}) {
    checkKernel(scatter("tensor<7x5x40xf32>", "tensor<7x5xi32>", 0, "tensor<3x40xf32>"), rounding,
                generator);
    checkKernel(scatter("tensor<2x11x19xf32>", "tensor<11xi64>", 1, "tensor<2x3x19xf32>", "exp"),
                rounding, generator);
    checkKernel(scatter("tensor<3x50xf32>", "tensor<50xi32>", 1, "tensor<3x4xf32>"), rounding,
                generator);
  }
}

TEST(Scatter, Types) {
  checkKernel(scatter("tensor<9x21xf64>", "tensor<9xi32>", 0, "tensor<2x21xf64>"), 1e-15,
              "cpu-scatter");
  checkKernel(scatter("tensor<9x21xi32>", "tensor<9xi32>", 0, "tensor<2x21xi32>"), 0,
              "cpu-scatter");
  // Summed in f32 and rounded once.
  checkKernel(scatter("tensor<9x21xbf16>", "tensor<9xi32>", 0, "tensor<2x21xbf16>"), 1.0 / 256,
              "cpu-loops");
  checkKernel(scatter("tensor<9x21xui8>", "tensor<9xi32>", 0, "tensor<2x21xui8>"), 0, "cpu-loops");
}

/// No numbers: zeros.
TEST(Scatter, Nothing) {
  checkKernel(scatter("tensor<0x21xf32>", "tensor<0xi32>", 0, "tensor<2x21xf32>"), 0,
              "cpu-scatter");
}

TEST(CudaScatter, AlongEachAxis) {
  checkCudaKernel(scatter("tensor<7x5x40xf32>", "tensor<7x5xi32>", 0, "tensor<3x40xf32>"), rounding,
                  "cuda-elements");
  checkCudaKernel(scatter("tensor<2x11x19xf32>", "tensor<11xi64>", 1, "tensor<2x3x19xf32>", "exp"),
                  rounding, "cuda-elements");
  checkCudaKernel(scatter("tensor<9x21xi32>", "tensor<9xi32>", 0, "tensor<2x21xi32>"), 0,
                  "cuda-elements");
}
