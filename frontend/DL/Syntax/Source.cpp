// Owns source texts; finds lines by binary search in a table made once per file.
#include "frontend/DL/Syntax/Source.h"

#include "runtime/Core/File.h"
#include "runtime/Core/FileKind.h"

#include <algorithm>
#include <span>

namespace dlc::frontend {

FileId SourceManager::add(llvm::StringRef name, llvm::StringRef text) {
  text.consume_front("\xEF\xBB\xBF");
  auto file = std::make_unique<File>();
  file->name = name.str();
  file->text = text.str();
  file->lineStarts.push_back(0);
  for (uint32_t i = 0; i < file->text.size(); ++i)
    if (file->text[i] == '\n')
      file->lineStarts.push_back(i + 1);
  files.push_back(std::move(file));
  return files.size() - 1;
}

FileId SourceManager::load(llvm::StringRef path, std::string &error) {
  auto content = runtime::readWholeFile(path.str(), maxFileBytes);
  if (!content.ok()) {
    llvm::StringRef reason(content.status().message());
    // The caller names the file.
    if (reason.consume_front(path))
      reason.consume_front(": ");
    reason.consume_front("cannot open: ");
    error = reason.str();
    return noFile;
  }
  llvm::StringRef text(reinterpret_cast<const char *>(content->data()), content->size());
  if (text.starts_with("\x7F"
                       "ELF")) {
    error = "it is a compiled module, which dlc-run runs";
    return noFile;
  }
  if (size_t at = text.find('\0'); at != llvm::StringRef::npos) {
    const std::string_view kind = runtime::fileKind(
        std::span(*content).first(std::min(content->size(), runtime::fileKindBytes)));
    error = kind.empty() ? "it is no text: byte " + std::to_string(at) + " is zero"
                         : "it is " + std::string(kind) + ", expected the text of a model";
    return noFile;
  }
  return add(path, text);
}

LineColumn SourceManager::lineColumn(SourceRange range) const {
  const File &file = *files[range.file];
  auto next = std::upper_bound(file.lineStarts.begin(), file.lineStarts.end(), range.begin);
  unsigned line = next - file.lineStarts.begin();
  uint32_t start = file.lineStarts[line - 1];
  llvm::StringRef before = llvm::StringRef(file.text).slice(start, range.begin);
  return {line, countCharacters(before) + 1};
}

SourceRange SourceManager::find(llvm::StringRef name, LineColumn place) const {
  for (FileId id = 0; id < files.size(); ++id) {
    const File &file = *files[id];
    if (file.name != name || place.line == 0 || place.line > file.lineStarts.size() ||
        place.column == 0)
      continue;
    uint32_t start = file.lineStarts[place.line - 1], end = start + line(id, place.line).size();
    uint32_t at = start;
    for (unsigned column = 1; at < end; ++at)
      if ((static_cast<unsigned char>(file.text[at]) & 0xC0) != 0x80 && column++ == place.column)
        break;
    return {id, at, 1};
  }
  return {};
}

llvm::StringRef SourceManager::line(FileId id, unsigned line) const {
  const File &file = *files[id];
  uint32_t begin = file.lineStarts[line - 1];
  uint32_t end = line < file.lineStarts.size() ? file.lineStarts[line] - 1 : file.text.size();
  llvm::StringRef text = llvm::StringRef(file.text).slice(begin, end);
  text.consume_back("\r");
  return text;
}

std::string SourceManager::describe(SourceRange range) const {
  LineColumn at = lineColumn(range);
  return (name(range.file) + ":" + llvm::Twine(at.line) + ":" + llvm::Twine(at.column)).str();
}

unsigned countCharacters(llvm::StringRef text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

} // namespace dlc::frontend
