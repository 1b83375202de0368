//===- LanguageIndex.cpp - one file as an editor knows it: hover and definition ---------------===//
#include "tools/dlc/LanguageIndex.h"
#include "frontend/DL/Builtins/Builtins.h"
#include "frontend/DL/Syntax/Format.h"
#include "mlir/IR/MLIRContext.h"
#include "tools/dlc/Library.h"

using namespace dlc::frontend;

namespace dlc::tool {

LanguageIndex::LanguageIndex(llvm::StringRef path, llvm::StringRef text)
    : file(sources.add(path, text)) {
  FrontendOptions options;
  options.includeDirs = withLibrary({});
  options.mayHaveNoSection = true;
  options.observer = this;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  compile(sources, file, options, context, engine);
  DiagnosticEngine quiet;
  tokens = tokenize(sources, file, quiet);
  scan = LanguageScan(tokens);
  loadImports(file, scan, tokens);
}

void LanguageIndex::onName(SourceRange use, SourceRange definition) {
  if (use.file == file)
    places[use.begin].definition = definition;
}

// The first value stays: later ones are those of later turns and entries.
void LanguageIndex::onValue(SourceRange range, const std::string &description) {
  if (range.file == file && places[range.begin].value.empty())
    places[range.begin].value = description;
}

void LanguageIndex::onCall(SourceRange callee, int64_t newParameters) {
  if (callee.file != file)
    return;
  ++places[callee.begin].calls;
  places[callee.begin].parameters += newParameters;
}

size_t LanguageIndex::tokenAt(uint32_t offset) const {
  for (const auto &[at, token] : llvm::enumerate(tokens))
    if (token.range.begin <= offset && offset <= token.range.end() && token.range.length != 0 &&
        (token.is(TokenKind::Name) || token.is(TokenKind::DType) || token.is(TokenKind::String)))
      return at;
  return LanguageScan::none;
}

std::optional<std::string> LanguageIndex::formatted() const {
  DiagnosticEngine quiet;
  return format(sources, file, quiet);
}

//===------------------------------------------------------------------------------------------===//
// Imports
//===------------------------------------------------------------------------------------------===//

/// The path of `from "path" import`; empty where it is not written yet.
static std::string pathOfImport(const LanguageItem &item, llvm::ArrayRef<Token> tokens) {
  const size_t at = item.first + 1;
  return at < tokens.size() && tokens[at].is(TokenKind::String) ? stringValue(tokens[at].text) : "";
}

void LanguageIndex::loadImports(FileId from, const LanguageScan &importing,
                                llvm::ArrayRef<Token> importingTokens) {
  constexpr size_t most = 500;
  for (const LanguageItem &item : importing.items()) {
    if (item.kind != LanguageItem::Import || others.size() >= most)
      continue;
    for (const std::string &candidate : importCandidates(
             sources.name(from), pathOfImport(item, importingTokens), withLibrary({}))) {
      std::string error;
      if (others.count(candidate))
        break;
      FileId loaded = sources.load(candidate, error);
      if (loaded == noFile)
        continue;
      DiagnosticEngine quiet;
      OtherFile &other =
          others
              .try_emplace(candidate, OtherFile{loaded, tokenize(sources, loaded, quiet),
                                                LanguageScan(llvm::ArrayRef<Token>())})
              .first->second;
      other.scan = LanguageScan(other.tokens);
      loadImports(loaded, other.scan, other.tokens);
      break;
    }
  }
}

const LanguageIndex::OtherFile *LanguageIndex::importedFile(const Found &where) const {
  for (const std::string &candidate : importCandidates(
           sources.name(where.file), pathOfImport(*where.item, where.tokens), withLibrary({})))
    if (auto found = others.find(candidate); found != others.end())
      return &found->second;
  return nullptr;
}

LanguageIndex::Found LanguageIndex::findItemIn(const Found &where, const LanguageScan &in,
                                               llvm::StringRef name, unsigned depth) const {
  for (const LanguageItem &item : in.items()) {
    const Found found{where.file, where.tokens, &item};
    if (item.kind != LanguageItem::Import) {
      const bool hasName = item.kind == LanguageItem::Constant || item.name != item.first;
      if (hasName && where.tokens[item.name].text == name)
        return found;
      continue;
    }
    auto imports = where.tokens.slice(item.first, item.last + 1 - item.first);
    const OtherFile *other = importedFile(found);
    if (!other || depth == 0 || llvm::none_of(imports, [&](const Token &token) {
          return token.is(TokenKind::Name) && token.text == name;
        }))
      continue;
    return findItemIn({other->file, other->tokens}, other->scan, name, depth - 1);
  }
  return {};
}

LanguageIndex::Found LanguageIndex::findItem(llvm::StringRef name) const {
  constexpr unsigned deepest = 16; // files may import each other by mistake
  return findItemIn({file, tokens}, scan, name, deepest);
}

//===------------------------------------------------------------------------------------------===//
// Descriptions
//===------------------------------------------------------------------------------------------===//

/// Where the parameter that begins at a token ends: before the comma or the closing bracket, or the
/// body where that is forgotten.
static size_t endOfParam(llvm::ArrayRef<Token> tokens, size_t at, size_t last) {
  unsigned depth = 0;
  for (; at <= last; ++at) {
    const Token &token = tokens[at];
    const bool closes = token.is(TokenKind::RightParen) || token.is(TokenKind::RightBracket);
    if (token.is(TokenKind::LeftBrace) || (depth == 0 && (closes || token.is(TokenKind::Comma))))
      break;
    depth += token.is(TokenKind::LeftParen) || token.is(TokenKind::LeftBracket);
    depth -= closes;
  }
  return at - 1;
}

LanguageCallable LanguageIndex::describe(const Found &found) const {
  LanguageCallable callable;
  const LanguageItem &item = *found.item;
  callable.label = found.tokens[item.name].text.str() + "(";
  callable.documentation = found.tokens[item.first].documentation;
  callable.isLayer = true;
  for (size_t param : item.params) {
    const size_t end = endOfParam(found.tokens, param, item.last);
    callable.label += callable.params.empty() ? "" : ", ";
    const size_t begin = callable.label.size();
    callable.label += sources.text(found.tokens[param].range.to(found.tokens[end].range));
    callable.params.push_back({found.tokens[param].text.str(), begin, callable.label.size()});
  }
  callable.label += ")";
  return callable;
}

/// "conv2d(x, channels, kernel, stride=1, ...)" with all arguments.
static LanguageCallable describe(const Builtin &builtin) {
  LanguageCallable callable;
  callable.label = builtin.name.str() + "(";
  callable.documentation = builtin.doc.str();
  callable.isLayer = builtin.category == Category::Layer;
  for (const BuiltinParam &param : builtin.params) {
    callable.label += callable.params.empty() ? "" : ", ";
    const size_t begin = callable.label.size();
    callable.label += param.name.str() + (param.isRequired() ? "" : "=" + defaultText(param));
    callable.params.push_back({param.name.str(), begin, callable.label.size()});
  }
  callable.label += ")";
  return callable;
}

std::optional<LanguageCallable> LanguageIndex::findCallable(llvm::StringRef name) const {
  const Found found = findItem(name);
  if (found.item &&
      (found.item->kind == LanguageItem::Block || found.item->kind == LanguageItem::Model))
    return describe(found);
  if (const Builtin *builtin = findBuiltin(name))
    return tool::describe(*builtin);
  return std::nullopt;
}

//===------------------------------------------------------------------------------------------===//
// Hover and definition
//===------------------------------------------------------------------------------------------===//

static std::string withThousands(int64_t number) {
  std::string text = std::to_string(number);
  for (int64_t at = int64_t(text.size()) - 3; at > 0; at -= 3)
    text.insert(at, ",");
  return text;
}

std::string LanguageIndex::hover(uint32_t offset, SourceRange &range) const {
  const size_t at = tokenAt(offset);
  if (at == LanguageScan::none || tokens[at].is(TokenKind::String))
    return "";
  const Token &token = tokens[at];
  range = token.range;
  std::string text;
  auto place = places.find(token.range.begin);
  const LanguageSymbol *symbol = scan.symbolOf(at);
  const bool isLocal =
      symbol && (symbol->kind == LanguageSymbol::Local || symbol->kind == LanguageSymbol::Param);
  if (symbol && !isLocal) {
    const Found found = findItem(token.text);
    if (found.item && found.item->kind == LanguageItem::Constant)
      text = found.tokens[found.item->first].documentation + "\n";
    else if (std::optional<LanguageCallable> callable = findCallable(token.text))
      text = "```dl\n" + callable->label + "\n```\n" + callable->documentation + "\n";
  }
  if (place == places.end())
    return text;
  const Place &known = place->second;
  if (!known.value.empty())
    text +=
        std::string(text.empty() ? "" : "\n") + (known.calls ? "gives " : "") + known.value + "\n";
  if (known.parameters)
    text += "\n" + withThousands(known.parameters) + " parameters\n";
  return text;
}

SourceRange LanguageIndex::definition(uint32_t offset) const {
  const size_t at = tokenAt(offset);
  if (at == LanguageScan::none)
    return {};
  for (const LanguageItem &item : scan.items())
    if (item.kind == LanguageItem::Import && at == item.first + 1)
      if (const OtherFile *other = importedFile({file, tokens, &item}))
        return {other->file, 0, 0};
  if (auto place = places.find(tokens[at].range.begin);
      place != places.end() && place->second.definition.isValid())
    return place->second.definition;
  const LanguageSymbol *symbol = scan.symbolOf(at);
  if (symbol && symbol->kind == LanguageSymbol::Import)
    if (const Found found = findItem(symbol->name); found.item)
      return found.tokens[found.item->name].range;
  return symbol && !symbol->definitions.empty() ? tokens[symbol->definitions.front()].range
                                                : SourceRange();
}

} // namespace dlc::tool
