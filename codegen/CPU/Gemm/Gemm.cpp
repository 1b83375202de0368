//===- Gemm.cpp - emits packed matrix products, see Gemm.h ------------------------------------===//
#include "codegen/CPU/Gemm/Gemm.h"
#include "codegen/CPU/Reduce/TotalReducer.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// What a micro-kernel asks for of tensors that are read as the result is written.
struct ReadAhead {
  SmallVector<BlockArgument> tensors; ///< row-major, of the result's shape
  int64_t linesOfStep = 0;
  /// Of all steps: where the lines of a tile stand from its first place on.
  SmallVector<int64_t> lines;
};

/// One phase of a product.
class GemmPhase : public PackedPhase {
public:
  GemmPhase(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
            ModuleOp module, StringRef name, const GemmProblem &problem,
            const GemmSchedule &schedule)
      : PackedPhase(spec, target, module, name, candidate.workspaceBytes != 0), problem(problem),
        schedule(schedule), layout(problem, schedule, e.lanes),
        c(problem.finish ? Sink() : sink(problem.mapC)), totals(kernel, candidate, writingPhase()) {
  }

  void packWhole();
  void multiply(LLVM::LLVMFuncOp micro, const ReadAhead &readAhead);
  void addParts();

private:
  using Operand = GemmProblem::Operand;

  /// Ranges of tiles, panels and blocks of the sum.
  struct Task {
    Value split, batch, tile, tileEnd, panel, panelEnd, block, blockEnd;
  };
  /// What is packed at a time: tiles, panels, and `steps` steps of block `number`, from number `k`
  /// of the sum on; `outer` is the first index of a and b, batch or term.
  struct Block {
    Value tile, tileEnd, panel, panelEnd, number, outer, k, steps;
  };

  Task decode(Value number);
  Block blockOf(Value batch, Value number);
  Value wholeAt(const Block &block, Value piece);
  void readOperands();
  void packA(const Block &block, Value target);
  void packGroups(const Block &block, Value target);
  Value wholeSteps(const Block &block);
  void clearSteps(const Block &block, Value target);
  void packB(const Block &block, Value target);
  void packBlock(const Source &source, const PackedSum &sum, unsigned along, bool lanesContiguous,
                 ArrayRef<Value> corner, Value first, Value end, int64_t size, int64_t distance,
                 Value steps, Value target);
  void packRows(const Source &source, const PackedSum &sum, unsigned along, ArrayRef<Value> corner,
                Value first, Value end, int64_t distance, Value steps, Value target);
  void runTiles(const Task &task, const Block &block, LLVM::LLVMFuncOp micro, Value packedA,
                Value packedB, Value accumulators);
  Value keptSlot(const Task &task, Value tile, Value panel);
  SmallVector<Value> rowsReadAt(Value batch, Value tile, Value panel);
  void prefetchTile(Value batch, Value tile, Value panel);
  void finishTile(Value batch, Value tile, Value panel,
                  llvm::function_ref<Value(Value place)> value);
  void finishRows(const Task &task, Value first, Value end, Value accumulators);
  Partial write(ValueRange totals, Value vector, const Place &place);

  unsigned writingPhase() const {
    return schedule.packed != Operand::None || layout.inWorkspace ? 1 : 0;
  }
  bool finishesRows() const { return problem.finishesRows && !layout.inWorkspace; }

  const GemmProblem &problem;
  const GemmSchedule &schedule;
  GemmLayout layout;
  Sink c;
  Source a, b;
  TotalReducer totals;
  Value matrix;       ///< of a task that makes it as a whole
  Value laterOffsets; ///< table of the lines that are read ahead
  ArrayRef<BlockArgument> readAhead;
};

} // namespace

GemmPhase::Task GemmPhase::decode(Value number) {
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
  range(layout.tiles, schedule.tiles, task.tile, task.tileEnd);
  range(layout.panels, schedule.panels, task.panel, task.panelEnd);
  task.batch = take(problem.batch);
  task.split = take(schedule.splits);
  const int64_t blocks = problem.blocks(schedule.depth), part = ceilDiv(blocks, schedule.splits);
  task.block = e.mul(task.split, part);
  task.blockEnd = e.minimum(e.add(task.block, part), e.constant(blocks));
  return task;
}

