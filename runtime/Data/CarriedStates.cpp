// States and residuals of several ranks, and their tensors.
#include "runtime/Data/CarriedStates.h"
#include "runtime/Data/Safetensors.h"

#include <algorithm>

namespace dlc::runtime {

constexpr std::string_view residualPrefix = "residual/";

bool carriesStates(const Plan &plan) {
  return std::ranges::any_of(
      plan.variables, [](const VariableInfo &variable) { return variable.role == DLC_ROLE_STATE; });
}

std::vector<Carried> carriedBy(const State &state) {
  const Plan &plan = state.module()->plan();
  std::vector<Carried> all;
  for (uint32_t i = 0; i < plan.variables.size(); ++i)
    if (const VariableInfo &variable = plan.variables[i]; variable.role == DLC_ROLE_STATE)
      all.push_back({std::string(variable.name), variable.type, false, i});
  for (const EntryInfo &entry : plan.entries)
    for (uint32_t i = 0, number = 0; i < entry.records.count; ++i) {
      const uint32_t record = entry.records.first + i;
      if (const std::span<const float> residual = state.residual(record); !residual.empty())
        all.push_back({concat(residualPrefix, entry.name, "/", number++),
                       TensorType{DLC_F32, {residual.size()}, {}}, true, record});
    }
  return all;
}

Status readCarried(const State &state, const Carried &carried, std::span<std::byte> destination) {
  if (!carried.isResidual)
    return state.read(carried.index, destination);
  std::ranges::copy(std::as_bytes(state.residual(carried.index)), destination.begin());
  return {};
}

Status writeCarried(State &state, const Carried &carried, std::span<const std::byte> source) {
  if (!carried.isResidual)
    return state.write(carried.index, source);
  std::ranges::copy(source, std::as_writable_bytes(state.residual(carried.index)).begin());
  return {};
}

bool hasResiduals(const State &state, const CarriedStates &all) {
  size_t bytes = 0;
  bool any = false;
  for (const Carried &carried : carriedBy(state)) {
    bytes += carried.type.logicalBytes();
    any |= carried.isResidual;
  }
  return any && !all.empty() && all[0].size() == bytes;
}

std::string carriedName(unsigned rank, std::string_view name) {
  return rank == 0 ? std::string(name) : concat("rank", rank, "/", name);
}

/// What follows "rank<r>/", r above 0; empty for another name.
static std::string_view afterRank(std::string_view name) {
  constexpr std::string_view prefix = "rank";
  const size_t slash = name.find('/');
  if (!name.starts_with(prefix) || slash == std::string_view::npos)
    return {};
  const std::string_view digits = name.substr(prefix.size(), slash - prefix.size());
  const bool isRank = !digits.empty() && digits.front() != '0' &&
                      digits.find_first_not_of("0123456789") == std::string_view::npos;
  return isRank ? name.substr(slash + 1) : std::string_view();
}

const VariableInfo *carriedVariable(const Plan &plan, std::string_view name) {
  const VariableInfo *variable = plan.findVariable(afterRank(name));
  return variable && variable->role == DLC_ROLE_STATE ? variable : nullptr;
}

bool isResidualName(std::string_view name) {
  return name.starts_with(residualPrefix) || afterRank(name).starts_with(residualPrefix);
}

/// Its tensor of one rank, of its dtype and shape; null if the file has none.
static const StoredTensor *tensorOf(const SafetensorsFile &file, unsigned rank,
                                    const Carried &carried) {
  const StoredTensor *tensor = file.find(carriedName(rank, carried.name));
  return tensor && tensor->dtype == carried.type.dtype && tensor->shape == carried.type.shape
             ? tensor
             : nullptr;
}

static Status loadRank(const SafetensorsFile &file, unsigned rank,
                       const std::vector<Carried> &wanted, std::string &all) {
  for (const Carried &carried : wanted) {
    const StoredTensor *tensor = tensorOf(file, rank, carried);
    if (!tensor)
      return invalid(file.path(), ": no tensor '", carriedName(rank, carried.name), "', what rank ",
                     rank, " carried of ", carried.type.str());
    const size_t begin = all.size();
    all.resize(begin + carried.type.logicalBytes());
    DLC_TRY(file.read(*tensor, std::as_writable_bytes(std::span(all).subspan(begin))));
  }
  return {};
}

Result<CarriedStates> loadCarried(const State &state, const std::string &path, uint64_t ranks) {
  return guarded([&]() -> Result<CarriedStates> {
    CarriedStates all;
    std::vector<Carried> wanted = carriedBy(state);
    if (ranks == 1 || wanted.empty())
      return all;
    DLC_TRY_ASSIGN(file, SafetensorsFile::open(path));
    auto isThere = [&](const Carried &carried) {
      for (unsigned rank = 0; rank < ranks; ++rank)
        if (!tensorOf(file, rank, carried))
          return false;
      return true;
    };
    auto isResidual = [](const Carried &carried) { return carried.isResidual; };
    // Another build sums in other buckets, or compresses otherwise.
    if (!std::ranges::all_of(wanted, isThere))
      std::erase_if(wanted, isResidual);
    for (unsigned rank = 0; rank < ranks; ++rank)
      DLC_TRY(loadRank(file, rank, wanted, all.emplace_back()));
    return all;
  });
}

} // namespace dlc::runtime
