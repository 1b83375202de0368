//===- WinogradTest.cpp - minimal filtering: matrices, kernels, errors ------------------------===//
#include "codegen/CPU/Winograd/WinogradSchedule.h"
#include "test/codegen/CPU/Convolution/ConvolutionKernels.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace dlc;
using namespace dlc::test;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Matrices
//===------------------------------------------------------------------------------------------===//

using Numbers = std::vector<double>;

static Numbers operator*(const TransformMatrix &matrix, const Numbers &values) {
  Numbers result(matrix.rows, 0);
  for (int64_t i = 0; i < matrix.rows; ++i)
    for (int64_t j = 0; j < matrix.columns; ++j)
      result[i] += matrix.at(i, j) * values[j];
  return result;
}
static Numbers operator*(Numbers a, const Numbers &b) {
  for (size_t i = 0; i < a.size(); ++i)
    a[i] *= b[i];
  return a;
}

/// d correlated with g.
static Numbers correlation(const Numbers &d, const Numbers &g) {
  Numbers y(d.size() + 1 - g.size(), 0);
  for (size_t i = 0; i < y.size(); ++i)
    for (size_t k = 0; k < g.size(); ++k)
      y[i] += d[i + k] * g[k];
  return y;
}

// In float64 the matrices compute correlations: forward, and by their transposes the gradient of
// the taps, which is a correlation of the input with the gradient of the outputs.
TEST(Winograd, MatricesComputeCorrelations) {
  for (int64_t taps : {1, 2, 3, 4, 5})
    for (int64_t outputs : {1, 2, 3, 4, 5, 6, 7, 8}) {
      if ((taps == 1 && outputs > 1) || outputs + taps > 12)
        continue;
      const WinogradTransform all(outputs, taps);
      for (const WinogradTransform &f : {all, all.withoutLast()}) {
        if (f.outputs == 0)
          continue;
        Numbers d = randomNumbers(f.points(), 1), g = randomNumbers(taps, 2),
                dy = randomNumbers(f.outputs, 3);
        Numbers y = f.output * ((f.filter * g) * (f.input * d)), expected = correlation(d, g);
        for (int64_t i = 0; i < f.outputs; ++i)
          EXPECT_NEAR(y[i], expected[i], 2e-13) << "F(" << f.outputs << ", " << taps << ")";
        Numbers dg = f.filter.transposed() * ((f.input * d) * (f.output.transposed() * dy));
        expected = correlation(d, dy);
        for (int64_t i = 0; i < taps; ++i)
          EXPECT_NEAR(dg[i], expected[i], 2e-13) << "F(" << f.outputs << ", " << taps << ")";
      }
    }
}

// Tiles without their last output share the filter's points with those that have it.
TEST(Winograd, ShortTilesShareTheFilter) {
  const WinogradTransform all(7, 3), less = all.withoutLast();
  EXPECT_EQ(less.outputs, 6);
  EXPECT_EQ(less.points(), 8);
  EXPECT_TRUE(llvm::equal(less.filter.values, llvm::ArrayRef(all.filter.values).drop_back(3)));
}

// Sums that rows or columns share are computed once: Lavin and Gray count 32 additions for the
// input of F(2x2, 3x3); a multiplication joins an addition.
TEST(Winograd, TransformsShareSums) {
  WinogradTransform two(2, 3), four(4, 3);
  EXPECT_EQ(transformOperations(two.input, two.input), 32);
  EXPECT_EQ(transformOperations(two.output, two.output), 24);
  EXPECT_EQ(transformOperations(four.input, four.input), 144);
}

//===------------------------------------------------------------------------------------------===//
// Kernels
//===------------------------------------------------------------------------------------------===//

// The largest difference from float64, as part of the largest result. F(4x4) and filters of five
// taps multiply by up to 20 what they subtract again.
static const double rounding = 4e-5;

/// All three directions.
static void check(const TransformShapes::List &list) {
  for (const ConvolutionShapes &shapes : list)
    for (const KernelSource &source : convolutionKernels(shapes))
      checkKernel(source, rounding, "cpu-winograd");
}

