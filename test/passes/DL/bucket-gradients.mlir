// RUN: dlc-opt --split-input-file --dl-bucket-gradients=bucket-size=512 --mlir-print-local-scope %s | FileCheck %s
// RUN: dlc-opt --split-input-file --dl-bucket-gradients="alpha=5e-7 beta=2e-6" --mlir-print-local-scope %s | FileCheck %s --check-prefix=EVEN
// RUN: dlc-opt --split-input-file --dl-bucket-gradients="alpha=1 beta=1e-9" --mlir-print-local-scope %s | FileCheck %s --check-prefix=SLOW
// RUN: dlc-opt --split-input-file --dl-bucket-gradients=bucket-size=512 --mlir-print-debuginfo %s | FileCheck %s --check-prefix=NAMES

// A reduction stands directly behind its last gradient, in the order in which the block makes them, not in that of the parameters.
// Each bucket has an update of its own; updates come last, in the same order. What each tensor has of its own is cut as well.
// CHECK-LABEL: dl.entry @step
// CHECK: %[[DC:.*]] = dl.fused
// CHECK: %[[DA:.*]] = dl.fused
// CHECK: dl.exp
// CHECK-NEXT: dl.yield
// CHECK-NEXT: }
// CHECK-NEXT: %[[R1:.*]]:2 = dl.all_reduce sum %[[DC]], %[[DA]] channel 0 {of = [@c, @a], seconds = 5.081920e-05 : f64}
// CHECK: %[[DB:.*]] = dl.fused
// CHECK: %[[R2:.*]] = dl.all_reduce sum %[[DB]] channel 0 {of = [@b]
// CHECK: dl.fused
// CHECK-NOT: all_reduce
// CHECK: %[[OWN1:.*]] = dl.constant dense<[3.000000e+00, 1.000000e+00]> : tensor<2xf32>
// CHECK: %[[NEW1:.*]]:2 = dl.multi_tensor(%[[C:.*]], %[[A:.*]], %[[R1]]#0, %[[R1]]#1) each(%[[OWN1]]) scalars(%[[SCALE:.*]]) {streams = 2 : i64}
// CHECK: %[[OWN2:.*]] = dl.constant dense<2.000000e+00> : tensor<1xf32>
// CHECK: %[[NEW2:.*]] = dl.multi_tensor(%{{.*}}, %[[R2]]) each(%[[OWN2]]) scalars(%[[SCALE]]) {streams = 2 : i64}
// CHECK-DAG: dl.assign @a, %[[NEW1]]#1
// CHECK-DAG: dl.assign @b, %[[NEW2]]
// CHECK-DAG: dl.assign @c, %[[NEW1]]#0
// A returned gradient is the sum over the ranks.
// CHECK: dl.return %[[R1]]#1

// Records carry the bucket's name.
// NAMES-LABEL: dl.entry @step
// NAMES-DAG: = loc("bucket1/all_reduce"
// NAMES-DAG: = loc("bucket2/update"

// Where a reduction takes as long as the next gradient, each goes alone.
// EVEN-LABEL: dl.entry @step
// EVEN: dl.all_reduce sum %{{[0-9]+}} channel 0 {of = [@c]
// EVEN: dl.all_reduce sum %{{[0-9]+}} channel 0 {of = [@a]
// EVEN: dl.all_reduce sum %{{[0-9]+}} channel 0 {of = [@b]
// Where any takes a second, all go as one.
// SLOW-LABEL: dl.entry @step
// SLOW-COUNT-1: dl.all_reduce sum %{{.*}} channel 0 {of = [@c, @a, @b], seconds = 1.000001{{.*}} : f64}
// SLOW-NOT: all_reduce
// SLOW: dl.return
dl.variable @a : tensor<64xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @b : tensor<128xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @c : tensor<64xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.entry @step(%x: tensor<64xf32>, %z: tensor<128xf32>) -> (tensor<64xf32>, tensor<128xf32>) attributes {kind = #program.entry<train>} {
  %a = dl.read @a : tensor<64xf32>
  %b = dl.read @b : tensor<128xf32>
  %c = dl.read @c : tensor<64xf32>
  %scale = dl.scalar "ranks.scale", 1.0 : tensor<f32>
  %own = dl.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %dc = dl.fused(%x) {candidate = #program.candidate<seconds = 1.0e-3 : f64>} : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%0: tensor<64xf32>):
    %1 = dl.tanh %0 : tensor<64xf32>
    dl.yield %1 : tensor<64xf32>
  }
  %da = dl.fused(%x) {candidate = #program.candidate<seconds = 1.0e-3 : f64>} : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%0: tensor<64xf32>):
    %1 = dl.exp %0 : tensor<64xf32>
    dl.yield %1 : tensor<64xf32>
  }
  %db = dl.fused(%z) {candidate = #program.candidate<seconds = 1.0e-3 : f64>} : (tensor<128xf32>) -> tensor<128xf32> {
  ^bb0(%0: tensor<128xf32>):
    %1 = dl.exp %0 : tensor<128xf32>
    dl.yield %1 : tensor<128xf32>
  }
  %more = dl.fused(%z) : (tensor<128xf32>) -> tensor<128xf32> {
  ^bb0(%0: tensor<128xf32>):
    %1 = dl.log %0 : tensor<128xf32>
    dl.yield %1 : tensor<128xf32>
  }
  %s:3 = dl.all_reduce sum %da, %db, %dc channel 0 {of = [@a, @b, @c]} : tensor<64xf32>, tensor<128xf32>, tensor<64xf32> loc("optimizer/all_reduce")
  %new:3 = dl.multi_tensor(%a, %b, %c, %s#0, %s#1, %s#2) each(%own) scalars(%scale) {streams = 2 : i64}
      : (tensor<64xf32>, tensor<128xf32>, tensor<64xf32>, tensor<64xf32>, tensor<128xf32>, tensor<64xf32>, tensor<3xf32>, tensor<f32>)
      -> (tensor<64xf32>, tensor<128xf32>, tensor<64xf32>) {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>, %e: tensor<f32>, %r: tensor<f32>):
    %mean = dl.multiply %g, %r : tensor<f32>
    %m = dl.multiply %mean, %e : tensor<f32>
    %q = dl.subtract %p, %m : tensor<f32>
    dl.yield %q : tensor<f32>
  } loc("optimizer/update")
  dl.assign @a, %new#0 : tensor<64xf32>
  dl.assign @b, %new#1 : tensor<128xf32>
  dl.assign @c, %new#2 : tensor<64xf32>
  dl.return %s#0, %more : tensor<64xf32>, tensor<128xf32>
}

