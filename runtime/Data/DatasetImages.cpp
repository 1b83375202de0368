// Finding images, and reading them.
#include "runtime/Data/DatasetImages.h"
#include "dlc/plan.h"
#include "runtime/Core/Support.h"

#include <algorithm>

namespace dlc::runtime {
namespace {

/// What a field is without a model.
struct Stored {
  uint64_t planes;
  std::optional<Sides> sides;
};

std::optional<Stored> imagesIn(const DatasetField &field) {
  const std::vector<uint64_t> &shape = field.shape;
  if (field.pictures)
    return Stored{shape[0], std::nullopt};
  const bool isOfNumbers = !isWhole(field.dtype) || field.dtype == DLC_U8;
  const bool isLabel = field.kind != FieldKind::Image && field.kind != FieldKind::Named;
  if (!isOfNumbers || isLabel || shape.size() < 2 || shape.size() > 3)
    return std::nullopt;
  const uint64_t planes = shape.size() == 3 ? shape[0] : 1;
  const bool isSaid = field.kind == FieldKind::Image;
  if (!isSaid && (shape.size() != 3 || (planes != 1 && planes != 3 && planes != 4)))
    return std::nullopt;
  const uint64_t height = shape[shape.size() - 2], width = shape.back();
  constexpr uint64_t mostSide = uint64_t(1) << 24;
  if (planes == 0 || height == 0 || width == 0 || height > mostSide || width > mostSide)
    return std::nullopt;
  return Stored{planes, Sides{uint32_t(height), uint32_t(width)}};
}

DatasetImages describe(std::shared_ptr<const Dataset> dataset, size_t field, Stored stored) {
  MappedInput mapped{.input = 0,
                     .field = field,
                     .elements = 0,
                     .from = dataset->fields()[field].dtype,
                     .to = DLC_F32,
                     .together = 0};
  return {std::move(dataset), mapped, stored.planes, stored.sides};
}

} // namespace

Result<DatasetImages> imagesOf(std::shared_ptr<const Dataset> dataset, const EntryInfo *reader) {
  const std::vector<DatasetField> &fields = dataset->fields();
  if (dataset->size() >> 32)
    return invalid(dataset->name(), ": ", dataset->size(),
                   " samples are more than can be numbered");
  if (reader) {
    DLC_TRY_ASSIGN(mapping, mapInputs(*reader, *dataset, /*anySize=*/true));
    for (const MappedInput &mapped : mapping.inputs) {
      const ValueInfo &input = reader->inputs[mapped.input];
      const DatasetField &field = fields[mapped.field];
      if (!takesImages(input) || (isWhole(input.type.dtype) && input.type.dtype != DLC_U8))
        continue;
      const std::optional<Sides> sides =
          field.pictures ? std::nullopt : imageSides(field.shape, input);
      if (field.pictures || sides)
        return describe(dataset, mapped.field, {input.type.shape[1], sides});
    }
    return invalid(dataset->name(), ": entry '", reader->name, "' takes no images of it");
  }
  for (size_t i = 0; i < fields.size(); ++i)
    if (const std::optional<Stored> stored = imagesIn(fields[i]))
      return describe(dataset, i, *stored);
  return invalid(dataset->name(), ": there are no images in it");
}

Status checkList(const DatasetImages &images, const TransformList &list) {
  // An input that takes what the list makes.
  const Sides made = sidesBehind(list, images.sides).value_or(Sides{1, 1});
  ValueInfo input{};
  input.name = "images";
  input.type = {DLC_F32, {1, images.planes, made.height, made.width}, {}};
  return checkTransforms(list, images.mapped, input, images.sides);
}

FloatImages::FloatImages(const DatasetImages &images)
    : dataset(images.dataset), mapped(images.mapped),
      source{dataset.get(), &mapped, images.planes, images.sides} {}

Result<std::span<const float>> FloatImages::read(uint32_t sample, const TransformList &list,
                                                 const SampleDraws &draws) {
  const std::byte *from = nullptr;
  if (!dataset->fields()[mapped.field].pictures) {
    DLC_TRY_ASSIGN(found, sampleAt(*dataset, sample, mapped.field, stored));
    from = found;
  }
  DLC_TRY(reader.read(source, sample, from, list, draws));
  const Sides sides = reader.sides();
  mapped.elements = mapped.together = source.planes * sides.height * sides.width;
  numbers.resize(mapped.elements);
  reader.write(reinterpret_cast<std::byte *>(numbers.data()));
  return std::span<const float>(numbers);
}

} // namespace dlc::runtime
