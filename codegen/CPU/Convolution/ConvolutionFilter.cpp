//===- ConvolutionFilter.cpp - the filter's gradient ------------------------------------------===//
//
// Two phases:
//   0  for each (part of the pixels, group, chunk of output channels, chunk of input channels):
//      copies bands of x with their zero border, transposes the same pixels of dy to
//      [pixel][output channel] panels, and lets every register tile, a box of taps, reduce over the
//      pixels into its accumulators in the workspace; of x in blocks of channels a block is copied
//      at a time;
//   1  adds the parts in ascending order and writes them.
// If there is one part only, a task writes its sums itself, and there is no second phase.
//
// Of a filter of one tap, without padding, images in blocks of channels need no copy: the
// micro-kernel reads both where they lie, and asks for the lines of the next band meanwhile. Of
// others it reads dy in blocks where it lies, and x's copy. Where the micro-kernel multiplies pairs
// both are copied as pairs of images, those of a single one being its upper and its lower rows, x's
// with what the taps meet.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Convolution/Convolution.h"
#include "codegen/CPU/Gemm/MicroKernel.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// What calls of the micro-kernel ask for of a block of channels that is to be copied: a line a
/// step, in places of 32 bits.
struct NextLines {
  static constexpr int64_t line = lineElements;
  int64_t steps;    ///< of a call
  int64_t lines;    ///< of one number of each pair
  int64_t numbers;  ///< of a pair, or one alone
  int64_t distance; ///< between both

  /// Whether a call asks for all lines.
  bool together() const { return numbers * lines <= steps; }
  int64_t parts() const { return ceilDiv(lines, steps); }
  int64_t calls() const { return together() ? 1 : numbers * parts(); }
  int64_t placeOf(int64_t step) const {
    const bool second = numbers == 2 && together() && step >= lines;
    return std::min(second ? step - lines : step, lines - 1) * line + (second ? distance : 0);
  }
};

/// What a table of offsets asks for beside a call's own places.
enum class Asked { Nothing, Image, Gradient };

/// Everything that both phases of a kernel agree on.
struct FilterPlan {
  /// `isComputed`: whether x or dy is computed while it is read.
  FilterPlan(const ConvolutionProblem &stored, const FilterSchedule &schedule, int64_t lanes,
             bool isComputed)
      : isComputed(isComputed), stored(stored), problem(filterProblem(stored, *schedule.kernel)),
        schedule(schedule), block(problem, schedule), lanes(lanes), width(schedule.vectors * lanes),
        inChannels(problem.inChannels / problem.groups),
        outChannels(problem.outChannels / problem.groups), panels(ceilDiv(outChannels, width)) {}

  bool isComputed;
  const ConvolutionProblem &stored;
  ConvolutionProblem problem; ///< what is multiplied: filterProblem of it
  FilterSchedule schedule;
  FilterBlock block;
  int64_t lanes, width;
  int64_t inChannels, outChannels, panels; ///< of a group

  int64_t slotElements() const { return schedule.boxSize() * width; }
  /// Of the boxes of taps of the same channels.
  int64_t planeElements() const { return block.rowTiles * block.colTiles * slotElements(); }
  int64_t chunks() const { return ceilDiv(inChannels, schedule.channels); }
  int64_t panelChunks() const { return ceilDiv(panels, schedule.panels); }
  int64_t bandPixels() const { return schedule.bandRows * schedule.bandCols; }
  int64_t bands() const { return filterBands(problem, schedule); }
  int64_t bandsOfPart() const { return ceilDiv(bands(), schedule.splits); }
  bool hasParts() const { return schedule.splits > 1; }
  /// Whether pairs are the upper and the lower rows of an image, and how many those are.
  bool isHalved() const { return problem.batch > stored.batch; }
  int64_t lowerRows() const { return stored.output[1] - problem.output[1]; }
  /// Elements between pixels and between blocks of channels of x, as tiles read it.
  int64_t pixelStep() const { return schedule.inPlace ? problem.xPixel() : xBlock(); }
  int64_t blockStep() const {
    return schedule.inPlace ? problem.xBlockStep() : block.plane() * xBlock();
  }
  /// Columns from one pixel that a tap meets to the next, where tiles read x.
  int64_t colStep() const { return block.turn > 0 ? 1 : problem.stride[2]; }
  /// Channels that stand together where tiles read x.
  int64_t xBlock() const { return schedule.transposes() ? 1 : problem.xBlock; }
  /// Where a panel's channel `channel` stands in dy in place, from its first.
  int64_t columnAt(int64_t channel) const {
    return channel / problem.yBlock * problem.yBlockStep() + channel % problem.yBlock;
  }
  /// Whether calls ask for what the next band copies.
  bool asksForCopies() const {
    return !schedule.inPlace && !isComputed && !schedule.transposes() && problem.xBlock > 1 &&
           problem.yBlock > 1 && problem.xPixel() == problem.xBlock &&
           problem.yPixel() == problem.yBlock;
  }
  /// Whether calls ask for lines of the next band.
  bool asksAhead() const { return schedule.inPlace || asksForCopies(); }
  bool copiesByBlock() const { return schedule.copiesByBlock(problem); }
  NextLines nextLines(Asked operand) const;
  /// Whether, in place, the lines of a block of channels do not stand one behind the other, or of x
  /// as a stride says, and of dy otherwise.
  bool skipsLines() const {
    return schedule.inPlace && (product(problem.stride) > 1 || problem.xPixel() != problem.xBlock ||
                                problem.yPixel() != problem.yBlock);
  }
  /// Of one part: [group][chunk][panel][tile][box][width].
  int64_t partElements() const {
    return problem.groups * chunks() * panels * block.tiles() * slotElements();
  }
  // Scratch of phase 0: a tile, panels of dy, a block of x, and what a task needs that writes its
  // sums. Transposed tiles are written whole: a narrow last one spills over the panel's end, as
  // copied rows do over the block's.
  int64_t panelElements() const {
    return schedule.readsGradient() ? 0 : (bandPixels() + lanes) * width;
  }
  int64_t sourceElements() const {
    const int64_t planes = copiesByBlock() ? problem.xBlock : block.planes;
    return schedule.inPlace ? 0 : roundUp(planes * block.plane() + lanes, lanes);
  }
  int64_t sumElements() const {
    return hasParts() ? 0 : schedule.panels * block.tiles() * slotElements() + tapElements();
  }
  int64_t reduceElements() const {
    return lanes * lanes + schedule.panels * panelElements() + sourceElements() + sumElements();
  }
  int64_t taps() const { return product(problem.kernel); }
  /// The taps of `lanes` input channels, whole tiles.
  int64_t tapElements() const { return lanes * lanes * taps(); }
  /// Whether pixels of a band stand at one distance, and so in no table.
  bool isOneRow() const { return schedule.bandRows == 1; }
  bool hasLaterOffsets() const { return skipsLines() || asksForCopies(); }
  int64_t laterPlace(Asked asked, int64_t pixel, int64_t place) const;
  /// Where the pixels of a band stand in x, each with its later line.
  SmallVector<int64_t> offsets(Asked asked) const;
  /// Where the sums of the taps of one depth stand, from the first box of their plane on.
  SmallVector<int64_t> tapOffsets() const;
  bool fitsTables() const {
    return fitsTable(offsets(Asked::Image)) && fitsTable(offsets(Asked::Gradient)) &&
           fitsTable(tapOffsets());
  }
  /// Input channels of a chunk whose parts a task of phase 1 adds: sums that stay in L1.
  int64_t pieceChannels() const {
    const int64_t most = 4096;
    return std::min(schedule.channels,
                    lanes * std::max<int64_t>(1, most / (tapElements() * schedule.vectors)));
  }
  int64_t pieces() const { return ceilDiv(schedule.channels, pieceChannels()); }
  /// Elements of the boxes that its taps stand in: pieces may share those at their ends.
  int64_t pieceElements() const {
    const int64_t boxes = ceilDiv(pieceChannels() * problem.kernel[0], schedule.boxChannels) + 1;
    return std::min(block.channelTiles, boxes) * planeElements();
  }
  /// Scratch of phase 1: a tile, taps, and the sums of a piece.
  int64_t finishElements() const { return lanes * lanes + tapElements() + pieceElements(); }
};

