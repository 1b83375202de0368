//===- DecomposeTest.cpp - composites in primitives against their own formulas ----------------===//
#include "dialects/DL/DLProgramOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;
using interpreter::Interpreter;
using interpreter::Tensor;

/// Runs the entry with its composites, then with their decompositions: both must agree to 1e-12.
static std::vector<Tensor> runBothWays(StringRef text, ArrayRef<Tensor> inputs) {
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  dl::EntryOp entry = *module->getOps<dl::EntryOp>().begin();
  FailureOr<Interpreter::Results> expected = Interpreter().run(entry, inputs);
  int decomposed = 0;
  for (Operation &op : llvm::make_early_inc_range(entry.getBlock())) {
    auto composite = dyn_cast<dl::DecomposableOp>(op);
    if (!composite)
      continue;
    OpBuilder builder(&op);
    op.replaceAllUsesWith(composite.decompose(builder));
    op.erase();
    ++decomposed;
  }
  EXPECT_GT(decomposed, 0);
  EXPECT_TRUE(succeeded(verify(*module)));
  FailureOr<Interpreter::Results> found = Interpreter().run(entry, inputs);
  EXPECT_TRUE(succeeded(expected) && succeeded(found));
  for (auto [a, b] : llvm::zip_equal(found->outputs, expected->outputs))
    for (auto [x, y] : llvm::zip_equal(a.values, b.values))
      EXPECT_LE(std::fabs(x - y), 1e-12 * std::max(1.0, std::fabs(y)));
  return expected->outputs;
}

static const char *const lossText = R"(
  dl.entry @f(%x: tensor<2x5x3xf64>, %label: tensor<2x3xi32>) -> tensor<2x3xf64> attributes {kind = #dl.entry<infer>} {
    %l = dl.softmax_cross_entropy %x, %label axis = 1 : tensor<2x5x3xf64>, tensor<2x3xi32>
    dl.return %l : tensor<2x3xf64>
  })";

// Labels 5 and -1 are no classes: their loss is 0.
TEST(Decompose, SoftmaxCrossEntropy) {
  Tensor x = interpreter::uniformTensor({2, 5, 3}, "x", 4);
  Tensor loss = runBothWays(lossText, {x, {{2, 3}, {0, 4, 5, 2, -1, 1}}})[0];
  EXPECT_EQ(loss.values[2], 0);
  EXPECT_EQ(loss.values[4], 0);
  EXPECT_GT(loss.values[0], 0);
}

// exp of these would overflow or vanish.
TEST(Decompose, SoftmaxCrossEntropyOfLargeLogits) {
  Tensor x = interpreter::uniformTensor({2, 5, 3}, "x", 1000, 2000);
  Tensor loss = runBothWays(lossText, {x, {{2, 3}, {0, 4, 3, 2, 1, 0}}})[0];
  for (double value : loss.values)
    EXPECT_TRUE(std::isfinite(value));
}

TEST(Decompose, SoftmaxCrossEntropyBackward) {
  Tensor gradient = runBothWays(R"(
    dl.entry @f(%dloss: tensor<4xf64>, %x: tensor<4x3xf64>, %label: tensor<4xi64>) -> tensor<4x3xf64>
        attributes {kind = #dl.entry<infer>} {
      %d = dl.softmax_cross_entropy_backward %dloss, %x, %label axis = 1 : tensor<4xf64>, tensor<4x3xf64>, tensor<4xi64>
      dl.return %d : tensor<4x3xf64>
    })",
                                {interpreter::uniformTensor({4}, "dloss"),
                                 interpreter::uniformTensor({4, 3}, "x", 300),
                                 {{4}, {0, 3, 2, 1}}})[0];
  for (int c = 0; c < 3; ++c)
    EXPECT_EQ(gradient.values[3 + c], 0) << "sample 1 has no class";
}

// The first of equal logits counts; a label that is no class is never right.
TEST(Decompose, Accuracy) {
  Tensor correct = runBothWays(
      R"(
    dl.entry @f(%x: tensor<5x3xf64>, %label: tensor<5xi32>) -> tensor<5xf64> attributes {kind = #dl.entry<infer>} {
      %a = dl.accuracy %x, %label axis = 1 : tensor<5x3xf64>, tensor<5xi32>
      dl.return %a : tensor<5xf64>
    })",
      {{{5, 3}, {1, 2, 3, 2, 2, 1, 2, 2, 1, 3, 2, 1, 1, 1, 1}}, {{5}, {2, 0, 1, 7, 0}}})[0];
  EXPECT_EQ(correct.values, (std::vector<double>{1, 1, 0, 0, 1}));
}
