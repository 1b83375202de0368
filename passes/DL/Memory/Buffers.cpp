//===- Buffers.cpp - what the values of an entry are in memory --------------------------------===//
#include "passes/DL/Memory/Buffers.h"
#include "dialects/DL/Facts/Rows.h"
#include "dialects/DL/Facts/Slice.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "dialects/Program/Layout.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

bool dlc::dl::isView(Operation *op) {
  auto index = dyn_cast_or_null<IndexOp>(op);
  return index && index.canLieInOperand();
}

Value dlc::dl::bufferOf(Value value) {
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

bool dlc::dl::isJoin(Operation *op) {
  auto index = dyn_cast_or_null<IndexOp>(op);
  return index && index.canHoldOperands();
}

IndexOp dlc::dl::joinOf(Value value) {
  Operation *producer = value.getDefiningOp(), *first = nullptr;
  if (!isa_and_nonnull<FusedOp>(producer) && !isJoin(producer))
    return {};
  SmallVector<Value> same = {value};
  for (size_t i = 0; i < same.size(); ++i)
    for (Operation *user : same[i].getUsers()) {
      if (isa<ReshapeOp>(user))
        same.push_back(user->getResult(0));
      else if (isJoin(user) && (!first || user->isBeforeInBlock(first)))
        first = user;
    }
  return cast_if_present<IndexOp>(first);
}

int64_t dlc::dl::bytesOf(Value value) {
  return program::storageBytes(cast<RankedTensorType>(value.getType()));
}

int64_t dlc::dl::bytesOfAll(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    bytes += bytesOf(value);
  return bytes;
}

bool dlc::dl::runsNothing(FusedOp fused) {
  return llvm::all_of(fused.getResultTypes(),
                      [](Type type) { return cast<RankedTensorType>(type).getNumElements() == 0; });
}

program::CandidateAttr dlc::dl::chosenFor(Operation *op) {
  auto fused = dyn_cast<FusedOp>(op);
  return fused ? fused.getCandidateAttr() : program::CandidateAttr();
}

double dlc::dl::secondsOf(Operation *op) {
  if (op->hasTrait<StandsFirst>() || op->hasTrait<StandsLast>() || isView(op) || isJoin(op) ||
      isa<AllReduceOp>(op))
    return 0;
  if (program::CandidateAttr candidate = chosenFor(op))
    return candidate.getSeconds().getValueAsDouble();
  const int64_t bytes = bytesOfAll(op->getOperands()) + bytesOfAll(op->getResults());
  return double(bytes) / 1e10;
}

/// The rows that the region's reductions combine.
static std::optional<Rows> rowsOf(Block &block) {
  auto reductions = block.getOps<ReductionOp>();
  return reductions.empty() ? std::nullopt : rowsOf(*reductions.begin());
}

/// Whether a place of `op`'s result waits only for the same place of its operands, or for the same
/// row, which is stored when all of it has been read.
static bool staysInPlace(Operation *op, std::optional<Rows> rows) {
  if (isa<ElementwiseOp>(op))
    return true;
  auto index = dyn_cast<IndexOp>(op);
  return rows && (isa<ReductionOp>(op) || (index && spreadsOverRows(index, *rows)));
}

/// True if every path from `argument` to the value whose slice it is stays in place.
static bool sameIndexOnly(BlockArgument argument, const llvm::SetVector<Value> &slice) {
  const std::optional<Rows> rows = rowsOf(*argument.getOwner());
  llvm::SetVector<Value> reached;
  reached.insert(argument);
  for (size_t i = 0; i < reached.size(); ++i)
    for (Operation *user : reached[i].getUsers()) {
      if (isa<YieldOp>(user) ||
          !llvm::any_of(user->getResults(), [&](Value r) { return slice.contains(r); }))
        continue;
      if (!staysInPlace(user, rows))
        return false;
      reached.insert(user->result_begin(), user->result_end());
    }
  return true;
}

/// Whether result `number` is of reductions behind an anchor, and needs nothing of `argument` but
/// what other results hold: those are read where they are stored, or reduced before they are.
static bool reducesStored(OperandRange yielded, unsigned number, BlockArgument argument) {
  llvm::SmallPtrSet<Value, 4> stored;
  for (auto [other, value] : llvm::enumerate(yielded))
    if (other != number) {
      stored.insert(value);
      if (auto converted = value.getDefiningOp<ConvertLayoutOp>())
        stored.insert(converted.getX());
    }
  auto isOfAnchor = [](AnchorOp op) { return !isa<ReductionOp>(*op); };
  if (llvm::none_of(argument.getOwner()->getOps<AnchorOp>(), isOfAnchor))
    return false;
  llvm::SetVector<Value> needed;
  needed.insert(yielded[number]);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i] == argument)
      return false;
    Operation *op = needed[i].getDefiningOp();
    if (!op || stored.contains(needed[i]))
      continue;
    if (auto anchor = dyn_cast<AnchorOp>(op); anchor && isOfAnchor(anchor))
      return false;
    needed.insert(op->operand_begin(), op->operand_end());
  }
  return true;
}

SmallVector<InPlacePair> dlc::dl::findInPlacePairs(FusedOp fused) {
  Block &block = fused.getBody().front();
  OperandRange yielded = block.getTerminator()->getOperands();
  SmallVector<llvm::SetVector<Value>> slices =
      llvm::map_to_vector(yielded, [](Value value) { return backwardSlice(value); });
  SmallVector<InPlacePair> pairs;
  program::CandidateAttr candidate = fused.getCandidateAttr();
  if (candidate && candidate.getNotInPlace())
    return pairs;
  const bool isUpdate = fused->hasAttr(updateAttr);
  for (BlockArgument argument : block.getArguments()) {
    SmallVector<unsigned> users;
    for (auto [i, slice] : llvm::enumerate(slices))
      if (slice.contains(argument) && !reducesStored(yielded, i, argument))
        users.push_back(i);
    if ((isUpdate || users.size() == 1) &&
        llvm::all_of(users, [&](unsigned i) { return sameIndexOnly(argument, slices[i]); }))
      for (unsigned i : users)
        if (argument.getType() == yielded[i].getType())
          pairs.push_back({argument.getArgNumber(), i});
  }
  return pairs;
}
