// Variables in one block of device memory.
#include "dlc/state.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Layout.h"
#include "runtime/Core/Support.h"
#include "runtime/Device/Device.h"

#include <algorithm>

namespace dlc::runtime {

State::~State() = default;

Result<std::shared_ptr<State>> State::create(std::shared_ptr<const Module> module,
                                             std::shared_ptr<Device> device, uint64_t seed) {
  return guarded([&] { return make(std::move(module), std::move(device), seed); });
}

Result<std::shared_ptr<State>> State::make(std::shared_ptr<const Module> module,
                                           std::shared_ptr<Device> device, uint64_t seed) {
  std::shared_ptr<State> state(new State());
  DLC_TRY(module->requireTarget(device->target()));
  DLC_TRY_ASSIGN(block, device->allocate(module->plan().stateBytes));
  state->block = std::move(block);
  state->owner = std::move(module);
  state->place = std::move(device);
  state->initialSeed = seed;
  state->makeResiduals();
  state->made.resize(state->owner->plan().variables.size());
  state->trained.resize(state->owner->plan().entries.size());
  const std::vector<VariableInfo> &variables = state->owner->plan().variables;
  for (size_t i = 0; i < variables.size(); ++i)
    // Fresh memory is zero already: slots cost nothing until they are used.
    if (variables[i].initialiser != DLC_INIT_COPY &&
        (variables[i].initialiser != DLC_INIT_CONSTANT || variables[i].a != 0))
      DLC_TRY(state->initialise(i));
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i].initialiser == DLC_INIT_COPY)
      DLC_TRY(state->initialise(i));
  return state;
}

void State::makeResiduals() {
  const Plan &plan = owner->plan();
  if (place->ranks().ranks() == 1)
    return;
  for (uint32_t i = 0; i < plan.records.size(); ++i)
    if (const dlc_record &record = plan.records[i];
        record.kind == DLC_RECORD_COLLECTIVE && record.index != DLC_COLLECTIVE_SUM)
      residuals[i].resize(plan.arguments[record.arguments.first].bytes / sizeof(float));
}

std::span<float> State::residual(uint32_t record) {
  auto found = residuals.find(record);
  return found == residuals.end() ? std::span<float>() : std::span(found->second);
}

std::span<const float> State::residual(uint32_t record) const {
  auto found = residuals.find(record);
  return found == residuals.end() ? std::span<const float>() : std::span(found->second);
}

void State::setStep(uint64_t batches) {
  for (const dlc_step &step : owner->plan().steps)
    trained[step.entry] = batches / step.every;
}

uint64_t State::step() const {
  uint64_t batches = 0;
  for (const dlc_step &step : owner->plan().steps)
    batches = std::max(batches, trained[step.entry] * step.every);
  return batches;
}

Result<const VariableInfo *> State::variable(size_t index) const {
  const std::vector<VariableInfo> &variables = owner->plan().variables;
  if (index < variables.size())
    return &variables[index];
  return invalid(owner->path(), ": variable ", index, " of ", variables.size());
}

Status State::initialise(size_t index) {
  return guarded([&]() -> Status {
    DLC_TRY_ASSIGN(found, variable(index));
    const VariableInfo &variable = *found;
    if (variable.initialiser != DLC_INIT_COPY && variable.type.isRowMajor() &&
        place->sharesHostMemory()) {
      ++changes;
      initialValue(variable, initialSeed,
                   {block->address() + variable.offset, variable.type.logicalBytes()});
      return {};
    }
    std::vector<std::byte> value(variable.type.logicalBytes());
    if (variable.initialiser == DLC_INIT_COPY)
      DLC_TRY(readCopied(variable, value));
    else
      initialValue(variable, initialSeed, value);
    return write(index, value);
  });
}

/// The value of the parameter that `variable` is a copy of, as elements of the variable's type.
Status State::readCopied(const VariableInfo &variable, std::span<std::byte> out) const {
  DLC_TRY_ASSIGN(parameter, this->variable(variable.of));
  const dlc_dtype from = parameter->type.dtype, to = variable.type.dtype;
  if (from == to)
    return read(variable.of, out);
  std::vector<std::byte> narrow(parameter->type.logicalBytes());
  DLC_TRY(read(variable.of, narrow));
  const uint64_t fromSize = dtypeSize(from), toSize = dtypeSize(to);
  for (uint64_t i = 0; i < narrow.size() / fromSize; ++i)
    storeElement(to, loadElement(from, &narrow[i * fromSize]), &out[i * toSize]);
  return {};
}

