// RUN: dlc-opt "--dl-join=target=cuda:simt patterns=product-gradients" %s | FileCheck %s

// A linear layer's backward pass: the sum of dy's rows joins the product that sums over the same rows. The mask of a ReLU stays
// with its product, and so do sums that no product reads along its rows.
// CHECK-LABEL: dl.entry @layers
// CHECK: %[[Y:.*]] = dl.fused(%[[X:.*]], %{{.*}}, %{{.*}}) : (tensor<6x5xf32>, tensor<200x5xf32>, tensor<200xf32>) -> tensor<6x200xf32>
// CHECK: %[[DX:.*]] = dl.fused(%[[DY:.*]], %{{.*}}, %[[Y]])
// CHECK: dl.matmul
// CHECK: dl.compare gt
// CHECK: %[[DB:.*]] = dl.fused(%[[DX]])
// CHECK: %[[DW:.*]]:2 = dl.fused(%[[DY]], %[[Y]])
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<6x3xf32>,
// CHECK-NEXT: %[[C:.*]] = dl.matmul %[[A]], %{{.*}} transpose_a
// CHECK-NEXT: %[[D:.*]] = dl.reduce sum %[[A]] axes = [0]
// CHECK-NEXT: dl.yield %[[C]], %[[D]]
// CHECK: dl.return %[[DX]], %[[DB]], %[[DW]]#0, %[[DW]]#1
dl.entry @layers(%x: tensor<6x5xf32>, %w: tensor<200x5xf32>, %b: tensor<200xf32>, %v: tensor<3x200xf32>, %dy: tensor<6x3xf32>)
    -> (tensor<6x200xf32>, tensor<200xf32>, tensor<3x200xf32>, tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  %y = dl.fused(%x, %w, %b) : (tensor<6x5xf32>, tensor<200x5xf32>, tensor<200xf32>) -> tensor<6x200xf32> {
  ^bb0(%0: tensor<6x5xf32>, %1: tensor<200x5xf32>, %2: tensor<200xf32>):
    %3 = dl.matmul %0, %1 transpose_b : tensor<6x5xf32>, tensor<200x5xf32>
    %4 = dl.broadcast %2 dims = [1] : tensor<200xf32> to tensor<6x200xf32>
    %5 = dl.add %3, %4 : tensor<6x200xf32>
    %6 = dl.relu %5 : tensor<6x200xf32>
    dl.yield %6 : tensor<6x200xf32>
  }
  %db2 = dl.fused(%dy) : (tensor<6x3xf32>) -> tensor<3xf32> {
  ^bb0(%0: tensor<6x3xf32>):
    %1 = dl.reduce sum %0 axes = [0] : tensor<6x3xf32>
    dl.yield %1 : tensor<3xf32>
  }
  %dx = dl.fused(%dy, %v, %y) : (tensor<6x3xf32>, tensor<3x200xf32>, tensor<6x200xf32>) -> tensor<6x200xf32> {
  ^bb0(%0: tensor<6x3xf32>, %1: tensor<3x200xf32>, %2: tensor<6x200xf32>):
    %3 = dl.matmul %0, %1 : tensor<6x3xf32>, tensor<3x200xf32>
    %4 = dl.constant dense<0.0> : tensor<6x200xf32>
    %5 = dl.compare gt %2, %4 : tensor<6x200xf32>
    %6 = dl.select %5, %3, %4 : tensor<6x200xf32>
    dl.yield %6 : tensor<6x200xf32>
  }
  %db1 = dl.fused(%dx) : (tensor<6x200xf32>) -> tensor<200xf32> {
  ^bb0(%0: tensor<6x200xf32>):
    %1 = dl.reduce sum %0 axes = [0] : tensor<6x200xf32>
    dl.yield %1 : tensor<200xf32>
  }
  %dw = dl.fused(%dy, %y) : (tensor<6x3xf32>, tensor<6x200xf32>) -> tensor<3x200xf32> {
  ^bb0(%0: tensor<6x3xf32>, %1: tensor<6x200xf32>):
    %2 = dl.matmul %0, %1 transpose_a : tensor<6x3xf32>, tensor<6x200xf32>
    dl.yield %2 : tensor<3x200xf32>
  }
  dl.return %dx, %db1, %dw, %db2 : tensor<6x200xf32>, tensor<200xf32>, tensor<3x200xf32>, tensor<3xf32>
}

// The other way to store a weight: dy is the second operand of its gradient's product. What reads the sum stands behind it then.
// CHECK-LABEL: dl.entry @other_storage
// CHECK: %[[DW:.*]]:2 = dl.fused
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<6x5xf32>, %[[B:.*]]: tensor<6x3xf32>):
// CHECK-NEXT: dl.matmul %{{.*}}, %[[B]] transpose_a
// CHECK-NEXT: dl.reduce sum %[[B]] axes = [0]
// CHECK: dl.fused(%[[DW]]#1)
// CHECK: dl.exp
dl.entry @other_storage(%x: tensor<6x5xf32>, %dy: tensor<6x3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) attributes {kind = #program.entry<infer>} {
  %db = dl.fused(%dy) : (tensor<6x3xf32>) -> tensor<3xf32> {
  ^bb0(%0: tensor<6x3xf32>):
    %1 = dl.reduce sum %0 axes = [0] : tensor<6x3xf32>
    dl.yield %1 : tensor<3xf32>
  }
  %e = dl.fused(%db) : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%0: tensor<3xf32>):
    %1 = dl.exp %0 : tensor<3xf32>
    dl.yield %1 : tensor<3xf32>
  }
  %dw = dl.fused(%x, %dy) : (tensor<6x5xf32>, tensor<6x3xf32>) -> tensor<5x3xf32> {
  ^bb0(%0: tensor<6x5xf32>, %1: tensor<6x3xf32>):
    %2 = dl.matmul %0, %1 transpose_a : tensor<6x5xf32>, tensor<6x3xf32>
    dl.yield %2 : tensor<5x3xf32>
  }
  dl.return %e, %dw : tensor<3xf32>, tensor<5x3xf32>
}

