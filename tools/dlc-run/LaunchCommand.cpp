// dlc-run launch: calls Open MPI's mpirun with the flags that training needs, and again from the
// last checkpoint where that is wanted.
#include "runtime/Core/Support.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Training/Progress.h"
#include "tools/dlc-run/Command.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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
std::vector<std::string> commandLine(const LaunchFlags &flags) {
  std::vector<std::string> line = {
      "mpirun",    "--quiet", "-np",   std::to_string(flags.ranks), "--oversubscribe",
      "--bind-to", "none",    "--mca", "odls_base_sigkill_timeout", "2"};
  if (geteuid() == 0)
    line.push_back("--allow-run-as-root");
  if (!flags.hosts.empty())
    line.insert(line.end(), {"--host", flags.hosts});
  std::error_code ignored;
  line.push_back(std::filesystem::read_symlink("/proc/self/exe", ignored));
  line.insert(line.end(), flags.command.begin(), flags.command.end());
  return line;
}

/// Whether a process has children; true where the system does not say.
bool hasChildren(pid_t process) {
  std::error_code none;
  bool known = false;
  for (const auto &task :
       std::filesystem::directory_iterator(concat("/proc/", process, "/task"), none)) {
    std::ifstream children(task.path() / "children");
    known = known || children.is_open();
    if (pid_t first = 0; children >> first)
      return true;
  }
  return !known;
}

/// Waits for mpirun's end. Behind ranks that failed as they started, it may wait for a lock of its
/// own for ever (Open MPI 4.1 in PMIx_server_finalize): once they are gone it has ten seconds.
void awaitEnd(pid_t child) {
  pollfd end{static_cast<int>(syscall(SYS_pidfd_open, child, 0)), POLLIN, 0};
  bool hadChildren = false;
  for (unsigned idle = 0; end.fd >= 0 && idle < 10;) {
    const int ready = poll(&end, 1, 1000);
    if (ready > 0 || (ready < 0 && errno != EINTR))
      break;
    const bool has = hasChildren(child);
    idle = hadChildren && !has ? idle + 1 : 0;
    hadChildren = hadChildren || has;
    if (idle == 10)
      kill(child, SIGKILL);
  }
  if (end.fd >= 0)
    close(end.fd);
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
  if (child >= 0)
    awaitEnd(child);
  while (waitpid(child, &state, 0) < 0 && errno == EINTR)
    continue;
  starter = 0;
  if (child < 0 || !started)
    return unsupported(line[0], ": cannot be started: ", std::strerror(child < 0 ? errno : reason),
                       "; scripts/install-deps.sh brings Open MPI");
  return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
}

/// Where a flag's value is in a command, and how many words the two take; 0 if it is not there.
struct FlagPlace {
  size_t at = 0, words = 0;
  std::string value;
};

FlagPlace findFlag(const std::vector<std::string> &command, std::string_view flag) {
  for (size_t i = 0; i < command.size(); ++i) {
    if (command[i] == flag && i + 1 < command.size())
      return {i, 2, command[i + 1]};
    if (command[i].starts_with(concat(flag, "=")))
      return {i, 1, command[i].substr(flag.size() + 1)};
  }
  return {};
}

/// A training that goes on where its ranks have failed.
class Restart {
public:
  explicit Restart(const std::vector<std::string> &command)
      : command(command), checkpoint(findFlag(command, "--checkpoint").value), before(written()),
        firstStep(isResumed() ? step() : 0) {}

  /// From the checkpoint, if these ranks have written it, until as many steps are done as the
  /// command asks for; else from the beginning. Empty if all steps are done.
  std::vector<std::string> next() const {
    if (written() == before)
      return command;
    std::vector<std::string> words = command;
    if (const FlagPlace steps = findFlag(words, "--steps"); steps.words != 0) {
      const uint64_t asked = std::strtoull(steps.value.c_str(), nullptr, 10);
      const uint64_t done = step() - firstStep;
      if (done >= asked)
        return {};
      const auto place = words.begin() + static_cast<ptrdiff_t>(steps.at);
      words.erase(place, place + static_cast<ptrdiff_t>(steps.words));
      words.push_back(concat("--steps=", asked - done));
    }
    std::erase(words, "--overwrite");
    if (!isResumed())
      words.push_back("--resume");
    return words;
  }

private:
  using Time = std::filesystem::file_time_type;

  bool isResumed() const { return std::ranges::find(command, "--resume") != command.end(); }

  /// When the checkpoint was written; the least time if there is none.
  Time written() const {
    std::error_code none;
    return std::filesystem::last_write_time(checkpoint, none);
  }

  /// Of the checkpoint; 0 if it cannot be read, which the ranks will say.
  uint64_t step() const {
    Result<SafetensorsFile> file = SafetensorsFile::open(checkpoint);
    if (!file.ok())
      return 0;
    Result<TrainingProgress> progress = progressFrom(file->metadata());
    return progress.ok() ? progress->step : 0;
  }

  const std::vector<std::string> &command;
  std::string checkpoint;
  Time before;
  uint64_t firstStep;
};

} // namespace

Result<int> launch(const LaunchFlags &flags) {
  constexpr std::string_view known[] = {"train", "bench", "link"};
  if (std::ranges::find(known, flags.command[0]) == std::end(known))
    return invalid("launch: ranks run train, bench or link, found '", flags.command[0], "'");
  if (flags.restarts != 0 && findFlag(flags.command, "--checkpoint").value.empty())
    return invalid("launch: --restarts needs a --checkpoint to begin from");
  if (flags.minRanks > flags.ranks)
    return invalid("launch: --min-ranks ", flags.minRanks, " of ", flags.ranks, " ranks");
  if (flags.minRanks != 0 && flags.restarts == 0)
    return invalid("launch: --min-ranks is for --restarts");
  passSignalsOn();
  std::optional<Restart> again;
  if (flags.restarts != 0)
    again.emplace(flags.command);
  LaunchFlags now = flags;
  for (uint64_t restart = 0;; ++restart) {
    DLC_TRY_ASSIGN(exitCode, runProgram(commandLine(now)));
    constexpr int usage = 2;
    if (exitCode == 0 || exitCode == usage || interrupted || restart == flags.restarts)
      return exitCode;
    now.command = again->next();
    if (now.command.empty()) {
      std::fprintf(stderr, "note: all steps were done and saved before the failure\n");
      return exitCode;
    }
    if (flags.minRanks != 0)
      now.ranks = std::max(flags.minRanks, now.ranks - 1);
    std::fprintf(stderr, "note: restart %llu of %llu, with %u ranks\n",
                 static_cast<unsigned long long>(restart + 1),
                 static_cast<unsigned long long>(flags.restarts), now.ranks);
  }
}

} // namespace dlc::runtime::tool
