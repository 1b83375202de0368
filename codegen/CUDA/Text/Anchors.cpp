//===- Anchors.cpp - see Anchors.h ------------------------------------------------------------===//
#include "codegen/CUDA/Text/Anchors.h"
#include "codegen/CUDA/Text/Quads.h"
#include "codegen/Kernel/MergedAxes.h"
#include "dialects/DL/Facts/ConvolutionForm.h"
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Sizes
//===------------------------------------------------------------------------------------------===//

std::optional<unsigned> codegen::storedOperand(Value value) {
  bool isReshaped = false;
  while (Operation *op = value.getDefiningOp()) {
    auto index = dyn_cast<dl::IndexOp>(op);
    if (!isa<dl::ConvertLayoutOp>(op) && !(index && index.isView()))
      return std::nullopt;
    isReshaped |= bool(index);
    value = op->getOperand(0);
  }
  if (isReshaped && !program::PhysicalLayout::get(cast<RankedTensorType>(value.getType())).rowMajor)
    return std::nullopt;
  return cast<BlockArgument>(value).getArgNumber();
}

ReducedAxes::ReducedAxes(dl::ReductionOp op) {
  for (const MergedAxis &axis : mergedAxes(op)) {
    shape.push_back(axis.extent);
    reduced.push_back(axis.reduced);
  }
}

SmallVector<int64_t> ReducedAxes::extents(bool ofReduced) const {
  SmallVector<int64_t> result;
  for (auto [extent, isReduced] : llvm::zip_equal(shape, reduced))
    if (isReduced == ofReduced)
      result.push_back(extent);
  return result;
}

Point codegen::reducedPoint(DeviceFunction &function, const ReducedAxes &axes) {
  SmallVector<Value> k = function.delinearize(function.index(0), axes.extents(false));
  SmallVector<Value> r = function.delinearize(function.index(1), axes.extents(true)), indices;
  size_t nextK = 0, nextR = 0;
  for (bool isReduced : axes.reduced)
    indices.push_back(isReduced ? r[nextR++] : k[nextK++]);
  return DeviceFunction::point(axes.shape, indices);
}

ProductSizes::ProductSizes(dl::MatmulOp op) {
  auto a = cast<RankedTensorType>(op.getA().getType()).getShape();
  auto c = cast<RankedTensorType>(op.getC().getType()).getShape();
  size_t rank = c.size();
  batch = product(c.drop_back(2));
  m = c[rank - 2];
  n = c[rank - 1];
  k = a[rank - (op.getTransposeA() ? 2 : 1)];
}

void codegen::addAxes(KernelText &text, const dl::WindowGeometry &g) {
  static constexpr StringRef names[] = {"D", "H", "W"};
  for (auto [name, axis] : llvm::zip_equal(names, g.threeAxes()))
    text.axis(name, axis);
}

//===------------------------------------------------------------------------------------------===//
// Accessors
//===------------------------------------------------------------------------------------------===//

Point codegen::ownPoint(DeviceFunction &function, ArrayRef<int64_t> space) {
  SmallVector<Value> indices;
  for (unsigned i = 0; i < space.size(); ++i)
    indices.push_back(function.index(i));
  return DeviceFunction::point(space, indices);
}

LogicalResult codegen::addAccessor(KernelText &text, StringRef name, Value value,
                                   ArrayRef<int64_t> shape, ArrayRef<StringRef> axes) {
  DeviceFunction function(text.spec, name, axes);
  BodyEmitter body = function.body();
  Value element = body.emit(value, ownPoint(function, shape));
  if (!element)
    return failure();
  function.returns(element);
  return text.add(function);
}

LogicalResult codegen::setAnchorType(KernelText &text, Type element) {
  std::string name = computedTypeName(element);
  text.type("T", name);
  return success(!name.empty());
}

static Type elementOf(Value tensor) { return getElementTypeOrSelf(tensor); }

std::string codegen::totalMember(ArrayRef<dl::ReductionOp> reductions, unsigned number) {
  for (auto [i, op] : llvm::enumerate(reductions)) {
    unsigned results = op->getNumResults();
    if (number < results) {
      StringRef field = !isa<dl::MomentsOp>(*op) ? "value" : number == 0 ? "mean" : "m2";
      return ("r" + Twine(i) + "." + field).str();
    }
    number -= results;
  }
  llvm_unreachable("no result of the reductions");
}

/// Of one reduction: a total, or count, mean and m2.
static unsigned valuesOf(dl::ReductionOp op) { return isa<dl::MomentsOp>(*op) ? 3 : 1; }

