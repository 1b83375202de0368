//===- Differentiate.cpp - reverse-mode derivatives of an entry's loss ------------------------===//
//
//   %y = dl.convolution %x, %w ...
//   ...
//   dl.return %sum loss(%loss)
// ->
//   %y = dl.convolution %x, %w ...
//   ...
//   %dw = dl.convolution_backward_filter %x, %dy ...
//   dl.return %sum, %dw
//
// One reverse sweep over the block, which is in topological order: when an op is reached, all
// contributions to the gradients of its results are there. Rules stand with the ops
// (DifferentiableOp); a composite without a rule is replaced by its decomposition when the sweep
// reaches it. A loss that depends on no updated parameter is an error that names the op at which
// the gradient ends; a parameter of several that the loss does not depend on has gradient zero,
// with a warning.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/DLElementwiseOps.h"
#include "dialects/DL/DLNetworkOps.h"
#include "dialects/DL/DLProgramOps.h"
#include "dialects/DL/DLTensorOps.h"
#include "dialects/DL/Names.h"
#include "passes/DL/DeadCode.h"
#include "passes/DL/Passes.h"
#include "llvm/ADT/DenseSet.h"

namespace dlc::dl {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc::dl;

static bool isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

namespace {

/// The reverse sweep over one entry.
class ReverseSweep {
public:
  ReverseSweep(EntryOp entry, SymbolTable &symbols)
      : entry(entry), symbols(symbols), builder(entry.getContext()),
        loss(entry.getReturn().getLoss()) {}

  /// Leaves the entry with gradients as results and without a loss; failure after an error.
  LogicalResult run();

private:
  void findSources();
  void markActive(Operation *op);
  bool isActiveFloat(Value value) { return isFloat(value.getType()) && active.contains(value); }
  LogicalResult visit(Operation *&op);
  Operation *decompose(DecomposableOp op);
  LogicalResult applyRule(DifferentiableOp rule);
  void nameStages(Operation *op, Operation *before, ArrayRef<Value> operandGradients);
  void accumulate(Value value, Value contribution);
  LogicalResult checkReached();
  Operation *whereGradientEnds(Operation *op);
  void addOutputs();
  Value zeroGradient(VariableOp parameter);

  std::string spelling(Operation *op);
  void notePath(InFlightDiagnostic &diagnostic, Operation *op);

