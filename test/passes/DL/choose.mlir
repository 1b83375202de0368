// RUN: dlc-opt --dl-choose="target=cuda:simt" %s | FileCheck %s

#nhwc = #program.layout<order = [0, 2, 3, 1]>

// Weight, momentum and gradient lie alike, in all entries. A bias and what no convolution meets stay as they are.
// CHECK: #nhwc = #program.layout<order = [0, 2, 3, 1]>
// CHECK: dl.variable @w : tensor<8x2x3x3xf32, #nhwc> role<parameter>
// CHECK: dl.variable @w.momentum : tensor<8x2x3x3xf32, #nhwc> role<slot>
// CHECK: dl.variable @b : tensor<8xf32> role
// CHECK: dl.variable @other : tensor<2x8x4x4xf32> role
dl.variable @w : tensor<8x2x3x3xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @w.momentum : tensor<8x2x3x3xf32> role<slot> of(@w) init(#program.init<constant, 0.0, 0.0>)
dl.variable @b : tensor<8xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @other : tensor<2x8x4x4xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)

// The input is row-major, and so is what is reshaped; between, the chain of convolution, pooling and ReLU lies with its channels
// innermost, the byte of max_pool too. Regions convert at their borders.
// CHECK-LABEL: dl.entry @train_step
// CHECK-SAME: %[[X:.*]]: tensor<2x4x10x10xf32>, %[[DY:.*]]: tensor<2x8x8x8xf32>
// CHECK-SAME: -> (tensor<2x32xf32>, tensor<8x2x3x3xf32, #nhwc> {{{.*}}dl.name = "gradient.w"
// CHECK: %[[W:.*]] = dl.read @w : tensor<8x2x3x3xf32, #nhwc>
// What is chosen stands on the region, and what would have been second.
// CHECK: %[[C:.*]] = dl.fused(%[[X]], %[[W]], %{{.*}}) {candidate = #program.candidate<generator = "library", schedule = "cuDNN + bias, TF32", seconds = {{[^>]*}}>, second_best = #program.candidate<generator = "{{.*}}", {{[^>]*}}>} : (tensor<2x4x10x10xf32>, tensor<8x2x3x3xf32, #nhwc>, tensor<8xf32>) -> tensor<2x8x8x8xf32, #nhwc>
// CHECK-NEXT: ^bb0(%[[X0:.*]]: tensor<2x4x10x10xf32>, %[[W0:.*]]: tensor<8x2x3x3xf32, #nhwc>,
// CHECK-NEXT: %[[WL:.*]] = dl.convert_layout %[[W0]] : tensor<8x2x3x3xf32, #nhwc> to tensor<8x2x3x3xf32>
// CHECK-NEXT: dl.convolution %[[X0]], %[[WL]] {{.*}} : tensor<2x4x10x10xf32>, tensor<8x2x3x3xf32>
// CHECK: %[[CL:.*]] = dl.convert_layout %{{.*}} : tensor<2x8x8x8xf32> to tensor<2x8x8x8xf32, #nhwc>
// CHECK-NEXT: dl.yield %[[CL]] : tensor<2x8x8x8xf32, #nhwc>
// CHECK: dl.fused(%[[C]]) {{{.*}}} : (tensor<2x8x8x8xf32, #nhwc>) -> (tensor<2x8x4x4xf32, #nhwc>, tensor<2x8x4x4xui8, #nhwc>)
// CHECK: dl.fused({{.*}}) {{{.*}}} : (tensor<2x8x4x4xf32, #nhwc>) -> tensor<2x8x2x2xf32> {
// CHECK: dl.reshape %{{.*}} : tensor<2x8x2x2xf32> to tensor<2x32xf32>
// CHECK: dl.fused(%[[X]], %[[DY]]) {{{.*}}} : (tensor<2x4x10x10xf32>, tensor<2x8x8x8xf32>) -> tensor<8x2x3x3xf32, #nhwc>
// CHECK: dl.multi_tensor{{.*}} -> (tensor<8x2x3x3xf32, #nhwc>, tensor<8x2x3x3xf32, #nhwc>)
// CHECK: dl.assign @w, %{{.*}} : tensor<8x2x3x3xf32, #nhwc>
// CHECK: dl.return {{.*}} : tensor<2x32xf32>, tensor<8x2x3x3xf32, #nhwc>
dl.entry @train_step(%x: tensor<2x4x10x10xf32>, %dy: tensor<2x8x8x8xf32>)
    -> (tensor<2x32xf32>, tensor<8x2x3x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w}) attributes {dl.precision = tf32, kind = #program.entry<train>} {
  %w = dl.read @w : tensor<8x2x3x3xf32>
  %m = dl.read @w.momentum : tensor<8x2x3x3xf32>
  %b = dl.read @b : tensor<8xf32>
  %lr = dl.scalar "optimizer.learning_rate", 0.1 : tensor<f32>
  %c = dl.fused(%x, %w, %b) : (tensor<2x4x10x10xf32>, tensor<8x2x3x3xf32>, tensor<8xf32>) -> tensor<2x8x8x8xf32> {
  ^bb0(%0: tensor<2x4x10x10xf32>, %1: tensor<8x2x3x3xf32>, %2: tensor<8xf32>):
    %3 = dl.convolution %0, %1 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 2 {dl.precision = tf32} : tensor<2x4x10x10xf32>, tensor<8x2x3x3xf32>
    %4 = dl.broadcast %2 dims = [1] : tensor<8xf32> to tensor<2x8x8x8xf32>
    %5 = dl.add %3, %4 : tensor<2x8x8x8xf32>
    dl.yield %5 : tensor<2x8x8x8xf32>
  }
  %p:2 = dl.fused(%c) : (tensor<2x8x8x8xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x8x4x4xui8>) {
  ^bb0(%0: tensor<2x8x8x8xf32>):
    %y, %i = dl.max_pool %0 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x8x8x8xf32> -> tensor<2x8x4x4xf32>, tensor<2x8x4x4xui8>
    dl.yield %y, %i : tensor<2x8x4x4xf32>, tensor<2x8x4x4xui8>
  }
  %q = dl.fused(%p#0) : (tensor<2x8x4x4xf32>) -> tensor<2x8x2x2xf32> {
  ^bb0(%0: tensor<2x8x4x4xf32>):
    %y = dl.max_pool %0 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x8x4x4xf32> -> tensor<2x8x2x2xf32>
    dl.yield %y : tensor<2x8x2x2xf32>
  }
  %flat = dl.reshape %q : tensor<2x8x2x2xf32> to tensor<2x32xf32>
  %dw = dl.fused(%x, %dy) : (tensor<2x4x10x10xf32>, tensor<2x8x8x8xf32>) -> tensor<8x2x3x3xf32> {
  ^bb0(%0: tensor<2x4x10x10xf32>, %1: tensor<2x8x8x8xf32>):
    %2 = dl.convolution_backward_filter %0, %1 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 2 {dl.precision = tf32} : tensor<2x4x10x10xf32>, tensor<2x8x8x8xf32> to tensor<8x2x3x3xf32>
    dl.yield %2 : tensor<8x2x3x3xf32>
  }
  %new:2 = dl.multi_tensor(%w, %dw, %m) scalars(%lr) {streams = 3 : i64}
      : (tensor<8x2x3x3xf32>, tensor<8x2x3x3xf32>, tensor<8x2x3x3xf32>, tensor<f32>) -> (tensor<8x2x3x3xf32>, tensor<8x2x3x3xf32>) {
  ^bb0(%0: tensor<f32>, %1: tensor<f32>, %2: tensor<f32>, %3: tensor<f32>):
    %4 = dl.add %1, %2 : tensor<f32>
    %5 = dl.multiply %3, %4 : tensor<f32>
    %6 = dl.subtract %0, %5 : tensor<f32>
    dl.yield %6, %4 : tensor<f32>, tensor<f32>
  }
  dl.assign @w, %new#0 : tensor<8x2x3x3xf32>
  dl.assign @w.momentum, %new#1 : tensor<8x2x3x3xf32>
  dl.return %flat, %dw : tensor<2x32xf32>, tensor<8x2x3x3xf32>
}

