// RUN: dlc-opt --convert-dl-to-exec --mlir-print-local-scope %s | FileCheck %s
// Kernels whose ops know no axes see blocked channels as two axes, the inner one last, as they lie in memory.

#nchw16c = #program.layout<order = [0, 1, 2, 3], blocks = [1, 16]>
#nchw8c = #program.layout<order = [0, 1, 2, 3], blocks = [1, 8]>

// A bias over the channels, a constant, a sum over all but the channels: the vectors of channels lie as they did.
// CHECK: exec.kernel
// CHECK: ^bb0(%[[X:.*]]: tensor<2x2x4x5x16xf32>, %[[B:.*]]: tensor<2x16xf32>):
// CHECK-NEXT: %[[Z:.*]] = dl.constant dense<1.000000e+00> : tensor<2x2x4x5x16xf32>
// CHECK-NEXT: %[[BB:.*]] = dl.broadcast %[[B]] dims = [1, 4] : tensor<2x16xf32> to tensor<2x2x4x5x16xf32>
// CHECK-NEXT: %[[Y:.*]] = dl.add %[[X]], %[[BB]] : tensor<2x2x4x5x16xf32>
// CHECK-NEXT: %[[M:.*]] = dl.multiply %[[Y]], %[[Z]] : tensor<2x2x4x5x16xf32>
// CHECK-NEXT: %[[S:.*]] = dl.reduce sum %[[M]] axes = [0, 2, 3] : tensor<2x2x4x5x16xf32>
// CHECK-NEXT: dl.yield %[[M]], %[[S]] : tensor<2x2x4x5x16xf32>, tensor<2x16xf32>

// A mean over the pixels; channels that are summed with them.
// CHECK: exec.kernel
// CHECK: dl.reduce sum %{{.*}} axes = [2, 3] : tensor<2x2x4x5x16xf32>
// CHECK-NEXT: dl.yield %{{.*}} : tensor<2x2x16xf32>
// CHECK: exec.kernel
// CHECK: dl.reduce max %{{.*}} axes = [1, 2, 3, 4] : tensor<2x2x4x5x16xf32>
// CHECK-NEXT: dl.yield %{{.*}} : tensor<2xf32>

// Pooling slides along the inner channels, too, by one; the index is the one it was.
// CHECK: exec.kernel
// CHECK: dl.max_pool %{{.*}} kernel = [3, 2, 1] strides = [2, 1, 1] padding = [1, 0, 0, 1, 0, 0] dilations = [1, 1, 1] : tensor<2x2x4x5x16xf32> -> tensor<2x2x2x5x16xf32>, tensor<2x2x2x5x16xui8>

// Channels of several tensors behind each other.
// CHECK: exec.kernel
// CHECK: dl.concat %{{.*}}, %{{.*}} axis = 1 : tensor<2x2x4x5x16xf32>, tensor<2x1x4x5x16xf32>

// What lies row-major is transposed.
// CHECK: exec.kernel
// CHECK: ^bb0(%[[A:.*]]: tensor<2x2x4x5x16xf32>, %[[R:.*]]: tensor<2x2x16x4x5xf32>):
// CHECK-NEXT: %[[T:.*]] = dl.transpose %[[R]] order = [0, 1, 3, 4, 2] : tensor<2x2x16x4x5xf32>
// CHECK-NEXT: %[[U:.*]] = dl.add %[[A]], %[[T]] : tensor<2x2x4x5x16xf32>
// CHECK-NEXT: %[[V:.*]] = dl.transpose %[[U]] order = [0, 1, 4, 2, 3] : tensor<2x2x4x5x16xf32>
// CHECK-NEXT: dl.yield %[[U]], %[[V]] : tensor<2x2x4x5x16xf32>, tensor<2x2x16x4x5xf32>

