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

/// Copies what `region` computes to where `builder` stands, `inside` being where its operands are
/// found there. Returns copies of its results.
static SmallVector<Value> cloneBody(OpBuilder &builder, FusedOp region, const IRMapping &inside) {
  IRMapping mapping;
  for (auto [operand, argument] :
       llvm::zip_equal(region->getOperands(), bodyOf(region).getArguments()))
    mapping.map(argument, inside.lookup(operand));
  for (Operation &op : bodyOf(region).without_terminator())
    cloneFolded(builder, op, mapping);
  return llvm::map_to_vector(bodyOf(region).getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookup(value); });
}

FusedOp dlc::dl::joinRegions(FusedOp first, FusedOp second, OfFirst results) {
  OpBuilder builder(second);
  const bool isStored = results == OfFirst::Stored;
  llvm::SetVector<Value> operands(first->operand_begin(), first->operand_end());
  for (Value operand : second->getOperands())
    if (operand.getDefiningOp() != first)
      operands.insert(operand);
  SmallVector<Type> types;
  if (isStored)
    llvm::append_range(types, first->getResultTypes());
  llvm::append_range(types, second->getResultTypes());
  const Location loc = (isStored ? first : second).getLoc();
  auto joined = FusedOp::create(builder, loc, types, operands.getArrayRef());
  Block &body = joined.getBody().emplaceBlock();
  IRMapping inside;
  for (Value operand : operands)
    inside.map(operand, body.addArgument(operand.getType(), loc));
  builder.setInsertionPointToEnd(&body);
  const SmallVector<Value> made = cloneBody(builder, first, inside);
  inside.map(first.getResults(), made);
  SmallVector<Value> yielded = isStored ? made : SmallVector<Value>();
  llvm::append_range(yielded, cloneBody(builder, second, inside));
  YieldOp::create(builder, loc, yielded);
  // Conversions to the layout that the first one's results had in memory.
  for (auto convert : llvm::make_early_inc_range(body.getOps<ConvertLayoutOp>()))
    if (convert->use_empty())
      convert.erase();
  return joined;
}
