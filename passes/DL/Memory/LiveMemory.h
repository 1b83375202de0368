//===- LiveMemory.h - what an entry holds in memory at a time, and what it could ----*- C++ -*-===//
//
// A model of the arena: the bytes in use while each op of a scheduled entry runs. Lowers the most
// of them by computing again what would lie there from its producer to a user far behind:
//
//   %a = dl.fused(%x)                      %a = dl.fused(%x)
//   %b = dl.fused(%a)                      %b = dl.fused(%a)
//   ...                              ->    ...
//   %d = dl.fused(%c, %a)                  %e = dl.fused(%x) {dl.recomputed}
//                                          %d = dl.fused(%c, %e)
//
// At the op where most is in use, a minimum cut parts what is computed before it from what is used
// behind it: an edge is either a buffer, which costs its bytes, or an op that runs again, which
// costs its time. What a byte is worth is the least that brings the op below the goal. Then the
// next op is the one with most in use, until none is above the goal. So a value may be computed
// a third time: what is computed again lives for its next users only.
//
// What stands in an operand of the op lies there anyway and costs nothing; an input, variable or
// constant neither. A value that is dead by then may be kept where that lifts nothing above the
// goal.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_MEMORY_LIVEMEMORY_H
#define DLC_PASSES_DL_MEMORY_LIVEMEMORY_H

#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "passes/DL/Memory/Buffers.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace dlc::dl {

class LiveMemory {
public:
  /// `cheapOnly`: no product and no convolution runs twice.
  LiveMemory(EntryOp entry, bool cheapOnly);

  /// The most bytes in use at once.
  int64_t peak() const;
  /// What that stays above, whatever is computed again: what an op reads and writes is there while
  /// it runs, and so is what is kept.
  int64_t leastPeak() const;
  /// Computes again what it takes to have at most `goal` bytes in use, in place of what it did
  /// before. False, and nothing is computed again, if it finds no way to.
  bool reduce(int64_t goal);
  /// The same for the lowest goal that it finds, within a fiftieth.
  void reduceMost();
  /// Takes back what it did.
  void undo();

  /// Whether anything is computed again.
  bool changesEntry() const { return !clones.empty(); }
  int64_t countRecomputed() const;
  double recomputedSeconds() const;

private:
  /// A value with bytes of its own, from the op that computes it to the last that uses it. Ops are
  /// their positions.
  struct Buffer {
    mlir::Value value;
    size_t producer, first, last;
    int64_t bytes;
    bool isKept; ///< it lies where it lies, whatever is computed again: a result, a gradient
  };
  /// What does not depend on where an op stands: the same for what computes again.
  struct Facts {
    double seconds = 0;
    bool mayRunAgain = false;
    llvm::SmallVector<InPlacePair> inPlace;
    int64_t workspace = 0;
  };
  struct Step {
    mlir::Operation *op;
    const Facts *facts;
    llvm::SmallVector<unsigned> operands; ///< their buffers, of those that have one
  };
  struct Replaced {
    mlir::OpOperand *operand;
    mlir::Value before;
  };
  using Values = llvm::DenseSet<mlir::Value>;

  const Facts *factsOf(mlir::Operation *op);
  int64_t bytesOf(mlir::Value value);
  mlir::Value storageOf(mlir::Value value);
  std::optional<unsigned> numberOf(mlir::Value value);
  void measure();
  llvm::SmallVector<unsigned> addUses(mlir::Operation *op, size_t position);
  void beginTogether(MultiTensorOp update);
  void countLive();
  int64_t sharedInPlace(size_t position);
  bool reduceAt(size_t position, int64_t goal);
  struct Cut;
  class CutBuilder;
  Cut cutAt(size_t position, int64_t goal) const;
  int64_t liveWithout(size_t position, const llvm::BitVector &again) const;
  void keepMore(size_t position, int64_t goal, llvm::BitVector &again) const;
  void lookAhead(size_t position);
  bool mayKeep(const Buffer &buffer, int64_t goal) const;
  void runAgain(size_t position, const Values &again);
  mlir::Value place(mlir::Value value, mlir::Operation *user, const Values &again,
                    llvm::DenseMap<mlir::Value, mlir::Value> &placed);

  EntryOp entry;
  bool cheapOnly;
  llvm::DenseMap<mlir::Operation *, std::shared_ptr<const Facts>> facts;
  llvm::DenseMap<mlir::Type, int64_t> bytesOfTypes;
  // All of the rest is as of the last measure().
  llvm::DenseMap<mlir::Value, mlir::Value> storages;
  std::vector<Step> steps; ///< the ops that run, in their order
  std::vector<Buffer> buffers;
  llvm::DenseMap<mlir::Value, unsigned> numbers; ///< of buffers, by their values
  std::vector<int64_t> live;                     ///< bytes while each op runs
  std::vector<int64_t> ahead; ///< the most of these from each op on until the one to reduce at
  std::vector<mlir::Operation *> clones;
  std::vector<Replaced> replaced;
};

} // namespace dlc::dl

#endif
