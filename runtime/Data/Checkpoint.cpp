// Variables to and from safetensors files.
#include "dlc/checkpoint.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"
#include "runtime/Data/CarriedStates.h"
#include "runtime/Data/CheckpointImage.h"
#include "runtime/Data/RenameRules.h"
#include "runtime/Data/Safetensors.h"

#include <algorithm>
#include <optional>

namespace dlc::runtime {

/// The module's setting, and the entry of the metadata.
static constexpr const char *operationsKey = "operations";
/// Of the name of a parameter's average.
static constexpr std::string_view averageSuffix = ".ema";

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

/// A copy of a parameter that follows it: its average (`ema`), which evaluation and inference read
/// in its place.
static bool isAverage(const VariableInfo &variable) {
  return variable.initialiser == DLC_INIT_COPY;
}

/// Whether dlc wrote the file, which then has more than weights.
static bool isOurs(const SafetensorsFile &file) { return file.metadata().contains("model"); }

/// The floats that weights may have on either side of a load: it rounds or widens them.
static bool isConverted(dlc_dtype dtype) {
  return dtype == DLC_F32 || dtype == DLC_BF16 || dtype == DLC_F16;
}

static bool fitsIn(const StoredTensor &tensor, const VariableInfo &variable,
                   LoadMode mode = LoadMode::Weights) {
  const dlc_dtype from = tensor.dtype, to = variable.type.dtype;
  const bool hasType =
      from == to || (mode != LoadMode::Everything && isConverted(from) && isConverted(to));
  return isStored(variable.role) && hasType && tensor.shape == variable.type.shape;
}

static Status checkTensor(const StoredTensor &tensor, const VariableInfo *variable,
                          LoadMode mode = LoadMode::Weights) {
  if (!variable || !isStored(variable->role))
    return invalid(tensor.quoted(), " is no variable of the model");
  if (!fitsIn(tensor, *variable, mode))
    return invalid(tensor.quoted(), " is ", tensor.typeText(), ", the model expects ",
                   variable->type.str());
  return {};
}

/// The compiler's hash of what the model computes, as text; empty if the module has none.
static std::string operationsOf(const Plan &plan) {
  for (const SettingInfo &setting : plan.settings)
    if (setting.name == operationsKey && setting.value > 0 && setting.value < 0x1p53)
      return std::to_string(static_cast<uint64_t>(setting.value));
  return {};
}

/// Whether the file says of `key` what is expected; nothing if one of the two says nothing, as
/// files of other programs.
static std::optional<bool> agrees(const SafetensorsFile &file, const char *key,
                                  std::string_view expected) {
  auto it = file.metadata().find(key);
  if (it == file.metadata().end() || expected.empty())
    return std::nullopt;
  return it->second == expected;
}

static Status checkModel(const SafetensorsFile &file, const Plan &plan) {
  if (!agrees(file, "model", plan.model).value_or(true))
    return invalid("is of model '", file.metadata().at("model"), "', the module's is '", plan.model,
                   "'");
  return {};
}

/// Where all tensors are alike.
static Status checkOperations(const SafetensorsFile &file, const Plan &plan) {
  if (!agrees(file, operationsKey, operationsOf(plan)).value_or(true))
    return invalid("is of another model '", plan.model,
                   "': its tensors are the same, the operations on them are not");
  return {};
}

/// What the tensor is for: a variable, or what another rank than 0 carried of one.
static const VariableInfo *variableOf(const Plan &plan, const StoredTensor &tensor) {
  const VariableInfo *carried = carriedVariable(plan, tensor.name);
  return carried ? carried : plan.findVariable(tensor.name);
}

/// The parameter that the name lies in, as that of a slot does: no weight lies in another. Null if
/// there is none.
static const VariableInfo *parameterAround(const Plan &plan, std::string_view name) {
  for (size_t dot = name.rfind('.'); dot != name.npos && dot != 0; dot = name.rfind('.', dot - 1)) {
    const VariableInfo *variable = plan.findVariable(name.substr(0, dot));
    if (variable && variable->role == DLC_ROLE_PARAMETER)
      return variable;
  }
  return nullptr;
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

/// What a training run keeps beside the weights, in a file of dlc's: a slot, or, where the
/// operations are the model's, whatever the model has not: counters, and states of other entries.
static bool isOfTraining(const SafetensorsFile &file, const StoredTensor &tensor,
                         const Plan &plan) {
  if (!isOurs(file))
    return false;
  const VariableInfo *variable = variableOf(plan, tensor);
  if (variable)
    return !isRequired(variable->role, LoadMode::Weights) && !fitsIn(tensor, *variable);
  return parameterAround(plan, tensor.name) ||
         agrees(file, operationsKey, operationsOf(plan)).value_or(false);
}

/// Whether the tensor is for no variable, and the model does not miss one.
static bool isPassedOver(const SafetensorsFile &file, const StoredTensor &tensor, const Plan &plan,
                         LoadMode mode) {
  return isResidualName(tensor.name) || (!variableOf(plan, tensor) && isBesideWeights(tensor)) ||
         (mode != LoadMode::Everything && isOfTraining(file, tensor, plan));
}

/// "it has 'module.fc.weight', the model 'fc.weight'": names of both sides where none is the same,
/// if possible those of one tensor.
static std::string describeNames(const SafetensorsFile &file, const Plan &plan) {
  const StoredTensor *theirs = nullptr;
  const VariableInfo *ours = nullptr;
  std::string_view prefix;
  auto follows = [](std::string_view longer, std::string_view name) {
    return longer.size() > name.size() && longer.ends_with(name) &&
           longer[longer.size() - name.size() - 1] == '.';
  };
  for (const VariableInfo &variable : plan.variables) {
    if (variable.role != DLC_ROLE_PARAMETER)
      continue;
    if (!ours)
      ours = &variable;
    for (const StoredTensor &tensor : file.tensors())
      if (!theirs && fitsIn(tensor, variable) &&
          (follows(tensor.name, variable.name) || follows(variable.name, tensor.name))) {
        theirs = &tensor;
        ours = &variable;
        const size_t before =
            std::max(tensor.name.size(), variable.name.size()) - variable.name.size();
        prefix = std::string_view(tensor.name).substr(0, before);
      }
  }
  if (!theirs && !file.tensors().empty())
    theirs = &file.tensors().front();
  if (!theirs || !ours)
    return theirs ? "the model has none" : "the file has none";
  const bool isPrefix = !prefix.empty() && std::ranges::all_of(file.tensors(), [&](auto &tensor) {
    return tensor.name.starts_with(prefix);
  });
  return concat("it has '", excerpt(theirs->name), "', the model '", ours->name, "'",
                isPrefix ? concat("; all its names begin with '", excerpt(prefix),
                                  prefix == "module." ? "', as DistributedDataParallel's do: save "
                                                        "net.module.state_dict()"
                                                      : "'")
                         : std::string());
}

static bool hasParameter(const SafetensorsFile &file, const Plan &plan) {
  return std::ranges::any_of(plan.variables, [&](const VariableInfo &variable) {
    return isRequired(variable.role, LoadMode::Weights) && file.find(variable.name);
  });
}

static Status noParameter(const SafetensorsFile &file, const Plan &plan) {
  return invalid("none of its tensors is a parameter of the model: ", describeNames(file, plan));
}

/// Whether it is the scale of a loss, or a counter beside it.
static bool isOfLossScale(std::string_view name) {
  return name.ends_with("loss_scale") || name.ends_with("loss_scale.skipped") ||
         name.ends_with("loss_scale.updates");
}

/// Of a tensor that the model has no variable for.
static Status otherLossScale(const StoredTensor &tensor, const Plan &plan) {
  const bool scales = std::ranges::any_of(plan.variables, [](const VariableInfo &variable) {
    return variable.role == DLC_ROLE_COUNTER && isOfLossScale(variable.name);
  });
  return invalid(tensor.quoted(), " is of a loss that was scaled, as that of f16 is, the model's ",
                 scales ? "is in another way" : "is not", "; `initFrom` takes the weights only");
}

/// Of a variable that the file has no tensor for.
static std::string missingNote(const SafetensorsFile &file, const VariableInfo &variable) {
  if (variable.role == DLC_ROLE_SLOT)
    return " of the model's optimizer; `initFrom` takes the weights only";
  if (variable.role != DLC_ROLE_COUNTER || !isOfLossScale(variable.name))
    return {};
  const bool scales = std::ranges::any_of(
      file.tensors(), [](const StoredTensor &tensor) { return isOfLossScale(tensor.name); });
  return concat(" of the model's loss, which is scaled, as that of f16 is, the file's was ",
                scales ? "in another way" : "not", "; `initFrom` takes the weights only");
}

/// Both ways: every tensor is for a variable, every required variable is there.
static Status checkTensors(const SafetensorsFile &file, const Plan &plan, LoadMode mode) {
  for (const StoredTensor &tensor : file.tensors())
    if (!isPassedOver(file, tensor, plan, mode)) {
      const VariableInfo *variable = variableOf(plan, tensor);
      if (!variable && parameterAround(plan, tensor.name) && mode == LoadMode::Everything)
        return invalid(tensor.quoted(), " is a slot of another optimizer than the model's; "
                                        "`initFrom` takes the weights only");
      if (!variable && !hasParameter(file, plan))
        return noParameter(file, plan);
      if (!variable && isOfLossScale(tensor.name) && mode == LoadMode::Everything)
        return otherLossScale(tensor, plan);
      DLC_TRY(checkTensor(tensor, variable, mode));
    }
  for (const VariableInfo &variable : plan.variables)
    if (isRequired(variable.role, mode) && !file.find(variable.name))
      return invalid("no tensor '", variable.name, "', the ", roleName(variable.role), " ",
                     variable.type.str(), missingNote(file, variable));
  return {};
}

static Status checkFile(const SafetensorsFile &file, const Plan &plan, LoadMode mode) {
  const bool isOfModel = mode != LoadMode::Parameters;
  if (isOfModel)
    DLC_TRY(checkModel(file, plan));
  DLC_TRY(checkTensors(file, plan, mode));
  return isOfModel ? checkOperations(file, plan) : Status();
}

/// A tensor, and the variable that takes it.
struct Taken {
  const StoredTensor *tensor;
  size_t variable;
};

static size_t indexOf(const Plan &plan, const VariableInfo &variable) {
  return static_cast<size_t>(&variable - plan.variables.data());
}

/// The tensor as elements of `dtype`, each rounded to nearest even. Fails where one is not finite
/// then that was.
static Result<std::vector<std::byte>> readAs(dlc_dtype dtype, const SafetensorsFile &file,
                                             const StoredTensor &tensor) {
  std::vector<std::byte> content;
  DLC_TRY(reserveRoom(content, tensor.bytes).in(file.path()));
  content.resize(tensor.bytes);
  DLC_TRY(file.read(tensor, content));
  if (tensor.dtype == dtype)
    return content;
  const uint64_t from = dtypeSize(tensor.dtype), to = dtypeSize(dtype);
  std::vector<std::byte> converted;
  DLC_TRY(reserveRoom(converted, tensor.bytes / from * to).in(file.path()));
  converted.resize(tensor.bytes / from * to);
  for (uint64_t i = 0; i < tensor.bytes / from; ++i)
    storeElement(dtype, loadElement(tensor.dtype, &content[i * from]), &converted[i * to]);
  if (!allFinite(dtype, converted) && allFinite(tensor.dtype, content))
    return invalid(tensor.quoted(), " holds a number that ", dtypeName(dtype), " has no room for")
        .in(file.path());
  return converted;
}

/// All is read before the first variable changes, so that a failure changes none. A copy of a
/// parameter that is not among the tensors follows it.
static Status take(State &state, const SafetensorsFile &file, const std::vector<Taken> &all) {
  const Plan &plan = state.module()->plan();
  std::vector<std::vector<std::byte>> contents;
  for (const Taken &each : all) {
    DLC_TRY_ASSIGN(content, readAs(plan.variables[each.variable].type.dtype, file, *each.tensor));
    contents.push_back(std::move(content));
  }
  std::vector<bool> taken(plan.variables.size(), false);
  for (size_t i = 0; i < contents.size(); ++i) {
    DLC_TRY(state.write(all[i].variable, contents[i]));
    taken[all[i].variable] = true;
  }
  for (size_t i = 0; i < plan.variables.size(); ++i)
    if (isAverage(plan.variables[i]) && !taken[i])
      DLC_TRY(state.initialise(i));
  return {};
}

/// The average of a parameter in a file of dlc's. Null if there is none.
static const StoredTensor *averageIn(const SafetensorsFile &file, const VariableInfo &parameter) {
  const StoredTensor *average = isOurs(file) && parameter.role == DLC_ROLE_PARAMETER
                                    ? file.find(concat(parameter.name, averageSuffix))
                                    : nullptr;
  return average && fitsIn(*average, parameter) ? average : nullptr;
}

static Result<Metadata> load(State &state, const std::string &path, LoadMode mode) {
  DLC_TRY_ASSIGN(file, SafetensorsFile::open(path));
  const Plan &plan = state.module()->plan();
  DLC_TRY(checkFile(file, plan, mode).in(path));
  std::vector<Taken> tensors;
  for (const StoredTensor &tensor : file.tensors()) {
    if (carriedVariable(plan, tensor.name) || isPassedOver(file, tensor, plan, mode))
      continue;
    const VariableInfo &variable = *plan.findVariable(tensor.name);
    const StoredTensor *average = averageIn(file, variable);
    // A model that keeps no averages reads the parameter where one that does reads the average.
    const bool takesAverage =
        mode == LoadMode::Weights && average && !plan.findVariable(average->name);
    tensors.push_back({takesAverage ? average : &tensor, indexOf(plan, variable)});
  }
  DLC_TRY(take(state, file, tensors));
  if (auto step = file.metadata().find("step");
      mode == LoadMode::Everything && step != file.metadata().end()) {
    uint64_t batches = 0;
    std::string_view rest = step->second;
    if (takeNumber(rest, batches) && rest.empty())
      state.setStep(batches);
  }
  return file.metadata();
}

Result<Metadata> loadVariables(State &state, const std::string &path, LoadMode mode) {
  return guarded([&] { return load(state, path, mode); });
}

/// Which of the tensors are of another type than their variables; empty if none.
static std::string conversionOf(const Plan &plan, const std::vector<Taken> &tensors) {
  std::vector<Taken> others;
  for (const Taken &each : tensors)
    if (each.tensor->dtype != plan.variables[each.variable].type.dtype)
      others.push_back(each);
  if (others.empty())
    return {};
  const auto [tensor, variable] = others.front();
  return concat(tensor->quoted(),
                others.size() > 1 ? concat(" and ", others.size() - 1, " more are ")
                                  : std::string(" is "),
                dtypeName(tensor->dtype), " there, ",
                dtypeName(plan.variables[variable].type.dtype), " in the module");
}

Result<std::string> describeConversion(const Plan &plan, const std::string &path) {
  return guarded([&]() -> Result<std::string> {
    DLC_TRY_ASSIGN(file, SafetensorsFile::open(path));
    std::vector<Taken> tensors;
    for (const VariableInfo &variable : plan.variables)
      if (const StoredTensor *tensor = file.find(variable.name);
          tensor && isRequired(variable.role, LoadMode::Weights))
        tensors.push_back({tensor, indexOf(plan, variable)});
    return conversionOf(plan, tensors);
  });
}

bool keepsAverages(const Plan &plan) { return std::ranges::any_of(plan.variables, isAverage); }

Result<bool> hasAverages(const Plan &plan, const std::string &path) {
  return guarded([&]() -> Result<bool> {
    DLC_TRY_ASSIGN(file, SafetensorsFile::open(path));
    return std::ranges::any_of(plan.variables, [&](const VariableInfo &variable) {
      return averageIn(file, variable) != nullptr;
    });
  });
}

static Result<MatchReport> match(State &state, const std::string &path,
                                 const std::vector<std::string> &rename) {
  DLC_TRY_ASSIGN(rules, renameRules(rename));
  DLC_TRY_ASSIGN(file, SafetensorsFile::open(path));
  if (!rules.empty())
    DLC_TRY(file.renameTensors([&](const std::string &name) { return renamed(name, rules); }));
  const Plan &plan = state.module()->plan();
  MatchReport report;
  std::vector<Taken> tensors;
  for (const VariableInfo &variable : plan.variables) {
    if (!isRequired(variable.role, LoadMode::Weights))
      continue;
    const StoredTensor *tensor = file.find(variable.name);
    if (!tensor) {
      report.missing.emplace_back(variable.name);
      continue;
    }
    Status checked = checkTensor(*tensor, &variable).in(path);
    if (!checked.ok())
      return Status(checked.code(), concat(checked.message(),
                                           "; give the layer another name=, then it begins anew"));
    tensors.push_back({tensor, indexOf(plan, variable)});
  }
  if (!isOurs(file))
    for (const StoredTensor &tensor : file.tensors())
      if (!variableOf(plan, tensor) && !isPassedOver(file, tensor, plan, LoadMode::Weights))
        report.unused.push_back(tensor.name);
  if (tensors.empty())
    return noParameter(file, plan).in(path);
  DLC_TRY(take(state, file, tensors));
  report.taken = tensors.size();
  report.converted = conversionOf(plan, tensors);
  return report;
}

Result<MatchReport> loadMatching(State &state, const std::string &path,
                                 const std::vector<std::string> &rename) {
  return guarded([&] { return match(state, path, rename); });
}

static Status readContent(const CheckpointTensor &tensor, const State &state,
                          std::span<std::byte> to) {
  if (tensor.variable)
    return state.read(*tensor.variable, to);
  std::ranges::copy(tensor.content, to.begin());
  return {};
}

/// Gives the tensor the checksum of its content. What of that is not finite, or empty.
static std::string check(CheckpointTensor &tensor, std::span<const std::byte> content) {
  if (!tensor.mayOverflow && !allFinite(tensor.stored.dtype, content))
    return concat("the ", tensor.what, " '", tensor.stored.name,
                  "' holds a number that is not finite");
  tensor.stored.checksum = checksumOf(content);
  return {};
}

/// Whether it is a sum of gradients whose update is left out where one of them is not finite.
static bool isGuardedSum(const VariableInfo &variable, const Plan &plan) {
  return variable.role == DLC_ROLE_SLOT &&
         variable.name.find(".gradient_sum") != std::string_view::npos &&
         std::ranges::any_of(plan.variables, [](const VariableInfo &counter) {
           return counter.role == DLC_ROLE_COUNTER && isOfLossScale(counter.name);
         });
}

/// All that a checkpoint holds, in its order.
static std::vector<CheckpointTensor> tensorsOf(const State &state, const CarriedStates &all) {
  const Plan &plan = state.module()->plan();
  auto tensorOf = [](std::string name, const TensorType &type) {
    return StoredTensor{std::move(name), type.dtype, type.shape, 0, type.logicalBytes()};
  };
  std::vector<CheckpointTensor> tensors;
  for (size_t i = 0; i < plan.variables.size(); ++i)
    if (const VariableInfo &variable = plan.variables[i]; isStored(variable.role))
      tensors.push_back({.what = roleName(variable.role),
                         .stored = tensorOf(std::string(variable.name), variable.type),
                         .variable = i,
                         .mayOverflow = isGuardedSum(variable, plan)});
  const std::vector<Carried> each = carriedBy(state);
  for (unsigned rank = 0; rank < all.size(); ++rank) {
    auto rest = std::as_bytes(std::span(all[rank]));
    for (const Carried &carried : each) {
      const auto part = rest.first(std::min<size_t>(rest.size(), carried.type.logicalBytes()));
      rest = rest.subspan(part.size());
      if (rank != 0 || carried.isResidual)
        tensors.push_back({carried.isResidual ? "residual" : roleName(DLC_ROLE_STATE),
                           tensorOf(carriedName(rank, carried.name), carried.type),
                           {},
                           part});
    }
  }
  return tensors;
}

/// What stands beside the tensors.
static Metadata metadataOf(const State &state, Metadata metadata) {
  metadata["model"] = state.module()->plan().model;
  if (state.step() != 0)
    metadata.try_emplace("step", concat(state.step()));
  if (std::string hash = operationsOf(state.module()->plan()); !hash.empty())
    metadata[operationsKey] = std::move(hash);
  return metadata;
}

/// Checks all of them, reading one at a time. What is not finite, or empty.
static Result<std::string> checkAll(std::vector<CheckpointTensor> &tensors, const State &state) {
  std::vector<std::byte> content;
  for (CheckpointTensor &tensor : tensors) {
    content.resize(tensor.stored.bytes);
    DLC_TRY(readContent(tensor, state, content));
    if (std::string notFinite = check(tensor, content); !notFinite.empty())
      return notFinite;
  }
  return std::string();
}

static Result<SafetensorsWriter> createFile(const std::string &path,
                                            const std::vector<CheckpointTensor> &tensors,
                                            Metadata metadata) {
  std::vector<StoredTensor> stored;
  for (const CheckpointTensor &tensor : tensors)
    stored.push_back(tensor.stored);
  return SafetensorsWriter::create(path, stored, std::move(metadata));
}

/// Twice over the variables: checksums stand before the tensors in the file.
static Status save(const State &state, const CarriedStates &all, const std::string &path,
                   Metadata metadata) {
  std::vector<CheckpointTensor> tensors = tensorsOf(state, all);
  DLC_TRY_ASSIGN(notFinite, checkAll(tensors, state));
  if (!notFinite.empty())
    return failure(StatusCode::Failed, notFinite);
  DLC_TRY_ASSIGN(writer, createFile(path, tensors, metadataOf(state, std::move(metadata))));
  std::vector<std::byte> content;
  for (const CheckpointTensor &tensor : tensors) {
    content.resize(tensor.stored.bytes);
    DLC_TRY(readContent(tensor, state, content));
    DLC_TRY(writer.append(content));
  }
  return writer.commit();
}

Result<std::string> findNotFinite(const State &state, const CarriedStates &all) {
  return guarded([&]() -> Result<std::string> {
    std::vector<CheckpointTensor> tensors = tensorsOf(state, all);
    return checkAll(tensors, state);
  });
}

static uint64_t bytesOf(const std::vector<CheckpointTensor> &tensors) {
  uint64_t bytes = 0;
  for (const CheckpointTensor &tensor : tensors)
    bytes += tensor.stored.bytes;
  return bytes;
}

void CheckpointImage::reserve(const State &state, unsigned ranks) {
  uint64_t bytes = bytesOf(tensorsOf(state, {}));
  for (const Carried &carried : carriedBy(state)) // rank 0's states are among the variables
    bytes += (carried.isResidual ? ranks : ranks - 1) * carried.type.logicalBytes();
  contents = HostMemory::allocate(bytes);
  if (!contents)
    return;
  constexpr uint64_t page = 4096, pagesOfPiece = 1024;
  forEachPiece(contents.size() / (page * pagesOfPiece), [&](uint64_t piece) {
    for (uint64_t i = 0; i < pagesOfPiece; ++i)
      contents.data()[(piece * pagesOfPiece + i) * page] = {};
  });
}

Status CheckpointImage::take(const State &state, const CarriedStates &all, Metadata beside) {
  return guarded([&]() -> Status {
    tensors.clear();
    std::vector<CheckpointTensor> taken = tensorsOf(state, all);
    const uint64_t bytes = bytesOf(taken);
    if (bytes > contents.size()) {
      contents = {}; // the memory of both is not needed
      contents = HostMemory::allocate(bytes);
      if (!contents)
        return failure(StatusCode::OutOfMemory, "no memory for ", bytes, " bytes of a copy");
    }
    std::span<std::byte> rest(contents.data(), bytes);
    for (CheckpointTensor &tensor : taken) {
      const auto content = rest.first(tensor.stored.bytes);
      rest = rest.subspan(content.size());
      DLC_TRY(readContent(tensor, state, content));
      tensor.variable = {};
      tensor.content = content;
    }
    tensors = std::move(taken);
    metadata = metadataOf(state, std::move(beside));
    return {};
  });
}

std::string CheckpointImage::check() {
  for (CheckpointTensor &tensor : tensors)
    if (std::string notFinite = runtime::check(tensor, tensor.content); !notFinite.empty())
      return notFinite;
  return {};
}

Status CheckpointImage::write(const std::string &path) {
  return guarded([&]() -> Status {
    DLC_TRY_ASSIGN(writer, createFile(path, tensors, metadata));
    for (const CheckpointTensor &tensor : tensors)
      DLC_TRY(writer.append(tensor.content));
    return writer.commit();
  });
}

/// What is written of a variable: the tensor of it in each file.
struct Exported {
  const VariableInfo *variable;
  std::vector<const StoredTensor *> sources;
};

/// Averages of a variable take its place, in all files or in none.
static Result<Exported> exportedOf(std::span<const SafetensorsFile> files,
                                   const VariableInfo &variable) {
  Exported exported{&variable, {}};
  const bool averaged = averageIn(files.front(), variable) != nullptr;
  for (const SafetensorsFile &file : files) {
    const StoredTensor *average = averageIn(file, variable);
    if ((average != nullptr) != averaged)
      return invalid((averaged ? file : files.front()).path(), ": has no average (ema) of '",
                     variable.name, "', as ", (averaged ? files.front() : file).path(), " has");
    exported.sources.push_back(average ? average : file.find(variable.name));
  }
  return exported;
}

/// The mean over the files; whole numbers, and what is in one file alone, as the first has it.
static Result<std::vector<std::byte>> contentOf(std::span<const SafetensorsFile> files,
                                                const Exported &exported) {
  const dlc_dtype dtype = exported.sources.front()->dtype;
  DLC_TRY_ASSIGN(content, readAs(dtype, files.front(), *exported.sources.front()));
  if (files.size() == 1 || isWhole(dtype))
    return content;
  const uint64_t size = dtypeSize(dtype);
  std::vector<double> sums(content.size() / size);
  for (size_t i = 0; i < files.size(); ++i) {
    DLC_TRY_ASSIGN(other, readAs(dtype, files[i], *exported.sources[i]));
    for (size_t element = 0; element < sums.size(); ++element)
      sums[element] += loadElement(dtype, &other[element * size]);
  }
  for (size_t element = 0; element < sums.size(); ++element)
    storeElement(dtype, sums[element] / static_cast<double>(files.size()),
                 &content[element * size]);
  return content;
}

static Status exportFrom(std::span<const SafetensorsFile> files, const Plan &plan,
                         const std::string &path) {
  std::vector<Exported> all;
  std::vector<StoredTensor> tensors;
  for (const VariableInfo &variable : plan.variables) {
    if (!isRequired(variable.role, LoadMode::Weights))
      continue;
    DLC_TRY_ASSIGN(exported, exportedOf(files, variable));
    tensors.push_back(*exported.sources.front());
    tensors.back().name = variable.name;
    if (files.size() > 1 || tensors.back().checksum.empty()) {
      DLC_TRY_ASSIGN(content, contentOf(files, exported));
      tensors.back().checksum = checksumOf(content);
    }
    all.push_back(std::move(exported));
  }
  // What other programs ask for before they take a file for PyTorch's.
  Metadata metadata = {{"format", "pt"}, {"model", std::string(plan.model)}};
  if (std::string hash = operationsOf(plan); !hash.empty())
    metadata[operationsKey] = std::move(hash);
  DLC_TRY_ASSIGN(writer, SafetensorsWriter::create(path, tensors, std::move(metadata)));
  for (const Exported &exported : all) {
    DLC_TRY_ASSIGN(content, contentOf(files, exported));
    DLC_TRY(writer.append(content));
  }
  return writer.commit();
}

Status exportAverage(const Module &module, const std::vector<std::string> &checkpoints,
                     const std::string &path) {
  return guarded([&]() -> Status {
    if (checkpoints.empty())
      return invalid("there is no checkpoint to export");
    std::vector<std::string> inputs = checkpoints;
    inputs.push_back(module.path());
    DLC_TRY(checkWritable(path, inputs));
    std::vector<SafetensorsFile> files;
    for (const std::string &checkpoint : checkpoints) {
      DLC_TRY_ASSIGN(file, SafetensorsFile::open(checkpoint));
      DLC_TRY(checkFile(file, module.plan(), LoadMode::Weights).in(checkpoint));
      files.push_back(std::move(file));
    }
    return exportFrom(files, module.plan(), path);
  });
}

Status exportWeights(const Module &module, const std::string &checkpoint, const std::string &path) {
  return guarded([&] { return exportAverage(module, {checkpoint}, path); });
}

Status saveVariables(const State &state, const std::string &path, Metadata metadata) {
  return saveVariablesOf(state, {}, path, std::move(metadata));
}

Status saveVariablesOf(const State &state, const CarriedStates &all, const std::string &path,
                       Metadata metadata) {
  return guarded([&] { return save(state, all, path, std::move(metadata)); });
}

} // namespace dlc::runtime
