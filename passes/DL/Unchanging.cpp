//===- Unchanging.cpp - see Unchanging.h ------------------------------------------------------===//
#include "passes/DL/Unchanging.h"
#include "dialects/DL/DLEntryOps.h"
#include "dialects/DL/DLIndexOps.h"
#include "dialects/DL/DLVariableOps.h"

using namespace mlir;
using namespace dlc::dl;

bool dlc::dl::isUnchanging(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  auto read = value.getDefiningOp<ReadOp>();
  auto entry = read ? dyn_cast<EntryOp>(read->getParentOp()) : EntryOp();
  if (!entry || !dlc::program::usesModel(entry.getKind()))
    return false;
  auto writes = [&](EntryOp other) {
    return dlc::program::usesModel(other.getKind()) &&
           llvm::any_of(other.getBlock().getOps<AssignOp>(),
                        [&](AssignOp op) { return op.getVariable() == read.getVariable(); });
  };
  return llvm::none_of(entry->getParentOfType<ModuleOp>().getOps<EntryOp>(), writes);
}
