//===- CostTest.cpp - estimates against measured times ----------------------------------------===//
//
// Kernels of AlexNet, VGG16, ResNet-50 and LeNet, as they were measured on one core (AMD EPYC, Zen
// 4, 2026-11-22). Estimates know the target only, so they are the same on every machine.
//
//===------------------------------------------------------------------------------------------===//
#include "test/codegen/CPU/Convolution/ConvolutionKernels.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dlc;
using namespace dlc::test;
using codegen::ConvolutionAlgorithm;

namespace {
struct Measured {
  const char *name;
  KernelSource source;
  double ms;
  const char *generator = "";
};
} // namespace

static std::string tensor(const std::string &shape) { return "tensor<" + shape + "xf32>"; }

/// An op of two operands, with its types behind the colon.
static KernelSource binary(const std::string &op, const std::string &a, const std::string &b,
                           const std::string &c) {
  return {tensor(a) + ", " + tensor(b), tensor(c),
          "^bb0(%a: " + tensor(a) + ", %b: " + tensor(b) + "):\n  %c = " + op +
              "\n  dl.yield %c : " + tensor(c)};
}

static KernelSource unary(const std::string &op, const std::string &a, const std::string &c) {
  return {tensor(a), tensor(c),
          "^bb0(%a: " + tensor(a) + "):\n  %c = " + op + "\n  dl.yield %c : " + tensor(c)};
}

/// A convolution of stride 1 that keeps the image's extents.
static KernelSource convolution(const std::string &direction, const std::string &pad,
                                const std::string &a, const std::string &b, const std::string &c) {
  return binary("dl.convolution" + direction + " %a, %b strides = [1, 1] padding = [" + pad + ", " +
                    pad + ", " + pad + ", " + pad + "] dilations = [1, 1] groups = 1 : " +
                    tensor(a) + ", " + tensor(b) + (direction.empty() ? "" : " to " + tensor(c)),
                a, b, c);
}

static KernelSource product(const std::string &a, const std::string &b, const std::string &c) {
  return binary("dl.matmul %a, %b transpose_b : " + tensor(a) + ", " + tensor(b), a, b, c);
}

static std::vector<Measured> measuredKernels() {
  const std::string large = "16x64x224x224", small = "16x512x14x14", wide = "16x1024x14x14",
                    narrow = "16x256x14x14", images = "16x256x56x56", pooled = "16x64x112x112",
                    square = "64x64x3x3", deep = "512x512x3x3", point = "1024x256x1x1";
  const char *direct = "cpu-convolution";
  const std::string window = "dl.max_pool %a kernel = [3, 3] strides = [2, 2] padding = [1, 1, 1, "
                             "1] dilations = [1, 1] : ";
  return {
      {"conv3x3", convolution("", "1", large, square, large), 680, direct},
      {"its data", convolution("_backward_data", "1", large, square, large), 647, direct},
      {"its filter", convolution("_backward_filter", "1", large, large, square), 670, direct},
      {"deep data", convolution("_backward_data", "1", small, deep, small), 150, direct},
      {"deep filter", convolution("_backward_filter", "1", small, small, deep), 157, direct},
      {"conv1x1", convolution("", "0", narrow, point, wide), 20.4},
      {"its data", convolution("_backward_data", "0", wide, point, narrow), 21.1},
      {"its filter", convolution("_backward_filter", "0", narrow, wide, point), 19.1},
      {"fc6", product("64x9216", "4096x9216", "64x4096"), 56},
      {"linear1", product("64x800", "500x800", "64x500"), 0.68},
      {"add", binary("dl.add %a, %b : " + tensor(images), images, images, images), 7.2},
      {"sum", unary("dl.reduce sum %a axes = [0, 2, 3] : " + tensor(images), images, "256"), 3.2},
      {"max_pool",
       unary(window + tensor(pooled) + " -> " + tensor("16x64x56x56"), pooled, "16x64x56x56"),
       8.4}};
}

static double estimatedMs(const Measured &kernel) {
  return 1e3 * CompiledTestKernel::select(kernel.source, "znver4", kernel.generator).candidate.cost;
}

