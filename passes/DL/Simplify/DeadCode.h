//===- DeadCode.h - drops what nothing uses -----------------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_DL_SIMPLIFY_DEADCODE_H
#define DLC_PASSES_DL_SIMPLIFY_DEADCODE_H

#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"

namespace dlc::dl {

/// Erases the ops and reads of the entry whose results nothing uses.
inline void eraseDeadOps(EntryOp entry) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(entry.getBlock())))
    if (op.use_empty() && (mlir::isPure(&op) || llvm::isa<ReadOp>(op)) &&
        !op.hasTrait<mlir::OpTrait::IsTerminator>())
      op.erase();
}

} // namespace dlc::dl

#endif
