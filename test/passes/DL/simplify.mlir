// RUN: dlc-opt --dl-simplify %s | FileCheck %s

// relu moves behind max_pool, to a quarter of the elements.
// CHECK-LABEL: dl.entry @relu_behind_pool
// CHECK: %[[POOL:.*]] = dl.max_pool %{{.*}} kernel = [2, 2] {{.*}} -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %[[Y:.*]] = dl.relu %[[POOL]] : tensor<2x3x4x4xf32>
// CHECK-NEXT: dl.return %[[Y]]
dl.entry @relu_behind_pool(%x: tensor<2x3x8x8xf32>) -> (tensor<2x3x4x4xf32>) attributes {kind = #dl.entry<infer>} {
  %a = dl.relu %x : tensor<2x3x8x8xf32>
  %y = dl.max_pool %a kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x3x8x8xf32> -> tensor<2x3x4x4xf32>
  dl.return %y : tensor<2x3x4x4xf32>
}

// A relu with a second use has to be computed in full anyway.
// CHECK-LABEL: dl.entry @relu_used_twice
// CHECK: dl.relu %{{.*}} : tensor<2x3x8x8xf32>
// CHECK-NEXT: dl.max_pool
dl.entry @relu_used_twice(%x: tensor<2x3x8x8xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x8x8xf32>) attributes {kind = #dl.entry<infer>} {
  %a = dl.relu %x : tensor<2x3x8x8xf32>
  %y = dl.max_pool %a kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x3x8x8xf32> -> tensor<2x3x4x4xf32>
  dl.return %y, %a : tensor<2x3x4x4xf32>, tensor<2x3x8x8xf32>
}

// The index of the winner is another one before relu: of negative elements relu makes equal ones.
// CHECK-LABEL: dl.entry @pool_with_index
// CHECK: dl.relu
// CHECK-NEXT: dl.max_pool
dl.entry @pool_with_index(%x: tensor<2x3x8x8xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4x4xui8>) attributes {kind = #dl.entry<infer>} {
  %a = dl.relu %x : tensor<2x3x8x8xf32>
  %y, %i = dl.max_pool %a kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x3x8x8xf32> -> tensor<2x3x4x4xf32>, tensor<2x3x4x4xui8>
  dl.return %y, %i : tensor<2x3x4x4xf32>, tensor<2x3x4x4xui8>
}

// A dilated window may hold padding only: -infinity there, but 0 if relu came last.
// CHECK-LABEL: dl.entry @window_of_padding
// CHECK: dl.relu
// CHECK-NEXT: dl.max_pool
dl.entry @window_of_padding(%x: tensor<1x1x1xf32>) -> (tensor<1x1x2xf32>) attributes {kind = #dl.entry<infer>} {
  %a = dl.relu %x : tensor<1x1x1xf32>
  %y = dl.max_pool %a kernel = [2] strides = [1] padding = [2, 2] dilations = [3] : tensor<1x1x1xf32> -> tensor<1x1x2xf32>
  dl.return %y : tensor<1x1x2xf32>
}

dl.variable @w : tensor<4xf32> role<parameter> init(#dl.init<constant, 0.0, 0.0>)

// Constants fold; dead ops and reads go.
// CHECK-LABEL: dl.entry @folds
// CHECK-NEXT: %[[HALF:.*]] = dl.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK-NEXT: dl.return %[[HALF]]
dl.entry @folds() -> (tensor<4xf32>) attributes {kind = #dl.entry<infer>} {
  %w = dl.read @w : tensor<4xf32>
  %dead = dl.exp %w : tensor<4xf32>
  %one = dl.constant dense<1.0> : tensor<f32>
  %two = dl.constant dense<2.0> : tensor<f32>
  %half = dl.divide %one, %two : tensor<f32>
  %y = dl.broadcast %half dims = [] : tensor<f32> to tensor<4xf32>
  dl.return %y : tensor<4xf32>
}

// Nothing folds where a gradient tells x from x * 1: by %b it is 1, by %x it would be 2.
// CHECK-LABEL: dl.entry @with_a_gradient
// CHECK: %[[B:.*]] = dl.multiply
// CHECK: dl.gradient %{{.*}} by %[[B]]
dl.entry @with_a_gradient(%x: tensor<f32>) -> (tensor<f32>) attributes {kind = #dl.entry<infer>} {
  %one = dl.constant dense<1.0> : tensor<f32>
  %b = dl.multiply %x, %one : tensor<f32>
  %y = dl.add %x, %b : tensor<f32>
  %g = dl.gradient %y by %b : tensor<f32> by tensor<f32>
  dl.return %g : tensor<f32>
}
