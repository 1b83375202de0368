// RUN: dlc-opt --dl-divide-batch='parts=2 least-bytes=4096' --mlir-print-local-scope %s | FileCheck %s
// RUN: dlc-opt --dl-divide-batch %s | FileCheck %s --check-prefix=WHOLE

// WHOLE-NOT: dl.slice
// WHOLE-NOT: dl.concat

dl.variable @w : tensor<8x1x3x3xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)

// What is large, and the relu that nothing else feeds, runs on one half of the samples and then on the other; a broadcast is made for a
// half, not cut. What needs all samples gets the halves joined. Behind it, gradients run by halves again, on the halves that are there,
// and what is summed over the batch is the sum of both.
// CHECK-LABEL: dl.entry @step
// CHECK: %[[W:.*]] = dl.read @w
// CHECK: %[[X0:.*]] = dl.slice %[[X:.*]] starts = [0, 0, 0, 0] sizes = [2, 1, 16, 16]
// CHECK-NEXT: %[[C0:.*]] = dl.convolution %[[X0]], %[[W]]
// CHECK-NEXT: %[[B0:.*]] = dl.broadcast %{{.*}} dims = [1] : tensor<8xf32> to tensor<2x8x16x16xf32>
// CHECK-NEXT: %[[A0:.*]] = dl.add %[[C0]], %[[B0]] : tensor<2x8x16x16xf32>
// CHECK-NEXT: %[[P0:.*]], %[[I0:.*]] = dl.max_pool %[[A0]]
// CHECK-NEXT: %[[R0:.*]] = dl.relu %[[P0]] : tensor<2x8x4x4xf32>
// CHECK-NEXT: %[[X1:.*]] = dl.slice %[[X]] starts = [2, 0, 0, 0] sizes = [2, 1, 16, 16]
// CHECK-NEXT: dl.convolution %[[X1]], %[[W]]
// CHECK: %[[P1:.*]], %[[I1:.*]] = dl.max_pool
// CHECK-NEXT: %[[R1:.*]] = dl.relu %[[P1]]
// CHECK-NEXT: %[[R:.*]] = dl.concat %[[R0]], %[[R1]] axis = 0
// CHECK: %[[S:.*]] = dl.softmax_cross_entropy
// CHECK: %[[G:.*]] = dl.exp %[[R]] : tensor<4x8x4x4xf32>
// CHECK: %[[G0:.*]] = dl.slice %[[G]] starts = [0, 0, 0, 0] sizes = [2, 8, 4, 4]
// CHECK-NEXT: %[[D0:.*]] = dl.max_pool_backward %[[G0]], %[[I0]]
// CHECK-NEXT: %[[W0:.*]] = dl.convolution_backward_filter %[[X0]], %[[D0]]
// CHECK-NEXT: %[[G1:.*]] = dl.slice %[[G]] starts = [2, 0, 0, 0] sizes = [2, 8, 4, 4]
// CHECK-NEXT: %[[D1:.*]] = dl.max_pool_backward %[[G1]], %[[I1]]
// CHECK-NEXT: %[[W1:.*]] = dl.convolution_backward_filter %[[X1]], %[[D1]]
// CHECK-NEXT: %[[DW:.*]] = dl.add %[[W0]], %[[W1]] : tensor<8x1x3x3xf32>
// CHECK: dl.return %[[S]], %[[DW]]
dl.entry @step(%x: tensor<4x1x16x16xf32> {dl.batch_axis = 0 : i64}, %b: tensor<8xf32>, %label: tensor<4x4x4xi32> {dl.batch_axis = 0 : i64})
    -> (tensor<4x4x4xf32>, tensor<8x1x3x3xf32>) attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<8x1x3x3xf32>
  %c = dl.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<4x1x16x16xf32>, tensor<8x1x3x3xf32>
  %bias = dl.broadcast %b dims = [1] : tensor<8xf32> to tensor<4x8x16x16xf32>
  %a = dl.add %c, %bias : tensor<4x8x16x16xf32>
  %p, %i = dl.max_pool %a kernel = [4, 4] strides = [4, 4] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<4x8x16x16xf32> -> tensor<4x8x4x4xf32>, tensor<4x8x4x4xui8>
  %r = dl.relu %p : tensor<4x8x4x4xf32>
  %s = dl.softmax_cross_entropy %r, %label axis = 1 : tensor<4x8x4x4xf32>, tensor<4x4x4xi32>
  %g = dl.exp %r : tensor<4x8x4x4xf32>
  %d = dl.max_pool_backward %g, %i kernel = [4, 4] strides = [4, 4] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<4x8x4x4xf32>, tensor<4x8x4x4xui8> to tensor<4x8x16x16xf32>
  %dw = dl.convolution_backward_filter %x, %d strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<4x1x16x16xf32>, tensor<4x8x16x16xf32> to tensor<8x1x3x3xf32>
  dl.return %s, %dw : tensor<4x4x4xf32>, tensor<8x1x3x3xf32>
}

