//===- MemoryPasses.cpp - see MemoryPasses.h --------------------------------------------------===//
#include "codegen/Plan/MemoryPasses.h"
#include "codegen/Kernel/KernelSpec.h"
#include "dialects/DL/Facts/Rows.h"
#include "dialects/Exec/Memory.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;

namespace dlc::codegen {

namespace {
/// One buffer of a record.
struct Touched {
  exec::Extent extent;
  int64_t bytes;
  bool reads, writes;
};

/// One record: what it touches, and how many sums it waits for in its group.
struct Step {
  SmallVector<Touched> touched;
  int64_t sideBytes = 0; ///< of its phases beside the work itself
  bool isCopy = false, isProduct = false, isSum = false;
  bool endsPass = false; ///< who reads its results needs another pass
  int64_t pass = 0;
};

class PassCounter {
public:
  PassCounter(exec::ProgramOp program, const SymbolTable &symbols, int64_t mostRowBytes)
      : program(program), symbols(symbols), mostRowBytes(mostRowBytes) {}
  std::vector<MemoryPasses> run();

private:
  using Group = SmallVector<unsigned>;
  Step describe(exec::RecordOp record);
  void describeLaunch(exec::LaunchOp launch, Step &step);
  void findPasses(const Group &group);
  bool isNeededOutside(const exec::Extent &extent, const Group &group) const;
  int64_t leastOf(const Group &group) const;
  bool comesFromProduct(unsigned number, const exec::Extent &extent) const;
  int64_t behindProducts(const Group &group) const;

