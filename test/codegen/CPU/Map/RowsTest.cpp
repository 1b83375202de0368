//===- RowsTest.cpp - sparse gradients on the CPU: dl.sum_rows, dl.update_rows ----------------===//
#include "test/codegen/RowsKernels.h"

using namespace dlc::test;

/// Numbers that repeat, some of them outside of the extent.
TEST(SumRows, Sums) {
  for (const char *generator : {"cpu-sum-rows", "cpu-loops"}) {
    checkKernel(sumRowsSource("tensor<7x5x40xf32>", "tensor<7x5xi32>", 3), rowsRounding, generator);
    checkKernel(sumRowsSource("tensor<150x19xf32>", "tensor<150xi64>", 4, "exp"), rowsRounding,
                generator);
    checkKernel(sumRowsSource("tensor<9xf32>", "tensor<9xi32>", 2), rowsRounding, generator);
    checkKernel(sumRowsSource("tensor<9x21xf64>", "tensor<9xi32>", 0), 0, generator);
  }
  checkKernel(sumRowsSource("tensor<9x21xf64>", "tensor<9xi32>", 2), 1e-15, "cpu-sum-rows");
  // Summed in f32 and rounded once.
  checkKernel(sumRowsSource("tensor<9x21xbf16>", "tensor<9xi32>", 2), 1.0 / 256, "cpu-loops");
}

TEST(UpdateRows, TouchesTheirRows) {
  for (const char *target : {"native", "avx2"}) {
    checkUpdateRows(target, "f32", 1e-6);
    checkUpdateRows(target, "f64", 1e-14);
  }
}
