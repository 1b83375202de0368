// dlc-run: runs what dlc compiled. Trains, evaluates, infers, measures and shows modules.
#include "tools/dlc-run/Command.h"

#include <cstdio>

using namespace dlc::runtime;

int main(int argc, char **argv) {
  CLI::App app("Runs modules that dlc compiled.", "dlc-run");
  app.require_subcommand(1);
  app.footer("dlc-run COMMAND --help shows a command's flags.");
  tool::Selected selected;
  tool::addTrainCommand(app, selected);
  tool::addEvalCommand(app, selected);
  tool::addInferCommand(app, selected);
  tool::addBenchCommand(app, selected);
  tool::addInspectCommand(app, selected);
  tool::addStepCommand(app, selected);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
  Status status = selected();
  std::fflush(stdout);
  if (status.ok())
    return 0;
  std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return 1;
}
