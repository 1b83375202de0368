// dlc-run export: the weights of a checkpoint alone, or the mean of several, for other programs.
#include "dlc/checkpoint.h"
#include "dlc/module.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Support.h"
#include "runtime/Training/KeptCheckpoints.h"
#include "tools/dlc-run/Command.h"

namespace dlc::runtime::tool {

/// How many checkpoints are meant; none where they are named.
static std::optional<uint64_t> countOf(const ExportFlags &flags) {
  uint64_t count = 0;
  std::string_view word = flags.average.size() == 1 ? flags.average.front() : std::string_view();
  return takeNumber(word, count) && word.empty() ? std::optional(count) : std::nullopt;
}

Status checkExport(const ExportFlags &flags) {
  if (flags.average.empty())
    return flags.checkpoint.empty() ? invalid("--checkpoint is required") : Status();
  const std::optional<uint64_t> count = countOf(flags);
  if (!count)
    return flags.checkpoint.empty()
               ? Status()
               : invalid("--average names the checkpoints; --checkpoint is for a number of them");
  if (*count == 0)
    return invalid("--average is 0, expected a number from 1 on, or checkpoints");
  return flags.checkpoint.empty() ? invalid("--average ", *count, " requires --checkpoint")
                                  : Status();
}

/// The last ones of a run: FILE, and FILE.step-N before it.
static Result<std::vector<std::string>> lastKept(const std::string &path, uint64_t count) {
  std::vector<std::string> files = {path};
  for (const uint64_t step : keptSteps(path))
    // A run that ended while it wrote may have left two names of one file.
    if (const std::string name = keptName(path, step);
        files.size() < count && !isSameFile(path, name))
      files.push_back(name);
  if (files.size() < count)
    return invalid(path, ": with those that are kept there are ", files.size(),
                   " checkpoints, --average is ", count);
  return files;
}

Status exportWeights(const ExportFlags &flags) {
  DLC_TRY_ASSIGN(module, Module::load(flags.module));
  if (flags.average.empty())
    return runtime::exportWeights(*module, flags.checkpoint, flags.save);
  const std::optional<uint64_t> count = countOf(flags);
  DLC_TRY_ASSIGN(files, count ? lastKept(flags.checkpoint, *count)
                              : Result<std::vector<std::string>>(flags.average));
  return exportAverage(*module, files, flags.save);
}

} // namespace dlc::runtime::tool
