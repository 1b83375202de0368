//===- TrainingBuilderTest.cpp - programs that train, built without a text frontend -----------===//
//
// What is built by EntryBuilder, TrainingBuilder and the formulas alone is, op for op, what the
// text frontend makes of the same model, and computes what its terms say.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TrainingBuilder.h"
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Formulas/Losses.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLLossOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "dialects/Program/ProgramOps.h"
#include "frontend/DL/Frontend.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;
using interpreter::Interpreter;
using interpreter::Tensor;

namespace {

constexpr int64_t samples = 8;

struct TrainingBuilderTest : testing::Test {
  TrainingBuilderTest() {
    context.loadDialect<DLDialect>();
    module = ModuleOp::create(loc);
  }

  RankedTensorType f32(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, Float32Type::get(&context));
  }
  void addParameter(StringRef name, ArrayRef<int64_t> shape) {
    OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
    auto zero = program::InitialiserAttr::get(&context, program::InitialiserKind::Constant, 0);
    VariableOp::create(builder, loc, name, f32(shape), program::Role::Parameter, zero,
                       FlatSymbolRefAttr());
  }
  OptimizerAttr optimizer(StringRef text) {
    return cast<OptimizerAttr>(parseAttribute(("#dl.optimizer<" + text + ">").str(), &context));
  }
  EntryOp find(ModuleOp in, StringRef name) { return in.lookupSymbol<EntryOp>(name); }

  /// What is said of a module that is wrong; empty for a right one.
  std::string verifyModule() {
    std::string said;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      said += diagnostic.str();
      return success();
    });
    return succeeded(verify(*module)) ? "" : said;
  }

  MLIRContext context;
  Location loc = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> module;
};

/// Two heads behind a hidden layer, in one entry.
struct Heads {
  EntryBuilder entry;
  TensorBuilder b;
  Value digit, other, label, target;

  Heads(ModuleOp module, StringRef name, program::EntryKind kind)
      : entry(module, name, kind, samples, module.getLoc()), b{entry.builder, module.getLoc()} {
    auto f32 = [&](ArrayRef<int64_t> shape) {
      return RankedTensorType::get(shape, entry.builder.getF32Type());
    };
    const auto numbers = RankedTensorType::get(samples, entry.builder.getI32Type());
    Value x = entry.addInput("x", f32({samples, 3}), {0}, b.loc);
    label = entry.addInput("label", numbers, {0}, b.loc);
    target = entry.addInput("target", f32({samples, 2}), {0}, b.loc);
    Value hidden = linear(x, "linear1", f32({5, 3}));
    hidden = ReluOp::create(b.builder, b.loc, hidden.getType(), hidden);
    digit = linear(hidden, "linear2", f32({4, 5}));
    other = linear(hidden, "linear3", f32({2, 5}));
  }

  /// x W^T + b
  Value linear(Value x, StringRef name, RankedTensorType weightType) {
    const RankedTensorType biasType = weightType.clone({weightType.getDimSize(0)});
    Value weight = entry.read((name + ".weight").str(), weightType, b.loc);
    Value y =
        MatmulOp::create(b.builder, b.loc, weightType.clone({samples, biasType.getDimSize(0)}), x,
                         weight, /*transpose_a=*/false, /*transpose_b=*/true);
    Value bias = entry.read((name + ".bias").str(), biasType, b.loc);
    return b.add(y, b.broadcast(bias, b.typeOf(y), {1}));
  }

  /// The sum of those that count.
  Value sum(Value x) {
    Value counting = entry.maskPadding(b.loc, x, {0}, 0);
    return b.reduce(ReduceKind::Sum, counting,
                    llvm::to_vector(llvm::seq<int64_t>(0, b.typeOf(x).getRank())));
  }

