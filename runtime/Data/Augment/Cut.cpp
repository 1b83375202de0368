// Regions by chance, in the middle, or the whole.
#include "runtime/Data/Augment/Cut.h"

#include <algorithm>
#include <cmath>

namespace dlc::runtime {
namespace {

CutAxis wholeAxis(uint32_t count, uint32_t size) {
  return {.begin = 0, .length = static_cast<double>(count), .first = 0, .end = count, .size = size};
}

/// `count` numbers from `begin` on, and none beside them.
CutAxis partOf(uint32_t begin, uint32_t count, uint32_t size) {
  return {.begin = static_cast<double>(begin),
          .length = static_cast<double>(count),
          .first = begin,
          .end = begin + count,
          .size = size};
}

Cut whole(uint32_t height, uint32_t width) {
  return {.rows = wholeAxis(height, height), .columns = wholeAxis(width, width)};
}

Sides resized(const Transform &transform, uint32_t height, uint32_t width) {
  if (transform.width != 0)
    return {transform.height, transform.width};
  const uint32_t shorter = std::min(height, width);
  auto side = [&](uint32_t of) {
    const double made = static_cast<double>(uint64_t(transform.height) * of) / shorter;
    return of == shorter ? transform.height
                         : static_cast<uint32_t>(std::min(made, double(UINT32_MAX)));
  };
  return {side(height), side(width)};
}

/// Whether an image is large enough that its middle is a part of it.
bool hasMiddle(const Transform &transform, const Sides &sides) {
  return transform.kind == TransformKind::CenterCrop && transform.height <= sides.height &&
         transform.width <= sides.width;
}

/// The middle `size` of what `count` numbers are resized to, `made`.
CutAxis middleAxis(uint32_t count, uint32_t made, uint32_t size) {
  const double scale = static_cast<double>(count) / made;
  return {.begin = static_cast<double>(middleOf(made, size)) * scale,
          .length = size * scale,
          .first = 0,
          .end = count,
          .size = size};
}

/// torchvision's, and Caffe's: ten times an area and an aspect, uniform in its logarithm, and the
/// first of these that lies in the image; else the largest one in the middle whose aspect is
/// allowed.
Cut randomCut(const Transform &transform, size_t number, const SampleDraws &draws, uint32_t height,
              uint32_t width) {
  const auto [least, most] = transform.aspect;
  auto cut = [&](int64_t top, int64_t left, int64_t rows, int64_t columns) {
    return Cut{.rows = partOf(uint32_t(top), uint32_t(rows), transform.height),
               .columns = partOf(uint32_t(left), uint32_t(columns), transform.width),
               .filter = transform.filter,
               .transforms = 1};
  };
  constexpr uint32_t tries = 10;
  for (uint32_t turn = 0; turn < tries; ++turn) {
    const PhiloxWords words = draws.of(number, turn);
    const double area =
                     drawReal(words[0], transform.area.least, transform.area.most) * height * width,
                 aspect = std::exp(drawReal(words[1], std::log(least), std::log(most)));
    const double columns = std::nearbyint(std::sqrt(area * aspect)),
                 rows = std::nearbyint(std::sqrt(area / aspect));
    if (rows < 1 || columns < 1 || rows > height || columns > width)
      continue;
    const auto tall = static_cast<int64_t>(rows), wide = static_cast<int64_t>(columns);
    return cut(drawWhole(words[2], static_cast<uint64_t>(height - tall + 1)),
               drawWhole(words[3], static_cast<uint64_t>(width - wide + 1)), tall, wide);
  }
  auto side = [](double wanted, uint32_t all) {
    return std::clamp<int64_t>(std::llrint(wanted), 1, all);
  };
  const double aspect = static_cast<double>(width) / height;
  const int64_t tall = aspect < least ? side(width / least, height) : height,
                wide = aspect > most ? side(height * most, width) : width;
  return cut((height - tall) / 2, (width - wide) / 2, tall, wide);
}

/// What an axis reads: beside its own numbers those that its filter reaches.
std::pair<uint32_t, uint32_t> readOf(const CutAxis &axis, Filter filter) {
  if (axis.copies())
    return {static_cast<uint32_t>(axis.begin), static_cast<uint32_t>(axis.begin) + axis.size};
  const double reach = (filter == Filter::Bicubic ? 2 : 1) * std::max(axis.length / axis.size, 1.0);
  const double first = std::max(std::floor(axis.begin - reach), double(axis.first)),
               end = std::min(std::ceil(axis.begin + axis.length + reach), double(axis.end));
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(end)};
}

/// So many numbers as keep the whole axis as fine as what it makes.
uint32_t wantedOf(const CutAxis &axis, uint32_t read) {
  return static_cast<uint32_t>(
      std::min(std::ceil(read * (axis.size / axis.length)), double(UINT32_MAX)));
}

/// `asked` of the image lie in `count` numbers from `begin` on, of `all`.
CutAxis decodedAxis(const CutAxis &axis, double askedBegin, double asked, double begin,
                    double count, uint32_t all) {
  const double factor = count / asked;
  // What is whole but for roundings is whole.
  constexpr double rounding = 1e-6;
  const auto first = static_cast<uint32_t>(std::min(std::floor(begin + rounding), all - 1.0));
  const auto end = static_cast<uint32_t>(std::min(std::ceil(begin + count - rounding), 1.0 * all));
  return {.begin = begin + (axis.begin - askedBegin) * factor,
          .length = axis.length * factor,
          .first = first,
          .end = std::max(end, first + 1),
          .size = axis.size};
}

} // namespace