/// One phase of a kernel.
class FilterPhase : public PackedPhase {
public:
  FilterPhase(const KernelSpec &spec, const CpuTarget &target, ModuleOp module, StringRef name,
              const FilterPlan &plan)
      : PackedPhase(spec, target, module, name, plan.hasParts()), plan(plan), problem(plan.problem),
        stored(plan.stored), schedule(plan.schedule), block(plan.block) {}

  void reduce(LLVM::LLVMFuncOp micro);
  void addParts();

private:
  /// Coordinates of a task of phase 0.
  struct Task {
    Value split, group, panel, panelEnd, chunk, channel, channels;
  };
  /// A band of pixels: place of images, depth, first row and column, and its extents.
  struct Band {
    Value image, depth, row, col, rows, cols;
  };

  /// Where the operands of a band lie: x from the task's first channel on, or a block of its
  /// channels, and dy from its first panel.
  struct Operands {
    Value source, gradient;
  };

  /// Register tiles of the task's channels, or of block `block` of them.
  struct Tiles {
    Value first, count, block;
  };

  Source placesOf(const Source &single, const PairIndex &rows);
  Task decode(Value number);
  Band bandAt(Value number);
  Operands inPlace(const Task &task, const Band &band);
  Value gradientInPlace(const Task &task, const Band &band);
  Value copiedAt(const Task &task, const Band &band, Value block);
  Value origin(Value index, unsigned axis);
  /// Of x, all groups together.
  Value firstChannel(const Task &task) {
    return e.add(e.mul(task.group, plan.inChannels), task.channel);
  }
  void copySource(const Task &task, const Band &band);
  void copyBlock(const Task &task, const Band &band, Value number);
  void packGradient(const Task &task, const Band &band);
  void packTile(const Task &task, const Band &band, Value panel, Value row, Value col,
                Value target);
  void packPixel(const Task &task, const Band &band, Value panel, Value row, Value col,
                 Value target);
  void clearPixels(const Band &band, Value row, Value target);
  Value tilesOf(Value channels);
  /// What a call asks for, and the table that says at which places from there, beside its own.
  struct Later {
    Value place, offsets;
  };
  Later laterInPlace(const Task &task, const Operands &next, Value call, Value rows);
  Later laterCopied(const Task &task, const Tiles &tiles, const Operands &next, Value call,
                    Value rows);
  Value offsetsFor(Asked asked);
  void runTiles(const Task &task, const Tiles &tiles, const Operands &band, const Operands &next,
                Value sums, LLVM::LLVMFuncOp micro, Value steps, Value accumulate);
  /// Sums of some input channels of a group for a panel: of the boxes from `firstBox` of the chunk
  /// on, in which the channels from `first` of the chunk on stand.
  struct Sums {
    Value at, firstBox, group, chunk, panel, first, channels;
  };
  Value channelsOf(Value chunk);
  void finishPanel(const Sums &sums);
  /// The lanes of a vector of output channels that exist, and their first.
  struct Lanes {
    Value first, count;
  };
  void copyTaps(const Sums &sums, Value first, Value channels, Value vector);
  void writeTaps(const Sink &filter, const Lanes &lanes, Value channel, Value taps);
  void prefetchTaps(const Sink &filter, const Lanes &lanes, Value channel);
  void writeElements(const Lanes &lanes, Value channel, Value taps);
  /// Of the accumulators of a panel, in elements.
  Value slots(Value group, Value chunk, Value panel);

