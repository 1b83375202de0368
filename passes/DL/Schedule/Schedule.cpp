//===- Schedule.cpp - fixes the order of execution --------------------------------------------===//
//
// List scheduling: among the ops whose operands are there, first views, which cost nothing; then
// weight gradients, so that what follows from them (a reduction over ranks, the update) can begin
// and the gradient of the layer's output dies early; then the op that adds least to the live bytes.
// Updates wait for all else that is ready: what reads the old values then lets them be overwritten.
// Those that a gradient's region holds run as weight gradients do, but behind what reads these.
// Then an op that adds bytes goes down to its first reader, unless buffers that die in it would
// live longer for as many: what is converted for the backward pass does not lie there from the
// forward on. Ties fall to the order in which the ops stood, so that the result depends on nothing
// but the input. Greedy: an optimal order for memory is NP-hard, and the graph of a network is
// nearly a chain.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "passes/DL/Memory/Buffers.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Simplify/DeadCode.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include <set>

namespace dlc::dl {
#define GEN_PASS_DEF_SCHEDULE
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

namespace {

/// The list scheduler of one entry.
class Scheduler {
public:
  explicit Scheduler(EntryOp entry);

  /// Ops that compute, in the order in which to run them.
  SmallVector<Operation *> run();
  /// Moves ops of that order down to their first readers where that saves bytes.
  void sink(SmallVectorImpl<Operation *> &order) const;

private:
  /// The number of an op in the order, and 0, or less for what has moved in front of it.
  using Place = std::pair<size_t, int64_t>;
  Place lowered(Operation *op, const llvm::DenseMap<Operation *, Place> &places,
                Place firstUpdate) const;
  /// Smaller is sooner; compared from left to right.
  using Rank = std::tuple<int, int64_t, size_t>;
  Rank rank(size_t index) const;
  int64_t addedBytes(Operation *op) const;
  void addReaders(Value old, size_t update);
  void makeReady(size_t index);
  void markDone(Operation *op);
  void rankReaders(Value buffer);

