//===- LiveMemory.cpp - what an entry holds in memory at a time, and what it could ------------===//
#include "passes/DL/Memory/LiveMemory.h"
#include "dialects/DL/Facts/Names.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/DL/Memory/MinCut.h"
#include "llvm/ADT/SetVector.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

LiveMemory::LiveMemory(EntryOp entry, bool cheapOnly) : entry(entry), cheapOnly(cheapOnly) {
  measure();
}

//===------------------------------------------------------------------------------------------===//
// What is in use
//===------------------------------------------------------------------------------------------===//

/// A copy has those of what it is a copy of.
const LiveMemory::Facts *LiveMemory::factsOf(Operation *op) {
  std::shared_ptr<const Facts> &known = facts[op];
  if (known)
    return known.get();
  Facts found;
  found.seconds = secondsOf(op);
  if (auto fused = dyn_cast<FusedOp>(op)) {
    found.inPlace = findInPlacePairs(fused);
    found.mayRunAgain = !(cheapOnly && llvm::any_of(fused.getBody().front(), [](Operation &inner) {
                            auto anchor = dyn_cast<AnchorOp>(inner);
                            return anchor && multipliesMuch(anchor.getAnchor());
                          }));
  }
  if (program::CandidateAttr candidate = chosenFor(op))
    found.workspace = candidate.getWorkspace();
  known = std::make_shared<Facts>(std::move(found));
  return known.get();
}

int64_t LiveMemory::bytesOf(Value value) {
  auto [known, isNew] = bytesOfTypes.try_emplace(value.getType(), 0);
  if (isNew)
    known->second = dlc::dl::bytesOf(value);
  return known->second;
}

/// The buffer of a value, a sum over ranks taking the place of what is summed, and a part that of
/// the whole.
static Value findStorage(Value value) {
  for (;;) {
    value = bufferOf(value);
    if (auto reduced = value.getDefiningOp<AllReduceOp>())
      value = reduced.getXs()[cast<OpResult>(value).getResultNumber()];
    else if (IndexOp join = joinOf(value))
      value = join->getResult(0);
    else
      return value;
  }
}

Value LiveMemory::storageOf(Value value) {
  Value &known = storages[value];
  if (!known)
    known = findStorage(value);
  return known;
}

/// Of the buffer that a value lies in; nothing for what has none.
std::optional<unsigned> LiveMemory::numberOf(Value value) {
  auto known = numbers.find(storageOf(value));
  return known == numbers.end() ? std::nullopt : std::optional(known->second);
}

/// The buffers that it reads.
SmallVector<unsigned> LiveMemory::addUses(Operation *op, size_t position) {
  // Results of the entry, what an update or a reduction over ranks reads, and what is assigned lie
  // where these want them.
  const bool keeps = !isa<FusedOp>(op);
  SmallVector<unsigned> read;
  for (Value operand : op->getOperands()) {
    const std::optional<unsigned> number = numberOf(operand);
    if (!number)
      continue;
    Buffer &buffer = buffers[*number];
    buffer.last = std::max(buffer.last, position);
    buffer.isKept |= keeps;
    if (isa<AssignOp>(op))
      buffer.bytes = 0;
    read.push_back(*number);
  }
  return read;
}

/// Gradients that one update reads lie behind each other, so all are there from the first on.
void LiveMemory::beginTogether(MultiTensorOp update) {
  size_t first = ~size_t(0);
  for (Value tensor : update.getTensors())
    if (const std::optional<unsigned> number = numberOf(tensor))
      first = std::min(first, buffers[*number].first);
  for (Value tensor : update.getTensors())
    if (const std::optional<unsigned> number = numberOf(tensor))
      buffers[*number].first = first;
}

