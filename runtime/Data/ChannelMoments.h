// Mean and deviation of each channel of all images: what `normalise` of a list of transforms takes.
#ifndef DLC_RUNTIME_DATA_CHANNELMOMENTS_H
#define DLC_RUNTIME_DATA_CHANNELMOMENTS_H

#include "runtime/Data/DatasetImages.h"
#include "runtime/Data/SampleWalk.h"

namespace dlc::runtime {

/// Of all pixels of a channel alike, whatever the sizes of images; bytes count from 0 to 1. The
/// deviation is that of the pixels themselves: its square is their mean square distance.
struct ChannelMoments {
  uint64_t images = 0, pixels = 0;
  std::vector<double> mean = {}, deviation = {};

  /// "normalise:mean=0.485/0.456/0.406:std=0.229/0.224/0.225", to six digits. Empty where a channel
  /// is the same number everywhere.
  std::string normaliseText() const;
};

/// Over all images of `images`, behind `list` as epoch 0 of a training with `seed` applies it. Sums
/// are f64, and the bits the same for any number of threads. Fails with the first image, by number,
/// that cannot be read.
Result<ChannelMoments> channelMoments(const DatasetImages &images, const TransformList &list,
                                      uint64_t seed, unsigned threads,
                                      std::function<void(uint64_t done)> progress = {});

} // namespace dlc::runtime

#endif
