// The table put together, and how one finds and prints a row.
#include "frontend/DL/Builtins.h"

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

std::string Builtin::signature() const {
  // All that is required and two of the rest: enough to remember the order.
  unsigned optional = 0;
  std::string result = name.str() + "(";
  for (auto [i, param] : llvm::enumerate(params)) {
    if (!param.isRequired() && ++optional > 2) {
      result += ", ...";
      break;
    }
    result += (i ? ", " : "") + param.name.str();
    if (!param.isRequired())
      result += "=" + textOf(param.defaultValue);
  }
  return result + ")";
}

llvm::ArrayRef<Builtin> builtins() {
  static const std::vector<Builtin> table = [] {
    std::vector<Builtin> rows;
    for (auto *part : {layerBuiltins, normBuiltins, elementwiseBuiltins, tensorBuiltins, pixelBuiltins,
                       lossBuiltins, compileTimeBuiltins, planBuiltins})
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
      for (auto [i, param] : llvm::enumerate(row.params))
        text += (i ? ", " : "") + param.name.str() +
                (param.isRequired() ? "" : "=" + defaultText(param));
      text += ")` | " + (isLayer ? row.nameWord().str() + " | " : "");
      std::string doc = row.doc.str();
      for (size_t at = 0; (at = doc.find('|', at)) != std::string::npos; at += 2)
        doc.insert(at, "\\");
      text += doc + (row.build ? "" : " *(not available yet)*") + " |\n";
    }
  }
  return text;
}

llvm::ArrayRef<BuiltinConstant> builtinConstants() {
  static const std::vector<BuiltinConstant> constants{{"KiB", int64_t(1) << 10},
                                                      {"MiB", int64_t(1) << 20},
                                                      {"GiB", int64_t(1) << 30},
                                                      {"pi", std::numbers::pi}};
  return constants;
}

} // namespace dlc::frontend
