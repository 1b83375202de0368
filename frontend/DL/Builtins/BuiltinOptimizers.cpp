// Optimizers: the rows, checks and attributes of the rules in dialects/DL/Rules/Optimizers.cpp.
// Nothing here knows one of them by name.
#include "frontend/DL/Builtins/BuiltinOptimizers.h"
#include "dialects/DL/Rules/Optimizers.h"
#include "frontend/DL/Builtins/Call.h"

namespace dlc::frontend {

/// What the language calls the parameter that holds a setting.
static llvm::StringLiteral parameterName(const dl::OptimizerSetting &setting) {
  return setting.sequence.empty() ? setting.name : setting.sequence;
}

/// The settings that the parameter `name` holds: one, or those of a sequence.
static llvm::SmallVector<const dl::OptimizerSetting *> settingsOf(const dl::OptimizerRule &rule,
                                                                  llvm::StringRef name) {
  llvm::SmallVector<const dl::OptimizerSetting *> settings;
  for (const dl::OptimizerSetting &setting : rule.settings)
    if (parameterName(setting) == name)
      settings.push_back(&setting);
  return settings;
}

/// The items of a sequence; else the value itself.
static llvm::ArrayRef<Value> partsOf(const Value &value) {
  return value.isSequence() ? value.items() : llvm::ArrayRef(value);
}

static double settingValue(const Value &value) {
  const bool *flag = value.getIf<bool>();
  return flag ? *flag : value.number();
}

static bool isAllowed(const dl::OptimizerSetting &setting, const Value &value) {
  return setting.isFlag || (value.isNumber() && setting.isAllowed(value.number()));
}

/// Numbers within the ranges of the rule's settings, which fit each other.
static Value keepOptimizer(Call &call) {
  const dl::OptimizerRule &rule = *dl::findOptimizer(call.builtin.name);
  llvm::StringMap<double> values;
  for (const BuiltinParam &param : call.builtin.params) {
    auto settings = settingsOf(rule, param.name);
    llvm::ArrayRef<Value> parts = partsOf(call.value(param.name));
    auto refuse = [&](const Value &found) {
      std::string count =
          settings.size() > 1 ? std::to_string(settings.size()) + " numbers of " : "";
      return call.fail(param.name, "'" + param.name + "' is " + count +
                                       settings.front()->describeRange() + ", found " +
                                       text(found));
    };
    if (parts.size() != settings.size())
      return refuse(call.value(param.name));
    for (auto [setting, part] : llvm::zip_equal(settings, parts))
      if (!isAllowed(*setting, part))
        return refuse(part);
    for (auto [setting, part] : llvm::zip_equal(settings, parts))
      values[setting->name] = settingValue(part);
  }
  if (rule.check)
    if (auto mistake = rule.check([&](llvm::StringRef name) { return values.lookup(name); }))
      return call.fail(mistake->first, mistake->second);
  return keep(call);
}

/// A number as one would write it: 0, not 0.0.
static Value plainNumber(double number) {
  return number == double(int64_t(number)) ? Value(int64_t(number)) : Value(number);
}

/// The parameter that begins with `setting`.
static BuiltinParam parameterOf(const dl::OptimizerRule &rule,
                                const dl::OptimizerSetting &setting) {
  using K = ParamKind;
  if (setting.isFlag)
    return {setting.name, K::Bool, *setting.defaultValue != 0};
  if (setting.sequence.empty())
    return {setting.name, K::Number,
            setting.defaultValue ? plainNumber(*setting.defaultValue) : Value()};
  std::vector<Value> numbers;
  for (const dl::OptimizerSetting *each : settingsOf(rule, setting.sequence))
    numbers.push_back(plainNumber(*each->defaultValue));
  return {setting.sequence, K::Sequence, numbers};
}

std::vector<Builtin> optimizerBuiltins() {
  std::vector<Builtin> rows;
  for (const dl::OptimizerRule &rule : dl::optimizerRules()) {
    Builtin row{rule.name, Category::Optimizer, {}, rule.doc, rule.body ? keepOptimizer : nullptr};
    for (const dl::OptimizerSetting &setting : rule.settings)
      if (row.params.empty() || row.params.back().name != parameterName(setting))
        row.params.push_back(parameterOf(rule, setting));
    rows.push_back(std::move(row));
  }
  return rows;
}

dl::OptimizerAttr optimizerAttribute(mlir::MLIRContext *context, const PlanValue &plan) {
  const dl::OptimizerRule &rule = *dl::findOptimizer(plan.maker->name);
  mlir::Builder builder(context);
  llvm::SmallVector<mlir::NamedAttribute> settings;
  for (auto [param, argument] : llvm::zip(plan.maker->params, plan.arguments))
    for (auto [setting, part] : llvm::zip_equal(settingsOf(rule, param.name), partsOf(argument))) {
      double value = settingValue(part);
      if (setting->defaultValue == value)
        continue;
      mlir::Attribute attribute = setting->isFlag ? mlir::Attribute(builder.getBoolAttr(value != 0))
                                                  : builder.getF64FloatAttr(value);
      settings.push_back(builder.getNamedAttr(setting->name, attribute));
    }
  return dl::OptimizerAttr::get(context, rule.name, builder.getDictionaryAttr(settings));
}

} // namespace dlc::frontend
