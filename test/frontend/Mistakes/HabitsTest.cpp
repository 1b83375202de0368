// What people write who come from PyTorch, Keras or Caffe: each message names the place, what was
// expected and found, and what it is called here.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

// clang-format off
static const ErrorCase bodies[] = {
{"PrefixedLayer", R"dl(y = nn.Linear(192, 10)(flatten(x)))dl",
R"dl(test.dl:2:7: error: unknown name 'nn.Linear'
  y = nn.Linear(192, 10)(flatten(x))
      ^~~~~~~~~ did you mean 'linear'?
)dl", {}},
{"PrefixedFunction", R"dl(y = F.relu(x))dl",
R"dl(test.dl:2:7: error: unknown name 'F.relu'
  y = F.relu(x)
      ^~~~~~ did you mean 'relu'?
)dl", {}},
{"Capitals", R"dl(y = x |> BatchNorm2d)dl",
R"dl(test.dl:2:12: error: unknown name 'BatchNorm2d'
  y = x |> BatchNorm2d
           ^~~~~~~~~~~ did you mean 'batch_norm'?
)dl", {}},
{"CapitalsOfAnActivation", R"dl(y = LeakyReLU(x))dl",
R"dl(test.dl:2:7: error: unknown name 'LeakyReLU'
  y = LeakyReLU(x)
      ^~~~~~~~~ did you mean 'leaky_relu'?
)dl", {}},
{"RankInAName", R"dl(y = x |> max_pool2d(2))dl",
R"dl(test.dl:2:12: error: unknown name 'max_pool2d'
  y = x |> max_pool2d(2)
           ^~~~~~~~~~ did you mean 'max_pool'?
)dl", {}},
{"OtherName", R"dl(y = cat([x, x], 1))dl",
R"dl(test.dl:2:7: error: unknown name 'cat'
  y = cat([x, x], 1)
      ^~~ did you mean 'concat'?
)dl", {}},
{"OtherNameOfALayer", R"dl(y = x |> Dense(10))dl",
R"dl(test.dl:2:12: error: unknown name 'Dense'
  y = x |> Dense(10)
           ^~~~~ did you mean 'linear'?
)dl", {}},
{"Sequential", R"dl(y = Sequential(relu))dl",
R"dl(test.dl:2:7: error: unknown name 'Sequential'
  y = Sequential(relu)
      ^~~~~~~~~~ layers in a row are a pipe: x |> linear(300) |> relu
)dl", {}},
{"SizeOfTheInputFirst", R"dl(y = flatten(x) |> linear(192, 10))dl",
R"dl(test.dl:2:33: error: linear takes 2 arguments by position: x, features
  y = flatten(x) |> linear(192, 10)
                                ^~ the size of the input is known: leave it out
)dl", {}},
{"SizeOfTheInputInstead", R"dl(y = linear(192, 10))dl",
R"dl(test.dl:2:14: error: 'x' expects a floating-point tensor, found the integer 192
  y = linear(192, 10)
             ^~~ linear(x, features, *, bias=true, weight=none, ...)
)dl", {}},
{"ChannelsOfTheInputFirst", R"dl(y = x |> conv2d(3, 64, 3))dl",
R"dl(test.dl:2:26: error: conv2d takes 3 arguments by position: x, channels, kernel
  y = x |> conv2d(3, 64, 3)
                         ^ the size of the input is known: leave it out; or name it: stride=3
)dl", {}},
{"ChannelsOfANorm", R"dl(y = x |> batch_norm(3))dl",
R"dl(test.dl:2:23: error: batch_norm takes 1 argument by position: x
  y = x |> batch_norm(3)
                      ^ the size of the input is known: leave it out
)dl", {}},
{"InFeatures", R"dl(y = flatten(x) |> linear(in_features=192, out_features=10))dl",
R"dl(test.dl:2:28: error: linear has no argument 'in_features'
  y = flatten(x) |> linear(in_features=192, out_features=10)
                           ^~~~~~~~~~~ the input's size is known: leave it out
)dl", {}},
{"OutChannels", R"dl(y = x |> conv2d(out_channels=8, kernel_size=3))dl",
R"dl(test.dl:2:19: error: conv2d has no argument 'out_channels'
  y = x |> conv2d(out_channels=8, kernel_size=3)
                  ^~~~~~~~~~~~ did you mean 'channels'?
)dl", {}},
{"KernelSize", R"dl(y = x |> conv2d(8, kernel_size=3))dl",
R"dl(test.dl:2:22: error: conv2d has no argument 'kernel_size'
  y = x |> conv2d(8, kernel_size=3)
                     ^~~~~~~~~~~ did you mean 'kernel'?
)dl", {}},
{"BareWord", R"dl(y = x |> conv2d(8, 3, padding=same))dl",
R"dl(test.dl:2:33: error: unknown name 'same'
  y = x |> conv2d(8, 3, padding=same)
                                ^~~~ a string: padding="same"
)dl", {}},
{"Inplace", R"dl(y = x |> relu(inplace=true))dl",
R"dl(test.dl:2:17: error: relu has no argument 'inplace'
  y = x |> relu(inplace=true)
                ^~~~~~~ no value changes in place: leave it out
)dl", {}},
{"DimOfOne", R"dl(y = x |> softmax(dim=1))dl",
R"dl(test.dl:2:20: error: softmax has no argument 'dim'
  y = x |> softmax(dim=1)
                   ^~~ did you mean 'axis'?
)dl", {}},
{"DimOfSeveral", R"dl(y = x |> mean(dim=(2, 3)))dl",
R"dl(test.dl:2:17: error: mean has no argument 'dim'
  y = x |> mean(dim=(2, 3))
                ^~~ did you mean 'axes'?
)dl", {}},
{"ReshapeByNumbers", R"dl(y = x |> reshape(N, 192))dl",
R"dl(test.dl:2:23: error: reshape takes 2 arguments at most
  y = x |> reshape(N, 192)
                      ^~~ reshape(x, shape): shape is one argument, such as (4, 5)
)dl", {}},
{"TensorMethod", R"dl(y = x.relu())dl",
R"dl(test.dl:2:9: error: a tensor has no member 'relu'
  y = x.relu()
        ^~~~ relu(x)
)dl", {}},
{"TensorView", R"dl(y = x.view(-1, 192))dl",
R"dl(test.dl:2:9: error: a tensor has no member 'view'
  y = x.view(-1, 192)
        ^~~~ reshape(x, ...)
)dl", {}},
{"TensorShape", R"dl(y = x.shape[1])dl",
R"dl(test.dl:2:9: error: a tensor has no member 'shape'
  y = x.shape[1]
        ^~~~~ shape(x)
)dl", {}},
{"TensorTransposed", R"dl(y = x.T)dl",
R"dl(test.dl:2:9: error: a tensor has no member 'T'
  y = x.T
        ^ transpose(x, ...)
)dl", {}},
{"TensorLength", R"dl(y = len(x))dl",
R"dl(test.dl:2:11: error: 'sequence' expects a sequence, found the tensor f32[4, 3, 8, 8]
  y = len(x)
          ^ size(x, 0)
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"ListMethod", R"dl(s = []
y = s.append(x))dl",
R"dl(test.dl:3:9: error: a sequence of 0 has no member 'append'
  y = s.append(x)
        ^~~~~~ s = s + [...]
)dl", {}},
{"CapitalTrue", R"dl(y = x |> conv2d(8, 3, bias=True))dl",
R"dl(test.dl:2:30: error: unknown name 'True'
  y = x |> conv2d(8, 3, bias=True)
                             ^~~~ did you mean 'true'?
)dl", {}},
{"CapitalFalse", R"dl(y = x |> conv2d(8, 3, bias=False))dl",
R"dl(test.dl:2:30: error: unknown name 'False'
  y = x |> conv2d(8, 3, bias=False)
                             ^~~~~ did you mean 'false'?
)dl", {}},
{"CapitalNone", R"dl(y = x |> conv2d(8, 3, weight=None))dl",
R"dl(test.dl:2:32: error: unknown name 'None'
  y = x |> conv2d(8, 3, weight=None)
                               ^~~~ did you mean 'none'?
)dl", {}},
{"Infinity", R"dl(y = maximum(x, inf))dl",
R"dl(test.dl:2:18: error: unknown name 'inf'
  y = maximum(x, inf)
                 ^~~ there is no infinity: a large number, such as 1e30
)dl", {}},
{"LayerWithoutAPlace", R"dl(layer f = linear(10)
y = f(x))dl",
R"dl(test.dl:3:7: error: layer 'f' takes 0 values, one for each '_', found 1
  y = f(x)
      ^ layer f = linear(_, ...): '_' is the value to come
