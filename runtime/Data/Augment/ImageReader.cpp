// One image after the other.
#include "runtime/Data/Augment/ImageReader.h"
#include "runtime/Core/Support.h"

namespace dlc::runtime {

std::string ImageReader::place() const {
  return field->pictures && !picture.file.empty() ? picture.file
                                                  : concat(field->file, ": sample ", sample);
}

/// Reads as much of a picture as the first transforms need, and returns how many these are.
Result<size_t> ImageReader::readPicture(const ImageSource &source, const TransformList &list,
                                        const SampleDraws &draws) {
  struct {
    const TransformList &list;
    const SampleDraws &draws;
    Cut cut = {};
    PictureRequest request = {};
    Sides whole = {};
  } chosen = {list, draws};
  const PictureChooser choose = [&chosen](uint32_t height, uint32_t width) {
    chosen.whole = {height, width};
    chosen.cut = cutOf(chosen.list, 0, chosen.draws, height, width);
    return chosen.request = requestOf(chosen.cut);
  };
  picture.file.clear();
  DLC_TRY_ASSIGN(region,
                 source.dataset->readPicture(sample, source.mapped->field, choose, picture));
  stored = chosen.whole;
  if (Status taken = augmenter.take(picture, region, chosen.request, chosen.cut, source.planes,
                                    *source.mapped);
      !taken.ok())
    return std::move(taken).in(place());
  // What is wanted of it was copied. Few are so large, and none keeps its memory for the others.
  constexpr size_t mostKept = size_t(1) << 26;
  if (picture.bytes.capacity() > mostKept)
    picture.bytes = {};
  return chosen.cut.transforms;
}

Status ImageReader::read(const ImageSource &source, uint32_t number, const std::byte *stored,
                         const TransformList &list, const SampleDraws &draws) {
  field = &source.dataset->fields()[source.mapped->field];
  sample = number;
  size_t done = 0;
  if (field->pictures) {
    DLC_TRY_ASSIGN(read, readPicture(source, list, draws));
    done = read;
  } else {
    augmenter.take(stored, source.planes, *source.sides, *source.mapped);
  }
  Status ran = augmenter.run(list, done, draws);
  return ran.ok() ? std::move(ran) : std::move(ran).in(place());
}

} // namespace dlc::runtime
