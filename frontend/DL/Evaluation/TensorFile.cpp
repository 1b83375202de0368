// See TensorFile.h. The formats: numpy.lib.format (version 1 to 3), and safetensors (the length of
// a JSON header in 8 bytes, the header, the data).
#include "frontend/DL/Evaluation/TensorFile.h"
#include "frontend/DL/Evaluation/TensorOps.h"
#include "runtime/Core/File.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"

namespace dlc::frontend {

/// Constants of a model; what is larger is data.
static constexpr uint64_t mostBytes = uint64_t(1) << 30;

static size_t bytesOf(DType dtype) {
  switch (dtype) {
  case DType::F64:
  case DType::I64:
    return 8;
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::BF16:
  case DType::F16:
    return 2;
  case DType::U8:
  case DType::Bool:
    return 1;
  }
  llvm_unreachable("all dtypes are listed");
}

/// The shape and the bytes of a tensor that fills `data`; nothing after an error.
static std::optional<FileTensor> fill(DType dtype, llvm::ArrayRef<int64_t> shape,
                                      llvm::StringRef data, std::string &error) {
  for (int64_t size : shape)
    if (size < 0) {
      error = "the shape " + joinSizes(shape) + " has a size below 0";
      return std::nullopt;
    }
  auto count = elementCount(shape);
  if (!count || uint64_t(*count) > mostBytes || uint64_t(*count) * bytesOf(dtype) != data.size()) {
    error = "the shape " + joinSizes(shape) + " of " + spelling(dtype).str() +
            " does not take the " + std::to_string(data.size()) +
            " bytes that stand behind the header";
    return std::nullopt;
  }
  return FileTensor{dtype, llvm::SmallVector<int64_t>(shape), {data.begin(), data.end()}};
}

// --------------------------------------------------------------------------------------------- npy

/// What stands behind "'key':" in the header, up to the next ',' outside of parentheses.
static llvm::StringRef field(llvm::StringRef header, llvm::StringRef key) {
  size_t at = header.find(("'" + key + "'").str());
  if (at == llvm::StringRef::npos)
    return "";
  llvm::StringRef rest = header.drop_front(at + key.size() + 2).ltrim();
  if (!rest.consume_front(":"))
    return "";
  rest = rest.ltrim();
  size_t end = rest.starts_with("(") ? rest.find(')') + 1 : rest.find_first_of(",}");
  return rest.take_front(end).rtrim();
}

static std::optional<DType> npyDType(llvm::StringRef spelled) {
  spelled = spelled.trim("'\"");
  for (auto [name, dtype] : {std::pair("<f4", DType::F32),
                             {"<f8", DType::F64},
                             {"<f2", DType::F16},
                             {"<i4", DType::I32},
                             {"<i8", DType::I64},
                             {"|u1", DType::U8},
                             {"|b1", DType::Bool}})
    if (spelled == name)
      return dtype;
  return std::nullopt;
}

static std::optional<FileTensor> readNpy(llvm::StringRef text, std::string &error) {
  constexpr size_t fixed = 8;
  unsigned version = text.size() > fixed ? uint8_t(text[6]) : 0;
  size_t lengthBytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3 || text.size() < fixed + lengthBytes) {
    error = "it is a .npy file of a version other than 1 to 3";
    return std::nullopt;
  }
  const char *at = text.data() + fixed;
  size_t length =
      version == 1 ? llvm::support::endian::read16le(at) : llvm::support::endian::read32le(at);
  llvm::StringRef header = text.drop_front(fixed + lengthBytes);
  if (length > header.size()) {
    error = "its header claims " + std::to_string(length) + " bytes, the file ends before";
    return std::nullopt;
  }
  llvm::StringRef data = header.drop_front(length);
  header = header.take_front(length);
  llvm::StringRef descr = field(header, "descr"), order = field(header, "fortran_order");
  llvm::StringRef sizes = field(header, "shape");
  auto dtype = npyDType(descr);
  if (!dtype) {
    error = "its elements are " + (descr.empty() ? "not said" : descr.str()) +
            ", expected <f4, <f8, <f2, <i4, <i8, |u1 or |b1";
    return std::nullopt;
  }
  if (order != "False") {
    error = "it lies in Fortran's order; numpy.ascontiguousarray lays it in C's";
    return std::nullopt;
  }
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<llvm::StringRef> parts;
  if (!sizes.consume_front("(") || !sizes.consume_back(")")) {
    error = "its header has no shape";
    return std::nullopt;
  }
  sizes.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts)
    if (!part.trim().empty() && part.trim().getAsInteger(10, shape.emplace_back())) {
      error = "its shape has the size '" + part.trim().str() + "'";
      return std::nullopt;
    }
  return fill(*dtype, shape, data, error);
}

