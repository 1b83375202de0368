// What a module says about itself, decoded and checked: the C++ face of the tables in abi.h. Every
// index, range, offset and size in it is valid, so that readers need no further check.
//
// Ownership: a Plan belongs to its Module and lives as long; names are views of the module's
// memory. Threads: immutable; any number of threads may read it.
#ifndef DLC_PLAN_H
#define DLC_PLAN_H

#include "dlc/abi.h"
#include "dlc/version.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::runtime {

/// Bytes of one element, 0 for a number that is no dtype.
DLC_API uint64_t dtypeSize(uint32_t dtype);
/// "f32", "i32", ...
DLC_API std::string_view dtypeName(uint32_t dtype);
/// Whether elements of a dtype are whole numbers; bool's are.
DLC_API bool isWhole(uint32_t dtype);

/// The type of a tensor: logical shape, and the physical layout in which kernels see it.
struct DLC_API TensorType {
  dlc_dtype dtype = DLC_F32;
  std::vector<uint64_t> shape;
  dlc_layout layout = {};

  uint64_t elementCount() const;
  /// Bytes of the logical, row-major form: what callers pass and files hold.
  uint64_t logicalBytes() const { return elementCount() * dtypeSize(dtype); }
  /// Bytes of the physical form, padding of the layout included.
  uint64_t storageBytes() const;
  bool isRowMajor() const { return !layout.permuted && layout.block_count == 0; }
  /// "f32[64, 10]"
  std::string str() const;
};

struct VariableInfo {
  std::string_view name;
  TensorType type;
  dlc_role role;
  dlc_initialiser_kind initialiser;
  double a, b;
  /// In the state.
  uint64_t offset, bytes;
  /// Slots: index of the parameter it belongs to, else DLC_NONE.
  uint32_t of;
};

/// A number in the scalars block.
struct ScalarInfo {
  std::string_view name;
  /// DLC_F32, DLC_I32 or DLC_I64.
  dlc_dtype dtype;
  uint64_t offset;
  double value;
  bool scheduled;
};

/// An input or output of an entry.
struct ValueInfo {
  std::string_view name;
  TensorType type;
  dlc_value_kind kind;
  /// Axis that counts samples, or DLC_NONE.
  uint32_t batchAxis;
  dlc_argument location;
  /// Gradient of a variable: its index, else DLC_NONE.
  uint32_t of;
  /// Inputs of whole numbers: if not 0, each is a class, from 0 to classes - 1.
  uint32_t classes = 0;
  /// Beside classes: one more number that is taken.
  int64_t ignored = 0;

  /// Whether each run hands it to the host: what is added up or checked there.
  bool isFetched() const { return kind == DLC_VALUE_ACCUMULATOR || kind == DLC_VALUE_CHECK; }
};

/// value = finish(sum over terms of coefficient * sum / count); sum and count number outputs of the
/// entry. See dlc_metric.
struct MetricInfo {
  std::string_view name;
  dlc_metric_kind kind;
  dlc_finish finish;
  std::vector<dlc_term> terms;
};

struct EntryInfo {
  std::string_view name;
  dlc_entry_kind kind;
  /// Number of the input that says how many samples count, or DLC_NONE.
  uint32_t validInput;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<MetricInfo> metrics;
  dlc_range records;
  uint64_t arenaBytes;
  uint32_t streams, events;
  /// Samples of one run, 0 without a batch axis.
  uint64_t batch;
};

struct KernelInfo {
  std::string_view symbol;
  dlc_target target;
  uint32_t function;
  uint64_t scratchBytes;
  uint32_t arguments, immediates;
  /// CUDA: threads of a block, dynamic shared memory of a block, its code as a range of images.
  uint32_t threads, sharedBytes;
  dlc_range images;
};

/// A part of a step's schedule, see dlc_schedule_part.
struct SchedulePart {
  dlc_schedule_kind kind;
  bool inEpochs;
  double length, n, a, b, c;
  std::string_view metric;
};

struct SettingInfo {
  std::string_view name;
  double value;
};

struct DLC_API Plan {
  std::string_view model, documentation, report;
  uint64_t stateBytes = 0, scalarsBytes = 0;
  /// Whether several ranks may train together; see dlc_plan_header.
  bool dataParallel = false;
  std::vector<VariableInfo> variables;
  std::vector<ScalarInfo> scalars;
  std::vector<EntryInfo> entries;
  std::vector<KernelInfo> kernels;
  std::vector<dlc_record> records;
  /// The name of each record: layer and stage.
  std::vector<std::string_view> recordNames;
  std::vector<dlc_argument> arguments;
  std::vector<uint64_t> immediates;
  std::vector<dlc_step> steps;
  /// Parts of the steps' schedules.
  std::vector<SchedulePart> schedule;
  std::vector<SettingInfo> settings;
  std::span<const std::byte> constants;
  /// Cubins and PTX of CUDA kernels.
  std::vector<dlc_image> images;
  std::span<const std::byte> imageBytes;
  std::vector<dlc_library_call> calls;

  /// Null if there is none of that name.
  const EntryInfo *findEntry(std::string_view name) const;
  /// The first entry of a kind in table order, or null.
  const EntryInfo *findEntry(dlc_entry_kind kind) const;
  const VariableInfo *findVariable(std::string_view name) const;
  const ScalarInfo *findScalar(std::string_view name) const;
  /// Whether the entry has launches that take the part of a library call.
  bool hasAlternative(const EntryInfo &entry, uint32_t call) const;
  /// The step that takes what step number `index` accumulates; `index` itself if it accumulates
  /// nothing.
  size_t updateOf(size_t index) const {
    return index + (entries[steps[index].entry].kind == DLC_ENTRY_ACCUMULATE ? 1 : 0);
  }
};

/// "parameter", "slot", ...
DLC_API std::string_view roleName(dlc_role role);
/// "train", "evaluate", ...
DLC_API std::string_view entryKindName(dlc_entry_kind kind);
/// "cpu", "cuda", "simt"
DLC_API std::string_view targetName(dlc_target target);
/// "product", "convolution", ...
DLC_API std::string_view libraryOpName(uint32_t op);

} // namespace dlc::runtime

#endif
