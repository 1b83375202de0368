//===- DepthwiseFilter.cpp - the filter's gradient --------------------------------------------===//
//
// Two phases:
//   0  for each (part of the batch, vector of channels): for each channel copies planes of x and dy
//      and adds up a vector for each tap, lane by lane along the rows; the sums of the lanes go to
//      [part][vector of channels][tap][channel] in the workspace;
//   1  adds the parts in ascending order and writes them.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Depthwise/Depthwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// What both phases agree on, in elements.
struct FilterPlan {
  FilterPlan(const ConvolutionProblem &problem, const DepthwiseSchedule &schedule, int64_t lanes)
      : problem(problem), schedule(schedule), lanes(lanes),
        x((schedule.bandRows - 1) * problem.stride[1] +
              (problem.kernel[1] - 1) * problem.dilation[1] + 1,
          problem.output[2], (problem.kernel[2] - 1) * problem.dilation[2] / problem.stride[2],
          problem.stride[2], lanes),
        dy(schedule.bandRows, problem.output[2], 0, 1, lanes) {}

  const ConvolutionProblem &problem;
  DepthwiseSchedule schedule;
  int64_t lanes;
  DepthwisePlane x, dy;

  int64_t taps() const { return problem.kernel[1] * problem.kernel[2]; }
  int64_t vectors() const { return ceilDiv(problem.groups, lanes); }
  int64_t bands() const { return ceilDiv(problem.output[1], schedule.bandRows); }
  int64_t images() const { return ceilDiv(problem.batch, schedule.splits); }
  int64_t partElements() const { return vectors() * taps() * lanes; }
  int64_t scratchElements() const { return taps() * lanes + x.elements() + dy.elements(); }
  double cycles() const;
};

class FilterPhase : public PackedPhase {
public:
  FilterPhase(const KernelSpec &spec, const CpuTarget &target, ModuleOp module, StringRef name,
              const FilterPlan &plan)
      : PackedPhase(spec, target, module, name, /*workspaces=*/1), plan(plan),
        problem(plan.problem) {}

  void reduce();
  void addParts();

private:
  void addBand(Value image, Value channel, Value row);
  void addTaps(int64_t firstTapRow, Value rows);

  const FilterPlan &plan;
  const ConvolutionProblem &problem;
  Source image, gradient;
  Value sums, x, dy; ///< in the scratch
};

} // namespace

/// Of all tasks.
double FilterPlan::cycles() const {
  const auto planes = double(problem.batch * problem.groups);
  const auto vectorsOfPlane = double(problem.output[1] * ceilDiv(problem.output[2], lanes));
  // Each product reads a vector of x; beside it the loop, and a vector of dy for each pass.
  const auto passes = double(ceilDiv(problem.kernel[1], schedule.tileRows));
  const double products = vectorsOfPlane * (double(taps()) * 0.8 + 3 * passes);
  const double copies = double(bands()) * (copyCycles(x, lanes) + copyCycles(dy, lanes));
  return planes * (copies + products + double(bands()) * 4 * double(taps()));
}

static DepthwiseSchedule chooseSchedule(const ConvolutionProblem &p, const MachineModel &m) {
  DepthwiseSchedule s;
  // Sums stay in registers, beside a vector of dy and one of x.
  const int64_t most = m.vectorRegisters - 4;
  s.tileRows = std::clamp<int64_t>(most / p.kernel[2], 1, p.kernel[1]);
  s.bandRows = p.output[1];
  auto plan = [&] { return FilterPlan(p, s, m.lanes); };
  while (m.elementBytes * plan().scratchElements() > m.l2Bytes / 2 && s.bandRows > 1)
    s.bandRows = ceilDiv(s.bandRows, 2);
  s.splits = std::clamp<int64_t>(m.wantedTasks() / plan().vectors(), 1, p.batch);
  const double work = double(p.batch * m.lanes * plan().taps() * p.output[1] * p.output[2]);
  s.splits = std::clamp<int64_t>(int64_t(work / smallestTask), 1, s.splits);
  s.splits = ceilDiv(p.batch, ceilDiv(p.batch, s.splits)); // every part has an image
  return s;
}

Candidate codegen::depthwiseFilterCandidate(const ConvolutionProblem &problem,
                                            const MachineModel &machine) {
  const DepthwiseSchedule schedule = chooseSchedule(problem, machine);
  const FilterPlan plan(problem, schedule, machine.lanes);
  Candidate candidate = depthwiseCandidate(schedule, schedule.splits * plan.vectors(),
                                           plan.scratchElements(), plan.cycles(), machine);
  candidate.workspaceBytes = machine.elementBytes * schedule.splits * plan.partElements();
  candidate.phases.push_back({uint64_t(plan.vectors()), 0});
  candidate.phases.back().sideBytes = candidate.workspaceBytes + problem.filterBytes();
  return candidate;
}

//===------------------------------------------------------------------------------------------===//
// Phase 0: sums over pixels
//===------------------------------------------------------------------------------------------===//