void LiveMemory::measure() {
  storages.clear();
  steps.clear();
  buffers.clear();
  numbers.clear();
  for (Operation &op : entry.getBlock())
    if (isa<FusedOp>(op) ||
        (!op.hasTrait<StandsFirst>() && !op.hasTrait<StandsLast>() && !isView(&op)))
      steps.push_back({&op, factsOf(&op), {}});
  for (auto [position, step] : llvm::enumerate(steps))
    for (Value result : step.op->getResults())
      if (storageOf(result) == result) {
        numbers[result] = buffers.size();
        buffers.push_back(
            {result, position, position, position, bytesOf(result), !isa<FusedOp>(step.op)});
      }
  // The whole is there from its first part on.
  for (auto [position, step] : llvm::enumerate(steps))
    for (Value result : step.op->getResults())
      if (const std::optional<unsigned> whole = numberOf(result))
        buffers[*whole].first = std::min(buffers[*whole].first, position);
  for (auto [position, step] : llvm::enumerate(steps))
    step.operands = addUses(step.op, position);
  for (Operation &op : entry.getBlock())
    if (op.hasTrait<StandsLast>())
      addUses(&op, steps.size());
  for (auto update : entry.getBlock().getOps<MultiTensorOp>())
    beginTogether(update);
  countLive();
}

/// Bytes of results that take the place of an operand which dies here.
int64_t LiveMemory::sharedInPlace(size_t position) {
  int64_t shared = 0;
  llvm::SmallDenseSet<unsigned> taken, given;
  auto [op, facts, operands] = steps[position];
  for (auto [operand, result] : facts->inPlace) {
    const std::optional<unsigned> number = numberOf(op->getOperand(operand));
    Value made = op->getResult(result);
    const bool dies = number && buffers[*number].last == position &&
                      buffers[*number].bytes == bytesOf(made) && storageOf(made) == made;
    if (dies && !taken.contains(*number) && given.insert(result).second) {
      taken.insert(*number);
      shared += buffers[*number].bytes;
    }
  }
  return shared;
}

void LiveMemory::countLive() {
  std::vector<int64_t> change(steps.size() + 2, 0);
  for (const Buffer &buffer : buffers) {
    change[buffer.first] += buffer.bytes;
    change[std::min(buffer.last, steps.size()) + 1] -= buffer.bytes;
  }
  live.assign(steps.size(), 0);
  int64_t bytes = 0;
  for (size_t position = 0; position < steps.size(); ++position) {
    bytes += change[position];
    live[position] = bytes - sharedInPlace(position) + steps[position].facts->workspace;
  }
}

int64_t LiveMemory::peak() const { return live.empty() ? 0 : *llvm::max_element(live); }

//===------------------------------------------------------------------------------------------===//
// The cut at one op
//===------------------------------------------------------------------------------------------===//

void LiveMemory::lookAhead(size_t position) {
  ahead.assign(position, 0);
  int64_t most = 0;
  for (size_t i = position; i-- > 0;)
    ahead[i] = most = std::max(most, live[i]);
}

/// Whether a buffer that is dead at the op of the last lookAhead can live until then.
bool LiveMemory::mayKeep(const Buffer &buffer, int64_t goal) const {
  return buffer.last + 1 >= ahead.size() || ahead[buffer.last + 1] + buffer.bytes <= goal;
}

static constexpr unsigned none = ~0u;

/// What to compute again behind an op: the graph for all worths of a second. The more a second is
/// worth, the more flows and the less is on the sink's side: a flow for one worth is one for each
/// greater one, and what is on that side is there for each smaller one.
struct LiveMemory::Cut {
  FlowGraph graph;
  unsigned source = graph.addNode(), sink = graph.addNode();
  /// By a buffer's number the node where its edge begins, which ends in the next node; or none.
  std::vector<unsigned> ins;
  struct Price {
    unsigned edge;
    double seconds;

    int64_t at(double bytesPerSecond) const {
      return 1 + std::llround(std::min(seconds * bytesPerSecond, 1e15));
    }
  };
  SmallVector<Price> prices; ///< of what may run again
  double least = 0;          ///< the worth that edges have their capacities for
  FlowGraph::Flow ofLeast;
  std::vector<bool> ofMost; ///< the sink's side for a greater worth than will be asked for

