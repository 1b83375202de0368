// The JSON header of a safetensors file, checked field by field while it is read.
//
// No tree of it is made: the library's recurses and, where it is destroyed, allocates, which ends
// the process where there is no memory.
#include "runtime/Core/JsonEvents.h"
#include "runtime/Core/Layout.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Safetensors.h"

#include <algorithm>
#include <set>

namespace dlc::runtime {

using nlohmann::json;

static uint32_t parseDtype(std::string_view text) {
  static constexpr std::pair<std::string_view, dlc_dtype> names[] = {
      {"F32", DLC_F32}, {"F64", DLC_F64}, {"BF16", DLC_BF16}, {"F16", DLC_F16},
      {"I32", DLC_I32}, {"I64", DLC_I64}, {"U8", DLC_U8},     {"BOOL", DLC_BOOL}};
  for (auto [name, dtype] : names)
    if (text == name)
      return dtype;
  return 0;
}

/// Whether a dtype of the format that is not dlc's is one of whole numbers.
static bool isOtherWhole(std::string_view text) {
  return text == "I8" || text == "I16" || text == "U16" || text == "U32" || text == "U64";
}

namespace {

/// Hears the parser's events. The header is an object of objects: of tensors, which hold a text and
/// two lists of numbers, and of metadata, which hold texts.
class HeaderReader : public json::json_sax_t {
public:
  HeaderReader(uint64_t dataStart, uint64_t dataBytes, std::vector<StoredTensor> &tensors,
               Metadata &metadata)
      : dataStart(dataStart), dataBytes(dataBytes), tensors(tensors), metadata(metadata) {}

  /// Why the parser was stopped.
  Status takeFailure() { return std::move(failure); }

  bool start_object(size_t) override {
    ++depth;
    if (depth == 1)
      return true;
    if (depth > 2)
      return refuseValue();
    tensor = {};
    tensor.name = name;
    offsets.clear();
    seen = 0;
    return true;
  }
  bool end_object() override {
    --depth;
    return depth == 0 || inMetadata() || finishTensor();
  }
  bool key(std::string &text) override {
    field = depth == 1 ? "" : text;
    if (depth != 1)
      return inMetadata() || beginField();
    name = text;
    return isPrintableUtf8(text) || fail(damaged("a tensor's name is not printable UTF-8"));
  }
  bool start_array(size_t) override {
    if (depth == 0)
      return refuseValue();
    ++depth;
    const bool isList = field == "shape" || field == "data_offsets";
    return (depth == 3 && isList && !inMetadata()) || refuseValue();
  }
  bool end_array() override {
    --depth;
    return field != "data_offsets" || offsets.size() == 2 || refuseValue();
  }
  bool number_unsigned(uint64_t number) override {
    if (depth != 3)
      return refuseValue();
    std::vector<uint64_t> &list = field == "shape" ? tensor.shape : offsets;
    list.push_back(number);
    if (tensor.shape.size() > DLC_MAX_RANK)
      return failTensor(damaged("'shape' is no list of at most ", DLC_MAX_RANK, " numbers"));
    return offsets.size() <= 2 || refuseValue();
  }
  bool string(std::string &text) override {
    if (depth == 2 && inMetadata()) {
      metadata[field] = text;
      return true;
    }
    if (depth != 2 || field != "dtype")
      return refuseValue();
    tensor.dtype = static_cast<dlc_dtype>(parseDtype(text));
    return tensor.dtype != 0 ||
           failTensor(damaged("dtype \"", excerpt(text),
                              "\" is none of F32, F64, BF16, F16, I32, I64, U8, BOOL",
                              isOtherWhole(text) ? "; save it as I32: .astype(np.int32)" : ""));
  }
  bool null() override { return refuseValue(); }
  bool boolean(bool) override { return refuseValue(); }
  bool number_integer(int64_t) override { return refuseValue(); }
  bool number_float(double, const std::string &) override { return refuseValue(); }
  bool binary(json::binary_t &) override { return refuseValue(); }
  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &) override {
    return fail(damaged("the header is no JSON object"));
  }

private:
  static constexpr std::string_view fields[] = {"dtype", "shape", "data_offsets"};

  bool inMetadata() const { return name == "__metadata__"; }

