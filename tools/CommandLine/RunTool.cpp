// Streams first and last, and in between nothing that is thrown gets out.
#include "tools/CommandLine/RunTool.h"
#include "runtime/Core/Support.h"
#include "tools/CommandLine/ExitCode.h"
#include "tools/CommandLine/StandardStreams.h"

#include <cstdio>
#include <exception>
#include <new>
#include <unistd.h>

namespace dlc::tool {

/// Nothing in here allocates: there may be nothing left.
static void sayReason() {
  try {
    if (std::exception_ptr thrown = std::current_exception())
      std::rethrow_exception(thrown);
    std::fputs("error: internal error: terminated\n", stderr);
  } catch (const std::bad_alloc &) {
    std::fputs("error: out of memory\n", stderr);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: internal error: %s\n", error.what());
  } catch (...) {
    std::fputs("error: internal error: terminated\n", stderr);
  }
}

/// Where the C++ library cannot unwind, as of memory that ends in a destructor, the end is one line
/// on standard error and an exit code, not a signal.
static void reportTermination() {
  std::set_terminate([] {
    sayReason();
    _exit(Failed);
  });
}

void sayError(const runtime::Status &status) {
  const std::string_view message = status.message();
  if (!message.empty())
    std::fprintf(stderr, "error: %.*s\n", static_cast<int>(message.size()), message.data());
}

static int exitCodeOf(const std::function<runtime::Result<int>()> &body) {
  const runtime::Result<int> exitCode = runtime::guarded(body);
  std::fflush(stdout);
  if (exitCode.ok())
    return *exitCode;
  sayError(exitCode.status());
  return Failed;
}

int runTool(const std::function<runtime::Result<int>()> &body) {
  prepareStreams();
  reportTermination();
  return finishStreams(exitCodeOf(body));
}

} // namespace dlc::tool
