//===- Anchor.h - what a kernel's loops are made for --------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_FACTS_ANCHOR_H
#define DLC_DIALECTS_DL_FACTS_ANCHOR_H

#include "mlir/IR/Operation.h"
#include <string>

namespace dlc::dl {

/// The kinds of loops that a kernel can have. Map is that of element-wise and index ops alone,
/// Transpose if one of them changes the order of axes. Points is that of anchors with no loops of
/// their own: of each element, what PointOp says. RowPasses are reductions that wait for each
/// other, or whose results all elements of their row need: several passes over a row, one behind
/// the other.
enum class Anchor {
  Map,
  Reduce,
  RowPasses,
  Window,
  SlidingSum,
  Transpose,
  Attention,
  Scatter,
  SumRows,
  Gemm,
  Convolution,
  Points,
  MultiTensor,
  UpdateRows
};

/// Whether it multiplies much more often than it reads: computing it again is not cheap.
constexpr bool multipliesMuch(Anchor anchor) {
  return anchor == Anchor::Convolution || anchor == Anchor::Gemm || anchor == Anchor::Attention;
}

/// Whether it updates variables, or adds up something over them: whole tensors of an entry, with a
/// region of its own.
constexpr bool runsOverVariables(Anchor anchor) {
  return anchor == Anchor::MultiTensor || anchor == Anchor::UpdateRows;
}

/// An anchor's part of a kernel's name.
struct AnchorName {
  std::string name, sizes;

  /// By the mnemonic and the first result's shape.
  static AnchorName get(mlir::Operation *op);
};

/// 64x56x56
std::string timesText(llvm::ArrayRef<int64_t> numbers);

} // namespace dlc::dl

#endif
