//===- MapTest.cpp - element-wise CUDA kernels on the SIMT device -----------------------------===//
#include "test/codegen/Harness.h"
#include "test/codegen/StochasticRound.h"
#include "test/lib/Interpreter/ElementwiseTable.h"
#include <gtest/gtest.h>

using namespace dlc::test;

// exp, log and tanh of a few units in the last place, and what a chain adds.
static const double rounding = 1e-6;

/// A chain of everything, over a size that leaves a tail of quads, with a scalar.
TEST(CudaMap, Chain) {
  checkCudaKernel({"tensor<7x11x13xf32>, tensor<7x11x13xf32>, tensor<f32>",
                   "tensor<7x11x13xf32>, tensor<7x11x13xf32>", R"(
^bb0(%x: tensor<7x11x13xf32>, %y: tensor<7x11x13xf32>, %s: tensor<f32>):
  %0 = dl.relu %x : tensor<7x11x13xf32>
  %1 = dl.sigmoid %y : tensor<7x11x13xf32>
  %2 = dl.tanh %x : tensor<7x11x13xf32>
  %3 = dl.exp %y : tensor<7x11x13xf32>
  %4 = dl.log %3 : tensor<7x11x13xf32>
  %5 = dl.abs %x : tensor<7x11x13xf32>
  %6 = dl.sqrt %5 : tensor<7x11x13xf32>
  %7 = dl.negate %6 : tensor<7x11x13xf32>
  %8 = dl.add %0, %1 : tensor<7x11x13xf32>
  %9 = dl.multiply %8, %2 : tensor<7x11x13xf32>
  %10 = dl.subtract %9, %7 : tensor<7x11x13xf32>
  %11 = dl.divide %10, %3 : tensor<7x11x13xf32>
  %12 = dl.minimum %11, %4 : tensor<7x11x13xf32>
  %b = dl.broadcast %s dims = [] : tensor<f32> to tensor<7x11x13xf32>
  %13 = dl.maximum %12, %b : tensor<7x11x13xf32>
  dl.yield %13, %11 : tensor<7x11x13xf32>, tensor<7x11x13xf32>)"},
                  rounding, "cuda-map");
}

/// Broadcasts over the last axis, over an axis of size 1, and an index along an axis.
TEST(CudaMap, Broadcasts) {
  checkCudaKernel({"tensor<6x1x5xf32>, tensor<5xf32>", "tensor<6x4x5xf32>", R"(
^bb0(%x: tensor<6x1x5xf32>, %b: tensor<5xf32>):
  %0 = dl.broadcast %x dims = [0, 1, 2] : tensor<6x1x5xf32> to tensor<6x4x5xf32>
  %1 = dl.broadcast %b dims = [2] : tensor<5xf32> to tensor<6x4x5xf32>
  %3 = dl.multiply %0, %1 : tensor<6x4x5xf32>
  %5 = dl.iota axes = [1] : tensor<6x4x5xi32>
  %6 = dl.cast %5 : tensor<6x4x5xi32> to tensor<6x4x5xf32>
  %8 = dl.add %6, %3 : tensor<6x4x5xf32>
  dl.yield %8 : tensor<6x4x5xf32>)"},
                  rounding, "cuda-map");
}

/// Vectors along an innermost axis, of a multiple of four elements, in 32 and 16 bits.
TEST(CudaMap, RepeatsFours) {
  for (const std::string element : {"f32", "bf16"}) {
    const std::string x = "tensor<3x5x12x" + element + ">", b = "tensor<12x" + element + ">",
                      c = "tensor<12xf32>";
    checkCudaKernel({x + ", " + b + ", " + c, x,
                     R"(
^bb0(%x: )" + x +
                         ", %b: " + b + ", %c: " + c + R"():
  %0 = dl.broadcast %b dims = [2] : )" +
                         b + " to " + x + R"(
  %1 = dl.cast %c : )" + c +
                         " to " + b + R"(
  %2 = dl.broadcast %1 dims = [2] : )" +
                         b + " to " + x + R"(
  %3 = dl.multiply %x, %0 : )" +
                         x + R"(
  %4 = dl.add %3, %2 : )" +
                         x + R"(
  dl.yield %4 : )" + x},
                    // What the oracle does not round: a vector, a product, a sum.
                    element == "bf16" ? 3 * 0x1p-8 : rounding, "cuda-map");
  }
}

