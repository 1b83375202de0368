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

unsigned HappensBefore::getFirstOpen(unsigned record, unsigned stream) const {
  size_t completed = clocks[record][stream];
  return completed < ofStream[stream].size() ? ofStream[stream][completed] : records.size();
}

bool Lifetime::endsBefore(const Lifetime &other) const {
  return llvm::all_of(llvm::zip_equal(last, other.open),
                      [](auto ends) { return std::get<0>(ends) <= std::get<1>(ends); });
}

bool Lifetime::endsWith(unsigned record, const HappensBefore &order) const {
  for (auto [stream, end] : llvm::enumerate(last)) {
    bool own = stream == order.getStream(record);
    if (end > (own ? record + 1 : order.getFirstOpen(record, stream)))
      return false;
  }
  return true;
}

bool Lifetime::startsWith(unsigned record, const HappensBefore &order) const {
  return llvm::all_of(
      accesses, [&](unsigned access) { return access == record || order.before(record, access); });
}

void Lifetime::append(const Lifetime &other) {
  accesses.append(other.accesses);
  for (auto [mine, theirs] : llvm::zip_equal(last, other.last))
    mine = std::max(mine, theirs);
}

llvm::DenseMap<Operation *, Lifetime> findLifetimes(ProgramOp program, const HappensBefore &order) {
  unsigned streams = order.getNumStreams();
  llvm::DenseMap<Operation *, Lifetime> lifetimes;
  for (auto alloc : program.getBlock().getOps<AllocOp>())
    lifetimes[alloc] = {{},
                        SmallVector<unsigned, 4>(streams, 0),
                        SmallVector<unsigned, 4>(streams, Lifetime::never)};
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
      lifetime.last[order.getStream(i)] = i + 1;
      for (unsigned s = 0; s < streams; ++s)
        lifetime.open[s] = std::min(lifetime.open[s], order.getFirstOpen(i, s));
    }
  }
  for (Value output : program.getOutput().getBuffers())
    if (Extent extent = getExtent(output); extent.space == Space::Arena)
      lifetimes[extent.root].last.assign(streams, Lifetime::never);
  return lifetimes;
}

} // namespace dlc::exec
