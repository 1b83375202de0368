// Each constraint of convolutions, pooling and losses.
// RUN: dlc-opt %s --split-input-file --verify-diagnostics

dl.entry @convolution_c1(%x: tensor<2x4xf32>, %w: tensor<6x4xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.convolution: (C1) expects equal ranks from 3 to 5 and equal element types, found 'tensor<2x4xf32>' and 'tensor<6x4xf32>'}}
  %y = dl.convolution %x, %w strides = [] padding = [] dilations = [] groups = 1 : tensor<2x4xf32>, tensor<6x4xf32>
  dl.return
}

// -----

dl.entry @convolution_c1_ranks(%x: tensor<2x4x5x6xf32>, %w: tensor<6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.convolution: (C1) expects equal ranks}}
  %y = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<2x4x5x6xf32>, tensor<6xf32>
  dl.return
}

// -----

dl.entry @convolution_c2_stride(%x: tensor<2x4x5x6xf32>, %w: tensor<6x4x2x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.convolution: (C2) expects 2 strides and dilations of at least 1 and 4 paddings of at least 0, all below 2^31}}
  %y = dl.convolution %x, %w strides = [0, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<2x4x5x6xf32>, tensor<6x4x2x3xf32>
  dl.return
}

// -----

dl.entry @convolution_c2_padding(%x: tensor<2x4x5x6xf32>, %w: tensor<6x4x2x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.convolution: (C2) expects}}
  %y = dl.convolution %x, %w strides = [1, 1] padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<2x4x5x6xf32>, tensor<6x4x2x3xf32>
  dl.return
}

// -----

dl.entry @convolution_c2_huge(%x: tensor<2x4x5x6xf32>, %w: tensor<6x4x2x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.convolution: (C2) expects}}
  %y = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 4611686018427387904] groups = 1 : tensor<2x4x5x6xf32>, tensor<6x4x2x3xf32>
  dl.return
}

// -----

dl.entry @convolution_c3(%x: tensor<2x4x5x6xf32>, %w: tensor<6x4x2x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.convolution: (C3) 2 groups do not fit 4 channels and filters 'tensor<6x4x2x3xf32>'}}
  %y = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 2 : tensor<2x4x5x6xf32>, tensor<6x4x2x3xf32>
  dl.return
}

// -----

dl.entry @convolution_c3_zero(%x: tensor<2x4x5x6xf32>, %w: tensor<6x4x2x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.convolution: (C3) 0 groups do not fit}}
  %y = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 0 : tensor<2x4x5x6xf32>, tensor<6x4x2x3xf32>
  dl.return
}

// -----

dl.entry @convolution_c4(%x: tensor<2x4x5x6xf32>, %w: tensor<6x4x2x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.convolution: (C4) on spatial axis 1 the kernel spans 9 of the padded input's 7}}
  %y = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 1, 0] dilations = [1, 4] groups = 1 : tensor<2x4x5x6xf32>, tensor<6x4x2x3xf32>
  dl.return
}

// -----

dl.entry @backward_data_c3(%dy: tensor<2x6x4x4xf32>, %w: tensor<6x4x2x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.convolution_backward_data' op (C3) 2 groups do not fit 4 channels}}
  %dx = dl.convolution_backward_data %dy, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 2
      : tensor<2x6x4x4xf32>, tensor<6x4x2x3xf32> to tensor<2x4x5x6xf32>
  dl.return
}

// -----

dl.entry @backward_data_c5(%dy: tensor<2x6x4x5xf32>, %w: tensor<6x4x2x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.convolution_backward_data' op (C5) expects dy to be 'tensor<2x6x4x4xf32>', found 'tensor<2x6x4x5xf32>'}}
  %dx = dl.convolution_backward_data %dy, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1
      : tensor<2x6x4x5xf32>, tensor<6x4x2x3xf32> to tensor<2x4x5x6xf32>
  dl.return
}

// -----

