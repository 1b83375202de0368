// Affinity, cores and the limits of control groups.
#include "runtime/Core/Processors.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace dlc::runtime {

/// All of a file of the system, whose size only reading it tells; empty without one.
static std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0)
      parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

//===------------------------------------------------------------------------------------------===//
// Cores
//===------------------------------------------------------------------------------------------===//

/// First and last of each range of "0-3,64,66-67"; none of a text that is no such list.
static std::vector<std::pair<unsigned, unsigned>> readRanges(const std::string &path) {
  const std::string text = readText(path);
  std::vector<std::pair<unsigned, unsigned>> ranges;
  for (std::string_view item : split(std::string_view(text).substr(0, text.find('\n')), ',')) {
    unsigned first = 0;
    const char *end = item.data() + item.size();
    std::from_chars_result parsed = std::from_chars(item.data(), end, first);
    unsigned last = first;
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-')
      parsed = std::from_chars(parsed.ptr + 1, end, last);
    if (parsed.ec != std::errc() || parsed.ptr != end || last < first)
      return {};
    ranges.emplace_back(first, last);
  }
  return ranges;
}

static bool contains(const std::vector<std::pair<unsigned, unsigned>> &ranges, unsigned number) {
  return std::ranges::any_of(
      ranges, [&](auto range) { return range.first <= number && number <= range.second; });
}

/// The cores of `allowed`, each as the lowest of its hyper-threads. One of which nothing is known
/// is a core by itself.
static std::vector<unsigned> coresOf(const std::string &folder,
                                     const std::vector<unsigned> &allowed) {
  std::vector<unsigned> cores;
  for (unsigned processor : allowed) {
    const auto siblings =
        readRanges(concat(folder, "/cpu", processor, "/topology/thread_siblings_list"));
    cores.push_back(contains(siblings, processor) ? std::ranges::min(siblings).first : processor);
  }
  std::ranges::sort(cores);
  const auto [rest, end] = std::ranges::unique(cores);
  cores.erase(rest, end);
  return cores;
}

//===------------------------------------------------------------------------------------------===//
// Time
//===------------------------------------------------------------------------------------------===//

namespace {
/// A hierarchy of control groups that limits time.
struct Hierarchy {
  /// Where it is mounted, and which of its groups that is.
  std::string mount, mounted;
  /// The group of this process.
  std::string group;
  bool isFirstVersion;
};
} // namespace

static bool lists(std::string_view names, std::string_view name) {
  return std::ranges::count(split(names, ','), name) != 0;
}

/// From lines such as "4:cpu,cpuacct:/docker/a" and "0::/user.slice", and those of mounts.
static std::vector<Hierarchy> findHierarchies(const std::string &root) {
  std::vector<Hierarchy> found;
  const std::string groups = readText(root + "/proc/self/cgroup"),
                    mounts = readText(root + "/proc/self/mountinfo");
  for (std::string_view line : split(groups, '\n')) {
    const size_t one = line.find(':'), two = line.find(':', one + 1);
    if (two == line.npos)
      continue;
    const std::string_view controllers = line.substr(one + 1, two - one - 1);
    const bool isFirst = !controllers.empty();
    if (isFirst && !lists(controllers, "cpu"))
      continue;
    for (std::string_view mount : split(mounts, '\n')) {
      const auto fields = split(mount, ' ');
      // Behind as many optional fields as there are: "- TYPE SOURCE OPTIONS".
      const auto dash = std::ranges::find(fields, "-");
      if (fields.size() < 5 || fields.end() - dash < 4 ||
          dash[1] != (isFirst ? "cgroup" : "cgroup2") || (isFirst && !lists(dash[3], "cpu")))
        continue;
      found.push_back({std::string(fields[4]), std::string(fields[3]),
                       std::string(line.substr(two + 1)), isFirst});
    }
  }
  return found;
}

/// The first number of a text, of microseconds; 0 if it is another word.
static double microseconds(std::string_view text) {
  uint64_t number = 0;
  const char *end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && (rest == end || *rest == ' ' || *rest == '\n') ? double(number)
                                                                                : 0;
}

