// RUN: dlc-opt --dl-derive-variables %s | FileCheck %s

dl.variable @half : tensor<4xbf16> role<parameter> init(#program.init<constant, 1.0, 0.0>)
dl.variable @w : tensor<4x6xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)
dl.variable @s : tensor<4xf32> role<parameter> init(#program.init<constant, 1.0, 0.0>)
dl.variable @h : tensor<4xf32> role<state> init(#program.init<constant, 0.0, 0.0>)

// CHECK: dl.variable @w.derived : tensor<4x6xf32> role<derived>
// CHECK-NOT: dl.variable

// The scaled weight is read; nothing is left of how it is made.
// CHECK-LABEL: dl.entry @infer_n1
// CHECK-NEXT: %[[W:.*]] = dl.read @w.derived : tensor<4x6xf32>
// CHECK-NEXT: %[[Y:.*]] = dl.matmul %{{.*}}, %[[W]] transpose_b
// CHECK-NEXT: dl.return %[[Y]]
dl.entry @infer_n1(%x: tensor<1x6xf32>) -> (tensor<1x4xf32>) attributes {kind = #program.entry<infer>} {
  %w = dl.read @w : tensor<4x6xf32>
  %s = dl.read @s : tensor<4xf32>
  %b = dl.broadcast %s dims = [0] : tensor<4xf32> to tensor<4x6xf32>
  %v = dl.multiply %w, %b : tensor<4x6xf32>
  %y = dl.matmul %x, %v transpose_b : tensor<1x6xf32>, tensor<4x6xf32>
  dl.return %y : tensor<1x4xf32>
}

// The same in another entry is the same variable. A broadcast alone stays: it is larger than what it reads.
// CHECK-LABEL: dl.entry @infer_n8
// CHECK-DAG: dl.read @w.derived
// CHECK-DAG: %[[S:.*]] = dl.read @s
// CHECK: dl.broadcast %[[S]]
dl.entry @infer_n8(%x: tensor<8x6xf32>) -> (tensor<8x4xf32>) attributes {kind = #program.entry<infer>} {
  %w = dl.read @w : tensor<4x6xf32>
  %s = dl.read @s : tensor<4xf32>
  %b = dl.broadcast %s dims = [0] : tensor<4xf32> to tensor<4x6xf32>
  %v = dl.multiply %w, %b : tensor<4x6xf32>
  %y = dl.matmul %x, %v transpose_b : tensor<8x6xf32>, tensor<4x6xf32>
  %c = dl.broadcast %s dims = [1] : tensor<4xf32> to tensor<8x4xf32>
  %z = dl.add %y, %c : tensor<8x4xf32>
  dl.return %z : tensor<8x4xf32>
}

// A variable that the entry changes is another one in each run.
// CHECK-LABEL: dl.entry @stepping
// CHECK: dl.read @h
// CHECK: dl.exp
dl.entry @stepping(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  %h = dl.read @h : tensor<4xf32>
  %e = dl.exp %h : tensor<4xf32>
  %y = dl.multiply %x, %e : tensor<4xf32>
  dl.assign @h, %y : tensor<4xf32>
  dl.return %y : tensor<4xf32>
}

// A weight of 16 bits is widened where it is read.
// CHECK-LABEL: dl.entry @widened
// CHECK: %[[H:.*]] = dl.read @half
// CHECK: %[[F:.*]] = dl.cast %[[H]]
// CHECK: dl.multiply %{{.*}}, %[[F]]
dl.entry @widened(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  %h = dl.read @half : tensor<4xbf16>
  %f = dl.cast %h : tensor<4xbf16> to tensor<4xf32>
  %y = dl.multiply %x, %f : tensor<4xf32>
  dl.return %y : tensor<4xf32>
}

// Steps that train change variables.
// CHECK-LABEL: dl.entry @train_step
// CHECK: dl.read @s
// CHECK: dl.exp
dl.entry @train_step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {kind = #program.entry<train>} {
  %s = dl.read @s : tensor<4xf32>
  %e = dl.exp %s : tensor<4xf32>
  %y = dl.multiply %x, %e : tensor<4xf32>
  dl.return %y : tensor<4xf32>
}

// CHECK-LABEL: dl.entry @prepare() attributes {kind = #program.entry<prepare>}
// CHECK-DAG: %[[W:.*]] = dl.read @w
// CHECK-DAG: %[[S:.*]] = dl.read @s
// CHECK: %[[B:.*]] = dl.broadcast %[[S]] dims = [0]
// CHECK: %[[V:.*]] = dl.multiply %[[W]], %[[B]]
// CHECK-NEXT: dl.assign @w.derived, %[[V]]
// CHECK-NOT: dl.assign
// CHECK: dl.return
