// What sections become: inputs, outputs, accumulators, updates, groups, inference entries.
#include "test/frontend/Harness.h"

#include "dialects/DL/Facts/Names.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "frontend/DL/Sections/Sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dlc;
using namespace dlc::frontend;
using namespace dlc::frontend::test;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

static dl::EntryOp entryOf(Compiled &compiled, llvm::StringRef name) {
  EXPECT_EQ(compiled.diagnostics(), "");
  return compiled.result ? compiled.result->lookupSymbol<dl::EntryOp>(name) : dl::EntryOp();
}

static std::vector<std::string> inputs(dl::EntryOp entry) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    names.push_back(entry.getInputName(i).str());
  return names;
}
static std::vector<std::string> outputs(dl::EntryOp entry) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    names.push_back(entry.getOutputName(i).str());
  return names;
}
static std::vector<std::string> entries(Compiled &compiled) {
  EXPECT_EQ(compiled.diagnostics(), "");
  std::vector<std::string> names;
  for (auto entry : compiled.result->getOps<dl::EntryOp>())
    names.push_back(entry.getSymName().str());
  return names;
}
/// "coefficient * sum / count" of each term of a metric.
static std::vector<std::string> terms(dl::EntryOp entry, llvm::StringRef name) {
  std::vector<std::string> texts;
  for (auto metric : entry.getMetricsAttr().getAsRange<program::MetricAttr>())
    if (metric.getName() == name)
      for (program::TermAttr term : metric.getTerms()) {
        std::string count = term.getCount() ? term.getCount().str()
                                            : text(term.getConstantCount().getValueAsDouble());
        texts.push_back(text(term.getCoefficient().getValueAsDouble()) + " * " +
                        term.getSum().str() + " / " + count);
      }
  return texts;
}

/// A train section around statements, N = 4, for a linear model with logits `output`.
static std::string linear(const std::string &section, const std::string &after = "") {
  return "model M(x: f32[N, 3]) -> f32[N, 10] { return x |> linear(10) }\ntrain M {\n  label: "
         "i32[N]\n"
         "  optimizer = sgd(learning_rate=0.1)\n  batch = 4\n" +
         section + "\n}\n" + after;
}
static const char *plainLoss = "  loss = softmax_cross_entropy(output, label)";

TEST(Entries, TrainEvaluateInfer) {
  Compiled compiled(linear(plainLoss));
  EXPECT_THAT(entries(compiled), ElementsAre("train_step", "evaluate", "infer_n1"));
  EXPECT_THAT(inputs(entryOf(compiled, "train_step")), ElementsAre("x", "label"));
  EXPECT_THAT(inputs(entryOf(compiled, "evaluate")), ElementsAre("x", "label", "valid"));
  EXPECT_THAT(inputs(entryOf(compiled, "infer_n1")), ElementsAre("x"));
  EXPECT_THAT(outputs(entryOf(compiled, "train_step")), ElementsAre("loss.sum", "output"));
  EXPECT_THAT(outputs(entryOf(compiled, "evaluate")),
              ElementsAre("loss.sum", "samples.count", "output"));
  EXPECT_THAT(outputs(entryOf(compiled, "infer_n1")), ElementsAre("output"));
}

TEST(Entries, InferBatchesOfTheSectionAndTheFlag) {
  Compiled section(linear(
      plainLoss,
      "infer M as p -> (probability: f32[N, 10]) { batch = [1, 16] return sigmoid(output) }\n"));
  EXPECT_THAT(entries(section), ElementsAre("train_step", "evaluate", "p_n1", "p_n16"));
  EXPECT_THAT(outputs(entryOf(section, "p_n16")), ElementsAre("probability"));
  FrontendOptions options;
  options.inferBatches = {3, 5};
  Compiled flag(linear(plainLoss), options);
  EXPECT_THAT(entries(flag), ElementsAre("train_step", "evaluate", "infer_n3", "infer_n5"));
}

static std::string typeOfX(Compiled &compiled, llvm::StringRef entry) {
  dl::EntryOp found = entryOf(compiled, entry);
  return found ? describe(llvm::cast<mlir::RankedTensorType>(found.getArgument(0).getType())) : "";
}

