// Reductions, pooling, shapes, products, and tensors made from nothing.
#include "dialects/DL/Facts/WindowIndex.h"
#include "dialects/DL/Formulas/Elementwise.h"
#include "dialects/DL/Formulas/Pixels.h"
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "frontend/DL/Builtins/BuiltinFormulas.h"
#include "frontend/DL/Builtins/Windows.h"
#include "frontend/DL/Evaluation/TensorFile.h"

#include "llvm/Support/FileSystem.h"

namespace dlc::frontend {

// -------------------------------------------------------------------------------------- reductions

bool readAxes(Call &call, const Tensor &x, llvm::SmallVectorImpl<int64_t> &axes) {
  const int64_t rank = x.rank();
  llvm::SmallVector<int64_t> numbers;
  if (call.isNone("axes"))
    llvm::append_range(numbers, llvm::seq<int64_t>(0, rank));
  else
    numbers = call.integers("axes");
  for (int64_t number : numbers) {
    int64_t axis = number < 0 ? number + rank : number;
    if (axis < 0 || axis >= rank) {
      call.failAxis("axes", number, x);
      return false;
    }
    if (llvm::is_contained(axes, axis)) {
      call.fail("axes", "axis " + llvm::Twine(number) + " is given twice");
      return false;
    }
    axes.push_back(axis);
  }
  llvm::sort(axes);
  return true;
}

template <Reduction kind> static Value buildReduce(Call &call) {
  const Tensor &x = call.tensor("x");
  llvm::SmallVector<int64_t> axes;
  if (!readAxes(call, x, axes))
    return Poison{};
  return applyReduce(call, kind, x, axes, call.flag("keep"));
}

// ----------------------------------------------------------------------------------------- pooling

enum class Pool { Max, Average };

static bool checkPoolInput(Call &call, const Tensor &x) {
  if (x.rank() < 3 || x.rank() > 5) {
    call.fail("x", call.label + " expects a tensor [N, C, spatial...] of rank 3 to 5, found " +
                       describe(x.type()));
    return false;
  }
  return call.checkNotBatch(x, llvm::to_vector(llvm::seq<int64_t>(2, x.rank())), call.rangeOf("x"));
}

/// The maximum over a window of more elements than the gradient can tell apart, axis by axis from
/// the last: of equal ones the first in the window remains the one that it flows to.
static mlir::Value maximumByAxes(dl::TensorBuilder b, mlir::Value x, const Window &window,
                                 llvm::ArrayRef<int64_t> sizes) {
  llvm::SmallVector<int64_t> shape(b.typeOf(x).getShape());
  for (size_t i = window.kernel.size(); i-- > 0;) {
    Window one = window;
    for (size_t other = 0; other < window.kernel.size(); ++other)
      if (other != i) {
        one.kernel[other] = one.strides[other] = one.dilations[other] = 1;
        one.padding[2 * other] = one.padding[2 * other + 1] = 0;
      }
    shape[2 + i] = sizes[i];
    x = dl::MaxPoolOp::create(b.builder, b.loc, b.typeOf(x).clone(shape), /*index=*/mlir::Type(), x,
                              one.kernel, one.strides, one.padding, one.dilations)
            .getY();
  }
  return x;
}

template <Pool kind> static Value buildPool(Call &call) {
  const Tensor &x = call.tensor("x");
  Window window;
  if (!checkPoolInput(call, x) || !readWindow(call, x.rank() - 2, window))
    return Poison{};
  for (size_t i = 0; i < window.kernel.size(); ++i)
    if (std::max(window.padding[2 * i], window.padding[2 * i + 1]) >= window.extent(i))
      return call.fail("padding", "the padding of " + call.label + " is smaller than its kernel");
  if (!checkWindowFits(call, x, window))
    return Poison{};
  llvm::SmallVector<int64_t> shape(x.shape().take_front(2));
  llvm::append_range(shape, outputSizes(x, window, call.flag("ceil_mode")));
  EntryBuilder &entry = call.entry();
  auto type = x.type().clone(shape);
  if (!call.checkSize(shape, type.getElementType()) ||
      !checkWindowsMeetInput(call, x, window, llvm::ArrayRef(shape).drop_front(2)))
    return Poison{};
  mlir::Value y;
  if (kind == Pool::Max && llvm::product_of(window.kernel) > dl::mostIndexed)
    y = maximumByAxes(at(call), x.value, window, llvm::ArrayRef(shape).drop_front(2));
  else if constexpr (kind == Pool::Max)
    y = dl::MaxPoolOp::create(entry.builder, call.location(), type, /*index=*/mlir::Type(), x.value,
                              window.kernel, window.strides, window.padding, window.dilations)
            .getY();
  else
    y = dl::AveragePoolOp::create(entry.builder, call.location(), type, x.value, window.kernel,
                                  window.strides, window.padding, window.dilations,
                                  call.flag("count_include_pad"));
  return call.make(y, x.batch, {&x});
}

/// A window over each size, where the sizes divide and a maximum has a gradient; else axis by axis,
/// as the windows are products of intervals.
template <Pool kind> static Value buildAdaptivePool(Call &call) {
  const Tensor &x = call.tensor("x");
  llvm::SmallVector<int64_t> sizes, kernel;
  if (!checkPoolInput(call, x) || !call.integers("size", x.rank() - 2, 1, sizes))
    return Poison{};
  bool divides = true;
  for (auto [extent, size] : llvm::zip(x.shape().drop_front(2), sizes)) {
    if (extent == 0)
      return call.fail("x", call.label + " of no elements: the shape is " + describe(x.type()));
    if (!call.evaluator.spendElements(size, call.range))
      return Poison{};
    divides &= extent % size == 0;
    kernel.push_back(extent / size);
  }
  llvm::SmallVector<int64_t> shape(x.shape().take_front(2));
  llvm::append_range(shape, sizes);
  if (!call.checkSize(shape, x.type().getElementType()))
    return Poison{};
  dl::TensorBuilder b = at(call);
  mlir::Value y = x.value;
  if (!divides || (kind == Pool::Max && llvm::product_of(kernel) > dl::mostIndexed)) {
    for (auto [i, size] : llvm::enumerate(sizes))
      y = dl::formulas::poolInParts(b, kind == Pool::Max, y, int64_t(i) + 2, size);
    return call.make(y, x.batch, {&x});
  }
  llvm::SmallVector<int64_t> none(2 * sizes.size(), 0), ones(sizes.size(), 1);
  auto type = x.type().clone(shape);
  if constexpr (kind == Pool::Max)
    y = dl::MaxPoolOp::create(b.builder, b.loc, type, /*index=*/mlir::Type(), y, kernel, kernel,
                              none, ones)
            .getY();
  else
    y = dl::AveragePoolOp::create(b.builder, b.loc, type, y, kernel, kernel, none, ones,
                                  /*count_include_pad=*/true);
  return call.make(y, x.batch, {&x});
}

template <Reduction kind> static Value buildGlobalPool(Call &call) {
  const Tensor &x = call.tensor("x");
  if (!checkPoolInput(call, x))
    return Poison{};
  return applyReduce(call, kind, x, llvm::to_vector(llvm::seq<int64_t>(2, x.rank())),
                     /*keep=*/true);
}

// ------------------------------------------------------------------------------------------ shapes

bool readShape(Call &call, bool mayBeOpen, llvm::SmallVectorImpl<int64_t> &shape) {
  shape = call.integers("shape");
  bool isOpen = false;
  for (int64_t size : shape) {
    if (size >= 0)
      continue;
    if (size != -1 || !mayBeOpen || std::exchange(isOpen, true)) {
      call.fail("shape", size == -1 && mayBeOpen
                             ? std::string("more than one size is -1")
                             : "a size is 0 or more" +
                                   std::string(mayBeOpen ? ", one may be -1" : "") + ", found " +
                                   std::to_string(size));
      return false;
    }
  }
  return true;
}

/// What there is to give another shape to.
static std::string hintForSample(const Tensor &x) {
  if (!x.batch.isPlain() || x.shape()[x.batch.axis] == 0)
    return "the shape is " + joinSizes(x.shape());
  llvm::SmallVector<int64_t> sizes(x.shape());
  int64_t count = x.type().getNumElements() / x.shape()[x.batch.axis];
  sizes.erase(sizes.begin() + x.batch.axis);
  return counted(count, "element") + " a sample" +
         (sizes.size() > 1 ? ": " + joinSizes(sizes) : std::string());
}

static Value buildReshape(Call &call) {
  const Tensor &x = call.tensor("x");
  llvm::SmallVector<int64_t> shape;
  if (!readShape(call, /*mayBeOpen=*/true, shape))
    return Poison{};
  int64_t count = x.type().getNumElements();
  if (auto *open = llvm::find(shape, -1); open != shape.end()) {
    *open = 1;
    auto known = elementCount(shape);
    if (!known || *known == 0 || count % *known != 0)
      return call.fail("shape",
                       describe(x.type()) + " has " + llvm::Twine(count) +
                           " elements, the other sizes do not divide it",
                       hintForSample(x));
    *open = count / *known;
  }
  auto found = elementCount(shape);
  if (!found || *found != count)
    return call.fail("shape",
                     describe(x.type()) + " has " + llvm::Twine(count) + " elements, the shape " +
                         joinSizes(shape) +
                         (found ? " has " + std::to_string(*found) : " has more"),
                     hintForSample(x) + "; one size may be -1");
  return applyReshape(call, x, shape);
}

static Value buildFlatten(Call &call) {
  const Tensor &x = call.tensor("x");
  int64_t start = call.integer("start");
  if (start < 0 || start > x.rank())
    return call.failAxis("start", start, x);
  llvm::SmallVector<int64_t> shape(x.shape().take_front(start));
  shape.push_back(*elementCount(x.shape().drop_front(start)));
  return applyReshape(call, x, shape);
}

static Value buildTranspose(Call &call) {
  const Tensor &x = call.tensor("x");
  llvm::SmallVector<int64_t> order, shape;
  if (!call.integers("order", x.rank(), 0, order))
    return Poison{};
  BatchAxis batch = x.batch;
  for (auto [i, axis] : llvm::enumerate(order)) {
    if (axis >= x.rank() || llvm::is_contained(llvm::ArrayRef(order).take_front(i), axis))
      return call.fail("order", "the order of the axes names each of 0 to " +
                                    llvm::Twine(x.rank() - 1) + " once");
    shape.push_back(x.shape()[axis]);
    if (axis == x.batch.axis)
      batch.axis = i;
  }
  EntryBuilder &entry = call.entry();
  mlir::Value y = dl::TransposeOp::create(entry.builder, call.location(), x.type().clone(shape),
                                          x.value, order);
  return call.make(y, batch, {&x});
}

static Value buildBroadcast(Call &call) {
  const Tensor &x = call.tensor("x");
  llvm::SmallVector<int64_t> shape;
  if (!readShape(call, /*mayBeOpen=*/false, shape) ||
      !call.checkSize(shape, x.type().getElementType()))
    return Poison{};
  int64_t offset = int64_t(shape.size()) - x.rank();
  bool fits = offset >= 0;
  for (int64_t i = 0; fits && i < x.rank(); ++i)
    fits = x.shape()[i] == 1 || x.shape()[i] == shape[offset + i];
  BatchAxis batch = x.batch;
  if (batch.exists())
    batch.axis += offset;
  if (!fits || (batch.exists() && shape[batch.axis] != x.shape()[x.batch.axis]))
    return call.fail("shape", describe(x.type()) + " cannot be repeated to " + joinSizes(shape));
  dl::TensorBuilder b = at(call);
  return call.make(dl::formulas::expandTo(b, x.value, shape), batch, {&x});
}

static Value buildMatmul(Call &call) {
  return applyMatmul(call, call.operand("a"), call.operand("b"));
}

static Value buildByPhase(Call &call) {
  return call.value(call.entry().isTraining() ? "training" : "inference");
}

// ------------------------------------------------------------------------------------------ making

static Value makeSplat(Call &call, double value) {
  llvm::SmallVector<int64_t> shape;
  mlir::Type element = mlir::Float32Type::get(&call.evaluator.program.context);
  if (!readShape(call, /*mayBeOpen=*/false, shape) || !call.checkSize(shape, element))
    return Poison{};
  return call.make(at(call).splat(mlir::RankedTensorType::get(shape, element), value), {}, {});
}
static Value buildZeros(Call &call) { return makeSplat(call, 0); }
static Value buildOnes(Call &call) { return makeSplat(call, 1); }
static Value buildFull(Call &call) { return makeSplat(call, call.number("value")); }

/// The file stands beside the one that names it, or in a folder of -I.
static Value buildFileTensor(Call &call) {
  Program &program = call.evaluator.program;
  SourceRange place = call.rangeOf("file");
  std::string name = call.string("file").str();
  for (llvm::StringRef other : {"numbers", "shape"})
    if (!call.isNone(other))
      return call.fail(other, "'" + other + "' and 'file' are two ways to say what a tensor holds");
  auto candidates =
      importCandidates(program.sources.name(place.file), name, program.options.includeDirs);
  auto path = llvm::find_if(candidates,
                            [](const std::string &each) { return llvm::sys::fs::exists(each); });
  if (path == candidates.end()) {
    auto error = call.evaluator.error(place, "there is no file '" + name + "'");
    for (const std::string &candidate : candidates)
      error.note({}, "looked for " + candidate);
    return Poison{};
  }
  std::string reason;
  auto tensor = readTensorFile(*path, reason);
  if (!tensor)
    return call.fail("file", "cannot read '" + *path + "': " + reason);
  if (!call.isNone("dtype") && call.value("dtype").as<DType>() != tensor->dtype)
    return call.fail("dtype", "'" + *path + "' holds " + spelling(tensor->dtype),
                     "cast it: " + spelling(call.value("dtype").as<DType>()) + "(tensor(...))");
  mlir::Type element = elementType(tensor->dtype, &program.context);
  if (!call.checkSize(tensor->shape, element))
    return Poison{};
  auto type = mlir::RankedTensorType::get(tensor->shape, element);
  llvm::ArrayRef bytes(reinterpret_cast<const char *>(tensor->bytes.data()), tensor->bytes.size());
  // Bools are bits in an attribute.
  llvm::SmallVector<bool> bits;
  if (tensor->dtype == DType::Bool)
    for (char byte : bytes)
      bits.push_back(byte != 0);
  auto value = tensor->dtype == DType::Bool
                   ? mlir::DenseElementsAttr::get(type, bits)
                   : mlir::DenseElementsAttr::getFromRawBuffer(type, bytes);
  return call.make(dl::ConstantOp::create(call.entry().builder, call.location(), type,
                                          llvm::cast<mlir::ElementsAttr>(value)),
                   {}, {});
}

static Value buildTensor(Call &call) {
  if (!call.isNone("file"))
    return buildFileTensor(call);
  if (!call.value("numbers").isSequence())
    return call.fail("numbers", "'numbers' expects a sequence of numbers, found " +
                                    describe(call.value("numbers")));
  llvm::ArrayRef<Value> numbers = call.value("numbers").items();
  llvm::SmallVector<int64_t> shape;
  if (call.isNone("shape"))
    shape.push_back(numbers.size());
  else if (!readShape(call, /*mayBeOpen=*/false, shape))
    return Poison{};
  DType dtype = call.isNone("dtype") ? DType::F32 : call.value("dtype").as<DType>();
  mlir::Type element = elementType(dtype, &call.evaluator.program.context);
  if (!call.checkSize(shape, element))
    return Poison{};
  if (*elementCount(shape) != int64_t(numbers.size()))
    return call.fail("numbers", "the shape " + joinSizes(shape) + " has " +
                                    llvm::Twine(*elementCount(shape)) + " elements, " +
                                    llvm::Twine(numbers.size()) + " numbers are given");
  mlir::Builder builder(&call.evaluator.program.context);
  llvm::SmallVector<mlir::Attribute> elements;
  for (const Value &number : numbers) {
    if (!fitsInto(number, dtype))
      return call.fail(
          "numbers", "an element of " + spelling(dtype) + " cannot be " + describe(number),
          number.isSequence() ? "numbers stand in one sequence: shape=(2, 2) lays them" : "");
    elements.push_back(isFloat(dtype)
                           ? mlir::Attribute(builder.getFloatAttr(element, number.number()))
                           : builder.getIntegerAttr(element, number.integer()));
  }
  auto type = mlir::RankedTensorType::get(shape, element);
  auto value = llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, elements));
  return call.make(dl::ConstantOp::create(call.entry().builder, call.location(), type, value), {},
                   {});
}

