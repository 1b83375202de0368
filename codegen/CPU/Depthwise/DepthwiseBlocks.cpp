//===- DepthwiseBlocks.cpp - forward and backward data of blocks of channels ------------------===//
//
// One phase: for each (vector of channels of an image, band of rows): copies the band's pixels with
// their border and computes tiles of a few columns of each phase (see ConvolutionGeometry.h), a
// vector of channels each: a tap is a pixel at a fixed distance, and has a vector of weights.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Depthwise/Depthwise.h"
#include "codegen/CPU/Reduce/BandReducer.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// What follows from a problem and a schedule; extents of the copy in pixels.
struct BlockPlan {
  BlockPlan(const ConvolutionProblem &problem, const DepthwiseSchedule &schedule, int64_t lanes)
      : geometry(problem), schedule(schedule), lanes(lanes),
        firstRow(geometry.offsetRange(1).first), firstCol(geometry.offsetRange(2).first) {}

  DataGeometry geometry;
  DepthwiseSchedule schedule;
  int64_t lanes;
  int64_t firstRow, firstCol; ///< smallest distance of a tap of any phase, along rows and columns

  int64_t rows() const { return extent(1, schedule.bandRows); }
  int64_t pitch() const { return extent(2, geometry.maxCount(2)); }
  int64_t vectors() const { return geometry.groups / lanes; }
  int64_t bands() const { return ceilDiv(geometry.maxCount(1), schedule.bandRows); }
  int64_t tasks() const { return vectors() * pieces(); }
  /// Of each channel's pixels.
  int64_t pieces() const { return geometry.batch * bands(); }
  int64_t taps() const { return geometry.kernel[1] * geometry.kernel[2]; }
  int64_t copyElements() const { return rows() * pitch() * lanes; }
  int64_t scratchElements() const { return taps() * lanes + copyElements(); }
  double cycles() const;

private:
  /// What `count` target indices read along an axis.
  int64_t extent(unsigned axis, int64_t count) const {
    const auto [first, last] = geometry.offsetRange(axis);
    return (count - 1) * geometry.sourceStep[axis] + last - first + 1;
  }
};

class BlockPhase : public PackedPhase {
public:
  BlockPhase(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
             ModuleOp module, StringRef name, const BlockPlan &plan)
      : PackedPhase(spec, target, module, name, candidate.workspaceBytes != 0), plan(plan),
        geometry(plan.geometry),
        reducer(kernel, candidate,
                blockMap(geometry.batch, geometry.groups, geometry.targetBlock, geometry.target)
                    .shape) {}

  void run();
  LogicalResult reduced() const { return reducer.result; }

private:
  /// Image, block and channel of the block of a vector of channels, first row in phases' counts.
  struct Band {
    Value image, block, channel, row;
  };
  void computeRow(const Band &band, const PhaseDimension &rows, const PhaseDimension &cols,
                  Value row);
  SmallVector<Value> computeTile(const PhaseDimension &rows, const PhaseDimension &cols,
                                 int64_t count, Value corner);

  const BlockPlan &plan;
  const DataGeometry &geometry;
  Sink target;
  BandReducer reducer;
  Value copy;                 ///< in the scratch
  SmallVector<Value> weights; ///< of each tap
};

} // namespace

/// Of all tasks.
double BlockPlan::cycles() const {
  const double perPixel = 1.5, perResult = 3;
  double cycles = perPixel * double(bands() * rows() * pitch());
  for (const PhaseDimension &rows : geometry.dimensions[1])
    for (const PhaseDimension &cols : geometry.dimensions[2]) {
      const auto taps = double(rows.taps.size() * cols.taps.size());
      cycles += double(rows.count * cols.count) * (taps / 2 + perResult);
    }
  return double(geometry.batch * vectors()) * cycles;
}

static DepthwiseSchedule chooseSchedule(const ConvolutionProblem &p, const MachineModel &m) {
  const DataGeometry g(p);
  DepthwiseSchedule s;
  s.tileRows = std::min(m.vectorRegisters / 4, g.maxCount(2));
  s.bandRows = g.maxCount(1);
  auto plan = [&] { return BlockPlan(p, s, m.lanes); };
  auto work = [&](const BlockPlan &plan) {
    return double(m.lanes * plan.taps()) * double(s.bandRows * g.rowPhases() * g.target[2]);
  };
  while (s.bandRows > 1 && (m.elementBytes * plan().copyElements() > m.l2Bytes / 2 ||
                            (plan().tasks() < m.wantedTasks() && work(plan()) > 2 * smallestTask)))
    s.bandRows = ceilDiv(s.bandRows, 2);
  return s;
}

Candidate codegen::depthwiseBlocksCandidate(const ConvolutionProblem &problem,
                                            const MachineModel &machine) {
  const DepthwiseSchedule schedule = chooseSchedule(problem, machine);
  const BlockPlan plan(problem, schedule, machine.lanes);
  Candidate candidate =
      depthwiseCandidate(schedule, plan.tasks(), plan.scratchElements(), plan.cycles(), machine);
  candidate.bandPieces = plan.pieces();
  return candidate;
}

