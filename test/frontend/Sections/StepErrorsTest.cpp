// Errors of steps, carried state, and of built-ins that are formulas, with their exact text.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

/// `body` in a section of a generator G and a discriminator D; it begins in line 8.
static std::string inSection(llvm::StringRef body) {
  return R"(model G(z: f32[N, 2]) -> f32[N, 3] { return linear(z, 3) }
model D(x: f32[N, 3]) -> f32[N, 1] { return linear(x, 1) }
train G, D {
  x: f32[N, 3]
  z: f32[N, 2]
  optimizer = sgd(learning_rate=0.1)
  batch = 4
)" + body.str() +
         "\n}\n";
}

/// `body` behind the settings of the section of a classifier; it begins in line 9.
static std::string behindBatch(llvm::StringRef body) {
  std::string text = inModel("");
  text.erase(text.find("  \n"), 3);
  return text.insert(text.rfind("}"), body.str() + "\n");
}

// clang-format off
static const ErrorCase steps[] = {
{"TargetIsNoModel", R"dl(  step d updates Dd { loss = mean(D(x)) })dl",
R"dl(test.dl:8:18: error: 'Dd' is not a model of this section
  step d updates Dd { loss = mean(D(x)) }
                 ^~ did you mean 'D'?
)dl", {}},
{"ClipOfNothing", R"dl(  step d updates D { clip = value(0)  loss = mean(D(x)) })dl",
R"dl(test.dl:8:35: error: 'limit' is above 0, found 0
  step d updates D { clip = value(0)  loss = mean(D(x)) }
                                  ^
)dl", {}},
{"TargetMatchesNothing", R"dl(  step d updates "D.conv*.*" { loss = mean(D(x)) })dl",
R"dl(test.dl:8:18: error: the pattern matches none of the 2 parameters
  step d updates "D.conv*.*" { loss = mean(D(x)) }
                 ^~~~~~~~~~~ nearest names: 'D.linear1.bias', 'D.linear1.weight'
)dl", {}},
{"LossOfAnotherModel", R"dl(  step d updates D { loss = mean(G(z)) })dl",
R"dl(test.dl:8:22: error: the loss does not depend on any parameter that step 'd' updates
  step d updates D { loss = mean(G(z)) }
                     ^~~~
)dl", {}},
{"NoLossInAStep", R"dl(  step d updates D { metric m = mean(D(x)) })dl",
R"dl(test.dl:8:8: error: step 'd' binds no 'loss'
  step d updates D { metric m = mean(D(x)) }
       ^ loss = ...
)dl", {}},
{"SettingOfTheSectionInAStep", R"dl(  step d updates D {
    loss = mean(D(x))
    accumulate = 2
  })dl",
R"dl(test.dl:10:5: error: 'accumulate' is a setting of the section
    accumulate = 2
    ^~~~~~~~~~ bind it outside of the steps
)dl", {}},
{"AccumulateOfTooManyRuns", R"dl(  accumulate = 1000000
  step d updates D every 1000000 {
    loss = mean(D(x))
  })dl",
R"dl(test.dl:8:3: error: 'accumulate' of 1000000 and 'every 1000000' leave more than 2147483647 batches between two updates
  accumulate = 1000000
  ^~~~~~~~~~
)dl", {}},
{"StepNamedAsOneThatAccumulates", R"dl(  accumulate = 2
  step d updates D { loss = mean(D(x)) }
  step d_accumulate updates G { loss = mean(D(G(z))) })dl",
R"dl(test.dl:9:8: error: there are two entries named 'd_accumulate'
  step d updates D { loss = mean(D(x)) }
       ^ give the step another name
test.dl:10:8: note: the first is made here
)dl", {}},
{"MisspeltSettingInAStep", R"dl(  step d updates D {
    los = mean(D(x))
  })dl",
R"dl(test.dl:9:5: error: 'los' is bound and never used
    los = mean(D(x))
    ^~~ did you mean the setting 'loss'?
