//===- FormulasTest.cpp - formulas without a frontend, against what they say ------------------===//
//
// Each is built by TensorBuilder alone and run by the interpreter in float64; what is expected is
// computed here from the definition, number by number.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Formulas/Elementwise.h"
#include "dialects/DL/Formulas/Losses.h"
#include "dialects/DL/Formulas/Metrics.h"
#include "dialects/DL/Formulas/Norms.h"
#include "dialects/DL/Formulas/Orders.h"
#include "dialects/DL/Formulas/Parts.h"
#include "dialects/DL/Formulas/Pixels.h"
#include "dialects/DL/Formulas/Random.h"
#include "dialects/DL/Formulas/Recurrent.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>

using namespace mlir;
using namespace dlc;
using interpreter::Shape;
using interpreter::Tensor;
using Numbers = std::vector<double>;

namespace {

class FormulasTest : public testing::Test {
protected:
  FormulasTest() : builder(&context) {
    context.loadDialect<dl::DLDialect>();
    builder.setInsertionPointToStart(&block);
  }
  /// A value with these numbers: f64, or of another type.
  Value given(Tensor numbers, Type element = {}) {
    auto type = RankedTensorType::get(numbers.shape, element ? element : builder.getF64Type());
    inputs.push_back(std::move(numbers));
    return block.addArgument(type, loc);
  }
  Value vector(const Numbers &numbers, Type element = {}) {
    return given({{int64_t(numbers.size())}, numbers}, element);
  }
  Value labels(const Numbers &numbers) { return vector(numbers, builder.getI32Type()); }

  Tensor run(Value y) {
    auto end = dl::YieldOp::create(builder, loc, y);
    auto values = interpreter::Interpreter().runBlock(block, inputs);
    end.erase();
    EXPECT_TRUE(succeeded(values));
    Tensor result = succeeded(values) ? values->front() : Tensor();
    EXPECT_EQ(result.shape, b.typeOf(y).getShape().vec());
    return result;
  }
  /// Rounding of a few operations is all that may differ.
  void expect(Value y, const Numbers &expected) {
    Tensor found = run(y);
    ASSERT_EQ(found.values.size(), expected.size());
    for (auto [i, number] : llvm::enumerate(expected))
      EXPECT_NEAR(found.values[i], number, 1e-12 * std::max(1.0, std::abs(number))) << i;
  }
  /// `formula` of each of `numbers`.
  template <typename Formula> void expectEach(Value y, const Numbers &numbers, Formula formula) {
    Numbers expected;
    for (double number : numbers)
      expected.push_back(formula(number));
    expect(y, expected);
  }

  MLIRContext context;
  Block block;
  OpBuilder builder;
  Location loc = UnknownLoc::get(&context);
  std::vector<Tensor> inputs;
  dl::TensorBuilder b{builder, loc};
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Row `sample` of logits [samples, classes], as logarithms of probabilities.
Numbers logSoftmax(const Tensor &logits, int64_t sample) {
  double sum = 0;
  Numbers result;
  for (int64_t c = 0; c < logits.shape[1]; ++c)
    sum += std::exp(logits.at({sample, c}));
  for (int64_t c = 0; c < logits.shape[1]; ++c)
    result.push_back(logits.at({sample, c}) - std::log(sum));
  return result;
}

} // namespace

//===------------------------------------------------------------------------------------------===//
// Element by element
//===------------------------------------------------------------------------------------------===//

TEST_F(FormulasTest, Activations) {
  const Numbers x{-7, -3, -1.5, -0.25, 0, 0.25, 2, 4, 9};
  Value value = vector(x);
  auto elu = [](double v, double alpha) { return v > 0 ? v : alpha * (std::exp(v) - 1); };
  expectEach(dl::formulas::relu6(b, value), x, [](double v) { return std::clamp(v, 0.0, 6.0); });
  expectEach(dl::formulas::leakyRelu(b, value, 0.1), x,
             [](double v) { return v > 0 ? v : 0.1 * v; });
  expectEach(dl::formulas::elu(b, value, 0.7), x, [&](double v) { return elu(v, 0.7); });
  expectEach(dl::formulas::selu(b, value), x,
             [&](double v) { return 1.0507009873554805 * elu(v, 1.6732632423543772); });
  expectEach(dl::formulas::gelu(b, value, /*tanh=*/false), x,
             [](double v) { return v * 0.5 * std::erfc(-v / std::sqrt(2.0)); });
  expectEach(dl::formulas::gelu(b, value, /*tanh=*/true), x, [](double v) {
    return v * sigmoid(2 * std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v));
  });
  expectEach(dl::formulas::hardsigmoid(b, value), x,
             [](double v) { return std::clamp(v / 6 + 0.5, 0.0, 1.0); });
  expectEach(dl::formulas::sign(b, value), x, [](double v) { return (v > 0) - (v < 0); });
}