// Each is near what was measured, and a step that runs all of them within a quarter.
TEST(Cost, IsNearWhatWasMeasured) {
  double estimated = 0, measured = 0;
  for (const Measured &kernel : measuredKernels()) {
    double ms = estimatedMs(kernel);
    EXPECT_LT(std::abs(std::log(ms / kernel.ms)), std::log(1.7))
        << kernel.name << ": " << ms << " ms estimated, " << kernel.ms << " measured";
    estimated += ms;
    measured += kernel.ms;
  }
  EXPECT_LT(std::abs(estimated / measured - 1), 0.25) << estimated << " of " << measured;
}

// What took clearly longer is estimated to.
TEST(Cost, RanksAsMeasured) {
  std::vector<Measured> kernels = measuredKernels();
  for (const Measured &slow : kernels)
    for (const Measured &fast : kernels)
      if (slow.ms > 1.5 * fast.ms)
        EXPECT_GT(estimatedMs(slow), estimatedMs(fast)) << slow.name << " and " << fast.name;
}

// How many times faster than direct convolution F(4x4, 3x3) was (AMD EPYC, Zen 4, AVX2).
TEST(Cost, KnowsWhatWinogradGains) {
  const std::string image = "8x256x56x56", filter = "256x256x3x3";
  const std::pair<KernelSource, double> gains[] = {
      {convolution("", "1", image, filter, image), 3.65},
      {convolution("_backward_data", "1", image, filter, image), 3.65},
      {convolution("_backward_filter", "1", image, image, filter), 3.44}};
  for (const auto &[source, gain] : gains) {
    auto seconds = [&](const char *generator) {
      return CompiledTestKernel::select(source, "avx2", generator).candidate.cost;
    };
    EXPECT_NEAR(seconds("cpu-convolution") / seconds("cpu-winograd"), gain, 0.25 * gain)
        << source.block;
  }
}

