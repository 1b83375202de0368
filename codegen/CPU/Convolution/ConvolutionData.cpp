//===- ConvolutionData.cpp - forward and backward data ----------------------------------------===//
//
// Two phases:
//   0  packs the filter into panels [phase][group][panel][source channel][tap][vectors * lanes], or
//      by rows of taps within each block of channels (DataPlan::skipsRows), in the workspace,
//      unless tasks of the other pack the panels that they need into their scratch;
//   1  for each (image, group, band of pixels of a row phase, or of all phases where one alone has
//      taps, chunk of panels): copies the source block with its zero border, or of a sampling
//      geometry tile by tile, runs the micro-kernel over strips of tiles of each column phase,
//      transposes each finished strip to channel-major rows and writes them, the columns of two
//      phases in turn.
//
// Of a source in blocks of channels the copy has such blocks, too, or there is none. A target in
// blocks is written tile by tile, vectors of channels as they stand in the accumulators, by the
// micro-kernel where it can. Where the micro-kernel multiplies pairs, those are neighbours among
// the channels of a block: source channels are counted in places, copied as they are stored, and
// put together in the panels. Of an odd number of row-major channels, rows of taps may be channels
// (tapRowsProblem).
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Convolution/Convolution.h"
#include "codegen/CPU/Convolution/FilterPanels.h"
#include "codegen/CPU/Reduce/BandReducer.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// The phase that computes.
class DataPhase : public FilterPanels {
public:
  DataPhase(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
            ModuleOp module, StringRef name, const DataPlan &plan, LLVM::LLVMFuncOp micro,
            bool stores)
      : FilterPanels(spec, target, module, name, candidate.workspaceBytes > 0, plan), micro(micro),
        stores(stores), reducer(kernel, candidate,
                                blockMap(geometry.batch, geometry.groups * geometry.targetChannels,
                                         geometry.targetBlock, geometry.target)
                                    .shape) {}

  void compute();
  LogicalResult reduced() const { return reducer.result; }

private:
  /// Coordinates of a task; the phase is the first of a row phase, of the sole one's where there is
  /// one.
  struct Task {
    Value phase, image, group, depth, row, col, panel, panelEnd;
    Value piece; ///< of the pixels of its channels
  };
  /// A block of source channels: all tiles of a task sum over it before they do over the next.
  struct ChannelBlock {
    Value first, count;
    Value continues, isLast; ///< whether sums begin before it, and whether they end with it
    Panels panels;           ///< of the filter
  };
  /// A register tile of a phase: number `row`, `col` of the task's.
  struct Tile {
    Value phase, panel, row, col;
    int64_t column; ///< number of the phase's columns
  };
  /// First and last row or column, in the phase, that a tile is to write, and the one that it
  /// begins with.
  struct TileRange {
    Value start, first, last;
  };
  /// A strip is what a row of tiles of all column phases has computed of a channel: pixels that
  /// follow each other in the target, where the phases take turns. `pixels` are those of the
  /// largest phase, `width` those of all.
  struct Strip {
    Value depth, row, col, width, pixels;
  };

  Task decode(Value number);
  SmallVector<Task> rowPhasesOf(const Task &task);
  Value columnPhase(const Task &task, int64_t number) { return e.add(task.phase, number); }
  /// Without any, a phase is zero, and has no accumulators.
  Value hasTaps(Value phase) { return e.less(e.constant(0), field(phase, Taps)); }
  // The source.
  Value depthOf(const Task &task, Value slice);
  std::pair<Value, Value> storedChannel(Value place);
  Value sourceAt(const Task &task, Value firstChannel);
  void copySource(const Task &task, const ChannelBlock &channels);
  void copyTiles(const Task &task, const ChannelBlock &channels);
  Value copiedTile(Value row, Value col);
  // Tiles.
  Value rowsOfTiles(const Task &task);
  Value colsOfTiles(const Task &task, const Tile &tile);
  TileRange tileRange(Value first, Value count, int64_t box);
  TileRange rowsOf(const Task &task, const Tile &tile);
  TileRange colsOf(const Task &task, const Tile &tile);
  Value sourceOf(const Task &task, const Tile &tile);
  std::pair<Value, Value> rowsOfTaps(const Task &task, const Tile &tile);
  Value laterOf(const Task &task, Tile tile);
  Value numberOf(const Tile &tile);
  Value laterPanel(const Task &task, const ChannelBlock &channels, const Tile &tile);
  Value storesTile(const Task &task, const ChannelBlock &channels, const Tile &tile);
  void prefetchNext(const Task &task, const ChannelBlock &channels, const Tile &tile);
  void multiply(const Task &task, const ChannelBlock &channels, const Tile &tile, Value slot,
                Value isStored);
  Value hasSums(const Task &task, const Tile &tile);
  void runRow(const Task &task, const ChannelBlock &channels, SmallVector<Tile> tiles, Value acc);
  void runTile(const Task &task, const ChannelBlock &channels, const Tile &tile, Value slot);
  SmallVector<Tile> tilesBesideSole(Value panel, Value row);
  void runStrip(const Task &task, const ChannelBlock &channels, Value panel, Value row);
  void runTiles(const Task &task, const ChannelBlock &channels);
  // The target.
  SmallVector<Value> targetOf(const Task &task, const Tile &tile, std::pair<Value, Value> pixel,
                              int64_t lane);
  void forEachVector(const Task &task, const Tile &tile, int64_t step,
                     llvm::function_ref<void(Value place, ValueRange indices)> body);
  void prefetchTile(const Task &task, const Tile &tile);
  void writeTile(const Task &task, const Tile &tile, Value acc);
  void finishTile(const Task &task, const Tile &tile, Value acc);
  void reduceStrip(const Task &task, Value panel, Value row);
  Strip stripOf(const Task &task, Value row);
  void stageStrip(const Task &task, const Strip &strip, Value lane, Value acc);
  void finishStrip(const Task &task, Value panel, Value row, Value acc);
  void writeChannel(const Task &task, const Strip &strip, Value channel, Value staged);

