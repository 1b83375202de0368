//===- ApplyRule.cpp - the optimizer's rule over the parameters of a group --------------------===//
//
//   %lr = dl.scalar "optimizer.learning_rate", 1.0e-02 scheduled
//   %v = dl.read @w.momentum
//   %new:2 = dl.multi_tensor(%w, %dw, %v) scalars(%lr, %decay, %momentum) { ... }
//   dl.assign @w, %new#0
//   dl.assign @w.momentum, %new#1
//
// Slots and scalars are those that the rule's body asks for. With `ema` there is one more stream,
// the average of @w over its updates: new @w.ema = decay * @w.ema + (1 - decay) * new @w. Copies of
// @w in 16 bits are the new @w, rounded. Where @w is of 16 bits itself all is computed in f32, and
// only what becomes @w is rounded, by chance where there are no masters. Where the loss is scaled
// and a gradient is not finite, all of them stay as they were.
//
// What a body asks of whole matrices is ops between two of them:
//
//   %unit = dl.multi_tensor(%dw, %m) each(%squares) scalars(%momentum) { ... }
//   %direction = ... dl.matmul ...
//   %new:2 = dl.multi_tensor(%w, %dw, %m, %direction) scalars(%lr, %momentum) { ... }
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Rules/Optimizers.h"
#include "passes/DL/Update/EntryUpdate.h"
#include "passes/DL/Update/MultiTensorBuilder.h"
#include "passes/DL/Update/Norm.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

namespace {

/// Gives the body of a rule what it asks for, and keeps what it makes.
class GroupBody : public OptimizerBody {
public:
  GroupBody(EntryUpdate &update, const ParameterGroup &group, StringRef name,
            MultiTensorBuilder &function)
      : OptimizerBody(function.body(), update.place("update"), group.optimizer), update(update),
        group(group), name(name), function(function) {}

  void begin();
  Value parameter() override { return p; }
  Value gradient() override { return g; }
  Value slot(StringRef name, double first) override;
  void setSlot(StringRef name, Value value) override { slots.find(name)->second.next = value; }
  Value setting(StringRef name) override;
  Value norm(Value x) override { return normOfSums(*this, addSquares(x)); }
  Value ofMatrix(Value x, MatrixFunction make) override;
  Value step() override;
  void end(Value next);

private:
  struct Stream {
    SmallVector<VariableOp> variables;
    Value before; ///< null for what the body does not read
    Value next;
  };

  Stream addStream(ArrayRef<VariableOp> variables);
  Value clipped(Value gradient);
  SmallVector<Value> addSquares(Value x);
  /// A factor on the setting for each parameter; 1 for settings that have none.
  double multiplier(const UpdatedParameter &parameter, StringRef setting) const;
  /// A scalar of the runtime as an element of what is computed with.
  Value element(Value scalar) { return castLike(function.addScalar(scalar), p); }
  Value average(Value before, Value next);
  Value rounded(Value next);

  EntryUpdate &update;
  const ParameterGroup &group;
  StringRef name;
  MultiTensorBuilder &function;
  Value p, g;
  /// Of the gradients that are clipped by their parameter's norm; null without.
  Value clipSquares;
  llvm::MapVector<StringRef, Stream> slots;
  llvm::StringMap<Value> settings;
};

} // namespace

/// The streams that every rule has.
void GroupBody::begin() {
  p = function.addStream(
      group.forEach([&](const UpdatedParameter &each) { return update.read(each.variable); }));
  p = cast(p, computedElement(group.parameters.front().variable));
  g = clipped(addGradients(update, function, group));
}

GroupBody::Stream GroupBody::addStream(ArrayRef<VariableOp> variables) {
  Value element = function.addStream(
      llvm::map_to_vector(variables, [&](VariableOp variable) { return update.read(variable); }));
  return {llvm::to_vector(variables), element, element};
}

Value GroupBody::clipped(Value gradient) {
  if (!update.clip.value)
    return gradient;
  switch (update.clip.kind) {
  case ClipKind::Value: {
    Value by = element(update.clip.value);
    Value limited = MinimumOp::create(builder, loc, maximum(gradient, negate(by)), by);
    // 0, and not a number where the gradient is not finite.
    return add(limited, subtract(gradient, gradient));
  }
  case ClipKind::ParameterNorm: {
    SmallVector<Value> sums = addSquares(gradient);
    clipSquares = leastOfSquares(sums);
    Value limit = function.addScalar(update.clip.value);
    return multiplyBy(gradient, clipFactor(*this, normOfSums(*this, sums), limit));
  }
  case ClipKind::GlobalNorm:
    return multiplyBy(gradient, function.addScalar(update.clip.value));
  }
}

SmallVector<Value> GroupBody::addSquares(Value x) {
  const bool isWide = getElementTypeOrSelf(x).isF64();
  return llvm::map_to_vector(squaresForNorm(*this, x, isWide),
                             [&](Value square) { return function.addSum(square); });
}

Value GroupBody::ofMatrix(Value x, MatrixFunction make) {
  return function.addMade(x, [this, make = std::move(make)](Value tensor, unsigned number) {
    VariableOp variable = group.parameters[number].variable;
    TensorBuilder b{
        update.builder,
        NameLoc::get(update.builder.getStringAttr(variable.getSymName() + "/matrix"), loc)};
    const RankedTensorType type = b.typeOf(tensor);
    const int64_t rows = type.getDimSize(0);
    const int64_t columns = ShapedType::getNumElements(type.getShape().drop_front());
    Value matrix = b.reshape(tensor, RankedTensorType::get({rows, columns}, type.getElementType()));
    return b.reshape(make(b, matrix), type);
  });
}

