// dlc-run check: whether two builds of a model, or one on two devices, compute the same. Both train
// from the same variables on the same data; after each step loss, results, gradients and variables
// are compared by name; on request also what evaluations and predictions make of what was trained.
// Where a tensor is too far off, how much rounding moves it is measured
// before that is called a difference.
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/BatchLoader.h"
#include "runtime/Exec/Schedule.h"
#include "runtime/Training/Evaluate.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Parity.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

namespace dlc::runtime::tool {
namespace {

/// What the records of one run wrote, by layer and stage, in table order: of several records of one
/// name what the last one wrote, of several buffers the largest, of equal ones the first.
class Activations {
public:
  void clear() { values.clear(), order.clear(); }
  /// Null if there is none of that name, or it is no float of 32 or 16 bits.
  const std::vector<float> *find(const std::string &name) const {
    auto it = values.find(name);
    return it == values.end() || it->second.values.empty() ? nullptr : &it->second.values;
  }
  const std::vector<std::string> &names() const { return order; }

  void add(uint32_t record, std::string_view name, const dlc_argument &argument,
           std::span<const std::byte> written) {
    const auto dtype = static_cast<dlc_dtype>(argument.dtype);
    const bool isFloat = dtype == DLC_F32 || dtype == DLC_BF16 || dtype == DLC_F16;
    const size_t size = dtypeSize(dtype), count = isFloat ? written.size() / size : 0;
    auto [it, isNew] = values.try_emplace(std::string(name));
    if (isNew)
      order.push_back(it->first);
    else if (it->second.record == record && count <= it->second.values.size())
      return;
    it->second = {record, std::vector<float>(count)};
    for (size_t i = 0; i < count; ++i)
      it->second.values[i] = static_cast<float>(loadElement(dtype, written.data() + i * size));
  }

private:
  struct Written {
    uint32_t record;
    std::vector<float> values;
  };

  std::map<std::string, Written> values;
  std::vector<std::string> order;
};

/// One of the two builds, on its device.
struct Side {
  std::shared_ptr<State> state;
  /// Those of a step, then those that only use the model.
  std::vector<std::unique_ptr<Context>> contexts;
  Activations activations;
  /// If set, what the records write is moved by rounding, drawn from this seed.
  std::optional<uint64_t> roundingSeed;

  const Plan &plan() const { return state->module()->plan(); }
  /// Variable number `index` with its logical values.
  Result<HostTensor> variable(size_t index) const { return readVariable(*state, index); }
};

/// What is run of both modules.
struct Entries {
  /// Those that make up a step: the step table's, or the first that infers if nothing trains.
  std::vector<std::string> step;
  /// Those that evaluate and infer.
  std::vector<std::string> uses;
};

Result<Entries> entriesOf(const Module &module, bool withUses) {
  Entries entries;
  for (const dlc_step &step : module.plan().steps)
    entries.step.emplace_back(module.plan().entries[step.entry].name);
  if (entries.step.empty()) {
    DLC_TRY_ASSIGN(entry, selectEntry(module, "", DLC_ENTRY_INFER));
    entries.step.emplace_back(entry->name);
  }
  for (const EntryInfo &entry : module.plan().entries)
    if (withUses && (entry.kind == DLC_ENTRY_EVALUATE || entry.kind == DLC_ENTRY_INFER))
      entries.uses.emplace_back(entry.name);
  return entries;
}

/// Only the `first` warns of its threads.
Result<Side> openSide(const std::string &path, const DeviceOptions &options, uint64_t seed,
                      const Entries &entries, bool first = false) {
  Side side;
  DLC_TRY_ASSIGN(module, Module::load(path));
  DLC_TRY_ASSIGN(device, openDevice(*module, options, first ? Log(printLine) : Log()));
  DLC_TRY_ASSIGN(state, State::create(std::move(module), std::move(device), seed));
  side.state = std::move(state);
  for (const std::vector<std::string> *names : {&entries.step, &entries.uses})
    for (const std::string &name : *names) {
      DLC_TRY_ASSIGN(context, Context::create(side.state, name));
      DLC_TRY(applyFactor(*context, 1));
      side.contexts.push_back(std::move(context));
    }
  return side;
}

class Check {
public:
  /// `ofStep`: how many of the contexts make up a step.
  Check(const CheckFlags &flags, Side a, Side b, size_t ofStep)
      : flags(flags), a(std::move(a)), b(std::move(b)), ofStep(ofStep) {}

