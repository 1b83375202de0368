// A tensor in a file: .npy, or .safetensors or .npz with one tensor.
#ifndef DLC_FRONTEND_DL_EVALUATION_TENSORFILE_H
#define DLC_FRONTEND_DL_EVALUATION_TENSORFILE_H

#include "frontend/DL/Evaluation/Value.h"

namespace dlc::frontend {

struct FileTensor {
  DType dtype;
  llvm::SmallVector<int64_t> shape;
  /// Row-major, little-endian; a byte for each bool.
  std::vector<std::byte> bytes;
};

/// Nothing on failure, and `error` is one line without the file's name.
std::optional<FileTensor> readTensorFile(llvm::StringRef path, std::string &error);

} // namespace dlc::frontend

#endif
