// RUN: dlc-opt --dl-simplify %s | FileCheck %s

// relu moves behind max_pool, to a quarter of the elements.
// CHECK-LABEL: dl.entry @relu_behind_pool
// CHECK: %[[POOL:.*]] = dl.max_pool %{{.*}} kernel = [2, 2] {{.*}} -> tensor<2x3x4x4xf32>
// CHECK-NEXT: %[[Y:.*]] = dl.relu %[[POOL]] : tensor<2x3x4x4xf32>
// CHECK-NEXT: dl.return %[[Y]]
dl.entry @relu_behind_pool(%x: tensor<2x3x8x8xf32>) -> (tensor<2x3x4x4xf32>) attributes {kind = #program.entry<infer>} {
  %a = dl.relu %x : tensor<2x3x8x8xf32>
  %y = dl.max_pool %a kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x3x8x8xf32> -> tensor<2x3x4x4xf32>
  dl.return %y : tensor<2x3x4x4xf32>
}

// A relu with a second use has to be computed in full anyway.
// CHECK-LABEL: dl.entry @relu_used_twice
// CHECK: dl.relu %{{.*}} : tensor<2x3x8x8xf32>
// CHECK-NEXT: dl.max_pool
dl.entry @relu_used_twice(%x: tensor<2x3x8x8xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x8x8xf32>) attributes {kind = #program.entry<infer>} {
  %a = dl.relu %x : tensor<2x3x8x8xf32>
  %y = dl.max_pool %a kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x3x8x8xf32> -> tensor<2x3x4x4xf32>
  dl.return %y, %a : tensor<2x3x4x4xf32>, tensor<2x3x8x8xf32>
}

// The index of the winner is another one before relu: of negative elements relu makes equal ones.
// CHECK-LABEL: dl.entry @pool_with_index
// CHECK: dl.relu
// CHECK-NEXT: dl.max_pool
dl.entry @pool_with_index(%x: tensor<2x3x8x8xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4x4xui8>) attributes {kind = #program.entry<infer>} {
  %a = dl.relu %x : tensor<2x3x8x8xf32>
  %y, %i = dl.max_pool %a kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<2x3x8x8xf32> -> tensor<2x3x4x4xf32>, tensor<2x3x4x4xui8>
  dl.return %y, %i : tensor<2x3x4x4xf32>, tensor<2x3x4x4xui8>
}

// A dilated window may hold padding only: -infinity there, but 0 if relu came last.
// CHECK-LABEL: dl.entry @window_of_padding
// CHECK: dl.relu
// CHECK-NEXT: dl.max_pool
dl.entry @window_of_padding(%x: tensor<1x1x1xf32>) -> (tensor<1x1x2xf32>) attributes {kind = #program.entry<infer>} {
  %a = dl.relu %x : tensor<1x1x1xf32>
  %y = dl.max_pool %a kernel = [2] strides = [1] padding = [2, 2] dilations = [3] : tensor<1x1x1xf32> -> tensor<1x1x2xf32>
  dl.return %y : tensor<1x1x2xf32>
}

dl.variable @w : tensor<4xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)

// Constants fold; dead ops and reads go.
// CHECK-LABEL: dl.entry @folds
// CHECK-NEXT: %[[HALF:.*]] = dl.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK-NEXT: dl.return %[[HALF]]
dl.entry @folds() -> (tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  %w = dl.read @w : tensor<4xf32>
  %dead = dl.exp %w : tensor<4xf32>
  %one = dl.constant dense<1.0> : tensor<f32>
  %two = dl.constant dense<2.0> : tensor<f32>
  %half = dl.divide %one, %two : tensor<f32>
  %y = dl.broadcast %half dims = [] : tensor<f32> to tensor<4xf32>
  dl.return %y : tensor<4xf32>
}

// Nothing folds where a gradient tells x from x * 1: by %b it is 1, by %x it would be 2.
// CHECK-LABEL: dl.entry @with_a_gradient
// CHECK: %[[B:.*]] = dl.multiply
// CHECK: dl.gradient %{{.*}} by %[[B]]
dl.entry @with_a_gradient(%x: tensor<f32>) -> (tensor<f32>) attributes {kind = #program.entry<infer>} {
  %one = dl.constant dense<1.0> : tensor<f32>
  %b = dl.multiply %x, %one : tensor<f32>
  %y = dl.add %x, %b : tensor<f32>
  %g = dl.gradient %y by %b : tensor<f32> by tensor<f32>
  dl.return %g : tensor<f32>
}

