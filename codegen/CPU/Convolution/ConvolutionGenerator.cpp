//===- ConvolutionGenerator.cpp - the convolution family on the CPU ---------------------------===//
//
// Any float, any geometry, any body before and behind. Refuses empty tensors and bodies whose
// results cannot be written along the anchor's rows.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Convolution/Convolution.h"
#include "codegen/CPU/Convolution/Patches.h"
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Gemm/Gemm.h"
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/Reduce/BandReducer.h"
#include "codegen/CPU/Winograd/WinogradSchedule.h"
#include "codegen/Kernel/MinimalFiltering.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;
using Direction = ConvolutionProblem::Direction;

namespace {

class ConvolutionGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-convolution"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

//===------------------------------------------------------------------------------------------===//
// What both directions share
//===------------------------------------------------------------------------------------------===//

PackedPhase::IndexMap codegen::imageMap(int64_t outer, int64_t channels,
                                        const ConvolutionProblem::Spatial &spatial) {
  return PackedPhase::IndexMap::identity({outer, channels, spatial[0], spatial[1], spatial[2]});
}

PackedPhase::IndexMap codegen::blockMap(int64_t outer, int64_t channels, int64_t block,
                                        const ConvolutionProblem::Spatial &spatial) {
  return PackedPhase::IndexMap::identity(
      {outer, channels / block, block, spatial[0], spatial[1], spatial[2]});
}

PackedPhase::IndexMap codegen::imageOrBlockMap(int64_t outer, int64_t channels, int64_t block,
                                               const ConvolutionProblem::Spatial &spatial) {
  return block > 1 ? blockMap(outer, channels, block, spatial) : imageMap(outer, channels, spatial);
}

Value codegen::firstAt(PackEmitter &e, Value distance, int64_t step) {
  return step == 1 ? distance : e.div(e.maximum(e.add(distance, step - 1), e.constant(0)), step);
}

/// Calls `body` with the rows of a copy, and whether they lie in the tensor: `depth` and `top` are
/// the first one's.
static void forEachRow(PackEmitter &e, Value depth, Value top,
                       const ConvolutionProblem::Spatial &extents, int64_t rows, int64_t rowStep,
                       llvm::function_ref<void(Value row, bool exists)> body) {
  auto within = [&](Value index, Value low) {
    return e.maximum(e.minimum(index, e.constant(rows)), low);
  };
  Value zero = e.constant(0);
  Value first = within(firstAt(e, e.sub(zero, top), rowStep), zero);
  Value last = within(firstAt(e, e.sub(e.constant(extents[1]), top), rowStep), first);
  Value depthExists = e.both(e.less(e.constant(-1), depth), e.less(depth, e.constant(extents[0])));
  last = e.select(depthExists, last, first);
  e.loop(zero, first, 1, [&](Value row) { body(row, false); });
  e.loop(first, last, 1, [&](Value row) { body(row, true); });
  e.loop(last, e.constant(rows), 1, [&](Value row) { body(row, false); });
}

void codegen::copyBlocks(PackEmitter &e, const Source &source, ArrayRef<Value> corner,
                         int64_t channels, int64_t block,
                         const ConvolutionProblem::Spatial &extents, int64_t rows, int64_t pitch,
                         Value target, int64_t step, int64_t rowStep, int64_t numbers,
                         ArrayRef<Value> later) {
  Value zero = e.constant(0), end = e.constant(pitch);
  auto firstColumn = [&](int64_t column) {
    Value place = firstAt(e, e.sub(e.constant(column), corner[5]), step);
    return e.minimum(e.maximum(place, zero), end);
  };
  Value left = firstColumn(0), right = e.maximum(left, firstColumn(extents[2]));
  auto forEachVector = [&](Value row, Value first, Value last, auto vectorAt) {
    e.loop(first, last, 1, [&](Value col) {
      Value pixel = e.at(target, e.mul(e.add(e.mul(row, pitch), col), channels / numbers));
      for (int64_t lane = 0; lane < channels; lane += e.lanes) {
        Value to = e.at(pixel, lane / numbers);
        numbers == 1 ? e.storeAligned(vectorAt(col, lane), to)
                     : e.storeVector(vectorAt(col, lane), to, e.constant(0));
      }
    });
  };
  auto clear = [&](Value row, Value first, Value last) {
    Type element = numbers == 1 ? e.floatType() : e.element.stored;
    forEachVector(row, first, last,
                  [&](Value, int64_t) { return e.number(0, VectorType::get({e.lanes}, element)); });
  };
  forEachRow(e, corner[3], corner[4], extents, rows, rowStep, [&](Value row, bool exists) {
    if (!exists)
      return clear(row, zero, end);
    clear(row, zero, left);
    forEachVector(row, left, right, [&](Value col, int64_t lane) {
      auto placeFrom = [&](ArrayRef<Value> first) {
        const int64_t further = channels > block ? lane / block : 0;
        return Place{{first[0], e.add(first[1], further), e.add(first[2], lane - further * block),
                      first[3], e.add(first[4], e.mul(row, rowStep)),
                      e.add(first[5], e.mul(col, step))},
                     2,
                     1,
                     {}};
      };
      if (!later.empty() && source.address && lane % e.element.storedLine() == 0)
        source.prefetch(placeFrom(later).indices);
      const Place place = placeFrom(corner);
      return numbers == 1 ? source.read(place) : source.readStored(place);
    });
    clear(row, right, end);
  });
}

void codegen::copyTransposed(PackEmitter &e, const Source &source, ArrayRef<Value> corner,
                             const ConvolutionProblem::Spatial &extents, int64_t rows,
                             int64_t pitch, Value target, Value tile, int64_t step, int64_t turns) {
  Value zero = e.constant(0), lanes = e.constant(e.lanes);
  const int64_t plane = rows * pitch, turn = pitch / turns;
  auto clear = [&](Value first, Value last) {
    e.loop(first, last, 1,
           [&](Value pixel) { e.storeAligned(e.zeroVector(), e.at(tile, e.mul(pixel, e.lanes))); });
  };
  auto copyTurn = [&](Value row, Value number, bool exists) {
    e.loop(zero, e.constant(turn), e.lanes, [&](Value chunk) {
      // The last one overlaps the one before it.
      Value col = e.minimum(chunk, e.constant(turn - e.lanes));
      Value w = e.add(e.add(corner[5], number), e.mul(col, step));
      auto firstFrom = [&](int64_t column, Value least) {
        Value place = firstAt(e, e.sub(e.constant(column), w), step);
        return e.minimum(e.maximum(place, least), lanes);
      };
      Value left = zero, right = zero;
      if (exists)
        left = firstFrom(0, zero), right = firstFrom(extents[2], left);
      clear(zero, left);
      if (exists)
        e.loop(left, right, 1, [&](Value pixel) {
          const Place place{{corner[0], corner[1], corner[2], corner[3], e.add(corner[4], row),
                             e.add(w, e.mul(pixel, step))},
                            2,
                            1,
                            {}};
          e.storeAligned(source.read(place), e.at(tile, e.mul(pixel, e.lanes)));
        });
      clear(right, lanes);
      Value place = e.add(e.add(e.mul(row, pitch), e.mul(number, turn)), col);
      e.transpose(tile, lanes, e.at(target, place), e.constant(plane));
    });
  };
  forEachRow(e, corner[3], corner[4], extents, rows, /*rowStep=*/1, [&](Value row, bool exists) {
    e.loop(turns, [&](Value number) { copyTurn(row, number, exists); });
  });
}

/// What `source` has at `place`: zero where its index along `axis` is below `first`, or `extent` or
/// more.
static Value readWithin(PackEmitter &e, const Source &source, Place place, unsigned axis,
                        int64_t first, int64_t extent) {
  Value &number = place.indices[axis], least = e.constant(first);
  Value exists = e.both(e.less(e.add(least, -1), number), e.less(number, e.constant(extent)));
  number = e.maximum(e.minimum(number, e.constant(extent - 1)), least);
  Value vector = source.read(place);
  return e.select(exists, vector, e.zeroVector());
}

Source codegen::pairsOf(PackEmitter &e, const Source &single, const PairIndex &index) {
  auto at = [&e, index](ValueRange indices, int64_t from) {
    SmallVector<Value> moved(indices);
    moved[index.axis] = e.add(e.mul(moved[index.axis], index.step), from);
    return moved;
  };
  auto read = [&e, single, index, at](const Place &place, int64_t from, int64_t least) {
    Place there = place;
    there.indices = at(place.indices, from);
    const int64_t last = from + (index.places - 1) * index.step;
    return from >= least && last < index.extent
               ? single.read(there)
               : readWithin(e, single, there, index.axis, least, index.extent);
  };
  Source pairs;
  pairs.read = [&e, index, read](const Place &place) {
    Value even = read(place, index.first, 0);
    return e.pairUp(even, read(place, index.first + index.apart, index.secondFrom));
  };
  if (single.address)
    pairs.address = [single, index, at](ValueRange indices) {
      return single.address(at(indices, index.first));
    };
  return pairs;
}

Source codegen::tapRowsOf(PackEmitter &e, const Source &single, const ConvolutionProblem &p) {
  auto at = [&e, &p](ValueRange indices) {
    SmallVector<Value> place(indices);
    place[1] = e.div(indices[1], p.kernel[1]);
    Value tap = e.rem(indices[1], p.kernel[1]);
    place[3] =
        e.add(e.add(e.mul(indices[3], p.stride[1]), e.mul(tap, p.dilation[1])), -p.padLow[1]);
    return place;
  };
  Source rows;
  rows.read = [&e, &p, single, at](const Place &place) {
    Place there = place;
    there.indices = at(place.indices);
    return readWithin(e, single, there, 3, 0, p.input[1]);
  };
  if (single.address)
    rows.address = [single, at](ValueRange indices) { return single.address(at(indices)); };
  return rows;
}

void codegen::copyPlane(PackEmitter &e, const Source &source, ArrayRef<Value> corner,
                        const ConvolutionProblem::Spatial &extents, int64_t rows, int64_t pitch,
                        Value target, int64_t step, int64_t rowStep) {
  Value zero = e.constant(0);
  auto place = [&](Value row, Value chunk) {
    return e.at(target, e.add(e.mul(row, pitch), chunk));
  };
  auto clearRow = [&](Value row) {
    e.loop(zero, e.constant(pitch), e.lanes,
           [&](Value chunk) { e.storeUnaligned(e.zeroVector(), place(row, chunk)); });
  };
  const int64_t ahead = 4; // rows
  auto copy = [&](Value row, Value chunk, bool whole) {
    Value h = e.add(corner[3], e.mul(row, rowStep)), w = e.add(corner[4], e.mul(chunk, step));
    Value mask;
    if (!whole)
      mask = e.intersect(e.lanesFrom(firstAt(e, e.sub(zero, w), step)),
                         e.lanesBelow(firstAt(e, e.sub(e.constant(extents[2]), w), step)));
    if (source.address)
      e.prefetch(source.address({corner[0], corner[1], corner[2], e.add(h, ahead * rowStep), w}),
                 /*forWriting=*/false);
    Value vector = source.read({{corner[0], corner[1], corner[2], h, w}, 4, step, mask});
    e.storeUnaligned(vector, place(row, chunk));
  };
  // Chunks of whole vectors inside the image, where the columns are known.
  int64_t wholeBegin = 0, wholeEnd = 0;
  if (std::optional<int64_t> left = CodeEmitter::known(corner[4])) {
    auto chunkFrom = [&](int64_t column) {
      return column <= *left ? 0 : roundUp(ceilDiv(column - *left, step), e.lanes);
    };
    wholeBegin = std::min(chunkFrom(0), pitch);
    // Behind the last column that a vector may begin at.
    const int64_t end = extents[2] - (e.lanes - 1) * step;
    wholeEnd = std::clamp(std::min(chunkFrom(end), pitch / e.lanes * e.lanes), wholeBegin, pitch);
  }
  auto copyRow = [&](Value row) {
    e.loop(zero, e.constant(wholeBegin), e.lanes, [&](Value chunk) { copy(row, chunk, false); });
    e.loop(e.constant(wholeBegin), e.constant(wholeEnd), e.lanes,
           [&](Value chunk) { copy(row, chunk, true); });
    e.loop(e.constant(wholeEnd), e.constant(pitch), e.lanes,
           [&](Value chunk) { copy(row, chunk, false); });
  };
  forEachRow(e, corner[2], corner[3], extents, rows, rowStep,
             [&](Value row, bool exists) { exists ? copyRow(row) : clearRow(row); });
}

//===------------------------------------------------------------------------------------------===//
// Problems
//===------------------------------------------------------------------------------------------===//

/// As the op says.
static ConvolutionProblem geometryOf(Operation *op) {
  const auto form = dl::ConvolutionForm::get(op);
  const dl::ConvolutionGeometry &g = form.geometry;
  ConvolutionProblem p;
  p.direction = form.direction;
  p.batch = g.batch, p.groups = g.groups;
  p.inChannels = g.channels, p.outChannels = g.filters;
  p.input = g.ofThreeAxes(&dl::WindowAxis::input);
  p.output = g.ofThreeAxes(&dl::WindowAxis::output);
  p.kernel = g.ofThreeAxes(&dl::WindowAxis::kernel);
  p.stride = g.ofThreeAxes(&dl::WindowAxis::stride);
  p.dilation = g.ofThreeAxes(&dl::WindowAxis::dilation);
  p.padLow = g.ofThreeAxes(&dl::WindowAxis::low);
  return p;
}

/// The channels that a tensor [n][c][spatial...] keeps together behind all other axes; 1: none.
static int64_t channelBlock(RankedTensorType type) {
  auto layout = dyn_cast_or_null<program::LayoutAttr>(type.getEncoding());
  if (!layout || layout.getBlocks().size() != 2 || layout.getBlocks()[0] != 1 ||
      !(llvm::is_sorted(layout.getOrder()) || program::LayoutAttr::isBlockedLast(type)))
    return 1;
  const int64_t block = layout.getBlocks()[1];
  return block % lineElements == 0 && type.getDimSize(1) % block == 0 ? block : 1;
}

/// Whether an operand of the anchor is stored with its channels behind all pixels.
static bool isStoredLast(Value operand) {
  BlockArgument stored = operandAsStored(operand);
  return stored && program::LayoutAttr::isBlockedLast(cast<RankedTensorType>(stored.getType()));
}

/// The largest of the operands of its rank that `value`, an operand of the anchor, is computed
/// from.
static int64_t blockBefore(Value value) {
  const int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  llvm::SetVector<Value> all;
  all.insert(value);
  int64_t block = 1;
  for (size_t i = 0; i < all.size(); ++i) {
    auto type = cast<RankedTensorType>(all[i].getType());
    if (Operation *op = all[i].getDefiningOp())
      all.insert(op->operand_begin(), op->operand_end());
    else if (type.getRank() == rank)
      block = std::max(block, channelBlock(type));
  }
  return block;
}

/// The largest of the results behind the anchor.
static int64_t blockBehind(const KernelSpec &spec) {
  int64_t block = 1;
  for (unsigned number : resultsBehindAnchor(spec, true))
    block = std::max(block, channelBlock(spec.resultTypes()[number]));
  return block;
}

/// Fails where vectors of channels would cross groups, or the rows of taps that a filter's gradient
/// counts as channels: single elements are left to others.
static LogicalResult setBlocks(const KernelSpec &spec, ConvolutionProblem &p) {
  Value first = spec.anchorOp()->getOperand(0), second = spec.anchorOp()->getOperand(1);
  p.xBlock = p.direction == Direction::BackwardData ? blockBehind(spec) : blockBefore(first);
  p.yBlock = p.direction == Direction::Forward        ? blockBehind(spec)
             : p.direction == Direction::BackwardData ? blockBefore(first)
                                                      : blockBefore(second);
  p.xLast = p.direction != Direction::BackwardData && isStoredLast(first);
  p.yLast = p.direction == Direction::BackwardData
                ? isStoredLast(first)
                : p.direction == Direction::BackwardFilter && isStoredLast(second);
  const bool divides =
      p.inChannels / p.groups % p.xBlock == 0 && p.outChannels / p.groups % p.yBlock == 0;
  const bool tapsAreChannels = p.direction == Direction::BackwardFilter && p.kernel[0] > 1;
  return success((divides || p.isDepthwise()) && !(p.xBlock > 1 && tapsAreChannels));
}

/// The index space of the anchor's result, and the axis of it that vectors run along.
static std::pair<SmallVector<int64_t>, unsigned> resultSpace(const ConvolutionProblem &p) {
  if (p.direction == Direction::BackwardFilter)
    return {imageMap(p.outChannels, p.inChannels / p.groups, p.kernel).shape, 0};
  const bool forward = p.direction == Direction::Forward;
  const int64_t channels = forward ? p.outChannels : p.inChannels;
  const int64_t block = forward ? p.yBlock : p.xBlock;
  const ConvolutionProblem::Spatial &extents = forward ? p.output : p.input;
  if (block > 1)
    return {blockMap(p.batch, channels, block, extents).shape, 2};
  return {imageMap(p.batch, channels, extents).shape, 4};
}

std::optional<ConvolutionProblem> codegen::packedConvolution(const KernelSpec &spec) {
  if (spec.anchor() != Anchor::Convolution || !followsAnchor(spec) || !canWalkPrologueResults(spec))
    return std::nullopt;
  auto isEmpty = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements() == 0;
  };
  if (llvm::any_of(spec.anchorOp()->getOperands(), isEmpty))
    return std::nullopt;
  ConvolutionProblem p = geometryOf(spec.anchorOp());
  const Element element = Element::of(spec);
  p.storedBytes = element.storedBytes(), p.elementBytes = element.bytes();
  p.storedPrecision = cast<FloatType>(element.stored).getFPMantissaWidth();
  if (std::max(p.input[2], p.output[2]) > mostPlacesOfRow || failed(setBlocks(spec, p)))
    return std::nullopt;
  if (p.direction != Direction::BackwardData)
    p.imageWeight = operandWeight(spec.anchorOp()->getOperand(0));
  const auto [space, axis] = resultSpace(p);
  if (!isVectorAxis(spec, space, axis))
    return std::nullopt;
  // Bands are of blocks of channels.
  if (spec.hasReductionsBehind() &&
      (axis != 2 || p.direction == Direction::BackwardFilter || !canReduceBands(spec, space)))
    return std::nullopt;
  // The pixels of a pointwise convolution are one long row, where sums are over them or where they
  // are not vectors' lanes.
  if (isPointwise(p) && product(p.input) <= mostPlacesOfRow &&
      (p.direction == Direction::BackwardFilter || (p.xBlock > 1 && p.yBlock > 1)))
    p.input = p.output = {1, 1, product(p.input)};
  return p;
}

