// RUN: dlc-opt --convert-dl-to-exec --exec-verify --split-input-file --mlir-print-debuginfo --mlir-print-local-scope %s | FileCheck %s

// A fused region becomes a kernel; regions with equal text share one, whatever their layers are called. The last addition may lie
// in its operand's memory. A reshape is the same buffer, a read the variable's memory. Names move to the launches.
// CHECK: exec.variable @w : tensor<4xf32> role<parameter> init(<constant, 1.000000e+00, 0.000000e+00>) at 0 bytes 16
// CHECK: exec.kernel @[[K:k_[0-9a-f]+]] [#exec.argument<read 16>, #exec.argument<read 16>, #exec.argument<write 16>]
// CHECK-SAME: in_place [#exec.in_place<0 into 2>, #exec.in_place<1 into 2>]
// CHECK: dl.add
// CHECK: dl.yield
// CHECK-NOT: exec.kernel
// CHECK: exec.program @infer_n4
// CHECK-SAME: batch = 4
// CHECK-SAME: inputs = [#exec.value<"x" input tensor<4xf32> batch_axis = 0>]
// CHECK-SAME: outputs = [#exec.value<"y" result tensor<2x2xf32>>]
// CHECK: %[[X:.*]] = exec.input 0 : <16>
// CHECK: %[[W:.*]] = exec.state @w at 0 : <16>
// CHECK: %[[A:.*]] = exec.alloc : <16>
// CHECK: exec.launch @[[K]](read %[[X]], read %[[W]], write %[[A]]) stream 0 {{.*}}loc("first"
// CHECK: %[[B:.*]] = exec.alloc : <16>
// CHECK: exec.launch @[[K]](read %[[A]], read %[[W]], write %[[B]]) stream 0 {{.*}}loc("second"
// CHECK: exec.output %[[B]]
dl.variable @w : tensor<4xf32> role<parameter> init(#program.init<constant, 1.0, 0.0>)
dl.entry @infer_n4(%x: tensor<4xf32> {dl.name = "x", dl.batch_axis = 0 : i64}) -> (tensor<2x2xf32> {dl.name = "y", dl.kind = #program.value<result>})
    attributes {kind = #program.entry<infer>} {
  %w = dl.read @w : tensor<4xf32>
  %a = dl.fused(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>):
    %2 = dl.add %0, %1 : tensor<4xf32> loc("first")
    dl.yield %2 : tensor<4xf32>
  } loc("first")
  %b = dl.fused(%a, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>):
    %2 = dl.add %0, %1 : tensor<4xf32> loc("second")
    dl.yield %2 : tensor<4xf32>
  } loc("second")
  %y = dl.reshape %b : tensor<4xf32> to tensor<2x2xf32>
  dl.return %y : tensor<2x2xf32>
}

// -----

// A sum behind a product that is taken of a stored result does not need what the result has replaced; one of an operand of the product
// does, and so does the sum of another value.
// CHECK: exec.kernel @k_{{[0-9a-f]+}} [#exec.argument<read 16>, #exec.argument<read 16>, #exec.argument<read 16>, #exec.argument<write 16>, #exec.argument<write 8>]
// CHECK-SAME: in_place [#exec.in_place<2 into 3>]
// CHECK: exec.kernel @k_{{[0-9a-f]+}} [#exec.argument<read 16>
// CHECK-NOT: in_place
// CHECK: exec.program
dl.entry @infer_n2(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>, %m: tensor<2x2xf32>)
    -> (tensor<2x2xf32> {dl.name = "y", dl.kind = #program.value<result>}, tensor<2xf32> {dl.name = "s", dl.kind = #program.value<result>},
        tensor<2x2xf32> {dl.name = "z", dl.kind = #program.value<result>}, tensor<2xf32> {dl.name = "t", dl.kind = #program.value<result>})
    attributes {kind = #program.entry<infer>} {
  %y, %s = dl.fused(%a, %b, %m) : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>) {
  ^bb0(%0: tensor<2x2xf32>, %1: tensor<2x2xf32>, %2: tensor<2x2xf32>):
    %3 = dl.matmul %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
    %4 = dl.multiply %3, %2 : tensor<2x2xf32>
    %5 = dl.negate %4 : tensor<2x2xf32>
    %6 = dl.reduce sum %5 axes = [0] : tensor<2x2xf32>
    dl.yield %4, %6 : tensor<2x2xf32>, tensor<2xf32>
  } loc("behind")
  %z, %t = dl.fused(%a, %b, %m) : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>) {
  ^bb0(%0: tensor<2x2xf32>, %1: tensor<2x2xf32>, %2: tensor<2x2xf32>):
    %3 = dl.matmul %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
    %4 = dl.multiply %3, %2 : tensor<2x2xf32>
    %5 = dl.add %3, %2 : tensor<2x2xf32>
    %6 = dl.reduce sum %5 axes = [0] : tensor<2x2xf32>
    dl.yield %4, %6 : tensor<2x2xf32>, tensor<2xf32>
  } loc("other")
  dl.return %y, %s, %z, %t : tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>
}

// -----

// In place only where each element needs its own index and no other result needs the operand: not the operand of the broadcast,
// not that of the sum, and not one that two results read.
// CHECK: exec.kernel
// CHECK-SAME: in_place [#exec.in_place<2 into 5>]
// CHECK: exec.program
dl.entry @infer_n1(%b: tensor<4xf32>, %x: tensor<2x4xf32>, %z: tensor<2x4xf32>, %s: tensor<2x4xf32>)
    -> (tensor<4xf32> {dl.name = "sum", dl.kind = #program.value<result>}, tensor<2x4xf32> {dl.name = "y", dl.kind = #program.value<result>},
        tensor<2x4xf32> {dl.name = "t", dl.kind = #program.value<result>}) attributes {kind = #program.entry<infer>} {
  %sum, %y, %t = dl.fused(%b, %x, %z, %s) : (tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  ^bb0(%0: tensor<4xf32>, %1: tensor<2x4xf32>, %2: tensor<2x4xf32>, %3: tensor<2x4xf32>):
    %4 = dl.broadcast %0 dims = [1] : tensor<4xf32> to tensor<2x4xf32>
    %5 = dl.add %2, %4 : tensor<2x4xf32>
    %6 = dl.add %5, %3 : tensor<2x4xf32>
    %7 = dl.multiply %3, %3 : tensor<2x4xf32>
    %8 = dl.reduce sum %1 axes = [0] : tensor<2x4xf32>
    dl.yield %8, %6, %7 : tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  } loc("layer")
  dl.return %sum, %y, %t : tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// The update: parameters and momenta follow each other in the state, each at a multiple of 64; the kernel that computes a gradient
// writes it into the flat buffer, a gradient that is an input is copied there; new values overwrite the old. The table of pieces is filled
// to a whole task.
// CHECK: exec.variable @a : {{.*}} at 0 bytes 24
// CHECK: exec.variable @a.m : {{.*}} at 192 bytes 24
// CHECK: exec.variable @b : {{.*}} at 64 bytes 80
// CHECK: exec.variable @b.m : {{.*}} at 256 bytes 80
// CHECK: exec.kernel @{{.*}} [#exec.argument<read 24>, #exec.argument<write 24>]
// CHECK: exec.kernel @[[UPDATE:.*]] [#exec.argument<read 192>, #exec.argument<read 192>, #exec.argument<read 192>, #exec.argument<read 4>, #exec.argument<read 128>, #exec.argument<write 192>, #exec.argument<write 192>]
// CHECK: exec.program @train_step
// CHECK-DAG: %[[P:.*]] = exec.state @a at 0 : <192>
// CHECK-DAG: %[[M:.*]] = exec.state @a.m at 192 : <192>
// CHECK-DAG: %[[G:.*]] = exec.alloc : <192>
// CHECK-DAG: %[[GA:.*]] = exec.view %[[G]] at 0 : <192> to <24>
// CHECK: %[[LR:.*]] = exec.scalar "optimizer.learning_rate", 1.000000e-01 as f32 scheduled at 0 : <4>
// CHECK: exec.launch {{.*}}write %[[GA]]) stream 0
// CHECK: %[[GB:.*]] = exec.view %[[G]] at 64 : <192> to <80>
// CHECK: exec.copy %{{.*}} to %[[GB]] stream 0 : <80>, <80> loc("update/gather")
// CHECK: %[[TABLE:.*]] = exec.constant dense<{{\[\[}}0, 0, 6, 0{{\]}}, [1, 16, 20, 0], [0, 0, 0, 0], [0, 0, 0, 0{{\]\]}}> : tensor<4x4xi64> : <128>
// CHECK: exec.launch @[[UPDATE]](read %[[P]], read %[[G]], read %[[M]], read %[[LR]], read %[[TABLE]], write %{{.*}}, write %{{.*}}) stream 0
// CHECK-NOT: exec.copy
// CHECK: exec.output %[[GA]]
dl.variable @a : tensor<2x3xf32> role<parameter> init(#program.init<constant, 1.0, 0.0>)
dl.variable @a.m : tensor<2x3xf32> role<slot> of(@a) init(#program.init<constant, 0.0, 0.0>)
dl.variable @b : tensor<20xf32> role<parameter> init(#program.init<constant, 1.0, 0.0>)
dl.variable @b.m : tensor<20xf32> role<slot> of(@b) init(#program.init<constant, 0.0, 0.0>)
dl.entry @train_step(%x: tensor<2x3xf32>, %db: tensor<20xf32>) -> (tensor<2x3xf32> {dl.name = "gradient.a", dl.kind = #program.value<gradient>, dl.of = @a})
    attributes {kind = #program.entry<train>} {
  %a = dl.read @a : tensor<2x3xf32>
  %am = dl.read @a.m : tensor<2x3xf32>
  %b = dl.read @b : tensor<20xf32>
  %bm = dl.read @b.m : tensor<20xf32>
  %lr = dl.scalar "optimizer.learning_rate", 1.0e-1 scheduled : tensor<f32>
  %da = dl.fused(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%0: tensor<2x3xf32>):
    %1 = dl.exp %0 : tensor<2x3xf32>
    dl.yield %1 : tensor<2x3xf32>
  } loc("layer/backward")
  %new:4 = dl.multi_tensor(%a, %b, %da, %db, %am, %bm) scalars(%lr) {streams = 3}
      : (tensor<2x3xf32>, tensor<20xf32>, tensor<2x3xf32>, tensor<20xf32>, tensor<2x3xf32>, tensor<20xf32>, tensor<f32>)
      -> (tensor<2x3xf32>, tensor<20xf32>, tensor<2x3xf32>, tensor<20xf32>) {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>, %m: tensor<f32>, %rate: tensor<f32>):
    %0 = dl.add %m, %g : tensor<f32>
    %1 = dl.multiply %rate, %0 : tensor<f32>
    %2 = dl.subtract %p, %1 : tensor<f32>
    dl.yield %2, %0 : tensor<f32>, tensor<f32>
  } loc("update")
  dl.assign @a, %new#0 : tensor<2x3xf32>
  dl.assign @b, %new#1 : tensor<20xf32>
  dl.assign @a.m, %new#2 : tensor<2x3xf32>
  dl.assign @b.m, %new#3 : tensor<20xf32>
  dl.return %da : tensor<2x3xf32>
}

// -----

// An element-wise kernel computes the new value where the old one stands. A kernel whose map is not element-wise must not, and
// neither may one while a later kernel reads the old value: those are copied at the end.
// CHECK-LABEL: exec.program @statistics
// CHECK-DAG: %[[A1:.*]] = exec.state @a at 0 : <16>
// CHECK-DAG: %[[A2:.*]] = exec.state @a at 0 : <16>
// CHECK: exec.launch @{{.*}}(read %{{.*}}, write %{{.*}}) stream 0 {{.*}}loc("a"
// CHECK: %[[B:.*]] = exec.alloc : <16>
// CHECK: exec.launch @{{.*}}(read %{{.*}}, write %[[B]]) stream 0 {{.*}}loc("b"
// CHECK: %[[C:.*]] = exec.alloc : <16>
// CHECK: exec.launch @{{.*}}(read %{{.*}}, write %[[C]]) stream 0 {{.*}}loc("c"
// CHECK: exec.copy %[[B]] to %{{.*}} loc("b/assign")
// CHECK-NEXT: %{{.*}} = exec.state @c
// CHECK-NEXT: exec.copy %[[C]] to %{{.*}} loc("c/assign")
// CHECK-NOT: exec.copy
dl.variable @a : tensor<4xf32> role<statistic> init(#program.init<constant, 1.0, 0.0>)
dl.variable @b : tensor<2x2xf32> role<statistic> init(#program.init<constant, 1.0, 0.0>)
dl.variable @c : tensor<4xf32> role<statistic> init(#program.init<constant, 1.0, 0.0>)
dl.entry @statistics() -> (tensor<4xf32> {dl.name = "y", dl.kind = #program.value<result>}) attributes {kind = #program.entry<train>} {
  %a = dl.read @a : tensor<4xf32>
  %b = dl.read @b : tensor<2x2xf32>
  %c = dl.read @c : tensor<4xf32>
  %na = dl.fused(%a) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = dl.exp %0 : tensor<4xf32>
    dl.yield %1 : tensor<4xf32>
  } loc("a")
  %nb = dl.fused(%b) : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%0: tensor<2x2xf32>):
    %1 = dl.transpose %0 order = [1, 0] : tensor<2x2xf32>
    dl.yield %1 : tensor<2x2xf32>
  } loc("b")
  %nc = dl.fused(%c) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = dl.exp %0 : tensor<4xf32>
    dl.yield %1 : tensor<4xf32>
  } loc("c")
  %y = dl.fused(%c) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = dl.exp %0 : tensor<4xf32>
    dl.yield %1 : tensor<4xf32>
  } loc("d")
  dl.assign @a, %na : tensor<4xf32>
  dl.assign @b, %nb : tensor<2x2xf32>
  dl.assign @c, %nc : tensor<4xf32>
  dl.return %y : tensor<4xf32>
}

// -----

// What a sum is added to stays where it is while the code of the kernel is not chosen, which may not be able to work in place.
// CHECK-LABEL: exec.program @sums
// CHECK: %[[NEW:.*]] = exec.alloc : <4>
// CHECK: exec.launch @{{.*}}(read %{{.*}}, read %{{.*}}, write %[[NEW]])
// CHECK: %[[PLACE:.*]] = exec.state @unchosen at 0
// CHECK: exec.copy %[[NEW]] to %[[PLACE]]
// CHECK-LABEL: exec.program @chosen_sums
// CHECK: %[[THERE:.*]] = exec.state @chosen at 64
// CHECK-NOT: exec.alloc
// CHECK: exec.launch @{{.*}}(read %{{.*}}, read %{{.*}}, write %[[THERE]])
dl.variable @unchosen : tensor<f32> role<statistic> init(#program.init<constant, 0.0, 0.0>)
dl.variable @chosen : tensor<f32> role<statistic> init(#program.init<constant, 0.0, 0.0>)
dl.entry @sums(%x: tensor<4xf32>) -> () attributes {kind = #program.entry<train>} {
  %a = dl.read @unchosen : tensor<f32>
  %0 = dl.fused(%x, %a) : (tensor<4xf32>, tensor<f32>) -> tensor<f32> {
  ^bb0(%1: tensor<4xf32>, %2: tensor<f32>):
    %3 = dl.reduce sum %1 axes = [0] : tensor<4xf32>
    %4 = dl.add %2, %3 : tensor<f32>
    dl.yield %4 : tensor<f32>
  } loc("s")
  dl.assign @unchosen, %0 : tensor<f32>
  dl.return
}
dl.entry @chosen_sums(%x: tensor<4xf32>) -> () attributes {kind = #program.entry<train>} {
  %b = dl.read @chosen : tensor<f32>
  %0 = dl.fused(%x, %b) {candidate = #program.candidate<generator = "cpu-reduce", schedule = "reduce", seconds = 1.0e-6>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32> {
  ^bb0(%1: tensor<4xf32>, %2: tensor<f32>):
    %3 = dl.reduce sum %1 axes = [0] : tensor<4xf32>
    %4 = dl.add %2, %3 : tensor<f32>
    dl.yield %4 : tensor<f32>
  } loc("s")
  dl.assign @chosen, %0 : tensor<f32>
  dl.return
}

// -----

// Two variables swap their values: one old value must be kept until the other has been overwritten. An output that is a variable or
// an input is copied, a variable's as it was at the beginning.
// CHECK-LABEL: exec.program @swap
// CHECK: %[[X:.*]] = exec.input 0
// CHECK: %[[A:.*]] = exec.state @a at 0
// CHECK: %[[A0:.*]] = exec.alloc
// CHECK: exec.copy %[[A]] to %[[A0]] stream 0 : <16>, <16> loc("a/read")
// CHECK: %[[B:.*]] = exec.state @b at 64
// CHECK: %[[B0:.*]] = exec.alloc
// CHECK: exec.copy %[[B]] to %[[B0]]
// CHECK: %[[TA:.*]] = exec.state @a at 0
// CHECK: exec.copy %[[B0]] to %[[TA]]
// CHECK: %[[TB:.*]] = exec.state @b at 64
// CHECK: exec.copy %[[A0]] to %[[TB]]
// CHECK: %[[Y:.*]] = exec.alloc
// CHECK: exec.copy %[[X]] to %[[Y]] stream 0 : <16>, <16> loc("x again/output")
// CHECK: exec.output %[[A0]], %[[Y]]
dl.variable @a : tensor<4xf32> role<statistic> init(#program.init<constant, 1.0, 0.0>)
dl.variable @b : tensor<4xf32> role<statistic> init(#program.init<constant, 1.0, 0.0>)
dl.entry @swap(%x: tensor<4xf32>) -> (tensor<4xf32> {dl.name = "a before", dl.kind = #program.value<result>}, tensor<4xf32> {dl.name = "x again", dl.kind = #program.value<result>})
    attributes {kind = #program.entry<train>} {
  %a = dl.read @a : tensor<4xf32>
  %b = dl.read @b : tensor<4xf32>
  dl.assign @a, %b : tensor<4xf32>
  dl.assign @b, %a : tensor<4xf32>
  dl.return %a, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// Constants stand in the order of their layout: nchw4c with 2 of 6 channels' places empty. Bools are bytes. Empty tensors are empty
// buffers, and a kernel with nothing to compute is not launched.
// CHECK-LABEL: exec.program @constants
// CHECK: exec.constant dense<[1, 3, 5, 7, 2, 4, 6, 8, 9, 11, 0, 0, 10, 12, 0, 0]> : tensor<16xi32> : <64>
// CHECK: exec.constant dense<[1, 0]> : tensor<2xui8> : <2>
// CHECK: exec.alloc : <0>
// CHECK-NOT: exec.launch
// CHECK: exec.output
dl.entry @constants(%x: tensor<0x4xf32>) -> (tensor<0x4xf32> {dl.name = "y", dl.kind = #program.value<result>}) attributes {kind = #program.entry<infer>} {
  %c = dl.constant dense<[[[[1, 2]], [[3, 4]], [[5, 6]], [[7, 8]], [[9, 10]], [[11, 12]]]]> : tensor<1x6x1x2xi32, #program.layout<order = [0, 1, 2, 3], blocks = [1, 4]>>
  %m = dl.constant dense<[true, false]> : tensor<2xi1>
  %y = dl.fused(%x) : (tensor<0x4xf32>) -> tensor<0x4xf32> {
  ^bb0(%0: tensor<0x4xf32>):
    %1 = dl.exp %0 : tensor<0x4xf32>
    dl.yield %1 : tensor<0x4xf32>
  } loc("layer")
  dl.return %y : tensor<0x4xf32>
}

// -----

// A piece of a tensor is memory of it, and a piece of a piece. While a kernel still has to read one of a variable's, nothing is
// written there; of what is assigned or returned at the end a copy is made at the beginning.
// CHECK-LABEL: exec.program @pieces
// CHECK: %[[W2:.*]] = exec.state @w at 0 : <256>
// CHECK: %[[W:.*]] = exec.state @w at 0 : <256>
// CHECK: %[[BEFORE:.*]] = exec.alloc : <256>
// CHECK: exec.copy %[[W]] to %[[BEFORE]] {{.*}}loc("w/read")
// CHECK: %[[V:.*]] = exec.state @v
// CHECK: %[[ROWS:.*]] = exec.view %[[W]] at 64 : <256> to <128>
// CHECK: %[[ROW:.*]] = exec.view %[[ROWS]] at 64 : <128> to <64>
// CHECK: exec.launch @{{.*}}(read %[[ROW]], write %[[Y:[^)]*]]) stream 0
// CHECK: exec.launch @{{.*}}(read %[[W]], write %[[W2]]) stream 0
// CHECK: %[[HALF:.*]] = exec.view %[[V]] at 64 : <128> to <64>
// CHECK: %[[NEW:.*]] = exec.alloc : <128>
// CHECK: exec.launch @{{.*}}(read %[[V]], write %[[NEW]]) stream 0
// CHECK: exec.launch @{{.*}}(read %[[HALF]], write %{{.*}}) stream 0
// CHECK: exec.copy %[[NEW]] to %{{.*}} loc("v/assign")
// CHECK: %[[RETURNED:.*]] = exec.view %[[BEFORE]] at 64 : <256> to <128>
// CHECK: exec.output %[[Y]], %[[RETURNED]]
dl.variable @w : tensor<4x16xf32> role<statistic> init(#program.init<constant, 1.0, 0.0>)
dl.variable @v : tensor<2x16xf32> role<statistic> init(#program.init<constant, 1.0, 0.0>)
dl.entry @pieces() -> (tensor<16xf32> {dl.name = "y", dl.kind = #program.value<result>}, tensor<2x16xf32> {dl.name = "rows", dl.kind = #program.value<result>},
                       tensor<1x16xf32> {dl.name = "z", dl.kind = #program.value<result>}) attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<4x16xf32>
  %v = dl.read @v : tensor<2x16xf32>
  %rows = dl.slice %w starts = [1, 0] sizes = [2, 16] steps = [1, 1] : tensor<4x16xf32>
  %row = dl.slice %rows starts = [1, 0] sizes = [1, 16] steps = [1, 1] : tensor<2x16xf32>
  %flat = dl.reshape %row : tensor<1x16xf32> to tensor<16xf32>
  %y = dl.fused(%flat) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%0: tensor<16xf32>):
    %1 = dl.tanh %0 : tensor<16xf32>
    dl.yield %1 : tensor<16xf32>
  } loc("y")
  %new = dl.fused(%w) : (tensor<4x16xf32>) -> tensor<4x16xf32> {
  ^bb0(%0: tensor<4x16xf32>):
    %1 = dl.exp %0 : tensor<4x16xf32>
    dl.yield %1 : tensor<4x16xf32>
  } loc("w")
  %half = dl.slice %v starts = [1, 0] sizes = [1, 16] steps = [1, 1] : tensor<2x16xf32>
  %next = dl.fused(%v) : (tensor<2x16xf32>) -> tensor<2x16xf32> {
  ^bb0(%0: tensor<2x16xf32>):
    %1 = dl.exp %0 : tensor<2x16xf32>
    dl.yield %1 : tensor<2x16xf32>
  } loc("v")
  %z = dl.fused(%half) : (tensor<1x16xf32>) -> tensor<1x16xf32> {
  ^bb0(%0: tensor<1x16xf32>):
    %1 = dl.tanh %0 : tensor<1x16xf32>
    dl.yield %1 : tensor<1x16xf32>
  } loc("z")
  dl.assign @w, %new : tensor<4x16xf32>
  dl.assign @v, %next : tensor<2x16xf32>
  dl.return %y, %rows, %z : tensor<16xf32>, tensor<2x16xf32>, tensor<1x16xf32>
}

// -----

// Parts are computed where they lie in the whole, those of a part that is a whole too; what lies elsewhere, or in an earlier whole,
// is copied there.
// CHECK-LABEL: exec.program @joins
// CHECK: %[[ALL:.*]] = exec.alloc : <256>
// CHECK: %[[INNER:.*]] = exec.view %[[ALL]] at 0 : <256> to <128>
// CHECK: %[[A:.*]] = exec.view %[[INNER]] at 0 : <128> to <64>
// CHECK: %[[B:.*]] = exec.view %[[INNER]] at 64 : <128> to <64>
// CHECK: %[[X:.*]] = exec.input 0
// CHECK: exec.launch @{{.*}}(read %[[X]], write %[[A]]) stream 0
// CHECK: exec.launch @{{.*}}(read %[[A]], write %[[B]]) stream 0
// CHECK-NOT: exec.copy
// CHECK: %[[THIRD:.*]] = exec.view %[[ALL]] at 128 : <256> to <64>
// CHECK: %[[LAST:.*]] = exec.view %[[ALL]] at 192 : <256> to <64>
// CHECK: exec.copy %[[X]] to %[[THIRD]] stream 0 : <64>, <64> loc("outer/join")
// CHECK: exec.copy %[[A]] to %[[LAST]] stream 0 : <64>, <64> loc("outer/join")
// CHECK-NOT: exec.copy
// CHECK: exec.output %[[ALL]]
dl.entry @joins(%x: tensor<16xf32>) -> (tensor<64xf32> {dl.name = "y", dl.kind = #program.value<result>}) attributes {kind = #program.entry<infer>} {
  %a = dl.fused(%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%0: tensor<16xf32>):
    %1 = dl.exp %0 : tensor<16xf32>
    dl.yield %1 : tensor<16xf32>
  } loc("a")
  %b = dl.fused(%a) : (tensor<16xf32>) -> tensor<1x16xf32> {
  ^bb0(%0: tensor<16xf32>):
    %1 = dl.tanh %0 : tensor<16xf32>
    %2 = dl.reshape %1 : tensor<16xf32> to tensor<1x16xf32>
    dl.yield %2 : tensor<1x16xf32>
  } loc("b")
  %r = dl.reshape %b : tensor<1x16xf32> to tensor<16xf32>
  %inner = dl.concat %a, %r axis = 0 : tensor<16xf32>, tensor<16xf32> loc("inner")
  %y = dl.concat %inner, %x, %a axis = 0 : tensor<32xf32>, tensor<16xf32>, tensor<16xf32> loc("outer")
  dl.return %y : tensor<64xf32>
}
