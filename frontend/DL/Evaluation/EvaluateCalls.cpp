// Calls: arguments and attributes are sorted out the same way for built-ins, blocks, models and
// layers.
#include "frontend/DL/Builtins/Call.h"
#include "frontend/DL/Syntax/Foreign.h"
#include "frontend/DL/Syntax/Lexer.h"

#include "llvm/ADT/StringExtras.h"

namespace dlc::frontend {

using namespace ast;

static constexpr llvm::StringLiteral layerAttributes[] = {"name",
                                                          "init",
                                                          "bias_init",
                                                          "lr_mult",
                                                          "decay_mult",
                                                          "frozen",
                                                          "precision",
                                                          "algorithm",
                                                          "backward_data_algorithm",
                                                          "backward_filter_algorithm",
                                                          "workspace"};

llvm::ArrayRef<llvm::StringLiteral> layerAttributeNames() { return layerAttributes; }
bool isLayerAttribute(llvm::StringRef name) { return llvm::is_contained(layerAttributes, name); }

// --------------------------------------------------------------------------------------- arguments

bool Evaluator::evaluateArguments(llvm::ArrayRef<Argument> arguments,
                                  std::vector<EvaluatedArgument> &result) {
  bool valid = true;
  for (const Argument &argument : arguments) {
    bool isInit = argument.name.text == "init" || argument.name.text == "bias_init";
    llvm::SaveAndRestore guard(wanted,
                               isInit ? std::optional(Category::Initialiser) : std::nullopt);
    Value value = evaluate(*argument.value);
    valid &= !value.isPoison();
    result.push_back({argument.name, std::move(value), argument.value->range});
  }
  return valid;
}

bool Evaluator::bindArguments(llvm::StringRef callee, SourceRange name,
                              llvm::ArrayRef<llvm::StringRef> params,
                              std::vector<EvaluatedArgument> &arguments,
                              std::vector<EvaluatedArgument> &slots,
                              llvm::function_ref<std::string()> signature,
                              llvm::ArrayRef<llvm::StringRef> attributeNames,
                              const Builtin *builtin) {
  std::vector<bool> given(params.size());
  slots.assign(params.size(), {});
  size_t next = 0, byPosition = builtin ? builtin->byPosition() : params.size();
  for (EvaluatedArgument &argument : arguments) {
    size_t slot = next;
    if (argument.name.text.empty()) {
      if (next == params.size()) {
        error(argument.range, callee + " takes " + counted(params.size(), "argument") + " at most")
            .hint(signature());
        return false;
      }
      if (next == byPosition) {
        error(argument.range,
              byPosition == 0
                  ? callee + " takes its arguments by name"
                  : callee + " takes " + counted(byPosition, "argument") +
                        " by position: " + llvm::join(params.take_front(byPosition), ", "))
            .hint(hintForPosition(*builtin, argument));
        return false;
      }
      ++next;
    } else {
      slot = llvm::find(params, argument.name.text) - params.begin();
      if (slot == params.size()) {
        llvm::SmallVector<llvm::StringRef> candidates(params);
        candidates.append(attributeNames.begin(), attributeNames.end());
        std::string hint = hintForArgument(argument.name.text, candidates);
        error(argument.name.range, callee + " has no argument '" + argument.name.text + "'")
            .hint(hint.empty() ? "it takes " + llvm::join(params, ", ") : hint);
        return false;
      }
    }
    if (given[slot]) {
      error(argument.name.text.empty() ? argument.range : argument.name.range,
            "'" + params[slot] + "' of " + callee + " is given twice");
      return false;
    }
    given[slot] = true;
    slots[slot] = std::move(argument);
  }
  return true;
}

bool Evaluator::requireArguments(llvm::StringRef callee, SourceRange name,
                                 llvm::ArrayRef<llvm::StringRef> params,
                                 llvm::ArrayRef<bool> required,
                                 llvm::ArrayRef<EvaluatedArgument> slots,
                                 llvm::function_ref<std::string()> signature) {
  for (auto [param, isRequired, slot] : llvm::zip(params, required, slots))
    if (isRequired && !slot.range.isValid()) {
      error(name, callee + " needs '" + param + "'").hint(signature());
      return false;
    }
  return true;
}

bool Evaluator::checkPath(const EvaluatedArgument &argument, OwnName &name) {
  const std::string *path = argument.value.getIf<std::string>();
  bool valid = path && !path->empty() && path->size() <= 200;
  if (valid) {
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(*path).split(parts, '.');
    for (llvm::StringRef part : parts)
      valid &=
          !part.empty() && llvm::all_of(part, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  }
  if (valid) {
    name = {*path, argument.range};
    return true;
  }
  error(argument.range,
        "a name is a string of letters, digits and '_', parts joined by '.', found " +
            describe(argument.value));
  return false;
}

bool Evaluator::takeAttribute(const EvaluatedArgument &argument, LayerAttributes &attributes,
                              OwnName &name) {
  llvm::StringRef word = argument.name.text;
  const Value &value = argument.value;
  if (word == "name")
    return checkPath(argument, name);
  if (word == "lr_mult" || word == "decay_mult") {
    if (value.isNumber() && value.number() >= 0) {
      (word == "lr_mult" ? attributes.lrMult : attributes.decayMult) *= value.number();
      return true;
    }
    error(argument.range, "'" + word + "' is a number of 0 or more, found " + describe(value));
    return false;
  }
  if (word == "frozen") {
    if (const bool *flag = value.getIf<bool>()) {
      attributes.frozen |= *flag;
      return true;
    }
    error(argument.range, "'frozen' is true or false, found " + describe(value));
    return false;
  }
  if (word == "init" || word == "bias_init") {
    const Plan *plan = value.getIf<Plan>();
    if (value.isNumber() || (plan && (*plan)->maker->category == Category::Initialiser)) {
      (word == "init" ? attributes.init : attributes.biasInit) = value;
      return true;
    }
    error(argument.range,
          "'" + word + "' is a number or such as normal(0, 0.02), found " + describe(value))
        .hint(hintForPlan(value, Category::Initialiser));
    return false;
  }
  error(argument.name.range, "the attribute '" + word + "' is not available yet");
  return false;
}

bool Evaluator::takeAttributes(std::vector<EvaluatedArgument> &arguments, bool all,
                               LayerAttributes &attributes, OwnName &name) {
  bool valid = true;
  llvm::erase_if(arguments, [&](const EvaluatedArgument &argument) {
    llvm::StringRef word = argument.name.text;
    if (word != "name" && !(all && isLayerAttribute(word)))
      return false;
    valid &= takeAttribute(argument, attributes, name);
    return true;
  });
  return valid;
}

// --------------------------------------------------------------------------------------- built-ins

static llvm::StringRef describeKind(ParamKind kind) {
  switch (kind) {
  case ParamKind::Any:
    return "a value";
  case ParamKind::Tensor:
    return "a tensor";
  case ParamKind::FloatTensor:
    return "a floating-point tensor";
  case ParamKind::IndexTensor:
    return "an i32 or i64 tensor";
  case ParamKind::Integer:
    return "an integer";
  case ParamKind::Number:
    return "a number";
  case ParamKind::Bool:
    return "true or false";
  case ParamKind::String:
    return "a string";
  case ParamKind::DType:
    return "a dtype";
  case ParamKind::Sequence:
    return "a sequence";
  case ParamKind::Integers:
    return "an integer or a sequence of integers";
  }
  return "";
}

static bool fits(ParamKind kind, const Value &value) {
  const Tensor *tensor = value.getIf<Tensor>();
  switch (kind) {
  case ParamKind::Any:
    return true;
  case ParamKind::Tensor:
    return tensor;
  case ParamKind::FloatTensor:
    return tensor && isFloat(tensor->dtype());
  case ParamKind::IndexTensor:
    return tensor && (tensor->dtype() == DType::I32 || tensor->dtype() == DType::I64);
  case ParamKind::Integer:
    return value.isInteger();
  case ParamKind::Number:
    return value.isNumber();
  case ParamKind::Bool:
    return value.is<bool>();
  case ParamKind::String:
    return value.is<std::string>();
  case ParamKind::DType:
    return value.is<DType>();
  case ParamKind::Sequence:
    return value.isSequence();
  case ParamKind::Integers:
    return value.isInteger() ||
           (value.isSequence() &&
            llvm::all_of(value.items(), [](const Value &v) { return v.isInteger(); }));
  }
  return false;
}

std::string Evaluator::hintForPosition(const Builtin &builtin,
                                       const EvaluatedArgument &argument) const {
  bool isLayer = builtin.category == Category::Layer;
  std::string hint = isLayer ? "the size of the input is known: leave it out"
                             : hintForValue(builtin.name, argument.value.isTensor(), "");
  size_t byPosition = builtin.byPosition();
  const BuiltinParam &param = builtin.params[byPosition];
  llvm::StringRef source = shortText(argument.range);
  // A number that came behind the size of the input is no epsilon.
  bool mayBeMeant = fits(param.kind, argument.value) && !source.empty() &&
                    (!isLayer || param.kind == ParamKind::Integers);
  if (mayBeMeant)
    return (hint.empty() ? "" : hint + "; or name it: ") + param.name.str() + "=" + source.str();
  // mean(x, 2, 3)
  const BuiltinParam *last = byPosition ? &builtin.params[byPosition - 1] : nullptr;
  if (!isLayer && last && last->kind == ParamKind::Integers && argument.value.isInteger())
    return last->name.str() + " is one argument, such as (4, 5)";
  return hint;
}

/// What may be meant by a value of another kind; may be empty.
static std::string hintForKind(const Builtin &builtin, const BuiltinParam &param,
                               const EvaluatedArgument &argument, llvm::StringRef source) {
  const Value &value = argument.value;
  bool wantsInteger = param.kind == ParamKind::Integer || param.kind == ParamKind::Integers;
  bool wantsNumber = wantsInteger || param.kind == ParamKind::Number;
  bool wantsTensor = param.kind == ParamKind::Tensor || param.kind == ParamKind::FloatTensor ||
                     param.kind == ParamKind::IndexTensor;
  const Callable *callable = value.getIf<Callable>();
  const Plan *plan = value.getIf<Plan>();
  const std::string *word = value.getIf<std::string>();
  double number;
  if (wantsInteger && value.is<double>() && !source.empty())
    return "int(" + source.str() + ")";
  bool isShort = word && word->size() <= 40;
  if (wantsNumber && isShort && !llvm::StringRef(*word).getAsDouble(number))
    return "without '\"': " + *word;
  if (wantsNumber && plan && (*plan)->maker->category == Category::Schedule)
    return "a setting of its own: schedule = " + (*plan)->maker->name.str() + "(...)";
  if (param.kind == ParamKind::Sequence && value.isNumber() && !source.empty())
    return "[" + source.str() + "]";
  if (param.kind == ParamKind::DType && word)
    return llvm::is_contained(dtypeWords(), *word) ? "without '\"': " + *word : hintForType(*word);
  if (param.kind == ParamKind::Bool && (value.isInteger() || value.isNone()))
    return value.isInteger() && value.integer() != 0 ? "true" : "false";
  if (wantsTensor && callable && callable->model)
    return ("call it: " + callable->model->block->name.text +
            "(...), or leave its name out: then 'output' is what it returns")
        .str();
  if (std::string habit = hintForValue(builtin.name, /*isTensor=*/false, source); !habit.empty())
    return habit;
  // Taken for another argument, as in linear(784, 300).
  return argument.name.text.empty() && builtin.params.size() > 1 ? builtin.signature() : "";
}

bool Evaluator::convertArgument(const Builtin &builtin, const BuiltinParam &param,
                                EvaluatedArgument &argument, SourceRange name) {
  const Value &value = argument.value;
  if ((param.orNone && value.isNone()) || fits(param.kind, value))
    return true;
  llvm::StringRef source = shortText(argument.range);
  std::string expected = describeKind(param.kind).str() + (param.orNone ? " or none" : "");
  if (const Tensor *tensor = value.getIf<Tensor>()) {
    bool wantsTensor = param.kind == ParamKind::FloatTensor || param.kind == ParamKind::IndexTensor;
    if (!wantsTensor) {
      errorAbout(argument.range,
                 "'" + param.name + "' expects " + expected + ", found " + describe(value), *tensor,
                 "the tensor")
          .hint(hintForValue(builtin.name, /*isTensor=*/true, source));
      return false;
    }
    llvm::StringRef cast = param.kind == ParamKind::FloatTensor ? "f32" : "i32";
    std::string message =
        (builtin.name + " expects " + expected + ", found " + describe(tensor->type())).str();
    bool sameDType = tensor->origin && tensor->origin->dtype == tensor->dtype();
    auto builder = sameDType ? errorAbout(name, message, *tensor, describe(tensor->type()))
                             : error(name, message);
    bool isLogits = param.name == "logits" && !isFloat(tensor->dtype());
    builder.hint(isLogits         ? builtin.signature()
                 : source.empty() ? "cast it with " + cast.str() + "(...)"
                                  : (cast + "(" + source + ")").str());
    return false;
  }
  error(argument.range, "'" + param.name + "' expects " + expected + ", found " + describe(value))
      .hint(hintForKind(builtin, param, argument, source));
  return false;
}

/// Sizes and axes are one argument: reshape(x, (4, 5)), not reshape(x, 4, 5).
static std::string hintForList(const Builtin &builtin,
                               llvm::ArrayRef<EvaluatedArgument> arguments) {
  if (builtin.params.empty() || arguments.size() <= builtin.params.size())
    return "";
  const BuiltinParam &last = builtin.params.back();
  bool isList = last.kind == ParamKind::Sequence || last.kind == ParamKind::Integers;
  return isList ? ": " + last.name.str() + " is one argument, such as (4, 5)" : "";
}

/// Categories that are few enough to be listed, and of which another one will do.
static bool listsAlternatives(Category category) {
  return category == Category::Optimizer || category == Category::Metric ||
         category == Category::Loss;
}

static bool takesLayerAttributes(const Builtin &builtin) {
  return builtin.category == Category::Layer;
}
static bool takesName(const Builtin &builtin) {
  switch (builtin.category) {
  case Category::Layer:
  case Category::Function:
  case Category::Source:
  case Category::Loss:
  case Category::Metric:
    return true;
  default:
    return false;
  }
}

Value Evaluator::callBuiltin(const Builtin &builtin, SourceRange name,
                             std::vector<EvaluatedArgument> arguments, LayerInstance *layer) {
  if (!builtin.build) {
    error(name, builtin.name + " is not available yet")
        .hint(listsAlternatives(builtin.category) ? "there is " + availableList(builtin.category)
                                                  : "");
    return Poison{};
  }
  if (!entry && builtin.category == Category::Source) {
    error(name, "this must be known at compile time, " + builtin.name + " makes a tensor")
        .hint("a model or a block may make it");
    return Poison{};
  }
  LayerAttributes attributes = layer ? layer->attributes : frame->attributes;
  OwnName ownName;
  if (takesName(builtin) &&
      !takeAttributes(arguments, takesLayerAttributes(builtin), attributes, ownName))
    return Poison{};
  llvm::SmallVector<llvm::StringRef> params;
  llvm::SmallVector<bool> required;
  for (const BuiltinParam &param : builtin.params) {
    params.push_back(param.name);
    required.push_back(param.isRequired());
  }
  llvm::SmallVector<llvm::StringRef> attributeNames;
  if (takesLayerAttributes(builtin))
    attributeNames.assign(std::begin(layerAttributes), std::end(layerAttributes));
  std::vector<EvaluatedArgument> slots;
  auto signature = [&] { return builtin.signature() + hintForList(builtin, arguments); };
  if (!bindArguments(builtin.name, name, params, arguments, slots, signature, attributeNames,
                     &builtin))
    return Poison{};
  for (auto [param, slot] : llvm::zip(builtin.params, slots))
    if (slot.range.isValid() && !convertArgument(builtin, param, slot, name))
      return Poison{};
  if (!requireArguments(builtin.name, name, params, required, slots, signature))
    return Poison{};
  for (auto [param, slot] : llvm::zip(builtin.params, slots))
    if (!slot.range.isValid())
      slot = {{}, param.defaultValue, name};
  Call call(*this, builtin, name, std::move(slots));
  call.attributes = attributes;
  if (layer)
    call.setPath(layer->path, {});
  else if (!ownName.path.empty())
    call.setPath(names().join(ownName.path), ownName.range);
  for (const BuiltinParam &param : builtin.params)
    if (param.isDefaultOnly && !call.requireDefault(param.name))
      return Poison{};
  Value result = builtin.build(call);
  if (builtin.name != "softmax" && builtin.name != "sigmoid")
    return result;
  if (const Tensor *tensor = result.getIf<Tensor>()) {
    Tensor marked = *tensor;
    marked.activation = builtin.name;
    return marked;
  }
  return result;
}

// ------------------------------------------------------------------------------- blocks and models

std::string Evaluator::signatureOf(const Block &block) {
  std::string text = block.name.text.str() + "(";
  for (auto [i, param] : llvm::enumerate(block.params)) {
    text += (i ? ", " : "") + param.name.text.str();
    if (param.defaultValue)
      text += "=" + program.sources.text(param.defaultValue->range).str();
  }
  return text.size() > 80 ? text.substr(0, 77) + "..." : text + ")";
}

bool Evaluator::enterCall(const Block &block, SourceRange range) {
  unsigned levels = 0;
  for (const Frame *outer = frame; outer; outer = outer->parent, ++levels)
    if (outer->block == &block) {
      error(range, "'" + block.name.text + "' calls itself")
          .note(block.name.range, "declared here");
      return false;
    }
  if (levels > maxCallDepth) {
    if (!std::exchange(stopped, true))
      error(range, "blocks are called more than " + llvm::Twine(maxCallDepth) + " levels deep");
    return false;
  }
  if (++blockCalls > maxBlockCalls && !std::exchange(stopped, true))
    error(range, "blocks are called more than " + llvm::Twine(maxBlockCalls) + " times");
  return !stopped;
}

/// Runs the body in the current frame, whose first scope holds the parameters.
Value Evaluator::runBody(const Block &block) {
  llvm::SaveAndRestore guard(wanted, std::optional<Category>());
  if (!executeBody(block.body.drop_back()))
    return Poison{};
  keepStates();
  const auto &last = llvm::cast<ReturnStatement>(*block.body.back());
  if (last.values.size() == 1)
    return evaluate(*last.values.front());
  std::vector<Value> values;
  bool failed = false;
  for (const Expr *value : last.values) {
    values.push_back(evaluate(*value));
    failed |= values.back().isPoison();
  }
  return failed ? Value(Poison{}) : makeSequence(std::move(values), last.range);
}

Value Evaluator::callBlock(const Block &block, Module &module, SourceRange name,
                           std::vector<EvaluatedArgument> arguments, LayerInstance *layer) {
  LayerAttributes attributes = layer ? layer->attributes : frame->attributes;
  OwnName ownName;
  llvm::SmallVector<llvm::StringRef> params;
  llvm::SmallVector<bool> required;
  for (const Param &param : block.params) {
    params.push_back(param.name.text);
    required.push_back(!param.defaultValue);
  }
  llvm::SmallVector<llvm::StringRef> attributeNames(std::begin(layerAttributes),
                                                    std::end(layerAttributes));
  std::vector<EvaluatedArgument> slots;
  auto signature = [&] { return signatureOf(block); };
  if (!enterCall(block, name) || !takeAttributes(arguments, true, attributes, ownName) ||
      !bindArguments(block.name.text, name, params, arguments, slots, signature, attributeNames) ||
      !requireArguments(block.name.text, name, params, required, slots, signature))
    return Poison{};

  NameScope scope;
  std::string part = ownName.path.empty() && !layer ? names().next(block.name.text) : ownName.path;
  scope.prefix = layer ? layer->path : names().join(part);
  callFrames.push_back({frame->call, name, block.name.text, scope.prefix});
  Frame own;
  own.module = &module;
  own.block = &block;
  own.body = block.body;
  own.call = &callFrames.back();
  own.parent = frame;
  own.names = &scope;
  own.attributes = attributes;
  own.scopes.emplace_back();
  own.seesDimensions = block.isModel;
  llvm::SaveAndRestore guard(frame, &own);
  for (auto [param, slot] : llvm::zip(block.params, slots)) {
    if (!slot.range.isValid())
      slot = {{}, evaluate(*param.defaultValue), param.name.range};
    if (slot.value.isPoison() || (param.type && !checkType(slot.value, *param.type, slot.range,
                                                           "'" + param.name.text + "' is")))
      return Poison{};
    bind(param.name.text, slot.value, slot.range);
  }
  return checkResults(block, runBody(block));
}

Value Evaluator::callModel(ModelInstance &model, llvm::ArrayRef<EvaluatedArgument> given,
                           SourceRange range, bool implicit) {
  const Block &block = *model.block;
  std::vector<EvaluatedArgument> arguments(given), slots;
  llvm::SmallVector<llvm::StringRef> params;
  for (const Param &param : block.params)
    if (param.type)
      params.push_back(param.name.text);
  llvm::SmallVector<bool> required(params.size(), true);
  auto signature = [&] { return signatureOf(block); };
  if (!enterCall(block, range) ||
      !bindArguments(block.name.text, range, params, arguments, slots, signature, {}) ||
      !requireArguments(block.name.text, range, params, required, slots, signature))
    return Poison{};
  NameScope scope;
  scope.prefix = model.prefix;
  callFrames.push_back(
      {frame->call, implicit ? SourceRange() : range, block.name.text, model.prefix});
  ++model.activation;
  activeShared.push_back(&model);
  Frame own;
  own.module = model.module;
  own.block = &block;
  own.body = block.body;
  own.call = &callFrames.back();
  own.parent = frame;
  own.names = &scope;
  own.scopes.emplace_back();
  own.seesDimensions = true;
  llvm::SaveAndRestore guard(frame, &own);
  for (const Param &param : block.params)
    if (!param.type)
      bind(param.name.text, model.settings.lookup(param.name.text), param.name.range);
  bool valid = true;
  for (const Param &param : block.params) {
    if (!param.type)
      continue;
    const EvaluatedArgument &slot = slots[llvm::find(params, param.name.text) - params.begin()];
    valid &= checkType(slot.value, *param.type, slot.range, "'" + param.name.text + "' is");
    bind(param.name.text, slot.value, param.name.range);
  }
  Value result = valid ? checkResults(block, runBody(block)) : Value(Poison{});
  activeShared.pop_back();
  return result;
}

Value Evaluator::checkResults(const Block &block, Value result) {
  if (!block.isModel || result.isPoison())
    return result;
  const auto &last = llvm::cast<ReturnStatement>(*block.body.back());
  std::string what = block.name.text.str() + " returns";
  if (block.results.single) {
    SourceRange range = last.values.size() == 1 ? valueRange(*last.values.front()) : last.range;
    if (result.isSequence()) {
      error(range, what + " " + counted(result.items().size(), "value") + ", declared is one")
          .hint("several results have names: -> (a: f32[N, 10], b: f32[N, 2])")
          .note(block.results.range, "declared here");
      return Poison{};
    }
    return checkType(result, *block.results.single, range, what) ? result : Value(Poison{});
  }
  llvm::ArrayRef<Field> fields = block.results.fields;
  size_t count = result.isSequence() ? result.items().size() : 1;
  if (count != fields.size()) {
    error(last.range,
          what + " " + counted(count, "value") + ", declared are " + llvm::Twine(fields.size()))
        .note(block.results.range, "declared here");
    return Poison{};
  }
  for (auto [i, field] : llvm::enumerate(fields)) {
    SourceRange range =
        last.values.size() == fields.size() ? valueRange(*last.values[i]) : last.range;
    const Value &value = result.isSequence() ? result.items()[i] : result;
    if (!checkType(value, field.type, range, "'" + field.name.text + "' is"))
      return Poison{};
  }
  return result;
}

// ------------------------------------------------------------------------------------------ layers

/// Fills the holes of `layer f = ...` in order and calls what it stands for, under the layer's
/// path.
Value Evaluator::callLayer(LayerInstance &layer, SourceRange name,
                           std::vector<EvaluatedArgument> given) {
  std::vector<EvaluatedArgument> arguments;
  size_t next = 0, holeCount = llvm::count_if(layer.node->arguments, [](const Argument &argument) {
                     return llvm::isa<HoleExpr>(argument.value);
                   });
  if (given.size() != holeCount ||
      llvm::any_of(given, [](auto &each) { return !each.name.text.empty(); })) {
    error(name, "layer '" + layer.name + "' takes " + counted(holeCount, "value") +
                    ", one for each '_', found " + llvm::Twine(given.size()))
        .hint(holeCount ? ""
                        : "layer " + layer.name + " = " + layer.node->callee.text +
                              "(_, ...): '_' is the value to come")
        .note(layer.node->name.range, "declared here");
    return Poison{};
  }
  for (auto [argument, value] : llvm::zip(layer.node->arguments, layer.arguments)) {
    bool isHole = llvm::isa<HoleExpr>(argument.value);
    Value filled = isHole ? given[next].value : value;
    SourceRange range = isHole ? given[next].range : argument.value->range;
    next += isHole;
    arguments.push_back({argument.name, std::move(filled), range});
  }
  ++layer.activation;
  activeShared.push_back(&layer);
  Value result = layer.callee.builtin
                     ? callBuiltin(*layer.callee.builtin, name, std::move(arguments), &layer)
                     : callBlock(*layer.callee.block, *layer.callee.module, name,
                                 std::move(arguments), &layer);
  activeShared.pop_back();
  layer.hasFailed |= result.isPoison();
  return result;
}

// ------------------------------------------------------------------------------------------- calls

Value Evaluator::call(const Callable &callee, SourceRange name,
                      std::vector<EvaluatedArgument> arguments) {
  EvaluationObserver *observer = program.options.observer;
  size_t before = program.variables.size();
  Value result = callUnwatched(callee, name, std::move(arguments));
  observeValue(name, result);
  if (observer && name.isValid()) {
    int64_t count = 0;
    for (const auto &variable : llvm::ArrayRef(program.variables).drop_front(before))
      count += variable->type.getNumElements();
    observer->onCall(name, count);
  }
  return result;
}

Value Evaluator::callUnwatched(const Callable &callee, SourceRange name,
                               std::vector<EvaluatedArgument> arguments) {
  if (!spend(1, name) ||
      llvm::any_of(arguments, [](const auto &each) { return each.value.isPoison(); }))
    return Poison{};
  if (callee.builtin)
    return callBuiltin(*callee.builtin, name, std::move(arguments), nullptr);
  if (callee.layer)
    return callLayer(*callee.layer, name, std::move(arguments));
  if (callee.model)
    return callModel(*callee.model, arguments, name, /*implicit=*/false);
  return callBlock(*callee.block, *callee.module, name, std::move(arguments), nullptr);
}

Value Evaluator::evaluateCall(const CallExpr &node) {
  Value callee = evaluate(*node.callee);
  std::vector<EvaluatedArgument> arguments;
  if (!evaluateArguments(node.arguments, arguments) || callee.isPoison())
    return Poison{};
  if (auto *dtype = callee.getIf<DType>()) {
    Callable cast;
    cast.builtin = findBuiltin(spelling(*dtype));
    return call(cast, node.callee->range, std::move(arguments));
  }
  if (auto *callable = callee.getIf<Callable>())
    return call(*callable, node.callee->range, std::move(arguments));
  errorNotCallable(node.callee->range, "this", callee);
  return Poison{};
}

void Evaluator::errorNotCallable(SourceRange range, const llvm::Twine &what, const Value &callee) {
  auto builder = error(range, what + " cannot be called: it is " + describe(callee));
  llvm::StringRef name = program.sources.text(range);
  const Bound *bound = lookupLocal(name);
  if (bound && findBuiltin(name))
    builder.note(bound->range, "'" + name + "' is bound here, which hides the built-in");
}

} // namespace dlc::frontend
