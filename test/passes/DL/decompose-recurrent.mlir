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

// Where the mask is false the states stay. Its part of each step begins where a buffer may, so that steps share their kernels.
// CHECK-LABEL: dl.entry @gru_mask
// CHECK-SAME: %[[X:.*]]: tensor<2x5x6xf32>, %[[H:.*]]: tensor<5x2xf32>, %[[W:.*]]: tensor<6x2xf32>, %[[M:.*]]: tensor<2x5xi1>
// CHECK: %[[P:.*]] = dl.pad %[[M]] low = [0, 0] steps = [1, 1] : tensor<2x5xi1> to tensor<2x64xi1>
// CHECK: %[[MASK:.*]] = dl.reshape %[[P]] : tensor<2x64xi1> to tensor<128xi1>
// CHECK: %[[M1:.*]] = dl.slice %[[MASK]] starts = [64] sizes = [5] steps = [1]
// CHECK: %[[COUNTS1:.*]] = dl.broadcast %[[M1]] dims = [0] : tensor<5xi1> to tensor<5x2xi1>
// CHECK: %[[H1:.*]] = dl.select %[[COUNTS1]], %{{.*}}, %[[H]]
// CHECK: dl.matmul %[[H1]], %[[W]] transpose_b
// CHECK: %[[M0:.*]] = dl.slice %[[MASK]] starts = [0] sizes = [5] steps = [1]
// CHECK: %[[COUNTS0:.*]] = dl.broadcast %[[M0]]
// CHECK: %[[H0:.*]] = dl.select %[[COUNTS0]], %{{.*}}, %[[H1]]
// CHECK: dl.concat %[[H0]], %[[H1]], %[[H]] axis = 0
dl.entry @gru_mask(%x: tensor<2x5x6xf32>, %h: tensor<5x2xf32>, %w: tensor<6x2xf32>, %m: tensor<2x5xi1>) -> tensor<3x5x2xf32>
    attributes {kind = #program.entry<infer>} {
  %hs, %p = dl.gru %x, %h, %w mask(%m : tensor<2x5xi1>) reverse : tensor<2x5x6xf32>
  dl.return %hs : tensor<3x5x2xf32>
}
