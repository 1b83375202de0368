// Matching fields and inputs.
#include "runtime/Data/InputMapping.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/SampleShape.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dlc::runtime {

static bool takes(const ValueInfo &input, const DatasetField &field) {
  const TensorType &type = input.type;
  const FieldKind kind = field.kind;
  if (kind == FieldKind::Named)
    return field.name == input.name;
  if (kind == FieldKind::Text || kind == FieldKind::FollowingText)
    return type.dtype == DLC_I32 && type.shape.size() == 2;
  if (kind == FieldKind::Label)
    return (type.dtype == DLC_I32 || type.dtype == DLC_I64) &&
           fitShapes(field.shape, sampleShape(input)) == ShapeFit::Equal;
  return (!isWhole(type.dtype) || type.dtype == DLC_U8) && type.shape.size() >= 2;
}

/// For messages: "digits.npz: 'image' is", "t10k-labels-idx1-ubyte: labels are".
static std::string fieldText(const DatasetField &field) {
  return field.kind == FieldKind::Named   ? concat(field.file, " is")
         : field.kind == FieldKind::Image ? concat(field.file, ": images are")
                                          : concat(field.file, ": labels are");
}

/// Why no field of a dataset feeds an input.
static Status noField(const EntryInfo &entry, const ValueInfo &input, const Dataset &dataset) {
  const ArrayNames *names = dataset.arrayNames();
  if (!names)
    return invalid("entry '", entry.name, "': input '", input.name, "' is ", input.type.str(),
                   ", expected floats or u8 of rank 2 or more for images, or i32 or i64 of rank 1 "
                   "for labels");
  std::string all;
  for (const std::string &name : names->all)
    addItem(all, excerpt(name));
  return invalid(dataset.name(), ": no array '", names->prefix, input.name, "' for input '",
                 input.name, "' of entry '", entry.name, "'; there are: ", all,
                 names->all[0] == "arr_0" ? "; numpy.savez(FILE, NAME=...) gives names" : "");
}

/// Whether each value of one type is one of the other, or becomes one that is as good: floats are
/// rounded, bytes become floats from 0 to 1.
static bool holdsAll(dlc_dtype from, dlc_dtype to) {
  switch (from) {
  case DLC_BOOL:
    return true;
  case DLC_U8:
    return to != DLC_BOOL;
  case DLC_I32:
    return to == DLC_I32 || to == DLC_I64 || to == DLC_F64;
  case DLC_F16:
  case DLC_BF16:
    return to == from || to == DLC_F32 || to == DLC_F64;
  case DLC_F32:
    return to == DLC_F32 || to == DLC_F64;
  default:
    return to == from;
  }
}

/// Whether an element keeps its value; of a float that becomes another, whether it stays finite.
static bool keepsValue(dlc_dtype from, dlc_dtype to, double value) {
  if (isWhole(to) && !std::isfinite(value))
    return false;
  std::byte stored[sizeof(double)];
  storeElement(to, value, stored);
  const double kept = loadElement(to, stored);
  if (!isWhole(from) && !isWhole(to))
    return std::isfinite(kept) || !std::isfinite(value);
  // A double has not all whole numbers beyond.
  constexpr double mostExact = 0x1p53;
  return kept == value && (from != DLC_I64 || std::fabs(value) <= mostExact);
}

/// Numbers that an input cannot hold are an error.
static Status checkValues(const DatasetField &field, const MappedInput &mapped,
                          const ValueInfo &input, uint64_t sample, const std::byte *from) {
  const uint64_t size = dtypeSize(mapped.from),
                 elements = TensorType{field.dtype, field.shape, {}}.elementCount();
  for (uint64_t i = 0; i < elements; ++i) {
    const double value = loadElement(mapped.from, from + i * size);
    if (!keepsValue(mapped.from, mapped.to, value))
      return invalid(field.file, ": sample ", sample, " has ", decimalText(value), ", which ",
                     dtypeName(mapped.to), " of input '", input.name, "' cannot hold");
  }
  return {};
}

