//===- TransformGenerator.cpp - see TransformGenerator.h --------------------------------------===//
#include "codegen/CPU/Winograd/TransformGenerator.h"
#include "codegen/CPU/Convolution/Convolution.h"
#include "codegen/CPU/Winograd/Winograd.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;
using Direction = ConvolutionProblem::Direction;

SmallVector<Candidate> TransformGenerator::candidates(const KernelSpec &spec,
                                                      const CpuTarget &target) const {
  std::optional<ConvolutionProblem> p = packedConvolution(spec);
  if (!p)
    return {};
  SmallVector<Candidate> all;
  for (const WinogradSchedule &schedule : schedules(*p, target)) {
    all.push_back(p->direction == Direction::BackwardFilter
                      ? winogradFilterCandidate(*p, schedule, target)
                      : winogradDataCandidate(*p, schedule, target));
    all.back().algorithm = schedule.algorithm;
    finishCandidate(spec, target, all.back());
  }
  return all;
}

LogicalResult TransformGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                       const CpuTarget &target, StringRef symbol,
                                       ModuleOp module) const {
  const ConvolutionProblem p = *packedConvolution(spec);
  if (p.direction == Direction::BackwardFilter)
    return emitWinogradFilter(spec, candidate, target, symbol, module, p);
  return emitWinogradData(spec, candidate, target, symbol, module, p);
}