/// Images of 16 bits are widened before they are transformed; the result rounds once.
TEST(Winograd, Elements) {
  const ConvolutionShapes all[] = {
      {{3, 5, 13, 11}, {6, 5, 3, 3}, {3, 6, 13, 11}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{2, 18, 21, 40}, {20, 18, 3, 3}, {2, 20, 19, 38}, {1, 1}, {0, 0, 0, 0}, {1, 1}}};
  for (const auto &[element, rounded] : otherElements)
    for (const ConvolutionShapes &shapes : all)
      for (const KernelSource &source : convolutionKernels(shapes))
        if (element != std::string("f64"))
          checkKernel(inElement(source, element), rounded + rounding, "cpu-winograd");
}

TEST(Winograd, Square) { check(TransformShapes::square); }
TEST(Winograd, Images) { check(TransformShapes::images); }
TEST(Winograd, PaddingPerSide) { check(TransformShapes::paddingPerSide); }
/// Filters whose points are more than the last cache holds go to memory past it, where vectors are
/// lines.
TEST(Winograd, LargeFilters) {
  const ConvolutionShapes shapes = {{1, 512, 6, 6}, {512, 512, 3, 3}, {1, 512, 4, 4},
                                    {1, 1},         {0, 0, 0, 0},     {1, 1}};
  const auto sources = convolutionKernels(shapes);
  for (const KernelSource &source : {sources[0], sources[1]})
    checkKernel(source, rounding, "cpu-winograd");
}
/// More shared tiles than a round holds: their three phases come again for other blocks. They are
/// more than the last cache holds, too, and go past it as such filters do.
TEST(Winograd, SharedRounds) {
  const ConvolutionShapes shapes = {{8, 16, 120, 119}, {16, 16, 3, 3}, {8, 16, 120, 119}, {1, 1},
                                    {1, 1, 1, 1},      {1, 1}};
  const KernelSource source = convolutionKernels(shapes)[2];
  checkKernel(source, rounding, "cpu-winograd");
  size_t most = 0;
  for (const Candidate &candidate : CompiledTestKernel::offered(source, "native", "cpu-winograd"))
    most = std::max(most, candidate.phases.size());
  EXPECT_GT(most, 4u);
}
/// The candidates whose schedules say so: "shared tiles", which are the image's for all chunks of
/// channels, or "in rounds".
static void checkOffered(const KernelSource &source, llvm::StringRef words, double tolerance) {
  checkKernel(source, tolerance, "cpu-winograd", words);
}

/// Tiles of an image that many chunks of channels share: one block and several, rows of the last
/// tile panel that no tile fills, channels that fill no vector; an image that is computed while it
/// is read, sums behind, blocks of channels.
TEST(Winograd, SharedTiles) {
  const ConvolutionShapes one = {{1, 256, 14, 14}, {256, 256, 3, 3}, {1, 256, 14, 14},
                                 {1, 1},           {1, 1, 1, 1},     {1, 1}};
  const ConvolutionShapes several = {{1, 250, 30, 27}, {200, 250, 3, 3}, {1, 200, 28, 25},
                                     {1, 1},           {0, 0, 0, 0},     {1, 1}};
  auto check = [](const KernelSource &source, double tolerance) {
    checkOffered(source, "shared tiles", tolerance);
  };
  for (const ConvolutionShapes &shapes : {one, several})
    for (unsigned direction : {0, 1})
      check(convolutionKernels(shapes)[direction], rounding);
  const KernelSource plain = convolutionKernels(one)[0];
  for (const KernelSource &source : {convolutionImages(one)[0], convolutionReductions(one)[0],
                                     withBlocks(plain, one, Blocked::Both)})
    check(source, rounding);
  for (const auto &[element, rounded] : otherElements)
    if (element != std::string("f64"))
      check(inElement(plain, element), rounded + rounding);
  checkKernel(plain, rounding, "cpu-fft");
}