// Sums that stay apart: of columns, behind which something follows, of an operand that the product does not sum over, of other
// types, and one that the product itself waits for.
// CHECK-LABEL: dl.entry @other_sums
// CHECK-NOT: dl.yield %{{.*}}, %
// CHECK: dl.return
dl.entry @other_sums(%x: tensor<4x4xf32>, %dy: tensor<4x4xf32>, %xd: tensor<4x4xf64>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf64>, tensor<4x4xf64>, tensor<4x4xf32>)
    attributes {kind = #program.entry<infer>} {
  %columns = dl.fused(%dy) : (tensor<4x4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = dl.reduce sum %0 axes = [1] : tensor<4x4xf32>
    dl.yield %1 : tensor<4xf32>
  }
  %scaled = dl.fused(%dy) : (tensor<4x4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = dl.reduce sum %0 axes = [0] : tensor<4x4xf32>
    %2 = dl.exp %1 : tensor<4xf32>
    dl.yield %2 : tensor<4xf32>
  }
  %dw = dl.fused(%dy) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = dl.matmul %0, %0 transpose_a : tensor<4x4xf32>, tensor<4x4xf32>
    dl.yield %1 : tensor<4x4xf32>
  }
  %sums = dl.fused(%x) : (tensor<4x4xf32>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = dl.reduce sum %0 axes = [0] : tensor<4x4xf32>
    dl.yield %1 : tensor<4xf32>
  }
  %repeated = dl.fused(%sums) : (tensor<4xf32>) -> tensor<4x4xf32> {
  ^bb0(%0: tensor<4xf32>):
    %1 = dl.broadcast %0 dims = [1] : tensor<4xf32> to tensor<4x4xf32>
    dl.yield %1 : tensor<4x4xf32>
  }
  // Sums over the rows of the first operand's transpose, over the columns of the second.
  %along = dl.fused(%dy, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%0: tensor<4x4xf32>, %1: tensor<4x4xf32>):
    %2 = dl.matmul %0, %1 transpose_b : tensor<4x4xf32>, tensor<4x4xf32>
    dl.yield %2 : tensor<4x4xf32>
  }
  %doubles = dl.fused(%xd) : (tensor<4x4xf64>) -> tensor<4xf64> {
  ^bb0(%0: tensor<4x4xf64>):
    %1 = dl.reduce sum %0 axes = [0] : tensor<4x4xf64>
    dl.yield %1 : tensor<4xf64>
  }
  %dwd = dl.fused(%xd) : (tensor<4x4xf64>) -> tensor<4x4xf64> {
  ^bb0(%0: tensor<4x4xf64>):
    %1 = dl.matmul %0, %0 transpose_a : tensor<4x4xf64>, tensor<4x4xf64>
    dl.yield %1 : tensor<4x4xf64>
  }
  %waits = dl.fused(%repeated, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%0: tensor<4x4xf32>, %1: tensor<4x4xf32>):
    %2 = dl.matmul %1, %0 transpose_a : tensor<4x4xf32>, tensor<4x4xf32>
    dl.yield %2 : tensor<4x4xf32>
  }
  dl.return %columns, %scaled, %dw, %along, %waits, %doubles, %dwd, %repeated : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>,
      tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf64>, tensor<4x4xf64>, tensor<4x4xf32>
}

// Nor are empty matrices joined: no library computes them.
// CHECK-LABEL: dl.entry @empty
// CHECK-NOT: dl.yield %{{.*}}, %
// CHECK: dl.return
dl.entry @empty(%x: tensor<0x5xf32>, %dy: tensor<0x3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) attributes {kind = #program.entry<infer>} {
  %db = dl.fused(%dy) : (tensor<0x3xf32>) -> tensor<3xf32> {
  ^bb0(%0: tensor<0x3xf32>):
    %1 = dl.reduce sum %0 axes = [0] : tensor<0x3xf32>
    dl.yield %1 : tensor<3xf32>
  }
  %dw = dl.fused(%x, %dy) : (tensor<0x5xf32>, tensor<0x3xf32>) -> tensor<5x3xf32> {
  ^bb0(%0: tensor<0x5xf32>, %1: tensor<0x3xf32>):
    %2 = dl.matmul %0, %1 transpose_a : tensor<0x5xf32>, tensor<0x3xf32>
    dl.yield %2 : tensor<5x3xf32>
  }
  dl.return %db, %dw : tensor<3xf32>, tensor<5x3xf32>
}
