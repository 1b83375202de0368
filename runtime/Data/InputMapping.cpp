// Matching fields and inputs.
#include "runtime/Data/InputMapping.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime {

/// Whether elements of one type can be given to an input of the other.
static bool canConvert(dlc_dtype from, dlc_dtype to) {
  return from == to || (from == DLC_U8 && (to == DLC_F32 || to == DLC_F64 || to == DLC_I32)) ||
         (from == DLC_I64 && to == DLC_I32) || (from == DLC_F64 && to == DLC_F32) ||
         (from == DLC_F32 && to == DLC_F64);
}

static bool takes(const ValueInfo &input, const DatasetField &field) {
  const TensorType &type = input.type;
  const FieldKind kind = field.kind;
  if (kind == FieldKind::Named)
    return field.name == input.name;
  if (kind == FieldKind::Text || kind == FieldKind::FollowingText)
    return type.dtype == DLC_I32 && type.shape.size() == 2;
  if (kind == FieldKind::Label)
    return type.dtype == DLC_I32 && type.shape.size() == 1;
  return (type.dtype == DLC_F32 || type.dtype == DLC_F64 || type.dtype == DLC_U8) &&
         type.shape.size() >= 2;
}

/// For messages.
static std::string fieldName(const DatasetField &field) {
  return field.kind == FieldKind::Named   ? concat("array '", field.name, "'")
         : field.kind == FieldKind::Image ? "images"
                                          : "labels";
}

/// Why no field of a dataset feeds an input.
static Status noField(const ValueInfo &input, const Dataset &dataset) {
  const std::vector<DatasetField> &fields = dataset.fields();
  if (fields[0].kind != FieldKind::Named)
    return invalid(
        "input '", input.name, "' is ", input.type.str(),
        ", expected f32, f64 or u8 of rank 2 or more for images, or i32 of rank 1 for labels");
  std::string names;
  for (const DatasetField &field : fields)
    addItem(names, excerpt(field.name));
  return invalid("input '", input.name, "' finds no array of its name in ", dataset.name(),
                 ", which has: ", names);
}

/// Whole numbers of 64 bits that an input of 32 cannot hold are an error.
static Status checkRange(const Dataset &dataset, const MappedInput &mapped) {
  if (mapped.from != DLC_I64 || mapped.to != DLC_I32)
    return {};
  for (uint64_t sample = 0; sample < dataset.size(); ++sample)
    for (uint64_t i = 0; i < mapped.elements; ++i) {
      int64_t number;
      std::memcpy(&number, dataset.sample(sample, mapped.field) + i * sizeof(number),
                  sizeof(number));
      if (number != static_cast<int32_t>(number))
        return invalid(dataset.fields()[mapped.field].file, ": sample ", sample, " has ", number,
                       ", which i32 cannot hold");
    }
  return {};
}

/// `number` inputs have been given the text and what follows it.
static Result<MappedInput> mapSequence(const EntryInfo &entry, size_t input, size_t number,
                                       const Dataset &dataset) {
  const ValueInfo &value = entry.inputs[input];
  const std::vector<DatasetField> &fields = dataset.fields();
  if (number >= fields.size())
    return invalid("input '", value.name, "' is one more than the two that ", dataset.name(),
                   " feeds: the text, and what follows");
  const DatasetField &field = fields[number];
  if (!takes(value, field) || value.batchAxis > 1)
    return invalid("input '", value.name, "' is ", value.type.str(),
                   ", expected i32 of rank 2, steps of samples, for a text");
  MappedInput mapped{input, number, value.type.shape[1 - value.batchAxis], field.dtype,
                     value.type.dtype};
  mapped.samplesFirst = value.batchAxis == 0;
  if (field.rareShareLast && value.classes != 0)
    mapped.lastClass = static_cast<int32_t>(value.classes - 1);
  return mapped;
}

