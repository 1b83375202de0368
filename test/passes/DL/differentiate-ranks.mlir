// RUN: dlc-opt --dl-distribute --dl-differentiate --split-input-file %s | FileCheck %s

// A loss that is a mean over %n things is differentiated as its rank's share of the mean of all ranks: what n is of the sum of all.
// CHECK-LABEL: dl.entry @train_step
// CHECK: %[[B:.*]] = dl.read @b
// CHECK: %[[LOSS:.*]] = dl.reduce sum
// CHECK: %[[ALL:.*]] = dl.all_reduce sum %[[N:.*]] channel 1
// CHECK: %[[DIVISOR:.*]] = dl.select %{{.*}}, %[[ALL]], %{{.*}}
// CHECK: %[[SHARE:.*]] = dl.divide %[[N]], %[[DIVISOR]]
// CHECK: dl.broadcast %{{.*}}
// CHECK: dl.return %{{.*}} : tensor<5xf32>, tensor<f32>{{$}}
module attributes {program.data_parallel} {
dl.variable @b : tensor<5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%n: tensor<f32>) attributes {kind = #program.entry<train>, updates = [
      #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %b = dl.read @b : tensor<5xf32>
  %s = dl.reduce sum %b axes = [0] : tensor<5xf32>
  dl.return loss(%s : tensor<f32>) weight(%n : tensor<f32>)
}
}

// -----

// With one rank, and where gradients accumulate, the loss is differentiated as it is.
// CHECK-LABEL: dl.entry @train_step
// CHECK-NOT: all_reduce
// CHECK: dl.return %{{.*}} : tensor<5xf32>{{.*}} weight(
dl.variable @b : tensor<5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%n: tensor<f32>) attributes {kind = #program.entry<train>, updates = [
      #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %b = dl.read @b : tensor<5xf32>
  %s = dl.reduce sum %b axes = [0] : tensor<5xf32>
  dl.return loss(%s : tensor<f32>) weight(%n : tensor<f32>)
}

// -----

// Losses that are means over different numbers of things are added up as shares of their own, for one sweep.
// CHECK-LABEL: dl.entry @train_step
// CHECK-SAME: %[[N:.*]]: tensor<f32> {dl.name = "n"}, %[[M:.*]]: tensor<f32> {dl.name = "m"}
// CHECK: %[[ALLN:.*]] = dl.all_reduce sum %[[N]] channel 1
// CHECK: dl.divide %[[N]], %{{.*}}
// CHECK: %[[ALLM:.*]] = dl.all_reduce sum %[[M]] channel 1
// CHECK: dl.divide %[[M]], %{{.*}}
// CHECK: dl.return %{{.*}} : tensor<5xf32>, tensor<f32>, tensor<f32>{{$}}
module attributes {program.data_parallel} {
dl.variable @b : tensor<5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%n: tensor<f32> {dl.name = "n"}, %m: tensor<f32> {dl.name = "m"}) attributes {kind = #program.entry<train>, updates = [
      #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %b = dl.read @b : tensor<5xf32>
  %s = dl.reduce sum %b axes = [0] : tensor<5xf32>
  %c = dl.multiply %s, %s : tensor<f32>
  dl.return loss(%s, %c : tensor<f32>, tensor<f32>) weight(%n, %m : tensor<f32>, tensor<f32>)
}
}

// -----

// Where gradients accumulate, a parameter has a gradient of each loss that it is behind: @b of both, @c of the second. That of @d is zero.
// CHECK-LABEL: dl.entry @train_step
// CHECK-SAME: -> (tensor<5xf32> {dl.kind = #program.value<gradient>, dl.loss = 0 : i64, dl.name = "gradient.b#1", dl.of = @b},
// CHECK-SAME: tensor<5xf32> {dl.kind = #program.value<gradient>, dl.loss = 1 : i64, dl.name = "gradient.b#2", dl.of = @b},
// CHECK-SAME: tensor<5xf32> {dl.kind = #program.value<gradient>, dl.loss = 1 : i64, dl.name = "gradient.c#2", dl.of = @c},
// CHECK-SAME: tensor<5xf32> {dl.kind = #program.value<gradient>, dl.name = "gradient.d", dl.of = @d},
// CHECK-SAME: tensor<5xf32> {dl.kind = #program.value<gradient>, dl.name = "gradient.x"})
// CHECK-NOT: all_reduce
// CHECK: dl.return {{.*}} weight(%{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>)
module attributes {program.data_parallel} {
dl.variable @b : tensor<5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @c : tensor<5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @d : tensor<5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%x: tensor<5xf32> {dl.name = "x"}, %l: tensor<i32>) attributes {kind = #program.entry<train>, accumulate = 2, updates = [
      #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>,
      #dl.update<@c, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>,
      #dl.update<@d, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %b = dl.read @b : tensor<5xf32>
  %c = dl.read @c : tensor<5xf32>
  %d = dl.read @d : tensor<5xf32>
  %n = dl.constant dense<3.0> : tensor<f32>
  %m = dl.constant dense<1.0> : tensor<f32>
  %bx = dl.multiply %b, %x : tensor<5xf32>
  %s = dl.reduce sum %bx axes = [0] : tensor<5xf32>
  %bc = dl.multiply %bx, %c : tensor<5xf32>
  %t = dl.reduce sum %bc axes = [0] : tensor<5xf32>
  dl.return loss(%s, %t : tensor<f32>, tensor<f32>) weight(%n, %m : tensor<f32>, tensor<f32>)
}
}