  EntryOp entry;
  SymbolTable &symbols;
  OpBuilder builder;
  Value loss;
  /// Updated variables in order, each with the value that dl.read gave; null if the entry does not
  /// read it.
  SmallVector<std::pair<VariableOp, Value>> parameters;
  /// Values that depend on a parameter or on a float input.
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> gradients;
  /// Ops through which no gradient flowed although one arrived: for the error that names one.
  SmallVector<Operation *> blocked;
  /// For ops made from a composite: what the user wrote.
  llvm::DenseMap<Operation *, std::string> composites;
};

} // namespace

/// A parameter's layer and own name: `features.conv2` and `weight`.
static std::pair<StringRef, StringRef> splitName(StringRef parameter) {
  auto [layer, name] = parameter.rsplit('.');
  return name.empty() ? std::pair(StringRef(), layer) : std::pair(layer, name);
}

/// The words of the stage for an operand's gradient: by the convolution's direction, by the
/// parameter's own name
/// (`linear1/backward_weight`, `conv1/backward_bias`), else `backward`.
static std::string stageOf(Operation *gradientOp, Value operand) {
  if (isa<ConvolutionBackwardFilterOp>(gradientOp))
    return "backward_filter";
  Operation *source = operand.getDefiningOp();
  while (isa_and_nonnull<CastOp, ReshapeOp>(source))
    source = source->getOperand(0).getDefiningOp();
  if (auto read = dyn_cast_or_null<ReadOp>(source))
    return ("backward_" + splitName(read.getVariable()).second).str();
  return isa<ConvolutionBackwardDataOp, MatmulOp>(gradientOp) ? "backward_data" : "backward";
}

/// Several reads of one variable become one, so that there is one value to differentiate by.
void ReverseSweep::findSources() {
  llvm::DenseMap<StringAttr, Value> reads;
  for (ReadOp read : llvm::make_early_inc_range(entry.getBlock().getOps<ReadOp>())) {
    auto [first, inserted] = reads.try_emplace(read.getVariableAttr().getAttr(), read.getResult());
    if (!inserted) {
      read.getResult().replaceAllUsesWith(first->second);
      read.erase();
    }
  }
  for (UpdateAttr update : entry.getUpdatesAttr().getAsRange<UpdateAttr>()) {
    StringAttr name = update.getVariable().getAttr();
    Value read = reads.lookup(name);
    parameters.emplace_back(symbols.lookup<VariableOp>(name), read);
    if (read)
      active.insert(read);
  }
  for (BlockArgument argument : entry.getBlock().getArguments())
    if (isFloat(argument.getType()))
      active.insert(argument);
}

void ReverseSweep::markActive(Operation *op) {
  if (llvm::any_of(op->getOperands(), [&](Value operand) { return active.contains(operand); }))
    active.insert(op->result_begin(), op->result_end());
}

LogicalResult ReverseSweep::run() {
  findSources();
  for (Operation &op : entry.getBlock())
    markActive(&op);

  Operation *last = entry.getReturn()->getPrevNode();
  builder.setInsertionPoint(entry.getReturn());
  gradients[loss] = ConstantOp::createSplat(builder, stageLoc(loss.getLoc(), "backward"),
                                            cast<RankedTensorType>(loss.getType()), 1.0);
  while (last) {
    Operation *op = last;
    if (failed(visit(op)))
      return failure();
    last = op;
  }
  if (failed(checkReached()))
    return failure();
  addOutputs();
  eraseDeadOps(entry);
  return success();
}

/// Differentiates `op` if a gradient arrives at it, and moves `op` on to the next one to visit.
LogicalResult ReverseSweep::visit(Operation *&op) {
  bool arrives =
      llvm::any_of(op->getResults(), [&](Value result) { return gradients.contains(result); });
  bool depends =
      llvm::any_of(op->getOperands(), [&](Value operand) { return active.contains(operand); });
  if (arrives && depends) {
    if (auto composite = dyn_cast<DecomposableOp>(op); composite && !isa<DifferentiableOp>(op)) {
      op = decompose(composite);
      return success();
    }
    auto rule = dyn_cast<DifferentiableOp>(op);
    if (!rule &&
        llvm::any_of(op->getOperands(), [&](Value operand) { return isActiveFloat(operand); })) {
      InFlightDiagnostic error = emitError(op->getLoc())
                                 << spelling(op) << " has no gradient, and the loss depends on it";
      notePath(error, op);
      return error;
    }
    if (!rule)
      blocked.push_back(op);
    else if (failed(applyRule(rule)))
      return failure();
  }
  op = op->getPrevNode();
  return success();
}

/// Replaces `composite` by its formula and returns the last op of it, where the sweep goes on.
Operation *ReverseSweep::decompose(DecomposableOp composite) {
  Operation *op = composite, *before = op->getPrevNode();
  OpBuilder inPlace(op);
  std::string name = spelling(op);
  SmallVector<Value> formula = composite.decompose(inPlace);
  for (Operation *part = before ? before->getNextNode() : &entry.getBlock().front(); part != op;
       part = part->getNextNode()) {
    composites[part] = name;
    markActive(part);
  }
  for (auto [result, value] : llvm::zip_equal(op->getResults(), formula)) {
    Value arrived = gradients.lookup(result);
    gradients.erase(result);
    result.replaceAllUsesWith(value);
    if (arrived)
      accumulate(value, arrived);
  }
  Operation *next = op->getPrevNode();
  op->erase();
  return next;
}

LogicalResult ReverseSweep::applyRule(DifferentiableOp rule) {
  Operation *op = rule;
  SmallVector<Value> resultGradients, operandGradients(op->getNumOperands());
  for (Value result : op->getResults())
    resultGradients.push_back(gradients.lookup(result));
  SmallVector<bool> wanted;
  for (Value operand : op->getOperands())
    wanted.push_back(isActiveFloat(operand));

  Operation *before = entry.getReturn()->getPrevNode();
  if (failed(rule.buildGradient(builder, resultGradients, wanted, operandGradients)))
    return failure();
  nameStages(op, before, operandGradients);
  if (llvm::none_of(operandGradients, [](Value gradient) { return gradient != nullptr; }))
    blocked.push_back(op);
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGradients))
    if (gradient)
      accumulate(operand, gradient);
  return success();
}

/// Names the ops that a rule made (those behind `before`) after the forward op and the operand that
/// they serve.
void ReverseSweep::nameStages(Operation *op, Operation *before, ArrayRef<Value> operandGradients) {
  llvm::DenseSet<Operation *> unnamed;
  for (Operation *made = before->getNextNode(); made != entry.getReturn().getOperation();
       made = made->getNextNode())
    unnamed.insert(made);
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGradients)) {
    Operation *root = gradient ? gradient.getDefiningOp() : nullptr;
    if (!root)
      continue;
    std::string stage = stageOf(root, operand);
    SmallVector<Operation *> pending = {root};
    while (!pending.empty()) {
      Operation *made = pending.pop_back_val();
      if (!made || !unnamed.erase(made))
        continue;
      made->setLoc(stageLoc(op->getLoc(), stage));
      for (Value source : made->getOperands())
        pending.push_back(source.getDefiningOp());
    }
  }
  for (Operation *made : unnamed)
    made->setLoc(stageLoc(op->getLoc(), "backward"));
}