  const FilterPlan &plan;
  const ConvolutionProblem &problem;
  const ConvolutionProblem &stored;
  const FilterSchedule &schedule;
  const FilterBlock &block;
  Source image, gradient;
  Value panelBuffer, sourceBuffer; ///< in the scratch of phase 0
  Value taps;                      ///< in the scratch: [channel, tap][lane]
};

} // namespace

NextLines FilterPlan::nextLines(Asked operand) const {
  const bool ofX = operand == Asked::Image, wholeRows = schedule.bandCols >= problem.output[2];
  const ConvolutionProblem::Spatial &extents = ofX ? problem.input : problem.output;
  int64_t pixels = bandPixels();
  if (ofX)
    pixels = wholeRows ? std::min(block.rows, extents[1]) * extents[2]
                       : std::min(block.pitch, extents[2]);
  const int64_t channels = ofX ? problem.xBlock : problem.yBlock;
  int64_t apart = product(extents) * (ofX ? problem.inChannels : problem.outChannels);
  if (isHalved())
    apart = lowerRows() * (ofX ? problem.stride[1] : 1) * extents[2] * channels;
  NextLines next;
  next.steps = bandPixels();
  next.lines = ceilDiv(pixels * channels * problem.storedBytes, 4 * NextLines::line);
  next.numbers = schedule.kernel->step();
  next.distance = apart * problem.storedBytes / 4;
  return next;
}

int64_t FilterPlan::laterPlace(Asked asked, int64_t pixel, int64_t place) const {
  if (asksForCopies())
    return asked == Asked::Nothing ? place : nextLines(asked).placeOf(pixel);
  return asked == Asked::Gradient ? pixel * problem.yPixel() : place;
}

SmallVector<int64_t> FilterPlan::offsets(Asked asked) const {
  SmallVector<int64_t> offsets;
  for (int64_t pixel = 0; pixel < bandPixels(); ++pixel) {
    const int64_t place = (pixel / schedule.bandCols * problem.stride[1] * block.pitch +
                           pixel % schedule.bandCols * colStep()) *
                          pixelStep();
    if (!isOneRow() || !hasLaterOffsets())
      offsets.push_back(place);
    if (hasLaterOffsets())
      offsets.push_back(laterPlace(asked, pixel, place));
  }
  return offsets;
}

SmallVector<int64_t> FilterPlan::tapOffsets() const {
  SmallVector<int64_t> offsets;
  for (int64_t r = 0; r < problem.kernel[1]; ++r)
    for (int64_t s = 0; s < problem.kernel[2]; ++s) {
      const int64_t tile = r / schedule.boxRows * block.colTiles + s / schedule.boxCols,
                    row = r % schedule.boxRows * schedule.boxCols + s % schedule.boxCols;
      offsets.push_back(tile * slotElements() + row * width);
    }
  return offsets;
}

ConvolutionProblem codegen::filterProblem(const ConvolutionProblem &p, const MicroKernel &kernel) {
  if (kernel.step() <= p.batch)
    return p;
  ConvolutionProblem halves = p;
  halves.batch = 2;
  halves.output[1] = ceilDiv(p.output[1], 2);
  halves.padLow[1] = 0;
  halves.input[1] = (halves.output[1] - 1) * p.stride[1] + (p.kernel[1] - 1) * p.dilation[1] + 1;
  return halves;
}

std::optional<Candidate> codegen::filterCandidate(const ConvolutionProblem &stored,
                                                  const FilterSchedule &schedule,
                                                  const CpuTarget &target, bool isComputed) {
  const MachineModel machine(target, stored.elementBytes);
  FilterPlan plan(stored, schedule, machine.lanes, isComputed);
  const ConvolutionProblem &problem = plan.problem;
  if (!plan.fitsTables())
    return std::nullopt;
  Candidate candidate;
  candidate.schedule = textOf(schedule);
  candidate.parameters = numbersOf(schedule);
  int64_t tasks = schedule.splits * problem.groups * plan.panelChunks() * plan.chunks();
  candidate.phases.push_back(
      {uint64_t(tasks), uint64_t(problem.elementBytes * plan.reduceElements())});
  if (plan.hasParts()) {
    candidate.workspaceBytes = problem.elementBytes * schedule.splits * plan.partElements();
    candidate.phases.push_back(
        {uint64_t(problem.groups * plan.chunks() * plan.panels * plan.pieces()),
         uint64_t(problem.elementBytes * plan.finishElements())});
    candidate.phases.back().sideBytes = candidate.workspaceBytes + problem.filterBytes();
  }
  // Of writing the sums.
  const double secondsOfElement = sizeof(float) / machine.sumBytesPerSecond;
  const double tiles = tileSeconds(filterCycles(problem, machine, schedule) +
                                       filterCopyCycles(problem, machine, schedule),
                                   machine);
  candidate.cost = tiles + secondsOfElement * double(problem.filterElements());
  if (plan.asksAhead())
    candidate.cost -= hiddenSeconds(tiles, double(problem.imageBytes()), target);
  return candidate;
}

Value FilterPhase::slots(Value group, Value chunk, Value panel) {
  Value place = e.add(e.mul(e.add(e.mul(group, plan.chunks()), chunk), plan.panels), panel);
  return e.mul(place, block.tiles() * plan.slotElements());
}

