// Pictures in files, one in each, with a class: what folders and lists of them become.
#ifndef DLC_RUNTIME_DATA_FORMATS_PICTUREFILES_H
#define DLC_RUNTIME_DATA_FORMATS_PICTUREFILES_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

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
};

/// Channels of the first input that images of one or three go to; three without a reader.
uint32_t pictureChannels(const EntryInfo *reader);

/// An image and a label, which come from `file`.
std::vector<DatasetField> pictureFields(const std::string &file, uint32_t channels);

/// A dataset of an image, of as many channels as the input of `reader` takes that images go to, and
/// a label if there are any. Each file is opened when it is read; none is now.
Result<std::shared_ptr<const Dataset>> openPictureFiles(PictureFiles files,
                                                        const EntryInfo *reader);

} // namespace dlc::runtime

#endif
