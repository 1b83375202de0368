//===- ReduceGenerator.cpp - sums, maxima, minima and moments along any axes ------------------===//
//
// Any number of them over one index space, read once. The operands' index space is cut into axes
// that are wholly kept or wholly reduced; its last axis is walked in vectors.
//
//   rows      the last axis is reduced: one kept element at a time, vectors of partial results,
//             combined pairwise at the end
//   columns   the last axis is kept: vectors of kept elements, walked down the reduced axes
//
// Partial results are combined in blocks of blocks, never in one long chain, so that the error of a
// sum grows with the logarithm of its length; an innermost block is a tile (Reductions.h). A task
// takes some kept elements. Where these are too few for many cores, the first reduced axis is also
// split: tasks leave partial results in the workspace, a second phase combines them in fixed order.
// Nothing depends on the number of threads. Results that do not need a reduction (the gradient
// behind a ReLU, stored while the bias gradient sums it) are stored from the same walk.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/Reduce/Reductions.h"
#include "codegen/Kernel/MergedAxes.h"
#include "dlc/abi.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// How a reduction is walked; all but `axes` follow from the sizes.
struct ReducePlan {
  SmallVector<MergedAxis> axes;
  int64_t lanes = 1;   ///< of a vector
  int64_t vectors = 1; ///< columns: vectors side by side
  int64_t unroll = 1;  ///< turns of the innermost reduced loop at a time
  int64_t perTask =
      1; ///< units a task; a unit is a kept element (rows) or `vectors` vectors of them (columns)
  int64_t splits = 1; ///< pieces of the first reduced axis
  int64_t chunk = 1;  ///< elements of it a piece

  static std::optional<ReducePlan> get(const KernelSpec &spec, const CpuTarget &target);

  bool rows() const { return axes.back().reduced; }
  SmallVector<int64_t> extents(bool reduced) const {
    SmallVector<int64_t> result;
    for (MergedAxis axis : axes)
      if (axis.reduced == reduced)
        result.push_back(axis.extent);
    return result;
  }
  SmallVector<int64_t> space() const {
    return llvm::map_to_vector(axes, [](MergedAxis axis) { return axis.extent; });
  }
  int64_t kept() const { return product(extents(false)); }
  /// The units' index space.
  SmallVector<int64_t> unitSpace() const {
    SmallVector<int64_t> space = extents(false);
    if (!rows())
      space.back() = llvm::divideCeil(space.back(), lanes * vectors);
    return space;
  }
  int64_t units() const { return product(unitSpace()); }
  /// Elements of the innermost reduced axis that one point stands for, and one turn of its loop.
  int64_t width() const { return rows() ? lanes : 1; }
  int64_t step() const { return width() * unroll; }
  int64_t unitBlocks() const { return llvm::divideCeil(units(), perTask); }
  std::string text() const;

private:
  void split(double weight);
};

class ReduceGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-reduce"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

//===------------------------------------------------------------------------------------------===//
// Plan
//===------------------------------------------------------------------------------------------===//

/// Values that the walk computes: the operands, and the results that do not need a reduction.
static SmallVector<Value> walkedValues(const KernelSpec &spec) {
  SmallVector<Value> values;
  for (dl::ReductionOp op : spec.reductions())
    values.push_back(op.getReduced());
  for (unsigned number : resultsBehindAnchor(spec, false))
    values.push_back(spec.result(number));
  return values;
}

static SmallVector<Value> finishedValues(const KernelSpec &spec) {
  SmallVector<Value> values;
  for (unsigned number : resultsBehindAnchor(spec, true))
    values.push_back(spec.result(number));
  return values;
}

