//===- dl-interpret.cpp - runs an entry of a dl module in float64 -----------------------------===//
//
// Inputs and variables come from safetensors files by name, else from the formula behind the
// reference values (--fill), else, for variables, from a constant initialiser. Prints results and
// assigned variables, one a line, or saves them; with --along how results change in a direction.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "mlir/Parser/Parser.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "test/lib/Interpreter/TensorFile.h"
#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>

using namespace mlir;
using namespace dlc;
using interpreter::Interpreter;
using interpreter::Tensor;
using interpreter::Tensors;

namespace {
struct Flags {
  std::string model, entry, save, along;
  std::vector<std::string> files;
  std::map<std::string, std::string> keys;
  std::map<std::string, double> scalars;
  double scheduleFactor = 1, step = 1e-5;
  int classes = 10, runs = 1;
  bool fill = false, rounds = false;
};
} // namespace

static bool fail(const std::string &message) {
  std::cerr << "error: " << message << "\n";
  return false;
}

/// What the formula gives an input: numbers in [-1, 1) rounded to float32, or classes.
static Tensor fillInput(RankedTensorType type, const std::string &key, int classes) {
  Tensor tensor = interpreter::uniformTensor(interpreter::shapeOf(type), key);
  for (double &value : tensor.values)
    value = isa<FloatType>(type.getElementType()) ? float(value)
                                                  : std::floor((value + 1) / 2 * classes);
  return tensor;
}

/// What the formula gives parameter number `number`: a weight scaled by its inputs, or a small
/// bias.
static Tensor fillParameter(RankedTensorType type, int number) {
  double scale = 0.05;
  if (type.getRank() >= 2)
    scale = std::sqrt(6.0 * double(type.getDimSize(0)) / double(type.getNumElements()));
  Tensor tensor = interpreter::uniformTensor(interpreter::shapeOf(type),
                                             "parameter" + std::to_string(number), scale);
  for (double &value : tensor.values)
    value = float(value);
  return tensor;
}

static bool giveVariables(ModuleOp module, const Flags &flags, const Tensors &given,
                          Interpreter &interpreter) {
  int number = 0;
  for (auto variable : module.getOps<dl::VariableOp>()) {
    std::string name = variable.getSymName().str();
    bool isParameter = variable.getRole() == program::Role::Parameter;
    int parameter = isParameter ? number++ : -1;
    program::InitialiserAttr init = variable.getInit();
    if (auto found = given.find(name); found != given.end())
      interpreter.variables[name] = found->second;
    else if (flags.fill && isParameter)
      interpreter.variables[name] = fillParameter(variable.getTensorType(), parameter);
    else if (init.getKind() == program::InitialiserKind::Constant)
      interpreter.variables[name] = Tensor::filled(interpreter::shapeOf(variable.getTensorType()),
                                                   init.getA().convertToDouble());
    else if (init.getKind() == program::InitialiserKind::Copy &&
             interpreter.variables.count(variable.getOf()->str()))
      interpreter.variables[name] = interpreter.variables.at(variable.getOf()->str());
    else
      return fail("the variable @" + name +
                  " has no value: neither a tensor of that name nor --fill");
    if (interpreter.variables[name].shape != interpreter::shapeOf(variable.getTensorType()))
      return fail("the tensor '" + name + "' has another shape than the variable");
  }
  return true;
}

static bool giveInputs(dl::EntryOp entry, const Flags &flags, const Tensors &given,
                       std::vector<Tensor> &inputs) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    std::string name = entry.getInputName(i).str();
    if (name.empty())
      name = "input" + std::to_string(i);
    auto type = cast<RankedTensorType>(entry.getArgumentTypes()[i]);
    auto key = flags.keys.find(name);
    if (auto found = given.find(name); found != given.end())
      inputs.push_back(found->second);
    else if (flags.fill)
      inputs.push_back(
          fillInput(type, key == flags.keys.end() ? name : key->second, flags.classes));
    else
      return fail("the input '" + name +
                  "' has no value: neither a tensor of that name nor --fill");
  }
  return true;
}

/// All numbers of a small tensor, norm and sum of a large one.
static void print(const std::string &name, const Tensor &tensor) {
  std::cout << name << ": [";
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis)
    std::cout << (axis ? ", " : "") << tensor.shape[axis];
  double squares = 0, sum = 0;
  for (double value : tensor.values) {
    squares += value * value;
    sum += value;
  }
  std::cout << "]";
  if (tensor.size() > 64)
    std::cout << " l2 " << std::sqrt(squares) << " sum " << sum;
  else
    for (double value : tensor.values)
      std::cout << " " << value;
  std::cout << "\n";
}

/// Results, loss and assigned variables by name.
static Tensors collect(dl::EntryOp entry, const Interpreter::Results &results,
                       const Interpreter &interpreter) {
  Tensors named;
  for (auto [i, output] : llvm::enumerate(results.outputs)) {
    StringRef name = entry.getOutputName(i);
    named[name.empty() ? "result" + std::to_string(i) : name.str()] = output;
  }
  if (results.loss)
    named["loss"] = *results.loss;
  entry.walk([&](dl::AssignOp assign) {
    named[assign.getVariable().str()] = interpreter.variables.at(assign.getVariable().str());
  });
  return named;
}

