//===- Kernels.cpp - our convolutions and matrix products against other libraries' -----------===//
//
// One thread, all sides interleaved in one run, medians; time is what the thread itself ran, so
// that other programs on the machine disturb little. Values are compared before anything is timed.
// Floors: the shares of oneDNN's speed that the project promises; with --check, missing one is an
// error. Beside it stands the share of what the machine multiplies and adds in registers, counting
// the operations of direct sums: Winograd's and Fourier transforms may exceed it. --conv-algorithm
// forces an algorithm, which shows what the cost model chooses between. --blocked keeps our images
// in blocks of channels, as oneDNN does. Filters are row-major, as a framework keeps them, and
// brought into an order of its own by each side; --prepared leaves out what inference does once,
// packing and transforming weights. Where libxsmm-dnn is built in it is a second rival, whose time
// leaves that out always; what it computes wrongly it is not timed at. A run of each comes before
// the timed ones, in which another begins each time. With --bf16 all tensors are of bf16 on both
// sides.
//
//===------------------------------------------------------------------------------------------===//
#include "bench/kernels/Libxsmm.h"
#include "bench/kernels/Native.h"
#include "bench/kernels/Peak.h"
#include "bench/kernels/Rival.h"
#include "runtime/Core/Initialise.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <llvm/Support/FormatVariadic.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace dlc::bench;

namespace {

struct Options {
  std::string filter, target = "native", algorithm = "heuristic";
  unsigned repetitions = 7;
  int64_t batch = 0; ///< of convolutions, 0: each its own
  bool json = false, check = false, blocked = false, prepared = false, half = false;
  dlc_dtype dtype() const { return half ? DLC_BF16 : DLC_F32; }
};

/// An image that one of our kernels keeps in blocks of channels; no pixels: it keeps it in plain
/// order.
struct Image {
  int64_t channels = 0, pixels = 0; ///< of all images of the batch together, and of one

  static constexpr int64_t block = 16;
  /// Where an element of the plain order stands.
  size_t place(size_t plain) const {
    if (pixels == 0)
      return plain;
    const size_t channel = plain / pixels;
    return (channel / block * pixels + plain % pixels) * block + channel % block;
  }
};

/// A kernel of ours, its rivals, and their operands.
struct Case {
  std::string name;
  double flops = 0;
  double floor = 0;                 ///< promised share of the rival's speed, 0: none
  std::array<Image, 3> images = {}; ///< of the buffers
  std::unique_ptr<NativeKernel> ours;
  std::unique_ptr<Rival> rival;                 ///< oneDNN's
  std::unique_ptr<Rival> libxsmm;               ///< null: it has none, or is not built in
  std::vector<std::unique_ptr<Buffer>> buffers; ///< operands, result
  size_t resultCount = 0;
};

struct Measurement {
  double ours = 0, rival = 0, libxsmm = 0; ///< median seconds
  double error = 0;                        ///< max |a - b| / max |b|
};

/// Compares and measures cases, and prints them.
class Benchmark {
public:
  explicit Benchmark(const Options &options) : options(options) {}

  void convolution(const std::string &name, Convolution problem, double floor);
  void linear(const std::string &name, Linear problem, double floor);
  bool succeeded() const { return ok; }

private:
  bool wanted(const std::string &name) const {
    return name.find(options.filter) != std::string::npos;
  }
  /// The type of such a tensor.
  std::string tensor(std::initializer_list<int64_t> shape) const;
  bool prepare(Case &c, const std::string &kernel, std::array<size_t, 3> counts);
  void linear(const std::string &name, Linear problem, Direction direction, double floor);
  void run(Case &c);
  void print(const Case &c, const Measurement &m);

  const Options &options;
  double peak = 0; ///< operations a second of one thread, measured when first needed
  bool ok = true;
};

} // namespace

static void fill(float *data, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = float(int(seed >> 8) % 2001 - 1000) * 1e-3f;
  }
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string Benchmark::tensor(std::initializer_list<int64_t> shape) const {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + (options.half ? "bf16>" : "f32>");
}

/// A type as it is stored, if that is in blocks of channels.
static std::string stored(const std::string &type, const Image &image) {
  if (image.pixels == 0)
    return type;
  return type.substr(0, type.size() - 1) +
         ", #program.layout<order = [0, 1, 2, 3], blocks = [1, 16]>>";
}