test.dl:8:8: error: step 'd' binds no 'loss'
  step d updates D {
       ^ loss = ...
)dl", {}},
{"TwoStepsOfOneName", R"dl(  step d updates D { loss = mean(D(x)) }
  step d updates G { loss = mean(G(z)) })dl",
R"dl(test.dl:9:8: error: there are two entries named 'd'
  step d updates G { loss = mean(G(z)) }
       ^ give the step another name
test.dl:8:8: note: the first is made here
)dl", {}},
{"StepNamedEvaluate", R"dl(  metric m = mean(D(x))
  step evaluate updates D { loss = mean(D(x)) })dl",
R"dl(test.dl:3:1: error: there are two entries named 'evaluate'
train G, D {
^~~~~ give the step another name
test.dl:9:8: note: the first is made here
)dl", {}},
{"InitInAStep", R"dl(  step d updates D {
    loss = mean(D(x))
    parameters "D.**" { init = 0 }
  })dl",
R"dl(test.dl:10:25: error: 'init' is no setting of a step's group
    parameters "D.**" { init = 0 }
                        ^~~~ a weight begins once: set it in a group of the section
)dl", {}},
{"PrecisionInAStep", R"dl(  step d updates D {
    loss = mean(D(x))
    parameters "D.**" { precision = f32 }
  })dl",
R"dl(test.dl:10:25: error: 'precision' is no setting of a step's group
    parameters "D.**" { precision = f32 }
                        ^~~~~~~~~ steps share their models: set it in a group of the section
)dl", {}},
{"EverythingOfAStepFrozen", R"dl(  step d updates D {
    loss = mean(D(x))
    parameters "**" { frozen = true }
  })dl",
R"dl(test.dl:9:5: error: the loss does not depend on any parameter that step 'd' updates
    loss = mean(D(x))
    ^~~~
)dl", {}},
{"NameOfAStepEndsWithIt", R"dl(  step d updates D {
    score = D(x)
    loss = mean(score)
  }
  metric m = mean(score))dl",
R"dl(test.dl:12:19: error: unknown name 'score'
  metric m = mean(score)
                  ^~~~~ the names of a step end with it
)dl", {}},
{"LossOfAStepIsNoScalar", R"dl(  step d updates D { loss = D(x) })dl",
R"dl(test.dl:8:29: error: the loss must be a scalar f32[] or f64[], found f32[4, 1]
  step d updates D { loss = D(x) }
                            ^~~~ mean(...)
)dl", {}},
{"MetricOfAStepIsNoSum", R"dl(  step d updates D {
    loss = mean(D(x))
    metric e = exp(mean(D(x)))
  })dl",
R"dl(test.dl:10:16: error: a metric must be a sum of multiples of means over the batch, so that partial batches and ranks add up
    metric e = exp(mean(D(x)))
               ^~~ perplexity(...), or exp per sample before the mean
)dl", {}},
{"OptimizerOfAStepIsANumber", R"dl(  step d updates D {
    loss = mean(D(x))
    optimizer = 3
  })dl",
R"dl(test.dl:10:5: error: 'optimizer' is such as sgd(learning_rate=0.01), found the integer 3
    optimizer = 3
    ^~~~~~~~~
)dl", {}},
{"ReturnInAStep", R"dl(  step d updates D {
    loss = mean(D(x))
    return 3
  })dl",
R"dl(test.dl:10:5: error: a train section returns nothing
    return 3
    ^~~~~~ 'loss = ...' or 'metric ...'
)dl", {}},
{"StepInAStep", R"dl(  step d updates D {
    step e updates G { loss = 1 }
  })dl",
R"dl(test.dl:9:5: error: 'step' stands in a train section only
    step e updates G { loss = 1 }
    ^~~~
)dl", {}},
{"FieldInAStep", R"dl(  step d updates D {
    y: f32[N]
  })dl",
