//===- WindowTest.cpp - CUDA pooling and its gradients on the SIMT device ---------------------===//
#include "test/codegen/Harness.h"
#include "test/codegen/Pool.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace dlc::test;

static const double rounding = 1e-6;

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
    const std::string x = p.typeX(), y = p.typeY();
    checkCudaKernel(winners(p), 0, "cuda-window");
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
    CompiledTestKernel forward(winners(p), "cuda:simt", "cuda-elements");
    CompiledTestKernel backward(atWinners(p, "dl.max_pool_backward", y, x), "cuda:simt");
    CompiledTestKernel gather(atWinners(p, "dl.max_pool_gather", x, y), "cuda:simt");
    ASSERT_TRUE(forward && backward && gather);
    std::vector<Tensor> images = forward.randomInputs(), made = forward.run(images);
    std::vector<Tensor> down = {backward.randomInputs(5)[0], made[1]}, back = {images[0], made[1]};
    EXPECT_LE(relativeError(backward.run(down)[0], backward.oracle(down)[0]), rounding) << p.x;
    EXPECT_EQ(gather.run(back)[0].values, made[0].values) << p.x;
  }
}

namespace {
struct TensorType {
  std::string shape, element;
  bool isTurned = true; ///< lies with its channels innermost where the kernel's tensors do

  std::string text(bool last = false) const {
    const size_t rank = std::count(shape.begin(), shape.end(), 'x') + 1;
    std::string order = "0, ";
    for (size_t axis = 2; axis < rank; ++axis)
      order += std::to_string(axis) + ", ";
    return "tensor<" + shape + "x" + element +
           (last && isTurned ? ", #program.layout<order = [" + order + "1]>>" : ">");
  }
};
} // namespace

static std::string joined(const std::vector<TensorType> &types, bool last = false) {
  std::string text;
  for (const TensorType &type : types)
    text += (text.empty() ? "" : ", ") + type.text(last);
  return text;
}

/// A kernel of `lines`, which make %r0, ... of %c0, ..., both row-major; its own tensors may lie
/// otherwise.
static KernelSource kernelOf(const std::vector<TensorType> &operands,
                             const std::vector<TensorType> &results, const std::string &lines,
                             bool last) {
  std::string arguments, before, after, yielded;
  auto convert = [](const std::string &to, const std::string &from, const std::string &fromType,
                    const std::string &toType) {
    return "\n %" + to + " = dl.convert_layout %" + from + " : " + fromType + " to " + toType;
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string n = std::to_string(i), stored = operands[i].text(last);
    arguments += (i == 0 ? "%a" : ", %a") + n + ": " + stored;
    before += convert("c" + n, "a" + n, stored, operands[i].text());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string n = std::to_string(i);
    after += convert("s" + n, "r" + n, results[i].text(), results[i].text(last));
    yielded += (i == 0 ? "%s" : ", %s") + n;
  }
  return {joined(operands, last), joined(results, last),
          "^bb0(" + arguments + "):" + before + "\n " + lines + after + "\n dl.yield " + yielded +
              " : " + joined(results, last)};
}

/// Runs both kernels of `lines` on `inputs`: equal bits. Those that are not given are random, with
/// ties if wanted. Returns the results.
static std::vector<Tensor> checkTurned(const std::vector<TensorType> &operands,
                                       const std::vector<TensorType> &results,
                                       const std::string &lines, std::vector<Tensor> inputs,
                                       bool ties = false) {
  SCOPED_TRACE(lines);
  CompiledTestKernel plain(kernelOf(operands, results, lines, false), "cuda:simt", "cuda-window");
  CompiledTestKernel turned(kernelOf(operands, results, lines, true), "cuda:simt", "cuda-window");
  if (!plain || !turned)
    return {};
  std::vector<Tensor> random = plain.randomInputs();
  inputs.insert(inputs.end(), random.begin() + inputs.size(), random.end());
  if (ties)
    addTies(inputs.front());
  std::vector<Tensor> wanted = plain.run(inputs);
  for (TaskOrder order : {TaskOrder::Forward, TaskOrder::Shuffled}) {
    std::vector<Tensor> found = turned.run(inputs, order);
    for (size_t i = 0; i < wanted.size(); ++i)
      for (size_t e = 0; e < wanted[i].values.size(); ++e) {
        const double a = wanted[i].values[e], b = found[i].values[e];
        EXPECT_TRUE(a == b ? std::signbit(a) == std::signbit(b) : a != a && b != b)
            << "result " << i << ", element " << e << ": " << b << " in place of " << a;
      }
  }
  return wanted;
}