  LLVM::LLVMFuncOp micro;
  const bool stores; ///< whether it knows MicroTile::targetOffsets
  const std::optional<int64_t> sole = geometry.solePhase();
  Source image;
  Sink target;
  BandReducer reducer;
  Value stage, block, panelBuffer, accumulators; ///< in the scratch
};

} // namespace

ConvolutionProblem codegen::tapRowsProblem(const ConvolutionProblem &p) {
  ConvolutionProblem rows = p;
  rows.inChannels = p.inChannels * p.kernel[1];
  rows.input[1] = p.output[1];
  rows.kernel[1] = rows.stride[1] = rows.dilation[1] = 1;
  rows.padLow[1] = 0;
  return rows;
}

std::optional<Candidate> codegen::dataCandidate(const ConvolutionProblem &stored,
                                                const DataSchedule &schedule,
                                                const CpuTarget &target) {
  const MachineModel machine(target, stored.elementBytes);
  DataPlan plan(stored, schedule, machine.lanes);
  const ConvolutionProblem &problem = plan.problem;
  if (!plan.fitsTables())
    return std::nullopt;
  Candidate candidate;
  candidate.schedule = textOf(schedule);
  candidate.parameters = numbersOf(schedule);
  uint64_t scratch = plan.stageElements() + plan.sourceElements() + plan.packingElements() +
                     plan.accumulatorElements();
  if (!schedule.packsInTask) {
    candidate.workspaceBytes = problem.elementBytes * std::max(plan.packedElements, plan.width);
    candidate.phases.push_back(
        {uint64_t(plan.packTasks()), uint64_t(problem.elementBytes * plan.packElements())});
    candidate.phases.back().sideBytes = problem.filterBytes() + candidate.workspaceBytes;
    std::string form =
        "direct " + filterOrder(problem) + " vectors " + std::to_string(schedule.vectors) +
        schedule.kernel->suffix() +
        (plan.skipsRows() ? " blocks of " + std::to_string(schedule.channelBlock) : "") +
        (schedule.rowsAsChannels ? " rows" : "");
    candidate.preparation = {/*operand=*/1, /*phases=*/1, std::move(form), /*seconds=*/0};
  }
  candidate.phases.push_back({uint64_t(plan.computeTasks()), problem.elementBytes * scratch});
  candidate.bandPieces = plan.writesTiles() ? plan.pieces() : 0;
  // tileSeconds leaves room for packing and copying.
  const double withoutCopy = 0.87, share = schedule.inPlace ? withoutCopy : 1;
  candidate.cost = tileSeconds(share * dataCycles(plan.geometry, machine, schedule) +
                                   sourceCycles(plan.geometry, machine, schedule),
                               machine);
  const double copied =
      double(plan.computeTasks() * plan.blocks() * plan.sourceElements() * plan.geometry.numbers);
  candidate.cost += tileSeconds(problem.imageCycles() * copied / double(machine.lanes), machine);
  if (schedule.rowsAsChannels) // a row of x is read for each tap that meets it
    candidate.cost += tileSeconds(3 * copied / double(machine.lanes), machine);
  if (schedule.inPlace)
    candidate.cost -= hiddenSeconds(candidate.cost, double(problem.imageBytes()), target);
  return candidate;
}

DataPhase::Task DataPhase::decode(Value number) {
  SmallVector<int64_t> grid = {geometry.taskPhases(), geometry.groups, geometry.batch,
                               geometry.maxCount(0),  plan.rowBands(), plan.colBands()};
  const size_t chunks = plan.chunksLast() ? grid.size() : 1;
  grid.insert(grid.begin() + chunks, plan.chunks());
  SmallVector<Value> place = e.delinearize(number, grid);
  Value chunk = place[chunks];
  place.erase(place.begin() + chunks);
  Task task;
  const int64_t columns = geometry.columnPhases();
  task.phase = sole ? e.constant(*sole / columns * columns) : e.mul(place[0], columns);
  task.panel = e.mul(chunk, schedule.panels);
  task.panelEnd = e.minimum(e.add(task.panel, schedule.panels), e.constant(plan.panels));
  // All coordinates but the group and the panels.
  task.piece = place[0];
  for (size_t i = 2; i < place.size(); ++i)
    task.piece = e.add(e.mul(task.piece, grid[i < chunks ? i : i + 1]), place[i]);
  task.group = place[1], task.image = place[2], task.depth = place[3];
  task.row = e.mul(place[4], schedule.bandRows * schedule.boxRows);
  task.col = e.mul(place[5], schedule.bandCols * schedule.boxCols);
  return task;
}

