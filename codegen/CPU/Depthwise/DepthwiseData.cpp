//===- DepthwiseData.cpp - forward and backward data ------------------------------------------===//
//
// One phase: for each (vector of channels of an image, band of rows): copies each channel's plane
// with its border and computes tiles of a few rows by one vector for each column phase (see
// ConvolutionGeometry.h), which read each vector of the source once for all rows that need it.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Depthwise/Depthwise.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// What follows from a problem and a schedule, in elements.
struct DataPlan {
  DataPlan(const ConvolutionProblem &problem, const DepthwiseSchedule &schedule, int64_t lanes);

  const ConvolutionProblem &problem;
  DataGeometry geometry;
  DepthwiseSchedule schedule;
  int64_t lanes;
  int64_t firstRow, firstCol; ///< smallest distance of a tap of any phase, along rows and columns
  DepthwisePlane plane;

  int64_t vectors() const { return ceilDiv(geometry.groups, lanes); }
  int64_t units() const { return geometry.batch * vectors(); }
  int64_t bands() const { return ceilDiv(geometry.maxCount(1), schedule.bandRows); }
  int64_t tasks() const { return ceilDiv(units(), schedule.units) * bands(); }
  int64_t taps() const { return geometry.kernel[1] * geometry.kernel[2]; }
  int64_t scratchElements() const { return taps() * lanes + plane.elements(); }
  double cycles() const;

private:
  DepthwisePlane planeOf() const;
};

class DataPhase : public PackedPhase {
public:
  DataPhase(const KernelSpec &spec, const CpuTarget &target, ModuleOp module, StringRef name,
            const DataPlan &plan)
      : PackedPhase(spec, target, module, name, /*workspaces=*/0), plan(plan),
        geometry(plan.geometry) {}

  void run();

private:
  /// A plane's band: image, channel, first row in phases' counts, and behind the last.
  struct Band {
    Value image, channel, row, end;
  };
  void packWeights(Value vector);
  void computeBand(const Band &band, int64_t rowPhase, ArrayRef<Value> weights);
  void computeRows(const Band &band, const PhaseDimension &rows, Value row, int64_t count,
                   ArrayRef<Value> weights);
  SmallVector<Value> computeTile(const PhaseDimension &rows, const PhaseDimension &cols,
                                 int64_t count, ArrayRef<Value> weights, Value corner);
  void writeRow(ArrayRef<Value> phases, const Band &band, Value row, Value col);

  const DataPlan &plan;
  const DataGeometry &geometry;
  Source image, filter;
  Sink target;
  Value weights, block; ///< in the scratch
};

} // namespace

//===------------------------------------------------------------------------------------------===//
// Plan
//===------------------------------------------------------------------------------------------===//

DataPlan::DataPlan(const ConvolutionProblem &problem, const DepthwiseSchedule &schedule,
                   int64_t lanes)
    : problem(problem), geometry(problem), schedule(schedule), lanes(lanes),
      firstRow(geometry.offsetRange(1).first), firstCol(geometry.offsetRange(2).first),
      plane(planeOf()) {}

DepthwisePlane DataPlan::planeOf() const {
  const int64_t height = geometry.offsetRange(1).second - firstRow,
                width = geometry.offsetRange(2).second - firstCol;
  return {(schedule.bandRows - 1) * geometry.sourceStep[1] + height + 1, geometry.maxCount(2),
          width / geometry.sourceStep[2], geometry.sourceStep[2], lanes};
}

/// Of all tasks.
double DataPlan::cycles() const {
  const auto planes = double(geometry.batch * geometry.groups);
  const auto chunks = double(ceilDiv(geometry.maxCount(2), lanes));
  double cycles = double(bands()) * copyCycles(plane, lanes);
  for (const PhaseDimension &rows : geometry.dimensions[1]) {
    // Rows behind the last whole tile read all that they need for themselves.
    const auto tiles =
        double(rows.count / schedule.tileRows) + 0.7 * double(rows.count % schedule.tileRows);
    for (const PhaseDimension &cols : geometry.dimensions[2]) {
      const auto taps = double(rows.taps.size() * cols.taps.size());
      const double span = double((schedule.tileRows - 1) * geometry.sourceStep[1] +
                                 rows.maxOffset() - rows.minOffset() + 1);
      const double products = taps * double(schedule.tileRows),
                   loads = span * double(cols.taps.size());
      // A weight of many does not stay in a register; behind the sums, the epilogue and its store.
      const double steps = std::max(products / 2, (loads + (taps > 9 ? products : 0)) / 2);
      cycles += tiles * chunks * (steps + 2 + 2 * double(schedule.tileRows));
    }
  }
  return planes * cycles;
}

