//===- Rematerialize.cpp - computes values again instead of keeping them ----------------------===//
//
// LiveMemory decides on a model of the arena. The plan that the compiler will make has workspaces,
// gaps and copies that the model does not know, so a budget is held against the plan: where that
// needs too much, the model's goal is lowered by as much. What an op reads and writes at once is a
// bound from below: as far as the model is right, no budget less than that is met.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "dialects/Program/Layout.h"
#include "passes/DL/Memory/LiveMemory.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Simplify/Unchanging.h"
#include "llvm/Support/FormatVariadic.h"

namespace dlc::dl {
#define GEN_PASS_DEF_REMATERIALIZE
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

namespace {
/// Where a budget was looked for.
struct Reached {
  std::optional<int64_t> least; ///< bytes that the entry needs, if it was looked for
  int64_t bound;                ///< bytes that it is taken to need at least
  int64_t bytes() const { return least.value_or(bound); }
};

struct Rematerialize : dlc::dl::impl::RematerializeBase<Rematerialize> {
  using RematerializeBase::RematerializeBase;
  Rematerialize(RematerializeOptions options, MemoryPlanner planner)
      : RematerializeBase(std::move(options)), planner(std::move(planner)) {}

  void runOnOperation() override;

private:
  FailureOr<PlannedMemory> plan();
  FailureOr<int64_t> bytesNeeded(EntryOp entry);
  LogicalResult reduceMost(EntryOp entry, int64_t before);
  FailureOr<Reached> meetBudget(EntryOp entry, int64_t before);

