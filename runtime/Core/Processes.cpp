// Reads /proc.
#include "runtime/Core/Processes.h"
#include "runtime/Core/Support.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace dlc::runtime {

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
