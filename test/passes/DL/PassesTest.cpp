//===- PassesTest.cpp - what the passes on dl may not change, by the interpreter --------------===//
//
// Runs whole programs in float64. Every improving pass, switched off, changes the IR but not the
// results; the gradients of dl-differentiate are those of central differences. The programs'
// constants are powers of two, so that folding them in f32 is exact and only the order of float64
// additions may differ.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/DL/Passes.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/Pipelines.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "test/passes/DL/FakeCandidates.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace dlc;
using interpreter::Interpreter;
using interpreter::Tensor;

namespace {

/// Values by name: outputs of the entries' runs, and variables afterwards.
using Values = std::map<std::string, Tensor>;

void runPipeline(ModuleOp module, const DLPipelineOptions &options) {
  PassManager manager(module.getContext());
  addTrainPasses(manager, options);
  addFusionPasses(manager, options);
  EXPECT_TRUE(succeeded(manager.run(module)));
}

class PassesTest : public testing::TestWithParam<const char *> {
protected:
  PassesTest() { context.loadDialect<dl::DLDialect>(); }

  OwningOpRef<ModuleOp> parse() {
    return parseSourceFile<ModuleOp>(std::string(DLC_TEST_INPUTS "/") + GetParam(), &context);
  }
  /// For several ranks, so that no pass has nothing to do. The interpreter is one of one.
  OwningOpRef<ModuleOp> compile(const DLPipelineOptions &options) {
    OwningOpRef<ModuleOp> module = parse();
    (*module)->setAttr(program::dataParallelName, UnitAttr::get(&context));
    runPipeline(*module, options);
    return module;
  }
  static Interpreter start(ModuleOp module);
  static std::vector<Tensor> makeInputs(dl::EntryOp entry);
  static Values runTwice(ModuleOp module);
  std::set<std::string> passesThatMatter();

  MLIRContext context;
};

} // namespace

/// Parameters have their values by name, so that every compilation of a program starts alike.
Interpreter PassesTest::start(ModuleOp module) {
  Interpreter interpreter;
  for (auto variable : module.getOps<dl::VariableOp>()) {
    interpreter::Shape shape = interpreter::shapeOf(variable.getTensorType());
    std::string name = variable.getSymName().str();
    const bool isDrawn = variable.getRole() == program::Role::Parameter ||
                         variable.getRole() == program::Role::Statistic;
    interpreter.variables[name] =
        isDrawn ? interpreter::uniformTensor(shape, name, 0.5) : Tensor::filled(shape, 0);
    if (variable.getRole() == program::Role::Statistic) // variances are not negative
      for (double &value : interpreter.variables[name].values)
        value += 1;
  }
  return interpreter;
}

/// Floats in [-1, 1); integers from 0 to 3, also the number of valid samples.
std::vector<Tensor> PassesTest::makeInputs(dl::EntryOp entry) {
  std::vector<Tensor> inputs;
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
    inputs.push_back(interpreter::uniformTensor(interpreter::shapeOf(type), entry.getInputName(i)));
    if (!isa<FloatType>(getElementTypeOrSelf(type)))
      for (double &value : inputs.back().values)
        value = std::floor((value + 1) * 2);
  }
  return inputs;
}

/// Runs all entries one after the other, twice: the second time with slots that are not zero.
/// Before each it computes derived variables, which are no part of what is compared.
Values PassesTest::runTwice(ModuleOp module) {
  Interpreter interpreter = start(module);
  Values values;
  for (int step : {0, 1}) {
    interpreter.scalars["step"] = step;
    for (auto entry : module.getOps<dl::EntryOp>()) {
      if (entry.getKind() == program::EntryKind::Prepare)
        continue;
      for (auto other : module.getOps<dl::EntryOp>())
        if (other.getKind() == program::EntryKind::Prepare)
          EXPECT_TRUE(succeeded(interpreter.run(other, {})));
      FailureOr<Interpreter::Results> results = interpreter.run(entry, makeInputs(entry));
      EXPECT_TRUE(succeeded(results));
      if (failed(results))
        return values;
      for (auto [i, output] : llvm::enumerate(results->outputs))
        values[(entry.getSymName() + std::to_string(step) + "." + entry.getOutputName(i)).str()] =
            output;
    }
  }
  for (auto variable : module.getOps<dl::VariableOp>())
    if (variable.getRole() != program::Role::Derived)
      values[variable.getSymName().str()] = interpreter.variables[variable.getSymName().str()];
  return values;
}