// A factor that is the same for all terms of a sum leaves it, and so does a sign.
// CHECK-LABEL: dl.entry @factor_of_sum(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>, %[[V:.*]]: tensor<3xf32>
// CHECK-NEXT: %[[S:.*]] = dl.reduce sum %[[X]] axes = [0, 2]
// CHECK-NEXT: %[[P:.*]] = dl.multiply %[[S]], %[[V]]
// CHECK-NEXT: %[[N:.*]] = dl.negate %[[P]]
// CHECK-NEXT: dl.return %[[N]]
dl.entry @factor_of_sum(%x: tensor<2x3x4xf32>, %v: tensor<3xf32>) -> (tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  %0 = dl.broadcast %v dims = [1] : tensor<3xf32> to tensor<2x3x4xf32>
  %1 = dl.multiply %0, %x : tensor<2x3x4xf32>
  %2 = dl.negate %1 : tensor<2x3x4xf32>
  %3 = dl.reduce sum %2 axes = [0, 2] : tensor<2x3x4xf32>
  dl.return %3 : tensor<3xf32>
}

// The sum keeps more axes than the factor has.
// CHECK-LABEL: dl.entry @factor_of_matrix(
// CHECK-DAG: %[[S:.*]] = dl.reduce sum %{{.*}} axes = [2]
// CHECK-DAG: %[[V:.*]] = dl.broadcast %{{.*}} dims = [1] : tensor<3xf32> to tensor<2x3xf32>
// CHECK: dl.multiply %[[S]], %[[V]]
dl.entry @factor_of_matrix(%x: tensor<2x3x4xf32>, %v: tensor<3xf32>) -> (tensor<2x3xf32>) attributes {kind = #program.entry<infer>} {
  %0 = dl.broadcast %v dims = [1] : tensor<3xf32> to tensor<2x3x4xf32>
  %1 = dl.multiply %x, %0 : tensor<2x3x4xf32>
  %2 = dl.reduce sum %1 axes = [2] : tensor<2x3x4xf32>
  dl.return %2 : tensor<2x3xf32>
}

// A factor that differs between the terms stays, as does one of a maximum, and one whose product is stored for others
// while x is not.
// CHECK-LABEL: dl.entry @factors_that_stay(
// CHECK: %[[P:.*]] = dl.multiply
// CHECK: dl.reduce sum %[[P]] axes = [1]
// CHECK: dl.reduce max %[[P]]
// CHECK: %[[Q:.*]] = dl.multiply
// CHECK: dl.reduce sum %[[Q]]
dl.entry @factors_that_stay(%x: tensor<2x3xf32>, %v: tensor<3xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2x3xf32>) attributes {kind = #program.entry<infer>} {
  %0 = dl.broadcast %v dims = [1] : tensor<3xf32> to tensor<2x3xf32>
  %1 = dl.multiply %x, %0 : tensor<2x3xf32>
  %2 = dl.reduce sum %1 axes = [1] : tensor<2x3xf32>
  %3 = dl.reduce max %1 axes = [0] : tensor<2x3xf32>
  %4 = dl.exp %x : tensor<2x3xf32>
  %5 = dl.broadcast %w dims = [0] : tensor<2xf32> to tensor<2x3xf32>
  %6 = dl.multiply %4, %5 : tensor<2x3xf32>
  %7 = dl.reduce sum %6 axes = [1] : tensor<2x3xf32>
  dl.return %2, %3, %7, %6 : tensor<2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2x3xf32>
}

