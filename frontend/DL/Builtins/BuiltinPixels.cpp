// Pixels and channels beside each other: upsampling, samples at given places, pixel shuffle, local
// response norm.
#include "dialects/DL/Formulas/Pixels.h"
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLSampleOps.h"
#include "frontend/DL/Builtins/BuiltinFormulas.h"

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
  dl::TensorBuilder b = at(call);
  return call.make(dl::formulas::upsampleBilinear(b, x.value, factor, call.flag("align_corners")),
                   x.batch, {&x});
}

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
  llvm::SmallVector<int64_t> result(x.shape().take_front(2));
  for (int64_t size : x.shape().drop_front(2))
    result.push_back(size * factor);
  if (!call.checkSize(result, x.type().getElementType()))
    return Poison{};
  dl::TensorBuilder b = at(call);
  return call.make(dl::formulas::upsampleNearest(b, x.value, factor), x.batch, {&x});
}

static Value buildPixelShuffle(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t r = call.integer("factor");
  if (!checkImages(call, x, 4, 4) || !checkFactor(call))
    return Poison{};
  llvm::ArrayRef<int64_t> shape = x.shape();
  if (shape[1] % (r * r) != 0)
    return call.fail("factor", llvm::Twine(r * r) + " pixels a square do not divide the " +
                                   llvm::Twine(shape[1]) + " channels of " + describe(x.type()));
  dl::TensorBuilder b = at(call);
  return call.make(dl::formulas::pixelShuffle(b, x.value, r), x.batch, {&x});
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