/// A kernel of one op on operands %a and %b, which are stored as `images` say, and so is its
/// result.
static std::string kernelText(const std::string &a, const std::string &b, const std::string &c,
                              const std::string &op, const std::array<Image, 3> &images = {}) {
  const std::string x = stored(a, images[0]), y = stored(b, images[1]), z = stored(c, images[2]);
  // What a value of the region is called behind its conversion.
  std::string converts;
  auto convert = [&](const std::string &from, const std::string &type, const std::string &other) {
    if (type == other)
      return from;
    converts +=
        "  %" + from + "_ = dl.convert_layout %" + from + " : " + type + " to " + other + "\n";
    return from + "_";
  };
  std::string operation = op;
  for (const auto &[name, type, other] : {std::tuple("a", x, a), std::tuple("b", y, b)}) {
    const std::string operand = "%" + std::string(name);
    operation.replace(operation.find(operand), operand.size(), "%" + convert(name, type, other));
  }
  converts += "  %c = " + operation + "\n";
  const std::string result = convert("c", c, z);
  return "%source:2 = builtin.unrealized_conversion_cast to " + x + ", " + y +
         "\n%out = dl.fused(%source#0, %source#1) : (" + x + ", " + y + ") -> " + z +
         " {\n^bb0(%a: " + x + ", %b: " + y + "):\n" + converts + "  dl.yield %" + result + " : " +
         z + "\n}\n";
}

/// What libxsmm-dnn recommends for AVX-512, and for less.
static int64_t libxsmmBlock(const NativeKernel &kernel) {
  return kernel.vectorBytes() == 64 ? 64 : 32;
}

bool Benchmark::prepare(Case &c, const std::string &kernel, std::array<size_t, 3> counts) {
  auto ours = NativeKernel::compile(kernel, options.target,
                                    *dlc::dl::symbolizeConvolutionAlgorithm(options.algorithm));
  if (!ours) {
    std::fprintf(stderr, "%s: %s\n", c.name.c_str(), llvm::toString(ours.takeError()).c_str());
    return ok = false;
  }
  c.ours = std::move(*ours);
  if (peak == 0)
    peak = measurePeakFlops(c.ours->vectorBytes() == 64, options.half);
  for (size_t count : counts)
    c.buffers.push_back(std::make_unique<Buffer>(4 * count));
  for (size_t operand : {0, 1})
    fill(c.buffers[operand]->data(), counts[operand], operand + 1);
  c.resultCount = counts[2];
  std::fill_n(c.buffers[2]->data(), c.resultCount, NAN);
  return true;
}

/// Where our kernel stores element `i` of the plain order.
static std::byte *placeOf(Buffer &buffer, size_t i, const Image &image, dlc_dtype dtype) {
  return reinterpret_cast<std::byte *>(buffer.data()) +
         image.place(i) * (dtype == DLC_BF16 ? 2 : 4);
}

/// From the plain order of f32 to that of `image`, as our kernel stores it.
static void bringInOrder(Buffer &buffer, size_t count, const Image &image, dlc_dtype dtype) {
  const std::vector<float> plain(buffer.data(), buffer.data() + count);
  for (size_t i = 0; i < count; ++i)
    dlc::runtime::storeElement(dtype, plain[i], placeOf(buffer, i, image, dtype));
}

