//===- PlanWriterTest.cpp - tables of the blob ------------------------------------------------===//
#include "codegen/Plan/PlanWriter.h"
#include "dialects/DL/DL.h"
#include "dlc/abi.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "test/codegen/Plan/Program.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;

namespace {

class PlanWriter : public testing::Test {
protected:
  PlanWriter() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<dl::DLDialect, exec::ExecDialect>();
  }

  codegen::PlanBlob write(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    FailureOr<codegen::PlanBlob> plan = codegen::writePlan(*module, "{}");
    EXPECT_TRUE(succeeded(plan));
    return succeeded(plan) ? *plan : codegen::PlanBlob();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// Reads the blob as a loader would.
struct Reader {
  const std::string &bytes;
  dlc_plan_header header;

  explicit Reader(const std::string &bytes) : bytes(bytes) {
    std::memcpy(&header, bytes.data(), sizeof(header));
  }

  std::vector<dlc_table> tables() const {
    std::vector<dlc_table> all(header.table_count);
    std::memcpy(all.data(), bytes.data() + header.size, all.size() * sizeof(dlc_table));
    return all;
  }
  template <typename T> std::vector<T> read(dlc_table_kind kind) const {
    for (const dlc_table &table : tables())
      if (table.kind == kind) {
        EXPECT_EQ(table.stride, sizeof(T));
        std::vector<T> rows(table.count);
        std::memcpy(rows.data(), bytes.data() + table.offset, rows.size() * sizeof(T));
        return rows;
      }
    ADD_FAILURE() << "no table " << kind;
    return {};
  }
  std::string text(dlc_string string) const {
    return std::string(read<char>(DLC_TABLE_STRINGS).data() + string.offset, string.length);
  }
};

TEST_F(PlanWriter, HeaderAndDirectory) {
  codegen::PlanBlob plan = write(test::smallProgram);
  Reader reader(plan.bytes);
  EXPECT_EQ(reader.header.magic, DLC_PLAN_MAGIC);
  EXPECT_EQ(reader.header.total_size, plan.bytes.size());
  EXPECT_EQ(reader.header.state_bytes, 128u);
  EXPECT_EQ(reader.header.scalars_bytes, 8u);
  EXPECT_EQ(reader.text(reader.header.model), "model");
  EXPECT_EQ(reader.text(reader.header.documentation), "about it");
  EXPECT_EQ(reader.text(reader.header.report), "{}");
  for (const dlc_table &table : reader.tables())
    EXPECT_EQ(table.offset % DLC_ALIGNMENT, 0u) << table.kind;
}

TEST_F(PlanWriter, VariablesWithLayoutAndOwner) {
  codegen::PlanBlob plan = write(test::smallProgram);
  auto variables = Reader(plan.bytes).read<dlc_variable>(DLC_TABLE_VARIABLES);
  ASSERT_EQ(variables.size(), 2u);
  const dlc_layout &layout = variables[0].type.layout;
  EXPECT_EQ(layout.permuted, 1);
  EXPECT_EQ(layout.order[1], 2);
  EXPECT_EQ(layout.block_count, 1);
  EXPECT_EQ(layout.block_axis[0], 1);
  EXPECT_EQ(layout.block_size[0], 4u);
  EXPECT_EQ(variables[0].initialiser, uint32_t(DLC_INIT_UNIFORM));
  EXPECT_EQ(variables[0].a, -0.5);
  EXPECT_EQ(variables[0].of, DLC_NONE);
  EXPECT_EQ(variables[1].of, 0u);
  EXPECT_EQ(variables[1].offset, 0u);
}

TEST_F(PlanWriter, OneRecordAPhaseFiguresOnce) {
  codegen::PlanBlob plan = write(test::smallProgram);
  Reader reader(plan.bytes);
  EXPECT_EQ(plan.functions, (std::vector<std::string>{"sum_0", "sum_1"}));
  auto kernels = reader.read<dlc_kernel>(DLC_TABLE_KERNELS);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].scratch_bytes, 256u);
  EXPECT_EQ(kernels[1].function, 1u);
  EXPECT_EQ(kernels[1].arguments, 5u);
  EXPECT_EQ(kernels[1].key[15], 15);
  auto records = reader.read<dlc_record>(DLC_TABLE_RECORDS);
  ASSERT_EQ(records.size(), 8u);
  for (uint32_t phase : {0, 1}) {
    EXPECT_EQ(records[phase].kind, uint32_t(DLC_RECORD_LAUNCH));
    EXPECT_EQ(records[phase].index, phase);
    EXPECT_EQ(records[phase].phase, phase);
    EXPECT_EQ(records[phase].tasks, phase ? 1u : 7u);
    EXPECT_EQ(records[phase].flops, phase ? 0u : 100u);
    EXPECT_EQ(records[phase].arguments.first, records[0].arguments.first);
    EXPECT_EQ(records[phase].arguments.count, 5u);
  }
  EXPECT_EQ(reader.text(records[4].name), "conv/copy");
  EXPECT_EQ(records[3].kind, uint32_t(DLC_RECORD_WAIT_EVENT));
  EXPECT_EQ(records[3].stream, 1u);
  EXPECT_EQ(records[5].value, 7u);
}

