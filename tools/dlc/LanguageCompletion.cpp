//===- LanguageCompletion.cpp - what may be written at a place --------------------------------===//
#include "frontend/DL/Builtins/Builtins.h"
#include "frontend/DL/Sections/Sections.h"
#include "tools/dlc/LanguageIndex.h"

using namespace dlc::frontend;

namespace dlc::tool {

using Completion = LanguageIndex::Completion;

static bool isSection(const LanguageItem &item) {
  return item.kind == LanguageItem::Train || item.kind == LanguageItem::Infer;
}

/// What only a section has a use for.
static bool isForSections(Category category) {
  return category == Category::Loss || category == Category::Metric ||
         category == Category::Optimizer || category == Category::Schedule ||
         category == Category::Clip;
}

static void addBuiltins(std::vector<Completion> &list, llvm::function_ref<bool(Category)> wanted) {
  for (const Builtin &builtin : builtins())
    if (wanted(builtin.category))
      list.push_back({Completion::Function, builtin.name.str(),
                      builtin.signature() + ": " + builtin.doc.str()});
}

template <typename Words>
static void addWords(std::vector<Completion> &list, Completion::Kind kind, const Words &words) {
  for (llvm::StringRef word : words)
    list.push_back({kind, word.str(), ""});
}

/// Those that the call does not have yet.
void LanguageIndex::addArguments(const OpenBracket &call, std::vector<Completion> &list) const {
  std::optional<LanguageCallable> callable = findCallable(call.callee);
  if (!callable)
    return;
  const size_t given = call.positional + (call.isPiped && !call.hasHole);
  for (auto [i, param] : llvm::enumerate(callable->params)) {
    const std::string text = callable->label.substr(param.begin, param.end - param.begin);
    if (i >= given && !llvm::is_contained(call.named, param.name))
      list.push_back(
          {Completion::Argument, param.name + "=", text == param.name ? "required" : text});
  }
  if (callable->isLayer)
    for (llvm::StringRef name : layerAttributeNames())
      if (!llvm::is_contained(call.named, name))
        list.push_back({Completion::Argument, name.str() + "=", "attribute"});
}

/// At the beginning of a statement: the settings of the section that are not bound yet, and the
/// words that begin one.
void LanguageIndex::addSettings(const LanguageScan &before, std::vector<Completion> &list) const {
  const LanguageItem &item = before.items()[before.openItem()];
  const bool isTrain = item.kind == LanguageItem::Train;
  if (isSection(item))
    for (llvm::StringRef name : settingNames(isTrain))
      if (llvm::none_of(before.visibleIn(before.openItem()), [&](const LanguageSymbol *symbol) {
            return symbol->name == name && symbol->kind == LanguageSymbol::Setting;
          }))
        list.push_back({Completion::Argument, name.str() + " = ", "setting"});
  auto belongs = [&](llvm::StringRef word) {
    const bool isOfTraining = word == "metric" || word == "parameters" || word == "step";
    return isTrain == isOfTraining;
  };
  for (llvm::StringRef word : statementWords())
    if (belongs(word))
      list.push_back({Completion::Keyword, word.str(), ""});
}

/// Names in scope with what is known of them, functions, keywords.
void LanguageIndex::addNames(const LanguageScan &before, std::vector<Completion> &list) const {
  const size_t item = before.openItem();
  for (const LanguageSymbol *symbol : before.visibleIn(item)) {
    auto place = places.find(tokens[symbol->definitions.back()].range.begin);
    std::optional<LanguageCallable> callable =
        symbol->kind == LanguageSymbol::Item || symbol->kind == LanguageSymbol::Import
            ? findCallable(symbol->name)
            : std::nullopt;
    list.push_back({callable ? Completion::Function : Completion::Name, symbol->name.str(),
                    callable                ? callable->label
                    : place != places.end() ? place->second.value
                                            : ""});
  }
  const bool inSection = item != LanguageScan::none && isSection(before.items()[item]);
  // What the file declares further down is known here, too.
  for (const LanguageSymbol *symbol : scan.visibleIn(LanguageScan::none))
    if (symbol->kind == LanguageSymbol::Item &&
        llvm::none_of(list, [&](const Completion &each) { return each.label == symbol->name; }))
      list.push_back({Completion::Function, symbol->name.str(), ""});
  if (inSection)
    list.push_back({Completion::Name, "output", "what the model returns"});
  addBuiltins(list, [&](Category category) { return inSection || !isForSections(category); });
  addWords(list, Completion::Keyword, keywords());
}

/// Behind `optimizer =` the optimizers, behind `metric x =` the metrics, and so on.
void LanguageIndex::addValuesOf(const LanguageScan &before, std::vector<Completion> &list) const {
  static constexpr std::pair<llvm::StringLiteral, Category> categories[] = {
      {"loss", Category::Loss},
      {"optimizer", Category::Optimizer},
      {"schedule", Category::Schedule},
      {"clip", Category::Clip},
      {"metric", Category::Metric}};
  const OpenBracket &open = before.open().back();
  const size_t first = open.statement;
  const bool hasValue = before.size() > 0 && tokens[before.size() - 1].is(TokenKind::Assign);
  for (auto [word, category] : categories)
    if (hasValue && first < before.size() && tokens[first].text == word)
      addBuiltins(list, [wanted = category](Category each) { return each == wanted; });
}

std::vector<Completion> LanguageIndex::completions(uint32_t offset) const {
  std::vector<Completion> list;
  uint32_t begin = offset;
  if (const size_t at = tokenAt(offset);
      at != LanguageScan::none && tokens[at].range.begin < offset) {
    if (tokens[at].is(TokenKind::String))
      return list;
    begin = tokens[at].range.begin;
  }
  const LanguageScan before(tokens, begin);
  const Token *previous = before.size() > 0 ? &tokens[before.size() - 1] : nullptr;
  const OpenBracket *open = before.open().empty() ? nullptr : &before.open().back();
  auto follows = [&](TokenKind kind) { return previous && previous->is(kind); };
  const bool onNewLine = !previous || follows(TokenKind::LeftBrace) ||
                         follows(TokenKind::RightBrace) ||
                         (sources.text(file).slice(previous->range.end(), begin).contains('\n') &&
                          !follows(TokenKind::Assign) && !follows(TokenKind::Pipe));
  const bool isResults = open && open->kind == OpenBracket::List && before.open().size() == 1;
  const bool mayBeTyped =
      open && (open->kind == OpenBracket::Params || open->kind == OpenBracket::Body || isResults);
  if (follows(TokenKind::Arrow) || (follows(TokenKind::Colon) && mayBeTyped)) {
    addWords(list, Completion::Type, dtypeWords());
    return list;
  }
  if (open && open->kind == OpenBracket::Params &&
      (follows(TokenKind::LeftParen) || follows(TokenKind::Comma)))
    return list; // a name that does not exist yet
  if (open && open->kind == OpenBracket::Group && onNewLine) {
    for (llvm::StringRef name : groupSettingNames())
      list.push_back({Completion::Argument, name.str() + " = ", "setting of a group"});
    return list;
  }
  if (open && open->kind == OpenBracket::Call &&
      (follows(TokenKind::LeftParen) || follows(TokenKind::Comma)))
    addArguments(*open, list);
  if (open && open->kind == OpenBracket::Body && before.openItem() != LanguageScan::none) {
    if (onNewLine)
      addSettings(before, list);
    else
      addValuesOf(before, list);
  }
  addNames(before, list);
  return list;
}

} // namespace dlc::tool
