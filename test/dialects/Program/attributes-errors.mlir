// What the attributes of programs refuse.
// RUN: dlc-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{unknown initialiser 'gauss', expected constant, uniform, normal, truncated_normal, orthogonal or copy}}
dl.variable @p : tensor<3xf32> role<parameter> init(<gauss, 0.0, 0.0>)

// -----

// expected-error @+1 {{(C1) the layout's order [0, 0] is not a permutation of 2 axes}}
dl.entry @layout_c1(%x: tensor<2x3xf32, #program.layout<order = [0, 0]>>) attributes {kind = #program.entry<infer>} {
  dl.return
}

// -----

// expected-error @+1 {{(C2) the layout's blocks [1] are not pairs of axis and size}}
dl.entry @layout_c2_pairs(%x: tensor<2x3xf32, #program.layout<order = [0, 1], blocks = [1]>>) attributes {kind = #program.entry<infer>} {
  dl.return
}

// -----

// expected-error @+1 {{(C2) the layout's block of axis 2 by 16 needs an axis below 2 and a size above 1}}
dl.entry @layout_c2_axis(%x: tensor<2x3xf32, #program.layout<order = [0, 1], blocks = [2, 16]>>) attributes {kind = #program.entry<infer>} {
  dl.return
}

// -----

// expected-note @+1 {{the first is here}}
program.settings {epochs = 2 : i64}
// expected-error @+1 {{(C1) is the second of its module}}
program.settings {operations = 3 : i64}

// -----

// expected-error @+1 {{attribute 'epochs' failed to satisfy constraint: 64-bit signless integer attribute}}
program.settings {epochs = 2.0 : f64}
