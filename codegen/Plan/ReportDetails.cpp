//===- ReportDetails.cpp - what pictures of a compiled model need -----------------------------===//
#include "codegen/Plan/ReportDetails.h"
#include "dialects/Exec/Memory.h"
#include "passes/Exec/HappensBefore.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
namespace json = llvm::json;

namespace dlc::codegen {

static std::pair<StringRef, StringRef> splitName(exec::RecordOp record) {
  auto [layer, stage] = exec::getRecordName(record->getLoc()).split('/');
  return {layer, stage.empty() ? StringRef("forward") : stage};
}

static SmallVector<exec::BufferAccess> accessesOf(exec::RecordOp record) {
  SmallVector<exec::BufferAccess> accesses;
  record.getAccesses(accesses);
  return accesses;
}

static json::Array buildSeconds(exec::ProgramOp program, const SymbolTable &symbols) {
  json::Array seconds;
  for (auto record : program.getBlock().getOps<exec::RecordOp>()) {
    if (isa<exec::RecordEventOp, exec::WaitEventOp>(*record))
      continue;
    auto launch = dyn_cast<exec::LaunchOp>(*record);
    seconds.push_back(launch ? launch.getSeconds(symbols.lookup<exec::KernelOp>(launch.getKernel()))
                             : 0.0);
  }
  return seconds;
}

namespace {
/// What was last written where, and by which layer.
class Writers {
public:
  void write(const exec::Extent &extent, StringRef layer) {
    auto &pieces = regions[extent.getRegion()];
    llvm::erase_if(pieces, [&](const auto &piece) {
      return piece.first.offset >= extent.offset && piece.first.end() <= extent.end();
    });
    pieces.emplace_back(extent, layer);
  }
  using Edges = llvm::MapVector<std::pair<StringRef, StringRef>, int64_t>;
  /// Adds the bytes that a layer reads of others.
  void addReaders(const exec::Extent &extent, StringRef layer, Edges &edges) {
    for (const auto &[piece, writer] : regions[extent.getRegion()])
      if (piece.overlaps(extent) && writer != layer)
        edges[{writer, layer}] +=
            std::min(piece.end(), extent.end()) - std::max(piece.offset, extent.offset);
  }

private:
  std::map<std::tuple<exec::Space, Operation *, int64_t>,
           std::vector<std::pair<exec::Extent, StringRef>>>
      regions;
};
} // namespace

static json::Array buildEdges(exec::ProgramOp program) {
  Writers writers;
  std::vector<std::string> inputs;
  inputs.reserve(program.getInputs().size());
  for (auto [number, input] : llvm::enumerate(program.getInputs().getAsRange<exec::ValueAttr>())) {
    inputs.push_back("input:" + input.getName().str());
    writers.write({exec::Space::Input, nullptr, int64_t(number), 0, int64_t(1) << 62},
                  inputs.back());
  }
  Writers::Edges edges;
  for (auto record : program.getBlock().getOps<exec::RecordOp>()) {
    auto [layer, stage] = splitName(record);
    const auto accesses = accessesOf(record);
    for (const exec::BufferAccess &access : accesses)
      if (access.reads && stage == "forward")
        writers.addReaders(exec::getExtent(access.buffer), layer, edges);
    for (const exec::BufferAccess &access : accesses)
      if (access.writes)
        writers.write(exec::getExtent(access.buffer), layer);
  }
  json::Array rows;
  for (const auto &[ends, bytes] : edges)
    rows.push_back(json::Array{ends.first.str(), ends.second.str(), bytes});
  return rows;
}

namespace {
/// What is known of a buffer before it is placed in time.
struct Holder {
  exec::AllocOp alloc;
  StringRef layer, stage;
  llvm::SmallSetVector<StringRef, 4> writers; ///< layers
  bool isWorkspace = true, isReadBackward = false, isReadByUpdate = false;
  unsigned first = 0, end = 0;

