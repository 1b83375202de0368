//===- WinogradData.cpp - forward and backward data -------------------------------------------===//
//
// Two phases:
//   0  transforms the filter into the workspace: [point][panel][source channel][vectors * lanes];
//   1  for each (chunk of panels, block of tiles): transforms the source's tiles into
//      [point][tile panel][channel vector][part][row][lane], and for each panel multiplies them,
//      point by point, into [point][tile][vectors * lanes], transforms these back, transposes them
//      to rows of pixels, unless the target has blocks of channels, and writes them; where the
//      target's channels are phases of an image, these take turns in it.
//
// Where the chunks share tiles, a phase between them transforms the source's of all blocks, for all
// chunks, into the second workspace. Then the filter may be transformed in rounds, some panels at a
// time: both phases follow each other for each of them.
//
// Points are real numbers, or complex ones, whose parts are vectors beside each other in a panel.
//
// Matrices of different points stand a cache line more than their size apart, or all points of a
// tile would meet in one set of the cache.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Convolution/Convolution.h"
#include "codegen/CPU/Gemm/MicroKernel.h"
#include "codegen/CPU/Reduce/BandReducer.h"
#include "codegen/CPU/Winograd/Winograd.h"
#include "codegen/CPU/Winograd/WinogradTiles.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// Everything that both phases of a kernel agree on; in elements.
struct DataPlan {
  DataPlan(const ConvolutionProblem &problem, const WinogradSchedule &schedule, int64_t lanes)
      : problem(problem), geometry(problem), phased(withoutStrides(problem)),
        sizes(phased, schedule, lanes) {}

  const ConvolutionProblem &problem;
  DataGeometry geometry;     ///< with strides
  ConvolutionProblem phased; ///< without
  WinogradSizes sizes;

  bool isForward() const { return problem.direction == ConvolutionProblem::Direction::Forward; }
  /// Whether the target's pixels are those of phases in turn.
  bool hasTargetPhases() const { return geometry.targetStep[1] * geometry.targetStep[2] > 1; }
  /// The first row or column of a segment's source, from its place in the plane.
  int64_t firstPixel(unsigned axis) const {
    return isForward() ? -problem.padLow[axis] : phased.padLow[axis] - (phased.kernel[axis] - 1);
  }
  int64_t panelsOf(int64_t round) const {
    return std::min(sizes.roundPanels(), sizes.targetPanels - round * sizes.roundPanels());
  }
  int64_t chunksOf(int64_t round) const { return ceilDiv(panelsOf(round), sizes.schedule.panels); }
  /// Pieces of the reductions behind: of each chunk, where several may have phases of a channel.
  int64_t pieces() const {
    return sizes.blocks *
           (hasTargetPhases() ? ceilDiv(sizes.targetPanels, sizes.schedule.panels) : 1);
  }
  /// Of one tile panel: what a register tile reads.
  int64_t tilePanelElements() const {
    return sizes.sourceVectors * sizes.parts * sizes.schedule.rows * sizes.lanes;
  }
  /// Of a panel of the filter: cache lines of one source channel.
  int64_t filterLines() const { return ceilDiv(sizes.width, lineElements); }
  /// Of them, those that a call of the micro-kernel asks for, so that all of a block bring a panel.
  int64_t laterLines() const { return ceilDiv(filterLines(), sizes.fewestPanels()); }
  int64_t filterStride() const {
    return sizes.roundPanels() * sizes.sourceChannels * sizes.width + lineElements;
  }
  int64_t sourceStride() const { return sizes.tilePanels() * tilePanelElements() + lineElements; }
  int64_t productStride() const {
    return sizes.tilePanels() * sizes.schedule.rows * sizes.width + lineElements;
  }
  // Scratch: a segment of the source, of the target and of one channel each, a transform's numbers,
  // sources, products.
  int64_t gatherElements() const {
    return (sizes.lanes + sizes.sourceRows() * sizes.sourcePitch()) * sizes.lanes;
  }
  int64_t segmentElements() const {
    return sizes.schedule.tileRows * sizes.targetPitch() * sizes.lanes;
  }
  int64_t stageElements() const {
    return geometry.targetBlock > 1 ? 0 : sizes.lanes * sizes.targetPitch();
  }
  int64_t scratchElements() const {
    return gatherElements() + segmentElements() + stageElements() + sizes.bufferElements() +
           (sizes.schedule.sharesTiles ? 0 : blockElements()) + sizes.points * productStride();
  }
  /// Of a block's tiles.
  int64_t blockElements() const { return sizes.points * sourceStride(); }
  int64_t sharedElements() const {
    return sizes.schedule.sharesTiles ? sizes.blocks * blockElements() : 0;
  }
  /// Vectors of source channels that a task transforms where tiles are shared, and such tasks.
  int64_t sharedVectors() const {
    const int64_t wantedTasks = 32;
    return ceilDiv(sizes.sourceVectors, ceilDiv(wantedTasks, sizes.blocks));
  }
  int64_t sharedTasks() const {
    return sizes.blocks * ceilDiv(sizes.sourceVectors, sharedVectors());
  }
  /// Source channels that a task of phase 0 transforms: about 4k taps.
  int64_t filterChannels() const {
    return std::clamp<int64_t>(4096 / (sizes.width * sizes.highTaps * sizes.wideTaps), 1,
                               sizes.sourceChannels);
  }
};

