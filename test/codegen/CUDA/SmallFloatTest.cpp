//===- SmallFloatTest.cpp - bf16 and f16 in CUDA kernels, on the SIMT device and through NVRTC ===//
//
// They lie in memory in the types of NVIDIA's headers, so these tests need a toolkit's.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/CpuTarget.h"
#include "codegen/CUDA/Compile/Headers.h"
#include "codegen/CUDA/Compile/Nvrtc.h"
#include "codegen/CUDA/CudaTarget.h"
#include "test/codegen/Harness.h"
#include "llvm/ADT/APFloat.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace dlc;
using namespace dlc::codegen;
using namespace dlc::test;

namespace {

/// One of the two types.
struct SmallFloat {
  std::string name;
  const llvm::fltSemantics &semantics;
  double unit; ///< half the distance from 1 to its neighbour

  /// The value of a bit pattern.
  double value(uint16_t bits) const {
    llvm::APFloat number(semantics, llvm::APInt(16, bits));
    bool lost;
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return number.convertToDouble();
  }
  double rounded(double value) const {
    llvm::APFloat number(value);
    bool lost;
    number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
    return this->value(number.bitcastToAPInt().getZExtValue());
  }
};

const SmallFloat types[] = {{"bf16", llvm::APFloat::BFloat(), 1.0 / 256},
                            {"f16", llvm::APFloat::IEEEhalf(), 1.0 / 2048}};

class CudaSmallFloat : public testing::TestWithParam<SmallFloat> {
protected:
  void SetUp() override {
    if (llvm::Expected<CudaHeaders> headers = CudaHeaders::find(); !headers)
      GTEST_SKIP() << llvm::toString(headers.takeError());
  }
};

/// A kernel, the generator that is to make it, and how many roundings lie between it and the exact
/// result.
struct Case {
  KernelSource source;
  std::string generator;
  double roundings = 1;
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Types, CudaSmallFloat, testing::ValuesIn(types),
                         [](auto &info) { return info.param.name; });

/// `source` with the type where it says T.
static KernelSource with(const SmallFloat &type, KernelSource source) {
  for (std::string *text : {&source.operands, &source.results, &source.block})
    for (const std::string before : {"x", "<"})
      for (const std::string after : {">", ","})
        for (size_t at; (at = text->find(before + "T" + after)) != std::string::npos;)
          text->replace(at + 1, 1, type.name);
  return source;
}

/// The sign of zero counts, what kind of not-a-number does not: GPUs have one of their own.
static bool sameBits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

/// On this processor: where it rounds to bf16 by an instruction denormal numbers are 0.
static bool sameHere(const SmallFloat &type, double a, double b) {
  static const bool flushes = llvm::cantFail(CpuTarget::get("native")).roundsToBF16;
  return sameBits(a, b) || (flushes && type.name == "bf16" && std::abs(a - b) <= 0x1p-126);
}

//===- Values ---------------------------------------------------------------------------------===//

static KernelSource product(const std::string &a, const std::string &b, const std::string &c,
                            const std::string &n, const std::string &transposed) {
  const std::string A = "tensor<" + a + "xT>", B = "tensor<" + b + "xT>", C = "tensor<" + c + "xT>",
                    V = "tensor<" + n + "xT>";
  return {A + ", " + B + ", " + V, C,
          "^bb0(%a: " + A + ", %b: " + B + ", %v: " + V + "):\n %0 = dl.matmul %a, %b" +
              transposed + " : " + A + ", " + B + "\n %1 = dl.broadcast %v dims = [2] : " + V +
              " to " + C + "\n %2 = dl.add %0, %1 : " + C + "\n %3 = dl.relu %2 : " + C +
              "\n dl.yield %3 : " + C};
}

static KernelSource reduce(const std::string &kind, const std::string &from, const std::string &to,
                           const std::string &axes) {
  return {"tensor<" + from + "xT>", "tensor<" + to + "xT>",
          "^bb0(%x: tensor<" + from + "xT>):\n %0 = dl.reduce " + kind + " %x axes = [" + axes +
              "] : tensor<" + from + "xT>\n dl.yield %0 : tensor<" + to + "xT>"};
}

/// An op of one or two operands and nothing else; the ends of its lines are its attributes and
/// types.
static KernelSource single(const std::string &op, std::vector<std::string> operands,
                           const std::string &result, const std::string &attributes,
                           bool namesResult = false) {
  std::string types, arguments, names;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string comma = i ? ", " : "", name = "%x" + std::to_string(i);
    types += comma + operands[i];
    arguments += comma + name + ": " + operands[i];
    names += comma + name;
  }
  return {types, result,
          "^bb0(" + arguments + "):\n %0 = dl." + op + " " + names + attributes + " : " + types +
              (namesResult ? " to " + result : "") + "\n dl.yield %0 : " + result};
}