  /// The sink's side where a second is worth so many bytes, not less than `least`.
  std::vector<bool> at(double bytesPerSecond) {
    graph.setFlow(ofLeast);
    for (const Price &price : prices)
      graph.raise(price.edge, price.at(bytesPerSecond) - price.at(least));
    std::vector<bool> sinkSide = ofMost;
    graph.cut(source, sinkSide);
    return sinkSide;
  }
  /// Nothing less than the worth last asked for will be.
  void keepAsLeast(double bytesPerSecond) {
    least = bytesPerSecond;
    ofLeast = graph.flow();
  }
  /// The buffers to compute again.
  llvm::BitVector buffersOn(const std::vector<bool> &sinkSide) const {
    llvm::BitVector again(ins.size());
    for (auto [number, in] : llvm::enumerate(ins))
      if (in != none)
        again[number] = sinkSide[in];
    return again;
  }
};

/// Builds the graph of a cut backwards, from the buffers that live across an op to what they are
/// made of. What is computed again behind that op is on the sink's side.
class LiveMemory::CutBuilder {
public:
  CutBuilder(const LiveMemory &memory, size_t position, int64_t goal)
      : memory(memory), position(position), goal(goal), producers(memory.steps.size(), none),
        isAtHand(memory.buffers.size()) {
    for (unsigned operand : memory.steps[position].operands)
      isAtHand.set(operand);
  }
  Cut build();

private:
  /// A buffer's edge, which is cut where it is kept: by its first and last node.
  struct Kept {
    unsigned in, out;
  };
  Kept addBuffer(unsigned number, int64_t bytes);
  Kept edgeOf(unsigned number);
  int64_t bytesToKeep(const Buffer &buffer) const;
  void addProducer(size_t step);

  const LiveMemory &memory;
  const size_t position;
  const int64_t goal;
  Cut cut;
  std::vector<unsigned> producers; ///< nodes, by step
  llvm::BitVector isAtHand;        ///< operands of the op, which are there for nothing
  SmallVector<unsigned> added;     ///< buffers, in this order
};

LiveMemory::CutBuilder::Kept LiveMemory::CutBuilder::addBuffer(unsigned number, int64_t bytes) {
  const Kept kept{cut.graph.addNode(), cut.graph.addNode()};
  cut.graph.addEdge(kept.in, kept.out, bytes);
  cut.ins[number] = kept.in;
  added.push_back(number);
  return kept;
}

/// That of an operand; added, if it has none yet.
LiveMemory::CutBuilder::Kept LiveMemory::CutBuilder::edgeOf(unsigned number) {
  if (const unsigned in = cut.ins[number]; in != none)
    return {in, in + 1};
  return addBuffer(number, bytesToKeep(memory.buffers[number]));
}

int64_t LiveMemory::CutBuilder::bytesToKeep(const Buffer &buffer) const {
  return buffer.last >= position || memory.mayKeep(buffer, goal) ? buffer.bytes
                                                                 : FlowGraph::unlimited;
}

/// What runs again reads its operands, unless they are kept in any case.
void LiveMemory::CutBuilder::addProducer(size_t number) {
  const Step &step = memory.steps[number];
  const bool mayRunAgain = step.facts->mayRunAgain;
  const unsigned node = producers[number] = cut.graph.addNode();
  Cut::Price price{0, step.facts->seconds};
  price.edge =
      cut.graph.addEdge(cut.source, node, mayRunAgain ? price.at(cut.least) : FlowGraph::unlimited);
  if (mayRunAgain)
    cut.prices.push_back(price);
  for (unsigned operand : step.operands)
    if (!memory.buffers[operand].isKept && !isAtHand[operand])
      cut.graph.addEdge(edgeOf(operand).out, node, FlowGraph::unlimited);
}

LiveMemory::Cut LiveMemory::CutBuilder::build() {
  cut.ins.assign(memory.buffers.size(), none);
  for (auto [number, buffer] : llvm::enumerate(memory.buffers))
    if (!buffer.isKept && buffer.first < position && buffer.last > position)
      cut.graph.addEdge(addBuffer(number, buffer.bytes).out, cut.sink, FlowGraph::unlimited);
  for (size_t i = 0; i < added.size(); ++i) {
    const size_t step = memory.buffers[added[i]].producer;
    if (producers[step] == none)
      addProducer(step);
    cut.graph.addEdge(producers[step], cut.ins[added[i]], FlowGraph::unlimited);
  }
  cut.ofLeast = cut.graph.flow();
  cut.ofMost.resize(cut.graph.size());
  cut.ofMost[cut.sink] = true;
  return std::move(cut);
}

