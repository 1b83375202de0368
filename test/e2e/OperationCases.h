// Models in the dl language for the reference cases of single operations.
#ifndef DLC_TEST_E2E_OPERATIONCASES_H
#define DLC_TEST_E2E_OPERATIONCASES_H

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dlc::test {

/// `attributes`: the case's metadata; `shapes`: of its tensors, named input.x, parameter.weight,
/// output. Layers with weights are named `op`. Empty if the operation is not one that dlc has.
std::string operationModel(const nlohmann::json &attributes,
                           const std::map<std::string, std::vector<uint64_t>> &shapes);

} // namespace dlc::test

#endif
