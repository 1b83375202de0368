//===- LanguageServer.cpp - dlc lsp -----------------------------------------------------------===//
//
// The language server protocol over standard input and output: diagnostics as one types (whole
// documents are sent), hover, definition, references, rename, completion, signatures, the outline,
// formatting. One thread; a model is evaluated anew after each change, which takes milliseconds.
//
// The structures of the answers are LLVM's (Support/LSP). Its transport is not used: it cannot
// refuse what is nested too deeply, does not answer what is no JSON, and knows no document that has
// no file yet.
//
//===------------------------------------------------------------------------------------------===//
#include "dlc/version.h"
#include "runtime/Core/Json.h"
#include "tools/CommandLine/ExitCode.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/LanguageIndex.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Protocol.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdio>
#include <cstring>

using namespace dlc::frontend;
namespace json = llvm::json;
namespace lsp = llvm::lsp;

namespace dlc::tool {

namespace {

/// Larger messages are refused: no model is this long.
constexpr size_t maxMessageBytes = 64u << 20;

//===------------------------------------------------------------------------------------------===//
// Messages
//===------------------------------------------------------------------------------------------===//

/// Says why the input cannot be followed any further.
std::nullopt_t refuse(const llvm::Twine &what) {
  llvm::errs() << "error: dlc lsp: " << what << '\n';
  return std::nullopt;
}

/// The next message; nothing at the end of the input, or where the input is no message.
std::optional<std::string> readMessage() {
  size_t length = 0;
  char header[1024];
  while (std::fgets(header, sizeof header, stdin)) {
    llvm::StringRef text = llvm::StringRef(header).rtrim("\r\n");
    if (text.empty())
      break;
    if (text.consume_front_insensitive("content-length:") && text.trim().getAsInteger(10, length))
      return refuse("Content-Length is no number of bytes");
  }
  if (std::feof(stdin))
    return std::nullopt;
  if (length == 0 || length > maxMessageBytes)
    return refuse("a message of " + llvm::Twine(length) + " bytes, expected 1 to " +
                  llvm::Twine(maxMessageBytes));
  std::string body(length, '\0');
  size_t got = std::fread(body.data(), 1, length, stdin);
  if (got != length)
    return refuse("the input ends after " + llvm::Twine(got) + " of " + llvm::Twine(length) +
                  " bytes");
  return body;
}

/// llvm::json recurses, so the depth is looked at first.
llvm::Expected<json::Value> parse(llvm::StringRef body) {
  if (runtime::Status deep = runtime::checkJsonDepth(body); !deep.ok())
    return llvm::createStringError(std::string(deep.message()));
  return json::parse(body);
}

void send(json::Object message) {
  message["jsonrpc"] = "2.0";
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(message));
  llvm::outs() << "Content-Length: " << text.size() << "\r\n\r\n" << text;
  llvm::outs().flush();
}

//===------------------------------------------------------------------------------------------===//
// Places: the protocol counts lines from 0 and columns in UTF-16 units
//===------------------------------------------------------------------------------------------===//

unsigned utf16Units(llvm::StringRef text) {
  unsigned units = 0;
  for (unsigned char c : text)
    units += (c & 0xC0) == 0x80 ? 0 : c >= 0xF0 ? 2 : 1;
  return units;
}

lsp::Position positionOf(const SourceManager &sources, FileId file, uint32_t offset) {
  llvm::StringRef before = sources.text(file).take_front(offset);
  size_t start = before.rfind('\n') + 1;
  return lsp::Position(int(before.count('\n')), int(utf16Units(before.drop_front(start))));
}

lsp::Range rangeOf(const SourceManager &sources, SourceRange range) {
  return lsp::Range(positionOf(sources, range.file, range.begin),
                    positionOf(sources, range.file, range.end()));
}

uint32_t offsetOf(llvm::StringRef text, int64_t line, int64_t character) {
  size_t at = 0;
  for (; line > 0 && at != llvm::StringRef::npos; --line) {
    size_t end = text.find('\n', at);
    at = end == llvm::StringRef::npos ? text.size() : end + 1;
  }
  for (int64_t units = 0; at < text.size() && text[at] != '\n' && units < character;) {
    size_t size = std::min<size_t>(llvm::getNumBytesForUTF8(text[at]), text.size() - at);
    units += size == 4 ? 2 : 1;
    at += size;
  }
  return at;
}

std::string pathOf(llvm::StringRef uri) {
  uri.consume_front("file://");
  std::string path;
  for (size_t i = 0; i < uri.size(); ++i) {
    unsigned code;
    if (uri[i] == '%' && !uri.substr(i + 1, 2).getAsInteger(16, code) && i + 2 < uri.size()) {
      path += char(code);
      i += 2;
    } else {
      path += uri[i];
    }
  }
  return path;
}

std::string uriOf(llvm::StringRef path) {
  std::string uri = "file://";
  for (unsigned char c : path)
    if (llvm::isAlnum(c) || llvm::StringRef("/-._~").contains(c))
      uri += char(c);
    else
      uri += '%' + llvm::utohexstr(c, /*LowerCase=*/false, /*Width=*/2);
  return uri;
}

//===------------------------------------------------------------------------------------------===//
// The server
//===------------------------------------------------------------------------------------------===//

/// A request that cannot be followed, and the code of the protocol for it.
llvm::Error fail(lsp::ErrorCode code, const llvm::Twine &why) {
  return llvm::make_error<lsp::LSPError>(why.str(), code);
}

/// The document and the place in it that a request is about.
struct Asked {
  const LanguageIndex *index;
  uint32_t offset;
  llvm::StringRef uri;
};

class LanguageServer {
public:
  int run();

private:
  llvm::Expected<json::Value> answer(llvm::StringRef method, const json::Object &params);
  void notified(llvm::StringRef method, const json::Object &params);
  void update(llvm::StringRef uri, llvm::StringRef text);
  void publish(llvm::StringRef uri, const LanguageIndex *index);
  /// Without a place the offset is 0; nothing if the document is not open.
  std::optional<Asked> find(const json::Object &params) const;

