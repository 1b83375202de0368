//===- PartialResults.cpp - see PartialResults.h ----------------------------------------------===//
#include "codegen/CPU/Reduce/PartialResults.h"
#include "dlc/abi.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

PartialResults::PartialResults(const KernelSpec &spec, int64_t pieces, int64_t kept, int64_t base)
    : pieces(pieces), kept(kept), types(Reductions::slotTypes(spec.reductions())) {
  for (Type type : types) {
    offsets.push_back(base + llvm::alignTo(size, DLC_ALIGNMENT));
    size = offsets.back() - base + pieces * kept * program::elementBytes(type);
  }
}

Value PartialResults::slotAt(KernelFunction &kernel, size_t slot) const {
  CodeEmitter &e = kernel.e;
  return e.at(kernel.workspace(), e.constant(offsets[slot]), e.b.getI8Type());
}

Partial PartialResults::load(KernelFunction &kernel, Value piece, Value place, int64_t width,
                             Value mask) const {
  CodeEmitter &e = kernel.e;
  Value index = e.add(e.mul(piece, kept), place);
  Partial partial;
  for (auto [slot, type] : llvm::enumerate(types)) {
    Value base = slotAt(kernel, slot);
    partial.push_back(width == 1 ? e.load(base, index, type)
                                 : e.loadVector(base, index, type, width, 1, mask));
  }
  return partial;
}

void PartialResults::store(KernelFunction &kernel, ArrayRef<Value> partial, Value piece,
                           Value place, int64_t width, Value mask) const {
  CodeEmitter &e = kernel.e;
  Value index = e.add(e.mul(piece, kept), place);
  for (auto [slot, value] : llvm::enumerate(partial)) {
    Value base = slotAt(kernel, slot);
    if (width == 1)
      e.store(value, base, index);
    else
      e.storeVector(value, base, index, 1, mask);
  }
}

WalkPlan PartialResults::mergePlan(ArrayRef<int64_t> space, const CpuTarget &target) const {
  const int64_t one[] = {1};
  return WalkPlan::get(space.empty() ? ArrayRef<int64_t>(one) : space, double(pieces), target);
}

Value codegen::linearIndex(CodeEmitter &e, const Point &point) {
  Value linear = e.constant(0);
  for (auto [extent, index] : llvm::zip_equal(point.shape, point.indices))
    linear = e.add(e.mul(linear, extent), index);
  return linear;
}

/// The pieces of the kept elements at `point`, merged in order.
Partial PartialResults::mergePieces(KernelFunction &kernel, Reductions &reductions,
                                    const Point &point) const {
  CodeEmitter &e = kernel.e;
  Value place = linearIndex(e, point);
  auto piece = [&](Value number) { return load(kernel, number, place, point.width, point.mask); };
  return e.carry(e.constant(1), e.constant(pieces), 1, piece(e.constant(0)),
                 [&](Value number, ValueRange total) {
                   return reductions.merge(llvm::to_vector_of<Value>(total), piece(number));
                 });
}

LogicalResult PartialResults::emitMerge(KernelFunction &kernel, ArrayRef<int64_t> space,
                                        ArrayRef<unsigned> numbers) const {
  const KernelSpec &spec = kernel.spec;
  Reductions reductions(kernel.e, spec.reductions());
  const unsigned before = spec.hasReductionsBehind() ? spec.anchorOp()->getNumResults() : 0;
  return walkTask(kernel, mergePlan(space, kernel.target), [&](ArrayRef<Point> points) {
    // All results of a point come from one merge.
    SmallVector<std::pair<Point, SmallVector<Value>>> known;
    auto anchor = [&](unsigned number, const Point &point) -> Value {
      if (number < before)
        return {};
      auto *same = llvm::find_if(known, [&](auto &entry) { return entry.first == point; });
      if (same != known.end())
        return same->second[number - before];
      known.emplace_back(point, reductions.results(mergePieces(kernel, reductions, point)));
      return known.back().second[number - before];
    };
    return storeAtPoints(kernel, numbers, points, anchor);
  });
}