/// The task for each of its row phases: itself, or all where one phase is the sole one.
SmallVector<DataPhase::Task> DataPhase::rowPhasesOf(const Task &task) {
  if (!sole)
    return {task};
  SmallVector<Task> tasks(geometry.rowPhases(), task);
  for (auto [number, each] : llvm::enumerate(tasks))
    each.phase = e.constant(int64_t(number) * geometry.columnPhases());
  return tasks;
}

void DataPhase::compute() {
  const int64_t sources = geometry.groups * geometry.channels,
                targets = geometry.groups * geometry.targetChannels;
  if (schedule.rowsAsChannels)
    image =
        tapRowsOf(e, source(0, imageMap(geometry.batch, plan.stored.inChannels, plan.stored.input)),
                  plan.stored);
  else
    image = source(
        0, imageOrBlockMap(geometry.batch, sources, plan.problem.sourceBlock(), geometry.source));
  if (geometry.numbers == 2 && geometry.sourceBlock == 1)
    image = pairsOf(e, image,
                    {.axis = 1,
                     .first = 0,
                     .step = 2,
                     .apart = 1,
                     .places = geometry.groups * geometry.sourceChannels,
                     .extent = sources});
  auto space = geometry.target;
  if (schedule.boxRows > 1)
    space = {space[0], 1, space[1] * space[2]}; // whole rows are written as one
  target = sink(plan.writesTiles()
                    ? blockMap(geometry.batch, targets, geometry.targetBlock, geometry.target)
                    : imageMap(geometry.batch, targets, space));
  stage = kernel.scratch;
  block = e.at(stage, plan.stageElements());
  tileBuffer = e.at(block, plan.sourceElements());
  panelBuffer = e.at(tileBuffer, plan.packElements());
  accumulators = e.at(tileBuffer, plan.packingElements());
  if (schedule.packsInTask)
    readFilter();
  Task task = decode(kernel.task);
  Value sourceChannels = e.constant(geometry.sourceChannels);
  Value firstTarget = e.mul(task.group, geometry.targetChannels);
  Value lastTarget =
      e.minimum(e.mul(task.panelEnd, plan.width), e.constant(geometry.targetChannels));
  reducer.begin(task.piece, e.add(firstTarget, e.mul(task.panel, plan.width)),
                e.add(firstTarget, lastTarget));
  schedule.kernel->begin(e);
  e.when(e.less(task.depth, field(task.phase, CountD)), [&] {
    e.loop(e.constant(0), sourceChannels, schedule.channelBlock, [&](Value first) {
      ChannelBlock channels;
      channels.first = first;
      channels.count = e.minimum(e.constant(schedule.channelBlock), e.sub(sourceChannels, first));
      channels.continues = e.less(e.constant(0), first);
      channels.isLast =
          e.less(e.constant(geometry.sourceChannels - 1), e.add(first, channels.count));
      if (schedule.packsInTask)
        channels.panels = {panelBuffer, task.phase, first};
      if (schedule.inPlace)
        block = sourceAt(task, first);
      else if (plan.copiesTiles())
        copyTiles(task, channels);
      else
        copySource(task, channels);
      runTiles(task, channels);
    });
  });
  schedule.kernel->end(e);
}

Value DataPhase::depthOf(const Task &task, Value slice) {
  if (geometry.isFlat())
    return e.constant(0);
  return e.add(
      e.mul(task.depth, geometry.sourceStep[0]),
      e.entry(e.table("slices", plan.sliceTable), e.add(field(task.phase, SliceStart), slice)));
}

/// The block of the stored source that a place of channels begins in, and its channel there: none
/// other than the first, where places fill blocks.
std::pair<Value, Value> DataPhase::storedChannel(Value place) {
  const int64_t places = plan.problem.sourceBlock() / geometry.numbers;
  Value lane = e.constant(0);
  if (places > geometry.sourceBlock)
    lane = e.mul(e.rem(place, places), geometry.numbers);
  return {e.div(place, places), lane};
}

/// Where the first tap of the first tile of the whole source stands, in place.
Value DataPhase::sourceAt(const Task &task, Value firstChannel) {
  const auto [blockOfFirst, lane] =
      storedChannel(e.add(e.mul(task.group, geometry.sourceChannels), firstChannel));
  return image.address({task.image, blockOfFirst, lane, e.constant(0), field(task.phase, MinH),
                        e.constant(plan.firstCol())});
}

void DataPhase::copySource(const Task &task, const ChannelBlock &channels) {
  Value top = e.add(e.mul(task.row, geometry.sourceStep[1]), field(task.phase, MinH));
  Value left = e.add(e.mul(task.col, geometry.sourceStep[2]), plan.firstCol());
  Value channelBase = e.add(e.mul(task.group, geometry.sourceChannels), channels.first);
  const int64_t channelsOfPlane = geometry.sourceBlock;
  const int64_t colStep = geometry.sourceStep[2] / plan.block.colStep,
                rowStep = geometry.sourceStep[1] / plan.block.rowStep;
  e.loop(e.constant(0), channels.count, channelsOfPlane, [&](Value channel) {
    Value first = e.add(channelBase, channel);
    e.loop(e.constant(0), field(task.phase, Slices), 1, [&](Value slice) {
      Value plane = e.add(e.mul(e.div(channel, channelsOfPlane), plan.block.slices), slice);
      Value to = e.at(block, e.mul(plane, plan.block.plane() * channelsOfPlane));
      Value depth = depthOf(task, slice);
      if (channelsOfPlane > 1) {
        const auto [blockOfFirst, lane] = storedChannel(first);
        copyBlocks(e, image, {task.image, blockOfFirst, lane, depth, top, left},
                   channelsOfPlane * geometry.numbers, plan.problem.sourceBlock(), geometry.source,
                   plan.block.rows, plan.block.pitch, to, colStep, rowStep, geometry.numbers);
      } else {
        copyPlane(e, image, {task.image, first, depth, top, left}, geometry.source, plan.block.rows,
                  plan.block.pitch, to, colStep, rowStep);
      }
    });
  });
}

