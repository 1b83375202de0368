// Skeleton -> shaking hand -> elastic field -> affine map -> pen -> blur, contrast, noise.
//
// Distortions are strong enough that some samples are hard, weak enough that a person still reads
// nearly all of them.
#include "tools/make-digits/Render.h"
#include "runtime/Core/Philox.h"
#include "tools/make-digits/Strokes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dlc::digits {
namespace {

/// Random numbers of one image.
class Chance {
public:
  Chance(uint64_t seed, uint32_t set, uint32_t index) : seed(seed), set(set), index(index) {}

  double uniform(double low, double high) {
    if (used == 4) {
      words = runtime::philox(seed, {block++, index, set, 0xd191757u});
      used = 0;
    }
    return low + (high - low) * (words[used++] * 0x1p-32);
  }
  /// Near 0, seldom beyond 2.5 scale: the sum of three uniforms.
  double normal(double scale) { return scale * (uniform(-1, 1) + uniform(-1, 1) + uniform(-1, 1)); }

private:
  uint64_t seed;
  uint32_t set, index, block = 0;
  unsigned used = 4;
  runtime::PhiloxWords words{};
};

/// A smooth random displacement: a few waves of low frequency.
class ElasticField {
public:
  ElasticField(Chance &chance, double strength) {
    for (Wave &wave : waves) {
      wave.kx = chance.uniform(-1.6, 1.6);
      wave.ky = chance.uniform(-1.6, 1.6);
      wave.phase = chance.uniform(0, 1);
      wave.dx = chance.normal(strength);
      wave.dy = chance.normal(strength);
    }
  }
  Point move(Point p) const {
    Point moved = p;
    for (const Wave &wave : waves) {
      const double s =
          std::sin(2 * std::numbers::pi * (wave.kx * p.x + wave.ky * p.y + wave.phase));
      moved.x += wave.dx * s;
      moved.y += wave.dy * s;
    }
    return moved;
  }

private:
  struct Wave {
    double kx, ky, phase, dx, dy;
  };
  std::array<Wave, 4> waves;
};

/// Rotation, slant, width, height and place of the whole digit; from the unit square to pixels.
class Placement {
public:
  explicit Placement(Chance &chance) {
    const double angle = chance.normal(0.09), slant = chance.normal(0.11);
    const double height = chance.uniform(17.5, 21.5), width = height * chance.uniform(0.65, 1.0);
    a = width * std::cos(angle);
    b = height * (-std::sin(angle) - slant);
    c = width * std::sin(angle);
    d = height * std::cos(angle);
    x = imageSide / 2.0 + chance.normal(0.6);
    y = imageSide / 2.0 + chance.normal(0.6);
  }
  Point place(Point p) const {
    const double u = p.x - 0.5, v = p.y - 0.5;
    return {x + a * u + b * v, y + c * u + d * v};
  }

private:
  double a, b, c, d, x, y;
};

double distanceToSegment(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  const double t =
      length > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0) : 0.0;
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/// Ink of one segment: full inside the pen's radius, fading over `softness` pixels at its edge.
void drawSegment(std::array<double, imageSide * imageSide> &ink, Point a, Point b, double radius,
                 double softness) {
  const double reach = radius + softness;
  auto bound = [](double value) {
    return static_cast<int>(std::clamp(value, 0.0, double(imageSide)));
  };
  for (int row = bound(std::min(a.y, b.y) - reach); row < bound(std::max(a.y, b.y) + reach + 1);
       ++row)
    for (int column = bound(std::min(a.x, b.x) - reach);
         column < bound(std::max(a.x, b.x) + reach + 1); ++column) {
      const double distance = distanceToSegment({column + 0.5, row + 0.5}, a, b);
      const double value = std::clamp((reach - distance) / (2 * softness), 0.0, 1.0);
      double &pixel = ink[static_cast<size_t>(row * imageSide + column)];
      pixel = std::max(pixel, value);
    }
}

Image develop(const std::array<double, imageSide * imageSide> &ink, Chance &chance) {
  Image image;
  const double contrast = chance.uniform(0.75, 1.0), noise = chance.uniform(0.0, 0.06);
  for (size_t i = 0; i < image.size(); ++i) {
    const double grain =
        ink[i] > 0 ? chance.normal(0.06) : std::max(0.0, chance.normal(noise) - 0.04);
    image[i] = static_cast<uint8_t>(std::clamp(ink[i] * contrast + grain, 0.0, 1.0) * 255 + 0.5);
  }
  return image;
}

} // namespace

int digitOf(uint64_t seed, uint32_t set, uint32_t index) {
  const uint32_t word = runtime::philox(seed, {0, index, set, 0x1abe1u})[0];
  return static_cast<int>(uint64_t(word) * 10 >> 32);
}

Image renderDigit(int digit, uint64_t seed, uint32_t set, uint32_t index) {
  Chance chance(seed, set, index);
  const auto &ways = waysToWrite(digit);
  const auto &strokes =
      ways[static_cast<size_t>(chance.uniform(0, 1) * static_cast<double>(ways.size()))];
  const ElasticField field(chance, 0.022);
  const Placement placement(chance);
  const double radius = chance.uniform(0.7, 1.7), softness = chance.uniform(0.45, 0.8);
  std::array<double, imageSide * imageSide> ink{};
  for (const Stroke &stroke : strokes) {
    // Each stroke is set down a little off, and begins and ends a little early or late.
    const Point off{chance.normal(0.012), chance.normal(0.012)};
    const auto skipped =
        static_cast<size_t>(chance.uniform(0, 0.12) * static_cast<double>(stroke.size()));
    std::vector<Point> path;
    for (size_t i = skipped; i < stroke.size(); ++i)
      path.push_back(placement.place(field.move({stroke[i].x + off.x, stroke[i].y + off.y})));
    for (size_t i = 0; i + 1 < path.size(); ++i)
      drawSegment(ink, path[i], path[i + 1], radius, softness);
  }
  return develop(ink, chance);
}

} // namespace dlc::digits
