// Entries made by hand, for what maps data to their inputs.
#ifndef DLC_TEST_RUNTIME_DATA_INPUTS_H
#define DLC_TEST_RUNTIME_DATA_INPUTS_H

#include "dlc/plan.h"

namespace dlc::test {

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
