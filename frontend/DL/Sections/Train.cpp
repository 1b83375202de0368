// The entries of a train section: its steps, or the one step that it is, and its evaluation.
#include "dialects/DL/Ops/DLEntryOps.h"
#include "frontend/DL/Builtins/BuiltinOptimizers.h"
#include "frontend/DL/Sections/SectionRun.h"

#include <limits>

namespace dlc::frontend {

using namespace ast;

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

static void setClip(dl::TrainingBuilder &training, const Value &value) {
  if (const Plan *plan = value.getIf<Plan>())
    training.setClip(*dl::symbolizeClipKind((*plan)->maker->name), (*plan)->number("limit"));
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

/// What a step updates: those of its targets that the loss depends on.
static void addUpdates(SectionRun &run, dl::TrainingBuilder &training, const PlanValue &optimizer,
                       llvm::ArrayRef<Variable *> targets, const StepStatement *step) {
  Program &program = run.evaluator.program;
  bool updates = false, moves = false;
  for (const auto &variable : program.variables) {
    variable->isInALoss |= training.variablesOfLoss().contains(variable->key);
    if (variable->role != program::Role::Parameter || !llvm::is_contained(targets, variable.get()))
      continue;
    const UpdateSettings &settings = variable->settings;
    const PlanValue &plan = settings.optimizer ? *settings.optimizer : optimizer;
    if (training
            .addGroup({{variable->key},
                       optimizerAttribute(&program.context, plan),
                       settings.lrMult,
                       settings.decayMult,
                       settings.frozen})
            .empty())
      continue;
    variable->isTrained = updates = true;
    if (std::string described = describeTraining(settings);
        !described.empty() && !llvm::is_contained(variable->training, described))
      variable->training.push_back(std::move(described));
    moves |= settings.lrMult != 0;
  }
  SourceRange loss = run.lossBinding()->names.front().range;
  bool isWanted = program.options.inputGradients;
  if (!updates && !isWanted)
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
}

static void readEpochs(Program &program, SectionRun &run, dl::TrainingBuilder &training) {
  const Bound *epochs = run.lookup("epochs");
  if (!epochs || epochs->value.isPoison())
    return;
  if (epochs->value.isInteger() && epochs->value.integer() > 0)
    training.setEpochs(epochs->value.integer());
  else
    program.engine.error(epochs->range,
                         "'epochs' is an integer of 1 or more, found " + describe(epochs->value));
}

/// What the loss of a training entry is multiplied by; where it computes in f16 by what suits that,
/// if nothing is said.
static void setLossScale(SectionRun &run, dl::TrainingBuilder &training, bool isInF16) {
  const Bound *scale = run.lookup("loss_scale");
  if (scale && scale->value.isNumber())
    training.setLossScale(scale->value.number());
  else if (scale ? scale->value.is<std::string>() : isInF16)
    training.setDynamicLossScale();
}

static void warnUnscaled(Program &program, SectionRun &run) {
  if (const Bound *scale = run.lookup("loss_scale"); scale && scale->value.isNone())
    program.engine
        .warning(scale->range, "in f16 gradients below 6e-8 are lost where the loss is not scaled")
        .hint("loss_scale = \"dynamic\"");
}

static void warnOfMasters(Program &program, SectionRun &run) {
  const Bound *masters = run.lookup("masters");
  if (masters && !masters->value.as<bool>())
    program.engine
        .warning(masters->range, "nothing of the section is in 16 bits, so no weight has a master")
        .hint("precision = bf16");
}

/// The entry of a step, or `train_step`, and the run that fills it.
struct SectionCompiler::TrainEntry {
  TrainEntry(SectionCompiler &compiler, const Section &section, const StepStatement *step,
             llvm::StringRef name, mlir::Location location)
      : step(step), builder(compiler.module, name, program::EntryKind::Train,
                            compiler.dimensions["N"], location),
        run(compiler.program, compiler.main, builder, compiler.dimensions, compiler.trainUses,
            &section, step),
        training(builder) {}

  const StepStatement *step;
  EntryBuilder builder;
  SectionRun run;
  dl::TrainingBuilder training;
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
    entry->training.setEvery(step->every);
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
  const Bound *accumulate = entry.run.lookup("accumulate");
  int64_t batches = accumulate && accumulate->value.isInteger() ? accumulate->value.integer() : 1;
  if (batches <= 1)
    return;
  dl::EntryOp op = entry.builder.entry();
  int64_t every = entry.step ? entry.step->every : 1;
  SourceRange range = accumulate->range;
  if (batches > std::numeric_limits<int32_t>::max() / every)
    program.engine.error(range, "'accumulate' of " + llvm::Twine(batches) +
                                    (every > 1 ? " and 'every " + std::to_string(every) + "' leave"
                                               : std::string(" leaves")) +
                                    " more than 2147483647 batches between two updates");
  else if (claimEntry(op.getAccumulateName(), entry.step ? entry.step->name.range : range,
                      "give the step another name"))
    entry.training.setAccumulate(batches);
}

void SectionCompiler::finishTrain(TrainEntry &entry, const Section &section) {
  SectionRun &run = entry.run;
  dl::TrainingBuilder &training = entry.training;
  const PlanValue *optimizer = nullptr;
  entry.builder.setPrecision(elementType(precision, &program.context));
  if (run.hasLoss() && !program.engine.hasErrors()) {
    run.addMetrics(training);
    run.addModelResults();
    optimizer = readOptimizer(program, run, section, entry.step);
    if (const Bound *clip = run.lookup("clip"))
      setClip(training, clip->value);
    if (const Bound *ema = run.lookup("ema"); ema && ema->value.isNumber())
      training.setEma(ema->value.number());
    if (const Bound *reference = run.lookup("reference_batch");
        reference && reference->value.isInteger())
      training.setReferenceBatch(reference->value.integer());
    setLossScale(run, training,
                 entry.builder.computesIn(elementType(DType::F16, &program.context)));
    if (const Bound *masters = run.lookup("masters"); masters && !masters->value.as<bool>())
      training.setWithoutMasters();
    readAccumulate(entry);
    if (const Bound *schedule = run.lookup("schedule"))
      training.setSchedule(scheduleAttribute(run.evaluator, section, *schedule));
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
    addUpdates(run, training, *optimizer, targets, entry.step);
  for (auto [variable, settings] : llvm::zip(program.variables, outside))
    variable->settings = settings;
  training.finish();
}

/// Loss and metrics that stand in the section itself, over the valid samples.
void SectionCompiler::compileEvaluate(const Section &section) {
  if (!claimEntry("evaluate", section.range, "give the step another name"))
    return;
  Evaluator places(program, nullptr);
  EntryBuilder entry(module, "evaluate", program::EntryKind::Evaluate, dimensions["N"],
                     places.location("evaluate", section.range));
  entry.setPrecision(elementType(precision, &program.context));
  SectionRun run(program, main, entry, dimensions, trainUses, &section);
  run.run();
  if (program.engine.hasErrors())
    return entry.finish();
  dl::TrainingBuilder training(entry);
  run.addMetrics(training);
  run.addModelResults();
  training.finish();
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
    readEpochs(program, first, entries.front()->training);
    if (const Bound *bound = first.lookup("precision"))
      precision = bound->value.as<DType>();
  }
  for (auto &entry : entries)
    finishTrain(*entry, section);
  if (program.engine.hasErrors())
    return;
  if (llvm::any_of(entries, [f16 = elementType(DType::F16, &program.context)](const auto &entry) {
        return entry->builder.computesIn(f16);
      }))
    warnUnscaled(program, entries.front()->run);
  if (llvm::none_of(entries, [](const auto &entry) { return entry->builder.hasHalves(); }))
    warnOfMasters(program, entries.front()->run);
  if (hasEvaluation)
    compileEvaluate(section);
  warnUnreadFields(program, section, trainUses);
  warnUntrained();
  warnUncalled(section);
}

} // namespace dlc::frontend
