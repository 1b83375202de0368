// The images of a dataset, read one by one as numbers: what looks at data without a model sees of
// them.
#ifndef DLC_RUNTIME_DATA_DATASETIMAGES_H
#define DLC_RUNTIME_DATA_DATASETIMAGES_H

#include "runtime/Data/Augment/ImageReader.h"

namespace dlc::runtime {

/// How the images of a dataset are stored. `mapped` makes floats of them, of bytes from 0 to 1.
struct DatasetImages {
  std::shared_ptr<const Dataset> dataset;
  MappedInput mapped;
  uint64_t planes;
  std::optional<Sides> sides;
};

/// The images that `reader`, if there is one, takes; else the first field of pictures, of images,
/// or of an array [N, planes, height, width] of bytes or floats with 1, 3 or 4 planes. Fails with
/// InvalidArgument where there are none.
Result<DatasetImages> imagesOf(std::shared_ptr<const Dataset> dataset, const EntryInfo *reader);

/// Fails if a list cannot be applied to them, whatever size it makes of them.
Status checkList(const DatasetImages &images, const TransformList &list);

/// Ownership: has memory that it uses again. Threads: one at a time.
class FloatImages {
public:
  explicit FloatImages(const DatasetImages &images);
  FloatImages(const FloatImages &) = delete;

  /// Planes, rows, columns of a sample's image behind the transforms, until the next one is read.
  Result<std::span<const float>> read(uint32_t sample, const TransformList &list,
                                      const SampleDraws &draws);
  Sides sides() const { return reader.sides(); }

private:
  std::shared_ptr<const Dataset> dataset;
  MappedInput mapped;
  ImageSource source;
  ImageReader reader;
  std::vector<std::byte> stored;
  std::vector<float> numbers;
};

} // namespace dlc::runtime

#endif
