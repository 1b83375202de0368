//===- DepthwiseGenerator.cpp - depthwise convolution on the CPU ------------------------------===//
//
// Any float, any body before and behind, as direct convolution has. Refuses what depthwiseRefusal
// names, among it channel multipliers: direct convolution runs those.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Depthwise/Depthwise.h"
#include "codegen/CPU/Generators.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;
using Direction = ConvolutionProblem::Direction;

namespace {
class DepthwiseGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-depthwise"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};
} // namespace

/// Each tap is an instruction or two of each row of a tile: more of them leave the cache of
/// instructions.
static const int64_t mostTaps = 49;

Candidate codegen::depthwiseCandidate(const DepthwiseSchedule &schedule, int64_t tasks,
                                      int64_t scratchElements, double cycles,
                                      const MachineModel &machine) {
  Candidate candidate;
  candidate.schedule = textOf(schedule);
  candidate.parameters = numbersOf(schedule);
  candidate.phases.push_back({uint64_t(tasks), uint64_t(machine.elementBytes * scratchElements)});
  candidate.cost = tileSeconds(cycles, machine);
  return candidate;
}

std::string codegen::depthwiseRefusal(const ConvolutionProblem &p) {
  if (p.groups == 1 || p.inChannels != p.groups || p.outChannels != p.groups)
    return "it has not a filter for each channel";
  if (p.kernel[0] != 1 || p.input[0] != 1 || p.output[0] != 1)
    return "it has three spatial dimensions";
  if (p.kernel[1] * p.kernel[2] > mostTaps)
    return "a filter of " + std::to_string(p.kernel[1]) + "x" + std::to_string(p.kernel[2]) +
           " has too many taps";
  if (p.hasBlocks() && (p.direction == Direction::BackwardFilter || p.xBlock != p.yBlock))
    return "its channels stand in blocks";
  return "";
}

//===------------------------------------------------------------------------------------------===//
// What the directions share
//===------------------------------------------------------------------------------------------===//

DepthwisePlane::DepthwisePlane(int64_t rows, int64_t cols, int64_t shift, int64_t remainders,
                               int64_t lanes)
    : rows(rows), pitch(roundUp(cols + shift, lanes)), remainders(remainders), lanes(lanes) {}

void DepthwisePlane::copy(PackEmitter &e, const Source &source, ArrayRef<Value> corner,
                          const ConvolutionProblem::Spatial &extents, Value target) const {
  SmallVector<Value> from(corner);
  for (int64_t remainder = 0; remainder < remainders; ++remainder) {
    from[4] = e.add(corner[4], remainder);
    copyPlane(e, source, from, extents, rows, pitch, e.at(target, remainder * remainderElements()),
              remainders);
  }
}

void DepthwisePlane::clear(PackEmitter &e, Value target) const {
  for (int64_t remainder = 0; remainder < remainders; ++remainder)
    e.storeAligned(e.zeroVector(), e.at(target, remainder * remainderElements() + rows * pitch));
}

double codegen::copyCycles(const DepthwisePlane &plane, int64_t lanes) {
  const double perVector = plane.remainders == 1 ? 2 : 4, perRow = 3;
  return double(plane.remainders * plane.rows) * (perRow + perVector * double(plane.pitch / lanes));
}

//===------------------------------------------------------------------------------------------===//
// Generator
//===------------------------------------------------------------------------------------------===//

SmallVector<Candidate> DepthwiseGenerator::candidates(const KernelSpec &spec,
                                                      const CpuTarget &target) const {
  std::optional<ConvolutionProblem> p = packedConvolution(spec);
  if (!p || !depthwiseRefusal(*p).empty())
    return {};
  const MachineModel machine(target, p->elementBytes);
  Candidate candidate = p->direction == Direction::BackwardFilter
                            ? depthwiseFilterCandidate(*p, machine)
                        : p->hasBlocks() ? depthwiseBlocksCandidate(*p, machine)
                                         : depthwiseDataCandidate(*p, machine);
  candidate.algorithm = ConvolutionAlgorithm::Direct;
  finishCandidate(spec, target, candidate);
  return {candidate};
}

LogicalResult DepthwiseGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                       const CpuTarget &target, StringRef symbol,
                                       ModuleOp module) const {
  const ConvolutionProblem p = *packedConvolution(spec);
  if (p.direction == Direction::BackwardFilter)
    return emitDepthwiseFilter(spec, candidate, target, symbol, module, p);
  if (p.hasBlocks())
    return emitDepthwiseBlocks(spec, candidate, target, symbol, module, p);
  return emitDepthwiseData(spec, candidate, target, symbol, module, p);
}

std::unique_ptr<CpuGenerator> codegen::createDepthwiseGenerator() {
  return std::make_unique<DepthwiseGenerator>();
}
