// RUN: dlc-opt --dl-rematerialize=cheap %s | FileCheck %s

// Without a budget memory is brought as low as is found. A product is not computed again; what is made of it element by element is.
// CHECK-LABEL: dl.entry @products
// CHECK-SAME: dl.memory = {before = 81920 : i64, recomputed = 1 : i64
// CHECK: %[[P:.*]] = dl.fused(%{{.*}}) {candidate
// CHECK: dl.fused(%[[P]]) {dl.recomputed}
// CHECK-NOT: dl.recomputed
// CHECK: dl.return
dl.entry @products(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>) attributes {kind = #program.entry<train>} {
  %p = dl.fused(%x) {candidate = #program.candidate<seconds = 1.0e-9 : f64>} : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.matmul %0, %0 : tensor<64x64xf32>, tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %a = dl.fused(%p) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.exp %0 : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %b = dl.fused(%a) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.transpose %0 order = [1, 0] : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %c = dl.fused(%b) : (tensor<64x64xf32>) -> tensor<128x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.pad %0 low = [64, 0] steps = [1, 1] : tensor<64x64xf32> to tensor<128x64xf32>
    dl.yield %1 : tensor<128x64xf32>
  }
  %d = dl.fused(%c) : (tensor<128x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<128x64xf32>):
    %1 = dl.slice %0 starts = [0, 0] sizes = [64, 64] steps = [1, 1] : tensor<128x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %y = dl.fused(%d, %a, %p) : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>, %1: tensor<64x64xf32>, %2: tensor<64x64xf32>):
    %3 = dl.add %0, %1 : tensor<64x64xf32>
    %4 = dl.multiply %3, %2 : tensor<64x64xf32>
    dl.yield %4 : tensor<64x64xf32>
  }
  dl.return %y : tensor<64x64xf32>
}

// What the entry gives back lies in memory to the end anyway.
// CHECK-LABEL: dl.entry @results
// CHECK-NOT: dl.recomputed
// CHECK: dl.return
dl.entry @results(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) attributes {kind = #program.entry<train>} {
  %a = dl.fused(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.exp %0 : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %b = dl.fused(%a) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.transpose %0 order = [1, 0] : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %c = dl.fused(%b) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.transpose %0 order = [1, 0] : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %y = dl.fused(%c, %a) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>, %1: tensor<64x64xf32>):
    %2 = dl.add %0, %1 : tensor<64x64xf32>
    dl.yield %2 : tensor<64x64xf32>
  }
  dl.return %a, %y : tensor<64x64xf32>, tensor<64x64xf32>
}

// An entry that does not train keeps nothing for a backward pass, and is left alone.
// CHECK-LABEL: dl.entry @inference
// CHECK-NOT: dl.recomputed
// CHECK: dl.return
dl.entry @inference(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>) attributes {kind = #program.entry<infer>} {
  %a = dl.fused(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.transpose %0 order = [1, 0] : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %b = dl.fused(%a) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.transpose %0 order = [1, 0] : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %c = dl.fused(%b) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.transpose %0 order = [1, 0] : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %y = dl.fused(%c, %a) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>, %1: tensor<64x64xf32>):
    %2 = dl.add %0, %1 : tensor<64x64xf32>
    dl.yield %2 : tensor<64x64xf32>
  }
  dl.return %y : tensor<64x64xf32>
}
