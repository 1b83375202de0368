// What is read from a section before its evaluation: compile-time settings, dimensions, and the
// uses of names.
#include "frontend/DL/Sections/Sections.h"
#include "frontend/DL/Syntax/Foreign.h"
#include "frontend/DL/Syntax/NameWalker.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

namespace dlc::frontend {

using namespace ast;

/// Those of infer sections first.
static constexpr llvm::StringLiteral trainSettings[] = {
    "batch", "precision",       "epochs", "loss_scale", "masters",  "accumulate",
    "ema",   "reference_batch", "loss",   "optimizer",  "schedule", "clip"};

llvm::ArrayRef<llvm::StringLiteral> settingNames(bool isTrain) {
  return llvm::ArrayRef(trainSettings).take_front(isTrain ? std::size(trainSettings) : 2);
}

llvm::StringRef valueOfSetting(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("batch", "64")
      .Case("epochs", "10")
      .Case("precision", "f32")
      .Case("masters", "false")
      .Case("accumulate", "4")
      .Case("ema", "0.999")
      .Case("reference_batch", "256")
      .Default("");
}

// ------------------------------------------------------------------------------------ uses of
// names

bool mentions(const Section &section, llvm::StringRef name) {
  bool found = false;
  NameWalker([&](llvm::StringRef each) { found |= each == name; }).walk(section.body);
  return found;
}

const BindingStatement *findBinding(Body body, llvm::StringRef name) {
  const BindingStatement *found = nullptr;
  forEachBinding(body, /*inSteps=*/false, [&](const Name &each, const BindingStatement *binding) {
    if (each.text == name && binding)
      found = binding;
  });
  return found;
}

/// A step has its own loss, optimizer, schedule and clip; the other settings are the section's.
static void checkStepSettings(Program &program, const StepStatement &step) {
  static constexpr llvm::StringLiteral own[] = {"loss", "optimizer", "schedule", "clip"};
  forEachBinding(step.body, /*inSteps=*/false, [&](const Name &name, const BindingStatement *) {
    if (llvm::is_contained(trainSettings, name.text) && !llvm::is_contained(own, name.text))
      program.engine.error(name.range, "'" + name.text + "' is a setting of the section")
          .hint("bind it outside of the steps");
  });
}

/// Warns of a setting that is bound again before anything reads it: one of the two is a leftover.
static void warnBoundTwice(Program &program, Body body) {
  llvm::StringMap<Name> unread;
  for (Statement *const &statement : body) {
    if (auto *step = llvm::dyn_cast<StepStatement>(statement))
      warnBoundTwice(program, step->body);
    NameWalker([&](llvm::StringRef name) { unread.erase(name); }).walk(Body(statement));
    auto *binding = llvm::dyn_cast<BindingStatement>(statement);
    if (!binding || !llvm::is_contained(trainSettings, binding->names.front().text))
      continue;
    const Name &name = binding->names.front();
    auto [first, isNew] = unread.try_emplace(name.text, name);
    if (!isNew)
      program.engine
          .warning(first->second.range, "'" + name.text + "' is bound again before it is read")
          .note(name.range, "bound again here");
    first->second = name;
  }
}

/// How often a section reads each name. What a binding reads of itself, as in accuracy =
/// accuracy(...), is no use of it.
static llvm::StringMap<int> countReads(const Section &section) {
  llvm::StringMap<int> reads;
  NameWalker([&](llvm::StringRef name) { ++reads[name]; }).walk(section.body);
  forEachBinding(section.body, /*inSteps=*/true,
                 [&](const Name &name, const BindingStatement *binding) {
                   NameWalker([&](llvm::StringRef each) {
                     reads[each] -= each == name.text;
                   }).walk(binding ? binding->value : nullptr);
                 });
  return reads;
}

void warnUnreadFields(Program &program, const Section &section, llvm::ArrayRef<ModelUse> uses) {
  if (program.engine.hasErrors())
    return;
  llvm::StringMap<int> reads = countReads(section);
  if (uses.size() == 1 && !mentions(section, uses.front().block->name.text))
    for (const Param &param : uses.front().block->params)
      ++reads[param.name.text];
  for (const Statement *statement : section.body)
    if (auto *node = llvm::dyn_cast<FieldStatement>(statement))
      if (const Name &name = node->field.name;
          reads.lookup(name.text) <= 0 && !isUnusedOnPurpose(name.text))
        program.engine.warning(name.range, "the field '" + name.text + "' is never used")
            .hint("the data must deliver it all the same");
}

void checkUnusedNames(Program &program, const Section &section,
                      const llvm::StringMap<SourceRange> &dimensions) {
  llvm::StringMap<int> reads = countReads(section);
  if (section.isTrain)
    warnBoundTwice(program, section.body);
  llvm::ArrayRef<llvm::StringLiteral> settings = settingNames(section.isTrain);
  forEachBinding(section.body, /*inSteps=*/true,
                 [&](const Name &name, const BindingStatement *binding) {
                   if (name.text == "N" && binding && dimensions.contains("N")) {
                     program.engine.error(name.range, "'N' is the batch, which is bound by 'batch'")
                         .hint("batch = " + program.sources.text(binding->value->range).str());
                     return;
                   }
                   if (reads.lookup(name.text) > 0 || dimensions.contains(name.text) ||
                       isUnusedOnPurpose(name.text) || llvm::is_contained(settings, name.text))
                     return;
                   llvm::SmallVector<llvm::StringRef> candidates(settings.begin(), settings.end());
                   program.engine.error(name.range, "'" + name.text + "' is bound and never used")
                       .hint(hintForSetting(name.text, candidates));
                 });
  for (const Statement *statement : section.body)
    if (auto *step = llvm::dyn_cast<StepStatement>(statement))
      checkStepSettings(program, *step);
}

// --------------------------------------------------------------------------- before the evaluation

namespace {
/// Evaluates those bindings of a section that read nothing but compile-time names.
class SettingsReader {
public:
  SettingsReader(Program &program, Module &module) : evaluator(program, module), module(module) {}

