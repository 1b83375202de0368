//===- BandReducer.cpp - see BandReducer.h ----------------------------------------------------===//
#include "codegen/CPU/Reduce/BandReducer.h"
#include "codegen/CPU/CostModel.h"
#include "codegen/CPU/Reduce/ReduceWalk.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dlc/abi.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

/// The result of the kernel that holds `value`, as it is or in another layout: behind the anchor,
/// not behind reductions, and a float of at most 32 bits.
static std::optional<unsigned> storedResult(const KernelSpec &spec, Value value) {
  const Type element = getElementTypeOrSelf(value);
  if (!isa<FloatType>(element) || element.isF64())
    return std::nullopt;
  for (unsigned number : resultsBehindAnchor(spec, true)) {
    Value result = spec.result(number);
    auto converted = result.getDefiningOp<dl::ConvertLayoutOp>();
    if (result == value || (converted && converted.getX() == value))
      return number;
  }
  return std::nullopt;
}

/// What the reductions are computed from: stored results are not looked behind.
static llvm::SetVector<Value> readByReductions(const KernelSpec &spec) {
  llvm::SetVector<Value> all;
  for (dl::ReductionOp op : spec.reductions())
    all.insert(op.getReduced());
  for (size_t i = 0; i < all.size(); ++i)
    if (Operation *op = all[i].getDefiningOp(); op && !storedResult(spec, all[i]))
      all.insert(op->operand_begin(), op->operand_end());
  return all;
}

bool codegen::canReduceBands(const KernelSpec &spec, ArrayRef<int64_t> blockSpace) {
  const unsigned lanes = 2;
  const int64_t channels = blockSpace[1] * blockSpace[lanes];
  auto typeOf = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  auto keepsChannels = [&](dl::ReductionOp op) {
    return typeOf(op->getResult(0)).getRank() == 1 &&
           typeOf(op->getResult(0)).getNumElements() == channels &&
           !llvm::is_contained(op.getReducedAxes(), 1);
  };
  auto isOfChannels = [&](Value value) {
    return typeOf(value).getNumElements() == channels && !typeOf(value).getEncoding();
  };
  // The anchor's value is gone, and another image's band is not in the cache.
  auto isAtHand = [&](Value value) {
    return spec.anchorResult(value) ? storedResult(spec, value).has_value()
                                    : !isa<BlockArgument>(value) || typeOf(value).getRank() < 3;
  };
  SmallVector<Value> finished;
  for (unsigned number : resultsBehindReductions(spec))
    finished.push_back(spec.result(number));
  if (!llvm::all_of(spec.reductions(), keepsChannels) || !llvm::all_of(finished, isOfChannels) ||
      !llvm::all_of(readByReductions(spec), isAtHand))
    return false;
  FailureOr<SmallVector<int64_t>> space = refineIndexSpace(spec, finished, channels);
  return succeeded(space) && space->size() == 1;
}

//===------------------------------------------------------------------------------------------===//
// Candidates
//===------------------------------------------------------------------------------------------===//

/// Elements of each result of a reduction: channels, or one.
static int64_t keptOf(const KernelSpec &spec) {
  return cast<RankedTensorType>(spec.reductions().front()->getResult(0).getType()).getNumElements();
}

PartialResults codegen::partialResults(const KernelSpec &spec, const Candidate &candidate) {
  const int64_t kept = keptOf(spec);
  const int64_t bytes = PartialResults(spec, candidate.bandPieces, kept).bytes();
  return PartialResults(spec, candidate.bandPieces, kept, candidate.workspaceBytes - bytes);
}

void codegen::addBandReductions(const KernelSpec &spec, const CpuTarget &target,
                                Candidate &candidate) {
  const MachineModel machine(target);
  const PartialResults results(spec, candidate.bandPieces, keptOf(spec));
  candidate.workspaceBytes =
      llvm::alignTo(candidate.workspaceBytes, DLC_ALIGNMENT) + results.bytes();
  // The workspace is no longer made of one operand.
  candidate.preparation = std::nullopt;
  candidate.phases.push_back({results.mergePlan(keptOf(spec), target).tasks(), 0});
  candidate.phases.back().sideBytes = results.bytes();
  double operations = 0;
  for (Value value : readByReductions(spec))
    if (auto op = value.getDefiningOp<dl::ElementwiseOp>(); op && !storedResult(spec, value))
      operations += elementWeight(op);
  operations += double(Reductions::slotTypes(spec.reductions()).size());
  const double elements =
      double(cast<RankedTensorType>(spec.anchorOp()->getResult(0).getType()).getNumElements());
  // Bands are loaded again; totals are taken of what stands in registers.
  const double perCycle = keptOf(spec) == 1 ? 2 : 1;
  candidate.cost +=
      tileSeconds(operations * elements / (perCycle * double(machine.lanes)), machine);
}

