// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// RUN: dlc-opt %s --mlir-print-op-generic | dlc-opt | FileCheck %s

// CHECK-LABEL: dl.entry @recurrent
dl.entry @recurrent(%x: tensor<7x3x24xf32>, %h: tensor<3x6xf32>, %w: tensor<24x6xf32>, %g: tensor<7x3x18xf32>, %u: tensor<18x6xf32>, %b: tensor<18xf32>, %m: tensor<7x3xi1>) attributes {kind = #program.entry<train>} {
  // CHECK: %[[HS:.*]], %[[CS:.*]], %[[GATES:.*]] = dl.lstm %[[X:.*]], %[[H:.*]], %[[H]], %[[W:.*]] : tensor<7x3x24xf32>
  %hs, %cs, %gates = dl.lstm %x, %h, %h, %w : tensor<7x3x24xf32>
  // CHECK: dl.lstm %[[X]], %[[H]], %[[H]], %[[W]] reverse : tensor<7x3x24xf32>
  %0:3 = dl.lstm %x, %h, %h, %w reverse : tensor<7x3x24xf32>
  // CHECK: dl.lstm_backward %[[HS]], %[[CS]], %[[GATES]], %[[GATES]], %[[CS]], %[[W]] : tensor<7x3x24xf32>
  %1:3 = dl.lstm_backward %hs, %cs, %gates, %gates, %cs, %w : tensor<7x3x24xf32>
  // CHECK: %[[GHS:.*]], %[[P:.*]] = dl.gru %[[G:.*]], %[[H]], %[[U:.*]] bias(%{{.*}} : tensor<18xf32>) : tensor<7x3x18xf32>
  %ghs, %p = dl.gru %g, %h, %u bias(%b : tensor<18xf32>) : tensor<7x3x18xf32>
  // CHECK: dl.gru %[[G]], %[[H]], %[[U]] reverse : tensor<7x3x18xf32>
  %2:2 = dl.gru %g, %h, %u reverse : tensor<7x3x18xf32>
  // CHECK: dl.gru_backward %[[GHS]], %[[P]], %[[G]], %[[P]], %[[GHS]], %[[U]] reverse : tensor<7x3x18xf32>
  %3:3 = dl.gru_backward %ghs, %p, %g, %p, %ghs, %u reverse : tensor<7x3x18xf32>
  // CHECK: dl.lstm %[[X]], %[[H]], %[[H]], %[[W]] mask(%[[M:.*]] : tensor<7x3xi1>) reverse : tensor<7x3x24xf32>
  %4:3 = dl.lstm %x, %h, %h, %w mask(%m : tensor<7x3xi1>) reverse : tensor<7x3x24xf32>
  // CHECK: dl.lstm_backward %[[HS]], %[[CS]], %[[GATES]], %[[GATES]], %[[CS]], %[[W]] mask(%[[M]] : tensor<7x3xi1>) : tensor<7x3x24xf32>
  %5:3 = dl.lstm_backward %hs, %cs, %gates, %gates, %cs, %w mask(%m : tensor<7x3xi1>) : tensor<7x3x24xf32>
  // CHECK: dl.gru %[[G]], %[[H]], %[[U]] bias(%{{.*}} : tensor<18xf32>) mask(%[[M]] : tensor<7x3xi1>) : tensor<7x3x18xf32>
  %6:2 = dl.gru %g, %h, %u bias(%b : tensor<18xf32>) mask(%m : tensor<7x3xi1>) : tensor<7x3x18xf32>
  // CHECK: dl.gru %[[G]], %[[H]], %[[U]] mask(%[[M]] : tensor<7x3xi1>) reverse : tensor<7x3x18xf32>
  %7:2 = dl.gru %g, %h, %u mask(%m : tensor<7x3xi1>) reverse : tensor<7x3x18xf32>
  // CHECK: dl.gru_backward %[[GHS]], %[[P]], %[[G]], %[[P]], %[[GHS]], %[[U]] mask(%[[M]] : tensor<7x3xi1>) reverse : tensor<7x3x18xf32>
  %8:3 = dl.gru_backward %ghs, %p, %g, %p, %ghs, %u mask(%m : tensor<7x3xi1>) reverse : tensor<7x3x18xf32>
  dl.return
}