// An op of one operand goes in front of a reshape, to what computes that.
// CHECK-LABEL: dl.entry @in_front_of_reshape(
// CHECK: %[[P:.*]] = dl.multiply
// CHECK-NEXT: %[[R:.*]] = dl.relu %[[P]] : tensor<2x3x4xf32>
// CHECK-NEXT: %[[Y:.*]] = dl.reshape %[[R]] : tensor<2x3x4xf32> to tensor<6x4xf32>
// CHECK-NEXT: dl.return %[[Y]]
dl.entry @in_front_of_reshape(%x: tensor<2x3x4xf32>, %z: tensor<2x3x4xf32>) -> (tensor<6x4xf32>) attributes {kind = #program.entry<infer>} {
  %0 = dl.multiply %x, %z : tensor<2x3x4xf32>
  %1 = dl.reshape %0 : tensor<2x3x4xf32> to tensor<6x4xf32>
  %2 = dl.relu %1 : tensor<6x4xf32>
  dl.return %2 : tensor<6x4xf32>
}

// One whose operands are reshaped goes behind the next reshape: here all of them meet.
// CHECK-LABEL: dl.entry @behind_reshape(
// CHECK-NOT: dl.reshape
// CHECK: %[[M:.*]] = dl.compare gt %{{.*}}, %{{.*}} : tensor<2x3x4xf32>
// CHECK: dl.select %[[M]], %{{.*}}, %{{.*}} : tensor<2x3x4xf32>
// CHECK-NOT: dl.reshape
// CHECK: dl.return
dl.entry @behind_reshape(%y: tensor<2x3x4xf32>, %dy: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>) attributes {kind = #program.entry<infer>} {
  %0 = dl.reshape %y : tensor<2x3x4xf32> to tensor<6x4xf32>
  %1 = dl.reshape %dy : tensor<2x3x4xf32> to tensor<6x4xf32>
  %zero = dl.constant dense<0.0> : tensor<6x4xf32>
  %m = dl.compare gt %0, %zero : tensor<6x4xf32>
  %2 = dl.select %m, %1, %zero : tensor<6x4xf32>
  %3 = dl.reshape %2 : tensor<6x4xf32> to tensor<2x3x4xf32>
  dl.return %3 : tensor<2x3x4xf32>
}

// Reshapes stay where others need the tensor in the other shape, and where no kernel computes what is reshaped.
// CHECK-LABEL: dl.entry @reshapes_that_stay(
// CHECK: %[[R:.*]] = dl.reshape %{{.*}} : tensor<2x3x4xf32> to tensor<6x4xf32>
// CHECK: dl.relu %[[R]]
// CHECK: %[[S:.*]] = dl.reshape
// CHECK: dl.relu %[[S]]
dl.entry @reshapes_that_stay(%x: tensor<2x3x4xf32>) -> (tensor<6x4xf32>, tensor<2x3x4xf32>, tensor<6x4xf32>) attributes {kind = #program.entry<infer>} {
  %0 = dl.exp %x : tensor<2x3x4xf32>
  %1 = dl.reshape %0 : tensor<2x3x4xf32> to tensor<6x4xf32>
  %2 = dl.relu %1 : tensor<6x4xf32>
  %3 = dl.reshape %x : tensor<2x3x4xf32> to tensor<6x4xf32>
  %4 = dl.relu %3 : tensor<6x4xf32>
  dl.return %2, %0, %4 : tensor<6x4xf32>, tensor<2x3x4xf32>, tensor<6x4xf32>
}

// What stands between reshapes takes the outer shape at once: a piece at a time, the two rules would undo each other.
// CHECK-LABEL: dl.entry @between_reshapes(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<24xf32>
// CHECK: %[[R:.*]] = dl.reshape %[[X]] : tensor<24xf32> to tensor<6x4xf32>
// CHECK: %[[E:.*]] = dl.exp %[[R]] : tensor<6x4xf32>
// CHECK: %[[Y:.*]] = dl.relu %[[E]] : tensor<6x4xf32>
// CHECK: dl.return %[[Y]]
dl.entry @between_reshapes(%x: tensor<24xf32>) -> (tensor<6x4xf32>) attributes {kind = #program.entry<infer>} {
  %0 = dl.reshape %x : tensor<24xf32> to tensor<2x3x4xf32>
  %1 = dl.exp %0 : tensor<2x3x4xf32>
  %2 = dl.reshape %1 : tensor<2x3x4xf32> to tensor<8x3xf32>
  %3 = dl.relu %2 : tensor<8x3xf32>
  %4 = dl.reshape %3 : tensor<8x3xf32> to tensor<6x4xf32>
  dl.return %4 : tensor<6x4xf32>
}

