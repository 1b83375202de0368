//===- PartialTotals.cpp - see PartialTotals.h ------------------------------------------------===//
#include "codegen/CUDA/Reduce/PartialTotals.h"
#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/Text/Anchors.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

PartialTotals::PartialTotals(const KernelSpec &spec, int64_t kept, int64_t parts, Type element)
    : kept(kept), parts(parts), values(totalValues(spec.reductions())), element(element) {}

PartialTotals PartialTotals::ofChannels(const KernelSpec &spec, int64_t parts) {
  auto result = cast<RankedTensorType>(spec.anchorOp()->getResult(0).getType());
  return {spec, result.getDimSize(1), parts, result.getElementType()};
}

void PartialTotals::schedule(Candidate &candidate) const {
  const uint64_t bytes = elements() * program::elementBytes(element);
  candidate.workspaceBytes += bytes;
  candidate.phases.push_back({blocksFor(kept, partsThreads / 32), 0});
  candidate.phases.back().sideBytes = bytes;
}

void PartialTotals::addConstants(KernelText &text, int64_t at) const {
  text.constant("PARTS", parts);
  text.constant("PARTS_AT", at);
  text.constant("PARTS_THREADS", partsThreads);
}

void PartialTotals::addPhase(KernelText &text) const { text.phase(partsThreads, "reduceParts"); }
