// Names and sizes of dtypes, roles, kinds; look-ups in a Plan.
#include "dlc/plan.h"
#include "runtime/Core/Layout.h"
#include "runtime/Core/Support.h"

#include <algorithm>

namespace dlc::runtime {

uint64_t dtypeSize(uint32_t dtype) {
  switch (dtype) {
  case DLC_F64:
  case DLC_I64:
    return 8;
  case DLC_F32:
  case DLC_I32:
    return 4;
  case DLC_BF16:
  case DLC_F16:
    return 2;
  case DLC_U8:
  case DLC_BOOL:
    return 1;
  default:
    return 0;
  }
}

std::string_view dtypeName(uint32_t dtype) {
  static constexpr std::string_view names[] = {"?",   "f32", "f64", "bf16", "f16",
                                               "i32", "i64", "u8",  "bool"};
  return dtype < std::size(names) ? names[dtype] : names[0];
}

bool isWhole(uint32_t dtype) {
  return dtype == DLC_I32 || dtype == DLC_I64 || dtype == DLC_U8 || dtype == DLC_BOOL;
}

std::string_view roleName(dlc_role role) {
  static constexpr std::string_view names[] = {"?",     "parameter", "slot",   "statistic",
                                               "state", "counter",   "metric", "derived"};
  return static_cast<size_t>(role) < std::size(names) ? names[role] : names[0];
}

std::string_view entryKindName(dlc_entry_kind kind) {
  static constexpr std::string_view names[] = {"?",     "train",   "evaluate",
                                               "infer", "prepare", "accumulate"};
  return static_cast<size_t>(kind) < std::size(names) ? names[kind] : names[0];
}

std::string_view targetName(dlc_target target) {
  static constexpr std::string_view names[] = {"?", "cpu", "cuda", "simt"};
  return static_cast<size_t>(target) < std::size(names) ? names[target] : names[0];
}

std::string_view libraryOpName(uint32_t op) {
  static constexpr std::string_view names[] = {"?", "product", "convolution", "backward_data",
                                               "backward_filter"};
  return op < std::size(names) ? names[op] : names[0];
}

uint64_t TensorType::elementCount() const {
  uint64_t count = 1;
  for (uint64_t extent : shape)
    count *= extent;
  return count;
}

uint64_t TensorType::storageBytes() const { return storageElements(*this) * dtypeSize(dtype); }

std::string TensorType::str() const {
  std::string text(dtypeName(dtype));
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ']';
}

template <typename T> static const T *findNamed(const std::vector<T> &list, std::string_view name) {
  auto it =
      std::find_if(list.begin(), list.end(), [&](const T &item) { return item.name == name; });
  return it == list.end() ? nullptr : &*it;
}

const EntryInfo *Plan::findEntry(std::string_view name) const { return findNamed(entries, name); }
const VariableInfo *Plan::findVariable(std::string_view name) const {
  return findNamed(variables, name);
}
const ScalarInfo *Plan::findScalar(std::string_view name) const { return findNamed(scalars, name); }

bool Plan::hasAlternative(const EntryInfo &entry, uint32_t call) const {
  return std::ranges::any_of(std::span(records).subspan(entry.records.first, entry.records.count),
                             [&](const dlc_record &record) {
                               return record.condition == DLC_IF_REFUSED && record.call == call;
                             });
}

const EntryInfo *Plan::findEntry(dlc_entry_kind kind) const {
  auto it = std::find_if(entries.begin(), entries.end(),
                         [&](const EntryInfo &entry) { return entry.kind == kind; });
  return it == entries.end() ? nullptr : &*it;
}

} // namespace dlc::runtime
