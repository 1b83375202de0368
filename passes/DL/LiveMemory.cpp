//===- LiveMemory.cpp - what an entry holds in memory at a time, and what it could ------------===//
#include "passes/DL/LiveMemory.h"
#include "dialects/DL/DLEntryOps.h"
#include "dialects/DL/DLFusedOps.h"
#include "dialects/DL/DLReductionOps.h"
#include "dialects/DL/DLUpdateOps.h"
#include "dialects/DL/DLVariableOps.h"
#include "dialects/DL/Names.h"
#include "mlir/IR/IRMapping.h"
#include "passes/DL/MinCut.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace dlc::dl;

LiveMemory::LiveMemory(EntryOp entry, bool cheapOnly) : entry(entry), cheapOnly(cheapOnly) {
  measure();
}

//===------------------------------------------------------------------------------------------===//
// What is in use
//===------------------------------------------------------------------------------------------===//

/// The buffer of a value, a sum over ranks taking the place of what is summed, and a part that of
/// the whole.
static Value storageOf(Value value) {
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

void LiveMemory::addUses(Operation *op, size_t position) {
  // Results of the entry, what an update or a reduction over ranks reads, and what is assigned lie
  // where these want them.
  const bool keeps = !isa<FusedOp>(op);
  for (Value operand : op->getOperands()) {
    auto buffer = buffers.find(storageOf(operand));
    if (buffer == buffers.end())
      continue;
    buffer->second.last = std::max(buffer->second.last, position);
    buffer->second.isKept |= keeps;
    if (isa<AssignOp>(op))
      buffer->second.bytes = 0;
  }
}

/// Gradients that one update reads lie behind each other, so all are there from the first on.
static void beginTogether(MultiTensorOp update, llvm::function_ref<size_t *(Value)> firstOf) {
  size_t first = ~size_t(0);
  for (Value tensor : update.getTensors())
    if (const size_t *own = firstOf(storageOf(tensor)))
      first = std::min(first, *own);
  for (Value tensor : update.getTensors())
    if (size_t *own = firstOf(storageOf(tensor)))
      *own = first;
}

void LiveMemory::measure() {
  ops.clear();
  positions.clear();
  buffers.clear();
  for (Operation &op : entry.getBlock())
    if (!op.hasTrait<StandsFirst>() && !op.hasTrait<StandsLast>() && !isView(&op)) {
      positions[&op] = ops.size();
      ops.push_back(&op);
    }
  for (auto [position, op] : llvm::enumerate(ops))
    for (Value result : op->getResults())
      if (storageOf(result) == result)
        buffers[result] = {position, position, bytesOf(result), !isa<FusedOp>(op)};
  // The whole is there from its first part on.
  for (auto [position, op] : llvm::enumerate(ops))
    for (Value result : op->getResults())
      if (auto whole = buffers.find(storageOf(result)); whole != buffers.end())
        whole->second.first = std::min(whole->second.first, position);
  for (auto [position, op] : llvm::enumerate(ops))
    addUses(op, position);
  for (Operation &op : entry.getBlock())
    if (op.hasTrait<StandsLast>())
      addUses(&op, ops.size());
  for (auto update : entry.getBlock().getOps<MultiTensorOp>())
    beginTogether(update, [&](Value value) {
      auto buffer = buffers.find(value);
      return buffer == buffers.end() ? nullptr : &buffer->second.first;
    });
  countLive();
}

/// Bytes of results that take the place of an operand which dies here.
int64_t LiveMemory::sharedInPlace(FusedOp fused, size_t position) const {
  int64_t shared = 0;
  llvm::DenseSet<Value> taken;
  llvm::DenseSet<unsigned> given;
  for (auto [operand, result] : findInPlacePairs(fused)) {
    Value storage = storageOf(fused->getOperand(operand));
    auto buffer = buffers.find(storage);
    const bool dies = buffer != buffers.end() && buffer->second.last == position &&
                      buffer->second.bytes == bytesOf(fused->getResult(result)) &&
                      storageOf(fused->getResult(result)) == fused->getResult(result);
    if (dies && !taken.contains(storage) && given.insert(result).second) {
      taken.insert(storage);
      shared += buffer->second.bytes;
    }
  }
  return shared;
}

void LiveMemory::countLive() {
  std::vector<int64_t> change(ops.size() + 2, 0);
  for (const auto &[value, buffer] : buffers) {
    change[buffer.first] += buffer.bytes;
    change[std::min(buffer.last, ops.size()) + 1] -= buffer.bytes;
  }
  live.assign(ops.size(), 0);
  int64_t bytes = 0;
  for (auto [position, op] : llvm::enumerate(ops)) {
    live[position] = bytes += change[position];
    if (auto fused = dyn_cast<FusedOp>(op))
      live[position] -= sharedInPlace(fused, position);
    if (auto candidate = op->getAttrOfType<DictionaryAttr>("dl.candidate"))
      if (auto workspace = candidate.getAs<IntegerAttr>("workspace"))
        live[position] += workspace.getInt();
  }
}

int64_t LiveMemory::peak() const { return live.empty() ? 0 : *llvm::max_element(live); }

//===------------------------------------------------------------------------------------------===//
// The cut at one op
//===------------------------------------------------------------------------------------------===//

bool LiveMemory::mayRunAgain(Operation *op) const {
  auto fused = dyn_cast<FusedOp>(op);
  return fused && !(cheapOnly && llvm::any_of(fused.getBody().front(), [](Operation &inner) {
                      auto anchor = dyn_cast<AnchorOp>(inner);
                      return anchor && multipliesMuch(anchor.getAnchor());
                    }));
}

/// Whether a buffer that is dead at `position` can live until then.
bool LiveMemory::mayKeep(const Buffer &buffer, size_t position, int64_t goal) const {
  for (size_t i = buffer.last + 1; i < position; ++i)
    if (live[i] + buffer.bytes > goal)
      return false;
  return true;
}

/// The values to compute again behind `position`, where a second is worth so many bytes.
LiveMemory::Values LiveMemory::cutAt(size_t position, int64_t goal, double bytesPerSecond) const {
  FlowGraph graph;
  const unsigned source = graph.addNode(), sink = graph.addNode();
  struct Node {
    unsigned in, out;
  };
  llvm::DenseMap<Value, Node> values;
  llvm::DenseMap<Operation *, unsigned> producers;
  SmallVector<Value> pending;
  auto add = [&](Value value, int64_t bytes) {
    Node node{graph.addNode(), graph.addNode()};
    graph.addEdge(node.in, node.out, bytes);
    values[value] = node;
    pending.push_back(value);
    return node;
  };
  for (const auto &[value, buffer] : buffers)
    if (!buffer.isKept && buffer.first < position && buffer.last > position)
      graph.addEdge(add(value, buffer.bytes).out, sink, FlowGraph::unlimited);
  // An operand of the op at hand, and what is kept, is there for nothing; so is what has no buffer.
  llvm::DenseSet<Value> free;
  for (Value operand : ops[position]->getOperands())
    free.insert(storageOf(operand));
  for (size_t i = 0; i < pending.size(); ++i) {
    Value value = pending[i];
    Operation *op = value.getDefiningOp();
    auto [producer, isNew] = producers.try_emplace(op, 0);
    if (isNew) {
      producer->second = graph.addNode();
      const double price = std::min(secondsOf(op) * bytesPerSecond, 1e15);
      graph.addEdge(source, producer->second,
                    mayRunAgain(op) ? 1 + std::llround(price) : FlowGraph::unlimited);
      for (Value operand : op->getOperands()) {
        Value storage = storageOf(operand);
        auto known = buffers.find(storage);
        const bool costs =
            known != buffers.end() && !known->second.isKept && !free.contains(storage);
        if (!costs)
          continue;
        auto node = values.find(storage);
        const Buffer &buffer = known->second;
        const unsigned out =
            node != values.end()
                ? node->second.out
                : add(storage, buffer.last >= position || mayKeep(buffer, position, goal)
                                   ? buffer.bytes
                                   : FlowGraph::unlimited)
                      .out;
        graph.addEdge(out, producers[op], FlowGraph::unlimited);
      }
    }
    graph.addEdge(producers[op], values[value].in, FlowGraph::unlimited);
  }
  const std::vector<bool> sinkSide = graph.cut(source, sink);
  Values again;
  for (const auto &[value, node] : values)
    if (sinkSide[node.in])
      again.insert(value);
  return again;
}

/// The bytes in use at `position` if those values are computed again behind it.
int64_t LiveMemory::liveWithout(size_t position, const Values &again) const {
  int64_t bytes = live[position];
  Values kept;
  SmallVector<Value> needed(again.begin(), again.end());
  for (Value value : needed) {
    const Buffer &buffer = buffers.find(value)->second;
    if (buffer.last > position)
      bytes -= buffer.bytes;
    for (Value operand : value.getDefiningOp()->getOperands()) {
      Value storage = storageOf(operand);
      auto known = buffers.find(storage);
      if (known != buffers.end() && !again.contains(storage) && known->second.last < position &&
          kept.insert(storage).second)
        bytes += known->second.bytes;
    }
  }
  return bytes;
}

/// Takes out what need not be computed again, the dearest first: cuts by the worth of a byte take
/// all or none of what is worth as much.
void LiveMemory::keepMore(size_t position, int64_t goal, Values &again) const {
  SmallVector<Value> dearest;
  for (const auto &[value, buffer] : buffers)
    if (again.contains(value) && (buffer.last > position || mayKeep(buffer, position, goal)))
      dearest.push_back(value);
  llvm::stable_sort(dearest, [](Value a, Value b) {
    return secondsOf(a.getDefiningOp()) > secondsOf(b.getDefiningOp());
  });
  for (Value value : dearest) {
    again.erase(value);
    if (liveWithout(position, again) > goal)
      again.insert(value);
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
  for (size_t i = position + 1; i < ops.size(); ++i)
    for (OpOperand &operand : ops[i]->getOpOperands()) {
      Value value = operand.get(), instead = place(value, ops[i], again, placed);
      if (instead == value)
        continue;
      replaced.push_back({&operand, value});
      operand.set(instead);
    }
}

void LiveMemory::undo() {
  for (; !replaced.empty(); replaced.pop_back())
    replaced.back().operand->set(replaced.back().before);
  for (; !clones.empty(); clones.pop_back())
    clones.back()->erase();
  measure();
}

/// False if nothing brings that op below the goal.
bool LiveMemory::reduceAt(size_t position, int64_t goal) {
  // Powers of two, in bytes a second: the more a second is worth, the less is computed again.
  double low = 0, high = 50;
  Values again = cutAt(position, goal, std::exp2(low));
  if (liveWithout(position, again) > goal)
    return false;
  for (int i = 0; i < 10; ++i) {
    const double middle = (low + high) / 2;
    Values less = cutAt(position, goal, std::exp2(middle));
    const bool isEnough = liveWithout(position, less) <= goal;
    (isEnough ? low : high) = middle;
    if (isEnough)
      again = std::move(less);
  }
  keepMore(position, goal, again);
  runAgain(position, again);
  measure();
  return true;
}

bool LiveMemory::reduce(int64_t goal) {
  undo();
  // What is computed again may need more elsewhere, where the next round computes more again: it
  // ends, but not always below the goal.
  const size_t most = ops.size();
  while (peak() > goal)
    if (clones.size() > most || !reduceAt(llvm::max_element(live) - live.begin(), goal))
      return undo(), false;
  return true;
}

/// The bytes in use at `position` whatever is computed again: what runs there, and what is kept.
int64_t LiveMemory::leastAt(size_t position) const {
  llvm::DenseSet<Value> operands;
  for (Value operand : ops[position]->getOperands())
    operands.insert(storageOf(operand));
  int64_t bytes = live[position];
  for (const auto &[value, buffer] : buffers)
    if (!buffer.isKept && buffer.first < position && buffer.last > position &&
        !operands.contains(value))
      bytes -= buffer.bytes;
  return bytes;
}

void LiveMemory::reduceMost() {
  undo();
  int64_t least = 0, reached = peak();
  for (size_t position = 0; position < ops.size(); ++position)
    least = std::max(least, leastAt(position));
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
