// What a list is read for.
#include "runtime/Data/Formats/ImageList.h"
#include "dlc/plan.h"
#include "runtime/Core/File.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Pictures/Plugin.h"
#include "runtime/Data/SampleShape.h"

#include <algorithm>

namespace dlc::runtime {
namespace {

std::vector<ListInput> inputsOf(const EntryInfo *reader) {
  std::vector<ListInput> inputs;
  for (size_t i = 0; reader && i < reader->inputs.size(); ++i) {
    const ValueInfo &input = reader->inputs[i];
    const dlc_dtype dtype = input.type.dtype;
    if (i != reader->validInput)
      inputs.push_back({.name = input.name,
                        .isWhole = isWhole(dtype),
                        .isMask = takesImages(input) && isWhole(dtype) && dtype != DLC_U8,
                        .elements = TensorType{dtype, sampleShape(input), {}}.elementCount(),
                        .channels = pictureChannels(reader, input.name)});
  }
  return inputs;
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
    DLC_TRY_ASSIGN(read, openPictureListReader());
    DLC_TRY_ASSIGN(files, read(list == lists.end() ? lists[0] : *list, inputsOf(reader)));
    return openPictureFiles(std::move(files), reader);
  });
}

} // namespace dlc::runtime
