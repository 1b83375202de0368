// RUN: dlc-opt --dl-differentiate --split-input-file --verify-diagnostics %s

// The op named is the one that makes a constant of its operands, not the cast behind it, and by the composite's name.
dl.variable @w : tensor<4x5xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.entry @no_gradient(%label: tensor<4xi32>) -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %x = dl.read @w : tensor<4x5xf32>
  // expected-error @+1 {{the loss does not depend on any updated parameter: accuracy has no gradient}}
  %a = dl.accuracy %x, %label axis = 1 : tensor<4x5xf32>, tensor<4xi32>
  // expected-note @+1 {{path to the loss: accuracy -> reduce -> loss}}
  %s = dl.reduce sum %a axes = [0] : tensor<4xf32>
  dl.return loss(%s : tensor<f32>)
}

// -----

dl.variable @w : tensor<4xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.entry @no_path(%x: tensor<4xf32>) -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  // expected-error @+1 {{the loss does not depend on any updated parameter}}
  %s = dl.reduce sum %x axes = [0] : tensor<4xf32>
  dl.return loss(%s : tensor<f32>)
}

// -----

// Fusion comes after differentiation: a region has no rule.
dl.variable @w : tensor<4xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.entry @no_rule() -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %w = dl.read @w : tensor<4xf32>
  // expected-error @+1 {{fused has no gradient, and the loss depends on it}}
  %y = dl.fused(%w) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = dl.exp %0 : tensor<4xf32>
    dl.yield %1 : tensor<4xf32>
  }
  %z = dl.tanh %y : tensor<4xf32>
  // expected-note @+1 {{path to the loss: fused -> tanh -> reduce -> loss}}
  %s = dl.reduce sum %z axes = [0] : tensor<4xf32>
  dl.return loss(%s : tensor<f32>)
}

// -----

dl.variable @used : tensor<4xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
// expected-warning @+1 {{the loss of 'unused' does not depend on the parameter 'conv1.bias': its gradient is zero}}
dl.variable @conv1.bias : tensor<3xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.entry @unused() -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@used, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>,
      #dl.update<@conv1.bias, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %w = dl.read @used : tensor<4xf32>
  %s = dl.reduce sum %w axes = [0] : tensor<4xf32>
  dl.return loss(%s : tensor<f32>)
}

// -----

dl.entry @no_way(%x: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  %y = dl.reduce sum %x axes = [0] : tensor<4xf32>
  // expected-error @+1 {{the y of this gradient does not depend on its x}}
  %g = dl.gradient %y by %z : tensor<f32> by tensor<4xf32>
  dl.return %g : tensor<4xf32>
}

// -----

dl.entry @only_by_integers(%x: tensor<4x5xf32>, %label: tensor<4xi32>) -> (tensor<4x5xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{the y of this gradient does not depend on its x: accuracy has no gradient}}
  %a = dl.accuracy %x, %label axis = 1 : tensor<4x5xf32>, tensor<4xi32>
  // expected-note @+1 {{path to y: accuracy -> reduce -> y}}
  %y = dl.reduce sum %a axes = [0] : tensor<4xf32>
  %g = dl.gradient %y by %x : tensor<f32> by tensor<4x5xf32>
  dl.return %g : tensor<4x5xf32>
}

// -----

dl.entry @through_a_region(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{fused has no gradient, and y depends on it}}
  %z = dl.fused(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = dl.exp %0 : tensor<4xf32>
    dl.yield %1 : tensor<4xf32>
  }
  // expected-note @+1 {{path to y: fused -> reduce -> y}}
  %y = dl.reduce sum %z axes = [0] : tensor<4xf32>
  %g = dl.gradient %y by %x : tensor<f32> by tensor<4xf32>
  dl.return %g : tensor<4xf32>
}