R"dl(test.dl:9:5: error: a field stands in a train or infer section only
    y: f32[N]
    ^ a value is bound without a type; 'parameter' declares a weight
)dl", {}},
{"TargetIsANumber", R"dl(  step d updates 3 { loss = 1 })dl",
R"dl(test.dl:8:18: error: expected the name of a model or a pattern of parameter names, found '3'
  step d updates 3 { loss = 1 }
                 ^
)dl", {}},
{"EveryWithoutNumber", R"dl(  step d updates D every two { loss = 1 })dl",
R"dl(test.dl:8:26: error: expected an integer after 'every', found 'two'
  step d updates D every two { loss = 1 }
                         ^~~
)dl", {}},
};
static const ErrorCase values[] = {
{"StateNeverBound", R"dl(state h: f32[3] = 0)dl",
R"dl(test.dl:2:9: error: state 'h' is never bound to its next value
  state h: f32[3] = 0
        ^ h = ...
)dl", {}},
{"StateOfAnotherShape", R"dl(state h: f32[N, 3]
h = x)dl",
R"dl(test.dl:3:3: error: state 'h' is carried as f32[4, 3], here it becomes f32[4, 3, 8, 8]
  h = x
  ^
test.dl:2:9: note: declared here
)dl", {}},
{"StateBecomesANumber", R"dl(state h: f32[3]
h = 3)dl",
R"dl(test.dl:3:3: error: state 'h' is carried as f32[3], here it becomes the integer 3
  h = 3
  ^
test.dl:2:9: note: declared here
)dl", {}},
{"StateTwice", R"dl(state h: f32[3]
h = h + 1
repeat 2 {
  state k: f32[3]
  k = k + 1
})dl",
R"dl(test.dl:5:11: error: the weight name 'k' is taken
    state k: f32[3]
          ^ a state has one value a step: what declares it runs once
test.dl:5:11: note: first used here, in turn 1 of the loop at test.dl:4:3
)dl", {}},
{"StateOfAWeightsName", R"dl(parameter h: f32[3] = 0
state h: f32[3]
h = h + 1)dl",
R"dl(test.dl:3:9: error: the weight name 'h' is taken
  state h: f32[3]
        ^ a state has one value a step: what declares it runs once
