//===- PruneGradients.cpp - drops the gradients that nobody asked for -------------------------===//
//
//   dl.return %dw, %dx : (gradient of @conv1.weight, gradient of the input)   ->   dl.return %dw
//
// and with %dx its dl.convolution_backward_data: the gradient of the first layer's input costs as
// much as its weights'. Also drops results that are not used of ops that can do without: the index
// of dl.max_pool in a forward pass.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Simplify/DeadCode.h"
#include "llvm/ADT/BitVector.h"

namespace dlc::dl {
#define GEN_PASS_DEF_PRUNEGRADIENTS
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

/// The results that are gradients of inputs: those that are of no variable.
static llvm::BitVector inputGradients(EntryOp entry) {
  llvm::BitVector found(entry.getNumResults());
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (entry.getOutputKind(i) == program::ValueKind::Gradient && !entry.getResultAttr(i, "dl.of"))
      found.set(i);
  return found;
}

static void dropUnusedIndex(MaxPoolOp pool) {
  if (!pool.getIndex() || !pool.getIndex().use_empty())
    return;
  OpBuilder builder(pool);
  auto narrow = MaxPoolOp::create(builder, pool.getLoc(), TypeRange{pool.getY().getType()},
                                  pool->getOperands(), pool->getAttrs());
  pool.getY().replaceAllUsesWith(narrow.getY());
  pool.erase();
}

namespace {
struct PruneGradients : dlc::dl::impl::PruneGradientsBase<PruneGradients> {
  using PruneGradientsBase::PruneGradientsBase;

  void runOnOperation() override {
    EntryOp entry = getOperation();
    if (!keepInputGradients)
      entry.eraseOutputs(inputGradients(entry));
    eraseDeadOps(entry);
    for (MaxPoolOp pool : llvm::make_early_inc_range(entry.getBlock().getOps<MaxPoolOp>()))
      dropUnusedIndex(pool);
  }
};
} // namespace