static const Pool turnedPools[] = {
    {"2x8x6x4", "2x8x3x2", "2, 2", "2, 2", "0, 0, 0, 0", "1, 1"},
    {"2x8x11x10", "2x8x6x5", "3, 3", "2, 2", "1, 1, 1, 1", "1, 1"},
    {"2x6x11x10", "2x6x6x5", "3, 3", "2, 2", "1, 1, 1, 1", "1, 1"},
    // Rows and columns that no window holds.
    {"1x4x7x9", "1x4x3x4", "2, 2", "2, 2", "0, 0, 0, 0", "1, 1"},
    {"1x4x7x11", "1x4x3x7", "3, 5", "1, 1", "0, 0, 2, 2", "2, 2"},
    // Ceil mode, and steps that are longer than windows.
    {"1x8x10x10", "1x8x5x4", "3, 2", "2, 3", "0, 0, 1, 1", "1, 1"},
    // Steps of more elements than a thread takes.
    {"1x4x9x8", "1x4x3x2", "3, 4", "3, 4", "0, 0, 0, 0", "1, 1"},
    {"1x4x3x4", "1x4x1x1", "2, 3", "2147483647, 2147483647", "0, 0, 0, 0", "1, 1"},
    {"3x8x13", "3x8x7", "3", "2", "1, 1", "1"},
    {"1x4x4x6x5", "1x4x2x3x3", "2, 2, 3", "2, 2, 2", "0, 0, 0, 0, 1, 1", "1, 1, 1"},
};

static void checkTurnedPools(const Pool &p, const std::string &element) {
  const TensorType x{p.x, element}, y{p.y, element}, i{p.y, "ui8"};
  auto check = [&](const std::string &op, const std::vector<TensorType> &operands,
                   const std::string &arrow, const std::vector<TensorType> &results,
                   std::vector<Tensor> inputs = {}, bool ties = false) {
    return checkTurned(operands, results, op + joined(operands) + arrow + joined(results), inputs,
                       ties);
  };
  const std::string at = p.attributes() + " : ";
  std::vector<Tensor> made =
      check("%r0, %r1 = dl.max_pool %c0" + at, {x}, " -> ", {y, i}, {}, /*ties=*/true);
  ASSERT_EQ(made.size(), 2u);
  check("%r0 = dl.max_pool_backward %c0, %c1" + at, {y, i}, " to ", {x}, made);
  check("%r0 = dl.max_pool_gather %c0, %c1" + at, {x, i}, " to ", {y});
  for (const char *flag : {" : ", " count_include_pad : "}) {
    check("%r0 = dl.average_pool %c0" + p.attributes() + flag, {x}, " -> ", {y});
    check("%r0 = dl.average_pool_backward %c0" + p.attributes() + flag, {y}, " to ", {x});
  }
}

/// A thread takes four channels where these are innermost and their number is a multiple of four.
/// Each has the value that it has row-major.
TEST(CudaWindow, ChannelsLast) {
  for (const Pool &p : turnedPools)
    checkTurnedPools(p, "f32");
  checkTurnedPools(turnedPools[0], "bf16");
  checkTurnedPools(turnedPools[1], "f16");
}

/// What is fused lies as the anchor does, or row-major, or has an element a channel.
TEST(CudaWindow, FusedChannelsLast) {
  const Pool &p = turnedPools[1];
  for (const std::string element : {"f32", "bf16", "f16"}) {
    const TensorType x{p.x, element}, y{p.y, element}, i{p.y, "ui8"}, c{"8", element, false},
        rowMajor{p.y, element, false}, wide{p.y, "f64"};
    const std::string X = x.text(), Y = y.text(), I = i.text();
    std::vector<Tensor> made = checkTurned(
        {x}, {i, rowMajor, wide},
        "%y, %r0 = dl.max_pool %c0" + p.attributes() + " : " + X + " -> " + Y + ", " + I +
            "\n %r1 = dl.relu %y : " + Y + "\n %r2 = dl.cast %y : " + Y + " to " + wide.text(),
        {});
    ASSERT_EQ(made.size(), 3u);
    for (const TensorType &dy : {y, rowMajor})
      checkTurned(
          {i, dy, y, x, c}, {x},
          "%z = dl.constant dense<0.0> : " + Y + "\n %g = dl.compare gt %c2, %z : " + Y +
              "\n %d = dl.select %g, %c1, %z : " + Y + "\n %x = dl.max_pool_backward %d, %c0" +
              p.attributes() + " : " + Y + ", " + I + " to " + X +
              "\n %b = dl.broadcast %c4 dims = [1] : " + c.text() + " to " + X +
              "\n %m = dl.multiply %x, %b : " + X + "\n %zx = dl.constant dense<0.0> : " + X +
              "\n %gx = dl.compare gt %c3, %zx : " + X + "\n %r0 = dl.select %gx, %m, %zx : " + X,
          {made[0]});
  }
}
