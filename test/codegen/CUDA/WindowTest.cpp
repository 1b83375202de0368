//===- WindowTest.cpp - CUDA pooling and its gradients on the SIMT device ---------------------===//
#include "test/codegen/Harness.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace dlc::test;

static const double rounding = 1e-6;

namespace {
/// A pooling problem: sizes as text.
struct Pool {
  std::string x, y, kernel, strides, padding, dilations;
  std::string attributes() const {
    return " kernel = [" + kernel + "] strides = [" + strides + "] padding = [" + padding +
           "] dilations = [" + dilations + "]";
  }
};
} // namespace

static const Pool pools[] = {
    {"2x5x14x13", "2x5x7x6", "2, 2", "2, 2", "0, 0, 0, 0", "1, 1"},
    {"1x4x13x15", "1x4x7x8", "3, 3", "2, 2", "1, 1, 0, 1", "1, 1"},
    {"2x2x10x37", "2x2x6x33", "3, 5", "1, 1", "0, 0, 2, 2", "2, 2"},
    // Ceil mode: the last windows hang over the input.
    {"1x3x10x10", "1x3x5x5", "3, 3", "2, 2", "0, 0, 0, 0", "1, 1"},
    {"1x2x4x6x7", "1x2x2x3x3", "2, 2, 3", "2, 2, 2", "0, 0, 0, 0, 0, 0", "1, 1, 1"},
};

TEST(CudaWindow, All) {
  for (const Pool &p : pools) {
    const std::string x = "tensor<" + p.x + "xf32>", y = "tensor<" + p.y + "xf32>",
                      i = "tensor<" + p.y + "xui8>";
    checkCudaKernel({x, y + ", " + i,
                     "^bb0(%x: " + x + "):\n %y, %i = dl.max_pool %x" + p.attributes() + " : " + x +
                         " -> " + y + ", " + i + "\n dl.yield %y, %i : " + y + ", " + i},
                    0, "cuda-window");
    for (std::string padding : {"", " count_include_pad"}) {
      checkCudaKernel({x, y,
                       "^bb0(%x: " + x + "):\n %y = dl.average_pool %x" + p.attributes() + padding +
                           " : " + x + " -> " + y + "\n dl.yield %y : " + y},
                      rounding, "cuda-window");
      checkCudaKernel({y, x,
                       "^bb0(%d: " + y + "):\n %x = dl.average_pool_backward %d" + p.attributes() +
                           padding + " : " + y + " to " + x + "\n dl.yield %x : " + x},
                      rounding, "cuda-window");
    }
    // The gradient with indices that a forward pass made, and their gather.
    CompiledTestKernel forward({x, y + ", " + i,
                                "^bb0(%x: " + x + "):\n %y, %i = dl.max_pool %x" + p.attributes() +
                                    " : " + x + " -> " + y + ", " + i +
                                    "\n dl.yield %y, %i : " + y + ", " + i},
                               "cuda:simt", "cuda-elements");
    CompiledTestKernel backward({y + ", " + i, x,
                                 "^bb0(%d: " + y + ", %i: " + i +
                                     "):\n %x = dl.max_pool_backward %d, %i" + p.attributes() +
                                     " : " + y + ", " + i + " to " + x + "\n dl.yield %x : " + x},
                                "cuda:simt");
    CompiledTestKernel gather({x + ", " + i, y,
                               "^bb0(%x: " + x + ", %i: " + i +
                                   "):\n %y = dl.max_pool_gather %x, %i" + p.attributes() + " : " +
                                   x + ", " + i + " to " + y + "\n dl.yield %y : " + y},
                              "cuda:simt");
    ASSERT_TRUE(forward && backward && gather);
    std::vector<Tensor> images = forward.randomInputs(), made = forward.run(images);
    std::vector<Tensor> down = {backward.randomInputs(5)[0], made[1]}, back = {images[0], made[1]};
    EXPECT_LE(relativeError(backward.run(down)[0], backward.oracle(down)[0]), rounding) << p.x;
    EXPECT_EQ(gather.run(back)[0].values, made[0].values) << p.x;
  }
}

/// Pixels with their channels innermost are walked in that order; of the smaller tensors some lie
/// row-major.
TEST(CudaWindow, ChannelsLast) {
  for (const Pool &p : {pools[0], pools[1], pools[4]}) {
    const std::string order =
        std::count(p.x.begin(), p.x.end(), 'x') == 4 ? "0, 2, 3, 4, 1" : "0, 2, 3, 1";
    auto type = [](const std::string &shape, const std::string &element) {
      return "tensor<" + shape + "x" + element + ">";
    };
    auto last = [&](const std::string &shape, const std::string &element) {
      return "tensor<" + shape + "x" + element + ", #program.layout<order = [" + order + "]>>";
    };
    const std::string x = type(p.x, "f32"), y = type(p.y, "f32"), i = type(p.y, "ui8"),
                      xl = last(p.x, "f32"), yl = last(p.y, "f32"), il = last(p.y, "ui8");
    auto convert = [](const std::string &to, const std::string &from, const std::string &fromType,
                      const std::string &toType) {
      return "\n %" + to + " = dl.convert_layout %" + from + " : " + fromType + " to " + toType;
    };
    checkCudaKernel({xl, y + ", " + il,
                     "^bb0(%a: " + xl + "):" + convert("x", "a", xl, x) +
                         "\n %y, %i = dl.max_pool %x" + p.attributes() + " : " + x + " -> " + y +
                         ", " + i + convert("b", "i", i, il) + "\n dl.yield %y, %b : " + y + ", " +
                         il},
                    0, "cuda-window");
    checkCudaKernel({yl, xl,
                     "^bb0(%a: " + yl + "):" + convert("d", "a", yl, y) +
                         "\n %x = dl.average_pool_backward %d" + p.attributes() + " : " + y +
                         " to " + x + convert("b", "x", x, xl) + "\n dl.yield %b : " + xl},
                    rounding, "cuda-window");
    checkCudaKernel({y, xl,
                     "^bb0(%d: " + y + "):\n %x = dl.average_pool_backward %d" + p.attributes() +
                         " : " + y + " to " + x + convert("b", "x", x, xl) +
                         "\n dl.yield %b : " + xl},
                    rounding, "cuda-window");
  }
}
