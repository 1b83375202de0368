// Which entries a file has, with what N, and the variables they share.
#include "dialects/DL/DLProgramOps.h"
#include "frontend/DL/Builtins/BuiltinOptimizers.h"
#include "frontend/DL/Evaluation/Initialisers.h"
#include "frontend/DL/Sections/SectionRun.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <limits>

namespace dlc::frontend {

using namespace ast;

// ----------------------------------------------------------------------------- sections and models

const Section *SectionCompiler::chooseTrain() {
  llvm::SmallVector<const Section *> sections;
  for (const Section *section : main.tree->sections)
    if (section->isTrain)
      sections.push_back(section);
  auto nameOf = [](const Section *section) {
    return section->name.text.empty() ? section->uses.front().model.text : section->name.text;
  };
  const std::string &wanted = program.options.trainSection;
  if (wanted.empty() && sections.size() <= 1)
    return sections.empty() ? nullptr : sections.front();
  for (const Section *section : sections)
    if (!claimSection(nameOf(section), *section))
      return nullptr;
  std::string known;
  for (const Section *section : sections) {
    if (!wanted.empty() && nameOf(section) == wanted)
      return section;
    known += (known.empty() ? "" : ", ") + nameOf(section).str();
  }
  if (wanted.empty())
    program.engine
        .error(sections[1]->range,
               "the file has " + llvm::Twine(sections.size()) + " train sections")
        .hint("choose one by --train=NAME: " + known);
  else
    program.engine.error({}, "there is no train section '" + wanted + "'")
        .hint(known.empty() ? "the file has none" : "the file has " + known);
  return nullptr;
}

bool SectionCompiler::claimSection(llvm::StringRef name, const Section &section) {
  std::string keyword = section.isTrain ? "train" : "infer";
  auto [first, isNew] = sectionNames.try_emplace(keyword + " " + name.str(), section.range);
  if (!isNew)
    program.engine
        .error(section.range, "there are two " + keyword + " sections named '" + name + "'")
        .hint(keyword + " " + section.uses.front().model.text.str() + " as NAME")
        .note(first->second, "the first is here");
  return isNew;
}

bool SectionCompiler::resolveSettings(ModelUse &use, llvm::ArrayRef<Argument> arguments) {
  Evaluator evaluator(program, nullptr);
  NameScope names;
  Frame caller, own;
  caller.module = &main;
  own.module = use.module;
  caller.names = own.names = &names;
  caller.scopes.emplace_back();
  own.scopes.emplace_back();
  evaluator.frame = &caller;
  llvm::StringMap<Value> given;
  llvm::SmallVector<llvm::StringRef> settings;
  for (const Param &param : use.block->params)
    if (!param.type)
      settings.push_back(param.name.text);
  bool valid = true;
  for (const Argument &argument : arguments) {
    llvm::StringRef name = argument.name.text;
    if (name.empty() || !llvm::is_contained(settings, name)) {
      std::string near = didYouMean(name, settings);
      program.engine
          .error(name.empty() ? argument.value->range : argument.name.range,
                 name.empty() ? "settings of a model are given by name"
                              : "model '" + use.block->name.text.str() + "' has no setting '" +
                                    name.str() + "'")
          .hint(!near.empty()      ? near
                : settings.empty() ? "it has none"
                                   : "it has " + llvm::join(settings, ", "));
      valid = false;
      continue;
    }
    given[name] = evaluator.evaluate(*argument.value);
    valid &= !given[name].isPoison();
  }
  evaluator.frame = &own;
  for (const Param &param : use.block->params) {
    if (param.type)
      continue;
    auto value = given.find(param.name.text);
    Value setting = value == given.end() ? evaluator.evaluate(*param.defaultValue) : value->second;
    valid &= !setting.isPoison();
    evaluator.bind(param.name.text, setting, param.name.range);
    use.settings[param.name.text] = setting;
  }
  return valid;
}

bool SectionCompiler::resolveUses(const Section &section, bool takesSettings,
                                  std::vector<ModelUse> &uses) {
  bool valid = true;
  for (const Use &node : section.uses) {
    auto item = main.items.find(node.model.text);
    if (item == main.items.end() || !item->second.block || !item->second.block->isModel) {
      llvm::SmallVector<llvm::StringRef> models;
      for (const auto &[name, each] : main.items)
        if (each.block && each.block->isModel)
          models.push_back(name);
      llvm::sort(models);
      std::string near = didYouMean(node.model.text, models);
      bool isBlock = item != main.items.end() && item->second.block;
      program.engine
          .error(node.model.range, isBlock ? "'" + node.model.text + "' is a block, not a model"
                                           : "there is no model '" + node.model.text + "'")
          .hint(!near.empty()    ? near
                : isBlock        ? "model Name(x: f32[N, 784]) -> f32[N, 10] { ... } calls it"
                : models.empty() ? "the file has none"
                                 : "the file has " + llvm::join(models, ", "));
      valid = false;
      continue;
    }
    ModelUse use;
    use.block = item->second.block;
    use.module = item->second.module;
    use.prefix = section.uses.size() > 1 ? node.model.text.str() : "";
    if (llvm::any_of(uses, [&](const ModelUse &other) { return other.block == use.block; })) {
      program.engine.error(node.model.range, "'" + node.model.text + "' is listed twice")
          .hint("a section has one instance of a model; calling it twice shares its weights");
      valid = false;
      continue;
    }
    if (!takesSettings && !node.settings.empty()) {
      program.engine.error(node.settings.front().value->range,
                           "an infer section takes the settings of the train section");
      valid = false;
    }
    valid &= resolveSettings(use, node.settings);
    uses.push_back(std::move(use));
  }
  return valid;
}

// -------------------------------------------------------------------------------------- dimensions

bool SectionCompiler::readDimension(llvm::StringRef name, const llvm::StringMap<Bound> &settings,
                                    SourceRange range) {
  bool isBatch = name == "N";
  Value value = NoneValue{};
  for (Program::Define &define : program.dimensionDefines)
    if (define.name.text == name) {
      Evaluator evaluator(program, nullptr);
      NameScope names;
      Frame frame;
      frame.module = &main;
      frame.names = &names;
      frame.scopes.emplace_back();
      evaluator.frame = &frame;
      value = evaluator.evaluate(*define.value);
      range = define.value->range;
      define.isUsed = true;
    }
  auto setting = settings.find(isBatch ? "batch" : name);
  if (value.isNone() && setting != settings.end()) {
    value = setting->second.value;
    range = setting->second.range;
  }
  if (value.isNone() || value.isPoison())
    return !value.isPoison();
  int64_t least = isBatch ? 1 : 0;
  if (value.isInteger() && value.integer() >= least) {
    dimensions[name] = value.integer();
    return true;
  }
  program.engine.error(range, "'" + llvm::Twine(isBatch ? "batch" : name) + "' is an integer of " +
                                  llvm::Twine(least) + " or more, found " + describe(value));
  return false;
}

bool SectionCompiler::bindDimensions(const Section &section) {
  llvm::StringMap<Bound> settings = evaluateSettings(program, main, section);
  llvm::StringMap<SourceRange> names;
  collectDimensions(main, section, trainUses, names);
  bool valid = readDimension("N", settings, section.range);
  for (const auto &[name, range] : names)
    if (name != "N")
      valid &= readDimension(name, settings, range);
  checkUnusedNames(program, section, names);
  valid &= checkBatchAxis(section, names);
  if (!valid || dimensions.contains("N"))
    return valid;
  if (findBinding(section.body, "N"))
    return false;
  if (const BindingStatement *batch = findBinding(section.body, "batch"))
    program.engine.error(batch->value->range, "'batch' must be known before the model is evaluated")
        .hint("it may use constants and numbers");
  else
    program.engine.error(section.range, "the train section binds no 'batch'")
        .hint("batch = 64, or -D N=64");
  return false;
}

/// Without an axis that counts samples nothing would say what the batch is.
bool SectionCompiler::checkBatchAxis(const Section &section,
                                     const llvm::StringMap<SourceRange> &names) {
  if (names.contains("N") || main.items.contains("N"))
    return true;
  SourceRange range = section.uses.front().model.range;
  for (const ModelUse &use : llvm::reverse(trainUses))
    for (const Param &param : llvm::reverse(use.block->params))
      if (param.type)
        range = param.type->range;
  program.engine.error(range, "no axis counts the samples of a batch: it is called N")
      .hint("such as f32[N, 784]");
  return false;
}

/// What `-D` can set, or how to make it able to set what is meant.
std::string SectionCompiler::hintForDefine(llvm::StringRef name) {
  if (name == "batch")
    return "-D N=...";
  for (const ModelUse &use : trainUses)
    for (const Param &param : use.block->params)
      if (!param.type && param.name.text == name)
        return ("a setting of " + use.block->name.text + ": train " + use.block->name.text + "(" +
                name + "=c) and a constant c = ... let -D set c")
            .str();
  if (llvm::is_contained(trainSettingNames(), name))
    return ("a setting of the section: " + name + " = c and a constant c = ... let -D set c").str();
  llvm::SmallVector<llvm::StringRef> names;
  for (const auto &[each, item] : main.items)
    if (item.constant)
      names.push_back(each);
  for (const auto &[each, size] : dimensions)
    names.push_back(each);
  llvm::sort(names);
  std::string near = didYouMean(name, names);
  return near.empty() ? "there is " + llvm::join(names, ", ") : near;
}

void SectionCompiler::checkDefines() {
  for (const Program::Define &define : program.dimensionDefines)
    if (!define.isUsed)
      program.engine
          .error(define.name.range, "there is no constant or dimension '" + define.name.text + "'")
          .hint(hintForDefine(define.name.text));
}

// ------------------------------------------------------------------------------------------- train

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

static void readEpochs(Program &program, SectionRun &run, mlir::ModuleOp module) {
  const Bound *epochs = run.lookup("epochs");
  if (!epochs || epochs->value.isPoison())
    return;
  if (epochs->value.isInteger() && epochs->value.integer() > 0)
    module->setAttr("dl.epochs",
                    mlir::Builder(&program.context).getI64IntegerAttr(epochs->value.integer()));
  else
    program.engine.error(epochs->range,
                         "'epochs' is an integer of 1 or more, found " + describe(epochs->value));
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

bool SectionCompiler::claimEntry(const std::string &name, SourceRange range, llvm::StringRef hint) {
  auto [first, isNew] = entryNames.try_emplace(name, range);
  if (!isNew)
    program.engine.error(range, "there are two entries named '" + name + "'")
        .hint(hint)
        .note(first->second, "the first is made here");
  return isNew;
}

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
  if (run.loss() && !program.engine.hasErrors()) {
    run.addAccumulators();
    run.addModelResults();
    optimizer = readOptimizer(program, run, section, entry.step);
    if (const Bound *clip = run.lookup("clip"))
      entry.builder.entry().setClipAttr(clipAttribute(&program.context, clip->value));
    if (const Bound *ema = run.lookup("ema"); ema && ema->value.isNumber())
      entry.builder.entry().setEma(llvm::APFloat(ema->value.number()));
    readAccumulate(entry);
    if (const Bound *schedule = run.lookup("schedule"))
      entry.builder.entry().setScheduleAttr(scheduleAttribute(run.evaluator, section, *schedule));
  }
  if (!optimizer)
    return entry.builder.finish({});
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
  entry.builder.finish(run.loss()->value);
}

/// Loss and metrics that stand in the section itself, over the valid samples.
void SectionCompiler::compileEvaluate(const Section &section) {
  if (!claimEntry("evaluate", section.range, "give the step another name"))
    return;
  Evaluator places(program, nullptr);
  EntryBuilder entry(module, "evaluate", program::EntryKind::Evaluate, dimensions["N"],
                     places.location("evaluate", section.range));
  SectionRun run(program, main, entry, dimensions, trainUses, &section);
  run.run();
  if (!program.engine.hasErrors()) {
    run.addAccumulators();
    run.addModelResults();
    entry.valid();
  }
  entry.finish({});
}

/// A weight that costs memory in every checkpoint and never learns is likely a slip.
void SectionCompiler::warnUntrained() {
  for (const auto &variable : program.variables)
    if (variable->role == program::Role::Parameter && !variable->isTrained &&
        !variable->settings.frozen)
      program.engine.warning(variable->range, "the weight '" + variable->key + "' is never trained")
          .hint(variable->isInALoss
                    ? "a loss depends on it, but no step updates it; frozen = true says so"
                    : "no loss depends on it; frozen = true keeps it as it is");
}

/// Reads `frozen` of the section's groups before the models are evaluated.
void SectionCompiler::readFrozenPatterns(const Section &section) {
  Evaluator evaluator(program, nullptr);
  NameScope names;
  Frame frame;
  frame.module = &main;
  frame.names = &names;
  frame.scopes.emplace_back();
  evaluator.frame = &frame;
  for (const Statement *statement : section.body) {
    auto *group = llvm::dyn_cast<GroupStatement>(statement);
    for (const Setting &setting : group ? group->settings : llvm::ArrayRef<Setting>()) {
      if (setting.name.text != "frozen")
        continue;
      Value value = evaluator.evaluate(*setting.value);
      for (const PatternString &pattern : group->patterns)
        if (const bool *flag = value.getIf<bool>())
          program.frozenPatterns.push_back({pattern.text.str(), *flag});
    }
  }
}

void SectionCompiler::compileTrain(const Section &section) {
  readFrozenPatterns(section);
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
  }
  for (auto &entry : entries)
    finishTrain(*entry, section);
  if (program.engine.hasErrors())
    return;
  if (hasEvaluation)
    compileEvaluate(section);
  warnUnreadFields(program, section, trainUses);
  warnUntrained();
}

