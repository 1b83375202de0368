// Norms: over the batch, over axes of each sample, over groups of channels. Written as formulas.
#include "dialects/DL/DLElementwiseOps.h"
#include "frontend/DL/Builtins/Call.h"

#include "dialects/DL/TensorBuilder.h"

namespace dlc::frontend {

/// A number of channels, which other libraries ask for, would be taken for it without a word.
static bool checkEpsilon(Call &call) {
  if (call.number("epsilon") >= 0 && call.number("epsilon") < 1)
    return true;
  call.fail("epsilon", "'epsilon' is a small number below 1, found " + text(call.value("epsilon")),
            "the number of channels is known: leave it out");
  return false;
}

/// Channels normalised over the batch: PyTorch's running statistics, with the unbiased variance.
static Value buildBatchNorm(Call &call) {
  const Tensor &x = call.tensor("x");
  if (!checkEpsilon(call))
    return Poison{};
  if (x.rank() < 2)
    return call.fail("x",
                     "batch_norm expects a tensor of rank 2 or more, found " + describe(x.type()));
  if (!call.checkNotBatch(x, {1}, call.rangeOf("x")))
    return Poison{};
  int64_t channels = x.shape()[1], count = channels ? x.type().getNumElements() / channels : 0;
  mlir::Type element = x.type().getElementType();
  call.location();
  bool isTraining = call.entry().isTraining() &&
                    !call.evaluator.isFrozen(call.path() + ".scale", call.attributes);
  if (isTraining && count < 2)
    return call.fail("x",
                     "batch_norm needs 2 or more elements a channel in training, found " +
                         describe(x.type()),
                     "a larger batch; frozen=true uses the running statistics");
  std::optional<Tensor> scale, bias;
  if (call.flag("affine")) {
    scale = call.weight("scale", {channels}, element, 1, channels, channels);
    bias = scale ? call.weight("bias", {channels}, element, 0, channels, channels) : std::nullopt;
    if (!bias)
      return Poison{};
  }
  auto runningMean = call.statistic("running_mean", channels, element, 0);
  auto runningVariance = call.statistic("running_variance", channels, element, 1);
  if (!runningMean || !runningVariance)
    return Poison{};

  dl::TensorBuilder b{call.entry().builder, call.location()};
  llvm::SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < x.rank(); ++axis)
    if (axis != 1)
      axes.push_back(axis);
  auto spread = [&](mlir::Value each) { return b.broadcastOver(each, x.type(), axes); };
  mlir::Value mean = runningMean->value, variance = runningVariance->value;
  if (isTraining) {
    dl::MomentsOp moments = b.moments(x.value, axes);
    mean = moments.getMean();
    variance = b.scale(moments.getM2(), 1.0 / double(count));
  }
  mlir::Value centred = b.subtract(x.value, spread(mean));
  mlir::Value shifted = b.add(variance, b.splatLike(variance, call.number("epsilon")));
  mlir::Value factor =
      b.divide(b.splatLike(variance, 1), dl::SqrtOp::create(b.builder, b.loc, shifted).getResult());
  if (scale)
    factor = b.multiply(factor, scale->value);
  mlir::Value y = b.multiply(centred, spread(factor));
  if (bias)
    y = b.add(y, spread(bias->value));
  if (isTraining) {
    double momentum = call.number("momentum");
    auto keep = [&](llvm::StringRef name, mlir::Value running, mlir::Value now, double factor) {
      mlir::Value next = b.add(b.scale(running, 1 - momentum), b.scale(now, momentum * factor));
      call.entry().assignIfUsed(call.path() + "." + name.str(), next, y);
    };
    keep("running_mean", runningMean->value, mean, 1);
    keep("running_variance", runningVariance->value, variance, double(count) / double(count - 1));
  }
  return call.makeLike(y, x);
}

// ------------------------------------------------------------------------------- over each sample

/// x over the root of its mean square along `axes`, after its mean is taken away if `centre`.
static mlir::Value standardise(dl::TensorBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> axes,
                               double epsilon, bool centre) {
  auto type = dl::TensorBuilder::typeOf(x);
  double count = 1;
  for (int64_t axis : axes)
    count *= double(type.getDimSize(axis));
  mlir::Value centred = x, squares;
  if (centre) {
    dl::MomentsOp moments = b.moments(x, axes);
    centred = b.subtract(x, b.broadcastOver(moments.getMean(), type, axes));
    squares = moments.getM2();
  } else {
    squares = b.reduce(dl::ReduceKind::Sum, b.multiply(x, x), axes);
  }
  mlir::Value square = b.scale(squares, 1 / count);
  mlir::Value shifted = b.add(square, b.splatLike(square, epsilon));
  mlir::Value factor =
      b.divide(b.splatLike(square, 1), dl::SqrtOp::create(b.builder, b.loc, shifted).getResult());
  return b.multiply(centred, b.broadcastOver(factor, type, axes));
}

