// RUN: dlc-opt --dl-build-update %s | FileCheck %s
// RUN: dlc-opt --dl-build-update --dl-sparsify-updates %s | FileCheck %s --check-prefix=DENSE --implicit-check-not=dl.update_rows

// What muon asks of whole matrices is computed between two multi_tensors: the momentum over its norm, then products with the smaller Gram
// matrix of each, then the update. A filter is a matrix of its first axis by all others. What has one axis has a rule, and an op, of its own.
dl.variable @w : tensor<4x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @k : tensor<4x3x2x2xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @b : tensor<4xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @table : tensor<100x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)

// CHECK-LABEL: dl.entry @train_step
// CHECK-SAME: %[[DW:.*]]: tensor<4x3xf32>, %[[DK:.*]]: tensor<4x3x2x2xf32>, %[[DB:.*]]: tensor<4xf32>
// CHECK-DAG: %[[MW:.*]] = dl.read @w.momentum
// CHECK-DAG: %[[MK:.*]] = dl.read @k.momentum
// CHECK: %[[SQUARES:.*]] = dl.multi_tensor(%[[DW]], %[[DK]], %[[MW]], %[[MK]]) {{.*}}sums = 1
// CHECK: %[[UNIT:.*]]:2 = dl.multi_tensor(%[[DW]], %[[DK]], %[[MW]], %[[MK]]) each(%[[SQUARES]])
// A tall one: the products of its columns.
// CHECK: %[[GRAM:.*]] = dl.matmul %[[UNIT]]#0, %[[UNIT]]#0 transpose_a : tensor<4x3xf32>, tensor<4x3xf32>
// CHECK: dl.matmul %[[GRAM]], %[[GRAM]] : tensor<3x3xf32>
// CHECK: dl.matmul %[[UNIT]]#0, %{{.*}} : tensor<4x3xf32>, tensor<3x3xf32>
// CHECK-COUNT-12: dl.matmul {{.*}} tensor<{{[34]}}x3xf32>
// Its steps are longer: the root of 4 / 3.
// CHECK: dl.constant dense<1.154
// CHECK: %[[OW:.*]] = dl.multiply %{{.*}} : tensor<4x3xf32>
// CHECK: %[[FLAT:.*]] = dl.reshape %[[UNIT]]#1 : tensor<4x3x2x2xf32> to tensor<4x12xf32>
// CHECK: dl.matmul %[[FLAT]], %[[FLAT]] transpose_b
// CHECK: %[[OK:.*]] = dl.reshape %{{.*}} : tensor<4x12xf32> to tensor<4x3x2x2xf32>
// CHECK: %[[NEW:.*]]:4 = dl.multi_tensor(%{{.*}}, %{{.*}}, %[[DW]], %[[DK]], %[[MW]], %[[MK]], %[[OW]], %[[OK]])
// CHECK: dl.assign @w, %[[NEW]]#0
// CHECK-NEXT: dl.assign @k, %[[NEW]]#1
// CHECK-NEXT: dl.assign @w.momentum, %[[NEW]]#2
// CHECK: dl.multi_tensor(%{{.*}}, %[[DB]], %{{.*}}, %{{.*}}) scalars
// CHECK: dl.assign @b.square_average
dl.entry @train_step(%dw: tensor<4x3xf32>, %dk: tensor<4x3x2x2xf32>, %db: tensor<4xf32>)
    -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w},
        tensor<4x3x2x2xf32> {dl.name = "gradient.k", dl.kind = #program.value<gradient>, dl.of = @k},
        tensor<4xf32> {dl.name = "gradient.b", dl.kind = #program.value<gradient>, dl.of = @b})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"muon", {}>>,
      #dl.update<@k, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"muon", {}>>,
      #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"muon", {}>>]} {
  dl.return %dw, %dk, %db : tensor<4x3xf32>, tensor<4x3x2x2xf32>, tensor<4xf32>
}

// Without momentum there is no slot, and a table that few rows have a gradient of is a matrix as any other.
// DENSE-LABEL: dl.entry @lookup
// DENSE: dl.scatter_add
// DENSE: dl.matmul
// CHECK-LABEL: dl.entry @lookup
// CHECK-NOT: momentum
// CHECK: dl.return
dl.entry @lookup(%dy: tensor<2x3xf32>, %i: tensor<2xi32>)
    -> (tensor<100x3xf32> {dl.name = "gradient.table", dl.kind = #program.value<gradient>, dl.of = @table})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@table, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"muon", {momentum = 0.0 : f64, weight_decay = 0.0 : f64}>>]} {
  %0 = dl.scatter_add %dy, %i axis = 0 : tensor<2x3xf32>, tensor<2xi32> to tensor<100x3xf32>
  dl.return %0 : tensor<100x3xf32>
}
