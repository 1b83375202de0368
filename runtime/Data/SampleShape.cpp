// Comparing shapes, and what to say of those that do not fit.
#include "runtime/Data/SampleShape.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace dlc::runtime {

static std::vector<uint64_t> withoutOnes(std::span<const uint64_t> shape) {
  std::vector<uint64_t> rest(shape.begin(), shape.end());
  std::erase(rest, uint64_t(1));
  return rest;
}

static uint64_t countOf(std::span<const uint64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), uint64_t(1), std::multiplies<>());
}

ShapeFit fitShapes(std::span<const uint64_t> found, std::span<const uint64_t> expected) {
  const std::vector<uint64_t> a = withoutOnes(found), b = withoutOnes(expected);
  if (a == b)
    return ShapeFit::Equal;
  const bool isFlat = a.size() == 1 || b.size() == 1;
  return isFlat && countOf(a) == countOf(b) ? ShapeFit::Flat : ShapeFit::None;
}

std::optional<ImageAxes> imageAxes(const ValueInfo &input) {
  const auto &[dtype, shape, layout] = input.type;
  const bool isMask = shape.size() == 3 && isWhole(dtype) && dtype != DLC_U8;
  if (input.batchAxis != 0 || (shape.size() != 4 && !isMask))
    return {};
  const auto height = static_cast<uint32_t>(shape[shape.size() - 2]),
             width = static_cast<uint32_t>(shape.back());
  return ImageAxes{isMask ? 1 : shape[1], {height, width}};
}

std::optional<Sides> imageSides(std::span<const uint64_t> stored, const ValueInfo &input) {
  const auto [planes, wanted] = *imageAxes(input);
  auto sides = [](uint64_t height, uint64_t width) {
    return Sides{static_cast<uint32_t>(height), static_cast<uint32_t>(width)};
  };
  if (fitShapes(stored, sampleShape(input)) != ShapeFit::None)
    return wanted;
  if (stored.size() == 2 && planes == 1)
    return sides(stored[0], stored[1]);
  if (stored.size() == 3 && stored[0] == planes)
    return sides(stored[1], stored[2]);
  return {};
}

/// "(0, 3, 1, 2)" for three axes of a sample: numbers of axes of all samples.
static std::string lastAxisFirst(size_t axes) {
  std::string order;
  addItem(order, "0");
  addItem(order, std::to_string(axes));
  for (size_t axis = 1; axis < axes; ++axis)
    addItem(order, std::to_string(axis));
  return concat("(", order, ")");
}

std::string shapeAdvice(std::span<const uint64_t> found, const ValueInfo &input) {
  const std::vector<uint64_t> expected = sampleShape(input);
  if (found.size() == expected.size() && found.size() > 1) {
    std::vector<uint64_t> turned(found.begin(), found.end());
    std::ranges::rotate(turned, turned.end() - 1);
    if (turned == expected)
      return concat("; channels come first: transpose", lastAxisFirst(found.size()));
  }
  const bool takesClasses = isWhole(input.type.dtype) && input.type.dtype != DLC_BOOL;
  if (takesClasses && found.size() == expected.size() + 1 &&
      std::ranges::equal(found.first(expected.size()), expected) &&
      (input.classes == 0 || input.classes == found.back()))
    return concat("; argmax(", found.size(),
                  ") makes class numbers of one-hot rows, or the model takes ", input.name, ": ",
                  samplesText(DLC_F32, found));
  return {};
}

bool countsSamples(const EntryInfo &entry, const ValueInfo &value) {
  return value.batchAxis != DLC_NONE && entry.batch != 0;
}

uint64_t elementsTogether(const ValueInfo &value) {
  return std::max<uint64_t>(countOf(std::span(value.type.shape).subspan(value.batchAxis + 1)), 1);
}

std::vector<uint64_t> sampleShape(const ValueInfo &input) {
  std::vector<uint64_t> shape = input.type.shape;
  if (input.batchAxis < shape.size())
    shape.erase(shape.begin() + input.batchAxis);
  return shape;
}

std::string samplesText(dlc_dtype dtype, std::span<const uint64_t> sample, size_t batchAxis) {
  std::string extents;
  for (size_t axis = 0; axis <= sample.size(); ++axis) {
    if (axis == batchAxis)
      addItem(extents, "N");
    if (axis < sample.size())
      addItem(extents, std::to_string(sample[axis]));
  }
  return concat(dtypeName(dtype), "[", extents, "]");
}

} // namespace dlc::runtime
