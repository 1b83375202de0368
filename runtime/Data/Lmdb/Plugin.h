// The border to libdlc_lmdb.so, the only thing that links LMDB: a table behind one exported symbol.
// The plugin is built from the same sources as its host, so C++ may cross.
#ifndef DLC_RUNTIME_DATA_LMDB_PLUGIN_H
#define DLC_RUNTIME_DATA_LMDB_PLUGIN_H

#include "dlc/status.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace dlc::runtime {

/// What a database holds, in the order of its keys. It is mapped, and nobody may write to it
/// meanwhile. Threads: by several at once.
class LmdbReader {
public:
  virtual ~LmdbReader() = default;
  virtual uint64_t size() const = 0;
  virtual std::string_view key(uint64_t index) const = 0;
  /// Fails with Damaged where its pages are none of a value.
  virtual Result<std::span<const std::byte>> value(uint64_t index) const = 0;
};

/// Writes a database of its own, whole or not at all.
class LmdbWriter {
public:
  virtual ~LmdbWriter() = default;
  /// Keys are of at most 511 bytes, each greater than the one before.
  virtual Status add(std::string_view key, std::span<const std::byte> value) = 0;
  virtual Status finish() = 0;
};

/// Changes with every change of what is above.
inline constexpr uint32_t lmdbPluginVersion = 2;

struct LmdbPlugin {
  uint32_t version;
  /// The database in a file, or in a folder's data.mdb. It takes 24 bytes for each record, and time
  /// for the pages that have keys, not for values. Fails with Damaged for what is no database, or
  /// not all of one.
  Result<std::unique_ptr<const LmdbReader>> (*open)(const std::string &path);
  /// FOLDER/data.mdb. The same records give the same bytes.
  Result<std::unique_ptr<LmdbWriter>> (*create)(const std::string &folder);
};

/// Opens libdlc_lmdb.so. Fails with Unsupported if it is not there.
Result<const LmdbPlugin *> openLmdbPlugin();

using LmdbPluginQuery = const LmdbPlugin *(*)();
inline constexpr const char *lmdbPluginSymbol = "dlc_lmdb_plugin";

} // namespace dlc::runtime

#endif
