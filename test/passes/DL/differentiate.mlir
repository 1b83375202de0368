// RUN: dlc-opt --dl-differentiate --mlir-print-debuginfo --mlir-print-local-scope %s | FileCheck %s

dl.variable @linear1.weight : tensor<5x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.variable @linear1.bias : tensor<5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)

// Gradients of the parameters, then of the float inputs, become results; ops are named after layer and stage; the loss goes.
// CHECK-LABEL: dl.entry @train_step
// CHECK-SAME: tensor<5x3xf32> {dl.kind = #program.value<gradient>, dl.name = "gradient.linear1.weight", dl.of = @linear1.weight}
// CHECK-SAME: tensor<5xf32> {dl.kind = #program.value<gradient>, dl.name = "gradient.linear1.bias", dl.of = @linear1.bias}
// CHECK-SAME: tensor<4x3xf32> {dl.batch_axis = 0 : i64, dl.kind = #program.value<gradient>, dl.name = "gradient.x"}
// CHECK: %[[SUM:.*]] = dl.reduce sum
// CHECK: %[[SEED:.*]] = dl.constant dense<1.000000e+00> : tensor<f32> loc("loss/backward"
// CHECK: %[[DY:.*]] = dl.broadcast %[[SEED]] {{.*}} loc("loss/backward"
// CHECK: %[[DB:.*]] = dl.reduce sum %[[DY]] axes = [0] {{.*}} loc("linear1/backward_bias"
// CHECK: %[[DX:.*]] = dl.matmul %[[DY]], {{.*}} loc("linear1/backward_data"
// CHECK: %[[DW:.*]] = dl.matmul %[[DY]], {{.*}} loc("linear1/backward_weight"
// CHECK: dl.return %[[SUM]], %[[DW]], %[[DB]], %[[DX]] : tensor<f32>, tensor<5x3xf32>, tensor<5xf32>, tensor<4x3xf32> loc
dl.entry @train_step(%x: tensor<4x3xf32> {dl.name = "x", dl.batch_axis = 0 : i64}) -> (tensor<f32> {dl.name = "sum"})
    attributes {kind = #program.entry<train>, updates = [
      #dl.update<@linear1.weight, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>,
      #dl.update<@linear1.bias, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %w = dl.read @linear1.weight : tensor<5x3xf32> loc("linear1")
  %b = dl.read @linear1.bias : tensor<5xf32> loc("linear1")
  %p = dl.matmul %x, %w transpose_b : tensor<4x3xf32>, tensor<5x3xf32> loc("linear1")
  %r = dl.broadcast %b dims = [1] : tensor<5xf32> to tensor<4x5xf32> loc("linear1")
  %y = dl.add %p, %r : tensor<4x5xf32> loc("linear1")
  %s = dl.reduce sum %y axes = [0, 1] : tensor<4x5xf32> loc("loss")
  dl.return %s : tensor<f32> loss(%s : tensor<f32>)
}

// Contributions of several uses, and of several reads of one variable, are added.
// CHECK-LABEL: dl.entry @two_uses
// CHECK: %[[W:.*]] = dl.read @linear1.bias
// CHECK-NOT: dl.read
// CHECK: %[[SUM:.*]] = dl.add {{.*}} loc("/backward_sum"
// CHECK: dl.return %[[SUM]]
dl.entry @two_uses() -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@linear1.bias, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %a = dl.read @linear1.bias : tensor<5xf32>
  %b = dl.read @linear1.bias : tensor<5xf32>
  %y = dl.multiply %a, %b : tensor<5xf32>
  %s = dl.reduce sum %y axes = [0] : tensor<5xf32>
  dl.return loss(%s : tensor<f32>)
}

// The op whose rule needs the winners is given an index; the convolution's two directions have their own stages.
// CHECK-LABEL: dl.entry @convolution
// CHECK: dl.max_pool {{.*}} -> tensor<1x2x2x2xf32>, tensor<1x2x2x2xui8> loc("max_pool1"
// CHECK-NOT: dl.max_pool %
// CHECK: dl.max_pool_backward {{.*}} loc("max_pool1/backward"
// CHECK: dl.convolution_backward_data {{.*}} loc("conv1/backward_data"
// CHECK: dl.convolution_backward_filter {{.*}} loc("conv1/backward_filter"
dl.variable @conv1.weight : tensor<2x1x3x3xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @convolution(%x: tensor<1x1x6x6xf32> {dl.name = "x"}) -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@conv1.weight, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %w = dl.read @conv1.weight : tensor<2x1x3x3xf32> loc("conv1")
  %c = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x1x6x6xf32>, tensor<2x1x3x3xf32> loc("conv1")
  %y = dl.max_pool %c kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32> loc("max_pool1")
  %s = dl.reduce sum %y axes = [0, 1, 2, 3] : tensor<1x2x2x2xf32> loc("loss")
  dl.return loss(%s : tensor<f32>)
}

