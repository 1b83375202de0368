// One weight used twice, sigmoid and tanh, a statistic of the batch in the loss (a broadcast of a reduction), integers cast to
// floats, dampening and Nesterov, and two steps that update one parameter.
#plain = #dl.optimizer<"sgd", {learning_rate = 0.125 : f64, momentum = 0.5 : f64, nesterov = true}>
dl.variable @w : tensor<6x6xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @scale : tensor<6xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)

dl.entry @train_step(%x: tensor<4x6xui8> {dl.name = "x", dl.batch_axis = 0 : i64}, %t: tensor<4x6xf32> {dl.name = "t", dl.batch_axis = 0 : i64})
    -> (tensor<f32> {dl.name = "loss", dl.kind = #program.value<accumulator>})
    attributes {kind = #program.entry<train>, updates = [#dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #plain>,
                                                    #dl.update<@scale, lr_mult = 1.0, decay_mult = 1.0, #plain>]} {
  %w = dl.read @w : tensor<6x6xf32>
  %s = dl.read @scale : tensor<6xf32>
  %xf = dl.cast %x : tensor<4x6xui8> to tensor<4x6xf32>
  %part = dl.constant dense<0.0078125> : tensor<4x6xf32>
  %xs = dl.multiply %xf, %part : tensor<4x6xf32>
  %h1 = dl.matmul %xs, %w transpose_b : tensor<4x6xf32>, tensor<6x6xf32>
  %a1 = dl.sigmoid %h1 : tensor<4x6xf32>
  %h2 = dl.matmul %a1, %w : tensor<4x6xf32>, tensor<6x6xf32>
  %bs = dl.broadcast %s dims = [1] : tensor<6xf32> to tensor<4x6xf32>
  %a2 = dl.multiply %h2, %bs : tensor<4x6xf32>
  %total = dl.reduce sum %a2 axes = [0] : tensor<4x6xf32>
  %quarter = dl.constant dense<0.25> : tensor<6xf32>
  %mean = dl.multiply %total, %quarter : tensor<6xf32>
  %bm = dl.broadcast %mean dims = [1] : tensor<6xf32> to tensor<4x6xf32>
  %centred = dl.subtract %a2, %bm : tensor<4x6xf32>
  %y = dl.tanh %centred : tensor<4x6xf32>
  %d = dl.subtract %y, %t : tensor<4x6xf32>
  %q = dl.multiply %d, %d : tensor<4x6xf32>
  %loss = dl.reduce sum %q axes = [0, 1] : tensor<4x6xf32>
  dl.return %loss : tensor<f32> loss(%loss : tensor<f32>)
}

dl.entry @second(%t: tensor<6xf32> {dl.name = "t"}) -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@scale, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.125 : f64, momentum = 0.5 : f64, dampening = 0.25 : f64}>>]} {
  %s = dl.read @scale : tensor<6xf32>
  %u = dl.multiply %s, %t : tensor<6xf32>
  %m = dl.maximum %s, %u : tensor<6xf32>
  %e = dl.exp %m : tensor<6xf32>
  %loss = dl.reduce sum %e axes = [0] : tensor<6xf32>
  dl.return loss(%loss : tensor<f32>)
}
