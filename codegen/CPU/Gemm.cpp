// See Gemm.h.
#include "codegen/CPU/Gemm.h"
#include "codegen/CPU/MicroKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace dlc::codegen;

namespace {

class GemmEmitter {
public:
  GemmEmitter(ModuleOp module, StringRef symbol, const GemmProblem &problem,
              const GemmOperands &operands, const MachineModel &machine,
              const GemmSchedule &schedule)
      : module(module), symbol(symbol), problem(problem), operands(operands), machine(machine),
        schedule(schedule), lanes(machine.lanes), width(schedule.vectors * lanes),
        tiles(ceilDiv(problem.m, schedule.rows)), panels(ceilDiv(problem.n, width)),
        builder(module.getContext()),
        e(builder, NameLoc::get(builder.getStringAttr(symbol)), machine) {}

  EmittedKernel emit();

private:
  /// First and last tile and panel, in the whole matrix, and the range of k.
  struct Task {
    Value split, batch, tile, tileEnd, panel, panelEnd, k, kEnd;
  };

  EmittedPhase emitMultiply();
  EmittedPhase emitFinish();
  Task decode(Value number);
  void packA(const Task &task, Value first, Value end, Value k, Value steps, Value tileBuffer,
             Value target);
  void packB(const Task &task, Value k, Value steps, Value tileBuffer, Value target);
  void packBlock(const Source &source, unsigned along, bool lanesContiguous,
                 ArrayRef<Value> corner, Value first, Value end, int64_t size, Value steps,
                 Value tileBuffer, Value target);
  void packVector(const Source &source, ArrayRef<Value> corner, unsigned along,
                  bool lanesContiguous, Value left, Value steps, int64_t pitch, Value tile,
                  Value target);
  void runTiles(const Task &task, LLVM::LLVMFuncOp micro, Value first, Value end, Value k,
                Value steps, Value packedA, Value packedB, Value accumulators);
  void finishTile(Value batch, Value tile, Value panel,
                  llvm::function_ref<Value(Value place)> value);

  /// a's packed tile is [step][row]: one stream for the prefetcher.
  int64_t pitchA() const { return roundUp(schedule.rows, lanes); }
  int64_t tileElements() const { return schedule.depth * pitchA(); }
  int64_t panelElements() const { return schedule.depth * width; }
  int64_t slotSize() const { return schedule.rows * width; }
  int64_t taskSlots() const { return schedule.tiles * schedule.panels; }
  int64_t partElements() const { return problem.batch * tiles * panels * slotSize(); }
  bool inWorkspace() const { return schedule.splits > 1; }
  bool keepsAll() const { return inWorkspace() || problem.k > schedule.depth; }

  ModuleOp module;
  std::string symbol;
  const GemmProblem &problem;
  const GemmOperands &operands;
  const MachineModel &machine;
  const GemmSchedule &schedule;
  const int64_t lanes, width, tiles, panels;
  OpBuilder builder;
  PackEmitter e;
};

} // namespace

EmittedKernel GemmEmitter::emit() {
  EmittedKernel kernel;
  kernel.phases.push_back(emitMultiply());
  if (inWorkspace()) {
    kernel.workspaceBytes = 4 * schedule.splits * partElements();
    kernel.phases.push_back(emitFinish());
  }
  return kernel;
}

GemmEmitter::Task GemmEmitter::decode(Value number) {
  Task task;
  auto take = [&](int64_t count) {
    Value part = e.rem(number, count);
    number = e.div(number, count);
    return part;
  };
  auto range = [&](int64_t count, int64_t step, Value &begin, Value &end) {
    begin = e.mul(take(ceilDiv(count, step)), step);
    end = e.minimum(e.add(begin, step), e.constant(count));
  };
  range(tiles, schedule.tiles, task.tile, task.tileEnd);
  range(panels, schedule.panels, task.panel, task.panelEnd);
  task.batch = take(problem.batch);
  task.split = number;
  const int64_t blocks = ceilDiv(problem.k, schedule.depth);
  const int64_t part = ceilDiv(blocks, schedule.splits) * schedule.depth;
  task.k = e.mul(number, part);
  task.kEnd = e.minimum(e.add(task.k, part), e.constant(problem.k));
  return task;
}