/// Ascending, so that what a vector spills over the end of its row is overwritten by its successor.
void DataPhase::copyTiles(const Task &task, const ChannelBlock &channels) {
  Value channelBase = e.add(e.mul(task.group, geometry.sourceChannels), channels.first);
  auto copyRow = [&](Value channel, Value row, Value col, Value target) {
    // Rows behind the last repeat it: what is computed from them is not written, but must not be
    // slow.
    Value h = e.minimum(e.add(e.mul(row, geometry.sourceStep[1]), field(task.phase, MinH)),
                        e.constant(geometry.source[1] - 1));
    e.loop(e.constant(0), e.constant(schedule.boxCols), e.lanes, [&](Value chunk) {
      Value w = e.add(e.mul(e.add(col, chunk), geometry.sourceStep[2]), plan.firstCol());
      SmallVector<Value> from = {task.image, e.add(channelBase, channel),
                                 depthOf(task, e.constant(0)), h, w};
      if (image.address) {
        // Each channel stands on a page of its own.
        const int64_t ahead = 8;
        SmallVector<Value> next(from);
        next[1] = e.add(next[1], ahead);
        e.prefetch(image.address(next), /*forWriting=*/false);
      }
      Value left = e.sub(e.constant(geometry.source[2]), w);
      e.forLanes(e.div(e.add(e.maximum(left, e.constant(0)), geometry.sourceStep[2] - 1),
                       geometry.sourceStep[2]),
                 [&](Value mask) {
                   Value vector = image.read({from, 4, geometry.sourceStep[2], mask});
                   e.storeUnaligned(vector, e.at(target, chunk));
                 });
    });
  };
  e.loop(e.constant(0), rowsOfTiles(task), 1, [&](Value row) {
    e.loop(schedule.bandCols, [&](Value col) {
      e.loop(e.constant(0), channels.count, 1, [&](Value channel) {
        Value target = e.at(copiedTile(row, col), e.mul(channel, plan.boxSize()));
        e.loop(schedule.boxRows, [&](Value inBox) {
          copyRow(channel, e.add(e.add(task.row, e.mul(row, schedule.boxRows)), inBox),
                  e.add(task.col, e.mul(col, schedule.boxCols)),
                  e.at(target, e.mul(inBox, schedule.boxCols)));
        });
      });
    });
  });
}

/// Tiles of a box of `box` pixels that are left of `count`, `limit` at most.
static Value tilesLeft(PackEmitter &e, Value count, Value start, int64_t box, int64_t limit) {
  Value left = e.maximum(e.sub(count, start), e.constant(0));
  return e.minimum(e.div(e.add(left, box - 1), box), e.constant(limit));
}

Value DataPhase::rowsOfTiles(const Task &task) {
  return tilesLeft(e, field(task.phase, CountH), task.row, schedule.boxRows, schedule.bandRows);
}

Value DataPhase::colsOfTiles(const Task &task, const Tile &tile) {
  return tilesLeft(e, field(tile.phase, CountW), task.col, schedule.boxCols, schedule.bandCols);
}

/// The rows or columns of a tile from `first` on, where there are `count`.
DataPhase::TileRange DataPhase::tileRange(Value first, Value count, int64_t box) {
  TileRange range{first, first, e.minimum(e.add(first, box), count)};
  if (schedule.inPlace)
    range.start = e.minimum(first, e.add(count, -box));
  return range;
}
DataPhase::TileRange DataPhase::rowsOf(const Task &task, const Tile &tile) {
  return tileRange(e.add(task.row, e.mul(tile.row, schedule.boxRows)), field(tile.phase, CountH),
                   schedule.boxRows);
}
DataPhase::TileRange DataPhase::colsOf(const Task &task, const Tile &tile) {
  return tileRange(e.add(task.col, e.mul(tile.col, schedule.boxCols)), field(tile.phase, CountW),
                   schedule.boxCols);
}

/// Where a copied tile begins whose channels each stand on their own.
Value DataPhase::copiedTile(Value row, Value col) {
  return e.at(block, e.mul(e.add(e.mul(row, schedule.bandCols), col),
                           schedule.channelBlock * plan.boxSize()));
}

/// Where a tile reads the source.
Value DataPhase::sourceOf(const Task &task, const Tile &tile) {
  if (plan.copiesTiles())
    return copiedTile(tile.row, tile.col);
  Value row = e.mul(tile.row, schedule.boxRows), col = e.mul(tile.col, schedule.boxCols);
  if (schedule.inPlace)
    row = rowsOf(task, tile).start, col = colsOf(task, tile).start;
  Value place =
      e.add(e.mul(row, plan.block.rowStep * plan.block.pitch), e.mul(col, plan.block.colStep));
  return e.at(block, e.mul(place, plan.pixelStep()));
}