test.dl:2:9: note: declared here
)dl", {}},
{"BoundLater", R"dl(y = relu(z)
z = relu(x))dl",
R"dl(test.dl:2:12: error: unknown name 'z'
  y = relu(z)
           ^ it is bound only later, in line 3
)dl", {}},
};
static const ErrorCase signs[] = {
{"SelfInAStatement", R"dl(self.fc = linear(x, 10))dl",
R"dl(test.dl:2:3: error: expected a statement, found 'self'
  self.fc = linear(x, 10)
  ^~~~ nothing is kept in an object: 'y = linear(x, 10)' owns its weights
)dl", {}},
{"Method", R"dl(loss.backward())dl",
R"dl(test.dl:2:3: error: expected a statement, found 'loss'
  loss.backward()
  ^~~~ the train section does it: leave it out
)dl", {}},
{"Append", R"dl(s = []
s.append(x))dl",
R"dl(test.dl:3:3: error: expected a statement, found 's'
  s.append(x)
  ^ 's = s + [...]'
)dl", {}},
{"Print", R"dl(print(x))dl",
R"dl(test.dl:2:3: error: expected a statement, found 'print'
  print(x)
  ^~~~~ 'dlc lsp' shows types and shapes, 'assert' checks them
)dl", {}},
{"Compared", R"dl(y == relu(x))dl",
R"dl(test.dl:2:3: error: expected a statement, found 'y'
  y == relu(x)
  ^ a value is bound by '='
)dl", {}},
{"AddedTo", R"dl(x += relu(x))dl",
R"dl(test.dl:2:3: error: expected a statement, found 'x'
  x += relu(x)
  ^ 'x = x + ...'
)dl", {}},
{"Let", R"dl(let y = relu(x))dl",
R"dl(test.dl:2:3: error: expected a statement, found 'let'
  let y = relu(x)
  ^~~ a value is bound by 'name = value'
)dl", {}},
{"TypedBinding", R"dl(y: f32[N, 3] = relu(x))dl",
R"dl(test.dl:2:3: error: a field stands in a train or infer section only
  y: f32[N, 3] = relu(x)
  ^ a value is bound without a type; 'parameter' declares a weight
)dl", {}},
{"Elif", R"dl(if true { y = x } elif false { y = relu(x) })dl",
R"dl(test.dl:2:21: error: expected a statement, found 'elif'
  if true { y = x } elif false { y = relu(x) }
                    ^~~~ 'else if'
)dl", {}},
{"While", R"dl(while true { x = relu(x) })dl",
R"dl(test.dl:2:3: error: expected a statement, found 'while'
  while true { x = relu(x) }
  ^~~~~ 'repeat 3 { ... }' or 'for i in range(3) { ... }'
)dl", {}},
{"Colon", R"dl(for i in range(3):
  x = relu(x))dl",
