//===- Patches.cpp - see Patches.h ------------------------------------------------------------===//
#include "codegen/CPU/Convolution/Patches.h"
#include "codegen/CPU/Convolution/Convolution.h"
#include "codegen/CPU/Emitter/Walk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;
using Direction = ConvolutionProblem::Direction;
using Spatial = ConvolutionProblem::Spatial;

//===------------------------------------------------------------------------------------------===//
// The matrix of patches
//===------------------------------------------------------------------------------------------===//

namespace {

/// P or P^T as a panel of b needs it: columns and steps stand for (channel, d, h, w), pixels of y
/// with a single channel. x is met at column * columnStep + step * stepStep - padLow.
struct Patches {
  explicit Patches(const ConvolutionProblem &p);

  int64_t rowLength() const { return columns[3]; } ///< columns that are neighbours along w
  int64_t rows() const { return columns[0] * columns[1] * columns[2]; }
  int64_t count() const { return rows() * rowLength(); }
  /// Of how many rows a vector may hold columns.
  int64_t segments(int64_t lanes) const;
  bool isInside(unsigned axis) const;

  const ConvolutionProblem problem;
  std::array<int64_t, 4> columns, steps;
  Spatial columnStep, stepStep;
};

/// Neighbours along w in a vector of columns: where the vector's first lane meets x at step 0, and
/// which lanes they are; null: from the first, or to the last.
struct Segment {
  Value channel, d, h, w, low, high;
};

/// Packs panels of patches.
class PatchPacker {
public:
  PatchPacker(PackedPhase &phase, const Patches &patches, const PanelRange &range);
  void pack();

private:
  SmallVector<Segment> segmentsOf(Value firstLane);
  Value maskOf(const Segment &segment, ArrayRef<Value> at);
  Value read(ArrayRef<Segment> segments, ArrayRef<Value> step);

  PackEmitter &e;
  const Patches &patches;
  const ConvolutionProblem &problem;
  const PanelRange &range;
  Source x;
  Value image, group;
};

} // namespace

Patches::Patches(const ConvolutionProblem &p) : problem(p) {
  columns = {1, p.output[0], p.output[1], p.output[2]};
  steps = {p.inChannels / p.groups, p.kernel[0], p.kernel[1], p.kernel[2]};
  columnStep = p.stride, stepStep = p.dilation;
  if (p.direction == Direction::BackwardFilter) {
    std::swap(columns, steps);
    std::swap(columnStep, stepStep);
  }
}

int64_t Patches::segments(int64_t lanes) const {
  if (rowLength() % lanes == 0)
    return 1;
  if (lanes % rowLength() == 0)
    return std::min(rows(), lanes / rowLength());
  return std::min(rows(), ceilDiv(lanes - 1, rowLength()) + 1);
}

/// Whether no column meets the padding along the axis.
bool Patches::isInside(unsigned axis) const {
  const int64_t last =
      (columns[axis + 1] - 1) * columnStep[axis] + (steps[axis + 1] - 1) * stepStep[axis];
  return problem.padLow[axis] == 0 && last < problem.input[axis];
}

/// Of register tiles, in which so many cycles of other instructions pass: those take as long where
/// the ports of multiplications take a vector in two halves.
static double tileCyclesOf(double cycles, const MachineModel &m) {
  return cycles * m.tileCyclesPerSecond(4 * m.lanes) / m.tileCyclesPerSecond32;
}

/// Cycles in which an element of P is gathered, by the instructions below and layers of LeNet,
/// AlexNet and ResNet-50 on a Zen 4.
static double gatherCycles(const Patches &patches, const CpuTarget &target, Element element) {
  const ConvolutionProblem &p = patches.problem;
  const int64_t lanes = element.lanes(target), step = patches.columnStep[2];
  const bool inside = patches.isInside(0) && patches.isInside(1) && patches.isInside(2);
  const bool isWhole = step == 1 && inside && patches.segments(lanes) == 1;
  double load = step == 1 ? 1 : step == 2 ? 7 : 1.1 * double(lanes);
  // Masked loads of 16 bits are loads of single elements.
  if (element.storedBytes() == 2 && target.vectorBytes == 32 && !isWhole)
    load = std::max(load, 3 * double(lanes));
  const double segment = load + (inside ? 1 : 4) + p.imageWeight / 2, perVector = 3;
  return tileCyclesOf(perVector + segment * double(patches.segments(lanes)),
                      MachineModel(target, element.bytes())) /
         double(lanes);
}

