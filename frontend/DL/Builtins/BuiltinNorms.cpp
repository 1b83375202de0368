// Norms: over the batch, over axes of each sample, over groups of channels.
#include "dialects/DL/Formulas/Norms.h"
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "frontend/DL/Builtins/Call.h"

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
                    !call.evaluator.isFrozen(call.path() + ".weight", call.attributes);
  if (isTraining && count < 2)
    return call.fail("x",
                     "batch_norm needs 2 or more elements a channel in training, found " +
                         describe(x.type()),
                     "a larger batch; frozen=true uses the running statistics");
  std::optional<Tensor> scale, bias;
  if (call.flag("affine")) {
    scale = call.weight("weight", {channels}, element, 1, channels, channels);
    bias = scale ? call.weight("bias", {channels}, element, 0, channels, channels) : std::nullopt;
    if (!bias)
      return Poison{};
  }
  auto runningMean = call.statistic("running_mean", channels, element, 0);
  auto runningVariance = call.statistic("running_var", channels, element, 1);
  if (!runningMean || !runningVariance)
    return Poison{};

  mlir::OpBuilder &builder = call.entry().builder;
  llvm::APFloat epsilon(call.number("epsilon"));
  mlir::Value scaleValue = scale ? scale->value : mlir::Value();
  mlir::Value biasValue = bias ? bias->value : mlir::Value();
  if (!isTraining)
    return call.makeLike(
        dl::BatchNormInferenceOp::create(builder, call.location(), x.value, runningMean->value,
                                         runningVariance->value, scaleValue, biasValue, epsilon),
        x);
  dl::TensorBuilder b{builder, call.location()};
  // What the runtime writes: 1 with one rank.
  mlir::Value ranks;
  if (call.flag("sync"))
    ranks = dl::ScalarOp::create(builder, call.location(),
                                 mlir::RankedTensorType::get({}, builder.getF32Type()),
                                 "ranks.scale", llvm::APFloat(1.0), /*scheduled=*/false);
  auto norm = dl::BatchNormOp::create(builder, call.location(), x.value, scaleValue, biasValue,
                                      ranks, epsilon);
  double momentum = call.number("momentum");
  auto keep = [&](llvm::StringRef name, mlir::Value next) {
    call.entry().assignIfUsed(call.path() + "." + name.str(), next, norm.getY());
  };
  keep("running_mean", dl::formulas::runningMean(b, runningMean->value, norm.getMean(), momentum));
  keep("running_var", dl::formulas::runningVariance(b, runningVariance->value, norm.getVariance(),
                                                    momentum, count, ranks));
  return call.makeLike(norm.getY(), x);
}

// ------------------------------------------------------------------------------- over each sample

/// The weights of a norm: null where there are none.
namespace {
struct Affine {
  mlir::Value scale, bias;
};
} // namespace

/// weight and bias along `axes` of `x`, if the layer is affine; nothing after an error.
static std::optional<Affine> affineOf(Call &call, const Tensor &x, llvm::ArrayRef<int64_t> axes,
                                      bool hasBias) {
  if (!call.flag("affine"))
    return Affine{};
  llvm::SmallVector<int64_t> shape;
  for (int64_t axis : axes)
    shape.push_back(x.shape()[axis]);
  int64_t count = shape.front();
  mlir::Type element = x.type().getElementType();
  auto scale = call.weight("weight", shape, element, 1, count, count);
  if (!scale || !hasBias)
    return scale ? std::optional(Affine{scale->value, {}}) : std::nullopt;
  auto bias = call.weight("bias", shape, element, 0, count, count);
  return bias ? std::optional(Affine{scale->value, bias->value}) : std::nullopt;
}

static bool readNormAxes(Call &call, const Tensor &x, llvm::SmallVectorImpl<int64_t> &axes) {
  if (!checkEpsilon(call) || !readAxes(call, x, axes) ||
      !call.checkNotBatch(x, axes, call.rangeOf("x")))
    return false;
  if (!axes.empty() && x.type().getNumElements() != 0)
    return true;
  call.fail("x", call.label + " needs an axis and elements, found " + describe(x.type()));
  return false;
}

static Value buildLayerNorm(Call &call) {
  const Tensor &x = call.tensor("x");
  llvm::SmallVector<int64_t> axes;
  if (!readNormAxes(call, x, axes))
    return Poison{};
  call.location();
  auto affine = affineOf(call, x, axes, /*hasBias=*/true);
  if (!affine)
    return Poison{};
  return call.makeLike(dl::LayerNormOp::create(call.entry().builder, call.location(), x.value,
                                               affine->scale, affine->bias, axes,
                                               llvm::APFloat(call.number("epsilon"))),
                       x);
}

static Value buildRmsNorm(Call &call) {
  const Tensor &x = call.tensor("x");
  llvm::SmallVector<int64_t> axes;
  if (!readNormAxes(call, x, axes))
    return Poison{};
  call.location();
  auto affine = affineOf(call, x, axes, /*hasBias=*/false);
  if (!affine)
    return Poison{};
  return call.makeLike(dl::RmsNormOp::create(call.entry().builder, call.location(), x.value,
                                             affine->scale, axes,
                                             llvm::APFloat(call.number("epsilon"))),
                       x);
}

/// Each sample's channels in `groups` groups, which are normalised over channels and pixels.
static Value normaliseGroups(Call &call, const Tensor &x, int64_t groups) {
  llvm::SmallVector<int64_t> others = llvm::to_vector(llvm::seq<int64_t>(1, x.rank()));
  if (!checkEpsilon(call) || !call.checkNotBatch(x, others, call.rangeOf("x")))
    return Poison{};
  call.location();
  auto affine = affineOf(call, x, {1}, /*hasBias=*/true);
  if (!affine)
    return Poison{};
  return call.makeLike(dl::GroupNormOp::create(call.entry().builder, call.location(), x.value,
                                               affine->scale, affine->bias, groups,
                                               llvm::APFloat(call.number("epsilon"))),
                       x);
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
       {x, epsilon, {"momentum", K::Number, 0.1}, affine, {"sync", K::Bool, false}},
       "normalises each channel (axis 1) over the batch",
       buildBatchNorm,
       "bn"},
      {"layer_norm",
       Category::Layer,
       {x, axes, epsilon, affine},
       "normalises each sample over `axes`",
       buildLayerNorm,
       "ln"},
      {"rms_norm",
       Category::Layer,
       {x, axes, epsilon, affine},
       "divides by the root of the mean square over `axes`",
       buildRmsNorm,
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
