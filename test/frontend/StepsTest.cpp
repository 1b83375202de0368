// What steps, carried state and batch norm become: entries, updates, variables, assignments.
#include "Harness.h"

#include "dialects/DL/DL.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dlc;
using namespace dlc::frontend;
using namespace dlc::frontend::test;
using testing::ElementsAre;

static std::vector<std::string> entries(Compiled &compiled) {
  EXPECT_EQ(compiled.diagnostics(), "");
  std::vector<std::string> names;
  for (auto entry : compiled.result->getOps<dl::EntryOp>())
    names.push_back(entry.getSymName().str());
  return names;
}
static dl::EntryOp entryOf(Compiled &compiled, llvm::StringRef name) {
  return compiled.result->lookupSymbol<dl::EntryOp>(name);
}
/// "D.linear1.bias x0.5" for each update of an entry.
static std::vector<std::string> updates(dl::EntryOp entry) {
  std::vector<std::string> names;
  for (auto update : entry.getUpdatesAttr().getAsRange<dl::UpdateAttr>())
    names.push_back(update.getVariable().getValue().str() + " x" +
                    std::to_string(update.getLrMult().getValueAsDouble()).substr(0, 3));
  return names;
}
static std::vector<std::string> assigned(dl::EntryOp entry) {
  std::vector<std::string> names;
  for (auto assign : entry.getBlock().getOps<dl::AssignOp>())
    names.push_back(assign.getVariable().str());
  return names;
}
static std::vector<std::string> outputs(dl::EntryOp entry) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    names.push_back(entry.getOutputName(i).str());
  return names;
}

static const std::string gan = R"(
model G(z: f32[N, 2]) -> f32[N, 3] { return linear(z, 3) }
model D(x: f32[N, 3]) -> f32[N, 1] { return linear(x, 1) }
train G, D {
  x: f32[N, 3]
  z: f32[N, 2]
  fake = G(z)
  optimizer = sgd(learning_rate=0.1)
  step critic updates D {
    loss = mean(D(fake)) - mean(D(x))
    metric distance = mean(D(x))
    parameters "**.bias" { lr_mult = 0.5 }
  }
  step generator updates G, "D.linear1.bias" every 5 {
    loss = mean(D(fake))
  }
  batch = 4
)";

TEST(Steps, AreEntriesThatUpdateTheirTargets) {
  Compiled compiled(gan + "}\n");
  EXPECT_THAT(entries(compiled), ElementsAre("critic", "generator", "infer_G_n1", "infer_D_n1"));
  EXPECT_THAT(updates(entryOf(compiled, "critic")),
              ElementsAre("D.linear1.weight x1.0", "D.linear1.bias x0.5"));
  // The group of the other step does not reach here.
  EXPECT_THAT(updates(entryOf(compiled, "generator")),
              ElementsAre("G.linear1.weight x1.0", "G.linear1.bias x1.0", "D.linear1.bias x1.0"));
}

TEST(Steps, RunOnEveryNthBatch) {
  Compiled compiled(gan + "}\n");
  EXPECT_FALSE(entryOf(compiled, "critic")->hasAttr("dl.every"));
  EXPECT_EQ(entryOf(compiled, "generator")->getAttrOfType<mlir::IntegerAttr>("dl.every").getInt(),
            5);
}

TEST(Steps, TakeTheSameInputsAndKeepTheirOwnMetrics) {
  Compiled compiled(gan + "}\n");
  for (const char *name : {"critic", "generator"})
    EXPECT_EQ(entryOf(compiled, name).getNumArguments(), 2u);
  EXPECT_THAT(outputs(entryOf(compiled, "critic")),
              ElementsAre("loss.sum", "loss.sum2", "distance.sum"));
  EXPECT_THAT(outputs(entryOf(compiled, "generator")), ElementsAre("loss.sum"));
}

TEST(Steps, MetricsOutsideAreThoseOfTheEvaluation) {
  Compiled compiled(gan + "  metric real = mean(D(x))\n}\n");
  EXPECT_THAT(entries(compiled),
              ElementsAre("critic", "generator", "evaluate", "infer_G_n1", "infer_D_n1"));
  EXPECT_THAT(outputs(entryOf(compiled, "generator")), ElementsAre("loss.sum"));
  EXPECT_THAT(outputs(entryOf(compiled, "evaluate")), ElementsAre("samples.count", "real.sum"));
}

TEST(Steps, TakeTheSectionsSettingsWhereTheyGiveNone) {
  Compiled compiled(inModel("x = relu(x)")
                        .insert(inModel("x = relu(x)").rfind("}"),
                                "  step a updates M { metric m = loss }\n"
                                "  step b updates \"*.bias\" { loss = 2 * loss }\n"));
  EXPECT_THAT(entries(compiled), ElementsAre("a", "b", "evaluate", "infer_n1"));
  EXPECT_THAT(updates(entryOf(compiled, "b")), ElementsAre("linear1.bias x1.0"));
}

