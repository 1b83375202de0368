//===- ConvolutionData.cpp - forward and backward data ----------------------------------------===//
//
// Two phases:
//   0  packs the filter into panels [phase][group][panel][source channel][tap][vectors * lanes] in
//      the workspace, unless tasks of the other pack the panels that they need into their scratch;
//   1  for each (image, group, band of pixels of a row phase, chunk of panels): copies the source
//      block with its zero border, or of a sampling geometry tile by tile, runs the micro-kernel
//      over strips of tiles of each column phase, transposes each finished strip to channel-major
//      rows and writes them, the columns of two phases in turn.
//
// Of a source in blocks of channels the copy has such blocks, too, or there is none. A target in
// blocks is written tile by tile, vectors of channels as they stand in the accumulators. Where the
// micro-kernel multiplies pairs, those are neighbours among the channels of a block: source
// channels are counted in places, copied as they are stored, and put together in the panels.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Convolution/Convolution.h"
#include "codegen/CPU/Gemm/MicroKernel.h"
#include "codegen/CPU/Reduce/BandReducer.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// Columns of the phase table.
enum PhaseField : int64_t {
  Taps,        // taps of the phase
  OffsetStart, // first entry in the table of source offsets
  FilterStart, // first entry in the table of filter indices
  SliceStart,  // first entry in the table of depth offsets
  PackedStart, // first place of the packed filter
  FirstD,
  FirstH, // first target index
  CountD,
  CountH,
  CountW, // target indices
  MinH,   // smallest source distance of a tap along rows
  Slices, // depth taps that any phase of the row phase needs
  PhaseFields
};

/// Everything that both phases of a kernel agree on.
struct DataPlan {
  DataPlan(const ConvolutionProblem &problem, const DataSchedule &schedule, int64_t lanes);

  const ConvolutionProblem &problem;
  DataGeometry geometry;
  DataSchedule schedule;
  DataBlock block;
  int64_t lanes, width, panels, packedElements = 0;
  /// A phase a row; offsets of (channel, tap) in the source block; (d, r, s) of each tap; depth
  /// offsets.
  /// Behind each offset stand those of laterLines.
  SmallVector<int64_t> phaseTable, offsetTable, filterTable, sliceTable;

  /// Whether the source block lies tile by tile.
  bool copiesTiles() const { return geometry.isSampling() && geometry.sourceBlock == 1; }
  bool isForward() const { return problem.direction == ConvolutionProblem::Direction::Forward; }
  int64_t boxSize() const { return schedule.boxRows * schedule.boxCols; }
  /// From a block of channels that a tile reads to the next.
  int64_t blockStep() const {
    return schedule.inPlace ? geometry.sourceBlockStep
                            : geometry.sourceBlock * block.slices * block.plane();
  }
  /// Of the source, from the tile's first: where its rows stand.
  int64_t rowOffset(int64_t row) const;
  /// Elements from one pixel that a tile reads to the next.
  int64_t pixelStep() const {
    return schedule.inPlace ? geometry.sourcePixel : geometry.sourceBlock;
  }
  /// Lines of the next tile that each step asks for, in place: so all of a block of channels have
  /// arrived when its first is due.
  int64_t laterLines() const {
    return schedule.inPlace && !inGroups() ? ceilDiv(boxSize(), geometry.sourceBlock) : 0;
  }
  bool inGroups() const { return schedule.kernel->group() > 1; }
  int64_t slotElements() const { return boxSize() * width; }
  int64_t firstCol() const { return geometry.offsetRange(2).first; } ///< of the taps' distances
  int64_t blocks() const { return ceilDiv(geometry.sourceChannels, schedule.channelBlock); }
  int64_t chunks() const { return ceilDiv(panels, schedule.panels); }
  int64_t rowBands() const {
    return ceilDiv(geometry.maxCount(1), schedule.bandRows * schedule.boxRows);
  }
  int64_t colBands() const {
    return ceilDiv(geometry.maxCount(2), schedule.bandCols * schedule.boxCols);
  }
  int64_t filterTaps() const {
    return geometry.kernel[0] * geometry.kernel[1] * geometry.kernel[2];
  }
  /// Scratch to pack with: a tile, and all taps of a vector of channels.
  int64_t packElements() const { return lanes * (lanes + geometry.numbers * filterTaps()); }
  /// Of a task that packs: a panel of a block of source channels, of one phase.
  int64_t panelElements() const {
    const int64_t taps = geometry.maxTaps(0) * geometry.maxTaps(1) * geometry.maxTaps(2);
    return schedule.channelBlock * taps * width;
  }
  /// Scratch of a task for that.
  int64_t packingElements() const {
    return schedule.packsInTask ? packElements() + geometry.columnPhases() * panelElements() : 0;
  }
  /// Places of source channels that a task of phase 0 packs: about 16k in all.
  int64_t packedChannels() const;
  int64_t packTasks() const;
  int64_t computeTasks() const { return chunks() * geometry.groups * pieces(); }
  // Scratch of phase 1: strips of finished rows, unless tiles are written, the source block, what
  // tasks pack, accumulators; strips and accumulators for each column phase.
  int64_t stripPixels() const { return roundUp(schedule.bandCols * boxSize(), lanes); }
  int64_t stripElements() const { return lanes * stripPixels(); }
  int64_t stageElements() const {
    return writesTiles() ? 0 : geometry.columnPhases() * stripElements();
  }
  int64_t sourceElements() const {
    if (schedule.inPlace)
      return 0;
    return roundUp(schedule.channelBlock * block.slices * block.plane() + lanes, lanes);
  }
  int64_t stripAccumulators() const { return schedule.bandCols * slotElements(); }
  /// Whether tasks that follow each other read one band of the source, and not the same panels:
  /// what there is more of comes from far away.
  bool chunksLast() const {
    return geometry.sourceBlock > 1 && geometry.sourceElements() > geometry.filterElements();
  }
  /// Whether each tile is written as soon as it is finished.
  bool writesTiles() const { return geometry.targetBlock > 1; }
  int64_t accumulatorElements() const;
  bool fitsTables() const {
    return fitsTable(phaseTable) && fitsTable(offsetTable) && fitsTable(filterTable) &&
           fitsTable(sliceTable);
  }
  /// Of each channel's pixels: into how many pieces tasks divide them.
  int64_t pieces() const {
    return geometry.rowPhases() * geometry.batch * geometry.maxCount(0) * rowBands() * colBands();
  }

private:
  void appendPhase(int64_t phase);
};

