// Losses and metrics. Each is a value per sample, then a reduction over all of them that counts
// valid samples only.
#include "dialects/DL/Formulas/Losses.h"
#include "dialects/DL/Formulas/Metrics.h"
#include "dialects/DL/Formulas/Orders.h"
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLLossOps.h"
#include "frontend/DL/Builtins/BuiltinFormulas.h"

namespace dlc::frontend {

namespace formulas = dl::formulas;

static Value applyReduction(Call &call, const Tensor &perSample, llvm::StringRef reduction) {
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

/// Where labels fit the logits but for an axis of size 1: how they lose it. Else empty.
static std::string hintForColumn(Call &call, const Tensor &logits, int64_t axis) {
  const Tensor &label = call.tensor("label");
  if (axis >= label.rank() || label.shape()[axis] != 1 ||
      without(logits.shape(), axis) != without(label.shape(), axis))
    return "";
  const std::string shape = sizesWithBatch(label, axis);
  llvm::StringRef source = call.evaluator.shortText(call.rangeOf("label"));
  return ("class numbers have no axis of classes: " + spelling(label.dtype()) + "[" + shape +
          "], or reshape(" + (source.empty() ? "label" : source) + ", (" + shape +
          (label.rank() == 2 ? ",))" : "))"))
      .str();
}

/// The class axis of logits that fit the labels; nothing after an error.
static std::optional<int64_t> classAxis(Call &call, const Tensor &logits, const Tensor &label) {
  int64_t axis;
  if (logits.rank() == 0) {
    call.fail("logits",
              call.label + " expects logits of rank 1 or more, found " + describe(logits.type()),
              "the scores of all samples, f32[N, classes], and no mean or sum of them");
    return std::nullopt;
  }
  if (!call.axis("axis", logits, axis))
    return std::nullopt;
  if (logits.shape()[axis] == 0) {
    call.fail("logits", call.label + " expects classes along axis " + llvm::Twine(axis) +
                            ", found " + describe(logits.type()));
    return std::nullopt;
  }
  if (llvm::ArrayRef<int64_t>(without(logits.shape(), axis)) == label.shape())
    return call.checkNotBatch(logits, {axis}, call.rangeOf("logits")) ? std::optional(axis)
                                                                      : std::nullopt;
  auto error = call.evaluator.error(call.rangeOf("label"),
                                    "labels " + describe(label.type()) + " do not fit logits " +
                                        describe(logits.type()) + " with classes on axis " +
                                        llvm::Twine(axis));
  if (llvm::ArrayRef<int64_t>(without(logits.shape(), logits.rank() - 1)) == label.shape())
    error.hint("with axis=-1 they do");
  else if (std::string column = hintForColumn(call, logits, axis); !column.empty())
    error.hint(column);
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

namespace {
/// Labels beside logits, as losses and metrics over classes take them.
struct Labels {
  int64_t axis, classes;
  BatchAxis batch;
  /// -1 where a sample's class is ignored within the range of classes.
  mlir::Value numbers;
  /// What samples weigh, where classes differ: none for 1 each.
  std::optional<EntryBuilder::LabelWeights> weights;
  /// f32[classes] or as the logits, through which no gradient flows; null for 1 each.
  mlir::Value classWeights;

  bool read(Call &call, int64_t classAxis);

private:
  bool readWeights(Call &call, std::optional<int64_t> ignored);
};
} // namespace

static bool hasParameter(Call &call, llvm::StringRef name) {
  return llvm::any_of(call.builtin.params,
                      [&](const BuiltinParam &param) { return param.name == name; });
}

/// False after an error.
bool Labels::read(Call &call, int64_t classAxis) {
  const Tensor &logits = call.tensor("logits"), &label = call.tensor("label");
  axis = classAxis;
  classes = logits.shape()[axis];
  auto found = sampleBatch(call, logits, label, axis);
  if (!found)
    return false;
  batch = *found;
  numbers = label.value;
  std::optional<int64_t> ignored;
  if (!call.isNone("ignore"))
    ignored = call.integer("ignore");
  if (ignored && !fitsInto(*ignored, label.dtype())) {
    call.fail("ignore", llvm::Twine(*ignored) + " does not fit in " + spelling(label.dtype()));
    return false;
  }
  if (!call.markNumbers("label", classes, ignored))
    return false;
  if (ignored && *ignored >= 0 && *ignored < classes) {
    dl::TensorBuilder b = at(call);
    numbers = formulas::withoutClass(b, numbers, *ignored);
  }
  return readWeights(call, ignored);
}

/// What a sample weighs is looked up by its label: numbers that are no class weigh nothing.
bool Labels::readWeights(Call &call, std::optional<int64_t> ignored) {
  const Tensor &logits = call.tensor("logits"), &label = call.tensor("label");
  const Tensor *given =
      hasParameter(call, "weight") ? call.value("weight").getIf<Tensor>() : nullptr;
  if (!given && !ignored)
    return true;
  EntryBuilder &entry = call.entry();
  dl::TensorBuilder b = at(call);
  auto type = mlir::RankedTensorType::get({classes}, logits.type().getElementType());
  if (given && (given->type() != type || given->batch.exists())) {
    call.fail("weight", "'weight' has a number for each class, " + describe(type) + ", found " +
                            describe(given->type()));
    return false;
  }
  if (given)
    classWeights = dl::StopGradientOp::create(entry.builder, call.location(), given->value);
  EntryBuilder::LabelKey key{label.value.getAsOpaquePointer(),
                             given ? given->value.getAsOpaquePointer() : nullptr, classes, ignored};
  EntryBuilder::LabelWeights &known = entry.labelWeights[key];
  if (!known.each) {
    mlir::Value table = given ? classWeights : b.splat(type, 1);
    known.each = dl::GatherOp::create(entry.builder, call.location(), table, numbers, 0);
    Tensor counted = call.make(formulas::toAccumulated(b, known.each), batch, {&label});
    Value total = applyReduceAll(call, Reduction::Sum, counted);
    if (total.isPoison())
      return false;
    known.total = total.as<Tensor>().value;
  }
  weights = known;
  return true;
}

/// What `op` gives a sample, 0 for those whose class is ignored.
static Tensor ofSamples(Call &call, const Labels &labels, mlir::Value perSample) {
  if (!call.isNone("ignore")) {
    dl::TensorBuilder b = at(call);
    perSample = formulas::whereClass(b, perSample, labels.numbers, labels.classes);
  }
  return call.make(perSample, labels.batch, {&call.tensor("logits"), &call.tensor("label")});
}

/// Over the samples that count: those whose class is not ignored, by the weights of their classes.
static Value applyReduction(Call &call, const Labels &labels, const Tensor &perSample,
                            llvm::StringRef reduction) {
  if (!labels.weights || reduction != "mean")
    return applyReduction(call, perSample, reduction);
  Value sum = applyReduceAll(call, Reduction::Sum, perSample);
  if (sum.isPoison())
    return sum;
  Tensor result = sum.as<Tensor>();
  dl::TensorBuilder b = at(call);
  mlir::Value total = labels.weights->total, numerator = result.value;
  result.value = formulas::meanByWeight(b, numerator, total);
  if (result.terms)
    result.terms = std::make_shared<const MetricTerms>(MetricTerms{{numerator, 1, false, total}});
  return result;
}

/// The tensor op on logits, labels and `settings` gives one number a sample.
template <typename Op, typename... Settings>
static Tensor onClasses(Call &call, const Labels &labels, Settings... settings) {
  return ofSamples(call, labels,
                   Op::create(call.entry().builder, call.location(), call.tensor("logits").value,
                              labels.numbers, labels.axis, settings...));
}

/// The label, class numbers or probabilities; null after an error.
static const Tensor *readLabel(Call &call) {
  const Tensor *label = call.value("label").getIf<Tensor>();
  if (label &&
      (isFloat(label->dtype()) || label->dtype() == DType::I32 || label->dtype() == DType::I64))
    return label;
  call.fail("label", "'label' expects an i32 or i64 tensor, found " + describe(call.value("label")),
            label ? "cast it with i32(...)" : "");
  return nullptr;
}

/// Whether probabilities are of the logits' type and batch, which is not their `axis`; false after
/// an error.
static bool fitProbabilities(Call &call, const Tensor &target, int64_t axis) {
  const Tensor &logits = call.tensor("logits");
  if (!call.checkNotBatch(logits, {axis}, call.rangeOf("logits")))
    return false;
  if (target.type() != logits.type() || target.batch != logits.batch) {
    call.fail("label",
              "probabilities " + describe(target.type()) + " do not fit logits " +
                  describe(logits.type()),
              target.rank() < logits.rank() ? "class numbers are integers, such as i32[N]" : "");
    return false;
  }
  if (call.isNone("ignore"))
    return true;
  call.fail("ignore", "'ignore' is a class number, the label " + describe(target.type()) +
                          " has probabilities");
  return false;
}

/// One value a sample, made of logits and probabilities.
static Tensor ofProbabilities(Call &call, const Tensor &target, int64_t axis,
                              mlir::Value perSample) {
  const Tensor &logits = call.tensor("logits");
  BatchAxis batch = logits.batch;
  if (batch.axis > axis)
    --batch.axis;
  return call.make(perSample, batch, {&logits, &target});
}

/// As onClasses(): the class of probabilities is that of the first of the largest.
template <typename Op, typename... Settings>
static Value onLargest(Call &call, const Tensor &target, int64_t axis, Settings... settings) {
  const Tensor &logits = call.tensor("logits");
  if (!fitProbabilities(call, target, axis))
    return Poison{};
  if (logits.shape()[axis] == 0)
    return call.fail("logits", call.label + " expects classes along axis " + llvm::Twine(axis) +
                                   ", found " + describe(logits.type()));
  dl::TensorBuilder b = at(call);
  mlir::Value correct =
      Op::create(b.builder, b.loc, logits.value, formulas::largestIndex(b, target.value, axis),
                 uint64_t(axis), settings...);
  return applyReduction(call, ofProbabilities(call, target, axis, correct),
                        call.string("reduction"));
}

static Value buildAccuracy(Call &call) {
  const Tensor *label = readLabel(call);
  if (!label)
    return Poison{};
  if (isFloat(label->dtype())) {
    int64_t axis;
    return call.axis("axis", call.tensor("logits"), axis)
               ? onLargest<dl::AccuracyOp>(call, *label, axis)
               : Poison{};
  }
  Labels labels;
  auto axis = classAxis(call, call.tensor("logits"), *label);
  if (!axis || !labels.read(call, *axis))
    return Poison{};
  return applyReduction(call, labels, onClasses<dl::AccuracyOp>(call, labels),
                        call.string("reduction"));
}

static Value buildTopAccuracy(Call &call) {
  const Tensor &logits = call.tensor("logits"), *label = readLabel(call);
  if (!label)
    return Poison{};
  constexpr int64_t axis = 1;
  llvm::SmallVector<int64_t> shape(logits.shape());
  const bool areProbabilities = isFloat(label->dtype());
  if (logits.rank() < 2 ||
      (!areProbabilities && llvm::ArrayRef<int64_t>(without(shape, axis)) != label->shape()))
    return call.fail("label",
                     "labels " + describe(label->type()) + " do not fit logits " +
                         describe(logits.type()) + " with classes on axis 1",
                     logits.rank() < 2 ? "" : hintForColumn(call, logits, axis));
  if (call.integer("k") < 1)
    return call.fail("k", "'k' is 1 or more, found " + llvm::Twine(call.integer("k")));
  int64_t classes = logits.shape()[axis];
  if (call.integer("k") >= classes)
    return call.fail("k",
                     "'k' is below the number of classes, which is " + llvm::Twine(classes) +
                         ", found " + llvm::Twine(call.integer("k")),
                     "the label is always among all of them");
  if (areProbabilities)
    return onLargest<dl::TopAccuracyOp>(call, *label, axis, uint64_t(call.integer("k")));
  Labels labels;
  if (!labels.read(call, axis))
    return Poison{};
  return applyReduction(call, labels, onClasses<dl::TopAccuracyOp>(call, labels, call.integer("k")),
                        call.string("reduction"));
}

/// (1 - smoothing) * target + smoothing / classes; nothing after an error.
static std::optional<double> readSmoothing(Call &call) {
  double smoothing = call.number("label_smoothing");
  if (smoothing >= 0 && smoothing <= 1)
    return smoothing;
  call.fail("label_smoothing",
            "'label_smoothing' is between 0 and 1, found " + text(call.value("label_smoothing")));
  return std::nullopt;
}

/// Probabilities instead of class numbers.
static Value buildProbabilities(Call &call, const Tensor &target) {
  const Tensor &logits = call.tensor("logits");
  int64_t axis;
  if (!call.axis("axis", logits, axis) || !fitProbabilities(call, target, axis))
    return Poison{};
  auto smoothing = readSmoothing(call);
  if (!smoothing)
    return Poison{};
  dl::TensorBuilder b = at(call);
  const Tensor *weight = call.value("weight").getIf<Tensor>();
  if (weight) {
    auto type = mlir::RankedTensorType::get({logits.shape()[axis]}, logits.type().getElementType());
    if (weight->type() != type || weight->batch.exists())
      return call.fail("weight", "'weight' has a number for each class, " + describe(type) +
                                     ", found " + describe(weight->type()));
  }
  mlir::Value value = formulas::probabilityCrossEntropy(
      b, logits.value, target.value, axis, *smoothing, weight ? weight->value : mlir::Value());
  return applyReduction(call, ofProbabilities(call, target, axis, value), call.string("reduction"));
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
  const Tensor *label = readLabel(call);
  if (!label)
    return Poison{};
  if (isFloat(label->dtype()))
    return buildProbabilities(call, *label);
  auto smoothing = readSmoothing(call);
  Labels labels;
  auto axis = smoothing ? classAxis(call, call.tensor("logits"), *label) : std::nullopt;
  if (!axis || !labels.read(call, *axis))
    return Poison{};
  dl::TensorBuilder b = at(call);
  mlir::Value logits = call.tensor("logits").value;
  mlir::Value each =
      labels.classWeights
          ? formulas::weightedCrossEntropy(b, logits, labels.numbers, labels.axis, *smoothing,
                                           labels.weights->each, labels.classWeights)
          : formulas::softmaxCrossEntropy(b, logits, labels.numbers, labels.axis, *smoothing);
  return applyReduction(call, labels, ofSamples(call, labels, each), call.string("reduction"));
}

/// exp of the mean cross entropy, taken when all batches have been added up.
static Value buildPerplexity(Call &call) {
  Labels labels;
  auto axis = classAxis(call, call.tensor("logits"), call.tensor("label"));
  if (!axis || !labels.read(call, *axis))
    return Poison{};
  Value mean =
      applyReduction(call, labels, onClasses<dl::SoftmaxCrossEntropyOp>(call, labels), "mean");
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
  return applyReduction(call, call.make(formula(a.value, target.value), batch, {&a, &target}),
                        call.string("reduction"));
}

static Value buildSigmoidCrossEntropy(Call &call) {
  warnActivation(call, "sigmoid");
  dl::TensorBuilder b = at(call);
  Tensor logits, target;
  BatchAxis batch;
  if (!matchOperands(call, call.operand("logits"), call.operand("target"), logits, target, batch))
    return Poison{};
  Tensor loss = call.make(logits.value, batch, {&logits, &target});
  /// The weight in the shape of the loss; nothing after an error.
  auto weights = [&](llvm::StringRef name) -> std::optional<mlir::Value> {
    Tensor like = logits, weight;
    like.batch = batch;
    BatchAxis joined;
    if (!matchOperands(call, {like, call.rangeOf("logits")}, call.operand(name), like, weight,
                       joined))
      return std::nullopt;
    if (like.type() != logits.type() || joined != batch) {
      call.fail(name, "'" + name + "' has " + describe(call.tensor(name).type()) +
                          ", more than the loss, " + describe(logits.type()));
      return std::nullopt;
    }
    loss.hasData |= weight.hasData;
    return weight.value;
  };
  mlir::Value positive;
  if (!call.isNone("positive_weight")) {
    auto read = weights("positive_weight");
    if (!read)
      return Poison{};
    positive = *read;
  }
  loss.value = formulas::sigmoidCrossEntropy(b, logits.value, target.value, positive);
  if (!call.isNone("weight")) {
    auto weight = weights("weight");
    if (!weight)
      return Poison{};
    loss.value = b.multiply(*weight, loss.value);
  }
  return applyReduction(call, loss, call.string("reduction"));
}

static Value buildCosineEmbedding(Call &call) {
  Tensor a, other;
  BatchAxis batch;
  if (!matchOperands(call, call.operand("a"), call.operand("b"), a, other, batch))
    return Poison{};
  const int64_t axis = a.rank() - 1;
  if (axis < 0 || !call.checkNotBatch(a, {axis}, call.rangeOf("a")))
    return axis < 0
               ? call.fail("a", "cosine_embedding expects embeddings along the last axis, found " +
                                    describe(a.type()))
               : Value(Poison{});
  const Tensor &sign = call.tensor("sign");
  bool isNumber = sign.dtype() != DType::Bool && sign.dtype() != DType::U8;
  if (!isNumber || sign.shape() != a.shape().drop_back() ||
      (batch.exists() && sign.batch.exists() && sign.batch != batch))
    return call.fail("sign", "'sign' is 1 or -1 for each pair of embeddings " + describe(a.type()) +
                                 ", found " + describe(sign.type()));
  dl::TensorBuilder b = at(call);
  mlir::Value loss =
      formulas::cosineEmbedding(b, a.value, other.value, sign.value, call.number("margin"));
  return applyReduction(call,
                        call.make(loss, batch.exists() ? batch : sign.batch, {&a, &other, &sign}),
                        call.string("reduction"));
}

static Value buildBinaryAccuracy(Call &call) {
  double threshold = call.number("threshold");
  return buildElementLoss(call, "logits", [&](mlir::Value logits, mlir::Value target) {
    return dl::BinaryAccuracyOp::create(call.entry().builder, call.location(), logits, target,
                                        llvm::APFloat(threshold));
  });
}

/// How often each number from 0 to `count` - 1 is in `index`, f32[count]; padding counts nothing.
/// Exact: a batch has far fewer than 2^24 elements, and the runtime adds up batches in double.
static mlir::Value countNumbers(Call &call, mlir::Value index, BatchAxis batch, int64_t count) {
  EntryBuilder &entry = call.entry();
  dl::TensorBuilder b = at(call);
  mlir::Type f32 = b.builder.getF32Type();
  mlir::Value ones = b.splat(b.typeOf(index).clone(f32), 1);
  return dl::ScatterAddOp::create(b.builder, b.loc, mlir::RankedTensorType::get({count}, f32),
                                  entry.maskPadding(b.loc, ones, batch, 0), index, /*axis=*/0);
}

/// A metric whose `sums` are added up over batches and then finished; `value` is its value for this
/// batch alone.
static Tensor accumulated(Call &call, mlir::Value value, mlir::Value sums, program::Finish finish,
                          llvm::ArrayRef<const Tensor *> inputs) {
  Tensor result = call.make(value, {}, inputs);
  result.terms = std::make_shared<const MetricTerms>(MetricTerms{{sums, 1, false}});
  result.finish = finish;
  return result;
}

static Value buildConfusion(Call &call) {
  const Tensor &logits = call.tensor("logits"), &label = call.tensor("label");
  Labels labels;
  auto axis = classAxis(call, logits, label);
  if (!axis || !labels.read(call, *axis))
    return Poison{};
  int64_t classes = labels.classes;
  auto table = mlir::RankedTensorType::get({classes, classes}, call.entry().builder.getF32Type());
  if (!call.checkSize(table.getShape(), table.getElementType()))
    return Poison{};
  dl::TensorBuilder b = at(call);
  mlir::Value place = formulas::confusionPlaces(b, logits.value, labels.numbers, *axis);
  mlir::Value counts = b.reshape(countNumbers(call, place, labels.batch, classes * classes), table);
  return accumulated(call, counts, counts, program::Finish::Table, {&logits, &label});
}

/// Histograms of the scores sigmoid(logits) of no and yes, for each channel.
static Value buildAuroc(Call &call) {
  Tensor logits, target;
  BatchAxis batch;
  if (!matchOperands(call, call.operand("logits"), call.operand("target"), logits, target, batch))
    return Poison{};
  int64_t bins = call.integer("bins");
  // Numbers of bins are exact in f32.
  constexpr int64_t least = 2, most = 1 << 20;
  if (bins < least || bins > most)
    return call.fail("bins", "'bins' is from " + llvm::Twine(least) + " to " + llvm::Twine(most) +
                                 ", found " + llvm::Twine(bins));
  constexpr int64_t channelAxis = 1;
  bool hasChannels = logits.rank() > channelAxis && batch.axis != channelAxis;
  int64_t channels = hasChannels ? logits.shape()[channelAxis] : 1;
  auto type = mlir::RankedTensorType::get({channels, 2, bins}, call.entry().builder.getF32Type());
  if (!call.checkSize(type.getShape(), type.getElementType()))
    return Poison{};
  dl::TensorBuilder b = at(call);
  mlir::Value place = formulas::scorePlaces(
      b, logits.value, target.value, bins, hasChannels ? std::optional(channelAxis) : std::nullopt);
  mlir::Value counts = b.reshape(countNumbers(call, place, batch, type.getNumElements()), type);
  return accumulated(call, formulas::meanArea(b, counts), counts, program::Finish::Area,
                     {&logits, &target});
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
  return perSample.isPoison()
             ? perSample
             : applyReduction(call, perSample.as<Tensor>(), call.string("reduction"));
}

/// mean_squared_error and mean_absolute_error: a function of the difference.
template <bool squared> static Value buildDifference(Call &call) {
  Value difference =
      applyArithmetic(call, Arithmetic::Subtract, call.operand("a"), call.operand("target"));
  if (difference.isPoison())
    return difference;
  const Tensor &d = difference.as<Tensor>();
  dl::TensorBuilder b = at(call);
  mlir::Value value = squared ? b.multiply(d.value, d.value) : b.abs(d.value);
  return applyReduction(call, call.makeLike(value, d), call.string("reduction"));
}

std::vector<Builtin> lossBuiltins() {
  using K = ParamKind;
  const BuiltinParam reduction{"reduction", K::String, "mean"};
  auto loss = [&](llvm::StringLiteral name, llvm::StringLiteral doc,
                  std::vector<BuiltinParam> params, Value (*build)(Call &)) {
    params.push_back(reduction);
    return Builtin{name, Category::Loss, std::move(params), doc, build};
  };
  auto metric = [&](llvm::StringLiteral name, llvm::StringLiteral doc,
                    std::vector<BuiltinParam> params, Value (*build)(Call &)) {
    return Builtin{name, Category::Metric, std::move(params), doc, build};
  };
  const BuiltinParam logits{"logits", K::FloatTensor}, index{"label", K::IndexTensor},
      axis{"axis", K::Integer, 1}, ignore{"ignore", K::Integer, NoneValue{}, true};
  const BuiltinParam a{"a", K::FloatTensor}, target{"target", K::Any};
  return {
      loss("softmax_cross_entropy", "-log softmax(logits)[label]",
           {logits,
            {"label", K::Any},
            axis,
            {"label_smoothing", K::Number, 0},
            ignore,
            {"weight", K::Tensor, NoneValue{}, true}},
           buildSoftmaxCrossEntropy),
      loss("sigmoid_cross_entropy", "cross entropy of independent yes or no answers",
           {logits,
            {"target", K::Any},
            {"weight", K::Tensor, NoneValue{}, true},
            {"positive_weight", K::Tensor, NoneValue{}, true}},
           buildSigmoidCrossEntropy),
      loss("mean_squared_error", "(a - target)^2", {a, target}, buildDifference<true>),
      loss("mean_absolute_error", "|a - target|", {a, target}, buildDifference<false>),
      loss("huber", "squared near 0, absolute beyond delta", {a, target, {"delta", K::Number, 1}},
           buildHuber),
      loss("kl_divergence", "divergence of target from exp(log_p)",
           {{"log_p", K::FloatTensor}, {"target", K::FloatTensor}}, buildDivergence),
      loss("hinge", "max(0, margin - target * a)", {a, target, {"margin", K::Number, 1}},
           buildHinge),
      loss("cosine_embedding", "by the cosine of two embeddings",
           {a, {"b", K::FloatTensor}, {"sign", K::Tensor}, {"margin", K::Number, 0}},
           buildCosineEmbedding),
      metric("accuracy", "share of samples whose largest logit is the label's",
             {logits, {"label", K::Any}, axis, ignore, reduction}, buildAccuracy),
      metric("top_k_accuracy", "share of samples whose label is among the k largest logits",
             {logits, {"label", K::Any}, {"k", K::Integer, 5}, ignore, reduction},
             buildTopAccuracy),
      metric("binary_accuracy", "share of right yes or no answers",
             {logits, {"target", K::Any}, {"threshold", K::Number, 0}, reduction},
             buildBinaryAccuracy),
      metric("auroc",
             "area under the receiver operating curve, by histograms of sigmoid(logits): the mean "
             "over the channels (axis 1) that have both answers, 0.5 if none has",
             {logits, {"target", K::Any}, {"bins", K::Integer, 1000}}, buildAuroc),
      metric("perplexity", "exp of the mean cross entropy", {logits, index, axis, ignore},
             buildPerplexity),
      metric("confusion", "table: how often each label (row) has each answer (column)",
             {logits, index, axis, ignore}, buildConfusion),
  };
}

} // namespace dlc::frontend
