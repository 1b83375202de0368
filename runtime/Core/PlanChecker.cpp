// Checks of the records: after them an executor may walk the plan without a look at any bound.
//
// Records run in table order on the CPU. That order is a valid one if each record that waits for an
// event stands after one that records it, which is checked here.
#include "runtime/Core/LibraryCall.h"
#include "runtime/Core/PlanDecoder.h"
#include "runtime/Core/Support.h"

#include <algorithm>

namespace dlc::runtime {

static std::string_view spaceName(uint32_t space) {
  static constexpr std::string_view names[] = {"?",     "arena",     "state",
                                               "input", "constants", "scalars block"};
  return space < std::size(names) ? names[space] : names[0];
}

/// Bytes of the space that a buffer lies in.
static uint64_t spaceBytes(const Plan &plan, const EntryInfo &entry, const dlc_argument &argument) {
  switch (argument.space) {
  case DLC_SPACE_ARENA:
    return entry.arenaBytes;
  case DLC_SPACE_STATE:
    return plan.stateBytes;
  case DLC_SPACE_INPUT:
    return entry.inputs[argument.index].type.storageBytes();
  case DLC_SPACE_CONSTANT:
    return plan.constants.size();
  default:
    return plan.scalarsBytes;
  }
}

Status checkArgument(const Plan &plan, const EntryInfo &entry, const dlc_argument &argument) {
  if (argument.space < DLC_SPACE_ARENA || argument.space > DLC_SPACE_SCALARS)
    return damaged("space ", argument.space, " is unknown");
  if (argument.space == DLC_SPACE_INPUT ? argument.index >= entry.inputs.size()
                                        : argument.index != 0)
    return damaged("index ", argument.index, " in the ", spaceName(argument.space),
                   ", the entry has ", entry.inputs.size(), " inputs");
  if (argument.access < DLC_READ || argument.access > (DLC_READ | DLC_WRITE))
    return damaged("access ", argument.access, " is unknown");
  const bool writable = argument.space == DLC_SPACE_ARENA || argument.space == DLC_SPACE_STATE;
  if (!writable && (argument.access & DLC_WRITE))
    return damaged("writes to the ", spaceName(argument.space), ", which is read-only");
  const uint64_t alignment = argument.space == DLC_SPACE_SCALARS
                                 ? std::max<uint64_t>(sizeof(float), dtypeSize(argument.dtype))
                                 : DLC_ALIGNMENT;
  if (argument.offset % alignment != 0)
    return damaged("byte ", argument.offset, " of the ", spaceName(argument.space),
                   " is not a multiple of ", alignment);
  const uint64_t limit = spaceBytes(plan, entry, argument);
  if (!fits(argument.offset, argument.bytes, limit))
    return damaged("bytes [", argument.offset, ", +", argument.bytes, ") end beyond the ",
                   spaceName(argument.space), ", which has ", limit);
  const uint64_t element = argument.dtype == 0 ? 1 : dtypeSize(argument.dtype);
  if (element == 0 || argument.bytes % element != 0)
    return damaged(argument.bytes, " bytes of dtype ", argument.dtype,
                   ", which is unknown or does not divide them");
  return {};
}

namespace {

/// Checks one entry's records in table order.
class RecordChecker {
public:
  RecordChecker(const Plan &plan, const EntryInfo &entry)
      : plan(plan), entry(entry), recorded(entry.events, false) {}

  Status check(const dlc_record &record);

private:
  Status checkLaunch(const dlc_record &record);
  Status checkLibrary(const dlc_record &record);
  Status checkCopy(const dlc_record &record);
  Status checkFill(const dlc_record &record);
  Status checkEvent(const dlc_record &record);
  Status checkCollective(const dlc_record &record);
  Status checkOperands(const dlc_record &record, uint32_t arguments, uint32_t immediates);
  Status checkArguments(const dlc_record &record);
  Status checkCondition(const dlc_record &record);

