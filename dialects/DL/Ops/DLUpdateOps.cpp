//===- DLUpdateOps.cpp - scalars, and updates of many tensors or of rows ----------------------===//
#include "dialects/DL/Ops/DLUpdateOps.h"
#include <cmath>

using namespace mlir;
using namespace dlc::dl;

LogicalResult ScalarOp::verify() {
  Type element = getResult().getType().getElementType();
  if (isa<FloatType>(element))
    return success();
  double value = getValue().convertToDouble(), limit = element.isInteger(32) ? 0x1p31 : 0x1p63;
  if (value != std::floor(value) || value < -limit || value >= limit)
    return emitOpError("(C1) expects an ") << element << ", found " << getValueAttr();
  if (getScheduled())
    return emitOpError("(C2) is scheduled, but an ") << element;
  return success();
}

static Type elementOf(Value tensor) { return getElementTypeOrSelf(tensor); }

SmallVector<Type> MultiTensorOp::getStreamElements() {
  SmallVector<Type> elements;
  for (int64_t stream = 0; stream < int64_t(getStreams()); ++stream)
    elements.push_back(elementOf(getTensor(stream, 0)));
  return elements;
}

SmallVector<Type> MultiTensorOp::getResultElements() {
  SmallVector<Type> elements;
  for (int64_t run = 0; run < getResultStreams(); ++run)
    elements.push_back(elementOf(getResultTensor(run, 0)));
  return elements;
}

/// (C4) `tensor`, number i of what `where` names, beside the first stream's and the first of its
/// own run.
static LogicalResult verifyTensor(MultiTensorOp op, int64_t i, Value tensor, Value firstOfRun,
                                  const Twine &where) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto expected = cast<RankedTensorType>(op.getTensor(0, i).getType());
  if (type.clone(expected.getElementType()) != expected)
    return op.emitOpError("(C4) tensor ")
           << i << " is " << expected << " in stream 0, but " << type << " in " << where;
  if (elementOf(tensor) != elementOf(firstOfRun))
    return op.emitOpError("(C4) ") << where << " needs one element type, found " << type
                                   << " beside " << firstOfRun.getType();
  return success();
}

static LogicalResult verifyTensors(MultiTensorOp op) {
  for (int64_t i = 0; i < op.getCount(); ++i) {
    for (int64_t stream = 0; stream < int64_t(op.getStreams()); ++stream)
      if (failed(verifyTensor(op, i, op.getTensor(stream, i), op.getTensor(stream, 0),
                              "stream " + Twine(stream))))
        return failure();
    for (int64_t run = 0; run < op.getResultStreams(); ++run)
      if (failed(verifyTensor(op, i, op.getResultTensor(run, i), op.getResultTensor(run, 0),
                              "the results of value " + Twine(run))))
        return failure();
  }
  return success();
}

/// (C5), and the shapes of (C2) and (C3).
static LogicalResult verifyBody(MultiTensorOp op) {
  auto scalarOf = [](Type element) { return RankedTensorType::get({}, element); };
  SmallVector<Type> arguments = llvm::map_to_vector(
      op.getStreamElements(), [&](Type element) { return Type(scalarOf(element)); });
  SmallVector<Type> yielded = llvm::map_to_vector(
      op.getResultElements(), [&](Type element) { return Type(scalarOf(element)); });
  auto isForEach = [&](Value value) {
    return cast<ShapedType>(value.getType()).getShape() == ArrayRef<int64_t>(op.getCount());
  };
  for (Value each : op.getEach()) {
    if (!isForEach(each))
      return op.emitOpError("(C2) expects a number for each of ")
             << op.getCount() << " tensors, found " << each.getType();
    arguments.push_back(scalarOf(elementOf(each)));
  }
  llvm::append_range(arguments, op.getScalars().getTypes());
  if (op.getNumbered())
    arguments.push_back(scalarOf(IntegerType::get(op.getContext(), 32)));
  for (int64_t i = 0; i < int64_t(op.getSums()); ++i) {
    Type element = elementOf(op.getSum(i));
    if (!isForEach(op.getSum(i)))
      return op.emitOpError("(C3) has a sum for each of ")
             << op.getCount() << " tensors, found " << op.getSum(i).getType();
    if (!element.isF32() && !element.isF64())
      return op.emitOpError("(C5) sums are f32 or f64, found ") << op.getSum(i).getType();
    yielded.push_back(scalarOf(element));
  }
  Block &body = op.getBody().front();
  if (TypeRange(arguments) != body.getArgumentTypes())
    return op.emitOpError("(C5) the body takes (")
           << body.getArgumentTypes() << "), expected (" << arguments << ")";
  if (TypeRange(yielded) != body.getTerminator()->getOperandTypes())
    return op.emitOpError("(C5) the body yields (")
           << body.getTerminator()->getOperandTypes() << "), expected (" << yielded << ")";
  return success();
}

LogicalResult MultiTensorOp::verify() {
  int64_t tensors = getTensors().size(), streams = getStreams(), sums = getSums();
  if (streams < 1 || tensors == 0 || tensors % streams != 0)
    return emitOpError("(C1) has ") << tensors << " tensors for " << streams << " streams";
  int64_t count = getCount(), yielded = getBody().front().getTerminator()->getNumOperands();
  if (sums < 0 || sums > yielded)
    return emitOpError("(C3) has ") << sums << " sums, but yields " << yielded << " values";
  if (int64_t(getOperation()->getNumResults()) != (yielded - sums) * count + sums)
    return emitOpError("(C3) has ")
           << getOperation()->getNumResults() << " results, expected " << yielded - sums
           << " yielded elements of " << count << " tensors and " << sums << " sums";
  if (failed(verifyTensors(*this)))
    return failure();
  return verifyBody(*this);
}

int64_t UpdateRowsOp::getWidth() {
  return llvm::product_of(
      getRows().getType().getShape().drop_front(getNumbers().getType().getRank()));
}

LogicalResult UpdateRowsOp::verify() {
  if (getTensors().empty() || getTensors().getTypes() != getResults().getTypes())
    return emitOpError("(C1) gives (")
           << getResults().getTypes() << ") for the tensors (" << getTensors().getTypes() << ")";
  SmallVector<int64_t> shape(getNumbers().getType().getShape());
  SmallVector<Type> arguments, yielded;
  auto scalarOf = [](Value tensor) { return RankedTensorType::get({}, elementOf(tensor)); };
  for (Value tensor : getTensors()) {
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<int64_t> expected = shape;
    if (type.getRank() > 0)
      llvm::append_range(expected, type.getShape().drop_front());
    if (type.getRank() == 0 || getRows().getType().getShape() != ArrayRef(expected))
      return emitOpError("(C2) has rows of ") << getRows().getType() << " for numbers of "
                                              << getNumbers().getType() << " and " << type;
    yielded.push_back(scalarOf(tensor));
  }
  arguments = yielded;
  arguments.push_back(scalarOf(getRows()));
  llvm::append_range(arguments, getScalars().getTypes());
  Block &body = getBody().front();
  if (TypeRange(arguments) != body.getArgumentTypes())
    return emitOpError("(C3) the body takes (")
           << body.getArgumentTypes() << "), expected (" << arguments << ")";
  if (TypeRange(yielded) != body.getTerminator()->getOperandTypes())
    return emitOpError("(C3) the body yields (")
           << body.getTerminator()->getOperandTypes() << "), expected (" << yielded << ")";
  return success();
}
