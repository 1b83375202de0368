//===- ConvolutionGenerator.cpp - the convolution family on the CPU ---------------------------===//
//
// float32, any geometry, any body before and behind. Refuses empty tensors and bodies whose results
// cannot be written along the anchor's rows.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Convolution/Convolution.h"
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Gemm/Gemm.h"
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/Winograd/WinogradSchedule.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;
using Direction = ConvolutionProblem::Direction;

namespace {

class ConvolutionGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-convolution"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

//===------------------------------------------------------------------------------------------===//
// What both directions share
//===------------------------------------------------------------------------------------------===//

PackedPhase::IndexMap codegen::imageMap(int64_t outer, int64_t channels,
                                        const ConvolutionProblem::Spatial &spatial) {
  return PackedPhase::IndexMap::identity({outer, channels, spatial[0], spatial[1], spatial[2]});
}

void codegen::copyPlane(PackEmitter &e, const Source &source, ArrayRef<Value> corner,
                        const ConvolutionProblem::Spatial &extents, int64_t rows, int64_t pitch,
                        Value target, int64_t step, int64_t rowStep) {
  Value zero = e.constant(0);
  auto within = [&](Value index, Value low, int64_t high) {
    return e.maximum(e.minimum(index, e.constant(high)), low);
  };
  // The first lane or row at or behind a place `distance` from the first.
  auto firstAt = [&](Value distance, int64_t step) {
    return step == 1 ? distance : e.div(e.maximum(e.add(distance, step - 1), zero), step);
  };
  auto place = [&](Value row, Value chunk) {
    return e.at(target, e.add(e.mul(row, pitch), chunk));
  };
  auto clear = [&](Value first, Value last) {
    e.loop(first, last, 1, [&](Value row) {
      e.loop(zero, e.constant(pitch), e.lanes,
             [&](Value chunk) { e.storeUnaligned(e.zeroVector(), place(row, chunk)); });
    });
  };
  const int64_t ahead = 4; // rows
  auto copy = [&](Value row, Value chunk, bool whole) {
    Value h = e.add(corner[3], e.mul(row, rowStep)), w = e.add(corner[4], e.mul(chunk, step));
    Value mask;
    if (!whole)
      mask = e.intersect(e.lanesFrom(firstAt(e.sub(zero, w), step)),
                         e.lanesBelow(firstAt(e.sub(e.constant(extents[2]), w), step)));
    if (source.address)
      e.prefetch(source.address({corner[0], corner[1], corner[2], e.add(h, ahead * rowStep), w}),
                 /*forWriting=*/false);
    Value vector = source.read({{corner[0], corner[1], corner[2], h, w}, 4, step, mask});
    e.storeUnaligned(vector, place(row, chunk));
  };
  // Chunks of whole vectors inside the image, where the columns are known.
  int64_t wholeBegin = 0, wholeEnd = 0;
  if (std::optional<int64_t> left = CodeEmitter::known(corner[4])) {
    auto chunkFrom = [&](int64_t column) {
      return column <= *left ? 0 : roundUp(ceilDiv(column - *left, step), e.lanes);
    };
    wholeBegin = std::min(chunkFrom(0), pitch);
    // Behind the last column that a vector may begin at.
    const int64_t end = extents[2] - (e.lanes - 1) * step;
    wholeEnd = std::clamp(std::min(chunkFrom(end), pitch / e.lanes * e.lanes), wholeBegin, pitch);
  }
  auto copyRow = [&](Value row) {
    e.loop(zero, e.constant(wholeBegin), e.lanes, [&](Value chunk) { copy(row, chunk, false); });
    e.loop(e.constant(wholeBegin), e.constant(wholeEnd), e.lanes,
           [&](Value chunk) { copy(row, chunk, true); });
    e.loop(e.constant(wholeEnd), e.constant(pitch), e.lanes,
           [&](Value chunk) { copy(row, chunk, false); });
  };
  Value top = within(firstAt(e.sub(zero, corner[3]), rowStep), zero, rows);
  Value bottom = within(firstAt(e.sub(e.constant(extents[1]), corner[3]), rowStep), top, rows);
  Value depthExists =
      e.both(e.less(e.constant(-1), corner[2]), e.less(corner[2], e.constant(extents[0])));
  bottom = e.select(depthExists, bottom, top);
  clear(zero, top);
  e.loop(top, bottom, 1, copyRow);
  clear(bottom, e.constant(rows));
}

//===------------------------------------------------------------------------------------------===//
// Problems
//===------------------------------------------------------------------------------------------===//

/// As the op says.
static ConvolutionProblem geometryOf(Operation *op) {
  const auto form = dl::ConvolutionForm::get(op);
  const dl::ConvolutionGeometry &g = form.geometry;
  ConvolutionProblem p;
  p.direction = form.direction;
  p.batch = g.batch, p.groups = g.groups;
  p.inChannels = g.channels, p.outChannels = g.filters;
  p.input = g.ofThreeAxes(&dl::WindowAxis::input);
  p.output = g.ofThreeAxes(&dl::WindowAxis::output);
  p.kernel = g.ofThreeAxes(&dl::WindowAxis::kernel);
  p.stride = g.ofThreeAxes(&dl::WindowAxis::stride);
  p.dilation = g.ofThreeAxes(&dl::WindowAxis::dilation);
  p.padLow = g.ofThreeAxes(&dl::WindowAxis::low);
  return p;
}

/// The index space of the anchor's result.
static SmallVector<int64_t> resultSpace(const ConvolutionProblem &p) {
  if (p.direction == Direction::BackwardFilter)
    return imageMap(p.outChannels, p.inChannels / p.groups, p.kernel).shape;
  bool forward = p.direction == Direction::Forward;
  return imageMap(p.batch, forward ? p.outChannels : p.inChannels, forward ? p.output : p.input)
      .shape;
}

std::optional<ConvolutionProblem> codegen::packedConvolution(const KernelSpec &spec) {
  if (spec.anchor() != Anchor::Convolution ||
      !getElementTypeOrSelf(spec.anchorOp()->getResult(0)).isF32() || !followsAnchor(spec) ||
      !canWalkPrologueResults(spec))
    return std::nullopt;
  auto isEmpty = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements() == 0;
  };
  if (llvm::any_of(spec.anchorOp()->getOperands(), isEmpty))
    return std::nullopt;
  ConvolutionProblem p = geometryOf(spec.anchorOp());
  unsigned axis = p.direction == Direction::BackwardFilter ? 0 : 4;
  if (!isVectorAxis(spec, resultSpace(p), axis))
    return std::nullopt;
  // The sums over the pixels of a pointwise convolution are over one long row.
  if (p.direction == Direction::BackwardFilter && isPointwise(p))
    p.input = p.output = {1, 1, product(p.input)};
  return p;
}

