//===- Walk.cpp - see Walk.h ------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/CostModel.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/Program/Layout.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Plans
//===------------------------------------------------------------------------------------------===//

/// Functions are polynomials: see MathPolynomials.cpp.
static double weightOfScalar(Operation *op) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case<math::ExpOp, math::LogOp>([](auto) { return 16; })
      .Case<math::TanhOp, math::ErfOp>([](auto) { return 32; })
      // In f64: half as many lanes.
      .Case<math::PowFOp>([](auto) { return 80; })
      .Case<math::SqrtOp, arith::DivFOp, arith::DivSIOp, arith::DivUIOp>([](auto) { return 8; })
      .Case<arith::ConstantOp>([](auto) { return 0; })
      .Default([](auto) { return 1; });
}

double codegen::elementWeight(dl::ElementwiseOp op) {
  Block scratch;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToStart(&scratch);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(
        scratch.addArgument(computedType(getElementTypeOrSelf(operand)), op.getLoc()));
  op.buildScalar(builder, op.getLoc(), operands);
  double weight = 0;
  for (Operation &scalar : scratch)
    weight += weightOfScalar(&scalar);
  return weight;
}

double codegen::bodyWeight(const KernelSpec &spec) {
  double weight = 1;
  for (auto op : spec.block().getOps<dl::ElementwiseOp>())
    weight += elementWeight(op);
  return weight;
}

double codegen::operandWeight(Value operand) {
  llvm::SetVector<Operation *> ops;
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      ops.insert(op);
  };
  add(operand);
  double weight = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    llvm::for_each(ops[i]->getOperands(), add);
    if (auto op = dyn_cast<dl::ElementwiseOp>(ops[i]))
      weight += elementWeight(op);
  }
  return weight;
}

double codegen::orderedSeconds(const KernelSpec &spec, double operations, const CpuTarget &target) {
  return std::max(operations / target.machine.vectorOperationsPerSecond,
                  memorySeconds(double(spec.bytes()), target));
}

/// Whether elements along the last axis follow each other in memory.
static bool hasLines(RankedTensorType type) {
  auto layout = dyn_cast_or_null<program::LayoutAttr>(type.getEncoding());
  return !layout ||
         (layout.getBlocks().empty() &&
          layout.getOrder().back() + 1 == static_cast<int64_t>(layout.getOrder().size()));
}

/// Vectors put together from elements that do not follow each other, as for images in blocks among
/// row-major ones. Measured on Zen 5 on 0.8 to 77 MB beside a batch norm's sums, which take 23 and
/// 8 GB/s longer; the same tensors are converted by TransposeGenerator at 55 and 16 GB/s.
static double gatherSeconds(const KernelSpec &spec, const CpuTarget &target) {
  const CpuMachine &machine = target.machine;
  double bytes = 0, scattered = 0;
  for (auto op : spec.block().getOps<dl::TransposeOp>())
    if (!op.getOrder().empty() && op.getOrder().back() + 1 != int64_t(op.getOrder().size()))
      bytes += double(program::storageBytes(op.getType()));
  // What cannot be walked by blocks is read or written element by element.
  for (auto op : spec.block().getOps<dl::ConvertLayoutOp>())
    scattered += hasLines(op.getX().getType()) && hasLines(op.getType())
                     ? 0
                     : double(program::storageBytes(op.getType()));
  const bool isNear = 4 * spec.bytes() <= uint64_t(machine.lastCacheBytes());
  return bytes / (isNear ? machine.gatherL3BytesPerSecond : machine.gatherBytesPerSecond) +
         scattered / machine.elementBytesPerSecond;
}

double codegen::walkSeconds(const KernelSpec &spec, double operations, const CpuTarget &target) {
  return orderedSeconds(spec, operations, target) + gatherSeconds(spec, target);
}

bool codegen::followsAnchor(const KernelSpec &spec) {
  return llvm::none_of(spec.block(), [&](Operation &op) {
    auto index = dyn_cast<dl::IndexOp>(op);
    return index && &op != spec.anchorOp() && spec.dependsOnAnchor(op.getResult(0)) &&
           !llvm::all_of(index.getIndexMaps(), [](const auto &map) { return map.isIdentity(); });
  });
}

WalkPlan WalkPlan::get(ArrayRef<int64_t> space, double weight, const CpuTarget &target,
                       int64_t bytes) {
  // A task should be worth some ten microseconds, and there should be enough of them for many
  // cores.
  const double grain = 32768;
  const int64_t maxTasks = 2 * target.machine.wantedTasks();
  WalkPlan plan;
  plan.space.assign(space.begin(), space.end());
  int64_t lanes = target.vectorBytes / bytes, inner = plan.inner(), outer = plan.outer();
  plan.width = std::min<int64_t>(lanes, llvm::PowerOf2Ceil(inner));
  plan.unroll = weight > 8 ? 2 : 4;
  plan.unroll = std::clamp<int64_t>(inner / plan.width, 1, plan.unroll);
  double work = weight * double(inner) * double(outer);
  int64_t tasks = std::clamp<int64_t>(int64_t(work / grain), 1, maxTasks);
  plan.rows = llvm::divideCeil(outer, std::min(tasks, outer));
  int64_t pieces = std::max<int64_t>(1, tasks / outer);
  plan.chunk = inner;
  if (pieces > 1)
    plan.chunk = llvm::alignTo(llvm::divideCeil(inner, pieces), plan.width * plan.unroll);
  return plan;
}

