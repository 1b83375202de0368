// RUN: dlc-opt "--dl-join=target=cpu:avx2 patterns=updates" --mlir-print-local-scope %s | FileCheck %s
// RUN: dlc-opt "--dl-join=target=cpu:avx2 patterns=updates" --dl-schedule --mlir-print-local-scope %s | FileCheck %s --check-prefix=ORDER
// RUN: dlc-opt "--dl-join=target=cuda:simt patterns=updates" %s | FileCheck %s --check-prefix=APART

dl.variable @w : tensor<2048x1024xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @b : tensor<2048xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @w.momentum : tensor<2048x1024xf32> role<slot> of(@w) init(#program.init<constant, 0.0, 0.0>)
dl.variable @s : tensor<64x32xf32> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.variable @b.momentum : tensor<2048xf32> role<slot> of(@b) init(#program.init<constant, 0.0, 0.0>)

// The update of a weight of 8 MiB joins the product that makes its gradient, which is then stored nowhere; that of the bias, whose gradient
// is a sum, stays. A parameter's own factor becomes a constant. It runs behind what reads the weight as it was.
// CHECK-LABEL: dl.entry @momentum
// CHECK: %[[ALL:.*]]:2 = dl.fused({{.*}}) {candidate = #program.candidate<generator = "cpu-gemm", {{[^>]*}}>, dl.update} : (tensor<16x2048xf32>, tensor<16x1024xf32>, tensor<2048x1024xf32>, tensor<2048x1024xf32>, tensor<f32>, tensor<f32>) -> (tensor<2048x1024xf32>, tensor<2048x1024xf32>)
// CHECK-NEXT: ^bb0(%[[DY:.*]]: tensor<16x2048xf32>, %[[X:.*]]: tensor<16x1024xf32>, %[[W:.*]]: tensor<2048x1024xf32>, %[[V:.*]]: tensor<2048x1024xf32>, %[[LR:.*]]: tensor<f32>, %[[M:.*]]: tensor<f32>):
// CHECK-NEXT: %[[DW:.*]] = dl.matmul %[[DY]], %[[X]] transpose_a
// CHECK-NEXT: %[[TWO:.*]] = dl.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[RATE:.*]] = dl.multiply %[[LR]], %[[TWO]] : tensor<f32>
// CHECK-NEXT: %[[MS:.*]] = dl.broadcast %[[M]] dims = [] : tensor<f32> to tensor<2048x1024xf32>
// CHECK-NEXT: %[[KEPT:.*]] = dl.multiply %[[MS]], %[[V]] : tensor<2048x1024xf32>
// CHECK-NEXT: %[[NEXT:.*]] = dl.add %[[KEPT]], %[[DW]] : tensor<2048x1024xf32>
// CHECK-NEXT: %[[RATES:.*]] = dl.broadcast %[[RATE]] dims = [] : tensor<f32> to tensor<2048x1024xf32>
// CHECK-NEXT: %[[STEP:.*]] = dl.multiply %[[RATES]], %[[NEXT]] : tensor<2048x1024xf32>
// CHECK-NEXT: %[[NEW:.*]] = dl.subtract %[[W]], %[[STEP]] : tensor<2048x1024xf32>
// CHECK-NEXT: dl.yield %[[NEW]], %[[NEXT]]
// CHECK: %[[ONE:.*]] = dl.constant dense<1.000000e+00> : tensor<1xf32>
// CHECK: %[[REST:.*]]:2 = dl.multi_tensor(%{{.*}}, %{{.*}}, %{{.*}}) each(%[[ONE]]) {{.*}} : (tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<1xf32>, tensor<f32>, tensor<f32>)
// CHECK: dl.assign @w, %[[ALL]]#0
// CHECK: dl.assign @b, %[[REST]]#0
// CHECK: dl.assign @w.momentum, %[[ALL]]#1
// CHECK: dl.assign @b.momentum, %[[REST]]#1
// ORDER-LABEL: dl.entry @momentum
// ORDER: dl.reduce sum
// ORDER: dl.matmul %{{.*}}, %{{.*}} : tensor<16x2048xf32>, tensor<2048x1024xf32>
// ORDER: dl.matmul %{{.*}}, %{{.*}} transpose_a
// ORDER: dl.multi_tensor
// APART-LABEL: dl.entry @momentum
// APART-NOT: dl.update
// APART: dl.multi_tensor{{.*}}tensor<2048x1024xf32>
dl.entry @momentum(%x: tensor<16x1024xf32>, %dy: tensor<16x2048xf32>) -> (tensor<16x1024xf32>) attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<2048x1024xf32>
  %b = dl.read @b : tensor<2048xf32>
  %v = dl.read @w.momentum : tensor<2048x1024xf32>
  %u = dl.read @b.momentum : tensor<2048xf32>
  %lr = dl.scalar "optimizer.learning_rate", 1.0e-02 scheduled : tensor<f32>
  %momentum = dl.scalar "optimizer.momentum", 0.9 : tensor<f32>
  %factors = dl.constant dense<[2.0, 1.0]> : tensor<2xf32>
  %dw = dl.fused(%dy, %x) {candidate = #program.candidate<generator = "cpu-gemm", schedule = "gemm 6x2 depth 16 block 43x32 task 43x32 splits 1", seconds = 1.2e-03 : f64>}
      : (tensor<16x2048xf32>, tensor<16x1024xf32>) -> tensor<2048x1024xf32> {
  ^bb0(%0: tensor<16x2048xf32>, %1: tensor<16x1024xf32>):
    %2 = dl.matmul %0, %1 transpose_a : tensor<16x2048xf32>, tensor<16x1024xf32>
    dl.yield %2 : tensor<2048x1024xf32>
  }
  %db = dl.fused(%dy) {candidate = #program.candidate<generator = "cpu-reduce", schedule = "", seconds = 1.0e-06 : f64>} : (tensor<16x2048xf32>) -> tensor<2048xf32> {
  ^bb0(%0: tensor<16x2048xf32>):
    %1 = dl.reduce sum %0 axes = [0] : tensor<16x2048xf32>
    dl.yield %1 : tensor<2048xf32>
  }
  %dx = dl.fused(%dy, %w) {candidate = #program.candidate<generator = "cpu-gemm", schedule = "", seconds = 1.0e-05 : f64>}
      : (tensor<16x2048xf32>, tensor<2048x1024xf32>) -> tensor<16x1024xf32> {
  ^bb0(%0: tensor<16x2048xf32>, %1: tensor<2048x1024xf32>):
    %2 = dl.matmul %0, %1 : tensor<16x2048xf32>, tensor<2048x1024xf32>
    dl.yield %2 : tensor<16x1024xf32>
  }
  %new:4 = dl.multi_tensor(%w, %b, %dw, %db, %v, %u) each(%factors) scalars(%lr, %momentum) {streams = 3 : i64}
      : (tensor<2048x1024xf32>, tensor<2048xf32>, tensor<2048x1024xf32>, tensor<2048xf32>, tensor<2048x1024xf32>, tensor<2048xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>)
      -> (tensor<2048x1024xf32>, tensor<2048xf32>, tensor<2048x1024xf32>, tensor<2048xf32>) {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>, %m: tensor<f32>, %factor: tensor<f32>, %0: tensor<f32>, %1: tensor<f32>):
    %2 = dl.multiply %0, %factor : tensor<f32>
    %3 = dl.multiply %1, %m : tensor<f32>
    %4 = dl.add %3, %g : tensor<f32>
    %5 = dl.multiply %2, %4 : tensor<f32>
    %6 = dl.subtract %p, %5 : tensor<f32>
    dl.yield %6, %4 : tensor<f32>, tensor<f32>
  }
  dl.assign @w, %new#0 : tensor<2048x1024xf32>
  dl.assign @b, %new#1 : tensor<2048xf32>
  dl.assign @w.momentum, %new#2 : tensor<2048x1024xf32>
  dl.assign @b.momentum, %new#3 : tensor<2048xf32>
  dl.return %dx : tensor<16x1024xf32>
}

// Elements that the update numbers are numbers along the axes.
// CHECK-LABEL: dl.entry @numbered
// CHECK: dl.fused
// CHECK: dl.matmul %{{.*}} transpose_a
// CHECK: %[[NUMBER:.*]] = dl.iota axes = [0, 1] : tensor<2048x1024xi32>
// CHECK: %[[ALL:.*]] = dl.broadcast %{{.*}} dims = [] : tensor<i32> to tensor<2048x1024xi32>
// CHECK: dl.stochastic_round %{{.*}}, %[[NUMBER]], %[[ALL]] : tensor<2048x1024xf32>, tensor<2048x1024xi32> to tensor<2048x1024xbf16>
// CHECK-NOT: dl.multi_tensor
dl.variable @h : tensor<2048x1024xbf16> role<parameter> init(#program.init<constant, 0.0, 0.0>)
dl.entry @numbered(%x: tensor<16x1024xf32>, %dy: tensor<16x2048xf32>) -> () attributes {kind = #program.entry<train>} {
  %h = dl.read @h : tensor<2048x1024xbf16>
  %step = dl.scalar "random.step", 0.0 : tensor<i32>
  %name = dl.constant dense<7> : tensor<1xi32>
  %dw = dl.fused(%dy, %x) {candidate = #program.candidate<generator = "cpu-gemm", schedule = "gemm 6x2 depth 16 block 43x32 task 43x32 splits 1", seconds = 1.2e-03 : f64>}
      : (tensor<16x2048xf32>, tensor<16x1024xf32>) -> tensor<2048x1024xf32> {
  ^bb0(%0: tensor<16x2048xf32>, %1: tensor<16x1024xf32>):
    %2 = dl.matmul %0, %1 transpose_a : tensor<16x2048xf32>, tensor<16x1024xf32>
    dl.yield %2 : tensor<2048x1024xf32>
  }
  %new = dl.multi_tensor(%h, %dw) each(%name) scalars(%step) {numbered, streams = 2 : i64}
      : (tensor<2048x1024xbf16>, tensor<2048x1024xf32>, tensor<1xi32>, tensor<i32>) -> tensor<2048x1024xbf16> {
  ^bb0(%p: tensor<bf16>, %g: tensor<f32>, %own: tensor<i32>, %0: tensor<i32>, %number: tensor<i32>):
    %key = dl.random bits %own, %own, %own, %0, %0, %0 path = 3 : tensor<i32> to tensor<i32>
    %1 = dl.cast %p : tensor<bf16> to tensor<f32>
    %2 = dl.subtract %1, %g : tensor<f32>
    %3 = dl.stochastic_round %2, %number, %key : tensor<f32>, tensor<i32> to tensor<bf16>
    dl.yield %3 : tensor<bf16>
  }
  dl.assign @h, %new : tensor<2048x1024xbf16>
  dl.return
}

// A gradient that is a result too is stored anyway; what is read behind the update, what waits for something else that is computed,
// and what is small stays as well.
// CHECK-LABEL: dl.entry @results
// CHECK-NOT: dl.update
// CHECK: dl.entry @read
// CHECK-NOT: dl.update
// CHECK: dl.entry @clipped
// CHECK-NOT: dl.update
// CHECK: dl.entry @small
// CHECK-NOT: dl.update
dl.entry @results(%x: tensor<16x1024xf32>, %dy: tensor<16x2048xf32>)
    -> (tensor<2048x1024xf32> {dl.kind = #program.value<gradient>, dl.of = @w}) attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<2048x1024xf32>
  %dw = dl.fused(%dy, %x) {candidate = #program.candidate<generator = "cpu-gemm", schedule = "gemm 6x2 depth 16 block 43x32 task 43x32 splits 1", seconds = 1.2e-03 : f64>}
      : (tensor<16x2048xf32>, tensor<16x1024xf32>) -> tensor<2048x1024xf32> {
  ^bb0(%0: tensor<16x2048xf32>, %1: tensor<16x1024xf32>):
    %2 = dl.matmul %0, %1 transpose_a : tensor<16x2048xf32>, tensor<16x1024xf32>
    dl.yield %2 : tensor<2048x1024xf32>
  }
  %new = dl.multi_tensor(%w, %dw) scalars() {streams = 2 : i64} : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    %q = dl.subtract %p, %g : tensor<f32>
    dl.yield %q : tensor<f32>
  }
  dl.assign @w, %new : tensor<2048x1024xf32>
  dl.return %dw : tensor<2048x1024xf32>
}

dl.entry @read(%x: tensor<16x1024xf32>, %dy: tensor<16x2048xf32>) -> (tensor<2048x1024xf32>) attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<2048x1024xf32>
  %dw = dl.fused(%dy, %x) {candidate = #program.candidate<generator = "cpu-gemm", schedule = "gemm 6x2 depth 16 block 43x32 task 43x32 splits 1", seconds = 1.2e-03 : f64>}
      : (tensor<16x2048xf32>, tensor<16x1024xf32>) -> tensor<2048x1024xf32> {
  ^bb0(%0: tensor<16x2048xf32>, %1: tensor<16x1024xf32>):
    %2 = dl.matmul %0, %1 transpose_a : tensor<16x2048xf32>, tensor<16x1024xf32>
    dl.yield %2 : tensor<2048x1024xf32>
  }
  %new = dl.multi_tensor(%w, %dw) scalars() {streams = 2 : i64} : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    %q = dl.subtract %p, %g : tensor<f32>
    dl.yield %q : tensor<f32>
  }
  dl.assign @w, %new : tensor<2048x1024xf32>
  dl.return %new : tensor<2048x1024xf32>
}

dl.entry @clipped(%x: tensor<16x1024xf32>, %dy: tensor<16x2048xf32>, %g: tensor<2048xf32>) -> () attributes {kind = #program.entry<train>} {
  %w = dl.read @w : tensor<2048x1024xf32>
  %dw = dl.fused(%dy, %x) {candidate = #program.candidate<generator = "cpu-gemm", schedule = "gemm 6x2 depth 16 block 43x32 task 43x32 splits 1", seconds = 1.2e-03 : f64>}
      : (tensor<16x2048xf32>, tensor<16x1024xf32>) -> tensor<2048x1024xf32> {
  ^bb0(%0: tensor<16x2048xf32>, %1: tensor<16x1024xf32>):
    %2 = dl.matmul %0, %1 transpose_a : tensor<16x2048xf32>, tensor<16x1024xf32>
    dl.yield %2 : tensor<2048x1024xf32>
  }
  %factor = dl.fused(%g) {candidate = #program.candidate<generator = "cpu-reduce", schedule = "", seconds = 1.0e-06 : f64>} : (tensor<2048xf32>) -> tensor<f32> {
  ^bb0(%0: tensor<2048xf32>):
    %1 = dl.reduce max %0 axes = [0] : tensor<2048xf32>
    dl.yield %1 : tensor<f32>
  }
  %new = dl.multi_tensor(%w, %dw) scalars(%factor) {streams = 2 : i64} : (tensor<2048x1024xf32>, tensor<2048x1024xf32>, tensor<f32>) -> tensor<2048x1024xf32> {
  ^bb0(%p: tensor<f32>, %0: tensor<f32>, %1: tensor<f32>):
    %2 = dl.multiply %0, %1 : tensor<f32>
    %q = dl.subtract %p, %2 : tensor<f32>
    dl.yield %q : tensor<f32>
  }
  dl.assign @w, %new : tensor<2048x1024xf32>
  dl.return
}

dl.entry @small(%x: tensor<16x32xf32>, %dy: tensor<16x64xf32>) -> () attributes {kind = #program.entry<train>} {
  %s = dl.read @s : tensor<64x32xf32>
  %ds = dl.fused(%dy, %x) {candidate = #program.candidate<generator = "cpu-gemm", schedule = "gemm 6x2 depth 16 block 11x2 task 11x2 splits 1", seconds = 1.0e-03 : f64>}
      : (tensor<16x64xf32>, tensor<16x32xf32>) -> tensor<64x32xf32> {
  ^bb0(%0: tensor<16x64xf32>, %1: tensor<16x32xf32>):
    %2 = dl.matmul %0, %1 transpose_a : tensor<16x64xf32>, tensor<16x32xf32>
    dl.yield %2 : tensor<64x32xf32>
  }
  %new = dl.multi_tensor(%s, %ds) scalars() {streams = 2 : i64} : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32> {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    %q = dl.subtract %p, %g : tensor<f32>
    dl.yield %q : tensor<f32>
  }
  dl.assign @s, %new : tensor<64x32xf32>
  dl.return
}