/// The product that the filter's gradient is of a pointwise convolution without groups: input
/// channels are columns, images terms of the sum over pixels.
static GemmProblem filterProduct(const ConvolutionProblem &p) {
  GemmProblem g;
  g.m = p.outChannels;
  g.n = p.inChannels;
  g.k = product(p.input);
  g.terms = p.batch;
  g.a = 1, g.b = 0;
  g.columnsContiguousB = false;
  g.mapA = PackedPhase::IndexMap::identity({g.terms, g.m, g.k});
  g.mapB = {{g.terms, g.n, g.k}, {0, 2, 1}, /*wraps=*/false};
  g.mapC = PackedPhase::IndexMap::identity({1, g.m, g.n});
  return g;
}

/// The product that a pointwise convolution is. In its data directions pixels are columns, images
/// and groups batches.
static GemmProblem pointwiseProduct(const ConvolutionProblem &p) {
  if (p.direction == Direction::BackwardFilter)
    return filterProduct(p);
  const bool forward = p.direction == Direction::Forward;
  const int64_t in = p.inChannels / p.groups, out = p.outChannels / p.groups;
  GemmProblem g;
  g.batch = p.batch * p.groups;
  g.m = forward ? out : in;
  g.k = forward ? in : out;
  g.n = product(p.input);
  g.a = 1, g.b = 0;
  g.rowsContiguousA = !forward; // the filter is [group][out][in]
  g.columnsContiguousB = true;
  g.mapA = {{p.groups, out, in}, {0, forward ? 1u : 2u, forward ? 2u : 1u}, /*wraps=*/true};
  g.mapB = PackedPhase::IndexMap::identity({g.batch, g.k, g.n});
  g.mapC = PackedPhase::IndexMap::identity({g.batch, g.m, g.n});
  g.weights = GemmProblem::Operand::A;
  return g;
}