/// One phase of a kernel.
class DataPhase : public PackedPhase {
public:
  DataPhase(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
            ModuleOp module, StringRef name, const DataPlan &plan)
      : PackedPhase(spec, target, module, name, candidate.workspaceBytes > 0), plan(plan),
        geometry(plan.geometry), schedule(plan.schedule),
        reducer(kernel, candidate,
                blockMap(geometry.batch, geometry.groups * geometry.targetChannels,
                         geometry.targetBlock, geometry.target)
                    .shape) {}

  void pack();
  void compute(LLVM::LLVMFuncOp micro);
  LogicalResult reduced() const { return reducer.result; }

private:
  /// Coordinates of a compute task; the phase is the first of a row phase.
  struct Task {
    Value phase, image, group, depth, row, col, panel, panelEnd;
    Value piece; ///< of the pixels of its channels
  };

  Value field(Value phase, PhaseField which);
  /// A row of tiles of all column phases: its place in the target, its pixels, and those of the
  /// largest phase.
  struct Strip {
    Value channel, depth, row, col, width, pixels;
  };

  Task decode(Value number);
  Value columnPhase(const Task &task, int64_t number);
  Value hasTaps(Value phase);
  /// Places of source channels of a panel, which a task of phase 0 packs.
  struct Piece {
    Value group, panel, first, last;
  };
  void readFilter();
  void packPiece(const Piece &piece);
  Value packedAt(Value phase, Value group, Value panel, Value channel);
  void forEachPhase(llvm::function_ref<void(Value phase)> body);
  void packForward(const Piece &piece);
  void packForwardPairs(const Piece &piece);
  void packBackward(const Piece &piece);
  void packElements(const Piece &piece);
  Piece nextPiece(const Task &task, Value panel, Value firstChannel);
  void prefetchFilter(const Piece &piece, Value tile);
  void packTap(Value phase, const Piece &piece, Value channel, Value tap, Value target);
  Value depthOf(const Task &task, Value slice);
  std::pair<Value, Value> storedChannel(Value place);
  Value sourceAt(const Task &task, Value firstChannel);
  void copySource(const Task &task, Value firstChannel, Value channels);
  void copyTiles(const Task &task, Value firstChannel, Value channels);
  Value rowsOfTiles(const Task &task);
  Value copiedTile(Value row, Value col);
  void runTiles(const Task &task, LLVM::LLVMFuncOp micro, Value firstChannel, Value channels);
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
  TileRange tileRange(Value first, Value count, int64_t box);
  TileRange rowsOf(const Task &task, const Tile &tile);
  TileRange colsOf(const Task &task, const Tile &tile);
  Value sourceOf(const Task &task, const Tile &tile);
  Value laterOf(const Task &task, Tile tile);
  void forEachVector(const Task &task, const Tile &tile, int64_t step,
                     llvm::function_ref<void(Value place, ValueRange indices)> body);
  void prefetchTile(const Task &task, const Tile &tile);
  void finishTile(const Task &task, const Tile &tile, Value acc);
  void reduceStrip(const Task &task, Value panel, Value row);
  void finishStrip(const Task &task, Value panel, Value row, Value acc);
  void writeChannel(const Task &task, const Strip &strip, Value channel);

  const DataPlan &plan;
  const DataGeometry &geometry;
  const DataSchedule &schedule;
  Source image, filter, tapRows; ///< the last two: of single taps, and rows of them
  Sink target;
  BandReducer reducer;
  Value stage, block, accumulators; ///< in the scratch
  /// Of a task that packs: where in the scratch, its phase, and the first source channel.
  Value panelBuffer, packedPhase, packedChannel;
};

} // namespace

