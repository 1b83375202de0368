// Statements: bindings, layers, parameters, loops and conditions. Each returns false if the body
// should stop.
#include "frontend/DL/Builtins/Call.h"
#include "frontend/DL/Evaluation/Initialisers.h"

#include "llvm/ADT/StringSwitch.h"

namespace dlc::frontend {

using namespace ast;

bool Evaluator::executeBody(Body body) {
  for (const Statement *statement : body)
    if (!execute(*statement))
      return false;
  return true;
}

bool Evaluator::execute(const Statement &statement) {
  if (stopped || program.engine.isFull() || !spend(1, statement.range))
    return false;
  if (depth >= maxEvaluationDepth) {
    stopped = true;
    error(statement.range,
          "evaluation is nested more than " + llvm::Twine(maxEvaluationDepth) + " levels deep");
    return false;
  }
  llvm::SaveAndRestore guard(depth, depth + 1);
  switch (statement.kind) {
  case StatementKind::Binding:
    return executeBinding(llvm::cast<BindingStatement>(statement));
  case StatementKind::Layer:
    return executeLayer(llvm::cast<LayerStatement>(statement));
  case StatementKind::Parameter:
    return executeParameter(llvm::cast<ParameterStatement>(statement));
  case StatementKind::For:
    return executeFor(llvm::cast<ForStatement>(statement));
  case StatementKind::Repeat:
    return executeRepeat(llvm::cast<RepeatStatement>(statement));
  case StatementKind::If:
    return executeIf(llvm::cast<IfStatement>(statement));
  case StatementKind::Assert:
    return executeAssert(llvm::cast<AssertStatement>(statement));
  case StatementKind::State:
    return executeState(llvm::cast<StateStatement>(statement));
  // The parser leaves these to where they may stand; sections take them before they come here.
  case StatementKind::Return:
  case StatementKind::Field:
  case StatementKind::Metric:
  case StatementKind::Group:
  case StatementKind::Step:
    return true;
  }
  return true;
}

/// What a setting of a section takes.
static std::optional<Category> categoryOfSetting(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Category>>(name)
      .Case("optimizer", Category::Optimizer)
      .Case("schedule", Category::Schedule)
      .Case("clip", Category::Clip)
      .Case("loss", Category::Loss)
      .Default(std::nullopt);
}

bool Evaluator::executeBinding(const BindingStatement &node) {
  bool isSetting = llvm::is_contained(frame->settings, node.names.front().text);
  llvm::SaveAndRestore guard(wanted,
                             isSetting ? categoryOfSetting(node.names.front().text) : std::nullopt);
  Value value = evaluate(*node.value);
  if (node.names.size() == 1) {
    bind(node.names.front().text, std::move(value), node.names.front().range);
    return true;
  }
  size_t count = value.isSequence() ? value.items().size() : 1;
  bool fits = value.isPoison() || (value.isSequence() && count == node.names.size());
  if (!fits) {
    error(node.names.front().range.to(node.names.back().range),
          value.isSequence()
              ? "this gives " + llvm::Twine(count) + " values, " + llvm::Twine(node.names.size()) +
                    " names take them"
              : llvm::Twine(node.names.size()) + " names take the values of " + describe(value));
    value = Poison{};
  }
  for (auto [i, name] : llvm::enumerate(node.names))
    bind(name.text, value.isPoison() ? Value(Poison{}) : value.items()[i], name.range);
  return true;
}

bool Evaluator::executeLayer(const LayerStatement &node) {
  bind(node.name.text, Poison{}, node.name.range);
  if (!entry) {
    error(node.range, "a layer stands in a model, or in a block that a model calls");
    return true;
  }
  Value callee = evaluateName(node.callee.text, node.callee.range);
  const Callable *callable = callee.getIf<Callable>();
  if (callee.isPoison())
    return true;
  if (!callable || callable->layer || callable->model) {
    error(node.callee.range,
          "'layer' takes a built-in layer, a block or a model, this is " + describe(callee));
    return true;
  }
  std::vector<Value> values;
  LayerAttributes attributes = frame->attributes;
  bool valid = true;
  for (const Argument &argument : node.arguments) {
    values.push_back(llvm::isa<HoleExpr>(argument.value) ? Value(NoneValue{})
                                                         : evaluate(*argument.value));
    valid &= !values.back().isPoison();
    if (argument.name.text == "name") {
      error(argument.name.range, "a 'layer' is named by its own name").hint("leave 'name' out");
      valid = false;
    }
  }
  if (!valid)
    return true;
  LayerInstance &layer = layers.emplace_back();
  declareShared(layer);
  layer.name = node.name.text;
  layer.path = names().join(node.name.text);
  layer.callee = *callable;
  layer.node = &node;
  layer.arguments = std::move(values);
  layer.attributes = attributes;
  Callable self;
  self.layer = &layer;
  bind(node.name.text, self, node.name.range);
  return true;
}

bool Evaluator::executeParameter(const ParameterStatement &node) {
  bind(node.name.text, Poison{}, node.name.range);
  mlir::RankedTensorType type = evaluateType(node.type);
  llvm::SaveAndRestore guard(wanted, std::optional(Category::Initialiser));
  Value init = evaluate(*node.init);
  if (!type || init.isPoison())
    return true;
  if (init.isTensor()) {
    error(node.init->range,
          "an initialiser is a number or such as normal(0, 0.02), found " + describe(init))
        .hint("the number fills it: " + node.name.text + ": ... = 0");
    return true;
  }
  if (!entry) {
    error(node.range, "a parameter stands in a model, or in a block that a model calls");
    return true;
  }
  if (!isFloat(dtypeOf(type.getElementType()))) {
    error(node.type.range,
          "a parameter is trained, so its dtype is a float, found " + describe(type));
    return true;
  }
  // As torch.nn.init counts them: axis 1 comes in, axis 0 goes out, the others are the window of
  // both.
  llvm::ArrayRef<int64_t> shape = type.getShape();
  int64_t window = shape.size() > 2 ? *elementCount(shape.drop_front(2)) : 1;
  int64_t fanIn = shape.size() > 1 ? shape[1] * window : type.getNumElements();
  int64_t fanOut = shape.size() > 1 ? shape[0] * window : type.getNumElements();
  std::string key = names().join(node.name.text);
  auto tensor = parameter(key, type, init, frame->attributes, fanIn, fanOut, node.name.range,
                          location(key, node.name.range));
  if (tensor)
    bind(node.name.text, *tensor, node.name.range);
  return true;
}

bool Evaluator::executeState(const StateStatement &node) {
  bind(node.name.text, Poison{}, node.name.range);
  BatchAxis batch;
  mlir::RankedTensorType type = evaluateType(node.type, &batch);
  Value init = node.init ? evaluate(*node.init) : Value(0);
  if (!type || init.isPoison())
    return true;
  if (!entry || !isInModel()) {
    error(node.range, "a state stands in a model, or in a block that a model calls");
    return true;
  }
  auto attribute = resolveInitialiser(*this, init, 1, 1, node.init ? node.init->range : node.range);
  std::string key = names().join(node.name.text);
  if (!attribute || !takeKey(key, node.name.range, /*maySharedRunAgain=*/false))
    return true;
  // One for each entry: training and inference carry their own, often of another size.
  std::string variable = (entry->name() + "." + key).str();
  mlir::Location where = location(key, node.name.range);
  program.states.push_back({variable, type, attribute, node.name.range, where});
  Tensor tensor;
  tensor.value = entry->read(variable, type, where);
  tensor.batch = batch;
  tensor.hasData = true;
  tensor.origin = makeOrigin(node.name.range, node.name.text.str(), tensor, /*isDeclaration=*/true);
  bind(node.name.text, tensor, node.name.range);
  frame->states.push_back({node.name.text, variable, type, node.name.range, frame->scopes.size()});
  return true;
}

void Evaluator::keepStates() {
  while (!frame->states.empty() && frame->states.back().scopes == frame->scopes.size()) {
    OpenState state = std::move(frame->states.back());
    frame->states.pop_back();
    const Bound *bound = lookupLocal(state.name);
    if (!bound || bound->value.isPoison())
      continue;
    if (bound->range == state.range) {
      error(state.range, "state '" + state.name + "' is never bound to its next value")
          .hint(state.name + " = ...");
      continue;
    }
    const Tensor *tensor = bound->value.getIf<Tensor>();
    if (tensor && tensor->type() == state.type) {
      entry->assign(state.variable, tensor->value, location(state.variable, bound->range));
      continue;
    }
    error(bound->range, "state '" + state.name + "' is carried as " + describe(state.type) +
                            ", here it becomes " +
                            (tensor ? describe(tensor->type()) : describe(bound->value)))
        .note(state.range, "declared here");
  }
}

// -------------------------------------------------------------------------------- bodies and loops

/// Runs what ends with its new names.
bool Evaluator::executeScoped(llvm::StringRef kind, llvm::function_ref<bool()> run) {
  frame->scopes.emplace_back();
  bool goOn = run();
  if (goOn)
    keepStates();
  for (const auto &[name, bound] : frame->scopes.back())
    frame->ended[name] = {bound.range, kind};
  frame->scopes.pop_back();
  return goOn;
}

bool Evaluator::executeTurn(const Name &label, llvm::StringRef kind, SourceRange range,
                            llvm::function_ref<bool()> run) {
  if (++turns > maxLoopTurns && !std::exchange(stopped, true))
    error(range, "loops run more than " + llvm::Twine(maxLoopTurns) + " times in all");
  if (stopped)
    return false;
  if (label.text.empty())
    return executeScoped(kind, run);
  NameScope scope;
  scope.prefix = names().join(names().next(label.text));
  llvm::SaveAndRestore guard(frame->names, &scope);
  return executeScoped(kind, run);
}

bool Evaluator::bindPattern(const Pattern &pattern, const Value &value, int64_t turn) {
  if (!pattern.name.empty()) {
    bind(pattern.name, value, pattern.range, turn);
    return true;
  }
  return bindPatterns(pattern.items, pattern.range, value, turn);
}

bool Evaluator::bindPatterns(llvm::ArrayRef<Pattern> patterns, SourceRange range,
                             const Value &value, int64_t turn) {
  size_t count = value.isSequence() ? value.items().size() : 0;
  if (count != patterns.size()) {
    error(range,
          "turn " + llvm::Twine(turn) + " of this loop has " +
              (value.isSequence() ? llvm::Twine(count) + " values" : llvm::Twine(describe(value))) +
              ", " + llvm::Twine(patterns.size()) + " names take them");
    return false;
  }
  for (auto [pattern, item] : llvm::zip(patterns, value.items()))
    if (!bindPattern(pattern, item, turn))
      return false;
  return true;
}

bool Evaluator::runLoop(const LoopHead &head, bool makesList, llvm::function_ref<bool()> run) {
  Value sequence = evaluate(*head.sequence);
  if (sequence.isPoison())
    return false;
  if (!sequence.isSequence()) {
    error(head.sequence->range, "'for' goes through a sequence, found " + describe(sequence))
        .hint(sequence.isInteger()  ? "range(" + shortText(head.sequence->range) + ")"
              : sequence.isTensor() ? "range(size(" + shortText(head.sequence->range) + ", 0))"
                                    : llvm::Twine(""));
    return false;
  }
  SourceRange patternRange = head.patterns.front().range.to(head.patterns.back().range);
  loops.push_back({0, head.range, makesList});
  bool goOn = true;
  for (auto [i, item] : llvm::enumerate(sequence.items())) {
    int64_t turn = loops.back().turn = i + 1;
    const Value &value = item;
    goOn = executeTurn(head.label, "for", head.range, [&] {
      bool isBound = head.patterns.size() == 1
                         ? bindPattern(head.patterns.front(), value, turn)
                         : bindPatterns(head.patterns, patternRange, value, turn);
      return isBound && run();
    });
    if (!goOn)
      break;
  }
  loops.pop_back();
  return goOn;
}

bool Evaluator::executeFor(const ForStatement &node) {
  return runLoop(node.head, /*makesList=*/false, [&] { return executeBody(node.body); });
}

bool Evaluator::executeRepeat(const RepeatStatement &node) {
  Value count = evaluate(*node.count);
  if (count.isPoison())
    return false;
  if (!count.isInteger() || count.integer() < 0) {
    error(node.count->range, "'repeat' takes an integer of 0 or more, found " + describe(count));
    return false;
  }
  loops.push_back({0, node.range, /*makesList=*/false});
  bool goOn = true;
  while (goOn && loops.back().turn < count.integer()) {
    ++loops.back().turn;
    goOn = executeTurn(node.label, "repeat", node.range, [&] { return executeBody(node.body); });
  }
  loops.pop_back();
  return goOn;
}

bool Evaluator::executeIf(const IfStatement &node) {
  bool condition;
  if (!conditionOf(*node.condition, condition))
    return false;
  return executeScoped("if",
                       [&] { return executeBody(condition ? node.thenBody : node.elseBody); });
}

bool Evaluator::executeAssert(const AssertStatement &node) {
  bool condition;
  if (!conditionOf(*node.condition, condition) || condition)
    return true;
  std::string message = "the assertion does not hold";
  if (node.message) {
    Value given = evaluate(*node.message);
    if (auto *words = given.getIf<std::string>())
      message = *words;
    else if (!given.isPoison())
      error(node.message->range, "the message of 'assert' is a string, found " + describe(given));
  }
  auto builder = error(node.condition->range, message);
  noteNames(builder, *node.condition);
  return false;
}

} // namespace dlc::frontend
