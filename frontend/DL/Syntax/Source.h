// The text of .dl files and positions in it.
//
// A SourceManager owns every file of one compilation. A SourceRange is a file, a byte offset and a
// byte length; only the renderer turns it into line and column, and columns count characters (UTF-8
// code points), not bytes. Line ends are
// "\n" or "\r\n"; a byte order mark at the start is dropped when a file is added.
#ifndef DLC_FRONTEND_DL_SYNTAX_SOURCE_H
#define DLC_FRONTEND_DL_SYNTAX_SOURCE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dlc::frontend {

using FileId = uint32_t;
inline constexpr FileId noFile = ~0u;

/// Bytes [begin, begin + length) of a file; a range without a file belongs to the whole
/// compilation.
struct SourceRange {
  FileId file = noFile;
  uint32_t begin = 0;
  uint32_t length = 0;

  bool isValid() const { return file != noFile; }
  uint32_t end() const { return begin + length; }
  /// From the start of this range to the end of `last`, both in the same file.
  SourceRange to(SourceRange last) const {
    return {file, begin, last.end() > begin ? last.end() - begin : 0};
  }
  bool operator==(const SourceRange &) const = default;
};

/// Counted from 1.
struct LineColumn {
  unsigned line = 0;
  unsigned column = 0;
};

class SourceManager {
public:
  /// Larger files are refused: offsets are 32-bit and no model is this long.
  static constexpr uint64_t maxFileBytes = 16u << 20;

  /// Adds text under the name that messages print.
  FileId add(llvm::StringRef name, llvm::StringRef text);

  /// Reads a file. On failure returns noFile and sets `error` to one line without the file's name.
  FileId load(llvm::StringRef path, std::string &error);

  /// Files are numbered from 0.
  FileId size() const { return static_cast<FileId>(files.size()); }
  llvm::StringRef name(FileId file) const { return files[file]->name; }
  llvm::StringRef text(FileId file) const { return files[file]->text; }
  llvm::StringRef text(SourceRange range) const {
    return text(range.file).substr(range.begin, range.length);
  }
  LineColumn lineColumn(SourceRange range) const;
  /// The character at a place that a message names; no file if there is none of that name, or no
  /// such place in it.
  SourceRange find(llvm::StringRef name, LineColumn place) const;
  /// The line, counted from 1, without its end.
  llvm::StringRef line(FileId file, unsigned line) const;
  /// "file.dl:3:7"
  std::string describe(SourceRange range) const;

private:
  struct File {
    std::string name;
    std::string text;
    std::vector<uint32_t> lineStarts;
  };
  std::vector<std::unique_ptr<File>> files;
};

/// The number of UTF-8 code points that begin in `text`.
unsigned countCharacters(llvm::StringRef text);

} // namespace dlc::frontend

#endif
