//===- Tensor.cpp - tensors of deterministic numbers ------------------------------------------===//
#include "test/lib/Interpreter/Tensor.h"
#include "test/e2e/Formula.h"

namespace dlc::interpreter {

Tensor uniformTensor(Shape shape, std::string_view key, double scale, double shift) {
  std::vector<double> values = test::formula(key, static_cast<uint64_t>(Tensor::sizeOf(shape)));
  for (double &value : values)
    value = scale * value + shift;
  return {std::move(shape), std::move(values)};
}

} // namespace dlc::interpreter
