// Moments of images, merged in the order of their samples.
#include "runtime/Data/ChannelMoments.h"
#include "runtime/Core/Support.h"

#include <cmath>

namespace dlc::runtime {
namespace {

/// Of some pixels of a channel: how many, their mean, and the sum of squared distances from it.
struct Moments {
  double count = 0, mean = 0, squares = 0;

  /// Chan's formula.
  void add(const Moments &other) {
    const double all = count + other.count, distance = other.mean - mean;
    if (all == 0)
      return;
    mean += distance * (other.count / all);
    squares += other.squares + distance * distance * (count * other.count / all);
    count = all;
  }
};

/// Twice over them, so that nothing cancels.
Moments momentsOf(std::span<const float> pixels) {
  Moments moments{double(pixels.size())};
  for (const float pixel : pixels)
    moments.mean += pixel;
  moments.mean /= std::max(moments.count, 1.0);
  for (const float pixel : pixels)
    moments.squares += (pixel - moments.mean) * (pixel - moments.mean);
  return moments;
}

std::string listOf(const std::vector<double> &numbers) {
  std::string text;
  for (const double number : numbers)
    text += concat(text.empty() ? "" : "/", number);
  return text;
}

} // namespace

std::string ChannelMoments::normaliseText() const {
  // The least that `normalise` takes.
  constexpr double least = 1e-6;
  for (const double each : deviation)
    if (!(each >= least))
      return "";
  return concat("normalise:mean=", listOf(mean), ":std=", listOf(deviation));
}

Result<ChannelMoments> channelMoments(const DatasetImages &images, const TransformList &list,
                                      uint64_t seed, unsigned threads,
                                      std::function<void(uint64_t done)> progress) {
  return guarded([&]() -> Result<ChannelMoments> {
    const SampleWalk walk = {
        .samples = images.dataset->size(), .threads = threads, .progress = std::move(progress)};
    std::vector<std::unique_ptr<FloatImages>> readers;
    for (unsigned thread = 0; thread < walk.mostThreads(); ++thread)
      readers.push_back(std::make_unique<FloatImages>(images));
    std::vector<Moments> blocks(walk.blocks() * images.planes);
    DLC_TRY(walk.run([&](const SampleBlock &block) -> Status {
      FloatImages &reader = *readers[block.thread];
      for (uint64_t sample = block.begin; sample < block.end; ++sample) {
        const auto number = static_cast<uint32_t>(sample);
        DLC_TRY_ASSIGN(image, reader.read(number, list, SampleDraws(seed, /*epoch=*/0, number)));
        const uint64_t pixels = image.size() / images.planes;
        for (uint64_t plane = 0; plane < images.planes; ++plane)
          blocks[block.number * images.planes + plane].add(
              momentsOf(image.subspan(plane * pixels, pixels)));
      }
      return {};
    }));
    ChannelMoments found = {.images = walk.samples};
    for (uint64_t plane = 0; plane < images.planes; ++plane) {
      Moments all;
      for (uint64_t block = 0; block < walk.blocks(); ++block)
        all.add(blocks[block * images.planes + plane]);
      found.pixels = static_cast<uint64_t>(all.count);
      found.mean.push_back(all.mean);
      found.deviation.push_back(std::sqrt(all.squares / std::max(all.count, 1.0)));
    }
    return found;
  });
}

} // namespace dlc::runtime
