// One transform after the other.
#include "runtime/Data/Augment/Augmenter.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Augment/Colours.h"
#include "runtime/Data/SampleShape.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dlc::runtime {

/// Numbers of what is in a place, which nothing lies between.
static bool isOfClasses(const MappedInput &mapped) {
  return isWhole(mapped.to) && mapped.to != DLC_U8;
}

/// A transform that cannot be applied to the planes of an input.
static Status checkPlanes(const Transform &transform, const MappedInput &mapped,
                          const ValueInfo &input) {
  const uint64_t planes = input.type.shape[1];
  const auto refusal = [&](const auto &...what) {
    return invalid("`augment`: '", transform.text, "' ", what..., ", input '", input.name, "' is ",
                   input.type.str());
  };
  using enum TransformKind;
  const bool ofColours = transform.kind == Pca || transform.saturation != 0 || transform.hue != 0;
  if (ofColours && planes != 3)
    return refusal("is for images of three planes");
  if (transform.kind != Normalise)
    return {};
  for (const std::vector<float> *numbers : {&transform.mean, &transform.deviation})
    if (numbers->size() != 1 && numbers->size() != planes)
      return refusal("has numbers for ", numbers->size(), " planes");
  if (input.type.dtype == DLC_U8)
    return refusal("makes other numbers than bytes");
  // Else every pixel would come out below zero.
  const double largest = std::ranges::max(transform.mean);
  if (mapped.from == DLC_U8 && largest > 1)
    return refusal("has a mean of ", decimalText(largest), ", which is ",
                   decimalText(std::round(largest / 255 * 1e3) / 1e3),
                   " as bytes count from 0 to 1");
  return {};
}

Status checkTransforms(const TransformList &list, const MappedInput &mapped, const ValueInfo &input,
                       std::optional<Sides> sides) {
  const Sides wanted = imageAxes(input)->sides;
  TransformList so = {.all = {}, .split = list.split};
  for (const Transform &each : list.all) {
    if (each.kind == TransformKind::Crop && sides &&
        each.height >= std::min(sides->height, sides->width))
      return invalid("`augment`: ", each.text, " is as large as the images of input '", input.name,
                     "', ", input.type.str());
    if (!isOfClasses(mapped))
      DLC_TRY(checkPlanes(each, mapped, input));
    so.all = {each};
    sides = sidesBehind(so, sides);
  }
  if (sides && *sides != wanted)
    return invalid("`augment`: the ", list.split == Split::Test ? "list for evaluation" : "list",
                   " makes images of ", sides->height, " x ", sides->width, ", input '", input.name,
                   "' is ", input.type.str());
  return {};
}

void Augmenter::begin(const MappedInput &wanted, uint64_t planes, const Sides &sides) {
  mapped = &wanted;
  image = nullptr;
  dtype = wanted.from;
  classes = isOfClasses(wanted);
  shape = {planes, sides.height, sides.width, dtypeSize(dtype)};
}

void Augmenter::take(const std::byte *stored, uint64_t planes, const Sides &sides,
                     const MappedInput &wanted) {
  begin(wanted, planes, sides);
  image = stored;
}

Status Augmenter::take(const Picture &picture, const PictureRegion &region,
                       const PictureRequest &request, const Cut &asked, uint64_t planes,
                       const MappedInput &input) {
  begin(input, planes, {picture.height, picture.width});
  // Up to the roundings of factors.
  auto lies = [](double begin, double count, uint32_t all) {
    return begin >= 0 && count > 0 && begin + count <= all + 1e-6;
  };
  if (asked.rows.size == 0 || asked.columns.size == 0)
    return damaged("a picture was read, and not asked which part of it is wanted");
  if (picture.channels != planes || picture.bytes.size() != shape.bytes() ||
      !lies(region.top, region.height, picture.height) ||
      !lies(region.left, region.width, picture.width))
    return damaged("a picture was read as ", picture.bytes.size(), " bytes of ", picture.height,
                   " x ", picture.width, " pixels of ", picture.channels,
                   " channels, which has not the part that is wanted");
  DLC_TRY(checkSize(asked));
  const Cut wanted = decodedCut(asked, request, region, picture);
  const size_t channels = picture.channels;
  const Planes<uint8_t> pixels = {
      picture.bytes.data(),     channels, picture.height, picture.width, 1,
      channels * picture.width, channels};
  if (!classes) {
    resample(pixels, wanted, bytes);
    return {};
  }
  // Plane by plane first, as whole pixels are taken.
  const CutAxis rows = {0, double(picture.height), 0, picture.height, picture.height},
                columns = {0, double(picture.width), 0, picture.width, picture.width};
  resample(pixels, {.rows = rows, .columns = columns}, bytes);
  return cut(wanted);
}

