//===- Failures.cpp - see Failures.h ----------------------------------------------------------===//
//
// Nothing in here allocates: there may be nothing left.
//
//===------------------------------------------------------------------------------------------===//
#include "tools/dlc/Failures.h"
#include "tools/CommandLine/ExitCode.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include <atomic>
#include <unistd.h>

namespace dlc::tool {

static void say(llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0)
      return;
    text = text.drop_front(written);
  }
}

/// Several threads may come here at once; one speaks.
[[noreturn]] static void end(llvm::StringRef what, llvm::StringRef reason) {
  static std::atomic<bool> ending{false};
  if (ending.exchange(true))
    while (true)
      pause();
  say("error: ");
  say(what);
  say(reason.take_until([](char c) { return c == '\n'; }));
  say("\n");
  llvm::sys::RunInterruptHandlers();
  _exit(Failed);
}

void installFailureHandlers() {
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { end("out of memory", ""); }, nullptr);
  llvm::install_out_of_memory_new_handler();
  llvm::install_fatal_error_handler(
      [](void *, const char *reason, bool) { end("internal error of dlc: ", reason); }, nullptr);
}

} // namespace dlc::tool
