// Element-wise ops read as they print.
// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// RUN: dlc-opt %s --mlir-print-op-generic | dlc-opt | FileCheck %s

// CHECK-LABEL: dl.entry @unary(
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32>, %[[I:.*]]: tensor<4xi32>, %[[U:.*]]: tensor<4xui8>)
dl.entry @unary(%x: tensor<4x3xf32>, %i: tensor<4xi32>, %u: tensor<4xui8>) attributes {kind = #program.entry<infer>} {
  // CHECK: dl.relu %[[X]] : tensor<4x3xf32>
  %0 = dl.relu %x : tensor<4x3xf32>
  // CHECK: dl.sigmoid %[[X]] : tensor<4x3xf32>
  %1 = dl.sigmoid %x : tensor<4x3xf32>
  // CHECK: dl.tanh %[[X]] : tensor<4x3xf32>
  %2 = dl.tanh %x : tensor<4x3xf32>
  // CHECK: dl.exp %[[X]] : tensor<4x3xf32>
  %3 = dl.exp %x : tensor<4x3xf32>
  // CHECK: dl.log %[[X]] : tensor<4x3xf32>
  %4 = dl.log %x : tensor<4x3xf32>
  // CHECK: dl.sqrt %[[X]] : tensor<4x3xf32>
  %5 = dl.sqrt %x : tensor<4x3xf32>
  // CHECK: dl.negate %[[I]] : tensor<4xi32>
  %6 = dl.negate %i : tensor<4xi32>
  // CHECK: dl.abs %[[X]] : tensor<4x3xf32>
  %7 = dl.abs %x : tensor<4x3xf32>
  // CHECK: dl.cast %[[U]] : tensor<4xui8> to tensor<4xf32>
  %8 = dl.cast %u : tensor<4xui8> to tensor<4xf32>
  // CHECK: dl.convert_layout %[[X]] : tensor<4x3xf32> to tensor<4x3xf32, #program.layout<order = [1, 0]>>
  %9 = dl.convert_layout %x : tensor<4x3xf32> to tensor<4x3xf32, #program.layout<order = [1, 0]>>
  // CHECK: dl.softsign %[[X]] : tensor<4x3xf32>
  %10 = dl.softsign %x : tensor<4x3xf32>
  // CHECK: dl.silu %[[X]] : tensor<4x3xf32>
  %11 = dl.silu %x : tensor<4x3xf32>
  // CHECK: dl.hardswish %[[X]] : tensor<4x3xf32>
  %12 = dl.hardswish %x : tensor<4x3xf32>
  // CHECK: dl.elu %[[X]] alpha = 1.000000e+00 : tensor<4x3xf32>
  %13 = dl.elu %x alpha = 1.0 : tensor<4x3xf32>
  // CHECK: dl.erf %[[X]] : tensor<4x3xf32>
  %14 = dl.erf %x : tensor<4x3xf32>
  // CHECK: dl.floor %[[X]] : tensor<4x3xf32>
  %15 = dl.floor %x : tensor<4x3xf32>
  // CHECK: dl.random normal %[[I]], %[[I]], %[[I]], %[[I]], %[[I]], %[[I]] path = -7 : tensor<4xi32> to tensor<4xf32>
  %16 = dl.random normal %i, %i, %i, %i, %i, %i path = -7 : tensor<4xi32> to tensor<4xf32>
  // CHECK: %[[BITS:.*]] = dl.random bits %[[I]], %[[I]], %[[I]], %[[I]], %[[I]], %[[I]] path = 3 : tensor<4xi32> to tensor<4xi32>
  %17 = dl.random bits %i, %i, %i, %i, %i, %i path = 3 : tensor<4xi32> to tensor<4xi32>
  // CHECK: %[[FLOAT:.*]] = dl.random uniform
  %18 = dl.random uniform %i, %i, %i, %i, %i, %i path = 3 : tensor<4xi32> to tensor<4xf32>
  // CHECK: dl.stochastic_round %[[FLOAT]], %[[I]], %[[BITS]] : tensor<4xf32>, tensor<4xi32> to tensor<4xf16>
  %19 = dl.stochastic_round %18, %i, %17 : tensor<4xf32>, tensor<4xi32> to tensor<4xf16>
  dl.return
}

// CHECK-LABEL: dl.entry @binary(
// CHECK-SAME: %[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
dl.entry @binary(%a: tensor<4xf32>, %b: tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  // CHECK: dl.add %[[A]], %[[B]] : tensor<4xf32>
  %0 = dl.add %a, %b : tensor<4xf32>
  // CHECK: dl.subtract %[[A]], %[[B]] : tensor<4xf32>
  %1 = dl.subtract %a, %b : tensor<4xf32>
  // CHECK: dl.multiply %[[A]], %[[B]] : tensor<4xf32>
  %2 = dl.multiply %a, %b : tensor<4xf32>
  // CHECK: dl.divide %[[A]], %[[B]] : tensor<4xf32>
  %3 = dl.divide %a, %b : tensor<4xf32>
  // CHECK: dl.maximum %[[A]], %[[B]] : tensor<4xf32>
  %4 = dl.maximum %a, %b : tensor<4xf32>
  // CHECK: dl.minimum %[[A]], %[[B]] : tensor<4xf32>
  %5 = dl.minimum %a, %b : tensor<4xf32>
  // CHECK: dl.power %[[A]], %[[B]] : tensor<4xf32>
  %8 = dl.power %a, %b : tensor<4xf32>
  // CHECK: %[[M:.*]] = dl.compare ge %[[A]], %[[B]] : tensor<4xf32>
  %6 = dl.compare ge %a, %b : tensor<4xf32>
  // CHECK: dl.select %[[M]], %[[A]], %[[B]] : tensor<4xf32>
  %7 = dl.select %6, %a, %b : tensor<4xf32>
  dl.return
}
