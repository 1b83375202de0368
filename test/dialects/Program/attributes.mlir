// Every attribute of the dialect is read and printed the same, in a module of no other dialect.
// RUN: dlc-opt %s | dlc-opt | FileCheck %s

// CHECK: #nchw16c = #program.layout<order = [0, 1, 2, 3], blocks = [1, 16]>
// CHECK: #nhwc = #program.layout<order = [0, 2, 3, 1]>
// CHECK: #nhwc16c = #program.layout<order = [0, 2, 3, 1], blocks = [1, 16]>
// CHECK: test.blocked = tensor<2x32x4x5xf32, #nchw16c>
// CHECK-SAME: test.entries = [#program.entry<train>, #program.entry<evaluate>, #program.entry<infer>, #program.entry<prepare>, #program.entry<accumulate>]
// CHECK-SAME: test.inits = [#program.init<constant, 1.000000e+00, 0.000000e+00>, #program.init<uniform, -2.000000e-01, 2.000000e-01>, #program.init<normal, 0.000000e+00, 1.000000e-01>, #program.init<truncated_normal, 0.000000e+00, 1.000000e-01>, #program.init<orthogonal, 1.000000e+00, 0.000000e+00>, #program.init<copy, 0.000000e+00, 0.000000e+00>]
// CHECK-SAME: test.last = tensor<2x3x4x5xf32, #nhwc>
// CHECK-SAME: test.lines = tensor<2x32x4x5xf32, #nhwc16c>
// CHECK-SAME: test.metrics = [#program.metric<"loss", loss, none, [<"loss.sum", count = 6.400000e+01 : f64, coefficient = 1.000000e+00 : f64>]>, #program.metric<"perplexity", metric, exp, [<"a" over "b", count = 0.000000e+00 : f64, coefficient = 5.000000e-01 : f64>]>]
// CHECK-SAME: test.roles = [#program.role<parameter>, #program.role<slot>, #program.role<statistic>, #program.role<state>, #program.role<counter>, #program.role<metric>, #program.role<derived>]
// CHECK-SAME: test.schedule = [#program.schedule_part<cosine, in_epochs = true, length = 2.000000e+00 : f64, n = 2.000000e+00 : f64, 0.000000e+00 : f64, 0.000000e+00 : f64, 0.000000e+00 : f64>, #program.schedule_part<plateau, in_epochs = true, length = 0.000000e+00 : f64, n = 0.000000e+00 : f64, 5.000000e-01 : f64, 3.000000e+00 : f64, 1.000000e+00 : f64, metric = "accuracy">]
// CHECK-SAME: test.values = [#program.value<input>, #program.value<result>, #program.value<accumulator>, #program.value<gradient>]
// CHECK: program.settings {epochs = 2 : i64, operations = 3 : i64, reference_batch = 64 : i64}
module attributes {
  test.blocked = tensor<2x32x4x5xf32, #program.layout<order = [0, 1, 2, 3], blocks = [1, 16]>>,
  test.entries = [#program.entry<train>, #program.entry<evaluate>, #program.entry<infer>,
             #program.entry<prepare>, #program.entry<accumulate>],
  test.inits = [#program.init<constant, 1.0, 0.0>, #program.init<uniform, -0.2, 0.2>,
           #program.init<normal, 0.0, 0.1>, #program.init<truncated_normal, 0.0, 0.1>,
           #program.init<orthogonal, 1.0, 0.0>, #program.init<copy, 0.0, 0.0>],
  test.last = tensor<2x3x4x5xf32, #program.layout<order = [0, 2, 3, 1]>>,
  test.lines = tensor<2x32x4x5xf32, #program.layout<order = [0, 2, 3, 1], blocks = [1, 16]>>,
  test.metrics = [#program.metric<"loss", loss, none,
                 [<"loss.sum", count = 64.0 : f64, coefficient = 1.0 : f64>]>,
             #program.metric<"perplexity", metric, exp,
                 [<"a" over "b", count = 0.0 : f64, coefficient = 0.5 : f64>]>],
  test.roles = [#program.role<parameter>, #program.role<slot>, #program.role<statistic>,
           #program.role<state>, #program.role<counter>, #program.role<metric>,
           #program.role<derived>],
  test.schedule = [#program.schedule_part<cosine, in_epochs = true, length = 2.0 : f64, n = 2.0 : f64,
                                     0.0 : f64, 0.0 : f64, 0.0 : f64>,
              #program.schedule_part<plateau, in_epochs = true, length = 0.0 : f64, n = 0.0 : f64,
                                     0.5 : f64, 3.0 : f64, 1.0 : f64, metric = "accuracy">],
  test.values = [#program.value<input>, #program.value<result>, #program.value<accumulator>,
            #program.value<gradient>]
} {
  program.settings {epochs = 2 : i64, operations = 3 : i64, reference_batch = 64 : i64}
}
