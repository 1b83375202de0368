// The mistakes of the first day, each with the exact line that helps: what is written as in Python,
// C++, PyTorch, Keras or Caffe, slips of the hand, and what is said elsewhere in another place.
// Here those in the body of a model.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

// clang-format off
static const ErrorCase bodies[] = {
{"TripleStar", R"dl(y = x *** 2)dl",
R"dl(test.dl:2:9: error: unexpected '***'
  y = x *** 2
        ^~~ '**' is the power
)dl", {}},
{"FRelu", R"dl(y = x |> F.relu)dl",
R"dl(test.dl:2:12: error: expected the name of a function or layer after '|>', found 'F.relu'
  y = x |> F.relu
           ^~~~~~ did you mean 'relu'?
)dl", {}},
{"NnInPipe", R"dl(y = x |> nn.Conv2d(3, 1))dl",
R"dl(test.dl:2:12: error: expected the name of a function or layer after '|>', found 'nn.Conv2d'
  y = x |> nn.Conv2d(3, 1)
           ^~~~~~~~~ did you mean 'conv2d'?
)dl", {}},
{"TernaryPython", R"dl(y = 1 if rank(x) == 4 else 2)dl",
R"dl(test.dl:2:9: error: the condition of a choice stands before both values
  y = 1 if rank(x) == 4 else 2
        ^~ if rank(x) == 4 then a else b
)dl", {}},
{"BlockComment", R"dl(/* a comment */
y = x)dl",
R"dl(test.dl:2:3: error: unexpected '/*'
  /* a comment */
  ^~ a comment begins with '//', on each of its lines
)dl", {}},
{"CommentInExpr", R"dl(y = x /* hm */ + 1)dl",
R"dl(test.dl:2:9: error: unexpected '/*'
  y = x /* hm */ + 1
        ^~ a comment begins with '//', on each of its lines
)dl", {}},
{"InitUnknown", R"dl(y = x |> conv2d(3, 1, init=kaiming()))dl",
R"dl(test.dl:2:30: error: unknown name 'kaiming'
  y = x |> conv2d(3, 1, init=kaiming())
                             ^~~~~~~ did you mean 'kaiming_normal'?
)dl", {}},
{"InitUnknown2", R"dl(y = x |> conv2d(3, 1, init=he_normal()))dl",
R"dl(test.dl:2:30: error: unknown name 'he_normal'
  y = x |> conv2d(3, 1, init=he_normal())
                             ^~~~~~~~~ did you mean 'kaiming_normal'?
)dl", {}},
{"InitUnknown3", R"dl(y = x |> conv2d(3, 1, init=msra()))dl",
R"dl(test.dl:2:30: error: unknown name 'msra'
  y = x |> conv2d(3, 1, init=msra())
                             ^~~~ did you mean 'kaiming_normal'?
)dl", {}},
{"InitUnknown4", R"dl(y = x |> conv2d(3, 1, init=foo()))dl",
R"dl(test.dl:2:30: error: unknown name 'foo'
  y = x |> conv2d(3, 1, init=foo())
                             ^~~ there is uniform, normal, truncated_normal, xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal, orthogonal
)dl", {}},
{"InitString", R"dl(y = x |> conv2d(3, 1, init="xavier"))dl",
R"dl(test.dl:2:30: error: 'init' is a number or such as normal(0, 0.02), found the string "xavier"
  y = x |> conv2d(3, 1, init="xavier")
                             ^~~~~~~~ without '"': xavier_uniform(gain=1)
)dl", {}},
{"InitBare", R"dl(y = x |> conv2d(3, 1, init=xavier_uniform))dl",
R"dl(test.dl:2:30: error: 'init' is a number or such as normal(0, 0.02), found the function xavier_uniform
  y = x |> conv2d(3, 1, init=xavier_uniform)
                             ^~~~~~~~~~~~~~ call it: xavier_uniform(gain=1)
)dl", {}},
{"TorchOrder", R"dl(y = conv2d(x, 3, 8, 3))dl",
R"dl(test.dl:2:23: error: conv2d takes 3 arguments by position: x, channels, kernel
  y = conv2d(x, 3, 8, 3)
                      ^ the size of the input is known: leave it out; or name it: stride=3
)dl", {}},
{"TorchOrder2", R"dl(y = x |> conv2d(3, 8, 3))dl",
R"dl(test.dl:2:25: error: conv2d takes 3 arguments by position: x, channels, kernel
  y = x |> conv2d(3, 8, 3)
                        ^ the size of the input is known: leave it out; or name it: stride=3
)dl", {}},
{"ForNoIn", R"dl(for i = 1 { y = x })dl",
R"dl(test.dl:2:9: error: expected 'in', found '='
  for i = 1 { y = x }
        ^ for i in range(3) { ... }
)dl", {}},
{"SingleQuotes", R"dl(y = conv2d(x, 3, 1, name='a'))dl",
R"dl(test.dl:2:28: error: unexpected character '''
  y = conv2d(x, 3, 1, name='a')
                           ^~~ strings stand in '"'
)dl", {}},
{"Fstring", R"dl(y = conv2d(x, 3, 1, name=f"a{1}"))dl",
R"dl(test.dl:2:29: error: expected ',' or ')', found the string "a{1}"
  y = conv2d(x, 3, 1, name=f"a{1}")
                            ^~~~~~ a string has no prefix
)dl", {}},
{"StringConcat", R"dl(y = conv2d(x, 3, 1, name="a" + "b"))dl",
R"dl(test.dl:2:32: error: '+' does not work on the string "a" and the string "b"
  y = conv2d(x, 3, 1, name="a" + "b")
                               ^ format("layer{}", i) puts numbers into a string
)dl", {}},
{"ArrowLambda", R"dl(f = (z) => z + 1)dl",
R"dl(test.dl:2:11: error: unexpected '=>'
  f = (z) => z + 1
          ^~ '->' stands before a result, '|>' before a stage
)dl", {}},
{"Dict", R"dl(d = {"a": 1})dl",
R"dl(test.dl:2:7: error: expected an expression, found '{'
  d = {"a": 1}
      ^ a sequence stands in '[ ]'; there are no dictionaries
)dl", {}},
{"Walrus", R"dl(y := x)dl",
R"dl(test.dl:2:5: error: unexpected ':='
  y := x
    ^~ a value is bound by '='
)dl", {}},
{"IntDecl", R"dl(int n = 3)dl",
R"dl(test.dl:2:3: error: expected a statement, found 'int'
  int n = 3
  ^~~ a value is bound without a type: 'name = value'
)dl", {}},
{"F32Decl", R"dl(f32 n = 3)dl",
R"dl(test.dl:2:3: error: expected a statement, found 'f32'
  f32 n = 3
  ^~~ a value is bound without a type: 'name = value'
)dl", {}},
{"MaxOfList", R"dl(n = max([1, 2]))dl",
R"dl(test.dl:2:11: error: 'x' expects a tensor, found a sequence of 2
  n = max([1, 2])
          ^~~~~~ maximum(a, b) is the larger of two
)dl", {}},
{"MaxTwo", R"dl(n = max(1, 2))dl",
R"dl(test.dl:2:14: error: max takes 1 argument by position: x
  n = max(1, 2)
             ^ maximum(a, b) is the larger of two; or name it: axes=2
)dl", {}},
{"MinTensors", R"dl(y = min(x, 0))dl",
R"dl(test.dl:2:14: error: min takes 1 argument by position: x
  y = min(x, 0)
             ^ minimum(a, b) is the smaller of two; or name it: axes=0
)dl", {}},
{"SumList", R"dl(n = sum([1, 2, 3]))dl",
R"dl(test.dl:2:11: error: 'x' expects a tensor, found a sequence of 3
  n = sum([1, 2, 3])
          ^~~~~~~~~ a loop adds numbers: s = s + n
)dl", {}},
{"Str", R"dl(s = str(3))dl",
R"dl(test.dl:2:7: error: unknown name 'str'
  s = str(3)
      ^~~ format("layer{}", i) puts numbers into a string
)dl", {}},
{"IntOfTensor", R"dl(n = int(x))dl",
R"dl(test.dl:2:11: error: 'v' expects a number, found the tensor f32[4, 3, 8, 8]
  n = int(x)
          ^ i32(x) casts it
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"CastTo", R"dl(y = x.to(f16))dl",
R"dl(test.dl:2:9: error: a tensor has no member 'to'
  y = x.to(f16)
        ^~ f32(x) casts it to f32, i32(x) to i32
)dl", {}},
{"Item", R"dl(y = x.item())dl",
R"dl(test.dl:2:9: error: a tensor has no member 'item'
  y = x.item()
        ^~~~ where a value lies is dlc's: leave it out
)dl", {}},
{"Astype", R"dl(y = x.astype(f32))dl",
R"dl(test.dl:2:9: error: a tensor has no member 'astype'
  y = x.astype(f32)
        ^~~~~~ f32(x) casts it to f32, i32(x) to i32
)dl", {}},
{"UnknownKwargsActivation", R"dl(y = x |> conv2d(8, 3, activation="relu"))dl",
R"dl(test.dl:2:25: error: conv2d has no argument 'activation'
  y = x |> conv2d(8, 3, activation="relu")
                        ^~~~~~~~~~ a function behind it: |> relu
)dl", {}},
{"PaddingUpper", R"dl(y = x |> conv2d(8, 3, padding="SAME"))dl",
R"dl(test.dl:2:33: error: 'padding' is an integer of 0 or more, one for each of the 2 axes, (before, after) for each, or "same", found the string "SAME"
  y = x |> conv2d(8, 3, padding="SAME")
                                ^~~~~~ "same"
)dl", {}},
{"PaddingValid", R"dl(y = x |> conv2d(8, 3, padding="valid"))dl",
R"dl(test.dl:2:33: error: 'padding' is an integer of 0 or more, one for each of the 2 axes, (before, after) for each, or "same", found the string "valid"
  y = x |> conv2d(8, 3, padding="valid")
                                ^~~~~~~ 0, which is the default
)dl", {}},
{"PaddingMode", R"dl(y = x |> conv2d(8, 3, padding_mode="zeros"))dl",
R"dl(test.dl:2:25: error: conv2d has no argument 'padding_mode'
  y = x |> conv2d(8, 3, padding_mode="zeros")
                        ^~~~~~~~~~~~ padding is with zeros: leave it out
)dl", {}},
{"KernelTwoArgs", R"dl(y = x |> conv2d(8, 3, 3))dl",
R"dl(test.dl:2:25: error: conv2d takes 3 arguments by position: x, channels, kernel
  y = x |> conv2d(8, 3, 3)
                        ^ the size of the input is known: leave it out; or name it: stride=3
)dl", {}},
{"Pool22", R"dl(y = x |> max_pool(2, 2))dl",
R"dl(test.dl:2:24: error: max_pool takes 2 arguments by position: x, kernel
  y = x |> max_pool(2, 2)
                       ^ stride=2
)dl", {}},
{"ConvOnFlat", R"dl(y = x |> flatten |> conv2d(8, 3))dl",
R"dl(test.dl:2:12: error: conv2d expects a tensor of rank 4, found f32[4, 192]
  y = x |> flatten |> conv2d(8, 3)
           ^~~~~~~ [N, channels, height, width]: reshape(x, ...) makes it
)dl", {}},
{"BraceMismatch", R"dl(s = [1, 2))dl",
R"dl(test.dl:2:12: error: expected ',' or ']', found ')'
  s = [1, 2)
           ^ a '[' is open here
)dl", {}},
{"MissingOperand", R"dl(y = x +)dl",
R"dl(test.dl:3:3: error: expected an expression, found 'return'
  return x |> flatten |> linear(10)
  ^~~~~~ line 2 ends without it
)dl", {}},
{"PipeEnd", R"dl(y = x |>)dl",
R"dl(test.dl:3:3: error: expected the name of a function or layer after '|>', found 'return'
  return x |> flatten |> linear(10)
  ^~~~~~ line 2 ends without it
)dl", {}},
{"StarArgs", R"dl(y = conv2d(x, *[3, 1]))dl",
R"dl(test.dl:2:17: error: expected an expression, found '*'
  y = conv2d(x, *[3, 1])
                ^ a sequence is not unpacked: each argument stands for itself
)dl", {}},
{"BoolNumber", R"dl(y = conv2d(x, 3, 1, bias=0))dl",
R"dl(test.dl:2:28: error: 'bias' expects true or false, found the integer 0
  y = conv2d(x, 3, 1, bias=0)
                           ^ false
)dl", {}},
{"Hex", R"dl(n = 0x10)dl",
R"dl(test.dl:2:7: error: a number cannot be followed by letters
  n = 0x10
      ^~~~ integers are decimal
)dl", {}},
{"1f", R"dl(n = 1.0f)dl",
R"dl(test.dl:2:7: error: a number cannot be followed by letters
  n = 1.0f
      ^~~~ a number has no suffix: its tensor gives it a dtype
)dl", {}},
{"Yield", R"dl(yield x)dl",
R"dl(test.dl:2:3: error: expected a statement, found 'yield'
  yield x
  ^~~~~ 'return' gives what a block computes
)dl", {}},
{"Pass", R"dl(pass)dl",
R"dl(test.dl:2:3: error: expected a statement, found 'pass'
  pass
  ^~~~ a body may be empty: leave it out
)dl", {}},
{"Break", R"dl(repeat 3 { break })dl",
R"dl(test.dl:2:14: error: expected a statement, found 'break'
  repeat 3 { break }
             ^~~~~ a loop runs to its end: 'if' leaves out what is not wanted
)dl", {}},
{"ImportInside", R"dl(import torch)dl",
R"dl(test.dl:2:3: error: expected a statement, found 'import'
  import torch
  ^~~~~~ from "std/resnet.dl" import Bottleneck
)dl", {}},
{"FromInside", R"dl(from "std/resnet.dl" import Bottleneck)dl",
R"dl(test.dl:2:3: error: 'from' stands outside of blocks, models and sections
  from "std/resnet.dl" import Bottleneck
  ^~~~ put it before this body, or close the body with '}'
)dl", {}},
{"BlockInside", R"dl(block B(x) { return x })dl",
R"dl(test.dl:2:3: error: 'block' stands outside of blocks, models and sections
  block B(x) { return x }
  ^~~~~ put it before this body, or close the body with '}'
)dl", {}},
{"LayerAssign", R"dl(f = linear(10)
y = f(x))dl",
R"dl(test.dl:2:14: error: 'x' expects a floating-point tensor, found the integer 10
  f = linear(10)
             ^~ linear(x, features, *, bias=true, weight=none, ...)
)dl", {}},
{"ParameterNoType", R"dl(parameter w = zeros((3,)))dl",
R"dl(test.dl:2:15: error: expected ':' and a type, found '='
  parameter w = zeros((3,))
              ^ parameter w: f32[3] = 0
)dl", {}},
{"ParameterNoInit", R"dl(parameter w: f32[3])dl",
R"dl(test.dl:3:3: error: expected '=', found 'return'
  return x |> flatten |> linear(10)
  ^~~~~~ what it begins with: = normal(0, 0.02)
)dl", {}},
{"ParameterInitTensor", R"dl(parameter w: f32[3] = zeros((3,)))dl",
R"dl(test.dl:2:25: error: an initialiser is a number or such as normal(0, 0.02), found the tensor f32[3]
  parameter w: f32[3] = zeros((3,))
                        ^~~~~~~~~~~ the number fills it: w: ... = 0
)dl", {}},
{"ParameterTorch", R"dl(w = Parameter(zeros((3,))))dl",
R"dl(test.dl:2:7: error: unknown name 'Parameter'
  w = Parameter(zeros((3,)))
      ^~~~~~~~~ parameter w: f32[3] = normal(0, 0.02)
)dl", {}},
{"NameIsBuiltin", R"dl(relu = relu(x)
y = relu(x))dl",
R"dl(test.dl:3:7: error: this cannot be called: it is the tensor f32[4, 3, 8, 8]
  y = relu(x)
      ^~~~
