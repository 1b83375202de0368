// Meeting of the threads of a process, and the tree.
#include "runtime/Collectives/VirtualRanks.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace dlc::runtime {
namespace {

/// Adds up `count` parts in pairs of neighbours, then of these; the first becomes the sum.
template <typename PartAt>
void addInTree(dlc_dtype dtype, size_t count, uint64_t bytes, const PartAt &partAt) {
  for (size_t distance = 1; distance < count; distance *= 2)
    for (size_t i = 0; i + distance < count; i += 2 * distance)
      addElements(dtype, partAt(i + distance), partAt(i), bytes / dtypeSize(dtype));
}

/// Whether rank 0 has more pieces than others.
bool ofFirst(Collective::Kind kind) {
  return kind == Collective::Kind::Collect || kind == Collective::Kind::Distribute;
}

/// A collective that the ranks of this process come to one by one.
struct Meeting {
  Collective::Kind kind;
  dlc_dtype dtype;
  /// Of a buffer; where rank 0 has more pieces than others, of one.
  uint64_t bytes;
  /// What each has brought; when all have come, the first becomes what goes to other processes.
  std::vector<std::vector<std::byte>> parts;
  size_t came = 0;
  /// All have come, and `ticket` is that of the processes' collective; one of the ranks waits for
  /// it; it has ended.
  bool started = false, awaited = false, ended = false;
  Transport::Ticket ticket = 0;
  Collective::Times times = {};
};

/// What the ranks of a process share.
class Group {
public:
  Group(std::shared_ptr<Transport> outer, unsigned members)
      : outer(std::move(outer)), members(members), phases(members, Phase::Start) {
    for (Channel &channel : channels)
      channel.counts.resize(members);
  }

  Result<std::shared_ptr<Meeting>> come(unsigned member, const Collective &collective);
  Status wait(Meeting &meeting);
  Status health();
  Status leave();
  void fail(std::string reason);
  void setPhase(unsigned member, Phase phase);

  const std::shared_ptr<Transport> outer;
  const unsigned members;

private:
  struct Channel {
    /// Held while the last one starts what all have come to: so the processes' collectives are
    /// started in order.
    std::mutex mutex;
    /// Those that not all have come to; the first has number `first`.
    std::deque<std::shared_ptr<Meeting>> open;
    uint64_t first = 0;
    /// How many each member has come to.
    std::vector<uint64_t> counts;
  };
  Status start(Meeting &meeting, uint32_t channel);
  Status end(Meeting &meeting) const;

  Channel channels[channelCount];
  /// For what follows, and the states of meetings.
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<std::string> failed;
  unsigned left = 0;
  std::vector<Phase> phases;
};

void Group::fail(std::string reason) {
  {
    std::lock_guard lock(mutex);
    if (!failed)
      failed = std::move(reason);
  }
  changed.notify_all();
}

Result<std::shared_ptr<Meeting>> Group::come(unsigned member, const Collective &c) {
  if (c.channel >= channelCount)
    return invalid("channel ", c.channel, " of ", channelCount);
  const unsigned all = members * outer->ranks(), rank = outer->rank() * members + member;
  const uint64_t pieces = c.piecesOf(rank, all);
  if (c.buffer.size() % pieces != 0)
    return invalid(c.buffer.size(), " bytes are no pieces for ", pieces, " ranks");
  const uint64_t bytes = ofFirst(c.kind) ? c.buffer.size() / pieces : c.buffer.size();
  std::vector<std::byte> part(c.buffer.begin(), c.buffer.end());
  Channel &channel = channels[c.channel];
  std::lock_guard order(channel.mutex);
  {
    std::lock_guard lock(mutex);
    if (failed)
      return Status(StatusCode::Failed, *failed);
  }
  const uint64_t number = channel.counts[member]++ - channel.first;
  if (number == channel.open.size()) {
    channel.open.push_back(std::make_shared<Meeting>());
    Meeting &made = *channel.open.back();
    made.kind = c.kind;
    made.dtype = c.dtype;
    made.bytes = bytes;
    made.parts.resize(members);
  }
  std::shared_ptr<Meeting> meeting = channel.open[number];
  if (meeting->kind != c.kind || meeting->dtype != c.dtype || meeting->bytes != bytes)
    return invalid("the ranks of a process do not start the same collectives");
  meeting->parts[member] = std::move(part);
  if (++meeting->came < members)
    return meeting;
  channel.open.pop_front();
  ++channel.first;
  if (Status status = start(*meeting, c.channel); !status.ok())
    fail(std::string(status.message()));
  return meeting;
}

/// All have come: what they brought becomes one buffer, which goes to the other processes.
Status Group::start(Meeting &meeting, uint32_t channel) {
  std::vector<std::byte> &buffer = meeting.parts[0];
  Collective together{Collective::Kind::Gather, channel, DLC_U8, {}, &meeting.times};
  switch (meeting.kind) {
  case Collective::Kind::Sum: {
    addInTree(meeting.dtype, members, meeting.bytes,
              [&](size_t i) { return meeting.parts[i].data(); });
    const std::vector<std::byte> own = std::move(buffer);
    buffer.resize(meeting.bytes * outer->ranks());
    std::ranges::copy(own, buffer.begin() + static_cast<ptrdiff_t>(meeting.bytes * outer->rank()));
    break;
  }
  case Collective::Kind::Gather: {
    const uint64_t piece = meeting.bytes / members / outer->ranks();
    for (unsigned i = 1; i < members; ++i) {
      const auto at = static_cast<ptrdiff_t>(piece * (outer->rank() * members + i));
      std::copy_n(meeting.parts[i].begin() + at, piece, buffer.begin() + at);
    }
    break;
  }
  case Collective::Kind::Broadcast:
    together.kind = meeting.kind;
    break;
  case Collective::Kind::Collect:
  case Collective::Kind::Distribute:
    together.kind = meeting.kind;
    if (outer->rank() != 0)
      buffer.resize(meeting.bytes * members);
    for (unsigned i = 1; i < members && meeting.kind == Collective::Kind::Collect; ++i)
      std::ranges::copy(meeting.parts[i].begin(),
                        meeting.parts[i].begin() + static_cast<ptrdiff_t>(meeting.bytes),
                        buffer.begin() + static_cast<ptrdiff_t>(meeting.bytes * i));
  }
  meeting.parts.resize(1);
  together.buffer = buffer;
  DLC_TRY_ASSIGN(ticket, outer->start(together));
  {
    std::lock_guard lock(mutex);
    meeting.ticket = ticket;
    meeting.started = true;
  }
  changed.notify_all();
  return {};
}

/// Waits for the other processes, and adds up what is above this one's part of the tree.
Status Group::end(Meeting &meeting) const {
  DLC_TRY(outer->wait(meeting.ticket));
  std::byte *const buffer = meeting.parts[0].data();
  if (meeting.kind == Collective::Kind::Sum)
    addInTree(meeting.dtype, outer->ranks(), meeting.bytes,
              [&](size_t i) { return buffer + i * meeting.bytes; });
  return {};
}

Status Group::wait(Meeting &meeting) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return failed || meeting.started; });
  if (!meeting.ended && !failed && !std::exchange(meeting.awaited, true)) {
    lock.unlock();
    Status status = guarded([&] { return end(meeting); });
    lock.lock();
    if (status.ok())
      meeting.ended = true;
    else if (!failed)
      failed = status.message();
    changed.notify_all();
  }
  changed.wait(lock, [&] { return failed || meeting.ended; });
  return meeting.ended ? Status() : Status(StatusCode::Failed, *failed);
}

