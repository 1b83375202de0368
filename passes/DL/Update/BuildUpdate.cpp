//===- BuildUpdate.cpp - the optimizer's update from gradients --------------------------------===//
//
//   updates = [#dl.update<@w, ..., #dl.optimizer<"sgd", {learning_rate = 0.01, momentum = 0.9}>>]
//   dl.return %dw
// ->
//   %new:2 = dl.multi_tensor(%w, %dw, %v) scalars(%lr, %decay, %momentum) { ... }
//   dl.assign @w, %new#0
//   dl.assign @w.momentum, %new#1
//   dl.return
//
// One multi_tensor for all parameters with equal optimizer settings and element type, whose
// gradients are of the same losses, which have copies of the same types, and that the optimizer
// updates by one formula. Gradients accumulate, are reduced over ranks and clipped before; each of
// these is a room of its own, see Update/EntryUpdate.h.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Rules/Optimizers.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Precision/LossScale.h"
#include "passes/DL/Simplify/DeadCode.h"
#include "passes/DL/Update/EntryUpdate.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"

namespace dlc::dl {
#define GEN_PASS_DEF_BUILDUPDATE
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

/// A gradient, and the number of the loss that it is of.
using Part = std::pair<Value, int64_t>;

/// The gradients that the entry returns, by the name of their variable.
static llvm::DenseMap<StringAttr, SmallVector<Part>> returnedGradients(EntryOp entry) {
  llvm::DenseMap<StringAttr, SmallVector<Part>> gradients;
  for (auto [i, output] : llvm::enumerate(entry.getReturn().getOutputs())) {
    auto of = entry.getResultAttrOfType<FlatSymbolRefAttr>(i, "dl.of");
    if (!of || entry.getOutputKind(i) != program::ValueKind::Gradient)
      continue;
    auto loss = entry.getResultAttrOfType<IntegerAttr>(i, "dl.loss");
    gradients[of.getAttr()].emplace_back(output, loss ? loss.getInt() : 0);
  }
  return gradients;
}

/// Sorts `updates` into groups, in order of first appearance.
static LogicalResult collectGroups(EntryUpdate &update) {
  EntryOp entry = update.entry;
  const auto gradients = returnedGradients(entry);
  using Key = std::tuple<OptimizerAttr, Type, Attribute, Attribute, OptimizerRule::Body>;
  llvm::MapVector<Key, ParameterGroup> found;
  for (UpdateAttr each : entry.getUpdatesAttr().getAsRange<UpdateAttr>()) {
    StringAttr name = each.getVariable().getAttr();
    auto variable = update.symbols.lookup<VariableOp>(name);
    const SmallVector<Part> parts = gradients.lookup(name);
    if (parts.empty())
      return emitError(entry.getLoc())
             << "'" << entry.getSymName() << "' updates '" << name.getValue()
             << "' but returns no gradient of it: dl-differentiate comes first";
    const RankedTensorType type = variable.getTensorType();
    UpdatedParameter parameter{each, variable, parts.front().first};
    SmallVector<int64_t, 1> losses;
    for (auto [gradient, loss] : parts) {
      parameter.parts.push_back(gradient);
      losses.push_back(loss);
    }
    parameter.copies = update.copies.of(variable);
    Builder builder(entry.getContext());
    auto copied =
        builder.getTypeArrayAttr(llvm::map_to_vector(parameter.copies, [](VariableOp copy) -> Type {
          return copy.getTensorType().getElementType();
        }));
    ParameterGroup &group =
        found[{each.getOptimizer(), type.getElementType(), builder.getDenseI64ArrayAttr(losses),
               copied, each.getOptimizer().getRule().bodyFor(type.getRank())}];
    group.optimizer = each.getOptimizer();
    group.losses = losses;
    group.parameters.push_back(std::move(parameter));
  }
  for (auto &[key, group] : found)
    update.groups.push_back(std::move(group));
  return success();
}

/// Groups with the same settings have the same scalars: numbered where settings differ.
static void applyRules(EntryUpdate &update) {
  std::string base = update.prefix() + "optimizer";
  llvm::MapVector<OptimizerAttr, unsigned> numbers;
  for (const ParameterGroup &group : update.groups)
    numbers.insert({group.optimizer, numbers.size() + 1});
  for (const ParameterGroup &group : update.groups)
    applyRule(update, group,
              numbers.size() == 1 ? base : base + std::to_string(numbers[group.optimizer]));
}

/// The results that are gradients of variables.
static llvm::BitVector weightGradients(EntryOp entry) {
  llvm::BitVector found(entry.getNumResults());
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (entry.getOutputKind(i) == program::ValueKind::Gradient && entry.getResultAttr(i, "dl.of"))
      found.set(i);
  return found;
}

static LogicalResult buildUpdate(EntryUpdate update, const Compression &compression) {
  if (failed(collectGroups(update)))
    return failure();
  int64_t runs = update.entry.getAccumulate().value_or(1);
  update.entry.removeUpdatesAttr();
  update.entry.removeAccumulateAttr();
  update.lossScale = update.entry->removeAttr(lossScaleName);
  keepFinite(update);
  update.weights = llvm::to_vector<1>(update.entry.getReturn().getWeights());
  update.entry.getReturn().getWeightsMutable().clear();
  update.acrossRanks = update.entry.getAcrossRanks();
  update.entry.removeAcrossRanksAttr();
  if (runs > 1 && !update.groups.empty())
    accumulateGradients(update, runs);
  if (update.acrossRanks && !update.groups.empty())
    reduceGradients(update, compression);
  clipGradients(update);
  applyRules(update);
  countGuarded(update);
  update.entry.removeClipAttr();
  update.entry.removeEmaAttr();
  return success();
}

/// Those that evaluate or infer read the averages, where there are any: as they are, too, where
/// the parameter is widened to their type.
static void readAverages(EntryOp entry, const Averages &averages) {
  if (entry.getKind() != program::EntryKind::Evaluate &&
      entry.getKind() != program::EntryKind::Infer)
    return;
  for (ReadOp read : llvm::to_vector(entry.getBlock().getOps<ReadOp>()))
    if (VariableOp average = averages.lookup(read.getVariable())) {
      OpBuilder builder(read);
      Value value =
          ReadOp::create(builder, read.getLoc(), average.getTensorType(), average.getSymName());
      for (Operation *user : llvm::make_early_inc_range(read->getUsers()))
        if (auto cast = dyn_cast<CastOp>(user); cast && cast.getType() == value.getType()) {
          cast.replaceAllUsesWith(value);
          cast.erase();
        }
      if (!read->use_empty())
        read.replaceAllUsesWith(TensorBuilder{builder, read.getLoc()}.castLike(value, read));
      read.erase();
    }
}

/// Of the settings of optimizers: f64 where a parameter is, so that none of them is rounded before
/// it is used.
static Type settingType(ModuleOp module) {
  const bool isWide = llvm::any_of(module.getOps<VariableOp>(), [](VariableOp variable) {
    return variable.getRole() == program::Role::Parameter &&
           variable.getTensorType().getElementType().isF64();
  });
  Builder builder(module.getContext());
  return isWide ? builder.getF64Type() : builder.getF32Type();
}

namespace {
struct BuildUpdate : dlc::dl::impl::BuildUpdateBase<BuildUpdate> {
  using BuildUpdateBase::BuildUpdateBase;

