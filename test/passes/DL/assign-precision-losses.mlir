// RUN: dlc-opt --dl-assign-precision --verify-diagnostics %s

// What the program keeps in 16 bits where these are too few: sums, softmax over rows whose numbers f16 has fewer digits for. Each is said
// once, however many entries compute it. What the rules decide is f32, and a mean is as exact as any number, where its sum has room.
dl.entry @train_step(%x: tensor<4x257xbf16>, %h: tensor<2x2049xf16>, %rows: tensor<2x16385xf16>, %many: tensor<2x65538xf16>, %wide: tensor<2x16385xf32>)
    -> (tensor<4xbf16>, tensor<2xf16>, tensor<2x16385xf16>, tensor<2xf32>, tensor<2x16385xf32>)
    attributes {kind = #program.entry<train>, dl.precision = f16} {
  // expected-warning @+1 {{a sum of 257 numbers is kept in bf16, of which 8 bits are too few for one of them to count; f32(...) of what it takes keeps it in f32}}
  %0 = dl.reduce sum %x axes = [1] : tensor<4x257xbf16>
  // expected-warning @+1 {{a sum of 2049 numbers is kept in f16, of which 11 bits are too few}}
  %1 = dl.reduce sum %h axes = [1] : tensor<2x2049xf16>
  // expected-warning @+1 {{a softmax over 16385 numbers is kept in f16, which loses digits below 2^-14 and all of them below 2^-25}}
  %2 = dl.softmax %rows axis = 1 : tensor<2x16385xf16>
  // expected-warning @+1 {{the sum of 65538 numbers is kept in f16, which ends at 65504, on its way to their mean}}
  %5 = dl.reduce sum %many axes = [1] : tensor<2x65538xf16>
  %mean = dl.constant dense<1.53e-05> : tensor<2xf16>
  %6 = dl.multiply %5, %mean : tensor<2xf16>
  %3 = dl.reduce sum %wide axes = [1] : tensor<2x16385xf32>
  %4 = dl.softmax %wide axis = 1 : tensor<2x16385xf32>
  dl.return %0, %1, %2, %3, %4 : tensor<4xbf16>, tensor<2xf16>, tensor<2x16385xf16>, tensor<2xf32>, tensor<2x16385xf32>
}
dl.entry @few(%x: tensor<4x256xbf16>, %h: tensor<2x2048xf16>, %rows: tensor<2x16384xf16>, %b: tensor<2x16385xbf16>)
    -> (tensor<4xbf16>, tensor<2xf16>, tensor<2x16384xf16>, tensor<2x16385xbf16>, tensor<2xbf16>) attributes {kind = #program.entry<infer>} {
  %0 = dl.reduce sum %x axes = [1] : tensor<4x256xbf16>
  %1 = dl.reduce sum %h axes = [1] : tensor<2x2048xf16>
  %2 = dl.softmax %rows axis = 1 : tensor<2x16384xf16>
  %3 = dl.softmax %b axis = 1 : tensor<2x16385xbf16>
  %mean = dl.constant dense<6.1e-05> : tensor<2xbf16>
  %5 = dl.reduce sum %b axes = [1] : tensor<2x16385xbf16>
  %6 = dl.multiply %5, %mean : tensor<2xbf16>
  %4 = dl.reduce max %b axes = [1] : tensor<2x16385xbf16>
  dl.return %0, %1, %2, %3, %4 : tensor<4xbf16>, tensor<2xf16>, tensor<2x16384xf16>, tensor<2x16385xbf16>, tensor<2xbf16>
}