/// Block `number` of the sum of a batch.
GemmPhase::Block GemmPhase::blockOf(Value batch, Value number) {
  Block block;
  block.number = number;
  const int64_t ofTerm = ceilDiv(problem.steps(), schedule.depth);
  block.outer =
      problem.terms > 1 ? e.add(e.mul(batch, problem.terms), e.div(number, ofTerm)) : batch;
  Value step = e.mul(problem.terms > 1 ? e.rem(number, ofTerm) : number, schedule.depth);
  block.k = e.mul(step, problem.kernel->step());
  block.steps = e.minimum(e.constant(schedule.depth), e.sub(e.constant(problem.steps()), step));
  return block;
}

/// Where a block's tiles or panels of the operand that is packed whole begin, from `piece` on.
Value GemmPhase::wholeAt(const Block &block, Value piece) {
  Value matrix = e.rem(block.outer, layout.wholeMatrices);
  Value place = e.add(e.mul(matrix, problem.blocks(schedule.depth)), block.number);
  place = e.add(e.mul(place, layout.wholePieces), piece);
  return e.at(kernel.workspace(), e.mul(place, layout.pieceElements));
}

void GemmPhase::readOperands() {
  a = problem.sourceA ? problem.sourceA(*this) : source(problem.a, problem.mapA);
  if (!problem.packB)
    b = problem.sourceB ? problem.sourceB(*this) : source(problem.b, problem.mapB);
}

/// A task packs some tiles or panels of one block.
void GemmPhase::packWhole() {
  SmallVector<Value> place =
      e.delinearize(kernel.task, {layout.wholeMatrices, problem.blocks(schedule.depth),
                                  ceilDiv(layout.wholePieces, layout.packedPieces)});
  tileBuffer = kernel.scratch;
  Block block = blockOf(place[0], place[1]);
  Value first = e.mul(place[2], layout.packedPieces);
  Value end = e.minimum(e.add(first, layout.packedPieces), e.constant(layout.wholePieces));
  readOperands();
  if (schedule.packed == Operand::A) {
    block.tile = first, block.tileEnd = end;
    packA(block, wholeAt(block, first));
  } else {
    block.panel = first, block.panelEnd = end;
    packB(block, wholeAt(block, first));
  }
}

void GemmPhase::multiply(LLVM::LLVMFuncOp micro, const ReadAhead &ahead) {
  readOperands();
  readAhead = ahead.tensors;
  laterOffsets = readAhead.empty() ? LLVM::ZeroOp::create(e.b, e.loc, e.pointerType()).getResult()
                                   : e.table("later_lines", ahead.lines);
  problem.kernel->begin(e);
  Task task = decode(kernel.task);
  tileBuffer = kernel.scratch;
  Value packedA = e.at(tileBuffer, e.lanes * e.lanes);
  Value packedB = e.at(packedA, layout.blockElementsA);
  matrix = e.at(packedB, layout.blockElementsB);
  Value accumulators = e.at(matrix, layout.matrixElements);
  if (layout.inWorkspace)
    accumulators = e.at(kernel.workspace(), e.mul(task.split, layout.partElements));
  else
    totals.begin();
  e.loop(task.block, task.blockEnd, 1, [&](Value number) {
    Block block = blockOf(task.batch, number);
    e.loop(task.panel, task.panelEnd, schedule.blockPanels, [&](Value panel) {
      block.panel = panel;
      block.panelEnd = e.minimum(e.add(panel, schedule.blockPanels), task.panelEnd);
      if (schedule.packed == Operand::B)
        packedB = wholeAt(block, panel);
      else
        packB(block, packedB);
      e.loop(task.tile, task.tileEnd, schedule.blockTiles, [&](Value tile) {
        block.tile = tile;
        block.tileEnd = e.minimum(e.add(tile, schedule.blockTiles), task.tileEnd);
        // The only block of a stays packed while b passes.
        if (schedule.packed == Operand::A)
          packedA = wholeAt(block, tile);
        else if (schedule.blockTiles < schedule.tiles)
          packA(block, packedA);
        else
          e.when(e.less(panel, e.add(task.panel, 1)), [&] { packA(block, packedA); });
        runTiles(task, block, micro, packedA, packedB, accumulators);
      });
    });
  });
  problem.kernel->end(e);
  if (finishesRows() && !layout.finishesTiles)
    finishRows(task, task.tile, task.tileEnd, accumulators);
  if (problem.finish)
    problem.finish(*this, task.batch, matrix, layout.pitchC);
  if (!layout.inWorkspace)
    totals.end(kernel.task);
}

