// See SectionRun.h.
#include "frontend/DL/Sections/SectionRun.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "frontend/DL/Syntax/NameWalker.h"

namespace dlc::frontend {

using namespace ast;

SectionRun::SectionRun(Program &program, Module &module, EntryBuilder &entry,
                       const Dimensions &dimensions, llvm::ArrayRef<ModelUse> uses,
                       const Section *section, const StepStatement *step)
    : evaluator(program, &entry), entry(entry), uses(uses), section(section), step(step),
      frame(module, names) {
  frame.seesDimensions = true;
  if (section) {
    frame.body = section->body;
    frame.settings = settingNames(section->isTrain);
  }
  evaluator.frame = &frame;
  evaluator.dimensions = &dimensions;
  for (const ModelUse &use : uses) {
    ModelInstance &instance = instances.emplace_back();
    instance.block = use.block;
    instance.module = use.module;
    instance.prefix = use.prefix;
    instance.settings = use.settings;
    evaluator.declareShared(instance);
    Callable callable;
    callable.model = &instance;
    evaluator.bind(use.block->name.text, callable, use.block->name.range);
  }
  if (uses.size() == 1 && (!section || !mentions(*section, uses.front().block->name.text)))
    implicitModel = &instances.front();
  frame.calledModel = implicitModel ? implicitModel->block : nullptr;
}

SourceRange SectionRun::anchor() const {
  return section ? section->uses.front().model.range : uses.front().block->name.range;
}

void SectionRun::run() {
  declareInputs();
  if (implicitModel)
    callImplicitModel();
  if (!section)
    return;
  for (const Statement *statement : section->body)
    runStatement(*statement);
  if (step)
    runStep();
  if (section->isTrain)
    readLoss();
}

/// The names of a step end with it; what its calls are named by lies under the step's name.
void SectionRun::runStep() {
  stepNames.prefix = step->name.text.str();
  frame.names = &stepNames;
  frame.settingsScope = frame.scopes.size();
  frame.scopes.emplace_back();
  for (const Statement *statement : step->body) {
    if (auto *group = llvm::dyn_cast<GroupStatement>(statement))
      stepGroups.push_back(readGroup(*group));
    else if (auto *metric = llvm::dyn_cast<MetricStatement>(statement))
      addMetric(*metric);
    else
      evaluator.execute(*statement);
  }
}

bool SectionRun::hasLoss() const {
  return llvm::any_of(
      metrics, [](const Metric &metric) { return metric.kind == program::MetricKind::Loss; });
}

const BindingStatement *SectionRun::lossBinding() const {
  const BindingStatement *own = step ? findBinding(step->body, "loss") : nullptr;
  return own ? own : findBinding(section->body, "loss");
}

// ------------------------------------------------------------------------------------------ inputs

/// The settings of a section are names in it: nothing else can have one of them.
bool SectionRun::checkNoSetting(const Name &name, llvm::StringRef what, llvm::StringRef hint) {
  if (!llvm::is_contained(frame.settings, name.text))
    return true;
  evaluator
      .error(name.range, "'" + name.text + "' is a setting of " +
                             (section->isTrain ? "train" : "infer") + " sections and cannot name " +
                             what)
      .hint(hint);
  return false;
}

void SectionRun::declareInput(const Name &name, mlir::RankedTensorType type, BatchAxis batch) {
  if (name.text == "valid") {
    evaluator.error(name.range,
                    "an input cannot be named 'valid': that is the number of valid samples");
    evaluator.bind(name.text, Poison{}, name.range);
    return;
  }
  Tensor tensor;
  tensor.value = entry.addInput(name.text, type, batch, evaluator.location(name.text, name.range));
  tensor.batch = batch;
  tensor.hasData = true;
  tensor.origin = evaluator.makeOrigin(name.range, name.text.str(), tensor, /*isDeclaration=*/true);
  evaluator.bind(name.text, tensor, name.range);
}

/// The inputs of a model that is called by itself come first, then the other fields.
void SectionRun::declareInputs() {
  llvm::StringMap<const Field *> fields;
  for (const Statement *statement : section ? section->body : Body())
    if (auto *node = llvm::dyn_cast<FieldStatement>(statement)) {
      auto [first, isNew] = fields.try_emplace(node->field.name.text, &node->field);
      if (!isNew)
        evaluator
            .error(node->field.name.range,
                   "the field '" + node->field.name.text + "' is declared twice")
            .note(first->second->name.range, "first declared here");
    }
  for (const Param &param :
       implicitModel ? implicitModel->block->params : llvm::ArrayRef<Param>()) {
    if (!param.type || fields.contains(param.name.text) ||
        !checkNoSetting(param.name, "an input that the section calls the model on",
                        "another name, or call the model: x: f32[N, ...], then y = Model(x)"))
      continue;
    BatchAxis batch;
    if (auto type = evaluator.inputType(*implicitModel, *param.type, &batch))
      declareInput(param.name, type, batch);
  }
  for (const Statement *statement : section ? section->body : Body())
    if (auto *node = llvm::dyn_cast<FieldStatement>(statement);
        node && fields.lookup(node->field.name.text) == &node->field) {
      BatchAxis batch;
      auto type = checkNoSetting(node->field.name, "data", "another name")
                      ? evaluator.evaluateType(node->field.type, &batch)
                      : mlir::RankedTensorType();
      if (type)
        declareInput(node->field.name, type, batch);
      else
        evaluator.bind(node->field.name.text, Poison{}, node->field.name.range);
    }
}

void SectionRun::callImplicitModel() {
  std::vector<EvaluatedArgument> arguments;
  for (const Param &param : implicitModel->block->params)
    if (param.type) {
      const Bound *input = evaluator.lookupLocal(param.name.text);
      if (!input)
        return bindResults(*implicitModel->block, modelResult = Poison{});
      arguments.push_back({{}, input->value, anchor()});
    }
  modelResult = evaluator.callModel(*implicitModel, arguments, anchor(), /*implicit=*/true);
  bindResults(*implicitModel->block, modelResult);
}

void SectionRun::bindResults(const Block &model, const Value &result) {
  if (model.results.single) {
    evaluator.bind("output", result, anchor());
    return;
  }
  llvm::ArrayRef<Field> fields = model.results.fields;
  for (auto [i, field] : llvm::enumerate(fields)) {
    if (!checkNoSetting(field.name, "a result of the model that the section calls",
                        "another name, or call the model: y, z = Model(x)"))
      continue;
    Value each = result;
    if (result.isSequence())
      each = result.items()[i];
    evaluator.bind(field.name.text, each, anchor());
  }
}

// -------------------------------------------------------------------------------------- statements

void SectionRun::runStatement(const Statement &statement) {
  switch (statement.kind) {
  case StatementKind::Field:
    return;
  case StatementKind::Metric: {
    // Beside steps, the section's metrics are those of the evaluation.
    if (step)
      return;
    auto &node = llvm::cast<MetricStatement>(statement);
    addMetric(node);
    return;
  }
  case StatementKind::Group:
    groups.push_back(readGroup(llvm::cast<GroupStatement>(statement)));
    return;
  case StatementKind::Step:
    return;
  case StatementKind::Return: {
    returnNode = &llvm::cast<ReturnStatement>(statement);
    std::vector<Value> values;
    for (const Expr *value : returnNode->values)
      values.push_back(evaluator.evaluate(*value));
    returned = values.size() == 1 ? values.front() : Value(std::move(values));
    return;
  }
  default:
    evaluator.execute(statement);
  }
}

ParameterGroup SectionRun::readGroup(const GroupStatement &node) {
  ParameterGroup group{&node, {}};
  for (const Setting &setting : node.settings) {
    llvm::SaveAndRestore guard(
        evaluator.wanted, setting.name.text == "init"        ? std::optional(Category::Initialiser)
                          : setting.name.text == "optimizer" ? std::optional(Category::Optimizer)
                                                             : std::nullopt);
    group.settings.push_back(evaluator.evaluate(*setting.value));
  }
  return group;
}

void SectionRun::readLoss() {
  const Bound *bound = evaluator.lookupLocal("loss");
  const BindingStatement *node = lossBinding();
  if (bound && node)
    addMetric("loss", program::MetricKind::Loss, bound->value, *node->value);
}

// -------------------------------------------------------------------------------- loss and metrics

/// The place of the operation that gives an expression its value.
static SourceRange operationRange(const Expr &expr) {
  if (auto *pipe = llvm::dyn_cast<PipeExpr>(&expr))
    return pipe->stages.back().name.range;
  if (auto *call = llvm::dyn_cast<CallExpr>(&expr))
    return call->callee->range;
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(&expr))
    return binary->opRange;
  return expr.range;
}

