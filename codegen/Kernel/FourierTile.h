//===- FourierTile.h - the points of a tile of real numbers -------------------------*- C++ -*-===//
//
// A tile of high x wide real pixels has the points of its rows' transforms, transformed along
// columns. Points 0 and wide / 2 of a row are real, so those two columns transform to high / 2 + 1
// points each; the other wide / 2 - 1 to high points. Those that mirror them are left out. Both
// targets' generators take tiles, and what has none, from here.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_FOURIERTILE_H
#define DLC_CODEGEN_KERNEL_FOURIERTILE_H

#include "dialects/DL/Facts/ConvolutionForm.h"
#include <array>
#include <string>

namespace dlc::codegen {

/// Sizes are even, or 1.
struct FourierTile {
  int64_t high, wide;

  int64_t points() const;
  /// Columns whose numbers are real, and the first of their points; the others stand before them.
  int64_t realColumns() const { return wide == 1 ? 1 : 2; }
  int64_t complexColumns() const { return wide == 1 ? 0 : wide / 2 - 1; }
  int64_t firstRealPoint() const { return complexColumns() * high; }
  /// Points that have no imaginary part.
  int64_t realPoints() const { return realColumns() * (high == 1 ? 1 : 2); }
  /// A row's numbers between its transform and those of the columns: points 0 and wide / 2, then
  /// the others' parts in turn.
  int64_t slot(int64_t point, int64_t part) const {
    return point == 0 ? 0 : 2 * point == wide ? 1 : 2 * point + part;
  }
};

/// Outputs of the tiles worth looking at along an axis of `extent` outputs: those whose number is
/// less than that of smaller ones.
llvm::SmallVector<int64_t> fourierTiles(int64_t extent, int64_t taps);

/// Why no Fourier transform of tiles runs a convolution over depth, height and width; empty if one
/// can.
std::string fourierRefusal(const std::array<dl::WindowAxis, 3> &axes, int64_t groups);

} // namespace dlc::codegen

#endif