// A composite without a rule, here a gradient itself, is decomposed first.
// CHECK-LABEL: dl.entry @composite
// CHECK-NOT: dl.softmax_cross_entropy_backward
// CHECK: dl.exp
// CHECK: dl.return %{{.*}} : tensor<4x5xf32>
dl.variable @logits : tensor<4x5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @composite(%label: tensor<4xi32>) -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@logits, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %x = dl.read @logits : tensor<4x5xf32>
  %d = dl.constant dense<1.0> : tensor<4xf32>
  %g = dl.softmax_cross_entropy_backward %d, %x, %label axis = 1 : tensor<4xf32>, tensor<4x5xf32>, tensor<4xi32>
  %q = dl.multiply %g, %g : tensor<4x5xf32>
  %s = dl.reduce sum %q axes = [0, 1] : tensor<4x5xf32>
  dl.return loss(%s : tensor<f32>)
}

// Attention's gradient takes each row's log of the sum and the sum of do * o; q, k and v are one tensor.
// CHECK-LABEL: dl.entry @attention
// CHECK: %[[O:.*]], %[[LSE:.*]] = dl.attention %[[W:.*]], %[[W]], %[[W]] scale = 5.000000e-01 causal
// CHECK: %[[DO:.*]] = dl.broadcast
// CHECK: %[[P:.*]] = dl.multiply %[[DO]], %[[O]]
// CHECK: %[[DELTA:.*]] = dl.reduce sum %[[P]] axes = [3]
// CHECK: dl.attention_backward %[[DO]], %[[W]], %[[W]], %[[W]], %[[LSE]], %[[DELTA]] scale = 5.000000e-01 causal
// CHECK-COUNT-2: dl.add
dl.variable @rows : tensor<1x2x5x4xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @attention() -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@rows, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %w = dl.read @rows : tensor<1x2x5x4xf32>
  %o, %lse = dl.attention %w, %w, %w scale = 0.5 causal : tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>
  %s = dl.reduce sum %o axes = [0, 1, 2, 3] : tensor<1x2x5x4xf32>
  dl.return loss(%s : tensor<f32>)
}

// No gradient of integers, and zero for an input that the loss does not depend on.
// CHECK-LABEL: dl.entry @other_inputs
// CHECK-SAME: -> (tensor<5xf32> {{{.*}}dl.name = "gradient.linear1.bias", {{.*}}}, tensor<2xf32> {{{.*}}dl.name = "gradient.unused"})
// CHECK: %[[ZERO:.*]] = dl.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK: dl.return %{{.*}}, %[[ZERO]]
dl.entry @other_inputs(%i: tensor<2xi32> {dl.name = "integers"}, %u: tensor<2xf32> {dl.name = "unused"}) -> ()
    attributes {kind = #program.entry<train>, updates = [#dl.update<@linear1.bias, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %b = dl.read @linear1.bias : tensor<5xf32>
  %s = dl.reduce sum %b axes = [0] : tensor<5xf32>
  dl.return loss(%s : tensor<f32>)
}

// The gradient of an input that is named as a parameter has another name.
// CHECK-LABEL: dl.entry @one_name
// CHECK-SAME: dl.name = "gradient.linear1.bias"
// CHECK-SAME: dl.name = "gradient.input.linear1.bias"
dl.entry @one_name(%x: tensor<5xf32> {dl.name = "linear1.bias"}) -> ()
    attributes {kind = #program.entry<train>, updates = [#dl.update<@linear1.bias, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %b = dl.read @linear1.bias : tensor<5xf32>
  %y = dl.multiply %x, %b : tensor<5xf32>
  %s = dl.reduce sum %y axes = [0] : tensor<5xf32>
  dl.return loss(%s : tensor<f32>)
}

