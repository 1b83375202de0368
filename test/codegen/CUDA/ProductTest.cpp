//===- ProductTest.cpp - CUDA products, convolutions and updates on the SIMT device -----------===//
#include "test/codegen/CPU/Convolution/ConvolutionKernels.h"
#include "test/codegen/Updates.h"

using namespace dlc::test;

// Sums of up to some thousand products.
static const double rounding = 3e-6;

static KernelSource product(int64_t batch, int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
  auto type = [&](int64_t rows, int64_t columns) {
    return "tensor<" + std::to_string(batch) + "x" + std::to_string(rows) + "x" +
           std::to_string(columns) + "xf32>";
  };
  const std::string a = ta ? type(k, m) : type(m, k), b = tb ? type(n, k) : type(k, n),
                    c = type(m, n), bias = "tensor<" + std::to_string(n) + "xf32>";
  return {a + ", " + b + ", " + bias, c,
          "^bb0(%a: " + a + ", %b: " + b + ", %v: " + bias + "):\n %0 = dl.matmul %a, %b" +
              (ta ? " transpose_a" : "") + (tb ? " transpose_b" : "") + " : " + a + ", " + b +
              "\n %1 = dl.broadcast %v dims = [2] : " + bias + " to " + c +
              "\n %2 = dl.add %0, %1 : " + c + "\n %3 = dl.relu %2 : " + c +
              "\n dl.yield %3 : " + c};
}

/// All transpositions, tails in every direction, rows with and without whole quads, a k that is
/// split.
TEST(CudaProduct, Matmul) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      checkCudaKernel(product(1, 37, 70, 19, ta, tb), rounding, "cuda-product");
      checkCudaKernel(product(2, 20, 36, 44, ta, tb), rounding, "cuda-product");
    }
  checkCudaKernel(product(1, 5, 7, 1030, false, true), rounding, "cuda-product");
  checkCudaKernel(product(1, 70, 130, 1, true, false), rounding, "cuda-product");
  checkCudaKernel(product(3, 5, 4, 0, false, false), rounding, "cuda-product");
  checkCudaKernel(product(3, 5, 4, 7, true, false), rounding, "cuda-elements");
}

/// A result that does not need the product is stored with those that do, where it has an element
/// for each of theirs: also behind sums that are split, and behind a convolution.
TEST(CudaProduct, ResultsInFront) {
  for (const char *k : {"19", "1030"}) {
    const std::string a = "tensor<12x" + std::string(k) + "xf32>",
                      b = "tensor<" + std::string(k) + "x21xf32>", c = "tensor<12x21xf32>";
    checkCudaKernel({a + ", " + b + ", " + c, c + ", " + c,
                     "^bb0(%a: " + a + ", %b: " + b + ", %r: " + c +
                         "):\n %0 = dl.matmul %a, %b : " + a + ", " + b +
                         "\n %1 = dl.exp %r : " + c + "\n %2 = dl.subtract %0, %1 : " + c +
                         "\n dl.yield %1, %2 : " + c + ", " + c},
                    rounding, "cuda-product");
  }
  checkCudaKernel({"tensor<2x3x8x8xf32>, tensor<5x3x3x3xf32>, tensor<2x5x6x6xf32>",
                   "tensor<2x5x6x6xf32>, tensor<2x5x6x6xf32>", R"(
^bb0(%x: tensor<2x3x8x8xf32>, %w: tensor<5x3x3x3xf32>, %r: tensor<2x5x6x6xf32>):
  %0 = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1
    : tensor<2x3x8x8xf32>, tensor<5x3x3x3xf32>
  %1 = dl.exp %r : tensor<2x5x6x6xf32>
  %2 = dl.subtract %0, %1 : tensor<2x5x6x6xf32>
  dl.yield %1, %2 : tensor<2x5x6x6xf32>, tensor<2x5x6x6xf32>)"},
                  rounding, "cuda-product");
}

namespace {
struct Convolution {
  std::string x, w, y, attributes;
};
} // namespace

static const Convolution convolutions[] = {
    {"3x3x12x11", "5x3x5x5", "3x5x8x7",
     "strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1"},
    {"2x4x9x8", "6x2x3x2", "2x6x4x9",
     "strides = [2, 1] padding = [1, 0, 2, 1] dilations = [1, 2] groups = 2"},
    {"2x3x17", "4x3x3", "2x4x8", "strides = [2] padding = [0, 0] dilations = [1] groups = 1"},
    {"1x2x5x6x7", "3x2x2x3x3", "1x3x4x6x7",
     "strides = [1, 1, 1] padding = [0, 0, 1, 1, 1, 1] dilations = [1, 1, 1] groups = 1"},
    // Many pixels for few weights: the filter's gradient is split.
    {"9x1x28x28", "4x1x5x5", "9x4x24x24",
     "strides = [1, 1] padding = [0, 0, 0, 0] dilations = [1, 1] groups = 1"},
};

