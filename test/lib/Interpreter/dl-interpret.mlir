// The interpreter on every construct, with numbers that can be worked out by hand.
// RUN: dl-interpret %s --entry arithmetic | FileCheck %s --check-prefix=ARITHMETIC
// RUN: dl-interpret %s --entry shapes | FileCheck %s --check-prefix=SHAPES
// RUN: dl-interpret %s --entry windows | FileCheck %s --check-prefix=WINDOWS
// RUN: dl-interpret %s --entry classes | FileCheck %s --check-prefix=CLASSES
// RUN: dl-interpret %s --entry slopes | FileCheck %s --check-prefix=SLOPES
// RUN: dl-interpret %s --entry step --runs 2 --scalar rate 0.25 --schedule-factor 3 | FileCheck %s --check-prefix=STEP
// RUN: dl-interpret %s --entry filled --fill --classes 4 | FileCheck %s --check-prefix=FILLED
// RUN: dl-interpret %s --entry step --save %t.safetensors
// RUN: dl-interpret %s --entry step --tensors %t.safetensors | FileCheck %s --check-prefix=RESUMED
// RUN: dl-interpret %s --entry step --along %t.safetensors | FileCheck %s --check-prefix=ALONG
// RUN: not dl-interpret %s --entry filled 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not dl-interpret %s --entry nowhere 2>&1 | FileCheck %s --check-prefix=NOWHERE

// ARITHMETIC: cast: [3] 1 -1 254
// ARITHMETIC: quotient: [3] 1 -1 0
// ARITHMETIC: relu: [3] 1.75 0 nan
// ARITHMETIC: wrapped: [2] 44 255
dl.entry @arithmetic() -> (tensor<3xf32> {dl.name = "relu"}, tensor<3xi32> {dl.name = "cast"}, tensor<2xui8> {dl.name = "wrapped"},
                           tensor<3xi32> {dl.name = "quotient"}) attributes {kind = #program.entry<infer>} {
  %x = dl.constant dense<[1.75, -1.75, 0x7FC00000]> : tensor<3xf32>
  %0 = dl.relu %x : tensor<3xf32>
  %y = dl.constant dense<[1.75, -1.75, 254.9]> : tensor<3xf32>
  %1 = dl.cast %y : tensor<3xf32> to tensor<3xi32>
  %a = dl.constant dense<[200, 0]> : tensor<2xui8>
  %b = dl.constant dense<[100, 255]> : tensor<2xui8>
  %2 = dl.add %a, %b : tensor<2xui8>
  %c = dl.constant dense<[3, -3, 1]> : tensor<3xi32>
  %d = dl.constant dense<[2, 2, 2]> : tensor<3xi32>
  %3 = dl.divide %c, %d : tensor<3xi32>
  dl.return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xi32>, tensor<2xui8>, tensor<3xi32>
}

// SHAPES: broadcast: [2, 3] 1 1 1 2 2 2
// SHAPES: matmul: [2, 2] 14 32 32 77
// SHAPES: max: [2] 3 6
// SHAPES: transpose: [3, 2] 1 4 2 5 3 6
dl.entry @shapes() -> (tensor<3x2xf32> {dl.name = "transpose"}, tensor<2xf32> {dl.name = "max"}, tensor<2x3xf32> {dl.name = "broadcast"},
                       tensor<2x2xf32> {dl.name = "matmul"}) attributes {kind = #program.entry<infer>} {
  %x = dl.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %0 = dl.transpose %x order = [1, 0] : tensor<2x3xf32>
  %1 = dl.reduce max %x axes = [1] : tensor<2x3xf32>
  %b = dl.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %2 = dl.broadcast %b dims = [0, 1] : tensor<2x1xf32> to tensor<2x3xf32>
  %3 = dl.matmul %x, %x transpose_b : tensor<2x3xf32>, tensor<2x3xf32>
  dl.return %0, %1, %2, %3 : tensor<3x2xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2x2xf32>
}

// y[p] = sum of x[2p + r - 1] w[r] with x = 1 2 3 4 5 and w = 10 1: 0 + 1, 20 + 3, 40 + 5.
// WINDOWS: average: [1, 1, 3] 1 2.5 4.5
// WINDOWS: convolution: [1, 1, 3] 1 23 45
// WINDOWS: included: [1, 1, 3] 0.5 2.5 4.5
// WINDOWS: index: [1, 1, 3] 1 1 1
// WINDOWS: max: [1, 1, 3] 1 3 5
dl.entry @windows() -> (tensor<1x1x3xf32> {dl.name = "convolution"}, tensor<1x1x3xf32> {dl.name = "max"}, tensor<1x1x3xui8> {dl.name = "index"},
                        tensor<1x1x3xf32> {dl.name = "average"}, tensor<1x1x3xf32> {dl.name = "included"}) attributes {kind = #program.entry<infer>} {
  %x = dl.constant dense<[[[1.0, 2.0, 3.0, 4.0, 5.0]]]> : tensor<1x1x5xf32>
  %w = dl.constant dense<[[[10.0, 1.0]]]> : tensor<1x1x2xf32>
  %0 = dl.convolution %x, %w strides = [2] padding = [1, 0] dilations = [1] groups = 1 : tensor<1x1x5xf32>, tensor<1x1x2xf32>
  %1, %2 = dl.max_pool %x kernel = [2] strides = [2] padding = [1, 0] dilations = [1] : tensor<1x1x5xf32> -> tensor<1x1x3xf32>, tensor<1x1x3xui8>
  %3 = dl.average_pool %x kernel = [2] strides = [2] padding = [1, 0] dilations = [1] : tensor<1x1x5xf32> -> tensor<1x1x3xf32>
  %4 = dl.average_pool %x kernel = [2] strides = [2] padding = [1, 0] dilations = [1] count_include_pad : tensor<1x1x5xf32> -> tensor<1x1x3xf32>
  dl.return %0, %1, %2, %3, %4 : tensor<1x1x3xf32>, tensor<1x1x3xf32>, tensor<1x1x3xui8>, tensor<1x1x3xf32>, tensor<1x1x3xf32>
}

