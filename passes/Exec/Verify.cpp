//===- Verify.cpp - proves that a plan is ordered ---------------------------------------------===//
//
// See Passes.td for the list of what is checked. Shares with the planning passes only the
// definition of happens-before.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/Exec/Memory.h"
#include "passes/Exec/HappensBefore.h"
#include "passes/Exec/Passes.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace dlc::exec {

#define GEN_PASS_DEF_VERIFY
#include "passes/Exec/Passes.h.inc"

namespace {

class Verifier {
public:
  Verifier(ProgramOp program, SymbolTable &symbols, int64_t stateBytes)
      : program(program), symbols(symbols), stateBytes(stateBytes), order(program),
        lifetimes(program, order) {
    for (auto alloc : program.getBlock().getOps<AllocOp>())
      isPlaced |= alloc.getOffsetAttr() != nullptr;
  }

  LogicalResult run() {
    if (failed(checkEvents()) || failed(checkBuffers()))
      return failure();
    for (auto [i, record] : llvm::enumerate(order.getRecords()))
      if (failed(checkRecord(record, i)))
        return failure();
    if (failed(checkOutputs()))
      return failure();
    return checkSharing();
  }

private:
  struct Touch {
    unsigned record;
    Extent extent, place; ///< as logical buffer, and in the arena
    bool writes;
  };

  RecordOp getRecord(unsigned number) const { return order.getRecords()[number]; }
  /// The name of record number `i`, in quotes.
  std::string quote(unsigned number) const {
    return "'" + getRecordName(getRecord(number)->getLoc()).str() + "'";
  }

  LogicalResult checkEvents();
  LogicalResult checkBuffers();
  LogicalResult checkRecord(RecordOp record, unsigned number);
  LogicalResult checkOrder(const Touch &touch);
  void remember(const Touch &touch);
  LogicalResult checkWritten(const Touch &touch, Operation *reader);
  LogicalResult checkLaunch(LaunchOp launch, ArrayRef<Touch> own);
  LogicalResult checkOutputs();
  LogicalResult checkSharing();
  bool endsBefore(AllocOp a, AllocOp b);
  bool isInPlace(AllocOp operand, AllocOp result);
  ArrayRef<Attribute> getInPlacePairs(LaunchOp launch);

