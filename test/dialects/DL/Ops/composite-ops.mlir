// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// RUN: dlc-opt %s --mlir-print-op-generic | dlc-opt | FileCheck %s

// CHECK-LABEL: dl.entry @norms
dl.entry @norms(%x: tensor<4x6x5x5xf32>, %c: tensor<6xf32>, %r: tensor<5x5xf32>) attributes {kind = #program.entry<train>} {
  // CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[VARIANCE:.*]] = dl.batch_norm %[[X:.*]] scale(%[[C:.*]] : tensor<6xf32>) bias(%[[C]] : tensor<6xf32>) epsilon = 1.000000e-05 : tensor<4x6x5x5xf32>
  %y, %mean, %variance = dl.batch_norm %x scale(%c : tensor<6xf32>) bias(%c : tensor<6xf32>) epsilon = 1.0e-05 : tensor<4x6x5x5xf32>
  // CHECK: dl.batch_norm %[[X]] epsilon = 0.000000e+00 : tensor<4x6x5x5xf32>
  %0:3 = dl.batch_norm %x epsilon = 0.0 : tensor<4x6x5x5xf32>
  %ranks = dl.scalar "ranks.scale", 1.0 : tensor<f32>
  // CHECK: dl.batch_norm %[[X]] scale(%[[C]] : tensor<6xf32>) ranks(%[[RANKS:.*]] : tensor<f32>) epsilon = 0.000000e+00 : tensor<4x6x5x5xf32>
  %all:3 = dl.batch_norm %x scale(%c : tensor<6xf32>) ranks(%ranks : tensor<f32>) epsilon = 0.0 : tensor<4x6x5x5xf32>
  // CHECK: dl.batch_norm_backward %[[Y]], %[[X]], %[[MEAN]], %[[VARIANCE]] ranks(%[[RANKS]] : tensor<f32>) epsilon = 1.000000e-05 : tensor<4x6x5x5xf32>
  %alld:3 = dl.batch_norm_backward %y, %x, %mean, %variance ranks(%ranks : tensor<f32>) epsilon = 1.0e-05 : tensor<4x6x5x5xf32>
  // CHECK: dl.batch_norm_backward %[[Y]], %[[X]], %[[MEAN]], %[[VARIANCE]] scale(%[[C]] : tensor<6xf32>) epsilon = 1.000000e-05 : tensor<4x6x5x5xf32>
  %1:3 = dl.batch_norm_backward %y, %x, %mean, %variance scale(%c : tensor<6xf32>) epsilon = 1.0e-05 : tensor<4x6x5x5xf32>
  // CHECK: dl.batch_norm_inference %[[X]], %[[MEAN]], %[[VARIANCE]] bias(%[[C]] : tensor<6xf32>) epsilon = 1.000000e-05 : tensor<4x6x5x5xf32>
  %2 = dl.batch_norm_inference %x, %mean, %variance bias(%c : tensor<6xf32>) epsilon = 1.0e-05 : tensor<4x6x5x5xf32>
  // CHECK: dl.layer_norm %[[X]] scale(%[[R:.*]] : tensor<5x5xf32>) bias(%[[R]] : tensor<5x5xf32>) axes = [2, 3] epsilon = 1.000000e-05 : tensor<4x6x5x5xf32>
  %3 = dl.layer_norm %x scale(%r : tensor<5x5xf32>) bias(%r : tensor<5x5xf32>) axes = [2, 3] epsilon = 1.0e-05 : tensor<4x6x5x5xf32>
  // CHECK: dl.rms_norm %[[X]] scale(%[[R]] : tensor<5x5xf32>) axes = [2, 3] epsilon = 1.000000e-05 : tensor<4x6x5x5xf32>
  %4 = dl.rms_norm %x scale(%r : tensor<5x5xf32>) axes = [2, 3] epsilon = 1.0e-05 : tensor<4x6x5x5xf32>
  // CHECK: dl.group_norm %[[X]] groups = 3 epsilon = 1.000000e-05 : tensor<4x6x5x5xf32>
  %5 = dl.group_norm %x groups = 3 epsilon = 1.0e-05 : tensor<4x6x5x5xf32>
  // CHECK: dl.local_response_norm %[[X]] size = 5 alpha = 1.000000e-04 beta = 7.500000e-01 k = 2.000000e+00 : tensor<4x6x5x5xf32>
  %6 = dl.local_response_norm %x size = 5 alpha = 1.0e-04 beta = 0.75 k = 2.0 : tensor<4x6x5x5xf32>
  dl.return
}

// CHECK-LABEL: dl.entry @activations_and_losses
dl.entry @activations_and_losses(%a: tensor<6x14xf32>, %t: tensor<6x14xf32>) attributes {kind = #program.entry<train>} {
  // CHECK: dl.softmax %[[A:.*]] axis = 1 : tensor<6x14xf32>
  %0 = dl.softmax %a axis = 1 : tensor<6x14xf32>
  // CHECK: dl.log_softmax %[[A]] axis = 0 : tensor<6x14xf32>
  %1 = dl.log_softmax %a axis = 0 : tensor<6x14xf32>
  // CHECK: dl.gelu %[[A]] : tensor<6x14xf32>
  %2 = dl.gelu %a : tensor<6x14xf32>
  // CHECK: dl.gelu %[[A]] exact : tensor<6x14xf32>
  %e = dl.gelu %a exact : tensor<6x14xf32>
  // CHECK: dl.stop_gradient %[[A]] : tensor<6x14xf32>
  %s = dl.stop_gradient %a : tensor<6x14xf32>
  // CHECK: dl.sigmoid_cross_entropy %[[A]], %[[T:.*]] : tensor<6x14xf32>
  %3 = dl.sigmoid_cross_entropy %a, %t : tensor<6x14xf32>
  // CHECK: dl.huber %[[A]], %[[T]] delta = 5.000000e-01 : tensor<6x14xf32>
  %4 = dl.huber %a, %t delta = 0.5 : tensor<6x14xf32>
  // CHECK: dl.binary_accuracy %[[A]], %[[T]] threshold = 0.000000e+00 : tensor<6x14xf32>
  %9 = dl.binary_accuracy %a, %t threshold = 0.0 : tensor<6x14xf32>
  // CHECK: dl.hinge %[[A]], %[[T]] margin = 1.000000e+00 : tensor<6x14xf32>
  %5 = dl.hinge %a, %t margin = 1.0 : tensor<6x14xf32>
  // CHECK: dl.kl_divergence %[[A]], %[[T]] : tensor<6x14xf32>
  %6 = dl.kl_divergence %a, %t : tensor<6x14xf32>
  dl.return
}
