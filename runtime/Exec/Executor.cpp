// Preparing and walking records.
#include "runtime/Exec/Executor.h"
#include "runtime/Core/Support.h"

#include <algorithm>

namespace dlc::runtime {

Result<std::unique_ptr<Executor>> Executor::create(State &state, const EntryInfo &entry,
                                                   const Spaces &spaces,
                                                   const std::vector<bool> *needed) {
  DLC_TRY_ASSIGN(queue, state.device()->createQueue(state.module(), entry));
  std::unique_ptr<Executor> executor(new Executor(state, entry, std::move(queue)));
  executor->prepare(spaces, needed);
  return executor;
}

/// Kernels take all buffers as void *; those that are read only are never written through it, which
/// the loader's check of access and space ensures as far as a plan can.
static void *addressOf(const dlc_argument &argument, const Spaces &spaces) {
  switch (argument.space) {
  case DLC_SPACE_ARENA:
    return spaces.arena + argument.offset;
  case DLC_SPACE_STATE:
    return spaces.state + argument.offset;
  case DLC_SPACE_CONSTANT:
    return const_cast<std::byte *>(spaces.constants + argument.offset);
  case DLC_SPACE_SCALARS:
    return const_cast<std::byte *>(spaces.scalars + argument.offset);
  default:
    return nullptr;
  }
}

void Executor::prepare(const Spaces &spaces, const std::vector<bool> *needed) {
  arena = spaces.arena;
  inputs.resize(entry.inputs.size());
  for (const ValueInfo &output : entry.outputs)
    if (output.isFetched())
      accumulators.push_back({static_cast<std::byte *>(addressOf(output.location, spaces)),
                              output.type.logicalBytes()});
  inputUses.resize(entry.inputs.size());
  std::vector<size_t> firstBuffer;
  for (uint32_t i = 0; i < entry.records.count; ++i) {
    const dlc_record &record = plan.records[entry.records.first + i];
    firstBuffer.push_back(buffers.size());
    for (uint32_t a = 0; a < record.arguments.count; ++a) {
      const dlc_argument &argument = plan.arguments[record.arguments.first + a];
      if (argument.space == DLC_SPACE_INPUT)
        inputUses[argument.index].push_back({buffers.size(), argument.offset});
      buffers.push_back(addressOf(argument, spaces));
    }
  }
  for (uint32_t i = 0; i < entry.records.count; ++i) {
    const dlc_record &record = plan.records[entry.records.first + i];
    dlc_args args = {sizeof(dlc_args), record.arguments.count, buffers.data() + firstBuffer[i],
                     plan.immediates.data() + record.immediates.first, nullptr};
    launches.push_back({entry.records.first + i, record.index, record.tasks, args});
    const bool refused = record.condition != DLC_ALWAYS &&
                         queue->accepts(record.call) != (record.condition == DLC_IF_ACCEPTED);
    skipped.push_back(refused || (needed && !(*needed)[i]));
  }
}

void Executor::setInput(size_t index, const std::byte *address) {
  inputs[index] = address;
  for (const InputUse &use : inputUses[index])
    buffers[use.slot] = const_cast<std::byte *>(address) + use.offset;
}

Status Executor::issue(const dlc_record &record, const Launch &launch) {
  auto buffer = [&](unsigned i) { return static_cast<std::byte *>(launch.args.buffers[i]); };
  switch (record.kind) {
  case DLC_RECORD_LAUNCH:
    return record.tasks == 0 ? Status() : queue->launch(record.stream, launch);
  case DLC_RECORD_LIBRARY:
    return queue->library(record.stream, launch);
  case DLC_RECORD_COPY:
    return queue->copy(record.stream, buffer(0), buffer(1),
                       plan.arguments[record.arguments.first].bytes);
  case DLC_RECORD_FILL:
    return queue->fill(record.stream, buffer(0), static_cast<uint8_t>(record.value),
                       plan.arguments[record.arguments.first].bytes);
  case DLC_RECORD_COLLECTIVE: {
    const dlc_argument &argument = plan.arguments[record.arguments.first];
    return queue->sum(record.stream, {launch.record, static_cast<dlc_collective>(record.index),
                                      record.value, static_cast<dlc_dtype>(argument.dtype),
                                      buffer(0), argument.bytes, state.residual(launch.record)});
  }
  case DLC_RECORD_RECORD_EVENT:
    return queue->recordEvent(record.stream, record.index);
  case DLC_RECORD_WAIT_EVENT:
    return queue->waitEvent(record.stream, record.index);
  default:
    // The device refused such a plan when the queue was made.
    return unsupported("a record of kind ", record.kind);
  }
}

/// Sums that run beside other commands are noted by who waits for them.
void Executor::note(uint32_t number, int64_t begin, int64_t end) {
  switch (plan.records[number].kind) {
  case DLC_RECORD_RECORD_EVENT:
    return;
  case DLC_RECORD_WAIT_EVENT:
    return timeline->add(SpanKind::Wait, number, begin, end);
  case DLC_RECORD_COLLECTIVE:
    if (!queue->settles())
      timeline->add(SpanKind::Collective, number, begin, end);
    return;
  default:
    return timeline->add(SpanKind::Kernel, number, begin, end);
  }
}

Status Executor::walk(Trace *trace, const RecordDone &done) {
  const bool timed = trace || timeline, waits = trace || (timeline && !queue->settles());
  if (trace)
    trace->seconds.assign(entry.records.count, 0);
  for (uint32_t i = 0; i < entry.records.count; ++i) {
    if (skipped[i])
      continue;
    const uint32_t number = entry.records.first + i;
    int64_t begin = timed ? steadyNanoseconds() : 0;
    DLC_TRY(issue(plan.records[number], launches[i]));
    if (!timed)
      continue;
    std::optional<double> measured;
    if (waits) {
      DLC_TRY_ASSIGN(found, queue->synchronize());
      measured = found;
    }
    const int64_t end = steadyNanoseconds();
    if (measured)
      begin = std::max(begin, end - static_cast<int64_t>(*measured * 1e9));
    if (timeline)
      note(number, begin, end);
    if (trace) {
      trace->seconds[i] = measured.value_or(static_cast<double>(end - begin) * 1e-9);
      DLC_TRY(done(number));
    }
  }
  return {};
}

Status Executor::run(unsigned slot, Trace *trace, const RecordDone &done) {
  const auto number = static_cast<uint32_t>(&entry - plan.entries.data());
  const TimedScope scope(timeline, SpanKind::Run, number);
  DLC_TRY_ASSIGN(wanted, queue->begin({arena, inputs, trace || (timeline && !queue->settles()),
                                       accumulators, slot, timeline}));
  // Whatever happens in between, the run ends: the device is held until then.
  Status walked = wanted ? guarded([&] { return walk(trace, done); }) : Status();
  Status ended = queue->end();
  return walked.ok() ? std::move(ended) : std::move(walked);
}

} // namespace dlc::runtime
