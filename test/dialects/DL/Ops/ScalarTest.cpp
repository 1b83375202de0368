//===- ScalarTest.cpp - buildScalar against the interpreter -----------------------------------===//
//
// Every element-wise op, as the arith and math ops that generators print into kernels: built on
// constants, folded, and compared with the interpreter's formula. Includes NaN, infinity and both
// zeros.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "test/lib/Interpreter/ElementwiseTable.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;
using interpreter::Tensor;

namespace {
struct ScalarCase {
  std::string name;
  std::string arguments; ///< "%a: tensor<f64>, %b: tensor<f64>"
  std::string op;        ///< "dl.add %a, %b : tensor<f64>"
};

class ScalarTest : public testing::TestWithParam<ScalarCase> {
protected:
  void SetUp() override {
    context.loadDialect<dl::DLDialect>();
    std::string text = "dl.entry @f(" + GetParam().arguments +
                       ") attributes {kind = #program.entry<infer>} { %r = " + GetParam().op +
                       " dl.return }";
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    op = &(*module->getOps<dl::EntryOp>().begin()).getBlock().front();
  }
  double computed(ArrayRef<double> values);

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Operation *op = nullptr;
};
} // namespace

/// How a generator holds an element: u8 signless.
static Type computeType(Type element) {
  if (isa<FloatType>(element))
    return element;
  return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth());
}

static Attribute number(double value, Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return IntegerAttr::get(type, APInt(integer.getWidth(), uint64_t(int64_t(value)), false, true));
  return FloatAttr::get(type, value);
}

/// The constant that the ops of `block` fold `result` to.
static Attribute fold(Block &block, Value result) {
  llvm::DenseMap<Value, Attribute> known;
  for (Operation &op : block) {
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands())
      operands.push_back(known.lookup(operand));
    SmallVector<OpFoldResult> results;
    if (failed(op.fold(operands, results)) || results.empty())
      return {};
    for (auto [folded, own] : llvm::zip_equal(results, op.getResults())) {
      auto value = dyn_cast<Value>(folded);
      known[own] = value ? known.lookup(value) : cast<Attribute>(folded);
    }
  }
  return known.lookup(result);
}

/// The op on `values` through buildScalar.
double ScalarTest::computed(ArrayRef<double> values) {
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockBegin(scratch->getBody());
  SmallVector<Value> operands;
  for (auto [value, operand] : llvm::zip_equal(values, op->getOperands())) {
    Type type = computeType(getElementTypeOrSelf(operand));
    operands.push_back(
        arith::ConstantOp::create(builder, op->getLoc(), cast<TypedAttr>(number(value, type))));
  }
  Value result = cast<dl::ElementwiseOp>(op).buildScalar(builder, op->getLoc(), operands);
  Type element = getElementTypeOrSelf(op->getResult(0));
  EXPECT_EQ(result.getType(), computeType(element));
  EXPECT_TRUE(succeeded(verify(*scratch)));
  Attribute constant = fold(*scratch->getBody(), result);
  EXPECT_TRUE(constant) << "does not fold";
  if (!constant)
    return 0;
  if (auto real = dyn_cast<FloatAttr>(constant))
    return real.getValueAsDouble();
  APInt integer = cast<IntegerAttr>(constant).getValue();
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  return isUnsigned ? double(integer.getZExtValue()) : double(integer.getSExtValue());
}

/// Values to try for an element type. What a cast or a quotient leaves undefined, and what MLIR's
/// folds refuse (roots and logarithms of negative numbers), is left out by `isDefined`.
static std::vector<double> interesting(Type element) {
  // With one that no 16 bits hold.
  if (element.isF32())
    return {-100, -1.5, -0.0, 0, 0.25, 3 + 0x1p-10, 100, std::nan(""), INFINITY, -INFINITY};
  if (isa<FloatType>(element))
    return {-100, -1.5, -0.0, 0, 0.25, 3, 100, std::nan(""), INFINITY, -INFINITY};
  if (element.isInteger(1))
    return {0, 1};
  if (element.isUnsignedInteger())
    return {0, 1, 128, 255};
  return {-7, -1, 0, 1, 2, 100};
}