/// The product that the filter's gradient is of a pointwise convolution without groups: input
/// channels are columns, images terms of the sum over pixels.
static GemmProblem filterProduct(const KernelSpec &spec, const ConvolutionProblem &p) {
  GemmProblem g;
  g.element = Element::of(spec);
  g.m = p.outChannels;
  g.n = p.inChannels;
  g.k = product(p.input);
  g.terms = p.batch;
  g.a = 1, g.b = 0;
  g.columnsContiguousB = false;
  g.weightB = p.imageWeight;
  g.mapA = PackedPhase::IndexMap::identity({g.terms, g.m, g.k});
  g.mapB = {{g.terms, g.n, g.k}, {0, 2, 1}, /*wraps=*/false};
  g.mapC = PackedPhase::IndexMap::identity({1, g.m, g.n});
  return g;
}

/// The product that a pointwise convolution is. In its data directions pixels are columns, images
/// and groups batches.
static GemmProblem pointwiseProduct(const KernelSpec &spec, const ConvolutionProblem &p) {
  if (p.direction == Direction::BackwardFilter)
    return filterProduct(spec, p);
  const bool forward = p.direction == Direction::Forward;
  const int64_t in = p.inChannels / p.groups, out = p.outChannels / p.groups;
  GemmProblem g;
  g.element = Element::of(spec);
  g.batch = p.batch * p.groups;
  g.m = forward ? out : in;
  g.k = forward ? in : out;
  g.n = product(p.input);
  g.a = 1, g.b = 0;
  g.rowsContiguousA = !forward; // the filter is [group][out][in]
  g.columnsContiguousB = true;
  g.weightB = p.imageWeight;
  g.mapA = {{p.groups, out, in}, {0, forward ? 1u : 2u, forward ? 2u : 1u}, /*wraps=*/true};
  g.mapB = PackedPhase::IndexMap::identity({g.batch, g.k, g.n});
  g.mapC = PackedPhase::IndexMap::identity({g.batch, g.m, g.n});
  g.weights = GemmProblem::Operand::A;
  return g;
}

