//===- CommonOptions.h - what commands of dlc share on the command line -------------*- C++ -*-===//
#ifndef DLC_TOOLS_DLC_COMMONOPTIONS_H
#define DLC_TOOLS_DLC_COMMONOPTIONS_H

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace dlc::tool {

/// What every command that reads a model takes: -D, -I, --train. `verb`: what it does with it.
void addLanguageOptions(CLI::App &app, const std::string &verb, std::vector<std::string> &defines,
                        std::vector<std::string> &includeDirs, std::string &trainSection);

/// What to say of a flag or command that dlc does not have (CommandLine.h).
std::string advise(const std::string &word);

} // namespace dlc::tool

#endif
