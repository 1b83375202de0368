// Interprets the layout grammar of abi.h: logical row-major form to physical form and back. One
// generic routine for every layout; row-major is a plain copy.
#ifndef DLC_RUNTIME_CORE_LAYOUT_H
#define DLC_RUNTIME_CORE_LAYOUT_H

#include "dlc/plan.h"

#include <optional>

namespace dlc::runtime {

/// Product of the extents, or nothing on overflow or beyond 2^56.
std::optional<uint64_t> checkedElementCount(const std::vector<uint64_t> &shape);

/// Extents of the physical form, outer axes first.
std::vector<uint64_t> physicalShape(const TensorType &type);

/// Elements of the physical form, padding included.
uint64_t storageElements(const TensorType &type);

/// Writes the physical form of `logical` to `storage` (storageBytes()); padding becomes zero.
void packLayout(const TensorType &type, const std::byte *logical, std::byte *storage);

/// Writes the logical form of `storage` to `logical` (logicalBytes()).
void unpackLayout(const TensorType &type, const std::byte *storage, std::byte *logical);

} // namespace dlc::runtime

#endif