/// One phase of a kernel.
class DataPhase : public WinogradPhase {
public:
  DataPhase(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
            ModuleOp module, StringRef name, const DataPlan &plan)
      : WinogradPhase(spec, target, module, name, 1 + plan.sizes.schedule.sharesTiles, plan.problem,
                      plan.sizes),
        plan(plan), geometry(plan.geometry),
        reducer(
            kernel, candidate,
            blockMap(geometry.batch, geometry.targetChannels, geometry.targetBlock, geometry.target)
                .shape) {}

  void transformFilter(int64_t round);
  void shareTiles();
  void compute(LLVM::LLVMFuncOp micro, int64_t round);
  LogicalResult reduced() const { return reducer.result; }

private:
  void readMixedTaps(const Source &filter, Value channel, Value firstTarget, Value taps);
  Value sharedBlock(Value number);
  void transformSources(const WinogradBlock &block, Value firstVector, Value lastVector);
  void clearRest(const WinogradBlock &block, Value firstVector, Value lastVector);
  void beginReductions(Value block, Value panel, Value panelEnd);
  void multiply(LLVM::LLVMFuncOp micro, Value panel, const WinogradBlock &block);
  void finishSegment(const WinogradSegment &segment, Value panel, Value vector);
  void prefetchSegment(const WinogradSegment &segment, Value firstChannel);
  /// The target's channel and phase of a channel without strides.
  PhaseChannel targetOf(Value channel);
  /// The target's row or column of one of a phase's plane; it may be outside.
  Value pixelOf(unsigned axis, Value pixel, Value phase);
  /// Of `count` rows or columns of a phase's plane from `pixel` on, the first that the target has,
  /// and the end of these.
  std::pair<Value, Value> within(unsigned axis, Value pixel, Value count, Value phase);
  SmallVector<Value> inBlock(ArrayRef<Value> place);
  void writePixels(const WinogradSegment &segment, Value firstChannel);
  void writeRows(const WinogradSegment &segment, Value firstChannel);
  Value panelsOf(Value tiles);
  /// Of tile number `tile` of the block.
  Value sourcePlace(Value channelVector, Value tile);

  const DataPlan &plan;
  const DataGeometry &geometry;
  Sink target;
  BandReducer reducer;
  Value gathered, pixels, stage, numbers, sources, products; ///< in the scratch
};

} // namespace