PatchPacker::PatchPacker(PackedPhase &phase, const Patches &patches, const PanelRange &range)
    : e(phase.e), patches(patches), problem(patches.problem), range(range),
      x(phase.source(0, imageMap(problem.batch, problem.inChannels, problem.input))) {
  const bool ofFilter = problem.direction == Direction::BackwardFilter;
  const int64_t inner = ofFilter ? problem.batch : problem.groups;
  Value first = e.div(range.outer, inner), second = e.rem(range.outer, inner);
  image = ofFilter ? second : first, group = ofFilter ? first : second;
}

SmallVector<Segment> PatchPacker::segmentsOf(Value firstLane) {
  const int64_t length = patches.rowLength();
  Value row = e.div(firstLane, length), column = e.rem(firstLane, length);
  // Panels that end with the matrix have no lanes behind it.
  Value left;
  if (patches.count() % range.width != 0)
    left = e.sub(e.constant(patches.count()), firstLane);
  auto met = [&](Value index, unsigned axis) {
    return e.add(e.mul(index, patches.columnStep[axis]), -problem.padLow[axis]);
  };
  SmallVector<Segment> segments;
  for (int64_t number = 0, count = patches.segments(e.lanes); number < count; ++number) {
    SmallVector<Value> at =
        e.delinearize(e.add(row, number), ArrayRef(patches.columns).drop_back());
    Value first = e.sub(e.constant(number * length), column);
    Segment segment;
    segment.channel = at[0];
    segment.d = met(at[1], 0), segment.h = met(at[2], 1);
    segment.w = met(e.sub(column, e.constant(number * length)), 2);
    if (number > 0)
      segment.low = first;
    segment.high = left;
    if (length % e.lanes != 0 && patches.rows() > 1) {
      Value end = e.add(first, length);
      segment.high = left ? e.minimum(end, left) : end;
    }
    segments.push_back(segment);
  }
  return segments;
}

/// The lanes of a segment that lie in x; `at`: where the first lane meets it, (d, h, w).
Value PatchPacker::maskOf(const Segment &segment, ArrayRef<Value> at) {
  Value low = segment.low, high = segment.high, zero = e.constant(0);
  const int64_t step = patches.columnStep[2];
  if (!patches.isInside(2)) {
    Value first = firstAt(e, e.sub(zero, at[2]), step);
    Value last = firstAt(e, e.sub(e.constant(problem.input[2]), at[2]), step);
    low = low ? e.maximum(low, first) : first;
    high = high ? e.minimum(high, last) : last;
  }
  for (unsigned axis : {0, 1})
    if (!patches.isInside(axis)) {
      Value exists = e.both(e.less(e.constant(-1), at[axis]),
                            e.less(at[axis], e.constant(problem.input[axis])));
      high = e.select(exists, high ? high : e.constant(e.lanes), zero);
    }
  return e.intersect(low ? e.lanesFrom(low) : Value(), high ? e.lanesBelow(high) : Value());
}

/// A vector of columns at a step.
Value PatchPacker::read(ArrayRef<Segment> segments, ArrayRef<Value> step) {
  Value vector;
  for (const Segment &segment : segments) {
    const Value along[] = {segment.d, segment.h, segment.w};
    SmallVector<Value> at;
    for (unsigned axis = 0; axis < 3; ++axis)
      at.push_back(e.add(along[axis], e.mul(step[axis + 1], patches.stepStep[axis])));
    Value channel =
        e.add(e.mul(group, problem.inChannels / problem.groups), e.add(segment.channel, step[0]));
    Value mask = maskOf(segment, at);
    // What a computed image reads for all of a row or channel has no mask.
    if (!x.address) {
      auto within = [&](Value index, int64_t extent) {
        return e.maximum(e.constant(0), e.minimum(index, e.constant(extent - 1)));
      };
      channel = within(channel, problem.inChannels);
      for (unsigned axis : {0, 1})
        at[axis] = within(at[axis], problem.input[axis]);
    }
    Value part = x.read({{image, channel, at[0], at[1], at[2]}, 4, patches.columnStep[2], mask});
    vector = vector ? e.blend(mask, part, vector) : part;
  }
  return vector;
}

void PatchPacker::pack() {
  e.loop(range.first, range.end, 1, [&](Value panel) {
    SmallVector<SmallVector<Segment>> vectors;
    for (int64_t v = 0; v < range.width; v += e.lanes)
      vectors.push_back(segmentsOf(e.add(e.mul(panel, range.width), v)));
    Value base = e.at(range.target, e.mul(e.sub(panel, range.first), range.distance));
    e.loop(e.constant(0), range.steps, 1, [&](Value step) {
      SmallVector<Value> at = e.delinearize(e.add(range.k, step), patches.steps);
      for (auto [v, segments] : llvm::enumerate(vectors))
        e.storeAligned(read(segments, at),
                       e.at(base, e.add(e.mul(step, range.width), int64_t(v) * e.lanes)));
    });
  });
}