/// `number` inputs have been given the text and what follows it.
static Result<MappedInput> mapSequence(const EntryInfo &entry, size_t input, size_t number,
                                       const Dataset &dataset) {
  const ValueInfo &value = entry.inputs[input];
  const std::vector<DatasetField> &fields = dataset.fields();
  if (number >= fields.size())
    return invalid("entry '", entry.name, "': input '", value.name,
                   "' is one more than the two that ", dataset.name(),
                   " feeds: the text, and what follows");
  const DatasetField &field = fields[number];
  if (!takes(value, field) || value.batchAxis > 1)
    return invalid("entry '", entry.name, "': input '", value.name, "' is ", value.type.str(),
                   ", expected i32 of rank 2, steps of samples, for a text");
  MappedInput mapped{input,       number,           value.type.shape[1 - value.batchAxis],
                     field.dtype, value.type.dtype, elementsTogether(value)};
  if (field.rareShareLast && value.classes != 0)
    mapped.lastClass = static_cast<int32_t>(value.classes - 1);
  return mapped;
}

/// Whether samples become those of an input, whatever their size is.
static bool fitsInPlanes(const DatasetField &field, const ValueInfo &input) {
  return takesImages(input) && imageSides(field.shape, input);
}

/// Whether samples are numbers of classes, one each, and the input has a float for each class.
static bool makesOneHot(const DatasetField &field, const ValueInfo &input) {
  const TensorType &type = input.type;
  return field.kind != FieldKind::Image && isWhole(field.dtype) && field.dtype != DLC_BOOL &&
         !isWhole(type.dtype) && type.shape.size() == 2 && input.batchAxis == 0 &&
         type.shape[1] > 1 && fitShapes(field.shape, {}) == ShapeFit::Equal;
}

/// The input that takes labels as one-hot rows: one that could take images, but not of their
/// shape, beside another that does; none takes numbers of classes.
static std::optional<size_t> inputOfOneHot(const EntryInfo &entry, const Dataset &dataset) {
  const std::vector<DatasetField> &fields = dataset.fields();
  const auto image = std::ranges::find(fields, FieldKind::Image, &DatasetField::kind),
             label = std::ranges::find(fields, FieldKind::Label, &DatasetField::kind);
  if (image == fields.end() || label == fields.end())
    return {};
  std::optional<size_t> found;
  bool hasImages = false;
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    const ValueInfo &input = entry.inputs[i];
    if (i != entry.validInput && takes(input, *label))
      return {};
    if (i == entry.validInput || !takes(input, *image))
      continue;
    const bool fits =
        fitsInPlanes(*image, input) ||
        (!image->pictures && fitShapes(image->shape, sampleShape(input)) != ShapeFit::None);
    hasImages |= fits;
    if (!fits && makesOneHot(*label, input))
      found = i;
  }
  return hasImages ? found : std::nullopt;
}

static Result<MappedInput> mapInput(const EntryInfo &entry, size_t number, const Dataset &dataset,
                                    bool anySize, std::optional<size_t> ofOneHot,
                                    std::vector<std::string> &notes) {
  const ValueInfo &input = entry.inputs[number];
  const std::vector<DatasetField> &fields = dataset.fields();
  // What has the input's name is meant for it, also beside images.
  auto field = std::ranges::find_if(
      fields, [&](const DatasetField &f) { return f.kind == FieldKind::Named && takes(input, f); });
  if (field == fields.end())
    field = std::ranges::find_if(fields, [&](const DatasetField &f) {
      return number == ofOneHot ? f.kind == FieldKind::Label : takes(input, f);
    });
  if (field == fields.end())
    return noField(entry, input, dataset);
  const std::vector<uint64_t> expected = sampleShape(input);
  if (expected.size() == input.type.shape.size())
    return invalid("entry '", entry.name, "': input '", input.name, "' is ", input.type.str(),
                   ", which has no axis N: data feed inputs of samples");
  const std::string found = field->pictures ? concat("pictures of ", field->shape[0], " channels")
                                            : samplesText(field->dtype, field->shape),
                    wanted = samplesText(input.type.dtype, expected, input.batchAxis);
  const ShapeFit fit = fitShapes(field->shape, expected);
  const bool oneHot = fit == ShapeFit::None && makesOneHot(*field, input);
  if (oneHot)
    notes.push_back(concat(dataset.name(), ": numbers of classes fill input '", input.name, "', ",
                           wanted, ", as one-hot rows"));
  else if (field->pictures ? !fitsInPlanes(*field, input)
                           : fit == ShapeFit::None && !(anySize && fitsInPlanes(*field, input)))
    return invalid(fieldText(*field), " ", found, ", input '", input.name, "' of entry '",
                   entry.name, "' takes ", wanted, shapeAdvice(field->shape, input));
  if (fit == ShapeFit::Flat && !field->pictures)
    notes.push_back(concat(dataset.name(), ": ", found, " fills input '", input.name, "', ", wanted,
                           ", number by number"));
  const TensorType sample{input.type.dtype, expected, {}};
  const MappedInput mapped{number,
                           static_cast<size_t>(field - fields.begin()),
                           sample.elementCount(),
                           field->dtype,
                           input.type.dtype,
                           elementsTogether(input),
                           INT32_MAX,
                           oneHot};
  for (uint64_t at = 0; isInMemory(dataset, mapped.field) && !oneHot &&
                        !holdsAll(mapped.from, mapped.to) && at < dataset.size();
       ++at)
    DLC_TRY(checkValues(*field, mapped, input, at, dataset.sample(at, mapped.field)));
  return mapped;
}

