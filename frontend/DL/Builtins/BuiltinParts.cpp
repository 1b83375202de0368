// Parts of tensors: joined, cut and padded.
#include "dialects/DL/Formulas/Parts.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "frontend/DL/Builtins/BuiltinFormulas.h"

namespace dlc::frontend {

// ---------------------------------------------------------------------------------- concat, stack

namespace {
/// The tensors of `parts`: of one dtype, with the batch on one axis. Parts that depend on no data
/// have none.
struct Parts {
  llvm::SmallVector<const Tensor *> tensors;
  BatchAxis batch;

  const Tensor &first() const { return *tensors.front(); }
  bool read(Call &call);
};
} // namespace

bool Parts::read(Call &call) {
  auto fail = [&](const llvm::Twine &message, const llvm::Twine &hint = "") {
    call.fail("parts", message, hint);
    return false;
  };
  for (const Value &item : call.value("parts").items()) {
    const Tensor *part = item.getIf<Tensor>();
    if (!part)
      return fail("'parts' holds tensors, found " + describe(item));
    tensors.push_back(part);
    if (part->dtype() != first().dtype())
      return fail(describe(first().type()) + " and " + describe(part->type()) +
                      " have different dtypes",
                  "cast one of them, as in f32(x)");
    if (part->rank() != first().rank())
      return fail(describe(first().type()) + " and " + describe(part->type()) +
                  " have different numbers of axes");
    if (!part->batch.exists())
      continue;
    if (batch.exists() && batch != part->batch)
      return fail("the batch lies on axis " + llvm::Twine(batch.axis) +
                  " of one part and on axis " + llvm::Twine(part->batch.axis) + " of another");
    batch = part->batch;
  }
  return !tensors.empty() || fail("'parts' is empty");
}

/// `values` one behind the other along `axis`.
static Value join(Call &call, const Parts &parts, llvm::ArrayRef<mlir::Value> values, int64_t axis,
                  BatchAxis batch) {
  llvm::SmallVector<int64_t> shape;
  for (mlir::Value value : values) {
    auto sizes = llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
    if (shape.empty())
      shape.assign(sizes.begin(), sizes.end());
    else
      shape[axis] += sizes[axis];
  }
  if (!call.checkSize(shape, parts.first().type().getElementType()))
    return Poison{};
  return call.make(
      dl::ConcatOp::create(call.entry().builder, call.location(), values, axis).getResult(), batch,
      parts.tensors);
}

static Value buildConcat(Call &call) {
  Parts parts;
  int64_t axis;
  if (!parts.read(call) || !call.axis("axis", parts.first(), axis))
    return Poison{};
  llvm::SmallVector<mlir::Value> values;
  for (const Tensor *part : parts.tensors) {
    if (!call.checkNotBatch(*part, {axis}, call.rangeOf("parts")))
      return Poison{};
    for (int64_t i = 0; i < part->rank(); ++i)
      if (i != axis && part->shape()[i] != parts.first().shape()[i])
        return call.fail("parts", describe(parts.first().type()) + " and " +
                                      describe(part->type()) + " differ along axis " +
                                      llvm::Twine(i) + ", not only along axis " +
                                      llvm::Twine(axis));
    values.push_back(part->value);
  }
  return join(call, parts, values, axis, parts.batch);
}

static Value buildStack(Call &call) {
  Parts parts;
  int64_t axis;
  if (!parts.read(call) || !call.axis("axis", parts.first(), axis, /*added=*/1))
    return Poison{};
  llvm::SmallVector<int64_t> shape(parts.first().shape());
  shape.insert(shape.begin() + axis, 1);
  llvm::SmallVector<mlir::Value> values;
  for (const Tensor *part : parts.tensors) {
    if (part->shape() != parts.first().shape())
      return call.fail("parts", describe(parts.first().type()) + " and " + describe(part->type()) +
                                    " have different shapes");
    values.push_back(at(call).reshape(part->value, part->type().clone(shape)));
  }
  BatchAxis batch = parts.batch;
  batch.axis += batch.exists() && batch.axis >= axis;
  return join(call, parts, values, axis, batch);
}

// ------------------------------------------------------------------------------------------ split

static Value buildSplit(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t axis;
  if (!call.axis("axis", x, axis) || !call.checkNotBatch(x, {axis}, call.rangeOf("x")))
    return Poison{};
  int64_t extent = x.shape()[axis];
  llvm::SmallVector<int64_t> sizes;
  if (call.value("sizes").isInteger()) {
    int64_t count = call.integer("sizes");
    if (count < 1 || extent % count != 0)
      return call.fail("sizes", llvm::Twine(count) + " parts do not divide the " +
                                    llvm::Twine(extent) + " elements along axis " +
                                    llvm::Twine(axis) + " of " + describe(x.type()));
    if (!call.evaluator.spendElements(count, call.range))
      return Poison{};
    sizes.assign(count, extent / count);
  } else {
    int64_t sum = 0;
    for (const Value &item : call.value("sizes").items()) {
      int64_t size = item.integer();
      if (size < 0 || size > extent - sum)
        return call.fail("sizes", "the parts' sizes are 0 or more and add up to " +
                                      llvm::Twine(extent) + ", found " + llvm::Twine(size) +
                                      " behind " + llvm::Twine(sum));
      sizes.push_back(size);
      sum += size;
    }
    if (sum != extent)
      return call.fail("sizes", "the parts' sizes add up to " + llvm::Twine(sum) + ", axis " +
                                    llvm::Twine(axis) + " has " + llvm::Twine(extent) +
                                    " elements");
  }
  llvm::SmallVector<int64_t> starts(x.rank(), 0), shape(x.shape()), steps(x.rank(), 1);
  std::vector<Value> parts;
  for (int64_t size : sizes) {
    shape[axis] = size;
    parts.push_back(call.make(
        dl::SliceOp::create(call.entry().builder, call.location(), x.value, starts, shape, steps),
        x.batch, {&x}));
    starts[axis] += size;
  }
  return call.evaluator.makeSequence(std::move(parts), call.range);
}

// -------------------------------------------------------------------------------------------- pad

/// (before, after) of each axis. False after an error.
static bool readSides(Call &call, const Tensor &x, llvm::SmallVectorImpl<int64_t> &before,
                      llvm::SmallVectorImpl<int64_t> &shape) {
  llvm::ArrayRef<Value> sides = call.value("sides").items();
  auto isPair = [](const Value &side) {
    return side.isSequence() && side.items().size() == 2 &&
           llvm::all_of(side.items(), [](const Value &each) { return each.isInteger(); });
  };
  if (int64_t(sides.size()) != x.rank() || !llvm::all_of(sides, isPair)) {
    call.fail("sides", "'sides' is a pair (before, after) for each of the " +
                           llvm::Twine(x.rank()) + " axes of " + describe(x.type()) + ", found " +
                           describe(call.value("sides")));
    return false;
  }
  for (auto [axis, side] : llvm::enumerate(sides)) {
    int64_t low = side.items()[0].integer(), high = side.items()[1].integer(), size;
    if (low < 0 || high < 0) {
      call.fail("sides", "a side is 0 or more, found " + llvm::Twine(std::min(low, high)));
      return false;
    }
    if ((low != 0 || high != 0) && !call.checkNotBatch(x, {int64_t(axis)}, call.rangeOf("sides")))
      return false;
    // What is beyond all memory is found by checkSize.
    if (llvm::AddOverflow(low, high, size) || llvm::AddOverflow(size, x.shape()[axis], size))
      size = std::numeric_limits<int64_t>::max();
    before.push_back(low);
    shape.push_back(size);
  }
  return call.checkSize(shape, x.type().getElementType());
}

static Value buildPad(Call &call) {
  const Tensor &x = call.tensor("x");
  llvm::SmallVector<int64_t> before, shape;
  if (!readSides(call, x, before, shape))
    return Poison{};
  const Value &value = call.value("value");
  if (!fitsInto(value, x.dtype()))
    return call.fail("value", describe(value) + " is no element of " + describe(x.type()));
  dl::TensorBuilder b = at(call);
  return call.make(dl::formulas::padWith(b, x.value, shape, before, value.number()), x.batch, {&x});
}

// --------------------------------------------------------------------------- gather, scatter_add

/// Where the batch of what is looked up by `index` along `axis` of x lies: that of x or of the
/// index. False after an error.
static bool lookedUpBatch(Call &call, const Tensor &x, const Tensor &index, int64_t axis,
                          BatchAxis &batch) {
  if (!call.checkNotBatch(x, {axis}, call.rangeOf("x")))
    return false;
  if (x.batch.exists() && index.batch.exists()) {
    call.fail("index", "the batch lies on axis " + llvm::Twine(x.batch.axis) +
                           " of x and on axis " + llvm::Twine(index.batch.axis) +
                           " of the index: each sample would be looked up in all");
    return false;
  }
  batch = x.batch.exists() ? x.batch : index.batch;
  if (x.batch.exists())
    batch.axis += x.batch.axis > axis ? index.rank() - 1 : 0;
  else if (index.batch.exists())
    batch.axis += axis;
  return true;
}

static Value buildGather(Call &call) {
  const Tensor &x = call.tensor("x"), &index = call.tensor("index");
  int64_t axis;
  BatchAxis batch;
  if (!call.axis("axis", x, axis) || !lookedUpBatch(call, x, index, axis, batch) ||
      !call.checkSize(dl::lookedUpShape(x.shape(), index.shape(), axis),
                      x.type().getElementType()) ||
      !call.markNumbers("index", x.shape()[axis]))
    return Poison{};
  return call.make(
      dl::GatherOp::create(call.entry().builder, call.location(), x.value, index.value, axis),
      batch, {&x, &index});
}

/// x + the sums. Where values or numbers are of samples and the sums are not, padding counts as 0.
static Value buildScatterAdd(Call &call) {
  const Tensor &x = call.tensor("x"), &index = call.tensor("index"),
               &values = call.tensor("values");
  int64_t axis;
  BatchAxis batch;
  if (!call.axis("axis", x, axis) || !lookedUpBatch(call, x, index, axis, batch))
    return Poison{};
  auto shape = dl::lookedUpShape(x.shape(), index.shape(), axis);
  if (values.shape() != llvm::ArrayRef(shape) || values.dtype() != x.dtype() ||
      x.dtype() == DType::Bool)
    return call.fail("values", "the values to be added to " + describe(x.type()) + " at " +
                                   describe(index.type()) + " along axis " + llvm::Twine(axis) +
                                   " are numbers of its dtype and the sizes " + joinSizes(shape) +
                                   ", found " + describe(values.type()));
  if (values.batch.exists() && batch.exists() && values.batch != batch)
    return call.fail("values", "the batch lies on axis " + llvm::Twine(values.batch.axis) +
                                   " of the values and on axis " + llvm::Twine(batch.axis) +
                                   " of what they are added at");
  const BatchAxis samples = values.batch.exists() ? values.batch : batch;
  bool overBatch = !x.batch.exists() && samples.exists() && samples.axis >= axis &&
                   samples.axis < axis + index.rank();
  if (values.batch.exists() && !overBatch && !x.batch.exists())
    return call.fail("x", "the values have samples along axis " + llvm::Twine(values.batch.axis) +
                              ", x has none");
  if (!call.markNumbers("index", x.shape()[axis]))
    return Poison{};
  mlir::Value added = overBatch
                          ? call.entry().maskPadding(call.location(), values.value, samples, 0)
                          : values.value;
  mlir::Value sums = dl::ScatterAddOp::create(call.entry().builder, call.location(),
                                              x.value.getType(), added, index.value, axis);
  return call.make(at(call).add(x.value, sums), x.batch, {&x, &index, &values});
}

std::vector<Builtin> partBuiltins() {
  using K = ParamKind;
  return {
      {"concat",
       Category::Function,
       {{"parts", K::Sequence}, {"axis", K::Integer, 1}},
       "joins tensors along an axis",
       buildConcat},
      {"stack",
       Category::Function,
       {{"parts", K::Sequence}, {"axis", K::Integer, 0}},
       "joins tensors along a new axis",
       buildStack},
      {"split",
       Category::Function,
       {{"x", K::Tensor}, {"sizes", K::Integers}, {"axis", K::Integer, 1}},
       "parts along an axis: a count, or their sizes",
       buildSplit},
      {"pad",
       Category::Function,
       {{"x", K::Tensor}, {"sides", K::Sequence}, {"value", K::Number, 0}},
       "adds (before, after) to each axis",
       buildPad},
      {"gather",
       Category::Function,
       {{"x", K::Tensor}, {"index", K::IndexTensor}, {"axis", K::Integer, 0}},
       "parts of x, each by its number along an axis; 0 for a number that x does not have, "
       "which in an input or a constant is an error",
       buildGather},
      {"scatter_add",
       Category::Function,
       {{"x", K::Tensor},
        {"index", K::IndexTensor},
        {"values", K::Tensor},
        {"axis", K::Integer, 0}},
       "x with `values`, shaped as gather(x, index, axis), added where that reads",
       buildScatterAdd},
  };
}

} // namespace dlc::frontend
