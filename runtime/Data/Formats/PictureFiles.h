// Pictures in files, one in each, with a class: what folders and lists of them become.
#ifndef DLC_RUNTIME_DATA_FORMATS_PICTUREFILES_H
#define DLC_RUNTIME_DATA_FORMATS_PICTUREFILES_H

#include "runtime/Data/Dataset.h"

#include <algorithm>

namespace dlc::runtime {

/// Whether a name ends in one of these, in large or small letters.
inline bool endsInAny(std::string_view name, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) {
    return name.size() >= ending.size() &&
           std::ranges::equal(name.substr(name.size() - ending.size()), ending, {},
                              [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  });
}
/// Whether the name is one of a picture's.
inline bool isPictureName(std::string_view name) {
  constexpr std::string_view endings[] = {".jpg", ".jpeg", ".png", ".webp"};
  return endsInAny(name, endings);
}

/// Names of files, a million of them in as much memory as their characters take and 8 bytes each.
class FileNames {
public:
  uint64_t size() const { return ends.size(); }
  std::string_view operator[](uint64_t index) const {
    const uint64_t begin = index == 0 ? 0 : ends[index - 1];
    return std::string_view(text).substr(begin, ends[index] - begin);
  }
  /// The name that the parts make together.
  template <typename... Parts> void add(const Parts &...parts) {
    (text.append(parts), ...);
    ends.push_back(text.size());
  }
  void append(const FileNames &others);
  void shrink();

private:
  std::string text;
  std::vector<uint64_t> ends;
};

/// More that each sample has: a picture, or numbers.
struct PictureColumn {
  DatasetField field;
  /// Of pictures: their names, and what the decoder is asked for.
  FileNames files = {};
  uint32_t channels = 0;
  /// Of numbers: all of them, of the field's type.
  std::vector<std::byte> numbers = {};
};

/// What a dataset of pictures consists of.
struct PictureFiles {
  /// For messages: the folder, or the list.
  std::string name;
  /// Stands in front of the names that begin with no slash; ends with one or is empty.
  std::string folder;
  FileNames files;
  /// None where no classes are known.
  std::vector<int32_t> labels;
  /// Names of the classes; none of a list.
  std::vector<std::string> classes = {};
  /// The input that takes the pictures; empty: whichever takes images.
  std::string input = {};
  std::vector<PictureColumn> columns = {};
};

/// Channels of the first input that images of one or three go to, and that has this name if there
/// is one; three without a reader.
uint32_t pictureChannels(const EntryInfo *reader, std::string_view name = {});

/// An image and a label, which come from `file`.
std::vector<DatasetField> pictureFields(const std::string &file, uint32_t channels);

/// A dataset of an image, of as many channels as the input of `reader` takes that images go to, and
/// a label if there are any. Each file is opened when it is read; none is now.
Result<std::shared_ptr<const Dataset>> openPictureFiles(PictureFiles files,
                                                        const EntryInfo *reader);

} // namespace dlc::runtime

#endif
