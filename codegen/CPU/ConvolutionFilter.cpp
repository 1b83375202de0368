// Emits the filter's gradient (see Convolution.h) in two phases:
//   0  for each (part of the batch, group, chunk of output channels, chunk of input channels): copies bands of x with their
//      zero border, transposes the same pixels of dy to [pixel][output channel] panels, and lets every register tile, a box
//      of filter taps, reduce over the pixels into its accumulators in the workspace;
//   1  adds the parts of the batch in ascending order and writes them through the sink.
#include "codegen/CPU/ConvolutionEmit.h"
#include "codegen/CPU/MicroKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace dlc::codegen;

namespace {

class FilterConvolution {
public:
  FilterConvolution(ModuleOp module, StringRef symbol, const ConvolutionProblem &problem,
                    const ConvolutionOperands &operands, const MachineModel &machine,
                    const FilterSchedule &schedule)
      : module(module), symbol(symbol), problem(problem), output(problem.output()),
        operands(operands), machine(machine), schedule(schedule), block(problem, schedule),
        width(schedule.vectors * machine.lanes), inChannels(problem.inChannels / problem.groups),
        outChannels(problem.outChannels / problem.groups), panels(ceilDiv(outChannels, width)),
        builder(module.getContext()),
        e(builder, NameLoc::get(builder.getStringAttr(symbol)), machine) {}

  EmittedKernel emit();

private:
  /// Coordinates of a task of phase 0, and the place of its accumulators.
  struct Task {
    Value split, group, panel, panelEnd, chunk, channel, channels;
  };
  /// A band of pixels: image, depth, first row and column, and its extents.
  struct Band {
    Value image, depth, row, col, rows, cols;
  };

  EmittedPhase emitReduce();
  EmittedPhase emitFinish();
  void begin(const EmittedPhase &phase);
  Task decode(Value number);
  void forEachBand(const Task &task, llvm::function_ref<void(const Band &)> body);
  void copySource(const Task &task, const Band &band, Value target);
  void packGradient(const Task &task, const Band &band, Value tile, Value target);
  void packTile(const Task &task, const Band &band, Value panel, Value row, Value col, Value tile,
                Value target);
  void runTiles(const Task &task, LLVM::LLVMFuncOp micro, Value steps, Value source, Value gradient,
                Value accumulate);
  void finishRow(Value group, Value panel, Value chunk, Value tile, Value row, Value partials);

  int64_t boxSize() const { return schedule.boxChannels * schedule.boxRows * schedule.boxCols; }
  int64_t slotSize() const { return boxSize() * width; }
  int64_t chunks() const { return ceilDiv(inChannels, schedule.channels); }
  int64_t panelChunks() const { return ceilDiv(panels, schedule.panels); }
  int64_t bandPixels() const { return schedule.bandRows * schedule.bandCols; }
  /// Elements of one part of the batch: [group][chunk][panel][tile][box][width].
  int64_t partElements() const {
    return problem.groups * chunks() * panels * block.tiles() * slotSize();
  }
  Value slot(Value group, Value chunk, Value panel) {
    Value place = e.add(e.mul(e.add(e.mul(group, chunks()), chunk), panels), panel);
    return e.mul(place, block.tiles() * slotSize());
  }

  ModuleOp module;
  std::string symbol;
  const ConvolutionProblem &problem;
  ConvolutionProblem::Spatial output;
  const ConvolutionOperands &operands;
  const MachineModel &machine;
  FilterSchedule schedule;
  FilterBlock block;
  int64_t width, inChannels, outChannels, panels;
  OpBuilder builder;
  PackEmitter e;
  Value taskNumber, scratch;
};

} // namespace

void FilterConvolution::begin(const EmittedPhase &phase) {
  KernelArguments arguments = beginKernel(e, module, phase.symbol, operands.arguments + 1);
  taskNumber = arguments.task;
  scratch = arguments.scratch;
}

