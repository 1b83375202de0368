// RUN: dlc-opt --dl-build-update %s | FileCheck %s

// Slots are those that the formula uses, each a stream.
// CHECK-DAG: dl.variable @w.square_average : tensor<4xf32> role<slot> of(@w) init(<constant, 0.000000e+00
// CHECK-DAG: dl.variable @w.gradient_average : tensor<4xf32> role<slot>
// CHECK-DAG: dl.variable @w.momentum : tensor<4xf32> role<slot>
// CHECK-DAG: dl.variable @b.square_average : tensor<3xf32> role<slot>
// CHECK-NOT: dl.variable @b.
dl.variable @w : tensor<4xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @b : tensor<3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)

// CHECK-LABEL: dl.entry @train_step
// CHECK-DAG: %[[SQUARES:.*]] = dl.read @w.square_average
// CHECK-DAG: %[[MEANS:.*]] = dl.read @w.gradient_average
// CHECK-DAG: %[[BUFFER:.*]] = dl.read @w.momentum
// CHECK-DAG: dl.scalar "optimizer1.alpha", 0.98999999999999999 :
// CHECK-DAG: dl.scalar "optimizer1.epsilon", 1.000000e-08 :
// CHECK: %[[NEW:.*]]:4 = dl.multi_tensor(%{{.*}}, %{{.*}}, %[[SQUARES]], %[[MEANS]], %[[BUFFER]])
// CHECK: dl.sqrt
// CHECK: dl.divide
// CHECK: dl.assign @w, %[[NEW]]#0
// CHECK-NEXT: dl.assign @w.square_average, %[[NEW]]#1
// CHECK-NEXT: dl.assign @w.gradient_average, %[[NEW]]#2
// CHECK-NEXT: dl.assign @w.momentum, %[[NEW]]#3
// CHECK: %[[NEW:.*]]:2 = dl.multi_tensor
// CHECK: dl.assign @b, %[[NEW]]#0
// CHECK-NEXT: dl.assign @b.square_average, %[[NEW]]#1
dl.entry @train_step(%dw: tensor<4xf32>, %db: tensor<3xf32>)
    -> (tensor<4xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w},
        tensor<3xf32> {dl.name = "gradient.b", dl.kind = #program.value<gradient>, dl.of = @b})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"rmsprop", {centered = true, momentum = 0.9 : f64}>>,
      #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"rmsprop", {}>>]} {
  dl.return %dw, %db : tensor<4xf32>, tensor<3xf32>
}
