//===- PackIndices.cpp - the index of a max_pool in less than a byte --------------------------===//
//
//   %y, %i = dl.max_pool ...      // in a dl.fused; tensor<8x64x28x28xui8, #nchw16c> outside
// ->
//   %y, %i = dl.max_pool ...      // tensor<8x64x28x28xui2, #nchw16c>
//
// with every value that holds the index: as it is stored, and as the backward pass reads it.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "dialects/Program/Layout.h"
#include "passes/DL/Passes.h"

namespace dlc::dl {
#define GEN_PASS_DEF_PACKINDICES
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc::dl;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// All values that hold the index; empty if something else than pooling reads it.
static SmallVector<Value> valuesOf(Value index) {
  SmallVector<Value> values = {index};
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      Operation *user = use.getOwner();
      const unsigned number = use.getOperandNumber();
      if (isa<YieldOp>(user))
        values.push_back(user->getParentOp()->getResult(number));
      else if (auto fused = dyn_cast<FusedOp>(user))
        values.push_back(fused.getBody().getArgument(number));
      else if (isa<ConvertLayoutOp>(user))
        values.push_back(user->getResult(0));
      else if (!isa<MaxPoolBackwardOp, MaxPoolGatherOp>(user))
        return {};
    }
  return values;
}

/// The region that makes or reads a value as it is stored; null: it is computed in one.
static FusedOp regionOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return dyn_cast<FusedOp>(argument.getOwner()->getParentOp());
  return dyn_cast<FusedOp>(value.getDefiningOp());
}

/// Whether a stored value lies in blocks of whole bytes, and so does all of its rank that the
/// region reads and makes.
static bool liesInBlocks(Value stored, FusedOp region, int64_t ofByte) {
  auto layout = dyn_cast_or_null<dlc::program::LayoutAttr>(typeOf(stored).getEncoding());
  if (!layout || layout.getBlocks().empty() || layout.getBlocks().back() % ofByte != 0)
    return false;
  auto isLike = [&](Value value) {
    RankedTensorType type = typeOf(value);
    return type.getRank() != typeOf(stored).getRank() || type.getEncoding() == layout;
  };
  return llvm::all_of(region->getOperands(), isLike) && llvm::all_of(region->getResults(), isLike);
}

namespace {
struct PackIndices : dlc::dl::impl::PackIndicesBase<PackIndices> {
  void runOnOperation() override {
    getOperation().walk([](MaxPoolOp pool) {
      const int64_t elements = pool.getGeometry().kernelSize();
      if (!pool.getIndex() || !isa<FusedOp>(pool->getParentOp()) || elements > 16)
        return;
      Type packed =
          IntegerType::get(pool.getContext(), elements > 4 ? 4 : 2, IntegerType::Unsigned);
      SmallVector<Value> values = valuesOf(pool.getIndex());
      if (values.empty() || llvm::any_of(values, [&](Value value) {
            FusedOp region = regionOf(value);
            return region && !liesInBlocks(value, region, dlc::program::elementsOfByte(packed));
          }))
        return;
      for (Value value : values)
        value.setType(typeOf(value).clone(packed));
    });
  }
};
} // namespace
