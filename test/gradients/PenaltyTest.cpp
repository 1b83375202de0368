//===- PenaltyTest.cpp - gradient(y, x) within losses, against central differences ------------===//
//
// Programs of the language whose loss holds a gradient, as WGAN-GP's penalty does. Before
// dl-differentiate the interpreter takes dl.gradient for a central difference, so the loss and
// central differences of it share nothing with the rules; behind it all gradients are ops.
//
// Steps are 1e-4. A difference errs by 1e-8 of the third derivative, and each divides rounding
// errors, 1e-16 in sums of about 100 terms, by 1e-4: two leave 1e-6, three 1e-2 of which the worst
// seen is 1e-4.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "frontend/DL/Frontend.h"
#include "mlir/Pass/PassManager.h"
#include "passes/DL/Passes.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;
using interpreter::Interpreter;
using interpreter::Tensor;

static constexpr double step = 1e-4;

namespace {
struct Program {
  const char *name;
  const char *critic; ///< of x: f32[N, 2, 4, 4], gives f32[N, classes]
  int classes;
  const char *loss; ///< of Critic, real, label and mixed, which is like x
  double limit = 1e-5;
};

class PenaltyTest : public testing::TestWithParam<Program> {
protected:
  void SetUp() override;
  dl::EntryOp stepOf(OwningOpRef<ModuleOp> &module) {
    return cast<dl::EntryOp>(module->lookupSymbol("train_step"));
  }
  Interpreter::Results run(OwningOpRef<ModuleOp> &module);
  double centralDifference(double &element);

  MLIRContext context;
  /// With dl.gradient and a loss; with the gradients of the loss.
  OwningOpRef<ModuleOp> before, after;
  std::map<std::string, Tensor> variables;
  std::vector<Tensor> inputs;
};
} // namespace

static const char *const penalty =
    "mean(square(norm(flatten(gradient(sum(Critic(mixed)), mixed)), axes=1) - 1))"
    " + 0.1 * (mean(Critic(mixed)) - mean(Critic(real)))";

static const Program programs[] = {
    {"LeakyRelu",
     "x |> conv2d(3, 3, padding=1) |> leaky_relu(0.2) |> flatten |> linear(4) |> leaky_relu(0.2)"
     " |> linear(1)",
     1, penalty},
    {"Tanh",
     "x |> conv2d(3, 3, stride=2, padding=1) |> tanh |> flatten |> linear(4) |> tanh |> linear(1)",
     1, penalty},
    {"Pooling",
     "x |> conv2d(3, 3, padding=1) |> tanh |> max_pool(2, stride=1) |> average_pool(2) |> flatten"
     " |> sigmoid |> linear(1)",
     1, penalty},
    {"Transposed", "x |> conv_transpose2d(3, 2, stride=2) |> tanh |> flatten |> linear(1)", 1,
     penalty},
    {"LayerNorm", "x |> layer_norm(axes=(1, 2, 3)) |> conv2d(2, 3) |> tanh |> flatten |> linear(1)",
     1, penalty},
    {"RmsNorm", "x |> rms_norm |> conv2d(2, 3) |> relu |> flatten |> linear(1)", 1, penalty},
    {"BatchNorm", "x |> conv2d(3, 3) |> batch_norm |> tanh |> flatten |> linear(1)", 1, penalty},
    {"GroupNorm", "x |> conv2d(4, 3) |> group_norm(2) |> silu |> flatten |> linear(1)", 1, penalty},
    {"Softmax", "x |> conv2d(3, 3) |> softmax(1) |> flatten |> linear(1)", 1, penalty},
    {"GeluAndLogSoftmax", "x |> flatten |> linear(3) |> gelu(\"tanh\") |> log_softmax |> linear(1)",
     1, penalty},
    // What an input changes in the loss that its class is learnt by.
    {"CrossEntropy", "x |> conv2d(3, 3) |> tanh |> flatten |> linear(3)", 3,
     "mean(square(gradient(softmax_cross_entropy(Critic(mixed), label, reduction=\"sum\"),"
     " mixed)))"},
    {"SigmoidCrossEntropy", "x |> flatten |> linear(2)", 2,
     "mean(square(gradient(sigmoid_cross_entropy(Critic(mixed), 0.3, reduction=\"sum\"), mixed)))"},
    // A gradient of a gradient in the loss: three in all.
    {"Twice", "x |> flatten |> linear(2) |> tanh", 2,
     "mean(square(gradient(sum(square(gradient(sum(Critic(mixed)), mixed))), mixed)))", 1e-3},
    // By a value between, which the loss has by another way too: that one does not count.
    {"ByAValueBetween", "x |> flatten |> linear(3) |> tanh", 3,
     "mean(square(gradient(sum(mixed * square(1 * mixed)), mixed))) + mean(Critic(mixed))"},
};

