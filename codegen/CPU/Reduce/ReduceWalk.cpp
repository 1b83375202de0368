//===- ReduceWalk.cpp - see ReduceWalk.h ------------------------------------------------------===//
#include "codegen/CPU/Reduce/ReduceWalk.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

int64_t codegen::chainsOf(ArrayRef<dl::ReductionOp> reductions, const CpuTarget &target) {
  int64_t slots = Reductions::slotTypes(reductions).size();
  return llvm::bit_floor<uint64_t>(std::clamp<int64_t>(target.vectorRegisters / 2 / slots, 1, 4));
}

ReduceWalk ReduceWalk::get(ArrayRef<MergedAxis> axes, ArrayRef<dl::ReductionOp> reductions,
                           const CpuTarget &target) {
  ReduceWalk walk;
  walk.axes.assign(axes.begin(), axes.end());
  int64_t inner = walk.axes.back().extent, widest = target.vectorBytes / 4;
  walk.lanes = std::min<int64_t>(widest, llvm::PowerOf2Ceil(inner));
  int64_t vectors = llvm::divideCeil(inner, walk.lanes);
  const int64_t chains = chainsOf(reductions, target);
  if (walk.rows()) {
    walk.unroll = std::clamp<int64_t>(inner / walk.lanes, 1, chains);
  } else {
    walk.vectors = std::gcd(vectors, chains);
    SmallVector<int64_t> reduced = walk.extents(true);
    walk.unroll = reduced.empty() ? 1 : std::min(chains / walk.vectors, reduced.back());
  }
  return walk;
}

SmallVector<int64_t> ReduceWalk::extents(bool reduced) const {
  SmallVector<int64_t> result;
  for (MergedAxis axis : axes)
    if (axis.reduced == reduced)
      result.push_back(axis.extent);
  return result;
}

SmallVector<int64_t> ReduceWalk::space() const {
  return llvm::map_to_vector(axes, [](MergedAxis axis) { return axis.extent; });
}

SmallVector<int64_t> ReduceWalk::unitSpace() const {
  SmallVector<int64_t> space = extents(false);
  if (!rows())
    space.back() = llvm::divideCeil(space.back(), lanes * vectors);
  return space;
}

//===------------------------------------------------------------------------------------------===//
// Elements
//===------------------------------------------------------------------------------------------===//

LogicalResult codegen::storeAt(KernelFunction &kernel, BodyEmitter &body,
                               ArrayRef<unsigned> numbers, const Point &point) {
  SmallVector<Value> values;
  for (unsigned number : numbers) {
    values.push_back(body.emitStored(kernel.spec.result(number), point));
    if (!values.back())
      return failure();
  }
  for (auto [number, value] : llvm::zip_equal(numbers, values))
    kernel.store(value, kernel.result(number), kernel.spec.resultTypes()[number], point);
  return success();
}

Value codegen::reducedElement(CodeEmitter &e, BodyEmitter &body, Value operand,
                              const Point &point) {
  Value value = body.emitVector(operand, point);
  const Type element = getElementTypeOrSelf(operand);
  return value && isa<FloatType>(element) ? e.convertFloat(value, accumulatorType(element)) : value;
}

/// All operands at `point`; what the walk stores is stored on the way.
SmallVector<Value> ReduceEmitter::walked(const Point &point) {
  BodyEmitter emitter = body();
  SmallVector<Value> values;
  for (dl::ReductionOp op : ops)
    values.push_back(reducedElement(e, emitter, op.getReduced(), point));
  if (failed(store(emitter, point)))
    result = failure();
  return values;
}

Point ReduceEmitter::keptPoint(ArrayRef<Value> unit, int64_t number) {
  Point point;
  point.shape = plan.extents(false);
  point.indices.assign(unit.begin(), unit.end());
  if (plan.rows())
    return point;
  int64_t inner = point.shape.back(), size = plan.lanes * plan.vectors;
  point.indices.back() = e.add(e.mul(unit.back(), size), number * plan.lanes);
  if (plan.lanes == 1)
    return point;
  point.axis = point.shape.size() - 1;
  point.width = plan.lanes;
  // Only the last vector of the axis may be short; it is the last of its unit.
  if (inner % plan.lanes != 0 && number == plan.vectors - 1)
    point.mask = e.firstLanes(e.sub(e.constant(inner), point.indices.back()), plan.lanes);
  return point;
}

/// The operands' point: the unit's kept indices, and the reduced ones. `mask`: of lanes along a
/// reduced axis.
Point ReduceEmitter::pointAt(ArrayRef<Value> reduced, int64_t vector, Value mask) {
  Point kept = keptPoint(unit, vector), point;
  point.shape = plan.space();
  point.width = plan.lanes;
  point.mask = plan.rows() ? mask : kept.mask;
  size_t k = 0, r = 0;
  for (MergedAxis axis : plan.axes)
    point.indices.push_back(axis.reduced ? reduced[r++] : kept.indices[k++]);
  if (point.width > 1)
    point.axis = point.shape.size() - 1;
  return point;
}

/// At `index` of the innermost reduced axis, which ends at `end`; null: behind the vector.
Point ReduceEmitter::innermostPoint(Value index, int64_t vector, Value end) {
  SmallVector<Value> reduced = reducedIndices;
  reduced.push_back(index);
  Value mask;
  if (end && plan.width() > 1)
    mask = e.firstLanes(e.sub(end, index), plan.lanes);
  return pointAt(reduced, vector, mask);
}

