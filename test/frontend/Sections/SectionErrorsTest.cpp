// Errors of which sections a file has, their models, fields and results, with their exact text.
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
{"InferAloneLeavesADimensionUnbound", R"dl(model M(x: f32[T, N, 4]) -> f32[T, N, 3] {
  return linear(x, 3)
}
infer M { batch = 4 }
)dl",
R"dl(test.dl:1:16: error: dimension 'T' is not bound
model M(x: f32[T, N, 4]) -> f32[T, N, 3] {
               ^ bind it in the section, or by -D T=...
)dl", {}},
{"InferAloneWithAnUnknownDefine", R"dl(model M(x: f32[T, N, 4]) -> f32[T, N, 3] {
  return linear(x, 3)
}
infer M { batch = 4 T = 6 }
)dl",
R"dl(-D:1:1: error: there is no constant or dimension 'S'
S=6
^ there is N, T
)dl", {"S=6"}},
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
                ^~~~~~~ bind it in the section, or by -D classes=...
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
                             ^~~~~~~~~~~~~ where f32[N, 10] is meant, declare it
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
};
// clang-format on

TEST(SectionErrors, SayWhatIsWrong) { checkErrors(cases); }
