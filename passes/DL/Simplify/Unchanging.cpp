//===- Unchanging.cpp - see Unchanging.h ------------------------------------------------------===//
#include "passes/DL/Simplify/Unchanging.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"

using namespace mlir;
using namespace dlc::dl;

static bool usesModel(EntryOp entry) { return dlc::program::usesModel(entry.getKind()); }

Unchanging::Unchanging(ModuleOp module) {
  for (auto entry : module.getOps<EntryOp>())
    if (usesModel(entry))
      for (auto assign : entry.getBlock().getOps<AssignOp>())
        written.insert(assign.getVariableAttr().getAttr());
}

bool Unchanging::contains(Value value) const {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  auto read = value.getDefiningOp<ReadOp>();
  auto entry = read ? dyn_cast<EntryOp>(read->getParentOp()) : EntryOp();
  return entry && usesModel(entry) && !written.contains(read.getVariableAttr().getAttr());
}