//===------------------------------------------------------------------------------------------===//
// Plan
//===------------------------------------------------------------------------------------------===//

DataPlan::DataPlan(const ConvolutionProblem &problem, const DataSchedule &schedule, int64_t lanes)
    : problem(problem), geometry(problem, schedule.kernel->step(), schedule.kernel->group()),
      schedule(schedule), block(geometry, schedule), lanes(lanes), width(schedule.vectors * lanes),
      panels(ceilDiv(geometry.targetChannels, width)) {
  for (int64_t phase = 0; phase < geometry.phases(); ++phase)
    appendPhase(phase);
}

int64_t DataPlan::rowOffset(int64_t row) const {
  if (copiesTiles())
    return row;
  return (row / schedule.boxCols * block.rowStep * block.pitch +
          row % schedule.boxCols * block.colStep) *
         pixelStep();
}

void DataPlan::appendPhase(int64_t phase) {
  const PhaseDimension &d = geometry.dimension(phase, 0), &h = geometry.dimension(phase, 1),
                       &w = geometry.dimension(phase, 2);
  const int64_t taps = geometry.taps(phase);
  int64_t row[PhaseFields] = {};
  row[Taps] = taps;
  row[OffsetStart] = int64_t(offsetTable.size());
  row[FilterStart] = int64_t(filterTable.size());
  row[SliceStart] = int64_t(sliceTable.size());
  row[PackedStart] = packedElements;
  row[FirstD] = d.first, row[FirstH] = h.first;
  row[CountD] = d.count, row[CountH] = h.count, row[CountW] = w.count;
  row[MinH] = h.minOffset();
  row[Slices] = h.taps.empty() || geometry.maxTaps(2) == 0 ? 0 : int64_t(d.taps.size());
  phaseTable.append(row, row + PhaseFields);

  for (const ConvolutionTap &tap : d.taps)
    sliceTable.push_back(tap.offset);
  auto forEachTap = [&](auto visit) {
    for (auto [slice, td] : llvm::enumerate(d.taps))
      for (const ConvolutionTap &th : h.taps)
        for (const ConvolutionTap &tw : w.taps)
          visit(int64_t(slice), td, th, tw);
  };
  forEachTap([&](int64_t, auto &td, auto &th, auto &tw) {
    filterTable.push_back((td.kernel * geometry.kernel[1] + th.kernel) * geometry.kernel[2] +
                          tw.kernel);
  });
  for (int64_t channel = 0; channel < schedule.channelBlock; ++channel) {
    int64_t line = channel % geometry.sourceBlock * taps * laterLines();
    forEachTap([&](int64_t slice, auto &, auto &th, auto &tw) {
      const int64_t number = channel / geometry.sourceBlock;
      const int64_t place =
          slice * block.plane() + (th.offset - row[MinH]) * block.pitch + tw.offset - firstCol();
      const int64_t pixel = number * blockStep() + place * pixelStep();
      offsetTable.push_back(pixel + channel % geometry.sourceBlock);
      for (int64_t i = 0; i < laterLines(); ++i, ++line)
        offsetTable.push_back(pixel + rowOffset(std::min(line, boxSize() - 1)));
    });
  }
  packedElements += geometry.groups * panels * geometry.sourceChannels * taps * width;
}

int64_t DataPlan::packedChannels() const {
  return std::clamp<int64_t>(16384 / (width * filterTaps()), 1, geometry.sourceChannels);
}

int64_t DataPlan::packTasks() const {
  return geometry.groups * panels * ceilDiv(geometry.sourceChannels, packedChannels());
}

int64_t DataPlan::accumulatorElements() const {
  int64_t strips = blocks() > 1 ? schedule.bandRows * schedule.panels : 1;
  if (writesTiles())
    return blocks() > 1 ? strips * geometry.columnPhases() * stripAccumulators() : slotElements();
  // The transposition of a strip's end reads whole tiles.
  return (strips * geometry.columnPhases() * schedule.bandCols * boxSize() + lanes) * width;
}

std::optional<Candidate> codegen::dataCandidate(const ConvolutionProblem &problem,
                                                const DataSchedule &schedule,
                                                const CpuTarget &target) {
  const MachineModel machine(target, problem.elementBytes);
  DataPlan plan(problem, schedule, machine.lanes);
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
    std::string form = "direct " + filterOrder(problem) + " vectors " +
                       std::to_string(schedule.vectors) + schedule.kernel->suffix();
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
  if (schedule.inPlace)
    candidate.cost -= hiddenSeconds(candidate.cost, double(problem.imageBytes()), target);
  return candidate;
}

Value DataPhase::field(Value phase, PhaseField which) {
  if (geometry.phases() == 1)
    return e.constant(plan.phaseTable[which]);
  return e.entry(e.table("phases", plan.phaseTable), e.add(e.mul(phase, PhaseFields), which));
}

//===------------------------------------------------------------------------------------------===//
// Phase 0: filter panels
//===------------------------------------------------------------------------------------------===//

