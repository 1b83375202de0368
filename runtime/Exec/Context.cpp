// Binds the caller's memory, the State and an arena to one entry's executor.
#include "dlc/context.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Layout.h"
#include "runtime/Core/Support.h"
#include "runtime/Device/Device.h"
#include "runtime/Exec/Entries.h"
#include "runtime/Exec/Executor.h"
#include "runtime/Exec/Metrics.h"
#include "runtime/Exec/Preparation.h"
#include "runtime/Exec/Schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace dlc::runtime {

/// An input: where the caller's bytes are, and a copy of them where they cannot be used in place.
struct InputBinding {
  /// What it takes.
  uint64_t bytes = 0;
  std::span<const std::byte> source = {};
  /// Device only where that is not the host's memory.
  Place place = Place::Host;
  /// Whether the numbers of classes in it, on the host, have been looked at for the next run.
  bool checked = false;
  /// Two: while a run reads one, the other is filled for the next.
  std::unique_ptr<DeviceMemory> staging[2];
  /// The copy that the last run read; null if it read the source.
  DeviceMemory *staged = nullptr;
};

struct Context::Impl {
  Impl(std::shared_ptr<State> state, const EntryInfo &entry)
      : state(std::move(state)), entry(entry) {}
  Status allocate(const std::vector<bool> *needed);
  uint64_t validSamples() const;
  Status checkRoom() const;
  Status stageInputs();
  Status bindValid(size_t index);
  Status checkInput(size_t index);
  Status stageInput(size_t index);
  Status stageFromHost(size_t index, std::span<const std::byte> source);
  Status stageFromDevice(size_t index);
  Result<DeviceMemory *> stagingOf(size_t index);
  Status prepareState();
  bool trains() const {
    return entry.kind == DLC_ENTRY_TRAIN || entry.kind == DLC_ENTRY_ACCUMULATE;
  }
  size_t number() const { return &entry - state->module()->plan().entries.data(); }
  Status write(const ScalarInfo &scalar, double value);
  Status set(const ScalarInfo &scalar, double value);
  Status followStep();
  Result<double> factorOfRun(const dlc_step &step) const;
  Status checkGradients() const;
  Status showWrites(const Trace &trace, uint32_t record) const;
  Result<std::span<const std::byte>> fetchedOf(size_t index) const;
  DeviceMemory *memoryOf(const ValueInfo &output) const;
  Status readStorage(const ValueInfo &output, std::span<std::byte> destination) const;
  Status readOnHost(size_t index, std::span<std::byte> destination) const;
  Status readOnDevice(size_t index, std::span<std::byte> destination) const;

  std::shared_ptr<State> state;
  const EntryInfo &entry;
  std::unique_ptr<DeviceMemory> arena, scalars, constants;
  std::unique_ptr<Executor> executor;
  std::vector<InputBinding> inputs;
  /// Whether the inputs stand where the executor knows them to be.
  bool kept = false;
  int32_t wholeBatch = 0;
  /// Runs started and finished.
  uint64_t started = 0, finished = 0;
  /// Which of the copies of inputs the next run reads, and how many runs had been started with the
  /// last one that reads each.
  size_t side = 0;
  uint64_t readUntil[2] = {};
  /// By scalar of the plan: whether the caller sets it.
  std::vector<bool> given;
  /// Batches of an epoch; 0: not known.
  uint64_t epochBatches = 0;
  /// What the last run that was finished handed over, one output behind the other, and where each
  /// begins.
  std::vector<std::byte> fetched;
  std::vector<size_t> fetchedAt;
  /// Words of the seed, step and first sample of random numbers; null for those that it has not.
  std::array<const ScalarInfo *, 4> random = {};
  /// Variables that the prepare entry makes of others, of those that this entry reads.
  std::vector<size_t> derived;
  /// Those that a run leaves as fresh as they were, and which of them were when one began.
  std::vector<size_t> keptFresh, wereFresh;
  /// Runs what the prepare entry has for them; made when it is first needed.
  std::unique_ptr<Context> prepare;
};

