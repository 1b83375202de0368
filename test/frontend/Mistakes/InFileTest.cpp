// The mistakes of the first day, each with the exact line that helps: what is written as in Python,
// C++, PyTorch, Keras or Caffe, slips of the hand, and what is said elsewhere in another place.
// Here those that need a file of their own.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

// clang-format off
static const ErrorCase files[] = {
{"DModelSetting", R"dl(model M(x: f32[N, 4], width=3) -> f32[N, 3] { return x |> linear(width) |> linear(3) }
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(-D:1:1: error: there is no constant or dimension 'width'
width=5
^~~~~ a setting of M: train M(width=c) and a constant c = ... let -D set c
)dl", {"width=5"}},
{"NoBatchAxis", R"dl(model M(x: f32[784]) -> f32[10] { return x |> linear(10) }
train M {
  label: i32[]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:1:12: error: no axis counts the samples of a batch: it is called N
model M(x: f32[784]) -> f32[10] { return x |> linear(10) }
           ^~~~~~~~ such as f32[N, 784]
)dl", {}},
{"NoBatchAxis2", R"dl(model M(x: f32[64, 784]) -> f32[64, 10] { return x |> linear(10) }
train M {
  label: i32[64]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:12: error: no axis counts the samples of a batch: it is called N
model M(x: f32[64, 784]) -> f32[64, 10] { return x |> linear(10) }
           ^~~~~~~~~~~~ such as f32[N, 784]
)dl", {}},
{"BatchAxisB", R"dl(model M(x: f32[B, 784]) -> f32[B, 10] { return x |> linear(10) }
train M {
  label: i32[B]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:12: error: no axis counts the samples of a batch: it is called N
model M(x: f32[B, 784]) -> f32[B, 10] { return x |> linear(10) }
           ^~~~~~~~~~~ such as f32[N, 784]
)dl", {}},
{"BatchAxisBatch", R"dl(model M(x: f32[batch, 784]) -> f32[batch, 10] { return x |> linear(10) }
train M {
  label: i32[batch]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:12: error: no axis counts the samples of a batch: it is called N
model M(x: f32[batch, 784]) -> f32[batch, 10] { return x |> linear(10) }
           ^~~~~~~~~~~~~~~ such as f32[N, 784]
)dl", {}},
{"LabelForgotBatch", R"dl(model M(x: f32[N, 784]) -> f32[N, 10] { return x |> linear(10) }
train M {
  label: i32[64]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:4:40: error: labels i32[64] have no batch axis, the logits f32[64, 10] have one
  loss = softmax_cross_entropy(output, label)
                                       ^~~~~ the axis that counts samples is called N
test.dl:3:3: note: 'label' is declared here
)dl", {}},
{"FieldClip", R"dl(model M(image: f32[N, 784]) -> f32[N, 10] { return linear(image, 10) }
train M {
  clip: i32[N]
  loss = softmax_cross_entropy(output, clip)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:3:3: error: 'clip' is a setting of train sections and cannot name data
  clip: i32[N]
  ^~~~ another name
)dl", {}},
{"InputSchedule", R"dl(model M(schedule: f32[N, 784]) -> f32[N, 10] { return linear(schedule, 10) }
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:9: error: 'schedule' is a setting of train sections and cannot name an input that the section calls the model on
model M(schedule: f32[N, 784]) -> f32[N, 10] { return linear(schedule, 10) }
        ^~~~~~~~ another name, or call the model: x: f32[N, ...], then y = Model(x)
)dl", {}},
{"InputBatch", R"dl(model M(batch: f32[N, 784]) -> f32[N, 10] { return linear(batch, 10) }
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:9: error: 'batch' is a setting of train sections and cannot name an input that the section calls the model on
model M(batch: f32[N, 784]) -> f32[N, 10] { return linear(batch, 10) }
        ^~~~~ another name, or call the model: x: f32[N, ...], then y = Model(x)
)dl", {}},
{"InputLoss", R"dl(model M(loss: f32[N, 784]) -> f32[N, 10] { return linear(loss, 10) }
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:9: error: 'loss' is a setting of train sections and cannot name an input that the section calls the model on
model M(loss: f32[N, 784]) -> f32[N, 10] { return linear(loss, 10) }
        ^~~~ another name, or call the model: x: f32[N, ...], then y = Model(x)
)dl", {}},
{"InferFieldPrecision", R"dl(model M(x: f32[N, 4]) -> f32[N, 4] { return linear(x, 4) }
train M {
  loss = mean_squared_error(output, x)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
infer M {
  precision: f32[N, 4]
  return output * precision
}
)dl",
R"dl(test.dl:8:3: error: 'precision' is a setting of infer sections and cannot name data
  precision: f32[N, 4]
  ^~~~~~~~~ another name
)dl", {}},
{"InferInputBatch", R"dl(model M(batch: f32[N, 4]) -> f32[N, 4] { return linear(batch, 4) }
train M {
  x: f32[N, 4]
  y = M(x)
  loss = mean_squared_error(y, x)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
infer M { batch = 1 }
)dl",
R"dl(test.dl:1:9: error: 'batch' is a setting of infer sections and cannot name an input that the section calls the model on
model M(batch: f32[N, 4]) -> f32[N, 4] { return linear(batch, 4) }
        ^~~~~ another name, or call the model: x: f32[N, ...], then y = Model(x)
)dl", {}},
{"InferResultPrecision", R"dl(model M(x: f32[N, 4]) -> (precision: f32[N, 4]) { return linear(x, 4) }
train M {
  x: f32[N, 4]
  y = M(x)
  loss = mean_squared_error(y, x)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
infer M { batch = 1 }
)dl",
R"dl(test.dl:1:27: error: 'precision' is a setting of infer sections and cannot name a result of the model that the section calls
model M(x: f32[N, 4]) -> (precision: f32[N, 4]) { return linear(x, 4) }
                          ^~~~~~~~~ another name, or call the model: y, z = Model(x)
)dl", {}},
{"BlockCommentTop", R"dl(/* a comment */
model M(x: f32[N, 4]) -> f32[N, 3] { return linear(x, 3) }
)dl",
R"dl(test.dl:1:1: error: unexpected '/*'
/* a comment */
^~ a comment begins with '//', on each of its lines
)dl", {}},
{"NamedResultsThenOutput", R"dl(model M(x: f32[N, 4]) -> (logits: f32[N, 3], probs: f32[N, 3]) {
  y = linear(x, 3)
  return y, softmax(y)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:7:32: error: unknown name 'output'
  loss = softmax_cross_entropy(output, label)
                               ^~~~~~ what M returns is called 'logits', 'probs'
)dl", {}},
{"TrainABlock", R"dl(block Net(x) { return linear(x, 3) }
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:2:7: error: 'Net' is a block, not a model
train Net {
      ^~~ model Name(x: f32[N, 784]) -> f32[N, 10] { ... } calls it
)dl", {}},
{"ImportParens", R"dl(from "std/resnet.dl" import (Bottleneck, BasicBlock)
)dl",
R"dl(test.dl:1:29: error: expected a name, found '('
from "std/resnet.dl" import (Bottleneck, BasicBlock)
                            ^ names stand without parentheses
)dl", {}},
{"ImportAs", R"dl(from "std/resnet.dl" import Bottleneck as B
model Net(x: f32[N, 4]) -> f32[N, 3] { return linear(x, 3) }
)dl",
R"dl(test.dl:1:40: error: expected ',' or the next item, found 'as'
from "std/resnet.dl" import Bottleneck as B
                                       ^~ an imported name stays as it is
)dl", {}},
{"ModelTwoResults", R"dl(model Net(x: f32[N, 4]) -> f32[N, 3], f32[N, 3] { return linear(x, 3) }
)dl",
R"dl(test.dl:1:37: error: expected '{', found ','
model Net(x: f32[N, 4]) -> f32[N, 3], f32[N, 3] { return linear(x, 3) }
                                    ^ several results have names: -> (a: f32[N, 10], b: f32[N, 2])
)dl", {}},
{"ModelResultsUnnamed", R"dl(model Net(x: f32[N, 4]) -> (f32[N, 3], f32[N, 3]) { return linear(x, 3), linear(x, 3) }
)dl",
R"dl(test.dl:1:29: error: expected a name, found 'f32'
model Net(x: f32[N, 4]) -> (f32[N, 3], f32[N, 3]) { return linear(x, 3), linear(x, 3) }
                            ^~~ several results have names: -> (a: f32[N, 10], b: f32[N, 2])
)dl", {}},
{"ModelWrongResult", R"dl(model Net(x: f32[N, 1, 28, 28]) -> f32[N, 10] { return linear(x, 10) }
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:1:56: error: Net returns f32[4, 1, 28, 10], declared is f32[4, 10]
model Net(x: f32[N, 1, 28, 28]) -> f32[N, 10] { return linear(x, 10) }
                                                       ^~~~~~~~~~~~~ flatten joins all axes but the first: x |> flatten |> linear(10)
test.dl:1:36: note: declared here
)dl", {}},
{"ModelReturnsLayersOfStates", R"dl(model Net(x: f32[N, 5, 4]) -> f32[N, 3] {
  _, last = gru(x, 8, batch_first=true)
  return linear(last, 3)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:3:10: error: Net returns f32[1, 4, 3], declared is f32[4, 3]
  return linear(last, 3)
         ^~~~~~~~~~~~~~~ x[0] drops its first axis, which a last state of gru or lstm has for the layers
test.dl:1:31: note: declared here
)dl", {}},
{"ModelReturnsTwo", R"dl(model Net(x: f32[N, 4]) -> f32[N, 3] { return linear(x, 3), x }
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:1:40: error: Net returns 2 values, declared is one
model Net(x: f32[N, 4]) -> f32[N, 3] { return linear(x, 3), x }
                                       ^~~~~~~~~~~~~~~~~~~~~~ several results have names: -> (a: f32[N, 10], b: f32[N, 2])
test.dl:1:28: note: declared here
)dl", {}},
{"TypeNone", R"dl(model Net(x: f32[None, 4]) -> f32[None, 3] { return linear(x, 3) }
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:1:18: error: dimension 'None' is not bound
model Net(x: f32[None, 4]) -> f32[None, 3] { return linear(x, 3) }
                 ^~~~ the batch is called N
)dl", {}},
{"TypeMinusOne", R"dl(model Net(x: f32[-1, 4]) -> f32[-1, 3] { return linear(x, 3) }
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:1:18: error: a dimension is an integer of 0 or more, found the integer -1
model Net(x: f32[-1, 4]) -> f32[-1, 3] { return linear(x, 3) }
                 ^~ the batch is called N
)dl", {}},
{"LowerN", R"dl(model Net(x: f32[n, 4]) -> f32[n, 3] { return linear(x, 3) }
train Net {
  label: i32[n]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:1:14: error: no axis counts the samples of a batch: it is called N
model Net(x: f32[n, 4]) -> f32[n, 3] { return linear(x, 3) }
             ^~~~~~~~~ such as f32[N, 784]
)dl", {}},
{"BlockArrow", R"dl(block B(x) -> f32[N] { return x }
)dl",
R"dl(test.dl:1:12: error: expected '{', found '->'
block B(x) -> f32[N] { return x }
           ^~ only a model says what it returns
)dl", {}},
{"TwoModelsMissingField", R"dl(model A(x: f32[N, 4]) -> f32[N, 4] { return linear(x, 4) }
model B(x: f32[N, 4]) -> f32[N, 3] { return linear(x, 3) }
train A, B {
  label: i32[N]
  loss = softmax_cross_entropy(B(A(x)), label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:5:36: error: unknown name 'x'
  loss = softmax_cross_entropy(B(A(x)), label)
                                   ^ 'x: f32[N, 4]' declares what the data delivers
)dl", {}},
{"SettingOfModelUnknown", R"dl(model A(x: f32[N, 4], w=4) -> f32[N, 4] { return linear(x, w) }
train A(depth=3) {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:2:9: error: model 'A' has no setting 'depth'
train A(depth=3) {
        ^~~~~ it has w
)dl", {}},
{"StrayStatement", R"dl(x = 3
relu(x)
)dl",
R"dl(test.dl:2:1: error: expected a block, model, train, infer or 'name = value', found 'relu'
relu(x)
^~~~ calls stand in a block, a model or a section
)dl", {}},
{"StrayFor", R"dl(for i in range(3) { }
)dl",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found 'for'
for i in range(3) { }
^~~ 'for' stands in a block, a model or a section
)dl", {}},
{"Caffe", R"dl(name: "LeNet"
layer { name: "data" type: "Data" }
)dl",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found 'name'
name: "LeNet"
^~~~ a network is 'model Name(x: f32[N, 784]) -> f32[N, 10] { ... return y }'
)dl", {}},
{"Keras", R"dl(model = Sequential()
model.add(Dense(10))
)dl",
R"dl(test.dl:1:7: error: expected a name, found '='
model = Sequential()
      ^ a network is 'model Name(x: f32[N, 784]) -> f32[N, 10] { ... return y }'
test.dl:2:6: error: expected a name, found '.'
model.add(Dense(10))
     ^ a network is 'model Name(x: f32[N, 784]) -> f32[N, 10] { ... return y }'
)dl", {}},
{"Json", R"dl({ "model": 1 }
)dl",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found '{'
{ "model": 1 }
^ a network is 'model Name(x: f32[N, 784]) -> f32[N, 10] { ... return y }'
)dl", {}},
{"DNothingLike", R"dl(learning_rate = 0.1
model A(x: f32[N, 4]) -> f32[N, 4] { return linear(x, 4) }
train A {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=learning_rate)
  batch = 4
}
)dl",
R"dl(-D:1:1: error: there is no constant or dimension 'zzz'
zzz=3
^~~ there is N, learning_rate
)dl", {"zzz=3"}},
{"DKind", R"dl(learning_rate = 0.1
model A(x: f32[N, 4]) -> f32[N, 4] { return linear(x, 4) }
train A {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=learning_rate)
  batch = 4
}
)dl",
R"dl(-D:1:15: error: 'learning_rate' is the float 0.1 in the file, here it is the string "fast"
learning_rate=fast
              ^~~~
