//===- FourierGenerator.cpp - convolution by Fourier transforms of tiles ----------------------===//
//
//   y = sum over c of F^-1 (conj(F w) * F d)      for each tile d of the image
//
// Overlap-save: a tile of n x n pixels gives those n - taps + 1 outputs that its edges do not wrap
// into. Tiles, blocks and products are Winograd's (WinogradData.cpp, WinogradFilter.cpp), with
// complex numbers. n is even, 8 to 32, whatever fits the image; filters have up to 24 taps along an
// axis. Refuses what fourierRefusal names, and everything under --math=strict: each output of a
// tile is a sum over all of its pixels, whatever the formula has.
//
// Errors against float64 in 1e-7, root of the mean square of the difference as part of that of the
// result, uniform inputs, 32 channels and 64 filters, images of 13x15, as FourierTest.cpp records
// them (it bounds them by those of sums in order); direct's depends on the blocks that it sums by,
// and so on the processor, here one with vectors of 64 bytes:
//
//            forward                 backward data           backward filter
//            in order direct fft     in order direct fft     in order direct fft
//   3x3      2.9      1.2    1.8     4.1      1.6    2.2     3.4      2.4    1.6
//   5x5      4.8      1.4    1.7     6.7      1.8    2.1     3.3      2.3    1.6
//   11x11    9.4      2.0    2.0     13.0     2.2    2.3     2.9      2.1    1.8
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
    if (target.isStrict() || !fourierRefusal(p).empty())
      return {};
    return chooseFourierSchedules(p, target);
  }
};
} // namespace

std::unique_ptr<CpuGenerator> codegen::createFourierGenerator() {
  return std::make_unique<FourierGenerator>();
}
