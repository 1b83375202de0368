// Collectives of the host in terms of start() and wait(), and the transport of one rank.
#include "runtime/Collectives/Transport.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace dlc::runtime {

uint64_t Collective::piecesOf(unsigned rank, unsigned ranks) const {
  switch (kind) {
  case Kind::Sum:
  case Kind::Broadcast:
    return 1;
  case Kind::Gather:
    return ranks;
  case Kind::Collect:
  case Kind::Distribute:
    return rank == 0 ? ranks : 1;
  }
  return 1;
}

Status Transport::run(const Collective &collective) {
  DLC_TRY_ASSIGN(ticket, start(collective));
  return wait(ticket);
}

Status Transport::sum(std::span<double> numbers) {
  return run({Collective::Kind::Sum, controlChannel, DLC_F64, std::as_writable_bytes(numbers)});
}

Phase Transport::setPhase(Phase next) {
  const Phase before = phase.exchange(next);
  if (next != before)
    showPhase(next);
  return before;
}

Status Transport::broadcast(std::span<std::byte> bytes) {
  return run({Collective::Kind::Broadcast, controlChannel, DLC_U8, bytes});
}

Status Transport::broadcast(std::string &text) {
  uint64_t size = text.size();
  DLC_TRY(broadcast(std::as_writable_bytes(std::span(&size, 1))));
  text.resize(size);
  return broadcast(std::as_writable_bytes(std::span(text)));
}

Result<std::vector<std::string>> Transport::gather(std::string_view mine) {
  std::vector<uint64_t> sizes(ranks());
  sizes[rank()] = mine.size();
  DLC_TRY(run({Collective::Kind::Gather, controlChannel, DLC_U8,
               std::as_writable_bytes(std::span(sizes))}));
  const uint64_t longest = *std::max_element(sizes.begin(), sizes.end());
  std::string all(longest * ranks(), '\0');
  std::ranges::copy(mine, all.begin() + static_cast<ptrdiff_t>(longest * rank()));
  DLC_TRY(run(
      {Collective::Kind::Gather, controlChannel, DLC_U8, std::as_writable_bytes(std::span(all))}));
  std::vector<std::string> texts;
  for (unsigned i = 0; i < ranks(); ++i)
    texts.push_back(all.substr(i * longest, sizes[i]));
  return texts;
}

/// Bytes of each rank that go to or from rank 0 at once: it has room for as many pieces as there
/// are ranks.
static uint64_t pieceBytes(unsigned ranks) {
  constexpr uint64_t room = uint64_t(64) << 20, most = uint64_t(1) << 20, least = 4096;
  return std::clamp(room / ranks, least, most);
}

Result<std::vector<std::string>> Transport::collect(std::span<const std::byte> mine) {
  const bool first = rank() == 0;
  std::vector<std::string> all(first ? ranks() : 0);
  std::vector<std::byte> buffer;
  for (uint64_t at = 0, most = pieceBytes(ranks()); at < mine.size(); at += most) {
    const auto piece = mine.subspan(at, std::min(most, mine.size() - at));
    buffer.resize(piece.size() * (first ? ranks() : 1));
    std::ranges::copy(piece, buffer.begin());
    DLC_TRY(run({Collective::Kind::Collect, controlChannel, DLC_U8, buffer}));
    for (size_t i = 0; i < all.size(); ++i)
      all[i].append(reinterpret_cast<const char *>(buffer.data()) + i * piece.size(), piece.size());
  }
  return all;
}

Status Transport::distribute(const std::vector<std::string> &all, std::span<std::byte> mine) {
  const bool first = rank() == 0;
  std::vector<std::byte> buffer;
  for (uint64_t at = 0, most = pieceBytes(ranks()); at < mine.size(); at += most) {
    const auto piece = mine.subspan(at, std::min(most, mine.size() - at));
    buffer.resize(piece.size() * (first ? ranks() : 1));
    for (size_t i = 0; first && i < all.size(); ++i)
      std::ranges::copy(std::as_bytes(std::span(all[i])).subspan(at, piece.size()),
                        buffer.begin() + static_cast<ptrdiff_t>(i * piece.size()));
    DLC_TRY(run({Collective::Kind::Distribute, controlChannel, DLC_U8, buffer}));
    std::copy_n(buffer.begin(), piece.size(), piece.begin());
  }
  return {};
}

Result<bool> Transport::isSame(std::span<const std::byte> mine) {
  uint8_t hash[16], first[16];
  hashBytes(mine, hash);
  std::ranges::copy(hash, first);
  DLC_TRY(broadcast(std::as_writable_bytes(std::span(first))));
  double others = !std::ranges::equal(hash, first);
  DLC_TRY(sum(std::span(&others, 1)));
  return others == 0;
}

Status Transport::waitUntil(const std::function<Result<bool>()> &isDone) {
  DLC_TRY_ASSIGN(already, isDone());
  if (already)
    return {};
  beginWait();
  Status status = guarded([&]() -> Status {
    while (true) {
      DLC_TRY(health());
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      DLC_TRY_ASSIGN(done, isDone());
      if (done)
        return {};
    }
  });
  endWait();
  return status;
}

namespace {

class SelfTransport : public Transport {
public:
  std::string_view name() const override { return "self"; }
  unsigned rank() const override { return 0; }
  unsigned ranks() const override { return 1; }
  Result<Ticket> start(const Collective &collective) override {
    if (collective.channel >= channelCount)
      return invalid("channel ", collective.channel, " of ", channelCount);
    return Ticket(0);
  }
  Status wait(Ticket) override { return {}; }
  Status leave() override { return {}; }
};

} // namespace

std::shared_ptr<Transport> selfTransport() { return std::make_shared<SelfTransport>(); }

const char *environmentOf(const char *name) { return std::getenv(name); }

Launched launchedBy(const char *(*getEnvironment)(const char *name)) {
  // A shell that Slurm gave resources to has SLURM_NTASKS too: of the allocation, also where it is
  // itself a step, of one task.
  const bool step = getEnvironment("SLURM_STEP_ID") != nullptr;
  for (const auto &[variable, by] : {std::pair{"OMPI_COMM_WORLD_SIZE", "mpirun"},
                                     {"SLURM_STEP_NUM_TASKS", "srun"},
                                     {step ? "SLURM_NTASKS" : "", "srun"},
                                     {"PMI_SIZE", "a PMI starter"}})
    if (const char *text = *variable ? getEnvironment(variable) : nullptr)
      return {static_cast<unsigned>(std::strtoul(text, nullptr, 10)), by};
  return {};
}

unsigned localRank(const char *(*getEnvironment)(const char *name)) {
  for (const char *variable : {"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PMI_LOCAL_RANK"})
    if (const char *text = getEnvironment(variable))
      return static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  return 0;
}

} // namespace dlc::runtime
