//===- ReduceGenerator.cpp - sums, maxima and minima along any axes ---------------------------===//
//
// The operand's index space is cut into axes that are wholly kept or wholly reduced; its last axis
// is walked in vectors.
//
//   rows      the last axis is reduced: one kept element at a time, vectors of partial results,
//             combined pairwise at the end
//   columns   the last axis is kept: vectors of kept elements, walked down the reduced axes
//
// Partial results are combined in blocks of blocks, never in one long chain, so that the error of a
// sum grows with the logarithm of its length. A task takes some kept elements. Where these are too
// few for many cores, the first reduced axis is also split: tasks leave partial results in the
// workspace, a second phase combines them in fixed order. Nothing depends on the number of threads.
// Results that do not need the reduction (the gradient behind a ReLU, stored while the bias
// gradient sums it) are stored from the same walk.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "dialects/DL/DLTensorOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

struct Axis {
  int64_t extent;
  bool reduced;
};

/// How a reduction is walked; all but `axes` follow from the sizes.
struct ReducePlan {
  SmallVector<Axis> axes;
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
    for (Axis axis : axes)
      if (axis.reduced == reduced)
        result.push_back(axis.extent);
    return result;
  }
  SmallVector<int64_t> space() const {
    return llvm::map_to_vector(axes, [](Axis axis) { return axis.extent; });
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
  int64_t unitBlocks() const { return llvm::divideCeil(units(), perTask); }
  std::string text() const;

private:
  void split(double weight);
};

class ReduceGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-reduce"; }
  unsigned version() const override { return 2; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

//===------------------------------------------------------------------------------------------===//
// Plan
//===------------------------------------------------------------------------------------------===//

static dl::ReduceOp reduceOf(const KernelSpec &spec) { return cast<dl::ReduceOp>(spec.anchorOp()); }

/// Values that the walk computes: the operand, and the results that do not need the reduction.
static SmallVector<Value> walkedValues(const KernelSpec &spec) {
  SmallVector<Value> values{reduceOf(spec).getX()};
  for (unsigned number : resultsBehindAnchor(spec, false))
    values.push_back(spec.result(number));
  return values;
}

/// The type of partial results: integers signless.
static Type accumulatorOf(dl::ReduceOp op) {
  Type element = accumulatorType(op.getType().getElementType());
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(op.getContext(), integer.getWidth());
  return element;
}

static SmallVector<Value> finishedValues(const KernelSpec &spec) {
  SmallVector<Value> values;
  for (unsigned number : resultsBehindAnchor(spec, true))
    values.push_back(spec.result(number));
  return values;
}

/// The operand's axes: neighbours of one kind are one, unless the values before or behind the
/// reduction tell them apart.
static std::optional<SmallVector<Axis>> axesOf(const KernelSpec &spec) {
  dl::ReduceOp op = reduceOf(spec);
  auto shape = cast<RankedTensorType>(op.getX().getType()).getShape();
  SmallVector<Axis> groups;
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    bool reduced = llvm::is_contained(op.getAxes(), int64_t(axis));
    if (extent == 1)
      continue;
    if (!groups.empty() && groups.back().reduced == reduced)
      groups.back().extent *= extent;
    else
      groups.push_back({extent, reduced});
  }
  // Splits each group of `axes` into the axes that `space`, a refinement of the groups' extents,
  // has for it.
  auto refine = [](ArrayRef<Axis> axes, bool onlyKept, ArrayRef<int64_t> space) {
    SmallVector<Axis> result;
    for (Axis axis : axes) {
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
  auto extents = [](ArrayRef<Axis> axes, bool onlyKept) {
    SmallVector<int64_t> result;
    for (Axis axis : axes)
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

std::optional<ReducePlan> ReducePlan::get(const KernelSpec &spec, const CpuTarget &target) {
  if (!followsAnchor(spec))
    return std::nullopt;
  std::optional<SmallVector<Axis>> axes = axesOf(spec);
  if (!axes)
    return std::nullopt;
  ReducePlan plan;
  plan.axes = *axes;
  int64_t inner = plan.axes.back().extent, widest = target.vectorBytes / 4;
  plan.lanes = std::min<int64_t>(widest, llvm::PowerOf2Ceil(inner));
  int64_t vectors = llvm::divideCeil(inner, plan.lanes);
  // Four chains of additions hide their latency.
  const int64_t chains = 4;
  if (plan.rows()) {
    plan.unroll = std::clamp<int64_t>(inner / plan.lanes, 1, chains);
  } else {
    plan.vectors = vectors % 4 == 0 ? 4 : vectors % 2 == 0 ? 2 : 1;
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
  for (Axis axis : axes)
    stream << (axis.reduced ? "r" : "k") << axis.extent << " ";
  stream << "lanes " << lanes << " vectors " << vectors << " unroll " << unroll << " units "
         << perTask << " splits " << splits << " chunk " << chunk;
  return result;
}

//===------------------------------------------------------------------------------------------===//
// Emission
//===------------------------------------------------------------------------------------------===//

namespace {

/// Emits the walk of one unit.
class ReduceEmitter {
public:
  ReduceEmitter(KernelFunction &kernel, const ReducePlan &plan)
      : kernel(kernel), e(kernel.e), plan(plan), op(reduceOf(kernel.spec)),
        stored(resultsBehindAnchor(kernel.spec, false)) {
    element = accumulatorOf(op);
    isUnsigned = getElementTypeOrSelf(op.getType()).isUnsignedInteger();
  }

  /// The unit at `unit` of the unit space, reduced over [lower, upper) of the first reduced axis:
  /// per vector of the unit, a vector (columns) or the one scalar (rows).
  SmallVector<Value> reduce(ArrayRef<Value> unit, Value lower, Value upper);

  /// Where the kept elements of vector `number` of a unit stand.
  Point keptPoint(ArrayRef<Value> unit, int64_t number);

  Value combine(Value a, Value b);
  Type accumulator() const { return element; }
  /// A whole result in the anchor's own type.
  Value finished(Value total) {
    return isa<FloatType>(element) ? e.convertFloat(total, op.getType().getElementType()) : total;
  }
  LogicalResult result = success();

private:
  SmallVector<Value> level(size_t axis, Value lower, Value upper);
  SmallVector<Value> innermostRows(Value lower, Value upper);
  SmallVector<Value> innermostColumns(Value lower, Value upper);
  SmallVector<Value> blocked(Value lower, Value upper, int64_t step, size_t chains,
                             llvm::function_ref<SmallVector<Value>(Value, ValueRange)> turn);
  Value walked(const Point &point);
  Value accumulate(Value total, const Point &point);
  Value identity(Type type);
  Point pointAt(ArrayRef<Value> reduced, int64_t vector);

  KernelFunction &kernel;
  CodeEmitter &e;
  const ReducePlan &plan;
  dl::ReduceOp op;
  SmallVector<unsigned> stored;
  Type element;
  bool isUnsigned;
  ArrayRef<Value> unit;
  SmallVector<Value> reducedIndices;
};

} // namespace

Value ReduceEmitter::identity(Type type) {
  bool isFloat = isa<FloatType>(element);
  double infinity = std::numeric_limits<double>::infinity();
  if (op.getKind() == dl::ReduceKind::Sum)
    return e.number(0, type);
  bool max = op.getKind() == dl::ReduceKind::Max;
  if (isFloat)
    return e.number(max ? -infinity : infinity, type);
  unsigned bits = element.getIntOrFloatBitWidth();
  APInt value = max ? (isUnsigned ? APInt::getZero(bits) : APInt::getSignedMinValue(bits))
                    : (isUnsigned ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits));
  TypedAttr attribute = e.b.getIntegerAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(e.b, e.loc, attribute);
}

Value ReduceEmitter::combine(Value a, Value b) {
  bool isFloat = isa<FloatType>(element);
  auto &builder = e.b;
  switch (op.getKind()) {
  case dl::ReduceKind::Sum:
    return isFloat ? arith::AddFOp::create(builder, e.loc, a, b).getResult()
                   : arith::AddIOp::create(builder, e.loc, a, b).getResult();
  case dl::ReduceKind::Max:
    return isFloat      ? arith::MaximumFOp::create(builder, e.loc, a, b).getResult()
           : isUnsigned ? arith::MaxUIOp::create(builder, e.loc, a, b).getResult()
                        : arith::MaxSIOp::create(builder, e.loc, a, b).getResult();
  case dl::ReduceKind::Min:
    return isFloat      ? arith::MinimumFOp::create(builder, e.loc, a, b).getResult()
           : isUnsigned ? arith::MinUIOp::create(builder, e.loc, a, b).getResult()
                        : arith::MinSIOp::create(builder, e.loc, a, b).getResult();
  }
  llvm_unreachable("all kinds are listed");
}

/// The operand at `point`; results that the walk stores are stored on the way.
Value ReduceEmitter::walked(const Point &point) {
  BodyEmitter body = kernel.body();
  Value value = e.splat(body.emitVector(op.getX(), point), point.width);
  if (isa<FloatType>(element))
    value = e.convertFloat(value, element);
  for (unsigned number : stored)
    if (failed(kernel.storeResult(body, number, point)))
      result = failure();
  return point.mask ? e.blend(point.mask, value, identity(value.getType())) : value;
}

Value ReduceEmitter::accumulate(Value total, const Point &point) {
  return combine(total, walked(point));
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

/// The operand's point: the unit's kept indices, and the reduced ones.
Point ReduceEmitter::pointAt(ArrayRef<Value> reduced, int64_t vector) {
  Point kept = keptPoint(unit, vector), point;
  point.shape = plan.space();
  point.width = kept.width;
  point.mask = kept.mask;
  size_t k = 0, r = 0;
  for (Axis axis : plan.axes)
    point.indices.push_back(axis.reduced ? reduced[r++] : kept.indices[k++]);
  if (point.width > 1)
    point.axis = point.shape.size() - 1;
  return point;
}

/// A loop whose partial results start anew in each block of turns, so that no chain of additions
/// gets long.
SmallVector<Value>
ReduceEmitter::blocked(Value lower, Value upper, int64_t step, size_t chains,
                       llvm::function_ref<SmallVector<Value>(Value, ValueRange)> turn) {
  const int64_t blockTurns = 64;
  Type type = element;
  if (plan.lanes > 1)
    type = VectorType::get({plan.lanes}, element);
  SmallVector<Value> zero(chains, identity(type));
  auto from = CodeEmitter::known(lower), to = CodeEmitter::known(upper);
  int64_t block = blockTurns * step;
  if (from && to && *to - *from <= 2 * block)
    return e.carry(lower, upper, step, zero, turn);
  return e.carry(lower, upper, block, zero, [&](Value start, ValueRange totals) {
    Value end = e.minimum(e.add(start, block), upper);
    SmallVector<Value> partial = e.carry(start, end, step, zero, turn), sums;
    for (auto [total, value] : llvm::zip_equal(totals, partial))
      sums.push_back(combine(total, value));
    return sums;
  });
}

/// Adds neighbours until `count` are left.
static SmallVector<Value> combinePairs(ReduceEmitter &emitter, SmallVector<Value> values,
                                       size_t count) {
  while (values.size() > count) {
    SmallVector<Value> next;
    size_t half = std::max(values.size() / 2 / count * count, count);
    for (size_t i = 0; i < half; ++i)
      next.push_back(i + half < values.size() ? emitter.combine(values[i], values[i + half])
                                              : values[i]);
    for (size_t i = 2 * half; i < values.size(); ++i)
      next[i % half] = emitter.combine(next[i % half], values[i]);
    values = std::move(next);
  }
  return values;
}

/// The vectors of the last axis; the rest behind the last whole vector is masked.
SmallVector<Value> ReduceEmitter::innermostRows(Value lower, Value upper) {
  int64_t lanes = plan.lanes, step = lanes * plan.unroll;
  auto pointOf = [&](Value index, Value mask) {
    SmallVector<Value> reduced = reducedIndices;
    reduced.push_back(index);
    Point point = pointAt(reduced, 0);
    point.axis = lanes > 1 ? point.shape.size() - 1 : -1;
    point.width = lanes;
    point.mask = mask;
    return point;
  };
  Value length = e.sub(upper, lower);
  Value end = e.add(lower, e.mul(e.div(length, step), step));
  SmallVector<Value> totals =
      blocked(lower, end, step, plan.unroll, [&](Value index, ValueRange carried) {
        SmallVector<Value> next;
        for (int64_t i = 0; i < plan.unroll; ++i)
          next.push_back(accumulate(carried[i], pointOf(e.add(index, i * lanes), {})));
        return next;
      });
  SmallVector<Value> total = combinePairs(*this, totals, 1);
  // At most plan.unroll turns: whole vectors, then a masked one.
  return e.carry(end, upper, lanes, total, [&](Value index, ValueRange carried) {
    Value mask = e.firstLanes(e.sub(upper, index), lanes);
    return SmallVector<Value>{accumulate(carried[0], pointOf(index, mask))};
  });
}

/// The innermost reduced axis of columns: `unroll` rows at a time, each with its own totals.
SmallVector<Value> ReduceEmitter::innermostColumns(Value lower, Value upper) {
  int64_t step = plan.unroll;
  auto row = [&](Value index, ValueRange totals) {
    SmallVector<Value> reduced = reducedIndices, next;
    reduced.push_back(index);
    for (int64_t v = 0; v < plan.vectors; ++v)
      next.push_back(accumulate(totals[v], pointAt(reduced, v)));
    return next;
  };
  Value end = e.add(lower, e.mul(e.div(e.sub(upper, lower), step), step));
  SmallVector<Value> totals =
      blocked(lower, end, step, step * plan.vectors, [&](Value index, ValueRange carried) {
        SmallVector<Value> next;
        for (int64_t i = 0; i < step; ++i)
          next.append(row(e.add(index, i), carried.slice(i * plan.vectors, plan.vectors)));
        return next;
      });
  totals = combinePairs(*this, totals, plan.vectors);
  return step == 1 ? totals : e.carry(end, upper, 1, totals, row);
}

/// The reduction over reduced axis number `axis` and those inside it.
SmallVector<Value> ReduceEmitter::level(size_t axis, Value lower, Value upper) {
  SmallVector<int64_t> extents = plan.extents(true);
  if (axis + 1 == extents.size())
    return plan.rows() ? innermostRows(lower, upper) : innermostColumns(lower, upper);
  return blocked(lower, upper, 1, plan.vectors, [&](Value index, ValueRange totals) {
    reducedIndices.push_back(index);
    SmallVector<Value> inner = level(axis + 1, e.constant(0), e.constant(extents[axis + 1]));
    reducedIndices.pop_back();
    SmallVector<Value> sums;
    for (auto [total, value] : llvm::zip_equal(totals, inner))
      sums.push_back(combine(total, value));
    return sums;
  });
}

SmallVector<Value> ReduceEmitter::reduce(ArrayRef<Value> at, Value lower, Value upper) {
  unit = at;
  reducedIndices.clear();
  SmallVector<Value> totals;
  if (!plan.extents(true).empty()) {
    totals = level(0, lower, upper);
  } else {
    for (int64_t v = 0; v < plan.vectors; ++v)
      totals.push_back(walked(pointAt({}, v)));
  }
  if (!plan.rows() || plan.lanes == 1)
    return totals;
  return {e.reduceLanes(totals[0], [&](Value a, Value b) { return combine(a, b); })};
}

//===------------------------------------------------------------------------------------------===//
// Phases
//===------------------------------------------------------------------------------------------===//

/// The tasks' walk over units. Gives each vector's totals to `store`, with the point of its kept
/// elements.
static LogicalResult
emitUnits(KernelFunction &kernel, const ReducePlan &plan,
          llvm::function_ref<LogicalResult(const Point &, Value total, Value piece)> store) {
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
    SmallVector<Value> totals = emitter.reduce(unit, lower, upper);
    if (plan.splits == 1)
      for (Value &total : totals)
        total = emitter.finished(total);
    for (auto [i, total] : llvm::enumerate(totals))
      if (failed(store(emitter.keptPoint(unit, i), total, piece)))
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
  return emitUnits(kernel, plan, [&](const Point &point, Value total, Value) {
    auto anchor = [&](unsigned, const Point &asked) { return asked == point ? total : Value(); };
    return storeAtPoints(kernel, finished, point, anchor);
  });
}

/// First of two phases: partial results, piece by piece.
static LogicalResult emitPartial(KernelFunction &kernel, const ReducePlan &plan) {
  CodeEmitter &e = kernel.e;
  return emitUnits(kernel, plan, [&](const Point &point, Value total, Value piece) {
    Value offset = e.add(e.mul(piece, plan.kept()), linearIndex(e, point));
    if (point.width == 1)
      e.store(total, kernel.workspace(), offset);
    else
      e.storeVector(total, kernel.workspace(), offset, 1, point.mask);
    return success();
  });
}

static WalkPlan combinePlan(const ReducePlan &plan, const CpuTarget &target) {
  SmallVector<int64_t> kept = plan.extents(false);
  if (kept.empty())
    kept.push_back(1);
  return WalkPlan::get(kept, double(plan.splits), target);
}

/// Second of two phases: the pieces of each kept element in order.
static LogicalResult emitCombined(KernelFunction &kernel, const ReducePlan &plan) {
  CodeEmitter &e = kernel.e;
  ReduceEmitter emitter(kernel, plan);
  Type element = emitter.accumulator();
  auto anchor = [&](unsigned, const Point &point) -> Value {
    Value place = linearIndex(e, point);
    auto piece = [&](Value number) {
      Value offset = e.add(e.mul(number, plan.kept()), place);
      return point.width == 1
                 ? e.load(kernel.workspace(), offset, element)
                 : e.loadVector(kernel.workspace(), offset, element, point.width, 1, point.mask);
    };
    return emitter.finished(e.carry(e.constant(1), e.constant(plan.splits), 1, piece(e.constant(0)),
                                    [&](Value number, ValueRange total) {
                                      return SmallVector<Value>{
                                          emitter.combine(total[0], piece(number))};
                                    })[0]);
  };
  SmallVector<unsigned> finished = resultsBehindAnchor(kernel.spec, true);
  return walkTask(kernel, combinePlan(plan, kernel.target), [&](ArrayRef<Point> points) {
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
    candidate.phases.push_back({combinePlan(*plan, target).tasks(), 0});
    candidate.workspaceBytes =
        plan->splits * plan->kept() * storageBytes(accumulatorOf(reduceOf(spec)));
  }
  double elements = double(plan->kept()) * double(product(plan->extents(true)));
  candidate.cost = walkSeconds(spec, bodyWeight(spec) * elements);
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
