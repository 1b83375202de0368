//===- GemmTest.cpp - packed matrix products --------------------------------------------------===//
#include "codegen/CPU/CpuTarget.h"
#include "test/codegen/Harness.h"
#include <cmath>
#include <gtest/gtest.h>
#include <iostream>

using namespace dlc;
using namespace dlc::test;

// Sums of k products in blocks: a few units in the last place of the largest.
static const double rounding = 4e-6;

namespace {
struct Product {
  int m, n, k;
  int batch = 0; ///< 0: no batch axis
};
} // namespace

static std::string tensorType(int batch, int rows, int columns) {
  std::string text = "tensor<";
  if (batch)
    text += std::to_string(batch) + "x";
  return text + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
}

static KernelSource product(const Product &p, bool transposeA, bool transposeB) {
  std::string a = transposeA ? tensorType(p.batch, p.k, p.m) : tensorType(p.batch, p.m, p.k);
  std::string b = transposeB ? tensorType(p.batch, p.n, p.k) : tensorType(p.batch, p.k, p.n);
  std::string c = tensorType(p.batch, p.m, p.n);
  std::string flags =
      std::string(transposeA ? " transpose_a" : "") + (transposeB ? " transpose_b" : "");
  return {a + ", " + b, c,
          "^bb0(%a: " + a + ", %b: " + b + "):\n  %c = dl.matmul %a, %b" + flags + " : " + a +
              ", " + b + "\n  dl.yield %c : " + c};
}

/// All transpositions, sizes around tiles, vectors and blocks, down to single rows, columns and
/// terms.
TEST(Gemm, SizesAndTranspositions) {
  for (Product p : {Product{1, 1, 1},
                    {5, 3, 7},
                    {64, 10, 50},
                    {13, 37, 17},
                    {16, 16, 16},
                    {29, 33, 401},
                    {3, 130, 5},
                    {3, 5, 300},
                    {5, 300, 3},
                    {300, 3, 5},
                    {1, 130, 403},
                    {1, 7, 1200}})
    for (bool a : {false, true})
      for (bool b : {false, true})
        checkKernel(product(p, a, b), rounding, "cpu-gemm");
}

/// The same of other types: whole and ragged vectors of their lanes, transposed tiles of each,
/// single rows, batches.
TEST(Gemm, Elements) {
  for (const auto &[element, rounding] : otherElements)
    for (Product p : {Product{1, 1, 1}, {13, 37, 17}, {29, 33, 401}, {1, 130, 40}, {9, 20, 12, 3}})
      for (bool a : {false, true})
        for (bool b : {false, true})
          checkKernel(inElement(product(p, a, b), element), rounding, "cpu-gemm");
}

/// Pairs along sums of odd and even length, within a pair, a vector, a block and behind, whole
/// tiles and ragged ones, in all transpositions and with the weights packed whole; and they are
/// taken.
TEST(Gemm, PairsOfBf16) {
  for (Product p : {Product{16, 16, 1},
                    {5, 33, 3},
                    {17, 48, 31},
                    {40, 40, 32},
                    {45, 31, 770},
                    {1, 9, 2049},
                    {7, 1, 65},
                    {18, 34, 63, 2}})
    for (bool a : {false, true})
      for (bool b : {false, true})
        checkPairsKernel(inElement(product(p, a, b), "bf16"), otherElements[1].rounding,
                         "cpu-gemm");
  for (const char *cpu : {"znver4", "znver5"}) {
    const KernelSource source = inElement(product({128, 256, 512}, false, true), "bf16");
    const std::string schedule =
        CompiledTestKernel::select(source, cpu, "cpu-gemm").candidate.schedule;
    EXPECT_TRUE(llvm::StringRef(schedule).ends_with(" bf16")) << cpu << ": " << schedule;
  }
}

/// The same by AMX's tiles, on any machine: sums within a pair, a group and a block and behind, and
/// rows and columns that fill no tile.
TEST(Gemm, TilesOfBf16) {
  for (Product p : {Product{16, 16, 1}, {5, 33, 3}, {40, 40, 32}, {45, 31, 770}, {18, 70, 63, 2}})
    for (bool a : {false, true})
      for (bool b : {false, true})
        checkAmxKernel(inElement(product(p, a, b), "bf16"), otherElements[1].rounding, "cpu-gemm");
  const KernelSource source = inElement(product({128, 256, 512}, false, true), "bf16");
  const std::string schedule =
      CompiledTestKernel::select(source, "sapphirerapids", "cpu-gemm").candidate.schedule;
  EXPECT_TRUE(llvm::StringRef(schedule).ends_with(" amx")) << schedule;
}

