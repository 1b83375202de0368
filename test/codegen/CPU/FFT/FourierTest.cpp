//===- FourierTest.cpp - convolution by Fourier transforms: kernels, errors -------------------===//
#include "codegen/CPU/Winograd/WinogradSchedule.h"
#include "test/codegen/CPU/Convolution/ConvolutionKernels.h"
#include <gtest/gtest.h>

using namespace dlc;
using namespace dlc::test;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Kernels
//===------------------------------------------------------------------------------------------===//

// The largest difference from float64, as part of the largest result: that of direct convolution.
static const double rounding = 4e-6;

/// All three directions.
static void check(const TransformShapes::List &list) {
  for (const ConvolutionShapes &shapes : list)
    for (const KernelSource &source : convolutionKernels(shapes))
      checkKernel(source, rounding, "cpu-fft");
}

/// Images of 16 bits are widened before they are transformed; the result rounds once.
TEST(Fourier, Elements) {
  const ConvolutionShapes shapes = {{3, 5, 13, 21}, {6, 5, 5, 5}, {3, 6, 13, 21},
                                    {1, 1},         {2, 2, 2, 2}, {1, 1}};
  for (const auto &[element, rounded] : otherElements)
    for (const KernelSource &source : convolutionKernels(shapes))
      if (element != std::string("f64"))
        checkKernel(inElement(source, element), rounded + rounding, "cpu-fft");
}

TEST(Fourier, Square) { check(TransformShapes::square); }
TEST(Fourier, Images) { check(TransformShapes::images); }
TEST(Fourier, PaddingPerSide) { check(TransformShapes::paddingPerSide); }
TEST(Fourier, OblongFilters) { check(TransformShapes::oblong); }
TEST(Fourier, Blocks) { check(TransformShapes::blocks); }

/// An image of one tile of 32; filters that are large or even.
TEST(Fourier, Sizes) {
  check({{{2, 3, 27, 27}, {17, 3, 5, 5}, {2, 17, 27, 27}, {1, 1}, {2, 2, 2, 2}, {1, 1}},
         {{2, 3, 20, 21}, {6, 3, 7, 7}, {2, 6, 20, 21}, {1, 1}, {3, 3, 3, 3}, {1, 1}},
         {{2, 3, 24, 30}, {6, 3, 11, 11}, {2, 6, 14, 20}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
         {{1, 2, 40, 40}, {3, 2, 24, 2}, {1, 3, 17, 39}, {1, 1}, {0, 0, 0, 0}, {1, 1}}});
}

/// What is fused around: bias, ReLU and an addend behind; a body before the image, which must not
/// leak into the padding; results from the prologue.
TEST(Fourier, Bodies) {
  for (const KernelSource &source : convolutionBodies())
    checkKernel(source, rounding, "cpu-fft");
}

/// An image that is computed while it is read, plain and in blocks of channels.
TEST(Fourier, ComputedImages) {
  for (const ConvolutionShapes &shapes : std::vector<ConvolutionShapes>{
           {{2, 32, 13, 11}, {48, 32, 3, 3}, {2, 48, 13, 11}, {1, 1}, {1, 1, 1, 1}, {1, 1}}})
    for (const KernelSource &source : convolutionImages(shapes)) {
      checkKernel(source, rounding, "cpu-fft");
      checkKernel(withBlocks(source, shapes, Blocked::Both), rounding, "cpu-fft");
    }
}

TEST(Fourier, Reductions) {
  const ConvolutionShapes shapes = {{2, 16, 27, 38}, {32, 16, 5, 5}, {2, 32, 27, 38},
                                    {1, 1},          {2, 2, 2, 2},   {1, 1}};
  for (const KernelSource &source : convolutionReductions(shapes))
    checkKernel(source, rounding, "cpu-fft");
}

// What has no transform is left to others.
TEST(Fourier, Refuses) {
  expectRefusals(fourierRefusal);
  ConvolutionProblem strided = transformProblem(3, 3);
  strided.stride = {1, 2, 2};
  EXPECT_EQ(fourierRefusal(strided), "its stride is not 1");
  EXPECT_EQ(fourierRefusal(transformProblem(11, 2)), "");
  EXPECT_EQ(fourierRefusal(transformProblem(25, 3)),
            "a filter of 25x3 leaves too little of a tile of 32x32");
  EXPECT_EQ(fourierRefusal(transformProblem(1, 1)), "a filter of 1x1 needs no transform");
}

//===------------------------------------------------------------------------------------------===//
// Errors
//===------------------------------------------------------------------------------------------===//

// Against float64, uniform inputs in [-1, 1), 32 channels. A transform turns what it is given
// without making it larger, and the sums at its points are short (FourierGenerator.cpp has the
// figures): it errs less than a sum of one product after the other in each direction. What direct
// convolution errs depends on the blocks that it sums by, and so on the machine.
TEST(Fourier, ErrsLessThanSumsInOrder) {
  const char *directions[] = {"forward", "backward data", "backward filter"};
  for (int taps : {3, 5, 11}) {
    const int pad = taps / 2;
    const ConvolutionShapes shapes = {{2, 32, 13, 15}, {64, 32, taps, taps}, {2, 64, 13, 15},
                                      {1, 1},          {pad, pad, pad, pad}, {1, 1}};
    for (int direction = 0; direction < 3; ++direction) {
      const KernelSource source = convolutionKernels(shapes)[direction];
      const double error = errorOf(source, "cpu-fft", "fft tile"),
                   inOrder = errorOf(source, "cpu-loops", "");
      EXPECT_LE(error, inOrder) << taps << " taps, " << directions[direction];
      RecordProperty("taps" + std::to_string(taps) + "direction" + std::to_string(direction),
                     std::to_string(inOrder * 1e7) + " " +
                         std::to_string(errorOf(source, "cpu-convolution", "convolution") * 1e7) +
                         " " + std::to_string(error * 1e7));
    }
  }
}
