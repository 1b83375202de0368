//===- MapTest.cpp - element-wise kernels -----------------------------------------------------===//
#include "test/codegen/Harness.h"
#include "test/codegen/StochasticRound.h"
#include "test/lib/Interpreter/ElementwiseTable.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dlc::test;

// One float32 rounding an op; the chains below have a handful.
static const double rounding = 4e-7;

/// relu(x + y) over the sizes where vectors, unrolled steps and tails begin and end.
TEST(Map, Sizes) {
  for (int size : {1, 2, 3, 7, 15, 16, 17, 65, 100, 1000}) {
    std::string type = "tensor<" + std::to_string(size) + "xf32>";
    checkKernel({type + ", " + type, type,
                 "^bb0(%x: " + type + ", %y: " + type + "):\n %0 = dl.add %x, %y : " + type +
                     "\n %1 = dl.relu %0 : " + type + "\n dl.yield %1 : " + type},
                rounding, "cpu-map");
  }
}

/// Many tasks, the last one short.
TEST(Map, Tasks) {
  checkKernel({"tensor<300007xf32>", "tensor<300007xf32>", R"(
^bb0(%x: tensor<300007xf32>):
  %0 = dl.multiply %x, %x : tensor<300007xf32>
  dl.yield %0 : tensor<300007xf32>)"},
              rounding, "cpu-map");
}

/// A bias over channels is read once a row; the axes that it does not tell apart are one.
TEST(Map, BiasOverChannels) {
  checkKernel({"tensor<3x5x7x9xf32>, tensor<5xf32>", "tensor<3x5x7x9xf32>", R"(
^bb0(%x: tensor<3x5x7x9xf32>, %b: tensor<5xf32>):
  %0 = dl.broadcast %b dims = [1] : tensor<5xf32> to tensor<3x5x7x9xf32>
  %1 = dl.add %x, %0 : tensor<3x5x7x9xf32>
  dl.yield %1 : tensor<3x5x7x9xf32>)"},
              rounding, "cpu-map");
}

/// Broadcasts over the last axis, of a size-1 axis, and of a scalar; an index along an axis.
TEST(Map, Broadcasts) {
  checkKernel({"tensor<6x1x5xf32>, tensor<5xf32>, tensor<f32>", "tensor<6x4x5xf32>", R"(
^bb0(%x: tensor<6x1x5xf32>, %b: tensor<5xf32>, %s: tensor<f32>):
  %0 = dl.broadcast %x dims = [0, 1, 2] : tensor<6x1x5xf32> to tensor<6x4x5xf32>
  %1 = dl.broadcast %b dims = [2] : tensor<5xf32> to tensor<6x4x5xf32>
  %2 = dl.broadcast %s dims = [] : tensor<f32> to tensor<6x4x5xf32>
  %3 = dl.multiply %0, %1 : tensor<6x4x5xf32>
  %4 = dl.subtract %3, %2 : tensor<6x4x5xf32>
  %5 = dl.iota axes = [1] : tensor<6x4x5xi32>
  %6 = dl.cast %5 : tensor<6x4x5xi32> to tensor<6x4x5xf32>
  %7 = dl.divide %4, %2 : tensor<6x4x5xf32>
  %8 = dl.add %6, %7 : tensor<6x4x5xf32>
  dl.yield %8 : tensor<6x4x5xf32>)"},
              rounding, "cpu-map");
}

/// A reshape between two broadcasts that do not fit each other's axes: single elements where need
/// be.
TEST(Map, ReshapeAcrossAxes) {
  const char *block = R"(
^bb0(%x: tensor<6x10xf32>, %a: tensor<10xf32>, %b: tensor<4xf32>):
  %0 = dl.broadcast %a dims = [1] : tensor<10xf32> to tensor<6x10xf32>
  %1 = dl.add %x, %0 : tensor<6x10xf32>
  %2 = dl.reshape %1 : tensor<6x10xf32> to tensor<15x4xf32>
  %3 = dl.broadcast %b dims = [1] : tensor<4xf32> to tensor<15x4xf32>
  %4 = dl.multiply %2, %3 : tensor<15x4xf32>
  dl.yield %4 : tensor<15x4xf32>)";
  checkKernel({"tensor<6x10xf32>, tensor<10xf32>, tensor<4xf32>", "tensor<15x4xf32>", block},
              rounding);
}

