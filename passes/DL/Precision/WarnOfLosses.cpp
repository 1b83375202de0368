//===- WarnOfLosses.cpp - what is kept in 16 bits and loses by that ---------------------------===//
//
// The rules of dl-assign-precision compute sums and softmax in f32. What the program has cast to 16
// bits stays so, also where that loses what it is made of.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "passes/DL/Precision/Precision.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace dlc::dl;

static StringRef spell(Type type) { return type.isBF16() ? "bf16" : "f16"; }

/// Whether only multiples of it, as a mean's, are used: these are as exact as any of their type.
static bool isScaled(ReduceOp sum) {
  return llvm::all_of(sum->getUsers(), [&](Operation *user) {
    return isa<MultiplyOp, DivideOp>(user) && llvm::any_of(user->getOperands(), [](Value x) {
             Value source = x;
             while (auto broadcast = source.getDefiningOp<BroadcastOp>())
               source = broadcast.getX();
             return bool(source.getDefiningOp<ConstantOp>());
           });
  });
}

/// Of more numbers than the type's digits can count a single one, were they all alike, is less than
/// the last digit of the sum.
static std::string lossOf(ReduceOp sum) {
  auto type = cast<FloatType>(getElementTypeOrSelf(sum.getY()));
  const int64_t count = sum.getX().getType().getNumElements() /
                        std::max<int64_t>(sum.getY().getType().getNumElements(), 1);
  if (isScaled(sum))
    return type.isF16() && count > 65504
               ? ("the sum of " + Twine(count) +
                  " numbers is kept in f16, which ends at 65504, on its way to their mean")
                     .str()
               : "";
  const unsigned bits = type.getFPMantissaWidth();
  if (count <= int64_t(1) << bits)
    return "";
  return ("a sum of " + Twine(count) + " numbers is kept in " + spell(type) + ", of which " +
          Twine(bits) + " bits are too few for one of them to count")
      .str();
}

/// Numbers of f16 have fewer digits from 2^-14 on downwards, which is what those of a longer row
/// are on average.
static std::string lossOf(SoftmaxOp softmax) {
  const int64_t length = softmax.getX().getType().getDimSize(softmax.getAxis());
  if (!getElementTypeOrSelf(softmax.getX()).isF16() || length <= 1 << 14)
    return "";
  return ("a softmax over " + Twine(length) +
          " numbers is kept in f16, which loses digits below 2^-14 and all of them below 2^-25")
      .str();
}

static std::string lossOf(Operation *op) {
  if (auto softmax = dyn_cast<SoftmaxOp>(op))
    return lossOf(softmax);
  auto reduce = dyn_cast<ReduceOp>(op);
  const bool isSum = reduce && reduce.getKind() == ReduceKind::Sum;
  return isSum && getElementTypeOrSelf(reduce.getY()).isFloat(16) ? lossOf(reduce) : "";
}

void dlc::dl::warnOfLosses(ModuleOp module) {
  // Several entries compute the same.
  llvm::MapVector<Attribute, std::string> losses;
  for (EntryOp entry : module.getOps<EntryOp>())
    for (Operation &op : entry.getBlock())
      if (std::string loss = lossOf(&op); !loss.empty())
        losses.insert({op.getLoc(), loss});
  for (const auto &[loc, loss] : losses)
    emitWarning(cast<LocationAttr>(loc)) << loss << "; f32(...) of what it takes keeps it in f32";
}
