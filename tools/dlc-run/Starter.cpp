// mpirun's life, and what is left behind it.
#include "tools/dlc-run/Starter.h"
#include "runtime/Core/Processes.h"
#include "runtime/Core/Support.h"
#include "tools/dlc-run/Output.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <regex>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace dlc::runtime::tool {

static volatile pid_t starter = 0;
static volatile std::sig_atomic_t interrupted = 0;

void passSignalsOn() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    action.sa_handler = [](int number) {
      if (starter > 0)
        kill(starter, interrupted ? number : SIGUSR2);
      interrupted = 1;
    };
    sigaction(signal, &action, nullptr);
  }
  struct sigaction action = {};
  action.sa_handler = [](int number) {
    if (starter > 0)
      kill(starter, number);
  };
  sigaction(SIGUSR1, &action, nullptr);
}

bool wasInterrupted() { return interrupted != 0; }

static bool isLiving(pid_t process) {
  const char state = stateOf(process);
  return state != 'Z' && state != 'X';
}

bool hasLivingChildren(pid_t process) {
  const auto children = childrenOf(process);
  return !children || std::ranges::any_of(*children, isLiving);
}

static void addDescendants(pid_t process, std::vector<pid_t> &found) {
  for (pid_t child : childrenOf(process).value_or(std::vector<pid_t>())) {
    found.push_back(child);
    addDescendants(child, found);
  }
}

std::string explainFailure(const std::string &words) {
  static const std::regex signal(
      "process rank (\\d+) with PID \\d+ on node\\s+\\S+\\s+exited on\\s+signal (\\d+ \\(.*?\\))");
  // "[[56549,1],3]", and of Open MPI 5 "[prterun-node1-4711@1,3]".
  static const std::regex code("Process name: \\[\\S+,(\\d+)\\]\\s+Exit code:\\s+(\\d+)");
  static const std::regex lost("lost communication with a remote daemon[\\s\\S]*?"
                               "Remote daemon: .*on node (\\S+)");
  std::smatch found;
  if (std::regex_search(words, found, signal))
    return concat("rank ", found[1].str(), " ended by signal ", found[2].str());
  if (std::regex_search(words, found, code))
    return concat("rank ", found[1].str(), " ended with exit code ", found[2].str());
  if (std::regex_search(words, found, lost))
    return concat("host ", found[1].str(), " is not heard of any more");
  if (words.find("unable to reliably start one or more daemons") != words.npos)
    return "launch: mpirun cannot start its daemon on each host: ssh must get there without a "
           "password, and find Open MPI";
  return "";
}

namespace {

/// What is written to a stream, until one write fails.
class Sink {
public:
  explicit Sink(int handle) : handle(handle) {}
  /// Why nothing is written any more; 0 if all was.
  int failure() const { return error; }

  void write(std::string_view bytes) {
    while (!bytes.empty() && error == 0) {
      const ssize_t size = ::write(handle, bytes.data(), bytes.size());
      if (size >= 0) {
        bytes.remove_prefix(static_cast<size_t>(size));
      } else if (errno == EAGAIN) {
        pollfd ready{handle, POLLOUT, 0};
        poll(&ready, 1, -1);
      } else if (errno != EINTR) {
        error = errno;
      }
    }
  }

private:
  int handle, error = 0;
};

/// Standard error of mpirun and its ranks. What mpirun says of itself is kept back: paragraphs
/// between two lines of dashes, lines that begin with its name, and where it has crashed.
class Words {
public:
  void setStarter(pid_t process) { place = printf(":%05d] ", process); }
  void add(std::string_view bytes) {
    partial += bytes;
    for (size_t end; (end = partial.find('\n')) != std::string::npos; partial.erase(0, end + 1))
      addLine(partial.substr(0, end + 1));
  }
  void finish() {
    if (!partial.empty())
      addLine(std::exchange(partial, ""));
  }
  const std::string &ofStarter() const { return kept; }
  bool namedError() const { return error; }
  void write(std::string_view text) { sink.write(text); }

private:
  void addLine(const std::string &line) {
    if (line.starts_with("--------------------")) {
      inParagraph = !inParagraph;
    } else if (inParagraph || line.starts_with("mpirun:") || line.starts_with("prterun:") ||
               (line.starts_with('[') && line.find(place) != std::string::npos)) {
      kept += line;
    } else {
      error = error || line.starts_with("error:");
      sink.write(line);
    }
  }