test.dl:2:13: note: first used here
)dl", {}},
{"StateInitialiser", R"dl(state h: f32[3] = "zero"
h = h + 1)dl",
R"dl(test.dl:2:21: error: an initialiser is a number or such as normal(0, 0.02), found the string "zero"
  state h: f32[3] = "zero"
                    ^~~~~~ a number fills it: 0
)dl", {}},
{"PowerOfIntegers", R"dl(y = i32(x) ** 2)dl",
R"dl(test.dl:2:14: error: '**' does not work on i32[4, 3, 8, 8]
  y = i32(x) ** 2
             ^~ cast it with f32(...)
)dl", {}},
{"GeluWord", R"dl(y = gelu(x, "fast"))dl",
R"dl(test.dl:2:15: error: 'approximate' is "none" or "tanh", found "fast"
  y = gelu(x, "fast")
              ^~~~~~
)dl", {}},
{"RsqrtOfZero", R"dl(y = rsqrt(0))dl",
R"dl(test.dl:2:13: error: rsqrt expects a floating-point tensor or a number above 0, found the integer 0
  y = rsqrt(0)
            ^
)dl", {}},
{"SignOfAString", R"dl(y = sign("a"))dl",
R"dl(test.dl:2:12: error: sign expects a tensor of signed numbers or a number, found the string "a"
  y = sign("a")
           ^~~
)dl", {}},
{"LogicalAndOfFloats", R"dl(y = logical_and(x, x > 0))dl",
R"dl(test.dl:2:19: error: logical_and expects bool tensors, found the tensor f32[4, 3, 8, 8]
  y = logical_and(x, x > 0)
                  ^
)dl", {}},
{"LogicalNotOfABool", R"dl(y = logical_not(true))dl",
R"dl(test.dl:2:19: error: logical_not expects a bool tensor, found the bool true
  y = logical_not(true)
                  ^~~~ 'not' works on compile-time bools
)dl", {}},
{"SoftmaxOverTheBatch", R"dl(y = softmax(x, axis=0))dl",
R"dl(test.dl:2:15: error: softmax cannot work across the batch, axis 0 of f32[4, 3, 8, 8]
  y = softmax(x, axis=0)
              ^ each sample is computed by itself: take another axis
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"SoftmaxAxis", R"dl(y = softmax(x, axis=4))dl",
R"dl(test.dl:2:23: error: there is no axis 4, the tensor f32[4, 3, 8, 8] has 4
  y = softmax(x, axis=4)
                      ^ it has axes 0 to 3, or from the end -1 to -4
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"NormOfIntegers", R"dl(y = norm(i32(x)))dl",
R"dl(test.dl:2:12: error: norm expects a floating-point tensor, found i32[4, 3, 8, 8]
  y = norm(i32(x))
           ^~~~~~ cast it with f32(...)
)dl", {}},
{"ArgmaxAxis", R"dl(y = argmax(x, 7))dl",
R"dl(test.dl:2:17: error: there is no axis 7, the tensor f32[4, 3, 8, 8] has 4
  y = argmax(x, 7)
                ^ it has axes 0 to 3, or from the end -1 to -4
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"ArgmaxOverTheBatch", R"dl(y = argmax(x, 0))dl",
R"dl(test.dl:2:14: error: argmax cannot work across the batch, axis 0 of f32[4, 3, 8, 8]
  y = argmax(x, 0)
             ^ each sample is computed by itself: take another axis
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"OneHotOfZero", R"dl(y = one_hot(argmax(x, 1), 0))dl",
R"dl(test.dl:2:29: error: 'count' is 1 or more, found 0
  y = one_hot(argmax(x, 1), 0)
                            ^
)dl", {}},
{"OneHotOfFloats", R"dl(y = one_hot(x, 3))dl",
R"dl(test.dl:2:7: error: one_hot expects an i32 or i64 tensor, found f32[4, 3, 8, 8]
  y = one_hot(x, 3)
      ^~~~~~~ i32(x)
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"PreluCount", R"dl(y = prelu(x, count=5))dl",
R"dl(test.dl:2:22: error: 'count' is 1 or the number of channels of f32[4, 3, 8, 8], found 5
  y = prelu(x, count=5)
                     ^
)dl", {}},
{"TransposedRank", R"dl(y = x |> flatten |> conv_transpose2d(8, 3))dl",
R"dl(test.dl:2:12: error: conv_transpose2d expects a tensor of rank 4, found f32[4, 192]
  y = x |> flatten |> conv_transpose2d(8, 3)
           ^~~~~~~ [N, channels, height, width]: reshape(x, ...) makes it
)dl", {}},
{"TransposedOutputPadding", R"dl(y = x |> conv_transpose2d(8, 3, output_padding=1))dl",
R"dl(test.dl:2:50: error: 'output_padding' is smaller than the stride, found 1 and 1
  y = x |> conv_transpose2d(8, 3, output_padding=1)
                                                 ^
)dl", {}},
{"TransposedPadding", R"dl(y = x |> conv_transpose2d(8, 1, padding=4))dl",
R"dl(test.dl:2:43: error: conv_transpose2d of f32[4, 3, 8, 8] would give no element along axis 2
  y = x |> conv_transpose2d(8, 1, padding=4)
                                          ^
)dl", {}},
{"TransposedGroups", R"dl(y = x |> conv_transpose2d(8, 3, groups=2))dl",
R"dl(test.dl:2:42: error: 2 groups do not divide 3 input and 8 output channels
  y = x |> conv_transpose2d(8, 3, groups=2)
                                         ^
)dl", {}},
{"BatchNormOfAVector", R"dl(y = sum(x, axes=(1, 2, 3)) |> batch_norm)dl",
R"dl(test.dl:2:7: error: batch_norm expects a tensor of rank 2 or more, found f32[4]
  y = sum(x, axes=(1, 2, 3)) |> batch_norm
      ^~~~~~~~~~~~~~~~~~~~~~
)dl", {}},
{"BatchNormAcrossTheBatch", R"dl(y = x |> transpose((1, 0, 2, 3)) |> batch_norm)dl",
R"dl(test.dl:2:12: error: batch_norm cannot work across the batch, axis 1 of f32[3, 4, 8, 8]
  y = x |> transpose((1, 0, 2, 3)) |> batch_norm
           ^~~~~~~~~~~~~~~~~~~~~~~ the batch stands first: f32[N, ...]
test.dl:2:12: note: the batch comes from this transpose
)dl", {}},
{"LstmOfPixels", R"dl(y = x |> lstm(8))dl",
R"dl(test.dl:2:7: error: lstm expects a tensor of steps, samples and channels, found f32[4, 3, 8, 8]
  y = x |> lstm(8)
      ^
)dl", {}},
{"GruOfNumbers", R"dl(y = x |> flatten |> gru(8, batch_first=true))dl",
R"dl(test.dl:2:12: error: gru expects a tensor of samples, steps and channels, found f32[4, 192]
  y = x |> flatten |> gru(8, batch_first=true)
           ^~~~~~~ reshape(x, (size(x, 0), size(x, 1), 1)) makes each number a channel of its own
)dl", {}},
{"LstmOverTheBatch", R"dl(y = x[:, 0] |> lstm(8))dl",
R"dl(test.dl:2:7: error: lstm cannot work across the batch, axis 0 of f32[4, 8, 8]
  y = x[:, 0] |> lstm(8)
      ^~~~~~~ batch_first=true takes [N, T, channels]
test.dl:2:7: note: the batch comes from this '[ ]'
)dl", {}},
{"LstmOfNoStep", R"dl(y = zeros((0, 4, 3)) |> lstm(8))dl",
R"dl(test.dl:2:7: error: lstm expects a step or more, found f32[0, 4, 3]
  y = zeros((0, 4, 3)) |> lstm(8)
      ^~~~~~~~~~~~~~~~
)dl", {}},
{"LstmOfNoUnit", R"dl(y = zeros((5, 4, 3)) |> lstm(0))dl",
R"dl(test.dl:2:32: error: 'hidden' is 1 or more, found 0
  y = zeros((5, 4, 3)) |> lstm(0)
                               ^
)dl", {}},
{"LstmDropout", R"dl(y = zeros((5, 4, 3)) |> lstm(8, layers=2, dropout=1))dl",
R"dl(test.dl:2:53: error: 'dropout' is from 0 to below 1, found 1
  y = zeros((5, 4, 3)) |> lstm(8, layers=2, dropout=1)
                                                    ^
)dl", {}},
{"LstmOfOneState", R"dl(y = zeros((5, 4, 3)) |> lstm(8, initial=zeros((1, 4, 8))))dl",
R"dl(test.dl:2:43: error: 'initial' of lstm is a pair (h, c), found the tensor f32[1, 4, 8]
  y = zeros((5, 4, 3)) |> lstm(8, initial=zeros((1, 4, 8)))
                                          ^~~~~~~~~~~~~~~~
)dl", {}},
{"GruStateOfOtherLayers", R"dl(y = zeros((5, 4, 3)) |> gru(8, layers=2, initial=zeros((1, 4, 8))))dl",
R"dl(test.dl:2:52: error: 'initial' of gru is f32[2, 4, 8] for each state, found the tensor f32[1, 4, 8]
  y = zeros((5, 4, 3)) |> gru(8, layers=2, initial=zeros((1, 4, 8)))
                                                   ^~~~~~~~~~~~~~~~ [layers * directions, N, hidden]
)dl", {}},
{"LstmLengthsOfOtherSamples", R"dl(y = zeros((5, 4, 3)) |> lstm(8, lengths=tensor([2, 5, 1], dtype=i32)))dl",
R"dl(test.dl:2:43: error: 'lengths' of lstm has a number of steps for each of the 4 samples, found i32[3]
  y = zeros((5, 4, 3)) |> lstm(8, lengths=tensor([2, 5, 1], dtype=i32))
                                          ^~~~~~~~~~~~~~~~~~~~~~~~~~~~ [N]
)dl", {}},
{"GruLengthsOfFloats", R"dl(y = zeros((5, 4, 3)) |> gru(8, lengths=zeros((4,))))dl",
R"dl(test.dl:2:42: error: 'lengths' expects an i32 or i64 tensor or none, found f32[4]
  y = zeros((5, 4, 3)) |> gru(8, lengths=zeros((4,)))
                                         ^~~~~~~~~~~ i32(zeros((4,)))
test.dl:2:42: note: f32[4] comes from this zeros
)dl", {}},
{"LstmLengthOfMoreSteps", R"dl(y = zeros((5, 4, 3)) |> lstm(8, lengths=tensor([2, 6, 1, 0], dtype=i32)))dl",
R"dl(test.dl:2:43: error: 'lengths' of lstm is from 0 to 5, found 6
  y = zeros((5, 4, 3)) |> lstm(8, lengths=tensor([2, 6, 1, 0], dtype=i32))
                                          ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
)dl", {}},
{"GatherOfNoRow", R"dl(y = gather(x, tensor([7, 8], dtype=i32), axis=2))dl",
R"dl(test.dl:2:17: error: 'index' of gather is from 0 to 7, found 8
  y = gather(x, tensor([7, 8], dtype=i32), axis=2)
                ^~~~~~~~~~~~~~~~~~~~~~~~~
)dl", {}},
{"GatherFromTheEnd", R"dl(y = gather(x, reshape(i32(tensor([-1.0])), (1, 1)), axis=2))dl",
R"dl(test.dl:2:17: error: 'index' of gather is from 0 to 7, found -1
  y = gather(x, reshape(i32(tensor([-1.0])), (1, 1)), axis=2)
                ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
)dl", {}},
{"ScatterToNoRow", R"dl(y = scatter_add(x, tensor([8], dtype=i32), ones((4, 3, 1, 8)), axis=2))dl",
R"dl(test.dl:2:22: error: 'index' of scatter_add is from 0 to 7, found 8
  y = scatter_add(x, tensor([8], dtype=i32), ones((4, 3, 1, 8)), axis=2)
                     ^~~~~~~~~~~~~~~~~~~~~~
)dl", {}},
{"EmbeddingOfNoRow", R"dl(y = embedding(i64(full((2,), 3)), 3, 2))dl",
R"dl(test.dl:2:17: error: 'index' of embedding is from 0 to 2, found 3
  y = embedding(i64(full((2,), 3)), 3, 2)
                ^~~~~~~~~~~~~~~~~~
)dl", {}},
{"OneHotOfNoClass", R"dl(y = one_hot(tensor([1, 5], dtype=i32), 5))dl",
R"dl(test.dl:2:15: error: 'index' of one_hot is from 0 to 4, found 5
  y = one_hot(tensor([1, 5], dtype=i32), 5)
              ^~~~~~~~~~~~~~~~~~~~~~~~~
)dl", {}},
{"LabelOfNoClass", R"dl(y = softmax_cross_entropy(zeros((3, 5)), tensor([4, 9, 7], dtype=i32), ignore=9))dl",
R"dl(test.dl:2:44: error: 'label' of softmax_cross_entropy is from 0 to 4, or 9, found 7
  y = softmax_cross_entropy(zeros((3, 5)), tensor([4, 9, 7], dtype=i32), ignore=9)
                                           ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
)dl", {}},
{"HuberDelta", R"dl(y = huber(x, x, delta=0))dl",
R"dl(test.dl:2:25: error: 'delta' is above 0, found 0
  y = huber(x, x, delta=0)
                        ^
)dl", {}},
{"SmoothingOutOfRange", R"dl(y = softmax_cross_entropy(flatten(x), argmax(flatten(x), 1), label_smoothing=2))dl",
R"dl(test.dl:2:80: error: 'label_smoothing' is between 0 and 1, found 2
  y = softmax_cross_entropy(flatten(x), argmax(flatten(x), 1), label_smoothing=2)
                                                                               ^
)dl", {}},
{"IgnoreOfProbabilities", R"dl(y = softmax_cross_entropy(flatten(x), flatten(x), ignore=7))dl",
R"dl(test.dl:2:60: error: 'ignore' is a class number, the label f32[4, 192] has probabilities
  y = softmax_cross_entropy(flatten(x), flatten(x), ignore=7)
                                                           ^
)dl", {}},
{"ProbabilitiesOfAnotherShape", R"dl(y = softmax_cross_entropy(flatten(x), x))dl",
R"dl(test.dl:2:41: error: probabilities f32[4, 3, 8, 8] do not fit logits f32[4, 192]
  y = softmax_cross_entropy(flatten(x), x)
                                        ^
)dl", {}},
{"AccuracyOfOtherProbabilities", R"dl(y = accuracy(flatten(x), x))dl",
R"dl(test.dl:2:28: error: probabilities f32[4, 3, 8, 8] do not fit logits f32[4, 192]
  y = accuracy(flatten(x), x)
                           ^
)dl", {}},
{"AccuracyIgnoresNoProbabilities", R"dl(y = accuracy(flatten(x), flatten(x), ignore=7))dl",
R"dl(test.dl:2:47: error: 'ignore' is a class number, the label f32[4, 192] has probabilities
  y = accuracy(flatten(x), flatten(x), ignore=7)
                                              ^
)dl", {}},
{"AccuracyOfTruths", R"dl(y = accuracy(flatten(x), flatten(x) > 0))dl",
R"dl(test.dl:2:28: error: 'label' expects an i32 or i64 tensor, found the tensor bool[4, 192]
  y = accuracy(flatten(x), flatten(x) > 0)
                           ^~~~~~~~~~~~~~ cast it with i32(...)
)dl", {}},
{"TopKOfOtherProbabilities", R"dl(y = top_k_accuracy(flatten(x), x, k=3))dl",
R"dl(test.dl:2:34: error: probabilities f32[4, 3, 8, 8] do not fit logits f32[4, 192]
  y = top_k_accuracy(flatten(x), x, k=3)
                                 ^
)dl", {}},
{"TopKOfZero", R"dl(y = top_k_accuracy(flatten(x), argmax(flatten(x), 1), k=0))dl",
R"dl(test.dl:2:59: error: 'k' is 1 or more, found 0
  y = top_k_accuracy(flatten(x), argmax(flatten(x), 1), k=0)
                                                          ^
)dl", {}},
{"TopKOfAllClasses", R"dl(y = top_k_accuracy(flatten(x), argmax(flatten(x), 1), k=192))dl",
R"dl(test.dl:2:59: error: 'k' is below the number of classes, which is 192, found 192
  y = top_k_accuracy(flatten(x), argmax(flatten(x), 1), k=192)
                                                          ^~~ the label is always among all of them
)dl", {}},
{"BatchNormOfOneElement", R"dl(y = sum(x, axes=(0, 2, 3)) |> reshape((1, 3)) |> batch_norm)dl",
R"dl(test.dl:2:33: error: batch_norm needs 2 or more elements a channel in training, found f32[1, 3]
  y = sum(x, axes=(0, 2, 3)) |> reshape((1, 3)) |> batch_norm
                                ^~~~~~~~~~~~~~~ a larger batch; frozen=true uses the running statistics
)dl", {}},
{"TopKLabels", R"dl(y = top_k_accuracy(flatten(x), i32(x)))dl",
R"dl(test.dl:2:34: error: labels i32[4, 3, 8, 8] do not fit logits f32[4, 192] with classes on axis 1
  y = top_k_accuracy(flatten(x), i32(x))
                                 ^~~~~~
)dl", {}},
{"DivergenceOfTwoShapes", R"dl(y = kl_divergence(x, flatten(x)))dl",
R"dl(test.dl:2:24: error: kl_divergence expects two batches of one type, found f32[4, 3, 8, 8] and f32[4, 192]
  y = kl_divergence(x, flatten(x))
                       ^~~~~~~~~~
)dl", {}},
{"WeightOfOtherClasses", R"dl(y = softmax_cross_entropy(flatten(x), argmax(flatten(x), 1), weight=zeros((3,))))dl",
R"dl(test.dl:2:71: error: 'weight' has a number for each class, f32[192], found f32[3]
  y = softmax_cross_entropy(flatten(x), argmax(flatten(x), 1), weight=zeros((3,)))
                                                                      ^~~~~~~~~~~
)dl", {}},
{"SignOfOtherShape", R"dl(y = cosine_embedding(flatten(x), flatten(x), x))dl",
R"dl(test.dl:2:48: error: 'sign' is 1 or -1 for each pair of embeddings f32[4, 192], found f32[4, 3, 8, 8]
  y = cosine_embedding(flatten(x), flatten(x), x)
                                               ^
)dl", {}},
{"AdaptiveSizeOfZero", R"dl(y = adaptive_max_pool(x, 0))dl",
R"dl(test.dl:2:28: error: 'size' is 1 or more, found 0
  y = adaptive_max_pool(x, 0)
                           ^
)dl", {}},
{"SoftmaxOfNothing", R"dl(y = softmax(x[:, 3:3], axis=1))dl",
R"dl(test.dl:2:15: error: softmax of no elements: the shape is f32[4, 0, 8, 8]
  y = softmax(x[:, 3:3], axis=1)
              ^~~~~~~~~
)dl", {}},
{"FlippedBatch", R"dl(y = flip(x, 0))dl",
R"dl(test.dl:2:15: error: flip cannot work across the batch, axis 0 of f32[4, 3, 8, 8]
  y = flip(x, 0)
              ^ each sample is computed by itself: take another axis
test.dl:1:9: note: 'x' is declared here
)dl", {}},
{"BinaryTarget", R"dl(y = sigmoid_cross_entropy(x, "yes"))dl",
R"dl(test.dl:2:32: error: sigmoid_cross_entropy expects tensors or numbers, found the string "yes"
  y = sigmoid_cross_entropy(x, "yes")
                               ^~~~~
)dl", {}},
{"FailedLayerIsSilent", R"dl(layer f = linear(_, 0)
y = f(x)
z = f.weight)dl",
R"dl(test.dl:2:23: error: 'features' is 1 or more, found 0
  layer f = linear(_, 0)
                      ^
)dl", {}},
};
static const ErrorCase metrics[] = {
{"PerplexityTwice", R"dl(  metric p = 2 * perplexity(output, label))dl",
R"dl(test.dl:9:16: error: a metric must be a sum of multiples of means over the batch, so that partial batches and ranks add up
  metric p = 2 * perplexity(output, label)
               ^ perplexity is finished after the last batch: a metric of its own
)dl", {}},
{"PerplexityOfASum", R"dl(  metric p = perplexity(output, label) + mean(output))dl",
R"dl(test.dl:9:40: error: a metric must be a sum of multiples of means over the batch, so that partial batches and ranks add up
  metric p = perplexity(output, label) + mean(output)
                                       ^ perplexity is finished after the last batch: a metric of its own
)dl", {}},
};
// clang-format on

TEST(StepErrors, SayWhatIsWrong) { checkErrors(steps, inSection); }
TEST(StateAndFormulaErrors, SayWhatIsWrong) { checkErrors(values, inModel); }
TEST(PerplexityErrors, SayWhatIsWrong) { checkErrors(metrics, behindBatch); }
