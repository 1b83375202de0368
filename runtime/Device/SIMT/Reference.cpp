// Products, convolutions in three directions, and epilogues.
//
// A convolution is taken apart into runs: at one output position, a run is a stretch of the image
// and the stretch of one output channel's filter that it meets, both contiguous. The three
// directions are then a dot product, a scaled addition to the image, and one to the filter. Tensors
// with channels first are turned before and after, operands of TF32 are rounded before,
// tensors of 16 bits are widened.
#include "runtime/Device/SIMT/Reference.h"
#include "dlc/plan.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/LibraryCall.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <new>
#include <numeric>

namespace dlc::runtime {
namespace {

/// A body that several threads run, and whether memory ended in one of them: nothing may be thrown
/// out of a thread of the pool.
template <typename Body> struct SharedBody {
  const Body &body;
  mutable std::atomic<bool> failed{false};

  static void run(const void *context, uint32_t i, unsigned) {
    const auto &shared = *static_cast<const SharedBody *>(context);
    try {
      shared.body(i);
    } catch (const std::bad_alloc &) {
      shared.failed = true;
    }
  }
};

/// Runs body(i) for i < count on the pool.
template <typename Body> void parallel(ThreadPool &pool, uint64_t count, const Body &body) {
  const SharedBody<Body> shared{body};
  pool.run(static_cast<uint32_t>(count), SharedBody<Body>::run, &shared);
  if (shared.failed)
    throw std::bad_alloc();
}

/// Sum of a[i] b[i], in eight interleaved partial sums.
double dot(const float *a, const float *b, uint64_t count) {
  double sums[8] = {};
  uint64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (unsigned lane = 0; lane < 8; ++lane)
      sums[lane] += static_cast<double>(a[i + lane]) * b[i + lane];
  for (unsigned lane = 0; i < count; ++i, ++lane)
    sums[lane] += static_cast<double>(a[i]) * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

void addScaled(double *sums, double scale, const float *x, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    sums[i] += scale * x[i];
}

/// Row `row` of all batches' rows.
void productRow(const dlc_library_call &call, const ProductSizes &s, void *const *arguments,
                uint64_t row) {
  const uint64_t batch = row / s.m, i = row % s.m;
  float *out = static_cast<float *>(arguments[0]) + batch * s.strideResult + i * s.n;
  const float *a = static_cast<const float *>(arguments[1]) + batch * s.strideA,
              *b = static_cast<const float *>(arguments[2]) + batch * s.strideB;
  auto left = [&](uint64_t k) { return call.transpose_a ? a[k * s.m + i] : a[i * s.k + k]; };
  if (call.transpose_b) {
    std::vector<float> line(s.k);
    for (uint64_t k = 0; k < s.k; ++k)
      line[k] = left(k);
    for (uint64_t j = 0; j < s.n; ++j)
      out[j] = static_cast<float>(dot(line.data(), b + j * s.k, s.k));
    return;
  }
  std::vector<double> sums(s.n, 0);
  for (uint64_t k = 0; k < s.k; ++k)
    addScaled(sums.data(), left(k), b + k * s.n, s.n);
  std::copy(sums.begin(), sums.end(), out);
}

/// A stretch of a sample's image and the stretch of an output channel's filter that it meets.
struct Run {
  uint64_t image, filter, length;
};

/// A convolution with three spatial axes, the missing ones of size one in front.
class Convolution {
public:
  explicit Convolution(const dlc_library_call &call) : sizes(convolutionSizes(call)) {
    const size_t missing = 3 - sizes.axes.size();
    for (size_t i = 0; i < 3; ++i)
      axes[i] = i < missing ? AxisSizes{1, 1, 1, 1, 0, 0, 1} : sizes.axes[i - missing];
    positions = axes[0].output * axes[1].output * axes[2].output;
    image = axes[0].input * axes[1].input * axes[2].input * sizes.inputs;
    groupInputs = sizes.inputs / sizes.groups;
    groupOutputs = sizes.outputs / sizes.groups;
    filter = axes[0].filter * axes[1].filter * axes[2].filter * groupInputs;
    for (uint64_t position = 0; position < positions; ++position) {
      firstRun.push_back(runs.size());
      addRuns(position);
    }
    firstRun.push_back(runs.size());
  }

  void forward(float *y, const float *x, const float *w, ThreadPool &pool) const {
    parallel(pool, sizes.batch * positions, [&](uint64_t task) {
      for (uint64_t k = 0; k < sizes.outputs; ++k) {
        const float *seen = x + task / positions * image + k / groupOutputs * groupInputs;
        double sum = 0;
        for (const Run &run : runsOf(task % positions))
          sum += dot(seen + run.image, w + k * filter + run.filter, run.length);
        y[task * sizes.outputs + k] = static_cast<float>(sum);
      }
    });
  }

  void backwardData(float *dx, const float *dy, const float *w, ThreadPool &pool) const {
    parallel(pool, sizes.batch, [&](uint64_t n) {
      std::vector<double> sums(image, 0);
      for (uint64_t position = 0; position < positions; ++position)
        for (uint64_t k = 0; k < sizes.outputs; ++k) {
          const float gradient = dy[(n * positions + position) * sizes.outputs + k];
          for (const Run &run : runsOf(position))
            addScaled(sums.data() + k / groupOutputs * groupInputs + run.image, gradient,
                      w + k * filter + run.filter, run.length);
        }
      std::copy(sums.begin(), sums.end(), dx + n * image);
    });
  }

  void backwardFilter(float *dw, const float *dy, const float *x, ThreadPool &pool) const {
    parallel(pool, sizes.outputs, [&](uint64_t k) {
      std::vector<double> sums(filter, 0);
      for (uint64_t at = 0; at < sizes.batch * positions; ++at) {
        const float *seen = x + at / positions * image + k / groupOutputs * groupInputs;
        for (const Run &run : runsOf(at % positions))
          addScaled(sums.data() + run.filter, dy[at * sizes.outputs + k], seen + run.image,
                    run.length);
      }
      std::copy(sums.begin(), sums.end(), dw + k * filter);
    });
  }

private:
  /// Where filter element `tap` meets the image at output `at`, negative in the padding.
  static int64_t place(const AxisSizes &axis, uint64_t at, uint64_t tap) {
    const uint64_t padded = at * axis.stride + tap * axis.dilation;
    return padded < axis.below || padded - axis.below >= axis.input
               ? -1
               : static_cast<int64_t>(padded - axis.below);
  }

  std::span<const Run> runsOf(uint64_t position) const {
    return std::span(runs).subspan(firstRun[position], firstRun[position + 1] - firstRun[position]);
  }

  /// All that output position `position` of the first group sees, padding left out.
  void addRuns(uint64_t position) {
    const uint64_t q = position % axes[2].output, p = position / axes[2].output % axes[1].output,
                   o = position / axes[2].output / axes[1].output;
    for (uint64_t d = 0; d < axes[0].filter; ++d)
      for (uint64_t r = 0; r < axes[1].filter; ++r) {
        const int64_t z = place(axes[0], o, d), y = place(axes[1], p, r);
        if (z >= 0 && y >= 0)
          addLine((static_cast<uint64_t>(z) * axes[1].input + static_cast<uint64_t>(y)) *
                      axes[2].input,
                  (d * axes[1].filter + r) * axes[2].filter, q);
      }
  }

  /// One line of the filter, in pixels: as one run if the line and its channels are contiguous in
  /// the image, which dilation and other groups' channels in between prevent.
  void addLine(uint64_t imageLine, uint64_t filterLine, uint64_t q) {
    const bool whole = axes[2].dilation == 1 && sizes.groups == 1;
    const size_t line = runs.size();
    for (uint64_t s = 0; s < axes[2].filter; ++s) {
      const int64_t x = place(axes[2], q, s);
      if (x < 0)
        continue;
      if (whole && runs.size() > line)
        runs.back().length += groupInputs;
      else
        runs.push_back({(imageLine + static_cast<uint64_t>(x)) * sizes.inputs,
                        (filterLine + s) * groupInputs, groupInputs});
    }
  }

  ConvolutionSizes sizes;
  AxisSizes axes[3];
  /// Output positions of a sample; elements of a sample's image and of an output channel's filter.
  uint64_t positions, image, filter, groupInputs, groupOutputs;
  /// Of all positions; the first one of each.
  std::vector<Run> runs;
  std::vector<size_t> firstRun;
};

/// sums[j] = sum over i of x[i, j].
void addRows(float *sums, const float *x, uint64_t rows, uint64_t columns) {
  std::vector<double> exact(columns, 0);
  for (uint64_t row = 0; row < rows; ++row)
    addScaled(exact.data(), 1, x + row * columns, columns);
  std::copy(exact.begin(), exact.end(), sums);
}

/// Sums of a product's operand over k, `count` of them: it stands as [k, count], or as [count, k].
void sumOverDepth(float *sums, const void *operand, uint64_t count, uint64_t depth,
                  bool depthFirst) {
  const auto *x = static_cast<const float *>(operand);
  if (depthFirst)
    return addRows(sums, x, depth, count);
  for (uint64_t i = 0; i < count; ++i)
    sums[i] = static_cast<float>(std::accumulate(x + i * depth, x + (i + 1) * depth, 0.0));
}

/// Elements of the addend, which may lie where a product's result is going to be.
std::vector<float> copyAddend(const dlc_library_call &call, void *const *arguments) {
  if (!(call.epilogue & DLC_EPILOGUE_ADD))
    return {};
  const ResultShape shape = resultShape(call);
  const bool biased = call.epilogue & DLC_EPILOGUE_BIAS;
  const auto *addend = static_cast<const float *>(arguments[biased ? 4 : 3]);
  return {addend, addend + shape.rows * shape.columns};
}

/// The steps of an epilogue in the order of their bits, on the whole result.
void applyEpilogue(const dlc_library_call &call, void *const *arguments,
                   const std::vector<float> &addend) {
  if (call.epilogue == 0)
    return;
  const ResultShape shape = resultShape(call);
  const uint64_t count = shape.rows * shape.columns;
  auto *result = static_cast<float *>(arguments[0]);
  void *const *next = arguments + 3;
  if (call.epilogue & DLC_EPILOGUE_BIAS) {
    const auto *bias = static_cast<const float *>(*next++);
    for (uint64_t i = 0; i < count; ++i)
      result[i] += bias[i % shape.columns];
  }
  if (call.epilogue & DLC_EPILOGUE_ADD) {
    ++next;
    for (uint64_t i = 0; i < count; ++i)
      result[i] += addend[i];
  }
  if (call.epilogue & DLC_EPILOGUE_SUMS_A)
    sumOverDepth(static_cast<float *>(*next++), arguments[1], productSizes(call).m,
                 productSizes(call).k, call.transpose_a);
  if (call.epilogue & DLC_EPILOGUE_SUMS_B)
    sumOverDepth(static_cast<float *>(*next++), arguments[2], productSizes(call).n,
                 productSizes(call).k, !call.transpose_b);
}

/// A tensor of a convolution call as [outer, channels, space].
struct Turning {
  uint64_t outer, channels, pixels;
};

/// Of the tensors [images of batch, inputs; images of batch, outputs; filters].
Turning turningOf(const dlc_library_call &call, bool isFilter, bool isInput) {
  const ConvolutionSizes s = convolutionSizes(call);
  uint64_t AxisSizes::*extent = isFilter  ? &AxisSizes::filter
                                : isInput ? &AxisSizes::input
                                          : &AxisSizes::output;
  uint64_t pixels = 1;
  for (const AxisSizes &axis : s.axes)
    pixels *= axis.*extent;
  if (isFilter)
    return {s.outputs, s.inputs / s.groups, pixels};
  return {s.batch, isInput ? s.inputs : s.outputs, pixels};
}

/// In the order of the call's arguments: result, first, second.
std::array<Turning, 3> turningsOf(const dlc_library_call &call) {
  const Turning image = turningOf(call, false, true), output = turningOf(call, false, false),
                filter = turningOf(call, true, false);
  switch (call.op) {
  case DLC_CALL_CONVOLUTION:
    return {output, image, filter};
  case DLC_CALL_BACKWARD_DATA:
    return {image, output, filter};
  default:
    return {filter, output, image};
  }
}

/// The same elements with the channels innermost, or back.
std::vector<float> turn(const float *from, const Turning &t, bool toChannelsLast) {
  std::vector<float> to(t.outer * t.channels * t.pixels);
  for (uint64_t o = 0; o < t.outer; ++o)
    for (uint64_t c = 0; c < t.channels; ++c)
      for (uint64_t p = 0; p < t.pixels; ++p) {
        const uint64_t first = (o * t.channels + c) * t.pixels + p,
                       last = (o * t.pixels + p) * t.channels + c;
        to[toChannelsLast ? last : first] = from[toChannelsLast ? first : last];
      }
  return to;
}

/// To 10 bits behind the point, ties to even; infinities and NaN stay.
float roundToTf32(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (!std::isfinite(value))
    return value;
  bits += 0xfff + (bits >> 13 & 1);
  return std::bit_cast<float>(bits & ~uint32_t(0x1fff));
}

void runChannelsLast(const dlc_library_call &call, void *const *arguments, ThreadPool &pool) {
  auto *result = static_cast<float *>(arguments[0]);
  const auto *first = static_cast<const float *>(arguments[1]),
             *second = static_cast<const float *>(arguments[2]);
  const std::vector<float> addend = copyAddend(call, arguments);
  switch (call.op) {
  case DLC_CALL_PRODUCT: {
    const ProductSizes sizes = productSizes(call);
    parallel(pool, sizes.batch * sizes.m,
             [&](uint64_t row) { productRow(call, sizes, arguments, row); });
    break;
  }
  case DLC_CALL_CONVOLUTION:
    Convolution(call).forward(result, first, second, pool);
    break;
  case DLC_CALL_BACKWARD_DATA:
    Convolution(call).backwardData(result, first, second, pool);
    break;
  default:
    Convolution(call).backwardFilter(result, first, second, pool);
  }
  applyEpilogue(call, arguments, addend);
}

/// The call on tensors with channels last.
void runTurned(const dlc_library_call &call, void *const *arguments, ThreadPool &pool) {
  const std::array<Turning, 3> turnings = turningsOf(call);
  std::vector<void *> addresses(arguments, arguments + callArguments(call).size());
  std::vector<std::vector<float>> turned;
  auto replace = [&](size_t argument, const Turning &turning) {
    turned.push_back(turn(static_cast<const float *>(arguments[argument]), turning, true));
    addresses[argument] = turned.back().data();
  };
  for (size_t i = 1; i < 3; ++i)
    replace(i, turnings[i]);
  if (call.epilogue & DLC_EPILOGUE_ADD)
    replace(call.epilogue & DLC_EPILOGUE_BIAS ? 4 : 3, turnings[0]);
  std::vector<float> result(turnings[0].outer * turnings[0].channels * turnings[0].pixels);
  addresses[0] = result.data();
  dlc_library_call last = call;
  last.layout = DLC_CALL_CHANNELS_LAST;
  runChannelsLast(last, addresses.data(), pool);
  std::ranges::copy(turn(result.data(), turnings[0], false), static_cast<float *>(arguments[0]));
}

/// The call on operands that have been rounded.
void runRounded(const dlc_library_call &call, void *const *arguments, ThreadPool &pool) {
  const std::vector<CallArgument> described = callArguments(call);
  std::vector<void *> addresses(arguments, arguments + described.size());
  std::vector<float> operands[2];
  for (size_t i = 0; i < 2; ++i) {
    const auto *from = static_cast<const float *>(arguments[i + 1]);
    operands[i].assign(from, from + described[i + 1].bytes / sizeof(float));
    std::ranges::transform(operands[i], operands[i].begin(), roundToTf32);
    addresses[i + 1] = operands[i].data();
  }
  dlc_library_call strict = call;
  strict.math = DLC_MATH_STRICT;
  runLibraryCall(strict, addresses.data(), pool);
}

/// The call on tensors of 16 bits as f32, and what it writes rounded once.
void runWidened(const dlc_library_call &call, void *const *arguments, ThreadPool &pool) {
  const dlc_dtype dtype = callDtype(call);
  const uint64_t size = dtypeSize(dtype);
  const std::vector<CallArgument> described = callArguments(call);
  std::vector<void *> addresses(arguments, arguments + described.size());
  std::vector<std::vector<float>> tensors(described.size() - (call.workspace_bytes != 0));
  auto elementAt = [&](size_t argument, size_t element) {
    return static_cast<std::byte *>(arguments[argument]) + element * size;
  };
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].resize(described[i].bytes / size);
    for (size_t j = 0; j < tensors[i].size() && described[i].access == DLC_READ; ++j)
      tensors[i][j] = static_cast<float>(loadElement(dtype, elementAt(i, j)));
    addresses[i] = tensors[i].data();
  }
  dlc_library_call single = call;
  single.dtype = DLC_F32;
  runLibraryCall(single, addresses.data(), pool);
  for (size_t i = 0; i < tensors.size(); ++i)
    for (size_t j = 0; j < tensors[i].size() && described[i].access == DLC_WRITE; ++j)
      storeElement(dtype, tensors[i][j], elementAt(i, j));
}

} // namespace

void runLibraryCall(const dlc_library_call &call, void *const *arguments, ThreadPool &pool) {
  if (callDtype(call) != DLC_F32)
    return runWidened(call, arguments, pool);
  if (call.math == DLC_MATH_TF32)
    return runRounded(call, arguments, pool);
  if (call.layout == DLC_CALL_CHANNELS_FIRST)
    return runTurned(call, arguments, pool);
  runChannelsLast(call, arguments, pool);
}

} // namespace dlc::runtime