/// Where the next tile reads the source: of the row, or the first one of the next row.
Value DataPhase::laterOf(const Task &task, Tile tile) {
  Value behind = e.add(tile.col, 1), isLast = e.equal(behind, colsOfTiles(task, tile));
  tile.row = e.select(isLast, e.add(tile.row, 1), tile.row);
  tile.col = e.select(isLast, e.constant(0), behind);
  return sourceOf(task, tile);
}

/// Which it is of the task's tiles that a panel is multiplied with.
Value DataPhase::numberOf(const Tile &tile) {
  Value number = e.add(e.mul(tile.row, geometry.columnPhases()), tile.column);
  return e.add(e.mul(number, schedule.bandCols), tile.col);
}

/// Of the panel that the task packs behind the tile's: all of it arrives while the tiles before it
/// are multiplied.
void DataPhase::prefetchNext(const Task &task, const ChannelBlock &channels, const Tile &tile) {
  Value next = e.add(tile.panel, 1), isLast = e.less(e.add(task.panelEnd, -1), next);
  const Piece piece{task.group,
                    e.select(isLast, task.panel, next),
                    e.select(isLast, e.add(channels.first, schedule.channelBlock), channels.first),
                    {}};
  prefetch(piece, numberOf(tile), plan.panelTiles());
}

/// A tile's part of the next panel.
Value DataPhase::laterPanel(const Task &task, const ChannelBlock &channels, const Tile &tile) {
  Value next =
      packedAt(channels.panels, tile.phase, task.group, e.add(tile.panel, 1), channels.first);
  Value groups = e.div(e.mul(channels.count, field(tile.phase, Taps)), schedule.kernel->group());
  return e.at(next, e.mul(e.mul(numberOf(tile), groups), plan.panelLines() * e.element.line()));
}

/// The first row of taps that meets a row of the source in any row of a tile, and the end of those.
std::pair<Value, Value> DataPhase::rowsOfTaps(const Task &task, const Tile &tile) {
  const TileRange rows = rowsOf(task, tile);
  const int64_t step = geometry.tapStep(1);
  // Of rows of taps from the one at MinH on: how many a row of the target finds above row `end`.
  auto above = [&](Value row, int64_t end) {
    Value first = e.add(e.mul(row, geometry.sourceStep[1]), field(tile.phase, MinH));
    Value distance = e.maximum(e.sub(e.constant(end), first), e.constant(0));
    return e.minimum(e.div(e.add(distance, step - 1), step), field(tile.phase, TapsH));
  };
  return {above(e.add(rows.last, -1), 0), above(rows.first, geometry.source[1])};
}

/// Whether the micro-kernel, if it `stores`, writes the tile, and finishTile does not: a whole one,
/// with the last channels.
Value DataPhase::storesTile(const Task &task, const ChannelBlock &channels, const Tile &tile) {
  auto isWhole = [&](const TileRange &range, int64_t box) {
    return e.equal(e.sub(range.last, range.first), e.constant(box));
  };
  Value ends = e.both(e.both(channels.isLast, hasTaps(tile.phase)),
                      e.both(isWhole(rowsOf(task, tile), schedule.boxRows),
                             isWhole(colsOf(task, tile), schedule.boxCols)));
  if (geometry.targetChannels % plan.width != 0)
    ends = e.both(ends, e.less(tile.panel, e.constant(geometry.targetChannels / plan.width)));
  return ends;
}

void DataPhase::multiply(const Task &task, const ChannelBlock &channels, const Tile &tile,
                         Value slot, Value isStored) {
  Value taps = field(tile.phase, Taps), steps = e.mul(channels.count, taps);
  Value firstStep = field(tile.phase, OffsetStart);
  Value panel = packedAt(channels.panels, tile.phase, task.group, tile.panel, channels.first);
  if (plan.skipsRows()) {
    const auto [first, last] = rowsOfTaps(task, tile);
    Value ofRow = e.mul(channels.count, field(tile.phase, TapsW)), skipped = e.mul(first, ofRow);
    firstStep = e.add(firstStep, skipped);
    panel = e.at(panel, e.mul(skipped, plan.width));
    steps = e.mul(e.sub(last, first), ofRow);
  }
  Value offsets = e.at(e.table("offsets", plan.offsetTable), firstStep, e.b.getI32Type());
  SmallVector<Value> arguments{sourceOf(task, tile), panel, offsets, steps, slot,
                               channels.continues};
  if (schedule.kernel->inGroups())
    arguments.push_back(taps);
  if (stores) {
    Value none = LLVM::ZeroOp::create(e.b, e.loc, e.pointerType());
    const std::pair first(rowsOf(task, tile).first, colsOf(task, tile).first);
    for (int64_t lane = 0; lane < plan.width; lane += e.lanes)
      arguments.push_back(
          e.select(isStored, target.address(targetOf(task, tile, first, lane)), none));
  }
  if (plan.sourceLines() > 0)
    arguments.push_back(laterOf(task, tile));
  if (plan.panelLines() > 0)
    arguments.push_back(laterPanel(task, channels, tile));
  LLVM::CallOp::create(e.b, e.loc, micro, arguments);
}

/// Whether a tile is multiplied. Of phases that share a task some have fewer tiles than others.
Value DataPhase::hasSums(const Task &task, const Tile &tile) {
  Value taps = hasTaps(tile.phase);
  if (!sole)
    return taps;
  const TileRange rows = rowsOf(task, tile), cols = colsOf(task, tile);
  return e.both(taps, e.both(e.less(rows.first, rows.last), e.less(cols.first, cols.last)));
}

