// What the commands of dlc-run share: flags, opening modules, and where results go. Each command is
// one file with one add function, which registers its flags and says what to run.
#ifndef DLC_TOOLS_DLC_RUN_COMMAND_H
#define DLC_TOOLS_DLC_RUN_COMMAND_H

#include "dlc/checkpoint.h"
#include "dlc/context.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

namespace dlc::runtime::tool {

/// What the command line asked for; main() runs it.
using Selected = std::function<Status()>;

void addTrainCommand(CLI::App &app, Selected &selected);
void addEvalCommand(CLI::App &app, Selected &selected);
void addInferCommand(CLI::App &app, Selected &selected);
void addBenchCommand(CLI::App &app, Selected &selected);
void addInspectCommand(CLI::App &app, Selected &selected);
void addStepCommand(CLI::App &app, Selected &selected);

/// Flags of every command that runs a model.
struct RunFlags {
  std::string module;
  unsigned threads = 0;
  std::optional<uint64_t> seed;
  bool json = false;

  void add(CLI::App &command);
  /// A fresh State on the CPU, initialised from the seed (0 if none was given).
  Result<std::shared_ptr<State>> createState() const;
};

/// The entry of that name, or, without a name, the first of a kind.
Result<const EntryInfo *> selectEntry(const Module &module, const std::string &name,
                                      dlc_entry_kind otherwise);

} // namespace dlc::runtime::tool

#endif