  bool fail(Status status) {
    failure = std::move(status);
    return false;
  }
  bool failTensor(Status status) {
    tensor.name = name;
    return fail(std::move(status).in(tensor.quoted()));
  }

  /// A value of a kind that does not belong where it stands.
  bool refuseValue() {
    if (depth == 0)
      return fail(damaged("the header is no JSON object"));
    if (inMetadata())
      return fail(field.empty() ? damaged("'__metadata__' is no object")
                                : damaged("'__metadata__' holds something else than text"));
    if (field == "dtype")
      return failTensor(damaged("'dtype' is no text"));
    if (field == "shape")
      return failTensor(damaged("'shape' holds something else than whole numbers"));
    if (field == "data_offsets")
      return failTensor(damaged("'data_offsets' is no pair of whole numbers"));
    return failTensor(damaged("expected dtype, shape and data_offsets"));
  }

  bool beginField() {
    const auto *found = std::find(std::begin(fields), std::end(fields), field);
    const unsigned bit = 1u << (found - fields);
    if (found == std::end(fields) || seen & bit)
      return failTensor(damaged("expected dtype, shape and data_offsets"));
    seen |= bit;
    return true;
  }

  bool finishTensor() {
    for (size_t i = 0; i < std::size(fields); ++i)
      if (!(seen >> i & 1))
        return failTensor(damaged("'", fields[i], "' is missing"));
    if (Status placed = placeTensor(); !placed.ok())
      return failTensor(std::move(placed));
    tensors.push_back(std::move(tensor));
    return true;
  }

  Status placeTensor() {
    if (!checkedElementCount(tensor.shape))
      return damaged("'shape' has too many elements");
    const uint64_t begin = offsets[0], end = offsets[1];
    if (begin > end || end > dataBytes)
      return damaged("bytes [", begin, ", ", end, ") of ", dataBytes);
    const uint64_t expected = TensorType{tensor.dtype, tensor.shape, {}}.logicalBytes();
    if (end - begin != expected)
      return damaged("has ", end - begin, " bytes, ", tensor.typeText(), " takes ", expected);
    tensor.offset = dataStart + begin;
    tensor.bytes = expected;
    return {};
  }

  uint64_t dataStart, dataBytes;
  std::vector<StoredTensor> &tensors;
  Metadata &metadata;
  Status failure;
  /// Objects and lists that are open; the key in the first, and the one in the second.
  unsigned depth = 0;
  std::string name, field;
  StoredTensor tensor;
  std::vector<uint64_t> offsets;
  /// Which of the fields the tensor has.
  unsigned seen = 0;
};

} // namespace

static Status checkDistinct(const std::vector<StoredTensor> &tensors) {
  std::set<std::string_view> names;
  for (const StoredTensor &tensor : tensors)
    if (!names.insert(tensor.name).second)
      return damaged(tensor.quoted(), " is there twice");
  return {};
}

/// The tensors must fill the data: no overlap, no hole, nothing left over. Those without elements
/// stay in the header's order.
static Status checkCoverage(std::vector<StoredTensor> &tensors, uint64_t dataStart,
                            uint64_t dataBytes) {
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const StoredTensor &a, const StoredTensor &b) {
                     return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
                   });
  uint64_t expected = dataStart;
  for (const StoredTensor &tensor : tensors) {
    if (tensor.offset != expected)
      return damaged(tensor.quoted(), " begins at byte ", tensor.offset - dataStart,
                     " of the data, expected ", expected - dataStart);
    expected += tensor.bytes;
  }
  if (expected != dataStart + dataBytes)
    return damaged("the tensors take ", expected - dataStart, " bytes, the file holds ", dataBytes);
  return {};
}

Status parseSafetensorsHeader(std::string_view text, uint64_t dataStart, uint64_t dataBytes,
                              std::vector<StoredTensor> &tensors, Metadata &metadata) {
  // For the parser a zero is the end of the text, whatever follows.
  if (text.find('\0') != std::string_view::npos)
    return damaged("the header holds a zero byte");
  HeaderReader reader(dataStart, dataBytes, tensors, metadata);
  if (!parseJson(text, reader))
    return reader.takeFailure();
  DLC_TRY(checkDistinct(tensors));
  return checkCoverage(tensors, dataStart, dataBytes);
}

} // namespace dlc::runtime