// log 2 for two equal logits; a label that is no class costs nothing.
// CLASSES: accuracy: [3] 1 0 0
// CLASSES: loss: [3] 0.693147 0.693147 0
dl.entry @classes() -> (tensor<3xf32> {dl.name = "loss"}, tensor<3xf32> {dl.name = "accuracy"}) attributes {kind = #program.entry<infer>} {
  %x = dl.constant dense<7.0> : tensor<3x2xf32>
  %label = dl.constant dense<[0, 1, 2]> : tensor<3xi32>
  %0 = dl.softmax_cross_entropy %x, %label axis = 1 : tensor<3x2xf32>, tensor<3xi32>
  %1 = dl.accuracy %x, %label axis = 1 : tensor<3x2xf32>, tensor<3xi32>
  dl.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

dl.variable @p : tensor<2xf32> role<parameter> init(<constant, 1.0, 0.0>)
dl.variable @q : tensor<1xf32> role<parameter> init(<constant, 2.0, 0.0>)

// p -= rate * p * multiplier, factor 1 - rate * 1 for p and 1 - rate * 2 for q; a given scalar is not multiplied by the schedule.
// The second of two runs begins with what the first has assigned: p = 1 * 0.75 * 0.75.
// STEP: before: [2] 0.75 0.75
// STEP: loss: [] 1.5
// STEP: p: [2] 0.5625 0.5625
// STEP: q: [1] 0.5
// RESUMED: before: [2] 0.5 0.5
// RESUMED: p: [2] 0.25 0.25
// RESUMED: q: [1] 0
// How results change where p goes along (0.5, 0.5), which the file has.
// ALONG: before: [2] 0.5 0.5
// ALONG: loss: [] 1
// ALONG: p: [2] 0.25 0.25
// ALONG: q: [1] 0
dl.entry @step() -> (tensor<2xf32> {dl.name = "before"}) attributes {kind = #program.entry<train>} {
  %p = dl.read @p : tensor<2xf32>
  %q = dl.read @q : tensor<1xf32>
  %rate = dl.scalar "rate", 0.5 scheduled : tensor<f32>
  %own = dl.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %new:2 = dl.multi_tensor(%p, %q) each(%own) scalars(%rate) {streams = 1 : i64}
      : (tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<1xf32>) {
  ^bb0(%x: tensor<f32>, %m: tensor<f32>, %r: tensor<f32>):
    %0 = dl.multiply %m, %r : tensor<f32>
    %1 = dl.multiply %0, %x : tensor<f32>
    %2 = dl.subtract %x, %1 : tensor<f32>
    dl.yield %2 : tensor<f32>
  }
  %sum = dl.fused(%p) : (tensor<2xf32>) -> tensor<f32> {
  ^bb0(%x: tensor<2xf32>):
    %0 = dl.reduce sum %x axes = [0] : tensor<2xf32>
    dl.yield %0 : tensor<f32>
  }
  dl.assign @p, %new#0 : tensor<2xf32>
  dl.assign @q, %new#1 : tensor<1xf32>
  dl.return %p : tensor<2xf32> loss(%sum : tensor<f32>)
}

// FILLED: result0: [2, 40] l2 {{[0-9.]+}} sum
// FILLED: result1: [3] {{[0-3] [0-3] [0-3]$}}
// MISSING: error: the input 'x' has no value: neither a tensor of that name nor --fill
// NOWHERE: error: no entry 'nowhere' in {{.*}}dl-interpret.mlir
dl.entry @filled(%x: tensor<2x40xf32> {dl.name = "x"}, %label: tensor<3xi32>) -> (tensor<2x40xf32>, tensor<3xi32>) attributes {kind = #program.entry<infer>} {
  dl.return %x, %label : tensor<2x40xf32>, tensor<3xi32>
}

// Central differences of x0^2 + x1^2 + 3 x0, exact but for rounding; by the squares alone what they add to y.
// SLOPES: dsquare: [2] {{(1|0.99999999[0-9]*|1.000000[0-9]*)}} {{(1|0.99999999[0-9]*|1.000000[0-9]*)$}}
// SLOPES: dx: [2] {{(5|4.99999999[0-9]*|5.000000[0-9]*)}} {{(6|5.99999999[0-9]*|6.000000[0-9]*)$}}
dl.entry @slopes() -> (tensor<2xf64> {dl.name = "dx"}, tensor<2xf64> {dl.name = "dsquare"}) attributes {kind = #program.entry<infer>} {
  %x = dl.constant dense<[1.0, 3.0]> : tensor<2xf64>
  %factors = dl.constant dense<[3.0, 0.0]> : tensor<2xf64>
  %square = dl.multiply %x, %x : tensor<2xf64>
  %part = dl.multiply %x, %factors : tensor<2xf64>
  %both = dl.add %square, %part : tensor<2xf64>
  %y = dl.reduce sum %both axes = [0] : tensor<2xf64>
  %g:2 = dl.gradient %y by %x, %square : tensor<f64> by tensor<2xf64>, tensor<2xf64>
  dl.return %g#0, %g#1 : tensor<2xf64>, tensor<2xf64>
}