test.dl:2:3: note: 'relu' is bound here, which hides the built-in
)dl", {}},
{"ReluBrackets", R"dl(y = relu[x])dl",
R"dl(test.dl:2:7: error: only sequences and tensors have elements, this is the function relu
  y = relu[x]
      ^~~~~~~ arguments stand in '( )'
)dl", {}},
{"SeqMult", R"dl(s = [1] * 3)dl",
R"dl(test.dl:2:11: error: '*' does not work on a sequence of 1 and the integer 3
  s = [1] * 3
          ^ a loop computes with elements: for x in s { ... }
)dl", {}},
{"InOperator", R"dl(a = 1 in [1, 2])dl",
R"dl(test.dl:2:9: error: expected a statement, found 'in'
  a = 1 in [1, 2]
        ^~ 'in' belongs to 'for'; '==' compares
)dl", {}},
{"IsNone", R"dl(a = 1 is none)dl",
R"dl(test.dl:2:9: error: expected a statement, found 'is'
  a = 1 is none
        ^~ '==' compares
)dl", {}},
{"NotEqualSql", R"dl(a = 1 <> 2)dl",
R"dl(test.dl:2:9: error: unexpected '<>'
  a = 1 <> 2
        ^~ '!=' compares
)dl", {}},
{"LayerNormShape", R"dl(y = x |> layer_norm((3, 8, 8)))dl",
R"dl(test.dl:2:23: error: layer_norm takes 1 argument by position: x
  y = x |> layer_norm((3, 8, 8))
                      ^~~~~~~~~ the size of the input is known: leave it out; or name it: axes=(3, 8, 8)
)dl", {}},
{"GroupNormSwapped", R"dl(y = x |> group_norm(3, 3))dl",
R"dl(test.dl:2:26: error: group_norm takes 2 arguments by position: x, groups
  y = x |> group_norm(3, 3)
                         ^ the size of the input is known: leave it out
)dl", {}},
{"ZerosLike", R"dl(y = zeros_like(x))dl",
R"dl(test.dl:2:7: error: unknown name 'zeros_like'
  y = zeros_like(x)
      ^~~~~~~~~~ did you mean 'zeros'?
)dl", {}},
{"TensorDtype", R"dl(y = tensor([1, 2], dtype="f32"))dl",
R"dl(test.dl:2:28: error: 'dtype' expects a dtype or none, found the string "f32"
  y = tensor([1, 2], dtype="f32")
                           ^~~~~ without '"': f32
)dl", {}},
{"DtypeName", R"dl(y = x |> cast(float32))dl",
R"dl(test.dl:2:17: error: unknown name 'float32'
  y = x |> cast(float32)
                ^~~~~~~ did you mean 'f32'?
test.dl:2:12: error: unknown name 'cast'
  y = x |> cast(float32)
           ^~~~ f32(x) casts to f32, i32(x) to i32
)dl", {}},
{"Attention", R"dl(y = MultiheadAttention(x, 3))dl",
R"dl(test.dl:2:7: error: unknown name 'MultiheadAttention'
  y = MultiheadAttention(x, 3)
      ^~~~~~~~~~~~~~~~~~ did you mean 'attention'?
)dl", {}},
{"IfNoElseUnbound", R"dl(if rank(x) == 3 { y = x }
z = y)dl",
R"dl(test.dl:3:7: error: unknown name 'y'
  z = y
      ^ it is bound in line 2, in a body that does not run
)dl", {}},
{"UnicodeQuotes", R"dl(y = conv2d(x, 3, 1, name=“a”))dl",
R"dl(test.dl:2:28: error: unexpected character '“'
  y = conv2d(x, 3, 1, name=“a”)
                           ^~~ strings stand in '"'
)dl", {}},
{"UnicodeMinus", R"dl(n = 3 − 1)dl",
R"dl(test.dl:2:9: error: unexpected character '−'
  n = 3 − 1
        ^ minus is '-'
)dl", {}},
{"SumPositionalKeep", R"dl(y = mean(x, 2, 3))dl",
R"dl(test.dl:2:18: error: mean takes 2 arguments by position: x, axes
  y = mean(x, 2, 3)
                 ^ axes is one argument, such as (4, 5)
)dl", {}},
{"LossesByPosition", R"dl(y = huber(x, x, 2.0))dl",
R"dl(test.dl:2:19: error: huber takes 2 arguments by position: a, target
  y = huber(x, x, 2.0)
                  ^~~ delta=2.0
)dl", {}},
{"LayerNormSize", R"dl(y = x |> flatten |> layer_norm(192))dl",
R"dl(test.dl:2:34: error: layer_norm takes 1 argument by position: x
  y = x |> flatten |> layer_norm(192)
                                 ^~~ the size of the input is known: leave it out; or name it: axes=192
)dl", {}},
{"ParenAfterNewline", R"dl(y = relu
(x))dl",
R"dl(test.dl:3:3: error: expected a statement, found '('
  (x)
  ^ a '(' that goes on with a line stands on it
)dl", {}},
{"AtDecorator", R"dl(@torch.no_grad()
y = x)dl",
R"dl(test.dl:2:3: error: expected a statement, found '@'
  @torch.no_grad()
  ^ there are no decorators: leave it out
)dl", {}},
{"BackSlash", R"dl(y = x + \
  x)dl",
R"dl(test.dl:2:11: error: unexpected character '\'
  y = x + \
          ^ lines need no sign to go on: a pipe may begin the next one
)dl", {}},
{"Ellipsis", R"dl(y = x[..., 0])dl",
R"dl(test.dl:2:9: error: unexpected '...'
  y = x[..., 0]
        ^~~ each axis has its place: x[:, :, 0]
)dl", {}},
{"HashComment", R"dl(y = relu(x)  # it's the activation)dl",
R"dl(test.dl:2:16: error: unexpected character '#'
  y = relu(x)  # it's the activation
               ^ a comment begins with '//'
)dl", {}},
{"TripleEquals", R"dl(if 1 === 1 { y = x })dl",
R"dl(test.dl:2:8: error: unexpected '==='
  if 1 === 1 { y = x }
       ^~~ '==' compares
)dl", {}},
{"IPlusPlus", R"dl(i = 0
i++)dl",
R"dl(test.dl:3:4: error: unexpected '++'
  i++
   ^~ 'i = i + 1'
)dl", {}},
{"UnaryPlus", R"dl(y = +x)dl",
R"dl(test.dl:2:7: error: expected an expression, found '+'
  y = +x
      ^ a number needs no '+'
)dl", {}},
{"IfInSum", R"dl(y = 1 + if true then 1 else 2)dl",
R"dl(test.dl:2:11: error: expected an expression, found 'if'
  y = 1 + if true then 1 else 2
          ^~ 'if ... then ... else ...' needs parentheses here
)dl", {}},
{"KeywordAsName", R"dl(in = relu(x))dl",
R"dl(test.dl:2:3: error: expected a statement, found 'in'
  in = relu(x)
  ^~ 'in' is a word of the language
)dl", {}},
{"KeywordAsName2", R"dl(y = model)dl",
R"dl(test.dl:2:7: error: expected an expression, found 'model'
  y = model
      ^~~~~ 'model' is a word of the language
)dl", {}},
{"BoolCapitalArg", R"dl(y = x |> conv2d(8, 3, bias=FALSE))dl",
R"dl(test.dl:2:30: error: unknown name 'FALSE'
  y = x |> conv2d(8, 3, bias=FALSE)
                             ^~~~~ did you mean 'false'?
)dl", {}},
{"StringNumber", R"dl(y = x |> linear("10"))dl",
R"dl(test.dl:2:19: error: 'features' expects an integer, found the string "10"
  y = x |> linear("10")
                  ^~~~ without '"': 10
)dl", {}},
{"LayerByString", R"dl(y = x |> "relu")dl",
R"dl(test.dl:2:12: error: expected the name of a function or layer after '|>', found the string "relu"
  y = x |> "relu"
           ^~~~~~ names stand without '"'
)dl", {}},
{"AssignToIndex", R"dl(s = [1, 2]
s[0] = 3)dl",
R"dl(test.dl:3:3: error: expected a statement, found 's'
  s[0] = 3
  ^ no value changes in place: a new one is bound to a name
)dl", {}},
{"ForOverTensor", R"dl(for row in x { y = row })dl",
R"dl(test.dl:2:14: error: 'for' goes through a sequence, found the tensor f32[4, 3, 8, 8]
  for row in x { y = row }
             ^ range(size(x, 0))
)dl", {}},
{"InitTensor", R"dl(y = x |> linear(3, init=zeros((3, 8))))dl",
R"dl(test.dl:2:27: error: 'init' is a number or such as normal(0, 0.02), found the tensor f32[3, 8]
  y = x |> linear(3, init=zeros((3, 8)))
                          ^~~~~~~~~~~~~ a number fills it: 0
)dl", {}},
{"BiasInitWithoutBias", R"dl(y = x |> conv2d(8, 3, bias=false, bias_init=0))dl",
R"dl(test.dl:2:37: error: 'bias_init' has no effect: this conv2d has no bias of its own
  y = x |> conv2d(8, 3, bias=false, bias_init=0)
                                    ^~~~~~~~~
)dl", {}},
{"InitWithoutWeight", R"dl(y = x |> batch_norm(affine=false, init=2))dl",
R"dl(test.dl:2:37: error: 'init' has no effect: this batch_norm has no weight of its own
  y = x |> batch_norm(affine=false, init=2)
                                    ^~~~
)dl", {}},
{"BiasInitName", R"dl(y = x |> linear(3, bias_init=zeros))dl",
R"dl(test.dl:2:32: error: 'bias_init' is a number or such as normal(0, 0.02), found the function zeros
  y = x |> linear(3, bias_init=zeros)
                               ^~~~~ a number fills it: 0
)dl", {}},
{"Trainable", R"dl(y = x |> linear(3, trainable=false))dl",
R"dl(test.dl:2:22: error: linear has no argument 'trainable'
  y = x |> linear(3, trainable=false)
                     ^~~~~~~~~ frozen=true at a layer, or in a 'parameters' group
)dl", {}},
{"WeightDecayOnLayer", R"dl(y = x |> linear(3, weight_decay=0))dl",
R"dl(test.dl:2:22: error: linear has no argument 'weight_decay'
  y = x |> linear(3, weight_decay=0)
                     ^~~~~~~~~~~~ an argument of the optimizer; decay_mult is a factor on it
)dl", {}},
{"NoOpenSize", R"dl(y = zeros((-1,)))dl",
R"dl(test.dl:2:13: error: a size is 0 or more, found -1
  y = zeros((-1,))
            ^~~~~
)dl", {}},
{"NestedNumbers", R"dl(y = tensor([[1, 2], [3, 4]]))dl",
R"dl(test.dl:2:14: error: an element of f32 cannot be a sequence of 2
  y = tensor([[1, 2], [3, 4]])
             ^~~~~~~~~~~~~~~~ numbers stand in one sequence: shape=(2, 2) lays them
)dl", {}},
{"WeightOfAnotherName", R"dl(layer f = linear(_, 10)
y = f(x)
w = f.kernel)dl",
R"dl(test.dl:4:9: error: layer 'f' has no weight 'kernel'
  w = f.kernel
        ^~~~~~ it has bias, weight
)dl", {}},
{"SpaceOfAnotherKind", "y =\u00A0relu(x)",
R"dl(test.dl:2:6: error: unexpected character with code 160
  y = relu(x)
     ^ a space of another kind: write a plain one
)dl", {}},
};
// clang-format on

TEST(Mistakes, InAModel) { checkErrors(bodies, inModel); }
