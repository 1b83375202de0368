// Errors of what a train section binds, sizes and settings among it, with their exact text.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

// clang-format off
static const ErrorCase cases[] = {
{"LossOfF16", R"dl(model M(x: f16[N, 3]) -> f16[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:6:10: error: the loss must be a scalar f32[] or f64[], found f16[]
  loss = softmax_cross_entropy(output, label)
         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ f32(output) before the loss
)dl", {}},
{"MetricInAnIf", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  if true { metric a = accuracy(output, label) }
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:6:13: error: 'metric' stands in a train section or a step only
  if true { metric a = accuracy(output, label) }
            ^~~~~~ and not inside 'for', 'repeat' or 'if'
)dl", {}},
{"UnboundDimensionOfAModel", R"dl(vocabulary = 10
model M(x: f32[N, 3]) -> f32[N, vocabulry] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:2:33: error: dimension 'vocabulry' is not bound
model M(x: f32[N, 3]) -> f32[N, vocabulry] {
                                ^~~~~~~~~ a constant 'vocabulary' exists; or bind it by -D
)dl", {}},
{"NoBatch", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
}
)dl",
R"dl(test.dl:4:1: error: the train section binds no 'batch'
train M {
^~~~~ batch = 64, or -D N=64
)dl", {}},
{"BatchZero", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 0
}
)dl",
R"dl(test.dl:8:3: error: 'batch' is an integer of 1 or more, found the integer 0
  batch = 0
  ^~~~~
)dl", {}},
{"BatchOfAModel", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = size(output, 1)
}
)dl",
R"dl(test.dl:8:11: error: 'batch' must be known before the model is evaluated
  batch = size(output, 1)
          ^~~~~~~~~~~~~~~ it may use constants and numbers
)dl", {}},
{"NoLoss", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:4:1: error: the train section binds no 'loss'
train M {
^~~~~ loss = softmax_cross_entropy(output, label)
)dl", {}},
{"LossIsNoScalar", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label, reduction="none")
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:6:10: error: the loss must be a scalar f32[] or f64[], found f32[4]
  loss = softmax_cross_entropy(output, label, reduction="none")
         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ mean(...)
)dl", {}},
{"LossIsANumber", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = 3
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:6:10: error: the loss must be a scalar f32[] or f64[], found the integer 3
  loss = 3
         ^
)dl", {}},
{"LossIsNoSum", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = sqrt(mean(square(output)))
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:6:10: error: the loss must be a sum of multiples of means over the batch, so that partial batches and ranks add up
  loss = sqrt(mean(square(output)))
         ^~~~ compute it per sample, with reduction="none", and take the mean last
)dl", {}},
{"MetricIsNoSum", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  metric error = exp(mean(output))
}
)dl",
R"dl(test.dl:9:18: error: a metric must be a sum of multiples of means over the batch, so that partial batches and ranks add up
  metric error = exp(mean(output))
                 ^~~ perplexity(...), or exp per sample before the mean
)dl", {}},
{"MetricTwice", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  metric a = accuracy(output, label)
  metric a = accuracy(output, label)
}
)dl",
R"dl(test.dl:10:14: error: there are two metrics named 'a'
  metric a = accuracy(output, label)
             ^~~~~~~~~~~~~~~~~~~~~~~
)dl", {}},
{"LabelsDoNotFit", R"dl(model M(x: f32[N, 3]) -> f32[N, 5, 10] {
  return x |> linear(50) |> reshape((N, 5, 10))
}
train M {
  label: i32[N, 5]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:6:40: error: labels i32[4, 5] do not fit logits f32[4, 5, 10] with classes on axis 1
  loss = softmax_cross_entropy(output, label)
                                       ^~~~~ with axis=-1 they do
)dl", {}},
{"NoOptimizer", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  batch = 4
}
)dl",
R"dl(test.dl:4:1: error: the train section binds no 'optimizer'
train M {
^~~~~ optimizer = sgd(learning_rate=0.01)
)dl", {}},
{"MisspeltSetting", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimzer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:7:3: error: 'optimzer' is bound and never used
  optimzer = sgd(learning_rate=0.1)
  ^~~~~~~~ did you mean the setting 'optimizer'?
)dl", {}},
{"OptimizerIsANumber", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = 0.1
  batch = 4
}
)dl",
R"dl(test.dl:7:3: error: 'optimizer' is such as sgd(learning_rate=0.01), found the float 0.1
  optimizer = 0.1
  ^~~~~~~~~
)dl", {}},
{"NegativeRate", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=-0.1)
  batch = 4
}
)dl",
R"dl(test.dl:7:33: error: 'learning_rate' is 0 or more, found -0.1
  optimizer = sgd(learning_rate=-0.1)
                                ^~~~
)dl", {}},
{"NesterovWithoutMomentum", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1, nesterov=true)
  batch = 4
}
)dl",
R"dl(test.dl:7:47: error: nesterov needs a momentum and no dampening
  optimizer = sgd(learning_rate=0.1, nesterov=true)
                                              ^~~~
)dl", {}},
{"UnusedName", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  rate = 0.5
}
)dl",
R"dl(test.dl:9:3: error: 'rate' is bound and never used
  rate = 0.5
  ^~~~
)dl", {}},
{"PrecisionAndLossScale", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  precision = f64
  loss_scale = "static"
}
)dl",
R"dl(test.dl:9:3: error: 'precision' is f32, bf16, f16 or tf32, found the dtype f64
  precision = f64
  ^~~~~~~~~
