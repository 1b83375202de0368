// A small network with what the passes look for: relu before max_pool, bias and relu behind a convolution, a skip
// connection, average pooling, views, a parameter with multipliers, and an evaluation with a batch norm that counts valid samples
// only.
#sgd = #dl.optimizer<"sgd", {learning_rate = 0.25 : f64, momentum = 0.5 : f64, weight_decay = 0.125 : f64}>
dl.variable @conv1.weight : tensor<4x1x3x3xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @conv1.bias : tensor<4xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @conv2.weight : tensor<4x4x3x3xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @conv2.bias : tensor<4xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @linear1.weight : tensor<5x16xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @linear1.bias : tensor<5xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @norm1.mean : tensor<4xf32> role<statistic> init(#program.init<constant, 0.0, 0.0>)
dl.variable @norm1.variance : tensor<4xf32> role<statistic> init(#program.init<constant, 1.0, 0.0>)

dl.entry @train_step(%x: tensor<4x1x8x8xf32> {dl.name = "image", dl.batch_axis = 0 : i64},
                     %label: tensor<4xi32> {dl.name = "label", dl.batch_axis = 0 : i64})
    -> (tensor<f32> {dl.name = "loss.sum", dl.kind = #program.value<accumulator>},
        tensor<f32> {dl.name = "accuracy.sum", dl.kind = #program.value<accumulator>})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@conv1.weight, lr_mult = 1.0, decay_mult = 1.0, #sgd>,
      #dl.update<@conv1.bias, lr_mult = 2.0, decay_mult = 0.0, #sgd>,
      #dl.update<@conv2.weight, lr_mult = 1.0, decay_mult = 1.0, #sgd>,
      #dl.update<@conv2.bias, lr_mult = 2.0, decay_mult = 0.0, #sgd>,
      #dl.update<@linear1.weight, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.25 : f64}>>,
      #dl.update<@linear1.bias, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.25 : f64}>>]} {
  %w1 = dl.read @conv1.weight : tensor<4x1x3x3xf32>
  %b1 = dl.read @conv1.bias : tensor<4xf32>
  %w2 = dl.read @conv2.weight : tensor<4x4x3x3xf32>
  %b2 = dl.read @conv2.bias : tensor<4xf32>
  %w3 = dl.read @linear1.weight : tensor<5x16xf32>
  %b3 = dl.read @linear1.bias : tensor<5xf32>
  %c1 = dl.convolution %x, %w1 strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<4x1x8x8xf32>, tensor<4x1x3x3xf32>
  %bb1 = dl.broadcast %b1 dims = [1] : tensor<4xf32> to tensor<4x4x8x8xf32>
  %a1 = dl.add %c1, %bb1 : tensor<4x4x8x8xf32>
  %r1 = dl.relu %a1 : tensor<4x4x8x8xf32>
  %p1 = dl.max_pool %r1 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<4x4x8x8xf32> -> tensor<4x4x4x4xf32>
  %c2 = dl.convolution %p1, %w2 strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<4x4x4x4xf32>, tensor<4x4x3x3xf32>
  %bb2 = dl.broadcast %b2 dims = [1] : tensor<4xf32> to tensor<4x4x4x4xf32>
  %a2 = dl.add %c2, %bb2 : tensor<4x4x4x4xf32>
  %s2 = dl.add %a2, %p1 : tensor<4x4x4x4xf32>
  %r2 = dl.relu %s2 : tensor<4x4x4x4xf32>
  %p2 = dl.average_pool %r2 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<4x4x4x4xf32> -> tensor<4x4x2x2xf32>
  %f = dl.reshape %p2 : tensor<4x4x2x2xf32> to tensor<4x16xf32>
  %h = dl.tanh %f : tensor<4x16xf32>
  %m3 = dl.matmul %h, %w3 transpose_b : tensor<4x16xf32>, tensor<5x16xf32>
  %bb3 = dl.broadcast %b3 dims = [1] : tensor<5xf32> to tensor<4x5xf32>
  %y = dl.add %m3, %bb3 : tensor<4x5xf32>
  %l = dl.softmax_cross_entropy %y, %label axis = 1 : tensor<4x5xf32>, tensor<4xi32>
  %sum = dl.reduce sum %l axes = [0] : tensor<4xf32>
  %n = dl.constant dense<4.0> : tensor<f32>
  %loss = dl.divide %sum, %n : tensor<f32>
  %acc = dl.accuracy %y, %label axis = 1 : tensor<4x5xf32>, tensor<4xi32>
  %accs = dl.reduce sum %acc axes = [0] : tensor<4xf32>
  dl.return %sum, %accs : tensor<f32>, tensor<f32> loss(%loss : tensor<f32>)
}

dl.entry @evaluate(%x: tensor<4x1x8x8xf32> {dl.name = "image", dl.batch_axis = 0 : i64},
                   %label: tensor<4xi32> {dl.name = "label", dl.batch_axis = 0 : i64}, %valid: tensor<i32> {dl.name = "valid", dl.valid})
    -> (tensor<f32> {dl.name = "loss.sum", dl.kind = #program.value<accumulator>}) attributes {kind = #program.entry<evaluate>} {
  %w1 = dl.read @conv1.weight : tensor<4x1x3x3xf32>
  %c1 = dl.convolution %x, %w1 strides = [2, 2] padding = [0, 1, 0, 1] dilations = [1, 1] groups = 1 : tensor<4x1x8x8xf32>, tensor<4x1x3x3xf32>
  %mean = dl.read @norm1.mean : tensor<4xf32>
  %variance = dl.read @norm1.variance : tensor<4xf32>
  %n1 = dl.batch_norm_inference %c1, %mean, %variance epsilon = 6.25e-02 : tensor<4x4x4x4xf32>
  %r1 = dl.relu %n1 : tensor<4x4x4x4xf32>
  %p1 = dl.max_pool %r1 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<4x4x4x4xf32> -> tensor<4x4x2x2xf32>
  %f = dl.reshape %p1 : tensor<4x4x2x2xf32> to tensor<4x16xf32>
  %l = dl.softmax_cross_entropy %f, %label axis = 1 : tensor<4x16xf32>, tensor<4xi32>
  %i = dl.iota axes = [0] : tensor<4xi32>
  %v = dl.broadcast %valid dims = [] : tensor<i32> to tensor<4xi32>
  %counts = dl.compare lt %i, %v : tensor<4xi32>
  %zero = dl.constant dense<0.0> : tensor<4xf32>
  %masked = dl.select %counts, %l, %zero : tensor<4xf32>
  %sum = dl.reduce sum %masked axes = [0] : tensor<4xf32>
  dl.return %sum : tensor<f32>
}
