//===- Simulator.cpp - runs a program on marked memory ----------------------------------------===//
#include "test/passes/Exec/Simulator.h"
#include "dialects/Exec/Memory.h"
#include <map>
#include <random>
#include <set>

using namespace mlir;
using namespace dlc::exec;

namespace dlc::test {

namespace {
class Simulator {
public:
  Simulator(ProgramOp program, bool placed)
      : program(program), placed(placed), symbols(program->getParentOp()) {
    for (auto record : program.getBlock().getOps<RecordOp>())
      records.push_back(record);
    seen.resize(records.size() + 1);
  }

  void runRecord(size_t number) {
    SmallVector<BufferAccess> accesses;
    records[number].getAccesses(accesses);
    // A workspace is written before it is read within the launch: what was there does not matter.
    size_t listed = accesses.size();
    if (auto launch = dyn_cast<LaunchOp>(*records[number]))
      listed = symbols.lookup<KernelOp>(launch.getKernel()).getNumBuffers();
    for (size_t i = 0; i < listed; ++i)
      if (accesses[i].reads)
        observe(accesses[i].buffer, seen[number]);
    for (const BufferAccess &access : accesses)
      if (access.writes)
        forEachCell(access.buffer, [&](int64_t &cell) { cell = number; });
  }

  Observations finish() {
    for (Value output : program.getOutput().getBuffers())
      observe(output, seen.back());
    return seen;
  }

  SmallVector<RecordOp> records;

private:
  template <typename Visit> void forEachCell(Value buffer, Visit visit) {
    Extent extent = placed ? getPlacedExtent(buffer) : getExtent(buffer);
    for (int64_t cell = extent.offset / alignment; cell * alignment < extent.offset + extent.bytes;
         ++cell)
      visit(memory.try_emplace({extent.space, extent.root, cell}, -1).first->second);
  }

  void observe(Value buffer, std::vector<int64_t> &marks) {
    forEachCell(buffer, [&](int64_t &cell) { marks.push_back(cell); });
  }

  ProgramOp program;
  bool placed;
  SymbolTable symbols;
  std::map<std::tuple<Space, Operation *, int64_t>, int64_t> memory;
  Observations seen;
};
} // namespace

Observations runInOrder(ProgramOp program) {
  Simulator simulator(program, /*placed=*/false);
  for (size_t i = 0; i < simulator.records.size(); ++i)
    simulator.runRecord(i);
  return simulator.finish();
}

Observations runShuffled(ProgramOp program, unsigned seed) {
  Simulator simulator(program, /*placed=*/true);
  std::mt19937 random(seed);
  std::map<int64_t, std::vector<size_t>> streams; // what is left of each, last first
  for (size_t i = simulator.records.size(); i-- > 0;)
    streams[simulator.records[i].getStreamNumber()].push_back(i);
  std::set<int64_t> completed;
  while (!streams.empty()) {
    auto stream = std::next(streams.begin(),
                            std::uniform_int_distribution<size_t>(0, streams.size() - 1)(random));
    RecordOp record = simulator.records[stream->second.back()];
    auto wait = dyn_cast<WaitEventOp>(*record);
    if (wait && !completed.count(wait.getEvent()))
      continue;
    if (auto event = dyn_cast<RecordEventOp>(*record))
      completed.insert(event.getEvent());
    simulator.runRecord(stream->second.back());
    stream->second.pop_back();
    if (stream->second.empty())
      streams.erase(stream);
  }
  return simulator.finish();
}

} // namespace dlc::test