  Status run() {
    DLC_TRY(shareVariables());
    DLC_TRY(openData());
    for (step = 1; step <= flags.steps; ++step)
      DLC_TRY(runEntries(0, ofStep));
    return runEntries(ofStep, a.contexts.size());
  }

  /// Whether a library call of one of the sides rounds its operands.
  bool rounds() const { return roundsToTf32(a.plan()) || roundsToTf32(b.plan()); }
  /// Whether some arithmetic of both is f64's.
  bool isWide() const { return computesInF64(a.plan()) && computesInF64(b.plan()); }

  /// In the order of steps, and within a step in that of computation.
  std::vector<Difference> differences;
  /// Activations that only one side has, or that cannot be compared.
  uint64_t leftOut = 0;

private:
  Status runEntries(size_t first, size_t end) {
    for (size_t entry = first; entry < end; ++entry) {
      DLC_TRY(runBoth(entry));
      DLC_TRY(compare(entry));
    }
    return {};
  }

  /// Each build derives what it likes from other variables, in its own form.
  static bool isShared(const VariableInfo &variable) { return variable.role != DLC_ROLE_DERIVED; }

  /// Copies A's variables to B, by name; both must have the same ones.
  Status shareVariables() {
    const auto ofA = std::ranges::count_if(a.plan().variables, isShared);
    const auto ofB = std::ranges::count_if(b.plan().variables, isShared);
    if (ofA != ofB)
      return invalid("'", a.state->module()->path(), "' has ", ofA, " variables, '",
                     b.state->module()->path(), "' ", ofB);
    for (size_t i = 0; i < a.plan().variables.size(); ++i) {
      const VariableInfo &mine = a.plan().variables[i];
      if (!isShared(mine))
        continue;
      const VariableInfo *other = b.plan().findVariable(mine.name);
      if (!other || other->type.str() != mine.type.str())
        return invalid("variable '", mine.name, "' is ", mine.type.str(), " in ",
                       a.state->module()->path(), ", in the other ",
                       other ? other->type.str() : "there is none");
      DLC_TRY_ASSIGN(value, a.variable(i));
      DLC_TRY(b.state->write(indexInB(*other), value.bytes));
    }
    return {};
  }

  size_t indexInB(const VariableInfo &variable) const {
    return static_cast<size_t>(&variable - b.plan().variables.data());
  }

  Status openData() {
    if (flags.data.empty())
      return {};
    const EntryInfo &entry = a.contexts[0]->entry();
    DLC_TRY_ASSIGN(data, openDataset(flags.data, Split::Train, &entry));
    DLC_TRY_ASSIGN(opened, BatchLoader::create(entry, std::move(data)));
    loader = std::move(opened);
    printNotes(loader->notes(/*keepPartial=*/true));
    return loader->start({.seed = flags.seed, .epoch = 0, .firstBatch = 0, .keepPartial = false});
  }