static std::string textOf(const Program &program) {
  return "model Critic(x: f32[N, 2, 4, 4]) -> f32[N, " + std::to_string(program.classes) +
         "] {\n  return " + program.critic +
         "\n}\ntrain Critic {\n  real: f32[N, 2, 4, 4]\n  share: f32[N, 1, 1, 1]\n"
         "  label: i32[N]\n  mixed = share * real + (1 - share) * tanh(real)\n  loss = " +
         program.loss + "\n  optimizer = sgd(learning_rate=0.1)\n  batch = 2\n}\n";
}

void PenaltyTest::SetUp() {
  frontend::SourceManager sources;
  frontend::DiagnosticEngine engine;
  before =
      frontend::compile(sources, sources.add("test.dl", textOf(GetParam())), {}, context, engine);
  if (!before)
    frontend::render(engine, sources, llvm::errs());
  ASSERT_TRUE(before);
  after = before->clone();
  PassManager passes(&context);
  passes.addPass(dl::createDifferentiate());
  ASSERT_TRUE(succeeded(passes.run(*after)));
  EXPECT_TRUE(stepOf(after).getBlock().getOps<dl::GradientOp>().empty());

  for (dl::VariableOp variable : before->getOps<dl::VariableOp>())
    variables[variable.getSymName().str()] = interpreter::uniformTensor(
        interpreter::shapeOf(variable.getTensorType()), variable.getSymName().str(), 0.7);
  for (auto [i, type] : llvm::enumerate(stepOf(before).getArgumentTypes())) {
    Tensor input = interpreter::uniformTensor(interpreter::shapeOf(type), "x" + std::to_string(i));
    if (isa<IntegerType>(getElementTypeOrSelf(type)))
      for (double &label : input.values)
        label = std::floor((label + 1) / 2 * 3);
    inputs.push_back(std::move(input));
  }
}

Interpreter::Results PenaltyTest::run(OwningOpRef<ModuleOp> &module) {
  Interpreter interpreter;
  interpreter.variables = variables;
  auto results = interpreter.run(stepOf(module), inputs);
  EXPECT_TRUE(succeeded(results));
  return *results;
}

/// Of the loss in an element of a variable.
double PenaltyTest::centralDifference(double &element) {
  double centre = element;
  element = centre + step;
  double above = run(before).loss->values[0];
  element = centre - step;
  double below = run(before).loss->values[0];
  element = centre;
  return (above - below) / (2 * step);
}

// Losses and metrics are what the central differences make of dl.gradient.
TEST_P(PenaltyTest, Values) {
  Interpreter::Results expected = run(before), found = run(after);
  for (auto [i, output] : llvm::enumerate(expected.outputs))
    EXPECT_NEAR(found.outputs[i].values[0], output.values[0],
                GetParam().limit * std::max(1.0, std::fabs(output.values[0])));
}

// A few elements of each parameter.
TEST_P(PenaltyTest, ParameterGradients) {
  Interpreter::Results found = run(after);
  dl::EntryOp entry = stepOf(after);
  double largest = 0;
  for (auto [i, gradient] : llvm::enumerate(found.outputs)) {
    auto of = dyn_cast_or_null<FlatSymbolRefAttr>(entry.getResultAttr(i, "dl.of"));
    if (!of)
      continue;
    std::vector<double> &parameter = variables[of.getValue().str()].values;
    for (size_t at = 0; at < parameter.size(); at += parameter.size() / 3 + 1) {
      double expected = centralDifference(parameter[at]);
      largest = std::max(largest, std::fabs(expected));
      EXPECT_NEAR(gradient.values[at], expected, GetParam().limit)
          << of.getValue().str() << ", element " << at;
    }
  }
  EXPECT_GT(largest, 100 * GetParam().limit);
}

INSTANTIATE_TEST_SUITE_P(Programs, PenaltyTest, testing::ValuesIn(programs),
                         [](const auto &info) { return std::string(info.param.name); });
