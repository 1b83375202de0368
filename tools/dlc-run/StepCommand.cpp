// dlc-run step: runs one entry on tensors from files and writes everything it made. How a model is
// debugged and compared with another framework. It stands on Context and not on Run, whose steps
// are those of a training: here any entry runs, from any step on, and nothing else does.
#include "runtime/Core/Support.h"
#include "runtime/Data/SampleShape.h"
#include "runtime/Exec/Schedule.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Tensors.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace dlc::runtime::tool {
namespace {

/// The entry to run.
Result<const EntryInfo *> entryOf(const StepFlags &flags, const Module &module) {
  Result<const EntryInfo *> entry = selectEntry(module, flags.entry, DLC_ENTRY_TRAIN);
  if (entry.ok() || !flags.entry.empty())
    return entry;
  return Status(entry.status().code(),
                concat(entry.status().message(), "; --entry NAME runs one of them"));
}

/// Which inputs a file must hold.
Status requireInputs(const EntryInfo &entry) {
  std::string names;
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    if (i != entry.validInput)
      addItem(names, concat(entry.inputs[i].name, " ", entry.inputs[i].type.str()));
  if (names.empty())
    return {};
  return invalid("entry '", entry.name, "' needs --inputs FILE, safetensors with ", names);
}

/// Whether a tensor has the type of an input, and its shape as data sets must.
Status checkInput(const EntryInfo &entry, const ValueInfo &input, const StoredTensor &stored) {
  const TensorType &type = input.type;
  // Samples are not counted by the first axis of each input: others must have all axes in place.
  const bool bySample = input.batchAxis == 0 && !stored.shape.empty();
  const std::span whole(stored.shape), sample = bySample ? whole.subspan(1) : whole;
  const bool fits = bySample ? stored.shape[0] == type.shape[0] &&
                                   fitShapes(sample, sampleShape(input)) != ShapeFit::None
                             : stored.shape == type.shape;
  if (stored.dtype == type.dtype && fits)
    return {};
  return invalid(stored.quoted(), " is ", stored.typeText(), ", entry '", entry.name, "' expects ",
                 type.str(), bySample ? shapeAdvice(sample, input) : "");
}

/// Reads the entry's inputs from the file by name and binds them. Only `valid` may be missing.
Result<std::vector<HostTensor>> bindInputs(Context &context, const std::string &path) {
  const EntryInfo &entry = context.entry();
  std::vector<HostTensor> tensors;
  if (path.empty()) {
    DLC_TRY(requireInputs(entry));
    return tensors;
  }
  DLC_TRY_ASSIGN(file, SafetensorsFile::open(path));
  for (const StoredTensor &stored : file.tensors()) {
    const int index = context.findInput(stored.name);
    if (index < 0)
      return invalid(path, ": ", stored.quoted(), " is no input of entry '", entry.name, "'");
    const ValueInfo &input = entry.inputs[static_cast<size_t>(index)];
    DLC_TRY(checkInput(entry, input, stored).in(path));
    DLC_TRY_ASSIGN(tensor, readTensor(file, stored));
    DLC_TRY(context.bind(static_cast<size_t>(index), tensor.bytes));
    tensors.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    if (i != entry.validInput && !file.find(entry.inputs[i].name))
      return invalid(path, ": no tensor '", entry.inputs[i].name, "', the input ",
                     entry.inputs[i].type.str());
  return tensors;
}

Result<MetricValues> lastMetrics(const Context &context) {
  MetricValues values;
  for (size_t i = 0; i < context.entry().metrics.size(); ++i) {
    DLC_TRY_ASSIGN(value, context.metric(i));
    values.emplace_back(context.entry().metrics[i].name, value);
  }
  return values;
}

/// Fails, as training does, if a loss is not finite.
Status checkLosses(const EntryInfo &entry, const MetricValues &metrics, uint64_t step) {
  for (size_t i = 0; i < metrics.size(); ++i)
    if (const double value = metrics[i].second.number;
        entry.metrics[i].kind == DLC_METRIC_LOSS && !std::isfinite(value))
      return failure(StatusCode::Failed, "step ", step, " of entry '", entry.name, "': the ",
                     metrics[i].first, " is ", numberText(value));
  return {};
}

/// Outputs, metrics, gradients, and the variables as they are now.
Status saveResults(const Context &context, const MetricValues &metrics, const std::string &path) {
  std::vector<HostTensor> tensors;
  const EntryInfo &entry = context.entry();
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    if (entry.outputs[i].isFetched())
      continue;
    DLC_TRY_ASSIGN(tensor, readOutput(context, i));
    tensors.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < metrics.size(); ++i)
    tensors.push_back(metricTensor(entry, i, metrics[i].first, metrics[i].second));
  const State &state = *context.state();
  const std::vector<VariableInfo> &variables = state.module()->plan().variables;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].role == DLC_ROLE_DERIVED)
      continue;
    DLC_TRY_ASSIGN(tensor, readVariable(state, i));
    tensors.push_back(std::move(tensor));
  }
  return saveTensors(path, tensors, {{"entry", std::string(entry.name)}});
}

