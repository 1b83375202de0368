// RUN: dlc-opt "--dl-choose=target=cpu:avx2" %s | FileCheck %s

// Tasks of a product are columns of the larger operand, so that each element of it is packed once. A smaller operand that is
// dear to compute is computed once: there the tasks are its rows.
// CHECK-LABEL: dl.entry @evaluate
// CHECK: schedule = "gemm 4x3 depth 256 block 8x7 task 8x21 splits 1"
// CHECK: schedule = "gemm 4x2 depth 256 block 4x13 task 4x64 splits 1"
dl.entry @evaluate(%a: tensor<32x256xf32>, %w: tensor<256x1024xf32>)
    -> (tensor<32x1024xf32>, tensor<32x1024xf32>) attributes {kind = #program.entry<evaluate>} {
  %x = dl.fused(%a, %w) : (tensor<32x256xf32>, tensor<256x1024xf32>) -> tensor<32x1024xf32> {
  ^bb0(%0: tensor<32x256xf32>, %1: tensor<256x1024xf32>):
    %2 = dl.matmul %0, %1 : tensor<32x256xf32>, tensor<256x1024xf32>
    dl.yield %2 : tensor<32x1024xf32>
  }
  %y = dl.fused(%a, %w) : (tensor<32x256xf32>, tensor<256x1024xf32>) -> tensor<32x1024xf32> {
  ^bb0(%0: tensor<32x256xf32>, %1: tensor<256x1024xf32>):
    %2 = dl.tanh %0 : tensor<32x256xf32>
    %3 = dl.tanh %2 : tensor<32x256xf32>
    %4 = dl.tanh %3 : tensor<32x256xf32>
    %5 = dl.tanh %4 : tensor<32x256xf32>
    %6 = dl.tanh %5 : tensor<32x256xf32>
    %7 = dl.tanh %6 : tensor<32x256xf32>
    %8 = dl.matmul %7, %1 : tensor<32x256xf32>, tensor<256x1024xf32>
    dl.yield %8 : tensor<32x1024xf32>
  }
  dl.return %x, %y : tensor<32x1024xf32>, tensor<32x1024xf32>
}