bool codegen::isPixelProduct(const KernelSpec &spec, const ConvolutionProblem &p) {
  return isPointwise(p) && !p.hasBlocks() &&
         (p.direction != Direction::BackwardFilter || p.groups == 1) &&
         isVectorAxis(spec, pointwiseProduct(spec, p).mapC.shape, 2);
}

//===------------------------------------------------------------------------------------------===//
// Generator
//===------------------------------------------------------------------------------------------===//

/// Whether two channels of a row-major source become one plane of pairs. A filter has the last one
/// without its neighbour only forward, where its taps end a row.
static bool canPairPlanes(const DataGeometry &geometry, const MicroKernel &kernel, bool forward) {
  const bool complete = geometry.channels % 2 == 0;
  return !kernel.inGroups() && !geometry.isSampling() &&
         (complete || (forward && geometry.groups == 1 && geometry.channels > 1));
}

/// Whether pairs of channels would lack a neighbour that rows of taps have.
static bool fillsPairsByRows(const ConvolutionProblem &p) {
  return p.direction == Direction::Forward && DataGeometry(p).isFlat() && p.groups == 1 &&
         p.xBlock == 1 && p.inChannels % 2 != 0 && p.kernel[1] > 1;
}

bool codegen::computesOperands(const KernelSpec &spec) {
  return !llvm::all_of(spec.anchorOp()->getOperands(), operandAsStored);
}

