//===- WinogradFilter.cpp - the filter's gradient ---------------------------------------------===//
//
// Two phases:
//   0  for each (part of the blocks, chunk of output channels, chunk of input channels): transforms
//      the tiles of x into [point][channel vector][tile][part][lane] and those of dy into
//      [point][panel][tile][vectors * lanes], and adds their products, point by point, to
//      [point][panel][input channel][vectors * lanes] in the workspace;
//   1  adds the parts in ascending order, transforms the sums back and writes them.
//
// Where tasks share the tiles of all blocks, two phases before them transform those of x and of dy
// into the workspace, and a task of phase 0 has all products of a point. Of more tiles than the
// workspace is to hold, these three go through some of the blocks, and then again through others.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Convolution/Convolution.h"
#include "codegen/CPU/Gemm/MicroKernel.h"
#include "codegen/CPU/Winograd/Winograd.h"
#include "codegen/CPU/Winograd/WinogradTiles.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// Everything that both phases of a kernel agree on; in elements.
struct FilterPlan {
  FilterPlan(const ConvolutionProblem &problem, const WinogradSchedule &schedule, int64_t lanes)
      : problem(problem), sizes(withoutStrides(problem), schedule, lanes) {}

  const ConvolutionProblem &problem;
  WinogradSizes sizes;

  const WinogradSchedule &schedule() const { return sizes.schedule; }
  int64_t panelChunks() const { return ceilDiv(sizes.targetPanels, schedule().panels); }
  int64_t vectorChunks() const { return ceilDiv(sizes.sourceVectors, schedule().channelVectors); }
  int64_t blocksOfPart() const { return ceilDiv(sizes.blocks, schedule().splits); }
  /// Between points, with a cache line more than the size: see WinogradData.cpp.
  int64_t imageStride() const {
    return schedule().channelVectors * sizes.blockTiles * sizes.parts * sizes.lanes + lineElements;
  }
  int64_t gradientStride() const {
    return schedule().panels * sizes.blockTiles * sizes.width + lineElements;
  }
  int64_t panelElements() const { return sizes.sourceVectors * sizes.lanes * sizes.width; }
  int64_t sumStride() const { return sizes.targetPanels * panelElements() + lineElements; }
  int64_t partElements() const { return sizes.points * sumStride(); }
  /// Of the tiles that are shared, of all blocks; of a block, x's stand in front of dy's.
  int64_t imageElements() const { return sizes.points * imageStride(); }
  int64_t blockElements() const { return sizes.points * (imageStride() + gradientStride()); }
  int64_t sharedElements() const {
    return schedule().sharesTiles ? sizes.sharedBlocks() * blockElements() : 0;
  }
  /// Tasks of the three phases of a round, of `blocks` blocks.
  std::array<int64_t, 3> tasksOf(int64_t blocks) const {
    return {blocks * sizes.sourceVectors, blocks * gradientVectors(), sizes.points};
  }
  int64_t gradientVectors() const { return sizes.targetPanels * sizes.channelVectorsOfPanel(); }
  int64_t gatherElements() const {
    return (sizes.lanes + std::max(sizes.sourceRows() * sizes.sourcePitch(),
                                   schedule().tileRows * sizes.targetPitch())) *
           sizes.lanes;
  }
  int64_t transformElements() const { return gatherElements() + sizes.bufferElements(); }
  int64_t scratchElements() const { return transformElements() + blockElements(); }
  // Of phase 1: taps, a transform's numbers, and the points of one filter where there are parts.
  int64_t pointElements() const { return sizes.points * sizes.parts * sizes.lanes; }
  int64_t filterScratchElements() const {
    return sizes.tapElements() + sizes.bufferElements() +
           (schedule().splits > 1 ? pointElements() : 0);
  }
};

/// One phase of a kernel.
class FilterPhase : public WinogradPhase {
public:
  FilterPhase(const KernelSpec &spec, const CpuTarget &target, ModuleOp module, StringRef name,
              const FilterPlan &plan)
      : WinogradPhase(spec, target, module, name, /*workspaces=*/1, plan.problem, plan.sizes),
        plan(plan) {}

