//===- Sampler.cpp - see Sampler.h ------------------------------------------------------------===//
//
// The formulas are PyTorch's, in the type of the grid.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/Sampler.h"
#include "dialects/DL/Builders/ScalarBuilder.h"
#include "dialects/DL/Builders/Term.h"

using namespace mlir;
using namespace dlc::dl;

using Number = Term<ScalarBuilder>;

namespace {
/// A place along an axis, in pixels, and its slope by the number of the grid.
struct AxisPlace {
  Value at, slope;
};

/// One axis of the image at one place.
class AxisSampler {
public:
  AxisSampler(PointBuilder &e, const SampleForm &form, Value given, int64_t size)
      : e(e), form(form), b{e.b, e.loc, /*isUnsigned=*/false}, given(given), size(double(size)) {}

  AxisPlace place();
  /// The first pixel beside the place: one of two, or the nearest.
  Number firstPixel(Value place);
  Number shareOf(Value place, const Number &pixel);
  /// Whether the image has the pixel.
  Value isInside(const Number &pixel);
  /// Its index, 0 where the image has none.
  Value indexOf(const Number &pixel, Value inside) {
    Value whole = e.orZero(inside, pixel);
    return arith::FPToSIOp::create(e.b, e.loc, e.b.getI64Type(), whole);
  }

private:
  Number number(Value value) { return {b, value}; }
  Number isOdd(const Number &whole) {
    Number even = floor(whole * 0.5) * 2;
    return whole - even > 0;
  }
  void mirror(AxisPlace &place);
  void keepInside(AxisPlace &place);

  PointBuilder &e;
  const SampleForm &form;
  ScalarBuilder b;
  Value given;
  double size;
};
} // namespace

AxisPlace AxisSampler::place() {
  const Number fromFirst = number(given) + 1;
  const double scale = form.alignCorners ? (size - 1) / 2 : size / 2;
  AxisPlace place;
  place.at = form.alignCorners ? fromFirst * scale : (fromFirst * size - 1) * 0.5;
  place.slope = b.splatLike(given, scale);
  if (form.reflect)
    mirror(place);
  if (form.border || form.reflect)
    keepInside(place);
  return place;
}

/// At the edges, or at the middles of their pixels, as often as it takes.
void AxisSampler::mirror(AxisPlace &place) {
  const double low = form.alignCorners ? 0 : -0.5, span = form.alignCorners ? size - 1 : size;
  if (span == 0) {
    place.at = place.slope = b.splatLike(given, 0);
    return;
  }
  const Number fromLow = number(place.at) - low, apart = abs(fromLow), turns = floor(apart / span);
  const Number rest = apart - turns * span, back = span - rest, isBack = isOdd(turns);
  place.at = select(isBack, back, rest) + low;
  const Number slope = number(place.slope), turned = -slope, isBelow = fromLow < 0;
  const Number backwards = select(isBelow, slope, turned);
  const Number forwards = select(isBelow, turned, slope);
  place.slope = select(isBack, backwards, forwards);
}

void AxisSampler::keepInside(AxisPlace &place) {
  const Number at = number(place.at), isBelowLast = at < size - 1, isAboveFirst = at > 0;
  const Number below = select(isBelowLast, number(place.slope), 0);
  place.slope = select(isAboveFirst, below, 0);
  place.at = minimum(maximum(at, 0), size - 1);
}

Number AxisSampler::firstPixel(Value place) {
  const Number at = number(place), low = floor(at);
  if (!form.nearest)
    return low;
  // Half way the even one.
  const Number apart = at - low, next = low + 1;
  const Number isNearer = apart > 0.5, nearer = select(isNearer, next, low);
  const Number even = select(isOdd(low), next, low), isHalfWay = apart == 0.5;
  return select(isHalfWay, even, nearer);
}

Number AxisSampler::shareOf(Value place, const Number &pixel) {
  if (!form.nearest)
    return maximum(1 - abs(number(place) - pixel), 0);
  const Number isIt = firstPixel(place) == pixel, all = number(b.splatLike(given, 1));
  return select(isIt, all, 0);
}

Value AxisSampler::isInside(const Number &pixel) {
  using F = PointBuilder::FloatPredicate;
  Value above = e.compareFloats(F::OGE, pixel, b.splatLike(pixel, 0));
  return e.both(above, e.compareFloats(F::OLE, pixel, b.splatLike(pixel, size - 1)));
}

static Value readGrid(PointBuilder &e, const SampleForm &form, Value n, Value p, Value q,
                      int64_t number) {
  return e.read(form.grid, {n, p, q, e.constant(number)});
}

SampledPixels dlc::dl::sampledPixels(PointBuilder &e, const SampleForm &form, Value n, Value p,
                                     Value q) {
  AxisSampler h(e, form, readGrid(e, form, n, p, q, 1), form.height);
  AxisSampler w(e, form, readGrid(e, form, n, p, q, 0), form.width);
  const AxisPlace placeH = h.place(), placeW = w.place();
  const Number firstH = h.firstPixel(placeH.at), firstW = w.firstPixel(placeW.at);
  SampledPixels read{{}, placeH.slope, placeW.slope};
  const int count = form.nearest ? 1 : 2;
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j) {
      const Number pixelH = firstH + i, pixelW = firstW + j;
      Value insideH = h.isInside(pixelH), insideW = w.isInside(pixelW);
      Value indexH = h.indexOf(pixelH, insideH), indexW = w.indexOf(pixelW, insideW);
      Value shareH = h.shareOf(placeH.at, pixelH), shareW = w.shareOf(placeW.at, pixelW);
      read.pixels.push_back(
          {e.both(insideH, insideW), indexH, indexW, shareH, shareW, i == 1, j == 1});
    }
  return read;
}

Value dlc::dl::sampledShare(PointBuilder &e, const SampleForm &form, Value n, Value p, Value q,
                            Value h, Value w) {
  AxisSampler samplerH(e, form, readGrid(e, form, n, p, q, 1), form.height);
  AxisSampler samplerW(e, form, readGrid(e, form, n, p, q, 0), form.width);
  ScalarBuilder b{e.b, e.loc, /*isUnsigned=*/false};
  auto pixel = [&](Value index) {
    return Number(b, arith::SIToFPOp::create(e.b, e.loc, e.elementOf(form.grid), index));
  };
  const Number pixelH = pixel(h), pixelW = pixel(w);
  Value shareH = samplerH.shareOf(samplerH.place().at, pixelH);
  return e.multiplyFloats(shareH, samplerW.shareOf(samplerW.place().at, pixelW));
}