static std::vector<Case> reductions() {
  return {{reduce("sum", "5x7", "5", "1"), "cuda-reduce"},
          {reduce("sum", "2x9001", "2", "1"), "cuda-reduce"}, // in several parts
          {reduce("sum", "64x10", "10", "0"), "cuda-reduce"},
          {reduce("max", "2x9001", "2", "1"), "cuda-reduce", 0},
          {reduce("min", "33x70", "70", "0"), "cuda-reduce", 0},
          // In front and behind, of which the front is a result itself.
          {{"tensor<8x6x5xT>, tensor<8x6x5xT>, tensor<6xT>", "tensor<8x6x5xT>, tensor<6xT>", R"(
^bb0(%x: tensor<8x6x5xT>, %d: tensor<8x6x5xT>, %s: tensor<6xT>):
  %m = dl.multiply %x, %d : tensor<8x6x5xT>
  %db = dl.reduce sum %m axes = [0, 2] : tensor<8x6x5xT>
  %1 = dl.multiply %db, %s : tensor<6xT>
  dl.yield %m, %1 : tensor<8x6x5xT>, tensor<6xT>)"},
           "cuda-reduce",
           3},
          {{"tensor<4x6xT>", "tensor<6x4xT>", R"(
^bb0(%x: tensor<4x6xT>):
  %0 = dl.reduce sum %x axes = [1] : tensor<4x6xT>
  %1 = dl.broadcast %0 dims = [0] : tensor<4xT> to tensor<4x6xT>
  %2 = dl.subtract %x, %1 : tensor<4x6xT>
  %3 = dl.transpose %2 order = [1, 0] : tensor<4x6xT>
  dl.yield %3 : tensor<6x4xT>)"},
           "cuda-elements",
           2}};
}

static std::vector<Case> products() {
  std::vector<Case> all;
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      const std::string transposed =
          std::string(ta ? " transpose_a" : "") + (tb ? " transpose_b" : "");
      all.push_back({product(ta ? "2x44x20" : "2x20x44", tb ? "2x36x44" : "2x44x36", "2x20x36",
                             "36", transposed),
                     "cuda-product", 2});
    }
  // Rows that are not whole quads.
  all.push_back({product("1x37x19", "1x19x70", "1x37x70", "70", ""), "cuda-product", 2});
  // k is split: sums meet in the workspace.
  all.push_back({product("1x5x1030", "1x7x1030", "1x5x7", "7", " transpose_b"), "cuda-product", 2});
  all.push_back({product("3x5x7", "3x7x4", "3x5x4", "4", ""), "cuda-elements", 2});
  const std::string x = "tensor<2x4x9x8xT>", w = "tensor<6x2x3x2xT>", y = "tensor<2x6x4x9xT>",
                    attributes =
                        " strides = [2, 1] padding = [1, 0, 2, 1] dilations = [1, 2] groups = 2";
  for (const char *generator : {"cuda-product", "cuda-elements"}) {
    all.push_back({single("convolution", {x, w}, y, attributes), generator});
    all.push_back({single("convolution_backward_data", {y, w}, x, attributes, true), generator});
    all.push_back({single("convolution_backward_filter", {x, y}, w, attributes, true), generator});
  }
  return all;
}

