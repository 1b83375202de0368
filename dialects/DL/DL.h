//===- DL.h - the dl dialect: attributes and interfaces -----------------------------*- C++ -*-===//
//
// The ops stand in a header for each of their files: a change of one rebuilds only what names them.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_DL_H
#define DLC_DIALECTS_DL_DL_H

#include "dialects/DL/Facts/Anchor.h"
#include "dialects/DL/Facts/BatchDivision.h"
#include "dialects/DL/Facts/Geometry.h"
#include "dialects/DL/Facts/IndexMap.h"
#include "dialects/DL/Facts/Names.h"
#include "dialects/DL/Facts/OpFacts.h"
#include "dialects/Program/Program.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"

#include "dialects/DL/DLDialect.h.inc"
#include "dialects/DL/DLEnums.h.inc"
#include "dialects/DL/DLInterfaces.h.inc"

namespace dlc::dl {
struct OptimizerRule;
/// See DLOpBase.td.
template <typename Op>
class CheapToRecompute : public mlir::OpTrait::TraitBase<Op, CheapToRecompute> {};
template <typename Op>
class ScalesOrShifts : public mlir::OpTrait::TraitBase<Op, ScalesOrShifts> {};
template <typename Op> class StandsFirst : public mlir::OpTrait::TraitBase<Op, StandsFirst> {};
template <typename Op> class StandsLast : public mlir::OpTrait::TraitBase<Op, StandsLast> {};

/// Whether `axis` is one of `rank` axes. Emits (C1) of `op`, unless the location is none.
mlir::LogicalResult checkAxis(std::optional<mlir::Location> location, mlir::StringRef op,
                              int64_t axis, int64_t rank);

/// The type of one number a sample: logits' without `axis`. Emits (C1) and (C2) of `op`.
mlir::LogicalResult inferPerSample(std::optional<mlir::Location> location, mlir::StringRef op,
                                   mlir::Value logits, mlir::Value label, int64_t axis,
                                   llvm::SmallVectorImpl<mlir::Type> &results);
template <typename Op> class PerSample : public mlir::OpTrait::TraitBase<Op, PerSample> {
public:
  static mlir::LogicalResult
  inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location,
                   mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                   mlir::OpaqueProperties properties, mlir::RegionRange regions,
                   llvm::SmallVectorImpl<mlir::Type> &results) {
    typename Op::Adaptor adaptor(operands, attributes, properties, regions);
    return inferPerSample(location, Op::getOperationName(), adaptor.getLogits(), adaptor.getLabel(),
                          adaptor.getAxis(), results);
  }
};
} // namespace dlc::dl

#define GET_ATTRDEF_CLASSES
#include "dialects/DL/DLAttrs.h.inc"

#endif
