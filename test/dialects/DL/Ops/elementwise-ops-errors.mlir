// What element-wise ops refuse.
// RUN: dlc-opt %s --split-input-file --verify-diagnostics

dl.entry @shapes(%a: tensor<4xf32>, %b: tensor<5xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.add' op requires the same type for all operands and results}}
  %0 = "dl.add"(%a, %b) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  dl.return
}

// -----

dl.entry @cast(%a: tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.cast' op requires the same shape for all operands and results}}
  %0 = dl.cast %a : tensor<4xf32> to tensor<5xi32>
  dl.return
}

// -----

dl.entry @integers(%a: tensor<4xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.relu' op operand #0 must be statically shaped tensor of 32-bit float or 64-bit float or bfloat16 type or 16-bit float values}}
  %0 = dl.relu %a : tensor<4xi32>
  dl.return
}

// -----

dl.entry @dynamic(%a: tensor<?xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.relu' op operand #0 must be statically shaped}}
  %0 = dl.relu %a : tensor<?xf32>
  dl.return
}

// -----

dl.entry @condition(%m: tensor<5xi1>, %a: tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.select' op failed to verify that condition is bool of the same shape}}
  %0 = "dl.select"(%m, %a, %a) : (tensor<5xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  dl.return
}

// -----

dl.entry @predicate(%a: tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{one of the following enum values for attribute 'predicate' [eq, ne, lt, le, gt, ge]}}
  %0 = dl.compare less %a, %a : tensor<4xf32>
  dl.return
}

// -----

dl.entry @layout_shape(%a: tensor<4x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.convert_layout' op requires the same shape for all operands and results}}
  %0 = dl.convert_layout %a : tensor<4x3xf32> to tensor<3x4xf32, #program.layout<order = [1, 0]>>
  dl.return
}

// -----

dl.entry @random_c1(%i: tensor<4xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.random' op (C1) gives 'tensor<4xf32>' for bits}}
  %0 = dl.random bits %i, %i, %i, %i, %i, %i path = 3 : tensor<4xi32> to tensor<4xf32>
  dl.return
}

// -----

dl.entry @random_c1_uniform(%i: tensor<4xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.random' op (C1) gives 'tensor<4xi32>' for uniform}}
  %0 = dl.random uniform %i, %i, %i, %i, %i, %i path = 3 : tensor<4xi32> to tensor<4xi32>
  dl.return
}

// -----

dl.entry @layout_element(%a: tensor<4x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.convert_layout' op requires the same element type for all operands and results}}
  %0 = dl.convert_layout %a : tensor<4x3xf32> to tensor<4x3xi32, #program.layout<order = [1, 0]>>
  dl.return
}
