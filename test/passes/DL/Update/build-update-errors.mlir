// RUN: dlc-opt --dl-build-update --split-input-file --verify-diagnostics %s

dl.variable @w : tensor<4xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
// expected-error @+1 {{'train_step' updates 'w' but returns no gradient of it: dl-differentiate comes first}}
dl.entry @train_step() -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  dl.return
}
