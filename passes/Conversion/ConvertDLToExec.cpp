//===- ConvertDLToExec.cpp - values become buffers, fused groups become kernels ---------------===//
//
// See Passes.td for the rules with a before and after. Refuses an op that dl-fuse should have put
// into a group.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "dialects/Exec/Memory.h"
#include "dialects/Program/Layout.h"
#include "passes/Conversion/EntryConverter.h"
#include "passes/Conversion/Passes.h"
#include "passes/DL/Memory/Buffers.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_CONVERTDLTOEXEC
#include "passes/Conversion/Passes.h.inc"

static exec::VariableOp convertVariable(dl::VariableOp op, const StateLayout &state) {
  OpBuilder builder(op);
  auto variable = exec::VariableOp::create(
      builder, op.getLoc(), op.getSymName(), op.getType(), op.getRole(), op.getInit(),
      op.getOfAttr(), state.getOffset(op.getSymName()), program::storageBytes(op.getTensorType()));
  // For the report: what the frontend says of how it trains.
  if (Attribute training = op->getAttr("dl.training"))
    variable->setAttr("exec.training", training);
  return variable;
}

/// Where some regions of an entry have candidates, all have: a pass behind dl-choose that makes or
/// rebuilds a region says what runs it.
static LogicalResult verifyChoices(dl::EntryOp entry) {
  auto all = entry.getBlock().getOps<dl::FusedOp>();
  auto isChosen = [](dl::FusedOp fused) { return bool(fused.getCandidateAttr()); };
  if (llvm::none_of(all, isChosen))
    return success();
  for (dl::FusedOp fused : all)
    if (!isChosen(fused) && !dl::runsNothing(fused))
      return fused.emitOpError("has no candidate, though other regions of its entry have");
  return success();
}

namespace {
struct ConvertDLToExec : impl::ConvertDLToExecBase<ConvertDLToExec> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<dl::EntryOp> entries(module.getOps<dl::EntryOp>());
    SmallVector<dl::VariableOp> variables(module.getOps<dl::VariableOp>());
    StateLayout state(module);
    if (!entries.empty()) {
      KernelOutliner kernels(entries.front());
      ScalarLayout scalars;
      for (dl::EntryOp entry : entries)
        if (failed(verifyChoices(entry)) ||
            failed(EntryConverter(entry, state, kernels, scalars).convert()))
          return signalPassFailure();
    }
    for (dl::VariableOp variable : variables)
      convertVariable(variable, state);
    module->setAttr(exec::stateBytesName, Builder(module).getI64IntegerAttr(state.getTotalBytes()));
    for (dl::EntryOp entry : entries)
      entry.erase();
    for (dl::VariableOp variable : variables)
      variable.erase();
  }
};
} // namespace

} // namespace dlc
