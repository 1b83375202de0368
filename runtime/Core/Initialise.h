// Initial values of variables, exactly as abi.h defines them: a value depends on the seed, the
// variable's name and its place.
#ifndef DLC_RUNTIME_CORE_INITIALISE_H
#define DLC_RUNTIME_CORE_INITIALISE_H

#include "dlc/plan.h"

namespace dlc::runtime {

/// The logical row-major bytes of a variable's initial value, unless that is a copy of another's.
std::vector<std::byte> initialValue(const VariableInfo &variable, uint64_t seed);

/// Writes `value` as one element of a dtype, rounded to nearest even; integers are rounded, then
/// clamped to their range.
void storeElement(dlc_dtype dtype, double value, std::byte *out);
/// Reads one element.
double loadElement(dlc_dtype dtype, const std::byte *in);

} // namespace dlc::runtime

#endif
