// RUN: dlc-opt --dl-schedule --mlir-print-local-scope %s | FileCheck %s

dl.variable @w.bf16 : tensor<8x8xbf16> role<state> init(#program.init<constant, 0.0, 0.0>)
dl.variable @w : tensor<8x8xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)

// Reads come first and assigns last; the weight gradient runs before the gradient that flows on, although it stands behind.
// CHECK-LABEL: dl.entry @weight_gradient_first
// CHECK-NEXT: dl.read @w
// CHECK-NEXT: dl.matmul %{{.*}}, %{{.*}} transpose_a
// CHECK-NEXT: dl.matmul %{{.*}}, %{{.*}} :
// CHECK-NEXT: dl.exp
// CHECK-NEXT: dl.assign @w
// CHECK-NEXT: dl.return
dl.entry @weight_gradient_first(%x: tensor<2x8xf32>, %dy: tensor<2x8xf32>)
    -> (tensor<2x8xf32>, tensor<8x8xf32> {dl.kind = #program.value<gradient>, dl.of = @w}) attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<8x8xf32>
  dl.assign @w, %w : tensor<8x8xf32>
  %dx = dl.matmul %dy, %w : tensor<2x8xf32>, tensor<8x8xf32>
  %y = dl.exp %dx : tensor<2x8xf32>
  %dw = dl.matmul %dy, %x transpose_a : tensor<2x8xf32>, tensor<2x8xf32>
  dl.return %y, %dw : tensor<2x8xf32>, tensor<8x8xf32>
}

// So does one that is no result but what an update reads; the update waits for what reads the old values.
// CHECK-LABEL: dl.entry @updated
// CHECK: dl.matmul %{{.*}}, %{{.*}} transpose_a
// CHECK-NEXT: dl.matmul %{{.*}}, %{{.*}} :
// CHECK-NEXT: dl.exp
// CHECK-NEXT: dl.multi_tensor
dl.entry @updated(%x: tensor<2x8xf32>, %dy: tensor<2x8xf32>) -> (tensor<2x8xf32>) attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<8x8xf32>
  %dx = dl.matmul %dy, %w : tensor<2x8xf32>, tensor<8x8xf32>
  %y = dl.exp %dx : tensor<2x8xf32>
  %dw = dl.matmul %dy, %x transpose_a : tensor<2x8xf32>, tensor<2x8xf32>
  %new = dl.multi_tensor(%w, %dw) scalars() {streams = 2 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    %q = dl.subtract %p, %g : tensor<f32>
    dl.yield %q : tensor<f32>
  }
  dl.assign @w, %new : tensor<8x8xf32>
  dl.return %y : tensor<2x8xf32>
}

// An update that a gradient's region holds waits for what reads any variable that it is assigned to, also one that it only writes.
// CHECK-LABEL: dl.entry @copied
// CHECK: dl.matmul
// CHECK: dl.fused{{.*}}dl.update
dl.entry @copied(%x: tensor<2x8xf32>, %dy: tensor<2x8xbf16>) -> (tensor<2x8xbf16>) attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<8x8xf32>
  %copy = dl.read @w.bf16 : tensor<8x8xbf16>
  %new:2 = dl.fused(%x, %w) {dl.update} : (tensor<2x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xbf16>) {
  ^bb0(%0: tensor<2x8xf32>, %1: tensor<8x8xf32>):
    %2 = dl.matmul %0, %0 transpose_a : tensor<2x8xf32>, tensor<2x8xf32>
    %3 = dl.subtract %1, %2 : tensor<8x8xf32>
    %4 = dl.cast %3 : tensor<8x8xf32> to tensor<8x8xbf16>
    dl.yield %3, %4 : tensor<8x8xf32>, tensor<8x8xbf16>
  }
  %dx = dl.matmul %dy, %copy : tensor<2x8xbf16>, tensor<8x8xbf16>
  dl.assign @w, %new#0 : tensor<8x8xf32>
  dl.assign @w.bf16, %new#1 : tensor<8x8xbf16>
  dl.return %dx : tensor<2x8xbf16>
}

// Of two chains that begin with a large tensor the first is finished before the second begins: one large tensor is live.
// CHECK-LABEL: dl.entry @one_large_tensor
// CHECK-NEXT: %[[A:.*]] = dl.exp
// CHECK-NEXT: dl.reduce sum %[[A]]
// CHECK-NEXT: %[[B:.*]] = dl.tanh
// CHECK-NEXT: dl.reduce sum %[[B]]
// CHECK-NEXT: dl.add
dl.entry @one_large_tensor(%x: tensor<64x64xf32>) -> (tensor<f32>) attributes {kind = #program.entry<infer>} {
  %a = dl.exp %x : tensor<64x64xf32>
  %b = dl.tanh %x : tensor<64x64xf32>
  %s = dl.reduce sum %a axes = [0, 1] : tensor<64x64xf32>
  %t = dl.reduce sum %b axes = [0, 1] : tensor<64x64xf32>
  %y = dl.add %s, %t : tensor<f32>
  dl.return %y : tensor<f32>
}

