// Sizes of symbolic dimensions: from -D, from a section, and the batches that are inferred.
#include "frontend/DL/Sections/Sections.h"
#include "frontend/DL/Syntax/Foreign.h"
#include "frontend/DL/Syntax/NameWalker.h"

#include "llvm/ADT/StringExtras.h"

namespace dlc::frontend {

using namespace ast;

/// What `name` is bound to, an integer of `least` or more; nothing after an error.
static std::optional<int64_t> readSize(Program &program, llvm::StringRef name, const Bound &bound,
                                       int64_t least) {
  if (bound.value.isInteger() && bound.value.integer() >= least)
    return bound.value.integer();
  program.engine.error(bound.range, "'" + name + "' is an integer of " + llvm::Twine(least) +
                                        " or more, found " + describe(bound.value));
  return std::nullopt;
}

bool SectionCompiler::readDimension(llvm::StringRef name, const llvm::StringMap<Bound> &settings,
                                    Dimensions &bound) {
  bool isBatch = name == "N";
  Bound value{NoneValue{}, {}};
  for (Program::Define &define : program.dimensionDefines)
    if (define.name.text == name) {
      value = {CompileTimeEvaluator(program, main).evaluate(*define.value), define.value->range};
      define.isUsed = true;
    }
  auto setting = settings.find(isBatch ? "batch" : name);
  if (value.value.isNone() && setting != settings.end())
    value = setting->second;
  if (value.value.isNone() || value.value.isPoison())
    return !value.value.isPoison();
  std::optional<int64_t> size = readSize(program, isBatch ? "batch" : name, value, isBatch ? 1 : 0);
  if (size)
    bound[name] = *size;
  return size.has_value();
}

bool SectionCompiler::bindDimensions(const Section &section) {
  llvm::StringMap<Bound> settings = evaluateSettings(program, main, section);
  llvm::StringMap<SourceRange> names;
  collectDimensions(main, &section, trainUses, names);
  bool valid = readDimension("N", settings, dimensions);
  for (const auto &[name, range] : names)
    if (name != "N")
      valid &= readDimension(name, settings, dimensions);
  dimensionNames.insert_range(names.keys());
  checkUnusedNames(program, section, names);
  valid &= checkBatchAxis(section, names);
  if (!valid || dimensions.contains("N"))
    return valid;
  if (findBinding(section.body, "N"))
    return false;
  if (const BindingStatement *batch = findBinding(section.body, "batch"))
    program.engine.error(batch->value->range, "'batch' must be known before the model is evaluated")
        .hint("it may use constants and numbers");
  else
    program.engine.error(section.range, "the train section binds no 'batch'")
        .hint("batch = 64, or -D N=64");
  return false;
}

bool SectionCompiler::defineDimensions(const ModelUse &use) {
  llvm::StringMap<SourceRange> names;
  collectDimensions(main, nullptr, use, names);
  bool valid = true;
  for (const auto &each : names)
    valid &= readDimension(each.getKey(), {}, dimensions);
  dimensionNames.insert_range(names.keys());
  return valid;
}

/// Without an axis that counts samples nothing would say what the batch is.
bool SectionCompiler::checkBatchAxis(const Section &section,
                                     const llvm::StringMap<SourceRange> &names) {
  if (names.contains("N") || main.items.contains("N"))
    return checkInputsHaveBatch(section);
  SourceRange range = section.uses.front().model.range;
  for (const ModelUse &use : llvm::reverse(trainUses))
    for (const Param &param : llvm::reverse(use.block->params))
      if (param.type)
        range = param.type->range;
  program.engine.error(range, "no axis counts the samples of a batch: it is called N")
      .hint("such as f32[N, 784]");
  return false;
}

/// One input at least of a model that is called by itself. Where the section calls a model, that
/// may have inputs that are no samples.
bool SectionCompiler::checkInputsHaveBatch(const Section &section) {
  if (trainUses.size() != 1 || mentions(section, section.uses.front().model.text))
    return true;
  const Type *first = nullptr;
  for (const Param &param : trainUses.front().block->params) {
    if (!param.type)
      continue;
    first = first ? first : &*param.type;
    bool mayBeMeant = false; // a name that is an error of its own, as is a size of -1
    NameWalker([&](llvm::StringRef name) {
      mayBeMeant |= name == "N" || isBatchElsewhere(name);
    }).walk(*param.type);
    for (const Expr *size : param.type->dimensions)
      mayBeMeant |= llvm::isa<UnaryExpr>(size);
    if (mayBeMeant)
      return true;
  }
  if (!first)
    return true;
  // A size that is the batch's is likely meant as such.
  std::string type = first->dtype.str() + "[N";
  for (const auto &[i, size] : llvm::enumerate(first->dimensions)) {
    auto *number = llvm::dyn_cast<IntegerExpr>(size);
    if (i || !number || number->value != dimensions.lookup("N"))
      type += ", " + program.sources.text(size->range).str();
  }
  program.engine
      .error(first->range, "the model's input has no axis N, which counts the samples of a batch")
      .hint(type + "]");
  return false;
}

/// What `-D` can set, or how to make it able to set what is meant.
std::string SectionCompiler::hintForDefine(llvm::StringRef name) {
  if (name == "batch")
    return "-D N=...";
  for (const ModelUse &use : trainUses)
    for (const Param &param : use.block->params)
      if (!param.type && param.name.text == name)
        return ("a setting of " + use.block->name.text + ": train " + use.block->name.text + "(" +
                name + "=c) and a constant c = ... let -D set c")
            .str();
  if (llvm::is_contained(settingNames(/*isTrain=*/true), name))
    return ("a setting of the section: " + name + " = c and a constant c = ... let -D set c").str();
  llvm::SmallVector<llvm::StringRef> names;
  for (const auto &[each, item] : main.items)
    if (item.constant)
      names.push_back(each);
  for (const auto &each : dimensionNames)
    names.push_back(each.getKey());
  llvm::sort(names);
  std::string near = didYouMean(name, names);
  if (names.empty())
    return "the file has none";
  return near.empty() ? "there is " + llvm::join(names, ", ") : near;
}

void SectionCompiler::checkDefines() {
  for (const Program::Define &define : program.dimensionDefines)
    if (!define.isUsed)
      program.engine
          .error(define.name.range, "there is no constant or dimension '" + define.name.text + "'")
          .hint(hintForDefine(define.name.text));
}

/// The sizes of batch, by flag, -D, section or default; the other dimensions that the section or -D
/// binds. What a train section binds, by -D or not, holds where the section itself says nothing.
bool SectionCompiler::inferBatches(const Section *section, llvm::ArrayRef<ModelUse> uses,
                                   std::vector<int64_t> &batches, Dimensions &bound) {
  llvm::StringMap<Bound> settings;
  if (section) {
    settings = evaluateSettings(program, main, *section);
    llvm::StringMap<SourceRange> names;
    collectDimensions(main, section, uses, names);
    for (const auto &[name, range] : names) {
      auto setting = settings.find(name);
      bool isOwn = !trainUses.empty() && name != "N" && setting != settings.end();
      if (isOwn) {
        std::optional<int64_t> size = readSize(program, name, setting->second, 0);
        if (!size)
          return false;
        bound[name] = *size;
      } else if (!bound.contains(name) &&
                 !readDimension(name, name == "N" ? llvm::StringMap<Bound>() : settings, bound)) {
        return false;
      }
    }
    dimensionNames.insert_range(names.keys());
    checkUnusedNames(program, *section, names);
  }
  batches = program.options.inferBatches;
  for (int64_t batch : batches)
    if (batch < 1) {
      program.engine.error({}, "a batch of inference has 1 sample or more, found " +
                                   std::to_string(batch));
      return false;
    }
  if (auto size = bound.find("N"); batches.empty() && trainUses.empty() && size != bound.end())
    batches.push_back(size->second);
  auto batch = settings.find("batch");
  if (!batches.empty() || batch == settings.end()) {
    if (batches.empty())
      batches.push_back(1);
    return true;
  }
  const Value &value = batch->second.value;
  std::vector<Value> items = value.isSequence() ? value.items().vec() : std::vector<Value>{value};
  for (const Value &item : items) {
    if (!item.isInteger() || item.integer() < 1) {
      program.engine.error(batch->second.range,
                           "'batch' is an integer of 1 or more, or a sequence of them, found " +
                               describe(item));
      return false;
    }
    if (!llvm::is_contained(batches, item.integer()))
      batches.push_back(item.integer());
  }
  return true;
}

} // namespace dlc::frontend
