// The thread behind a checkpoint.
#include "runtime/Training/CheckpointWriter.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"

#include <utility>

namespace dlc::runtime {

CheckpointWriter::~CheckpointWriter() { wait(); }

Status CheckpointWriter::begin(const State &state, const CarriedStates &all,
                               const std::string &path, Metadata metadata, uint64_t step,
                               Timeline *timeline) {
  Status taken;
  {
    const TimedScope scope(timeline, SpanKind::Checkpoint);
    taken = image.take(state, all, metadata);
  }
  if (!taken.ok() && taken.code() != StatusCode::OutOfMemory)
    return taken;
  outcome = {step, {}};
  if (!taken.ok()) {
    outcome->status = saveVariablesOf(state, all, path, std::move(metadata));
    return {};
  }
  auto write = [this, path, timeline] {
    const TimedScope scope(timeline, SpanKind::WriteCheckpoint);
    outcome->status = image.write(path);
    written = true;
  };
  written = false;
  Status started = guarded([&] {
    thread = startThread(write);
    return Status();
  });
  if (!started.ok())
    write();
  return {};
}

void CheckpointWriter::wait() {
  if (thread.joinable())
    thread.join();
}

std::optional<CheckpointWriter::Outcome> CheckpointWriter::poll() {
  if (thread.joinable() && !written)
    return std::nullopt;
  wait();
  return std::exchange(outcome, std::nullopt);
}

std::optional<CheckpointWriter::Outcome> CheckpointWriter::finish() {
  wait();
  image = {};
  return poll();
}

} // namespace dlc::runtime
