// Errors, names, locations, limits, types and weights: what all of evaluation uses.
#include "frontend/DL/Evaluation/Evaluator.h"
#include "frontend/DL/Evaluation/Initialisers.h"
#include "frontend/DL/Evaluation/TensorOps.h"
#include "frontend/DL/Sections/Sections.h"
#include "frontend/DL/Syntax/Foreign.h"

#include "mlir/IR/Location.h"

namespace dlc::frontend {

std::string NameScope::next(llvm::StringRef word) {
  unsigned number = ++counters[word];
  bool endsInDigit = !word.empty() && llvm::isDigit(word.back());
  return word.str() + (endsInDigit ? "_" : "") + std::to_string(number);
}

// ------------------------------------------------------------------------------------------ errors

/// Calls listed below an error inside nested blocks.
static constexpr int maxCallNotes = 4;

DiagnosticBuilder Evaluator::error(SourceRange range, const llvm::Twine &message) {
  auto builder = program.engine.error(range, message);
  const CallFrame *call = frame ? frame->call : nullptr;
  for (int i = 0; call && i < maxCallNotes; call = call->parent, ++i)
    if (call->range.isValid())
      builder.note(call->range, "in " + call->name() + ", called here");
  noteElements(builder);
  return builder;
}

void Evaluator::noteElements(DiagnosticBuilder &builder) const {
  for (const Loop &loop : llvm::reverse(loops))
    if (loop.makesList && loop.turn)
      builder.note(loop.range, "in turn " + llvm::Twine(loop.turn) + " of this list");
}

DiagnosticBuilder Evaluator::errorAbout(SourceRange range, const llvm::Twine &message,
                                        const Tensor &tensor, const llvm::Twine &subject) {
  const Origin *origin = tensor.origin;
  if (!origin)
    return error(range, message);
  if (origin->isDeclaration) {
    auto builder = error(range, message);
    builder.note(origin->range, "'" + origin->what + "' is declared here");
    return builder;
  }
  auto builder = program.engine.error(range, message);
  // The outermost call that made the tensor and is over by now, as seen from here.
  auto isOpen = [&](const CallFrame *call) {
    for (const CallFrame *open = frame ? frame->call : nullptr; open; open = open->parent)
      if (open == call)
        return true;
    return false;
  };
  const CallFrame *over = nullptr;
  for (const CallFrame *call = origin->frame; call && !isOpen(call); call = call->parent)
    if (call->range.isValid())
      over = call;
  if (over) {
    builder.note(over->range, subject + " comes from this call of " + over->callee);
    noteElements(builder);
    return builder;
  }
  std::string where;
  if (origin->frame && origin->frame->range.isValid())
    where = ", in " + origin->frame->name() + ", called at " +
            program.sources.describe(origin->frame->range);
  builder.note(origin->range, subject + " comes from " + origin->what + where);
  noteElements(builder);
  return builder;
}

bool Evaluator::spend(int64_t amount, SourceRange range) {
  work += amount;
  if (work > maxWork && !std::exchange(stopped, true))
    error(range, "evaluation of the model takes more than " + llvm::Twine(maxWork) + " steps");
  return !stopped;
}

bool Evaluator::spendElements(int64_t count, SourceRange range) {
  elements += std::min(count, maxElements + 1);
  if (elements > maxElements && !std::exchange(stopped, true))
    error(range, "sequences have more than " + llvm::Twine(maxElements) + " elements in all");
  return !stopped;
}

Value Evaluator::makeSequence(std::vector<Value> items, SourceRange range) {
  Value sequence(std::move(items));
  if (sequence.depth() <= maxSequenceDepth)
    return sequence;
  error(range, "sequences are nested more than " + llvm::Twine(maxSequenceDepth) + " levels deep");
  return Poison{};
}

llvm::StringRef Evaluator::shortText(SourceRange range) const {
  llvm::StringRef text = range.isValid() ? program.sources.text(range) : "";
  return text.size() > 40 || text.contains('\n') ? "" : text;
}

SourceRange Evaluator::valueRange(const ast::Expr &expr) {
  if (auto *pipe = llvm::dyn_cast<ast::PipeExpr>(&expr))
    return pipe->stages.back().range;
  return expr.range;
}

void Evaluator::noteNames(DiagnosticBuilder &builder, const ast::Expr &expr) {
  if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(&expr)) {
    noteNames(builder, *binary->lhs);
    noteNames(builder, *binary->rhs);
  }
  auto *name = llvm::dyn_cast<ast::NameExpr>(&expr);
  const Bound *bound = name ? lookupLocal(name->name) : nullptr;
  if (!bound || !bound->value.isNumber())
    return;
  std::string what = (name->name + " = " + text(bound->value)).str();
  if (bound->turn)
    what += ", in turn " + std::to_string(bound->turn) + " of this loop";
  builder.note(bound->range, what);
}