  void reduce(LLVM::LLVMFuncOp micro);
  void shareImages();
  void shareGradients();
  void reduceShared(LLVM::LLVMFuncOp micro);
  void addParts();

private:
  /// Ranges of panels and channel vectors of a task of phase 0.
  struct Task {
    Value part, panel, panelEnd, vector, vectorEnd;
  };
  Task wholeTask();
  void readSources();
  /// Sets where a shared block's tiles stand.
  void shareBlock(Value block);
  /// Whether shared tiles come back from memory anyway.
  bool streamsTiles() const { return schedule.sharesTiles && e.streams(4 * plan.sharedElements()); }
  void transformImages(const Task &task, Value block);
  void transformGradients(const Task &task, Value block);
  void transformImage(const Task &task, Value vector, Value block);
  void transformGradient(const Task &task, Value panel, Value inPanel, Value block);
  void multiply(const Task &task, Value point, LLVM::LLVMFuncOp micro, Value block,
                Value accumulate);
  /// Adds the parts of one filter's points, the first at `first`, into `sums`.
  void addPoints(Value first, Value sums);
  /// Of the sums of a panel of output channels and a vector of input channels.
  Value sumPlace(Value panel, Value channelVector);

  const FilterPlan &plan;
  Source x, dy;
  Value gathered, numbers, images, gradients; ///< in the scratch
};

} // namespace

Candidate codegen::winogradFilterCandidate(const ConvolutionProblem &problem,
                                           const WinogradSchedule &schedule,
                                           const CpuTarget &target) {
  FilterPlan plan(problem, schedule, target.vectorBytes / 4);
  const WinogradSizes &sizes = plan.sizes;
  Candidate candidate;
  candidate.schedule = textOf(schedule);
  candidate.parameters = numbersOf(schedule);
  candidate.workspaceBytes = 4 * (schedule.splits * plan.partElements() + plan.sharedElements());
  if (schedule.sharesTiles) {
    const int64_t scratch[] = {plan.transformElements(), plan.transformElements(), 0};
    for (int64_t block = 0; block < sizes.blocks; block += sizes.sharedBlocks()) {
      const auto tasks = plan.tasksOf(std::min(sizes.sharedBlocks(), sizes.blocks - block));
      for (auto [number, elements] : llvm::zip_equal(tasks, scratch))
        candidate.phases.push_back({uint64_t(number), uint64_t(4 * elements)});
    }
  } else {
    candidate.phases.push_back(
        {uint64_t(schedule.splits * plan.panelChunks() * plan.vectorChunks()),
         uint64_t(4 * plan.scratchElements())});
  }
  candidate.phases.push_back({uint64_t(sizes.targetPanels * sizes.sourceVectors),
                              uint64_t(4 * plan.filterScratchElements())});
  candidate.phases.back().sideBytes =
      4 * schedule.splits * plan.partElements() + problem.filterBytes();
  candidate.cost = winogradSeconds(problem, target, schedule);
  return candidate;
}

Value FilterPhase::sumPlace(Value panel, Value channelVector) {
  Value row = e.add(e.mul(panel, sizes.sourceVectors), channelVector);
  return e.mul(row, e.lanes * sizes.width);
}

//===------------------------------------------------------------------------------------------===//
// Phase 0: sums over tiles
//===------------------------------------------------------------------------------------------===//

void FilterPhase::readSources() {
  x = source(0, imageOrBlockMap(problem.batch, problem.inChannels, problem.xBlock, problem.input));
  dy = source(1,
              imageOrBlockMap(problem.batch, problem.outChannels, problem.yBlock, problem.output));
  gathered = kernel.scratch;
  numbers = e.at(gathered, plan.gatherElements());
}