//===------------------------------------------------------------------------------------------===//
// Packing
//===------------------------------------------------------------------------------------------===//

/// The steps of a block, and of panels of b what follows them up to a whole group: zero.
Value GemmPhase::wholeSteps(const Block &block) {
  const int64_t group = problem.kernel->group();
  return group == 1 ? block.steps : e.mul(e.div(e.add(block.steps, group - 1), group), group);
}

void GemmPhase::clearSteps(const Block &block, Value target) {
  e.loop(block.panel, block.panelEnd, 1, [&](Value panel) {
    Value base = e.at(target, e.mul(e.sub(panel, block.panel), layout.panelElements));
    e.loop(e.mul(block.steps, layout.width), e.mul(wholeSteps(block), layout.width), e.lanes,
           [&](Value place) { e.storeAligned(e.zeroVector(), e.at(base, place)); });
  });
}

/// Tiles as [group of steps][row][step], whole groups: what follows the sum's end is zero. Rows
/// that do not exist are left as they are, and so are sums of theirs. Steps that are neighbours in
/// memory are copied; else vectors of rows are transposed.
void GemmPhase::packGroups(const Block &block, Value target) {
  const PackedSum sum{problem.kernel->formatA(problem.element), problem.k};
  e.loop(block.tile, block.tileEnd, 1, [&](Value tile) {
    Value base = e.at(target, e.mul(e.sub(tile, block.tile), layout.tileElements));
    Value first = e.mul(tile, schedule.rows);
    Value rows = e.minimum(e.constant(schedule.rows), e.sub(e.constant(problem.m), first));
    auto at = [&](Value row, Value step) -> SmallVector<Value> {
      return {block.outer, e.add(first, row), e.add(block.k, e.mul(step, sum.format.numbers))};
    };
    auto place = [&](Value row, Value step) {
      return e.at(base, e.add(e.mul(step, layout.pitchA), e.mul(row, e.lanes)));
    };
    if (!problem.rowsContiguousA) {
      e.loop(e.constant(0), rows, 1, [&](Value row) {
        e.loop(e.constant(0), block.steps, e.lanes, [&](Value step) {
          Value vector = readSteps(a, sum, at(row, step), /*across=*/2, e.sub(block.steps, step));
          e.storeAligned(vector, place(row, step));
        });
      });
      return;
    }
    e.loop(e.constant(0), rows, e.lanes, [&](Value row) {
      e.loop(e.constant(0), block.steps, e.lanes, [&](Value step) {
        Value count = e.minimum(e.constant(e.lanes), e.sub(block.steps, step));
        pack(a, sum, at(row, step), /*along=*/1, /*lanesContiguous=*/true, e.sub(rows, row), count,
             e.lanes, tileBuffer);
        e.clearRows(tileBuffer, count);
        e.transpose(tileBuffer, e.constant(e.lanes), place(row, step), e.constant(e.lanes));
      });
    });
  });
}

void GemmPhase::packA(const Block &block, Value target) {
  if (problem.kernel->inGroups())
    return packGroups(block, target);
  packBlock(a, {problem.kernel->formatA(problem.element), problem.k}, /*along=*/1,
            problem.rowsContiguousA, {block.outer, e.constant(0), block.k}, block.tile,
            block.tileEnd, schedule.rows, layout.tileElements, block.steps, target);
}

void GemmPhase::packB(const Block &block, Value target) {
  if (problem.packB)
    return problem.packB(*this, {block.outer, block.k, block.steps, block.panel, block.panelEnd,
                                 target, layout.width, layout.panelElements});
  packBlock(b, {problem.kernel->formatB(problem.element), problem.k}, /*along=*/2,
            problem.columnsContiguousB, {block.outer, block.k, e.constant(0)}, block.panel,
            block.panelEnd, layout.width, layout.panelElements, block.steps, target);
  if (problem.steps() % problem.kernel->group() != 0)
    clearSteps(block, target);
}

