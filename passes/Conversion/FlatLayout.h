//===- FlatLayout.h - the tensors of a multi_tensor in flat buffers -----------------*- C++ -*-===//
//
// A kernel of a multi_tensor takes one flat buffer a stream and gives one a run of results. Tensor
// i stands at the same element of each, whatever its type, so that one index serves them all. Where
// tensors begin and end is data: a table of pieces, which the code walks without knowing a size.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_CONVERSION_FLATLAYOUT_H
#define DLC_PASSES_CONVERSION_FLATLAYOUT_H

#include "dialects/DL/DL.h"

namespace dlc::dl {
class MultiTensorOp;
} // namespace dlc::dl

namespace dlc {

struct FlatLayout {
  /// Elements of a piece, at most, and pieces that one task takes.
  static constexpr int64_t longestPiece = 4096, piecesPerTask = 4;
  static constexpr int64_t pieceColumns = 4;

  /// A run of elements of one tensor.
  struct Piece {
    int64_t tensor, offset, size;
    int64_t number; ///< of its first element in the tensor
  };

  explicit FlatLayout(dl::MultiTensorOp op);

  /// Tensors in order, each in as many pieces as its length asks for.
  llvm::SmallVector<Piece> pieces() const;
  /// Tasks that take them all; there is one where there is no element.
  int64_t tasks() const;
  /// The pieces as a kernel reads them, tensor<P x pieceColumns x i64> with the members of each in
  /// a row. Rows of no element fill the last task: so code knows no number of pieces, and one code
  /// serves tensors of all sizes.
  mlir::DenseElementsAttr pieceTable(mlir::MLIRContext *context) const;
  /// The first piece of each tensor and, at the end, the number of pieces: tensor<[count + 1] x
  /// i64>.
  mlir::DenseElementsAttr firstPieces(mlir::MLIRContext *context) const;

  /// Elements, with the padding of the tensor's own layout.
  llvm::SmallVector<int64_t> offsets, sizes;
  /// Each tensor begins at a multiple of so many elements.
  int64_t step = 0;
  /// Of a whole buffer.
  int64_t total = 0;
};

/// The flat buffer of one stream, or of one run of results, in bytes.
struct FlatBuffer {
  FlatBuffer(const FlatLayout &layout, mlir::Type element);

  /// Of each tensor; offsets are multiples of 64.
  llvm::SmallVector<int64_t> offsets, bytes;
  int64_t step;  ///< each tensor begins at a multiple of so many, which is one of 64
  int64_t total; ///< a multiple of 64
};

} // namespace dlc

#endif
