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
  /// Of ops that stand in that order: moves one down to its first reader where that saves bytes.
  void sink(Operation *op) const;

private:
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

static int64_t resultBytes(Operation *op) {
  int64_t bytes = 0;
  for (Value result : op->getResults())
    bytes += bytesOf(result);
  return bytes;
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
  auto addGradient = [&](Value value) {
    Value buffer = bufferOf(value);
    Operation *producer = buffer.getDefiningOp();
    if (producer && !producer->hasTrait<StandsFirst>() && !isa<MultiTensorOp>(producer) &&
        2 * bytesOf(buffer) >= resultBytes(producer))
      weightGradients.insert(producer);
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
  // So is what is only added to one, or converted for one.
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
  for (Operation *user : old.getUsers()) {
    if (isView(user))
      addReaders(user->getResult(0), update);
    auto found = position.find(user);
    if (found == position.end() || isView(user) || found->second == update ||
        (user->hasAttr(updateAttr) && found->second > update))
      continue;
    if (updatesBehind[user].insert(update))
      ++missing[update];
  }
}

/// Bytes of the results minus those of the buffers that die here.
int64_t Scheduler::addedBytes(Operation *op) const {
  int64_t added = op->hasAttr(updateAttr) ? 0 : resultBytes(op); // an update's lie in variables
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
  for (Operation *user : buffer.getUsers()) {
    if (isView(user))
      rankReaders(user->getResult(0));
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

/// The ops that read a buffer, also by its views.
static void addReaders(Value buffer, SmallVectorImpl<Operation *> &readers) {
  for (Operation *user : buffer.getUsers())
    if (isView(user))
      addReaders(user->getResult(0), readers);
    else
      readers.push_back(user);
}

void Scheduler::sink(Operation *op) const {
  if (isUpdate(op) || op->use_empty() || (weightGradients.contains(op) && !isConversion(op)))
    return;
  SmallVector<Operation *> behind = llvm::to_vector(op->getUsers());
  if (auto updates = updatesBehind.find(op); updates != updatesBehind.end())
    for (size_t update : updates->second)
      behind.push_back(ops[update]);
  auto isBefore = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  Operation *first = *llvm::min_element(behind, isBefore);
  if (first->hasTrait<StandsLast>() || op->getNextNode() == first)
    return;
  int64_t saved = isView(op) ? 0 : resultBytes(op);
  for (Value buffer : buffersOf(op)) {
    SmallVector<Operation *> readers;
    ::addReaders(buffer, readers);
    if (llvm::all_of(readers, [&](Operation *reader) { return isBefore(reader, first); }))
      saved -= bytesOf(buffer);
  }
  if (saved > 0 || isView(op))
    op->moveBefore(first);
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
    const SmallVector<Operation *> computing = scheduler.run();
    llvm::append_range(order, computing);
    llvm::append_range(order, last);
    for (Operation *op : order)
      op->moveBefore(entry.getReturn());
    for (Operation *op : llvm::reverse(computing))
      scheduler.sink(op);
  }
};
} // namespace
