//===- StateLayout.cpp - places of variables in the state -------------------------------------===//
#include "passes/Conversion/StateLayout.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "dialects/Exec/Memory.h"
#include "dialects/Program/Layout.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dlc {

Value skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<dl::ReshapeOp>())
    value = reshape.getX();
  return value;
}

StringRef getReadVariable(Value value) {
  auto read = skipReshapes(value).getDefiningOp<dl::ReadOp>();
  return read ? read.getVariable() : StringRef();
}

/// What is reduced over ranks is so where it lies.
static Value skipReductions(Value value) {
  value = skipReshapes(value);
  while (auto reduced = value.getDefiningOp<dl::AllReduceOp>())
    value = skipReshapes(reduced.getXs()[cast<OpResult>(value).getResultNumber()]);
  return value;
}

/// The variables that stream number `stream` of `op` reads; empty if one of its tensors is not a
/// variable.
static SmallVector<StringRef> getStreamVariables(dl::MultiTensorOp op, int64_t stream) {
  SmallVector<StringRef> variables;
  for (int64_t i = 0; i < op.getCount(); ++i) {
    StringRef variable = getReadVariable(skipReductions(op.getTensor(stream, i)));
    if (variable.empty())
      return {};
    variables.push_back(variable);
  }
  return variables;
}

/// The variables that run number `run` of the results of `op` is assigned to; empty if one of them
/// is not.
static SmallVector<StringRef> getAssignedVariables(dl::MultiTensorOp op, int64_t run) {
  SmallVector<StringRef> variables;
  for (int64_t i = 0; i < op.getCount(); ++i)
    for (Operation *user : op.getResultTensor(run, i).getUsers())
      if (auto assign = dyn_cast<dl::AssignOp>(user)) {
        variables.push_back(assign.getVariable());
        break;
      }
  return int64_t(variables.size()) == op.getCount() ? variables : SmallVector<StringRef>();
}

StateLayout::StateLayout(ModuleOp module) {
  module.walk([&](dl::MultiTensorOp op) {
    for (int64_t stream = 0; stream < static_cast<int64_t>(op.getStreams()); ++stream)
      placeStream(FlatBuffer(FlatLayout(op), op.getStreamElements()[stream]),
                  getStreamVariables(op, stream));
  });
  // What an update gives without reading it: copies of parameters in another type.
  module.walk([&](dl::MultiTensorOp op) {
    for (auto [run, element] : llvm::enumerate(op.getResultElements()))
      placeStream(FlatBuffer(FlatLayout(op), element), getAssignedVariables(op, int64_t(run)));
  });
  for (auto variable : module.getOps<dl::VariableOp>())
    if (!offsets.count(variable.getSymName()))
      place(variable.getSymName(), program::storageBytes(variable.getTensorType()));
}

void StateLayout::place(StringRef variable, int64_t bytes) {
  offsets[variable] = total;
  total += exec::alignUp(bytes);
}

/// Places all of `variables` one after the other, or none if one of them has its place already or
/// stands twice.
void StateLayout::placeStream(const FlatBuffer &flat, ArrayRef<StringRef> variables) {
  llvm::StringSet<> seen;
  for (StringRef variable : variables)
    if (offsets.count(variable) || !seen.insert(variable).second)
      return;
  for (auto [variable, offset] : llvm::zip(variables, flat.offsets))
    offsets[variable] = total + offset;
  if (!variables.empty())
    total += flat.total;
}

StringRef StateLayout::findFlat(ArrayRef<StringRef> variables, const FlatBuffer &flat) const {
  if (variables.empty() || llvm::is_contained(variables, ""))
    return "";
  for (auto [variable, offset] : llvm::zip(variables, flat.offsets))
    if (getOffset(variable) - getOffset(variables.front()) != offset)
      return "";
  return variables.front();
}

} // namespace dlc
