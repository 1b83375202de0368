//===- PatchesTest.cpp - convolutions as products of patches in all directions ----------------===//
#include "codegen/CPU/Convolution/Patches.h"
#include "test/codegen/CPU/Convolution/ConvolutionKernels.h"
#include <gtest/gtest.h>

using namespace dlc;
using namespace dlc::test;

// Sums of some thousand products at most, in blocks.
static const double rounding = 4e-6;

/// Every candidate of all three directions.
static void check(const ConvolutionShapes &shapes) {
  for (const KernelSource &source : convolutionKernels(shapes))
    checkKernel(source, rounding, "cpu-patches");
}

/// Rows that vectors divide, that divide vectors, and others; LeNet's layers.
TEST(Patches, Square) {
  check({{3, 5, 13, 13}, {20, 5, 3, 3}, {3, 20, 13, 13}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{2, 1, 28, 28}, {20, 1, 5, 5}, {2, 20, 24, 24}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 20, 12, 12}, {50, 20, 5, 5}, {2, 50, 8, 8}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{1, 3, 10, 34}, {8, 3, 3, 3}, {1, 8, 8, 32}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
}

/// Rows shorter than a vector by far, images of one pixel, and filters larger than the image.
TEST(Patches, SmallImages) {
  check({{2, 6, 4, 4}, {18, 6, 3, 3}, {2, 18, 4, 4}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{2, 6, 5, 3}, {18, 6, 5, 3}, {2, 18, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 6, 20, 3}, {18, 6, 3, 3}, {2, 18, 18, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 2, 3, 3}, {3, 2, 5, 5}, {2, 3, 3, 3}, {1, 1}, {2, 2, 2, 2}, {1, 1}});
}

/// A stride of a pair of pixels, and gathered ones; rows and columns that no window reaches, and
/// more of them than taps; first layers of large filters.
TEST(Patches, Strides) {
  check({{2, 5, 14, 14}, {20, 5, 3, 3}, {2, 20, 7, 7}, {2, 2}, {1, 1, 1, 1}, {1, 1}});
  check({{2, 3, 27, 26}, {8, 3, 11, 11}, {2, 8, 6, 5}, {4, 4}, {2, 2, 2, 2}, {1, 1}});
  check({{2, 3, 11, 13}, {8, 3, 2, 2}, {2, 8, 4, 4}, {3, 4}, {0, 1, 1, 0}, {1, 1}});
  check({{1, 3, 70, 70}, {16, 3, 7, 7}, {1, 16, 35, 35}, {2, 2}, {3, 3, 3, 3}, {1, 1}});
}

/// Filters of one tap that are no product of pixels as they lie.
TEST(Patches, Pointwise) {
  check({{2, 12, 9, 7}, {20, 12, 1, 1}, {2, 20, 5, 4}, {2, 2}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 4, 3, 3}, {5, 4, 1, 1}, {2, 5, 6, 4}, {1, 1}, {1, 2, 0, 1}, {1, 1}});
  const ConvolutionShapes grouped = {
      {2, 12, 9, 7}, {20, 3, 1, 1}, {2, 20, 9, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 4};
  checkKernel(convolutionKernels(grouped)[2], rounding, "cpu-patches");
}

TEST(Patches, Dilation) {
  check({{2, 5, 12, 11}, {7, 5, 3, 3}, {2, 7, 12, 11}, {1, 1}, {2, 2, 2, 2}, {2, 2}});
  check({{2, 5, 15, 16}, {7, 5, 3, 2}, {2, 7, 5, 8}, {2, 2}, {0, 0, 1, 2}, {3, 4}});
}

TEST(Patches, PaddingPerSide) {
  check({{2, 3, 6, 7}, {5, 3, 3, 3}, {2, 5, 7, 8}, {1, 1}, {2, 1, 0, 3}, {1, 1}});
  check({{2, 3, 4, 4}, {5, 3, 3, 3}, {2, 5, 9, 9}, {1, 1}, {4, 3, 3, 4}, {1, 1}});
}

/// Several, with one image and with one channel each.
TEST(Patches, Groups) {
  check({{2, 8, 9, 9}, {12, 2, 3, 3}, {2, 12, 9, 9}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 4});
  check({{1, 8, 9, 9}, {12, 4, 3, 3}, {1, 12, 5, 5}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 2});
  check({{2, 6, 9, 9}, {12, 1, 3, 3}, {2, 12, 5, 5}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 6});
}

/// One and three spatial dimensions, with everything at once.
TEST(Patches, OtherRanks) {
  check({{2, 4, 40}, {20, 4, 5}, {2, 20, 20}, {2}, {2, 2}, {1}});
  check({{2, 4, 5, 6, 7},
         {6, 4, 3, 3, 3},
         {2, 6, 5, 6, 7},
         {1, 1, 1},
         {1, 1, 1, 1, 1, 1},
         {1, 1, 1}});
  check({{2, 4, 7, 6, 5},
         {6, 2, 2, 3, 1},
         {2, 6, 4, 2, 5},
         {2, 2, 1},
         {1, 1, 0, 1, 0, 0},
         {2, 2, 1},
         2});
}

/// Blocks of the sum, several panels and tiles, parts of the sum over pixels, and backward data in
/// chunks of channels.
TEST(Patches, Blocks) {
  check({{4, 70, 28, 28}, {100, 70, 3, 3}, {4, 100, 28, 28}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{1, 260, 6, 6}, {140, 260, 3, 3}, {1, 140, 6, 6}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
}

/// Other types in all directions.
TEST(Patches, Elements) {
  const ConvolutionShapes all[] = {
      {{3, 5, 13, 13}, {20, 5, 3, 3}, {3, 20, 13, 13}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{2, 3, 27, 26}, {8, 3, 11, 11}, {2, 8, 6, 5}, {4, 4}, {2, 2, 2, 2}, {1, 1}},
      {{2, 8, 9, 9}, {12, 2, 3, 2}, {2, 12, 9, 11}, {1, 1}, {2, 2, 2, 2}, {2, 2}, 4},
      {{2, 4, 7, 6, 5},
       {6, 2, 2, 3, 1},
       {2, 6, 4, 2, 5},
       {2, 2, 1},
       {1, 1, 0, 1, 0, 0},
       {2, 2, 1},
       2}};
  for (const auto &[element, rounding] : otherElements)
    for (const ConvolutionShapes &shapes : all)
      for (const KernelSource &source : convolutionKernels(shapes))
        checkKernel(inElement(source, element), rounding, "cpu-patches");
}

/// Bodies before and behind: images that are computed, whose padding is zero all the same, biases,
/// addends, ReLUs and masks.
TEST(Patches, Bodies) {
  for (const KernelSource &source : convolutionBodies())
    checkKernel(source, rounding, "cpu-patches");
  for (const ConvolutionShapes &shapes : std::vector<ConvolutionShapes>{
           {{2, 5, 13, 11}, {6, 5, 3, 3}, {2, 6, 13, 11}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
           {{2, 16, 12, 9}, {32, 16, 3, 3}, {2, 32, 6, 5}, {2, 2}, {1, 1, 1, 1}, {1, 1}}})
    for (const KernelSource &source : convolutionImages(shapes))
      checkKernel(source, rounding, "cpu-patches");
}

/// Patches are packed by the tasks that multiply them, or by a phase in front.
TEST(Patches, ImplicitAndExplicit) {
  const ConvolutionShapes shapes = {{3, 5, 13, 13}, {20, 5, 3, 3}, {3, 20, 13, 13},
                                    {1, 1},         {1, 1, 1, 1},  {1, 1}};
  bool packs[2] = {};
  const KernelSource source = convolutionKernels(shapes)[0];
  for (const codegen::Candidate &candidate :
       CompiledTestKernel::offered(source, "avx2", "cpu-patches"))
    packs[llvm::StringRef(candidate.schedule).ends_with("packed b")] = true;
  EXPECT_TRUE(packs[0] && packs[1]);
}

// What it leaves to others, by what is asked of it.
TEST(Patches, Refuses) {
  const codegen::CpuTarget target = llvm::cantFail(codegen::CpuTarget::get("avx2"));
  codegen::ConvolutionProblem problem = transformProblem(3, 3);
  EXPECT_EQ(codegen::patchesRefusal(problem, target), "");
  codegen::ConvolutionProblem blocked = problem, large = problem;
  blocked.xBlock = 16;
  large.input = large.output = {1, 4096, 4096};
  EXPECT_EQ(codegen::patchesRefusal(blocked, target), "its images lie in blocks of channels");
  EXPECT_EQ(codegen::patchesRefusal(large, target), "");
  large.direction = codegen::ConvolutionProblem::Direction::BackwardData;
  EXPECT_EQ(codegen::patchesRefusal(large, target),
            "a channel's matrix of patches is too large for a task");
}
