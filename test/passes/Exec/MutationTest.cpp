//===- MutationTest.cpp - exec-verify against broken plans ------------------------------------===//
//
// Plans of random programs on 1 to 4 streams are right: exec-verify accepts them, and 20 shuffled
// runs see what a run in order sees. Then each event is removed and each buffer moved in turn. What
// exec-verify still accepts must still be right.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/DL.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Exec/Passes.h"
#include "test/passes/Exec/RandomProgram.h"
#include "test/passes/Exec/Simulator.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;

namespace {

class Mutation : public testing::TestWithParam<int> {
protected:
  Mutation() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<dl::DLDialect, exec::ExecDialect>();
  }

  /// The planned program of a seed.
  OwningOpRef<ModuleOp> plan(unsigned seed) {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(test::drawProgram(seed, 25), &context);
    PassManager manager(&context);
    manager.addPass(exec::createScheduleStreams({GetParam()}));
    manager.addPass(exec::createPlanMemory());
    EXPECT_TRUE(module && succeeded(manager.run(*module)));
    return module;
  }

  bool accepts(ModuleOp module) {
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
    PassManager manager(&context);
    manager.addPass(exec::createVerify());
    return succeeded(manager.run(module));
  }

  static exec::ProgramOp program(ModuleOp module) {
    return *module.getOps<exec::ProgramOp>().begin();
  }

  /// True if no order of 20 gives a record other contents than the text does.
  static bool isRight(ModuleOp module) {
    test::Observations expected = test::runInOrder(program(module));
    for (unsigned seed = 0; seed < 20; ++seed)
      if (test::runShuffled(program(module), seed) != expected)
        return false;
    return true;
  }

  MLIRContext context;
};

constexpr unsigned programs = 12;

TEST_P(Mutation, PlansAreRight) {
  for (unsigned seed = 0; seed < programs; ++seed) {
    OwningOpRef<ModuleOp> module = plan(seed);
    EXPECT_TRUE(accepts(*module)) << "seed " << seed;
    EXPECT_TRUE(isRight(*module)) << "seed " << seed;
  }
}

TEST_P(Mutation, EveryEventIsNeeded) {
  unsigned removed = 0;
  for (unsigned seed = 0; seed < programs; ++seed) {
    OwningOpRef<ModuleOp> module = plan(seed);
    for (uint64_t event = 0; event < program(*module).getEvents(); ++event) {
      OwningOpRef<ModuleOp> copy = module->clone();
      for (auto wait :
           llvm::make_early_inc_range(program(*copy).getBlock().getOps<exec::WaitEventOp>()))
        if (wait.getEvent() == event)
          wait.erase();
      // Scheduling makes no event that another order implies, so without one the plan is wrong.
      EXPECT_FALSE(accepts(*copy)) << "seed " << seed << " event " << event;
      ++removed;
    }
  }
  EXPECT_EQ(removed == 0, GetParam() == 1);
}

TEST_P(Mutation, MovedBuffersAreReportedOrHarmless) {
  unsigned reported = 0;
  for (unsigned seed = 0; seed < programs; ++seed) {
    OwningOpRef<ModuleOp> module = plan(seed);
    exec::ProgramOp original = program(*module);
    unsigned count = llvm::range_size(original.getBlock().getOps<exec::AllocOp>());
    for (unsigned i = 0; i < count; ++i) {
      OwningOpRef<ModuleOp> copy = module->clone();
      exec::AllocOp alloc =
          *std::next(program(*copy).getBlock().getOps<exec::AllocOp>().begin(), i);
      uint64_t offset = *alloc.getOffset();
      alloc.setOffset(offset >= exec::alignment ? offset - exec::alignment
                                                : offset + exec::alignment);
      program(*copy).setArenaBytes(original.getArenaBytes() + exec::alignment);
      if (accepts(*copy))
        EXPECT_TRUE(isRight(*copy)) << "seed " << seed << " buffer " << i;
      else
        ++reported;
    }
  }
  EXPECT_GT(reported, programs);
}

INSTANTIATE_TEST_SUITE_P(Streams, Mutation, testing::Values(1, 2, 3, 4));

} // namespace