/// The tiles of a row, of one phase, or of the sole one and those that lie between its pixels; sums
/// stand behind each other at `acc`, unless each is written before the next begins.
void DataPhase::runRow(const Task &task, const ChannelBlock &channels, SmallVector<Tile> tiles,
                       Value acc) {
  Value cols = e.constant(0);
  for (const Tile &tile : tiles)
    cols = e.maximum(cols, colsOfTiles(task, tile));
  e.loop(e.constant(0), cols, 1, [&](Value col) {
    for (Tile &tile : tiles)
      tile.col = col;
    Value slot = plan.writesAtOnce() ? acc : e.at(acc, e.mul(col, plan.slotElements()));
    if (schedule.packsInTask && canPrefetch())
      for (const Tile &tile : ArrayRef(tiles).take_front(sole ? geometry.columnPhases() : 1))
        prefetchNext(task, channels, tile);
    if (plan.writesTiles())
      e.when(channels.isLast, [&] {
        for (const Tile &tile : tiles)
          prefetchTile(task, tile);
      });
    runTile(task, channels, tiles.front(), slot);
    if (sole)
      e.when(channels.isLast, [&] {
        for (const Tile &tile : ArrayRef(tiles).drop_front())
          writeTile(task, tile, {});
      });
  });
}

void DataPhase::runTile(const Task &task, const ChannelBlock &channels, const Tile &tile,
                        Value slot) {
  Value isStored, isLeft = channels.isLast;
  if (stores) {
    isStored = storesTile(task, channels, tile);
    isLeft = e.both(isLeft, e.equal(isStored, e.number(0, e.b.getI1Type())));
  }
  e.when(hasSums(task, tile), [&] { multiply(task, channels, tile, slot, isStored); });
  if (plan.writesTiles())
    e.when(isLeft, [&] { finishTile(task, tile, slot); });
}

/// Tiles of all phases, the sole one's first and then those of its row phase.
SmallVector<DataPhase::Tile> DataPhase::tilesBesideSole(Value panel, Value row) {
  const int64_t columns = geometry.columnPhases();
  SmallVector<int64_t> phases = llvm::to_vector(llvm::seq(geometry.phases()));
  llvm::stable_sort(phases, [&](int64_t a, int64_t b) {
    auto distance = [&](int64_t p) {
      return p == *sole ? 0 : p / columns == *sole / columns ? 1 : 2;
    };
    return distance(a) < distance(b);
  });
  SmallVector<Tile> tiles;
  for (int64_t phase : phases)
    tiles.push_back({e.constant(phase), panel, row, {}, phase % columns});
  return tiles;
}

/// A row of tiles of each phase of the task.
void DataPhase::runStrip(const Task &task, const ChannelBlock &channels, Value panel, Value row) {
  const int64_t phases = geometry.columnPhases();
  Value acc = accumulators;
  if (plan.blocks() > 1) {
    Value strip = e.add(e.mul(e.sub(panel, task.panel), schedule.bandRows), row);
    acc = e.at(acc, e.mul(strip, phases * plan.stripAccumulators()));
  }
  if (sole)
    runRow(task, channels, tilesBesideSole(panel, row), acc);
  for (int64_t number = 0; !sole && number < phases; ++number) {
    runRow(task, channels, {{columnPhase(task, number), panel, row, {}, number}},
           plan.writesAtOnce() ? acc : e.at(acc, number * plan.stripAccumulators()));
  }
  if (reducer.exists())
    for (const Task &each : rowPhasesOf(task))
      e.when(e.both(channels.isLast, e.less(row, rowsOfTiles(each))),
             [&] { reduceStrip(each, panel, row); });
  if (!plan.writesTiles())
    e.when(channels.isLast, [&] { finishStrip(task, panel, row, acc); });
}

void DataPhase::runTiles(const Task &task, const ChannelBlock &channels) {
  Value rows = e.constant(0);
  for (const Task &each : rowPhasesOf(task))
    rows = e.maximum(rows, rowsOfTiles(each));
  e.loop(task.panel, task.panelEnd, 1, [&](Value panel) {
    if (schedule.packsInTask)
      packPiece({task.group, panel, channels.first, e.add(channels.first, channels.count)},
                channels.panels);
    e.loop(e.constant(0), rows, 1, [&](Value row) { runStrip(task, channels, panel, row); });
  });
}

/// The target's indices of a pixel of the tile's phase, and of the tile's channels from `lane` on.
SmallVector<Value> DataPhase::targetOf(const Task &task, const Tile &tile,
                                       std::pair<Value, Value> pixel, int64_t lane) {
  Value channel =
      e.add(e.mul(task.group, geometry.targetChannels), e.add(e.mul(tile.panel, plan.width), lane));
  return {task.image,
          e.div(channel, geometry.targetBlock),
          e.rem(channel, geometry.targetBlock),
          e.add(field(task.phase, FirstD), e.mul(task.depth, geometry.targetStep[0])),
          e.add(field(tile.phase, FirstH), e.mul(pixel.first, geometry.targetStep[1])),
          e.add(e.mul(pixel.second, geometry.targetStep[2]), tile.column)};
}

