//===- Decompose.cpp - the formulas of composites in their place ------------------------------===//
//
//   %y = dl.softmax %x axis = 1 : tensor<5x37xf32>
// ->
//   %0 = dl.reduce max %x axes = [1] ...
//   ...
//   %y = dl.divide %4, %6 : tensor<5x37xf32>
//
// Those that are the anchor of a kernel as they are stay. What a composite gives and nobody needs
// is dropped: of dl.batch_norm_backward the gradient of the first layer's input.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/DL/Passes.h"
#include "passes/DL/Precision/Precision.h"
#include "passes/DL/Simplify/Composites.h"
#include "passes/DL/Simplify/DeadCode.h"

namespace dlc::dl {
#define GEN_PASS_DEF_DECOMPOSE
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc::dl;

void dlc::dl::decomposeComposites(Block &block) {
  for (Operation *op = &block.front(); op;) {
    auto composite = dyn_cast<DecomposableOp>(op);
    auto anchor = dyn_cast<AnchorOp>(op);
    if (!composite || (anchor && anchor.staysWhole())) {
      op = op->getNextNode();
      continue;
    }
    Operation *before = op->getPrevNode();
    OpBuilder builder(op);
    op->replaceAllUsesWith(composite.decompose(builder));
    passTF32On(op, before, op);
    op->erase();
    // A formula may hold composites.
    op = before ? before->getNextNode() : &block.front();
  }
}

namespace {
struct Decompose : dlc::dl::impl::DecomposeBase<Decompose> {
  void runOnOperation() override {
    decomposeComposites(getOperation().getBlock());
    eraseDeadOps(getOperation());
  }
};
} // namespace