  ProgramOp program;
  SymbolTable &symbols;
  int64_t stateBytes;
  HappensBefore order;
  Lifetimes lifetimes;
  bool isPlaced = false;
  /// Of the records checked so far, less those that a later write of all their bytes is ordered
  /// behind: what is ordered behind that write is ordered behind them.
  SmallVector<Touch> latest;
  llvm::DenseMap<Operation *, SmallVector<Touch>> writes; ///< all so far, by exec.alloc
};

/// (V2)
LogicalResult Verifier::checkEvents() {
  llvm::DenseSet<int64_t> recorded;
  for (RecordOp record : order.getRecords()) {
    int64_t stream = record.getStreamNumber();
    if (stream < 0 || stream >= static_cast<int64_t>(program.getStreams()))
      return record->emitOpError() << "is on stream " << stream << " of " << program.getStreams();
    auto event = dyn_cast<RecordEventOp>(*record);
    auto wait = dyn_cast<WaitEventOp>(*record);
    if (!event && !wait)
      continue;
    int64_t number = event ? event.getEvent() : wait.getEvent();
    if (number < 0 || number >= static_cast<int64_t>(program.getEvents()))
      return record->emitOpError() << "names event " << number << " of " << program.getEvents();
    if (event && !recorded.insert(number).second)
      return record->emitOpError() << "records event " << number << " a second time";
    if (wait && !recorded.contains(number))
      return record->emitOpError()
             << "waits for event " << number << ", which is not recorded before";
  }
  return success();
}

/// (V7), and that either all allocs have a place or none has.
LogicalResult Verifier::checkBuffers() {
  for (auto alloc : program.getBlock().getOps<AllocOp>())
    if (isPlaced && !alloc.getOffsetAttr())
      return alloc.emitOpError() << "has no offset, others of @" << program.getSymName() << " have";
  for (auto state : program.getBlock().getOps<StateOp>())
    if (Extent extent = getExtent(state); extent.end() > alignUp(stateBytes))
      return state.emitOpError() << "ends at byte " << extent.end() << " of a state of "
                                 << stateBytes;
  for (auto input : program.getBlock().getOps<InputOp>()) {
    int64_t count = llvm::count_if(program.getBlock().getOps<InputOp>(), [&](InputOp other) {
      return other.getNumber() == input.getNumber() && other.getType() != input.getType();
    });
    if (count > 0)
      return input.emitOpError() << "has another size elsewhere in @" << program.getSymName();
  }
  return success();
}

LogicalResult Verifier::checkRecord(RecordOp record, unsigned number) {
  if (getRecordName(record->getLoc()).empty()) // (V1)
    return record->emitOpError() << "has no name: its location names no layer";
  SmallVector<BufferAccess> accesses;
  record.getAccesses(accesses);
  auto launch = dyn_cast<LaunchOp>(*record);
  size_t workspace =
      launch ? symbols.lookup<KernelOp>(launch.getKernel()).getNumBuffers() : accesses.size();
  SmallVector<Touch> own;
  for (auto [i, access] : llvm::enumerate(accesses)) {
    Extent extent = getExtent(access.buffer);
    Touch touch{number, extent, isPlaced ? getPlacedExtent(access.buffer) : extent, access.writes};
    if (access.writes && extent.space != Space::Arena && extent.space != Space::State) // (V6)
      return record->emitOpError() << quote(number) << " writes read-only memory";
    if (failed(checkOrder(touch)))
      return failure();
    if (access.reads && i < workspace && failed(checkWritten(touch, record)))
      return failure();
    own.push_back(touch);
  }
  if (launch && failed(checkLaunch(launch, own)))
    return failure();
  llvm::for_each(own, [&](const Touch &touch) { remember(touch); });
  return success();
}

void Verifier::remember(const Touch &touch) {
  if (touch.writes) {
    llvm::erase_if(latest, [&](const Touch &other) { return touch.place.contains(other.place); });
    writes[touch.extent.root].push_back(touch);
  }
  latest.push_back(touch);
}

/// (V3)
LogicalResult Verifier::checkOrder(const Touch &touch) {
  for (const Touch &other : latest) {
    if ((!touch.writes && !other.writes) || !touch.place.overlaps(other.place) ||
        order.before(other.record, touch.record))
      continue;
    return (getRecord(touch.record)->emitOpError()
            << quote(touch.record) << " touches bytes of " << quote(other.record)
            << ", but nothing orders them")
               .attachNote(getRecord(other.record)->getLoc())
           << quote(other.record) << " is here";
  }
  return success();
}

/// (V5) `touch` may read what records before it have written into the same buffer. A record that
/// writes a tensor owns the bytes up to the next multiple of the alignment: the gap behind a tensor
/// in a flat buffer is never looked at.
LogicalResult Verifier::checkWritten(const Touch &touch, Operation *reader) {
  if (touch.extent.space != Space::Arena || touch.extent.bytes == 0)
    return success();
  SmallVector<std::pair<int64_t, int64_t>> written;
  for (const Touch &other : writes[touch.extent.root])
    if (order.before(other.record, touch.record))
      written.push_back({other.extent.offset, other.extent.offset + alignUp(other.extent.bytes)});
  llvm::sort(written);
  int64_t end = touch.extent.offset;
  for (auto [first, last] : written)
    if (first <= end)
      end = std::max(end, last);
  if (end < touch.extent.end())
    return reader->emitOpError() << "byte " << end << " of a buffer is read before it is written";
  return success();
}

/// (V4) within one launch: only a result in place shares bytes with another buffer that is written.
LogicalResult Verifier::checkLaunch(LaunchOp launch, ArrayRef<Touch> own) {
  for (size_t i = 0; i < own.size(); ++i)
    for (size_t j = 0; j < own.size(); ++j) {
      if (i == j || !own[j].writes || !own[i].place.overlaps(own[j].place))
        continue;
      bool same =
          own[i].place.offset == own[j].place.offset && own[i].place.bytes == own[j].place.bytes;
      if (own[i].writes || !same ||
          !llvm::is_contained(getInPlacePairs(launch), InPlaceAttr::get(launch.getContext(), i, j)))
        return launch.emitOpError() << "buffers " << i << " and " << j << " of "
                                    << quote(own[i].record) << " share memory";
    }
  return success();
}

ArrayRef<Attribute> Verifier::getInPlacePairs(LaunchOp launch) {
  ArrayAttr pairs = symbols.lookup<KernelOp>(launch.getKernel()).getInPlaceAttr();
  return pairs ? pairs.getValue() : ArrayRef<Attribute>();
}

/// (V5) and (V7) for outputs, which are read when all records have run.
LogicalResult Verifier::checkOutputs() {
  for (auto [i, output] : llvm::enumerate(program.getOutput().getBuffers())) {
    Extent extent = getExtent(output);
    if (extent.space != Space::Arena)
      return program.getOutput().emitOpError() << "output " << i << " does not stand in the arena";
    SmallVector<std::pair<int64_t, int64_t>> written;
    for (const Touch &touch : writes[extent.root])
      written.push_back({touch.extent.offset, touch.extent.end()});
    llvm::sort(written);
    int64_t end = extent.offset;
    for (auto [first, last] : written)
      if (first <= end)
        end = std::max(end, last);
    if (end < extent.end())
      return program.getOutput().emitOpError() << "output " << i << " is not written";
  }
  return success();
}

//===------------------------------------------------------------------------------------------===//
// (V4) Sharing of the arena
//===------------------------------------------------------------------------------------------===//

/// True if every access to `a` has completed before any to `b` starts.
bool Verifier::endsBefore(AllocOp a, AllocOp b) {
  if (lifetimes.outputs.contains(a))
    return false;
  for (const RecordAccess &x : lifetimes.accesses[a])
    for (const RecordAccess &y : lifetimes.accesses[b])
      if (!order.before(x.record, y.record))
        return false;
  return true;
}

/// True if one launch reads `operand` for the last time and writes `result` for the first time, in
/// the same place, and its kernel allows that.
bool Verifier::isInPlace(AllocOp operand, AllocOp result) {
  const auto &reads = lifetimes.accesses[operand], &writes = lifetimes.accesses[result];
  if (reads.empty() || writes.empty() || operand.getOffset() != result.getOffset() ||
      operand.getType() != result.getType() || lifetimes.outputs.contains(operand))
    return false;
  unsigned at = writes.front().record;
  auto launch = dyn_cast<LaunchOp>(*getRecord(at));
  bool allowed = launch && llvm::any_of(getInPlacePairs(launch), [&](Attribute attribute) {
                   auto pair = cast<InPlaceAttr>(attribute);
                   return getExtent(launch.getBuffers()[pair.getOperand()]).root == operand &&
                          getExtent(launch.getBuffers()[pair.getResult()]).root == result;
                 });
  if (!allowed)
    return false;
  return llvm::all_of(
             reads,
             [&](const RecordAccess &x) { return x.record == at || order.before(x.record, at); }) &&
         llvm::all_of(writes, [&](const RecordAccess &y) {
           return y.record == at || order.before(at, y.record);
         });
}

/// Allocs are looked at in the order of their places, each beside those that begin before it ends.
LogicalResult Verifier::checkSharing() {
  if (!isPlaced)
    return success();
  SmallVector<std::pair<Extent, AllocOp>> allocs;
  for (auto alloc : program.getBlock().getOps<AllocOp>())
    allocs.push_back({getPlacedExtent(alloc), alloc});
  llvm::stable_sort(allocs, [](auto &a, auto &b) { return a.first.offset < b.first.offset; });
  SmallVector<std::pair<Extent, AllocOp>> open;
  for (auto &[place, b] : allocs) {
    llvm::erase_if(open, [&](auto &other) { return other.first.end() <= place.offset; });
    for (auto &[otherPlace, a] : open) {
      if (!place.overlaps(otherPlace) || endsBefore(a, b) || endsBefore(b, a) || isInPlace(a, b) ||
          isInPlace(b, a))
        continue;
      return (a.emitOpError() << "shares bytes with a buffer that lives at the same time")
                 .attachNote(b.getLoc())
             << "the other buffer";
    }
    open.push_back({place, b});
  }
  return success();
}

struct Verify : impl::VerifyBase<Verify> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    int64_t stateBytes = 0;
    for (auto variable : getOperation().getOps<VariableOp>())
      stateBytes = std::max<int64_t>(stateBytes, variable.getOffset() + variable.getBytes());
    for (auto program : getOperation().getOps<ProgramOp>())
      if (failed(Verifier(program, symbols, stateBytes).run()))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace dlc::exec