//===------------------------------------------------------------------------------------------===//
// Loops
//===------------------------------------------------------------------------------------------===//

/// A loop that carries partial results.
Partials ReduceEmitter::carry(Value lower, Value upper, int64_t step, const Partials &init,
                              Turn turn) {
  size_t slots = init.front().size();
  auto split = [&](ValueRange values) {
    Partials partials;
    for (; !values.empty(); values = values.drop_front(slots))
      partials.emplace_back(llvm::to_vector_of<Value>(values.take_front(slots)));
    return partials;
  };
  auto joined = [](ArrayRef<Partial> partials) {
    SmallVector<Value> values;
    for (const Partial &partial : partials)
      values.append(partial);
    return values;
  };
  return split(e.carry(lower, upper, step, joined(init), [&](Value index, ValueRange carried) {
    return joined(turn(index, split(carried)));
  }));
}

Partials ReduceEmitter::merge(ArrayRef<Partial> a, ArrayRef<Partial> b) {
  Partials merged;
  for (auto [one, other] : llvm::zip_equal(a, b))
    merged.push_back(reductions.merge(one, other));
  return merged;
}

/// [lower, upper) in blocks of many steps, each reduced on its own, so that no chain of additions
/// gets long.
Partials ReduceEmitter::blocked(Value lower, Value upper, int64_t step, Block block) {
  const int64_t blockTurns = 64;
  int64_t size = blockTurns * step;
  auto from = CodeEmitter::known(lower), to = CodeEmitter::known(upper);
  if (from && to && *to - *from <= 2 * size)
    return block(lower, upper);
  return carry(lower, upper, size, nothing(plan.vectors),
               [&](Value start, ArrayRef<Partial> totals) {
                 return merge(totals, block(start, e.minimum(e.add(start, size), upper)));
               });
}

/// [lower, upper) of the innermost reduced axis: `unroll` turns at a time, each with totals of its
/// own, then what is left of them; along rows the last vector may be short.
Partials ReduceEmitter::tile(Value lower, Value upper) {
  size_t vectors = plan.vectors;
  int64_t width = plan.width(), step = plan.step();
  SmallVector<SmallVector<Value>> origins(vectors);
  for (auto [v, origin] : llvm::enumerate(origins)) {
    Point first = innermostPoint(lower, v, upper);
    BodyEmitter emitter = body();
    origin = reductions.origins(
        first.mask, [&](Value operand) { return reducedElement(e, emitter, operand, first); });
  }
  auto add = [&](const Partial &total, Value index, size_t v, Value end) {
    Point point = innermostPoint(index, v, end);
    return reductions.add(total, walked(point), origins[v], point.mask);
  };
  Value whole = e.add(lower, e.mul(e.div(e.sub(upper, lower), step), step));
  Partials totals =
      carry(lower, whole, step, nothing(plan.unroll * vectors),
            [&](Value index, ArrayRef<Partial> carried) {
              Partials next;
              for (auto [i, total] : llvm::enumerate(carried))
                next.push_back(add(total, e.add(index, i / vectors * width), i % vectors, {}));
              return next;
            });
  totals = reductions.joinPairs(std::move(totals), vectors);
  if (step > 1)
    totals = carry(whole, upper, width, totals, [&](Value index, ArrayRef<Partial> carried) {
      Partials next;
      for (auto [v, total] : llvm::enumerate(carried))
        next.push_back(add(total, index, v, upper));
      return next;
    });
  for (auto [total, origin] : llvm::zip_equal(totals, origins))
    total = reductions.finishTile(total, origin);
  return totals;
}

/// The reduction over reduced axis number `axis` and those inside it.
Partials ReduceEmitter::level(size_t axis, Value lower, Value upper) {
  SmallVector<int64_t> extents = plan.extents(true);
  if (axis + 1 == extents.size())
    return blocked(lower, upper, plan.step(),
                   [&](Value start, Value end) { return tile(start, end); });
  return blocked(lower, upper, 1, [&](Value start, Value end) {
    return carry(start, end, 1, nothing(plan.vectors), [&](Value index, ArrayRef<Partial> totals) {
      reducedIndices.push_back(index);
      Partials inner = level(axis + 1, e.constant(0), e.constant(extents[axis + 1]));
      reducedIndices.pop_back();
      return merge(totals, inner);
    });
  });
}

Partials ReduceEmitter::reduce(ArrayRef<Value> at, Value lower, Value upper) {
  unit = at;
  reducedIndices.clear();
  Partials totals;
  if (!plan.extents(true).empty()) {
    totals = level(0, lower, upper);
  } else {
    for (int64_t v = 0; v < plan.vectors; ++v) {
      Point point = pointAt({}, v, {});
      BodyEmitter emitter = body();
      SmallVector<Value> origins = reductions.origins(
          point.mask, [&](Value operand) { return reducedElement(e, emitter, operand, point); });
      Partial one = reductions.add(reductions.none(plan.lanes), walked(point), origins, point.mask);
      totals.push_back(reductions.finishTile(one, origins));
    }
  }
  if (plan.rows())
    totals[0] = reductions.mergeLanes(totals[0], plan.lanes);
  return totals;
}
