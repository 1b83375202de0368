// RUN: dlc-opt --split-input-file --verify-diagnostics %s

dl.entry @batch_norm_c1_rank(%x: tensor<4xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.batch_norm' op (C1) expects rank 2 or more and elements, found 'tensor<4xf32>'}}
  %0:3 = dl.batch_norm %x epsilon = 1.0e-05 : tensor<4xf32>
  dl.return
}

// -----

dl.entry @batch_norm_c1_empty(%x: tensor<0x6xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.batch_norm' op (C1) expects rank 2 or more and elements, found 'tensor<0x6xf32>'}}
  %0:3 = dl.batch_norm %x epsilon = 1.0e-05 : tensor<0x6xf32>
  dl.return
}

// -----

dl.entry @batch_norm_c2(%x: tensor<4x6x5xf32>, %c: tensor<5xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.batch_norm' op (C2) expects scale and bias to be 'tensor<6xf32>', found 'tensor<5xf32>'}}
  %0:3 = dl.batch_norm %x bias(%c : tensor<5xf32>) epsilon = 1.0e-05 : tensor<4x6x5xf32>
  dl.return
}

// -----

dl.entry @batch_norm_c3(%x: tensor<4x6x5xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.batch_norm' op (C3) expects epsilon of 0 or more, found -1}}
  %0:3 = dl.batch_norm %x epsilon = -1.0 : tensor<4x6x5xf32>
  dl.return
}

// -----

dl.entry @batch_norm_backward_c2(%x: tensor<4x6x5xf32>, %c: tensor<6xf32>, %f: tensor<6xf64>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.batch_norm_backward' op (C2) expects scale and bias to be 'tensor<6xf32>', found 'tensor<6xf64>'}}
  %0:3 = dl.batch_norm_backward %x, %x, %c, %c scale(%f : tensor<6xf64>) epsilon = 1.0e-05 : tensor<4x6x5xf32>
  dl.return
}

// -----

dl.entry @batch_norm_inference_c3(%x: tensor<4x6x5xf32>, %c: tensor<6xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.batch_norm_inference' op (C3) expects epsilon of 0 or more, found -1}}
  %0 = dl.batch_norm_inference %x, %c, %c epsilon = -1.0 : tensor<4x6x5xf32>
  dl.return
}

// -----

dl.entry @layer_norm_c1_axes(%x: tensor<4x6x5xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.layer_norm' op (C1) has axes [2, 1], which do not rise within rank 3}}
  %0 = dl.layer_norm %x axes = [2, 1] epsilon = 1.0e-05 : tensor<4x6x5xf32>
  dl.return
}

// -----

dl.entry @layer_norm_c1_none(%x: tensor<4x6x5xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.layer_norm' op (C1) expects an axis and elements, found 'tensor<4x6x5xf32>'}}
  %0 = dl.layer_norm %x axes = [] epsilon = 1.0e-05 : tensor<4x6x5xf32>
  dl.return
}

// -----

dl.entry @layer_norm_c2(%x: tensor<4x6x5xf32>, %c: tensor<6xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.layer_norm' op (C2) expects scale and bias to be 'tensor<5xf32>', found 'tensor<6xf32>'}}
  %0 = dl.layer_norm %x scale(%c : tensor<6xf32>) axes = [2] epsilon = 1.0e-05 : tensor<4x6x5xf32>
  dl.return
}

// -----

dl.entry @rms_norm_c1(%x: tensor<4x6x5xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.rms_norm' op (C1) has axes [3], which do not rise within rank 3}}
  %0 = dl.rms_norm %x axes = [3] epsilon = 1.0e-05 : tensor<4x6x5xf32>
  dl.return
}

// -----

dl.entry @group_norm_c1(%x: tensor<4x6x5xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.group_norm' op (C1) has 4 groups for 6 channels}}
  %0 = dl.group_norm %x groups = 4 epsilon = 1.0e-05 : tensor<4x6x5xf32>
  dl.return
}

// -----

dl.entry @local_response_norm_c1(%x: tensor<4x6xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.local_response_norm' op (C1) expects rank 3 or more, found 'tensor<4x6xf32>'}}
  %0 = dl.local_response_norm %x size = 3 alpha = 1.0 beta = 1.0 k = 1.0 : tensor<4x6xf32>
  dl.return
}

// -----

dl.entry @local_response_norm_c2_size(%x: tensor<4x6x5xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.local_response_norm' op (C2) expects a size of 1 or more, found 0}}
  %0 = dl.local_response_norm %x size = 0 alpha = 1.0 beta = 1.0 k = 1.0 : tensor<4x6x5xf32>
  dl.return
}

// -----

dl.entry @local_response_norm_c2_k(%x: tensor<4x6x5xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.local_response_norm' op (C2) expects alpha of 0 or more and k above 0, found}}
  %0 = dl.local_response_norm %x size = 3 alpha = 1.0 beta = 1.0 k = 0.0 : tensor<4x6x5xf32>
  dl.return
}

// -----

dl.entry @softmax_c1(%x: tensor<4x6x5xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{dl.softmax: (C1) has axis 3, but rank 3}}
  %0 = dl.softmax %x axis = 3 : tensor<4x6x5xf32>
  dl.return
}

// -----

dl.entry @log_softmax_c1(%x: tensor<4x6x5xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{dl.log_softmax: (C1) has axis -1, but rank 3}}
  %0 = dl.log_softmax %x axis = -1 : tensor<4x6x5xf32>
  dl.return
}

// -----

dl.entry @huber_c1(%x: tensor<4x6x5xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.huber' op (C1) expects delta above 0, found}}
  %0 = dl.huber %x, %x delta = 0.0 : tensor<4x6x5xf32>
  dl.return
}