static bool isProduct(const KernelSpec &spec, const ConvolutionProblem &p) {
  return isPointwise(p) && (p.direction != Direction::BackwardFilter || p.groups == 1) &&
         isVectorAxis(spec, pointwiseProduct(p).mapC.shape, 2);
}

//===------------------------------------------------------------------------------------------===//
// Generator
//===------------------------------------------------------------------------------------------===//

static SmallVector<Candidate> directCandidates(const KernelSpec &spec, const ConvolutionProblem &p,
                                               const MachineModel &machine) {
  SmallVector<Candidate> all;
  if (p.direction == Direction::BackwardFilter) {
    for (const FilterSchedule &schedule : chooseFilterSchedules(p, machine))
      all.push_back(filterCandidate(p, schedule, machine));
    return all;
  }
  SmallVector<int64_t> rows = resultSpace(p);
  rows[4] *= rows[3];
  rows[3] = 1;
  const bool severalRows = isVectorAxis(spec, rows, 4);
  for (const DataSchedule &schedule : chooseDataSchedules(DataGeometry(p), machine, severalRows))
    all.push_back(dataCandidate(p, schedule, machine));
  return all;
}

SmallVector<Candidate> ConvolutionGenerator::candidates(const KernelSpec &spec,
                                                        const CpuTarget &target) const {
  std::optional<ConvolutionProblem> known = packedConvolution(spec);
  if (!known)
    return {};
  const ConvolutionProblem &p = *known;
  SmallVector<Candidate> all;
  if (isProduct(spec, p))
    all = gemmCandidates(pointwiseProduct(p), target);
  for (Candidate &candidate : all)
    candidate.algorithm = ConvolutionAlgorithm::Gemm;
  for (const Candidate &candidate : directCandidates(spec, p, MachineModel(target))) {
    all.push_back(candidate);
    all.back().algorithm = ConvolutionAlgorithm::Direct;
  }
  for (Candidate &candidate : all)
    finishCandidate(spec, target, candidate);
  return all;
}

LogicalResult ConvolutionGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                         const CpuTarget &target, StringRef symbol,
                                         ModuleOp module) const {
  const ConvolutionProblem p = *packedConvolution(spec);
  if (StringRef(candidate.schedule).starts_with("gemm"))
    return emitGemm(spec, candidate, target, symbol, module, pointwiseProduct(p));
  if (p.direction == Direction::BackwardFilter)
    return emitFilterConvolution(spec, candidate, target, symbol, module, p);
  return emitDataConvolution(spec, candidate, target, symbol, module, p);
}

std::string codegen::convolutionRefusal(const KernelSpec &spec, ConvolutionAlgorithm algorithm) {
  std::optional<ConvolutionProblem> p = packedConvolution(spec);
  if (!p)
    return "what is fused around it needs single elements";
  switch (algorithm) {
  case ConvolutionAlgorithm::Heuristic:
  case ConvolutionAlgorithm::Direct:
    return "";
  case ConvolutionAlgorithm::Gemm:
    if (isPointwise(*p) && p->direction == Direction::BackwardFilter && p->groups > 1)
      return "its filter's gradient is a product for each group";
    return "it is no product of pixels: a filter of 1x1, stride 1 and no padding";
  case ConvolutionAlgorithm::FFT: {
    std::string refusal = fourierRefusal(*p);
    return refusal.empty() ? "its transforms need too much memory" : refusal;
  }
  case ConvolutionAlgorithm::Winograd:
    break;
  }
  std::string refusal = winogradRefusal(*p);
  return refusal.empty() ? "its transforms err more than --math=strict allows" : refusal;
}

std::unique_ptr<CpuGenerator> codegen::createConvolutionGenerator() {
  return std::make_unique<ConvolutionGenerator>();
}
