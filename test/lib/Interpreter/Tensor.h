//===- Tensor.h - the interpreter's tensors -----------------------------------------*- C++ -*-===//
//
// Row-major float64, whatever the element type: integers up to 2^53 are exact, bool is 0 or 1.
// Indexing is written for obviousness, and shares nothing with the compiler.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_LIB_INTERPRETER_TENSOR_H
#define DLC_TEST_LIB_INTERPRETER_TENSOR_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::interpreter {

using Shape = std::vector<int64_t>;
using Index = std::vector<int64_t>;

struct Tensor {
  Shape shape;
  std::vector<double> values;

  static int64_t sizeOf(const Shape &shape) {
    int64_t size = 1;
    for (int64_t extent : shape)
      size *= extent;
    return size;
  }
  static Tensor filled(Shape shape, double value) {
    auto size = static_cast<size_t>(sizeOf(shape));
    return {std::move(shape), std::vector<double>(size, value)};
  }

  int64_t size() const { return static_cast<int64_t>(values.size()); }
  int64_t offset(const Index &index) const {
    int64_t result = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      result = result * shape[axis] + index[axis];
    return result;
  }
  double &at(const Index &index) { return values[offset(index)]; }
  double at(const Index &index) const { return values[offset(index)]; }
};

/// Calls `visit(index)` for every index below `shape`, the last axis fastest.
template <typename Visit> void forEachIndex(const Shape &shape, Visit visit) {
  if (Tensor::sizeOf(shape) == 0)
    return;
  Index index(shape.size(), 0);
  while (true) {
    visit(static_cast<const Index &>(index));
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}

/// scale * u(key, i) + shift for each element i, where u is the formula behind the reference
/// values.
Tensor uniformTensor(Shape shape, std::string_view key, double scale = 1, double shift = 0);

} // namespace dlc::interpreter

#endif
