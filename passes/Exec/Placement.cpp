//===- Placement.cpp - offsets for buffers with lifetimes -------------------------------------===//
//
// Placing by falling size, each slot into the smallest gap that is free while it lives, is the
// strategy of TensorFlow Lite's arena planner (Pisarchyk and Lee, "Efficient memory management for
// deep neural net inference", 2020). It loses where lifetimes nest, as those of a training step do;
// so other orders are tried beside it.
//
// Which bytes are taken while a slot lives is asked of segment trees over the records, not of each
// placed slot. Of two slots that conflict, let s be the one whose first access comes first in the
// order of the text. The other one, t, cannot end before it; so they conflict if and only if s does
// not end before t: on some stream, s has an access that may not have completed when t starts. With
// [first access, last access on the stream] of s and [first record of the stream that may not have
// completed, but not behind the first access; first access] of t, that is: these two ranges meet.
// They never do with s and t exchanged. So each stream needs two trees: of the ranges of the first
// kind, asked for those that meet one of the second, and the other way round.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/Exec/Placement.h"
#include "passes/Exec/Bytes.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

namespace dlc::exec {
namespace {

/// A range of records: [first, last).
using Span = std::pair<unsigned, unsigned>;

/// Bytes that are taken in spans of records.
class SpanTree {
public:
  explicit SpanTree(unsigned records) : leaves(llvm::PowerOf2Ceil(records)), nodes(2 * leaves) {}

  void add(Span span, ByteRange bytes) {
    visit(1, {0, leaves}, span, [&](Node &node, bool inside) {
      node.within.add(bytes);
      if (inside)
        node.throughout.add(bytes);
    });
  }
  /// Appends the bytes taken in some span that meets `span`.
  void collect(Span span, llvm::SmallVectorImpl<ByteRange> &taken) {
    visit(1, {0, leaves}, span, [&](Node &node, bool inside) {
      llvm::append_range(taken, (inside ? node.within : node.throughout).getRanges());
    });
  }

private:
  struct Node {
    ByteSet within;     ///< taken by some record of the node
    ByteSet throughout; ///< taken by all, and for that not named in the nodes below
  };

  /// The nodes that `span` is made of, `inside`, and those above them.
  template <typename F> void visit(unsigned node, Span covered, Span span, F &&function) {
    if (span.second <= covered.first || covered.second <= span.first || span.first >= span.second)
      return;
    bool inside = span.first <= covered.first && covered.second <= span.second;
    function(nodes[node], inside);
    if (inside)
      return;
    unsigned middle = std::midpoint(covered.first, covered.second);
    visit(2 * node, {covered.first, middle}, span, function);
    visit(2 * node + 1, {middle, covered.second}, span, function);
  }

  unsigned leaves;
  std::vector<Node> nodes; ///< 1: all records; 2n and 2n + 1: the halves of n
};

/// The slots placed so far.
class Placed {
public:
  Placed(unsigned streams, unsigned records)
      : earlier(streams, SpanTree(records)), later(streams, SpanTree(records)) {}

  void add(const Slot &slot, int64_t offset) {
    ByteRange bytes(offset, offset + slot.bytes);
    for (size_t stream = 0; stream < earlier.size(); ++stream) {
      earlier[stream].add(useSpan(slot, stream), bytes);
      later[stream].add(startSpan(slot, stream), bytes);
    }
  }

  /// Where `slot` finds room: the smallest gap between the bytes that are taken while it lives, or
  /// the first one; behind them if there is none.
  int64_t findOffset(const Slot &slot, bool smallest) {
    llvm::SmallVector<ByteRange> taken;
    for (size_t stream = 0; stream < earlier.size(); ++stream) {
      earlier[stream].collect(startSpan(slot, stream), taken);
      later[stream].collect(useSpan(slot, stream), taken);
    }
    llvm::sort(taken);
    int64_t end = 0, best = -1, bestGap = std::numeric_limits<int64_t>::max();
    for (auto [first, last] : taken) {
      if (int64_t gap = first - end; gap >= slot.bytes && gap < bestGap) {
        best = end;
        bestGap = smallest ? gap : 0;
      }
      end = std::max(end, last);
    }
    return best >= 0 ? best : end;
  }

private:
  static Span useSpan(const Slot &slot, unsigned stream) {
    return {slot.lifetime.getFirst(), slot.lifetime.last[stream]};
  }
  static Span startSpan(const Slot &slot, unsigned stream) {
    unsigned first = slot.lifetime.getFirst();
    return {std::min(slot.lifetime.open[stream], first), first + 1};
  }

  std::vector<SpanTree> earlier, later; ///< by stream: use and start spans
};

/// How slots are ranked; those of smaller rank are placed first.
using Rank = double (*)(const Slot &slot);

double duration(const Slot &slot) {
  return double(slot.lifetime.getEnd()) - slot.lifetime.getFirst();
}

const Rank ranks[] = {
    [](const Slot &slot) { return -double(slot.bytes); },
    [](const Slot &slot) { return -double(slot.bytes) * duration(slot); },
    [](const Slot &slot) { return -duration(slot); },
    [](const Slot &slot) { return double(slot.lifetime.getFirst()); },
    [](const Slot &slot) { return -double(slot.lifetime.getEnd()); },
};

} // namespace

int64_t findLiveBytes(llvm::ArrayRef<Slot> slots, unsigned records) {
  llvm::SmallVector<int64_t> change(records + 1, 0);
  for (const Slot &slot : slots)
    if (slot.lifetime.getFirst() < slot.lifetime.getEnd()) {
      change[slot.lifetime.getFirst()] += slot.bytes;
      change[std::min(slot.lifetime.getEnd(), records)] -= slot.bytes;
    }
  int64_t live = 0, most = 0;
  for (int64_t bytes : change)
    most = std::max(most, live += bytes);
  return most;
}

static Placement placeInOrder(llvm::ArrayRef<Slot> slots, llvm::ArrayRef<unsigned> sequence,
                              const HappensBefore &order, bool smallest, int64_t limit) {
  Placed placed(order.getNumStreams(), order.getRecords().size());
  Placement placement;
  placement.offsets.resize(slots.size());
  for (unsigned i : sequence) {
    int64_t offset = placed.findOffset(slots[i], smallest);
    placed.add(slots[i], offset);
    placement.offsets[i] = offset;
    placement.bytes = std::max(placement.bytes, offset + slots[i].bytes);
    if (placement.bytes >= limit)
      break;
  }
  return placement;
}

Placement place(llvm::ArrayRef<Slot> slots, const HappensBefore &order) {
  int64_t live = findLiveBytes(slots, order.getRecords().size());
  Placement best;
  best.bytes = std::numeric_limits<int64_t>::max();
  for (Rank rank : ranks) {
    llvm::SmallVector<unsigned> sequence = llvm::to_vector(llvm::seq<unsigned>(slots.size()));
    llvm::sort(sequence, [&](unsigned a, unsigned b) {
      return std::pair(rank(slots[a]), a) < std::pair(rank(slots[b]), b);
    });
    for (bool smallest : {true, false}) {
      Placement placement = placeInOrder(slots, sequence, order, smallest, best.bytes);
      if (placement.bytes < best.bytes)
        best = std::move(placement);
      if (best.bytes <= live)
        return best;
    }
  }
  return best;
}

Placement placeApart(llvm::ArrayRef<Slot> slots) {
  Placement placement;
  for (const Slot &slot : slots) {
    placement.offsets.push_back(placement.bytes);
    placement.bytes += slot.bytes;
  }
  return placement;
}

} // namespace dlc::exec
