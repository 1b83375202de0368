// Host lists, host files, and a program that ends at once as the question whether a host answers.
#include "tools/dlc-run/Hosts.h"
#include "runtime/Core/File.h"
#include "runtime/Core/Support.h"
#include "tools/dlc-run/Starter.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <climits>
#include <csignal>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace dlc::runtime::tool {
namespace {

std::optional<unsigned> parseSlots(std::string_view text) {
  constexpr unsigned most = 1 << 20;
  unsigned slots = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, slots);
  const bool isRight = error == std::errc() && stop == end && slots > 0 && slots <= most;
  return isRight ? std::optional(slots) : std::nullopt;
}

/// "A" or "A:4". A list of Slurm's, "A[1-4]", is no name, and an address of IPv6 is none for
/// mpirun's --host.
std::optional<Host> parseHost(std::string_view text) {
  Host host;
  if (const size_t colon = text.rfind(':'); colon != text.npos) {
    const auto slots = parseSlots(text.substr(colon + 1));
    if (!slots)
      return std::nullopt;
    host.slots = *slots;
    text = text.substr(0, colon);
  }
  const bool isName = std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("-._@").find(c) != std::string_view::npos;
  });
  host.name = text;
  return isName && !text.empty() ? std::optional(host) : std::nullopt;
}

void addHost(std::vector<Host> &hosts, Host host) {
  const auto known = std::ranges::find(hosts, host.name, &Host::name);
  if (known == hosts.end())
    hosts.push_back(std::move(host));
  else
    known->slots += host.slots;
}

/// Its words; `slots = 4` is one, as `slots=4` is.
std::vector<std::string> wordsOf(std::string_view line) {
  std::vector<std::string> words;
  bool open = false;
  for (char c : line.substr(0, line.find('#'))) {
    if (std::isspace(static_cast<unsigned char>(c))) {
      open = open && words.back().ends_with('=');
    } else {
      if (!open && (words.empty() || c != '='))
        words.emplace_back();
      words.back() += c;
      open = true;
    }
  }
  return words;
}

/// A line of a host file; a text that is not empty says what is wrong.
std::string readLine(std::string_view line, std::vector<Host> &hosts) {
  const std::vector<std::string> words = wordsOf(line);
  if (words.empty())
    return "";
  std::optional<Host> host = parseHost(words[0]);
  if (!host)
    return concat("expected 'HOST', 'HOST slots=N' or 'HOST:N', found '", excerpt(words[0]), "'");
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const size_t equals = std::min(word.find('='), word.size());
    const std::string_view key = word.substr(0, equals);
    const bool isLimit = key == "max_slots" || key == "max-slots";
    const auto slots = parseSlots(word.substr(std::min(equals + 1, word.size())));
    if ((key != "slots" && !isLimit) || !slots)
      return concat("expected slots=N or max_slots=N, found '", excerpt(word), "'");
    // Ranks beyond it are as welcome as beyond slots: each takes its share of the processors.
    if (!isLimit)
      host->slots = *slots;
  }
  addHost(hosts, std::move(*host));
  return "";
}

/// The program that answers, started; nothing where the agent cannot be.
std::optional<pid_t> ask(const std::string &host, const std::vector<std::string> &agent) {
  std::vector<std::string> line = agent;
  line.insert(line.end(), {host, "true"});
  std::vector<char *> arguments;
  for (std::string &word : line)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0);
  pid_t process;
  const int error =
      posix_spawnp(&process, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? std::optional(process) : std::nullopt;
}

struct Question {
  pid_t process;
  std::optional<bool> answer;
};

/// Until all have an answer; those that have none in time have not answered.
void awaitAnswers(std::vector<Question> &questions) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds patience(15);
  constexpr int milliseconds = 20;
  const Clock::time_point deadline = Clock::now() + patience;
  for (;;) {
    bool open = false;
    for (Question &question : questions) {
      int state = 0;
      if (!question.answer && waitpid(question.process, &state, WNOHANG) == question.process)
        question.answer = WIFEXITED(state) && WEXITSTATUS(state) == 0;
      open = open || !question.answer;
    }
    if (!open)
      return;
    if (wasInterrupted() || Clock::now() >= deadline)
      break;
    poll(nullptr, 0, milliseconds);
  }
  for (Question &question : questions) {
    if (question.answer)
      continue;
    kill(question.process, SIGKILL);
    waitpid(question.process, nullptr, 0);
    question.answer = false;
  }
}

} // namespace

Result<std::vector<Host>> parseHosts(std::string_view text) {
  std::vector<Host> hosts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    std::optional<Host> host = parseHost(word);
    if (!host)
      return invalid("expected NAME or NAME:SLOTS, found '", excerpt(word), "'");
    addHost(hosts, std::move(*host));
    at = end + 1;
  }
  return hosts;
}

Result<std::vector<Host>> readHostFile(const std::string &path) {
  constexpr uint64_t limit = uint64_t(16) << 20;
  DLC_TRY_ASSIGN(content, readWholeFile(path, limit));
  const std::string_view text(reinterpret_cast<const char *>(content.data()), content.size());
  std::vector<Host> hosts;
  size_t number = 1;
  for (size_t at = 0; at < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (const std::string wrong = readLine(text.substr(at, end - at), hosts); !wrong.empty())
      return invalid(path, ":", number, ": ", wrong);
    at = end + 1;
  }
  if (hosts.empty())
    return invalid(path, ": names no host");
  return hosts;
}

std::string hostList(const std::vector<Host> &hosts) {
  std::string list;
  for (const Host &host : hosts)
    list += concat(list.empty() ? "" : ",", host.name, ":", host.slots);
  return list;
}

unsigned slotsOf(const std::vector<Host> &hosts) {
  unsigned slots = 0;
  for (const Host &host : hosts)
    slots += host.slots;
  return slots;
}

bool isThisMachine(const std::string &host) {
  char own[HOST_NAME_MAX + 1] = {};
  if (host == "localhost" || (gethostname(own, HOST_NAME_MAX) == 0 && host == own))
    return true;
  addrinfo *found = nullptr;
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_DGRAM;
  if (getaddrinfo(host.c_str(), nullptr, &wanted, &found) != 0)
    return false;
  // A socket can be bound to none but an address of this machine.
  bool isOwn = false;
  for (const addrinfo *address = found; address && !isOwn; address = address->ai_next) {
    const int handle = socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    isOwn = handle >= 0 && bind(handle, address->ai_addr, address->ai_addrlen) == 0;
    if (handle >= 0)
      close(handle);
  }
  freeaddrinfo(found);
  return isOwn;
}

std::vector<Host> answeringHosts(const std::vector<Host> &hosts,
                                 const std::vector<std::string> &agent) {
  std::vector<Question> questions;
  for (const Host &host : hosts) {
    if (isThisMachine(host.name)) {
      questions.push_back({0, true});
      continue;
    }
    const std::optional<pid_t> process = ask(host.name, agent);
    questions.push_back({process.value_or(0), process ? std::nullopt : std::optional(true)});
  }
  awaitAnswers(questions);
  std::vector<Host> answering;
  for (size_t i = 0; i < hosts.size(); ++i)
    if (*questions[i].answer)
      answering.push_back(hosts[i]);
  return answering;
}

} // namespace dlc::runtime::tool
