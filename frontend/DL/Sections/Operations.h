// What a model computes, as text, and in one number.
#ifndef DLC_FRONTEND_DL_SECTIONS_OPERATIONS_H
#define DLC_FRONTEND_DL_SECTIONS_OPERATIONS_H

#include "mlir/IR/BuiltinOps.h"

#include <set>
#include <string>

namespace dlc::dl {
class EntryOp;
}

namespace dlc::frontend {

/// The ops of an entry, what each takes and its attributes. Names and sizes are left out, so batch,
/// target and flags change nothing.
std::string describeOperations(dl::EntryOp entry);

/// Gives a module the setting "operations" (program.settings), a hash of such texts, one for each
/// of its models: it tells a checkpoint's model from one that was changed since.
void recordOperations(mlir::ModuleOp module, const std::set<std::string> &models);

} // namespace dlc::frontend

#endif
