// Each constraint of the ops on constants, shapes, reductions and products.
// RUN: dlc-opt %s --split-input-file --verify-diagnostics

dl.entry @iota_c1() attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.iota' op (C1) has axis 2, but rank 2}}
  %0 = dl.iota axes = [2] : tensor<2x3xi32>
  dl.return
}

// -----

dl.entry @iota_c1_twice() attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.iota' op (C1) has axis 1 twice}}
  %0 = dl.iota axes = [1, 1] : tensor<2x3xi32>
  dl.return
}

// -----

dl.entry @iota_c2() attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.iota' op (C2) has a space of 8 elements for 'tensor<2x3xi32>'}}
  %0 = dl.iota axes = [0] space = [2, 4] : tensor<2x3xi32>
  dl.return
}

// -----

dl.entry @iota_c1_negative() attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.iota' op (C1) has axis -1, but rank 2}}
  %0 = dl.iota axes = [-1] : tensor<2x3xi32>
  dl.return
}

// -----

dl.entry @constant() attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.constant' op failed to verify that all of {value, result} have same type}}
  %0 = "dl.constant"() {value = dense<1.0> : tensor<3xf32>} : () -> tensor<4xf32>
  dl.return
}

// -----

dl.entry @broadcast_c1(%x: tensor<3x4xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.broadcast' op (C1) expects 2 rising dims below 3, found [2, 1]}}
  %0 = dl.broadcast %x dims = [2, 1] : tensor<3x4xf32> to tensor<2x4x3xf32>
  dl.return
}

// -----

dl.entry @broadcast_c1_count(%x: tensor<3x4xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.broadcast' op (C1) expects 2 rising dims below 3, found [1]}}
  %0 = dl.broadcast %x dims = [1] : tensor<3x4xf32> to tensor<2x3x4xf32>
  dl.return
}

// -----

dl.entry @broadcast_c2(%x: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.broadcast' op (C2) axis 0 has size 3, expected 1 or 2, the size of the result's axis 0}}
  %0 = dl.broadcast %x dims = [0] : tensor<3xf32> to tensor<2x3xf32>
  dl.return
}

// -----

dl.entry @broadcast_c3(%x: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.broadcast' op (C3) expects equal element types, found 'tensor<3xf32>' and 'tensor<2x3xf64>'}}
  %0 = dl.broadcast %x dims = [1] : tensor<3xf32> to tensor<2x3xf64>
  dl.return
}

// -----

dl.entry @reshape_c1(%x: tensor<2x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.reshape' op (C1) expects equal element counts and types, found 'tensor<2x6xf32>' and 'tensor<13xf32>'}}
  %0 = dl.reshape %x : tensor<2x6xf32> to tensor<13xf32>
  dl.return
}

// -----

dl.entry @reshape_c1_type(%x: tensor<2x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.reshape' op (C1) expects equal element counts and types}}
  %0 = dl.reshape %x : tensor<2x6xf32> to tensor<12xi32>
  dl.return
}

// -----

dl.entry @transpose_c1(%x: tensor<2x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.transpose: (C1) order [1, 1] is not a permutation of 2 axes}}
  %0 = dl.transpose %x order = [1, 1] : tensor<2x6xf32>
  dl.return
}

// -----

dl.entry @reduce_c1(%x: tensor<2x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.reduce: (C1) expects rising axes below 2, found [0, 2]}}
  %0 = dl.reduce sum %x axes = [0, 2] : tensor<2x6xf32>
  dl.return
}

// -----

dl.entry @reduce_c2(%x: tensor<0x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.reduce: (C2) max over axis 0, which is empty}}
  %0 = dl.reduce max %x axes = [0] : tensor<0x6xf32>
  dl.return
}

// -----

dl.entry @moments_c1(%x: tensor<2x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.moments: (C1) expects rising axes below 2, found [1, 0]}}
  %0:2 = dl.moments %x axes = [1, 0] : tensor<2x6xf32>
  dl.return
}

// -----

dl.entry @moments_c2(%x: tensor<3x0xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.moments: (C2) mean over axis 1, which is empty}}
  %0:2 = dl.moments %x axes = [1] : tensor<3x0xf32>
  dl.return
}

// -----

dl.entry @matmul_c1(%a: tensor<2x3x4xf32>, %b: tensor<5x4x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.matmul: (C1) expects equal ranks of at least 2 and equal batch axes, found 'tensor<2x3x4xf32>' and 'tensor<5x4x3xf32>'}}
  %0 = dl.matmul %a, %b : tensor<2x3x4xf32>, tensor<5x4x3xf32>
  dl.return
}

// -----

dl.entry @matmul_c1_vectors(%a: tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.matmul: (C1) expects equal ranks of at least 2}}
  %0 = dl.matmul %a, %a : tensor<4xf32>, tensor<4xf32>
  dl.return
}

// -----

dl.entry @matmul_c2(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.matmul: (C2) expects equal inner sizes, found 4 and 5}}
  %0 = dl.matmul %a, %b transpose_b : tensor<3x4xf32>, tensor<4x5xf32>
  dl.return
}

// -----

dl.entry @matmul_c3(%a: tensor<3x4xf32>, %b: tensor<4x5xf64>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.matmul: (C3) expects equal element types, found 'tensor<3x4xf32>' and 'tensor<4x5xf64>'}}
  %0 = dl.matmul %a, %b : tensor<3x4xf32>, tensor<4x5xf64>
  dl.return
}

// -----