/// The operands' axes: neighbours of one kind are one, unless the values before or behind the
/// reduction tell them apart.
static std::optional<SmallVector<MergedAxis>> axesOf(const KernelSpec &spec) {
  dl::ReductionOp op = spec.reductions().front();
  SmallVector<MergedAxis> groups = mergedAxes(op);
  // Splits each group of `axes` into the axes that `space`, a refinement of the groups' extents,
  // has for it.
  auto refine = [](ArrayRef<MergedAxis> axes, bool onlyKept, ArrayRef<int64_t> space) {
    SmallVector<MergedAxis> result;
    for (MergedAxis axis : axes) {
      if (onlyKept && axis.reduced) {
        result.push_back(axis);
        continue;
      }
      for (int64_t rest = axis.extent; rest > 1; space = space.drop_front()) {
        result.push_back({space.front(), axis.reduced});
        rest /= space.front();
      }
    }
    return result;
  };
  if (groups.empty())
    groups.push_back({1, true});
  auto extents = [](ArrayRef<MergedAxis> axes, bool onlyKept) {
    SmallVector<int64_t> result;
    for (MergedAxis axis : axes)
      if (!onlyKept || !axis.reduced)
        result.push_back(axis.extent);
    return result;
  };
  if (groups.size() == 1 && groups[0].extent == 1)
    return groups;
  auto walked = refineIndexSpace(spec, walkedValues(spec), extents(groups, false));
  if (failed(walked))
    return std::nullopt;
  groups = refine(groups, false, *walked);
  SmallVector<int64_t> kept = extents(groups, true);
  SmallVector<Value> finished = finishedValues(spec);
  if (kept.empty() || finished.empty())
    return groups;
  auto behind = refineIndexSpace(spec, finished, kept);
  if (failed(behind))
    return std::nullopt;
  return refine(groups, true, *behind);
}

/// Four chains of additions hide their latency, if their totals leave half of the registers free.
static int64_t chainsOf(const KernelSpec &spec, const CpuTarget &target) {
  const int64_t registers = target.vectorBytes == 64 ? 32 : 16;
  int64_t slots = Reductions::slotTypes(spec).size();
  return llvm::bit_floor<uint64_t>(std::clamp<int64_t>(registers / 2 / slots, 1, 4));
}

std::optional<ReducePlan> ReducePlan::get(const KernelSpec &spec, const CpuTarget &target) {
  if (!followsAnchor(spec))
    return std::nullopt;
  std::optional<SmallVector<MergedAxis>> axes = axesOf(spec);
  if (!axes)
    return std::nullopt;
  ReducePlan plan;
  plan.axes = *axes;
  int64_t inner = plan.axes.back().extent, widest = target.vectorBytes / 4;
  plan.lanes = std::min<int64_t>(widest, llvm::PowerOf2Ceil(inner));
  int64_t vectors = llvm::divideCeil(inner, plan.lanes);
  const int64_t chains = chainsOf(spec, target);
  if (plan.rows()) {
    plan.unroll = std::clamp<int64_t>(inner / plan.lanes, 1, chains);
  } else {
    plan.vectors = std::gcd(vectors, chains);
    SmallVector<int64_t> reduced = plan.extents(true);
    plan.unroll = reduced.empty() ? 1 : std::min(chains / plan.vectors, reduced.back());
  }
  plan.split(bodyWeight(spec));
  return plan;
}

void ReducePlan::split(double weight) {
  const double grain = 65536;
  const int64_t maxTasks = 64;
  SmallVector<int64_t> reduced = extents(true);
  double work = weight * double(kept()) * double(product(reduced));
  int64_t wanted = std::clamp<int64_t>(int64_t(work / grain), 1, maxTasks);
  perTask = llvm::divideCeil(units(), std::min(wanted, units()));
  chunk = reduced.empty() ? 1 : reduced.front();
  if (unitBlocks() * 2 > wanted || reduced.empty())
    return;
  int64_t pieces = std::min(wanted / unitBlocks(), reduced.front());
  bool vectorAxis = rows() && reduced.size() == 1;
  int64_t whole = vectorAxis ? lanes * unroll : !rows() && reduced.size() == 1 ? unroll : 1;
  chunk = std::min<int64_t>(llvm::alignTo(llvm::divideCeil(reduced.front(), pieces), whole),
                            reduced.front());
  splits = llvm::divideCeil(reduced.front(), chunk);
}

std::string ReducePlan::text() const {
  std::string result = "reduce ";
  llvm::raw_string_ostream stream(result);
  for (MergedAxis axis : axes)
    stream << (axis.reduced ? "r" : "k") << axis.extent << " ";
  stream << "lanes " << lanes << " vectors " << vectors << " unroll " << unroll << " units "
         << perTask << " splits " << splits << " chunk " << chunk;
  return result;
}

//===------------------------------------------------------------------------------------------===//
// Emission
//===------------------------------------------------------------------------------------------===//

