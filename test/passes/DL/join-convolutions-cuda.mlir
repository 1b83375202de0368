// RUN: dlc-opt --dl-choose=target=cuda:simt "--dl-join=target=cuda:simt patterns=reductions" "--dl-join=target=cuda:simt patterns=prologues" %s | FileCheck %s

// Transforms compute the image that they read, forward and for the filter's gradient, and the mask behind the image's gradient is
// computed too: the image is stored nowhere. Moments stand behind the transform of the result. The code stays what dl-choose has taken.
// CHECK-LABEL: dl.entry @winograd
// CHECK: dl.fused(%arg0, %arg1, %arg2) {candidate = #program.candidate<generator = "cuda-winograd", schedule = "winograd tile 4x4, product cuBLASLt", seconds = {{.*}}, workspace = {{[0-9]+}}>, second_best = {{.*}}>} : (tensor<16x64x56x56xf32>, tensor<64xf32>, tensor<64x64x3x3xf32>) -> (tensor<16x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>) {
// CHECK: %[[Y:.*]] = dl.relu
// CHECK-NEXT: %[[Z:.*]] = dl.convolution %[[Y]]
// CHECK-NEXT: %[[MEAN:.*]], %[[M2:.*]] = dl.moments %[[Z]] axes = [0, 2, 3]
// CHECK-NEXT: dl.yield %[[Z]], %[[MEAN]], %[[M2]]
// CHECK: dl.fused(%arg0, %arg1, %arg3) {candidate = #program.candidate<generator = "cuda-winograd"
// CHECK: %[[Y:.*]] = dl.relu
// CHECK-NEXT: dl.convolution_backward_filter %[[Y]]
// CHECK: dl.fused(%arg0, %arg1, %arg3, %arg2) {candidate = #program.candidate<generator = "cuda-winograd"
// CHECK: %[[Y:.*]] = dl.relu
// CHECK: dl.compare gt %[[Y]]
// CHECK-NOT: dl.fused
// CHECK: dl.return
dl.entry @winograd(%x: tensor<16x64x56x56xf32>, %s: tensor<64xf32>, %w: tensor<64x64x3x3xf32>, %dz: tensor<16x64x56x56xf32>)
    -> (tensor<16x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64x3x3xf32>, tensor<16x64x56x56xf32>) attributes {kind = #program.entry<infer>} {
  %y = dl.fused(%x, %s) : (tensor<16x64x56x56xf32>, tensor<64xf32>) -> tensor<16x64x56x56xf32> {
  ^bb0(%0: tensor<16x64x56x56xf32>, %1: tensor<64xf32>):
    %2 = dl.broadcast %1 dims = [1] : tensor<64xf32> to tensor<16x64x56x56xf32>
    %3 = dl.multiply %0, %2 : tensor<16x64x56x56xf32>
    %4 = dl.relu %3 : tensor<16x64x56x56xf32>
    dl.yield %4 : tensor<16x64x56x56xf32>
  }
  %z = dl.fused(%y, %w) : (tensor<16x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<16x64x56x56xf32> {
  ^bb0(%0: tensor<16x64x56x56xf32>, %1: tensor<64x64x3x3xf32>):
    %2 = dl.convolution %0, %1 strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 {wish = #dl.wish<forward = winograd>} : tensor<16x64x56x56xf32>, tensor<64x64x3x3xf32>
    dl.yield %2 : tensor<16x64x56x56xf32>
  }
  %mean, %m2 = dl.fused(%z) : (tensor<16x64x56x56xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%0: tensor<16x64x56x56xf32>):
    %1, %2 = dl.moments %0 axes = [0, 2, 3] : tensor<16x64x56x56xf32>
    dl.yield %1, %2 : tensor<64xf32>, tensor<64xf32>
  }
  %dw = dl.fused(%y, %dz) : (tensor<16x64x56x56xf32>, tensor<16x64x56x56xf32>) -> tensor<64x64x3x3xf32> {
  ^bb0(%0: tensor<16x64x56x56xf32>, %1: tensor<16x64x56x56xf32>):
    %2 = dl.convolution_backward_filter %0, %1 strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 {wish = #dl.wish<backward_filter = winograd>} : tensor<16x64x56x56xf32>, tensor<16x64x56x56xf32> to tensor<64x64x3x3xf32>
    dl.yield %2 : tensor<64x64x3x3xf32>
  }
  %dx = dl.fused(%dz, %w, %y) : (tensor<16x64x56x56xf32>, tensor<64x64x3x3xf32>, tensor<16x64x56x56xf32>) -> tensor<16x64x56x56xf32> {
  ^bb0(%0: tensor<16x64x56x56xf32>, %1: tensor<64x64x3x3xf32>, %2: tensor<16x64x56x56xf32>):
    %3 = dl.convolution_backward_data %0, %1 strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 {wish = #dl.wish<backward_data = winograd>} : tensor<16x64x56x56xf32>, tensor<64x64x3x3xf32> to tensor<16x64x56x56xf32>
    %4 = dl.constant dense<0.0> : tensor<16x64x56x56xf32>
    %5 = dl.compare gt %2, %4 : tensor<16x64x56x56xf32>
    %6 = dl.select %5, %3, %4 : tensor<16x64x56x56xf32>
    dl.yield %6 : tensor<16x64x56x56xf32>
  }
  dl.return %z, %mean, %m2, %dw, %dx : tensor<16x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64x3x3xf32>, tensor<16x64x56x56xf32>
}

// A call of cuDNN reads and writes what is stored: a launch in front of it would take as long as the image's kernel.
// CHECK-LABEL: dl.entry @library
// CHECK: dl.fused(%arg0) {candidate = #program.candidate<generator = "cuda-map"
// CHECK: dl.fused({{.*}}) {candidate = #program.candidate<generator = "library"
// CHECK: dl.fused({{.*}}) {candidate = #program.candidate<generator = "cuda-reduce"
// CHECK: dl.return
dl.entry @library(%x: tensor<16x64x56x56xf32>, %w: tensor<64x32x3x3xf32>)
    -> (tensor<16x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>) attributes {kind = #program.entry<infer>} {
  %y = dl.fused(%x) : (tensor<16x64x56x56xf32>) -> tensor<16x64x56x56xf32> {
  ^bb0(%0: tensor<16x64x56x56xf32>):
    %1 = dl.relu %0 : tensor<16x64x56x56xf32>
    dl.yield %1 : tensor<16x64x56x56xf32>
  }
  %z = dl.fused(%y, %w) : (tensor<16x64x56x56xf32>, tensor<64x32x3x3xf32>) -> tensor<16x64x56x56xf32> {
  ^bb0(%0: tensor<16x64x56x56xf32>, %1: tensor<64x32x3x3xf32>):
    %2 = dl.convolution %0, %1 strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 2 : tensor<16x64x56x56xf32>, tensor<64x32x3x3xf32>
    dl.yield %2 : tensor<16x64x56x56xf32>
  }
  %mean, %m2 = dl.fused(%z) : (tensor<16x64x56x56xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%0: tensor<16x64x56x56xf32>):
    %1, %2 = dl.moments %0 axes = [0, 2, 3] : tensor<16x64x56x56xf32>
    dl.yield %1, %2 : tensor<64xf32>, tensor<64xf32>
  }
  dl.return %z, %mean, %m2 : tensor<16x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>
}
