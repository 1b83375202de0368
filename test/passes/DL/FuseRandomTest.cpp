//===- FuseRandomTest.cpp - fusion, scheduling and recomputation on random graphs -------------===//
//
// Graphs that nobody would draw: chains that meet again, values used by everything, broadcasts of
// reductions of themselves. Fused and scheduled they verify, give what they gave, and no region has
// two anchors that are no reductions of one loop nest. With values that are computed again they
// give the same and need less.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Facts/Rows.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/DL/Memory/LiveMemory.h"
#include "passes/DL/Passes.h"
#include "test/lib/Interpreter/Interpreter.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace dlc;
using interpreter::Interpreter;
using interpreter::Tensor;

namespace {

/// Draws an entry of ops on matrices [4, 4] and vectors [4]; values stay within [-4, 4].
class GraphBuilder {
public:
  GraphBuilder(ModuleOp module, unsigned seed)
      : builder(module.getBodyRegion()), random(seed),
        matrix(RankedTensorType::get({4, 4}, builder.getF32Type())),
        vector(RankedTensorType::get({4}, builder.getF32Type())) {}

  dl::EntryOp build(unsigned ops);

private:
  unsigned draw(unsigned count) { return random() % count; }
  Value any(Type type);
  Value elementwiseOp();
  Value partsOp();
  Value lookedUp();
  Value matrixOp();
  Value vectorOp();

  OpBuilder builder;
  std::mt19937 random;
  RankedTensorType matrix, vector;
  SmallVector<Value> values;
};

} // namespace

Value GraphBuilder::any(Type type) {
  Value value;
  do
    value = values[draw(values.size())];
  while (value.getType() != type);
  return value;
}

/// One that keeps values within bounds, or is kept within them.
Value GraphBuilder::elementwiseOp() {
  Location loc = builder.getUnknownLoc();
  Value a = any(matrix), b = any(matrix);
  dl::TensorBuilder t{builder, loc};
  switch (draw(14)) {
  case 0:
    return dl::ReluOp::create(builder, loc, a);
  case 1:
    return t.sigmoid(a);
  case 2:
    return t.tanh(t.exp(a));
  case 3:
    return t.log(t.shift(t.abs(a), 1));
  case 4:
    return t.sqrt(t.abs(a));
  case 5:
    return dl::SoftsignOp::create(builder, loc, a);
  case 6:
    return t.tanh(dl::SiluOp::create(builder, loc, a));
  case 7:
    return t.tanh(dl::HardswishOp::create(builder, loc, a));
  case 8:
    return t.erf(a);
  case 9:
    return t.tanh(dl::FloorOp::create(builder, loc, a));
  case 10:
    return dl::EluOp::create(builder, loc, matrix, a, llvm::APFloat(0.5));
  case 11:
    return t.tanh(t.multiply(a, t.subtract(b, a)));
  case 12:
    return t.divide(a, t.shift(t.abs(b), 1));
  default:
    return t.sigmoid(t.raise(t.shift(t.abs(a), 1), b));
  }
}

/// Parts of two matrices, joined or put apart by zeros.
Value GraphBuilder::partsOp() {
  Location loc = builder.getUnknownLoc();
  Value a = any(matrix), b = any(matrix);
  const int64_t axis = draw(2), size = 1 + int64_t(draw(3));
  auto part = [&](Value of, int64_t start, int64_t count) -> Value {
    int64_t starts[2] = {0, 0}, sizes[2] = {4, 4}, steps[2] = {1, 1};
    starts[axis] = start;
    sizes[axis] = count;
    return dl::SliceOp::create(builder, loc, of, starts, sizes, steps);
  };
  if (draw(2))
    return dl::ConcatOp::create(builder, loc, {part(a, 4 - size, size), part(b, 0, 4 - size)},
                                axis);
  int64_t low[2] = {0, 0}, steps[2] = {1, 1};
  low[axis] = int64_t(draw(unsigned(5 - size)));
  return dl::PadOp::create(builder, loc, matrix, part(a, 0, size), low, steps);
}

