// Our kernels against oneDNN's on one thread, interleaved in one run. Values are compared before anything is timed.
#include "bench/kernels/Native.h"
#include "bench/kernels/Rival.h"
#include "codegen/CPU/Gemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cmath>
#include <unistd.h>

using namespace dlc;
using namespace dlc::codegen;
using Direction = ConvolutionProblem::Direction;

static llvm::cl::opt<std::string> filter("filter", llvm::cl::desc("only cases whose name holds this"));
static llvm::cl::opt<std::string> dump("dump", llvm::cl::desc("folder for the kernels' code"));
static llvm::cl::opt<unsigned> repetitions("repetitions", llvm::cl::init(7));
static llvm::cl::opt<bool> alone("alone", llvm::cl::desc("without the rival"));

/// Time that this thread has run: other programs on the machine do not count.
static double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

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

static std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect,
                  mlir::LLVM::LLVMDialect, mlir::cf::ControlFlowDialect>();
  auto context = std::make_unique<mlir::MLIRContext>(registry);
  context->loadAllAvailableDialects();
  return context;
}

static StridedTensor rowMajor(unsigned argument, llvm::ArrayRef<int64_t> shape) {
  StridedTensor tensor{argument, llvm::SmallVector<int64_t>(shape.size(), 1)};
  for (size_t i = shape.size() - 1; i-- > 0;)
    tensor.strides[i] = tensor.strides[i + 1] * shape[i + 1];
  return tensor;
}

struct Case {
  std::string name;
  double flops;
  std::unique_ptr<bench::NativeKernel> ours;
  std::unique_ptr<bench::Rival> rival;
  std::vector<std::unique_ptr<bench::Buffer>> buffers;
  size_t resultCount = 0;
};

static void report(Case &c) {
  std::vector<void *> arguments;
  for (auto &buffer : c.buffers)
    arguments.push_back(buffer->data());
  c.ours->run(arguments);
  std::vector<float> expected(c.resultCount);
  c.rival->run();
  c.rival->result(expected.data());
  double error = 0, largest = 0;
  const float *actual = c.buffers.back()->data();
  for (size_t i = 0; i < c.resultCount; ++i) {
    error = std::fmax(error, std::isfinite(actual[i]) ? std::fabs(actual[i] - expected[i]) : 1e30);
    largest = std::fmax(largest, std::fabs(expected[i]));
  }
  std::vector<double> mine, theirs;
  for (unsigned i = 0; i < repetitions; ++i) {
    double t0 = now();
    c.ours->run(arguments);
    double t1 = now();
    if (!alone)
      c.rival->run();
    mine.push_back(t1 - t0);
    theirs.push_back(now() - t1);
  }
  double a = median(mine), b = median(theirs);
  double ma=*std::min_element(mine.begin(),mine.end()), mb=*std::min_element(theirs.begin(),theirs.end());
  llvm::outs() << llvm::format("best %6.1f vs %6.1f = %.2f | ", c.flops/ma*1e-9, c.flops/mb*1e-9, mb/ma);
  llvm::outs() << llvm::format("%-40s %8.2f ms %7.1f GF/s  onednn %7.1f GF/s  ratio %.2f  error %.1e  "
                               "compile %.0f ms (%.0f %.0f %.0f %.0f)\n",
                               c.name.c_str(), a * 1e3, c.flops / a * 1e-9, c.flops / b * 1e-9,
                               b / a, error / largest, c.ours->compileSeconds() * 1e3,
                               c.ours->phaseSeconds[0] * 1e3, c.ours->phaseSeconds[1] * 1e3,
                               c.ours->phaseSeconds[2] * 1e3, c.ours->phaseSeconds[3] * 1e3);
  llvm::outs().flush();
}

static size_t product(llvm::ArrayRef<int64_t> shape) {
  size_t result = 1;
  for (int64_t extent : shape)
    result *= size_t(extent);
  return result;
}

static void runConvolution(const std::string &name, ConvolutionProblem p) {
  const char *directions[] = {"forward", "backward_data", "backward_filter"};
  auto out = p.output();
  llvm::SmallVector<int64_t> x{p.batch, p.inChannels, p.input[0], p.input[1], p.input[2]},
      y{p.batch, p.outChannels, out[0], out[1], out[2]},
      w{p.outChannels, p.inChannels, p.kernel[0], p.kernel[1], p.kernel[2]};
  for (int d = 0; d < 3; ++d) {
    Case c;
    c.name = name + " " + directions[d];
    if (c.name.find(filter) == std::string::npos)
      continue;
    p.direction = Direction(d);
    llvm::SmallVector<int64_t> shapes[3] = {d == 1 ? y : x, d == 2 ? y : w,
                                            d == 0 ? y : d == 1 ? x : w};
    for (auto &shape : shapes)
      c.buffers.push_back(std::make_unique<bench::Buffer>(product(shape) * 4));
    fill(c.buffers[0]->data(), product(shapes[0]), 1);
    fill(c.buffers[1]->data(), product(shapes[1]), 2);
    c.resultCount = product(shapes[2]);
    std::fill_n(c.buffers[2]->data(), c.resultCount, NAN);
    c.flops = 2.0 * p.batch * p.outChannels * p.inChannels / p.groups * product(p.kernel) *
              product(out);
    auto context = makeContext();
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::ModuleOp::create(mlir::UnknownLoc::get(context.get()));
    ConvolutionOperands operands{Source::of(rowMajor(0, shapes[0])),
                                 Source::of(rowMajor(1, shapes[1])),
                                 Sink::of(rowMajor(2, shapes[2])), 3};
    std::string symbol = c.name;
    for (char &letter : symbol)
      letter = std::isalnum(letter) ? letter : '_';
    auto kernel = emitConvolution(*module, symbol, p, operands, bench::hostModel());
    c.ours = std::make_unique<bench::NativeKernel>(*module, kernel, dump);
    c.rival = bench::makeConvolutionRival(p, c.buffers[0]->data(), c.buffers[1]->data());
    report(c);
  }
}