  MemoryPlanner planner;
  /// What was last planned, while the module is still as it was then.
  std::optional<PlannedMemory> planned;
};
} // namespace

int64_t PlannedMemory::bytesOf(EntryOp entry) const {
  return stateBytes + (program::usesModel(entry.getKind()) ? derivedBytes : 0) +
         arenaBytes.lookup(entry.getSymName());
}

static PlannedMemory estimate(ModuleOp module) {
  PlannedMemory memory;
  llvm::DenseSet<StringRef> ofTraining;
  for (auto entry : module.getOps<EntryOp>())
    if (!program::usesModel(entry.getKind()) && entry.getKind() != program::EntryKind::Prepare)
      for (auto read : entry.getBlock().getOps<ReadOp>())
        ofTraining.insert(read.getVariable());
  for (auto variable : module.getOps<VariableOp>())
    (variable.getRole() == program::Role::Derived && !ofTraining.contains(variable.getSymName())
         ? memory.derivedBytes
         : memory.stateBytes) += program::storageBytes(variable.getTensorType());
  for (auto entry : module.getOps<EntryOp>())
    memory.arenaBytes[entry.getSymName()] = LiveMemory(entry, /*cheapOnly=*/false).peak();
  return memory;
}

FailureOr<PlannedMemory> Rematerialize::plan() {
  if (!planner)
    return estimate(getOperation());
  OwningOpRef<ModuleOp> copy = getOperation().clone();
  return planner(*copy);
}

FailureOr<int64_t> Rematerialize::bytesNeeded(EntryOp entry) {
  if (!planned) {
    FailureOr<PlannedMemory> memory = plan();
    if (failed(memory))
      return failure();
    planned = std::move(*memory);
  }
  return planned->bytesOf(entry);
}

/// What has been done to the entry: `memory` computes again what it does.
static void record(EntryOp entry, int64_t budget, int64_t before, const LiveMemory &memory) {
  auto division = entry->getAttrOfType<DictionaryAttr>("dl.division");
  if (memory.countRecomputed() == 0 && !division && budget == 0)
    return;
  Builder builder(entry.getContext());
  NamedAttrList fields;
  if (budget > 0)
    fields.append("budget", builder.getI64IntegerAttr(budget));
  fields.append("recomputed", builder.getI64IntegerAttr(memory.countRecomputed()));
  fields.append("seconds", builder.getF64FloatAttr(memory.recomputedSeconds()));
  if (division) {
    double seconds = -memory.recomputedSeconds();
    for (Operation &op : entry.getBlock())
      seconds += secondsOf(&op);
    fields.append("parts", division.get("parts"));
    fields.append("before", division.get("before"));
    fields.append(
        "divided_seconds",
        builder.getF64FloatAttr(seconds - division.getAs<FloatAttr>("seconds").getValueAsDouble()));
  } else {
    fields.append("before", builder.getI64IntegerAttr(before));
  }
  entry->setAttr("dl.memory", fields.getDictionary(entry.getContext()));
}

static void recordMiss(EntryOp entry, int64_t before, const Reached &reached) {
  Builder builder(entry.getContext());
  NamedAttrList fields;
  fields.append("before", builder.getI64IntegerAttr(before));
  fields.append("bound", builder.getI64IntegerAttr(reached.bound));
  if (reached.least)
    fields.append("least", builder.getI64IntegerAttr(*reached.least));
  entry->setAttr("dl.memory", fields.getDictionary(entry.getContext()));
}

LogicalResult Rematerialize::reduceMost(EntryOp entry, int64_t before) {
  LiveMemory memory(entry, cheap);
  memory.reduceMost();
  if (memory.countRecomputed() == 0)
    return success();
  planned.reset();
  FailureOr<int64_t> after = bytesNeeded(entry);
  if (failed(after))
    return failure();
  if (*after >= before)
    memory.undo();
  record(entry, memoryBudget, before, memory);
  return success();
}

static std::string describe(int64_t bytes) {
  const double gibibyte = double(int64_t(1) << 30);
  std::string text = std::to_string(bytes) + " bytes";
  return double(bytes) < gibibyte / 10
             ? text
             : llvm::formatv("{0} ({1:F2} GiB)", text, double(bytes) / gibibyte).str();
}

InFlightDiagnostic dlc::dl::emitMisfit(EntryOp entry, int64_t budget, int64_t bytes, bool isBound) {
  return emitError(entry.getLoc())
         << "'" << entry.getSymName() << "' does not fit into a memory budget of "
         << describe(budget)
         << (isBound ? ": it needs at least " : ": the least that it was found to need is ")
         << describe(bytes) << ", state and arena";
}

/// More than the budget if it cannot be met.
FailureOr<Reached> Rematerialize::meetBudget(EntryOp entry, int64_t before) {
  LiveMemory memory(entry, cheap);
  const int64_t besides = before - memory.peak(), bound = besides + memory.leastPeak();
  if (early && bound > memoryBudget)
    return Reached{std::nullopt, bound};
  int64_t least = before, goal = memoryBudget - besides;
  bool isChanged = false;
  const unsigned rounds = 6;
  for (unsigned round = 0;; ++round) {
    const bool isLast = round == rounds || !memory.reduce(goal);
    if (isLast)
      memory.reduceMost();
    isChanged |= memory.changesEntry();
    if (isChanged)
      planned.reset();
    FailureOr<int64_t> needed = bytesNeeded(entry);
    if (failed(needed))
      return failure();
    least = std::min(least, *needed);
    if (*needed <= memoryBudget)
      record(entry, memoryBudget, before, memory);
    if (*needed <= memoryBudget || isLast)
      return Reached{least, bound};
    goal -= *needed - memoryBudget;
  }
}

void Rematerialize::runOnOperation() {
  FailureOr<PlannedMemory> memory = plan();
  if (failed(memory))
    return signalPassFailure();
  planned = *memory;
  EntryOp largest; // of those that do not fit
  int64_t most = memoryBudget;
  for (auto entry : getOperation().getOps<EntryOp>()) {
    const int64_t before = memory->bytesOf(entry);
    if (memoryBudget > 0 && before > memoryBudget) {
      FailureOr<Reached> reached = meetBudget(entry, before);
      if (failed(reached))
        return signalPassFailure();
      if (reached->bytes() > memoryBudget)
        recordMiss(entry, before, *reached);
      if (reached->bytes() > most) {
        largest = entry;
        most = reached->bytes();
      }
    } else if (memoryBudget > 0) {
      record(entry, memoryBudget, before, LiveMemory(entry, cheap));
    } else if (entry.getKind() == program::EntryKind::Train && failed(reduceMost(entry, before))) {
      return signalPassFailure();
    }
  }
  if (!largest)
    return;
  emitMisfit(largest, memoryBudget, most, early);
  signalPassFailure();
}

std::unique_ptr<Pass> dlc::dl::createRematerialize(RematerializeOptions options,
                                                   MemoryPlanner planner) {
  return std::make_unique<Rematerialize>(std::move(options), std::move(planner));
}
