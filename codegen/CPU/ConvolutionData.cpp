// Emits forward and backward-data convolution (see Convolution.h) in two phases:
//   0  packs the filter into panels [phase][group][panel][source channel][tap][vectors * lanes] in the workspace;
//   1  for each (image, group, band of pixels, chunk of panels): copies the source block with its zero border, runs the
//      micro-kernel over the tiles, transposes each finished tile to channel-major rows and writes them through the sink.
#include "codegen/CPU/ConvolutionEmit.h"
#include "codegen/CPU/ConvolutionSchedule.h"
#include "codegen/CPU/MicroKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace dlc::codegen;

namespace {

/// Columns of the phase table.
enum PhaseField : int64_t {
  Taps,        // taps of the phase
  OffsetStart, // first entry in the table of source offsets
  FilterStart, // first entry in the table of filter indices
  SliceStart,  // first entry in the table of depth offsets
  PackedStart, // first element of the packed filter
  FirstD, FirstH, FirstW, CountD, CountH, CountW, MinH, MinW, Slices,
  PhaseFields
};

class DataConvolution {
public:
  DataConvolution(ModuleOp module, StringRef symbol, const ConvolutionProblem &problem,
                  const ConvolutionOperands &operands, const MachineModel &machine,
                  const DataSchedule &schedule)
      : module(module), symbol(symbol), problem(problem), geometry(problem), operands(operands),
        machine(machine), schedule(schedule), block(geometry, schedule),
        width(schedule.vectors * machine.lanes),
        panels(ceilDiv(geometry.targetChannels, width)), builder(module.getContext()),
        e(builder, NameLoc::get(builder.getStringAttr(symbol)), machine) {
    buildTables();
  }

  EmittedKernel emit();

private:
  /// Coordinates of a compute task.
  struct Task {
    Value phase, image, group, depth, row, col, panel, panelEnd;
  };

  void buildTables();
  void appendPhase(int64_t phase, int64_t &packed);
  Value field(Value phase, PhaseField which);
  Value table(StringRef suffix, ArrayRef<int32_t> values);

  EmittedPhase emitPack();
  EmittedPhase emitCompute();
  void begin(const EmittedPhase &phase);
  Task decode(Value number);
  void copySource(const Task &task, Value firstChannel, Value channels, Value target);
  void runTiles(const Task &task, LLVM::LLVMFuncOp micro, Value firstChannel, Value channels,
                Value source, Value accumulators);
  void finishTile(const Task &task, Value panel, Value row, Value col, Value acc);

  int64_t blocks() const { return ceilDiv(geometry.sourceChannels, schedule.channelBlock); }
  int64_t boxSize() const { return schedule.boxRows * schedule.boxCols; }
  int64_t slotSize() const { return roundUp(boxSize(), machine.lanes) * width; }
  int64_t bands(unsigned axis) const {
    return axis == 1 ? ceilDiv(geometry.maxCount(1), schedule.bandRows * schedule.boxRows)
                     : ceilDiv(geometry.maxCount(2), schedule.bandCols * schedule.boxCols);
  }
  int64_t chunks() const { return ceilDiv(panels, schedule.panels); }

  ModuleOp module;
  std::string symbol;
  const ConvolutionProblem &problem;
  DataGeometry geometry;
  const ConvolutionOperands &operands;
  const MachineModel &machine;
  DataSchedule schedule;
  DataBlock block;
  int64_t width, panels, packedElements = 0;
  SmallVector<int32_t> phaseTable, offsetTable, filterTable, sliceTable;
  OpBuilder builder;
  PackEmitter e;
  Value taskNumber, scratch;
};

} // namespace

//===-------------------------------------------------------------------------------------------- tables

void DataConvolution::buildTables() {
  for (int64_t phase = 0; phase < geometry.phases(); ++phase)
    appendPhase(phase, packedElements);
}