  const Plan &plan;
  const EntryInfo &entry;
  std::vector<bool> recorded;
};

Status RecordChecker::checkOperands(const dlc_record &record, uint32_t arguments,
                                    uint32_t immediates) {
  if (record.arguments.count != arguments)
    return damaged("has ", record.arguments.count, " arguments, expected ", arguments);
  if (record.immediates.count != immediates)
    return damaged("has ", record.immediates.count, " immediates, expected ", immediates);
  return checkArguments(record);
}

Status RecordChecker::checkArguments(const dlc_record &record) {
  for (uint32_t i = 0; i < record.arguments.count; ++i)
    DLC_TRY_IN(checkArgument(plan, entry, plan.arguments[record.arguments.first + i]), "argument ",
               i);
  return {};
}

Status RecordChecker::checkLaunch(const dlc_record &record) {
  if (record.index >= plan.kernels.size())
    return damaged("launches kernel ", record.index, " of ", plan.kernels.size());
  const KernelInfo &kernel = plan.kernels[record.index];
  constexpr uint32_t mostTasks = INT32_MAX; // of a grid on CUDA; a thread pool's counter has more
  if (record.tasks > mostTasks)
    return damaged("launches ", record.tasks, " tasks, at most ", mostTasks);
  return checkOperands(record, kernel.arguments, kernel.immediates);
}

Status RecordChecker::checkLibrary(const dlc_record &record) {
  if (record.index >= plan.calls.size())
    return damaged("makes library call ", record.index, " of ", plan.calls.size());
  const std::vector<CallArgument> expected = callArguments(plan.calls[record.index]);
  DLC_TRY(checkOperands(record, static_cast<uint32_t>(expected.size()), 0));
  for (uint32_t i = 0; i < record.arguments.count; ++i) {
    const dlc_argument &argument = plan.arguments[record.arguments.first + i];
    if ((argument.access & expected[i].access) != expected[i].access)
      return damaged("argument ", i, ", the call's ", expected[i].name, ", must be ",
                     expected[i].access == DLC_READ ? "read" : "written");
    if (argument.bytes < expected[i].bytes)
      return damaged("argument ", i, ", the call's ", expected[i].name, ", has ", argument.bytes,
                     " bytes, expected ", expected[i].bytes);
  }
  return {};
}

Status RecordChecker::checkCopy(const dlc_record &record) {
  DLC_TRY(checkOperands(record, 2, 0));
  const dlc_argument &to = plan.arguments[record.arguments.first];
  const dlc_argument &from = plan.arguments[record.arguments.first + 1];
  if (to.access != DLC_WRITE || from.access != DLC_READ)
    return damaged("a copy must write its first argument and read its second");
  if (to.bytes != from.bytes)
    return damaged("copies ", from.bytes, " bytes to a buffer of ", to.bytes);
  if (to.space == from.space && to.offset < from.offset + from.bytes &&
      from.offset < to.offset + to.bytes)
    return damaged("copies between buffers that overlap");
  return {};
}

Status RecordChecker::checkFill(const dlc_record &record) {
  DLC_TRY(checkOperands(record, 1, 0));
  if (plan.arguments[record.arguments.first].access != DLC_WRITE)
    return damaged("a fill must write its argument");
  if (record.value > 0xff)
    return damaged("fills with ", record.value, ", expected a byte");
  return {};
}

Status RecordChecker::checkEvent(const dlc_record &record) {
  DLC_TRY(checkOperands(record, 0, 0));
  if (record.index >= entry.events)
    return damaged("event ", record.index, " of ", entry.events);
  if (record.kind == DLC_RECORD_RECORD_EVENT)
    recorded[record.index] = true;
  else if (!recorded[record.index])
    return damaged("waits for event ", record.index, ", which no earlier record records");
  return {};
}

Status RecordChecker::checkCollective(const dlc_record &record) {
  if (!plan.dataParallel)
    return damaged("is a collective, in a module that was not built for several ranks");
  if (record.index < DLC_COLLECTIVE_SUM || record.index > DLC_COLLECTIVE_SUM_TOP_K)
    return damaged("collective ", record.index, " is unknown");
  if (record.value >= DLC_CHANNELS)
    return damaged("channel ", record.value, " of ", DLC_CHANNELS);
  DLC_TRY(checkOperands(record, 1, 0));
  const dlc_argument &buffer = plan.arguments[record.arguments.first];
  if (buffer.access != (DLC_READ | DLC_WRITE))
    return damaged("a collective must read and write its argument");
  if (buffer.dtype < DLC_F32 || buffer.dtype > DLC_F16)
    return damaged("a collective adds up floats, found elements of type ", buffer.dtype);
  if (record.index != DLC_COLLECTIVE_SUM && buffer.dtype != DLC_F32)
    return damaged("a compressed sum is of f32, found elements of type ", buffer.dtype);
  return {};
}

Status RecordChecker::checkCondition(const dlc_record &record) {
  if (record.condition > DLC_IF_REFUSED)
    return damaged("condition ", record.condition, " is unknown");
  if (record.condition == DLC_ALWAYS)
    return record.call == 0 ? Status() : damaged("has no condition, but one's call ", record.call);
  if (record.call >= plan.calls.size())
    return damaged("depends on library call ", record.call, " of ", plan.calls.size());
  const bool isCall = record.kind == DLC_RECORD_LIBRARY;
  if (!isCall && record.kind != DLC_RECORD_LAUNCH)
    return damaged("kind ", record.kind, " has condition ", record.condition,
                   ", which launches and library calls have");
  if (isCall && (record.condition != DLC_IF_ACCEPTED || record.call != record.index))
    return damaged("library call ", record.index, " has condition ", record.condition, " of call ",
                   record.call);
  return {};
}

Status RecordChecker::check(const dlc_record &record) {
  if (record.stream >= entry.streams)
    return damaged("stream ", record.stream, " of ", entry.streams);
  if (!fits(record.arguments.first, record.arguments.count, plan.arguments.size()))
    return damaged("its arguments end beyond the table of ", plan.arguments.size());
  if (!fits(record.immediates.first, record.immediates.count, plan.immediates.size()))
    return damaged("its immediates end beyond the table of ", plan.immediates.size());
  DLC_TRY(checkCondition(record));
  switch (record.kind) {
  case DLC_RECORD_LAUNCH:
    return checkLaunch(record);
  case DLC_RECORD_COPY:
    return checkCopy(record);
  case DLC_RECORD_FILL:
    return checkFill(record);
  case DLC_RECORD_RECORD_EVENT:
  case DLC_RECORD_WAIT_EVENT:
    return checkEvent(record);
  case DLC_RECORD_LIBRARY:
    return checkLibrary(record);
  case DLC_RECORD_COLLECTIVE:
    return checkCollective(record);
  default:
    return damaged("kind ", record.kind, " is unknown");
  }
}

} // namespace

Status checkRecords(const Plan &plan) {
  for (const EntryInfo &entry : plan.entries) {
    if (entry.arenaBytes > largestSpace)
      return damaged("entry '", entry.name, "': an arena of ", entry.arenaBytes, " bytes");
    RecordChecker checker(plan, entry);
    for (uint32_t i = 0; i < entry.records.count; ++i) {
      const uint32_t number = entry.records.first + i;
      DLC_TRY_IN(checker.check(plan.records[number]), "entry '", entry.name, "', record ", number,
                 " '", plan.recordNames[number], "'");
    }
  }
  return {};
}

} // namespace dlc::runtime
