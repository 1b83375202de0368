//===- TransposeGenerator.cpp - permutations that move the last axis --------------------------===//
//
// Memory is read along the operand's last axis and written along the result's, in square tiles that
// are transposed in registers. Permutations that keep the last axis, elements of one byte, and
// short axes go the way of map kernels, which gather.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

struct TransposePlan {
  SmallVector<int64_t> order;  ///< axis i of the result is axis order[i] of the operand
  SmallVector<int64_t> result; ///< the result's index space
  int64_t across = 0;          ///< axis of the result that is the operand's last
  int64_t lanes = 1;           ///< a tile has lanes x lanes elements; 16 bits as many as f32
  int64_t perTask = 1;         ///< tiles

  static std::optional<TransposePlan> get(const KernelSpec &spec, const CpuTarget &target);

  SmallVector<int64_t> operand() const {
    SmallVector<int64_t> shape(order.size());
    for (auto [i, axis] : llvm::enumerate(order))
      shape[axis] = result[i];
    return shape;
  }
  /// Tiles count as elements along both of their axes.
  SmallVector<int64_t> tileSpace() const {
    SmallVector<int64_t> space = result;
    space[across] = llvm::divideCeil(space[across], lanes);
    space.back() = llvm::divideCeil(space.back(), lanes);
    return space;
  }
  uint64_t tasks() const { return llvm::divideCeil(product(tileSpace()), perTask); }
};

class TransposeGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-transpose"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

//===------------------------------------------------------------------------------------------===//
// Plan
//===------------------------------------------------------------------------------------------===//

/// Drops axes of extent 1 and merges neighbours that stay neighbours.
static void simplify(SmallVector<int64_t> &order, SmallVector<int64_t> &result) {
  SmallVector<int64_t> axes, extents;
  for (auto [axis, extent] : llvm::zip_equal(order, result)) {
    if (extent == 1)
      continue;
    axes.push_back(axis);
    extents.push_back(extent);
  }
  // Numbers the axes that are left from 0 on.
  SmallVector<int64_t> sorted = axes;
  llvm::sort(sorted);
  for (int64_t &axis : axes)
    axis = llvm::find(sorted, axis) - sorted.begin();
  order.clear();
  result.clear();
  SmallVector<int64_t> merged;
  for (auto [axis, extent] : llvm::zip_equal(axes, extents)) {
    if (!order.empty() && axis == merged.back() + 1) {
      merged.back() = axis;
      result.back() *= extent;
      continue;
    }
    order.push_back(axis);
    merged.push_back(axis);
    result.push_back(extent);
  }
  sorted = order;
  llvm::sort(sorted);
  for (int64_t &axis : order)
    axis = llvm::find(sorted, axis) - sorted.begin();
}

std::optional<TransposePlan> TransposePlan::get(const KernelSpec &spec, const CpuTarget &target) {
  auto op = dyn_cast_or_null<dl::TransposeOp>(spec.anchorOp());
  const int64_t bytes = op ? program::elementBytes(getElementTypeOrSelf(op.getType())) : 0;
  if (!op || !llvm::is_contained({2, 4, 8}, bytes) || !followsAnchor(spec) ||
      !resultsBehindAnchor(spec, false).empty() || op.getType().getNumElements() == 0)
    return std::nullopt;
  TransposePlan plan;
  plan.order.assign(op.getOrder().begin(), op.getOrder().end());
  plan.result.assign(op.getType().getShape().begin(), op.getType().getShape().end());
  simplify(plan.order, plan.result);
  int64_t rank = plan.order.size();
  if (rank < 2 || plan.order.back() == rank - 1)
    return std::nullopt;
  plan.across = llvm::find(plan.order, rank - 1) - plan.order.begin();
  plan.lanes = target.vectorBytes / std::max<int64_t>(bytes, 4);
  if (plan.result[plan.across] < plan.lanes / 2 || plan.result.back() < plan.lanes / 2)
    return std::nullopt;
  auto results = llvm::to_vector_of<Value>(spec.block().back().getOperands());
  auto space = refineIndexSpace(spec, results, plan.result);
  SmallVector<int64_t> operand = plan.operand();
  auto operandSpace = refineIndexSpace(spec, op.getX(), operand);
  if (failed(space) || failed(operandSpace) || *space != plan.result || *operandSpace != operand)
    return std::nullopt;
  const int64_t grain = 64, maxTasks = 128;
  int64_t tiles = product(plan.tileSpace());
  plan.perTask = llvm::divideCeil(tiles, std::clamp<int64_t>(tiles / grain, 1, maxTasks));
  return plan;
}

