//===- GoldenCases.h - reference cases of single operations as dl entries -----------*- C++ -*-===//
#ifndef DLC_TEST_GRADIENTS_GOLDENCASES_H
#define DLC_TEST_GRADIENTS_GOLDENCASES_H

#include "test/lib/Interpreter/TensorFile.h"
#include <nlohmann/json.hpp>

namespace dlc::gradients {

/// The entry @f that computes a case's output in float64, and the tensors of the file that are its
/// arguments in order. Empty text for an operation that the dl dialect does not have.
struct GoldenEntry {
  std::string text;
  std::vector<std::string> arguments;
};

GoldenEntry goldenEntry(const nlohmann::json &attributes, const interpreter::Tensors &tensors);

} // namespace dlc::gradients

#endif
