// Edit distance: insertions, deletions and replacements.
#include "runtime/Core/NearestName.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dlc::runtime {

static size_t editDistance(std::string_view a, std::string_view b) {
  // row[j]: the distance of the part of `a` read so far to the first j characters of `b`.
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

std::string_view nearestName(std::string_view word,
                             const std::vector<std::string_view> &candidates) {
  // A third of the word may be wrong, of a single letter nothing; a long word is no slip.
  constexpr size_t longest = 64;
  size_t best = (word.size() + 1) / 3 + 1;
  std::string_view nearest;
  if (word.size() > longest)
    return nearest;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > longest + best)
      continue;
    const size_t distance = editDistance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

} // namespace dlc::runtime
