// The entries of a train section: its steps, or the one step that it is, and its evaluation.
#include "dialects/DL/Formulas/Losses.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "dialects/Program/ProgramOps.h"
#include "frontend/DL/Builtins/BuiltinOptimizers.h"
#include "frontend/DL/Sections/SectionRun.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/ADT/SetVector.h"
#include <limits>

namespace dlc::frontend {

using namespace ast;

/// The parameters that the loss depends on: those whose reads are in its backward slice.
static llvm::StringMap<bool> readsBehind(mlir::Value loss) {
  llvm::SetVector<mlir::Operation *> slice;
  mlir::BackwardSliceOptions options;
  options.inclusive = true;
  (void)mlir::getBackwardSlice(loss, &slice, options);
  llvm::StringMap<bool> keys;
  for (mlir::Operation *op : slice)
    if (auto read = llvm::dyn_cast<dl::ReadOp>(op))
      keys[read.getVariable()] = true;
  return keys;
}

/// The optimizer of a run, as data; null after an error.
static const PlanValue *readOptimizer(Program &program, SectionRun &run, const Section &section,
                                      const StepStatement *step) {
  const Bound *optimizer = run.lookup("optimizer");
  if (!optimizer) {
    program.engine
        .error(step ? step->name.range : section.range,
               step ? "neither the step nor the section binds an 'optimizer'"
                    : llvm::Twine("the train section binds no 'optimizer'"))
        .hint("optimizer = sgd(learning_rate=0.01)");
    return nullptr;
  }
  const Plan *plan = optimizer->value.getIf<Plan>();
  if (plan && (*plan)->maker->category == Category::Optimizer)
    return plan->get();
  if (!optimizer->value.isPoison())
    program.engine
        .error(optimizer->range, "'optimizer' is such as sgd(learning_rate=0.01), found " +
                                     describe(optimizer->value))
        .hint(hintForPlan(optimizer->value, Category::Optimizer));
  return nullptr;
}

/// The variables that a step's targets name; nothing after an error.
static std::vector<Variable *> readTargets(SectionRun &run, llvm::ArrayRef<ModelUse> uses,
                                           const StepStatement &step) {
  Program &program = run.evaluator.program;
  std::vector<Variable *> members;
  for (const StepTarget &target : step.targets) {
    if (target.isPattern) {
      llvm::append_range(members, matchVariables(run.evaluator, {target.text, target.range}));
      continue;
    }
    auto use = llvm::find_if(
        uses, [&](const ModelUse &each) { return each.block->name.text == target.text; });
    if (use == uses.end()) {
      llvm::SmallVector<llvm::StringRef> models;
      for (const ModelUse &each : uses)
        models.push_back(each.block->name.text);
      program.engine.error(target.range, "'" + target.text + "' is not a model of this section")
          .hint(didYouMean(target.text, models));
      continue;
    }
    for (const auto &variable : program.variables)
      if (use->prefix.empty() || llvm::StringRef(variable->key).starts_with(use->prefix + "."))
        members.push_back(variable.get());
  }
  return members;
}

/// How many batches' gradients an update averages.
static int64_t accumulatedBatches(SectionRun &run) {
  const Bound *accumulate = run.lookup("accumulate");
  return accumulate && accumulate->value.isInteger() ? accumulate->value.integer() : 1;
}

/// The factor on the learning rate where the samples of an update are not `reference_batch`; 1
/// without one.
static double rateFactor(SectionRun &run, const EntryBuilder &entry) {
  const Bound *reference = run.lookup("reference_batch");
  return reference && reference->value.isInteger()
             ? double(entry.samples()) * double(accumulatedBatches(run)) /
                   double(reference->value.integer())
             : 1;
}

/// Null for none.
static dl::ClipAttr clipAttribute(mlir::MLIRContext *context, const Value &value) {
  const Plan *plan = value.getIf<Plan>();
  if (!plan)
    return {};
  auto kind = dl::symbolizeClipKind((*plan)->maker->name);
  return dl::ClipAttr::get(context, *kind,
                           mlir::Builder(context).getF64FloatAttr((*plan)->number("limit")));
}

/// "lr x 10, decay x 0", of what is not 1.
static std::string describeTraining(const UpdateSettings &settings) {
  std::string described;
  for (auto [what, factor] :
       {std::pair("lr x ", settings.lrMult), {"decay x ", settings.decayMult}})
    if (factor != 1) {
      std::string number = text(factor);
      llvm::StringRef shortest = number;
      shortest.consume_back(".0");
      described += (described.empty() ? "" : ", ") + (what + shortest).str();
    }
  return described;
}

/// Sets `updates` of a train entry: those of its targets that the loss depends on.
static void addUpdates(SectionRun &run, EntryBuilder &entry, const PlanValue &optimizer,
                       llvm::ArrayRef<Variable *> targets, const StepStatement *step) {
  Program &program = run.evaluator.program;
  mlir::MLIRContext *context = &program.context;
  mlir::Builder builder(context);
  llvm::StringMap<bool> read = readsBehind(run.loss()->value);
  for (const auto &variable : program.variables)
    variable->isInALoss |= read.contains(variable->key);
  llvm::SmallVector<mlir::Attribute> updates;
  bool moves = false;
  double factor = rateFactor(run, entry);
  for (const auto &variable : program.variables) {
    const UpdateSettings &settings = variable->settings;
    if (variable->role != program::Role::Parameter || settings.frozen ||
        !read.contains(variable->key) || !llvm::is_contained(targets, variable.get()))
      continue;
    variable->isTrained = true;
    if (std::string described = describeTraining(settings);
        !described.empty() && !llvm::is_contained(variable->training, described))
      variable->training.push_back(std::move(described));
    moves |= settings.lrMult != 0;
    updates.push_back(dl::UpdateAttr::get(
        context, mlir::FlatSymbolRefAttr::get(context, variable->key),
        builder.getF64FloatAttr(settings.lrMult), builder.getF64FloatAttr(settings.decayMult),
        optimizerAttribute(context, settings.optimizer ? *settings.optimizer : optimizer, factor)));
  }
  SourceRange loss = run.lossBinding()->names.front().range;
  bool isWanted = program.options.inputGradients;
  if (updates.empty() && !isWanted)
    program.engine.error(
        loss, step ? "the loss does not depend on any parameter that step '" + step->name.text +
                         "' updates"
                   : llvm::Twine("the loss does not depend on any parameter that is trained"));
  else if (!moves && !isWanted)
    program.engine
        .warning(step ? step->name.range : loss,
                 step ? "step '" + step->name.text + "' updates nothing: every lr_mult is 0"
                      : llvm::Twine("the train section updates nothing: every lr_mult is 0"))
        .hint("frozen = true leaves a parameter as it is");
  entry.entry().setUpdatesAttr(builder.getArrayAttr(updates));
}

namespace {
/// What a training entry ends with: the loss, or parts of it that count differently beside those of
/// other batches and ranks.
struct Losses {
  llvm::SmallVector<mlir::Value> losses, weights;
};
} // namespace

/// The terms of the loss that are divided by `count`, each by what there is of it; those without
/// one if it is null.
static mlir::Value lossPart(dl::TensorBuilder &b, const Terms &terms, mlir::Value count,
                            int64_t samples) {
  mlir::Value part;
  for (const Term &term : terms) {
    if (term.count != count)
      continue;
    mlir::Value value = term.sum;
    if (count)
      value = dl::formulas::meanByWeight(b, value, count);
    value = b.scale(value, term.perSample ? term.coefficient / double(samples) : term.coefficient);
    part = part ? b.add(part, value) : value;
  }
  return part;
}

/// A loss that is a mean over as many things as the data says counts these beside the losses of
/// other batches and ranks. Where it adds means over different numbers of things, each is a part.
static Losses lossesOf(SectionRun &run, EntryBuilder &entry) {
  const Tensor &loss = *run.loss();
  llvm::SetVector<mlir::Value> counts;
  bool isCounted = false;
  for (const Term &term : *loss.terms) {
    isCounted |= term.perSample;
    if (term.count)
      counts.insert(term.count);
  }
  if (counts.empty())
    return {{loss.value}, {}};
  if (counts.size() + isCounted == 1)
    return {{loss.value}, {counts.front()}};
  dl::TensorBuilder b{entry.builder, loss.value.getLoc()};
  Losses parts;
  for (mlir::Value count : counts) {
    parts.losses.push_back(lossPart(b, *loss.terms, count, entry.samples()));
    parts.weights.push_back(count);
  }
  if (mlir::Value rest = lossPart(b, *loss.terms, {}, entry.samples())) {
    parts.losses.push_back(rest);
    parts.weights.push_back(b.splatLike(counts.front(), 1));
  }
  return parts;
}

static void readEpochs(Program &program, SectionRun &run, mlir::ModuleOp module) {
  const Bound *epochs = run.lookup("epochs");
  if (!epochs || epochs->value.isPoison())
    return;
  if (epochs->value.isInteger() && epochs->value.integer() > 0)
    program::SettingsOp::getOrCreate(module).setEpochs(epochs->value.integer());
  else
    program.engine.error(epochs->range,
                         "'epochs' is an integer of 1 or more, found " + describe(epochs->value));
}

/// Among several ranks the batch is that of all of them: the trainer needs to know that the rate
/// follows it.
static void noteReferenceBatch(SectionRun &run, mlir::ModuleOp module) {
  const Bound *reference = run.lookup("reference_batch");
  if (reference && reference->value.isInteger())
    program::SettingsOp::getOrCreate(module).setReferenceBatch(reference->value.integer());
}

/// What the loss of a training entry is multiplied by; a loss of f16 by what suits it, if nothing
/// is said.
static void setLossScale(SectionRun &run, dl::EntryOp entry, DType precision) {
  const Bound *scale = run.lookup("loss_scale");
  mlir::Builder builder(entry.getContext());
  if (scale && scale->value.isNumber())
    entry->setAttr(dl::lossScaleName, builder.getF64FloatAttr(scale->value.number()));
  else if (scale ? scale->value.is<std::string>() : precision == DType::F16)
    entry->setAttr(dl::lossScaleName, builder.getStringAttr("dynamic"));
}

static void warnUnscaled(Program &program, SectionRun &run, DType precision) {
  if (const Bound *scale = run.lookup("loss_scale");
      scale && scale->value.isNone() && precision == DType::F16)
    program.engine
        .warning(scale->range, "in f16 gradients below 6e-8 are lost where the loss is not scaled")
        .hint("loss_scale = \"dynamic\"");
}

/// The entry of a step, or `train_step`, and the run that fills it.
struct SectionCompiler::TrainEntry {
  TrainEntry(SectionCompiler &compiler, const Section &section, const StepStatement *step,
             llvm::StringRef name, mlir::Location location)
      : step(step), builder(compiler.module, name, program::EntryKind::Train,
                            compiler.dimensions["N"], location),
        run(compiler.program, compiler.main, builder, compiler.dimensions, compiler.trainUses,
            &section, step) {}

