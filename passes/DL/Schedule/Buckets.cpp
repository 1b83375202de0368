//===- Buckets.cpp - which gradients are reduced over ranks together --------------------------===//
//
// What cuts of the first j gradients into k runs end with, on the link and on the slow one, is kept
// for those that no other one beats on both: a later end never helps what follows. Ends of k runs
// come of those of k - 1, end(j) being max(end(i), time of gradient j) + link(bytes between them).
//
//===------------------------------------------------------------------------------------------===//
#include "passes/DL/Schedule/Buckets.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

using namespace llvm;

namespace dlc::dl {

namespace {
/// When the reductions of the first gradients end, on the link and on the slow one, and how they
/// came about: the last run begins with gradient `begin`, behind `before` of one run less there.
struct Ends {
  std::array<double, 2> seconds;
  unsigned begin = 0, before = 0;

  bool beats(const Ends &other) const {
    return seconds[0] <= other.seconds[0] && seconds[1] <= other.seconds[1];
  }
};

class Cuts {
public:
  Cuts(ArrayRef<FinishedGradient> gradients, std::array<Link, 2> links)
      : gradients(gradients), links(links) {
    bytes.push_back(0);
    for (const FinishedGradient &gradient : gradients)
      bytes.push_back(bytes.back() + gradient.bytes);
    for (unsigned which : {0, 1})
      earliest[which] = earliestEnd(which);
  }

  SmallVector<unsigned> run() {
    const unsigned n = gradients.size();
    runs.emplace_back(n + 1);
    runs[0][0].push_back({});
    std::pair<unsigned, unsigned> best; // number of runs, and which of their ends
    double least = std::numeric_limits<double>::infinity();
    while (least > 1 && runs.size() <= n) {
      addRun();
      for (auto [i, ends] : llvm::enumerate(runs.back()[n]))
        if (double late = lateness(ends); late < least) {
          least = late;
          best = {runs.size() - 1, i};
        }
    }
    SmallVector<unsigned> sizes;
    unsigned end = n;
    for (auto [number, which] = best; number; --number) {
      const Ends &ends = runs[number][end][which];
      sizes.push_back(end - ends.begin);
      end = ends.begin;
      which = ends.before;
    }
    std::reverse(sizes.begin(), sizes.end());
    return sizes;
  }

private:
  using Row = std::vector<SmallVector<Ends, 2>>; ///< of each number of gradients

  /// How much later than need be, as a share of what may be, on the link where it is more.
  double lateness(const Ends &ends) const {
    double most = 0;
    for (unsigned which : {0, 1})
      most = std::max(most, (ends.seconds[which] - earliest[which]) / mayBeLate(links[which]));
    return most;
  }

  double mayBeLate(const Link &link) const {
    return std::max(0.01 * link.secondsFor(bytes.back()), link.taken);
  }

  void addRun() {
    const Row &last = runs.back();
    Row next(last.size());
    for (unsigned j = 1; j < last.size(); ++j)
      for (unsigned i = 0; i < j; ++i)
        if (mayReduce(i, j))
          for (unsigned before = 0; before < last[i].size(); ++before) {
            Ends ends{{}, i, before};
            for (unsigned which : {0, 1})
              ends.seconds[which] = endOf(which, i, j, last[i][before].seconds[which]);
            if (llvm::any_of(next[j], [&](const Ends &other) { return other.beats(ends); }))
              continue;
            llvm::erase_if(next[j], [&](const Ends &other) { return ends.beats(other); });
            next[j].push_back(ends);
          }
    runs.push_back(std::move(next));
  }

  bool mayReduce(unsigned i, unsigned j) const {
    return j < gradients.size() || i + 1 == j || bytes[j] - bytes[i] <= mostLastBytes;
  }

  /// When gradients i to j - 1 are reduced, if those before them are at `before`.
  double endOf(unsigned which, unsigned i, unsigned j, double before) const {
    return std::max(before, gradients[j - 1].seconds) +
           links[which].secondsFor(bytes[j] - bytes[i]);
  }

  double earliestEnd(unsigned which) const {
    std::vector<double> ends{0};
    for (unsigned j = 1; j <= gradients.size(); ++j) {
      ends.push_back(std::numeric_limits<double>::infinity());
      for (unsigned i = 0; i < j; ++i)
        if (mayReduce(i, j))
          ends[j] = std::min(ends[j], endOf(which, i, j, ends[i]));
    }
    return ends.back();
  }

  ArrayRef<FinishedGradient> gradients;
  std::array<Link, 2> links;
  std::vector<int64_t> bytes; ///< of the first gradients
  std::array<double, 2> earliest;
  std::vector<Row> runs; ///< of each number of runs
};
} // namespace

SmallVector<unsigned> cutByTime(ArrayRef<FinishedGradient> gradients, const Link &link,
                                double margin) {
  if (gradients.empty())
    return {};
  return Cuts(gradients, {link, link.slower(margin)}).run();
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