/// Kernels of equal key are one row; the grid is the launch's.
TEST_F(PlanWriter, KernelsThatShareCode) {
  const StringRef whole = test::smallProgram;
  const size_t begin = whole.find("exec.kernel @sum"), end = whole.find("exec.program");
  std::string second = whole.slice(begin, end).str(), launch = "exec.launch @sum(read %x";
  second.replace(second.find("@sum"), 4, "@sum.2")
      .replace(second.find("tasks = 7"), 9, "tasks = 5");
  std::string text = whole.str().insert(end, second);
  text.replace(text.find(launch), launch.size(), "exec.launch @sum.2(read %x");
  codegen::PlanBlob plan = write(text);
  EXPECT_EQ(plan.functions, (std::vector<std::string>{"sum_0", "sum_1"}));
  Reader reader(plan.bytes);
  EXPECT_EQ(reader.read<dlc_kernel>(DLC_TABLE_KERNELS).size(), 2u);
  auto records = reader.read<dlc_record>(DLC_TABLE_RECORDS);
  ASSERT_EQ(records.size(), 8u);
  for (uint32_t phase : {0, 1}) {
    EXPECT_EQ(records[6 + phase].index, records[phase].index);
    EXPECT_EQ(records[6 + phase].tasks, phase ? 1u : 5u);
  }
}

TEST_F(PlanWriter, BuffersOfAllSpaces) {
  codegen::PlanBlob plan = write(test::smallProgram);
  Reader reader(plan.bytes);
  auto arguments = reader.read<dlc_argument>(DLC_TABLE_ARGUMENTS);
  auto records = reader.read<dlc_record>(DLC_TABLE_RECORDS);
  const dlc_argument *launch = &arguments[records[0].arguments.first];
  std::vector<uint32_t> spaces = {DLC_SPACE_STATE, DLC_SPACE_CONSTANT, DLC_SPACE_SCALARS,
                                  DLC_SPACE_ARENA, DLC_SPACE_ARENA};
  for (size_t i = 0; i < spaces.size(); ++i)
    EXPECT_EQ(launch[i].space, spaces[i]) << i;
  EXPECT_EQ(launch[0].offset, 64u);
  EXPECT_EQ(launch[3].access, uint32_t(DLC_WRITE));
  EXPECT_EQ(launch[4].access, uint32_t(DLC_READ | DLC_WRITE));
  EXPECT_EQ(launch[4].offset, 128u);
  // Destination first.
  const dlc_argument *copy = &arguments[records[4].arguments.first];
  EXPECT_EQ(copy[0].offset, 256u);
  EXPECT_EQ(copy[0].access, uint32_t(DLC_WRITE));
  EXPECT_EQ(copy[1].offset, 0u);
  EXPECT_EQ(arguments[records[6].arguments.first].space, uint32_t(DLC_SPACE_INPUT));
  // A splat and the same numbers written out are one constant.
  const dlc_argument *update = &arguments[records[6].arguments.first];
  EXPECT_EQ(update[1].offset, launch[1].offset);
  auto constants = reader.read<char>(DLC_TABLE_CONSTANTS);
  ASSERT_EQ(constants.size(), 8u);
  float second;
  std::memcpy(&second, constants.data() + 4, 4);
  EXPECT_EQ(second, 1.5f);
}