Candidate codegen::winogradDataCandidate(const ConvolutionProblem &problem,
                                         const WinogradSchedule &schedule,
                                         const CpuTarget &target) {
  DataPlan plan(problem, schedule, target.vectorBytes / 4);
  const WinogradSizes &sizes = plan.sizes;
  Candidate candidate;
  candidate.schedule = textOf(schedule);
  candidate.parameters = numbersOf(schedule);
  candidate.workspaceBytes = 4 * sizes.points * plan.filterStride();
  candidate.restBytes = 4 * plan.sharedElements();
  for (int64_t round = 0; round < sizes.rounds(); ++round) {
    const int64_t filterTasks =
        plan.panelsOf(round) * ceilDiv(sizes.sourceChannels, plan.filterChannels());
    candidate.phases.push_back(
        {uint64_t(filterTasks), uint64_t(4 * (sizes.tapElements() + sizes.bufferElements()))});
    candidate.phases.back().sideBytes =
        problem.filterBytes() / sizes.rounds() + candidate.workspaceBytes;
    if (schedule.sharesTiles && round == 0)
      candidate.phases.push_back({uint64_t(plan.sharedTasks()),
                                  uint64_t(4 * (plan.gatherElements() + sizes.bufferElements()))});
    candidate.phases.push_back(
        {uint64_t(plan.chunksOf(round) * sizes.blocks), uint64_t(4 * plan.scratchElements())});
  }
  candidate.bandPieces = plan.geometry.targetBlock > 1 ? plan.pieces() : 0;
  candidate.cost = winogradSeconds(problem, target, schedule);
  if (schedule.takesRounds) {
    // All kernels add what one round's passes through memory take. Those of the others cost less
    // than in one piece: measured on 512 channels of 7x7 pixels, 0.74 to 0.96 of the whole time.
    const double nearer = 0.8;
    candidate.cost += nearer * (memorySeconds(2 * double(sizes.filterPointBytes()), target) -
                                memorySeconds(2 * double(candidate.workspaceBytes), target));
    return candidate;
  }
  std::string form;
  llvm::raw_string_ostream(form) << dl::stringifyConvolutionAlgorithm(schedule.algorithm) << ' '
                                 << filterOrder(problem) << " tile " << schedule.tileRows << 'x'
                                 << schedule.tileCols << " vectors " << schedule.vectors
                                 << phaseOrder(problem);
  candidate.preparation = {/*operand=*/1, /*phases=*/1, std::move(form),
                           winogradFilterSeconds(problem, target, schedule)};
  return candidate;
}

//===------------------------------------------------------------------------------------------===//
// Phase 0: the filter
//===------------------------------------------------------------------------------------------===//

/// The filter is indexed (k, c, d, r, s).
void DataPhase::transformFilter(int64_t round) {
  Source filter = source(1, imageMap(problem.outChannels, problem.inChannels, problem.kernel));
  Value taps = kernel.scratch;
  numbers = e.at(taps, sizes.tapElements());
  const int64_t step = plan.filterChannels();
  const bool streams = e.streams(4 * sizes.points * plan.filterStride());
  SmallVector<Value> task =
      e.delinearize(kernel.task, {plan.panelsOf(round), ceilDiv(sizes.sourceChannels, step)});
  Value panel = e.add(task[0], round * sizes.roundPanels()), first = e.mul(task[1], step);
  Value last = e.minimum(e.add(first, step), e.constant(sizes.sourceChannels));
  e.loop(first, last, 1, [&](Value channel) {
    e.loop(sizes.channelVectorsOfPanel(), [&](Value vector) {
      Value lane = e.add(e.mul(panel, sizes.panelChannels()), e.mul(vector, e.lanes));
      Value mask = e.lanesBelow(e.sub(e.constant(sizes.targetChannels), lane));
      Value row = e.add(e.mul(task[0], sizes.sourceChannels), channel);
      Value place = e.at(kernel.workspace(),
                         e.add(e.mul(row, sizes.width), e.mul(vector, sizes.parts * e.lanes)));
      if (plan.hasTargetPhases() && geometry.targetBlock == 1) {
        readMixedTaps(filter, channel, lane, taps);
      } else {
        const PhaseChannel phase = phaseOf(plan.isForward() ? channel : lane);
        forTaps(taps, phase, /*clears=*/true, [&](Value high, Value wide, Value place) {
          e.storeAligned(filter.read({{plan.isForward() ? lane : channel, phase.channel,
                                       e.constant(0), high, wide},
                                      plan.isForward() ? 0u : 1u,
                                      1,
                                      mask}),
                         place);
        });
      }
      callToPoints(
          e, *transform, TileTransform::Side::Filter,
          {taps, sizes.wideTaps * e.lanes, place, plan.filterStride(), e.lanes, numbers, streams});
    });
  });
  if (streams)
    e.endStreams();
}

