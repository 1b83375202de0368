// RUN: dlc-opt --dl-derive-variables %s | FileCheck %s

dl.variable @w : tensor<4xf32> role<parameter> init(#program.init<uniform, -0.5, 0.5>)

// A derived value that another one is computed from: both are variables, and `prepare` reads neither of them.
// CHECK-LABEL: dl.entry @infer_n1
// CHECK-DAG: dl.read @w.derived :
// CHECK-DAG: dl.read @w.derived_0 :
// CHECK-NOT: dl.exp
// CHECK: dl.return
dl.entry @infer_n1(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  %w = dl.read @w : tensor<4xf32>
  %s = dl.exp %w : tensor<4xf32>
  %r = dl.exp %s : tensor<4xf32>
  %y = dl.multiply %x, %s : tensor<4xf32>
  %z = dl.multiply %y, %r : tensor<4xf32>
  dl.return %z : tensor<4xf32>
}

// CHECK-LABEL: dl.entry @prepare()
// CHECK: %[[W:.*]] = dl.read @w :
// CHECK: %[[S:.*]] = dl.exp %[[W]]
// CHECK: dl.exp %[[S]]
// CHECK-NOT: dl.read
// CHECK: dl.return
