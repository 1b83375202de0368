// Protocol buffers that hold a picture and a label: TensorFlow's tf.train.Example and Caffe's
// Datum. What they are given may be any bytes.
#ifndef DLC_RUNTIME_DATA_FORMATS_MESSAGES_H
#define DLC_RUNTIME_DATA_FORMATS_MESSAGES_H

#include "dlc/status.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dlc::runtime {

/// Of a tf.train.Example its features image/encoded and image/class/label.
struct Example {
  /// In the message.
  std::span<const std::byte> picture = {};
  int64_t label = -1;
};

/// Fails with Damaged for what is no tf.train.Example, or has not one value of both.
Result<Example> parseExample(std::span<const std::byte> message);

/// Caffe's.
struct Datum {
  uint64_t channels = 0, height = 0, width = 0;
  /// In the message: pixels, or a picture as its file has it.
  std::span<const std::byte> data = {};
  std::vector<float> floats = {};
  int64_t label = 0;
  bool encoded = false;

  /// Whether it is a picture, which some do not say.
  bool isPicture() const { return encoded || (channels == 0 && height == 0 && width == 0); }
};

/// Fails with Damaged for what is no Datum, and for one of which pixels have not the size that it
/// says.
Result<Datum> parseDatum(std::span<const std::byte> message);

/// The bytes of one without floats; a picture has no extents.
std::string datumMessage(const Datum &datum);

} // namespace dlc::runtime

#endif
