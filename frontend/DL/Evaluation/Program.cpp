// Files, imports, items and `-D`.
#include "frontend/DL/Evaluation/Program.h"
#include "frontend/DL/Builtins/Builtins.h"
#include "frontend/DL/Syntax/Parser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace dlc::frontend {

/// Imports are followed recursively.
static constexpr unsigned maxFiles = 500;

Module *Program::load(FileId file) {
  std::string key = sources.name(file).str();
  std::unique_ptr<Module> &module = modules[key];
  module = std::make_unique<Module>();
  module->tree = parse(sources, file, engine);
  if (engine.hasErrors())
    return nullptr;
  collectItems(*module);
  bool imported = true;
  for (const ast::Import *node : module->tree->imports)
    imported &= import(*module, *node);
  module->isLoading = false;
  return imported ? module.get() : nullptr;
}

void Program::addItem(Module &module, ast::Name name, Item item) {
  item.range = name.range;
  auto [entry, isNew] = module.items.try_emplace(name.text, item);
  if (!isNew)
    engine.error(name.range, "the name '" + name.text + "' is taken")
        .note(entry->second.range, "first declared here");
}

void Program::collectItems(Module &module) {
  // In the order of the text, so that of two equal names the second is the error.
  std::vector<std::pair<ast::Name, Item>> found;
  for (const ast::Constant *node : module.tree->constants) {
    constants.push_back(std::make_unique<ConstantItem>(
        ConstantItem{node, &module, ConstantItem::Waiting, {}, nullptr}));
    found.push_back({node->name, {constants.back().get(), nullptr, &module, {}}});
  }
  for (const ast::Block *block : module.tree->blocks) {
    found.push_back({block->name, {nullptr, block, &module, {}}});
    checkParams(*block);
  }
  llvm::sort(found, [](const auto &a, const auto &b) {
    return a.first.range.begin < b.first.range.begin;
  });
  for (const auto &[name, item] : found)
    addItem(module, name, item);
}

void Program::checkParams(const ast::Block &block) {
  llvm::StringMap<SourceRange> seen;
  for (const ast::Param &param : block.params) {
    auto [entry, isNew] = seen.try_emplace(param.name.text, param.name.range);
    if (!isNew)
      engine.error(param.name.range, "the parameter '" + param.name.text + "' is given twice")
          .note(entry->second, "first here");
    if (isLayerAttribute(param.name.text))
      engine.error(param.name.range,
                   "'" + param.name.text +
                       "' is an attribute of every call and cannot name a parameter");
  }
}

// ----------------------------------------------------------------------------------------- imports

std::vector<std::string> importCandidates(llvm::StringRef importer, llvm::StringRef path,
                                          llvm::ArrayRef<std::string> includeDirs) {
  std::vector<std::string> candidates;
  llvm::SmallString<256> beside = importer;
  llvm::sys::path::remove_filename(beside);
  llvm::sys::path::append(beside, path);
  llvm::sys::path::remove_dots(beside, /*remove_dot_dot=*/true);
  candidates.push_back(beside.str().str());
  for (const std::string &folder : includeDirs) {
    llvm::SmallString<256> candidate(folder);
    llvm::sys::path::append(candidate, path);
    candidates.push_back(candidate.str().str());
  }
  return candidates;
}

/// An error if it is nowhere.
FileId Program::findImport(const Module &module, const ast::Import &import) {
  llvm::StringRef path = import.path.text;
  std::vector<std::string> candidates =
      importCandidates(sources.name(module.tree->file), path, options.includeDirs);
  for (const std::string &candidate : candidates) {
    if (!llvm::sys::fs::exists(candidate))
      continue;
    std::string error;
    FileId file = sources.load(candidate, error);
    if (file == noFile)
      engine.error(import.path.range, "cannot read '" + candidate + "': " + error);
    return file;
  }
  auto error = engine.error(import.path.range, "there is no file '" + path + "'");
  readLibrary();
  llvm::SmallVector<llvm::StringRef> names(
      llvm::map_range(libraryFiles, [](auto &file) { return llvm::sys::path::stem(file); }));
  llvm::StringRef near = nearestName(llvm::sys::path::stem(path), names);
  if (!near.empty() && "std/" + near.str() + ".dl" != path)
    error.hint("did you mean \"std/" + near + ".dl\"?");
  else if (!libraryFiles.empty())
    error.hint("there is " + llvm::join(libraryFiles, ", "));
  for (const std::string &candidate : candidates)
    error.note({}, "looked for " + candidate);
  return noFile;
}

