// The models that a section lists, with the values of their settings.
#include "frontend/DL/Sections/Sections.h"

#include "llvm/ADT/StringExtras.h"

namespace dlc::frontend {

using namespace ast;

bool SectionCompiler::resolveSettings(ModelUse &use, llvm::ArrayRef<Argument> arguments) {
  CompileTimeEvaluator caller(program, main), own(program, *use.module);
  llvm::StringMap<Value> given;
  llvm::SmallVector<llvm::StringRef> settings;
  for (const Param &param : use.block->params)
    if (!param.type)
      settings.push_back(param.name.text);
  bool valid = true;
  for (const Argument &argument : arguments) {
    llvm::StringRef name = argument.name.text;
    if (name.empty() || !llvm::is_contained(settings, name)) {
      std::string near = didYouMean(name, settings);
      program.engine
          .error(name.empty() ? argument.value->range : argument.name.range,
                 name.empty() ? "settings of a model are given by name"
                              : "model '" + use.block->name.text.str() + "' has no setting '" +
                                    name.str() + "'")
          .hint(!near.empty()      ? near
                : settings.empty() ? "it has none"
                                   : "it has " + llvm::join(settings, ", "));
      valid = false;
      continue;
    }
    given[name] = caller.evaluate(*argument.value);
    valid &= !given[name].isPoison();
  }
  for (const Param &param : use.block->params) {
    if (param.type)
      continue;
    auto value = given.find(param.name.text);
    Value setting = value == given.end() ? own.evaluate(*param.defaultValue) : value->second;
    valid &= !setting.isPoison();
    own.bind(param.name.text, setting, param.name.range);
    use.settings[param.name.text] = setting;
  }
  return valid;
}

bool SectionCompiler::resolveUses(const Section &section, bool takesSettings,
                                  std::vector<ModelUse> &uses) {
  bool valid = true;
  for (const Use &node : section.uses) {
    auto item = main.items.find(node.model.text);
    if (item == main.items.end() || !item->second.block || !item->second.block->isModel) {
      llvm::SmallVector<llvm::StringRef> models;
      for (const auto &[name, each] : main.items)
        if (each.block && each.block->isModel)
          models.push_back(name);
      llvm::sort(models);
      std::string near = didYouMean(node.model.text, models);
      bool isBlock = item != main.items.end() && item->second.block;
      program.engine
          .error(node.model.range, isBlock ? "'" + node.model.text + "' is a block, not a model"
                                           : "there is no model '" + node.model.text + "'")
          .hint(!near.empty()    ? near
                : isBlock        ? "model Name(x: f32[N, 784]) -> f32[N, 10] { ... } calls it"
                : models.empty() ? "the file has none"
                                 : "the file has " + llvm::join(models, ", "));
      valid = false;
      continue;
    }
    ModelUse use;
    use.block = item->second.block;
    use.module = item->second.module;
    use.prefix = section.uses.size() > 1 ? node.model.text.str() : "";
    if (llvm::any_of(uses, [&](const ModelUse &other) { return other.block == use.block; })) {
      program.engine.error(node.model.range, "'" + node.model.text + "' is listed twice")
          .hint("a section has one instance of a model; calling it twice shares its weights");
      valid = false;
      continue;
    }
    if (!takesSettings && !node.settings.empty()) {
      program.engine.error(node.settings.front().value->range,
                           "an infer section takes the settings of the train section");
      valid = false;
    }
    valid &= resolveSettings(use, node.settings);
    uses.push_back(std::move(use));
  }
  return valid;
}

} // namespace dlc::frontend