Status Context::Impl::allocate(const std::vector<bool> *needed) {
  const Plan &plan = state->module()->plan();
  Device &device = *state->device();
  DLC_TRY_ASSIGN(arenaMemory, device.allocate(entry.arenaBytes));
  DLC_TRY_ASSIGN(scalarMemory, device.allocate(plan.scalarsBytes));
  arena = std::move(arenaMemory);
  scalars = std::move(scalarMemory);
  const std::byte *constantsAt = plan.constants.data();
  if (!device.sharesHostMemory()) {
    DLC_TRY_ASSIGN(constantMemory, device.allocate(plan.constants.size()));
    DLC_TRY(constantMemory->write(0, plan.constants));
    constants = std::move(constantMemory);
    constantsAt = constants->address();
  }
  const Spaces spaces{arena->address(), state->memory().address(), constantsAt, scalars->address()};
  DLC_TRY_ASSIGN(made, Executor::create(*state, entry, spaces, needed));
  executor = std::move(made);
  inputs.resize(entry.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i].bytes = entry.inputs[i].type.logicalBytes();
  for (size_t at = 0; const ValueInfo &output : entry.outputs) {
    fetchedAt.push_back(at);
    at += output.isFetched() ? output.type.logicalBytes() : 0;
  }
  random = {plan.findScalar("random.seed_low"), plan.findScalar("random.seed_high"),
            plan.findScalar("random.step"), plan.findScalar("random.first_sample")};
  given.resize(plan.scalars.size());
  wholeBatch = static_cast<int32_t>(entry.batch);
  if (entry.kind != DLC_ENTRY_PREPARE && plan.findEntry(DLC_ENTRY_PREPARE)) {
    derived = derivedVariablesOf(plan, entry);
    if (trains())
      keptFresh = derivedVariablesKeptBy(plan, entry);
    wereFresh.reserve(keptFresh.size());
  }
  return {};
}

/// Samples of a run that count.
uint64_t Context::Impl::validSamples() const {
  if (entry.validInput == DLC_NONE || !inputs[entry.validInput].source.data())
    return entry.batch;
  const double bound = loadElement(DLC_I32, inputs[entry.validInput].source.data());
  return static_cast<uint64_t>(std::clamp(bound, 0.0, static_cast<double>(entry.batch)));
}

/// Copies inputs that stand where or how kernels cannot read them, and tells the executor all
/// addresses.
Status Context::Impl::stageInputs() {
  if (kept)
    return {};
  for (size_t i = 0; i < inputs.size(); ++i)
    DLC_TRY(bindValid(i));
  auto stageAll = [&]() -> Status {
    for (size_t i = 0; i < inputs.size(); ++i)
      DLC_TRY(stageInput(i));
    return {};
  };
  // The other one's turn, unless runs of kept inputs were in between.
  side = started % 2;
  if (readUntil[side] > finished)
    side = 1 - side;
  const bool anyOnDevice = std::ranges::any_of(
      inputs, [](const InputBinding &input) { return input.place == Place::Device; });
  return anyOnDevice ? inOrder(*state->device(), state->stream(), stageAll) : stageAll();
}

Status Context::Impl::checkRoom() const {
  return started - finished < 2
             ? Status()
             : invalid("entry '", entry.name, "': two runs are not finished yet");
}

/// Without a count all samples are valid; other inputs must be bound.
Status Context::Impl::bindValid(size_t index) {
  InputBinding &input = inputs[index];
  if (input.source.data() || input.bytes == 0)
    return {};
  if (index != entry.validInput)
    return invalid("entry '", entry.name, "': input '", entry.inputs[index].name, "' is not bound");
  input.source = std::as_bytes(std::span(&wholeBatch, 1));
  return {};
}

/// Of an input on the host.
Status Context::Impl::checkInput(size_t index) {
  return checkClasses(entry, index, inputs[index].source.data(), validSamples());
}

Status Context::Impl::stageInput(size_t index) {
  InputBinding &input = inputs[index];
  input.staged = nullptr;
  if (input.place == Place::Device) {
    DLC_TRY(stageFromDevice(index));
  } else {
    if (!std::exchange(input.checked, false))
      DLC_TRY(checkInput(index));
    const bool aligned = reinterpret_cast<uintptr_t>(input.source.data()) % DLC_ALIGNMENT == 0;
    if (!aligned || !entry.inputs[index].type.isRowMajor() || !state->device()->sharesHostMemory())
      DLC_TRY(stageFromHost(index, input.source));
  }
  executor->setInput(index, input.staged ? input.staged->address() : input.source.data());
  return {};
}

