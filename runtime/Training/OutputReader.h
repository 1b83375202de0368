// The outputs of runs of one entry, put together along the axes that count samples.
//
// Ownership: the context outlives it. Threads: as Context.
#ifndef DLC_RUNTIME_TRAINING_OUTPUTREADER_H
#define DLC_RUNTIME_TRAINING_OUTPUTREADER_H

#include "dlc/context.h"
#include "dlc/run.h"
#include "runtime/Device/Device.h"

namespace dlc::runtime {

/// Samples of a run, and where they are among all.
struct SampleRange {
  uint64_t first, count, all;
};

class OutputReader {
public:
  explicit OutputReader(const Context &context) : context(context), entry(context.entry()) {}

  /// Of an output, for so many samples.
  TensorType typeOf(const ValueInfo &output, uint64_t samples) const;
  /// Zeros for each output that is a result of the entry, in its order, for so many samples.
  std::vector<Tensor> tensors(uint64_t samples) const;

  /// Puts what the last run has made of its first samples where `range` says, in memory for all; an
  /// output that counts none is read as it is.
  Status read(size_t output, const SampleRange &range, std::byte *all, Place place = Place::Host);
  /// Puts all outputs into what tensors() has made.
  Status read(const SampleRange &range, std::vector<Tensor> &tensors);

private:
  Device &device() const { return *context.state()->device(); }

  const Context &context;
  const EntryInfo &entry;
  /// An output of a run, on the host and on the device.
  std::vector<std::byte> whole;
  std::unique_ptr<DeviceMemory> wholeThere;
};

} // namespace dlc::runtime

#endif
