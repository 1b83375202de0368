//===- WinogradGenerator.cpp - the Winograd family on the CPU ---------------------------------===//
//
// float32, any body before and behind, as direct convolution has. Refuses what winogradRefusal
// names.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Convolution/Convolution.h"
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/Winograd/Winograd.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;
using Direction = ConvolutionProblem::Direction;

namespace {

class WinogradGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-winograd"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

SmallVector<Candidate> WinogradGenerator::candidates(const KernelSpec &spec,
                                                     const CpuTarget &target) const {
  std::optional<ConvolutionProblem> p = packedConvolution(spec);
  if (!p || !winogradRefusal(*p).empty())
    return {};
  SmallVector<Candidate> all;
  for (const WinogradSchedule &schedule : chooseWinogradSchedules(*p, target, target.strict)) {
    all.push_back(p->direction == Direction::BackwardFilter
                      ? winogradFilterCandidate(*p, schedule, target)
                      : winogradDataCandidate(*p, schedule, target));
    all.back().algorithm = ConvolutionAlgorithm::Winograd;
    finishCandidate(spec, target, all.back());
  }
  return all;
}

LogicalResult WinogradGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                      const CpuTarget &target, StringRef symbol,
                                      ModuleOp module) const {
  ConvolutionProblem p = *packedConvolution(spec);
  if (p.direction == Direction::BackwardFilter)
    return emitWinogradFilter(spec, candidate, target, symbol, module, p);
  return emitWinogradData(spec, candidate, target, symbol, module, p);
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

std::unique_ptr<CpuGenerator> codegen::createWinogradGenerator() {
  return std::make_unique<WinogradGenerator>();
}
