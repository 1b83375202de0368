// Pixels and channels beside each other: upsampling, samples at given places, pixel shuffle, local
// response norm.
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLSampleOps.h"
#include "frontend/DL/Builtins/Formulas.h"

#include "dialects/DL/Builders/TensorBuilder.h"

#include <cmath>

namespace dlc::frontend {

/// Reports unless x is [N, C, spatial...] with the batch on axis 0 and `least` to `most` axes.
static bool checkImages(Call &call, const Tensor &x, int64_t least, int64_t most) {
  if (x.rank() < least || x.rank() > most) {
    std::string ranks = std::to_string(least);
    if (most != least)
      ranks += " to " + std::to_string(most);
    call.fail("x", call.label + " expects a tensor [N, C, spatial...] of rank " + ranks +
                       ", found " + describe(x.type()));
    return false;
  }
  return call.checkNotBatch(x, llvm::to_vector(llvm::seq<int64_t>(1, x.rank())), call.rangeOf("x"));
}

static bool checkFactor(Call &call) {
  if (call.integer("factor") >= 1 && call.integer("factor") <= 1 << 20)
    return true;
  call.fail("factor", "'factor' is 1 or more, found " + llvm::Twine(call.integer("factor")));
  return false;
}

/// `numbers` as a tensor of one axis.
static mlir::Value vectorOf(dl::TensorBuilder &b, mlir::Type element,
                            llvm::ArrayRef<double> numbers) {
  llvm::SmallVector<mlir::Attribute> elements;
  for (double number : numbers)
    elements.push_back(llvm::isa<mlir::FloatType>(element)
                           ? mlir::Attribute(b.builder.getFloatAttr(element, number))
                           : b.builder.getIntegerAttr(element, int64_t(number)));
  auto type = mlir::RankedTensorType::get({int64_t(numbers.size())}, element);
  auto value = llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, elements));
  return dl::ConstantOp::create(b.builder, b.loc, type, value);
}

/// Between the two pixels beside each place along `axis`, by the distance from them. The corners of
/// both images are one place, or the corners of their corner pixels are.
static mlir::Value interpolate(dl::TensorBuilder &b, mlir::Value x, int64_t axis, int64_t factor,
                               bool alignCorners) {
  const int64_t pixels = b.typeOf(x).getDimSize(axis), count = pixels * factor;
  std::vector<double> low, high, share;
  for (int64_t i = 0; i < count; ++i) {
    double place = alignCorners ? double(i * (pixels - 1)) / double(std::max<int64_t>(1, count - 1))
                                : std::max(0.0, (double(i) + 0.5) / double(factor) - 0.5);
    low.push_back(std::floor(place));
    high.push_back(std::min(low.back() + 1, double(pixels - 1)));
    share.push_back(place - low.back());
  }
  auto at = [&](llvm::ArrayRef<double> numbers) -> mlir::Value {
    return dl::GatherOp::create(b.builder, b.loc, x, vectorOf(b, b.builder.getI32Type(), numbers),
                                axis);
  };
  mlir::Value before = at(low), behind = at(high);
  mlir::Value shares = vectorOf(b, b.typeOf(x).getElementType(), share);
  mlir::Value step = b.subtract(behind, before);
  return b.add(before, b.multiply(step, b.broadcast(shares, b.typeOf(before), {axis})));
}

static Value buildBilinear(Call &call, const Tensor &x) {
  int64_t factor = call.integer("factor");
  if (!checkImages(call, x, 4, 4) || !checkFactor(call))
    return Poison{};
  llvm::SmallVector<int64_t> shape(x.shape());
  shape[2] *= factor;
  shape[3] *= factor;
  if (!call.checkSize(shape, x.type().getElementType()))
    return Poison{};
  if (factor == 1)
    return x;
  dl::TensorBuilder b{call.entry().builder, call.location()};
  mlir::Value y = x.value;
  for (int64_t axis : {2, 3})
    y = interpolate(b, y, axis, factor, call.flag("align_corners"));
  return call.make(y, x.batch, {&x});
}

/// Each pixel `factor` times along every spatial axis: [N, C, H, 1, W, 1] -> [N, C, H, f, W, f].
static Value buildUpsample(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t factor = call.integer("factor");
  if (call.string("mode") == "bilinear")
    return buildBilinear(call, x);
  if (call.string("mode") != "nearest")
    return call.fail("mode",
                     "'mode' is \"nearest\" or \"bilinear\", found " + text(call.value("mode")));
  if (call.flag("align_corners"))
    return call.fail("align_corners", "'align_corners' is of mode=\"bilinear\"");
  if (!checkImages(call, x, 3, 5) || !checkFactor(call))
    return Poison{};
  llvm::SmallVector<int64_t> narrow(x.shape().take_front(2)), wide = narrow, result = narrow;
  for (int64_t size : x.shape().drop_front(2)) {
    narrow.append({size, 1});
    wide.append({size, factor});
    result.push_back(size * factor);
  }
  if (!call.checkSize(result, x.type().getElementType()))
    return Poison{};
  dl::TensorBuilder b{call.entry().builder, call.location()};
  // The axes of size 1 are dropped by the broadcast's map, so x itself is what is repeated.
  llvm::SmallVector<int64_t> dims{0, 1};
  for (int64_t axis = 2; axis < int64_t(wide.size()); axis += 2)
    dims.push_back(axis);
  mlir::Value y = b.broadcast(x.value, x.type().clone(wide), dims);
  return call.make(b.reshape(y, x.type().clone(result)), x.batch, {&x});
}

