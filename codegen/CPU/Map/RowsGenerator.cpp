//===- RowsGenerator.cpp - sparse gradients: sums of rows, and the update of a table's rows ---===//
//
// cpu-sum-rows: a first task links the places of each number, from the last one back, so that each
// place knows the next of its number and how many follow: three tables in the workspace, of which
// that by number needs no clearing beyond the numbers that occur. Then each task has some places,
// and adds up the rows of those that are the first of their number, in order.
//
// cpu-update-rows: each task has some rows of the gradient, and updates the table's rows of their
// numbers. A number stands once, so no two tasks write to one place.
//
// So the results are the same for any number of threads.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/CostModel.h"
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const int64_t maxTasks = 64;

namespace {
/// Rows of `width` elements, some for each task.
struct RowsPlan {
  int64_t count, width, rowsPerTask, lanes;

  RowsPlan(int64_t count, int64_t width, Type element, const CpuTarget &target)
      : count(count), width(width),
        rowsPerTask(std::max<int64_t>(1, llvm::divideCeil(count, maxTasks))),
        lanes(target.vectorBytes * 8 / element.getIntOrFloatBitWidth()) {}
  uint64_t tasks() const { return llvm::divideCeil(count, rowsPerTask); }
  std::string text() const { return " rows " + std::to_string(rowsPerTask); }
};

/// What both kernels do: walk the task's rows, and a row in vectors.
class RowsEmitter {
public:
  RowsEmitter(KernelFunction &kernel, const RowsPlan &plan)
      : kernel(kernel), e(kernel.e), plan(plan) {}

protected:
  void forRows(llvm::function_ref<void(Value j)> row) {
    Value first = e.mul(kernel.task, plan.rowsPerTask);
    e.loop(first, e.minimum(e.add(first, plan.rowsPerTask), e.constant(plan.count)), 1, row);
  }
  void forColumns(llvm::function_ref<void(Value i, Value mask)> column) {
    const int64_t whole = plan.width / plan.lanes * plan.lanes;
    e.loop(e.constant(0), e.constant(whole), plan.lanes, [&](Value i) { column(i, Value()); });
    if (whole != plan.width)
      column(e.constant(whole), e.firstLanes(plan.width - whole, plan.lanes));
  }
  Value widen(Value number) {
    return number.getType().isInteger(64)
               ? number
               : arith::ExtSIOp::create(e.b, e.loc, e.b.getI64Type(), number).getResult();
  }
  Value isInside(Value number, int64_t extent) {
    return e.both(e.less(e.constant(-1), number), e.less(number, e.constant(extent)));
  }

  KernelFunction &kernel;
  CodeEmitter &e;
  const RowsPlan &plan;
};
} // namespace

static bool isRowMajor(RankedTensorType type) {
  return program::PhysicalLayout::get(type).rowMajor;
}

//===------------------------------------------------------------------------------------------===//
// cpu-sum-rows
//===------------------------------------------------------------------------------------------===//

namespace {
class SumRowsGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-sum-rows"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

class SumRowsEmitter : RowsEmitter {
public:
  SumRowsEmitter(KernelFunction &kernel, const RowsPlan &plan, dl::SumRowsOp op)
      : RowsEmitter(kernel, plan), op(op), element(getElementTypeOrSelf(op.getRows())) {}

  LogicalResult link();
  LogicalResult sum();

private:
  Value numberAt(Value j);
  Value valueAt(Value j, Value i, Value mask);
  void sumAt(Value j, Value first, Value count);

  // i64 each: by number the first place that has it, if one has; by place the next of its number,
  // and how many there are from it on.
  Value loadEntry(int64_t table, Value at) {
    return e.load(kernel.workspace(), e.add(at, table), e.b.getI64Type());
  }
  void storeEntry(Value value, int64_t table, Value at) {
    e.store(value, kernel.workspace(), e.add(at, table));
  }
  int64_t firsts() { return 0; }
  int64_t nexts() { return op.getExtent(); }
  int64_t counts() { return op.getExtent() + plan.count; }

  dl::SumRowsOp op;
  Type element;
  LogicalResult result = success();
};
} // namespace

Value SumRowsEmitter::numberAt(Value j) {
  Point at;
  at.shape = {plan.count};
  at.indices = {j};
  BodyEmitter body = kernel.body();
  Value number = body.emit(op.getIndex(), at);
  if (!number) {
    result = failure();
    return e.constant(-1);
  }
  return widen(number);
}

Value SumRowsEmitter::valueAt(Value j, Value i, Value mask) {
  Point at;
  at.shape = {plan.count, plan.width};
  at.indices = {j, i};
  at.axis = 1;
  at.width = plan.lanes;
  at.mask = mask;
  BodyEmitter body = kernel.body();
  Value value = body.emitVector(op.getValues(), at);
  if (value)
    return e.splat(value, plan.lanes);
  result = failure();
  return e.splat(e.number(0, element), plan.lanes);
}

