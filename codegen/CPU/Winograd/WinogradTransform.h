//===- WinogradTransform.h - the matrices of minimal filtering, and their code ------*- C++ -*-===//
//
// F(m, r) computes m outputs of a correlation with r taps by m + r - 1 multiplications:
//
//   y = output ((filter g) * (input d))        * element by element
//
// after Cook and Toom: the product of two polynomials from its values at m + r - 2 points and its
// leading coefficient, transposed (Winograd, Arithmetic Complexity of Computations, 1980; Lavin and
// Gray, Fast Algorithms for Convolutional Neural Networks, 2016). In two dimensions each matrix is
// applied to columns and rows. The points are 0, 1, -1, 2, -2, 1/2, -1/2: small powers, and pairs
// that share most of their sums.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_WINOGRAD_WINOGRADTRANSFORM_H
#define DLC_CODEGEN_CPU_WINOGRAD_WINOGRADTRANSFORM_H

#include "codegen/CPU/Winograd/TileTransform.h"

namespace dlc::codegen {

/// A small matrix, row by row.
struct TransformMatrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> values;

  TransformMatrix(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), values(rows * columns, 0.0) {}
  double &at(int64_t row, int64_t column) { return values[row * columns + column]; }
  double at(int64_t row, int64_t column) const { return values[row * columns + column]; }
  TransformMatrix transposed() const;
};

/// F(outputs, taps) along one axis. F(1, 1) is the identity.
struct WinogradTransform {
  int64_t outputs, taps;
  TransformMatrix input;  ///< points x points
  TransformMatrix filter; ///< points x taps
  TransformMatrix output; ///< outputs x points

  /// At most 8 points.
  WinogradTransform(int64_t outputs, int64_t taps);
  int64_t points() const { return outputs + taps - 1; }
};

/// Emits matrix * values on vectors: few operations, since rows and columns that differ in signs
/// only share their sums.
llvm::SmallVector<mlir::Value> emitTransform(PackEmitter &e, const TransformMatrix &matrix,
                                             mlir::ValueRange values);
/// Emits left * X * right^T, X as `load` gives it, the result as `store` takes it.
void emitTransform(PackEmitter &e, const TransformMatrix &left, const TransformMatrix &right,
                   llvm::function_ref<mlir::Value(int64_t, int64_t)> load,
                   llvm::function_ref<void(int64_t, int64_t, mlir::Value)> store);
/// The vector operations of that.
int64_t transformOperations(const TransformMatrix &left, const TransformMatrix &right);

/// F(m, r) along rows and columns of tiles. Points are real.
class WinogradTileTransform : public TileTransform {
public:
  WinogradTileTransform(const WinogradTransform &high, const WinogradTransform &wide);

  void toPoints(PackEmitter &e, Side side, mlir::Value buffer, LoadPixel load,
                StorePoint store) const override;
  void toPixels(PackEmitter &e, Side side, mlir::Value buffer, LoadPoint load,
                StorePixel store) const override;
  int64_t bufferVectors() const override { return 0; }
  double cyclesToPoints(Side side) const override;
  double cyclesToPixels(Side side) const override;

private:
  struct Matrices {
    TransformMatrix left, right;
  };
  const Matrices &forward(Side side) const;
  const Matrices &backward(Side side) const;

  Matrices source, filter, target;       ///< to points
  Matrices filterGradient, targetPixels; ///< and back
};

} // namespace dlc::codegen

#endif
