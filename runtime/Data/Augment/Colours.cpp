// Loops over planes.
#include "runtime/Data/Augment/Colours.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dlc::runtime {
namespace {

constexpr uint64_t colours = 3;

/// The three planes of an image.
struct Channels {
  explicit Channels(std::span<float> image)
      : pixels(image.size() / colours), red(image.data()), green(red + pixels),
        blue(green + pixels) {}
  size_t pixels;
  float *red, *green, *blue;

  float grey(size_t at) const { return 0.2989f * red[at] + 0.587f * green[at] + 0.114f * blue[at]; }
};

float toUnit(float x) { return std::clamp(x, 0.0f, 1.0f); }

void turnHue(float turn, float &red, float &green, float &blue) {
  const float most = std::max({red, green, blue}), least = std::min({red, green, blue}),
              spread = most - least;
  if (spread == 0)
    return;
  const float saturation = spread / most;
  const float sixth = most == red     ? (green - blue) / spread
                      : most == green ? 2 + (blue - red) / spread
                                      : 4 + (red - green) / spread;
  float hue = std::fmod(sixth / 6 + 1, 1.0f) + turn;
  hue -= std::floor(hue);
  if (!std::isfinite(hue))
    return;
  const float floor = std::floor(hue * 6), rest = hue * 6 - floor;
  const float p = toUnit(most * (1 - saturation)), q = toUnit(most * (1 - saturation * rest)),
              t = toUnit(most * (1 - saturation * (1 - rest)));
  const float byFloor[6][3] = {{most, t, p}, {q, most, p}, {p, most, t},
                               {p, q, most}, {t, p, most}, {most, p, q}};
  const float *const made = byFloor[static_cast<int>(floor) % 6];
  red = made[0];
  green = made[1];
  blue = made[2];
}

/// Normal numbers of two words (Box and Muller 1958).
std::pair<double, double> normals(uint32_t a, uint32_t b) {
  const double radius = std::sqrt(-2 * std::log((a + 1.0) * 0x1p-32)),
               angle = 2 * std::numbers::pi * (b * 0x1p-32);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

} // namespace

void changeBrightness(std::span<float> image, float factor) {
  for (float &x : image)
    x = toUnit(x * factor);
}

void changeContrast(std::span<float> image, uint64_t planes, float factor) {
  double sum = 0;
  size_t count = image.size();
  if (planes == colours) {
    const Channels of(image);
    count = of.pixels;
    for (size_t at = 0; at < count; ++at)
      sum += of.grey(at);
  } else {
    for (float x : image)
      sum += x;
  }
  const auto mean = static_cast<float>(sum / static_cast<double>(count));
  for (float &x : image)
    x = toUnit(factor * x + (1 - factor) * mean);
}

void changeSaturation(std::span<float> image, uint64_t planes, float factor) {
  if (planes != colours)
    return;
  const Channels of(image);
  for (size_t at = 0; at < of.pixels; ++at) {
    const float grey = (1 - factor) * of.grey(at);
    for (float *channel : {of.red, of.green, of.blue})
      channel[at] = toUnit(factor * channel[at] + grey);
  }
}

void changeHue(std::span<float> image, uint64_t planes, float turn) {
  if (planes != colours)
    return;
  const Channels of(image);
  for (size_t at = 0; at < of.pixels; ++at)
    turnHue(turn, of.red[at], of.green[at], of.blue[at]);
}

void jitter(const Transform &transform, size_t number, const SampleDraws &draws, uint64_t planes,
            std::span<float> image) {
  const PhiloxWords words = draws.of(number), places = draws.of(number, 1);
  auto factor = [](uint32_t word, double most) {
    return static_cast<float>(drawReal(word, 1 - most, 1 + most));
  };
  int order[4] = {0, 1, 2, 3};
  for (size_t last = std::size(order) - 1; last > 0; --last)
    std::swap(order[last], order[drawWhole(places[last], last + 1)]);
  for (const int change : order) {
    if (change == 0 && transform.brightness != 0)
      changeBrightness(image, factor(words[0], transform.brightness));
    else if (change == 1 && transform.contrast != 0)
      changeContrast(image, planes, factor(words[1], transform.contrast));
    else if (change == 2 && transform.saturation != 0)
      changeSaturation(image, planes, factor(words[2], transform.saturation));
    else if (change == 3 && transform.hue != 0)
      changeHue(image, planes,
                static_cast<float>(drawReal(words[3], -transform.hue, transform.hue)));
  }
}

void addPrincipalNoise(const double (&normal)[3], std::span<float> image) {
  constexpr double values[3] = {0.2175, 0.0188, 0.0045};
  constexpr double vectors[3][3] = {
      {-0.5675, 0.7192, 0.4009}, {-0.5808, -0.0045, -0.8140}, {-0.5836, -0.6948, 0.4203}};
  const size_t pixels = image.size() / colours;
  for (size_t channel = 0; channel < colours; ++channel) {
    double sum = 0;
    for (size_t i = 0; i < colours; ++i)
      sum += vectors[channel][i] * values[i] * normal[i];
    for (float &x : image.subspan(channel * pixels, pixels))
      x += static_cast<float>(sum);
  }
}

void addPrincipalNoise(const Transform &transform, size_t number, const SampleDraws &draws,
                       std::span<float> image) {
  const PhiloxWords words = draws.of(number);
  const auto [first, second] = normals(words[0], words[1]);
  const double third = normals(words[2], words[3]).first;
  addPrincipalNoise({transform.amount * first, transform.amount * second, transform.amount * third},
                    image);
}

void normalise(const Transform &transform, uint64_t planes, std::span<float> image) {
  auto of = [](const std::vector<float> &numbers, uint64_t plane) {
    return numbers.size() == 1 ? numbers[0] : numbers[plane];
  };
  const size_t pixels = image.size() / planes;
  for (uint64_t plane = 0; plane < planes; ++plane) {
    const float mean = of(transform.mean, plane), deviation = of(transform.deviation, plane);
    for (float &x : image.subspan(plane * pixels, pixels))
      x = (x - mean) / deviation;
  }
}

} // namespace dlc::runtime