/// Of the two copies the one that no unfinished run reads.
Result<DeviceMemory *> Context::Impl::stagingOf(size_t index) {
  std::unique_ptr<DeviceMemory> &staging = inputs[index].staging[side];
  if (!staging) {
    DLC_TRY_ASSIGN(memory,
                   state->device()->allocateStaging(entry.inputs[index].type.storageBytes()));
    staging = std::move(memory);
  }
  return staging.get();
}

Status Context::Impl::stageFromHost(size_t index, std::span<const std::byte> source) {
  const TensorType &type = entry.inputs[index].type;
  DLC_TRY_ASSIGN(staging, stagingOf(index));
  if (type.isRowMajor()) {
    DLC_TRY(staging->write(0, source));
  } else {
    std::vector<std::byte> storage(type.storageBytes());
    packLayout(type, source.data(), storage.data());
    DLC_TRY(staging->write(0, storage));
  }
  inputs[index].staged = staging;
  return {};
}

/// The host sees numbers of classes, which it checks, and what it brings into another layout.
Status Context::Impl::stageFromDevice(size_t index) {
  InputBinding &input = inputs[index];
  const ValueInfo &value = entry.inputs[index];
  if (!value.type.isRowMajor()) {
    DLC_TRY_ASSIGN(copy, copyToHost(*state->device(), input.source));
    DLC_TRY(checkClasses(entry, index, copy.data(), validSamples()));
    return stageFromHost(index, copy);
  }
  DLC_TRY_ASSIGN(staging, stagingOf(index));
  DLC_TRY(staging->copyFrom(0, input.source));
  input.staged = staging;
  if (value.classes == 0)
    return {};
  std::vector<std::byte> numbers(input.source.size());
  DLC_TRY(staging->read(0, numbers));
  return checkClasses(entry, index, numbers.data(), validSamples());
}

/// Derived variables follow from the others; they are stale after a load, a write from outside and
/// a step that changes what they are made of and not them. Each entry has those made that it reads
/// itself.
Status Context::Impl::prepareState() {
  if (std::ranges::all_of(derived, [&](size_t i) { return state->isFresh(i); }))
    return {};
  if (!prepare) {
    const Plan &plan = state->module()->plan();
    const EntryInfo &maker = *plan.findEntry(DLC_ENTRY_PREPARE);
    const std::vector<bool> needed = recordsThatMake(plan, maker, derived);
    DLC_TRY_ASSIGN(made, Context::make(state, maker, &needed));
    prepare = std::move(made);
  }
  DLC_TRY(prepare->run());
  for (size_t i : derived)
    state->markFresh(i);
  return {};
}

Status Context::Impl::write(const ScalarInfo &scalar, double value) {
  std::byte number[sizeof(double)];
  storeElement(scalar.dtype, value, number);
  if (isWhole(scalar.dtype) && loadElement(scalar.dtype, number) != value)
    return invalid(state->module()->path(), ": scalar '", scalar.name, "' is an ",
                   dtypeName(scalar.dtype), ", which ", value, " is not");
  return scalars->write(scalar.offset, std::span(number, dtypeSize(scalar.dtype)));
}

/// Writes what the caller says.
Status Context::Impl::set(const ScalarInfo &scalar, double value) {
  DLC_TRY(write(scalar, value));
  given[&scalar - state->module()->plan().scalars.data()] = true;
  return {};
}

/// What the module's schedule makes of learning rates in the next run.
Result<double> Context::Impl::factorOfRun(const dlc_step &step) const {
  const Plan &plan = state->module()->plan();
  const auto parts = std::span(plan.schedule).subspan(step.schedule.first, step.schedule.count);
  for (const SchedulePart &part : parts) {
    if (part.kind == DLC_SCHEDULE_PLATEAU)
      return invalid("its schedule waits for evaluations, of which a Context knows nothing: give "
                     "it the learning rates of each run by setScalar()");
    if (part.inEpochs && epochBatches == 0)
      return invalid("its schedule counts epochs: setEpoch() says how many batches one has");
  }
  return scheduleFactor(parts,
                        {state->runs(number()), static_cast<double>(epochBatches) / step.every});
}

