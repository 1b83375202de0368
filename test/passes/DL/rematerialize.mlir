// RUN: dlc-opt --dl-rematerialize=memory-budget=42000 --split-input-file %s | FileCheck %s
// RUN: dlc-opt --dl-rematerialize=memory-budget=90000 --split-input-file %s | FileCheck %s --check-prefix=ENOUGH
// RUN: dlc-opt --dl-rematerialize=memory-budget=42000 --mlir-print-debuginfo --split-input-file %s | FileCheck %s --check-prefix=NAMES

// Tensors have 16,384 bytes. While %c is made of %b, %a is kept for the end: three are there. Computed again in front of its user it
// is not, and the copy is named after its layer. Where the budget is enough nothing is copied.
// CHECK-LABEL: dl.entry @late
// CHECK-SAME: dl.memory = {before = 49152 : i64, budget = 42000 : i64, recomputed = 1 : i64, seconds = {{.*}} : f64}
// CHECK: %[[A:.*]] = dl.fused(%[[X:.*]]) :
// CHECK: %[[B:.*]] = dl.fused(%[[A]]) :
// CHECK: %[[C:.*]] = dl.fused(%[[B]]) :
// CHECK: %[[D:.*]] = dl.fused(%[[C]]) :
// CHECK: %[[AGAIN:.*]] = dl.fused(%[[X]]) {dl.recomputed} :
// CHECK: %[[Y:.*]] = dl.fused(%[[D]], %[[AGAIN]]) :
// CHECK: dl.return %[[Y]]
// NAMES-LABEL: dl.entry @late
// NAMES: {dl.recomputed}
// NAMES: } loc([[LOC:#loc[0-9]+]])
// NAMES: [[LOC]] = loc("layer/recompute"
// ENOUGH-LABEL: dl.entry @late
// ENOUGH-SAME: dl.memory = {before = {{[0-9]+}} : i64, budget = 90000 : i64, recomputed = 0 : i64, seconds = 0.000000e+00 : f64}
// ENOUGH-NOT: dl.recomputed
// ENOUGH: dl.return
dl.entry @late(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>) attributes {kind = #program.entry<train>} {
  %a = dl.fused(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.transpose %0 order = [1, 0] : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  } loc("layer")
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
  %d = dl.fused(%c) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.transpose %0 order = [1, 0] : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %y = dl.fused(%d, %a) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>, %1: tensor<64x64xf32>):
    %2 = dl.add %0, %1 : tensor<64x64xf32>
    dl.yield %2 : tensor<64x64xf32>
  }
  dl.return %y : tensor<64x64xf32>
}

// -----

