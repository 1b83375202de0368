// Large aligned blocks of the host's memory, zero when new, in huge pages where the system gives
// them.
//
// Ownership: a block frees itself. Failure: allocate() returns an empty block.
#ifndef DLC_RUNTIME_CORE_HOSTMEMORY_H
#define DLC_RUNTIME_CORE_HOSTMEMORY_H

#include <cstddef>
#include <cstdint>
#include <utility>

namespace dlc::runtime {

class HostMemory {
public:
  HostMemory() = default;
  HostMemory(HostMemory &&other) noexcept
      : start(std::exchange(other.start, nullptr)), bytes(std::exchange(other.bytes, 0)) {}
  HostMemory &operator=(HostMemory &&other) noexcept {
    std::swap(start, other.start);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~HostMemory();

  static HostMemory allocate(uint64_t bytes);
  std::byte *data() const { return start; }
  uint64_t size() const { return bytes; }
  explicit operator bool() const { return start != nullptr; }

private:
  std::byte *start = nullptr;
  uint64_t bytes = 0;
};

} // namespace dlc::runtime

#endif
