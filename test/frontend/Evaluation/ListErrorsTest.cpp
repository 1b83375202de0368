// Mistakes in lists such as [f(i) for i in s]: each with the element in which it was found.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

// clang-format off
static const ErrorCase cases[] = {
{"OfATensor", R"dl(y = [relu(x) for t in x])dl",
R"dl(test.dl:2:25: error: 'for' goes through a sequence, found the tensor f32[4, 3, 8, 8]
  y = [relu(x) for t in x]
                        ^ range(size(x, 0))
)dl", {}},
{"OfANumber", R"dl(y = [i for i in 3])dl",
R"dl(test.dl:2:19: error: 'for' goes through a sequence, found the integer 3
  y = [i for i in 3]
                  ^ range(3)
)dl", {}},
{"AnErrorInAnElement", R"dl(y = [linear(x, 8 / i) for i in range(1, 5)])dl",
R"dl(test.dl:2:20: error: 8 / 3 is not an integer
  y = [linear(x, 8 / i) for i in range(1, 5)]
                   ^ div(8, i) rounds down
test.dl:2:25: note: in turn 3 of this list
test.dl:2:29: note: i = 3, in turn 3 of this loop
)dl", {}},
{"AnErrorInANestedElement", R"dl(y = [[12 / (i + j) for j in [1, 4]] for i in range(3)])dl",
R"dl(test.dl:2:12: error: 12 / 5 is not an integer
  y = [[12 / (i + j) for j in [1, 4]] for i in range(3)]
           ^ div(12, i + j) rounds down
test.dl:2:22: note: in turn 2 of this list
test.dl:2:39: note: in turn 2 of this list
test.dl:2:43: note: i = 1, in turn 2 of this loop
test.dl:2:26: note: j = 4, in turn 2 of this loop
)dl", {}},
{"AnErrorInABlock", R"dl(y = [x |> conv2d(4, k) for k in [3, 9]])dl",
R"dl(test.dl:2:23: error: kernel 9x9 is larger than the padded input 8x8
  y = [x |> conv2d(4, k) for k in [3, 9]]
                      ^
test.dl:2:26: note: in turn 2 of this list
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"ATensorAsCondition", R"dl(y = [i for i in range(3) if mean(x) > 0])dl",
R"dl(test.dl:2:31: error: a condition must be known at compile time, this is a tensor bool[]
  y = [i for i in range(3) if mean(x) > 0]
                              ^~~~~~~~~~~ select(condition, a, b) chooses between tensors
test.dl:2:10: note: in turn 1 of this list
)dl", {}},
{"ANumberAsCondition", R"dl(y = [i for i in range(3) if i])dl",
R"dl(test.dl:2:31: error: a condition must be a bool, found the integer 0
  y = [i for i in range(3) if i]
                              ^ compare it: i != 0
test.dl:2:10: note: in turn 1 of this list
)dl", {}},
{"TheNameEndsWithTheList", R"dl(y = [2 * i for i in range(3)]
z = i)dl",
R"dl(test.dl:3:7: error: 'i' is bound only inside the 'for'
  z = i
      ^ bind it before the 'for'
test.dl:2:18: note: bound here
)dl", {}},
{"TheNameBeforeTheList", R"dl(y = [i for i in range(i)])dl",
R"dl(test.dl:2:25: error: unknown name 'i'
  y = [i for i in range(i)]
                        ^
)dl", {}},
{"TwoNamesForOneValue", R"dl(y = [a for a, b in range(3)])dl",
R"dl(test.dl:2:14: error: turn 1 of this loop has the integer 0, 2 names take them
  y = [a for a, b in range(3)]
             ^~~~
test.dl:2:10: note: in turn 1 of this list
)dl", {}},
{"NoIn", R"dl(y = [i for i = range(3)])dl",
R"dl(test.dl:2:16: error: expected 'in', found '='
  y = [i for i = range(3)]
               ^ [f(i) for i in range(3)]
)dl", {}},
{"NoName", R"dl(y = [i for in range(3)])dl",
R"dl(test.dl:2:14: error: expected a name, found 'in'
  y = [i for in range(3)]
             ^~ 'in' is a word of the language
)dl", {}},
{"NoElement", R"dl(y = [for i in range(3)])dl",
R"dl(test.dl:2:8: error: expected an expression, found 'for'
  y = [for i in range(3)]
       ^~~ 'for' is a word of the language
)dl", {}},
{"TwoLoops", R"dl(y = [i * j for i in range(3) for j in range(2)])dl",
R"dl(test.dl:2:32: error: expected ']', found 'for'
  y = [i * j for i in range(3) for j in range(2)]
                               ^~~ lists nest: [[f(a, b) for b in t] for a in s]
)dl", {}},
{"TwoConditions", R"dl(y = [i for i in range(3) if i > 0 if i < 2])dl",
R"dl(test.dl:2:37: error: expected ']', found 'if'
  y = [i for i in range(3) if i > 0 if i < 2]
                                    ^~ join two conditions by 'and'
)dl", {}},
{"AConditionBefore", R"dl(y = [i if i > 0 else 1 for i in range(3)])dl",
R"dl(test.dl:2:10: error: expected ',' or ']', found 'if'
  y = [i if i > 0 else 1 for i in range(3)]
         ^~ a choice is 'if condition then a else b'
)dl", {}},
{"TwoElements", R"dl(y = [i, i for i in range(3)])dl",
R"dl(test.dl:2:13: error: expected ',' or ']', found 'for'
  y = [i, i for i in range(3)]
            ^~~ one element stands before 'for': [(a, b) for i in s]
)dl", {}},
{"InParentheses", R"dl(y = (i for i in range(3)))dl",
R"dl(test.dl:2:10: error: expected ',' or ')', found 'for'
  y = (i for i in range(3))
         ^~~ a list stands in '[ ]': [f(i) for i in s]
)dl", {}},
{"AsAnArgument", R"dl(y = stack(relu(x) for i in range(3)))dl",
R"dl(test.dl:2:21: error: expected ',' or ')', found 'for'
  y = stack(relu(x) for i in range(3))
                    ^~~ a list stands in '[ ]': [f(i) for i in s]
)dl", {}},
{"NotClosed", R"dl(y = [i for i in range(3)
z = 1)dl",
R"dl(test.dl:2:7: error: this '[' is not closed; line 3 begins a new statement
  y = [i for i in range(3)
      ^ expected ',' or ']'
)dl", {}},
{"AnElementOfALoop", R"dl(s = [x
for i in range(3) { x = relu(x) })dl",
R"dl(test.dl:2:7: error: this '[' is not closed; line 3 begins a new statement
  s = [x
      ^ expected ',' or ']'
)dl", {}},
{"OneNameTwice", R"dl(y = [linear(x, 8, name="own") for i in range(2)])dl",
R"dl(test.dl:2:26: error: the weight name 'own.weight' is taken
  y = [linear(x, 8, name="own") for i in range(2)]
                         ^~~~~ label the loop with 'as', or share the weights with 'layer'
test.dl:2:33: note: in turn 2 of this list
test.dl:2:26: note: first used here, in turn 1 of the loop at test.dl:2:33
)dl", {}},
{"AHoleWithoutAPipe", R"dl(y = [_ for i in range(2)])dl",
R"dl(test.dl:2:8: error: there is no piped value for '_' to stand for
  y = [_ for i in range(2)]
       ^ '_' is an argument of a pipe stage, or a whole argument of 'layer'
)dl", {}},
{"MoreThanThereMayBe", R"dl(y = [[i for i in range(1000)] for j in range(2000)])dl",
R"dl(test.dl:2:11: error: loops run more than 100000 times in all
  y = [[i for i in range(1000)] for j in range(2000)]
          ^~~
test.dl:2:11: note: in turn 901 of this list
test.dl:2:33: note: in turn 100 of this list
)dl", {}},
};
// clang-format on

TEST(ListErrors, SayWhatIsWrong) { checkErrors(cases, inModel); }