/// Packs panels [first, end) of `size` places along index `along` as [panel][step][pitch], pitch =
/// size in whole vectors, panels `distance` apart. Lanes that are neighbours in memory are read
/// along the rows of the matrix; others panel by panel.
void GemmPhase::packBlock(const Source &source, const PackedSum &sum, unsigned along,
                          bool lanesContiguous, ArrayRef<Value> corner, Value first, Value end,
                          int64_t size, int64_t distance, Value steps, Value target) {
  if (size == 1)
    return packRows(source, sum, along, corner, first, end, distance, steps, target);
  const int64_t pitch = roundUp(size, e.lanes);
  const int64_t extent = along == 1 ? problem.m : problem.n;
  auto packPanel = [&](Value panel, Value step, Value count) {
    Value base = e.at(target, e.add(e.mul(e.sub(panel, first), distance), e.mul(step, pitch)));
    SmallVector<Value> at(corner);
    at[3 - along] = e.add(at[3 - along], e.mul(step, sum.format.numbers));
    e.loop(e.constant(0), e.constant(pitch), e.lanes, [&](Value lane) {
      at[along] = e.add(e.mul(panel, size), lane);
      pack(source, sum, at, along, lanesContiguous, e.sub(e.constant(extent), at[along]), count,
           pitch, e.at(base, lane));
    });
  };
  auto panels = [&](Value step, Value count) {
    e.loop(first, end, 1, [&](Value panel) { packPanel(panel, step, count); });
  };
  if (!lanesContiguous)
    return panels(e.constant(0), steps);
  e.loop(e.constant(0), steps, 1, [&](Value step) { panels(step, e.constant(1)); });
}

/// packBlock for panels of one place a step: a panel is its steps, one behind the other.
void GemmPhase::packRows(const Source &source, const PackedSum &sum, unsigned along,
                         ArrayRef<Value> corner, Value first, Value end, int64_t distance,
                         Value steps, Value target) {
  e.loop(first, end, 1, [&](Value panel) {
    Value base = e.at(target, e.mul(e.sub(panel, first), distance));
    SmallVector<Value> at(corner);
    at[along] = e.add(at[along], panel);
    e.loop(e.constant(0), steps, e.lanes, [&](Value step) {
      SmallVector<Value> indices(at);
      indices[3 - along] = e.add(indices[3 - along], e.mul(step, sum.format.numbers));
      Value vector = readSteps(source, sum, indices, 3 - along, e.sub(steps, step));
      e.storeAligned(vector, e.at(base, step));
    });
  });
}

//===------------------------------------------------------------------------------------------===//
// Tiles
//===------------------------------------------------------------------------------------------===//

void GemmPhase::runTiles(const Task &task, const Block &block, LLVM::LLVMFuncOp micro,
                         Value packedA, Value packedB, Value accumulators) {
  Value accumulate = e.less(task.block, block.number);
  Value last = e.less(e.constant(problem.blocks(schedule.depth) - 2), block.number);
  Value steps = wholeSteps(block);
  auto run = [&](Value tile, Value panel) {
    Value slot = e.constant(0);
    if (layout.inWorkspace)
      slot = e.add(e.mul(e.add(e.mul(task.batch, layout.panels), panel), layout.tiles), tile);
    else if (layout.finishesTiles || layout.keepsAll)
      slot = keptSlot(task, tile, panel);
    Value acc = e.at(accumulators, e.mul(slot, layout.slotElements));
    Value rows = e.at(packedA, e.mul(e.sub(tile, block.tile), layout.tileElements));
    Value columns = e.at(packedB, e.mul(e.sub(panel, block.panel), layout.panelElements));
    const bool finishes = !layout.inWorkspace && !finishesRows();
    if (finishes)
      e.when(last, [&] { prefetchTile(task.batch, tile, panel); });
    SmallVector<Value> arguments{rows, columns, laterOffsets, steps, acc, accumulate};
    if (problem.kernel->inGroups())
      arguments.push_back(e.constant(1));
    llvm::append_range(arguments, rowsReadAt(task.batch, tile, panel));
    LLVM::CallOp::create(e.b, e.loc, micro, arguments);
    if (finishes)
      e.when(last, [&] {
        finishTile(task.batch, tile, panel,
                   [&](Value place) { return e.loadAligned(e.at(acc, place)); });
      });
  };
  if (layout.finishesTiles)
    return e.loop(block.tile, block.tileEnd, 1, [&](Value tile) {
      e.loop(block.panel, block.panelEnd, 1, [&](Value panel) { run(tile, panel); });
      finishRows(task, tile, e.add(tile, 1), accumulators);
    });
  // A panel of b stays in L1 while the tiles of a pass.
  e.loop(block.panel, block.panelEnd, 1, [&](Value panel) {
    e.loop(block.tile, block.tileEnd, 1, [&](Value tile) { run(tile, panel); });
  });
}

