// RUN: dlc-opt --dl-fuse %s | FileCheck %s
// RUN: dlc-opt --dl-decompose --cse --dl-fuse %s | FileCheck %s --check-prefix=LOSS

// A softmax reads x once and stores y: its maximum, its sum and its quotient are passes over a row that lies in the cache.
// CHECK-LABEL: dl.entry @softmax
// CHECK-NEXT: %[[Y:.*]] = dl.fused(%{{[a-z0-9]+}}) : (tensor<8x100xf32>) -> tensor<8x100xf32>
// CHECK: dl.reduce max
// CHECK: dl.exp
// CHECK: dl.reduce sum
// CHECK: dl.divide
// CHECK-NOT: dl.fused
// CHECK: dl.return %[[Y]]
dl.entry @softmax(%x: tensor<8x100xf32>) -> (tensor<8x100xf32>) attributes {kind = #program.entry<infer>} {
  %m = dl.reduce max %x axes = [1] : tensor<8x100xf32>
  %bm = dl.broadcast %m dims = [0] : tensor<8xf32> to tensor<8x100xf32>
  %d = dl.subtract %x, %bm : tensor<8x100xf32>
  %e = dl.exp %d : tensor<8x100xf32>
  %s = dl.reduce sum %e axes = [1] : tensor<8x100xf32>
  %bs = dl.broadcast %s dims = [0] : tensor<8xf32> to tensor<8x100xf32>
  %y = dl.divide %e, %bs : tensor<8x100xf32>
  dl.return %y : tensor<8x100xf32>
}

// A norm over two axes: the moments, which others need too, and what is made of x with them. A scale along the row does not matter.
// CHECK-LABEL: dl.entry @norm
// CHECK-NEXT: %[[N:.*]]:2 = dl.fused(
// CHECK: dl.moments
// CHECK: dl.tanh
// CHECK: dl.yield
// CHECK-NOT: dl.fused
// CHECK: dl.return
dl.entry @norm(%x: tensor<8x3x5xf32>, %scale: tensor<3x5xf32>) -> (tensor<8x3x5xf32>, tensor<8xf32>) attributes {kind = #program.entry<infer>} {
  %0:2 = dl.moments %x axes = [1, 2] : tensor<8x3x5xf32>
  %b = dl.broadcast %0#0 dims = [0] : tensor<8xf32> to tensor<8x3x5xf32>
  %c = dl.subtract %x, %b : tensor<8x3x5xf32>
  %s = dl.broadcast %scale dims = [1, 2] : tensor<3x5xf32> to tensor<8x3x5xf32>
  %p = dl.multiply %c, %s : tensor<8x3x5xf32>
  %y = dl.tanh %p : tensor<8x3x5xf32>
  dl.return %y, %0#1 : tensor<8x3x5xf32>, tensor<8xf32>
}

// What is combined does not stand in one piece: when its sum is known, it is read once more.
// CHECK-LABEL: dl.entry @columns
// CHECK-COUNT-2: dl.fused
// CHECK-NOT: dl.fused
// CHECK: dl.return
dl.entry @columns(%x: tensor<8x100xf32>) -> (tensor<8x100xf32>) attributes {kind = #program.entry<infer>} {
  %m = dl.reduce max %x axes = [0] : tensor<8x100xf32>
  %bm = dl.broadcast %m dims = [1] : tensor<100xf32> to tensor<8x100xf32>
  %y = dl.divide %x, %bm : tensor<8x100xf32>
  dl.return %y : tensor<8x100xf32>
}

// A row's sum that goes to other rows, and one that goes to rows of another tensor, of which nothing has been read before.
// CHECK-LABEL: dl.entry @other_rows
// CHECK-COUNT-3: dl.fused
// CHECK-NOT: dl.fused
// CHECK: dl.return
dl.entry @other_rows(%x: tensor<8x8xf32>, %z: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) attributes {kind = #program.entry<infer>} {
  %m = dl.reduce sum %x axes = [1] : tensor<8x8xf32>
  %turned = dl.broadcast %m dims = [1] : tensor<8xf32> to tensor<8x8xf32>
  %y = dl.divide %x, %turned : tensor<8x8xf32>
  %straight = dl.broadcast %m dims = [0] : tensor<8xf32> to tensor<8x8xf32>
  %w = dl.divide %z, %straight : tensor<8x8xf32>
  dl.return %y, %w : tensor<8x8xf32>, tensor<8x8xf32>
}

// Cross entropy, accuracy and the gradient share the largest logit and the sum: one kernel reads the logits and writes their gradient.
// LOSS-LABEL: dl.entry @losses
// LOSS-NEXT: %[[ALL:.*]]:3 = dl.fused(
// LOSS-COUNT-1: dl.reduce max
// LOSS-NOT: dl.reduce max
// LOSS-COUNT-1: dl.exp
// LOSS-NOT: {{dl.exp|dl.fused}}
// LOSS: dl.return %[[ALL]]
dl.entry @losses(%x: tensor<8x100xf32>, %label: tensor<8xi32>, %d: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8x100xf32>) attributes {kind = #program.entry<infer>} {
  %l = dl.softmax_cross_entropy %x, %label axis = 1 : tensor<8x100xf32>, tensor<8xi32>
  %a = dl.accuracy %x, %label axis = 1 : tensor<8x100xf32>, tensor<8xi32>
  %g = dl.softmax_cross_entropy_backward %d, %x, %label axis = 1 : tensor<8xf32>, tensor<8x100xf32>, tensor<8xi32>
  dl.return %l, %a, %g : tensor<8xf32>, tensor<8xf32>, tensor<8x100xf32>
}
