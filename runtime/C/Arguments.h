// What C passes, checked and in the form that the runtime takes.
#ifndef DLC_RUNTIME_C_ARGUMENTS_H
#define DLC_RUNTIME_C_ARGUMENTS_H

#include "dlc/c.h"
#include "dlc/data.h"
#include "dlc/log.h"
#include "dlc/plan.h"
#include "runtime/C/Handles.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace dlc::runtime {

inline std::string textOf(const char *text) { return text ? text : ""; }

/// Fails if a pointer that must lead somewhere does not.
inline Status present(const void *pointer, std::string_view what) {
  return pointer ? Status() : invalid(what, " is NULL");
}

/// sizeof in the first version, which programs that were compiled against it pass.
template <typename Struct> inline constexpr size_t firstSize = sizeof(Struct);
template <> inline constexpr size_t firstSize<dlc_options> = offsetof(dlc_options, seed_given);
template <> inline constexpr size_t firstSize<dlc_observer> = offsetof(dlc_observer, on_checkpoint);
template <> inline constexpr size_t firstSize<dlc_progress> = offsetof(dlc_progress, bad_records);

/// Fails if `size`, which a struct of the caller's begins with, cannot be its own; of a later
/// version's, only zeros may stand behind what this version knows.
template <typename Struct> Status checkSize(const Struct *given, std::string_view name) {
  DLC_TRY(present(given, name));
  constexpr size_t longest = 4096;
  if (given->size < firstSize<Struct> || given->size > longest)
    return invalid("`size` of ", name, " is ", given->size, ": expected sizeof, ", sizeof(Struct));
  const auto *bytes = reinterpret_cast<const char *>(given);
  const size_t known = std::min(sizeof(Struct), given->size);
  if (std::any_of(bytes + known, bytes + given->size, [](char c) { return c != 0; }))
    return unsupported(name, ": has a field set that this version of the library, ", DLC_VERSION,
                       ", does not know");
  return {};
}

/// A struct of the caller's as this version has it: zero where the caller's has no such field.
template <typename Struct> Result<Struct> structOf(const Struct *given, std::string_view name) {
  DLC_TRY(checkSize(given, name));
  Struct taken = {};
  std::memcpy(&taken, given, std::min(sizeof(Struct), given->size));
  return taken;
}

/// Gives a struct to the caller's, as far as that has its fields; its size is the caller's.
template <typename Struct> Status giveStruct(Struct given, Struct *out, std::string_view name) {
  DLC_TRY(checkSize(out, name));
  given.size = out->size;
  std::memcpy(out, &given, std::min(sizeof(Struct), given.size));
  return {};
}

/// Writes them over what is in `arrays`, whose memory is used again. `To` is Array for a dlc_array,
/// OutputArray for a dlc_output. `of` is for messages.
template <typename To, typename From>
Status takeArrays(const From *given, size_t count, std::string_view of, std::vector<To> &arrays) {
  if (count != 0)
    DLC_TRY(present(given, of));
  arrays.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const From &array = given[i];
    if (!array.name)
      return invalid(of, ": array ", i, " has no name");
    const uint32_t dtype = array.dtype & ~DLC_ON_DEVICE;
    if (dtypeSize(dtype) == 0)
      return invalid(of, ": '", array.name, "' has dtype ", dtype, ", which is none");
    if (array.rank > DLC_MAX_RANK)
      return invalid(of, ": '", array.name, "' has ", array.rank, " axes, at most ", DLC_MAX_RANK);
    const std::span shape(array.shape, array.rank);
    if (!array.data && std::ranges::find(shape, 0u) == shape.end())
      return invalid(of, ": '", array.name, "' has no data");
    To &taken = arrays[i];
    taken.name = array.name;
    taken.dtype = static_cast<dlc_dtype>(dtype);
    taken.shape.assign(shape.begin(), shape.end());
    taken.data = array.data;
    taken.place = dtype == array.dtype ? Place::Host : Place::Device;
  }
  return {};
}

template <typename To, typename From>
Result<std::vector<To>> arraysOf(const From *given, size_t count, std::string_view of) {
  std::vector<To> arrays;
  DLC_TRY(takeArrays(given, count, of, arrays));
  return arrays;
}

/// Sets all but the data of a dlc_array or dlc_output. Behind the name stands a zero.
template <typename To>
void describeArray(To &array, std::string_view name, dlc_dtype dtype,
                   const std::vector<uint64_t> &shape) {
  array = {};
  array.name = name.empty() ? "" : name.data();
  array.dtype = dtype;
  array.rank = static_cast<uint32_t>(shape.size());
  std::ranges::copy(shape, array.shape);
}

/// Calls `log`, if there is one, with the names that fields have in C. What it throws is lost.
inline Log logOf(dlc_log log, void *user) {
  if (!log)
    return {};
  return [log, user](Severity severity, std::string_view line) {
    try {
      log(user, static_cast<dlc_severity>(severity), withFieldsOfC(line).c_str());
    } catch (...) {
    }
  };
}

} // namespace dlc::runtime

#endif