/// A machine that has instructions and the functions that stand for them give the same sums,
/// denormal numbers, infinities and NaN included: within `ulps` of f32 of all that is added, and
/// what the result is rounded to then.
static void checkReference(llvm::StringRef cpu, llvm::StringRef ending, double ulps) {
  const Product p = {37, 50, 130};
  const KernelSource source = inElement(product(p, false, false), "bf16");
  auto numberOf = [&](llvm::StringRef target) -> std::optional<unsigned> {
    for (auto [number, candidate] :
         llvm::enumerate(CompiledTestKernel::offered(source, target, "cpu-gemm")))
      if (llvm::StringRef(candidate.schedule).ends_with(ending))
        return number;
    return std::nullopt;
  };
  const std::string target = ("reference:" + cpu).str();
  const std::optional<unsigned> number = numberOf(target), own = numberOf("native");
  ASSERT_TRUE(number && own);
  CompiledTestKernel reference(source, target, "cpu-gemm", *number);
  std::vector<Tensor> inputs = reference.randomInputs();
  std::mt19937 random(5);
  for (Tensor &input : inputs)
    for (double &value : input.values)
      value = std::ldexp(value, int(random() % 150) - 110);
  inputs[0].values[3] = INFINITY, inputs[1].values[60] = NAN;
  const Tensor expected = reference.run(inputs).front();
  const Tensor found = CompiledTestKernel(source, "native", "cpu-gemm", *own).run(inputs).front();
  for (int i = 0; i < p.m * p.n; ++i) {
    double added = 0;
    for (int k = 0; k < p.k; ++k)
      added += std::abs(inputs[0].values[i / p.n * p.k + k] * inputs[1].values[k * p.n + i % p.n]);
    const double a = found.values[i], b = expected.values[i];
    const double most = ulps == 0 ? 0 : ulps * std::ldexp(added, -24) + std::ldexp(std::abs(b), -7);
    ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)) ||
                (std::isfinite(added) && std::abs(a - b) <= most))
        << cpu.str() << ", " << i << ": " << a << ", " << b;
  }
}

TEST(Gemm, InstructionsAreTheReferences) {
  const uint64_t has = llvm::cantFail(codegen::CpuTarget::get("native")).required;
  if (has & DLC_CPU_AVX512_BF16)
    checkReference("znver4", " bf16", 130); // both products may be rounded at once
  else
    std::cout << "no AVX512_BF16 here: nothing to hold its reference against\n";
  if (has & DLC_CPU_AMX_BF16)
    checkReference("sapphirerapids", " amx", 0);
  else
    std::cout << "no AMX here: nothing to hold its reference against\n";
}

/// Numbers behind the end of a sum are not read as numbers: here they would make NaN of each sum.
TEST(Gemm, PairsEndAtSum) {
  for (Product p : {Product{20, 40, 3, 2}, {20, 40, 65, 2}})
    for (bool a : {false, true})
      for (bool b : {false, true})
        for (llvm::StringRef target : pairsTargets()) {
          CompiledTestKernel kernel(inElement(product(p, a, b), "bf16"), target, "cpu-gemm");
          std::vector<Tensor> inputs = kernel.randomInputs();
          // All of the second matrix, which follows the first one's last number.
          for (Tensor &input : inputs)
            for (size_t i = input.values.size() / 2; i < input.values.size(); ++i)
              input.values[i] = NAN;
          const Tensor result = kernel.run(inputs).front();
          for (size_t i = 0; i < result.values.size(); ++i)
            ASSERT_EQ(std::isnan(result.values[i]), i >= result.values.size() / 2) << i;
        }
}