// A product of rows that are looked up, of each row twice on the average, is made once for each row of the table.
// CHECK-LABEL: dl.entry @lookup_in_front_of_product(
// CHECK: %[[I:.*]] = dl.reshape %arg0 : tensor<4x3xi32> to tensor<12xi32>
// CHECK: %[[P:.*]] = dl.matmul %arg1, %arg2 transpose_b : tensor<6x16xf32>, tensor<5x16xf32>
// CHECK: %[[Y:.*]] = dl.gather %[[P]], %[[I]] axis = 0 : tensor<6x5xf32>, tensor<12xi32>
// CHECK-NEXT: dl.return %[[Y]]
dl.entry @lookup_in_front_of_product(%i: tensor<4x3xi32>, %table: tensor<6x16xf32>, %w: tensor<5x16xf32>) -> (tensor<12x5xf32>) attributes {kind = #program.entry<infer>} {
  %0 = dl.gather %table, %i axis = 0 : tensor<6x16xf32>, tensor<4x3xi32>
  %1 = dl.reshape %0 : tensor<4x3x16xf32> to tensor<12x16xf32>
  %2 = dl.matmul %1, %w transpose_b : tensor<12x16xf32>, tensor<5x16xf32>
  dl.return %2 : tensor<12x5xf32>
}

// It stays where the table has more rows than that, where rows are short, and where a row of the product is not one of the table.
// CHECK-LABEL: dl.entry @lookups_that_stay(
// CHECK-COUNT-3: dl.gather
// CHECK: dl.matmul %{{.*}} : tensor<12x16xf32>, tensor<16x5xf32>
// CHECK: dl.matmul %{{.*}} : tensor<12x15xf32>, tensor<15x5xf32>
// CHECK: dl.matmul %{{.*}} : tensor<6x32xf32>, tensor<32x5xf32>
dl.entry @lookups_that_stay(%i: tensor<12xi32>, %a: tensor<7x16xf32>, %b: tensor<6x15xf32>, %c: tensor<6x16xf32>, %v: tensor<16x5xf32>, %w: tensor<15x5xf32>, %u: tensor<32x5xf32>) -> (tensor<12x5xf32>, tensor<12x5xf32>, tensor<6x5xf32>) attributes {kind = #program.entry<infer>} {
  %0 = dl.gather %a, %i axis = 0 : tensor<7x16xf32>, tensor<12xi32>
  %1 = dl.gather %b, %i axis = 0 : tensor<6x15xf32>, tensor<12xi32>
  %2 = dl.gather %c, %i axis = 0 : tensor<6x16xf32>, tensor<12xi32>
  %3 = dl.reshape %2 : tensor<12x16xf32> to tensor<6x32xf32>
  %4 = dl.matmul %0, %v : tensor<12x16xf32>, tensor<16x5xf32>
  %5 = dl.matmul %1, %w : tensor<12x15xf32>, tensor<15x5xf32>
  %6 = dl.matmul %3, %u : tensor<6x32xf32>, tensor<32x5xf32>
  dl.return %4, %5, %6 : tensor<12x5xf32>, tensor<12x5xf32>, tensor<6x5xf32>
}

// What is widened and rounded to what it was is what it was; rounding what was wide stays.
// CHECK-LABEL: dl.entry @widened
// CHECK: %[[X:.*]] = dl.cast %{{.*}} : tensor<4xf32> to tensor<4xbf16>
// CHECK-NEXT: %[[WIDE:.*]] = dl.cast %[[X]] : tensor<4xbf16> to tensor<4xf32>
// CHECK-NEXT: dl.return %[[WIDE]], %[[X]]
dl.entry @widened(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xbf16>) attributes {kind = #program.entry<infer>} {
  %narrow = dl.cast %x : tensor<4xf32> to tensor<4xbf16>
  %wide = dl.cast %narrow : tensor<4xbf16> to tensor<4xf32>
  %again = dl.cast %wide : tensor<4xf32> to tensor<4xbf16>
  dl.return %wide, %again : tensor<4xf32>, tensor<4xbf16>
}
