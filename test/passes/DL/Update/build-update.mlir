// RUN: dlc-opt --dl-build-update=keep-weight-gradients %s | FileCheck %s
// RUN: dlc-opt --dl-build-update %s | FileCheck %s --check-prefix=ALONE --implicit-check-not=gradient.w --implicit-check-not=gradient.b

dl.variable @w : tensor<4x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @b : tensor<4xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)

// Slots stand behind their parameters; each entry that updates a parameter has its own.
// CHECK: dl.variable @w : tensor<4x3xf32> role<parameter>
// CHECK-DAG: dl.variable @w.momentum : tensor<4x3xf32> role<slot> of(@w) init(<constant, 0.000000e+00, 0.000000e+00>)
// CHECK-DAG: dl.variable @w.momentum_critic : tensor<4x3xf32> role<slot> of(@w)
// CHECK: dl.variable @b :

// Without momentum and decay there is no slot: p - lr * g, one multi_tensor for both parameters. The gradients stay
// results if that is asked for, and `updates` is consumed.
// ALONE-LABEL: dl.entry @plain
// ALONE: dl.return{{$}}
// ALONE-LABEL: dl.entry @by_global_norm
// ALONE: dl.return %{{.*}}, %{{.*}} : tensor<f64>, tensor<f64>
// CHECK-LABEL: dl.entry @plain
// CHECK-NOT: updates
// CHECK-DAG: %[[W:.*]] = dl.read @w
// CHECK-DAG: %[[B:.*]] = dl.read @b
// CHECK-DAG: %[[LR:.*]] = dl.scalar "plain.optimizer.learning_rate", 1.000000e-02 scheduled
// CHECK-NOT: weight_decay
// CHECK: %[[NEW:.*]]:2 = dl.multi_tensor(%[[W]], %[[B]], %[[DW:.*]], %[[DB:.*]]) scalars(%[[LR]])
// CHECK-SAME: streams = 2
// CHECK-NEXT: ^bb0(%[[P:.*]]: tensor<f32>, %[[G:.*]]: tensor<f32>, %[[L:.*]]: tensor<f32>):
// CHECK-NEXT: %[[STEP:.*]] = dl.multiply %[[L]], %[[G]]
// CHECK-NEXT: %[[Q:.*]] = dl.subtract %[[P]], %[[STEP]]
// CHECK-NEXT: dl.yield %[[Q]]
// CHECK: dl.assign @w, %[[NEW]]#0
// CHECK-NEXT: dl.assign @b, %[[NEW]]#1
// CHECK-NEXT: dl.return %[[DW]], %[[DB]]
dl.entry @plain(%dw: tensor<4x3xf32>, %db: tensor<4xf32>)
    -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w},
        tensor<4xf32> {dl.name = "gradient.b", dl.kind = #program.value<gradient>, dl.of = @b})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64}>>,
      #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64}>>]} {
  dl.return %dw, %db : tensor<4x3xf32>, tensor<4xf32>
}