EmittedPhase GemmEmitter::emitMultiply() {
  const int64_t blockA = roundUp(schedule.blockTiles * tileElements(), lanes);
  const int64_t blockB = schedule.panels * panelElements();
  const int64_t slots = inWorkspace() ? 0 : keepsAll() ? taskSlots() : 1;
  EmittedPhase result;
  result.symbol = inWorkspace() ? symbol + "_0" : symbol;
  result.tasks = schedule.splits * problem.batch * ceilDiv(tiles, schedule.tiles) *
                 ceilDiv(panels, schedule.panels);
  result.scratchBytes = 4 * (lanes * lanes + blockA + blockB + slots * slotSize());

  MicroKernel micro;
  for (int64_t m = 0; m < schedule.rows; ++m)
    micro.rowOffsets.push_back(m);
  micro.vectors = schedule.vectors;
  micro.stepA = pitchA();
  auto function = emitMicroKernel(builder, module, e.loc, machine, micro, symbol + "_micro");

  KernelArguments arguments =
      beginKernel(e, module, result.symbol, operands.arguments + (inWorkspace() ? 1 : 0));
  Task task = decode(arguments.task);
  Value tile = arguments.scratch, packedA = e.at(tile, lanes * lanes);
  Value packedB = e.at(packedA, blockA);
  Value accumulators = inWorkspace() ? e.at(e.buffer(operands.arguments),
                                            e.mul(task.split, partElements()))
                                     : e.at(packedB, blockB);
  auto block = [&](Value k) {
    Value steps = e.minimum(e.constant(schedule.depth), e.sub(task.kEnd, k));
    packB(task, k, steps, tile, packedB);
    e.loop(task.tile, task.tileEnd, schedule.blockTiles, [&](Value first) {
      Value end = e.minimum(e.add(first, schedule.blockTiles), task.tileEnd);
      packA(task, first, end, k, steps, tile, packedA);
      runTiles(task, function, first, end, k, steps, packedA, packedB, accumulators);
    });
  };
  if (problem.k <= schedule.depth) // also an empty sum
    block(e.constant(0));
  else
    e.loop(task.k, task.kEnd, schedule.depth, block);
  LLVM::ReturnOp::create(builder, e.loc, ValueRange());
  return result;
}

//===-------------------------------------------------------------------------------------------- packing

void GemmEmitter::packA(const Task &task, Value first, Value end, Value k, Value steps,
                        Value tileBuffer, Value target) {
  packBlock(operands.a, /*along=*/1, problem.transposeA, {task.batch, e.constant(0), k}, first,
            end, schedule.rows, steps, tileBuffer, target);
}

void GemmEmitter::packB(const Task &task, Value k, Value steps, Value tileBuffer, Value target) {
  packBlock(operands.b, /*along=*/2, !problem.transposeB, {task.batch, k, e.constant(0)},
            task.panel, task.panelEnd, width, steps, tileBuffer, target);
}

/// Packs panels [first, end) of `size` elements along index `along` as [panel][step][pitch], pitch = size in whole vectors.
/// Lanes that are neighbours in memory are read along the rows of the matrix; others panel by panel.
void GemmEmitter::packBlock(const Source &source, unsigned along, bool lanesContiguous,
                            ArrayRef<Value> corner, Value first, Value end, int64_t size,
                            Value steps, Value tileBuffer, Value target) {
  const int64_t pitch = roundUp(size, lanes);
  const int64_t extent = along == 1 ? problem.m : problem.n;
  auto pack = [&](Value panel, Value step, Value count) {
    Value base = e.at(target, e.add(e.mul(e.sub(panel, first), schedule.depth * pitch),
                                    e.mul(step, pitch)));
    SmallVector<Value> at(corner);
    at[3 - along] = e.add(at[3 - along], step);
    e.loop(e.constant(0), e.constant(pitch), lanes, [&](Value lane) {
      at[along] = e.add(e.mul(panel, size), lane);
      packVector(source, at, along, lanesContiguous, e.sub(e.constant(extent), at[along]), count,
                 pitch, tileBuffer, e.at(base, lane));
    });
  };
  auto panels = [&](Value step, Value count) {
    e.loop(first, end, 1, [&](Value panel) { pack(panel, step, count); });
  };
  if (!lanesContiguous)
    return panels(e.constant(0), steps);
  e.loop(e.constant(0), steps, 1, [&](Value step) { panels(step, e.constant(1)); });
}

