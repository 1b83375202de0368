//===- TrainingBuilder.cpp - what training adds to an entry -----------------------------------===//
#include "dialects/DL/Builders/TrainingBuilder.h"
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Formulas/Losses.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "dialects/DL/Rules/Optimizers.h"
#include "dialects/Program/ProgramOps.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

//===------------------------------------------------------------------------------------------===//
// Loss and metrics
//===------------------------------------------------------------------------------------------===//

/// Each count is one accumulator, however many terms are divided by it.
StringAttr TrainingBuilder::addCount(Value count, StringRef word) {
  std::string &name = counts[count];
  if (name.empty()) {
    const unsigned number = ++countWords[word];
    name = word.str() + ".count" + (number > 1 ? std::to_string(number) : "");
    entry.addOutput(count, name, program::ValueKind::Accumulator);
  }
  return entry.builder.getStringAttr(name);
}

void TrainingBuilder::describe(StringRef name, program::MetricKind kind, const MetricTerms &terms,
                               program::Finish finish) {
  OpBuilder &builder = entry.builder;
  SmallVector<program::TermAttr> described;
  for (auto [i, term] : llvm::enumerate(terms)) {
    const std::string sum = name.str() + ".sum" + (i ? std::to_string(i + 1) : "");
    entry.addOutput(term.sum, sum, program::ValueKind::Accumulator);
    const bool isOfValid = term.perSample && entry.hasPadding();
    Value count = isOfValid ? entry.validCount() : term.count;
    const double constant = count ? 0 : term.perSample ? double(entry.samples()) : 1;
    described.push_back(program::TermAttr::get(
        builder.getContext(), builder.getStringAttr(sum),
        count ? addCount(count, isOfValid ? "samples" : "weights") : StringAttr(),
        builder.getF64FloatAttr(constant), builder.getF64FloatAttr(term.coefficient)));
  }
  const bool isLoss = kind == program::MetricKind::Loss;
  metrics.insert(isLoss ? metrics.begin() : metrics.end(),
                 program::MetricAttr::get(builder.getContext(), builder.getStringAttr(name), kind,
                                          finish, described));
}

void TrainingBuilder::setLoss(const MetricTerms &terms, Value value) {
  assert(!terms.empty() && lossTerms.empty() && "an entry has one loss, of a term or more");
  describe("loss", program::MetricKind::Loss, terms, program::Finish::None);
  if (!entry.isTraining())
    return;
  lossTerms = terms;
  loss = value ? value : wholeLoss();
  collectVariables();
}

/// The counts of the loss that the data says.
static llvm::SetVector<Value> countsOf(const MetricTerms &terms) {
  llvm::SetVector<Value> counts;
  for (const MetricTerm &term : terms)
    if (term.count)
      counts.insert(term.count);
  return counts;
}

/// The terms of the loss that are divided by `count`, each by what there is of it; those without
/// one if it is null. Null where there are none.
Value TrainingBuilder::lossPart(TensorBuilder &b, Value count) {
  Value part;
  for (const MetricTerm &term : lossTerms) {
    if (term.count != count)
      continue;
    Value value = count ? formulas::meanByWeight(b, term.sum, count) : term.sum;
    value = b.scale(value,
                    term.perSample ? term.coefficient / double(entry.samples()) : term.coefficient);
    part = part ? b.add(part, value) : value;
  }
  return part;
}

Value TrainingBuilder::wholeLoss() {
  TensorBuilder b{entry.builder, lossTerms.front().sum.getLoc()};
  Value whole = lossPart(b, {});
  for (Value count : countsOf(lossTerms)) {
    Value part = lossPart(b, count);
    whole = whole ? b.add(whole, part) : part;
  }
  return whole;
}

void TrainingBuilder::collectVariables() {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  (void)getBackwardSlice(loss, &slice, options);
  for (Operation *op : slice)
    if (auto read = dyn_cast<ReadOp>(op))
      lossVariables.insert(read.getVariable());
}

//===------------------------------------------------------------------------------------------===//
// Settings
//===------------------------------------------------------------------------------------------===//

static program::SettingsOp settingsOf(EntryBuilder &entry) {
  return program::SettingsOp::getOrCreate(entry.entry()->getParentOfType<ModuleOp>());
}

EntryOp TrainingBuilder::step() {
  assert(entry.isTraining() && "of training steps alone");
  return entry.entry();
}

void TrainingBuilder::setEpochs(int64_t epochs) { settingsOf(entry).setEpochs(epochs); }

void TrainingBuilder::setEvery(int64_t batches) { step().setEvery(batches); }

