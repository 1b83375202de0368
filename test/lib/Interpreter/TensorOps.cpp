//===- TensorOps.cpp - constants, shapes, reductions, products --------------------------------===//
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <map>

using namespace mlir;

namespace dlc::interpreter {

static Tensor constant(dl::ConstantOp op) {
  Tensor result = Tensor::filled(shapeOf(op.getType()), 0);
  auto elements = cast<DenseElementsAttr>(op.getValue());
  Type element = elements.getElementType();
  if (isa<FloatType>(element)) {
    for (auto [i, value] : llvm::enumerate(elements.getValues<APFloat>())) {
      bool losesInfo = false;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      result.values[i] = value.convertToDouble();
    }
    return result;
  }
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  for (auto [i, value] : llvm::enumerate(elements.getValues<APInt>()))
    result.values[i] = isUnsigned ? double(value.getZExtValue()) : double(value.getSExtValue());
  return result;
}

static Tensor iota(dl::IotaOp op) {
  Shape shape = shapeOf(op.getType());
  Tensor result = Tensor::filled(op.getSpace() ? Shape(*op.getSpace()) : shape, 0);
  forEachIndex(result.shape, [&](const Index &index) {
    int64_t number = 0;
    for (int64_t axis : op.getAxes())
      number = number * result.shape[axis] + index[axis];
    result.at(index) = stored(static_cast<double>(number), getElementTypeOrSelf(op.getType()));
  });
  return {shape, result.values};
}

static Tensor broadcast(dl::BroadcastOp op, const Tensor &x) {
  Tensor result = Tensor::filled(shapeOf(op.getType()), 0);
  forEachIndex(result.shape, [&](const Index &index) {
    Index from;
    for (size_t axis = 0; axis < x.shape.size(); ++axis)
      from.push_back(x.shape[axis] == 1 ? 0 : index[op.getDims()[axis]]);
    result.at(index) = x.at(from);
  });
  return result;
}

static Tensor transpose(dl::TransposeOp op, const Tensor &x) {
  Shape shape;
  for (int64_t axis : op.getOrder())
    shape.push_back(x.shape[axis]);
  Tensor result = Tensor::filled(shape, 0);
  forEachIndex(x.shape, [&](const Index &index) {
    Index to;
    for (int64_t axis : op.getOrder())
      to.push_back(index[axis]);
    result.at(to) = x.at(index);
  });
  return result;
}

static Tensor slice(dl::SliceOp op, const Tensor &x) {
  Tensor result = Tensor::filled(shapeOf(op.getType()), 0);
  forEachIndex(result.shape, [&](const Index &index) {
    Index from;
    for (size_t axis = 0; axis < index.size(); ++axis)
      from.push_back(op.getStarts()[axis] + index[axis] * op.getSteps()[axis]);
    result.at(index) = x.at(from);
  });
  return result;
}

/// From the operand's side: each element goes to its place.
static Tensor pad(dl::PadOp op, const Tensor &x) {
  Tensor result = Tensor::filled(shapeOf(op.getType()), 0);
  forEachIndex(x.shape, [&](const Index &index) {
    Index to;
    for (size_t axis = 0; axis < index.size(); ++axis)
      to.push_back(op.getLow()[axis] + index[axis] * op.getSteps()[axis]);
    result.at(to) = x.at(index);
  });
  return result;
}

/// The index in x, or in what was scattered, of an index of what was looked up.
static Index lookedUp(const Index &at, const Tensor &index, int64_t axis) {
  size_t rank = index.shape.size();
  Index inIndex(at.begin() + axis, at.begin() + axis + rank), to(at.begin(), at.begin() + axis);
  to.push_back(static_cast<int64_t>(index.at(inIndex)));
  to.insert(to.end(), at.begin() + axis + rank, at.end());
  return to;
}

static bool isInside(const Index &index, const Shape &shape) {
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (index[axis] < 0 || index[axis] >= shape[axis])
      return false;
  return true;
}

static Tensor gather(dl::GatherOp op, const Tensor &x, const Tensor &index) {
  Tensor result = Tensor::filled(shapeOf(op.getType()), 0);
  forEachIndex(result.shape, [&](const Index &at) {
    Index from = lookedUp(at, index, op.getAxis());
    if (isInside(from, x.shape))
      result.at(at) = x.at(from);
  });
  return result;
}

static Tensor scatterAdd(dl::ScatterAddOp op, const Tensor &values, const Tensor &index) {
  Tensor result = Tensor::filled(shapeOf(op.getType()), 0);
  forEachIndex(values.shape, [&](const Index &at) {
    Index to = lookedUp(at, index, op.getAxis());
    if (isInside(to, result.shape))
      result.at(to) += values.at(at);
  });
  for (double &value : result.values)
    value = stored(value, getElementTypeOrSelf(op.getType()));
  return result;
}

/// By the first place of each number.
static std::vector<Tensor> sumRows(dl::SumRowsOp op, const Tensor &values, const Tensor &index) {
  Tensor rows = Tensor::filled(values.shape, 0), numbers = Tensor::filled(index.shape, -1);
  std::map<double, size_t> firsts;
  for (size_t j = 0; j < index.values.size(); ++j) {
    const double number = index.values[j];
    if (number < 0 || number >= double(op.getExtent()))
      continue;
    const size_t width = values.values.size() / index.values.size();
    const size_t first = firsts.try_emplace(number, j).first->second;
    numbers.values[first] = number;
    for (size_t i = 0; i < width; ++i)
      rows.values[first * width + i] += values.values[j * width + i];
  }
  for (double &value : rows.values)
    value = stored(value, getElementTypeOrSelf(op.getRows().getType()));
  return {rows, numbers};
}

/// From the operands' side: each element goes to its place.
static Tensor concat(dl::ConcatOp op, ArrayRef<Tensor> operands) {
  Tensor result = Tensor::filled(shapeOf(op.getType()), 0);
  int64_t before = 0;
  for (const Tensor &x : operands) {
    forEachIndex(x.shape, [&](const Index &index) {
      Index to = index;
      to[op.getAxis()] += before;
      result.at(to) = x.at(index);
    });
    before += x.shape[op.getAxis()];
  }
  return result;
}

static double combine(dl::ReduceKind kind, double a, double b) {
  if (kind == dl::ReduceKind::Sum)
    return a + b;
  if (std::isnan(a) || std::isnan(b))
    return std::nan("");
  return kind == dl::ReduceKind::Max ? std::max(a, b) : std::min(a, b);
}

static Tensor reduce(dl::ReduceOp op, const Tensor &x) {
  double start = 0;
  if (op.getKind() != dl::ReduceKind::Sum)
    start = op.getKind() == dl::ReduceKind::Max ? -INFINITY : INFINITY;
  Shape shape;
  for (size_t axis = 0; axis < x.shape.size(); ++axis)
    if (!llvm::is_contained(op.getAxes(), int64_t(axis)))
      shape.push_back(x.shape[axis]);
  Tensor result = Tensor::filled(shape, start);
  forEachIndex(x.shape, [&](const Index &index) {
    Index to;
    for (size_t axis = 0; axis < index.size(); ++axis)
      if (!llvm::is_contained(op.getAxes(), int64_t(axis)))
        to.push_back(index[axis]);
    result.at(to) = combine(op.getKind(), result.at(to), x.at(index));
  });
  for (double &value : result.values)
    value = stored(value, getElementTypeOrSelf(op.getType()));
  return result;
}

/// The mean first, then the squares of what is left of each element.
static std::vector<Tensor> moments(dl::MomentsOp op, const Tensor &x) {
  auto keptIndex = [&](const Index &index) {
    Index kept;
    for (size_t axis = 0; axis < index.size(); ++axis)
      if (!llvm::is_contained(op.getAxes(), int64_t(axis)))
        kept.push_back(index[axis]);
    return kept;
  };
  double count = 1;
  for (int64_t axis : op.getAxes())
    count *= double(x.shape[axis]);
  Tensor mean = Tensor::filled(shapeOf(op.getMean().getType()), 0), m2 = mean;
  forEachIndex(x.shape,
               [&](const Index &index) { mean.at(keptIndex(index)) += x.at(index) / count; });
  forEachIndex(x.shape, [&](const Index &index) {
    m2.at(keptIndex(index)) += std::pow(x.at(index) - mean.at(keptIndex(index)), 2);
  });
  return {mean, m2};
}

/// c[batch..., i, j] = sum over k of a[batch..., i, k] * b[batch..., k, j], a and b transposed
/// where asked.
static Tensor matmul(dl::MatmulOp op, const Tensor &a, const Tensor &b) {
  size_t rank = a.shape.size();
  int64_t rows = a.shape[op.getTransposeA() ? rank - 1 : rank - 2];
  int64_t inner = a.shape[op.getTransposeA() ? rank - 2 : rank - 1];
  int64_t columns = b.shape[op.getTransposeB() ? rank - 2 : rank - 1];
  Shape shape(a.shape.begin(), a.shape.end() - 2);
  int64_t batches = Tensor::sizeOf(shape);
  shape.push_back(rows);
  shape.push_back(columns);
  Tensor c = Tensor::filled(shape, 0);
  for (int64_t n = 0; n < batches; ++n)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k) {
          int64_t inA = op.getTransposeA() ? k * rows + i : i * inner + k;
          int64_t inB = op.getTransposeB() ? j * inner + k : k * columns + j;
          sum += a.values[n * rows * inner + inA] * b.values[n * inner * columns + inB];
        }
        c.values[(n * rows + i) * columns + j] = sum;
      }
  return c;
}