static SmallVector<Candidate> directCandidates(const KernelSpec &spec, const ConvolutionProblem &p,
                                               const CpuTarget &target) {
  const MachineModel machine(target, p.elementBytes);
  const Element element = Element::of(spec);
  // What is widened is copied.
  auto isStored = [&](unsigned operand, const MicroKernel &kernel) {
    return kernel.formatA(element).element == element.stored &&
           operandAsStored(spec.anchorOp()->getOperand(operand)) != nullptr;
  };
  SmallVector<Candidate> all;
  if (p.direction == Direction::BackwardFilter) {
    for (const MicroKernel *kernel : microKernels(element, target)) {
      if (kernel->step() > p.batch && (kernel->inGroups() || p.output[1] == 1))
        continue;
      const ConvolutionProblem problem = filterProblem(p, *kernel);
      // A group's pixels follow each other in a row, in whose turns only blocks are copied.
      if (kernel->inGroups() && p.stride[2] > 1 && p.xBlock == 1)
        continue;
      // Of several images a place is put together.
      const bool storesGradient =
          kernel->step() == 1 && p.yBlock == lineElements && isStored(1, *kernel);
      const bool inPlace =
          p.xBlock == lineElements && storesGradient && isStored(0, *kernel) && hasSingleTap(p);
      for (const FilterSchedule &schedule :
           chooseFilterSchedules(problem, machine, inPlace, storesGradient && !inPlace, *kernel))
        if (std::optional<Candidate> candidate =
                filterCandidate(p, schedule, target, computesOperands(spec)))
          all.push_back(std::move(*candidate));
    }
    return all;
  }
  auto rowsAreOne = [&] {
    SmallVector<int64_t> rows = resultSpace(p).first;
    rows[4] *= rows[3];
    rows[3] = 1;
    return isVectorAxis(spec, rows, 4);
  };
  for (const MicroKernel *kernel : microKernels(element, target)) {
    auto add = [&](const DataGeometry &geometry, bool inPlace, bool rowsAsChannels) {
      const bool severalRows = geometry.targetBlock > 1 || rowsAreOne();
      for (DataSchedule &schedule :
           chooseDataSchedules(geometry, machine, severalRows, inPlace, *kernel)) {
        schedule.rowsAsChannels = rowsAsChannels;
        if (std::optional<Candidate> candidate = dataCandidate(p, schedule, target))
          all.push_back(std::move(*candidate));
      }
    };
    if (kernel->step() > 1 && fillsPairsByRows(p)) {
      const DataGeometry rows(tapRowsProblem(p), kernel->step(), kernel->group());
      if (canPairPlanes(rows, *kernel, /*forward=*/true))
        add(rows, /*inPlace=*/false, /*rowsAsChannels=*/true);
    }
    // What stands together are channels of a block, a place or a group of them.
    const int64_t together = kernel->step() * kernel->group();
    const DataGeometry geometry(p, kernel->step(), kernel->group());
    if (kernel->step() > 1 &&
        (p.sourceBlock() == 1 ? !canPairPlanes(geometry, *kernel, p.direction == Direction::Forward)
                              : geometry.channels % together != 0))
      continue;
    const bool inPlace = geometry.sourceBlock > 1 && geometry.targetBlock > 1 &&
                         isStored(0, *kernel) && geometry.isInside() &&
                         (kernel->group() == 1 || p.sourceLast());
    add(geometry, inPlace, /*rowsAsChannels=*/false);
  }
  return all;
}