// Not around an op that knows axes, nor where blocks differ, nor where a block is not full.
// CHECK: exec.kernel
// CHECK: dl.transpose %{{.*}} order = [0, 1, 3, 2] : tensor<2x32x4x5xf32>
// CHECK: exec.kernel
// CHECK: dl.add %{{.*}} : tensor<2x32x4x5xf32>
// CHECK: exec.kernel
// CHECK: dl.relu %{{.*}} : tensor<2x24x4x5xf32>
// CHECK-NOT: exec.kernel
dl.entry @infer(%x: tensor<2x32x4x5xf32, #nchw16c>, %rows: tensor<2x32x4x5xf32>, %b: tensor<32xf32>, %few: tensor<2x16x4x5xf32, #nchw16c>,
                %other: tensor<2x32x4x5xf32, #nchw8c>, %part: tensor<2x24x4x5xf32, #nchw16c>) attributes {kind = #program.entry<infer>} {
  %0:2 = dl.fused(%x, %b) : (tensor<2x32x4x5xf32, #nchw16c>, tensor<32xf32>) -> (tensor<2x32x4x5xf32, #nchw16c>, tensor<32xf32>) {
  ^bb0(%a: tensor<2x32x4x5xf32, #nchw16c>, %c: tensor<32xf32>):
    %1 = dl.convert_layout %a : tensor<2x32x4x5xf32, #nchw16c> to tensor<2x32x4x5xf32>
    %2 = dl.constant dense<1.0> : tensor<2x32x4x5xf32>
    %3 = dl.broadcast %c dims = [1] : tensor<32xf32> to tensor<2x32x4x5xf32>
    %4 = dl.add %1, %3 : tensor<2x32x4x5xf32>
    %5 = dl.multiply %4, %2 : tensor<2x32x4x5xf32>
    %6 = dl.reduce sum %5 axes = [0, 2, 3] : tensor<2x32x4x5xf32>
    %7 = dl.convert_layout %5 : tensor<2x32x4x5xf32> to tensor<2x32x4x5xf32, #nchw16c>
    dl.yield %7, %6 : tensor<2x32x4x5xf32, #nchw16c>, tensor<32xf32>
  }
  %10 = dl.fused(%x) : (tensor<2x32x4x5xf32, #nchw16c>) -> tensor<2x32xf32> {
  ^bb0(%a: tensor<2x32x4x5xf32, #nchw16c>):
    %1 = dl.convert_layout %a : tensor<2x32x4x5xf32, #nchw16c> to tensor<2x32x4x5xf32>
    %2 = dl.reduce sum %1 axes = [2, 3] : tensor<2x32x4x5xf32>
    dl.yield %2 : tensor<2x32xf32>
  }
  %20 = dl.fused(%x) : (tensor<2x32x4x5xf32, #nchw16c>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2x32x4x5xf32, #nchw16c>):
    %1 = dl.convert_layout %a : tensor<2x32x4x5xf32, #nchw16c> to tensor<2x32x4x5xf32>
    %2 = dl.reduce max %1 axes = [1, 2, 3] : tensor<2x32x4x5xf32>
    dl.yield %2 : tensor<2xf32>
  }
  %30:2 = dl.fused(%x) : (tensor<2x32x4x5xf32, #nchw16c>) -> (tensor<2x32x2x5xf32, #nchw16c>, tensor<2x32x2x5xui8, #nchw16c>) {
  ^bb0(%a: tensor<2x32x4x5xf32, #nchw16c>):
    %1 = dl.convert_layout %a : tensor<2x32x4x5xf32, #nchw16c> to tensor<2x32x4x5xf32>
    %2, %i = dl.max_pool %1 kernel = [3, 2] strides = [2, 1] padding = [1, 0, 0, 1] dilations = [1, 1] : tensor<2x32x4x5xf32> -> tensor<2x32x2x5xf32>, tensor<2x32x2x5xui8>
    %3 = dl.convert_layout %2 : tensor<2x32x2x5xf32> to tensor<2x32x2x5xf32, #nchw16c>
    %4 = dl.convert_layout %i : tensor<2x32x2x5xui8> to tensor<2x32x2x5xui8, #nchw16c>
    dl.yield %3, %4 : tensor<2x32x2x5xf32, #nchw16c>, tensor<2x32x2x5xui8, #nchw16c>
  }
  %40 = dl.fused(%x, %few) : (tensor<2x32x4x5xf32, #nchw16c>, tensor<2x16x4x5xf32, #nchw16c>) -> tensor<2x48x4x5xf32, #nchw16c> {
  ^bb0(%a: tensor<2x32x4x5xf32, #nchw16c>, %c: tensor<2x16x4x5xf32, #nchw16c>):
    %1 = dl.convert_layout %a : tensor<2x32x4x5xf32, #nchw16c> to tensor<2x32x4x5xf32>
    %2 = dl.convert_layout %c : tensor<2x16x4x5xf32, #nchw16c> to tensor<2x16x4x5xf32>
    %3 = dl.concat %1, %2 axis = 1 : tensor<2x32x4x5xf32>, tensor<2x16x4x5xf32>
    %4 = dl.convert_layout %3 : tensor<2x48x4x5xf32> to tensor<2x48x4x5xf32, #nchw16c>
    dl.yield %4 : tensor<2x48x4x5xf32, #nchw16c>
  }
  %50:2 = dl.fused(%x, %rows) : (tensor<2x32x4x5xf32, #nchw16c>, tensor<2x32x4x5xf32>) -> (tensor<2x32x4x5xf32, #nchw16c>, tensor<2x32x4x5xf32>) {
  ^bb0(%a: tensor<2x32x4x5xf32, #nchw16c>, %c: tensor<2x32x4x5xf32>):
    %1 = dl.convert_layout %a : tensor<2x32x4x5xf32, #nchw16c> to tensor<2x32x4x5xf32>
    %2 = dl.add %1, %c : tensor<2x32x4x5xf32>
    %3 = dl.convert_layout %2 : tensor<2x32x4x5xf32> to tensor<2x32x4x5xf32, #nchw16c>
    dl.yield %3, %2 : tensor<2x32x4x5xf32, #nchw16c>, tensor<2x32x4x5xf32>
  }
  %60 = dl.fused(%x) : (tensor<2x32x4x5xf32, #nchw16c>) -> tensor<2x32x5x4xf32, #nchw16c> {
  ^bb0(%a: tensor<2x32x4x5xf32, #nchw16c>):
    %1 = dl.convert_layout %a : tensor<2x32x4x5xf32, #nchw16c> to tensor<2x32x4x5xf32>
    %2 = dl.transpose %1 order = [0, 1, 3, 2] : tensor<2x32x4x5xf32>
    %3 = dl.convert_layout %2 : tensor<2x32x5x4xf32> to tensor<2x32x5x4xf32, #nchw16c>
    dl.yield %3 : tensor<2x32x5x4xf32, #nchw16c>
  }
  %70 = dl.fused(%x, %other) : (tensor<2x32x4x5xf32, #nchw16c>, tensor<2x32x4x5xf32, #nchw8c>) -> tensor<2x32x4x5xf32> {
  ^bb0(%a: tensor<2x32x4x5xf32, #nchw16c>, %c: tensor<2x32x4x5xf32, #nchw8c>):
    %1 = dl.convert_layout %a : tensor<2x32x4x5xf32, #nchw16c> to tensor<2x32x4x5xf32>
    %2 = dl.convert_layout %c : tensor<2x32x4x5xf32, #nchw8c> to tensor<2x32x4x5xf32>
    %3 = dl.add %1, %2 : tensor<2x32x4x5xf32>
    dl.yield %3 : tensor<2x32x4x5xf32>
  }
  %80 = dl.fused(%part) : (tensor<2x24x4x5xf32, #nchw16c>) -> tensor<2x24x4x5xf32> {
  ^bb0(%a: tensor<2x24x4x5xf32, #nchw16c>):
    %1 = dl.convert_layout %a : tensor<2x24x4x5xf32, #nchw16c> to tensor<2x24x4x5xf32>
    %2 = dl.relu %1 : tensor<2x24x4x5xf32>
    dl.yield %2 : tensor<2x24x4x5xf32>
  }
  dl.return
}
