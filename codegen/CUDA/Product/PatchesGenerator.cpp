//===- PatchesGenerator.cpp - convolutions as products of explicit matrices on CUDA -----------===//
//
// See TileProductGenerator.h and patches.cuh. What cuDNN is slow at in strict float32: filters of
// one tap backward, strides, few channels. Not data's gradient of a larger filter with a stride,
// most of whose matrix would be zeros.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Product/TileProductGenerator.h"
#include "codegen/Kernel/MinimalFiltering.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;
using Direction = dl::ConvolutionForm::Direction;

namespace {
class PatchesGenerator : public TileProductGenerator {
public:
  PatchesGenerator() : TileProductGenerator(ConvolutionAlgorithm::Gemm, "patches") {}
  StringRef name() const override { return "cuda-patches"; }

private:
  std::string geometryRefusal(const dl::ConvolutionForm &form,
                              const CudaTarget &target) const override;
  /// Sums are those of the convolution, as a library's own are.
  CallType productType(Operation *convolution) const override {
    return *CallType::get(convolution);
  }
  SmallVector<TileNumbers> tiles(const dl::ConvolutionForm &form,
                                 const CudaTarget &target) const override;
  TileNumbers numbersOf(const dl::ConvolutionForm &form, int64_t high, int64_t wide) const override;
  void addTransforms(KernelText &text, const dl::ConvolutionForm &form,
                     const TileNumbers &numbers) const override;
};
} // namespace

static int64_t tapsOf(const dl::ConvolutionForm &form) {
  const std::array<dl::WindowAxis, 3> axes = form.geometry.threeAxes();
  return axes[1].kernel * axes[2].kernel;
}

std::string PatchesGenerator::geometryRefusal(const dl::ConvolutionForm &form,
                                              const CudaTarget &target) const {
  const std::array<dl::WindowAxis, 3> axes = form.geometry.threeAxes();
  const std::string refusal = planeRefusal(axes, form.geometry.groups);
  if (!refusal.empty())
    return refusal;
  for (unsigned axis : {1, 2})
    if (form.direction == Direction::BackwardData && axes[axis].stride != 1 &&
        (tapsOf(form) != 1 || axes[axis].low != 0))
      return "its stride is not 1";
  return "";
}

TileNumbers PatchesGenerator::numbersOf(const dl::ConvolutionForm &form, int64_t high,
                                        int64_t wide) const {
  return {high, wide, /*products=*/1, tapsOf(form), threads, 0, 0, 0};
}

SmallVector<TileNumbers> PatchesGenerator::tiles(const dl::ConvolutionForm &form,
                                                 const CudaTarget &target) const {
  const std::array<dl::WindowAxis, 3> axes = form.geometry.threeAxes();
  const bool spreads = form.direction == Direction::BackwardData;
  return {numbersOf(form, spreads ? axes[1].stride : 1, spreads ? axes[2].stride : 1)};
}

void PatchesGenerator::addTransforms(KernelText &text, const dl::ConvolutionForm &form,
                                     const TileNumbers &numbers) const {
  const std::array<dl::WindowAxis, 3> axes = form.geometry.threeAxes();
  const bool ofFilter = form.direction == Direction::BackwardFilter;
  text.constant("TAPS_H", axes[1].kernel);
  text.constant("TAPS_W", axes[2].kernel);
  text.constant("LEFT_TAPS", ofFilter ? 1 : numbers.taps);
  text.constant("RESULT_TAPS", ofFilter ? numbers.taps : 1);
}

std::unique_ptr<TileProductGenerator> codegen::createCudaPatchesGenerator() {
  return std::make_unique<PatchesGenerator>();
}