void DataConvolution::appendPhase(int64_t phase, int64_t &packed) {
  const PhaseDimension &d = geometry.dimension(phase, 0), &h = geometry.dimension(phase, 1),
                       &w = geometry.dimension(phase, 2);
  const int64_t taps = geometry.taps(phase);
  int64_t row[PhaseFields] = {};
  row[Taps] = taps;
  row[OffsetStart] = int64_t(offsetTable.size());
  row[FilterStart] = int64_t(filterTable.size());
  row[SliceStart] = int64_t(sliceTable.size());
  row[PackedStart] = packed;
  row[FirstD] = d.first, row[FirstH] = h.first, row[FirstW] = w.first;
  row[CountD] = d.count, row[CountH] = h.count, row[CountW] = w.count;
  row[MinH] = h.minOffset(), row[MinW] = w.minOffset();
  row[Slices] = taps ? int64_t(d.taps.size()) : 0;
  phaseTable.append(row, row + PhaseFields);

  for (const ConvolutionTap &tap : d.taps)
    sliceTable.push_back(int32_t(tap.offset));
  auto forEachTap = [&](auto visit) {
    for (auto [slice, td] : llvm::enumerate(d.taps))
      for (const ConvolutionTap &th : h.taps)
        for (const ConvolutionTap &tw : w.taps)
          visit(int64_t(slice), td, th, tw);
  };
  forEachTap([&](int64_t, auto &td, auto &th, auto &tw) {
    filterTable.push_back(int32_t((td.kernel * geometry.kernel[1] + th.kernel) * geometry.kernel[2] +
                                  tw.kernel));
  });
  for (int64_t channel = 0; channel < schedule.channelBlock; ++channel)
    forEachTap([&](int64_t slice, auto &, auto &th, auto &tw) {
      offsetTable.push_back(int32_t((channel * block.slices + slice) * block.plane() +
                                    (th.offset - row[MinH]) * block.pitch + tw.offset - row[MinW]));
    });
  packed += geometry.groups * panels * geometry.sourceChannels * taps * width;
}

Value DataConvolution::field(Value phase, PhaseField which) {
  if (geometry.phases() == 1)
    return e.constant(phaseTable[which]);
  return e.loadInteger(table("phases", phaseTable), e.add(e.mul(phase, PhaseFields), which));
}

Value DataConvolution::table(StringRef suffix, ArrayRef<int32_t> values) {
  return emitTable(e, module, symbol + "_" + suffix.str(), values);
}

void DataConvolution::begin(const EmittedPhase &phase) {
  KernelArguments arguments = beginKernel(e, module, phase.symbol, operands.arguments + 1);
  taskNumber = arguments.task;
  scratch = arguments.scratch;
}

EmittedKernel DataConvolution::emit() {
  EmittedKernel kernel;
  kernel.workspaceBytes = std::max<int64_t>(packedElements, 1) * 4;
  kernel.phases.push_back(emitPack());
  kernel.phases.push_back(emitCompute());
  return kernel;
}

//===-------------------------------------------------------------------------------------------- filter panels

EmittedPhase DataConvolution::emitPack() {
  // One task packs about 16k elements.
  const int64_t perChannel = std::max<int64_t>(1, width * geometry.maxTaps(0) * geometry.maxTaps(1) *
                                                      geometry.maxTaps(2));
  const int64_t step = std::min(geometry.sourceChannels, std::max<int64_t>(1, 16384 / perChannel));
  const int64_t parts = ceilDiv(geometry.sourceChannels, step);
  const bool forward = problem.direction == ConvolutionProblem::Direction::Forward;
  EmittedPhase result{symbol + "_0", parts * panels * geometry.groups * geometry.phases(), 0};
  begin(result);

  Value part = e.rem(taskNumber, parts), rest = e.div(taskNumber, parts);
  Value panel = e.rem(rest, panels);
  rest = e.div(rest, panels);
  Value group = e.rem(rest, geometry.groups), phase = e.div(rest, geometry.groups);
  Value taps = field(phase, Taps), firstTap = field(phase, FilterStart);
  Value filterIndices = table("filter", filterTable);
  Value start = e.mul(e.add(e.mul(group, panels), panel), geometry.sourceChannels);
  Value target = e.at(e.buffer(operands.arguments),
                      e.add(field(phase, PackedStart), e.mul(e.mul(start, taps), width)));
  Value first = e.mul(part, step);
  Value last = e.minimum(e.add(first, step), e.constant(geometry.sourceChannels));
  e.loop(first, last, 1, [&](Value channel) {
    e.loop(e.constant(0), taps, 1, [&](Value tap) {
      Value flat = e.loadInteger(filterIndices, e.add(firstTap, tap));
      Value s = e.rem(flat, geometry.kernel[2]), rows = e.div(flat, geometry.kernel[2]);
      Value r = e.rem(rows, geometry.kernel[1]), d = e.div(rows, geometry.kernel[1]);
      Value place = e.mul(e.add(e.mul(channel, taps), tap), width);
      for (int64_t v = 0; v < schedule.vectors; ++v) {
        Value lane = e.add(e.mul(panel, width), v * machine.lanes);
        Value mask = e.lanesBelow(e.sub(e.constant(geometry.targetChannels), lane));
        Value k = forward ? e.add(e.mul(group, geometry.targetChannels), lane)
                          : e.add(e.mul(group, geometry.sourceChannels), channel);
        Value c = forward ? channel : lane;
        Value vector = operands.other.read(e, {{k, c, d, r, s}, forward ? 0u : 1u, 1, mask});
        e.store(vector, e.at(target, e.add(place, v * machine.lanes)), /*aligned=*/true);
      }
    });
  });
  LLVM::ReturnOp::create(builder, e.loc, ValueRange());
  return result;
}