TEST(Entries, InferAloneBindsDimensions) {
  std::string model = "model M(x: f32[T, N, 4]) -> f32[T, N, 3] { return linear(x, 3) }\n";
  Compiled section(model + "infer M { batch = 4 T = 6 }");
  EXPECT_EQ(typeOfX(section, "infer_n4"), "f32[6, 4, 4]");
  FrontendOptions options;
  options.defines = {"T=7"};
  Compiled flag(model + "infer M { batch = 4 }", options);
  EXPECT_EQ(typeOfX(flag, "infer_n4"), "f32[7, 4, 4]");
  options.defines = {"T=7", "N=5"};
  Compiled both(model + "infer M { batch = 4 T = 6 }", options);
  EXPECT_EQ(typeOfX(both, "infer_n5"), "f32[7, 5, 4]");
}

TEST(Entries, InferKeepsWhatTrainingBindsUnlessItSaysOtherwise) {
  std::string model =
      "model M(x: f32[N, T]) -> f32[N, T] { return relu(x) + linear(x, T) }\n"
      "train M { loss = mean(square(output)) optimizer = sgd(0.1) batch = 4 T = 6 }\n";
  FrontendOptions options;
  options.defines = {"T=7"};
  Compiled training(model + "infer M { batch = 1 }", options);
  EXPECT_EQ(typeOfX(training, "infer_n1"), "f32[1, 7]");
  Compiled own("model M(x: f32[T, N, 3]) -> f32[T, N, 3] { return linear(x, 3) }\n"
               "train M { loss = mean(square(output)) optimizer = sgd(0.1) batch = 4 T = 6 }\n"
               "infer M { T = 1 }",
               options);
  EXPECT_EQ(typeOfX(own, "train_step"), "f32[7, 4, 3]");
  EXPECT_EQ(typeOfX(own, "infer_n1"), "f32[1, 1, 3]");
}

TEST(Entries, FlattenKeepsTheBatchOfEmptyTensors) {
  Compiled compiled("model M(x: f32[N, 4, 0]) -> f32[N, 3] { return x |> flatten |> linear(3) }\n"
                    "train M { label: i32[N] loss = softmax_cross_entropy(output, label) "
                    "optimizer = sgd(0.1) batch = 4 }");
  EXPECT_THAT(terms(entryOf(compiled, "train_step"), "loss"), ElementsAre("1.0 * loss.sum / 4.0"));
}

TEST(Entries, AMeanIsASumOverSamples) {
  Compiled compiled(linear(plainLoss));
  EXPECT_THAT(terms(entryOf(compiled, "train_step"), "loss"), ElementsAre("1.0 * loss.sum / 4.0"));
  EXPECT_THAT(terms(entryOf(compiled, "evaluate"), "loss"),
              ElementsAre("1.0 * loss.sum / samples.count"));
}

TEST(Entries, CoefficientsFollowTheOperators) {
  Compiled compiled(linear(std::string(plainLoss) +
                           "\n  metric m = 2 * mean(output) - sum(output) / 8 + 0.5\n"
                           "  metric half = -mean(mean(output, axes=0))"));
  // A mean over 4 x 10 elements is a tenth of the sum over samples; a sum is N times its mean.
  EXPECT_THAT(terms(entryOf(compiled, "train_step"), "m"),
              ElementsAre("0.2 * m.sum / 4.0", "-0.5 * m.sum2 / 4.0", "1.0 * m.sum3 / 1.0"));
  EXPECT_THAT(terms(entryOf(compiled, "train_step"), "half"), ElementsAre("-0.1 * half.sum / 4.0"));
}

// 2^40 times the same sum is one term.
TEST(Entries, EqualSumsAreOneTerm) {
  Compiled compiled(linear(std::string(plainLoss) + "\n  repeat 40 { loss = loss + loss }"));
  EXPECT_THAT(terms(entryOf(compiled, "train_step"), "loss"),
              ElementsAre("1099511627776.0 * loss.sum / 4.0"));
}