/// Writes what differs from run to run of an entry that trains, unless the caller does.
Status Context::Impl::followStep() {
  const Plan &plan = state->module()->plan();
  const auto step = std::ranges::find_if(
      plan.steps, [&](const dlc_step &each) { return each.entry == number(); });
  const uint64_t runs = state->runs(number());
  const uint64_t batch = step == plan.steps.end() ? runs : (runs + 1) * step->every - 1;
  std::optional<double> factor;
  for (size_t i = 0; i < plan.scalars.size(); ++i) {
    const ScalarInfo &scalar = plan.scalars[i];
    if (given[i])
      continue;
    if (scalar.name == "step")
      DLC_TRY(write(scalar, static_cast<double>(runs)));
    if (scalar.name == "random.step")
      DLC_TRY(write(scalar, static_cast<int32_t>(static_cast<uint32_t>(batch))));
    if (!scalar.scheduled || step == plan.steps.end() || step->schedule.count == 0)
      continue;
    if (!factor) {
      DLC_TRY_ASSIGN(found, factorOfRun(*step));
      factor = found;
    }
    DLC_TRY(write(scalar, scalar.value * *factor));
  }
  return {};
}

/// Clipping by a norm makes only those parameters not finite whose gradients were not, which tells
/// which they are, unless another run has changed them since.
Status Context::Impl::checkGradients() const {
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    const ValueInfo &output = entry.outputs[i];
    if (output.kind != DLC_VALUE_CHECK)
      continue;
    DLC_TRY_ASSIGN(numbers, fetchedOf(i));
    if (allFinite(output.type.dtype, numbers))
      continue;
    std::vector<std::byte> content;
    for (size_t v = 0; started == finished && v < state->module()->plan().variables.size(); ++v) {
      const VariableInfo &variable = state->module()->plan().variables[v];
      content.resize(variable.type.logicalBytes());
      if (variable.role == DLC_ROLE_PARAMETER && state->read(v, content).ok() &&
          !allFinite(variable.type.dtype, content))
        return failure(StatusCode::Failed, "the gradient of '", variable.name,
                       "' is not finite, so it cannot be clipped");
    }
    return failure(StatusCode::Failed, "a gradient is not finite, so it cannot be clipped");
  }
  return {};
}

/// Tells the trace which results a record wrote to the arena; a workspace is written and read.
Status Context::Impl::showWrites(const Trace &trace, uint32_t record) const {
  const Plan &plan = state->module()->plan();
  const dlc_range range = plan.records[record].arguments;
  for (uint32_t i = 0; trace.onWrite && i < range.count; ++i) {
    const dlc_argument &argument = plan.arguments[range.first + i];
    if (argument.space != DLC_SPACE_ARENA || argument.access != DLC_WRITE)
      continue;
    std::vector<std::byte> written(argument.bytes);
    DLC_TRY(arena->read(argument.offset, written));
    if (trace.onWrite(record, argument, written))
      DLC_TRY(arena->write(argument.offset, written));
  }
  return {};
}

Result<std::unique_ptr<Context>> Context::create(std::shared_ptr<State> state,
                                                 std::string_view entry) {
  return guarded([&]() -> Result<std::unique_ptr<Context>> {
    const Module &module = *state->module();
    if (const EntryInfo *found = module.plan().findEntry(entry))
      return make(std::move(state), *found, nullptr);
    std::string known;
    for (const EntryInfo &other : module.plan().entries)
      addItem(known, other.name);
    return invalid(module.path(), ": no entry '", entry, "'; there are: ", known);
  });
}

Result<std::unique_ptr<Context>> Context::make(std::shared_ptr<State> state, const EntryInfo &entry,
                                               const std::vector<bool> *needed) {
  const Module &module = *state->module();
  auto impl = std::make_unique<Impl>(std::move(state), entry);
  DLC_TRY_IN(impl->allocate(needed), module.path(), ": entry '", entry.name, "'");
  std::unique_ptr<Context> context(new Context(std::move(impl)));
  for (const ScalarInfo &scalar : module.plan().scalars)
    DLC_TRY(context->impl->write(scalar, scalar.value));
  DLC_TRY(context->setRandom(context->state()->seed(), 0));
  context->impl->given.assign(module.plan().scalars.size(), false);
  return context;
}

Context::Context(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Context::~Context() = default;

const EntryInfo &Context::entry() const { return impl->entry; }
const std::shared_ptr<State> &Context::state() const { return impl->state; }

static int findValue(const std::vector<ValueInfo> &values, std::string_view name) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].name == name)
      return static_cast<int>(i);
  return -1;
}

int Context::findInput(std::string_view name) const { return findValue(impl->entry.inputs, name); }
int Context::findOutput(std::string_view name) const {
  return findValue(impl->entry.outputs, name);
}

