//===- WindowTest.cpp - pooling and its gradients ---------------------------------------------===//
#include "test/codegen/Harness.h"
#include "test/codegen/Pool.h"
#include <gtest/gtest.h>

using namespace dlc::test;

static const double rounding = 1e-6;

static const Pool pools[] = {
    {"2x3x8x8", "2x3x4x4", "2, 2", "2, 2", "0, 0, 0, 0", "1, 1"},
    {"2x5x14x13", "2x5x7x6", "2, 2", "2, 2", "0, 0, 0, 0", "1, 1"},
    {"1x2x24x40", "1x2x12x20", "2, 2", "2, 2", "0, 0, 0, 0", "1, 1"},
    {"2x3x9x11", "2x3x9x11", "3, 3", "1, 1", "1, 1, 1, 1", "1, 1"},
    {"1x4x13x15", "1x4x7x8", "3, 3", "2, 2", "1, 1, 0, 1", "1, 1"},
    {"2x2x10x37", "2x2x6x33", "3, 5", "1, 1", "0, 0, 2, 2", "2, 2"},
    // Ceil mode: the last windows hang over the input.
    {"1x3x10x10", "1x3x5x5", "3, 3", "2, 2", "0, 0, 0, 0", "1, 1"},
    {"3x2x17", "3x2x8", "3", "2", "0, 0", "1"},
    {"1x2x4x6x7", "1x2x2x3x3", "2, 2, 3", "2, 2, 2", "0, 0, 0, 0, 0, 0", "1, 1, 1"},
};

static const char *const paddings[] = {"", " count_include_pad"};

/// The first of equal ones wins, and the first NaN over all.
TEST(Window, Ties) {
  for (const Pool &p : pools)
    for (const char *target : {"native", "avx2"}) {
      SCOPED_TRACE(std::string(target) + " " + p.x);
      CompiledTestKernel kernel(winners(p), target, "cpu-window");
      ASSERT_TRUE(kernel);
      std::vector<Tensor> inputs = kernel.randomInputs();
      addTies(inputs.front());
      const std::vector<Tensor> found = kernel.run(inputs), expected = kernel.oracle(inputs);
      for (unsigned i : {0, 1})
        EXPECT_EQ(relativeError(found[i], expected[i]), 0) << i;
    }
}

static KernelSource winnersGradient(const Pool &p) {
  return atWinners(p, "dl.max_pool_backward", p.typeY(), p.typeX());
}

/// Pools whose rows are whole vectors, in blocks of channels, and others, and types of the index
/// that have room for their windows.
struct PackedPool {
  Pool pool;
  std::vector<const char *> indices;
};
static const PackedPool packedPools[] = {
    {{"2x2x8x6x16", "2x2x4x3x16", "2, 2, 1", "2, 2, 1", "0, 0, 0, 0, 0, 0", "1, 1, 1"},
     {"ui2", "ui4"}},
    {{"1x3x9x7x8", "1x3x4x3x8", "2, 2, 1", "2, 2, 1", "0, 0, 0, 0, 0, 0", "1, 1, 1"}, {"ui2"}},
    {{"2x2x7x9x16", "2x2x4x5x16", "3, 3, 1", "2, 2, 1", "1, 1, 1, 1, 0, 0", "1, 1, 1"}, {"ui4"}},
    {{"1x2x6x5x16", "1x2x6x5x16", "3, 3, 1", "1, 1, 1", "1, 1, 1, 1, 0, 0", "1, 1, 1"}, {"ui4"}},
    {{"1x2x4x8x4", "1x2x2x4x4", "2, 2, 1", "2, 2, 1", "0, 0, 0, 0, 0, 0", "1, 1, 1"}, {"ui2"}},
    {{"2x5x14x13", "2x5x7x6", "2, 2", "2, 2", "0, 0, 0, 0", "1, 1"}, {"ui2", "ui4"}},
    {{"1x4x13x15", "1x4x7x8", "3, 3", "2, 2", "1, 1, 0, 1", "1, 1"}, {"ui4"}},
    {{"2x3x6x36", "2x3x3x18", "2, 2", "2, 2", "0, 0, 0, 0", "1, 1"}, {"ui2", "ui4"}},
    {{"2x3x6x26", "2x3x3x13", "2, 2", "2, 2", "0, 0, 0, 0", "1, 1"}, {"ui2", "ui4"}},
};

static KernelSource average(const Pool &p, const std::string &padding) {
  return {p.typeX(), p.typeY(),
          "^bb0(%x: " + p.typeX() + "):\n %y = dl.average_pool %x" + p.attributes() + padding +
              " : " + p.typeX() + " -> " + p.typeY() + "\n dl.yield %y : " + p.typeY()};
}

static KernelSource averageGradient(const Pool &p, const std::string &padding) {
  return {p.typeY(), p.typeX(),
          "^bb0(%d: " + p.typeY() + "):\n %x = dl.average_pool_backward %d" + p.attributes() +
              padding + " : " + p.typeY() + " to " + p.typeX() + "\n dl.yield %x : " + p.typeX()};
}