void FilterPhase::reduce(LLVM::LLVMFuncOp micro) {
  readSources();
  images = e.at(numbers, sizes.bufferElements());
  gradients = e.at(images, plan.imageElements());
  SmallVector<Value> place =
      e.delinearize(kernel.task, {schedule.splits, plan.panelChunks(), plan.vectorChunks()});
  Task task;
  task.part = place[0];
  task.panel = e.mul(place[1], schedule.panels);
  task.panelEnd = e.minimum(e.add(task.panel, schedule.panels), e.constant(sizes.targetPanels));
  task.vector = e.mul(place[2], schedule.channelVectors);
  task.vectorEnd =
      e.minimum(e.add(task.vector, schedule.channelVectors), e.constant(sizes.sourceVectors));
  Value first = e.mul(task.part, plan.blocksOfPart());
  Value last = e.minimum(e.add(first, plan.blocksOfPart()), e.constant(sizes.blocks));
  e.loop(first, last, 1, [&](Value block) {
    transformImages(task, block);
    transformGradients(task, block);
    Value accumulate = e.less(first, block);
    e.loop(sizes.points, [&](Value point) { multiply(task, point, micro, block, accumulate); });
  });
}

FilterPhase::Task FilterPhase::wholeTask() {
  Value zero = e.constant(0);
  return {zero, zero, e.constant(sizes.targetPanels), zero, e.constant(sizes.sourceVectors)};
}

void FilterPhase::shareBlock(Value block) {
  Value ofRound = e.rem(block, sizes.sharedBlocks());
  images =
      e.at(kernel.workspace(), e.add(e.mul(ofRound, plan.blockElements()), plan.partElements()));
  gradients = e.at(images, plan.imageElements());
}

/// A task has a block's tiles of a vector of channels.
void FilterPhase::shareImages() {
  readSources();
  SmallVector<Value> place = e.delinearize(kernel.task, {sizes.blocks, sizes.sourceVectors});
  shareBlock(place[0]);
  Task task = wholeTask();
  task.vectorEnd = {}; // behind it other tasks'
  transformImage(task, place[1], place[0]);
  if (streamsTiles())
    e.endStreams();
}

void FilterPhase::shareGradients() {
  readSources();
  SmallVector<Value> place =
      e.delinearize(kernel.task, {sizes.blocks, sizes.targetPanels, sizes.channelVectorsOfPanel()});
  shareBlock(place[0]);
  Task task = wholeTask();
  task.panelEnd = {};
  transformGradient(task, place[1], place[2], place[0]);
  if (streamsTiles())
    e.endStreams();
}

void FilterPhase::reduceShared(LLVM::LLVMFuncOp micro) {
  Value round = e.div(kernel.task, sizes.points), point = e.rem(kernel.task, sizes.points);
  Value first = e.mul(round, sizes.sharedBlocks());
  Value end = e.minimum(e.add(first, sizes.sharedBlocks()), e.constant(sizes.blocks));
  e.loop(first, end, 1, [&](Value block) {
    shareBlock(block);
    multiply(wholeTask(), point, micro, block, e.less(e.constant(0), block));
  });
}

void FilterPhase::transformImages(const Task &task, Value block) {
  e.loop(task.vector, task.vectorEnd, 1,
         [&](Value vector) { transformImage(task, vector, block); });
}

void FilterPhase::transformImage(const Task &task, Value vector, Value block) {
  WinogradTiles tiles{x,
                      sizes.sourceChannels,
                      problem.xBlock,
                      problem.input[1],
                      problem.input[2],
                      sizes.sourceRows(),
                      sizes.sourcePitch(),
                      -problem.padLow[1],
                      -problem.padLow[2],
                      problem.stride,
                      TileTransform::Side::Source,
                      streamsTiles()};
  tiles.endVector = task.vectorEnd;
  Value row = e.mul(e.sub(vector, task.vector), sizes.blockTiles);
  forSegments(decodeBlock(block), [&](const WinogradSegment &segment) {
    transformTiles(
        tiles, segment, vector, gathered, numbers, plan.imageStride(), e.lanes,
        [&](Value tile) { return e.at(images, e.mul(e.add(row, tile), sizes.parts * e.lanes)); });
  });
}

void FilterPhase::transformGradients(const Task &task, Value block) {
  e.loop(task.panel, task.panelEnd, 1, [&](Value panel) {
    e.loop(sizes.channelVectorsOfPanel(),
           [&](Value inPanel) { transformGradient(task, panel, inPanel, block); });
  });
}

