// States of several ranks, packed for collectives, and their tensors.
#include "runtime/Data/CarriedStates.h"
#include "runtime/Data/Safetensors.h"

#include <algorithm>

namespace dlc::runtime {

bool carriesStates(const Plan &plan) {
  return std::ranges::any_of(
      plan.variables, [](const VariableInfo &variable) { return variable.role == DLC_ROLE_STATE; });
}

static Status readInto(const State &state, std::string &carried) {
  return forEachCarried(
      state.module()->plan(), [&](size_t variable, size_t begin, size_t bytes) -> Status {
        carried.resize(begin + bytes);
        return state.read(variable,
                          std::as_writable_bytes(std::span(carried.data() + begin, bytes)));
      });
}

Result<std::string> readStates(const State &state) {
  return guarded([&]() -> Result<std::string> {
    std::string carried;
    DLC_TRY(readInto(state, carried));
    return carried;
  });
}

Status writeStates(State &state, std::string_view carried) {
  return forEachCarried(
      state.module()->plan(), [&](size_t variable, size_t begin, size_t bytes) -> Status {
        return state.write(variable, std::as_bytes(std::span(carried.substr(begin, bytes))));
      });
}

std::string carriedName(unsigned rank, std::string_view variable) {
  return concat("rank", rank, "/", variable);
}

const VariableInfo *carriedVariable(const Plan &plan, std::string_view name) {
  constexpr std::string_view prefix = "rank";
  const size_t slash = name.find('/');
  if (!name.starts_with(prefix) || slash == std::string_view::npos)
    return nullptr;
  const std::string_view digits = name.substr(prefix.size(), slash - prefix.size());
  const bool isRank = !digits.empty() && digits.front() != '0' &&
                      digits.find_first_not_of("0123456789") == std::string_view::npos;
  const VariableInfo *variable = isRank ? plan.findVariable(name.substr(slash + 1)) : nullptr;
  return variable && variable->role == DLC_ROLE_STATE ? variable : nullptr;
}

static Status loadRank(const Plan &plan, const SafetensorsFile &file, unsigned rank,
                       std::string &carried) {
  return forEachCarried(plan, [&](size_t variable, size_t begin, size_t bytes) -> Status {
    const VariableInfo &info = plan.variables[variable];
    const std::string name = rank == 0 ? std::string(info.name) : carriedName(rank, info.name);
    const StoredTensor *tensor = file.find(name);
    if (!tensor)
      return invalid(file.path(), ": no tensor '", name, "', what rank ", rank, " carried of ",
                     info.type.str());
    carried.resize(begin + bytes);
    return file.read(*tensor, std::as_writable_bytes(std::span(carried.data() + begin, bytes)));
  });
}

Result<CarriedStates> loadCarried(const Plan &plan, const std::string &path, uint64_t ranks) {
  return guarded([&]() -> Result<CarriedStates> {
    CarriedStates all;
    if (ranks == 1 || !carriesStates(plan))
      return all;
    DLC_TRY_ASSIGN(file, SafetensorsFile::open(path));
    for (unsigned rank = 0; rank < ranks; ++rank)
      DLC_TRY(loadRank(plan, file, rank, all.emplace_back()));
    return all;
  });
}

} // namespace dlc::runtime
