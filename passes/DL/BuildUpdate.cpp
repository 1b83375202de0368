//===- BuildUpdate.cpp - the optimizer's update from gradients --------------------------------===//
//
//   updates = [#dl.update<@w, ..., #dl.sgd<{learning_rate = 0.01, momentum = 0.9}>>]
//   dl.return %dw
// ->
//   %lr = dl.scalar "optimizer.learning_rate", 1.0e-02 scheduled
//   %v = dl.read @w.momentum
//   %new:2 = dl.multi_tensor(%w, %dw, %v) scalars(%lr, %decay, %momentum) { ... }
//   dl.assign @w, %new#0
//   dl.assign @w.momentum, %new#1
//
// `clip` limits the gradients before: by element in the body, or by a factor from their norms.
// `ema` adds a stream, the average of @w over its updates, which evaluation and inference read:
// new @w.ema = decay * @w.ema + (1 - decay) * new @w.
//
// With `accumulate = k` the entry ends with the gradients' average, kept in slots, and the update
// is an entry of its own that runs k times less often and clears them:
//
//   dl.entry @accumulate_step        @w.gradient_sum += %dw / k
//   dl.entry @train_step every = k   the update from @w.gradient_sum, which becomes 0
//
// One multi_tensor for all parameters with equal optimizer settings and element type. Numbers are
// scalars of the runtime; the optimizer, Nesterov, momentum or not, dampening or not are structure.
// The formula and its order are PyTorch's.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/DLElementwiseOps.h"
#include "dialects/DL/DLProgramOps.h"
#include "dialects/DL/DLTensorOps.h"
#include "dialects/DL/TensorBuilder.h"
#include "passes/DL/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace dlc::dl {
#define GEN_PASS_DEF_BUILDUPDATE
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc::dl;

namespace {

/// The averages of parameters, by the parameter's name. All entries that update it share one.
using Averages = llvm::StringMap<VariableOp>;

/// One parameter of a group.
struct Parameter {
  UpdateAttr update;
  VariableOp variable;
  Value gradient;
  /// Where gradients accumulate: the slot that the gradient is read from.
  VariableOp sum = {};
};

/// Parameters that share a multi_tensor.
struct Group {
  SgdAttr optimizer;
  Type elementType;
  SmallVector<Parameter> parameters;
  /// Multipliers differ from 1 somewhere: then they are part of the kernel.
  bool hasMultipliers() const;
};

/// Builds the update of one entry.
class UpdateBuilder {
public:
  UpdateBuilder(EntryOp entry, SymbolTable &symbols, Averages &averages)
      : entry(entry), symbols(symbols), averages(averages), builder(entry.getReturn()),
        loc(NameLoc::get(builder.getStringAttr("optimizer/update"), entry.getLoc())) {}

  LogicalResult run();

private:
  LogicalResult collect();
  void accumulate(int64_t runs);
  void addToSums(Group &group, int64_t runs);
  void prepareClip(StringRef prefix);
  Value gradientOf(StringAttr variable);
  void build(const Group &group, StringRef prefix);
  void buildBody(MultiTensorOp op, const Group &group);
  Value read(VariableOp variable);
  VariableOp createSlot(VariableOp parameter, StringRef kind, InitialiserKind first);
  VariableOp averageOf(VariableOp parameter);
  Value scalar(const Twine &name, double value, bool scheduled = false);

  EntryOp entry;
  SymbolTable &symbols;
  Averages &averages;
  OpBuilder builder;
  Location loc;
  SmallVector<Group> groups;
  /// What the body clips by: the limit of each element, or the factor of all gradients; null
  /// without.
  Value clipScalar;
};

/// Arithmetic on one element of the body, in the parameters' element type.
class BodyBuilder {
public:
  BodyBuilder(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), type(type) {}