SmallVector<Candidate> ConvolutionGenerator::candidates(const KernelSpec &spec,
                                                        const CpuTarget &target) const {
  std::optional<ConvolutionProblem> known = packedConvolution(spec);
  if (!known)
    return {};
  const ConvolutionProblem &p = *known;
  // A panel's channels are a group's: those of a block that each is one are Depthwise.h's.
  if (p.isDepthwise() && p.hasBlocks())
    return {};
  SmallVector<Candidate> all;
  if (isPixelProduct(spec, p))
    all = gemmCandidates(pointwiseProduct(spec, p), target);
  for (Candidate &candidate : all)
    candidate.algorithm = ConvolutionAlgorithm::Gemm;
  for (const Candidate &candidate : directCandidates(spec, p, target)) {
    all.push_back(candidate);
    all.back().algorithm = ConvolutionAlgorithm::Direct;
  }
  for (Candidate &candidate : all)
    finishCandidate(spec, target, candidate);
  return all;
}

LogicalResult ConvolutionGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                         const CpuTarget &target, StringRef symbol,
                                         ModuleOp module) const {
  const ConvolutionProblem p = *packedConvolution(spec);
  if (StringRef(candidate.schedule).starts_with("gemm"))
    return emitGemm(spec, candidate, target, symbol, module, pointwiseProduct(spec, p));
  if (p.direction == Direction::BackwardFilter)
    return emitFilterConvolution(spec, candidate, target, symbol, module, p);
  return emitDataConvolution(spec, candidate, target, symbol, module, p);
}

