//===- Prepare.h - the entry that makes derived variables ---------------------------*- C++ -*-===//
#ifndef DLC_PASSES_DL_CHOICE_PREPARE_H
#define DLC_PASSES_DL_CHOICE_PREPARE_H

#include "dialects/DL/Ops/DLEntryOps.h"

namespace dlc::dl {

/// The entry `prepare` of the module, made at its end where there is none.
inline EntryOp getPrepare(mlir::ModuleOp module) {
  for (auto entry : module.getOps<EntryOp>())
    if (entry.getKind() == program::EntryKind::Prepare)
      return entry;
  mlir::OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  auto prepare = EntryOp::create(builder, module.getLoc(), "prepare",
                                 builder.getFunctionType({}, {}), program::EntryKind::Prepare);
  builder.setInsertionPointToEnd(&prepare.getBlock());
  ReturnOp::create(builder, module.getLoc(), mlir::ValueRange());
  return prepare;
}

} // namespace dlc::dl

#endif
