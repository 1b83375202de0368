//===- JoinRegions.cpp - two regions as one ---------------------------------------------------===//
#include "passes/DL/Fusion/JoinRegions.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dlc::dl;

/// A copy of `op`; of a conversion to the layout that its operand was converted from, nothing.
static void cloneFolded(OpBuilder &builder, Operation &op, IRMapping &mapping) {
  if (auto convert = dyn_cast<ConvertLayoutOp>(op))
    if (auto before = mapping.lookup(convert.getX()).getDefiningOp<ConvertLayoutOp>();
        before && before.getX().getType() == op.getResult(0).getType()) {
      mapping.map(op.getResult(0), before.getX());
      return;
    }
  builder.clone(op, mapping);
}

FusedOp dlc::dl::joinRegions(FusedOp producer, FusedOp consumer, OfProducer results) {
  OpBuilder builder(consumer);
  const bool isStored = results == OfProducer::Stored;
  llvm::SetVector<Value> operands(producer->operand_begin(), producer->operand_end());
  for (Value operand : consumer->getOperands())
    if (operand.getDefiningOp() != producer)
      operands.insert(operand);
  SmallVector<Type> types;
  if (isStored)
    llvm::append_range(types, producer->getResultTypes());
  llvm::append_range(types, consumer->getResultTypes());
  const Location loc = (isStored ? producer : consumer).getLoc();
  auto joined = FusedOp::create(builder, loc, types, operands.getArrayRef());
  Block &body = joined.getBody().emplaceBlock();
  for (Value operand : operands)
    body.addArgument(operand.getType(), loc);
  auto argumentOf = [&](Value operand) {
    return body.getArgument(llvm::find(operands, operand) - operands.begin());
  };
  builder.setInsertionPointToEnd(&body);
  IRMapping mapping;
  for (auto [operand, argument] :
       llvm::zip_equal(producer->getOperands(), bodyOf(producer).getArguments()))
    mapping.map(argument, argumentOf(operand));
  for (Operation &op : bodyOf(producer).without_terminator())
    cloneFolded(builder, op, mapping);
  SmallVector<Value> made, yielded;
  for (Value value : bodyOf(producer).getTerminator()->getOperands())
    made.push_back(mapping.lookup(value));
  if (isStored)
    yielded = made;
  for (auto [operand, argument] :
       llvm::zip_equal(consumer->getOperands(), bodyOf(consumer).getArguments()))
    mapping.map(argument, operand.getDefiningOp() == producer
                              ? made[cast<OpResult>(operand).getResultNumber()]
                              : argumentOf(operand));
  for (Operation &op : bodyOf(consumer).without_terminator())
    cloneFolded(builder, op, mapping);
  for (Value value : bodyOf(consumer).getTerminator()->getOperands())
    yielded.push_back(mapping.lookup(value));
  // Conversions to the layout that the producer's results had in memory.
  for (Value value : made)
    if (Operation *op = value.getDefiningOp();
        op && !llvm::is_contained(yielded, value) && op->use_empty())
      op->erase();
  YieldOp::create(builder, loc, yielded);
  return joined;
}
