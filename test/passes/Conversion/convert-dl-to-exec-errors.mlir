// RUN: dlc-opt --convert-dl-to-exec --split-input-file --verify-diagnostics %s

dl.entry @infer_n1(%x: tensor<4xf32>) -> (tensor<4xf32> {dl.name = "y", dl.kind = #program.value<result>}) attributes {kind = #program.entry<infer>} {
  // expected-error @below {{stands outside of a dl.fused, but runs as a kernel}}
  %y = dl.exp %x : tensor<4xf32>
  dl.return %y : tensor<4xf32>
}

// -----

dl.entry @first() -> () attributes {kind = #program.entry<train>} {
  // expected-note @below {{first used here}}
  %a = dl.scalar "rate", 1.0e-1 : tensor<f32>
  dl.return
}
dl.entry @second() -> () attributes {kind = #program.entry<train>} {
  // expected-error @below {{scalar 'rate' has another default here}}
  %a = dl.scalar "rate", 1.0e-2 : tensor<f32>
  dl.return
}

// -----

dl.entry @first() -> () attributes {kind = #program.entry<train>} {
  // expected-note @below {{first used here}}
  %a = dl.scalar "step", 0.0 : tensor<i64>
  dl.return
}
dl.entry @second() -> () attributes {kind = #program.entry<train>} {
  // expected-error @below {{scalar 'step' has another type here}}
  %a = dl.scalar "step", 0.0 : tensor<i32>
  dl.return
}

// -----

dl.entry @infer_n1(%x: tensor<4x4xf32>) -> (tensor<2x4xf32> {dl.name = "y", dl.kind = #program.value<result>}) attributes {kind = #program.entry<infer>} {
  // expected-error @below {{stands outside of a dl.fused, but runs as a kernel}}
  %y = dl.slice %x starts = [1, 0] sizes = [2, 4] steps = [1, 1] : tensor<4x4xf32>
  dl.return %y : tensor<2x4xf32>
}

// -----

// What a pass behind dl-choose rebuilds has to keep its choice.
dl.entry @infer_n1(%x: tensor<4xf32>) -> (tensor<4xf32> {dl.name = "y", dl.kind = #program.value<result>}) attributes {kind = #program.entry<infer>} {
  %0 = dl.fused(%x) {candidate = #program.candidate<generator = "cpu-map", schedule = "map", seconds = 1.0e-6>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%1: tensor<4xf32>):
    %2 = dl.exp %1 : tensor<4xf32>
    dl.yield %2 : tensor<4xf32>
  }
  // What is empty is run by nothing.
  %empty = dl.fused() : () -> tensor<0xf32> {
    %1 = dl.constant dense<0.0> : tensor<0xf32>
    dl.yield %1 : tensor<0xf32>
  }
  // expected-error @below {{has no candidate, though other regions of its entry have}}
  %3 = dl.fused(%0) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%1: tensor<4xf32>):
    %2 = dl.log %1 : tensor<4xf32>
    dl.yield %2 : tensor<4xf32>
  }
  dl.return %3 : tensor<4xf32>
}
