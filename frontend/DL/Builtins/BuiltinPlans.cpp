// Schedules, clips and initialisers: calls that are kept as data.
#include "frontend/DL/Builtins/Call.h"

namespace dlc::frontend {

Value keep(Call &call) {
  PlanValue plan{&call.builtin, {}, {}, call.range};
  for (const BuiltinParam &param : call.builtin.params) {
    plan.arguments.push_back(call.value(param.name));
    plan.ranges.push_back(call.rangeOf(param.name));
  }
  return Plan(std::make_shared<const PlanValue>(std::move(plan)));
}

/// False after an error: the number is below `least`.
static bool isAtLeast(Call &call, llvm::StringRef name, int64_t least) {
  if (call.number(name) >= least)
    return true;
  call.fail(name, "'" + name + "' is " + llvm::Twine(least) + " or more, found " +
                      text(call.value(name)));
  return false;
}

/// False after an error: the string is neither of the two.
static bool isEither(Call &call, llvm::StringRef name, llvm::StringRef a, llvm::StringRef b) {
  if (call.string(name) == a || call.string(name) == b)
    return true;
  call.fail(name,
            "'" + name + "' is \"" + a + "\" or \"" + b + "\", found " + text(call.value(name)));
  return false;
}

/// Lengths and distances are in one unit and above 0, factors 0 or more.
static Value keepSchedule(Call &call) {
  bool inEpochs = !call.isNone("epochs"), inSteps = !call.isNone("steps");
  if (inEpochs && inSteps)
    return call.fail("steps", "'epochs' and 'steps' are both given", "leave one out");
  if (!inEpochs && !inSteps && call.builtin.name != "constant" &&
      call.builtin.name != "exponential")
    return call.fail("epochs", "neither 'epochs' nor 'steps' is given",
                     call.builtin.name.str() + "(epochs=10)");
  for (llvm::StringRef name : {"epochs", "steps"}) {
    const Value &value = call.value(name);
    if (value.isNumber() && !(value.number() > 0))
      return call.fail(name, "'" + name + "' is above 0, found " + text(value));
    Value last = int64_t(0);
    for (const Value &item : value.isSequence() ? value.items() : llvm::ArrayRef<Value>()) {
      if (!item.isNumber())
        return call.fail(name, "'" + name + "' is a sequence of numbers, found " + describe(item));
      if (!(item.number() > last.number()))
        return call.fail(name, "'" + name + "' grows from above 0, found " + text(item) +
                                   " behind " + text(last));
      last = item;
    }
  }
  for (const BuiltinParam &param : call.builtin.params) {
    bool isDistance = param.name == "epochs" || param.name == "steps";
    if (!isDistance && !isAtLeast(call, param.name, param.name == "multiply" ? 1 : 0))
      return {};
  }
  return keep(call);
}

static Value keepPlateau(Call &call) {
  bool isValid = isEither(call, "mode", "min", "max") && isAtLeast(call, "factor", 0) &&
                 isAtLeast(call, "patience", 0);
  return isValid ? keep(call) : Value();
}

static Value keepUniform(Call &call) {
  if (call.number("low") > call.number("high"))
    return call.fail("low", "'low' is above 'high': " + text(call.value("low")) + " and " +
                                text(call.value("high")));
  return keep(call);
}

static Value keepDeviation(Call &call) { return isAtLeast(call, "std", 0) ? keep(call) : Value(); }

static Value keepKaiming(Call &call) {
  return isEither(call, "mode", "fan_in", "fan_out") ? keep(call) : Value();
}

static std::vector<Builtin> scheduleRows() {
  using K = ParamKind;
  const BuiltinParam epochs{"epochs", K::Number, NoneValue{}, true},
      steps{"steps", K::Number, NoneValue{}, true};
  const BuiltinParam end{"end", K::Number, 0}, tenth{"factor", K::Number, 0.1};
  auto row = [](llvm::StringLiteral name, llvm::StringLiteral doc, std::vector<BuiltinParam> params,
                Value (*build)(Call &), std::optional<unsigned> positional = {}) {
    return Builtin{name, Category::Schedule, std::move(params), doc, build, "", positional};
  };
  return {
      row("constant", "the base rate", {epochs, steps}, keepSchedule),
      row("step", "a factor each n", {epochs, steps, tenth}, keepSchedule),
      row("multistep", "a factor at each of a list",
          {{"epochs", K::Sequence, NoneValue{}, true},
           {"steps", K::Sequence, NoneValue{}, true},
           tenth},
          keepSchedule),
      row("exponential", "falls smoothly by a factor in n, 1 epoch if not given",
          {{"factor", K::Number}, epochs, steps}, keepSchedule),
      row("polynomial", "down to `end` over n", {epochs, steps, {"power", K::Number, 1}, end},
          keepSchedule),
      row("cosine", "half a cosine down to `end` over n", {epochs, steps, end}, keepSchedule),
      row("cosine_restarts", "cosines that begin again, each `multiply` times as long",
          {epochs, steps, {"multiply", K::Number, 1}, end}, keepSchedule),
      row("one_cycle", "up, then down far below the base rate",
          {epochs,
           steps,
           {"peak", K::Number, 0.3},
           {"start", K::Number, 0.04},
           {"end", K::Number, 4e-6}},
          keepSchedule),
      row("cyclic", "up and down between `low` and the base rate",
          {epochs, steps, {"low", K::Number, 0.1}}, keepSchedule),
      row("warmup", "linear from `start` up to the base rate",
          {epochs, steps, {"start", K::Number, 0.1}}, keepSchedule),
      row("plateau",
          "a factor when a metric of more than `patience` evaluations was no better than before",
          {{"metric", K::String, "loss"},
           {"mode", K::String, "min"},
           tenth,
           {"patience", K::Integer, 10}},
          keepPlateau, 1),
  };
}

static Value keepLimit(Call &call) {
  if (call.number("limit") > 0)
    return keep(call);
  return call.fail("limit", "'limit' is above 0, found " + text(call.value("limit")));
}

static std::vector<Builtin> clipRows() {
  using K = ParamKind;
  auto row = [](llvm::StringLiteral name, llvm::StringLiteral doc) {
    return Builtin{name, Category::Clip, {{"limit", K::Number}}, doc, keepLimit};
  };
  return {row("value", "limits each element of the gradients"),
          row("parameter_norm", "limits the norm of each parameter's gradient"),
          row("global_norm", "limits the norm of all gradients together")};
}

static std::vector<Builtin> initialiserRows() {
  using K = ParamKind;
  const BuiltinParam mean{"mean", K::Number}, deviation{"std", K::Number},
      gain{"gain", K::Number, 1};
  const BuiltinParam slope{"slope", K::Number, 0}, mode{"mode", K::String, "fan_in"};
  auto row = [](llvm::StringLiteral name, llvm::StringLiteral doc, std::vector<BuiltinParam> params,
                Value (*build)(Call &)) {
    return Builtin{name, Category::Initialiser, std::move(params), doc, build};
  };
  return {
      row("uniform", "between low and high", {{"low", K::Number}, {"high", K::Number}},
          keepUniform),
      row("normal", "normal", {mean, deviation}, keepDeviation),
      row("truncated_normal", "normal, drawn again beyond two deviations", {mean, deviation},
          keepDeviation),
      row("xavier_uniform", "uniform by inputs and outputs", {gain}, keep),
      row("xavier_normal", "normal by inputs and outputs", {gain}, keep),
      row("kaiming_uniform", "uniform by inputs or outputs", {slope, mode}, keepKaiming),
      row("kaiming_normal", "normal by inputs or outputs", {slope, mode}, keepKaiming),
      row("orthogonal", "rows or columns at right angles", {gain}, keep),
  };
}

std::vector<Builtin> planBuiltins() {
  std::vector<Builtin> rows;
  for (auto part : {optimizerBuiltins(), scheduleRows(), clipRows(), initialiserRows()})
    llvm::append_range(rows, part);
  return rows;
}

} // namespace dlc::frontend
