// Flags and helpers that the commands share.
#include "tools/dlc-run/Command.h"
#include "runtime/Collectives/VirtualRanks.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"
#include "runtime/Device/Device.h"
#include "runtime/Training/RunStart.h"
#include "tools/dlc-run/Output.h"

#include <algorithm>
#include <cstdio>

namespace dlc::runtime::tool {

/// The layers and stages that make a call, each once.
static Json usersOf(const Plan &plan, uint32_t call) {
  Json users = Json::array();
  for (size_t i = 0; i < plan.records.size(); ++i)
    if (plan.records[i].kind == DLC_RECORD_LIBRARY && plan.records[i].index == call &&
        std::ranges::find(users, Json(plan.recordNames[i])) == users.end())
      users.push_back(plan.recordNames[i]);
  return users;
}

static Status probe(const DeviceOptions &options, const std::string &path) {
  DLC_TRY_ASSIGN(module, Module::load(path));
  DLC_TRY_ASSIGN(device, openDevice(*module, options, printLine));
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

Status describeDevice(const DeviceOptions &options, const std::string &module) {
  if (!module.empty())
    return probe(options, module);
  DLC_TRY_ASSIGN(device, openDevice(options, printLine));
  std::printf("%s\n", device->properties().c_str());
  return {};
}

Result<std::shared_ptr<State>> RunFlags::createState(std::shared_ptr<Transport> ranks,
                                                     unsigned threads, const Log &log) const {
  DLC_TRY_ASSIGN(loaded, Module::load(module));
  DeviceOptions shared = device;
  shared.threadsAtOnce = threads;
  const bool speaks = !ranks || ranks->rank() == 0;
  DLC_TRY_ASSIGN(place, openDevice(*loaded, shared, speaks ? log : Log()));
  if (ranks)
    place->join(std::move(ranks));
  return State::create(std::move(loaded), std::move(place), seed.value_or(0));
}

Result<std::shared_ptr<State>> RanksFlags::createStateAmong(const std::shared_ptr<Transport> &ranks,
                                                            unsigned threads) const {
  DLC_TRY_ASSIGN(state, createState(ranks, threads));
  DLC_TRY(checkDataParallel(*ranks, *state->module()));
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

Result<std::shared_ptr<Transport>> meetRanks(std::string_view command, TransportOptions options) {
  options.log = printLine;
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
  SharedLog log(ranks.rank() == 0);
  return log.unsaid(agreeAloud(ranks, own, facts, log));
}

std::string optionalText(const std::optional<uint64_t> &number) {
  return number ? std::to_string(*number) : "none";
}

static bool hasParameters(const Plan &plan) {
  return std::ranges::any_of(plan.variables, [](const VariableInfo &variable) {
    return variable.role == DLC_ROLE_PARAMETER;
  });
}

Status noteWeights(const Plan &plan, const std::string &checkpoint, std::string_view results) {
  if (checkpoint.empty()) {
    if (hasParameters(plan))
      printNotes({concat("no --checkpoint: ", results, " are of random initial weights")});
    return {};
  }
  DLC_TRY_ASSIGN(converted, describeConversion(plan, checkpoint));
  if (!converted.empty())
    printNotes({concat(checkpoint, ": ", converted)});
  DLC_TRY_ASSIGN(averaged, hasAverages(plan, checkpoint));
  if (averaged)
    printNotes({concat(checkpoint, ": ", results, " are of the averages (ema) of the weights")});
  return {};
}

} // namespace dlc::runtime::tool
