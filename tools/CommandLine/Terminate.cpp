// Nothing in here allocates: there may be nothing left.
#include "tools/CommandLine/Terminate.h"
#include "tools/CommandLine/ExitCode.h"

#include <cstdio>
#include <exception>
#include <new>
#include <unistd.h>

namespace dlc::tool {

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

void reportTermination() {
  std::set_terminate([] {
    sayReason();
    _exit(Failed);
  });
}

} // namespace dlc::tool
