// RUN: dlc-opt "--dl-join=target=cpu:avx2 patterns=prologues" %s | FileCheck %s

#nchw16c = #program.layout<order = [0, 1, 2, 3], blocks = [1, 16]>

// Scale and ReLU join all that reads them: the convolution, its filter's gradient, and the mask behind its image's gradient. The
// image is stored nowhere, and conversions to and from its layout are gone.
// CHECK-LABEL: dl.entry @all
// CHECK: dl.fused(%arg0, %arg1, %arg2) {candidate = #program.candidate<generator = "cpu-winograd", schedule = "winograd {{.*}}"
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x32x14x14xf32, #nchw16c>, %[[S:.*]]: tensor<32xf32>, %[[W:.*]]: tensor<32x32x3x3xf32>):
// CHECK-NEXT: %[[PLAIN:.*]] = dl.convert_layout %[[X]]
// CHECK-NEXT: %[[B:.*]] = dl.broadcast %[[S]] dims = [1]
// CHECK-NEXT: %[[M:.*]] = dl.multiply %[[PLAIN]], %[[B]]
// CHECK-NEXT: %[[Y:.*]] = dl.relu %[[M]]
// CHECK-NEXT: dl.convolution %[[Y]], %[[W]]
// CHECK: dl.fused(%arg0, %arg1, %arg3)
// CHECK: %[[Y:.*]] = dl.relu
// CHECK: dl.convolution_backward_filter %[[Y]]
// CHECK: dl.fused(%arg0, %arg1, %arg3, %arg2)
// CHECK: %[[Y:.*]] = dl.relu
// CHECK: dl.compare gt %[[Y]]
// CHECK-NOT: dl.fused
// CHECK: dl.return
dl.entry @all(%x: tensor<2x32x14x14xf32, #nchw16c>, %s: tensor<32xf32>, %w: tensor<32x32x3x3xf32>, %dz: tensor<2x32x14x14xf32, #nchw16c>)
    -> (tensor<2x32x14x14xf32, #nchw16c>, tensor<32x32x3x3xf32>, tensor<2x32x14x14xf32, #nchw16c>) attributes {kind = #program.entry<infer>} {
  %y = dl.fused(%x, %s) {candidate = #program.candidate<generator = "cpu-map", schedule = "", seconds = 1.0e-03 : f64>}
      : (tensor<2x32x14x14xf32, #nchw16c>, tensor<32xf32>) -> tensor<2x32x14x14xf32, #nchw16c> {
  ^bb0(%0: tensor<2x32x14x14xf32, #nchw16c>, %1: tensor<32xf32>):
    %2 = dl.convert_layout %0 : tensor<2x32x14x14xf32, #nchw16c> to tensor<2x32x14x14xf32>
    %3 = dl.broadcast %1 dims = [1] : tensor<32xf32> to tensor<2x32x14x14xf32>
    %4 = dl.multiply %2, %3 : tensor<2x32x14x14xf32>
    %5 = dl.relu %4 : tensor<2x32x14x14xf32>
    %6 = dl.convert_layout %5 : tensor<2x32x14x14xf32> to tensor<2x32x14x14xf32, #nchw16c>
    dl.yield %6 : tensor<2x32x14x14xf32, #nchw16c>
  }
  %z = dl.fused(%y, %w) {candidate = #program.candidate<generator = "cpu-winograd", schedule = "", seconds = 1.0e-03 : f64>}
      : (tensor<2x32x14x14xf32, #nchw16c>, tensor<32x32x3x3xf32>) -> tensor<2x32x14x14xf32, #nchw16c> {
  ^bb0(%0: tensor<2x32x14x14xf32, #nchw16c>, %1: tensor<32x32x3x3xf32>):
    %2 = dl.convert_layout %0 : tensor<2x32x14x14xf32, #nchw16c> to tensor<2x32x14x14xf32>
    %3 = dl.convolution %2, %1 strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<2x32x14x14xf32>, tensor<32x32x3x3xf32>
    %4 = dl.convert_layout %3 : tensor<2x32x14x14xf32> to tensor<2x32x14x14xf32, #nchw16c>
    dl.yield %4 : tensor<2x32x14x14xf32, #nchw16c>
  }
  %dw = dl.fused(%y, %dz) {candidate = #program.candidate<generator = "cpu-winograd", schedule = "", seconds = 1.0e-03 : f64>}
      : (tensor<2x32x14x14xf32, #nchw16c>, tensor<2x32x14x14xf32, #nchw16c>) -> tensor<32x32x3x3xf32> {
  ^bb0(%0: tensor<2x32x14x14xf32, #nchw16c>, %1: tensor<2x32x14x14xf32, #nchw16c>):
    %2 = dl.convert_layout %0 : tensor<2x32x14x14xf32, #nchw16c> to tensor<2x32x14x14xf32>
    %3 = dl.convert_layout %1 : tensor<2x32x14x14xf32, #nchw16c> to tensor<2x32x14x14xf32>
    %4 = dl.convolution_backward_filter %2, %3 strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<2x32x14x14xf32>, tensor<2x32x14x14xf32> to tensor<32x32x3x3xf32>
    dl.yield %4 : tensor<32x32x3x3xf32>
  }
  %dx = dl.fused(%dz, %w, %y) {candidate = #program.candidate<generator = "cpu-winograd", schedule = "", seconds = 1.0e-03 : f64>}
      : (tensor<2x32x14x14xf32, #nchw16c>, tensor<32x32x3x3xf32>, tensor<2x32x14x14xf32, #nchw16c>) -> tensor<2x32x14x14xf32, #nchw16c> {
  ^bb0(%0: tensor<2x32x14x14xf32, #nchw16c>, %1: tensor<32x32x3x3xf32>, %2: tensor<2x32x14x14xf32, #nchw16c>):
    %3 = dl.convert_layout %0 : tensor<2x32x14x14xf32, #nchw16c> to tensor<2x32x14x14xf32>
    %4 = dl.convert_layout %2 : tensor<2x32x14x14xf32, #nchw16c> to tensor<2x32x14x14xf32>
    %5 = dl.convolution_backward_data %3, %1 strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<2x32x14x14xf32>, tensor<32x32x3x3xf32> to tensor<2x32x14x14xf32>
    %6 = dl.constant dense<0.0> : tensor<2x32x14x14xf32>
    %7 = dl.compare gt %4, %6 : tensor<2x32x14x14xf32>
    %8 = dl.select %7, %5, %6 : tensor<2x32x14x14xf32>
    %9 = dl.convert_layout %8 : tensor<2x32x14x14xf32> to tensor<2x32x14x14xf32, #nchw16c>
    dl.yield %9 : tensor<2x32x14x14xf32, #nchw16c>
  }
  dl.return %z, %dw, %dx : tensor<2x32x14x14xf32, #nchw16c>, tensor<32x32x3x3xf32>, tensor<2x32x14x14xf32, #nchw16c>
}

// An image that a convolution reads where it lies is copied by it then; it stays as it is where that takes longer.
// CHECK-LABEL: dl.entry @in_place
// CHECK: dl.fused({{.*}}) {candidate = #program.candidate<generator = "cpu-convolution", schedule = "convolution tile {{[^"]* task [0-9x]*}}"
// CHECK: dl.relu
// CHECK: dl.convolution
// CHECK: dl.fused({{.*}}) {candidate = #program.candidate<generator = "cpu-map"
// CHECK: dl.fused({{.*}}) {candidate = #program.candidate<generator = "cpu-convolution", schedule = "convolution tile {{[^"]*}} in place"
// CHECK: dl.return
dl.entry @in_place(%x: tensor<2x32x14x14xf32, #nchw16c>, %w: tensor<64x32x1x1xf32>)
    -> (tensor<2x64x14x14xf32, #nchw16c>, tensor<2x64x14x14xf32, #nchw16c>) attributes {kind = #program.entry<infer>} {
  %slow = dl.fused(%x) {candidate = #program.candidate<generator = "cpu-map", schedule = "", seconds = 1.0e-03 : f64>}
      : (tensor<2x32x14x14xf32, #nchw16c>) -> tensor<2x32x14x14xf32, #nchw16c> {
  ^bb0(%0: tensor<2x32x14x14xf32, #nchw16c>):
    %1 = dl.relu %0 : tensor<2x32x14x14xf32, #nchw16c>
    dl.yield %1 : tensor<2x32x14x14xf32, #nchw16c>
  }
  %a = dl.fused(%slow, %w) {candidate = #program.candidate<generator = "cpu-convolution", schedule = "convolution tile 1x6x2 channels 32 task 1x33x4 in place", seconds = 2.0e-05 : f64, workspace = 8192>}
      : (tensor<2x32x14x14xf32, #nchw16c>, tensor<64x32x1x1xf32>) -> tensor<2x64x14x14xf32, #nchw16c> {
  ^bb0(%0: tensor<2x32x14x14xf32, #nchw16c>, %1: tensor<64x32x1x1xf32>):
    %2 = dl.convert_layout %0 : tensor<2x32x14x14xf32, #nchw16c> to tensor<2x32x14x14xf32>
    %3 = dl.convolution %2, %1 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<2x32x14x14xf32>, tensor<64x32x1x1xf32>
    %4 = dl.convert_layout %3 : tensor<2x64x14x14xf32> to tensor<2x64x14x14xf32, #nchw16c>
    dl.yield %4 : tensor<2x64x14x14xf32, #nchw16c>
  }
  %fast = dl.fused(%x) {candidate = #program.candidate<generator = "cpu-map", schedule = "", seconds = 1.0e-09 : f64>}
      : (tensor<2x32x14x14xf32, #nchw16c>) -> tensor<2x32x14x14xf32, #nchw16c> {
  ^bb0(%0: tensor<2x32x14x14xf32, #nchw16c>):
    %1 = dl.relu %0 : tensor<2x32x14x14xf32, #nchw16c>
    dl.yield %1 : tensor<2x32x14x14xf32, #nchw16c>
  }
  %b = dl.fused(%fast, %w) {candidate = #program.candidate<generator = "cpu-convolution", schedule = "convolution tile 1x6x2 channels 32 task 1x33x4 in place", seconds = 2.0e-05 : f64, workspace = 8192>}
      : (tensor<2x32x14x14xf32, #nchw16c>, tensor<64x32x1x1xf32>) -> tensor<2x64x14x14xf32, #nchw16c> {
  ^bb0(%0: tensor<2x32x14x14xf32, #nchw16c>, %1: tensor<64x32x1x1xf32>):
    %2 = dl.convert_layout %0 : tensor<2x32x14x14xf32, #nchw16c> to tensor<2x32x14x14xf32>
    %3 = dl.convolution %2, %1 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<2x32x14x14xf32>, tensor<64x32x1x1xf32>
    %4 = dl.convert_layout %3 : tensor<2x64x14x14xf32> to tensor<2x64x14x14xf32, #nchw16c>
    dl.yield %4 : tensor<2x64x14x14xf32, #nchw16c>
  }
  dl.return %a, %b : tensor<2x64x14x14xf32, #nchw16c>, tensor<2x64x14x14xf32, #nchw16c>
}

// What stays apart: an image that is a result too, one of two images, and one that no convolution reads.
// CHECK-LABEL: dl.entry @apart
// CHECK-COUNT-6: dl.fused
// CHECK: dl.return
dl.entry @apart(%x: tensor<2x32x14x14xf32>, %other: tensor<2x32x14x14xf32>, %w: tensor<32x32x3x3xf32>)
    -> (tensor<2x32x14x14xf32>, tensor<2x32x14x14xf32>, tensor<2x32x14x14xf32>, tensor<32xf32>) attributes {kind = #program.entry<infer>} {
  %result = dl.fused(%x) {candidate = #program.candidate<generator = "cpu-map", schedule = "", seconds = 1.0e-03 : f64>} : (tensor<2x32x14x14xf32>) -> tensor<2x32x14x14xf32> {
  ^bb0(%0: tensor<2x32x14x14xf32>):
    %1 = dl.relu %0 : tensor<2x32x14x14xf32>
    dl.yield %1 : tensor<2x32x14x14xf32>
  }
  %a = dl.fused(%result, %w) {candidate = #program.candidate<generator = "cpu-winograd", schedule = "", seconds = 1.0e-03 : f64>} : (tensor<2x32x14x14xf32>, tensor<32x32x3x3xf32>) -> tensor<2x32x14x14xf32> {
  ^bb0(%0: tensor<2x32x14x14xf32>, %1: tensor<32x32x3x3xf32>):
    %2 = dl.convolution %0, %1 strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<2x32x14x14xf32>, tensor<32x32x3x3xf32>
    dl.yield %2 : tensor<2x32x14x14xf32>
  }
  %sum = dl.fused(%x, %other) {candidate = #program.candidate<generator = "cpu-map", schedule = "", seconds = 1.0e-03 : f64>} : (tensor<2x32x14x14xf32>, tensor<2x32x14x14xf32>) -> tensor<2x32x14x14xf32> {
  ^bb0(%0: tensor<2x32x14x14xf32>, %1: tensor<2x32x14x14xf32>):
    %2 = dl.add %0, %1 : tensor<2x32x14x14xf32>
    dl.yield %2 : tensor<2x32x14x14xf32>
  }
  %b = dl.fused(%sum, %w) {candidate = #program.candidate<generator = "cpu-winograd", schedule = "", seconds = 1.0e-03 : f64>} : (tensor<2x32x14x14xf32>, tensor<32x32x3x3xf32>) -> tensor<2x32x14x14xf32> {
  ^bb0(%0: tensor<2x32x14x14xf32>, %1: tensor<32x32x3x3xf32>):
    %2 = dl.convolution %0, %1 strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<2x32x14x14xf32>, tensor<32x32x3x3xf32>
    dl.yield %2 : tensor<2x32x14x14xf32>
  }
  %read = dl.fused(%x) {candidate = #program.candidate<generator = "cpu-map", schedule = "", seconds = 1.0e-03 : f64>} : (tensor<2x32x14x14xf32>) -> tensor<2x32x14x14xf32> {
  ^bb0(%0: tensor<2x32x14x14xf32>):
    %1 = dl.relu %0 : tensor<2x32x14x14xf32>
    dl.yield %1 : tensor<2x32x14x14xf32>
  }
  %c = dl.fused(%read) {candidate = #program.candidate<generator = "cpu-reduce", schedule = "", seconds = 1.0e-03 : f64>} : (tensor<2x32x14x14xf32>) -> tensor<32xf32> {
  ^bb0(%0: tensor<2x32x14x14xf32>):
    %1 = dl.reduce sum %0 axes = [0, 2, 3] : tensor<2x32x14x14xf32>
    dl.yield %1 : tensor<32xf32>
  }
  dl.return %result, %a, %b, %c : tensor<2x32x14x14xf32>, tensor<2x32x14x14xf32>, tensor<2x32x14x14xf32>, tensor<32xf32>
}
