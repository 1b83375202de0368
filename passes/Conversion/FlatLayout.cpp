//===- FlatLayout.cpp - the tensors of a multi_tensor in flat buffers -------------------------===//
#include "passes/Conversion/FlatLayout.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/Exec/Memory.h"
#include "dialects/Program/Layout.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;

FlatLayout::FlatLayout(dl::MultiTensorOp op) {
  unsigned narrowest = 64;
  SmallVector<Type> elements = op.getStreamElements();
  llvm::append_range(elements, op.getResultElements());
  for (Type element : elements)
    narrowest = std::min(narrowest, element.getIntOrFloatBitWidth());
  auto module = op->getParentOfType<ModuleOp>();
  if (auto width = module ? module->getAttrOfType<IntegerAttr>(dl::narrowestName) : IntegerAttr())
    narrowest = std::min(narrowest, unsigned(width.getInt()));
  step = exec::alignment * 8 / narrowest;
  for (int64_t i = 0; i < op.getCount(); ++i) {
    auto type = cast<RankedTensorType>(op.getTensor(0, i).getType());
    offsets.push_back(total);
    sizes.push_back(program::PhysicalLayout::get(type).elements);
    total += llvm::alignTo(sizes.back(), step);
  }
}

SmallVector<FlatLayout::Piece> FlatLayout::pieces() const {
  SmallVector<Piece> pieces;
  for (auto [tensor, offset, size] : llvm::enumerate(offsets, sizes))
    for (int64_t done = 0; done < size; done += longestPiece)
      pieces.push_back({int64_t(tensor), offset + done, std::min(longestPiece, size - done), done});
  return pieces;
}

int64_t FlatLayout::tasks() const {
  return std::max<int64_t>(llvm::divideCeil(pieces().size(), piecesPerTask), 1);
}

static DenseElementsAttr integers(MLIRContext *context, ArrayRef<int64_t> shape,
                                  ArrayRef<int64_t> values) {
  return DenseElementsAttr::get(RankedTensorType::get(shape, IntegerType::get(context, 64)),
                                values);
}

DenseElementsAttr FlatLayout::pieceTable(MLIRContext *context) const {
  SmallVector<int64_t> rows;
  for (const Piece &piece : pieces())
    rows.append({piece.tensor, piece.offset, piece.size, piece.number});
  const int64_t count = piecesPerTask * tasks();
  rows.resize(count * pieceColumns);
  return integers(context, {count, pieceColumns}, rows);
}

DenseElementsAttr FlatLayout::firstPieces(MLIRContext *context) const {
  SmallVector<int64_t> firsts{0};
  for (int64_t size : sizes)
    firsts.push_back(firsts.back() + llvm::divideCeil(size, longestPiece));
  return integers(context, {int64_t(firsts.size())}, firsts);
}

FlatBuffer::FlatBuffer(const FlatLayout &layout, Type element)
    : step(layout.step * program::elementBytes(element)),
      total(layout.total * program::elementBytes(element)) {
  for (auto [offset, size] : llvm::zip_equal(layout.offsets, layout.sizes)) {
    offsets.push_back(offset * program::elementBytes(element));
    bytes.push_back(size * program::elementBytes(element));
  }
}