//===-------------------------------------------------------------------------------------------- compute

DataConvolution::Task DataConvolution::decode(Value number) {
  Task task;
  auto take = [&](int64_t count) {
    Value part = e.rem(number, count);
    number = e.div(number, count);
    return part;
  };
  task.col = e.mul(take(bands(2)), schedule.bandCols * schedule.boxCols);
  task.row = e.mul(take(bands(1)), schedule.bandRows * schedule.boxRows);
  task.depth = take(geometry.maxCount(0));
  task.image = take(geometry.batch);
  task.group = take(geometry.groups);
  task.panel = e.mul(take(chunks()), schedule.panels);
  task.panelEnd = e.minimum(e.add(task.panel, schedule.panels), e.constant(panels));
  task.phase = number;
  return task;
}

EmittedPhase DataConvolution::emitCompute() {
  const int64_t sourceElements =
      roundUp(schedule.channelBlock * block.slices * block.plane() + machine.lanes, machine.lanes);
  const int64_t slots =
      blocks() > 1 ? schedule.bandRows * schedule.bandCols * schedule.panels : 1;
  const int64_t tileElements = machine.lanes * machine.lanes;
  EmittedPhase result;
  result.symbol = symbol + "_1";
  result.tasks = geometry.phases() * chunks() * geometry.groups * geometry.batch *
                 geometry.maxCount(0) * bands(1) * bands(2);
  result.scratchBytes = 4 * (sourceElements + slots * slotSize() + tileElements);

  MicroKernel micro;
  for (int64_t m = 0; m < boxSize(); ++m)
    micro.rowOffsets.push_back(m / schedule.boxCols * geometry.sourceStep[1] * block.pitch +
                               m % schedule.boxCols * geometry.sourceStep[2]);
  micro.vectors = schedule.vectors;
  auto microFunction =
      emitMicroKernel(builder, module, e.loc, machine, micro, symbol + "_micro");

  begin(result);
  Task task = decode(taskNumber);
  Value tile = scratch, source = e.at(tile, tileElements);
  Value accumulators = e.at(source, sourceElements);
  scratch = tile;
  e.when(e.less(task.depth, field(task.phase, CountD)), [&] {
    e.loop(e.constant(0), e.constant(geometry.sourceChannels), schedule.channelBlock,
           [&](Value first) {
             Value channels = e.minimum(e.constant(schedule.channelBlock),
                                        e.sub(e.constant(geometry.sourceChannels), first));
             copySource(task, first, channels, source);
             runTiles(task, microFunction, first, channels, source, accumulators);
           });
  });
  LLVM::ReturnOp::create(builder, e.loc, ValueRange());
  return result;
}

void DataConvolution::copySource(const Task &task, Value firstChannel, Value channels,
                                 Value target) {
  Value top = e.add(e.mul(task.row, geometry.sourceStep[1]), field(task.phase, MinH));
  Value left = e.add(e.mul(task.col, geometry.sourceStep[2]), field(task.phase, MinW));
  Value firstSlice = field(task.phase, SliceStart);
  Value sliceOffsets = table("slices", sliceTable);
  Value channelBase = e.add(e.mul(task.group, geometry.sourceChannels), firstChannel);
  e.loop(e.constant(0), channels, 1, [&](Value channel) {
    e.loop(e.constant(0), field(task.phase, Slices), 1, [&](Value slice) {
      Value depth = e.constant(0), plane = e.mul(e.add(e.mul(channel, block.slices), slice),
                                                 block.plane());
      if (!geometry.isFlat())
        depth = e.add(e.mul(task.depth, geometry.sourceStep[0]),
                      e.loadInteger(sliceOffsets, e.add(firstSlice, slice)));
      copyPlane(e, operands.source,
                {task.image, e.add(channelBase, channel), depth, top, left}, geometry.source,
                block.rows, block.pitch, e.at(target, plane));
    });
  });
}