static Status wrongBytes(const EntryInfo &entry, const ValueInfo &value, size_t size) {
  return invalid("entry '", entry.name, "': '", value.name, "' is ", value.type.str(), ", ",
                 value.type.logicalBytes(), " bytes, found ", size);
}

Status Context::bind(size_t index, std::span<const std::byte> source, Place place) {
  return guarded([&]() -> Status {
    if (index >= impl->inputs.size())
      return invalid("entry '", impl->entry.name, "': input ", index, " of ", impl->inputs.size());
    const ValueInfo &input = impl->entry.inputs[index];
    if (source.size() != impl->inputs[index].bytes)
      return wrongBytes(impl->entry, input, source.size());
    const Device &device = *impl->state->device();
    DLC_TRY_IN(device.checkPlace(source.data(), place), "the memory for input '", input.name, "'");
    const Place needed = device.sharesHostMemory() ? Place::Host : place;
    if (needed == Place::Device && index == impl->entry.validInput)
      return invalid("entry '", impl->entry.name, "': input '", input.name,
                     "' is read on the host");
    impl->inputs[index].source = source;
    impl->inputs[index].place = needed;
    impl->inputs[index].checked = false;
    impl->kept = false;
    return {};
  });
}

Status Context::checkInputs() {
  return guarded([&]() -> Status {
    for (size_t i = 0; i < impl->inputs.size(); ++i) {
      DLC_TRY(impl->bindValid(i));
      if (impl->inputs[i].place == Place::Host)
        DLC_TRY(impl->checkInput(i));
      impl->inputs[i].checked = true;
    }
    return {};
  });
}

Status Context::keepInputs() {
  return guarded([&]() -> Status {
    DLC_TRY(impl->checkRoom());
    impl->kept = false;
    DLC_TRY(impl->stageInputs());
    // A read waits for the write.
    std::byte first{};
    for (InputBinding &input : impl->inputs)
      if (input.staged && input.staged->size() != 0)
        DLC_TRY(input.staged->read(0, std::span(&first, 1)));
    impl->kept = true;
    return {};
  });
}

Status Context::setScalar(std::string_view name, double value) {
  return guarded([&]() -> Status {
    const Plan &plan = impl->state->module()->plan();
    const ScalarInfo *scalar = plan.findScalar(name);
    if (!scalar)
      return invalid(impl->state->module()->path(), ": no scalar '", name, "'");
    return impl->set(*scalar, value);
  });
}

Status Context::setScalar(const ScalarInfo &scalar, double value) {
  return guarded([&] { return impl->set(scalar, value); });
}

void Context::setEpoch(uint64_t batches) { impl->epochBatches = batches; }

void Context::setTimeline(Timeline *timeline) { impl->executor->setTimeline(timeline); }

Status Context::setRandom(uint64_t seed, uint64_t step, uint64_t firstSample) {
  const uint64_t words[] = {seed, seed >> 32, step, firstSample};
  for (size_t i = 0; i < impl->random.size(); ++i)
    if (impl->random[i])
      DLC_TRY(setScalar(*impl->random[i], static_cast<int32_t>(static_cast<uint32_t>(words[i]))));
  return {};
}

Status Context::run(Trace *trace) {
  DLC_TRY(start(trace));
  return finish();
}

Status Context::start(Trace *trace) {
  return guarded([&] { return startRun(trace); });
}

Status Context::startRun(Trace *trace) {
  DLC_TRY(impl->checkRoom());
  DLC_TRY(impl->prepareState());
  DLC_TRY(impl->stageInputs());
  if (impl->trains())
    DLC_TRY_IN(impl->followStep(), "entry '", impl->entry.name, "'");
  auto done = [&](uint32_t record) { return impl->showWrites(*trace, record); };
  impl->wereFresh.clear();
  std::ranges::copy_if(impl->keptFresh, std::back_inserter(impl->wereFresh),
                       [&](size_t i) { return impl->state->isFresh(i); });
  // A run that fails may have written some of them.
  if (impl->trains())
    impl->state->markChanged();
  DLC_TRY_IN(impl->executor->run(impl->started % 2, trace, done), "entry '", impl->entry.name, "'");
  for (size_t i : impl->wereFresh)
    impl->state->markFresh(i);
  impl->readUntil[impl->side] = ++impl->started;
  if (impl->trains())
    impl->state->countRun(impl->number());
  return {};
}