int64_t middleOf(uint32_t count, uint32_t size) {
  if (size > count)
    return -int64_t((size - count) / 2);
  return std::llrint((count - size) / 2.0);
}

Cut cutOf(const TransformList &list, size_t at, const SampleDraws &draws, uint32_t height,
          uint32_t width) {
  if (at == list.all.size())
    return whole(height, width);
  const Transform &first = list.all[at];
  Sides made = {height, width};
  size_t transforms = 0;
  switch (first.kind) {
  case TransformKind::RandomResizedCrop:
    return randomCut(first, at, draws, height, width);
  case TransformKind::Resize:
    made = resized(first, height, width);
    transforms = 1;
    break;
  case TransformKind::CenterCrop:
    break;
  default:
    return whole(height, width);
  }
  Cut cut = {.rows = wholeAxis(height, made.height),
             .columns = wholeAxis(width, made.width),
             .filter = first.filter,
             .transforms = transforms};
  if (at + transforms == list.all.size())
    return cut;
  if (const Transform &crop = list.all[at + transforms]; hasMiddle(crop, made)) {
    cut.rows = middleAxis(height, made.height, crop.height);
    cut.columns = middleAxis(width, made.width, crop.width);
    ++cut.transforms;
  }
  return cut;
}

PictureRequest requestOf(const Cut &cut) {
  const auto [top, bottom] = readOf(cut.rows, cut.filter);
  const auto [left, right] = readOf(cut.columns, cut.filter);
  return {.region = {.top = double(top),
                     .left = double(left),
                     .height = double(bottom - top),
                     .width = double(right - left)},
          .height = wantedOf(cut.rows, bottom - top),
          .width = wantedOf(cut.columns, right - left)};
}

Cut decodedCut(const Cut &cut, const PictureRequest &request, const PictureRegion &region,
               const Picture &picture) {
  const PictureRegion &asked = request.region;
  Cut decoded = cut;
  decoded.rows =
      decodedAxis(cut.rows, asked.top, asked.height, region.top, region.height, picture.height);
  decoded.columns =
      decodedAxis(cut.columns, asked.left, asked.width, region.left, region.width, picture.width);
  return decoded;
}

std::optional<Sides> sidesBehind(const TransformList &list, std::optional<Sides> sides) {
  for (const Transform &each : list.all)
    if (each.setsSize())
      sides = Sides{each.height, each.width};
    else if (each.kind == TransformKind::Resize && sides)
      sides = resized(each, sides->height, sides->width);
  return sides;
}

} // namespace dlc::runtime