/// y * scale + bias along `axes`, if the layer is affine; null after an error.
static mlir::Value applyAffine(Call &call, mlir::Value y, llvm::ArrayRef<int64_t> axes,
                               bool hasBias) {
  if (!call.flag("affine"))
    return y;
  auto type = dl::TensorBuilder::typeOf(y);
  llvm::SmallVector<int64_t> shape;
  for (int64_t axis : axes)
    shape.push_back(type.getDimSize(axis));
  int64_t count = shape.front();
  auto scale = call.weight("scale", shape, type.getElementType(), 1, count, count);
  if (!scale)
    return {};
  dl::TensorBuilder b{call.entry().builder, call.location()};
  y = b.multiply(y, b.broadcast(scale->value, type, axes));
  if (!hasBias)
    return y;
  auto bias = call.weight("bias", shape, type.getElementType(), 0, count, count);
  return bias ? b.add(y, b.broadcast(bias->value, type, axes)) : mlir::Value();
}

/// Layer norm, or with its mean left in, rms norm.
template <bool centre> static Value buildAxesNorm(Call &call) {
  const Tensor &x = call.tensor("x");
  llvm::SmallVector<int64_t> axes;
  if (!checkEpsilon(call) || !readAxes(call, x.rank(), axes) ||
      !call.checkNotBatch(x, axes, call.rangeOf("x")))
    return Poison{};
  if (axes.empty() || x.type().getNumElements() == 0)
    return call.fail("x", call.label + " needs an axis and elements, found " + describe(x.type()));
  call.location();
  dl::TensorBuilder b{call.entry().builder, call.location()};
  mlir::Value y = standardise(b, x.value, axes, call.number("epsilon"), centre);
  y = applyAffine(call, y, axes, /*hasBias=*/centre);
  return y ? Value(call.makeLike(y, x)) : Value(Poison{});
}

/// Each sample's channels in `groups` groups, which are normalised over channels and pixels.
static Value normaliseGroups(Call &call, const Tensor &x, int64_t groups) {
  llvm::ArrayRef<int64_t> shape = x.shape();
  llvm::SmallVector<int64_t> others = llvm::to_vector(llvm::seq<int64_t>(1, x.rank()));
  if (!checkEpsilon(call) || !call.checkNotBatch(x, others, call.rangeOf("x")))
    return Poison{};
  call.location();
  dl::TensorBuilder b{call.entry().builder, call.location()};
  int64_t size = x.type().getNumElements() / (shape[0] * groups);
  mlir::Value grouped = b.reshape(x.value, x.type().clone({shape[0], groups, size}));
  mlir::Value y = standardise(b, grouped, {2}, call.number("epsilon"), /*centre=*/true);
  y = applyAffine(call, b.reshape(y, x.type()), {1}, /*hasBias=*/true);
  return y ? Value(call.makeLike(y, x)) : Value(Poison{});
}

static bool hasChannels(Call &call, const Tensor &x) {
  if (x.rank() >= 2 && x.type().getNumElements() != 0)
    return true;
  call.fail("x", call.label + " expects a tensor of rank 2 or more with elements, found " +
                     describe(x.type()));
  return false;
}

static Value buildGroupNorm(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t groups = call.integer("groups");
  if (!hasChannels(call, x))
    return Poison{};
  if (groups < 1 || x.shape()[1] % groups != 0)
    return call.fail("groups", llvm::Twine(groups) + " groups do not divide the " +
                                   llvm::Twine(x.shape()[1]) + " channels of " +
                                   describe(x.type()));
  return normaliseGroups(call, x, groups);
}

static Value buildInstanceNorm(Call &call) {
  const Tensor &x = call.tensor("x");
  if (!hasChannels(call, x))
    return Poison{};
  if (x.type().getNumElements() == x.shape()[0] * x.shape()[1])
    return call.fail("x",
                     "instance_norm needs 2 or more pixels a channel, found " + describe(x.type()));
  return normaliseGroups(call, x, x.shape()[1]);
}

std::vector<Builtin> normBuiltins() {
  using K = ParamKind;
  const BuiltinParam x{"x", K::FloatTensor}, axes{"axes", K::Integers, -1},
      epsilon{"epsilon", K::Number, 1e-5}, affine{"affine", K::Bool, true};
  return {
      {"batch_norm",
       Category::Layer,
       {x,
        epsilon,
        {"momentum", K::Number, 0.1},
        affine,
        {"sync", K::Bool, false, false, /*isDefaultOnly=*/true}},
       "normalises each channel (axis 1) over the batch",
       buildBatchNorm,
       "bn"},
      {"layer_norm",
       Category::Layer,
       {x, axes, epsilon, affine},
       "normalises each sample over `axes`",
       buildAxesNorm<true>,
       "ln"},
      {"rms_norm",
       Category::Layer,
       {x, axes, epsilon, affine},
       "divides by the root of the mean square over `axes`",
       buildAxesNorm<false>,
       "rms"},
      {"group_norm",
       Category::Layer,
       {x, {"groups", K::Integer}, epsilon, affine},
       "normalises groups of channels of each sample",
       buildGroupNorm,
       "gn"},
      {"instance_norm",
       Category::Layer,
       {x, epsilon, {"affine", K::Bool, false}},
       "normalises each channel of each sample",
       buildInstanceNorm},
  };
}

} // namespace dlc::frontend