//===------------------------------------------------------------------------------------------===//
// Phase 0: sums over pixels
//===------------------------------------------------------------------------------------------===//

/// What `single` reads as the micro-kernel takes it: as it is, in pairs of images, or of an image's
/// upper and lower `rows`.
Source FilterPhase::placesOf(const Source &single, const PairIndex &rows) {
  if (schedule.kernel->step() == 1)
    return single;
  if (plan.isHalved())
    return pairsOf(e, single, rows);
  return pairsOf(e, single,
                 {.axis = 0,
                  .first = 0,
                  .step = 2,
                  .apart = 1,
                  .places = schedule.images(problem),
                  .extent = stored.batch});
}

FilterPhase::Task FilterPhase::decode(Value number) {
  SmallVector<Value> place =
      e.delinearize(number, {schedule.splits, problem.groups, plan.panelChunks(), plan.chunks()});
  Task task;
  task.split = place[0], task.group = place[1], task.chunk = place[3];
  task.panel = e.mul(place[2], schedule.panels);
  task.panelEnd = e.minimum(e.add(task.panel, schedule.panels), e.constant(plan.panels));
  task.channel = e.mul(task.chunk, schedule.channels);
  task.channels = channelsOf(task.chunk);
  return task;
}

Value FilterPhase::channelsOf(Value chunk) {
  return e.minimum(e.constant(schedule.channels),
                   e.sub(e.constant(plan.inChannels), e.mul(chunk, schedule.channels)));
}

FilterPhase::Band FilterPhase::bandAt(Value number) {
  const auto &output = problem.output;
  SmallVector<Value> place = e.delinearize(number, {schedule.images(problem), output[0],
                                                    ceilDiv(output[1], schedule.bandRows),
                                                    ceilDiv(output[2], schedule.bandCols)});
  Value row = e.mul(place[2], schedule.bandRows), col = e.mul(place[3], schedule.bandCols);
  auto left = [&](int64_t box, int64_t extent, Value start) {
    return e.minimum(e.constant(box), e.sub(e.constant(extent), start));
  };
  return {place[0],
          place[1],
          row,
          col,
          left(schedule.bandRows, output[1], row),
          left(schedule.bandCols, output[2], col)};
}

void FilterPhase::reduce(LLVM::LLVMFuncOp micro) {
  auto rowsOf = [](int64_t block) { return block > 1 ? 4u : 3u; };
  const int64_t upperRows = problem.output[1], lowerRows = plan.lowerRows();
  image = placesOf(
      source(0, imageOrBlockMap(stored.batch, stored.inChannels, stored.xBlock, stored.input)),
      {.axis = rowsOf(stored.xBlock),
       .first = -stored.padLow[1],
       .step = 1,
       .apart = lowerRows * stored.stride[1],
       .places = problem.input[1],
       .extent = stored.input[1]});
  gradient = placesOf(
      source(1, imageOrBlockMap(stored.batch, stored.outChannels, stored.yBlock, stored.output)),
      {.axis = rowsOf(stored.yBlock),
       .first = 0,
       .step = 1,
       .apart = lowerRows,
       .places = upperRows,
       .extent = stored.output[1],
       .secondFrom = upperRows});
  Task task = decode(kernel.task);
  tileBuffer = kernel.scratch;
  panelBuffer = e.at(tileBuffer, e.lanes * e.lanes);
  sourceBuffer = e.at(panelBuffer, schedule.panels * plan.panelElements());
  // The sums of the task's first panel, which those of the others follow.
  Value sums;
  if (plan.hasParts())
    sums = e.at(e.at(kernel.workspace(), e.mul(task.split, plan.partElements())),
                slots(task.group, task.chunk, task.panel));
  else
    sums = e.at(sourceBuffer, plan.sourceElements());
  Value first = e.mul(task.split, plan.bandsOfPart());
  Value end = e.minimum(e.add(first, plan.bandsOfPart()), e.constant(plan.bands()));
  schedule.kernel->begin(e);
  e.loop(first, end, 1, [&](Value number) {
    Band band = bandAt(number);
    Operands operands, next;
    if (schedule.inPlace) {
      operands = inPlace(task, band);
    } else if (schedule.gradientInPlace) {
      operands = {sourceBuffer, gradientInPlace(task, band)};
    } else {
      packGradient(task, band);
      operands = {sourceBuffer, panelBuffer};
    }
    Band after;
    if (plan.asksAhead())
      after = bandAt(e.minimum(e.add(number, 1), e.add(end, -1)));
    if (schedule.inPlace)
      next = inPlace(task, after);
    else if (plan.asksForCopies())
      next.gradient = gradientInPlace(task, after);
    auto run = [&](const Tiles &tiles) {
      Value cols = schedule.kernel->inGroups() ? e.constant(schedule.bandCols) : band.cols;
      runTiles(task, tiles, operands, next, sums, micro, e.mul(band.rows, cols),
               e.less(first, number));
    };
    if (plan.copiesByBlock()) {
      Value count = tilesOf(e.constant(problem.xBlock)),
            blocks = e.div(task.channels, problem.xBlock);
      e.loop(e.constant(0), blocks, 1, [&](Value block) {
        copyBlock(task, band, block);
        Value another = e.add(block, 1);
        if (plan.asksForCopies())
          next.source = e.select(e.less(another, blocks), copiedAt(task, band, another),
                                 copiedAt(task, after, e.constant(0)));
        run({e.mul(block, count), count, block});
      });
      return;
    }
    if (!schedule.inPlace)
      copySource(task, band);
    run({e.constant(0), tilesOf(task.channels), {}});
  });
  schedule.kernel->end(e);
  if (plan.hasParts())
    return;
  const int64_t panelElements = block.tiles() * plan.slotElements();
  taps = e.at(sums, schedule.panels * panelElements);
  e.loop(task.panel, task.panelEnd, 1, [&](Value panel) {
    finishPanel({e.at(sums, e.mul(e.sub(panel, task.panel), panelElements)), e.constant(0),
                 task.group, task.chunk, panel, e.constant(0), task.channels});
  });
}