/// VDPBF16PS takes denormal numbers as 0, and makes them 0: no sum is further off than the smallest
/// normal number for each of its products. Infinities and NaN pass.
TEST(Gemm, PairsOfBf16AtTheEnds) {
  const Product p = {3, 20, 8};
  const KernelSource source = inElement(product(p, false, false), "bf16");
  const double smallest = std::ldexp(1, -126);
  unsigned pairs = 0;
  auto check = [&](CompiledTestKernel &kernel) {
    std::vector<Tensor> inputs = kernel.randomInputs();
    for (int k = 0; k < p.k; ++k) {
      inputs[0].values[k] *= smallest;              // denormal, times about 1
      inputs[0].values[p.k + k] *= 1024 * smallest; // normal
      inputs[0].values[2 * p.k + k] = k == 3 ? INFINITY : 1;
    }
    const Tensor result = kernel.run(inputs).front(), exact = kernel.oracle(inputs).front();
    for (int n = 0; n < p.n; ++n) {
      EXPECT_NEAR(result.values[n], exact.values[n], p.k * smallest);
      const double normal = exact.values[p.n + n];
      EXPECT_NEAR(result.values[p.n + n], normal, p.k * smallest + std::abs(normal) / 128);
      EXPECT_EQ(result.values[2 * p.n + n], exact.values[2 * p.n + n]);
    }
  };
  for (llvm::StringRef target : pairsTargets())
    for (auto [number, candidate] :
         llvm::enumerate(CompiledTestKernel::offered(source, target, "cpu-gemm"))) {
      CompiledTestKernel kernel(source, target, "cpu-gemm", number);
      check(kernel);
      pairs += llvm::StringRef(candidate.schedule).ends_with(" bf16");
    }
  EXPECT_GT(pairs, 0u);
}

/// The few rows of a recurrent step are cut into equal tiles: of 32 rows none is computed that does
/// not exist, or hardly any.
TEST(Gemm, FewRows) {
  for (const char *cpu : {"haswell", "znver4", "znver5", "sapphirerapids"})
    for (int rows : {15, 16, 17, 20, 24, 29, 32, 40, 48}) {
      const codegen::Candidate candidate =
          CompiledTestKernel::select(product({rows, 1024, 256}, false, true), cpu, "cpu-gemm")
              .candidate;
      int tile = 0, vectors = 0;
      ASSERT_EQ(std::sscanf(candidate.schedule.c_str(), "gemm %dx%d", &tile, &vectors), 2);
      const int computed = (rows + tile - 1) / tile * tile;
      EXPECT_LE(computed - rows, 2) << cpu << " " << rows << ": " << candidate.schedule;
    }
}

/// Sums in parts meet in f32 or f64: sums of 40,000 products in 8 bits would lose most of them.
TEST(Gemm, ElementsOfSplitSum) {
  for (const auto &[element, rounding] : otherElements) {
    const KernelSource source = inElement(product({8, 24, 40000}, false, false), element);
    checkKernel(source, rounding, "cpu-gemm");
    CompiledTestKernel kernel(source);
    EXPECT_EQ(kernel.selection().candidate.phases.size(), 2u);
  }
}

TEST(Gemm, Batches) {
  checkKernel(product({9, 20, 12, 3}, false, true), rounding, "cpu-gemm");
  checkKernel(product({9, 20, 12, 3}, true, false), rounding, "cpu-gemm");
}

/// Long sums over a small result are split, and the parts added in a second phase.
TEST(Gemm, SplitSum) {
  KernelSource source = product({8, 24, 200000}, false, false);
  checkKernel(source, rounding, "cpu-gemm");
  CompiledTestKernel kernel(source);
  EXPECT_EQ(kernel.selection().candidate.phases.size(), 2u);
}

/// The weights of a linear layer can be packed beforehand, also where they are in one block.
TEST(Gemm, PacksWeightsWhole) {
  for (bool transposeB : {false, true}) {
    KernelSource source = product({1, 700, 900}, false, transposeB);
    unsigned packed = 0;
    for (const codegen::Candidate &candidate : CompiledTestKernel::offered(source, "native", "")) {
      if (!candidate.preparation)
        continue;
      ++packed;
      EXPECT_EQ(candidate.preparation->operand, 1u);
      EXPECT_EQ(candidate.phases.size(), 2u);
      EXPECT_GE(candidate.workspaceBytes, 4u * 700 * 900);
    }
    EXPECT_GT(packed, 0u);
  }
}

/// A linear layer: bias by column, ReLU, a residual, two results.
static const KernelSource linearLayer = {
    "tensor<21x40xf32>, tensor<35x40xf32>, tensor<35xf32>, tensor<21x35xf32>",
    "tensor<21x35xf32>, tensor<21x35xf32>", R"(
^bb0(%x: tensor<21x40xf32>, %w: tensor<35x40xf32>, %b: tensor<35xf32>, %r: tensor<21x35xf32>):
  %y = dl.matmul %x, %w transpose_b : tensor<21x40xf32>, tensor<35x40xf32>
  %bias = dl.broadcast %b dims = [1] : tensor<35xf32> to tensor<21x35xf32>
  %z = dl.add %y, %bias : tensor<21x35xf32>
  %a = dl.relu %z : tensor<21x35xf32>
  %s = dl.add %a, %r : tensor<21x35xf32>
  dl.yield %s, %a : tensor<21x35xf32>, tensor<21x35xf32>)"};

