// Constants, shapes, reductions and products read as they print; inferred types are checked by the uses in dl.return.
// RUN: dlc-opt %s | dlc-opt | FileCheck %s
// RUN: dlc-opt %s --mlir-print-op-generic | dlc-opt | FileCheck %s

// CHECK-LABEL: dl.entry @shapes(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>)
dl.entry @shapes(%x: tensor<2x3x4xf32>)
    -> (tensor<4x2x3xf32>, tensor<3xf32>, tensor<f32>, tensor<2x4xf32>) attributes {kind = #program.entry<infer>} {
  // CHECK: %[[C:.*]] = dl.constant dense<1.500000e+00> : tensor<3xf32>
  %c = dl.constant dense<1.5> : tensor<3xf32>
  // CHECK: dl.constant dense<[1, 2]> : tensor<2xui8>
  %d = dl.constant dense<[1, 2]> : tensor<2xui8>
  // CHECK: dl.iota axes = [1] : tensor<2x3xi32>
  %0 = dl.iota axes = [1] : tensor<2x3xi32>
  // CHECK: dl.broadcast %[[C]] dims = [1] : tensor<3xf32> to tensor<2x3x4xf32>
  %1 = dl.broadcast %c dims = [1] : tensor<3xf32> to tensor<2x3x4xf32>
  // CHECK: dl.reshape %[[X]] : tensor<2x3x4xf32> to tensor<6x4xf32>
  %2 = dl.reshape %x : tensor<2x3x4xf32> to tensor<6x4xf32>
  // CHECK: dl.transpose %[[X]] order = [2, 0, 1] : tensor<2x3x4xf32>
  %3 = dl.transpose %x order = [2, 0, 1] : tensor<2x3x4xf32>
  // CHECK: dl.reduce sum %[[X]] axes = [0, 2] : tensor<2x3x4xf32>
  %4 = dl.reduce sum %x axes = [0, 2] : tensor<2x3x4xf32>
  // CHECK: dl.reduce max %[[X]] axes = [0, 1, 2] : tensor<2x3x4xf32>
  %5 = dl.reduce max %x axes = [0, 1, 2] : tensor<2x3x4xf32>
  // CHECK: dl.reduce min %[[X]] axes = [1] : tensor<2x3x4xf32>
  %6 = dl.reduce min %x axes = [1] : tensor<2x3x4xf32>
  dl.return %3, %4, %5, %6 : tensor<4x2x3xf32>, tensor<3xf32>, tensor<f32>, tensor<2x4xf32>
}

// Both results lack the axes.
// CHECK-LABEL: dl.entry @moments(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
dl.entry @moments(%x: tensor<2x3x4xf32>) -> (tensor<3xf32>, tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // CHECK: %[[MEAN:.*]], %[[M2:.*]] = dl.moments %[[X]] axes = [0, 2] : tensor<2x3x4xf32>
  %mean, %m2 = dl.moments %x axes = [0, 2] : tensor<2x3x4xf32>
  // CHECK: dl.return %[[MEAN]], %[[M2]] : tensor<3xf32>, tensor<3xf32>
  dl.return %mean, %m2 : tensor<3xf32>, tensor<3xf32>
}

// A reduction over ranks gives each tensor back in its own shape.
// CHECK-LABEL: dl.entry @all_reduce(
// CHECK-SAME: %[[A:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<f32>
dl.entry @all_reduce(%a: tensor<2x3xf32>, %b: tensor<f32>) -> (tensor<2x3xf32>, tensor<f32>) attributes {kind = #program.entry<infer>} {
  // CHECK: %[[S:.*]]:2 = dl.all_reduce sum %[[A]], %[[B]] channel 0 : tensor<2x3xf32>, tensor<f32>
  %s:2 = dl.all_reduce sum %a, %b channel 0 : tensor<2x3xf32>, tensor<f32>
  // CHECK: dl.all_reduce sum %[[S]]#1 channel 1 {seconds = 2.500000e-04 : f64} : tensor<f32>
  %t = dl.all_reduce sum %s#1 channel 1 {seconds = 2.5e-4 : f64} : tensor<f32>
  dl.return %s#0, %t : tensor<2x3xf32>, tensor<f32>
}

// Tensors of size zero are legal.
// CHECK-LABEL: dl.entry @empty
dl.entry @empty(%x: tensor<0x3xf32>) -> tensor<3xf32> attributes {kind = #program.entry<infer>} {
  %0 = dl.reduce sum %x axes = [0] : tensor<0x3xf32>
  dl.return %0 : tensor<3xf32>
}