unsigned codegen::totalValues(ArrayRef<dl::ReductionOp> reductions) {
  unsigned values = 0;
  for (dl::ReductionOp op : reductions)
    values += valuesOf(op);
  return values;
}

std::string codegen::totalsStruct(ArrayRef<dl::ReductionOp> reductions, StringRef name) {
  std::string fields, clear, finish, merge, shuffled, save, load;
  unsigned values = 0;
  for (size_t i = 0; i < reductions.size(); ++i) {
    dl::ReductionOp op = reductions[i];
    std::string type = computedTypeName(elementOf(op.getReduced())), r = "r" + std::to_string(i);
    if (type.empty())
      return "";
    if (auto reduce = dyn_cast<dl::ReduceOp>(*op)) {
      StringRef kind = reduce.getKind() == dl::ReduceKind::Sum   ? "Sum"
                       : reduce.getKind() == dl::ReduceKind::Max ? "Max"
                                                                 : "Min";
      fields += llvm::formatv("    Total<{0}, {1}> {2};\n", kind, type, r).str();
    } else {
      fields += llvm::formatv("    Moments<{0}> {1};\n", type, r).str();
    }
    clear += " " + r + ".clear();";
    finish += " " + r + ".finish();";
    merge += " " + r + ".merge(b." + r + ");";
    shuffled += (i == 0 ? "" : ", ") + r + ".shuffled(bits)";
    std::string at = values == 0 ? "at" : "at + " + std::to_string(values) + " * STRIDE";
    save += " " + r + ".template save<STRIDE>(p, " + at + ");";
    load += " " + r + ".template load<STRIDE>(p, " + at + ");";
    values += valuesOf(op);
  }
  return llvm::formatv("  struct {7} {{\n{0}"
                       "    __device__ void clear() {{{1} }\n"
                       "    __device__ void finish() {{{2} }\n"
                       "    __device__ void merge(const {7} &b) {{{3} }\n"
                       "    __device__ {7} shuffled(int bits) const {{ return {{{4}}; }\n"
                       "    template <int STRIDE, class B> "
                       "__device__ void save(B p, int at) const {{{5} }\n"
                       "    template <int STRIDE, class B> "
                       "__device__ void load(B p, int at) {{{6} }\n"
                       "  };\n",
                       fields, clear, finish, merge, shuffled, save, load, name);
}

std::string codegen::reductionMembers(const KernelSpec &spec, bool quads) {
  ArrayRef<dl::ReductionOp> reductions = spec.reductions();
  const ReducedAxes axes(reductions.front());
  const int64_t count = product(axes.shape);
  auto liesLikeReduced = [&](RankedTensorType type) {
    return type.getNumElements() == count && program::PhysicalLayout::get(type).rowMajor;
  };
  DeviceFunction at(spec, "at", {"k", "r"});
  at.returns(at.linear(reducedPoint(at, axes)));
  // elements(k, r, a0, ..., e0, ..., r0, ...): what is reduced, and results in front of that, from
  // the elements of operands that lie like it.
  DeviceFunction function(spec, "elements", {"k", "r"});
  const Point own = reducedPoint(function, axes);
  Quads access(function);
  BodyEmitter body = function.bodyGiven([&](unsigned number, const Point &point) {
    return quads && point == own && liesLikeReduced(spec.operandTypes()[number])
               ? access.operand(number, "i")
               : Value();
  });
  std::string values, elements, adds;
  for (auto [i, op] : llvm::enumerate(reductions)) {
    const std::string number = std::to_string(i);
    const Value reduced = dl::ReductionOp(op).getReduced();
    if (failed(function.assign("e" + number, elementOf(reduced), body.emit(reduced, own))))
      return "";
    values += "      " + storedTypeName(elementOf(reduced)) + " e" + number + ";\n";
    elements += ", e" + number;
    adds +=
        "      v" + std::string(quads ? "[l]" : "") + ".r" + number + ".add(e" + number + ");\n";
  }
  for (auto [number, type] : llvm::enumerate(spec.resultTypes())) {
    if (spec.dependsOnAnchor(spec.result(number)))
      continue;
    if (type.getNumElements() != count)
      return "";
    const LogicalResult stored =
        liesLikeReduced(type)
            ? access.result(number, "i", body.emitStored(spec.result(number), own))
            : function.store(body, number, own);
    if (failed(stored))
      return "";
  }
  const std::string totals = totalsStruct(reductions, "Totals"), place = at.print(),
                    printed = function.print();
  if (totals.empty() || place.empty() || printed.empty())
    return "";
  const Quads::Text moved = access.text(quads);
  const std::string loop =
      quads ? "#pragma unroll\n    for (int l = 0; l < 4; ++l) {\n" : std::string("    {\n");
  return llvm::formatv("  static constexpr int KEPT = {0};\n  static constexpr int REDUCED = {1};\n"
                       "  static constexpr bool QUADS = {2};\n{3}{4}{5}"
                       "  __device__ void add(Totals {6}, int k, int r) const {{\n{7}{8}"
                       "{9}{10}      elements({11}{12}{13}{14});\n{15}    }\n{16}  }\n",
                       product(axes.extents(false)), product(axes.extents(true)),
                       quads ? "true" : "false", totals, place, printed, quads ? "(&v)[4]" : "&v",
                       moved.before.empty() ? "" : "    int i = at(k, r);\n", moved.before, loop,
                       values, quads ? "k + l, r" : "k, r", moved.operands, elements, moved.results,
                       adds, moved.after)
      .str();
}

