// Digits as pen strokes in a unit square: x to the right, y downwards.
#ifndef DLC_TOOLS_MAKE_DIGITS_STROKES_H
#define DLC_TOOLS_MAKE_DIGITS_STROKES_H

#include <vector>

namespace dlc::digits {

struct Point {
  double x, y;
};

/// What the pen draws without being lifted: a polyline, fine enough to look like a curve.
using Stroke = std::vector<Point>;

/// Ways to write a digit, 0 to 9: at least one, for some two or three (7 with and without a bar, 1
/// with and without a foot).
const std::vector<std::vector<Stroke>> &waysToWrite(int digit);

} // namespace dlc::digits

#endif
