//===- Memory.cpp - which bytes a buffer of a program stands for ------------------------------===//
#include "dialects/Exec/Memory.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

using namespace mlir;

namespace dlc::exec {

int64_t getBytes(Value buffer) { return cast<BufferType>(buffer.getType()).getBytes(); }

int64_t getStateBytes(ModuleOp module) {
  auto said = module->getAttrOfType<IntegerAttr>(stateBytesName);
  int64_t bytes = said ? said.getInt() : 0;
  for (auto variable : module.getOps<VariableOp>())
    bytes = std::max<int64_t>(bytes, alignUp(variable.getOffset() + variable.getBytes()));
  return bytes;
}

Extent getExtent(Value buffer) {
  int64_t bytes = getBytes(buffer), offset = 0;
  Operation *op = buffer.getDefiningOp();
  while (auto view = dyn_cast<ViewOp>(op)) {
    offset += view.getOffset();
    op = view.getSource().getDefiningOp();
  }
  return TypeSwitch<Operation *, Extent>(op)
      .Case([&](StateOp state) {
        return Extent{Space::State, nullptr, 0, offset + static_cast<int64_t>(state.getOffset()),
                      bytes};
      })
      .Case([&](InputOp input) {
        return Extent{Space::Input, nullptr, static_cast<int64_t>(input.getNumber()), offset,
                      bytes};
      })
      .Case([&](ScalarOp scalar) {
        return Extent{Space::Scalars, nullptr, 0, offset + static_cast<int64_t>(scalar.getOffset()),
                      bytes};
      })
      .Case([&](ConstantOp) { return Extent{Space::Constant, op, 0, offset, bytes}; })
      .Default([&](Operation *) { return Extent{Space::Arena, op, 0, offset, bytes}; });
}

Extent getPlacedExtent(Value buffer) {
  Extent extent = getExtent(buffer);
  if (extent.space != Space::Arena)
    return extent;
  extent.offset += *cast<AllocOp>(extent.root).getOffset();
  extent.root = nullptr;
  return extent;
}

llvm::DenseSet<Operation *> findUsedVariables(ProgramOp program, ModuleOp module) {
  // The end of each piece of the state by its begin, of several that begin there the last.
  std::map<int64_t, int64_t> touched;
  for (auto state : program.getBlock().getOps<StateOp>()) {
    const Extent extent = getExtent(state.getResult());
    int64_t &end = touched[extent.offset];
    end = std::max(end, extent.end());
  }
  int64_t before = 0; // what begins earlier may end later
  for (auto &[begin, end] : touched)
    before = end = std::max(end, before);
  llvm::DenseSet<Operation *> used;
  for (auto variable : module.getOps<VariableOp>()) {
    const int64_t begin = variable.getOffset(), end = begin + int64_t(variable.getBytes());
    auto behind = touched.lower_bound(end);
    if (behind != touched.begin() && std::prev(behind)->second > begin)
      used.insert(variable);
  }
  return used;
}

StringRef getRecordName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName();
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return getRecordName(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = getRecordName(part); !name.empty())
        return name;
  return "";
}

} // namespace dlc::exec
