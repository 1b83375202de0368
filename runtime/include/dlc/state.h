// The variables of a module: parameters, optimizer slots, statistics, counters. And what else a run
// carries from step to step: the residuals of compressed sums.
//
// Ownership: a State owns one block of device memory that holds all variables, and keeps Module and
// Device alive. Threads: one thread at a time, Contexts that run on it included. For inference
// beside training, clone() it.
#ifndef DLC_STATE_H
#define DLC_STATE_H

#include "dlc/device.h"
#include "dlc/module.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace dlc::runtime {

class DeviceMemory;

class DLC_API State {
public:
  /// Allocates the variables and initialises each from `seed`, its name and its initialiser: the
  /// same values on every device and in every run.
  static Result<std::shared_ptr<State>> create(std::shared_ptr<const Module> module,
                                               std::shared_ptr<Device> device, uint64_t seed);
  ~State();

  const std::shared_ptr<const Module> &module() const { return owner; }
  const std::shared_ptr<Device> &device() const { return place; }
  uint64_t seed() const { return initialSeed; }

  /// Copies variable number `index`, in logical row-major form, to or from the caller's memory.
  /// Fails with InvalidArgument if there is none of that number, or if the size is not exactly
  /// TensorType::logicalBytes(). A write to a parameter leaves the slots that began as a copy of
  /// it. Memory of the device is read and written in order with setStream(); a variable that the
  /// device keeps in another layout than row-major goes over the host.
  Status read(size_t index, std::span<std::byte> destination, Place where = Place::Host) const;
  Status write(size_t index, std::span<const std::byte> source, Place where = Place::Host);
  /// The same in no order with the stream: for who sees to it for several variables at once.
  Status copyOut(size_t index, std::span<std::byte> destination, Place where) const;
  Status copyIn(size_t index, std::span<const std::byte> source, Place where);

  /// The program's stream on a CUDA device, a cudaStream_t; null, as at first, is CUDA's default
  /// stream. Memory of the program's that lies on the device is read and written behind all that
  /// this stream has been given, and ahead of what it is given when the call has returned; the host
  /// waits for neither. Other devices do not look at it: what a call has to do there is done when
  /// it returns.
  void setStream(void *stream) { programStream = stream; }
  void *stream() const { return programStream; }

  /// Sets variable number `index` back to its initial value; a copy (DLC_INIT_COPY) takes what its
  /// parameter has now.
  Status initialise(size_t index);
  /// Sets all variables of one role back to their initial values, as an epoch's beginning does with
  /// DLC_ROLE_STATE.
  Status reset(dlc_role role);

  /// What the compressed sum that is record number `record` has left out so far, by element: this
  /// rank's own, zero when new. Empty for other records, and for one rank, which compresses
  /// nothing.
  std::span<float> residual(uint32_t record);
  std::span<const float> residual(uint32_t record) const;

  /// How often entry number `entry` of the module has run on these variables, of those that train:
  /// the number of its next update. 0 for others.
  uint64_t runs(size_t entry) const { return entry < trained.size() ? trained[entry] : 0; }
  /// Says that so many batches were trained on before, on each of which the entries of the step
  /// table ran that were due. loadVariables says so of a checkpoint that is loaded whole.
  void setStep(uint64_t batches);
  /// The batches that all this is: what setStep() would be told.
  uint64_t step() const;
  /// Counts a run, as a Context does.
  void countRun(size_t entry) { ++trained[entry]; }

  /// A copy that shares nothing with this one but the module and the device.
  Result<std::shared_ptr<State>> clone() const;

  /// The device memory behind the variables.
  DeviceMemory &memory() { return *block; }

  /// Says that the variables were changed: from outside (write, reset, load) or by a step that
  /// trains. Derived ones are stale then, as they are at first.
  void markChanged() { ++changes; }
  /// Whether derived variable number `index` was made since; a Context makes those that its entry
  /// reads.
  bool isFresh(size_t index) const { return index < made.size() && made[index] == changes; }
  void markFresh(size_t index) {
    if (index < made.size())
      made[index] = changes;
  }

private:
  State() = default;
  static Result<std::shared_ptr<State>> make(std::shared_ptr<const Module> module,
                                             std::shared_ptr<Device> device, uint64_t seed);
  void makeResiduals();
  Result<const VariableInfo *> variable(size_t index) const;
  Status readCopied(const VariableInfo &variable, std::span<std::byte> out) const;

  std::shared_ptr<const Module> owner;
  std::shared_ptr<Device> place;
  std::unique_ptr<DeviceMemory> block;
  std::map<uint32_t, std::vector<float>> residuals;
  void *programStream = nullptr;
  uint64_t initialSeed = 0;
  uint64_t changes = 1;
  /// What `changes` was when each derived variable was made; 0: never.
  std::vector<uint64_t> made;
  /// Runs of each entry.
  std::vector<uint64_t> trained;
};

} // namespace dlc::runtime

#endif
