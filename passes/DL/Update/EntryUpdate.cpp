//===- EntryUpdate.cpp - variables and scalars of an entry while its update is built ----------===//
#include "passes/DL/Update/EntryUpdate.h"
#include "dialects/DL/Ops/DLUpdateOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

SmallVector<Value> ParameterGroup::gradients() const {
  return forEach([](const UpdatedParameter &each) { return each.gradient; });
}

Type dlc::dl::computedElement(VariableOp parameter) {
  Type element = parameter.getTensorType().getElementType();
  return element.isFloat(16) ? Builder(element.getContext()).getF32Type() : element;
}

Value EntryUpdate::read(VariableOp variable) {
  auto [place, isNew] = readsOf.try_emplace(&entry.getBlock());
  Reads &reads = place->second;
  if (isNew)
    for (ReadOp read : entry.getBlock().getOps<ReadOp>()) {
      reads.byVariable.try_emplace(read.getVariableAttr().getAttr(), read);
      reads.last = read;
    }
  ReadOp &read = reads.byVariable[variable.getSymNameAttr()];
  if (read)
    return read.getResult();
  OpBuilder::InsertionGuard guard(builder);
  if (reads.last)
    builder.setInsertionPointAfter(reads.last);
  else
    builder.setInsertionPointToStart(&entry.getBlock());
  reads.last = read =
      ReadOp::create(builder, variable.getLoc(), variable.getTensorType(), variable.getSymName());
  return read.getResult();
}

void EntryUpdate::assign(VariableOp variable, Value value) {
  AssignOp::create(builder, variable.getLoc(), variable.getSymName(), value);
}

VariableOp EntryUpdate::createSlot(VariableOp parameter, StringRef kind,
                                   program::InitialiserAttr first) {
  std::string name = (parameter.getSymName() + "." + kind).str();
  if (symbols.lookup(name))
    name += ("_" + entry.getSymName()).str();
  OpBuilder::InsertionGuard guard(builder);
  Operation *last = parameter;
  while (auto next = dyn_cast_or_null<VariableOp>(last->getNextNode())) {
    if (next.getOf() != parameter.getSymName())
      break;
    last = next;
  }
  builder.setInsertionPointAfter(last);
  RankedTensorType type = parameter.getTensorType().clone(computedElement(parameter));
  auto slot = VariableOp::create(builder, parameter.getLoc(), name, type, program::Role::Slot,
                                 first, FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
  symbols.insert(slot);
  return slot;
}

VariableOp EntryUpdate::averageOf(VariableOp parameter) {
  VariableOp &average = averages[parameter.getSymName()];
  if (!average)
    average = createSlot(
        parameter, "ema",
        program::InitialiserAttr::get(builder.getContext(), program::InitialiserKind::Copy, 0));
  return average;
}

Value EntryUpdate::scalar(const Twine &name, double value, bool scheduled, Type type) {
  return ScalarOp::create(builder, place("update"), RankedTensorType::get({}, type ? type : real),
                          builder.getStringAttr(name), builder.getF64FloatAttr(value),
                          scheduled ? builder.getUnitAttr() : UnitAttr());
}

Value EntryUpdate::step() {
  return ScalarOp::create(builder, place("update"), RankedTensorType::get({}, builder.getI64Type()),
                          builder.getStringAttr("step"), builder.getF64FloatAttr(0), UnitAttr());
}

void EntryUpdate::check(Value numbers) {
  std::string name = prefix() + "clip.squares";
  if (++checks > 1)
    name += std::to_string(checks);
  entry.addOutput(numbers, name, program::ValueKind::Check);
}

Location EntryUpdate::place(StringRef part) {
  return NameLoc::get(builder.getStringAttr("optimizer/" + part), entry.getLoc());
}

std::string EntryUpdate::prefix() {
  return entry.getSymName() == "train_step" ? "" : (entry.getSymName() + ".").str();
}