namespace {

/// Partial results of several vectors side by side, or of several chains of them.
using Partials = SmallVector<Partial>;

/// Emits the walk of one unit.
class ReduceEmitter {
public:
  ReduceEmitter(KernelFunction &kernel, const ReducePlan &plan)
      : reductions(kernel.e, kernel.spec), kernel(kernel), e(kernel.e), plan(plan),
        stored(resultsBehindAnchor(kernel.spec, false)) {}

  /// The unit at `unit` of the unit space, reduced over [lower, upper) of the first reduced axis:
  /// one for each vector of the unit (columns), or the one of scalars (rows).
  Partials reduce(ArrayRef<Value> unit, Value lower, Value upper);

  /// Where the kept elements of vector `number` of a unit stand.
  Point keptPoint(ArrayRef<Value> unit, int64_t number);

  Reductions reductions;
  LogicalResult result = success();

private:
  using Turn = llvm::function_ref<Partials(Value index, ArrayRef<Partial> totals)>;
  using Block = llvm::function_ref<Partials(Value lower, Value upper)>;
  Partials carry(Value lower, Value upper, int64_t step, const Partials &init, Turn turn);
  Partials blocked(Value lower, Value upper, int64_t step, Block block);
  Partials level(size_t axis, Value lower, Value upper);
  Partials tile(Value lower, Value upper);
  Partials nothing(size_t count) { return Partials(count, reductions.none(plan.lanes)); }
  Partials merge(ArrayRef<Partial> a, ArrayRef<Partial> b);
  Partials joinPairs(Partials totals, size_t count);
  Value element(BodyEmitter &body, Value operand, const Point &point);
  SmallVector<Value> walked(const Point &point);
  Point innermostPoint(Value index, int64_t vector, Value end);
  Point pointAt(ArrayRef<Value> reduced, int64_t vector, Value mask);

  KernelFunction &kernel;
  CodeEmitter &e;
  const ReducePlan &plan;
  SmallVector<unsigned> stored;
  ArrayRef<Value> unit;
  SmallVector<Value> reducedIndices;
};

} // namespace

/// A reduction's operand at `point`, in the type of its total.
Value ReduceEmitter::element(BodyEmitter &body, Value operand, const Point &point) {
  Value value = e.splat(body.emitVector(operand, point), point.width);
  if (Type element = getElementTypeOrSelf(value); isa<FloatType>(element))
    return e.convertFloat(value, accumulatorType(element));
  return value;
}

/// All operands at `point`; results that the walk stores are stored on the way.
SmallVector<Value> ReduceEmitter::walked(const Point &point) {
  BodyEmitter body = kernel.body();
  SmallVector<Value> values, toStore;
  for (dl::ReductionOp op : kernel.spec.reductions())
    values.push_back(element(body, op.getReduced(), point));
  for (unsigned number : stored)
    toStore.push_back(body.emitStored(kernel.spec.result(number), point));
  for (auto [number, value] : llvm::zip_equal(stored, toStore))
    if (value)
      kernel.store(value, kernel.result(number), kernel.spec.resultTypes()[number], point);
    else
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

/// Joins totals of one tile pair by pair until `count` are left.
Partials ReduceEmitter::joinPairs(Partials totals, size_t count) {
  while (totals.size() > count) {
    Partials next;
    size_t half = std::max(totals.size() / 2 / count * count, count);
    for (size_t i = 0; i < half; ++i)
      next.push_back(i + half < totals.size() ? reductions.join(totals[i], totals[i + half])
                                              : totals[i]);
    for (size_t i = 2 * half; i < totals.size(); ++i)
      next[i % half] = reductions.join(next[i % half], totals[i]);
    totals = std::move(next);
  }
  return totals;
}

/// [lower, upper) of the innermost reduced axis: `unroll` turns at a time, each with totals of its
/// own, then what is left of them; along rows the last vector may be short.
Partials ReduceEmitter::tile(Value lower, Value upper) {
  size_t vectors = plan.vectors;
  int64_t width = plan.width(), step = plan.step();
  SmallVector<SmallVector<Value>> origins(vectors);
  for (auto [v, origin] : llvm::enumerate(origins)) {
    Point first = innermostPoint(lower, v, upper);
    BodyEmitter body = kernel.body();
    origin = reductions.origins(first.mask,
                                [&](Value operand) { return element(body, operand, first); });
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
  totals = joinPairs(std::move(totals), vectors);
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
      BodyEmitter body = kernel.body();
      SmallVector<Value> origins = reductions.origins(
          point.mask, [&](Value operand) { return element(body, operand, point); });
      Partial one = reductions.add(reductions.none(plan.lanes), walked(point), origins, point.mask);
      totals.push_back(reductions.finishTile(one, origins));
    }
  }
  if (plan.rows())
    totals[0] = reductions.mergeLanes(totals[0], plan.lanes);
  return totals;
}