/// Packs `steps` rows of one vector each, `pitch` apart: the elements of `source` from `corner` on, `left` of them along
/// index `along`, across the lanes, and the other index down the rows. Unless the lanes are neighbours in memory, tiles are
/// transposed on the way.
void GemmEmitter::packVector(const Source &source, ArrayRef<Value> corner, unsigned along,
                             bool lanesContiguous, Value left, Value steps, int64_t pitch,
                             Value tile, Value target) {
  const unsigned across = 3 - along;
  auto moved = [&](Value lane, Value step) {
    SmallVector<Value> indices(corner);
    indices[along] = e.add(indices[along], lane);
    indices[across] = e.add(indices[across], step);
    return indices;
  };
  Value zero = e.constant(0), whole = zero;
  if (lanesContiguous) {
    Value mask = e.lanesBelow(left);
    e.loop(zero, steps, 1, [&](Value step) {
      Value vector = source.read(e, {moved(zero, step), along, 1, mask});
      e.store(vector, e.at(target, e.mul(step, pitch)), /*aligned=*/true);
    });
    return;
  }
  if (source.plain && source.plain->strides[across] == 1) {
    // Tiles inside the matrix need no copy.
    whole = builder.createOrFold<arith::SelectOp>(
        e.loc, e.less(e.constant(lanes - 1), left), e.mul(e.div(steps, lanes), lanes), zero);
    e.loop(zero, whole, lanes, [&](Value step) {
      e.transpose(e.address(*source.plain, moved(zero, step)),
                  e.constant(source.plain->strides[along]), e.at(target, e.mul(step, pitch)),
                  e.constant(pitch));
    });
  }
  Value count = e.minimum(e.constant(lanes), left);
  e.loop(whole, steps, lanes, [&](Value step) {
    Value mask = e.lanesBelow(e.sub(steps, step));
    e.clearRows(tile, count);
    e.loop(zero, count, 1, [&](Value lane) {
      Value vector = source.read(e, {moved(lane, step), across, 1, mask});
      e.store(vector, e.at(tile, e.mul(lane, lanes)), /*aligned=*/true);
    });
    e.transpose(tile, e.constant(lanes), e.at(target, e.mul(step, pitch)), e.constant(pitch));
  });
}

//===-------------------------------------------------------------------------------------------- tiles

void GemmEmitter::runTiles(const Task &task, LLVM::LLVMFuncOp micro, Value first, Value end,
                           Value k, Value steps, Value packedA, Value packedB,
                           Value accumulators) {
  Value null = LLVM::ZeroOp::create(builder, e.loc, e.pointerType());
  Value accumulate = e.less(task.k, k);
  Value last = e.less(e.constant(problem.k - 1), e.add(k, steps));
  e.loop(task.panel, task.panelEnd, 1, [&](Value panel) {
    Value panelData = e.at(packedB, e.mul(e.sub(panel, task.panel), panelElements()));
    e.loop(first, end, 1, [&](Value tile) {
      Value slot = e.constant(0), inTask = e.sub(tile, task.tile);
      if (inWorkspace())
        slot = e.add(e.mul(e.add(e.mul(task.batch, panels), panel), tiles), tile);
      else if (keepsAll())
        slot = e.add(e.mul(e.sub(panel, task.panel), schedule.tiles), inTask);
      Value acc = e.at(accumulators, e.mul(slot, slotSize()));
      LLVM::CallOp::create(builder, e.loc, micro,
                           ValueRange{e.at(packedA, e.mul(e.sub(tile, first), tileElements())),
                                      panelData,
                                      null, steps, acc, accumulate});
      if (!inWorkspace())
        e.when(last, [&] {
          finishTile(task.batch, tile, panel,
                     [&](Value place) { return e.load(e.at(acc, place), /*aligned=*/true); });
        });
    });
  });
}

/// Writes the rows and vectors of a tile that exist; `value` gives the finished vector at a place of the tile.
void GemmEmitter::finishTile(Value batch, Value tile, Value panel,
                             llvm::function_ref<Value(Value place)> value) {
  Value row = e.mul(tile, schedule.rows), column = e.mul(panel, width);
  Value rows = e.minimum(e.constant(schedule.rows), e.sub(e.constant(problem.m), row));
  Value left = e.sub(e.constant(problem.n), column);
  Value columns = e.minimum(e.constant(width), left);
  e.loop(e.constant(0), columns, lanes, [&](Value v) {
    Value mask = e.lanesBelow(e.sub(left, v));
    e.loop(e.constant(0), rows, 1, [&](Value m) {
      operands.c.write(e, value(e.add(e.mul(m, width), v)),
                       {{batch, e.add(row, m), e.add(column, v)}, 2, 1, mask});
    });
  });
}

EmittedPhase GemmEmitter::emitFinish() {
  EmittedPhase result{symbol + "_1", problem.batch * panels * tiles, 0};
  KernelArguments arguments = beginKernel(e, module, result.symbol, operands.arguments + 1);
  Value tile = e.rem(arguments.task, tiles), rest = e.div(arguments.task, tiles);
  Value panel = e.rem(rest, panels), batch = e.div(rest, panels);
  Value parts = e.at(e.buffer(operands.arguments), e.mul(arguments.task, slotSize()));
  finishTile(batch, tile, panel, [&](Value place) {
    Value first = e.load(e.at(parts, place), /*aligned=*/true);
    return e.sum(first, schedule.splits, [&](Value split) {
      return e.load(e.at(parts, e.add(e.mul(split, partElements()), place)), /*aligned=*/true);
    });
  });
  LLVM::ReturnOp::create(builder, e.loc, ValueRange());
  return result;
}

EmittedKernel dlc::codegen::emitGemm(ModuleOp module, StringRef symbol, const GemmProblem &problem,
                                     const GemmOperands &operands, const MachineModel &machine,
                                     const GemmSchedule &schedule) {
  return GemmEmitter(module, symbol, problem, operands, machine, schedule).emit();
}
