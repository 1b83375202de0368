// The names of weights: checkpoint keys must never move by accident, so each rule is pinned here.
#include "test/frontend/Harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dlc::frontend;
using namespace dlc::frontend::test;
using testing::ElementsAre;

/// The keys that a body makes; the last two belong to the model's end.
static std::vector<std::string> keys(const std::string &body, const std::string &blocks = "") {
  Compiled compiled(blocks + inModel(body));
  std::vector<std::string> names;
  for (const std::string &weight : compiled.weights())
    names.push_back(weight.substr(0, weight.find(' ')));
  EXPECT_GE(names.size(), 2u) << compiled.diagnostics();
  names.resize(names.size() - std::min<size_t>(2, names.size()));
  return names;
}

TEST(Names, CountPerWordFromOne) {
  EXPECT_THAT(
      keys("y = x |> conv2d(3, 1, bias=false) |> conv2d(3, 1) |> relu |> conv2d(3, 1, bias=false)"),
      ElementsAre("conv1.weight", "conv2.weight", "conv2.bias", "conv3.weight"));
}

TEST(Names, LoopsWithoutLabelAreNoScope) {
  EXPECT_THAT(keys("y = x\nrepeat 2 { y = y |> conv2d(3, 1, bias=false) }\nif true { y = y |> "
                   "conv2d(3, 1, bias=false) }"),
              ElementsAre("conv1.weight", "conv2.weight", "conv3.weight"));
}

TEST(Names, ALabelCountsTheTurns) {
  EXPECT_THAT(keys("y = x\nfor i in range(2) as stage {\n  repeat 2 { y = y |> conv2d(3, 1, "
                   "bias=false) }\n}\n"
                   "repeat 1 as stage { y = y |> conv2d(3, 1, bias=false) }"),
              ElementsAre("stage1.conv1.weight", "stage1.conv2.weight", "stage2.conv1.weight",
                          "stage2.conv2.weight", "stage3.conv1.weight"));
}

TEST(Names, BlocksAreScopesWithTheirName) {
  EXPECT_THAT(
      keys("y = x |> Unit |> Unit |> Conv2",
           "block Unit(x) { return x |> conv2d(3, 1, bias=false) }\n"
           "block Conv2(x) { return Unit(x) }\n"),
      ElementsAre("Unit1.conv1.weight", "Unit2.conv1.weight", "Conv2_1.Unit1.conv1.weight"));
}

TEST(Names, AGivenNameDoesNotCount) {
  EXPECT_THAT(keys("y = x |> conv2d(3, 1, bias=false) |> conv2d(3, 1, bias=false, "
                   "name=\"down.conv\") |> conv2d(3, 1, bias=false)\n"
                   "z = Unit(y, name=\"last\")",
                   "block Unit(x) { return x |> conv2d(3, 1, bias=false) }\n"),
              ElementsAre("conv1.weight", "down.conv.weight", "conv2.weight", "last.conv1.weight"));
}

TEST(Names, FormatPutsNumbersIntoOne) {
  EXPECT_THAT(keys("y = x\nfor i in range(2) {\n  y = y |> conv2d(3, 1, bias=false, "
                   "name=format(\"layer{}.{}\", (i + 1, 2 * i)))\n}\n"
                   "y = conv2d(y, 3, 1, bias=false, name=format(\"{}\", 3))"),
              ElementsAre("layer1.0.weight", "layer2.2.weight", "3.weight"));
}

TEST(Names, WeightlessCallsMoveNoLayer) {
  EXPECT_EQ(keys("y = x |> conv2d(3, 1) |> conv2d(3, 1)"),
            keys("y = relu(x) + x |> conv2d(3, 1) |> tanh |> conv2d(3, 1)"));
}

TEST(Names, NormsHaveTheirWords) {
  EXPECT_THAT(
      keys("y = x |> layer_norm |> rms_norm |> group_norm(3) |> instance_norm(affine=true)"),
      ElementsAre("ln1.weight", "ln1.bias", "rms1.weight", "gn1.weight", "gn1.bias",
                  "instance_norm1.weight", "instance_norm1.bias"));
}

TEST(Names, ALayerHasItsOwnNameAndOneSetOfWeights) {
  EXPECT_THAT(
      keys("layer f = conv2d(_, 3, 1, bias=false)\ny = x |> f |> conv2d(3, 1, bias=false) |> f"),
      ElementsAre("f.weight", "conv1.weight"));
}

TEST(Names, ALayerOfABlockSharesAllInside) {
  EXPECT_THAT(keys("layer cell = Unit(_, 3)\ny = x |> cell |> cell",
                   "block Unit(x, width) {\n  layer inner = conv2d(_, width, 1, bias=false)\n  "
                   "return x |> inner |> inner |> conv2d(3, 1, bias=false)\n}\n"),
              ElementsAre("cell.inner.weight", "cell.conv1.weight"));
}

TEST(Names, AParameterIsTheLastPart) {
  EXPECT_THAT(keys("parameter scale: f32[3] = 1\ny = Shift(x)",
                   "block Shift(x) {\n  parameter offset: f32[8] = 0\n  return x + offset\n}\n"),
              ElementsAre("scale", "Shift1.offset"));
}

TEST(Names, AGivenWeightMakesNone) {
  EXPECT_THAT(keys("layer f = linear(_, 8, bias=false)\ny = x |> f |> linear(8, weight=f.weight, "
                   "bias=false)"),
              ElementsAre("f.weight"));
}

TEST(Names, RenamingALocalChangesNoKey) {
  EXPECT_EQ(keys("y = x |> conv2d(3, 1)\nz = y |> conv2d(3, 1)"),
            keys("a = x |> conv2d(3, 1)\nb = a |> conv2d(3, 1)"));
}

static const char *twoModels = R"(
model A(x: f32[N, 4]) -> f32[N, 4] { return linear(x, 4, bias=false) }
model B(y: f32[N, 4]) -> f32[N, 2] { return linear(y, 2, bias=false) }
train A, B {
  x: f32[N, 4]
  label: i32[N]
  loss = softmax_cross_entropy(B(A(A(x))), label)
  optimizer = sgd(learning_rate=0.1)
  batch = 2
}
)";

TEST(Names, SeveralModelsAreTheFirstPart) {
  EXPECT_THAT(Compiled(twoModels).weights(),
              ElementsAre("A.linear1.weight 4x4", "B.linear1.weight 2x4"));
}

TEST(Names, OneModelCalledTwiceSharesItsWeights) {
  Compiled compiled(R"(
model Embed(x: f32[N, 4]) -> f32[N, 4] { return x |> linear(4) |> tanh }
train Embed {
  left: f32[N, 4]
  right: f32[N, 4]
  loss = mean(square(Embed(left) - Embed(right)))
  optimizer = sgd(learning_rate=0.1)
  batch = 2
}
)");
  EXPECT_THAT(compiled.weights(), ElementsAre("linear1.weight 4x4", "linear1.bias 4"));
}

TEST(Names, LayersOfTheExamples) {
  FrontendOptions options;
  mlir::MLIRContext context;
  SourceManager sources;
  DiagnosticEngine engine;
  ASSERT_TRUE(compile(sources, EXAMPLES "/lenet/lenet.dl", options, context, engine));
  Compiled lenet(sources.text(0));
  EXPECT_THAT(lenet.weights(),
              ElementsAre("conv1.weight 20x1x5x5", "conv1.bias 20", "conv2.weight 50x20x5x5",
                          "conv2.bias 50", "linear1.weight 500x800", "linear1.bias 500",
                          "linear2.weight 10x500", "linear2.bias 10"));
}
