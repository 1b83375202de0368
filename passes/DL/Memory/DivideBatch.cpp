//===- DivideBatch.cpp - runs what needs too much memory on a part of the batch at a time -----===//
//
//   %a = dl.convolution %x, %w                  %x0 = dl.slice %x starts = [0, ..] sizes = [64, ..]
//   %y = dl.max_pool %a                         %a0 = dl.convolution %x0, %w
//   ...                                         %y0 = dl.max_pool %a0
//   %dw = dl.convolution_backward_filter   ->   %x1 = ...
//            %x, %da                            %y1 = ...
//                                               %y = dl.concat %y0, %y1 axis = 0
//                                               ...
//                                               %dw0 = dl.convolution_backward_filter %x0, %da0
//                                               %dw1 = dl.convolution_backward_filter %x1, %da1
//                                               %dw = dl.add %dw0, %dw1
//
// The batch is the leading axis of what the entry's inputs with `dl.batch_axis = 0` lead to. Ops
// are divided that read or write a large tensor along it, each sample for itself, or sum over it;
// and element-wise ops behind them that nothing else feeds, as they join their kernels. Ops that
// lead to each other without another op between are one group, and a group runs part by part: what
// only it needs lies in memory for one part at a time. Slices and concats along the leading axis
// are no kernels, but memory of the whole.
//
// What is summed over the batch is summed by parts, and so may differ in the last bits. All else is
// computed as before.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/DL/Memory/Buffers.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Simplify/DeadCode.h"
#include "llvm/ADT/MapVector.h"
#include <limits>
#include <set>

namespace dlc::dl {
#define GEN_PASS_DEF_DIVIDEBATCH
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

//===------------------------------------------------------------------------------------------===//
// What can be divided
//===------------------------------------------------------------------------------------------===//

/// Of an op some of whose operands have the batch as their leading axis.
static std::optional<BatchDivision> divisionOf(Operation *op) {
  if (isa<ElementwiseOp, WindowOp>(op))
    return BatchDivision{llvm::to_vector(llvm::seq<unsigned>(op->getNumOperands()))};
  auto batchwise = dyn_cast<BatchwiseOp>(op);
  return batchwise ? batchwise.getBatchDivision() : std::nullopt;
}

namespace {

/// Divides one entry.
class Divider {
public:
  Divider(EntryOp entry, int64_t parts, int64_t leastBytes)
      : entry(entry), parts(parts), leastBytes(leastBytes) {}

  /// False if there is nothing to divide.
  bool run();
  /// Bytes of the tensors that could be divided, each size once.
  std::set<int64_t> sizes();

private:
  struct Place {
    int64_t level;
    bool isRest; ///< not divided
    auto operator<=>(const Place &) const = default;
  };

  void findBatched();
  int64_t largest(Operation *op) const;
  void choose();
  bool follows(Operation *op) const;
  void order();
  Place placeOf(Operation *op, const llvm::DenseMap<Operation *, Place> &places) const;
  void divide(ArrayRef<Operation *> group);
  Value partOf(Value value, int64_t part, OpBuilder &builder);
  void runPart(Operation *op, int64_t part, OpBuilder &builder);
  RankedTensorType partType(Value value) const;

