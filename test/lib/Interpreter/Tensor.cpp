//===- Tensor.cpp - tensors of deterministic numbers ------------------------------------------===//
#include "test/lib/Interpreter/Tensor.h"
#include "test/e2e/Formula.h"

namespace dlc::interpreter {

Tensor uniformTensor(Shape shape, std::string_view key, double scale, double shift) {
  const test::Formula numbers(key);
  std::vector<double> values(Tensor::sizeOf(shape));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = scale * numbers(i) + shift;
  return {std::move(shape), std::move(values)};
}

} // namespace dlc::interpreter