void FilterPhase::transformGradient(const Task &task, Value panel, Value inPanel, Value block) {
  WinogradTiles tiles{dy,
                      problem.outChannels,
                      problem.yBlock,
                      problem.output[1],
                      problem.output[2],
                      schedule.tileRows,
                      sizes.targetPitch(),
                      0,
                      0,
                      {1, 1, 1},
                      TileTransform::Side::Target,
                      streamsTiles()};
  if (task.panelEnd)
    tiles.endVector = e.mul(task.panelEnd, sizes.channelVectorsOfPanel());
  Value row = e.mul(e.sub(panel, task.panel), sizes.blockTiles);
  Value vector = e.add(e.mul(panel, sizes.channelVectorsOfPanel()), inPanel);
  Value base = e.at(gradients, e.mul(inPanel, sizes.parts * e.lanes));
  forSegments(decodeBlock(block), [&](const WinogradSegment &segment) {
    transformTiles(tiles, segment, vector, gathered, numbers, plan.gradientStride(), e.lanes,
                   [&](Value tile) { return e.at(base, e.mul(e.add(row, tile), sizes.width)); });
  });
}

void FilterPhase::multiply(const Task &task, Value point, LLVM::LLVMFuncOp micro, Value block,
                           Value accumulate) {
  Value part = e.at(kernel.workspace(), e.mul(task.part, plan.partElements()));
  Value none = LLVM::ZeroOp::create(e.b, e.loc, e.pointerType());
  const auto [first, end] = tilesOf(decodeBlock(block), point);
  Value steps = e.sub(end, first);
  Value image =
      e.at(images, e.add(e.mul(point, plan.imageStride()), e.mul(first, sizes.parts * e.lanes)));
  Value gradient =
      e.at(gradients, e.add(e.mul(point, plan.gradientStride()), e.mul(first, sizes.width)));
  Value sums = e.at(part, e.mul(point, plan.sumStride()));
  e.loop(task.vector, task.vectorEnd, 1, [&](Value vector) {
    Value rows =
        e.at(image, e.mul(e.sub(vector, task.vector), sizes.blockTiles * sizes.parts * e.lanes));
    e.loop(task.panel, task.panelEnd, 1, [&](Value panel) {
      Value columns =
          e.at(gradient, e.mul(e.sub(panel, task.panel), sizes.blockTiles * sizes.width));
      Value sum = e.at(sums, sumPlace(panel, vector));
      e.loop(e.constant(0), e.constant(e.lanes), schedule.rows, [&](Value row) {
        LLVM::CallOp::create(e.b, e.loc, micro,
                             ValueRange{e.at(rows, row), columns, none, steps,
                                        e.at(sum, e.mul(row, sizes.width)), accumulate});
      });
    });
  });
}

//===------------------------------------------------------------------------------------------===//
// The last phase: the filter
//===------------------------------------------------------------------------------------------===//

void FilterPhase::addPoints(Value first, Value sums) {
  e.loop(sizes.points, [&](Value point) {
    for (int64_t part = 0; part < sizes.parts; ++part) {
      Value number = pointPlace(e, first, point, plan.sumStride(), part, e.lanes);
      Value sum = e.sum(e.loadAligned(number), schedule.splits, [&](Value split) {
        return e.loadAligned(e.at(number, e.mul(split, plan.partElements())));
      });
      e.storeAligned(sum, pointPlace(e, sums, point, sizes.parts * e.lanes, part, e.lanes));
    }
  });
}