test.dl:1:1: note: declared here
)dl", {"learning_rate=fast"}},
{"DEpochs", R"dl(learning_rate = 0.1
model A(x: f32[N, 4]) -> f32[N, 4] { return linear(x, 4) }
train A {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=learning_rate)
  batch = 4
  epochs = 3
}
)dl",
R"dl(-D:1:1: error: there is no constant or dimension 'epochs'
epochs=3
^~~~~~ a setting of the section: epochs = c and a constant c = ... let -D set c
)dl", {"epochs=3"}},
{"KeywordField", R"dl(model M(x: f32[N, 4]) -> f32[N, 4] { return linear(x, 4) }
train M {
  train: i32[N]
}
)dl",
R"dl(test.dl:3:3: error: expected a statement, found 'train'
  train: i32[N]
  ^~~~~ 'train' is a word of the language
)dl", {}},
{"Nhwc", R"dl(model M(x: f32[N, 28, 28, 1]) -> f32[N, 10] { return x |> conv2d(8, 3) |> flatten |> linear(10) }
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:1:69: error: kernel 3x3 is larger than the padded input 28x1
model M(x: f32[N, 28, 28, 1]) -> f32[N, 10] { return x |> conv2d(8, 3) |> flatten |> linear(10) }
                                                                    ^ images are [N, channels, height, width]
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"NoChannelAxis", R"dl(model M(x: f32[N, 28, 28]) -> f32[N, 10] { return x |> conv2d(8, 3) |> flatten |> linear(10) }
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:1:51: error: conv2d expects a tensor of rank 4, found f32[4, 28, 28]
model M(x: f32[N, 28, 28]) -> f32[N, 10] { return x |> conv2d(8, 3) |> flatten |> linear(10) }
                                                  ^ [N, channels, height, width]: reshape(x, ...) makes it
)dl", {}},
{"ModelEquals", R"dl(model M = linear(3)
)dl",
R"dl(test.dl:1:9: error: expected '(', found '='
model M = linear(3)
        ^ a network is 'model Name(x: f32[N, 784]) -> f32[N, 10] { ... return y }'
)dl", {}},
{"Network", R"dl(network M(x: f32[N, 4]) -> f32[N, 3] { return linear(x, 3) }
)dl",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found 'network'
network M(x: f32[N, 4]) -> f32[N, 3] { return linear(x, 3) }
^~~~~~~ 'model Name(x: f32[N, 784]) -> f32[N, 10] { ... return y }' is a network
)dl", {}},
{"Fit", R"dl(model M(x: f32[N, 4]) -> f32[N, 3] { return linear(x, 3) }
M.fit(data)
)dl",
R"dl(test.dl:2:1: error: expected a block, model, train, infer or 'name = value', found 'M'
M.fit(data)
^ the train section does it: leave it out
)dl", {}},
{"InputDefault", R"dl(model M(x: f32[N, 4] = 0) -> f32[N, 3] { return linear(x, 3) }
)dl",
R"dl(test.dl:1:22: error: expected ',' or ')', found '='
model M(x: f32[N, 4] = 0) -> f32[N, 3] { return linear(x, 3) }
                     ^ an input has no default: the data delivers it
)dl", {}},
{"ExtraBrace", R"dl(model M(x: f32[N, 4]) -> f32[N, 3] { return linear(x, 3) } }
)dl",
R"dl(test.dl:1:60: error: expected a block, model, train, infer or 'name = value', found '}'
model M(x: f32[N, 4]) -> f32[N, 3] { return linear(x, 3) } }
                                                           ^ nothing is open that it could close
)dl", {}},
{"ConstantTyped", R"dl(width: int = 3
)dl",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found 'width'
width: int = 3
^~~~~ a constant has no type: 'width = value'
)dl", {}},
{"ConstantTensor", R"dl(w = zeros((3,))
model M(x: f32[N, 4]) -> f32[N, 3] { return linear(x, 3) + w }
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:1:5: error: this must be known at compile time, zeros makes a tensor
w = zeros((3,))
    ^~~~~ a model or a block may make it
)dl", {}},
{"TargetNoBatch", R"dl(model M(x: f32[N, 4]) -> f32[N, 3] { return linear(x, 3) }
train M {
  target: f32[4, 3]
  loss = mean_squared_error(output, target)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)dl",
R"dl(test.dl:4:10: error: the batch axis of f32[4, 3] meets an axis of f32[4, 3] that counts no samples
  loss = mean_squared_error(output, target)
         ^~~~~~~~~~~~~~~~~~ the axis that counts samples is called N
test.dl:3:3: note: 'target' is declared here
)dl", {}},
{"TwoArrows", R"dl(model M(x: f32[N, 4]) => f32[N, 3] { return linear(x, 3) }
)dl",
R"dl(test.dl:1:23: error: unexpected '=>'
model M(x: f32[N, 4]) => f32[N, 3] { return linear(x, 3) }
                      ^~ '->' stands before a result, '|>' before a stage
)dl", {}},
};
// clang-format on

TEST(Mistakes, InAFile) { checkErrors(files); }
