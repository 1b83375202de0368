// Whether the shape in which samples are stored is the one that an input takes.
#ifndef DLC_RUNTIME_DATA_SAMPLESHAPE_H
#define DLC_RUNTIME_DATA_SAMPLESHAPE_H

#include "dlc/plan.h"

#include <optional>
#include <span>

namespace dlc::runtime {

enum class ShapeFit {
  /// Equal but for axes of extent 1.
  Equal,
  /// As many elements, and one of the two has a single axis for them: taken in their order.
  Flat,
  /// Anything else, as many elements or not: which element is which is not known.
  None
};

/// Of one sample each, without the axis that counts samples.
ShapeFit fitShapes(std::span<const uint64_t> found, std::span<const uint64_t> expected);

/// Rows and columns of an image.
struct Sides {
  uint32_t height, width;
  bool operator==(const Sides &) const = default;
};

/// What an input of images takes of a sample.
struct ImageAxes {
  uint64_t planes;
  Sides sides;
};

/// Those of an input [N, planes, height, width], or of whole numbers [N, height, width], which are
/// no bytes: a mask; nothing of another.
std::optional<ImageAxes> imageAxes(const ValueInfo &input);
inline bool takesImages(const ValueInfo &input) { return imageAxes(input).has_value(); }
/// Of images that are stored in a shape, for such an input; nothing if they have other planes.
std::optional<Sides> imageSides(std::span<const uint64_t> stored, const ValueInfo &input);

/// What makes samples fit an input, for the end of a message: "; channels come first: transpose(0,
/// 3, 1, 2)" where the last axis should be the first, a word on one-hot rows where `input` takes
/// their numbers. Empty where nothing is known.
std::string shapeAdvice(std::span<const uint64_t> found, const ValueInfo &input);

/// Whether an axis of a value of the entry counts samples.
bool countsSamples(const EntryInfo &entry, const ValueInfo &value);
/// Elements of one sample that lie together: those of the axes behind the one that counts samples;
/// at least 1.
uint64_t elementsTogether(const ValueInfo &value);

/// The shape of a sample that an input takes.
std::vector<uint64_t> sampleShape(const ValueInfo &input);
/// "f32[N, 32, 32, 3]": any number of samples, counted by axis `batchAxis`.
std::string samplesText(dlc_dtype dtype, std::span<const uint64_t> sample, size_t batchAxis = 0);

} // namespace dlc::runtime

#endif