// CHECK-LABEL: dl.entry @products(
// CHECK-SAME: %[[A:.*]]: tensor<3x4xf32>, %[[B:.*]]: tensor<4x5xf32>, %[[W:.*]]: tensor<5x4xf32>, %[[S:.*]]: tensor<2x3x4xf32>
dl.entry @products(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>, %w: tensor<5x4xf32>, %s: tensor<2x3x4xf32>)
    -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<4x5xf32>, tensor<2x4x4xf32>) attributes {kind = #program.entry<infer>} {
  // CHECK: dl.matmul %[[A]], %[[B]] : tensor<3x4xf32>, tensor<4x5xf32>
  %0 = dl.matmul %a, %b : tensor<3x4xf32>, tensor<4x5xf32>
  // CHECK: dl.matmul %[[A]], %[[W]] transpose_b : tensor<3x4xf32>, tensor<5x4xf32>
  %1 = dl.matmul %a, %w transpose_b : tensor<3x4xf32>, tensor<5x4xf32>
  // CHECK: dl.matmul %[[A]], %{{.*}} transpose_a transpose_b : tensor<3x4xf32>, tensor<5x3xf32>
  %t = dl.transpose %1 order = [1, 0] : tensor<3x5xf32>
  %2 = dl.matmul %a, %t transpose_a transpose_b : tensor<3x4xf32>, tensor<5x3xf32>
  // CHECK: dl.matmul %[[S]], %[[S]] transpose_a : tensor<2x3x4xf32>, tensor<2x3x4xf32>
  %3 = dl.matmul %s, %s transpose_a : tensor<2x3x4xf32>, tensor<2x3x4xf32>
  dl.return %0, %1, %2, %3 : tensor<3x5xf32>, tensor<3x5xf32>, tensor<4x5xf32>, tensor<2x4x4xf32>
}

// Elements with a step between them, and back to their places.
// CHECK-LABEL: dl.entry @slices
// CHECK-SAME: %[[X:.*]]: tensor<4x10xf32>)
dl.entry @slices(%x: tensor<4x10xf32>) -> (tensor<4x10xf32>, tensor<0x10xf32>) attributes {kind = #program.entry<infer>} {
  // CHECK: %[[Y:.*]] = dl.slice %[[X]] starts = [1, 1] sizes = [3, 5] steps = [1, 2] : tensor<4x10xf32>
  %y = dl.slice %x starts = [1, 1] sizes = [3, 5] steps = [1, 2] : tensor<4x10xf32>
  // CHECK: dl.pad %[[Y]] low = [1, 1] steps = [1, 2] : tensor<3x5xf32> to tensor<4x10xf32>
  %z = dl.pad %y low = [1, 1] steps = [1, 2] : tensor<3x5xf32> to tensor<4x10xf32>
  // CHECK: dl.slice %[[X]] starts = [4, 0] sizes = [0, 10] steps = [1, 1] : tensor<4x10xf32>
  %e = dl.slice %x starts = [4, 0] sizes = [0, 10] steps = [1, 1] : tensor<4x10xf32>
  dl.return %z, %e : tensor<4x10xf32>, tensor<0x10xf32>
}

// Tensors one behind the other, parts looked up by number, and what was looked up added there.
// CHECK-LABEL: dl.entry @lookups
// CHECK-SAME: %[[A:.*]]: tensor<4x3xf32>, %[[B:.*]]: tensor<4x5xf32>, %[[I:.*]]: tensor<2x6xi64>)
dl.entry @lookups(%a: tensor<4x3xf32>, %b: tensor<4x5xf32>, %i: tensor<2x6xi64>) -> (tensor<4x2x6xf32>, tensor<4x8xf32>) attributes {kind = #program.entry<infer>} {
  // CHECK: %[[C:.*]] = dl.concat %[[A]], %[[B]] axis = 1 : tensor<4x3xf32>, tensor<4x5xf32>
  %c = dl.concat %a, %b axis = 1 : tensor<4x3xf32>, tensor<4x5xf32>
  // CHECK: %[[G:.*]] = dl.gather %[[C]], %[[I]] axis = 1 : tensor<4x8xf32>, tensor<2x6xi64>
  %g = dl.gather %c, %i axis = 1 : tensor<4x8xf32>, tensor<2x6xi64>
  // CHECK: dl.scatter_add %[[G]], %[[I]] axis = 1 : tensor<4x2x6xf32>, tensor<2x6xi64> to tensor<4x8xf32>
  %s = dl.scatter_add %g, %i axis = 1 : tensor<4x2x6xf32>, tensor<2x6xi64> to tensor<4x8xf32>
  // CHECK: dl.sum_rows %{{.*}}, %[[I]] extent = 9 : tensor<2x6x5xf32>, tensor<2x6xi64>
  %w = dl.constant dense<1.0> : tensor<2x6x5xf32>
  %rows, %numbers = dl.sum_rows %w, %i extent = 9 : tensor<2x6x5xf32>, tensor<2x6xi64>
  // CHECK: dl.iota axes = [0, 2] space = [2, 4, 3] : tensor<8x3xi32>
  %n = dl.iota axes = [0, 2] space = [2, 4, 3] : tensor<8x3xi32>
  dl.return %g, %s : tensor<4x2x6xf32>, tensor<4x8xf32>
}

// A physical layout is part of the type.
// CHECK-LABEL: dl.entry @layout
// CHECK-SAME: tensor<2x20x4x5xf32, #program.layout<order = [0, 2, 3, 1], blocks = [1, 8]>>
dl.entry @layout(%x: tensor<2x20x4x5xf32, #program.layout<order = [0, 2, 3, 1], blocks = [1, 8]>>) attributes {kind = #program.entry<infer>} {
  // CHECK: dl.relu %{{.*}} : tensor<2x20x4x5xf32, #program.layout<order = [0, 2, 3, 1], blocks = [1, 8]>>
  %0 = dl.relu %x : tensor<2x20x4x5xf32, #program.layout<order = [0, 2, 3, 1], blocks = [1, 8]>>
  dl.return
}