static FailureOr<AnchorForm> describeMatmul(KernelText &text, dl::MatmulOp op) {
  ProductSizes s(op);
  for (auto [name, value] : {std::pair("BATCH", s.batch), {"M", s.m}, {"N", s.n}, {"K", s.k}})
    text.constant(name, value);
  auto operand = [&](StringRef name, Value value, int64_t rows, int64_t columns, bool transposed,
                     StringRef row, StringRef column) {
    DeviceFunction function(text.spec, name, {"b", row, column});
    SmallVector<int64_t> shape = {s.batch, rows, columns};
    SmallVector<Value> indices = {function.index(0), function.index(1), function.index(2)};
    if (transposed) {
      std::swap(shape[1], shape[2]);
      std::swap(indices[1], indices[2]);
    }
    BodyEmitter body = function.body();
    Value element = body.emit(value, DeviceFunction::point(shape, indices));
    if (!element)
      return failure();
    function.returns(element);
    return text.add(function);
  };
  if (failed(setAnchorType(text, elementOf(op.getC()))) ||
      failed(operand("a", op.getA(), s.m, s.k, op.getTransposeA(), "m", "k")) ||
      failed(operand("b", op.getB(), s.k, s.n, op.getTransposeB(), "k", "n")))
    return failure();
  return AnchorForm{{s.batch, s.m, s.n}, {"b", "m", "n"}, elementOf(op.getC())};
}

static FailureOr<AnchorForm> describeConvolution(KernelText &text,
                                                 const dl::ConvolutionForm &convolution) {
  const dl::ConvolutionGeometry &g = convolution.geometry;
  Value result = convolution.result();
  text.constant("IMAGES", g.batch);
  text.constant("CHANNELS", g.channels);
  text.constant("FILTERS", g.filters);
  text.constant("GROUPS", g.groups);
  addAxes(text, g);
  struct Tensor {
    Value value;
    StringRef name;
    SmallVector<int64_t> shape;
    SmallVector<StringRef> axes;
  };
  Tensor all[] = {{convolution.x, "x", convolution.xShape(), {"n", "c", "d", "h", "w"}},
                  {convolution.w, "w", convolution.wShape(), {"f", "c", "t", "r", "s"}},
                  {convolution.y, "y", convolution.yShape(), {"n", "f", "o", "p", "q"}}};
  if (failed(setAnchorType(text, elementOf(result))))
    return failure();
  AnchorForm form;
  for (const Tensor &tensor : all) {
    if (tensor.value == result)
      form = {tensor.shape, tensor.axes, elementOf(result)};
    else if (failed(addAccessor(text, tensor.name, tensor.value, tensor.shape, tensor.axes)))
      return failure();
  }
  return form;
}

FailureOr<AnchorForm> codegen::describeProduct(KernelText &text) {
  Operation *op = text.spec.anchorOp();
  if (auto matmul = dyn_cast<dl::MatmulOp>(op))
    return describeMatmul(text, matmul);
  return describeConvolution(text, dl::ConvolutionForm::get(op));
}

SmallVector<Value> codegen::addAnchorValues(DeviceFunction &function, ValueRange results) {
  SmallVector<Value> values;
  for (auto [i, result] : llvm::enumerate(results))
    // v0, v1, ... are the printer's own.
    values.push_back(
        function.addSum(i == 0 ? "v" : "value" + std::to_string(i), getElementTypeOrSelf(result)));
  return values;
}

/// The values behind those of the anchor from `first` on, which are given at `own`.
static BodyEmitter bodyBehind(DeviceFunction &function, unsigned first, ArrayRef<Value> given,
                              const Point &own) {
  return function.body([first, given, own](unsigned number, const Point &at) {
    return at == own && number >= first && number - first < given.size() ? given[number - first]
                                                                         : Value();
  });
}

