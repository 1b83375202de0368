//===- TileTransform.h - transforms under which convolutions are products -----------*- C++ -*-===//
//
// A tile of the source and a filter, or a tile of the source and one of the target, are taken to
// points; there their convolution is a product, number by number, which is summed over channels or
// over tiles; and the sums are taken back. Numbers are real (minimal filtering) or complex (Fourier
// transforms).
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_WINOGRAD_TILETRANSFORM_H
#define DLC_CODEGEN_CPU_WINOGRAD_TILETRANSFORM_H

#include "codegen/CPU/Gemm/PackEmitter.h"

namespace dlc::codegen {

class TileTransform {
public:
  /// What pixels belong to: a tile of the source, a filter's taps, a tile of the target.
  enum class Side { Source, Filter, Target };
  /// Vectors of channels: a pixel, and a part of a point's number.
  using LoadPixel = llvm::function_ref<mlir::Value(mlir::Value row, int64_t col)>;
  using StorePixel = llvm::function_ref<void(mlir::Value row, int64_t col, mlir::Value)>;
  using LoadPoint = llvm::function_ref<mlir::Value(mlir::Value point, int64_t part)>;
  using StorePoint = llvm::function_ref<void(mlir::Value point, int64_t part, mlir::Value)>;

  virtual ~TileTransform() = default;

  /// Emits code from pixels to points: of the source; of the filter, for the target; of the target,
  /// for the filter's gradient. `buffer` holds bufferVectors().
  virtual void toPoints(PackEmitter &e, Side side, mlir::Value buffer, LoadPixel load,
                        StorePoint store) const = 0;
  /// And back: of the target or of the filter's gradient.
  virtual void toPixels(PackEmitter &e, Side side, mlir::Value buffer, LoadPoint load,
                        StorePixel store) const = 0;
  virtual int64_t bufferVectors() const = 0;
  /// Points that its tiles do not have, though others of the same image do.
  virtual llvm::SmallVector<int64_t> missingPoints() const { return {}; }
  /// What tells its functions from those of such others.
  virtual llvm::StringRef suffix() const { return ""; }

  /// Cycles of either for one vector of channels.
  virtual double cyclesToPoints(Side side) const = 0;
  virtual double cyclesToPixels(Side side) const = 0;
};

} // namespace dlc::codegen

#endif