  Sink sink{STDERR_FILENO};
  /// Behind the machine's name in a line of a crash.
  std::string place;
  std::string partial, kept;
  bool inParagraph = false, error = false;
};

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() = default;
  Pipe(const Pipe &) = delete;
  ~Pipe() {
    close(0);
    close(1);
  }
  bool open() { return pipe2(ends, O_CLOEXEC) == 0; }
  void close(int end) {
    if (ends[end] >= 0)
      ::close(std::exchange(ends[end], -1));
  }
};

/// A run of mpirun.
class Starter {
public:
  Starter(const std::vector<std::string> &line, unsigned patience)
      : line(line), patience(patience) {}

  Result<StarterEnd> run() {
    if (!out.open() || !err.open() || !failed.open() || !alive.open())
      return ioFailure(line[0], "cannot be started");
    DLC_TRY(start());
    startKeeper();
    attend();
    endOrphans();
    return result();
  }

private:
  Status start();
  [[noreturn]] void execute();
  void startKeeper();
  [[noreturn]] void keep() const;
  void attend();
  bool hasEnded();
  void endWhereIdle();
  void passOn(Pipe &from, auto &&to);
  void passOutput(std::string_view bytes);
  void endOrphans();
  std::vector<pid_t> orphans() const;
  StarterEnd result();

  const std::vector<std::string> &line;
  const unsigned patience;
  Pipe out, err, failed, alive;
  pid_t child = -1, keeper = -1;
  int state = 0;
  Sink output{STDOUT_FILENO};
  Words words;
  bool hadChildren = false;
  /// For how many seconds it has had no ranks, and since a rank has failed.
  unsigned idle = 0, sinceError = 0;
};

Status Starter::start() {
  // Writing where nobody reads is to fail, not to end this process.
  std::signal(SIGPIPE, SIG_IGN);
  // Ranks that mpirun leaves behind become children of this process.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  child = fork();
  if (child == 0)
    execute();
  int reason = errno;
  for (Pipe *pipe : {&out, &err, &failed})
    pipe->close(1);
  starter = child;
  words.setStarter(child);
  if (child >= 0 && read(failed.ends[0], &reason, sizeof(reason)) != sizeof(reason))
    return {};
  if (child >= 0)
    waitpid(child, &state, 0);
  starter = 0;
  return unsupported(line[0], ": cannot be started: ", std::strerror(reason),
                     "; scripts/install-deps.sh brings Open MPI");
}

void Starter::execute() {
  std::vector<char *> arguments;
  for (const std::string &word : line)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  // What ends the parent ends mpirun; where this is not enough there is the keeper.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  std::signal(SIGPIPE, SIG_DFL);
  // The terminal's signals are for the parent, which passes them on; its input is for nobody.
  setpgid(0, 0);
  if (const int nothing = open("/dev/null", O_RDONLY); nothing >= 0)
    dup2(nothing, STDIN_FILENO);
  dup2(out.ends[1], STDOUT_FILENO);
  dup2(err.ends[1], STDERR_FILENO);
  execvp(arguments[0], arguments.data());
  const int reason = errno;
  (void)!write(failed.ends[1], &reason, sizeof(reason));
  _exit(127);
}

/// A process that is there for the case that this one is killed.
void Starter::startKeeper() {
  keeper = fork();
  if (keeper == 0)
    keep();
  alive.close(0);
}

/// Waits until the parent lets it go, or is gone. mpirun has had SIGTERM then, and a few seconds to
/// end its ranks, which get two from it.
void Starter::keep() const {
  setpgid(0, 0);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
    std::signal(signal, SIG_IGN);
  // Nobody is to wait for this process as the last that may write to the parent's streams.
  for (int handle :
       {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, out.ends[0], err.ends[0], alive.ends[1]})
    close(handle);
  char byte;
  if (read(alive.ends[0], &byte, 1) == 1)
    _exit(0);
  pollfd end{static_cast<int>(syscall(SYS_pidfd_open, child, 0)), POLLIN, 0};
  constexpr int patience = 5000;
  if (end.fd >= 0 && poll(&end, 1, patience) == 0) {
    std::vector<pid_t> left = {child};
    addDescendants(child, left);
    for (pid_t process : left)
      kill(process, SIGKILL);
  }
  _exit(0);
}

bool Starter::hasEnded() {
  const pid_t ended = waitpid(child, &state, WNOHANG);
  return ended == child || (ended < 0 && errno != EINTR);
}