FilterPhase::Operands FilterPhase::inPlace(const Task &task, const Band &band) {
  Value x = firstChannel(task);
  Value source =
      image.address({band.image, e.div(x, problem.xBlock), e.rem(x, problem.xBlock),
                     e.mul(band.depth, problem.stride[0]), e.mul(band.row, problem.stride[1]),
                     e.mul(band.col, problem.stride[2])});
  return {source, gradientInPlace(task, band)};
}

Value FilterPhase::gradientInPlace(const Task &task, const Band &band) {
  Value y = e.add(e.mul(task.group, plan.outChannels), e.mul(task.panel, plan.width));
  return gradient.address({band.image, e.div(y, problem.yBlock), e.rem(y, problem.yBlock),
                           band.depth, band.row, band.col});
}

/// The first place that the taps of a band meet.
Value FilterPhase::origin(Value index, unsigned axis) {
  return e.sub(e.mul(index, problem.stride[axis]), e.constant(problem.padLow[axis]));
}

/// Where block `block` of a task's channels lies that the band reads.
Value FilterPhase::copiedAt(const Task &task, const Band &band, Value block) {
  auto place = [&](Value index, unsigned axis) {
    return e.maximum(origin(index, axis), e.constant(0));
  };
  Value channel = e.add(firstChannel(task), e.mul(block, problem.xBlock));
  return image.address({band.image, e.div(channel, problem.xBlock), e.constant(0),
                        place(band.depth, 0), place(band.row, 1), place(band.col, 2)});
}

/// Block `number` of the task's channels, while all panels take its tiles: it stays in L1.
void FilterPhase::copyBlock(const Task &task, const Band &band, Value number) {
  Value channel = e.add(firstChannel(task), e.mul(number, problem.xBlock));
  copyBlocks(e, image,
             {band.image, e.div(channel, problem.xBlock), e.constant(0), origin(band.depth, 0),
              origin(band.row, 1), origin(band.col, 2)},
             problem.xBlock, problem.xBlock, problem.input, block.rows, block.pitch, sourceBuffer);
}

void FilterPhase::copySource(const Task &task, const Band &band) {
  Value first = firstChannel(task);
  if (problem.xBlock > 1) {
    const int64_t last = plan.inChannels - e.lanes;
    e.loop(block.planes / e.lanes, [&](Value number) {
      Value channel = e.minimum(e.add(first, e.mul(number, e.lanes)),
                                e.add(e.mul(task.group, plan.inChannels), last));
      copyTransposed(e, image,
                     {band.image, e.div(channel, problem.xBlock), e.rem(channel, problem.xBlock),
                      origin(band.depth, 0), origin(band.row, 1), origin(band.col, 2)},
                     problem.input, block.rows, block.pitch,
                     e.at(sourceBuffer, e.mul(number, e.lanes * block.plane())), tileBuffer,
                     problem.stride[2], block.turn > 0 ? block.pitch / block.turn : 1);
    });
    return;
  }
  e.loop(block.planes, [&](Value plane) {
    // Channels that do not exist repeat the last one: what is computed from them is not written,
    // but must not be slow.
    Value channel = e.minimum(e.div(plane, problem.kernel[0]), e.add(task.channels, -1));
    Value slice = e.mul(e.rem(plane, problem.kernel[0]), problem.dilation[0]);
    Value corner[] = {band.image, e.add(first, channel), e.add(origin(band.depth, 0), slice),
                      origin(band.row, 1), origin(band.col, 2)};
    copyPlane(e, image, corner, problem.input, block.rows, block.pitch,
              e.at(sourceBuffer, e.mul(plane, block.plane())));
  });
}

void FilterPhase::packGradient(const Task &task, const Band &band) {
  e.loop(task.panel, task.panelEnd, 1, [&](Value panel) {
    Value base = e.at(panelBuffer, e.mul(e.sub(panel, task.panel), plan.panelElements()));
    e.loop(e.constant(0), band.rows, 1, [&](Value row) {
      if (problem.yBlock > 1) {
        e.loop(e.constant(0), band.cols, 1,
               [&](Value col) { packPixel(task, band, panel, row, col, base); });
        if (schedule.kernel->inGroups())
          clearPixels(band, row, base);
        return;
      }
      // Ascending, so that what a narrow tile spills is overwritten by its successor.
      e.loop(e.constant(0), band.cols, e.lanes,
             [&](Value col) { packTile(task, band, panel, row, col, base); });
    });
  });
}

/// Of what makes a row of a band whole groups.
void FilterPhase::clearPixels(const Band &band, Value row, Value target) {
  Value first = e.mul(row, schedule.bandCols);
  e.loop(e.mul(e.add(first, band.cols), plan.width),
         e.mul(e.add(first, schedule.bandCols), plan.width), e.lanes,
         [&](Value place) { e.storeAligned(e.zeroVector(), e.at(target, place)); });
}

