//===- Classes.h - formulas over the classes of a sample ----------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_RULES_CLASSES_H
#define DLC_DIALECTS_DL_RULES_CLASSES_H

#include "dialects/DL/Builders/TensorBuilder.h"

namespace dlc::dl {

/// What the softmax family shares: x is [..., classes, ...] with the classes on `axis`, label is
/// [...] without it.
struct Classes {
  TensorBuilder &b;
  mlir::Value x, label;
  int64_t axis;

  /// Formulas over small floats are computed in f32, and their results rounded once.
  static Classes get(TensorBuilder &b, mlir::Value logits, mlir::Value label, int64_t axis) {
    mlir::RankedTensorType type = b.typeOf(logits);
    if (type.getElementTypeBitWidth() < 32)
      logits = b.cast(logits, b.builder.getF32Type());
    return {b, logits, label, axis};
  }

  mlir::RankedTensorType type() const { return b.typeOf(x); }
  mlir::Value spread(mlir::Value perSample) const {
    return b.broadcastOver(perSample, type(), {axis});
  }
  mlir::Value reduce(ReduceKind kind, mlir::Value value) const {
    return b.reduce(kind, value, {axis});
  }

  int64_t count() const { return type().getDimSize(axis); }
  /// Class numbers in the type of the labels.
  mlir::Value numbers() const {
    return b.iota(type().getShape(), b.typeOf(label).getElementType(), axis);
  }
  /// Whether the element belongs to the label's class.
  mlir::Value oneHot() const { return b.compare(Predicate::EQ, numbers(), spread(label)); }
  /// Whether samples are neighbours in memory and classes are few: then formulas class by class
  /// read logits as they lie, and fuse with whatever is made of a sample's result.
  static bool areFew(mlir::Value x, int64_t axis) {
    const int64_t few = 32;
    auto type = mlir::cast<mlir::RankedTensorType>(x.getType());
    return type.getDimSize(axis) <= few && type.getElementTypeBitWidth() >= 32 &&
           llvm::product_of(type.getShape().drop_front(axis + 1)) > 1;
  }
  bool areFew() const { return areFew(x, axis); }
  /// The logits of one class.
  mlir::Value of(int64_t number) const { return b.part(x, number, axis); }
  /// Whether the label is this class.
  mlir::Value isLabel(int64_t number) const {
    return b.compare(Predicate::EQ, label, b.splatLike(label, double(number)));
  }
  /// `perSample` where the label is a class, else 0.
  mlir::Value whereLabelled(mlir::Value perSample) const {
    mlir::Value low = b.compare(Predicate::GE, label, b.splatLike(label, 0));
    mlir::Value high = b.compare(Predicate::LT, label, b.splatLike(label, double(count())));
    return b.keepWhere(low, b.keepWhere(high, perSample));
  }
};

} // namespace dlc::dl

#endif
