// The thread behind a checkpoint.
#include "runtime/Training/CheckpointWriter.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"

#include <utility>

namespace dlc::runtime {

CheckpointWriter::~CheckpointWriter() { wait(); }

void CheckpointWriter::prepare(const State &state, unsigned ranks) {
  wait();
  image = {}; // the memory of both is not needed
  image.reserve(state, ranks);
}

Status CheckpointWriter::begin(const State &state, const CarriedStates &all,
                               const CheckpointFiles &files, Metadata metadata, uint64_t step,
                               Timeline *timeline) {
  Status taken;
  {
    const TimedScope scope(timeline, SpanKind::Checkpoint);
    taken = image.take(state, all, metadata);
  }
  if (!taken.ok() && taken.code() != StatusCode::OutOfMemory)
    return taken;
  outcome = {.step = step, .bestIsLost = files.isBest};
  // What is not finite is found before any file comes or goes.
  auto writeBy = [this, files, step](const auto &check, const auto &write) {
    outcome->status = guarded([&]() -> Status {
      DLC_TRY_ASSIGN(notFinite, check());
      outcome->notFinite = std::move(notFinite);
      return outcome->notFinite.empty() ? writeFiles(files, step, write, outcome->bestIsLost)
                                        : Status();
    });
  };
  if (!taken.ok()) {
    writeBy([&] { return findNotFinite(state, all); },
            [&](const std::string &path) { return saveVariablesOf(state, all, path, metadata); });
    return {};
  }
  auto write = [this, writeBy, timeline] {
    const TimedScope scope(timeline, SpanKind::WriteCheckpoint);
    writeBy([this] { return Result<std::string>(image.check()); },
            [this](const std::string &path) { return image.write(path); });
    written = true;
  };
  written = false;
  Status started = guarded([&] {
    thread = startThread([write] {
      // Threads of a step wait for each other: one that shared its processor would hold up all.
      stepBack();
      write();
    });
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
