//===- HappensBefore.h - the order of a program's records ---------------------------*- C++ -*-===//
//
// A record starts after all earlier records of its stream, after what those streams' records had
// behind them when an event was recorded that it or an earlier record of its stream waits for, and
// after nothing else. Kept as vector clocks: for each record and stream, how many records of that
// stream have completed before it starts.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_EXEC_HAPPENSBEFORE_H
#define DLC_PASSES_EXEC_HAPPENSBEFORE_H

#include "dialects/Exec/Exec.h"
#include "llvm/ADT/DenseMap.h"

namespace dlc::exec {

class HappensBefore {
public:
  explicit HappensBefore(ProgramOp program);

  /// All records of the program, events included, in the order of the text.
  llvm::ArrayRef<RecordOp> getRecords() const { return records; }
  /// True if record `a` has completed before record `b` starts, whatever the executor does.
  bool before(unsigned a, unsigned b) const { return position[a] < clocks[b][stream[a]]; }

private:
  llvm::SmallVector<RecordOp> records;
  llvm::SmallVector<int64_t> stream;   ///< of each record
  llvm::SmallVector<int64_t> position; ///< of each record in its stream
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>>
      clocks; ///< of each record: completed records of each stream
};

/// One record's access to a buffer.
struct RecordAccess {
  unsigned record = 0;
  bool reads = false, writes = false;
};

/// The records that touch each exec.alloc of a program, in the order of the text, and which allocs
/// live to the end because an output stands in them.
struct Lifetimes {
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<RecordAccess>> accesses;
  llvm::DenseSet<mlir::Operation *> outputs;

  Lifetimes(ProgramOp program, const HappensBefore &order);
};

} // namespace dlc::exec

#endif