static bool isDefined(Operation *op, ArrayRef<double> values) {
  Type element = getElementTypeOrSelf(op->getResult(0));
  if (isa<dl::DivideOp>(op) && isa<IntegerType>(element))
    return values[1] != 0;
  if (isa<dl::LogOp, dl::SqrtOp>(op))
    return !std::signbit(values[0]);
  bool fromFloat = isa<FloatType>(getElementTypeOrSelf(op->getOperand(0)));
  if (isa<dl::CastOp>(op) && fromFloat && isa<IntegerType>(element) && !element.isInteger(1))
    return std::isfinite(values[0]) && (values[0] >= 0 || !element.isUnsignedInteger());
  return true;
}

static bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= 1e-14 * std::fabs(b);
}

TEST_P(ScalarTest, ComputesWhatTheInterpreterDoes) {
  std::vector<std::vector<double>> choices = {{}};
  for (Value operand : op->getOperands()) {
    std::vector<std::vector<double>> longer;
    for (const std::vector<double> &some : choices)
      for (double value : interesting(getElementTypeOrSelf(operand))) {
        longer.push_back(some);
        longer.back().push_back(value);
      }
    choices = std::move(longer);
  }
  // Of very many, each so manieth: a prime, so that all values of all operands are among them.
  for (const size_t every = 97; choices.size() > 10000;) {
    std::vector<std::vector<double>> fewer;
    for (size_t i = 0; i < choices.size(); i += every)
      fewer.push_back(choices[i]);
    choices = std::move(fewer);
  }
  for (const std::vector<double> &values : choices) {
    if (!isDefined(op, values))
      continue;
    std::vector<Tensor> operands;
    for (double value : values)
      operands.push_back(Tensor::filled({}, value));
    double expected = (*interpreter::runElementwise(op, operands))[0].values[0];
    double found = computed(values);
    EXPECT_TRUE(same(found, expected))
        << "on " << testing::PrintToString(values) << ": " << found << ", expected " << expected;
  }
}

TEST_P(ScalarTest, SaysWhatZeroGives) {
  const unsigned count = op->getNumOperands();
  auto isFloat = [](Value value) { return isa<FloatType>(getElementTypeOrSelf(value)); };
  if (count > 2 || !llvm::all_of(op->getOperands(), isFloat))
    return;
  for (unsigned zero = 0; zero < count; ++zero) {
    unsigned tried = 0;
    bool isZero = true, isOther = count == 2;
    for (double other : interesting(getElementTypeOrSelf(op->getOperand(0)))) {
      std::vector<double> values(count, other);
      values[zero] = 0;
      if (!std::isfinite(other) || !isDefined(op, values))
        continue;
      const double result = computed(values);
      if (!std::isfinite(result))
        continue;
      ++tried;
      isZero &= result == 0;
      isOther &= result == other;
    }
    const dl::WhereZero expected = tried == 0 ? dl::WhereZero::Unknown
                                   : isZero   ? dl::WhereZero::Zero
                                   : isOther  ? dl::WhereZero::Other
                                              : dl::WhereZero::Unknown;
    EXPECT_EQ(cast<dl::ElementwiseOp>(op).getWhereZero(zero), expected) << "operand " << zero;
  }
}

TEST_P(ScalarTest, WorksOnVectors) {
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockBegin(scratch->getBody());
  SmallVector<Value> operands;
  auto vectorOf = [](Value tensor) {
    return VectorType::get({8}, computeType(getElementTypeOrSelf(tensor)));
  };
  for (Value operand : op->getOperands())
    operands.push_back(
        arith::ConstantOp::create(builder, op->getLoc(), builder.getZeroAttr(vectorOf(operand))));
  Value result = cast<dl::ElementwiseOp>(op).buildScalar(builder, op->getLoc(), operands);
  EXPECT_EQ(result.getType(), vectorOf(op->getResult(0)));
  EXPECT_TRUE(succeeded(verify(*scratch)));
}