void BlockPhase::run() {
  const int64_t channels = geometry.groups, sourceBlock = geometry.sourceBlock;
  Source image = source(0, blockMap(geometry.batch, channels, sourceBlock, geometry.source));
  Source filter = source(1, imageMap(channels, 1, geometry.kernel));
  target = sink(blockMap(geometry.batch, channels, geometry.targetBlock, geometry.target));
  copy = e.at(kernel.scratch, plan.taps() * e.lanes);
  SmallVector<Value> task =
      e.delinearize(kernel.task, {geometry.batch, plan.vectors(), plan.bands()});
  Value first = e.mul(task[1], e.lanes), zero = e.constant(0);
  // Weights are gathered once: behind the scratch they are plain loads wherever they are needed.
  for (int64_t tap = 0; tap < plan.taps(); ++tap) {
    Value row = e.constant(tap / geometry.kernel[2]), col = e.constant(tap % geometry.kernel[2]);
    Value place = e.at(kernel.scratch, tap * e.lanes);
    e.storeAligned(filter.read({{first, zero, zero, row, col}, 0, 1, {}}), place);
    weights.push_back(e.loadAligned(place));
  }
  Value top = e.mul(task[2], plan.schedule.bandRows);
  copyBlocks(e, image,
             {task[0], e.div(first, sourceBlock), e.rem(first, sourceBlock), zero,
              e.add(e.mul(top, geometry.sourceStep[1]), plan.firstRow), e.constant(plan.firstCol)},
             e.lanes, sourceBlock, geometry.source, plan.rows(), plan.pitch(), copy);
  const Band band{task[0], e.div(first, geometry.targetBlock), e.rem(first, geometry.targetBlock),
                  top};
  reducer.begin(e.add(e.mul(task[0], plan.bands()), task[2]), first, e.add(first, e.lanes));
  for (const PhaseDimension &rows : geometry.dimensions[1]) {
    Value end = e.minimum(e.add(top, plan.schedule.bandRows), e.constant(rows.count));
    e.loop(top, end, 1, [&](Value row) {
      for (const PhaseDimension &cols : geometry.dimensions[2])
        computeRow(band, rows, cols, row);
      reducer.reduce({band.image, first, zero,
                      e.add(e.mul(row, geometry.targetStep[1]), rows.first), zero, e.constant(1),
                      e.constant(geometry.target[2])});
    });
  }
}

void BlockPhase::computeRow(const Band &band, const PhaseDimension &rows,
                            const PhaseDimension &cols, Value row) {
  const int64_t most = plan.schedule.tileRows, whole = cols.count / most * most;
  Value inCopy = e.mul(e.mul(e.sub(row, band.row), geometry.sourceStep[1]), plan.pitch());
  auto tile = [&](Value col, int64_t count) {
    Value corner = e.add(inCopy, e.mul(col, geometry.sourceStep[2]));
    SmallVector<Value> sums = computeTile(rows, cols, count, e.at(copy, e.mul(corner, e.lanes)));
    for (auto [number, sum] : llvm::enumerate(sums))
      target.write(sum,
                   {{band.image, band.block, band.channel, e.constant(0),
                     e.add(e.mul(row, geometry.targetStep[1]), rows.first),
                     e.add(e.mul(e.add(col, int64_t(number)), geometry.targetStep[2]), cols.first)},
                    2,
                    1,
                    {}});
  };
  e.loop(e.constant(0), e.constant(whole), most, [&](Value col) { tile(col, most); });
  if (whole < cols.count)
    tile(e.constant(whole), cols.count - whole);
}

/// The sums of `count` columns, from the copy's pixel at `corner` on. Each pixel is read once.
SmallVector<Value> BlockPhase::computeTile(const PhaseDimension &rows, const PhaseDimension &cols,
                                           int64_t count, Value corner) {
  SmallVector<Value> sums(count, e.zeroVector());
  const int64_t span = (count - 1) * geometry.sourceStep[2] + cols.maxOffset();
  for (const ConvolutionTap &row : rows.taps)
    for (int64_t place = cols.minOffset(); place <= span; ++place) {
      Value pixel;
      for (int64_t number = 0; number < count; ++number)
        for (const ConvolutionTap &col : cols.taps) {
          if (number * geometry.sourceStep[2] + col.offset != place)
            continue;
          if (!pixel)
            pixel = e.loadAligned(
                e.at(corner, ((row.offset - plan.firstRow) * plan.pitch() + place - plan.firstCol) *
                                 e.lanes));
          Value weight = weights[row.kernel * geometry.kernel[2] + col.kernel];
          sums[number] = vector::FMAOp::create(e.b, e.loc, weight, pixel, sums[number]);
        }
    }
  return sums;
}

LogicalResult codegen::emitDepthwiseBlocks(const KernelSpec &spec, const Candidate &candidate,
                                           const CpuTarget &target, StringRef symbol,
                                           ModuleOp module, const ConvolutionProblem &problem) {
  const BlockPlan plan(problem, scheduleOf<DepthwiseSchedule>(candidate.parameters),
                       Element::of(spec).lanes(target));
  BlockPhase phase(spec, candidate, target, module, phaseSymbol(symbol, candidate, 0), plan);
  phase.run();
  if (failed(phase.finish()) || failed(phase.reduced()))
    return failure();
  return emitLastPhases(spec, candidate, target, symbol, module);
}
