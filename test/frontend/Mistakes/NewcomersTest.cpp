// What people who know another library wrote first, and what told them how it is written here: a
// forgotten batch, an axis too many, all results of a layer for one, patterns that match nothing.
#include "test/frontend/Harness.h"

#include <gtest/gtest.h>

using namespace dlc::frontend::test;

// clang-format off
static const ErrorCase files[] = {
{"AnImageWithoutABatch",
R"dl(model Net(image: f32[3, 32, 32]) -> f32[N, 5] {
  return image |> conv2d(16, 3) |> flatten |> linear(5)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:1:18: error: the model's input has no axis N, which counts the samples of a batch
model Net(image: f32[3, 32, 32]) -> f32[N, 5] {
                 ^~~~~~~~~~~~~~ f32[N, 3, 32, 32]
)dl", {}},
{"AVectorWithoutABatch",
R"dl(model Net(image: f32[784]) -> f32[10] {
  return image |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:1:18: error: the model's input has no axis N, which counts the samples of a batch
model Net(image: f32[784]) -> f32[10] {
                 ^~~~~~~~ f32[N, 784]
)dl", {}},
{"AMetricOfAMean",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  metric accuracy = accuracy(mean(output), label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:7:30: error: accuracy expects logits of rank 1 or more, found f32[]
  metric accuracy = accuracy(mean(output), label)
                             ^~~~~~~~~~~~ the scores of all samples, f32[N, classes], and no mean or sum of them
)dl", {}},
{"AMetricOfALoss",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  metric accuracy = accuracy(loss, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:7:30: error: accuracy expects logits of rank 1 or more, found f32[]
  metric accuracy = accuracy(loss, label)
                             ^~~~ the scores of all samples, f32[N, classes], and no mean or sum of them
)dl", {}},
{"ALossOfAColumnAndAVector",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 1] {
  return image |> linear(1)
}
train Net {
  price: f32[N]
  loss = mean_squared_error(output, price)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:6:10: error: the batch is axis 0 of f32[32, 1] and axis 0 of f32[32], and axes meet from the right
  loss = mean_squared_error(output, price)
         ^~~~~~~~~~~~~~~~~~ reshape one: f32[32] by reshape(x, (N, 1)), or the other to (N,)
)dl", {}},
{"AColumnLessAVector",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 1] {
  return image |> linear(1)
}
train Net {
  price: f32[N]
  loss = mean(square(output - price))
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:6:29: error: the batch is axis 0 of f32[32, 1] and axis 0 of f32[32], and axes meet from the right
  loss = mean(square(output - price))
                            ^ reshape one: f32[32] by reshape(x, (N, 1)), or the other to (N,)
)dl", {}},
{"LabelsInAColumn",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> linear(10)
}
train Net {
  label: i32[N, 1]
  loss = softmax_cross_entropy(output, label)
  metric a = accuracy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:6:40: error: labels i32[32, 1] do not fit logits f32[32, 10] with classes on axis 1
  loss = softmax_cross_entropy(output, label)
                                       ^~~~~ class numbers have no axis of classes: i32[N], or reshape(label, (N,))
test.dl:7:31: error: labels i32[32, 1] do not fit logits f32[32, 10] with classes on axis 1
  metric a = accuracy(output, label)
                              ^~~~~ class numbers have no axis of classes: i32[N], or reshape(label, (N,))
)dl", {}},
{"RecurrentOverTheBatch",
R"dl(model Net(image: f32[N, 20, 8]) -> f32[N, 10] {
  h, _ = image |> gru(16)
  return h[:, -1] |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:2:10: error: gru cannot work across the batch, axis 0 of f32[32, 20, 8]
  h, _ = image |> gru(16)
         ^~~~~ batch_first=true takes [N, T, channels]
test.dl:1:11: note: 'image' is declared here
)dl", {}},
{"BothResultsOfGru",
R"dl(model Net(image: f32[N, 20, 8]) -> f32[N, 10] {
  h = image |> gru(16, batch_first=true)
  y = h |> relu
  return y |> flatten |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:3:7: error: 'x' expects a floating-point tensor, found a sequence of 2
  y = h |> relu
      ^ it is (output, state) of gru: output, state = gru(...), or h[0]
)dl", {}},
{"AllResultsOfLstm",
R"dl(model Net(image: f32[N, 20, 8]) -> f32[N, 10] {
  h = image |> lstm(16, batch_first=true)
  return h[:, -1] |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:3:15: error: a sequence has one index
  return h[:, -1] |> linear(10)
              ^~ it is (output, h, c) of lstm: output, h, c = lstm(...), or [0] of it
)dl", {}},
{"ReturningAllResults",
R"dl(model Net(image: f32[N, 20, 8]) -> f32[N, 20, 16] {
  h = image |> lstm(16, batch_first=true)
  return h
}
train Net {
  label: f32[N, 20, 16]
  loss = mean_squared_error(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:3:10: error: Net returns 3 values, declared is one
  return h
         ^ it is (output, h, c) of lstm: output, h, c = lstm(...), or [0] of it
test.dl:1:36: note: declared here
)dl", {}},
{"AddingAllResults",
R"dl(model Net(image: f32[N, 20, 8]) -> f32[N, 20, 8] {
  h = image |> gru(8, batch_first=true)
  return h + image
}
train Net {
  label: f32[N, 20, 8]
  loss = mean_squared_error(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:3:10: error: '+' expects tensors or numbers, found a sequence of 2
  return h + image
         ^ it is (output, state) of gru: output, state = gru(...), or h[0]
)dl", {}},
{"ConcatOfTensors",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  a = image |> linear(5)
  return concat(a, a) |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:3:17: error: 'parts' expects a sequence, found the tensor f32[32, 5]
  return concat(a, a) |> linear(10)
                ^ concat([a, a])
test.dl:2:16: note: the tensor comes from this linear
)dl", {}},
{"ReshapeToMore",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> reshape((N, 1, 28, 29)) |> flatten |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:2:27: error: f32[32, 784] has 25088 elements, the shape 32x1x28x29 has 25984
  return image |> reshape((N, 1, 28, 29)) |> flatten |> linear(10)
                          ^~~~~~~~~~~~~~ 784 elements a sample; one size may be -1
)dl", {}},
{"ReshapeToNoMultiple",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> reshape((N, 27, -1)) |> flatten |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:2:27: error: f32[32, 784] has 25088 elements, the other sizes do not divide it
  return image |> reshape((N, 27, -1)) |> flatten |> linear(10)
                          ^~~~~~~~~~~ 784 elements a sample
)dl", {}},
{"AMetricOfAMaximum",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  metric top = max(output)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:7:16: error: a metric must be a sum of multiples of means over the batch, so that partial batches and ranks add up
  metric top = max(output)
               ^~~ compute it per sample and take the mean last: mean(max(x, axes=1))
)dl", {}},
{"AMetricWithoutAName",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  metric = max(output)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:7:3: error: 'metric' is bound and never used
  metric = max(output)
  ^~~~~~ a metric has a name: 'metric top = ...'
)dl", {}},
{"AnotherResult",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> linear(7)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:2:19: error: Net returns f32[32, 7], declared is f32[32, 10]
  return image |> linear(7)
                  ^~~~~~~~~ where f32[N, 7] is meant, declare it
test.dl:1:34: note: declared here
)dl", {}},
{"EmaAsAnObject",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> linear(10)
}
train Net {
  label: i32[N]
  ema = ema(0.99)
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:6:9: error: unknown name 'ema'
  ema = ema(0.99)
        ^~~ a setting is no function: ema = 0.999
)dl", {}},
{"AxesOfOneNumber",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  y = image[0]
  return softmax(mean(image), 1)
}
infer Net { batch = 2 }
)dl",
R"dl(test.dl:2:7: error: '[ ]' cannot work across the batch, axis 0 of f32[2, 784]
  y = image[0]
      ^~~~~~~~ the batch stays whole: x[:, 0]
test.dl:1:11: note: 'image' is declared here
test.dl:3:31: error: there is no axis 1, the tensor f32[] has 0
  return softmax(mean(image), 1)
                              ^ one number has no axes; it may be a sum or mean that came too early
test.dl:3:18: note: the tensor comes from this mean
)dl", {}},
{"TheBatchLast",
R"dl(model Net(image: f32[784, N]) -> f32[N, 10] {
  return image |> linear(10)
}
infer Net { batch = 2 }
)dl",
R"dl(test.dl:2:10: error: linear cannot work across the batch, axis 1 of f32[784, 2]
  return image |> linear(10)
         ^~~~~ the batch stands first: f32[N, ...]
test.dl:1:11: note: 'image' is declared here
)dl", {}},
{"TheBatchAsANumber",
R"dl(model Net(image: f32[32, 784]) -> f32[10] {
  return image |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:1:18: error: the model's input has no axis N, which counts the samples of a batch
model Net(image: f32[32, 784]) -> f32[10] {
                 ^~~~~~~~~~~~ f32[N, 784]
)dl", {}},
{"ANameOfItself",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  y = y + image
  return y |> linear(10)
}
infer Net {
  batch = 2
}
)dl",
R"dl(test.dl:2:7: error: unknown name 'y'
  y = y + image
      ^
)dl", {}},
{"EpochsAsAnObject",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> linear(10)
}
train Net {
  label: i32[N]
  epochs = epochs(3)
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)dl",
R"dl(test.dl:6:12: error: unknown name 'epochs'
  epochs = epochs(3)
           ^~~~~~ a setting is no function: epochs = 10
)dl", {}},
{"PrecisionOfInferenceAsAnObject",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
infer Net {
  precision = precision(bf16)
}
)dl",
R"dl(test.dl:11:15: error: unknown name 'precision'
  precision = precision(bf16)
              ^~~~~~~~~ a setting is no function: precision = f32
)dl", {}},
{"NoSettingOfInference",
R"dl(model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> linear(10)
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
infer Net {
  return output * ema(0.9)
}
)dl",
R"dl(test.dl:11:19: error: unknown name 'ema'
  return output * ema(0.9)
                  ^~~ 'output' is what the model returns; 'ema: i32[N]' declares what the data delivers
)dl", {}},
{"ConstantsOfEachOther",
R"dl(a = b + 1
b = 2 * c
c = div(a, 3)
model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> linear(10)
}
infer Net {
  batch = 2
}
)dl",
R"dl(test.dl:3:9: error: the constant 'a' depends on itself
c = div(a, 3)
        ^
