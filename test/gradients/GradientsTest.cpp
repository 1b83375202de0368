//===- GradientsTest.cpp - every gradient rule against central differences --------------------===//
//
// L = sum over the float results r of <seed_r, result_r>. The entry with its gradients appended
// gives dL/dx; central differences of L give it again, in float64 on the interpreter. Applied to
// the entry with gradients the same check covers gradients of gradients, and the rules of the
// backward ops.
//
// Truncation is h^2 / 6 times the third derivative, rounding 1e-16 / h: with h = 1e-4 both stay
// under 1e-7 of these values.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLEntryOps.h"
#include "mlir/Parser/Parser.h"
#include "test/gradients/Cases.h"
#include "test/gradients/ReverseMode.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;
using namespace dlc;
using namespace dlc::gradients;
using interpreter::Interpreter;
using interpreter::Tensor;

static constexpr double step = 1e-4;
static constexpr double limit = 1e-6;

namespace {
class GradientsTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    context.loadDialect<dl::DLDialect>();
    std::string text = std::string("dl.entry @f") + GetParam().signature +
                       " attributes {kind = #program.entry<train>} {\n" + GetParam().body + "\n}";
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << "the case does not parse";
  }

  dl::EntryOp entry() { return *module->getOps<dl::EntryOp>().begin(); }
  std::vector<Tensor> makeInputs();
  void checkOrder(int order);

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

/// Evenly spread values in the order of random ones; `number` shifts them so that two arguments
/// have no value in common.
static Tensor spread(const interpreter::Shape &shape, unsigned number, DrawRange range) {
  Tensor random = interpreter::uniformTensor(shape, "x" + std::to_string(number));
  std::vector<int64_t> order(random.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return random.values[a] < random.values[b]; });
  for (auto [rank, element] : llvm::enumerate(order)) {
    double part = (double(rank) + 0.25 + 0.13 * number) / double(order.size());
    random.values[element] = range.shift + range.scale * (2 * part - 1);
  }
  return random;
}

static Tensor drawIntegers(const interpreter::Shape &shape, unsigned number, DrawRange range) {
  Tensor result = interpreter::uniformTensor(shape, "x" + std::to_string(number));
  for (double &value : result.values)
    value = std::floor((value + 1) / 2 * range.scale) + range.shift;
  return result;
}

std::vector<Tensor> GradientsTest::makeInputs() {
  std::vector<Tensor> inputs;
  for (auto [i, type] : llvm::enumerate(entry().getArgumentTypes())) {
    DrawRange range = i < GetParam().ranges.size() ? GetParam().ranges[i] : DrawRange();
    auto make = isFloatTensor(type) ? spread : drawIntegers;
    inputs.push_back(make(interpreter::shapeOf(type), i, range));
  }
  return inputs;
}

/// The value of all float results against the seeds.
static double dotWithSeeds(dl::EntryOp entry, ArrayRef<Tensor> inputs, ArrayRef<Tensor> seeds) {
  FailureOr<Interpreter::Results> results = Interpreter().run(entry, inputs);
  EXPECT_TRUE(succeeded(results));
  double sum = 0;
  size_t seed = 0;
  for (auto [i, output] : llvm::enumerate(results->outputs)) {
    if (!isFloatTensor(entry.getResultTypes()[i]))
      continue;
    sum += std::inner_product(output.values.begin(), output.values.end(),
                              seeds[seed++].values.begin(), 0.0);
  }
  return sum;
}

static Tensor centralDifference(dl::EntryOp entry, std::vector<Tensor> inputs,
                                ArrayRef<Tensor> seeds, size_t argument) {
  Tensor gradient = inputs[argument];
  for (int64_t i = 0; i < gradient.size(); ++i) {
    double x = inputs[argument].values[i];
    inputs[argument].values[i] = x + step;
    double above = dotWithSeeds(entry, inputs, seeds);
    inputs[argument].values[i] = x - step;
    double below = dotWithSeeds(entry, inputs, seeds);
    inputs[argument].values[i] = x;
    gradient.values[i] = (above - below) / (2 * step);
  }
  return gradient;
}