// A view is no copy: its buffer dies with the last use of either, here with the reduction.
// CHECK-LABEL: dl.entry @views
// CHECK-NEXT: %[[A:.*]] = dl.exp
// CHECK-NEXT: %[[V:.*]] = dl.reshape %[[A]]
// CHECK-NEXT: dl.reduce sum %[[V]]
// CHECK-NEXT: dl.tanh
dl.entry @views(%x: tensor<64x64xf32>) -> (tensor<f32>, tensor<64x64xf32>) attributes {kind = #program.entry<infer>} {
  %a = dl.exp %x : tensor<64x64xf32>
  %b = dl.tanh %x : tensor<64x64xf32>
  %v = dl.reshape %a : tensor<64x64xf32> to tensor<4096xf32>
  %s = dl.reduce sum %v axes = [0] : tensor<4096xf32>
  dl.return %s, %b : tensor<f32>, tensor<64x64xf32>
}

// A piece is a view too: with the reduction of it its whole dies.
// CHECK-LABEL: dl.entry @pieces
// CHECK-NEXT: %[[A:.*]] = dl.exp
// CHECK-NEXT: %[[V:.*]] = dl.slice %[[A]]
// CHECK-NEXT: dl.reduce sum %[[V]]
// CHECK-NEXT: dl.tanh
dl.entry @pieces(%x: tensor<64x64xf32>) -> (tensor<f32>, tensor<64x64xf32>) attributes {kind = #program.entry<infer>} {
  %a = dl.exp %x : tensor<64x64xf32>
  %b = dl.tanh %x : tensor<64x64xf32>
  %v = dl.slice %a starts = [1, 0] sizes = [32, 64] steps = [1, 1] : tensor<64x64xf32>
  %s = dl.reduce sum %v axes = [0, 1] : tensor<32x64xf32>
  dl.return %s, %b : tensor<f32>, tensor<64x64xf32>
}

// Equal ops stay in their order; dead ones and reads that nothing uses go.
// CHECK-LABEL: dl.entry @stable
// CHECK-NEXT: dl.exp
// CHECK-NEXT: dl.tanh
// CHECK-NEXT: dl.return
dl.entry @stable(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  %w = dl.read @w : tensor<8x8xf32>
  %dead = dl.log %w : tensor<8x8xf32>
  %a = dl.exp %x : tensor<4xf32>
  %b = dl.tanh %x : tensor<4xf32>
  dl.return %b, %a : tensor<4xf32>, tensor<4xf32>
}

