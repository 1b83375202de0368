// RUN: dlc-opt --convert-dl-to-exec --exec-schedule-streams --exec-verify --split-input-file %s | FileCheck %s

// Gradients are computed in their buckets, each reduced where it lies, and the update reads it there: nothing is copied. What the
// entry returns is the sum.
// CHECK-LABEL: exec.program @buckets
// CHECK-NOT: exec.copy
// CHECK-DAG: %[[B1:.*]] = exec.alloc : <512>
// CHECK-DAG: %[[DC:.*]] = exec.view %[[B1]] at 0 : <512> to <256>
// CHECK-DAG: %[[DA:.*]] = exec.view %[[B1]] at 256 : <512> to <256>
// CHECK-DAG: %[[B2:.*]] = exec.alloc : <256>
// CHECK: exec.launch @{{.*}}(read %{{.*}}, write %[[DC]]) stream 0
// CHECK: exec.launch @{{.*}}(read %{{.*}}, write %[[DA]]) stream 0
// CHECK: exec.all_reduce sum %[[WHOLE:.*]] as f32 channel 0 stream 1 {of = [@c, @a], seconds = 1.000000e-03 : f64} : <512>
// CHECK: exec.launch @{{.*}}(read %{{.*}}, write %[[DB:.*]]) stream 0
// CHECK: exec.all_reduce sum %[[DB]] as f32 channel 0 stream 1 : <256>
// CHECK-NOT: exec.copy
// CHECK: exec.launch @{{.*}}(read %{{.*}}, read %[[B1]],
// CHECK: exec.launch @{{.*}}(read %{{.*}}, read %[[B2]],
// CHECK: exec.output %[[DA]]
dl.variable @a : tensor<64xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @b : tensor<64xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @c : tensor<64xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.entry @buckets(%x: tensor<64xf32> {dl.name = "x"})
    -> (tensor<64xf32> {dl.name = "gradient.a", dl.kind = #program.value<gradient>, dl.of = @a}) attributes {kind = #program.entry<train>} {
  %a = dl.read @a : tensor<64xf32>
  %b = dl.read @b : tensor<64xf32>
  %c = dl.read @c : tensor<64xf32>
  %dc = dl.fused(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%0: tensor<64xf32>):
    %1 = dl.tanh %0 : tensor<64xf32>
    dl.yield %1 : tensor<64xf32>
  } loc("c")
  %da = dl.fused(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%0: tensor<64xf32>):
    %1 = dl.exp %0 : tensor<64xf32>
    dl.yield %1 : tensor<64xf32>
  } loc("a")
  %s1:2 = dl.all_reduce sum %dc, %da channel 0 {of = [@c, @a], seconds = 1.0e-3 : f64} : tensor<64xf32>, tensor<64xf32> loc("bucket1/all_reduce")
  %db = dl.fused(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%0: tensor<64xf32>):
    %1 = dl.relu %0 : tensor<64xf32>
    dl.yield %1 : tensor<64xf32>
  } loc("b")
  %s2 = dl.all_reduce sum %db channel 0 : tensor<64xf32> loc("bucket2/all_reduce")
  %new1:2 = dl.multi_tensor(%c, %a, %s1#0, %s1#1) scalars() {streams = 2 : i64}
      : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    %q = dl.subtract %p, %g : tensor<f32>
    dl.yield %q : tensor<f32>
  } loc("bucket1/update")
  %new2 = dl.multi_tensor(%b, %s2) scalars() {streams = 2 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    %q = dl.subtract %p, %g : tensor<f32>
    dl.yield %q : tensor<f32>
  } loc("bucket2/update")
  dl.assign @a, %new1#1 : tensor<64xf32>
  dl.assign @b, %new2 : tensor<64xf32>
  dl.assign @c, %new1#0 : tensor<64xf32>
  dl.return %s1#1 : tensor<64xf32>
}

// -----

