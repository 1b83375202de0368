// RUN: dlc-opt --dl-choose="target=cuda:simt" %s | FileCheck %s

#nhwc = #program.layout<order = [0, 2, 3, 1]>

// Samples that are joined, or cut out, lie as the whole does, where its samples lie one behind the other.
// CHECK-LABEL: dl.entry @samples
// CHECK: %[[A:.*]] = dl.fused({{.*}}) {{.*}} -> tensor<2x8x8x8xf32, #nhwc>
// CHECK: %[[B:.*]] = dl.fused({{.*}}) {{.*}} -> tensor<2x8x8x8xf32, #nhwc>
// CHECK: %[[ALL:.*]] = dl.concat %[[A]], %[[B]] axis = 0 : tensor<2x8x8x8xf32, #nhwc>, tensor<2x8x8x8xf32, #nhwc>
// CHECK: %[[P:.*]] = dl.fused(%[[ALL]]) {{.*}} : (tensor<4x8x8x8xf32, #nhwc>) -> tensor<4x8x4x4xf32, #nhwc>
// CHECK: %[[LAST:.*]] = dl.slice %[[P]] starts = [2, 0, 0, 0] sizes = [2, 8, 4, 4] steps = [1, 1, 1, 1] : tensor<4x8x4x4xf32, #nhwc>
// CHECK: dl.fused(%[[LAST]]) {{.*}} : (tensor<2x8x4x4xf32, #nhwc>) -> tensor<2x8x2x2xf32>
dl.entry @samples(%x: tensor<2x4x10x10xf32>, %y: tensor<2x4x10x10xf32>, %w: tensor<8x2x3x3xf32>) -> (tensor<2x8x2x2xf32>) attributes {dl.precision = tf32, kind = #program.entry<infer>} {
  %a = dl.fused(%x, %w) : (tensor<2x4x10x10xf32>, tensor<8x2x3x3xf32>) -> tensor<2x8x8x8xf32> {
  ^bb0(%0: tensor<2x4x10x10xf32>, %1: tensor<8x2x3x3xf32>):
    %2 = dl.convolution %0, %1 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 2 {dl.precision = tf32} : tensor<2x4x10x10xf32>, tensor<8x2x3x3xf32>
    dl.yield %2 : tensor<2x8x8x8xf32>
  }
  %b = dl.fused(%y, %w) : (tensor<2x4x10x10xf32>, tensor<8x2x3x3xf32>) -> tensor<2x8x8x8xf32> {
  ^bb0(%0: tensor<2x4x10x10xf32>, %1: tensor<8x2x3x3xf32>):
    %2 = dl.convolution %0, %1 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 2 {dl.precision = tf32} : tensor<2x4x10x10xf32>, tensor<8x2x3x3xf32>
    dl.yield %2 : tensor<2x8x8x8xf32>
  }
  %all = dl.concat %a, %b axis = 0 : tensor<2x8x8x8xf32>, tensor<2x8x8x8xf32>
  %p = dl.fused(%all) : (tensor<4x8x8x8xf32>) -> tensor<4x8x4x4xf32> {
  ^bb0(%0: tensor<4x8x8x8xf32>):
    %1 = dl.max_pool %0 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<4x8x8x8xf32> -> tensor<4x8x4x4xf32>
    dl.yield %1 : tensor<4x8x4x4xf32>
  }
  %last = dl.slice %p starts = [2, 0, 0, 0] sizes = [2, 8, 4, 4] steps = [1, 1, 1, 1] : tensor<4x8x4x4xf32>
  %q = dl.fused(%last) : (tensor<2x8x4x4xf32>) -> tensor<2x8x2x2xf32> {
  ^bb0(%0: tensor<2x8x4x4xf32>):
    %1 = dl.max_pool %0 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x8x4x4xf32> -> tensor<2x8x2x2xf32>
    dl.yield %1 : tensor<2x8x2x2xf32>
  }
  dl.return %q : tensor<2x8x2x2xf32>
}

// Channels of one sample are one piece row-major only.
// CHECK-LABEL: dl.entry @channels
// CHECK: dl.concat {{.*}} axis = 1 : tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>
dl.entry @channels(%x: tensor<1x4x10x10xf32>, %w: tensor<8x2x3x3xf32>) -> (tensor<1x16x4x4xf32>) attributes {dl.precision = tf32, kind = #program.entry<infer>} {
  %a = dl.fused(%x, %w) : (tensor<1x4x10x10xf32>, tensor<8x2x3x3xf32>) -> tensor<1x8x8x8xf32> {
  ^bb0(%0: tensor<1x4x10x10xf32>, %1: tensor<8x2x3x3xf32>):
    %2 = dl.convolution %0, %1 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 2 {dl.precision = tf32} : tensor<1x4x10x10xf32>, tensor<8x2x3x3xf32>
    dl.yield %2 : tensor<1x8x8x8xf32>
  }
  %all = dl.concat %a, %a axis = 1 : tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>
  %p = dl.fused(%all) : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32> {
  ^bb0(%0: tensor<1x16x8x8xf32>):
    %1 = dl.max_pool %0 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x16x8x8xf32> -> tensor<1x16x4x4xf32>
    dl.yield %1 : tensor<1x16x4x4xf32>
  }
  dl.return %p : tensor<1x16x4x4xf32>
}