EmittedKernel FilterConvolution::emit() {
  EmittedKernel kernel;
  kernel.workspaceBytes = 4 * schedule.splits * partElements();
  kernel.phases.push_back(emitReduce());
  kernel.phases.push_back(emitFinish());
  return kernel;
}

//===-------------------------------------------------------------------------------------------- reduction

FilterConvolution::Task FilterConvolution::decode(Value number) {
  Task task;
  auto take = [&](int64_t count) {
    Value part = e.rem(number, count);
    number = e.div(number, count);
    return part;
  };
  task.chunk = take(chunks());
  task.channel = e.mul(task.chunk, schedule.channels);
  task.channels = e.minimum(e.constant(schedule.channels),
                            e.sub(e.constant(inChannels), task.channel));
  task.panel = e.mul(take(panelChunks()), schedule.panels);
  task.panelEnd = e.minimum(e.add(task.panel, schedule.panels), e.constant(panels));
  task.group = take(problem.groups);
  task.split = number;
  return task;
}

void FilterConvolution::forEachBand(const Task &task, llvm::function_ref<void(const Band &)> body) {
  const int64_t images = ceilDiv(problem.batch, schedule.splits);
  Value first = e.mul(task.split, images);
  Value last = e.minimum(e.add(first, images), e.constant(problem.batch));
  e.loop(first, last, 1, [&](Value image) {
    e.loop(output[0], [&](Value depth) {
      e.loop(e.constant(0), e.constant(output[1]), schedule.bandRows, [&](Value row) {
        e.loop(e.constant(0), e.constant(output[2]), schedule.bandCols, [&](Value col) {
          auto left = [&](int64_t box, int64_t extent, Value start) {
            return e.minimum(e.constant(box), e.sub(e.constant(extent), start));
          };
          body({image, depth, row, col, left(schedule.bandRows, output[1], row),
                left(schedule.bandCols, output[2], col)});
        });
      });
    });
  });
}

EmittedPhase FilterConvolution::emitReduce() {
  const int64_t tileElements = machine.lanes * machine.lanes;
  const int64_t sourceElements =
      roundUp(block.planes * block.plane() + machine.lanes, machine.lanes);
  // Transposed tiles are written whole: a narrow last one spills over the panel's end.
  const int64_t panelElements = (bandPixels() + machine.lanes) * width;
  EmittedPhase result;
  result.symbol = symbol + "_0";
  result.tasks = schedule.splits * problem.groups * panelChunks() * chunks();
  result.scratchBytes = 4 * (tileElements + schedule.panels * panelElements + sourceElements);

  MicroKernel micro;
  for (int64_t m = 0; m < boxSize(); ++m) {
    int64_t s = m % schedule.boxCols, r = m / schedule.boxCols % schedule.boxRows;
    micro.rowOffsets.push_back(m / (schedule.boxCols * schedule.boxRows) * block.plane() +
                               r * problem.dilation[1] * block.pitch + s * problem.dilation[2]);
  }
  micro.vectors = schedule.vectors;
  micro.stepA = schedule.bandRows == 1 ? problem.stride[2] : 0;
  auto function = emitMicroKernel(builder, module, e.loc, machine, micro, symbol + "_micro");

  begin(result);
  Task task = decode(taskNumber);
  Value tile = scratch, gradient = e.at(tile, tileElements);
  Value source = e.at(gradient, schedule.panels * panelElements);
  Value firstImage = e.mul(task.split, ceilDiv(problem.batch, schedule.splits));
  forEachBand(task, [&](const Band &band) {
    copySource(task, band, source);
    packGradient(task, band, tile, gradient);
    Value position = e.add(e.add(e.sub(band.image, firstImage), band.depth),
                           e.add(band.row, band.col));
    runTiles(task, function, e.mul(band.rows, band.cols), source, gradient,
             e.less(e.constant(0), position));
  });
  LLVM::ReturnOp::create(builder, e.loc, ValueRange());
  return result;
}

