//===- MicroKernelTest.cpp - the assembly of micro-kernels ------------------------------------===//
//
// Each multiplies as often as its tile says and keeps all sums in registers: their loops hold
// nothing on the stack. Any machine writes the code of any processor.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Gemm/MicroKernel.h"
#include "codegen/CPU/CpuTarget.h"
#include "codegen/CPU/Lowering/Lowering.h"
#include "test/codegen/Harness.h"
#include <gtest/gtest.h>

using namespace dlc;
using namespace dlc::codegen;
using llvm::StringRef;

namespace {
struct AssemblyCase {
  const MicroKernel &kernel;
  const char *cpu;
  StringRef element;     ///< stored
  StringRef instruction; ///< with what names its registers
  int64_t most[4];       ///< rows of 1, 2, 3 and 4 vectors
};
} // namespace

static mlir::Type typeOf(mlir::MLIRContext &context, StringRef element) {
  mlir::Builder b(&context);
  return element == "f64" ? b.getF64Type() : element == "f32" ? b.getF32Type() : b.getBF16Type();
}

static std::string assemblyOf(const MicroKernel &kernel, const CpuTarget &target, StringRef element,
                              const MicroTile &tile) {
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  registerTranslations(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  const mlir::Type stored = typeOf(context, element);
  auto module =
      mlir::OwningOpRef<mlir::ModuleOp>(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context)));
  kernel.emit(*module, target, {stored, accumulatorType(stored)}, tile);
  EXPECT_TRUE(mlir::succeeded(Lowering(context, target).run(*module)));
  return llvm::cantFail(
      llvm::cantFail(CodeWriter::create(target)).write(*module, Output::Assembly));
}

/// The code of a micro-kernel's loop over pairs of steps: from the label in front of what it keeps
/// apart to the jump back there.
static std::string loopOf(const AssemblyCase &test, const CpuTarget &target, int64_t rows,
                          int64_t vectors, bool stores) {
  MicroTile tile;
  if (stores) {
    tile.targetOffsets = llvm::to_vector(llvm::seq<int64_t>(0, rows));
    tile.laterLines = 1;
  }
  tile.rowOffsets = llvm::to_vector(llvm::seq<int64_t>(0, rows));
  tile.vectors = vectors;
  tile.stepA = rows;
  const std::string text = assemblyOf(test.kernel, target, test.element, tile);
  const size_t apart = text.find("#APP"), begin = text.rfind(".LBB", apart);
  const std::string label = text.substr(begin, text.find(':', begin) - begin);
  const size_t end = text.find(label + "\n", apart);
  EXPECT_TRUE(apart != text.npos && begin != text.npos && end != text.npos) << text;
  return end == text.npos ? "" : text.substr(begin, end - begin);
}

static std::vector<AssemblyCase> assemblyCases() {
  return {{fmaKernel(), "haswell", "f32", "\tvfmadd", {14, 6, 4, 2}},
          {fmaKernel(), "haswell", "f64", "\tvfmadd", {14, 6, 4, 2}},
          {fmaKernel(), "haswell", "bf16", "\tvfmadd", {14, 6, 4, 2}},
          {fmaKernel(), "znver4", "f32", "\tvfmadd", {30, 14, 9, 6}},
          {fmaKernel(), "sapphirerapids", "f64", "\tvfmadd", {30, 14, 9, 6}},
          {bf16Kernel(), "znver4", "bf16", "\tvdpbf16ps", {30, 14, 9, 6}},
          {bf16Kernel(), "cooperlake", "bf16", "\tvdpbf16ps", {30, 14, 9, 6}}};
}

/// Two steps of each tile that is offered: an instruction for each register of sums, and no other
/// memory than panels.
TEST(MicroKernel, Assembly) {
  for (const AssemblyCase &test : assemblyCases()) {
    const CpuTarget target = llvm::cantFail(CpuTarget::get(test.cpu));
    const MachineModel machine(target, test.element == "f64" ? 8 : 4);
    for (int64_t vectors = 1; vectors <= 4; ++vectors) {
      const int64_t rows = test.most[vectors - 1];
      EXPECT_EQ(test.kernel.mostRows(machine, vectors), rows);
      const std::string what = std::string(test.cpu) + " " + test.element.str() + " " +
                               std::to_string(rows) + "x" + std::to_string(vectors);
      for (bool stores : {false, true}) {
        const std::string loop = loopOf(test, target, rows, vectors, stores);
        EXPECT_EQ(StringRef(loop).count(test.instruction), size_t(2 * rows * vectors)) << what;
        // Sixteen registers that are all in use LLVM 22 is one short of, as it broadcasts into
        // sums.
        if (target.vectorRegisters > 16 || vectors > 1)
          EXPECT_EQ(StringRef(loop).count("(%rsp"), 0u) << what;
      }
    }
  }
}