  Value add(Value a, Value b) { return AddOp::create(builder, loc, a, b); }
  Value subtract(Value a, Value b) { return SubtractOp::create(builder, loc, a, b); }
  Value multiply(Value a, Value b) { return MultiplyOp::create(builder, loc, a, b); }
  Value clamp(Value a, Value limit) {
    Value low = NegateOp::create(builder, loc, limit),
          above = MaximumOp::create(builder, loc, a, low);
    return MinimumOp::create(builder, loc, above, limit);
  }
  /// A scalar of the runtime, an f32, as an element.
  Value element(Value scalar) {
    return scalar.getType() == type ? scalar
                                    : CastOp::create(builder, loc, type, scalar).getResult();
  }
  Value number(double value) {
    return ConstantOp::createSplat(builder, loc, cast<RankedTensorType>(type), value);
  }

  OpBuilder &builder;
  Location loc;
  Type type;
};

} // namespace

bool Group::hasMultipliers() const {
  return llvm::any_of(parameters, [](const Parameter &parameter) {
    return parameter.update.getLrMult().getValueAsDouble() != 1.0 ||
           parameter.update.getDecayMult().getValueAsDouble() != 1.0;
  });
}

static bool hasMomentum(SgdAttr optimizer) { return optimizer.get("momentum") != 0.0; }
/// Without momentum there is nothing to dampen.
static bool hasDampening(SgdAttr optimizer) {
  return hasMomentum(optimizer) && optimizer.get("dampening") != 0.0;
}
static bool isNesterov(SgdAttr optimizer) {
  auto nesterov = optimizer.getSettings().getAs<BoolAttr>("nesterov");
  return hasMomentum(optimizer) && nesterov && nesterov.getValue();
}

Value UpdateBuilder::gradientOf(StringAttr variable) {
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (auto of = entry.getResultAttrOfType<FlatSymbolRefAttr>(i, "dl.of"))
      if (of.getAttr() == variable && entry.getOutputKind(i) == ValueKind::Gradient)
        return entry.getReturn().getOutputs()[i];
  return {};
}

/// Sorts `updates` into groups, in order of first appearance.
LogicalResult UpdateBuilder::collect() {
  llvm::MapVector<std::pair<Attribute, Type>, Group> found;
  for (UpdateAttr update : entry.getUpdatesAttr().getAsRange<UpdateAttr>()) {
    StringRef name = update.getVariable().getValue();
    auto variable = symbols.lookup<VariableOp>(name);
    auto optimizer = dyn_cast<SgdAttr>(update.getOptimizer());
    if (!optimizer)
      return emitError(variable.getLoc())
             << "'" << name << "' has no known optimizer: expected #dl.sgd, found "
             << update.getOptimizer();
    Value gradient = gradientOf(update.getVariable().getAttr());
    if (!gradient)
      return emitError(entry.getLoc())
             << "'" << entry.getSymName() << "' updates '" << name
             << "' but returns no gradient of it: dl-differentiate comes first";
    Type type = variable.getTensorType().getElementType();
    Group &group = found[{optimizer, type}];
    group.optimizer = optimizer;
    group.elementType = type;
    group.parameters.push_back({update, variable, gradient});
  }
  for (auto &[key, group] : found)
    groups.push_back(std::move(group));
  return success();
}