/// Bool is a byte in memory, u8 is unsigned, integers keep their width, f64 its precision.
TEST(CudaMap, Types) {
  checkCudaKernel({"tensor<77xui8>, tensor<77xi32>, tensor<77xi1>, tensor<77xi64>",
                   "tensor<77xf32>, tensor<77xi1>, tensor<77xi64>, tensor<77xui8>", R"(
^bb0(%u: tensor<77xui8>, %i: tensor<77xi32>, %m: tensor<77xi1>, %w: tensor<77xi64>):
  %0 = dl.cast %u : tensor<77xui8> to tensor<77xf32>
  %1 = dl.cast %i : tensor<77xi32> to tensor<77xf32>
  %2 = dl.select %m, %0, %1 : tensor<77xf32>
  %3 = dl.compare gt %0, %1 : tensor<77xf32>
  %4 = dl.cast %i : tensor<77xi32> to tensor<77xi64>
  %5 = dl.multiply %4, %w : tensor<77xi64>
  %c = dl.constant dense<200> : tensor<77xui8>
  %6 = dl.add %u, %c : tensor<77xui8>
  %7 = dl.maximum %6, %u : tensor<77xui8>
  dl.yield %2, %3, %5, %7 : tensor<77xf32>, tensor<77xi1>, tensor<77xi64>, tensor<77xui8>)"},
                  0, "cuda-map");
  checkCudaKernel({"tensor<37xf64>", "tensor<37xf64>", R"(
^bb0(%x: tensor<37xf64>):
  %0 = dl.exp %x : tensor<37xf64>
  %1 = dl.tanh %0 : tensor<37xf64>
  dl.yield %1 : tensor<37xf64>)"},
                  1e-15, "cuda-map");
}

/// Results of different sizes, padded and permuted layouts: what only the generator of last resort
/// takes.
TEST(CudaMap, Elements) {
  const std::string nhwc = "tensor<2x5x3x7xf32, #program.layout<order = [0, 2, 3, 1]>>";
  checkCudaKernel({nhwc + ", tensor<5xf32>, tensor<3xf32>", nhwc + ", tensor<3xf32>",
                   "^bb0(%x: " + nhwc +
                       ", %b: tensor<5xf32>, %y: tensor<3xf32>):\n %0 = dl.broadcast %b dims = [1] "
                       ": tensor<5xf32> to " +
                       nhwc + "\n %1 = dl.add %x, %0 : " + nhwc +
                       "\n %2 = dl.negate %y : tensor<3xf32>\n dl.yield %1, %2 : " + nhwc +
                       ", tensor<3xf32>"},
                  rounding, "cuda-elements");
  const std::string padded =
      "tensor<2x5x3xf32, #program.layout<order = [0, 2, 1], blocks = [1, 4, 2, 2]>>";
  CompiledTestKernel kernel(
      {padded, padded,
       "^bb0(%x: " + padded + "):\n %0 = dl.exp %x : " + padded + "\n dl.yield %0 : " + padded},
      "cuda:simt");
  ASSERT_TRUE(kernel);
  std::vector<Tensor> inputs = kernel.randomInputs();
  EXPECT_LE(relativeError(kernel.run(inputs)[0], kernel.oracle(inputs)[0]), rounding);
  // exp is never zero: the zeros are the padding.
  std::vector<float> memory = kernel.resultMemory(0);
  EXPECT_EQ(std::count(memory.begin(), memory.end(), 0.0f), 64 - 30);
}

/// Tiles with tails on both sides, a batch, and work fused on both sides; the last axis stays the
/// last: elements.
TEST(CudaMap, Transpose) {
  checkCudaKernel({"tensor<3x37x5x41xf32>, tensor<37xf32>", "tensor<3x41x5x37xf32>", R"(
^bb0(%x: tensor<3x37x5x41xf32>, %b: tensor<37xf32>):
  %0 = dl.exp %x : tensor<3x37x5x41xf32>
  %1 = dl.transpose %0 order = [0, 3, 2, 1] : tensor<3x37x5x41xf32>
  %2 = dl.broadcast %b dims = [3] : tensor<37xf32> to tensor<3x41x5x37xf32>
  %3 = dl.multiply %1, %2 : tensor<3x41x5x37xf32>
  dl.yield %3 : tensor<3x41x5x37xf32>)"},
                  rounding, "cuda-transpose");
  checkCudaKernel({"tensor<3x4x5xui8>", "tensor<4x3x5xui8>", R"(
^bb0(%x: tensor<3x4x5xui8>):
  %1 = dl.transpose %x order = [1, 0, 2] : tensor<3x4x5xui8>
  dl.yield %1 : tensor<4x3x5xui8>)"},
                  0, "cuda-elements");
}