void Benchmark::convolution(const std::string &name, Convolution p, double floor) {
  if (options.batch != 0)
    p.batch = options.batch;
  const std::string x = tensor({p.batch, p.inChannels, p.extent, p.extent}),
                    y = tensor({p.batch, p.outChannels, p.outExtent(), p.outExtent()}),
                    w = tensor({p.outChannels, p.inChannels / p.groups, p.kernel, p.kernel}),
                    pad = std::to_string(p.pad), stride = std::to_string(p.stride),
                    geometry = " %a, %b strides = [" + stride + ", " + stride + "] padding = [" +
                               pad + ", " + pad + ", " + pad + ", " + pad +
                               "] dilations = [1, 1] groups = " + std::to_string(p.groups) + " : ";
  const size_t xs = p.batch * p.inChannels * p.extent * p.extent,
               ys = p.batch * p.outChannels * p.outExtent() * p.outExtent(),
               ws = p.outChannels * p.inChannels / p.groups * p.kernel * p.kernel;
  auto image = [&](int64_t channels, int64_t extent) -> Image {
    const bool blocked = options.blocked && channels % Image::block == 0;
    return blocked ? Image{p.batch * channels, extent * extent} : Image();
  };
  const Image xi = image(p.inChannels, p.extent), yi = image(p.outChannels, p.outExtent()), wi;
  struct Way {
    const char *name;
    std::string kernel;
    std::array<size_t, 3> counts;
    std::array<Image, 3> images;
  };
  const std::string forward = "dl.convolution" + geometry + x + ", " + w,
                    data = "dl.convolution_backward_data" + geometry + y + ", " + w + " to " + x,
                    filter =
                        "dl.convolution_backward_filter" + geometry + x + ", " + y + " to " + w;
  const Way ways[] = {
      {"forward", kernelText(x, w, y, forward, {xi, wi, yi}), {xs, ws, ys}, {xi, wi, yi}},
      {"backward data", kernelText(y, w, x, data, {yi, wi, xi}), {ys, ws, xs}, {yi, wi, xi}},
      {"backward filter", kernelText(x, y, w, filter, {xi, yi, wi}), {xs, ys, ws}, {xi, yi, wi}}};
  for (int direction = 0; direction < 3; ++direction) {
    const Way &way = ways[direction];
    Case c;
    c.name = name + " " + way.name;
    c.floor = floor;
    c.flops = 2.0 * double(ys) * double(p.inChannels / p.groups * p.kernel * p.kernel);
    if (!wanted(c.name) || !prepare(c, way.kernel, way.counts))
      continue;
    c.rival = makeConvolutionRival(p, Direction(direction), options.half, c.buffers[0]->data(),
                                   c.buffers[1]->data());
    if (!options.half)
      c.libxsmm = makeLibxsmmConvolution(p, Direction(direction), libxsmmBlock(*c.ours),
                                         c.buffers[0]->data(), c.buffers[1]->data());
    c.images = way.images;
    for (size_t operand : {0, 1})
      bringInOrder(*c.buffers[operand], way.counts[operand], way.images[operand], options.dtype());
    run(c);
  }
}

/// One of a linear layer's three products.
void Benchmark::linear(const std::string &name, Linear p, Direction direction, double floor) {
  const bool forward = direction == Direction::Forward,
             transposeA = direction == Direction::BackwardFilter, transposeB = forward;
  const int64_t m = transposeA ? p.out : p.batch, n = forward ? p.out : p.in,
                k = forward      ? p.in
                    : transposeA ? p.batch
                                 : p.out;
  Case c;
  c.name = name;
  c.floor = floor;
  c.flops = 2.0 * double(m) * double(n) * double(k);
  const std::string a = transposeA ? tensor({k, m}) : tensor({m, k}),
                    b = transposeB ? tensor({n, k}) : tensor({k, n});
  std::string op = "dl.matmul %a, %b";
  op += transposeA ? " transpose_a" : "";
  op += transposeB ? " transpose_b" : "";
  if (!wanted(name) || !prepare(c, kernelText(a, b, tensor({m, n}), op + " : " + a + ", " + b),
                                {size_t(m * k), size_t(k * n), size_t(m * n)}))
    return;
  c.rival = makeMatmulRival(m, n, k, transposeA, transposeB, options.half, c.buffers[0]->data(),
                            c.buffers[1]->data());
  if (!options.half)
    c.libxsmm = makeLibxsmmLinear(p, direction, libxsmmBlock(*c.ours), c.buffers[0]->data(),
                                  c.buffers[1]->data());
  for (size_t operand : {0, 1})
    bringInOrder(*c.buffers[operand], size_t(operand == 0 ? m * k : k * n), Image(),
                 options.dtype());
  run(c);
}

void Benchmark::linear(const std::string &name, Linear problem, double floor) {
  linear(name + " forward", problem, Direction::Forward, floor);
  linear(name + " backward data", problem, Direction::BackwardData, floor);
  linear(name + " backward filter", problem, Direction::BackwardFilter, floor);
}

static double compare(const std::vector<float> &actual, const std::vector<float> &expected) {
  double error = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double difference = std::fabs(double(actual[i]) - double(expected[i]));
    error = std::isfinite(difference) ? std::max(error, difference) : INFINITY;
    largest = std::max(largest, std::fabs(double(expected[i])));
  }
  return error / largest;
}