/// Three directions; groups, strides, dilation, padding per side; one to three axes.
TEST(CudaProduct, Convolution) {
  for (const Convolution &c : convolutions) {
    const std::string x = "tensor<" + c.x + "xf32>", w = "tensor<" + c.w + "xf32>",
                      y = "tensor<" + c.y + "xf32>";
    for (const char *generator : {"cuda-product", "cuda-elements"}) {
      if (c.x[0] == '9' && std::string(generator) == "cuda-elements")
        continue;
      checkCudaKernel({x + ", " + w, y,
                       "^bb0(%x: " + x + ", %w: " + w + "):\n %0 = dl.convolution %x, %w " +
                           c.attributes + " : " + x + ", " + w + "\n %1 = dl.relu %0 : " + y +
                           "\n dl.yield %1 : " + y},
                      rounding, generator);
      checkCudaKernel({y + ", " + w, x,
                       "^bb0(%d: " + y + ", %w: " + w +
                           "):\n %0 = dl.convolution_backward_data %d, %w " + c.attributes + " : " +
                           y + ", " + w + " to " + x + "\n dl.yield %0 : " + x},
                      rounding, generator);
      checkCudaKernel({x + ", " + y, w,
                       "^bb0(%x: " + x + ", %d: " + y +
                           "):\n %0 = dl.convolution_backward_filter %x, %d " + c.attributes +
                           " : " + x + ", " + y + " to " + w + "\n dl.yield %0 : " + w},
                      rounding, generator);
    }
  }
}

