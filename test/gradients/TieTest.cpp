//===- TieTest.cpp - gradients where values are equal, which differences cannot tell ----------===//
#include "dialects/DL/Ops/DLEntryOps.h"
#include "mlir/Parser/Parser.h"
#include "test/gradients/ReverseMode.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;
using interpreter::Tensor;

/// The gradients of the entry with this text, all results seeded with `seed`.
static std::vector<Tensor> gradientsOf(StringRef text, std::vector<Tensor> inputs, Tensor seed) {
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  dl::EntryOp entry = *module->getOps<dl::EntryOp>().begin();
  unsigned numResults = entry.getNumResults();
  EXPECT_TRUE(succeeded(gradients::appendGradients(entry)));
  inputs.push_back(std::move(seed));
  auto results = interpreter::Interpreter().run(entry, inputs);
  EXPECT_TRUE(succeeded(results));
  return {results->outputs.begin() + numResults, results->outputs.end()};
}

using Numbers = std::vector<double>;

// The maximum of equal elements shares its gradient evenly.
TEST(Ties, ReduceMaxSharesEvenly) {
  auto gradients = gradientsOf(R"(
    dl.entry @f(%x: tensor<4xf64>) -> tensor<f64> attributes {kind = #program.entry<train>} {
      %y = dl.reduce max %x axes = [0] : tensor<4xf64>
      dl.return %y : tensor<f64>
    })",
                               {{{4}, {2, 5, 5, 5}}}, {{}, {6}});
  EXPECT_EQ(gradients[0].values, (Numbers{0, 2, 2, 2}));
}

TEST(Ties, MaximumGivesHalfToEach) {
  auto gradients = gradientsOf(R"(
    dl.entry @f(%a: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<3xf64>
        attributes {kind = #program.entry<train>} {
      %c = dl.maximum %a, %b : tensor<3xf64>
      dl.return %c : tensor<3xf64>
    })",
                               {{{3}, {1, 2, 3}}, {{3}, {2, 2, 2}}}, {{3}, {8, 8, 8}});
  EXPECT_EQ(gradients[0].values, (Numbers{0, 4, 8}));
  EXPECT_EQ(gradients[1].values, (Numbers{8, 4, 0}));
}

// At 0 relu and abs have the gradient 0, as PyTorch's.
TEST(Ties, ReluAndAbsAtZero) {
  for (StringRef op : {"dl.relu", "dl.abs"}) {
    auto gradients = gradientsOf(("dl.entry @f(%x: tensor<2xf64>) -> tensor<2xf64> attributes "
                                  "{kind = #program.entry<train>} { %y = " +
                                  op + " %x : tensor<2xf64> dl.return %y : tensor<2xf64> }")
                                     .str(),
                                 {{{2}, {0, 1}}}, {{2}, {3, 3}});
    EXPECT_EQ(gradients[0].values, (Numbers{0, 3})) << op.str();
  }
}

// The first of equal elements in the window gets all, in row-major order.
TEST(Ties, MaxPoolGivesAllToTheFirst) {
  auto gradients = gradientsOf(R"(
    dl.entry @f(%x: tensor<1x1x2x2xf64>) -> tensor<1x1x1x1xf64>
        attributes {kind = #program.entry<train>} {
      %y = dl.max_pool %x kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1]
          : tensor<1x1x2x2xf64> -> tensor<1x1x1x1xf64>
      dl.return %y : tensor<1x1x1x1xf64>
    })",
                               {{{1, 1, 2, 2}, {1, 7, 7, 7}}}, {{1, 1, 1, 1}, {5}});
  EXPECT_EQ(gradients[0].values, (Numbers{0, 5, 0, 0}));
}
