// Reports go up, verdicts down.
#include "runtime/Collectives/Watcher.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dlc::runtime {

using Kind = WatchMessage::Kind;

void WatchMessage::setText(std::string_view what) {
  const size_t size = std::min(what.size(), sizeof(text) - 1);
  std::memcpy(text, what.data(), size);
  text[size] = '\0';
}

std::string_view WatchMessage::textView() const { return {text, strnlen(text, sizeof(text))}; }

WatchMessage Watcher::message(Kind kind, double now) const {
  WatchMessage message;
  message.kind = kind;
  message.own = standings.own(now);
  return message;
}

void Watcher::meet(unsigned other, double now) {
  met.insert(other);
  Standing unknown;
  unknown.rank = other;
  standings.hear(unknown, now);
}

/// What it does means nothing any more.
void Watcher::part(unsigned other) {
  met.erase(other);
  standings.leave(other);
}

void Watcher::hear(unsigned from, const WatchMessage &message, double now) {
  if (!met.contains(from) || message.own.rank != from)
    return;
  const bool isAbove = from == place.above;
  const bool isBeat = message.kind == Kind::Beat && !isAbove && message.all.ranks != 0;
  standings.hear(message.own, isBeat ? message.all : Summary(message.own), now);
  switch (message.kind) {
  case Kind::Hello:
  case Kind::Welcome:
  case Kind::Beat:
    return;
  case Kind::Bye:
    return part(from);
  case Kind::Ending: {
    part(from);
    const std::string_view reason = message.textView();
    return find(from, message.own.step, reason.empty() ? "ended" : concat("ended: ", reason), now);
  }
  case Kind::Report:
    if (!isAbove)
      report(std::string(message.textView()), now);
    return;
  case Kind::Verdict:
    if (isAbove)
      decide(message.textView(), now);
    return;
  }
}

void Watcher::lose(unsigned other, double now) {
  if (!met.contains(other))
    return;
  const uint64_t step = standings.stepOf(other);
  part(other);
  find(other, step, "ended", now);
}

void Watcher::turn(double now) {
  if (failed)
    return;
  standings.beginTurn(now);
  WatchMessage beat = message(Kind::Beat, now);
  if (now >= nextDown) {
    nextDown = now + downInterval;
    output.sendDown(beat);
  }
  if (!isRoot()) {
    beat.all = standings.all(now, place.above);
    output.sendUp(beat);
  }
  if (leaving)
    return;
  if (pending && now - pending->since > verdictPatience)
    return decide(pending->what, now);
  Standings::Verdict verdict = standings.judge(now);
  if (verdict.silent)
    find(*verdict.silent, std::move(verdict.failure), now);
  else if (!verdict.failure.empty())
    decide(verdict.failure, now);
  if (!verdict.warning.empty())
    output.onWarning(verdict.warning);
}

void Watcher::find(unsigned other, uint64_t step, std::string_view what, double now) {
  find(other, concat(standings.ownPause(now), "rank ", other, " ", what, " in step ", step), now);
}

/// Only rank 0 knows all that has happened; who has lost the way to it must not wait for it.
void Watcher::find(unsigned other, std::string what, double now) {
  if (other == place.above)
    decide(what, now);
  else
    report(std::move(what), now);
}

void Watcher::report(std::string what, double now) {
  if (failed || leaving || pending)
    return;
  if (isRoot())
    return decide(what, now);
  WatchMessage report = message(Kind::Report, now);
  report.setText(what);
  output.sendUp(report);
  pending = {std::move(what), now};
}

/// The first verdict is the one that counts.
void Watcher::decide(std::string_view what, double now) {
  if (failed || leaving)
    return;
  failed = true;
  WatchMessage verdict = message(Kind::Verdict, now);
  verdict.setText(what);
  output.sendDown(verdict);
  output.onFailure(std::string(what));
}

} // namespace dlc::runtime