/// Two results share their common part; reshapes cost nothing.
TEST(Map, SeveralResults) {
  checkKernel({"tensor<6x10xf32>, tensor<60xf32>", "tensor<6x10xf32>, tensor<3x20xf32>", R"(
^bb0(%x: tensor<6x10xf32>, %y: tensor<60xf32>):
  %0 = dl.reshape %y : tensor<60xf32> to tensor<6x10xf32>
  %1 = dl.maximum %x, %0 : tensor<6x10xf32>
  %2 = dl.abs %1 : tensor<6x10xf32>
  %3 = dl.reshape %2 : tensor<6x10xf32> to tensor<3x20xf32>
  dl.yield %1, %3 : tensor<6x10xf32>, tensor<3x20xf32>)"},
              rounding, "cpu-map");
}

/// Bool is a byte in memory, u8 is unsigned, integers keep their width.
TEST(Map, Types) {
  checkKernel({"tensor<77xui8>, tensor<77xi32>, tensor<77xi1>, tensor<77xi64>",
               "tensor<77xf32>, tensor<77xi1>, tensor<77xi64>, tensor<77xui8>", R"(
^bb0(%u: tensor<77xui8>, %i: tensor<77xi32>, %m: tensor<77xi1>, %w: tensor<77xi64>):
  %0 = dl.cast %u : tensor<77xui8> to tensor<77xf32>
  %1 = dl.cast %i : tensor<77xi32> to tensor<77xf32>
  %2 = dl.select %m, %0, %1 : tensor<77xf32>
  %3 = dl.compare gt %0, %1 : tensor<77xf32>
  %4 = dl.cast %i : tensor<77xi32> to tensor<77xi64>
  %5 = dl.multiply %4, %w : tensor<77xi64>
  %6 = dl.maximum %u, %u : tensor<77xui8>
  dl.yield %2, %3, %5, %6 : tensor<77xf32>, tensor<77xi1>, tensor<77xi64>, tensor<77xui8>)"},
              rounding, "cpu-map");
}

/// f64 through and through; ops on bf16 and f16 compute in f32 and round once each.
TEST(Map, OtherFloats) {
  checkKernel({"tensor<37xf64>", "tensor<37xf64>", R"(
^bb0(%x: tensor<37xf64>):
  %0 = dl.exp %x : tensor<37xf64>
  %1 = dl.tanh %0 : tensor<37xf64>
  dl.yield %1 : tensor<37xf64>)"},
              1e-15, "cpu-map");
  for (std::string type : {"bf16", "f16"})
    checkKernel({"tensor<37x" + type + ">", "tensor<37xf32>",
                 "^bb0(%x: tensor<37x" + type + ">):\n %0 = dl.cast %x : tensor<37x" + type +
                     "> to tensor<37xf32>\n %1 = dl.multiply %0, %0 : tensor<37xf32>\n"
                     " dl.yield %1 : tensor<37xf32>"},
                rounding, "cpu-map");
  // Math too, without a library call.
  checkKernel({"tensor<37xbf16>", "tensor<37xbf16>", R"(
^bb0(%x: tensor<37xbf16>):
  %0 = dl.exp %x : tensor<37xbf16>
  %1 = dl.add %0, %x : tensor<37xbf16>
  dl.yield %1 : tensor<37xbf16>)"},
              1.0 / 128, "cpu-map");
  // Each op rounds: the product to 227 / 512, the sum to even, away from what f32 would give it.
  CompiledTestKernel chain({"tensor<1xbf16>, tensor<1xbf16>", "tensor<1xbf16>", R"(
^bb0(%a: tensor<1xbf16>, %b: tensor<1xbf16>):
  %0 = dl.multiply %a, %b : tensor<1xbf16>
  %1 = dl.add %0, %a : tensor<1xbf16>
  dl.yield %1 : tensor<1xbf16>)"});
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain.run({Tensor{{1}, {0.515625}}, Tensor{{1}, {0.859375}}})[0].values[0], 0.9609375);
  // Half an ulp of bf16's 8 bits.
  checkKernel({"tensor<37xf32>", "tensor<37xbf16>", R"(
^bb0(%x: tensor<37xf32>):
  %0 = dl.cast %x : tensor<37xf32> to tensor<37xbf16>
  dl.yield %0 : tensor<37xbf16>)"},
              1.0 / 256, "cpu-map");
}

