//===- AttentionGenerator.cpp - dl.attention and its gradients on the CPU ---------------------===//
//
// float32, any body before the operands. Refuses results that are not the op's own.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Attention/Attention.h"
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "dialects/DL/Ops/DLAttentionOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Schedule
//===------------------------------------------------------------------------------------------===//

/// Cycles of a multiply-add of the problem, what pads it included.
static double cyclesPerProduct(const dl::AttentionForm &form, const MachineModel &machine,
                               int64_t rows, int64_t vectors) {
  auto padded = [](int64_t size, int64_t to) { return double(roundUp(size, to)) / double(size); };
  const int64_t columns = vectors * machine.lanes;
  double wide = (padded(form.depth, columns) + padded(form.width, columns)) / 2;
  return fmaKernel().cycles(machine, rows, vectors) / double(rows * columns) * wide *
         padded(form.keys, columns) * padded(form.queries, rows);
}

/// Blocks as large as `most` at most, in equal parts.
static int64_t blockOf(int64_t size, int64_t most, int64_t multiple) {
  return roundUp(ceilDiv(size, ceilDiv(size, most)), multiple);
}

static AttentionSchedule chooseSchedule(const dl::AttentionForm &form, const CpuTarget &target,
                                        bool backward) {
  // A block of scores and both operands' panels of 64 columns stay in half of L2.
  const int64_t mostQueries = 96, mostKeys = 128;
  MachineModel machine(target);
  AttentionSchedule best;
  for (int64_t vectors = 1; vectors <= 4; ++vectors)
    for (int64_t rows = 1; rows <= fmaKernel().mostRows(machine, vectors); ++rows)
      if (cyclesPerProduct(form, machine, rows, vectors) <
          cyclesPerProduct(form, machine, best.rows, best.vectors))
        best.rows = rows, best.vectors = vectors;
  best.queryBlock = blockOf(form.queries, mostQueries, best.rows);
  best.keyBlock = blockOf(form.keys, mostKeys, best.vectors * machine.lanes);
  best.split = backward && form.heads < machine.wantedTasks() / 4 &&
               ceilDiv(form.queries, best.queryBlock) * ceilDiv(form.keys, best.keyBlock) > 1;
  return best;
}

/// Seconds of the products, and of what is computed for each score.
static double workSeconds(const KernelSpec &spec, const dl::AttentionForm &form,
                          const AttentionSchedule &schedule, const CpuTarget &target,
                          bool backward) {
  MachineModel machine(target);
  // Blocks on the diagonal are computed whole.
  const double scores = double(form.scores()) + (form.causal ? 0.5 : 0) * double(form.heads) *
                                                    double(schedule.keyBlock * form.queries);
  double depths =
      backward ? 3 * double(form.depth) + 2 * double(form.width) : double(form.depth + form.width);
  if (schedule.split)
    depths += double(form.depth + form.width);
  const double operations = (backward ? 40 : 50) + (schedule.split ? 2 : 1) * bodyWeight(spec);
  const double operationsPerCycle = 2;
  double cycles =
      scores * (depths * cyclesPerProduct(form, machine, schedule.rows, schedule.vectors) +
                operations / operationsPerCycle / double(machine.lanes));
  return tileSeconds(cycles, machine);
}

//===------------------------------------------------------------------------------------------===//
// Generator
//===------------------------------------------------------------------------------------------===//

namespace {
class AttentionGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-attention"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};
} // namespace

/// The results are the anchor's, as they lie in memory.
static bool isPlain(const KernelSpec &spec) {
  return llvm::all_of(spec.block().back().getOperands(), [&](Value result) {
    return spec.anchorResult(result).has_value() &&
           program::PhysicalLayout::get(cast<RankedTensorType>(result.getType())).rowMajor;
  });
}

SmallVector<Candidate> AttentionGenerator::candidates(const KernelSpec &spec,
                                                      const CpuTarget &target) const {
  if (spec.anchor() != Anchor::Attention || !isPlain(spec))
    return {};
  const bool backward = isa<dl::AttentionBackwardOp>(spec.anchorOp());
  dl::AttentionForm form = dl::AttentionForm::get(spec.anchorOp());
  if (!hasFastCode(spec) || form.heads * form.queries * form.depth * form.width == 0)
    return {};
  AttentionSchedule schedule = chooseSchedule(form, target, backward);
  AttentionPlan plan(spec.anchorOp(), schedule, target.vectorBytes / 4);
  Candidate candidate;
  candidate.schedule = textOf(schedule);
  const uint64_t scratch = backward ? attentionBackwardScratch(plan) : attentionScratch(plan);
  if (!backward)
    candidate.phases = {{uint64_t(form.heads * plan.queryBlocks()), scratch}};
  else if (!schedule.split)
    candidate.phases = {{uint64_t(form.heads), scratch}};
  else
    candidate.phases = {{uint64_t(form.heads * plan.keyBlocks()), scratch},
                        {uint64_t(form.heads * plan.queryBlocks()), scratch}};
  // Operands are read again after results have been written.
  candidate.inPlace = false;
  candidate.cost =
      workSeconds(spec, form, schedule, target, backward) + trafficSeconds(spec, candidate, target);
  candidate.parameters = numbersOf(schedule);
  return {candidate};
}

LogicalResult AttentionGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                       const CpuTarget &target, StringRef symbol,
                                       ModuleOp module) const {
  AttentionPlan plan(spec.anchorOp(), scheduleOf<AttentionSchedule>(candidate.parameters),
                     target.vectorBytes / 4);
  if (isa<dl::AttentionBackwardOp>(spec.anchorOp()))
    return emitAttentionBackward(spec, candidate, target, symbol, module, plan);
  return emitAttention(spec, target, symbol, module, plan);
}

std::unique_ptr<CpuGenerator> codegen::createAttentionGenerator() {
  return std::make_unique<AttentionGenerator>();
}