std::string codegen::convolutionRefusal(const KernelSpec &spec, ConvolutionAlgorithm algorithm,
                                        const CpuTarget &target) {
  std::optional<ConvolutionProblem> p = packedConvolution(spec);
  if (!p)
    return cpuRefusal(spec);
  std::string refusal;
  switch (algorithm) {
  case ConvolutionAlgorithm::Heuristic:
  case ConvolutionAlgorithm::Direct:
    return "";
  case ConvolutionAlgorithm::Gemm:
    refusal = patchesRefusal(*p, target);
    return refusal.empty() ? "what is fused around it needs single elements" : refusal;
  case ConvolutionAlgorithm::FFT: {
    refusal = fourierRefusal(*p);
    if (refusal.empty() && target.isStrict())
      return spreadsRefusal.str();
    return refusal.empty() ? "its transforms need too much memory" : refusal;
  }
  case ConvolutionAlgorithm::Winograd:
    break;
  }
  refusal = winogradRefusal(*p);
  if (refusal.empty() && target.isStrict())
    refusal = strictRefusal(*p);
  return refusal.empty() ? "its transforms need too much memory" : refusal;
}

std::unique_ptr<CpuGenerator> codegen::createConvolutionGenerator() {
  return std::make_unique<ConvolutionGenerator>();
}
