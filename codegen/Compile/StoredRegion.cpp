//===- StoredRegion.cpp - see StoredRegion.h --------------------------------------------------===//
#include "codegen/Compile/StoredRegion.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Conversion/SplitBlocks.h"
#include "passes/Conversion/StorageOrder.h"

using namespace mlir;

namespace dlc::codegen {

SmallVector<RankedTensorType> storedTypes(dl::FusedOp region) {
  SmallVector<RankedTensorType> types;
  for (Type type : region->getOperandTypes())
    types.push_back(cast<RankedTensorType>(type));
  for (Type type : region->getResultTypes())
    types.push_back(cast<RankedTensorType>(type));
  return types;
}

Operation *convolutionOf(dl::FusedOp region) {
  for (Operation &op : region.getBody().front())
    if (auto anchor = dyn_cast<dl::AnchorOp>(op);
        anchor && anchor.getAnchor() == dl::Anchor::Convolution)
      return &op;
  return nullptr;
}

StoredRegion::StoredRegion(dl::FusedOp region, const dl::Layouts &layouts) {
  OpBuilder builder(region.getContext());
  copy = dl::FusedOp::create(builder, region.getLoc(), region.getResultTypes(), ValueRange());
  IRMapping mapping;
  region.getBody().cloneInto(&copy->getBody(), mapping);
  dl::storeAs(block(), layouts);
  adoptStorageOrder(block());
}

bool StoredRegion::isRowMajor() {
  return llvm::none_of(storedValues(block()), [](Value value) {
    return bool(cast<RankedTensorType>(value.getType()).getEncoding());
  });
}

} // namespace dlc::codegen