TEST_F(PlanWriter, EntryWithItsValuesMetricsAndStep) {
  codegen::PlanBlob plan = write(test::smallProgram);
  Reader reader(plan.bytes);
  dlc_entry entry = reader.read<dlc_entry>(DLC_TABLE_ENTRIES).at(0);
  EXPECT_EQ(entry.valid_input, 1u);
  EXPECT_EQ(entry.arena_bytes, 512u);
  EXPECT_EQ(entry.batch, 16u);
  auto values = reader.read<dlc_value>(DLC_TABLE_VALUES);
  const dlc_value &gradient = values.at(entry.outputs.first + 1);
  EXPECT_EQ(reader.text(gradient.name), "gradient.conv.weight");
  EXPECT_EQ(gradient.of, 0u);
  EXPECT_EQ(gradient.location.offset, 256u);
  EXPECT_EQ(values.at(1).location.index, 1u);
  EXPECT_EQ(values.at(1).location.bytes, 4u);
  dlc_term term = reader.read<dlc_term>(DLC_TABLE_TERMS).at(0);
  EXPECT_EQ(term.count, DLC_NONE);
  EXPECT_EQ(term.constant_count, 16.0);
  dlc_step step = reader.read<dlc_step>(DLC_TABLE_STEPS).at(0);
  EXPECT_EQ(step.every, 5u);
  ASSERT_EQ(step.schedule.count, 3u);
  auto schedule = reader.read<dlc_schedule_part>(DLC_TABLE_SCHEDULE);
  const dlc_schedule_part warmup = schedule.at(step.schedule.first),
                          cycle = schedule.at(step.schedule.first + 1);
  EXPECT_EQ(warmup.kind, DLC_SCHEDULE_WARMUP);
  EXPECT_EQ(warmup.in_epochs, 0u);
  EXPECT_EQ(warmup.length, 7);
  EXPECT_EQ(warmup.a, 0.5);
  EXPECT_EQ(cycle.kind, DLC_SCHEDULE_ONE_CYCLE);
  EXPECT_EQ(cycle.in_epochs, 1u);
  EXPECT_EQ(cycle.n, 3);
  EXPECT_EQ(cycle.b, 0.04);
  EXPECT_EQ(cycle.c, 0.01);
  EXPECT_EQ(reader.text(schedule.at(step.schedule.first + 2).metric), "accuracy");
  auto scalars = reader.read<dlc_scalar>(DLC_TABLE_SCALARS);
  ASSERT_EQ(scalars.size(), 2u);
  EXPECT_EQ(reader.text(scalars[0].name), "optimizer.momentum");
  EXPECT_EQ(scalars[1].scheduled, 1u);
  dlc_setting setting = reader.read<dlc_setting>(DLC_TABLE_SETTINGS).at(0);
  EXPECT_EQ(reader.text(setting.name), "epochs");
  EXPECT_EQ(setting.value, 3.0);
}

TEST_F(PlanWriter, EqualModulesGiveEqualBytes) {
  EXPECT_EQ(write(test::smallProgram).bytes, write(test::smallProgram).bytes);
}

/// Expects writePlan to fail with this message.
void expectError(MLIRContext &context, StringRef text, StringRef message) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  std::string found;
  ScopedDiagnosticHandler handler(&context,
                                  [&](Diagnostic &diagnostic) { found = diagnostic.str(); });
  EXPECT_TRUE(failed(codegen::writePlan(*module, "")));
  EXPECT_EQ(found, message);
}

TEST_F(PlanWriter, RefusesAKernelWithoutCode) {
  expectError(context, "exec.kernel @k [#exec.argument<read 4>] {\n  dl.yield\n}",
              "no code has been chosen for this kernel");
}

TEST_F(PlanWriter, RefusesATypeThatTheTablesCannotHold) {
  expectError(
      context,
      "exec.variable @w : tensor<1x1x1x1x1x1x1x1x1xf32> role<parameter> init(<constant, 0.0, "
      "0.0>) at 0 bytes 4",
      "a module cannot hold the type 'tensor<1x1x1x1x1x1x1x1x1xf32>': at most 8 axes and 2 blocks");
}

} // namespace
