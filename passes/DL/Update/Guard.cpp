//===- Guard.cpp - what an update counts that overflows may leave out -------------------------===//
//
//   @loss_scale          twice as large behind 2,000 updates in a row, half behind one left out
//   @loss_scale.updates  how many in a row there were
//   @loss_scale.skipped  how many were left out
//
// The factors are those of PyTorch's GradScaler; a scale that is a number stays.
//
// What overflows before the loss does not reach statistics and states either: elements that would
// not be finite stay as they are.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/DL/Precision/LossScale.h"
#include "passes/DL/Update/EntryUpdate.h"
#include <limits>

using namespace mlir;
using namespace dlc::dl;

static constexpr int64_t updatesToGrow = 2000;
static constexpr double most = 0x1p127, least = 0x1p-100;

VariableOp EntryUpdate::guardCounter(StringRef word) {
  std::string name = prefix() + "loss_scale." + word.str();
  for (; Operation *known = symbols.lookup(name); name += "_")
    if (auto counter = dyn_cast<VariableOp>(known);
        counter && counter.getRole() == program::Role::Counter)
      return counter;
  return createCounter(entry, symbols, name, builder.getI64Type(), 0);
}

Value dlc::dl::isFinite(TensorBuilder &b, Value squares) {
  return b.compare(Predicate::LE, squares,
                   b.splatLike(squares, std::numeric_limits<double>::max()));
}

/// Whether each element of `x` is.
static Value areFinite(TensorBuilder &b, Value x) {
  const auto &semantics = cast<FloatType>(getElementTypeOrSelf(x)).getFloatSemantics();
  return b.compare(Predicate::LE, b.abs(x),
                   b.splatLike(x, APFloat::getLargest(semantics).convertToDouble()));
}

void dlc::dl::keepFinite(EntryUpdate &update) {
  if (!update.lossScale)
    return;
  for (AssignOp assign : update.entry.getBlock().getOps<AssignOp>()) {
    auto variable = update.symbols.lookup<VariableOp>(assign.getVariable());
    const program::Role role = variable.getRole();
    Value after = assign.getValue();
    if ((role != program::Role::Statistic && role != program::Role::State) ||
        !isa<FloatType>(getElementTypeOrSelf(after)))
      continue;
    OpBuilder builder(assign);
    TensorBuilder b{builder, assign.getLoc()};
    Value kept = b.select(areFinite(b, after), after, update.read(variable));
    assign.getValueMutable().assign(kept);
  }
}

void dlc::dl::countGuarded(EntryUpdate &update) {
  if (!update.squares)
    return;
  TensorBuilder b{update.builder, update.place("loss_scale")};
  Value isGood = isFinite(b, update.squares);
  VariableOp skipped = update.guardCounter("skipped");
  Value before = update.read(skipped);
  update.assign(skipped, b.select(isGood, before, b.shift(before, 1)));
  auto symbol = dyn_cast<FlatSymbolRefAttr>(update.lossScale);
  if (!symbol)
    return;
  VariableOp updates = update.guardCounter("updates");
  Value inRow = b.shift(update.read(updates), 1);
  Value grows = b.compare(Predicate::GE, inRow, b.splatLike(inRow, updatesToGrow));
  update.assign(updates, b.keepWhere(isGood, b.dropWhere(grows, inRow)));
  auto variable = update.symbols.lookup<VariableOp>(symbol.getAttr());
  Value scale = update.read(variable);
  Value grown = b.select(grows, b.atMost(b.scale(scale, 2), most), scale);
  update.assign(variable, b.select(isGood, grown, b.atLeast(b.scale(scale, 0.5), least)));
}
