// dlc-run launch: calls Open MPI's mpirun with the flags that training needs, and again from the
// last checkpoint where that is wanted.
#include "runtime/Core/Support.h"
#include "tools/dlc-run/Command.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dlc::runtime::tool {
namespace {

/// The starter that is at work. Asked to end, mpirun would give its ranks a moment and no more; so
/// the first signal goes to them, as the one that mpirun passes on, and only the second to mpirun
/// itself.
volatile pid_t starter = 0;
volatile std::sig_atomic_t interrupted = 0;

void passSignalsOn() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    action.sa_handler = [](int number) {
      if (starter > 0)
        kill(starter, interrupted ? number : SIGUSR1);
      interrupted = 1;
    };
    sigaction(signal, &action, nullptr);
  }
}

/// mpirun's command line. Ranks are not bound to processors: each takes its share of those it may
/// use. Where one fails, the others get two seconds to say so.
std::vector<std::string> commandLine(const LaunchFlags &flags,
                                     const std::vector<std::string> &command) {
  std::vector<std::string> line = {
      "mpirun",    "--quiet", "-np",   std::to_string(flags.ranks), "--oversubscribe",
      "--bind-to", "none",    "--mca", "odls_base_sigkill_timeout", "2"};
  if (geteuid() == 0)
    line.push_back("--allow-run-as-root");
  if (!flags.hosts.empty())
    line.insert(line.end(), {"--host", flags.hosts});
  std::error_code ignored;
  line.push_back(std::filesystem::read_symlink("/proc/self/exe", ignored));
  line.insert(line.end(), command.begin(), command.end());
  return line;
}

/// Runs a program to its end; its exit code, 128 + N after signal N.
Result<int> runProgram(const std::vector<std::string> &line) {
  std::vector<char *> words;
  for (const std::string &word : line)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  int failed[2];
  if (pipe2(failed, O_CLOEXEC) != 0)
    return ioFailure(line[0], "cannot be started");
  const pid_t child = fork();
  if (child == 0) {
    // Whatever ends this process, the ranks do not outlive it.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    // The terminal's signals are for the parent, which passes them on; its input is for nobody.
    setpgid(0, 0);
    if (const int nothing = open("/dev/null", O_RDONLY); nothing >= 0)
      dup2(nothing, STDIN_FILENO);
    execvp(words[0], words.data());
    const int reason = errno;
    (void)!write(failed[1], &reason, sizeof(reason));
    _exit(127);
  }
  close(failed[1]);
  starter = child;
  int reason = 0, state = 0;
  const bool started = read(failed[0], &reason, sizeof(reason)) != sizeof(reason);
  close(failed[0]);
  while (waitpid(child, &state, 0) < 0 && errno == EINTR)
    continue;
  starter = 0;
  if (child < 0 || !started)
    return unsupported(line[0], ": cannot be started: ", std::strerror(child < 0 ? errno : reason),
                       "; scripts/install-deps.sh brings Open MPI");
  return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
}

/// The file of --checkpoint in a command; empty if there is none.
std::string checkpointOf(const std::vector<std::string> &command) {
  constexpr std::string_view flag = "--checkpoint";
  for (size_t i = 0; i < command.size(); ++i) {
    if (command[i] == flag && i + 1 < command.size())
      return command[i + 1];
    if (command[i].starts_with(concat(flag, "=")))
      return command[i].substr(flag.size() + 1);
  }
  return "";
}

/// The command that goes on from its checkpoint, where one is there.
std::vector<std::string> resumed(std::vector<std::string> command) {
  const std::string checkpoint = checkpointOf(command);
  std::error_code ignored;
  if (checkpoint.empty() || !std::filesystem::exists(checkpoint, ignored))
    return command;
  std::erase(command, "--overwrite");
  if (std::ranges::find(command, "--resume") == command.end())
    command.push_back("--resume");
  return command;
}

} // namespace

Result<int> launch(const LaunchFlags &flags) {
  constexpr std::string_view known[] = {"train", "bench", "link"};
  if (std::ranges::find(known, flags.command[0]) == std::end(known))
    return invalid("launch: ranks run train, bench or link, found '", flags.command[0], "'");
  if (flags.restarts != 0 && checkpointOf(flags.command).empty())
    return invalid("launch: --restarts needs a --checkpoint to begin from");
  passSignalsOn();
  std::vector<std::string> command = flags.command;
  for (uint64_t restart = 0;; ++restart) {
    DLC_TRY_ASSIGN(exitCode, runProgram(commandLine(flags, command)));
    constexpr int usage = 2;
    if (exitCode == 0 || exitCode == usage || interrupted || restart == flags.restarts)
      return exitCode;
    command = resumed(flags.command);
    std::fprintf(stderr, "note: restart %llu of %llu\n",
                 static_cast<unsigned long long>(restart + 1),
                 static_cast<unsigned long long>(flags.restarts));
  }
}

} // namespace dlc::runtime::tool