//===------------------------------------------------------------------------------------------===//
// Backward data
//===------------------------------------------------------------------------------------------===//

static int64_t tapsOf(const ConvolutionProblem &p) {
  return p.kernel[0] * p.kernel[1] * p.kernel[2];
}
static int64_t pixelsOf(const ConvolutionProblem &p) {
  return p.output[0] * p.output[1] * p.output[2];
}

/// Channels of a group whose rows q a task makes: a divisor of theirs, as many as stay in half of
/// L2, but fewer where tasks are.
static int64_t channelsOfTask(const ConvolutionProblem &p, const CpuTarget &target) {
  const MachineModel machine(target, p.elementBytes);
  const int64_t channels = p.inChannels / p.groups, fewestRows = 96;
  for (int64_t count = channels; count > 1; --count) {
    if (channels % count != 0)
      continue;
    const int64_t rows = count * tapsOf(p);
    const bool fits = rows * pixelsOf(p) * p.elementBytes <= machine.l2Bytes / 2;
    const int64_t tasks = p.batch * p.groups * (channels / count);
    if (fits && (tasks >= machine.wantedTasks() || rows < 2 * fewestRows))
      return count;
  }
  return 1;
}

namespace {
/// Adds up the rows q of some channels, which a task has made.
class PatchSum {
public:
  PatchSum(PackedPhase &phase, const ConvolutionProblem &problem, Value matrix, int64_t pitch)
      : e(phase.e), problem(problem), matrix(matrix), pitch(pitch),
        dx(phase.sink(imageMap(problem.batch, problem.inChannels, problem.input))) {}
  /// Of `channels` channels from `channel` on.
  void add(Value image, Value channel, int64_t channels);

private:
  /// Calls `body` with the index of dy that tap `tap` meets at index `index` of dx, if there is
  /// one, or for w with that of the first lane, which may lie outside.
  Value meet(unsigned axis, Value index, Value tap, Value otherwise,
             llvm::function_ref<Value(Value)> body);
  Value sumTaps(Value row, Value d, Value h, Value first, Value number);
  void addRow(Value image, Value channel, Value row, Value d, Value h);

  PackEmitter &e;
  const ConvolutionProblem &problem;
  Value matrix;
  int64_t pitch;
  Sink dx;
};
} // namespace

Value PatchSum::meet(unsigned axis, Value index, Value tap, Value otherwise,
                     llvm::function_ref<Value(Value)> body) {
  const int64_t stride = problem.stride[axis], dilation = problem.dilation[axis];
  // Division is of numbers that are not negative.
  const int64_t moved = ceilDiv(problem.kernel[axis] * dilation, stride);
  Value distance = e.add(e.sub(index, e.mul(tap, dilation)), problem.padLow[axis] + moved * stride);
  Value place = e.add(e.div(distance, stride), -moved);
  Value exists = e.equal(e.rem(distance, stride), e.constant(0));
  if (axis < 2)
    exists = e.both(exists, e.both(e.less(e.constant(-1), place),
                                   e.less(place, e.constant(problem.output[axis]))));
  if (std::optional<int64_t> known = LoopEmitter::known(exists))
    return *known ? body(place) : otherwise;
  return e.valueWhen(exists, otherwise, [&] { return body(place); });
}