static const ScalarCase casesWithoutRow[] = {
    {"compare_eq", "%a: tensor<f64>, %b: tensor<f64>", "dl.compare eq %a, %b : tensor<f64>"},
    {"compare_ne", "%a: tensor<f64>, %b: tensor<f64>", "dl.compare ne %a, %b : tensor<f64>"},
    {"compare_lt", "%a: tensor<f64>, %b: tensor<f64>", "dl.compare lt %a, %b : tensor<f64>"},
    {"compare_le", "%a: tensor<f64>, %b: tensor<f64>", "dl.compare le %a, %b : tensor<f64>"},
    {"compare_gt", "%a: tensor<f64>, %b: tensor<f64>", "dl.compare gt %a, %b : tensor<f64>"},
    {"compare_ge", "%a: tensor<f64>, %b: tensor<f64>", "dl.compare ge %a, %b : tensor<f64>"},
    {"compare_lt_i32", "%a: tensor<i32>, %b: tensor<i32>", "dl.compare lt %a, %b : tensor<i32>"},
    {"compare_gt_u8", "%a: tensor<ui8>, %b: tensor<ui8>", "dl.compare gt %a, %b : tensor<ui8>"},
    {"random_uniform", "%a: tensor<i32>, %b: tensor<i32>",
     "dl.random uniform %a, %b, %a, %b, %a, %b path = -5 : tensor<i32> to tensor<f32>"},
    {"random_bits", "%a: tensor<i32>, %b: tensor<i32>",
     "dl.random bits %a, %b, %a, %b, %a, %b path = -5 : tensor<i32> to tensor<i32>"},
    {"stochastic_round_bf16", "%a: tensor<f32>, %b: tensor<i32>",
     "dl.stochastic_round %a, %b, %b : tensor<f32>, tensor<i32> to tensor<bf16>"},
    {"stochastic_round_f16", "%a: tensor<f32>, %b: tensor<i32>",
     "dl.stochastic_round %a, %b, %b : tensor<f32>, tensor<i32> to tensor<f16>"},
    {"select", "%m: tensor<i1>, %a: tensor<f64>, %b: tensor<f64>",
     "dl.select %m, %a, %b : tensor<f64>"},
    {"cast_f64_i32", "%a: tensor<f64>", "dl.cast %a : tensor<f64> to tensor<i32>"},
    {"cast_f64_u8", "%a: tensor<f64>", "dl.cast %a : tensor<f64> to tensor<ui8>"},
    {"cast_f64_bool", "%a: tensor<f64>", "dl.cast %a : tensor<f64> to tensor<i1>"},
    {"cast_u8_f64", "%a: tensor<ui8>", "dl.cast %a : tensor<ui8> to tensor<f64>"},
    {"cast_u8_i32", "%a: tensor<ui8>", "dl.cast %a : tensor<ui8> to tensor<i32>"},
    {"cast_u8_bool", "%a: tensor<ui8>", "dl.cast %a : tensor<ui8> to tensor<i1>"},
    {"cast_i32_f64", "%a: tensor<i32>", "dl.cast %a : tensor<i32> to tensor<f64>"},
    {"cast_i32_u8", "%a: tensor<i32>", "dl.cast %a : tensor<i32> to tensor<ui8>"},
    {"cast_i32_i64", "%a: tensor<i32>", "dl.cast %a : tensor<i32> to tensor<i64>"},
    {"cast_bool_f64", "%a: tensor<i1>", "dl.cast %a : tensor<i1> to tensor<f64>"},
    {"cast_bool_u8", "%a: tensor<i1>", "dl.cast %a : tensor<i1> to tensor<ui8>"},
    {"cast_bf16_f16", "%a: tensor<bf16>", "dl.cast %a : tensor<bf16> to tensor<f16>"},
    {"cast_f32_f64", "%a: tensor<f32>", "dl.cast %a : tensor<f32> to tensor<f64>"},
};

static std::vector<ScalarCase> allCases() {
  std::vector<ScalarCase> all(std::begin(casesWithoutRow), std::end(casesWithoutRow));
  for (const interpreter::ElementwiseRow &row : interpreter::elementwiseTable()) {
    std::vector<std::string> elements = {"f64"};
    elements.insert(elements.end(), row.integers.begin(), row.integers.end());
    for (const std::string &element : elements) {
      std::string type = "tensor<" + element + ">";
      all.push_back({row.name + "_" + element, row.argumentText(type), row.opText(type)});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Ops, ScalarTest, testing::ValuesIn(allCases()),
                         [](const auto &info) { return info.param.name; });

// No element-wise op without a case.
TEST(ScalarCoverage, EveryElementwiseOpHasACase) {
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  std::string texts;
  for (const ScalarCase &some : allCases())
    texts += some.op;
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("dl"))
    if (name.hasInterface<dl::ElementwiseOp>())
      EXPECT_NE(texts.find(name.getStringRef().str() + " "), std::string::npos)
          << name.getStringRef().str();
}
