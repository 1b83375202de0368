// Samples of a batch mixed with each other, their labels with them: each with the one before it,
// the first with the last.
#ifndef DLC_RUNTIME_DATA_AUGMENT_MIX_H
#define DLC_RUNTIME_DATA_AUGMENT_MIX_H

#include "runtime/Data/Augment/Draws.h"
#include "runtime/Data/Augment/Transforms.h"
#include "runtime/Data/InputMapping.h"
#include "runtime/Data/SampleShape.h"

namespace dlc::runtime {

/// A number of the distribution Beta(alpha, alpha), made of two words.
double drawBeta(double alpha, uint32_t first, uint32_t second);

/// How much of a sample stays in it; and for CutMix the box of its image that is the other's, where
/// all else of it stays.
struct Mixture {
  double share;
  bool pastes = false;
  uint64_t top = 0, bottom = 0, left = 0, right = 0;
};

/// One of `mixes` by chance, of images of a size.
Mixture mixtureOf(std::span<const Transform> mixes, const Sides &sides, const BatchDraws &draws);

/// The size of the images that are mixed. Fails if an input cannot be: numbers of classes, samples
/// along another axis, a batch of one; for CutMix, if there are no images, or of several sizes.
Result<Sides> checkMixes(std::span<const Transform> mixes, const EntryInfo &entry,
                         std::span<const MappedInput> mapping);

/// Mixes the samples of an input, `block`, one behind the other. `room` is memory to use again.
void mixSamples(const Mixture &mixture, const MappedInput &mapped, const ValueInfo &input,
                std::span<std::byte> block, std::vector<std::byte> &room);

} // namespace dlc::runtime

#endif
