//===- RowPassesGenerator.cpp - softmax, norms: what needs all of a row first -----------------===//
//
// A task takes some rows, and of each does everything that its formula asks for before it goes on
// to the next: pass by pass, while the row lies in the cache. A pass computes the reductions that
// wait for no more than those of the passes before, and stores the results that do; the last one
// may only store.
//
//   softmax     max x | sum of e = exp(x - max) | e / sum
//   layer norm  moments of x | (x - mean) * factor
//
// What a pass has computed with many operations and a later one needs again (e above) is kept in
// scratch, a row of it; all else is computed anew. Rows do not depend on each other, so neither do
// the bits on the number of threads.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/Reduce/ReduceWalk.h"
#include "dialects/DL/Facts/Rows.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// What one pass over a row does.
struct RowPass {
  SmallVector<dl::ReductionOp> reductions;
  SmallVector<unsigned> anchorResults; ///< of the reductions, as the spec numbers them
  SmallVector<unsigned> stored;        ///< results, of all elements of the row
  SmallVector<Value> kept;             ///< values that later passes read from scratch

  /// What the pass computes of each element.
  SmallVector<Value> roots(const KernelSpec &spec) const {
    SmallVector<Value> values;
    for (dl::ReductionOp op : reductions)
      values.push_back(op.getReduced());
    for (unsigned number : stored)
      values.push_back(spec.result(number));
    return values;
  }
};

struct RowPlan {
  SmallVector<int64_t> rows, row; ///< index spaces: of the rows, and of one row's elements
  int64_t lanes = 1;              ///< of a vector
  int64_t perTask = 1;            ///< rows a task
  double weight = 1;              ///< work of one element in all passes, in simple operations
  SmallVector<RowPass> passes;
  SmallVector<unsigned> perRow; ///< results, one element a row

  /// Nothing if the spec's values do not stand in rows.
  static std::optional<RowPlan> get(const KernelSpec &spec, const CpuTarget &target);

  SmallVector<int64_t> space() const {
    SmallVector<int64_t> all = rows;
    all.append(row);
    return all;
  }
  int64_t tasks() const { return llvm::divideCeil(product(rows), perTask); }
  size_t keptValues() const {
    size_t count = 0;
    for (const RowPass &pass : passes)
      count += pass.kept.size();
    return count;
  }
  /// Of one kept value's row.
  int64_t keptBytes() const {
    int64_t each = 0;
    for (const RowPass &pass : passes)
      for (Value value : pass.kept)
        each = std::max(each, program::elementBytes(getElementTypeOrSelf(value)));
    return llvm::alignTo(each * product(row), DLC_ALIGNMENT);
  }
  std::string text() const;

private:
  bool findPasses(const KernelSpec &spec, dl::Rows shape);
  void findKept(const KernelSpec &spec);
  bool findSpace(const KernelSpec &spec, dl::Rows shape, const CpuTarget &target);
};

class RowPassesGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-row-passes"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

//===------------------------------------------------------------------------------------------===//
// Plan
//===------------------------------------------------------------------------------------------===//

/// False if a result is neither of rows nor of elements of rows.
bool RowPlan::findPasses(const KernelSpec &spec, dl::Rows shape) {
  auto passAt = [&](unsigned number) -> RowPass & {
    passes.resize(std::max<size_t>(passes.size(), number + 1));
    return passes[number];
  };
  unsigned first = 0;
  for (dl::ReductionOp op : spec.reductions()) {
    RowPass &pass = passAt(spec.passOf(op.getReduced()));
    pass.reductions.push_back(op);
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      pass.anchorResults.push_back(first++);
  }
  for (auto [number, type] : llvm::enumerate(spec.resultTypes())) {
    if (type.getNumElements() == shape.count * shape.length)
      passAt(spec.passOf(spec.result(number))).stored.push_back(number);
    else if (type.getNumElements() == shape.count &&
             program::PhysicalLayout::get(type).elements == shape.count)
      perRow.push_back(number);
    else
      return false;
  }
  return true;
}

