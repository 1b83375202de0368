//===- Accumulate.cpp - gradients of several runs, averaged for one update --------------------===//
//
//   dl.entry @train_step accumulate = k
// ->
//   dl.entry @accumulate_step        @w.gradient_sum += %dw / k
//   dl.entry @train_step every = k   the update from @w.gradient_sum, which becomes 0
//
// Where the loss is a mean over %weight things, @w.gradient_sum += %dw * %weight and
// @loss.weight_sum += %weight, over all ranks, is what the update divides by. Where several losses
// are means over different numbers of things, each has sums of its own: what the first batch counts
// for is known when the last one has run.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "passes/DL/Update/EntryUpdate.h"
#include "passes/DL/Update/MultiTensorBuilder.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

/// The name of a sum; those of several losses are numbered.
static std::string sumName(StringRef word, int64_t loss) {
  return loss == 0 ? word.str() : (word + Twine(loss + 1)).str();
}

/// Makes the sums of one of the group's losses, and assigns sum + gradient / runs, or sum +
/// gradient * weight, to them.
static void addToSums(EntryUpdate &update, ParameterGroup &group, size_t part, int64_t runs) {
  auto zero = program::InitialiserAttr::get(update.builder.getContext(),
                                            program::InitialiserKind::Constant, 0);
  const int64_t loss = group.losses[part];
  for (UpdatedParameter &parameter : group.parameters)
    parameter.sums.push_back(
        update.createSlot(parameter.variable, sumName("gradient_sum", loss), zero));
  Location place = update.place("accumulate");
  MultiTensorBuilder function(update.builder, place);
  Value sum = function.addStream(group.forEach(
      [&](const UpdatedParameter &parameter) { return update.read(parameter.sums[part]); }));
  Value gradient = function.addStream(
      group.forEach([&](const UpdatedParameter &parameter) { return parameter.parts[part]; }));
  TensorBuilder b{function.body(), place};
  gradient = b.castLike(gradient, sum);
  Value counted =
      update.weights.empty()
          ? b.scale(gradient, 1.0 / double(runs))
          : b.multiply(gradient, b.castLike(function.addScalar(update.weights[loss]), gradient));
  MultiTensorOp added = function.finish(b.add(sum, counted));
  for (auto [parameter, value] : llvm::zip_equal(group.parameters, added.getResults()))
    update.assign(parameter.sums[part], value);
}

/// A variable for the sum of a loss's weights, to which this run's is added.
static VariableOp addWeight(EntryUpdate &update, int64_t loss) {
  Value weight = update.weights[loss];
  std::string name = update.prefix() + sumName("loss.weight_sum", loss);
  while (update.symbols.lookup(name))
    name += "_";
  OpBuilder &builder = update.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(update.entry);
  auto zero =
      program::InitialiserAttr::get(builder.getContext(), program::InitialiserKind::Constant, 0);
  auto sum = VariableOp::create(builder, update.entry.getLoc(), name,
                                cast<RankedTensorType>(weight.getType()), program::Role::Counter,
                                zero, FlatSymbolRefAttr());
  update.symbols.insert(sum);
  builder.setInsertionPoint(update.entry.getReturn());
  TensorBuilder b{builder, update.place("accumulate")};
  update.assign(sum, b.add(update.read(sum), weight));
  return sum;
}

/// 1 / the weights of all runs and ranks, whose sum begins anew.
static Value takeWeights(EntryUpdate &update, VariableOp sum) {
  TensorBuilder b{update.builder, update.place("weights")};
  Value total = update.read(sum);
  if (update.acrossRanks)
    total = b.sumOverRanks(total);
  // Nothing that counts leaves gradients of zero.
  Value divisor = b.aboveZeroOrOne(total);
  Value inverse = b.divide(b.splatLike(total, 1), divisor);
  update.assign(sum, b.splatLike(total, 0));
  return inverse;
}

/// The gradients of all losses together: the sums of each, by what its batches weigh.
static void joinLosses(EntryUpdate &update, ArrayRef<Value> inverseWeights) {
  Location place = update.place("weights");
  for (ParameterGroup &group : update.groups) {
    MultiTensorBuilder function(update.builder, place);
    TensorBuilder b{function.body(), place};
    Value whole;
    for (auto [part, loss] : llvm::enumerate(group.losses)) {
      Value sum = function.addStream(group.forEach(
          [&](const UpdatedParameter &parameter) { return update.read(parameter.sums[part]); }));
      Value mean = b.multiply(sum, b.castLike(function.addScalar(inverseWeights[loss]), sum));
      whole = whole ? b.add(whole, mean) : mean;
    }
    MultiTensorOp joined = function.finish(whole);
    for (auto [parameter, value] : llvm::zip_equal(group.parameters, joined.getResults()))
      parameter.gradient = value;
  }
}

void dlc::dl::accumulateGradients(EntryUpdate &update, int64_t runs) {
  for (ParameterGroup &group : update.groups)
    for (size_t part = 0; part < group.losses.size(); ++part)
      addToSums(update, group, part, runs);
  SmallVector<VariableOp> weights;
  for (size_t loss = 0; loss < update.weights.size(); ++loss)
    weights.push_back(addWeight(update, int64_t(loss)));
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
  builder.setInsertionPoint(ReturnOp::create(builder, sums.getLoc(), ValueRange()));
  update.entry = entry;
  const bool isApart = weights.size() > 1;
  if (!isApart)
    for (ParameterGroup &group : update.groups)
      for (UpdatedParameter &parameter : group.parameters)
        parameter.gradient = update.read(parameter.sums.front());
  SmallVector<Value> inverse =
      llvm::map_to_vector(weights, [&](VariableOp sum) { return takeWeights(update, sum); });
  if (isApart)
    joinLosses(update, inverse);
  else if (!inverse.empty())
    update.gradientScale = inverse.front();
}