/// lanes pixels of every vector of the panel.
void FilterPhase::packTile(const Task &task, const Band &band, Value panel, Value row, Value col,
                           Value target) {
  Value mask = e.lanesBelow(e.sub(band.cols, col));
  Value pixel = e.add(e.mul(row, schedule.bandCols), col);
  e.loop(schedule.vectors, [&](Value v) {
    Value lane = e.add(e.mul(panel, plan.width), e.mul(v, e.lanes));
    Value channels = e.minimum(e.constant(e.lanes), e.sub(e.constant(plan.outChannels), lane));
    channels = e.maximum(channels, e.constant(0));
    Value first = e.add(e.mul(task.group, plan.outChannels), lane);
    e.clearRows(tileBuffer, channels);
    e.loop(e.constant(0), channels, 1, [&](Value channel) {
      Place place{{band.image, e.add(first, channel), band.depth, e.add(band.row, row),
                   e.add(band.col, col)},
                  4,
                  1,
                  mask};
      Value vector = gradient.read(place);
      if (gradient.address) {
        // Channels take turns, more of them than the processor foresees.
        place.indices[4] = e.add(place.indices[4], 4 * e.element.storedLine());
        e.prefetch(gradient.address(place.indices), /*forWriting=*/false);
      }
      e.storeAligned(vector, e.at(tileBuffer, e.mul(channel, e.lanes)));
    });
    e.transpose(tileBuffer, e.constant(e.lanes),
                e.at(target, e.add(e.mul(pixel, plan.width), e.mul(v, e.lanes))),
                e.constant(plan.width));
  });
}

/// The vectors of the panel of a pixel whose channels stand in blocks. Those behind all channels
/// repeat the last one: what is computed from them is not written.
void FilterPhase::packPixel(const Task &task, const Band &band, Value panel, Value row, Value col,
                            Value target) {
  Value pixel = e.at(target, e.mul(e.add(e.mul(row, schedule.bandCols), col), plan.width));
  for (int64_t v = 0; v < plan.width; v += e.lanes) {
    Value lane =
        e.minimum(e.add(e.mul(panel, plan.width), v), e.constant(plan.outChannels - e.lanes));
    Value channel = e.add(e.mul(task.group, plan.outChannels), lane);
    Value vector =
        gradient.read({{band.image, e.div(channel, problem.yBlock), e.rem(channel, problem.yBlock),
                        band.depth, e.add(band.row, row), e.add(band.col, col)},
                       2,
                       1,
                       {}});
    e.storeAligned(vector, e.at(pixel, v));
  }
}

/// Of channels that exist.
Value FilterPhase::tilesOf(Value channels) {
  Value planes = e.mul(channels, problem.kernel[0]);
  return e.mul(e.div(e.add(planes, schedule.boxChannels - 1), schedule.boxChannels),
               block.rowTiles * block.colTiles);
}

/// Of what is read in place, each call of a band asks for the next band's lines of one block of
/// channels: first of x. If there are no more blocks, for `rows`, what it reads itself.
FilterPhase::Later FilterPhase::laterInPlace(const Task &task, const Operands &next, Value call,
                                             Value rows) {
  Value blocksX = e.div(task.channels, problem.xBlock), callY = e.sub(call, blocksX);
  Value blocksY = e.div(e.mul(e.sub(task.panelEnd, task.panel), plan.width), problem.yBlock);
  Value ofX = e.less(call, blocksX);
  Later later;
  later.place = e.select(ofX, e.at(next.source, e.mul(call, problem.xBlockStep())),
                         e.select(e.less(callY, blocksY),
                                  e.at(next.gradient, e.mul(callY, problem.yBlockStep())), rows));
  later.offsets = offsetsFor(Asked::Nothing);
  if (plan.skipsLines())
    later.offsets = e.select(ofX, later.offsets, offsetsFor(Asked::Gradient));
  return later;
}

/// Of what is copied, the first calls of a block of x's channels ask for the block that is copied
/// after it, the next ones for a share of the next band's dy, each for a part of a block.
FilterPhase::Later FilterPhase::laterCopied(const Task &task, const Tiles &tiles,
                                            const Operands &next, Value call, Value rows) {
  const NextLines linesX = plan.nextLines(Asked::Image), linesY = plan.nextLines(Asked::Gradient);
  const int64_t callsY = schedule.panels * plan.width / problem.yBlock * linesY.calls();
  const int64_t share = ceilDiv(callsY, schedule.channels / problem.xBlock);
  Value callOfY = e.add(call, -linesX.calls());
  Value ofX = e.less(call, e.constant(linesX.calls()));
  Value ofY = e.less(callOfY, e.constant(share));
  Value numberY = e.add(e.mul(tiles.block, share), callOfY);
  Value panels = e.sub(task.panelEnd, task.panel);
  ofY = e.both(ofY, e.less(numberY, e.mul(e.div(e.mul(panels, plan.width), problem.yBlock),
                                          linesY.calls())));
  Value blockY = e.at(next.gradient, e.mul(e.div(numberY, linesY.calls()), problem.yBlockStep()),
                      e.element.stored);
  auto partOf = [&](Value block, const NextLines &lines, Value part) {
    return e.at(block, e.add(e.mul(e.div(part, lines.parts()), lines.distance),
                             e.mul(e.rem(part, lines.parts()), lines.steps * NextLines::line)));
  };
  Later later;
  later.place =
      e.select(ofX, partOf(next.source, linesX, call),
               e.select(ofY, partOf(blockY, linesY, e.rem(numberY, linesY.calls())), rows));
  later.offsets = e.select(ofX, offsetsFor(Asked::Image),
                           e.select(ofY, offsetsFor(Asked::Gradient), offsetsFor(Asked::Nothing)));
  return later;
}

Value FilterPhase::offsetsFor(Asked asked) {
  const StringRef names[] = {"offsets", "offsets_x", "offsets_y"};
  return e.table(names[unsigned(asked)], plan.offsets(asked));
}

