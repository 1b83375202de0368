// What steps, carried state and batch norm become: entries, updates, variables, assignments.
#include "test/frontend/Harness.h"

#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"

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
  EXPECT_FALSE(entryOf(compiled, "critic").getEvery());
  EXPECT_EQ(entryOf(compiled, "generator").getEvery(), 5);
}

TEST(Steps, AccumulateAsTheSectionSays) {
  Compiled compiled(gan + "  accumulate = 3\n}\n");
  EXPECT_THAT(entries(compiled), ElementsAre("critic", "generator", "infer_G_n1", "infer_D_n1"));
  for (const char *name : {"critic", "generator"})
    EXPECT_EQ(entryOf(compiled, name).getAccumulate(), 3);
  EXPECT_EQ(entryOf(compiled, "generator").getEvery(), 5);
  EXPECT_EQ(entryOf(compiled, "generator").getAccumulateName(), "generator_accumulate");
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
  EXPECT_THAT(outputs(entryOf(compiled, "evaluate")), ElementsAre("real.sum", "samples.count"));
}

TEST(Steps, TakeTheSectionsSettingsWhereTheyGiveNone) {
  Compiled compiled(inModel("x = relu(x)")
                        .insert(inModel("x = relu(x)").rfind("}"),
                                "  step a updates M { metric m = loss }\n"
                                "  step b updates \"*.bias\" { loss = 2 * loss }\n"));
  EXPECT_THAT(entries(compiled), ElementsAre("a", "b", "evaluate", "infer_n1"));
  EXPECT_THAT(updates(entryOf(compiled, "b")), ElementsAre("linear1.bias x1.0"));
}

/// A step has the section's clip where it gives none; none is none.
TEST(Steps, ClipAsTheirSettingsSay) {
  Compiled compiled(inModel("x = relu(x)")
                        .insert(inModel("x = relu(x)").rfind("}"),
                                "  clip = global_norm(2)\n"
                                "  step a updates M { metric m = loss }\n"
                                "  step b updates M { clip = value(0.5)  loss = 2 * loss }\n"
                                "  step c updates M { clip = none  loss = 3 * loss }\n"));
  EXPECT_EQ(compiled.diagnostics(), "");
  auto clip = [&](llvm::StringRef entry) {
    dl::ClipAttr attribute = entryOf(compiled, entry).getClipAttr();
    return attribute ? dl::stringifyClipKind(attribute.getKind()).str() + " " +
                           std::to_string(attribute.getLimit().getValueAsDouble()).substr(0, 3)
                     : "none";
  };
  EXPECT_EQ(clip("a"), "global_norm 2.0");
  EXPECT_EQ(clip("b"), "value 0.5");
  EXPECT_EQ(clip("c"), "none");
}

/// The average is the section's; each step that updates a parameter adds to it.
TEST(Steps, ShareTheDecayOfTheAverages) {
  auto decays = [](const char *setting) {
    Compiled compiled(inModel("x = relu(x)")
                          .insert(inModel("x = relu(x)").rfind("}"),
                                  std::string(setting) +
                                      "  step a updates M { metric m = loss }\n"
                                      "  step b updates \"*.bias\" { loss = 2 * loss }\n"));
    EXPECT_EQ(compiled.diagnostics(), "");
    std::string found;
    for (const char *step : {"a", "b", "evaluate", "infer_n1"}) {
      std::optional<llvm::APFloat> decay = entryOf(compiled, step).getEma();
      found += decay ? std::to_string(decay->convertToDouble()).substr(0, 4) + " " : "none ";
    }
    return found;
  };
  EXPECT_EQ(decays("  ema = 0.75\n"), "0.75 0.75 none none ");
  EXPECT_EQ(decays("  ema = 0\n"), "0.00 0.00 none none ");
  EXPECT_EQ(decays("  ema = none\n"), "none none none none ");
  EXPECT_EQ(decays(""), "none none none none ");
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
  EXPECT_EQ(state.getRole(), program::Role::State);
  EXPECT_EQ(state.getInit().getA().convertToDouble(), 1.0);
  EXPECT_THAT(assigned(entryOf(compiled, "train_step")), ElementsAre("train_step.h"));
  EXPECT_THAT(updates(entryOf(compiled, "train_step")),
              ElementsAre("linear1.weight x1.0", "linear1.bias x1.0"));
}