R"dl(test.dl:2:20: error: expected '{', found ':'
  for i in range(3):
                   ^ a body stands in '{ }'
)dl", {}},
{"NoBrace", R"dl(if true
  x = relu(x))dl",
R"dl(test.dl:3:5: error: expected '{', found 'x'
    x = relu(x)
    ^ a body stands in '{ }'
)dl", {}},
{"AssignedInIf", R"dl(if x = 3 { x = relu(x) })dl",
R"dl(test.dl:2:8: error: expected '{', found '='
  if x = 3 { x = relu(x) }
       ^ '==' compares
)dl", {}},
{"ConditionalBehind", R"dl(y = relu(x) if true else tanh(x))dl",
R"dl(test.dl:2:15: error: the condition of a choice stands before both values
  y = relu(x) if true else tanh(x)
              ^~ if true then a else b
)dl", {}},
{"QuestionMark", R"dl(y = true ? x : relu(x))dl",
R"dl(test.dl:2:12: error: unexpected character '?'
  y = true ? x : relu(x)
           ^ if condition then a else b
)dl", {}},
{"Ampersands", R"dl(assert true && false)dl",
R"dl(test.dl:2:15: error: unexpected character '&'
  assert true && false
              ^~ 'and' joins conditions
)dl", {}},
{"Bars", R"dl(assert true || false)dl",
R"dl(test.dl:2:15: error: unexpected character '|'
  assert true || false
              ^~ 'or' joins conditions
)dl", {}},
{"OneBar", R"dl(y = x | relu)dl",
R"dl(test.dl:2:9: error: unexpected character '|'
  y = x | relu
        ^ a pipe is '|>'
)dl", {}},
{"Bang", R"dl(assert !true)dl",
R"dl(test.dl:2:10: error: unexpected character '!'
  assert !true
         ^ 'not' turns a condition around
)dl", {}},
{"Caret", R"dl(y = 2 ^ 3)dl",
R"dl(test.dl:2:9: error: unexpected character '^'
  y = 2 ^ 3
        ^ '**' is the power
)dl", {}},
{"Arrow", R"dl(y = x -> relu)dl",
R"dl(test.dl:2:9: error: expected a statement, found '->'
  y = x -> relu
        ^~ a pipe is '|>'
)dl", {}},
{"Generator", R"dl(s = (2 * i for i in range(3)))dl",
R"dl(test.dl:2:14: error: expected ',' or ')', found 'for'
  s = (2 * i for i in range(3))
             ^~~ a list stands in '[ ]': [f(i) for i in s]
)dl", {}},
{"DoubleSlash", R"dl(y = linear(x, 20 // 2))dl",
R"dl(test.dl:2:13: error: this '(' is not closed; line 3 begins a new statement
  y = linear(x, 20 // 2)
            ^ '//' begins a comment; div(a, b) rounds down
)dl", {}},
{"ColonArgument", R"dl(y = linear(x, features: 10))dl",
R"dl(test.dl:2:25: error: expected ',' or ')', found ':'
  y = linear(x, features: 10)
                        ^ an argument by name is features=value
)dl", {}},
{"CommaAtTheEnd", R"dl(y = relu(x),)dl",
R"dl(test.dl:2:14: error: expected a statement, found ','
  y = relu(x),
             ^ a statement ends without a sign
)dl", {}},
{"OneParenthesisTooMany", R"dl(y = linear(x, 10)))dl",
R"dl(test.dl:2:20: error: expected a statement, found ')'
  y = linear(x, 10))
                   ^ nothing is open that it could close
)dl", {}},
{"PointAtTheEnd", R"dl(y = 10. * x)dl",
R"dl(test.dl:2:9: error: a float has digits on both sides of its point
  y = 10. * x
        ^ such as 1.0
)dl", {}},
{"PointInFront", R"dl(y = .5 * x)dl",
R"dl(test.dl:2:7: error: expected an expression, found '.'
  y = .5 * x
      ^ a float has digits on both sides of its point
)dl", {}},
{"UnderscoreInANumber", R"dl(y = 1_000)dl",
R"dl(test.dl:2:7: error: a number cannot be followed by letters
  y = 1_000
      ^~~~~ digits stand without '_'
)dl", {}},
{"CommentOfC", R"dl(/* hidden layer */
y = relu(x))dl",
R"dl(test.dl:2:3: error: unexpected '/*'
  /* hidden layer */
  ^~ a comment begins with '//', on each of its lines
)dl", {}},
{"CommentOfSQL", R"dl(-- hidden layer
y = relu(x))dl",
R"dl(test.dl:2:3: error: expected a statement, found '-'
  -- hidden layer
  ^ a comment begins with '//'
)dl", {}},
{"Lambda", R"dl(f = lambda y: relu(y))dl",
R"dl(test.dl:2:7: error: expected an expression, found 'lambda'
  f = lambda y: relu(y)
      ^~~~~~ a function is a 'block' of the file
)dl", {}},
};
static const ErrorCase files[] = {
{"Def", R"dl(def Net(x) {
  return linear(x, 10)
}
)dl",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found 'def'
def Net(x) {
^~~ 'block Name(x) { ... return y }' is a function
)dl", {}},
{"Class", R"dl(class Net(Module) {
}
)dl",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found 'class'
class Net(Module) {
^~~~~ 'model Name(x: f32[N, 784]) -> f32[N, 10] { ... return y }' is a network
)dl", {}},
{"ImportTorch", R"dl(import torch
model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found 'import'
import torch
^~~~~~ from "std/resnet.dl" import Bottleneck
)dl", {}},
{"ImportOfAModule", R"dl(from std.resnet import Bottleneck
model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:6: error: expected a file in '"', found 'std'
from std.resnet import Bottleneck
     ^~~ from "std/resnet.dl" import Bottleneck
)dl", {}},
{"ImportOfAll", R"dl(from "std/resnet.dl" import *
model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:29: error: expected a name, found '*'
from "std/resnet.dl" import *
                            ^ only listed names arrive: import Bottleneck, BasicBlock
)dl", {}},
{"DocString", R"dl("""my network"""
model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found the string ""
"""my network"""
^~ documentation is '///' before an item
)dl", {}},
{"LayerAtTheTop", R"dl(layer fc = linear(_, 10)
model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found 'layer'
layer fc = linear(_, 10)
^~~~~ 'layer' stands in a block, a model or a section
)dl", {}},
{"Float32", R"dl(model Net(x: float32[N, 784]) -> float32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:14: error: expected a type such as f32[N, 10], found 'float32'
model Net(x: float32[N, 784]) -> float32[N, 10] {
             ^~~~~~~ did you mean 'f32'?
)dl", {}},
{"RoundType", R"dl(model Net(x: f32(N, 784)) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:17: error: expected '[' and the dimensions of a type, found '('
model Net(x: f32(N, 784)) -> f32[N, 10] {
                ^ dimensions stand in '[ ]': f32[N, 10]
)dl", {}},
{"TensorType", R"dl(model Net(x: Tensor) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:14: error: expected a type such as f32[N, 10], found 'Tensor'
model Net(x: Tensor) -> f32[N, 10] {
             ^~~~~~ did you mean 'f32'?
)dl", {}},
{"NamedResult", R"dl(model Net(x: f32[N, 784]) -> logits: f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:30: error: expected a type such as f32[N, 10], found 'logits'
model Net(x: f32[N, 784]) -> logits: f32[N, 10] {
                             ^~~~~~ results with names stand in parentheses: (logits: f32[N, 10])
)dl", {}},
{"NoResultType", R"dl(model Net(x: f32[N, 784]) {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:27: error: expected '->' and what the model returns, found '{'
model Net(x: f32[N, 784]) {
                          ^ -> f32[N, 10]
)dl", {}},
{"OtherNameOfTheBatch", R"dl(model Net(x: f32[B, 784]) -> f32[B, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:1:18: error: dimension 'B' is not bound
model Net(x: f32[B, 784]) -> f32[B, 10] {
                 ^ the batch is called N
)dl", {}},
{"TrainAsACall", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train(Net) {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:4:6: error: expected the name of a model, found '('
train(Net) {
     ^ train Model { ... }
)dl", {}},
{"LossOfElsewhere", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = nn.CrossEntropyLoss()(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:6:10: error: unknown name 'nn.CrossEntropyLoss'
  loss = nn.CrossEntropyLoss()(output, label)
         ^~~~~~~~~~~~~~~~~~~ did you mean 'softmax_cross_entropy'?
)dl", {}},
{"UnknownResult", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(logits, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:6:32: error: unknown name 'logits'
  loss = softmax_cross_entropy(logits, label)
                               ^~~~~~ 'output' is what the model returns; 'logits: i32[N]' declares what the data delivers
)dl", {}},
{"ModelInsteadOfItsResult", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(Net, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:6:32: error: 'logits' expects a floating-point tensor, found a model
  loss = softmax_cross_entropy(Net, label)
                               ^~~ call it: Net(...), or leave its name out: then 'output' is what it returns
)dl", {}},
{"ModelInTheOptimizer", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(Net, learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:6:32: error: unknown name 'output'
  loss = softmax_cross_entropy(output, label)
                               ^~~~~~ a model that the section names is not called by itself: y = Model(...)
test.dl:7:24: error: 'learning_rate' of sgd is given twice
  optimizer = sgd(Net, learning_rate=0.1)
                       ^~~~~~~~~~~~~
)dl", {}},
{"UndeclaredLabel", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:5:40: error: unknown name 'label'
  loss = softmax_cross_entropy(output, label)
                                       ^~~~~ 'output' is what the model returns; 'label: i32[N]' declares what the data delivers
)dl", {}},
{"LabelOfFloats", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: f32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:6:40: error: probabilities f32[64] do not fit logits f32[64, 10]
  loss = softmax_cross_entropy(output, label)
                                       ^~~~~ class numbers are integers, such as i32[N]
)dl", {}},
{"LabelWithClasses", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N, 10]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:6:40: error: labels i32[64, 10] do not fit logits f32[64, 10] with classes on axis 1
  loss = softmax_cross_entropy(output, label)
                                       ^~~~~ class numbers have no axis of classes; probabilities are f32
)dl", {}},
{"OptimizerOfElsewhere", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = torch.optim.SGD(lr=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:7:15: error: unknown name 'torch.optim.SGD'
  optimizer = torch.optim.SGD(lr=0.1)
              ^~~~~~~~~~~~~~~ did you mean 'sgd'?
)dl", {}},
{"ShortRate", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(lr=0.1)
  batch = 64
}
)dl",
R"dl(test.dl:7:19: error: sgd has no argument 'lr'
  optimizer = sgd(lr=0.1)
                  ^~ did you mean 'learning_rate'?
)dl", {}},
{"BatchSize", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch_size = 64
}
)dl",
R"dl(test.dl:8:3: error: 'batch_size' is bound and never used
  batch_size = 64
  ^~~~~~~~~~ did you mean the setting 'batch'?
test.dl:4:1: error: the train section binds no 'batch'
train Net {
^~~~~ batch = 64, or -D N=64
)dl", {}},
{"RateAsASetting", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  learning_rate = 0.1
  batch = 64
}
)dl",
R"dl(test.dl:8:3: error: 'learning_rate' is bound and never used
  learning_rate = 0.1
  ^~~~~~~~~~~~~ an argument of the optimizer: sgd(learning_rate=0.1)
)dl", {}},
{"MetricWithoutItsWord", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  accuracy = accuracy(output, label)
  batch = 64
}
)dl",
R"dl(test.dl:8:3: error: 'accuracy' is bound and never used
  accuracy = accuracy(output, label)
  ^~~~~~~~ 'metric accuracy = ...' makes a number to watch of it
)dl", {}},
{"MetricInQuotes", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  metric "top1" = accuracy(output, label)
  batch = 64
}
)dl",
R"dl(test.dl:8:10: error: expected a name, found the string "top1"
  metric "top1" = accuracy(output, label)
         ^~~~~~ names stand without '"'
)dl", {}},
{"SettingWithColon", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch: 64
}
)dl",
R"dl(test.dl:8:10: error: expected a type such as f32[N, 10], found '64'
  batch: 64
         ^~ a value is bound by '='
)dl", {}},
{"ClipIsANumber", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  clip = 1.0
  batch = 64
}
)dl",
R"dl(test.dl:8:3: error: 'clip' is such as global_norm(1.0), found the float 1.0
  clip = 1.0
  ^~~~ global_norm(1.0)
)dl", {}},
{"ClipOfElsewhere", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  clip = clip_grad_norm(1.0)
  batch = 64
}
)dl",
R"dl(test.dl:8:10: error: unknown name 'clip_grad_norm'
  clip = clip_grad_norm(1.0)
         ^~~~~~~~~~~~~~ did you mean 'global_norm'?
)dl", {}},
{"PrecisionInQuotes", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  precision = "bf16"
  batch = 64
}
)dl",
R"dl(test.dl:8:3: error: 'precision' is f32, bf16, f16 or tf32, found the string "bf16"
  precision = "bf16"
  ^~~~~~~~~ without '"': bf16
)dl", {}},
{"PrecisionAsType", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(tf32(x), 10)
}
infer Net {
}
)dl",
R"dl(test.dl:2:17: error: this cannot be called: it is the precision tf32
  return linear(tf32(x), 10)
                ^~~~
)dl", {}},
{"AccumulateIsNone", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  accumulate = 0
  batch = 64
}
)dl",
R"dl(test.dl:8:3: error: 'accumulate' is an integer of 1 or more, found the integer 0
  accumulate = 0
  ^~~~~~~~~~
)dl", {}},
{"DecayAboveOne", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  ema = 1.5
  batch = 64
}
)dl",
R"dl(test.dl:8:3: error: 'ema' is a decay such as 0.999, found the float 1.5
  ema = 1.5
  ^~~
)dl", {}},
{"DecayOfOneInF32", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  ema = 0.99999999
  batch = 64
}
)dl",
R"dl(test.dl:8:3: error: 'ema' is a decay such as 0.999, found the float 0.99999999
  ema = 0.99999999
  ^~~
)dl", {}},
{"LossScaleOfAWord", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  loss_scale = "static"
  batch = 64
}
)dl",
R"dl(test.dl:8:3: error: 'loss_scale' is a number above 0 that f32 holds, "dynamic" or none, found the string "static"
  loss_scale = "static"
  ^~~~~~~~~~
)dl", {}},
{"ReferenceBatchOfAFloat", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  reference_batch = 0.5
  batch = 64
}
)dl",
R"dl(test.dl:8:3: error: 'reference_batch' is an integer of 1 or more, found the float 0.5
  reference_batch = 0.5
  ^~~~~~~~~~~~~~~
)dl", {}},
{"GroupOfAModel", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  parameters Net { lr_mult = 0.1 }
  batch = 64
}
)dl",
R"dl(test.dl:8:14: error: expected a pattern of parameter names, found 'Net'
  parameters Net { lr_mult = 0.1 }
             ^~~ such as "head.*" or "**.bias"
)dl", {}},
{"GroupWithARate", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  parameters "**.bias" { lr = 0.1 }
  batch = 64
}
)dl",
R"dl(test.dl:8:26: error: a group has no setting 'lr'
  parameters "**.bias" { lr = 0.1 }
                         ^~ lr_mult is a factor on the optimizer's learning rate
)dl", {}},
{"GroupOfTheLastPart", R"dl(model Net(x: f32[N, 784]) -> f32[N, 10] {
  return linear(x, 10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  parameters "bias" { lr_mult = 0.1 }
  batch = 64
}
)dl",
R"dl(test.dl:8:14: error: the pattern matches none of the 2 parameters
  parameters "bias" { lr_mult = 0.1 }
             ^~~~~~ did you mean "**.bias"?
)dl", {}},
};
// clang-format on

TEST(Habits, OfValuesAndCalls) { checkErrors(bodies, inModel); }
TEST(Habits, OfSyntax) { checkErrors(signs, inModel); }
TEST(Habits, OfFilesAndSections) { checkErrors(files); }
