//===- Orders.h - elements along an axis: products, sums, places --------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_FORMULAS_ORDERS_H
#define DLC_DIALECTS_DL_FORMULAS_ORDERS_H

#include "dialects/DL/Builders/TensorBuilder.h"

namespace dlc::dl::formulas {

/// The product along `axis`, which has size 1 then: halves are multiplied until one is left. Its
/// gradient needs no division, and is right where elements are 0.
mlir::Value productAlong(TensorBuilder &b, mlir::Value x, int64_t axis);
/// Each element with all before it along an axis.
mlir::Value cumulativeSum(TensorBuilder &b, mlir::Value x, int64_t axis);

/// i32: the number of the first of the largest elements along an axis, which is dropped.
mlir::Value largestIndex(TensorBuilder &b, mlir::Value x, int64_t axis);
/// The k largest of the last axis, the first of equal ones first: floats, and i32 numbers.
struct Largest {
  mlir::Value values, indices;
};
Largest topK(TensorBuilder &b, mlir::Value x, int64_t k);
/// f32[..., count]: 1 at the index, else 0.
mlir::Value oneHot(TensorBuilder &b, mlir::Value index, int64_t count);

/// The order of the elements along `axis` of x, by comparing each with each: [..., n, n], where
/// axis `axis` counts elements and the one behind it those that they are compared with. Nothing of
/// this size is stored: it is computed where it is added up.
class Ranking {
public:
  Ranking(TensorBuilder b, mlir::Value x, int64_t axis);

  /// The shape of all comparisons, with the elements of x.
  mlir::RankedTensorType comparisons() const { return wide; }
  /// i32 like x: how many elements come before each. Equal ones keep their order, and what is not
  /// a number comes last.
  mlir::Value places(bool descending);
  /// `values`, in the order that their places say.
  mlir::Value arrange(mlir::Value values, mlir::Value places);
  /// i32: the numbers of the elements in the order that their places say.
  mlir::Value order(mlir::Value places);

private:
  mlir::Value each(mlir::Value value);
  mlir::Value other(mlir::Value value);
  mlir::Value numbers(int64_t along);

  TensorBuilder b;
  mlir::Value x;
  int64_t axis;
  mlir::RankedTensorType wide;
};

/// The elements along `axes` from the last to the first.
mlir::Value flip(TensorBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> axes);
/// x repeated, `counts` times along each axis.
mlir::Value tile(TensorBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> counts);

} // namespace dlc::dl::formulas

#endif
