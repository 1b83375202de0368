// Tensors in host memory, to and from safetensors files and the inputs and outputs of entries.
#ifndef DLC_TOOLS_DLC_RUN_TENSORS_H
#define DLC_TOOLS_DLC_RUN_TENSORS_H

#include "dlc/context.h"
#include "dlc/run.h"
#include "runtime/Data/Safetensors.h"

#include <cstdlib>
#include <new>

namespace dlc::runtime::tool {

/// Gives vectors the alignment that kernels read in place.
template <typename T> struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <typename U> AlignedAllocator(const AlignedAllocator<U> &) {}
  T *allocate(size_t count) {
    return static_cast<T *>(::operator new(count * sizeof(T), std::align_val_t(DLC_ALIGNMENT)));
  }
  void deallocate(T *memory, size_t) { ::operator delete(memory, std::align_val_t(DLC_ALIGNMENT)); }
  bool operator==(const AlignedAllocator &) const { return true; }
};
using AlignedBytes = std::vector<std::byte, AlignedAllocator<std::byte>>;

struct HostTensor {
  std::string name;
  TensorType type;
  AlignedBytes bytes;
};

/// A row-major tensor of zeros.
HostTensor makeTensor(std::string_view name, dlc_dtype dtype, std::vector<uint64_t> shape);
/// Metric `index` of an entry as [], or [n, n] for a table: f64 if a sum of it is, else f32.
HostTensor metricTensor(const EntryInfo &entry, size_t index, std::string_view name,
                        const MetricValue &value);

Result<HostTensor> readTensor(const SafetensorsFile &file, const StoredTensor &stored);
Status saveTensors(const std::string &path, const std::vector<HostTensor> &tensors,
                   const Metadata &metadata);
/// The same of tensors of the library's.
Status saveTensors(const std::string &path, const std::vector<Tensor> &tensors,
                   const Metadata &metadata);

/// Output number `index` of the last run.
Result<HostTensor> readOutput(const Context &context, size_t index);
/// Variable number `index`.
Result<HostTensor> readVariable(const State &state, size_t index);

/// Random contents for an input: floats in [0, 1), classes of those that it has, other integers 0
/// or 1, so that they are in range as indices.
HostTensor randomInput(const ValueInfo &input, uint64_t seed);
/// Such contents for all inputs of a context, whole batches; they must live as long as it runs.
Result<std::vector<HostTensor>> bindRandom(Context &context, uint64_t seed);

} // namespace dlc::runtime::tool

#endif
