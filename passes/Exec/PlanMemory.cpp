//===- PlanMemory.cpp - offsets in the arena --------------------------------------------------===//
//
// See Passes.td for the rules, and Placement.h for how offsets are found.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/Exec/Memory.h"
#include "passes/Exec/Passes.h"
#include "passes/Exec/Placement.h"

using namespace mlir;

namespace dlc::exec {

#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Exec/Passes.h.inc"

namespace {

class Planner {
public:
  Planner(ProgramOp program, SymbolTable &symbols)
      : program(program), symbols(symbols), order(program) {
    auto lifetimes = findLifetimes(program, order);
    for (auto alloc : program.getBlock().getOps<AllocOp>()) {
      slotOf[alloc] = slots.size();
      slots.push_back({alignUp(getBytes(alloc)), std::move(lifetimes[alloc])});
    }
  }

  void mergeInPlace();
  /// Without `reuse` each slot has bytes of its own.
  void place(bool reuse);

private:
  void merge(LaunchOp launch, unsigned record, InPlaceAttr pair);
  std::optional<unsigned> findWholeSlot(LaunchOp launch, unsigned buffer);

  ProgramOp program;
  SymbolTable &symbols;
  HappensBefore order;
  /// Places in the arena: of one alloc, or of several of equal size that take it one after the
  /// other. Those that have been merged into another one are empty and never in use.
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
  if (!from || !into || *from == *into || slots[*from].bytes != slots[*into].bytes)
    return;
  Lifetime &operand = slots[*from].lifetime, &result = slots[*into].lifetime;
  if (!operand.endsWith(record, order) || !result.startsWith(record, order))
    return;
  operand.append(result);
  slots[*into].bytes = 0;
  slotOf[getExtent(launch.getBuffers()[pair.getResult()]).root] = *from;
}

//===------------------------------------------------------------------------------------------===//
// Placement
//===------------------------------------------------------------------------------------------===//

void Planner::place(bool reuse) {
  Placement placement = reuse ? exec::place(slots, order) : placeApart(slots);
  for (auto alloc : program.getBlock().getOps<AllocOp>())
    alloc.setOffset(placement.offsets[slotOf.lookup(alloc)]);
  program.setArenaBytes(placement.bytes);
  program.setLiveBytes(findLiveBytes(slots, order.getRecords().size()));
}

//===------------------------------------------------------------------------------------------===//
// The pass
//===------------------------------------------------------------------------------------------===//

/// Gives each launch the workspaces of its kernel that it does not have.
static void addWorkspaces(ProgramOp program, SymbolTable &symbols) {
  for (auto launch : llvm::make_early_inc_range(program.getBlock().getOps<LaunchOp>())) {
    auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
    const SmallVector<int64_t> all = kernel.getWorkspaces();
    for (int64_t bytes :
         ArrayRef(all).drop_front(launch.getBuffers().size() - kernel.getNumBuffers())) {
      OpBuilder builder(launch);
      auto type = BufferType::get(launch.getContext(), bytes);
      launch.getBuffersMutable().append(
          AllocOp::create(builder, launch.getLoc(), type, IntegerAttr()).getBuffer());
      SmallVector<int32_t> access(launch.getAccess());
      access.push_back(static_cast<int32_t>(Access::ReadWrite));
      launch.setAccess(access);
    }
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