static Result<MappedInput> mapInput(const EntryInfo &entry, size_t number, const Dataset &dataset) {
  const ValueInfo &input = entry.inputs[number];
  const std::vector<DatasetField> &fields = dataset.fields();
  auto field = std::find_if(fields.begin(), fields.end(),
                            [&](const DatasetField &f) { return takes(input, f); });
  if (field == fields.end())
    return noField(input, dataset);
  if (!canConvert(field->dtype, input.type.dtype))
    return invalid("input '", input.name, "' is ", input.type.str(), ", the ", fieldName(*field),
                   " of ", dataset.name(), " ", TensorType{field->dtype, field->shape, {}}.str(),
                   " a sample: these elements are not converted");
  if (input.batchAxis != 0)
    return invalid("input '", input.name, "' is ", input.type.str(),
                   ", its first axis does not count samples");
  const uint64_t perSample = entry.batch == 0 ? 0 : input.type.elementCount() / entry.batch;
  const TensorType sample{field->dtype, field->shape, {}};
  if (perSample != sample.elementCount())
    return invalid("input '", input.name, "' is ", input.type.str(), ", ", perSample,
                   " numbers a sample; the ", fieldName(*field), " of ", dataset.name(),
                   field->kind == FieldKind::Named ? " is " : " are ", sample.str(), ", ",
                   sample.elementCount(), " numbers");
  const MappedInput mapped{number, static_cast<size_t>(field - fields.begin()), perSample,
                           field->dtype, input.type.dtype};
  DLC_TRY(checkRange(dataset, mapped));
  return mapped;
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
    Result<MappedInput> input = dataset.isSequence() ? mapSequence(entry, i, mapped.size(), dataset)
                                                     : mapInput(entry, i, dataset);
    if (!input.ok())
      return input.takeStatus().in(concat("entry '", entry.name, "'"));
    if (dataset.isSequence() && !mapped.empty() && mapped[0].elements != input->elements)
      return invalid("entry '", entry.name, "': input '", entry.inputs[i].name, "' takes ",
                     input->elements, " steps, '", entry.inputs[mapped[0].input].name, "' ",
                     mapped[0].elements);
    for (const MappedInput &other : mapped)
      if (other.field == input->field)
        return invalid("entry '", entry.name, "': inputs '", entry.inputs[other.input].name,
                       "' and '", entry.inputs[i].name, "' both take the ",
                       fieldName(dataset.fields()[input->field]));
    const uint32_t classes = entry.inputs[i].classes;
    if (classes != 0 && !dataset.fields()[input->field].rareShareLast)
      DLC_TRY(checkClasses(dataset, input->field, classes, entry.inputs[i].ignored,
                           concat("input '", entry.inputs[i].name, "'")));
    mapped.push_back(*input);
  }
  return mapped;
}

/// Bytes as floats from 0 to 1.
template <typename Float>
static void convertBytes(const std::byte *from, uint64_t count, std::byte *to) {
  auto *out = reinterpret_cast<Float *>(to);
  for (uint64_t i = 0; i < count; ++i)
    out[i] = Float(std::to_integer<uint8_t>(from[i])) * (Float(1) / Float(255));
}

void convertSample(const MappedInput &mapped, const std::byte *from, std::byte *to) {
  if (mapped.from == DLC_U8 && mapped.to == DLC_F32) {
    convertBytes<float>(from, mapped.elements, to);
  } else if (mapped.from == DLC_U8 && mapped.to == DLC_F64) {
    convertBytes<double>(from, mapped.elements, to);
  } else if (mapped.from == mapped.to) {
    std::memcpy(to, from, mapped.elements * dtypeSize(mapped.to));
  } else {
    const uint64_t fromSize = dtypeSize(mapped.from), toSize = dtypeSize(mapped.to);
    for (uint64_t i = 0; i < mapped.elements; ++i)
      storeElement(mapped.to, loadElement(mapped.from, from + i * fromSize), to + i * toSize);
  }
}

void convertNumber(const MappedInput &mapped, const std::byte *from, std::byte *to) {
  int32_t number;
  std::memcpy(&number, from, sizeof(number));
  number = std::min(number, mapped.lastClass);
  std::memcpy(to, &number, sizeof(number));
}

} // namespace dlc::runtime