// ------------------------------------------------------------------------------------------- infer

/// The sizes of batch, by flag, section or default; the other dimensions that the section binds.
bool SectionCompiler::inferBatches(const Section *section, std::vector<int64_t> &batches,
                                   Dimensions &bound) {
  llvm::StringMap<Bound> settings;
  if (section) {
    settings = evaluateSettings(program, main, *section);
    llvm::StringMap<SourceRange> names;
    collectDimensions(main, *section, trainUses, names);
    for (const auto &[name, range] : names) {
      auto setting = settings.find(name);
      if (name == "N" || setting == settings.end())
        continue;
      if (!setting->second.value.isInteger() || setting->second.value.integer() < 0) {
        program.engine.error(setting->second.range, "'" + name +
                                                        "' is an integer of 0 or more, found " +
                                                        describe(setting->second.value));
        return false;
      }
      bound[name] = setting->second.value.integer();
    }
    checkUnusedNames(program, *section, names);
  }
  batches = program.options.inferBatches;
  for (int64_t batch : batches)
    if (batch < 1) {
      program.engine.error({}, "a batch of inference has 1 sample or more, found " +
                                   std::to_string(batch));
      return false;
    }
  auto batch = settings.find("batch");
  if (!batches.empty() || batch == settings.end()) {
    if (batches.empty())
      batches.push_back(1);
    return true;
  }
  const Value &value = batch->second.value;
  std::vector<Value> items = value.isSequence() ? value.items().vec() : std::vector<Value>{value};
  for (const Value &item : items) {
    if (!item.isInteger() || item.integer() < 1) {
      program.engine.error(batch->second.range,
                           "'batch' is an integer of 1 or more, or a sequence of them, found " +
                               describe(item));
      return false;
    }
    if (!llvm::is_contained(batches, item.integer()))
      batches.push_back(item.integer());
  }
  return true;
}