void Program::readLibrary() {
  if (std::exchange(hasReadLibrary, true))
    return;
  SourceManager own;
  DiagnosticEngine silent;
  for (const std::string &folder : options.includeDirs) {
    std::error_code code;
    for (llvm::sys::fs::directory_iterator each(folder + "/std", code), end; each != end && !code;
         each.increment(code)) {
      std::string error, file = "std/" + llvm::sys::path::filename(each->path()).str();
      FileId id = file.ends_with(".dl") ? own.load(each->path(), error) : noFile;
      if (id == noFile)
        continue;
      libraryFiles.push_back(file);
      std::unique_ptr<ast::File> tree = parse(own, id, silent);
      for (const ast::Block *block : tree->blocks)
        libraryNames.try_emplace(block->name.text.str(), file);
    }
  }
  llvm::sort(libraryFiles);
}

std::string Program::hintForImport(llvm::StringRef name, bool mayBeNear) {
  readLibrary();
  llvm::SmallVector<llvm::StringRef> names(llvm::make_first_range(libraryNames));
  auto found = libraryNames.find((mayBeNear ? nearestName(name, names) : name).str());
  return found == libraryNames.end() ? "" : "from \"" + found->second + "\" import " + found->first;
}

bool Program::import(Module &module, const ast::Import &node) {
  if (modules.size() > maxFiles) {
    engine.error(node.path.range, "more than " + llvm::Twine(maxFiles) + " files are imported");
    return false;
  }
  FileId file = findImport(module, node);
  if (file == noFile)
    return false;
  Module *other = nullptr;
  if (auto found = modules.find(sources.name(file).str()); found != modules.end()) {
    other = found->second.get();
    if (other->isLoading) {
      engine.error(node.path.range, "'" + node.path.text + "' imports this file, directly or not");
      return false;
    }
  } else {
    other = load(file);
  }
  if (!other)
    return false;
  bool all = true;
  for (const ast::Name &name : node.names) {
    auto item = other->items.find(name.text);
    if (item != other->items.end()) {
      addItem(module, name, item->second);
      continue;
    }
    llvm::SmallVector<llvm::StringRef> names(other->items.keys());
    llvm::sort(names);
    std::string near = didYouMean(name.text, names);
    engine.error(name.range, "\"" + node.path.text + "\" has no '" + name.text + "'")
        .hint(near.empty() && names.size() <= 10 ? "it has " + llvm::join(names, ", ") : near);
    all = false;
  }
  return all;
}

// ---------------------------------------------------------------------------------------------- -D

void Program::readDefines(Module &main) {
  for (const std::string &text : options.defines) {
    FileId file = sources.add("-D", text);
    DiagnosticEngine own;
    std::unique_ptr<ast::File> tree = parse(sources, file, own);
    bool isConstant = tree->constants.size() == 1 && tree->blocks.empty() &&
                      tree->sections.empty() && tree->imports.empty();
    if (!isConstant || own.hasErrors()) {
      engine.error({file, 0, uint32_t(text.size())}, "expected NAME=value, found '" + text + "'")
          .hint("as -D N=32");
      continue;
    }
    const ast::Constant &define = *tree->constants.front();
    auto item = main.items.find(define.name.text);
    if (item != main.items.end() && item->second.constant)
      item->second.constant->override = define.value;
    else
      dimensionDefines.push_back({define.name, define.value});
    defineTrees.push_back(std::move(tree));
  }
}

} // namespace dlc::frontend
