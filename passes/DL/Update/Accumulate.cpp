//===- Accumulate.cpp - gradients of several runs, averaged for one update --------------------===//
//
//   dl.entry @train_step accumulate = k
// ->
//   dl.entry @accumulate_step        @w.gradient_sum += %dw / k
//   dl.entry @train_step every = k   the update from @w.gradient_sum, which becomes 0
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/TensorBuilder.h"
#include "passes/DL/Update/EntryUpdate.h"
#include "passes/DL/Update/MultiTensorBuilder.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

/// Assigns sum + gradient / runs to the sums of a group.
static void addToSums(EntryUpdate &update, ParameterGroup &group, int64_t runs) {
  auto zero = program::InitialiserAttr::get(update.builder.getContext(),
                                            program::InitialiserKind::Constant, 0);
  for (UpdatedParameter &parameter : group.parameters)
    parameter.sum = update.createSlot(parameter.variable, "gradient_sum", zero);
  Location place = update.place("accumulate");
  MultiTensorBuilder function(update.builder, place);
  Value sum = function.addStream(
      group.forEach([&](const UpdatedParameter &parameter) { return update.read(parameter.sum); }));
  Value gradient = function.addStream(group.gradients());
  TensorBuilder b{function.body(), place};
  MultiTensorOp added = function.finish(b.add(sum, b.scale(gradient, 1.0 / double(runs))));
  for (auto [parameter, value] : llvm::zip_equal(group.parameters, added.getResults()))
    update.assign(parameter.sum, value);
}

void dlc::dl::accumulateGradients(EntryUpdate &update, int64_t runs) {
  for (ParameterGroup &group : update.groups)
    addToSums(update, group, runs);
  EntryOp sums = update.entry;
  std::string name = sums.getSymName().str();
  update.symbols.remove(sums);
  sums.setSymName(sums.getAccumulateName());
  sums.setKind(program::EntryKind::Accumulate);
  update.symbols.insert(sums);

  OpBuilder &builder = update.builder;
  builder.setInsertionPointAfter(sums);
  EntryOp entry = EntryOp::create(builder, sums.getLoc(), name, builder.getFunctionType({}, {}),
                                  program::EntryKind::Train);
  update.symbols.insert(entry);
  entry.setEvery(int64_t(sums.getEvery().value_or(1)) * runs);
  entry.setScheduleAttr(sums.getScheduleAttr());
  entry.setClipAttr(sums.getClipAttr());
  entry.setEmaAttr(sums.getEmaAttr());
  sums.removeScheduleAttr();
  sums.removeClipAttr();
  sums.removeEmaAttr();
  builder.setInsertionPointToEnd(&entry.getBlock());
  builder.setInsertionPoint(ReturnOp::create(builder, sums.getLoc(), ValueRange(), Value()));
  update.entry = entry;
  for (ParameterGroup &group : update.groups)
    for (UpdatedParameter &parameter : group.parameters)
      parameter.gradient = update.read(parameter.sum);
}