void Benchmark::run(Case &c) {
  if (!c.rival) {
    std::fprintf(stderr, "%s: oneDNN has no such primitive for this processor\n", c.name.c_str());
    ok = false;
    return;
  }
  std::vector<void *> arguments;
  for (auto &buffer : c.buffers)
    arguments.push_back(buffer->data());
  c.ours->run(arguments);
  std::vector<float> expected(c.resultCount), computed(c.resultCount);
  for (size_t i = 0; i < c.resultCount; ++i)
    computed[i] = float(dlc::runtime::loadElement(
        options.dtype(), placeOf(*c.buffers.back(), i, c.images[2], options.dtype())));
  c.rival->run(/*prepared=*/false);
  c.rival->result(expected.data());
  Measurement m;
  m.error = compare(computed, expected);
  // Two ways of adding up thousands of float32 products; minimal filtering errs up to ten times as
  // much as that (codegen/CPU/Winograd/Winograd.h). Two results of bf16 are an ulp apart where one
  // rounds up and the other one down.
  const bool filters =
      c.ours->selection().candidate.algorithm == dlc::codegen::ConvolutionAlgorithm::Winograd;
  const double sums = 3e-5, rounding = options.half ? 1.0 / 128 : 0,
               tolerance = rounding + (filters ? 3e-4 : sums);
  if (!(m.error <= tolerance)) {
    std::fprintf(stderr, "%s: wrong values, error %g\n", c.name.c_str(), m.error);
    ok = false;
    return;
  }
  if (c.libxsmm) {
    c.libxsmm->run(/*prepared=*/true);
    std::vector<float> found(c.resultCount);
    c.libxsmm->result(found.data());
    if (const double error = compare(found, expected); !(error <= sums)) {
      std::fprintf(stderr, "%s: libxsmm-dnn is left out: wrong values, error %g\n", c.name.c_str(),
                   error);
      c.libxsmm.reset();
    }
  }
  struct Side {
    std::function<void()> run;
    double *median;
    std::vector<double> seconds;
  };
  std::vector<Side> sides = {{[&] { c.ours->run(arguments, options.prepared); }, &m.ours, {}},
                             {[&] { c.rival->run(options.prepared); }, &m.rival, {}}};
  if (c.libxsmm)
    sides.push_back({[&] { c.libxsmm->run(/*prepared=*/true); }, &m.libxsmm, {}});
  for (unsigned i = 0; i < options.repetitions; ++i)
    for (size_t turn = 0; turn < sides.size(); ++turn) {
      Side &side = sides[(i + turn) % sides.size()];
      const double start = threadSeconds();
      side.run();
      side.seconds.push_back(threadSeconds() - start);
    }
  for (const Side &side : sides)
    *side.median = median(side.seconds);
  if (options.check && m.rival / m.ours < c.floor)
    ok = false;
  print(c, m);
}

