//===- Accumulate.cpp - gradients of several runs, averaged for one update --------------------===//
//
//   dl.entry @train_step accumulate = k
// ->
//   dl.entry @accumulate_step        @w.gradient_sum += %dw / k
//   dl.entry @train_step every = k   the update from @w.gradient_sum, which becomes 0
//
// Where the loss is a mean over %weight things, @w.gradient_sum += %dw * %weight and
// @loss.weight_sum += %weight, over all ranks, is what the update divides by.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "passes/DL/Update/EntryUpdate.h"
#include "passes/DL/Update/MultiTensorBuilder.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

/// Assigns sum + gradient / runs, or sum + gradient * weight, to the sums of a group.
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
  Value part = update.weight
                   ? b.multiply(gradient, b.castLike(function.addScalar(update.weight), gradient))
                   : b.scale(gradient, 1.0 / double(runs));
  MultiTensorOp added = function.finish(b.add(sum, part));
  for (auto [parameter, value] : llvm::zip_equal(group.parameters, added.getResults()))
    update.assign(parameter.sum, value);
}

/// A variable for the sum of the weights, to which this run's is added.
static VariableOp addWeight(EntryUpdate &update) {
  std::string name = update.prefix() + "loss.weight_sum";
  while (update.symbols.lookup(name))
    name += "_";
  OpBuilder &builder = update.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(update.entry);
  auto zero =
      program::InitialiserAttr::get(builder.getContext(), program::InitialiserKind::Constant, 0);
  auto sum = VariableOp::create(builder, update.entry.getLoc(), name,
                                cast<RankedTensorType>(update.weight.getType()),
                                program::Role::Counter, zero, FlatSymbolRefAttr());
  update.symbols.insert(sum);
  builder.setInsertionPoint(update.entry.getReturn());
  TensorBuilder b{builder, update.place("accumulate")};
  update.assign(sum, b.add(update.read(sum), update.weight));
  return sum;
}

/// Takes the weights of all runs and ranks as what the sums are divided by, and begins anew.
static void divideByWeights(EntryUpdate &update, VariableOp sum) {
  TensorBuilder b{update.builder, update.place("weights")};
  Value total = update.read(sum);
  if (program::isDataParallel(update.entry))
    total = b.sumOverRanks(total);
  // Nothing that counts leaves gradients of zero.
  Value divisor = b.select(b.above(total, 0), total, b.splatLike(total, 1));
  update.gradientScale = b.divide(b.splatLike(total, 1), divisor);
  update.assign(sum, b.splatLike(total, 0));
}

void dlc::dl::accumulateGradients(EntryUpdate &update, int64_t runs) {
  for (ParameterGroup &group : update.groups)
    addToSums(update, group, runs);
  VariableOp weights = update.weight ? addWeight(update) : VariableOp();
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
  if (weights)
    divideByWeights(update, weights);
}
