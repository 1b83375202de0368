//===- Verify.cpp - proves that a plan is ordered ---------------------------------------------===//
//
// See Passes.td for the list of what is checked. Shares with the planning passes only the
// definitions of happens-before and of a conflict; test/passes/Exec/MutationTest.cpp holds both
// against runs in other orders.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/Exec/Memory.h"
#include "passes/Exec/Bytes.h"
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
        lifetimes(findLifetimes(program, order)) {
    for (auto alloc : program.getBlock().getOps<AllocOp>())
      isPlaced |= alloc.getOffsetAttr() != nullptr;
  }

  LogicalResult run() {
    if (failed(checkEvents()) || failed(checkBuffers()) || failed(checkCollectives()))
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
  LogicalResult checkCollectives();
  LogicalResult checkRecord(RecordOp record, unsigned number);
  LogicalResult checkOrder(const Touch &touch);
  LogicalResult checkWritten(const Touch &touch, Operation *reader);
  LogicalResult checkLaunch(LaunchOp launch, ArrayRef<Touch> own);
  LogicalResult checkOutputs();
  LogicalResult checkSharing();
  bool isInPlace(AllocOp operand, AllocOp result);
  ArrayRef<Attribute> getInPlacePairs(LaunchOp launch);

  ProgramOp program;
  SymbolTable &symbols;
  int64_t stateBytes;
  HappensBefore order;
  llvm::DenseMap<Operation *, Lifetime> lifetimes;
  bool isPlaced = false;
  /// Of the records checked so far, by region.
  RegionHistory history;
  llvm::DenseMap<Operation *, ByteSet> written; ///< of each exec.alloc
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
    if (Extent extent = getExtent(state); extent.end() > stateBytes)
      return state.emitOpError() << "ends at byte " << extent.end() << " of a state of "
                                 << stateBytes;
  llvm::DenseMap<int64_t, Type> inputs;
  for (auto input : program.getBlock().getOps<InputOp>())
    if (inputs.try_emplace(input.getNumber(), input.getType()).first->second != input.getType())
      return input.emitOpError() << "has another size elsewhere in @" << program.getSymName();
  return success();
}