/// `tensor` + `step` times what `directions` has under its name.
static void move(Tensor &tensor, const std::string &name, const Tensors &directions, double step) {
  auto found = directions.find(name);
  if (found != directions.end())
    for (auto [value, part] : llvm::zip_equal(tensor.values, found->second.values))
      value += step * part;
}

/// Results where inputs and variables are moved by `step` along `directions`.
static FailureOr<Tensors> runMoved(dl::EntryOp entry, Interpreter interpreter,
                                   std::vector<Tensor> inputs, const Tensors &directions,
                                   double step) {
  for (auto [i, input] : llvm::enumerate(inputs))
    move(input, entry.getInputName(i).str(), directions, step);
  for (auto &[name, variable] : interpreter.variables)
    move(variable, name, directions, step);
  FailureOr<Interpreter::Results> results = interpreter.run(entry, inputs);
  if (failed(results))
    return failure();
  return collect(entry, *results, interpreter);
}

/// Central differences of all results along the directions of a file.
static FailureOr<Tensors> runAlong(dl::EntryOp entry, const Flags &flags,
                                   const Interpreter &interpreter,
                                   const std::vector<Tensor> &inputs) {
  Tensors directions;
  if (runtime::Status status = interpreter::readTensors(flags.along, directions); !status.ok()) {
    fail(std::string(status.message()));
    return failure();
  }
  auto above = runMoved(entry, interpreter, inputs, directions, flags.step);
  auto below = runMoved(entry, interpreter, inputs, directions, -flags.step);
  if (failed(above) || failed(below))
    return failure();
  for (auto &[name, tensor] : *above)
    for (auto [value, other] : llvm::zip_equal(tensor.values, below->at(name).values))
      value = (value - other) / (2 * flags.step);
  return above;
}

/// Results of the last of all runs.
static FailureOr<Tensors> runTimes(dl::EntryOp entry, const Flags &flags, Interpreter &interpreter,
                                   const std::vector<Tensor> &inputs) {
  Tensors named;
  for (int i = 0; i < flags.runs; ++i) {
    FailureOr<Interpreter::Results> results = interpreter.run(entry, inputs);
    if (failed(results))
      return failure();
    named = collect(entry, *results, interpreter);
  }
  return named;
}

static bool run(const Flags &flags) {
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(flags.model, &context);
  if (!module)
    return false;
  dl::EntryOp entry;
  for (auto candidate : module->getOps<dl::EntryOp>())
    if (flags.entry.empty() ? !entry : candidate.getSymName() == flags.entry)
      entry = candidate;
  if (!entry)
    return fail("no entry '" + flags.entry + "' in " + flags.model);
  Tensors given;
  for (const std::string &file : flags.files)
    if (runtime::Status status = interpreter::readTensors(file, given); !status.ok())
      return fail(std::string(status.message()));
  Interpreter interpreter;
  interpreter.scalars = flags.scalars;
  interpreter.rounds = flags.rounds;
  interpreter.scheduleFactor = flags.scheduleFactor;
  std::vector<Tensor> inputs;
  if (!giveVariables(*module, flags, given, interpreter) ||
      !giveInputs(entry, flags, given, inputs))
    return false;
  FailureOr<Tensors> named = flags.along.empty() ? runTimes(entry, flags, interpreter, inputs)
                                                 : runAlong(entry, flags, interpreter, inputs);
  if (failed(named))
    return false;
  if (flags.save.empty())
    for (const auto &[name, tensor] : *named)
      print(name, tensor);
  else if (runtime::Status status = interpreter::writeTensors(flags.save, *named); !status.ok())
    return fail(std::string(status.message()));
  return true;
}

int main(int argc, char **argv) {
  Flags flags;
  CLI::App app{"Runs an entry of a dl module in float64.", "dl-interpret"};
  app.add_option("model", flags.model, "the module, - for standard input")->required();
  app.add_option("--entry", flags.entry, "the entry to run; the first one by default");
  app.add_option("--tensors", flags.files, "safetensors with inputs and variables by name");
  app.add_flag("--fill", flags.fill, "the rest by the formula of the reference values");
  app.add_option("--key", flags.keys,
                 "NAME KEY: the formula's key of an input, its name by default");
  app.add_option("--classes", flags.classes, "integers of --fill are below it")
      ->capture_default_str();
  app.add_option("--scalar", flags.scalars, "NAME VALUE: replaces a scalar");
  app.add_flag("--round", flags.rounds, "results of bf16 and f16 as these hold them");
  app.add_option("--schedule-factor", flags.scheduleFactor, "factor of scheduled scalars");
  app.add_option("--runs", flags.runs, "how often; variables go on")->capture_default_str();
  app.add_option("--along", flags.along,
                 "safetensors with directions of inputs and variables by name: gives central "
                 "differences of the results");
  app.add_option("--step", flags.step, "of --along")->capture_default_str();
  app.add_option("--save", flags.save, "safetensors to write instead of printing");
  CLI11_PARSE(app, argc, argv);
  return run(flags) ? 0 : 1;
}