test.dl:10:3: error: 'loss_scale' is a number above 0 that f32 holds, "dynamic" or none, found the string "static"
  loss_scale = "static"
  ^~~~~~~~~~
)dl", {}},
{"PrecisionOfInference", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
infer M {
  precision = "bf16"
}
)dl",
R"dl(test.dl:11:3: error: 'precision' is f32, bf16, f16 or tf32, found the string "bf16"
  precision = "bf16"
  ^~~~~~~~~ without '"': bf16
)dl", {}},
{"LossScaleOfNothing", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  precision = f16
  loss_scale = 0
}
)dl",
R"dl(test.dl:10:3: error: 'loss_scale' is a number above 0 that f32 holds, "dynamic" or none, found the integer 0
  loss_scale = 0
  ^~~~~~~~~~
)dl", {}},
{"MastersOfAType", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  precision = bf16
  masters = f32
}
)dl",
R"dl(test.dl:10:3: error: 'masters' is true or false, found the dtype f32
  masters = f32
  ^~~~~~~
)dl", {}},
{"AccumulateOfTooManyBatches", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  accumulate = 3000000000
}
)dl",
R"dl(test.dl:9:3: error: 'accumulate' of 3000000000 leaves more than 2147483647 batches between two updates
  accumulate = 3000000000
  ^~~~~~~~~~
)dl", {}},
{"EpochsOfAString", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  epochs = "3"
}
)dl",
R"dl(test.dl:9:3: error: 'epochs' is an integer of 1 or more, found the string "3"
  epochs = "3"
  ^~~~~~
)dl", {}},
{"LayerInASection", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(linear(output, 10), label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:6:32: error: a section creates no weights
  loss = softmax_cross_entropy(linear(output, 10), label)
                               ^~~~~~ layers and parameters stand in a model, or in a block it calls
)dl", {}},
{"PatternMatchesNothing", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  parameters "**.batchnorm*.*" { decay_mult = 0 }
}
)dl",
R"dl(test.dl:9:14: error: the pattern matches none of the 2 parameters
  parameters "**.batchnorm*.*" { decay_mult = 0 }
             ^~~~~~~~~~~~~~~~~ nearest names: 'linear1.bias', 'linear1.weight'
)dl", {}},
{"UnknownGroupSetting", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  parameters "**" { decay = 0 }
}
)dl",
R"dl(test.dl:9:21: error: a group has no setting 'decay'
  parameters "**" { decay = 0 }
                    ^~~~~ it has lr_mult, decay_mult, frozen, init, optimizer, precision
)dl", {}},
{"WrongGroupSetting", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  parameters "**" { frozen = 1 }
}
)dl",
R"dl(test.dl:9:30: error: 'frozen' of a group is true or false, found the integer 1
  parameters "**" { frozen = 1 }
                             ^
)dl", {}},
{"WrongGroupPrecision", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  parameters "**" { precision = f64 }
}
)dl",
R"dl(test.dl:9:33: error: 'precision' of a group is f32, bf16, f16 or tf32, found the dtype f64
  parameters "**" { precision = f64 }
                                ^~~
)dl", {}},
{"EverythingFrozen", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  parameters "**" { frozen = true }
}
)dl",
R"dl(test.dl:6:3: error: the loss does not depend on any parameter that is trained
  loss = softmax_cross_entropy(output, label)
  ^~~~
)dl", {}},
{"TheBatchByItsSymbol", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  N = 8
}
)dl",
R"dl(test.dl:9:3: error: 'N' is the batch, which is bound by 'batch'
  N = 8
  ^ batch = 8
)dl", {}},
{"TheBatchByItsSymbolOnly", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  N = 8
}
)dl",
R"dl(test.dl:8:3: error: 'N' is the batch, which is bound by 'batch'
  N = 8
  ^ batch = 8
)dl", {}},
};
// clang-format on

TEST(SettingErrors, SayWhatIsWrong) { checkErrors(cases); }
