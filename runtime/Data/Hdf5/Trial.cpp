// A fork and a pipe, through which come lines: of each place, and at last of the status, whose code
// is a letter, or of the length of what follows.
#include "runtime/Data/Hdf5/Trial.h"
#include "runtime/Core/Support.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dlc::runtime {
namespace {

using Work = std::function<Result<std::string>(const SayPlace &)>;

constexpr char placeMark = ' ', firstCode = 'A';

void sendAll(int pipe, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = write(pipe, text.data(), text.size());
    if (sent < 0 && errno != EINTR)
      return;
    text.remove_prefix(sent > 0 ? static_cast<size_t>(sent) : 0);
  }
}

void sendLine(int pipe, char mark, std::string_view message) {
  sendAll(pipe, concat(mark, printable(message), '\n'));
}

/// Signals are not the program's to handle here, and no core is left. What the C library prints of
/// a damaged heap goes nowhere, as to a file that is open for reading.
void becomeQuiet() {
  for (int signal = 1; signal < NSIG; ++signal)
    std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  constexpr rlim_t mostSeconds = 60;
  const rlimit noCore = {0, 0}, someTime = {mostSeconds, mostSeconds};
  setrlimit(RLIMIT_CORE, &noCore);
  setrlimit(RLIMIT_CPU, &someTime);
  const int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (int stream : {STDOUT_FILENO, STDERR_FILENO})
    dup2(nowhere, stream);
}

/// Ends with the process, whatever happens: it is not to go on as a second one of the program's.
[[noreturn]] void runChild(int pipe, const Work &work) noexcept {
  becomeQuiet();
  const Result<std::string> done = guarded(
      [&] { return work([&](std::string_view text) { sendLine(pipe, placeMark, text); }); });
  const Status &status = done.status();
  sendLine(pipe, static_cast<char>(firstCode + static_cast<char>(status.code())),
           done.ok() ? concat(done->size()) : status.message());
  if (done.ok())
    sendAll(pipe, *done);
  _exit(0);
}

std::string readAll(int pipe) {
  std::string text;
  char piece[4096];
  while (true) {
    const ssize_t got = read(pipe, piece, sizeof(piece));
    if (got > 0)
      text.append(piece, static_cast<size_t>(got));
    else if (got == 0 || errno != EINTR)
      return text;
  }
}

/// What a child has said, to its end or not.
Result<std::string> resultOf(std::string_view said) {
  std::string_view last;
  while (said.find('\n') != said.npos) {
    const std::string_view line = takeLine(said);
    if (line.empty())
      break;
    last = line[0] == placeMark ? line.substr(1) : last;
    if (line[0] == firstCode && line.substr(1) == concat(said.size()))
      return std::string(said);
    if (line[0] > firstCode)
      return Status(static_cast<StatusCode>(line[0] - firstCode), line.substr(1));
  }
  return damaged(last, ": is damaged: libhdf5 comes to no end of it");
}

} // namespace

Result<std::string> tryInChild(const Work &work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return ioFailure("HDF5", "cannot make a pipe");
  const pid_t child = fork();
  if (child < 0) {
    Status failed = ioFailure("HDF5", "cannot start a process");
    close(ends[0]);
    close(ends[1]);
    return failed;
  }
  if (child == 0) {
    close(ends[0]);
    runChild(ends[1], work);
  }
  close(ends[1]);
  Result<std::string> said = guarded([&]() -> Result<std::string> { return readAll(ends[0]); });
  // What is not read here the child cannot write: it ends, as it has no handler of that signal.
  close(ends[0]);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR)
    ;
  DLC_TRY_ASSIGN(text, std::move(said));
  return guarded([&] { return resultOf(text); });
}

} // namespace dlc::runtime