/// max_pool without and with the winner's index, average_pool, and the gather of winners, against
/// their definitions.
TEST(Window, Forward) {
  for (const Pool &p : pools) {
    checkKernel({p.typeX(), p.typeY(),
                 "^bb0(%x: " + p.typeX() + "):\n %y = dl.max_pool %x" + p.attributes() + " : " +
                     p.typeX() + " -> " + p.typeY() + "\n dl.yield %y : " + p.typeY()},
                0, "cpu-window");
    checkKernel(winners(p), 0, "cpu-window");
    for (const char *padding : paddings)
      checkKernel(average(p, padding), rounding, "cpu-window");
  }
}

/// A kernel that reads indices, those that a forward pass made.
static void checkOnWinners(const KernelSource &forwardSource, const KernelSource &source,
                           double rounding, const char *target, const char *generator) {
  CompiledTestKernel forward(forwardSource, target, generator);
  CompiledTestKernel reader(source, target, generator);
  ASSERT_TRUE(forward && reader);
  std::vector<Tensor> y = forward.run(forward.randomInputs());
  std::vector<Tensor> inputs = {reader.randomInputs(5)[0], y[1]};
  EXPECT_LE(relativeError(reader.run(inputs)[0], reader.oracle(inputs)[0]), rounding)
      << source.moduleText();
}

static void checkWinnersGradient(const Pool &p, const std::string &element, double rounding,
                                 const char *target, const char *generator) {
  checkOnWinners(inElement(winners(p), element), inElement(winnersGradient(p), element), rounding,
                 target, generator);
}

TEST(Window, Backward) {
  for (const Pool &p : pools) {
    for (const char *generator : {"cpu-window", "cpu-loops"})
      checkWinnersGradient(p, "f32", rounding, "native", generator);
    for (const char *padding : paddings)
      checkKernel(averageGradient(p, padding), rounding, "cpu-window");
  }
}

static KernelSource gather(const Pool &p) {
  return atWinners(p, "dl.max_pool_gather", p.typeX(), p.typeY());
}

/// Indices of 2 and of 4 bits: whole bytes at a time, and where a byte belongs to several rows.
TEST(Window, PackedIndices) {
  for (const PackedPool &packed : packedPools)
    for (const char *index : packed.indices)
      for (const auto &[element, error] :
           {OtherElement{"f32", rounding}, otherElements[0], otherElements[1]}) {
        SCOPED_TRACE(packed.pool.x + " " + index + " " + element);
        auto packedSource = [&](KernelSource source) {
          return inElement(inElement(std::move(source), index, "ui8"), element);
        };
        for (const char *generator : {"cpu-window", "cpu-loops"}) {
          checkKernel(packedSource(winners(packed.pool)), 0, generator);
          for (const char *target : {"native", "avx2"}) {
            const KernelSource made = packedSource(winners(packed.pool));
            checkOnWinners(made, packedSource(winnersGradient(packed.pool)), error, target,
                           generator);
            checkOnWinners(made, packedSource(gather(packed.pool)), 0, target, generator);
          }
        }
      }
}

/// Other types: the largest is what it is, sums and shares are of f32, or f64, and rounded once.
TEST(Window, Elements) {
  for (const auto &[element, rounding] : otherElements)
    for (const Pool &p : pools) {
      checkKernel(inElement(winners(p), element), 0, "cpu-window");
      for (const char *target : {"native", "avx2"})
        checkWinnersGradient(p, element, rounding, target, "cpu-window");
      for (const char *padding : paddings) {
        checkKernel(inElement(average(p, padding), element), rounding, "cpu-window");
        checkKernel(inElement(averageGradient(p, padding), element), rounding, "cpu-window");
      }
    }
}

/// ReLU before and behind, a bias over channels: pooling keeps channels apart then.
TEST(Window, Body) {
  checkKernel({"tensor<2x3x8x8xf32>, tensor<3xf32>", "tensor<2x3x4x4xf32>", R"(
^bb0(%x: tensor<2x3x8x8xf32>, %b: tensor<3xf32>):
  %0 = dl.broadcast %b dims = [1] : tensor<3xf32> to tensor<2x3x8x8xf32>
  %1 = dl.add %x, %0 : tensor<2x3x8x8xf32>
  %2 = dl.max_pool %1 kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0] dilations = [1, 1] :
      tensor<2x3x8x8xf32> -> tensor<2x3x4x4xf32>
  %3 = dl.relu %2 : tensor<2x3x4x4xf32>
  dl.yield %3 : tensor<2x3x4x4xf32>)"},
              rounding, "cpu-window");
}

/// Behind a pooling's gradient stands the mask of a ReLU.
TEST(Window, MaskedGradient) {
  checkKernel({"tensor<2x3x4x4xf32>, tensor<2x3x8x8xf32>", "tensor<2x3x8x8xf32>", R"(
^bb0(%d: tensor<2x3x4x4xf32>, %y: tensor<2x3x8x8xf32>):
  %0 = dl.average_pool_backward %d kernel = [2, 2] strides = [2, 2] padding = [0, 0, 0, 0]
      dilations = [1, 1] : tensor<2x3x4x4xf32> to tensor<2x3x8x8xf32>
  %zero = dl.constant dense<0.0> : tensor<2x3x8x8xf32>
  %m = dl.compare gt %y, %zero : tensor<2x3x8x8xf32>
  %1 = dl.select %m, %0, %zero : tensor<2x3x8x8xf32>
  dl.yield %1 : tensor<2x3x8x8xf32>)"},
              rounding, "cpu-window");
}
