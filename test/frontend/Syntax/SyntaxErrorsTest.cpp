// Lexical and syntax errors with their exact text: place, caret, hint, and how parsing goes on
// after them.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

// clang-format off
static const ErrorCase cases[] = {
{"UnexpectedCharacter", R"dl(width = 3 # layers
)dl",
R"dl(test.dl:1:11: error: unexpected character '#'
width = 3 # layers
          ^ a comment begins with '//'
)dl", {}},
{"SemicolonAtTheEnd", R"dl(width = 3;
)dl",
R"dl(test.dl:1:10: error: unexpected character ';'
width = 3;
         ^ a statement ends without a sign
)dl", {}},
{"NonAsciiName", R"dl(größe = 3
)dl",
R"dl(test.dl:1:3: error: unexpected character 'ö'
größe = 3
  ^~ letters other than ASCII may stand in comments and strings only
)dl", {}},
{"NulByte", llvm::StringRef("width = 3\0\n", 11),
R"dl(test.dl:1:10: error: unexpected character with code 0
width = 3?
         ^
)dl", {}},
{"NotUtf8", llvm::StringRef("width = 3 // \xff\n", 15),
R"dl(test.dl:1:14: error: the file is not UTF-8: byte 0xff
width = 3 // ?
             ^
)dl", {}},
{"UnclosedString", R"dl(name = "abc
)dl",
R"dl(test.dl:1:8: error: this string is not closed
name = "abc
       ^ a string ends with '"' on its line
)dl", {}},
{"UnknownEscape", R"dl(name = "a\qb"
)dl",
R"dl(test.dl:1:10: error: unknown escape in a string
name = "a\qb"
         ^~ one of \" \\ \n \t
)dl", {}},
{"NumberWithLetters", R"dl(width = 3x
)dl",
R"dl(test.dl:1:9: error: a number cannot be followed by letters
width = 3x
        ^~ a space, or a name that begins with a letter
)dl", {}},
{"IntegerTooLarge", R"dl(width = 9223372036854775808
)dl",
R"dl(test.dl:1:9: error: this integer does not fit in 64 bits
width = 9223372036854775808
        ^~~~~~~~~~~~~~~~~~~
)dl", {}},
{"FloatTooLarge", R"dl(width = 1e999
)dl",
R"dl(test.dl:1:9: error: this number does not fit in 64 bits
width = 1e999
        ^~~~~
)dl", {}},
{"ColumnsCountCharacters", R"dl(name = "é" + é
)dl",
R"dl(test.dl:1:14: error: unexpected character 'é'
name = "é" + é
             ^ letters other than ASCII may stand in comments and strings only
)dl", {}},
{"ColumnAfterWideText", R"dl(name = "äöü" 3
)dl",
R"dl(test.dl:1:14: error: expected a block, model, train, infer or 'name = value', found '3'
name = "äöü" 3
             ^
)dl", {}},
{"TabsKeepTheCaretBelow", llvm::StringRef("block B(x) {\n\ty = x +\n\treturn y\n}\n", 34),
R"dl(test.dl:3:2: error: expected an expression, found 'return'
	return y
	^~~~~~ line 2 ends without it
)dl", {}},
{"CarriageReturns", llvm::StringRef("a = 1\r\nb = = 2\r\n", 16),
R"dl(test.dl:2:5: error: expected an expression, found '='
b = = 2
    ^
)dl", {}},
{"NoItem", R"dl(x + 3
)dl",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found 'x'
x + 3
^
)dl", {}},
{"MisspeltItem", R"dl(modle M(x: f32[N]) -> f32[N] { return x }
)dl",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found 'modle'
modle M(x: f32[N]) -> f32[N] { return x }
^~~~~ did you mean 'model'?
)dl", {}},
{"VersionLine", R"dl(language 2
)dl",
R"dl(test.dl:1:1: error: a version line is not part of the language
language 2
^~~~~~~~ 'language' before an integer is kept free for one
)dl", {}},
{"KeywordAsName", R"dl(repeat = 3
)dl",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found 'repeat'
repeat = 3
^~~~~~ 'repeat' is a word of the language
)dl", {}},
{"KeywordAsNameInside", R"dl(block B(x) {
  layer in = linear(_, 3)
  return x
}
)dl",
R"dl(test.dl:2:9: error: expected a name, found 'in'
  layer in = linear(_, 3)
        ^~ 'in' is a word of the language
)dl", {}},
{"UnclosedParenthesis", R"dl(block B(x) {
  y = x |> max_pool(2
  return y
}
)dl",
R"dl(test.dl:2:20: error: this '(' is not closed; line 3 begins a new statement
  y = x |> max_pool(2
                   ^ expected ',' or ')'
)dl", {}},
{"UnclosedParenthesisAtTheEnd", "a = (1, 2",
R"dl(test.dl:1:5: error: this '(' is not closed; the file ends
a = (1, 2
    ^ expected ',' or ')'
)dl", {}},
{"UnclosedParenthesisBeforeBrace", R"dl(block B(x) {
  return relu(x
}
)dl",
R"dl(test.dl:2:14: error: this '(' is not closed; line 3 ends the body
  return relu(x
             ^ expected ',' or ')'
)dl", {}},
{"UnclosedBrace", R"dl(block B(x) {
  y = x

block C(x) { return x }
)dl",
R"dl(test.dl:1:12: error: this '{' is not closed; line 4 begins a new item
block B(x) {
           ^
)dl", {}},
{"UnclosedBraceAtTheEnd", R"dl(block B(x) {
  for i in range(3) {
    x = relu(x)
)dl",
R"dl(test.dl:2:21: error: this '{' is not closed; the file ends
  for i in range(3) {
                    ^
)dl", {}},
{"StrayBrace", R"dl(a = 1
}
b = 2
)dl",
R"dl(test.dl:2:1: error: expected a block, model, train, infer or 'name = value', found '}'
}
^ nothing is open that it could close
)dl", {}},
{"MissingComma", R"dl(block B(x) {
  return conv2d(x 8, 3)
}
)dl",
R"dl(test.dl:2:19: error: expected ',' or ')', found '8'
  return conv2d(x 8, 3)
                  ^
)dl", {}},
{"MissingValue", R"dl(block B(x) {
  y =
  z = relu(x)
  return z
}
)dl",
R"dl(test.dl:3:3: error: expected an expression, found 'z'
  z = relu(x)
  ^ line 3 begins a new statement
)dl", {}},
{"OperatorAfterStage", R"dl(block B(x, y) {
  return x |> flatten + y
}
)dl",
R"dl(test.dl:2:23: error: an operator cannot follow a pipe stage
  return x |> flatten + y
                      ^ write '(x |> flatten) + y' or 'x |> flatten |> add(y)'
)dl", {}},
{"ComparisonAfterStage", R"dl(block B(x, y) {
  return x |> rank == 3
}
)dl",
R"dl(test.dl:2:20: error: an operator cannot follow a pipe stage
  return x |> rank == 3
                   ^~ write '(x |> rank) == 3'
)dl", {}},
{"StageIsNoName", R"dl(block B(x) {
  return x |> 3
}
)dl",
R"dl(test.dl:2:15: error: expected the name of a function or layer after '|>', found '3'
  return x |> 3
              ^
)dl", {}},
{"HoleOutsideAStage", R"dl(block B(x) {
  return relu(_)
}
)dl",
R"dl(test.dl:2:15: error: there is no piped value for '_' to stand for
  return relu(_)
              ^ '_' is an argument of a pipe stage, or a whole argument of 'layer'
)dl", {}},
{"NestedHoleInLayer", R"dl(block B(x) {
  layer f = linear(relu(_), 3)
  return f(x)
}
)dl",
R"dl(test.dl:2:25: error: there is no piped value for '_' to stand for
  layer f = linear(relu(_), 3)
                        ^ '_' is an argument of a pipe stage, or a whole argument of 'layer'
)dl", {}},
{"ChainedComparison", R"dl(block B(x) {
  assert 1 < x < 3
  return x
}
)dl",
R"dl(test.dl:2:16: error: comparisons do not chain
  assert 1 < x < 3
               ^ join two comparisons by 'and'
)dl", {}},
{"NotInsideSum", R"dl(block B(x) {
  y = 1 + not x
  return y
}
)dl",
R"dl(test.dl:2:11: error: expected an expression, found 'not'
  y = 1 + not x
          ^~~ 'not' needs parentheses here
)dl", {}},
{"PositionalAfterKeyword", R"dl(block B(x) {
  return conv2d(x, channels=8, 3)
}
)dl",
R"dl(test.dl:2:32: error: a positional argument cannot follow a keyword argument
  return conv2d(x, channels=8, 3)
                               ^ keyword arguments come last
)dl", {}},
{"StatementIsAnExpression", R"dl(block B(x) {
  relu(x)
  return x
}
)dl",
R"dl(test.dl:2:3: error: expected a statement, found 'relu'
  relu(x)
  ^~~~ a value is bound to a name: 'name = relu(...)'
)dl", {}},
{"MisspeltStatement", R"dl(block B(x) {
  retrun x
}
)dl",
R"dl(test.dl:2:3: error: expected a statement, found 'retrun'
  retrun x
  ^~~~~~ did you mean 'return'?
)dl", {}},
{"ElseWithoutIf", R"dl(block B(x) {
  else { x = 1 }
  return x
}
)dl",
R"dl(test.dl:2:3: error: 'else' without an 'if' before it
  else { x = 1 }
  ^~~~
)dl", {}},
{"ThenInAStatement", R"dl(block B(x) {
  if x then 3 else 4
  return x
}
)dl",
R"dl(test.dl:2:8: error: expected '{', found 'then'
  if x then 3 else 4
       ^~~~ 'if ... then ... else ...' is an expression, bind it to a name
)dl", {}},
{"ReturnInsideFor", R"dl(block B(x) {
  for i in range(3) {
    return x
  }
  return x
}
)dl",
R"dl(test.dl:3:5: error: 'return' stands at the end of a block, not inside 'for', 'repeat' or 'if'
    return x
    ^~~~~~ bind a name here and return it at the end
)dl", {}},
{"TwoReturnsInALine", R"dl(block B(x) { return x  return x }
)dl",
R"dl(test.dl:1:14: error: 'return' must be the last statement of its body
block B(x) { return x  return x }
             ^~~~~~~~
)dl", {}},
{"ReturnIsNotLast", R"dl(block B(x) {
  return x
  y = relu(x)
}
)dl",
R"dl(test.dl:2:3: error: 'return' must be the last statement of its body
  return x
  ^~~~~~~~
)dl", {}},
{"NoReturn", R"dl(block B(x) {
  y = relu(x)
}
)dl",
R"dl(test.dl:3:1: error: block 'B' has no 'return' at its end
}
^ return ...
)dl", {}},
{"ReturnInTrain", R"dl(train M {
  return 3
}
)dl",
R"dl(test.dl:2:3: error: a train section returns nothing
  return 3
  ^~~~~~ 'loss = ...' or 'metric ...'
)dl", {}},
{"FieldInABlock", R"dl(block B(x) {
  label: i32[N]
  return x
}
)dl",
R"dl(test.dl:2:3: error: a field stands in a train or infer section only
  label: i32[N]
  ^~~~~ a value is bound without a type; 'parameter' declares a weight
)dl", {}},
{"MetricInABlock", R"dl(block B(x) {
  metric a = accuracy(x, x)
  return x
}
)dl",
R"dl(test.dl:2:3: error: 'metric' stands in a train section or a step only
  metric a = accuracy(x, x)
  ^~~~~~
)dl", {}},
{"StepInInfer", R"dl(infer M {
  step a updates M { loss = 1 }
}
)dl",
R"dl(test.dl:2:3: error: 'step' stands in a train section only
  step a updates M { loss = 1 }
  ^~~~
)dl", {}},
{"StepWithoutUpdates", R"dl(train M {
  step a { loss = 1 }
}
)dl",
R"dl(test.dl:2:10: error: expected 'updates', found '{'
  step a { loss = 1 }
         ^ a step says which parameters it trains
)dl", {}},
{"EveryZero", R"dl(train M {
  step a updates M every 0 { loss = 1 }
}
)dl",
R"dl(test.dl:2:26: error: 'every' counts from 1
  step a updates M every 0 { loss = 1 }
                         ^
)dl", {}},
{"ModelWithoutArrow", R"dl(model M(x: f32[N]) { return x }
)dl",
R"dl(test.dl:1:20: error: expected '->' and what the model returns, found '{'
model M(x: f32[N]) { return x }
                   ^ -> f32[N, 10]
)dl", {}},
{"ModelParameterWithoutType", R"dl(model M(x) -> f32[N] { return x }
)dl",
R"dl(test.dl:1:9: error: a model's parameter needs a type or a default
model M(x) -> f32[N] { return x }
        ^ an input is 'x: f32[N, ...]', a setting 'x = value'
)dl", {}},
{"SettingBeforeInput", R"dl(model M(width=3, x: f32[N]) -> f32[N] { return x }
)dl",
R"dl(test.dl:1:18: error: the inputs of a model stand before its settings
model M(width=3, x: f32[N]) -> f32[N] { return x }
                 ^
)dl", {}},
{"BlockParameterWithType", R"dl(block B(x: f32[N]) { return x }
)dl",
R"dl(test.dl:1:9: error: a parameter of a block has no type
block B(x: f32[N]) { return x }
        ^ the ops inside check what they are given
)dl", {}},
{"DefaultBeforeRequired", R"dl(block B(a=1, b) { return b }
)dl",
R"dl(test.dl:1:14: error: parameters with defaults stand last
block B(a=1, b) { return b }
             ^
)dl", {}},
{"TypeWithoutBrackets", R"dl(model M(x: f32) -> f32[N] { return x }
)dl",
R"dl(test.dl:1:15: error: expected '[' and the dimensions of a type, found ')'
model M(x: f32) -> f32[N] { return x }
              ^ a scalar is f32[]
)dl", {}},
{"TypeWithoutDType", R"dl(model M(x: float[N]) -> f32[N] { return x }
)dl",
R"dl(test.dl:1:12: error: expected a type such as f32[N, 10], found 'float'
model M(x: float[N]) -> f32[N] { return x }
           ^~~~~ did you mean 'f32'?
)dl", {}},
{"LayerWithoutCall", R"dl(block B(x) {
  layer f = linear
  return f(x)
}
)dl",
R"dl(test.dl:3:3: error: expected '(' and the arguments of the layer, found 'return'
  return f(x)
  ^~~~~~ '_' stands for each value to come
)dl", {}},
{"ImportAfterItems", R"dl(a = 1
from "b.dl" import C
)dl",
R"dl(test.dl:2:1: error: imports stand at the start of the file
from "b.dl" import C
^~~~
)dl", {}},
{"SeveralErrors", R"dl(block B(x) {
  y = x +
  z = (1, 2
  w = relu(x)
  for i range(3) { w = w }
  v = = 2
  return w
}
block (x) { return x }
c = ]
)dl",
R"dl(test.dl:3:3: error: expected an expression, found 'z'
  z = (1, 2
  ^ line 3 begins a new statement
test.dl:3:7: error: this '(' is not closed; line 4 begins a new statement
  z = (1, 2
      ^ expected ',' or ')'
test.dl:5:9: error: expected 'in', found 'range'
  for i range(3) { w = w }
        ^~~~~ for i in range(3) { ... }
test.dl:6:7: error: expected an expression, found '='
  v = = 2
      ^
test.dl:9:7: error: expected a name, found '('
block (x) { return x }
      ^ 'block Name(x) { ... return y }' is a function
test.dl:10:5: error: expected an expression, found ']'
c = ]
    ^
)dl", {}},
{"NothingButALetter", "x",
R"dl(test.dl:1:1: error: expected a block, model, train, infer or 'name = value', found 'x'
x
^
)dl", {}},
};
// clang-format on

TEST(SyntaxErrors, SayWhatIsWrong) { checkErrors(cases); }
