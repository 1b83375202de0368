// Errors of models, blocks, constants, imports and `-D` with their exact text.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

// clang-format off
static const ErrorCase cases[] = {
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
              ^~~~~~~~~~ where f32[N, 10] is meant, declare it
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
      ^ f32(...) casts it
test.dl:1:12: note: declared here
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

TEST(ItemErrors, SayWhatIsWrong) { checkErrors(cases); }
