// What folds, and what must stay.
// RUN: dlc-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: dl.entry @identities(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xi32>)
// CHECK-NEXT: dl.return %[[X]], %[[X]], %[[X]], %[[X]], %[[I]], %[[I]]
dl.entry @identities(%x: tensor<4xf32>, %i: tensor<4xi32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>) attributes {kind = #program.entry<infer>} {
  %zero = dl.constant dense<0.0> : tensor<4xf32>
  %one = dl.constant dense<1.0> : tensor<4xf32>
  %0 = dl.add %zero, %x : tensor<4xf32>
  %1 = dl.subtract %x, %zero : tensor<4xf32>
  %2 = dl.multiply %one, %x : tensor<4xf32>
  %3 = dl.divide %x, %one : tensor<4xf32>
  %izero = dl.constant dense<0> : tensor<4xi32>
  %ione = dl.constant dense<1> : tensor<4xi32>
  %4 = dl.add %izero, %i : tensor<4xi32>
  %5 = dl.multiply %i, %ione : tensor<4xi32>
  dl.return %0, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>
}

// NaN * 0 is NaN, 0 - x and 1 / x are no identities, and [0, 1] is no 0.
// CHECK-LABEL: dl.entry @no_identities(
// CHECK: dl.multiply
// CHECK: dl.subtract
// CHECK: dl.divide
// CHECK: dl.add
dl.entry @no_identities(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes {kind = #program.entry<infer>} {
  %zero = dl.constant dense<0.0> : tensor<2xf32>
  %one = dl.constant dense<1.0> : tensor<2xf32>
  %some = dl.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %0 = dl.multiply %x, %zero : tensor<2xf32>
  %1 = dl.subtract %zero, %x : tensor<2xf32>
  %2 = dl.divide %one, %x : tensor<2xf32>
  %3 = dl.add %x, %some : tensor<2xf32>
  dl.return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// Splats are computed, through changes of shape and type.
// CHECK-LABEL: dl.entry @splats()
// CHECK-NEXT: %[[C:.*]] = dl.constant dense<-5.000000e-01> : tensor<2x3xf64>
// CHECK-NEXT: dl.return %[[C]] : tensor<2x3xf64>
dl.entry @splats() -> tensor<2x3xf64> attributes {kind = #program.entry<infer>} {
  %a = dl.constant dense<2.0> : tensor<3xf32>
  %b = dl.constant dense<4.0> : tensor<3xf32>
  %0 = dl.divide %a, %b : tensor<3xf32>
  %1 = dl.multiply %0, %b : tensor<3xf32>
  %2 = dl.add %1, %0 : tensor<3xf32>
  %3 = dl.subtract %2, %b : tensor<3xf32>
  %9 = dl.cast %3 : tensor<3xf32> to tensor<3xf64>
  %10 = dl.broadcast %9 dims = [0] : tensor<3xf64> to tensor<3x2xf64>
  %11 = dl.transpose %10 order = [1, 0] : tensor<3x2xf64>
  %12 = dl.reshape %11 : tensor<2x3xf64> to tensor<6xf64>
  %13 = dl.reshape %12 : tensor<6xf64> to tensor<2x3xf64>
  %c = dl.constant dense<1.0> : tensor<2x3xf64>
  %14 = dl.add %13, %c : tensor<2x3xf64>
  dl.return %14 : tensor<2x3xf64>
}

// Changes of shape that change nothing disappear, and chains become one.
// CHECK-LABEL: dl.entry @shapes(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT: %[[R:.*]] = dl.reshape %[[X]] : tensor<2x3x4xf32> to tensor<24xf32>
// CHECK-NEXT: %[[T:.*]] = dl.transpose %[[X]] order = [1, 2, 0] : tensor<2x3x4xf32>
// CHECK-NEXT: dl.return %[[X]], %[[X]], %[[X]], %[[X]], %[[R]], %[[T]], %[[X]]
dl.entry @shapes(%x: tensor<2x3x4xf32>)
    -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<24xf32>, tensor<3x4x2xf32>,
        tensor<2x3x4xf32>) attributes {kind = #program.entry<infer>} {
  %0 = dl.reshape %x : tensor<2x3x4xf32> to tensor<2x3x4xf32>
  %1 = dl.transpose %x order = [0, 1, 2] : tensor<2x3x4xf32>
  %2 = dl.cast %x : tensor<2x3x4xf32> to tensor<2x3x4xf32>
  %3 = dl.broadcast %x dims = [0, 1, 2] : tensor<2x3x4xf32> to tensor<2x3x4xf32>
  %4 = dl.reshape %x : tensor<2x3x4xf32> to tensor<6x4xf32>
  %5 = dl.reshape %4 : tensor<6x4xf32> to tensor<24xf32>
  %6 = dl.transpose %x order = [2, 0, 1] : tensor<2x3x4xf32>
  %7 = dl.transpose %6 order = [2, 0, 1] : tensor<4x2x3xf32>
  %8 = dl.transpose %7 order = [2, 0, 1] : tensor<3x4x2xf32>
  dl.return %0, %1, %2, %3, %5, %7, %8 : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>,
      tensor<24xf32>, tensor<3x4x2xf32>, tensor<2x3x4xf32>
}

// A layout and back is nothing, a chain of conversions one. Three axes to five have short names.
#nhwc = #program.layout<order = [0, 2, 3, 1]>
// CHECK-LABEL: dl.entry @layouts(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4x5xf32>)
// CHECK-NEXT: %[[L:.*]] = dl.convert_layout %[[X]] : tensor<2x3x4x5xf32> to tensor<2x3x4x5xf32, #nhwc>
// CHECK-NEXT: dl.return %[[X]], %[[L]]
dl.entry @layouts(%x: tensor<2x3x4x5xf32>) -> (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32, #nhwc>) attributes {kind = #program.entry<infer>} {
  %0 = dl.convert_layout %x : tensor<2x3x4x5xf32> to tensor<2x3x4x5xf32, #nhwc>
  %1 = dl.convert_layout %0 : tensor<2x3x4x5xf32, #nhwc> to tensor<2x3x4x5xf32>
  %2 = dl.convert_layout %1 : tensor<2x3x4x5xf32> to tensor<2x3x4x5xf32, #program.layout<order = [3, 2, 1, 0]>>
  %3 = dl.convert_layout %2 : tensor<2x3x4x5xf32, #program.layout<order = [3, 2, 1, 0]>> to tensor<2x3x4x5xf32, #nhwc>
  dl.return %1, %3 : tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32, #nhwc>
}

// What is cut out of a padded tensor is cut out of that tensor, and what is cut out of the padding is 0. A piece of both stays.
// CHECK-LABEL: dl.entry @slices_of_pads(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>)
// CHECK-DAG: %[[ZERO:.*]] = dl.constant dense<0.000000e+00> : tensor<1x3xf32>
// CHECK-DAG: %[[PAD:.*]] = dl.pad %[[X]]
// CHECK-DAG: %[[WITHIN:.*]] = dl.slice %[[X]] starts = [1, 0] sizes = [1, 2] steps = [1, 2]
// CHECK-DAG: %[[BOTH:.*]] = dl.slice %[[PAD]]
// CHECK: dl.return %[[X]], %[[WITHIN]], %[[ZERO]], %[[BOTH]]
dl.entry @slices_of_pads(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<1x2xf32>, tensor<1x3xf32>, tensor<2x4xf32>) attributes {kind = #program.entry<infer>} {
  %p = dl.pad %x low = [1, 0] steps = [1, 1] : tensor<2x3xf32> to tensor<4x4xf32>
  %0 = dl.slice %p starts = [1, 0] sizes = [2, 3] steps = [1, 1] : tensor<4x4xf32>
  %1 = dl.slice %p starts = [2, 0] sizes = [1, 2] steps = [1, 2] : tensor<4x4xf32>
  %2 = dl.slice %p starts = [3, 1] sizes = [1, 3] steps = [1, 1] : tensor<4x4xf32>
  %3 = dl.slice %p starts = [0, 0] sizes = [2, 4] steps = [1, 1] : tensor<4x4xf32>
  dl.return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<1x2xf32>, tensor<1x3xf32>, tensor<2x4xf32>
}