// Momentum with dampening, which the first step leaves out. Multipliers that are not 1 scale rate and decay.
// CHECK-LABEL: dl.entry @train_step
// CHECK: %[[V:.*]] = dl.read @w.momentum
// CHECK-DAG: %[[MOMENTUM:.*]] = dl.scalar "optimizer.momentum", 9.000000e-01 :
// CHECK-DAG: %[[DAMPENING:.*]] = dl.scalar "optimizer.dampening", 1.000000e-01 :
// CHECK-DAG: %[[STEP:.*]] = dl.scalar "step", 0.000000e+00 : tensor<i64>
// CHECK-DAG: %[[TWO:.*]] = dl.constant dense<2.000000e+00> : tensor<1xf32>
// CHECK-DAG: %[[NONE:.*]] = dl.constant dense<0.000000e+00> : tensor<1xf32>
// CHECK: %[[NEW:.*]]:2 = dl.multi_tensor(%{{.*}}, %{{.*}}, %[[V]]) each(%[[TWO]], %[[NONE]]) scalars(%{{.*}}, %{{.*}}, %[[DAMPENING]], %[[STEP]], %[[MOMENTUM]])
// CHECK-SAME: streams = 3
// CHECK-NEXT: ^bb0(%[[P:.*]]: tensor<f32>, %[[G:.*]]: tensor<f32>, %[[V:.*]]: tensor<f32>, %[[LRM:.*]]: tensor<f32>, %[[DM:.*]]: tensor<f32>, %[[LR:.*]]: tensor<f32>, %[[D:.*]]: tensor<f32>, %[[DAMP:.*]]: tensor<f32>, %[[S:.*]]: tensor<i64>, %[[M:.*]]: tensor<f32>):
// CHECK-NEXT: %[[LR2:.*]] = dl.multiply %[[LR]], %[[LRM]]
// CHECK-NEXT: %[[D2:.*]] = dl.multiply %[[D]], %[[DM]]
// CHECK: %[[G2:.*]] = dl.add %[[G]]
// CHECK: %[[KEEP:.*]] = dl.subtract %{{.*}}, %[[DAMP]]
// CHECK: %[[DAMPED:.*]] = dl.multiply %[[KEEP]], %[[G2]]
// CHECK: %[[FIRST:.*]] = dl.compare eq %[[S]]
// CHECK: %[[ADDED:.*]] = dl.select %[[FIRST]], %[[G2]], %[[DAMPED]]
// CHECK: %[[MV:.*]] = dl.multiply %[[M]], %[[V]]
// CHECK: %[[V2:.*]] = dl.add %[[MV]], %[[ADDED]]
// CHECK: %[[STEP:.*]] = dl.multiply %[[LR2]], %[[V2]]
// CHECK: %[[P2:.*]] = dl.subtract %[[P]], %[[STEP]]
// CHECK: dl.yield %[[P2]], %[[V2]]
// CHECK: dl.assign @w, %[[NEW]]#0
// CHECK-NEXT: dl.assign @w.momentum, %[[NEW]]#1
dl.entry @train_step(%dw: tensor<4x3xf32>) -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 2.0, decay_mult = 0.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64, dampening = 0.1 : f64, weight_decay = 0.1 : f64}>>]} {
  dl.return %dw : tensor<4x3xf32>
}

// Nesterov looks one step ahead. A multiplier of the rate alone is the only one.
// CHECK-LABEL: dl.entry @nesterov
// CHECK: %[[TWO:.*]] = dl.constant dense<2.000000e+00> : tensor<1xf32>
// CHECK: dl.multi_tensor({{.*}}) each(%[[TWO]])
// CHECK-SAME: streams = 3
// CHECK-NEXT: ^bb0(%[[P:.*]]: tensor<f32>, %[[G:.*]]: tensor<f32>, %[[V:.*]]: tensor<f32>, %[[LRM:.*]]: tensor<f32>, %[[LR:.*]]: tensor<f32>, %[[M:.*]]: tensor<f32>):
// CHECK-NEXT: %[[LR2:.*]] = dl.multiply %[[LR]], %[[LRM]]
// CHECK: %[[V2:.*]] = dl.add %{{.*}}, %[[G]]
// CHECK: %[[MV2:.*]] = dl.multiply %[[M]], %[[V2]]
// CHECK: %[[LOOK:.*]] = dl.add %[[G]], %[[MV2]]
// CHECK: %[[STEP:.*]] = dl.multiply %[[LR2]], %[[LOOK]]
// CHECK: %[[P2:.*]] = dl.subtract %[[P]], %[[STEP]]
// CHECK: dl.yield %[[P2]], %[[V2]]
dl.entry @nesterov(%dw: tensor<4x3xf32>) -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 2.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.01 : f64, momentum = 0.9 : f64, nesterov = true}>>]} {
  dl.return %dw : tensor<4x3xf32>
}

