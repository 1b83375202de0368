// What is seen of a step, and how it is said.
#include "runtime/Training/FiniteWatch.h"
#include "runtime/Collectives/Transport.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"

#include <algorithm>

namespace dlc::runtime {

/// The number of the first element that is not finite; none where elements are no floats.
static std::optional<uint64_t> notFiniteIn(uint32_t dtype, std::span<const std::byte> bytes) {
  const uint64_t size = dtypeSize(dtype);
  if (size == 0 || isWhole(dtype))
    return {};
  return findNotFinite(static_cast<dlc_dtype>(dtype), bytes.first(bytes.size() / size * size));
}

static double elementAt(uint32_t dtype, std::span<const std::byte> bytes, uint64_t element) {
  return loadElement(static_cast<dlc_dtype>(dtype), &bytes[element * dtypeSize(dtype)]);
}

void FiniteWatch::lookAt(const EntryInfo &entry, size_t index, std::span<const std::byte> input) {
  const dlc_dtype dtype = entry.inputs[index].type.dtype;
  const auto number = static_cast<uint32_t>(index);
  if (const auto element = notFiniteIn(dtype, input); element && !usual.contains({0, number}))
    found.push_back({0, number, *element, elementAt(dtype, input, *element)});
}

Trace *FiniteWatch::watch(const Plan &plan) {
  trace.onWrite = [this, &plan](uint32_t record, const dlc_argument &argument,
                                std::span<std::byte> written) {
    const auto index = static_cast<uint32_t>(&argument - plan.arguments.data()) -
                       plan.records[record].arguments.first;
    if (const auto element = notFiniteIn(argument.dtype, written);
        element && !usual.contains({record + 1, index}))
      found.push_back({record + 1, index, *element, elementAt(argument.dtype, written, *element)});
    return false;
  };
  return &trace;
}

void FiniteWatch::settle() {
  for (const Place &place : found)
    usual.emplace(place.record, place.index);
}

static std::string numbered(uint64_t element, uint64_t count, dlc_dtype dtype, double value) {
  return concat("element ", element, " of ", count, " ", dtypeName(dtype), " is ",
                numberText(value));
}

std::string FiniteWatch::describe(const Plan &plan, Transport &ranks) const {
  constexpr size_t fields = 5;
  const unsigned count = ranks.ranks();
  std::vector<double> all(count * fields);
  if (!found.empty()) {
    const Place &first = found.front();
    double *own = &all[ranks.rank() * fields];
    own[0] = 1;
    own[1] = first.record;
    own[2] = first.index;
    own[3] = static_cast<double>(first.element);
    own[4] = first.value;
  }
  if (count > 1 && !ranks.sum(all).ok())
    return {};
  std::optional<unsigned> rank;
  for (unsigned i = 0; i < count; ++i)
    if (all[i * fields] != 0 && (!rank || all[i * fields + 1] < all[*rank * fields + 1]))
      rank = i;
  if (!rank)
    return {};
  const double *first = &all[*rank * fields];
  const auto record = static_cast<uint32_t>(first[1]), index = static_cast<uint32_t>(first[2]);
  const auto element = static_cast<uint64_t>(first[3]);
  const std::string where = count == 1 ? std::string() : concat(" on rank ", *rank);
  if (record == 0) {
    const ValueInfo &input = plan.entries[plan.steps[0].entry].inputs[index];
    return concat("the first not finite", where, ": input '", input.name, "', ",
                  numbered(element, input.type.elementCount(), input.type.dtype, first[4]));
  }
  const dlc_record &at = plan.records[record - 1];
  const dlc_argument &argument = plan.arguments[at.arguments.first + index];
  const auto dtype = static_cast<dlc_dtype>(argument.dtype);
  std::string name;
  for (const EntryInfo &entry : plan.entries)
    if (fits(record - 1 - entry.records.first, 1, entry.records.count))
      for (const ValueInfo &output : entry.outputs)
        if (output.location.space == argument.space && output.location.offset == argument.offset)
          name = concat("'", output.name, "' of ");
  return concat("the first not finite", where, ": what ", name, "'", plan.recordNames[record - 1],
                "' writes, ",
                numbered(element, argument.bytes / dtypeSize(dtype), dtype, first[4]));
}

} // namespace dlc::runtime