/// Sums that end with a call are rounded in registers, to where results are stored.
TEST(MicroKernel, AssemblyOfResults) {
  const CpuTarget target = llvm::cantFail(CpuTarget::get("znver4"));
  MicroTile tile;
  tile.vectors = 4, tile.stepA = 6;
  for (int64_t row = 0; row < 6; ++row) {
    tile.rowOffsets.push_back(row);
    tile.targetOffsets.push_back(1000 * row);
  }
  const std::string with = assemblyOf(bf16Kernel(), target, "bf16", tile);
  tile.targetOffsets.clear();
  const std::string without = assemblyOf(bf16Kernel(), target, "bf16", tile);
  auto rounded = [](const std::string &text) { return StringRef(text).count("\tvcvtneps2bf16"); };
  // What both ways end with LLVM may write once.
  EXPECT_GE(rounded(with), 24u) << with;
  EXPECT_LE(rounded(with), 48u) << with;
  EXPECT_EQ(rounded(without), 0u) << without;
  // 2000 bytes from row to row.
  EXPECT_NE(with.find(", 10000(%"), with.npos) << with;
}

/// Of AMX a group of steps of each tile that is offered: a load for each row and column of
/// registers, an instruction for each of sums, and no other memory.
TEST(MicroKernel, AssemblyOfTiles) {
  const CpuTarget target = llvm::cantFail(CpuTarget::get("sapphirerapids"));
  const MachineModel machine(target);
  const int64_t most[] = {48, 32, 16, 0};
  for (int64_t vectors = 1; vectors <= 4; ++vectors) {
    const int64_t rows = most[vectors - 1];
    EXPECT_EQ(amxKernel().mostRows(machine, vectors), rows);
    if (rows == 0)
      continue;
    MicroTile tile;
    for (int64_t row = 0; row < rows; ++row)
      tile.rowOffsets.push_back(16 * row);
    tile.vectors = vectors, tile.stepA = rows;
    const std::string text = assemblyOf(amxKernel(), target, "bf16", tile);
    // The inner loop ends behind the last multiplication.
    const size_t last = text.rfind("\ttdpbf16ps"), end = text.find("\tj", last),
                 begin = text.rfind(".LBB", text.find("\ttdpbf16ps"));
    ASSERT_TRUE(last != text.npos && end != text.npos && begin != text.npos) << text;
    const std::string loop = text.substr(begin, end - begin);
    EXPECT_EQ(StringRef(loop).count("\ttdpbf16ps"), size_t(rows / 16 * vectors)) << loop;
    EXPECT_EQ(StringRef(loop).count("\ttileloadd"), size_t(rows / 16 + vectors)) << loop;
    EXPECT_EQ(StringRef(loop).count("(%rsp"), 0u) << loop;
    EXPECT_EQ(StringRef(text).count("\ttilestored"), size_t(rows / 16 * vectors)) << text;
  }
}

/// Pairs of bf16 are for processors that multiply them, and not where denormal numbers count.
TEST(MicroKernel, Choice) {
  mlir::MLIRContext context;
  auto kernels = [&](const char *cpu, StringRef stored, bool strict = false) {
    CpuTarget target = llvm::cantFail(CpuTarget::get(cpu));
    target.settings.math = strict ? Math::Strict : Math::Float32;
    const mlir::Type type = typeOf(context, stored);
    std::vector<std::string> names;
    for (const MicroKernel *kernel : microKernels({type, accumulatorType(type)}, target)) {
      names.push_back(kernel->name().str());
      EXPECT_EQ(&MicroKernel::get(kernel->name()), kernel);
    }
    return names;
  };
  const std::vector<std::string> both = {"", "bf16"}, all = {"", "bf16", "amx"}, one = {""};
  for (const char *cpu : {"znver4", "znver5", "cooperlake", "sapphirerapids", "graniterapids"}) {
    EXPECT_EQ(kernels(cpu, "bf16"), StringRef(cpu).ends_with("rapids") ? all : both) << cpu;
    EXPECT_EQ(kernels(cpu, "f32"), one) << cpu;
    EXPECT_EQ(kernels(cpu, "f64"), one) << cpu;
    EXPECT_EQ(kernels(cpu, "bf16", /*strict=*/true), one) << cpu;
  }
  for (const char *cpu : {"haswell", "skylake-avx512", "icelake-server", "avx512"})
    EXPECT_EQ(kernels(cpu, "bf16"), one) << cpu;
}