  EntryOp entry;
  int64_t parts, leastBytes;
  int64_t batch = 0;
  llvm::DenseSet<Value> batched;
  llvm::MapVector<Operation *, BatchDivision> divisible, divided;
  llvm::DenseMap<Value, SmallVector<Value>> partsOf; ///< of what has the batch
  llvm::DenseMap<Value, Value> sums;
};

} // namespace

/// Follows the batch from the inputs on.
void Divider::findBatched() {
  for (auto [i, argument] : llvm::enumerate(entry.getBlock().getArguments())) {
    auto axis = entry.getArgAttrOfType<IntegerAttr>(i, "dl.batch_axis");
    if (!axis || axis.getInt() != 0 || (batch != 0 && leadingSize(argument) != batch))
      continue;
    batch = leadingSize(argument);
    batched.insert(argument);
  }
  for (Operation &op : entry.getBlock().without_terminator()) {
    auto isBatched = [&](Value value) { return batched.contains(value); };
    if (op.getNumRegions() != 0 || llvm::none_of(op.getOperands(), isBatched))
      continue;
    std::optional<BatchDivision> division = divisionOf(&op);
    auto isPart = [&](unsigned operand) { return llvm::is_contained(division->operands, operand); };
    bool fits = division && llvm::all_of(llvm::enumerate(op.getOperands()), [&](auto operand) {
                  return isPart(operand.index()) ? leadingSize(operand.value()) == batch
                                                 : !batched.contains(operand.value());
                });
    if (!fits)
      continue;
    divisible.insert({&op, *division});
    if (!division->isSum)
      batched.insert_range(op.getResults());
  }
}

/// Bytes of the largest tensor of an op along the batch.
int64_t Divider::largest(Operation *op) const {
  const BatchDivision &division = divisible.find(op)->second;
  int64_t most = 0;
  for (unsigned operand : division.operands)
    most = std::max(most, bytesOf(op->getOperand(operand)));
  if (!division.isSum)
    for (Value result : op->getResults())
      most = std::max(most, bytesOf(result));
  return most;
}

/// Whether an element-wise op belongs to what is divided in front of it: nothing else is read.
bool Divider::follows(Operation *op) const {
  return isa<ElementwiseOp>(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           if (!batched.contains(operand))
             return isa_and_nonnull<BroadcastOp, ConstantOp>(operand.getDefiningOp());
           return operand.hasOneUse() && divided.contains(operand.getDefiningOp());
         });
}

void Divider::choose() {
  for (const auto &[op, division] : divisible)
    if (largest(op) >= leastBytes || follows(op))
      divided.insert({op, division});
}

/// Groups are numbered by what they wait for: `level`.
Divider::Place Divider::placeOf(Operation *op,
                                const llvm::DenseMap<Operation *, Place> &places) const {
  const bool isRest = !divided.contains(op);
  int64_t level = 0;
  for (Value operand : op->getOperands()) {
    auto known = places.find(operand.getDefiningOp());
    if (known == places.end()) {
      level = std::max<int64_t>(level, !isRest);
      continue;
    }
    auto producer = divided.find(operand.getDefiningOp());
    const bool waits = !isRest && (producer == divided.end() || producer->second.isSum);
    level = std::max(level, known->second.level + waits);
  }
  return {level, isRest};
}

/// Groups behind each other, each in front of what waits for it.
void Divider::order() {
  llvm::DenseMap<Operation *, Place> places;
  SmallVector<Operation *> ops;
  for (Operation &op : entry.getBlock().without_terminator()) {
    places[&op] = placeOf(&op, places);
    ops.push_back(&op);
  }
  llvm::stable_sort(
      ops, [&](Operation *a, Operation *b) { return places.lookup(a) < places.lookup(b); });
  for (Operation *op : ops)
    op->moveBefore(entry.getReturn());
  for (size_t first = 0; first < ops.size();) {
    const Place place = places.lookup(ops[first]);
    size_t end = first;
    while (end < ops.size() && places.lookup(ops[end]) == place)
      ++end;
    if (!place.isRest)
      divide(ArrayRef(ops).slice(first, end - first));
    first = end;
  }
}

RankedTensorType Divider::partType(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] /= parts;
  return type.clone(shape);
}

/// A part of a value that is not divided is cut out of it, or made as the value is.
Value Divider::partOf(Value value, int64_t part, OpBuilder &builder) {
  SmallVector<Value> &known = partsOf[value];
  known.resize(parts);
  if (known[part])
    return known[part];
  RankedTensorType type = partType(value);
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  auto constant = value.getDefiningOp<ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  if (splat)
    return known[part] = ConstantOp::create(builder, value.getLoc(), type, splat.resizeSplat(type));
  if (broadcast && !llvm::is_contained(broadcast.getDims(), 0))
    return known[part] = BroadcastOp::create(builder, value.getLoc(), type, broadcast.getX(),
                                             broadcast.getDims());
  SmallVector<int64_t> starts(type.getRank(), 0), steps(type.getRank(), 1);
  starts[0] = part * type.getDimSize(0);
  return known[part] =
             SliceOp::create(builder, value.getLoc(), type, value, starts, type.getShape(), steps);
}