// Settings that differ make groups; scalars are numbered by settings.
// CHECK-LABEL: dl.entry @critic
// CHECK: dl.read @w.momentum_critic
// CHECK-DAG: dl.scalar "critic.optimizer1.learning_rate", 1.000000e-01
// CHECK-DAG: dl.scalar "critic.optimizer1.momentum"
// CHECK: dl.multi_tensor
// CHECK: dl.scalar "critic.optimizer2.learning_rate", 2.000000e-01 scheduled : tensor<f32>
// CHECK: dl.multi_tensor
// CHECK-NOT: dl.multi_tensor
dl.entry @critic(%dw: tensor<4x3xf32>, %db: tensor<4xf32>)
    -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w},
        tensor<4xf32> {dl.name = "gradient.b", dl.kind = #program.value<gradient>, dl.of = @b})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64, momentum = 0.5 : f64}>>,
      #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.2 : f64}>>]} {
  dl.return %dw, %db : tensor<4x3xf32>, tensor<4xf32>
}

// Elements are clipped in the body, before decay; the limit is a scalar of the runtime. What is not finite is not a number behind it.
// CHECK-LABEL: dl.entry @by_value
// CHECK-NOT: clip =
// CHECK-DAG: %[[LIMIT:.*]] = dl.scalar "by_value.clip.limit", 5.000000e-01 :
// CHECK: dl.multi_tensor(%{{.*}}, %{{.*}}) scalars(%[[LIMIT]], %{{.*}}, %{{.*}})
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<f32>, %[[G:.*]]: tensor<f32>, %[[L:.*]]: tensor<f32>, %{{.*}}: tensor<f32>, %[[D:.*]]: tensor<f32>):
// CHECK-NEXT: %[[LOW:.*]] = dl.negate %[[L]]
// CHECK-NEXT: %[[ABOVE:.*]] = dl.maximum %[[G]], %[[LOW]]
// CHECK-NEXT: %[[LIMITED:.*]] = dl.minimum %[[ABOVE]], %[[L]]
// CHECK-NEXT: %[[NONE:.*]] = dl.subtract %[[G]], %[[G]]
// CHECK-NEXT: %[[CLIPPED:.*]] = dl.add %[[LIMITED]], %[[NONE]]
// CHECK-NEXT: dl.multiply %[[D]]
// CHECK-NEXT: dl.add %[[CLIPPED]]
dl.entry @by_value(%dw: tensor<4x3xf32>) -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {kind = #program.entry<train>, clip = #dl.clip<value, 5.0e-01>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64, weight_decay = 0.1 : f64}>>]} {
  dl.return %dw : tensor<4x3xf32>
}