/// Of accumulators that wait for others: of all tiles of a task, or of the panels of one.
Value GemmPhase::keptSlot(const Task &task, Value tile, Value panel) {
  Value number = e.sub(panel, task.panel);
  return layout.finishesTiles ? number
                              : e.add(e.mul(number, schedule.tiles), e.sub(tile, task.tile));
}

/// Where a tile begins in each tensor that is read ahead.
SmallVector<Value> GemmPhase::rowsReadAt(Value batch, Value tile, Value panel) {
  Value row = e.add(e.mul(batch, problem.m), e.mul(tile, schedule.rows));
  Value place = e.add(e.mul(row, problem.n), e.mul(panel, layout.width));
  return llvm::map_to_vector(readAhead, [&](BlockArgument argument) {
    return e.at(kernel.operand(argument.getArgNumber()), place);
  });
}

/// The result's lines arrive while the micro-kernel works: it would wait for memory otherwise.
void GemmPhase::prefetchTile(Value batch, Value tile, Value panel) {
  if (problem.finish)
    return;
  Value row = e.mul(tile, schedule.rows), column = e.mul(panel, layout.width);
  for (int64_t m = 0; m < schedule.rows; ++m)
    for (int64_t v = 0; v < layout.width; v += e.element.storedLine())
      c.prefetch({batch, e.add(row, m), e.add(column, v)});
}

/// Writes a finished vector, and takes it into the totals of what is reduced. Rows of a task's
/// matrix have room for whole vectors.
Partial GemmPhase::write(ValueRange before, Value vector, const Place &place) {
  Partial after(before);
  if (problem.finish) {
    Value column = e.add(e.mul(place.indices[1], layout.pitchC), place.indices[2]);
    e.storeAligned(vector, e.at(matrix, column));
    return after;
  }
  if (totals.exist())
    after = totals.add(before, c.reduced(vector, place), place.mask);
  c.write(vector, place);
  return after;
}

/// Writes the rows and vectors of a tile that exist; `value` gives the finished vector at a place
/// of the tile.
void GemmPhase::finishTile(Value batch, Value tile, Value panel,
                           llvm::function_ref<Value(Value place)> value) {
  Value row = e.mul(tile, schedule.rows), column = e.mul(panel, layout.width);
  Value rows = e.minimum(e.constant(schedule.rows), e.sub(e.constant(problem.m), row));
  Value left = e.sub(e.constant(problem.n), column);
  auto writeAt = [&](ValueRange before, Value m, Value v, Value mask) {
    return write(before, value(e.add(e.mul(m, layout.width), v)),
                 {{batch, e.add(row, m), e.add(column, v)}, 2, 1, mask});
  };
  if (problem.n >= layout.width)
    e.when(e.less(e.constant(layout.width - 1), left), [&] {
      Partial of = e.carry(e.constant(0), rows, 1, totals.none(), [&](Value m, ValueRange before) {
        Partial row(before);
        for (int64_t v = 0; v < layout.width; v += e.lanes)
          row = writeAt(row, m, e.constant(v), Value());
        return row;
      });
      totals.take(of);
    });
  if (problem.n % layout.width != 0)
    e.when(e.less(left, e.constant(layout.width)), [&] {
      e.loop(e.constant(0), left, e.lanes, [&](Value v) {
        Value mask = e.lanesBelow(e.sub(left, v));
        totals.take(e.carry(e.constant(0), rows, 1, totals.none(), [&](Value m, ValueRange before) {
          return writeAt(before, m, v, mask);
        }));
      });
    });
}

