// Follows derived variables back through the records that make them, and to those that write them.
#include "runtime/Exec/Preparation.h"

#include <algorithm>

namespace dlc::runtime {
namespace {

/// Bytes of the state or of the arena.
struct Bytes {
  uint32_t space;
  uint64_t begin, end;
  bool overlaps(const Bytes &other) const {
    return space == other.space && begin < other.end && other.begin < end;
  }
};

} // namespace

static Bytes bytesOf(const dlc_argument &argument) {
  return {argument.space, argument.offset, argument.offset + argument.bytes};
}

static Bytes bytesOf(const VariableInfo &variable) {
  return {DLC_SPACE_STATE, variable.offset, variable.offset + variable.bytes};
}

static std::span<const dlc_argument> argumentsOf(const Plan &plan, const dlc_record &record) {
  return std::span(plan.arguments).subspan(record.arguments.first, record.arguments.count);
}

static std::span<const dlc_record> recordsOf(const Plan &plan, const EntryInfo &entry) {
  return std::span(plan.records).subspan(entry.records.first, entry.records.count);
}

std::vector<size_t> derivedVariablesOf(const Plan &plan, const EntryInfo &entry) {
  std::vector<size_t> found;
  for (size_t i = 0; i < plan.variables.size(); ++i) {
    if (plan.variables[i].role != DLC_ROLE_DERIVED)
      continue;
    const Bytes variable = bytesOf(plan.variables[i]);
    auto isTaken = [&](const dlc_argument &at) { return bytesOf(at).overlaps(variable); };
    const auto records = recordsOf(plan, entry);
    if (std::ranges::any_of(entry.outputs,
                            [&](const ValueInfo &output) { return isTaken(output.location); }) ||
        std::ranges::any_of(records, [&](const dlc_record &record) {
          return std::ranges::any_of(argumentsOf(plan, record), isTaken);
        }))
      found.push_back(i);
  }
  return found;
}

/// Which records of `prepare` these variables need; `wanted` becomes all that these write for them
/// and read.
static std::vector<bool> followBack(const Plan &plan, const EntryInfo &prepare,
                                    const std::vector<size_t> &variables,
                                    std::vector<Bytes> &wanted) {
  for (size_t variable : variables)
    wanted.push_back(bytesOf(plan.variables[variable]));
  std::vector<bool> needed(prepare.records.count);
  // A buffer may be written in parts, so an earlier writer of the same bytes is needed, too.
  for (uint32_t i = prepare.records.count; i-- > 0;) {
    const dlc_record &record = plan.records[prepare.records.first + i];
    const auto arguments = argumentsOf(plan, record);
    needed[i] =
        arguments.empty() || std::ranges::any_of(arguments, [&](const dlc_argument &at) {
          return (at.access & DLC_WRITE) && std::ranges::any_of(wanted, [&](const Bytes &bytes) {
                   return bytes.overlaps(bytesOf(at));
                 });
        });
    for (const dlc_argument &at : arguments)
      if (needed[i] && (at.access & DLC_READ))
        wanted.push_back(bytesOf(at));
  }
  return needed;
}

std::vector<bool> recordsThatMake(const Plan &plan, const EntryInfo &prepare,
                                  const std::vector<size_t> &variables) {
  std::vector<Bytes> wanted;
  return followBack(plan, prepare, variables, wanted);
}

std::vector<size_t> derivedVariablesKeptBy(const Plan &plan, const EntryInfo &entry) {
  const EntryInfo *prepare = plan.findEntry(DLC_ENTRY_PREPARE);
  auto writes = [&](const Bytes &bytes) {
    return std::ranges::any_of(recordsOf(plan, entry), [&](const dlc_record &record) {
      return std::ranges::any_of(argumentsOf(plan, record), [&](const dlc_argument &at) {
        return (at.access & DLC_WRITE) && bytesOf(at).overlaps(bytes);
      });
    });
  };
  std::vector<size_t> kept;
  for (size_t i = 0; prepare && i < plan.variables.size(); ++i) {
    if (plan.variables[i].role != DLC_ROLE_DERIVED)
      continue;
    std::vector<Bytes> sources;
    followBack(plan, *prepare, {i}, sources);
    auto isWrittenSource = [&](const Bytes &bytes) {
      return bytes.space == DLC_SPACE_STATE && writes(bytes);
    };
    if (writes(bytesOf(plan.variables[i])) || std::ranges::none_of(sources, isWrittenSource))
      kept.push_back(i);
  }
  return kept;
}

} // namespace dlc::runtime
