// Entries made by hand, for what maps data to their inputs, and lists of transforms.
#ifndef DLC_TEST_RUNTIME_DATA_INPUTS_H
#define DLC_TEST_RUNTIME_DATA_INPUTS_H

#include "dlc/plan.h"
#include "runtime/Data/Augment/Transforms.h"

#include <gtest/gtest.h>

namespace dlc::test {

/// The transforms of a split, of a list that is one.
inline runtime::TransformList listOf(std::string_view text,
                                     runtime::Split split = runtime::Split::Train) {
  runtime::Result<runtime::Augmentation> found = runtime::parseAugmentation(text);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return split == runtime::Split::Train ? found->train : found->test;
}

inline runtime::EntryInfo entryWith(std::vector<runtime::ValueInfo> inputs, uint64_t batch) {
  runtime::EntryInfo entry{};
  entry.name = "e";
  entry.validInput = DLC_NONE;
  entry.inputs = std::move(inputs);
  entry.batch = batch;
  return entry;
}

inline runtime::ValueInfo inputOf(std::string_view name, dlc_dtype dtype,
                                  std::vector<uint64_t> shape) {
  runtime::ValueInfo value{};
  value.name = name;
  value.type = {dtype, std::move(shape), {}};
  value.kind = DLC_VALUE_INPUT;
  return value;
}

} // namespace dlc::test

#endif