/// The vectors of a tile that are to be written, `step` channels apart: their places in the
/// accumulators and in the target.
void DataPhase::forEachVector(const Task &task, const Tile &tile, int64_t step,
                              llvm::function_ref<void(Value place, ValueRange indices)> body) {
  const TileRange rows = rowsOf(task, tile), cols = colsOf(task, tile);
  auto writePixel = [&](Value row, Value col) {
    Value pixel = e.add(e.mul(e.sub(row, rows.start), schedule.boxCols), e.sub(col, cols.start));
    for (int64_t v = 0; v < plan.width; v += step) {
      auto visit = [&] {
        body(e.add(e.mul(pixel, plan.width), v), targetOf(task, tile, {row, col}, v));
      };
      Value lane = e.add(e.mul(tile.panel, plan.width), v);
      if (geometry.targetChannels % plan.width == 0)
        visit();
      else
        e.when(e.less(lane, e.constant(geometry.targetChannels)), visit);
    }
  };
  e.loop(rows.first, rows.last, 1, [&](Value row) {
    e.loop(cols.first, cols.last, 1, [&](Value col) { writePixel(row, col); });
  });
}

/// The lines of the target arrive while the micro-kernel works.
void DataPhase::prefetchTile(const Task &task, const Tile &tile) {
  forEachVector(task, tile, std::max(plan.lanes, e.element.storedLine()),
                [&](Value, ValueRange indices) { target.prefetch(indices); });
}

/// Without sums a tile is zero.
void DataPhase::writeTile(const Task &task, const Tile &tile, Value acc) {
  forEachVector(task, tile, plan.lanes, [&](Value place, ValueRange indices) {
    Value vector = acc ? e.loadAligned(e.at(acc, place)) : e.zeroVector();
    target.write(vector, {SmallVector<Value>(indices), 2, 1, {}});
  });
}

void DataPhase::finishTile(const Task &task, const Tile &tile, Value acc) {
  if (sole)
    return writeTile(task, tile, acc);
  e.branch(
      hasTaps(tile.phase), [&] { writeTile(task, tile, acc); }, [&] { writeTile(task, tile, {}); });
}

/// What a row of tiles of all column phases has written.
void DataPhase::reduceStrip(const Task &task, Value panel, Value row) {
  const int64_t phases = geometry.columnPhases();
  const Tile tile{task.phase, panel, row, e.constant(0), 0};
  const TileRange rows = rowsOf(task, tile);
  Band band;
  band.image = task.image;
  band.depth = e.add(field(task.phase, FirstD), e.mul(task.depth, geometry.targetStep[0]));
  band.row = e.add(field(task.phase, FirstH), e.mul(rows.first, geometry.targetStep[1]));
  band.rows = e.sub(rows.last, rows.first);
  band.rowStep = geometry.targetStep[1];
  band.col = e.mul(task.col, phases);
  band.cols = e.minimum(e.constant(schedule.bandCols * schedule.boxCols * phases),
                        e.sub(e.constant(geometry.target[2]), band.col));
  e.loop(schedule.vectors, [&](Value v) {
    Value lane = e.add(e.mul(panel, plan.width), e.mul(v, e.lanes));
    band.channel = e.add(e.mul(task.group, geometry.targetChannels), lane);
    e.when(e.less(lane, e.constant(geometry.targetChannels)), [&] { reducer.reduce(band); });
  });
}

/// That of row `row` of the task's tiles. Rows of a box that are whole rows of the target follow
/// each other there, too, and are one row of it.
DataPhase::Strip DataPhase::stripOf(const Task &task, Value row) {
  const int64_t phases = geometry.columnPhases(), most = schedule.bandCols * schedule.boxCols;
  Value first = e.add(task.row, e.mul(row, schedule.boxRows));
  Value targetRow = e.add(field(task.phase, FirstH), e.mul(first, geometry.targetStep[1]));
  Strip strip;
  strip.depth = e.add(field(task.phase, FirstD), e.mul(task.depth, geometry.targetStep[0]));
  if (schedule.boxRows > 1) {
    Value rows = e.minimum(e.constant(schedule.boxRows), e.sub(field(task.phase, CountH), first));
    strip.row = e.constant(0);
    strip.col = e.mul(targetRow, geometry.target[2]);
    strip.width = strip.pixels = e.mul(rows, schedule.boxCols);
    return strip;
  }
  strip.row = targetRow;
  strip.col = e.mul(task.col, phases);
  strip.width =
      e.minimum(e.constant(most * phases), e.sub(e.constant(geometry.target[2]), strip.col));
  strip.pixels = e.minimum(e.constant(most), e.sub(field(task.phase, CountW), task.col));
  return strip;
}

/// Transposes the sums of a vector of channels to rows of pixels, those of each phase.
void DataPhase::stageStrip(const Task &task, const Strip &strip, Value lane, Value acc) {
  for (int64_t number = 0; number < geometry.columnPhases(); ++number) {
    Value phase = columnPhase(task, number);
    Value from = e.at(acc, number * plan.stripAccumulators());
    Value to = e.at(stage, number * plan.stripElements());
    e.when(e.equal(field(phase, Taps), e.constant(0)), [&] {
      e.loop(e.constant(0), e.constant(plan.stripElements()), e.lanes,
             [&](Value place) { e.storeAligned(e.zeroVector(), e.at(to, place)); });
    });
    e.when(hasTaps(phase), [&] {
      e.loop(e.constant(0), strip.pixels, e.lanes, [&](Value pixel) {
        e.transpose(e.at(from, e.add(e.mul(pixel, plan.width), lane)), e.constant(plan.width),
                    e.at(to, pixel), e.constant(plan.stripPixels()));
      });
    });
  }
}