  exec::ProgramOp program;
  const SymbolTable &symbols;
  int64_t mostRowBytes;
  std::vector<Step> steps;
  /// By region, who reads and who writes what of it; outputs are read behind all steps.
  using Region = decltype(exec::Extent().getRegion());
  std::map<Region, SmallVector<std::pair<unsigned, exec::Extent>>> readers, writers;
};
} // namespace

static bool endsPass(const KernelSpec &spec, int64_t mostRowBytes) {
  switch (spec.anchor()) {
  case Anchor::Map:
    return false;
  case Anchor::Reduce:
  case Anchor::RowPasses:
    return !llvm::all_of(spec.reductions(), [&](dl::ReductionOp op) {
      return dl::cachedRowsOf(op, mostRowBytes).has_value();
    });
  default:
    return true;
  }
}

void PassCounter::describeLaunch(exec::LaunchOp launch, Step &step) {
  auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
  FailureOr<KernelSpec> spec = KernelSpec::get(kernel.getBody().front());
  if (failed(spec))
    return;
  step.isProduct = multipliesMuch(spec->anchor());
  step.isSum = spec->anchor() == Anchor::Reduce;
  step.endsPass = endsPass(*spec, mostRowBytes);
  const unsigned own = spec->operandTypes().size() + spec->resultTypes().size();
  for (auto [number, touched] : llvm::enumerate(step.touched))
    touched.bytes = number < own ? int64_t(spec->bytesOf(number)) : 0;
  if (ArrayAttr phases = kernel.getPhasesAttr()) {
    auto [first, end] = launch.getPhaseRange(kernel);
    for (Attribute phase : phases.getValue().slice(first, end - first))
      step.sideBytes += cast<exec::PhaseAttr>(phase).getSide();
  }
}

Step PassCounter::describe(exec::RecordOp record) {
  Step step;
  SmallVector<exec::BufferAccess> accesses;
  record.getAccesses(accesses);
  for (const exec::BufferAccess &access : accesses)
    step.touched.push_back({exec::getExtent(access.buffer), exec::getBytes(access.buffer),
                            access.reads, access.writes});
  if (auto launch = dyn_cast<exec::LaunchOp>(*record))
    describeLaunch(launch, step);
  else
    step.isCopy = true;
  return step;
}

/// A record's pass comes behind those of the sums that it waits for.
void PassCounter::findPasses(const Group &group) {
  for (auto [place, number] : llvm::enumerate(group))
    for (unsigned earlier : ArrayRef(group).take_front(place))
      for (const Touched &written : steps[earlier].touched)
        for (const Touched &read : steps[number].touched)
          if (written.writes && read.reads && written.extent.overlaps(read.extent))
            steps[number].pass =
                std::max(steps[number].pass, steps[earlier].pass + steps[earlier].endsPass);
}

bool PassCounter::isNeededOutside(const exec::Extent &extent, const Group &group) const {
  if (extent.space == exec::Space::State)
    return true;
  auto found = readers.find(extent.getRegion());
  return found != readers.end() && llvm::any_of(found->second, [&](const auto &reader) {
           return !llvm::is_contained(group, reader.first) && extent.overlaps(reader.second);
         });
}

int64_t PassCounter::leastOf(const Group &group) const {
  int64_t least = 0;
  auto touchesBefore = [&](size_t place, const Touched &touched, auto accept) {
    return llvm::any_of(ArrayRef(group).take_front(place), [&](unsigned earlier) {
      return steps[earlier].pass == steps[group[place]].pass &&
             llvm::any_of(steps[earlier].touched, [&](const Touched &other) {
               return accept(other) && other.extent.overlaps(touched.extent);
             });
    });
  };
  auto isReadLater = [&](size_t place, const Touched &touched) {
    return llvm::any_of(ArrayRef(group).drop_front(place + 1), [&](unsigned later) {
      return steps[later].pass > steps[group[place]].pass &&
             llvm::any_of(steps[later].touched, [&](const Touched &other) {
               return other.reads && other.extent.overlaps(touched.extent);
             });
    });
  };
  for (auto [place, number] : llvm::enumerate(group)) {
    if (steps[number].isCopy)
      continue;
    for (const Touched &touched : steps[number].touched) {
      // Read or written in this pass before, it is at hand.
      if (touched.reads &&
          !touchesBefore(place, touched, [](const Touched &other) { return other.bytes != 0; }))
        least += touched.bytes;
      if (touched.writes && (isNeededOutside(touched.extent, group) || isReadLater(place, touched)))
        least += touched.bytes;
    }
  }
  return least;
}

/// Whether what step `number` reads is what a product has written.
bool PassCounter::comesFromProduct(unsigned number, const exec::Extent &extent) const {
  auto found = writers.find(extent.getRegion());
  if (found == writers.end())
    return false;
  for (const auto &[writer, written] : llvm::reverse(found->second))
    if (writer < number && extent.overlaps(written))
      return steps[writer].isProduct;
  return false;
}

int64_t PassCounter::behindProducts(const Group &group) const {
  int64_t bytes = 0;
  for (unsigned number : group)
    for (const Touched &touched : steps[number].touched)
      if (steps[number].isSum && touched.reads && comesFromProduct(number, touched.extent))
        bytes += touched.bytes;
  return bytes;
}

std::vector<MemoryPasses> PassCounter::run() {
  llvm::MapVector<StringRef, Group> groups;
  for (auto record : program.getBlock().getOps<exec::RecordOp>()) {
    if (isa<exec::RecordEventOp, exec::WaitEventOp, exec::AllReduceOp>(*record))
      continue;
    groups[exec::getRecordName(record->getLoc())].push_back(steps.size());
    steps.push_back(describe(record));
    for (const Touched &touched : steps.back().touched) {
      if (touched.reads)
        readers[touched.extent.getRegion()].push_back({steps.size() - 1, touched.extent});
      if (touched.writes)
        writers[touched.extent.getRegion()].push_back({steps.size() - 1, touched.extent});
    }
  }
  for (Value output : cast<exec::OutputOp>(program.getBlock().back()).getBuffers())
    readers[exec::getExtent(output).getRegion()].push_back({steps.size(), exec::getExtent(output)});
  std::vector<MemoryPasses> all;
  for (const auto &[name, group] : groups) {
    if (llvm::any_of(group, [&](unsigned number) { return steps[number].isProduct; }))
      continue;
    auto [layer, stage] = name.split('/');
    MemoryPasses &passes =
        all.emplace_back(MemoryPasses{layer.str(), stage.empty() ? "forward" : stage.str()});
    passes.records = int64_t(group.size());
    for (unsigned number : group) {
      passes.bytes += steps[number].sideBytes;
      for (const Touched &touched : steps[number].touched)
        passes.bytes += touched.bytes;
    }
    findPasses(group);
    passes.least = leastOf(group);
    passes.behindProducts = behindProducts(group);
  }
  return all;
}

std::vector<MemoryPasses> countMemoryPasses(exec::ProgramOp program, const SymbolTable &symbols,
                                            int64_t mostRowBytes) {
  return PassCounter(program, symbols, mostRowBytes).run();
}

} // namespace dlc::codegen