std::byte *Augmenter::own() { return memory[image == memory[0].data() ? 0 : 1].data(); }

std::byte *Augmenter::room(const ImageShape &made) {
  std::vector<std::byte> &other = memory[image == memory[0].data() ? 1 : 0];
  if (other.size() < made.bytes())
    other.resize(made.bytes());
  return other.data();
}

void Augmenter::finish(const ImageShape &made) {
  image = memory[image == memory[0].data() ? 1 : 0].data();
  shape = made;
}

template <typename Number>
void Augmenter::resample(const Planes<Number> &from, const Cut &wanted,
                         Resampler<Number> &resampler) {
  const ImageShape made = {shape.planes, wanted.rows.size, wanted.columns.size, sizeof(Number)};
  std::byte *const to = room(made);
  resampler.run(from, wanted.rows, wanted.columns, wanted.filter, reinterpret_cast<Number *>(to));
  finish(made);
}

/// So large only by a slip, as by the shorter side of a line.
Status Augmenter::checkSize(const Cut &wanted) const {
  constexpr uint64_t most = uint64_t(1) << 28;
  if (uint64_t(wanted.rows.size) * wanted.columns.size * shape.planes > most)
    return invalid("`augment` makes ", wanted.rows.size, " x ", wanted.columns.size,
                   " pixels of an image of ", shape.height, " x ", shape.width);
  return {};
}

Status Augmenter::cut(const Cut &wanted) {
  DLC_TRY(checkSize(wanted));
  const size_t plane = shape.height * shape.width, row = shape.width;
  if (wanted.rows.copies() && wanted.columns.copies()) {
    place({.down = int64_t(wanted.rows.begin),
           .right = int64_t(wanted.columns.begin),
           .height = wanted.rows.size,
           .width = wanted.columns.size});
    return {};
  }
  if (classes) {
    const ImageShape made = {shape.planes, wanted.rows.size, wanted.columns.size,
                             shape.bytesOfPixel};
    cutPixels(wanted.rows, wanted.columns, shape, image, room(made));
    finish(made);
    return {};
  }
  if (dtype == DLC_U8) {
    resample({reinterpret_cast<const uint8_t *>(image), shape.planes, shape.height, shape.width,
              plane, row, 1},
             wanted, bytes);
    return {};
  }
  const float *const all = floats().data();
  resample({all, shape.planes, shape.height, shape.width, plane, row, 1}, wanted, numbers);
  return {};
}

void Augmenter::place(const Placement &placement) {
  ImageShape made = shape;
  made.height = placement.height;
  made.width = placement.width;
  placeImage(placement, shape, image, room(made));
  finish(made);
}

void Augmenter::rotate(double degrees) {
  if (!classes && dtype != DLC_U8)
    floats();
  std::byte *const to = room(shape);
  if (classes)
    rotatePixels(degrees, shape, image, to);
  else if (dtype == DLC_U8)
    rotateImage(degrees, shape, reinterpret_cast<const uint8_t *>(image),
                reinterpret_cast<uint8_t *>(to));
  else
    rotateImage(degrees, shape, reinterpret_cast<const float *>(image),
                reinterpret_cast<float *>(to));
  finish(shape);
}

