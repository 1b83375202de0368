//===- FourierTransform.h - real Fourier transforms of tiles ------------------------*- C++ -*-===//
//
// A tile of high x wide real pixels has the points of its rows' transforms, transformed along
// columns. Points 0 and wide / 2 of a row are real, so those two columns transform to high / 2 + 1
// points each; the other wide / 2 - 1 to high points. Those that mirror them are left out.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_FFT_FOURIERTRANSFORM_H
#define DLC_CODEGEN_CPU_FFT_FOURIERTRANSFORM_H

#include "codegen/CPU/FFT/FourierCodelet.h"
#include "codegen/CPU/Winograd/TileTransform.h"

namespace dlc::codegen {

class FourierTransform : public TileTransform {
public:
  /// Sizes are even, or 1 with one tap; a target's tile has size - taps + 1 pixels.
  FourierTransform(int64_t high, int64_t highTaps, int64_t wide, int64_t wideTaps);

  static int64_t points(int64_t high, int64_t wide);

  void toPoints(PackEmitter &e, Side side, mlir::Value buffer, LoadPixel load,
                StorePoint store) const override;
  void toPixels(PackEmitter &e, Side side, mlir::Value buffer, LoadPoint load,
                StorePixel store) const override;
  int64_t bufferVectors() const override { return high * pitch(); }
  double cyclesToPoints(Side side) const override;
  double cyclesToPixels(Side side) const override;

private:
  struct Extent {
    int64_t rows, cols;
  };
  Extent extentOf(Side side) const;
  /// Vectors of a row in the buffer; one more than needed, or a column would meet in few sets of
  /// the cache.
  int64_t pitch() const { return wide + 1; }
  /// Columns whose numbers are real, and the first of their points.
  int64_t realColumns() const { return wide == 1 ? 1 : 2; }
  int64_t complexColumns() const { return wide == 1 ? 0 : wide / 2 - 1; }
  int64_t firstRealPoint() const { return complexColumns() * high; }
  /// A row's numbers in the buffer: points 0 and wide / 2, then the others' parts in turn.
  int64_t slot(int64_t point, int64_t part) const {
    return point == 0 ? 0 : 2 * point == wide ? 1 : 2 * point + part;
  }

  int64_t high, highTaps, wide, wideTaps;
};

} // namespace dlc::codegen

#endif
