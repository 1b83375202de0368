// Names, and the order in which files come and go.
#include "runtime/Training/KeptCheckpoints.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/PathClaim.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <filesystem>

namespace dlc::runtime {

namespace fs = std::filesystem;

static constexpr std::string_view keptMark = ".step-";

std::string bestName(const std::string &path) { return path + ".best"; }

std::string keptName(const std::string &path, uint64_t step) {
  return concat(path, keptMark, step);
}

std::vector<uint64_t> keptSteps(const std::string &path) {
  const fs::path place = fs::path(path).parent_path();
  const std::string start = fs::path(path).filename().string() + std::string(keptMark);
  std::vector<uint64_t> steps;
  std::error_code error;
  for (fs::directory_iterator it(place.empty() ? "." : place, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    uint64_t step = 0;
    std::error_code ignored;
    if (!name.starts_with(start) || !it->is_regular_file(ignored))
      continue;
    std::string_view rest = std::string_view(name).substr(start.size());
    if (takeNumber(rest, step) && name == start + std::to_string(step))
      steps.push_back(step);
  }
  std::ranges::sort(steps, std::greater());
  return steps;
}

/// Unless another run has gone on in that file.
static void removeUnclaimed(const std::string &path) {
  std::error_code ignored;
  if (const Result<PathClaim> claim = PathClaim::take(path); claim.ok())
    fs::remove(path, ignored);
}

/// Behind the checkpoint of `step`. Those of an earlier run, which this one has replaced, go; so do
/// steps that this one has not come to. What cannot be removed is tried again the next time.
static void removeOlder(const CheckpointFiles &files, uint64_t step) {
  uint64_t kept = 1;
  for (const uint64_t each : keptSteps(files.path))
    if (files.before && each < step && kept < files.keep)
      ++kept;
    else
      removeUnclaimed(keptName(files.path, each));
}

Status writeFiles(const CheckpointFiles &files, uint64_t step,
                  const std::function<Status(const std::string &)> &write, bool &bestIsLost) {
  // The best comes first: a run that goes on from the checkpoint before finds it again, where one
  // that goes on from this would not.
  bestIsLost = files.isBest;
  if (files.isBest)
    DLC_TRY(write(bestName(files.path)));
  bestIsLost = false;
  // That of an earlier run goes in front of its checkpoint, which knows what it had in it: a run
  // that is killed in between leaves no best that is not its own.
  if (files.savesBest && !files.before && !files.isBest)
    removeUnclaimed(bestName(files.path));
  const bool keeps = files.keep > 1;
  std::error_code ignored;
  if (keeps && files.before && *files.before != step && fs::is_regular_file(files.path, ignored))
    DLC_TRY(addName(files.path, keptName(files.path, *files.before)));
  DLC_TRY(write(files.path));
  if (keeps)
    removeOlder(files, step);
  return {};
}

} // namespace dlc::runtime
