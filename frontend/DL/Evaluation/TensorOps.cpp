// See TensorOps.h.
#include "frontend/DL/Evaluation/TensorOps.h"
#include "dialects/DL/Formulas/Elementwise.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

namespace dlc::frontend {

// -------------------------------------------------------------------------------------------- site

const std::string &Site::path() {
  if (!std::exchange(hasPath, true))
    takenPath = evaluator.names().join(evaluator.names().next(word));
  return takenPath;
}

/// The place is named after what is written there, which messages of passes call it by.
mlir::Location Site::location() {
  auto named = llvm::cast<mlir::NameLoc>(evaluator.location(path(), range));
  mlir::MLIRContext *context = named.getContext();
  return mlir::NameLoc::get(
      named.getName(),
      mlir::NameLoc::get(mlir::StringAttr::get(context, label), named.getChildLoc()));
}

Tensor Site::make(mlir::Value value, BatchAxis batch, llvm::ArrayRef<const Tensor *> inputs) {
  Tensor result;
  result.value = value;
  result.batch = batch;
  for (const Tensor *input : inputs)
    result.hasData |= input->hasData;
  result.origin = evaluator.makeOrigin(range, "this " + label, result);
  return result;
}

Tensor Site::makeLike(mlir::Value value, const Tensor &x) {
  Tensor result = make(value, x.batch, {&x});
  result.origin = x.origin;
  return result;
}

std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

/// More bytes than any machine addresses.
static constexpr int64_t maxTensorBytes = int64_t(1) << 47;

/// Of the module format.
static constexpr size_t maxRank = 8;

bool Site::checkSize(llvm::ArrayRef<int64_t> shape, mlir::Type element) {
  if (shape.size() > maxRank) {
    error(label + " would make a tensor of " + llvm::Twine(shape.size()) + " axes, the limit is " +
          llvm::Twine(maxRank));
    return false;
  }
  std::optional<int64_t> count = elementCount(shape);
  int64_t width = std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
  if (count && *count <= maxTensorBytes / width)
    return true;
  error(label + " would make a tensor of " + joinSizes(shape) + " elements, more than 2^47 bytes");
  return false;
}

bool Site::checkNotBatch(const Tensor &x, llvm::ArrayRef<int64_t> axes, SourceRange argument,
                         llvm::StringRef hint) {
  if (!x.batch.exists() || !llvm::is_contained(axes, int64_t(x.batch.axis)))
    return true;
  evaluator
      .errorAbout(argument,
                  label + " cannot work across the batch, axis " + llvm::Twine(x.batch.axis) +
                      " of " + describe(x.type()),
                  x, "the batch")
      .hint(!hint.empty()      ? hint
            : x.batch.axis > 0 ? "the batch stands first: f32[N, ...]"
                               : "each sample is computed by itself: take another axis");
  return false;
}

// ------------------------------------------------------------------------------------ broadcasting

static const llvm::fltSemantics &semanticsOf(DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return llvm::APFloat::BFloat();
  case DType::F16:
    return llvm::APFloat::IEEEhalf();
  case DType::F32:
    return llvm::APFloat::IEEEsingle();
  default:
    return llvm::APFloat::IEEEdouble();
  }
}