  /// Nothing if the option names none.
  std::optional<Compression> compression() {
    using program::CollectiveKind;
    return llvm::StringSwitch<std::optional<Compression>>(compress)
        .Case("", Compression())
        .Case("bf16", Compression{BFloat16Type::get(&getContext())})
        .Case("f16", Compression{Float16Type::get(&getContext())})
        .Case("1bit", Compression{{}, CollectiveKind::SumOneBit})
        .Case("top-k", Compression{{}, CollectiveKind::SumTopK})
        .Default(std::nullopt);
  }

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    Averages averages;
    const Type real = settingType(getOperation());
    std::optional<Compression> how = compression();
    if (!how) {
      getOperation().emitError()
          << "expected bf16, f16, 1bit or top-k to compress gradients, found '" << compress << "'";
      return signalPassFailure();
    }
    Copies copies(getOperation(), symbols);
    copies.make();
    for (EntryOp entry : getOperation().getOps<EntryOp>())
      if (entry.getUpdates()) {
        copies.use(entry);
        if (failed(buildUpdate({entry, symbols, averages, copies, real}, *how)))
          return signalPassFailure();
      }
    if (!keepWeightGradients)
      for (EntryOp entry : getOperation().getOps<EntryOp>()) {
        entry.eraseOutputs(weightGradients(entry));
        // What widens sums for results.
        if (how->narrow)
          eraseDeadOps(entry);
      }
    for (EntryOp entry : getOperation().getOps<EntryOp>()) {
      readAverages(entry, averages);
      copies.use(entry);
    }
    copies.prepare();
  }
};
} // namespace