/// Tiles that end with the image, along both axes and along one; the last block has fewer images;
/// tiles of a point begin and end within panels of them. A body before the image, sums behind,
/// blocks of channels, filters that are no squares, images in 16 bits.
TEST(Winograd, FittedTiles) {
  const ConvolutionShapes both = {{5, 32, 13, 11}, {48, 32, 3, 3}, {5, 48, 13, 11},
                                  {1, 1},          {1, 1, 1, 1},   {1, 1}};
  const ConvolutionShapes rows = {{3, 20, 7, 12}, {18, 20, 3, 3}, {3, 18, 7, 12},
                                  {1, 1},         {1, 1, 1, 1},   {1, 1}};
  const ConvolutionShapes cols = {{3, 20, 10, 41}, {18, 20, 3, 5}, {3, 18, 8, 39},
                                  {1, 1},          {0, 0, 1, 1},   {1, 1}};
  const ConvolutionShapes large = {{70, 16, 13, 27}, {16, 16, 5, 5}, {70, 16, 13, 27},
                                   {1, 1},           {2, 2, 2, 2},   {1, 1}};
  auto check = [](const KernelSource &source, double tolerance) {
    checkOffered(source, " fitted", tolerance);
  };
  for (const ConvolutionShapes &shapes : {both, rows, cols})
    for (const KernelSource &source : convolutionKernels(shapes))
      check(source, rounding);
  for (const KernelSource &source : convolutionImages(both))
    check(source, rounding);
  for (const KernelSource &source : convolutionReductions(both))
    check(source, rounding);
  for (const KernelSource &source : convolutionKernels(both))
    check(withBlocks(source, both, Blocked::Both), rounding);
  for (const KernelSource &source : convolutionKernels(large))
    checkOffered(inElement(source, "bf16"), "tile 7x7 fitted",
                 otherElements[1].rounding + rounding);
}

/// Filters that are transformed some panels at a time: fewer of them in the last round, channels
/// that fill no vector; sums behind, blocks of channels, 16 bits.
TEST(Winograd, FilterRounds) {
  const ConvolutionShapes shapes = {{2, 530, 6, 6}, {500, 530, 3, 3}, {2, 500, 4, 4},
                                    {1, 1},         {0, 0, 0, 0},     {1, 1}};
  const ConvolutionShapes whole = {{2, 512, 4, 4}, {528, 512, 3, 3}, {2, 528, 4, 4},
                                   {1, 1},         {1, 1, 1, 1},     {1, 1}};
  auto check = [](const KernelSource &source, double tolerance) {
    checkOffered(source, "in rounds", tolerance);
  };
  for (unsigned direction : {0, 1})
    check(convolutionKernels(shapes)[direction], rounding);
  check(convolutionReductions(whole)[0], rounding);
  checkKernel(convolutionKernels(shapes)[0], rounding, "cpu-fft");
  check(inElement(withBlocks(convolutionKernels(whole)[1], whole, Blocked::Both), "bf16"),
        otherElements[1].rounding + rounding);
}