static DepthwiseSchedule chooseSchedule(const ConvolutionProblem &p, const MachineModel &m) {
  const DataGeometry g(p);
  DepthwiseSchedule s;
  // Accumulators of all column phases, beside the weights.
  const int64_t mostRows = std::max<int64_t>(1, m.vectorRegisters / 4 / g.columnPhases());
  s.bandRows = g.maxCount(1);
  double best = 0;
  for (DepthwiseSchedule one = s; one.tileRows <= mostRows; ++one.tileRows)
    if (double cycles = DataPlan(p, one, m.lanes).cycles(); one.tileRows == 1 || cycles < best)
      best = cycles, s = one;
  auto plan = [&] { return DataPlan(p, s, m.lanes); };
  while (m.elementBytes * plan().plane.elements() > m.l2Bytes / 2 && s.bandRows > s.tileRows)
    s.bandRows = roundUp(ceilDiv(s.bandRows, 2), s.tileRows);
  auto work = [&](const DataPlan &plan) {
    return double(s.units * m.lanes * plan.taps()) *
           double(s.bandRows * g.rowPhases() * g.target[2]);
  };
  while (plan().tasks() < m.wantedTasks() && work(plan()) > 2 * smallestTask &&
         s.bandRows > s.tileRows)
    s.bandRows = roundUp(ceilDiv(s.bandRows, 2), s.tileRows);
  while (plan().tasks() > 2 * m.wantedTasks() && work(plan()) < smallestTask)
    s.units *= 2;
  return s;
}

Candidate codegen::depthwiseDataCandidate(const ConvolutionProblem &problem,
                                          const MachineModel &machine) {
  const DepthwiseSchedule schedule = chooseSchedule(problem, machine);
  const DataPlan plan(problem, schedule, machine.lanes);
  return depthwiseCandidate(schedule, plan.tasks(), plan.scratchElements(), plan.cycles(), machine);
}

//===------------------------------------------------------------------------------------------===//
// Code
//===------------------------------------------------------------------------------------------===//

void DataPhase::run() {
  const int64_t channels = geometry.groups;
  image = source(0, imageMap(geometry.batch, channels, geometry.source));
  filter = source(1, imageMap(channels, 1, geometry.kernel));
  target = sink(imageMap(geometry.batch, channels, geometry.target));
  weights = kernel.scratch;
  block = e.at(weights, plan.taps() * e.lanes);
  plan.plane.clear(e, block);
  const int64_t units = plan.schedule.units;
  SmallVector<Value> task =
      e.delinearize(kernel.task, {ceilDiv(plan.units(), units), plan.bands()});
  Value first = e.mul(task[0], units);
  Value last = e.minimum(e.add(first, units), e.constant(plan.units()));
  Value row = e.mul(task[1], plan.schedule.bandRows), end = e.add(row, plan.schedule.bandRows);
  e.loop(first, last, 1, [&](Value unit) {
    SmallVector<Value> place = e.delinearize(unit, {geometry.batch, plan.vectors()});
    packWeights(place[1]);
    Value firstChannel = e.mul(place[1], e.lanes);
    Value count = e.minimum(e.constant(e.lanes), e.sub(e.constant(channels), firstChannel));
    e.loop(e.constant(0), count, 1, [&](Value lane) {
      Band band{place[0], e.add(firstChannel, lane), row, end};
      Value corner[] = {band.image, band.channel, e.constant(0),
                        e.add(e.mul(row, geometry.sourceStep[1]), plan.firstRow),
                        e.constant(plan.firstCol)};
      plan.plane.copy(e, image, corner, geometry.source, block);
      SmallVector<Value> splats;
      for (int64_t tap = 0; tap < plan.taps(); ++tap)
        splats.push_back(
            e.splat(e.load(weights, e.add(lane, tap * e.lanes), e.floatType()), e.lanes));
      for (int64_t phase = 0; phase < geometry.rowPhases(); ++phase)
        computeBand(band, phase, splats);
    });
  });
}

/// [tap][lane] of a vector of channels.
void DataPhase::packWeights(Value vector) {
  Value first = e.mul(vector, e.lanes);
  Value mask = e.lanesBelow(e.sub(e.constant(geometry.groups), first));
  for (int64_t r = 0; r < geometry.kernel[1]; ++r)
    for (int64_t s = 0; s < geometry.kernel[2]; ++s)
      e.storeAligned(
          filter.read(
              {{first, e.constant(0), e.constant(0), e.constant(r), e.constant(s)}, 0, 1, mask}),
          e.at(weights, (r * geometry.kernel[2] + s) * e.lanes));
}

