//===- NetworksTest.cpp - training steps of whole models against PyTorch ----------------------===//
//
// The examples, compiled by the frontend and the passes on dl and run by the interpreter in
// float64: three steps against PyTorch in float64. Kernels, plan and runtime have no part in it, so
// what differs here is the fault of the graph.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "frontend/DL/Frontend.h"
#include "passes/Pipelines.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace dlc;
using interpreter::Interpreter;
using interpreter::Tensor;
using nlohmann::json;

/// The reference values are of numbers rounded to float32 once.
static Tensor float32(Tensor tensor) {
  for (double &value : tensor.values)
    value = static_cast<float>(value);
  return tensor;
}

/// Parameter `number` as the reference starts from it: matrices and filters are scaled by their
/// fan-in, vectors by 0.05.
static Tensor makeParameter(dl::VariableOp variable, unsigned number) {
  interpreter::Shape shape = interpreter::shapeOf(variable.getTensorType());
  double fanIn = double(Tensor::sizeOf(shape)) / double(shape[0]);
  double scale = shape.size() > 1 ? std::sqrt(6 / fanIn) : 0.05;
  return float32(interpreter::uniformTensor(shape, "parameter" + std::to_string(number), scale));
}

static Tensor makeLabels(int64_t count) {
  Tensor labels = interpreter::uniformTensor({count}, "label");
  for (double &value : labels.values)
    value = std::floor((value + 1) / 2 * 10);
  return labels;
}

/// Both from float64 on the same numbers: only the order of additions differs.
static void expectNear(double found, double expected, double scale, const std::string &what) {
  EXPECT_NEAR(found, expected, 1e-10 * std::max(scale, std::fabs(expected))) << what;
}

/// A tensor against its summary: norm, product with a probe vector, and samples.
static void expectSummary(const Tensor &tensor, const json &summary, const std::string &what) {
  double squares = 0, product = 0;
  Tensor probe = interpreter::uniformTensor(tensor.shape,
                                            "probe" + std::to_string(summary["index"].get<int>()));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    squares += tensor.values[i] * tensor.values[i];
    product += tensor.values[i] * probe.values[i];
  }
  double norm = summary["l2"];
  expectNear(std::sqrt(squares), norm, norm, what + ": norm");
  expectNear(product, summary["dot"], norm, what + ": product with the probe");
  for (size_t i = 0; i < summary["at"].size(); ++i)
    expectNear(tensor.values[summary["at"][i].get<size_t>()], summary["values"][i], norm,
               what + ": sample " + std::to_string(i));
}

/// Compiles an example with the batch and the learning rate of the reference.
static OwningOpRef<ModuleOp> compile(MLIRContext &context, const std::string &example,
                                     const json &reference) {
  frontend::SourceManager sources;
  frontend::DiagnosticEngine engine;
  frontend::FrontendOptions options;
  options.defines = {"N=" + reference["input"][0].dump(),
                     "learning_rate=" + reference["learning_rate"].dump()};
  OwningOpRef<ModuleOp> module =
      frontend::compile(sources, DLC_EXAMPLES "/" + example, options, context, engine);
  if (!module) {
    frontend::render(engine, sources, llvm::errs());
    return module;
  }
  PassManager manager(&context);
  addTrainPasses(manager, {.keepWeightGradients = true});
  addFusionPasses(manager, {});
  if (failed(manager.run(*module)))
    return nullptr;
  return module;
}

static void checkNetwork(const std::string &name, const std::string &example) {
  json reference = json::parse(std::ifstream(DLC_REFERENCE_DATA "/goldens/nets/" + name + ".json"));
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  OwningOpRef<ModuleOp> module = compile(context, example, reference);
  ASSERT_TRUE(module);
  auto entry = module->lookupSymbol<dl::EntryOp>("train_step");

  Interpreter interpreter;
  std::vector<std::string> parameters;
  for (auto variable : module->getOps<dl::VariableOp>()) {
    std::string key = variable.getSymName().str();
    interpreter.variables[key] = Tensor::filled(interpreter::shapeOf(variable.getTensorType()), 0);
    if (variable.getRole() != program::Role::Parameter)
      continue;
    interpreter.variables[key] = makeParameter(variable, parameters.size());
    parameters.push_back(key);
  }
  std::vector<int64_t> shape = reference["input"];
  std::vector<Tensor> inputs = {float32(interpreter::uniformTensor(shape, "x")),
                                makeLabels(shape[0])};
  for (unsigned step = 0; step < 3; ++step) {
    interpreter.scalars["step"] = step;
    FailureOr<Interpreter::Results> results = interpreter.run(entry, inputs);
    ASSERT_TRUE(succeeded(results));
    for (unsigned i = 0; i < entry.getNumResults(); ++i) {
      std::string output = entry.getOutputName(i).str();
      if (entry.getOutputKind(i) == program::ValueKind::Accumulator && output.find("loss") == 0)
        expectNear(results->outputs[i].values[0] / double(shape[0]), reference["losses"][step], 1,
                   "loss of step " + std::to_string(step));
      auto key = llvm::find(parameters, StringRef(output).drop_front(strlen("gradient.")));
      if (step == 0 && entry.getOutputKind(i) == program::ValueKind::Gradient)
        expectSummary(results->outputs[i],
                      reference["first_step"]["gradients"][key - parameters.begin()], output);
    }
  }
  for (auto [i, key] : llvm::enumerate(parameters))
    expectSummary(interpreter.variables[key], reference["parameters_after_3_steps"][i], key);
}

TEST(NetworksTest, LeNet) { checkNetwork("lenet", "lenet/lenet.dl"); }
