// Named tensors on the host, read from and written to safetensors files, and the distances that
// tests measure.
#ifndef DLC_TEST_E2E_TENSORS_H
#define DLC_TEST_E2E_TENSORS_H

#include "runtime/Data/Safetensors.h"

#include <functional>
#include <map>
#include <string_view>

namespace dlc::test {

/// Values widened to double: exact for f32, f64 and i32.
struct Tensor {
  dlc_dtype dtype = DLC_F32;
  std::vector<uint64_t> shape;
  std::vector<double> values;
};
using Tensors = std::map<std::string, Tensor>;

/// The numbers of the formula, scaled, shifted and rounded to float32: what a float32 program
/// starts from.
Tensor formulaTensor(std::vector<uint64_t> shape, std::string_view key, double scale = 1,
                     double offset = 0);
/// Class labels: floor((u + 1) / 2 * classes).
Tensor formulaLabels(std::vector<uint64_t> shape, std::string_view key, int classes);

/// Those of a file that are wanted. Ends the program with a message if it cannot be read or one of
/// them has another dtype than f32, f64 and i32.
Tensors readTensors(const std::string &path, runtime::Metadata *metadata = nullptr,
                    const std::function<bool(const std::string &name)> &wanted = {});
void writeTensors(const std::string &path, const Tensors &tensors);

/// max|a - b| / max|b|. Infinite if the sizes differ or a value is not a number.
double maxError(const Tensor &a, const Tensor &b);

/// What stands for a large tensor: its norm, and its product with the numbers of a formula.
struct Projection {
  double norm = 0, dot = 0;
};
Projection project(const Tensor &tensor, std::string_view key);

} // namespace dlc::test

#endif
