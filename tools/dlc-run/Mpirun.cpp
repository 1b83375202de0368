// What mpirun says of itself.
#include "tools/dlc-run/Mpirun.h"
#include "runtime/Core/Support.h"

#include <cstdio>
#include <optional>
#include <regex>
#include <sys/wait.h>

namespace dlc::runtime::tool {

/// Nothing where the shell finds no such program.
static std::optional<std::string> versionText(const std::string &program) {
  FILE *pipe = popen(concat(program, " --version 2>&1 </dev/null").c_str(), "re");
  if (!pipe)
    return std::nullopt;
  std::string text;
  char bytes[4096];
  for (size_t size; (size = std::fread(bytes, 1, sizeof(bytes), pipe)) > 0;)
    text.append(bytes, size);
  constexpr int notFound = 127;
  const int state = pclose(pipe);
  return WIFEXITED(state) && WEXITSTATUS(state) == notFound ? std::nullopt : std::optional(text);
}

Result<unsigned> readMpirunVersion(const std::string &text) {
  // OpenRTE, where its program has another name than mpirun.
  static const std::regex openMpi("\\((?:Open MPI|OpenRTE)\\) (\\d{1,4})\\.");
  static const std::regex line("\\s*([^\\n]*)");
  std::smatch found;
  if (std::regex_search(text, found, openMpi))
    return static_cast<unsigned>(std::stoul(found[1].str()));
  if (text.starts_with("Intel(R) MPI"))
    return unsupported("is Intel MPI's");
  if (text.starts_with("HYDRA"))
    return unsupported("is MPICH's (Hydra)");
  std::regex_search(text, found, line);
  return unsupported("says of itself '", excerpt(found[1].str()), "'");
}

Result<Mpirun> findMpirun() {
  Status others;
  for (const char *program : {"mpirun", "mpirun.openmpi"}) {
    const std::optional<std::string> text = versionText(program);
    if (!text)
      continue;
    Result<unsigned> version = readMpirunVersion(*text);
    if (version.ok())
      return Mpirun{program, *version};
    if (others.ok())
      others = unsupported("launch: ", program, " ", version.status().message(),
                           ", and ranks meet through Open MPI: have its mpirun first in PATH");
  }
  if (!others.ok())
    return others;
  return Mpirun();
}

} // namespace dlc::runtime::tool