void DataPhase::pack() {
  const int64_t step = plan.packedChannels();
  SmallVector<Value> place = e.delinearize(
      kernel.task, {geometry.groups, plan.panels, ceilDiv(geometry.sourceChannels, step)});
  Piece piece{place[0], place[1], e.mul(place[2], step), {}};
  piece.last = e.minimum(e.add(piece.first, step), e.constant(geometry.sourceChannels));
  tileBuffer = kernel.scratch;
  readFilter();
  packPiece(piece);
}

/// The filter is indexed (k, c, d, r, s). Where it lies in memory as it is, its taps are rows of a
/// matrix that is packed by transposed tiles.
void DataPhase::readFilter() {
  const ConvolutionProblem &p = plan.problem;
  const int64_t channels = p.inChannels / p.groups;
  const auto matrices =
      plan.isForward()
          ? PackedPhase::IndexMap::identity({1, p.outChannels, channels * plan.filterTaps()})
          : PackedPhase::IndexMap::identity({p.outChannels, channels, plan.filterTaps()});
  tapRows = source(1, matrices);
  filter = source(1, imageMap(p.outChannels, channels, p.kernel));
}

void DataPhase::packPiece(const Piece &piece) {
  // Lanes that are neighbours in memory are read as they are.
  const bool contiguous = !plan.isForward() && plan.filterTaps() == 1;
  if (!tapRows.address || contiguous)
    return packElements(piece);
  if (!plan.isForward())
    return packBackward(piece);
  geometry.numbers == 2 && plan.filterTaps() > 1 ? packForwardPairs(piece) : packForward(piece);
}

/// Where the taps of a phase of a channel lie in the workspace, or in the scratch.
Value DataPhase::packedAt(Value phase, Value group, Value panel, Value channel) {
  if (schedule.packsInTask) {
    Value step = e.mul(e.sub(channel, packedChannel), field(phase, Taps));
    Value start = e.mul(e.sub(phase, packedPhase), plan.panelElements());
    return e.at(panelBuffer, e.add(start, e.mul(step, plan.width)));
  }
  Value start = e.add(e.mul(group, plan.panels), panel);
  start = e.add(e.mul(start, geometry.sourceChannels), channel);
  return e.at(kernel.workspace(), e.add(field(phase, PackedStart),
                                        e.mul(e.mul(start, field(phase, Taps)), plan.width)));
}

/// Those that are to be packed: all, or the task's.
void DataPhase::forEachPhase(llvm::function_ref<void(Value phase)> body) {
  if (!schedule.packsInTask)
    return e.loop(geometry.phases(), body);
  e.loop(geometry.columnPhases(), [&](Value number) { body(e.add(packedPhase, number)); });
}

/// Forward has one phase: the taps of all channels follow each other in the filter as in the panel,
/// and the channels where there is one.
void DataPhase::packForward(const Piece &piece) {
  const int64_t count = plan.filterTaps();
  Value target = packedAt(e.constant(0), piece.group, piece.panel, piece.first);
  Value steps = e.mul(e.sub(piece.last, piece.first), count);
  for (int64_t v = 0; v < schedule.vectors; ++v) {
    Value lane = e.add(e.mul(piece.panel, plan.width), v * e.lanes);
    Value corner[] = {e.constant(0), e.add(e.mul(piece.group, geometry.targetChannels), lane),
                      e.mul(piece.first, count * geometry.numbers)};
    const PackedSum sum{schedule.kernel->formatB(e.element),
                        geometry.sourceChannels * geometry.numbers * count};
    PackedPhase::pack(tapRows, sum, corner, /*along=*/1, /*lanesContiguous=*/false,
                      e.sub(e.constant(geometry.targetChannels), lane), steps, plan.width,
                      e.at(target, v * e.lanes));
  }
}

/// The taps of two channels follow each other in the filter, and take turns in the panel.
void DataPhase::packForwardPairs(const Piece &piece) {
  const int64_t count = plan.filterTaps();
  Value both = e.at(tileBuffer, e.lanes * e.lanes);
  e.loop(piece.first, piece.last, 1, [&](Value channel) {
    Value target = packedAt(e.constant(0), piece.group, piece.panel, channel);
    for (int64_t v = 0; v < schedule.vectors; ++v) {
      Value lane = e.add(e.mul(piece.panel, plan.width), v * e.lanes);
      Value corner[] = {e.constant(0), e.add(e.mul(piece.group, geometry.targetChannels), lane),
                        e.mul(channel, 2 * count)};
      PackedPhase::pack(tapRows, {}, corner, /*along=*/1, /*lanesContiguous=*/false,
                        e.sub(e.constant(geometry.targetChannels), lane), e.constant(2 * count),
                        e.lanes, both);
      e.loop(count, [&](Value tap) {
        Value even = e.loadAligned(e.at(both, e.mul(tap, e.lanes)));
        Value odd = e.loadAligned(e.at(both, e.mul(e.add(tap, count), e.lanes)));
        e.storeAligned(e.pairUp(even, odd),
                       e.at(target, e.add(e.mul(tap, plan.width), v * e.lanes)));
      });
    }
  });
}