  /// The loss: a cross entropy without digit 3, and half of the other head's squared error. The
  /// metric: the share of right digits.
  void addMetrics(TrainingBuilder &training) {
    constexpr int64_t classes = 4, ignored = 3, axis = 1;
    entry.markClasses(label, classes, ignored);
    Value digits = formulas::withoutClass(b, label, ignored);
    Value ones = b.splat(b.typeOf(target).clone({classes}), 1);
    Value weights = GatherOp::create(b.builder, b.loc, ones, digits, 0);
    Value total = sum(formulas::toAccumulated(b, weights));
    Value each = formulas::softmaxCrossEntropy(b, digit, digits, axis, /*smoothing=*/0);
    Value entropies = sum(formulas::whereClass(b, each, digits, classes));
    Value difference = b.subtract(other, target), squares = sum(b.multiply(difference, difference));
    Value error = entry.divideByValid(b.loc, squares, samples * 2);
    entry.markClasses(label, classes);
    Value correct = sum(AccuracyOp::create(b.builder, b.loc, digit, label, axis));

    const MetricTerms half = scaled({entry.meanOfBatch(squares, samples * 2)}, 0.5);
    Value loss = b.add(formulas::meanByWeight(b, entropies, total), b.scale(error, 0.5));
    training.setLoss(added({{entropies, 1, false, total}}, half), loss);
    training.addMetric("accuracy", {entry.meanOfBatch(correct, samples)});
    entry.addOutput(digit, "digit", program::ValueKind::Result, {0});
    entry.addOutput(other, "other", program::ValueKind::Result, {0});
  }
};

std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  op->print(out);
  return text;
}

} // namespace

TEST_F(TrainingBuilderTest, IsWhatTheTextFrontendMakes) {
  for (StringRef layer : {"linear1", "linear2", "linear3"}) {
    const int64_t rows = layer == "linear1" ? 5 : layer == "linear2" ? 4 : 2;
    addParameter((layer + ".weight").str(), {rows, layer == "linear1" ? 3 : 5});
    addParameter((layer + ".bias").str(), {rows});
  }
  Heads train(*module, "train_step", program::EntryKind::Train);
  TrainingBuilder training(train.entry);
  train.addMetrics(training);
  training.setEpochs(3);
  training.setAccumulate(2);
  training.setReferenceBatch(32);
  training.setClip(ClipKind::GlobalNorm, 0.5);
  training.setEma(0.99);
  training.setLossScale(256);
  const OptimizerAttr adam = optimizer("\"adam\", {learning_rate = 0.01 : f64}"),
                      sgd = optimizer("\"sgd\", {learning_rate = 0.1 : f64, momentum = 0.9 : f64}");
  training.addGroup({{"linear1.weight", "linear1.bias"}, adam, 10, 0});
  training.addGroup({{"linear2.weight"}, sgd});
  training.addGroup({{"linear2.bias"}, sgd, 1, 1, /*frozen=*/true});
  training.addGroup({{"linear3.weight"}, sgd});
  training.addGroup({{"linear3.bias"}, sgd, 1, 1, /*frozen=*/true});
  training.finish();
  Heads evaluate(*module, "evaluate", program::EntryKind::Evaluate);
  TrainingBuilder evaluation(evaluate.entry);
  evaluate.addMetrics(evaluation);
  evaluation.finish();
  ASSERT_EQ(verifyModule(), "");

  frontend::SourceManager sources;
  frontend::DiagnosticEngine engine;
  OwningOpRef<ModuleOp> text = frontend::compile(sources, sources.add("heads.dl", R"(
model Heads(x: f32[N, 3]) -> (digit: f32[N, 4], other: f32[N, 2]) {
  hidden = x |> linear(5) |> relu
  return linear(hidden, 4), linear(hidden, 2)
}
train Heads {
  label: i32[N]
  target: f32[N, 2]
  loss = softmax_cross_entropy(digit, label, ignore=3) + 0.5 * mean_squared_error(other, target)
  metric accuracy = accuracy(digit, label)
  batch = 8
  epochs = 3
  accumulate = 2
  reference_batch = 32
  clip = global_norm(0.5)
  ema = 0.99
  loss_scale = 256
  optimizer = sgd(learning_rate=0.1, momentum=0.9)
  parameters "linear1.*" { lr_mult = 10  decay_mult = 0  optimizer = adam(learning_rate=0.01) }
  parameters "linear2.bias", "linear3.bias" { frozen = true }
}
)"),
                                                 {}, context, engine);
  ASSERT_TRUE(text);
  for (StringRef name : {"train_step", "evaluate"})
    EXPECT_EQ(textOf(find(*module, name)), textOf(find(*text, name)));
  for (ModuleOp each : {*module, *text}) {
    auto settings = program::SettingsOp::getOrCreate(each);
    EXPECT_EQ(settings.getEpochs(), 3);
    EXPECT_EQ(settings.getReferenceBatch(), 32);
  }
}

