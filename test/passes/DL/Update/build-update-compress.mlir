// RUN: dlc-opt --dl-distribute --dl-build-update="compress=bf16" --split-input-file %s | FileCheck %s
// RUN: dlc-opt --dl-distribute --dl-build-update="keep-weight-gradients compress=bf16" --split-input-file %s | FileCheck %s --check-prefix=KEEP
// RUN: dlc-opt --dl-distribute --dl-build-update --split-input-file %s | FileCheck %s --check-prefix=PLAIN
// RUN: not dlc-opt --dl-distribute --dl-build-update="compress=i8" --split-input-file %s 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: dlc-opt --dl-distribute --dl-build-update="compress=1bit" --split-input-file %s | FileCheck %s --check-prefix=BIT
// RUN: dlc-opt --dl-distribute --dl-build-update="compress=top-k" --split-input-file %s | FileCheck %s --check-prefix=TOP
// WRONG: error: expected bf16, f16, 1bit or top-k to compress gradients, found 'i8'

// PLAIN: tensor<64x64xf32>
// PLAIN-NOT: to tensor<64x64xbf16>

// A gradient of at least 4,096 elements is summed in bf16; the update widens it. Smaller ones are a group of their own, with the same scalars.
// What the entry returns has the type of the gradient.
// CHECK-LABEL: dl.entry @train_step(
// CHECK-SAME: %[[DB:.*]]: tensor<64xf32>, %[[DW:.*]]: tensor<64x64xf32>)
// CHECK: %[[NARROW:.*]] = dl.cast %[[DW]] : tensor<64x64xf32> to tensor<64x64xbf16>
// CHECK-NEXT: %[[LARGE:.*]] = dl.all_reduce sum %[[NARROW]] channel 0 {of = [@w]} : tensor<64x64xbf16>
// CHECK-NEXT: %[[SMALL:.*]] = dl.all_reduce sum %[[DB]] channel 0 {of = [@b]} : tensor<64xf32>
// CHECK: dl.multi_tensor(%{{.*}}, %[[LARGE]]) scalars
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: tensor<f32>, %[[G:[a-z0-9]+]]: tensor<bf16>
// CHECK-NEXT: dl.cast %[[G]] : tensor<bf16> to tensor<f32>
// CHECK: dl.multi_tensor(%{{.*}}, %[[SMALL]]) scalars
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: tensor<f32>, %{{[a-z0-9]+}}: tensor<f32>
// CHECK: dl.return{{$}}
// Compressed to bits or to the largest elements it stays f32: the runtime packs it.
// BIT-LABEL: dl.entry @train_step(
// BIT-SAME: %[[DB:.*]]: tensor<64xf32>, %[[DW:.*]]: tensor<64x64xf32>)
// BIT-NOT: dl.cast
// BIT: dl.all_reduce sum_one_bit %[[DW]] channel 0 {of = [@w]} : tensor<64x64xf32>
// BIT-NEXT: dl.all_reduce sum %[[DB]] channel 0 {of = [@b]} : tensor<64xf32>
// TOP: dl.all_reduce sum_top_k %{{.*}} channel 0 {of = [@w]} : tensor<64x64xf32>
// KEEP: %[[LARGE:.*]] = dl.all_reduce sum %{{.*}} : tensor<64x64xbf16>
// KEEP-NEXT: %[[WIDE:.*]] = dl.cast %[[LARGE]] : tensor<64x64xbf16> to tensor<64x64xf32>
// KEEP: dl.return %{{.*}}, %[[WIDE]] : tensor<64xf32>, tensor<64x64xf32>
module attributes {program.data_parallel} {
dl.variable @b : tensor<64xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @w : tensor<64x64xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%db: tensor<64xf32>, %dw: tensor<64x64xf32>)
    -> (tensor<64xf32> {dl.name = "gradient.b", dl.kind = #program.value<gradient>, dl.of = @b},
        tensor<64x64xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64}>>,
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64}>>]} {
  dl.return %db, %dw : tensor<64xf32>, tensor<64x64xf32>
}
}

// -----

// What is as narrow already stays, and so does a module for one rank.
// CHECK-LABEL: dl.entry @train_step(
// CHECK-NOT: dl.cast
// CHECK: dl.all_reduce sum %{{.*}} : tensor<64x64xbf16>
// Only f32 is compressed.
// BIT-LABEL: dl.entry @train_step(
// BIT: dl.all_reduce sum %{{.*}} : tensor<64x64xbf16>
module attributes {program.data_parallel} {
dl.variable @w : tensor<64x64xbf16> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%dw: tensor<64x64xbf16>)
    -> (tensor<64x64xbf16> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64}>>]} {
  dl.return %dw : tensor<64x64xbf16>
}
}
