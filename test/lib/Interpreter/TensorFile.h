//===- TensorFile.h - the interpreter's tensors in safetensors files ----------------*- C++ -*-===//
#ifndef DLC_TEST_LIB_INTERPRETER_TENSORFILE_H
#define DLC_TEST_LIB_INTERPRETER_TENSORFILE_H

#include "dlc/status.h"
#include "test/lib/Interpreter/Tensor.h"
#include <map>

namespace dlc::interpreter {

using Tensors = std::map<std::string, Tensor>;

/// Adds the tensors of a file, whatever their dtypes, to `tensors`.
runtime::Status readTensors(const std::string &path, Tensors &tensors);
/// Writes all as f64.
runtime::Status writeTensors(const std::string &path, const Tensors &tensors);

} // namespace dlc::interpreter

#endif
