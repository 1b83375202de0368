// Losses and metrics. Each is a value per sample, then a reduction over all of them that counts
// valid samples only.
#include "dialects/DL/DLCompositeOps.h"
#include "dialects/DL/DLElementwiseOps.h"
#include "dialects/DL/DLNetworkOps.h"
#include "frontend/DL/Builtins/Formulas.h"

namespace dlc::frontend {

static Value applyReduction(Call &call, const Tensor &perSample) {
  llvm::StringRef reduction = call.string("reduction");
  if (reduction == "none")
    return perSample;
  if (reduction == "mean")
    return applyReduceAll(call, Reduction::Mean, perSample);
  if (reduction == "sum")
    return applyReduceAll(call, Reduction::Sum, perSample);
  return call.fail("reduction", "'reduction' is \"mean\", \"sum\" or \"none\", found " +
                                    text(call.value("reduction")));
}

static llvm::SmallVector<int64_t> without(llvm::ArrayRef<int64_t> shape, int64_t axis) {
  llvm::SmallVector<int64_t> result(shape);
  result.erase(result.begin() + axis);
  return result;
}

/// The class axis of logits that fit the labels; nothing after an error.
static std::optional<int64_t> classAxis(Call &call, const Tensor &logits, const Tensor &label) {
  int64_t axis;
  if (logits.rank() == 0) {
    call.fail("logits",
              call.label + " expects logits of rank 1 or more, found " + describe(logits.type()));
    return std::nullopt;
  }
  if (!call.axis("axis", logits.rank(), axis))
    return std::nullopt;
  if (llvm::ArrayRef<int64_t>(without(logits.shape(), axis)) == label.shape())
    return call.checkNotBatch(logits, {axis}, call.rangeOf("logits")) ? std::optional(axis)
                                                                      : std::nullopt;
  auto error = call.evaluator.error(call.rangeOf("label"),
                                    "labels " + describe(label.type()) + " do not fit logits " +
                                        describe(logits.type()) + " with classes on axis " +
                                        llvm::Twine(axis));
  if (llvm::ArrayRef<int64_t>(without(logits.shape(), logits.rank() - 1)) == label.shape())
    error.hint("with axis=-1 they do");
  else if (logits.type().getShape() == label.shape())
    error.hint("class numbers have no axis of classes; probabilities are " +
               spelling(logits.dtype()));
  return std::nullopt;
}

/// The batch axis of one value a sample, classes dropped; nothing after an error.
static std::optional<BatchAxis> sampleBatch(Call &call, const Tensor &logits, const Tensor &label,
                                            int64_t axis) {
  BatchAxis batch = logits.batch;
  if (batch.axis > axis)
    --batch.axis;
  if (batch.exists() && !label.batch.exists() && label.hasData) {
    call.evaluator
        .errorAbout(call.rangeOf("label"),
                    "labels " + describe(label.type()) + " have no batch axis, the logits " +
                        describe(logits.type()) + " have one",
                    label, "it")
        .hint("the axis that counts samples is called N");
    return std::nullopt;
  }
  if (!batch.exists() || !label.batch.exists() || batch == label.batch)
    return batch;
  call.fail("label", "the batch lies on axis " + llvm::Twine(label.batch.axis) +
                         " of the labels and on axis " + llvm::Twine(logits.batch.axis) +
                         " of the logits");
  return std::nullopt;
}

/// The tensor op on logits, labels and `settings` gives one number a sample; nothing after an
/// error.
template <typename Op, typename... Settings>
static std::optional<Tensor> onClasses(Call &call, Settings... settings) {
  const Tensor &logits = call.tensor("logits"), &label = call.tensor("label");
  auto axis = classAxis(call, logits, label);
  auto batch = axis ? sampleBatch(call, logits, label, *axis) : std::nullopt;
  if (!batch)
    return std::nullopt;
  EntryBuilder &entry = call.entry();
  entry.markClasses(label.value, logits.shape()[*axis]);
  mlir::Value value =
      Op::create(entry.builder, call.location(), logits.value, label.value, *axis, settings...);
  return call.make(value, *batch, {&logits, &label});
}

static Value buildAccuracy(Call &call) {
  auto correct = onClasses<dl::AccuracyOp>(call);
  return correct ? applyReduction(call, *correct) : Value(Poison{});
}

static Value buildTopAccuracy(Call &call) {
  const Tensor &logits = call.tensor("logits"), &label = call.tensor("label");
  constexpr int64_t axis = 1;
  llvm::SmallVector<int64_t> shape(logits.shape());
  if (logits.rank() < 2 || llvm::ArrayRef<int64_t>(without(shape, axis)) != label.shape())
    return call.fail("label", "labels " + describe(label.type()) + " do not fit logits " +
                                  describe(logits.type()) + " with classes on axis 1");
  if (call.integer("k") < 1)
    return call.fail("k", "'k' is 1 or more, found " + llvm::Twine(call.integer("k")));
  int64_t classes = logits.shape()[axis];
  if (call.integer("k") >= classes)
    return call.fail("k",
                     "'k' is below the number of classes, which is " + llvm::Twine(classes) +
                         ", found " + llvm::Twine(call.integer("k")),
                     "the label is always among all of them");
  auto batch = sampleBatch(call, logits, label, axis);
  if (!batch)
    return Poison{};
  call.entry().markClasses(label.value, classes);
  mlir::Value value = dl::TopAccuracyOp::create(call.entry().builder, call.location(), logits.value,
                                                label.value, axis, call.integer("k"));
  return applyReduction(call, call.make(value, *batch, {&logits, &label}));
}

/// Probabilities instead of class numbers.
static Value buildProbabilities(Call &call, const Tensor &target) {
  const Tensor &logits = call.tensor("logits");
  int64_t axis;
  if (!call.axis("axis", logits.rank(), axis) ||
      !call.checkNotBatch(logits, {axis}, call.rangeOf("logits")))
    return Poison{};
  if (target.type() != logits.type() || target.batch != logits.batch)
    return call.fail("label",
                     "probabilities " + describe(target.type()) + " do not fit logits " +
                         describe(logits.type()),
                     target.rank() < logits.rank() ? "class numbers are integers, such as i32[N]"
                                                   : "");
  if (!call.requireDefault("label_smoothing"))
    return Poison{};
  mlir::Value value = dl::ProbabilityCrossEntropyOp::create(call.entry().builder, call.location(),
                                                            logits.value, target.value, axis);
  BatchAxis batch = logits.batch;
  if (batch.axis > axis)
    --batch.axis;
  return applyReduction(call, call.make(value, batch, {&logits, &target}));
}

/// A loss on logits has the activation inside: a second one makes the model learn slowly and
/// nothing else tells of it.
static void warnActivation(Call &call, llvm::StringRef inside) {
  if (call.tensor("logits").activation != inside)
    return;
  call.evaluator.program.engine
      .warning(call.rangeOf("logits"),
               call.label + " applies " + inside + " itself, this has gone through it already")
      .hint("give it the logits");
}

static Value buildSoftmaxCrossEntropy(Call &call) {
  warnActivation(call, "softmax");
  const Tensor *label = call.value("label").getIf<Tensor>();
  if (label && isFloat(label->dtype()))
    return buildProbabilities(call, *label);
  if (!label || (label->dtype() != DType::I32 && label->dtype() != DType::I64))
    return call.fail("label",
                     "'label' expects an i32 or i64 tensor, found " + describe(call.value("label")),
                     label ? "cast it with i32(...)" : "");
  double smoothing = call.number("label_smoothing");
  if (smoothing < 0 || smoothing > 1)
    return call.fail("label_smoothing", "'label_smoothing' is between 0 and 1, found " +
                                            text(call.value("label_smoothing")));
  auto value = smoothing == 0
                   ? onClasses<dl::SoftmaxCrossEntropyOp>(call)
                   : onClasses<dl::SmoothedCrossEntropyOp>(call, llvm::APFloat(smoothing));
  return value ? applyReduction(call, *value) : Value(Poison{});
}

/// exp of the mean cross entropy, taken when all batches have been added up.
static Value buildPerplexity(Call &call) {
  auto losses = onClasses<dl::SoftmaxCrossEntropyOp>(call);
  Value mean = losses ? applyReduceAll(call, Reduction::Mean, *losses) : Value(Poison{});
  if (mean.isPoison())
    return mean;
  Tensor result = mean.as<Tensor>();
  EntryBuilder &entry = call.entry();
  result.value =
      dl::ExpOp::create(entry.builder, call.location(), result.value.getType(), result.value);
  result.finish = program::Finish::Exp;
  return result;
}

/// A loss of two tensors, or of a tensor and a number, element by element.
static Value
buildElementLoss(Call &call, llvm::StringRef first,
                 llvm::function_ref<mlir::Value(mlir::Value a, mlir::Value target)> formula) {
  Tensor a, target;
  BatchAxis batch;
  if (!matchOperands(call, call.operand(first), call.operand("target"), a, target, batch))
    return Poison{};
  return applyReduction(call, call.make(formula(a.value, target.value), batch, {&a, &target}));
}

static Value buildSigmoidCrossEntropy(Call &call) {
  warnActivation(call, "sigmoid");
  return buildElementLoss(call, "logits", [&](mlir::Value logits, mlir::Value target) {
    return dl::SigmoidCrossEntropyOp::create(call.entry().builder, call.location(), logits, target);
  });
}

static Value buildBinaryAccuracy(Call &call) {
  double threshold = call.number("threshold");
  return buildElementLoss(call, "logits", [&](mlir::Value logits, mlir::Value target) {
    return dl::BinaryAccuracyOp::create(call.entry().builder, call.location(), logits, target,
                                        llvm::APFloat(threshold));
  });
}

static Value buildHuber(Call &call) {
  double delta = call.number("delta");
  if (delta <= 0)
    return call.fail("delta", "'delta' is above 0, found " + text(call.value("delta")));
  return buildElementLoss(call, "a", [&](mlir::Value a, mlir::Value target) {
    return dl::HuberOp::create(call.entry().builder, call.location(), a, target,
                               llvm::APFloat(delta));
  });
}

static Value buildHinge(Call &call) {
  double margin = call.number("margin");
  return buildElementLoss(call, "a", [&](mlir::Value a, mlir::Value target) {
    return dl::HingeOp::create(call.entry().builder, call.location(), a, target,
                               llvm::APFloat(margin));
  });
}

/// A sum over the classes, so that its mean is over samples.
static Value buildDivergence(Call &call) {
  const Tensor &p = call.tensor("log_p"), &target = call.tensor("target");
  if (p.type() != target.type() || p.batch != target.batch || !p.batch.exists())
    return call.fail("target", "kl_divergence expects two batches of one type, found " +
                                   describe(p.type()) + " and " + describe(target.type()));
  mlir::Value value =
      dl::KlDivergenceOp::create(call.entry().builder, call.location(), p.value, target.value);
  Tensor each = call.make(value, p.batch, {&p, &target});
  llvm::SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < p.rank(); ++axis)
    if (axis != p.batch.axis)
      axes.push_back(axis);
  Value perSample = applyReduce(call, Reduction::Sum, each, axes, /*keep=*/false);
  return perSample.isPoison() ? perSample : applyReduction(call, perSample.as<Tensor>());
}

