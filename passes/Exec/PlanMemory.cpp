//===- PlanMemory.cpp - offsets in the arena --------------------------------------------------===//
//
// See Passes.td for the rules. Greedy by size is the strategy of TensorFlow Lite's arena planner
// (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020), here with
// lifetimes that are partially ordered.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/Exec/Memory.h"
#include "passes/Exec/HappensBefore.h"
#include "passes/Exec/Passes.h"

using namespace mlir;

namespace dlc::exec {

#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Exec/Passes.h.inc"

namespace {

/// A place in the arena: one alloc, or several of equal size that take it one after the other.
struct Slot {
  SmallVector<AllocOp> allocs;
  int64_t bytes = 0;
  SmallVector<RecordAccess> accesses; ///< in the order of the text
  bool isOutput = false;
  int64_t offset = -1;
};

class Planner {
public:
  Planner(ProgramOp program, SymbolTable &symbols)
      : program(program), symbols(symbols), order(program) {
    Lifetimes lifetimes(program, order);
    for (auto alloc : program.getBlock().getOps<AllocOp>()) {
      Slot slot{{alloc},
                alignUp(getBytes(alloc)),
                lifetimes.accesses.lookup(alloc),
                lifetimes.outputs.contains(alloc)};
      slotOf[alloc] = slots.size();
      slots.push_back(std::move(slot));
    }
  }

  void mergeInPlace();
  /// Without `reuse` each slot has bytes of its own.
  void place(bool reuse);

private:
  void merge(LaunchOp launch, unsigned record, InPlaceAttr pair);
  std::optional<unsigned> findWholeSlot(LaunchOp launch, unsigned buffer);
  bool endsBefore(const Slot &a, const Slot &b) const;
  int64_t findOffset(const Slot &slot, ArrayRef<unsigned> placed) const;

