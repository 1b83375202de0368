//===- Tables.h - the tables of the blob while they grow ----------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_TABLES_H
#define DLC_CODEGEN_PLAN_TABLES_H

#include "dlc/abi.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <vector>

namespace dlc::codegen {

/// One vector a table of abi.h, and the texts and constants that they refer to, each stored once.
class Tables {
public:
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
  std::vector<dlc_library_call> calls;
  std::vector<dlc_schedule_part> schedule;

  dlc_string addString(llvm::StringRef text);
  /// Offset in the constants table, a multiple of DLC_ALIGNMENT.
  uint64_t addConstant(llvm::StringRef bytes);

  /// Offset in the image bytes, a multiple of DLC_ALIGNMENT.
  uint64_t addImage(llvm::StringRef bytes);

  /// The blob: `header` with its sizes filled in, the directory, the tables.
  std::string serialise(dlc_plan_header header) const;

private:
  std::string strings, constants, imageBytes;
  llvm::StringMap<uint32_t> knownStrings;
  llvm::StringMap<uint64_t> knownConstants;
};

} // namespace dlc::codegen

#endif
