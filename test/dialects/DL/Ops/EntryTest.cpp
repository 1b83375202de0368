//===- EntryTest.cpp - the helpers of dl.entry and of its attributes --------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

namespace {
struct EntryTest : testing::Test {
  EntryTest() { context.loadDialect<DLDialect>(); }
  MLIRContext context;
};
} // namespace

TEST_F(EntryTest, BuildsAddsAndErasesOutputs) {
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto type = RankedTensorType::get({4}, builder.getF32Type());
  auto entry = EntryOp::create(builder, loc, "step", builder.getFunctionType({type}, {}),
                               program::EntryKind::Train);
  entry.setArgAttr(0, "dl.name", builder.getStringAttr("x"));
  builder.setInsertionPointToEnd(&entry.getBlock());
  Value y = TensorBuilder{builder, loc}.scale(entry.getArgument(0), 2);
  ReturnOp::create(builder, loc, ValueRange());
  entry.addOutput(y, "y", program::ValueKind::Result);
  EntryOutput added[] = {{entry.getArgument(0), "gradient.w", program::ValueKind::Gradient},
                         {y, "z", program::ValueKind::Accumulator}};
  added[0].attributes.append("dl.of", FlatSymbolRefAttr::get(&context, "w"));
  entry.addOutputs(added);
  ASSERT_TRUE(succeeded(verify(*module)));
  EXPECT_EQ(entry.getInputName(0), "x");
  EXPECT_EQ(entry.getNumResults(), 3u);
  EXPECT_EQ(entry.getOutputName(1), "gradient.w");
  EXPECT_EQ(entry.getOutputKind(1), program::ValueKind::Gradient);
  EXPECT_EQ(entry.getResultAttrOfType<FlatSymbolRefAttr>(1, "dl.of").getValue(), "w");

  llvm::BitVector erased(3);
  erased.set(1);
  entry.eraseOutputs(erased);
  ASSERT_TRUE(succeeded(verify(*module)));
  EXPECT_EQ(entry.getNumResults(), 2u);
  EXPECT_EQ(entry.getOutputName(1), "z");
  EXPECT_EQ(entry.getOutputKind(1), program::ValueKind::Accumulator);
  EXPECT_EQ(entry.getReturn().getOutputs().size(), 2u);
  EXPECT_EQ(entry.getReturn().getOutputs()[1], y);
}

TEST_F(EntryTest, SettingsOfAnOptimizer) {
  auto sgd = cast<OptimizerAttr>(parseAttribute(
      "#dl.optimizer<\"sgd\", {learning_rate = 0.5 : f64, momentum = 0.9 : f64, nesterov = true}>",
      &context));
  EXPECT_EQ(sgd.number("learning_rate"), 0.5);
  EXPECT_EQ(sgd.number("nesterov"), 1);
  EXPECT_EQ(sgd.number("weight_decay"), 0);
}

TEST_F(EntryTest, InitialiserOfNumbers) {
  auto init =
      program::InitialiserAttr::get(&context, program::InitialiserKind::Uniform, -0.25, 0.25);
  EXPECT_EQ(parseAttribute("#program.init<uniform, -0.25, 0.25>", &context), init);
  EXPECT_EQ(program::InitialiserAttr::get(&context, program::InitialiserKind::Constant, 1)
                .getB()
                .convertToDouble(),
            0);
}