void FilterPhase::runTiles(const Task &task, const Tiles &tiles, const Operands &band,
                           const Operands &next, Value sums, LLVM::LLVMFuncOp micro, Value steps,
                           Value accumulate) {
  Value offsets = offsetsFor(Asked::Nothing);
  e.loop(task.panel, task.panelEnd, 1, [&](Value panel) {
    Value number = e.sub(panel, task.panel);
    const int64_t panelStep =
        schedule.readsGradient() ? plan.columnAt(plan.width) : plan.panelElements();
    Value columns = e.at(band.gradient, e.mul(number, panelStep));
    Value acc = e.at(sums, e.mul(number, block.tiles() * plan.slotElements()));
    e.loop(e.constant(0), tiles.count, 1, [&](Value index) {
      Value tile = e.add(tiles.first, index);
      SmallVector<Value> place =
          e.delinearize(plan.copiesByBlock() ? index : tile,
                        {block.channelTiles, block.rowTiles, block.colTiles});
      Value channel = e.mul(place[0], schedule.boxChannels);
      Value blockOfChannel = e.mul(e.div(channel, plan.xBlock()), plan.blockStep());
      Value col = e.mul(place[2], schedule.boxCols * problem.dilation[2]);
      if (block.turn > 0)
        col =
            e.add(e.mul(e.rem(col, problem.stride[2]), block.turn), e.div(col, problem.stride[2]));
      Value pixel =
          e.add(e.mul(place[1], schedule.boxRows * problem.dilation[1] * block.pitch), col);
      Value corner = e.add(e.add(blockOfChannel, e.mul(pixel, plan.pixelStep())),
                           e.rem(channel, plan.xBlock()));
      Value rows = e.at(band.source, corner);
      SmallVector<Value> arguments{
          rows, columns, offsets, steps, e.at(acc, e.mul(tile, plan.slotElements())), accumulate};
      Value call = e.add(e.mul(number, tiles.count), index);
      if (schedule.kernel->inGroups())
        arguments.push_back(e.constant(1));
      if (plan.asksAhead()) {
        const Later later = schedule.inPlace ? laterInPlace(task, next, call, rows)
                                             : laterCopied(task, tiles, next, call, rows);
        arguments.push_back(later.place);
        arguments[2] = later.offsets;
      }
      LLVM::CallOp::create(e.b, e.loc, micro, arguments);
    });
  });
}

//===------------------------------------------------------------------------------------------===//
// Phase 1: the parts' sum
//===------------------------------------------------------------------------------------------===//

/// A part after the other: each is one long piece of memory, but the pieces of all of them lie at
/// the same places of pages.
void FilterPhase::addParts() {
  SmallVector<Value> place =
      e.delinearize(kernel.task, {problem.groups, plan.chunks(), plan.panels, plan.pieces()});
  tileBuffer = kernel.scratch;
  taps = e.at(tileBuffer, e.lanes * e.lanes);
  Sums sums;
  sums.at = e.at(taps, plan.tapElements());
  sums.group = place[0], sums.chunk = place[1], sums.panel = place[2];
  sums.first = e.mul(place[3], plan.pieceChannels());
  sums.channels =
      e.minimum(e.constant(plan.pieceChannels()), e.sub(channelsOf(sums.chunk), sums.first));
  auto boxOf = [&](Value channel, int64_t rest) {
    return e.div(e.add(e.mul(channel, problem.kernel[0]), rest), schedule.boxChannels);
  };
  sums.firstBox = boxOf(sums.first, 0);
  Value end = boxOf(e.add(sums.first, sums.channels), schedule.boxChannels - 1);
  Value elements = e.mul(e.sub(end, sums.firstBox), plan.planeElements());
  Value parts = e.at(e.at(kernel.workspace(), slots(sums.group, sums.chunk, sums.panel)),
                     e.mul(sums.firstBox, plan.planeElements()));
  auto add = [&](Value before, Value part) {
    e.loop(e.constant(0), elements, e.lanes, [&](Value number) {
      Value sum = arith::AddFOp::create(e.b, e.loc, e.loadAligned(e.at(before, number)),
                                        e.loadAligned(e.at(part, number)));
      e.storeAligned(sum, e.at(sums.at, number));
    });
  };
  auto partAt = [&](Value number) { return e.at(parts, e.mul(number, plan.partElements())); };
  add(parts, partAt(e.constant(1)));
  e.loop(e.constant(2), e.constant(schedule.splits), 1,
         [&](Value number) { add(sums.at, partAt(number)); });
  finishPanel(sums);
}

/// A vector of output channels after the other, the sums of some input channels become rows of a
/// matrix, which is written transposed: the filter's elements of an output channel are neighbours.
void FilterPhase::finishPanel(const Sums &sums) {
  const bool alongTaps =
      isVectorAxis(kernel.spec, {problem.outChannels, plan.inChannels * plan.taps()}, 1);
  Value begin = e.add(e.mul(sums.chunk, schedule.channels), sums.first);
  Sink filter;
  if (alongTaps)
    filter =
        sink(PackedPhase::IndexMap::identity({problem.outChannels, plan.inChannels * plan.taps()}));
  e.loop(schedule.vectors, [&](Value v) {
    Value lane = e.add(e.mul(sums.panel, plan.width), e.mul(v, e.lanes));
    Value left = e.minimum(e.constant(e.lanes), e.sub(e.constant(plan.outChannels), lane));
    Lanes lanes{e.add(e.mul(sums.group, plan.outChannels), lane), e.maximum(left, e.constant(0))};
    e.loop(e.constant(0), sums.channels, e.lanes, [&](Value first) {
      Value channels = e.minimum(e.constant(e.lanes), e.sub(sums.channels, first));
      if (alongTaps && plan.taps() == 1)
        prefetchTaps(filter, lanes, e.add(begin, e.add(first, e.lanes)));
      copyTaps(sums, e.add(sums.first, first), channels, v);
      Value count = e.mul(channels, plan.taps());
      if (alongTaps)
        writeTaps(filter, lanes, e.add(begin, first), count);
      else
        writeElements(lanes, e.add(begin, first), count);
    });
  });
}