static StridedTensor matrix(unsigned argument, int64_t rows, int64_t columns, bool transposed) {
  return {argument, {rows * columns, transposed ? 1 : columns, transposed ? rows : 1}};
}

static void runGemm(const std::string &name, GemmProblem p) {
  Case c;
  c.name = name;
  if (c.name.find(filter) == std::string::npos)
    return;
  for (int64_t count : {p.m * p.k, p.k * p.n, p.m * p.n})
    c.buffers.push_back(std::make_unique<bench::Buffer>(size_t(count) * 4));
  fill(c.buffers[0]->data(), size_t(p.m * p.k), 1);
  fill(c.buffers[1]->data(), size_t(p.k * p.n), 2);
  c.resultCount = size_t(p.m * p.n);
  std::fill_n(c.buffers[2]->data(), c.resultCount, NAN);
  c.flops = 2.0 * p.m * p.n * p.k;
  auto context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(context.get()));
  GemmOperands operands{Source::of(matrix(0, p.m, p.k, p.transposeA)),
                        Source::of(matrix(1, p.k, p.n, p.transposeB)),
                        Sink::of(matrix(2, p.m, p.n, false)), 3};
  std::string symbol = c.name;
  for (char &letter : symbol)
    letter = std::isalnum(letter) ? letter : '_';
  auto kernel = emitGemm(*module, symbol, p, operands, bench::hostModel(),
                         chooseGemmSchedule(p, bench::hostModel()));
  c.ours = std::make_unique<bench::NativeKernel>(*module, kernel, dump);
  c.rival = bench::makeMatmulRival(p.m, p.n, p.k, p.transposeA, p.transposeB,
                                   c.buffers[0]->data(), c.buffers[1]->data());
  report(c);
}

/// A linear layer's three products: y = x w^T, dx = dy w, dw = dy^T x, with w (out, in).
static void runLinear(const std::string &name, int64_t batch, int64_t in, int64_t out) {
  runGemm(name + " forward", {1, batch, out, in, false, true});
  runGemm(name + " backward_data", {1, batch, in, out, false, false});
  runGemm(name + " backward_filter", {1, out, in, batch, true, false});
}

static ConvolutionProblem square(int64_t batch, int64_t in, int64_t out, int64_t extent,
                                 int64_t kernel, int64_t pad, int64_t stride = 1) {
  ConvolutionProblem p;
  p.batch = batch, p.inChannels = in, p.outChannels = out;
  p.input = {1, extent, extent};
  p.kernel = {1, kernel, kernel};
  p.padLow = p.padHigh = {0, pad, pad};
  p.stride = {1, stride, stride};
  return p;
}

int main(int argc, char **argv) {
  // oneDNN's OpenMP reads this once, before main.
  if (!getenv("OMP_NUM_THREADS")) {
    setenv("OMP_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
  }
  llvm::cl::ParseCommandLineOptions(argc, argv);
  runConvolution("alexnet conv2 5x5 96->256 27x27", square(16, 96, 256, 27, 5, 2));
  runConvolution("alexnet conv3 3x3 256->384 13x13", square(16, 256, 384, 13, 3, 1));
  runConvolution("resnet 3x3 64->64 56x56", square(16, 64, 64, 56, 3, 1));
  runConvolution("resnet 1x1 256->64 56x56", square(16, 256, 64, 56, 1, 0));
  runConvolution("lenet 5x5 1->20 28x28", square(64, 1, 20, 28, 5, 0));
  runConvolution("lenet 5x5 20->50 12x12", square(64, 20, 50, 12, 5, 0));
  runConvolution("resnet 3x3 128->128 56x56 stride 2", square(16, 128, 128, 56, 3, 1, 2));
  runLinear("linear 1024x9216x4096", 1024, 9216, 4096);
  runLinear("lenet linear 64x800x500", 64, 800, 500);
  runLinear("lenet linear 64x500x10", 64, 500, 10);
  runGemm("gemm 128x128x50176", {1, 128, 128, 50176, false, false});
  return 0;
}
