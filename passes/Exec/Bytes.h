//===- Bytes.h - sets of bytes, and who touched them last ---------------------------*- C++ -*-===//
//
// Containers of ranges [first, last) that stay small where ranges meet: programs of 20,000 records
// are planned and verified without looking at pairs of records or of buffers.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_EXEC_BYTES_H
#define DLC_PASSES_EXEC_BYTES_H

#include "dialects/Exec/Memory.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>

namespace dlc::exec {

using ByteRange = std::pair<int64_t, int64_t>; ///< first, and the one behind the last

/// A set of bytes as its maximal ranges.
class ByteSet {
public:
  void add(ByteRange range);
  /// The maximal ranges, in order.
  llvm::ArrayRef<ByteRange> getRanges() const { return ranges; }
  /// The first byte of `range` that is not in the set, its end if there is none. Gaps up to the
  /// next multiple of `alignment` behind a range of the set count as in it.
  int64_t findMissing(ByteRange range, int64_t alignment = 1) const;

private:
  llvm::SmallVector<ByteRange, 0> ranges;
};

/// For each byte of a region its last write and the reads since: all that a further access can
/// conflict with, as what is ordered behind a write is ordered behind what that write is behind.
class ByteHistory {
public:
  /// Remembers that `record` touches `range` and calls `conflict` with each record before it of
  /// which it touches a byte, one of both writing. A record does not conflict with itself; several
  /// ranges may name the same other one.
  void touch(unsigned record, ByteRange range, bool writes,
             llvm::function_ref<void(unsigned)> conflict);

private:
  struct Piece {
    int64_t last;
    unsigned writer;
    llvm::SmallVector<unsigned, 2> readers;
  };
  /// Makes a piece begin at `byte`, if one contains it.
  void split(int64_t byte);

  std::map<int64_t, Piece> pieces; ///< by their first byte
};

using RegionHistory =
    std::map<std::tuple<Space, mlir::Operation *, int64_t>, ByteHistory>; ///< by Extent::getRegion

} // namespace dlc::exec

#endif