/// Writes all rows of tiles, whose accumulators are there; the row below arrives meanwhile.
void GemmPhase::finishRows(const Task &task, Value first, Value end, Value accumulators) {
  auto writeAt = [&](ValueRange before, Value tile, Value m, Value panel, Value v, Value mask) {
    Value row = e.add(e.mul(tile, schedule.rows), m);
    Value column = e.add(e.mul(panel, layout.width), v);
    Value acc = e.at(accumulators, e.mul(keptSlot(task, tile, panel), layout.slotElements));
    c.prefetch({task.batch, e.add(row, 1), column});
    return write(before, e.loadAligned(e.at(acc, e.add(e.mul(m, layout.width), v))),
                 {{task.batch, row, column}, 2, 1, mask});
  };
  e.loop(first, end, 1, [&](Value tile) {
    Value left = e.sub(e.constant(problem.m), e.mul(tile, schedule.rows));
    e.loop(e.constant(0), e.minimum(e.constant(schedule.rows), left), 1, [&](Value m) {
      auto ofPanel = [&](Value panel, ValueRange before) -> SmallVector<Value> {
        Value count = e.sub(e.constant(problem.n), e.mul(panel, layout.width));
        if (problem.n % layout.width != 0)
          return e.carry(e.constant(0), e.minimum(count, e.constant(layout.width)), e.lanes, before,
                         [&](Value v, ValueRange inner) {
                           return writeAt(inner, tile, m, panel, v, e.lanesBelow(e.sub(count, v)));
                         });
        Partial of(before);
        for (int64_t v = 0; v < layout.width; v += e.lanes)
          of = writeAt(of, tile, m, panel, e.constant(v), Value());
        return of;
      };
      totals.take(e.carry(task.panel, task.panelEnd, 1, totals.none(), ofPanel));
    });
  });
}

void GemmPhase::addParts() {
  Value tile = e.rem(kernel.task, layout.tiles), rest = e.div(kernel.task, layout.tiles);
  Value panel = e.rem(rest, layout.panels), batch = e.div(rest, layout.panels);
  Value parts = e.at(kernel.workspace(), e.mul(kernel.task, layout.slotElements));
  totals.begin();
  finishTile(batch, tile, panel, [&](Value place) {
    return e.sum(e.loadAligned(e.at(parts, place)), schedule.splits, [&](Value split) {
      return e.loadAligned(e.at(parts, e.add(e.mul(split, layout.partElements), place)));
    });
  });
  totals.end(kernel.task);
}

/// Nothing, unless rows of tiles are finished one by one.
static ReadAhead readAheadOf(const KernelSpec &spec, const GemmProblem &p, const GemmSchedule &s,
                             const GemmLayout &layout) {
  ReadAhead ahead;
  if (!layout.finishesTiles || p.kernel->inGroups())
    return ahead;
  for (int64_t row = 0; row < s.rows; ++row)
    for (int64_t column = 0; column < layout.width; column += p.element.line())
      ahead.lines.push_back(row * p.n + column);
  if (!fitsTable(ahead.lines))
    return {};
  ahead.tensors = rowsReadBehindAnchor(spec, p.element, p.mapC.shape);
  ahead.linesOfStep = ceilDiv(int64_t(ahead.lines.size()), p.steps());
  ahead.lines.resize(p.steps() * ahead.linesOfStep, ahead.lines.back());
  return ahead;
}

LogicalResult codegen::emitGemm(const KernelSpec &spec, const Candidate &candidate,
                                const CpuTarget &target, StringRef symbol, ModuleOp module,
                                GemmProblem problem) {
  GemmSchedule schedule = scheduleOf<GemmSchedule>(candidate.parameters);
  problem.kernel = schedule.kernel;
  GemmLayout layout(problem, schedule, problem.element.lanes(target));
  MicroTile micro;
  for (int64_t row = 0; row < schedule.rows; ++row)
    micro.rowOffsets.push_back(problem.kernel->inGroups() ? row * layout.lanes : row);
  micro.vectors = schedule.vectors;
  micro.stepA = layout.pitchA;
  const ReadAhead ahead = readAheadOf(spec, problem, schedule, layout);
  if (!ahead.tensors.empty()) {
    micro.laterLines = ahead.linesOfStep, micro.laterOffsets = true;
    micro.laterArguments = ahead.tensors.size();
  }
  LLVM::LLVMFuncOp function = problem.kernel->emit(module, target, problem.element, micro);
  const bool packs = schedule.packed != GemmProblem::Operand::None;
  if (packs) {
    GemmPhase whole(spec, candidate, target, module, phaseSymbol(symbol, candidate, 0), problem,
                    schedule);
    whole.packWhole();
    if (failed(whole.finish()))
      return failure();
  }
  GemmPhase product(spec, candidate, target, module, phaseSymbol(symbol, candidate, packs), problem,
                    schedule);
  product.multiply(function, ahead);
  if (failed(product.finish()))
    return failure();
  if (layout.inWorkspace) {
    GemmPhase finish(spec, candidate, target, module, phaseSymbol(symbol, candidate, 1), problem,
                     schedule);
    finish.addParts();
    if (failed(finish.finish()))
      return failure();
  }
  return emitLastPhases(spec, candidate, target, symbol, module);
}
