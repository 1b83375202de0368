// Matching fields and inputs.
#include "runtime/Data/InputMapping.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime {

static bool takes(const TensorType &type, FieldKind kind) {
  if (kind == FieldKind::Label)
    return type.dtype == DLC_I32 && type.shape.size() == 1;
  return (type.dtype == DLC_F32 || type.dtype == DLC_U8) && type.shape.size() >= 2;
}

static std::string_view fieldName(FieldKind kind) {
  return kind == FieldKind::Image ? "images" : "labels";
}

static Result<MappedInput> mapInput(const EntryInfo &entry, size_t number, const Dataset &dataset) {
  const ValueInfo &input = entry.inputs[number];
  const std::vector<DatasetField> &fields = dataset.fields();
  auto field = std::find_if(fields.begin(), fields.end(),
                            [&](const DatasetField &f) { return takes(input.type, f.kind); });
  if (field == fields.end())
    return invalid(
        "input '", input.name, "' is ", input.type.str(),
        ", expected f32 or u8 of rank 2 or more for images, or i32 of rank 1 for labels");
  if (input.batchAxis != 0)
    return invalid("input '", input.name, "' is ", input.type.str(),
                   ", its first axis does not count samples");
  const uint64_t perSample = entry.batch == 0 ? 0 : input.type.elementCount() / entry.batch;
  const TensorType sample{field->dtype, field->shape, {}};
  if (perSample != sample.elementCount())
    return invalid("input '", input.name, "' is ", input.type.str(), ", ", perSample,
                   " numbers a sample; the ", fieldName(field->kind), " of ", dataset.name(),
                   " are ", sample.str(), ", ", sample.elementCount(), " numbers");
  return MappedInput{number, static_cast<size_t>(field - fields.begin()), perSample, field->dtype,
                     input.type.dtype};
}

Status checkClasses(const Dataset &dataset, size_t field, uint64_t classes, int64_t ignored,
                    std::string_view of) {
  const DatasetField &labels = dataset.fields()[field];
  const uint64_t elements = TensorType{labels.dtype, labels.shape, {}}.elementCount();
  for (uint64_t sample = 0; sample < dataset.size(); ++sample)
    for (uint64_t i = 0; i < elements; ++i) {
      const double label =
          loadElement(labels.dtype, dataset.sample(sample, field) + i * dtypeSize(labels.dtype));
      if (!isClass(label, classes, ignored))
        return invalid(labels.file, ": sample ", sample, " has label ", label, ", the classes of ",
                       of, " are 0 to ", classes - 1);
    }
  return {};
}

Result<std::vector<MappedInput>> mapInputs(const EntryInfo &entry, const Dataset &dataset) {
  std::vector<MappedInput> mapped;
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    if (i == entry.validInput)
      continue;
    Result<MappedInput> input = mapInput(entry, i, dataset);
    if (!input.ok())
      return input.takeStatus().in(concat("entry '", entry.name, "'"));
    for (const MappedInput &other : mapped)
      if (other.field == input->field)
        return invalid("entry '", entry.name, "': inputs '", entry.inputs[other.input].name,
                       "' and '", entry.inputs[i].name, "' both take the ",
                       fieldName(dataset.fields()[input->field].kind));
    if (const uint32_t classes = entry.inputs[i].classes)
      DLC_TRY(checkClasses(dataset, input->field, classes, entry.inputs[i].ignored,
                           concat("input '", entry.inputs[i].name, "'")));
    mapped.push_back(*input);
  }
  return mapped;
}

void convertSample(const MappedInput &mapped, const std::byte *from, std::byte *to) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(from);
  if (mapped.to == DLC_F32) {
    auto *out = reinterpret_cast<float *>(to);
    for (uint64_t i = 0; i < mapped.elements; ++i)
      out[i] = static_cast<float>(bytes[i]) * (1.0f / 255.0f);
  } else if (mapped.to == DLC_I32) {
    auto *out = reinterpret_cast<int32_t *>(to);
    for (uint64_t i = 0; i < mapped.elements; ++i)
      out[i] = bytes[i];
  } else {
    std::memcpy(to, from, mapped.elements);
  }
}

} // namespace dlc::runtime