  /// Gives both sides the same inputs.
  Status bind(size_t entry) {
    Context &first = *a.contexts[entry], &second = *b.contexts[entry];
    if (loader && entry < ofStep) {
      if (entry == 0) {
        DLC_TRY_ASSIGN(next, loader->next());
        if (!(batch = next))
          return invalid(flags.data, ": no batch for step ", step);
      }
      DLC_TRY(bindBatch(first, a.contexts[0]->entry(), *batch));
      return bindBatch(second, a.contexts[0]->entry(), *batch);
    }
    inputs.clear();
    for (size_t i = 0; i < first.entry().inputs.size(); ++i) {
      const ValueInfo &input = first.entry().inputs[i];
      if (i == first.entry().validInput)
        continue;
      inputs.push_back(randomInput(input, flags.seed + step));
    }
    for (const HostTensor &tensor : inputs)
      for (Context *context : {&first, &second}) {
        const int index = context->findInput(tensor.name);
        if (index < 0)
          return invalid("entry '", context->entry().name, "': no input '", tensor.name,
                         "' in both modules");
        DLC_TRY(context->bind(static_cast<size_t>(index), tensor.bytes));
      }
    return {};
  }

  Status runSide(Side &side, size_t entry) {
    Context &context = *side.contexts[entry];
    if (side.plan().findScalar("step"))
      DLC_TRY(context.setScalar("step", static_cast<double>(step - 1)));
    DLC_TRY(context.setRandom(flags.seed, step - 1));
    if (!flags.activations && !side.roundingSeed)
      return context.run();
    side.activations.clear();
    const Roundings roundings(side.plan(), context.entry());
    Trace trace;
    trace.onWrite = [&](uint32_t record, const dlc_argument &argument,
                        std::span<std::byte> written) {
      // Each step draws signs of its own.
      const bool moved = side.roundingSeed &&
                         roundings.move(record, argument, written, *side.roundingSeed << 32 | step);
      if (flags.activations)
        side.activations.add(record, side.plan().recordNames[record], argument, written);
      return moved;
    };
    return context.run(&trace);
  }

  Status runBoth(size_t entry) {
    DLC_TRY(bind(entry));
    DLC_TRY(runSide(a, entry).in(a.state->module()->path()));
    return runSide(b, entry).in(b.state->module()->path());
  }

  /// That of the side which rounds more.
  double errorOf(size_t entry) const {
    return std::max(ownError(a.plan(), a.contexts[entry]->entry()),
                    ownError(b.plan(), b.contexts[entry]->entry()));
  }

  /// An update has its own error and that of the gradients which the entry before accumulated; what
  /// uses the model those of the whole step.
  double limit(size_t entry) const {
    double error = errorOf(entry);
    if (entry >= ofStep)
      for (size_t other = 0; other < ofStep; ++other)
        error = std::hypot(error, errorOf(other));
    else if (entry > 0 && a.contexts[entry - 1]->entry().kind == DLC_ENTRY_ACCUMULATE)
      error = std::hypot(error, errorOf(entry - 1));
    return errorFactor * error * std::sqrt(static_cast<double>(step));
  }

  void report(Difference difference, std::string kind) {
    difference.step = step;
    difference.kind = std::move(kind);
    differences.push_back(std::move(difference));
  }

  Status compare(size_t entry) {
    compareActivations(entry);
    DLC_TRY(compareOutputs(entry));
    DLC_TRY(compareMetrics(entry));
    return entry < ofStep ? compareVariables(entry) : Status();
  }

  void compareActivations(size_t entry) {
    for (const std::string &name : a.activations.names()) {
      const std::vector<float> *mine = a.activations.find(name), *other = b.activations.find(name);
      auto difference =
          mine && other ? compareAsSets(*mine, *other, limit(entry)) : std::optional<Difference>();
      leftOut += !difference;
      if (!difference)
        continue;
      difference->name = name;
      report(std::move(*difference), "activation");
    }
  }

  Status compareOutputs(size_t entry) {
    const std::vector<ValueInfo> &outputs = a.contexts[entry]->entry().outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int other = b.contexts[entry]->findOutput(outputs[i].name);
      if (outputs[i].isFetched() || other < 0)
        continue;
      DLC_TRY_ASSIGN(mine, readOutput(*a.contexts[entry], i));
      DLC_TRY_ASSIGN(theirs, readOutput(*b.contexts[entry], static_cast<size_t>(other)));
      if (mine.type.str() != theirs.type.str())
        return invalid("output '", mine.name, "' is ", mine.type.str(), " and ", theirs.type.str());
      mine.name = nameOf(entry, mine.name);
      report(compareTensors(mine, theirs, limit(entry)),
             outputs[i].kind == DLC_VALUE_GRADIENT ? "gradient" : "result");
    }
    return {};
  }

