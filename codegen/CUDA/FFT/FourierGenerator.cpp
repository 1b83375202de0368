//===- FourierGenerator.cpp - convolutions by Fourier transforms of tiles on CUDA -------------===//
//
// See TileProductGenerator.h; refuses what fourierRefusal names. A tile has even sizes of 8 to 32
// pixels and FourierTile's points, whose complex products are three products of real numbers each
// (fourier.cuh), one where the points have no imaginary part: for 5x5 and tiles of 12x12 outputs
// 9.4 times fewer than direct. Its rows, then its columns are transformed by the codelets of the
// CPU, one a thread; between them they stand in the shared memory of a block.
//
// It reads filters of ten times the numbers that minimal filtering makes of them, so it is for few
// channels, large images or large filters. It errs 1.6e-7 to 2.0e-7 where sums in order err 2.1e-7
// to 9.4e-7 (FourierTest.cpp); --math=strict leaves it out, since each output of a tile is a sum
// over all of its pixels.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Library/LibraryCalls.h"
#include "codegen/CUDA/Product/TileProductGenerator.h"
#include "codegen/Kernel/FourierCodelet.h"
#include "codegen/Kernel/FourierTile.h"
#include "codegen/Kernel/MinimalFiltering.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;
using Direction = dl::ConvolutionForm::Direction;

namespace {
class FourierGenerator : public TileProductGenerator {
public:
  FourierGenerator() : TileProductGenerator(ConvolutionAlgorithm::FFT, "fourier") {}
  StringRef name() const override { return "cuda-fft"; }

private:
  std::string geometryRefusal(const dl::ConvolutionForm &form,
                              const CudaTarget &target) const override {
    std::string refusal = fourierRefusal(form.geometry.threeAxes(), form.geometry.groups);
    return refusal.empty() && target.isStrict() ? spreadsRefusal.str() : refusal;
  }
  bool dividesK() const override { return false; }
  SmallVector<TileNumbers> tiles(const dl::ConvolutionForm &form,
                                 const CudaTarget &target) const override;
  TileNumbers numbersOf(const dl::ConvolutionForm &form, int64_t high, int64_t wide) const override;
  void addTransforms(KernelText &text, const dl::ConvolutionForm &form,
                     const TileNumbers &numbers) const override;
};
} // namespace

static FourierTile tileOf(const dl::ConvolutionForm &form, int64_t high, int64_t wide) {
  const std::array<dl::WindowAxis, 3> axes = form.geometry.threeAxes();
  return {high + axes[1].kernel - 1, wide + axes[2].kernel - 1};
}

/// Tiles or filters of a block: with a warp of them all accesses are of neighbours.
static int64_t lanesOf(FourierTile tile) {
  const int64_t sharedBytes = 48 << 10, bytes = sizeof(float) * tile.high * (tile.wide + 1);
  int64_t lanes = 32;
  while (lanes * bytes > sharedBytes)
    lanes /= 2;
  return lanes;
}

/// On the way back, threads wait for the numbers of a hundred products each: an H100 takes as long
/// as for so many times the operations.
static const double waiting = 8;

TileNumbers FourierGenerator::numbersOf(const dl::ConvolutionForm &form, int64_t high,
                                        int64_t wide) const {
  const FourierTile tile = tileOf(form, high, wide);
  const double pixels = double(tile.high * tile.wide), flops = 2.5 * pixels * std::log2(pixels);
  return {high,       wide,           3 * tile.points() - 2 * tile.realPoints(),
          /*taps=*/1, lanesOf(tile),  flops,
          flops,      waiting * flops};
}

/// Of all sizes the one whose products are estimated to take the least time, with what they read
/// and write.
SmallVector<TileNumbers> FourierGenerator::tiles(const dl::ConvolutionForm &form,
                                                 const CudaTarget &target) const {
  const std::array<dl::WindowAxis, 3> axes = form.geometry.threeAxes();
  const auto plane =
      form.direction == Direction::BackwardData ? &dl::WindowAxis::input : &dl::WindowAxis::output;
  std::optional<TileNumbers> best;
  double bestSeconds = std::numeric_limits<double>::infinity();
  for (int64_t high : fourierTiles(axes[1].*plane, axes[1].kernel))
    for (int64_t wide : fourierTiles(axes[2].*plane, axes[2].kernel)) {
      const TileNumbers numbers = numbersOf(form, high, wide);
      const TiledConvolution tiled(form, numbers);
      const ProductExtents &p = tiled.product;
      const double seconds =
          callSeconds(2.0 * p.batch * p.m * p.n * p.k, 2 * sizeof(float) * tiled.end(1), CallType(),
                      target.machine);
      if (tiled.fitsWorkspace(1) && seconds < bestSeconds)
        best = numbers, bestSeconds = seconds;
    }
  return best ? SmallVector<TileNumbers>{*best} : SmallVector<TileNumbers>();
}