mlir::Location Evaluator::location(llvm::StringRef name, SourceRange range) {
  LineColumn at = program.sources.lineColumn(range);
  auto place = mlir::FileLineColLoc::get(&program.context, program.sources.name(range.file),
                                         at.line, at.column);
  return mlir::NameLoc::get(mlir::StringAttr::get(&program.context, name), place);
}

const Origin *Evaluator::makeOrigin(SourceRange range, std::string what, const Tensor &tensor,
                                    bool isDeclaration) {
  origins.push_back(
      {range, std::move(what), isDeclaration, tensor.dtype(), frame ? frame->call : nullptr});
  return &origins.back();
}

// ------------------------------------------------------------------------------------------- names

const Bound *Evaluator::lookupLocal(llvm::StringRef name) const {
  if (!frame)
    return nullptr;
  for (const llvm::StringMap<Bound> &scope : llvm::reverse(frame->scopes))
    if (auto found = scope.find(name); found != scope.end())
      return &found->second;
  return nullptr;
}

void Evaluator::bind(llvm::StringRef name, Value value, SourceRange range, int64_t turn) {
  observeValue(range, value);
  // The value is of no interest, and nothing can read it.
  if (name == "_")
    return;
  // A name of a surrounding body is rebound; a loop's variables are always the loop's own.
  if (!turn)
    for (llvm::StringMap<Bound> &scope : llvm::reverse(frame->scopes))
      if (auto found = scope.find(name); found != scope.end()) {
        found->second = {std::move(value), range, 0};
        return;
      }
  bool isSetting = !turn && llvm::is_contained(frame->settings, name);
  auto &scope = isSetting ? frame->scopes[frame->settingsScope] : frame->scopes.back();
  scope[name] = {std::move(value), range, turn};
  frame->ended.erase(name);
}

// ------------------------------------------------------------------------------------------- types

mlir::RankedTensorType Evaluator::evaluateType(const ast::Type &type, BatchAxis *batch) {
  llvm::SmallVector<int64_t> shape;
  bool failed = false;
  for (const ast::Expr *dimension : type.dimensions) {
    if (auto *name = llvm::dyn_cast<ast::NameExpr>(dimension)) {
      bool isBound = lookupLocal(name->name) || frame->module->items.contains(name->name);
      auto symbolic =
          dimensions ? dimensions->find(name->name) : llvm::StringMap<int64_t>::const_iterator();
      if (!isBound && dimensions && symbolic != dimensions->end()) {
        if (batch && name->name == "N")
          batch->axis = shape.size();
        shape.push_back(symbolic->second);
        continue;
      }
      if (!isBound) {
        llvm::SmallVector<llvm::StringRef> constants(frame->module->items.keys());
        llvm::StringRef nearest = nearestName(name->name, constants);
        bool isBatch = isBatchElsewhere(name->name);
        error(name->range, "dimension '" + name->name + "' is not bound")
            .hint(isBatch ? "the batch is called N"
                  : nearest.empty()
                      ? "bind it in the section, or by -D " + name->name.str() + "=..."
                      : "a constant '" + nearest.str() + "' exists; or bind it by -D");
        failed = true;
        continue;
      }
    }
    Value size = evaluate(*dimension);
    failed |= size.isPoison();
    if (size.isPoison())
      continue;
    if (!size.isInteger() || size.integer() < 0) {
      error(dimension->range, "a dimension is an integer of 0 or more, found " + describe(size))
          .hint(batch && shape.empty() ? "the batch is called N" : "");
      failed = true;
      continue;
    }
    shape.push_back(size.integer());
  }
  if (failed)
    return {};
  mlir::Type element = elementType(parseDType(type.dtype), &program.context);
  Site site(*this, type.range, "", "this type");
  return site.checkSize(shape, element) ? mlir::RankedTensorType::get(shape, element)
                                        : mlir::RankedTensorType();
}

/// How a value of another type becomes what is declared, or the declaration what it is.
static std::string hintForType(const Value &value, mlir::RankedTensorType type) {
  const Tensor *tensor = value.getIf<Tensor>();
  if (!tensor)
    return hintForResults(value);
  if (tensor->rank() > 1 && tensor->shape().front() == 1 &&
      tensor->shape().drop_front() == type.getShape())
    return "x[0] drops its first axis, which a last state of gru or lstm has for the layers";
  if (type.getRank() == 2 && tensor->rank() > 2)
    return "flatten joins all axes but the first: x |> flatten |> linear(10)";
  if (type.getShape() == tensor->shape())
    return (spelling(dtypeOf(type.getElementType())) + "(...) casts it").str();
  if (tensor->type().getNumElements() == type.getNumElements())
    return "reshape(x, shape), or declare " + withBatch(*tensor);
  return "where " + withBatch(*tensor) + " is meant, declare it";
}