// Two buckets of one buffer, where the update reads both at once.
// CHECK-LABEL: exec.program @whole
// CHECK-NOT: exec.copy
// CHECK: %[[ALL:.*]] = exec.alloc : <512>
// CHECK-DAG: %[[DA:.*]] = exec.view %[[ALL]] at 0 : <512> to <256>
// CHECK-DAG: %[[DB:.*]] = exec.view %[[ALL]] at 256 : <512> to <256>
// CHECK: exec.all_reduce sum %[[DB]]
// CHECK: exec.all_reduce sum %[[DA]]
// CHECK: exec.launch @{{.*}}(read %{{.*}}, read %[[ALL]],
// CHECK-NOT: exec.copy
// CHECK: exec.output
dl.variable @a : tensor<64xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @b : tensor<64xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.entry @whole(%x: tensor<64xf32> {dl.name = "x"}) attributes {kind = #program.entry<train>} {
  %a = dl.read @a : tensor<64xf32>
  %b = dl.read @b : tensor<64xf32>
  %db = dl.fused(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%0: tensor<64xf32>):
    %1 = dl.tanh %0 : tensor<64xf32>
    dl.yield %1 : tensor<64xf32>
  } loc("b")
  %sb = dl.all_reduce sum %db channel 0 : tensor<64xf32> loc("bucket1/all_reduce")
  %da = dl.fused(%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%0: tensor<64xf32>):
    %1 = dl.exp %0 : tensor<64xf32>
    dl.yield %1 : tensor<64xf32>
  } loc("a")
  %sa = dl.all_reduce sum %da channel 0 : tensor<64xf32> loc("bucket2/all_reduce")
  %new:2 = dl.multi_tensor(%a, %b, %sa, %sb) scalars() {streams = 2 : i64}
      : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    %q = dl.subtract %p, %g : tensor<f32>
    dl.yield %q : tensor<f32>
  } loc("optimizer/update")
  dl.assign @a, %new#0 : tensor<64xf32>
  dl.assign @b, %new#1 : tensor<64xf32>
  dl.return
}

// -----

// Sums of gradients that a variable keeps are reduced in its memory: the update, which alone reads them, gives it another value.
// CHECK-LABEL: exec.program @accumulated
// CHECK-NOT: exec.copy
// CHECK: exec.all_reduce sum %[[SUMS:.*]] as f32 channel 0 stream 1 : <512>
// CHECK-NOT: exec.copy
// CHECK: exec.output
dl.variable @a : tensor<64xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @a.gradient_sum : tensor<64xf32> role<slot> of(@a) init(#program.init<constant, 0.0, 0.0>)
dl.variable @b : tensor<64xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @b.gradient_sum : tensor<64xf32> role<slot> of(@b) init(#program.init<constant, 0.0, 0.0>)
dl.entry @accumulated() attributes {kind = #program.entry<train>} {
  %a = dl.read @a : tensor<64xf32>
  %b = dl.read @b : tensor<64xf32>
  %da = dl.read @a.gradient_sum : tensor<64xf32>
  %db = dl.read @b.gradient_sum : tensor<64xf32>
  %s:2 = dl.all_reduce sum %da, %db channel 0 : tensor<64xf32>, tensor<64xf32> loc("optimizer/all_reduce")
  %new:4 = dl.multi_tensor(%a, %b, %s#0, %s#1) scalars() {streams = 2 : i64}
      : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    %q = dl.subtract %p, %g : tensor<f32>
    %none = dl.constant dense<0.0> : tensor<f32>
    dl.yield %q, %none : tensor<f32>, tensor<f32>
  } loc("optimizer/update")
  dl.assign @a, %new#0 : tensor<64xf32>
  dl.assign @b, %new#1 : tensor<64xf32>
  dl.assign @a.gradient_sum, %new#2 : tensor<64xf32>
  dl.assign @b.gradient_sum, %new#3 : tensor<64xf32>
  dl.return
}

// -----

// What is read behind a reduction, as it was before, is reduced in a copy; so is an input. Loose tensors are reduced as one.
// CHECK-LABEL: exec.program @copies
// CHECK: %[[LOOSE:.*]] = exec.alloc : <128>
// CHECK: %[[P:.*]] = exec.view %[[LOOSE]] at 0 : <128> to <16>
// CHECK: %[[Q:.*]] = exec.view %[[LOOSE]] at 64 : <128> to <16>
// CHECK: %[[X:.*]] = exec.input 0
// CHECK: exec.launch @{{.*}}(read %[[X]], write %[[T:.*]]) stream 0
// CHECK: exec.copy %[[X]] to %[[P]]
// CHECK: exec.copy %[[T]] to %[[Q]]
// CHECK: %[[BOTH:.*]] = exec.view %[[LOOSE]] at 0 : <128> to <80>
// CHECK: exec.all_reduce sum %[[BOTH]] as f32 channel 1 stream 1 : <80>
// CHECK: exec.launch @{{.*}}(read %[[T]], read %[[Q]], write
dl.entry @copies(%x: tensor<4xf32> {dl.name = "x"})
    -> (tensor<4xf32> {dl.name = "y", dl.kind = #program.value<result>}, tensor<4xf32> {dl.name = "z", dl.kind = #program.value<result>})
    attributes {kind = #program.entry<train>} {
  %t = dl.fused(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = dl.tanh %0 : tensor<4xf32>
    dl.yield %1 : tensor<4xf32>
  } loc("t")
  %s:2 = dl.all_reduce sum %x, %t channel 1 : tensor<4xf32>, tensor<4xf32> loc("bn/all_reduce")
  %y = dl.fused(%t, %s#1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>):
    %2 = dl.add %0, %1 : tensor<4xf32>
    dl.yield %2 : tensor<4xf32>
  } loc("y")
  dl.return %y, %s#0 : tensor<4xf32>, tensor<4xf32>
}
