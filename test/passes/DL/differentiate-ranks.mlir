// RUN: dlc-opt --dl-differentiate --split-input-file %s | FileCheck %s

// A loss that is a mean over %n things is differentiated as its rank's share of the mean of all ranks: what n is of the sum of all.
// CHECK-LABEL: dl.entry @train_step
// CHECK: %[[B:.*]] = dl.read @b
// CHECK: %[[LOSS:.*]] = dl.reduce sum
// CHECK: %[[ALL:.*]] = dl.all_reduce sum %[[N:.*]] channel 1
// CHECK: %[[DIVISOR:.*]] = dl.select %{{.*}}, %[[ALL]], %{{.*}}
// CHECK: %[[SHARE:.*]] = dl.divide %[[N]], %[[DIVISOR]]
// CHECK: dl.broadcast %{{.*}}
// CHECK: dl.return %{{.*}} : tensor<5xf32>{{.*}} weight(%[[N]] : tensor<f32>)
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
