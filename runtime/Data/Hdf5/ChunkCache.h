// Chunks that were unpacked last: samples that lie side by side are in one.
#ifndef DLC_RUNTIME_DATA_HDF5_CHUNKCACHE_H
#define DLC_RUNTIME_DATA_HDF5_CHUNKCACHE_H

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace dlc::runtime {

using Hdf5Chunk = std::shared_ptr<const std::vector<std::byte>>;
/// The dataset's number, and the chunk's.
using ChunkKey = std::pair<size_t, uint64_t>;

/// Threads: by several at once.
class ChunkCache {
public:
  /// Null where it is not there.
  Hdf5Chunk find(const ChunkKey &key) {
    const std::lock_guard lock(mutex);
    const auto found = places.find(key);
    if (found == places.end())
      return nullptr;
    entries.splice(entries.begin(), entries, found->second);
    return found->second->second;
  }

  /// The last one stays, however large it is.
  void add(const ChunkKey &key, const Hdf5Chunk &chunk) {
    const std::lock_guard lock(mutex);
    if (places.contains(key))
      return;
    entries.emplace_front(key, chunk);
    places[key] = entries.begin();
    for (bytes += chunk->size(); bytes > mostBytes && entries.size() > 1; entries.pop_back()) {
      bytes -= entries.back().second->size();
      places.erase(entries.back().first);
    }
  }

private:
  static constexpr uint64_t mostBytes = 64 << 20;
  using Entries = std::list<std::pair<ChunkKey, Hdf5Chunk>>;

  std::mutex mutex;
  Entries entries;
  std::map<ChunkKey, Entries::iterator> places;
  uint64_t bytes = 0;
};

} // namespace dlc::runtime

#endif