void Benchmark::print(const Case &c, const Measurement &m) {
  const auto &selection = c.ours->selection();
  const double ofPeak = c.flops / m.ours / peak;
  if (options.json) {
    nlohmann::json line = {{"name", c.name},
                           {"ours_ms", m.ours * 1e3},
                           {"onednn_ms", m.rival * 1e3},
                           {"ratio", m.rival / m.ours},
                           {"floor", c.floor},
                           {"gflops", c.flops / m.ours * 1e-9},
                           {"onednn_gflops", c.flops / m.rival * 1e-9},
                           {"peak_gflops", peak * 1e-9},
                           {"share_of_peak", ofPeak},
                           {"error", m.error},
                           {"estimated_ms", selection.candidate.cost * 1e3},
                           {"compile_ms", c.ours->compileSeconds() * 1e3},
                           {"schedule", selection.candidate.schedule},
                           {"rival", c.rival->name()}};
    if (c.libxsmm) {
      line["libxsmm_ms"] = m.libxsmm * 1e3;
      line["libxsmm_gflops"] = c.flops / m.libxsmm * 1e-9;
      line["libxsmm_ratio"] = m.libxsmm / m.ours;
      line["second_rival"] = c.libxsmm->name();
    }
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::string libxsmm;
    if (c.libxsmm)
      libxsmm = llvm::formatv("  libxsmm-dnn {0,7:F1} GFLOP/s  share {1:F2}",
                              c.flops / m.libxsmm * 1e-9, m.libxsmm / m.ours);
    std::printf("%-44s %9.3f ms (estimated %.3f) %7.1f GFLOP/s, %.2f of peak  onednn %7.1f GFLOP/s "
                " share %.2f%s%s  error %.0e  compiled in %.0f ms  %s\n",
                c.name.c_str(), m.ours * 1e3, selection.candidate.cost * 1e3,
                c.flops / m.ours * 1e-9, ofPeak, c.flops / m.rival * 1e-9, m.rival / m.ours,
                m.rival / m.ours < c.floor ? " (below floor)" : "", libxsmm.c_str(), m.error,
                c.ours->compileSeconds() * 1e3, selection.candidate.schedule.c_str());
  }
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  // oneDNN's OpenMP reads this once, before main, and so does malloc: all sides ask for huge pages,
  // as dlc's runtime does.
  if (!getenv("OMP_NUM_THREADS") || !getenv("GLIBC_TUNABLES")) {
    setenv("OMP_NUM_THREADS", "1", 0);
    setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);
    execv("/proc/self/exe", argv);
  }
  Options options;
  CLI::App app("Our kernels against other libraries', one thread.");
  app.add_option("--filter", options.filter, "only cases whose name holds this");
  app.add_option("--target", options.target, "native, avx2 or avx512");
  app.add_option("--conv-algorithm", options.algorithm,
                 "heuristic (default), direct, gemm, winograd or fft, where it can run")
      ->check(CLI::IsMember({"heuristic", "direct", "gemm", "winograd", "fft"}));
  app.add_option("--repetitions", options.repetitions, "runs of each side; medians are printed");
  app.add_option("--batch", options.batch, "of all convolutions");
  app.add_flag("--blocked", options.blocked,
               "our images in blocks of 16 channels, where those fit");
  app.add_flag("--prepared", options.prepared, "without packing and transforming weights");
  app.add_flag("--bf16", options.half, "tensors of bf16 on both sides");
  app.add_flag("--json", options.json, "one JSON object a line");
  app.add_flag("--check", options.check, "fail below the promised shares");
  CLI11_PARSE(app, argc, argv);
  Benchmark bench(options);
  const double convolutions = 0.7, products = 0.8;
  bench.convolution("alexnet 5x5 96->256 27x27", {16, 96, 256, 27, 5, 2, 1}, convolutions);
  bench.convolution("alexnet 5x5 64->192 27x27", {64, 64, 192, 27, 5, 2, 1}, 0);
  bench.convolution("alexnet 3x3 256->384 13x13", {16, 256, 384, 13, 3, 1, 1}, convolutions);
  bench.convolution("resnet 3x3 64->64 56x56", {16, 64, 64, 56, 3, 1, 1}, convolutions);
  bench.convolution("resnet 1x1 256->64 56x56", {16, 256, 64, 56, 1, 0, 1}, convolutions);
  bench.linear("linear 1024x9216x4096", {1024, 9216, 4096}, products);
  bench.convolution("resnet 1x1 64->256 56x56", {16, 64, 256, 56, 1, 0, 1}, 0);
  bench.convolution("resnet 1x1 512->128 28x28", {16, 512, 128, 28, 1, 0, 1}, 0);
  bench.convolution("resnet 1x1 256->1024 14x14", {16, 256, 1024, 14, 1, 0, 1}, 0);
  bench.convolution("resnet 1x1 1024->256 14x14", {16, 1024, 256, 14, 1, 0, 1}, 0);
  bench.convolution("resnet 1x1 512->2048 7x7", {16, 512, 2048, 7, 1, 0, 1}, 0);
  bench.convolution("resnet 1x1 2048->512 7x7", {16, 2048, 512, 7, 1, 0, 1}, 0);
  bench.convolution("resnet 3x3 512->512 7x7", {16, 512, 512, 7, 3, 1, 1}, 0);
  bench.convolution("resnet 7x7 3->64 224x224 stride 2", {16, 3, 64, 224, 7, 3, 2}, 0);
  bench.convolution("resnet 3x3 128->128 28x28", {16, 128, 128, 28, 3, 1, 1}, 0);
  bench.convolution("resnet 3x3 256->256 14x14", {16, 256, 256, 14, 3, 1, 1}, 0);
  bench.convolution("resnet 3x3 128->128 56x56 stride 2", {16, 128, 128, 56, 3, 1, 2}, 0);
  bench.convolution("resnet 1x1 256->512 56x56 stride 2", {16, 256, 512, 56, 1, 0, 2}, 0);
  bench.convolution("resnet 1x1 64->64 56x56", {16, 64, 64, 56, 1, 0, 1}, 0);
  bench.convolution("resnet 1x1 256->128 56x56", {16, 256, 128, 56, 1, 0, 1}, 0);
  bench.convolution("resnet 1x1 512->256 28x28", {16, 512, 256, 28, 1, 0, 1}, 0);
  bench.convolution("resnet 1x1 1024->512 14x14", {16, 1024, 512, 14, 1, 0, 1}, 0);
  bench.convolution("resnet 1x1 512->1024 28x28 stride 2", {16, 512, 1024, 28, 1, 0, 2}, 0);
  bench.convolution("resnet 1x1 1024->2048 14x14 stride 2", {16, 1024, 2048, 14, 1, 0, 2}, 0);
  bench.convolution("resnet 3x3 256->256 28x28 stride 2", {16, 256, 256, 28, 3, 1, 2}, 0);
  bench.convolution("resnet 3x3 512->512 14x14 stride 2", {16, 512, 512, 14, 3, 1, 2}, 0);
  bench.convolution("alexnet 11x11 3->64 224x224 stride 4", {16, 3, 64, 224, 11, 2, 4}, 0);
  bench.convolution("alexnet 3x3 192->384 13x13", {16, 192, 384, 13, 3, 1, 1}, 0);
  bench.convolution("alexnet 3x3 384->256 13x13", {16, 384, 256, 13, 3, 1, 1}, 0);
  bench.convolution("alexnet 3x3 256->256 13x13", {16, 256, 256, 13, 3, 1, 1}, 0);
  bench.convolution("vgg 3x3 3->64 224x224", {4, 3, 64, 224, 3, 1, 1}, 0);
  bench.convolution("vgg 3x3 64->64 224x224", {4, 64, 64, 224, 3, 1, 1}, 0);
  bench.convolution("vgg 3x3 64->128 112x112", {4, 64, 128, 112, 3, 1, 1}, 0);
  bench.convolution("vgg 3x3 128->128 112x112", {4, 128, 128, 112, 3, 1, 1}, 0);
  bench.convolution("vgg 3x3 128->256 56x56", {4, 128, 256, 56, 3, 1, 1}, 0);
  bench.convolution("vgg 3x3 256->256 56x56", {4, 256, 256, 56, 3, 1, 1}, 0);
  bench.convolution("vgg 3x3 256->512 28x28", {4, 256, 512, 28, 3, 1, 1}, 0);
  bench.convolution("vgg 3x3 512->512 28x28", {4, 512, 512, 28, 3, 1, 1}, 0);
  bench.convolution("vgg 3x3 512->512 14x14", {4, 512, 512, 14, 3, 1, 1}, 0);
  bench.convolution("mobilenet 3x3 32 112x112", {16, 32, 32, 112, 3, 1, 1, 32}, 0);
  bench.convolution("mobilenet 3x3 96 112x112 stride 2", {16, 96, 96, 112, 3, 1, 2, 96}, 0);
  bench.convolution("mobilenet 3x3 144 56x56", {16, 144, 144, 56, 3, 1, 1, 144}, 0);
  bench.convolution("mobilenet 3x3 192 28x28", {16, 192, 192, 28, 3, 1, 1, 192}, 0);
  bench.convolution("mobilenet 3x3 576 14x14", {16, 576, 576, 14, 3, 1, 1, 576}, 0);
  bench.convolution("mobilenet 3x3 576 14x14 stride 2", {16, 576, 576, 14, 3, 1, 2, 576}, 0);
  bench.convolution("mobilenet 3x3 960 7x7", {16, 960, 960, 7, 3, 1, 1, 960}, 0);
  bench.convolution("depthwise 5x5 240 28x28", {16, 240, 240, 28, 5, 2, 1, 240}, 0);
  bench.convolution("lenet 5x5 1->20 28x28", {64, 1, 20, 28, 5, 0, 1}, 0);
  bench.convolution("lenet 5x5 20->50 12x12", {64, 20, 50, 12, 5, 0, 1}, 0);
  bench.linear("lenet 64x800x500", {64, 800, 500}, 0);
  bench.linear("lenet 64x500x10", {64, 500, 10}, 0);
  return bench.succeeded() ? 0 : 1;
}
