// Variables to and from safetensors files.
#include "dlc/checkpoint.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/CarriedStates.h"
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

/// The compiler's hash of what the model computes, as text; empty if the module has none.
static std::string graphOf(const Plan &plan) {
  for (const SettingInfo &setting : plan.settings)
    if (setting.name == "graph" && setting.value > 0 && setting.value < 0x1p53)
      return std::to_string(static_cast<uint64_t>(setting.value));
  return {};
}

/// Whether the file says nothing else of `key`. Files of other programs do not say.
static bool agrees(const SafetensorsFile &file, const char *key, std::string_view expected) {
  auto it = file.metadata().find(key);
  return it == file.metadata().end() || expected.empty() || it->second == expected;
}

static Status checkModel(const SafetensorsFile &file, const Plan &plan) {
  if (!agrees(file, "model", plan.model))
    return invalid("is of model '", file.metadata().at("model"), "', the module's is '", plan.model,
                   "'");
  return {};
}

/// Where all tensors are alike.
static Status checkGraph(const SafetensorsFile &file, const Plan &plan) {
  if (!agrees(file, "graph", graphOf(plan)))
    return invalid("is of another model '", plan.model,
                   "': its tensors are the same, the operations on them are not");
  return {};
}

/// What the tensor is for: a variable, or what another rank than 0 carried of one.
static const VariableInfo *variableOf(const Plan &plan, const StoredTensor &tensor) {
  const VariableInfo *carried = carriedVariable(plan, tensor.name);
  return carried ? carried : plan.findVariable(tensor.name);
}

/// What PyTorch's modules store beside their weights and no model needs: batch norm's count of
/// batches, and the causal mask of GPT-2's attention, [1, 1, T, T].
static bool isBesideWeights(const StoredTensor &tensor) {
  const std::string_view name = tensor.name;
  if (name.ends_with(".num_batches_tracked") || name.ends_with(".attn.masked_bias"))
    return tensor.shape.empty();
  const std::vector<uint64_t> &shape = tensor.shape;
  return name.ends_with(".attn.bias") && shape.size() == 4 && shape[0] == 1 && shape[1] == 1 &&
         shape[2] == shape[3];
}

/// Whether the tensor is for no variable, and the model does not miss one.
static bool isPassedOver(const StoredTensor &tensor, const Plan &plan) {
  return isResidualName(tensor.name) || (!variableOf(plan, tensor) && isBesideWeights(tensor));
}

/// Both ways: every tensor is for a variable, every required variable is there.
static Status checkTensors(const SafetensorsFile &file, const Plan &plan, LoadMode mode) {
  for (const StoredTensor &tensor : file.tensors())
    if (!isPassedOver(tensor, plan))
      DLC_TRY(checkTensor(tensor, variableOf(plan, tensor)));
  for (const VariableInfo &variable : plan.variables)
    if (isRequired(variable.role, mode) && !file.find(variable.name))
      return invalid("no tensor '", variable.name, "', the ", roleName(variable.role), " ",
                     variable.type.str());
  return {};
}

static Status checkFile(const SafetensorsFile &file, const Plan &plan, LoadMode mode) {
  const bool isOurs = mode != LoadMode::Parameters;
  if (isOurs)
    DLC_TRY(checkModel(file, plan));
  DLC_TRY(checkTensors(file, plan, mode));
  return isOurs ? checkGraph(file, plan) : Status();
}

/// All is read before the first variable changes, so that a failure changes none. A copy of a
/// parameter that is not among the tensors follows it.
static Status take(State &state, const SafetensorsFile &file,
                   const std::vector<const StoredTensor *> &tensors) {
  const Plan &plan = state.module()->plan();
  std::vector<std::vector<std::byte>> contents;
  for (const StoredTensor *tensor : tensors) {
    std::vector<std::byte> &content = contents.emplace_back();
    DLC_TRY(reserveRoom(content, tensor->bytes).in(file.path()));
    content.resize(tensor->bytes);
    DLC_TRY(file.read(*tensor, content));
  }
  std::vector<bool> taken(plan.variables.size(), false);
  for (size_t i = 0; i < contents.size(); ++i) {
    const auto index =
        static_cast<size_t>(plan.findVariable(tensors[i]->name) - plan.variables.data());
    DLC_TRY(state.write(index, contents[i]));
    taken[index] = true;
  }
  for (size_t i = 0; i < plan.variables.size(); ++i)
    if (plan.variables[i].initialiser == DLC_INIT_COPY && !taken[i])
      DLC_TRY(state.initialise(i));
  return {};
}

