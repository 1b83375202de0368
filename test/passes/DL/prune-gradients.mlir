// RUN: dlc-opt --dl-prune-gradients %s | FileCheck %s
// RUN: dlc-opt --dl-prune-gradients=keep-input-gradients %s | FileCheck %s --check-prefix=KEEP

// The input's gradient goes, with the convolution that computed it; the parameter's stays.
// CHECK-LABEL: dl.entry @first_layer
// CHECK-NOT: gradient.x
// CHECK-NOT: dl.convolution_backward_data
// CHECK: %[[DW:.*]] = dl.convolution_backward_filter
// CHECK-NEXT: dl.return %[[DW]] :
// KEEP-LABEL: dl.entry @first_layer
// KEEP-SAME: dl.name = "gradient.x"
// KEEP: %[[DX:.*]] = dl.convolution_backward_data
// KEEP: %[[DW:.*]] = dl.convolution_backward_filter
// KEEP: dl.return %[[DW]], %[[DX]]
dl.variable @conv1.weight : tensor<2x1x3x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @first_layer(%x: tensor<1x1x6x6xf32> {dl.name = "x"}, %dy: tensor<1x2x4x4xf32>)
    -> (tensor<2x1x3x3xf32> {dl.name = "gradient.conv1.weight", dl.kind = #program.value<gradient>, dl.of = @conv1.weight},
        tensor<1x1x6x6xf32> {dl.name = "gradient.x", dl.kind = #program.value<gradient>}) attributes {kind = #program.entry<train>} {
  %w = dl.read @conv1.weight : tensor<2x1x3x3xf32>
  %dx = dl.convolution_backward_data %dy, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x2x4x4xf32>, tensor<2x1x3x3xf32> to tensor<1x1x6x6xf32>
  %dw = dl.convolution_backward_filter %x, %dy strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x1x6x6xf32>, tensor<1x2x4x4xf32> to tensor<2x1x3x3xf32>
  dl.return %dw, %dx : tensor<2x1x3x3xf32>, tensor<1x1x6x6xf32>
}

// An index that nothing reads is not written; one that backward reads stays.
// CHECK-LABEL: dl.entry @index
// CHECK: dl.max_pool {{.*}} -> tensor<1x1x2x2xf32>{{$}}
// CHECK: dl.max_pool {{.*}} -> tensor<1x1x2x2xf32>, tensor<1x1x2x2xui8>
dl.entry @index(%x: tensor<1x1x4x4xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xui8>) attributes {kind = #program.entry<infer>} {
  %y, %unused = dl.max_pool %x kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x1x4x4xf32> -> tensor<1x1x2x2xf32>, tensor<1x1x2x2xui8>
  %z, %used = dl.max_pool %x kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x1x4x4xf32> -> tensor<1x1x2x2xf32>, tensor<1x1x2x2xui8>
  dl.return %y, %used : tensor<1x1x2x2xf32>, tensor<1x1x2x2xui8>
}
