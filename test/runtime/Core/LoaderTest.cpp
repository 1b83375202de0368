// The loader: what it accepts, and the one line it says about each thing that it refuses.
#include "dlc/state.h"
#include "runtime/Core/ModuleFile.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <cmath>
#include <cstring>
#include <elf.h>
#include <functional>
#include <gtest/gtest.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

/// The loader's message about a file with this content, its name left out; "loaded" if it accepts
/// it.
std::string messageFor(const std::vector<std::byte> &content) {
  TemporaryFolder folder;
  const std::string path = folder.path("x.so");
  writeFile(path, content);
  auto module = Module::load(path);
  if (module.ok())
    return "loaded";
  std::string message(module.status().message());
  EXPECT_TRUE(message.starts_with(path + ": ")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message.substr(path.size() + 2);
}

/// The same for the small model with something broken in its plan, sealed again.
std::string messageForPlan(const std::function<void(PlanBuilder &)> &breakIt) {
  PlanBuilder plan = smallModel();
  breakIt(plan);
  return messageFor(moduleWith(plan.blob()));
}

// A module gives names, types, entries and variables as they were written.
TEST(Loader, DecodesThePlan) {
  TemporaryFolder folder;
  auto module = Module::load(writeSmallModule(folder));
  ASSERT_TRUE(module.ok()) << module.status().message();
  const Plan &plan = (*module)->plan();
  EXPECT_EQ(plan.model, "Small");
  ASSERT_EQ(plan.entries.size(), 3u);
  EXPECT_EQ(plan.entries[0].name, "train_step");
  EXPECT_EQ(plan.entries[0].inputs[0].type.str(), "f32[8, 1, 4, 4]");
  EXPECT_EQ(plan.entries[1].validInput, 2u);
  EXPECT_EQ(plan.findEntry(DLC_ENTRY_INFER)->name, "infer_n1");
  ASSERT_EQ(plan.variables.size(), 5u);
  EXPECT_EQ(plan.variables[2].role, DLC_ROLE_SLOT);
  EXPECT_EQ(plan.variables[2].of, 0u);
  EXPECT_EQ((*module)->kernelFunctions().size(), 13u);
}

// What is no module is told from what is a damaged one.
TEST(Loader, RefusesOtherFiles) {
  EXPECT_EQ(messageFor({}), "not a module: no ELF file; dlc compiles a model (.dl) to one");
  EXPECT_EQ(messageFor(std::vector<std::byte>(100, std::byte(1))),
            "not a module: no ELF file; dlc compiles a model (.dl) to one");
  EXPECT_EQ(messageFor(std::vector<std::byte>(100, std::byte('x'))),
            "not a module: it is text; dlc compiles a model (.dl) to one");
  EXPECT_EQ(messageFor(readFile("/proc/self/exe")),
            "not a dlc module: the ELF file has no note of owner 'dlc'");
  TemporaryFolder folder;
  EXPECT_NE(
      std::string(Module::load(folder.path("none.so")).status().message()).find("No such file"),
      std::string::npos);
  EXPECT_NE(std::string(Module::load(folder.root()).status().message()).find("found a folder"),
            std::string::npos);
}

// Notes are looked for in the file's own segments, and there may be many where there are holes.
TEST(Loader, BoundsNotes) {
  auto module = moduleWith(smallModel().blob());
  auto *header = reinterpret_cast<Elf64_Ehdr *>(module.data());
  auto *segment = reinterpret_cast<Elf64_Phdr *>(module.data() + header->e_phoff);
  while (segment->p_type != PT_NOTE)
    ++segment;
  segment->p_offset = module.size();
  segment->p_filesz = 10001 * sizeof(Elf64_Nhdr);
  module.resize(module.size() + 10001 * sizeof(Elf64_Nhdr));
  EXPECT_EQ(messageFor(module), "damaged ELF file: more than 10000 notes");
}

// A module of a newer ABI, for another device or for another processor says so; none of it is run.
TEST(Loader, RefusesOtherMachines) {
  const auto plan = smallModel().blob();
  EXPECT_EQ(messageFor(moduleWith(plan, {.abiVersion = 7})),
            "ABI version 7, written by 'hand 1.0'; this runtime knows up to 1");
  EXPECT_EQ(messageFor(moduleWith(plan, {.targets = 1u << 9})),
            "compiled for no device that this runtime knows");
  EXPECT_EQ(messageFor(moduleWith(plan, {.cpuFeatures = uint64_t(1) << 40})),
            "compiled for generic; this processor lacks feature 40");
}

// One changed byte anywhere, or a missing end, is found by the hash.
TEST(Loader, FindsDamageByTheHash) {
  auto module = moduleWith(smallModel().blob());
  auto changed = module;
  changed[changed.size() / 2] ^= std::byte(1);
  EXPECT_EQ(messageFor(changed), "damaged module: the file's hash is not the one in its note");
  module.resize(module.size() - 1);
  EXPECT_TRUE(messageFor(module).starts_with("damaged")) << messageFor(module);
}

// Even if the hash is right, the plan's structure is checked.
TEST(Loader, ChecksTables) {
  auto withHeader = [](auto change) {
    auto blob = smallModel().blob();
    change(*reinterpret_cast<dlc_plan_header *>(blob.data()),
           reinterpret_cast<dlc_table *>(blob.data() + sizeof(dlc_plan_header)));
    return messageFor(moduleWith(blob));
  };
  EXPECT_EQ(withHeader([](auto &h, auto *) { h.magic = 1; }),
            "the plan does not begin with its magic number");
  EXPECT_EQ(withHeader([](auto &h, auto *) { h.size = 8; }), "the plan's header claims 8 bytes");
  EXPECT_NE(
      withHeader([](auto &h, auto *) { h.total_size += 64; }).find("the plan's header claims"),
      std::string::npos);
  EXPECT_EQ(withHeader([](auto &h, auto *) { h.table_count = 1u << 31; }),
            "the directory of 2147483648 tables ends beyond the plan");
  EXPECT_EQ(withHeader([](auto &, auto *t) { t[2].stride = 8; }),
            "table 2 of kind 3 has a stride of 8 bytes, expected at least 152");
  EXPECT_EQ(withHeader([](auto &, auto *t) { t[2].offset += 1; }).substr(0, 23),
            "table 2 starts at byte ");
  EXPECT_NE(withHeader([](auto &, auto *t) {
              t[2].count = uint64_t(1) << 61;
            }).find("ends beyond the plan"),
            std::string::npos);
  EXPECT_EQ(withHeader([](auto &, auto *t) { t[3].kind = DLC_TABLE_VARIABLES; }),
            "two tables of kind 3");
  // A table that this version does not know is skipped.
  EXPECT_EQ(withHeader([](auto &, auto *t) { t[13].kind = 77; }), "loaded");
}

// Structs of a newer writer are longer; what this version knows of them is read.
TEST(Loader, AcceptsLongerStructs) {
  PlanBuilder plan = smallModel();
  auto blob = plan.blob();
  auto *table = reinterpret_cast<dlc_table *>(blob.data() + sizeof(dlc_plan_header)) + 12;
  ASSERT_EQ(table->kind, DLC_TABLE_STEPS);
  struct LongStep {
    dlc_step step;
    uint64_t more;
  } step = {plan.steps[0], 123};
  table->offset = blob.size();
  table->stride = sizeof(step);
  blob.resize(blob.size() + DLC_ALIGNMENT);
  std::memcpy(blob.data() + table->offset, &step, sizeof(step));
  reinterpret_cast<dlc_plan_header *>(blob.data())->total_size = blob.size();
  EXPECT_EQ(messageFor(moduleWith(blob)), "loaded");
}

struct Broken {
  const char *message;
  std::function<void(PlanBuilder &)> change;
};

void expectMessages(const std::vector<Broken> &cases) {
  for (const Broken &broken : cases)
    EXPECT_EQ(messageForPlan(broken.change), broken.message);
}

TEST(Loader, ChecksVariables) {
  expectMessages({
      {"variable 'linear1.weight': dtype 99 is unknown",
       [](auto &p) { p.variables[0].type.dtype = 99; }},
      {"variable 'linear1.weight': rank 9 is above 8",
       [](auto &p) { p.variables[0].type.rank = 9; }},
      {"variable 'linear1.weight': shape f32[9223372036854775808, 16] has too many elements",
       [](auto &p) { p.variables[0].type.shape[0] = uint64_t(1) << 63; }},
      {"variable 'linear1.weight': claims 256 bytes, f32[5, 16] takes 320",
       [](auto &p) { p.variables[0].type.shape[0] = 5; }},
      {"variable 'linear1.weight': role 0 is unknown", [](auto &p) { p.variables[0].role = 0; }},
      {"variable 'linear1.weight': initialiser 7 is unknown",
       [](auto &p) { p.variables[0].initialiser = 7; }},
      {"variable 'linear1.weight': begins as a copy, but has no parameter to copy",
       [](auto &p) { p.variables[0].initialiser = DLC_INIT_COPY; }},
      {"variable 'linear1.bias.velocity': is f32[4], but begins as a copy of f32[4, 16]",
       [](auto &p) {
         p.variables[3].initialiser = DLC_INIT_COPY;
         p.variables[3].of = 0;
       }},
      {"variable 'linear1.bias.velocity': is f32[4], but begins as a copy of i32[4]",
       [](auto &p) {
         p.variables[3].initialiser = DLC_INIT_COPY;
         p.variables[1].type.dtype = DLC_I32;
       }},
      {"variable 'linear1.bias.velocity': is bf16[4], but begins as a copy of f32[4]",
       [](auto &p) {
         p.variables[3].initialiser = DLC_INIT_COPY;
         p.variables[3].type.dtype = DLC_BF16;
         p.variables[3].bytes = 8;
       }},
      {"variable 'linear1.weight': the initialiser's parameters are not finite",
       [](auto &p) { p.variables[0].a = NAN; }},
      {"variable 'linear1.weight': bytes [4, +256) do not fit the state of 704 bytes, aligned to "
       "64",
       [](auto &p) { p.variables[0].offset = 4; }},
      {"variable 'linear1.weight': bytes [18446744073709551552, +256) do not fit the state of 704 "
       "bytes, aligned to 64",
       [](auto &p) { p.variables[0].offset = uint64_t(0) - 64; }},
      {"variables 'linear1.weight' and 'linear1.bias' overlap",
       [](auto &p) { p.variables[1].offset = 192; }},
      {"variable 'linear1.weight.velocity': 'of' is 2, expected the index of a parameter",
       [](auto &p) { p.variables[2].of = 2; }},
      {"variable 'linear1.weight': 'of' is 0, expected none",
       [](auto &p) { p.variables[0].of = 0; }},
      {"two variables are called 'linear1.bias'",
       [](auto &p) { p.variables[0].name = p.variables[1].name; }},
      {"name of variable 0 is empty", [](auto &p) { p.variables[0].name.length = 0; }},
      {"name of variable 0 is not followed by a zero",
       [](auto &p) { p.variables[0].name.length -= 1; }},
      {"variable 'linear1.weight': the layout's order is no permutation of 2 axes",
       [](auto &p) { p.variables[0].type.layout.permuted = 1; }},
      {"variable 'linear1.weight': the layout's block 0 splits axis 7 of 2 by 4",
       [](auto &p) { p.variables[0].type.layout = {{}, 0, 1, {7}, {4}}; }},
      {"variable 'linear1.weight': the layout's block 0 splits axis 0 of 2 by 0",
       [](auto &p) { p.variables[0].type.layout = {{}, 0, 1, {0}, {0}}; }},
      {"variable 'linear1.weight': the layout has 3 blocks, at most 2",
       [](auto &p) { p.variables[0].type.layout.block_count = 3; }},
      {"variable 'applied': bytes [640, +4) do not fit the state of 640 bytes, aligned to 64",
       [](auto &p) { p.header.state_bytes -= 64; }},
      {"a state of 960 bytes, its variables end at 704",
       [](auto &p) { p.header.state_bytes += 256; }},
      {"a state of 140737488355328 bytes, scalars of 8",
       [](auto &p) { p.header.state_bytes = uint64_t(1) << 47; }},
  });
  const std::string message =
      messageForPlan([](auto &p) { p.variables[0].name.offset = 1u << 31; });
  EXPECT_TRUE(message.starts_with("name of variable 0 lies outside of the strings")) << message;
  EXPECT_EQ(messageForPlan([](auto &p) { p.strings[p.variables[0].name.offset] = '\xff'; }),
            "name of variable 0 is not printable UTF-8");
}

TEST(Loader, ChecksScalarsStepsAndKernels) {
  expectMessages({
      {"scalar 'step' has dtype 3, expected f32, f64, i32 or i64",
       [](auto &p) { p.scalars[1].dtype = DLC_BF16; }},
      {"scalar 'step' at byte 4 does not fit the block of 8 bytes",
       [](auto &p) { p.scalars[1].dtype = DLC_F64; }},
      {"scalar 'step' at byte 8 does not fit the block of 8 bytes",
       [](auto &p) { p.scalars[1].offset = 8; }},
      {"scalar 'step' at byte 2 does not fit the block of 8 bytes",
       [](auto &p) { p.scalars[1].offset = 2; }},
      {"scalar 'step' at byte 4 does not fit the block of 8 bytes",
       [](auto &p) { p.scalars[1].dtype = DLC_I64; }},
      {"scalar 'step' at byte 4 does not fit the block of 12 bytes",
       [](auto &p) { p.scalars[1].dtype = DLC_I64, p.header.scalars_bytes = 12; }},
      {"scalar 'step' is scheduled, but no f32 or f64",
       [](auto &p) { p.scalars[1].dtype = DLC_I32, p.scalars[1].scheduled = 1; }},
      {"scalar 'step': 'scheduled' is 2, expected 0 or 1",
       [](auto &p) { p.scalars[1].scheduled = 2; }},
      {"a scalars block of 12 bytes, its scalars end at 8",
       [](auto &p) { p.header.scalars_bytes = 12; }},
      {"two scalars are called 'step'", [](auto &p) { p.scalars[0].name = p.scalars[1].name; }},
      {"step 0 runs entry 3 of 3 every 1 batches", [](auto &p) { p.steps[0].entry = 3; }},
      {"step 0 runs entry 0 of 3 every 0 batches", [](auto &p) { p.steps[0].every = 0; }},
      {"step 0 runs entry 'infer_n1', which does not train", [](auto &p) { p.steps[0].entry = 2; }},
      {"step 0 accumulates gradients, and the next one is not their update",
       [](auto &p) { p.entries[0].kind = DLC_ENTRY_ACCUMULATE; }},
      {"step 0 accumulates gradients, and the next one is not their update",
       [](auto &p) {
         p.entries[0].kind = DLC_ENTRY_ACCUMULATE;
         p.entries[2].kind = DLC_ENTRY_TRAIN;
         p.steps[0].every = 2;
         p.steps.push_back({2, 3, {}});
       }},
      {"step 0 has schedule parts [1, 3) of 0", [](auto &p) { p.steps[0].schedule = {1, 2}; }},
      {"schedule part 0: kind 11 is unknown",
       [](auto &p) { p.schedule.push_back({11, 0, 0, 1, 0, 0, 0, {}}); }},
      {"schedule part 0: length 0, n 0 and b 0",
       [](auto &p) { p.schedule.push_back({DLC_SCHEDULE_COSINE, 0, 0, 0, 0, 0, 0, {}}); }},
      {"schedule part 0: length 0, n 1 and b 0.5",
       [](auto &p) {
         p.schedule.push_back({DLC_SCHEDULE_COSINE_RESTARTS, 0, 0, 1, 0, 0.5, 0, {}});
       }},
      {"schedule part 0: a number is not finite",
       [](auto &p) {
         p.schedule.push_back({DLC_SCHEDULE_CONSTANT, 0, 0, 0, 1.0 / 0.0, 0, 0, {}});
       }},
      {"schedule part 0: the metric's name is empty",
       [](auto &p) { p.schedule.push_back({DLC_SCHEDULE_PLATEAU, 0, 0, 0, 0.5, 1, 0, {}}); }},
      {"schedule part 0: 'in_epochs' is 2, expected 0 or 1",
       [](auto &p) { p.schedule.push_back({DLC_SCHEDULE_CONSTANT, 2, 0, 0, 1, 0, 0, {}}); }},
      {"schedule part 0: c is 0.5, expected 1 if more is better, else 0",
       [](auto &p) { p.schedule.push_back({DLC_SCHEDULE_PLATEAU, 0, 0, 0, 0.5, 1, 0.5, {}}); }},
      {"1 of 1 schedule parts belong to no step",
       [](auto &p) { p.schedule.push_back({DLC_SCHEDULE_CONSTANT, 0, 0, 0, 1, 0, 0, {}}); }},
      {"kernel 'logits': a scratch of 140737488355328 bytes",
       [](auto &p) { p.kernels[0].scratch_bytes = uint64_t(1) << 47; }},
      {"kernel 'logits' is for target 9, which is unknown",
       [](auto &p) { p.kernels[0].target = 9; }},
      {"damaged module: kernel 'logits' is function 13 of 13",
       [](auto &p) { p.kernels[0].function = 13; }},
  });
}

TEST(Loader, ChecksEntries) {
  expectMessages({
      {"entry 'train_step': kind 6 is unknown", [](auto &p) { p.entries[0].kind = 6; }},
      {"entry 'train_step': inputs are values [30, 32) of 17",
       [](auto &p) { p.entries[0].inputs.first = 30; }},
      {"entry 'train_step': records [0, 4294967295) of 11",
       [](auto &p) { p.entries[0].records.count = DLC_NONE; }},
      {"entry 'evaluate': records [6, 9) of 11, expected from 7",
       [](auto &p) { p.entries[1].records.first = 6; }},
      {"1 of 11 records belong to no entry", [](auto &p) { p.entries[2].records.count = 0; }},
      {"entry 'train_step': outputs are values [1, 7) of 17, expected from 2",
       [](auto &p) { p.entries[0].outputs.first = 1; }},
      {"entry 'train_step': metric 'accuracy' has terms [0, 1) of 4, expected from 1",
       [](auto &p) { p.metrics[1].terms.first = 0; }},
      {"2 of 4 metrics belong to no entry", [](auto &p) { p.entries[1].metrics.count = 0; }},
      {"entry 'train_step': a batch of 2147483648 samples",
       [](auto &p) { p.entries[0].batch = uint64_t(1) << 31; }},
      {"entry 'train_step': prepares variables, but has 2 inputs",
       [](auto &p) { p.entries[0].kind = DLC_ENTRY_PREPARE; }},
      {"entry 'train_step': 2000 streams and 0 events for 7 records",
       [](auto &p) { p.entries[0].streams = 2000; }},
      {"entry 'train_step': 1 streams and 8 events for 7 records",
       [](auto &p) { p.entries[0].events = 8; }},
      {"entry 'train_step': metrics [0, 9) of 4", [](auto &p) { p.entries[0].metrics.count = 9; }},
      {"entry 'train_step': the count of valid samples is input 0, which is no i32[]",
       [](auto &p) { p.entries[0].valid_input = 0; }},
      {"entry 'train_step': input 'image': axis 0 of f32[8, 1, 4, 4] counts samples, the entry has "
       "9",
       [](auto &p) { p.entries[0].batch = 9; }},
      {"entry 'train_step': input 'image': axis 0 of f32[8, 1, 4, 4] counts samples, the entry has "
       "0",
       [](auto &p) { p.entries[0].batch = 0; }},
      {"entry 'train_step': output 'output': axis 1 of f32[8, 4] counts samples, the entry has 8",
       [](auto &p) { p.values[2].batch_axis = 1; }},
      {"entry 'train_step': output 'loss.sum': an accumulator must stand in the arena or in the "
       "state",
       [](auto &p) {
         p.values[3].location = p.values[0].location, p.values[3].location.bytes = 4;
       }},
      {"entry 'train_step': output 'gradient.linear1.weight': is f32[4, 16], the gradient of "
       "f32[4]",
       [](auto &p) { p.values[6].of = 1; }},
      {"entry 'train_step': input 'image': batch axis 4 of f32[8, 1, 4, 4]",
       [](auto &p) { p.values[0].batch_axis = 4; }},
      {"entry 'train_step': input 'image': an input must stand at the start of its own space",
       [](auto &p) { p.values[0].location.index = 1; }},
      {"entry 'train_step': input 'image': claims 4 bytes, f32[8, 1, 4, 4] takes 512",
       [](auto &p) { p.values[0].location.bytes = 4; }},
      {"entry 'train_step': output 'output': bytes [64000, +128) end beyond the arena, which has "
       "896",
       [](auto &p) { p.values[2].location.offset = 64000; }},
      {"entry 'train_step': input 'image': 4 classes of f32[8, 1, 4, 4], expected none, or an "
       "input "
       "of whole numbers",
       [](auto &p) { p.values[0].classes = 4; }},
      {"entry 'train_step': output 'output': 4 classes of f32[8, 4], expected none, or an input of "
       "whole numbers",
       [](auto &p) { p.values[2].classes = 4; }},
      {"entry 'train_step': input 'image': stands where dtype 5 is, it is f32[8, 1, 4, 4]",
       [](auto &p) { p.values[0].location.dtype = DLC_I32; }},
      {"entry 'train_step': output 'output': kind 0 is unknown",
       [](auto &p) { p.values[2].kind = 0; }},
      {"entry 'train_step': output 'loss.sum': an accumulator must be of f32 or f64 in row-major "
       "order, found i32[]",
       [](auto &p) { p.values[3].type.dtype = p.values[3].location.dtype = DLC_I32; }},
      {"entry 'train_step': output 'output': kind 6 is unknown",
       [](auto &p) { p.values[2].kind = DLC_VALUE_CHECK + 1; }},
      {"entry 'train_step': output 'loss.sum': a check must be of f32 or f64 in row-major order, "
       "found i32[]",
       [](auto &p) {
         p.values[3].kind = DLC_VALUE_CHECK;
         p.values[3].type.dtype = p.values[3].location.dtype = DLC_I32;
       }},
      {"entry 'train_step': metric 'loss': adds up 'output', which is f32[8, 4], expected f32[]",
       [](auto &p) {
         p.values[2].kind = DLC_VALUE_ACCUMULATOR;
         p.terms[0].sum = 0;
       }},
      {"entry 'train_step': metric 'loss': its sum is f32[], expected f32[outputs, 2, bins]",
       [](auto &p) { p.metrics[0].finish = DLC_FINISH_AREA; }},
      {"entry 'train_step': metric 'loss': its sum is f32[8, 4], expected f32[classes, classes]",
       [](auto &p) {
         p.values[2].kind = DLC_VALUE_ACCUMULATOR;
         p.metrics[0].finish = DLC_FINISH_TABLE;
         p.terms[0].sum = 0;
       }},
      {"entry 'train_step': metric 'loss', term 0: its sum is output 0, which is no accumulator",
       [](auto &p) { p.terms[0].sum = 0; }},
      {"entry 'train_step': metric 'loss', term 0: its count is output 77, which is no accumulator",
       [](auto &p) { p.terms[0].count = 77; }},
      {"entry 'train_step': metric 'loss', term 0: its constant count is 0",
       [](auto &p) { p.terms[0].count = DLC_NONE; }},
      {"entry 'train_step': metric 'loss' finishes by 4, which is unknown",
       [](auto &p) { p.metrics[0].finish = 4; }},
      {"two entries are called 'train_step'",
       [](auto &p) { p.entries[1].name = p.entries[0].name; }},
  });
}

TEST(Loader, ChecksRecords) {
  const std::string first = "entry 'train_step', record 0 'linear1/forward': ";
  const std::vector<Broken> cases = {
      {"kind 0 is unknown", [](auto &p) { p.records[0].kind = 0; }},
      {"stream 1 of 1", [](auto &p) { p.records[0].stream = 1; }},
      {"launches kernel 6 of 6", [](auto &p) { p.records[0].index = 6; }},
      {"launches 2147483648 tasks, at most 2147483647",
       [](auto &p) { p.records[0].tasks = 1u << 31; }},
      {"has 3 arguments, expected 4", [](auto &p) { p.records[0].arguments.count = 3; }},
      {"has 1 immediates, expected 2", [](auto &p) { p.records[0].immediates.count = 1; }},
      {"its immediates end beyond the table of 21",
       [](auto &p) { p.records[0].immediates.first = DLC_NONE; }},
      {"argument 0: space 6 is unknown", [](auto &p) { p.arguments[0].space = 6; }},
      {"argument 0: index 2 in the input, the entry has 2 inputs",
       [](auto &p) { p.arguments[0].index = 2; }},
      {"argument 0: bytes [64, +512) end beyond the input, which has 512",
       [](auto &p) { p.arguments[0].offset = 64; }},
      {"argument 0: writes to the input, which is read-only",
       [](auto &p) { p.arguments[0].access = DLC_WRITE; }},
      {"argument 0: access 4 is unknown", [](auto &p) { p.arguments[0].access = 4; }},
      {"argument 1: byte 4 of the state is not a multiple of 64",
       [](auto &p) { p.arguments[1].offset = 4; }},
      {"argument 1: bytes [0, +1024) end beyond the state, which has 704",
       [](auto &p) { p.arguments[1].bytes = 1024; }},
      {"argument 0: 512 bytes of dtype 9, which is unknown or does not divide them",
       [](auto &p) { p.arguments[0].dtype = 9; }},
      {"argument 3: 126 bytes of dtype 1, which is unknown or does not divide them",
       [](auto &p) { p.arguments[3].bytes = 126; }},
      {"argument 3: bytes [0, +18446744073709551615) end beyond the arena, which has 896",
       [](auto &p) { p.arguments[3].bytes = UINT64_MAX; }},
  };
  for (const Broken &broken : cases)
    EXPECT_EQ(messageForPlan(broken.change), first + broken.message);
}

// A scalar stands where a number of its type may.
TEST(Loader, ChecksPlacesOfScalars) {
  EXPECT_EQ(messageForPlan([](auto &p) {
              for (dlc_argument &argument : p.arguments)
                if (argument.space == DLC_SPACE_SCALARS)
                  argument.offset += 2, argument.bytes = 2;
            }),
            "entry 'train_step', record 4 'linear1.weight/update': argument 3: byte 2 of the "
            "scalars block is not a multiple of 4");
  EXPECT_EQ(messageForPlan([](auto &p) {
              for (dlc_argument &argument : p.arguments)
                if (argument.space == DLC_SPACE_SCALARS)
                  argument.offset = 4, argument.bytes = 0, argument.dtype = DLC_I64;
            }),
            "entry 'train_step', record 4 'linear1.weight/update': argument 3: byte 4 of the "
            "scalars block is not a multiple of 8");
}

// Texts of a file cannot fill a terminal: names are bounded, and so is a message about several.
TEST(Loader, BoundsNames) {
  const auto named = [](size_t length) {
    return [=](PlanBuilder &p) { p.entries[0].name = p.text(std::string(length, 'x')); };
  };
  EXPECT_EQ(messageForPlan(named(4096)), "loaded");
  EXPECT_EQ(messageForPlan(named(4097)), "name of entry 0 has 4097 bytes, at most 4096");
  const std::string message = messageForPlan([&](PlanBuilder &p) {
    named(4096)(p);
    p.entries[0].kind = 9;
  });
  EXPECT_LE(message.size(), 1000u);
  EXPECT_TRUE(message.starts_with("entry 'xxxx")) << message;
  EXPECT_TRUE(message.ends_with("xxxx': kind 9 is unknown")) << message;
  EXPECT_EQ(messageForPlan([](auto &p) { p.header.model = p.text("a\x1b[2Jb"); }),
            "the model's name is not printable UTF-8");
  EXPECT_EQ(messageForPlan([](auto &p) { p.header.model = p.text("a\u009b2Jb"); }),
            "the model's name is not printable UTF-8");
}

// What prints the report goes down its tree.
TEST(Loader, BoundsTheReport) {
  const auto nested = [](size_t depth) {
    return [=](PlanBuilder &p) {
      p.header.report = p.text("{\"[[[\": " + std::string(depth - 1, '[') + "\"\\\"[\"" +
                               std::string(depth - 1, ']') + "}");
    };
  };
  EXPECT_EQ(messageForPlan(nested(64)), "loaded");
  EXPECT_EQ(messageForPlan(nested(65)), "the compile report: JSON nested more than 64 deep");
  EXPECT_EQ(messageForPlan(nested(20000)), "the compile report: JSON nested more than 64 deep");
}

/// Makes the small plan's first record something else.
std::string messageForRecord(uint32_t kind, std::vector<dlc_argument> arguments, uint32_t index = 0,
                             uint32_t value = 0, uint32_t dataParallel = 0) {
  std::string message = messageForPlan([&](PlanBuilder &plan) {
    plan.header.data_parallel = dataParallel;
    dlc_record &record = plan.records[0];
    record.kind = kind;
    record.index = index;
    record.value = value;
    record.arguments = {static_cast<uint32_t>(plan.arguments.size()),
                        static_cast<uint32_t>(arguments.size())};
    record.immediates = {0, 0};
    plan.entries[0].events = 2;
    plan.arguments.insert(plan.arguments.end(), arguments.begin(), arguments.end());
  });
  const std::string first = "entry 'train_step', record 0 'linear1/forward': ";
  return message.starts_with(first) ? message.substr(first.size()) : message;
}

TEST(Loader, ChecksCopiesFillsAndEvents) {
  const dlc_argument to{DLC_SPACE_ARENA, 0, 0, 128, DLC_WRITE, 0},
      from{DLC_SPACE_ARENA, 0, 128, 128, DLC_READ, 0};
  dlc_argument shorter = from, overlapping = from;
  shorter.bytes = 64;
  overlapping.offset = 64;
  EXPECT_EQ(messageForRecord(DLC_RECORD_COPY, {to, from}), "loaded");
  EXPECT_EQ(messageForRecord(DLC_RECORD_COPY, {to}), "has 1 arguments, expected 2");
  EXPECT_EQ(messageForRecord(DLC_RECORD_COPY, {to, shorter}), "copies 64 bytes to a buffer of 128");
  EXPECT_EQ(messageForRecord(DLC_RECORD_COPY, {to, overlapping}),
            "copies between buffers that overlap");
  EXPECT_EQ(messageForRecord(DLC_RECORD_COPY, {from, to}),
            "a copy must write its first argument and read its second");
  EXPECT_EQ(messageForRecord(DLC_RECORD_FILL, {to}, 0, 255), "loaded");
  EXPECT_EQ(messageForRecord(DLC_RECORD_FILL, {to}, 0, 256), "fills with 256, expected a byte");
  EXPECT_EQ(messageForRecord(DLC_RECORD_FILL, {from}), "a fill must write its argument");
  EXPECT_EQ(messageForRecord(DLC_RECORD_RECORD_EVENT, {}, 1), "loaded");
  EXPECT_EQ(messageForRecord(DLC_RECORD_RECORD_EVENT, {}, 2), "event 2 of 2");
  EXPECT_EQ(messageForRecord(DLC_RECORD_WAIT_EVENT, {}, 0),
            "waits for event 0, which no earlier record records");
}

// A collective takes one buffer of floats in place, in a module that was built for several ranks.
TEST(Loader, ChecksCollectives) {
  const dlc_argument buffer{DLC_SPACE_ARENA, 0, 0, 128, DLC_READ | DLC_WRITE, DLC_F32};
  dlc_argument read = buffer, integers = buffer;
  read.access = DLC_READ;
  integers.dtype = DLC_I32;
  auto message = [](std::vector<dlc_argument> arguments, uint32_t kind = DLC_COLLECTIVE_SUM,
                    uint32_t channel = DLC_CHANNEL_BUCKETS) {
    return messageForRecord(DLC_RECORD_COLLECTIVE, std::move(arguments), kind, channel, 1);
  };
  EXPECT_EQ(message({buffer}), "loaded");
  EXPECT_EQ(message({buffer}, DLC_COLLECTIVE_SUM, DLC_CHANNEL_SMALL), "loaded");
  EXPECT_EQ(message({buffer}, 0), "collective 0 is unknown");
  EXPECT_EQ(message({buffer}, DLC_COLLECTIVE_SUM, 2), "channel 2 of 2");
  EXPECT_EQ(message({buffer, buffer}), "has 2 arguments, expected 1");
  EXPECT_EQ(message({read}), "a collective must read and write its argument");
  EXPECT_EQ(message({integers}), "a collective adds up floats, found elements of type 5");
  EXPECT_EQ(messageForRecord(DLC_RECORD_COLLECTIVE, {buffer}, DLC_COLLECTIVE_SUM),
            "is a collective, in a module that was not built for several ranks");
  EXPECT_EQ(messageForPlan([](PlanBuilder &plan) { plan.header.data_parallel = 2; }),
            "data_parallel is 2, expected 0 or 1");
}

/// The message for the CUDA model with something broken; it has one image, and one product in the
/// place of its first record.
std::string messageForCudaPlan(const std::function<void(PlanBuilder &)> &breakIt) {
  PlanBuilder plan = smallSimtModel();
  plan.imageBytes.resize(128);
  plan.images.push_back({DLC_IMAGE_CUBIN, 90, 64, 64, 32, 0, 0, 0});
  plan.kernels[0].images = {0, 1};
  dlc_library_call call = {};
  call.op = DLC_CALL_PRODUCT;
  call.epilogue = DLC_EPILOGUE_BIAS;
  call.transpose_b = 1;
  const uint64_t sizes[] = {1, 8, 4, 16};
  std::copy(std::begin(sizes), std::end(sizes), call.sizes);
  plan.calls.push_back(call);
  dlc_record &record = plan.records[0];
  record.kind = DLC_RECORD_LIBRARY;
  record.index = 0;
  record.immediates.count = 0;
  dlc_argument *arguments = plan.arguments.data() + record.arguments.first;
  std::rotate(arguments, arguments + 3, arguments + 4); // result, a, b, bias
  breakIt(plan);
  return messageFor(moduleWith(plan.blob(), {.targets = simtTargets}));
}

TEST(Loader, ChecksImagesAndCudaKernels) {
  EXPECT_EQ(messageForCudaPlan([](auto &) {}), "loaded");
  const std::vector<Broken> cases = {
      {"image 0 has kind 3, which is unknown", [](auto &p) { p.images[0].kind = 3; }},
      {"image 0 is bytes [64, +65) of 128, aligned to 64", [](auto &p) { p.images[0].bytes = 65; }},
      {"image 0 is bytes [64, +0) of 128, aligned to 64", [](auto &p) { p.images[0].bytes = 0; }},
      {"image 0 is bytes [8, +64) of 128, aligned to 64", [](auto &p) { p.images[0].offset = 8; }},
      {"image 0 is bytes [18446744073709551552, +64) of 128, aligned to 64",
       [](auto &p) { p.images[0].offset = uint64_t(0) - 64; }},
      {"kernel 'logits': its images are [1, 2) of 1",
       [](auto &p) { p.kernels[0].images.first = 1; }},
      {"kernel 'logits': blocks of 0 threads, expected 1 to 1024",
       [](auto &p) { p.kernels[0].threads = 0; }},
      {"kernel 'logits': blocks of 1025 threads, expected 1 to 1024",
       [](auto &p) { p.kernels[0].threads = 1025; }},
      {"kernel 'logits': blocks with 2097152 bytes of shared memory",
       [](auto &p) { p.kernels[0].shared_bytes = 2 << 20; }},
      {"damaged module: kernel 'logits' is function 13 of 13",
       [](auto &p) { p.kernels[0].function = 13; }},
  };
  for (const Broken &broken : cases)
    EXPECT_EQ(messageForCudaPlan(broken.change), broken.message);
}

TEST(Loader, ChecksLibraryCalls) {
  const std::string record = "entry 'train_step', record 0 'linear1/forward': ";
  const std::vector<Broken> cases = {
      {"library call 0: op 9 is unknown", [](auto &p) { p.calls[0].op = 9; }},
      {"library call 0: epilogue 256 is none that a product has",
       [](auto &p) { p.calls[0].epilogue = 256; }},
      {"library call 0: epilogue 5 is none that a product has",
       [](auto &p) { p.calls[0].epilogue = 5; }},
      {"library call 0: epilogue 192 is none that a product has",
       [](auto &p) { p.calls[0].epilogue = DLC_EPILOGUE_SUMS_A | DLC_EPILOGUE_SUMS_B; }},
      {"library call 0: epilogue 64 is none that a convolution has",
       [](auto &p) {
         p.calls[0].op = DLC_CALL_CONVOLUTION;
         p.calls[0].epilogue = DLC_EPILOGUE_SUMS_A;
       }},
      {"library call 0: a product of 2 matrices with epilogue 64, which is for one",
       [](auto &p) {
         p.calls[0].sizes[0] = 2, p.calls[0].sizes[6] = 32;
         p.calls[0].epilogue = DLC_EPILOGUE_SUMS_A;
       }},
      {"library call 0: a product of 1 times 8x0x16", [](auto &p) { p.calls[0].sizes[2] = 0; }},
      {"library call 0: a product of 4294967296 times 4294967296x4x16",
       [](auto &p) { p.calls[0].sizes[0] = p.calls[0].sizes[1] = uint64_t(1) << 32; }},
      {"library call 0: a product with batch strides 0, 0, 31",
       [](auto &p) { p.calls[0].sizes[0] = 2, p.calls[0].sizes[6] = 31; }},
      {"library call 0: transposes by 0 and 2", [](auto &p) { p.calls[0].transpose_b = 2; }},
      {"library call 0: layout 1 is none that a product has",
       [](auto &p) { p.calls[0].layout = 1; }},
      {"library call 0: layout 2 is none that a convolution has",
       [](auto &p) { p.calls[0].op = DLC_CALL_CONVOLUTION, p.calls[0].layout = 2; }},
      {"library call 0: math 2 is none that a product of f32 has",
       [](auto &p) { p.calls[0].math = 2; }},
      {"library call 0: math 1 is none that a product of f16 has",
       [](auto &p) { p.calls[0].math = 1, p.calls[0].dtype = DLC_F16; }},
      {"library call 0: dtype 2 is none that a library call has",
       [](auto &p) { p.calls[0].dtype = DLC_F64; }},
      {"library call 0: epilogue 1 is none that a product of bf16 has",
       [](auto &p) { p.calls[0].epilogue = DLC_EPILOGUE_BIAS, p.calls[0].dtype = DLC_BF16; }},
      {"library call 0: its engine is immediates [19, 22) of 19",
       [](auto &p) {
         p.immediates.resize(19);
         p.calls[0].engine = {19, 3};
       }},
      {"library call 0: its engine is immediates [0, 2) of 21",
       [](auto &p) { p.calls[0].engine = {0, 2}; }},
      {"library call 0: a convolution over 4 axes, expected 1 to 3",
       [](auto &p) { p.calls[0].op = DLC_CALL_CONVOLUTION, p.calls[0].sizes[0] = 4; }},
      {"library call 0: an axis of 5 with a filter of 3 gives 4",
       [](auto &p) {
         const uint64_t sizes[] = {1, 1, 1, 1, 1, 5, 3, 4, 1, 0, 0, 1};
         std::copy(std::begin(sizes), std::end(sizes), p.calls[0].sizes);
         p.calls[0].op = DLC_CALL_BACKWARD_DATA;
       }},
  };
  for (const Broken &broken : cases)
    EXPECT_EQ(messageForCudaPlan(broken.change), broken.message);
  const std::vector<Broken> records = {
      {"makes library call 1 of 1", [](auto &p) { p.records[0].index = 1; }},
      {"condition 3 is unknown", [](auto &p) { p.records[0].condition = 3; }},
      {"has no condition, but one's call 1", [](auto &p) { p.records[0].call = 1; }},
      {"depends on library call 1 of 1",
       [](auto &p) { p.records[0].condition = DLC_IF_ACCEPTED, p.records[0].call = 1; }},
      {"library call 0 has condition 2 of call 0",
       [](auto &p) { p.records[0].condition = DLC_IF_REFUSED; }},
      {"kind 7 has condition 1, which launches and library calls have",
       [](auto &p) {
         p.records[0].kind = DLC_RECORD_RECORD_EVENT;
         p.records[0].condition = DLC_IF_ACCEPTED;
       }},
      {"has 4 arguments, expected 3", [](auto &p) { p.calls[0].epilogue = 0; }},
      {"argument 0, the call's result, has 128 bytes, expected 256",
       [](auto &p) { p.calls[0].sizes[1] = 16; }},
      {"argument 3, the call's sums of a, must be written",
       [](auto &p) { p.calls[0].epilogue = DLC_EPILOGUE_SUMS_A; }},
      {"argument 3, the call's sums of a, has 16 bytes, expected 32",
       [](auto &p) {
         p.calls[0].epilogue = DLC_EPILOGUE_SUMS_A;
         dlc_argument &sums = p.arguments[p.records[0].arguments.first + 3];
         sums = p.arguments[p.records[0].arguments.first];
         sums.bytes = 16;
       }},
      {"argument 0, the call's result, must be written",
       [](auto &p) { p.arguments[p.records[0].arguments.first].access = DLC_READ; }},
      {"argument 3, the call's bias, has 4 bytes, expected 16",
       [](auto &p) { p.arguments[p.records[0].arguments.first + 3].bytes = 4; }},
  };
  for (const Broken &broken : records)
    EXPECT_EQ(messageForCudaPlan(broken.change), record + broken.message);
}

// A module loads where it cannot run, so that it can be inspected; running it says what is missing.
TEST(Loader, LoadsModulesForOtherDevices) {
  TemporaryFolder folder;
  const std::string path = folder.path("x.so");
  writeFile(path, moduleWith(smallSimtModel().blob(), {.targets = simtTargets}));
  auto module = Module::load(path);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ((*module)->targetNames(), "cuda, simt");
  auto state = State::create(*module, openCpu().take(), 0);
  EXPECT_EQ(state.status().message(),
            path + ": compiled for cuda, simt, not for cpu; dlc --target=cpu compiles for it");
  auto cpu = Module::load(writeSmallModule(folder)).take();
  EXPECT_EQ(State::create(cpu, openSimt().take(), 0).status().message(),
            cpu->path() +
                ": compiled for cpu, not for simt; dlc --target=cuda:simt compiles for it");
}

} // namespace