dl.entry @backward_filter_c5(%x: tensor<2x4x5x6xf32>, %dy: tensor<3x6x4x4xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.convolution_backward_filter' op (C5) expects dy to be 'tensor<2x6x4x4xf32>', found 'tensor<3x6x4x4xf32>'}}
  %dw = dl.convolution_backward_filter %x, %dy strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1
      : tensor<2x4x5x6xf32>, tensor<3x6x4x4xf32> to tensor<6x4x2x3xf32>
  dl.return
}

// -----

dl.entry @pool_c1(%x: tensor<2x3x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.max_pool' op (C1) expects equal ranks from 3 to 5, batch, channels and element types, found 'tensor<2x3x6xf32>' and 'tensor<2x4x3xf32>'}}
  %0 = dl.max_pool %x kernel = [2] strides = [2] padding = [0, 0] dilations = [1] : tensor<2x3x6xf32> -> tensor<2x4x3xf32>
  dl.return
}

// -----

dl.entry @pool_c2_count(%x: tensor<2x3x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.average_pool' op (C2) expects 1 kernel sizes, strides and dilations of at least 1 and 2 paddings of at least 0, all below 2^31}}
  %0 = dl.average_pool %x kernel = [2, 2] strides = [2] padding = [0, 0] dilations = [1] : tensor<2x3x6xf32> -> tensor<2x3x3xf32>
  dl.return
}

// -----

dl.entry @pool_c2_padding(%x: tensor<2x3x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.max_pool' op (C2) on spatial axis 0 the padding 0, 2 is not below the window's extent 2}}
  %0 = dl.max_pool %x kernel = [2] strides = [2] padding = [0, 2] dilations = [1] : tensor<2x3x6xf32> -> tensor<2x3x4xf32>
  dl.return
}

// -----

dl.entry @pool_c3(%x: tensor<2x3x17x17xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.max_pool' op (C3) the index of a window of 289 elements does not fit a byte}}
  %0, %1 = dl.max_pool %x kernel = [17, 17] strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1]
      : tensor<2x3x17x17xf32> -> tensor<2x3x1x1xf32>, tensor<2x3x1x1xui8>
  dl.return
}

// -----

dl.entry @pool_c3_bits(%x: tensor<2x3x6x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.max_pool' op (C3) the index of a window of 9 elements does not fit 2 bits}}
  %0, %1 = dl.max_pool %x kernel = [3, 3] strides = [3, 3] padding = [0, 0, 0, 0] dilations = [1, 1]
      : tensor<2x3x6x6xf32> -> tensor<2x3x2x2xf32>, tensor<2x3x2x2xui2>
  dl.return
}

// -----

dl.entry @pool_c4(%x: tensor<2x3x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.max_pool' op (C4) on spatial axis 0 a window of extent 2 and stride 2 over 6 elements padded by 0, 0 cannot give 4}}
  %0 = dl.max_pool %x kernel = [2] strides = [2] padding = [0, 0] dilations = [1] : tensor<2x3x6xf32> -> tensor<2x3x4xf32>
  dl.return
}

// -----

// The ceil size is 4, but its last window would start in the padding.
dl.entry @pool_c4_ceil(%x: tensor<2x3x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.average_pool' op (C4) on spatial axis 0 a window of extent 2 and stride 2 over 6 elements padded by 0, 1 cannot give 4}}
  %0 = dl.average_pool %x kernel = [2] strides = [2] padding = [0, 1] dilations = [1] : tensor<2x3x6xf32> -> tensor<2x3x4xf32>
  dl.return
}

// -----

dl.entry @average_pool_backward_c4(%dy: tensor<2x3x4xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.average_pool_backward' op (C4) on spatial axis 0}}
  %0 = dl.average_pool_backward %dy kernel = [2] strides = [2] padding = [0, 0] dilations = [1] : tensor<2x3x4xf32> to tensor<2x3x6xf32>
  dl.return
}

// -----