TEST(Gemm, Epilogue) { checkKernel(linearLayer, rounding, "cpu-gemm"); }

/// Four ops in turn round, each of a number no larger than the largest result.
TEST(Gemm, ElementsOfEpilogue) {
  for (const auto &[element, rounding] : otherElements)
    checkKernel(inElement(linearLayer, element), 4 * rounding, "cpu-gemm");
}

/// The update of a weight behind its gradient, which is finished row by row.
TEST(Gemm, ElementsOfUpdate) {
  const KernelSource update = {"tensor<70x21xf32>, tensor<70x35xf32>, tensor<21x35xf32>",
                               "tensor<21x35xf32>", R"(
^bb0(%x: tensor<70x21xf32>, %d: tensor<70x35xf32>, %w: tensor<21x35xf32>):
  %g = dl.matmul %x, %d transpose_a : tensor<70x21xf32>, tensor<70x35xf32>
  %r = dl.constant dense<0.5> : tensor<21x35xf32>
  %s = dl.multiply %g, %r : tensor<21x35xf32>
  %u = dl.subtract %w, %s : tensor<21x35xf32>
  dl.yield %u : tensor<21x35xf32>)"};
  checkKernel(update, rounding, "cpu-gemm");
  for (const auto &[element, rounding] : otherElements)
    checkKernel(inElement(update, element), 3 * rounding, "cpu-gemm");
}

/// A weight in f32, its momentum and its copy in `element` behind a gradient of `k` samples.
static KernelSource momentumUpdate(int k, const std::string &element) {
  const std::string samples = std::to_string(k), x = "tensor<" + samples + "x53x" + element + ">",
                    d = "tensor<" + samples + "x210x" + element + ">", w = "tensor<53x210xf32>",
                    copy = "tensor<53x210x" + element + ">";
  const bool casts = element != "f32";
  auto cast = [&](const std::string &from, const std::string &to) {
    return casts ? "dl.cast " + from + " : " + (to == w ? copy + " to " + w : w + " to " + copy)
                 : "dl.add " + from + ", " + from + " : " + w;
  };
  return {x + ", " + d + ", " + w + ", " + w, w + ", " + w + ", " + copy,
          "^bb0(%x: " + x + ", %d: " + d + ", %w: " + w + ", %m: " + w +
              "):\n %g = dl.matmul %x, %d transpose_a : " + x + ", " + d +
              "\n %f = " + cast("%g", w) + "\n %r = dl.constant dense<0.5> : " + w +
              "\n %a = dl.multiply %m, %r : " + w + "\n %n = dl.add %a, %f : " + w +
              "\n %s = dl.multiply %n, %r : " + w + "\n %u = dl.subtract %w, %s : " + w +
              "\n %c = " + cast("%u", copy) + "\n dl.yield %n, %u, %c : " + w + ", " + w + ", " +
              copy};
}

/// What an update reads arrives during the product: of fewer steps than a tile has lines, of more,
/// of several blocks of the sum, in tiles and panels that are not whole.
TEST(Gemm, UpdateReadsAhead) {
  for (int k : {1, 6, 33, 64, 700}) {
    checkKernel(momentumUpdate(k, "f32"), rounding, "cpu-gemm");
    checkPairsKernel(momentumUpdate(k, "bf16"), 3 * otherElements[1].rounding, "cpu-gemm");
    checkAmxKernel(momentumUpdate(k, "bf16"), 3 * otherElements[1].rounding, "cpu-gemm");
  }
}

/// A product of numbers that are cast before it, each way, and one of f64 whose result is: what is
/// read and written has other bytes than what is packed.
TEST(Gemm, ElementsOfCasts) {
  for (const std::string element : {"bf16", "f64"})
    for (const std::string stored : {"f32", "f16"})
      for (const char *flags : {"", " transpose_b"}) {
        auto type = [](const std::string &element) { return "tensor<24x24x" + element + ">"; };
        const std::string from = type(stored), to = type(element);
        checkKernel({from + ", " + to, from,
                     "^bb0(%x: " + from + ", %w: " + to + "):\n %a = dl.cast %x : " + from +
                         " to " + to + "\n %p = dl.matmul %a, %w" + flags + " : " + to + ", " + to +
                         "\n %c = dl.cast %p : " + to + " to " + from + "\n dl.yield %c : " + from},
                    1.0 / 256 + 1.0 / 2048, "cpu-gemm");
      }
}