void Divider::runPart(Operation *op, int64_t part, OpBuilder &builder) {
  const BatchDivision &division = divided.find(op)->second;
  IRMapping mapping;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    Value sum = sums.lookup(operand), whole = sum ? sum : operand;
    const bool isPart = llvm::is_contained(division.operands, number);
    mapping.map(operand, isPart ? partOf(whole, part, builder) : whole);
  }
  Operation *clone = builder.clone(*op, mapping);
  for (auto [whole, result] : llvm::zip_equal(op->getResults(), clone->getResults())) {
    if (!division.isSum) {
      result.setType(partType(whole));
      partsOf[whole].resize(parts);
      partsOf[whole][part] = result;
    } else {
      Value &sum = sums[whole];
      TensorBuilder tensors{builder, op->getLoc()};
      sum = sum ? tensors.add(sum, result) : result;
    }
  }
}

void Divider::divide(ArrayRef<Operation *> group) {
  OpBuilder builder(group.back()->getContext());
  builder.setInsertionPointAfter(group.back());
  for (int64_t part = 0; part < parts; ++part)
    for (Operation *op : group)
      runPart(op, part, builder);
  // Others read the whole.
  auto isRest = [&](OpOperand &use) { return !divided.contains(use.getOwner()); };
  for (Operation *op : group)
    for (Value result : op->getResults()) {
      if (llvm::none_of(result.getUses(), isRest))
        continue;
      Value whole = sums.lookup(result);
      if (!whole)
        whole = ConcatOp::create(builder, op->getLoc(), partsOf.lookup(result), 0);
      result.replaceUsesWithIf(whole, isRest);
    }
}

bool Divider::run() {
  findBatched();
  if (batch % parts != 0)
    return false;
  choose();
  if (divided.empty())
    return false;
  order();
  for (const auto &[op, division] : llvm::reverse(divided))
    op->erase();
  eraseDeadOps(entry);
  return true;
}

std::set<int64_t> Divider::sizes() {
  findBatched();
  std::set<int64_t> all;
  for (Operation *op : llvm::make_first_range(divisible))
    all.insert(largest(op));
  return all;
}

namespace {
struct DivideBatch : dlc::dl::impl::DivideBatchBase<DivideBatch> {
  using DivideBatchBase::DivideBatchBase;
  DivideBatch(DivideBatchOptions options, MemoryFitter fitter)
      : DivideBatchBase(std::move(options)), fitter(std::move(fitter)) {}

  void runOnOperation() override;

private:
  struct Choice {
    int64_t parts = 1, leastBytes = 0;
    MemoryFit fit;
    /// What fits, then what takes less time; of what does not fit, what needs less.
    bool isBetterThan(const Choice &other) const;
  };
  std::vector<int64_t> findSizes(const MemoryFit &whole);
  FailureOr<MemoryFit> tryOut(int64_t parts, int64_t leastBytes, const MemoryFit &whole,
                              bool early);
  Choice search(const MemoryFit &whole);
  Choice findLeast(std::vector<Choice> all, const MemoryFit &whole);

  MemoryFitter fitter;
};
} // namespace

bool DivideBatch::Choice::isBetterThan(const Choice &other) const {
  if (fit.fits() != other.fit.fits())
    return fit.fits();
  return fit.fits() ? fit.seconds < other.fit.seconds : fit.bytes < other.fit.bytes;
}

/// Divides the entries that did not fit. False if none has anything to divide.
static bool divideEntries(ModuleOp module, int64_t parts, int64_t leastBytes,
                          const MemoryFit &whole) {
  bool isDivided = false;
  Builder builder(module.getContext());
  for (auto entry : module.getOps<EntryOp>()) {
    auto before = whole.tooLarge.find(entry.getSymName());
    if (before == whole.tooLarge.end() || !Divider(entry, parts, leastBytes).run())
      continue;
    isDivided = true;
    entry->setAttr(
        "dl.division",
        builder.getDictionaryAttr(
            {builder.getNamedAttr("parts", builder.getI64IntegerAttr(parts)),
             builder.getNamedAttr("before", builder.getI64IntegerAttr(before->second.bytes)),
             builder.getNamedAttr("seconds", builder.getF64FloatAttr(before->second.seconds))}));
  }
  return isDivided;
}

