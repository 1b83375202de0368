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

Lifetimes::Lifetimes(ProgramOp program, const HappensBefore &order) {
  for (auto [i, record] : llvm::enumerate(order.getRecords())) {
    SmallVector<BufferAccess> touched;
    RecordOp op = record;
    op.getAccesses(touched);
    for (const BufferAccess &access : touched) {
      Extent extent = getExtent(access.buffer);
      if (extent.space == Space::Arena)
        accesses[extent.root].push_back({static_cast<unsigned>(i), access.reads, access.writes});
    }
  }
  for (Value output : program.getOutput().getBuffers())
    if (Extent extent = getExtent(output); extent.space == Space::Arena)
      outputs.insert(extent.root);
}

} // namespace dlc::exec
