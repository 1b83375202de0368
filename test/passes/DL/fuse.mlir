// RUN: dlc-opt --dl-fuse %s | FileCheck %s
// RUN: dlc-opt --dl-fuse=enable=false %s | FileCheck %s --check-prefix=OFF

// Bias and relu join the convolution that computes their operand; the broadcast costs nothing and comes along.
// CHECK-LABEL: dl.entry @epilogue
// CHECK-NEXT: %[[Y:.*]] = dl.fused(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<1x1x6x6xf32>, tensor<2x1x3x3xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<1x1x6x6xf32>, %[[W:.*]]: tensor<2x1x3x3xf32>, %[[B:.*]]: tensor<2xf32>):
// CHECK-NEXT: %[[C:.*]] = dl.convolution %[[X]], %[[W]]
// CHECK-NEXT: %[[R:.*]] = dl.broadcast %[[B]]
// CHECK-NEXT: %[[A:.*]] = dl.add %[[C]], %[[R]]
// CHECK-NEXT: %[[Y1:.*]] = dl.relu %[[A]]
// CHECK-NEXT: dl.yield %[[Y1]]
// CHECK: dl.return %[[Y]]
// Switched off, each op has a region of its own.
// OFF-LABEL: dl.entry @epilogue
// OFF-COUNT-4: dl.fused
// OFF-NOT: dl.fused
// OFF: dl.return
dl.entry @epilogue(%x: tensor<1x1x6x6xf32>, %w: tensor<2x1x3x3xf32>, %b: tensor<2xf32>) -> (tensor<1x2x4x4xf32>) attributes {kind = #program.entry<infer>} {
  %c = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x1x6x6xf32>, tensor<2x1x3x3xf32>
  %r = dl.broadcast %b dims = [1] : tensor<2xf32> to tensor<1x2x4x4xf32>
  %a = dl.add %c, %r : tensor<1x2x4x4xf32>
  %y = dl.relu %a : tensor<1x2x4x4xf32>
  dl.return %y : tensor<1x2x4x4xf32>
}

// A value inside that is used outside as well is one more result. Of the two producers of a sum the later takes it.
// CHECK-LABEL: dl.entry @residual
// CHECK-NEXT: %[[A:.*]] = dl.fused
// CHECK: dl.matmul
// CHECK-NEXT: dl.yield
// CHECK: %[[B:.*]]:2 = dl.fused(%[[A]], %{{.*}})
// CHECK: %[[P:.*]] = dl.matmul
// CHECK-NEXT: %[[S:.*]] = dl.add %{{.*}}, %[[P]]
// CHECK-NEXT: dl.yield %[[P]], %[[S]]
// CHECK: dl.return %[[B]]#1, %[[B]]#0
// OFF-LABEL: dl.entry @residual
dl.entry @residual(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) attributes {kind = #program.entry<infer>} {
  %a = dl.matmul %x, %w : tensor<4x4xf32>, tensor<4x4xf32>
  %b = dl.matmul %a, %w : tensor<4x4xf32>, tensor<4x4xf32>
  %s = dl.add %a, %b : tensor<4x4xf32>
  dl.return %s, %b : tensor<4x4xf32>, tensor<4x4xf32>
}