/// A vector of dx along w, from `first` on, a stride apart: lane `number` of its phase.
Value PatchSum::sumTaps(Value row, Value d, Value h, Value first, Value number) {
  auto overTaps = [&](unsigned axis, Value sum, llvm::function_ref<Value(Value tap, Value)> body) {
    auto turn = [&](Value tap, ValueRange carried) -> SmallVector<Value> {
      return {body(tap, carried[0])};
    };
    return e.carry(e.constant(0), e.constant(problem.kernel[axis]), 1, sum, turn).front();
  };
  auto addTap = [&](Value tap, Value lineOfPixels, Value w, Value sum) {
    Value place = e.add(w, number);
    Value mask = e.intersect(e.lanesFrom(e.sub(e.constant(0), place)),
                             e.lanesBelow(e.sub(e.constant(problem.output[2]), place)));
    Value at =
        e.add(e.mul(e.add(row, tap), pitch), e.add(e.mul(lineOfPixels, problem.output[2]), place));
    Value part = e.loadVector(matrix, at, e.floatType(), e.lanes, /*step=*/1, mask);
    return arith::AddFOp::create(e.b, e.loc, sum, part).getResult();
  };
  return overTaps(0, e.zeroVector(), [&](Value tapD, Value sum) {
    return meet(0, d, tapD, sum, [&](Value atD) {
      return overTaps(1, sum, [&](Value tapH, Value sum) {
        return meet(1, h, tapH, sum, [&](Value atH) {
          Value line = e.add(e.mul(atD, problem.output[1]), atH);
          Value tapRow = e.mul(e.add(e.mul(tapD, problem.kernel[1]), tapH), problem.kernel[2]);
          auto add = [&](Value tapW, Value sum) {
            return meet(2, first, tapW, sum,
                        [&](Value w) { return addTap(e.add(tapRow, tapW), line, w, sum); });
          };
          // With a known phase it is known which taps meet it.
          if (!LoopEmitter::known(first))
            return overTaps(2, sum, add);
          Value all = sum;
          for (int64_t tapW = 0; tapW < problem.kernel[2]; ++tapW)
            all = add(e.constant(tapW), all);
          return all;
        });
      });
    });
  });
}

void PatchSum::addRow(Value image, Value channel, Value row, Value d, Value h) {
  const int64_t stride = problem.stride[2], phases = std::min(stride, problem.input[2]);
  auto addPhase = [&](Value first) {
    Value count = e.div(e.add(e.sub(e.constant(problem.input[2]), first), stride - 1), stride);
    e.loop(e.constant(0), count, e.lanes, [&](Value number) {
      Value sum = sumTaps(row, d, h, first, number);
      Value w = e.add(first, e.mul(number, stride));
      dx.write(sum, {{image, channel, d, h, w}, 4, stride, e.lanesBelow(e.sub(count, number))});
    });
  };
  const int64_t unrolled = 32; // taps
  if (phases * problem.kernel[2] > unrolled)
    return e.loop(phases, addPhase);
  for (int64_t first = 0; first < phases; ++first)
    addPhase(e.constant(first));
}

void PatchSum::add(Value image, Value channel, int64_t channels) {
  e.loop(channels, [&](Value number) {
    e.loop(problem.input[0], [&](Value d) {
      e.loop(problem.input[1], [&](Value h) {
        addRow(image, e.add(channel, number), e.mul(number, tapsOf(problem)), d, h);
      });
    });
  });
}

double codegen::patchesCycles(const ConvolutionProblem &p, const MachineModel &m) {
  if (p.direction != Direction::BackwardData)
    return 0;
  const int64_t phases = std::min(p.stride[2], p.input[2]), ofPhase = ceilDiv(p.input[2], phases);
  const double rows = double(p.batch * p.inChannels * p.input[0] * p.input[1]),
               vectors = rows * double(phases * ceilDiv(ofPhase, m.lanes)),
               tapsMet = double(tapsOf(p)) / double(p.stride[0] * p.stride[1] * p.stride[2]);
  const double stored = double(p.batch * p.inChannels * tapsOf(p) * ceilDiv(pixelsOf(p), m.lanes));
  const double scattered = p.stride[2] > 1 ? double(m.lanes) : 0;
  return tileCyclesOf(vectors * (12 + 3.5 * tapsMet + scattered) + 1.5 * stored, m);
}

//===------------------------------------------------------------------------------------------===//
// Products
//===------------------------------------------------------------------------------------------===//

/// Operand `number` of the anchor, a tensor of `shape` that the product's loops index as `indices`
/// says; `axes`: those of the shape that its last two loop indices are.
static Source viewed(PackedPhase &phase, unsigned number, ArrayRef<int64_t> shape,
                     std::array<unsigned, 2> axes,
                     std::function<SmallVector<Value>(ValueRange)> indices) {
  Source inner = phase.source(number, PackedPhase::IndexMap::identity(shape));
  Source result;
  result.read = [=](const Place &place) {
    return inner.read({indices(place.indices), axes[place.axis - 1], place.step, place.mask});
  };
  if (!inner.address)
    return result;
  result.strides = {0, inner.strides[axes[0]], inner.strides[axes[1]]};
  result.address = [=](ValueRange at) { return inner.address(indices(at)); };
  return result;
}

static void setForward(GemmProblem &g, const ConvolutionProblem &p) {
  g.batch = p.batch * p.groups;
  g.m = p.outChannels / p.groups;
  g.k = p.inChannels / p.groups * tapsOf(p);
  g.n = pixelsOf(p);
  g.mapA = {{p.groups, g.m, g.k}, {0, 1, 2}, /*wraps=*/true};
  g.mapB = PackedPhase::IndexMap::identity({g.batch, g.k, g.n});
  g.mapC = PackedPhase::IndexMap::identity({g.batch, g.m, g.n});
  g.weights = GemmProblem::Operand::A;
}