// -------------------------------------------------------------------------------------------- rows

static std::vector<Builtin> reductionRows() {
  using K = ParamKind;
  auto reduction = [](llvm::StringLiteral name, llvm::StringLiteral doc, Value (*build)(Call &),
                      unsigned positional = 2) {
    return Builtin{
        name,
        Category::Function,
        {{"x", K::Tensor}, {"axes", K::Integers, NoneValue{}, true}, {"keep", K::Bool, false}},
        doc,
        build,
        "",
        positional};
  };
  return {
      reduction("sum", "sum over axes, or all", buildReduce<Reduction::Sum>),
      reduction("mean", "mean over axes, or all", buildReduce<Reduction::Mean>),
      // max(x, 0) is taken for the larger of the two.
      reduction("max", "largest element over axes, or all", buildReduce<Reduction::Max>, 1),
      reduction("min", "smallest element over axes, or all", buildReduce<Reduction::Min>, 1),
      reduction("product", "product over axes, or all", buildProduct),
      reduction("norm", "root of the sum of squares over axes, or all", buildNorm),
      {"argmax",
       Category::Function,
       {{"x", K::Tensor}, {"axis", K::Integer}},
       "index of the largest element",
       buildArgmax},
      {"cumulative_sum",
       Category::Function,
       {{"x", K::Tensor}, {"axis", K::Integer}},
       "running sum along an axis",
       buildCumulativeSum},
      {"top_k",
       Category::Function,
       {{"x", K::Tensor}, {"k", K::Integer}},
       "the k largest of the last axis: values, indices",
       buildTopK},
  };
}

