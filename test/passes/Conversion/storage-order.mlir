// RUN: dlc-opt --convert-dl-to-exec --mlir-print-local-scope %s | FileCheck %s
// Kernels whose ops know no axes see their tensors as they lie in memory.

#nhwc = #program.layout<order = [0, 2, 3, 1]>

// Batch norm's shape of kernel: a bias over the channels, now the last axis; a constant; a sum over all but the channels.
// CHECK: exec.kernel
// CHECK: ^bb0(%[[X:.*]]: tensor<2x4x5x3xf32>, %[[B:.*]]: tensor<3xf32>):
// CHECK-NEXT: %[[Z:.*]] = dl.constant dense<1.000000e+00> : tensor<2x4x5x3xf32>
// CHECK-NEXT: %[[BB:.*]] = dl.broadcast %[[B]] dims = [3] : tensor<3xf32> to tensor<2x4x5x3xf32>
// CHECK-NEXT: %[[Y:.*]] = dl.add %[[X]], %[[BB]] : tensor<2x4x5x3xf32>
// CHECK-NEXT: %[[M:.*]] = dl.multiply %[[Y]], %[[Z]] : tensor<2x4x5x3xf32>
// CHECK-NEXT: %[[S:.*]] = dl.reduce sum %[[M]] axes = [0, 1, 2] : tensor<2x4x5x3xf32>
// CHECK-NEXT: dl.yield %[[M]], %[[S]] : tensor<2x4x5x3xf32>, tensor<3xf32>

// What keeps pixels keeps their order.
// CHECK: exec.kernel
// CHECK: dl.reduce max %{{.*}} axes = [3] : tensor<2x4x5x3xf32>
// CHECK-NEXT: dl.yield %{{.*}} : tensor<2x4x5xf32>

// An index along the width, an operand with axes of size 1.
// CHECK: exec.kernel
// CHECK: ^bb0(%{{.*}}: tensor<1x1x1x3xf32>):
// CHECK-NEXT: dl.iota axes = [2] : tensor<2x4x5x3xi32>
// CHECK: dl.broadcast %{{.*}} dims = [0, 1, 2, 3] : tensor<1x1x1x3xf32> to tensor<2x4x5x3xf32>

