// RUN: dlc-opt "--dl-join=target=cpu:avx2 patterns=reductions" %s | FileCheck %s
// RUN: dlc-opt "--dl-join=target=cuda:simt patterns=reductions" %s | FileCheck %s --check-prefix=CUDA

#nchw16c = #program.layout<order = [0, 1, 2, 3], blocks = [1, 16]>

// Moments in f32 of what is stored in 16 bits join the convolution, and are of what it has rounded.
// CHECK: %[[ALL:.*]]:3 = dl.fused(%arg0, %arg1) {candidate = #program.candidate<generator = "cpu-convolution"
// CHECK: %[[C:.*]] = dl.convolution {{.*}} : tensor<2x32x16x16xbf16>, tensor<32x32x3x3xbf16>
// CHECK-NEXT: %[[STORED:.*]] = dl.convert_layout %[[C]]
// CHECK-NEXT: %[[SINGLE:.*]] = dl.cast %[[C]] : tensor<2x32x16x16xbf16> to tensor<2x32x16x16xf32>
// CHECK-NEXT: %[[MEAN:.*]], %[[M2:.*]] = dl.moments %[[SINGLE]] axes = [0, 2, 3]
// CHECK-NEXT: dl.yield %[[STORED]], %[[MEAN]], %[[M2]]
// CHECK: dl.return %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2
dl.entry @moments(%x: tensor<2x32x16x16xbf16, #nchw16c>, %w: tensor<32x32x3x3xbf16>)
    -> (tensor<2x32x16x16xbf16, #nchw16c>, tensor<32xf32>, tensor<32xf32>) attributes {kind = #program.entry<infer>} {
  %y = dl.fused(%x, %w) {candidate = #program.candidate<generator = "cpu-convolution", schedule = "convolution tile 1x4x2 channels 16 task 16x4x2", seconds = 1.0e-04 : f64, workspace = 8192>}
      : (tensor<2x32x16x16xbf16, #nchw16c>, tensor<32x32x3x3xbf16>) -> tensor<2x32x16x16xbf16, #nchw16c> {
  ^bb0(%0: tensor<2x32x16x16xbf16, #nchw16c>, %1: tensor<32x32x3x3xbf16>):
    %2 = dl.convert_layout %0 : tensor<2x32x16x16xbf16, #nchw16c> to tensor<2x32x16x16xbf16>
    %3 = dl.convolution %2, %1 strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<2x32x16x16xbf16>, tensor<32x32x3x3xbf16>
    %4 = dl.convert_layout %3 : tensor<2x32x16x16xbf16> to tensor<2x32x16x16xbf16, #nchw16c>
    dl.yield %4 : tensor<2x32x16x16xbf16, #nchw16c>
  }
  %m:2 = dl.fused(%y) {candidate = #program.candidate<generator = "cpu-reduce", schedule = "", seconds = 1.0e-04 : f64>}
      : (tensor<2x32x16x16xbf16, #nchw16c>) -> (tensor<32xf32>, tensor<32xf32>) {
  ^bb0(%0: tensor<2x32x16x16xbf16, #nchw16c>):
    %1 = dl.convert_layout %0 : tensor<2x32x16x16xbf16, #nchw16c> to tensor<2x32x16x16xbf16>
    %2 = dl.cast %1 : tensor<2x32x16x16xbf16> to tensor<2x32x16x16xf32>
    %mean, %m2 = dl.moments %2 axes = [0, 2, 3] : tensor<2x32x16x16xf32>
    dl.yield %mean, %m2 : tensor<32xf32>, tensor<32xf32>
  }
  dl.return %y, %m#0, %m#1 : tensor<2x32x16x16xbf16, #nchw16c>, tensor<32xf32>, tensor<32xf32>
}

// A GPU's are of what a thread has in registers, in f32 alone: these stay where they are.
// CUDA-LABEL: dl.entry @tile
// CUDA: %[[Y:.*]] = dl.fused(%arg0, %arg1) {candidate = #program.candidate<generator = "cuda-product"
// CUDA: %[[M:.*]]:2 = dl.fused(%[[Y]]) {candidate = #program.candidate<generator = "cuda-reduce"
// CUDA: dl.return %[[Y]], %[[M]]#0, %[[M]]#1
dl.entry @tile(%x: tensor<16x64x56x56xbf16>, %w: tensor<64x64x3x3xbf16>)
    -> (tensor<16x64x56x56xbf16>, tensor<64xf32>, tensor<64xf32>) attributes {kind = #program.entry<infer>} {
  %y = dl.fused(%x, %w) {candidate = #program.candidate<generator = "cuda-product", schedule = "tile 64x64x16 split 1", seconds = 1.0e-01 : f64>}
      : (tensor<16x64x56x56xbf16>, tensor<64x64x3x3xbf16>) -> tensor<16x64x56x56xbf16> {
  ^bb0(%0: tensor<16x64x56x56xbf16>, %1: tensor<64x64x3x3xbf16>):
    %2 = dl.convolution %0, %1 strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<16x64x56x56xbf16>, tensor<64x64x3x3xbf16>
    dl.yield %2 : tensor<16x64x56x56xbf16>
  }
  %m:2 = dl.fused(%y) {candidate = #program.candidate<generator = "cuda-reduce", schedule = "", seconds = 1.0e-03 : f64>}
      : (tensor<16x64x56x56xbf16>) -> (tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%0: tensor<16x64x56x56xbf16>):
    %1 = dl.cast %0 : tensor<16x64x56x56xbf16> to tensor<16x64x56x56xf32>
    %mean, %m2 = dl.moments %1 axes = [0, 2, 3] : tensor<16x64x56x56xf32>
    dl.yield %mean, %m2 : tensor<64xf32>, tensor<64xf32>
  }
  dl.return %y, %m#0, %m#1 : tensor<16x64x56x56xbf16>, tensor<64xf32>, tensor<64xf32>
}
