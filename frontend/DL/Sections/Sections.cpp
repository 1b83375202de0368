// Which sections of a file become entries, and in which order.
#include "frontend/DL/Sections/Sections.h"

#include "llvm/ADT/StringExtras.h"

namespace dlc::frontend {

using namespace ast;

const Section *SectionCompiler::chooseTrain() {
  llvm::SmallVector<const Section *> sections;
  for (const Section *section : main.tree->sections)
    if (section->isTrain)
      sections.push_back(section);
  auto nameOf = [](const Section *section) {
    return section->name.text.empty() ? section->uses.front().model.text : section->name.text;
  };
  const std::string &wanted = program.options.trainSection;
  if (wanted.empty() && sections.size() <= 1)
    return sections.empty() ? nullptr : sections.front();
  for (const Section *section : sections)
    if (!claimSection(nameOf(section), *section))
      return nullptr;
  std::string known;
  for (const Section *section : sections) {
    if (!wanted.empty() && nameOf(section) == wanted)
      return section;
    known += (known.empty() ? "" : ", ") + nameOf(section).str();
  }
  if (wanted.empty())
    program.engine
        .error(sections[1]->range,
               "the file has " + llvm::Twine(sections.size()) + " train sections")
        .hint("choose one by --train=NAME: " + known);
  else
    program.engine.error({}, "there is no train section '" + wanted + "'")
        .hint(known.empty() ? "the file has none" : "the file has " + known);
  return nullptr;
}

bool SectionCompiler::claimSection(llvm::StringRef name, const Section &section) {
  std::string keyword = section.isTrain ? "train" : "infer";
  auto [first, isNew] = sectionNames.try_emplace(keyword + " " + name.str(), section.range);
  if (!isNew)
    program.engine
        .error(section.range, "there are two " + keyword + " sections named '" + name + "'")
        .hint(keyword + " " + section.uses.front().model.text.str() + " as NAME")
        .note(first->second, "the first is here");
  return isNew;
}

bool SectionCompiler::claimEntry(const std::string &name, SourceRange range, llvm::StringRef hint) {
  auto [first, isNew] = entryNames.try_emplace(name, range);
  if (!isNew)
    program.engine.error(range, "there are two entries named '" + name + "'")
        .hint(hint)
        .note(first->second, "the first is made here");
  return isNew;
}

/// The module is called after the models of its entries, and keeps what they say of themselves.
void SectionCompiler::writeDescription() {
  llvm::SmallVector<llvm::StringRef> names, texts;
  for (const auto &[use, sizes] : models) {
    names.push_back(use.block->name.text);
    if (!use.block->documentation.empty())
      texts.push_back(use.block->documentation);
  }
  if (!names.empty())
    module.setSymName(llvm::join(names, ", "));
  module->setAttr("dl.documentation",
                  mlir::StringAttr::get(module.getContext(), llvm::join(texts, "\n")));
}

/// Without a section nothing says what becomes of the models: each is evaluated for itself, with
/// the settings that it has by default.
void SectionCompiler::checkModels() {
  auto isModel = [](const Block *block) { return block->isModel; };
  bool areMany = llvm::count_if(main.tree->blocks, isModel) > 1;
  for (const Block *block : llvm::make_filter_range(main.tree->blocks, isModel)) {
    std::string name = block->name.text.str();
    ModelUse use{block, &main, areMany ? name : "", {}};
    if (resolveSettings(use, {}) && defineDimensions(use))
      compileInfer(nullptr, use, "infer_" + name);
  }
  checkDefines();
  checkVariableNames();
  if (!program.engine.hasErrors())
    writeVariables();
}

void SectionCompiler::run() {
  const Section *train = chooseTrain();
  bool hasTrain = llvm::any_of(main.tree->sections, [](const Section *s) { return s->isTrain; });
  if (main.tree->sections.empty() && program.options.mayHaveNoSection)
    return;
  if (main.tree->sections.empty() && program.options.mayBeLibrary && !main.tree->blocks.empty()) {
    checkModels();
    return;
  }
  if (main.tree->sections.empty()) {
    program.engine.error({main.tree->file, 0, 0}, "the file has no train and no infer section")
        .hint("train Model { ... }");
    return;
  }
  if (hasTrain != (train != nullptr) || program.engine.hasErrors())
    return;
  if (train) {
    if (!resolveUses(*train, /*takesSettings=*/true, trainUses) || !bindDimensions(*train))
      return;
    noteModels(trainUses, dimensions);
    compileTrain(*train);
    // The same text again would bring the same mistakes again.
    if (program.engine.hasErrors())
      return;
  }
  bool hasInfer = false;
  for (const Section *section : main.tree->sections) {
    if (section->isTrain || program.engine.isFull())
      continue;
    std::vector<ModelUse> uses;
    if (!resolveUses(*section, /*takesSettings=*/!train, uses))
      continue;
    // A model keeps what the train section says of it: settings and prefix.
    bool listed = true;
    for (ModelUse &use : uses) {
      auto trained =
          llvm::find_if(trainUses, [&](const ModelUse &each) { return each.block == use.block; });
      listed &= !train || trained != trainUses.end();
      if (trained != trainUses.end())
        use = *trained;
    }
    if (!listed) {
      checkTrainedSomewhere(*section);
      continue;
    }
    hasInfer = true;
    std::string name = section->name.text.empty() ? "infer" : section->name.text.str();
    if (claimSection(name, *section))
      compileInfer(section, uses, name);
  }
  if (!hasInfer)
    for (const ModelUse &use : trainUses)
      compileInfer(nullptr, use,
                   trainUses.size() > 1 ? "infer_" + use.block->name.text.str() : "infer");
  checkDefines();
  checkVariableNames();
  if (!program.engine.hasErrors()) {
    writeVariables();
    writeOperations();
  }
  writeDescription();
}

} // namespace dlc::frontend
