// RUN: dlc-opt --split-input-file --verify-diagnostics %s

dl.entry @lstm_c1_rank(%x: tensor<7x24xf32>, %h: tensor<0x0xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.lstm' op (C1) expects a step or more of samples with 4 gates, found 'tensor<7x24xf32>'}}
  %0:3 = dl.lstm %x, %h, %h, %h : tensor<7x24xf32>
  dl.return
}

// -----

dl.entry @lstm_c1_gates(%x: tensor<7x3x25xf32>, %h: tensor<3x6xf32>, %w: tensor<24x6xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.lstm' op (C1) expects a step or more of samples with 4 gates, found 'tensor<7x3x25xf32>'}}
  %0:3 = dl.lstm %x, %h, %h, %w : tensor<7x3x25xf32>
  dl.return
}

// -----

dl.entry @lstm_backward_c1_empty(%x: tensor<0x3x24xf32>, %h: tensor<1x3x6xf32>, %w: tensor<24x6xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.lstm_backward' op (C1) expects a step or more of samples with 4 gates, found 'tensor<0x3x24xf32>'}}
  %0:3 = dl.lstm_backward %h, %h, %x, %x, %h, %w : tensor<0x3x24xf32>
  dl.return
}

// -----

// expected-note @+1 {{prior use here}}
dl.entry @lstm_state(%x: tensor<7x3x24xf32>, %h: tensor<3x5xf32>, %w: tensor<24x6xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{expects different type than prior uses: 'tensor<3x6xf32>' vs 'tensor<3x5xf32>'}}
  %0:3 = dl.lstm %x, %h, %h, %w : tensor<7x3x24xf32>
  dl.return
}

// -----

dl.entry @gru_c1(%x: tensor<0x3x18xf32>, %h: tensor<3x6xf32>, %w: tensor<18x6xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.gru' op (C1) expects a step or more of samples with 3 gates, found 'tensor<0x3x18xf32>'}}
  %0:2 = dl.gru %x, %h, %w : tensor<0x3x18xf32>
  dl.return
}

// -----

dl.entry @lstm_c2_samples(%x: tensor<7x3x24xf32>, %h: tensor<3x6xf32>, %w: tensor<24x6xf32>, %m: tensor<7x4xi1>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.lstm' op (C2) expects the mask to be of 7 steps and 3 samples, found 'tensor<7x4xi1>'}}
  %0:3 = dl.lstm %x, %h, %h, %w mask(%m : tensor<7x4xi1>) : tensor<7x3x24xf32>
  dl.return
}

// -----

dl.entry @gru_backward_c2_rank(%x: tensor<7x3x18xf32>, %h: tensor<8x3x6xf32>, %w: tensor<18x6xf32>, %m: tensor<7xi1>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.gru_backward' op (C2) expects the mask to be of 7 steps and 3 samples, found 'tensor<7xi1>'}}
  %0:3 = dl.gru_backward %h, %x, %x, %x, %h, %w mask(%m : tensor<7xi1>) : tensor<7x3x18xf32>
  dl.return
}

// -----

dl.entry @gru_c3(%x: tensor<7x3x18xf32>, %h: tensor<3x6xf32>, %w: tensor<18x6xf32>, %b: tensor<6xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.gru' op (C3) expects the bias to be 'tensor<18xf32>', found 'tensor<6xf32>'}}
  %0:2 = dl.gru %x, %h, %w bias(%b : tensor<6xf32>) : tensor<7x3x18xf32>
  dl.return
}

// -----

dl.entry @gru_backward_c1(%x: tensor<7x3x19xf32>, %h: tensor<8x3x6xf32>, %w: tensor<18x6xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.gru_backward' op (C1) expects a step or more of samples with 3 gates, found 'tensor<7x3x19xf32>'}}
  %0:3 = dl.gru_backward %h, %x, %x, %x, %h, %w : tensor<7x3x19xf32>
  dl.return
}
