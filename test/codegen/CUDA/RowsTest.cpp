//===- RowsTest.cpp - sparse gradients on the SIMT device: dl.sum_rows, dl.update_rows --------===//
#include "test/codegen/RowsKernels.h"

using namespace dlc::test;

TEST(CudaSumRows, Sums) {
  for (const char *generator : {"cuda-sum-rows", "cuda-elements"}) {
    checkCudaKernel(sumRowsSource("tensor<7x5x40xf32>", "tensor<7x5xi32>", 3), rowsRounding,
                    generator);
    checkCudaKernel(sumRowsSource("tensor<150x19xf32>", "tensor<150xi64>", 4, "exp"), rowsRounding,
                    generator);
    checkCudaKernel(sumRowsSource("tensor<9xf64>", "tensor<9xi32>", 2), 1e-15, generator);
  }
}

TEST(CudaUpdateRows, TouchesTheirRows) {
  checkUpdateRows("cuda:simt", "f32", 1e-6);
  checkUpdateRows("cuda:simt", "f64", 1e-14);
}
