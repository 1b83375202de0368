//===- WinogradTransform.h - code of minimal filtering's transforms ------------------*- C++
//-*-===//
#ifndef DLC_CODEGEN_CPU_WINOGRAD_WINOGRADTRANSFORM_H
#define DLC_CODEGEN_CPU_WINOGRAD_WINOGRADTRANSFORM_H

#include "codegen/CPU/Winograd/TileTransform.h"
#include "codegen/Kernel/MinimalFiltering.h"

namespace dlc::codegen {

/// Emits matrix * values on vectors.
llvm::SmallVector<mlir::Value> emitTransform(PackEmitter &e, const TransformMatrix &matrix,
                                             mlir::ValueRange values);
/// Emits left * X * right^T, X as `load` gives it, the result as `store` takes it.
void emitTransform(PackEmitter &e, const TransformMatrix &left, const TransformMatrix &right,
                   llvm::function_ref<mlir::Value(int64_t, int64_t)> load,
                   llvm::function_ref<void(int64_t, int64_t, mlir::Value)> store);

/// F(m, r) along rows and columns of tiles. Points are real.
class WinogradTileTransform : public TileTransform {
public:
  /// Short tiles have an output less, and do without the last point: see
  /// WinogradTransform::withoutLast(). Points are numbered as those of other tiles.
  WinogradTileTransform(const WinogradTransform &high, const WinogradTransform &wide,
                        bool shortRows = false, bool shortCols = false);

  void toPoints(PackEmitter &e, Side side, mlir::Value buffer, LoadPixel load,
                StorePoint store) const override;
  void toPixels(PackEmitter &e, Side side, mlir::Value buffer, LoadPoint load,
                StorePixel store) const override;
  int64_t bufferVectors() const override;
  llvm::SmallVector<int64_t> missingPoints() const override;
  llvm::StringRef suffix() const override;
  double cyclesToPoints(Side side) const override;
  double cyclesToPixels(Side side) const override;

private:
  struct Matrices {
    TransformMatrix left, right;
  };
  WinogradTileTransform(const WinogradTransform &high, const WinogradTransform &wide,
                        int64_t highPoints, int64_t widePoints);
  const Matrices &forward(Side side) const;
  const Matrices &backward(Side side) const;
  double cyclesOf(const Matrices &matrices) const;

  int64_t highPoints, widePoints;        ///< of tiles that are not short
  Matrices source, filter, target;       ///< to points
  Matrices filterGradient, targetPixels; ///< and back
};

} // namespace dlc::codegen

#endif