/// What `roots` are computed from, as far as `stop` lets through.
static llvm::SetVector<Value> computedFrom(const KernelSpec &spec, ArrayRef<Value> roots,
                                           llvm::function_ref<bool(Value)> stop) {
  llvm::SetVector<Value> values(roots.begin(), roots.end());
  for (size_t i = 0; i < values.size(); ++i)
    if (Operation *op = values[i].getDefiningOp();
        op && !spec.anchorResult(values[i]) && !stop(values[i]))
      values.insert(op->operand_begin(), op->operand_end());
  return values;
}

/// Values of a row's elements that an earlier pass has computed with many operations.
void RowPlan::findKept(const KernelSpec &spec) {
  // A load and a store of the nearest cache are not worth less.
  const double fewOperations = 8;
  llvm::DenseSet<Value> kept;
  auto isKept = [&](Value value) { return kept.contains(value); };
  auto weightOf = [&](Value value) {
    double sum = 0;
    for (Value each : computedFrom(spec, {value}, isKept))
      if (auto op = each.getDefiningOp<dl::ElementwiseOp>(); op && !isKept(each))
        sum += elementWeight(op);
    return sum;
  };
  const int64_t elements = product(space());
  for (size_t later = 1; later < passes.size(); ++later)
    for (RowPass &earlier : MutableArrayRef(passes).take_front(later)) {
      const llvm::SetVector<Value> known = computedFrom(spec, earlier.roots(spec), isKept);
      auto mayKeep = [&](Value value) {
        Type element = getElementTypeOrSelf(value);
        return known.contains(value) && value.getDefiningOp<dl::ElementwiseOp>() &&
               (element.isF32() || element.isF64()) &&
               cast<RankedTensorType>(value.getType()).getNumElements() == elements;
      };
      auto stop = [&](Value value) { return isKept(value) || mayKeep(value); };
      for (Value value : computedFrom(spec, passes[later].roots(spec), stop))
        if (!isKept(value) && mayKeep(value) && weightOf(value) > fewOperations) {
          earlier.kept.push_back(value);
          kept.insert(value);
        }
    }
}

/// False if a result is stored with padding, which no walk over elements writes.
bool RowPlan::findSpace(const KernelSpec &spec, dl::Rows shape, const CpuTarget &target) {
  SmallVector<Value> roots;
  for (const RowPass &pass : passes) {
    roots.append(pass.roots(spec));
    for (unsigned number : pass.stored)
      if (program::PhysicalLayout::get(spec.resultTypes()[number]).elements !=
          shape.count * shape.length)
        return false;
  }
  auto refined = refineIndexSpace(spec, roots, {shape.count, shape.length});
  SmallVector<int64_t> space =
      succeeded(refined) ? *refined : SmallVector<int64_t>{shape.count, shape.length};
  int64_t behind = 1;
  for (int64_t extent : llvm::reverse(space)) {
    SmallVector<int64_t> &axes = behind < shape.length ? row : rows;
    if (extent != 1)
      axes.insert(axes.begin(), extent);
    behind *= extent;
  }
  if (succeeded(refined))
    lanes = std::min<int64_t>(target.vectorBytes / 4, llvm::PowerOf2Ceil(row.back()));
  return true;
}

std::optional<RowPlan> RowPlan::get(const KernelSpec &spec, const CpuTarget &target) {
  std::optional<dl::Rows> shape = spec.rows();
  RowPlan plan;
  if (!shape || !plan.findPasses(spec, *shape) || !plan.findSpace(spec, *shape, target))
    return std::nullopt;
  plan.findKept(spec);
  plan.weight = bodyWeight(spec) + double(plan.passes.size());
  const double grain = 65536;
  const int64_t maxTasks = 128;
  const double work = plan.weight * double(shape->length) * double(shape->count);
  const int64_t wanted = std::clamp<int64_t>(int64_t(work / grain), 1, maxTasks);
  plan.perTask = llvm::divideCeil(shape->count, std::min(wanted, shape->count));
  return plan;
}