// An entry that updates nothing stays as it is.
// CHECK-LABEL: dl.entry @evaluate
// CHECK-NEXT: dl.exp
// CHECK-NEXT: dl.return
dl.entry @evaluate(%x: tensor<2xf32>) -> (tensor<2xf32>) attributes {kind = #program.entry<evaluate>} {
  %y = dl.exp %x : tensor<2xf32>
  dl.return %y : tensor<2xf32>
}

// A gradient in the program is built where it stands, and the loss is differentiated through it: of (dy/dx)^2 by w, for y = sum of w x.
// CHECK-LABEL: dl.entry @gradient_in_a_loss
// CHECK: %[[W:.*]] = dl.read @linear1.bias
// CHECK: %[[SLOPE:.*]] = dl.multiply %{{.*}}, %[[W]] : tensor<5xf32> loc("product/backward"
// CHECK-NOT: dl.gradient
// CHECK: dl.multiply %{{.*}}, %[[SLOPE]] : tensor<5xf32>
// CHECK: dl.return %{{.*}}, %{{.*}} : tensor<5xf32>, tensor<5xf32>
dl.entry @gradient_in_a_loss(%x: tensor<5xf32> {dl.name = "x"}) -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@linear1.bias, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %w = dl.read @linear1.bias : tensor<5xf32>
  %p = dl.multiply %x, %w : tensor<5xf32> loc("product")
  %y = dl.reduce sum %p axes = [0] : tensor<5xf32>
  %slope = dl.gradient %y by %x : tensor<f32> by tensor<5xf32>
  %square = dl.multiply %slope, %slope : tensor<5xf32>
  %s = dl.reduce sum %square axes = [0] : tensor<5xf32>
  dl.return loss(%s : tensor<f32>)
}

// Entries that train nothing have gradients as well; by several values, y itself among them, at once.
// CHECK-LABEL: dl.entry @gradients_at_inference
// CHECK: %[[ONE:.*]] = dl.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[DE:.*]] = dl.broadcast %[[ONE]]
// CHECK: %[[DX:.*]] = dl.multiply %[[DE]], %{{.*}} loc("exp/backward"
// CHECK: dl.return %[[DE]], %[[DX]], %[[ONE]]
dl.entry @gradients_at_inference(%x: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<f32>) attributes {kind = #program.entry<infer>} {
  %e = dl.exp %x : tensor<5xf32> loc("exp")
  %y = dl.reduce sum %e axes = [0] : tensor<5xf32>
  %g:3 = dl.gradient %y by %e, %x, %y : tensor<f32> by tensor<5xf32>, tensor<5xf32>, tensor<f32>
  dl.return %g#0, %g#1, %g#2 : tensor<5xf32>, tensor<5xf32>, tensor<f32>
}

// By a value that a rule and a decomposition put others in the place of.
// CHECK-LABEL: dl.entry @replaced_values
// CHECK: %{{.*}}, %{{.*}} = dl.max_pool {{.*}} tensor<1x1x2x2xui8>
// CHECK-NOT: dl.gradient
// CHECK: dl.return
dl.entry @replaced_values(%x: tensor<1x1x4x4xf32>, %label: tensor<4xi32>) -> (tensor<1x1x2x2xf32>, tensor<4xf32>) attributes {kind = #program.entry<infer>} {
  %p = dl.max_pool %x kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x1x4x4xf32> -> tensor<1x1x2x2xf32>
  %q = dl.reshape %p : tensor<1x1x2x2xf32> to tensor<4x1xf32>
  %c = dl.softmax_cross_entropy %q, %label axis = 1 : tensor<4x1xf32>, tensor<4xi32>
  %l = dl.multiply %c, %c : tensor<4xf32>
  %y = dl.reduce sum %l axes = [0] : tensor<4xf32>
  %g:3 = dl.gradient %y by %p, %c, %x : tensor<f32> by tensor<1x1x2x2xf32>, tensor<4xf32>, tensor<1x1x4x4xf32>
  dl.return %g#0, %g#1 : tensor<1x1x2x2xf32>, tensor<4xf32>
}