// A part of a weight gradient is one as well: it runs before the next part begins, although that would add as little.
// CHECK-LABEL: dl.entry @parts
// CHECK: %[[A:.*]] = dl.exp
// CHECK-NEXT: %[[PART:.*]] = dl.reduce sum %[[A]]
// CHECK-NEXT: %[[B:.*]] = dl.tanh
// CHECK-NEXT: %[[REST:.*]] = dl.reduce sum %[[B]]
// CHECK-NEXT: dl.add %[[PART]], %[[REST]]
dl.entry @parts(%x: tensor<2x8x8xf32>) -> (tensor<8x8xf32> {dl.kind = #program.value<gradient>, dl.of = @w}) attributes {kind = #program.entry<train>} {
  %a = dl.exp %x : tensor<2x8x8xf32>
  %b = dl.tanh %x : tensor<2x8x8xf32>
  %rest = dl.reduce sum %b axes = [0] : tensor<2x8x8xf32>
  %part = dl.reduce sum %a axes = [0] : tensor<2x8x8xf32>
  %dw = dl.add %part, %rest : tensor<8x8xf32>
  dl.return %dw : tensor<8x8xf32>
}

// What is converted for later waits for it: here it would lie beside three others.
// CHECK-LABEL: dl.entry @converted_late
// CHECK-NEXT: %[[A:.*]] = dl.exp
// CHECK-NEXT: %[[B:.*]] = dl.tanh %[[A]]
// CHECK-NEXT: %[[C:.*]] = dl.log %[[B]]
// CHECK-NEXT: %[[T:.*]] = dl.transpose %[[A]]
// CHECK-NEXT: dl.matmul %[[T]], %[[C]]
dl.entry @converted_late(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>) attributes {kind = #program.entry<infer>} {
  %a = dl.exp %x : tensor<8x8xf32>
  %t = dl.transpose %a order = [1, 0] : tensor<8x8xf32>
  %b = dl.tanh %a : tensor<8x8xf32>
  %c = dl.log %b : tensor<8x8xf32>
  %m = dl.matmul %t, %c : tensor<8x8xf32>, tensor<8x8xf32>
  %y = dl.add %m, %a : tensor<8x8xf32>
  dl.return %y : tensor<8x8xf32>
}

// Not where what it reads would live as long in its place.
// CHECK-LABEL: dl.entry @converted_early
// CHECK-NEXT: %[[A:.*]] = dl.exp
// CHECK-NEXT: %[[T:.*]] = dl.transpose %[[A]]
// CHECK-NEXT: dl.tanh %[[A]]
dl.entry @converted_early(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>) attributes {kind = #program.entry<infer>} {
  %a = dl.exp %x : tensor<8x8xf32>
  %t = dl.transpose %a order = [1, 0] : tensor<8x8xf32>
  %b = dl.tanh %a : tensor<8x8xf32>
  %c = dl.log %b : tensor<8x8xf32>
  %m = dl.matmul %t, %c : tensor<8x8xf32>, tensor<8x8xf32>
  dl.return %m : tensor<8x8xf32>
}

// A conversion for a weight gradient runs as soon as that: before the gradient that flows on, of which the bias's is a small part.
// CHECK-LABEL: dl.entry @converted_for_weights
// CHECK-NEXT: dl.read @w
// CHECK-NEXT: dl.tanh
// CHECK-NEXT: dl.fused
// CHECK: dl.transpose
// CHECK: dl.matmul
// CHECK: dl.fused
// CHECK: dl.matmul
dl.entry @converted_for_weights(%x: tensor<2x8xf32>, %z: tensor<2x8xf32>)
    -> (tensor<2x8xf32>, tensor<8x8xf32> {dl.kind = #program.value<gradient>, dl.of = @w}, tensor<8xf32> {dl.kind = #program.value<gradient>, dl.of = @b}) attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<8x8xf32>
  %dy = dl.tanh %z : tensor<2x8xf32>
  %dx, %db = dl.fused(%dy, %w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>) {
  ^bb0(%0: tensor<2x8xf32>, %1: tensor<8x8xf32>):
    %2 = dl.matmul %0, %1 : tensor<2x8xf32>, tensor<8x8xf32>
    %3 = dl.reduce sum %2 axes = [0] : tensor<2x8xf32>
    dl.yield %2, %3 : tensor<2x8xf32>, tensor<8xf32>
  }
  %y = dl.exp %dx : tensor<2x8xf32>
  %t = dl.fused(%dy) : (tensor<2x8xf32>) -> tensor<8x2xf32> {
  ^bb0(%0: tensor<2x8xf32>):
    %1 = dl.transpose %0 order = [1, 0] : tensor<2x8xf32>
    dl.yield %1 : tensor<8x2xf32>
  }
  %dw = dl.matmul %t, %x : tensor<8x2xf32>, tensor<2x8xf32>
  dl.return %y, %dw, %db : tensor<2x8xf32>, tensor<8x8xf32>, tensor<8xf32>
}

// Three gradients of one op are weight gradients together.
// CHECK-LABEL: dl.entry @three_gradients
// CHECK-NEXT: dl.tanh
// CHECK-NEXT: dl.fused
// CHECK: dl.exp
dl.entry @three_gradients(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<8xf32> {dl.kind = #program.value<gradient>, dl.of = @a}, tensor<8xf32> {dl.kind = #program.value<gradient>, dl.of = @b},
        tensor<8xf32> {dl.kind = #program.value<gradient>, dl.of = @c}) attributes {kind = #program.entry<train>} {
  %dy = dl.tanh %z : tensor<4x8xf32>
  %dx = dl.exp %dy : tensor<4x8xf32>
  %y = dl.add %dx, %dx : tensor<4x8xf32>
  %g:3 = dl.fused(%dy) : (tensor<4x8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%0: tensor<4x8xf32>):
    %1 = dl.reduce sum %0 axes = [0] : tensor<4x8xf32>
    %2 = dl.exp %1 : tensor<8xf32>
    %3 = dl.tanh %1 : tensor<8xf32>
    dl.yield %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  dl.return %y, %g#0, %g#1, %g#2 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// A part of a concat lies in its memory from the beginning: to move it down would save nothing, and keep what it reads.
// CHECK-LABEL: dl.entry @joined
// CHECK-NEXT: %[[A:.*]] = dl.exp
// CHECK-NEXT: %[[B:.*]] = dl.tanh %[[A]]
// CHECK-NEXT: dl.log
// CHECK-NEXT: dl.sqrt
// CHECK-NEXT: dl.concat %[[B]]
dl.entry @joined(%x: tensor<4x16xf32>) -> (tensor<8x16xf32>) attributes {kind = #program.entry<infer>} {
  %a = dl.exp %x : tensor<4x16xf32>
  %b = dl.tanh %a : tensor<4x16xf32>
  %c = dl.log %a : tensor<4x16xf32>
  %d = dl.sqrt %c : tensor<4x16xf32>
  %y = dl.concat %b, %d axis = 0 : tensor<4x16xf32>, tensor<4x16xf32>
  dl.return %y : tensor<8x16xf32>
}