/// checkClasses() of one sample.
static Status checkNumbers(const DatasetField &numbers, uint64_t classes, int64_t ignored,
                           std::string_view of, uint64_t sample, const std::byte *from) {
  const uint64_t elements = TensorType{numbers.dtype, numbers.shape, {}}.elementCount();
  const bool isLabel = numbers.kind == FieldKind::Label;
  for (uint64_t i = 0; i < elements; ++i) {
    const double number = loadElement(numbers.dtype, from + i * dtypeSize(numbers.dtype));
    if (!isClass(number, classes, ignored))
      return invalid(numbers.file, ": sample ", sample, isLabel ? " has label " : " has value ",
                     decimalText(number), isLabel ? ", the classes of " : " for ", of,
                     isLabel ? " are 0 to " : ", allowed are 0 to ", classes - 1,
                     ignored == 0 ? "" : concat(", and ", ignored));
  }
  return {};
}

/// What samples in memory have that are no classes of an input, as a whole.
static std::string classesAdvice(const Dataset &dataset, size_t field, uint64_t classes) {
  if (const auto *names = dataset.classNames(); names && names->size() > classes)
    return concat("; there are folders of ", names->size(), " classes");
  const DatasetField &numbers = dataset.fields()[field];
  if (numbers.kinds != 0)
    return concat("; its numbers go up to ", numbers.kinds - 1);
  const uint64_t size = dtypeSize(numbers.dtype), elements = sampleBytes(numbers) / size;
  double least = INFINITY, largest = -INFINITY;
  for (uint64_t at = 0; at < dataset.size(); ++at)
    for (uint64_t i = 0; i < elements; ++i) {
      const double number = loadElement(numbers.dtype, dataset.sample(at, field) + i * size);
      least = std::min(least, number);
      largest = std::max(largest, number);
    }
  return least == 1 && largest == static_cast<double>(classes) ? "; class numbers begin with 0"
                                                               : "";
}

Status checkClasses(const Dataset &dataset, size_t field, uint64_t classes, int64_t ignored,
                    std::string_view of) {
  const DatasetField &numbers = dataset.fields()[field];
  // A text knows it without a look at all of it.
  if (numbers.kinds != 0 ? numbers.kinds <= classes : !isInMemory(dataset, field))
    return {};
  std::vector<std::byte> room;
  for (uint64_t at = 0; at < dataset.size(); ++at) {
    DLC_TRY_ASSIGN(from, sampleAt(dataset, at, field, room));
    const Status checked = checkNumbers(numbers, classes, ignored, of, at, from);
    if (!checked.ok())
      return invalid(checked.message(), classesAdvice(dataset, field, classes));
  }
  return {};
}

static std::string inputText(const ValueInfo &input) { return concat("input '", input.name, "'"); }

Status checkSample(const DatasetField &field, const MappedInput &mapped, const ValueInfo &input,
                   uint64_t sample, const std::byte *from) {
  if (mapped.oneHot)
    return checkNumbers(field, mapped.elements, 0, inputText(input), sample, from);
  if (!holdsAll(mapped.from, mapped.to))
    DLC_TRY(checkValues(field, mapped, input, sample, from));
  if (input.classes != 0 && !field.rareShareLast)
    DLC_TRY(checkNumbers(field, input.classes, input.ignored, inputText(input), sample, from));
  return {};
}

/// Whether an array is called as test data may be elsewhere.
static bool soundsLikeTests(std::string_view name) {
  for (std::string_view word : {"test", "Test", "TEST", "val_", "val.", "val/", "valid"})
    if (name.starts_with(word))
      return true;
  return name.ends_with("test") || name.ends_with("_val");
}