bool Evaluator::checkType(const Value &value, const ast::Type &declared, SourceRange range,
                          const llvm::Twine &what) {
  mlir::RankedTensorType type = evaluateType(declared);
  if (!type || value.isPoison())
    return false;
  const Tensor *tensor = value.getIf<Tensor>();
  if (tensor && tensor->type() == type)
    return true;
  std::string found = tensor ? describe(tensor->type()) : describe(value);
  error(range, what + " " + found + ", declared is " + describe(type))
      .hint(hintForType(value, type))
      .note(declared.range, "declared here");
  return false;
}

mlir::RankedTensorType Evaluator::inputType(const ModelInstance &model, const ast::Type &type,
                                            BatchAxis *batch) {
  Frame own(*model.module, *frame->names);
  own.parent = frame;
  llvm::SaveAndRestore guard(frame, &own);
  for (const auto &[name, value] : model.settings)
    bind(name, value, {});
  return evaluateType(type, batch);
}

// ----------------------------------------------------------------------------------------- weights

std::string Evaluator::loopPlace() const {
  if (loops.empty())
    return "";
  return ", in turn " + std::to_string(loops.back().turn) + " of the loop at " +
         program.sources.describe(loops.back().range);
}

bool Evaluator::isInModel() const {
  for (const Frame *open = frame; open; open = open->parent)
    if (open->block && open->block->isModel)
      return true;
  return false;
}

void Evaluator::declareShared(Shared &shared) { shared.id = ++sharedCount; }

bool Evaluator::takeKey(llvm::StringRef key, SourceRange range, bool maySharedRunAgain) {
  if (auto used = usedKeys.find(key); used != usedKeys.end()) {
    // Sharing: an instance around the first declaration runs again.
    bool again = maySharedRunAgain && llvm::any_of(used->second.shared, [&](auto before) {
                   return llvm::any_of(activeShared, [&](const Shared *now) {
                     return now->id == before.first && now->activation > before.second;
                   });
                 });
    if (!again) {
      auto builder = error(range, "the weight name '" + key + "' is taken");
      if (maySharedRunAgain)
        builder.hint("label the loop with 'as', or share the weights with 'layer'");
      else
        builder.hint("a state has one value a step: what declares it runs once");
      builder.note(used->second.range, "first used here" + used->second.place);
      return false;
    }
  }
  Use use{range, loopPlace(), {}};
  for (const Shared *shared : activeShared)
    use.shared.push_back({shared->id, shared->activation});
  usedKeys[key] = use;
  return true;
}

std::optional<Tensor> Evaluator::parameter(llvm::StringRef key, mlir::RankedTensorType type,
                                           const Value &init, const LayerAttributes &attributes,
                                           int64_t fanIn, int64_t fanOut, SourceRange range,
                                           mlir::Location location, program::Role role) {
  if (!isInModel()) {
    error(range, "a section creates no weights")
        .hint("layers and parameters stand in a model, or in a block it calls");
    return std::nullopt;
  }
  if (!takeKey(key, range, /*maySharedRunAgain=*/true))
    return std::nullopt;

  Variable *&variable = program.variableByKey[key];
  if (variable && variable->type != type) {
    std::string here = entry->name().str();
    auto builder = error(
        range, "parameter '" + key + "' is " + describe(variable->type) +
                   (variable->entry == here ? " at its first use" : " in " + variable->entry) +
                   " and " + describe(type) + (variable->entry == here ? " here" : " in " + here));
    if (variable->entry == here)
      builder.note(variable->range, "first used here");
    else
      builder.hint("its shape must not use " +
                   llvm::join(llvm::to_vector(dimensions->keys()), " or "));
    return std::nullopt;
  }
  if (!variable) {
    program::InitialiserAttr attribute = resolveInitialiser(*this, init, fanIn, fanOut, range);
    if (!attribute)
      return std::nullopt;
    program.variables.push_back(std::make_unique<Variable>(
        Variable{key.str(),
                 type,
                 attribute,
                 range,
                 location,
                 entry->name().str(),
                 {attributes.lrMult, attributes.decayMult, attributes.frozen, nullptr},
                 fanIn,
                 fanOut,
                 /*isTrained=*/false,
                 role}));
    variable = program.variables.back().get();
  }
  Tensor tensor;
  tensor.value = entry->current(key, type, location);
  if (role == program::Role::Parameter)
    for (const auto &[pattern, precision] : program.precisionPatterns)
      if (matchesPattern(pattern, key))
        entry->marker.ofWeights[tensor.value] = elementType(precision, &program.context);
  tensor.origin = makeOrigin(range, "the weight '" + key.str() + "'", tensor);
  return tensor;
}

std::optional<Tensor> Evaluator::statistic(llvm::StringRef key, mlir::RankedTensorType type,
                                           double first, SourceRange range,
                                           mlir::Location location) {
  return parameter(key, type, first, {}, 1, 1, range, location, program::Role::Statistic);
}

bool Evaluator::isFrozen(llvm::StringRef key, const LayerAttributes &attributes) const {
  bool frozen = attributes.frozen;
  for (const auto &[pattern, value] : program.frozenPatterns)
    if (matchesPattern(pattern, key))
      frozen = value;
  return frozen;
}

} // namespace dlc::frontend
