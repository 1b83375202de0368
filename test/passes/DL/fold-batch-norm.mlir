// RUN: dlc-opt --dl-fold-batch-norm %s | FileCheck %s

dl.variable @w : tensor<6x3x3x3xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @b : tensor<6xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @scale : tensor<6xf32> role<parameter> init(#program.init<constant, 1.0, 0.0>)
dl.variable @bias : tensor<6xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @mean : tensor<6xf32> role<statistic> init(#program.init<constant, 0.0, 0.0>)
dl.variable @variance : tensor<6xf32> role<statistic> init(#program.init<constant, 1.0, 0.0>)

// The factors of the norm scale the filters; the convolution's own bias joins the mean.
// CHECK-LABEL: dl.entry @with_bias
// CHECK-DAG: %[[W:.*]] = dl.read @w
// CHECK-DAG: %[[B:.*]] = dl.read @b
// CHECK-DAG: %[[MEAN:.*]] = dl.read @mean
// CHECK-DAG: %[[SCALE:.*]] = dl.read @scale
// CHECK-DAG: %[[BIAS:.*]] = dl.read @bias
// CHECK: %[[DEVIATION:.*]] = dl.sqrt
// CHECK: %[[FACTOR:.*]] = dl.divide %[[SCALE]], %[[DEVIATION]]
// CHECK: %[[CENTRE:.*]] = dl.subtract %[[MEAN]], %[[B]]
// CHECK: %[[PRODUCT:.*]] = dl.multiply %[[CENTRE]], %[[FACTOR]]
// CHECK: %[[SHIFT:.*]] = dl.subtract %[[BIAS]], %[[PRODUCT]]
// CHECK: %[[FACTORS:.*]] = dl.broadcast %[[FACTOR]] dims = [0] : tensor<6xf32> to tensor<6x3x3x3xf32>
// CHECK: %[[FOLDED:.*]] = dl.multiply %[[W]], %[[FACTORS]]
// CHECK: %[[Y:.*]] = dl.convolution %{{.*}}, %[[FOLDED]]
// CHECK: %[[SHIFTS:.*]] = dl.broadcast %[[SHIFT]] dims = [1]
// CHECK: dl.add %[[Y]], %[[SHIFTS]]
// CHECK-NOT: dl.batch_norm_inference
// CHECK: dl.return
dl.entry @with_bias(%x: tensor<2x3x8x8xf32>) -> (tensor<2x6x6x6xf32>) attributes {kind = #program.entry<infer>} {
  %w = dl.read @w : tensor<6x3x3x3xf32>
  %b = dl.read @b : tensor<6xf32>
  %scale = dl.read @scale : tensor<6xf32>
  %bias = dl.read @bias : tensor<6xf32>
  %mean = dl.read @mean : tensor<6xf32>
  %variance = dl.read @variance : tensor<6xf32>
  %c = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<2x3x8x8xf32>, tensor<6x3x3x3xf32>
  %wide = dl.broadcast %b dims = [1] : tensor<6xf32> to tensor<2x6x6x6xf32>
  %s = dl.add %c, %wide : tensor<2x6x6x6xf32>
  %y = dl.batch_norm_inference %s, %mean, %variance scale(%scale : tensor<6xf32>) bias(%bias : tensor<6xf32>) epsilon = 1.0e-05 : tensor<2x6x6x6xf32>
  dl.return %y : tensor<2x6x6x6xf32>
}

// Without a scale and a bias there is still the factor of the variance.
// CHECK-LABEL: dl.entry @plain
// CHECK: %[[SHIFT:.*]] = dl.negate
// CHECK: dl.convolution
// CHECK-NOT: dl.batch_norm_inference
// CHECK: dl.return
dl.entry @plain(%x: tensor<2x3x8x8xf32>) -> (tensor<2x6x6x6xf32>) attributes {kind = #program.entry<evaluate>} {
  %w = dl.read @w : tensor<6x3x3x3xf32>
  %mean = dl.read @mean : tensor<6xf32>
  %variance = dl.read @variance : tensor<6xf32>
  %c = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<2x3x8x8xf32>, tensor<6x3x3x3xf32>
  %y = dl.batch_norm_inference %c, %mean, %variance epsilon = 1.0e-05 : tensor<2x6x6x6xf32>
  dl.return %y : tensor<2x6x6x6xf32>
}

// What the convolution gives is needed as it is.
// CHECK-LABEL: dl.entry @used_twice
// CHECK: dl.batch_norm_inference
dl.entry @used_twice(%x: tensor<2x3x8x8xf32>) -> (tensor<2x6x6x6xf32>, tensor<2x6x6x6xf32>) attributes {kind = #program.entry<infer>} {
  %w = dl.read @w : tensor<6x3x3x3xf32>
  %mean = dl.read @mean : tensor<6xf32>
  %variance = dl.read @variance : tensor<6xf32>
  %c = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<2x3x8x8xf32>, tensor<6x3x3x3xf32>
  %y = dl.batch_norm_inference %c, %mean, %variance epsilon = 1.0e-05 : tensor<2x6x6x6xf32>
  dl.return %c, %y : tensor<2x6x6x6xf32>, tensor<2x6x6x6xf32>
}

// The filters are data.
// CHECK-LABEL: dl.entry @filters_given
// CHECK: dl.batch_norm_inference
dl.entry @filters_given(%x: tensor<2x3x8x8xf32>, %w: tensor<6x3x3x3xf32>) -> (tensor<2x6x6x6xf32>) attributes {kind = #program.entry<infer>} {
  %mean = dl.read @mean : tensor<6xf32>
  %variance = dl.read @variance : tensor<6xf32>
  %c = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<2x3x8x8xf32>, tensor<6x3x3x3xf32>
  %y = dl.batch_norm_inference %c, %mean, %variance epsilon = 1.0e-05 : tensor<2x6x6x6xf32>
  dl.return %y : tensor<2x6x6x6xf32>
}

// A step that trains changes the weights: folding them would be repeated in each.
// CHECK-LABEL: dl.entry @frozen
// CHECK: dl.batch_norm_inference
dl.entry @frozen(%x: tensor<2x3x8x8xf32>) -> (tensor<2x6x6x6xf32>) attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<6x3x3x3xf32>
  %mean = dl.read @mean : tensor<6xf32>
  %variance = dl.read @variance : tensor<6xf32>
  %c = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<2x3x8x8xf32>, tensor<6x3x3x3xf32>
  %y = dl.batch_norm_inference %c, %mean, %variance epsilon = 1.0e-05 : tensor<2x6x6x6xf32>
  dl.return %y : tensor<2x6x6x6xf32>
}