/// Those of a vector of target channels whose phases differ from lane to lane.
void DataPhase::readMixedTaps(const Source &filter, Value channel, Value firstTarget, Value taps) {
  e.loop(sizes.highTaps * sizes.wideTaps,
         [&](Value tap) { e.storeAligned(e.zeroVector(), e.at(taps, e.mul(tap, e.lanes))); });
  Value targets =
      e.minimum(e.constant(e.lanes), e.sub(e.constant(sizes.targetChannels), firstTarget));
  e.loop(e.constant(0), targets, 1, [&](Value lane) {
    const PhaseChannel phase = phaseOf(e.add(firstTarget, lane));
    forTaps(e.at(taps, lane), phase, /*clears=*/false, [&](Value high, Value wide, Value place) {
      Value tap = filter.read(
          {{channel, phase.channel, e.constant(0), high, wide}, 4, 1, e.lanesBelow(e.constant(1))});
      e.store(e.extractLane(tap, 0), place, e.constant(0));
    });
  });
}

//===------------------------------------------------------------------------------------------===//
// Phase 1: tiles
//===------------------------------------------------------------------------------------------===//

/// Panels that hold the first `tiles` tiles of a block.
Value DataPhase::panelsOf(Value tiles) {
  return e.div(e.add(tiles, schedule.rows - 1), schedule.rows);
}

/// Where all chunks find the tiles of a block.
Value DataPhase::sharedBlock(Value number) {
  return e.at(kernel.restWorkspace(), e.mul(number, plan.blockElements()));
}

/// A task transforms some vectors of channels of one block.
void DataPhase::shareTiles() {
  gathered = kernel.scratch;
  numbers = e.at(gathered, plan.gatherElements());
  const int64_t step = plan.sharedVectors();
  SmallVector<Value> task =
      e.delinearize(kernel.task, {sizes.blocks, ceilDiv(sizes.sourceVectors, step)});
  sources = sharedBlock(task[0]);
  const WinogradBlock block = decodeBlock(task[0]);
  Value first = e.mul(task[1], step);
  Value last = e.minimum(e.add(first, step), e.constant(sizes.sourceVectors));
  transformSources(block, first, last);
}