static std::vector<Builtin> poolRows() {
  using K = ParamKind;
  std::vector<BuiltinParam> window{{"x", K::FloatTensor},
                                   {"kernel", K::Integers},
                                   {"stride", K::Integers, NoneValue{}, true},
                                   {"padding", K::Any, 0},
                                   {"dilation", K::Integers, 1},
                                   {"ceil_mode", K::Bool, false}};
  std::vector<BuiltinParam> average = window;
  average.push_back({"count_include_pad", K::Bool, true});
  return {
      {"max_pool", Category::Function, window,
       "maximum over a window; the stride is the kernel if not given", buildPool<Pool::Max>, "", 2},
      {"average_pool", Category::Function, average,
       "mean over a window; the stride is the kernel if not given", buildPool<Pool::Average>, "",
       2},
      {"adaptive_average_pool",
       Category::Function,
       {{"x", K::FloatTensor}, {"size", K::Integers}},
       "mean over as many windows as `size` says, of sizes that differ by one at most",
       buildAdaptivePool<Pool::Average>},
      {"adaptive_max_pool",
       Category::Function,
       {{"x", K::FloatTensor}, {"size", K::Integers}},
       "maximum over as many windows as `size` says",
       buildAdaptivePool<Pool::Max>},
      {"global_average_pool",
       Category::Function,
       {{"x", K::FloatTensor}},
       "mean of each channel; the axes stay with size 1",
       buildGlobalPool<Reduction::Mean>},
      {"global_max_pool",
       Category::Function,
       {{"x", K::FloatTensor}},
       "maximum of each channel; the axes stay with size 1",
       buildGlobalPool<Reduction::Max>},
  };
}

