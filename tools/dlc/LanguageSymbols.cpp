//===- LanguageSymbols.cpp - the names of a file: references, rename, outline -----------------===//
#include "frontend/DL/Builtins/Builtins.h"
#include "frontend/DL/Syntax/Parser.h"
#include "tools/dlc/LanguageIndex.h"
#include "llvm/ADT/StringExtras.h"

using namespace dlc::frontend;

namespace dlc::tool {

std::vector<SourceRange> LanguageIndex::references(uint32_t offset, bool withDefinitions) const {
  std::vector<SourceRange> ranges;
  const LanguageSymbol *symbol = scan.symbolOf(tokenAt(offset));
  if (symbol)
    for (size_t at : symbol->all)
      if (withDefinitions || !llvm::is_contained(symbol->definitions, at))
        ranges.push_back(tokens[at].range);
  return ranges;
}

//===------------------------------------------------------------------------------------------===//
// Rename
//===------------------------------------------------------------------------------------------===//

static llvm::Error refuse(const llvm::Twine &why) { return llvm::createStringError(why.str()); }

llvm::Error LanguageIndex::refuseRename(const LanguageSymbol *symbol) const {
  if (!symbol)
    return refuse("no name that can be changed stands here");
  const std::string name = "'" + symbol->name.str() + "'";
  switch (symbol->kind) {
  case LanguageSymbol::Import:
    return refuse(name + " is another file's name");
  case LanguageSymbol::Setting:
    return refuse(name + " is a setting of the language");
  case LanguageSymbol::Other:
    return refuse(findBuiltin(symbol->name) ? name + " is built in"
                                            : name + " is not defined in this file");
  default:
    break;
  }
  // Within a block that binds it, a name may stand for the block's and, before that, the file's.
  unsigned meanings = 0;
  for (const LanguageSymbol *other : scan.symbols())
    meanings += other->name == symbol->name && !other->definitions.empty() &&
                (other == symbol || other->kind == LanguageSymbol::Item ||
                 symbol->kind == LanguageSymbol::Item);
  if (meanings > 1)
    return refuse(name + " names several things in this file");
  DiagnosticEngine quiet;
  parse(sources, file, quiet);
  if (quiet.hasErrors())
    return refuse("the file has a syntax error, so not all places of a name are known");
  return llvm::Error::success();
}

llvm::Expected<SourceRange> LanguageIndex::findRenamable(uint32_t offset) const {
  const size_t at = tokenAt(offset);
  if (llvm::Error error = refuseRename(scan.symbolOf(at)))
    return std::move(error);
  return tokens[at].range;
}

/// Whether the name stands for something else where the symbol is known.
bool LanguageIndex::isTaken(const LanguageSymbol &symbol, llvm::StringRef name) const {
  for (const LanguageItem &item : scan.items()) {
    const bool mentions =
        symbol.kind == LanguageSymbol::Item ||
        llvm::any_of(symbol.all, [&](size_t at) { return item.first <= at && at <= item.last; });
    for (size_t at = item.first; at <= item.last; ++at)
      if (tokens[at].is(TokenKind::Name) && tokens[at].text == name &&
          (mentions || at == item.name))
        return true;
  }
  return false;
}

llvm::Expected<std::vector<SourceRange>> LanguageIndex::placesToRename(uint32_t offset,
                                                                       llvm::StringRef name) const {
  const LanguageSymbol *symbol = scan.symbolOf(tokenAt(offset));
  if (llvm::Error error = refuseRename(symbol))
    return std::move(error);
  SourceManager own;
  DiagnosticEngine quiet;
  const std::vector<Token> words = tokenize(own, own.add("name", name), quiet);
  if (quiet.hasErrors() || words.size() != 2 || !words[0].is(TokenKind::Name) ||
      words[0].text != name)
    return refuse("'" + name + "' is no name");
  if (findBuiltin(name) || isLayerAttribute(name))
    return refuse("'" + name + "' is built in");
  if (isTaken(*symbol, name))
    return refuse("the name '" + name + "' is taken");
  return references(offset, /*withDefinitions=*/true);
}

//===------------------------------------------------------------------------------------------===//
// Outline
//===------------------------------------------------------------------------------------------===//

std::vector<LanguageIndex::Outline> LanguageIndex::outlineOf(const LanguageItem &item) const {
  std::vector<Outline> children;
  const size_t number = &item - scan.items().data();
  for (const LanguageSymbol *symbol : scan.visibleIn(number)) {
    if (symbol->kind != LanguageSymbol::Param && symbol->kind != LanguageSymbol::Local &&
        symbol->kind != LanguageSymbol::Setting)
      continue;
    const SourceRange range = tokens[symbol->definitions.front()].range;
    children.push_back({symbol->kind == LanguageSymbol::Param ? Outline::Param : Outline::Value,
                        symbol->name.str(),
                        "",
                        range,
                        range,
                        {}});
  }
  llvm::sort(children,
             [](const Outline &a, const Outline &b) { return a.range.begin < b.range.begin; });
  return children;
}

std::vector<LanguageIndex::Outline> LanguageIndex::outline() const {
  static constexpr Outline::Kind kinds[] = {Outline::Constant, Outline::Block, Outline::Model,
                                            Outline::Section, Outline::Section};
  std::vector<Outline> all;
  for (const LanguageItem &item : scan.items()) {
    if (item.kind == LanguageItem::Import)
      continue;
    Outline each;
    each.kind = kinds[item.kind];
    each.range = tokens[item.first].range.to(tokens[item.last].range);
    each.nameRange = tokens[item.name].range;
    each.name = sources.text(each.nameRange).str();
    // A section is called as its first line begins: "train Net".
    if (each.kind == Outline::Section && item.last > item.first &&
        tokens[item.first + 1].is(TokenKind::Name))
      each.name += " " + tokens[item.first + 1].text.str();
    if (each.kind == Outline::Block || each.kind == Outline::Model)
      each.detail = describe({file, tokens, &item}).label;
    if (each.kind != Outline::Constant)
      each.children = outlineOf(item);
    all.push_back(std::move(each));
  }
  return all;
}

} // namespace dlc::tool