LogicalResult codegen::storeAt(DeviceFunction &function, BodyEmitter &body, unsigned number,
                               const Point &own) {
  RankedTensorType type = function.spec.resultTypes()[number];
  if (type.getNumElements() != product(own.shape) ||
      program::PhysicalLayout::get(type).elements != type.getNumElements())
    return failure();
  return function.store(body, number, own);
}

/// `name`(k, v): finishes and stores what waits for the reductions, v's, of element k. They are the
/// anchor's values from `first` on, and such a result is of pass `pass`.
static LogicalResult addTotalsStore(KernelText &text, int64_t kept, unsigned first, unsigned pass,
                                    StringRef name) {
  const KernelSpec &spec = text.spec;
  DeviceFunction function(spec, name, {"k"});
  const Point own = ownPoint(function, kept);
  const SmallVector<Value> values =
      addAnchorValues(function, ArrayRef(spec.anchorResults()).drop_front(first));
  BodyEmitter body = bodyBehind(function, first, values, own);
  for (unsigned number = 0; number < spec.resultTypes().size(); ++number)
    if (spec.passOf(spec.result(number)) >= pass && failed(storeAt(function, body, number, own)))
      return failure();
  if (failed(text.add(function)))
    return failure();
  std::string arguments;
  for (unsigned i = 0; i < values.size(); ++i)
    arguments += ", v." + totalMember(spec.reductions(), i);
  text.members(
      llvm::formatv("  __device__ void {0}(int k, const Totals &v) const {{ {0}(k{1}); }\n", name,
                    arguments)
          .str());
  return success();
}

LogicalResult codegen::addStore(KernelText &text, const AnchorForm &form, StringRef name) {
  const KernelSpec &spec = text.spec;
  if (spec.hasSums() || spec.hasReductionsBehind())
    return failure();
  if (spec.anchor() == Anchor::Reduce)
    return addTotalsStore(text, form.space[0], /*first=*/0, /*pass=*/1, name);
  DeviceFunction function(spec, name, form.axes);
  const Point own = ownPoint(function, form.space);
  const SmallVector<Value> values = addAnchorValues(function, spec.anchorResults());
  BodyEmitter body = bodyBehind(function, /*first=*/0, values, own);
  for (unsigned number = 0; number < spec.resultTypes().size(); ++number)
    if (failed(storeAt(function, body, number, own)))
      return failure();
  return text.add(function);
}

LogicalResult codegen::addReducingStore(KernelText &text, const AnchorForm &form, StringRef name) {
  const KernelSpec &spec = text.spec;
  ArrayRef<dl::ReductionOp> reductions = spec.reductions();
  const int64_t channel = 1, kept = form.space[channel];
  auto isOfChannels = [&](dl::ReductionOp op) {
    return op.getKeptAxes() == ArrayRef(channel) && elementOf(op.getReduced()).isF32();
  };
  if (!spec.hasReductionsBehind() || !llvm::all_of(reductions, isOfChannels))
    return failure();
  const unsigned ofAnchor = spec.anchorOp()->getNumResults();
  DeviceFunction function(spec, name, form.axes);
  const Point own = ownPoint(function, form.space);
  const SmallVector<Value> values =
      addAnchorValues(function, ArrayRef(spec.anchorResults()).take_front(ofAnchor));
  BodyEmitter body = bodyBehind(function, /*first=*/0, values, own);
  std::string elements, arguments, adds;
  for (unsigned i = 0; i < reductions.size(); ++i) {
    const std::string element = "e" + std::to_string(i);
    dl::ReductionOp op = reductions[i];
    if (failed(
            function.assign(element, elementOf(op.getReduced()), body.emit(op.getReduced(), own))))
      return failure();
    elements += (i == 0 ? "" : ", ") + element;
    adds += llvm::formatv("    totals.r{0}.add({1});\n", i, element).str();
  }
  for (unsigned number = 0; number < spec.resultTypes().size(); ++number) {
    const unsigned pass = spec.passOf(spec.result(number));
    if (pass == 0 || (pass == 1 && failed(storeAt(function, body, number, own))))
      return failure();
  }
  if (failed(text.add(function)))
    return failure();
  std::string parameters;
  for (StringRef axis : form.axes) {
    parameters += ("int " + axis + ", ").str();
    arguments += (axis + ", ").str();
  }
  text.constant("KEPT", kept);
  text.members(totalsStruct(reductions, "Totals"));
  text.members(llvm::formatv("  __device__ void {0}({1}T v, Totals &totals) const {{\n"
                             "    float {2};\n    {0}({3}v, {2});\n{4}  }\n",
                             name, parameters, elements, arguments, adds)
                   .str());
  return addTotalsStore(text, kept, ofAnchor, /*pass=*/2, "store");
}