/// Of `channels` input channels of the chunk from `first` on.
void FilterPhase::copyTaps(const Sums &sums, Value first, Value channels, Value vector) {
  const SmallVector<int64_t> offsets = plan.tapOffsets();
  Value table = e.table("taps", offsets);
  const int64_t boxPlane = schedule.boxRows * schedule.boxCols * plan.width;
  Value firstPlane = e.mul(first, problem.kernel[0]);
  e.loop(e.constant(0), e.mul(channels, problem.kernel[0]), 1, [&](Value number) {
    Value plane = e.add(firstPlane, number);
    Value box = e.sub(e.div(plane, schedule.boxChannels), sums.firstBox);
    Value start = e.add(e.mul(box, plan.planeElements()),
                        e.mul(e.rem(plane, schedule.boxChannels), boxPlane));
    start = e.add(start, e.mul(vector, e.lanes));
    e.loop(int64_t(offsets.size()), [&](Value tap) {
      Value place = e.add(start, e.entry(table, tap));
      Value row = e.add(e.mul(number, int64_t(offsets.size())), tap);
      e.storeAligned(e.loadAligned(e.at(sums.at, place)), e.at(taps, e.mul(row, e.lanes)));
    });
  });
}

/// The lines of the filter that the taps of a vector of input channels are written to: each output
/// channel's are on a page of their own. Of several taps they are longer pieces, which the
/// processor sees coming.
void FilterPhase::prefetchTaps(const Sink &filter, const Lanes &lanes, Value channel) {
  e.loop(e.constant(0), lanes.count, 1,
         [&](Value lane) { filter.prefetch({e.add(lanes.first, lane), channel}); });
}

void FilterPhase::writeTaps(const Sink &filter, const Lanes &lanes, Value channel, Value count) {
  Value first = e.mul(channel, plan.taps());
  e.loop(e.constant(0), count, e.lanes, [&](Value tap) {
    e.transpose(e.at(taps, e.mul(tap, e.lanes)), e.constant(e.lanes), tileBuffer,
                e.constant(e.lanes));
    e.forLanes(e.sub(count, tap), [&](Value mask) {
      e.loop(e.constant(0), lanes.count, 1, [&](Value lane) {
        filter.write(e.loadAligned(e.at(tileBuffer, e.mul(lane, e.lanes))),
                     {{e.add(lanes.first, lane), e.add(first, tap)}, 1, 1, mask});
      });
    });
  });
}

/// Where what is fused behind cannot follow the taps.
void FilterPhase::writeElements(const Lanes &lanes, Value channel, Value count) {
  Sink filter = sink(imageMap(problem.outChannels, plan.inChannels, problem.kernel));
  e.loop(e.constant(0), count, 1, [&](Value number) {
    SmallVector<Value> place =
        e.delinearize(number, {e.lanes, problem.kernel[0], problem.kernel[1], problem.kernel[2]});
    filter.write(e.loadAligned(e.at(taps, e.mul(number, e.lanes))),
                 {{lanes.first, e.add(channel, place[0]), place[1], place[2], place[3]},
                  0,
                  1,
                  e.lanesBelow(lanes.count)});
  });
}

LogicalResult codegen::emitFilterConvolution(const KernelSpec &spec, const Candidate &candidate,
                                             const CpuTarget &target, StringRef symbol,
                                             ModuleOp module, const ConvolutionProblem &stored) {
  const auto schedule = scheduleOf<FilterSchedule>(candidate.parameters);
  FilterPlan plan(stored, schedule, Element::of(spec).lanes(target), computesOperands(spec));
  const ConvolutionProblem &problem = plan.problem;
  const FilterSchedule &s = plan.schedule;
  MicroTile micro;
  if (s.readsGradient()) {
    for (int64_t v = 0; v < s.vectors; ++v)
      micro.columnOffsets.push_back(plan.columnAt(v * plan.lanes));
    micro.stepB = problem.yPixel();
  }
  micro.laterLines = plan.asksAhead();
  micro.laterOffsets = plan.hasLaterOffsets();
  // A box lies within a block of channels.
  const int64_t channel = plan.xBlock() > 1 ? 1 : plan.block.plane();
  for (int64_t m = 0; m < s.boxSize(); ++m) {
    const int64_t row = m / s.boxCols % s.boxRows * problem.dilation[1],
                  col = m % s.boxCols * problem.dilation[2];
    micro.rowOffsets.push_back(m / (s.boxCols * s.boxRows) * channel +
                               (row * plan.block.pitch + col) * plan.pixelStep());
  }
  micro.vectors = s.vectors;
  micro.stepA = plan.isOneRow() ? plan.colStep() * plan.pixelStep() : 0;
  LLVM::LLVMFuncOp function = s.kernel->emit(module, target, Element::of(spec), micro);
  FilterPhase sums(spec, target, module, phaseSymbol(symbol, candidate, 0), plan);
  sums.reduce(function);
  if (failed(sums.finish()))
    return failure();
  if (plan.hasParts()) {
    FilterPhase finish(spec, target, module, phaseSymbol(symbol, candidate, 1), plan);
    finish.addParts();
    if (failed(finish.finish()))
      return failure();
  }
  return emitLastPhases(spec, candidate, target, symbol, module);
}