void Starter::attend() {
  using Clock = std::chrono::steady_clock;
  const int end = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  Clock::time_point next = Clock::now();
  for (bool ended = false; !ended;) {
    pollfd handles[] = {{end, POLLIN, 0}, {out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
    constexpr std::chrono::seconds turn(1);
    poll(handles, std::size(handles), 1000);
    // First, so that what it has written before its end is read below.
    ended = hasEnded();
    if (handles[1].revents != 0)
      passOn(out, [this](std::string_view bytes) { passOutput(bytes); });
    if (handles[2].revents != 0)
      passOn(err, [this](std::string_view bytes) { words.add(bytes); });
    if (ended || Clock::now() < next)
      continue;
    next = Clock::now() + turn;
    endWhereIdle();
  }
  starter = 0;
  passOn(out, [this](std::string_view bytes) { passOutput(bytes); });
  passOn(err, [this](std::string_view bytes) { words.add(bytes); });
  words.finish();
  if (end >= 0)
    close(end);
}

/// Called once in a second. With its ranks gone mpirun has ten of them; where none was seen it may
/// not have started them yet. Where a machine has gone without a word it would wait for it as long
/// as TCP does.
void Starter::endWhereIdle() {
  const bool has = hasLivingChildren(child);
  hadChildren = hadChildren || has;
  idle = has ? 0 : idle + 1;
  sinceError += words.namedError();
  const unsigned idlePatience = hadChildren ? 10 : 60;
  if (idle >= idlePatience || sinceError >= patience)
    kill(child, SIGKILL);
}

/// All that is there to be read.
void Starter::passOn(Pipe &from, auto &&to) {
  char bytes[1 << 16];
  pollfd ready{from.ends[0], POLLIN, 0};
  while (from.ends[0] >= 0 && poll(&ready, 1, 0) == 1) {
    const ssize_t size = read(from.ends[0], bytes, sizeof(bytes));
    if (size > 0)
      to(std::string_view(bytes, static_cast<size_t>(size)));
    else if (size == 0 || errno != EINTR)
      from.close(0);
  }
}

/// Where nobody reads any more the ranks are asked to stop, as one process would; where there is no
/// room they go on.
void Starter::passOutput(std::string_view bytes) {
  const bool before = output.failure() != 0;
  output.write(bytes);
  if (!before && output.failure() == EPIPE)
    kill(child, SIGUSR2);
}

std::vector<pid_t> Starter::orphans() const {
  std::vector<pid_t> all = childrenOf(getpid()).value_or(std::vector<pid_t>());
  std::erase_if(all, [this](pid_t process) { return process == keeper || !isLiving(process); });
  return all;
}

/// Ranks behind an mpirun that was killed are asked to end, and have two seconds as they would have
/// from it.
void Starter::endOrphans() {
  constexpr unsigned turns = 20;
  constexpr int milliseconds = 100;
  for (unsigned turn = 0;; ++turn) {
    const std::vector<pid_t> left = orphans();
    if (left.empty())
      break;
    for (pid_t process : left) {
      if (turn == 0)
        kill(process, SIGTERM);
      kill(process, turn < turns ? SIGCONT : SIGKILL);
    }
    poll(nullptr, 0, milliseconds);
  }
  (void)!write(alive.ends[1], "", 1);
  for (pid_t process : {keeper, pid_t(-1)})
    while (process != 0 && waitpid(process, nullptr, process > 0 ? 0 : WNOHANG) > 0)
      continue;
}

StarterEnd Starter::result() {
  StarterEnd end;
  end.succeeded = WIFEXITED(state) && WEXITSTATUS(state) == 0;
  if (output.failure() != 0)
    end.output = failure(StatusCode::Io,
                         "cannot write to standard output: ", std::strerror(output.failure()));
  if (end.succeeded || words.namedError())
    return end;
  end.reason = explainFailure(words.ofStarter());
  if (!end.reason.empty())
    return end;
  words.write(words.ofStarter());
  end.reason = WIFSIGNALED(state)
                   ? concat("launch: ", line[0], " ended by signal ", WTERMSIG(state), " (",
                            strsignal(WTERMSIG(state)), ")")
                   : concat("launch: ", line[0], " ended with exit code ", WEXITSTATUS(state));
  return end;
}

} // namespace

Result<StarterEnd> runStarter(const std::vector<std::string> &line, unsigned patience) {
  return Starter(line, patience).run();
}

} // namespace dlc::runtime::tool