static const char *carried = R"(
model M(x: f32[N, 3]) -> f32[N, 2] {
  state h: f32[N, 3] = 1
  h = tanh(h + x)
  return linear(h, 2)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)";

TEST(States, AreVariablesOfEachEntry) {
  Compiled compiled(carried);
  EXPECT_THAT(entries(compiled), ElementsAre("train_step", "evaluate", "infer_n1"));
  EXPECT_THAT(compiled.weights(),
              ElementsAre("linear1.weight 2x3", "linear1.bias 2", "train_step.h 4x3",
                          "evaluate.h 4x3", "infer_n1.h 1x3"));
  auto state = compiled.result->lookupSymbol<dl::VariableOp>("train_step.h");
  EXPECT_EQ(state.getRole(), dl::Role::State);
  EXPECT_EQ(state.getInit().getA().convertToDouble(), 1.0);
  EXPECT_THAT(assigned(entryOf(compiled, "train_step")), ElementsAre("train_step.h"));
  EXPECT_THAT(updates(entryOf(compiled, "train_step")),
              ElementsAre("linear1.weight x1.0", "linear1.bias x1.0"));
}

static std::string normed(const std::string &body, const std::string &groups = "") {
  std::string text = inModel(body);
  return text.insert(text.rfind("}"), groups);
}
static const std::vector<std::string> statistics{"bn1.running_variance", "bn1.running_mean"};

TEST(BatchNorm, KeepsStatisticsInTrainingOnly) {
  Compiled compiled(normed("x = batch_norm(x)"));
  EXPECT_EQ(compiled.diagnostics(), "");
  EXPECT_EQ(assigned(entryOf(compiled, "train_step")), statistics);
  EXPECT_THAT(assigned(entryOf(compiled, "evaluate")), ElementsAre());
  EXPECT_EQ(compiled.result->lookupSymbol<dl::VariableOp>("bn1.running_mean").getRole(),
            dl::Role::Statistic);
  EXPECT_THAT(
      updates(entryOf(compiled, "train_step")),
      ElementsAre("bn1.scale x1.0", "bn1.bias x1.0", "linear1.weight x1.0", "linear1.bias x1.0"));
}

TEST(BatchNorm, FrozenItKeepsItsStatistics) {
  Compiled byAttribute(normed("x = batch_norm(x, frozen=true)"));
  EXPECT_THAT(assigned(entryOf(byAttribute, "train_step")), ElementsAre());
  Compiled byGroup(normed("x = batch_norm(x)", "  parameters \"bn*.*\" { frozen = true }\n"));
  EXPECT_THAT(assigned(entryOf(byGroup, "train_step")), ElementsAre());
}

TEST(BatchNorm, SharedItAssignsOnceWhatBothCallsSaw) {
  Compiled compiled(normed("layer norm = batch_norm(_)\nx = x |> norm |> norm"));
  EXPECT_THAT(assigned(entryOf(compiled, "train_step")),
              ElementsAre("norm.running_variance", "norm.running_mean"));
}

TEST(BatchNorm, WhatNoLossNeedsMovesNoStatistics) {
  Compiled compiled(normed("y = batch_norm(x)\nx = x + 0 * 1"));
  EXPECT_THAT(assigned(entryOf(compiled, "train_step")), ElementsAre());
}

TEST(BatchNorm, PatternsMatchParametersOnly) {
  Compiled compiled(
      normed("x = batch_norm(x)", "  parameters \"*.running_mean\" { lr_mult = 2 }\n"));
  ASSERT_FALSE(compiled.result);
  EXPECT_EQ(compiled.engine.diagnostics().front().message,
            "the pattern matches none of the 4 parameters");
}

TEST(ResNet50, IsAsLargeAsItsPaperSays) {
  SourceManager sources;
  DiagnosticEngine engine;
  mlir::MLIRContext context;
  FrontendOptions options;
  options.includeDirs = {LIBRARY};
  auto module = compile(sources, EXAMPLES "/resnet50/resnet50.dl", options, context, engine);
  ASSERT_TRUE(module);
  int64_t numbers = 0, parameters = 0;
  for (auto variable : module->getOps<dl::VariableOp>())
    if (variable.getRole() == dl::Role::Parameter) {
      numbers += variable.getTensorType().getNumElements();
      ++parameters;
    }
  EXPECT_EQ(numbers, 25'557'032);
  EXPECT_EQ(parameters, 161);
  // The page on the language names these.
  for (const char *name : {"conv1.weight", "bn1.scale", "stage1.Bottleneck1.downsample.conv.weight",
                           "stage3.Bottleneck6.bn3.running_mean"})
    EXPECT_TRUE(module->lookupSymbol(name)) << name;
}