/// The schedule of an entry's learning rates, as training would follow it.
struct Rates {
  std::span<const SchedulePart> parts;
  double epochUpdates = 0;

  /// For the update after `updates` others.
  Status apply(Context &context, uint64_t updates) const {
    return parts.empty() ? Status()
                         : applyFactor(context, scheduleFactor(parts, {updates, epochUpdates}));
  }
};

Result<Rates> ratesOf(const StepFlags &flags, const Plan &plan, const EntryInfo &entry) {
  auto step = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const dlc_step &each) {
    return &plan.entries[each.entry] == &entry;
  });
  if (step == plan.steps.end())
    return Rates();
  const auto parts = std::span(plan.schedule).subspan(step->schedule.first, step->schedule.count);
  const bool countsEpochs =
      std::any_of(parts.begin(), parts.end(), [](const SchedulePart &p) { return p.inEpochs; });
  // The first update is the same in an epoch of any length.
  constexpr uint64_t anyLength = 1'000'000;
  if (countsEpochs && flags.from + flags.steps > 1 && !flags.epochSteps)
    return invalid("the schedule of entry '", entry.name,
                   "' counts epochs: --epoch-steps N says how many batches one has");
  return Rates{parts, static_cast<double>(flags.epochSteps.value_or(anyLength)) / step->every};
}

/// The update that takes what an entry accumulates, and after how many of its runs.
struct Update {
  std::unique_ptr<Context> context;
  uint64_t every = 0;
  Rates rates;

  Status runAfter(uint64_t runs, bool countsSteps) {
    if (!context || runs % every != 0)
      return {};
    const uint64_t updates = runs / every - 1;
    if (countsSteps)
      DLC_TRY(context->setScalar("step", static_cast<double>(updates)));
    DLC_TRY(rates.apply(*context, updates));
    return context->run();
  }
};

/// An update without a context where `entry` accumulates nothing.
Result<Update> openUpdate(const StepFlags &flags, const std::shared_ptr<State> &state,
                          const EntryInfo &entry) {
  const Plan &plan = state->module()->plan();
  Update update;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const dlc_step &next = plan.steps[plan.updateOf(i)];
    if (&plan.entries[plan.steps[i].entry] != &entry || plan.updateOf(i) == i)
      continue;
    DLC_TRY_ASSIGN(context, Context::create(state, plan.entries[next.entry].name));
    DLC_TRY_ASSIGN(rates, ratesOf(flags, plan, context->entry()));
    update = {std::move(context), next.every / plan.steps[i].every, rates};
  }
  return update;
}

} // namespace

Status step(const StepFlags &flags) {
  if (!flags.save.empty())
    DLC_TRY(checkWritable(flags.save, std::vector{flags.module, flags.parameters, flags.inputs}));
  DLC_TRY_ASSIGN(state, flags.createState());
  if (!flags.parameters.empty()) {
    DLC_TRY_ASSIGN(metadata, loadVariables(*state, flags.parameters, LoadMode::Parameters));
  }
  DLC_TRY_ASSIGN(entry, entryOf(flags, *state->module()));
  DLC_TRY_ASSIGN(context, Context::create(state, entry->name));
  DLC_TRY_ASSIGN(rates, ratesOf(flags, state->module()->plan(), *entry));
  DLC_TRY_ASSIGN(update, openUpdate(flags, state, *entry));
  DLC_TRY_ASSIGN(inputs, bindInputs(*context, flags.inputs));
  const bool countsSteps = state->module()->plan().findScalar("step") != nullptr;
  const std::string &source = flags.inputs.empty() ? flags.module : flags.inputs;
  MetricValues metrics;
  Status finite;
  for (uint64_t i = flags.from; i < flags.from + flags.steps; ++i) {
    if (countsSteps)
      DLC_TRY(context->setScalar("step", static_cast<double>(i)));
    DLC_TRY(context->setRandom(context->state()->seed(), i));
    DLC_TRY(rates.apply(*context, i));
    DLC_TRY(context->run().in(source));
    DLC_TRY_ASSIGN(values, lastMetrics(*context));
    metrics = std::move(values);
    if (finite.ok())
      finite = checkLosses(*entry, metrics, i + 1).in(source);
    DLC_TRY(update.runAfter(i + 1, countsSteps));
    if (flags.json) {
      Json line = {{"step", i + 1}, {"entry", entry->name}};
      addMetrics(line, metrics);
      printJson(line);
    } else {
      std::printf("step %llu  %s\n", static_cast<unsigned long long>(i + 1),
                  metricsText(metrics).c_str());
      printTables(metrics);
    }
  }
  if (!flags.save.empty())
    DLC_TRY(saveResults(*context, metrics, flags.save));
  return finite;
}

} // namespace dlc::runtime::tool