/// The rows of one row phase, tile by tile, and one by one behind the last whole tile. A tile has
/// no branch inside: LLVM would move the sums of a row into it, one long chain.
void DataPhase::computeBand(const Band &band, int64_t rowPhase, ArrayRef<Value> weights) {
  const PhaseDimension &rows = geometry.dimensions[1][rowPhase];
  const int64_t tileRows = plan.schedule.tileRows;
  Value end = e.minimum(band.end, e.constant(rows.count));
  Value left = e.maximum(e.sub(end, band.row), e.constant(0));
  Value whole = e.add(band.row, e.mul(e.div(left, tileRows), tileRows));
  e.loop(band.row, whole, tileRows,
         [&](Value row) { computeRows(band, rows, row, tileRows, weights); });
  if (tileRows > 1)
    e.loop(whole, end, 1, [&](Value row) { computeRows(band, rows, row, 1, weights); });
}

void DataPhase::computeRows(const Band &band, const PhaseDimension &rows, Value row, int64_t count,
                            ArrayRef<Value> weights) {
  auto tile = [&](Value col) {
    Value inBand = e.mul(e.sub(row, band.row), geometry.sourceStep[1] * plan.plane.pitch);
    Value corner = e.at(block, e.add(inBand, col));
    SmallVector<SmallVector<Value>> sums;
    for (const PhaseDimension &cols : geometry.dimensions[2])
      sums.push_back(computeTile(rows, cols, count, weights, corner));
    for (int64_t r = 0; r < count; ++r) {
      SmallVector<Value> phases;
      for (const SmallVector<Value> &ofPhase : sums)
        phases.push_back(ofPhase[r]);
      Value number = e.add(row, r);
      writeRow(phases, band, e.add(e.mul(number, geometry.targetStep[1]), rows.first), col);
    }
  };
  const int64_t width = geometry.target[2], step = geometry.columnPhases();
  const int64_t whole = width / (step * e.lanes) * e.lanes;
  e.loop(e.constant(0), e.constant(whole), e.lanes, tile);
  if (whole < geometry.maxCount(2))
    tile(e.constant(whole));
}

/// The sums of a vector of columns, for each of `count` rows.
SmallVector<Value> DataPhase::computeTile(const PhaseDimension &rows, const PhaseDimension &cols,
                                          int64_t count, ArrayRef<Value> weights, Value corner) {
  SmallVector<Value> sums(count, e.zeroVector());
  for (int64_t sourceRow = 0; sourceRow < plan.plane.rows; ++sourceRow)
    for (const ConvolutionTap &col : cols.taps) {
      Value vector;
      for (int64_t r = 0; r < count; ++r)
        for (const ConvolutionTap &tap : rows.taps) {
          if (r * geometry.sourceStep[1] + tap.offset - plan.firstRow != sourceRow)
            continue;
          if (!vector)
            vector = e.loadVector(
                corner, e.constant(plan.plane.place(sourceRow, col.offset - plan.firstCol)),
                e.floatType(), e.lanes);
          Value weight = weights[tap.kernel * geometry.kernel[2] + col.kernel];
          sums[r] = vector::FMAOp::create(e.b, e.loc, weight, vector, sums[r]);
        }
    }
  return sums;
}

/// Writes a vector of each column phase, whose columns take turns. The column is known where the
/// row's end is near.
void DataPhase::writeRow(ArrayRef<Value> phases, const Band &band, Value row, Value col) {
  const int64_t step = int64_t(phases.size()), width = geometry.target[2];
  auto write = [&](Value vector, int64_t first, int64_t distance) {
    Value mask;
    if (std::optional<int64_t> known = CodeEmitter::known(col)) {
      const int64_t left = width - *known * step - first;
      if (left <= 0)
        return;
      mask = e.lanesBelow(e.constant(ceilDiv(left, distance)));
    }
    target.write(vector,
                 {{band.image, band.channel, e.constant(0), row, e.add(e.mul(col, step), first)},
                  4,
                  distance,
                  mask});
  };
  if (step == 2) {
    for (int64_t half : {0, 1})
      write(e.alternate(phases[0], phases[1], half), half * e.lanes, 1);
    return;
  }
  for (auto [phase, vector] : llvm::enumerate(phases))
    write(vector, int64_t(phase), step);
}

LogicalResult codegen::emitDepthwiseData(const KernelSpec &spec, const Candidate &candidate,
                                         const CpuTarget &target, StringRef symbol, ModuleOp module,
                                         const ConvolutionProblem &problem) {
  const DataPlan plan(problem, scheduleOf<DepthwiseSchedule>(candidate.parameters),
                      Element::of(spec).lanes(target));
  DataPhase rows(spec, target, module, phaseSymbol(symbol, candidate, 0), plan);
  rows.run();
  if (failed(rows.finish()))
    return failure();
  return emitLastPhases(spec, candidate, target, symbol, module);
}
