// RUN: dlc-opt --dl-sparsify-updates %s | FileCheck %s

dl.variable @table : tensor<50x8xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @w : tensor<4xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @table.sum : tensor<50x8xf32> role<slot> of(@table) init(#program.init<constant, 0.0, 0.0>)
dl.variable @w.sum : tensor<4xf32> role<slot> of(@w) init(#program.init<constant, 0.0, 0.0>)

// Adagrad with a rate of its own for each parameter: where the gradient is 0, parameter and sum stay. The others keep their update.
// CHECK-LABEL: dl.entry @adagrad(
// CHECK: %[[ROWS:.*]], %[[NUMBERS:.*]] = dl.sum_rows %{{.*}}, %{{.*}} extent = 50 : tensor<3x2x8xf32>, tensor<3x2xi32>
// CHECK: %[[NEW:.*]]:2 = dl.update_rows(%[[T:.*]], %[[S:.*]]) rows(%[[ROWS]], %[[NUMBERS]]) scalars(%[[LR:.*]]) :
// CHECK: ^bb0(%[[P:.*]]: tensor<f32>, %[[SUM:.*]]: tensor<f32>, %[[G:.*]]: tensor<f32>, %[[RATE:.*]]: tensor<f32>):
// CHECK: %[[OWN:.*]] = dl.constant dense<2.000000e+00> : tensor<f32>
// CHECK: dl.multiply %[[RATE]], %[[OWN]]
// CHECK: dl.yield %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>
// CHECK: dl.multi_tensor({{.*}}) scalars(%[[LR]]) {streams = 3 : i64}
// CHECK: dl.constant dense<1.000000e+00> : tensor<f32>
// CHECK: dl.assign @table, %[[NEW]]#0
// CHECK: dl.assign @table.sum, %[[NEW]]#1
// CHECK-NOT: dl.scatter_add
dl.entry @adagrad(%dy: tensor<3x2x8xf32>, %i: tensor<3x2xi32>, %dw: tensor<4xf32>) attributes {kind = #program.entry<train>} {
  %t = dl.read @table : tensor<50x8xf32>
  %w = dl.read @w : tensor<4xf32>
  %ts = dl.read @table.sum : tensor<50x8xf32>
  %ws = dl.read @w.sum : tensor<4xf32>
  %lr = dl.scalar "lr", 0.1 : tensor<f32>
  %each = dl.constant dense<[2.0, 1.0]> : tensor<2xf32>
  %g = dl.scatter_add %dy, %i axis = 0 : tensor<3x2x8xf32>, tensor<3x2xi32> to tensor<50x8xf32>
  %new:4 = dl.multi_tensor(%t, %w, %g, %dw, %ts, %ws) each(%each) scalars(%lr) {streams = 3 : i64}
      : (tensor<50x8xf32>, tensor<4xf32>, tensor<50x8xf32>, tensor<4xf32>, tensor<50x8xf32>, tensor<4xf32>, tensor<2xf32>, tensor<f32>)
      -> (tensor<50x8xf32>, tensor<4xf32>, tensor<50x8xf32>, tensor<4xf32>) {
  ^bb0(%p: tensor<f32>, %d: tensor<f32>, %s: tensor<f32>, %own: tensor<f32>, %rate: tensor<f32>):
    %0 = dl.multiply %d, %d : tensor<f32>
    %1 = dl.add %s, %0 : tensor<f32>
    %2 = dl.sqrt %1 : tensor<f32>
    %3 = dl.divide %d, %2 : tensor<f32>
    %4 = dl.multiply %rate, %own : tensor<f32>
    %5 = dl.multiply %4, %3 : tensor<f32>
    %6 = dl.subtract %p, %5 : tensor<f32>
    dl.yield %6, %1 : tensor<f32>, tensor<f32>
  }
  dl.assign @table, %new#0 : tensor<50x8xf32>
  dl.assign @w, %new#1 : tensor<4xf32>
  dl.assign @table.sum, %new#2 : tensor<50x8xf32>
  dl.assign @w.sum, %new#3 : tensor<4xf32>
  dl.return
}

// A norm of all gradients takes the rows.
// CHECK-LABEL: dl.entry @clipped(
// CHECK: %[[ROWS:.*]], %[[NUMBERS:.*]] = dl.sum_rows
// CHECK: %[[A:.*]] = dl.multi_tensor(%[[ROWS]]) scalars() {streams = 1 : i64, sums = 1 : i64}
// CHECK: %[[B:.*]] = dl.multi_tensor(%{{.*}}) scalars() {streams = 1 : i64, sums = 1 : i64}
// CHECK-DAG: %[[OWN:.*]] = dl.reduce sum %[[A]] axes = [0]
// CHECK-DAG: %[[OTHERS:.*]] = dl.reduce sum %[[B]] axes = [0]
// CHECK: dl.add %[[OTHERS]], %[[OWN]]
// CHECK: dl.update_rows
dl.entry @clipped(%dy: tensor<3x8xf32>, %i: tensor<3xi32>, %dw: tensor<4xf32>) attributes {kind = #program.entry<train>} {
  %t = dl.read @table : tensor<50x8xf32>
  %w = dl.read @w : tensor<4xf32>
  %g = dl.scatter_add %dy, %i axis = 0 : tensor<3x8xf32>, tensor<3xi32> to tensor<50x8xf32>
  %sums = dl.multi_tensor(%g, %dw) scalars() {streams = 1 : i64, sums = 1 : i64} : (tensor<50x8xf32>, tensor<4xf32>) -> tensor<2xf32> {
  ^bb0(%d: tensor<f32>):
    %0 = dl.multiply %d, %d : tensor<f32>
    dl.yield %0 : tensor<f32>
  }
  %total = dl.reduce sum %sums axes = [0] : tensor<2xf32>
  %new:2 = dl.multi_tensor(%t, %w, %g, %dw) scalars(%total) {streams = 2 : i64}
      : (tensor<50x8xf32>, tensor<4xf32>, tensor<50x8xf32>, tensor<4xf32>, tensor<f32>) -> (tensor<50x8xf32>, tensor<4xf32>) {
  ^bb0(%p: tensor<f32>, %d: tensor<f32>, %by: tensor<f32>):
    %0 = dl.multiply %d, %by : tensor<f32>
    %1 = dl.subtract %p, %0 : tensor<f32>
    dl.yield %1 : tensor<f32>
  }
  dl.assign @table, %new#0 : tensor<50x8xf32>
  dl.assign @w, %new#1 : tensor<4xf32>
  dl.return
}

// Where an overflow leaves an update out, rows without a gradient stay in either case.
// CHECK-LABEL: dl.entry @guarded(
// CHECK-NOT: dl.scatter_add
// CHECK: dl.update_rows
// CHECK: dl.select
dl.entry @guarded(%dy: tensor<3x8xf32>, %i: tensor<3xi32>) attributes {kind = #program.entry<train>} {
  %t = dl.read @table : tensor<50x8xf32>
  %lr = dl.scalar "lr", 0.1 : tensor<f32>
  %g = dl.scatter_add %dy, %i axis = 0 : tensor<3x8xf32>, tensor<3xi32> to tensor<50x8xf32>
  %sums = dl.multi_tensor(%g) scalars() {streams = 1 : i64, sums = 1 : i64} : (tensor<50x8xf32>) -> tensor<1xf32> {
  ^bb0(%d: tensor<f32>):
    %0 = dl.multiply %d, %d : tensor<f32>
    dl.yield %0 : tensor<f32>
  }
  %total = dl.reduce sum %sums axes = [0] : tensor<1xf32>
  %new = dl.multi_tensor(%t, %g) scalars(%lr, %total) {streams = 2 : i64}
      : (tensor<50x8xf32>, tensor<50x8xf32>, tensor<f32>, tensor<f32>) -> tensor<50x8xf32> {
  ^bb0(%p: tensor<f32>, %d: tensor<f32>, %rate: tensor<f32>, %squares: tensor<f32>):
    %0 = dl.multiply %rate, %d : tensor<f32>
    %1 = dl.subtract %p, %0 : tensor<f32>
    %most = dl.constant dense<1.0e38> : tensor<f32>
    %good = dl.compare le %squares, %most : tensor<f32>
    %2 = dl.select %good, %1, %p : tensor<f32>
    dl.yield %2 : tensor<f32>
  }
  dl.assign @table, %new : tensor<50x8xf32>
  dl.return
}

// Momentum moves rows without a gradient, another reader needs it whole, and as many numbers as rows save nothing.
// CHECK-LABEL: dl.entry @momentum(
// CHECK-NOT: dl.sum_rows
// CHECK: dl.scatter_add
dl.entry @momentum(%dy: tensor<3x8xf32>, %i: tensor<3xi32>) attributes {kind = #program.entry<train>} {
  %t = dl.read @table : tensor<50x8xf32>
  %ts = dl.read @table.sum : tensor<50x8xf32>
  %g = dl.scatter_add %dy, %i axis = 0 : tensor<3x8xf32>, tensor<3xi32> to tensor<50x8xf32>
  %new:2 = dl.multi_tensor(%t, %g, %ts) scalars() {streams = 3 : i64}
      : (tensor<50x8xf32>, tensor<50x8xf32>, tensor<50x8xf32>) -> (tensor<50x8xf32>, tensor<50x8xf32>) {
  ^bb0(%p: tensor<f32>, %d: tensor<f32>, %v: tensor<f32>):
    %half = dl.constant dense<0.5> : tensor<f32>
    %0 = dl.multiply %v, %half : tensor<f32>
    %1 = dl.add %0, %d : tensor<f32>
    %2 = dl.subtract %p, %1 : tensor<f32>
    dl.yield %2, %1 : tensor<f32>, tensor<f32>
  }
  dl.assign @table, %new#0 : tensor<50x8xf32>
  dl.assign @table.sum, %new#1 : tensor<50x8xf32>
  dl.return
}

// CHECK-LABEL: dl.entry @returned(
// CHECK-NOT: dl.sum_rows
// CHECK: dl.scatter_add
dl.entry @returned(%dy: tensor<3x8xf32>, %i: tensor<3xi32>) -> (tensor<50x8xf32> {dl.name = "g"}) attributes {kind = #program.entry<train>} {
  %t = dl.read @table : tensor<50x8xf32>
  %g = dl.scatter_add %dy, %i axis = 0 : tensor<3x8xf32>, tensor<3xi32> to tensor<50x8xf32>
  %new = dl.multi_tensor(%t, %g) scalars() {streams = 2 : i64} : (tensor<50x8xf32>, tensor<50x8xf32>) -> tensor<50x8xf32> {
  ^bb0(%p: tensor<f32>, %d: tensor<f32>):
    %0 = dl.subtract %p, %d : tensor<f32>
    dl.yield %0 : tensor<f32>
  }
  dl.assign @table, %new : tensor<50x8xf32>
  dl.return %g : tensor<50x8xf32>
}

// CHECK-LABEL: dl.entry @many(
// CHECK-NOT: dl.sum_rows
// CHECK: dl.scatter_add
dl.entry @many(%dy: tensor<50x8xf32>, %i: tensor<50xi32>) attributes {kind = #program.entry<train>} {
  %t = dl.read @table : tensor<50x8xf32>
  %g = dl.scatter_add %dy, %i axis = 0 : tensor<50x8xf32>, tensor<50xi32> to tensor<50x8xf32>
  %new = dl.multi_tensor(%t, %g) scalars() {streams = 2 : i64} : (tensor<50x8xf32>, tensor<50x8xf32>) -> tensor<50x8xf32> {
  ^bb0(%p: tensor<f32>, %d: tensor<f32>):
    %0 = dl.subtract %p, %d : tensor<f32>
    dl.yield %0 : tensor<f32>
  }
  dl.assign @table, %new : tensor<50x8xf32>
  dl.return
}

// Whatever element-wise op a body has says itself what it gives for 0: tanh 0, exp not.
// CHECK-LABEL: dl.entry @squashed(
// CHECK: dl.update_rows
dl.entry @squashed(%dy: tensor<3x8xf32>, %i: tensor<3xi32>) attributes {kind = #program.entry<train>} {
  %t = dl.read @table : tensor<50x8xf32>
  %g = dl.scatter_add %dy, %i axis = 0 : tensor<3x8xf32>, tensor<3xi32> to tensor<50x8xf32>
  %new = dl.multi_tensor(%t, %g) scalars() {streams = 2 : i64} : (tensor<50x8xf32>, tensor<50x8xf32>) -> tensor<50x8xf32> {
  ^bb0(%p: tensor<f32>, %d: tensor<f32>):
    %0 = dl.tanh %d : tensor<f32>
    %1 = dl.subtract %p, %0 : tensor<f32>
    dl.yield %1 : tensor<f32>
  }
  dl.assign @table, %new : tensor<50x8xf32>
  dl.return
}

// CHECK-LABEL: dl.entry @grown(
// CHECK-NOT: dl.update_rows
dl.entry @grown(%dy: tensor<3x8xf32>, %i: tensor<3xi32>) attributes {kind = #program.entry<train>} {
  %t = dl.read @table : tensor<50x8xf32>
  %g = dl.scatter_add %dy, %i axis = 0 : tensor<3x8xf32>, tensor<3xi32> to tensor<50x8xf32>
  %new = dl.multi_tensor(%t, %g) scalars() {streams = 2 : i64} : (tensor<50x8xf32>, tensor<50x8xf32>) -> tensor<50x8xf32> {
  ^bb0(%p: tensor<f32>, %d: tensor<f32>):
    %0 = dl.exp %d : tensor<f32>
    %1 = dl.subtract %p, %0 : tensor<f32>
    dl.yield %1 : tensor<f32>
  }
  dl.assign @table, %new : tensor<50x8xf32>
  dl.return
}