// One copy serves all that comes behind, through a view as well. A statistic that the same region updates is assigned once: from the
// original.
// CHECK-LABEL: dl.entry @shared
// CHECK-SAME: recomputed = 1
// CHECK: %[[A:.*]]:2 = dl.fused(%[[X:.*]], %[[OLD:.*]]) :
// CHECK: dl.reshape %[[A]]#0
// CHECK: %[[B:.*]] = dl.fused(%[[A]]#0)
// CHECK: %[[C:.*]] = dl.fused(%[[B]])
// CHECK: %[[D:.*]] = dl.fused(%[[C]])
// CHECK: %[[AGAIN:.*]]:2 = dl.fused(%[[X]], %[[OLD]]) {dl.recomputed} :
// CHECK: %[[E:.*]] = dl.fused(%[[D]], %[[AGAIN]]#0)
// CHECK: %[[VIEW:.*]] = dl.reshape %[[AGAIN]]#0
// CHECK: %[[S:.*]] = dl.fused(%[[VIEW]])
// CHECK: dl.assign @mean, %[[A]]#1
// CHECK: dl.return %[[E]], %[[S]]
dl.variable @mean : tensor<64xf32> role<statistic> init(#program.init<constant, 0.0, 0.0>)
dl.entry @shared(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>) attributes {kind = #program.entry<train>} {
  %old = dl.read @mean : tensor<64xf32>
  %a, %new = dl.fused(%x, %old) : (tensor<64x64xf32>, tensor<64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>) {
  ^bb0(%0: tensor<64x64xf32>, %1: tensor<64xf32>):
    %2 = dl.exp %0 : tensor<64x64xf32>
    %3 = dl.reduce sum %2 axes = [0] : tensor<64x64xf32>
    %4 = dl.add %1, %3 : tensor<64xf32>
    dl.yield %2, %4 : tensor<64x64xf32>, tensor<64xf32>
  }
  %v = dl.reshape %a : tensor<64x64xf32> to tensor<4096xf32>
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
  %d = dl.fused(%c) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.exp %0 : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %e = dl.fused(%d, %a) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>, %1: tensor<64x64xf32>):
    %2 = dl.add %0, %1 : tensor<64x64xf32>
    dl.yield %2 : tensor<64x64xf32>
  }
  %s = dl.fused(%v) : (tensor<4096xf32>) -> tensor<64xf32> {
  ^bb0(%0: tensor<4096xf32>):
    %1 = dl.slice %0 starts = [0] sizes = [64] steps = [1] : tensor<4096xf32>
    dl.yield %1 : tensor<64xf32>
  }
  dl.assign @mean, %new : tensor<64xf32>
  dl.return %e, %s : tensor<64x64xf32>, tensor<64xf32>
}

// -----

// Of two values that are kept for the end the one that takes less time is computed again.
// CHECK-LABEL: dl.entry @cheaper
// CHECK-SAME: recomputed = 1 : i64, seconds = 2.000000e-06
// CHECK: %[[DEAR:.*]] = dl.fused({{.*}}) {candidate = #program.candidate<seconds = 9.000000e-06 : f64>}
// CHECK: dl.fused({{.*}}) {candidate = #program.candidate<seconds = 2.000000e-06 : f64>, dl.recomputed}
// CHECK: dl.fused({{.*}}, %[[DEAR]])
dl.entry @cheaper(%x: tensor<64x64xf32>) -> (tensor<64x16xf32>) attributes {kind = #program.entry<train>} {
  %dear = dl.fused(%x) {candidate = #program.candidate<seconds = 9.0e-6 : f64>} : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.matmul %0, %0 : tensor<64x64xf32>, tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %little = dl.fused(%x) {candidate = #program.candidate<seconds = 2.0e-6 : f64>} : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.transpose %0 order = [1, 0] : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %b = dl.fused(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.exp %0 : tensor<64x64xf32>
    dl.yield %1 : tensor<64x64xf32>
  }
  %c = dl.fused(%b) : (tensor<64x64xf32>) -> tensor<64x16xf32> {
  ^bb0(%0: tensor<64x64xf32>):
    %1 = dl.slice %0 starts = [0, 0] sizes = [64, 16] steps = [1, 1] : tensor<64x64xf32>
    dl.yield %1 : tensor<64x16xf32>
  }
  %d = dl.fused(%c, %little) : (tensor<64x16xf32>, tensor<64x64xf32>) -> tensor<64x16xf32> {
  ^bb0(%0: tensor<64x16xf32>, %1: tensor<64x64xf32>):
    %2 = dl.matmul %1, %0 : tensor<64x64xf32>, tensor<64x16xf32>
    dl.yield %2 : tensor<64x16xf32>
  }
  %e = dl.fused(%d, %dear) : (tensor<64x16xf32>, tensor<64x64xf32>) -> tensor<64x16xf32> {
  ^bb0(%0: tensor<64x16xf32>, %1: tensor<64x64xf32>):
    %2 = dl.matmul %1, %0 : tensor<64x64xf32>, tensor<64x16xf32>
    dl.yield %2 : tensor<64x16xf32>
  }
  dl.return %e : tensor<64x16xf32>
}