//===------------------------------------------------------------------------------------------===//
// Text
//===------------------------------------------------------------------------------------------===//

/// name(x, y): y = the codelet of x.
static std::string functionText(StringRef name, const FourierCodelet &codelet) {
  using Operation = FourierCodelet::Operation;
  std::string text = ("    static __device__ void " + name + "(const T *x, T *y) {\n").str();
  auto value = [](FourierCodelet::Number number) {
    return number == FourierCodelet::zero ? "T(0)" : "t" + std::to_string(number);
  };
  for (auto [number, step] : llvm::enumerate(codelet.operations())) {
    auto scaled = [&] { return literalText(step.factor, /*single=*/true) + " * " + value(step.a); };
    text += "      T t" + std::to_string(number) + " = ";
    switch (step.kind) {
    case Operation::Input:
      text += "x[" + std::to_string(step.a) + "]";
      break;
    case Operation::Add:
      text += value(step.a) + " + " + value(step.b);
      break;
    case Operation::Subtract:
      text += value(step.a) + " - " + value(step.b);
      break;
    case Operation::Scale:
      text += scaled();
      break;
    case Operation::ScaleAdd:
      text += scaled() + " + " + value(step.b);
      break;
    }
    text += ";\n";
  }
  for (auto [place, number] : llvm::enumerate(codelet.outputs()))
    text += "      y[" + std::to_string(place) + "] = " + value(number) + ";\n";
  return text + "    }\n";
}

/// A correlation multiplies by conjugated points: those of the source turn one way (sign -1), those
/// of what it is multiplied with the other.
static std::string toPointsText(StringRef name, FourierTile tile, int64_t rows, int64_t columns,
                                int sign) {
  return llvm::formatv(
      "  struct {0} {{\n    static constexpr int ROWS = {1}, COLUMNS = {2};\n{3}{4}{5}  };\n", name,
      rows, columns, functionText("row", FourierCodelet::fromReal(tile.wide, columns, sign)),
      functionText("real", FourierCodelet::fromReal(tile.high, rows, sign)),
      functionText("complex", FourierCodelet::complex(tile.high, rows, tile.high, sign)));
}

static std::string toPixelsText(FourierTile tile, int64_t rows, int64_t columns) {
  return llvm::formatv(
      "  struct Result {{\n    static constexpr int ROWS = {0}, COLUMNS = {1};\n{2}{3}{4}  };\n",
      rows, columns, functionText("row", FourierCodelet::toReal(tile.wide, columns, /*sign=*/1)),
      functionText("real", FourierCodelet::toReal(tile.high, rows, /*sign=*/1)),
      functionText("complex", FourierCodelet::complex(tile.high, tile.high, rows, /*sign=*/1)));
}

void FourierGenerator::addTransforms(KernelText &text, const dl::ConvolutionForm &form,
                                     const TileNumbers &numbers) const {
  const std::array<dl::WindowAxis, 3> axes = form.geometry.threeAxes();
  const FourierTile tile = tileOf(form, numbers.high, numbers.wide);
  std::array<int64_t, 2> left = {axes[1].kernel, axes[2].kernel},
                         result = {numbers.high, numbers.wide};
  if (form.direction == Direction::BackwardFilter)
    std::swap(left, result);
  text.constant("HIGH", tile.high);
  text.constant("WIDE", tile.wide);
  text.members(toPointsText("Left", tile, left[0], left[1], /*sign=*/1));
  text.members(toPointsText("Right", tile, tile.high, tile.wide, /*sign=*/-1));
  text.members(toPixelsText(tile, result[0], result[1]));
}

std::unique_ptr<TileProductGenerator> codegen::createCudaFourierGenerator() {
  return std::make_unique<FourierGenerator>();
}
