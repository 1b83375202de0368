// A transport of two ranks for tests of devices, in one process.
#ifndef DLC_TEST_LIB_SMALLMODEL_SLOWTRANSPORT_H
#define DLC_TEST_LIB_SMALLMODEL_SLOWTRANSPORT_H

#include "runtime/Collectives/Transport.h"
#include "runtime/Core/Initialise.h"

#include <gtest/gtest.h>

namespace dlc::test {

/// Two ranks in one, whose sums are done when the test says so: all ranks have the same values.
class SlowTransport : public runtime::Transport {
public:
  std::string_view name() const override { return "slow"; }
  unsigned rank() const override { return 0; }
  unsigned ranks() const override { return 2; }
  runtime::Result<Ticket> start(const runtime::Collective &collective) override {
    // Rank 1 has what rank 0 has; texts, which are no counts, differ from its own where that is
    // asked for.
    if (collective.kind == runtime::Collective::Kind::Gather) {
      const size_t piece = collective.buffer.size() / 2;
      for (size_t i = 0; i < piece; ++i)
        collective.buffer[piece + i] =
            collective.buffer[i] ^ std::byte(otherTexts && piece != sizeof(uint64_t));
      return Ticket(0);
    }
    if (collective.kind == runtime::Collective::Kind::Broadcast)
      return Ticket(0);
    EXPECT_LT(collective.channel, DLC_CHANNELS);
    running.push_back(collective);
    log += "start ";
    return Ticket(++tickets);
  }
  runtime::Status wait(Ticket ticket) override {
    if (ticket == 0)
      return {};
    log += "wait ";
    EXPECT_LE(ticket, tickets);
    if (!failure.empty())
      return health();
    for (const runtime::Collective &c : running)
      runtime::addElements(c.dtype, c.buffer.data(), c.buffer.data(), c.buffer.size() / 4);
    running.clear();
    return {};
  }
  runtime::Status health() const override {
    return failure.empty() ? runtime::Status()
                           : runtime::Status(runtime::StatusCode::Failed, failure);
  }
  runtime::Status leave() override { return {}; }
  void countStarts(unsigned count) override { started += count; }

  std::vector<runtime::Collective> running;
  Ticket tickets = 0;
  std::string log, failure;
  bool otherTexts = false;
  /// Collectives beside the transport; and how often one was waited for.
  unsigned started = 0, waits = 0;
  bool waiting = false;

private:
  void beginWait() override {
    EXPECT_FALSE(waiting);
    waiting = true;
    ++waits;
  }
  void endWait() override { waiting = false; }
};

} // namespace dlc::test

#endif