LogicalResult SumRowsEmitter::link() {
  Value none = e.constant(-1);
  e.loop(plan.count, [&](Value j) {
    Value number = numberAt(j);
    e.when(isInside(number, op.getExtent()), [&] { storeEntry(none, firsts(), number); });
  });
  e.loop(plan.count, [&](Value turn) {
    Value j = e.sub(e.constant(plan.count - 1), turn), number = numberAt(j);
    e.when(isInside(number, op.getExtent()), [&] {
      Value next = loadEntry(firsts(), number);
      Value behind =
          e.valueWhen(e.less(none, next), e.constant(0), [&] { return loadEntry(counts(), next); });
      storeEntry(next, nexts(), j);
      storeEntry(e.add(behind, 1), counts(), j);
      storeEntry(j, firsts(), number);
    });
  });
  return result;
}

/// The sum of `count` rows from place `first` on, 0 for none.
void SumRowsEmitter::sumAt(Value j, Value first, Value count) {
  forColumns([&](Value i, Value mask) {
    Value zero = e.splat(e.number(0, element), plan.lanes);
    SmallVector<Value> carried =
        e.carry(e.constant(0), count, 1, {first, zero}, [&](Value, ValueRange carried) {
          Value sum = arith::AddFOp::create(e.b, e.loc, carried[1], valueAt(carried[0], i, mask));
          return SmallVector<Value>{loadEntry(nexts(), carried[0]), sum};
        });
    e.storeVector(carried[1], kernel.result(0), e.add(e.mul(j, plan.width), i), 1, mask);
  });
}

LogicalResult SumRowsEmitter::sum() {
  forRows([&](Value j) {
    Value number = numberAt(j);
    Value first = e.valueWhen(isInside(number, op.getExtent()), e.constant(-1),
                              [&] { return loadEntry(firsts(), number); });
    Value isFirst = e.equal(first, j);
    sumAt(j, j, e.valueWhen(isFirst, e.constant(0), [&] { return loadEntry(counts(), j); }));
    Value stored = e.select(isFirst, number, e.constant(-1));
    Type type = computedType(getElementTypeOrSelf(op.getNumbers()));
    if (!type.isInteger(64))
      stored = arith::TruncIOp::create(e.b, e.loc, type, stored);
    e.store(stored, kernel.result(1), j);
  });
  return result;
}

static std::optional<RowsPlan> planSums(const KernelSpec &spec, const CpuTarget &target) {
  auto op = dyn_cast_or_null<dl::SumRowsOp>(spec.anchorOp());
  if (!op || spec.resultTypes().size() != 2 || spec.result(0) != op.getRows() ||
      spec.result(1) != op.getNumbers() || !llvm::all_of(spec.resultTypes(), isRowMajor) ||
      !hasFastCode(spec) || op.getCount() == 0)
    return std::nullopt;
  return RowsPlan(op.getCount(), op.getWidth(), getElementTypeOrSelf(op.getRows()), target);
}

SmallVector<Candidate> SumRowsGenerator::candidates(const KernelSpec &spec,
                                                    const CpuTarget &target) const {
  std::optional<RowsPlan> plan = planSums(spec, target);
  if (!plan)
    return {};
  auto op = cast<dl::SumRowsOp>(spec.anchorOp());
  Candidate candidate;
  candidate.schedule = "sum_rows" + plan->text();
  candidate.workspaceBytes = 8 * (op.getExtent() + 2 * plan->count);
  const int64_t linkBytes = 8 * 8 * plan->count;
  candidate.phases = {{1, 0}, {plan->tasks(), 0}};
  candidate.phases.front().sideBytes = linkBytes;
  candidate.inPlace = false;
  candidate.cost = memorySeconds(double(linkBytes), target) +
                   walkSeconds(spec, bodyWeight(spec) * double(plan->count * plan->width), target);
  return {candidate};
}

LogicalResult SumRowsGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                     const CpuTarget &target, StringRef symbol,
                                     ModuleOp module) const {
  RowsPlan plan = *planSums(spec, target);
  auto op = cast<dl::SumRowsOp>(spec.anchorOp());
  LogicalResult result = success();
  for (unsigned phase : {0, 1}) {
    KernelFunction kernel(spec, target, module, phaseSymbol(symbol, candidate, phase),
                          /*workspaces=*/1);
    SumRowsEmitter emitter(kernel, plan, op);
    if (failed(phase == 0 ? emitter.link() : emitter.sum()))
      result = failure();
    kernel.finish();
  }
  return result;
}

