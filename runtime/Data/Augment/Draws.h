// What is drawn for a sample: a function of seed, epoch, the sample's number in the dataset and the
// transform's in its list. So the number of threads and ranks, prefetching and a restart in
// mid-epoch do not change it.
#ifndef DLC_RUNTIME_DATA_AUGMENT_DRAWS_H
#define DLC_RUNTIME_DATA_AUGMENT_DRAWS_H

#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Philox.h"

#include <cstddef>

namespace dlc::runtime {

class SampleDraws {
public:
  SampleDraws(uint64_t seed, uint32_t epoch, uint32_t sample)
      : seed(seed), epoch(epoch), sample(sample), name(hashName("augment")) {}

  /// Words number 4 * `turn` and on of a transform.
  PhiloxWords of(size_t transform, uint32_t turn = 0) const {
    return philox(seed, {sample, static_cast<uint32_t>(transform + 1) | turn << 16, epoch, name});
  }
  /// The words of crops and mirror images, of which a list has one each, wherever they stand in it.
  PhiloxWords ofMoves() const { return philox(seed, {sample, 0, epoch, name}); }

private:
  uint64_t seed;
  uint32_t epoch, sample, name;
};

/// What is drawn for a batch: a function of seed, epoch and the batch's number in the epoch, among
/// those of all ranks.
class BatchDraws {
public:
  BatchDraws(uint64_t seed, uint32_t epoch, uint64_t batch)
      : seed(seed), epoch(epoch), batch(static_cast<uint32_t>(batch)), name(hashName("mix")) {}

  /// Words number 4 * `turn` and on.
  PhiloxWords of(uint32_t turn) const { return philox(seed, {batch, turn, epoch, name}); }

private:
  uint64_t seed;
  uint32_t epoch, batch, name;
};

/// From 0 to `count` - 1: the upper half of the product, up to a bias of count / 2^32.
inline int64_t drawWhole(uint32_t random, uint64_t count) {
  return static_cast<int64_t>((random * count) >> 32);
}

/// From `least` up to `most`.
inline double drawReal(uint32_t random, double least, double most) {
  return least + (most - least) * (random * 0x1p-32);
}

} // namespace dlc::runtime

#endif