void SectionCompiler::compileInfer(const Section *section, llvm::ArrayRef<ModelUse> uses,
                                   const std::string &name) {
  std::vector<int64_t> batches;
  Dimensions bound = dimensions;
  if (!inferBatches(section, batches, bound))
    return;
  for (int64_t batch : batches) {
    bound["N"] = batch;
    std::string entryName = name + "_n" + std::to_string(batch);
    SourceRange range = section ? section->range : uses.front().block->name.range;
    if (!claimEntry(entryName, range, "infer ... as NAME"))
      return;
    Evaluator places(program, nullptr);
    EntryBuilder entry(module, entryName, program::EntryKind::Infer, batch,
                       places.location(entryName, range));
    SectionRun run(program, main, entry, bound, uses, section);
    run.run();
    run.addResults();
    entry.finish({});
    if (program.engine.hasErrors())
      return;
  }
  if (section)
    warnUnreadFields(program, *section, uses);
}

// --------------------------------------------------------------------------------------------- all

/// The module is called after its models and keeps their documentation.
void SectionCompiler::writeDescription() {
  llvm::SmallVector<llvm::StringRef> names, texts;
  for (const ModelUse &use : trainUses) {
    names.push_back(use.block->name.text);
    if (!use.block->documentation.empty())
      texts.push_back(use.block->documentation);
  }
  module.setSymName(llvm::join(names, ", "));
  module->setAttr("dl.documentation",
                  mlir::StringAttr::get(module.getContext(), llvm::join(texts, "\n")));
}