static Result<Metadata> load(State &state, const std::string &path, LoadMode mode) {
  DLC_TRY_ASSIGN(file, SafetensorsFile::open(path));
  const Plan &plan = state.module()->plan();
  DLC_TRY(checkFile(file, plan, mode).in(path));
  std::vector<const StoredTensor *> tensors;
  for (const StoredTensor &tensor : file.tensors())
    if (!carriedVariable(plan, tensor.name) && !isPassedOver(tensor, plan))
      tensors.push_back(&tensor);
  DLC_TRY(take(state, file, tensors));
  return file.metadata();
}

Result<Metadata> loadVariables(State &state, const std::string &path, LoadMode mode) {
  return guarded([&] { return load(state, path, mode); });
}

static Result<MatchReport> match(State &state, const std::string &path) {
  DLC_TRY_ASSIGN(file, SafetensorsFile::open(path));
  const Plan &plan = state.module()->plan();
  MatchReport report;
  std::vector<const StoredTensor *> tensors;
  for (const VariableInfo &variable : plan.variables) {
    if (!isRequired(variable.role, LoadMode::Weights))
      continue;
    const StoredTensor *tensor = file.find(variable.name);
    if (!tensor) {
      report.missing.emplace_back(variable.name);
      continue;
    }
    DLC_TRY(checkTensor(*tensor, &variable).in(path));
    tensors.push_back(tensor);
  }
  // A checkpoint of dlc's own holds more than weights.
  if (!file.metadata().contains("model"))
    for (const StoredTensor &tensor : file.tensors())
      if (!variableOf(plan, tensor) && !isPassedOver(tensor, plan))
        report.unused.push_back(tensor.name);
  if (tensors.empty())
    return invalid(path, ": none of its tensors is a parameter of the model");
  DLC_TRY(take(state, file, tensors));
  report.taken = tensors.size();
  return report;
}

Result<MatchReport> loadMatching(State &state, const std::string &path) {
  return guarded([&] { return match(state, path); });
}

/// Calls use(what it is, its tensor, the contents) with all that a checkpoint holds.
template <typename Use>
static Status forEachStored(const State &state, const CarriedStates &all, Use use) {
  const Plan &plan = state.module()->plan();
  std::vector<std::byte> content;
  for (size_t i = 0; i < plan.variables.size(); ++i) {
    if (!isStored(plan.variables[i].role))
      continue;
    content.resize(plan.variables[i].type.logicalBytes());
    const VariableInfo &variable = plan.variables[i];
    DLC_TRY(state.read(i, content));
    DLC_TRY(use(roleName(variable.role),
                StoredTensor{std::string(variable.name), variable.type.dtype, variable.type.shape},
                std::span<const std::byte>(content)));
  }
  const std::vector<Carried> each = carriedBy(state);
  for (unsigned rank = 0; rank < all.size(); ++rank) {
    std::string_view rest = all[rank];
    for (const Carried &carried : each) {
      const std::string_view part = rest.substr(0, carried.type.logicalBytes());
      rest.remove_prefix(part.size());
      if (rank != 0 || carried.isResidual)
        DLC_TRY(use(
            carried.isResidual ? "residual" : roleName(DLC_ROLE_STATE),
            StoredTensor{carriedName(rank, carried.name), carried.type.dtype, carried.type.shape},
            std::as_bytes(std::span(part))));
    }
  }
  return {};
}

/// Twice over the variables: checksums stand before the tensors in the file.
static Status save(const State &state, const CarriedStates &all, const std::string &path,
                   Metadata metadata) {
  using Content = std::span<const std::byte>;
  std::vector<StoredTensor> tensors;
  auto announce = [&](std::string_view what, StoredTensor tensor, Content content) -> Status {
    if (!allFinite(tensor.dtype, content))
      return failure(StatusCode::Failed, "the ", what, " '", tensor.name,
                     "' holds a number that is not finite");
    tensor.checksum = checksumOf(content);
    tensors.push_back(std::move(tensor));
    return {};
  };
  DLC_TRY(forEachStored(state, all, announce));
  metadata["model"] = state.module()->plan().model;
  if (std::string graph = graphOf(state.module()->plan()); !graph.empty())
    metadata["graph"] = std::move(graph);
  DLC_TRY_ASSIGN(writer, SafetensorsWriter::create(path, tensors, std::move(metadata)));
  DLC_TRY(forEachStored(state, all, [&](std::string_view, const StoredTensor &, Content content) {
    return writer.append(content);
  }));
  return writer.commit();
}

Status saveVariables(const State &state, const std::string &path, Metadata metadata) {
  return saveVariablesOf(state, {}, path, std::move(metadata));
}

Status saveVariablesOf(const State &state, const CarriedStates &all, const std::string &path,
                       Metadata metadata) {
  return guarded([&] { return save(state, all, path, std::move(metadata)); });
}

} // namespace dlc::runtime
