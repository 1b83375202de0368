// Each constraint of variables, entries and regions.
// RUN: dlc-opt %s --split-input-file --verify-diagnostics

dl.variable @p : tensor<3xf32> role<parameter> init(<constant, 0.0, 0.0>)
// expected-error @+1 {{'dl.variable' op (C1) 'of' is for slots, but the role is statistic}}
dl.variable @s : tensor<3xf32> role<statistic> of(@p) init(<constant, 0.0, 0.0>)

// -----

dl.variable @p : tensor<3xf32> role<state> init(<constant, 0.0, 0.0>)
// expected-error @+1 {{'dl.variable' op (C1) @p is not a parameter of this module}}
dl.variable @s : tensor<3xf32> role<slot> of(@p) init(<constant, 0.0, 0.0>)

// -----

// expected-note @+1 {{the parameter is here}}
dl.variable @p : tensor<3xf32> role<parameter> init(<constant, 0.0, 0.0>)
// expected-error @+1 {{'dl.variable' op (C1) has type 'tensor<4xf32>', but its parameter has 'tensor<3xf32>'}}
dl.variable @s : tensor<4xf32> role<slot> of(@p) init(<constant, 0.0, 0.0>)

// -----

// expected-error @+1 {{'dl.variable' op (C2) the initialiser 'copy' needs 'of'}}
dl.variable @s : tensor<3xf32> role<parameter> init(<copy, 0.0, 0.0>)

// -----

// expected-note @+1 {{the parameter is here}}
dl.variable @p : tensor<3xf32> role<parameter> init(<constant, 0.0, 0.0>)
// expected-error @+1 {{'dl.variable' op (C2) has type 'tensor<3xf64>', but its parameter has 'tensor<3xf32>'}}
dl.variable @s : tensor<3xf64> role<slot> of(@p) init(<copy, 0.0, 0.0>)

// -----

dl.entry @read_c1() attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.read' op (C1) @p is not a variable of this module}}
  %p = dl.read @p : tensor<3xf32>
  dl.return
}

// -----

// expected-note @+1 {{the variable is here}}
dl.variable @p : tensor<3xf32> role<parameter> init(<constant, 0.0, 0.0>)
dl.entry @read_c1_type() attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.read' op (C1) has type 'tensor<3xf64>', but @p has 'tensor<3xf32>'}}
  %p = dl.read @p : tensor<3xf64>
  dl.return
}

// -----

// expected-note @+1 {{the variable is here}}
dl.variable @p : tensor<3xf32> role<parameter> init(<constant, 0.0, 0.0>)
dl.entry @assign_c1(%x: tensor<4xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.assign' op (C1) has type 'tensor<4xf32>', but @p has 'tensor<3xf32>'}}
  dl.assign @p, %x : tensor<4xf32>
  dl.return
}

// -----

dl.variable @p : tensor<3xf32> role<parameter> init(<constant, 0.0, 0.0>)
dl.entry @entry_c1_twice(%x: tensor<3xf32>) attributes {kind = #program.entry<train>} {
  // expected-note @+1 {{assigned here}}
  dl.assign @p, %x : tensor<3xf32>
  // expected-error @+1 {{'dl.assign' op (C1) @p has already been assigned in this entry}}
  dl.assign @p, %x : tensor<3xf32>
  dl.return
}

// -----

dl.variable @p : tensor<3xf32> role<parameter> init(<constant, 0.0, 0.0>)
dl.entry @entry_c1_read(%x: tensor<3xf32>) attributes {kind = #program.entry<train>} {
  // expected-note @+1 {{assigned here}}
  dl.assign @p, %x : tensor<3xf32>
  // expected-error @+1 {{'dl.read' op (C1) @p has already been assigned in this entry}}
  %p = dl.read @p : tensor<3xf32>
  dl.return
}

// -----

