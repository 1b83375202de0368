// The samples of a batch, and their sheet.
#include "runtime/Training/FirstPictures.h"
#include "runtime/Data/Pictures/Plugin.h"
#include "runtime/Data/Sheet.h"
#include "runtime/Data/Shuffle.h"

#include <algorithm>
#include <numeric>

namespace dlc::runtime {

Status addFirstPictures(EventFile &events, const RunOptions &options, const RunBeginning &begin,
                        const TrainingProgress &progress, unsigned ranks) {
  const EntryInfo *entry = begin.state->module()->plan().findEntry(DLC_ENTRY_TRAIN);
  if (!begin.train || !entry || begin.train->isSequence())
    return {};
  const Result<DatasetImages> images = imagesOf(begin.train, entry);
  if (!images.ok())
    return {};
  // As the trainer walks over them.
  const bool anew = options.overfitBatches == 0;
  const uint64_t seed = anew ? progress.seed : 0;
  const auto epoch = anew ? static_cast<uint32_t>(progress.epoch) : 0;
  const auto size = static_cast<uint32_t>(begin.train->size());
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  if (anew)
    order = shuffledOrder(size, seed, epoch);
  constexpr uint64_t most = 64;
  const uint64_t from = std::min<uint64_t>(progress.position * ranks * entry->batch, size);
  const uint64_t count = std::min({entry->batch, most, size - from});
  if (count == 0)
    return {};
  DLC_TRY_ASSIGN(encode, openPictureEncoder());
  DLC_TRY_ASSIGN(sheet, drawSheet(*images, begin.augmentation.train,
                                  std::span(order).subspan(from, count), seed, epoch));
  DLC_TRY_ASSIGN(png, encode(sheet.picture, PictureFormat::Png, /*quality=*/100));
  events.addPicture("pictures", sheet.picture, png, progress.step);
  return {};
}

} // namespace dlc::runtime
