// RUN: dlc-opt --dl-distribute --dl-build-update=keep-weight-gradients --split-input-file %s | FileCheck %s
// RUN: dlc-opt --dl-distribute --dl-build-update %S/build-update.mlir | FileCheck %s --check-prefix=ONE

// Without the module's attribute nothing is reduced, and nothing scaled.
// ONE-NOT: all_reduce
// ONE-NOT: ranks.scale

// Gradients are summed over the ranks before anything reads them: norms and limits see what all ranks' samples give. The update makes
// means of them, where there are several ranks. What the entry returns are the sums.
// CHECK-LABEL: dl.entry @train_step(
// CHECK-SAME: %[[DW:.*]]: tensor<4x3xf32>, %[[DB:.*]]: tensor<4xf32>)
// CHECK: %[[SCALE:.*]] = dl.scalar "ranks.scale", 1.000000e+00 : tensor<f32>
// CHECK: %[[S:.*]]:2 = dl.all_reduce sum %[[DW]], %[[DB]] channel 0 {of = [@w, @b]}
// CHECK: %[[SQUARES:.*]] = dl.multi_tensor(%[[S]]#0, %[[S]]#1) scalars(%[[SCALE]])
// CHECK-NEXT: ^bb0(%[[G:.*]]: tensor<f32>, %[[R:.*]]: tensor<f32>):
// CHECK: %[[SCALED:.*]] = dl.multiply %[[G]], %[[R]]
// CHECK-NEXT: %[[MEAN:.*]] = dl.select %{{.*}}, %[[G]], %[[SCALED]]
// CHECK-NEXT: %[[WIDE:.*]] = dl.cast %[[MEAN]] : tensor<f32> to tensor<f64>
// CHECK-NEXT: dl.multiply %[[WIDE]], %[[WIDE]]
// CHECK: dl.reduce sum %[[SQUARES]]
// CHECK: dl.multi_tensor(%{{.*}}, %{{.*}}, %[[S]]#0, %[[S]]#1) scalars(%[[SCALE]],
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: tensor<f32>, %[[G:[a-z0-9]+]]: tensor<f32>, %[[R:[a-z0-9]+]]: tensor<f32>,
// CHECK: dl.multiply %[[G]], %[[R]]
// CHECK: dl.return %[[S]]#0
module attributes {program.data_parallel} {
dl.variable @w : tensor<4x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @b : tensor<4xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%dw: tensor<4x3xf32>, %db: tensor<4xf32>)
    -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w},
        tensor<4xf32> {dl.name = "gradient.b", dl.kind = #program.value<gradient>, dl.of = @b})
    attributes {kind = #program.entry<train>, clip = #dl.clip<global_norm, 1.0>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64}>>,
      #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64}>>]} {
  dl.return %dw, %db : tensor<4x3xf32>, tensor<4xf32>
}
}

// -----

// Gradients of shares of one mean are summed, and need no scale.
// CHECK-LABEL: dl.entry @train_step(
// CHECK-NOT: ranks.scale
// CHECK: %[[S:.*]] = dl.all_reduce sum %{{.*}} channel 0
// CHECK: dl.multi_tensor(%{{.*}}, %[[S]])
// CHECK: dl.return %[[S]] : tensor<4x3xf32>{{$}}
module attributes {program.data_parallel} {
dl.variable @w : tensor<4x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%dw: tensor<4x3xf32>, %n: tensor<f32>)
    -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64}>>]} {
  dl.return %dw : tensor<4x3xf32> weight(%n : tensor<f32>)
}
}

// -----

// Where gradients accumulate, those of a run stay with their rank: the sums are reduced when the update is due.
// CHECK-LABEL: dl.entry @accumulate_step
// CHECK-NOT: all_reduce
// CHECK-LABEL: dl.entry @train_step
// CHECK: %[[SUM:.*]] = dl.read @w.gradient_sum
// CHECK: %[[S:.*]] = dl.all_reduce sum %[[SUM]] channel 0 {of = [@w]}
// CHECK: dl.multi_tensor(%{{.*}}, %[[S]])
module attributes {program.data_parallel} {
dl.variable @w : tensor<4x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%dw: tensor<4x3xf32>)
    -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {kind = #program.entry<train>, accumulate = 4 : i64, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64}>>]} {
  dl.return %dw : tensor<4x3xf32>
}
}

// -----

// Gradients of f64 are divided by the number of ranks: a scale would be an f32, and 1 / 3 of that off by 1e-8.
// CHECK-LABEL: dl.entry @train_step
// CHECK: %[[COUNT:.*]] = dl.scalar "ranks.count", 1.000000e+00 : tensor<i32>
// CHECK: dl.multi_tensor(%{{.*}}, %{{.*}}) scalars(%[[COUNT]],
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: tensor<f64>, %[[G:[a-z0-9]+]]: tensor<f64>, %[[R:[a-z0-9]+]]: tensor<i32>,
// CHECK: %[[WIDE:.*]] = dl.cast %[[R]] : tensor<i32> to tensor<f64>
// CHECK-NEXT: dl.divide %[[G]], %[[WIDE]]
module attributes {program.data_parallel} {
dl.variable @w : tensor<4x3xf64> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%dw: tensor<4x3xf64>)
    -> (tensor<4x3xf64> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64}>>]} {
  dl.return %dw : tensor<4x3xf64>
}
}