  StringRef kind() const {
    if (isWorkspace)
      return "workspace";
    if (stage == "forward")
      return isReadBackward ? "kept" : "passing";
    if (!stage.starts_with("backward"))
      return "other";
    return isReadByUpdate ? "parameter-gradient" : "gradient";
  }
};
} // namespace

static void observe(Holder &holder, exec::RecordOp record, const exec::BufferAccess &access,
                    bool isWorkspace) {
  auto [layer, stage] = splitName(record);
  holder.isWorkspace &= isWorkspace;
  if (access.writes)
    holder.writers.insert(layer);
  if (access.writes && holder.stage.empty()) {
    holder.layer = layer;
    holder.stage = stage;
  }
  if (access.reads) {
    holder.isReadBackward |= stage.starts_with("backward");
    holder.isReadByUpdate |= stage.starts_with("update") || isa<exec::AllReduceOp>(*record);
  }
}

/// What takes the place of another in the kernel that reads the one and writes the other counts
/// from there on alone.
static void endWhereOthersBegin(MutableArrayRef<Holder> holders) {
  std::map<std::pair<int64_t, unsigned>, unsigned> begins;
  for (auto [i, holder] : llvm::enumerate(holders))
    begins[{int64_t(*holder.alloc.getOffset()), holder.first}] = i;
  for (Holder &holder : holders) {
    auto next = begins.find({int64_t(*holder.alloc.getOffset()), holder.end - 1});
    if (holder.end > holder.first + 1 && next != begins.end())
      --holder.end;
  }
}

static json::Array buildHolders(exec::ProgramOp program, const SymbolTable &symbols) {
  const exec::HappensBefore order(program);
  auto lifetimes = exec::findLifetimes(program, order);
  const auto numRecords = static_cast<unsigned>(order.getRecords().size());
  std::vector<Holder> holders;
  llvm::DenseMap<Operation *, unsigned> places;
  for (auto alloc : program.getBlock().getOps<exec::AllocOp>()) {
    const exec::Lifetime &lifetime = lifetimes[alloc];
    if (lifetime.accesses.empty())
      continue;
    places[alloc] = holders.size();
    Holder &holder = holders.emplace_back();
    holder.alloc = alloc;
    holder.first = lifetime.getFirst();
    holder.end = std::min(lifetime.getEnd(), numRecords);
  }
  for (auto record : program.getBlock().getOps<exec::RecordOp>()) {
    auto launch = dyn_cast<exec::LaunchOp>(*record);
    const unsigned own =
        launch ? symbols.lookup<exec::KernelOp>(launch.getKernel()).getNumBuffers() : ~0u;
    for (auto [number, access] : llvm::enumerate(accessesOf(record))) {
      const exec::Extent extent = exec::getExtent(access.buffer);
      if (extent.space == exec::Space::Arena)
        observe(holders[places.lookup(extent.root)], record, access, number >= own);
    }
  }
  endWhereOthersBegin(holders);
  json::Array rows;
  for (Holder &holder : holders)
    rows.push_back(json::Object{{"layer", holder.layer.str()},
                                {"stage", holder.stage.str()},
                                {"layers", int64_t(holder.writers.size())},
                                {"kind", holder.kind().str()},
                                {"bytes", exec::alignUp(exec::getBytes(holder.alloc.getBuffer()))},
                                {"offset", int64_t(*holder.alloc.getOffset())},
                                {"first", int64_t(holder.first)},
                                {"end", int64_t(holder.end)}});
  return rows;
}

json::Array buildReportDetails(ModuleOp module) {
  const SymbolTable symbols(module);
  json::Array entries;
  for (auto program : module.getOps<exec::ProgramOp>()) {
    const auto records = program.getBlock().getOps<exec::RecordOp>();
    entries.push_back(
        json::Object{{"seconds", buildSeconds(program, symbols)},
                     {"edges", buildEdges(program)},
                     {"holders", buildHolders(program, symbols)},
                     {"records", int64_t(std::distance(records.begin(), records.end()))}});
  }
  return entries;
}

} // namespace dlc::codegen