  void read(Body body) {
    for (Statement *const &statement : body) {
      if (auto *binding = llvm::dyn_cast<BindingStatement>(statement);
          binding && binding->names.size() == 1) {
        const Name &name = binding->names.front();
        if (isKnown(binding->value))
          evaluator.bind(name.text, evaluator.evaluate(*binding->value), name.range);
        else
          bindings().erase(name.text);
      }
      auto *choice = llvm::dyn_cast<IfStatement>(statement);
      bool condition;
      bool isDecided = choice && isKnown(choice->condition);
      if (!isDecided && !llvm::isa<BindingStatement>(statement))
        forEachBinding(
            statement, /*inSteps=*/false,
            [&](const Name &name, const BindingStatement *) { bindings().erase(name.text); });
      if (isDecided && evaluator.conditionOf(*choice->condition, condition))
        read(condition ? choice->thenBody : choice->elseBody);
    }
  }

  llvm::StringMap<Bound> take() { return std::move(bindings()); }

private:
  bool isKnown(const Expr *expr) {
    bool known = true;
    NameWalker([&](llvm::StringRef name) {
      auto item = module.items.find(name);
      bool isConstant = item != module.items.end() && item->second.constant;
      const Builtin *builtin = findBuiltin(name);
      bool isFunction = builtin && (builtin->category == Category::CompileTime ||
                                    builtin->category == Category::Function);
      bool isNumber =
          llvm::any_of(builtinConstants(), [&](const auto &each) { return each.name == name; });
      known &= evaluator.lookupLocal(name) || isConstant || isFunction || isNumber;
    }).walk(expr);
    return known;
  }

  llvm::StringMap<Bound> &bindings() { return evaluator.frame->scopes.back(); }

