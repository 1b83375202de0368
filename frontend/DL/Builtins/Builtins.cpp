// The table put together, and how one finds and prints a row.
#include "frontend/DL/Builtins/Builtins.h"
#include "frontend/DL/Syntax/Diagnostics.h"
#include "frontend/DL/Syntax/Foreign.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <numbers>

namespace dlc::frontend {

llvm::StringRef describe(Category category) {
  switch (category) {
  case Category::Layer:
    return "layer";
  case Category::Function:
    return "function";
  case Category::Source:
    return "function";
  case Category::Loss:
    return "loss";
  case Category::Metric:
    return "metric";
  case Category::CompileTime:
    return "compile-time function";
  case Category::Optimizer:
    return "optimizer";
  case Category::Schedule:
    return "schedule";
  case Category::Clip:
    return "clip";
  case Category::Initialiser:
    return "initialiser";
  }
  return "";
}

static std::string textOf(const Value &value) {
  if (!value.isSequence())
    return text(value);
  std::string items;
  for (auto [i, item] : llvm::enumerate(value.items()))
    items += (i ? ", " : "") + textOf(item);
  return "(" + items + ")";
}

std::string defaultText(const BuiltinParam &param) { return textOf(param.defaultValue); }

unsigned Builtin::byPosition() const {
  if (positional)
    return *positional;
  unsigned required = llvm::count_if(params, [](auto &param) { return param.isRequired(); });
  switch (category) {
  case Category::CompileTime:
    return params.size();
  // One option, as in softmax(x, 1).
  case Category::Function:
    return std::min<unsigned>(params.size(), required + 1);
  // One number, as in adam(1e-3).
  case Category::Optimizer:
  case Category::Initialiser:
    return std::max(1u, required);
  default:
    return required;
  }
}

/// "stride=1", with a ", " before it, and the '*' that ends the arguments by position.
static std::string parameterText(const Builtin &builtin, size_t i) {
  const BuiltinParam &param = builtin.params[i];
  return std::string(i ? ", " : "") + (i == builtin.byPosition() ? "*, " : "") + param.name.str() +
         (param.isRequired() ? "" : "=" + textOf(param.defaultValue));
}

std::string Builtin::signature() const {
  // All that is required and two of the rest: enough to remember the order.
  unsigned optional = 0;
  std::string result = name.str() + "(";
  for (size_t i = 0; i < params.size(); ++i) {
    if (!params[i].isRequired() && ++optional > 2) {
      result += ", ...";
      break;
    }
    result += parameterText(*this, i);
  }
  return result + ")";
}

llvm::ArrayRef<Builtin> builtins() {
  static const std::vector<Builtin> table = [] {
    std::vector<Builtin> rows;
    for (auto *part :
         {layerBuiltins, recurrentBuiltins, normBuiltins, elementwiseBuiltins, tensorBuiltins,
          pixelBuiltins, lossBuiltins, compileTimeBuiltins, planBuiltins})
      for (Builtin &row : part())
        rows.push_back(std::move(row));
    return rows;
  }();
  return table;
}

const Builtin *findBuiltin(llvm::StringRef name) {
  static const llvm::StringMap<const Builtin *> byName = [] {
    llvm::StringMap<const Builtin *> map;
    for (const Builtin &row : builtins())
      map[row.name] = &row;
    return map;
  }();
  return byName.lookup(name);
}

std::string builtinTables() {
  const std::pair<llvm::StringRef, std::vector<Category>> parts[] = {
      {"Layers", {Category::Layer}},
      {"Functions of tensors", {Category::Function, Category::Source}},
      {"Losses", {Category::Loss}},
      {"Metrics", {Category::Metric}},
      {"At compile time", {Category::CompileTime}},
      {"Optimizers", {Category::Optimizer}},
      {"Schedules", {Category::Schedule}},
      {"Clips", {Category::Clip}},
      {"Initialisers", {Category::Initialiser}}};
  std::string text;
  for (const auto &[title, categories] : parts) {
    bool isLayer = title == "Layers";
    text += "\n### " + title.str() + "\n\n| call | " + (isLayer ? "name's part | " : "") +
            "what it is |\n|---|" + (isLayer ? "---|" : "") + "---|\n";
    for (const Builtin &row : builtins()) {
      if (!llvm::is_contained(categories, row.category))
        continue;
      text += "| `" + row.name.str() + "(";
      for (size_t i = 0; i < row.params.size(); ++i)
        text += parameterText(row, i);
      text += ")` | " + (isLayer ? row.nameWord().str() + " | " : "");
      std::string doc = row.doc.str();
      for (size_t at = 0; (at = doc.find('|', at)) != std::string::npos; at += 2)
        doc.insert(at, "\\");
      text += doc + " |\n";
    }
  }
  return text;
}

llvm::SmallVector<llvm::StringRef> builtinNames() {
  llvm::SmallVector<llvm::StringRef> names;
  for (const Builtin &builtin : builtins())
    names.push_back(builtin.name);
  return names;
}

llvm::SmallVector<llvm::StringRef> availableNames(Category category) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const Builtin &builtin : builtins())
    if (builtin.category == category)
      names.push_back(builtin.name);
  return names;
}

std::string availableList(Category category) { return llvm::join(availableNames(category), ", "); }

/// How a built-in is called, as short as it may be.
static std::string callText(const Builtin &builtin) {
  bool hasLength = llvm::any_of(builtin.params, [](auto &param) { return param.name == "epochs"; });
  return hasLength && builtin.byPosition() == 0 ? builtin.name.str() + "(epochs=10)"
                                                : builtin.signature();
}

std::string hintForPlan(const Value &value, Category category) {
  const Callable *callable = value.getIf<Callable>();
  const Builtin *builtin = callable ? callable->builtin : nullptr;
  if (builtin && builtin->category == category)
    return "call it: " + callText(*builtin);
  const std::string *word = value.getIf<std::string>();
  llvm::StringRef name = word      ? llvm::StringRef(*word)
                         : builtin ? llvm::StringRef(builtin->name)
                                   : llvm::StringRef();
  bool isOne = name.starts_with_insensitive("one"), isZero = name.starts_with_insensitive("zero");
  if (category == Category::Initialiser && (isOne || isZero || value.isTensor()))
    return std::string("a number fills it: ") + (isOne ? "1" : "0");
  if (!word)
    return "";
  llvm::SmallVector<llvm::StringRef> names = availableNames(category);
  llvm::StringRef native = nativeName(*word, names);
  if (native.empty())
    native = nearestName(*word, names);
  return native.empty() ? "one of " + availableList(category)
                        : "without '\"': " + callText(*findBuiltin(native));
}

llvm::ArrayRef<BuiltinConstant> builtinConstants() {
  static const std::vector<BuiltinConstant> constants{{"KiB", int64_t(1) << 10},
                                                      {"MiB", int64_t(1) << 20},
                                                      {"GiB", int64_t(1) << 30},
                                                      {"pi", std::numbers::pi},
                                                      {"tf32", DType::TF32}};
  return constants;
}

} // namespace dlc::frontend