std::string RowPlan::text() const {
  std::string result = "row passes ";
  llvm::raw_string_ostream stream(result);
  stream << passes.size() << " of ";
  llvm::interleave(rows, stream, "x");
  stream << (rows.empty() ? "" : " ") << "rows ";
  llvm::interleave(row, stream, "x");
  stream << " lanes " << lanes << " kept " << keptValues() << " units " << perTask;
  return result;
}

//===------------------------------------------------------------------------------------------===//
// Emission
//===------------------------------------------------------------------------------------------===//

namespace {

/// Emits the passes over one row.
class RowEmitter {
public:
  RowEmitter(KernelFunction &kernel, const RowPlan &plan, ArrayRef<Value> row)
      : kernel(kernel), e(kernel.e), plan(plan), row(row),
        known(kernel.spec.anchorResults().size()) {}

  LogicalResult emit();

private:
  BodyEmitter body();
  Value loadKept(Value value, const Point &point);
  LogicalResult storePass(const RowPass &pass, BodyEmitter &emitter, const Point &point);
  LogicalResult reduce(const RowPass &pass);
  LogicalResult store(const RowPass &pass);
  LogicalResult storePerRow();

  /// Where a kept value's row begins, and the place of a point in it.
  Value keptRow(unsigned number) {
    return e.at(kernel.scratch, e.constant(int64_t(number) * plan.keptBytes()), e.b.getI8Type());
  }
  Value placeInRow(const Point &point) {
    Value place = e.constant(0);
    for (auto [extent, index] :
         llvm::zip_equal(plan.row, ArrayRef(point.indices).take_back(plan.row.size())))
      place = e.add(e.mul(place, extent), index);
    return place;
  }

  KernelFunction &kernel;
  CodeEmitter &e;
  const RowPlan &plan;
  ArrayRef<Value> row;
  SmallVector<Value> known; ///< the reductions' results, once they are there
  llvm::MapVector<Value, unsigned> kept;
};

} // namespace

BodyEmitter RowEmitter::body() {
  // Whatever waits for a row's reductions stands in that row: KernelSpec::rows.
  BodyEmitter emitter =
      kernel.body([this](unsigned number, const Point &) { return known[number]; });
  emitter.setKept([this](Value value, const Point &point) { return loadKept(value, point); });
  return emitter;
}

Value RowEmitter::loadKept(Value value, const Point &point) {
  auto *found = kept.find(value);
  if (found == kept.end() || point.width != plan.lanes ||
      ArrayRef<int64_t>(point.shape) != ArrayRef<int64_t>(plan.space()))
    return {};
  Type element = getElementTypeOrSelf(value);
  if (point.width == 1)
    return e.load(keptRow(found->second), placeInRow(point), element);
  return e.loadVector(keptRow(found->second), placeInRow(point), element, point.width, 1,
                      point.mask);
}

/// What the pass stores at a point, behind all loads.
LogicalResult RowEmitter::storePass(const RowPass &pass, BodyEmitter &emitter, const Point &point) {
  SmallVector<Value> values;
  for (Value value : pass.kept) {
    values.push_back(emitter.emitVector(value, point));
    if (!values.back())
      return failure();
  }
  if (failed(storeAt(kernel, emitter, pass.stored, point)))
    return failure();
  for (auto [number, value] : llvm::enumerate(values)) {
    Value base = keptRow(kept.size() + number), place = placeInRow(point);
    if (point.width == 1)
      e.store(value, base, place);
    else
      e.storeVector(value, base, place, 1, point.mask);
  }
  return success();
}

