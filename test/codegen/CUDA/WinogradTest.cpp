//===- WinogradTest.cpp - minimal filtering in CUDA's text, on the SIMT device ----------------===//
#include "test/codegen/CUDA/Refusals.h"
#include <map>

using namespace dlc;
using namespace dlc::test;
using namespace dlc::codegen;

// As on the CPU: F(4x4) and filters of five taps multiply by up to 20 what they subtract again.
static const double rounding = 4e-5;

/// With tiles of 2x2 and of 4x4.
static void check(const KernelSource &source) {
  for (unsigned number : {0, 1})
    EXPECT_EQ(checkCudaKernel(source, rounding, "cuda-winograd", number), 2u);
}
/// The directions: forward, backward data, backward filter.
static void check(const ConvolutionShapes &shapes, std::vector<int> directions = {0, 1, 2}) {
  const std::array<KernelSource, 3> all = convolutionKernels(shapes);
  for (int direction : directions)
    check(all[direction]);
}

/// Odd sizes; channels, filters and tiles that are no multiples of four.
TEST(CudaWinograd, Square) {
  check({{3, 5, 13, 11}, {6, 5, 3, 3}, {3, 6, 13, 11}, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  check({{2, 3, 9, 8}, {7, 3, 5, 5}, {2, 7, 5, 4}, {1, 1}, {0, 0, 0, 0}, {1, 1}});
}

/// A plane smaller than a tile; more padding than the filter reaches; other padding on each side.
TEST(CudaWinograd, Padding) {
  check({{2, 6, 5, 3}, {9, 6, 3, 3}, {2, 9, 3, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}}, {0, 1});
  for (const ConvolutionShapes &shapes : TransformShapes::paddingPerSide)
    check(shapes, {0, 1});
  check(TransformShapes::paddingPerSide[1], {2});
}

/// Filters that are no squares; one axis.
TEST(CudaWinograd, Filters) {
  check(TransformShapes::oblong[0]);
  check(TransformShapes::oblong[2], {1});
  check(TransformShapes::oblong[3], {0, 2});
}

/// Sums in parts: over channels, and over tiles.
TEST(CudaWinograd, Parts) {
  check({{1, 260, 6, 6}, {8, 260, 3, 3}, {1, 8, 6, 6}, {1, 1}, {1, 1, 1, 1}, {1, 1}}, {0});
  check({{9, 2, 28, 28}, {4, 2, 3, 3}, {9, 4, 28, 28}, {1, 1}, {1, 1, 1, 1}, {1, 1}}, {2});
}

/// A body before the image, which must not leak into the padding; bias, addend and ReLU behind. A
/// result in front of the convolution is left to others, and the refusal says so.
TEST(CudaWinograd, Bodies) {
  const std::array<KernelSource, 2> bodies = convolutionBodies();
  check(bodies[0]);
  EXPECT_EQ(refusalOf(bodies[1], ConvolutionAlgorithm::Winograd),
            "what is fused around it needs single elements");
}

/// Images that are computed by the transforms, reductions of what these give by one block a channel
/// and by several, and both.
TEST(CudaWinograd, ImagesAndReductions) {
  for (const KernelSource &source : imagesAndReductions())
    check(source);
}

/// What has no transform; what is too large for indices that are ints; what --math=strict forbids.
TEST(CudaWinograd, Refuses) {
  const auto winograd = ConvolutionAlgorithm::Winograd;
  ConvolutionShapes five = RefusedShapes::plain;
  five.w = {6, 4, 5, 5};
  five.y = {2, 6, 7, 7};
  EXPECT_EQ(refusalOf(convolutionKernels(RefusedShapes::strided)[0], winograd),
            "its stride is not 1");
  EXPECT_EQ(refusalOf(convolutionKernels(RefusedShapes::grouped)[1], winograd), "it has 2 groups");
  EXPECT_EQ(refusalOf(convolutionKernels(RefusedShapes::huge)[0], winograd),
            "its transforms need too much memory");
  EXPECT_EQ(refusalOf(convolutionKernels(five)[2], winograd, /*strict=*/true),
            "its transforms err more than --math=strict allows");
  EXPECT_EQ(refusalOf(convolutionKernels(RefusedShapes::plain)[2], winograd, /*strict=*/true),
            "its transforms spread what is not finite, which --math=strict does not allow");
}

/// By the candidates' schedules, as far as they say the tile.
static std::map<std::string, double> errorsOf(const KernelSource &source,
                                              const std::string &generator, unsigned candidates) {
  std::map<std::string, double> errors;
  for (unsigned number = 0; number < candidates; ++number) {
    CompiledTestKernel kernel(source, "cuda:simt", generator, number);
    if (!kernel)
      break;
    const std::vector<Tensor> inputs = kernel.randomInputs();
    errors[llvm::StringRef(kernel.selection().candidate.schedule).split(',').first.str()] =
        meanError(kernel.run(inputs)[0], kernel.oracle(inputs)[0]);
  }
  return errors;
}

// The bounds of the CPU's kernels (test/codegen/CPU/Winograd/WinogradTest.cpp) hold here too, and
// those of
// --math=strict stand on the same comparison.
TEST(CudaWinograd, ErrorsAreBounded) {
  const ConvolutionShapes three = {{2, 32, 26, 30}, {16, 32, 3, 3}, {2, 16, 26, 30},
                                   {1, 1},          {1, 1, 1, 1},   {1, 1}};
  for (int direction = 0; direction < 3; ++direction) {
    const KernelSource source = convolutionKernels(three)[direction];
    const double inOrder = errorOf(source, "cpu-loops", "");
    std::map<std::string, double> errors = errorsOf(source, "cuda-winograd", 2);
    ASSERT_EQ(errors.size(), 2u);
    EXPECT_LE(errors.at("winograd tile 2x2"), inOrder) << direction;
    EXPECT_LE(errors.at("winograd tile 4x4"), 3e-6) << direction;
    RecordProperty("direction" + std::to_string(direction),
                   std::to_string(inOrder * 1e7) + " " +
                       std::to_string(errors["winograd tile 2x2"] * 1e7) + " " +
                       std::to_string(errors["winograd tile 4x4"] * 1e7));
  }
}