/// The image as floats in own memory.
std::span<float> Augmenter::floats() {
  ImageShape made = shape;
  made.bytesOfPixel = sizeof(float);
  const bool isOwn = image == memory[0].data() || image == memory[1].data();
  if (dtype != DLC_F32 || !isOwn) {
    // Of what convertSample() makes of a sample, for as many numbers as there are now.
    MappedInput conversion = *mapped;
    conversion.elements = shape.pixels();
    conversion.from = dtype;
    conversion.to = DLC_F32;
    convertSample(conversion, image, room(made));
    finish(made);
    dtype = DLC_F32;
  }
  return {reinterpret_cast<float *>(own()), shape.pixels()};
}

void Augmenter::cutOut(const Transform &transform, size_t number, const SampleDraws &draws) {
  const PhiloxWords words = draws.of(number);
  const int64_t size = transform.height, height = int64_t(shape.height),
                width = int64_t(shape.width);
  const int64_t top = drawWhole(words[0], shape.height) - size / 2,
                left = drawWhole(words[1], shape.width) - size / 2;
  const int64_t from = std::max<int64_t>(left, 0), to = std::min(left + size, width);
  place({.height = shape.height, .width = shape.width});
  for (int64_t plane = 0; plane < int64_t(shape.planes); ++plane)
    for (int64_t y = std::max<int64_t>(top, 0); y < std::min(top + size, height); ++y)
      std::memset(own() + uint64_t((plane * height + y) * width + from) * shape.bytesOfPixel, 0,
                  uint64_t(to - from) * shape.bytesOfPixel);
}

void Augmenter::apply(const Transform &transform, size_t number, const SampleDraws &draws) {
  switch (transform.kind) {
  case TransformKind::Resize:
  case TransformKind::RandomResizedCrop:
    return; // Cuts.
  case TransformKind::CenterCrop:
    return place({.down = middleOf(uint32_t(shape.height), transform.height),
                  .right = middleOf(uint32_t(shape.width), transform.width),
                  .height = transform.height,
                  .width = transform.width});
  case TransformKind::Crop: {
    const PhiloxWords words = draws.ofMoves();
    const int64_t around = transform.height;
    const uint64_t places = 2 * uint64_t(transform.height) + 1;
    return place({.down = drawWhole(words[0], places) - around,
                  .right = drawWhole(words[1], places) - around,
                  .height = shape.height,
                  .width = shape.width});
  }
  case TransformKind::Flip:
    if (draws.ofMoves()[2] >> 31 != 0)
      place({.mirrored = true, .height = shape.height, .width = shape.width});
    return;
  case TransformKind::Rotate:
    return rotate(drawReal(draws.of(number)[0], -transform.amount, transform.amount));
  default:
    break;
  }
  if (classes)
    return;
  switch (transform.kind) {
  case TransformKind::ColourJitter:
    return jitter(transform, number, draws, shape.planes, floats());
  case TransformKind::Pca:
    return addPrincipalNoise(transform, number, draws, floats());
  case TransformKind::Cutout:
    return cutOut(transform, number, draws);
  default:
    return normalise(transform, shape.planes, floats());
  }
}

Status Augmenter::run(const TransformList &list, size_t first, const SampleDraws &draws) {
  for (size_t at = first; at < list.all.size();) {
    const Cut part = cutOf(list, at, draws, uint32_t(shape.height), uint32_t(shape.width));
    if (part.transforms == 0)
      apply(list.all[at], at, draws);
    else
      DLC_TRY(cut(part));
    at += std::max<size_t>(part.transforms, 1);
  }
  return {};
}

void Augmenter::write(std::byte *to) const {
  if (dtype == mapped->from)
    return convertSample(*mapped, image, to);
  // Bytes were made floats from 0 to 1; other whole numbers kept their values.
  MappedInput made = *mapped;
  made.from = dtype;
  if (!isWhole(mapped->to))
    return convertSample(made, image, to);
  const float scale = mapped->from == DLC_U8 ? 255 : 1;
  const uint64_t size = dtypeSize(mapped->to);
  for (uint64_t i = 0; i < mapped->elements; ++i) {
    float x;
    std::memcpy(&x, image + i * sizeof(x), sizeof(x));
    storeElement(mapped->to, std::clamp(std::nearbyint(x * scale), 0.0f, 255.0f), to + i * size);
  }
}

} // namespace dlc::runtime
