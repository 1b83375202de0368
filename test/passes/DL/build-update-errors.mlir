// RUN: dlc-opt --dl-build-update --split-input-file --verify-diagnostics %s

dl.variable @w : tensor<4xf32> role<parameter> init(#dl.init<constant, 0.0, 0.0>)
// expected-error @+1 {{'train_step' updates 'w' but returns no gradient of it: dl-differentiate comes first}}
dl.entry @train_step() -> () attributes {kind = #dl.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.sgd<{}>>]} {
  dl.return
}

// -----

// expected-error @+1 {{'w' has no known optimizer: expected #dl.sgd, found "adam"}}
dl.variable @w : tensor<4xf32> role<parameter> init(#dl.init<constant, 0.0, 0.0>)
dl.entry @train_step(%dw: tensor<4xf32>) -> (tensor<4xf32> {dl.kind = #dl.value<gradient>, dl.of = @w})
    attributes {kind = #dl.entry<train>, updates = [#dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, "adam">]} {
  dl.return %dw : tensor<4xf32>
}
