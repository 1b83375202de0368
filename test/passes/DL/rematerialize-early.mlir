// RUN: dlc-opt --dl-rematerialize="memory-budget=33000 early=true" --verify-diagnostics %s

// What is out of reach by what one op reads and writes is refused without a search.
dl.variable @w : tensor<64x64xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
// expected-error @+1 {{'step' does not fit into a memory budget of 33000 bytes: it needs at least 49152 bytes, state and arena}}
dl.entry @step(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>) attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<64x64xf32>
  %a = dl.fused(%x, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>, %1: tensor<64x64xf32>):
    %2 = dl.matmul %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
    dl.yield %2 : tensor<64x64xf32>
  }
  %b = dl.fused(%a) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.transpose %0 order = [1, 0] : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %y = dl.fused(%b, %a) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>, %1: tensor<64x64xf32>):
    %2 = dl.add %0, %1 : tensor<64x64xf32>
    dl.yield %2 : tensor<64x64xf32>
  }
  dl.return %y : tensor<64x64xf32>
}
