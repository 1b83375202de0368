//===- OptimizersTest.cpp - dl-build-update against PyTorch's optimizers ----------------------===//
//
// Ten steps of each SGD among the reference values, and of those that are not: dampening, checked
// against PyTorch's loop written out. All in float64, so that only rounding may differ.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/DLProgramOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/DL/Passes.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "llvm/Support/FormatVariadic.h"
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace dlc;
using interpreter::Interpreter;
using interpreter::Tensor;
using Numbers = std::vector<double>;

namespace {

struct Settings {
  double rate = 0.1, momentum = 0, dampening = 0, weightDecay = 0;
  bool nesterov = false;
};

/// A parameter of twelve elements whose gradient is the entry's input.
class OptimizersTest : public testing::Test {
protected:
  OptimizersTest() {
    context.loadDialect<dl::DLDialect>();
    std::ifstream file(DLC_REFERENCE_DATA "/goldens/optimizers/optimizers.json");
    reference = nlohmann::json::parse(file);
  }

  std::vector<Numbers> train(const Settings &settings);
  std::vector<Numbers> trainInParts(const Settings &settings, int parts);

  MLIRContext context;
  nlohmann::json reference;
};

} // namespace

static std::string program(const Settings &settings, int accumulate = 1) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv(
      R"(dl.variable @p : tensor<12xf64> role<parameter> init(#dl.init<constant, 0.0, 0.0>)
         dl.entry @train_step(%g: tensor<12xf64>)
             -> (tensor<12xf64> {{dl.kind = #dl.value<gradient>, dl.of = @p})
             attributes {{kind = #dl.entry<train>, accumulate = {5}, updates = [#dl.update<@p, lr_mult = 1.0,
               decay_mult = 1.0, #dl.sgd<{{learning_rate = {0:F6} : f64, momentum = {1:F6} : f64,
               dampening = {2:F6} : f64, weight_decay = {3:F6} : f64, nesterov = {4}}>>]} {{
           dl.return %g : tensor<12xf64>
         })",
      settings.rate, settings.momentum, settings.dampening, settings.weightDecay,
      settings.nesterov ? "true" : "false", accumulate);
  return text;
}

/// The parameter after each step.
std::vector<Numbers> OptimizersTest::train(const Settings &settings) {
  auto module = parseSourceString<ModuleOp>(program(settings), &context);
  PassManager manager(&context);
  manager.addPass(dl::createBuildUpdate());
  EXPECT_TRUE(module && succeeded(manager.run(*module)));
  dl::EntryOp entry = *module->getOps<dl::EntryOp>().begin();

  Interpreter interpreter;
  interpreter.variables["p"] = {{12}, reference["start"]};
  interpreter.variables["p.momentum"] = Tensor::filled({12}, 0);
  std::vector<Numbers> path;
  for (Numbers gradient : reference["gradients"]) {
    interpreter.scalars["step"] = path.size();
    EXPECT_TRUE(succeeded(interpreter.run(entry, Tensor{{12}, gradient})));
    path.push_back(interpreter.variables["p"].values);
  }
  return path;
}

/// The same where each gradient comes as the average of `parts` others.
std::vector<Numbers> OptimizersTest::trainInParts(const Settings &settings, int parts) {
  auto module = parseSourceString<ModuleOp>(program(settings, parts), &context);
  PassManager manager(&context);
  manager.addPass(dl::createBuildUpdate());
  EXPECT_TRUE(module && succeeded(manager.run(*module)));
  Interpreter interpreter;
  interpreter.variables["p"] = {{12}, reference["start"]};
  for (const char *slot : {"p.momentum", "p.gradient_sum"})
    interpreter.variables[slot] = Tensor::filled({12}, 0);
  std::vector<Numbers> path;
  for (Numbers gradient : reference["gradients"]) {
    for (int part = 0; part < parts; ++part) {
      Numbers own = gradient;
      for (double &value : own)
        value += part - (parts - 1) / 2.0;
      EXPECT_TRUE(succeeded(interpreter.run(module->lookupSymbol<dl::EntryOp>("accumulate_step"),
                                            Tensor{{12}, own})));
      EXPECT_EQ(interpreter.variables["p"].values,
                path.empty() ? reference["start"].get<Numbers>() : path.back());
    }
    interpreter.scalars["step"] = path.size();
    EXPECT_TRUE(succeeded(interpreter.run(module->lookupSymbol<dl::EntryOp>("train_step"), {})));
    EXPECT_EQ(interpreter.variables["p.gradient_sum"].values, Numbers(12, 0));
    path.push_back(interpreter.variables["p"].values);
  }
  return path;
}

static void expectEqual(const std::vector<Numbers> &found, const std::vector<Numbers> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t step = 0; step < found.size(); ++step)
    for (size_t i = 0; i < found[step].size(); ++i)
      ASSERT_NEAR(found[step][i], expected[step][i], 1e-12) << "step " << step << "[" << i << "]";
}

TEST_F(OptimizersTest, EqualPyTorch) {
  unsigned checked = 0;
  for (auto &[name, trajectory] : reference["trajectories"].items()) {
    const nlohmann::json &settings = trajectory["settings"];
    if (!settings.contains("nesterov"))
      continue; // only SGD has it
    SCOPED_TRACE(name);
    Settings same = {settings["lr"], settings["momentum"], settings["dampening"],
                     settings["weight_decay"], settings["nesterov"]};
    expectEqual(train(same), trajectory["parameters"]);
    expectEqual(trainInParts(same, 3), trajectory["parameters"]);
    ++checked;
  }
  EXPECT_EQ(checked, 4u);
}

/// torch.optim.SGD for one element a time.
static std::vector<Numbers> trainLikePyTorch(const Settings &settings, Numbers p,
                                             const std::vector<Numbers> &gradients) {
  std::vector<Numbers> path;
  Numbers buffer(p.size());
  for (const Numbers &gradient : gradients) {
    for (size_t i = 0; i < p.size(); ++i) {
      double d = gradient[i] + settings.weightDecay * p[i];
      if (settings.momentum != 0) {
        bool first = path.empty();
        buffer[i] = first ? d : settings.momentum * buffer[i] + (1 - settings.dampening) * d;
        d = settings.nesterov ? d + settings.momentum * buffer[i] : buffer[i];
      }
      p[i] -= settings.rate * d;
    }
    path.push_back(p);
  }
  return path;
}

TEST_F(OptimizersTest, FirstStepIsNotDampened) {
  for (Settings settings : {Settings{.momentum = 0.9, .dampening = 0.5},
                            Settings{.momentum = 0.5, .dampening = 0.25, .weightDecay = 0.125},
                            Settings{.momentum = 0, .dampening = 0.5}}) {
    auto expected = trainLikePyTorch(settings, reference["start"], reference["gradients"]);
    expectEqual(train(settings), expected);
    expectEqual(trainInParts(settings, 4), expected);
  }
}
