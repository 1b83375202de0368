// Arrays in a file, read whole: safetensors, NumPy's .npy (one array without a name) and .npz (a
// zip archive of .npy files, as numpy.savez and savez_compressed write it).
#ifndef DLC_RUNTIME_DATA_ARRAYFILE_H
#define DLC_RUNTIME_DATA_ARRAYFILE_H

#include "dlc/abi.h"
#include "dlc/status.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace dlc::runtime {

struct StoredArray {
  std::string name;
  dlc_dtype dtype;
  std::vector<uint64_t> shape;
  /// Row-major, little-endian; a byte for each bool.
  std::vector<std::byte> bytes;
};

/// Those arrays of a file that are `wanted` by their names; the file's first bytes say what it is.
/// Byte order and Fortran's order are converted. Damage of any kind and an element type that is not
/// read are one error that names the file.
Result<std::vector<StoredArray>> readArrays(const std::string &path,
                                            const std::function<bool(std::string_view)> &wanted);

} // namespace dlc::runtime

#endif