// ------------------------------------------------------------------------------------- safetensors

static std::optional<DType> safetensorsDType(llvm::StringRef name) {
  for (auto [spelled, dtype] : {std::pair("F32", DType::F32),
                                {"F64", DType::F64},
                                {"BF16", DType::BF16},
                                {"F16", DType::F16},
                                {"I32", DType::I32},
                                {"I64", DType::I64},
                                {"U8", DType::U8},
                                {"BOOL", DType::Bool}})
    if (name == spelled)
      return dtype;
  return std::nullopt;
}

/// The one tensor of the header; nothing after an error.
static std::optional<FileTensor> readEntry(const llvm::json::Object &header, llvm::StringRef data,
                                           std::string &error) {
  const llvm::json::Object *entry = nullptr;
  size_t count = 0;
  for (const auto &[key, value] : header)
    if (llvm::StringRef(key) != "__metadata__") {
      ++count;
      entry = value.getAsObject();
    }
  if (count != 1) {
    error = "it holds " + std::to_string(count) + " tensors, expected one";
    return std::nullopt;
  }
  auto spelled = entry ? entry->getString("dtype") : std::nullopt;
  auto dtype = spelled ? safetensorsDType(*spelled) : std::nullopt;
  const llvm::json::Array *sizes = entry ? entry->getArray("shape") : nullptr;
  if (!dtype || !sizes) {
    error = dtype ? "its tensor has no shape"
                  : "its elements are " + (spelled ? spelled->str() : "not said") +
                        ", expected F32, F64, BF16, F16, I32, I64, U8 or BOOL";
    return std::nullopt;
  }
  llvm::SmallVector<int64_t> shape;
  for (const llvm::json::Value &size : *sizes)
    shape.push_back(size.getAsInteger().value_or(-1));
  return fill(*dtype, shape, data, error);
}

static std::optional<FileTensor> readSafetensors(llvm::StringRef text, std::string &error) {
  constexpr size_t fixed = 8;
  uint64_t length = text.size() < fixed ? 0 : llvm::support::endian::read64le(text.data());
  if (text.size() < fixed || length > text.size() - fixed) {
    error = "it is no .safetensors file: its header does not fit in it";
    return std::nullopt;
  }
  auto parsed = llvm::json::parse(text.substr(fixed, length));
  const llvm::json::Object *header = parsed ? parsed->getAsObject() : nullptr;
  if (!header) {
    error = "it is no .safetensors file: its header is no JSON object";
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  return readEntry(*header, text.drop_front(fixed + length), error);
}

std::optional<FileTensor> readTensorFile(llvm::StringRef path, std::string &error) {
  auto content = runtime::readWholeFile(path.str(), mostBytes);
  if (!content.ok()) {
    llvm::StringRef reason(content.status().message());
    if (reason.consume_front(path))
      reason.consume_front(": ");
    error = reason.str();
    return std::nullopt;
  }
  llvm::StringRef text(reinterpret_cast<const char *>(content->data()), content->size());
  return text.starts_with("\x93NUMPY") ? readNpy(text, error) : readSafetensors(text, error);
}

} // namespace dlc::frontend
