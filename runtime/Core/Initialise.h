// Initial values of variables, exactly as abi.h defines them: a value depends on the seed, the
// variable's name and its place.
#ifndef DLC_RUNTIME_CORE_INITIALISE_H
#define DLC_RUNTIME_CORE_INITIALISE_H

#include "dlc/plan.h"

#include <optional>

namespace dlc::runtime {

/// Writes a variable's initial value to `out`, logicalBytes() in row-major order, unless that is a
/// copy of another's. Large ones on all processors.
void initialValue(const VariableInfo &variable, uint64_t seed, std::span<std::byte> out);

/// Writes `value` as one element of a dtype, rounded to nearest even; integers are rounded, then
/// clamped to their range.
void storeElement(dlc_dtype dtype, double value, std::byte *out);
/// Reads one element.
double loadElement(dlc_dtype dtype, const std::byte *in);
/// Adds `count` floats to others in place, each sum rounded to their type.
void addElements(dlc_dtype dtype, const std::byte *from, std::byte *to, uint64_t count);
/// Whether none of the elements is infinite or not a number.
bool allFinite(dlc_dtype dtype, std::span<const std::byte> elements);

/// Whether an element that is a class is one of 0 to `classes` - 1, or `ignored`.
inline bool isClass(double element, uint64_t classes, int64_t ignored) {
  return (element >= 0 && element < static_cast<double>(classes)) ||
         element == static_cast<double>(ignored);
}

/// The number of the first element that is not finite, if there is one.
std::optional<uint64_t> findNotFinite(dlc_dtype dtype, std::span<const std::byte> elements);

} // namespace dlc::runtime

#endif