Values runTensorOp(Operation *op, ArrayRef<Tensor> operands) {
  using Result = std::vector<Tensor>;
  return llvm::TypeSwitch<Operation *, Values>(op)
      .Case<dl::ConstantOp>([](dl::ConstantOp op) { return Result{constant(op)}; })
      .Case<dl::IotaOp>([](dl::IotaOp op) { return Result{iota(op)}; })
      .Case<dl::BroadcastOp>([&](auto op) { return Result{broadcast(op, operands[0])}; })
      .Case<dl::TransposeOp>([&](auto op) { return Result{transpose(op, operands[0])}; })
      .Case<dl::SliceOp>([&](auto op) { return Result{slice(op, operands[0])}; })
      .Case<dl::PadOp>([&](auto op) { return Result{pad(op, operands[0])}; })
      .Case<dl::ConcatOp>([&](auto op) { return Result{concat(op, operands)}; })
      .Case<dl::GatherOp>([&](auto op) { return Result{gather(op, operands[0], operands[1])}; })
      .Case<dl::ScatterAddOp>(
          [&](auto op) { return Result{scatterAdd(op, operands[0], operands[1])}; })
      .Case<dl::SumRowsOp>([&](auto op) { return sumRows(op, operands[0], operands[1]); })
      .Case<dl::ReduceOp>([&](auto op) { return Result{reduce(op, operands[0])}; })
      .Case<dl::MomentsOp>([&](auto op) { return moments(op, operands[0]); })
      .Case<dl::MatmulOp>([&](auto op) { return Result{matmul(op, operands[0], operands[1])}; })
      .Case<dl::ReshapeOp>([&](dl::ReshapeOp op) {
        return Result{Tensor{shapeOf(op.getType()), operands[0].values}};
      })
      // One rank's sum over the ranks.
      .Case<dl::AllReduceOp>([&](auto) { return Result(operands.begin(), operands.end()); })
      .Default(Values());
}

} // namespace dlc::interpreter