/// Strides, odd sizes, groups; many channels for few pixels, whose sums are split, and many pixels.
static const ConvolutionShapes imageShapes[] = {
    {{3, 5, 13, 11}, {6, 5, 3, 3}, {3, 6, 13, 11}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {{2, 8, 12, 9}, {70, 4, 3, 3}, {2, 70, 6, 5}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 2},
    {{2, 6, 9, 7}, {4, 6, 1, 1}, {2, 4, 9, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
    {{2, 260, 5, 6}, {9, 260, 1, 3}, {2, 9, 5, 6}, {1, 1}, {0, 0, 1, 1}, {1, 1}},
    {{5, 1, 24, 24}, {4, 1, 5, 5}, {5, 4, 20, 20}, {1, 1}, {0, 0, 0, 0}, {1, 1}}};

/// What dl-join-prologues makes: images that are computed where they are read, and not in the
/// padding; in front of the filter's gradient, and of a mask behind the image's.
TEST(CudaProduct, Images) {
  for (const ConvolutionShapes &shapes : imageShapes)
    for (const KernelSource &source : convolutionImages(shapes))
      checkCudaKernel(source, rounding, "cuda-product");
}

/// What dl-join-reductions makes, with tiles of all sizes and with sums that are split, and with an
/// image that is computed, too.
TEST(CudaProduct, Reductions) {
  // Images of exp have means that are larger than the deviations from them, which err as they do.
  const double ofImages = 5e-6;
  unsigned split = 0;
  for (const ConvolutionShapes &shapes : imageShapes) {
    const auto kernels = convolutionKernels(shapes);
    const KernelSource forward = withReductions(kernels[0], shapes.y);
    const unsigned candidates = checkCudaKernel(forward, rounding, "cuda-product");
    for (unsigned number = 1; number < candidates; ++number)
      checkCudaKernel(forward, rounding, "cuda-product", number);
    checkCudaKernel(withReductions(kernels[1], shapes.x), rounding, "cuda-product");
    checkCudaKernel(withReductions(convolutionImages(shapes)[0], shapes.y), ofImages,
                    "cuda-product");
    const dlc::codegen::SelectedKernel first =
        CompiledTestKernel::select(forward, "cuda:simt", "cuda-product");
    split += !llvm::StringRef(first.candidate.schedule).ends_with("split 1");
  }
  EXPECT_GT(split, 0u);
}

/// A mean that is large beside the deviations: Chan's formula merges threads, tiles and parts.
TEST(CudaProduct, MomentsOfLargeMean) {
  const std::string x = "tensor<4x1x30x30xf32>", w = "tensor<1x1x1x1xf32>", m = "tensor<1xf32>";
  CompiledTestKernel kernel(
      {x + ", " + w, x + ", " + m + ", " + m,
       "^bb0(%x: " + x + ", %w: " + w +
           "):\n %0 = dl.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilations = "
           "[1, 1] groups = 1 : " +
           x + ", " + w + "\n %m:2 = dl.moments %0 axes = [0, 2, 3] : " + x +
           "\n dl.yield %0, %m#0, %m#1 : " + x + ", " + m + ", " + m},
      "cuda:simt", "cuda-product");
  ASSERT_TRUE(kernel);
  std::vector<Tensor> inputs = kernel.randomInputs();
  for (double &value : inputs[0].values)
    value = float(4096 + value);
  inputs[1].values[0] = 1;
  const std::vector<Tensor> outputs = kernel.run(inputs), expected = kernel.oracle(inputs);
  EXPECT_LE(relativeError(outputs[1], expected[1]), 1e-7);
  // Deviations of up to 1 from values whose last bit is 2^-12 of them.
  EXPECT_LE(relativeError(outputs[2], expected[2]), 1e-4);
}

/// Tensors of all sizes in flat buffers with multipliers of their own; the gaps between tensors
/// stay as they were.
TEST(CudaMultiTensor, Momentum) {
  const std::string types = "tensor<5xf32>, tensor<3x9001xf32>, tensor<1xf32>, tensor<5xf32>, "
                            "tensor<3x9001xf32>, tensor<1xf32>";
  const std::string results = "tensor<5xf32>, tensor<3x9001xf32>, tensor<1xf32>";
  const std::vector<int64_t> sizes = {5, 27003, 1}, starts = {0, 16, 27024};
  const std::string each = ", tensor<3xf32>, tensor<3xf32>, tensor<f32>";
  CompiledTestKernel kernel({types + each, results,
                             R"(
^bb0(%p0: tensor<5xf32>, %p1: tensor<3x9001xf32>, %p2: tensor<1xf32>, %g0: tensor<5xf32>,
    %g1: tensor<3x9001xf32>, %g2: tensor<1xf32>, %lrs: tensor<3xf32>, %decays: tensor<3xf32>,
    %lr: tensor<f32>):
  %r:3 = dl.multi_tensor(%p0, %p1, %p2, %g0, %g1, %g2) each(%lrs, %decays) scalars(%lr)
      {streams = 2 : i64} : ()" + types +
                                 each + ") -> (" + results + R"() {
  ^bb0(%p: tensor<f32>, %g: tensor<f32>, %a: tensor<f32>, %b: tensor<f32>, %s: tensor<f32>):
    %0 = dl.multiply %b, %p : tensor<f32>
    %1 = dl.add %g, %0 : tensor<f32>
    %3 = dl.multiply %s, %a : tensor<f32>
    %4 = dl.multiply %3, %1 : tensor<f32>
    %5 = dl.subtract %p, %4 : tensor<f32>
    dl.yield %5 : tensor<f32>
  }
  dl.yield %r#0, %r#1, %r#2 : )" +
                                 results},
                            "cuda:simt", "cuda-multi-tensor");
  ASSERT_TRUE(kernel);
  std::vector<Tensor> inputs = kernel.randomInputs();
  inputs[2].values = {1.0, 2.0, 4.0};
  inputs[3].values = {0.5, 0.25, 0.0};
  inputs[4].values[0] = 0.125;
  inputs[5].values = piecesOf(sizes);
  std::vector<Tensor> outputs = kernel.run(inputs);
  const double lr[] = {1.0, 2.0, 4.0}, decay[] = {0.5, 0.25, 0.0};
  std::vector<bool> covered(outputs[0].values.size(), false);
  for (int tensor = 0; tensor < 3; ++tensor)
    for (int64_t i = starts[tensor]; i < starts[tensor] + sizes[tensor]; ++i) {
      covered[i] = true;
      float p = inputs[0].values[i], g = inputs[1].values[i];
      ASSERT_NEAR(outputs[0].values[i], p - 0.125 * lr[tensor] * (g + decay[tensor] * p), 1e-6)
          << i;
    }
  // The harness poisons results: bytes 0xcb.
  for (size_t i = 0; i < covered.size(); ++i)
    if (!covered[i])
      ASSERT_LT(outputs[0].values[i], -2e7) << "wrote between tensors at " << i;
}

TEST(CudaMultiTensor, SumsOverTensors) { checkSums("cuda:simt", /*tolerance=*/2e-6); }

TEST(CudaMultiTensor, NumbersElements) { checkNumberedUpdate("cuda:simt"); }

TEST(CudaMultiTensor, CountsBeyond24Bits) { checkCountingUpdate("cuda:simt"); }

/// What dl-join-product-gradients makes, should the library not take it: sums beside the product.
TEST(CudaProduct, GradientEpilogues) {
  const std::string a = "tensor<7x5xf32>", b = "tensor<7x131xf32>", c = "tensor<5x131xf32>";
  checkCudaKernel({a + ", " + b, c + ", tensor<5xf32>, tensor<131xf32>",
                   "^bb0(%a: " + a + ", %b: " + b + "):\n %0 = dl.matmul %a, %b transpose_a : " +
                       a + ", " + b + "\n %1 = dl.reduce sum %a axes = [0] : " + a +
                       "\n %2 = dl.reduce sum %b axes = [0] : " + b +
                       "\n dl.yield %0, %1, %2 : " + c + ", tensor<5xf32>, tensor<131xf32>"},
                  rounding, "cuda-elements");
}
