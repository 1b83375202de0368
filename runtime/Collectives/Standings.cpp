// Silence and stalls.
#include "runtime/Collectives/Standings.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace dlc::runtime {

/// Seconds by which a turn may be late on a busy machine.
static constexpr double leastLate = 1;

Summary::Summary(const Standing &one)
    : ranks(1), waiting(one.waited > 0), last(one), longest(one), first(one.started),
      shortest(one.waited) {}

void Summary::add(const Summary &other) {
  if (other.ranks == 0)
    return;
  if (ranks == 0) {
    *this = other;
    return;
  }
  const auto place = [](const Standing &one) {
    return std::tuple(one.started, one.waited > 0, one.rank);
  };
  ranks += other.ranks;
  waiting += other.waiting;
  if (place(other.last) < place(last))
    last = other.last;
  if (std::pair(-other.longest.waited, other.longest.rank) <
      std::pair(-longest.waited, longest.rank))
    longest = other.longest;
  first = std::max(first, other.first);
  shortest = std::min(shortest, other.shortest);
}

static void pass(Standing &standing, double seconds) {
  standing.inPhase += seconds;
  if (standing.waited > 0)
    standing.waited += seconds;
}

void Summary::pass(double seconds) {
  runtime::pass(last, seconds);
  runtime::pass(longest, seconds);
  if (shortest > 0)
    shortest += seconds;
}

/// The time first: whoever reads the phase, then the time, finds none that it was not in for so
/// long.
void Standings::setPhase(Phase next, double now) {
  phaseSince = now;
  phase = next;
}

Standing Standings::own(double now) const {
  const Phase at = phase;
  const double since = waitingSince, begun = phaseSince;
  // Another thread may have begun after `now`.
  return {rank,
          at,
          step,
          started,
          since == 0 ? 0 : std::max(0.0, now - since),
          std::max(0.0, now - begun)};
}

void Standings::hear(const Standing &standing, const Summary &all, double now) {
  others[standing.rank] = {standing, all, now};
}

uint64_t Standings::stepOf(unsigned other) const {
  const auto found = others.find(other);
  return std::max(found == others.end() ? 0 : found->second.last.step, step.load());
}

bool Standings::isSilent(const Other &other, double now) const {
  return now - other.heard > std::max(leastLate, timeout / 6);
}

/// What was last heard is as old as it is. Who is silent waits for nobody, and what it said of
/// others says nothing of them now.
Summary Standings::all(double now, std::optional<unsigned> without) const {
  Summary all(own(now));
  for (const auto &[number, other] : others) {
    if (number == without)
      continue;
    Summary part = other.all;
    if (isSilent(other, now)) {
      Standing silent = other.last;
      silent.waited = 0;
      part = Summary(silent);
      part.ranks = other.all.ranks;
    }
    part.pass(now - other.heard);
    all.add(part);
  }
  return all;
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
  if (double since = phaseSince; since < now)
    phaseSince.compare_exchange_strong(since, std::min(now, since + late));
  if (blame)
    blame->since = std::min(now, blame->since + late);
}

std::string Standings::ownPause(double now) const {
  const double current = now - lastTurn.value_or(now) - interval;
  const double longest = std::max(current, now - resumed < timeout ? pause : 0);
  return longest < std::max(leastLate, timeout / 2)
             ? ""
             : concat("rank ", rank, " itself stood still for ", std::llround(longest), " s; ");
}

Standings::Verdict Standings::judge(double now) {
  if (Verdict silence = findSilence(now); silence.silent)
    return silence;
  return rank == 0 ? findStall(now) : Verdict{"", warnsOfRank0 ? warnOfRank0(now) : ""};
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
Standings::Verdict Standings::findSilence(double now) const {
  for (const auto &[number, other] : others)
    if (now - other.heard > timeout)
      return {concat("rank ", number, " has not been heard of for ", timeout, " s in step ",
                     stepOf(number)),
              "", number};
  return {};
}

/// Who started the fewest collectives is who the others wait for; where that one waits as they do,
/// it is the network that brings nothing.
Standings::Verdict Standings::findStall(double now) {
  const Summary all = this->all(now);
  if (all.longest.waited <= timeout / 3) {
    blame.reset();
    return {};
  }
  return all.waiting == all.ranks ? judgeNetwork(all) : judgeLast(all, now);
}

/// All wait since the last of them has come.
Standings::Verdict Standings::judgeNetwork(const Summary &all) {
  const uint64_t step = all.longest.step;
  if (all.shortest > timeout)
    return {concat("all ranks have waited for the network for ", timeout,
                   " s, the timeout, in step ", step),
            ""};
  if (all.shortest <= timeout / 3 || warnedAt == all.first)
    return {};
  warnedAt = all.first;
  return {"", concat("step ", step, ": all ranks wait for the network")};
}

/// Whom the others wait for now, they may have begun to wait for a moment ago, and before that for
/// another. Where nobody was to blame so far it is this one for all the time that they wait, and
/// that this rank has seen.
Standings::Verdict Standings::judgeLast(const Summary &all, double now) {
  const Standing &last = all.last;
  if (!blame || blame->rank != last.rank || blame->started != last.started ||
      blame->phase != last.phase)
    blame = Blame{last.rank, last.started, last.phase,
                  blame ? now : std::max(now - all.longest.waited, resumed)};
  if (all.longest.started == last.started)
    return {};
  const bool works = last.phase != Phase::Compute;
  const double patience = patienceWith(last.phase);
  const double behind = std::min({all.longest.waited, now - blame->since, last.inPhase});
  if (behind > patience)
    return {concat("rank ", last.rank, " has kept the others waiting for ", patience, " s in step ",
                   last.step, works ? concat(", ", phaseText(last.phase)) : ""),
            ""};
  if (behind <= timeout / 3 || std::exchange(blame->warned, true))
    return {};
  const std::string whom = works
                               ? concat("; rank ", last.rank, " has been ", phaseText(last.phase),
                                        " for ", std::llround(last.inPhase), " s")
                               : concat("; for rank ", last.rank, ", which is in step ", last.step);
  return {"", concat("step ", all.longest.step, ": ", whoWaits(all, now), whom)};
}

/// By number where each speaks for itself.
std::string Standings::whoWaits(const Summary &all, double now) const {
  std::string list;
  const auto add = [&](const Standing &standing) {
    if (standing.waited > 0 && standing.rank != all.last.rank)
      addItem(list, std::to_string(standing.rank));
  };
  add(own(now));
  for (const auto &[number, other] : others) {
    if (other.all.ranks > 1)
      return concat(all.waiting, " of ", all.ranks, " ranks wait");
    if (!isSilent(other, now))
      add(other.last);
  }
  return concat("ranks that wait: ", list);
}

} // namespace dlc::runtime