void TrainingBuilder::setAccumulate(int64_t runs) { step().setAccumulate(runs); }

/// Among several ranks the batch is that of all of them: who trains needs to know that the rate
/// follows it.
void TrainingBuilder::setReferenceBatch(int64_t samples) {
  referenceBatch = samples;
  settingsOf(entry).setReferenceBatch(samples);
}

void TrainingBuilder::setClip(ClipKind kind, double limit) {
  step().setClipAttr(
      ClipAttr::get(step().getContext(), kind, entry.builder.getF64FloatAttr(limit)));
}

void TrainingBuilder::setEma(double decay) { step().setEma(llvm::APFloat(decay)); }

void TrainingBuilder::setLossScale(double factor) {
  step()->setAttr(lossScaleName, entry.builder.getF64FloatAttr(factor));
}

void TrainingBuilder::setDynamicLossScale() {
  step()->setAttr(lossScaleName, entry.builder.getStringAttr("dynamic"));
}

void TrainingBuilder::setWithoutMasters() {
  step()->setAttr(withoutMastersName, entry.builder.getUnitAttr());
}

void TrainingBuilder::setSchedule(ArrayAttr parts) { step().setScheduleAttr(parts); }

//===------------------------------------------------------------------------------------------===//
// Updates
//===------------------------------------------------------------------------------------------===//

std::vector<std::string> TrainingBuilder::addGroup(const Group &group) {
  assert(loss && "the loss says what is trained");
  std::vector<std::string> updated;
  for (const std::string &parameter : group.parameters)
    if (!group.frozen && lossVariables.contains(parameter)) {
      updates.push_back({parameter, group.lrMult, group.decayMult, group.optimizer});
      updated.push_back(parameter);
    }
  return updated;
}

/// The optimizer with `factor` times its learning rate.
static OptimizerAttr withRate(OptimizerAttr optimizer, double factor) {
  if (factor == 1)
    return optimizer;
  const double rate = optimizer.number(rateSetting) * factor;
  NamedAttrList settings(optimizer.getSettings());
  if (optimizer.getRule().findSetting(rateSetting)->defaultValue == rate)
    settings.erase(rateSetting);
  else
    settings.set(rateSetting, Builder(optimizer.getContext()).getF64FloatAttr(rate));
  return OptimizerAttr::get(optimizer.getContext(), optimizer.getName(),
                            settings.getDictionary(optimizer.getContext()));
}

ArrayAttr TrainingBuilder::describeUpdates() {
  OpBuilder &builder = entry.builder;
  const double samples = double(entry.samples()) * double(step().getAccumulate().value_or(1));
  const double factor = referenceBatch ? samples / double(*referenceBatch) : 1;
  SmallVector<Attribute> described;
  for (const Update &update : updates)
    described.push_back(UpdateAttr::get(
        builder.getContext(), FlatSymbolRefAttr::get(builder.getContext(), update.variable),
        builder.getF64FloatAttr(update.lrMult), builder.getF64FloatAttr(update.decayMult),
        withRate(update.optimizer, factor)));
  return builder.getArrayAttr(described);
}

//===------------------------------------------------------------------------------------------===//
// The end
//===------------------------------------------------------------------------------------------===//

/// A loss that is a mean over as many things as the data says counts these beside the losses of
/// other batches and ranks. Where it adds means over different numbers of things, each is a part.
TrainingBuilder::Ends TrainingBuilder::ends() {
  const llvm::SetVector<Value> counts = countsOf(lossTerms);
  const bool isCounted =
      llvm::any_of(lossTerms, [](const MetricTerm &term) { return term.perSample; });
  if (counts.empty())
    return {{loss}, {}};
  if (counts.size() + isCounted == 1)
    return {{loss}, {counts.front()}};
  TensorBuilder b{entry.builder, loss.getLoc()};
  Ends parts;
  for (Value count : counts) {
    parts.losses.push_back(lossPart(b, count));
    parts.weights.push_back(count);
  }
  if (Value rest = lossPart(b, {})) {
    parts.losses.push_back(rest);
    parts.weights.push_back(b.splatLike(counts.front(), 1));
  }
  return parts;
}

void TrainingBuilder::finish() {
  entry.entry().setMetricsAttr(entry.builder.getArrayAttr(metrics));
  if (!entry.isTraining()) {
    entry.valid();
    return entry.finish();
  }
  assert(loss && "what is trained on");
  step().setUpdatesAttr(describeUpdates());
  const Ends all = ends();
  entry.finish(all.losses, all.weights);
}
