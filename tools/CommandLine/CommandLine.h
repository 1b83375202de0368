// What the command lines of all tools have in common: help that fits on a screen, and one line
// about a mistake, with the name that was meant.
#ifndef DLC_TOOLS_COMMANDLINE_COMMANDLINE_H
#define DLC_TOOLS_COMMANDLINE_COMMANDLINE_H

#include "tools/CommandLine/ExitCode.h"

#include <CLI/CLI.hpp>
#include <array>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace dlc::tool {

/// What to say of a flag or command that people look for and that has another name or place here:
/// "--override optimizer.learning_rate=NUMBER sets it"; empty for any other word. A flag is asked
/// for with its dashes and without its value.
using Advice = std::function<std::string(const std::string &word)>;

/// Reads the command line. With a value the program is to end with it: help or the version was
/// printed, or one line about a mistake.
std::optional<int> readCommandLine(CLI::App &app, int argc, const char *const *argv,
                                   const Advice &advice);

/// Says on standard error that there is no such command, and which one may have been meant.
int reportUnknownCommand(const std::string &word, const std::vector<std::string> &commands,
                         const Advice &advice);

/// Shows what few need with --help-all alone: help itself is to fit on a screen.
void showSeldom(CLI::App &command, std::initializer_list<const char *> flags);

/// Whole numbers of a range. CLI11's own check takes -1 for 2^64 - 1.
CLI::Validator wholeNumber(uint64_t least, uint64_t most = UINT64_MAX);
/// Numbers of a range. CLI11's own check takes what is not a number.
CLI::Validator realNumber(double least, double most);
/// Any name but an empty one, as an unset variable of a shell gives.
CLI::Validator fileName();
/// The least that a sum or a byte may take: more than nothing.
inline constexpr double leastLinkTime = 1e-15;

/// Seconds of a sum over ranks and of each byte of it, "5e-5,1.6e-9", as `dlc-run link` prints
/// them. Nothing for other texts.
std::optional<std::array<double, 2>> parseLink(std::string_view text);
/// The same beside kernels, and the seconds that these lose for each byte, which may be none.
std::optional<std::array<double, 3>> parseBeside(std::string_view text);
/// What parseLink reads, and what parseBeside does.
CLI::Validator linkTimes(), besideTimes();
/// One of these words.
CLI::Validator oneOf(std::vector<std::string> expected);

} // namespace dlc::tool

#endif