/// Every value of `expected` is in `found`, equal up to the rounding of float64.
static void expectEqual(const Values &found, const Values &expected, StringRef what) {
  EXPECT_EQ(found.size(), expected.size()) << what.str();
  for (const auto &[name, tensor] : expected) {
    auto other = found.find(name);
    ASSERT_NE(other, found.end()) << name << ", " << what.str();
    ASSERT_EQ(other->second.shape, tensor.shape) << name << ", " << what.str();
    for (int64_t i = 0; i < tensor.size(); ++i)
      ASSERT_NEAR(other->second.values[i], tensor.values[i],
                  1e-12 * std::max(1.0, std::fabs(tensor.values[i])))
          << name << "[" << i << "], " << what.str();
  }
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

/// Every pass that improves runs; those that are for some targets only too.
static DLPipelineOptions allPassesBut(std::vector<std::string> disabled) {
  return {.keepWeightGradients = true,
          .disable = std::move(disabled),
          .candidates = std::make_shared<test::FakeCandidates>()};
}

TEST_P(PassesTest, ImprovingPassesKeepResults) {
  DLPipelineOptions options{.keepWeightGradients = true};
  for (StringRef flag : improvingPasses())
    options.disable.push_back(flag.str());
  Values plain = runTwice(*compile(options));
  expectEqual(runTwice(*compile(allPassesBut({}))), plain, "all passes against none");
  for (StringRef flag : improvingPasses())
    expectEqual(runTwice(*compile(allPassesBut({flag.str()}))), plain, flag);
}

/// Flags of the improving passes without which the program is compiled to another one.
std::set<std::string> PassesTest::passesThatMatter() {
  std::set<std::string> flags;
  std::string text = print(*compile(allPassesBut({})));
  for (StringRef flag : improvingPasses())
    if (print(*compile(allPassesBut({flag.str()}))) != text)
      flags.insert(flag.str());
  return flags;
}

TEST_P(PassesTest, ImprovingPassesChangeTheProgram) {
  std::set<std::string> expected;
  for (StringRef flag : improvingPasses())
    if (!flag.starts_with("exec-")) // those come behind the pipelines that are run here
      expected.insert(flag.str());
  expected.erase("dl-divide-concats");   // no join of so many parts: divide-concats.mlir
  expected.erase("dl-join-prologues");   // no image computed of one other: join-prologues.mlir
  expected.erase("dl-join-updates");     // gradients are results here: join-updates.mlir
  expected.erase("dl-pack-indices");     // no blocks of whole bytes: pack-indices.mlir
  expected.erase("dl-sparsify-updates"); // no table: sparsify-updates.mlir
  expected.erase("dl-narrow-variables"); // something trains: narrow-variables.mlir
  StringRef program = GetParam();
  if (program == "shared.mlir")
    expected.erase("dl-join-product-gradients"); // no bias and no relu
  if (program != "convolutional.mlir")           // no entry that uses the model
    for (const char *flag : {"dl-fold-batch-norm", "dl-derive-variables"})
      expected.erase(flag);
  EXPECT_EQ(passesThatMatter(), expected);
}

/// An element's gradient by central differences of the loss; truncation h^2 is 1e-8.
template <typename Loss> static double difference(double &element, Loss loss) {
  constexpr double h = 1e-4;
  double x = element;
  element = x + h;
  double above = loss();
  element = x - h;
  double below = loss();
  element = x;
  return (above - below) / (2 * h);
}

TEST_P(PassesTest, GradientsEqualCentralDifferences) {
  OwningOpRef<ModuleOp> before = parse(), after = parse();
  PassManager manager(&context);
  manager.addPass(dl::createDifferentiate());
  ASSERT_TRUE(succeeded(manager.run(*after)));
  for (auto entry : after->getOps<dl::EntryOp>()) {
    auto original = before->lookupSymbol<dl::EntryOp>(entry.getSymName());
    if (!original.getUpdates())
      continue;
    std::vector<Tensor> inputs = makeInputs(entry);
    Interpreter interpreter = start(*before);
    FailureOr<Interpreter::Results> found = interpreter.run(entry, inputs);
    ASSERT_TRUE(succeeded(found));
    auto loss = [&] { return interpreter.run(original, inputs)->loss->values[0]; };
    std::map<std::string, Tensor *> sources;
    for (auto &[name, variable] : interpreter.variables)
      sources["gradient." + name] = &variable;
    for (auto [i, input] : llvm::enumerate(inputs))
      sources["gradient." + entry.getInputName(i).str()] = &input;
    unsigned checked = 0;
    for (unsigned i = original.getNumResults(); i < entry.getNumResults(); ++i) {
      std::string name = entry.getOutputName(i).str();
      Tensor &source = *sources.at(name), &gradient = found->outputs[i];
      for (int64_t j = 0; j < source.size(); j += 7, ++checked)
        EXPECT_NEAR(gradient.values[j], difference(source.values[j], loss), 1e-6)
            << name << "[" << j << "] of " << entry.getSymName().str();
    }
    EXPECT_GT(checked, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, PassesTest,
                         testing::Values("convolutional.mlir", "linear.mlir", "shared.mlir"),
                         [](const auto &info) {
                           return StringRef(info.param).split('.').first.str();
                         });
