//===- HappensBefore.cpp - the order of a program's records -----------------------------------===//
#include "passes/Exec/HappensBefore.h"
#include "dialects/Exec/Memory.h"

using namespace mlir;

namespace dlc::exec {

HappensBefore::HappensBefore(ProgramOp program) {
  int64_t streams = 1;
  for (auto record : program.getBlock().getOps<RecordOp>()) {
    records.push_back(record);
    stream.push_back(record.getStreamNumber());
    streams = std::max(streams, stream.back() + 1);
  }
  ofStream.resize(streams);
  for (auto [i, s] : llvm::enumerate(stream))
    ofStream[s].push_back(i);
  using Clock = SmallVector<int64_t, 2>;
  SmallVector<Clock> current(streams, Clock(streams, 0));
  DenseMap<int64_t, Clock> events;
  for (auto [record, s] : llvm::zip(records, stream)) {
    Clock &now = current[s];
    position.push_back(now[s]);
    clocks.push_back(now);
    if (auto event = dyn_cast<RecordEventOp>(*record))
      events[event.getEvent()] = now;
    // A wait for what has not been recorded orders nothing.
    if (auto wait = dyn_cast<WaitEventOp>(*record))
      if (auto known = events.find(wait.getEvent()); known != events.end())
        for (auto [mine, theirs] : llvm::zip(now, known->second))
          mine = std::max(mine, theirs);
    ++now[s];
  }
}

unsigned HappensBefore::getFirstBehind(ArrayRef<unsigned> others, unsigned onStream) const {
  // Of each stream the last one is enough, and what is ordered behind it is the end of a stream.
  SmallVector<unsigned, 4> last(ofStream.size(), ~0u);
  for (unsigned other : others)
    last[stream[other]] = other;
  auto first = llvm::partition_point(ofStream[onStream], [&](unsigned record) {
    return llvm::any_of(last,
                        [&](unsigned other) { return other != ~0u && !before(other, record); });
  });
  return first == ofStream[onStream].end() ? ~0u : *first;
}

bool Lifetime::endsBefore(const Lifetime &other) const {
  return llvm::all_of(llvm::zip_equal(released, other.first),
                      [](auto places) { return std::get<0>(places) <= std::get<1>(places); });
}

bool Lifetime::endsWith(unsigned record, const HappensBefore &order) const {
  return !isOutput && llvm::all_of(accesses, [&](unsigned access) {
    return access == record || order.before(access, record);
  });
}

bool Lifetime::startsWith(unsigned record, const HappensBefore &order) const {
  return llvm::all_of(
      accesses, [&](unsigned access) { return access == record || order.before(record, access); });
}

void Lifetime::append(const Lifetime &other) {
  accesses = other.accesses;
  released = other.released;
  isOutput = other.isOutput;
}

llvm::DenseMap<Operation *, Lifetime> findLifetimes(ProgramOp program, const HappensBefore &order) {
  unsigned streams = order.getNumStreams();
  llvm::DenseMap<Operation *, Lifetime> lifetimes;
  for (auto alloc : program.getBlock().getOps<AllocOp>())
    lifetimes[alloc].first.assign(streams, Lifetime::never);
  for (auto [i, op] : llvm::enumerate(order.getRecords())) {
    SmallVector<BufferAccess> touched;
    RecordOp record = op;
    record.getAccesses(touched);
    for (const BufferAccess &access : touched) {
      Extent extent = getExtent(access.buffer);
      if (extent.space != Space::Arena)
        continue;
      Lifetime &lifetime = lifetimes[extent.root];
      if (!lifetime.accesses.empty() && lifetime.accesses.back() == i)
        continue;
      lifetime.accesses.push_back(i);
      unsigned &first = lifetime.first[order.getStream(i)];
      first = std::min<unsigned>(first, i);
    }
  }
  for (Value output : program.getOutput().getBuffers())
    if (Extent extent = getExtent(output); extent.space == Space::Arena)
      lifetimes[extent.root].isOutput = true;
  for (auto &[alloc, lifetime] : lifetimes)
    for (unsigned stream = 0; stream < streams; ++stream)
      lifetime.released.push_back(
          lifetime.isOutput ? Lifetime::never : order.getFirstBehind(lifetime.accesses, stream));
  return lifetimes;
}

} // namespace dlc::exec