TEST_F(FormulasTest, ExpandsFromTheRight) {
  Value value = given({{2, 1}, {3, 4}});
  expect(dl::formulas::expandTo(b, value, {2, 2, 2}), {3, 3, 4, 4, 3, 3, 4, 4});
  EXPECT_EQ(dl::formulas::expandTo(b, value, {2, 1}), value);
}

TEST_F(FormulasTest, Roots) {
  expect(dl::formulas::inverseRoot(b, vector({4, 0.25})), {0.5, 2});
  expect(dl::formulas::rootOfSquares(b, vector({0, 25})), {0, 5});
}

TEST_F(FormulasTest, Logic) {
  Value p = vector({0, 0, 1, 1}, builder.getI1Type()),
        q = vector({0, 1, 0, 1}, builder.getI1Type());
  expect(dl::formulas::both(b, p, q), {0, 0, 0, 1});
  expect(dl::formulas::either(b, p, q), {0, 1, 1, 1});
  expect(dl::formulas::isNot(b, p), {1, 1, 0, 0});
}

//===------------------------------------------------------------------------------------------===//
// Along axes
//===------------------------------------------------------------------------------------------===//

/// Of lengths that are no powers of two, and along an axis in the middle.
TEST_F(FormulasTest, SumsAndProductsAlong) {
  Value x = given({{1, 5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}});
  expect(dl::formulas::cumulativeSum(b, x, 1), {1, 2, 4, 6, 9, 12, 16, 20, 25, 30});
  expect(dl::formulas::productAlong(b, x, 1), {945, 3840});
  expect(dl::formulas::productAlong(b, given({{0, 2}, {}}), 0), {1, 1});
}

/// The first of equal ones; what is not a number is above all.
TEST_F(FormulasTest, Largest) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  Value x = given({{3, 4}, {1, 5, 5, 2, 4, 3, 2, 1, 1, none, 9, none}});
  expect(dl::formulas::largestIndex(b, x, 1), {1, 0, 1});
  dl::formulas::Largest largest =
      dl::formulas::topK(b, given({{2, 4}, {1, 5, 5, 2, 4, 3, 6, 1}}), 3);
  expect(largest.values, {5, 5, 2, 6, 4, 3});
  expect(largest.indices, {1, 2, 3, 2, 0, 1});
}

TEST_F(FormulasTest, OneHotOfNoNumber) {
  expect(dl::formulas::oneHot(b, labels({2, 0, 3}), 3), {0, 0, 1, 1, 0, 0, 0, 0, 0});
}

/// Equal ones keep their order, and what is not a number comes last, in either direction.
TEST_F(FormulasTest, Sorting) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  Value x = given({{1, 5}, {3, none, 1, 3, 2}});
  dl::formulas::Ranking ranking(b, x, 1);
  EXPECT_EQ(ranking.comparisons().getShape().vec(), (Shape{1, 5, 5}));
  Value up = ranking.places(/*descending=*/false), down = ranking.places(/*descending=*/true);
  expect(ranking.order(up), {2, 4, 0, 3, 1});
  expect(ranking.order(down), {0, 3, 4, 2, 1});
  expect(ranking.arrange(given({{1, 5}, {10, 11, 12, 13, 14}}), up), {12, 14, 10, 13, 11});
}

