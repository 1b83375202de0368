// The skeletons of the ten digits. Curves are Catmull-Rom splines through a few points, arcs are
// ellipses.
#include "tools/make-digits/Strokes.h"

#include <array>
#include <cmath>
#include <numbers>

namespace dlc::digits {
namespace {

constexpr int piecesPerSegment = 8;

/// A smooth curve through all points.
Stroke curve(const std::vector<Point> &points) {
  Stroke stroke;
  const auto last = static_cast<int>(points.size()) - 1;
  auto at = [&](int i) { return points[static_cast<size_t>(i < 0 ? 0 : i > last ? last : i)]; };
  for (int i = 0; i < last; ++i)
    for (int piece = 0; piece < piecesPerSegment; ++piece) {
      const double t = double(piece) / piecesPerSegment;
      auto blend = [&](double a, double b, double c, double d) {
        return 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t * t +
                      (3 * b - a - 3 * c + d) * t * t * t);
      };
      stroke.push_back({blend(at(i - 1).x, at(i).x, at(i + 1).x, at(i + 2).x),
                        blend(at(i - 1).y, at(i).y, at(i + 1).y, at(i + 2).y)});
    }
  stroke.push_back(points.back());
  return stroke;
}

/// Straight lines, cut into pieces so that distortions can bend them.
Stroke line(const std::vector<Point> &points) {
  Stroke stroke;
  for (size_t i = 0; i + 1 < points.size(); ++i)
    for (int piece = 0; piece < piecesPerSegment; ++piece) {
      const double t = double(piece) / piecesPerSegment;
      stroke.push_back({points[i].x + t * (points[i + 1].x - points[i].x),
                        points[i].y + t * (points[i + 1].y - points[i].y)});
    }
  stroke.push_back(points.back());
  return stroke;
}

/// Part of an ellipse; angles in turns, 0 at the right, a quarter at the bottom.
Stroke arc(Point centre, double radiusX, double radiusY, double from, double to) {
  constexpr int pieces = 32;
  Stroke stroke;
  for (int i = 0; i <= pieces; ++i) {
    const double angle = 2 * std::numbers::pi * (from + (to - from) * i / pieces);
    stroke.push_back({centre.x + radiusX * std::cos(angle), centre.y + radiusY * std::sin(angle)});
  }
  return stroke;
}

using Ways = std::vector<std::vector<Stroke>>;

std::array<Ways, 10> makeDigits() {
  std::array<Ways, 10> digits;
  digits[0] = {{arc({0.5, 0.5}, 0.27, 0.42, -0.25, 0.77)},
               {arc({0.5, 0.5}, 0.36, 0.4, -0.2, 0.85)}};
  digits[1] = {
      {line({{0.5, 0.08}, {0.5, 0.92}})},
      {line({{0.34, 0.26}, {0.53, 0.08}, {0.53, 0.92}})},
      {line({{0.34, 0.26}, {0.52, 0.08}, {0.52, 0.9}}), line({{0.32, 0.91}, {0.72, 0.91}})}};
  digits[2] = {
      {curve({{0.22, 0.28}, {0.36, 0.1}, {0.62, 0.1}, {0.74, 0.3}, {0.58, 0.56}, {0.22, 0.9}}),
       line({{0.22, 0.9}, {0.8, 0.9}})},
      {curve({{0.24, 0.24},
              {0.42, 0.09},
              {0.7, 0.18},
              {0.68, 0.42},
              {0.4, 0.76},
              {0.2, 0.88},
              {0.22, 0.72},
              {0.42, 0.76},
              {0.6, 0.88},
              {0.82, 0.84}})}};
  digits[3] = {{curve({{0.25, 0.18}, {0.48, 0.08}, {0.7, 0.22}, {0.62, 0.42}, {0.42, 0.48}}),
                curve({{0.42, 0.48}, {0.7, 0.54}, {0.74, 0.76}, {0.5, 0.92}, {0.22, 0.82}})},
               {line({{0.24, 0.1}, {0.72, 0.1}, {0.46, 0.42}}),
                curve({{0.46, 0.42}, {0.72, 0.52}, {0.72, 0.78}, {0.48, 0.92}, {0.22, 0.82}})}};
  digits[4] = {
      {line({{0.56, 0.08}, {0.18, 0.62}, {0.82, 0.62}}), line({{0.64, 0.36}, {0.62, 0.94}})},
      {line({{0.26, 0.1}, {0.24, 0.5}, {0.76, 0.5}}), line({{0.74, 0.1}, {0.72, 0.92}})},
      {line({{0.62, 0.92}, {0.62, 0.1}, {0.2, 0.64}, {0.84, 0.64}})}};
  digits[5] = {
      {line({{0.74, 0.1}, {0.3, 0.1}, {0.27, 0.46}}),
       curve({{0.27, 0.46}, {0.52, 0.4}, {0.76, 0.56}, {0.72, 0.82}, {0.46, 0.92}, {0.22, 0.82}})},
      {curve({{0.72, 0.12},
              {0.34, 0.12},
              {0.3, 0.44},
              {0.6, 0.44},
              {0.74, 0.66},
              {0.56, 0.9},
              {0.24, 0.86}})}};
  digits[6] = {
      {curve({{0.66, 0.08},
              {0.42, 0.24},
              {0.28, 0.52},
              {0.28, 0.78},
              {0.48, 0.92},
              {0.7, 0.8},
              {0.68, 0.58},
              {0.48, 0.5},
              {0.3, 0.64}})},
      {curve({{0.6, 0.06}, {0.36, 0.34}, {0.26, 0.68}}), arc({0.49, 0.7}, 0.23, 0.21, 0.5, 1.5)}};
  digits[7] = {{line({{0.22, 0.12}, {0.78, 0.12}, {0.42, 0.92}})},
               {line({{0.22, 0.12}, {0.78, 0.12}, {0.42, 0.92}}), line({{0.36, 0.5}, {0.72, 0.5}})},
               {curve({{0.2, 0.2}, {0.4, 0.1}, {0.76, 0.14}, {0.58, 0.44}, {0.46, 0.92}})}};
  digits[8] = {
      {curve({{0.68, 0.2},
              {0.5, 0.08},
              {0.32, 0.2},
              {0.38, 0.38},
              {0.62, 0.58},
              {0.7, 0.78},
              {0.5, 0.93},
              {0.3, 0.78},
              {0.38, 0.58},
              {0.62, 0.38},
              {0.68, 0.2}})},
      {arc({0.5, 0.28}, 0.19, 0.19, 0.25, 1.27), arc({0.5, 0.7}, 0.24, 0.23, -0.25, 0.77)}};
  digits[9] = {{curve({{0.7, 0.3},
                       {0.54, 0.1},
                       {0.32, 0.18},
                       {0.3, 0.4},
                       {0.5, 0.5},
                       {0.7, 0.34},
                       {0.7, 0.3}}),
                line({{0.71, 0.28}, {0.66, 0.92}})},
               {arc({0.5, 0.3}, 0.22, 0.21, 0, 1),
                curve({{0.72, 0.28}, {0.72, 0.6}, {0.6, 0.84}, {0.34, 0.9}})}};
  return digits;
}

} // namespace

const std::vector<std::vector<Stroke>> &waysToWrite(int digit) {
  static const std::array<Ways, 10> digits = makeDigits();
  return digits[static_cast<size_t>(digit)];
}

} // namespace dlc::digits