/// The processors' time that a group gives; 0: as much as there is.
static double quotaOf(const std::string &folder, bool isFirstVersion) {
  const std::string text = readText(folder + (isFirstVersion ? "/cpu.cfs_quota_us" : "/cpu.max"));
  const double quota = microseconds(text);
  const size_t space = text.find(' ');
  const double period = isFirstVersion       ? microseconds(readText(folder + "/cpu.cfs_period_us"))
                        : space == text.npos ? 0
                                             : microseconds(text.substr(space + 1));
  return quota > 0 && period > 0 ? quota / period : 0;
}

/// Takes the tightest limit of this process's group and all that it lies in.
static void limitTime(const std::string &root, const Hierarchy &hierarchy, Processors &limited) {
  // Of a mount of another group, or from outside of the namespace, nothing is known.
  std::string_view below = hierarchy.group;
  const std::string mounted = hierarchy.mounted == "/" ? "" : hierarchy.mounted;
  if (!below.starts_with(mounted))
    return;
  below.remove_prefix(mounted.size());
  if (!below.empty() && below[0] != '/')
    return;
  std::string folder = root + hierarchy.mount;
  auto limit = [&] {
    const double quota = quotaOf(folder, hierarchy.isFirstVersion);
    struct stat status;
    if (quota == 0 || (limited.quota != 0 && limited.quota <= quota) ||
        stat(folder.c_str(), &status) != 0)
      return;
    limited.quota = quota;
    limited.quotaGroup = status.st_ino;
  };
  limit();
  for (std::string_view part : split(below, '/')) {
    if (part == "..")
      return;
    folder += concat('/', part);
    limit();
  }
}

//===------------------------------------------------------------------------------------------===//
// Both
//===------------------------------------------------------------------------------------------===//

unsigned Processors::threads(unsigned onCores, unsigned inGroup) const {
  unsigned most = static_cast<unsigned>(cores.size()) / onCores;
  // Nearest: one thread for 1.5 processors leaves a third unused, and two for 1.4 stand still
  // nearly as long.
  if (quota != 0)
    most = static_cast<unsigned>(std::min<double>(most, std::round(quota / inGroup)));
  return std::max(1u, most);
}

Processors readProcessors(const std::string &root, std::vector<unsigned> allowed) {
  const std::string folder = root + "/sys/devices/system/cpu";
  if (const auto online = readRanges(folder + "/online"); !online.empty())
    std::erase_if(allowed, [&](unsigned processor) { return !contains(online, processor); });
  Processors all;
  all.cores = coresOf(folder, allowed);
  all.allowed = std::move(allowed);
  for (const Hierarchy &hierarchy : findHierarchies(root))
    limitTime(root, hierarchy, all);
  return all;
}

std::vector<unsigned> allowedProcessors(int (*ask)(pid_t, size_t, cpu_set_t *)) {
  // The system refuses a set with room for fewer processors than it may ever have.
  constexpr size_t most = 1 << 20;
  for (size_t count = CPU_SETSIZE; count <= most; count *= 2) {
    std::vector<cpu_set_t> sets(count / CPU_SETSIZE);
    const size_t bytes = sets.size() * sizeof(cpu_set_t);
    if (ask(0, bytes, sets.data()) != 0) {
      if (errno == EINVAL)
        continue;
      break;
    }
    std::vector<unsigned> allowed;
    for (unsigned processor = 0; processor < count; ++processor)
      if (CPU_ISSET_S(processor, bytes, sets.data()))
        allowed.push_back(processor);
    return allowed;
  }
  // Forbidden: as many as the system says that there are.
  std::vector<unsigned> all;
  for (long processor = 0; processor < sysconf(_SC_NPROCESSORS_ONLN); ++processor)
    all.push_back(static_cast<unsigned>(processor));
  return all;
}

const Processors &processors() {
  static const Processors all = readProcessors("", allowedProcessors());
  return all;
}

} // namespace dlc::runtime
