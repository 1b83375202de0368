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

TEST_P(PlacementOnStreams, OnlyBuffersThatFollowEachOtherShareBytes) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    ProgramOp program = parse(test::drawProgram(seed, 200), GetParam());
    HappensBefore order(program);
    SmallVector<Slot> slots = getSlots(program, order);
    Placement placement = place(slots, order);
    auto endsBefore = [&](const Slot &a, const Slot &b) {
      return llvm::none_of(a.lifetime.last, [](unsigned end) { return end == Lifetime::never; }) &&
             llvm::all_of(a.lifetime.accesses, [&](unsigned x) {
               return llvm::all_of(b.lifetime.accesses,
                                   [&](unsigned y) { return order.before(x, y); });
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

INSTANTIATE_TEST_SUITE_P(Streams, PlacementOnStreams, testing::Values(1, 2, 3, 4));

// A step that keeps what 10,000 records write for the 10,000 behind them, which need it in reverse.
TEST_F(PlacementTest, TwentyThousandRecordsTakeSeconds) {
  constexpr int count = 10000;
  std::string allocs, records;
  auto bytes = [](int i) { return 64 * (i % 7 + 1); };
  for (int i = 0; i < count; ++i) {
    allocs +=
        llvm::formatv("%x{0} = exec.alloc : <{1}>\n%g{0} = exec.alloc : <{1}>\n", i, bytes(i));
    records += llvm::formatv("exec.fill %x{0} with 0 stream 0 : <{1}> loc(\"f\")\n", i, bytes(i));
  }
  for (int i = count - 1; i >= 0; --i)
    records +=
        llvm::formatv("exec.copy %x{0} to %g{0} stream 0 : <{1}>, <{1}> loc(\"b\")\n", i, bytes(i));
  ProgramOp program = parse("exec.program @p attributes {kind = #exec.program<infer>, inputs = [], "
                            "outputs = [], metrics = []} {\n" +
                                allocs + records + "exec.output\n}\n",
                            1);
  HappensBefore order(program);
  SmallVector<Slot> slots = getSlots(program, order);
  auto start = std::chrono::steady_clock::now();
  Placement placement = place(slots, order);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 5); // all pairs of them take minutes
  EXPECT_LE(placement.bytes, 1.05 * findLiveBytes(slots, order.getRecords().size()));
}

} // namespace
