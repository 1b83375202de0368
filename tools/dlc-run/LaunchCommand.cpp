// dlc-run launch: calls Open MPI's mpirun with the flags that training needs, and again from the
// last checkpoint where that is wanted, without the machines that do not answer any more.
#include "runtime/Core/Processors.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Training/Progress.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Hosts.h"
#include "tools/dlc-run/Machine.h"
#include "tools/dlc-run/Mpirun.h"
#include "tools/dlc-run/Starter.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <unistd.h>

namespace dlc::runtime::tool {
namespace {

/// What is started: how many ranks, where, and by what.
struct Job {
  Mpirun starter;
  unsigned ranks = 0;
  std::vector<Host> hosts;
  std::string bind;
};

/// A job of Slurm, PBS or LSF has its machines from there, and mpirun starts its daemons through
/// it.
bool isInBatchSystem() {
  return std::ranges::any_of(std::array{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"},
                             [](const char *name) { return std::getenv(name) != nullptr; });
}

/// How many ranks each machine has; nothing where not all have as many, or where only the batch
/// system knows.
std::optional<unsigned> ranksOnEach(const Job &job) {
  if (job.hosts.empty())
    return isInBatchSystem() ? std::nullopt : std::optional(job.ranks);
  const auto machines = static_cast<unsigned>(job.hosts.size());
  const bool fillsAll = job.ranks >= slotsOf(job.hosts) && job.ranks % machines == 0;
  const auto differs = [&](const Host &host) { return host.slots != job.hosts[0].slots; };
  if (!fillsAll || std::ranges::any_of(job.hosts, differs))
    return std::nullopt;
  return job.ranks / machines;
}

/// A rank on one NUMA node has its memory near. Where nodes would have different numbers of them,
/// or none, ranks that are not bound share the machine better. All machines are taken to be as this
/// one is.
std::string bindingFor(const Job &job) {
  const std::optional<unsigned> onEach = ranksOnEach(job);
  const unsigned nodes = countNumaNodes("", processors().allowed);
  return nodes > 1 && onEach && *onEach % nodes == 0 ? "numa" : "none";
}

/// Whether mpirun is told this by words of its user's. Told twice it fails.
bool hasFlag(const std::vector<std::string> &words, std::string_view flag) {
  return std::ranges::any_of(words, [flag](const std::string &word) {
    return word == flag || word == flag.substr(1) || word.starts_with(concat(flag, "="));
  });
}

/// Ranks may be more than slots and processors; each takes its share of the processors that it may
/// use.
void addPlaces(std::vector<std::string> &line, const Job &job,
               const std::vector<std::string> &words) {
  const bool byNode = job.bind == "numa";
  if (!hasFlag(words, "--map-by")) {
    if (byNode || job.starter.startsByPrrte())
      line.insert(line.end(), {"--map-by", concat(byNode ? "numa" : "", ":OVERSUBSCRIBE")});
    else
      line.push_back("--oversubscribe");
  }
  if (!hasFlag(words, "--bind-to"))
    line.insert(line.end(),
                {"--bind-to", job.bind == "none" ? "none" : job.bind + ":overload-allowed"});
}

/// mpirun's command line. Where a rank fails, the others get two seconds to say so.
std::vector<std::string> commandLine(const Job &job, const LaunchFlags &flags,
                                     const std::vector<std::string> &command) {
  std::vector<std::string> line = {job.starter.program, "-np", std::to_string(job.ranks)};
  addPlaces(line, job, flags.mpirunWords);
  line.insert(line.end(), {job.starter.startsByPrrte() ? "--prtemca" : "--mca",
                           "odls_base_sigkill_timeout", "2"});
  if (geteuid() == 0)
    line.push_back("--allow-run-as-root");
  if (!job.hosts.empty())
    line.insert(line.end(), {"--host", hostList(job.hosts)});
  for (const std::string &variable : flags.environment)
    line.insert(line.end(), {"-x", variable});
  line.insert(line.end(), flags.mpirunWords.begin(), flags.mpirunWords.end());
  std::error_code ignored;
  line.push_back(std::filesystem::read_symlink("/proc/self/exe", ignored));
  line.insert(line.end(), command.begin(), command.end());
  return line;
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

/// How many seconds all ranks need at most to see that one has failed: twice what they wait for
/// each other, and some to end.
unsigned patienceOf(const std::vector<std::string> &command) {
  const std::string told = findFlag(command, "--timeout").value;
  const double timeout = told.empty() ? 30 : std::strtod(told.c_str(), nullptr);
  return static_cast<unsigned>(2 * timeout) + 10;
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

/// The hosts that the flags name, each with a slot for each device of this machine where ranks are
/// counted so.
Result<std::vector<Host>> hostsOf(const LaunchFlags &flags, unsigned devices) {
  std::vector<Host> hosts;
  if (!flags.hostFile.empty()) {
    DLC_TRY_ASSIGN(read, readHostFile(flags.hostFile));
    hosts = std::move(read);
  } else if (!flags.hosts.empty()) {
    DLC_TRY_ASSIGN(parsed, parseHosts(flags.hosts));
    hosts = std::move(parsed);
  }
  if (flags.rankPerDevice)
    for (Host &host : hosts)
      host.slots = devices;
  return hosts;
}

Result<Job> jobOf(const LaunchFlags &flags) {
  const unsigned devices = flags.rankPerDevice ? countCudaDevices("") : 0;
  if (flags.rankPerDevice && devices == 0)
    return unsupported("launch: -n gpu: this machine has no CUDA device, by the driver "
                       "(libcuda.so.1) or /proc/driver/nvidia/gpus");
  Job job;
  DLC_TRY_ASSIGN(hosts, hostsOf(flags, devices));
  job.hosts = std::move(hosts);
  job.ranks = flags.rankPerDevice ? job.hosts.empty() ? devices : slotsOf(job.hosts) : flags.ranks;
  if (flags.minRanks > job.ranks)
    return invalid("launch: --min-ranks ", flags.minRanks, " of ", job.ranks, " ranks");
  DLC_TRY_ASSIGN(starter, findMpirun());
  job.starter = std::move(starter);
  job.bind = flags.bind.empty() ? bindingFor(job) : flags.bind;
  return job;
}

/// The command line that mpirun starts its daemons on other machines by, without the machine: what
/// it is told, by its words or the environment, or ssh, which is not to ask for a password.
std::vector<std::string> agentOf(const std::vector<std::string> &mpirunWords) {
  std::string told;
  for (const char *variable : {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"})
    if (const char *value = std::getenv(variable))
      told = value;
  for (size_t i = 0; i + 1 < mpirunWords.size(); ++i)
    if (mpirunWords[i] == "plm_rsh_agent" || mpirunWords[i] == "plm_ssh_agent")
      told = mpirunWords[i + 1];
  // Of several, "ssh : rsh", the first.
  std::istringstream words(told.substr(0, told.find(" :")));
  std::vector<std::string> agent{std::istream_iterator<std::string>(words), {}};
  if (agent.empty())
    agent = {"ssh"};
  if (std::filesystem::path(agent[0]).filename() == "ssh")
    agent.insert(agent.end(), {"-o", "BatchMode=yes", "-o", "ConnectTimeout=10"});
  return agent;
}

/// Leaves out, of `all` hosts of a job that failed, those that do not answer. One that a batch
/// system gave is for that to look after.
Status leaveOut(Job &job, const std::vector<Host> &all, const LaunchFlags &flags) {
  if (all.empty() || isInBatchSystem())
    return {};
  job.hosts = answeringHosts(all, agentOf(flags.mpirunWords));
  std::string silent;
  for (const Host &host : all)
    if (std::ranges::find(job.hosts, host.name, &Host::name) == job.hosts.end())
      addItem(silent, host.name);
  if (job.hosts.empty())
    return unsupported("launch: no host answers any more: ", silent);
  if (!silent.empty())
    std::fprintf(stderr, "note: left out, as they do not answer: %s\n", silent.c_str());
  return {};
}

/// One rank less, and of hosts that were left out all.
unsigned fewerRanks(unsigned ranks, unsigned slotsBefore, unsigned slotsNow) {
  const uint64_t left = slotsNow < slotsBefore ? uint64_t(ranks) * slotsNow / slotsBefore : ranks;
  return static_cast<unsigned>(std::min<uint64_t>(left, ranks - 1));
}

} // namespace

void takeMpirunWords(LaunchFlags &flags) {
  const auto end = std::ranges::find(flags.command, "--");
  if (end == flags.command.end())
    return;
  flags.mpirunWords.assign(flags.command.begin(), end);
  flags.command.erase(flags.command.begin(), end + 1);
}

/// mpirun would warn of a variable that is not there, and go on.
static Status checkEnvironment(const std::vector<std::string> &variables) {
  for (const std::string &variable : variables) {
    const size_t equals = variable.find('=');
    if (variable.empty() || equals == 0)
      return invalid("launch: -x: expected NAME or NAME=VALUE, found '", variable, "'");
    if (equals == variable.npos && !std::getenv(variable.c_str()))
      return invalid("launch: -x ", variable, ": is not set here; -x ", variable, "=VALUE sets it");
  }
  return {};
}

Status checkLaunch(const LaunchFlags &flags) {
  constexpr std::string_view known[] = {"train", "eval", "bench", "link"};
  const std::string command = flags.command.empty() ? "nothing" : flags.command[0];
  if (std::ranges::find(known, command) == std::end(known))
    return invalid("launch: ranks run train, eval, bench or link, found '", command, "'",
                   command.starts_with('-') ? "; another -- ends mpirun's words" : "");
  DLC_TRY(checkEnvironment(flags.environment));
  if (!flags.hosts.empty())
    if (Result<std::vector<Host>> hosts = parseHosts(flags.hosts); !hosts.ok())
      return hosts.takeStatus().in("launch: --hosts");
  if (flags.restarts != 0 && findFlag(flags.command, "--checkpoint").value.empty())
    return invalid("launch: --restarts needs a --checkpoint to begin from");
  if (!flags.rankPerDevice && flags.minRanks > flags.ranks)
    return invalid("launch: --min-ranks ", flags.minRanks, " of ", flags.ranks, " ranks");
  if (flags.minRanks != 0 && flags.restarts == 0)
    return invalid("launch: --min-ranks is for --restarts");
  return {};
}

Result<bool> launch(const LaunchFlags &flags) {
  DLC_TRY_ASSIGN(job, jobOf(flags));
  const std::vector<Host> hosts = job.hosts;
  passSignalsOn();
  std::optional<Restart> again;
  if (flags.restarts != 0)
    again.emplace(flags.command);
  std::vector<std::string> command = flags.command;
  for (uint64_t restart = 0;; ++restart) {
    DLC_TRY_ASSIGN(end, runStarter(commandLine(job, flags, command), patienceOf(command)));
    if (!end.reason.empty())
      std::fprintf(stderr, "error: %s\n", end.reason.c_str());
    DLC_TRY(std::move(end.output));
    if (end.succeeded || wasInterrupted() || restart == flags.restarts)
      return end.succeeded;
    command = again->next();
    if (command.empty()) {
      std::fprintf(stderr, "note: all steps were done and saved before the failure\n");
      return false;
    }
    const unsigned slots = slotsOf(job.hosts);
    DLC_TRY(leaveOut(job, hosts, flags));
    if (wasInterrupted())
      return false;
    if (flags.minRanks != 0)
      job.ranks = std::max(flags.minRanks, fewerRanks(job.ranks, slots, slotsOf(job.hosts)));
    if (flags.bind.empty())
      job.bind = bindingFor(job);
    std::fprintf(stderr, "note: restart %llu of %llu, with %u rank%s\n",
                 static_cast<unsigned long long>(restart + 1),
                 static_cast<unsigned long long>(flags.restarts), job.ranks,
                 job.ranks == 1 ? "" : "s");
  }
}

} // namespace dlc::runtime::tool