/// Backward the taps of a channel are spread over the phases.
void DataPhase::packBackward(const Piece &piece) {
  Value all = e.at(tileBuffer, e.lanes * e.lanes);
  Value table = e.table("filter", plan.filterTable);
  e.loop(piece.first, piece.last, 1, [&](Value channel) {
    Value summed = e.add(e.mul(piece.group, geometry.sourceChannels), channel);
    for (int64_t v = 0; v < schedule.vectors; ++v) {
      Value lane = e.add(e.mul(piece.panel, plan.width), v * e.lanes);
      for (int64_t number = 0; number < geometry.numbers; ++number) {
        Value row = e.add(e.mul(summed, geometry.numbers), number);
        // A row is on other pages than the one before it.
        const int64_t ahead = 4;
        Value later = tapRows.address({e.add(row, ahead), lane, e.constant(0)});
        e.loop(e.constant(0), e.constant(e.lanes * plan.filterTaps()), e.element.storedLine(),
               [&](Value line) { e.prefetch(e.atStored(later, line), /*forWriting=*/false); });
        PackedPhase::pack(tapRows, {}, {row, lane, e.constant(0)}, /*along=*/1,
                          /*lanesContiguous=*/false,
                          e.sub(e.constant(geometry.targetChannels), lane),
                          e.constant(plan.filterTaps()), e.lanes,
                          e.at(all, number * plan.filterTaps() * e.lanes));
      }
      forEachPhase([&](Value phase) {
        Value target = e.at(packedAt(phase, piece.group, piece.panel, channel), v * e.lanes);
        e.loop(e.constant(0), field(phase, Taps), 1, [&](Value tap) {
          Value place = e.entry(table, e.add(field(phase, FilterStart), tap));
          Value from = e.at(all, e.mul(place, e.lanes)), packed = e.loadAligned(from);
          if (geometry.numbers == 2)
            packed = e.pairUp(packed, e.loadAligned(e.at(from, plan.filterTaps() * e.lanes)));
          e.storeAligned(packed, e.at(target, e.mul(tap, plan.width)));
        });
      });
    }
  });
}

void DataPhase::packElements(const Piece &piece) {
  forEachPhase([&](Value phase) {
    e.loop(piece.first, piece.last, 1, [&](Value channel) {
      Value target = packedAt(phase, piece.group, piece.panel, channel);
      e.loop(e.constant(0), field(phase, Taps), 1, [&](Value tap) {
        packTap(phase, piece, channel, tap, e.at(target, e.mul(tap, plan.width)));
      });
    });
  });
}

void DataPhase::packTap(Value phase, const Piece &piece, Value channel, Value tap, Value target) {
  Value flat = e.entry(e.table("filter", plan.filterTable), e.add(field(phase, FilterStart), tap));
  SmallVector<Value> place = e.delinearize(flat, geometry.kernel);
  for (int64_t v = 0; v < schedule.vectors; ++v) {
    Value lane = e.add(e.mul(piece.panel, plan.width), v * e.lanes);
    Value mask = e.lanesBelow(e.sub(e.constant(geometry.targetChannels), lane));
    // The lanes are k forward, c backward.
    auto read = [&](int64_t number) {
      Value summed = e.add(e.mul(channel, geometry.numbers), number);
      Value first =
          e.mul(piece.group, plan.isForward() ? geometry.targetChannels
                                              : geometry.sourceChannels * geometry.numbers);
      Value k = e.add(first, plan.isForward() ? lane : summed);
      Value c = plan.isForward() ? summed : lane;
      return filter.read(
          {{k, c, place[0], place[1], place[2]}, plan.isForward() ? 0u : 1u, 1, mask});
    };
    Value packed = read(0);
    if (geometry.numbers == 2)
      packed = e.pairUp(packed, read(1));
    e.storeAligned(packed, e.at(target, v * e.lanes));
  }
}

/// What a task packs behind a panel of a block of source channels.
DataPhase::Piece DataPhase::nextPiece(const Task &task, Value panel, Value firstChannel) {
  Value next = e.add(panel, 1), isLast = e.less(e.add(task.panelEnd, -1), next);
  Value first = e.select(isLast, e.add(firstChannel, schedule.channelBlock), firstChannel);
  return {task.group, e.select(isLast, task.panel, next), first, {}};
}

/// Asks for the lines of a panel of a block of source channels, those that are tile `tile`'s part:
/// all of them arrive while the tiles before them are computed.
void DataPhase::prefetchFilter(const Piece &piece, Value tile) {
  const int64_t taps = plan.filterTaps(), channels = schedule.channelBlock * geometry.numbers;
  const int64_t rows = plan.isForward() ? plan.width : channels;
  const int64_t elements = taps * (plan.isForward() ? channels : plan.width);
  const int64_t ofTile =
      ceilDiv(rows, schedule.bandRows * schedule.bandCols * geometry.columnPhases());
  Value lane = e.mul(piece.panel, plan.width);
  e.loop(ofTile, [&](Value number) {
    Value row = e.add(e.mul(tile, ofTile), number);
    SmallVector<Value> corner;
    if (plan.isForward())
      corner = {e.constant(0), e.add(e.add(e.mul(piece.group, geometry.targetChannels), lane), row),
                e.mul(piece.first, taps * geometry.numbers)};
    else
      corner = {e.add(e.mul(e.add(e.mul(piece.group, geometry.sourceChannels), piece.first),
                            geometry.numbers),
                      row),
                lane, e.constant(0)};
    Value start = tapRows.address(corner);
    e.loop(e.constant(0), e.constant(elements), e.element.storedLine(), [&](Value line) {
      e.prefetch(e.atStored(start, line), /*forWriting=*/false, /*locality=*/2);
    });
  });
}

