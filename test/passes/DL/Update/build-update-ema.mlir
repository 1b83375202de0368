// RUN: dlc-opt --dl-build-update %s | FileCheck %s

// The average begins as a copy and stands behind the parameter's other slots. Two entries that update a parameter share it.
// CHECK: dl.variable @w : tensor<4xf32> role<parameter>
// CHECK-DAG: dl.variable @w.momentum : tensor<4xf32> role<slot> of(@w) init(<constant,
// CHECK-DAG: dl.variable @w.ema : tensor<4xf32> role<slot> of(@w) init(<copy, 0.000000e+00, 0.000000e+00>)
// CHECK-NOT: dl.variable @w.ema
// CHECK: dl.variable @h : tensor<2xf64> role<parameter>
// CHECK-NEXT: dl.variable @h.ema : tensor<2xf64> role<slot> of(@h) init(<copy,
// CHECK: dl.variable @frozen
// CHECK-NOT: dl.variable @frozen.ema
dl.variable @w : tensor<4xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @h : tensor<2xf64> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @frozen : tensor<3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @mean : tensor<3xf32> role<statistic> init(#program.init<constant, 0.0, 0.0>)

// decay * average + (1 - decay) * the new parameter, behind what the optimizer makes of it; `ema` is consumed.
// CHECK-LABEL: dl.entry @first
// CHECK-NOT: ema =
// CHECK-DAG: %[[W:.*]] = dl.read @w :
// CHECK-DAG: %[[V:.*]] = dl.read @w.momentum
// CHECK-DAG: %[[E:.*]] = dl.read @w.ema
// CHECK-DAG: %[[DECAY:.*]] = dl.scalar "ema.decay", 7.500000e-01 :
// CHECK: %[[NEW:.*]]:3 = dl.multi_tensor(%[[W]], %{{.*}}, %[[V]], %[[E]]) scalars(%{{.*}}, %{{.*}}, %[[DECAY]])
// CHECK-SAME: streams = 4
// CHECK-NEXT: ^bb0(%[[P:.*]]: tensor<f32>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>, %[[OLD:.*]]: tensor<f32>, %{{.*}}: tensor<f64>, %{{.*}}: tensor<f64>, %[[D64:.*]]: tensor<f64>):
// CHECK: %[[Q:.*]] = dl.subtract %[[P]]
// CHECK: %[[D:.*]] = dl.cast %[[D64]] : tensor<f64> to tensor<f32>
// CHECK: %[[REST:.*]] = dl.subtract %{{.*}}, %[[D]]
// CHECK: %[[KEPT:.*]] = dl.multiply %[[D]], %[[OLD]]
// CHECK: %[[ADDED:.*]] = dl.multiply %[[REST]], %[[Q]]
// CHECK: %[[MEAN:.*]] = dl.add %[[KEPT]], %[[ADDED]]
// CHECK: dl.yield %[[Q]], %{{.*}}, %[[MEAN]]
// CHECK: dl.assign @w, %[[NEW]]#0
// CHECK-NEXT: dl.assign @w.momentum, %[[NEW]]#1
// CHECK-NEXT: dl.assign @w.ema, %[[NEW]]#2
dl.entry @first(%dw: tensor<4xf32>) -> (tensor<4xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {kind = #program.entry<train>, ema = 0.75 : f64, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64, momentum = 0.5 : f64}>>]} {
  dl.return %dw : tensor<4xf32>
}

// The decay is one scalar for all, an f64 where a parameter is.
// CHECK-LABEL: dl.entry @second
// CHECK-DAG: dl.read @w.ema
// CHECK-DAG: dl.read @h.ema
// CHECK: dl.scalar "ema.decay", 7.500000e-01 :
// CHECK: dl.multi_tensor
// CHECK: dl.assign @w.ema
// CHECK: dl.scalar "ema.decay", 7.500000e-01 :
// CHECK: dl.multi_tensor
// CHECK: ^bb0(%{{.*}}: tensor<f64>, %{{.*}}: tensor<f64>, %[[OLD:.*]]: tensor<f64>, %{{.*}}: tensor<f64>, %[[D:.*]]: tensor<f64>):
// CHECK: dl.multiply %[[D]], %[[OLD]]
// CHECK: dl.assign @h.ema
dl.entry @second(%dw: tensor<4xf32>, %dh: tensor<2xf64>)
    -> (tensor<4xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w},
        tensor<2xf64> {dl.name = "gradient.h", dl.kind = #program.value<gradient>, dl.of = @h})
    attributes {kind = #program.entry<train>, ema = 0.75 : f64, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>,
      #dl.update<@h, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  dl.return %dw, %dh : tensor<4xf32>, tensor<2xf64>
}

// Evaluation and inference read averages, where there are any; training reads the parameters.
// CHECK-LABEL: dl.entry @evaluate
// CHECK-NEXT: dl.read @w.ema : tensor<4xf32>
// CHECK-NEXT: dl.read @frozen :
// CHECK-NEXT: dl.read @mean :
// CHECK-LABEL: dl.entry @infer_n1
// CHECK-NEXT: dl.read @w.ema :
// CHECK-LABEL: dl.entry @other
// CHECK-NEXT: dl.read @w :
dl.entry @evaluate() -> (tensor<4xf32>, tensor<3xf32>, tensor<3xf32>) attributes {kind = #program.entry<evaluate>} {
  %w = dl.read @w : tensor<4xf32>
  %frozen = dl.read @frozen : tensor<3xf32>
  %mean = dl.read @mean : tensor<3xf32>
  dl.return %w, %frozen, %mean : tensor<4xf32>, tensor<3xf32>, tensor<3xf32>
}
dl.entry @infer_n1() -> (tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  %w = dl.read @w : tensor<4xf32>
  dl.return %w : tensor<4xf32>
}
dl.entry @other() -> (tensor<4xf32>) attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<4xf32>
  dl.return %w : tensor<4xf32>
}
