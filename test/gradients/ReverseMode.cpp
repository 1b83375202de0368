//===- ReverseMode.cpp - gradient rules in reverse order --------------------------------------===//
#include "test/gradients/ReverseMode.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"

using namespace mlir;

namespace dlc::gradients {

bool isFloatTensor(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

static void decomposeWhereNoRule(dl::EntryOp entry) {
  for (Operation &op : llvm::make_early_inc_range(entry.getBlock())) {
    auto composite = dyn_cast<dl::DecomposableOp>(op);
    if (!composite || isa<dl::DifferentiableOp>(op))
      continue;
    OpBuilder builder(&op);
    op.replaceAllUsesWith(composite.decompose(builder));
    op.erase();
  }
}

namespace {
/// Gradients of values, summed over their uses.
struct Accumulator {
  explicit Accumulator(OpBuilder &builder) : builder(builder) {}
  OpBuilder &builder;
  llvm::DenseMap<Value, Value> gradients;

  void add(Value value, Value gradient) {
    Value &sum = gradients[value];
    sum = sum ? dl::AddOp::create(builder, gradient.getLoc(), sum, gradient).getResult() : gradient;
  }
};
} // namespace

static LogicalResult reverse(Operation *op, Accumulator &into) {
  SmallVector<Value> resultGradients, operandGradients(op->getNumOperands());
  for (Value result : op->getResults())
    resultGradients.push_back(into.gradients.lookup(result));
  if (llvm::none_of(resultGradients, [](Value value) { return value != nullptr; }))
    return success();
  auto differentiable = dyn_cast<dl::DifferentiableOp>(op);
  if (!differentiable) // constants, iota: nothing flows further
    return success(op->getNumOperands() == 0);
  SmallVector<bool> wanted(op->getNumOperands(), true);
  if (failed(differentiable.buildGradient(into.builder, resultGradients, wanted, operandGradients)))
    return failure();
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGradients))
    if (gradient)
      into.add(operand, gradient);
  return success();
}

LogicalResult appendGradients(dl::EntryOp entry) {
  decomposeWhereNoRule(entry);
  SmallVector<Operation *> ops = llvm::to_vector(
      llvm::map_range(entry.getBlock().without_terminator(), [](Operation &op) { return &op; }));
  OpBuilder builder(entry.getReturn());
  Accumulator into(builder);
  unsigned numArguments = entry.getNumArguments();
  for (Value output : entry.getReturn().getOutputs()) {
    if (!isFloatTensor(output.getType()))
      continue;
    unsigned index = entry.getNumArguments();
    if (failed(entry.insertArgument(index, output.getType(), {}, output.getLoc())))
      return failure();
    into.add(output, entry.getArgument(index));
  }
  for (Operation *op : llvm::reverse(ops))
    if (failed(reverse(op, into)))
      return failure();
  for (unsigned i = 0; i < numArguments; ++i) {
    auto type = cast<RankedTensorType>(entry.getArgument(i).getType());
    if (!isFloatTensor(type))
      continue;
    Value gradient = into.gradients.lookup(entry.getArgument(i));
    if (!gradient)
      gradient = dl::ConstantOp::createSplat(builder, entry.getLoc(), type, 0);
    entry.addOutput(gradient, "gradient", program::ValueKind::Gradient);
  }
  return success();
}

} // namespace dlc::gradients
