//===- Memory.cpp - which bytes a buffer of a program stands for ------------------------------===//
#include "dialects/Exec/Memory.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc::exec {

int64_t getBytes(Value buffer) { return cast<BufferType>(buffer.getType()).getBytes(); }

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

bool usesVariable(ProgramOp program, VariableOp variable) {
  const int64_t begin = variable.getOffset(), end = begin + int64_t(variable.getBytes());
  return llvm::any_of(program.getBlock().getOps<StateOp>(), [&](StateOp state) {
    Extent extent = getExtent(state.getResult());
    return extent.offset < end && begin < extent.end();
  });
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
