//===- Folding.h - questions that folds ask about constants -------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_BUILDERS_FOLDING_H
#define DLC_DIALECTS_DL_BUILDERS_FOLDING_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/APFloat.h"

namespace dlc::dl {

/// The one value of a constant of floats; nothing if `constant` is null, no splat, or of integers.
inline std::optional<llvm::APFloat> getFloatSplat(mlir::Attribute constant) {
  auto splat = mlir::dyn_cast_or_null<mlir::SplatElementsAttr>(constant);
  if (!splat || !mlir::isa<mlir::FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<llvm::APFloat>();
}

/// Whether `constant` is a splat, float or integer, of the small number `value`.
inline bool isSplatOf(mlir::Attribute constant, int64_t value) {
  if (std::optional<llvm::APFloat> number = getFloatSplat(constant))
    return number->compare(llvm::APFloat(number->getSemantics(), value)) == llvm::APFloat::cmpEqual;
  auto splat = mlir::dyn_cast_or_null<mlir::SplatElementsAttr>(constant);
  return splat && mlir::isa<mlir::IntegerType>(splat.getElementType()) &&
         splat.getSplatValue<llvm::APInt>() == value;
}

/// Whether `value` is a constant of that kind.
inline bool isSplatOf(mlir::Value value, int64_t number) {
  mlir::Attribute constant;
  return mlir::matchPattern(value, mlir::m_Constant(&constant)) && isSplatOf(constant, number);
}

} // namespace dlc::dl

#endif