/// Every op of the table, alone behind the two operands.
TEST(CudaMap, EveryElementwiseOp) {
  unsigned count;
  const std::string type = "tensor<3x37xf32>";
  const std::string block = dlc::interpreter::blockOfAllElementwise(type, count);
  std::string results = type;
  for (unsigned i = 1; i < count; ++i)
    results += ", " + type;
  checkCudaKernel({type + ", " + type, results, block}, rounding, "cuda-map");
}

/// Elements a step apart, and zeros between them again.
TEST(CudaMap, SliceAndPad) {
  checkCudaKernel({"tensor<9x40xf32>, tensor<9x40xf32>", "tensor<9x40xf32>", R"(
^bb0(%x: tensor<9x40xf32>, %y: tensor<9x40xf32>):
  %e = dl.exp %x : tensor<9x40xf32>
  %0 = dl.slice %e starts = [1, 2] sizes = [4, 13] steps = [2, 3] : tensor<9x40xf32>
  %1 = dl.negate %0 : tensor<4x13xf32>
  %2 = dl.pad %1 low = [1, 2] steps = [2, 3] : tensor<4x13xf32> to tensor<9x40xf32>
  %3 = dl.add %2, %y : tensor<9x40xf32>
  dl.yield %3 : tensor<9x40xf32>)"},
                  rounding, "cuda-map");
}

/// Parts that are computed or empty, one behind the other.
TEST(CudaMap, Concat) {
  checkCudaKernel({"tensor<5x7x9xf32>, tensor<5x1x9xf32>, tensor<5x0x9xf32>", "tensor<5x8x9xf32>",
                   R"(
^bb0(%x: tensor<5x7x9xf32>, %y: tensor<5x1x9xf32>, %z: tensor<5x0x9xf32>):
  %e = dl.exp %x : tensor<5x7x9xf32>
  %0 = dl.concat %z, %e, %y axis = 1 : tensor<5x0x9xf32>, tensor<5x7x9xf32>, tensor<5x1x9xf32>
  dl.yield %0 : tensor<5x8x9xf32>)"},
                  rounding, "cuda-map");
}

/// Rows by numbers, some of which no row has.
TEST(CudaMap, Gather) {
  checkCudaKernel({"tensor<3x40xf32>, tensor<2x6xi64>", "tensor<2x6x40xf32>", R"(
^bb0(%x: tensor<3x40xf32>, %i: tensor<2x6xi64>):
  %0 = dl.gather %x, %i axis = 0 : tensor<3x40xf32>, tensor<2x6xi64>
  %1 = dl.relu %0 : tensor<2x6x40xf32>
  dl.yield %1 : tensor<2x6x40xf32>)"},
                  0, "cuda-map");
}

/// Uniform draws to the bit, normal ones within some roundings.
TEST(CudaMap, Random) {
  for (auto [kind, tolerance] : {std::pair("uniform", 0.0), {"normal", 1e-6}})
    checkCudaKernel({"tensor<37xi32>, tensor<37xi32>", "tensor<37xf32>",
                     std::string("^bb0(%a: tensor<37xi32>, %b: tensor<37xi32>):\n"
                                 "%n = dl.iota axes = [0] : tensor<37xi32>\n %r = dl.random ") +
                         kind +
                         " %n, %a, %b, %b, %a, %b path = 12345 : tensor<37xi32> to tensor<37xf32>"
                         "\n dl.yield %r : tensor<37xf32>"},
                    tolerance, "cuda-map");
}

/// dl.stochastic_round gives the neighbour that the draw chooses.
TEST(CudaMap, StochasticRound) {
  for (const char *element : {"bf16", "f16"})
    checkStochasticRound("cuda:simt", element, "cuda-map");
}