void FilterConvolution::copySource(const Task &task, const Band &band, Value target) {
  auto origin = [&](Value index, unsigned axis) {
    return e.sub(e.mul(index, problem.stride[axis]), e.constant(problem.padLow[axis]));
  };
  Value first = e.add(e.mul(task.group, inChannels), task.channel);
  e.loop(block.planes, [&](Value plane) {
    // Channels that do not exist repeat the last one: what is computed from them is not written, but must not be slow.
    Value channel = e.minimum(e.div(plane, problem.kernel[0]), e.add(task.channels, -1));
    Value slice = e.mul(e.rem(plane, problem.kernel[0]), problem.dilation[0]);
    Value corner[] = {band.image, e.add(first, channel), e.add(origin(band.depth, 0), slice),
                      origin(band.row, 1), origin(band.col, 2)};
    copyPlane(e, operands.source, corner, problem.input, block.rows, block.pitch,
              e.at(target, e.mul(plane, block.plane())));
  });
}

void FilterConvolution::packGradient(const Task &task, const Band &band, Value tile,
                                     Value target) {
  const int64_t panelElements = (bandPixels() + machine.lanes) * width;
  e.loop(task.panel, task.panelEnd, 1, [&](Value panel) {
    Value base = e.at(target, e.mul(e.sub(panel, task.panel), panelElements));
    e.loop(e.constant(0), band.rows, 1, [&](Value row) {
      // Ascending, so that what a narrow tile spills is overwritten by its successor.
      e.loop(e.constant(0), band.cols, machine.lanes, [&](Value col) {
        packTile(task, band, panel, row, col, tile, base);
      });
    });
  });
}

/// lanes pixels of every vector of the panel.
void FilterConvolution::packTile(const Task &task, const Band &band, Value panel, Value row,
                                 Value col, Value tile, Value target) {
  Value mask = e.lanesBelow(e.sub(band.cols, col));
  Value pixel = e.add(e.mul(row, schedule.bandCols), col);
  e.loop(schedule.vectors, [&](Value v) {
    Value lane = e.add(e.mul(panel, width), e.mul(v, machine.lanes));
    Value channels = e.minimum(e.constant(machine.lanes), e.sub(e.constant(outChannels), lane));
    Value first = e.add(e.mul(task.group, outChannels), lane);
    e.clearRows(tile, channels);
    e.loop(e.constant(0), channels, 1, [&](Value channel) {
      Value vector = operands.other.read(
          e, {{band.image, e.add(first, channel), band.depth, e.add(band.row, row),
               e.add(band.col, col)},
              4, 1, mask});
      e.store(vector, e.at(tile, e.mul(channel, machine.lanes)), /*aligned=*/true);
    });
    e.transpose(tile, e.constant(machine.lanes),
                e.at(target, e.add(e.mul(pixel, width), e.mul(v, machine.lanes))),
                e.constant(width));
  });
}

void FilterConvolution::runTiles(const Task &task, LLVM::LLVMFuncOp micro, Value steps,
                                 Value source, Value gradient, Value accumulate) {
  SmallVector<int32_t> offsets;
  for (int64_t pixel = 0; pixel < bandPixels(); ++pixel)
    offsets.push_back(
        int32_t(pixel / schedule.bandCols * problem.stride[1] * block.pitch +
                pixel % schedule.bandCols * problem.stride[2]));
  Value table = emitTable(e, module, symbol + "_offsets", offsets);
  const int64_t panelElements = (bandPixels() + machine.lanes) * width;
  Value part = e.at(e.buffer(operands.arguments), e.mul(task.split, partElements()));
  e.loop(task.panel, task.panelEnd, 1, [&](Value panel) {
    Value packed = e.at(gradient, e.mul(e.sub(panel, task.panel), panelElements));
    Value slots = e.at(part, slot(task.group, task.chunk, panel));
    e.loop(block.channelTiles, [&](Value channel) {
      e.loop(block.rowTiles, [&](Value r) {
        e.loop(block.colTiles, [&](Value s) {
          Value tile = e.add(e.mul(e.add(e.mul(channel, block.rowTiles), r), block.colTiles), s);
          Value corner = e.add(
              e.mul(channel, schedule.boxChannels * block.plane()),
              e.add(e.mul(r, schedule.boxRows * problem.dilation[1] * block.pitch),
                    e.mul(s, schedule.boxCols * problem.dilation[2])));
          LLVM::CallOp::create(builder, e.loc, micro,
                               ValueRange{e.at(source, corner), packed, table, steps,
                                          e.at(slots, e.mul(tile, slotSize())), accumulate});
        });
      });
    });
  });
}