/// (V8)
LogicalResult Verifier::checkCollectives() {
  llvm::DenseMap<int64_t, unsigned> last; ///< by channel
  for (auto [i, record] : llvm::enumerate(order.getRecords())) {
    auto collective = dyn_cast<AllReduceOp>(*record);
    if (!collective)
      continue;
    auto [known, isFirst] = last.try_emplace(collective.getChannel(), i);
    unsigned before = std::exchange(known->second, i);
    if (!isFirst && !order.before(before, i))
      return (collective.emitOpError()
              << quote(i) << " and " << quote(before) << " are collectives of channel "
              << collective.getChannel()
              << ", but nothing orders them: ranks may issue them in different orders")
                 .attachNote(getRecord(before)->getLoc())
             << quote(before) << " is here";
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
  for (const Touch &touch : own)
    if (touch.writes && touch.extent.space == Space::Arena)
      written[touch.extent.root].add({touch.extent.offset, touch.extent.end()});
  return success();
}

/// (V3)
LogicalResult Verifier::checkOrder(const Touch &touch) {
  const Extent &place = touch.place;
  std::optional<unsigned> unordered;
  history[place.getRegion()].touch(touch.record, {place.offset, place.end()}, touch.writes,
                                   [&](unsigned other) {
                                     if (!order.before(other, touch.record))
                                       unordered = other;
                                   });
  if (!unordered)
    return success();
  return (getRecord(touch.record)->emitOpError()
          << quote(touch.record) << " touches bytes of " << quote(*unordered)
          << ", but nothing orders them")
             .attachNote(getRecord(*unordered)->getLoc())
         << quote(*unordered) << " is here";
}

/// (V5) `touch` may read what records before it have written into the same buffer: all of them are
/// ordered (V3). A record that writes a tensor owns the bytes up to the next multiple at which one
/// may begin: the gap behind a tensor in a flat buffer is never looked at.
LogicalResult Verifier::checkWritten(const Touch &touch, Operation *reader) {
  if (touch.extent.space != Space::Arena)
    return success();
  ByteRange bytes(touch.extent.offset, touch.extent.end());
  int64_t missing = written[touch.extent.root].findMissing(bytes, getStep(touch.extent));
  if (missing < bytes.second)
    return reader->emitOpError() << "byte " << missing
                                 << " of a buffer is read before it is written";
  return success();
}

/// (V4) within one launch: only a result in place shares bytes with another buffer that is written.
LogicalResult Verifier::checkLaunch(LaunchOp launch, ArrayRef<Touch> own) {
  auto pairs = getInPlacePairs(launch);
  auto mayShare = [&](unsigned a, unsigned b) {
    return !own[a].writes && own[a].place.offset == own[b].place.offset &&
           own[a].place.bytes == own[b].place.bytes &&
           llvm::is_contained(pairs, InPlaceAttr::get(launch.getContext(), a, b));
  };
  SmallVector<unsigned> sorted = llvm::to_vector(llvm::seq<unsigned>(own.size()));
  llvm::sort(sorted, [&](unsigned a, unsigned b) {
    return std::pair(own[a].place.offset, a) < std::pair(own[b].place.offset, b);
  });
  for (auto [at, i] : llvm::enumerate(sorted))
    for (unsigned j : ArrayRef(sorted).drop_front(at + 1)) {
      if (own[j].place.offset >= own[i].place.end())
        break;
      if ((own[i].writes || own[j].writes) && own[i].place.overlaps(own[j].place) &&
          !mayShare(i, j) && !mayShare(j, i))
        return launch.emitOpError() << "buffers " << std::min(i, j) << " and " << std::max(i, j)
                                    << " of " << quote(own[i].record) << " share memory";
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
    ByteRange bytes(extent.offset, extent.end());
    if (written[extent.root].findMissing(bytes) < bytes.second)
      return program.getOutput().emitOpError() << "output " << i << " is not written";
  }
  return success();
}

//===------------------------------------------------------------------------------------------===//
// (V4) Sharing of the arena
//===------------------------------------------------------------------------------------------===//

/// True if one launch reads `operand` for the last time and writes `result` for the first time, in
/// the same place, and its kernel allows that.
bool Verifier::isInPlace(AllocOp operand, AllocOp result) {
  const Lifetime &reads = lifetimes[operand], &writes = lifetimes[result];
  if (reads.accesses.empty() || writes.accesses.empty() ||
      operand.getOffset() != result.getOffset() || operand.getType() != result.getType())
    return false;
  unsigned at = writes.accesses.front();
  auto launch = dyn_cast<LaunchOp>(*getRecord(at));
  bool allowed = launch && llvm::any_of(getInPlacePairs(launch), [&](Attribute attribute) {
                   auto pair = cast<InPlaceAttr>(attribute);
                   return getExtent(launch.getBuffers()[pair.getOperand()]).root == operand &&
                          getExtent(launch.getBuffers()[pair.getResult()]).root == result;
                 });
  return allowed && reads.endsWith(at, order) && writes.startsWith(at, order);
}

/// Allocs are looked at in the order of their first access, each beside those that had its bytes
/// last: those that had them before end before those.
LogicalResult Verifier::checkSharing() {
  if (!isPlaced)
    return success();
  SmallVector<AllocOp> allocs(program.getBlock().getOps<AllocOp>());
  SmallVector<std::pair<unsigned, unsigned>> sorted;
  for (auto [i, alloc] : llvm::enumerate(allocs))
    sorted.emplace_back(lifetimes[alloc].getFirst(), i);
  llvm::sort(sorted);
  ByteHistory owners;
  for (auto [first, i] : sorted) {
    AllocOp b = allocs[i], other;
    Extent place = getPlacedExtent(b);
    owners.touch(i, {place.offset, place.end()}, /*writes=*/true, [&](unsigned number) {
      AllocOp a = allocs[number];
      if (!lifetimes[a].endsBefore(lifetimes[b]) && !isInPlace(a, b))
        other = a;
    });
    if (other)
      return (other.emitOpError() << "shares bytes with a buffer that lives at the same time")
                 .attachNote(b.getLoc())
             << "the other buffer";
  }
  return success();
}

struct Verify : impl::VerifyBase<Verify> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    const int64_t stateBytes = getStateBytes(getOperation());
    for (auto program : getOperation().getOps<ProgramOp>())
      if (failed(Verifier(program, symbols, stateBytes).run()))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace dlc::exec
