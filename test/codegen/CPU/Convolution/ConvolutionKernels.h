//===- ConvolutionKernels.h - convolutions as kernels of one op ---------------------*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_CPU_CONVOLUTION_CONVOLUTIONKERNELS_H
#define DLC_TEST_CODEGEN_CPU_CONVOLUTION_CONVOLUTIONKERNELS_H

#include "codegen/CPU/Winograd/WinogradSchedule.h"
#include "test/codegen/Harness.h"
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace dlc::test {

struct ConvolutionShapes {
  std::vector<int> x, w, y;
  std::vector<int> strides, padding, dilations;
  int groups = 1;
};

/// What all transforms run: stride and dilation 1, one group.
struct TransformShapes {
  using List = std::vector<ConvolutionShapes>;

  inline static const List square = {
      {{3, 5, 13, 13}, {20, 5, 3, 3}, {3, 20, 13, 13}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{2, 20, 12, 12}, {50, 20, 5, 5}, {2, 50, 8, 8}, {1, 1}, {0, 0, 0, 0}, {1, 1}}};
  /// Images smaller than a tile, rows of several segments, and a batch of more than one block.
  inline static const List images = {
      {{2, 6, 5, 3}, {18, 6, 3, 3}, {2, 18, 3, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {{2, 3, 6, 71}, {4, 3, 3, 3}, {2, 4, 6, 71}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{9, 16, 23, 22}, {32, 16, 3, 3}, {9, 32, 23, 22}, {1, 1}, {1, 1, 1, 1}, {1, 1}}};
  inline static const List paddingPerSide = {
      {{2, 3, 6, 7}, {5, 3, 3, 3}, {2, 5, 7, 8}, {1, 1}, {2, 1, 0, 3}, {1, 1}},
      {{2, 3, 4, 4}, {5, 3, 3, 3}, {2, 5, 9, 9}, {1, 1}, {4, 3, 3, 4}, {1, 1}}};
  /// Filters that are no squares; one axis.
  inline static const List oblong = {
      {{2, 4, 9, 11}, {6, 4, 3, 5}, {2, 6, 9, 11}, {1, 1}, {1, 1, 2, 2}, {1, 1}},
      {{2, 4, 9, 11}, {6, 4, 1, 3}, {2, 6, 9, 11}, {1, 1}, {0, 0, 1, 1}, {1, 1}},
      {{2, 4, 9, 11}, {6, 4, 3, 1}, {2, 6, 9, 11}, {1, 1}, {1, 1, 0, 0}, {1, 1}},
      {{2, 4, 40}, {20, 4, 5}, {2, 20, 40}, {1}, {2, 2}, {1}}};
  /// Chunks of channels, and parts of the batch.
  inline static const List blocks = {
      {{4, 70, 28, 28}, {100, 70, 3, 3}, {4, 100, 28, 28}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{1, 260, 6, 6}, {140, 260, 3, 3}, {1, 140, 6, 6}, {1, 1}, {1, 1, 1, 1}, {1, 1}}};
};

inline std::string numberList(const std::vector<int> &numbers, const char *separator) {
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? separator : "") + std::to_string(numbers[i]);
  return text;
}

/// A row-major tensor.
inline std::string tensorType(const std::vector<int> &shape) {
  return "tensor<" + numberList(shape, "x") + "xf32>";
}

/// One whose channels stand in blocks of 16; `last`: a pixel's blocks one behind the other.
inline std::string blockedType(const std::vector<int> &shape, bool last = false,
                               const std::string &element = "f32") {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  if (last)
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return "tensor<" + numberList(shape, "x") + "x" + element + ", #program.layout<order = [" +
         numberList(order, ", ") + "], blocks = [1, 16]>>";
}

/// Which images of a convolution stand in blocks of channels.
enum class Blocked { X, Y, Both };

/// The kernel with x or y or both in blocks, converted at its borders as regions are.
inline KernelSource withBlocks(KernelSource source, const ConvolutionShapes &s, Blocked blocked,
                               bool last = false) {
  auto replaceAll = [](std::string &text, const std::string &from, const std::string &to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  std::vector<std::vector<int>> shapes;
  if (blocked != Blocked::Y)
    shapes.push_back(s.x);
  if (blocked != Blocked::X && s.y != s.x)
    shapes.push_back(s.y);
  std::string &block = source.block;
  const size_t begin = block.find("):\n") + 3;
  std::string arguments = block.substr(0, begin), body = block.substr(begin), converts;
  for (const std::vector<int> &shape : shapes) {
    const std::string plain = tensorType(shape), inBlocks = blockedType(shape, last);
    for (size_t at = arguments.find(plain); at != std::string::npos;
         at = arguments.find(plain, at + inBlocks.size())) {
      const size_t name = arguments.rfind('%', at);
      const std::string operand = arguments.substr(name, at - name - 2);
      replaceAll(body, operand + ",", operand + "_,"),
          replaceAll(body, operand + " ", operand + "_ ");
      converts += "  " + operand + "_ = dl.convert_layout " + operand + " : " + inBlocks + " to " +
                  plain + "\n";
      arguments.replace(at, plain.size(), inBlocks);
    }
    const std::string yield = "  dl.yield %", tail = " : " + plain;
    if (source.results == plain) {
      const size_t at = body.find(yield), name = at + yield.size();
      const std::string result = body.substr(name, body.find(' ', name) - name);
      body = body.substr(0, at) + "  %stored = dl.convert_layout %" + result + " : " + plain +
             " to " + inBlocks + "\n  dl.yield %stored : " + inBlocks;
      source.results = inBlocks;
    }
    replaceAll(source.operands, plain, inBlocks);
  }
  block = arguments + converts + body;
  return source;
}

/// Forward, backward data, backward filter.
inline std::array<KernelSource, 3> convolutionKernels(const ConvolutionShapes &s) {
  auto type = tensorType;
  auto source = [](const std::string &op, const std::string &a, const std::string &b,
                   const std::string &c, const std::string &types) -> KernelSource {
    return {a + ", " + b, c,
            "^bb0(%a: " + a + ", %b: " + b + "):\n  %c = " + op + types + "\n  dl.yield %c : " + c};
  };
  std::string attributes = " strides = [" + numberList(s.strides, ", ") + "] padding = [" +
                           numberList(s.padding, ", ") + "] dilations = [" +
                           numberList(s.dilations, ", ") +
                           "] groups = " + std::to_string(s.groups) + " : ";
  std::string x = type(s.x), w = type(s.w), y = type(s.y);
  return {source("dl.convolution %a, %b" + attributes, x, w, y, x + ", " + w),
          source("dl.convolution_backward_data %a, %b" + attributes, y, w, x,
                 y + ", " + w + " to " + x),
          source("dl.convolution_backward_filter %a, %b" + attributes, x, y, w,
                 x + ", " + y + " to " + w)};
}

/// The kernel, of a convolution that gives %c, with its ReLU stored instead, if it is to have one,
/// behind it the moments of what is stored, and a sum with an addend for each channel, both in f32.
/// `shape`: of the result, which has that element.
inline KernelSource withReductions(KernelSource source, const std::vector<int> &shape,
                                   const std::string &element = "f32", bool relu = true) {
  const std::string single = tensorType(shape), stored = source.results;
  const std::string plain = "tensor<" + numberList(shape, "x") + "x" + element + ">";
  const std::string result = relu ? "%relu" : "%c";
  const std::string reduced = element == "f32" ? result : "%single";
  const std::string kept = "tensor<" + std::to_string(shape[1]) + "xf32>";
  const bool isPlain = stored == plain;
  std::string &block = source.block;
  block =
      block.substr(0, block.find(isPlain ? "  dl.yield" : "  %stored")) +
      (relu ? "  %relu = dl.relu %c : " + plain : "") +
      (isPlain ? ""
               : "\n  %stored = dl.convert_layout " + result + " : " + plain + " to " + stored) +
      (element == "f32" ? ""
                        : "\n  %single = dl.cast " + result + " : " + plain + " to " + single) +
      "\n  %moments:2 = dl.moments " + reduced + " axes = [0, 2, 3] : " + single +
      "\n  %total = dl.reduce sum " + reduced + " axes = [0, 2, 3] : " + single +
      "\n  %shifted = dl.add %total, %each : " + kept + "\n  dl.yield " +
      (isPlain ? result : "%stored") + ", %moments#0, %moments#1, %shifted : " + stored + ", " +
      kept + ", " + kept + ", " + kept;
  block.insert(block.find("):"), ", %each: " + kept);
  source.operands += ", " + kept;
  source.results += ", " + kept + ", " + kept + ", " + kept;
  return source;
}

/// Convolutions of blocks of channels with reductions behind: forward, backward data.
inline std::array<KernelSource, 2> convolutionReductions(const ConvolutionShapes &s,
                                                         bool last = false,
                                                         const std::string &element = "f32",
                                                         bool relu = true) {
  auto kernels = convolutionKernels(s);
  auto inBlocks = [&](const KernelSource &source) {
    return inElement(withBlocks(source, s, Blocked::Both, last), element);
  };
  return {withReductions(inBlocks(kernels[0]), s.y, element, relu),
          withReductions(inBlocks(kernels[1]), s.x, element, relu)};
}

/// The same without a cast, and of that kind in place of the sum: also what is reduced, and the
/// reductions' results, have the element.
inline std::array<KernelSource, 2>
uncastReductions(const ConvolutionShapes &s, const std::string &element, const std::string &kind) {
  auto kernels = convolutionReductions(s);
  for (KernelSource &source : kernels) {
    const std::string sum = "dl.reduce sum";
    source.block.replace(source.block.find(sum), sum.size(), "dl.reduce " + kind);
    source = inElement(source, element);
  }
  return kernels;
}

/// Of a kernel of convolutionReductions() in 16 bits: that what it reduces are the numbers as they
/// are stored. Those before they were rounded have other sums, by more than `rounding`.
inline void checkReducesStored(const KernelSource &source, double rounding,
                               const std::string &generator) {
  SCOPED_TRACE(source.moduleText());
  CompiledTestKernel kernel(source, "native", generator);
  ASSERT_TRUE(kernel);
  const std::vector<Tensor> inputs = kernel.randomInputs(), results = kernel.run(inputs),
                            unrounded = kernel.oracle(inputs);
  const Tensor &stored = results[0];
  Tensor mean = Tensor::filled(results[1].shape, 0), m2 = mean, shifted = inputs.back();
  const double count = double(stored.size()) / double(mean.size());
  interpreter::forEachIndex(stored.shape, [&](const interpreter::Index &index) {
    mean.at({index[1]}) += stored.at(index) / count;
    shifted.at({index[1]}) += stored.at(index);
  });
  interpreter::forEachIndex(stored.shape, [&](const interpreter::Index &index) {
    m2.at({index[1]}) += std::pow(stored.at(index) - mean.at({index[1]}), 2);
  });
  int number = 1;
  for (const Tensor &expected : {mean, m2, shifted}) {
    EXPECT_LT(relativeError(results[number], expected), rounding) << number;
    EXPECT_GT(relativeError(unrounded[number], expected), rounding) << number;
    ++number;
  }
}

/// 3x3 with what is fused around: forward, a prologue before the image, a bias, an addend and ReLU
/// behind; the filter's gradient, a masked gradient that is a result too, and an addend.
inline std::array<KernelSource, 2> convolutionBodies() {
  return {KernelSource{
              "tensor<2x6x9x9xf32>, tensor<18x6x3x3xf32>, tensor<18xf32>, tensor<2x18x9x9xf32>",
              "tensor<2x18x9x9xf32>", R"(
^bb0(%x: tensor<2x6x9x9xf32>, %w: tensor<18x6x3x3xf32>, %b: tensor<18xf32>,
     %r: tensor<2x18x9x9xf32>):
  %e = dl.exp %x : tensor<2x6x9x9xf32>
  %c = dl.convolution %e, %w strides = [1, 1] padding = [1, 1, 1, 1] dilations = [1, 1] groups = 1
    : tensor<2x6x9x9xf32>, tensor<18x6x3x3xf32>
  %bias = dl.broadcast %b dims = [1] : tensor<18xf32> to tensor<2x18x9x9xf32>
  %z = dl.add %c, %bias : tensor<2x18x9x9xf32>
  %a = dl.add %z, %r : tensor<2x18x9x9xf32>
  %y = dl.relu %a : tensor<2x18x9x9xf32>
  dl.yield %y : tensor<2x18x9x9xf32>)"},
          KernelSource{
              "tensor<3x5x9x9xf32>, tensor<3x7x9x9xf32>, tensor<3x7x9x9xf32>, tensor<7x5x3x3xf32>",
              "tensor<7x5x3x3xf32>, tensor<3x7x9x9xf32>", R"(
^bb0(%x: tensor<3x5x9x9xf32>, %dy: tensor<3x7x9x9xf32>, %y: tensor<3x7x9x9xf32>,
     %w: tensor<7x5x3x3xf32>):
  %zero = dl.constant dense<0.0> : tensor<3x7x9x9xf32>
  %on = dl.compare gt %y, %zero : tensor<3x7x9x9xf32>
  %m = dl.select %on, %dy, %zero : tensor<3x7x9x9xf32>
  %g = dl.convolution_backward_filter %x, %m strides = [1, 1] padding = [1, 1, 1, 1]
    dilations = [1, 1] groups = 1 : tensor<3x5x9x9xf32>, tensor<3x7x9x9xf32> to tensor<7x5x3x3xf32>
  %d = dl.add %g, %w : tensor<7x5x3x3xf32>
  dl.yield %d, %m : tensor<7x5x3x3xf32>, tensor<3x7x9x9xf32>)"}};
}

/// Kernels that compute the image they read, which dl-join-prologues makes: scaled, shifted, and
/// what the padding would not be if it were read so. Forward, the filter's gradient, and a mask of
/// it behind the image's gradient.
inline std::array<KernelSource, 3> convolutionImages(const ConvolutionShapes &s) {
  const std::string x = tensorType(s.x), each = "tensor<" + std::to_string(s.x[1]) + "xf32>";
  auto withImage = [&](KernelSource source, const std::string &from, const std::string &image) {
    const size_t anchor = source.block.find("  %c");
    std::string text = "  %s = dl.broadcast %scale dims = [1] : " + each + " to " + x +
                       "\n  %t = dl.broadcast %shift dims = [1] : " + each + " to " + x +
                       "\n  %m = dl.multiply " + from + ", %s : " + x +
                       "\n  %n = dl.add %m, %t : " + x + "\n  " + image + " = dl.exp %n : " + x +
                       "\n";
    source.block.insert(anchor, text);
    source.block.insert(source.block.find("):"), ", %scale: " + each + ", %shift: " + each);
    source.operands += ", " + each + ", " + each;
    return source;
  };
  std::array<KernelSource, 3> kernels = convolutionKernels(s);
  for (int direction : {0, 2}) {
    std::string &block = kernels[direction].block;
    block.replace(block.find("%a, %b strides"), 2, "%i");
    kernels[direction] = withImage(kernels[direction], "%a", "%i");
  }
  KernelSource &masked = kernels[1];
  masked.block.insert(masked.block.find("):"), ", %p: " + x);
  masked.operands += ", " + x;
  masked = withImage(masked, "%p", "%i");
  masked.block = masked.block.substr(0, masked.block.find("  dl.yield")) +
                 "  %one = dl.constant dense<1.0> : " + x +
                 "\n  %on = dl.compare gt %i, %one : " + x +
                 "\n  %q = dl.select %on, %c, %one : " + x + "\n  dl.yield %q : " + x;
  return kernels;
}

/// For transforms of 3x3: images that are computed, reductions of the result by one block a channel
/// and by several, and both.
inline std::array<KernelSource, 6> imagesAndReductions() {
  const ConvolutionShapes small = {{3, 5, 13, 11}, {6, 5, 3, 3}, {3, 6, 13, 11},
                                   {1, 1},         {1, 1, 1, 1}, {1, 1}},
                          large = {{9, 2, 19, 28}, {4, 2, 3, 3}, {9, 4, 19, 28},
                                   {1, 1},         {1, 1, 1, 1}, {1, 1}};
  const auto images = convolutionImages(small);
  return {images[0],
          images[1],
          images[2],
          withReductions(images[0], small.y),
          withReductions(convolutionKernels(small)[1], small.x),
          withReductions(convolutionKernels(large)[0], large.y)};
}

/// Bodies before and behind: a scaled image, one in blocks; a bias, an addend in blocks and one
/// without, ReLU, its mask.
struct BlockedBody {
  int kernel = 1, stride = 1, pad = 0;
  bool scaled = false, plainAddend = false;
  bool last = false;

  KernelSource source() const {
    const int extent = 11, out = (extent + 2 * pad - kernel) / stride + 1;
    const std::vector<int> x = {2, 32, extent, extent}, y = {2, 48, out, out};
    const std::string w = tensorType({48, 32, kernel, kernel}), bx = blockedType(x, last),
                      by = blockedType(y, last), px = tensorType(x), py = tensorType(y),
                      addend = plainAddend ? py : by,
                      mask = "tensor<" + numberList(y, "x") + "xi1>",
                      blockedMask = blockedType(y, last, "i1");
    auto four = [](int number) {
      return "[" + numberList({number, number, number, number}, ", ") + "]";
    };
    auto two = [](int number) { return "[" + numberList({number, number}, ", ") + "]"; };
    std::string text = "^bb0(%p: " + bx + ", %w: " + w + ", %b: tensor<48xf32>, %r: " + addend +
                       ", %s: tensor<32xf32>):\n  %x = dl.convert_layout %p : " + bx + " to " + px +
                       "\n  %a = dl.convert_layout %r : " + addend + " to " + py + "\n";
    if (scaled)
      text += "  %scale = dl.broadcast %s dims = [1] : tensor<32xf32> to " + px +
              "\n  %m = dl.multiply %x, %scale : " + px + "\n  %i = dl.exp %m : " + px + "\n";
    text += "  %c = dl.convolution %" + std::string(scaled ? "i" : "x") +
            ", %w strides = " + two(stride) + " padding = " + four(pad) +
            " dilations = [1, 1] groups = 1 : " + px + ", " + w +
            "\n  %bias = dl.broadcast %b dims = [1] : tensor<48xf32> to " + py +
            "\n  %z = dl.add %c, %bias : " + py + "\n  %q = dl.add %z, %a : " + py +
            "\n  %y = dl.relu %q : " + py + "\n  %zero = dl.constant dense<0.0> : " + py +
            "\n  %on = dl.compare gt %y, %zero : " + py + "\n  %t = dl.convert_layout %y : " + py +
            " to " + by + "\n  %u = dl.convert_layout %on : " + mask + " to " + blockedMask +
            "\n  dl.yield %t, %u : " + by + ", " + blockedMask;
    return {bx + ", " + w + ", tensor<48xf32>, " + addend + ", tensor<32xf32>",
            by + ", " + blockedMask, text};
  }
};

/// A problem of the data directions that transforms run, with a filter of the extents given.
inline codegen::ConvolutionProblem transformProblem(int64_t rows, int64_t cols) {
  codegen::ConvolutionProblem problem;
  problem.input = problem.output = {1, 28, 28};
  problem.kernel = {1, rows, cols};
  return problem;
}

/// What no transform runs, whatever its size.
inline void expectRefusals(std::string (*refusal)(const codegen::ConvolutionProblem &)) {
  const codegen::ConvolutionProblem good = transformProblem(3, 3);
  codegen::ConvolutionProblem dilated = good, grouped = good, deep = good;
  dilated.dilation = {1, 2, 1};
  grouped.groups = 2;
  deep.input[0] = deep.output[0] = 4;
  codegen::ConvolutionProblem wide = good, narrow = good;
  wide.storedBytes = wide.elementBytes = 8;
  narrow.storedBytes = 2;
  EXPECT_EQ(refusal(good), "");
  EXPECT_EQ(refusal(dilated), "its dilation is not 1");
  EXPECT_EQ(refusal(grouped), "it has 2 groups");
  EXPECT_EQ(refusal(deep), "it has three spatial dimensions");
  EXPECT_EQ(refusal(wide), "transforms compute in float32");
  EXPECT_EQ(refusal(narrow), "");
}

/// Uniform in [-1, 1).
inline std::vector<double> randomNumbers(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> numbers(count);
  for (double &number : numbers)
    number = std::uniform_real_distribution<double>(-1, 1)(random);
  return numbers;
}

/// Root of the mean squared difference, as part of the root of the mean square.
inline double meanError(const Tensor &a, const Tensor &b) {
  double difference = 0, size = 0;
  for (auto [x, y] : llvm::zip_equal(a.values, b.values)) {
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return std::sqrt(difference / size);
}

/// Of the candidate whose schedule begins with `schedule`.
inline double errorOf(const KernelSource &source, const std::string &generator,
                      const std::string &schedule) {
  for (auto [number, candidate] :
       llvm::enumerate(CompiledTestKernel::offered(source, "native", generator))) {
    if (!llvm::StringRef(candidate.schedule).starts_with(schedule))
      continue;
    CompiledTestKernel kernel(source, "native", generator, number);
    if (!kernel)
      break;
    std::vector<Tensor> inputs = kernel.randomInputs();
    return meanError(kernel.run(inputs)[0], kernel.oracle(inputs)[0]);
  }
  ADD_FAILURE() << "no " << schedule << " for\n" << source.moduleText();
  return 0;
}

} // namespace dlc::test

#endif