dl.entry @slice_c1(%x: tensor<4x10xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.slice: (C1) expects 2 starts, sizes and steps, found 1, 2 and 2}}
  %0 = dl.slice %x starts = [0] sizes = [4, 10] steps = [1, 1] : tensor<4x10xf32>
  dl.return
}

// -----

dl.entry @slice_c2(%x: tensor<4x10xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.slice: (C2) axis 1 of size 10 has no 5 elements from 2 in steps of 2}}
  %0 = dl.slice %x starts = [0, 2] sizes = [4, 5] steps = [1, 2] : tensor<4x10xf32>
  dl.return
}

// -----

dl.entry @pad_c1_types(%x: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.pad' op (C1) expects equal ranks and element types, found 'tensor<3xf32>' and 'tensor<4x3xf32>'}}
  %0 = dl.pad %x low = [0] steps = [1] : tensor<3xf32> to tensor<4x3xf32>
  dl.return
}

// -----

dl.entry @pad_c1_numbers(%x: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.pad' op (C1) expects 1 numbers in low and steps, found 1 and 2}}
  %0 = dl.pad %x low = [0] steps = [1, 1] : tensor<3xf32> to tensor<4xf32>
  dl.return
}

// -----

dl.entry @pad_c2(%x: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.pad' op (C2) axis 0 of the result, of size 5, does not hold 3 elements from 1 in steps of 2}}
  %0 = dl.pad %x low = [1] steps = [2] : tensor<3xf32> to tensor<5xf32>
  dl.return
}

// -----

dl.entry @all_reduce_c1() attributes {kind = #program.entry<infer>} {
  // expected-error @+2 {{(C1) has nothing to reduce}}
  // expected-error @+1 {{failed to infer returned types}}
  "dl.all_reduce"() {kind = #program<collective sum>, channel = 0 : i64} : () -> ()
  dl.return
}

// -----

dl.entry @all_reduce_c1_types(%a: tensor<3xf32>, %b: tensor<3xf64>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{(C1) expects one element type, found 'tensor<3xf64>' beside 'tensor<3xf32>'}}
  %s:2 = dl.all_reduce sum %a, %b channel 0 : tensor<3xf32>, tensor<3xf64>
  dl.return
}

// -----

dl.entry @all_reduce_c2(%a: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{(C2) is on channel 2, expected 0 or 1}}
  %s = dl.all_reduce sum %a channel 2 : tensor<3xf32>
  dl.return
}

// -----

dl.entry @all_reduce_c4(%a: tensor<3xf64>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.all_reduce' op (C4) compresses f32, found 'f64'}}
  %s = dl.all_reduce sum_one_bit %a channel 0 : tensor<3xf64>
  dl.return
}

// -----

dl.entry @all_reduce_c3(%a: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.all_reduce' op (C3) names 2 parameters for 1 tensors}}
  %s = dl.all_reduce sum %a channel 0 {of = [@a, @b]} : tensor<3xf32>
  dl.return
}

// -----

dl.entry @concat_c1_axis(%x: tensor<4x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.concat: (C1) has axis 2, but rank 2}}
  %0 = dl.concat %x, %x axis = 2 : tensor<4x3xf32>, tensor<4x3xf32>
  dl.return
}

// -----

dl.entry @concat_c1_nothing() attributes {kind = #program.entry<infer>} {
  // expected-error @+2 {{dl.concat: (C1) has nothing to join}}
  // expected-error @+1 {{'dl.concat' op failed to infer returned types}}
  %0 = "dl.concat"() {axis = 0 : i64} : () -> tensor<4xf32>
  dl.return
}

// -----

dl.entry @concat_c2(%x: tensor<4x3xf32>, %y: tensor<5x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.concat: (C2) expects tensors that differ along axis 1 only, found 'tensor<4x3xf32>' and 'tensor<5x3xf32>'}}
  %0 = dl.concat %x, %y axis = 1 : tensor<4x3xf32>, tensor<5x3xf32>
  dl.return
}

// -----

dl.entry @gather_c1(%x: tensor<4x3xf32>, %i: tensor<2xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.gather: (C1) has axis 2, but rank 2}}
  %0 = dl.gather %x, %i axis = 2 : tensor<4x3xf32>, tensor<2xi32>
  dl.return
}

// -----

dl.entry @scatter_add_c1(%v: tensor<2x3xf32>, %i: tensor<2xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.scatter_add: (C1) has axis -1, but rank 2}}
  %0 = dl.scatter_add %v, %i axis = -1 : tensor<2x3xf32>, tensor<2xi32> to tensor<4x3xf32>
  dl.return
}

// -----

dl.entry @scatter_add_c2(%v: tensor<2x3xf32>, %i: tensor<2xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.scatter_add' op (C2) expects values of 'tensor<4x2xf32>', found 'tensor<2x3xf32>'}}
  %0 = dl.scatter_add %v, %i axis = 1 : tensor<2x3xf32>, tensor<2xi32> to tensor<4x3xf32>
  dl.return
}

// -----

dl.entry @sum_rows_c1(%v: tensor<3x2xf32>, %i: tensor<2xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.sum_rows: (C1) expects values of a shape that begins with that of 'tensor<2xi32>', found 'tensor<3x2xf32>'}}
  %rows, %numbers = dl.sum_rows %v, %i extent = 4 : tensor<3x2xf32>, tensor<2xi32>
  dl.return
}

// -----

dl.entry @sum_rows_c2(%v: tensor<2x3xf32>, %i: tensor<2xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.sum_rows: (C2) expects an extent of 0 or more, found -1}}
  %rows, %numbers = dl.sum_rows %v, %i extent = -1 : tensor<2x3xf32>, tensor<2xi32>
  dl.return
}