//===-------------------------------------------------------------------------------------------- finish

EmittedPhase FilterConvolution::emitFinish() {
  EmittedPhase result{symbol + "_1", problem.groups * chunks() * panels, 0};
  begin(result);
  Value panel = e.rem(taskNumber, panels), rest = e.div(taskNumber, panels);
  Value chunk = e.rem(rest, chunks()), group = e.div(rest, chunks());
  Value partials = e.at(e.buffer(operands.arguments), slot(group, chunk, panel));
  e.loop(block.tiles(), [&](Value tile) {
    e.loop(boxSize(), [&](Value row) { finishRow(group, panel, chunk, tile, row, partials); });
  });
  LLVM::ReturnOp::create(builder, e.loc, ValueRange());
  return result;
}

/// Adds the parts of one tap for a panel of output channels and writes them.
void FilterConvolution::finishRow(Value group, Value panel, Value chunk, Value tile, Value row,
                                  Value partials) {
  Value s = e.add(e.mul(e.rem(tile, block.colTiles), schedule.boxCols),
                  e.rem(row, schedule.boxCols));
  Value rows = e.div(tile, block.colTiles), inBox = e.div(row, schedule.boxCols);
  Value r = e.add(e.mul(e.rem(rows, block.rowTiles), schedule.boxRows),
                  e.rem(inBox, schedule.boxRows));
  Value plane = e.add(e.mul(e.div(rows, block.rowTiles), schedule.boxChannels),
                      e.div(inBox, schedule.boxRows));
  Value d = e.rem(plane, problem.kernel[0]), inChunk = e.div(plane, problem.kernel[0]);
  Value channel = e.add(e.mul(chunk, schedule.channels), inChunk);
  Value exists = e.both(e.less(s, e.constant(problem.kernel[2])),
                        e.less(r, e.constant(problem.kernel[1])));
  exists = e.both(exists, e.both(e.less(inChunk, e.constant(schedule.channels)),
                                 e.less(channel, e.constant(inChannels))));
  e.when(exists, [&] {
    e.loop(schedule.vectors, [&](Value v) {
      Value place = e.add(e.add(e.mul(tile, slotSize()), e.mul(row, width)),
                          e.mul(v, machine.lanes));
      Value first = e.load(e.at(partials, place), /*aligned=*/true);
      Value sum = e.sum(first, schedule.splits, [&](Value split) {
        return e.load(e.at(partials, e.add(e.mul(split, partElements()), place)), true);
      });
      Value lane = e.add(e.mul(panel, width), e.mul(v, machine.lanes));
      Value mask = e.lanesBelow(e.sub(e.constant(outChannels), lane));
      operands.result.write(
          e, sum, {{e.add(e.mul(group, outChannels), lane), channel, d, r, s}, 0, 1, mask});
    });
  });
}

EmittedKernel dlc::codegen::emitFilterConvolution(ModuleOp module, StringRef symbol,
                                                  const ConvolutionProblem &problem,
                                                  const ConvolutionOperands &operands,
                                                  const MachineModel &machine,
                                                  const FilterSchedule &schedule) {
  return FilterConvolution(module, symbol, problem, operands, machine, schedule).emit();
}
