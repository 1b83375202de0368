//===- Order.cpp - see Order.h ----------------------------------------------------------------===//
#include "passes/DL/Schedule/Order.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

void dlc::dl::sortByOperands(Block &block) {
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, size_t> positions;
  for (Operation &op : block.without_terminator()) {
    positions[&op] = ops.size();
    ops.push_back(&op);
  }
  SmallVector<SmallVector<size_t>> needed(ops.size());
  for (auto [position, op] : llvm::enumerate(ops))
    op->walk([&, position = position](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *source = operand.getDefiningOp())
          if (Operation *there = block.findAncestorOpInBlock(*source);
              there && there != ops[position])
            needed[position].push_back(positions.lookup(there));
    });
  // Of repeated sweeps over what is left, each of which takes in order what has all that it needs,
  // the number of the one that takes an op: of what it needs and stands behind it, one more.
  SmallVector<std::optional<size_t>> sweeps(ops.size());
  SmallVector<size_t> open;
  for (size_t first = 0; first < ops.size(); ++first) {
    open.push_back(first);
    while (!open.empty()) {
      const size_t position = open.back();
      const size_t before = open.size();
      size_t sweep = 0;
      for (size_t other : needed[position])
        if (!sweeps[other])
          open.push_back(other);
        else
          sweep = std::max(sweep, *sweeps[other] + (other > position));
      if (open.size() > before)
        continue;
      sweeps[position] = sweep;
      open.pop_back();
    }
  }
  auto order = llvm::to_vector(llvm::seq<size_t>(0, ops.size()));
  llvm::stable_sort(order, [&](size_t a, size_t b) { return *sweeps[a] < *sweeps[b]; });
  for (size_t position : order)
    ops[position]->moveBefore(&block, block.without_terminator().end());
}