void FilterPhase::addParts() {
  Sink filter = sink(imageMap(problem.outChannels, problem.inChannels, problem.kernel));
  SmallVector<Value> task = e.delinearize(kernel.task, {sizes.targetPanels, sizes.sourceVectors});
  Value taps = kernel.scratch;
  numbers = e.at(taps, sizes.tapElements());
  Value points = e.at(numbers, sizes.bufferElements());
  Value sums = e.at(kernel.workspace(), sumPlace(task[0], task[1]));
  Value firstChannel = e.mul(task[1], e.lanes);
  Value channels =
      e.minimum(e.constant(e.lanes), e.sub(e.constant(sizes.sourceChannels), firstChannel));
  e.loop(e.constant(0), channels, 1, [&](Value channel) {
    e.loop(sizes.channelVectorsOfPanel(), [&](Value vector) {
      Value place =
          e.at(sums, e.add(e.mul(channel, sizes.width), e.mul(vector, sizes.parts * e.lanes)));
      Value lane = e.add(e.mul(task[0], sizes.panelChannels()), e.mul(vector, e.lanes));
      Value mask = e.lanesBelow(e.sub(e.constant(problem.outChannels), lane));
      TilePlaces places{taps, sizes.wideTaps * e.lanes, place, plan.sumStride(), e.lanes, numbers};
      if (schedule.splits > 1) {
        addPoints(place, points);
        places.points = points;
        places.pointStride = sizes.parts * e.lanes;
      }
      callToPixels(e, *transform, TileTransform::Side::Filter, places);
      const PhaseChannel phase = phaseOf(e.add(firstChannel, channel));
      forTaps(taps, phase, /*clears=*/false, [&](Value high, Value wide, Value place) {
        filter.write(e.loadAligned(place),
                     {{lane, phase.channel, e.constant(0), high, wide}, 0, 1, mask});
      });
    });
  });
}

/// A phase that runs the tasks of function `first` from number `task` on.
static void emitLater(ModuleOp module, const CpuTarget &target, StringRef name, StringRef first,
                      int64_t task) {
  OpBuilder builder(module.getContext());
  auto earlier = module.lookupSymbol<LLVM::LLVMFuncOp>(first);
  auto later = createFunction(builder, earlier.getLoc(), module, target, name,
                              earlier.getArgumentTypes(), /*exported=*/true);
  CodeEmitter e(builder, earlier.getLoc());
  SmallVector<Value> arguments(later.getArguments());
  arguments[1] = e.add(arguments[1], e.number(double(task), arguments[1].getType()));
  LLVM::CallOp::create(builder, e.loc, earlier, arguments);
  LLVM::ReturnOp::create(builder, e.loc, ValueRange());
}

LogicalResult codegen::emitWinogradFilter(const KernelSpec &spec, const Candidate &candidate,
                                          const CpuTarget &target, StringRef symbol,
                                          ModuleOp module, const ConvolutionProblem &problem) {
  const WinogradSchedule schedule = scheduleOf<WinogradSchedule>(candidate.parameters);
  FilterPlan plan(problem, schedule, target.vectorBytes / 4);
  MicroTile micro;
  for (int64_t row = 0; row < schedule.rows; ++row)
    micro.rowOffsets.push_back(row);
  micro.vectors = schedule.vectors;
  micro.stepA = plan.sizes.parts * plan.sizes.lanes;
  if (plan.sizes.parts == 2)
    micro.imaginary = plan.sizes.lanes;
  LLVM::LLVMFuncOp function = fmaKernel().emit(module, target, Element::of(spec), micro);
  unsigned count = 0;
  auto run = [&](llvm::function_ref<void(FilterPhase &)> emit) {
    FilterPhase phase(spec, target, module, phaseSymbol(symbol, candidate, count++), plan);
    emit(phase);
    return phase.finish();
  };
  if (schedule.sharesTiles) {
    if (failed(run([](FilterPhase &phase) { phase.shareImages(); })) ||
        failed(run([](FilterPhase &phase) { phase.shareGradients(); })) ||
        failed(run([&](FilterPhase &phase) { phase.reduceShared(function); })))
      return failure();
    for (int64_t round = 1; round < plan.sizes.sharedRounds(); ++round)
      for (auto [number, tasks] : llvm::enumerate(plan.tasksOf(plan.sizes.sharedBlocks())))
        emitLater(module, target, phaseSymbol(symbol, candidate, count++),
                  phaseSymbol(symbol, candidate, number), round * tasks);
  } else if (failed(run([&](FilterPhase &phase) { phase.reduce(function); }))) {
    return failure();
  }
  if (failed(run([](FilterPhase &phase) { phase.addParts(); })))
    return failure();
  return emitLastPhases(spec, candidate, target, symbol, module);
}