static std::string normed(const std::string &body, const std::string &groups = "") {
  std::string text = inModel(body);
  return text.insert(text.rfind("}"), groups);
}
static const std::vector<std::string> statistics{"bn1.running_var", "bn1.running_mean"};

TEST(BatchNorm, KeepsStatisticsInTrainingOnly) {
  Compiled compiled(normed("x = batch_norm(x)"));
  EXPECT_EQ(compiled.diagnostics(), "");
  EXPECT_EQ(assigned(entryOf(compiled, "train_step")), statistics);
  EXPECT_THAT(assigned(entryOf(compiled, "evaluate")), ElementsAre());
  EXPECT_EQ(compiled.result->lookupSymbol<dl::VariableOp>("bn1.running_mean").getRole(),
            program::Role::Statistic);
  EXPECT_THAT(
      updates(entryOf(compiled, "train_step")),
      ElementsAre("bn1.weight x1.0", "bn1.bias x1.0", "linear1.weight x1.0", "linear1.bias x1.0"));
}

// Over all ranks: what the runtime tells of them is an operand, which a data-parallel build reads.
TEST(BatchNorm, SynchronousItKnowsTheRanks) {
  Compiled compiled(normed("x = batch_norm(x, sync=true)"));
  EXPECT_EQ(compiled.diagnostics(), "");
  EXPECT_EQ(assigned(entryOf(compiled, "train_step")), statistics);
  auto scalars = entryOf(compiled, "train_step").getBlock().getOps<dl::ScalarOp>();
  ASSERT_FALSE(scalars.empty());
  EXPECT_EQ((*scalars.begin()).getName(), "ranks.scale");
  EXPECT_EQ((*scalars.begin()).getValue().convertToDouble(), 1.0);
  EXPECT_TRUE(entryOf(compiled, "evaluate").getBlock().getOps<dl::ScalarOp>().empty());
}

TEST(BatchNorm, FrozenItKeepsItsStatistics) {
  Compiled byAttribute(normed("x = batch_norm(x, frozen=true)"));
  EXPECT_THAT(assigned(entryOf(byAttribute, "train_step")), ElementsAre());
  Compiled byGroup(normed("x = batch_norm(x)", "  parameters \"bn*.*\" { frozen = true }\n"));
  EXPECT_THAT(assigned(entryOf(byGroup, "train_step")), ElementsAre());
}

// Running statistics do not ask how many elements a channel has: one sample, or a frozen layer.
TEST(BatchNorm, OneElementAChannelIsEnoughForInference) {
  Compiled compiled(normed("x = x |> global_average_pool |> batch_norm"));
  EXPECT_EQ(compiled.diagnostics(), "");
  std::string alone = normed("x = x |> global_average_pool |> batch_norm(frozen=true)");
  alone.replace(alone.find("batch = 4"), 9, "batch = 1");
  EXPECT_EQ(Compiled(alone).diagnostics(), "");
}

TEST(BatchNorm, SharedItAssignsOnceWhatBothCallsSaw) {
  Compiled compiled(normed("layer norm = batch_norm(_)\nx = x |> norm |> norm"));
  EXPECT_THAT(assigned(entryOf(compiled, "train_step")),
              ElementsAre("norm.running_var", "norm.running_mean"));
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
    if (variable.getRole() == program::Role::Parameter) {
      numbers += variable.getTensorType().getNumElements();
      ++parameters;
    }
  EXPECT_EQ(numbers, 25'557'032);
  EXPECT_EQ(parameters, 161);
  // The page on the language names these.
  for (const char *name :
       {"conv1.weight", "bn1.weight", "layer1.0.downsample.0.weight", "layer3.5.bn3.running_mean"})
    EXPECT_TRUE(module->lookupSymbol(name)) << name;
}