  Status compareMetrics(size_t entry) {
    const EntryInfo &first = a.contexts[entry]->entry(), &second = b.contexts[entry]->entry();
    for (size_t i = 0; i < first.metrics.size(); ++i)
      for (size_t j = 0; j < second.metrics.size(); ++j) {
        if (first.metrics[i].name != second.metrics[j].name)
          continue;
        DLC_TRY_ASSIGN(mine, a.contexts[entry]->metric(i));
        DLC_TRY_ASSIGN(theirs, b.contexts[entry]->metric(j));
        const std::string name = nameOf(entry, first.metrics[i].name);
        report(compareTensors(metricTensor(first, i, name, mine),
                              metricTensor(second, j, name, theirs), limit(entry)),
               first.metrics[i].kind == DLC_METRIC_LOSS ? "loss" : "metric");
      }
    return {};
  }

  Status compareVariables(size_t entry) {
    for (size_t i = 0; i < a.plan().variables.size(); ++i) {
      const VariableInfo &variable = a.plan().variables[i];
      if (!isShared(variable))
        continue;
      DLC_TRY_ASSIGN(mine, a.variable(i));
      DLC_TRY_ASSIGN(theirs, b.variable(indexInB(*b.plan().findVariable(variable.name))));
      report(compareTensors(mine, theirs, limit(entry)), std::string(roleName(variable.role)));
    }
    return {};
  }

  /// Beside the step's, those of what uses the model name their entry.
  std::string nameOf(size_t entry, std::string_view name) const {
    return entry < ofStep ? std::string(name) : concat(a.contexts[entry]->entry().name, "/", name);
  }

  const CheckFlags &flags;
  Side a, b;
  size_t ofStep;
  std::unique_ptr<BatchLoader> loader;
  const Batch *batch = nullptr;
  std::vector<HostTensor> inputs;
  uint64_t step = 1;
};

/// Step, kind and name of a difference.
using Place = std::tuple<uint64_t, std::string, std::string>;

Place placeOf(const Difference &d) { return {d.step, d.kind, d.name}; }

/// Raises the limits of what was compared to a few times the errors that roundings make in a build,
/// measured in several draws.
Status allowRoundings(const CheckFlags &flags, const Entries &entries, const std::string &path,
                      const DeviceOptions &device, std::vector<Difference> &differences) {
  constexpr uint64_t draws = 4;
  std::map<Place, double> squares;
  for (uint64_t draw = 1; draw <= draws; ++draw) {
    DLC_TRY_ASSIGN(plain, openSide(path, device, flags.seed, entries));
    DLC_TRY_ASSIGN(moved, openSide(path, device, flags.seed, entries));
    moved.roundingSeed = draw;
    Check check(flags, std::move(plain), std::move(moved), entries.step.size());
    DLC_TRY(check.run());
    for (const Difference &d : check.differences)
      squares[placeOf(d)] += d.distance * d.distance;
  }
  for (Difference &d : differences)
    if (auto it = squares.find(placeOf(d)); it != squares.end())
      d.allow(errorFactor * std::sqrt(it->second / draws) / Roundings::multiple);
  return {};
}

bool anyTooLarge(const std::vector<Difference> &differences) {
  return std::any_of(differences.begin(), differences.end(),
                     [](const Difference &d) { return d.tooLarge(); });
}

Json describe(const Difference &d) {
  return {{"step", d.step},
          {"kind", d.kind},
          {"name", d.name},
          {"error", std::isfinite(d.error) ? Json(d.error) : Json()},
          {"limit", d.limit},
          {"cancels", d.cancels},
          {"place", d.place},
          {"a", std::isfinite(d.a) ? Json(d.a) : Json()},
          {"b", std::isfinite(d.b) ? Json(d.b) : Json()},
          {"ok", !d.tooLarge()}};
}

/// The worst of each tensor over all steps, in the order of computation.
std::vector<Difference> worstOfEach(const std::vector<Difference> &all) {
  std::vector<Difference> worst;
  for (const Difference &d : all) {
    auto it = std::find_if(worst.begin(), worst.end(), [&](const Difference &other) {
      return other.kind == d.kind && other.name == d.name;
    });
    if (it == worst.end())
      worst.push_back(d);
    else if (!(d.error / d.limit <= it->error / it->limit) && !it->tooLarge())
      *it = d;
  }
  return worst;
}

void printTable(const std::vector<Difference> &all) {
  Table table({"kind", "name", "step", "error", "limit", ""});
  for (const Difference &d : worstOfEach(all))
    table.add({d.kind, d.name, std::to_string(d.step), printf("%.2e", d.error),
               printf("%.2e", d.limit),
               d.tooLarge() ? "differs"
               : d.cancels  ? "cancels"
                            : ""});
  table.print();
}

} // namespace

