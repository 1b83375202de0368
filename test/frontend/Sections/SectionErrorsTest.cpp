// Errors of items, models, sections, constants and `-D` with their exact text.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

// clang-format off
static const ErrorCase cases[] = {
{"EmptyFile", "",
R"dl(test.dl:1:1: error: the file has no train and no infer section

^ train Model { ... }
)dl", {}},
{"NoSection", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
)dl",
R"dl(test.dl:1:1: error: the file has no train and no infer section
model M(x: f32[N, 3]) -> f32[N, 10] {
^ train Model { ... }
)dl", {}},
{"UnknownModel", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train Model {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:4:7: error: there is no model 'Model'
train Model {
      ^~~~~ the file has M
)dl", {}},
{"ModelTwice", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M, M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:4:10: error: 'M' is listed twice
train M, M {
         ^ a section has one instance of a model; calling it twice shares its weights
)dl", {}},
{"InferOfAnUntrainedModel", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
model Other(x: f32[N, 3]) -> f32[N, 3] {
  return relu(x)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
infer Other {
  batch = 1
}
)dl",
R"dl(test.dl:13:7: error: no train section has the model 'Other'
infer Other {
      ^~~~~ an infer section uses what a train section has trained
)dl", {}},
{"LossOfF64", R"dl(model M(x: f64[N, 3]) -> f64[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:6:10: error: the loss must be a scalar f32[], found f64[]
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
{"AFieldWithoutATypeIsSilent", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N, classes]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:5:17: error: dimension 'classes' is not bound
  label: i32[N, classes]
                ^~~~~~~ bind it in the train section, or by -D classes=...
)dl", {}},
{"BlockIsNoModel", R"dl(block B(x) { return x }
train B {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:2:7: error: 'B' is a block, not a model
train B {
      ^ model Name(x: f32[N, 784]) -> f32[N, 10] { ... } calls it
)dl", {}},
{"NameTakenByItems", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
M = 3
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:4:1: error: the name 'M' is taken
M = 3
^
test.dl:1:7: note: first declared here
)dl", {}},
{"AttributeAsParameter", R"dl(block B(x, name) { return x }
model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:1:12: error: 'name' is an attribute of every call and cannot name a parameter
block B(x, name) { return x }
           ^~~~
)dl", {}},
{"ParameterTwice", R"dl(block B(x, x) { return x }
model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:1:12: error: the parameter 'x' is given twice
block B(x, x) { return x }
           ^
test.dl:1:9: note: first here
)dl", {}},
{"UnknownSetting", R"dl(model M(x: f32[N, 3], width=8) -> f32[N, 10] {
  return x |> linear(10)
}
train M(widht=3) {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:4:9: error: model 'M' has no setting 'widht'
train M(widht=3) {
        ^~~~~ did you mean 'width'?
)dl", {}},
{"SettingByPosition", R"dl(model M(x: f32[N, 3], width=8) -> f32[N, 10] {
  return x |> linear(10)
}
train M(3) {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:4:9: error: settings of a model are given by name
train M(3) {
        ^ it has width
)dl", {}},
{"WrongResult", R"dl(model M(x: f32[N, 3]) -> f32[N, 11] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:2:15: error: M returns f32[4, 10], declared is f32[4, 11]
  return x |> linear(10)
              ^~~~~~~~~~
test.dl:1:26: note: declared here
)dl", {}},
{"WrongResultCount", R"dl(model M(x: f32[N, 3]) -> (a: f32[N, 10], b: f32[N, 10]) {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(a, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:2:3: error: M returns 1 value, declared are 2
  return x |> linear(10)
  ^~~~~~~~~~~~~~~~~~~~~~
test.dl:1:26: note: declared here
)dl", {}},
{"WrongInput", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  x: u8[N, 3]
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:4:7: error: 'x' is u8[4, 3], declared is f32[4, 3]
train M {
      ^
test.dl:1:12: note: declared here
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
R"dl(test.dl:6:10: error: the loss must be a scalar f32[], found f32[4]
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
R"dl(test.dl:6:10: error: the loss must be a scalar f32[], found the integer 3
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
{"OptimizerNotAvailable", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = lamb()
  batch = 4
}
)dl",
R"dl(test.dl:7:15: error: lamb is not available yet
  optimizer = lamb()
              ^~~~ there is sgd, adam, adamw, rmsprop, adagrad, adadelta
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
{"SettingsNotAvailable", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  precision = bf16
  loss_scale = 0.5
}
)dl",
R"dl(test.dl:9:3: error: 'precision' with the dtype bf16 is not available yet
  precision = bf16
  ^~~~~~~~~
test.dl:10:3: error: 'loss_scale' with the float 0.5 is not available yet
  loss_scale = 0.5
  ^~~~~~~~~~
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
{"FieldNamedValid", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  valid: i32[N]
  loss = softmax_cross_entropy(output, valid)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:5:3: error: an input cannot be named 'valid': that is the number of valid samples
  valid: i32[N]
  ^~~~~
)dl", {}},
{"FieldTwice", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:6:3: error: the field 'label' is declared twice
  label: i32[N]
  ^~~~~
test.dl:5:3: note: first declared here
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
                    ^~~~~ it has lr_mult, decay_mult, frozen, init, optimizer
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
{"SeveralTrainSections", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M as a {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
train M as b {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:10:1: error: the file has 2 train sections
train M as b {
^~~~~ choose one by --train=NAME: a, b
)dl", {}},
{"ShapeUsesTheBatch", R"dl(model M(x: f32[N, 3]) -> f32[N, 3] {
  parameter p: f32[N, 3] = 0
  return x + p
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:2:13: error: parameter 'p' is f32[4, 3] in train_step and f32[1, 3] in infer_n1
  parameter p: f32[N, 3] = 0
            ^ its shape must not use N
)dl", {}},
{"TrainSectionsOfOneName", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 8
}
)dl",
R"dl(test.dl:10:1: error: there are two train sections named 'M'
train M {
^~~~~ train M as NAME
test.dl:4:1: note: the first is here
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
{"TheBatchOfInferenceByItsSymbol", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
infer M { N = [1, 2] }
)dl",
R"dl(test.dl:10:11: error: 'N' is the batch, which is bound by 'batch'
infer M { N = [1, 2] }
          ^ batch = [1, 2]
)dl", {}},
{"EntriesOfOneName", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
infer M { batch = 2 }
infer M { batch = 1 }
)dl",
R"dl(test.dl:11:1: error: there are two infer sections named 'infer'
infer M { batch = 1 }
^~~~~ infer M as NAME
test.dl:10:1: note: the first is here
)dl", {}},
{"InferReturnsANumber", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
infer M { return 3 }
)dl",
R"dl(test.dl:10:11: error: an entry returns tensors, found the integer 3
infer M { return 3 }
          ^~~~~~~~
)dl", {}},
{"InferNeedsNames", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
infer M { return output, relu(output) }
)dl",
R"dl(test.dl:10:11: error: several results need names
infer M { return output, relu(output) }
          ^~~~~~~~~~~~~~~~~~~~~~~~~~~ infer ... -> (name: type, ...)
)dl", {}},
{"InferDeclaredType", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
infer M -> (p: f32[N, 11]) { return output }
)dl",
R"dl(test.dl:10:30: error: 'p' is f32[1, 10], declared is f32[1, 11]
infer M -> (p: f32[N, 11]) { return output }
                             ^~~~~~~~~~~~~
test.dl:10:16: note: declared here
)dl", {}},
{"InferUnknownModel", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
infer Q { return output }
)dl",
R"dl(test.dl:10:7: error: there is no model 'Q'
infer Q { return output }
      ^ the file has M
)dl", {}},
{"ConstantOfItself", R"dl(a = b
b = a
model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(a)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:2:5: error: the constant 'a' depends on itself
b = a
    ^
test.dl:1:1: note: declared here
)dl", {}},
{"ConstantIsATensor", R"dl(a = zeros((3,))
model M(x: f32[N, 3]) -> f32[N, 10] {
  return x + a |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:1:5: error: this must be known at compile time, zeros makes a tensor
a = zeros((3,))
    ^~~~~ a model or a block may make it
)dl", {}},
{"BlockOfItself", R"dl(block B(x) { return C(x) }
block C(x) { return B(x) }
model M(x: f32[N, 3]) -> f32[N, 10] {
  return B(x) |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:2:21: error: 'B' calls itself
block C(x) { return B(x) }
                    ^
test.dl:1:21: note: in B1.C1, called here
test.dl:4:10: note: in B1, called here
test.dl:1:7: note: declared here
)dl", {}},
{"ErrorInsideBlocks", R"dl(block Inner(x, k) {
  return x |> conv2d(8, k)
}
block Outer(x) {
  return Inner(x, 9)
}
model M(x: f32[N, 3, 8, 8]) -> f32[N, 10] {
  return Outer(x) |> flatten |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:2:25: error: kernel 9x9 is larger than the padded input 8x8
  return x |> conv2d(8, k)
                        ^
test.dl:5:10: note: in Outer1.Inner1, called here
test.dl:8:10: note: in Outer1, called here
test.dl:7:9: note: 'x' is declared here
)dl", {}},
{"ShapeFromABlock", R"dl(block Pool(x) { return x |> max_pool(4) }
model M(x: f32[N, 3, 8, 8]) -> f32[N, 10] {
  y = Pool(x)
  return y |> conv2d(3, 5) |> flatten |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:4:25: error: kernel 5x5 is larger than the padded input 2x2
  return y |> conv2d(3, 5) |> flatten |> linear(10)
                        ^
test.dl:3:7: note: 2x2 comes from this call of Pool
)dl", {}},
{"ShapeInsideABlock", R"dl(block Add(x) {
  y = x |> conv2d(8, 1)
  return x + y
}
model M(x: f32[N, 3, 8, 8]) -> f32[N, 10] {
  return x |> Add |> flatten |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:3:12: error: shapes f32[4, 3, 8, 8] and f32[4, 8, 8, 8] do not fit: axis 1 is 3 and 8
  return x + y
           ^
test.dl:2:12: note: 8 comes from this conv2d, in Add1, called at test.dl:6:15
)dl", {}},
{"DefineUnknown", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(-D:1:1: error: there is no constant or dimension 'rate'
rate=3
^~~~ there is N
)dl", {"rate=3"}},
{"DefineOfAnotherKind", R"dl(rate = 0.1
model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=rate)
  batch = 4
}
)dl",
R"dl(-D:1:6: error: 'rate' is the float 0.1 in the file, here it is the bool true
rate=true
     ^~~~
test.dl:1:1: note: declared here
)dl", {"rate=true"}},
{"DefineWithoutValue", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(-D:1:1: error: expected NAME=value, found 'N'
N
^ as -D N=32
)dl", {"N"}},
{"DefineBatch", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(-D:1:1: error: there is no constant or dimension 'batch'
batch=3
^~~~~ -D N=...
)dl", {"batch=3"}},
{"DefineZero", R"dl(model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(-D:1:3: error: 'batch' is an integer of 1 or more, found the integer 0
N=0
  ^
)dl", {"N=0"}},
{"ImportOfNoFile", R"dl(from "nowhere.dl" import A
model M(x: f32[N, 3]) -> f32[N, 10] {
  return x |> linear(10)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:1:6: error: there is no file 'nowhere.dl'
from "nowhere.dl" import A
     ^~~~~~~~~~~~
note: looked for nowhere.dl
)dl", {}},
};
// clang-format on

TEST(SectionErrors, SayWhatIsWrong) { checkErrors(cases); }