LogicalResult RowEmitter::reduce(const RowPass &pass) {
  SmallVector<MergedAxis> axes;
  for (int64_t extent : plan.rows)
    axes.push_back({extent, false});
  for (int64_t extent : plan.row)
    axes.push_back({extent, true});
  ReduceWalk walk = ReduceWalk::get(axes, pass.reductions, kernel.target);
  if (plan.lanes == 1)
    walk.lanes = walk.unroll = 1;
  ReduceEmitter emitter(
      kernel, walk, pass.reductions, [this] { return body(); },
      [&](BodyEmitter &emitter, const Point &point) { return storePass(pass, emitter, point); });
  Partials totals = emitter.reduce(row, e.constant(0), e.constant(plan.row.front()));
  SmallVector<Value> results = emitter.reductions.results(totals.front());
  for (auto [number, value] : llvm::zip_equal(pass.anchorResults, results))
    known[number] = value;
  return emitter.result;
}

/// A pass without reductions.
LogicalResult RowEmitter::store(const RowPass &pass) {
  WalkPlan walk;
  walk.space = plan.space();
  walk.width = plan.lanes;
  walk.unroll = std::clamp<int64_t>(walk.inner() / walk.width, 1, 4);
  LogicalResult result = success();
  e.nest(ArrayRef(plan.row).drop_back(), 1, {}, [&](ArrayRef<Value> outer, ValueRange) {
    SmallVector<Value> indices(row);
    indices.append(outer.begin(), outer.end());
    if (failed(walkRow(
            e, walk, indices, e.constant(0), e.constant(walk.inner()), [&](ArrayRef<Point> points) {
              return storeBodyAtPoints(kernel, pass.stored, points, [&] { return body(); });
            })))
      result = failure();
    return SmallVector<Value>();
  });
  return result;
}

LogicalResult RowEmitter::storePerRow() {
  Point point;
  point.shape = plan.rows;
  point.indices.assign(row.begin(), row.end());
  BodyEmitter emitter = body();
  return storeAt(kernel, emitter, plan.perRow, point);
}

LogicalResult RowEmitter::emit() {
  for (const RowPass &pass : plan.passes) {
    if (failed(pass.reductions.empty() ? store(pass) : reduce(pass)))
      return failure();
    for (Value value : pass.kept)
      kept.insert({value, unsigned(kept.size())});
  }
  return storePerRow();
}

SmallVector<Candidate> RowPassesGenerator::candidates(const KernelSpec &spec,
                                                      const CpuTarget &target) const {
  std::optional<RowPlan> plan = RowPlan::get(spec, target);
  if (!plan)
    return {};
  Candidate candidate;
  candidate.schedule = plan->text();
  candidate.phases = {{uint64_t(plan->tasks()), uint64_t(plan->keptBytes()) * plan->keptValues()}};
  // A pass reads all of the row, what passes before it have stored in its place too.
  candidate.inPlace = llvm::all_of(ArrayRef(plan->passes).drop_back(),
                                   [](const RowPass &pass) { return pass.stored.empty(); });
  candidate.cost = walkSeconds(spec, plan->weight * double(product(plan->space())), target);
  return {candidate};
}

LogicalResult RowPassesGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                       const CpuTarget &target, StringRef symbol,
                                       ModuleOp module) const {
  RowPlan plan = *RowPlan::get(spec, target);
  KernelFunction kernel(spec, target, module, symbol, /*workspaces=*/0);
  CodeEmitter &e = kernel.e;
  const int64_t rows = product(plan.rows);
  Value first = e.mul(kernel.task, plan.perTask), last = e.add(first, plan.perTask);
  if (rows % plan.perTask != 0)
    last = e.minimum(last, e.constant(rows));
  LogicalResult result = success();
  auto emitRow = [&](Value number) {
    SmallVector<Value> row;
    if (!plan.rows.empty())
      row = e.delinearize(number, plan.rows);
    if (failed(RowEmitter(kernel, plan, row).emit()))
      result = emitError(e.loc, "a row's value is needed in another row");
  };
  if (plan.perTask == 1)
    emitRow(first);
  else
    e.loop(first, last, 1, emitRow);
  kernel.finish();
  return result;
}

std::unique_ptr<CpuGenerator> codegen::createRowPassesGenerator() {
  return std::make_unique<RowPassesGenerator>();
}