void DataConvolution::runTiles(const Task &task, LLVM::LLVMFuncOp micro, Value firstChannel,
                               Value channels, Value source, Value accumulators) {
  Value taps = field(task.phase, Taps);
  Value offsets = LLVM::GEPOp::create(builder, e.loc, e.pointerType(), builder.getI32Type(),
                                      table("offsets", offsetTable),
                                      ArrayRef<Value>{field(task.phase, OffsetStart)});
  Value packed = e.at(e.buffer(operands.arguments), field(task.phase, PackedStart));
  Value steps = e.mul(channels, taps);
  Value accumulate = e.less(e.constant(0), firstChannel);
  Value last = e.less(e.constant(geometry.sourceChannels - 1), e.add(firstChannel, channels));
  auto tiles = [&](Value count, Value start, int64_t box, int64_t limit) {
    Value left = e.div(e.add(e.sub(count, start), box - 1), box);
    return e.minimum(e.maximum(left, e.constant(0)), e.constant(limit));
  };
  Value rows = tiles(field(task.phase, CountH), task.row, schedule.boxRows, schedule.bandRows);
  Value cols = tiles(field(task.phase, CountW), task.col, schedule.boxCols, schedule.bandCols);
  e.loop(task.panel, task.panelEnd, 1, [&](Value panel) {
    Value channelStart = e.add(
        e.mul(e.add(e.mul(task.group, panels), panel), geometry.sourceChannels), firstChannel);
    Value panelData = e.at(packed, e.mul(e.mul(channelStart, taps), width));
    e.loop(e.constant(0), rows, 1, [&](Value tileRow) {
      e.loop(e.constant(0), cols, 1, [&](Value tileCol) {
        Value slot = e.constant(0);
        if (blocks() > 1)
          slot = e.add(e.mul(e.add(e.mul(e.sub(panel, task.panel), schedule.bandRows), tileRow),
                             schedule.bandCols),
                       tileCol);
        Value acc = e.at(accumulators, e.mul(slot, slotSize()));
        Value corner =
            e.add(e.mul(tileRow, schedule.boxRows * geometry.sourceStep[1] * block.pitch),
                  e.mul(tileCol, schedule.boxCols * geometry.sourceStep[2]));
        LLVM::CallOp::create(builder, e.loc, micro,
                             ValueRange{e.at(source, corner), panelData, offsets, steps, acc,
                                        accumulate});
        e.when(last, [&] {
          finishTile(task, panel, e.add(task.row, e.mul(tileRow, schedule.boxRows)),
                     e.add(task.col, e.mul(tileCol, schedule.boxCols)), acc);
        });
      });
    });
  });
}

void DataConvolution::finishTile(const Task &task, Value panel, Value row, Value col, Value acc) {
  Value pixels = e.minimum(e.constant(schedule.boxCols), e.sub(field(task.phase, CountW), col));
  if (schedule.boxRows > 1) // whole rows, so that the tile's pixels follow each other in memory
    pixels = e.mul(e.minimum(e.constant(schedule.boxRows), e.sub(field(task.phase, CountH), row)),
                   schedule.boxCols);
  Value d = e.add(field(task.phase, FirstD), e.mul(task.depth, geometry.targetStep[0]));
  Value h = e.add(field(task.phase, FirstH), e.mul(row, geometry.targetStep[1]));
  Value w = e.add(field(task.phase, FirstW), e.mul(col, geometry.targetStep[2]));
  e.loop(schedule.vectors, [&](Value v) {
    Value lane = e.add(e.mul(panel, width), e.mul(v, machine.lanes));
    Value channels = e.minimum(e.constant(machine.lanes),
                               e.sub(e.constant(geometry.targetChannels), lane));
    Value firstChannel = e.add(e.mul(task.group, geometry.targetChannels), lane);
    e.loop(e.constant(0), e.constant(boxSize()), machine.lanes, [&](Value pixel) {
      Value corner = e.add(e.mul(pixel, width), e.mul(v, machine.lanes));
      e.transpose(e.at(acc, corner), e.constant(width), scratch, e.constant(machine.lanes));
      Value mask = e.lanesBelow(e.sub(pixels, pixel));
      Value left = e.add(w, e.mul(pixel, geometry.targetStep[2]));
      e.loop(e.constant(0), channels, 1, [&](Value channel) {
        Value value = e.load(e.at(scratch, e.mul(channel, machine.lanes)), /*aligned=*/true);
        operands.result.write(e, value,
                              {{task.image, e.add(firstChannel, channel), d, h, left}, 4,
                               geometry.targetStep[2], mask});
      });
    });
  });
}

EmittedKernel dlc::codegen::emitDataConvolution(ModuleOp module, StringRef symbol,
                                                const ConvolutionProblem &problem,
                                                const ConvolutionOperands &operands,
                                                const MachineModel &machine,
                                                const DataSchedule &schedule) {
  return DataConvolution(module, symbol, problem, operands, machine, schedule).emit();
}
