// Blocks from mmap: zero pages that cost nothing until they are touched.
#include "runtime/Core/HostMemory.h"

#include <sys/mman.h>

namespace dlc::runtime {

HostMemory HostMemory::allocate(uint64_t bytes) {
  constexpr uint64_t hugePage = uint64_t(2) << 20;
  HostMemory memory;
  // mmap refuses an empty block; a buffer of no bytes still has an address.
  const uint64_t size = bytes == 0 ? 1 : bytes;
  void *start = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    return memory;
  if (size >= hugePage)
    madvise(start, size, MADV_HUGEPAGE); // A wish; ignored where huge pages are off.
  memory.start = static_cast<std::byte *>(start);
  memory.bytes = size;
  return memory;
}

HostMemory::~HostMemory() {
  if (start)
    munmap(start, bytes);
}

} // namespace dlc::runtime
