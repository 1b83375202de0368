// What /proc says of a starter's processes.
#include "runtime/Collectives/RankProcesses.h"
#include "runtime/Core/Processes.h"
#include "runtime/Core/Support.h"

#include <fstream>
#include <optional>
#include <string_view>
#include <unistd.h>

namespace dlc::runtime {

static std::optional<unsigned> rankOf(const std::string &folder) {
  constexpr std::string_view variable = "OMPI_COMM_WORLD_RANK=";
  std::ifstream environment(folder + "/environ");
  for (std::string entry; std::getline(environment, entry, '\0');)
    if (entry.starts_with(variable))
      return static_cast<unsigned>(std::strtoul(entry.c_str() + variable.size(), nullptr, 10));
  return std::nullopt;
}

RankProcesses findRankProcesses() {
  RankProcesses found;
  for (pid_t child : childrenOf(getppid()).value_or(std::vector<pid_t>())) {
    const std::string folder = concat("/proc/", child);
    // Of one that has ended the environment is empty.
    const std::optional<unsigned> rank = rankOf(folder);
    if (!rank)
      continue;
    RankProcess &process = found[*rank];
    std::ifstream name(folder + "/comm");
    std::getline(name, process.program);
    process.stopped = stateOf(child) == 'T';
  }
  return found;
}

std::string describeMissing(const RankProcesses &here, unsigned own, unsigned ranks,
                            bool allAreHere) {
  const auto self = here.find(own);
  if (self == here.end())
    return "";
  std::string list;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    const auto found = here.find(rank);
    if (found == here.end()) {
      if (allAreHere)
        addItem(list, concat("rank ", rank, " has ended"));
    } else if (found->second.stopped) {
      addItem(list, concat("rank ", rank, " is stopped"));
    } else if (found->second.program != self->second.program) {
      addItem(list, concat("rank ", rank, " runs ", found->second.program));
    }
  }
  return list.empty() ? "" : ": " + list;
}

} // namespace dlc::runtime
