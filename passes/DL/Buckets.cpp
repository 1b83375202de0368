//===- Buckets.cpp - which gradients are reduced over ranks together --------------------------===//
//
// end(j), the earliest end of the reductions of the first j gradients, is the least over i < j of
// max(end(i), time of gradient j) + link(bytes of the gradients between them): a later end of the
// first i never helps. The same with a number of buckets gives the fewest.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/DL/Buckets.h"
#include <algorithm>
#include <limits>
#include <vector>

using namespace llvm;

namespace dlc::dl {

namespace {
class Cuts {
public:
  Cuts(ArrayRef<FinishedGradient> gradients, const Link &link) : gradients(gradients), link(link) {
    bytes.push_back(0);
    for (const FinishedGradient &gradient : gradients)
      bytes.push_back(bytes.back() + gradient.bytes);
    limit = latestEnd();
  }

  /// Whether the last reduction ends early enough.
  bool endsEarly(ArrayRef<unsigned> sizes) const {
    double end = 0;
    size_t begin = 0;
    for (unsigned size : sizes) {
      end = endOf(begin, begin + size, end);
      begin += size;
    }
    return end <= limit;
  }

  SmallVector<unsigned> run() const {
    const size_t n = gradients.size();
    std::vector<double> ends(n + 1, never);
    ends[0] = 0;
    std::vector<std::vector<unsigned>> from; // of each number of buckets: where the last one begins
    do {
      std::vector<double> next(n + 1, never);
      from.emplace_back(n + 1, 0);
      for (size_t j = 1; j <= n; ++j)
        for (size_t i = 0; i < j; ++i)
          if (double end = endOf(i, j, ends[i]); end < next[j]) {
            next[j] = end;
            from.back()[j] = i;
          }
      ends = std::move(next);
    } while (ends[n] > limit);
    SmallVector<unsigned> sizes;
    for (size_t j = n; !from.empty(); from.pop_back()) {
      sizes.push_back(j - from.back()[j]);
      j = from.back()[j];
    }
    std::reverse(sizes.begin(), sizes.end());
    return sizes;
  }

private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// When the bucket of gradients i to j - 1 is reduced, if those before it are at `before`.
  double endOf(size_t i, size_t j, double before) const {
    int64_t size = bytes[j] - bytes[i];
    if (j == gradients.size() && size > mostLastBytes && i + 1 < j)
      return never;
    return std::max(before, gradients[j - 1].seconds) + link.secondsFor(size);
  }

  double latestEnd() const {
    std::vector<double> ends(gradients.size() + 1, never);
    ends[0] = 0;
    for (size_t j = 1; j < ends.size(); ++j)
      for (size_t i = 0; i < j; ++i)
        ends[j] = std::min(ends[j], endOf(i, j, ends[i]));
    return ends.back() + 0.01 * link.secondsFor(bytes.back());
  }

  ArrayRef<FinishedGradient> gradients;
  Link link;
  std::vector<int64_t> bytes; ///< of the first gradients
  double limit = 0;           ///< the end that is still early enough
};
} // namespace

SmallVector<unsigned> cutByTime(ArrayRef<FinishedGradient> gradients, const Link &link,
                                double margin) {
  if (gradients.empty())
    return {};
  const Cuts late(gradients, link.slower(margin));
  SmallVector<unsigned> sizes = Cuts(gradients, link).run();
  return late.endsEarly(sizes) ? sizes : late.run();
}

SmallVector<unsigned> cutBySize(ArrayRef<FinishedGradient> gradients, int64_t mostBytes) {
  SmallVector<unsigned> sizes;
  int64_t filled = 0;
  for (const FinishedGradient &gradient : gradients) {
    if (sizes.empty() || filled + gradient.bytes > mostBytes) {
      sizes.push_back(0);
      filled = 0;
    }
    ++sizes.back();
    filled += gradient.bytes;
  }
  return sizes;
}

} // namespace dlc::dl
