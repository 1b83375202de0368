// Convolutions, pooling and losses read as they print; inferred types are checked by the uses in dl.return.
// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// RUN: dlc-opt %s --mlir-print-op-generic | dlc-opt | FileCheck %s

// CHECK-LABEL: dl.entry @convolution(
// CHECK-SAME: %[[X:.*]]: tensor<2x4x5x6xf32>, %[[W:.*]]: tensor<6x2x2x3xf32>)
dl.entry @convolution(%x: tensor<2x4x5x6xf32>, %w: tensor<6x2x2x3xf32>) -> tensor<2x6x3x4xf32> attributes {kind = #program.entry<infer>} {
  // CHECK: %[[Y:.*]] = dl.convolution %[[X]], %[[W]] strides = [2, 1] padding = [0, 1, 2, 0] dilations = [1, 2] groups = 2 : tensor<2x4x5x6xf32>, tensor<6x2x2x3xf32>
  %y = dl.convolution %x, %w strides = [2, 1] padding = [0, 1, 2, 0] dilations = [1, 2] groups = 2
      : tensor<2x4x5x6xf32>, tensor<6x2x2x3xf32>
  // CHECK: dl.convolution_backward_data %[[Y]], %[[W]] strides = [2, 1] padding = [0, 1, 2, 0] dilations = [1, 2] groups = 2 : tensor<2x6x3x4xf32>, tensor<6x2x2x3xf32> to tensor<2x4x5x6xf32>
  %dx = dl.convolution_backward_data %y, %w strides = [2, 1] padding = [0, 1, 2, 0] dilations = [1, 2] groups = 2
      : tensor<2x6x3x4xf32>, tensor<6x2x2x3xf32> to tensor<2x4x5x6xf32>
  // CHECK: dl.convolution_backward_filter %[[X]], %[[Y]] strides = [2, 1] padding = [0, 1, 2, 0] dilations = [1, 2] groups = 2 : tensor<2x4x5x6xf32>, tensor<2x6x3x4xf32> to tensor<6x2x2x3xf32>
  %dw = dl.convolution_backward_filter %x, %y strides = [2, 1] padding = [0, 1, 2, 0] dilations = [1, 2] groups = 2
      : tensor<2x4x5x6xf32>, tensor<2x6x3x4xf32> to tensor<6x2x2x3xf32>
  dl.return %y : tensor<2x6x3x4xf32>
}

// Spatial rank 1 and 3.
// CHECK-LABEL: dl.entry @ranks
dl.entry @ranks(%x1: tensor<2x3x9xf32>, %w1: tensor<4x3x2xf32>, %x3: tensor<1x2x3x4x5xf32>, %w3: tensor<2x2x2x3x2xf32>)
    -> (tensor<2x4x4xf32>, tensor<1x2x2x2x4xf32>) attributes {kind = #program.entry<infer>} {
  %0 = dl.convolution %x1, %w1 strides = [3] padding = [1, 2] dilations = [2] groups = 1 : tensor<2x3x9xf32>, tensor<4x3x2xf32>
  %1 = dl.convolution %x3, %w3 strides = [1, 2, 1] padding = [0, 0, 1, 1, 1, 0] dilations = [1, 1, 2] groups = 1
      : tensor<1x2x3x4x5xf32>, tensor<2x2x2x3x2xf32>
  dl.return %0, %1 : tensor<2x4x4xf32>, tensor<1x2x2x2x4xf32>
}