TEST_F(FormulasTest, FlippedAndRepeated) {
  Value x = given({{2, 3}, {1, 2, 3, 4, 5, 6}});
  expect(dl::formulas::flip(b, x, {0, 1}), {6, 5, 4, 3, 2, 1});
  expect(dl::formulas::flip(b, x, {1}), {3, 2, 1, 6, 5, 4});
  expect(dl::formulas::tile(b, x, {1, 2}), {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  expect(dl::formulas::tile(b, x, {2, 1}), {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
}

TEST_F(FormulasTest, RowsOfATable) {
  Value table = given({{3, 2}, {1, 2, 3, 4, 5, 6}}), index = labels({2, 1, 0});
  expect(dl::formulas::lookUp(b, table, index, /*padding=*/{}), {5, 6, 3, 4, 1, 2});
  expect(dl::formulas::lookUp(b, table, index, /*padding=*/1), {5, 6, 0, 0, 1, 2});
}

TEST_F(FormulasTest, PaddedWithANumber) {
  Value x = given({{1, 2}, {3, 4}});
  expect(dl::formulas::padWith(b, x, {2, 4}, {1, 1}, 0), {0, 0, 0, 0, 0, 3, 4, 0});
  expect(dl::formulas::padWith(b, x, {2, 4}, {1, 1}, 7), {7, 7, 7, 7, 7, 3, 4, 7});
}

//===------------------------------------------------------------------------------------------===//
// Losses and metrics
//===------------------------------------------------------------------------------------------===//

TEST_F(FormulasTest, CrossEntropies) {
  const Tensor x = interpreter::uniformTensor({3, 4}, "x", 3);
  const Tensor p = interpreter::uniformTensor({3, 4}, "p", 0.5, 0.5);
  const Numbers label{3, 0, 1}, weight{0.5, 2, 1, 3};
  Value logits = given(x), target = given(p), number = labels(label), ofClasses = vector(weight);
  Value ofLabels = vector({weight[3], weight[0], weight[1]});
  for (double smoothing : {0.0, 0.1}) {
    Numbers plain(3), weighted(3), ofProbabilities(3);
    for (int64_t sample = 0; sample < 3; ++sample) {
      Numbers logs = logSoftmax(x, sample);
      for (int64_t c = 0; c < 4; ++c) {
        const double share = smoothing / 4, kept = 1 - smoothing;
        const double expected = kept * (c == label[sample]) + share;
        plain[sample] -= expected * logs[c];
        weighted[sample] -= expected * weight[c] * logs[c];
        ofProbabilities[sample] -= (kept * p.at({sample, c}) + share) * weight[c] * logs[c];
      }
    }
    expect(dl::formulas::softmaxCrossEntropy(b, logits, number, 1, smoothing), plain);
    expect(dl::formulas::weightedCrossEntropy(b, logits, number, 1, smoothing, ofLabels, ofClasses),
           weighted);
    expect(dl::formulas::probabilityCrossEntropy(b, logits, target, 1, smoothing, ofClasses),
           ofProbabilities);
  }
}

/// Where nothing counts the mean is 0.
TEST_F(FormulasTest, WhatCounts) {
  Value number = labels({2, -1, 0, 3});
  expect(dl::formulas::withoutClass(b, number, 2), {-1, -1, 0, 3});
  expect(dl::formulas::whereClass(b, vector({5, 6, 7, 8}), number, 3), {5, 0, 7, 0});
  expect(dl::formulas::meanByWeight(b, vector({6, 0}), vector({4, 0})), {1.5, 0});
  EXPECT_TRUE(b.typeOf(dl::formulas::toAccumulated(b, number)).getElementType().isF32());
  Value wide = vector({1});
  EXPECT_EQ(dl::formulas::toAccumulated(b, wide), wide);
}

TEST_F(FormulasTest, SigmoidCrossEntropyOfLargeLogits) {
  const Numbers x{-800, -1, 0.5, 900}, yes{0, 1, 0.25, 1};
  Value logits = vector(x), target = vector(yes);
  for (double weight : {1.0, 3.0}) {
    Numbers expected;
    for (auto [v, t] : llvm::zip(x, yes)) {
      const double lossOfYes = v > -700 ? std::log1p(std::exp(-v)) : -v;
      expected.push_back(weight * t * lossOfYes + (1 - t) * (v + lossOfYes));
    }
    Value positive = weight == 1 ? Value() : b.splatLike(logits, weight);
    expect(dl::formulas::sigmoidCrossEntropy(b, logits, target, positive), expected);
  }
}

/// An embedding of length 0 has the cosine 0.
TEST_F(FormulasTest, CosineEmbedding) {
  Value left = given({{4, 2}, {3, 4, 1, 0, 1, 1, 0, 0}}),
        right = given({{4, 2}, {4, 3, 0, 2, 2, 2, 1, 2}});
  Tensor loss =
      run(dl::formulas::cosineEmbedding(b, left, right, vector({1, -1, -1, 1}), /*margin=*/0.5));
  // What is added to the squares of lengths is 1e-12.
  for (auto [found, expected] : llvm::zip(loss.values, Numbers{1 - 24.0 / 25, 0, 0.5, 1}))
    EXPECT_NEAR(found, expected, 1e-11);
}

TEST_F(FormulasTest, ConfusionPlaces) {
  Value logits = given({{4, 3}, {0, 2, 1, 3, 2, 1, 0, 0, 5, 1, 0, 0}});
  expect(dl::formulas::confusionPlaces(b, logits, labels({1, 2, 0, -1}), 1), {4, 6, 2, -3});
}

/// The share of pairs of a yes and a no that are in the right order, equal ones half. Channels with
/// one answer do not count.
TEST_F(FormulasTest, AreaUnderCurve) {
  constexpr int64_t bins = 4;
  const Numbers no{2, 1, 0, 1}, yes{0, 1, 3, 1};
  double right = 0, pairs = 0;
  for (int64_t i = 0; i < bins; ++i)
    for (int64_t j = 0; j < bins; ++j) {
      pairs += no[i] * yes[j];
      right += no[i] * yes[j] * (i < j ? 1 : i == j ? 0.5 : 0);
    }
  Numbers histograms = no, nothing(bins, 0);
  for (const Numbers &more : {yes, no, nothing})
    histograms.insert(histograms.end(), more.begin(), more.end());
  expect(dl::formulas::meanArea(b, given({{2, 2, bins}, histograms})), {right / pairs});
  expect(dl::formulas::meanArea(b, given(Tensor::filled({1, 2, bins}, 0))), {0.5});
}

/// Scores of 1 lie in the last bin.
TEST_F(FormulasTest, ScorePlaces) {
  Value logits = given({{2, 2}, {-1, 0.1, 90, -90}}), target = given({{2, 2}, {0, 1, 1, 0}});
  expect(dl::formulas::scorePlaces(b, logits, target, 10, /*channelAxis=*/1), {2, 35, 19, 20});
  expect(dl::formulas::scorePlaces(b, logits, target, 10, /*channelAxis=*/{}), {2, 15, 19, 0});
}

//===------------------------------------------------------------------------------------------===//
// Layers
//===------------------------------------------------------------------------------------------===//

/// Of one rank with 6 elements, and of two with 3 each: the same variance of all.
TEST_F(FormulasTest, RunningStatistics) {
  Value running = vector({10}), now = vector({2});
  expect(dl::formulas::runningMean(b, running, now, 0.1), {9.2});
  expect(dl::formulas::runningVariance(b, running, now, 0.1, 6, {}), {9 + 0.2 * 6 / 5});
  Value half = b.splat(RankedTensorType::get({}, builder.getF32Type()), 0.5);
  expect(dl::formulas::runningVariance(b, running, now, 0.1, 3, half), {9 + 0.2 * 6 / 5});
}

namespace {
/// One unit with numbers of its own, over a sequence of one channel: what both layers are given.
struct Unit {
  Numbers ofInput, ofState, bias, stateBias, x{0.5, -1, 2};
  double h = 0.3, c = -0.2;

  double gate(size_t number, double input, double state) const {
    return ofInput[number] * input + bias[number] + ofState[number] * state;
  }
};
} // namespace

TEST_F(FormulasTest, Lstm) {
  Unit unit{{0.5, -0.4, 0.3, 0.9}, {0.2, 0.6, -0.7, 0.1}, {0.1, 0.2, 0.3, 0.4}, {0.05, 0, -0.1, 0}};
  Value x = given({{3, 1, 1}, unit.x}), weight = given({{4, 1}, unit.ofInput});
  Value gates = dl::formulas::gateInputs(b, x, weight, vector(unit.bias), vector(unit.stateBias));
  Value h = given({{1, 1}, {unit.h}}), c = given({{1, 1}, {unit.c}}),
        ofState = given({{4, 1}, unit.ofState});
  for (bool isReverse : {false, true}) {
    auto made = dl::formulas::lstm(b, gates, h, c, ofState, /*mask=*/{}, isReverse);
    double hidden = unit.h, cell = unit.c;
    Numbers outputs(3);
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t step = isReverse ? 2 - i : i;
      auto gate = [&](size_t number) {
        return unit.gate(number, unit.x[step], hidden) + unit.stateBias[number];
      };
      const double in = sigmoid(gate(0)), forget = sigmoid(gate(1)), out = sigmoid(gate(3));
      cell = forget * cell + in * std::tanh(gate(2));
      outputs[step] = hidden = out * std::tanh(cell);
    }
    expect(made.outputs, outputs);
    ASSERT_EQ(made.last.size(), 2u);
    expect(made.last[0], {hidden});
    expect(made.last[1], {cell});
  }
}

/// Behind the end of its sample a state stays as it is, and its outputs are 0 where that is asked.
TEST_F(FormulasTest, GruOfDifferentLengths) {
  Unit unit{{0.5, -0.4, 0.3}, {0.2, 0.6, -0.7}, {0.1, 0.2, 0.3}, {0.05, 0, -0.1}};
  Value x = given({{3, 1, 1}, unit.x}), weight = given({{3, 1}, unit.ofInput});
  Value gates = dl::formulas::gateInputs(b, x, weight, vector(unit.bias));
  Value states = given({{2, 1, 1}, {7, unit.h}}), ofState = given({{3, 1}, unit.ofState});
  Value mask = dl::formulas::stepsWithin(b, labels({2}), 3);
  expect(mask, {1, 1, 0});
  auto made = dl::formulas::gru(b, gates, dl::formulas::stateOf(b, states, 1), ofState,
                                vector(unit.stateBias), mask, /*isReverse=*/false);
  double hidden = unit.h;
  Numbers outputs(3);
  for (size_t step = 0; step < 2; ++step) {
    auto gate = [&](size_t number, double reach) {
      const double ofInput = unit.ofInput[number] * unit.x[step] + unit.bias[number];
      return ofInput + reach * (unit.ofState[number] * hidden + unit.stateBias[number]);
    };
    const double reset = sigmoid(gate(0, 1)), update = sigmoid(gate(1, 1));
    hidden = (1 - update) * std::tanh(gate(2, reset)) + update * hidden;
    outputs[step] = hidden;
  }
  expect(dl::formulas::zeroBeyond(b, made.outputs, mask), outputs);
  ASSERT_EQ(made.last.size(), 1u);
  expect(made.last[0], {hidden});
}

TEST_F(FormulasTest, ExchangedAxes) {
  expect(dl::formulas::exchangeFirst(b, given({{2, 3, 1}, {1, 2, 3, 4, 5, 6}})),
         {1, 4, 2, 5, 3, 6});
}

//===------------------------------------------------------------------------------------------===//
// Pixels
//===------------------------------------------------------------------------------------------===//

TEST_F(FormulasTest, Upsampling) {
  Value x = given({{1, 1, 2, 2}, {0, 8, 16, 24}});
  expect(dl::formulas::upsampleNearest(b, x, 2),
         {0, 0, 8, 8, 0, 0, 8, 8, 16, 16, 24, 24, 16, 16, 24, 24});
  expect(dl::formulas::upsampleBilinear(b, x, 2, /*alignCorners=*/false),
         {0, 2, 6, 8, 4, 6, 10, 12, 12, 14, 18, 20, 16, 18, 22, 24});
  Numbers aligned;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      aligned.push_back((16.0 * i + 8 * j) / 3);
  Tensor found = run(dl::formulas::upsampleBilinear(b, x, 2, /*alignCorners=*/true));
  for (auto [y, expected] : llvm::zip(found.values, aligned))
    EXPECT_NEAR(y, expected, 1e-12);
}

TEST_F(FormulasTest, PixelShuffle) {
  expect(dl::formulas::pixelShuffle(b, given({{1, 4, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7}}), 2),
         {0, 2, 1, 3, 4, 6, 5, 7});
}

/// Five elements in two windows of three, which share one.
TEST_F(FormulasTest, PoolingInParts) {
  Value x = given({{1, 1, 5}, {1, 2, 6, 4, 5}});
  expect(dl::formulas::poolInParts(b, /*isMaximum=*/true, x, 2, 2), {6, 6});
  expect(dl::formulas::poolInParts(b, /*isMaximum=*/false, x, 2, 2), {3, 5});
}

//===------------------------------------------------------------------------------------------===//
// Random numbers
//===------------------------------------------------------------------------------------------===//

TEST_F(FormulasTest, MadeOfDraws) {
  Value draws = vector({0.1, 0.25, 0.8});
  expect(dl::formulas::bernoulli(b, draws, 0.25), {1, 0, 0});
  Value kept = dl::formulas::keptBy(b, draws, 0.25);
  expect(dl::formulas::dropout(b, vector({3, 3, 6}), kept, 0.25), {0, 4, 8});
}

/// A sample draws the same wherever it lies: on the first axis, on the last, or beside other
/// elements of its own on one axis.
TEST_F(FormulasTest, SamplesDrawTheirOwn) {
  using dl::formulas::DrawnSamples;
  auto drawn = [&](ArrayRef<int64_t> shape, std::optional<DrawnSamples> samples) {
    return run(dl::formulas::draw(b, dl::RandomKind::Uniform, shape, samples, /*stream=*/5)).values;
  };
  Numbers first = drawn({2, 3}, DrawnSamples{0, 2});
  EXPECT_EQ(std::set<double>(first.begin(), first.end()).size(), 6u);
  for (double number : first) {
    EXPECT_GE(number, 0);
    EXPECT_LT(number, 1);
  }
  Numbers last = drawn({3, 2}, DrawnSamples{1, 2});
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(last[i % 3 * 2 + i / 3], first[i]);
  EXPECT_EQ(drawn({6}, DrawnSamples{0, 2, /*outer=*/1, /*inner=*/3}), first);
  EXPECT_EQ(drawn({6}, DrawnSamples{0, 2, /*outer=*/3, /*inner=*/1}), last);
  EXPECT_EQ(drawn({3}, std::nullopt), Numbers(first.begin(), first.begin() + 3));
}
