//===- Failures.cpp - see Failures.h ----------------------------------------------------------===//
//
// Nothing in here allocates: there may be nothing left.
//
//===------------------------------------------------------------------------------------------===//
#include "tools/dlc/Failures.h"
#include "runtime/Core/FileWriter.h"
#include "tools/CommandLine/ExitCode.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <unistd.h>

namespace dlc::tool {

static void say(llvm::StringRef text) {
  (void)runtime::writeAll(STDERR_FILENO, std::as_bytes(std::span(text)));
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

[[noreturn]] static void endOutOfMemory() { end("out of memory", ""); }

void installFailureHandlers() {
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { endOutOfMemory(); },
                                        nullptr);
  llvm::install_out_of_memory_new_handler();
  llvm::install_fatal_error_handler(
      [](void *, const char *reason, bool) { end("internal error of dlc: ", reason); }, nullptr);
}

} // namespace dlc::tool

// MLIR takes what malloc returns without a look. A program may bring a malloc of its own; this one
// is the C library's that does not fail. Sanitizers bring theirs.
#if !__has_feature(address_sanitizer) && defined(__GLIBC__)

template <typename Pointer> static Pointer checked(Pointer memory, size_t bytes) {
  if (!memory && bytes != 0)
    dlc::tool::endOutOfMemory();
  return memory;
}

extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

void *malloc(size_t bytes) { return checked(__libc_malloc(bytes), bytes); }
void *calloc(size_t count, size_t bytes) {
  return checked(__libc_calloc(count, bytes), std::min(count, bytes));
}
void *realloc(void *memory, size_t bytes) { return checked(__libc_realloc(memory, bytes), bytes); }
}

#endif