  ProgramOp program;
  SymbolTable &symbols;
  HappensBefore order;
  SmallVector<Slot> slots;
  llvm::DenseMap<Operation *, unsigned> slotOf;
};

//===------------------------------------------------------------------------------------------===//
// In place
//===------------------------------------------------------------------------------------------===//

void Planner::mergeInPlace() {
  for (auto [i, record] : llvm::enumerate(order.getRecords()))
    if (auto launch = dyn_cast<LaunchOp>(*record))
      if (ArrayAttr pairs = symbols.lookup<KernelOp>(launch.getKernel()).getInPlaceAttr())
        for (auto pair : pairs.getAsRange<InPlaceAttr>())
          merge(launch, i, pair);
}

/// The slot that a launch's buffer is all of, if no other buffer of the launch stands in it.
std::optional<unsigned> Planner::findWholeSlot(LaunchOp launch, unsigned buffer) {
  Extent extent = getExtent(launch.getBuffers()[buffer]);
  if (extent.space != Space::Arena || extent.offset != 0 ||
      extent.bytes != getBytes(extent.root->getResult(0)))
    return std::nullopt;
  unsigned slot = slotOf.lookup(extent.root);
  for (auto [i, other] : llvm::enumerate(launch.getBuffers())) {
    Extent place = getExtent(other);
    if (i != buffer && place.space == Space::Arena && slotOf.lookup(place.root) == slot)
      return std::nullopt;
  }
  return slot;
}

/// Gives the result the operand's place, if the operand is used for the last time here and the
/// result for the first time.
void Planner::merge(LaunchOp launch, unsigned record, InPlaceAttr pair) {
  std::optional<unsigned> from = findWholeSlot(launch, pair.getOperand());
  std::optional<unsigned> into = findWholeSlot(launch, pair.getResult());
  if (!from || !into || *from == *into || slots[*from].bytes != slots[*into].bytes ||
      slots[*from].isOutput)
    return;
  Slot &operand = slots[*from], &result = slots[*into];
  for (const RecordAccess &access : operand.accesses)
    if (access.record != record && !order.before(access.record, record))
      return;
  for (const RecordAccess &access : result.accesses)
    if (access.record != record && !order.before(record, access.record))
      return;
  operand.allocs.append(result.allocs);
  operand.accesses.append(result.accesses);
  operand.isOutput = result.isOutput;
  for (AllocOp alloc : result.allocs)
    slotOf[alloc] = *from;
  result = Slot();
}

//===------------------------------------------------------------------------------------------===//
// Placement
//===------------------------------------------------------------------------------------------===//

/// True if every access to `a` has completed before any to `b` starts.
bool Planner::endsBefore(const Slot &a, const Slot &b) const {
  if (a.isOutput)
    return false;
  return llvm::all_of(a.accesses, [&](const RecordAccess &x) {
    return llvm::all_of(b.accesses,
                        [&](const RecordAccess &y) { return order.before(x.record, y.record); });
  });
}

/// The start of the smallest gap for `slot` between the placed slots that live at the same time;
/// behind them if there is none.
int64_t Planner::findOffset(const Slot &slot, ArrayRef<unsigned> placed) const {
  SmallVector<std::pair<int64_t, int64_t>> taken;
  for (unsigned i : placed)
    if (!endsBefore(slots[i], slot) && !endsBefore(slot, slots[i]))
      taken.push_back({slots[i].offset, slots[i].offset + slots[i].bytes});
  llvm::sort(taken);
  int64_t end = 0, best = -1, bestGap = std::numeric_limits<int64_t>::max();
  for (auto [first, last] : taken) {
    if (int64_t gap = first - end; gap >= slot.bytes && gap < bestGap) {
      best = end;
      bestGap = gap;
    }
    end = std::max(end, last);
  }
  return best >= 0 ? best : end;
}

void Planner::place(bool reuse) {
  SmallVector<unsigned> bySize;
  for (auto [i, slot] : llvm::enumerate(slots))
    if (!slot.allocs.empty())
      bySize.push_back(i);
  llvm::sort(bySize, [&](unsigned a, unsigned b) {
    return std::pair(-slots[a].bytes, a) < std::pair(-slots[b].bytes, b);
  });
  int64_t arena = 0;
  SmallVector<unsigned> placed;
  for (unsigned i : bySize) {
    slots[i].offset = reuse ? findOffset(slots[i], placed) : arena;
    arena = std::max(arena, slots[i].offset + slots[i].bytes);
    placed.push_back(i);
    for (AllocOp alloc : slots[i].allocs)
      alloc.setOffset(slots[i].offset);
  }
  program.setArenaBytes(arena);
}

//===------------------------------------------------------------------------------------------===//
// The pass
//===------------------------------------------------------------------------------------------===//

/// Gives each launch of a kernel with a workspace its buffer.
static void addWorkspaces(ProgramOp program, SymbolTable &symbols) {
  for (auto launch : llvm::make_early_inc_range(program.getBlock().getOps<LaunchOp>())) {
    auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
    if (kernel.getWorkspace() == 0 || launch.getBuffers().size() > kernel.getNumBuffers())
      continue;
    OpBuilder builder(launch);
    auto type = BufferType::get(launch.getContext(), kernel.getWorkspace());
    launch.getBuffersMutable().append(
        AllocOp::create(builder, launch.getLoc(), type, IntegerAttr()).getBuffer());
    SmallVector<int32_t> access(launch.getAccess());
    access.push_back(static_cast<int32_t>(Access::ReadWrite));
    launch.setAccess(access);
  }
}

static void removeUnused(ProgramOp program) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(program.getBlock())))
    if (op.getNumResults() == 1 && op.use_empty())
      op.erase();
}

struct PlanMemory : impl::PlanMemoryBase<PlanMemory> {
  using PlanMemoryBase::PlanMemoryBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto program : getOperation().getOps<ProgramOp>()) {
      removeUnused(program);
      addWorkspaces(program, symbols);
      Planner planner(program, symbols);
      if (reuse)
        planner.mergeInPlace();
      planner.place(reuse);
    }
  }
};

} // namespace
} // namespace dlc::exec
