//===- FourierGenerator.cpp - convolution by Fourier transforms of tiles ----------------------===//
//
//   y = sum over c of F^-1 (conj(F w) * F d)      for each tile d of the image
//
// Overlap-save: a tile of n x n pixels gives those n - taps + 1 outputs that its edges do not wrap
// into. Tiles, blocks and products are Winograd's (WinogradData.cpp, WinogradFilter.cpp), with
// complex numbers. n is even, 8 to 32, whatever fits the image; filters have up to 24 taps along an
// axis. float32, any body before and behind; refuses what fourierRefusal names.
//
// Errors against float64, root of the mean square of the difference as part of that of the result,
// uniform inputs, 32 channels, images of 13x15 (FourierTest.cpp bounds them by direct
// convolution's):
//
//            forward            backward data      backward filter
//            direct   fft       direct   fft       direct   fft
//   3x3      2.9e-7   1.8e-7    4.1e-7   2.2e-7    2.4e-7   1.6e-7
//   5x5      4.8e-7   1.7e-7    6.7e-7   2.1e-7    2.3e-7   1.6e-7
//   11x11    9.4e-7   2.0e-7    9.3e-7   2.3e-7    2.1e-7   1.8e-7
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

class FourierGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-fft"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

SmallVector<Candidate> FourierGenerator::candidates(const KernelSpec &spec,
                                                    const CpuTarget &target) const {
  std::optional<ConvolutionProblem> p = packedConvolution(spec);
  if (!p || !fourierRefusal(*p).empty())
    return {};
  std::optional<WinogradSchedule> schedule = chooseFourierSchedule(*p, target);
  if (!schedule)
    return {};
  Candidate candidate = p->direction == Direction::BackwardFilter
                            ? winogradFilterCandidate(*p, *schedule, target)
                            : winogradDataCandidate(*p, *schedule, target);
  candidate.algorithm = ConvolutionAlgorithm::FFT;
  finishCandidate(spec, target, candidate);
  return {candidate};
}

LogicalResult FourierGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                     const CpuTarget &target, StringRef symbol,
                                     ModuleOp module) const {
  ConvolutionProblem p = *packedConvolution(spec);
  if (p.direction == Direction::BackwardFilter)
    return emitWinogradFilter(spec, candidate, target, symbol, module, p);
  return emitWinogradData(spec, candidate, target, symbol, module, p);
}

std::unique_ptr<CpuGenerator> codegen::createFourierGenerator() {
  return std::make_unique<FourierGenerator>();
}