/// mean_squared_error and mean_absolute_error: a function of the difference.
template <bool squared> static Value buildDifference(Call &call) {
  Value difference =
      applyArithmetic(call, Arithmetic::Subtract, call.operand("a"), call.operand("target"));
  if (difference.isPoison())
    return difference;
  const Tensor &d = difference.as<Tensor>();
  EntryBuilder &entry = call.entry();
  mlir::Value value =
      squared ? entry.arithmetic(call.location(), Arithmetic::Multiply, d.value, d.value)
              : mlir::Value(
                    dl::AbsOp::create(entry.builder, call.location(), d.value.getType(), d.value));
  return applyReduction(call, call.makeLike(value, d));
}

std::vector<Builtin> lossBuiltins() {
  using K = ParamKind;
  const BuiltinParam reduction{"reduction", K::String, "mean"};
  auto loss = [&](llvm::StringLiteral name, llvm::StringLiteral doc,
                  std::vector<BuiltinParam> params, Value (*build)(Call &) = nullptr) {
    params.push_back(reduction);
    return Builtin{name, Category::Loss, std::move(params), doc, build};
  };
  auto metric = [&](llvm::StringLiteral name, llvm::StringLiteral doc,
                    std::vector<BuiltinParam> params, Value (*build)(Call &) = nullptr) {
    params.push_back(reduction);
    // It ends in a function of the sum over all batches.
    params.back().isDefaultOnly = name == "perplexity";
    return Builtin{name, Category::Metric, std::move(params), doc, build};
  };
  const BuiltinParam logits{"logits", K::FloatTensor}, index{"label", K::IndexTensor},
      axis{"axis", K::Integer, 1};
  const BuiltinParam a{"a", K::FloatTensor}, target{"target", K::FloatTensor};
  return {
      loss("softmax_cross_entropy", "-log softmax(logits)[label]",
           {logits,
            {"label", K::Any},
            axis,
            {"label_smoothing", K::Number, 0},
            {"ignore", K::Integer, NoneValue{}, true, /*isDefaultOnly=*/true},
            {"weight", K::Tensor, NoneValue{}, true, /*isDefaultOnly=*/true}},
           buildSoftmaxCrossEntropy),
      loss("sigmoid_cross_entropy", "cross entropy of independent yes or no answers",
           {logits,
            {"target", K::Any},
            {"weight", K::Tensor, NoneValue{}, true, /*isDefaultOnly=*/true},
            {"positive_weight", K::Tensor, NoneValue{}, true, /*isDefaultOnly=*/true}},
           buildSigmoidCrossEntropy),
      loss("mean_squared_error", "(a - target)^2", {a, target}, buildDifference<true>),
      loss("mean_absolute_error", "|a - target|", {a, target}, buildDifference<false>),
      loss("huber", "squared near 0, absolute beyond delta", {a, target, {"delta", K::Number, 1}},
           buildHuber),
      loss("kl_divergence", "divergence of target from exp(log_p)",
           {{"log_p", K::FloatTensor}, target}, buildDivergence),
      loss("hinge", "max(0, margin - target * a)", {a, target, {"margin", K::Number, 1}},
           buildHinge),
      loss("cosine_embedding", "by the cosine of two embeddings",
           {a, {"b", K::FloatTensor}, {"sign", K::Tensor}, {"margin", K::Number, 0}}),
      metric("accuracy", "share of samples whose largest logit is the label's",
             {logits, index, axis}, buildAccuracy),
      metric("top_k_accuracy", "share of samples whose label is among the k largest logits",
             {logits, index, {"k", K::Integer, 5}}, buildTopAccuracy),
      metric("binary_accuracy", "share of right yes or no answers",
             {logits, {"target", K::Any}, {"threshold", K::Number, 0}}, buildBinaryAccuracy),
      metric("auroc", "area under the receiver operating curve",
             {logits, {"target", K::Any}, {"bins", K::Integer, 1000}}),
      metric("perplexity", "exp of the mean cross entropy", {logits, index, axis}, buildPerplexity),
      metric("confusion", "table of label against answer", {logits, index}),
  };
}

} // namespace dlc::frontend