// One norm of all gradients, in whatever groups they are, is one factor for all; it is at most 1. It is of f64, where no square of an f32
// overflows or vanishes, and the runtime hears of squares that are not finite.
// CHECK-LABEL: dl.entry @by_global_norm
// CHECK-SAME: %[[DW:.*]]: tensor<4x3xf32>{{.*}}, %[[DB:.*]]: tensor<4xf32>
// CHECK: %[[LIMIT:.*]] = dl.scalar "by_global_norm.clip.limit"
// CHECK: %[[W2:.*]] = dl.multi_tensor(%[[DW]]) scalars() {streams = 1 : i64, sums = 1 : i64} : (tensor<4x3xf32>) -> tensor<1xf64>
// CHECK-NEXT: ^bb0(%[[G:.*]]: tensor<f32>):
// CHECK-NEXT: %[[G64:.*]] = dl.cast %[[G]] : tensor<f32> to tensor<f64>
// CHECK-NEXT: dl.multiply %[[G64]], %[[G64]]
// CHECK: %[[SW:.*]] = dl.reduce sum %[[W2]] axes = [0]
// CHECK: %[[B2:.*]] = dl.multi_tensor(%[[DB]]) scalars() {streams = 1 : i64, sums = 1 : i64}
// CHECK: %[[SB:.*]] = dl.reduce sum %[[B2]] axes = [0]
// CHECK: %[[SUM:.*]] = dl.add %[[SW]], %[[SB]]
// CHECK: %[[NORM:.*]] = dl.sqrt %[[SUM]]
// CHECK: %[[LIMIT64:.*]] = dl.cast %[[LIMIT]]
// CHECK: %[[SAFE:.*]] = dl.add %[[NORM]]
// CHECK: %[[RATIO:.*]] = dl.divide %[[LIMIT64]], %[[SAFE]]
// CHECK: %[[LEAST:.*]] = dl.minimum %[[RATIO]]
// CHECK: %[[FINITE:.*]] = dl.compare le %[[NORM]], %{{.*}}
// CHECK: %[[FACTOR:.*]] = dl.select %[[FINITE]], %[[LEAST]], %{{.*}}
// CHECK: dl.multi_tensor(%{{.*}}, %[[DW]]) scalars(%[[FACTOR]], %{{.*}}, %{{.*}})
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: tensor<f32>, %[[G:[a-z0-9]+]]: tensor<f32>, %[[BY:[a-z0-9]+]]: tensor<f64>,
// CHECK-NEXT: %[[G64:.*]] = dl.cast %[[G]] : tensor<f32> to tensor<f64>
// CHECK-NEXT: %[[LIMITED:.*]] = dl.multiply %[[G64]], %[[BY]]
// CHECK-NEXT: dl.cast %[[LIMITED]] : tensor<f64> to tensor<f32>
// CHECK: dl.multi_tensor(%{{.*}}, %[[DB]]) scalars(%[[FACTOR]], %{{.*}}, %{{.*}})
// CHECK: dl.return %[[DW]], %[[DB]], %[[SW]], %[[SB]]
dl.entry @by_global_norm(%dw: tensor<4x3xf32>, %db: tensor<4xf32>)
    -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w},
        tensor<4xf32> {dl.name = "gradient.b", dl.kind = #program.value<gradient>, dl.of = @b})
    attributes {kind = #program.entry<train>, clip = #dl.clip<global_norm, 1.0>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64, weight_decay = 0.1 : f64}>>,
      #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.2 : f64, weight_decay = 0.1 : f64}>>]} {
  dl.return %dw, %db : tensor<4x3xf32>, tensor<4xf32>
}

// Each gradient by its own norm: one op adds up the squares of all, the update reads those of its tensor, and the entry returns them.
// CHECK-LABEL: dl.entry @by_parameter_norm
// CHECK-SAME: %[[DW:[a-z0-9]+]]: tensor<4x3xf32>
// CHECK-SAME: tensor<1xf64> {dl.kind = #program.value<check>, dl.name = "by_parameter_norm.clip.squares"}
// CHECK: %[[SQUARES:.*]] = dl.multi_tensor(%[[DW]]) scalars() {streams = 1 : i64, sums = 1 : i64}
// CHECK: dl.multi_tensor(%{{.*}}, %[[DW]]) each(%[[SQUARES]]) scalars(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) {streams = 2 : i64}
// CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: tensor<f32>, %[[G:[a-z0-9]+]]: tensor<f32>, %[[S:[a-z0-9]+]]: tensor<f64>,
// CHECK-NEXT: dl.sqrt %[[S]]
// CHECK: %[[FACTOR:.*]] = dl.select
// CHECK: %[[G64:.*]] = dl.cast %[[G]]
// CHECK: dl.multiply %[[G64]], %[[FACTOR]]
// CHECK: dl.return %[[DW]], %[[SQUARES]]
dl.entry @by_parameter_norm(%dw: tensor<4x3xf32>) -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {kind = #program.entry<train>, clip = #dl.clip<parameter_norm, 1.0>, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64, weight_decay = 0.1 : f64}>>]} {
  dl.return %dw : tensor<4x3xf32>
}

// Where gradients accumulate, the entry adds a fourth of each to a slot. The update is an entry of its own, on each eighth batch
// here: it takes the slots as gradients, clips, updates and averages, and clears them.
// CHECK-LABEL: dl.entry @parts_accumulate
// CHECK-SAME: every = 2 : i64, kind = #program.entry<accumulate>}
// CHECK: %[[SUM:.*]] = dl.read @w.gradient_sum
// CHECK-NOT: dl.scalar
// CHECK: %[[NEW:.*]] = dl.multi_tensor(%[[SUM]], %[[DW:.*]]) scalars() {streams = 2 : i64}
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<f32>, %[[G:.*]]: tensor<f32>):
// CHECK-NEXT: %[[FOURTH:.*]] = dl.constant dense<2.500000e-01>
// CHECK-NEXT: %[[SHARE:.*]] = dl.multiply %[[G]], %[[FOURTH]]
// CHECK-NEXT: %[[ADDED:.*]] = dl.add %[[S]], %[[SHARE]]
// CHECK-NEXT: dl.yield %[[ADDED]]
// CHECK: dl.assign @w.gradient_sum, %[[NEW]]
// CHECK-NEXT: dl.return %[[DW]]
// CHECK: dl.entry @parts() -> (tensor<f64> {dl.kind = #program.value<check>, dl.name = "parts.clip.squares"}) attributes {every = 8 : i64, kind = #program.entry<train>, schedule = [
// CHECK-DAG: %[[W:.*]] = dl.read @w :
// CHECK-DAG: %[[SUM:.*]] = dl.read @w.gradient_sum
// CHECK: %[[SQUARES:.*]] = dl.multi_tensor(%[[SUM]])
// CHECK: dl.reduce sum %[[SQUARES]]
// CHECK: dl.scalar "parts.optimizer.learning_rate", 1.000000e-01 scheduled
// CHECK: %[[NEW:.*]]:4 = dl.multi_tensor(%[[W]], %[[SUM]], %{{.*}}, %{{.*}}) scalars
// CHECK: %[[ZERO:.*]] = dl.constant dense<0.000000e+00>
// CHECK: dl.yield %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[ZERO]]
// CHECK: dl.assign @w.ema, %[[NEW]]#2
// CHECK-NEXT: dl.assign @w.gradient_sum, %[[NEW]]#3
// CHECK: dl.return
dl.entry @parts(%dw: tensor<4x3xf32>) -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {kind = #program.entry<train>, every = 2, accumulate = 4, ema = 9.0e-01, clip = #dl.clip<global_norm, 1.0>,
      schedule = [#program.schedule_part<cosine, in_epochs = false, length = 0.0, n = 8.0, 0.0, 0.0, 0.0>], updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64, momentum = 0.9 : f64}>>]} {
  dl.return %dw : tensor<4x3xf32>
}

// A loss that is a mean over so many things gives gradients that count as many: the update divides by the sum of all.
// CHECK-LABEL: dl.entry @weighted_accumulate
// CHECK-DAG: %[[SUM:.*]] = dl.read @w.gradient_sum_weighted
// CHECK-DAG: %[[COUNT:.*]] = dl.read @weighted.loss.weight_sum
// CHECK: dl.multi_tensor(%[[SUM]], %{{.*}}) scalars(%[[WEIGHT:[a-z0-9]+]])
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<f32>, %[[G:.*]]: tensor<f32>, %[[BY:.*]]: tensor<f32>):
// CHECK-NEXT: dl.multiply %[[G]], %[[BY]]
// CHECK: %[[MORE:.*]] = dl.add %[[COUNT]], %[[WEIGHT]]
// CHECK: dl.assign @weighted.loss.weight_sum, %[[MORE]]
// CHECK-NEXT: dl.return %{{.*}} : tensor<4x3xf32>{{$}}
// CHECK-LABEL: dl.entry @weighted(
// CHECK: %[[TOTAL:.*]] = dl.read @weighted.loss.weight_sum
// CHECK: %[[DIVISOR:.*]] = dl.select %{{.*}}, %[[TOTAL]], %{{.*}}
// CHECK: %[[SCALE:.*]] = dl.divide %{{.*}}, %[[DIVISOR]]
// CHECK: dl.assign @weighted.loss.weight_sum, %{{.*}}
// CHECK: dl.multi_tensor({{.*}}) scalars(%[[SCALE]],
dl.entry @weighted(%dw: tensor<4x3xf32>, %n: tensor<f32>)
    -> (tensor<4x3xf32> {dl.name = "gradient.w", dl.kind = #program.value<gradient>, dl.of = @w})
    attributes {kind = #program.entry<train>, accumulate = 4, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  dl.return %dw : tensor<4x3xf32> weight(%n : tensor<f32>)
}

// Two losses that are means over different numbers of things: a parameter has a sum of the gradients of each that it is behind, and those
// behind different ones are groups of their own. The update joins what each loss's weights make means of.
// CHECK-LABEL: dl.entry @mixed_accumulate
// CHECK-DAG: %[[W1:.*]] = dl.read @w.gradient_sum_mixed
// CHECK-DAG: %[[W2:.*]] = dl.read @w.gradient_sum2
// CHECK-DAG: %[[B2:.*]] = dl.read @b.gradient_sum2
// CHECK: dl.multi_tensor(%[[W1]], %{{.*}}) scalars(%[[N1:[a-z0-9]+]])
// CHECK: dl.multi_tensor(%[[W2]], %{{.*}}) scalars(%[[N2:[a-z0-9]+]])
// CHECK: dl.multi_tensor(%[[B2]], %{{.*}}) scalars(%[[N2]])
// CHECK: dl.assign @mixed.loss.weight_sum,
// CHECK: dl.assign @mixed.loss.weight_sum2,
// CHECK-LABEL: dl.entry @mixed(
// CHECK: %[[T1:.*]] = dl.read @mixed.loss.weight_sum :
// CHECK: %[[T2:.*]] = dl.read @mixed.loss.weight_sum2 :
// CHECK: %[[D1:.*]] = dl.select %{{.*}}, %[[T1]], %{{.*}}
// CHECK: %[[M1:.*]] = dl.divide %{{.*}}, %[[D1]]
// CHECK: %[[D2:.*]] = dl.select %{{.*}}, %[[T2]], %{{.*}}
// CHECK: %[[M2:.*]] = dl.divide %{{.*}}, %[[D2]]
// CHECK: %[[DW:.*]] = dl.multi_tensor(%{{.*}}, %{{.*}}) scalars(%[[M1]], %[[M2]])
// CHECK: %[[DB:.*]] = dl.multi_tensor(%{{.*}}) scalars(%[[M2]])
// CHECK: dl.multi_tensor(%{{.*}}, %[[DW]]) scalars(
// CHECK: dl.assign @w.gradient_sum_mixed,
// CHECK: dl.assign @w.gradient_sum2,
// CHECK: dl.multi_tensor(%{{.*}}, %[[DB]]) scalars(
// CHECK: dl.assign @b.gradient_sum2,
dl.entry @mixed(%dw1: tensor<4x3xf32>, %dw2: tensor<4x3xf32>, %db: tensor<4xf32>, %n: tensor<f32>, %m: tensor<f32>)
    -> (tensor<4x3xf32> {dl.name = "gradient.w#1", dl.kind = #program.value<gradient>, dl.of = @w, dl.loss = 0 : i64},
        tensor<4x3xf32> {dl.name = "gradient.w#2", dl.kind = #program.value<gradient>, dl.of = @w, dl.loss = 1 : i64},
        tensor<4xf32> {dl.name = "gradient.b#2", dl.kind = #program.value<gradient>, dl.of = @b, dl.loss = 1 : i64})
    attributes {kind = #program.entry<train>, accumulate = 4, updates = [
      #dl.update<@w, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>,
      #dl.update<@b, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  dl.return %dw1, %dw2, %db : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4xf32> weight(%n, %m : tensor<f32>, tensor<f32>)
}

// Nothing is updated outside of training.
// CHECK-LABEL: dl.entry @evaluate
// CHECK-NEXT: dl.read @w
// CHECK-NEXT: dl.return
dl.entry @evaluate() -> (tensor<4x3xf32>) attributes {kind = #program.entry<evaluate>} {
  %w = dl.read @w : tensor<4x3xf32>
  dl.return %w : tensor<4x3xf32>
}