static const std::string
    pooled = "tensor<1x4x13x15xT>",
    pools = "tensor<1x4x7x8xT>", places = "tensor<1x4x7x8xui8>",
    pool = " kernel = [3, 3] strides = [2, 2] padding = [1, 1, 0, 1] dilations = [1, 1]";

static KernelSource maxPool() {
  return {pooled, pools + ", " + places,
          "^bb0(%x: " + pooled + "):\n %y, %i = dl.max_pool %x" + pool + " : " + pooled + " -> " +
              pools + ", " + places + "\n dl.yield %y, %i : " + pools + ", " + places};
}
static KernelSource maxPoolBackward() {
  return single("max_pool_backward", {pools, places}, pooled, pool, true);
}
static KernelSource maxPoolGather() {
  return single("max_pool_gather", {pooled, places}, pools, pool, true);
}

static std::vector<Case> others() {
  std::vector<Case> all;
  all.push_back({maxPool(), "cuda-window", 0});
  const std::string x = pooled, y = pools;
  all.push_back({{x, y,
                  "^bb0(%x: " + x + "):\n %y = dl.average_pool %x" + pool + " : " + x + " -> " + y +
                      "\n dl.yield %y : " + y},
                 "cuda-window"});
  for (const char *generator : {"cuda-sliding-sum", "cuda-elements"})
    all.push_back({single("sliding_sum", {x}, x, " axis = 2 before = 3 after = 1"), generator});
  all.push_back({single("average_pool_backward", {y}, x, pool, true), "cuda-window"});
  all.push_back(
      {single("transpose", {"tensor<3x37x5x41xT>"}, "tensor<3x41x5x37xT>", " order = [0, 3, 2, 1]"),
       "cuda-transpose", 0});
  all.push_back({single("transpose", {"tensor<3x4x5xT>"}, "tensor<4x3x5xT>", " order = [1, 0, 2]"),
                 "cuda-elements", 0});
  const std::string logits = "tensor<5x37xT>", row = "tensor<5xT>", label = "tensor<5xi32>";
  for (const char *generator : {"cuda-row-passes", "cuda-elements"}) {
    all.push_back({single("softmax_cross_entropy", {logits, label}, row, " axis = 1"), generator});
    all.push_back({single("accuracy", {logits, label}, row, " axis = 1"), generator, 0});
    all.push_back(
        {single("softmax_cross_entropy_backward", {row, logits, label}, logits, " axis = 1"),
         generator});
  }
  // One op, one rounding, whatever it is made of.
  all.push_back({single("sigmoid", {"tensor<37xT>"}, "tensor<37xT>", ""), "cuda-map"});
  // A permuted layout, and a padded one.
  for (std::string layout : {"order = [0, 2, 1]", "order = [0, 2, 1], blocks = [1, 4, 2, 2]"}) {
    const std::string type = "tensor<2x5x3xT, #program.layout<" + layout + ">>";
    all.push_back({{type, type,
                    "^bb0(%x: " + type + "):\n %0 = dl.multiply %x, %x : " + type +
                        "\n dl.yield %0 : " + type},
                   "cuda-elements"});
  }
  // Math, constants and other types beside, over a size that leaves a tail of quads.
  all.push_back({{"tensor<37xT>, tensor<37xf32>, tensor<37xi1>, tensor<T>",
                  "tensor<37xT>, tensor<37xf32>", R"(
^bb0(%x: tensor<37xT>, %y: tensor<37xf32>, %m: tensor<37xi1>, %s: tensor<T>):
  %c = dl.constant dense<0.75> : tensor<37xT>
  %0 = dl.exp %x : tensor<37xT>
  %1 = dl.multiply %0, %c : tensor<37xT>
  %2 = dl.cast %1 : tensor<37xT> to tensor<37xf32>
  %3 = dl.add %2, %y : tensor<37xf32>
  %4 = dl.cast %3 : tensor<37xf32> to tensor<37xT>
  %5 = dl.sigmoid %4 : tensor<37xT>
  %b = dl.broadcast %s dims = [] : tensor<T> to tensor<37xT>
  %6 = dl.select %m, %5, %b : tensor<37xT>
  dl.yield %6, %3 : tensor<37xT>, tensor<37xf32>)"},
                 "cuda-map",
                 4});
  return all;
}