/// Of arrays that no input takes, once for all of them.
static void noteIgnored(const Dataset &dataset, std::vector<std::string> &notes) {
  const ArrayNames *names = dataset.arrayNames();
  if (!names || names->ignored.empty())
    return;
  std::string list;
  for (const std::string &name : names->ignored)
    addItem(list, concat("'", excerpt(name), "'"));
  notes.push_back(concat(dataset.name(), ": no input takes ", list,
                         std::ranges::any_of(names->ignored, soundsLikeTests)
                             ? "; test data are called test.NAME"
                             : ""));
}

Result<InputMapping> mapInputs(const EntryInfo &entry, const Dataset &dataset, bool anySize) {
  InputMapping mapping;
  std::vector<MappedInput> &mapped = mapping.inputs;
  const std::optional<size_t> ofOneHot = inputOfOneHot(entry, dataset);
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    if (i == entry.validInput)
      continue;
    DLC_TRY_ASSIGN(input, dataset.isSequence()
                              ? mapSequence(entry, i, mapped.size(), dataset)
                              : mapInput(entry, i, dataset, anySize, ofOneHot, mapping.notes));
    if (dataset.isSequence() && !mapped.empty() && mapped[0].elements != input.elements)
      return invalid("entry '", entry.name, "': input '", entry.inputs[i].name, "' takes ",
                     input.elements, " steps, '", entry.inputs[mapped[0].input].name, "' ",
                     mapped[0].elements);
    const DatasetField &field = dataset.fields()[input.field];
    for (const MappedInput &other : mapped)
      if (other.field == input.field)
        return invalid("entry '", entry.name, "': inputs '", entry.inputs[other.input].name,
                       "' and '", entry.inputs[i].name, "' both take the ",
                       field.kind == FieldKind::Image ? "images" : "labels");
    const uint64_t classes = input.oneHot ? input.elements : entry.inputs[i].classes;
    if (classes != 0 && !field.rareShareLast)
      DLC_TRY(checkClasses(dataset, input.field, classes, entry.inputs[i].ignored,
                           inputText(entry.inputs[i])));
    mapped.push_back(input);
  }
  noteIgnored(dataset, mapping.notes);
  return mapping;
}

/// Bytes as floats from 0 to 1.
template <typename Float>
static void convertBytes(const std::byte *from, uint64_t count, std::byte *to) {
  auto *out = reinterpret_cast<Float *>(to);
  for (uint64_t i = 0; i < count; ++i)
    out[i] = Float(std::to_integer<uint8_t>(from[i])) * (Float(1) / Float(255));
}

/// A 1 where the class is; nowhere for what a program made no class since it was checked.
static void convertClass(const MappedInput &mapped, const std::byte *from, std::byte *to) {
  const uint64_t size = dtypeSize(mapped.to);
  std::memset(to, 0, mapped.elements * size);
  if (const double number = loadElement(mapped.from, from); isClass(number, mapped.elements, 0))
    storeElement(mapped.to, 1, to + static_cast<uint64_t>(number) * size);
}

void convertSample(const MappedInput &mapped, const std::byte *from, std::byte *to) {
  if (mapped.oneHot)
    return convertClass(mapped, from, to);
  if (mapped.from == DLC_U8 && mapped.to == DLC_F32) {
    convertBytes<float>(from, mapped.elements, to);
  } else if (mapped.from == DLC_U8 && mapped.to == DLC_F64) {
    convertBytes<double>(from, mapped.elements, to);
  } else if (mapped.from == mapped.to) {
    std::memcpy(to, from, mapped.elements * dtypeSize(mapped.to));
  } else {
    const uint64_t fromSize = dtypeSize(mapped.from), toSize = dtypeSize(mapped.to);
    const double scale = mapped.from == DLC_U8 && !isWhole(mapped.to) ? 1.0 / 255 : 1;
    for (uint64_t i = 0; i < mapped.elements; ++i)
      storeElement(mapped.to, scale * loadElement(mapped.from, from + i * fromSize),
                   to + i * toSize);
  }
}

void convertNumber(const MappedInput &mapped, const std::byte *from, std::byte *to) {
  int32_t number = std::to_integer<uint8_t>(*from);
  if (mapped.from != DLC_U8)
    std::memcpy(&number, from, sizeof(number));
  number = std::min(number, mapped.lastClass);
  std::memcpy(to, &number, sizeof(number));
}

} // namespace dlc::runtime
