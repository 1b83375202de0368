// Flags and helpers that the commands share.
#include "tools/dlc-run/Command.h"
#include "runtime/Collectives/VirtualRanks.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"
#include "runtime/Device/Device.h"
#include "tools/CommandLine/RunTool.h"
#include "tools/dlc-run/Output.h"

#include <algorithm>
#include <cstdio>

namespace dlc::runtime::tool {

/// The device to run on if none was asked for: where the module's training step is fast.
static dlc_target defaultTarget(const Module &module) {
  for (dlc_target target : {DLC_TARGET_CPU, DLC_TARGET_CUDA})
    if (module.compiledFor(target))
      return target;
  return DLC_TARGET_SIMT;
}

Result<std::shared_ptr<Device>> DeviceFlags::open(const Module &module) const {
  dlc_target target = defaultTarget(module);
  for (dlc_target other : {DLC_TARGET_CPU, DLC_TARGET_CUDA, DLC_TARGET_SIMT})
    if (device == targetName(other))
      target = other;
  DLC_TRY(module.requireTarget(target));
  DeviceFlags chosen = *this;
  chosen.device = targetName(target);
  return chosen.open();
}

static std::string tooManyThreads(unsigned asked, unsigned atOnce) {
  const Processors &own = processors();
  const std::string time =
      own.quota == 0 ? "" : concat(" and the cgroup allows the time of ", own.quota);
  return concat("--threads ", asked, ": only ", atOnce,
                " can run at once, and wait for the others; the process may use ", own.cores.size(),
                own.cores.size() == 1 ? " core" : " cores", time);
}

Result<std::shared_ptr<Device>> DeviceFlags::open() const {
  if (device == "cuda")
    return openCuda({.localRank = localRank(),
                     .graph = !noCudaGraph,
                     .libraries = !noLibraries,
                     .warn = [](auto line) {
                       std::fprintf(stderr, "warning: %s\n", std::string(line).c_str());
                     }});
  const unsigned atOnce = threadsAtOnce == 0 ? processors().threads() : threadsAtOnce;
  if (threads > atOnce && !quiet)
    std::fprintf(stderr, "warning: %s\n", tooManyThreads(threads, atOnce).c_str());
  const unsigned count = threads == 0 ? atOnce : threads;
  if (device == "simt")
    return openSimt({.threads = count, .seed = simtSeed, .libraries = !noLibraries});
  return openCpu({.threads = count});
}

/// The layers and stages that make a call, each once.
static Json usersOf(const Plan &plan, uint32_t call) {
  Json users = Json::array();
  for (size_t i = 0; i < plan.records.size(); ++i)
    if (plan.records[i].kind == DLC_RECORD_LIBRARY && plan.records[i].index == call &&
        std::ranges::find(users, Json(plan.recordNames[i])) == users.end())
      users.push_back(plan.recordNames[i]);
  return users;
}

static Status probe(const DeviceFlags &flags, const std::string &path) {
  DLC_TRY_ASSIGN(module, Module::load(path));
  DLC_TRY_ASSIGN(device, flags.open(*module));
  DLC_TRY_ASSIGN(reports, device->probe(module));
  for (uint32_t call = 0; call < reports.size(); ++call) {
    Json line = describeCall(module->plan(), call);
    line["users"] = usersOf(module->plan(), call);
    line["accepted"] = reports[call].accepted;
    line["detail"] = reports[call].detail;
    printJson(line);
  }
  return {};
}

Status describeDevice(const DeviceFlags &flags, const std::string &module) {
  if (!module.empty())
    return probe(flags, module);
  DLC_TRY_ASSIGN(device, flags.open());
  std::printf("%s\n", device->properties().c_str());
  return {};
}

Result<std::shared_ptr<State>> RunFlags::createState(std::shared_ptr<Transport> ranks,
                                                     unsigned threads) const {
  DLC_TRY_ASSIGN(loaded, Module::load(module));
  DeviceFlags shared = device;
  shared.threadsAtOnce = threads;
  shared.quiet |= ranks && ranks->rank() != 0;
  DLC_TRY_ASSIGN(place, shared.open(*loaded));
  if (ranks)
    place->join(std::move(ranks));
  return State::create(std::move(loaded), std::move(place), seed.value_or(0));
}

Result<std::shared_ptr<State>> RanksFlags::createStateAmong(const std::shared_ptr<Transport> &ranks,
                                                            unsigned threads) const {
  DLC_TRY_ASSIGN(state, createState(ranks, threads));
  if (ranks->ranks() > 1 && !state->module()->plan().dataParallel)
    return unsupported(module, ": was compiled without --data-parallel, and there are ",
                       ranks->ranks(), " ranks");
  return state;
}

using RankBody = std::function<Status(const std::shared_ptr<Transport> &)>;

static Status asRank(const std::shared_ptr<Transport> &ranks, const RankBody &body) {
  Status status = guarded([&] { return body(ranks); });
  if (status.ok())
    return ranks->leave();
  ranks->setReason(status.message());
  return ranks->rank() == 0 || status.message().empty()
             ? std::move(status)
             : std::move(status).in(concat("on rank ", ranks->rank()));
}

/// A thread for each of this process's ranks but the first.
static Status asVirtualRanks(const std::vector<std::shared_ptr<Transport>> &ranks,
                             const RankBody &body) {
  std::vector<Status> ended(ranks.size());
  std::vector<std::thread> threads;
  Status all = guarded([&]() -> Status {
    for (size_t i = 1; i < ranks.size(); ++i)
      threads.push_back(startThread([&, i] { ended[i] = asRank(ranks[i], body); }));
    return asRank(ranks[0], body);
  });
  // Also where there was no thread for one of them: the others do not wait for it.
  if (!all.ok())
    ranks[0]->setReason(all.message());
  for (std::thread &thread : threads)
    thread.join();
  for (Status &status : ended)
    if (all.ok())
      all = std::move(status);
  return all;
}

Result<std::shared_ptr<Transport>> meetRanks(std::string_view command,
                                             const TransportOptions &options) {
  DLC_TRY_ASSIGN(ranks, openTransport(options));
  if (ranks->ranks() > 1)
    DLC_TRY(beginTogether(*ranks, {}, {{"the command", std::string(command)}}));
  return std::move(ranks);
}

Status amongRanks(std::string_view command, const RanksFlags &flags, const RankBody &body) {
  DLC_TRY_ASSIGN(ranks, meetRanks(command, {.timeout = flags.timeout}));
  const uint64_t total = flags.deterministic;
  if (ranks->ranks() > 1 || total != 0)
    DLC_TRY(beginTogether(*ranks, total == 0 ? Status() : checkVirtualRanks(total, ranks->ranks()),
                          {{"--deterministic", total == 0 ? "none" : std::to_string(total)}}));
  return total == 0 ? asRank(ranks, body)
                    : asVirtualRanks(makeVirtualRanks(ranks, static_cast<unsigned>(total)), body);
}

Status beginTogether(Transport &ranks, const Status &own, const Facts &facts) {
  Status agreed = agree(ranks, own, facts);
  if (agreed.ok() || ranks.ranks() == 1)
    return agreed;
  // The one line for all, before anyone ends: mpirun stops the others as soon as one does.
  if (ranks.rank() == 0)
    dlc::tool::sayError(agreed);
  double said = 1;
  (void)ranks.sum(std::span(&said, 1));
  return Status(agreed.code(), "");
}

std::string optionalText(const std::optional<uint64_t> &number) {
  return number ? std::to_string(*number) : "none";
}

Facts commonFacts(const RanksFlags &flags, const State &state) {
  return {{"the module", hexadecimal(state.module()->note().file_hash)},
          {"the plan", state.module()->graphHash()},
          {"the device", std::string(state.device()->name())},
          {"--seed", optionalText(flags.seed)},
          {"--trace", flags.trace.empty() ? "none" : "a file"}};
}

static bool hasParameters(const Plan &plan) {
  return std::ranges::any_of(plan.variables, [](const VariableInfo &variable) {
    return variable.role == DLC_ROLE_PARAMETER;
  });
}

Status loadWeights(State &state, const std::string &checkpoint, std::string_view results) {
  const Plan &plan = state.module()->plan();
  if (checkpoint.empty()) {
    if (hasParameters(plan))
      std::fprintf(stderr, "note: no --checkpoint: %s are of random initial weights\n",
                   std::string(results).c_str());
    return {};
  }
  DLC_TRY_ASSIGN(metadata, loadVariables(state, checkpoint, LoadMode::Weights));
  DLC_TRY_ASSIGN(averaged, hasAverages(plan, checkpoint));
  if (averaged)
    std::fprintf(stderr, "note: %s: %s are of the averages (ema) of the weights\n",
                 checkpoint.c_str(), std::string(results).c_str());
  return {};
}

/// What an entry of a kind does.
static std::string_view verbOf(dlc_entry_kind kind) {
  return kind == DLC_ENTRY_TRAIN      ? "trains"
         : kind == DLC_ENTRY_EVALUATE ? "evaluates"
         : kind == DLC_ENTRY_INFER    ? "infers"
                                      : "prepares";
}

Result<const EntryInfo *> selectEntry(const Module &module, const std::string &name,
                                      dlc_entry_kind otherwise) {
  const Plan &plan = module.plan();
  const bool isStep = name.empty() && otherwise == DLC_ENTRY_TRAIN && !plan.steps.empty();
  const EntryInfo *entry = isStep         ? &plan.entries[plan.steps[0].entry]
                           : name.empty() ? plan.findEntry(otherwise)
                                          : plan.findEntry(name);
  if (entry)
    return entry;
  std::string known;
  for (const EntryInfo &other : plan.entries)
    addItem(known, other.name);
  return invalid(module.path(), ": no entry ",
                 name.empty() ? concat("that ", verbOf(otherwise)) : concat("'", name, "'"),
                 "; there are: ", known);
}

} // namespace dlc::runtime::tool
