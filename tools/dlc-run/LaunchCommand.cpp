// dlc-run launch: calls Open MPI's mpirun with the flags that training needs, and again from the
// last checkpoint where that is wanted.
#include "runtime/Core/Support.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Training/Progress.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Starter.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace dlc::runtime::tool {
namespace {

/// mpirun's command line. Ranks are not bound to processors: each takes its share of those it may
/// use. Where one fails, the others get two seconds to say so.
std::vector<std::string> commandLine(const LaunchFlags &flags) {
  std::vector<std::string> line = {"mpirun",
                                   "-np",
                                   std::to_string(flags.ranks),
                                   "--oversubscribe",
                                   "--bind-to",
                                   "none",
                                   "--mca",
                                   "odls_base_sigkill_timeout",
                                   "2"};
  if (geteuid() == 0)
    line.push_back("--allow-run-as-root");
  if (!flags.hosts.empty())
    line.insert(line.end(), {"--host", flags.hosts});
  std::error_code ignored;
  line.push_back(std::filesystem::read_symlink("/proc/self/exe", ignored));
  line.insert(line.end(), flags.command.begin(), flags.command.end());
  return line;
}

/// Where a flag's value is in a command, and how many words the two take; 0 if it is not there.
struct FlagPlace {
  size_t at = 0, words = 0;
  std::string value;
};

FlagPlace findFlag(const std::vector<std::string> &command, std::string_view flag) {
  for (size_t i = 0; i < command.size(); ++i) {
    if (command[i] == flag && i + 1 < command.size())
      return {i, 2, command[i + 1]};
    if (command[i].starts_with(concat(flag, "=")))
      return {i, 1, command[i].substr(flag.size() + 1)};
  }
  return {};
}

/// A training that goes on where its ranks have failed.
class Restart {
public:
  explicit Restart(const std::vector<std::string> &command)
      : command(command), checkpoint(findFlag(command, "--checkpoint").value), before(written()),
        firstStep(isResumed() ? step() : 0) {}

  /// From the checkpoint, if these ranks have written it, until as many steps are done as the
  /// command asks for; else from the beginning. Empty if all steps are done.
  std::vector<std::string> next() const {
    if (written() == before)
      return command;
    std::vector<std::string> words = command;
    if (const FlagPlace steps = findFlag(words, "--steps"); steps.words != 0) {
      const uint64_t asked = std::strtoull(steps.value.c_str(), nullptr, 10);
      const uint64_t done = step() - firstStep;
      if (done >= asked)
        return {};
      const auto place = words.begin() + static_cast<ptrdiff_t>(steps.at);
      words.erase(place, place + static_cast<ptrdiff_t>(steps.words));
      words.push_back(concat("--steps=", asked - done));
    }
    std::erase(words, "--overwrite");
    if (!isResumed())
      words.push_back("--resume");
    return words;
  }

private:
  using Time = std::filesystem::file_time_type;

  bool isResumed() const { return std::ranges::find(command, "--resume") != command.end(); }

  /// When the checkpoint was written; the least time if there is none.
  Time written() const {
    std::error_code none;
    return std::filesystem::last_write_time(checkpoint, none);
  }

  /// Of the checkpoint; 0 if it cannot be read, which the ranks will say.
  uint64_t step() const {
    Result<SafetensorsFile> file = SafetensorsFile::open(checkpoint);
    if (!file.ok())
      return 0;
    Result<TrainingProgress> progress = progressFrom(file->metadata());
    return progress.ok() ? progress->step : 0;
  }

  const std::vector<std::string> &command;
  std::string checkpoint;
  Time before;
  uint64_t firstStep;
};

} // namespace

Status checkLaunch(const LaunchFlags &flags) {
  constexpr std::string_view known[] = {"train", "eval", "bench", "link"};
  if (std::ranges::find(known, flags.command[0]) == std::end(known))
    return invalid("launch: ranks run train, eval, bench or link, found '", flags.command[0], "'");
  if (flags.restarts != 0 && findFlag(flags.command, "--checkpoint").value.empty())
    return invalid("launch: --restarts needs a --checkpoint to begin from");
  if (flags.minRanks > flags.ranks)
    return invalid("launch: --min-ranks ", flags.minRanks, " of ", flags.ranks, " ranks");
  if (flags.minRanks != 0 && flags.restarts == 0)
    return invalid("launch: --min-ranks is for --restarts");
  return {};
}

Result<bool> launch(const LaunchFlags &flags) {
  passSignalsOn();
  std::optional<Restart> again;
  if (flags.restarts != 0)
    again.emplace(flags.command);
  LaunchFlags now = flags;
  for (uint64_t restart = 0;; ++restart) {
    DLC_TRY_ASSIGN(end, runStarter(commandLine(now)));
    if (!end.reason.empty())
      std::fprintf(stderr, "error: %s\n", end.reason.c_str());
    DLC_TRY(std::move(end.output));
    if (end.succeeded || wasInterrupted() || restart == flags.restarts)
      return end.succeeded;
    now.command = again->next();
    if (now.command.empty()) {
      std::fprintf(stderr, "note: all steps were done and saved before the failure\n");
      return false;
    }
    if (flags.minRanks != 0)
      now.ranks = std::max(flags.minRanks, now.ranks - 1);
    std::fprintf(stderr, "note: restart %llu of %llu, with %u rank%s\n",
                 static_cast<unsigned long long>(restart + 1),
                 static_cast<unsigned long long>(flags.restarts), now.ranks,
                 now.ranks == 1 ? "" : "s");
  }
}

} // namespace dlc::runtime::tool
