//===- LanguageIndex.cpp - what an editor may ask about a model -------------------------------===//
#include "tools/dlc/LanguageIndex.h"
#include "frontend/DL/Builtins.h"
#include "frontend/DL/Parser.h"
#include "mlir/IR/MLIRContext.h"
#include "tools/dlc/Library.h"
#include <set>

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

const Token *LanguageIndex::tokenAt(uint32_t offset) const {
  for (const Token &token : tokens)
    if (token.range.begin <= offset && offset <= token.range.end() && token.range.length != 0 &&
        (token.is(TokenKind::Name) || token.is(TokenKind::DType)))
      return &token;
  return nullptr;
}

static std::string withThousands(int64_t number) {
  std::string text = std::to_string(number);
  for (int64_t at = int64_t(text.size()) - 3; at > 0; at -= 3)
    text.insert(at, ",");
  return text;
}

/// "conv2d(x, channels, kernel, stride=1, ...)" with all arguments.
static std::string fullSignature(const Builtin &builtin) {
  std::string text = builtin.name.str() + "(";
  for (auto [i, param] : llvm::enumerate(builtin.params)) {
    text += (i ? ", " : "") + param.name.str();
    if (!param.isRequired())
      text += "=" + defaultText(param);
  }
  return text + ")";
}

std::string LanguageIndex::hover(uint32_t offset, SourceRange &range) const {
  const Token *token = tokenAt(offset);
  if (!token)
    return "";
  range = token->range;
  std::string text;
  const Builtin *builtin = findBuiltin(token->text);
  auto place = places.find(token->range.begin);
  bool isLocal = place != places.end() && place->second.definition.isValid();
  if (builtin && !isLocal)
    text = "```dl\n" + fullSignature(*builtin) + "\n```\n" + builtin->doc.str() +
           (builtin->build ? "" : "; not available yet") + "\n";
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
  const Token *token = tokenAt(offset);
  auto place = token ? places.find(token->range.begin) : places.end();
  return place == places.end() ? SourceRange() : place->second.definition;
}

/// The name before the innermost '(' that is open at the offset.
std::string LanguageIndex::calleeAround(uint32_t offset) const {
  std::vector<std::string> open;
  for (size_t i = 0; i < tokens.size() && tokens[i].range.end() <= offset; ++i) {
    bool opens = tokens[i].is(TokenKind::LeftParen) || tokens[i].is(TokenKind::LeftBracket);
    if (opens)
      open.push_back(i && tokens[i].is(TokenKind::LeftParen) && tokens[i - 1].is(TokenKind::Name)
                         ? tokens[i - 1].text.str()
                         : "");
    else if ((tokens[i].is(TokenKind::RightParen) || tokens[i].is(TokenKind::RightBracket)) &&
             !open.empty())
      open.pop_back();
    else if (tokens[i].is(TokenKind::LeftBrace) || tokens[i].is(TokenKind::RightBrace))
      open.clear();
  }
  return open.empty() ? "" : open.back();
}

std::vector<LanguageIndex::Completion> LanguageIndex::completions(uint32_t offset) const {
  std::vector<Completion> list;
  std::string callee = calleeAround(offset);
  if (const Builtin *builtin = callee.empty() ? nullptr : findBuiltin(callee)) {
    for (const BuiltinParam &param : builtin->params)
      list.push_back({Completion::Argument, param.name.str() + "=",
                      param.isRequired() ? "required" : defaultText(param)});
    if (builtin->category == Category::Layer)
      for (llvm::StringRef name : layerAttributeNames())
        list.push_back({Completion::Argument, name.str() + "=", "attribute"});
  }
  DiagnosticEngine quiet;
  std::unique_ptr<ast::File> tree = parse(sources, file, quiet);
  for (const ast::Block *block : tree->blocks)
    if (block->name.text == callee)
      for (const ast::Param &param : block->params)
        list.push_back(
            {Completion::Argument, param.name.text.str() + "=",
             param.defaultValue ? sources.text(param.defaultValue->range).str() : "required"});
  for (const Builtin &builtin : builtins())
    list.push_back(
        {Completion::Function, builtin.name.str(), builtin.signature() + ": " + builtin.doc.str()});
  std::set<std::string> names;
  for (const Token &token : tokens)
    if (token.is(TokenKind::Name) && !findBuiltin(token.text) &&
        !(token.range.begin <= offset && offset <= token.range.end()))
      names.insert(token.text.str());
  for (const std::string &name : names)
    list.push_back({Completion::Name, name, ""});
  for (llvm::StringRef word : keywords())
    list.push_back({Completion::Keyword, word.str(), ""});
  return list;
}

} // namespace dlc::tool