/// The parts of an entry's schedule: "warmup steps 5.0 of 5.0: 0.1 0.0 0.0" for length, n, a, b, c.
static std::vector<std::string> schedule(llvm::StringRef text, llvm::StringRef entry) {
  Compiled compiled(text);
  EXPECT_EQ(compiled.diagnostics(), "");
  std::vector<std::string> parts;
  std::optional<mlir::ArrayAttr> attribute = entryOf(compiled, entry).getSchedule();
  for (auto part : attribute.value_or(mlir::ArrayAttr::get(&compiled.context, {}))
                       .getAsRange<program::SchedulePartAttr>()) {
    char line[128];
    snprintf(line, sizeof(line), "%s %s %g of %g: %g %g %g",
             program::stringifyScheduleKind(part.getKind()).str().c_str(),
             part.getInEpochs() ? "epochs" : "steps", part.getLength().getValueAsDouble(),
             part.getN().getValueAsDouble(), part.getA().getValueAsDouble(),
             part.getB().getValueAsDouble(), part.getC().getValueAsDouble());
    parts.push_back(line);
    if (part.getMetric())
      parts.back() += " " + part.getMetric().getValue().str();
  }
  return parts;
}

/// A perceptron with this schedule.
static std::string scheduled(llvm::StringRef value) {
  return ("model M(x: f32[N, 3]) -> f32[N, 10] { return x |> linear(10) }\n"
          "train M {\n  label: i32[N]\n  loss = softmax_cross_entropy(output, label)\n"
          "  optimizer = sgd(learning_rate=0.1)\n  batch = 4\n  schedule = " +
          value + "\n}\n")
      .str();
}

TEST(Schedules, KeepEveryCurve) {
  const std::pair<const char *, const char *> curves[] = {
      {"step(epochs=30)", "step epochs 0 of 30: 0.1 0 0"},
      {"exponential(0.5)", "exponential epochs 0 of 1: 0.5 0 0"},
      {"exponential(0.5, steps=100)", "exponential steps 0 of 100: 0.5 0 0"},
      {"polynomial(epochs=85, power=2, end=0.25)", "polynomial epochs 0 of 85: 2 0.25 0"},
      {"cosine(steps=7, end=0.5)", "cosine steps 0 of 7: 0.5 0 0"},
      {"cosine_restarts(epochs=3, multiply=2, end=0.5)", "cosine_restarts epochs 0 of 3: 0.5 2 0"},
      {"one_cycle(epochs=12, end=0.25)", "one_cycle epochs 0 of 12: 0.3 0.04 0.25"},
      {"cyclic(steps=9)", "cyclic steps 0 of 9: 0.1 0 0"},
      {"warmup(epochs=1.5)", "warmup epochs 0 of 1.5: 0.1 0 0"},
      {"plateau(patience=3)", "plateau epochs 0 of 0: 0.1 3 0 loss"},
      {"plateau(\"loss\", mode=\"max\", factor=0.5)", "plateau epochs 0 of 0: 0.5 10 1 loss"}};
  for (auto [value, part] : curves)
    EXPECT_THAT(schedule(scheduled(value), "train_step"), ElementsAre(part));
}

TEST(Schedules, AreConstantWhereNothingIsSaid) {
  EXPECT_THAT(schedule(scheduled("none"), "train_step"), testing::IsEmpty());
  EXPECT_THAT(schedule(scheduled("constant()"), "train_step"), testing::IsEmpty());
}

TEST(Schedules, RunPartsOneAfterTheOther) {
  EXPECT_THAT(schedule(scheduled("[constant(epochs=6), exponential(0.5)]"), "train_step"),
              ElementsAre("constant epochs 6 of 6: 1 0 0", "exponential epochs 0 of 1: 0.5 0 0"));
  // A level for each time between two falls.
  EXPECT_THAT(schedule(scheduled("[warmup(steps=10), multistep(epochs=[30, 50], factor=0.5)]"),
                       "train_step"),
              ElementsAre("warmup steps 10 of 10: 0.1 0 0", "constant epochs 30 of 0: 1 0 0",
                          "constant epochs 20 of 0: 0.5 0 0", "constant epochs 0 of 0: 0.25 0 0"));
}

// A step has its own schedule, or the section's.
TEST(Schedules, BelongToSteps) {
  std::string text = gan + "  schedule = cosine(epochs=4)\n}\n";
  const std::string head = "every 5 {";
  text.insert(text.find(head) + head.size(), "\n    schedule = step(epochs=3)");
  EXPECT_THAT(schedule(text, "critic"), ElementsAre("cosine epochs 0 of 4: 0 0 0"));
  EXPECT_THAT(schedule(text, "generator"), ElementsAre("step epochs 0 of 3: 0.1 0 0"));
}
