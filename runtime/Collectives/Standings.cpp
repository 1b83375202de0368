// Silence and stalls.
#include "runtime/Collectives/Standings.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace dlc::runtime {

/// Seconds by which a turn may be late on a busy machine.
static constexpr double leastLate = 1;

Standing Standings::own(double now) const {
  const double since = waitingSince;
  // Another thread may have begun after `now`.
  return {rank, step, started, since == 0 ? 0 : std::max(0.0, now - since)};
}

void Standings::hear(const Standing &standing, double now) {
  others[standing.rank] = {standing, now};
}

uint64_t Standings::stepOf(unsigned other) const {
  const auto found = others.find(other);
  return std::max(found == others.end() ? 0 : found->second.last.step, step.load());
}

void Standings::beginTurn(double now) {
  const double late = now - std::exchange(lastTurn, now).value_or(now) - interval;
  if (late < leastLate)
    return;
  pause = late;
  resumed = now;
  for (auto &[number, other] : others)
    other.heard = std::min(now, other.heard + late);
  if (double since = waitingSince; since != 0)
    waitingSince.compare_exchange_strong(since, std::min(now, since + late));
}

std::string Standings::ownPause(double now) const {
  const double current = now - lastTurn.value_or(now) - interval;
  const double longest = std::max(current, now - resumed < timeout ? pause : 0);
  return longest < std::max(leastLate, timeout / 2)
             ? ""
             : concat("rank ", rank, " itself stood still for ", std::llround(longest), " s; ");
}

Standings::Verdict Standings::judge(double now) {
  if (std::string silent = findSilence(now); !silent.empty())
    return {silent, ""};
  return rank == 0 ? findStall(now) : Verdict{"", rank == 1 ? warnOfRank0(now) : ""};
}

/// Once for each time that it falls silent.
std::string Standings::warnOfRank0(double now) {
  const auto found = others.find(0);
  const bool silent = found != others.end() && now - found->second.heard > timeout / 3;
  const bool isNew = silent && !warnedOfRank0;
  warnedOfRank0 = silent;
  return isNew ? concat("step ", stepOf(0), ": nothing is heard of rank 0") : "";
}

/// A process that is stopped says nothing, and a machine that is gone closes no connection.
std::string Standings::findSilence(double now) const {
  for (const auto &[number, other] : others)
    if (now - other.heard > timeout)
      return concat("rank ", number, " has not been heard of for ", timeout, " s in step ",
                    stepOf(number));
  return "";
}

/// Who started the fewest collectives is who the others wait for; where that one waits as they do,
/// it is the network that brings nothing.
Standings::Verdict Standings::findStall(double now) {
  std::vector<Standing> all = {own(now)};
  for (const auto &[number, other] : others)
    all.push_back(other.last);
  const auto byStart = [](const Standing &a, const Standing &b) { return a.started < b.started; };
  const auto byWait = [](const Standing &a, const Standing &b) { return a.waited < b.waited; };
  const auto [last, first] = std::minmax_element(all.begin(), all.end(), byStart);
  const auto [shortest, longest] = std::minmax_element(all.begin(), all.end(), byWait);
  const double patience = timeout / 3;
  const bool allWait = shortest->waited > 0;
  if (longest->waited <= patience || (allWait && shortest->waited <= patience) ||
      (!allWait && longest->started == last->started))
    return {};
  if (longest->waited > timeout)
    return {allWait ? concat("all ranks have waited for the network for ", timeout,
                             " s, the timeout, in step ", longest->step)
                    : concat("rank ", last->rank, " has kept the others waiting for ", timeout,
                             " s in step ", last->step),
            ""};
  if (warnedAt == first->started)
    return {};
  warnedAt = first->started;
  if (allWait)
    return {"", concat("step ", longest->step, ": all ranks wait for the network")};
  std::string waiting;
  for (const Standing &standing : all)
    if (standing.waited > 0 && standing.rank != last->rank)
      addItem(waiting, std::to_string(standing.rank));
  return {"", concat("step ", longest->step, ": ranks that wait: ", waiting, "; for rank ",
                     last->rank, ", which is in step ", last->step)};
}

} // namespace dlc::runtime