void DataPhase::compute(LLVM::LLVMFuncOp micro, int64_t round) {
  target = sink(imageOrBlockMap(geometry.batch, geometry.targetChannels, geometry.targetBlock,
                                geometry.target));
  gathered = kernel.scratch;
  pixels = e.at(gathered, plan.gatherElements());
  stage = e.at(pixels, plan.segmentElements());
  numbers = e.at(stage, plan.stageElements());
  products = e.at(numbers, sizes.bufferElements());
  // Tasks that follow each other read the same part of the filter.
  SmallVector<Value> task = e.delinearize(kernel.task, {plan.chunksOf(round), sizes.blocks});
  const WinogradBlock block = decodeBlock(task[1]);
  if (schedule.sharesTiles) {
    sources = sharedBlock(task[1]);
  } else {
    sources = e.at(products, sizes.points * plan.productStride());
    transformSources(block, e.constant(0), e.constant(sizes.sourceVectors));
  }
  const int64_t firstPanel = round * sizes.roundPanels();
  Value panel = e.add(e.mul(task[0], schedule.panels), firstPanel);
  Value panelEnd =
      e.minimum(e.add(panel, schedule.panels), e.constant(firstPanel + plan.panelsOf(round)));
  beginReductions(task[1], panel, panelEnd);
  e.loop(panel, panelEnd, 1, [&](Value panel) {
    multiply(micro, e.add(panel, -firstPanel), block);
    e.loop(sizes.channelVectorsOfPanel(), [&](Value vector) {
      forSegments(block,
                  [&](const WinogradSegment &segment) { finishSegment(segment, panel, vector); });
    });
  });
}

void DataPhase::beginReductions(Value block, Value panel, Value panelEnd) {
  if (plan.hasTargetPhases()) {
    Value chunk = e.div(panel, schedule.panels);
    return reducer.begin(e.add(e.mul(chunk, sizes.blocks), block), e.constant(0),
                         e.constant(geometry.targetChannels));
  }
  reducer.begin(
      block, e.mul(panel, sizes.panelChannels()),
      e.minimum(e.mul(panelEnd, sizes.panelChannels()), e.constant(sizes.targetChannels)));
}

Value DataPhase::sourcePlace(Value channelVector, Value tile) {
  Value panel = e.add(e.mul(e.div(tile, schedule.rows), sizes.sourceVectors), channelVector);
  Value row = e.add(e.mul(panel, sizes.parts * schedule.rows), e.rem(tile, schedule.rows));
  return e.at(sources, e.mul(row, e.lanes));
}

void DataPhase::transformSources(const WinogradBlock &block, Value firstVector, Value lastVector) {
  Source image = source(0, imageOrBlockMap(geometry.batch, geometry.sourceChannels,
                                           geometry.sourceBlock, geometry.source));
  WinogradTiles tiles{image,
                      sizes.sourceChannels,
                      geometry.sourceBlock,
                      geometry.source[1],
                      geometry.source[2],
                      sizes.sourceRows(),
                      sizes.sourcePitch(),
                      plan.firstPixel(1),
                      plan.firstPixel(2),
                      geometry.sourceStep,
                      TileTransform::Side::Source};
  // Where a point's tiles begin or end in a panel, others of it are multiplied with it as well.
  tiles.clears = true;
  tiles.endVector = lastVector;
  e.loop(firstVector, lastVector, 1, [&](Value vector) {
    forSegments(block, [&](const WinogradSegment &segment) {
      transformTiles(tiles, segment, vector, gathered, numbers, plan.sourceStride(),
                     schedule.rows * e.lanes,
                     [&](Value tile) { return sourcePlace(vector, tile); });
    });
  });
  clearRest(block, firstVector, lastVector);
}

/// Rows of the last tile panel that no tile fills: their products are not written, but must not be
/// slow.
void DataPhase::clearRest(const WinogradBlock &block, Value firstVector, Value lastVector) {
  e.loop(block.tiles, e.mul(panelsOf(block.tiles), schedule.rows), 1, [&](Value tile) {
    e.loop(firstVector, lastVector, 1, [&](Value vector) {
      Value place = sourcePlace(vector, tile);
      e.loop(sizes.points, [&](Value point) {
        for (int64_t part = 0; part < sizes.parts; ++part)
          e.storeAligned(e.zeroVector(), pointPlace(e, place, point, plan.sourceStride(), part,
                                                    schedule.rows * e.lanes));
      });
    });
  });
}

