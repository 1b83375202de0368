// Arguments and attributes of calls: sorted out the same way for built-ins, blocks, models and
// layers.
#include "frontend/DL/Evaluation/Evaluator.h"
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
        const SourceRange first = arguments.front().range;
        const bool isPiped = next == 1 && first.file == name.file && first.begin < name.begin;
        error(argument.range, callee + " takes " + counted(params.size(), "argument") + " at most")
            .hint(signature() + (isPiped ? ", whose first one is what |> hands over" : ""));
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
  if (word == "algorithm")
    return takeAlgorithm(argument, attributes.algorithm);
  if (word == "backward_data_algorithm")
    return takeAlgorithm(argument, attributes.backwardDataAlgorithm);
  if (word == "backward_filter_algorithm")
    return takeAlgorithm(argument, attributes.backwardFilterAlgorithm);
  if (word == "workspace") {
    if (value.is<int64_t>() && value.integer() >= 0) {
      attributes.workspace = value.integer();
      return true;
    }
    error(argument.range,
          "'workspace' is a number of bytes such as 8 * MiB, found " + describe(value));
    return false;
  }
  assert(word == "precision" && "all other words are above");
  const DType *dtype = value.getIf<DType>();
  if (dtype && isPrecision(*dtype)) {
    attributes.precision = elementType(*dtype, &program.context);
    return true;
  }
  error(argument.range, "'precision' is " + precisionList + ", found " + describe(value))
      .hint(hintForPrecision(value));
  return false;
}

/// Ours, as the language lists them.
static constexpr llvm::StringLiteral algorithmNames =
    "\"heuristic\", \"direct\", \"gemm\", \"winograd\" or \"fft\"";

bool Evaluator::takeAlgorithm(const EvaluatedArgument &argument,
                              std::optional<dl::ConvolutionAlgorithm> &algorithm) {
  const std::string *word = argument.value.getIf<std::string>();
  if (word && (algorithm = dl::symbolizeConvolutionAlgorithm(*word)))
    return true;
  if (const ForeignAlgorithm *foreign = word ? findForeignAlgorithm(*word) : nullptr) {
    algorithm = dl::symbolizeConvolutionAlgorithm(foreign->native);
    program.engine
        .warning(argument.range, "'" + *word + "' is " + foreign->whose + "'s name, taken as \"" +
                                     foreign->native + "\"")
        .hint(foreign->hint.empty() ? "write \"" + foreign->native + "\"" : foreign->hint.str());
    return true;
  }
  error(argument.range, "'" + argument.name.text + "' is " + algorithmNames + ", found " +
                            describe(argument.value));
  return false;
}

dl::WishAttr LayerAttributes::wish(mlir::MLIRContext *context, bool transposed) const {
  if (!algorithm && !backwardDataAlgorithm && !backwardFilterAlgorithm && !workspace)
    return nullptr;
  const dl::ConvolutionAlgorithm all = algorithm.value_or(dl::ConvolutionAlgorithm::Heuristic);
  dl::ConvolutionAlgorithm forward = all, backwardData = backwardDataAlgorithm.value_or(all);
  if (transposed)
    std::swap(forward, backwardData);
  return dl::WishAttr::get(context, forward, backwardData, backwardFilterAlgorithm.value_or(all),
                           workspace);
}

bool Evaluator::takeAttributes(std::vector<EvaluatedArgument> &arguments, bool all,
                               LayerAttributes &attributes, OwnName &name) {
  bool valid = true;
  // All directions, whatever a block around says of one.
  if (all && llvm::any_of(arguments, [](const auto &one) { return one.name.text == "algorithm"; }))
    attributes.backwardDataAlgorithm = attributes.backwardFilterAlgorithm = std::nullopt;
  llvm::erase_if(arguments, [&](const EvaluatedArgument &argument) {
    llvm::StringRef word = argument.name.text;
    if (word != "name" && !(all && isLayerAttribute(word)))
      return false;
    valid &= takeAttribute(argument, attributes, name);
    return true;
  });
  return valid;
}

} // namespace dlc::frontend
