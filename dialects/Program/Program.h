//===- Program.h - the program dialect: what dl and exec both say -------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_PROGRAM_PROGRAM_H
#define DLC_DIALECTS_PROGRAM_PROGRAM_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"

#include "dialects/Program/ProgramDialect.h.inc"
#include "dialects/Program/ProgramEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Program/ProgramAttrs.h.inc"

namespace dlc::program {

/// Every buffer begins at a multiple of this many bytes (DLC_ALIGNMENT of the module ABI).
inline constexpr int64_t alignment = 64;

/// Whether an entry uses a model: it runs many times between two changes of the parameters.
inline bool usesModel(EntryKind kind) {
  return kind == EntryKind::Evaluate || kind == EntryKind::Infer;
}

/// Unit attribute of a module that several ranks train together: passes add what they exchange.
inline constexpr llvm::StringRef dataParallelName = "program.data_parallel";

/// Whether `op` stands in such a module.
inline bool isDataParallel(mlir::Operation *op) {
  auto module = op->getParentOfType<mlir::ModuleOp>();
  return module && module->hasAttr(dataParallelName);
}

} // namespace dlc::program

#endif