dl.entry @pool_c5(%dy: tensor<2x3x3xf32>, %i: tensor<2x3x4xui8>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.max_pool_backward' op (C5) expects the index to have the shape of 'tensor<2x3x3xf32>', found 'tensor<2x3x4xui8>'}}
  %0 = dl.max_pool_backward %dy, %i kernel = [2] strides = [2] padding = [0, 0] dilations = [1]
      : tensor<2x3x3xf32>, tensor<2x3x4xui8> to tensor<2x3x6xf32>
  dl.return
}

// -----

dl.entry @sliding_sum_c1(%x: tensor<2x3x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.sliding_sum' op (C1) has axis 3 for rank 3}}
  %0 = dl.sliding_sum %x axis = 3 before = 1 after = 1 : tensor<2x3x6xf32>
  dl.return
}

// -----

dl.entry @sliding_sum_c2(%x: tensor<2x3x6xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.sliding_sum' op (C2) sums up to 4 elements on one side, for 3 along axis 1}}
  %0 = dl.sliding_sum %x axis = 1 before = 1 after = 4 : tensor<2x3x6xf32>
  dl.return
}

// -----

dl.entry @gather_c5(%x: tensor<2x3x6xf32>, %i: tensor<2x3x4xui8>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.max_pool_gather' op (C5) expects the index to have the shape of 'tensor<2x3x3xf32>', found 'tensor<2x3x4xui8>'}}
  %0 = dl.max_pool_gather %x, %i kernel = [2] strides = [2] padding = [0, 0] dilations = [1]
      : tensor<2x3x6xf32>, tensor<2x3x4xui8> to tensor<2x3x3xf32>
  dl.return
}

// -----

dl.entry @loss_c1(%x: tensor<2x5xf32>, %label: tensor<2xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.softmax_cross_entropy: (C1) has axis 2, but rank 2}}
  %0 = dl.softmax_cross_entropy %x, %label axis = 2 : tensor<2x5xf32>, tensor<2xi32>
  dl.return
}

// -----

dl.entry @loss_c2(%x: tensor<2x5xf32>, %label: tensor<5xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.accuracy: (C2) expects at least one class on axis 1 and a label for each sample, found 'tensor<2x5xf32>' and 'tensor<5xi32>'}}
  %0 = dl.accuracy %x, %label axis = 1 : tensor<2x5xf32>, tensor<5xi32>
  dl.return
}

// -----

dl.entry @loss_c2_empty(%x: tensor<2x0xf32>, %label: tensor<2xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.softmax_cross_entropy: (C2) expects at least one class on axis 1}}
  %0 = dl.softmax_cross_entropy %x, %label axis = 1 : tensor<2x0xf32>, tensor<2xi32>
  dl.return
}

// -----

dl.entry @loss_backward_c3(%dloss: tensor<3xf32>, %x: tensor<2x5xf32>, %label: tensor<2xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.softmax_cross_entropy_backward: (C3) expects dloss to be 'tensor<2xf32>', found 'tensor<3xf32>'}}
  %0 = dl.softmax_cross_entropy_backward %dloss, %x, %label axis = 1 : tensor<3xf32>, tensor<2x5xf32>, tensor<2xi32>
  dl.return
}

// -----

dl.entry @smoothed_c3(%x: tensor<2x5xf32>, %label: tensor<2xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.smoothed_cross_entropy' op (C3) expects smoothing from 0 to 1, found 1.5}}
  %0 = dl.smoothed_cross_entropy %x, %label axis = 1 smoothing = 1.5 : tensor<2x5xf32>, tensor<2xi32>
  dl.return
}

// -----

dl.entry @probability_c1(%x: tensor<2x5xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.probability_cross_entropy: (C1) has axis 2, but rank 2}}
  %0 = dl.probability_cross_entropy %x, %x axis = 2 : tensor<2x5xf32>
  dl.return
}

// -----

dl.entry @top_c3(%x: tensor<2x5xf32>, %label: tensor<2xi32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.top_accuracy' op (C3) expects k of 1 or more, found 0}}
  %0 = dl.top_accuracy %x, %label axis = 1 k = 0 : tensor<2x5xf32>, tensor<2xi32>
  dl.return
}