/// The largest first.
std::vector<int64_t> DivideBatch::findSizes(const MemoryFit &whole) {
  std::set<int64_t> all;
  for (auto entry : getOperation().getOps<EntryOp>())
    if (whole.tooLarge.contains(entry.getSymName()))
      all.merge(Divider(entry, 1, 0).sizes());
  // What is much smaller than the largest does not decide what is needed.
  std::vector<int64_t> sizes;
  for (int64_t bytes : llvm::reverse(all))
    if (bytes >= *all.rbegin() / 16)
      sizes.push_back(bytes);
  return sizes;
}

FailureOr<MemoryFit> DivideBatch::tryOut(int64_t parts, int64_t leastBytes, const MemoryFit &whole,
                                         bool early) {
  OwningOpRef<ModuleOp> copy = getOperation().clone();
  if (parts > 1 && !divideEntries(*copy, parts, leastBytes, whole))
    return failure();
  return fitter(*copy, early);
}

/// Of what does not fit, what needs the least: looked for where a bound does not say that another
/// needs less.
DivideBatch::Choice DivideBatch::findLeast(std::vector<Choice> all, const MemoryFit &whole) {
  llvm::stable_sort(all,
                    [](const Choice &a, const Choice &b) { return a.fit.bound < b.fit.bound; });
  Choice *best = nullptr;
  for (Choice &choice : all) {
    if (best && choice.fit.bound >= best->fit.bytes)
      break;
    if (!choice.fit.isSearched)
      if (FailureOr<MemoryFit> fit =
              tryOut(choice.parts, choice.leastBytes, whole, /*early=*/false);
          succeeded(fit))
        choice.fit = std::move(*fit);
    if (!best || choice.isBetterThan(*best))
      best = &choice;
  }
  return *best;
}

/// From few ops in few parts to more of both. More parts of what gained nothing in fewer are not
/// tried, nor more than `mostDivisions`: each takes as long as the undivided module.
DivideBatch::Choice DivideBatch::search(const MemoryFit &whole) {
  constexpr int64_t mostParts = 32;
  constexpr double leastGain = 0.02;
  std::vector<Choice> misses = {{1, 0, whole}};
  std::optional<Choice> best;     ///< of what fits
  unsigned trials = 0, wider = 0; ///< wider: choices of ops since one fitted
  for (int64_t bytes : findSizes(whole)) {
    int64_t reached = std::numeric_limits<int64_t>::max();
    for (int64_t parts = 2; parts <= mostParts && trials < mostDivisions; parts *= 2, ++trials) {
      FailureOr<MemoryFit> fit = tryOut(parts, bytes, whole, /*early=*/true);
      if (failed(fit))
        break;
      const bool fits = fit->fits();
      const bool gains = double(fit->bound) < (1 - leastGain) * double(reached);
      reached = fit->bound;
      Choice tried{parts, bytes, std::move(*fit)};
      if (!fits)
        misses.push_back(std::move(tried));
      else if (!best || tried.isBetterThan(*best))
        best = std::move(tried);
      if (fits || !gains)
        break;
    }
    if (best && ++wider == 2)
      break;
  }
  return best ? *best : findLeast(std::move(misses), whole);
}

void DivideBatch::runOnOperation() {
  if (parts > 1) {
    for (auto entry : getOperation().getOps<EntryOp>())
      Divider(entry, parts, leastBytes).run();
    return;
  }
  if (!fitter)
    return;
  OwningOpRef<ModuleOp> copy = getOperation().clone();
  FailureOr<MemoryFit> whole = fitter(*copy, /*early=*/true);
  // What fails for another reason does so again behind this pass, which says why.
  if (failed(whole) || whole->fits())
    return;
  const Choice choice = search(*whole);
  if (!choice.fit.fits() && choice.fit.isSearched) {
    // The passes behind this one would only search again.
    emitMisfit(getOperation().lookupSymbol<EntryOp>(choice.fit.largest), choice.fit.budget,
               choice.fit.bytes, /*isBound=*/false);
    return signalPassFailure();
  }
  if (choice.parts > 1)
    divideEntries(getOperation(), choice.parts, choice.leastBytes, *whole);
}

std::unique_ptr<Pass> dlc::dl::createDivideBatch(DivideBatchOptions options, MemoryFitter fitter) {
  return std::make_unique<DivideBatch>(std::move(options), std::move(fitter));
}