/// Sigmoid saturates without overflow.
TEST(Map, SigmoidExtremes) {
  CompiledTestKernel kernel({"tensor<5xf32>", "tensor<5xf32>", R"(
^bb0(%x: tensor<5xf32>):
  %0 = dl.sigmoid %x : tensor<5xf32>
  dl.yield %0 : tensor<5xf32>)"});
  ASSERT_TRUE(kernel);
  Tensor y = kernel.run(Tensor{{5}, {-1000, -100, 0, 100, 1000}})[0];
  EXPECT_EQ(y.values[0], 0);
  EXPECT_LT(std::abs(y.values[1] - 3.7835e-44), 1.5e-45);
  EXPECT_EQ(y.values[2], 0.5);
  EXPECT_EQ(y.values[3], 1);
  EXPECT_EQ(y.values[4], 1);
}

/// Operands and results in blocked and permuted layouts.
TEST(Map, Layouts) {
  const std::string nhwc = "tensor<2x5x3x7xf32, #program.layout<order = [0, 2, 3, 1]>>";
  const std::string blocked =
      "tensor<2x32x3x7xf32, #program.layout<order = [0, 1, 2, 3], blocks = [1, 16]>>";
  checkKernel({nhwc + ", tensor<5xf32>", nhwc,
               "^bb0(%x: " + nhwc +
                   ", %b: tensor<5xf32>):\n %0 = dl.broadcast %b dims = [1] : "
                   "tensor<5xf32> to " +
                   nhwc + "\n %1 = dl.add %x, %0 : " + nhwc + "\n dl.yield %1 : " + nhwc},
              rounding);
  checkKernel(
      {blocked, blocked,
       "^bb0(%x: " + blocked + "):\n %0 = dl.relu %x : " + blocked + "\n dl.yield %0 : " + blocked},
      rounding);
}

/// Every op of the table, alone behind the two operands.
TEST(Map, EveryElementwiseOp) {
  unsigned count;
  const std::string type = "tensor<3x37xf32>";
  const std::string block = dlc::interpreter::blockOfAllElementwise(type, count);
  std::string results = type;
  for (unsigned i = 1; i < count; ++i)
    results += ", " + type;
  checkKernel({type + ", " + type, results, block}, 1e-6, "cpu-map");
}

/// Steps of 1 and 2 (two loads and a shuffle) and 3 (a gather) along the vector's axis, an offset
/// along the other; a bias behind.
TEST(Map, Slice) {
  for (int step : {1, 2, 3}) {
    std::string number = std::to_string(step);
    checkKernel({"tensor<9x120xf32>, tensor<39xf32>", "tensor<4x39xf32>",
                 R"(
^bb0(%x: tensor<9x120xf32>, %b: tensor<39xf32>):
  %e = dl.exp %x : tensor<9x120xf32>
  %0 = dl.slice %e starts = [1, 2] sizes = [4, 39] steps = [2, )" +
                     number +
                     R"(] : tensor<9x120xf32>
  %1 = dl.broadcast %b dims = [1] : tensor<39xf32> to tensor<4x39xf32>
  %2 = dl.add %0, %1 : tensor<4x39xf32>
  dl.yield %2 : tensor<4x39xf32>)"},
                1e-6, "cpu-map");
  }
}

/// Zeros around and between: masked loads where neighbours stay neighbours, single elements else.
TEST(Map, Pad) {
  for (int step : {1, 3}) {
    std::string number = std::to_string(step);
    checkKernel({"tensor<3x17xf32>, tensor<7x59xf32>", "tensor<7x59xf32>",
                 R"(
^bb0(%x: tensor<3x17xf32>, %y: tensor<7x59xf32>):
  %e = dl.exp %x : tensor<3x17xf32>
  %0 = dl.pad %e low = [1, 5] steps = [2, )" +
                     number +
                     R"(] : tensor<3x17xf32> to tensor<7x59xf32>
  %1 = dl.add %0, %y : tensor<7x59xf32>
  dl.yield %1 : tensor<7x59xf32>)"},
                1e-6, "cpu-map");
  }
}

/// Nothing but zeros around no elements.
TEST(Map, PadOfNothing) {
  checkKernel({"tensor<3x0xf32>", "tensor<3x7xf32>", R"(
^bb0(%x: tensor<3x0xf32>):
  %0 = dl.pad %x low = [0, 2] steps = [1, 1] : tensor<3x0xf32> to tensor<3x7xf32>
  dl.yield %0 : tensor<3x7xf32>)"},
              0, "cpu-map");
}

/// Along the vector's axis and along another, of parts that are computed, repeated or empty.
TEST(Map, Concat) {
  checkKernel({"tensor<5x7x40xf32>, tensor<5x1x40xf32>, tensor<5x0x40xf32>", "tensor<5x16x40xf32>",
               R"(
^bb0(%x: tensor<5x7x40xf32>, %y: tensor<5x1x40xf32>, %z: tensor<5x0x40xf32>):
  %e = dl.exp %x : tensor<5x7x40xf32>
  %w = dl.broadcast %y dims = [0, 1, 2] : tensor<5x1x40xf32> to tensor<5x8x40xf32>
  %0 = dl.concat %z, %e, %y, %w axis = 1 : tensor<5x0x40xf32>, tensor<5x7x40xf32>, tensor<5x1x40xf32>, tensor<5x8x40xf32>
  %1 = dl.negate %0 : tensor<5x16x40xf32>
  dl.yield %1 : tensor<5x16x40xf32>)"},
              1e-6, "cpu-map");
  checkKernel({"tensor<6x19xui8>, tensor<6x33xui8>", "tensor<6x52xui8>", R"(
^bb0(%x: tensor<6x19xui8>, %y: tensor<6x33xui8>):
  %0 = dl.concat %x, %y axis = 1 : tensor<6x19xui8>, tensor<6x33xui8>
  dl.yield %0 : tensor<6x52xui8>)"},
              0, "cpu-map");
}

/// Rows and elements of rows by numbers, some of which no row has; numbers that are computed.
TEST(Map, Gather) {
  checkKernel({"tensor<3x40xf32>, tensor<2x6xi32>", "tensor<2x6x40xf32>", R"(
^bb0(%x: tensor<3x40xf32>, %i: tensor<2x6xi32>):
  %0 = dl.gather %x, %i axis = 0 : tensor<3x40xf32>, tensor<2x6xi32>
  %1 = dl.relu %0 : tensor<2x6x40xf32>
  dl.yield %1 : tensor<2x6x40xf32>)"},
              0, "cpu-map");
  checkKernel({"tensor<5x4x3xf32>, tensor<37xi64>", "tensor<5x37x3xf32>", R"(
^bb0(%x: tensor<5x4x3xf32>, %i: tensor<37xi64>):
  %j = dl.abs %i : tensor<37xi64>
  %0 = dl.gather %x, %j axis = 1 : tensor<5x4x3xf32>, tensor<37xi64>
  dl.yield %0 : tensor<5x37x3xf32>)"},
              0, "cpu-map");
}

/// The number of an element among those of its sample, whatever the shape.
TEST(Map, NumbersAlongAxes) {
  checkKernel({"tensor<6x35xi32>", "tensor<6x35xi32>", R"(
^bb0(%x: tensor<6x35xi32>):
  %0 = dl.iota axes = [1] : tensor<6x35xi32>
  %1 = dl.iota axes = [1, 0] : tensor<6x35xi32>
  %2 = dl.iota axes = [0, 2] space = [2, 3, 35] : tensor<6x35xi32>
  %3 = dl.add %0, %1 : tensor<6x35xi32>
  %4 = dl.multiply %2, %x : tensor<6x35xi32>
  %5 = dl.add %3, %4 : tensor<6x35xi32>
  dl.yield %5 : tensor<6x35xi32>)"},
              0, "cpu-map");
}

/// Draws of all elements, samples and steps: uniform to the bit, normal within some roundings.
TEST(Map, Random) {
  for (auto [kind, tolerance] : {std::pair("uniform", 0.0), {"normal", 1e-6}})
    checkKernel({"tensor<37xi32>, tensor<37xi32>", "tensor<37xf32>",
                 std::string("^bb0(%a: tensor<37xi32>, %b: tensor<37xi32>):\n"
                             "%n = dl.iota axes = [0] : tensor<37xi32>\n %r = dl.random ") +
                     kind +
                     " %n, %a, %b, %b, %a, %b path = 12345 : tensor<37xi32> to tensor<37xf32>\n"
                     "dl.yield %r : tensor<37xf32>"},
                tolerance, "cpu-map");
}

/// dl.stochastic_round gives the neighbour that the draw chooses.
TEST(Map, StochasticRound) {
  for (const char *target : {"native", "avx2"})
    for (const char *element : {"bf16", "f16"})
      checkStochasticRound(target, element, "cpu-map");
}