/// The gradient behind a ReLU: a mask before both ways in which dy is read; the masked gradient is
/// a result, too.
TEST(Gemm, PrologueAndStoredOperand) {
  for (const char *product :
       {"dl.matmul %m, %w : tensor<21x35xf32>, tensor<35x40xf32>",
        "dl.matmul %w, %m transpose_a transpose_b : tensor<35x40xf32>, tensor<21x35xf32>"}) {
    std::string result = std::string(product).find("%m, %w") != std::string::npos
                             ? "tensor<21x40xf32>"
                             : "tensor<40x21xf32>";
    checkKernel({"tensor<21x35xf32>, tensor<21x35xf32>, tensor<35x40xf32>",
                 result + ", tensor<21x35xf32>",
                 R"(
^bb0(%dy: tensor<21x35xf32>, %y: tensor<21x35xf32>, %w: tensor<35x40xf32>):
  %zero = dl.constant dense<0.0> : tensor<21x35xf32>
  %one = dl.constant dense<1.0> : tensor<21x35xf32>
  %on = dl.compare gt %y, %zero : tensor<21x35xf32>
  %e = dl.add %dy, %one : tensor<21x35xf32>
  %m = dl.select %on, %e, %zero : tensor<21x35xf32>
  %p = )" + std::string(product) +
                     "\n  dl.yield %p, %m : " + result + ", tensor<21x35xf32>"},
                rounding, "cpu-gemm");
  }
}

/// A flattened image as operand, and a result that is reshaped behind the product.
TEST(Gemm, Reshapes) {
  checkKernel({"tensor<6x4x3x5xf32>, tensor<12x60xf32>", "tensor<6x3x4xf32>", R"(
^bb0(%x: tensor<6x4x3x5xf32>, %w: tensor<12x60xf32>):
  %f = dl.reshape %x : tensor<6x4x3x5xf32> to tensor<6x60xf32>
  %y = dl.matmul %f, %w transpose_b : tensor<6x60xf32>, tensor<12x60xf32>
  %z = dl.reshape %y : tensor<6x12xf32> to tensor<6x3x4xf32>
  dl.yield %z : tensor<6x3x4xf32>)"},
              rounding, "cpu-gemm");
}

/// The product with a loss behind it in f32, its differences stored too.
static KernelSource withLoss(const Product &p, bool transposeA, llvm::StringRef element) {
  KernelSource source = inElement(product(p, transposeA, !transposeA), element);
  const std::string c = source.results, axes = p.batch ? "[0, 1, 2]" : "[0, 1]",
                    single = tensorType(p.batch, p.m, p.n), d = c == single ? "%d" : "%s";
  source.operands += ", " + c;
  source.results = c + ", tensor<f32>, tensor<f32>";
  const size_t first = source.block.find("):"), end = source.block.find("\n  dl.yield");
  source.block = source.block.substr(0, first) + ", %t: " + c +
                 source.block.substr(first, end - first) + "\n %d = dl.subtract %c, %t : " + c +
                 (c == single ? "" : "\n %s = dl.cast %d : " + c + " to " + single) +
                 "\n %q = dl.multiply " + d + ", " + d + " : " + single +
                 "\n %sum = dl.reduce sum %q axes = " + axes + " : " + single +
                 "\n %most = dl.reduce max " + d + " axes = " + axes + " : " + single +
                 "\n %half = dl.constant dense<0.5> : tensor<f32>" +
                 "\n %loss = dl.multiply %sum, %half : tensor<f32>" +
                 "\n dl.yield %d, %loss, %most : " + source.results;
  return source;
}

/// Totals of whole tiles, of rests, over batches, of sums in parts, and of rows that are finished
/// when all of a task is there.
TEST(Gemm, TotalsBehind) {
  for (Product p :
       {Product{1, 1, 1}, {5, 3, 7}, {64, 100, 50}, {13, 37, 17, 3}, {300, 130, 20}, {9, 20, 9000}})
    for (bool transposeA : {false, true})
      checkKernel(withLoss(p, transposeA, "f32"), rounding, "cpu-gemm");
  for (const OtherElement &element : otherElements)
    for (Product p : {Product{5, 3, 7}, {64, 100, 50}, {13, 37, 17, 3}})
      if (element.name != std::string("f64"))
        // A square errs twice as much as what it is of.
        checkKernel(withLoss(p, false, element.name), 2 * element.rounding, "cpu-gemm");
}
