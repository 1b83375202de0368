// RUN: dlc-opt "--dl-join=target=cpu:avx2 patterns=reductions" %s | FileCheck %s

#nchw16c = #program.layout<order = [0, 1, 2, 3], blocks = [1, 16]>

// Moments, and what is computed of them for each channel, join the convolution that makes what they reduce; its code stays. The
// convolution now runs where the moments did, behind what they read.
// CHECK-LABEL: dl.entry @moments
// CHECK: %[[SCALE:.*]] = dl.fused(%{{.*}}) {{.*}} : (tensor<64xf32>) -> tensor<64xf32>
// CHECK: %[[ALL:.*]]:3 = dl.fused(%arg0, %arg1, %[[SCALE]]) {candidate = #program.candidate<generator = "cpu-convolution", schedule = "convolution tile 1x6x2 channels 32 task 1x33x4 in place", seconds = {{.*}}, workspace = {{[0-9]+}}>} : (tensor<2x32x14x14xf32, #nchw16c>, tensor<64x32x1x1xf32>, tensor<64xf32>) -> (tensor<2x64x14x14xf32, #nchw16c>, tensor<64xf32>, tensor<64xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x32x14x14xf32, #nchw16c>, %[[W:.*]]: tensor<64x32x1x1xf32>, %[[S:.*]]: tensor<64xf32>):
// CHECK-NEXT: %[[PLAIN:.*]] = dl.convert_layout %[[X]]
// CHECK-NEXT: %[[C:.*]] = dl.convolution %[[PLAIN]], %[[W]]
// CHECK-NEXT: %[[STORED:.*]] = dl.convert_layout %[[C]]
// CHECK-NEXT: %[[MEAN:.*]], %[[M2:.*]] = dl.moments %[[C]] axes = [0, 2, 3]
// CHECK-NEXT: %[[SCALED:.*]] = dl.multiply %[[M2]], %[[S]]
// CHECK-NEXT: dl.yield %[[STORED]], %[[MEAN]], %[[SCALED]]
// CHECK: dl.return %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2
dl.entry @moments(%x: tensor<2x32x14x14xf32, #nchw16c>, %w: tensor<64x32x1x1xf32>, %g: tensor<64xf32>)
    -> (tensor<2x64x14x14xf32, #nchw16c>, tensor<64xf32>, tensor<64xf32>) attributes {kind = #program.entry<infer>} {
  %y = dl.fused(%x, %w) {candidate = #program.candidate<generator = "cpu-convolution", schedule = "convolution tile 1x6x2 channels 32 task 1x33x4 in place", seconds = 2.4e-05 : f64, workspace = 8192>}
      : (tensor<2x32x14x14xf32, #nchw16c>, tensor<64x32x1x1xf32>) -> tensor<2x64x14x14xf32, #nchw16c> {
  ^bb0(%0: tensor<2x32x14x14xf32, #nchw16c>, %1: tensor<64x32x1x1xf32>):
    %2 = dl.convert_layout %0 : tensor<2x32x14x14xf32, #nchw16c> to tensor<2x32x14x14xf32>
    %3 = dl.convolution %2, %1 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<2x32x14x14xf32>, tensor<64x32x1x1xf32>
    %4 = dl.convert_layout %3 : tensor<2x64x14x14xf32> to tensor<2x64x14x14xf32, #nchw16c>
    dl.yield %4 : tensor<2x64x14x14xf32, #nchw16c>
  }
  %s = dl.fused(%g) {candidate = #program.candidate<generator = "cpu-map", schedule = "", seconds = 1.0e-09 : f64>} : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%0: tensor<64xf32>):
    %1 = dl.exp %0 : tensor<64xf32>
    dl.yield %1 : tensor<64xf32>
  }
  %m:2 = dl.fused(%y, %s) {candidate = #program.candidate<generator = "cpu-reduce", schedule = "", seconds = 1.0e-05 : f64>}
      : (tensor<2x64x14x14xf32, #nchw16c>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%0: tensor<2x64x14x14xf32, #nchw16c>, %1: tensor<64xf32>):
    %2 = dl.convert_layout %0 : tensor<2x64x14x14xf32, #nchw16c> to tensor<2x64x14x14xf32>
    %mean, %m2 = dl.moments %2 axes = [0, 2, 3] : tensor<2x64x14x14xf32>
    %3 = dl.multiply %m2, %1 : tensor<64xf32>
    dl.yield %mean, %3 : tensor<64xf32>, tensor<64xf32>
  }
  dl.return %y, %m#0, %m#1 : tensor<2x64x14x14xf32, #nchw16c>, tensor<64xf32>, tensor<64xf32>
}

// The gradient of a bias joins the kernel that computes and masks what it sums.
// CHECK-LABEL: dl.entry @bias
// CHECK: dl.fused({{.*}}) {candidate = #program.candidate<generator = "cpu-convolution",
// CHECK: dl.convolution_backward_data
// CHECK: %[[MASKED:.*]] = dl.select
// CHECK-NEXT: dl.convert_layout %[[MASKED]]
// CHECK-NEXT: dl.reduce sum %[[MASKED]] axes = [0, 2, 3]
// CHECK-NOT: dl.fused
// CHECK: dl.return
dl.entry @bias(%dy: tensor<2x64x14x14xf32, #nchw16c>, %w: tensor<64x32x1x1xf32>, %y: tensor<2x32x14x14xf32, #nchw16c>)
    -> (tensor<2x32x14x14xf32, #nchw16c>, tensor<32xf32>) attributes {kind = #program.entry<infer>} {
  %dx = dl.fused(%dy, %w, %y) {candidate = #program.candidate<generator = "cpu-convolution", schedule = "convolution tile 1x6x2 channels 64 task 1x33x2 in place", seconds = 2.4e-05 : f64, workspace = 8192>}
      : (tensor<2x64x14x14xf32, #nchw16c>, tensor<64x32x1x1xf32>, tensor<2x32x14x14xf32, #nchw16c>) -> tensor<2x32x14x14xf32, #nchw16c> {
  ^bb0(%0: tensor<2x64x14x14xf32, #nchw16c>, %1: tensor<64x32x1x1xf32>, %2: tensor<2x32x14x14xf32, #nchw16c>):
    %3 = dl.convert_layout %0 : tensor<2x64x14x14xf32, #nchw16c> to tensor<2x64x14x14xf32>
    %4 = dl.convert_layout %2 : tensor<2x32x14x14xf32, #nchw16c> to tensor<2x32x14x14xf32>
    %5 = dl.convolution_backward_data %3, %1 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<2x64x14x14xf32>, tensor<64x32x1x1xf32> to tensor<2x32x14x14xf32>
    %6 = dl.constant dense<0.0> : tensor<2x32x14x14xf32>
    %7 = dl.compare gt %4, %6 : tensor<2x32x14x14xf32>
    %8 = dl.select %7, %5, %6 : tensor<2x32x14x14xf32>
    %9 = dl.convert_layout %8 : tensor<2x32x14x14xf32> to tensor<2x32x14x14xf32, #nchw16c>
    dl.yield %9 : tensor<2x32x14x14xf32, #nchw16c>
  }
  %db = dl.fused(%dx) {candidate = #program.candidate<generator = "cpu-reduce", schedule = "", seconds = 1.0e-05 : f64>} : (tensor<2x32x14x14xf32, #nchw16c>) -> tensor<32xf32> {
  ^bb0(%0: tensor<2x32x14x14xf32, #nchw16c>):
    %1 = dl.convert_layout %0 : tensor<2x32x14x14xf32, #nchw16c> to tensor<2x32x14x14xf32>
    %2 = dl.reduce sum %1 axes = [0, 2, 3] : tensor<2x32x14x14xf32>
    dl.yield %2 : tensor<32xf32>
  }
  dl.return %dx, %db : tensor<2x32x14x14xf32, #nchw16c>, tensor<32xf32>
}

// What stays apart: sums of another image too, sums for each image, sums that also need what is computed of the convolution's
// result elsewhere, and whatever would take longer.
// CHECK-LABEL: dl.entry @apart
// CHECK-COUNT-6: dl.fused
// CHECK: dl.return
dl.entry @apart(%x: tensor<2x32x14x14xf32, #nchw16c>, %w: tensor<64x32x1x1xf32>, %other: tensor<2x64x14x14xf32, #nchw16c>)
    -> (tensor<64xf32>, tensor<2x64xf32>, tensor<64xf32>, tensor<64xf32>) attributes {kind = #program.entry<infer>} {
  %y = dl.fused(%x, %w) {candidate = #program.candidate<generator = "cpu-convolution", schedule = "convolution tile 1x6x2 channels 32 task 1x33x4 in place", seconds = 2.4e-05 : f64, workspace = 8192>}
      : (tensor<2x32x14x14xf32, #nchw16c>, tensor<64x32x1x1xf32>) -> tensor<2x64x14x14xf32, #nchw16c> {
  ^bb0(%0: tensor<2x32x14x14xf32, #nchw16c>, %1: tensor<64x32x1x1xf32>):
    %2 = dl.convert_layout %0 : tensor<2x32x14x14xf32, #nchw16c> to tensor<2x32x14x14xf32>
    %3 = dl.convolution %2, %1 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<2x32x14x14xf32>, tensor<64x32x1x1xf32>
    %4 = dl.convert_layout %3 : tensor<2x64x14x14xf32> to tensor<2x64x14x14xf32, #nchw16c>
    dl.yield %4 : tensor<2x64x14x14xf32, #nchw16c>
  }
  %a = dl.fused(%y, %other) {candidate = #program.candidate<generator = "cpu-reduce", schedule = "", seconds = 1.0e-05 : f64>}
      : (tensor<2x64x14x14xf32, #nchw16c>, tensor<2x64x14x14xf32, #nchw16c>) -> tensor<64xf32> {
  ^bb0(%0: tensor<2x64x14x14xf32, #nchw16c>, %1: tensor<2x64x14x14xf32, #nchw16c>):
    %2 = dl.convert_layout %0 : tensor<2x64x14x14xf32, #nchw16c> to tensor<2x64x14x14xf32>
    %3 = dl.convert_layout %1 : tensor<2x64x14x14xf32, #nchw16c> to tensor<2x64x14x14xf32>
    %4 = dl.multiply %2, %3 : tensor<2x64x14x14xf32>
    %5 = dl.reduce sum %4 axes = [0, 2, 3] : tensor<2x64x14x14xf32>
    dl.yield %5 : tensor<64xf32>
  }
  %b = dl.fused(%y) {candidate = #program.candidate<generator = "cpu-reduce", schedule = "", seconds = 1.0e-05 : f64>} : (tensor<2x64x14x14xf32, #nchw16c>) -> tensor<2x64xf32> {
  ^bb0(%0: tensor<2x64x14x14xf32, #nchw16c>):
    %1 = dl.convert_layout %0 : tensor<2x64x14x14xf32, #nchw16c> to tensor<2x64x14x14xf32>
    %2 = dl.reduce sum %1 axes = [2, 3] : tensor<2x64x14x14xf32>
    dl.yield %2 : tensor<2x64xf32>
  }
  %s = dl.fused(%b) {candidate = #program.candidate<generator = "cpu-reduce", schedule = "", seconds = 1.0e-05 : f64>} : (tensor<2x64xf32>) -> tensor<64xf32> {
  ^bb0(%0: tensor<2x64xf32>):
    %1 = dl.reduce sum %0 axes = [0] : tensor<2x64xf32>
    dl.yield %1 : tensor<64xf32>
  }
  %c = dl.fused(%y, %s) {candidate = #program.candidate<generator = "cpu-reduce", schedule = "", seconds = 1.0e-05 : f64>} : (tensor<2x64x14x14xf32, #nchw16c>, tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%0: tensor<2x64x14x14xf32, #nchw16c>, %1: tensor<64xf32>):
    %2 = dl.convert_layout %0 : tensor<2x64x14x14xf32, #nchw16c> to tensor<2x64x14x14xf32>
    %3 = dl.broadcast %1 dims = [1] : tensor<64xf32> to tensor<2x64x14x14xf32>
    %4 = dl.subtract %2, %3 : tensor<2x64x14x14xf32>
    %5 = dl.reduce sum %4 axes = [0, 2, 3] : tensor<2x64x14x14xf32>
    dl.yield %5 : tensor<64xf32>
  }
  %d = dl.fused(%y) {candidate = #program.candidate<generator = "cpu-reduce", schedule = "", seconds = 1.0e-12 : f64>} : (tensor<2x64x14x14xf32, #nchw16c>) -> tensor<64xf32> {
  ^bb0(%0: tensor<2x64x14x14xf32, #nchw16c>):
    %1 = dl.convert_layout %0 : tensor<2x64x14x14xf32, #nchw16c> to tensor<2x64x14x14xf32>
    %2 = dl.reduce sum %1 axes = [0, 2, 3] : tensor<2x64x14x14xf32>
    dl.yield %2 : tensor<64xf32>
  }
  dl.return %a, %b, %c, %d : tensor<64xf32>, tensor<2x64xf32>, tensor<64xf32>, tensor<64xf32>
}

// A sum over all that a product gives, and the loss that it makes, join the product.
// CHECK-LABEL: dl.entry @loss
// CHECK: %[[ALL:.*]]:2 = dl.fused(%{{.*}}) {candidate = #program.candidate<generator = "cpu-gemm", schedule = "gemm 6x2 depth 56 block 11x7 task 11x7 splits 1", {{.*}}} : (tensor<64x50xf32>, tensor<100x50xf32>, tensor<64x100xf32>) -> (tensor<64x100xf32>, tensor<f32>)
// CHECK: %[[C:.*]] = dl.matmul
// CHECK: %[[D:.*]] = dl.subtract %[[C]]
// CHECK: %[[Q:.*]] = dl.multiply %[[D]], %[[D]]
// CHECK: dl.reduce sum %[[Q]]
// CHECK: dl.return %[[ALL]]#0, %[[ALL]]#1
// APART-LABEL: dl.entry @loss
// APART-COUNT-2: dl.fused
dl.entry @loss(%x: tensor<64x50xf32>, %w: tensor<100x50xf32>, %t: tensor<64x100xf32>) -> (tensor<64x100xf32>, tensor<f32>) attributes {kind = #program.entry<infer>} {
  %d = dl.fused(%x, %w, %t) {candidate = #program.candidate<generator = "cpu-gemm", schedule = "gemm 6x2 depth 56 block 11x7 task 11x7 splits 1", seconds = 1.0e-05 : f64>} : (tensor<64x50xf32>, tensor<100x50xf32>, tensor<64x100xf32>) -> tensor<64x100xf32> {
  ^bb0(%0: tensor<64x50xf32>, %1: tensor<100x50xf32>, %2: tensor<64x100xf32>):
    %3 = dl.matmul %0, %1 transpose_b : tensor<64x50xf32>, tensor<100x50xf32>
    %4 = dl.subtract %3, %2 : tensor<64x100xf32>
    dl.yield %4 : tensor<64x100xf32>
  }
  %l = dl.fused(%d) {candidate = #program.candidate<generator = "cpu-reduce", schedule = "", seconds = 1.0e-05 : f64>} : (tensor<64x100xf32>) -> tensor<f32> {
  ^bb0(%0: tensor<64x100xf32>):
    %1 = dl.multiply %0, %0 : tensor<64x100xf32>
    %2 = dl.reduce sum %1 axes = [0, 1] : tensor<64x100xf32>
    %3 = dl.constant dense<0.01> : tensor<f32>
    %4 = dl.multiply %2, %3 : tensor<f32>
    dl.yield %4 : tensor<f32>
  }
  dl.return %d, %l : tensor<64x100xf32>, tensor<f32>
}
