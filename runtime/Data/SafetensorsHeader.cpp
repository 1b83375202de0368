// The JSON header of a safetensors file, checked field by field.
#include "runtime/Core/Json.h"
#include "runtime/Core/Layout.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dlc::runtime {

using nlohmann::json;

static uint32_t parseDtype(const json &value) {
  static constexpr std::pair<std::string_view, dlc_dtype> names[] = {
      {"F32", DLC_F32}, {"F64", DLC_F64}, {"BF16", DLC_BF16}, {"F16", DLC_F16},
      {"I32", DLC_I32}, {"I64", DLC_I64}, {"U8", DLC_U8},     {"BOOL", DLC_BOOL}};
  if (value.is_string())
    for (auto [name, dtype] : names)
      if (value.get_ref<const std::string &>() == name)
        return dtype;
  return 0;
}

static Status parseShape(const json &value, StoredTensor &tensor) {
  if (!value.is_array() || value.size() > DLC_MAX_RANK)
    return damaged("'shape' is no list of at most ", DLC_MAX_RANK, " numbers");
  for (const json &extent : value) {
    if (!extent.is_number_unsigned())
      return damaged("'shape' holds something else than whole numbers");
    tensor.shape.push_back(extent.get<uint64_t>());
  }
  if (!checkedElementCount(tensor.shape))
    return damaged("'shape' has too many elements");
  return {};
}

static Status parseTensor(const json &value, uint64_t dataStart, uint64_t dataBytes,
                          StoredTensor &tensor) {
  static constexpr std::string_view fields[] = {"dtype", "shape", "data_offsets"};
  if (!value.is_object() || value.size() != std::size(fields))
    return damaged("expected dtype, shape and data_offsets");
  for (std::string_view field : fields)
    if (!value.contains(field))
      return damaged("'", field, "' is missing");
  const uint32_t dtype = parseDtype(value["dtype"]);
  if (dtype == 0)
    return damaged("dtype ",
                   excerpt(value["dtype"].dump(-1, ' ', false, json::error_handler_t::replace)),
                   " is none of F32, F64, BF16, F16, I32, I64, U8, BOOL");
  tensor.dtype = static_cast<dlc_dtype>(dtype);
  DLC_TRY(parseShape(value["shape"], tensor));
  const json &offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    return damaged("'data_offsets' is no pair of whole numbers");
  const uint64_t begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  if (begin > end || end > dataBytes)
    return damaged("bytes [", begin, ", ", end, ") of ", dataBytes);
  const uint64_t expected = TensorType{tensor.dtype, tensor.shape, {}}.logicalBytes();
  if (end - begin != expected)
    return damaged("has ", end - begin, " bytes, ", tensor.typeText(), " takes ", expected);
  tensor.offset = dataStart + begin;
  tensor.bytes = expected;
  return {};
}

static Status parseMetadata(const json &value, Metadata &metadata) {
  if (!value.is_object())
    return damaged("'__metadata__' is no object");
  for (auto it = value.begin(); it != value.end(); ++it) {
    if (!it->is_string())
      return damaged("'__metadata__' holds something else than text");
    metadata[it.key()] = it->get<std::string>();
  }
  return {};
}

/// The tensors must fill the data: no overlap, no hole, nothing left over.
static Status checkCoverage(std::vector<StoredTensor> &tensors, uint64_t dataStart,
                            uint64_t dataBytes) {
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor &a, const StoredTensor &b) {
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
  DLC_TRY(checkJsonDepth(text));
  const json header = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object())
    return damaged("the header is no JSON object");
  for (auto it = header.begin(); it != header.end(); ++it) {
    if (it.key() == "__metadata__") {
      DLC_TRY(parseMetadata(*it, metadata));
      continue;
    }
    StoredTensor tensor;
    tensor.name = it.key();
    if (!isPrintableUtf8(tensor.name))
      return damaged("a tensor's name is not printable UTF-8");
    DLC_TRY(parseTensor(*it, dataStart, dataBytes, tensor).in(tensor.quoted()));
    tensors.push_back(std::move(tensor));
  }
  return checkCoverage(tensors, dataStart, dataBytes);
}

} // namespace dlc::runtime