void DataPhase::multiply(LLVM::LLVMFuncOp micro, Value panel, const WinogradBlock &block) {
  SmallVector<int64_t> offsets;
  for (int64_t channel = 0; channel < sizes.sourceChannels; ++channel)
    offsets.push_back(channel / e.lanes * sizes.parts * schedule.rows * e.lanes +
                      channel % e.lanes);
  Value table = e.table("offsets", offsets), steps = e.constant(sizes.sourceChannels);
  Value fresh = e.number(0, e.b.getI1Type());
  e.loop(sizes.points, [&](Value point) {
    Value filter =
        e.add(e.mul(point, plan.filterStride()), e.mul(panel, sizes.sourceChannels * sizes.width));
    Value source = e.at(sources, e.mul(point, plan.sourceStride()));
    Value product = e.at(products, e.mul(point, plan.productStride()));
    const auto [firstTile, endTile] = tilesOf(block, point);
    Value first = e.div(firstTile, schedule.rows);
    e.loop(first, panelsOf(endTile), 1, [&](Value tiles) {
      Value from = e.at(source, e.mul(tiles, plan.tilePanelElements()));
      Value to = e.at(product, e.mul(tiles, schedule.rows * sizes.width));
      // The next point's panel comes from far away while this one is multiplied.
      const int64_t callElements = plan.laterLines() * sizes.sourceChannels * lineElements;
      const int64_t calls = ceilDiv(plan.filterLines(), plan.laterLines());
      Value call = e.minimum(e.sub(tiles, first), e.constant(calls - 1));
      Value later = e.add(e.add(filter, plan.filterStride()), e.mul(call, callElements));
      LLVM::CallOp::create(e.b, e.loc, micro,
                           ValueRange{from, e.at(kernel.workspace(), filter), table, steps, to,
                                      fresh, e.at(kernel.workspace(), later)});
    });
  });
}

/// Transforms the products of a segment's tiles for one vector of target channels.
void DataPhase::finishSegment(const WinogradSegment &segment, Value panel, Value vector) {
  const int64_t pitch = sizes.targetPitch();
  Value firstChannel = e.add(e.mul(panel, sizes.panelChannels()), e.mul(vector, e.lanes));
  prefetchSegment(segment, firstChannel);
  forTiles(segment, [&](Value tile, Value col, const TileTransform &transform) {
    Value from = e.add(e.mul(tile, sizes.width), e.mul(vector, sizes.parts * e.lanes));
    Value product = e.at(products, from);
    Value corner = e.at(pixels, e.mul(col, e.lanes));
    callToPixels(e, transform, TileTransform::Side::Target,
                 {corner, pitch * e.lanes, product, plan.productStride(), e.lanes, numbers});
  });
  if (geometry.targetBlock > 1)
    e.when(e.less(firstChannel, e.constant(sizes.targetChannels)),
           [&] { writePixels(segment, firstChannel); });
  else
    writeRows(segment, firstChannel);
}

PhaseChannel DataPhase::targetOf(Value channel) {
  return plan.isForward() ? PhaseChannel{channel, e.constant(0), e.constant(0)} : phaseOf(channel);
}

Value DataPhase::pixelOf(unsigned axis, Value pixel, Value phase) {
  const int64_t step = geometry.targetStep[axis];
  return e.add(e.mul(pixel, step), e.add(phase, -(problem.padLow[axis] % step)));
}

std::pair<Value, Value> DataPhase::within(unsigned axis, Value pixel, Value count, Value phase) {
  const int64_t step = geometry.targetStep[axis];
  Value zero = e.constant(0);
  if (step == 1)
    return {zero, count};
  Value first = pixelOf(axis, pixel, phase);
  Value left = e.sub(e.constant(geometry.target[axis] + step - 1), first);
  return {e.select(e.less(first, zero), e.constant(1), zero),
          e.minimum(count, e.div(e.maximum(left, zero), step))};
}