static double largest(const Tensor &tensor) {
  double result = 0;
  for (double value : tensor.values)
    result = std::max(result, std::fabs(value));
  return result;
}

/// max |found - expected| within `limit` of max |expected|; where that is 0, of 1e-3.
static void expectNear(const Tensor &found, const Tensor &expected, const std::string &what) {
  ASSERT_EQ(found.shape, expected.shape) << what;
  double scale = std::max(largest(expected), 1e-3);
  for (int64_t i = 0; i < found.size(); ++i)
    ASSERT_LE(std::fabs(found.values[i] - expected.values[i]), limit * scale)
        << what << ", element " << i << ": the rule gives " << found.values[i]
        << ", central differences " << expected.values[i];
}

void GradientsTest::checkOrder(int order) {
  if (order > GetParam().orders)
    return;
  std::vector<Tensor> inputs = makeInputs();
  OwningOpRef<ModuleOp> before;
  std::vector<Tensor> seeds;
  for (int i = 0; i < order; ++i) {
    inputs.insert(inputs.end(), seeds.begin(), seeds.end());
    before = module->clone();
    unsigned numArguments = entry().getNumArguments();
    ASSERT_TRUE(succeeded(appendGradients(entry())));
    ASSERT_TRUE(succeeded(module->verify()));
    seeds.clear();
    for (Type type : entry().getArgumentTypes().drop_front(numArguments))
      seeds.push_back(interpreter::uniformTensor(interpreter::shapeOf(type),
                                                 "seed" + std::to_string(seeds.size())));
  }
  dl::EntryOp function = *before->getOps<dl::EntryOp>().begin();
  std::vector<Tensor> all = inputs;
  all.insert(all.end(), seeds.begin(), seeds.end());
  FailureOr<Interpreter::Results> found = Interpreter().run(entry(), all);
  ASSERT_TRUE(succeeded(found));
  size_t output = function.getNumResults();
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isFloatTensor(type))
      expectNear(found->outputs[output++], centralDifference(function, inputs, seeds, i),
                 "argument " + std::to_string(i));
}

TEST_P(GradientsTest, FirstOrder) { checkOrder(1); }
TEST_P(GradientsTest, SecondOrder) { checkOrder(2); }

// What nobody wants is not built.
TEST_P(GradientsTest, BuildsOnlyWhatIsWanted) {
  for (Operation &op : llvm::make_early_inc_range(entry().getBlock())) {
    auto differentiable = dyn_cast<dl::DifferentiableOp>(op);
    if (!differentiable)
      continue;
    OpBuilder builder(entry().getReturn());
    size_t before = entry().getBlock().getOperations().size();
    SmallVector<Value> results(op.getResults()), gradients(op.getNumOperands());
    SmallVector<bool> wanted(op.getNumOperands(), false);
    ASSERT_TRUE(succeeded(differentiable.buildGradient(builder, results, wanted, gradients)));
    EXPECT_TRUE(llvm::none_of(gradients, [](Value value) { return value != nullptr; }));
    EXPECT_EQ(entry().getBlock().getOperations().size(), before)
        << op.getName().getStringRef().str();
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, GradientsTest, testing::ValuesIn(allCases().vec()),
                         [](const auto &info) { return std::string(info.param.name); });

// No rule without a case.
TEST(GradientCoverage, EveryDifferentiableOpHasACase) {
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  std::string texts;
  for (const Case &some : allCases())
    texts += some.body;
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("dl"))
    if (name.hasInterface<dl::DifferentiableOp>())
      EXPECT_NE(texts.find(name.getStringRef().str() + " "), std::string::npos)
          << name.getStringRef().str() << " has a gradient rule and no case";
}