// -----

// Norms of each tensor, as clipping by them and LARS ask for, see sums over ranks and are split with the updates that read them. Those that
// the entry returns, to be checked, become those of each bucket.
// CHECK-LABEL: dl.entry @norms
// CHECK-SAME: -> (tensor<1xf32> {dl.kind = #program.value<check>, dl.name = "squares.bucket1"}, tensor<1xf32> {dl.kind = #program.value<check>, dl.name = "squares.bucket2"})
// CHECK: %[[DB:.*]] = dl.fused
// CHECK: %[[R1:.*]] = dl.all_reduce sum %[[DB]]
// CHECK: %[[R2:.*]] = dl.all_reduce sum
// CHECK: %[[N1:.*]] = dl.multi_tensor(%[[R1]])
// CHECK: dl.multi_tensor(%{{.*}}, %[[R1]]) each(%[[N1]])
// CHECK: %[[N2:.*]] = dl.multi_tensor(%[[R2]])
// CHECK: dl.multi_tensor(%{{.*}}, %[[R2]]) each(%[[N2]])
// CHECK: dl.return %[[N1]], %[[N2]]
dl.variable @a : tensor<128xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @b : tensor<128xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.entry @norms(%x: tensor<128xf32>) -> (tensor<2xf32> {dl.name = "squares", dl.kind = #program.value<check>}) attributes {kind = #program.entry<train>} {
  %a = dl.read @a : tensor<128xf32>
  %b = dl.read @b : tensor<128xf32>
  %db = dl.fused(%x) : (tensor<128xf32>) -> tensor<128xf32> {
  ^bb0(%0: tensor<128xf32>):
    %1 = dl.tanh %0 : tensor<128xf32>
    dl.yield %1 : tensor<128xf32>
  }
  %da = dl.fused(%x) : (tensor<128xf32>) -> tensor<128xf32> {
  ^bb0(%0: tensor<128xf32>):
    %1 = dl.exp %0 : tensor<128xf32>
    dl.yield %1 : tensor<128xf32>
  }
  %s:2 = dl.all_reduce sum %da, %db channel 0 {of = [@a, @b]} : tensor<128xf32>, tensor<128xf32> loc("optimizer/all_reduce")
  %norm = dl.multi_tensor(%s#0, %s#1) scalars() {streams = 1 : i64, sums = 1 : i64}
      : (tensor<128xf32>, tensor<128xf32>) -> (tensor<2xf32>) {
  ^bb0(%g: tensor<f32>):
    %q = dl.multiply %g, %g : tensor<f32>
    dl.yield %q : tensor<f32>
  } loc("optimizer/clip")
  %new:2 = dl.multi_tensor(%a, %b, %s#0, %s#1) each(%norm) scalars() {streams = 2 : i64}
      : (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<2xf32>) -> (tensor<128xf32>, tensor<128xf32>) {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>, %n: tensor<f32>):
    %m = dl.divide %g, %n : tensor<f32>
    %q = dl.subtract %p, %m : tensor<f32>
    dl.yield %q : tensor<f32>
  } loc("optimizer/update")
  dl.assign @a, %new#0 : tensor<128xf32>
  dl.assign @b, %new#1 : tensor<128xf32>
  dl.return %norm : tensor<2xf32>
}

// -----

// A norm of all gradients waits for all sums: it and the update stay whole, and buckets are runs of parameters, the last first, so
// that all lie in one buffer in the order in which both read them.
// CHECK-LABEL: dl.entry @global_norm
// CHECK: %[[R1:.*]] = dl.all_reduce sum %{{.*}} channel 0 {of = [@b]
// CHECK: %[[R2:.*]] = dl.all_reduce sum %{{.*}} channel 0 {of = [@a]
// CHECK: %[[N:.*]] = dl.multi_tensor(%[[R2]], %[[R1]])
// CHECK: %[[F:.*]] = dl.fused(%[[N]])
// CHECK: dl.multi_tensor(%{{.*}}, %{{.*}}, %[[R2]], %[[R1]]) scalars(%[[F]])
dl.variable @a : tensor<128xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @b : tensor<128xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.entry @global_norm(%x: tensor<128xf32>) attributes {kind = #program.entry<train>} {
  %a = dl.read @a : tensor<128xf32>
  %b = dl.read @b : tensor<128xf32>
  %db = dl.fused(%x) : (tensor<128xf32>) -> tensor<128xf32> {
  ^bb0(%0: tensor<128xf32>):
    %1 = dl.tanh %0 : tensor<128xf32>
    dl.yield %1 : tensor<128xf32>
  }
  %da = dl.fused(%x) : (tensor<128xf32>) -> tensor<128xf32> {
  ^bb0(%0: tensor<128xf32>):
    %1 = dl.exp %0 : tensor<128xf32>
    dl.yield %1 : tensor<128xf32>
  }
  %s:2 = dl.all_reduce sum %da, %db channel 0 {of = [@a, @b]} : tensor<128xf32>, tensor<128xf32> loc("optimizer/all_reduce")
  %norm = dl.multi_tensor(%s#0, %s#1) scalars() {streams = 1 : i64, sums = 1 : i64}
      : (tensor<128xf32>, tensor<128xf32>) -> (tensor<2xf32>) {
  ^bb0(%g: tensor<f32>):
    %q = dl.multiply %g, %g : tensor<f32>
    dl.yield %q : tensor<f32>
  } loc("optimizer/clip")
  %factor = dl.fused(%norm) : (tensor<2xf32>) -> tensor<f32> {
  ^bb0(%0: tensor<2xf32>):
    %1 = dl.reduce sum %0 axes = [0] : tensor<2xf32>
    dl.yield %1 : tensor<f32>
  }
  %new:2 = dl.multi_tensor(%a, %b, %s#0, %s#1) scalars(%factor) {streams = 2 : i64}
      : (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<f32>) -> (tensor<128xf32>, tensor<128xf32>) {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>, %f: tensor<f32>):
    %m = dl.multiply %g, %f : tensor<f32>
    %q = dl.subtract %p, %m : tensor<f32>
    dl.yield %q : tensor<f32>
  } loc("optimizer/update")
  dl.assign @a, %new#0 : tensor<128xf32>
  dl.assign @b, %new#1 : tensor<128xf32>
  dl.return
}

// -----

// Small reductions that the next op waits for are no buckets.
// CHECK-LABEL: dl.entry @small
// CHECK: dl.all_reduce sum %{{.*}} channel 1 : tensor<4xf32>, tensor<4xf32>
dl.entry @small(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {kind = #program.entry<train>} {
  %s:2 = dl.all_reduce sum %x, %y channel 1 : tensor<4xf32>, tensor<4xf32>
  dl.return %s#0, %s#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// What two parameters have alike, as the two biases of a recurrent layer, is summed once.
// CHECK-LABEL: dl.entry @alike
// CHECK: %[[DC:.*]] = dl.fused
// CHECK: %[[DA:.*]] = dl.fused
// CHECK: %[[R:.*]]:2 = dl.all_reduce sum %[[DC]], %[[DA]] channel 0 {of = [@c, @a], seconds = 5.081920e-05 : f64}
// CHECK-NOT: all_reduce
// CHECK: dl.multi_tensor(%{{.*}}, %{{.*}}, %{{.*}}, %[[R]]#0, %[[R]]#1, %[[R]]#1) scalars()
dl.variable @a : tensor<64xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @b : tensor<64xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @c : tensor<64xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.entry @alike(%x: tensor<64xf32>) attributes {kind = #program.entry<train>} {
  %a = dl.read @a : tensor<64xf32>
  %b = dl.read @b : tensor<64xf32>
  %c = dl.read @c : tensor<64xf32>
  %dc = dl.fused(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%0: tensor<64xf32>):
    %1 = dl.tanh %0 : tensor<64xf32>
    dl.yield %1 : tensor<64xf32>
  }
  %da = dl.fused(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%0: tensor<64xf32>):
    %1 = dl.exp %0 : tensor<64xf32>
    dl.yield %1 : tensor<64xf32>
  }
  %s:3 = dl.all_reduce sum %da, %da, %dc channel 0 {of = [@a, @b, @c]} : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  %new:3 = dl.multi_tensor(%a, %b, %c, %s#0, %s#1, %s#2) scalars() {streams = 2 : i64}
      : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    %q = dl.subtract %p, %g : tensor<f32>
    dl.yield %q : tensor<f32>
  }
  dl.assign @a, %new#0 : tensor<64xf32>
  dl.assign @b, %new#1 : tensor<64xf32>
  dl.assign @c, %new#2 : tensor<64xf32>
  dl.return
}
