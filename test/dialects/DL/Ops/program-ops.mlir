// Variables, entries and the regions that passes build read as they print.
// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// RUN: dlc-opt %s --mlir-print-op-generic | dlc-opt | FileCheck %s

// CHECK: dl.variable @conv1.weight : tensor<20x1x5x5xf32> role<parameter> init(<uniform, -2.000000e-01, 2.000000e-01>)
dl.variable @conv1.weight : tensor<20x1x5x5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
// CHECK: dl.variable @conv1.weight.momentum : tensor<20x1x5x5xf32> role<slot> of(@conv1.weight) init(<constant, 0.000000e+00, 0.000000e+00>)
dl.variable @conv1.weight.momentum : tensor<20x1x5x5xf32> role<slot> of(@conv1.weight) init(#program.init<constant, 0.0, 0.0>)
dl.variable @p : tensor<4x3xf32> role<parameter> init(#program.init<orthogonal, 1.0, 0.0>)
// CHECK: dl.variable @p.ema : tensor<4x3xf32> role<slot> of(@p) init(<copy, 0.000000e+00, 0.000000e+00>)
dl.variable @p.ema : tensor<4x3xf32> role<slot> of(@p) init(#program.init<copy, 0.0, 0.0>)

// An entry carries its names, kinds, updates and metrics.
// CHECK-LABEL: dl.entry @train_step(
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32> {dl.batch_axis = 0 : i64, dl.name = "x"}, %{{.*}}: tensor<i32> {dl.valid})
// CHECK-SAME: -> (tensor<f32> {dl.kind = #program.value<accumulator>, dl.name = "loss.sum"})
// CHECK-SAME: kind = #program.entry<train>
// CHECK-SAME: metrics = [#program.metric<"loss", loss, none, [<"loss.sum", count = 4.000000e+00 : f64, coefficient = 1.000000e+00 : f64>]>]
// CHECK-SAME: updates = [#dl.update<@p, lr_mult = 1.000000e+00 : f64, decay_mult = 0.000000e+00 : f64, <"sgd", {learning_rate = 1.000000e-02 : f64}>>]
dl.entry @train_step(%x: tensor<4x3xf32> {dl.name = "x", dl.batch_axis = 0 : i64}, %n: tensor<i32> {dl.valid})
    -> (tensor<f32> {dl.name = "loss.sum", dl.kind = #program.value<accumulator>}) attributes {
      kind = #program.entry<train>,
      updates = [#dl.update<@p, lr_mult = 1.0 : f64, decay_mult = 0.0 : f64, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64}>>],
      metrics = [#program.metric<"loss", loss, none, [<"loss.sum", count = 4.0 : f64, coefficient = 1.0 : f64>]>]} {
  // CHECK: %[[P:.*]] = dl.read @p : tensor<4x3xf32>
  %p = dl.read @p : tensor<4x3xf32>
  // CHECK: %[[LR:.*]] = dl.scalar "optimizer.learning_rate", 1.000000e-02 scheduled : tensor<f32>
  %lr = dl.scalar "optimizer.learning_rate", 1.0e-02 scheduled : tensor<f32>
  // CHECK: dl.scalar "step", 0.000000e+00 : tensor<i64>
  %step = dl.scalar "step", 0.0 : tensor<i64>
  // CHECK: %[[F:.*]] = dl.fused(%[[X]], %[[P]]) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32> {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x3xf32>, %[[B:.*]]: tensor<4x3xf32>):
  // CHECK-NEXT: %[[S:.*]] = dl.add %[[A]], %[[B]] : tensor<4x3xf32>
  // CHECK-NEXT: dl.yield %[[S]] : tensor<4x3xf32>
  %f = dl.fused(%x, %p) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>):
    %s = dl.add %a, %b : tensor<4x3xf32>
    dl.yield %s : tensor<4x3xf32>
  }
  %half = dl.constant dense<0.5> : tensor<1xf32>
  // CHECK: dl.multi_tensor(%[[P]], %[[F]]) each(%{{.*}}) scalars(%[[LR]]) {streams = 2 : i64, sums = 1 : i64}
  // CHECK-SAME: : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<1xf32>, tensor<f32>) -> (tensor<4x3xf32>, tensor<1xf32>) {
  %new, %sum = dl.multi_tensor(%p, %f) each(%half) scalars(%lr) {streams = 2 : i64, sums = 1 : i64}
      : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<1xf32>, tensor<f32>) -> (tensor<4x3xf32>, tensor<1xf32>) {
  ^bb0(%a: tensor<f32>, %g: tensor<f32>, %m: tensor<f32>, %rate: tensor<f32>):
    %0 = dl.multiply %g, %rate : tensor<f32>
    %1 = dl.multiply %0, %m : tensor<f32>
    %2 = dl.subtract %a, %1 : tensor<f32>
    dl.yield %2, %g : tensor<f32>, tensor<f32>
  }
  // CHECK: dl.multi_tensor(%[[P]]) scalars(%[[LR]]) {numbered, streams = 1 : i64}
  dl.multi_tensor(%p) scalars(%lr) {numbered, streams = 1 : i64} : (tensor<4x3xf32>, tensor<f32>) -> () {
  ^bb0(%a: tensor<f32>, %rate: tensor<f32>, %number: tensor<i32>):
    dl.yield
  }
  // CHECK: dl.update_rows(%[[P]]) rows(%{{.*}}, %{{.*}}) scalars(%[[LR]])
  // CHECK-SAME: : (tensor<4x3xf32>, tensor<2x3xf32>, tensor<2xi32>, tensor<f32>) -> tensor<4x3xf32> {
  %rows = dl.constant dense<1.0> : tensor<2x3xf32>
  %numbers = dl.constant dense<[3, -1]> : tensor<2xi32>
  %table = dl.update_rows(%p) rows(%rows, %numbers) scalars(%lr)
      : (tensor<4x3xf32>, tensor<2x3xf32>, tensor<2xi32>, tensor<f32>) -> tensor<4x3xf32> {
  ^bb0(%a: tensor<f32>, %g: tensor<f32>, %rate: tensor<f32>):
    %0 = dl.multiply %g, %rate : tensor<f32>
    %1 = dl.subtract %a, %0 : tensor<f32>
    dl.yield %1 : tensor<f32>
  }
  %loss = dl.reduce sum %f axes = [0, 1] : tensor<4x3xf32>
  // CHECK: %{{.*}}:2 = dl.gradient %{{.*}} by %[[X]], %[[P]] : tensor<f32> by tensor<4x3xf32>, tensor<4x3xf32>
  %d:2 = dl.gradient %loss by %x, %p : tensor<f32> by tensor<4x3xf32>, tensor<4x3xf32>
  // CHECK: dl.assign @p, %{{.*}} : tensor<4x3xf32>
  dl.assign @p, %new : tensor<4x3xf32>
  // CHECK: dl.return %[[L:.*]] : tensor<f32> loss(%[[L]] : tensor<f32>)
  dl.return %loss : tensor<f32> loss(%loss : tensor<f32>)
}

// CHECK-LABEL: dl.entry @prepare() attributes {kind = #program.entry<prepare>}
dl.entry @prepare() attributes {kind = #program.entry<prepare>} {
  dl.return
}