Status check(const CheckFlags &flags) {
  DLC_TRY_ASSIGN(module, Module::load(flags.a));
  DLC_TRY_ASSIGN(entries, entriesOf(*module, flags.uses));
  DLC_TRY_ASSIGN(first, openSide(flags.a, flags.deviceA, flags.seed, entries, /*first=*/true));
  DLC_TRY_ASSIGN(second, openSide(flags.b, flags.deviceB, flags.seed, entries));
  std::vector<Difference> differences;
  uint64_t leftOut;
  bool rounds, wide;
  {
    Check check(flags, std::move(first), std::move(second), entries.step.size());
    DLC_TRY(check.run());
    differences = std::move(check.differences);
    leftOut = check.leftOut;
    rounds = check.rounds();
    wide = check.isWide();
  }
  // The error is that of the side which rounds more.
  if (anyTooLarge(differences))
    DLC_TRY(allowRoundings(flags, entries, flags.a, flags.deviceA, differences));
  if (anyTooLarge(differences))
    DLC_TRY(allowRoundings(flags, entries, flags.b, flags.deviceB, differences));
  const auto wrong = std::find_if(differences.begin(), differences.end(),
                                  [](const Difference &d) { return d.tooLarge(); });
  const bool same = wrong == differences.end();
  if (flags.json) {
    for (const Difference &d : differences)
      printJson(describe(d));
    Json summary = {{"same", same}, {"compared", differences.size()}, {"steps", flags.steps}};
    if (flags.activations)
      summary["activations_left_out"] = leftOut;
    if (!same)
      summary["first"] = describe(*wrong);
    summary["summary"] = true;
    printJson(summary);
  } else {
    printTable(differences);
    if (flags.activations && leftOut != 0)
      std::printf("%llu activations were left out: no f32, bf16 or f16, or another size or none on "
                  "the other side\n",
                  static_cast<unsigned long long>(leftOut));
    if (same)
      std::printf("the same within %g times %s's own error, over %llu steps\n", errorFactor,
                  rounds ? "TF32"
                  : wide ? "each type"
                         : "float32",
                  static_cast<unsigned long long>(flags.steps));
  }
  if (same)
    return {};
  return failure(StatusCode::Failed, flags.a, " and ", flags.b, " differ first in step ",
                 wrong->step, ", ", wrong->kind, " '", wrong->name, "': error ",
                 printf("%.2e", wrong->error), ", limit ", printf("%.2e", wrong->limit), "; at ",
                 wrong->place, " ", printf("%.8g", wrong->a), " against ",
                 printf("%.8g", wrong->b));
}

} // namespace dlc::runtime::tool