// The mask of a relu's gradient is computed once, behind the product that gives dy, for all three that read it.
// CHECK-LABEL: dl.entry @relu_backward
// CHECK-NEXT: %[[DZ:.*]] = dl.fused
// CHECK: %[[DY:.*]] = dl.matmul
// CHECK: %[[M:.*]] = dl.compare gt
// CHECK: %[[S:.*]] = dl.select %[[M]], %[[DY]]
// CHECK-NEXT: dl.yield %[[S]]
// CHECK: dl.fused(%[[DZ]])
// CHECK: dl.reduce sum
// CHECK: dl.fused(%[[DZ]],
// CHECK: dl.matmul
// CHECK: dl.fused(%[[DZ]],
// CHECK: dl.matmul
// OFF-LABEL: dl.entry @relu_backward
dl.entry @relu_backward(%g: tensor<4x4xf32>, %y: tensor<4x4xf32>, %x: tensor<4x4xf32>, %w: tensor<4x4xf32>)
    -> (tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) attributes {kind = #program.entry<train>} {
  %dy = dl.matmul %g, %w : tensor<4x4xf32>, tensor<4x4xf32>
  %zero = dl.constant dense<0.0> : tensor<4x4xf32>
  %m = dl.compare gt %y, %zero : tensor<4x4xf32>
  %dz = dl.select %m, %dy, %zero : tensor<4x4xf32>
  %db = dl.reduce sum %dz axes = [0] : tensor<4x4xf32>
  %dw = dl.matmul %dz, %x transpose_a : tensor<4x4xf32>, tensor<4x4xf32>
  %dx = dl.matmul %dz, %w : tensor<4x4xf32>, tensor<4x4xf32>
  dl.return %db, %dw, %dx : tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// With no producer to join, an element-wise chain goes in front of the one anchor that reads it.
// CHECK-LABEL: dl.entry @prologue
// CHECK-NEXT: %[[Y:.*]] = dl.fused
// CHECK: dl.multiply
// CHECK-NEXT: dl.reduce sum
// CHECK-NEXT: dl.yield
// CHECK: dl.return %[[Y]]
// OFF-LABEL: dl.entry @prologue
dl.entry @prologue(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> (tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  %p = dl.multiply %a, %b : tensor<4x4xf32>
  %s = dl.reduce sum %p axes = [0] : tensor<4x4xf32>
  dl.return %s : tensor<4xf32>
}

// Two anchors read the chain: it is computed and stored once, by one of them as it is a reduction, of rows if there is one. Its
// several results are those of one region.
// CHECK-LABEL: dl.entry @stored_once
// CHECK-NEXT: %[[P:.*]]:3 = dl.fused
// CHECK: %[[M:.*]] = dl.multiply
// CHECK-NEXT: %[[T:.*]] = dl.reduce max %[[M]] axes = [1]
// CHECK-NEXT: %[[E:.*]] = dl.exp %[[M]]
// CHECK-NEXT: dl.yield %[[M]], %[[E]], %[[T]]
// CHECK: %[[S:.*]] = dl.fused(%[[P]]#0)
// CHECK: dl.reduce sum
// CHECK-NOT: dl.fused
// CHECK: dl.return %[[S]], %[[P]]#2, %[[P]]#1
// OFF-LABEL: dl.entry @stored_once
dl.entry @stored_once(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>) attributes {kind = #program.entry<infer>} {
  %p = dl.multiply %a, %b : tensor<4x4xf32>
  %e = dl.exp %p : tensor<4x4xf32>
  %s = dl.reduce sum %p axes = [0] : tensor<4x4xf32>
  %t = dl.reduce max %p axes = [1] : tensor<4x4xf32>
  dl.return %s, %t, %e : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>
}

// Two sums that read dz are one walk over it, which also stores it; what only one of them needs is computed on the way.
// CHECK-LABEL: dl.entry @sibling_reductions
// CHECK-NEXT: %[[S:.*]]:3 = dl.fused
// CHECK: %[[DZ:.*]] = dl.select
// CHECK: dl.reduce sum %[[DZ]] axes = [0]
// CHECK: dl.multiply %[[DZ]],
// CHECK-NEXT: dl.reduce sum
// CHECK: dl.yield
// CHECK: dl.fused(
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.matmul
// CHECK-NOT: dl.fused
// OFF-LABEL: dl.entry @sibling_reductions
dl.entry @sibling_reductions(%g: tensor<4x6xf32>, %x: tensor<4x6xf32>, %w: tensor<6x4xf32>)
    -> (tensor<6xf32>, tensor<6xf32>, tensor<4x4xf32>) attributes {kind = #program.entry<infer>} {
  %zero = dl.constant dense<0.0> : tensor<4x6xf32>
  %m = dl.compare gt %x, %zero : tensor<4x6xf32>
  %dz = dl.select %m, %g, %zero : tensor<4x6xf32>
  %p = dl.multiply %dz, %x : tensor<4x6xf32>
  %s = dl.reduce sum %dz axes = [0] : tensor<4x6xf32>
  %t = dl.reduce sum %p axes = [0] : tensor<4x6xf32>
  %y = dl.matmul %dz, %w : tensor<4x6xf32>, tensor<6x4xf32>
  dl.return %s, %t, %y : tensor<6xf32>, tensor<6xf32>, tensor<4x4xf32>
}

// Reductions stay apart where one waits for the other, where the axes differ, and where they read nothing in common.
// CHECK-LABEL: dl.entry @no_siblings
// CHECK-COUNT-4: dl.fused
// CHECK-NOT: dl.fused
// CHECK: dl.return
// OFF-LABEL: dl.entry @no_siblings
dl.entry @no_siblings(%x: tensor<4x4xf32>, %z: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {kind = #program.entry<infer>} {
  %s = dl.reduce max %x axes = [0] : tensor<4x4xf32>
  %b = dl.broadcast %s dims = [1] : tensor<4xf32> to tensor<4x4xf32>
  %d = dl.divide %x, %b : tensor<4x4xf32>
  %t = dl.reduce sum %d axes = [0] : tensor<4x4xf32>
  %u = dl.reduce sum %x axes = [1] : tensor<4x4xf32>
  %v = dl.reduce sum %z axes = [0] : tensor<4x4xf32>
  %w = dl.add %t, %v : tensor<4xf32>
  dl.return %s, %u, %w : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A norm stores x alone: x - mean is computed where it is read, in the forward and the backward pass.
// CHECK-LABEL: dl.entry @norm
// CHECK: %[[X:.*]] = dl.fused
// CHECK: dl.matmul
// CHECK: %[[M:.*]]:2 = dl.fused(%[[X]])
// CHECK: dl.moments
// CHECK: %[[Y:.*]] = dl.fused(%[[X]], %[[M]]#0, %[[M]]#1)
// CHECK: dl.subtract
// CHECK: dl.tanh
// CHECK: dl.fused(%{{.*}}, %[[X]], %[[M]]#0)
// CHECK: dl.reduce sum
// CHECK: dl.reduce sum
// CHECK-NOT: dl.fused
// CHECK: dl.return
// OFF-LABEL: dl.entry @norm
dl.entry @norm(%a: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {kind = #program.entry<infer>} {
  %x = dl.matmul %a, %a : tensor<4x4xf32>, tensor<4x4xf32>
  %mean, %m2 = dl.moments %x axes = [0] : tensor<4x4xf32>
  %spread = dl.broadcast %mean dims = [1] : tensor<4xf32> to tensor<4x4xf32>
  %c = dl.subtract %x, %spread : tensor<4x4xf32>
  %f = dl.broadcast %m2 dims = [1] : tensor<4xf32> to tensor<4x4xf32>
  %n = dl.multiply %c, %f : tensor<4x4xf32>
  %y = dl.tanh %n : tensor<4x4xf32>
  %p = dl.multiply %g, %c : tensor<4x4xf32>
  %s = dl.reduce sum %g axes = [0] : tensor<4x4xf32>
  %t = dl.reduce sum %p axes = [0] : tensor<4x4xf32>
  dl.return %y, %s, %t : tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A softmax down columns needs its sum before it can divide: a region that held both ends would wait for itself.
// CHECK-LABEL: dl.entry @no_cycle
// CHECK-NEXT: %[[E:.*]]:2 = dl.fused
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.exp
// CHECK-NEXT: dl.reduce sum
// CHECK-NEXT: dl.yield
// CHECK: dl.fused(%[[E]]#0, %[[E]]#1)
// CHECK: dl.broadcast
// CHECK-NEXT: dl.divide
// OFF-LABEL: dl.entry @no_cycle
dl.entry @no_cycle(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>) attributes {kind = #program.entry<infer>} {
  %e = dl.exp %x : tensor<4x4xf32>
  %s = dl.reduce sum %e axes = [0] : tensor<4x4xf32>
  %r = dl.broadcast %s dims = [1] : tensor<4xf32> to tensor<4x4xf32>
  %y = dl.divide %e, %r : tensor<4x4xf32>
  dl.return %y : tensor<4x4xf32>
}

// The skip connection's element-wise producer also feeds the product itself, which wants it stored.
// CHECK-LABEL: dl.entry @skip
// CHECK-NEXT: %[[R:.*]] = dl.fused
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.relu
// CHECK-NEXT: dl.yield
// CHECK: dl.fused(%[[R]], %{{.*}})
// CHECK: dl.convolution
// CHECK-NEXT: dl.add
// OFF-LABEL: dl.entry @skip
dl.entry @skip(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x3x3xf32>) -> (tensor<1x1x4x4xf32>) attributes {kind = #program.entry<infer>} {
  %r = dl.relu %x : tensor<1x1x4x4xf32>
  %c = dl.convolution %r, %w strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32>
  %y = dl.add %c, %r : tensor<1x1x4x4xf32>
  dl.return %y : tensor<1x1x4x4xf32>
}

// Samples that do not count are masked while the reduction reads; the whole mask is recomputed there.
// CHECK-LABEL: dl.entry @valid
// CHECK: dl.fused(%{{.*}}, %{{.*}}) : (tensor<i32>, tensor<8xf32>) -> tensor<f32>
// CHECK-DAG: dl.iota
// CHECK-DAG: dl.broadcast
// CHECK: dl.compare lt
// CHECK: dl.select
// CHECK-NEXT: dl.reduce sum
// CHECK-NOT: dl.fused
// CHECK: dl.return
// OFF-LABEL: dl.entry @valid
dl.entry @valid(%loss: tensor<8xf32>, %n: tensor<i32> {dl.valid}) -> (tensor<f32>) attributes {kind = #program.entry<evaluate>} {
  %i = dl.iota axes = [0] : tensor<8xi32>
  %r = dl.broadcast %n dims = [] : tensor<i32> to tensor<8xi32>
  %m = dl.compare lt %i, %r : tensor<8xi32>
  %zero = dl.constant dense<0.0> : tensor<8xf32>
  %l = dl.select %m, %loss, %zero : tensor<8xf32>
  %s = dl.reduce sum %l axes = [0] : tensor<8xf32>
  dl.return %s : tensor<f32>
}

// A constant that is a result is stored by a region of its own; where it is only read it stays a number. Views and tables
// stay outside.
// CHECK-LABEL: dl.entry @constants
// CHECK-DAG: %[[TABLE:.*]] = dl.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-DAG: %[[STORED:.*]] = dl.fused() : () -> tensor<2xf32>
// CHECK: %[[Y:.*]] = dl.fused(%[[TABLE]])
// CHECK: %[[V:.*]] = dl.reshape %[[Y]]
// CHECK: dl.return %[[V]], %[[STORED]]
// OFF-LABEL: dl.entry @constants
dl.entry @constants() -> (tensor<2x1xf32>, tensor<2xf32>) attributes {kind = #program.entry<infer>} {
  %two = dl.constant dense<2.0> : tensor<2xf32>
  %table = dl.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = dl.multiply %table, %two : tensor<2xf32>
  %v = dl.reshape %y : tensor<2xf32> to tensor<2x1xf32>
  dl.return %v, %two : tensor<2x1xf32>, tensor<2xf32>
}

// The slope of tanh is needed with dy only: computed there from y, which is stored anyway, not stored beside it.
// CHECK-LABEL: dl.entry @slope
// CHECK-NEXT: %[[Y:.*]] = dl.fused
// CHECK: dl.tanh
// CHECK-NEXT: dl.yield
// CHECK: %[[Z:.*]] = dl.fused(%[[Y]]
// CHECK: dl.fused(%[[Z]], %{{.*}}, %[[Y]])
// CHECK: %[[DY:.*]] = dl.matmul
// CHECK: dl.multiply
// CHECK: dl.subtract
// CHECK: dl.multiply %[[DY]]
// OFF-LABEL: dl.entry @slope
dl.entry @slope(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>) attributes {kind = #program.entry<train>} {
  %y = dl.tanh %x : tensor<4x4xf32>
  %q = dl.multiply %y, %y : tensor<4x4xf32>
  %one = dl.constant dense<1.0> : tensor<4x4xf32>
  %slope = dl.subtract %one, %q : tensor<4x4xf32>
  %z = dl.matmul %y, %w : tensor<4x4xf32>, tensor<4x4xf32>
  %dy = dl.matmul %z, %w transpose_b : tensor<4x4xf32>, tensor<4x4xf32>
  %dx = dl.multiply %dy, %slope : tensor<4x4xf32>
  dl.return %dx : tensor<4x4xf32>
}

// The product is stored for the caller anyway: squaring it costs nothing in front of the reduction, and a whole tensor
// behind the product.
// CHECK-LABEL: dl.entry @prologue_preferred
// CHECK-NEXT: %[[P:.*]] = dl.fused
// CHECK: dl.matmul
// CHECK-NEXT: dl.yield
// CHECK: dl.fused(%[[P]])
// CHECK: dl.multiply
// CHECK-NEXT: dl.reduce sum
// OFF-LABEL: dl.entry @prologue_preferred
dl.entry @prologue_preferred(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  %p = dl.matmul %x, %w : tensor<4x4xf32>, tensor<4x4xf32>
  %q = dl.multiply %p, %p : tensor<4x4xf32>
  %s = dl.reduce sum %q axes = [0] : tensor<4x4xf32>
  dl.return %p, %s : tensor<4x4xf32>, tensor<4xf32>
}

// Elements a step apart are read where they are needed, and zeros between them appear there: neither is stored.
// CHECK-LABEL: dl.entry @slices
// CHECK-NEXT: %[[E:.*]] = dl.fused(%{{.*}}) : (tensor<4x10xf32>) -> tensor<3x5xf32>
// CHECK: dl.slice
// CHECK-NEXT: dl.exp
// CHECK: dl.fused(%[[E]], %{{.*}}) : (tensor<3x5xf32>, tensor<4x10xf32>) -> tensor<4x10xf32>
// CHECK: dl.pad
// CHECK-NEXT: dl.add
// CHECK-NOT: dl.fused
// OFF-LABEL: dl.entry @slices
// OFF-COUNT-4: dl.fused
dl.entry @slices(%x: tensor<4x10xf32>, %y: tensor<4x10xf32>) -> tensor<4x10xf32> attributes {kind = #program.entry<infer>} {
  %0 = dl.slice %x starts = [1, 1] sizes = [3, 5] steps = [1, 2] : tensor<4x10xf32>
  %1 = dl.exp %0 : tensor<3x5xf32>
  %2 = dl.pad %1 low = [1, 1] steps = [1, 2] : tensor<3x5xf32> to tensor<4x10xf32>
  %3 = dl.add %2, %y : tensor<4x10xf32>
  dl.return %3 : tensor<4x10xf32>
}

// What is joined is stored before it is, and read where the whole is needed, which is not stored. Nor is what is looked up.
// CHECK-LABEL: dl.entry @joined
// CHECK-NEXT: %[[E:.*]] = dl.fused(%{{.*}}) : (tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK: %[[C:.*]] = dl.fused(%[[E]], %{{.*}}) : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
// CHECK: dl.concat
// CHECK-NEXT: dl.negate
// CHECK: dl.fused(%[[C]], %{{.*}}) : (tensor<4x8xf32>, tensor<6xi32>) -> tensor<6x8xf32>
// CHECK: dl.gather
// CHECK-NEXT: dl.relu
// CHECK-NOT: dl.fused
// OFF-LABEL: dl.entry @joined
// OFF-COUNT-5: dl.fused
dl.entry @joined(%x: tensor<4x3xf32>, %y: tensor<4x5xf32>, %i: tensor<6xi32>) -> tensor<6x8xf32> attributes {kind = #program.entry<infer>} {
  %0 = dl.exp %x : tensor<4x3xf32>
  %1 = dl.concat %0, %y axis = 1 : tensor<4x3xf32>, tensor<4x5xf32>
  %2 = dl.negate %1 : tensor<4x8xf32>
  %3 = dl.gather %2, %i axis = 0 : tensor<4x8xf32>, tensor<6xi32>
  %4 = dl.relu %3 : tensor<6x8xf32>
  dl.return %4 : tensor<6x8xf32>
}

// A piece of what is stored anyway is memory of it, with or without fusion; what begins where no buffer may, what is not in one piece
// and what would be stored for it only are computed where they are read.
// CHECK-LABEL: dl.entry @pieces
// CHECK-NEXT: %[[ROWS:.*]] = dl.slice %[[X:.*]] starts = [2, 0] sizes = [2, 16]
// CHECK-NEXT: dl.fused(%[[X]])
// CHECK: dl.slice %{{.*}} starts = [1, 1] sizes = [1, 15]
// CHECK-NEXT: dl.exp
// CHECK: dl.fused(%[[X]])
// CHECK: dl.slice %{{.*}} starts = [2, 0] sizes = [2, 15]
// CHECK-NEXT: dl.tanh
// CHECK: dl.fused(%[[ROWS]], %{{.*}}) : (tensor<2x16xf32>, tensor<16xf32>)
// CHECK: dl.broadcast
// CHECK-NEXT: dl.slice
// CHECK-NEXT: dl.multiply
// OFF-LABEL: dl.entry @pieces
// OFF-NEXT: dl.slice %{{.*}} starts = [2, 0] sizes = [2, 16]
// OFF-COUNT-7: dl.fused
dl.entry @pieces(%x: tensor<8x16xf32>, %b: tensor<16xf32>) -> (tensor<1x15xf32>, tensor<2x15xf32>, tensor<2x16xf32>) attributes {kind = #program.entry<infer>} {
  %rows = dl.slice %x starts = [2, 0] sizes = [2, 16] steps = [1, 1] : tensor<8x16xf32>
  %odd = dl.slice %x starts = [1, 1] sizes = [1, 15] steps = [1, 1] : tensor<8x16xf32>
  %columns = dl.slice %x starts = [2, 0] sizes = [2, 15] steps = [1, 1] : tensor<8x16xf32>
  %spread = dl.broadcast %b dims = [1] : tensor<16xf32> to tensor<4x16xf32>
  %cut = dl.slice %spread starts = [1, 0] sizes = [2, 16] steps = [1, 1] : tensor<4x16xf32>
  %w = dl.exp %odd : tensor<1x15xf32>
  %y = dl.tanh %columns : tensor<2x15xf32>
  %z = dl.multiply %rows, %cut : tensor<2x16xf32>
  dl.return %w, %y, %z : tensor<1x15xf32>, tensor<2x15xf32>, tensor<2x16xf32>
}

// What kernels compute for a tensor that they follow each other in, at multiples of 64 bytes, is joined in memory: outside of
// regions. A few parts that are stored elsewhere are read where the whole is needed, as are parts that begin elsewhere.
// CHECK-LABEL: dl.entry @joins
// CHECK: dl.reduce
// CHECK: %[[A:.*]] = dl.fused
// CHECK: %[[B:.*]] = dl.fused
// CHECK: %[[JOINED:.*]] = dl.concat %[[A]], %[[B]] axis = 0
// CHECK: dl.fused(%[[JOINED]])
// CHECK: dl.fused
// CHECK: dl.concat
// CHECK: dl.yield
// CHECK: dl.fused
// CHECK: dl.concat
// CHECK: dl.yield
// CHECK: %[[MANY:.*]] = dl.concat %arg0, %arg0, %arg0, %arg0, %arg0 axis = 0
// CHECK: dl.return {{.*}}, %[[MANY]]
dl.entry @joins(%x: tensor<2x16xf32>, %y: tensor<2x5xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x5xf32>, tensor<10x16xf32>) attributes {kind = #program.entry<infer>} {
  %a = dl.reduce sum %x axes = [1] : tensor<2x16xf32>
  %b = dl.broadcast %a dims = [0] : tensor<2xf32> to tensor<2x16xf32>
  %c = dl.exp %b : tensor<2x16xf32>
  %d = dl.tanh %x : tensor<2x16xf32>
  %e = dl.concat %c, %d axis = 0 : tensor<2x16xf32>, tensor<2x16xf32>
  %f = dl.relu %e : tensor<4x16xf32>
  %g = dl.concat %x, %x axis = 0 : tensor<2x16xf32>, tensor<2x16xf32>
  %h = dl.tanh %y : tensor<2x5xf32>
  %i = dl.exp %y : tensor<2x5xf32>
  %j = dl.concat %h, %i axis = 0 : tensor<2x5xf32>, tensor<2x5xf32>
  %k = dl.concat %x, %x, %x, %x, %x axis = 0 : tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>
  dl.return %f, %g, %j, %k : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x5xf32>, tensor<10x16xf32>
}

// What says which scores there are is never stored: a mask is repeated and dropout drawn where attention reads them, forward and
// backward.
// CHECK-LABEL: dl.entry @attention
// CHECK: %[[O:.*]]:2 = dl.fused
// CHECK: dl.broadcast %{{.*}} : tensor<7xi1> to tensor<2x3x5x7xi1>
// CHECK: dl.random
// CHECK: dl.attention %
// CHECK-NEXT: dl.yield
// CHECK: dl.fused
// CHECK: dl.broadcast %{{.*}} : tensor<7xi1> to tensor<2x3x5x7xi1>
// CHECK: dl.random
// CHECK: dl.attention_backward
// CHECK-NEXT: dl.yield
// CHECK-NOT: dl.fused
// CHECK: dl.return
dl.entry @attention(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x7x4xf32>, %v: tensor<2x3x7x4xf32>, %m: tensor<7xi1>, %s: tensor<i32>)
    -> (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) attributes {kind = #program.entry<infer>} {
  %mask = dl.broadcast %m dims = [3] : tensor<7xi1> to tensor<2x3x5x7xi1>
  %element = dl.iota axes = [1, 2, 3] : tensor<2x3x5x7xi32>
  %sample = dl.iota axes = [0] : tensor<2x3x5x7xi32>
  %seed = dl.broadcast %s dims = [] : tensor<i32> to tensor<2x3x5x7xi32>
  %r = dl.random uniform %element, %sample, %seed, %seed, %seed, %seed path = 3 : tensor<2x3x5x7xi32> to tensor<2x3x5x7xf32>
  %rate = dl.constant dense<0.25> : tensor<2x3x5x7xf32>
  %kept = dl.compare ge %r, %rate : tensor<2x3x5x7xf32>
  %o, %lse = dl.attention %q, %k, %v mask(%mask : tensor<2x3x5x7xi1>) kept(%kept : tensor<2x3x5x7xi1>) scale = 0.5 rate = 0.25
      : tensor<2x3x5x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x7x4xf32>
  %dq, %dk, %dv = dl.attention_backward %o, %q, %k, %v, %lse, %lse mask(%mask : tensor<2x3x5x7xi1>) kept(%kept : tensor<2x3x5x7xi1>)
      scale = 0.5 rate = 0.25 : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x7x4xf32>, tensor<2x3x5xf32>
  dl.return %o, %dq : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>
}

// A chain that several anchors lead to stands behind the last of them: each part of a sum is computed as soon as it can be.
// CHECK-LABEL: dl.entry @parts
// CHECK: %[[A:.*]] = dl.fused(%{{.*}}) : (tensor<4x8xf32>) -> tensor<8xf32>
// CHECK: %[[B:.*]] = dl.fused(%{{.*}}) : (tensor<4x8xf32>) -> tensor<8xf32>
// CHECK: %[[Y:.*]] = dl.fused(%{{.*}}, %[[A]], %[[B]]) : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK: dl.reduce sum
// CHECK: dl.add
// CHECK: dl.add
// CHECK: dl.return %[[Y]]
dl.entry @parts(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> (tensor<8xf32>) attributes {kind = #program.entry<train>} {
  %0 = dl.reduce sum %a axes = [0] : tensor<4x8xf32>
  %1 = dl.reduce sum %b axes = [0] : tensor<4x8xf32>
  %2 = dl.add %0, %1 : tensor<8xf32>
  %3 = dl.reduce sum %c axes = [0] : tensor<4x8xf32>
  %4 = dl.add %2, %3 : tensor<8xf32>
  dl.return %4 : tensor<8xf32>
}

// Sums of neighbours, as in a local response norm and its gradient: what is summed is computed in front of the sum, from tensors that stand in
// memory anyway, and what is made of the sum behind it. Forward keeps one tensor more.
// CHECK-LABEL: dl.entry @neighbours
// CHECK: %[[F:.*]]:2 = dl.fused(%arg0) : (tensor<2x6x5xf32>) -> (tensor<2x6x5xf32>, tensor<2x6x5xf32>)
// CHECK: dl.multiply
// CHECK: dl.sliding_sum
// CHECK: dl.divide
// CHECK: %[[DX:.*]] = dl.fused(%arg1, %[[F]]#0) : (tensor<2x6x5xf32>, tensor<2x6x5xf32>) -> tensor<2x6x5xf32>
// CHECK: dl.multiply
// CHECK: dl.sliding_sum
// CHECK: dl.subtract
// CHECK: dl.return %[[F]]#1, %[[DX]]
dl.entry @neighbours(%x: tensor<2x6x5xf32>, %dy: tensor<2x6x5xf32>) -> (tensor<2x6x5xf32>, tensor<2x6x5xf32>) attributes {kind = #program.entry<train>} {
  %q = dl.multiply %x, %x : tensor<2x6x5xf32>
  %s = dl.sliding_sum %q axis = 1 before = 2 after = 1 : tensor<2x6x5xf32>
  %b = dl.exp %s : tensor<2x6x5xf32>
  %y = dl.divide %x, %b : tensor<2x6x5xf32>
  %p = dl.multiply %dy, %b : tensor<2x6x5xf32>
  %t = dl.sliding_sum %p axis = 1 before = 1 after = 2 : tensor<2x6x5xf32>
  %d = dl.divide %dy, %b : tensor<2x6x5xf32>
  %dx = dl.subtract %d, %t : tensor<2x6x5xf32>
  dl.return %y, %dx : tensor<2x6x5xf32>, tensor<2x6x5xf32>
}

// What is computed of two values of one kernel for another kernel is computed and stored by the first, which then stores neither of them.
// CHECK-LABEL: dl.entry @stored_for_operands
// CHECK: %[[A:.*]]:2 = dl.fused(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK: dl.matmul
// CHECK: dl.multiply
// CHECK: dl.fused({{.*}}%[[A]]#{{[01]}}{{.*}}) : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: dl.matmul
// CHECK: dl.add
dl.entry @stored_for_operands(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {kind = #program.entry<train>} {
  %0 = dl.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32>
  %1 = dl.exp %0 : tensor<4x8xf32>
  %2 = dl.tanh %0 : tensor<4x8xf32>
  %3 = dl.add %1, %2 : tensor<4x8xf32>
  %4 = dl.matmul %3, %v : tensor<4x8xf32>, tensor<8x8xf32>
  %5 = dl.multiply %1, %2 : tensor<4x8xf32>
  %6 = dl.add %4, %5 : tensor<4x8xf32>
  dl.return %3, %6 : tensor<4x8xf32>, tensor<4x8xf32>
}