void SectionRun::addMetric(const MetricStatement &node) {
  llvm::SaveAndRestore guard(evaluator.wanted, std::optional(Category::Metric));
  addMetric(node.name.text, program::MetricKind::Metric, evaluator.evaluate(*node.value),
            *node.value);
}

void SectionRun::addMetric(llvm::StringRef name, program::MetricKind kind, const Value &value,
                           const Expr &expr) {
  bool isLoss = kind == program::MetricKind::Loss;
  std::string what = isLoss ? "the loss" : ("the metric '" + name + "'").str();
  if (value.isPoison())
    return;
  bool taken = llvm::any_of(metrics, [&](const Metric &metric) { return metric.name == name; });
  if (taken || (!isLoss && name == "loss")) {
    evaluator.error(expr.range, "there are two metrics named '" + name + "'");
    return;
  }
  const Tensor *tensor = value.getIf<Tensor>();
  bool isTable = !isLoss && tensor && tensor->finish == program::Finish::Table;
  auto addsUp = [](DType dtype) { return dtype == DType::F32 || dtype == DType::F64; };
  if (!isTable && (!tensor || tensor->rank() != 0 || !addsUp(tensor->dtype()))) {
    evaluator
        .error(Evaluator::valueRange(expr),
               what + " must be a scalar f32[] or f64[], found " +
                   (tensor ? describe(tensor->type()) : describe(value)))
        .hint(!tensor ? hintForPlan(value, isLoss ? Category::Loss : Category::Metric)
              : !isFloat(tensor->dtype()) ? ""
              : tensor->rank() == 0       ? "f32(output) before the loss"
                                          : "mean(...)");
    return;
  }
  metrics.push_back({name.str(), kind, *tensor});
  Tensor &kept = metrics.back().value;
  if (!kept.hasData)
    kept.terms = std::make_shared<const MetricTerms>(MetricTerms{{kept.value, 1, false}});
  if (kept.terms && (!isLoss || kept.finish == program::Finish::None))
    return;
  const program::Finish finish = kept.finish;
  metrics.pop_back();
  SourceRange range = operationRange(expr);
  auto error = evaluator.error(
      range, (isLoss ? "the loss" : "a metric") +
                 llvm::Twine(" must be a sum of multiples of "
                             "means over the batch, so that partial batches and ranks add up"));
  bool isExp = !isLoss && evaluator.program.sources.text(range) == "exp";
  // What is finished after the last batch cannot be computed with before.
  llvm::StringRef finished;
  NameWalker([&](llvm::StringRef each) {
    if (each == "perplexity" || each == "auroc")
      finished = each;
  }).walk(&expr);
  error.hint(isExp                            ? "perplexity(...), or exp per sample before the mean"
             : finish == program::Finish::Exp ? "softmax_cross_entropy(...) is its logarithm"
             : isLoss ? "compute it per sample, with reduction=\"none\", and take the mean last"
             : !finished.empty()
                 ? (finished + " is finished after the last batch: a metric of its own").str()
                 : "compute it per sample and take the mean last: mean(max(x, axes=1))");
}

