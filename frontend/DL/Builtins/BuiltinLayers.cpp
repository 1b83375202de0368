// Layers: what owns weights. Defaults of weights are PyTorch's.
#include "dialects/DL/Formulas/Elementwise.h"
#include "dialects/DL/Formulas/Parts.h"
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "frontend/DL/Builtins/Call.h"
#include "frontend/DL/Builtins/Windows.h"
#include "frontend/DL/Evaluation/Initialisers.h"

namespace dlc::frontend {

/// y + bias along `axis`.
static mlir::Value addBias(Call &call, mlir::Value y, int64_t axis, const Tensor &bias) {
  dl::TensorBuilder b = at(call);
  return b.add(y, b.broadcast(bias.value, b.typeOf(y), {axis}));
}

/// The weight given by `weight=`, or a new one.
static std::optional<Tensor> weightOrGiven(Call &call, llvm::ArrayRef<int64_t> shape,
                                           mlir::Type element, int64_t fanIn, int64_t fanOut) {
  if (call.isNone("weight"))
    return call.weight("weight", shape, element, defaultInitialiser(fanIn), fanIn, fanOut);
  const Tensor &given = call.tensor("weight");
  auto type = mlir::RankedTensorType::get(shape, element);
  if (given.type() == type)
    return given;
  call.evaluator.errorAbout(call.rangeOf("weight"),
                            call.label + " needs a weight " + describe(type) + ", found " +
                                describe(given.type()),
                            given, "it");
  return std::nullopt;
}

static Value buildLinear(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t features = call.integer("features");
  if (x.rank() < 1)
    return call.fail("x", "linear expects a tensor of rank 1 or more, found " + describe(x.type()));
  if (features < 1)
    return call.fail("features", "'features' is 1 or more, found " + llvm::Twine(features));
  int64_t inputs = x.shape().back();
  if (!call.checkNotBatch(x, {x.rank() - 1}, call.rangeOf("x")))
    return Poison{};
  llvm::SmallVector<int64_t> shape(x.shape());
  shape.back() = features;
  mlir::Type element = x.type().getElementType();
  if (!call.checkSize(shape, element))
    return Poison{};
  const bool transposed = call.flag("transposed");
  llvm::SmallVector<int64_t, 2> weightShape{features, inputs};
  if (transposed)
    std::swap(weightShape[0], weightShape[1]);
  auto weight = weightOrGiven(call, weightShape, element, inputs, features);
  if (!weight)
    return Poison{};

  // One product over all rows, whatever the rank, which takes the bias with it.
  dl::TensorBuilder b = at(call);
  int64_t rows = *elementCount(x.shape().drop_back());
  mlir::Value flat = b.reshape(x.value, x.type().clone({rows, inputs}));
  mlir::Value y =
      dl::MatmulOp::create(b.builder, b.loc, x.type().clone({rows, features}), flat, weight->value,
                           /*transpose_a=*/false, /*transpose_b=*/!transposed);
  if (call.flag("bias")) {
    auto bias =
        call.weight("bias", {features}, element, defaultInitialiser(inputs), inputs, features);
    if (!bias)
      return Poison{};
    y = addBias(call, y, 1, *bias);
  }
  y = b.reshape(y, x.type().clone(shape));
  return call.make(y, x.batch, {&x, &*weight});
}

static Value buildEmbedding(Call &call) {
  const Tensor &index = call.tensor("index");
  int64_t count = call.integer("count"), width = call.integer("width");
  for (llvm::StringRef name : {"count", "width"})
    if (call.integer(name) < 1)
      return call.fail(name,
                       "'" + name + "' is 1 or more, found " + llvm::Twine(call.integer(name)));
  llvm::SmallVector<int64_t> shape(index.shape());
  shape.push_back(width);
  EntryBuilder &entry = call.entry();
  mlir::Type element = entry.builder.getF32Type();
  if (!call.isNone("weight"))
    element = call.tensor("weight").type().getElementType();
  if (!call.checkSize(shape, element) || !call.checkSize({count, width}, element))
    return Poison{};
  auto weight = call.isNone("weight") ? call.weight("weight", {count, width}, element,
                                                    normalInitialiser(0, 1), width, count)
                                      : weightOrGiven(call, {count, width}, element, width, count);
  if (!weight || !call.markNumbers("index", count))
    return Poison{};
  dl::TensorBuilder b = at(call);
  std::optional<int64_t> padding;
  if (!call.isNone("padding_index"))
    padding = call.integer("padding_index");
  if (padding && (*padding < 0 || *padding >= count))
    return call.fail("padding_index", "'padding_index' is one of the " + llvm::Twine(count) +
                                          " rows, found " + llvm::Twine(*padding));
  mlir::Value rows = dl::formulas::lookUp(b, weight->value, index.value, padding);
  return call.make(rows, index.batch, {&index, &*weight});
}

static Value failRank(Call &call, const Tensor &x, unsigned spatial) {
  static constexpr llvm::StringLiteral axes[] = {"width", "height, width", "depth, height, width"};
  return call.fail("x",
                   call.label + " expects a tensor of rank " + llvm::Twine(spatial + 2) +
                       ", found " + describe(x.type()),
                   "[N, channels, " + axes[spatial - 1] + "]: reshape(x, ...) makes it");
}

/// conv1d, conv2d, conv3d: x [N, C, spatial...].
template <unsigned spatial> static Value buildConvolution(Call &call) {
  const Tensor &x = call.tensor("x");
  if (x.rank() != spatial + 2)
    return failRank(call, x, spatial);
  int64_t filters = call.integer("channels"), groups = call.integer("groups"),
          channels = x.shape()[1];
  if (filters < 1)
    return call.fail("channels", "'channels' is 1 or more, found " + llvm::Twine(filters));
  if (groups < 1 || channels % groups != 0 || filters % groups != 0)
    return call.fail("groups", llvm::Twine(groups) + " groups do not divide " +
                                   llvm::Twine(channels) + " input and " + llvm::Twine(filters) +
                                   " output channels");
  if (channels == 0)
    return call.fail("x",
                     call.label + " expects at least one channel, found " + describe(x.type()));
  Window window;
  if (!call.checkNotBatch(x, llvm::to_vector(llvm::seq<int64_t>(1, x.rank())), call.rangeOf("x")) ||
      !readWindow(call, spatial, window) || !checkWindowFits(call, x, window))
    return Poison{};

  llvm::SmallVector<int64_t> weightShape{filters, channels / groups}, shape{x.shape()[0], filters};
  llvm::append_range(weightShape, window.kernel);
  llvm::append_range(shape, outputSizes(x, window, /*ceil=*/false));
  mlir::Type element = x.type().getElementType();
  if (!call.checkSize(shape, element) || !call.checkSize(weightShape, element))
    return Poison{};
  int64_t area = *elementCount(window.kernel);
  int64_t fanIn = channels / groups * area, fanOut = filters / groups * area;
  auto weight = weightOrGiven(call, weightShape, element, fanIn, fanOut);
  if (!weight)
    return Poison{};
  EntryBuilder &entry = call.entry();
  mlir::Value y = dl::ConvolutionOp::create(
      entry.builder, call.location(), x.type().clone(shape), x.value, weight->value, window.strides,
      window.padding, window.dilations, groups, call.attributes.wish(entry.builder.getContext()));
  if (call.flag("bias")) {
    auto bias = call.weight("bias", {filters}, element, defaultInitialiser(fanIn), fanIn, fanOut);
    if (!bias)
      return Poison{};
    y = addBias(call, y, 1, *bias);
  }
  return call.make(y, x.batch, {&x, &*weight});
}

/// conv_transpose1d .. 3d: what gives `x` back its size before a convolution. Weight (in, out /
/// groups, kernel...), as PyTorch's.
template <unsigned spatial> static Value buildTransposed(Call &call) {
  const Tensor &x = call.tensor("x");
  if (x.rank() != spatial + 2)
    return failRank(call, x, spatial);
  int64_t filters = call.integer("channels"), groups = call.integer("groups"),
          channels = x.shape()[1];
  if (filters < 1)
    return call.fail("channels", "'channels' is 1 or more, found " + llvm::Twine(filters));
  if (groups < 1 || channels % groups != 0 || filters % groups != 0 || channels == 0)
    return call.fail("groups", llvm::Twine(groups) + " groups do not divide " +
                                   llvm::Twine(channels) + " input and " + llvm::Twine(filters) +
                                   " output channels");
  Window window;
  llvm::SmallVector<int64_t, 3> extra;
  if (!call.checkNotBatch(x, llvm::to_vector(llvm::seq<int64_t>(1, x.rank())), call.rangeOf("x")) ||
      !readWindow(call, spatial, window) || !call.integers("output_padding", spatial, 0, extra))
    return Poison{};
  llvm::SmallVector<int64_t> weightShape{channels, filters / groups}, shape{x.shape()[0], filters};
  llvm::append_range(weightShape, window.kernel);
  for (unsigned i = 0; i < spatial; ++i) {
    if (extra[i] >= window.strides[i])
      return call.fail("output_padding", "'output_padding' is smaller than the stride, found " +
                                             llvm::Twine(extra[i]) + " and " +
                                             llvm::Twine(window.strides[i]));
    int64_t size = (x.shape()[i + 2] - 1) * window.strides[i] - window.padding[2 * i] -
                   window.padding[2 * i + 1] + window.extent(i) + extra[i];
    if (x.shape()[i + 2] < 1 || size < 1)
      return call.fail("padding", call.label + " of " + describe(x.type()) +
                                      " would give no element along axis " + llvm::Twine(i + 2));
    shape.push_back(size);
  }
  mlir::Type element = x.type().getElementType();
  if (!call.checkSize(shape, element) || !call.checkSize(weightShape, element))
    return Poison{};
  int64_t area = *elementCount(window.kernel);
  int64_t fanIn = filters / groups * area, fanOut = channels * area;
  auto weight = weightOrGiven(call, weightShape, element, fanIn, fanOut);
  if (!weight)
    return Poison{};
  EntryBuilder &entry = call.entry();
  mlir::Value y = dl::ConvolutionBackwardDataOp::create(
      entry.builder, call.location(), x.type().clone(shape), x.value, weight->value, window.strides,
      window.padding, window.dilations, groups,
      call.attributes.wish(entry.builder.getContext(), /*transposed=*/true));
  if (call.flag("bias")) {
    auto bias = call.weight("bias", {filters}, element, defaultInitialiser(fanIn), fanIn, fanOut);
    if (!bias)
      return Poison{};
    y = addBias(call, y, 1, *bias);
  }
  return call.make(y, x.batch, {&x, &*weight});
}

/// x, or a trained multiple of it below 0: one for all channels or one each.
static Value buildPrelu(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t count = call.integer("count");
  if (count != 1 && (x.rank() < 2 || count != x.shape()[1]))
    return call.fail("count", "'count' is 1 or the number of channels of " + describe(x.type()) +
                                  ", found " + llvm::Twine(count));
  auto slope = call.weight("weight", {count}, x.type().getElementType(), call.value("start"), 1, 1);
  if (!slope)
    return Poison{};
  dl::TensorBuilder b = at(call);
  mlir::Value zero = b.splat(x.type(), 0);
  mlir::Value wide = x.rank() < 2 || count == 1 ? dl::formulas::expandTo(b, slope->value, x.shape())
                                                : b.broadcast(slope->value, x.type(), {1});
  mlir::Value below = dl::MinimumOp::create(b.builder, b.loc, x.value, zero);
  mlir::Value above = b.maximum(x.value, zero);
  return call.make(b.add(above, b.multiply(wide, below)), x.batch, {&x, &*slope});
}

std::vector<Builtin> layerBuiltins() {
  using K = ParamKind;
  auto convolution = [](llvm::StringLiteral name, llvm::StringLiteral doc, Value (*build)(Call &)) {
    return Builtin{name,
                   Category::Layer,
                   {{"x", K::FloatTensor},
                    {"channels", K::Integer},
                    {"kernel", K::Integers},
                    {"stride", K::Integers, 1},
                    {"padding", K::Any, 0},
                    {"dilation", K::Integers, 1},
                    {"groups", K::Integer, 1},
                    {"bias", K::Bool, true},
                    {"weight", K::FloatTensor, NoneValue{}, true}},
                   doc,
                   build,
                   "conv"};
  };
  auto transposed = [&](llvm::StringLiteral name, llvm::StringLiteral doc, Value (*build)(Call &)) {
    Builtin row = convolution(name, doc, build);
    row.params.insert(llvm::find_if(row.params, [](auto &each) { return each.name == "dilation"; }),
                      {"output_padding", K::Integers, 0});
    row.word = "conv_transpose";
    return row;
  };
  return {
      convolution("conv1d", "convolution over one axis of [N, C, W]", buildConvolution<1>),
      convolution("conv2d", "convolution over the pixels of [N, C, H, W]", buildConvolution<2>),
      convolution("conv3d", "convolution over the voxels of [N, C, D, H, W]", buildConvolution<3>),
      transposed("conv_transpose1d", "transposed convolution over one axis of [N, C, W]",
                 buildTransposed<1>),
      transposed("conv_transpose2d", "transposed convolution over the pixels of [N, C, H, W]",
                 buildTransposed<2>),
      transposed("conv_transpose3d", "transposed convolution over the voxels of [N, C, D, H, W]",
                 buildTransposed<3>),
      {"linear",
       Category::Layer,
       {{"x", K::FloatTensor},
        {"features", K::Integer},
        {"bias", K::Bool, true},
        {"weight", K::FloatTensor, NoneValue{}, true},
        {"transposed", K::Bool, false}},
       "x @ weight^T + bias on the last axis; weight is (out, in), `transposed` (in, out)",
       buildLinear},
      {"embedding",
       Category::Layer,
       {{"index", K::IndexTensor},
        {"count", K::Integer},
        {"width", K::Integer},
        {"padding_index", K::Integer, NoneValue{}, true},
        {"weight", K::FloatTensor, NoneValue{}, true}},
       "row `index` of a table of `count` rows; zeros, and no gradient, at `padding_index`",
       buildEmbedding},
      {"prelu",
       Category::Layer,
       {{"x", K::FloatTensor}, {"count", K::Integer, 1}, {"start", K::Number, 0.25}},
       "leaky ReLU whose slope is trained",
       buildPrelu,
       "",
       2},
  };
}

} // namespace dlc::frontend