static std::vector<Case> allCases() {
  std::vector<Case> all = reductions();
  for (const std::vector<Case> &more : {products(), others()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Every generator against the interpreter: an anchor computes in f32, so it costs one rounding. On
/// the CPU it is the same.
TEST_P(CudaSmallFloat, Values) {
  for (const Case &c : allCases()) {
    // What float32 adds is far less than a thousandth of a rounding.
    const double tolerance = 1.001 * c.roundings * GetParam().unit;
    checkCudaKernel(with(GetParam(), c.source), tolerance, c.generator);
    checkKernel(with(GetParam(), c.source), tolerance);
  }
}

/// With places that a forward pass found.
TEST_P(CudaSmallFloat, MaxPoolGradient) {
  CompiledTestKernel forward(with(GetParam(), maxPool()), "cuda:simt", "cuda-elements");
  CompiledTestKernel backward(with(GetParam(), maxPoolBackward()), "cuda:simt", "cuda-window");
  CompiledTestKernel gather(with(GetParam(), maxPoolGather()), "cuda:simt", "cuda-window");
  ASSERT_TRUE(forward && backward && gather);
  std::vector<Tensor> images = forward.randomInputs(), made = forward.run(images);
  std::vector<Tensor> down = {backward.randomInputs(5)[0], made[1]}, back = {images[0], made[1]};
  EXPECT_LE(relativeError(backward.run(down)[0], backward.oracle(down)[0]),
            1.001 * GetParam().unit);
  EXPECT_EQ(gather.run(back)[0].values, made[0].values);
}

/// Ones summed in the type itself would stop at 256 or 2048.
TEST_P(CudaSmallFloat, SumsAreWide) {
  for (const KernelSource &source :
       {reduce("sum", "2x9001", "2", "1"), reduce("sum", "9001x2", "2", "0")}) {
    CompiledTestKernel kernel(with(GetParam(), source), "cuda:simt", "cuda-reduce");
    ASSERT_TRUE(kernel);
    std::vector<Tensor> inputs = kernel.randomInputs();
    std::fill(inputs[0].values.begin(), inputs[0].values.end(), 1.0);
    EXPECT_EQ(kernel.run(inputs)[0].values, std::vector<double>(2, GetParam().rounded(9001)));
  }
  // Products beyond f16's largest number meet their opposites.
  for (const char *target : {"cuda:simt", "native"}) {
    CompiledTestKernel kernel(with(GetParam(), product("1x1x2", "1x2x1", "1x1x1", "1", "")),
                              target);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel
                  .run({Tensor{{1, 1, 2}, {1024, 1024}}, Tensor{{1, 2, 1}, {1024, -1016}},
                        Tensor{{1}, {1}}})[0]
                  .values[0],
              8192)
        << target;
  }
}

//===- Bits -----------------------------------------------------------------------------------===//

/// The results of `source` for `values`, on the SIMT device or the CPU.
static std::vector<Tensor> runOn(llvm::StringRef target, const KernelSource &source,
                                 std::vector<std::vector<double>> values) {
  CompiledTestKernel kernel(source, target);
  EXPECT_TRUE(kernel);
  std::vector<Tensor> inputs;
  for (std::vector<double> &input : values)
    inputs.push_back(Tensor{{int64_t(input.size())}, std::move(input)});
  return kernel ? kernel.run(inputs) : std::vector<Tensor>();
}

static std::vector<double> castOn(llvm::StringRef target, const std::string &from,
                                  const std::string &to, std::vector<double> values) {
  const std::string size = std::to_string(values.size());
  std::vector<Tensor> results = runOn(target,
                                      single("cast", {"tensor<" + size + "x" + from + ">"},
                                             "tensor<" + size + "x" + to + ">", "", true),
                                      {values});
  return results.empty() ? std::vector<double>() : results[0].values;
}

/// Every value of the type, halfway to the next one and just beside that: nearest, ties to even;
/// overflow is infinite, subnormals stay.
TEST_P(CudaSmallFloat, Narrows) {
  std::vector<double> values;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    double value = GetParam().value(bits), next = GetParam().value(bits + 1);
    values.push_back(value);
    if (!std::isfinite(value))
      continue;
    // Behind the largest number, as if there were one more.
    if (std::isinf(next))
      next = value + (value - GetParam().value(bits - 1));
    float middle = (value + next) / 2;
    values.insert(values.end(),
                  {middle, std::nextafterf(middle, -INFINITY), std::nextafterf(middle, INFINITY)});
  }
  std::vector<double> simt = castOn("cuda:simt", "f32", GetParam().name, values),
                      native = castOn("native", "f32", GetParam().name, values);
  ASSERT_EQ(simt.size(), values.size());
  ASSERT_EQ(native.size(), values.size());
  int infinite = 0, subnormal = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    double expected = GetParam().rounded(values[i]);
    ASSERT_TRUE(sameBits(simt[i], expected)) << values[i] << " became " << simt[i];
    ASSERT_TRUE(sameHere(GetParam(), native[i], expected))
        << values[i] << " became " << native[i] << " on the CPU";
    infinite += std::isinf(expected) && std::isfinite(values[i]);
    subnormal += expected != 0 &&
                 std::abs(expected) < GetParam().value(GetParam().name == "bf16" ? 0x80 : 0x400);
  }
  EXPECT_GT(infinite, 0);
  EXPECT_GT(subnormal, 1000);
}