//===------------------------------------------------------------------------------------------===//
// Phases
//===------------------------------------------------------------------------------------------===//

/// The tasks' walk over units. Gives each vector's partial result to `store`, with the point of its
/// kept elements.
static LogicalResult emitUnits(
    KernelFunction &kernel, const ReducePlan &plan,
    llvm::function_ref<LogicalResult(ReduceEmitter &, const Point &, const Partial &, Value piece)>
        store) {
  CodeEmitter &e = kernel.e;
  SmallVector<int64_t> reduced = plan.extents(true);
  Value block = e.div(kernel.task, plan.splits), piece = e.rem(kernel.task, plan.splits);
  Value lower = e.constant(0), upper = e.constant(reduced.empty() ? 0 : reduced.front());
  if (plan.splits > 1) {
    lower = e.mul(piece, plan.chunk);
    upper = e.minimum(e.add(lower, plan.chunk), upper);
  }
  Value first = e.mul(block, plan.perTask), last = e.add(first, plan.perTask);
  if (plan.units() % plan.perTask != 0)
    last = e.minimum(last, e.constant(plan.units()));
  LogicalResult result = success();
  auto body = [&](Value number) {
    SmallVector<int64_t> unitSpace = plan.unitSpace();
    SmallVector<Value> unit;
    if (!unitSpace.empty())
      unit = e.delinearize(number, unitSpace);
    ReduceEmitter emitter(kernel, plan);
    Partials totals = emitter.reduce(unit, lower, upper);
    for (auto [i, total] : llvm::enumerate(totals))
      if (failed(store(emitter, emitter.keptPoint(unit, i), total, piece)))
        result = failure();
    if (failed(emitter.result))
      result = failure();
  };
  if (plan.perTask == 1)
    body(first);
  else
    e.loop(first, last, 1, body);
  return result;
}

static Value linearIndex(CodeEmitter &e, const Point &point) {
  Value linear = e.constant(0);
  for (auto [extent, index] : llvm::zip_equal(point.shape, point.indices))
    linear = e.add(e.mul(linear, extent), index);
  return linear;
}

/// One phase: reduce and finish.
static LogicalResult emitWhole(KernelFunction &kernel, const ReducePlan &plan) {
  SmallVector<unsigned> finished = resultsBehindAnchor(kernel.spec, true);
  return emitUnits(kernel, plan,
                   [&](ReduceEmitter &emitter, const Point &point, const Partial &total, Value) {
                     SmallVector<Value> values = emitter.reductions.results(total);
                     auto anchor = [&](unsigned number, const Point &asked) {
                       return asked == point ? values[number] : Value();
                     };
                     return storeAtPoints(kernel, finished, point, anchor);
                   });
}

/// The workspace of two phases: for each slot [splits, kept], and the bytes of all. A slot begins
/// at a whole cache line, so that slots of any types stand side by side.
static std::pair<SmallVector<int64_t>, int64_t> slotOffsets(const KernelSpec &spec,
                                                            const ReducePlan &plan) {
  SmallVector<int64_t> offsets;
  int64_t bytes = 0;
  for (Type type : Reductions::slotTypes(spec)) {
    offsets.push_back(llvm::alignTo(bytes, DLC_ALIGNMENT));
    bytes = offsets.back() + plan.splits * plan.kept() * program::elementBytes(type);
  }
  return {offsets, bytes};
}

/// First of two phases: partial results, piece by piece.
static LogicalResult emitPartial(KernelFunction &kernel, const ReducePlan &plan) {
  CodeEmitter &e = kernel.e;
  SmallVector<int64_t> offsets = slotOffsets(kernel.spec, plan).first;
  return emitUnits(kernel, plan,
                   [&](ReduceEmitter &, const Point &point, const Partial &total, Value piece) {
                     Value place = e.add(e.mul(piece, plan.kept()), linearIndex(e, point));
                     for (auto [slot, offset] : llvm::zip_equal(total, offsets)) {
                       Value base = e.at(kernel.workspace(), e.constant(offset), e.b.getI8Type());
                       if (point.width == 1)
                         e.store(slot, base, place);
                       else
                         e.storeVector(slot, base, place, 1, point.mask);
                     }
                     return success();
                   });
}