/// The lines of the target arrive while the products are transformed.
void DataPhase::prefetchSegment(const WinogradSegment &segment, Value firstChannel) {
  const bool blocks = geometry.targetBlock > 1;
  const int64_t colStep = geometry.targetStep[2];
  // Phases along a row share its lines.
  e.loop(e.constant(0), e.constant(blocks ? 1 : e.lanes), blocks ? 1 : colStep, [&](Value lane) {
    const PhaseChannel phase = targetOf(e.add(firstChannel, lane));
    for (int64_t row = 0; row < schedule.tileRows; ++row)
      for (int64_t col = 0; col < sizes.segmentCols() * colStep;
           col += blocks ? colStep : lineElements) {
        SmallVector<Value> place = {segment.image, phase.channel, e.constant(0),
                                    pixelOf(1, e.add(segment.row, row), phase.row),
                                    e.add(pixelOf(2, segment.col, phase.col), col)};
        target.prefetch(blocks ? inBlock(place) : place);
      }
  });
}

/// The indices of imageMap as those of blockMap.
SmallVector<Value> DataPhase::inBlock(ArrayRef<Value> place) {
  const int64_t block = geometry.targetBlock;
  return {place[0], e.div(place[1], block), e.rem(place[1], block), place[2], place[3], place[4]};
}

/// Vectors of channels go as they stand where the target has blocks of them.
void DataPhase::writePixels(const WinogradSegment &segment, Value firstChannel) {
  const PhaseChannel phase = targetOf(firstChannel);
  const auto [rows, cols] = extentsOf(segment);
  const auto [firstRow, endRow] = within(1, segment.row, rows, phase.row);
  const auto [firstCol, endCol] = within(2, segment.col, cols, phase.col);
  const int64_t pitch = sizes.targetPitch();
  auto placeOf = [&](Value row, Value col) -> SmallVector<Value> {
    return {segment.image, phase.channel, e.constant(0),
            pixelOf(1, e.add(segment.row, row), phase.row),
            pixelOf(2, e.add(segment.col, col), phase.col)};
  };
  e.loop(firstRow, endRow, 1, [&, firstCol = firstCol, endCol = endCol](Value row) {
    e.loop(firstCol, endCol, 1, [&](Value col) {
      Value pixel = e.add(e.mul(row, pitch), col);
      target.write(e.loadAligned(e.at(pixels, e.mul(pixel, e.lanes))),
                   {inBlock(placeOf(row, col)), 2, 1, {}});
    });
  });
  SmallVector<Value> corner = placeOf(firstRow, firstCol);
  Band band;
  band.image = segment.image;
  band.channel = phase.channel;
  band.depth = e.constant(0);
  band.row = corner[3];
  band.col = corner[4];
  band.rows = e.sub(endRow, firstRow);
  band.cols = e.sub(endCol, firstCol);
  band.rowStep = geometry.targetStep[1];
  band.colStep = geometry.targetStep[2];
  if (!plan.hasTargetPhases())
    return reducer.reduce(band);
  Value exists = e.both(e.less(firstRow, endRow), e.less(firstCol, endCol));
  e.when(exists, [&] { reducer.reduce(band); });
}

/// The planes of phases along a row as that row: vectors whose lanes take turns.
static SmallVector<Value> inTurns(PackEmitter &e, ArrayRef<Value> phases) {
  if (phases.size() == 1)
    return {phases[0]};
  SmallVector<Value> halves[2];
  for (size_t first : {0, 1}) {
    for (size_t i = first; i < phases.size(); i += 2)
      halves[first].push_back(phases[i]);
    halves[first] = inTurns(e, halves[first]);
  }
  SmallVector<Value> row;
  for (auto [even, odd] : llvm::zip_equal(halves[0], halves[1]))
    for (bool upper : {false, true})
      row.push_back(e.alternate(even, odd, upper));
  return row;
}

