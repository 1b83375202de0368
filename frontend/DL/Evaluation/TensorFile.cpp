// See TensorFile.h. The formats are the runtime's.
#include "frontend/DL/Evaluation/TensorFile.h"
#include "runtime/Data/ArrayFile.h"

namespace dlc::frontend {

static DType dtypeOf(dlc_dtype dtype) {
  switch (dtype) {
  case DLC_F32:
    return DType::F32;
  case DLC_F64:
    return DType::F64;
  case DLC_BF16:
    return DType::BF16;
  case DLC_F16:
    return DType::F16;
  case DLC_I32:
    return DType::I32;
  case DLC_I64:
    return DType::I64;
  case DLC_U8:
    return DType::U8;
  case DLC_BOOL:
    return DType::Bool;
  }
  llvm_unreachable("all dtypes are listed");
}

std::optional<FileTensor> readTensorFile(llvm::StringRef path, std::string &error) {
  auto arrays = runtime::readArrays(path.str(), [](std::string_view) { return true; });
  if (!arrays.ok()) {
    llvm::StringRef reason(arrays.status().message());
    if (reason.consume_front(path))
      reason.consume_front(": ");
    error = reason.str();
    return std::nullopt;
  }
  if (arrays->size() != 1) {
    error = "it holds " + std::to_string(arrays->size()) + " tensors, expected one";
    return std::nullopt;
  }
  runtime::StoredArray &array = arrays->front();
  return FileTensor{
      dtypeOf(array.dtype), {array.shape.begin(), array.shape.end()}, std::move(array.bytes)};
}

} // namespace dlc::frontend