// A mean over the samples that later ops need waits for all of them; moments have no sum of parts, and stay whole.
// CHECK-LABEL: dl.entry @mean
// CHECK: %[[S0:.*]] = dl.reduce sum %{{.*}} axes = [0] : tensor<2x1024xf32>
// CHECK: %[[S1:.*]] = dl.reduce sum %{{.*}} axes = [0] : tensor<2x1024xf32>
// CHECK: %[[S:.*]] = dl.add %[[S0]], %[[S1]]
// CHECK: %[[E0:.*]] = dl.exp
// CHECK: %[[Y0:.*]] = dl.subtract %[[E0:.*]], %{{.*}} : tensor<2x1024xf32>
// CHECK: %[[Y1:.*]] = dl.subtract %[[E1:.*]], %{{.*}} : tensor<2x1024xf32>
// CHECK: %[[Y:.*]] = dl.concat %[[Y0]], %[[Y1]] axis = 0
// CHECK: dl.moments %[[Y]] axes = [0] : tensor<4x1024xf32>
dl.entry @mean(%x: tensor<4x1024xf32> {dl.batch_axis = 0 : i64}) -> (tensor<1024xf32>) attributes {kind = #program.entry<train>} {
  %s = dl.reduce sum %x axes = [0] : tensor<4x1024xf32>
  %e = dl.exp %x : tensor<4x1024xf32>
  %all = dl.broadcast %s dims = [1] : tensor<1024xf32> to tensor<4x1024xf32>
  %y = dl.subtract %e, %all : tensor<4x1024xf32>
  %mean, %m2 = dl.moments %y axes = [0] : tensor<4x1024xf32>
  dl.return %mean : tensor<1024xf32>
}

// Nothing is divided that mixes samples, that the batch does not reach, or that is small; nor a batch that has no halves.
// CHECK-LABEL: dl.entry @kept
// CHECK-NOT: dl.slice
// CHECK-NOT: dl.concat
// CHECK: dl.return
dl.entry @kept(%x: tensor<64x64xf32> {dl.batch_axis = 0 : i64}, %v: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) attributes {kind = #program.entry<train>} {
  %t = dl.transpose %x order = [1, 0] : tensor<64x64xf32>
  %m = dl.matmul %v, %x : tensor<64x64xf32>, tensor<64x64xf32>
  %e = dl.exp %v : tensor<64x64xf32>
  %y = dl.add %m, %e : tensor<64x64xf32>
  dl.return %t, %y : tensor<64x64xf32>, tensor<64x64xf32>
}
// CHECK-LABEL: dl.entry @odd
// CHECK-NOT: dl.concat
dl.entry @odd(%x: tensor<3x4096xf32> {dl.batch_axis = 0 : i64}) -> (tensor<3x4096xf32>) attributes {kind = #program.entry<train>} {
  %y = dl.exp %x : tensor<3x4096xf32>
  dl.return %y : tensor<3x4096xf32>
}
