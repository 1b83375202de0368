// RUN: dlc-opt --dl-build-update --split-input-file %s | FileCheck %s
// RUN: dlc-opt --dl-build-update --dl-derive-variables --split-input-file %s | FileCheck %s --check-prefix=DERIVE

// A parameter that entries read in 16 bits alone has a copy, which the update writes beside it; what evaluates reads the copy too, and
// `prepare` makes it where the parameter was written otherwise. A bias has none, and is of another group.
// CHECK: dl.variable @w : tensor<5x3xf32>
// CHECK-NEXT: dl.variable @w.momentum
// CHECK-NEXT: dl.variable @w.bf16 : tensor<5x3xbf16> role<derived>
// CHECK-LABEL: dl.entry @train_step(
// CHECK-DAG: %[[H:.*]] = dl.read @w.bf16 : tensor<5x3xbf16>
// CHECK-DAG: %[[W:.*]] = dl.read @w : tensor<5x3xf32>
// CHECK-NOT: dl.cast %[[W]]
// CHECK: dl.matmul %{{.*}}, %[[H]] transpose_b
// CHECK: %[[NEW:.*]]:3 = dl.multi_tensor(%[[W]], %{{.*}}, %{{.*}}) scalars
// CHECK: %[[MASTER:.*]] = dl.subtract %{{.*}} : tensor<f32>
// CHECK: %[[COPY:.*]] = dl.cast %[[MASTER]] : tensor<f32> to tensor<bf16>
// CHECK: dl.yield %[[MASTER]], %{{.*}}, %[[COPY]] : tensor<f32>, tensor<f32>, tensor<bf16>
// CHECK: dl.assign @w, %[[NEW]]#0
// CHECK: dl.assign @w.bf16, %[[NEW]]#2 : tensor<5x3xbf16>
// CHECK: %{{.*}}:2 = dl.multi_tensor(
// CHECK-LABEL: dl.entry @evaluate
// CHECK-NEXT: %[[H:.*]] = dl.read @w.bf16 : tensor<5x3xbf16>
// CHECK-NEXT: dl.matmul %{{.*}}, %[[H]] transpose_b
// CHECK-LABEL: dl.entry @prepare
// CHECK-NEXT: %[[W:.*]] = dl.read @w
// CHECK-NEXT: %[[H:.*]] = dl.cast %[[W]] : tensor<5x3xf32> to tensor<5x3xbf16>
// CHECK-NEXT: dl.assign @w.bf16, %[[H]]
// One of all entries prepares, and a copy is not derived again.
// DERIVE-NOT: .derived
// DERIVE-COUNT-1: dl.entry @prepare
#sgd = #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64}>
dl.variable @w : tensor<5x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @b : tensor<5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%x: tensor<4x3xbf16>, %dw: tensor<5x3xf32>, %db: tensor<5xf32>)
    -> (tensor<4x5xbf16>, tensor<5x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w},
        tensor<5xf32> {dl.name = "gradient.b", dl.kind = #program.value<gradient>, dl.of = @b})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #sgd>, #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #sgd>]} {
  %w = dl.read @w : tensor<5x3xf32>
  %h = dl.cast %w : tensor<5x3xf32> to tensor<5x3xbf16>
  %y = dl.matmul %x, %h transpose_b : tensor<4x3xbf16>, tensor<5x3xbf16>
  dl.return %y, %dw, %db : tensor<4x5xbf16>, tensor<5x3xf32>, tensor<5xf32>
}
dl.entry @evaluate(%x: tensor<4x3xbf16>) -> (tensor<4x5xbf16>) attributes {kind = #program.entry<evaluate>} {
  %w = dl.read @w : tensor<5x3xf32>
  %h = dl.cast %w : tensor<5x3xf32> to tensor<5x3xbf16>
  %y = dl.matmul %x, %h transpose_b : tensor<4x3xbf16>, tensor<5x3xbf16>
  dl.return %y : tensor<4x5xbf16>
}

// -----

