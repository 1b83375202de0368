// Calls of built-ins: their arguments are converted and checked, and what else was meant is said.
#include "frontend/DL/Builtins/Call.h"
#include "frontend/DL/Syntax/Foreign.h"
#include "frontend/DL/Syntax/Lexer.h"

#include "llvm/ADT/StringExtras.h"

namespace dlc::frontend {

using namespace ast;

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
    return value.is<DType>() && isElement(value.as<DType>());
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

/// A sequence that begins with the number given, with what its others are by default.
static std::string sequenceFrom(const BuiltinParam &param, llvm::StringRef source) {
  const Value &standard = param.defaultValue;
  if (!standard.isSequence() || standard.items().size() < 2)
    return "[" + source.str() + "]";
  std::string sequence = "(" + source.str();
  for (const Value &other : standard.items().drop_front())
    sequence += ", " + text(other);
  return sequence + ")";
}

/// What may be meant by a value of another kind; may be empty.
static std::string hintForKind(const Builtin &builtin, const BuiltinParam &param,
                               const EvaluatedArgument &argument, llvm::StringRef source) {
  const Value &value = argument.value;
  bool wantsInteger = param.kind == ParamKind::Integer || param.kind == ParamKind::Integers;
  bool wantsNumber = wantsInteger || param.kind == ParamKind::Number;
  bool wantsTensor = param.kind == ParamKind::Tensor || param.kind == ParamKind::FloatTensor ||
                     param.kind == ParamKind::IndexTensor;
  if (std::string hint = wantsTensor ? hintForResults(value, source) : ""; !hint.empty())
    return hint;
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
    return sequenceFrom(param, source);
  if (param.kind == ParamKind::DType && value.is<DType>())
    return "a precision of products: precision=" + text(value);
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
    // What a call is made on needs no name.
    bool isFirst = &param == &builtin.params.front();
    std::string message = (isFirst ? builtin.name.str() : "'" + param.name.str() + "'") +
                          " expects " + expected + ", found " + describe(tensor->type());
    SourceRange place = isFirst ? name : argument.range;
    bool sameDType = tensor->origin && tensor->origin->dtype == tensor->dtype();
    auto builder = sameDType ? errorAbout(place, message, *tensor, describe(tensor->type()))
                             : error(place, message);
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

/// concat(a, b) instead of concat([a, b])
static bool isSpread(const Builtin &builtin, llvm::ArrayRef<EvaluatedArgument> arguments) {
  return builtin.category == Category::Function &&
         builtin.params.front().kind == ParamKind::Sequence && !arguments.empty() &&
         arguments.front().name.text.empty() && arguments.front().value.isTensor();
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

/// Whether the attribute says how a convolution is computed, which this layer has none of.
static bool isForConvolutions(const Builtin &builtin, llvm::StringRef attribute) {
  return takesLayerAttributes(builtin) && !builtin.name.starts_with("conv") &&
         (attribute.ends_with("algorithm") || attribute == "workspace");
}

/// Where `word` is given, an invalid range where it is not.
static SourceRange rangeOf(llvm::StringRef word, llvm::ArrayRef<EvaluatedArgument> arguments) {
  const auto *given = llvm::find_if(
      arguments, [&](const EvaluatedArgument &argument) { return argument.name.text == word; });
  return given == arguments.end() ? SourceRange() : given->name.range;
}

/// Whether the layer has the weight whose initial values `word` says, at `given` if it does. False
/// after an error.
static bool checkUsed(const Call &call, llvm::StringRef word, SourceRange given) {
  const bool isBias = word == "bias_init";
  if (!given.isValid() || (isBias ? call.makesBias : call.makesWeight))
    return true;
  call.evaluator.error(given, "'" + word + "' has no effect: this " + call.builtin.name +
                                  " has no " + (isBias ? "bias" : "weight") + " of its own");
  return false;
}

Value Evaluator::callBuiltin(const Builtin &builtin, SourceRange name,
                             std::vector<EvaluatedArgument> arguments, LayerInstance *layer) {
  if (!entry && builtin.category == Category::Source) {
    error(name, "this must be known at compile time, " + builtin.name + " makes a tensor")
        .hint("a model or a block may make it");
    return Poison{};
  }
  LayerAttributes attributes = layer ? layer->attributes : frame->attributes;
  for (const EvaluatedArgument &argument : arguments)
    if (isForConvolutions(builtin, argument.name.text)) {
      error(argument.name.range,
            "'" + argument.name.text + "' is for convolutions, " + builtin.name + " is none");
      return Poison{};
    }
  const SourceRange init = rangeOf("init", arguments), biasInit = rangeOf("bias_init", arguments);
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
    attributeNames.assign(layerAttributeNames().begin(), layerAttributeNames().end());
  std::vector<EvaluatedArgument> slots;
  auto signature = [&] { return builtin.signature() + hintForList(builtin, arguments); };
  if (isSpread(builtin, arguments)) {
    std::string list;
    for (const EvaluatedArgument &argument : arguments) {
      if (!argument.name.text.empty() || !argument.value.isTensor())
        break;
      llvm::StringRef source = shortText(argument.range);
      list += (list.empty() ? "" : ", ") + (source.empty() ? "..." : source.str());
    }
    errorAbout(arguments.front().range,
               "'" + builtin.params.front().name + "' expects a sequence, found " +
                   describe(arguments.front().value),
               arguments.front().value.as<Tensor>(), "the tensor")
        .hint(builtin.name + "([" + list + "])");
    return Poison{};
  }
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
  mlir::Type unmarked;
  llvm::SaveAndRestore guard(entry ? entry->marker.precision : unmarked, attributes.precision);
  Value result = builtin.build(call);
  bool givesSeveral = builtin.category == Category::Layer || builtin.category == Category::Function;
  if (givesSeveral && result.isSequence()) {
    SequenceValue results = *result.as<Sequence>();
    results.maker = &builtin;
    result = Sequence(std::make_shared<const SequenceValue>(std::move(results)));
  }
  if (!result.isPoison() && takesLayerAttributes(builtin) &&
      !(checkUsed(call, "init", init) && checkUsed(call, "bias_init", biasInit)))
    return Poison{};
  if (builtin.name != "softmax" && builtin.name != "sigmoid")
    return result;
  if (const Tensor *tensor = result.getIf<Tensor>()) {
    Tensor marked = *tensor;
    marked.activation = builtin.name;
    return marked;
  }
  return result;
}

} // namespace dlc::frontend