std::unique_ptr<CpuGenerator> codegen::createSumRowsGenerator() {
  return std::make_unique<SumRowsGenerator>();
}

//===------------------------------------------------------------------------------------------===//
// cpu-update-rows
//===------------------------------------------------------------------------------------------===//

namespace {
class UpdateRowsGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-update-rows"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

class UpdateRowsEmitter : RowsEmitter {
public:
  UpdateRowsEmitter(KernelFunction &kernel, const RowsPlan &plan, dl::UpdateRowsOp op,
                    const KernelSpec &body)
      : RowsEmitter(kernel, plan), body(body), tensors(op.getTensors().size()),
        extent(kernel.spec.operandTypes()[0].getDimSize(0)) {
    for (unsigned i = 0; i < op.getScalars().size(); ++i)
      scalars.push_back(e.load(kernel.operand(tensors + 2 + i), e.constant(0), elementOf(2 + i)));
  }

  void run();

private:
  /// Of an operand behind the tensors.
  Type elementOf(unsigned number) const {
    return kernel.spec.operandTypes()[tensors + number].getElementType();
  }
  Value load(unsigned argument, Value inTable, Value inRows, Value mask);

  const KernelSpec &body; ///< the op's own block
  const unsigned tensors;
  const int64_t extent; ///< rows of the table
  SmallVector<Value> scalars;
};
} // namespace

/// An argument of the op's block: elements of a tensor, of the rows, or a scalar.
Value UpdateRowsEmitter::load(unsigned argument, Value inTable, Value inRows, Value mask) {
  if (argument > tensors)
    return scalars[argument - tensors - 1];
  return e.loadVector(kernel.operand(argument), argument < tensors ? inTable : inRows,
                      kernel.spec.operandTypes()[argument].getElementType(), plan.lanes, 1, mask);
}

void UpdateRowsEmitter::run() {
  forRows([&](Value j) {
    Value number = widen(e.load(kernel.operand(tensors + 1), j, computedType(elementOf(1))));
    e.when(isInside(number, extent), [&] {
      forColumns([&](Value i, Value mask) {
        Value inTable = e.add(e.mul(number, plan.width), i);
        Value inRows = e.add(e.mul(j, plan.width), i);
        Point point;
        point.shape = {plan.width};
        point.indices = {i};
        point.axis = 0;
        point.width = plan.lanes;
        point.mask = mask;
        BodyEmitter emitter(
            body, e.b, e.loc,
            [&](unsigned argument, const Point &) { return load(argument, inTable, inRows, mask); },
            {});
        SmallVector<Value> values;
        for (Value yielded : body.block().back().getOperands())
          values.push_back(emitter.emitVector(yielded, point));
        for (auto [result, value] : llvm::enumerate(values))
          e.storeVector(value, kernel.result(result), inTable, 1, mask);
      });
    });
  });
}

static std::optional<RowsPlan> planUpdate(const KernelSpec &spec, const CpuTarget &target) {
  auto op = dyn_cast_or_null<dl::UpdateRowsOp>(spec.anchorOp());
  Type element = op ? getElementTypeOrSelf(op.getRows()) : Type();
  auto isAlike = [&](RankedTensorType type) {
    return isRowMajor(type) && type.getElementType() == element;
  };
  if (!op || !hasFastCode(spec) || !llvm::all_of(spec.resultTypes(), isAlike))
    return std::nullopt;
  return RowsPlan(op.getCount(), op.getWidth(), element, target);
}

SmallVector<Candidate> UpdateRowsGenerator::candidates(const KernelSpec &spec,
                                                       const CpuTarget &target) const {
  std::optional<RowsPlan> plan = planUpdate(spec, target);
  if (!plan)
    return {};
  Candidate candidate;
  candidate.schedule = "update_rows" + plan->text();
  candidate.phases = {{plan->tasks(), 0}};
  candidate.cost = walkSeconds(spec, double(spec.flops()), target);
  return {candidate};
}

LogicalResult UpdateRowsGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                        const CpuTarget &target, StringRef symbol,
                                        ModuleOp module) const {
  auto op = cast<dl::UpdateRowsOp>(spec.anchorOp());
  FailureOr<KernelSpec> body = KernelSpec::get(op.getBody().front());
  if (failed(body))
    return failure();
  RowsPlan plan = *planUpdate(spec, target);
  KernelFunction kernel(spec, target, module, symbol, /*workspaces=*/0);
  UpdateRowsEmitter(kernel, plan, op, *body).run();
  kernel.finish();
  return success();
}

std::unique_ptr<CpuGenerator> codegen::createUpdateRowsGenerator() {
  return std::make_unique<UpdateRowsGenerator>();
}
