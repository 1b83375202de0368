// What tests take for the fields of abi.h is what the compiler takes for them, and every struct of
// it is known to go into a file or not.
#include "test/lib/AbiFields/AbiFields.h"
#include "dlc/abi.h"

#include <gtest/gtest.h>
#include <set>

using namespace dlc::test;

namespace {

// Each struct of the text has the compiler's size; a new one must be added here and, if modules
// hold it, to test/fuzz/BrokenFields.cpp.
TEST(AbiFields, HaveTheCompilersSizes) {
  const std::map<std::string, uint64_t> sizes = {
#define SIZE(type) {#type, sizeof(type)}
      SIZE(dlc_note),          SIZE(dlc_args),   SIZE(dlc_simt),    SIZE(dlc_module),
      SIZE(dlc_table),         SIZE(dlc_string), SIZE(dlc_range),   SIZE(dlc_layout),
      SIZE(dlc_plan_header),   SIZE(dlc_type),   SIZE(dlc_scalar),  SIZE(dlc_argument),
      SIZE(dlc_variable),      SIZE(dlc_entry),  SIZE(dlc_value),   SIZE(dlc_metric),
      SIZE(dlc_term),          SIZE(dlc_step),   SIZE(dlc_setting), SIZE(dlc_kernel),
      SIZE(dlc_schedule_part), SIZE(dlc_image),  SIZE(dlc_record),  SIZE(dlc_library_call)};
#undef SIZE
  const Abi abi = readAbi();
  for (const auto &[name, structure] : abi.structs) {
    ASSERT_TRUE(sizes.contains(name)) << name;
    EXPECT_EQ(structure.bytes, sizes.at(name)) << name;
  }
  EXPECT_EQ(abi.structs.size(), sizes.size());
}

// Fields of fields have their places, and tables their elements.
TEST(AbiFields, StandWhereTheCompilerPutsThem) {
  const Abi abi = readAbi();
  auto offset = [&](const std::string &structure, const std::string &name) -> uint64_t {
    for (const AbiField &field : abi.structs.at(structure).fields)
      if (field.name == name)
        return field.offset;
    return UINT64_MAX;
  };
  EXPECT_EQ(offset("dlc_value", "type.layout.block_size"),
            offsetof(dlc_value, type.layout.block_size));
  EXPECT_EQ(offset("dlc_value", "of"), offsetof(dlc_value, of));
  EXPECT_EQ(offset("dlc_simt", "user"), offsetof(dlc_simt, user));
  EXPECT_EQ(offset("dlc_record", "bytes"), offsetof(dlc_record, bytes));
  EXPECT_EQ(abi.tables.at(DLC_TABLE_RECORDS), "dlc_record");
  EXPECT_EQ(abi.tables.at(DLC_TABLE_IMMEDIATES), "uint64_t");
  EXPECT_EQ(abi.tables.at(DLC_TABLE_STRINGS), "bytes");
  EXPECT_EQ(abi.tables.size(), 18u);
}

} // namespace
