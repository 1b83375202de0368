//===- LanguageServer.cpp - dlc lsp -----------------------------------------------------------===//
//
// The language server protocol over standard input and output: diagnostics as one types (whole
// documents are sent), hover, go to definition, completion. One thread; a model is evaluated anew
// after each change, which takes milliseconds.
//
//===------------------------------------------------------------------------------------------===//
#include "tools/CommandLine/ExitCode.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/LanguageIndex.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdio>
#include <cstring>

using namespace dlc::frontend;
namespace json = llvm::json;

namespace dlc::tool {

namespace {

/// Larger messages are refused: no model is this long.
constexpr size_t maxMessageBytes = 64u << 20;

//===------------------------------------------------------------------------------------------===//
// Messages
//===------------------------------------------------------------------------------------------===//

/// The next message; nothing at the end of the input, or where the input is no message.
std::optional<std::string> readMessage() {
  size_t length = 0;
  char header[1024];
  while (std::fgets(header, sizeof header, stdin)) {
    llvm::StringRef text = llvm::StringRef(header).rtrim("\r\n");
    if (text.empty())
      break;
    if (text.consume_front_insensitive("content-length:") && text.trim().getAsInteger(10, length))
      return std::nullopt;
  }
  if (length == 0 || length > maxMessageBytes)
    return std::nullopt;
  std::string body(length, '\0');
  if (std::fread(body.data(), 1, length, stdin) != length)
    return std::nullopt;
  return body;
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

json::Object position(const SourceManager &sources, FileId file, uint32_t offset) {
  llvm::StringRef before = sources.text(file).take_front(offset);
  size_t start = before.rfind('\n') + 1;
  return json::Object{{"line", int64_t(before.count('\n'))},
                      {"character", int64_t(utf16Units(before.drop_front(start)))}};
}

json::Object rangeOf(const SourceManager &sources, SourceRange range) {
  return json::Object{{"start", position(sources, range.file, range.begin)},
                      {"end", position(sources, range.file, range.end())}};
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

class LanguageServer {
public:
  int run();

private:
  /// The result of a request; an error for one that is not known.
  std::optional<json::Value> answer(llvm::StringRef method, const json::Object &params);
  void notified(llvm::StringRef method, const json::Object &params);
  void update(llvm::StringRef uri, llvm::StringRef text);
  void publish(llvm::StringRef uri, const LanguageIndex *index);
  /// The document and the offset that a request is about; null if it is not open.
  const LanguageIndex *find(const json::Object &params, uint32_t &offset) const;
  json::Value hover(const json::Object &params) const;
  json::Value definition(const json::Object &params) const;
  json::Value completion(const json::Object &params) const;

  llvm::StringMap<std::unique_ptr<LanguageIndex>> documents;
  bool isShutDown = false;
};

json::Object capabilities() {
  return json::Object{
      {"textDocumentSync", 1},
      {"hoverProvider", true},
      {"definitionProvider", true},
      {"completionProvider", json::Object{{"triggerCharacters", json::Array{"(", ",", ">"}}}}};
}

const LanguageIndex *LanguageServer::find(const json::Object &params, uint32_t &offset) const {
  const json::Object *document = params.getObject("textDocument"),
                     *place = params.getObject("position");
  if (!document || !place)
    return nullptr;
  auto found = documents.find(document->getString("uri").value_or(""));
  if (found == documents.end())
    return nullptr;
  const LanguageIndex &index = *found->second;
  offset = offsetOf(index.sources.text(index.file), place->getInteger("line").value_or(0),
                    place->getInteger("character").value_or(0));
  return &index;
}

json::Value LanguageServer::hover(const json::Object &params) const {
  uint32_t offset = 0;
  SourceRange range;
  const LanguageIndex *index = find(params, offset);
  std::string text = index ? index->hover(offset, range) : "";
  if (text.empty())
    return nullptr;
  return json::Object{{"contents", json::Object{{"kind", "markdown"}, {"value", text}}},
                      {"range", rangeOf(index->sources, range)}};
}

json::Value LanguageServer::definition(const json::Object &params) const {
  uint32_t offset = 0;
  const LanguageIndex *index = find(params, offset);
  SourceRange range = index ? index->definition(offset) : SourceRange();
  if (!range.isValid())
    return nullptr;
  return json::Object{{"uri", uriOf(index->sources.name(range.file))},
                      {"range", rangeOf(index->sources, range)}};
}

json::Value LanguageServer::completion(const json::Object &params) const {
  uint32_t offset = 0;
  json::Array items;
  const LanguageIndex *index = find(params, offset);
  // CompletionItemKind of the protocol.
  static constexpr int kinds[] = {/*Field*/ 5, /*Function*/ 3, /*Variable*/ 6, /*Keyword*/ 14};
  if (index)
    for (auto [i, each] : llvm::enumerate(index->completions(offset))) {
      char order[16];
      std::snprintf(order, sizeof order, "%05zu", size_t(i));
      items.push_back(json::Object{{"label", each.label},
                                   {"detail", each.detail},
                                   {"kind", kinds[each.kind]},
                                   {"sortText", std::string(order)}});
    }
  return items;
}

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
      json::Object each{{"range", rangeOf(sources, range)},
                        {"severity", diagnostic.severity == Severity::Error ? 1 : 2},
                        {"source", "dlc"},
                        {"message", message}};
      json::Array notes;
      for (const Note &note : diagnostic.notes)
        if (note.range.isValid())
          notes.push_back(
              json::Object{{"location", json::Object{{"uri", uriOf(sources.name(note.range.file))},
                                                     {"range", rangeOf(sources, note.range)}}},
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

std::optional<json::Value> LanguageServer::answer(llvm::StringRef method,
                                                  const json::Object &params) {
  if (method == "initialize")
    return json::Object{{"capabilities", capabilities()},
                        {"serverInfo", json::Object{{"name", "dlc"}, {"version", DLC_VERSION}}}};
  if (method == "shutdown") {
    isShutDown = true;
    return nullptr;
  }
  if (method == "textDocument/hover")
    return hover(params);
  if (method == "textDocument/definition")
    return definition(params);
  if (method == "textDocument/completion")
    return completion(params);
  return std::nullopt;
}

/// As the protocol wants: 0 after `shutdown` and `exit`, 1 if the input ends before.
int LanguageServer::run() {
  while (std::optional<std::string> body = readMessage()) {
    llvm::Expected<json::Value> message = json::parse(*body);
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
    if (std::optional<json::Value> result = answer(*method, params ? *params : none))
      send(json::Object{{"id", *id}, {"result", std::move(*result)}});
    else
      send(
          json::Object{{"id", *id},
                       {"error", json::Object{{"code", -32601},
                                              {"message", "dlc has no method " + method->str()}}}});
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
