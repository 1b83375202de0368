//===- Interpreter.cpp - entries, variables and regions ---------------------------------------===//
#include "test/lib/Interpreter/Interpreter.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLUpdateOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"

using namespace mlir;

namespace dlc::interpreter {

Shape shapeOf(Type type) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  return Shape(shape.begin(), shape.end());
}

static std::vector<Tensor> valuesOf(ValueRange wanted,
                                    const llvm::DenseMap<Value, Tensor> &environment) {
  std::vector<Tensor> values;
  for (Value value : wanted)
    values.push_back(environment.at(value));
  return values;
}

FailureOr<Interpreter::Results> Interpreter::run(dl::EntryOp entry, ArrayRef<Tensor> inputs) {
  if (inputs.size() != entry.getNumArguments())
    return entry.emitError("expects ")
           << entry.getNumArguments() << " inputs, found " << inputs.size();
  for (auto [i, input] : llvm::enumerate(inputs))
    if (input.shape != shapeOf(entry.getArgumentTypes()[i]))
      return entry.emitError("input ")
             << i << " has the wrong shape, expected " << entry.getArgumentTypes()[i];
  assigned.clear();
  FailureOr<std::vector<Tensor>> values = runBlock(entry.getBlock(), inputs);
  if (failed(values))
    return failure();
  for (auto &[name, value] : assigned)
    variables[name] = value;
  Results results;
  dl::ReturnOp end = entry.getReturn();
  for (const Tensor &loss :
       ArrayRef<Tensor>(*values).slice(end.getOutputs().size(), end.getLosses().size()))
    if (results.loss)
      results.loss->values[0] += loss.values[0];
    else
      results.loss = loss;
  values->resize(end.getOutputs().size());
  results.outputs = std::move(*values);
  return results;
}

FailureOr<std::vector<Tensor>> Interpreter::runBlock(Block &block, ArrayRef<Tensor> arguments) {
  Environment values;
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = value;
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  if (failed(runOps(ops, values)))
    return failure();
  return valuesOf(block.getTerminator()->getOperands(), values);
}

LogicalResult Interpreter::runOps(ArrayRef<Operation *> ops, Environment &environment) {
  for (Operation *op : ops) {
    auto gradient = dyn_cast<dl::GradientOp>(op);
    FailureOr<std::vector<Tensor>> results =
        gradient ? runGradient(gradient, environment)
                 : runOp(op, valuesOf(op->getOperands(), environment));
    if (failed(results))
      return failure();
    for (auto [result, value] : llvm::zip_equal(op->getResults(), *results)) {
      if (value.shape != shapeOf(result.getType()))
        return op->emitError("the interpreter's result differs in shape from ") << result.getType();
      round(result.getType(), value);
      environment[result] = std::move(value);
    }
  }
  return success();
}