Value GroupBody::slot(StringRef name, double first) {
  if (slots.contains(name))
    return slots.find(name)->second.before;
  auto init = program::InitialiserAttr::get(builder.getContext(),
                                            program::InitialiserKind::Constant, first);
  Stream stream = addStream(group.forEach(
      [&](const UpdatedParameter &each) { return update.createSlot(each.variable, name, init); }));
  return slots.insert({name, stream}).first->second.before;
}

/// Updates that were left out are none.
Value GroupBody::step() {
  Value runs = function.addScalar(update.step());
  if (!update.squares)
    return runs;
  return subtract(runs, function.addScalar(update.read(update.guardCounter("skipped"))));
}

double GroupBody::multiplier(const UpdatedParameter &parameter, StringRef setting) const {
  if (setting == rateSetting)
    return parameter.update.getLrMult().getValueAsDouble();
  if (setting == decaySetting)
    return parameter.update.getDecayMult().getValueAsDouble();
  return 1;
}

Value GroupBody::setting(StringRef setting) {
  Value &value = settings[setting];
  if (value)
    return value;
  value = element(update.scalar(name + "." + setting, optimizer.number(setting),
                                /*scheduled=*/setting == rateSetting));
  auto multipliers =
      group.forEach([&](const UpdatedParameter &each) { return multiplier(each, setting); });
  if (llvm::any_of(multipliers, [](double each) { return each != 1; }))
    value = multiply(value, function.addEach(multipliers, p));
  return value;
}

/// The parameter's average behind the update.
Value GroupBody::average(Value before, Value next) {
  Value kept = element(update.scalar("ema.decay", update.entry.getEma()->convertToDouble()));
  Value added = subtract(number(1), kept);
  return add(multiply(kept, before), multiply(added, next));
}

static bool isRounded(VariableOp parameter) {
  return parameter.getTensorType().getElementType() != computedElement(parameter);
}

/// The new parameter of 16 bits by chance: one without a master would not move by less than half of
/// its last digit. Keys are told apart by the variable, the entry, the step and the seed.
Value GroupBody::rounded(Value next) {
  Type integer = builder.getI32Type();
  auto given = [&](StringRef word) {
    return function.addScalar(update.scalar("random." + word, 0, /*scheduled=*/false, integer));
  };
  auto numberOf = [](StringRef name) { return int32_t(llvm::xxh3_64bits(name)); };
  Value variable = function.addEach(group.forEach([&](const UpdatedParameter &each) {
    return numberOf(each.update.getVariable().getValue());
  }));
  Value step = given("step"), low = given("seed_low"), high = given("seed_high");
  Value zero = splatLike(variable, 0);
  Value key = RandomOp::create(builder, loc, variable.getType(), RandomKind::Bits, zero, zero,
                               variable, step, low, high, numberOf(update.entry.getSymName()));
  VariableOp first = group.parameters.front().variable;
  const RankedTensorType type = first.getTensorType();
  return StochasticRoundOp::create(builder, loc, typeOf(next).clone(type.getElementType()), next,
                                   function.addNumber(), key);
}

/// Makes the op, and assigns what it yields.
void GroupBody::end(Value next) {
  SmallVector<Stream> streams;
  streams.push_back(
      {group.forEach([](const UpdatedParameter &each) { return each.variable; }), p, next});
  for (auto &[name, stream] : slots)
    streams.push_back(stream);
  if (update.entry.getEma()) {
    Stream stream = addStream(group.forEach(
        [&](const UpdatedParameter &each) { return update.averageOf(each.variable); }));
    stream.before = castLike(stream.before, p);
    stream.next = average(stream.before, next);
    streams.push_back(stream);
  }
  if (update.squares) {
    Value isGood = isFinite(*this, function.addScalar(update.squares));
    for (Stream &stream : streams)
      stream.next = select(isGood, stream.next, stream.before);
    next = streams.front().next;
  }
  for (size_t number = 0; number < group.parameters.front().copies.size(); ++number) {
    auto copies = group.forEach([&](const UpdatedParameter &each) { return each.copies[number]; });
    streams.push_back({std::move(copies), {}, next});
  }
  for (size_t part = 0; part < group.parameters.front().sums.size(); ++part)
    streams.push_back({group.forEach([&](const UpdatedParameter &each) { return each.sums[part]; }),
                       g, number(0)});
  if (!update.copies.keepMasters() && isRounded(streams.front().variables.front()))
    streams.front().next = rounded(streams.front().next);
  MultiTensorOp op = function.finish(llvm::map_to_vector(streams, [&](Stream &stream) {
    return cast(stream.next, stream.variables.front().getTensorType().getElementType());
  }));
  if (clipSquares && !update.squares)
    update.check(function.sumsFor(clipSquares));
  ResultRange results = op.getResults();
  for (const Stream &stream : streams)
    for (VariableOp variable : stream.variables) {
      update.assign(variable, results.front());
      results = results.drop_front();
    }
}

void dlc::dl::applyRule(EntryUpdate &update, const ParameterGroup &group, StringRef name) {
  MultiTensorBuilder function(update.builder, update.place("update"));
  GroupBody body(update, group, name, function);
  body.begin();
  VariableOp first = group.parameters.front().variable;
  body.end(group.optimizer.getRule().bodyFor(first.getTensorType().getRank())(body));
}