static void setFilter(GemmProblem &g, const ConvolutionProblem &p) {
  g.batch = p.groups, g.terms = p.batch;
  g.m = p.outChannels / p.groups;
  g.n = p.inChannels / p.groups * tapsOf(p);
  g.k = pixelsOf(p);
  g.columnsContiguousB = false;
  g.mapA = PackedPhase::IndexMap::identity({g.batch * g.terms, g.m, g.k});
  g.mapB = PackedPhase::IndexMap::identity({g.batch * g.terms, g.k, g.n});
  g.mapC = PackedPhase::IndexMap::identity({g.batch, g.m, g.n});
  g.sourceA = [p](PackedPhase &phase) {
    const int64_t shape[] = {p.batch, p.groups, p.outChannels / p.groups, pixelsOf(p)};
    return viewed(phase, 1, shape, {2, 3}, [&e = phase.e, p](ValueRange at) {
      return SmallVector<Value>{e.rem(at[0], p.batch), e.div(at[0], p.batch), at[1], at[2]};
    });
  };
}

static void setData(GemmProblem &g, const ConvolutionProblem &p, const CpuTarget &target) {
  const int64_t channels = channelsOfTask(p, target), ofGroup = p.inChannels / p.groups,
                chunks = ofGroup / channels, filters = p.outChannels / p.groups;
  g.batch = p.batch * p.groups * chunks;
  g.m = channels * tapsOf(p);
  g.k = filters;
  g.n = pixelsOf(p);
  g.rowsContiguousA = true;
  g.weights = GemmProblem::Operand::A;
  g.mapA = PackedPhase::IndexMap::identity({p.groups * chunks, g.m, g.k});
  g.mapB = PackedPhase::IndexMap::identity({g.batch, g.k, g.n});
  g.sourceA = [p, chunks, filters, rows = g.m](PackedPhase &phase) {
    const int64_t shape[] = {p.groups, filters, chunks, rows};
    return viewed(phase, 1, shape, {3, 1}, [&e = phase.e, p, chunks](ValueRange at) {
      Value group = e.rem(e.div(at[0], chunks), p.groups);
      return SmallVector<Value>{group, at[2], e.rem(at[0], chunks), at[1]};
    });
  };
  g.sourceB = [p, chunks, filters](PackedPhase &phase) {
    const int64_t shape[] = {p.batch * p.groups, filters, pixelsOf(p)};
    return viewed(phase, 0, shape, {1, 2}, [&e = phase.e, chunks](ValueRange at) {
      return SmallVector<Value>{e.div(at[0], chunks), at[1], at[2]};
    });
  };
  g.finish = [p, channels, chunks](PackedPhase &phase, Value batch, Value matrix, int64_t pitch) {
    PackEmitter &e = phase.e;
    // Chunks of a group's channels, of all groups, of all images.
    Value image = e.div(batch, p.groups * chunks);
    Value channel = e.mul(e.rem(batch, p.groups * chunks), channels);
    PatchSum(phase, p, matrix, pitch).add(image, channel, channels);
  };
}

std::string codegen::patchesRefusal(const ConvolutionProblem &p, const CpuTarget &target) {
  if (p.hasBlocks())
    return "its images lie in blocks of channels";
  if (std::max(p.input[0] * p.input[1] * p.input[2], pixelsOf(p)) > mostPlacesOfRow)
    return "its images have more pixels than are counted";
  const int64_t mostElements = 1 << 22;
  if (p.direction == Direction::BackwardData &&
      channelsOfTask(p, target) * tapsOf(p) * pixelsOf(p) > mostElements)
    return "a channel's matrix of patches is too large for a task";
  return "";
}

GemmProblem codegen::patchesProduct(const KernelSpec &spec, const ConvolutionProblem &p,
                                    const CpuTarget &target) {
  GemmProblem g;
  g.element = Element::of(spec);
  g.a = 1, g.b = 0;
  switch (p.direction) {
  case Direction::BackwardData:
    setData(g, p, target);
    return g;
  case Direction::Forward:
    setForward(g, p);
    break;
  case Direction::BackwardFilter:
    setFilter(g, p);
    break;
  }
  const Patches patches(p);
  g.cyclesB = gatherCycles(patches, target, g.element);
  g.packB = [patches](PackedPhase &phase, const PanelRange &range) {
    PatchPacker(phase, patches, range).pack();
  };
  return g;
}
