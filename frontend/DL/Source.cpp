// Owns source texts; finds lines by binary search in a table made once per file.
#include "frontend/DL/Source.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>

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
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status)) {
    error = code.message();
    return noFile;
  }
  using llvm::sys::fs::file_type;
  if (status.type() != file_type::regular_file && status.type() != file_type::fifo_file) {
    error = status.type() == file_type::directory_file ? "it is a directory" : "it is no file";
    return noFile;
  }
  if (status.getSize() > maxFileBytes) {
    error = "it has " + std::to_string(status.getSize()) + " bytes, the limit is " +
            std::to_string(maxFileBytes);
    return noFile;
  }
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    error = buffer.getError().message();
    return noFile;
  }
  if ((*buffer)->getBuffer().starts_with("\x7F"
                                         "ELF")) {
    error = "it is a compiled module, which dlc-run runs";
    return noFile;
  }
  return add(path, (*buffer)->getBuffer().take_front(maxFileBytes));
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
    if (file.name != name || place.line == 0 || place.line > file.lineStarts.size() || place.column == 0)
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
