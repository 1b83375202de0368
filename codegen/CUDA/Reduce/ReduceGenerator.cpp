//===- ReduceGenerator.cpp - reductions over any axes -----------------------------------------===//
//
// Any number of them over one index space, read once. Where neighbours in memory are combined with
// each other, a block takes a row (reduce_rows), else a warp's lanes take neighbouring results
// (reduce_channels). Where that makes few blocks, several of them take parts, and a second phase
// combines these (reduce_parts). The element is computed by whatever is fused in front of the
// reduction, and stored on the way if it is a result itself.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/Reduce/PartialTotals.h"
#include "codegen/CUDA/Text/Anchors.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {
class ReduceGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-reduce"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};
} // namespace

static const uint32_t threads = 256;

/// How many blocks share what one would take otherwise, so that a GPU is filled and each still has
/// work. `blocks`: without sharing; `each`: elements that one result combines; `least`: of these a
/// block is worth its launch for.
static int64_t partsOf(int64_t blocks, int64_t each, int64_t least) {
  const int64_t wantedBlocks = 512;
  int64_t parts = std::clamp<int64_t>(each / least, 1, std::max<int64_t>(1, wantedBlocks / blocks));
  // No part is empty.
  int64_t part = llvm::divideCeil(std::max<int64_t>(each, 1), parts);
  return std::max<int64_t>(1, llvm::divideCeil(each, part));
}

/// How blocks take channels, which are neighbours in memory.
namespace {
struct Channels {
  bool quads;    ///< a thread takes four
  int64_t lanes; ///< threads side by side, a power of two

  explicit Channels(const KernelSpec &spec) {
    const ReducedAxes axes(spec.reductions().front());
    // Totals of a block are in 48 KiB of shared memory.
    quads = axes.shape.back() % 4 == 0 && totalValues(spec.reductions()) <= 8;
    const int64_t wanted = product(axes.extents(false)) / (quads ? 4 : 1);
    lanes = quads ? std::clamp<int64_t>(llvm::bit_floor(uint64_t(wanted)), 4, 32) : 32;
  }
  int64_t ofBlock() const { return lanes * (quads ? 4 : 1); }
};
} // namespace

/// The type of all totals, in which parts are left; none if they differ.
static std::optional<Type> commonElement(const KernelSpec &spec) {
  auto elementOf = [](dl::ReductionOp op) {
    return accumulatorType(getElementTypeOrSelf(op.getReduced()));
  };
  Type first = elementOf(spec.reductions().front());
  bool common =
      llvm::all_of(spec.reductions(), [&](dl::ReductionOp op) { return elementOf(op) == first; });
  return common ? std::optional(first) : std::nullopt;
}

SmallVector<Candidate> ReduceGenerator::schedules(const KernelSpec &spec,
                                                  const CudaTarget &target) const {
  if (spec.anchor() != Anchor::Reduce)
    return {};
  ReducedAxes axes(spec.reductions().front());
  int64_t kept = product(axes.extents(false)), reduced = product(axes.extents(true));
  if (kept == 0)
    return {};
  Candidate candidate;
  bool rows = axes.alongRows();
  int64_t blocks = rows ? kept : blocksFor(kept, Channels(spec).ofBlock());
  std::optional<Type> element = commonElement(spec);
  int64_t parts = element ? partsOf(blocks, reduced, rows ? 8 * threads : threads / 4) : 1;
  candidate.parameters = parts;
  candidate.schedule = (rows ? "rows parts " : "channels parts ") + std::to_string(parts);
  candidate.phases.push_back({uint64_t(blocks * parts), 0});
  if (parts > 1)
    PartialTotals(spec, kept, parts, *element).schedule(candidate);
  candidate.cost =
      target.machine.kernelSeconds(spec.bytes(), spec.flops(), candidate.phases.size());
  return {candidate};
}

/// The reductions' element as an accessor, which meets each element once, and so also stores the
/// results in front of the anchor.
static FailureOr<AnchorForm> describeReductions(KernelText &text, bool quads) {
  const KernelSpec &spec = text.spec;
  dl::ReductionOp first = spec.reductions().front();
  std::string members = reductionMembers(spec, quads);
  if (members.empty())
    return failure();
  text.members(members);
  return AnchorForm{{product(ReducedAxes(first).extents(false))},
                    {"k"},
                    getElementTypeOrSelf(first->getResult(0))};
}

FailureOr<KernelText> ReduceGenerator::write(const KernelSpec &spec,
                                             const Candidate &candidate) const {
  bool rows = ReducedAxes(spec.reductions().front()).alongRows();
  int64_t parts = *candidate.parameters.getAsInteger();
  KernelText text(spec, {"reductions", rows ? "reduce_rows" : "reduce_channels", "reduce_parts"});
  text.constant("THREADS", threads);
  const Channels channels(spec);
  if (!rows)
    text.constant("LANES", channels.lanes);
  FailureOr<AnchorForm> form = describeReductions(text, !rows && channels.quads);
  if (failed(form) || failed(addStore(text, *form, "store")))
    return failure();
  text.phase(threads, rows ? "reduceRows" : "reduceChannels");
  if (parts > 1) {
    const PartialTotals totals(spec, form->space[0], parts, form->element);
    totals.addConstants(text, /*at=*/0);
    totals.addPhase(text);
    text.workspace(form->element);
  } else {
    text.constant("PARTS", 1);
  }
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaReduceGenerator() {
  return std::make_unique<ReduceGenerator>();
}