static std::vector<Builtin> shapeRows() {
  using K = ParamKind;
  return {
      {"reshape",
       Category::Function,
       {{"x", K::Tensor}, {"shape", K::Integers}},
       "the same elements in another shape; one size may be -1",
       buildReshape},
      {"flatten",
       Category::Function,
       {{"x", K::Tensor}, {"start", K::Integer, 1}},
       "joins the axes from `start` on",
       buildFlatten},
      {"transpose",
       Category::Function,
       {{"x", K::Tensor}, {"order", K::Integers}},
       "axis i of the result is axis order[i]",
       buildTranspose},
      {"broadcast",
       Category::Function,
       {{"x", K::Tensor}, {"shape", K::Integers}},
       "repeats to a shape, from the right",
       buildBroadcast},
  };
}

static Value buildStopGradient(Call &call) {
  return applyUnary<dl::StopGradientOp>(call, call.tensor("x"));
}

/// Of the samples' sum, it is each sample's own: a gradient by x lies along x's batch.
static Value buildGradient(Call &call) {
  const Tensor &y = call.tensor("y"), &x = call.tensor("x");
  if (y.rank() != 0)
    return call.fail("y", "gradient expects a scalar y, found " + describe(y.type()),
                     "the gradient of its sum: gradient(sum(y), x)");
  auto gradient = dl::GradientOp::create(call.entry().builder, call.location(), y.value, x.value);
  Tensor result = call.makeLike(gradient.getResult(0), x);
  result.hasData = x.hasData || y.hasData;
  return result;
}