// What blocks of channels leave of the time of a layer in plain order, without transforms (AMD
// EPYC, Zen 5, vectors of 64 bytes): 9.1 and 7.9 ms, 9.6 and 7.9, 18.9 and 16.3, 23.0 and 18.1.
TEST(Cost, KnowsWhatBlocksOfChannelsGain) {
  const std::pair<ConvolutionShapes, double> times[] = {
      {{{16, 1024, 14, 14}, {256, 1024, 1, 1}, {16, 256, 14, 14}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
       0.87},
      {{{16, 512, 7, 7}, {2048, 512, 1, 1}, {16, 2048, 7, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}}, 0.82},
      {{{16, 256, 56, 56}, {512, 256, 1, 1}, {16, 512, 28, 28}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
       0.86},
      {{{16, 128, 56, 56}, {128, 128, 3, 3}, {16, 128, 28, 28}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
       0.79}};
  for (const auto &[shapes, ratio] : times) {
    const KernelSource plain = convolutionKernels(shapes)[0];
    auto seconds = [](const KernelSource &source) {
      return CompiledTestKernel::select(source, "avx512", "cpu-convolution").candidate.cost;
    };
    EXPECT_NEAR(seconds(withBlocks(plain, shapes, Blocked::Both)) / seconds(plain), ratio,
                0.2 * ratio)
        << plain.block;
  }
}

/// Fourier transforms beside Winograd's on AlexNet's second layer, as measured on one core of the
/// same processor with vectors of 32 bytes.
TEST(Cost, KnowsWhatFourierTransformsTake) {
  const std::string image = "64x64x27x27", result = "64x192x27x27", filter = "192x64x5x5";
  const std::pair<KernelSource, double> times[] = {
      {convolution("", "2", image, filter, result), 77.0 / 73.2},
      {convolution("_backward_data", "2", result, filter, image), 75.4 / 76.0},
      {convolution("_backward_filter", "2", image, result, filter), 91.6 / 83.8}};
  for (const auto &[source, ratio] : times) {
    auto seconds = [&](const char *generator) {
      return CompiledTestKernel::select(source, "avx2", generator).candidate.cost;
    };
    EXPECT_NEAR(seconds("cpu-fft") / seconds("cpu-winograd"), ratio, 0.15 * ratio) << source.block;
  }
}

// What products of patches leave of the time of direct convolution (AMD EPYC, Zen 4, AVX2): 0.46
// and 0.98 ms, in bf16, whose whole vectors need no mask, 0.36 and 0.51 (two threads of a Zen 3),
// 2.35 and 4.98, 50 and 193, 47 and 40, 38.9 and 23.4.
TEST(Cost, KnowsWhatPatchesGain) {
  const ConvolutionShapes first = {{64, 1, 28, 28}, {20, 1, 5, 5}, {64, 20, 24, 24},
                                   {1, 1},          {0, 0, 0, 0},  {1, 1}},
                          second = {{64, 20, 12, 12}, {50, 20, 5, 5}, {64, 50, 8, 8},
                                    {1, 1},           {0, 0, 0, 0},   {1, 1}},
                          strided = {{16, 3, 224, 224}, {64, 3, 7, 7}, {16, 64, 112, 112}, {2, 2},
                                     {3, 3, 3, 3},      {1, 1}},
                          gathered = {{16, 3, 224, 224}, {64, 3, 11, 11}, {16, 64, 55, 55}, {4, 4},
                                      {2, 2, 2, 2},      {1, 1}};
  auto kernel = [](const ConvolutionShapes &shapes, unsigned direction) {
    return convolutionKernels(shapes)[direction];
  };
  const std::pair<KernelSource, double> times[] = {
      {kernel(first, 0), 0.47},   {inElement(kernel(first, 0), "bf16"), 0.72},
      {kernel(second, 1), 0.47},  {kernel(strided, 1), 0.26},
      {kernel(strided, 0), 1.19}, {kernel(gathered, 0), 1.66}};
  for (const auto &[source, ratio] : times) {
    auto seconds = [&](const char *generator) {
      return CompiledTestKernel::select(source, "avx2", generator).candidate.cost;
    };
    const double estimated = seconds("cpu-patches") / seconds("cpu-convolution");
    EXPECT_LT(std::abs(std::log(estimated / ratio)), std::log(1.6))
        << estimated << " estimated, " << ratio << " measured: " << source.block;
  }
}

// The algorithm that is chosen is the one that was faster, by the milliseconds beside it (AMD EPYC,
// Zen 4, AVX2).
TEST(Cost, ChoosesTheFasterAlgorithm) {
  const std::string wide = "16x256x56x56", narrow = "16x64x56x56", small = "16x512x7x7";
  const std::string pixels = "1x1024x14x14", few = "1x256x14x14", rows = "1x256x56x56",
                    points = "256x1024x1x1";
  const std::pair<KernelSource, ConvolutionAlgorithm> faster[] = {
      // gemm 24 and direct 36; 22 and 35; with the filter packed whole 57 and 62 (one thread of Zen
      // 3 beside other work, where the two before it would take longer as well)
      {convolution("", "0", wide, "64x256x1x1", narrow), ConvolutionAlgorithm::Gemm},
      {convolution("", "0", narrow, "256x64x1x1", wide), ConvolutionAlgorithm::Gemm},
      {convolution("", "0", small, "2048x512x1x1", "16x2048x7x7"), ConvolutionAlgorithm::Gemm},
      // gemm 1.6 and direct 2.0; 1.3 and 2.2; 1.8 and 1.4
      {convolution("", "0", pixels, points, few), ConvolutionAlgorithm::Gemm},
      {convolution("_backward_filter", "0", pixels, few, points), ConvolutionAlgorithm::Gemm},
      {convolution("_backward_filter", "0", rows, "1x64x56x56", "64x256x1x1"),
       ConvolutionAlgorithm::Direct},
      // winograd 30 and direct 55; 31 and 56; LeNet's first layer by gemm 0.46 and direct 0.98, its
      // second 0.9 and 4.3
      {convolution("", "1", small, "512x512x3x3", small), ConvolutionAlgorithm::Winograd},
      {convolution("_backward_filter", "1", small, small, "512x512x3x3"),
       ConvolutionAlgorithm::Winograd},
      {convolution("", "0", "64x1x28x28", "20x1x5x5", "64x20x24x24"), ConvolutionAlgorithm::Gemm},
      {convolution("", "0", "64x20x12x12", "50x20x5x5", "64x50x8x8"),
       ConvolutionAlgorithm::Winograd}};
  for (const auto &[source, algorithm] : faster)
    EXPECT_EQ(CompiledTestKernel::select(source, "avx2", "").candidate.algorithm, algorithm)
        << source.block;
}

// The way of last resort stays behind.
TEST(Cost, KeepsLoopsForLast) {
  for (const Measured &kernel : measuredKernels())
    EXPECT_NE(CompiledTestKernel::select(kernel.source, "avx512", "").generator->name(),
              "cpu-loops")
        << kernel.name;
}
