//===- NarrowVariables.cpp - weights that are only read in 16 bits are stored so --------------===//
//
//   dl.variable @w : tensor<64x3xf32>            dl.variable @w : tensor<64x3xbf16>
//   dl.entry @infer(%x: ...) {                   dl.entry @infer(%x: ...) {
//     %w = dl.read @w : tensor<64x3xf32>    ->     %w = dl.read @w : tensor<64x3xbf16>
//     %v = dl.cast %w : ... to ...bf16             %y = dl.matmul %x, %w
//     %y = dl.matmul %x, %v
//
// Only where nothing trains: an update needs the variable as it is.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/DL/Precision/NarrowVariables.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "passes/DL/Passes.h"

namespace dlc::dl {
#define GEN_PASS_DEF_NARROWVARIABLES
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

/// The one float type, narrower than that of the reads, that they are cast to and used in alone;
/// null if there is none.
static FloatType castTypeOf(ArrayRef<ReadOp> reads) {
  FloatType narrow;
  for (ReadOp read : reads)
    for (Operation *user : read->getUsers()) {
      auto cast = dyn_cast<CastOp>(user);
      auto type = cast ? dyn_cast<FloatType>(getElementTypeOrSelf(cast.getType())) : FloatType();
      if (!type || (narrow && type != narrow))
        return {};
      narrow = type;
    }
  if (!narrow)
    return {};
  ReadOp first = reads.front();
  auto stored = dyn_cast<FloatType>(getElementTypeOrSelf(first.getResult()));
  return stored && narrow.getWidth() < stored.getWidth() ? narrow : FloatType();
}

void dlc::dl::storeIn(FloatType element, VariableOp variable, ArrayRef<ReadOp> reads) {
  RankedTensorType wide = variable.getTensorType(), type = wide.clone(element);
  variable.setType(type);
  for (ReadOp read : reads) {
    read.getResult().setType(type);
    SmallVector<OpOperand *> others;
    for (OpOperand &use : llvm::make_early_inc_range(read->getUses())) {
      auto cast = dyn_cast<CastOp>(use.getOwner());
      if (!cast || cast.getType() != type) {
        others.push_back(&use);
        continue;
      }
      cast->replaceAllUsesWith(read);
      cast->erase();
    }
    if (others.empty())
      continue;
    OpBuilder builder(read->getContext());
    builder.setInsertionPointAfter(read);
    Value widened = CastOp::create(builder, read.getLoc(), wide, read);
    for (OpOperand *use : others)
      use->set(widened);
  }
}

namespace {
struct NarrowVariables : dlc::dl::impl::NarrowVariablesBase<NarrowVariables> {
  void runOnOperation() override {
    SmallVector<EntryOp> entries(getOperation().getOps<EntryOp>());
    if (!llvm::all_of(entries, [](EntryOp entry) { return program::usesModel(entry.getKind()); }))
      return;
    llvm::DenseSet<StringAttr> assigned;
    llvm::DenseMap<StringAttr, SmallVector<ReadOp>> reads;
    for (EntryOp entry : entries)
      for (Operation &op : entry.getBlock())
        if (auto read = dyn_cast<ReadOp>(op))
          reads[read.getVariableAttr().getAttr()].push_back(read);
        else if (auto assign = dyn_cast<AssignOp>(op))
          assigned.insert(assign.getVariableAttr().getAttr());
    for (auto variable : getOperation().getOps<VariableOp>()) {
      StringAttr name = variable.getSymNameAttr();
      ArrayRef<ReadOp> own = reads[name];
      if (FloatType narrow = castTypeOf(own); narrow && !assigned.contains(name))
        storeIn(narrow, variable, own);
    }
  }
};
} // namespace