LogicalResult codegen::emitBandMerge(const KernelSpec &spec, const Candidate &candidate,
                                     const CpuTarget &target, StringRef symbol, ModuleOp module,
                                     unsigned phase) {
  KernelFunction kernel(spec, target, module, phaseSymbol(symbol, candidate, phase),
                        /*workspaces=*/1);
  LogicalResult result = partialResults(spec, candidate)
                             .emitMerge(kernel, keptOf(spec), resultsBehindReductions(spec));
  kernel.finish();
  return result;
}

//===------------------------------------------------------------------------------------------===//
// Bands
//===------------------------------------------------------------------------------------------===//

BandReducer::BandReducer(KernelFunction &kernel, const Candidate &candidate,
                         ArrayRef<int64_t> blockSpace)
    : kernel(kernel), e(kernel.e), space(blockSpace) {
  if (!kernel.spec.hasReductionsBehind())
    return;
  reductions.emplace(e, kernel.spec.reductions());
  results.emplace(partialResults(kernel.spec, candidate));
  chains = chainsOf(kernel.spec.reductions(), kernel.target);
}

void BandReducer::begin(Value number, Value first, Value last) {
  if (!exists())
    return;
  piece = number;
  e.loop(first, last, kernel.lanes, [&](Value channel) {
    results->store(kernel, reductions->none(kernel.lanes), piece, channel, kernel.lanes);
  });
}

Point BandReducer::pointAt(const Band &band, Value row, Value col) {
  const int64_t block = space[2];
  Point point;
  point.shape = space;
  point.indices = {band.image,
                   e.div(band.channel, block),
                   e.rem(band.channel, block),
                   band.depth,
                   e.add(band.row, e.mul(row, band.rowStep)),
                   e.add(band.col, e.mul(col, band.colStep))};
  point.axis = 2;
  point.width = kernel.lanes;
  return point;
}

/// The operand of each reduction.
SmallVector<Value> BandReducer::elementsAt(const Point &point) {
  BodyEmitter body = kernel.body();
  body.setKept([&](Value value, const Point &at) -> Value {
    std::optional<unsigned> number = storedResult(kernel.spec, value);
    return number ? kernel.load(kernel.result(*number), kernel.spec.resultTypes()[*number], at)
                  : Value();
  });
  SmallVector<Value> elements;
  for (dl::ReductionOp op : kernel.spec.reductions()) {
    Value element = reducedElement(e, body, op.getReduced(), point);
    if (!element) {
      result = failure();
      element = e.number(0, VectorType::get({kernel.lanes}, e.b.getF32Type()));
    }
    elements.push_back(element);
  }
  return elements;
}

/// Columns [first, last) of all rows, as one tile (Reductions.h): several at a time, each with
/// totals of its own.
Partial BandReducer::reduceColumns(const Band &band, Value first, Value last) {
  const Point corner = pointAt(band, e.constant(0), first);
  SmallVector<Value> origins = reductions->origins({}, [&](Value operand) {
    for (auto [op, element] : llvm::zip_equal(kernel.spec.reductions(), elementsAt(corner)))
      if (dl::ReductionOp(op).getReduced() == operand)
        return element;
    llvm_unreachable("an operand of one of the reductions");
  });
  const Partial none = reductions->none(kernel.lanes);
  const size_t slots = none.size();
  SmallVector<Value> totals;
  for (int64_t chain = 0; chain < chains; ++chain)
    totals.append(none);
  auto add = [&](SmallVector<Value> &carried, int64_t chain, Value row, Value col) {
    ArrayRef<Value> total = ArrayRef(carried).slice(chain * slots, slots);
    Partial next = reductions->add(total, elementsAt(pointAt(band, row, col)), origins, {});
    llvm::copy(next, carried.begin() + chain * slots);
  };
  Value whole = e.add(first, e.mul(e.div(e.sub(last, first), chains), chains));
  totals = e.carry(e.constant(0), band.rows, 1, totals, [&](Value row, ValueRange carried) {
    auto ofRow = e.carry(first, whole, chains, carried, [&](Value col, ValueRange inner) {
      SmallVector<Value> next(inner);
      for (int64_t chain = 0; chain < chains; ++chain)
        add(next, chain, row, e.add(col, chain));
      return next;
    });
    return e.carry(whole, last, 1, ofRow, [&](Value col, ValueRange inner) {
      SmallVector<Value> next(inner);
      add(next, 0, row, col);
      return next;
    });
  });
  Partials ofChains;
  for (int64_t chain = 0; chain < chains; ++chain)
    ofChains.emplace_back(ArrayRef(totals).slice(chain * slots, slots));
  return reductions->finishTile(reductions->joinPairs(std::move(ofChains), 1).front(), origins);
}

void BandReducer::reduce(const Band &band) {
  if (!exists())
    return;
  // No chain gets long.
  const int64_t mostColumns = 256;
  e.loop(e.constant(0), band.cols, mostColumns, [&](Value first) {
    Value last = e.minimum(e.add(first, mostColumns), band.cols);
    Partial total = reduceColumns(band, first, last);
    Partial before = results->load(kernel, piece, band.channel, kernel.lanes);
    results->store(kernel, reductions->merge(before, total), piece, band.channel, kernel.lanes);
  });
}