dl.variable @s : tensor<3xf32> role<state> init(<constant, 0.0, 0.0>)
// expected-error @+1 {{'dl.entry' op (C2) updates @s, which is not a parameter of this module}}
dl.entry @entry_c2() attributes {kind = #program.entry<train>,
    updates = [#dl.update<@s, lr_mult = 1.0 : f64, decay_mult = 1.0 : f64, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  dl.return
}

// -----

dl.variable @p : tensor<3xf32> role<parameter> init(<constant, 0.0, 0.0>)
// expected-error @+1 {{'dl.entry' op (C2) updates @p twice}}
dl.entry @entry_c2_twice() attributes {kind = #program.entry<train>,
    updates = [#dl.update<@p, lr_mult = 1.0 : f64, decay_mult = 1.0 : f64, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>,
               #dl.update<@p, lr_mult = 2.0 : f64, decay_mult = 1.0 : f64, #dl.optimizer<"sgd", {learning_rate = 0.1 : f64}>>]} {
  dl.return
}

// -----

// (C1) There is no such rule.
// expected-error @+1 {{there is no optimizer 'sdg'}}
#optimizer = #dl.optimizer<"sdg", {}>

// -----

// (C1) The language has the name, dlc no rule.
// expected-error @+1 {{there is no optimizer 'newton'}}
#optimizer = #dl.optimizer<"newton", {}>

// -----

// (C2) No setting of the rule.
// expected-error @+1 {{sgd has no setting 'momentun'}}
#optimizer = #dl.optimizer<"sgd", {learning_rate = 0.1 : f64, momentun = 0.9 : f64}>

// -----

// (C2) A setting of another kind.
// expected-error @+1 {{'learning_rate' of sgd is an f64, found 1 : i64}}
#optimizer = #dl.optimizer<"sgd", {learning_rate = 1}>

// -----

// (C2) A flag of another kind.
// expected-error @+1 {{'nesterov' of sgd is true or false, found 1.000000e+00 : f64}}
#optimizer = #dl.optimizer<"sgd", {learning_rate = 0.1 : f64, nesterov = 1.0 : f64}>

// -----

// (C2) Outside of its range.
// expected-error @+1 {{'momentum' of sgd is 0 or more, found -1.000000e+00 : f64}}
#optimizer = #dl.optimizer<"sgd", {learning_rate = 0.1 : f64, momentum = -1.0 : f64}>

// -----

// (C2) A setting without a default is absent.
// expected-error @+1 {{sgd needs 'learning_rate'}}
#optimizer = #dl.optimizer<"sgd", {momentum = 0.9 : f64}>

// -----

// (C3) Settings that do not fit each other.
// expected-error @+1 {{nesterov needs a momentum and no dampening}}
#optimizer = #dl.optimizer<"sgd", {learning_rate = 0.1 : f64, nesterov = true}>

// -----

// expected-error @+1 {{'dl.entry' op (C3) the metric 'loss' needs the accumulator 'count', which is not among the results}}
dl.entry @entry_c3(%x: tensor<f32>) -> (tensor<f32> {dl.name = "sum", dl.kind = #program.value<accumulator>},
                                        tensor<f32> {dl.name = "count"})
    attributes {kind = #program.entry<evaluate>,
                metrics = [#program.metric<"loss", loss, none, [<"sum" over "count", count = 0.0 : f64, coefficient = 1.0 : f64>]>]} {
  dl.return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// (C3) Histograms and tables have shapes of their own, and no count.
// expected-error @+1 {{'dl.entry' op (C3) the metric 'curve' finishes by area, which does not take the accumulator 'sum' of 'tensor<2x3xf32>'}}
dl.entry @entry_c3(%x: tensor<2x3xf32>) -> (tensor<2x3xf32> {dl.name = "sum", dl.kind = #program.value<accumulator>})
    attributes {kind = #program.entry<evaluate>,
                metrics = [#program.metric<"curve", metric, area, [<"sum", count = 1.0 : f64, coefficient = 1.0 : f64>]>]} {
  dl.return %x : tensor<2x3xf32>
}

// -----

// expected-error @+1 {{'dl.entry' op (C3) the metric 'counts' finishes by table, which takes one term without a count}}
dl.entry @entry_c3(%x: tensor<3x3xf32>, %n: tensor<f32>)
    -> (tensor<3x3xf32> {dl.name = "sum", dl.kind = #program.value<accumulator>}, tensor<f32> {dl.name = "n", dl.kind = #program.value<accumulator>})
    attributes {kind = #program.entry<evaluate>,
                metrics = [#program.metric<"counts", metric, table, [<"sum" over "n", count = 1.0 : f64, coefficient = 1.0 : f64>]>]} {
  dl.return %x, %n : tensor<3x3xf32>, tensor<f32>
}

// -----

// A number is no table.
// expected-error @+1 {{'dl.entry' op (C3) the metric 'loss' finishes by none, which does not take the accumulator 'sum' of 'tensor<3x3xf32>'}}
dl.entry @entry_c3(%x: tensor<3x3xf32>) -> (tensor<3x3xf32> {dl.name = "sum", dl.kind = #program.value<accumulator>})
    attributes {kind = #program.entry<evaluate>,
                metrics = [#program.metric<"loss", loss, none, [<"sum", count = 1.0 : f64, coefficient = 1.0 : f64>]>]} {
  dl.return %x : tensor<3x3xf32>
}

// -----

// expected-error @+1 {{'dl.entry' op (C4) has two inputs named 'x'}}
dl.entry @entry_c4(%x: tensor<f32> {dl.name = "x"}, %y: tensor<f32> {dl.name = "x"}) attributes {kind = #program.entry<infer>} {
  dl.return
}

// -----

// expected-error @+1 {{'dl.entry' op (C4) has two results named 'y'}}
dl.entry @entry_c4_results(%x: tensor<f32>) -> (tensor<f32> {dl.name = "y"}, tensor<f32> {dl.name = "y"}) attributes {kind = #program.entry<infer>} {
  dl.return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{'dl.entry' op requires attribute 'kind'}}
dl.entry @kind() {
  dl.return
}

// -----

// expected-error @+1 {{'dl.entry' op has dl.batch_axis 2 outside of 'tensor<4x3xf32>'}}
dl.entry @batch_axis(%x: tensor<4x3xf32> {dl.batch_axis = 2 : i64}) attributes {kind = #program.entry<infer>} {
  dl.return
}

// -----

// expected-error @+1 {{'dl.entry' op has an unknown or malformed attribute "dl.nane" = "x" on argument 0}}
dl.entry @argument_attribute(%x: tensor<4x3xf32> {dl.nane = "x"}) attributes {kind = #program.entry<infer>} {
  dl.return
}

// -----

// expected-error @+1 {{'dl.entry' op expects dl.loss to be an i64 of 0 or more, found -1 : i64}}
dl.entry @entry_loss(%x: tensor<1xf32>) -> (tensor<1xf32> {dl.name = "gradient.w#1", dl.kind = #program.value<gradient>, dl.loss = -1 : i64})
    attributes {kind = #program.entry<train>} {
  dl.return %x : tensor<1xf32>
}

// -----

// expected-error @+1 {{'dl.entry' op has an unknown or malformed attribute "dl.kind" = "gradient" on result 0}}
dl.entry @result_attribute(%x: tensor<f32>) -> (tensor<f32> {dl.kind = "gradient"}) attributes {kind = #program.entry<infer>} {
  dl.return %x : tensor<f32>
}

// -----

dl.entry @return_c1(%x: tensor<f32>) -> tensor<3xf32> attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.return' op (C1) returns ('tensor<f32>'), but the entry declares ('tensor<3xf32>')}}
  dl.return %x : tensor<f32>
}

// -----

dl.entry @return_c2(%x: tensor<1xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.return' op (C2) expects a loss of rank 0, found 'tensor<1xf32>'}}
  dl.return loss(%x : tensor<1xf32>)
}

// -----

dl.entry @return_c2_types(%x: tensor<f32>, %y: tensor<f64>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.return' op (C2) expects losses of one type, found 'tensor<f32>', 'tensor<f64>'}}
  dl.return loss(%x, %y : tensor<f32>, tensor<f64>) weight(%x, %y : tensor<f32>, tensor<f64>)
}

// -----

dl.entry @return_c3(%x: tensor<f32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.return' op (C3) expects a weight for each loss, found 2 losses and 0 weights}}
  dl.return loss(%x, %x : tensor<f32>, tensor<f32>)
}

// -----

dl.entry @return_c3_weights(%x: tensor<f32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.return' op (C3) expects a weight for each loss, found 1 losses and 2 weights}}
  dl.return loss(%x : tensor<f32>) weight(%x, %x : tensor<f32>, tensor<f32>)
}

// -----

// expected-error @+1 {{'dl.entry' op (C3) the metric 'loss' finishes by none, which does not take the accumulator 'sum' of 'tensor<f16>'}}
dl.entry @entry_c3_type(%x: tensor<f16>) -> (tensor<f16> {dl.name = "sum", dl.kind = #program.value<accumulator>})
    attributes {kind = #program.entry<train>, metrics = [#program.metric<"loss", loss, none, [<"sum", count = 1.0 : f64, coefficient = 1.0 : f64>]>]} {
  dl.return %x : tensor<f16>
}

// -----

dl.entry @fused_c1(%x: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.fused' op (C1) the body takes ('tensor<4xf32>'), but the operands are ('tensor<3xf32>')}}
  %y = dl.fused(%x) : (tensor<3xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    dl.yield %a : tensor<4xf32>
  }
  dl.return
}

// -----

dl.entry @fused_c2(%x: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.fused' op (C2) the body yields ('tensor<3xf32>'), but the results are ('tensor<4xf32>')}}
  %y = dl.fused(%x) : (tensor<3xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<3xf32>):
    dl.yield %a : tensor<3xf32>
  }
  dl.return
}

// -----

dl.variable @p : tensor<3xf32> role<parameter> init(<constant, 0.0, 0.0>)
dl.entry @fused_c3() attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{'dl.fused' op (C3) the body may hold pure dl ops only}}
  %y = dl.fused() : () -> tensor<3xf32> {
    // expected-note @+1 {{dl.read is here}}
    %a = dl.read @p : tensor<3xf32>
    dl.yield %a : tensor<3xf32>
  }
  dl.return
}

// -----

// What dl-choose notes is typed.
dl.entry @candidate_text(%x: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{attribute 'candidate' failed to satisfy constraint: one way to run a region}}
  %y = dl.fused(%x) {candidate = "map"} : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%0: tensor<3xf32>):
    %1 = dl.exp %0 : tensor<3xf32>
    dl.yield %1 : tensor<3xf32>
  }
  dl.return
}

// -----

dl.entry @candidate_c1(%x: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{(C1) expects a generator with its schedule}}
  %y = dl.fused(%x) {candidate = #program.candidate<generator = "cpu-map", seconds = 1.0>} : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%0: tensor<3xf32>):
    %1 = dl.exp %0 : tensor<3xf32>
    dl.yield %1 : tensor<3xf32>
  }
  dl.return
}

// -----

dl.entry @candidate_c2(%x: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{(C2) expects seconds of 0 or more as an f64, found -1.000000e+00 : f64}}
  %y = dl.fused(%x) {second_best = #program.candidate<seconds = -1.0 : f64>} : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%0: tensor<3xf32>):
    %1 = dl.exp %0 : tensor<3xf32>
    dl.yield %1 : tensor<3xf32>
  }
  dl.return
}

// -----

dl.entry @candidate_c2_type(%x: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{(C2) expects seconds of 0 or more as an f64, found 1.000000e+00 : f32}}
  %y = dl.fused(%x) {second_best = #program.candidate<seconds = 1.0 : f32>} : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%0: tensor<3xf32>):
    %1 = dl.exp %0 : tensor<3xf32>
    dl.yield %1 : tensor<3xf32>
  }
  dl.return
}

// -----

dl.entry @candidate_c3(%x: tensor<3xf32>) attributes {kind = #program.entry<infer>} {
  // expected-error @+1 {{(C3) expects a workspace of 0 or more, found -1}}
  %y = dl.fused(%x) {candidate = #program.candidate<seconds = 1.0, workspace = -1>} : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%0: tensor<3xf32>):
    %1 = dl.exp %0 : tensor<3xf32>
    dl.yield %1 : tensor<3xf32>
  }
  dl.return
}

// -----

dl.entry @multi_tensor_c1(%a: tensor<3xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.multi_tensor' op (C1) has 3 tensors for 2 streams}}
  dl.multi_tensor(%a, %a, %a) scalars() {streams = 2 : i64}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> () {
    dl.yield
  }
  dl.return
}

// -----

dl.entry @multi_tensor_c1_none(%a: tensor<3xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.multi_tensor' op (C1) has 1 tensors for 0 streams}}
  dl.multi_tensor(%a) scalars() {streams = 0 : i64} : (tensor<3xf32>) -> () {
    dl.yield
  }
  dl.return
}

// -----

dl.entry @multi_tensor_c2(%a: tensor<3xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.multi_tensor' op (C2) expects a number for each of 2 tensors, found 'tensor<3xf32>'}}
  dl.multi_tensor(%a, %a) each(%a) scalars() {streams = 1 : i64}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> () {
  ^bb0(%p: tensor<f32>, %own: tensor<f32>):
    dl.yield
  }
  dl.return
}

// -----

dl.entry @multi_tensor_c3(%a: tensor<3xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.multi_tensor' op (C3) has 1 results, expected 1 yielded elements of 2 tensors and 0 sums}}
  %0 = dl.multi_tensor(%a, %a) scalars() {streams = 1 : i64}
      : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%p: tensor<f32>):
    dl.yield %p : tensor<f32>
  }
  dl.return
}

// -----

dl.entry @multi_tensor_c4(%a: tensor<3xf32>, %b: tensor<4xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.multi_tensor' op (C4) tensor 0 is 'tensor<3xf32>' in stream 0, but 'tensor<4xf32>' in stream 1}}
  %0 = dl.multi_tensor(%a, %b) scalars() {streams = 2 : i64}
      : (tensor<3xf32>, tensor<4xf32>) -> tensor<3xf32> {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    dl.yield %p : tensor<f32>
  }
  dl.return
}

// -----

dl.entry @multi_tensor_c4_result(%a: tensor<3xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.multi_tensor' op (C4) tensor 0 is 'tensor<3xf32>' in stream 0, but 'tensor<4xf32>' in the results of value 0}}
  %0 = dl.multi_tensor(%a) scalars() {streams = 1 : i64}
      : (tensor<3xf32>) -> tensor<4xf32> {
  ^bb0(%p: tensor<f32>):
    dl.yield %p : tensor<f32>
  }
  dl.return
}

// -----

dl.entry @multi_tensor_c4_run(%a: tensor<3xf32>, %b: tensor<4xf64>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.multi_tensor' op (C4) stream 0 needs one element type, found 'tensor<4xf64>' beside 'tensor<3xf32>'}}
  dl.multi_tensor(%a, %b) scalars() {streams = 1 : i64} : (tensor<3xf32>, tensor<4xf64>) -> () {
  ^bb0(%p: tensor<f32>):
    dl.yield
  }
  dl.return
}

// -----

dl.entry @multi_tensor_c5_numbered(%a: tensor<3xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.multi_tensor' op (C5) the body takes ('tensor<f32>'), expected ('tensor<f32>', 'tensor<i32>')}}
  dl.multi_tensor(%a) scalars() {numbered, streams = 1 : i64} : (tensor<3xf32>) -> () {
  ^bb0(%p: tensor<f32>):
    dl.yield
  }
  dl.return
}

// -----

dl.entry @multi_tensor_c3_sums(%a: tensor<3xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.multi_tensor' op (C3) has 2 sums, but yields 1 values}}
  %0 = dl.multi_tensor(%a) scalars() {streams = 1 : i64, sums = 2 : i64} : (tensor<3xf32>) -> tensor<1xf32> {
  ^bb0(%p: tensor<f32>):
    dl.yield %p : tensor<f32>
  }
  dl.return
}

// -----

dl.entry @multi_tensor_c3_sum(%a: tensor<3xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.multi_tensor' op (C3) has a sum for each of 1 tensors, found 'tensor<3xf32>'}}
  %0 = dl.multi_tensor(%a) scalars() {streams = 1 : i64, sums = 1 : i64} : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%p: tensor<f32>):
    dl.yield %p : tensor<f32>
  }
  dl.return
}

// -----

dl.entry @multi_tensor_c5_sum(%a: tensor<3xbf16>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.multi_tensor' op (C5) sums are f32 or f64, found 'tensor<1xbf16>'}}
  %0 = dl.multi_tensor(%a) scalars() {streams = 1 : i64, sums = 1 : i64} : (tensor<3xbf16>) -> tensor<1xbf16> {
  ^bb0(%p: tensor<bf16>):
    dl.yield %p : tensor<bf16>
  }
  dl.return
}

// -----

dl.entry @multi_tensor_c5(%a: tensor<3xf32>, %own: tensor<1xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.multi_tensor' op (C5) the body takes ('tensor<f32>'), expected ('tensor<f32>', 'tensor<f32>')}}
  %0 = dl.multi_tensor(%a) each(%own) scalars() {streams = 1 : i64}
      : (tensor<3xf32>, tensor<1xf32>) -> tensor<3xf32> {
  ^bb0(%p: tensor<f32>):
    dl.yield %p : tensor<f32>
  }
  dl.return
}

// -----

dl.entry @multi_tensor_c5_yield(%a: tensor<3xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.multi_tensor' op (C5) the body yields ('tensor<i1>'), expected ('tensor<f32>')}}
  %0 = dl.multi_tensor(%a) scalars() {streams = 1 : i64}
      : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%p: tensor<f32>):
    %m = dl.compare gt %p, %p : tensor<f32>
    dl.yield %m : tensor<i1>
  }
  dl.return
}

// -----

dl.entry @gradient_c1(%x: tensor<3xf32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{dl.gradient: (C1) expects y of rank 0, found 'tensor<3xf32>'}}
  %g = dl.gradient %x by %x : tensor<3xf32> by tensor<3xf32>
  dl.return
}

// -----

dl.entry @gradient_c2(%x: tensor<f32>) attributes {kind = #program.entry<train>} {
  // expected-error @+2 {{dl.gradient: (C2) has nothing to differentiate by}}
  // expected-error @+1 {{failed to infer returned types}}
  "dl.gradient"(%x) : (tensor<f32>) -> ()
  dl.return
}

// -----

// expected-error @+1 {{'dl.entry' op has an unknown or malformed attribute "dl.kind" = #program.value<input> on result 0}}
dl.entry @kind(%x: tensor<4xf32>) -> (tensor<4xf32> {dl.kind = #program.value<input>}) attributes {kind = #program.entry<infer>} {
  dl.return %x : tensor<4xf32>
}

// -----

dl.entry @scalar_c1() attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.scalar' op (C1) expects an 'i64', found 5.000000e-01 : f64}}
  %0 = dl.scalar "step", 0.5 : tensor<i64>
  dl.return
}

// -----

dl.entry @scalar_c1_range() attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.scalar' op (C1) expects an 'i32', found 0x41E0000000000000 : f64}}
  %0 = dl.scalar "step", 2147483648.0 : tensor<i32>
  dl.return
}

