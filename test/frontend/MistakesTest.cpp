// The mistakes of the first day, each with the exact line that helps: what is written as in Python,
// C++, PyTorch, Keras or Caffe, slips of the hand, and what is said elsewhere in another place.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

/// A train section of the model M from an image; what it needs and `body` does not say stands
/// behind it. The body begins in line 5.
static std::string inTrain(llvm::StringRef body) {
  std::string text = "model M(image: f32[N, 784]) -> f32[N, 10] {\n  return linear(image, 10)\n}\n"
                     "train M {\n";
  llvm::SmallVector<llvm::StringRef> lines;
  if (!body.empty())
    body.split(lines, '\n');
  for (llvm::StringRef standard : {"label: i32[N]", "loss = softmax_cross_entropy(output, label)",
                                   "optimizer = sgd(learning_rate=0.1)", "batch = 4"}) {
    llvm::StringRef word = standard.take_while([](char c) { return llvm::isAlpha(c); });
    auto binds = [&](llvm::StringRef line) {
      return line.starts_with(word) && !llvm::isAlnum(line.drop_front(word.size()).front());
    };
    if (llvm::none_of(lines, binds))
      lines.push_back(standard);
  }
  for (llvm::StringRef line : lines)
    text += "  " + line.str() + "\n";
  return text + "}\n";
}

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
                               ^ strings are names and choices only: they are not computed
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
      ^~~ strings are names and choices only: they are not computed
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
             ^~ linear(x, features, *, bias=true, weight=none)
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
R"dl(test.dl:2:28: error: 'dtype' expects a dtype, found the string "f32"
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
static const ErrorCase settings[] = {
{"OptUnknownArg", R"dl(optimizer = sgd(learning_rate=0.1, beta=0.9))dl",
R"dl(test.dl:5:38: error: sgd has no argument 'beta'
  optimizer = sgd(learning_rate=0.1, beta=0.9)
                                     ^~~~ did you mean 'momentum'?
)dl", {}},
{"OptUnknownArg2", R"dl(optimizer = sgd(learning_rate=0.1, foo=0.9))dl",
R"dl(test.dl:5:38: error: sgd has no argument 'foo'
  optimizer = sgd(learning_rate=0.1, foo=0.9)
                                     ^~~ it takes learning_rate, momentum, dampening, nesterov, weight_decay
)dl", {}},
{"OptParams", R"dl(optimizer = sgd(params=1, learning_rate=0.1, foo=0.9))dl",
R"dl(test.dl:5:19: error: sgd has no argument 'params'
  optimizer = sgd(params=1, learning_rate=0.1, foo=0.9)
                  ^~~~~~ what is trained is the section's models: leave it out
)dl", {}},
{"Plateau", R"dl(schedule = plateau(metric="val_loss"))dl",
R"dl(test.dl:5:29: error: evaluations yield no 'val_loss'
  schedule = plateau(metric="val_loss")
                            ^~~~~~~~~~ they yield 'loss'
)dl", {}},
{"OptimizerBare", R"dl(optimizer = sgd)dl",
R"dl(test.dl:5:3: error: 'optimizer' is such as sgd(learning_rate=0.01), found the function sgd
  optimizer = sgd
  ^~~~~~~~~ call it: sgd(learning_rate, *, momentum=0, dampening=0, ...)
)dl", {}},
{"OptimizerString", R"dl(optimizer = "sgd")dl",
R"dl(test.dl:5:3: error: 'optimizer' is such as sgd(learning_rate=0.01), found the string "sgd"
  optimizer = "sgd"
  ^~~~~~~~~ without '"': sgd(learning_rate, *, momentum=0, dampening=0, ...)
)dl", {}},
{"OptimizerBetas", R"dl(optimizer = adam(betas=(0.9, 1)))dl",
R"dl(test.dl:5:26: error: 'betas' is 2 numbers of 0 or more and below 1, found a sequence of 2
  optimizer = adam(betas=(0.9, 1))
                         ^~~~~~~~
)dl", {}},
{"OptimizerOneBeta", R"dl(optimizer = adamw(betas=0.9))dl",
R"dl(test.dl:5:27: error: 'betas' expects a sequence, found the float 0.9
  optimizer = adamw(betas=0.9)
                          ^~~ [0.9]
)dl", {}},
{"OptimizerRho", R"dl(optimizer = adadelta(rho=1.5))dl",
R"dl(test.dl:5:28: error: 'rho' is 0 or more and below 1, found 1.5
  optimizer = adadelta(rho=1.5)
                           ^~~
)dl", {}},
{"ScheduleString", R"dl(schedule = "cosine")dl",
R"dl(test.dl:5:3: error: 'schedule' is such as cosine(epochs=10), or a sequence of them, found the string "cosine"
  schedule = "cosine"
  ^~~~~~~~ without '"': cosine(epochs=10)
)dl", {}},
{"ScheduleBare", R"dl(schedule = cosine)dl",
R"dl(test.dl:5:3: error: 'schedule' is such as cosine(epochs=10), or a sequence of them, found the function cosine
  schedule = cosine
  ^~~~~~~~ call it: cosine(epochs=10)
)dl", {}},
{"ScheduleNumber", R"dl(schedule = cosine(10))dl",
R"dl(test.dl:5:21: error: cosine takes its arguments by name
  schedule = cosine(10)
                    ^~ epochs=10
)dl", {}},
{"ScheduleT_max", R"dl(schedule = cosine(T_max=10))dl",
R"dl(test.dl:5:21: error: cosine has no argument 'T_max'
  schedule = cosine(T_max=10)
                    ^~~~~ did you mean 'epochs'?
)dl", {}},
{"ScheduleStep_size", R"dl(schedule = step(step_size=30, gamma=0.1))dl",
R"dl(test.dl:5:19: error: step has no argument 'step_size'
  schedule = step(step_size=30, gamma=0.1)
                  ^~~~~~~~~ did you mean 'epochs'?
)dl", {}},
{"ClipNumber", R"dl(clip = 1.0)dl",
R"dl(test.dl:5:3: error: 'clip' is such as global_norm(1.0), found the float 1.0
  clip = 1.0
  ^~~~ global_norm(1.0)
)dl", {}},
{"LabelNoType", R"dl(label)dl",
R"dl(test.dl:5:3: error: expected a statement, found 'label'
  label
  ^~~~~ a value is bound by 'label = value', data is declared by 'label: i32[N]'
)dl", {}},
{"LabelEq", R"dl(label = i32[N])dl",
R"dl(test.dl:5:11: error: only sequences and tensors have elements, this is the dtype i32
  label = i32[N]
          ^~~~~~ a type stands behind ':', as in label: i32[N]
)dl", {}},
{"LabelU8", R"dl(label: u8[N])dl",
R"dl(test.dl:6:40: error: 'label' expects an i32 or i64 tensor, found the tensor u8[4]
  loss = softmax_cross_entropy(output, label)
                                       ^~~~~ cast it with i32(...)
)dl", {}},
{"LossSwapped", R"dl(loss = softmax_cross_entropy(label, output))dl",
R"dl(test.dl:5:10: error: softmax_cross_entropy expects a floating-point tensor, found i32[4]
  loss = softmax_cross_entropy(label, output)
         ^~~~~~~~~~~~~~~~~~~~~ softmax_cross_entropy(logits, label, *, axis=1, label_smoothing=0, ...)
test.dl:6:3: note: 'label' is declared here
)dl", {}},
{"LossString", R"dl(loss = "categorical_crossentropy")dl",
R"dl(test.dl:5:10: error: the loss must be a scalar f32[], found the string "categorical_crossentropy"
  loss = "categorical_crossentropy"
         ^~~~~~~~~~~~~~~~~~~~~~~~~~ without '"': softmax_cross_entropy(logits, label, *, axis=1, label_smoothing=0, ...)
)dl", {}},
{"LossBare", R"dl(loss = softmax_cross_entropy)dl",
R"dl(test.dl:5:10: error: the loss must be a scalar f32[], found the function softmax_cross_entropy
  loss = softmax_cross_entropy
         ^~~~~~~~~~~~~~~~~~~~~ call it: softmax_cross_entropy(logits, label, *, axis=1, label_smoothing=0, ...)
)dl", {}},
{"LossSqrt", R"dl(loss = sqrt(softmax_cross_entropy(output, label)))dl",
R"dl(test.dl:5:10: error: the loss must be a sum of multiples of means over the batch, so that partial batches and ranks add up
  loss = sqrt(softmax_cross_entropy(output, label))
         ^~~~ compute it per sample, with reduction="none", and take the mean last
)dl", {}},
{"MetricBare", R"dl(metric accuracy)dl",
R"dl(test.dl:6:3: error: expected '=', found 'label'
  label: i32[N]
  ^~~~~ metric accuracy = accuracy(output, label)
)dl", {}},
{"MetricsList", R"dl(metrics = ["accuracy"])dl",
R"dl(test.dl:5:3: error: 'metrics' is bound and never used
  metrics = ["accuracy"]
  ^~~~~~~ 'metric accuracy = accuracy(output, label)' makes a number to watch
)dl", {}},
{"MetricUnknown", R"dl(metric f1 = f1_score(output, label))dl",
R"dl(test.dl:5:15: error: unknown name 'f1_score'
  metric f1 = f1_score(output, label)
              ^~~~~~~~ there is accuracy, top_k_accuracy, binary_accuracy, perplexity
)dl", {}},
{"GroupWd", R"dl(parameters "**" { weight_decay = 0 })dl",
R"dl(test.dl:5:21: error: a group has no setting 'weight_decay'
  parameters "**" { weight_decay = 0 }
                    ^~~~~~~~~~~~ decay_mult is a factor on the optimizer's weight decay
)dl", {}},
{"Device", R"dl(device = "cuda")dl",
R"dl(test.dl:5:3: error: 'device' is bound and never used
  device = "cuda"
  ^~~~~~ where it runs is said to dlc: --target
)dl", {}},
{"LrScheduleFn", R"dl(optimizer = sgd(learning_rate=cosine(epochs=10)))dl",
R"dl(test.dl:5:33: error: 'learning_rate' expects a number, found the schedule cosine
  optimizer = sgd(learning_rate=cosine(epochs=10))
                                ^~~~~~~~~~~~~~~~~ a setting of its own: schedule = cosine(...)
)dl", {}},
{"LrString", R"dl(optimizer = sgd(learning_rate="0.1"))dl",
R"dl(test.dl:5:33: error: 'learning_rate' expects a number, found the string "0.1"
  optimizer = sgd(learning_rate="0.1")
                                ^~~~~ without '"': 0.1
)dl", {}},
{"CallOwnModel", R"dl(y = M(image)
loss = softmax_cross_entropy(y, label))dl",
R"dl(test.dl:5:9: error: unknown name 'image'
  y = M(image)
        ^~~~~ 'image: f32[N, 784]' declares what the data delivers
)dl", {}},
{"FieldThenDefault", R"dl(label: i32[N] = 0)dl",
R"dl(test.dl:5:17: error: expected a statement, found '='
  label: i32[N] = 0
                ^ a field has no value: the data delivers it
)dl", {}},
{"FieldList", R"dl(label: [N])dl",
R"dl(test.dl:5:10: error: expected a type such as f32[N, 10], found '['
  label: [N]
         ^ a dtype stands before the dimensions: f32[N, 10]
)dl", {}},
{"FieldsComma", R"dl(label, weight: i32[N])dl",
R"dl(test.dl:5:16: error: expected '=', found ':'
  label, weight: i32[N]
               ^ each field stands by itself: 'name: i32[N]'
)dl", {}},
{"OptimizerMomentum", R"dl(optimizer = Momentum(0.1, 0.9))dl",
R"dl(test.dl:5:15: error: unknown name 'Momentum'
  optimizer = Momentum(0.1, 0.9)
              ^~~~~~~~ there is sgd, adam, adamw, rmsprop, adagrad, adadelta
)dl", {}},
{"ScheduleSteplr", R"dl(schedule = StepLR(30))dl",
R"dl(test.dl:5:14: error: unknown name 'StepLR'
  schedule = StepLR(30)
             ^~~~~~ did you mean 'step'?
)dl", {}},
{"ScheduleUnknown", R"dl(schedule = inverse_sqrt(steps=10))dl",
R"dl(test.dl:5:14: error: unknown name 'inverse_sqrt'
  schedule = inverse_sqrt(steps=10)
             ^~~~~~~~~~~~ there is constant, step, multistep, exponential, polynomial, cosine, cosine_restarts, one_cycle, cyclic, warmup, plateau
)dl", {}},
{"ClipBare", R"dl(clip = global_norm)dl",
R"dl(test.dl:5:3: error: 'clip' is such as global_norm(1.0), found the function global_norm
  clip = global_norm
  ^~~~ call it: global_norm(limit)
)dl", {}},
{"LossUnknown", R"dl(loss = focal_loss(output, label))dl",
R"dl(test.dl:5:10: error: unknown name 'focal_loss'
  loss = focal_loss(output, label)
         ^~~~~~~~~~ there is softmax_cross_entropy, sigmoid_cross_entropy, mean_squared_error, mean_absolute_error, huber, kl_divergence, hinge
)dl", {}},
{"LossKw", R"dl(loss = softmax_cross_entropy(y_pred=output, y_true=label))dl",
R"dl(test.dl:5:32: error: softmax_cross_entropy has no argument 'y_pred'
  loss = softmax_cross_entropy(y_pred=output, y_true=label)
                               ^~~~~~ did you mean 'logits'?
)dl", {}},
{"LossFromLogits", R"dl(loss = softmax_cross_entropy(output, label, from_logits=true))dl",
R"dl(test.dl:5:47: error: softmax_cross_entropy has no argument 'from_logits'
  loss = softmax_cross_entropy(output, label, from_logits=true)
                                              ^~~~~~~~~~~ it takes logits always: leave it out
)dl", {}},
{"MetricCall", R"dl(metric(accuracy(output, label)))dl",
R"dl(test.dl:5:9: error: expected a name, found '('
  metric(accuracy(output, label))
        ^ metric accuracy = accuracy(output, label)
)dl", {}},
{"MetricTop5", R"dl(metric top5 = top5_accuracy(output, label))dl",
R"dl(test.dl:5:17: error: unknown name 'top5_accuracy'
  metric top5 = top5_accuracy(output, label)
                ^~~~~~~~~~~~~ did you mean 'top_k_accuracy'?
)dl", {}},
{"FrozenBare", R"dl(parameters "linear1.*" { frozen })dl",
R"dl(test.dl:5:35: error: expected '=', found '}'
  parameters "linear1.*" { frozen }
                                  ^ frozen = value
)dl", {}},
{"GroupColon", R"dl(parameters "**": { frozen = true })dl",
R"dl(test.dl:5:18: error: expected '{', found ':'
  parameters "**": { frozen = true }
                 ^ a body stands in '{ }'
)dl", {}},
{"GroupInitString", R"dl(parameters "**" { init = "xavier" })dl",
R"dl(test.dl:5:28: error: an initialiser is a number or such as normal(0, 0.02), found the string "xavier"
  parameters "**" { init = "xavier" }
                           ^~~~~~~~ without '"': xavier_uniform(gain=1)
)dl", {}},
{"MultistepOfANumber", R"dl(schedule = multistep(epochs=30))dl",
R"dl(test.dl:5:31: error: 'epochs' expects a sequence or none, found the integer 30
  schedule = multistep(epochs=30)
                              ^~ [30]
)dl", {}},
};
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

TEST(Mistakes, InAModel) { checkErrors(bodies, inModel); }
TEST(Mistakes, InATrainSection) { checkErrors(settings, inTrain); }
TEST(Mistakes, InAFile) { checkErrors(files); }
