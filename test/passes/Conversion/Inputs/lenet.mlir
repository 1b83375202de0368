// LeNet with a training step, as the frontend would write it: input of tests that need a whole model.
module @LeNet {
  dl.variable @conv1.weight : tensor<20x1x5x5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
  dl.variable @conv1.bias : tensor<20xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
  dl.variable @conv2.weight : tensor<50x20x5x5xf32> role<parameter> init(#program.init<uniform, -0.04, 0.04>)
  dl.variable @conv2.bias : tensor<50xf32> role<parameter> init(#program.init<uniform, -0.04, 0.04>)
  dl.variable @linear1.weight : tensor<500x800xf32> role<parameter> init(#program.init<uniform, -0.03, 0.03>)
  dl.variable @linear1.bias : tensor<500xf32> role<parameter> init(#program.init<uniform, -0.03, 0.03>)
  dl.variable @linear2.weight : tensor<10x500xf32> role<parameter> init(#program.init<uniform, -0.04, 0.04>)
  dl.variable @linear2.bias : tensor<10xf32> role<parameter> init(#program.init<uniform, -0.04, 0.04>)
  dl.entry @train_step(%image: tensor<64x1x28x28xf32> {dl.name = "image", dl.batch_axis = 0 : i64},
                       %label: tensor<64xi32> {dl.name = "label", dl.batch_axis = 0 : i64})
      -> (tensor<f32> {dl.name = "loss.sum", dl.kind = #program.value<accumulator>})
      attributes {kind = #program.entry<train>,
        metrics = [#program.metric<"loss", loss, none, [#program.term<"loss.sum", count = 64.0 : f64, coefficient = 1.0 : f64>]>],
        updates = [
          #dl.update<@conv1.weight, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64}>>,
          #dl.update<@conv1.bias, lr_mult = 2.0, decay_mult = 0.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64}>>,
          #dl.update<@conv2.weight, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64}>>,
          #dl.update<@conv2.bias, lr_mult = 2.0, decay_mult = 0.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64}>>,
          #dl.update<@linear1.weight, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64}>>,
          #dl.update<@linear1.bias, lr_mult = 2.0, decay_mult = 0.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64}>>,
          #dl.update<@linear2.weight, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64}>>,
          #dl.update<@linear2.bias, lr_mult = 2.0, decay_mult = 0.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64}>>]} {
    %w1 = dl.read @conv1.weight : tensor<20x1x5x5xf32>
    %b1 = dl.read @conv1.bias : tensor<20xf32>
    %w2 = dl.read @conv2.weight : tensor<50x20x5x5xf32>
    %b2 = dl.read @conv2.bias : tensor<50xf32>
    %w3 = dl.read @linear1.weight : tensor<500x800xf32>
    %b3 = dl.read @linear1.bias : tensor<500xf32>
    %w4 = dl.read @linear2.weight : tensor<10x500xf32>
    %b4 = dl.read @linear2.bias : tensor<10xf32>
    %c1 = dl.convolution %image, %w1 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<64x1x28x28xf32>, tensor<20x1x5x5xf32> loc("conv1")
    %r1 = dl.broadcast %b1 dims = [1] : tensor<20xf32> to tensor<64x20x24x24xf32> loc("conv1")
    %a1 = dl.add %c1, %r1 : tensor<64x20x24x24xf32> loc("conv1")
    %p1, %i1 = dl.max_pool %a1 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<64x20x24x24xf32> -> tensor<64x20x12x12xf32>, tensor<64x20x12x12xui8> loc("max_pool1")
    %c2 = dl.convolution %p1, %w2 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<64x20x12x12xf32>, tensor<50x20x5x5xf32> loc("conv2")
    %r2 = dl.broadcast %b2 dims = [1] : tensor<50xf32> to tensor<64x50x8x8xf32> loc("conv2")
    %a2 = dl.add %c2, %r2 : tensor<64x50x8x8xf32> loc("conv2")
    %p2, %i2 = dl.max_pool %a2 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<64x50x8x8xf32> -> tensor<64x50x4x4xf32>, tensor<64x50x4x4xui8> loc("max_pool2")
    %f = dl.reshape %p2 : tensor<64x50x4x4xf32> to tensor<64x800xf32> loc("flatten1")
    %c3 = dl.matmul %f, %w3 transpose_b : tensor<64x800xf32>, tensor<500x800xf32> loc("linear1")
    %r3 = dl.broadcast %b3 dims = [1] : tensor<500xf32> to tensor<64x500xf32> loc("linear1")
    %a3 = dl.add %c3, %r3 : tensor<64x500xf32> loc("linear1")
    %h = dl.relu %a3 : tensor<64x500xf32> loc("relu1")
    %c4 = dl.matmul %h, %w4 transpose_b : tensor<64x500xf32>, tensor<10x500xf32> loc("linear2")
    %r4 = dl.broadcast %b4 dims = [1] : tensor<10xf32> to tensor<64x10xf32> loc("linear2")
    %y = dl.add %c4, %r4 : tensor<64x10xf32> loc("linear2")
    %l = dl.softmax_cross_entropy %y, %label axis = 1 : tensor<64x10xf32>, tensor<64xi32> loc("loss")
    %sum = dl.reduce sum %l axes = [0] : tensor<64xf32> loc("loss")
    %n = dl.constant dense<0.015625> : tensor<f32> loc("loss")
    %mean = dl.multiply %sum, %n : tensor<f32> loc("loss")
    dl.return %sum : tensor<f32> loss(%mean : tensor<f32>)
  }
  dl.entry @infer_n1(%image: tensor<1x1x28x28xf32> {dl.name = "image", dl.batch_axis = 0 : i64})
      -> (tensor<1x10xf32> {dl.name = "output", dl.kind = #program.value<result>, dl.batch_axis = 0 : i64}) attributes {kind = #program.entry<infer>} {
    %w1 = dl.read @conv1.weight : tensor<20x1x5x5xf32>
    %b1 = dl.read @conv1.bias : tensor<20xf32>
    %w2 = dl.read @conv2.weight : tensor<50x20x5x5xf32>
    %b2 = dl.read @conv2.bias : tensor<50xf32>
    %w3 = dl.read @linear1.weight : tensor<500x800xf32>
    %b3 = dl.read @linear1.bias : tensor<500xf32>
    %w4 = dl.read @linear2.weight : tensor<10x500xf32>
    %b4 = dl.read @linear2.bias : tensor<10xf32>
    %c1 = dl.convolution %image, %w1 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x1x28x28xf32>, tensor<20x1x5x5xf32> loc("conv1")
    %r1 = dl.broadcast %b1 dims = [1] : tensor<20xf32> to tensor<1x20x24x24xf32> loc("conv1")
    %a1 = dl.add %c1, %r1 : tensor<1x20x24x24xf32> loc("conv1")
    %p1 = dl.max_pool %a1 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x20x24x24xf32> -> tensor<1x20x12x12xf32> loc("max_pool1")
    %c2 = dl.convolution %p1, %w2 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x20x12x12xf32>, tensor<50x20x5x5xf32> loc("conv2")
    %r2 = dl.broadcast %b2 dims = [1] : tensor<50xf32> to tensor<1x50x8x8xf32> loc("conv2")
    %a2 = dl.add %c2, %r2 : tensor<1x50x8x8xf32> loc("conv2")
    %p2 = dl.max_pool %a2 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x50x8x8xf32> -> tensor<1x50x4x4xf32> loc("max_pool2")
    %f = dl.reshape %p2 : tensor<1x50x4x4xf32> to tensor<1x800xf32> loc("flatten1")
    %c3 = dl.matmul %f, %w3 transpose_b : tensor<1x800xf32>, tensor<500x800xf32> loc("linear1")
    %r3 = dl.broadcast %b3 dims = [1] : tensor<500xf32> to tensor<1x500xf32> loc("linear1")
    %a3 = dl.add %c3, %r3 : tensor<1x500xf32> loc("linear1")
    %h = dl.relu %a3 : tensor<1x500xf32> loc("relu1")
    %c4 = dl.matmul %h, %w4 transpose_b : tensor<1x500xf32>, tensor<10x500xf32> loc("linear2")
    %r4 = dl.broadcast %b4 dims = [1] : tensor<10xf32> to tensor<1x10xf32> loc("linear2")
    %y = dl.add %c4, %r4 : tensor<1x10xf32> loc("linear2")
    dl.return %y : tensor<1x10xf32>
  }
}