/// Names that a module cannot hold beside each other: those of entries, and a weight inside a
/// weight, where the optimizer's own tensors are.
void SectionCompiler::checkVariableNames() {
  for (const auto &variable : program.variables) {
    llvm::StringRef key = variable->key;
    if (auto entry = entryNames.find(key); entry != entryNames.end())
      program.engine.error(variable->range, "the weight name '" + key + "' is that of an entry");
    for (llvm::StringRef outer = key.rsplit('.').first; outer != key;
         key = outer, outer = key.rsplit('.').first)
      if (const Variable *other = program.variableByKey.lookup(outer))
        program.engine
            .error(variable->range,
                   "the weight name '" + variable->key + "' lies inside the weight '" + outer + "'")
            .note(other->range, "that one is made here");
  }
  for (const StateVariable &state : program.states)
    if (const Variable *other = program.variableByKey.lookup(state.name))
      program.engine.error(state.range, "the state '" + state.name + "' has the name of a weight")
          .note(other->range, "that one is made here");
}

void SectionCompiler::writeVariables() {
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(module.getBody());
  for (const auto &variable : program.variables)
    dl::VariableOp::create(builder, variable->location, builder.getStringAttr(variable->key),
                           mlir::TypeAttr::get(variable->type),
                           program::RoleAttr::get(builder.getContext(), variable->role),
                           variable->init, mlir::FlatSymbolRefAttr());
  for (const StateVariable &state : program.states)
    dl::VariableOp::create(builder, state.location, builder.getStringAttr(state.name),
                           mlir::TypeAttr::get(state.type),
                           program::RoleAttr::get(builder.getContext(), program::Role::State),
                           state.init, mlir::FlatSymbolRefAttr());
}

