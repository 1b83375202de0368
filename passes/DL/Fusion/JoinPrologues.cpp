//===- JoinPrologues.cpp - what is computed of an image where convolutions read it ------------===//
//
// A region that computes an image element by element of one other, as a batch norm's scale and
// shift with a ReLU do, joins all regions that read the image: then it is stored nowhere.
//
//   %y = fused{ relu(%scale * %x + %shift) }
//   %z = fused{ convolution(%y, %w) }
//   %dw = fused{ convolution_backward_filter(%y, %dz) }
//   %dx = fused{ select(%y > 0, convolution_backward_data(%dz, %w), 0) }
// ->
//   %z = fused{ convolution(relu(%scale * %x + %shift), %w) }
//   %dw = fused{ convolution_backward_filter(relu(%scale * %x + %shift), %dz) }
//   %dx = fused{ select(relu(%scale * %x + %shift) > 0, convolution_backward_data(%dz, %w), 0) }
//
// Layouts stay what was chosen. Code does where it can: what reads an image where it lies copies it
// now. All of them together must take less time than before, since as long as one of them reads
// the image it is stored for all; where memory is to be saved, less than if dl-rematerialize made
// the image once more. What needs several images stays: they would live as long as the
// one that is computed of them.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "passes/DL/Fusion/Join.h"
#include "passes/DL/Memory/Buffers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dlc::dl;

//===------------------------------------------------------------------------------------------===//
// What is looked for
//===------------------------------------------------------------------------------------------===//

/// Whether the region computes its one result of one operand of its size, or of an input, which is
/// there anyway, and of others that are small beside it.
static bool computesOfOne(FusedOp fused) {
  const int64_t small = 16; // of them make as much as the result
  if (!fused.getCandidateAttr() || fused.getNumResults() != 1 ||
      !llvm::all_of(bodyOf(fused), [](Operation &op) {
        auto index = dyn_cast<IndexOp>(op);
        return isa<ElementwiseOp, YieldOp>(op) || (index && index.keepsOrder() && !index.looksUp());
      }))
    return false;
  const int64_t size = bytesOf(fused.getResult(0));
  auto isLarge = [&](Value operand) { return small * bytesOf(operand) > size; };
  SmallVector<Value> large = llvm::filter_to_vector(fused.getOperands(), isLarge);
  return large.size() == 1 && (bytesOf(large.front()) <= size || isa<BlockArgument>(large.front()));
}

/// The convolution that reads `image`, an argument of a region, as its image; null if none does.
static AnchorOp convolutionOf(BlockArgument image) {
  SmallVector<Value> same = {image};
  for (size_t i = 0; i < same.size(); ++i)
    for (OpOperand &use : same[i].getUses()) {
      if (isa<ConvertLayoutOp>(use.getOwner()))
        same.push_back(use.getOwner()->getResult(0));
      else if (isa<ConvolutionOp, ConvolutionBackwardFilterOp>(use.getOwner()) &&
               use.getOperandNumber() == 0)
        return cast<AnchorOp>(use.getOwner());
    }
  return {};
}

/// Whether a convolution in `reader` can compute the image that it reads.
static bool takesPrologue(FusedOp reader, FusedOp image) {
  return llvm::any_of(reader->getOpOperands(), [&](OpOperand &operand) {
    return operand.get().getDefiningOp() == image &&
           convolutionOf(bodyOf(reader).getArgument(operand.getOperandNumber()));
  });
}

/// The regions that read the image, if nothing else does, and convolutions are among them.
static std::optional<llvm::SetVector<FusedOp>> readersOf(FusedOp image) {
  llvm::SetVector<FusedOp> readers;
  for (Operation *user : image->getUsers()) {
    auto reader = dyn_cast<FusedOp>(user);
    if (!reader || !reader.getCandidateAttr())
      return std::nullopt;
    readers.insert(reader);
  }
  if (llvm::none_of(readers, [&](FusedOp reader) { return takesPrologue(reader, image); }))
    return std::nullopt;
  return readers;
}

//===------------------------------------------------------------------------------------------===//
// Rewrites
//===------------------------------------------------------------------------------------------===//

static void joinReaders(Joiner &joiner, FusedOp image) {
  std::optional<llvm::SetVector<FusedOp>> readers = readersOf(image);
  if (!readers)
    return;
  SmallVector<Join> joins = llvm::map_to_vector(*readers, [&](FusedOp reader) {
    return Join{reader, joinRegions(image, reader, OfFirst::NotStored)};
  });
  // To compute it once more takes as long as the first time.
  const double apart = joiner.secondsOf(image) * (joiner.savesMemory ? 2 : 1);
  if (!joiner.accept(joins, apart, JoinedCode::Any))
    return;
  for (auto &[reader, joined, rest] : joins) {
    reader.replaceAllUsesWith(joined.getResults());
    reader.erase();
  }
  image.erase();
}

void dlc::dl::joinPrologues(Joiner &joiner) {
  SmallVector<FusedOp> images(
      llvm::make_filter_range(joiner.block.getOps<FusedOp>(), computesOfOne));
  // From the last on: readers, which joins take the place of, have been images themselves.
  for (FusedOp image : llvm::reverse(images))
    joinReaders(joiner, image);
}