/// Rows or columns by numbers, some of which the matrix does not have.
Value GraphBuilder::lookedUp() {
  Location loc = builder.getUnknownLoc();
  auto type = RankedTensorType::get({4}, builder.getI32Type());
  SmallVector<int32_t> numbers;
  for (int i = 0; i < 4; ++i)
    numbers.push_back(int32_t(draw(6)) - 1);
  Value index = dl::ConstantOp::create(builder, loc, type,
                                       DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
  return dl::GatherOp::create(builder, loc, any(matrix), index, int64_t(draw(2)));
}

Value GraphBuilder::matrixOp() {
  Location loc = builder.getUnknownLoc();
  Value a = any(matrix), b = any(matrix);
  switch (draw(14)) {
  case 8:
  case 9:
  case 10:
    return elementwiseOp();
  case 11:
  case 12:
    return partsOp();
  case 13:
    return lookedUp();
  case 0:
    return dl::TanhOp::create(builder, loc, matrix, dl::AddOp::create(builder, loc, a, b));
  case 1:
    return dl::MaximumOp::create(builder, loc, a, b);
  case 2: {
    Value mask = dl::CompareOp::create(builder, loc, dl::Predicate::GT, a, b);
    return dl::SelectOp::create(builder, loc, mask, b, any(matrix));
  }
  case 3:
    return dl::TanhOp::create(builder, loc, matrix,
                              dl::MatmulOp::create(builder, loc, a, b, draw(2), draw(2)));
  case 4:
    return dl::BroadcastOp::create(builder, loc, matrix, any(vector), int64_t(draw(2)));
  case 5:
    return dl::TransposeOp::create(builder, loc, a, ArrayRef<int64_t>{1, 0});
  case 6: {
    Value flat = dl::ReshapeOp::create(builder, loc, matrix.clone({16}), a);
    return dl::ReshapeOp::create(builder, loc, matrix, flat);
  }
  default:
    return dl::ConstantOp::createSplat(builder, loc, matrix, 0.5);
  }
}

Value GraphBuilder::vectorOp() {
  Location loc = builder.getUnknownLoc();
  switch (draw(6)) {
  case 4:
    return dl::ReduceOp::create(builder, loc, dl::ReduceKind::Min, any(matrix), int64_t(draw(2)));
  case 5:
    return dl::TanhOp::create(
        builder, loc, vector,
        dl::ReduceOp::create(builder, loc, dl::ReduceKind::Sum, any(matrix), int64_t(draw(2))));
  case 3:
    return dl::MomentsOp::create(builder, loc, any(matrix), int64_t(draw(2)))->getResult(draw(2));
  case 0:
    return dl::ReduceOp::create(builder, loc, dl::ReduceKind::Max, any(matrix), int64_t(draw(2)));
  case 1:
    return dl::MinimumOp::create(builder, loc, any(vector), any(vector));
  default:
    return dl::NegateOp::create(builder, loc, vector, any(vector));
  }
}

dl::EntryOp GraphBuilder::build(unsigned ops) {
  Location loc = builder.getUnknownLoc();
  auto entry =
      dl::EntryOp::create(builder, loc, "f", builder.getFunctionType({matrix, matrix, vector}, {}),
                          program::EntryKind::Infer);
  builder.setInsertionPointToEnd(&entry.getBlock());
  auto end = dl::ReturnOp::create(builder, loc, ValueRange());
  builder.setInsertionPoint(end);
  llvm::append_range(values, entry.getBlock().getArguments());
  for (unsigned i = 0; i < ops; ++i)
    values.push_back(draw(3) ? matrixOp() : vectorOp());
  for (unsigned i = 0; i < 4; ++i)
    entry.addOutput(values[values.size() - 1 - draw(values.size() / 2)], "out" + std::to_string(i),
                    program::ValueKind::Result);
  return entry;
}

static std::vector<Tensor> run(dl::EntryOp entry) {
  std::vector<Tensor> inputs;
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
    inputs.push_back(interpreter::uniformTensor(interpreter::shapeOf(type), std::to_string(i)));
  FailureOr<Interpreter::Results> results = Interpreter().run(entry, inputs);
  EXPECT_TRUE(succeeded(results));
  return succeeded(results) ? results->outputs : std::vector<Tensor>();
}

static void expectOneAnchor(dl::FusedOp fused) {
  Block &body = fused.getBody().front();
  SmallVector<dl::ReductionOp> reductions(body.getOps<dl::ReductionOp>());
  for (dl::ReductionOp op : reductions)
    EXPECT_TRUE(dl::shareLoops(reductions.front(), op));
  auto isAnchor = [](Operation &op) { return isa<dl::MatmulOp, dl::TransposeOp>(op); };
  EXPECT_LE(llvm::count_if(body, isAnchor) + !reductions.empty(), 1);
}

static std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// Returns how many regions were computed again.
static int64_t checkRecomputed(ModuleOp module, dl::EntryOp entry, bool cheapOnly,
                               const std::vector<Tensor> &expected) {
  const std::string before = textOf(module);
  dl::LiveMemory memory(entry, cheapOnly);
  const int64_t peak = memory.peak();
  memory.reduceMost();
  const int64_t count = memory.countRecomputed();
  EXPECT_TRUE(count > 0 ? memory.peak() < peak : memory.peak() == peak);
  EXPECT_EQ(count, llvm::count_if(entry.getBlock(),
                                  [](Operation &op) { return op.hasAttr("dl.recomputed"); }));
  EXPECT_TRUE(succeeded(module.verify()));
  std::vector<Tensor> found = run(entry);
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i].values, expected[i].values) << "output " << i;
  // What is enough costs nothing, and what cannot be is left alone.
  EXPECT_TRUE(memory.reduce(peak));
  EXPECT_EQ(memory.countRecomputed(), 0);
  EXPECT_FALSE(memory.reduce(0));
  EXPECT_EQ(textOf(module), before);
  return count;
}

