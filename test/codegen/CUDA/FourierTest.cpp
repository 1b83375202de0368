//===- FourierTest.cpp - Fourier transforms of tiles in CUDA's text, on the SIMT device -------===//
#include "test/codegen/CUDA/Refusals.h"

using namespace dlc;
using namespace dlc::test;
using namespace dlc::codegen;

// The largest difference from float64, as part of the largest result: that of direct convolution.
static const double rounding = 4e-6;

/// The directions: forward, backward data, backward filter.
static void check(const ConvolutionShapes &shapes, std::vector<int> directions = {0, 1, 2}) {
  const std::array<KernelSource, 3> all = convolutionKernels(shapes);
  for (int direction : directions)
    EXPECT_EQ(checkCudaKernel(all[direction], rounding, "cuda-fft"), 1u);
}

/// Odd sizes; channels, filters and tiles that are no multiples of four.
TEST(CudaFourier, Square) {
  check({{3, 5, 13, 11}, {6, 5, 3, 3}, {3, 6, 13, 11}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{2, 3, 9, 8}, {7, 3, 5, 5}, {2, 7, 5, 4}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
}

/// A plane smaller than a tile, and one of several; more padding than the filter reaches; other
/// padding on each side.
TEST(CudaFourier, Padding) {
  for (const ConvolutionShapes &shapes : TransformShapes::images)
    check(shapes);
  for (const ConvolutionShapes &shapes : TransformShapes::paddingPerSide)
    check(shapes);
}

/// Filters that are no squares; one axis.
TEST(CudaFourier, Filters) {
  for (const ConvolutionShapes &shapes : TransformShapes::oblong)
    check(shapes);
}

/// A tile of 32x32, of which a block transforms eight; filters that are large or even.
TEST(CudaFourier, Sizes) {
  check({{2, 3, 27, 27}, {9, 3, 5, 5}, {2, 9, 27, 27}, {1, 1}, {2, 2, 2, 2}, {1, 1}});
  check({{2, 3, 24, 30}, {6, 3, 11, 11}, {2, 6, 14, 20}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{1, 2, 40, 40}, {3, 2, 24, 2}, {1, 3, 17, 39}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
}

/// Sums in parts: over channels, and over tiles.
TEST(CudaFourier, Parts) {
  const ConvolutionShapes channels = {{1, 1200, 2, 2}, {4, 1200, 1, 3}, {1, 4, 2, 2},
                                      {1, 1},          {0, 0, 1, 1},    {1, 1}},
                          tiles = {{150, 2, 2, 13}, {4, 2, 1, 3}, {150, 4, 2, 13},
                                   {1, 1},          {0, 0, 1, 1}, {1, 1}};
  check(channels, {0});
  check(tiles, {2});
  for (const KernelSource &source : {convolutionKernels(channels)[0], convolutionKernels(tiles)[2]})
    EXPECT_FALSE(llvm::StringRef(
                     CompiledTestKernel::select(source, "cuda:simt", "cuda-fft").candidate.schedule)
                     .ends_with("split 1"));
}

/// A body before the image, which must not leak into the padding; bias, addend and ReLU behind. A
/// result in front of the convolution is left to others, and the refusal says so.
TEST(CudaFourier, Bodies) {
  const std::array<KernelSource, 2> bodies = convolutionBodies();
  EXPECT_EQ(checkCudaKernel(bodies[0], rounding, "cuda-fft"), 1u);
  EXPECT_EQ(refusalOf(bodies[1], ConvolutionAlgorithm::FFT),
            "what is fused around it needs single elements");
}

/// Images that are computed by the transforms, reductions of what these give by one block a channel
/// and by several, and both.
TEST(CudaFourier, ImagesAndReductions) {
  for (const KernelSource &source : imagesAndReductions())
    EXPECT_EQ(checkCudaKernel(source, rounding, "cuda-fft"), 1u);
}

/// What has no transform; what is too large for indices that are ints; --math=strict forbids all.
TEST(CudaFourier, Refuses) {
  const auto fft = ConvolutionAlgorithm::FFT;
  ConvolutionShapes pixels = RefusedShapes::plain, large = RefusedShapes::plain;
  pixels.w = {6, 4, 1, 1};
  pixels.padding = {0, 0, 0, 0};
  large.x = {2, 4, 33, 33};
  large.w = {6, 4, 25, 3};
  large.y = {2, 6, 11, 33};
  EXPECT_EQ(refusalOf(convolutionKernels(RefusedShapes::strided)[0], fft), "its stride is not 1");
  EXPECT_EQ(refusalOf(convolutionKernels(RefusedShapes::grouped)[1], fft), "it has 2 groups");
  EXPECT_EQ(refusalOf(convolutionKernels(RefusedShapes::huge)[0], fft),
            "its transforms need too much memory");
  EXPECT_EQ(refusalOf(convolutionKernels(pixels)[0], fft), "a filter of 1x1 needs no transform");
  EXPECT_EQ(refusalOf(convolutionKernels(large)[0], fft),
            "a filter of 25x3 leaves too little of a tile of 32x32");
  EXPECT_EQ(refusalOf(convolutionKernels(RefusedShapes::plain)[0], fft, /*strict=*/true),
            "its transforms spread what is not finite, which --math=strict does not allow");
}

// As on the CPU (test/codegen/CPU/FFT/FourierTest.cpp): less than sums in order, in each direction,
// although a complex product is three of real numbers, whose sums are longer than its result.
TEST(CudaFourier, ErrsLessThanSumsInOrder) {
  const char *directions[] = {"forward", "backward data", "backward filter"};
  for (int taps : {3, 5, 11}) {
    const int pad = taps / 2;
    const ConvolutionShapes shapes = {{2, 32, 13, 15}, {16, 32, taps, taps}, {2, 16, 13, 15},
                                      {1, 1},          {pad, pad, pad, pad}, {1, 1}};
    for (int direction = 0; direction < 3; ++direction) {
      const KernelSource source = convolutionKernels(shapes)[direction];
      CompiledTestKernel kernel(source, "cuda:simt", "cuda-fft");
      const std::vector<Tensor> inputs = kernel.randomInputs();
      const double error = meanError(kernel.run(inputs)[0], kernel.oracle(inputs)[0]),
                   inOrder = errorOf(source, "cpu-loops", "");
      EXPECT_LE(error, inOrder) << taps << " taps, " << directions[direction];
      RecordProperty("taps" + std::to_string(taps) + "direction" + std::to_string(direction),
                     std::to_string(inOrder * 1e7) + " " + std::to_string(error * 1e7));
    }
  }
}