void FilterPhase::reduce() {
  image = source(0, imageMap(problem.batch, problem.groups, problem.input));
  gradient = source(1, imageMap(problem.batch, problem.groups, problem.output));
  sums = kernel.scratch;
  x = e.at(sums, plan.taps() * e.lanes);
  dy = e.at(x, plan.x.elements());
  plan.x.clear(e, x);
  SmallVector<Value> task = e.delinearize(kernel.task, {plan.schedule.splits, plan.vectors()});
  Value firstChannel = e.mul(task[1], e.lanes);
  Value channels = e.minimum(e.constant(e.lanes), e.sub(e.constant(problem.groups), firstChannel));
  Value first = e.mul(task[0], plan.images());
  Value last = e.minimum(e.add(first, plan.images()), e.constant(problem.batch));
  Value part = e.at(kernel.workspace(), e.add(e.mul(task[0], plan.partElements()),
                                              e.mul(task[1], plan.taps() * e.lanes)));
  e.loop(plan.taps(),
         [&](Value tap) { e.storeAligned(e.zeroVector(), e.at(part, e.mul(tap, e.lanes))); });
  e.loop(e.constant(0), channels, 1, [&](Value lane) {
    e.loop(plan.taps(),
           [&](Value tap) { e.storeAligned(e.zeroVector(), e.at(sums, e.mul(tap, e.lanes))); });
    e.loop(first, last, 1, [&](Value image) {
      e.loop(e.constant(0), e.constant(problem.output[1]), plan.schedule.bandRows,
             [&](Value row) { addBand(image, e.add(firstChannel, lane), row); });
    });
    e.loop(plan.taps(), [&](Value tap) {
      Value place = e.mul(tap, e.lanes);
      Value sum = e.reduceLanes(e.loadAligned(e.at(sums, place)), [&](Value a, Value b) -> Value {
        return arith::AddFOp::create(e.b, e.loc, a, b);
      });
      e.store(sum, part, e.add(place, lane));
    });
  });
}

void FilterPhase::addBand(Value number, Value channel, Value row) {
  Value zero = e.constant(0);
  Value top = e.sub(e.mul(row, problem.stride[1]), e.constant(problem.padLow[1]));
  Value corner[] = {number, channel, zero, top, e.constant(-problem.padLow[2])};
  plan.x.copy(e, image, corner, problem.input, x);
  Value place[] = {number, channel, zero, row, zero};
  plan.dy.copy(e, gradient, place, problem.output, dy);
  Value rows =
      e.minimum(e.constant(plan.schedule.bandRows), e.sub(e.constant(problem.output[1]), row));
  for (int64_t tap = 0; tap < problem.kernel[1]; tap += plan.schedule.tileRows)
    addTaps(tap, rows);
}

/// Adds a band's products to the sums of a few rows of taps.
void FilterPhase::addTaps(int64_t firstTapRow, Value rows) {
  const int64_t end = std::min(firstTapRow + plan.schedule.tileRows, problem.kernel[1]),
                taps = problem.kernel[2];
  Value base = e.at(sums, firstTapRow * taps * e.lanes);
  SmallVector<Value> before;
  for (int64_t i = 0; i < (end - firstTapRow) * taps; ++i)
    before.push_back(e.loadAligned(e.at(base, i * e.lanes)));
  auto pixels = [&](Value row, Value col, ValueRange carried) {
    SmallVector<Value> next(carried);
    Value gradients = e.loadAligned(e.at(dy, e.add(e.mul(row, plan.dy.pitch), col)));
    Value corner = e.at(x, e.add(e.mul(row, problem.stride[1] * plan.x.pitch), col));
    for (int64_t r = firstTapRow; r < end; ++r)
      for (int64_t s = 0; s < taps; ++s) {
        const int64_t place = plan.x.place(r * problem.dilation[1], s * problem.dilation[2]);
        Value pixels = e.loadVector(corner, e.constant(place), e.floatType(), e.lanes);
        Value &sum = next[(r - firstTapRow) * taps + s];
        sum = vector::FMAOp::create(e.b, e.loc, gradients, pixels, sum);
      }
    return next;
  };
  SmallVector<Value> after =
      e.carry(e.constant(0), rows, 1, before, [&](Value row, ValueRange carried) {
        return e.carry(e.constant(0), e.constant(problem.output[2]), e.lanes, carried,
                       [&](Value col, ValueRange inner) { return pixels(row, col, inner); });
      });
  for (auto [i, sum] : llvm::enumerate(after))
    e.storeAligned(sum, e.at(base, int64_t(i) * e.lanes));
}

//===------------------------------------------------------------------------------------------===//
// Phase 1: the parts' sum
//===------------------------------------------------------------------------------------------===//

void FilterPhase::addParts() {
  Sink filter = sink(imageMap(problem.groups, 1, problem.kernel));
  Value lane = e.mul(kernel.task, e.lanes), zero = e.constant(0);
  Value mask = e.lanesBelow(e.sub(e.constant(problem.groups), lane));
  Value parts = e.at(kernel.workspace(), e.mul(kernel.task, plan.taps() * e.lanes));
  e.loop(problem.kernel[1], [&](Value r) {
    e.loop(problem.kernel[2], [&](Value s) {
      Value place = e.mul(e.add(e.mul(r, problem.kernel[2]), s), e.lanes);
      Value sum = e.sum(e.loadAligned(e.at(parts, place)), plan.schedule.splits, [&](Value split) {
        return e.loadAligned(e.at(parts, e.add(e.mul(split, plan.partElements()), place)));
      });
      filter.write(sum, {{lane, zero, zero, r, s}, 0, 1, mask});
    });
  });
}

LogicalResult codegen::emitDepthwiseFilter(const KernelSpec &spec, const Candidate &candidate,
                                           const CpuTarget &target, StringRef symbol,
                                           ModuleOp module, const ConvolutionProblem &problem) {
  const FilterPlan plan(problem, scheduleOf<DepthwiseSchedule>(candidate.parameters),
                        Element::of(spec).lanes(target));
  FilterPhase reduction(spec, target, module, phaseSymbol(symbol, candidate, 0), plan);
  reduction.reduce();
  FilterPhase filter(spec, target, module, phaseSymbol(symbol, candidate, 1), plan);
  filter.addParts();
  if (failed(reduction.finish()) || failed(filter.finish()))
    return failure();
  return emitLastPhases(spec, candidate, target, symbol, module);
}