  CompileTimeEvaluator evaluator;
  Module &module;
};
} // namespace

llvm::StringMap<Bound> evaluateSettings(Program &program, Module &module, const Section &section) {
  SettingsReader reader(program, module);
  reader.read(section.body);
  return reader.take();
}

void collectDimensions(const Module &module, const Section *section, llvm::ArrayRef<ModelUse> uses,
                       llvm::StringMap<SourceRange> &names) {
  auto collect = [&](const Type &type, const Module &scope, const Block *block) {
    for (const Expr *dimension : type.dimensions)
      NameWalker([&](llvm::StringRef name) {
        bool isParam = block && llvm::any_of(block->params,
                                             [&](const Param &p) { return p.name.text == name; });
        if (!isParam && !scope.items.contains(name) && !findBuiltin(name))
          names.try_emplace(name, dimension->range);
      }).walk(dimension);
  };
  for (const ModelUse &use : uses) {
    for (const Param &param : use.block->params)
      if (param.type)
        collect(*param.type, *use.module, use.block);
    if (use.block->results.single)
      collect(*use.block->results.single, *use.module, use.block);
    for (const Field &field : use.block->results.fields)
      collect(field.type, *use.module, use.block);
  }
  for (const Statement *statement : section ? section->body : Body())
    if (auto *field = llvm::dyn_cast<FieldStatement>(statement))
      collect(field->field.type, module, nullptr);
}

// ---------------------------------------------------------------------------- after the evaluation

/// What a setting should be, if the value is something else.
static llvm::StringRef expectedSetting(llvm::StringRef name, const Value &value) {
  bool isCount = value.isInteger() && value.integer() >= 1;
  const DType *dtype = value.getIf<DType>();
  if (name == "precision")
    return dtype && isPrecision(*dtype) ? "" : llvm::StringRef(precisionList);
  if (name == "masters")
    return value.is<bool>() ? "" : "true or false";
  if (name == "accumulate")
    return isCount ? "" : "an integer of 1 or more";
  if (value.isNone())
    return "";
  const std::string *word = value.getIf<std::string>();
  const Plan *plan = value.getIf<Plan>();
  if (name == "reference_batch")
    return isCount ? "" : "an integer of 1 or more";
  if (name == "loss_scale")
    // The loss is multiplied by it as an f32.
    return (word && *word == "dynamic") ||
                   (value.isNumber() && std::isfinite(float(value.number())) &&
                    float(value.number()) > 0)
               ? ""
               : "a number above 0 that f32 holds, \"dynamic\" or none";
  if (name == "ema")
    // Kernels take it as an f32, where 1 would keep the first value for ever.
    return value.isNumber() && value.number() >= 0 && static_cast<float>(value.number()) < 1
               ? ""
               : "a decay such as 0.999";
  if (name == "clip")
    return plan && (*plan)->maker->category == Category::Clip ? "" : "such as global_norm(1.0)";
  return "";
}

/// What may be meant by a value that the setting does not take.
static std::string hintForSettingValue(llvm::StringRef name, const Value &value) {
  if (name == "clip")
    return value.isNumber() ? "global_norm(" + text(value) + ")"
                            : hintForPlan(value, Category::Clip);
  return name == "precision" ? hintForPrecision(value) : "";
}

void checkSettings(Evaluator &evaluator,
                   llvm::function_ref<const Bound *(llvm::StringRef)> lookup) {
  for (llvm::StringRef name :
       {"precision", "loss_scale", "masters", "accumulate", "ema", "reference_batch", "clip"}) {
    const Bound *bound = lookup(name);
    if (!bound || bound->value.isPoison())
      continue;
    if (llvm::StringRef expected = expectedSetting(name, bound->value); !expected.empty())
      evaluator
          .error(bound->range,
                 "'" + name + "' is " + expected + ", found " + describe(bound->value))
          .hint(hintForSettingValue(name, bound->value));
  }
}

} // namespace dlc::frontend
