//===- TotalReducer.cpp - see TotalReducer.h --------------------------------------------------===//
#include "codegen/CPU/Reduce/TotalReducer.h"
#include "codegen/CPU/Element.h"
#include "codegen/CPU/Reduce/BandReducer.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dlc/abi.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

bool codegen::canReduceTotals(const KernelSpec &spec) {
  if (Element::of(spec).bytes() != sizeof(float))
    return false;
  auto isNumber = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getNumElements() == 1 && type.getElementType().isF32();
  };
  return llvm::all_of(spec.reductions(),
                      [&](dl::ReductionOp op) {
                        return isa<dl::ReduceOp>(*op) && isNumber(op->getResult(0));
                      }) &&
         llvm::all_of(resultsBehindReductions(spec),
                      [&](unsigned number) { return isNumber(spec.result(number)); });
}

/// A vector of each reduction.
static int64_t scratchBytes(const KernelSpec &spec, const CpuTarget &target) {
  return int64_t(spec.reductions().size()) * target.vectorBytes;
}

void codegen::keepTotals(const KernelSpec &spec, const CpuTarget &target, Candidate &candidate) {
  Phase &phase = candidate.phases.back();
  phase.scratchBytes =
      llvm::alignTo(phase.scratchBytes, DLC_ALIGNMENT) + scratchBytes(spec, target);
  candidate.bandPieces = phase.tasks;
}

TotalReducer::TotalReducer(KernelFunction &kernel, const Candidate &candidate, unsigned phase)
    : kernel(kernel), e(kernel.e) {
  if (!kernel.spec.hasReductionsBehind())
    return;
  reductions.emplace(e, kernel.spec.reductions());
  results.emplace(partialResults(kernel.spec, candidate));
  offset = int64_t(candidate.phases[phase].scratchBytes) - scratchBytes(kernel.spec, kernel.target);
}

Partial TotalReducer::none() { return exist() ? reductions->none(kernel.lanes) : Partial(); }

Value TotalReducer::slotAt(size_t slot) {
  const int64_t bytes = offset + int64_t(slot) * kernel.target.vectorBytes;
  return e.at(kernel.scratch, e.constant(bytes), e.b.getI8Type());
}

Partial TotalReducer::load() {
  Partial partial;
  for (size_t slot = 0; slot < kernel.spec.reductions().size(); ++slot)
    partial.push_back(e.loadVector(slotAt(slot), e.constant(0), e.b.getF32Type(), kernel.lanes));
  return partial;
}

void TotalReducer::store(ArrayRef<Value> partial) {
  for (auto [slot, value] : llvm::enumerate(partial))
    e.storeVector(value, slotAt(slot), e.constant(0));
}

void TotalReducer::begin() {
  if (exist())
    store(none());
}

Partial TotalReducer::add(ValueRange before, ArrayRef<Value> elements, Value mask) {
  const SmallVector<Value> noOrigins(elements.size());
  return reductions->add(llvm::to_vector(before), elements, noOrigins, mask);
}

void TotalReducer::take(ArrayRef<Value> part) {
  if (exist())
    store(reductions->merge(load(), part));
}

void TotalReducer::end(Value piece) {
  if (exist())
    results->store(kernel, reductions->mergeLanes(load(), kernel.lanes), piece, e.constant(0));
}
