// The border to libdlc_hdf5.so, the only thing that links libhdf5: a table behind one exported
// symbol. The plugin is built from the same sources as its host, so C++ may cross.
#ifndef DLC_RUNTIME_DATA_HDF5_PLUGIN_H
#define DLC_RUNTIME_DATA_HDF5_PLUGIN_H

#include "dlc/abi.h"
#include "dlc/status.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::runtime {

/// A dataset of an HDF5 file.
struct Hdf5Array {
  /// Path from the root, without the '/' in front: "train/image".
  std::string name;
  /// Of what is read: that of the next wider whole number where dlc has no such type.
  dlc_dtype dtype;
  std::vector<uint64_t> shape;
};

/// Some datasets of a file, of which samples are read one by one. Threads: by several at once.
class Hdf5Reader {
public:
  virtual ~Hdf5Reader() = default;
  virtual const std::vector<Hdf5Array> &arrays() const = 0;
  /// Part `index` of a dataset's first axis. Fails with Damaged, file and dataset first.
  virtual Status read(size_t array, uint64_t index, std::span<std::byte> sample) const = 0;
};

/// Changes with every change of what is above.
inline constexpr uint32_t hdf5PluginVersion = 1;

struct Hdf5Plugin {
  uint32_t version;
  /// The names of a file's datasets. A damaged file may end libhdf5, so a child process asks it,
  /// for this and what is below. Fails with Damaged for what is no HDF5 file, or not all of one.
  Result<std::vector<std::string>> (*names)(const std::string &path);
  /// Those datasets that are `wanted` by their names, which is asked in the child. Takes 16 bytes
  /// for each chunk.
  Result<std::unique_ptr<const Hdf5Reader>> (*open)(
      const std::string &path, const std::function<bool(std::string_view)> &wanted);
};

/// Opens libdlc_hdf5.so. Fails with Unsupported if it is not there.
Result<const Hdf5Plugin *> openHdf5Plugin();

using Hdf5PluginQuery = const Hdf5Plugin *(*)();
inline constexpr const char *hdf5PluginSymbol = "dlc_hdf5_plugin";

} // namespace dlc::runtime

#endif
