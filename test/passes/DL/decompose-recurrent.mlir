// RUN: dlc-opt --dl-decompose %s | FileCheck %s
// RUN: dlc-opt --dl-differentiate %s | FileCheck %s --check-prefix=WHOLE
// RUN: dlc-opt --dl-differentiate --dl-simplify --dl-decompose %s | FileCheck %s --check-prefix=GRADIENT

dl.variable @w : tensor<8x2xf32> role<parameter> init(#program.init<constant, 1.0, 0.0>)

// A step is one product, to which what its input gives is added, and what is computed of each unit.
// CHECK-LABEL: dl.entry @lstm
// CHECK: %[[X:.*]] = dl.reshape %{{.*}} : tensor<3x5x8xf32> to tensor<15x8xf32>
// CHECK: %[[P0:.*]] = dl.matmul %[[H:.*]], %[[W:.*]] transpose_b : tensor<5x2xf32>, tensor<8x2xf32>
// CHECK: %[[X0:.*]] = dl.slice %[[X]] starts = [0, 0] sizes = [5, 8]
// CHECK: %[[G0:.*]] = dl.add %[[P0]], %[[X0]]
// CHECK: dl.slice %[[G0]] starts = [0, 0] sizes = [5, 2]
// CHECK: dl.matmul
// CHECK: %[[X1:.*]] = dl.slice %[[X]] starts = [5, 0] sizes = [5, 8]
// CHECK: %[[G1:.*]] = dl.add %{{.*}}, %[[X1]]
// CHECK: dl.matmul
// CHECK: %[[X2:.*]] = dl.slice %[[X]] starts = [10, 0] sizes = [5, 8]
// CHECK: %[[G2:.*]] = dl.add %{{.*}}, %[[X2]]
// CHECK-NOT: dl.matmul
// CHECK: %[[HS:.*]] = dl.concat %[[H]], {{.*}} axis = 0
// CHECK: dl.reshape %[[HS]] : tensor<20x2xf32> to tensor<4x5x2xf32>

// The gradients go back step by step; that of the weight is one product over all steps.
// WHOLE-LABEL: dl.entry @lstm
// WHOLE: %[[HS:.*]], %[[CS:.*]], %[[GATES:.*]] = dl.lstm
// WHOLE: %[[DX:.*]], %{{.*}}, %{{.*}} = dl.lstm_backward %{{.*}}, %{{.*}}, %{{.*}}, %[[GATES]], %[[CS]]
// WHOLE: %[[BEFORE:.*]] = dl.slice %{{.*}} starts = [0, 0] sizes = [15, 2]
// WHOLE: %[[ROWS:.*]] = dl.reshape %[[DX]] : tensor<3x5x8xf32> to tensor<15x8xf32>
// WHOLE: dl.matmul %[[ROWS]], %[[BEFORE]] transpose_a : tensor<15x8xf32>, tensor<15x2xf32>
// WHOLE-NOT: dl.matmul

// Forward and backward a product for each step but the first one's state, and one for the weight. The outputs' gradients are not
// padded to those of all states.
// GRADIENT-LABEL: dl.entry @lstm
// GRADIENT-NOT: dl.pad
// GRADIENT-COUNT-3: dl.matmul {{.*}} transpose_b
// GRADIENT-COUNT-2: dl.matmul %{{[0-9]+}}, %{{[0-9]+}} : tensor<5x8xf32>, tensor<8x2xf32>
// GRADIENT-NOT: : tensor<5x8xf32>, tensor<8x2xf32>
// GRADIENT: dl.matmul {{.*}} transpose_a
// GRADIENT: dl.return
dl.entry @lstm(%x: tensor<3x5x8xf32> {dl.name = "x"})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %w = dl.read @w : tensor<8x2xf32>
  %h = dl.constant dense<0.5> : tensor<5x2xf32>
  %c = dl.constant dense<0.25> : tensor<5x2xf32>
  %hs, %cs, %gates = dl.lstm %x, %h, %c, %w : tensor<3x5x8xf32>
  %y = dl.slice %hs starts = [1, 0, 0] sizes = [3, 5, 2] steps = [1, 1, 1] : tensor<4x5x2xf32>
  %loss = dl.reduce sum %y axes = [0, 1, 2] : tensor<3x5x2xf32>
  dl.return loss(%loss : tensor<f32>)
}
