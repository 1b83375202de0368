// Messages are read and written by protozero, which throws for what is none.
#include "runtime/Data/Formats/Messages.h"
#include "runtime/Core/Layout.h"
#include "runtime/Core/Support.h"

#include <optional>
#define PROTOZERO_USE_VIEW std::string_view
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace dlc::runtime {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

constexpr auto lengthDelimited = pbf_wire_type::length_delimited, varint = pbf_wire_type::varint,
               fixed32 = pbf_wire_type::fixed32;

pbf_reader readerOf(std::span<const std::byte> message) {
  return pbf_reader(reinterpret_cast<const char *>(message.data()), message.size());
}

std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

/// What `body` returns, or that it is no `what`.
template <typename Body> std::invoke_result_t<Body> parsed(std::string_view what, Body body) {
  try {
    return body();
  } catch (const protozero::exception &) {
    return damaged("no ", what, ": its fields are damaged or end early");
  }
}

/// A tf.train.Feature.
struct Feature {
  std::string_view key;
  std::optional<pbf_reader> bytes, numbers;
};

Feature readFeature(pbf_reader entry) {
  Feature feature;
  while (entry.next()) {
    switch (entry.tag_and_type()) {
    case tag_and_type(1, lengthDelimited):
      feature.key = entry.get_view();
      break;
    case tag_and_type(2, lengthDelimited): {
      pbf_reader value = entry.get_message();
      while (value.next()) {
        if (value.tag_and_type() == tag_and_type(1, lengthDelimited))
          feature.bytes = value.get_message();
        else if (value.tag_and_type() == tag_and_type(3, lengthDelimited))
          feature.numbers = value.get_message();
        else
          value.skip();
      }
      break;
    }
    default:
      entry.skip();
    }
  }
  return feature;
}

/// The only text of a BytesList; nothing if it has another number of them.
std::optional<std::string_view> onlyText(pbf_reader list) {
  std::optional<std::string_view> found;
  while (list.next()) {
    if (list.tag_and_type() != tag_and_type(1, lengthDelimited)) {
      list.skip();
      continue;
    }
    if (found)
      return std::nullopt;
    found = list.get_view();
  }
  return found;
}

/// The only number of an Int64List, whose numbers may be packed.
std::optional<int64_t> onlyNumber(pbf_reader list) {
  std::optional<int64_t> found;
  uint64_t count = 0;
  while (list.next()) {
    switch (list.tag_and_type()) {
    case tag_and_type(1, varint):
      found = list.get_int64();
      ++count;
      break;
    case tag_and_type(1, lengthDelimited):
      for (int64_t number : list.get_packed_int64()) {
        found = number;
        ++count;
      }
      break;
    default:
      list.skip();
    }
  }
  return count == 1 ? found : std::nullopt;
}

constexpr std::string_view pictureKey = "image/encoded", labelKey = "image/class/label";

Result<Example> readExample(pbf_reader message) {
  std::optional<std::string_view> picture;
  std::optional<int64_t> label;
  std::string keys;
  while (message.next(1, lengthDelimited)) {
    pbf_reader features = message.get_message();
    while (features.next(1, lengthDelimited)) {
      const Feature feature = readFeature(features.get_message());
      if (keys.size() < 200)
        addItem(keys, excerpt(feature.key));
      if (feature.key == pictureKey && feature.bytes)
        picture = onlyText(*feature.bytes);
      if (feature.key == labelKey && feature.numbers)
        label = onlyNumber(*feature.numbers);
    }
  }
  if (!picture || !label)
    return damaged("has ", picture ? "" : "not one text '", picture ? "" : pictureKey,
                   picture ? "" : "'", picture || label ? "" : ", ",
                   label ? "" : "not one number '", label ? "" : labelKey, label ? "" : "'",
                   "; its features: ", keys.empty() ? "none" : keys);
  return Example{bytesOf(*picture), *label};
}

Result<Datum> readDatum(pbf_reader message) {
  Datum datum;
  while (message.next()) {
    switch (message.tag_and_type()) {
    case tag_and_type(1, varint):
      datum.channels = message.get_uint32();
      break;
    case tag_and_type(2, varint):
      datum.height = message.get_uint32();
      break;
    case tag_and_type(3, varint):
      datum.width = message.get_uint32();
      break;
    case tag_and_type(4, lengthDelimited):
      datum.data = bytesOf(message.get_view());
      break;
    case tag_and_type(5, varint):
      datum.label = message.get_int32();
      break;
    case tag_and_type(6, lengthDelimited):
      for (float number : message.get_packed_float())
        datum.floats.push_back(number);
      break;
    case tag_and_type(6, fixed32):
      datum.floats.push_back(message.get_float());
      break;
    case tag_and_type(7, varint):
      // Its get_bool() looks beyond the end.
      datum.encoded = message.get_uint64() != 0;
      break;
    default:
      message.skip();
    }
  }
  if (datum.isPicture())
    return datum;
  const std::optional<uint64_t> count =
      checkedElementCount({datum.channels, datum.height, datum.width});
  const uint64_t held = datum.floats.empty() ? datum.data.size() : datum.floats.size();
  if (count != held || held == 0 || (!datum.data.empty() && !datum.floats.empty()))
    return damaged("has ", datum.data.size(), " bytes and ", datum.floats.size(), " floats for ",
                   datum.channels, " x ", datum.height, " x ", datum.width, " pixels");
  return datum;
}

} // namespace

Result<Example> parseExample(std::span<const std::byte> message) {
  return parsed("tf.train.Example", [&] { return readExample(readerOf(message)); });
}

Result<Datum> parseDatum(std::span<const std::byte> message) {
  return parsed("Datum of Caffe", [&] { return readDatum(readerOf(message)); });
}

std::string datumMessage(const Datum &datum) {
  std::string message;
  protozero::pbf_writer writer(message);
  if (!datum.encoded) {
    writer.add_int32(1, static_cast<int32_t>(datum.channels));
    writer.add_int32(2, static_cast<int32_t>(datum.height));
    writer.add_int32(3, static_cast<int32_t>(datum.width));
  }
  writer.add_bytes(4, reinterpret_cast<const char *>(datum.data.data()), datum.data.size());
  writer.add_int32(5, static_cast<int32_t>(datum.label));
  writer.add_bool(7, datum.encoded);
  return message;
}

} // namespace dlc::runtime
