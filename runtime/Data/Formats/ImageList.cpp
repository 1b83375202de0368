// Parsing lines.
#include "runtime/Data/Formats/ImageList.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Formats/PictureFiles.h"

#include <algorithm>
#include <charconv>

namespace dlc::runtime {
namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view withoutBlanksBehind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// Adds the picture of a line that is not empty.
Status readLine(std::string_view line, PictureFiles &files) {
  const size_t wordAt = line.find_last_of(blanks) + 1;
  const std::string_view word = line.substr(wordAt),
                         path = withoutBlanksBehind(line.substr(0, wordAt));
  int32_t label = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), label);
  if (path.empty() || error != std::errc() || end != word.data() + word.size() || label < 0)
    return damaged("'", excerpt(path.empty() ? line : word), "' is no ",
                   path.empty() ? "line of a list" : "label",
                   ": expected the path of a picture, a space and a whole number from 0");
  files.files.add(path);
  files.labels.push_back(label);
  return {};
}

Result<PictureFiles> readList(const std::string &path) {
  constexpr uint64_t mostBytes = uint64_t(1) << 34;
  DLC_TRY_ASSIGN(content, readWholeFile(path, mostBytes));
  const std::span begin = std::span(content).first(std::min(content.size(), fileKindBytes));
  const std::string_view kind = fileKind(begin);
  if (!kind.empty() && !isTextKind(kind))
    return damaged(path, ": is ", kind, ", expected lines of a path and the number of a class");
  PictureFiles files{path, path.substr(0, path.rfind('/') + 1), {}, {}};
  std::string_view rest(reinterpret_cast<const char *>(content.data()), content.size());
  for (uint64_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = withoutBlanksBehind(takeLine(rest));
    if (!line.empty())
      DLC_TRY_IN(readLine(line, files), path, ":", number);
  }
  if (files.labels.empty())
    return damaged(path, ": there are no samples in it");
  return files;
}

} // namespace

std::vector<std::string> imageListFiles(const std::string &path, Split split) {
  if (!isFolder(path))
    return {path};
  if (split == Split::Train)
    return {concat(path, "/train.txt")};
  return {concat(path, "/val.txt"), concat(path, "/test.txt")};
}

bool hasImageListSplit(const std::string &path, Split split) {
  return (split == Split::Train || isFolder(path)) &&
         std::ranges::any_of(imageListFiles(path, split), isThere);
}

Result<std::shared_ptr<const Dataset>> openImageList(const std::string &path, Split split,
                                                     const EntryInfo *reader) {
  return guarded([&]() -> Result<std::shared_ptr<const Dataset>> {
    const std::vector<std::string> lists = imageListFiles(path, split);
    const auto list = std::ranges::find_if(lists, isThere);
    DLC_TRY_ASSIGN(files, readList(list == lists.end() ? lists[0] : *list));
    return openPictureFiles(std::move(files), reader);
  });
}

} // namespace dlc::runtime
