//===- FourierGenerator.cpp - convolution by Fourier transforms of tiles ----------------------===//
//
//   y = sum over c of F^-1 (conj(F w) * F d)      for each tile d of the image
//
// Overlap-save: a tile of n x n pixels gives those n - taps + 1 outputs that its edges do not wrap
// into. Tiles, blocks and products are Winograd's (WinogradData.cpp, WinogradFilter.cpp), with
// complex numbers. n is even, 8 to 32, whatever fits the image; filters have up to 24 taps along an
// axis. Refuses what fourierRefusal names.
//
// Errors against float64, root of the mean square of the difference as part of that of the result,
// uniform inputs, 32 channels, images of 13x15 (FourierTest.cpp bounds them by those of sums in
// order); direct's depends on the blocks that it sums by:
//
//            forward            backward data      backward filter
//            direct   fft       direct   fft       direct   fft
//   3x3      2.9e-7   1.8e-7    4.1e-7   2.2e-7    2.4e-7   1.6e-7
//   5x5      4.8e-7   1.7e-7    6.7e-7   2.1e-7    2.3e-7   1.6e-7
//   11x11    9.4e-7   2.0e-7    9.3e-7   2.3e-7    2.1e-7   1.8e-7
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/Winograd/TransformGenerator.h"

using namespace dlc;
using namespace dlc::codegen;

namespace {
class FourierGenerator : public TransformGenerator {
public:
  llvm::StringRef name() const override { return "cpu-fft"; }

private:
  llvm::SmallVector<WinogradSchedule> schedules(const ConvolutionProblem &p,
                                                const CpuTarget &target) const override {
    if (!fourierRefusal(p).empty())
      return {};
    std::optional<WinogradSchedule> best = chooseFourierSchedule(p, target);
    return best ? llvm::SmallVector<WinogradSchedule>{*best}
                : llvm::SmallVector<WinogradSchedule>();
  }
};
} // namespace

std::unique_ptr<CpuGenerator> codegen::createFourierGenerator() {
  return std::make_unique<FourierGenerator>();
}
