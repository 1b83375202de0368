//===- MinimalFiltering.h - the matrices of minimal filtering, and their sums -------*- C++ -*-===//
//
// F(m, r) computes m outputs of a correlation with r taps by m + r - 1 multiplications:
//
//   y = output ((filter g) * (input d))        * element by element
//
// after Cook and Toom: the product of two polynomials from its values at m + r - 2 points and its
// leading coefficient, transposed (Winograd, Arithmetic Complexity of Computations, 1980; Lavin and
// Gray, Fast Algorithms for Convolutional Neural Networks, 2016). In two dimensions each matrix is
// applied to columns and rows. The points are 0, 1, -1, 2, -2, 1/2, -1/2, small powers; of more
// than seven, fractions that err less. They are pairs, which share most of their sums. Both
// targets' generators take matrices and sums from here.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_MINIMALFILTERING_H
#define DLC_CODEGEN_KERNEL_MINIMALFILTERING_H

#include "dialects/DL/Facts/ConvolutionForm.h"
#include <array>
#include <string>
#include <vector>

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

  /// At most 11 points.
  WinogradTransform(int64_t outputs, int64_t taps);
  int64_t points() const { return outputs + taps - 1; }
  /// F(outputs - 1, taps) on all points but the leading coefficient, which only the last output
  /// has. The taps' other points are the same.
  WinogradTransform withoutLast() const;
};

/// matrix * values without a loop: few operations, since rows and columns that differ in signs only
/// share their sums. No row of the matrix is zero.
struct TransformPlan {
  enum class Kind { Add, Subtract, Multiply, MultiplyAdd };
  /// a + b, a - b, factor * a, factor * a + b. Values are numbered: first those of the vector, then
  /// each step's.
  struct Step {
    Kind kind;
    double factor;
    int64_t a, b;
  };
  std::vector<Step> steps;
  llvm::SmallVector<int64_t> results; ///< of each row

  explicit TransformPlan(const TransformMatrix &matrix);
};

/// The operations of left * X * right^T.
int64_t transformOperations(const TransformMatrix &left, const TransformMatrix &right);

/// Why a convolution is not one over height and width, of one group; empty if it is.
std::string planeRefusal(const std::array<dl::WindowAxis, 3> &axes, int64_t groups);
/// Why no transform of tiles runs a convolution over depth, height and width; empty if one can.
std::string transformRefusal(const std::array<dl::WindowAxis, 3> &axes, int64_t groups);
/// Why no F(m, r) does, with r among `taps`, or 1.
std::string winogradRefusal(const std::array<dl::WindowAxis, 3> &axes, int64_t groups,
                            llvm::ArrayRef<int64_t> taps = {3, 5});
/// "a filter of 3x5".
std::string filterText(const std::array<dl::WindowAxis, 3> &axes);
/// Whether tiles of outputs x outputs err no more than a sum of one product after the other, in
/// each direction: see the tests of both targets.
bool errsLikeSums(const std::array<dl::WindowAxis, 3> &axes, int64_t outputs);
/// Why --math=strict leaves out tiles of outputs x outputs, forward and backward data or of the
/// filter's gradient; empty if they err like sums, and no result depends on what its formula does
/// not have: then what is not finite stays where it belongs.
std::string strictRefusal(const std::array<dl::WindowAxis, 3> &axes, int64_t outputs,
                          bool ofFilter);
/// That of transforms of whole tiles.
inline constexpr llvm::StringLiteral spreadsRefusal =
    "its transforms spread what is not finite, which --math=strict does not allow";

} // namespace dlc::codegen

#endif