Status Group::health() {
  std::lock_guard lock(mutex);
  return failed ? Status(StatusCode::Failed, *failed) : outer->health();
}

/// The process is at what one of them is at, if others have to wait for that.
void Group::setPhase(unsigned member, Phase phase) {
  std::lock_guard lock(mutex);
  const Phase before = std::ranges::max(phases);
  phases[member] = phase;
  if (const Phase now = std::ranges::max(phases); now != before)
    outer->setPhase(now);
}

/// The last one leaves for the process.
Status Group::leave() {
  {
    std::lock_guard lock(mutex);
    if (++left < members)
      return {};
  }
  return outer->leave();
}

class VirtualRank : public Transport {
public:
  VirtualRank(std::shared_ptr<Group> group, unsigned member)
      : group(std::move(group)), member(member) {}

  std::string_view name() const override { return group->outer->name(); }
  unsigned rank() const override { return group->outer->rank() * group->members + member; }
  unsigned ranks() const override { return group->outer->ranks() * group->members; }

  Result<Ticket> start(const Collective &collective) override {
    return guarded([&]() -> Result<Ticket> {
      DLC_TRY_ASSIGN(meeting, group->come(member, collective));
      std::lock_guard lock(mutex);
      open[++last] = {std::move(meeting), collective};
      return last;
    });
  }

  Status wait(Ticket ticket) override {
    return guarded([&]() -> Status {
      Started started;
      {
        std::lock_guard lock(mutex);
        auto found = open.find(ticket);
        if (found == open.end())
          return {};
        started = std::move(found->second);
        open.erase(found);
      }
      DLC_TRY(group->wait(*started.meeting));
      const uint64_t at = ofFirst(started.collective.kind) ? started.meeting->bytes * member : 0;
      std::copy_n(started.meeting->parts[0].begin() + static_cast<ptrdiff_t>(at),
                  started.collective.buffer.size(), started.collective.buffer.begin());
      if (started.collective.times)
        *started.collective.times = started.meeting->times;
      return {};
    });
  }

  Status health() const override { return group->health(); }

  Status leave() override {
    // A sum ends when all have come.
    double here = 1;
    DLC_TRY(sum(std::span(&here, 1)));
    return group->leave();
  }

  double processorSeconds() const override {
    return member == 0 ? group->outer->processorSeconds() : 0;
  }
  void setStep(uint64_t step) override {
    if (member == 0)
      group->outer->setStep(step);
  }
  void showPhase(Phase phase) override { group->setPhase(member, phase); }
  void setReason(std::string_view reason) override {
    group->fail(reason.empty() ? std::string() : concat("rank ", rank(), ": ", reason));
    group->outer->setReason(reason);
  }

private:
  struct Started {
    std::shared_ptr<Meeting> meeting;
    Collective collective;
  };
  std::shared_ptr<Group> group;
  unsigned member;
  std::mutex mutex;
  std::map<Ticket, Started> open;
  Ticket last = 0;
};

} // namespace

Status checkVirtualRanks(uint64_t total, unsigned processes) {
  constexpr uint64_t most = 4096;
  if (!std::has_single_bit(total) || total > most)
    return invalid("`deterministic`: expected a power of two up to ", most, ", found ", total);
  if (total % processes != 0)
    return invalid("`deterministic`: ", processes, " ranks cannot share ", total,
                   " evenly: start 1, 2, 4, ... up to ", total);
  return {};
}

std::vector<std::shared_ptr<Transport>> makeVirtualRanks(std::shared_ptr<Transport> outer,
                                                         unsigned total) {
  const unsigned members = total / outer->ranks();
  auto group = std::make_shared<Group>(std::move(outer), members);
  std::vector<std::shared_ptr<Transport>> ranks;
  for (unsigned i = 0; i < members; ++i)
    ranks.push_back(std::make_shared<VirtualRank>(group, i));
  return ranks;
}

} // namespace dlc::runtime
