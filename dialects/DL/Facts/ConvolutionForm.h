//===- ConvolutionForm.h - a convolution in whichever direction it runs -------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_FACTS_CONVOLUTIONFORM_H
#define DLC_DIALECTS_DL_FACTS_CONVOLUTIONFORM_H

#include "dialects/DL/DL.h"

namespace dlc::dl {

/// y = x * w: one of the three tensors is computed from the two others.
struct ConvolutionForm {
  enum class Direction { Forward, BackwardData, BackwardFilter };

  Direction direction;
  ConvolutionGeometry geometry;
  mlir::Value x, w, y;
  WishAttr wish = nullptr; ///< may be null

  /// `op` is of the convolution family.
  static ConvolutionForm get(mlir::Operation *op);

  mlir::Value result() const {
    return direction == Direction::Forward ? y : direction == Direction::BackwardData ? x : w;
  }
  /// The algorithm that the user wants for this direction.
  ConvolutionAlgorithm wishedAlgorithm() const;
  /// Shapes with three axes of space.
  llvm::SmallVector<int64_t> xShape() const;
  llvm::SmallVector<int64_t> wShape() const;
  llvm::SmallVector<int64_t> yShape() const;
};

} // namespace dlc::dl

#endif