void DataPhase::finishStrip(const Task &task, Value panel, Value row, Value acc) {
  const Strip strip = stripOf(task, row);
  e.loop(schedule.vectors, [&](Value v) {
    Value laneOfPanel = e.mul(v, e.lanes), lane = e.add(e.mul(panel, plan.width), laneOfPanel);
    Value channels =
        e.minimum(e.constant(e.lanes), e.sub(e.constant(geometry.targetChannels), lane));
    Value first = e.add(e.mul(task.group, geometry.targetChannels), lane);
    // The lines of the target arrive while the strip is transposed.
    e.loop(e.constant(0), channels, 1, [&](Value channel) {
      e.loop(e.constant(0), strip.width, e.element.storedLine(), [&](Value pixel) {
        target.prefetch(
            {task.image, e.add(first, channel), strip.depth, strip.row, e.add(strip.col, pixel)});
      });
    });
    stageStrip(task, strip, laneOfPanel, acc);
    e.loop(e.constant(0), channels, 1, [&](Value channel) {
      writeChannel(task, strip, e.add(first, channel),
                   e.at(stage, e.mul(channel, plan.stripPixels())));
    });
  });
}

/// Writes a channel's pixels from where they are staged.
void DataPhase::writeChannel(const Task &task, const Strip &strip, Value channel, Value staged) {
  const int64_t phases = geometry.columnPhases();
  auto read = [&](int64_t phase, Value pixel) {
    return e.loadAligned(e.at(staged, e.add(pixel, phase * plan.stripElements())));
  };
  auto write = [&](Value vector, Value place, int64_t step, Value count) {
    e.forLanes(count, [&](Value mask) {
      target.write(
          vector,
          {{task.image, channel, strip.depth, strip.row, e.add(strip.col, place)}, 4, step, mask});
    });
  };
  e.loop(e.constant(0), strip.pixels, e.lanes, [&](Value pixel) {
    Value place = e.mul(pixel, phases), left = e.sub(strip.width, place);
    if (phases == 2) {
      Value even = read(0, pixel), odd = read(1, pixel);
      for (int64_t half : {0, 1})
        write(e.alternate(even, odd, half), e.add(place, half * e.lanes), 1,
              e.sub(left, e.constant(half * e.lanes)));
      return;
    }
    for (int64_t phase = 0; phase < phases; ++phase) {
      Value count = e.div(e.maximum(e.add(left, phases - 1 - phase), e.constant(0)), phases);
      write(read(phase, pixel), e.add(place, phase), phases, count);
    }
  });
}

/// MicroTile::targetOffsets of a plan; none where its tiles do not hold results as they are stored.
static SmallVector<int64_t> targetOffsets(const KernelSpec &spec, const DataPlan &plan) {
  const DataGeometry &g = plan.geometry;
  if (!plan.writesTiles() || !plan.schedule.kernel->storesResults())
    return {};
  auto strides = PackedPhase::storedStrides(
      spec, blockMap(g.batch, g.groups * g.targetChannels, g.targetBlock, g.target));
  if (!strides)
    return {};
  assert((*strides)[2] == 1 && "a vector holds channels that stand together");
  SmallVector<int64_t> offsets;
  for (int64_t row = 0; row < plan.schedule.boxRows; ++row)
    for (int64_t col = 0; col < plan.schedule.boxCols; ++col)
      offsets.push_back(row * g.targetStep[1] * (*strides)[4] +
                        col * g.targetStep[2] * (*strides)[5]);
  return offsets;
}

LogicalResult codegen::emitDataConvolution(const KernelSpec &spec, const Candidate &candidate,
                                           const CpuTarget &target, StringRef symbol,
                                           ModuleOp module, const ConvolutionProblem &problem) {
  DataPlan plan(problem, scheduleOf<DataSchedule>(candidate.parameters),
                Element::of(spec).lanes(target));
  MicroTile micro;
  for (int64_t m = 0; m < plan.boxSize(); ++m)
    micro.rowOffsets.push_back(plan.rowOffset(m));
  micro.stepA = plan.copiesTiles() ? plan.boxSize() : 0;
  micro.vectors = plan.schedule.vectors;
  micro.laterOffsets = plan.sourceLines() > 0;
  micro.laterLines = micro.laterOffsets ? plan.sourceLines() : plan.panelLines();
  micro.targetOffsets = targetOffsets(spec, plan);
  micro.nearAccumulators = plan.writesAtOnce();
  LLVM::LLVMFuncOp function = plan.schedule.kernel->emit(module, target, Element::of(spec), micro);
  unsigned phase = 0;
  if (!plan.schedule.packsInTask) {
    FilterPanels panels(spec, target, module, phaseSymbol(symbol, candidate, phase++),
                        candidate.workspaceBytes > 0, plan);
    panels.pack();
    if (failed(panels.finish()))
      return failure();
  }
  DataPhase pixels(spec, candidate, target, module, phaseSymbol(symbol, candidate, phase), plan,
                   function, !micro.targetOffsets.empty());
  pixels.compute();
  if (failed(pixels.finish()) || failed(pixels.reduced()))
    return failure();
  return emitLastPhases(spec, candidate, target, symbol, module);
}