LiveMemory::Cut LiveMemory::cutAt(size_t position, int64_t goal) const {
  return CutBuilder(*this, position, goal).build();
}

/// The bytes in use at `position` if those buffers are computed again behind it.
int64_t LiveMemory::liveWithout(size_t position, const llvm::BitVector &again) const {
  int64_t bytes = live[position];
  llvm::BitVector kept(buffers.size());
  for (unsigned number : again.set_bits()) {
    const Buffer &buffer = buffers[number];
    if (buffer.last > position)
      bytes -= buffer.bytes;
    for (unsigned operand : steps[buffer.producer].operands)
      if (!again[operand] && buffers[operand].last < position && !kept[operand]) {
        kept.set(operand);
        bytes += buffers[operand].bytes;
      }
  }
  return bytes;
}

/// Takes out what need not be computed again, the dearest first: cuts by the worth of a byte take
/// all or none of what is worth as much.
void LiveMemory::keepMore(size_t position, int64_t goal, llvm::BitVector &again) const {
  SmallVector<unsigned> dearest;
  for (unsigned number : again.set_bits())
    if (buffers[number].last > position || mayKeep(buffers[number], goal))
      dearest.push_back(number);
  auto secondsOf = [&](unsigned number) { return steps[buffers[number].producer].facts->seconds; };
  llvm::stable_sort(dearest, [&](unsigned a, unsigned b) { return secondsOf(a) > secondsOf(b); });
  int64_t bytes = liveWithout(position, again);
  std::vector<unsigned> readers(buffers.size()); ///< of each buffer, among what runs again
  auto countReads = [&](unsigned number, int change) {
    for (unsigned operand : steps[buffers[number].producer].operands)
      readers[operand] += change;
  };
  for (unsigned number : again.set_bits())
    countReads(number, 1);
  // What is there only to compute others again.
  auto heldBytes = [&](unsigned number) {
    const Buffer &buffer = buffers[number];
    const bool isHeld = !again[number] && readers[number] > 0 && buffer.last < position;
    return isHeld ? buffer.bytes : 0;
  };
  for (unsigned number : dearest) {
    const Buffer &buffer = buffers[number];
    llvm::SmallSetVector<unsigned, 8> changed(llvm::from_range, steps[buffer.producer].operands);
    changed.insert(number);
    const int64_t before = llvm::sum_of(llvm::map_range(changed, heldBytes));
    again.reset(number);
    countReads(number, -1);
    const int64_t kept = bytes + (buffer.last > position ? buffer.bytes : 0) +
                         llvm::sum_of(llvm::map_range(changed, heldBytes)) - before;
    if (kept <= goal) {
      bytes = kept;
      continue;
    }
    again.set(number);
    countReads(number, 1);
  }
}

//===------------------------------------------------------------------------------------------===//
// Computing again
//===------------------------------------------------------------------------------------------===//

/// The value that `user` is to read instead of `value`: one that is computed again in front of the
/// first op that needs it, so as late as can be.
Value LiveMemory::place(Value value, Operation *user, const Values &again,
                        llvm::DenseMap<Value, Value> &placed) {
  Value storage = bufferOf(value);
  if (!again.contains(storage))
    return value;
  if (Value known = placed.lookup(value))
    return known;
  OpBuilder builder(user);
  Operation *op = value.getDefiningOp();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, place(operand, user, again, placed));
  builder.setInsertionPoint(user);
  Operation *clone = builder.clone(*op, mapping);
  clones.push_back(clone);
  factsOf(op);
  std::shared_ptr<const Facts> known = facts.lookup(op);
  facts[clone] = std::move(known);
  if (isa<FusedOp>(op)) {
    clone->setLoc(stageLoc(op->getLoc(), "recompute"));
    clone->setAttr("dl.recomputed", builder.getUnitAttr());
  }
  // Of several results those that are kept stay as they are.
  for (auto [from, to] : llvm::zip_equal(op->getResults(), clone->getResults()))
    placed[from] = to;
  return placed.lookup(value);
}

