// Recurrent layers, by layers and directions. Weights have PyTorch's names, shapes and defaults.
#include "dialects/DL/Formulas/Recurrent.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "frontend/DL/Builtins/Call.h"
#include "frontend/DL/Evaluation/Initialisers.h"

namespace dlc::frontend {

namespace formulas = dl::formulas;

namespace {

/// One call of lstm or gru.
class Recurrent {
public:
  Recurrent(Call &call, int64_t gates, size_t states)
      : call(call), b{call.entry().builder, call.location()}, gates(gates), states(states) {}

  Value build();

private:
  /// h, and c where there is one.
  using States = llvm::SmallVector<mlir::Value, 2>;

  bool read();
  bool readRate();
  bool readInitial();
  bool readInitial(const Value &given);
  bool readLengths();
  States initialOf(int64_t part);
  std::optional<Tensor> weight(llvm::StringRef name, int64_t part, llvm::ArrayRef<int64_t> shape);
  /// One layer in one direction: its outputs, and its last states behind those of the others.
  mlir::Value buildPart(mlir::Value x, int64_t part);

  mlir::RankedTensorType sized(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, element);
  }

  Call &call;
  dl::TensorBuilder b;
  int64_t gates;
  size_t states;
  mlir::Type element;
  int64_t steps = 0, samples = 0, units = 0, layers = 0, directions = 0;
  double rate = 0;
  BatchAxis batch;
  llvm::SmallVector<const Tensor *> given; ///< the initial states and the lengths, if there are
  mlir::Value mask;               ///< [steps, samples]: before the sample's length, or null
  llvm::SmallVector<States> last; ///< of each part
  std::vector<Tensor> weights;    ///< all that the results depend on
};

} // namespace

bool Recurrent::read() {
  auto fail = [&](llvm::StringRef argument, const llvm::Twine &message,
                  const llvm::Twine &hint = "") {
    call.fail(argument, message, hint);
    return false;
  };
  const Tensor &x = call.tensor("x");
  bool batchFirst = call.flag("batch_first");
  if (x.rank() != 3)
    return fail(
        "x",
        call.label + " expects a tensor of " + (batchFirst ? "samples, steps" : "steps, samples") +
            " and channels, found " + describe(x.type()),
        x.rank() == 2
            ? "reshape(x, (size(x, 0), size(x, 1), 1)) makes each number a channel of its own"
            : "");
  steps = x.shape()[batchFirst ? 1 : 0];
  samples = x.shape()[batchFirst ? 0 : 1];
  if (steps < 1)
    return fail("x", call.label + " expects a step or more, found " + describe(x.type()));
  if (!call.checkNotBatch(x, {batchFirst ? 1 : 0, 2}, call.rangeOf("x"),
                          batchFirst ? "without batch_first=true it takes [T, N, channels]"
                                     : "batch_first=true takes [N, T, channels]"))
    return false;
  for (llvm::StringRef name : {"hidden", "layers"})
    if (call.integer(name) < 1)
      return fail(name, "'" + name + "' is 1 or more, found " + llvm::Twine(call.integer(name)));
  units = call.integer("hidden");
  layers = call.integer("layers");
  directions = call.flag("bidirectional") ? 2 : 1;
  element = x.type().getElementType();
  batch = x.batch;
  if (batch.exists())
    batch.axis = 1;
  // Each step is a few ops.
  return call.evaluator.spendElements(steps, call.range) && readRate() &&
         call.checkSize({layers, directions, steps + 1, samples, units * gates}, element) &&
         call.checkSize({units * gates, std::max(units * directions, x.shape()[2])}, element) &&
         readInitial() && readLengths();
}

bool Recurrent::readRate() {
  if (!readDropout(call, "dropout", rate))
    return false;
  if (rate > 0 && layers == 1)
    call.evaluator.program.engine
        .warning(call.rangeOf("dropout"),
                 "'dropout' stands between layers, and this " + call.label + " has one")
        .hint("dropout(y, " + text(call.value("dropout")) + ") behind it drops its outputs");
  return true;
}

bool Recurrent::readInitial() {
  if (call.isNone("initial"))
    return true;
  const Value &initial = call.value("initial");
  if (states == 1)
    return readInitial(initial);
  if (!initial.isSequence() || initial.items().size() != states) {
    call.fail("initial",
              "'initial' of " + call.label + " is a pair (h, c), found " + describe(initial));
    return false;
  }
  return llvm::all_of(initial.items(), [&](const Value &each) { return readInitial(each); });
}

bool Recurrent::readInitial(const Value &value) {
  mlir::RankedTensorType expected = sized({layers * directions, samples, units});
  const Tensor *state = value.getIf<Tensor>();
  if (!state || state->type() != expected) {
    call.fail("initial",
              "'initial' of " + call.label + " is " + describe(expected) +
                  " for each state, found " + describe(value),
              "[layers * directions, N, hidden]");
    return false;
  }
  if (!call.checkNotBatch(*state, {0, 2}, call.rangeOf("initial")))
    return false;
  if (!batch.exists())
    batch = state->batch;
  given.push_back(state);
  return true;
}

