//===- Bytes.cpp - sets of bytes, and who touched them last -----------------------------------===//
#include "passes/Exec/Bytes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace dlc::exec {

void ByteSet::add(ByteRange range) {
  if (range.first >= range.second)
    return;
  auto begin = llvm::partition_point(ranges, [&](ByteRange r) { return r.second < range.first; });
  auto end = begin;
  for (; end != ranges.end() && end->first <= range.second; ++end)
    range = {std::min(range.first, end->first), std::max(range.second, end->second)};
  if (begin == end) {
    ranges.insert(begin, range);
    return;
  }
  *begin = range;
  ranges.erase(begin + 1, end);
}

int64_t ByteSet::findMissing(ByteRange range, int64_t alignment) const {
  auto next = llvm::partition_point(ranges, [&](ByteRange r) {
    return llvm::alignTo(r.second, alignment) <= static_cast<uint64_t>(range.first);
  });
  int64_t end = range.first;
  for (; end < range.second && next != ranges.end() && next->first <= end; ++next)
    end = llvm::alignTo(next->second, alignment);
  return std::min(end, range.second);
}

//===------------------------------------------------------------------------------------------===//
// History
//===------------------------------------------------------------------------------------------===//

static constexpr unsigned nobody = ~0u;

void ByteHistory::split(int64_t byte) {
  auto next = pieces.lower_bound(byte);
  if (next == pieces.begin() || (next != pieces.end() && next->first == byte))
    return;
  Piece &piece = std::prev(next)->second;
  if (piece.last <= byte)
    return;
  pieces.emplace_hint(next, byte, piece);
  piece.last = byte;
}

void ByteHistory::touch(unsigned record, ByteRange range, bool writes,
                        llvm::function_ref<void(unsigned)> conflict) {
  auto [first, last] = range;
  if (first >= last)
    return;
  split(first);
  split(last);
  auto report = [&](unsigned other) {
    if (other != nobody && other != record)
      conflict(other);
  };
  auto piece = pieces.lower_bound(first);
  if (writes) {
    for (; piece != pieces.end() && piece->first < last; piece = pieces.erase(piece)) {
      report(piece->second.writer);
      llvm::for_each(piece->second.readers, report);
    }
    pieces.emplace_hint(piece, first, Piece{last, record, {}});
    return;
  }
  for (int64_t at = first; at < last; at = piece->second.last, ++piece) {
    if (piece == pieces.end() || piece->first > at) // never touched
      piece = pieces.emplace_hint(
          piece, at,
          Piece{piece == pieces.end() ? last : std::min(piece->first, last), nobody, {}});
    report(piece->second.writer);
    if (llvm::is_contained(llvm::ArrayRef(piece->second.readers).take_back(), record))
      continue;
    piece->second.readers.push_back(record);
  }
}

} // namespace dlc::exec
