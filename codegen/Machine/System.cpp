//===- System.cpp - what this machine says of its processor ---------------------------------===//
#include "codegen/Machine/System.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <optional>

using namespace dlc::codegen;
using llvm::StringRef;

/// The first line of a file of the system; empty without one.
static std::string readLine(const std::string &path) {
  auto text = llvm::MemoryBuffer::getFileAsStream(path);
  return text ? (*text)->getBuffer().split('\n').first.str() : "";
}

/// Of "32K".
static std::optional<int64_t> readSize(const std::string &path) {
  int64_t kibibytes = 0;
  const std::string line = readLine(path);
  StringRef text = line;
  if (!text.consume_back("K") || text.getAsInteger(10, kibibytes))
    return std::nullopt;
  return kibibytes << 10;
}

/// How many processors "0-3,64-67" lists; 0 of a text that is no such list.
static int64_t countListed(const std::string &path) {
  int64_t count = 0;
  const std::string line = readLine(path);
  for (StringRef range : llvm::split(line, ',')) {
    const auto [low, high] = range.split('-');
    int64_t first, last;
    if (low.getAsInteger(10, first) || (range.contains('-') ? high : low).getAsInteger(10, last) ||
        last < first)
      return 0;
    count += last - first + 1;
  }
  return count;
}

/// A cache that can be one of its level.
static void take(std::optional<int64_t> found, int64_t least, int64_t most, int64_t &bytes) {
  if (found && *found >= least && *found <= most)
    bytes = *found;
}

void dlc::codegen::readSystem(CpuMachine &machine, const std::string &root, unsigned processor,
                              int64_t cores) {
  machine.cores = std::max(machine.cores, cores);
  const std::string caches =
      root + "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cache/index";
  int64_t threads = 1;
  for (unsigned index = 0;; ++index) {
    const std::string cache = caches + std::to_string(index) + "/";
    const std::string level = readLine(cache + "level");
    if (level.empty())
      return;
    if (readLine(cache + "type") == "Instruction")
      continue;
    const std::optional<int64_t> size = readSize(cache + "size");
    const int64_t sharing = countListed(cache + "shared_cpu_list");
    if (level == "1") {
      threads = std::max<int64_t>(1, sharing);
      take(size, 8 << 10, 1 << 20, machine.l1Bytes);
    } else if (level == "2") {
      take(size, 64 << 10, 64 << 20, machine.l2Bytes);
    } else if (level == "3") {
      // A virtual machine sees a part of those who share it.
      take(size, 1 << 20, int64_t(4) << 30, machine.l3Bytes);
      machine.l3Cores = std::max(machine.l3Cores, sharing / threads);
    }
  }
}