// -----

dl.entry @scalar_c2() attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.scalar' op (C2) is scheduled, but an 'i64'}}
  %0 = dl.scalar "step", 0.0 scheduled : tensor<i64>
  dl.return
}

// -----

dl.entry @update_rows_c1(%t: tensor<4x3xf32>, %r: tensor<2x3xf32>, %n: tensor<2xi32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.update_rows' op (C1) gives ('tensor<3x3xf32>') for the tensors ('tensor<4x3xf32>')}}
  %new = dl.update_rows(%t) rows(%r, %n) scalars() : (tensor<4x3xf32>, tensor<2x3xf32>, tensor<2xi32>) -> tensor<3x3xf32> {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    dl.yield %p : tensor<f32>
  }
  dl.return
}

// -----

dl.entry @update_rows_c2(%t: tensor<4x3xf32>, %r: tensor<2x4xf32>, %n: tensor<2xi32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.update_rows' op (C2) has rows of 'tensor<2x4xf32>' for numbers of 'tensor<2xi32>' and 'tensor<4x3xf32>'}}
  %new = dl.update_rows(%t) rows(%r, %n) scalars() : (tensor<4x3xf32>, tensor<2x4xf32>, tensor<2xi32>) -> tensor<4x3xf32> {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    dl.yield %p : tensor<f32>
  }
  dl.return
}

// -----

dl.entry @update_rows_c3(%t: tensor<4x3xf32>, %r: tensor<2x3xf32>, %n: tensor<2xi32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.update_rows' op (C3) the body takes ('tensor<f32>'), expected ('tensor<f32>', 'tensor<f32>')}}
  %new = dl.update_rows(%t) rows(%r, %n) scalars() : (tensor<4x3xf32>, tensor<2x3xf32>, tensor<2xi32>) -> tensor<4x3xf32> {
  ^bb0(%p: tensor<f32>):
    dl.yield %p : tensor<f32>
  }
  dl.return
}

// -----

dl.entry @update_rows_c3_yield(%t: tensor<4x3xf32>, %r: tensor<2x3xf32>, %n: tensor<2xi32>) attributes {kind = #program.entry<train>} {
  // expected-error @+1 {{'dl.update_rows' op (C3) the body yields ('tensor<f32>', 'tensor<f32>'), expected ('tensor<f32>')}}
  %new = dl.update_rows(%t) rows(%r, %n) scalars() : (tensor<4x3xf32>, tensor<2x3xf32>, tensor<2xi32>) -> tensor<4x3xf32> {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>):
    dl.yield %p, %g : tensor<f32>, tensor<f32>
  }
  dl.return
}
