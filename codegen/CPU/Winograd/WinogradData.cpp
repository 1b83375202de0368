//===- WinogradData.cpp - forward and backward data -------------------------------------------===//
//
// Two phases:
//   0  transforms the filter into the workspace: [point][panel][source channel][vectors * lanes];
//   1  for each (chunk of panels, block of tiles): transforms the source's tiles into
//      [point][tile panel][channel vector][part][row][lane], and for each panel multiplies them,
//      point by point, into [point][tile][vectors * lanes], transforms these back, transposes them
//      to rows of pixels, unless the target has blocks of channels, and writes them.
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
      : problem(problem), geometry(problem), sizes(withoutStrides(problem), schedule, lanes) {}

  const ConvolutionProblem &problem;
  DataGeometry geometry;
  WinogradSizes sizes;

  int64_t panelsOf(int64_t round) const {
    return std::min(sizes.roundPanels(), sizes.targetPanels - round * sizes.roundPanels());
  }
  int64_t chunksOf(int64_t round) const { return ceilDiv(panelsOf(round), sizes.schedule.panels); }
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
        reducer(kernel, candidate,
                blockMap(geometry.batch, plan.sizes.targetChannels, geometry.targetBlock,
                         geometry.target)
                    .shape) {}

  void transformFilter(int64_t round);
  void shareTiles();
  void compute(LLVM::LLVMFuncOp micro, int64_t round);
  LogicalResult reduced() const { return reducer.result; }

private:
  Value sharedBlock(Value number);
  void transformSources(const WinogradBlock &block, Value firstVector, Value lastVector);
  void clearRest(const WinogradBlock &block, Value firstVector, Value lastVector);
  void multiply(LLVM::LLVMFuncOp micro, Value panel, const WinogradBlock &block);
  void finishSegment(const WinogradSegment &segment, Value panel, Value vector);
  void prefetchSegment(const WinogradSegment &segment, Value firstChannel);
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
  candidate.bandPieces = plan.geometry.targetBlock > 1 ? sizes.blocks : 0;
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

/// The filter is indexed (k, c, d, r, s); its taps stand in ascending order of their offsets.
void DataPhase::transformFilter(int64_t round) {
  const bool forward = problem.direction == ConvolutionProblem::Direction::Forward;
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
      auto tap = [&](unsigned axis, Value number) {
        return forward ? number : e.sub(e.constant(problem.kernel[axis] - 1), number);
      };
      const PhaseChannel phase = phaseOf(channel);
      forTaps(taps, phase, /*clears=*/true, [&](Value high, Value wide, Value place) {
        Value read = filter.read({{forward ? lane : phase.channel, forward ? phase.channel : lane,
                                   e.constant(0), tap(1, high), tap(2, wide)},
                                  forward ? 0u : 1u,
                                  1,
                                  mask});
        e.storeAligned(read, place);
      });
      callToPoints(
          e, *transform, TileTransform::Side::Filter,
          {taps, sizes.wideTaps * e.lanes, place, plan.filterStride(), e.lanes, numbers, streams});
    });
  });
  if (streams)
    e.endStreams();
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
  target = sink(
      imageOrBlockMap(geometry.batch, sizes.targetChannels, geometry.targetBlock, geometry.target));
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
  reducer.begin(
      task[1], e.mul(panel, sizes.panelChannels()),
      e.minimum(e.mul(panelEnd, sizes.panelChannels()), e.constant(sizes.targetChannels)));
  e.loop(panel, panelEnd, 1, [&](Value panel) {
    multiply(micro, e.add(panel, -firstPanel), block);
    e.loop(sizes.channelVectorsOfPanel(), [&](Value vector) {
      forSegments(block,
                  [&](const WinogradSegment &segment) { finishSegment(segment, panel, vector); });
    });
  });
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
                      geometry.dimension(0, 1).minOffset(),
                      geometry.dimension(0, 2).minOffset(),
                      problem.stride,
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

/// The lines of the target arrive while the products are transformed.
void DataPhase::prefetchSegment(const WinogradSegment &segment, Value firstChannel) {
  const int64_t block = geometry.targetBlock;
  e.loop(block > 1 ? 1 : e.lanes, [&](Value lane) {
    Value channel = e.add(firstChannel, lane);
    for (int64_t row = 0; row < schedule.tileRows; ++row)
      for (int64_t col = 0; col < sizes.segmentCols(); col += block > 1 ? 1 : lineElements) {
        SmallVector<Value> place = {segment.image, channel, e.constant(0), e.add(segment.row, row),
                                    e.add(segment.col, col)};
        target.prefetch(block > 1 ? inBlock(place) : place);
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
  const auto [rows, cols] = extentsOf(segment);
  const int64_t pitch = sizes.targetPitch();
  e.loop(e.constant(0), rows, 1, [&](Value row) {
    e.loop(e.constant(0), cols, 1, [&](Value col) {
      Value pixel = e.add(e.mul(row, pitch), col);
      target.write(e.loadAligned(e.at(pixels, e.mul(pixel, e.lanes))),
                   {inBlock({segment.image, firstChannel, e.constant(0), e.add(segment.row, row),
                             e.add(segment.col, col)}),
                    2,
                    1,
                    {}});
    });
  });
  reducer.reduce(
      {segment.image, firstChannel, e.constant(0), segment.row, segment.col, rows, cols});
}

void DataPhase::writeRows(const WinogradSegment &segment, Value firstChannel) {
  const int64_t pitch = sizes.targetPitch();
  Value zero = e.constant(0);
  const auto [rows, cols] = extentsOf(segment);
  Value channels =
      e.minimum(e.constant(e.lanes), e.sub(e.constant(sizes.targetChannels), firstChannel));
  e.loop(zero, rows, 1, [&](Value row) {
    e.loop(zero, cols, e.lanes, [&](Value col) {
      Value pixel = e.add(e.mul(row, pitch), col);
      e.transpose(e.at(pixels, e.mul(pixel, e.lanes)), e.constant(e.lanes), e.at(stage, col),
                  e.constant(pitch));
    });
    e.loop(zero, channels, 1, [&](Value channel) {
      e.loop(zero, cols, e.lanes, [&](Value col) {
        Value value = e.loadAligned(e.at(stage, e.add(e.mul(channel, pitch), col)));
        e.forLanes(e.sub(cols, col), [&](Value mask) {
          target.write(value, {{segment.image, e.add(firstChannel, channel), zero,
                                e.add(segment.row, row), e.add(segment.col, col)},
                               4,
                               1,
                               mask});
        });
      });
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