// The gradients of a tensor's pieces are laid side by side, with zeros where there is no piece; those of the same piece are added
// first.
// CHECK-LABEL: dl.entry @pieces
// CHECK: %[[SAME:.*]] = dl.add {{.*}} : tensor<1x5xf32> loc({{.*}}backward_sum
// CHECK: %[[ZEROS:.*]] = dl.constant dense<0.000000e+00> : tensor<1x5xf32> loc({{.*}}backward_sum
// CHECK: %[[DX:.*]] = dl.concat %[[SAME]], %[[ZEROS]], %{{.*}} axis = 0 : tensor<1x5xf32>, tensor<1x5xf32>, tensor<2x5xf32>
// CHECK-NOT: dl.pad
// CHECK: dl.return %[[DX]]
dl.variable @table : tensor<4x5xf32> role<parameter> init(#program.init<uniform, -0.2, 0.2>)
dl.entry @pieces() -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@table, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %x = dl.read @table : tensor<4x5xf32>
  %a = dl.slice %x starts = [0, 0] sizes = [1, 5] steps = [1, 1] : tensor<4x5xf32>
  %b = dl.slice %x starts = [2, 0] sizes = [2, 5] steps = [1, 1] : tensor<4x5xf32>
  %c = dl.slice %x starts = [0, 0] sizes = [1, 5] steps = [1, 1] : tensor<4x5xf32>
  %p = dl.multiply %a, %c : tensor<1x5xf32>
  %e = dl.exp %b : tensor<2x5xf32>
  %s = dl.reduce sum %p axes = [0, 1] : tensor<1x5xf32>
  %t = dl.reduce sum %e axes = [0, 1] : tensor<2x5xf32>
  %l = dl.add %s, %t : tensor<f32>
  dl.return loss(%l : tensor<f32>)
}

// Pieces that overlap are laid into a tensor of their own, and what is cut along several axes or in steps is added as it is.
// CHECK-LABEL: dl.entry @overlapping
// CHECK: %[[STEPS:.*]] = dl.pad {{.*}} steps = [2, 1]
// CHECK-COUNT-2: dl.concat
// CHECK: dl.add %[[STEPS]]
// CHECK: %[[SUM:.*]] = dl.add
// CHECK: dl.return %[[SUM]]
dl.entry @overlapping() -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@table, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %x = dl.read @table : tensor<4x5xf32>
  %a = dl.slice %x starts = [0, 0] sizes = [2, 5] steps = [1, 1] : tensor<4x5xf32>
  %b = dl.slice %x starts = [1, 0] sizes = [2, 5] steps = [1, 1] : tensor<4x5xf32>
  %c = dl.slice %x starts = [0, 0] sizes = [2, 5] steps = [2, 1] : tensor<4x5xf32>
  %p = dl.multiply %a, %b : tensor<2x5xf32>
  %q = dl.multiply %p, %c : tensor<2x5xf32>
  %s = dl.reduce sum %q axes = [0, 1] : tensor<2x5xf32>
  dl.return loss(%s : tensor<f32>)
}

// The rule of an element-wise op of 16 bits is computed in f32 and rounded once, from the result as it is stored.
// CHECK-LABEL: dl.entry @rounded_once
// CHECK: %[[Y:.*]] = dl.tanh %{{.*}} : tensor<4xbf16>
// CHECK: %[[WIDE:.*]] = dl.cast %[[Y]] : tensor<4xbf16> to tensor<4xf32> loc("/backward"
// CHECK: dl.multiply %[[WIDE]], %[[WIDE]] : tensor<4xf32>
// CHECK: %[[DX:.*]] = dl.multiply %{{.*}}, %{{.*}} : tensor<4xf32>
// CHECK-NEXT: dl.cast %[[DX]] : tensor<4xf32> to tensor<4xbf16>
dl.entry @rounded_once(%x: tensor<4xbf16> {dl.name = "x"}) -> () attributes {kind = #program.entry<train>, updates = []} {
  %y = dl.tanh %x : tensor<4xbf16>
  %w = dl.cast %y : tensor<4xbf16> to tensor<4xf32>
  %q = dl.multiply %w, %w : tensor<4xf32>
  %s = dl.reduce sum %q axes = [0] : tensor<4xf32>
  dl.return loss(%s : tensor<f32>)
}

