// Standard streams at a program's beginning and end.
#include "tools/CommandLine/StandardStreams.h"
#include "tools/CommandLine/ExitCode.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>

namespace dlc::tool {

void prepareStreams() {
  // Opened for the other direction, so that using it fails as it should.
  for (int number = 0; number <= 2; ++number)
    if (fcntl(number, F_GETFD) < 0)
      open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);
  std::signal(SIGXFSZ, SIG_IGN);
}

int finishStreams(int exitCode) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && !std::ferror(stdout))
    return exitCode;
  // Nobody knows any more why an earlier write failed.
  std::fprintf(stderr, "error: cannot write to standard output%s%s\n", flushed ? "" : ": ",
               flushed ? "" : std::strerror(errno));
  return exitCode == Done ? Failed : exitCode;
}

} // namespace dlc::tool
