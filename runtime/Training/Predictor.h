// Arrays of the program as inputs and outputs of entries.
//
// Threads: as Context.
#ifndef DLC_RUNTIME_TRAINING_PREDICTOR_H
#define DLC_RUNTIME_TRAINING_PREDICTOR_H

#include "dlc/context.h"
#include "dlc/data.h"
#include "dlc/run.h"
#include "runtime/Core/HostMemory.h"
#include "runtime/Data/BatchLoader.h"
#include "runtime/Device/Device.h"
#include "runtime/Training/OutputReader.h"

namespace dlc::runtime {

/// Takes arrays as batches of an entry: an array for each of its inputs, but for the count of valid
/// samples.
class ArrayBatches {
public:
  explicit ArrayBatches(const EntryInfo &entry) : entry(entry) {}
  /// The batch, until the next one is taken. Fails with InvalidArgument where an array is missing,
  /// unknown, twice there or of another type.
  Result<const Batch &> take(std::span<const Array> arrays);

private:
  const EntryInfo &entry;
  /// The array for each input; null for the count of valid samples.
  std::vector<const Array *> found;
  Batch batch;
};

/// Runs an entry that infers on any number of samples, where the first axis of all inputs counts
/// them, or on arrays that are as it takes them.
class Predictor {
public:
  static Result<std::unique_ptr<Predictor>> create(std::shared_ptr<State> state,
                                                   std::string_view entry);

  Result<std::vector<Tensor>> run(std::span<const Array> inputs);
  Status run(std::span<const Array> inputs, std::span<const OutputArray> outputs);

private:
  explicit Predictor(std::unique_ptr<Context> context);
  /// Memory of the program's. On a device that shares the host's, all of it is the host's.
  template <typename Byte> struct Placed {
    Byte *data = nullptr;
    Place place = Place::Host;
  };
  using Source = Placed<const std::byte>;
  using Target = Placed<std::byte>;
  struct Given {
    /// By input of the entry; null for the count of valid samples.
    std::vector<Source> inputs;
    uint64_t samples;
  };
  Result<Given> match(std::span<const Array> arrays) const;
  Status runAll(const Given &given, std::span<const Target> outputs);
  Status bind(const Given &given, uint64_t first, uint64_t count);
  Result<const std::byte *> padOnHost(size_t input, std::span<const std::byte> samples);
  Result<const std::byte *> padOnDevice(size_t input, std::span<const std::byte> samples);
  Device &device() const { return *context->state()->device(); }
  Place resolved(Place place) const { return device().sharesHostMemory() ? Place::Host : place; }

  std::unique_ptr<Context> context;
  const EntryInfo &entry;
  OutputReader reader;
  /// Whether the first axis of each input counts samples.
  bool bySample;
  int32_t valid = 0;
  /// By input: the last samples, where they do not fill a batch.
  std::vector<HostMemory> padded;
  /// The same on the device, and how many bytes of samples lie in each.
  struct PaddedOnDevice {
    std::unique_ptr<DeviceMemory> memory;
    uint64_t used = 0;
  };
  std::vector<PaddedOnDevice> paddedThere;
};

} // namespace dlc::runtime

#endif