void DataPhase::writeRows(const WinogradSegment &segment, Value firstChannel) {
  const int64_t pitch = sizes.targetPitch(), turns = geometry.targetStep[2];
  Value zero = e.constant(0);
  const auto [rows, cols] = extentsOf(segment);
  Value channels =
      e.minimum(e.constant(e.lanes), e.sub(e.constant(sizes.targetChannels), firstChannel));
  Value end = e.minimum(pixelOf(2, e.add(segment.col, cols), zero), e.constant(geometry.target[2]));
  auto writeRow = [&, cols = cols](const PhaseChannel &phase, Value row, Value channel) {
    e.loop(zero, cols, e.lanes, [&](Value col) {
      SmallVector<Value> phases;
      for (int64_t i = 0; i < turns; ++i)
        phases.push_back(e.loadAligned(e.at(stage, e.add(e.mul(e.add(channel, i), pitch), col))));
      Value first = pixelOf(2, e.add(segment.col, col), zero);
      for (auto [i, value] : llvm::enumerate(inTurns(e, phases))) {
        Value place = e.add(first, int64_t(i) * e.lanes);
        auto write = [&, value = value](Value mask) {
          target.write(value, {{segment.image, phase.channel, zero, row, place}, 4, 1, mask});
        };
        Value left = e.sub(end, place);
        if (turns == 1)
          e.forLanes(left, write);
        else
          e.forLanes(e.sub(zero, place), left, write);
      }
    });
  };
  e.loop(zero, rows, 1, [&, cols = cols](Value row) {
    e.loop(zero, cols, e.lanes, [&](Value col) {
      Value pixel = e.add(e.mul(row, pitch), col);
      e.transpose(e.at(pixels, e.mul(pixel, e.lanes)), e.constant(e.lanes), e.at(stage, col),
                  e.constant(pitch));
    });
    e.loop(zero, channels, turns, [&](Value channel) {
      const PhaseChannel phase = targetOf(e.add(firstChannel, channel));
      Value place = pixelOf(1, e.add(segment.row, row), phase.row);
      if (geometry.targetStep[1] == 1)
        return writeRow(phase, place, channel);
      Value exists =
          e.both(e.less(e.constant(-1), place), e.less(place, e.constant(geometry.target[1])));
      e.when(exists, [&] { writeRow(phase, place, channel); });
    });
  });
}

LogicalResult codegen::emitWinogradData(const KernelSpec &spec, const Candidate &candidate,
                                        const CpuTarget &target, StringRef symbol, ModuleOp module,
                                        const ConvolutionProblem &problem) {
  const WinogradSchedule schedule = scheduleOf<WinogradSchedule>(candidate.parameters);
  DataPlan plan(problem, schedule, target.vectorBytes / 4);
  MicroTile micro;
  for (int64_t row = 0; row < schedule.rows; ++row)
    micro.rowOffsets.push_back(row * plan.sizes.lanes);
  micro.vectors = schedule.vectors;
  if (plan.sizes.parts == 2)
    micro.imaginary = schedule.rows * plan.sizes.lanes;
  micro.laterLines = plan.laterLines();
  LLVM::LLVMFuncOp function = fmaKernel().emit(module, target, Element::of(spec), micro);
  unsigned number = 0;
  auto emitPhase = [&](auto body) {
    DataPhase phase(spec, candidate, target, module, phaseSymbol(symbol, candidate, number++),
                    plan);
    body(phase);
    return success(succeeded(phase.finish()) && succeeded(phase.reduced()));
  };
  for (int64_t round = 0; round < plan.sizes.rounds(); ++round)
    if (failed(emitPhase([&](DataPhase &phase) { phase.transformFilter(round); })) ||
        (schedule.sharesTiles && round == 0 &&
         failed(emitPhase([](DataPhase &phase) { phase.shareTiles(); }))) ||
        failed(emitPhase([&](DataPhase &phase) { phase.compute(function, round); })))
      return failure();
  return emitLastPhases(spec, candidate, target, symbol, module);
}
