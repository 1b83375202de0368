// Reads images of a dataset, one after the other, and runs a list of transforms over each: what a
// batch gets of it. Of a picture no more is decoded than the first transforms need.
//
// Ownership: an ImageReader has memory that it uses again from image to image. Threads: one at a
// time.
#ifndef DLC_RUNTIME_DATA_AUGMENT_IMAGEREADER_H
#define DLC_RUNTIME_DATA_AUGMENT_IMAGEREADER_H

#include "runtime/Data/Augment/Augmenter.h"

namespace dlc::runtime {

/// Of all samples: how the images of `mapped.field` are stored and taken. `sides`: rows and columns
/// of those that are no pictures.
struct ImageSource {
  const Dataset *dataset;
  const MappedInput *mapped;
  uint64_t planes;
  std::optional<Sides> sides = {};
};

class ImageReader {
public:
  /// Image number `sample`, which is `stored` where it is no picture; that stays until write() has
  /// returned. Each failure names the file, or the sample.
  Status read(const ImageSource &source, uint32_t sample, const std::byte *stored,
              const TransformList &list, const SampleDraws &draws);

  /// Of what was read: its rows and columns; writes them as the input takes them.
  Sides sides() const { return augmenter.sides(); }
  void write(std::byte *to) const { augmenter.write(to); }
  /// Of the picture as its file has it.
  Sides whole() const { return stored; }
  /// For messages: where it was read from.
  std::string place() const;

private:
  Result<size_t> readPicture(const ImageSource &source, const TransformList &list,
                             const SampleDraws &draws);

  const DatasetField *field = nullptr;
  uint32_t sample = 0;
  Picture picture;
  Sides stored = {};
  Augmenter augmenter;
};

} // namespace dlc::runtime

#endif