void LiveMemory::runAgain(size_t position, const Values &again) {
  llvm::DenseMap<Value, Value> placed;
  for (const Step &step : ArrayRef(steps).drop_front(position + 1))
    for (OpOperand &operand : step.op->getOpOperands()) {
      Value value = operand.get(), instead = place(value, step.op, again, placed);
      if (instead == value)
        continue;
      replaced.push_back({&operand, value});
      operand.set(instead);
    }
}

void LiveMemory::undo() {
  for (; !replaced.empty(); replaced.pop_back())
    replaced.back().operand->set(replaced.back().before);
  for (; !clones.empty(); clones.pop_back()) {
    facts.erase(clones.back());
    clones.back()->erase();
  }
  measure();
}

/// False if nothing brings that op below the goal.
bool LiveMemory::reduceAt(size_t position, int64_t goal) {
  // Powers of two, in bytes a second: the more a second is worth, the less is computed again.
  double low = 0, high = 50;
  lookAhead(position);
  Cut cut = cutAt(position, goal);
  llvm::BitVector again = cut.buffersOn(cut.at(std::exp2(low)));
  if (liveWithout(position, again) > goal)
    return false;
  cut.keepAsLeast(std::exp2(low));
  for (int i = 0; i < 10; ++i) {
    const double middle = (low + high) / 2;
    std::vector<bool> sinkSide = cut.at(std::exp2(middle));
    llvm::BitVector less = cut.buffersOn(sinkSide);
    if (liveWithout(position, less) <= goal) {
      low = middle;
      again = std::move(less);
      cut.keepAsLeast(std::exp2(low));
    } else {
      high = middle;
      cut.ofMost = std::move(sinkSide);
    }
  }
  keepMore(position, goal, again);
  Values values;
  for (unsigned number : again.set_bits())
    values.insert(buffers[number].value);
  runAgain(position, values);
  measure();
  return true;
}

bool LiveMemory::reduce(int64_t goal) {
  undo();
  // What is computed again may need more elsewhere, where the next round computes more again: it
  // ends, but not always below the goal.
  const size_t most = steps.size();
  while (peak() > goal)
    if (clones.size() > most || !reduceAt(llvm::max_element(live) - live.begin(), goal))
      return undo(), false;
  return true;
}

/// While an op runs, what it reads and writes is in use, and what is kept.
int64_t LiveMemory::leastPeak() const {
  std::vector<int64_t> change(steps.size() + 2, 0);
  auto isPassing = [](const Buffer &buffer, size_t position) {
    return !buffer.isKept && buffer.first < position && buffer.last > position;
  };
  for (const Buffer &buffer : buffers)
    if (!buffer.isKept && buffer.first < buffer.last) {
      change[buffer.first + 1] += buffer.bytes;
      change[std::min(buffer.last, steps.size())] -= buffer.bytes;
    }
  int64_t least = 0, passing = 0;
  for (auto [position, step] : llvm::enumerate(steps)) {
    passing += change[position];
    int64_t bytes = live[position] - passing;
    for (unsigned operand : llvm::SmallDenseSet<unsigned>(llvm::from_range, step.operands))
      if (isPassing(buffers[operand], position))
        bytes += buffers[operand].bytes;
    least = std::max(least, bytes);
  }
  return least;
}

void LiveMemory::reduceMost() {
  undo();
  int64_t least = leastPeak(), reached = peak();
  if (reduce(least))
    return;
  while (reached - least > reached / 50) {
    const int64_t middle = least + (reached - least) / 2;
    (reduce(middle) ? reached : least) = middle;
  }
  reduce(reached);
}

int64_t LiveMemory::countRecomputed() const {
  return llvm::count_if(clones, llvm::IsaPred<FusedOp>);
}

double LiveMemory::recomputedSeconds() const {
  double seconds = 0;
  for (Operation *clone : clones)
    seconds += secondsOf(clone);
  return seconds;
}