/// f32[]: the sum of the squares of all elements.
static Value sumOfSquares(TensorBuilder &b, Value x) {
  auto type = TensorBuilder::typeOf(x);
  Value squares = b.multiply(x, x);
  if (type.getRank() != 0)
    squares =
        b.reduce(ReduceKind::Sum, squares, llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
  Type single = RankedTensorType::get({}, b.builder.getF32Type());
  return squares.getType() == single
             ? squares
             : CastOp::create(b.builder, b.loc, single, squares).getResult();
}

/// What the gradients are multiplied by, so that a norm is not above the limit.
static Value factorOf(TensorBuilder &b, Value squares, Value limit) {
  Value norm = SqrtOp::create(b.builder, b.loc, squares);
  Value factor = b.divide(limit, b.add(norm, b.splatLike(norm, 1e-6)));
  return MinimumOp::create(b.builder, b.loc, factor, b.splatLike(factor, 1.0));
}

void UpdateBuilder::prepareClip(StringRef prefix) {
  ClipAttr clip = entry.getClipAttr();
  if (!clip)
    return;
  Value limit = scalar(prefix + "clip.limit", clip.getLimit().getValueAsDouble());
  if (clip.getKind() == ClipKind::Value) {
    clipScalar = limit;
    return;
  }
  TensorBuilder b{builder, NameLoc::get(builder.getStringAttr("optimizer/clip"), entry.getLoc())};
  Value total;
  for (Group &group : groups)
    for (Parameter &parameter : group.parameters) {
      Value squares = sumOfSquares(b, parameter.gradient);
      if (clip.getKind() == ClipKind::ParameterNorm) {
        Value factor = b.castLike(factorOf(b, squares, limit), parameter.gradient);
        auto type = TensorBuilder::typeOf(parameter.gradient);
        parameter.gradient = b.multiply(parameter.gradient, b.broadcast(factor, type, {}));
      } else {
        total = total ? b.add(total, squares) : squares;
      }
    }
  if (total)
    clipScalar = factorOf(b, total, limit);
}

/// Assigns sum + gradient / runs to the sums of a group.
void UpdateBuilder::addToSums(Group &group, int64_t runs) {
  SmallVector<Value> tensors;
  for (Parameter &parameter : group.parameters) {
    parameter.sum = createSlot(parameter.variable, "gradient_sum", InitialiserKind::Constant);
    tensors.push_back(read(parameter.sum));
  }
  SmallVector<Type> types = llvm::map_to_vector(tensors, [](Value sum) { return sum.getType(); });
  for (const Parameter &parameter : group.parameters)
    tensors.push_back(parameter.gradient);
  Location place = NameLoc::get(builder.getStringAttr("optimizer/accumulate"), entry.getLoc());
  auto added = MultiTensorOp::create(builder, place, types, tensors, ValueRange(), /*streams=*/2,
                                     ArrayRef<double>());
  for (auto [parameter, value] : llvm::zip_equal(group.parameters, added.getResults()))
    AssignOp::create(builder, parameter.sum.getLoc(), parameter.sum.getSymName(), value);

  Type type = RankedTensorType::get({}, group.elementType);
  OpBuilder::InsertionGuard guard(builder);
  added.getBody().getBlocks().clear();
  Block *block = builder.createBlock(&added.getBody(), {}, {type, type}, {place, place});
  BodyBuilder b(builder, place, type);
  Value share = b.multiply(block->getArgument(1), b.number(1.0 / double(runs)));
  YieldOp::create(builder, place, ValueRange(b.add(block->getArgument(0), share)));
}

/// Ends the entry with the sums of its gradients, and goes on in a second one that takes them.
void UpdateBuilder::accumulate(int64_t runs) {
  for (Group &group : groups)
    addToSums(group, runs);
  EntryOp sums = entry;
  std::string name = sums.getSymName().str();
  symbols.remove(sums);
  sums.setSymName(sums.getAccumulateName());
  sums.setKind(EntryKind::Accumulate);
  symbols.insert(sums);

  builder.setInsertionPointAfter(sums);
  entry = EntryOp::create(builder, sums.getLoc(), name, builder.getFunctionType({}, {}),
                          EntryKind::Train);
  symbols.insert(entry);
  entry.setEvery(int64_t(sums.getEvery().value_or(1)) * runs);
  entry.setScheduleAttr(sums.getScheduleAttr());
  entry.setClipAttr(sums.getClipAttr());
  entry.setEmaAttr(sums.getEmaAttr());
  sums.removeScheduleAttr();
  sums.removeClipAttr();
  sums.removeEmaAttr();
  builder.setInsertionPointToEnd(&entry.getBlock());
  builder.setInsertionPoint(ReturnOp::create(builder, sums.getLoc(), ValueRange(), Value()));
  for (Group &group : groups)
    for (Parameter &parameter : group.parameters)
      parameter.gradient = read(parameter.sum);
}

LogicalResult UpdateBuilder::run() {
  if (failed(collect()))
    return failure();
  int64_t runs = entry.getAccumulate().value_or(1);
  entry.removeUpdatesAttr();
  entry.removeAccumulateAttr();
  if (runs > 1 && !groups.empty())
    accumulate(runs);
  std::string prefix = entry.getSymName() == "train_step" ? "" : (entry.getSymName() + ".").str();
  std::string base = prefix + "optimizer";
  prepareClip(prefix);
  llvm::MapVector<Attribute, unsigned> numbers;
  for (const Group &group : groups)
    numbers.insert({group.optimizer, numbers.size() + 1});
  for (const Group &group : groups)
    build(group, numbers.size() == 1 ? base : base + std::to_string(numbers[group.optimizer]));
  entry.removeClipAttr();
  entry.removeEmaAttr();
  return success();
}

/// The value of `variable` at the entry's beginning.
Value UpdateBuilder::read(VariableOp variable) {
  Operation *last = nullptr;
  for (ReadOp read : entry.getBlock().getOps<ReadOp>()) {
    if (read.getVariable() == variable.getSymName())
      return read.getResult();
    last = read;
  }
  OpBuilder::InsertionGuard guard(builder);
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(&entry.getBlock());
  return ReadOp::create(builder, variable.getLoc(), variable.getTensorType(),
                        variable.getSymName());
}

/// A slot of `parameter`, zero or a copy at first, behind it and its other slots in the module.
/// Where two entries update one parameter, each has its own.
VariableOp UpdateBuilder::createSlot(VariableOp parameter, StringRef kind, InitialiserKind first) {
  std::string name = (parameter.getSymName() + "." + kind).str();
  if (symbols.lookup(name))
    name += ("_" + entry.getSymName()).str();
  OpBuilder::InsertionGuard guard(builder);
  Operation *last = parameter;
  while (auto next = dyn_cast_or_null<VariableOp>(last->getNextNode())) {
    if (next.getOf() != parameter.getSymName())
      break;
    last = next;
  }
  builder.setInsertionPointAfter(last);
  auto init = InitialiserAttr::get(builder.getContext(), first, 0.0);
  auto slot =
      VariableOp::create(builder, parameter.getLoc(), name, parameter.getTensorType(), Role::Slot,
                         init, FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
  symbols.insert(slot);
  return slot;
}

/// The one average of `parameter`, made where it is first asked for.
VariableOp UpdateBuilder::averageOf(VariableOp parameter) {
  VariableOp &average = averages[parameter.getSymName()];
  if (!average)
    average = createSlot(parameter, "ema", InitialiserKind::Copy);
  return average;
}

Value UpdateBuilder::scalar(const Twine &name, double value, bool scheduled) {
  return ScalarOp::create(builder, loc, RankedTensorType::get({}, builder.getF32Type()),
                          builder.getStringAttr(name), builder.getF64FloatAttr(value),
                          scheduled ? builder.getUnitAttr() : UnitAttr());
}

void UpdateBuilder::build(const Group &group, StringRef prefix) {
  SgdAttr optimizer = group.optimizer;
  SmallVector<VariableOp> assigned;
  SmallVector<Value> tensors;
  SmallVector<double> multipliers;
  for (const Parameter &parameter : group.parameters) {
    assigned.push_back(parameter.variable);
    tensors.push_back(read(parameter.variable));
    if (group.hasMultipliers())
      multipliers.append({parameter.update.getLrMult().getValueAsDouble(),
                          parameter.update.getDecayMult().getValueAsDouble()});
  }
  for (const Parameter &parameter : group.parameters)
    tensors.push_back(parameter.gradient);
  if (hasMomentum(optimizer))
    for (const Parameter &parameter : group.parameters) {
      assigned.push_back(createSlot(parameter.variable, "momentum", InitialiserKind::Constant));
      tensors.push_back(read(assigned.back()));
    }
  if (entry.getEma())
    for (const Parameter &parameter : group.parameters) {
      assigned.push_back(averageOf(parameter.variable));
      tensors.push_back(read(assigned.back()));
    }

  for (const Parameter &parameter : group.parameters)
    if (parameter.sum)
      assigned.push_back(parameter.sum);

  SmallVector<Value> scalars = {
      scalar(prefix + ".learning_rate", optimizer.get("learning_rate"), /*scheduled=*/true),
      scalar(prefix + ".weight_decay", optimizer.get("weight_decay"))};
  if (clipScalar)
    scalars.push_back(clipScalar);
  if (hasMomentum(optimizer))
    scalars.push_back(scalar(prefix + ".momentum", optimizer.get("momentum")));
  if (hasDampening(optimizer)) {
    scalars.push_back(scalar(prefix + ".dampening", optimizer.get("dampening")));
    scalars.push_back(scalar("step", 0.0));
  }
  if (entry.getEma())
    scalars.push_back(scalar("ema.decay", entry.getEma()->convertToDouble()));

  SmallVector<Type> types;
  for (VariableOp variable : assigned)
    types.push_back(variable.getTensorType());
  int64_t streams = tensors.size() / group.parameters.size();
  auto update = MultiTensorOp::create(builder, loc, types, tensors, scalars, streams, multipliers);
  buildBody(update, group);
  for (auto [variable, value] : llvm::zip_equal(assigned, update.getResults()))
    AssignOp::create(builder, variable.getLoc(), variable.getSymName(), value);
}

/// PyTorch's SGD on one element, and its average: streams p, g [, v] [, average]; [lr_mult,
/// decay_mult]; lr, decay [, clip] [, momentum [, dampening, step]] [, the average's decay].
void UpdateBuilder::buildBody(MultiTensorOp op, const Group &group) {
  Type scalarType = RankedTensorType::get({}, builder.getF32Type());
  Type type = RankedTensorType::get({}, group.elementType);
  SmallVector<Type> types(op.getStreams(), type);
  types.append(op.getMultipliersPerTensor() + op.getScalars().size(), scalarType);
  OpBuilder::InsertionGuard guard(builder);
  op.getBody().getBlocks().clear();
  Block *block =
      builder.createBlock(&op.getBody(), {}, types, SmallVector<Location>(types.size(), loc));

  BodyBuilder b(builder, loc, type);
  unsigned next = 0;
  auto take = [&] { return b.element(block->getArgument(next++)); };
  Value p = take(), g = take(), v = hasMomentum(group.optimizer) ? take() : Value();
  Value average = entry.getEma() ? take() : Value();
  Value lrMult = group.hasMultipliers() ? take() : Value(), decayMult = lrMult ? take() : Value();
  Value lr = take(), decay = take();
  if (lrMult) {
    lr = b.multiply(lr, lrMult);
    decay = b.multiply(decay, decayMult);
  }
  if (clipScalar) {
    bool byElement = entry.getClipAttr().getKind() == ClipKind::Value;
    g = byElement ? b.clamp(g, take()) : b.multiply(g, take());
  }
  g = b.add(g, b.multiply(decay, p));
  SmallVector<Value> yielded;
  if (v) {
    Value momentum = take(), kept = b.multiply(momentum, v), added = g;
    if (hasDampening(group.optimizer)) {
      Value damped = b.multiply(b.subtract(b.number(1.0), take()), g);
      Value isFirst = CompareOp::create(builder, loc, Predicate::EQ, take(), b.number(0.0));
      added = SelectOp::create(builder, loc, isFirst, g, damped);
    }
    v = b.add(kept, added);
    g = isNesterov(group.optimizer) ? b.add(g, b.multiply(momentum, v)) : v;
    yielded.push_back(v);
  }
  p = b.subtract(p, b.multiply(lr, g));
  yielded.insert(yielded.begin(), p);
  if (average) {
    Value kept = take(), added = b.subtract(b.number(1.0), kept);
    yielded.push_back(b.add(b.multiply(kept, average), b.multiply(added, p)));
  }
  if (group.parameters.front().sum)
    yielded.push_back(b.number(0.0));
  YieldOp::create(builder, loc, yielded);
}

namespace {
struct BuildUpdate : dlc::dl::impl::BuildUpdateBase<BuildUpdate> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    Averages averages;
    for (EntryOp entry : getOperation().getOps<EntryOp>())
      if (entry.getUpdates() && failed(UpdateBuilder(entry, symbols, averages).run()))
        return signalPassFailure();
    for (EntryOp entry : getOperation().getOps<EntryOp>())
      if (entry.getKind() == EntryKind::Evaluate || entry.getKind() == EntryKind::Infer)
        for (ReadOp read : entry.getBlock().getOps<ReadOp>())
          if (VariableOp average = averages.lookup(read.getVariable()))
            read.setVariable(average.getSymName());
  }
};
} // namespace
