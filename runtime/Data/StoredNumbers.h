// Numbers as files of other programs have them: of either byte order, and of types that dlc has
// not.
#ifndef DLC_RUNTIME_DATA_STOREDNUMBERS_H
#define DLC_RUNTIME_DATA_STOREDNUMBERS_H

#include "dlc/abi.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace dlc::runtime {

/// A type of elements in a file.
struct StoredType {
  /// As NumPy calls it, without the byte order: "f4".
  std::string_view name;
  /// Of the element in memory: that of the next wider whole number where dlc has no such type.
  dlc_dtype dtype;
  /// Of an element in the file.
  uint64_t bytes;
  /// Null where elements are read as they stand.
  std::vector<std::byte> (*widen)(std::span<const std::byte> from) = nullptr;
};

/// All types that are read; null for another name.
std::span<const StoredType> storedTypes();
const StoredType *findStoredType(std::string_view name);

/// Turns the bytes of each element round.
void swapBytes(std::span<std::byte> elements, uint64_t bytesOfElement);

/// Elements in Fortran's order, the first axis innermost, as rows.
std::vector<std::byte> rowsOfColumns(std::span<const std::byte> columns,
                                     std::span<const uint64_t> shape, uint64_t bytesOfElement);

} // namespace dlc::runtime

#endif