void ReverseSweep::accumulate(Value value, Value contribution) {
  Value &sum = gradients[value];
  sum = sum ? AddOp::create(builder, stageLoc(value.getLoc(), "backward_sum"), sum, contribution)
                  .getResult()
            : contribution;
}

/// From an op that passes no gradient on, up to the op that makes integers or bools of floats: not
/// the cast of an argmax to float is what has no gradient, but the argmax.
Operation *ReverseSweep::whereGradientEnds(Operation *op) {
  while (llvm::none_of(op->getOperands(), [&](Value operand) { return isActiveFloat(operand); })) {
    auto operand =
        llvm::find_if(op->getOperands(), [&](Value operand) { return active.contains(operand); });
    op = (*operand).getDefiningOp();
  }
  return op;
}

/// An error if no updated parameter has a gradient.
LogicalResult ReverseSweep::checkReached() {
  if (parameters.empty() || llvm::any_of(parameters, [&](auto &parameter) {
        return gradients.contains(parameter.second);
      }))
    return success();
  StringRef message = "the loss does not depend on any updated parameter";
  if (blocked.empty())
    return emitError(loss.getLoc()) << message;
  Operation *end = whereGradientEnds(blocked.front());
  InFlightDiagnostic error = emitError(end->getLoc())
                             << message << ": " << spelling(end) << " has no gradient";
  notePath(error, end);
  return error;
}

/// Warns about a parameter whose gradient is zero, and makes it.
Value ReverseSweep::zeroGradient(VariableOp parameter) {
  emitWarning(parameter.getLoc()) << "the loss of '" << entry.getSymName()
                                  << "' does not depend on the parameter '"
                                  << parameter.getSymName() << "': its gradient is zero";
  auto [layer, name] = splitName(parameter.getSymName());
  Location loc =
      NameLoc::get(builder.getStringAttr(layer + "/backward_" + name), parameter.getLoc());
  return ConstantOp::createSplat(builder, loc, parameter.getTensorType(), 0.0);
}

/// Turns gradients into results: of the parameters in the order of `updates`, then of the float
/// inputs.
void ReverseSweep::addOutputs() {
  entry.getReturn().getLossMutable().clear();
  for (auto [variable, read] : parameters) {
    Value gradient = read ? gradients.lookup(read) : Value();
    entry.addOutput(gradient ? gradient : zeroGradient(variable),
                    ("gradient." + variable.getSymName()).str(), ValueKind::Gradient,
                    FlatSymbolRefAttr::get(variable.getSymNameAttr()));
  }
  for (BlockArgument input : entry.getBlock().getArguments()) {
    if (!isFloat(input.getType()))
      continue;
    Value gradient = gradients.lookup(input);
    if (!gradient)
      gradient = ConstantOp::createSplat(builder, stageLoc(loss.getLoc(), "backward"),
                                         cast<RankedTensorType>(input.getType()), 0.0);
    std::string name = ("gradient." + entry.getInputName(input.getArgNumber())).str();
    entry.addOutput(gradient, name, ValueKind::Gradient);
    if (Attribute axis = entry.getArgAttr(input.getArgNumber(), "dl.batch_axis"))
      entry.setResultAttr(entry.getNumResults() - 1, "dl.batch_axis", axis);
  }
}

/// The op as the user knows it: the name of the composite that it comes from, else its own.
std::string ReverseSweep::spelling(Operation *op) {
  auto composite = composites.find(op);
  return composite != composites.end() ? composite->second : op->getName().stripDialect().str();
}

/// Adds the note `path to the loss: argmax -> cast -> reduce -> loss`, a shortest path from `op`.
void ReverseSweep::notePath(InFlightDiagnostic &diagnostic, Operation *op) {
  llvm::DenseMap<Operation *, Operation *> next;
  SmallVector<Operation *> pending = {loss.getDefiningOp()};
  next[loss.getDefiningOp()] = nullptr;
  for (size_t i = 0; i < pending.size() && !next.contains(op); ++i)
    for (Value operand : pending[i]->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && next.try_emplace(source, pending[i]).second)
        pending.push_back(source);

  std::string path, previous;
  for (Operation *step = op; step; step = next.lookup(step)) {
    std::string name = spelling(step);
    if (name != previous)
      path += name + " -> ";
    previous = name;
  }
  diagnostic.attachNote(loss.getLoc()) << "path to the loss: " << path << "loss";
}

namespace {
struct Differentiate : dlc::dl::impl::DifferentiateBase<Differentiate> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (EntryOp entry : getOperation().getOps<EntryOp>()) {
      if (!entry.getUpdates() || !entry.getReturn().getLoss())
        continue;
      if (failed(ReverseSweep(entry, symbols).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
