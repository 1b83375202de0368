//===- ReportTest.cpp - the compile report ----------------------------------------------------===//
#include "codegen/Plan/Report.h"
#include "codegen/CPU/CpuTarget.h"
#include "dialects/DL/DL.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "test/codegen/Plan/Program.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;

namespace {

class Report : public testing::Test {
protected:
  Report() : context(MLIRContext::Threading::DISABLED), report(nullptr) {
    context.loadDialect<dl::DLDialect, exec::ExecDialect>();
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(test::smallProgram, &context);
    auto target = std::make_shared<codegen::CpuTarget>();
    target->cpu = "znver5";
    codegen::KernelSelector selector(std::move(target));
    report = codegen::buildReport(*module, selector);
  }

  MLIRContext context;
  llvm::json::Value report;
};

TEST_F(Report, TotalsAndRows) {
  const llvm::json::Object &all = *report.getAsObject();
  EXPECT_EQ(all.getInteger("parameters"), 12);
  EXPECT_EQ(all.getInteger("parameter_bytes"), 64);
  EXPECT_EQ(all.getInteger("state_bytes"), 128);
  EXPECT_EQ(all.getInteger("kernels"), 1);
  const llvm::json::Object &entry = *(*all.getArray("entries"))[0].getAsObject();
  EXPECT_EQ(entry.getInteger("launches"), 4); // two launches in two phases
  EXPECT_EQ(entry.getInteger("flops"), 200);
  EXPECT_EQ(entry.getNumber("estimated_seconds"), 3e-3);
  const llvm::json::Array &rows = *entry.getArray("layers");
  ASSERT_EQ(rows.size(), 4u); // events are no work
  const llvm::json::Object &forward = *rows[0].getAsObject();
  EXPECT_EQ(forward.getString("layer"), "conv");
  EXPECT_EQ(forward.getString("stage"), "forward");
  EXPECT_EQ(forward.getInteger("parameters"), 12);
  EXPECT_EQ(forward.getInteger("activation_bytes"), 64); // the workspace is none
  const llvm::json::Object &schedule = *(*all.getArray("schedules"))[0].getAsObject();
  EXPECT_EQ(schedule.getNumber("estimated_seconds"), 1.5e-3);
  EXPECT_EQ(schedule.getString("second_best"), "cpu-loops: loops");
  EXPECT_EQ(schedule.getNumber("second_best_seconds"), 0.2);
  const llvm::json::Array &sums = *entry.getArray("sums");
  ASSERT_EQ(sums.size(), 2u);
  const llvm::json::Object &conv = *sums[0].getAsObject();
  EXPECT_EQ(conv.getString("layer"), "conv");
  EXPECT_EQ(conv.getInteger("records"), 3);
  EXPECT_EQ(conv.getInteger("flops"), 200);
  EXPECT_EQ(conv.getInteger("parameters"), 12);
  EXPECT_EQ(conv.getInteger("activation_bytes"), 128);
  const llvm::json::Object &update = *rows[3].getAsObject();
  EXPECT_EQ(update.getString("stage"), "update");
  EXPECT_EQ(update.getInteger("parameters"), 0);       // counted once
  EXPECT_EQ(update.getInteger("activation_bytes"), 0); // it writes a variable
}

TEST_F(Report, TablesAreAligned) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  codegen::printReport(report, stream);
  EXPECT_EQ(text, R"(model for znver5: 12 parameters (64 B), state 128 B, 1 kernels

train_step, batch 16: 4 launches of 1 kernels, arena 512 B for 256 B live at once
  layer  stage    shape  parameters  FLOP  activations  kernel
  conv   forward     16          12   100         64 B  sum
  conv   copy         -           0     0         64 B  copy
  loss   forward      -           0     0          4 B  fill
  conv   update      16           0   100          0 B  sum
  total                               200        132 B
  estimated 3 ms on one core

train_step by layer
  layer  kernels  parameters  FLOP   share  bytes  activations
  conv         3          12   200  100.0%  528 B        128 B
  loss         1           0     0    0.0%    4 B          4 B

train_step, bytes beside the least by layer and stage, without products, convolutions and attention
  layer  stage    kernels  bytes  least  factor
  conv   copy           1  128 B    0 B       -
  loss   forward        1    4 B    0 B       -
  all                      388 B  256 B   1.52x

  kernel  schedule              estimated  second best
  sum     cpu-map: 16 elements     1.5 ms       200 ms  cpu-loops: loops
)");
}

} // namespace