// -----

dl.entry @wish_c1(%x: tensor<2x4x5x6xf32>, %w: tensor<6x4x2x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+2 {{expected a workspace of 0 or more bytes, found -1}}
  %y = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1
      {wish = #dl.wish<forward = gemm, workspace = -1>} : tensor<2x4x5x6xf32>, tensor<6x4x2x3xf32>
  dl.return
}

// -----

dl.entry @attention_c1(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x7x4xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.attention: (C1) expects q [N, heads, T, D], k [N, heads, S, D] and v [N, heads, S, E] of one element type, S above 0, found 'tensor<2x3x5x4xf32>', 'tensor<2x3x7x4xf32>' and 'tensor<2x3x5x4xf32>'}}
  %0:2 = dl.attention %q, %k, %q scale = 0.5 : tensor<2x3x5x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x5x4xf32>
  dl.return
}

// -----

dl.entry @attention_c2(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x7x4xf32>, %m: tensor<5x7xi1>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.attention: (C2) expects mask and kept to be of 'tensor<2x3x5x7xf32>' or as many bools, found 'tensor<5x7xi1>'}}
  %0:2 = dl.attention %q, %k, %k mask(%m : tensor<5x7xi1>) scale = 0.5 : tensor<2x3x5x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x7x4xf32>
  dl.return
}

// -----

dl.entry @attention_c3(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x7x4xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.attention: (C3) expects a rate from 0 to below 1 with kept, and none without, found 2.500000e-01}}
  %0:2 = dl.attention %q, %k, %k scale = 0.5 rate = 0.25 : tensor<2x3x5x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x7x4xf32>
  dl.return
}

// -----

dl.entry @attention_backward_c4(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x7x4xf32>, %l: tensor<2x3x7xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.attention_backward: (C4) expects dout and lse to be 'tensor<2x3x5x4xf32>' and 'tensor<2x3x5xf32>', found 'tensor<2x3x5x4xf32>' and 'tensor<2x3x7xf32>'}}
  %0:3 = dl.attention_backward %q, %q, %k, %k, %l, %l scale = 0.5 : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x7xf32>
  dl.return
}

// -----

dl.entry @grid_sample_c1(%x: tensor<2x3x6x7xf32>, %grid: tensor<2x4x5x3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.grid_sample: (C1) expects [N, C, H, W] and a grid [N, P, Q, 2] of its element type, found 'tensor<2x3x6x7xf32>' and 'tensor<2x4x5x3xf32>'}}
  %0 = dl.grid_sample %x, %grid : tensor<2x3x6x7xf32>, tensor<2x4x5x3xf32>
  dl.return
}

// -----

dl.entry @grid_sample_backward_c1(%dy: tensor<2x3x4x4xf32>, %grid: tensor<2x4x5x2xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.grid_sample_backward_image' op (C1) expects 'tensor<2x3x4x5xf32>' of the grid's places, found 'tensor<2x3x4x4xf32>'}}
  %0 = dl.grid_sample_backward_image %dy, %grid : tensor<2x3x4x4xf32>, tensor<2x4x5x2xf32> to tensor<2x3x6x7xf32>
  dl.return
}

// -----

dl.entry @grid_sample_c2(%x: tensor<2x3x0x7xf32>, %grid: tensor<2x4x5x2xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{dl.grid_sample: (C2) expects pixels, found 'tensor<2x3x0x7xf32>'}}
  %0 = dl.grid_sample %x, %grid : tensor<2x3x0x7xf32>, tensor<2x4x5x2xf32>
  dl.return
}

// -----

dl.entry @grid_sample_c3(%x: tensor<2x3x6x7xf32>, %grid: tensor<2x4x5x2xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.grid_sample' op (C3) is both border and reflect}}
  %0 = dl.grid_sample %x, %grid border reflect : tensor<2x3x6x7xf32>, tensor<2x4x5x2xf32>
  dl.return
}
