//===- TensorBuilderTest.cpp - what formulas build, and the values that they have -------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Builders/Folding.h"
#include "dialects/DL/Builders/Term.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;

namespace {

/// Formulas of one number: the block has the argument `x`, f64.
class TensorBuilderTest : public testing::Test {
protected:
  TensorBuilderTest() : builder(&context) {
    context.loadDialect<dl::DLDialect>();
    x = block.addArgument(RankedTensorType::get({}, builder.getF64Type()), loc);
    builder.setInsertionPointToStart(&block);
  }
  /// What `y` is where `x` has this value.
  double valueAt(Value y, double number);
  unsigned opCount() { return block.getOperations().size(); }

  MLIRContext context;
  Block block;
  OpBuilder builder;
  Location loc = UnknownLoc::get(&context);
  Value x;
  dl::TensorBuilder b{builder, loc};
};

} // namespace

double TensorBuilderTest::valueAt(Value y, double number) {
  auto end = dl::YieldOp::create(builder, loc, y);
  auto values = interpreter::Interpreter().runBlock(block, interpreter::Tensor::filled({}, number));
  end.erase();
  EXPECT_TRUE(succeeded(values));
  return values->front().values.front();
}

/// Whole powers are products, as few as squaring needs; others need exp and log.
TEST_F(TensorBuilderTest, PowersAreProductsWhereTheyCanBe) {
  struct Row {
    double exponent;
    unsigned ops;
  };
  for (const Row &row : {Row{1, 0}, {2, 1}, {3, 2}, {8, 3}, {13, 5}, {0.5, 1}}) {
    const unsigned before = opCount();
    Value y = b.power(x, row.exponent);
    EXPECT_EQ(opCount() - before, row.ops) << row.exponent;
    EXPECT_NEAR(valueAt(y, 1.3), std::pow(1.3, row.exponent), 1e-12) << row.exponent;
  }
  for (double exponent : {-1.0, -3.0, -0.5, 0.0, 0.3, 2.5, 2000.0})
    EXPECT_NEAR(valueAt(b.power(x, exponent), 1.01) / std::pow(1.01, exponent), 1, 1e-10)
        << exponent;
  // A negative number has whole powers.
  EXPECT_NEAR(valueAt(b.power(x, 3), -2), -8, 1e-12);
}

/// exp sees no positive number: it overflows at neither end.
TEST_F(TensorBuilderTest, SoftplusOfLargeNumbers) {
  Value y = b.softplus(x);
  EXPECT_EQ(valueAt(y, 1000), 1000);
  EXPECT_EQ(valueAt(y, -1000), 0);
  EXPECT_NEAR(valueAt(y, 0.5), std::log1p(std::exp(0.5)), 1e-15);
}

/// What is asked for already costs no op.
TEST_F(TensorBuilderTest, BuildsNothingForWhatIsThere) {
  EXPECT_EQ(b.cast(x, builder.getF64Type()), x);
  EXPECT_EQ(b.broadcast(x, b.typeOf(x), {}), x);
  EXPECT_EQ(b.reshape(x, b.typeOf(x)), x);
  EXPECT_EQ(opCount(), 0u);
  EXPECT_EQ(b.typeOf(b.castLike(x, b.cast(x, builder.getF32Type()))).getElementType(),
            builder.getF32Type());
}

/// A term reads as its formula; numbers take the type of what they meet, on either side.
TEST_F(TensorBuilderTest, TermsAreFormulas) {
  using T = dl::Term<dl::TensorBuilder>;
  T a(b, x);
  EXPECT_NEAR(valueAt(1 - square(a) / 2, 0.6), 1 - 0.18, 1e-15);
  EXPECT_NEAR(valueAt(exp(-a) * maximum(a, 2), 0.5), std::exp(-0.5) * 2, 1e-15);
  EXPECT_EQ(valueAt(select(a < 0, T(b, b.splatLike(x, -7)), a), 3), 3);
  EXPECT_EQ(valueAt(select(a < 0, T(b, b.splatLike(x, -7)), a), -3), -7);
}

/// Folds ask for small numbers, whole or not.
TEST_F(TensorBuilderTest, SplatsOfNumbers) {
  auto wide = RankedTensorType::get({3}, builder.getF32Type());
  Value two = b.splat(wide, 2), half = b.splat(wide, 0.5);
  EXPECT_TRUE(dl::isSplatOf(two, 2));
  EXPECT_FALSE(dl::isSplatOf(two, 1));
  EXPECT_FALSE(dl::isSplatOf(half, 0));
  EXPECT_FALSE(dl::isSplatOf(x, 0));
  auto whole = RankedTensorType::get({3}, builder.getI32Type());
  EXPECT_TRUE(dl::isSplatOf(b.splat(whole, 7), 7));
  EXPECT_EQ(dl::getFloatSplat(DenseElementsAttr::get(whole, int32_t(1))), std::nullopt);
  EXPECT_EQ(dl::getFloatSplat(DenseElementsAttr::get(wide, {1.0f, 2.0f, 1.0f})), std::nullopt);
  EXPECT_EQ(dl::getFloatSplat(DenseElementsAttr::get(wide, 0.5f))->convertToFloat(), 0.5f);
}