// A loss is multiplied by its scale, and gradients are divided by it: a number, or a variable that the update changes.
// CHECK: dl.variable @scaled.loss_scale : tensor<f32> role<counter> init(<constant, 6.553600e+04, 0.000000e+00>)
// CHECK-LABEL: dl.entry @scaled
// CHECK-SAME: dl.loss_scale = @scaled.loss_scale
// CHECK: %[[SCALE:.*]] = dl.read @scaled.loss_scale
// CHECK: dl.multiply %{{.*}}, %[[SCALE]] : tensor<f32>
// CHECK: %[[ALL:.*]] = dl.broadcast %[[SCALE]] dims = [] : tensor<f32> to tensor<4xf32>
// CHECK: %[[DX:.*]] = dl.divide %{{.*}}, %[[ALL]] : tensor<4xf32>
// CHECK: dl.return %[[DX]]
dl.entry @scaled(%x: tensor<4xf32> {dl.name = "x"}) -> () attributes {dl.loss_scale = "dynamic", kind = #program.entry<train>, updates = []} {
  %y = dl.tanh %x : tensor<4xf32>
  %s = dl.reduce sum %y axes = [0] : tensor<4xf32>
  dl.return loss(%s : tensor<f32>)
}

// f16 has no room for a scale of 65536: what is of f16 itself is divided in f32.
// CHECK-LABEL: dl.entry @narrow
// CHECK: %[[QUOTIENT:.*]] = dl.divide %{{.*}} : tensor<4xf32>
// CHECK: %[[DX:.*]] = dl.cast %[[QUOTIENT]] : tensor<4xf32> to tensor<4xf16>
// CHECK: dl.return %[[DX]]
dl.entry @narrow(%x: tensor<4xf16> {dl.name = "x"}) -> () attributes {dl.loss_scale = "dynamic", kind = #program.entry<train>, updates = []} {
  %y = dl.tanh %x : tensor<4xf16>
  %w = dl.cast %y : tensor<4xf16> to tensor<4xf32>
  %s = dl.reduce sum %w axes = [0] : tensor<4xf32>
  dl.return loss(%s : tensor<f32>)
}

// Of a table that is looked up in, the rows of the gradient are divided, as long as they are fewer than those of the table.
// CHECK-LABEL: dl.entry @lookup
// CHECK: %[[SUM:.*]] = dl.scatter_add %{{.*}} : tensor<3x4xf32>, tensor<3xi32> to tensor<2x4xf32>
// CHECK: %[[ROWS:.*]] = dl.divide %{{.*}} : tensor<3x4xf32>
// CHECK: %[[FEW:.*]] = dl.scatter_add %[[ROWS]], %{{.*}} : tensor<3x4xf32>, tensor<3xi32> to tensor<50x4xf32>
// CHECK: %[[MANY:.*]] = dl.divide %[[SUM]], %{{.*}} : tensor<2x4xf32>
// CHECK: dl.return %[[FEW]], %[[MANY]]
dl.entry @lookup(%large: tensor<50x4xf32> {dl.name = "large"}, %small: tensor<2x4xf32> {dl.name = "small"}, %i: tensor<3xi32> {dl.name = "i"}) -> () attributes {dl.loss_scale = 8.0, kind = #program.entry<train>, updates = []} {
  %a = dl.gather %large, %i axis = 0 : tensor<50x4xf32>, tensor<3xi32>
  %b = dl.gather %small, %i axis = 0 : tensor<2x4xf32>, tensor<3xi32>
  %y = dl.multiply %a, %b : tensor<3x4xf32>
  %s = dl.reduce sum %y axes = [0, 1] : tensor<3x4xf32>
  dl.return loss(%s : tensor<f32>)
}

// What a rule multiplies rounds as its op does; what it adds up says nothing.
// CHECK-LABEL: dl.entry @tf32
// CHECK: dl.matmul {{.*}} {dl.precision = tf32}
// CHECK: dl.matmul {{.*}} {dl.precision = tf32} {{.*}} loc("linear1/backward_weight"
// CHECK-NOT: dl.precision
// CHECK: dl.return
dl.entry @tf32(%x: tensor<4x3xf32>) -> () attributes {kind = #program.entry<train>, updates = [
      #dl.update<@linear1.weight, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  %w = dl.read @linear1.weight : tensor<5x3xf32>
  %p = dl.matmul %x, %w transpose_b {dl.precision = tf32} : tensor<4x3xf32>, tensor<5x3xf32> loc("linear1")
  %s = dl.reduce sum %p axes = [0, 1] : tensor<4x5xf32>
  dl.return loss(%s : tensor<f32>)
}
