//===- FourierTransform.h - real Fourier transforms of tiles, on vectors ------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CPU_FFT_FOURIERTRANSFORM_H
#define DLC_CODEGEN_CPU_FFT_FOURIERTRANSFORM_H

#include "codegen/CPU/Winograd/TileTransform.h"
#include "codegen/Kernel/FourierCodelet.h"
#include "codegen/Kernel/FourierTile.h"

namespace dlc::codegen {

class FourierTransform : public TileTransform {
public:
  /// Sizes are even, or 1 with one tap; a target's tile has size - taps + 1 pixels.
  FourierTransform(int64_t high, int64_t highTaps, int64_t wide, int64_t wideTaps);

  void toPoints(PackEmitter &e, Side side, mlir::Value buffer, LoadPixel load,
                StorePoint store) const override;
  void toPixels(PackEmitter &e, Side side, mlir::Value buffer, LoadPoint load,
                StorePixel store) const override;
  int64_t bufferVectors() const override { return tile.high * pitch(); }
  double cyclesToPoints(Side side) const override;
  double cyclesToPixels(Side side) const override;

private:
  struct Extent {
    int64_t rows, cols;
  };
  Extent extentOf(Side side) const;
  /// Vectors of a row in the buffer; one more than needed, or a column would meet in few sets of
  /// the cache.
  int64_t pitch() const { return tile.wide + 1; }

  FourierTile tile;
  int64_t highTaps, wideTaps;
};

} // namespace dlc::codegen

#endif