/// Adds what was computed again with and without products.
static void checkGraph(MLIRContext &context, unsigned seed, int64_t (&recomputed)[2]) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  dl::EntryOp entry = GraphBuilder(*module, seed).build(8 + seed % 40);
  ASSERT_TRUE(succeeded(module->verify()));
  std::vector<Tensor> expected = run(entry);

  PassManager manager(&context);
  manager.addNestedPass<dl::EntryOp>(dl::createFuse());
  manager.addNestedPass<dl::EntryOp>(dl::createSchedule());
  ASSERT_TRUE(succeeded(manager.run(*module)));
  std::vector<Tensor> found = run(entry);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i].values, expected[i].values) << "output " << i;

  for (Operation &op : entry.getBlock()) {
    EXPECT_FALSE((isa<dl::ElementwiseOp, dl::ReductionOp, dl::MatmulOp, dl::BroadcastOp>(op)))
        << op.getName().getStringRef().str() << " is in no region";
    if (auto fused = dyn_cast<dl::FusedOp>(op))
      expectOneAnchor(fused);
  }
  for (bool cheapOnly : {false, true})
    recomputed[cheapOnly] += checkRecomputed(*module, entry, cheapOnly, expected);
}

TEST(FuseRandomTest, KeepsResults) {
  MLIRContext context;
  context.loadDialect<dl::DLDialect>();
  int64_t recomputed[2] = {};
  for (unsigned seed = 0; seed < 2000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    checkGraph(context, seed, recomputed);
  }
  EXPECT_GT(recomputed[true], 0);
  EXPECT_GT(recomputed[false], recomputed[true]);
}
