// RUN: dlc-opt --dl-pipeline %s | FileCheck %s
// RUN: dlc-opt --dl-pipeline=disable=dl-fuse %s | FileCheck %s --check-prefix=OFF
// RUN: dlc-opt --dl-pipeline=target=cuda:simt %s | FileCheck %s --check-prefix=LIBRARY
// RUN: not dlc-opt --dl-pipeline=disable=dl-fues %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// The training step of LeNet: 6 kernels to the logits, one for losses, answers and the gradient, 2 for sums, 13 more backward, one
// update. No gradient of the image. The name of a pass that does not exist is an error.
// CHECK-LABEL: dl.entry @train_step
// CHECK-NOT: "gradient.image"
// CHECK-COUNT-22: dl.fused
// CHECK-NOT: dl.fused
// CHECK: dl.multi_tensor
// OFF-COUNT-30: dl.fused
// Where products are cuBLASLt's, the gradients of the two linear layers' biases are results of products.
// LIBRARY-COUNT-20: dl.fused
// LIBRARY-NOT: dl.fused
// UNKNOWN: 'dl-fues' is not an improving pass: expected one of dl-simplify, dl-fold-batch-norm, cse, dl-sparsify-updates, dl-narrow-variables, dl-derive-variables, dl-divide-concats, dl-fuse, dl-choose, dl-join, dl-join-product-gradients, dl-join-reductions, dl-join-prologues, dl-join-updates, dl-pack-indices, dl-schedule

#sgd = #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64, weight_decay = 0.0005 : f64}>
dl.variable @conv1.weight : tensor<20x1x5x5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @conv1.bias : tensor<20xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @conv2.weight : tensor<50x20x5x5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @conv2.bias : tensor<50xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @linear1.weight : tensor<500x800xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @linear1.bias : tensor<500xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @linear2.weight : tensor<10x500xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @linear2.bias : tensor<10xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)

dl.entry @train_step(%x: tensor<64x1x28x28xf32> {dl.name = "image", dl.batch_axis = 0 : i64}, %label: tensor<64xi32> {dl.name = "label", dl.batch_axis = 0 : i64})
    -> (tensor<f32> {dl.name = "loss.sum", dl.kind = #program.value<accumulator>}, tensor<f32> {dl.name = "accuracy.sum", dl.kind = #program.value<accumulator>})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@conv1.weight, lr_mult = 1.0, decay_mult = 1.0, #sgd>, #dl.update<@conv1.bias, lr_mult = 1.0, decay_mult = 1.0, #sgd>,
      #dl.update<@conv2.weight, lr_mult = 1.0, decay_mult = 1.0, #sgd>, #dl.update<@conv2.bias, lr_mult = 1.0, decay_mult = 1.0, #sgd>,
      #dl.update<@linear1.weight, lr_mult = 1.0, decay_mult = 1.0, #sgd>, #dl.update<@linear1.bias, lr_mult = 1.0, decay_mult = 1.0, #sgd>,
      #dl.update<@linear2.weight, lr_mult = 1.0, decay_mult = 1.0, #sgd>, #dl.update<@linear2.bias, lr_mult = 1.0, decay_mult = 1.0, #sgd>]} {
  %w1 = dl.read @conv1.weight : tensor<20x1x5x5xf32> loc("conv1")
  %b1 = dl.read @conv1.bias : tensor<20xf32> loc("conv1")
  %c1 = dl.convolution %x, %w1 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<64x1x28x28xf32>, tensor<20x1x5x5xf32> loc("conv1")
  %bb1 = dl.broadcast %b1 dims = [1] : tensor<20xf32> to tensor<64x20x24x24xf32> loc("conv1")
  %a1 = dl.add %c1, %bb1 : tensor<64x20x24x24xf32> loc("conv1")
  %p1 = dl.max_pool %a1 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<64x20x24x24xf32> -> tensor<64x20x12x12xf32> loc("max_pool1")
  %w2 = dl.read @conv2.weight : tensor<50x20x5x5xf32> loc("conv2")
  %b2 = dl.read @conv2.bias : tensor<50xf32> loc("conv2")
  %c2 = dl.convolution %p1, %w2 strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<64x20x12x12xf32>, tensor<50x20x5x5xf32> loc("conv2")
  %bb2 = dl.broadcast %b2 dims = [1] : tensor<50xf32> to tensor<64x50x8x8xf32> loc("conv2")
  %a2 = dl.add %c2, %bb2 : tensor<64x50x8x8xf32> loc("conv2")
  %p2 = dl.max_pool %a2 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<64x50x8x8xf32> -> tensor<64x50x4x4xf32> loc("max_pool2")
  %f = dl.reshape %p2 : tensor<64x50x4x4xf32> to tensor<64x800xf32> loc("flatten1")
  %w3 = dl.read @linear1.weight : tensor<500x800xf32> loc("linear1")
  %b3 = dl.read @linear1.bias : tensor<500xf32> loc("linear1")
  %m3 = dl.matmul %f, %w3 transpose_b : tensor<64x800xf32>, tensor<500x800xf32> loc("linear1")
  %bb3 = dl.broadcast %b3 dims = [1] : tensor<500xf32> to tensor<64x500xf32> loc("linear1")
  %a3 = dl.add %m3, %bb3 : tensor<64x500xf32> loc("linear1")
  %r3 = dl.relu %a3 : tensor<64x500xf32> loc("relu1")
  %w4 = dl.read @linear2.weight : tensor<10x500xf32> loc("linear2")
  %b4 = dl.read @linear2.bias : tensor<10xf32> loc("linear2")
  %m4 = dl.matmul %r3, %w4 transpose_b : tensor<64x500xf32>, tensor<10x500xf32> loc("linear2")
  %bb4 = dl.broadcast %b4 dims = [1] : tensor<10xf32> to tensor<64x10xf32> loc("linear2")
  %a4 = dl.add %m4, %bb4 : tensor<64x10xf32> loc("linear2")
  %l = dl.softmax_cross_entropy %a4, %label axis = 1 : tensor<64x10xf32>, tensor<64xi32> loc("loss")
  %s = dl.reduce sum %l axes = [0] : tensor<64xf32> loc("loss")
  %n = dl.constant dense<64.0> : tensor<f32>
  %loss = dl.divide %s, %n : tensor<f32> loc("loss")
  %acc = dl.accuracy %a4, %label axis = 1 : tensor<64x10xf32>, tensor<64xi32> loc("accuracy1")
  %accs = dl.reduce sum %acc axes = [0] : tensor<64xf32> loc("accuracy1")
  dl.return %s, %accs : tensor<f32>, tensor<f32> loss(%loss : tensor<f32>)
}
