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
  unsigned getNumStreams() const { return ofStream.size(); }
  unsigned getStream(unsigned record) const { return stream[record]; }
  /// The first record on a stream that starts when all of `others`, which stand in the order of the
  /// text, have completed; ~0u if there is none.
  unsigned getFirstBehind(llvm::ArrayRef<unsigned> others, unsigned onStream) const;

private:
  llvm::SmallVector<RecordOp> records;
  llvm::SmallVector<llvm::SmallVector<unsigned>> ofStream; ///< the records of each stream
  llvm::SmallVector<int64_t> stream;                       ///< of each record
  llvm::SmallVector<int64_t> position;                     ///< of each record in its stream
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>>
      clocks; ///< of each record: completed records of each stream
};

/// When a buffer of the arena is in use: from the first of the records that touch it until all of
/// them are known to have completed, or to the end of the program if an output stands in it.
/// Streams may run far apart, so both ends have a place on each stream. Places are numbers of
/// records in the order of the text; `never` is behind all of them.
struct Lifetime {
  static constexpr unsigned never = ~0u;

  llvm::SmallVector<unsigned> accesses; ///< the records that touch it, in the order of the text
  llvm::SmallVector<unsigned, 4> first; ///< by stream: the first access on it
  /// By stream: the first record on it that starts when all accesses have completed.
  llvm::SmallVector<unsigned, 4> released;
  bool isOutput = false;

  /// True if every access has completed before any to `other` starts, whatever the executor does.
  bool endsBefore(const Lifetime &other) const;
  /// True if every access but that of `record` has completed before it starts.
  bool endsWith(unsigned record, const HappensBefore &order) const;
  /// True if every access but that of `record` starts after it has completed.
  bool startsWith(unsigned record, const HappensBefore &order) const;
  /// Goes on as `other`, which starts with the record that this ends with: from here on its
  /// accesses stand for both.
  void append(const Lifetime &other);

  /// The first access, and behind the last one, in the order of the text.
  unsigned getFirst() const { return *llvm::min_element(first); }
  unsigned getEnd() const { return isOutput || accesses.empty() ? never : accesses.back() + 1; }
};

/// The lifetimes of all allocs of a program.
llvm::DenseMap<mlir::Operation *, Lifetime> findLifetimes(ProgramOp program,
                                                          const HappensBefore &order);

} // namespace dlc::exec

#endif