namespace {

/// x * p with a weight for each, over terms of three kinds: sum(w x p) / sum(w) + 0.5 mean((x p)^2)
/// + 0.25 p^2.
struct Weighted {
  EntryBuilder entry;
  TrainingBuilder training;

  Weighted(ModuleOp module, StringRef name, program::EntryKind kind)
      : entry(module, name, kind, samples, module.getLoc()), training(entry) {
    TensorBuilder b{entry.builder, module.getLoc()};
    const auto numbers = RankedTensorType::get(samples, entry.builder.getF32Type());
    Value x = entry.addInput("x", numbers, {0}, b.loc),
          w = entry.addInput("w", numbers, {0}, b.loc);
    Value p = entry.read("p", RankedTensorType::get({}, entry.builder.getF32Type()), b.loc);
    Value y = b.multiply(x, b.broadcast(p, numbers, {}));
    auto sum = [&](Value each) {
      return b.reduce(ReduceKind::Sum, entry.maskPadding(b.loc, each, {0}, 0), {0});
    };
    Value weighted = sum(b.multiply(w, y)), total = sum(w), squares = sum(b.multiply(y, y));
    const MetricTerms mean{entry.meanOfBatch(squares, samples)};
    MetricTerms terms = added({{weighted, 1, false, total}}, mean, 0.25);
    // The same sum once more is the same term.
    terms = added(terms, mean, 0.25);
    training.setLoss(added(terms, {{b.multiply(p, p)}}, 0.25));
    training.addMetric("weighted", {{weighted, 2, false, total}});
  }
};

} // namespace

TEST_F(TrainingBuilderTest, ComputesWhatItsTermsSay) {
  addParameter("p", {});
  Weighted step(*module, "train_step", program::EntryKind::Train);
  step.training.addGroup({{"p"}, optimizer("\"sgd\", {learning_rate = 0.1 : f64}")});
  step.training.finish();
  Weighted evaluation(*module, "evaluate", program::EntryKind::Evaluate);
  evaluation.training.finish();
  ASSERT_EQ(verifyModule(), "");

  Interpreter interpreter;
  interpreter.variables["p"] = {{}, {3}};
  const Tensor x{{samples}, {1, -2, 3, 0, 2, 5, -1, 4}}, w{{samples}, {1, 0, 2, 1, 0.5, 0, 1, 3}};
  auto sums = [&](int64_t count) {
    std::vector<double> result(3, 0.0);
    for (int64_t i = 0; i < count; ++i) {
      const double y = 3 * x.values[i];
      result[0] += w.values[i] * y;
      result[1] += w.values[i];
      result[2] += y * y;
    }
    return result;
  };
  auto trained = interpreter.run(find(*module, "train_step"), {x, w});
  ASSERT_TRUE(succeeded(trained));
  const std::vector<double> all = sums(samples);
  const double expected = all[0] / all[1] + 0.5 * all[2] / samples + 0.25 * 9;
  EXPECT_NEAR(trained->loss->values[0], expected, 1e-12 * expected);
  // Parts of the loss: what w counts, and the rest.
  ReturnOp end = find(*module, "train_step").getReturn();
  EXPECT_EQ(end.getLosses().size(), 2u);
  EXPECT_EQ(end.getWeights().size(), 2u);

  // Behind the fifth sample there is padding.
  auto evaluated = interpreter.run(find(*module, "evaluate"), {x, w, {{}, {5}}});
  ASSERT_TRUE(succeeded(evaluated));
  const std::vector<double> valid = sums(5);
  EntryOp entry = find(*module, "evaluate");
  std::map<std::string, double> found;
  for (auto [i, output] : llvm::enumerate(evaluated->outputs)) {
    EXPECT_EQ(entry.getOutputKind(i), program::ValueKind::Accumulator);
    found[entry.getOutputName(i).str()] = output.values[0];
  }
  const std::map<std::string, double> accumulators{
      {"loss.sum", valid[0]}, {"loss.sum2", valid[2]},     {"loss.sum3", 9},
      {"samples.count", 5},   {"weights.count", valid[1]}, {"weighted.sum", valid[0]}};
  EXPECT_EQ(found, accumulators);
  const char *loss = "#program.metric<\"loss\", loss, none, ["
                     "<\"loss.sum\" over \"weights.count\", count = 0.0, coefficient = 1.0>, "
                     "<\"loss.sum2\" over \"samples.count\", count = 0.0, coefficient = 0.5>, "
                     "<\"loss.sum3\", count = 1.0, coefficient = 0.25>]>";
  EXPECT_EQ(entry.getMetricsAttr()[0], parseAttribute(loss, &context));
}