bool Recurrent::readLengths() {
  if (call.isNone("lengths"))
    return true;
  const Tensor &lengths = call.tensor("lengths");
  if (lengths.shape() != llvm::ArrayRef(samples)) {
    call.fail("lengths",
              "'lengths' of " + call.label + " has a number of steps for each of the " +
                  llvm::Twine(samples) + " samples, found " + describe(lengths.type()),
              "[N]");
    return false;
  }
  if (!batch.exists() && lengths.batch.exists()) {
    batch = lengths.batch;
    batch.axis = 1;
  }
  if (!call.markNumbers("lengths", steps + 1))
    return false;
  mask = formulas::stepsWithin(b, lengths.value, steps);
  given.push_back(&lengths);
  return true;
}

Recurrent::States Recurrent::initialOf(int64_t part) {
  mlir::RankedTensorType type = sized({samples, units});
  States initial;
  for (size_t state = 0; state < states; ++state)
    initial.push_back(call.isNone("initial") ? b.splat(type, 0)
                                             : formulas::stateOf(b, given[state]->value, part));
  return initial;
}

std::optional<Tensor> Recurrent::weight(llvm::StringRef name, int64_t part,
                                        llvm::ArrayRef<int64_t> shape) {
  std::string key =
      (name + "_l" + llvm::Twine(part / directions) + (part % directions == 1 ? "_reverse" : ""))
          .str();
  auto made =
      call.weight(key, shape, element, defaultInitialiser(units), shape.back(), shape.front());
  if (made)
    weights.push_back(*made);
  return made;
}

mlir::Value Recurrent::buildPart(mlir::Value x, int64_t part) {
  int64_t rows = gates * units;
  auto input = weight("weight_ih", part, {rows, b.typeOf(x).getDimSize(2)});
  auto state = weight("weight_hh", part, {rows, units});
  std::optional<Tensor> inputBias, stateBias;
  if (call.flag("bias")) {
    inputBias = weight("bias_ih", part, {rows});
    stateBias = weight("bias_hh", part, {rows});
  }
  if (!input || !state || (call.flag("bias") && (!inputBias || !stateBias)))
    return {};
  bool isReverse = part % directions == 1, isLstm = states == 2;
  mlir::Value ofInput = inputBias ? inputBias->value : nullptr,
              ofState = stateBias ? stateBias->value : nullptr;
  mlir::Value product =
      formulas::gateInputs(b, x, input->value, ofInput, isLstm ? ofState : nullptr);
  States initial = initialOf(part);
  formulas::Sequence sequence =
      isLstm ? formulas::lstm(b, product, initial[0], initial[1], state->value, mask, isReverse)
             : formulas::gru(b, product, initial[0], state->value, ofState, mask, isReverse);
  last.push_back(sequence.last);
  return sequence.outputs;
}

Value Recurrent::build() {
  if (!read())
    return Poison{};
  const Tensor &x = call.tensor("x");
  bool batchFirst = call.flag("batch_first");
  mlir::Value y = batchFirst ? formulas::exchangeFirst(b, x.value) : x.value;
  llvm::SmallVector<const Tensor *> inputs{&x};
  llvm::append_range(inputs, given);
  for (int64_t layer = 0; layer < layers; ++layer) {
    if (layer > 0)
      y = applyDropout(call, call.make(y, batch, inputs), rate).value;
    llvm::SmallVector<mlir::Value> outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      outputs.push_back(buildPart(y, layer * directions + direction));
      if (!outputs.back())
        return Poison{};
    }
    y = directions == 1 ? outputs[0]
                        : dl::ConcatOp::create(b.builder, b.loc, outputs, 2).getResult();
  }

  if (mask)
    y = formulas::zeroBeyond(b, y, mask);

  for (const Tensor &each : weights)
    inputs.push_back(&each);
  BatchAxis outputBatch = batch;
  if (batch.exists() && batchFirst)
    outputBatch.axis = 0;
  std::vector<Value> results{
      call.make(batchFirst ? formulas::exchangeFirst(b, y) : y, outputBatch, inputs)};
  for (size_t state = 0; state < states; ++state) {
    llvm::SmallVector<mlir::Value> parts;
    for (const States &each : last)
      parts.push_back(each[state]);
    results.push_back(
        call.make(dl::ConcatOp::create(b.builder, b.loc, parts, 0).getResult(), batch, inputs));
  }
  return call.evaluator.makeSequence(std::move(results), call.range);
}

static Value buildLstm(Call &call) { return Recurrent(call, /*gates=*/4, /*states=*/2).build(); }
static Value buildGru(Call &call) { return Recurrent(call, /*gates=*/3, /*states=*/1).build(); }

std::vector<Builtin> recurrentBuiltins() {
  using K = ParamKind;
  auto recurrent = [](llvm::StringLiteral name, llvm::StringLiteral doc, Value (*build)(Call &)) {
    return Builtin{name,
                   Category::Layer,
                   {{"x", K::FloatTensor},
                    {"hidden", K::Integer},
                    {"layers", K::Integer, 1},
                    {"initial", K::Any, NoneValue{}, true},
                    {"dropout", K::Number, 0},
                    {"bidirectional", K::Bool, false},
                    {"bias", K::Bool, true},
                    {"batch_first", K::Bool, false},
                    {"lengths", K::IndexTensor, NoneValue{}, true}},
                   doc,
                   build};
  };
  return {
      recurrent("lstm", "LSTM over [T, N, C]; gives output, h, c", buildLstm),
      recurrent("gru", "GRU over [T, N, C]; gives output, h", buildGru),
  };
}

} // namespace dlc::frontend
