//===- Placement.cpp - offsets for buffers with lifetimes -------------------------------------===//
//
// Placing by falling size, each slot into the smallest gap that is free while it lives, is the
// strategy of TensorFlow Lite's arena planner (Pisarchyk and Lee, "Efficient memory management for
// deep neural net inference", 2020). It loses where lifetimes nest, as those of a training step do;
// so other orders are tried beside it, and with each of them that slots of the second half of a
// step come to the upper end of what is in use at once: what is large at a step's begin and again
// at its end then leaves room beside it that nothing else divides. The best of them is mended: the
// slots that end above what is in use at once come first in the next order (Joslin and Clements,
// "Squeaky wheel optimization", 1999).
//
// Which bytes are taken while a slot lives is asked of segment trees over the records, not of each
// placed slot. Two slots conflict if and only if, on some stream, the first access of one comes, in
// the order of the text, when the other one has been touched but its end is not known there yet:
// such an access is not behind the other slot, which has begun, and so is not behind it either. For
// the slots of which this is true with the roles exchanged, all first accesses are kept as well.
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
using Taken = llvm::SmallVectorImpl<ByteRange>;

/// A complete binary tree over the records, in an array: 1 is all, 2n and 2n + 1 the halves of n.
class RecordTree {
protected:
  explicit RecordTree(unsigned records)
      : leaves(llvm::PowerOf2Ceil(records + 1)), nodes(2 * leaves) {}

  /// Calls `function` with the sets of the fewest nodes that make up `span`.
  template <typename F> void forSpan(Span span, F &&function) {
    size_t first = std::min(span.first, leaves) + leaves,
           last = std::min(span.second, leaves) + leaves;
    for (; first < last; first /= 2, last /= 2) {
      if (first & 1)
        function(nodes[first++]);
      if (last & 1)
        function(nodes[--last]);
    }
  }
  /// Calls it with the sets of all nodes that contain a record.
  template <typename F> void forRecord(unsigned record, F &&function) {
    for (size_t node = record + leaves; node > 0; node /= 2)
      function(nodes[node]);
  }

private:
  unsigned leaves;
  std::vector<ByteSet> nodes;
};

/// Bytes that are taken in spans of records, to be asked for those taken at one.
struct SpanTree : RecordTree {
  explicit SpanTree(unsigned records) : RecordTree(records) {}
  void add(Span span, ByteRange bytes) {
    forSpan(span, [&](ByteSet &set) { set.add(bytes); });
  }
  void collect(unsigned record, Taken &taken) {
    forRecord(record, [&](ByteSet &set) { llvm::append_range(taken, set.getRanges()); });
  }
};

/// Bytes that are taken at records, to be asked for those taken in a span.
struct PointTree : RecordTree {
  explicit PointTree(unsigned records) : RecordTree(records) {}
  void add(unsigned record, ByteRange bytes) {
    forRecord(record, [&](ByteSet &set) { set.add(bytes); });
  }
  void collect(Span span, Taken &taken) {
    forSpan(span, [&](ByteSet &set) { llvm::append_range(taken, set.getRanges()); });
  }
};

/// The slots placed so far.
class Placed {
public:
  Placed(unsigned streams, unsigned records)
      : uses(streams, SpanTree(records)), starts(streams, PointTree(records)), allStarts(records) {}

  void add(const Slot &slot, int64_t offset) {
    const Lifetime &life = slot.lifetime;
    ByteRange bytes(offset, offset + slot.bytes);
    for (size_t stream = 0; stream < uses.size(); ++stream) {
      uses[stream].add({life.getFirst(), life.released[stream]}, bytes);
      if (unsigned first = life.first[stream]; first != Lifetime::never) {
        starts[stream].add(first, bytes);
        allStarts.add(first, bytes);
      }
    }
  }

