//===- DLEntryOps.h - entries, and gradients that they ask for ----------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLENTRYOPS_H
#define DLC_DIALECTS_DL_OPS_DLENTRYOPS_H

#include "dialects/DL/DL.h"

namespace dlc::dl {
class ReturnOp;

/// A result that an entry gets.
struct EntryOutput {
  EntryOutput(mlir::Value value, llvm::StringRef name, program::ValueKind kind);

  mlir::Value value;
  mlir::NamedAttrList attributes; ///< dl.name, dl.kind, and what the maker adds
};

/// Of an entry or an op of it: the type that it is to compute in.
inline constexpr llvm::StringLiteral precisionName = "dl.precision";
/// Whether it says tf32: that libraries may round to 10 bits behind the point what products of f32
/// multiply.
bool isTF32(mlir::Operation *op);
/// Of an entry: what its loss is multiplied by while it is differentiated.
inline constexpr llvm::StringLiteral lossScaleName = "dl.loss_scale";
/// Of an entry that trains: weights that it reads in 16 bits are of these, see Update/Copies.h.
inline constexpr llvm::StringLiteral withoutMastersName = "dl.without_masters";
} // namespace dlc::dl

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLEntryOps.h.inc"

#endif
