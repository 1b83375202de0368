// Merging by a queue of pairs, so that a long piece takes no longer than its length times the
// logarithm of that.
#include "runtime/Data/BytePairs.h"
#include "runtime/Data/PreTokens.h"

#include <algorithm>

namespace dlc::runtime {

BytePairEncoder::Piece BytePairEncoder::nextPiece(std::string_view text, size_t at, bool isLast) {
  if (pairs.end && (nextEnd < at || at == 0))
    nextEnd = std::min(text.find(BytePairs::endOfText, at), text.size());
  const size_t stop = pairs.end ? nextEnd : text.size();
  if (at == stop)
    return {BytePairs::endOfText.size(), true};
  const size_t bytes = firstPreToken(text.substr(at, stop - at));
  // A part of a character or of "<|endoftext|>" may be all that there is of it so far.
  const bool isSure =
      isLast || stop < text.size() || at + bytes + BytePairs::endOfText.size() <= text.size();
  return {isSure ? bytes : 0, false};
}

const std::vector<int32_t> &BytePairEncoder::numbersOf(std::string_view piece) {
  constexpr size_t longest = 32, most = size_t(1) << 16;
  if (const auto found = known.find(piece); found != known.end())
    return found->second;
  merge(piece);
  if (piece.size() > longest)
    return numbers;
  if (known.size() == most)
    known.clear();
  return known.emplace(piece, numbers).first->second;
}

/// Adds the pair at `at` and behind it, if it is one that is merged.
void BytePairEncoder::consider(size_t at) {
  const size_t right = next[at];
  if (right == next.size())
    return;
  const auto found = pairs.merges.find(BytePairs::pair(numbers[at], numbers[right]));
  if (found == pairs.merges.end())
    return;
  candidates.push_back({found->second.rank, at, numbers[at], numbers[right], found->second.number});
  std::ranges::push_heap(candidates, std::greater());
}

/// Leaves the piece's tokens in `numbers`.
void BytePairEncoder::merge(std::string_view piece) {
  constexpr int32_t joined = -1;
  numbers.clear();
  next.clear();
  before.clear();
  candidates.clear();
  for (size_t i = 0; i < piece.size(); ++i) {
    numbers.push_back(pairs.ofByte[static_cast<uint8_t>(piece[i])]);
    next.push_back(i + 1);
    before.push_back(i - 1);
  }
  for (size_t i = 0; i < piece.size(); ++i)
    consider(i);
  while (!candidates.empty()) {
    std::ranges::pop_heap(candidates, std::greater());
    const Candidate best = candidates.back();
    candidates.pop_back();
    const size_t at = best.at, right = next[at];
    if (numbers[at] != best.left || right == next.size() || numbers[right] != best.right)
      continue;
    numbers[at] = best.merged;
    numbers[right] = joined;
    next[at] = next[right];
    if (next[at] != next.size())
      before[next[at]] = at;
    consider(at);
    if (at != 0)
      consider(before[at]);
  }
  std::erase(numbers, joined);
}

} // namespace dlc::runtime