/// Phases of strides as channels: filters that meet each phase as often, and that do not; strides
/// along one axis; fewer channels than a vector has; several segments of a row; rows that no tap
/// meets; blocks of channels, 16 bits, a body before the image, sums behind.
TEST(Winograd, Strides) {
  const TransformShapes::List list = {
      {{2, 3, 63, 66}, {18, 3, 11, 11}, {2, 18, 15, 15}, {4, 4}, {2, 2, 2, 2}, {1, 1}},
      {{2, 3, 30, 31}, {20, 3, 7, 7}, {2, 20, 15, 16}, {2, 2}, {3, 3, 3, 3}, {1, 1}},
      {{2, 5, 24, 26}, {18, 5, 4, 4}, {2, 18, 12, 13}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
      {{2, 18, 15, 14}, {20, 18, 3, 5}, {2, 20, 15, 7}, {1, 2}, {1, 1, 2, 2}, {1, 1}},
      {{1, 3, 9, 141}, {6, 3, 4, 4}, {1, 6, 4, 70}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
      {{2, 18, 18, 15}, {20, 18, 3, 3}, {2, 20, 8, 15}, {2, 1}, {0, 0, 1, 1}, {1, 1}}};
  auto check = [](const auto &sources) {
    for (const KernelSource &source : sources)
      checkOffered(source, "winograd tile", rounding);
  };
  for (const ConvolutionShapes &shapes : list)
    check(convolutionKernels(shapes));
  for (const auto &[element, rounded] : otherElements)
    if (element != std::string("f64"))
      for (const ConvolutionShapes &shapes : {list[0], list[3]})
        for (const KernelSource &source : convolutionKernels(shapes))
          checkOffered(inElement(source, element), "winograd tile", rounded + rounding);
  const ConvolutionShapes blocks = {{2, 32, 15, 14}, {48, 32, 3, 3}, {2, 48, 8, 7},
                                    {2, 2},          {1, 1, 1, 1},   {1, 1}};
  const ConvolutionShapes four = {{1, 16, 21, 27}, {16, 16, 6, 7}, {1, 16, 5, 7},
                                  {4, 4},          {1, 1, 3, 3},   {1, 1}};
  const ConvolutionShapes cols = {{1, 32, 9, 15}, {16, 32, 3, 3}, {1, 16, 9, 8},
                                  {1, 2},         {1, 1, 1, 1},   {1, 1}};
  for (const ConvolutionShapes &shapes : {blocks, four, cols})
    for (const KernelSource &source : convolutionKernels(shapes))
      for (Blocked blocked : {Blocked::X, Blocked::Y, Blocked::Both})
        checkOffered(withBlocks(source, shapes, blocked), "winograd tile", rounding);
  // Rows and columns of padding alone, and a pixel's blocks one behind the other.
  const ConvolutionShapes padded = {{2, 32, 4, 5}, {16, 32, 3, 3}, {2, 16, 7, 8},
                                    {2, 2},        {5, 6, 5, 7},   {1, 1}};
  for (const KernelSource &source : convolutionKernels(padded)) {
    checkOffered(source, "winograd tile", rounding);
    checkOffered(withBlocks(source, padded, Blocked::Both, /*last=*/true), "winograd tile",
                 rounding);
  }
  check(convolutionImages(list[1]));
  check(convolutionImages(blocks));
  check(convolutionReductions(blocks));
}

/// The gradient of an image whose chunks of channels have phases of the same ones, in tiles of an
/// odd size, and in rounds; sums behind.
TEST(Winograd, ChunksOfPhases) {
  const ConvolutionShapes chunks = {{2, 128, 16, 18}, {128, 128, 3, 3}, {2, 128, 8, 9},
                                    {2, 2},           {1, 0, 1, 0},     {1, 1}};
  const ConvolutionShapes rounds = {{2, 512, 8, 8}, {512, 512, 4, 4}, {2, 512, 4, 4},
                                    {2, 2},         {1, 1, 1, 1},     {1, 1}};
  auto check = [](const ConvolutionShapes &shapes, const char *words) {
    checkOffered(convolutionKernels(shapes)[1], words, rounding);
    unsigned gradients = 0;
    for (const KernelSource &source : convolutionReductions(shapes))
      if (source.moduleText().find("backward_data") != std::string::npos) {
        checkOffered(source, words, rounding);
        ++gradients;
      }
    EXPECT_GT(gradients, 0u);
  };
  check(chunks, "shared tiles");
  check(chunks, "winograd tile 5x5 fitted");
  check(chunks, "winograd tile 3x3");
  check(rounds, "in rounds");
}

/// A filter that several convolutions read is prepared for one order of its phases at a time.
TEST(Winograd, PreparedForStrides) {
  std::set<std::string> forms;
  const ConvolutionShapes all[] = {
      {{2, 32, 16, 16}, {32, 32, 3, 3}, {2, 32, 16, 16}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{2, 32, 16, 16}, {32, 32, 3, 3}, {2, 32, 16, 8}, {1, 2}, {1, 1, 1, 0}, {1, 1}},
      {{2, 32, 16, 16}, {32, 32, 3, 3}, {2, 32, 8, 16}, {2, 1}, {1, 0, 1, 1}, {1, 1}},
      {{2, 32, 16, 16}, {32, 32, 3, 3}, {2, 32, 8, 8}, {2, 2}, {1, 0, 1, 0}, {1, 1}}};
  auto formOf = [](const KernelSource &source) {
    for (const Candidate &candidate : CompiledTestKernel::offered(source, "native", "cpu-winograd"))
      if (candidate.preparation &&
          llvm::StringRef(candidate.schedule).starts_with("winograd tile 2x2"))
        return candidate.preparation->form;
    return std::string();
  };
  for (const ConvolutionShapes &shapes : all)
    for (unsigned direction : {0, 1}) {
      const KernelSource source = convolutionKernels(shapes)[direction];
      forms.insert(formOf(source));
      if (shapes.strides != std::vector<int>{1, 1})
        forms.insert(formOf(withBlocks(source, shapes, Blocked::Both)));
    }
  EXPECT_EQ(forms.size(), 14u);
  EXPECT_FALSE(forms.count(""));
}

TEST(Winograd, EvenFilters) {
  check({{{2, 4, 9, 11}, {6, 4, 2, 4}, {2, 6, 10, 11}, {1, 1}, {1, 1, 2, 1}, {1, 1}},
         {{2, 4, 9, 11}, {6, 4, 4, 2}, {2, 6, 6, 10}, {1, 1}, {0, 0, 0, 0}, {1, 1}}});
}
TEST(Winograd, OblongFilters) { check(TransformShapes::oblong); }
TEST(Winograd, Blocks) { check(TransformShapes::blocks); }

/// Images in blocks of channels: of either side, whose last panel they do not fill, and in several
/// segments.
TEST(Winograd, BlocksOfChannels) {
  const TransformShapes::List list = {
      {{2, 16, 13, 11}, {48, 16, 3, 3}, {2, 48, 13, 11}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{2, 32, 6, 71}, {16, 32, 3, 3}, {2, 16, 7, 72}, {1, 1}, {2, 1, 1, 2}, {1, 1}},
      {{2, 48, 12, 12}, {80, 48, 5, 5}, {2, 80, 8, 8}, {1, 1}, {0, 0, 0, 0}, {1, 1}}};
  for (const ConvolutionShapes &shapes : list)
    for (const KernelSource &source : convolutionKernels(shapes))
      for (Blocked blocked : {Blocked::X, Blocked::Y, Blocked::Both})
        for (bool last : {false, true})
          checkKernel(withBlocks(source, shapes, blocked, last), rounding, "cpu-winograd");
  for (bool scaled : {false, true})
    checkKernel(BlockedBody{.kernel = 3, .pad = 1, .scaled = scaled}.source(), rounding,
                "cpu-winograd");
}

/// What is fused around: bias, ReLU and an addend behind; a body before the image, which must not
/// leak into the padding; results from the prologue.
TEST(Winograd, Bodies) {
  for (const KernelSource &source : convolutionBodies())
    checkKernel(source, rounding, "cpu-winograd");
}

/// An image that is computed while it is read, plain and in blocks of channels.
TEST(Winograd, ComputedImages) {
  for (const ConvolutionShapes &shapes : std::vector<ConvolutionShapes>{
           {{2, 32, 13, 11}, {48, 32, 3, 3}, {2, 48, 13, 11}, {1, 1}, {1, 1, 1, 1}, {1, 1}}})
    for (const KernelSource &source : convolutionImages(shapes)) {
      checkKernel(source, rounding, "cpu-winograd");
      checkKernel(withBlocks(source, shapes, Blocked::Both), rounding, "cpu-winograd");
    }
}

/// Segments that are whole, and that end with the image.
TEST(Winograd, Reductions) {
  for (const ConvolutionShapes &shapes : TransformShapes::List{
           {{2, 16, 13, 11}, {48, 16, 3, 3}, {2, 48, 13, 11}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
           {{3, 32, 16, 24}, {32, 32, 3, 3}, {3, 32, 16, 24}, {1, 1}, {1, 1, 1, 1}, {1, 1}}})
    for (const KernelSource &source : convolutionReductions(shapes))
      checkKernel(source, rounding, "cpu-winograd");
  const ConvolutionShapes shapes = {{2, 16, 13, 11}, {48, 16, 3, 3}, {2, 48, 13, 11},
                                    {1, 1},          {1, 1, 1, 1},   {1, 1}};
  for (const OtherElement &element : otherElements)
    if (element.name != std::string("f64"))
      for (const KernelSource &source : convolutionReductions(shapes, false, element.name)) {
        checkKernel(source, element.rounding + rounding, "cpu-winograd");
        checkReducesStored(source, 4e-6, "cpu-winograd"); // sums in f32
      }
}

// Transforms, and what gathers and transposes their tiles, know no size: another image, channels
// and batch call what is compiled already.
TEST(Winograd, TransformsAreRoutines) {
  const CpuTarget target = llvm::cantFail(CpuTarget::get("native"));
  const ConvolutionShapes small = {{2, 32, 24, 24}, {64, 32, 3, 3}, {2, 64, 24, 24},
                                   {1, 1},          {1, 1, 1, 1},   {1, 1}};
  const ConvolutionShapes large = {{3, 48, 32, 32}, {96, 48, 3, 3}, {3, 96, 32, 32},
                                   {1, 1},          {1, 1, 1, 1},   {1, 1}};
  for (int direction = 0; direction < 3; ++direction) {
    std::vector<SelectedKernel> kernels;
    for (const ConvolutionShapes &shapes : {small, large})
      kernels.push_back(CompiledTestKernel::select(convolutionKernels(shapes)[direction], "native",
                                                   "cpu-winograd"));
    CompileOptions options;
    options.cache = false;
    auto compiled = target.compile(kernels, options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    llvm::ArrayRef<std::string> first = compiled->front().objects,
                                second = compiled->back().objects;
    EXPECT_FALSE(first.front() == second.front());
    auto isShared = [&](const std::string &object) { return llvm::is_contained(first, object); };
    // The transposition, the gathering and three transforms; the multiplication's tile may differ.
    EXPECT_GE(llvm::count_if(second.drop_front(), isShared), 5) << direction;
  }
}

// What has no transform is left to others.
TEST(Winograd, Refuses) {
  expectRefusals(winogradRefusal);
  auto strided = [](int64_t size, int64_t stride) {
    ConvolutionProblem problem = transformProblem(size, size);
    problem.stride = {1, stride, stride};
    return winogradRefusal(problem);
  };
  EXPECT_EQ(strided(3, 2), "");
  EXPECT_EQ(strided(11, 4), "");
  EXPECT_EQ(strided(3, 3), "its stride is not 1, 2 or 4");
  EXPECT_EQ(strided(1, 2), "its filter is smaller than its stride");
  EXPECT_EQ(strided(2, 2), "a filter of 2x2 has no transform with its stride");
  EXPECT_EQ(winogradRefusal(transformProblem(2, 4)), "");
  EXPECT_EQ(winogradRefusal(transformProblem(7, 7)), "a filter of 7x7 has no transform");
  EXPECT_EQ(winogradRefusal(transformProblem(1, 1)), "a filter of 1x1 has no transform");
}

//===------------------------------------------------------------------------------------------===//
// Errors
//===------------------------------------------------------------------------------------------===//

// Against float64, uniform inputs in [-1, 1), 32 channels. An error grows with what the transforms
// multiply by before they subtract: the bounds are twice what was measured (Winograd.h).
// F(2x2, 3x3) errs less than a sum of one product after the other, as it sums fewer of them:
// --math=strict keeps it, but for the filter's gradient, where results would depend on more than
// their formula has. For the filter's gradient that is so from images of a few hundred pixels
// on: of 14x14, 0.96 of the error, of 28x28 0.9, of 56x56 0.44. Direct convolution sums by blocks,
// which errs less still.
TEST(Winograd, ErrorsAreBounded) {
  const ConvolutionShapes three = {{2, 32, 26, 30}, {64, 32, 3, 3}, {2, 64, 26, 30},
                                   {1, 1},          {1, 1, 1, 1},   {1, 1}};
  const ConvolutionShapes five = {{2, 32, 26, 30}, {64, 32, 5, 5}, {2, 64, 26, 30},
                                  {1, 1},          {2, 2, 2, 2},   {1, 1}};
  const char *directions[] = {"forward", "backward data", "backward filter"};
  for (int direction = 0; direction < 3; ++direction) {
    KernelSource small = convolutionKernels(three)[direction],
                 large = convolutionKernels(five)[direction];
    double inOrder = errorOf(small, "cpu-loops", ""),
           two = errorOf(small, "cpu-winograd", "winograd tile 2x2"),
           four = errorOf(small, "cpu-winograd", "winograd tile 4x4"),
           twoFive = errorOf(large, "cpu-winograd", "winograd tile 2x2"),
           fourFive = errorOf(large, "cpu-winograd", "winograd tile 4x4");
    EXPECT_LE(two, inOrder) << directions[direction];
    EXPECT_LE(four, 3e-6) << directions[direction];
    EXPECT_LE(twoFive, 4e-6) << directions[direction];
    EXPECT_LE(fourFive, 6e-6) << directions[direction];
  }
  // Of strides 4, 2 and 2: three, four and two taps of each phase.
  const TransformShapes::List strided = {
      {{2, 3, 110, 126}, {64, 3, 11, 11}, {2, 64, 26, 30}, {4, 4}, {1, 1, 1, 0}, {1, 1}},
      {{2, 8, 52, 60}, {64, 8, 7, 7}, {2, 64, 26, 30}, {2, 2}, {3, 2, 3, 2}, {1, 1}},
      {{2, 32, 52, 60}, {64, 32, 3, 3}, {2, 64, 26, 30}, {2, 2}, {1, 0, 1, 0}, {1, 1}}};
  for (const ConvolutionShapes &shapes : strided)
    for (const KernelSource &source : convolutionKernels(shapes)) {
      EXPECT_LE(errorOf(source, "cpu-winograd", "winograd tile 2x2"), 2e-6);
      EXPECT_LE(errorOf(source, "cpu-winograd", "winograd tile 4x4"), 4e-6);
    }
  for (const KernelSource &source : convolutionKernels(strided[2])) {
    EXPECT_LE(errorOf(source, "cpu-winograd", "winograd tile 3x3"), 8e-7);
    EXPECT_LE(errorOf(source, "cpu-winograd", "winograd tile 5x5"), 4e-6);
  }
}

// In 16 bits there are tiles of up to 8x8 outputs, or of 7x7 for filters of five taps: what they
// err by does not show beside what the result is rounded by.
TEST(Winograd, LargeTilesErrLessThanRounding) {
  const ConvolutionShapes three = {{2, 32, 26, 30}, {64, 32, 3, 3}, {2, 64, 26, 30},
                                   {1, 1},          {1, 1, 1, 1},   {1, 1}};
  const ConvolutionShapes five = {{2, 32, 26, 30}, {64, 32, 5, 5}, {2, 64, 26, 30},
                                  {1, 1},          {2, 2, 2, 2},   {1, 1}};
  auto check = [](const ConvolutionShapes &shapes, const char *element,
                  llvm::ArrayRef<const char *> tiles) {
    for (const KernelSource &source : convolutionKernels(shapes)) {
      const KernelSource narrow = inElement(source, element);
      const double inOrder = errorOf(narrow, "cpu-loops", "");
      for (const char *tile : tiles)
        EXPECT_LE(errorOf(narrow, "cpu-winograd", std::string("winograd tile ") + tile),
                  1.01 * inOrder)
            << tile << "\n"
            << narrow.moduleText();
    }
  };
  for (const char *element : {"bf16", "f16"})
    check(three, element, {"6x6", "7x7", "8x8"});
  check(five, "bf16", {"6x6", "7x7"});
  check(five, "f16", {"6x6"});
  const ConvolutionShapes four = {{2, 32, 27, 31}, {64, 32, 4, 4}, {2, 64, 26, 30},
                                  {1, 1},          {1, 1, 1, 1},   {1, 1}};
  check(four, "bf16", {"6x6", "7x7", "8x8"});
  check(four, "f16", {"6x6", "7x7"});
}
