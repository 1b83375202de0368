// See Unused.h.
#include "frontend/DL/Evaluation/Unused.h"
#include "frontend/DL/Syntax/NameWalker.h"

#include "llvm/ADT/StringSet.h"

namespace dlc::frontend {

using namespace ast;

static void walkResults(NameWalker &walker, const Results &results) {
  if (results.single)
    walker.walk(*results.single);
  for (const Field &field : results.fields)
    walker.walk(field.type);
}

static void walkBlock(NameWalker &walker, const Block &block) {
  for (const Param &param : block.params) {
    if (param.type)
      walker.walk(*param.type);
    walker.walk(param.defaultValue);
  }
  walkResults(walker, block.results);
  walker.walk(block.body);
}

/// The flow is not followed: a name is used if it is read anywhere in the block.
static void warnInBlock(Program &program, const Block &block) {
  llvm::StringSet<> read;
  auto visit = [&](llvm::StringRef name) { read.insert(name); };
  NameWalker walker(visit);
  walkBlock(walker, block);
  for (const Param &param : block.params)
    if (!read.contains(param.name.text) && !isUnusedOnPurpose(param.name.text))
      program.engine.warning(param.name.range, "'" + param.name.text + "' of '" + block.name.text +
                                                   "' is never used");
  forEachBinding(block.body, /*inSteps=*/false,
                 [&](const Name &name, const BindingStatement *binding) {
                   // Of several names, taken apart together, some may be of no interest.
                   bool used = read.contains(name.text) || isUnusedOnPurpose(name.text);
                   for (const Name &each : binding ? binding->names : llvm::ArrayRef<Name>())
                     used |= read.contains(each.text);
                   if (!used)
                     program.engine.warning(name.range, "'" + name.text + "' is never used");
                 });
}

void warnUnused(Program &program, const Module &module) {
  const File &file = *module.tree;
  llvm::StringSet<> read;
  auto visit = [&](llvm::StringRef name) { read.insert(name); };
  NameWalker walker(visit);
  for (const Constant *constant : file.constants)
    walker.walk(constant->value);
  for (const Block *block : file.blocks)
    walkBlock(walker, *block);
  for (const Section *section : file.sections) {
    for (const Use &use : section->uses) {
      read.insert(use.model.text);
      walker.walk(use.settings);
    }
    if (section->results)
      walkResults(walker, *section->results);
    walker.walk(section->body);
  }
  for (const Import *import : file.imports)
    for (const Name &name : import->names)
      if (!read.contains(name.text))
        program.engine.warning(name.range, "'" + name.text + "' is imported and never used");
  for (const Constant *constant : file.constants)
    if (!read.contains(constant->name.text) && !isUnusedOnPurpose(constant->name.text))
      program.engine.warning(constant->name.range,
                             "the constant '" + constant->name.text + "' is never used");
  for (const Block *block : file.blocks)
    warnInBlock(program, *block);
}

} // namespace dlc::frontend