TEST_F(TrainingBuilderTest, UpdatesWhatTheLossDependsOn) {
  addParameter("p", {});
  addParameter("q", {});
  Weighted step(*module, "train_step", program::EntryKind::Train);
  step.entry.addOutput(step.entry.read("q", f32({}), loc), "q", program::ValueKind::Result);
  EXPECT_TRUE(step.training.variablesOfLoss().contains("p"));
  EXPECT_FALSE(step.training.variablesOfLoss().contains("q"));
  const OptimizerAttr adam = optimizer("\"adam\", {}");
  EXPECT_EQ(step.training.addGroup({{"p", "q"}, adam, 2}), std::vector<std::string>{"p"});
  EXPECT_TRUE(step.training.addGroup({{"p"}, adam, 1, 1, /*frozen=*/true}).empty());
  step.training.setEvery(3);
  step.training.setDynamicLossScale();
  // The rate is for half of the samples of an update.
  step.training.setReferenceBatch(samples);
  step.training.setAccumulate(2);
  step.training.finish();
  ASSERT_EQ(verifyModule(), "");
  EntryOp entry = find(*module, "train_step");
  const char *updates = "[#dl.update<@p, lr_mult = 2.0, decay_mult = 1.0, "
                        "#dl.optimizer<\"adam\", {learning_rate = 0.002 : f64}>>]";
  EXPECT_EQ(entry.getUpdatesAttr(), parseAttribute(updates, &context));
  EXPECT_EQ(entry.getEvery(), 3);
  EXPECT_EQ(entry->getAttr(lossScaleName), StringAttr::get(&context, "dynamic"));
}

// What is wrong with a program say its verifiers.
TEST_F(TrainingBuilderTest, MistakesAreFound) {
  const OptimizerAttr sgd = optimizer("\"sgd\", {learning_rate = 0.1 : f64}");
  auto mistake = [&](function_ref<void(Weighted &)> make) {
    module = ModuleOp::create(loc);
    addParameter("p", {});
    Weighted step(*module, "train_step", program::EntryKind::Train);
    make(step);
    step.training.finish();
    return verifyModule();
  };
  EXPECT_EQ(mistake([&](Weighted &step) { step.training.addGroup({{"p"}, sgd}); }), "");
  EXPECT_EQ(mistake([&](Weighted &step) { step.training.addGroup({{"p", "p"}, sgd}); }),
            "'dl.entry' op (C2) updates @p twice");
  EXPECT_EQ(mistake([&](Weighted &step) {
              step.training.addMetric("other", {{step.entry.entry().getBlock().getArgument(0)}});
            }),
            "'dl.entry' op (C3) the metric 'other' finishes by none, which does not take the "
            "accumulator 'other.sum' of 'tensor<8xf32>'");
  EXPECT_EQ(mistake([&](Weighted &step) {
              Value x = step.entry.entry().getBlock().getArgument(0);
              for (int i = 0; i < 2; ++i)
                step.entry.addOutput(x, "x", program::ValueKind::Result, {0});
            }),
            "'dl.entry' op (C4) has two results named 'x'");
}