  const StepStatement *step;
  EntryBuilder builder;
  SectionRun run;
};

std::unique_ptr<SectionCompiler::TrainEntry>
SectionCompiler::evaluateTrain(const Section &section, const StepStatement *step) {
  std::string name = step ? step->name.text.str() : "train_step";
  SourceRange range = step ? step->name.range : section.range;
  if (!claimEntry(name, range, "give the step another name"))
    return nullptr;
  Evaluator places(program, nullptr);
  auto entry =
      std::make_unique<TrainEntry>(*this, section, step, name, places.location(name, range));
  if (step && step->every > 1)
    entry->builder.entry().setEvery(step->every);
  entry->run.run();
  if (!entry->run.lossBinding())
    program.engine
        .error(range, step ? "step '" + name + "' binds no 'loss'"
                           : llvm::Twine("the train section binds no 'loss'"))
        .hint(step ? "loss = ..." : "loss = softmax_cross_entropy(output, label)");
  checkSettings(entry->run.evaluator,
                [&](llvm::StringRef setting) { return entry->run.lookup(setting); });
  return entry;
}

/// Marks an entry whose gradients accumulate; its part that runs on each batch needs a name too.
void SectionCompiler::readAccumulate(TrainEntry &entry) {
  int64_t batches = accumulatedBatches(entry.run);
  if (batches <= 1)
    return;
  dl::EntryOp op = entry.builder.entry();
  int64_t every = entry.step ? entry.step->every : 1;
  SourceRange range = entry.run.lookup("accumulate")->range;
  if (batches > std::numeric_limits<int32_t>::max() / every)
    program.engine.error(range, "'accumulate' of " + llvm::Twine(batches) +
                                    (every > 1 ? " and 'every " + std::to_string(every) + "' leave"
                                               : std::string(" leaves")) +
                                    " more than 2147483647 batches between two updates");
  else if (claimEntry(op.getAccumulateName(), entry.step ? entry.step->name.range : range,
                      "give the step another name"))
    op.setAccumulate(batches);
}

void SectionCompiler::finishTrain(TrainEntry &entry, const Section &section) {
  SectionRun &run = entry.run;
  const PlanValue *optimizer = nullptr;
  entry.builder.setPrecision(precision);
  if (run.loss() && !program.engine.hasErrors()) {
    run.addAccumulators();
    run.addModelResults();
    optimizer = readOptimizer(program, run, section, entry.step);
    if (const Bound *clip = run.lookup("clip"))
      entry.builder.entry().setClipAttr(clipAttribute(&program.context, clip->value));
    if (const Bound *ema = run.lookup("ema"); ema && ema->value.isNumber())
      entry.builder.entry().setEma(llvm::APFloat(ema->value.number()));
    setLossScale(run, entry.builder.entry(), precision);
    readAccumulate(entry);
    if (const Bound *schedule = run.lookup("schedule"))
      entry.builder.entry().setScheduleAttr(scheduleAttribute(run.evaluator, section, *schedule));
  }
  if (!optimizer)
    return entry.builder.finish();
  std::vector<Variable *> targets;
  if (entry.step)
    targets = readTargets(run, trainUses, *entry.step);
  else
    for (const auto &variable : program.variables)
      targets.push_back(variable.get());
  // What a step's groups say holds for this step only.
  std::vector<UpdateSettings> outside;
  for (const auto &variable : program.variables)
    outside.push_back(variable->settings);
  applyGroups(run.evaluator, run.stepGroups, /*inStep=*/true);
  if (!program.engine.hasErrors())
    addUpdates(run, entry.builder, *optimizer, targets, entry.step);
  for (auto [variable, settings] : llvm::zip(program.variables, outside))
    variable->settings = settings;
  const Losses ends = lossesOf(run, entry.builder);
  entry.builder.finish(ends.losses, ends.weights);
}

/// Loss and metrics that stand in the section itself, over the valid samples.
void SectionCompiler::compileEvaluate(const Section &section) {
  if (!claimEntry("evaluate", section.range, "give the step another name"))
    return;
  Evaluator places(program, nullptr);
  EntryBuilder entry(module, "evaluate", program::EntryKind::Evaluate, dimensions["N"],
                     places.location("evaluate", section.range));
  entry.setPrecision(precision);
  SectionRun run(program, main, entry, dimensions, trainUses, &section);
  run.run();
  if (!program.engine.hasErrors()) {
    run.addAccumulators();
    run.addModelResults();
    entry.valid();
  }
  entry.finish();
}

/// Reads what the section's groups say of the models' evaluation. What is wrong with it is told
/// where groups are applied.
void SectionCompiler::readPatterns(const Section &section) {
  CompileTimeEvaluator evaluator(program, main);
  for (const Statement *statement : section.body) {
    auto *group = llvm::dyn_cast<GroupStatement>(statement);
    for (const Setting &setting : group ? group->settings : llvm::ArrayRef<Setting>()) {
      const llvm::StringRef name = setting.name.text;
      if (name != "frozen" && name != "precision")
        continue;
      const Value value = evaluator.evaluate(*setting.value);
      const bool *flag = value.getIf<bool>();
      const DType *dtype = value.getIf<DType>();
      for (const PatternString &pattern : group->patterns)
        if (name == "frozen" && flag)
          program.frozenPatterns.push_back({pattern.text.str(), *flag});
        else if (name == "precision" && dtype && isPrecision(*dtype))
          program.precisionPatterns.push_back({pattern.text.str(), *dtype});
    }
  }
}

void SectionCompiler::compileTrain(const Section &section) {
  readPatterns(section);
  llvm::SmallVector<const StepStatement *> steps;
  bool hasMetric = findBinding(section.body, "loss") != nullptr;
  for (const Statement *statement : section.body) {
    if (auto *step = llvm::dyn_cast<StepStatement>(statement))
      steps.push_back(step);
    hasMetric |= llvm::isa<MetricStatement>(statement);
  }
  bool hasEvaluation = hasMetric || steps.empty();
  if (steps.empty())
    steps.push_back(nullptr);
  // All weights must be known before a pattern is matched.
  std::vector<std::unique_ptr<TrainEntry>> entries;
  for (const StepStatement *step : steps)
    if (auto entry = evaluateTrain(section, step))
      entries.push_back(std::move(entry));
  if (!program.engine.hasErrors()) {
    SectionRun &first = entries.front()->run;
    applyGroups(first.evaluator, first.groups, /*inStep=*/false);
    readEpochs(program, first, module);
    noteReferenceBatch(first, module);
    if (const Bound *bound = first.lookup("precision"))
      precision = bound->value.as<DType>();
    warnUnscaled(program, first, precision);
  }
  for (auto &entry : entries)
    finishTrain(*entry, section);
  if (program.engine.hasErrors())
    return;
  if (hasEvaluation)
    compileEvaluate(section);
  warnUnreadFields(program, section, trainUses);
  warnUntrained();
  warnUncalled(section);
}

} // namespace dlc::frontend
