//===- PlacementTest.cpp - offsets against every pair of buffers ------------------------------===//
//
// place() never looks at pairs of buffers; here each pair is looked at, access by access, in random
// programs on 1 to 4 streams.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/Exec/Placement.h"
#include "dialects/DL/DL.h"
#include "dialects/Exec/Memory.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Exec/Passes.h"
#include "test/passes/Exec/RandomProgram.h"
#include "llvm/Support/FormatVariadic.h"
#include <ctime>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;
using namespace dlc::exec;

namespace {

class PlacementTest : public testing::Test {
protected:
  PlacementTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<dl::DLDialect, ExecDialect>();
  }
  ProgramOp parse(const std::string &text, int64_t streams) {
    module = parseSourceString<ModuleOp>(text, &context);
    PassManager manager(&context);
    manager.addPass(createScheduleStreams({streams}));
    EXPECT_TRUE(module && succeeded(manager.run(*module)));
    return *module->getOps<ProgramOp>().begin();
  }
  static SmallVector<Slot> getSlots(ProgramOp program, const HappensBefore &order) {
    auto lifetimes = findLifetimes(program, order);
    SmallVector<Slot> slots;
    for (auto alloc : program.getBlock().getOps<AllocOp>())
      slots.push_back({alignUp(getBytes(alloc)), lifetimes[alloc]});
    return slots;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

class PlacementOnStreams : public PlacementTest, public testing::WithParamInterface<int> {};
class PlacementAtSize : public PlacementOnStreams {};

TEST_P(PlacementOnStreams, OnlyBuffersThatFollowEachOtherShareBytes) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    ProgramOp program = parse(test::drawProgram(seed, 200), GetParam());
    HappensBefore order(program);
    SmallVector<Slot> slots = getSlots(program, order);
    Placement placement = place(slots, order);
    auto endsBefore = [&](const Slot &a, const Slot &b) {
      return !a.lifetime.isOutput && llvm::all_of(a.lifetime.accesses, [&](unsigned x) {
        return llvm::all_of(b.lifetime.accesses, [&](unsigned y) { return order.before(x, y); });
      });
    };
    unsigned shared = 0;
    for (size_t i = 0; i < slots.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        EXPECT_EQ(endsBefore(slots[i], slots[j]), slots[i].lifetime.endsBefore(slots[j].lifetime));
        if (placement.offsets[i] >= placement.offsets[j] + slots[j].bytes ||
            placement.offsets[j] >= placement.offsets[i] + slots[i].bytes)
          continue;
        ++shared;
        EXPECT_TRUE(endsBefore(slots[i], slots[j]) || endsBefore(slots[j], slots[i]))
            << "seed " << seed << " buffers " << j << " and " << i;
      }
    EXPECT_GT(shared, 0u);
    EXPECT_LE(findLiveBytes(slots, order.getRecords().size()), placement.bytes);
    EXPECT_LT(placement.bytes, placeApart(slots).bytes);
  }
}

// A training step: 6,000 layers, each of which keeps its result for the way back, where a gradient
// is handed on and another one is made beside it.
TEST_P(PlacementAtSize, TwentyThousandRecordsTakeSeconds) {
  constexpr int count = 6000;
  std::string allocs, records;
  auto alloc = [&](char name, int i) {
    allocs += llvm::formatv("%{0}{1} = exec.alloc : <{2}>\n", name, i, 64 * (i % 7 + 1));
  };
  auto launch = [&](char x, int i, char y, int j, char z, int k) {
    records +=
        llvm::formatv("exec.launch @use(read %{0}{1}, read %{2}{3}, write %{4}{5}) stream 0 : "
                      "!exec.buffer<{6}>, !exec.buffer<{7}>, !exec.buffer<{8}> loc(\"r\")\n",
                      x, i, y, j, z, k, 64 * (i % 7 + 1), 64 * (j % 7 + 1), 64 * (k % 7 + 1));
  };
  for (int i = 0; i <= count; ++i)
    for (char name : {'x', 'g', 'w'})
      alloc(name, i);
  records += "exec.fill %x0 with 0 stream 0 : <64> loc(\"x\")\n";
  for (int i = 1; i <= count; ++i)
    launch('x', i - 1, 'x', i - 1, 'x', i);
  launch('x', count, 'x', count, 'g', count);
  for (int i = count; i > 0; --i) {
    launch('x', i, 'g', i, 'w', i);
    launch('x', i, 'g', i, 'g', i - 1);
  }
  ProgramOp program =
      parse("exec.kernel @use [#exec.argument<read 64>, #exec.argument<read 64>, "
            "#exec.argument<write 64>] {\n  dl.yield\n}\n"
            "exec.program @p attributes {kind = #program.entry<infer>, inputs = [], "
            "outputs = [], metrics = []} {\n" +
                allocs + records + "exec.output\n}\n",
            GetParam());
  HappensBefore order(program);
  SmallVector<Slot> slots = getSlots(program, order);
  std::clock_t start = std::clock(); // of this process: other ones may be busy
  Placement placement = place(slots, order);
  double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 20); // with all pairs of slots, minutes
  if (GetParam() == 1)
    EXPECT_LE(placement.bytes, 1.05 * findLiveBytes(slots, order.getRecords().size()));
}

INSTANTIATE_TEST_SUITE_P(Streams, PlacementOnStreams, testing::Values(1, 2, 3, 4));
INSTANTIATE_TEST_SUITE_P(Streams, PlacementAtSize, testing::Values(1, 2));

} // namespace