  llvm::StringMap<std::unique_ptr<LanguageIndex>> documents;
  bool isShutDown = false;
};

json::Object capabilities() {
  return json::Object{
      {"textDocumentSync", int(lsp::TextDocumentSyncKind::Full)},
      {"hoverProvider", true},
      {"definitionProvider", true},
      {"referencesProvider", true},
      {"renameProvider", json::Object{{"prepareProvider", true}}},
      {"documentSymbolProvider", true},
      {"documentFormattingProvider", true},
      {"signatureHelpProvider", json::Object{{"triggerCharacters", json::Array{"(", ",", "="}}}},
      {"completionProvider",
       json::Object{{"triggerCharacters", json::Array{"(", ",", ">", "=", ":"}}}}};
}

std::optional<Asked> LanguageServer::find(const json::Object &params) const {
  const json::Object *document = params.getObject("textDocument"),
                     *place = params.getObject("position");
  auto found = documents.find(document ? document->getString("uri").value_or("") : "");
  if (found == documents.end())
    return std::nullopt;
  const LanguageIndex &index = *found->second;
  const uint32_t offset =
      place ? offsetOf(index.sources.text(index.file), place->getInteger("line").value_or(0),
                       place->getInteger("character").value_or(0))
            : 0;
  return Asked{&index, offset, found->first()};
}

//===------------------------------------------------------------------------------------------===//
// Answers
//===------------------------------------------------------------------------------------------===//

using Answer = llvm::Expected<json::Value>;

Answer hover(const Asked &asked, const json::Object &) {
  SourceRange range;
  std::string text = asked.index->hover(asked.offset, range);
  if (text.empty())
    return nullptr;
  lsp::Hover hover(rangeOf(asked.index->sources, range));
  hover.contents.value = std::move(text);
  return toJSON(hover);
}

/// A place in any file; that of the document itself keeps the name under which it was opened.
json::Object locationOf(const Asked &asked, SourceRange range) {
  const SourceManager &sources = asked.index->sources;
  const bool isOwn = range.file == asked.index->file;
  return json::Object{{"uri", isOwn ? asked.uri.str() : uriOf(sources.name(range.file))},
                      {"range", toJSON(rangeOf(sources, range))}};
}

Answer definition(const Asked &asked, const json::Object &) {
  SourceRange range = asked.index->definition(asked.offset);
  return range.isValid() ? json::Value(locationOf(asked, range)) : json::Value(nullptr);
}

Answer references(const Asked &asked, const json::Object &params) {
  const json::Object *context = params.getObject("context");
  const bool withDefinitions = context && context->getBoolean("includeDeclaration").value_or(false);
  json::Array list;
  for (SourceRange range : asked.index->references(asked.offset, withDefinitions))
    list.push_back(locationOf(asked, range));
  return list;
}

Answer prepareRename(const Asked &asked, const json::Object &) {
  llvm::Expected<SourceRange> range = asked.index->findRenamable(asked.offset);
  if (!range)
    return fail(lsp::ErrorCode::RequestFailed, llvm::toString(range.takeError()));
  return toJSON(rangeOf(asked.index->sources, *range));
}

Answer renaming(const Asked &asked, const json::Object &params) {
  const llvm::StringRef name = params.getString("newName").value_or("");
  auto ranges = asked.index->placesToRename(asked.offset, name);
  if (!ranges)
    return fail(lsp::ErrorCode::RequestFailed, llvm::toString(ranges.takeError()));
  lsp::WorkspaceEdit edit;
  for (SourceRange range : *ranges)
    edit.changes[asked.uri.str()].push_back({rangeOf(asked.index->sources, range), name.str()});
  return toJSON(edit);
}

lsp::CompletionItemKind kindOf(LanguageIndex::Completion::Kind kind) {
  static constexpr lsp::CompletionItemKind kinds[] = {
      lsp::CompletionItemKind::Field, lsp::CompletionItemKind::Function,
      lsp::CompletionItemKind::Variable, lsp::CompletionItemKind::Keyword,
      lsp::CompletionItemKind::TypeParameter};
  return kinds[kind];
}

Answer completion(const Asked &asked, const json::Object &) {
  json::Array items;
  for (const LanguageIndex::Completion &each : asked.index->completions(asked.offset)) {
    // Editors sort by text; the order is that of the list.
    std::string order = std::to_string(items.size());
    order.insert(0, 6 - std::min<size_t>(6, order.size()), '0');
    lsp::CompletionItem item(each.label, kindOf(each.kind), order);
    item.detail = each.detail;
    items.push_back(toJSON(item));
  }
  return items;
}

Answer signatureHelp(const Asked &asked, const json::Object &) {
  auto found = asked.index->signature(asked.offset);
  if (!found)
    return nullptr;
  lsp::SignatureInformation signature;
  signature.label = found->callable.label;
  signature.documentation = found->callable.documentation;
  for (const LanguageCallable::Param &param : found->callable.params) {
    lsp::ParameterInformation information;
    information.labelOffsets = {unsigned(param.begin), unsigned(param.end)};
    signature.parameters.push_back(std::move(information));
  }
  lsp::SignatureHelp help;
  help.activeParameter = int(found->active);
  help.signatures.push_back(std::move(signature));
  return toJSON(help);
}

lsp::DocumentSymbol symbolOf(const LanguageIndex &index, const LanguageIndex::Outline &outline) {
  static constexpr lsp::SymbolKind kinds[] = {lsp::SymbolKind::Constant, lsp::SymbolKind::Function,
                                              lsp::SymbolKind::Class,    lsp::SymbolKind::Namespace,
                                              lsp::SymbolKind::Field,    lsp::SymbolKind::Variable};
  lsp::DocumentSymbol symbol(outline.name, kinds[outline.kind],
                             rangeOf(index.sources, outline.range),
                             rangeOf(index.sources, outline.nameRange));
  symbol.detail = outline.detail;
  for (const LanguageIndex::Outline &child : outline.children)
    symbol.children.push_back(symbolOf(index, child));
  return symbol;
}

Answer documentSymbols(const Asked &asked, const json::Object &) {
  json::Array list;
  for (const LanguageIndex::Outline &each : asked.index->outline())
    list.push_back(toJSON(symbolOf(*asked.index, each)));
  return list;
}

/// One edit of the whole text, or none where nothing changes.
Answer formatting(const Asked &asked, const json::Object &) {
  const LanguageIndex &index = *asked.index;
  std::optional<std::string> text = index.formatted();
  if (!text)
    return fail(lsp::ErrorCode::RequestFailed, "the file has a syntax error");
  const llvm::StringRef old = index.sources.text(index.file);
  if (*text == old)
    return json::Array();
  const SourceRange all{index.file, 0, uint32_t(old.size())};
  return json::Array{toJSON(lsp::TextEdit{rangeOf(index.sources, all), *text})};
}

/// What is asked about an open document.
const llvm::StringMap<Answer (*)(const Asked &, const json::Object &)> &requests() {
  static const llvm::StringMap<Answer (*)(const Asked &, const json::Object &)> all = {
      {"textDocument/hover", hover},
      {"textDocument/definition", definition},
      {"textDocument/references", references},
      {"textDocument/prepareRename", prepareRename},
      {"textDocument/rename", renaming},
      {"textDocument/completion", completion},
      {"textDocument/signatureHelp", signatureHelp},
      {"textDocument/documentSymbol", documentSymbols},
      {"textDocument/formatting", formatting}};
  return all;
}

//===------------------------------------------------------------------------------------------===//
// The conversation
//===------------------------------------------------------------------------------------------===//

void LanguageServer::publish(llvm::StringRef uri, const LanguageIndex *index) {
  json::Array list;
  if (index)
    for (const Diagnostic &diagnostic : index->engine.diagnostics()) {
      const SourceManager &sources = index->sources;
      // What is wrong in an imported file is told where this file begins.
      SourceRange range =
          diagnostic.range.file == index->file ? diagnostic.range : SourceRange{index->file, 0, 0};
      std::string message = diagnostic.message;
      if (diagnostic.range.isValid() && diagnostic.range.file != index->file)
        message = sources.describe(diagnostic.range) + ": " + message;
      if (!diagnostic.hint.empty())
        message += "\n" + diagnostic.hint;
      json::Object each{{"range", toJSON(rangeOf(sources, range))},
                        {"severity", diagnostic.severity == Severity::Error ? 1 : 2},
                        {"source", "dlc"},
                        {"message", message}};
      json::Array notes;
      for (const Note &note : diagnostic.notes)
        if (note.range.isValid())
          notes.push_back(json::Object{
              {"location", json::Object{{"uri", uriOf(sources.name(note.range.file))},
                                        {"range", toJSON(rangeOf(sources, note.range))}}},
              {"message", note.message}});
      if (!notes.empty())
        each["relatedInformation"] = std::move(notes);
      list.push_back(std::move(each));
    }
  send(json::Object{{"method", "textDocument/publishDiagnostics"},
                    {"params", json::Object{{"uri", uri}, {"diagnostics", std::move(list)}}}});
}

void LanguageServer::update(llvm::StringRef uri, llvm::StringRef text) {
  auto index = std::make_unique<LanguageIndex>(pathOf(uri), text);
  publish(uri, index.get());
  documents[uri] = std::move(index);
}

void LanguageServer::notified(llvm::StringRef method, const json::Object &params) {
  const json::Object *document = params.getObject("textDocument");
  llvm::StringRef uri = document ? document->getString("uri").value_or("") : "";
  if (uri.empty())
    return;
  if (method == "textDocument/didOpen")
    update(uri, document->getString("text").value_or(""));
  const json::Array *changes = params.getArray("contentChanges");
  if (method == "textDocument/didChange" && changes && !changes->empty())
    if (const json::Object *last = changes->back().getAsObject())
      update(uri, last->getString("text").value_or(""));
  if (method == "textDocument/didClose") {
    documents.erase(uri);
    publish(uri, nullptr);
  }
}

llvm::Expected<json::Value> LanguageServer::answer(llvm::StringRef method,
                                                   const json::Object &params) {
  if (method == "initialize")
    return json::Object{{"capabilities", capabilities()},
                        {"serverInfo", json::Object{{"name", "dlc"}, {"version", DLC_VERSION}}}};
  if (method == "shutdown") {
    isShutDown = true;
    return nullptr;
  }
  auto request = requests().find(method);
  if (request == requests().end())
    return fail(lsp::ErrorCode::MethodNotFound, "dlc has no method " + method);
  std::optional<Asked> asked = find(params);
  return asked ? request->second(*asked, params) : json::Value(nullptr);
}

/// The answer to a request, or why there is none.
json::Object replyTo(const json::Value &id, llvm::Expected<json::Value> result) {
  if (result)
    return json::Object{{"id", id}, {"result", std::move(*result)}};
  json::Object error;
  llvm::handleAllErrors(result.takeError(), [&](const lsp::LSPError &failure) {
    error = json::Object{{"code", int(failure.code)}, {"message", failure.message}};
  });
  return json::Object{{"id", id}, {"error", std::move(error)}};
}

/// As the protocol wants: 0 after `shutdown` and `exit`, 1 if the input ends before.
int LanguageServer::run() {
  while (std::optional<std::string> body = readMessage()) {
    llvm::Expected<json::Value> message = parse(*body);
    if (!message) {
      send(json::Object{{"id", nullptr},
                        {"error", json::Object{{"code", -32700},
                                               {"message", llvm::toString(message.takeError())}}}});
      continue;
    }
    const json::Object *object = message->getAsObject();
    std::optional<llvm::StringRef> method = object ? object->getString("method") : std::nullopt;
    if (!method)
      continue;
    if (*method == "exit")
      return isShutDown ? 0 : 1;
    static const json::Object none;
    const json::Object *params = object->getObject("params");
    const json::Value *id = object->get("id");
    if (!id) {
      notified(*method, params ? *params : none);
      continue;
    }
    send(replyTo(*id, answer(*method, params ? *params : none)));
  }
  return 1;
}

} // namespace

int runLanguageServer(int argc, char **) {
  if (argc > 1) {
    llvm::errs() << "error: dlc lsp takes no arguments; it speaks the language server protocol on "
                    "standard input and output\n";
    return WrongUsage;
  }
  return LanguageServer().run();
}

} // namespace dlc::tool