//===------------------------------------------------------------------------------------------===//
// Emission
//===------------------------------------------------------------------------------------------===//

/// Row i, lane j becomes row j, lane i: in each round, rows `distance` apart exchange the lanes
/// that are. Numbers of 16 bits move as integers, which all processors have shuffles for.
static void transposeRows(CodeEmitter &e, SmallVector<Value> &rows) {
  int64_t lanes = rows.size();
  auto type = cast<VectorType>(rows.front().getType());
  const bool isNarrow = type.getElementType().isBF16() || type.getElementType().isF16();
  auto cast = [&](VectorType to) {
    if (isNarrow)
      for (Value &row : rows)
        row = vector::BitCastOp::create(e.b, e.loc, to, row);
  };
  cast(type.clone(e.b.getI16Type()));
  for (int64_t distance = 1; distance < lanes; distance *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool second = lane & distance;
      low.push_back(second ? lanes + lane - distance : lane);
      high.push_back(second ? lanes + lane : lane + distance);
    }
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & distance)
        continue;
      Value a = rows[i], b = rows[i + distance];
      rows[i] = vector::ShuffleOp::create(e.b, e.loc, a, b, low);
      rows[i + distance] = vector::ShuffleOp::create(e.b, e.loc, a, b, high);
    }
  }
  cast(type);
}

namespace {

/// Emits one tile. `tile`: its place in the tile space.
class TileEmitter {
public:
  TileEmitter(KernelFunction &kernel, const TransposePlan &plan, ArrayRef<Value> tile)
      : kernel(kernel), e(kernel.e), plan(plan), columns(plan.result[plan.across]),
        length(plan.result.back()), origin(tile) {
    size_t last = plan.result.size() - 1;
    origin[plan.across] = e.mul(tile[plan.across], plan.lanes);
    origin[last] = e.mul(tile[last], plan.lanes);
    columnsLeft = e.sub(e.constant(columns), origin[plan.across]);
    rowsLeft = e.sub(e.constant(length), origin[last]);
  }

  /// Where masks are dear, whole tiles have code of their own without them.
  LogicalResult run() {
    const bool hasParts = columns % plan.lanes != 0 || length % plan.lanes != 0;
    if (kernel.target.masksLanes || !hasParts || columns < plan.lanes || length < plan.lanes) {
      move(hasParts);
      return result;
    }
    Value most = e.constant(plan.lanes - 1);
    Value isWhole = e.both(e.less(most, columnsLeft), e.less(most, rowsLeft));
    e.branch(isWhole, [&] { move(false); }, [&] { move(true); });
    return result;
  }

private:
  void move(bool isPart) {
    Value readMask = isPart ? maskOf(columns, columnsLeft) : Value();
    Value writeMask = isPart ? maskOf(length, rowsLeft) : Value();
    SmallVector<Value> rows;
    for (int64_t i = 0; i < plan.lanes; ++i)
      rows.push_back(read(i, readMask, isPart));
    transposeRows(e, rows);
    for (int64_t i = 0; i < plan.lanes; ++i) {
      Value exists = isPart && columns % plan.lanes != 0 ? e.less(e.constant(i), columnsLeft)
                                                         : e.number(1, e.b.getI1Type());
      e.when(exists, [&] { write(i, rows[i], writeMask); });
    }
  }

