// Three linear layers with relus between them, the second weight stored the other way round: what
// dl-join-product-gradients looks for.
#sgd = #dl.optimizer<"sgd", {learning_rate = 0.25 : f64}>
dl.variable @w1 : tensor<9x6xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @b1 : tensor<9xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @w2 : tensor<9x7xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @b2 : tensor<7xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @w3 : tensor<5x7xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @b3 : tensor<5xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)

dl.entry @train_step(%x: tensor<4x6xf32> {dl.name = "x", dl.batch_axis = 0 : i64}, %label: tensor<4xi32> {dl.name = "label", dl.batch_axis = 0 : i64})
    -> (tensor<f32> {dl.name = "loss.sum", dl.kind = #program.value<accumulator>})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w1, lr_mult = 1.0, decay_mult = 1.0, #sgd>, #dl.update<@b1, lr_mult = 1.0, decay_mult = 1.0, #sgd>,
      #dl.update<@w2, lr_mult = 1.0, decay_mult = 1.0, #sgd>, #dl.update<@b2, lr_mult = 1.0, decay_mult = 1.0, #sgd>,
      #dl.update<@w3, lr_mult = 1.0, decay_mult = 1.0, #sgd>, #dl.update<@b3, lr_mult = 1.0, decay_mult = 1.0, #sgd>]} {
  %w1 = dl.read @w1 : tensor<9x6xf32>
  %b1 = dl.read @b1 : tensor<9xf32>
  %w2 = dl.read @w2 : tensor<9x7xf32>
  %b2 = dl.read @b2 : tensor<7xf32>
  %w3 = dl.read @w3 : tensor<5x7xf32>
  %b3 = dl.read @b3 : tensor<5xf32>
  %m1 = dl.matmul %x, %w1 transpose_b : tensor<4x6xf32>, tensor<9x6xf32>
  %bb1 = dl.broadcast %b1 dims = [1] : tensor<9xf32> to tensor<4x9xf32>
  %a1 = dl.add %m1, %bb1 : tensor<4x9xf32>
  %y1 = dl.relu %a1 : tensor<4x9xf32>
  %m2 = dl.matmul %y1, %w2 : tensor<4x9xf32>, tensor<9x7xf32>
  %bb2 = dl.broadcast %b2 dims = [1] : tensor<7xf32> to tensor<4x7xf32>
  %a2 = dl.add %m2, %bb2 : tensor<4x7xf32>
  %y2 = dl.relu %a2 : tensor<4x7xf32>
  %m3 = dl.matmul %y2, %w3 transpose_b : tensor<4x7xf32>, tensor<5x7xf32>
  %bb3 = dl.broadcast %b3 dims = [1] : tensor<5xf32> to tensor<4x5xf32>
  %y3 = dl.add %m3, %bb3 : tensor<4x5xf32>
  %l = dl.softmax_cross_entropy %y3, %label axis = 1 : tensor<4x5xf32>, tensor<4xi32>
  %sum = dl.reduce sum %l axes = [0] : tensor<4xf32>
  %n = dl.constant dense<4.0> : tensor<f32>
  %loss = dl.divide %sum, %n : tensor<f32>
  dl.return %sum : tensor<f32> loss(%loss : tensor<f32>)
}
