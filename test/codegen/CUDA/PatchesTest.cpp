//===- PatchesTest.cpp - products of explicit matrices in CUDA's text, on the SIMT device -----===//
#include "test/codegen/CUDA/Refusals.h"

using namespace dlc;
using namespace dlc::test;
using namespace dlc::codegen;

// Sums of products, in another order.
static const double rounding = 2e-6;

static void check(const KernelSource &source) {
  EXPECT_EQ(checkCudaKernel(source, rounding, "cuda-patches", 0), 1u);
}
/// The directions: forward, backward data, backward filter.
static void check(const ConvolutionShapes &shapes, std::vector<int> directions = {0, 1, 2}) {
  const std::array<KernelSource, 3> all = convolutionKernels(shapes);
  for (int direction : directions)
    check(all[direction]);
}

/// Odd sizes; channels, filters and pixels that are no multiples of four; one tap and many.
TEST(CudaPatches, Square) {
  check({{3, 5, 13, 11}, {6, 5, 3, 3}, {3, 6, 13, 11}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{3, 5, 7, 9}, {6, 5, 1, 1}, {3, 6, 7, 9}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 3, 12, 11}, {7, 3, 7, 7}, {2, 7, 8, 7}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
}

/// Padding on one side; filters that are no squares; one axis.
TEST(CudaPatches, Padding) {
  for (const ConvolutionShapes &shapes : TransformShapes::paddingPerSide)
    check(shapes);
  for (const ConvolutionShapes &shapes : TransformShapes::oblong)
    check(shapes);
}

/// Filters of one tap leave pixels without a gradient, in the last row and column as well.
TEST(CudaPatches, Strides) {
  check({{2, 3, 15, 14}, {5, 3, 7, 5}, {2, 5, 8, 5}, {2, 3}, {3, 3, 1, 3}, {1, 1}}, {0, 2});
  check({{2, 5, 9, 8}, {6, 5, 1, 1}, {2, 6, 5, 4}, {2, 2}, {0, 0, 0, 0}, {1, 1}});
  check({{2, 5, 7, 9}, {6, 5, 1, 1}, {2, 6, 3, 9}, {3, 1}, {0, 0, 0, 0}, {1, 1}});
}

TEST(CudaPatches, Dilations) {
  check({{2, 3, 11, 12}, {5, 3, 3, 3}, {2, 5, 7, 6}, {1, 1}, {0, 0, 0, 0}, {2, 3}});
  check({{2, 3, 11, 12}, {5, 3, 3, 3}, {2, 5, 11, 12}, {1, 1}, {2, 2, 3, 3}, {2, 3}});
  check({{2, 3, 11, 12}, {5, 3, 3, 3}, {2, 5, 4, 4}, {2, 2}, {0, 0, 0, 0}, {2, 2}}, {0, 2});
}

/// Sums in parts: over channels, and over pixels.
TEST(CudaPatches, Parts) {
  check({{1, 260, 6, 6}, {8, 260, 3, 3}, {1, 8, 6, 6}, {1, 1}, {1, 1, 1, 1}, {1, 1}}, {0});
  check({{9, 2, 28, 28}, {4, 2, 1, 1}, {9, 4, 28, 28}, {1, 1}, {0, 0, 0, 0}, {1, 1}}, {2});
}

/// What is fused around a convolution, in front, behind, and reductions of what it gives.
TEST(CudaPatches, Bodies) {
  check(convolutionBodies()[0]);
  for (const KernelSource &source : imagesAndReductions())
    check(source);
}

TEST(CudaPatches, Refuses) {
  const auto gemm = ConvolutionAlgorithm::Gemm;
  EXPECT_EQ(refusalOf(convolutionKernels(RefusedShapes::strided)[1], gemm), "its stride is not 1");
  EXPECT_EQ(refusalOf(convolutionKernels(RefusedShapes::grouped)[1], gemm), "it has 2 groups");
  EXPECT_EQ(refusalOf(convolutionKernels(RefusedShapes::huge)[0], gemm),
            "its transforms need too much memory");
}
