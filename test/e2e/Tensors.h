// Named tensors on the host, read from and written to safetensors files, and the distances that
// tests measure.
#ifndef DLC_TEST_E2E_TENSORS_H
#define DLC_TEST_E2E_TENSORS_H

#include "runtime/Data/Safetensors.h"

#include <map>

namespace dlc::test {

/// Values widened to double: exact for f32, f64 and i32.
struct Tensor {
  dlc_dtype dtype = DLC_F32;
  std::vector<uint64_t> shape;
  std::vector<double> values;
};
using Tensors = std::map<std::string, Tensor>;

Tensor makeTensor(std::vector<uint64_t> shape, const std::vector<float> &values);
Tensor makeTensor(std::vector<uint64_t> shape, const std::vector<int32_t> &values);

/// Ends the program with a message if the file cannot be read or holds another dtype than f32,
/// f64 and i32.
Tensors readTensors(const std::string &path, runtime::Metadata *metadata = nullptr);
void writeTensors(const std::string &path, const Tensors &tensors);

/// max|a - b| / max|b|. Infinite if the sizes differ or a value is not a number.
double maxError(const Tensor &a, const Tensor &b);

} // namespace dlc::test

#endif