// Where the loss is scaled an update whose gradients are not finite gives what was there, and Adam's number of the step is that of the
// updates. The scale is half as large behind one that is left out, twice as large behind 2,000 in a row.
// CHECK: dl.variable @train.loss_scale.skipped : tensor<i64> role<counter>
// CHECK: dl.variable @train.loss_scale.updates : tensor<i64> role<counter>
// CHECK-LABEL: dl.entry @train(
// CHECK-NOT: dl.kind = #program.value<check>
// CHECK: %[[SCALE:.*]] = dl.read @train.loss_scale
// CHECK: %[[SQUARES:.*]] = dl.reduce sum %{{.*}} axes = [0] : tensor<1xf64>
// CHECK: dl.scalar "step"
// CHECK: dl.multi_tensor(
// CHECK-DAG: dl.subtract %{{.*}}, %{{.*}} : tensor<i64>
// CHECK: %[[GOOD:.*]] = dl.compare le
// CHECK-COUNT-3: dl.select %[[GOOD]], %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: dl.yield
// CHECK: %[[FINITE:.*]] = dl.compare le %[[SQUARES]], %{{.*}} : tensor<f64>
// CHECK: dl.assign @train.loss_scale.skipped
// CHECK: dl.assign @train.loss_scale.updates
// CHECK: dl.assign @train.loss_scale, %{{.*}} : tensor<f32>
#adam = #dl.optimizer<"adam", {learning_rate = 0.001 : f64}>
dl.variable @p : tensor<3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @train.loss_scale : tensor<f32> role<counter> init(#program.init<constant, 65536.0, 0.0>)
dl.entry @train(%dp: tensor<3xf32>) -> (tensor<3xf32> {dl.name = "gradient.p", dl.kind = #program.value<gradient>, dl.of = @p})
    attributes {dl.loss_scale = @train.loss_scale, kind = #program.entry<train>, updates = [
      #dl.update<@p, lr_mult = 1.0, decay_mult = 1.0, #adam>]} {
  dl.return %dp : tensor<3xf32>
}

// A parameter that is named as a counter is none.
// CHECK-LABEL: dl.entry @other(
// CHECK: dl.read @other.loss_scale.skipped_
// CHECK: dl.assign @other.loss_scale.skipped, %{{.*}} : tensor<3xf32>
// CHECK: dl.assign @other.loss_scale.skipped_, %{{.*}} : tensor<i64>
dl.variable @other.loss_scale.skipped : tensor<3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @other(%dp: tensor<3xf32>) -> (tensor<3xf32> {dl.name = "gradient.p", dl.kind = #program.value<gradient>, dl.of = @other.loss_scale.skipped})
    attributes {dl.loss_scale = 8.0, kind = #program.entry<train>, updates = [
      #dl.update<@other.loss_scale.skipped, lr_mult = 1.0, decay_mult = 1.0, #adam>]} {
  dl.return %dp : tensor<3xf32>
}

// -----

// Statistics and states keep elements that an overflow on the way to the loss would make infinite.
// CHECK-LABEL: dl.entry @train_step(
// CHECK-DAG: %[[MEAN:.*]] = dl.read @mean
// CHECK-DAG: %[[H:.*]] = dl.read @h
// CHECK: %[[SIZES:.*]] = dl.abs %arg2 : tensor<3xf32>
// CHECK: %[[FINITE:.*]] = dl.compare le %[[SIZES]], %{{.*}} : tensor<3xf32>
// CHECK: %[[KEPT:.*]] = dl.select %[[FINITE]], %arg2, %[[MEAN]] : tensor<3xf32>
// CHECK: dl.assign @mean, %[[KEPT]]
// CHECK: %[[KEPT:.*]] = dl.select %{{.*}}, %arg3, %[[H]] : tensor<4xf16>
// CHECK: dl.assign @h, %[[KEPT]]
#sgd = #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64}>
dl.variable @w : tensor<3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @mean : tensor<3xf32> role<statistic> init(#program.init<constant, 0.0, 0.0>)
dl.variable @h : tensor<4xf16> role<state> init(#program.init<constant, 0.0, 0.0>)
dl.entry @train_step(%x: tensor<3xf32>, %dw: tensor<3xf32>, %mean: tensor<3xf32>, %h: tensor<4xf16>)
    -> (tensor<3xf32>, tensor<3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {dl.loss_scale = 128.0 : f64, kind = #program.entry<train>, updates = [#dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #sgd>]} {
  dl.assign @mean, %mean : tensor<3xf32>
  dl.assign @h, %h : tensor<4xf16>
  dl.return %x, %dw : tensor<3xf32>, tensor<3xf32>
}

// -----

// A parameter of 16 bits is updated in f32, of which its slots are, and rounded.
// CHECK: dl.variable @w : tensor<3xbf16> role<parameter>
// CHECK-NEXT: dl.variable @w.momentum : tensor<3xf32> role<slot>
// CHECK-LABEL: dl.entry @train_step(
// CHECK: ^bb0(%[[W:.*]]: tensor<bf16>, %[[G:.*]]: tensor<bf16>, %[[M:.*]]: tensor<f32>, %[[RATE:.*]]: tensor<f32>, %[[MOMENTUM:.*]]: tensor<f32>):
// CHECK-DAG: %[[WIDE:.*]] = dl.cast %[[W]] : tensor<bf16> to tensor<f32>
// CHECK-DAG: %[[GRADIENT:.*]] = dl.cast %[[G]] : tensor<bf16> to tensor<f32>
// CHECK: %[[NEXT:.*]] = dl.subtract %[[WIDE]], %{{.*}} : tensor<f32>
// CHECK: %[[ROUNDED:.*]] = dl.cast %[[NEXT]] : tensor<f32> to tensor<bf16>
// CHECK: dl.yield %[[ROUNDED]], %{{.*}} : tensor<bf16>, tensor<f32>
#sgd = #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64}>
dl.variable @w : tensor<3xbf16> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%x: tensor<3xf32>, %dw: tensor<3xbf16>)
    -> (tensor<3xf32>, tensor<3xbf16> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {kind = #program.entry<train>, updates = [#dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #sgd>]} {
  dl.return %x, %dw : tensor<3xf32>, tensor<3xbf16>
}

// -----

// Without masters what is rounded is of 16 bits itself, and what an update makes of it is rounded by chance: keys are told apart by the
// variable, the step and the seed, elements by their number. What reads it otherwise widens it; its average is f32; a weight of two types
// keeps its master, and what no entry rounds is as it was.
// CHECK: dl.variable @w : tensor<5x3xbf16> role<parameter>
// CHECK-NEXT: dl.variable @w.ema : tensor<5x3xf32> role<slot> of(@w) init(<copy
// CHECK-NEXT: dl.variable @b : tensor<5xf32>
// CHECK: dl.variable @two : tensor<5x3xf32>
// CHECK-DAG: dl.variable @two.bf16
// CHECK-DAG: dl.variable @two.f16
// CHECK-LABEL: dl.entry @train_step(
// CHECK-NOT: dl.without_masters
// CHECK: %[[W:.*]] = dl.read @w : tensor<5x3xbf16>
// CHECK: %[[WIDE:.*]] = dl.cast %[[W]] : tensor<5x3xbf16> to tensor<5x3xf32>
// CHECK: dl.relu %[[WIDE]]
// CHECK: dl.matmul %{{.*}}, %[[W]] transpose_b
// CHECK: %[[NAME:.*]] = dl.constant dense<{{-?[0-9]+}}> : tensor<1xi32>
// CHECK: %[[STEP:.*]] = dl.scalar "random.step"
// CHECK: %[[LOW:.*]] = dl.scalar "random.seed_low"
// CHECK: %[[HIGH:.*]] = dl.scalar "random.seed_high"
// CHECK: %[[NEW:.*]]:2 = dl.multi_tensor(%[[W]], %{{.*}}, %{{.*}}) each(%[[NAME]]) scalars(%{{.*}}, %{{.*}}, %[[STEP]], %[[LOW]], %[[HIGH]]) {numbered, streams = 3 : i64}
// CHECK-NEXT: ^bb0(%[[P:.*]]: tensor<bf16>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>, %[[VARIABLE:.*]]: tensor<i32>, %{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>, %[[S:.*]]: tensor<i32>, %[[L:.*]]: tensor<i32>, %[[H:.*]]: tensor<i32>, %[[NUMBER:.*]]: tensor<i32>):
// CHECK: %[[NEXT:.*]] = dl.subtract %{{.*}} : tensor<f32>
// CHECK: %[[KEY:.*]] = dl.random bits %{{.*}}, %{{.*}}, %[[VARIABLE]], %[[S]], %[[L]], %[[H]] path =
// CHECK: %[[ROUNDED:.*]] = dl.stochastic_round %[[NEXT]], %[[NUMBER]], %[[KEY]] : tensor<f32>, tensor<i32> to tensor<bf16>
// CHECK: dl.yield %[[ROUNDED]], %{{.*}} : tensor<bf16>, tensor<f32>
// CHECK: dl.assign @w, %[[NEW]]#0 : tensor<5x3xbf16>
// CHECK: dl.multi_tensor({{.*}} {streams = 3 : i64}
// CHECK: dl.multi_tensor({{.*}} {streams = 3 : i64}
// CHECK-LABEL: dl.entry @evaluate
// CHECK: %[[AVERAGE:.*]] = dl.read @w.ema : tensor<5x3xf32>
// CHECK: %[[H:.*]] = dl.cast %[[AVERAGE]] : tensor<5x3xf32> to tensor<5x3xbf16>
// CHECK: dl.matmul %{{.*}}, %[[H]] transpose_b
#plain = #dl.optimizer<"sgd", {learning_rate = 0.01 : f64}>
dl.variable @w : tensor<5x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @b : tensor<5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @two : tensor<5x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @train_step(%x: tensor<4x3xbf16>, %z: tensor<4x3xf16>, %dw: tensor<5x3xf32>, %db: tensor<5xf32>)
    -> (tensor<4x5xbf16>, tensor<4x5xbf16>, tensor<4x5xf16>, tensor<5x3xf32>,
        tensor<5x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w},
        tensor<5x3xf32> {dl.name = "gradient.two", dl.kind = #program.value<gradient>, dl.of = @two},
        tensor<5xf32> {dl.name = "gradient.b", dl.kind = #program.value<gradient>, dl.of = @b})
    attributes {dl.without_masters, ema = 0.9 : f64, kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #plain>, #dl.update<@two, lr_mult = 1.0, decay_mult = 1.0, #plain>,
      #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #plain>]} {
  %w = dl.read @w : tensor<5x3xf32>
  %two = dl.read @two : tensor<5x3xf32>
  %h = dl.cast %w : tensor<5x3xf32> to tensor<5x3xbf16>
  %r = dl.relu %w : tensor<5x3xf32>
  %y = dl.matmul %x, %h transpose_b : tensor<4x3xbf16>, tensor<5x3xbf16>
  %t = dl.cast %two : tensor<5x3xf32> to tensor<5x3xbf16>
  %u = dl.cast %two : tensor<5x3xf32> to tensor<5x3xf16>
  %v = dl.matmul %x, %t transpose_b : tensor<4x3xbf16>, tensor<5x3xbf16>
  %p = dl.matmul %z, %u transpose_b : tensor<4x3xf16>, tensor<5x3xf16>
  dl.return %y, %v, %p, %r, %dw, %dw, %db
      : tensor<4x5xbf16>, tensor<4x5xbf16>, tensor<4x5xf16>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5xf32>
}
dl.entry @evaluate(%x: tensor<4x3xbf16>) -> (tensor<4x5xbf16>) attributes {kind = #program.entry<evaluate>} {
  %w = dl.read @w : tensor<5x3xf32>
  %h = dl.cast %w : tensor<5x3xf32> to tensor<5x3xbf16>
  %y = dl.matmul %x, %h transpose_b : tensor<4x3xbf16>, tensor<5x3xbf16>
  dl.return %y : tensor<4x5xbf16>
}