// CHECK-LABEL: dl.entry @pooling(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x6x7xf32>)
dl.entry @pooling(%x: tensor<2x3x6x7xf32>) attributes {kind = #program.entry<infer>} {
  // CHECK: dl.max_pool %[[X]] kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x3x6x7xf32> -> tensor<2x3x3x3xf32>{{$}}
  %0 = dl.max_pool %x kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x3x6x7xf32> -> tensor<2x3x3x3xf32>
  // The last window of the second axis hangs over.
  // CHECK: %[[Y:.*]], %[[I:.*]] = dl.max_pool %[[X]] kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x3x6x7xf32> -> tensor<2x3x3x4xf32>, tensor<2x3x3x4xui8>
  %y, %i = dl.max_pool %x kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1]
      : tensor<2x3x6x7xf32> -> tensor<2x3x3x4xf32>, tensor<2x3x3x4xui8>
  // CHECK: dl.max_pool_backward %[[Y]], %[[I]] kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x3x3x4xf32>, tensor<2x3x3x4xui8> to tensor<2x3x6x7xf32>
  %1 = dl.max_pool_backward %y, %i kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1]
      : tensor<2x3x3x4xf32>, tensor<2x3x3x4xui8> to tensor<2x3x6x7xf32>
  // CHECK: dl.max_pool_gather %[[X]], %[[I]] kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x3x6x7xf32>, tensor<2x3x3x4xui8> to tensor<2x3x3x4xf32>
  %2 = dl.max_pool_gather %x, %i kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1]
      : tensor<2x3x6x7xf32>, tensor<2x3x3x4xui8> to tensor<2x3x3x4xf32>
  // CHECK: %[[A:.*]] = dl.average_pool %[[X]] kernel = [3, 3] strides = [1, 2] padding = [1, 1, 0, 1] dilations = [1, 1] count_include_pad : tensor<2x3x6x7xf32> -> tensor<2x3x6x3xf32>
  %a = dl.average_pool %x kernel = [3, 3] strides = [1, 2] padding = [1, 1, 0, 1] dilations = [1, 1] count_include_pad
      : tensor<2x3x6x7xf32> -> tensor<2x3x6x3xf32>
  // CHECK: dl.average_pool_backward %[[A]] kernel = [3, 3] strides = [1, 2] padding = [1, 1, 0, 1] dilations = [1, 1] : tensor<2x3x6x3xf32> to tensor<2x3x6x7xf32>
  %3 = dl.average_pool_backward %a kernel = [3, 3] strides = [1, 2] padding = [1, 1, 0, 1] dilations = [1, 1]
      : tensor<2x3x6x3xf32> to tensor<2x3x6x7xf32>
  // CHECK: dl.sliding_sum %[[X]] axis = 1 before = 3 after = 0 : tensor<2x3x6x7xf32>
  %4 = dl.sliding_sum %x axis = 1 before = 3 after = 0 : tensor<2x3x6x7xf32>
  dl.return
}

// CHECK-LABEL: dl.entry @samples(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x6x7xf32>, %[[G:.*]]: tensor<2x4x5x2xf32>)
dl.entry @samples(%x: tensor<2x3x6x7xf32>, %grid: tensor<2x4x5x2xf32>) attributes {kind = #program.entry<infer>} {
  // CHECK: %[[Y:.*]] = dl.grid_sample %[[X]], %[[G]] : tensor<2x3x6x7xf32>, tensor<2x4x5x2xf32>
  %y = dl.grid_sample %x, %grid : tensor<2x3x6x7xf32>, tensor<2x4x5x2xf32>
  // CHECK: dl.grid_sample %[[X]], %[[G]] nearest border align_corners : tensor<2x3x6x7xf32>, tensor<2x4x5x2xf32>
  %0 = dl.grid_sample %x, %grid nearest border align_corners : tensor<2x3x6x7xf32>, tensor<2x4x5x2xf32>
  // CHECK: dl.grid_sample_backward_image %[[Y]], %[[G]] reflect : tensor<2x3x4x5xf32>, tensor<2x4x5x2xf32> to tensor<2x3x6x7xf32>
  %1 = dl.grid_sample_backward_image %y, %grid reflect : tensor<2x3x4x5xf32>, tensor<2x4x5x2xf32> to tensor<2x3x6x7xf32>
  // CHECK: dl.grid_sample_backward_grid %[[Y]], %[[X]], %[[G]] border : tensor<2x3x4x5xf32>, tensor<2x3x6x7xf32>, tensor<2x4x5x2xf32>
  %2 = dl.grid_sample_backward_grid %y, %x, %grid border : tensor<2x3x4x5xf32>, tensor<2x3x6x7xf32>, tensor<2x4x5x2xf32>
  dl.return
}

