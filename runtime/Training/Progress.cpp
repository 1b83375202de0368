// Numbers to and from metadata.
#include "runtime/Training/Progress.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <charconv>

namespace dlc::runtime {

Metadata toMetadata(const TrainingProgress &progress) {
  return {{"format", "dlc"},
          {"seed", std::to_string(progress.seed)},
          {"step", std::to_string(progress.step)},
          {"epoch", std::to_string(progress.epoch)},
          {"position", std::to_string(progress.position)}};
}

static Status readNumber(const Metadata &metadata, const char *key, uint64_t &out) {
  auto it = metadata.find(key);
  if (it == metadata.end())
    return damaged("no '", key, "' in the metadata: not written by a training run");
  const std::string &text = it->second;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size())
    return damaged("'", key, "' in the metadata is no whole number");
  return {};
}

Result<TrainingProgress> progressFrom(const Metadata &metadata) {
  TrainingProgress progress;
  DLC_TRY(readNumber(metadata, "seed", progress.seed));
  DLC_TRY(readNumber(metadata, "step", progress.step));
  DLC_TRY(readNumber(metadata, "epoch", progress.epoch));
  DLC_TRY(readNumber(metadata, "position", progress.position));
  // An epoch has at least one batch; the order of samples takes 32 bits of its number.
  const uint64_t most = std::min<uint64_t>(progress.step, UINT32_MAX);
  // Among fewer ranks than before, an epoch has more batches than it had steps so far.
  const bool resized = metadata.contains("ranks");
  if (progress.epoch > most || (!resized && progress.position > progress.step - progress.epoch))
    return damaged("the metadata claims ", progress.epoch, " epochs and ", progress.position,
                   " batches after ", progress.step, " steps");
  return progress;
}

} // namespace dlc::runtime
