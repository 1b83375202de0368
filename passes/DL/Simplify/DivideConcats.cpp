//===- DivideConcats.cpp - concats of many parts, none of which chooses among them all --------===//
//
//   %y = dl.concat %a, %b, ... axis = 1 : tensor<8x16xf32>, ...      // 20 parts
// ->
//   %0 = dl.reshape %a : ... to tensor<1x8x16xf32>
//   ...
//   %1 = dl.concat %0, ... axis = 0                                  // each part is memory of it
//   %2 = dl.transpose %1 order = [1, 0, 2]
//   %y = dl.reshape %2
//
// An element of a concat that is no join of memory is chosen among all parts. Parts of one size
// that begin where a buffer may begin lie one behind the other, and are put in order by a
// transposition; others are joined by sixteen, and these again: along the leading axis sixteen
// parts of one size make a multiple of 64 bytes, so the second round is one of memory.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "passes/DL/Memory/Buffers.h"
#include "passes/DL/Passes.h"

namespace dlc::dl {
#define GEN_PASS_DEF_DIVIDECONCATS
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc::dl;

/// Parts that are chosen among for each element.
static constexpr size_t most = 16;

/// Of parts of one type: they as the elements of a new leading axis, turned into their places. Null
/// if they cannot be memory of that.
static Value joinAndTurn(TensorBuilder b, ConcatOp op) {
  RankedTensorType part = b.typeOf(op.getXs().front());
  if (!llvm::all_equal(op.getXs().getTypes()) ||
      bytesOf(op.getXs().front()) % dlc::program::alignment != 0)
    return {};
  const int64_t outer = llvm::product_of(part.getShape().take_front(op.getAxis())),
                inner = llvm::product_of(part.getShape().drop_front(op.getAxis()));
  SmallVector<Value> parts;
  for (Value x : op.getXs())
    parts.push_back(b.reshape(x, part.clone({1, outer, inner})));
  Value joined = ConcatOp::create(b.builder, b.loc, parts, 0);
  Value turned = TransposeOp::create(b.builder, b.loc, joined, ArrayRef<int64_t>{1, 0, 2});
  return b.reshape(turned, b.typeOf(op.getY()));
}

/// Joined by groups, these by groups again, until few are left or the rest is a matter of memory.
static Value joinByGroups(TensorBuilder b, ConcatOp op) {
  ConcatOp whole = op;
  while (whole.getXs().size() > most && !isJoin(whole)) {
    SmallVector<Value> groups;
    ValueRange parts = whole.getXs();
    for (size_t i = 0; i < parts.size(); i += most)
      groups.push_back(b.builder.createOrFold<ConcatOp>(
          b.loc, parts.slice(i, std::min(most, parts.size() - i)), op.getAxis()));
    if (whole != op)
      whole.erase();
    whole = ConcatOp::create(b.builder, b.loc, groups, op.getAxis());
  }
  return whole;
}

namespace {
struct DivideConcats : dlc::dl::impl::DivideConcatsBase<DivideConcats> {
  void runOnOperation() override {
    for (ConcatOp op : llvm::make_early_inc_range(getOperation().getBlock().getOps<ConcatOp>())) {
      if (op.getXs().size() <= most || isJoin(op))
        continue;
      OpBuilder builder(op);
      TensorBuilder b{builder, op.getLoc()};
      Value divided = joinAndTurn(b, op);
      op.replaceAllUsesWith(divided ? divided : joinByGroups(b, op));
      op.erase();
    }
  }
};
} // namespace