TEST(Entries, EvaluationMasksThePadding) {
  Compiled compiled(linear(plainLoss));
  std::string text = compiled.module();
  auto count = [&](const char *op) {
    unsigned found = 0;
    entryOf(compiled, "evaluate").walk([&](mlir::Operation *each) {
      found += each->getName().getStringRef() == op;
    });
    return found;
  };
  EXPECT_EQ(count("dl.iota"), 1u);
  EXPECT_EQ(count("dl.select"), 1u);
  entryOf(compiled, "train_step").walk([](mlir::Operation *each) {
    EXPECT_NE(each->getName().getStringRef(), "dl.select");
  });
}

// The least count of what takes an input for classes stands at it, in whatever shape or integer
// type it gets there; what is computed from data is no input.
TEST(Entries, InputsSayTheirClasses) {
  Compiled compiled(R"(
model M(x: f32[N, 3]) -> (output: f32[N, 10], few: f32[N, 5]) { return linear(x, 10), linear(x, 5) }
train M {
  label: i32[N]
  coarse: i64[N, 1]
  word: i32[N]
  loss = softmax_cross_entropy(output, label) + softmax_cross_entropy(few, i32(reshape(coarse, (N,))))
  metric a = accuracy(output, reshape(coarse, (N,)))
  metric b = top_k_accuracy(output, word, k=3)
  metric c = accuracy(few, argmax(output, 1))
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)");
  EXPECT_EQ(compiled.diagnostics(), "");
  for (const char *entry : {"train_step", "evaluate"}) {
    dl::EntryOp op = entryOf(compiled, entry);
    auto classes = [&](unsigned input) {
      auto count = op.getArgAttrOfType<mlir::IntegerAttr>(input, "dl.classes");
      return count ? count.getInt() : 0;
    };
    EXPECT_EQ(classes(0), 0);
    EXPECT_EQ(classes(1), 10);
    EXPECT_EQ(classes(2), 5);
    EXPECT_EQ(classes(3), 10);
  }
}

TEST(Entries, TheMaskFollowsTheBatchThroughAReshape) {
  Compiled compiled(R"(
model M(x: f32[T, N, 3]) -> f32[T, N, 5] { return x |> reshape((T * N, 3)) |> linear(5) |> reshape((T, N, 5)) }
train M {
  label: i32[T, N]
  loss = softmax_cross_entropy(output |> reshape((T * N, 5)), reshape(label, (T * N,)))
  optimizer = sgd(learning_rate=0.1)
  batch = 2
  T = 7
}
)");
  EXPECT_THAT(compiled.module(), HasSubstr("tensor<7x1x5xf32> {dl.batch_axis = 1"));
  EXPECT_THAT(compiled.module(), HasSubstr("dims = [1] : tensor<2xi1> to tensor<7x2x1xi1>"));
  EXPECT_THAT(terms(entryOf(compiled, "train_step"), "loss"),
              ElementsAre(HasSubstr("* loss.sum / 2.0")));
}

TEST(Entries, UpdatesAreTheParametersBehindTheLoss) {
  Compiled compiled(R"(
model M(x: f32[N, 3]) -> (a: f32[N, 4], b: f32[N, 4]) {
  y = linear(x, 4, bias=false)
  z = linear(y, 4, bias=false, lr_mult=2)
  return z, linear(y, 4, bias=false, name="head", frozen=true)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(a, label)
  optimizer = sgd(learning_rate=0.1, momentum=0.9, nesterov=true)
  batch = 4
}
)");
  std::vector<std::string> updates;
  for (auto update : entryOf(compiled, "train_step").getUpdatesAttr().getAsRange<dl::UpdateAttr>())
    updates.push_back(update.getVariable().getValue().str() + " " +
                      text(update.getLrMult().getValueAsDouble()));
  EXPECT_THAT(updates, ElementsAre("linear1.weight 1.0", "linear2.weight 2.0"));
  EXPECT_THAT(compiled.module(),
              HasSubstr("<\"sgd\", {learning_rate = 1.000000e-01 : f64, momentum "
                        "= 9.000000e-01 : f64, nesterov = true}>"));
  // The head is in the checkpoint, though no step trains it.
  EXPECT_THAT(compiled.module(), HasSubstr("dl.variable @head.weight"));
}

TEST(Entries, GroupsSetWhatTheyMatchAndTheLaterWins) {
  Compiled compiled(linear(std::string(plainLoss) + R"(
  parameters "**" { lr_mult = 0.5 decay_mult = 3 init = 0.25 }
  parameters "*.bias" { lr_mult = 4 optimizer = sgd(learning_rate=9.0) })"));
  std::string text = compiled.module();
  EXPECT_THAT(text,
              HasSubstr("#dl.update<@linear1.weight, lr_mult = 5.000000e-01 : f64, decay_mult = "
                        "3.000000e+00 : f64, <\"sgd\", {learning_rate = 1.000000e-01 : f64}>>"));
  EXPECT_THAT(text,
              HasSubstr("#dl.update<@linear1.bias, lr_mult = 4.000000e+00 : f64, decay_mult = "
                        "3.000000e+00 : f64, <\"sgd\", {learning_rate = 9.000000e+00 : f64}>>"));
  EXPECT_THAT(
      text,
      HasSubstr("@linear1.bias : tensor<10xf32> role<parameter> init(<constant, 2.500000e-01"));
}

/// The rate of a batch of 4 where the file was written for one of 16; also that of a group.
TEST(Entries, AReferenceBatchScalesEveryRate) {
  Compiled compiled(
      linear("  loss = softmax_cross_entropy(output, label)\n"
             "  reference_batch = 16\n"
             "  parameters \"**.bias\" { optimizer = sgd(learning_rate=2, momentum=0.5) }\n"));
  std::vector<std::string> rates;
  for (auto update :
       entryOf(compiled, "train_step").getUpdatesAttr().getAsRange<dl::UpdateAttr>()) {
    dl::OptimizerAttr sgd = update.getOptimizer();
    rates.push_back(text(sgd.number("learning_rate")) + " " + text(sgd.number("momentum")));
  }
  EXPECT_THAT(rates, ElementsAre("0.025 0.0", "0.5 0.5"));
}

TEST(Entries, GradientsAccumulateOverSeveralBatches) {
  Compiled compiled(
      linear(std::string(plainLoss) + "\n  accumulate = 8\n  reference_batch = 16\n"));
  EXPECT_EQ(compiled.diagnostics(), "");
  dl::EntryOp entry = entryOf(compiled, "train_step");
  EXPECT_EQ(entry.getAccumulate(), 8);
  EXPECT_EQ(entry.getAccumulateName(), "accumulate_step");
  auto update = llvm::cast<dl::UpdateAttr>(entry.getUpdatesAttr()[0]);
  EXPECT_EQ(update.getOptimizer().number("learning_rate"), 0.1 * 4 * 8 / 16);
  EXPECT_FALSE(entryOf(compiled, "evaluate").getAccumulate());
}

TEST(Entries, AFrozenLayerIsNotUpdated) {
  Compiled compiled(linear(std::string(plainLoss) + "\n  parameters \"*.bias\" { frozen = true }"));
  EXPECT_THAT(compiled.module(), Not(HasSubstr("#dl.update<@linear1.bias")));
}

TEST(Entries, PatternsMatchPartsOfNames) {
  EXPECT_TRUE(matchesPattern("**", "a.b.c"));
  EXPECT_TRUE(matchesPattern("**.bias", "bias"));
  EXPECT_TRUE(matchesPattern("**.bias", "a.b.bias"));
  EXPECT_TRUE(matchesPattern("**.bn*.*", "stage1.bn2.weight"));
  EXPECT_TRUE(matchesPattern("a.**.c", "a.c"));
  EXPECT_TRUE(matchesPattern("*", "a"));
  EXPECT_TRUE(matchesPattern("c*1.w*t", "conv1.weight"));
  EXPECT_FALSE(matchesPattern("*", "a.b"));
  EXPECT_FALSE(matchesPattern("conv1", "conv1.weight"));
  EXPECT_FALSE(matchesPattern("**.bias", "a.weight"));
  EXPECT_FALSE(matchesPattern("", "a"));
}

TEST(Entries, InitialisersAreThoseOfPyTorch) {
  auto init = [](const std::string &given) {
    Compiled compiled(inModel("y = x |> conv2d(8, 5, padding=2, init=" + given + ")"));
    std::string text = compiled.module();
    size_t at = text.find("init(<") + 6;
    return text.substr(at, text.find(">)", at) - at);
  };
  // fan_in = 3 * 25, fan_out = 8 * 25.
  EXPECT_EQ(init("0.5"), "constant, 5.000000e-01, 0.000000e+00");
  EXPECT_EQ(init("uniform(-1, 2)"), "uniform, -1.000000e+00, 2.000000e+00");
  EXPECT_EQ(init("normal(0, 2)"), "normal, 0.000000e+00, 2.000000e+00");
  EXPECT_THAT(init("kaiming_normal()"), HasSubstr("normal, 0.000000e+00, 0.1632993"));
  EXPECT_THAT(init("kaiming_normal(mode=\"fan_out\")"),
              HasSubstr("normal, 0.000000e+00, 1.000000e-01"));
  EXPECT_THAT(init("kaiming_uniform(slope=1)"), HasSubstr("uniform, -0.1999999999999999"));
  EXPECT_THAT(init("xavier_normal()"), HasSubstr("normal, 0.000000e+00, 0.0852802"));
}

TEST(Entries, OpsCarryTheNameOfTheirLayer) {
  Compiled compiled(R"(
block Unit(x) { return x |> linear(3) |> relu }
model M(x: f32[N, 3]) -> f32[N, 3] {
  y = Unit(x)
  return y + x * 2
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
)");
  std::vector<std::string> names;
  for (mlir::Operation &op : entryOf(compiled, "infer_n1").getBlock().without_terminator()) {
    std::string name = op.getName().stripDialect().str() + " " + dl::layerName(&op);
    if (!llvm::isa<dl::ReadOp, dl::BroadcastOp, dl::ConstantOp>(op))
      names.push_back(name);
  }
  EXPECT_THAT(names, ElementsAre("matmul Unit1.linear1", "add Unit1.linear1", "relu Unit1.relu1",
                                 "multiply multiply1", "add add1"));
  mlir::Location place = entryOf(compiled, "infer_n1").getBlock().back().getPrevNode()->getLoc();
  EXPECT_EQ(dl::writtenName(place), "'+'");
  auto line = place->findInstanceOf<mlir::FileLineColLoc>();
  EXPECT_EQ(line.getLine(), 5u);
  EXPECT_EQ(line.getColumn(), 12u);
}

TEST(Entries, BroadcastingIsFromTheRight) {
  Compiled compiled(inModel("parameter p: f32[3, 1, 8] = 0\nx = (x + p) * 2 - p"));
  EXPECT_THAT(compiled.module(),
              HasSubstr("dims = [1, 2, 3] : tensor<3x1x8xf32> to tensor<4x3x8x8xf32>"));
}

TEST(Entries, ByPhaseKeepsOne) {
  Compiled compiled(linear("  loss = mean(square(output)) * by_phase(training=2, inference=3)\n  "
                           "metric a = accuracy(output, label)"));
  EXPECT_THAT(terms(entryOf(compiled, "train_step"), "loss"), ElementsAre("0.2 * loss.sum / 4.0"));
  EXPECT_THAT(terms(entryOf(compiled, "evaluate"), "loss"), ElementsAre(HasSubstr("0.3")));
}

TEST(Entries, EpochsAreTheDefaultOfTheTrainer) {
  EXPECT_THAT(Compiled(linear(std::string(plainLoss) + "\n  epochs = 7")).module(),
              HasSubstr("program.settings {epochs = 7 : i64"));
}

TEST(Entries, SameTextGivesTheSameModule) {
  EXPECT_EQ(Compiled(linear(plainLoss)).module(), Compiled(linear(plainLoss)).module());
}

TEST(Entries, SettingsOfAModelComeFromTheTrainSection) {
  Compiled compiled(R"(
model M(x: f32[N, 3], classes=4, width=2 * classes) -> f32[N, classes] { return x |> linear(width) |> linear(classes) }
train M(classes=5) {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
}
infer M { return output }
)");
  EXPECT_THAT(compiled.weights(), ElementsAre("linear1.weight 10x3", "linear1.bias 10",
                                              "linear2.weight 5x10", "linear2.bias 5"));
}

/// Also those that are read after the evaluation: they do not end with the `if`.
TEST(Entries, EverySettingMayStandInAnIf) {
  Compiled compiled("fast = true\n" +
                    inModel("x = relu(x)")
                        .insert(inModel("x = relu(x)").rfind("}"),
                                "  if fast {\n"
                                "    epochs = 3\n"
                                "    clip = value(0.5)\n"
                                "    optimizer = sgd(learning_rate=0.7)\n"
                                "    loss = 2 * softmax_cross_entropy(output, label)\n"
                                "  }\n"));
  std::string text = compiled.module();
  EXPECT_THAT(text, HasSubstr("program.settings {epochs = 3"));
  EXPECT_THAT(text, HasSubstr("#dl.clip<value, 5.000000e-01"));
  EXPECT_THAT(text, HasSubstr("learning_rate = 0.69999999999999996"));
  EXPECT_THAT(terms(entryOf(compiled, "train_step"), "loss"), ElementsAre("2.0 * loss.sum / 4.0"));
  Compiled only(linear("  if true { loss = softmax_cross_entropy(output, label) }"));
  EXPECT_THAT(terms(entryOf(only, "train_step"), "loss"), ElementsAre("1.0 * loss.sum / 4.0"));
}

TEST(Entries, ALossOfF64CountsInF64) {
  Compiled compiled(R"(model M(x: f64[N, 3]) -> f64[N, 10] { return x |> linear(10) }
train M {
  label: i32[N]
  each = f64(full((10,), 2))
  loss = softmax_cross_entropy(output, label, ignore=3, weight=each)
  metric accuracy = accuracy(output, label)
  metric error = mean_squared_error(output, 0.5)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
})");
  std::string text = compiled.module();
  for (llvm::StringRef name : {"loss.sum", "weights.count", "accuracy.sum", "error.sum"})
    EXPECT_THAT(text,
                HasSubstr(("tensor<f64> {dl.kind = #program.value<accumulator>, dl.name = \"" +
                           name + "\"}")
                              .str()));
  EXPECT_THAT(text,
              ContainsRegex("loss\\(%[0-9]+ : tensor<f64>\\) weight\\(%[0-9]+ : tensor<f64>"));
}

/// What the loss ends with, by the words of its terminator.
static std::string lossOf(Compiled &compiled) {
  std::string text = compiled.module();
  size_t end = text.find(" loss(");
  return text.substr(end, text.find('\n', end) - end);
}

TEST(Entries, MeansOverDifferentNumbersAreLossesOfTheirOwn) {
  const std::string mixed =
      "  loss = softmax_cross_entropy(output, label, ignore=3) + "
      "0.5 * softmax_cross_entropy(output, label) + 0.1 * mean(square(output))";
  Compiled alone(linear(mixed)), joined(linear(mixed + "\n  accumulate = 2"));
  for (Compiled *each : {&alone, &joined})
    EXPECT_THAT(lossOf(*each),
                ContainsRegex("loss\\(%[0-9]+, %[0-9]+ : tensor<f32>, tensor<f32>\\) "
                              "weight\\(%[0-9]+, %[0-9]+ : tensor<f32>, tensor<f32>"));
  Compiled same(linear("  loss = softmax_cross_entropy(output, label, ignore=3) + "
                       "softmax_cross_entropy(2 * output, label, ignore=3)\n  accumulate = 2"));
  EXPECT_THAT(lossOf(same),
              ContainsRegex("loss\\(%[0-9]+ : tensor<f32>\\) weight\\(%[0-9]+ : tensor<f32>"));
}

TEST(Entries, SettingsStandInIfAndUseConstants) {
  Compiled compiled("base = 2\n" + linear(std::string(plainLoss) +
                                          "\n  big = base > 1\n  if big { batch = base * 8 }"));
  EXPECT_THAT(compiled.module(), HasSubstr("tensor<16x3xf32> {dl.batch_axis = 0"));
}

/// "multiply f32" of each op of the entry that has a precision of its own, reads left out.
static std::vector<std::string> precisions(dl::EntryOp entry) {
  std::vector<std::string> texts;
  for (mlir::Operation &op : entry.getBlock())
    if (auto precision = op.getAttrOfType<mlir::TypeAttr>("dl.precision")) {
      std::string text = op.getName().stripDialect().str() + " ";
      llvm::raw_string_ostream(text) << precision.getValue();
      texts.push_back(text);
    }
  return texts;
}

// All entries have the section's precision, training ones the loss's scale too, and whether weights
// have masters. A call's holds for
// all that it computes, operators of a block as well, and the innermost call's wins.
TEST(Entries, PrecisionOfTheSectionAndOfCalls) {
  Compiled compiled(R"(
block B(x) { return 2 * x |> linear(3, bias=false, precision=f16) |> relu }
model M(x: f32[N, 3]) -> f32[N, 3] {
  return x |> B(precision=f32) |> linear(3, bias=false)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  precision = bf16
  loss_scale = 512
  masters = false
}
)");
  auto train = entryOf(compiled, "train_step");
  for (llvm::StringRef name : {"train_step", "evaluate", "infer_n1"}) {
    auto entry = entryOf(compiled, name);
    ASSERT_TRUE(entry);
    EXPECT_TRUE(entry->getAttrOfType<mlir::TypeAttr>("dl.precision").getValue().isBF16());
    EXPECT_EQ(entry->hasAttr("dl.loss_scale"), entry == train);
    EXPECT_EQ(entry->hasAttr("dl.without_masters"), entry == train);
    EXPECT_THAT(precisions(entry), ElementsAre("constant f32", "broadcast f32", "multiply f32",
                                               "matmul f16", "relu f32"));
  }
  EXPECT_EQ(train->getAttrOfType<mlir::FloatAttr>("dl.loss_scale").getValueAsDouble(), 512);

  // A group says it of what computes with its weights; the last one counts, and a call's own more.
  Compiled grouped(R"(
model M(x: f32[N, 3]) -> f32[N, 3] {
  return x |> linear(3) |> linear(3, bias=false) |> linear(3, bias=false, precision=f16) |> linear(3, bias=false)
}
train M {
  label: i32[N]
  loss = softmax_cross_entropy(output, label)
  optimizer = sgd(learning_rate=0.1)
  batch = 4
  precision = bf16
  parameters "**" { precision = f32 }
  parameters "linear2.*" { precision = bf16 }
}
)");
  for (llvm::StringRef name : {"train_step", "evaluate", "infer_n1"})
    EXPECT_THAT(precisions(entryOf(grouped, name)),
                ElementsAre("matmul f32", "broadcast f32", "add f32", "matmul bf16", "matmul f16",
                            "matmul f32"));

  // Inference computes as its section says, or else the flag, or else as it was trained.
  std::string served = inModel("") +
                       "\ninfer M as own { batch = 1  precision = f32 }\n"
                       "infer M as choice { batch = 1  if true { precision = f32 } }\n"
                       "infer M as plain { batch = 1 }\n";
  served.insert(served.rfind("  batch = 4"), "  precision = bf16\n");
  for (const char *flag : {"", "f16"}) {
    frontend::FrontendOptions options;
    options.inferPrecision = flag;
    Compiled each(served, options);
    for (llvm::StringRef name : {"own_n1", "choice_n1"})
      EXPECT_FALSE(entryOf(each, name)->hasAttr("dl.precision")) << name.str();
    for (auto [name, isAsTrained] : {std::pair("plain_n1", !*flag), std::pair("evaluate", true)}) {
      const mlir::Type type =
          entryOf(each, name)->getAttrOfType<mlir::TypeAttr>("dl.precision").getValue();
      EXPECT_TRUE(isAsTrained ? type.isBF16() : type.isF16()) << name << flag;
    }
  }

  // f16 scales its loss unless it is told not to, and a setting of f32 says nothing.
  Compiled half(inModel("") + "\n");
  EXPECT_FALSE(entryOf(half, "train_step")->hasAttr("dl.precision"));
  std::string text = inModel("");
  text.insert(text.rfind("  batch"), "  precision = f16\n");
  Compiled scaled(text);
  EXPECT_EQ(entryOf(scaled, "train_step")->getAttr("dl.loss_scale"),
            mlir::StringAttr::get(scaled.result->getContext(), "dynamic"));

  // One call in f16 is enough.
  Compiled called(inModel("x = linear(x, 3, precision=f16)"));
  EXPECT_EQ(entryOf(called, "train_step")->getAttr("dl.loss_scale"),
            mlir::StringAttr::get(called.result->getContext(), "dynamic"));
}