void SectionRun::addMetrics(dl::TrainingBuilder &training) {
  for (const Metric &metric : metrics)
    if (metric.kind == program::MetricKind::Loss)
      training.setLoss(*metric.value.terms, metric.value.value);
  for (const Metric &metric : metrics)
    if (metric.kind == program::MetricKind::Metric)
      training.addMetric(metric.name, *metric.value.terms, metric.value.finish);
}

// ----------------------------------------------------------------------------------------- results

void SectionRun::addResult(llvm::StringRef name, const Value &value, SourceRange range) {
  const Tensor *tensor = value.getIf<Tensor>();
  if (!tensor) {
    if (!value.isPoison())
      evaluator.error(range, "an entry returns tensors, found " + describe(value));
    return;
  }
  entry.addOutput(tensor->value, name, program::ValueKind::Result, tensor->batch);
}

void SectionRun::addNamedResults(llvm::ArrayRef<Value> values, const Results &declared,
                                 SourceRange range) {
  if (declared.single) {
    if (values.size() != 1) {
      evaluator
          .error(range,
                 "the section returns " + llvm::Twine(values.size()) + " values, declared is one")
          .note(declared.range, "declared here");
      return;
    }
    if (evaluator.checkType(values.front(), *declared.single, range, "the section returns"))
      addResult("output", values.front(), range);
    return;
  }
  if (values.size() != declared.fields.size()) {
    evaluator
        .error(range, "the section returns " + llvm::Twine(values.size()) +
                          " values, declared are " + llvm::Twine(declared.fields.size()))
        .note(declared.range, "declared here");
    return;
  }
  for (auto [field, value] : llvm::zip(declared.fields, values))
    if (evaluator.checkType(value, field.type, range, "'" + field.name.text + "' is"))
      addResult(field.name.text, value, range);
}

void SectionRun::addModelResults() {
  if (!implicitModel || modelResult.isPoison())
    return;
  const Results &declared = implicitModel->block->results;
  if (declared.single)
    return addResult("output", modelResult, anchor());
  llvm::ArrayRef<Field> fields = declared.fields;
  for (auto [i, field] : llvm::enumerate(fields))
    addResult(field.name.text, modelResult.isSequence() ? modelResult.items()[i] : modelResult,
              anchor());
}

void SectionRun::addResults() {
  if (!returned && implicitModel && !(section && section->results))
    return addModelResults();
  SourceRange range = returnNode ? returnNode->range : anchor();
  Value result = returned.value_or(modelResult);
  if (result.isNone()) {
    evaluator.error(section->end, "the infer section returns nothing").hint("return ...");
    return;
  }
  if (result.isPoison())
    return;
  std::vector<Value> values =
      result.isSequence() ? result.items().vec() : std::vector<Value>{result};
  if (section && section->results)
    return addNamedResults(values, *section->results, range);
  if (values.size() != 1) {
    evaluator.error(range, "several results need names").hint("infer ... -> (name: type, ...)");
    return;
  }
  addResult("output", values.front(), range);
}

} // namespace dlc::frontend