/// An infer section of another train section's model is not for this module; one of no train
/// section would be lost without a word.
void SectionCompiler::checkTrainedSomewhere(const Section &section) {
  for (const Use &use : section.uses) {
    bool isTrained = llvm::any_of(main.tree->sections, [&](const Section *other) {
      return other->isTrain && llvm::any_of(other->uses, [&](const Use &each) {
               return each.model.text == use.model.text;
             });
    });
    if (!isTrained)
      program.engine
          .error(use.model.range, "no train section has the model '" + use.model.text + "'")
          .hint("an infer section uses what a train section has trained");
  }
}

void SectionCompiler::run() {
  const Section *train = chooseTrain();
  bool hasTrain = llvm::any_of(main.tree->sections, [](const Section *s) { return s->isTrain; });
  bool isLibrary = !main.tree->blocks.empty() &&
                   llvm::none_of(main.tree->blocks, [](const Block *b) { return b->isModel; });
  if (main.tree->sections.empty() &&
      (program.options.mayHaveNoSection || (isLibrary && program.options.mayBeLibrary)))
    return;
  if (main.tree->sections.empty()) {
    program.engine.error({main.tree->file, 0, 0}, "the file has no train and no infer section")
        .hint("train Model { ... }");
    return;
  }
  if (hasTrain != (train != nullptr) || program.engine.hasErrors())
    return;
  if (train) {
    if (!resolveUses(*train, /*takesSettings=*/true, trainUses) || !bindDimensions(*train))
      return;
    checkDefines();
    compileTrain(*train);
    // The same text again would bring the same mistakes again.
    if (program.engine.hasErrors())
      return;
  }
  bool hasInfer = false;
  for (const Section *section : main.tree->sections) {
    if (section->isTrain || program.engine.isFull())
      continue;
    std::vector<ModelUse> uses;
    if (!resolveUses(*section, /*takesSettings=*/!train, uses))
      continue;
    // A model keeps what the train section says of it: settings and prefix.
    bool listed = true;
    for (ModelUse &use : uses) {
      auto trained =
          llvm::find_if(trainUses, [&](const ModelUse &each) { return each.block == use.block; });
      listed &= !train || trained != trainUses.end();
      if (trained != trainUses.end())
        use = *trained;
    }
    if (!listed) {
      checkTrainedSomewhere(*section);
      continue;
    }
    hasInfer = true;
    std::string name = section->name.text.empty() ? "infer" : section->name.text.str();
    if (claimSection(name, *section))
      compileInfer(section, uses, name);
  }
  if (!hasInfer)
    for (const ModelUse &use : trainUses)
      compileInfer(nullptr, use,
                   trainUses.size() > 1 ? "infer_" + use.block->name.text.str() : "infer");
  checkVariableNames();
  if (!program.engine.hasErrors())
    writeVariables();
  writeDescription();
}

} // namespace dlc::frontend