static std::vector<Builtin> otherRows() {
  using K = ParamKind;
  return {
      {"matmul",
       Category::Function,
       {{"a", K::Tensor}, {"b", K::Tensor}},
       "matrix product over the last two axes, as '@'",
       buildMatmul},
      {"attention",
       Category::Function,
       {{"q", K::FloatTensor},
        {"k", K::FloatTensor},
        {"v", K::FloatTensor},
        {"causal", K::Bool, false},
        {"mask", K::Tensor, NoneValue{}, true},
        {"scale", K::Number, NoneValue{}, true},
        {"dropout", K::Number, 0}},
       "softmax(q k^T) v on [N, heads, T, D]",
       buildAttention,
       "",
       3},
      {"one_hot",
       Category::Function,
       {{"index", K::IndexTensor}, {"count", K::Integer}},
       "1 at the index, else 0; 0 for a number that is none of them, which in an input or a "
       "constant is an error",
       buildOneHot},
      {"gradient",
       Category::Function,
       {{"y", K::FloatTensor}, {"x", K::FloatTensor}},
       "dy/dx of a scalar y",
       buildGradient},
      {"stop_gradient",
       Category::Function,
       {{"x", K::FloatTensor}},
       "x, through which no gradient flows",
       buildStopGradient},
      {"by_phase",
       Category::Source,
       {{"training", K::Any}, {"inference", K::Any}},
       "one value in training, the other else",
       buildByPhase},
      {"tensor",
       Category::Source,
       {{"numbers", K::Any, NoneValue{}},
        {"shape", K::Integers, NoneValue{}, true},
        {"dtype", K::DType, NoneValue{}, true},
        {"file", K::String, NoneValue{}, true}},
       "a tensor of given numbers, f32 if no `dtype` says otherwise, or of a .npy or .safetensors "
       "file",
       buildTensor,
       "",
       1},
      {"zeros", Category::Source, {{"shape", K::Integers}}, "f32 zeros", buildZeros},
      {"ones", Category::Source, {{"shape", K::Integers}}, "f32 ones", buildOnes},
      {"full",
       Category::Source,
       {{"shape", K::Integers}, {"value", K::Number}},
       "f32 of one value",
       buildFull},
  };
}

std::vector<Builtin> tensorBuiltins() {
  std::vector<Builtin> rows;
  for (auto part : {reductionRows(), poolRows(), shapeRows(), partBuiltins(), orderBuiltins(),
                    otherRows(), randomBuiltins()})
    llvm::append_range(rows, part);
  return rows;
}

} // namespace dlc::frontend