// CHECK-LABEL: dl.entry @evaluate
// CHECK: dl.read @w : tensor<8x2x3x3xf32, #nhwc>
dl.entry @evaluate() -> tensor<8x2x3x3xf32> attributes {dl.precision = tf32, kind = #program.entry<evaluate>} {
  %w = dl.read @w : tensor<8x2x3x3xf32>
  %0 = dl.fused(%w) : (tensor<8x2x3x3xf32>) -> tensor<8x2x3x3xf32> {
  ^bb0(%1: tensor<8x2x3x3xf32>):
    %2 = dl.exp %1 : tensor<8x2x3x3xf32>
    dl.yield %2 : tensor<8x2x3x3xf32>
  }
  dl.return %0 : tensor<8x2x3x3xf32>
}

// Nothing changes without a convolution, for one in float64, and for what a batched product or a transposition shares with nothing
// else.
// CHECK-LABEL: dl.entry @nothing
// CHECK-NOT: #nhwc
// CHECK-NOT: convert_layout
// CHECK: dl.return
dl.entry @nothing(%x: tensor<2x3x4x4xf64>, %w: tensor<3x3x1x1xf64>)
    -> (tensor<2x8x4x4xf32>, tensor<2x3x4x4xf64>) attributes {dl.precision = tf32, kind = #program.entry<infer>} {
  %a = dl.read @other : tensor<2x8x4x4xf32>
  %0 = dl.fused(%a) : (tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32> {
  ^bb0(%1: tensor<2x8x4x4xf32>):
    %2 = dl.matmul %1, %1 {dl.precision = tf32} : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>
    dl.yield %2 : tensor<2x8x4x4xf32>
  }
  %3 = dl.fused(%x, %w) : (tensor<2x3x4x4xf64>, tensor<3x3x1x1xf64>) -> tensor<2x3x4x4xf64> {
  ^bb0(%4: tensor<2x3x4x4xf64>, %5: tensor<3x3x1x1xf64>):
    %6 = dl.convolution %4, %5 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 {dl.precision = tf32} : tensor<2x3x4x4xf64>, tensor<3x3x1x1xf64>
    dl.yield %6 : tensor<2x3x4x4xf64>
  }
  %7 = dl.fused(%3) : (tensor<2x3x4x4xf64>) -> tensor<2x3x4x4xf64> {
  ^bb0(%8: tensor<2x3x4x4xf64>):
    %9 = dl.exp %8 : tensor<2x3x4x4xf64>
    dl.yield %9 : tensor<2x3x4x4xf64>
  }
  dl.return %0, %7 : tensor<2x8x4x4xf32>, tensor<2x3x4x4xf64>
}