//===------------------------------------------------------------------------------------------===//
// Phase 1: compute
//===------------------------------------------------------------------------------------------===//

DataPhase::Task DataPhase::decode(Value number) {
  SmallVector<int64_t> grid = {geometry.rowPhases(), geometry.groups, geometry.batch,
                               geometry.maxCount(0), plan.rowBands(), plan.colBands()};
  const size_t chunks = plan.chunksLast() ? grid.size() : 1;
  grid.insert(grid.begin() + chunks, plan.chunks());
  SmallVector<Value> place = e.delinearize(number, grid);
  Value chunk = place[chunks];
  place.erase(place.begin() + chunks);
  Task task;
  task.phase = e.mul(place[0], geometry.columnPhases());
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

void DataPhase::compute(LLVM::LLVMFuncOp micro) {
  const int64_t sources = geometry.groups * geometry.sourceChannels * geometry.numbers,
                targets = geometry.groups * geometry.targetChannels;
  image = source(
      0, imageOrBlockMap(geometry.batch, sources, plan.problem.sourceBlock(), geometry.source));
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
  Value channels = e.constant(geometry.sourceChannels);
  Value firstTarget = e.mul(task.group, geometry.targetChannels);
  Value lastTarget =
      e.minimum(e.mul(task.panelEnd, plan.width), e.constant(geometry.targetChannels));
  reducer.begin(task.piece, e.add(firstTarget, e.mul(task.panel, plan.width)),
                e.add(firstTarget, lastTarget));
  schedule.kernel->begin(e);
  e.when(e.less(task.depth, field(task.phase, CountD)), [&] {
    e.loop(e.constant(0), channels, schedule.channelBlock, [&](Value first) {
      Value count = e.minimum(e.constant(schedule.channelBlock), e.sub(channels, first));
      if (schedule.inPlace)
        block = sourceAt(task, first);
      else if (plan.copiesTiles())
        copyTiles(task, first, count);
      else
        copySource(task, first, count);
      runTiles(task, micro, first, count);
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

void DataPhase::copySource(const Task &task, Value firstChannel, Value channels) {
  Value top = e.add(e.mul(task.row, geometry.sourceStep[1]), field(task.phase, MinH));
  Value left = e.add(e.mul(task.col, geometry.sourceStep[2]), plan.firstCol());
  Value channelBase = e.add(e.mul(task.group, geometry.sourceChannels), firstChannel);
  const int64_t channelsOfPlane = geometry.sourceBlock;
  const int64_t colStep = geometry.sourceStep[2] / plan.block.colStep,
                rowStep = geometry.sourceStep[1] / plan.block.rowStep;
  e.loop(e.constant(0), channels, channelsOfPlane, [&](Value channel) {
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
      } else
        copyPlane(e, image, {task.image, first, depth, top, left}, geometry.source, plan.block.rows,
                  plan.block.pitch, to, colStep, rowStep);
    });
  });
}

/// Ascending, so that what a vector spills over the end of its row is overwritten by its successor.
void DataPhase::copyTiles(const Task &task, Value firstChannel, Value channels) {
  Value channelBase = e.add(e.mul(task.group, geometry.sourceChannels), firstChannel);
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
      e.loop(e.constant(0), channels, 1, [&](Value channel) {
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

Value DataPhase::columnPhase(const Task &task, int64_t number) { return e.add(task.phase, number); }

/// Without any, a phase is zero, and has no accumulators.
Value DataPhase::hasTaps(Value phase) { return e.less(e.constant(0), field(phase, Taps)); }

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

/// Where the next tile of a row of tiles reads the source.
Value DataPhase::laterOf(const Task &task, Tile tile) {
  tile.col = e.add(tile.col, 1);
  return sourceOf(task, tile);
}

void DataPhase::runTiles(const Task &task, LLVM::LLVMFuncOp micro, Value firstChannel,
                         Value channels) {
  Value accumulate = e.less(e.constant(0), firstChannel);
  Value last = e.less(e.constant(geometry.sourceChannels - 1), e.add(firstChannel, channels));
  auto runTile = [&](const Tile &tile, Value slot) {
    Value steps = e.mul(channels, field(tile.phase, Taps));
    Value offsets = e.at(e.table("offsets", plan.offsetTable), field(tile.phase, OffsetStart),
                         e.b.getI32Type());
    Value panelData = packedAt(tile.phase, task.group, tile.panel, firstChannel);
    SmallVector<Value> arguments{sourceOf(task, tile), panelData, offsets, steps, slot, accumulate};
    if (plan.inGroups())
      arguments.push_back(field(tile.phase, Taps));
    if (plan.laterLines() > 0)
      arguments.push_back(laterOf(task, tile));
    LLVM::CallOp::create(e.b, e.loc, micro, arguments);
  };
  const bool fetches = schedule.packsInTask && tapRows.address;
  auto fetchNext = [&](const Tile &tile) {
    Value place = e.add(e.mul(tile.row, geometry.columnPhases()), tile.column);
    prefetchFilter(nextPiece(task, tile.panel, firstChannel),
                   e.add(e.mul(place, schedule.bandCols), tile.col));
  };
  auto runRow = [&](Tile tile, Value acc) {
    Value cols =
        tilesLeft(e, field(tile.phase, CountW), task.col, schedule.boxCols, schedule.bandCols);
    Value taps = hasTaps(tile.phase);
    e.loop(e.constant(0), cols, 1, [&](Value col) {
      tile.col = col;
      const bool oneSlot = plan.writesTiles() && plan.blocks() == 1;
      Value slot = oneSlot ? accumulators : e.at(acc, e.mul(col, plan.slotElements()));
      if (fetches)
        fetchNext(tile);
      if (plan.writesTiles())
        e.when(last, [&] { prefetchTile(task, tile); });
      e.when(taps, [&] { runTile(tile, slot); });
      if (plan.writesTiles())
        e.when(last, [&] { finishTile(task, tile, slot); });
    });
  };
  packedPhase = task.phase, packedChannel = firstChannel;
  e.loop(task.panel, task.panelEnd, 1, [&](Value panel) {
    if (schedule.packsInTask)
      packPiece({task.group, panel, firstChannel, e.add(firstChannel, channels)});
    e.loop(e.constant(0), rowsOfTiles(task), 1, [&](Value row) {
      Value strip = e.constant(0);
      if (plan.blocks() > 1)
        strip = e.add(e.mul(e.sub(panel, task.panel), schedule.bandRows), row);
      Value acc =
          e.at(accumulators, e.mul(strip, geometry.columnPhases() * plan.stripAccumulators()));
      for (int64_t number = 0; number < geometry.columnPhases(); ++number)
        runRow({columnPhase(task, number), panel, row, {}, number},
               e.at(acc, number * plan.stripAccumulators()));
      if (reducer.exists())
        e.when(last, [&] { reduceStrip(task, panel, row); });
      if (!plan.writesTiles())
        e.when(last, [&] {
          finishStrip(task, panel, e.add(task.row, e.mul(row, schedule.boxRows)), acc);
        });
    });
  });
}

/// The vectors of a tile that are to be written, `step` channels apart: their places in the
/// accumulators and in the target.
void DataPhase::forEachVector(const Task &task, const Tile &tile, int64_t step,
                              llvm::function_ref<void(Value place, ValueRange indices)> body) {
  const TileRange rows = rowsOf(task, tile), cols = colsOf(task, tile);
  Value depth = e.add(field(task.phase, FirstD), e.mul(task.depth, geometry.targetStep[0]));
  Value lane = e.mul(tile.panel, plan.width);
  Value firstChannel = e.add(e.mul(task.group, geometry.targetChannels), lane);
  auto writePixel = [&](Value row, Value col) {
    Value pixel = e.add(e.mul(e.sub(row, rows.start), schedule.boxCols), e.sub(col, cols.start));
    Value h = e.add(field(tile.phase, FirstH), e.mul(row, geometry.targetStep[1]));
    Value w = e.add(e.mul(col, geometry.targetStep[2]), tile.column);
    for (int64_t v = 0; v < plan.width; v += step) {
      Value channel = e.add(firstChannel, v);
      auto visit = [&] {
        body(e.add(e.mul(pixel, plan.width), v),
             {task.image, e.div(channel, geometry.targetBlock),
              e.rem(channel, geometry.targetBlock), depth, h, w});
      };
      if (geometry.targetChannels % plan.width == 0)
        visit();
      else
        e.when(e.less(e.add(lane, v), e.constant(geometry.targetChannels)), visit);
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

/// Without taps a tile is zero.
void DataPhase::finishTile(const Task &task, const Tile &tile, Value acc) {
  auto write = [&](bool exists) {
    forEachVector(task, tile, plan.lanes, [&](Value place, ValueRange indices) {
      Value vector = exists ? e.loadAligned(e.at(acc, place)) : e.zeroVector();
      target.write(vector, {SmallVector<Value>(indices), 2, 1, {}});
    });
  };
  Value taps = hasTaps(tile.phase);
  e.when(taps, [&] { write(true); });
  e.when(e.equal(taps, e.number(0, e.b.getI1Type())), [&] { write(false); });
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

/// A strip is a row of tiles of each column phase: its pixels follow each other in the
/// accumulators, and in the target, where the phases take turns.
void DataPhase::finishStrip(const Task &task, Value panel, Value row, Value acc) {
  const int64_t phases = geometry.columnPhases(), pitch = plan.stripPixels();
  const int64_t most = schedule.bandCols * schedule.boxCols;
  Strip strip;
  strip.pixels = e.minimum(e.constant(most), e.sub(field(task.phase, CountW), task.col));
  strip.col = e.mul(task.col, phases);
  // Of all phases.
  strip.width =
      e.minimum(e.constant(most * phases), e.sub(e.constant(geometry.target[2]), strip.col));
  strip.row = e.add(field(task.phase, FirstH), e.mul(row, geometry.targetStep[1]));
  if (schedule.boxRows > 1) {
    Value rows = e.sub(field(task.phase, CountH), row);
    strip.pixels = e.mul(e.minimum(e.constant(schedule.boxRows), rows), schedule.boxCols);
    strip.width = strip.pixels;
    strip.col = e.mul(strip.row, geometry.target[2]);
    strip.row = e.constant(0);
  }
  strip.depth = e.add(field(task.phase, FirstD), e.mul(task.depth, geometry.targetStep[0]));
  e.loop(schedule.vectors, [&](Value v) {
    Value lane = e.add(e.mul(panel, plan.width), e.mul(v, e.lanes));
    Value channels =
        e.minimum(e.constant(e.lanes), e.sub(e.constant(geometry.targetChannels), lane));
    strip.channel = e.add(e.mul(task.group, geometry.targetChannels), lane);
    // The lines of the target arrive while the strip is transposed.
    e.loop(e.constant(0), channels, 1, [&](Value channel) {
      e.loop(e.constant(0), strip.width, e.element.storedLine(), [&](Value pixel) {
        target.prefetch({task.image, e.add(strip.channel, channel), strip.depth, strip.row,
                         e.add(strip.col, pixel)});
      });
    });
    for (int64_t number = 0; number < phases; ++number) {
      Value tapless = e.equal(field(columnPhase(task, number), Taps), e.constant(0));
      Value from = e.at(acc, number * plan.stripAccumulators());
      Value to = e.at(stage, number * plan.stripElements());
      e.when(tapless, [&] {
        e.loop(e.constant(0), e.constant(plan.stripElements()), e.lanes,
               [&](Value place) { e.storeAligned(e.zeroVector(), e.at(to, place)); });
      });
      e.when(hasTaps(columnPhase(task, number)), [&] {
        e.loop(e.constant(0), strip.pixels, e.lanes, [&](Value pixel) {
          Value corner = e.add(e.mul(pixel, plan.width), e.mul(v, e.lanes));
          e.transpose(e.at(from, corner), e.constant(plan.width), e.at(to, pixel),
                      e.constant(pitch));
        });
      });
    }
    e.loop(e.constant(0), channels, 1, [&](Value channel) { writeChannel(task, strip, channel); });
  });
}

/// Writes a channel's pixels from the stage.
void DataPhase::writeChannel(const Task &task, const Strip &strip, Value channel) {
  const int64_t phases = geometry.columnPhases();
  auto staged = [&](int64_t phase, Value pixel) {
    Value place = e.add(e.mul(channel, plan.stripPixels()), pixel);
    return e.loadAligned(e.at(stage, e.add(place, phase * plan.stripElements())));
  };
  auto write = [&](Value vector, Value place, int64_t step, Value count) {
    e.forLanes(count, [&](Value mask) {
      target.write(vector, {{task.image, e.add(strip.channel, channel), strip.depth, strip.row,
                             e.add(strip.col, place)},
                            4,
                            step,
                            mask});
    });
  };
  e.loop(e.constant(0), strip.pixels, e.lanes, [&](Value pixel) {
    Value place = e.mul(pixel, phases), left = e.sub(strip.width, place);
    if (phases == 2) {
      Value even = staged(0, pixel), odd = staged(1, pixel);
      for (int64_t half : {0, 1})
        write(e.alternate(even, odd, half), e.add(place, half * e.lanes), 1,
              e.sub(left, e.constant(half * e.lanes)));
      return;
    }
    for (int64_t phase = 0; phase < phases; ++phase) {
      Value count = e.div(e.maximum(e.add(left, phases - 1 - phase), e.constant(0)), phases);
      write(staged(phase, pixel), e.add(place, phase), phases, count);
    }
  });
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
  micro.laterLines = plan.laterLines();
  micro.laterOffsets = plan.laterLines() > 0;
  LLVM::LLVMFuncOp function = plan.schedule.kernel->emit(module, target, Element::of(spec), micro);
  unsigned phase = 0;
  if (!plan.schedule.packsInTask) {
    DataPhase panels(spec, candidate, target, module, phaseSymbol(symbol, candidate, phase++),
                     plan);
    panels.pack();
    if (failed(panels.finish()))
      return failure();
  }
  DataPhase pixels(spec, candidate, target, module, phaseSymbol(symbol, candidate, phase), plan);
  pixels.compute(function);
  if (failed(pixels.finish()) || failed(pixels.reduced()))
    return failure();
  return emitLastPhases(spec, candidate, target, symbol, module);
}