test.dl:1:1: note: declared here
)dl", {}},
{"AConstantThatNothingReads",
R"dl(a = 1 / 0
model Net(image: f32[N, 784]) -> f32[N, 10] {
  return image |> linear(10)
}
infer Net {
  batch = 2
}
)dl",
R"dl(test.dl:1:7: error: division by zero
a = 1 / 0
      ^
)dl", {}},
};

// The groups of a model with two layers in each of two blocks.
static const ErrorCase groups[] = {
{"AStarForABlock", R"dl(parameters "Tower1.*" { lr_mult = 2 })dl",
R"dl(test.dl:8:14: error: the pattern matches none of the 8 parameters
  parameters "Tower1.*" { lr_mult = 2 }
             ^~~~~~~~~~ '*' is one part of a name: "Tower1.**" matches 4
)dl", {}},
{"ThreeStars", R"dl(parameters "***" { lr_mult = 2 })dl",
R"dl(test.dl:8:14: error: the pattern matches none of the 8 parameters
  parameters "***" { lr_mult = 2 }
             ^~~~~ '*' is one part of a name: "**" matches 8
)dl", {}},
{"ASlipInAPattern", R"dl(parameters "Towr1.**" { lr_mult = 2 })dl",
R"dl(test.dl:8:14: error: the pattern matches none of the 8 parameters
  parameters "Towr1.**" { lr_mult = 2 }
             ^~~~~~~~~~ nearest names: 'Tower1.linear1.bias', 'Tower1.linear2.bias'
)dl", {}},
{"TheBiasOfAllLayers", R"dl(parameters "bias" { lr_mult = 2 })dl",
R"dl(test.dl:8:14: error: the pattern matches none of the 8 parameters
  parameters "bias" { lr_mult = 2 }
             ^~~~~~ did you mean "**.bias"?
)dl", {}},
{"ALayerThatIsNotThere", R"dl(parameters "Tower1.linear3.*" { lr_mult = 2 })dl",
R"dl(test.dl:8:14: error: the pattern matches none of the 8 parameters
  parameters "Tower1.linear3.*" { lr_mult = 2 }
             ^~~~~~~~~~~~~~~~~~ nearest names: 'Tower1.linear1.bias', 'Tower1.linear2.bias'
)dl", {}},
{"StarsForParts", R"dl(parameters "*.linear2.*.*" { lr_mult = 2 })dl",
R"dl(test.dl:8:14: error: the pattern matches none of the 8 parameters
  parameters "*.linear2.*.*" { lr_mult = 2 }
             ^~~~~~~~~~~~~~~ '*' is one part of a name: "**.linear2.**.**" matches 4
)dl", {}},
};
// clang-format on

/// A model of two towers of two layers, and a train section with `group` in line 8.
static std::string inTowers(llvm::StringRef group) {
  return R"(block Tower(x) { return x |> linear(20) |> linear(10) }
model Net(image: f32[N, 784]) -> f32[N, 10] {
  return Tower(image) |> Tower
}
train Net {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  )" + group.str() +
         R"(
  optimizer = sgd(learning_rate=0.1)
  batch = 32
}
)";
}

TEST(Mistakes, OfNewcomers) { checkErrors(files); }
TEST(Mistakes, OfNewcomersInGroups) { checkErrors(groups, inTowers); }
