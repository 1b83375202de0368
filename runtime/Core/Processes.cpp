// Reads /proc, and knows a child of this process by memory that it does not inherit.
#include "runtime/Core/Processes.h"
#include "runtime/Core/Support.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace dlc::runtime {

/// What a child finds to be 0; null where the system has no such memory.
static std::atomic<pid_t> *wipedOnFork() {
  constexpr size_t bytes = sizeof(std::atomic<pid_t>); // A page, that is.
  void *page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return nullptr;
  if (madvise(page, bytes, MADV_WIPEONFORK) == 0)
    return new (page) std::atomic<pid_t>(0);
  munmap(page, bytes);
  return nullptr;
}

pid_t thisProcess() {
  static std::atomic<pid_t> *const kept = wipedOnFork();
  pid_t own = kept ? kept->load(std::memory_order_relaxed) : 0;
  if (own != 0)
    return own;
  own = getpid();
  if (kept)
    kept->store(own, std::memory_order_relaxed);
  return own;
}

std::optional<std::vector<pid_t>> childrenOf(pid_t process) {
  std::vector<pid_t> found;
  std::error_code none;
  bool known = false;
  for (const auto &task :
       std::filesystem::directory_iterator(concat("/proc/", process, "/task"), none)) {
    std::ifstream children(task.path() / "children");
    known = known || children.is_open();
    for (pid_t child = 0; children >> child;)
      found.push_back(child);
  }
  return known ? std::optional(found) : std::nullopt;
}

char stateOf(pid_t process) {
  std::ifstream file(concat("/proc/", process, "/stat"));
  std::string stat;
  std::getline(file, stat);
  // The name, in parentheses, may hold any character.
  const size_t name = stat.rfind(')');
  return name == std::string::npos || name + 2 >= stat.size() ? 'X' : stat[name + 2];
}

} // namespace dlc::runtime
