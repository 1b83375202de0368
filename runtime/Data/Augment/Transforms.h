// What happens to images on their way into a batch, as `augment` says it: a list for training and
// one for evaluation.
//
//   random-resized-crop:224:bicubic,flip,test:resize:256,center-crop:224
//
// Transforms stand in the order in which they are applied, with commas between them, and those of
// batches anywhere; behind `test:`
// stand those of evaluation. Without it evaluation has those of training that draw nothing. "@FILE"
// is a file with them, a line for each; what follows a # is a comment.
#ifndef DLC_RUNTIME_DATA_AUGMENT_TRANSFORMS_H
#define DLC_RUNTIME_DATA_AUGMENT_TRANSFORMS_H

#include "dlc/data.h"
#include "runtime/Data/Augment/Resample.h"

#include <string>
#include <string_view>
#include <vector>

namespace dlc::runtime {

enum class TransformKind : uint8_t {
  /// To `height` x `width`, or by the shorter side to `height` where `width` is 0.
  Resize,
  /// A part by chance, of the whole's `area` and with an `aspect` of width to height, made to
  /// `height` x `width`.
  RandomResizedCrop,
  /// The middle, with zeros around what is smaller.
  CenterCrop,
  /// Its own size, out of itself with `height` rows and columns of zeros on each side.
  Crop,
  /// Half of them left for right.
  Flip,
  /// About the middle, by up to `amount` degrees to either side.
  Rotate,
  ColourJitter,
  /// Along the main axes of ImageNet's colours, by a normal number of deviation `amount`.
  Pca,
  /// A square of `height` x `height` somewhere becomes zeros.
  Cutout,
  /// (x - mean) / deviation.
  Normalise,
  /// Samples of a batch, and their labels, by a share of distribution Beta(amount, amount): of all
  /// of them, or of a box of their images.
  Mixup,
  CutMix
};

struct Range {
  double least, most;
};

struct Transform {
  TransformKind kind;
  /// As it was written.
  std::string text = {};
  uint32_t height = 0, width = 0;
  Filter filter = Filter::Bilinear;
  Range area = {0.08, 1}, aspect = {3.0 / 4, 4.0 / 3};
  double amount = 0;
  /// By how much these are changed at most: factors from 1 - b to 1 + b, and turns of the hue.
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
  /// For each plane, or one for all of them.
  std::vector<float> mean = {}, deviation = {};

  /// Whether it is another one for each sample.
  bool draws() const;
  /// Whether it makes images of any size to some that are all alike in it.
  bool setsSize() const;
  /// Whether it is for batches, not for each sample.
  bool mixes() const;
};

struct TransformList {
  std::vector<Transform> all = {};
  /// What happens to a batch behind all of these: one of them by chance.
  std::vector<Transform> mixes = {};
  /// For messages: what it is used for.
  Split split = Split::Train;

  bool setsSize() const;
};

struct Augmentation {
  /// The same for all spellings with other spaces and line breaks, and from a file.
  std::string text = {};
  TransformList train = {}, test = {.all = {}, .split = Split::Test};
  /// Whether `test:` was given.
  bool hasTest = false;
};

/// Fails with Io for a file that cannot be read, and with InvalidArgument, naming what was
/// expected, for what is no such list. An empty text has no transforms.
Result<Augmentation> parseAugmentation(std::string_view text);

} // namespace dlc::runtime

#endif
