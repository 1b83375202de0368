//===- ScheduleStreams.cpp - streams for records, events between streams ----------------------===//
//
// See Passes.td for what it does with a before and after. Works on logical buffers, before memory
// is planned: planning then reuses memory only where this order allows it.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/Exec/Memory.h"
#include "passes/Exec/Bytes.h"
#include "passes/Exec/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc::exec {

#define GEN_PASS_DEF_SCHEDULESTREAMS
#include "passes/Exec/Passes.h.inc"

namespace {

/// Conflicts of a program's records: predecessors[i] lists the records before i that touch a byte
/// of i's, one of both writing, but for those that another write of these bytes is behind.
struct Conflicts {
  SmallVector<RecordOp> records;
  SmallVector<SmallVector<unsigned>> predecessors;

  explicit Conflicts(ProgramOp program) : records(program.getBlock().getOps<RecordOp>()) {
    RegionHistory history;
    for (auto [i, record] : llvm::enumerate(records)) {
      SmallVector<BufferAccess> accesses;
      record.getAccesses(accesses);
      llvm::SetVector<unsigned> before;
      for (const BufferAccess &access : accesses) {
        Extent extent = getExtent(access.buffer);
        history[extent.getRegion()].touch(i, {extent.offset, extent.end()}, access.writes,
                                          [&](unsigned other) { before.insert(other); });
      }
      predecessors.push_back(before.takeVector());
    }
  }
};

constexpr int64_t channels = 2; ///< of collectives

/// A collective starts where the order of the text comes to it, so it goes directly behind what it
/// waits for. Those of a channel keep their order.
void advanceCollectives(ProgramOp program) {
  if (program.getBlock().getOps<AllReduceOp>().empty())
    return;
  const Conflicts conflicts(program);
  Operation *before[channels] = {};
  for (auto [i, record] : llvm::enumerate(conflicts.records)) {
    auto collective = dyn_cast<AllReduceOp>(*record);
    if (!collective)
      continue;
    Operation *&last = before[collective.getChannel()];
    for (unsigned other : conflicts.predecessors[i])
      if (Operation *op = conflicts.records[other]; !last || last->isBeforeInBlock(op))
        last = op;
    // A view of what the others have written may stand right in front of it.
    Operation *view = collective.getBuffer().getDefiningOp();
    if (last && last->isBeforeInBlock(view)) {
      view->moveAfter(last);
      last = view;
    }
    if (last)
      collective->moveAfter(last);
    last = collective;
  }
}

/// A stream for each record, by list scheduling in the order of the text. Collectives are not
/// scheduled: each channel has a stream of its own, behind those that compute.
class Assignment {
public:
  Assignment(const Conflicts &conflicts, const ScheduleStreamsOptions &options,
             SymbolTable &symbols)
      : conflicts(conflicts), options(options), symbols(symbols), streams(options.streams),
        ready(streams + channels, 0.0), last(streams + channels, ~0u) {}

  SmallVector<int64_t> run() {
    for (unsigned i = 0; i < conflicts.records.size(); ++i) {
      int64_t stream = choose(i);
      double start = std::max(ready[stream], inputsReady(i));
      ready[stream] = start + secondsOf(conflicts.records[i]);
      finish.push_back(ready[stream]);
      last[stream] = i;
      chosen.push_back(stream);
    }
    closeGaps();
    return chosen;
  }

private:
  double inputsReady(unsigned record) const {
    double time = 0;
    for (unsigned before : conflicts.predecessors[record])
      time = std::max(time, finish[before]);
    return time;
  }

  /// Leaves out the streams that no record is on.
  void closeGaps() {
    SmallVector<int64_t> used(chosen);
    llvm::sort(used);
    used.erase(llvm::unique(used), used.end());
    for (int64_t &stream : chosen)
      stream = llvm::lower_bound(used, stream) - used.begin();
  }

  int64_t choose(unsigned record) const {
    if (auto collective = dyn_cast<AllReduceOp>(*conflicts.records[record]))
      return streams + collective.getChannel();
    if (conflicts.records[record]->hasAttr(keepsPlaceName))
      for (int64_t stream : llvm::reverse(chosen))
        if (stream < streams)
          return stream;
    double inputs = inputsReady(record);
    auto rank = [&](int64_t stream) {
      bool continues =
          last[stream] != ~0u && llvm::is_contained(conflicts.predecessors[record], last[stream]);
      return std::tuple(std::max(ready[stream], inputs), !continues, stream);
    };
    int64_t best = 0;
    for (int64_t stream = 1; stream < streams; ++stream)
      if (rank(stream) < rank(best))
        best = stream;
    return best;
  }