  SmallVector<Operation *> ops;
  /// Operands of ops[i] that are still to be computed, and ops that are to run before it.
  SmallVector<unsigned> missing;
  /// The updates that an op is to run before, as it reads what they change.
  llvm::DenseMap<Operation *, llvm::SmallSetVector<size_t, 1>> updatesBehind;
  llvm::DenseMap<Operation *, size_t> position;
  /// Uses still to come, of a buffer: a value that is no view.
  llvm::DenseMap<Value, unsigned> usesLeft;
  llvm::DenseSet<Operation *> weightGradients;
  /// What could run now, the best first, and where each stands there.
  std::set<Rank> ready;
  llvm::DenseMap<size_t, Rank> readyRank;
};

} // namespace

/// Buffers that an op reads, each once. Variables, constants and inputs live anyway and are left
/// out.
static llvm::SmallSetVector<Value, 4> buffersOf(Operation *op) {
  llvm::SmallSetVector<Value, 4> buffers;
  for (Value operand : op->getOperands()) {
    Value buffer = bufferOf(operand);
    if (Operation *producer = buffer.getDefiningOp();
        producer && !producer->hasTrait<StandsFirst>())
      buffers.insert(buffer);
  }
  return buffers;
}

/// The ops that read a value, also by its views.
static SmallVector<Operation *> readersOf(Value value) {
  SmallVector<Operation *> readers;
  SmallVector<Value> held = {value};
  for (size_t i = 0; i < held.size(); ++i)
    for (Operation *user : held[i].getUsers())
      if (isView(user))
        held.push_back(user->getResult(0));
      else
        readers.push_back(user);
  return readers;
}

/// Whether a region puts the elements of a tensor into another order and does nothing else.
static bool isConversion(Operation *op) {
  auto fused = dyn_cast<FusedOp>(op);
  return fused && fused->getNumOperands() == 1 && fused->getNumResults() == 1 &&
         llvm::all_of(fused.getBody().front(), [](Operation &inner) {
           return isa<ConvertLayoutOp, TransposeOp, ReshapeOp, YieldOp>(inner);
         });
}

Scheduler::Scheduler(EntryOp entry) {
  for (Operation &op : entry.getBlock()) {
    if (!isView(&op))
      for (Value buffer : buffersOf(&op))
        ++usesLeft[buffer];
    if (!op.hasTrait<StandsFirst>() && !op.hasTrait<StandsLast>()) {
      position[&op] = ops.size();
      ops.push_back(&op);
    }
  }
  for (Operation *op : ops)
    missing.push_back(llvm::count_if(op->getOperands(), [&](Value operand) {
      return position.contains(operand.getDefiningOp());
    }));
  llvm::StringMap<SmallVector<Value>> reads;
  for (auto read : entry.getBlock().getOps<ReadOp>())
    reads[read.getVariable()].push_back(read);
  for (auto [index, op] : llvm::enumerate(ops))
    if (op->hasAttr(updateAttr)) {
      weightGradients.insert(op);
      for (Operation *user : op->getUsers())
        if (auto assign = dyn_cast<AssignOp>(user))
          for (Value old : reads.lookup(assign.getVariable()))
            addReaders(old, index);
    }
  llvm::SetVector<Value> gradients;
  auto addGradient = [&](Value value) {
    Value buffer = bufferOf(value);
    Operation *producer = buffer.getDefiningOp();
    if (producer && !producer->hasTrait<StandsFirst>() && !isa<MultiTensorOp>(producer))
      gradients.insert(buffer);
  };
  // What an update reads is a variable or computed for it.
  for (auto update : entry.getBlock().getOps<MultiTensorOp>())
    llvm::for_each(update.getTensors(), addGradient);
  for (auto update : entry.getBlock().getOps<UpdateRowsOp>())
    addGradient(update.getRows());
  for (auto [i, output] : llvm::enumerate(entry.getReturn().getOutputs()))
    if (entry.getResultAttr(i, "dl.of"))
      addGradient(output);
  for (auto reduced : entry.getBlock().getOps<AllReduceOp>())
    llvm::for_each(reduced.getXs(), addGradient);
  // A gradient that flows on, with the sum of a bias's, is none of a weight.
  llvm::DenseMap<Operation *, int64_t> bytes;
  for (Value gradient : gradients)
    bytes[gradient.getDefiningOp()] += bytesOf(gradient);
  for (auto [producer, ofGradients] : bytes)
    if (2 * ofGradients >= bytesOfAll(producer->getResults()))
      weightGradients.insert(producer);
  // What is only added to one is one, and what is converted for one.
  for (Operation *op : llvm::reverse(ops))
    if (!op->use_empty() && !isView(op) && llvm::all_of(op->getUsers(), [&](Operation *user) {
          return weightGradients.contains(user) &&
                 (isConversion(op) ||
                  llvm::is_contained(user->getResultTypes(), op->getResult(0).getType()));
        }))
      weightGradients.insert(op);
}

/// What reads the variable runs before its update; of two updates, the first of them.
void Scheduler::addReaders(Value old, size_t update) {
  for (Operation *user : readersOf(old)) {
    auto found = position.find(user);
    if (found == position.end() || found->second == update ||
        (user->hasAttr(updateAttr) && found->second > update))
      continue;
    if (updatesBehind[user].insert(update))
      ++missing[update];
  }
}

/// Bytes of the results minus those of the buffers that die here.
int64_t Scheduler::addedBytes(Operation *op) const {
  // An update's lie in variables.
  int64_t added = op->hasAttr(updateAttr) ? 0 : bytesOfAll(op->getResults());
  for (Value buffer : buffersOf(op))
    if (usesLeft.lookup(buffer) == 1)
      added -= bytesOf(buffer);
  return added;
}

static bool isUpdate(Operation *op) {
  auto anchor = dyn_cast<AnchorOp>(op);
  return anchor && runsOverVariables(anchor.getAnchor());
}

Scheduler::Rank Scheduler::rank(size_t index) const {
  Operation *op = ops[index];
  if (isView(op))
    return {0, 0, index};
  const int kind = isUpdate(op) ? 3 : weightGradients.contains(op) ? 1 : 2;
  return {kind, addedBytes(op), index};
}

void Scheduler::makeReady(size_t index) {
  readyRank[index] = rank(index);
  ready.insert(readyRank[index]);
}

/// The last reader of a buffer frees it, and so moves forward among what is ready.
void Scheduler::rankReaders(Value buffer) {
  for (Operation *user : readersOf(buffer)) {
    auto found = position.find(user);
    if (found == position.end() || !readyRank.contains(found->second))
      continue;
    ready.erase(readyRank[found->second]);
    makeReady(found->second);
  }
}

void Scheduler::markDone(Operation *op) {
  if (!isView(op))
    for (Value buffer : buffersOf(op))
      if (--usesLeft[buffer] == 1)
        rankReaders(buffer);
  auto countDown = [&](size_t index) {
    if (--missing[index] == 0)
      makeReady(index);
  };
  for (Operation *user : op->getUsers())
    if (auto found = position.find(user); found != position.end())
      countDown(found->second);
  for (size_t update : updatesBehind.lookup(op))
    countDown(update);
}

SmallVector<Operation *> Scheduler::run() {
  SmallVector<Operation *> order;
  for (size_t i = 0; i < ops.size(); ++i)
    if (missing[i] == 0)
      makeReady(i);
  while (!ready.empty()) {
    size_t best = std::get<2>(*ready.begin());
    ready.erase(ready.begin());
    readyRank.erase(best);
    order.push_back(ops[best]);
    markDone(ops[best]);
  }
  return order;
}

/// Where the op goes down to: in front of its first reader, where that saves bytes. Unchanged, if
/// it stays.
Scheduler::Place Scheduler::lowered(Operation *op, const DenseMap<Operation *, Place> &places,
                                    Place firstUpdate) const {
  const Place own = places.lookup(op);
  if (isUpdate(op) || isa<AllReduceOp>(op) || op->use_empty() ||
      (weightGradients.contains(op) && !isConversion(op)))
    return own;
  // What stands last is in no order.
  auto placeOf = [&](Operation *other) {
    auto found = places.find(other);
    return found == places.end() ? Place(ops.size(), 0) : found->second;
  };
  Place first(ops.size(), 0);
  for (Operation *user : op->getUsers())
    first = std::min(first, placeOf(user));
  if (auto updates = updatesBehind.find(op); updates != updatesBehind.end())
    for (size_t update : updates->second)
      first = std::min(first, placeOf(ops[update]));
  if (first.first == ops.size() || firstUpdate < first)
    return own;
  if (isView(op))
    return first;
  int64_t saved = 0;
  for (Value result : op->getResults())
    saved += joinOf(result) ? 0 : bytesOf(result);
  for (Value buffer : buffersOf(op)) {
    auto isEarlier = [&](Operation *reader) { return placeOf(reader) < first; };
    if (llvm::all_of(readersOf(buffer), isEarlier))
      saved -= bytesOf(buffer);
  }
  return saved > 0 ? first : own;
}

void Scheduler::sink(SmallVectorImpl<Operation *> &order) const {
  DenseMap<Operation *, Place> places;
  Place firstUpdate(ops.size(), 0);
  for (auto [index, op] : llvm::enumerate(order)) {
    places[op] = Place(index, 0);
    if (isUpdate(op))
      firstUpdate = std::min(firstUpdate, Place(index, 0));
  }
  // Before a reader's place comes what was moved there later, so what that reads stands before it.
  DenseMap<size_t, int64_t> moved;
  for (Operation *op : llvm::reverse(order)) {
    const Place to = lowered(op, places, firstUpdate);
    if (to != places[op])
      places[op] = Place(to.first, --moved[to.first]);
  }
  llvm::sort(order, [&](Operation *a, Operation *b) { return places[a] < places[b]; });
}

namespace {
struct Schedule : dlc::dl::impl::ScheduleBase<Schedule> {
  void runOnOperation() override {
    EntryOp entry = getOperation();
    eraseDeadOps(entry);
    SmallVector<Operation *> order, last;
    for (Operation &op : entry.getBlock()) {
      if (op.hasTrait<StandsFirst>())
        order.push_back(&op);
      if (isa<AssignOp>(op))
        last.push_back(&op);
    }
    Scheduler scheduler(entry);
    SmallVector<Operation *> computing = scheduler.run();
    scheduler.sink(computing);
    llvm::append_range(order, computing);
    llvm::append_range(order, last);
    for (Operation *op : order)
      op->moveBefore(entry.getReturn());
  }
};
} // namespace
