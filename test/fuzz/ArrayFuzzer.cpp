// Any bytes as a file of arrays: elements for all of each shape, or one line that begins with the
// file's name.
#include "runtime/Core/Layout.h"
#include "runtime/Data/ArrayFile.h"

#include <cstdio>
#include <sys/mman.h>
#include <unistd.h>

using namespace dlc::runtime;

/// A file in memory, of these bytes.
static std::string fileOf(const uint8_t *data, size_t size) {
  static const int file = memfd_create("arrays", 0);
  if (ftruncate(file, static_cast<off_t>(size)) != 0 ||
      pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    __builtin_trap();
  return "/proc/self/fd/" + std::to_string(file);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string path = fileOf(data, size);
  const auto arrays = readArrays(path, [](std::string_view) { return true; });
  if (!arrays.ok()) {
    if (!arrays.status().message().starts_with(path))
      __builtin_trap();
    return 0;
  }
  for (const StoredArray &array : *arrays)
    if (array.bytes.size() != TensorType{array.dtype, array.shape, {}}.logicalBytes()) {
      std::fprintf(stderr, "%s\n", array.name.c_str());
      __builtin_trap();
    }
  return 0;
}
