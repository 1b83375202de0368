// Where a parameter is of f64, what the runtime gives is too: a rate of 0.1 would be off by 1e-9 as an f32.
// RUN: dlc-opt --dl-build-update %s | FileCheck %s

dl.variable @w : tensor<4x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @h : tensor<2xf64> role<parameter> init(#program.init<uniform, -0.2, 0.2>)

// Element types make groups of one setting, whose numbers are cast for those of f32. Factors of a parameter's own are of its type.
// CHECK-LABEL: dl.entry @train_step
// CHECK: %[[RATE:.*]] = dl.scalar "optimizer.learning_rate", 2.000000e-01 scheduled : tensor<f64>
// CHECK: dl.multi_tensor(%{{.*}}, %{{.*}}) scalars(%[[RATE]])
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>, %[[LR:.*]]: tensor<f64>):
// CHECK-NEXT: dl.cast %[[LR]] : tensor<f64> to tensor<f32>
// CHECK: %[[TENTH:.*]] = dl.constant dense<1.000000e-01> : tensor<1xf64>
// CHECK: dl.multi_tensor(%{{.*}}, %{{.*}}) each(%[[TENTH]]) scalars(%{{.*}})
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<f64>, %{{.*}}: tensor<f64>, %[[BY:.*]]: tensor<f64>, %[[LR:.*]]: tensor<f64>):
// CHECK-NEXT: dl.multiply %[[LR]], %[[BY]] : tensor<f64>
// CHECK-NOT: dl.multi_tensor
dl.entry @train_step(%dw: tensor<4x3xf32>, %dh: tensor<2xf64>)
    -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w},
        tensor<2xf64> {dl.name = "gradient.h", dl.kind = #program.value<gradient>, dl.of = @h})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.2 : f64}>>,
      #dl.update<@h, lr_mult = 0.1, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.2 : f64}>>]} {
  dl.return %dw, %dh : tensor<4x3xf32>, tensor<2xf64>
}

// The limit is of f64 as well. Squares of f64 are added up three times, of larger and smaller elements too: the sum of those as they are
// tells which is good. Gradients of f32 take part in each.
// CHECK-LABEL: dl.entry @by_global_norm
// CHECK-SAME: %[[DW:.*]]: tensor<4x3xf32>{{.*}}, %[[DH:.*]]: tensor<2xf64>
// CHECK: %[[LIMIT:.*]] = dl.scalar "by_global_norm.clip.limit", 1.000000e+00 : tensor<f64>
// CHECK: %[[W2:.*]]:3 = dl.multi_tensor(%[[DW]]) scalars() {streams = 1 : i64, sums = 3 : i64}
// CHECK: dl.constant dense<4.149515568880993E+180> : tensor<f64>
// CHECK: dl.constant dense<2.4099198651028841E-181> : tensor<f64>
// CHECK: %[[SW:.*]] = dl.reduce sum %[[W2]]#0 axes = [0]
// CHECK: dl.reduce sum %[[W2]]#1 axes = [0]
// CHECK: %[[SWSMALL:.*]] = dl.reduce sum %[[W2]]#2 axes = [0]
// CHECK: %[[H2:.*]]:3 = dl.multi_tensor(%[[DH]]) scalars() {streams = 1 : i64, sums = 3 : i64}
// CHECK: %[[SH:.*]] = dl.reduce sum %[[H2]]#0 axes = [0]
// CHECK: %[[SHSMALL:.*]] = dl.reduce sum %[[H2]]#2 axes = [0]
// CHECK: %[[SUM:.*]] = dl.add %[[SW]], %[[SH]] : tensor<f64>
// CHECK: dl.compare lt %[[SUM]]
// CHECK: dl.compare gt %[[SUM]]
// CHECK: dl.return %[[SWSMALL]], %[[SHSMALL]]
dl.entry @by_global_norm(%dw: tensor<4x3xf32>, %dh: tensor<2xf64>)
    -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w},
        tensor<2xf64> {dl.name = "gradient.h", dl.kind = #program.value<gradient>, dl.of = @h})
    attributes {kind = #program.entry<train>, clip = #dl.clip<global_norm, 1.0>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>,
      #dl.update<@h, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  dl.return %dw, %dh : tensor<4x3xf32>, tensor<2xf64>
}

// A loss of f64 counts in f64.
// CHECK-LABEL: dl.entry @weighted(
// CHECK: dl.read @weighted.loss.weight_sum : tensor<f64>
dl.entry @weighted(%dh: tensor<2xf64>, %n: tensor<f64>)
    -> (tensor<2xf64> {dl.name = "gradient.h", dl.kind = #program.value<gradient>, dl.of = @h})
    attributes {kind = #program.entry<train>, accumulate = 4, updates = [
      #dl.update<@h, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  dl.return %dh : tensor<2xf64> weight(%n : tensor<f64>)
}
