// Runs a list of transforms over images. They stay what they are, bytes or numbers of any type, as
// long as pixels are only moved, and bytes while they are resampled; what else computes makes them
// floats, bytes from 0 to 1.
//
// Ownership: an Augmenter has memory that it uses again from image to image. Threads: one at a
// time.
#ifndef DLC_RUNTIME_DATA_AUGMENT_AUGMENTER_H
#define DLC_RUNTIME_DATA_AUGMENT_AUGMENTER_H

#include "runtime/Data/Augment/Cut.h"
#include "runtime/Data/Augment/Moves.h"
#include "runtime/Data/InputMapping.h"

namespace dlc::runtime {

/// Fails if a list cannot make an input [N, planes, height, width] of images of a size; of pictures
/// it is not known.
Status checkTransforms(const TransformList &list, const MappedInput &mapped, const ValueInfo &input,
                       std::optional<Sides> sides);

class Augmenter {
public:
  /// Begins with an image in memory, row-major, which stays until run() has returned. Of numbers of
  /// classes only whole pixels are moved, and their values stay.
  void take(const std::byte *image, uint64_t planes, const Sides &sides, const MappedInput &mapped);
  /// Begins with a cut of a picture, of which `request` was asked for and lies in `region`. Fails
  /// if it does not, or if there are other than `planes` channels.
  Status take(const Picture &picture, const PictureRegion &region, const PictureRequest &request,
              const Cut &cut, uint64_t planes, const MappedInput &mapped);
  /// The transforms from number `first` on.
  Status run(const TransformList &list, size_t first, const SampleDraws &draws);

  Sides sides() const { return {uint32_t(shape.height), uint32_t(shape.width)}; }
  /// Writes it as the input takes it.
  void write(std::byte *to) const;

private:
  void begin(const MappedInput &wanted, uint64_t planes, const Sides &sides);
  /// Where `image` lies, if it was made here.
  std::byte *own();
  /// Memory for an image of this shape, which `image` is not.
  std::byte *room(const ImageShape &made);
  void finish(const ImageShape &made);
  Status checkSize(const Cut &wanted) const;
  Status cut(const Cut &wanted);
  template <typename Number>
  void resample(const Planes<Number> &from, const Cut &wanted, Resampler<Number> &resampler);
  void place(const Placement &placement);
  void rotate(double degrees);
  void cutOut(const Transform &transform, size_t number, const SampleDraws &draws);
  std::span<float> floats();
  void apply(const Transform &transform, size_t number, const SampleDraws &draws);

  const MappedInput *mapped = nullptr;
  const std::byte *image = nullptr;
  ImageShape shape = {};
  dlc_dtype dtype = DLC_U8;
  bool classes = false;
  /// Each transform reads from one and writes to the other.
  std::vector<std::byte> memory[2];
  Resampler<uint8_t> bytes;
  Resampler<float> numbers;
};

} // namespace dlc::runtime

#endif
