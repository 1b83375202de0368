//===- OptimizersTest.cpp - dl-build-update against PyTorch's optimizers ----------------------===//
//
// Ten steps of each trajectory among the reference values whose rule dlc has, and of what is not
// among them: dampening, checked against PyTorch's loop written out. All in float64, so that only
// rounding may differ.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Rules/Optimizers.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/DL/Passes.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "llvm/Support/FormatVariadic.h"
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

using namespace mlir;
using namespace dlc;
using interpreter::Interpreter;
using interpreter::Tensor;
using Numbers = std::vector<double>;

namespace {

/// A parameter of twelve elements whose gradient is the entry's input.
class OptimizersTest : public testing::Test {
protected:
  OptimizersTest() {
    context.loadDialect<dl::DLDialect>();
    std::ifstream file(DLC_REFERENCE_DATA "/goldens/optimizers/optimizers.json");
    reference = nlohmann::json::parse(file);
  }

  OwningOpRef<ModuleOp> build(StringRef optimizer, int accumulate);
  std::vector<Numbers> train(StringRef optimizer);
  std::vector<Numbers> trainInParts(StringRef optimizer, int parts);

  MLIRContext context;
  nlohmann::json reference;
};

} // namespace

/// A step with `optimizer`, the inside of #dl.optimizer<...>, behind dl-build-update.
OwningOpRef<ModuleOp> OptimizersTest::build(StringRef optimizer, int accumulate) {
  std::string text = llvm::formatv(
      R"(dl.variable @p : tensor<12xf64> role<parameter> init(#program.init<constant, 0.0, 0.0>)
         dl.entry @train_step(%g: tensor<12xf64>)
             -> (tensor<12xf64> {{dl.kind = #program.value<gradient>, dl.of = @p})
             attributes {{kind = #program.entry<train>, accumulate = {0}, updates = [
               #dl.update<@p, lr_mult = 1.0, decay_mult = 1.0, #dl.optimizer<{1}>>]} {{
           dl.return %g : tensor<12xf64>
         })",
      accumulate, optimizer);
  auto module = parseSourceString<ModuleOp>(text, &context);
  PassManager manager(&context);
  manager.addPass(dl::createBuildUpdate());
  EXPECT_TRUE(module && succeeded(manager.run(*module)));
  return module;
}

/// The parameter where it starts, and slots with their first values.
static void begin(Interpreter &interpreter, ModuleOp module, const Numbers &start) {
  for (auto variable : module.getOps<dl::VariableOp>())
    interpreter.variables[variable.getSymName().str()] =
        Tensor::filled({12}, variable.getInit().getA().convertToDouble());
  interpreter.variables["p"].values = start;
}

/// The parameter after each step.
std::vector<Numbers> OptimizersTest::train(StringRef optimizer) {
  OwningOpRef<ModuleOp> module = build(optimizer, 1);
  Interpreter interpreter;
  begin(interpreter, *module, reference["start"]);
  std::vector<Numbers> path;
  for (Numbers gradient : reference["gradients"]) {
    interpreter.scalars["step"] = path.size();
    EXPECT_TRUE(succeeded(
        interpreter.run(module->lookupSymbol<dl::EntryOp>("train_step"), Tensor{{12}, gradient})));
    path.push_back(interpreter.variables["p"].values);
  }
  return path;
}

/// The same where each gradient comes as the average of `parts` others.
std::vector<Numbers> OptimizersTest::trainInParts(StringRef optimizer, int parts) {
  OwningOpRef<ModuleOp> module = build(optimizer, parts);
  Interpreter interpreter;
  begin(interpreter, *module, reference["start"]);
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

/// The inside of #dl.optimizer<...> for settings of a rule by PyTorch's names; those without a
/// meaning here are false.
static std::string optimizerOf(const dl::OptimizerRule &rule, const nlohmann::json &settings) {
  const std::map<std::string, std::string> ours = {{"lr", "learning_rate"},
                                                   {"eps", "epsilon"},
                                                   {"lr_decay", "rate_decay"},
                                                   {"initial_accumulator_value", "initial"}};
  std::string text;
  auto add = [&](const std::string &name, const std::string &value) {
    text += (text.empty() ? "" : ", ") + name + " = " + value;
  };
  auto number = [](double value) { return llvm::formatv("{0:e17} : f64", value).str(); };
  for (auto &[name, value] : settings.items()) {
    auto known = ours.find(name);
    std::string setting = known == ours.end() ? name : known->second;
    if (value.is_array())
      for (size_t i = 0; i < value.size(); ++i)
        add("beta" + std::to_string(i + 1), number(value[i]));
    else if (value.is_number())
      add(setting, number(value));
    else if (rule.findSetting(setting))
      add(setting, value.get<bool>() ? "true" : "false");
  }
  return "\"" + rule.name.str() + "\", {" + text + "}";
}

/// The rule of a trajectory: SGD's are named after their settings.
static const dl::OptimizerRule *ruleOf(const std::string &name, const nlohmann::json &settings) {
  return dl::findOptimizer(settings.contains("nesterov") ? "sgd" : name.substr(0, name.find('_')));
}

TEST_F(OptimizersTest, EqualPyTorch) {
  std::set<std::string> checked;
  for (auto &[name, trajectory] : reference["trajectories"].items()) {
    const nlohmann::json &settings = trajectory["settings"];
    const dl::OptimizerRule *rule = ruleOf(name, settings);
    ASSERT_TRUE(rule) << name;
    SCOPED_TRACE(name);
    std::string optimizer = optimizerOf(*rule, settings);
    expectEqual(train(optimizer), trajectory["parameters"]);
    expectEqual(trainInParts(optimizer, 3), trajectory["parameters"]);
    checked.insert(rule->name.str());
  }
  // Written out below, or, of matrices, in test/e2e/muon.test.
  const std::set<std::string> others = {"lars", "lamb", "muon"};
  for (const dl::OptimizerRule &rule : dl::optimizerRules())
    EXPECT_NE(checked.contains(rule.name.str()), others.contains(rule.name.str()))
        << rule.name.str();
}

namespace {
struct Dampened {
  double momentum = 0, dampening = 0, weightDecay = 0;
};
} // namespace

/// torch.optim.SGD with a rate of 0.1 for one element a time.
static std::vector<Numbers> trainLikePyTorch(const Dampened &settings, Numbers p,
                                             const std::vector<Numbers> &gradients) {
  std::vector<Numbers> path;
  Numbers buffer(p.size());
  for (const Numbers &gradient : gradients) {
    for (size_t i = 0; i < p.size(); ++i) {
      double d = gradient[i] + settings.weightDecay * p[i];
      if (settings.momentum != 0) {
        bool first = path.empty();
        buffer[i] = first ? d : settings.momentum * buffer[i] + (1 - settings.dampening) * d;
        d = buffer[i];
      }
      p[i] -= 0.1 * d;
    }
    path.push_back(p);
  }
  return path;
}

TEST_F(OptimizersTest, FirstStepIsNotDampened) {
  for (Dampened settings : {Dampened{0.9, 0.5}, Dampened{0.5, 0.25, 0.125}, Dampened{0, 0.5}}) {
    auto expected = trainLikePyTorch(settings, reference["start"], reference["gradients"]);
    std::string optimizer = llvm::formatv(
        R"("sgd", {{learning_rate = 0.1 : f64, momentum = {0:F6} : f64, dampening = {1:F6} : f64,
                   weight_decay = {2:F6} : f64})",
        settings.momentum, settings.dampening, settings.weightDecay);
    expectEqual(train(optimizer), expected);
    expectEqual(trainInParts(optimizer, 4), expected);
  }
}

static double normOf(const Numbers &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

/// You, Gitman and Ginsburg's LARS with a rate of 0.1, a trust coefficient of 0.02, a momentum of
/// 0.9 and a decay of 0.01.
static std::vector<Numbers> trainByLars(Numbers p, const std::vector<Numbers> &gradients) {
  std::vector<Numbers> path;
  Numbers buffer(p.size());
  for (const Numbers &gradient : gradients) {
    double norm = normOf(p), slope = normOf(gradient);
    double ratio = norm > 0 && slope > 0 ? 0.02 * norm / (slope + 0.01 * norm + 1e-8) : 1;
    for (size_t i = 0; i < p.size(); ++i) {
      buffer[i] = 0.9 * buffer[i] + ratio * (gradient[i] + 0.01 * p[i]);
      p[i] -= 0.1 * buffer[i];
    }
    path.push_back(p);
  }
  return path;
}

/// You et al.'s LAMB with a rate of 0.01 and a decay of 0.1.
static std::vector<Numbers> trainByLamb(Numbers p, const std::vector<Numbers> &gradients) {
  std::vector<Numbers> path;
  Numbers m(p.size()), v(p.size()), direction(p.size());
  for (const Numbers &gradient : gradients) {
    const double t = path.size() + 1.0;
    for (size_t i = 0; i < p.size(); ++i) {
      m[i] = 0.9 * m[i] + 0.1 * gradient[i];
      v[i] = 0.999 * v[i] + 0.001 * gradient[i] * gradient[i];
      double mean = m[i] / (1 - std::pow(0.9, t)), square = v[i] / (1 - std::pow(0.999, t));
      direction[i] = mean / (std::sqrt(square) + 1e-6) + 0.1 * p[i];
    }
    double norm = normOf(p), length = normOf(direction);
    double ratio = norm > 0 && length > 0 ? norm / length : 1;
    for (size_t i = 0; i < p.size(); ++i)
      p[i] -= 0.01 * ratio * direction[i];
    path.push_back(p);
  }
  return path;
}

/// From given values, and from zeros, which have no norm to trust.
TEST_F(OptimizersTest, TrustRatios) {
  const char *lars = R"("lars", {learning_rate = 0.1 : f64, trust_coefficient = 0.02 : f64,
                                 weight_decay = 0.01 : f64})",
             *lamb = R"("lamb", {learning_rate = 0.01 : f64, weight_decay = 0.1 : f64})";
  for (const Numbers &start : {reference["start"].get<Numbers>(), Numbers(12, 0)}) {
    reference["start"] = start;
    expectEqual(train(lars), trainByLars(start, reference["gradients"]));
    expectEqual(trainInParts(lars, 2), trainByLars(start, reference["gradients"]));
    expectEqual(train(lamb), trainByLamb(start, reference["gradients"]));
  }
}