Status Context::finish() {
  return guarded([&]() -> Status {
    if (impl->started == impl->finished)
      return invalid("entry '", impl->entry.name, "': no run was started");
    Result<std::span<const std::byte>> results = impl->executor->results(impl->finished++ % 2);
    if (!results.ok())
      return results.takeStatus().in(concat("entry '", impl->entry.name, "'"));
    impl->fetched.assign(results->begin(), results->end());
    DLC_TRY_IN(impl->checkGradients(), "entry '", impl->entry.name, "'");
    return {};
  });
}

/// Where an output stands on the device; null for what only the host has.
DeviceMemory *Context::Impl::memoryOf(const ValueInfo &output) const {
  switch (output.location.space) {
  case DLC_SPACE_ARENA:
    return arena.get();
  case DLC_SPACE_STATE:
    return &state->memory();
  case DLC_SPACE_SCALARS:
    return scalars.get();
  case DLC_SPACE_CONSTANT:
    return constants.get();
  default:
    // An input handed through, in the layout kernels saw.
    return inputs[output.location.index].staged;
  }
}

Status Context::Impl::readStorage(const ValueInfo &output, std::span<std::byte> destination) const {
  const dlc_argument &at = output.location;
  if (const DeviceMemory *memory = memoryOf(output))
    return memory->read(at.offset, destination);
  const std::byte *source = at.space == DLC_SPACE_CONSTANT
                                ? state->module()->plan().constants.data()
                                : inputs[at.index].source.data();
  if (!source)
    return invalid("entry '", entry.name, "' has not run yet");
  std::copy_n(source + at.offset, destination.size(), destination.begin());
  return {};
}

Result<std::span<const std::byte>> Context::Impl::fetchedOf(size_t index) const {
  const uint64_t bytes = entry.outputs[index].type.logicalBytes();
  if (!fits(fetchedAt[index], bytes, fetched.size()))
    return invalid("entry '", entry.name, "' has not run yet");
  return std::span(fetched).subspan(fetchedAt[index], bytes);
}

Status Context::Impl::readOnHost(size_t index, std::span<std::byte> destination) const {
  const ValueInfo &output = entry.outputs[index];
  if (output.isFetched()) {
    DLC_TRY_ASSIGN(bytes, fetchedOf(index));
    std::ranges::copy(bytes, destination.begin());
    return {};
  }
  if (output.type.isRowMajor())
    return readStorage(output, destination);
  std::vector<std::byte> storage(output.type.storageBytes());
  DLC_TRY(readStorage(output, storage));
  unpackLayout(output.type, storage.data(), destination.data());
  return {};
}

Status Context::Impl::readOnDevice(size_t index, std::span<std::byte> destination) const {
  const ValueInfo &output = entry.outputs[index];
  const DeviceMemory *memory = memoryOf(output);
  if (memory && !output.isFetched() && output.type.isRowMajor())
    return memory->copyTo(output.location.offset, destination);
  std::vector<std::byte> copy(destination.size());
  DLC_TRY(readOnHost(index, copy));
  return copyFromHost(*state->device(), copy, destination);
}

Result<std::span<const std::byte>> Context::fetched(size_t output) const {
  return impl->fetchedOf(output);
}

Status Context::read(size_t index, std::span<std::byte> destination, Place place) const {
  return guarded([&] { return readOutput(index, destination, place); });
}

Status Context::readOutput(size_t index, std::span<std::byte> destination, Place place) const {
  if (index >= impl->entry.outputs.size())
    return invalid("entry '", impl->entry.name, "': output ", index, " of ",
                   impl->entry.outputs.size());
  const ValueInfo &output = impl->entry.outputs[index];
  Device &device = *impl->state->device();
  if (destination.size() != output.type.logicalBytes())
    return wrongBytes(impl->entry, output, destination.size());
  DLC_TRY_IN(device.checkPlace(destination.data(), place), "the memory for output '", output.name,
             "'");
  if (place == Place::Host || device.sharesHostMemory())
    return impl->readOnHost(index, destination);
  return inOrder(device, impl->state->stream(),
                 [&] { return impl->readOnDevice(index, destination); });
}

Result<MetricValue> Context::metric(size_t index) const {
  return guarded([&]() -> Result<MetricValue> {
    if (index >= impl->entry.metrics.size())
      return invalid("entry '", impl->entry.name, "': metric ", index, " of ",
                     impl->entry.metrics.size());
    MetricSums sums(impl->entry);
    DLC_TRY(sums.add(*this));
    return sums.value(index);
  });
}

} // namespace dlc::runtime