// Not where the channels would change their place among what is kept,
// CHECK: exec.kernel
// CHECK: dl.reduce sum %{{.*}} axes = [0] : tensor<2x3x4x5xf32>
// nor in a vector of pixels and channels that is broadcast,
// CHECK: exec.kernel
// CHECK: dl.broadcast %{{.*}} dims = [1, 2] : tensor<3x4xf32> to tensor<2x3x4x5xf32>
// nor where one tensor lies row-major,
// CHECK: exec.kernel
// CHECK: dl.convert_layout %{{.*}} : tensor<2x3x4x5xf32, #program.layout<order = [0, 2, 3, 1]>> to tensor<2x3x4x5xf32>
// nor around an op that knows axes.
// CHECK: exec.kernel
// CHECK: dl.max_pool %{{.*}} : tensor<2x3x4x5xf32>
// Parts of axes are those of the same axes elsewhere.
// CHECK: exec.kernel
// CHECK: %[[P:.*]] = dl.slice %{{.*}} starts = [0, 2, 0, 1] sizes = [2, 2, 2, 2] steps = [1, 1, 3, 1] : tensor<2x4x5x3xf32>
// CHECK-NEXT: dl.pad %[[P]] low = [0, 2, 0, 1] steps = [1, 1, 3, 1] : tensor<2x2x2x2xf32> to tensor<2x4x5x3xf32>
// CHECK: exec.kernel
// CHECK: dl.concat %{{.*}}, %{{.*}} axis = 3 : tensor<2x4x5x3xf32>, tensor<2x4x5x3xf32>
// CHECK-NOT: exec.kernel
dl.entry @infer(%x: tensor<2x3x4x5xf32, #nhwc>, %rows: tensor<2x3x4x5xf32>, %b: tensor<3xf32>, %k: tensor<1x3x1x1xf32, #nhwc>,
                %v: tensor<3x4xf32>) attributes {kind = #program.entry<infer>} {
  %0:2 = dl.fused(%x, %b) : (tensor<2x3x4x5xf32, #nhwc>, tensor<3xf32>) -> (tensor<2x3x4x5xf32, #nhwc>, tensor<3xf32>) {
  ^bb0(%a: tensor<2x3x4x5xf32, #nhwc>, %c: tensor<3xf32>):
    %1 = dl.convert_layout %a : tensor<2x3x4x5xf32, #nhwc> to tensor<2x3x4x5xf32>
    %2 = dl.constant dense<1.0> : tensor<2x3x4x5xf32>
    %3 = dl.broadcast %c dims = [1] : tensor<3xf32> to tensor<2x3x4x5xf32>
    %4 = dl.add %1, %3 : tensor<2x3x4x5xf32>
    %5 = dl.multiply %4, %2 : tensor<2x3x4x5xf32>
    %6 = dl.reduce sum %5 axes = [0, 2, 3] : tensor<2x3x4x5xf32>
    %7 = dl.convert_layout %5 : tensor<2x3x4x5xf32> to tensor<2x3x4x5xf32, #nhwc>
    dl.yield %7, %6 : tensor<2x3x4x5xf32, #nhwc>, tensor<3xf32>
  }
  %10 = dl.fused(%x) : (tensor<2x3x4x5xf32, #nhwc>) -> tensor<2x4x5xf32> {
  ^bb0(%a: tensor<2x3x4x5xf32, #nhwc>):
    %1 = dl.convert_layout %a : tensor<2x3x4x5xf32, #nhwc> to tensor<2x3x4x5xf32>
    %2 = dl.reduce max %1 axes = [1] : tensor<2x3x4x5xf32>
    dl.yield %2 : tensor<2x4x5xf32>
  }
  %20:2 = dl.fused(%k) : (tensor<1x3x1x1xf32, #nhwc>) -> (tensor<2x3x4x5xi32, #nhwc>, tensor<2x3x4x5xf32, #nhwc>) {
  ^bb0(%a: tensor<1x3x1x1xf32, #nhwc>):
    %1 = dl.iota axes = [3] : tensor<2x3x4x5xi32>
    %2 = dl.convert_layout %a : tensor<1x3x1x1xf32, #nhwc> to tensor<1x3x1x1xf32>
    %3 = dl.broadcast %2 dims = [0, 1, 2, 3] : tensor<1x3x1x1xf32> to tensor<2x3x4x5xf32>
    %4 = dl.convert_layout %1 : tensor<2x3x4x5xi32> to tensor<2x3x4x5xi32, #nhwc>
    %5 = dl.convert_layout %3 : tensor<2x3x4x5xf32> to tensor<2x3x4x5xf32, #nhwc>
    dl.yield %4, %5 : tensor<2x3x4x5xi32, #nhwc>, tensor<2x3x4x5xf32, #nhwc>
  }
  %30 = dl.fused(%x) : (tensor<2x3x4x5xf32, #nhwc>) -> tensor<3x4x5xf32> {
  ^bb0(%a: tensor<2x3x4x5xf32, #nhwc>):
    %1 = dl.convert_layout %a : tensor<2x3x4x5xf32, #nhwc> to tensor<2x3x4x5xf32>
    %2 = dl.reduce sum %1 axes = [0] : tensor<2x3x4x5xf32>
    dl.yield %2 : tensor<3x4x5xf32>
  }
  %40 = dl.fused(%v) : (tensor<3x4xf32>) -> tensor<2x3x4x5xf32, #nhwc> {
  ^bb0(%a: tensor<3x4xf32>):
    %1 = dl.broadcast %a dims = [1, 2] : tensor<3x4xf32> to tensor<2x3x4x5xf32>
    %2 = dl.convert_layout %1 : tensor<2x3x4x5xf32> to tensor<2x3x4x5xf32, #nhwc>
    dl.yield %2 : tensor<2x3x4x5xf32, #nhwc>
  }
  %50 = dl.fused(%x, %rows) : (tensor<2x3x4x5xf32, #nhwc>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32> {
  ^bb0(%a: tensor<2x3x4x5xf32, #nhwc>, %c: tensor<2x3x4x5xf32>):
    %1 = dl.convert_layout %a : tensor<2x3x4x5xf32, #nhwc> to tensor<2x3x4x5xf32>
    %2 = dl.add %1, %c : tensor<2x3x4x5xf32>
    dl.yield %2 : tensor<2x3x4x5xf32>
  }
  %60 = dl.fused(%x) : (tensor<2x3x4x5xf32, #nhwc>) -> tensor<2x3x2x2xf32, #nhwc> {
  ^bb0(%a: tensor<2x3x4x5xf32, #nhwc>):
    %1 = dl.convert_layout %a : tensor<2x3x4x5xf32, #nhwc> to tensor<2x3x4x5xf32>
    %2 = dl.max_pool %1 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x3x4x5xf32> -> tensor<2x3x2x2xf32>
    %3 = dl.convert_layout %2 : tensor<2x3x2x2xf32> to tensor<2x3x2x2xf32, #nhwc>
    dl.yield %3 : tensor<2x3x2x2xf32, #nhwc>
  }
  %70 = dl.fused(%x) : (tensor<2x3x4x5xf32, #nhwc>) -> tensor<2x3x4x5xf32, #nhwc> {
  ^bb0(%a: tensor<2x3x4x5xf32, #nhwc>):
    %1 = dl.convert_layout %a : tensor<2x3x4x5xf32, #nhwc> to tensor<2x3x4x5xf32>
    %2 = dl.slice %1 starts = [0, 1, 2, 0] sizes = [2, 2, 2, 2] steps = [1, 1, 1, 3] : tensor<2x3x4x5xf32>
    %3 = dl.pad %2 low = [0, 1, 2, 0] steps = [1, 1, 1, 3] : tensor<2x2x2x2xf32> to tensor<2x3x4x5xf32>
    %4 = dl.convert_layout %3 : tensor<2x3x4x5xf32> to tensor<2x3x4x5xf32, #nhwc>
    dl.yield %4 : tensor<2x3x4x5xf32, #nhwc>
  }
  %80 = dl.fused(%x) : (tensor<2x3x4x5xf32, #nhwc>) -> tensor<2x6x4x5xf32, #nhwc> {
  ^bb0(%a: tensor<2x3x4x5xf32, #nhwc>):
    %1 = dl.convert_layout %a : tensor<2x3x4x5xf32, #nhwc> to tensor<2x3x4x5xf32>
    %2 = dl.concat %1, %1 axis = 1 : tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>
    %3 = dl.convert_layout %2 : tensor<2x6x4x5xf32> to tensor<2x6x4x5xf32, #nhwc>
    dl.yield %3 : tensor<2x6x4x5xf32, #nhwc>
  }
  dl.return
}
