// Variables to and from safetensors files.
#include "dlc/checkpoint.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Safetensors.h"

#include <algorithm>

namespace dlc::runtime {

/// Roles that a checkpoint holds.
static bool isStored(dlc_role role) { return role != DLC_ROLE_METRIC && role != DLC_ROLE_DERIVED; }

static bool isRequired(dlc_role role, LoadMode mode) {
  switch (mode) {
  case LoadMode::Parameters:
    return role == DLC_ROLE_PARAMETER;
  case LoadMode::Weights:
    return role == DLC_ROLE_PARAMETER || role == DLC_ROLE_STATISTIC;
  case LoadMode::Everything:
    return isStored(role);
  }
  return true;
}

static Status checkTensor(const StoredTensor &tensor, const VariableInfo *variable) {
  if (!variable || !isStored(variable->role))
    return invalid(tensor.quoted(), " is no variable of the model");
  if (tensor.dtype != variable->type.dtype || tensor.shape != variable->type.shape)
    return invalid(tensor.quoted(), " is ", tensor.typeText(), ", the model expects ",
                   variable->type.str());
  return {};
}

/// Both ways: every tensor is a variable, every required variable is there.
static Status checkFile(const SafetensorsFile &file, const Plan &plan, LoadMode mode) {
  for (const StoredTensor &tensor : file.tensors())
    DLC_TRY(checkTensor(tensor, plan.findVariable(tensor.name)));
  for (const VariableInfo &variable : plan.variables)
    if (isRequired(variable.role, mode) && !file.find(variable.name))
      return invalid("no tensor '", variable.name, "', the ", roleName(variable.role), " ",
                     variable.type.str());
  return {};
}

static Result<Metadata> load(State &state, const std::string &path, LoadMode mode) {
  const Plan &plan = state.module()->plan();
  DLC_TRY_ASSIGN(file, SafetensorsFile::open(path));
  DLC_TRY(checkFile(file, plan, mode).in(path));
  // All is read before the first variable changes, so that a failure changes none.
  std::vector<std::vector<std::byte>> contents;
  for (const StoredTensor &tensor : file.tensors()) {
    std::vector<std::byte> &content = contents.emplace_back();
    DLC_TRY(reserveRoom(content, tensor.bytes).in(path));
    content.resize(tensor.bytes);
    DLC_TRY(file.read(tensor, content));
  }
  for (size_t i = 0; i < contents.size(); ++i) {
    const VariableInfo *variable = plan.findVariable(file.tensors()[i].name);
    DLC_TRY(state.write(static_cast<size_t>(variable - plan.variables.data()), contents[i]));
  }
  for (size_t i = 0; i < plan.variables.size(); ++i)
    if (plan.variables[i].initialiser == DLC_INIT_COPY && !file.find(plan.variables[i].name))
      DLC_TRY(state.initialise(i));
  return file.metadata();
}

Result<Metadata> loadVariables(State &state, const std::string &path, LoadMode mode) {
  return guarded([&] { return load(state, path, mode); });
}

static Status save(const State &state, const std::string &path, const Metadata &metadata) {
  const Plan &plan = state.module()->plan();
  std::vector<StoredTensor> tensors;
  std::vector<size_t> indices;
  for (size_t i = 0; i < plan.variables.size(); ++i) {
    const VariableInfo &variable = plan.variables[i];
    if (!isStored(variable.role))
      continue;
    tensors.push_back({std::string(variable.name), variable.type.dtype, variable.type.shape, 0, 0});
    indices.push_back(i);
  }
  DLC_TRY_ASSIGN(writer, SafetensorsWriter::create(path, tensors, metadata));
  for (size_t index : indices) {
    std::vector<std::byte> content(plan.variables[index].type.logicalBytes());
    DLC_TRY(state.read(index, content));
    DLC_TRY(writer.append(content));
  }
  return writer.commit();
}

Status saveVariables(const State &state, const std::string &path, const Metadata &metadata) {
  return guarded([&] { return save(state, path, metadata); });
}

} // namespace dlc::runtime
