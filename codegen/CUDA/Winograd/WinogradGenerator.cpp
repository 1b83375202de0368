//===- WinogradGenerator.cpp - convolutions by minimal filtering on CUDA ----------------------===//
//
// See TileProductGenerator.h; refuses what winogradRefusal names. Tiles are of 2x2 and 4x4 outputs,
// 1 along an axis with one tap, and a thread transforms one in its registers. A fused kernel would
// be left with F(2x2, 3x3), which saves 2.25 of the multiplications where F(4x4) saves 4.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Product/TileProductGenerator.h"
#include "codegen/Kernel/MinimalFiltering.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;
using Direction = dl::ConvolutionForm::Direction;

namespace {
class WinogradGenerator : public TileProductGenerator {
public:
  WinogradGenerator() : TileProductGenerator(ConvolutionAlgorithm::Winograd, "winograd") {}
  StringRef name() const override { return "cuda-winograd"; }

private:
  std::string geometryRefusal(const dl::ConvolutionForm &form,
                              const CudaTarget &target) const override;
  SmallVector<TileNumbers> tiles(const dl::ConvolutionForm &form,
                                 const CudaTarget &target) const override;
  TileNumbers numbersOf(const dl::ConvolutionForm &form, int64_t high, int64_t wide) const override;
  void addTransforms(KernelText &text, const dl::ConvolutionForm &form,
                     const TileNumbers &numbers) const override;
};

/// What a transform does along one axis after the other.
struct Transform {
  TransformMatrix high, wide;

  double operations() const { return double(transformOperations(high, wide)); }
  std::string text(StringRef name) const;
};

/// Those of a convolution.
struct Transforms {
  Transforms(const dl::ConvolutionForm &form, int64_t highOutputs, int64_t wideOutputs)
      : high(highOutputs, form.geometry.threeAxes()[1].kernel),
        wide(wideOutputs, form.geometry.threeAxes()[2].kernel),
        toFilter(form.direction == Direction::BackwardFilter) {}

  Transform left() const {
    return toFilter ? Transform{high.output.transposed(), wide.output.transposed()}
                    : Transform{high.filter, wide.filter};
  }
  Transform right() const { return {high.input, wide.input}; }
  Transform result() const {
    return toFilter ? Transform{high.filter.transposed(), wide.filter.transposed()}
                    : Transform{high.output, wide.output};
  }

  WinogradTransform high, wide;
  bool toFilter;
};
} // namespace

std::string WinogradGenerator::geometryRefusal(const dl::ConvolutionForm &form,
                                               const CudaTarget &target) const {
  const dl::ConvolutionGeometry &g = form.geometry;
  std::string refusal = winogradRefusal(g.threeAxes(), g.groups);
  if (refusal.empty() && target.isStrict())
    refusal = strictRefusal(g.threeAxes(), 2, form.direction == Direction::BackwardFilter);
  return refusal;
}

TileNumbers WinogradGenerator::numbersOf(const dl::ConvolutionForm &form, int64_t high,
                                         int64_t wide) const {
  const Transforms transforms(form, high, wide);
  return {high,
          wide,
          transforms.high.points() * transforms.wide.points(),
          /*taps=*/1,
          threads,
          transforms.left().operations(),
          transforms.right().operations(),
          transforms.result().operations()};
}

SmallVector<TileNumbers> WinogradGenerator::tiles(const dl::ConvolutionForm &form,
                                                  const CudaTarget &target) const {
  const std::array<dl::WindowAxis, 3> axes = form.geometry.threeAxes();
  SmallVector<TileNumbers> all;
  for (int64_t outputs : {2, 4}) {
    auto along = [&](unsigned axis) { return axes[axis].kernel == 1 ? 1 : outputs; };
    if (!target.isStrict() ||
        strictRefusal(axes, outputs, form.direction == Direction::BackwardFilter).empty())
      all.push_back(numbersOf(form, along(1), along(2)));
  }
  return all;
}

//===------------------------------------------------------------------------------------------===//
// Text
//===------------------------------------------------------------------------------------------===//

/// name(x, y): y = matrix * x.
static std::string functionText(StringRef name, const TransformMatrix &matrix) {
  using Kind = TransformPlan::Kind;
  const TransformPlan plan(matrix);
  auto value = [&](int64_t number) {
    return number < matrix.columns ? "x[" + std::to_string(number) + "]"
                                   : "t" + std::to_string(number - matrix.columns);
  };
  std::string text = ("    static __device__ void " + name + "(const T *x, T *y) {\n").str();
  for (auto [number, step] : llvm::enumerate(plan.steps)) {
    const std::string a = value(step.a), b = value(step.b),
                      scaled = literalText(step.factor, /*single=*/true) + " * " + a;
    text += "      T t" + std::to_string(number) + " = ";
    switch (step.kind) {
    case Kind::Add:
      text += a + " + " + b;
      break;
    case Kind::Subtract:
      text += a + " - " + b;
      break;
    case Kind::Multiply:
      text += scaled;
      break;
    case Kind::MultiplyAdd:
      text += scaled + " + " + b;
      break;
    }
    text += ";\n";
  }
  for (auto [row, number] : llvm::enumerate(plan.results))
    text += "      y[" + std::to_string(row) + "] = " + value(number) + ";\n";
  return text + "    }\n";
}

std::string Transform::text(StringRef name) const {
  const std::string sizes =
      llvm::formatv("    static constexpr int ROWS_IN = {0}, COLUMNS_IN = {1}, ROWS = {2}, COLUMNS "
                    "= {3};\n",
                    high.columns, wide.columns, high.rows, wide.rows);
  const bool alike = high.columns == wide.columns && high.values == wide.values;
  return "  struct " + name.str() + " {\n" + sizes + functionText("high", high) +
         (alike ? "    static __device__ void wide(const T *x, T *y) { high(x, y); }\n"
                : functionText("wide", wide)) +
         "  };\n";
}

void WinogradGenerator::addTransforms(KernelText &text, const dl::ConvolutionForm &form,
                                      const TileNumbers &numbers) const {
  const Transforms transforms(form, numbers.high, numbers.wide);
  text.members(transforms.left().text("Left"));
  text.members(transforms.right().text("Right"));
  text.members(transforms.result().text("Result"));
}

std::unique_ptr<TileProductGenerator> codegen::createCudaWinogradGenerator() {
  return std::make_unique<WinogradGenerator>();
}