/// [N, C r r, H, W] -> [N, C, H r, W r], channel c r r + i r + j to pixel (i, j) of each square.
static Value buildPixelShuffle(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t r = call.integer("factor");
  if (!checkImages(call, x, 4, 4) || !checkFactor(call))
    return Poison{};
  llvm::ArrayRef<int64_t> shape = x.shape();
  if (shape[1] % (r * r) != 0)
    return call.fail("factor", llvm::Twine(r * r) + " pixels a square do not divide the " +
                                   llvm::Twine(shape[1]) + " channels of " + describe(x.type()));
  int64_t channels = shape[1] / (r * r);
  dl::TensorBuilder b{call.entry().builder, call.location()};
  mlir::Value split =
      b.reshape(x.value, x.type().clone({shape[0], channels, r, r, shape[2], shape[3]}));
  mlir::Value turned =
      dl::TransposeOp::create(b.builder, b.loc, split, llvm::ArrayRef<int64_t>{0, 1, 4, 2, 5, 3});
  return call.make(
      b.reshape(turned, x.type().clone({shape[0], channels, shape[2] * r, shape[3] * r})), x.batch,
      {&x});
}

/// Reports unless the grid is [N, P, Q, 2] for x [N, C, H, W]. `batch` becomes theirs.
static bool checkGrid(Call &call, const Tensor &x, const Tensor &grid, BatchAxis &batch) {
  if (!checkImages(call, x, 4, 4))
    return false;
  if (grid.rank() != 4 || grid.shape()[3] != 2 || grid.shape()[0] != x.shape()[0] ||
      grid.dtype() != x.dtype()) {
    call.fail("grid",
              "grid_sample expects a grid [N, height, width, 2] of x's N and type, found " +
                  describe(grid.type()) + " for " + describe(x.type()),
              "(along the width, along the height) of each place, from -1 to 1");
    return false;
  }
  if (x.shape()[2] * x.shape()[3] == 0) {
    call.fail("x", "grid_sample expects pixels, found " + describe(x.type()));
    return false;
  }
  batch = x.batch.exists() ? x.batch : grid.batch;
  return call.checkNotBatch(grid, {1, 2, 3}, call.rangeOf("grid"));
}

static Value buildGridSample(Call &call) {
  const Tensor &x = call.tensor("x"), &grid = call.tensor("grid");
  llvm::StringRef mode = call.string("mode"), padding = call.string("padding");
  BatchAxis batch;
  if (!checkGrid(call, x, grid, batch))
    return Poison{};
  if (mode != "bilinear" && mode != "nearest")
    return call.fail("mode",
                     "'mode' is \"bilinear\" or \"nearest\", found " + text(call.value("mode")));
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return call.fail("padding", "'padding' is \"zeros\", \"border\" or \"reflection\", found " +
                                    text(call.value("padding")));
  mlir::OpBuilder &b = call.entry().builder;
  if (!call.checkSize({x.shape()[0], x.shape()[1], grid.shape()[1], grid.shape()[2]},
                      x.type().getElementType()))
    return Poison{};
  return call.make(dl::GridSampleOp::create(b, call.location(), x.value, grid.value,
                                            mode == "nearest", padding == "border",
                                            padding == "reflection", call.flag("align_corners")),
                   batch, {&x, &grid});
}

/// x / (k + alpha * mean of the squares of `size` neighbouring channels) ** beta; a channel beyond
/// the border counts as 0, as in PyTorch.
static Value buildLocalResponseNorm(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t size = call.integer("size");
  if (!checkImages(call, x, 3, 5))
    return Poison{};
  if (size < 1)
    return call.fail("size", "'size' is 1 or more, found " + llvm::Twine(size));
  if (call.number("k") <= 0 || call.number("alpha") < 0)
    return call.fail(call.number("k") <= 0 ? "k" : "alpha", "'k' is above 0, 'alpha' 0 or more");
  auto setting = [&](llvm::StringRef name) { return llvm::APFloat(call.number(name)); };
  return call.makeLike(dl::LocalResponseNormOp::create(call.entry().builder, call.location(),
                                                       x.value, size, setting("alpha"),
                                                       setting("beta"), setting("k")),
                       x);
}

std::vector<Builtin> pixelBuiltins() {
  using K = ParamKind;
  const BuiltinParam x{"x", K::FloatTensor}, factor{"factor", K::Integer};
  return {
      {"local_response_norm",
       Category::Function,
       {x,
        {"size", K::Integer},
        {"alpha", K::Number, 1e-4},
        {"beta", K::Number, 0.75},
        {"k", K::Number, 1}},
       "divides by a power of the mean square of neighbouring channels",
       buildLocalResponseNorm,
       "",
       2},
      {"upsample",
       Category::Function,
       {x, factor, {"mode", K::String, "nearest"}, {"align_corners", K::Bool, false}},
       "enlarges the spatial axes: mode=\"nearest\", or \"bilinear\" between four pixels",
       buildUpsample,
       "",
       2},
      {"grid_sample",
       Category::Function,
       {x,
        {"grid", K::FloatTensor},
        {"mode", K::String, "bilinear"},
        {"padding", K::String, "zeros"},
        {"align_corners", K::Bool, false}},
       "x at the places [N, height, width, 2] of a grid, each (along the width, along the height) "
       "from -1 to 1: mode=\"bilinear\" or \"nearest\"; outside padding=\"zeros\", \"border\" or "
       "\"reflection\"",
       buildGridSample,
       "",
       2},
      {"pixel_shuffle", Category::Function, {x, factor}, "channels to pixels", buildPixelShuffle},
  };
}

} // namespace dlc::frontend