// CHECK-LABEL: dl.entry @classes(
// CHECK-SAME: %[[X:.*]]: tensor<2x5x3xf32>, %[[L:.*]]: tensor<2x3xi32>)
dl.entry @classes(%x: tensor<2x5x3xf32>, %label: tensor<2x3xi32>)
    -> (tensor<2x3xf32>, tensor<2x5x3xf32>, tensor<2x3xf32>) attributes {kind = #program.entry<infer>} {
  // CHECK: %[[LOSS:.*]] = dl.softmax_cross_entropy %[[X]], %[[L]] axis = 1 : tensor<2x5x3xf32>, tensor<2x3xi32>
  %l = dl.softmax_cross_entropy %x, %label axis = 1 : tensor<2x5x3xf32>, tensor<2x3xi32>
  // CHECK: dl.softmax_cross_entropy_backward %[[LOSS]], %[[X]], %[[L]] axis = 1 : tensor<2x3xf32>, tensor<2x5x3xf32>, tensor<2x3xi32>
  %d = dl.softmax_cross_entropy_backward %l, %x, %label axis = 1 : tensor<2x3xf32>, tensor<2x5x3xf32>, tensor<2x3xi32>
  // CHECK: dl.smoothed_cross_entropy %[[X]], %[[L]] axis = 1 smoothing = 1.000000e-01 : tensor<2x5x3xf32>, tensor<2x3xi32>
  %s = dl.smoothed_cross_entropy %x, %label axis = 1 smoothing = 0.1 : tensor<2x5x3xf32>, tensor<2x3xi32>
  // CHECK: dl.probability_cross_entropy %[[X]], %[[X]] axis = 1 : tensor<2x5x3xf32>
  %p = dl.probability_cross_entropy %x, %x axis = 1 : tensor<2x5x3xf32>
  // CHECK: dl.top_accuracy %[[X]], %[[L]] axis = 1 k = 2 : tensor<2x5x3xf32>, tensor<2x3xi32>
  %t = dl.top_accuracy %x, %label axis = 1 k = 2 : tensor<2x5x3xf32>, tensor<2x3xi32>
  // CHECK: dl.accuracy %[[X]], %[[L]] axis = 1 : tensor<2x5x3xf32>, tensor<2x3xi32>
  %a = dl.accuracy %x, %label axis = 1 : tensor<2x5x3xf32>, tensor<2x3xi32>
  dl.return %l, %d, %a : tensor<2x3xf32>, tensor<2x5x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: dl.entry @attention(
// CHECK-SAME: %[[Q:.*]]: tensor<2x3x5x4xbf16>, %[[K:.*]]: tensor<2x3x7x4xbf16>, %[[V:.*]]: tensor<2x3x7x6xbf16>, %[[M:.*]]: tensor<2x3x5x7xbf16>, %[[B:.*]]: tensor<2x3x5x7xi1>)
dl.entry @attention(%q: tensor<2x3x5x4xbf16>, %k: tensor<2x3x7x4xbf16>, %v: tensor<2x3x7x6xbf16>,
    %m: tensor<2x3x5x7xbf16>, %b: tensor<2x3x5x7xi1>) attributes {kind = #program.entry<infer>} {
  // CHECK: %[[O:.*]], %[[LSE:.*]] = dl.attention %[[Q]], %[[K]], %[[V]] mask(%[[M]] : tensor<2x3x5x7xbf16>) kept(%[[B]] : tensor<2x3x5x7xi1>) scale = 5.000000e-01 rate = 2.500000e-01 causal : tensor<2x3x5x4xbf16>, tensor<2x3x7x4xbf16>, tensor<2x3x7x6xbf16>
  %o, %lse = dl.attention %q, %k, %v mask(%m : tensor<2x3x5x7xbf16>) kept(%b : tensor<2x3x5x7xi1>) scale = 0.5 rate = 0.25 causal : tensor<2x3x5x4xbf16>, tensor<2x3x7x4xbf16>, tensor<2x3x7x6xbf16>
  // CHECK: dl.attention_backward %[[O]], %[[Q]], %[[K]], %[[V]], %[[LSE]], %[[LSE]] mask(%[[B]] : tensor<2x3x5x7xi1>) scale = 5.000000e-01 : tensor<2x3x5x6xbf16>, tensor<2x3x5x4xbf16>, tensor<2x3x7x4xbf16>, tensor<2x3x7x6xbf16>, tensor<2x3x5xf32>
  %dq, %dk, %dv = dl.attention_backward %o, %q, %k, %v, %lse, %lse mask(%b : tensor<2x3x5x7xi1>) scale = 0.5 : tensor<2x3x5x6xbf16>, tensor<2x3x5x4xbf16>, tensor<2x3x7x4xbf16>, tensor<2x3x7x6xbf16>, tensor<2x3x5xf32>
  dl.return
}

// How the user wants it computed.
// CHECK-LABEL: dl.entry @wish
dl.entry @wish(%x: tensor<2x4x5x6xf32>, %w: tensor<6x4x2x3xf32>) -> tensor<2x6x4x4xf32> attributes {kind = #program.entry<infer>} {
  // CHECK: groups = 1 {wish = #dl.wish<forward = winograd, backward_filter = direct, workspace = 8388608>} :
  %y = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1
      {wish = #dl.wish<forward = winograd, backward_filter = direct, workspace = 8388608>} : tensor<2x4x5x6xf32>, tensor<6x4x2x3xf32>
  dl.return %y : tensor<2x6x4x4xf32>
}