  /// Those that its kernel was chosen by; a copy or a fill has no kernel.
  double secondsOf(RecordOp record) const {
    if (auto collective = dyn_cast<AllReduceOp>(*record); collective && collective.getSeconds())
      return collective.getSecondsAttr().getValueAsDouble();
    if (auto launch = dyn_cast<LaunchOp>(*record)) {
      auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
      if (kernel.getSeconds())
        return launch.getSeconds(kernel);
    }
    double bytes = 0;
    SmallVector<BufferAccess> accesses;
    record.getAccesses(accesses);
    for (const BufferAccess &access : accesses)
      bytes += getBytes(access.buffer);
    return options.recordSeconds + options.byteSeconds * bytes;
  }

  const Conflicts &conflicts;
  const ScheduleStreamsOptions &options;
  SymbolTable &symbols;
  int64_t streams; ///< that compute
  SmallVector<double> ready, finish;
  SmallVector<unsigned> last;
  SmallVector<int64_t> chosen;
};

/// Inserts events where the streams alone do not keep a conflict's order.
class EventBuilder {
public:
  EventBuilder(const Conflicts &conflicts, ArrayRef<int64_t> streams, int64_t count)
      : conflicts(conflicts), streams(streams), current(count, SmallVector<int64_t>(count, 0)) {}

  int64_t run() {
    for (unsigned i = 0; i < conflicts.records.size(); ++i) {
      for (unsigned before : findMissing(i))
        wait(i, before);
      position.push_back(current[streams[i]][streams[i]]++);
      clocks.push_back(current[streams[i]]);
    }
    return events.size();
  }

private:
  /// The predecessors of `record` that nothing orders before it yet, less those that another of
  /// them implies.
  SmallVector<unsigned> findMissing(unsigned record) const {
    const auto &now = current[streams[record]];
    SmallVector<unsigned> missing;
    for (unsigned before : conflicts.predecessors[record])
      if (position[before] >= now[streams[before]])
        missing.push_back(before);
    SmallVector<unsigned> needed;
    for (unsigned a : missing)
      if (llvm::none_of(missing,
                        [&](unsigned b) { return a != b && clocks[b][streams[a]] > position[a]; }))
        needed.push_back(a);
    llvm::sort(needed);
    return needed;
  }

  void wait(unsigned record, unsigned before) {
    auto [event, isNew] = events.try_emplace(before, events.size());
    OpBuilder builder(conflicts.records[record]);
    Location loc = conflicts.records[before]->getLoc();
    if (isNew) {
      builder.setInsertionPointAfter(conflicts.records[before]);
      RecordEventOp::create(builder, loc, event->second, streams[before]);
      builder.setInsertionPoint(conflicts.records[record]);
    }
    WaitEventOp::create(builder, loc, event->second, streams[record]);
    for (auto [mine, theirs] : llvm::zip(current[streams[record]], clocks[before]))
      mine = std::max(mine, theirs);
  }

  const Conflicts &conflicts;
  ArrayRef<int64_t> streams;
  SmallVector<SmallVector<int64_t>>
      current; ///< of each stream: records of every stream known to be complete
  SmallVector<SmallVector<int64_t>> clocks; ///< of each record: the same when it has completed
  SmallVector<int64_t> position;            ///< of each record in its stream
  llvm::DenseMap<unsigned, int64_t> events; ///< by the record that they follow
};

struct ScheduleStreams : impl::ScheduleStreamsBase<ScheduleStreams> {
  using ScheduleStreamsBase::ScheduleStreamsBase;

  void runOnOperation() override {
    if (streams < 1) {
      getOperation().emitError() << "cannot schedule on " << streams << " streams";
      return signalPassFailure();
    }
    SymbolTable symbols(getOperation());
    for (auto program : getOperation().getOps<ProgramOp>())
      schedule(program, symbols);
  }

  void schedule(ProgramOp program, SymbolTable &symbols) {
    for (Operation &op : llvm::make_early_inc_range(program.getBlock()))
      if (isa<RecordEventOp, WaitEventOp>(op))
        op.erase();
    advanceCollectives(program);
    Conflicts conflicts(program);
    SmallVector<int64_t> chosen =
        Assignment(conflicts, {streams, recordSeconds, byteSeconds}, symbols).run();
    for (auto [record, stream] : llvm::zip(conflicts.records, chosen))
      record.setStreamNumber(stream);
    int64_t used = chosen.empty() ? 1 : *llvm::max_element(chosen) + 1;
    program.setEvents(EventBuilder(conflicts, chosen, used).run());
    program.setStreams(used);
  }
};

} // namespace
} // namespace dlc::exec