//===------------------------------------------------------------------------------------------===//
// Walks
//===------------------------------------------------------------------------------------------===//

namespace {
/// Emits the steps of one row.
struct RowWalk {
  CodeEmitter &e;
  const WalkPlan &plan;
  ArrayRef<Value> outer;
  WalkBody body;
  LogicalResult result = success();

  Point pointAt(Value index, Value mask) {
    Point point;
    point.shape = plan.space;
    point.indices.assign(outer.begin(), outer.end());
    point.indices.push_back(index);
    point.axis = plan.width > 1 ? plan.space.size() - 1 : -1;
    point.width = plan.width;
    point.mask = mask;
    return point;
  }

  void step(Value index, int64_t vectors, Value mask = {}) {
    SmallVector<Point> points;
    for (int64_t i = 0; i < vectors; ++i)
      points.push_back(pointAt(e.add(index, i * plan.width), mask));
    if (failed(body(points)))
      result = failure();
  }
};
} // namespace

LogicalResult codegen::walkRow(CodeEmitter &e, const WalkPlan &plan, ArrayRef<Value> outer,
                               Value lower, Value upper, WalkBody body) {
  RowWalk walk{e, plan, outer, body};
  Value length = e.sub(upper, lower);
  auto known = CodeEmitter::known(length);
  auto roundDown = [&](int64_t size) { return e.add(lower, e.mul(e.div(length, size), size)); };
  Value place = lower;
  if (plan.unroll > 1) {
    Value end = roundDown(plan.width * plan.unroll);
    e.loop(place, end, plan.width * plan.unroll,
           [&](Value index) { walk.step(index, plan.unroll); });
    place = end;
  }
  Value end = roundDown(plan.width);
  if (known) {
    // The rest of a known length is one step.
    int64_t vectors = *CodeEmitter::known(e.sub(end, place)) / plan.width;
    if (plan.unroll == 1)
      e.loop(place, end, plan.width, [&](Value index) { walk.step(index, 1); });
    else if (vectors > 0)
      walk.step(place, vectors);
  } else {
    e.loop(place, end, plan.width, [&](Value index) { walk.step(index, 1); });
  }
  Value rest = e.sub(upper, end);
  e.when(e.less(e.constant(0), rest), [&] { walk.step(end, 1, e.firstLanes(rest, plan.width)); });
  return walk.result;
}

LogicalResult codegen::walkTask(KernelFunction &kernel, const WalkPlan &plan, WalkBody body) {
  return walkRows(kernel, plan, [&](ArrayRef<Value> outer, Value lower, Value upper) {
    return walkRow(kernel.e, plan, outer, lower, upper, body);
  });
}

LogicalResult codegen::walkRows(KernelFunction &kernel, const WalkPlan &plan, RowBody body) {
  CodeEmitter &e = kernel.e;
  int64_t outer = plan.outer(), inner = plan.inner(), chunks = plan.chunks();
  Value block = e.div(kernel.task, chunks), piece = e.rem(kernel.task, chunks);
  Value lower = e.constant(0), upper = e.constant(inner);
  if (chunks > 1) {
    lower = e.mul(piece, plan.chunk);
    upper = e.minimum(e.add(lower, plan.chunk), upper);
  }
  Value first = e.mul(block, plan.rows), last = e.add(first, plan.rows);
  if (outer % plan.rows != 0)
    last = e.minimum(last, e.constant(outer));
  if (plan.rows == 1)
    last = e.add(first, 1);
  LogicalResult result = success();
  auto row = [&](Value index) {
    auto outerShape = ArrayRef<int64_t>(plan.space).drop_back();
    SmallVector<Value> indices;
    if (!outerShape.empty())
      indices = e.delinearize(index, outerShape);
    if (failed(body(indices, lower, upper)))
      result = failure();
  };
  if (outer == 1)
    row(e.constant(0));
  else if (plan.rows == 1)
    row(first);
  else
    e.loop(first, last, 1, row);
  return result;
}

LogicalResult codegen::storeAtPoints(KernelFunction &kernel, ArrayRef<unsigned> numbers,
                                     ArrayRef<Point> points, BodyEmitter::AnchorValue anchor) {
  return storeBodyAtPoints(kernel, numbers, points, [&] { return kernel.body(anchor); });
}

LogicalResult codegen::storeBodyAtPoints(KernelFunction &kernel, ArrayRef<unsigned> numbers,
                                         ArrayRef<Point> points,
                                         llvm::function_ref<BodyEmitter()> body) {
  SmallVector<SmallVector<Value>> values;
  for (const Point &point : points) {
    BodyEmitter emitter = body();
    SmallVector<Value> &row = values.emplace_back();
    for (unsigned number : numbers) {
      row.push_back(emitter.emitStored(kernel.spec.result(number), point));
      if (!row.back())
        return emitError(kernel.e.loc,
                         "the anchor's value is needed at another place than its own");
    }
  }
  for (auto [point, row] : llvm::zip_equal(points, values))
    for (auto [number, value] : llvm::zip_equal(numbers, row))
      kernel.store(value, kernel.result(number), kernel.spec.resultTypes()[number], point);
  return success();
}