  /// Where `slot` finds room: the smallest gap between the bytes that are taken while it lives, or
  /// the first one; behind them if there is none. At the gap's upper end if `upTo` is not 0, which
  /// is where the last gap ends.
  int64_t findOffset(const Slot &slot, bool smallest, int64_t upTo) {
    llvm::SmallVector<ByteRange> taken;
    collect(slot.lifetime, taken);
    llvm::sort(taken);
    taken.emplace_back(upTo, upTo);
    int64_t end = 0, best = -1, bestGap = std::numeric_limits<int64_t>::max();
    for (auto [first, last] : taken) {
      if (int64_t gap = first - end; gap >= slot.bytes && gap < bestGap) {
        best = upTo > 0 ? first - slot.bytes : end;
        bestGap = smallest ? gap : 0;
      }
      end = std::max(end, last);
    }
    return best >= 0 ? best : end;
  }

private:
  /// Most of what starts in a lifetime does so before any stream knows that it has ended. Asked of
  /// all streams at once that is one range of bytes, where each stream's part of it is many.
  void collect(const Lifetime &life, Taken &taken) {
    unsigned common = std::max(life.getFirst(), *llvm::min_element(life.released));
    allStarts.collect({life.getFirst(), common}, taken);
    for (size_t stream = 0; stream < uses.size(); ++stream) {
      starts[stream].collect({common, life.released[stream]}, taken);
      if (life.first[stream] != Lifetime::never)
        uses[stream].collect(life.first[stream], taken);
    }
  }

  std::vector<SpanTree> uses;    ///< by stream: from the first access until the end is known there
  std::vector<PointTree> starts; ///< by stream: at the first access on it
  PointTree allStarts;           ///< on any
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

/// Slots in the order in which they are placed, and how gaps are chosen.
struct Order {
  llvm::SmallVector<unsigned> sequence;
  bool smallest = true;
  int64_t laterUpTo = 0; ///< where slots of the second half end, or 0
};

static Placement placeInOrder(llvm::ArrayRef<Slot> slots, const Order &slotOrder,
                              const HappensBefore &order, int64_t limit) {
  Placed placed(order.getNumStreams(), order.getRecords().size());
  Placement placement;
  placement.offsets.resize(slots.size());
  for (unsigned i : slotOrder.sequence) {
    const bool isLater = slots[i].lifetime.getFirst() > order.getRecords().size() / 2;
    int64_t offset =
        placed.findOffset(slots[i], slotOrder.smallest, isLater ? slotOrder.laterUpTo : 0);
    placed.add(slots[i], offset);
    placement.offsets[i] = offset;
    placement.bytes = std::max(placement.bytes, offset + slots[i].bytes);
    if (placement.bytes >= limit)
      break;
  }
  return placement;
}

/// How often the best order is mended in vain. Where that helps, it takes few rounds.
constexpr unsigned vainRounds = 4;

/// Places the slots that end above `live` in front of the others, again and again.
static Placement mend(llvm::ArrayRef<Slot> slots, Order slotOrder, const HappensBefore &order,
                      Placement best, int64_t live) {
  Placement last = best;
  for (unsigned vain = 0; vain < vainRounds && best.bytes > live; ++vain) {
    std::stable_partition(slotOrder.sequence.begin(), slotOrder.sequence.end(),
                          [&](unsigned i) { return last.offsets[i] + slots[i].bytes > live; });
    last = placeInOrder(slots, slotOrder, order, std::numeric_limits<int64_t>::max());
    if (last.bytes < best.bytes) {
      best = last;
      vain = 0;
    }
  }
  return best;
}

Placement place(llvm::ArrayRef<Slot> slots, const HappensBefore &order) {
  int64_t live = findLiveBytes(slots, order.getRecords().size());
  Placement best;
  best.bytes = std::numeric_limits<int64_t>::max();
  Order bestOrder;
  for (Rank rank : ranks) {
    Order slotOrder{llvm::to_vector(llvm::seq<unsigned>(slots.size()))};
    llvm::sort(slotOrder.sequence, [&](unsigned a, unsigned b) {
      return std::pair(rank(slots[a]), a) < std::pair(rank(slots[b]), b);
    });
    for (auto [smallest, laterUpTo] : {std::pair(true, int64_t(0)), {false, 0}, {true, live}}) {
      slotOrder.smallest = smallest;
      slotOrder.laterUpTo = laterUpTo;
      Placement placement = placeInOrder(slots, slotOrder, order, best.bytes);
      if (placement.bytes < best.bytes) {
        best = std::move(placement);
        bestOrder = slotOrder;
      }
      if (best.bytes <= live)
        return best;
    }
  }
  return mend(slots, std::move(bestOrder), order, std::move(best), live);
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
