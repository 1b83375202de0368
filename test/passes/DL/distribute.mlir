// RUN: dlc-opt --dl-distribute --split-input-file %s | FileCheck %s

// Steps that update something say how the gradients of all ranks become one. Statistics stay those of all ranks. What is inferred
// exchanges nothing.
// CHECK-LABEL: dl.entry @train_step
// CHECK-SAME: across_ranks = #dl.across_ranks<mean>
// CHECK: dl.batch_norm %{{.*}} ranks(
// CHECK: dl.return loss(%{{[^,]*}} : tensor<f32>)
// CHECK-LABEL: dl.entry @infer
// CHECK-NOT: across_ranks
#sgd = #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>
module attributes {program.data_parallel} {
dl.variable @b : tensor<4x6xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step() attributes {kind = #program.entry<train>, updates = [#dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #sgd>]} {
  %b = dl.read @b : tensor<4x6xf32>
  %r = dl.scalar "ranks.scale", 1.0 : tensor<f32>
  %y, %m, %v = dl.batch_norm %b ranks(%r : tensor<f32>) epsilon = 1.0e-05 : tensor<4x6xf32>
  %s = dl.reduce sum %y axes = [0, 1] : tensor<4x6xf32>
  dl.return loss(%s : tensor<f32>)
}
dl.entry @infer() -> (tensor<4x6xf32> {dl.name = "y", dl.kind = #program.value<result>}) attributes {kind = #program.entry<infer>} {
  %b = dl.read @b : tensor<4x6xf32>
  dl.return %b : tensor<4x6xf32>
}
}

// -----

// Losses that count different things become one: each times its rank's part of what all ranks count. Nothing counted leaves 0.
// CHECK-LABEL: dl.entry @train_step
// CHECK-SAME: %[[N:.*]]: tensor<f32>, %[[M:.*]]: tensor<f32>
// CHECK-SAME: across_ranks = #dl.across_ranks<sum>
// CHECK: %[[S:.*]] = dl.reduce sum
// CHECK: %[[T:.*]] = dl.multiply %[[S]], %[[S]]
// CHECK: %[[ALL:.*]] = dl.all_reduce sum %[[N]] channel 1
// CHECK: %[[DIVISOR:.*]] = dl.select %{{.*}}, %[[ALL]], %{{.*}}
// CHECK: %[[PART:.*]] = dl.divide %[[N]], %[[DIVISOR]]
// CHECK: %[[FIRST:.*]] = dl.multiply %[[S]], %[[PART]]
// CHECK: dl.all_reduce sum %[[M]] channel 1
// CHECK: %[[SECOND:.*]] = dl.multiply %[[T]], %{{.*}}
// CHECK: %[[WHOLE:.*]] = dl.add %[[FIRST]], %[[SECOND]]
// CHECK: dl.return loss(%[[WHOLE]] : tensor<f32>){{$}}
#sgd = #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>
module attributes {program.data_parallel} {
dl.variable @b : tensor<5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%n: tensor<f32>, %m: tensor<f32>) attributes {kind = #program.entry<train>, updates = [#dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #sgd>]} {
  %b = dl.read @b : tensor<5xf32>
  %s = dl.reduce sum %b axes = [0] : tensor<5xf32>
  %t = dl.multiply %s, %s : tensor<f32>
  dl.return loss(%s, %t : tensor<f32>, tensor<f32>) weight(%n, %m : tensor<f32>, tensor<f32>)
}
}

// -----

// Where gradients accumulate, the update divides by what all ranks have counted.
// CHECK-LABEL: dl.entry @train_step
// CHECK-SAME: across_ranks = #dl.across_ranks<sum>
// CHECK-NOT: all_reduce
// CHECK: dl.return loss(%{{.*}} : tensor<f32>) weight(%{{.*}} : tensor<f32>)
#sgd = #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>
module attributes {program.data_parallel} {
dl.variable @b : tensor<5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%n: tensor<f32>) attributes {kind = #program.entry<train>, accumulate = 2, updates = [#dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #sgd>]} {
  %b = dl.read @b : tensor<5xf32>
  %s = dl.reduce sum %b axes = [0] : tensor<5xf32>
  dl.return loss(%s : tensor<f32>) weight(%n : tensor<f32>)
}
}

// -----

// In another module a rank has nobody beside it, forward and backward.
// CHECK-LABEL: dl.entry @train_step
// CHECK-NOT: across_ranks
// CHECK: dl.batch_norm %{{[^ ]*}} epsilon
// CHECK: dl.batch_norm_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{[^ ]*}} epsilon
// CHECK: dl.return loss(%{{.*}} : tensor<f32>) weight(
#sgd = #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>
dl.variable @b : tensor<4x6xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%n: tensor<f32>) attributes {kind = #program.entry<train>, updates = [#dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #sgd>]} {
  %b = dl.read @b : tensor<4x6xf32>
  %r = dl.scalar "ranks.scale", 1.0 : tensor<f32>
  %y, %m, %v = dl.batch_norm %b ranks(%r : tensor<f32>) epsilon = 1.0e-05 : tensor<4x6xf32>
  %dx, %ds, %db = dl.batch_norm_backward %y, %b, %m, %v ranks(%r : tensor<f32>) epsilon = 1.0e-05 : tensor<4x6xf32>
  %s = dl.reduce sum %dx axes = [0, 1] : tensor<4x6xf32>
  dl.return loss(%s : tensor<f32>) weight(%n : tensor<f32>)
}