void Interpreter::round(Type type, Tensor &tensor) const {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  if (!rounds || !element || element.getWidth() > 16)
    return;
  for (double &value : tensor.values) {
    llvm::APFloat held(value);
    bool losesInfo;
    held.convert(element.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    held.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    value = held.convertToDouble();
  }
}

/// The ops in front of `end` that need `x`, in order.
static SmallVector<Operation *> opsFrom(Value x, Operation *end) {
  llvm::DenseSet<Value> needing{x};
  SmallVector<Operation *> ops;
  for (Operation *op = &end->getBlock()->front(); op != end; op = op->getNextNode())
    if (llvm::any_of(op->getOperands(), [&](Value each) { return needing.contains(each); })) {
      needing.insert(op->result_begin(), op->result_end());
      ops.push_back(op);
    }
  return ops;
}

/// (y(x + h) - y(x - h)) / 2h for each element of each x, by running again what lies between.
FailureOr<std::vector<Tensor>> Interpreter::runGradient(dl::GradientOp op,
                                                        const Environment &environment) {
  constexpr double h = 1e-4;
  std::vector<Tensor> gradients;
  for (Value x : op.getXs()) {
    SmallVector<Operation *> between = opsFrom(x, op);
    Environment values{{x, environment.at(x)}, {op.getY(), environment.at(op.getY())}};
    for (Operation *each : between)
      for (Value operand : each->getOperands())
        values[operand] = environment.at(operand);
    Tensor gradient = environment.at(x);
    for (auto [element, slope] : llvm::enumerate(gradient.values)) {
      double centre = slope, ys[2];
      for (int side : {0, 1}) {
        values[x].values[element] = centre + (side ? h : -h);
        if (failed(runOps(between, values)))
          return failure();
        ys[side] = values[op.getY()].values[0];
      }
      values[x].values[element] = centre;
      slope = (ys[1] - ys[0]) / (2 * h);
    }
    gradients.push_back(std::move(gradient));
  }
  return gradients;
}

FailureOr<std::vector<Tensor>> Interpreter::runOp(Operation *op, ArrayRef<Tensor> operands) {
  if (auto read = dyn_cast<dl::ReadOp>(op)) {
    auto variable = variables.find(read.getVariable().str());
    if (variable == variables.end())
      return op->emitError("the variable @") << read.getVariable() << " has been given no value";
    return std::vector<Tensor>{variable->second};
  }
  if (auto assign = dyn_cast<dl::AssignOp>(op)) {
    assigned[assign.getVariable().str()] = operands[0];
    return std::vector<Tensor>();
  }
  if (auto scalar = dyn_cast<dl::ScalarOp>(op)) {
    double value = scalar.getValue().convertToDouble();
    if (scalar.getScheduled())
      value *= scheduleFactor;
    if (auto given = scalars.find(scalar.getName().str()); given != scalars.end())
      value = given->second;
    return std::vector<Tensor>{Tensor::filled({}, value)};
  }
  if (auto fused = dyn_cast<dl::FusedOp>(op))
    return runBlock(fused.getBody().front(), operands);
  if (auto multi = dyn_cast<dl::MultiTensorOp>(op))
    return runMultiTensor(multi, operands);
  if (auto update = dyn_cast<dl::UpdateRowsOp>(op))
    return runUpdateRows(update, operands);
  for (auto run : {runElementwise, runTensorOp, runConvolution, runPooling, runSample,
                   runClassification, runAttention, runComposite, runRecurrent})
    if (Values values = run(op, operands))
      return std::move(*values);
  return op->emitError("the interpreter does not know ") << op->getName();
}

FailureOr<std::vector<Tensor>> Interpreter::runMultiTensor(dl::MultiTensorOp op,
                                                           ArrayRef<Tensor> operands) {
  size_t streams = op.getStreams(), count = op.getTensors().size() / streams;
  ArrayRef<Tensor> each = operands.slice(streams * count, op.getEach().size());
  ArrayRef<Tensor> scalars = operands.drop_front(streams * count + each.size());
  std::vector<Tensor> results;
  for (Value result : op->getResults())
    results.push_back(Tensor::filled(shapeOf(result.getType()), 0));
  for (size_t i = 0; i < count; ++i)
    for (int64_t element = 0; element < operands[i].size(); ++element) {
      std::vector<Tensor> arguments;
      for (size_t stream = 0; stream < streams; ++stream)
        arguments.push_back(Tensor::filled({}, operands[stream * count + i].values[element]));
      for (const Tensor &numbers : each)
        arguments.push_back(Tensor::filled({}, numbers.values[i]));
      arguments.insert(arguments.end(), scalars.begin(), scalars.end());
      if (op.getNumbered())
        arguments.push_back(Tensor::filled({}, double(element)));
      FailureOr<std::vector<Tensor>> yielded = runBlock(op.getBody().front(), arguments);
      if (failed(yielded))
        return failure();
      size_t tensors = yielded->size() - op.getSums();
      for (auto [r, value] : llvm::enumerate(*yielded))
        if (r < tensors)
          results[r * count + i].values[element] = value.values[0];
        else
          results[tensors * count + r - tensors].values[i] += value.values[0];
    }
  return results;
}

FailureOr<std::vector<Tensor>> Interpreter::runUpdateRows(dl::UpdateRowsOp op,
                                                          ArrayRef<Tensor> operands) {
  const size_t tensors = op.getTensors().size();
  const Tensor &rows = operands[tensors], &numbers = operands[tensors + 1];
  std::vector<Tensor> results(operands.begin(), operands.begin() + tensors);
  for (int64_t j = 0; j < numbers.size(); ++j) {
    const int64_t width = rows.size() / numbers.size();
    const double number = numbers.values[j];
    const bool isRow = number >= 0 && number < double(results.front().shape[0]);
    for (int64_t i = 0; isRow && i < width; ++i) {
      const auto place = static_cast<size_t>(number) * width + i;
      std::vector<Tensor> arguments;
      for (const Tensor &result : results)
        arguments.push_back(Tensor::filled({}, result.values[place]));
      arguments.push_back(Tensor::filled({}, rows.values[j * width + i]));
      arguments.insert(arguments.end(), operands.begin() + tensors + 2, operands.end());
      FailureOr<std::vector<Tensor>> yielded = runBlock(op.getBody().front(), arguments);
      if (failed(yielded))
        return failure();
      for (auto [result, value] : llvm::zip_equal(results, *yielded))
        result.values[place] = value.values[0];
    }
  }
  return results;
}

} // namespace dlc::interpreter
