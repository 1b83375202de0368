// The first of two steps from blob to Plan: finds the tables and copies them out, whatever version
// wrote them. It checks the blob's structure only; what the numbers mean is checked by PlanDecoder
// and PlanChecker.
//
// Ownership: views the blob, which must outlive it.
#ifndef DLC_RUNTIME_CORE_PLANREADER_H
#define DLC_RUNTIME_CORE_PLANREADER_H

#include "dlc/abi.h"
#include "dlc/status.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace dlc::runtime {

/// The tables as the ABI's structs. Strings are offsets still.
struct RawPlan {
  dlc_plan_header header = {};
  std::string_view strings;
  std::span<const std::byte> constants;
  std::vector<dlc_variable> variables;
  std::vector<dlc_scalar> scalars;
  std::vector<dlc_entry> entries;
  std::vector<dlc_value> values;
  std::vector<dlc_metric> metrics;
  std::vector<dlc_term> terms;
  std::vector<dlc_kernel> kernels;
  std::vector<dlc_record> records;
  std::vector<dlc_argument> arguments;
  std::vector<uint64_t> immediates;
  std::vector<dlc_step> steps;
  std::vector<dlc_setting> settings;
  std::vector<dlc_image> images;
  std::span<const std::byte> imageBytes;
  std::vector<dlc_library_call> calls;
  std::vector<dlc_schedule_part> schedule;
};

/// Reads the tables of a blob. The blob starts at an address that is a multiple of DLC_ALIGNMENT.
Result<RawPlan> readPlan(std::span<const std::byte> blob);

} // namespace dlc::runtime

#endif