/// Every value of the type as f32, f64, the other type, and back.
TEST_P(CudaSmallFloat, Widens) {
  std::vector<double> values;
  for (uint32_t bits = 0; bits < 0x10000; ++bits)
    values.push_back(GetParam().value(bits));
  const SmallFloat &other = types[GetParam().name == "bf16"];
  for (std::string to : {std::string("f32"), std::string("f64"), other.name}) {
    std::vector<double> result = castOn("cuda:simt", GetParam().name, to, values);
    ASSERT_EQ(result.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_TRUE(sameBits(result[i], to == other.name ? other.rounded(values[i]) : values[i]))
          << values[i] << " to " << to;
  }
}

/// From f64 in one rounding: halfway between two values, and so near to that that f32 would take it
/// for a tie.
TEST_P(CudaSmallFloat, FromDouble) {
  std::vector<double> values = {0,       -0.0,  1e300,    -1e300,    5e-324,
                                -5e-324, 1e-40, INFINITY, -INFINITY, NAN};
  for (uint32_t bits = 0; bits < 0x10000; bits += 7) {
    double value = GetParam().value(bits), next = GetParam().value(bits + 1),
           middle = (value + next) / 2;
    if (std::isfinite(middle))
      values.insert(values.end(), {middle, middle * (1 - 0x1p-45), middle * (1 + 0x1p-45)});
  }
  for (const char *target : {"cuda:simt", "native", "avx2"}) {
    std::vector<double> result = castOn(target, "f64", GetParam().name, values);
    ASSERT_EQ(result.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const double expected = GetParam().rounded(values[i]);
      ASSERT_TRUE(target == llvm::StringRef("native") ? sameHere(GetParam(), result[i], expected)
                                                      : sameBits(result[i], expected))
          << values[i] << " became " << result[i] << " on " << target;
    }
  }
}

/// Each op rounds by itself: the same bits as on the CPU, for operands of all sizes, subnormal,
/// infinite and not a number. For a sum of products as well, which must not fuse.
TEST_P(CudaSmallFloat, Arithmetic) {
  const std::string size = "4093", T = "tensor<" + size + "x" + GetParam().name + ">";
  std::mt19937 random(3);
  std::vector<std::vector<double>> operands(2);
  for (std::vector<double> &values : operands)
    for (int i = 0; i < 4093; ++i)
      // By turns any number at all, and one between 1/2 and 2.
      values.push_back(i % 2 ? GetParam().value(random())
                             : GetParam().rounded(std::exp2(2.0 * random() / 0x1p32 - 1)));
  // All at once: name of the result, op.
  const std::vector<std::pair<std::string, std::string>> ops = {{"sum", "add %a, %b"},
                                                                {"difference", "subtract %a, %b"},
                                                                {"product", "multiply %a, %b"},
                                                                {"quotient", "divide %a, %b"},
                                                                {"larger", "maximum %a, %b"},
                                                                {"smaller", "minimum %a, %b"},
                                                                {"opposite", "negate %a"},
                                                                {"magnitude", "abs %a"},
                                                                {"root", "sqrt %a"},
                                                                {"rectified", "relu %a"},
                                                                {"chain", "add %product, %a"},
                                                                {"less", "compare lt %a, %b"},
                                                                {"chosen", "select %less, %a, %b"}};
  std::string block = "^bb0(%a: " + T + ", %b: " + T + "):\n", names, results;
  std::vector<std::string> compared;
  for (auto &[name, op] : ops) {
    block += "%" + name + " = dl." + op + " : " + T + "\n";
    if (name == "less")
      continue;
    names += (names.empty() ? "%" : ", %") + name;
    results += (results.empty() ? "" : ", ") + T;
    compared.push_back(name);
  }
  KernelSource source = {T + ", " + T, results, block + "dl.yield " + names + " : " + results};
  std::vector<Tensor> simt = runOn("cuda:simt", source, operands),
                      native = runOn("native", source, operands);
  ASSERT_EQ(simt.size(), compared.size());
  ASSERT_EQ(native.size(), compared.size());
  for (size_t op = 0; op < compared.size(); ++op)
    for (size_t i = 0; i < operands[0].size(); ++i)
      ASSERT_TRUE(sameHere(GetParam(), simt[op].values[i], native[op].values[i]))
          << compared[op] << " of " << operands[0][i] << ", " << operands[1][i] << ": "
          << simt[op].values[i] << " and " << native[op].values[i];
}

//===- NVRTC ----------------------------------------------------------------------------------===//

/// Every skeleton compiles in both types, and none spills.
TEST_P(CudaSmallFloat, Nvrtc) {
  if (llvm::Expected<const Nvrtc *> nvrtc = Nvrtc::load(); !nvrtc)
    GTEST_SKIP() << llvm::toString(nvrtc.takeError());
  const CudaTarget target = llvm::cantFail(CudaTarget::get("sm_90"));
  std::vector<SelectedKernel> kernels;
  std::vector<Case> all = allCases();
  all.push_back({maxPoolBackward(), "cuda-window"});
  all.push_back({maxPoolGather(), "cuda-window"});
  for (const Case &c : all)
    kernels.push_back(
        CompiledTestKernel::select(with(GetParam(), c.source), "cuda:sm_90", c.generator));
  CompileOptions options;
  options.cache = false;
  auto compiled = target.compile(kernels, options);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  for (auto [kernel, result] : llvm::zip_equal(kernels, *compiled)) {
    ASSERT_EQ(result.images.size(), 2u) << kernel.symbol; // cubin and PTX
    EXPECT_EQ(result.images[0].figures.size(), kernel.candidate.phases.size());
    for (const FunctionFigures &figures : result.images[0].figures)
      EXPECT_EQ(figures.spillBytes, 0u) << kernel.symbol;
  }
}