static WalkPlan combinePlan(const ReducePlan &plan, const CpuTarget &target) {
  SmallVector<int64_t> kept = plan.extents(false);
  if (kept.empty())
    kept.push_back(1);
  return WalkPlan::get(kept, double(plan.splits), target);
}

/// The pieces of the kept elements at `point`, merged in order.
static Partial mergePieces(KernelFunction &kernel, const ReducePlan &plan, Reductions &reductions,
                           const Point &point) {
  CodeEmitter &e = kernel.e;
  SmallVector<int64_t> offsets = slotOffsets(kernel.spec, plan).first;
  Value place = linearIndex(e, point);
  auto piece = [&](Value number) {
    Value index = e.add(e.mul(number, plan.kept()), place);
    Partial partial;
    for (auto [type, offset] : llvm::zip_equal(Reductions::slotTypes(kernel.spec), offsets)) {
      Value base = e.at(kernel.workspace(), e.constant(offset), e.b.getI8Type());
      partial.push_back(point.width == 1
                            ? e.load(base, index, type)
                            : e.loadVector(base, index, type, point.width, 1, point.mask));
    }
    return partial;
  };
  return e.carry(e.constant(1), e.constant(plan.splits), 1, piece(e.constant(0)),
                 [&](Value number, ValueRange total) {
                   return reductions.merge(llvm::to_vector_of<Value>(total), piece(number));
                 });
}

/// Second of two phases: the pieces of each kept element in order.
static LogicalResult emitCombined(KernelFunction &kernel, const ReducePlan &plan) {
  Reductions reductions(kernel.e, kernel.spec);
  SmallVector<unsigned> finished = resultsBehindAnchor(kernel.spec, true);
  return walkTask(kernel, combinePlan(plan, kernel.target), [&](ArrayRef<Point> points) {
    // All results of a point come from one merge.
    SmallVector<std::pair<Point, SmallVector<Value>>> known;
    auto anchor = [&](unsigned number, const Point &point) -> Value {
      auto *same = llvm::find_if(known, [&](auto &entry) { return entry.first == point; });
      if (same != known.end())
        return same->second[number];
      known.emplace_back(point, reductions.results(mergePieces(kernel, plan, reductions, point)));
      return known.back().second[number];
    };
    return storeAtPoints(kernel, finished, points, anchor);
  });
}

SmallVector<Candidate> ReduceGenerator::candidates(const KernelSpec &spec,
                                                   const CpuTarget &target) const {
  if (spec.anchor() != Anchor::Reduce)
    return {};
  std::optional<ReducePlan> plan = ReducePlan::get(spec, target);
  if (!plan)
    return {};
  Candidate candidate;
  candidate.schedule = plan->text();
  candidate.phases = {{uint32_t(plan->unitBlocks() * plan->splits), 0}};
  if (plan->splits > 1) {
    candidate.workspaceBytes = slotOffsets(spec, *plan).second;
    candidate.phases.push_back({combinePlan(*plan, target).tasks(), 0});
    candidate.phases.back().sideBytes = candidate.workspaceBytes;
  }
  double elements = double(plan->kept()) * double(product(plan->extents(true)));
  candidate.cost = walkSeconds(spec, bodyWeight(spec) * elements, target);
  return {candidate};
}

LogicalResult ReduceGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                    const CpuTarget &target, StringRef symbol,
                                    ModuleOp module) const {
  std::optional<ReducePlan> plan = ReducePlan::get(spec, target);
  bool split = plan->splits > 1;
  KernelFunction first(spec, target, module, phaseSymbol(symbol, candidate, 0), split);
  LogicalResult result = split ? emitPartial(first, *plan) : emitWhole(first, *plan);
  first.finish();
  if (!split || failed(result))
    return result;
  KernelFunction second(spec, target, module, phaseSymbol(symbol, candidate, 1), split);
  result = emitCombined(second, *plan);
  second.finish();
  return result;
}

std::unique_ptr<CpuGenerator> codegen::createReduceGenerator() {
  return std::make_unique<ReduceGenerator>();
}