  Value maskOf(int64_t extent, Value count) {
    return extent % plan.lanes == 0 ? Value() : e.firstLanes(count, plan.lanes);
  }

  /// The operand along its last axis, at the tile's element `row` of the result's last axis.
  Value read(int64_t row, Value mask, bool isPart) {
    SmallVector<Value> place(origin);
    place.back() = e.add(place.back(), row);
    if (isPart && length % plan.lanes != 0)
      place.back() = e.minimum(place.back(), e.constant(length - 1));
    Point point;
    point.shape = plan.operand();
    point.indices.resize(place.size());
    for (auto [i, axis] : llvm::enumerate(plan.order))
      point.indices[axis] = place[i];
    point.axis = point.shape.size() - 1;
    point.width = plan.lanes;
    point.mask = mask;
    BodyEmitter body = kernel.body();
    auto op = cast<dl::TransposeOp>(kernel.spec.anchorOp());
    return e.splat(body.emitVector(op.getX(), point), plan.lanes);
  }

  void write(int64_t column, Value values, Value mask) {
    Point point;
    point.shape = plan.result;
    point.indices = origin;
    point.indices[plan.across] = e.add(origin[plan.across], column);
    point.axis = point.shape.size() - 1;
    point.width = plan.lanes;
    point.mask = mask;
    auto anchor = [&](unsigned, const Point &asked) { return asked == point ? values : Value(); };
    if (failed(storeAtPoints(kernel, resultsBehindAnchor(kernel.spec, true), point, anchor)))
      result = failure();
  }

  KernelFunction &kernel;
  CodeEmitter &e;
  const TransposePlan &plan;
  const int64_t columns, length; ///< the extents of the result's two axes
  SmallVector<Value> origin;
  Value columnsLeft, rowsLeft; ///< of the extents, from the tile's origin on
  LogicalResult result = success();
};

} // namespace

SmallVector<Candidate> TransposeGenerator::candidates(const KernelSpec &spec,
                                                      const CpuTarget &target) const {
  std::optional<TransposePlan> plan = TransposePlan::get(spec, target);
  if (!plan)
    return {};
  Candidate candidate;
  llvm::raw_string_ostream stream(candidate.schedule);
  stream << "transpose ";
  llvm::interleave(plan->result, stream, "x");
  stream << " order ";
  llvm::interleave(plan->order, stream, ",");
  stream << " lanes " << plan->lanes << " tiles " << plan->perTask;
  candidate.phases = {{plan->tasks(), 0}};
  // Measured on images between blocks of channels and row-major: 111 GB/s from the second cache, 30
  // to 35 from memory, both of what is read and written.
  candidate.cost =
      0.5 * orderedSeconds(spec, bodyWeight(spec) * double(product(plan->result)), target);
  return {candidate};
}

LogicalResult TransposeGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                       const CpuTarget &target, StringRef symbol,
                                       ModuleOp module) const {
  TransposePlan plan = *TransposePlan::get(spec, target);
  KernelFunction kernel(spec, target, module, symbol, /*workspaces=*/0);
  CodeEmitter &e = kernel.e;
  SmallVector<int64_t> tiles = plan.tileSpace();
  Value first = e.mul(kernel.task, plan.perTask), last = e.add(first, plan.perTask);
  if (product(tiles) % plan.perTask != 0)
    last = e.minimum(last, e.constant(product(tiles)));
  LogicalResult result = success();
  e.loop(first, last, 1, [&](Value number) {
    SmallVector<Value> tile = e.delinearize(number, tiles);
    if (failed(TileEmitter(kernel, plan, tile).run()))
      result = failure();
  });
  kernel.finish();
  return result;
}

std::unique_ptr<CpuGenerator> codegen::createTransposeGenerator() {
  return std::make_unique<TransposeGenerator>();
}