bool fitsInto(const Value &value, DType dtype) {
  if (!value.isNumber())
    return false;
  if (isFloat(dtype)) {
    llvm::APFloat number(value.number());
    bool losesInfo;
    const bool isFinite = number.isFinite();
    number.convert(semanticsOf(dtype), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return number.isFinite() == isFinite;
  }
  if (!value.isInteger())
    return false;
  const int64_t number = value.integer();
  switch (dtype) {
  case DType::I32:
    return llvm::isInt<32>(number);
  case DType::U8:
    return llvm::isUInt<8>(number);
  case DType::Bool:
    return number == 0 || number == 1;
  default:
    return true;
  }
}

/// A number beside a tensor takes its dtype.
static std::optional<Tensor> numberTensor(Site &site, const Operand &number, const Tensor &other) {
  if (number.value.is<double>() && !isFloat(other.dtype())) {
    site.error(describe(number.value) + " stands beside the integer tensor " +
               describe(other.type()))
        .hint("cast the tensor with f32(...)");
    return std::nullopt;
  }
  if (!fitsInto(number.value, other.dtype())) {
    auto error = site.error(describe(number.value) + " does not fit in " + spelling(other.dtype()));
    if (other.dtype() == DType::F16)
      error.hint("f16 ends at 65504: compute with f32(...)");
    return std::nullopt;
  }
  auto type = mlir::RankedTensorType::get({}, other.type().getElementType());
  Tensor result;
  result.value = at(site).splat(type, number.value.number());
  return result;
}

static std::optional<llvm::SmallVector<int64_t>> broadcastShape(Site &site, const Tensor &a,
                                                                const Tensor &b) {
  int64_t rank = std::max(a.rank(), b.rank());
  llvm::SmallVector<int64_t> shape(rank);
  auto sizeAt = [&](const Tensor &t, int64_t i) {
    int64_t axis = i - (rank - t.rank());
    return axis < 0 ? 1 : t.shape()[axis];
  };
  for (int64_t i = 0; i < rank; ++i) {
    int64_t left = sizeAt(a, i), right = sizeAt(b, i);
    shape[i] = left == 1 ? right : left;
    if (left == right || left == 1 || right == 1)
      continue;
    int64_t axis = a.rank() == b.rank() ? i : i - rank;
    site.evaluator.errorAbout(site.range,
                              "shapes " + describe(a.type()) + " and " + describe(b.type()) +
                                  " do not fit: axis " + llvm::Twine(axis) + " is " +
                                  llvm::Twine(left) + " and " + llvm::Twine(right),
                              b, llvm::Twine(right));
    return std::nullopt;
  }
  return shape;
}

/// The batch axis of `x` after broadcasting to `rank` axes.
static BatchAxis shifted(const Tensor &x, int64_t rank) {
  BatchAxis batch = x.batch;
  if (batch.exists())
    batch.axis += rank - x.rank();
  return batch;
}

static bool joinBatch(Site &site, const Tensor &a, const Tensor &b, llvm::ArrayRef<int64_t> shape,
                      BatchAxis &batch) {
  BatchAxis left = shifted(a, shape.size()), right = shifted(b, shape.size());
  batch = left.exists() ? left : right;
  if (left.exists() && right.exists() && left != right) {
    const Tensor &shorter = a.rank() < b.rank() ? a : b;
    std::string sizes = "N";
    for (size_t i = shorter.batch.axis + 1; i < shape.size(); ++i)
      sizes += ", 1";
    bool isVector = shorter.rank() == 1 && shorter.batch.isPlain() && a.rank() != b.rank();
    site.error("the batch is axis " + llvm::Twine(a.batch.axis) + " of " + describe(a.type()) +
               " and axis " + llvm::Twine(b.batch.axis) + " of " + describe(b.type()) +
               ", and axes meet from the right")
        .hint(isVector ? "reshape one: " + describe(shorter.type()) + " by reshape(x, (" + sizes +
                             ")), or the other to (N,)"
                       : "reshape or transpose one, so that samples meet samples");
    return false;
  }
  int64_t size = batch.outer * site.entry().samples() * batch.inner;
  // A field that has as many elements as there are samples, and none of them is a sample's.
  const Tensor &other = left.exists() ? b : a;
  int64_t axis = batch.axis - (int64_t(shape.size()) - other.rank());
  bool isField = other.hasData && other.origin && other.origin->isDeclaration;
  bool isOtherData = batch.exists() && left.exists() != right.exists() && isField && axis >= 0 &&
                     size != 1 && other.shape()[axis] == size;
  if (isOtherData) {
    site.evaluator
        .errorAbout(site.range,
                    "the batch axis of " + describe((left.exists() ? a : b).type()) +
                        " meets an axis of " + describe(other.type()) + " that counts no samples",
                    other, describe(other.type()))
        .hint("the axis that counts samples is called N");
    return false;
  }
  if (batch.exists() && shape[batch.axis] != size) {
    site.error("the batch axis of " + describe((left.exists() ? a : b).type()) +
               " cannot be repeated");
    return false;
  }
  return true;
}

bool matchOperands(Site &site, const Operand &a, const Operand &b, Tensor &left, Tensor &right,
                   BatchAxis &batch) {
  for (const Operand *operand : {&a, &b}) {
    if (operand->value.isPoison())
      return false;
    if (operand->value.isTensor() || operand->value.isNumber())
      continue;
    site.evaluator
        .error(operand->range,
               site.label + " expects tensors or numbers, found " + describe(operand->value))
        .hint(hintForResults(operand->value, site.evaluator.shortText(operand->range)));
    return false;
  }
  const Tensor *leftTensor = a.value.getIf<Tensor>(), *rightTensor = b.value.getIf<Tensor>();
  auto converted = leftTensor && rightTensor ? std::optional<Tensor>(*leftTensor)
                   : leftTensor              ? numberTensor(site, b, *leftTensor)
                                             : numberTensor(site, a, *rightTensor);
  if (!converted)
    return false;
  left = leftTensor ? *leftTensor : *converted;
  right = rightTensor ? *rightTensor : *converted;
  if (left.dtype() != right.dtype()) {
    site.error(describe(left.type()) + " and " + describe(right.type()) + " have different dtypes")
        .hint("cast one of them, as in f32(x)");
    return false;
  }
  return broadcastBoth(site, left, right, batch);
}

bool broadcastBoth(Site &site, Tensor &left, Tensor &right, BatchAxis &batch) {
  auto shape = broadcastShape(site, left, right);
  if (!shape || !joinBatch(site, left, right, *shape, batch) ||
      !site.checkSize(*shape, left.type().getElementType()))
    return false;
  for (Tensor *operand : {&left, &right}) {
    if (operand->shape() == llvm::ArrayRef(*shape))
      continue;
    // Something repeated is no longer a plain sum over the batch.
    operand->hasData |= operand->terms != nullptr;
    operand->terms = nullptr;
    dl::TensorBuilder b = at(site);
    operand->value = dl::formulas::expandTo(b, operand->value, *shape);
  }
  return true;
}

// --------------------------------------------------------------------------------------- operators

/// How the tensor adds up over batches, if it does: its terms, or itself if no data is in it.
static std::optional<MetricTerms> termsOf(const Tensor &x) {
  if (x.terms && x.finish == program::Finish::None)
    return *x.terms;
  if (x.hasData)
    return std::nullopt;
  return MetricTerms{{x.value, 1, false}};
}

static std::shared_ptr<const MetricTerms> scaledTerms(const Tensor &x, double factor) {
  auto terms = termsOf(x);
  return terms ? std::make_shared<const MetricTerms>(dl::scaled(std::move(*terms), factor))
               : nullptr;
}

/// left + factor * right
static std::shared_ptr<const MetricTerms> addedTerms(Site &site, const Tensor &left,
                                                     const Tensor &right, double factor) {
  auto first = termsOf(left), second = termsOf(right);
  if (!first || !second)
    return nullptr;
  MetricTerms sum = dl::added(std::move(*first), *second, factor);
  if (!site.evaluator.spend(sum.size(), site.range))
    return nullptr;
  return std::make_shared<const MetricTerms>(std::move(sum));
}

static std::shared_ptr<const MetricTerms> arithmeticTerms(Site &site, Arithmetic kind,
                                                          const Operand &a, const Operand &b,
                                                          const Tensor &left, const Tensor &right) {
  switch (kind) {
  case Arithmetic::Add:
    return addedTerms(site, left, right, 1);
  case Arithmetic::Subtract:
    return addedTerms(site, left, right, -1);
  case Arithmetic::Multiply:
    if (a.value.isNumber())
      return scaledTerms(right, a.value.number());
    return b.value.isNumber() ? scaledTerms(left, b.value.number()) : nullptr;
  case Arithmetic::Divide:
    return b.value.isNumber() ? scaledTerms(left, 1 / b.value.number()) : nullptr;
  default:
    return nullptr;
  }
}

static mlir::Value arithmetic(dl::TensorBuilder b, Arithmetic kind, mlir::Value left,
                              mlir::Value right) {
  switch (kind) {
  case Arithmetic::Add:
    return b.add(left, right);
  case Arithmetic::Subtract:
    return b.subtract(left, right);
  case Arithmetic::Multiply:
    return b.multiply(left, right);
  case Arithmetic::Divide:
    return b.divide(left, right);
  case Arithmetic::Maximum:
    return b.maximum(left, right);
  case Arithmetic::Minimum:
    return dl::MinimumOp::create(b.builder, b.loc, left, right);
  }
  llvm_unreachable("all kinds are listed");
}

Value applyArithmetic(Site &site, Arithmetic kind, const Operand &a, const Operand &b) {
  Tensor left, right;
  BatchAxis batch;
  if (!matchOperands(site, a, b, left, right, batch))
    return Poison{};
  if (left.dtype() == DType::Bool || (kind == Arithmetic::Divide && !isFloat(left.dtype()))) {
    site.error(site.label + " does not work on " + describe(left.type()))
        .hint("cast it with f32(...)");
    return Poison{};
  }
  if (kind == Arithmetic::Divide && b.value.isNumber() && b.value.number() == 0) {
    site.evaluator.error(b.range, "division by zero");
    return Poison{};
  }
  mlir::Value value = arithmetic(at(site), kind, left.value, right.value);
  Tensor result = site.make(value, batch, {&left, &right});
  bool likeLeft = a.value.isTensor() && a.value.as<Tensor>().shape() == result.shape();
  if (const Origin *origin = likeLeft ? left.origin : right.origin)
    result.origin = origin;
  if (result.hasData)
    result.terms = arithmeticTerms(site, kind, a, b, left, right);
  return result;
}

Value applyCompare(Site &site, dl::Predicate predicate, const Operand &a, const Operand &b) {
  Tensor left, right;
  BatchAxis batch;
  if (!matchOperands(site, a, b, left, right, batch))
    return Poison{};
  if (left.dtype() == DType::Bool) {
    site.error(site.label + " does not work on " + describe(left.type()));
    return Poison{};
  }
  auto type = left.type().clone(mlir::IntegerType::get(left.value.getContext(), 1));
  mlir::Value value = dl::CompareOp::create(site.entry().builder, site.location(), type, predicate,
                                            left.value, right.value);
  return site.make(value, batch, {&left, &right});
}

Value applyNegate(Site &site, const Tensor &x) {
  if (x.dtype() == DType::Bool || x.dtype() == DType::U8) {
    site.error("'-' does not work on " + describe(x.type())).hint("cast it with f32(...)");
    return Poison{};
  }
  Tensor result = site.makeLike(
      dl::NegateOp::create(site.entry().builder, site.location(), x.value.getType(), x.value), x);
  if (x.terms)
    result.terms = scaledTerms(x, -1);
  return result;
}

// ---------------------------------------------------------------------------------------- products

/// Leading axes of a matrix product, broadcast like NumPy's.
static bool matmulBatches(Site &site, Tensor &a, Tensor &b) {
  int64_t rank = std::max(a.rank(), b.rank());
  llvm::SmallVector<int64_t> lead(rank - 2, 1);
  for (const Tensor *t : {&a, &b}) {
    int64_t offset = rank - t->rank();
    for (int64_t i = 0; i + 2 < t->rank(); ++i) {
      int64_t size = t->shape()[i], &joined = lead[offset + i];
      if (joined != 1 && size != 1 && joined != size) {
        site.error("shapes " + describe(a.type()) + " and " + describe(b.type()) +
                   " do not fit: their leading axes differ");
        return false;
      }
      joined = joined == 1 ? size : joined;
    }
  }
  dl::TensorBuilder builder = at(site);
  for (Tensor *t : {&a, &b}) {
    llvm::SmallVector<int64_t> shape(lead);
    shape.append(t->shape().end() - 2, t->shape().end());
    t->batch = shifted(*t, rank);
    if (!site.checkSize(shape, t->type().getElementType()))
      return false;
    t->value = dl::formulas::expandTo(builder, t->value, shape);
  }
  return true;
}

Value applyMatmul(Site &site, const Operand &a, const Operand &b) {
  for (const Operand *operand : {&a, &b}) {
    if (operand->value.isPoison())
      return Poison{};
    const Tensor *tensor = operand->value.getIf<Tensor>();
    if (!tensor || !isFloat(tensor->dtype()) || tensor->rank() < 2) {
      site.evaluator.error(
          operand->range, site.label + " expects floating-point tensors of rank 2 or more, found " +
                              describe(operand->value));
      return Poison{};
    }
  }
  Tensor left = a.value.as<Tensor>(), right = b.value.as<Tensor>();
  int64_t inner = left.shape().back(), other = right.shape()[right.rank() - 2];
  if (left.dtype() != right.dtype() || inner != other) {
    site.evaluator.errorAbout(site.range,
                              "shapes " + describe(left.type()) + " and " + describe(right.type()) +
                                  " do not fit: the inner sizes are " + llvm::Twine(inner) +
                                  " and " + llvm::Twine(other),
                              right, llvm::Twine(other));
    return Poison{};
  }
  if (!site.checkNotBatch(left, {left.rank() - 1}, a.range) ||
      !site.checkNotBatch(right, {right.rank() - 2}, b.range) || !matmulBatches(site, left, right))
    return Poison{};
  llvm::SmallVector<int64_t> shape(left.shape());
  shape.back() = right.shape().back();
  BatchAxis batch = left.batch.exists() ? left.batch : right.batch;
  if (left.batch.exists() && right.batch.exists() && left.batch != right.batch) {
    site.error("the batch lies on different axes of " + describe(left.type()) + " and " +
               describe(right.type()));
    return Poison{};
  }
  if (!site.checkSize(shape, left.type().getElementType()))
    return Poison{};
  mlir::Value value = dl::MatmulOp::create(site.entry().builder, site.location(),
                                           left.type().clone(shape), left.value, right.value,
                                           /*transpose_a=*/false, /*transpose_b=*/false);
  return site.make(value, batch, {&left, &right});
}

// -------------------------------------------------------------------------------------- reductions

/// What padding must hold so that it does not count.
static double neutral(Reduction kind, DType dtype) {
  bool isMax = kind == Reduction::Max;
  if (kind == Reduction::Sum || kind == Reduction::Mean)
    return 0;
  switch (dtype) {
  case DType::I32:
    return isMax ? -2147483648.0 : 2147483647.0;
  case DType::I64:
    return isMax ? -0x1p62 : 0x1p62;
  case DType::U8:
    return isMax ? 0 : 255;
  default:
    return isMax ? -std::numeric_limits<double>::infinity()
                 : std::numeric_limits<double>::infinity();
  }
}

static dl::ReduceKind opKind(Reduction kind) {
  return kind == Reduction::Max   ? dl::ReduceKind::Max
         : kind == Reduction::Min ? dl::ReduceKind::Min
                                  : dl::ReduceKind::Sum;
}

static std::shared_ptr<const MetricTerms> reducedTerms(Site &site, Reduction kind, const Tensor &x,
                                                       llvm::ArrayRef<int64_t> axes,
                                                       mlir::Value sum, int64_t count,
                                                       bool overBatch) {
  bool isMean = kind == Reduction::Mean;
  if (kind != Reduction::Sum && !isMean)
    return nullptr;
  if (overBatch)
    return std::make_shared<const MetricTerms>(
        MetricTerms{site.entry().meanOfBatch(sum, isMean ? count : 1)});
  if (!x.terms || x.finish != program::Finish::None)
    return nullptr;
  MetricTerms result;
  for (const MetricTerm &term : *x.terms)
    result.push_back({at(site).reduce(dl::ReduceKind::Sum, term.sum, axes),
                      isMean ? term.coefficient / count : term.coefficient, term.perSample,
                      term.count});
  return std::make_shared<const MetricTerms>(std::move(result));
}

Value applyReduce(Site &site, Reduction kind, const Tensor &x, llvm::ArrayRef<int64_t> axes,
                  bool keep) {
  if (axes.empty())
    return x;
  int64_t count = 1;
  llvm::SmallVector<int64_t> kept(x.shape());
  BatchAxis batch = x.batch;
  for (int64_t axis : axes) {
    count *= x.shape()[axis];
    kept[axis] = 1;
    if (!keep && axis < x.batch.axis)
      --batch.axis;
  }
  bool overBatch = x.batch.exists() && llvm::is_contained(axes, int64_t(x.batch.axis));
  if (overBatch)
    batch = {};
  if (count == 0 && kind != Reduction::Sum) {
    site.error(site.label + " of no elements: the shape is " + describe(x.type()));
    return Poison{};
  }
  if (x.dtype() == DType::Bool || (kind == Reduction::Mean && !isFloat(x.dtype()))) {
    site.error(site.label + " does not work on " + describe(x.type()))
        .hint("cast it with f32(...)");
    return Poison{};
  }
  mlir::Value source = overBatch ? site.entry().maskPadding(site.location(), x.value, x.batch,
                                                            neutral(kind, x.dtype()))
                                 : x.value;
  dl::TensorBuilder b = at(site);
  mlir::Value reduced = b.reduce(opKind(kind), source, axes), value = reduced;
  if (kind == Reduction::Mean)
    value = overBatch ? site.entry().divideByValid(b.loc, reduced, count)
                      : b.divide(reduced, b.splatLike(reduced, double(count)));
  if (keep)
    value = b.reshape(value, x.type().clone(kept));
  Tensor result = site.make(value, batch, {&x});
  if (!keep && x.hasData)
    result.terms = reducedTerms(site, kind, x, axes, reduced, count, overBatch);
  return result;
}

Value applyReduceAll(Site &site, Reduction kind, const Tensor &x) {
  return applyReduce(site, kind, x, llvm::to_vector(llvm::seq<int64_t>(0, x.rank())),
                     /*keep=*/false);
}

// ----------------------------------------------------------------------------------------- reshape

/// Where the samples lie after a reshape: the axis that holds their digit of the row-major index
/// alone, or the first that holds it among others. (With N = 1 more than one may.)
static std::optional<BatchAxis> reshapedBatch(const Tensor &x, llvm::ArrayRef<int64_t> shape,
                                              int64_t samples) {
  int64_t stride = x.batch.inner;
  for (int64_t size : x.shape().drop_front(x.batch.axis + 1))
    stride *= size;
  int64_t below = *elementCount(shape);
  std::optional<BatchAxis> found;
  for (auto [axis, size] : llvm::enumerate(shape)) {
    int64_t above = below;
    below /= size;
    if (stride % below != 0 || above % (stride * samples) != 0)
      continue;
    BatchAxis candidate{int(axis), above / (stride * samples), stride / below};
    if (!found || candidate.isPlain())
      found = candidate;
    if (candidate.isPlain())
      break;
  }
  return found;
}

Value applyReshape(Site &site, const Tensor &x, llvm::ArrayRef<int64_t> shape) {
  BatchAxis batch;
  bool isEmpty = llvm::is_contained(shape, 0) || site.entry().samples() == 0;
  if (x.batch.exists() && !isEmpty) {
    auto found = reshapedBatch(x, shape, site.entry().samples());
    if (!found) {
      site.error("reshape splits the batch, axis " + llvm::Twine(x.batch.axis) + " of " +
                 describe(x.type()) + ", over several axes");
      return Poison{};
    }
    batch = *found;
  } else if (x.batch.exists() && llvm::ArrayRef(shape).take_front(x.batch.axis + 1) ==
                                     x.shape().take_front(x.batch.axis + 1)) {
    // No element tells where its sample lies now, but an axis that stays does.
    batch = x.batch;
  }
  Tensor result = site.make(at(site).reshape(x.value, x.type().clone(shape)), batch, {&x});
  if (result.shape() == x.shape())
    result.origin = x.origin;
  return result;
}

} // namespace dlc::frontend
