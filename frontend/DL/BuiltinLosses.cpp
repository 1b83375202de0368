// Losses and metrics. Each is a value per sample, then a reduction over all of them that counts
// valid samples only.
#include "frontend/DL/Call.h"

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
  return std::nullopt;
}

/// The tensor op on logits and labels gives one number a sample.
template <typename Op> static Value buildOnClasses(Call &call) {
  const Tensor &logits = call.tensor("logits"), &label = call.tensor("label");
  auto axis = classAxis(call, logits, label);
  if (!axis)
    return Poison{};
  BatchAxis batch = logits.batch;
  if (batch.axis > *axis)
    --batch.axis;
  if (batch.exists() && label.batch.exists() && batch != label.batch)
    return call.fail("label", "the batch lies on axis " + llvm::Twine(label.batch.axis) +
                                  " of the labels and on axis " + llvm::Twine(logits.batch.axis) +
                                  " of the logits");
  EntryBuilder &entry = call.entry();
  mlir::Value value =
      Op::create(entry.builder, call.location(), entry.withShape(logits.value, label.shape()),
                 logits.value, label.value, *axis);
  return applyReduction(call, call.make(value, batch, {&logits, &label}));
}

static Value buildSoftmaxCrossEntropy(Call &call) {
  if (!call.requireDefault({"label_smoothing", "ignore", "weight"}))
    return Poison{};
  const Tensor *label = call.value("label").getIf<Tensor>();
  bool isIndex = label && (label->dtype() == DType::I32 || label->dtype() == DType::I64);
  if (label && isFloat(label->dtype()))
    return call.fail("label",
                     "softmax_cross_entropy with probabilities as labels is not available yet");
  if (!isIndex)
    return call.fail("label", "'label' expects an i32 or i64 tensor, found " +
                                  describe(call.value("label")));
  return buildOnClasses<dl::SoftmaxCrossEntropyOp>(call);
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
            {"ignore", K::Integer, NoneValue{}, true},
            {"weight", K::Tensor, NoneValue{}, true}},
           buildSoftmaxCrossEntropy),
      loss("sigmoid_cross_entropy", "cross entropy of independent yes or no answers",
           {logits,
            {"target", K::Any},
            {"weight", K::Tensor, NoneValue{}, true},
            {"positive_weight", K::Tensor, NoneValue{}, true}}),
      loss("mean_squared_error", "(a - target)^2", {a, target}, buildDifference<true>),
      loss("mean_absolute_error", "|a - target|", {a, target}, buildDifference<false>),
      loss("huber", "squared near 0, absolute beyond delta", {a, target, {"delta", K::Number, 1}}),
      loss("kl_divergence", "divergence of target from exp(log_p)",
           {{"log_p", K::FloatTensor}, target}),
      loss("hinge", "max(0, margin - target * a)", {a, target, {"margin", K::Number, 1}}),
      loss("cosine_embedding", "by the cosine of two embeddings",
           {a, {"b", K::FloatTensor}, {"sign", K::Tensor}, {"margin", K::Number, 0}}),
      metric("accuracy", "share of samples whose largest logit is the label's",
             {logits, index, axis}, buildOnClasses<dl::AccuracyOp>),
      metric("top_k_accuracy", "share of samples whose label is among the k largest logits",
             {logits, index, {"k", K::Integer, 5}}),
      metric("binary_accuracy", "share of right yes or no answers",
             {logits, {"target", K::Any}, {"threshold", K::Number, 0}}),
      metric("auroc", "area under the receiver operating curve",
             {logits, {"target", K::Any}, {"bins", K::Integer, 1000}}),
      metric("perplexity", "exp of the mean cross entropy", {logits, index, axis}),
      metric("confusion", "table of label against answer", {logits, index}),
  };
}

} // namespace dlc::frontend