static Status checkSize(const VariableInfo &variable, size_t size) {
  if (size == variable.type.logicalBytes())
    return {};
  return invalid("variable '", variable.name, "' is ", variable.type.str(), ", ",
                 variable.type.logicalBytes(), " bytes, found ", size);
}

/// What messages call the program's memory for it.
static std::string placeName(const VariableInfo &variable) {
  return concat("the memory for variable '", variable.name, "'");
}

Status State::read(size_t index, std::span<std::byte> destination, Place where) const {
  return guarded([&] {
    auto copy = [&] { return copyOut(index, destination, where); };
    return where == Place::Host ? copy() : inOrder(*place, programStream, copy);
  });
}

Status State::write(size_t index, std::span<const std::byte> source, Place where) {
  return guarded([&] {
    auto copy = [&] { return copyIn(index, source, where); };
    return where == Place::Host ? copy() : inOrder(*place, programStream, copy);
  });
}

Status State::copyOut(size_t index, std::span<std::byte> destination, Place where) const {
  DLC_TRY_ASSIGN(found, variable(index));
  const VariableInfo &variable = *found;
  DLC_TRY(checkSize(variable, destination.size()));
  DLC_TRY_IN(place->checkPlace(destination.data(), where), placeName(variable));
  if (variable.type.isRowMajor())
    return where == Place::Host ? block->read(variable.offset, destination)
                                : block->copyTo(variable.offset, destination);
  std::vector<std::byte> storage(variable.bytes);
  DLC_TRY(block->read(variable.offset, storage));
  if (where == Place::Host || place->sharesHostMemory()) {
    unpackLayout(variable.type, storage.data(), destination.data());
    return {};
  }
  std::vector<std::byte> logical(destination.size());
  unpackLayout(variable.type, storage.data(), logical.data());
  return copyFromHost(*place, logical, destination);
}

Status State::copyIn(size_t index, std::span<const std::byte> source, Place where) {
  DLC_TRY_ASSIGN(found, variable(index));
  const VariableInfo &variable = *found;
  DLC_TRY(checkSize(variable, source.size()));
  DLC_TRY_IN(place->checkPlace(source.data(), where), placeName(variable));
  ++changes;
  if (variable.type.isRowMajor())
    return where == Place::Host ? block->write(variable.offset, source)
                                : block->copyFrom(variable.offset, source);
  std::vector<std::byte> logical, storage(variable.bytes);
  if (where == Place::Device && !place->sharesHostMemory()) {
    DLC_TRY_ASSIGN(copy, copyToHost(*place, source));
    logical = std::move(copy);
    source = logical;
  }
  packLayout(variable.type, source.data(), storage.data());
  return block->write(variable.offset, storage);
}

Status State::reset(dlc_role role) {
  for (size_t i = 0; i < owner->plan().variables.size(); ++i)
    if (owner->plan().variables[i].role == role)
      DLC_TRY(initialise(i));
  return {};
}

Result<std::shared_ptr<State>> State::clone() const {
  return guarded([&]() -> Result<std::shared_ptr<State>> {
    std::shared_ptr<State> copy(new State());
    DLC_TRY_ASSIGN(memory, place->allocate(owner->plan().stateBytes));
    std::vector<std::byte> content;
    for (size_t i = 0; i < owner->plan().variables.size(); ++i) {
      const VariableInfo &variable = owner->plan().variables[i];
      if (variable.role == DLC_ROLE_DERIVED && !isFresh(i))
        continue; // Made again where it is read.
      content.resize(variable.bytes);
      DLC_TRY(block->read(variable.offset, content));
      DLC_TRY(memory->write(variable.offset, content));
    }
    copy->block = std::move(memory);
    copy->owner = owner;
    copy->place = place;
    copy->residuals = residuals;
    copy->initialSeed = initialSeed;
    copy->changes = changes;
    copy->made = made;
    copy->trained = trained;
    return copy;
  });
}

} // namespace dlc::runtime
