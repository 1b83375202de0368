// Values of images changed, floats of which 0 to 1 is black to white: planes of `pixels` numbers
// one behind the other.
#ifndef DLC_RUNTIME_DATA_AUGMENT_COLOURS_H
#define DLC_RUNTIME_DATA_AUGMENT_COLOURS_H

#include "runtime/Data/Augment/Draws.h"
#include "runtime/Data/Augment/Transforms.h"

#include <span>

namespace dlc::runtime {

/// torchvision's. Factors of 1 and a turn of 0 leave all as it is; images of another number of
/// planes than three have no colours.
void changeBrightness(std::span<float> image, float factor);
void changeContrast(std::span<float> image, uint64_t planes, float factor);
void changeSaturation(std::span<float> image, uint64_t planes, float factor);
/// By `turn` of a whole one.
void changeHue(std::span<float> image, uint64_t planes, float turn);

/// All of them, in an order by chance.
void jitter(const Transform &transform, size_t number, const SampleDraws &draws, uint64_t planes,
            std::span<float> image);

/// Adds the main axes of the colours of ImageNet's pixels (Krizhevsky et al. 2012, section 4.1),
/// each as often as its eigenvalue times a normal number; of three planes.
void addPrincipalNoise(const double (&normal)[3], std::span<float> image);
void addPrincipalNoise(const Transform &transform, size_t number, const SampleDraws &draws,
                       std::span<float> image);

void normalise(const Transform &transform, uint64_t planes, std::span<float> image);

} // namespace dlc::runtime

#endif
