// Library calls as the SIMT device computes them, against the definition in abi.h written down
// element by element.
#include "runtime/Core/LibraryCall.h"
#include "dlc/plan.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Device/SIMT/Reference.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace dlc::runtime;

namespace {

std::vector<float> randomVector(size_t count, std::mt19937 &random) {
  std::vector<float> values(count);
  for (float &value : values)
    value = float(int(random() % 2001) - 1000) / 1000;
  return values;
}

/// The call's arguments with random contents; results begin as not-a-numbers.
struct Arguments {
  std::vector<std::vector<float>> values;
  std::vector<void *> pointers;

  explicit Arguments(const dlc_library_call &call) {
    std::mt19937 random(5);
    for (const CallArgument &argument : callArguments(call)) {
      const size_t count = argument.bytes / sizeof(float);
      values.push_back(argument.access == DLC_WRITE ? std::vector<float>(count, NAN)
                                                    : randomVector(count, random));
    }
    for (auto &vector : values)
      pointers.push_back(vector.data());
  }
};

dlc_library_call callOf(dlc_library_op op, std::vector<uint64_t> sizes, uint32_t epilogue = 0) {
  dlc_library_call call = {};
  call.op = op;
  call.epilogue = epilogue;
  std::copy(sizes.begin(), sizes.end(), call.sizes);
  Status status = checkLibraryCall(call);
  EXPECT_TRUE(status.ok()) << status.message();
  return call;
}

Arguments run(const dlc_library_call &call) {
  Arguments arguments(call);
  ThreadPool pool(2);
  runLibraryCall(call, arguments.pointers.data(), pool);
  return arguments;
}

/// One rounding to float32 of a sum of products below 1: everything before it is double.
void expectNear(const std::vector<float> &got, const std::vector<double> &want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(got[i], want[i], 1e-5 * std::max(1.0, std::abs(want[i]))) << "element " << i;
}

TEST(LibraryCall, Products) {
  constexpr uint64_t batch = 3, m = 5, n = 7, k = 11;
  for (unsigned transposes = 0; transposes < 4; ++transposes) {
    // The second operand is shared by the batch.
    dlc_library_call call = callOf(DLC_CALL_PRODUCT, {batch, m, n, k, m * k, 0, m * n});
    call.transpose_a = transposes & 1;
    call.transpose_b = transposes >> 1;
    const Arguments arguments = run(call);
    std::vector<double> want(batch * m * n);
    for (uint64_t b = 0; b < batch; ++b)
      for (uint64_t i = 0; i < m; ++i)
        for (uint64_t j = 0; j < n; ++j)
          for (uint64_t x = 0; x < k; ++x)
            want[(b * m + i) * n + j] +=
                double(
                    arguments.values[1][b * m * k + (call.transpose_a ? x * m + i : i * k + x)]) *
                arguments.values[2][call.transpose_b ? j * k + x : x * n + j];
    expectNear(arguments.values[0], want);
  }
}

// Bias and addend, in the order of their bits.
TEST(LibraryCall, ForwardEpilogues) {
  constexpr uint64_t m = 6, n = 5, k = 4;
  const Arguments plain = run(callOf(DLC_CALL_PRODUCT, {1, m, n, k}));
  const Arguments all = run(callOf(DLC_CALL_PRODUCT, {1, m, n, k}, 3));
  // The operands, then bias and addend, are drawn in this order.
  ASSERT_EQ(all.values.size(), 5u);
  ASSERT_EQ(all.values[1], plain.values[1]);
  std::vector<double> want(m * n);
  for (uint64_t i = 0; i < m * n; ++i)
    want[i] = double(plain.values[0][i]) + all.values[3][i % n] + all.values[4][i];
  expectNear(all.values[0], want);
}

// A plan may let the result take the addend's memory.
TEST(LibraryCall, AddsInPlace) {
  const dlc_library_call call =
      callOf(DLC_CALL_PRODUCT, {1, 6, 5, 4}, DLC_EPILOGUE_BIAS | DLC_EPILOGUE_ADD);
  const Arguments apart = run(call);
  Arguments together(call);
  together.pointers[0] = together.pointers[4];
  ThreadPool pool(2);
  runLibraryCall(call, together.pointers.data(), pool);
  EXPECT_EQ(together.values[4], apart.values[0]);
}

// Sums of an operand over k, stored either way.
TEST(LibraryCall, SumsOfOperands) {
  constexpr uint64_t m = 6, n = 5, k = 7;
  for (const bool ofA : {true, false})
    for (const uint32_t transposed : {0, 1}) {
      dlc_library_call call =
          callOf(DLC_CALL_PRODUCT, {1, m, n, k}, ofA ? DLC_EPILOGUE_SUMS_A : DLC_EPILOGUE_SUMS_B);
      (ofA ? call.transpose_a : call.transpose_b) = transposed;
      const Arguments all = run(call);
      const uint64_t count = ofA ? m : n;
      const bool depthFirst = ofA == bool(transposed);
      std::vector<double> want(count);
      for (uint64_t i = 0; i < count; ++i)
        for (uint64_t x = 0; x < k; ++x)
          want[i] += all.values[ofA ? 1 : 2][depthFirst ? x * count + i : i * k + x];
      expectNear(all.values[3], want);
    }
}

struct Convolution {
  const char *name;
  std::vector<uint64_t> sizes;
};

const Convolution convolutions[] = {
    {"1d", {1, 2, 1, 3, 4, 9, 3, 7, 1, 0, 0, 1}},
    {"2d padded", {2, 2, 1, 3, 4, 6, 3, 6, 1, 1, 1, 1, 5, 5, 5, 1, 2, 2, 1}},
    {"2d strided, uneven", {2, 3, 1, 2, 5, 8, 3, 4, 2, 1, 0, 1, 7, 2, 3, 2, 0, 0, 1}},
    {"2d dilated", {2, 1, 1, 2, 3, 9, 3, 5, 1, 0, 0, 2, 9, 3, 7, 1, 1, 1, 2}},
    {"2d grouped", {2, 2, 2, 4, 6, 5, 3, 5, 1, 1, 1, 1, 5, 3, 3, 1, 0, 0, 1}},
    {"3d", {3, 2, 1, 2, 3, 4, 2, 3, 1, 0, 0, 1, 5, 3, 3, 2, 1, 1, 1, 4, 2, 3, 1, 0, 0, 1}},
};

/// Calls visit(image offset, filter offset, output offset) for every product that the definition of
/// a convolution adds up.
template <typename Visit> void visitProducts(const dlc_library_call &call, const Visit &visit) {
  const ConvolutionSizes s = convolutionSizes(call);
  const uint64_t perGroup = s.inputs / s.groups;
  std::vector<uint64_t> at(2 * s.axes.size());
  auto walk = [&](auto &self, size_t axis) -> void {
    if (axis < s.axes.size()) {
      for (at[2 * axis] = 0; at[2 * axis] < s.axes[axis].output; ++at[2 * axis])
        for (at[2 * axis + 1] = 0; at[2 * axis + 1] < s.axes[axis].filter; ++at[2 * axis + 1])
          self(self, axis + 1);
      return;
    }
    uint64_t image = 0, filter = 0, output = 0;
    for (size_t i = 0; i < s.axes.size(); ++i) {
      const AxisSizes &a = s.axes[i];
      const int64_t x =
          int64_t(at[2 * i] * a.stride + at[2 * i + 1] * a.dilation) - int64_t(a.below);
      if (x < 0 || x >= int64_t(a.input))
        return;
      image = image * a.input + uint64_t(x);
      filter = filter * a.filter + at[2 * i + 1];
      output = output * a.output + at[2 * i];
    }
    uint64_t pixels = 1, taps = 1, positions = 1;
    for (const AxisSizes &a : s.axes)
      pixels *= a.input, taps *= a.filter, positions *= a.output;
    for (uint64_t n = 0; n < s.batch; ++n)
      for (uint64_t k = 0; k < s.outputs; ++k)
        for (uint64_t c = 0; c < perGroup; ++c)
          visit((n * pixels + image) * s.inputs + k / (s.outputs / s.groups) * perGroup + c,
                (k * taps + filter) * perGroup + c, (n * positions + output) * s.outputs + k);
  };
  walk(walk, 0);
}

TEST(LibraryCall, Convolutions) {
  for (const Convolution &c : convolutions) {
    SCOPED_TRACE(c.name);
    const dlc_library_call call = callOf(DLC_CALL_CONVOLUTION, c.sizes);
    const Arguments a = run(call);
    std::vector<double> want(a.values[0].size());
    visitProducts(call, [&](uint64_t image, uint64_t filter, uint64_t output) {
      want[output] += double(a.values[1][image]) * a.values[2][filter];
    });
    expectNear(a.values[0], want);
  }
}

TEST(LibraryCall, GradientsOfData) {
  for (const Convolution &c : convolutions) {
    SCOPED_TRACE(c.name);
    const dlc_library_call call = callOf(DLC_CALL_BACKWARD_DATA, c.sizes);
    const Arguments a = run(call);
    std::vector<double> want(a.values[0].size());
    visitProducts(call, [&](uint64_t image, uint64_t filter, uint64_t output) {
      want[image] += double(a.values[1][output]) * a.values[2][filter];
    });
    expectNear(a.values[0], want);
  }
}

TEST(LibraryCall, GradientsOfFilters) {
  for (const Convolution &c : convolutions) {
    SCOPED_TRACE(c.name);
    const dlc_library_call call = callOf(DLC_CALL_BACKWARD_FILTER, c.sizes);
    const Arguments a = run(call);
    std::vector<double> want(a.values[0].size());
    visitProducts(call, [&](uint64_t image, uint64_t filter, uint64_t output) {
      want[filter] += double(a.values[1][output]) * a.values[2][image];
    });
    expectNear(a.values[0], want);
  }
}

/// [outer, channels, pixels] as [outer, pixels, channels].
std::vector<float> channelsLast(const std::vector<float> &x, uint64_t outer, uint64_t channels) {
  const uint64_t pixels = x.size() / outer / channels;
  std::vector<float> turned(x.size());
  for (uint64_t i = 0; i < x.size(); ++i)
    turned[(i / channels / pixels * pixels + i % pixels) * channels + i / pixels % channels] = x[i];
  return turned;
}

// With the channels first a call computes the same, in all directions and with each epilogue.
TEST(LibraryCall, ChannelsFirst) {
  for (const Convolution &c : convolutions)
    for (auto op : {DLC_CALL_CONVOLUTION, DLC_CALL_BACKWARD_DATA, DLC_CALL_BACKWARD_FILTER}) {
      SCOPED_TRACE(concat(c.name, ", ", libraryOpName(op)));
      dlc_library_call call = callOf(op, c.sizes, DLC_EPILOGUE_BIAS | DLC_EPILOGUE_ADD);
      call.layout = DLC_CALL_CHANNELS_FIRST;
      Arguments first = run(call), last(call);
      const ConvolutionSizes s = convolutionSizes(call);
      const std::pair<uint64_t, uint64_t> image = {s.batch, s.inputs},
                                          output = {s.batch, s.outputs},
                                          filter = {s.outputs, s.inputs / s.groups};
      const auto result = op == DLC_CALL_CONVOLUTION     ? output
                          : op == DLC_CALL_BACKWARD_DATA ? image
                                                         : filter;
      const std::pair<uint64_t, uint64_t> sides[] = {
          result, op == DLC_CALL_CONVOLUTION ? image : output,
          op == DLC_CALL_BACKWARD_FILTER ? image : filter};
      for (size_t i : {1, 2})
        std::ranges::copy(channelsLast(first.values[i], sides[i].first, sides[i].second),
                          last.values[i].begin());
      std::ranges::copy(channelsLast(first.values[4], result.first, result.second),
                        last.values[4].begin());
      call.layout = DLC_CALL_CHANNELS_LAST;
      ThreadPool pool(2);
      runLibraryCall(call, last.pointers.data(), pool);
      EXPECT_EQ(channelsLast(first.values[0], result.first, result.second), last.values[0]);
    }
}

// Tensors of 16 bits are widened, and what is summed in f32 is rounded once: 1 + 2^-9 is bf16's 1.
TEST(LibraryCall, SixteenBits) {
  struct Case {
    dlc_dtype dtype;
    uint16_t one, half, sum;
  };
  // The product of [1 half] and [1; half], 1.25; of f16 the same.
  for (const Case &c :
       {Case{DLC_BF16, 0x3f80, 0x3f00, 0x3fa0}, {DLC_F16, 0x3c00, 0x3800, 0x3d00}}) {
    dlc_library_call call = callOf(DLC_CALL_PRODUCT, {1, 1, 1, 2});
    call.dtype = c.dtype;
    uint16_t result = 0, a[] = {c.one, c.half}, b[] = {c.one, c.half};
    void *arguments[] = {&result, a, b};
    ThreadPool pool(1);
    runLibraryCall(call, arguments, pool);
    EXPECT_EQ(result, c.sum);
    // 1 + half of a last place is a tie, which an even 1 wins.
    const uint16_t tiny = c.dtype == DLC_BF16 ? 0x3b80 : 0x1000; // 2^-8, 2^-11
    a[1] = tiny, b[1] = c.one;
    runLibraryCall(call, arguments, pool);
    EXPECT_EQ(result, c.one);
  }
}

// Convolutions in 16 bits, in either order of channels, are those of the same numbers in f32,
// rounded.
TEST(LibraryCall, ConvolutionsOfSixteenBits) {
  for (uint32_t op : {DLC_CALL_CONVOLUTION, DLC_CALL_BACKWARD_DATA, DLC_CALL_BACKWARD_FILTER})
    for (uint32_t layout : {DLC_CALL_CHANNELS_LAST, DLC_CALL_CHANNELS_FIRST}) {
      dlc_library_call wide =
          callOf(dlc_library_op(op), {2, 2, 1, 3, 4, 5, 3, 5, 1, 1, 1, 1, 6, 2, 5, 1, 0, 0, 1});
      wide.layout = layout;
      Arguments singles(wide);
      std::vector<std::vector<std::byte>> halves;
      std::vector<void *> pointers;
      dlc_library_call call = wide;
      call.dtype = DLC_BF16;
      for (std::vector<float> &values : singles.values) {
        halves.emplace_back(values.size() * sizeof(uint16_t));
        for (size_t i = 0; i < values.size(); ++i) {
          storeElement(DLC_BF16, values[i], halves.back().data() + 2 * i);
          values[i] = float(loadElement(DLC_BF16, halves.back().data() + 2 * i));
        }
      }
      for (auto &tensor : halves)
        pointers.push_back(tensor.data());
      ThreadPool pool(2);
      runLibraryCall(wide, singles.pointers.data(), pool);
      runLibraryCall(call, pointers.data(), pool);
      for (size_t i = 0; i < singles.values[0].size(); ++i) {
        std::byte rounded[2];
        storeElement(DLC_BF16, singles.values[0][i], rounded);
        EXPECT_EQ(loadElement(DLC_BF16, halves[0].data() + 2 * i), loadElement(DLC_BF16, rounded));
      }
    }
}

// TF32 rounds both operands to 10 bits behind the point, ties to even; what is no number stays.
TEST(LibraryCall, RoundsToTf32) {
  dlc_library_call call = callOf(DLC_CALL_PRODUCT, {1, 1, 1, 1});
  call.math = DLC_MATH_TF32;
  auto product = [&](float a, float b) {
    float result = 0;
    void *arguments[] = {&result, &a, &b};
    ThreadPool pool(1);
    runLibraryCall(call, arguments, pool);
    return result;
  };
  EXPECT_EQ(product(1 + 0x1p-10f, 1), 1 + 0x1p-10f);
  EXPECT_EQ(product(1 + 0x1p-11f, 1), 1.0f);
  EXPECT_EQ(product(1, 1 + 0x3p-11f), 1 + 0x2p-10f);
  EXPECT_EQ(product(-1 - 0x1.8p-11f, 1), -1 - 0x1p-10f);
  EXPECT_TRUE(std::isnan(product(NAN, 1)));
  EXPECT_EQ(product(INFINITY, 1), INFINITY);
  call.math = DLC_MATH_STRICT;
  EXPECT_EQ(product(1 + 0x1p-11f, 1), 1 + 0x1p-11f);
}

} // namespace
