// From the ABI's structs to a Plan, with everything checked but the records.
#include "runtime/Core/PlanDecoder.h"
#include "runtime/Core/Json.h"
#include "runtime/Core/Layout.h"
#include "runtime/Core/LibraryCall.h"
#include "runtime/Core/PlanReader.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace dlc::runtime {
namespace {

/// Decodes table after table; entries last, because they refer to all others.
class Decoder {
public:
  explicit Decoder(RawPlan raw) : raw(std::move(raw)) {}
  Result<Plan> run();

private:
  Status decodeName(dlc_string string, std::string_view &out, std::string_view of);
  Status decodeText(dlc_string string, std::string_view &out, std::string_view of);
  Status decodeOptionalName(dlc_string string, std::string_view &out, std::string_view of);
  Status decodeHeader();
  Status decodeType(const dlc_type &raw, TensorType &out);
  Status decodeLayout(const dlc_layout &raw, TensorType &out);
  Status decodeVariables();
  Status decodeVariable(const dlc_variable &raw, VariableInfo &out);
  Status checkVariablesApart();
  Status checkScalarsEnd();
  Status decodeScalars();
  Status decodeKernels();
  Status checkCudaKernel(const dlc_kernel &kernel);
  Status decodeImages();
  Status decodeCalls();
  Status decodeRecordTables();
  Status decodeSchedulePart(const dlc_schedule_part &part);
  Status decodeSchedule();
  Status decodeSteps();
  Status checkUpdates();
  Status decodeSettings();
  Status decodeEntries();
  Status decodeEntry(const dlc_entry &raw, EntryInfo &out);
  Status decodeValues(dlc_range range, const EntryInfo &entry, bool inputs,
                      std::vector<ValueInfo> &out);
  Status decodeValue(const dlc_value &raw, ValueInfo &out);
  Status checkInput(const ValueInfo &input, size_t number);
  Status checkOutput(const EntryInfo &entry, const ValueInfo &output);
  Status decodeMetrics(dlc_range range, EntryInfo &entry);
  Status decodeTerm(const dlc_term &term, const EntryInfo &entry);
  Status checkAllTaken();

  /// How far the owners of a table's elements have come: each begins where the one before ended.
  struct Taken {
    uint32_t images = 0, schedule = 0, values = 0, metrics = 0, terms = 0, records = 0;
  };

  RawPlan raw;
  Plan plan;
  Taken taken;
};

template <typename T> bool rangeFits(dlc_range range, const std::vector<T> &table) {
  return fits(range.first, range.count, table.size());
}

std::string rangeText(dlc_range range, size_t limit) {
  return concat("[", range.first, ", ", uint64_t(range.first) + range.count, ") of ", limit);
}

/// Takes the next elements of a table, which belong to their owners in order: so each has one, and
/// the work of reading them all is bounded by the plan's size. `what` precedes the range in a
/// message.
template <typename T>
Status takeRange(dlc_range range, const std::vector<T> &table, uint32_t &taken,
                 std::string_view what) {
  if (!rangeFits(range, table))
    return damaged(what, " ", rangeText(range, table.size()));
  if (range.count != 0 && range.first != taken)
    return damaged(what, " ", rangeText(range, table.size()), ", expected from ", taken);
  taken += range.count;
  return {};
}

/// Two items of one table may not share a name.
template <typename T> Status checkDistinct(const std::vector<T> &items, std::string_view what) {
  std::set<std::string_view> names;
  for (const T &item : items)
    if (!names.insert(item.name).second)
      return damaged("two ", what, " are called '", item.name, "'");
  return {};
}

Status Decoder::decodeText(dlc_string string, std::string_view &out, std::string_view of) {
  // One byte more for the terminating zero.
  if (!fits(string.offset, uint64_t(string.length) + 1, raw.strings.size()) && string.length != 0)
    return damaged(of, " lies outside of the strings: byte ", string.offset, ", length ",
                   string.length, ", there are ", raw.strings.size(), " bytes");
  out = string.length == 0 ? std::string_view() : raw.strings.substr(string.offset, string.length);
  if (string.length != 0 && raw.strings[string.offset + string.length] != '\0')
    return damaged(of, " is not followed by a zero");
  return {};
}

Status Decoder::decodeOptionalName(dlc_string string, std::string_view &out, std::string_view of) {
  constexpr uint32_t longest = 4096;
  if (string.length > longest)
    return damaged(of, " has ", string.length, " bytes, at most ", longest);
  DLC_TRY(decodeText(string, out, of));
  if (!isPrintableUtf8(out))
    return damaged(of, " is not printable UTF-8");
  return {};
}

Status Decoder::decodeName(dlc_string string, std::string_view &out, std::string_view of) {
  DLC_TRY(decodeOptionalName(string, out, of));
  return out.empty() ? damaged(of, " is empty") : Status();
}

Status Decoder::decodeLayout(const dlc_layout &layout, TensorType &out) {
  const size_t rank = out.shape.size();
  unsigned used = 0;
  for (size_t i = 0; layout.permuted && i < rank; ++i) {
    if (layout.order[i] >= rank || used >> layout.order[i] & 1)
      return damaged("the layout's order is no permutation of ", rank, " axes");
    used |= 1u << layout.order[i];
  }
  if (layout.permuted > 1)
    return damaged("the layout's 'permuted' is ", unsigned(layout.permuted), ", expected 0 or 1");
  if (layout.block_count > DLC_MAX_BLOCKS)
    return damaged("the layout has ", unsigned(layout.block_count), " blocks, at most ",
                   DLC_MAX_BLOCKS);
  for (unsigned i = 0; i < layout.block_count; ++i)
    if (layout.block_axis[i] >= rank || layout.block_size[i] == 0)
      return damaged("the layout's block ", i, " splits axis ", unsigned(layout.block_axis[i]),
                     " of ", rank, " by ", layout.block_size[i]);
  out.layout = layout;
  return {};
}

Status Decoder::decodeType(const dlc_type &type, TensorType &out) {
  if (dtypeSize(type.dtype) == 0)
    return damaged("dtype ", type.dtype, " is unknown");
  if (type.rank > DLC_MAX_RANK)
    return damaged("rank ", type.rank, " is above ", DLC_MAX_RANK);
  out.dtype = static_cast<dlc_dtype>(type.dtype);
  out.shape.assign(type.shape, type.shape + type.rank);
  const std::optional<uint64_t> elements = checkedElementCount(out.shape);
  if (!elements || *elements > largestSpace / sizeof(double))
    return damaged("shape ", out.str(), " has too many elements");
  DLC_TRY(decodeLayout(type.layout, out));
  const std::optional<uint64_t> stored = checkedElementCount(physicalShape(out));
  if (!stored || *stored > largestSpace / sizeof(double))
    return damaged("the layout of ", out.str(), " has too many elements");
  return {};
}

Status Decoder::decodeVariable(const dlc_variable &variable, VariableInfo &out) {
  DLC_TRY(decodeType(variable.type, out.type));
  if (variable.role < DLC_ROLE_PARAMETER || variable.role > DLC_ROLE_DERIVED)
    return damaged("role ", variable.role, " is unknown");
  if (variable.initialiser < DLC_INIT_CONSTANT || variable.initialiser > DLC_INIT_COPY)
    return damaged("initialiser ", variable.initialiser, " is unknown");
  if (!std::isfinite(variable.a) || !std::isfinite(variable.b))
    return damaged("the initialiser's parameters are not finite");
  if (variable.initialiser == DLC_INIT_ORTHOGONAL && variable.type.rank < 2)
    return damaged("an orthogonal initialiser needs two axes, found ", out.type.str());
  if (variable.bytes != out.type.storageBytes())
    return damaged("claims ", variable.bytes, " bytes, ", out.type.str(), " takes ",
                   out.type.storageBytes());
  if (variable.offset % DLC_ALIGNMENT != 0 ||
      !fits(variable.offset, variable.bytes, raw.header.state_bytes))
    return damaged("bytes [", variable.offset, ", +", variable.bytes, ") do not fit the state of ",
                   raw.header.state_bytes, " bytes, aligned to ", DLC_ALIGNMENT);
  if (variable.role == DLC_ROLE_SLOT ? variable.of >= raw.variables.size() ||
                                           raw.variables[variable.of].role != DLC_ROLE_PARAMETER
                                     : variable.of != DLC_NONE)
    return damaged("'of' is ", variable.of, ", expected ",
                   variable.role == DLC_ROLE_SLOT ? "the index of a parameter" : "none");
  if (variable.initialiser == DLC_INIT_COPY) {
    if (variable.role != DLC_ROLE_SLOT)
      return damaged("begins as a copy, but has no parameter to copy");
    TensorType copied;
    DLC_TRY(decodeType(raw.variables[variable.of].type, copied));
    const bool isWidened =
        out.type.dtype == DLC_F32 && (copied.dtype == DLC_BF16 || copied.dtype == DLC_F16);
    if ((copied.dtype != out.type.dtype && !isWidened) || copied.shape != out.type.shape)
      return damaged("is ", out.type.str(), ", but begins as a copy of ", copied.str());
  }
  out.role = static_cast<dlc_role>(variable.role);
  out.initialiser = static_cast<dlc_initialiser_kind>(variable.initialiser);
  out.a = variable.a;
  out.b = variable.b;
  out.offset = variable.offset;
  out.bytes = variable.bytes;
  out.of = variable.of;
  return {};
}

Status Decoder::checkVariablesApart() {
  std::vector<const VariableInfo *> order;
  for (const VariableInfo &variable : plan.variables)
    if (variable.bytes != 0)
      order.push_back(&variable);
  std::sort(order.begin(), order.end(), [](auto *a, auto *b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i - 1]->offset + order[i - 1]->bytes > order[i]->offset)
      return damaged("variables '", order[i - 1]->name, "' and '", order[i]->name, "' overlap");
  uint64_t end = 0;
  for (const VariableInfo &variable : plan.variables)
    end = std::max(end, alignUp(variable.offset + variable.bytes, DLC_ALIGNMENT));
  // Behind them there may be padding of what a kernel takes as one: a tensor of f64 beside ones of
  // 16 bits, which begin at multiples of 32 elements.
  constexpr uint64_t mostPadding = 32 * sizeof(double) - DLC_ALIGNMENT;
  if (plan.stateBytes < end || plan.stateBytes - end > mostPadding)
    return damaged("a state of ", plan.stateBytes, " bytes, its variables end at ", end);
  return {};
}

Status Decoder::decodeVariables() {
  for (const dlc_variable &variable : raw.variables) {
    VariableInfo info;
    DLC_TRY(
        decodeName(variable.name, info.name, concat("name of variable ", plan.variables.size())));
    DLC_TRY_IN(decodeVariable(variable, info), "variable '", info.name, "'");
    plan.variables.push_back(std::move(info));
  }
  DLC_TRY(checkDistinct(plan.variables, "variables"));
  return checkVariablesApart();
}

Status Decoder::decodeScalars() {
  for (const dlc_scalar &scalar : raw.scalars) {
    ScalarInfo info;
    DLC_TRY(decodeName(scalar.name, info.name, concat("name of scalar ", plan.scalars.size())));
    const bool isFloat = scalar.dtype == DLC_F32 || scalar.dtype == DLC_F64;
    if (!isFloat && scalar.dtype != DLC_I32 && scalar.dtype != DLC_I64)
      return damaged("scalar '", info.name, "' has dtype ", scalar.dtype,
                     ", expected f32, f64, i32 or i64");
    if (scalar.offset % dtypeSize(scalar.dtype) != 0 ||
        !fits(scalar.offset, dtypeSize(scalar.dtype), raw.header.scalars_bytes))
      return damaged("scalar '", info.name, "' at byte ", scalar.offset,
                     " does not fit the block of ", raw.header.scalars_bytes, " bytes");
    if (scalar.scheduled > 1)
      return damaged("scalar '", info.name, "': 'scheduled' is ", scalar.scheduled,
                     ", expected 0 or 1");
    if (scalar.scheduled == 1 && !isFloat)
      return damaged("scalar '", info.name, "' is scheduled, but no f32 or f64");
    info.dtype = static_cast<dlc_dtype>(scalar.dtype);
    info.offset = scalar.offset;
    info.value = scalar.value;
    info.scheduled = scalar.scheduled == 1;
    plan.scalars.push_back(info);
  }
  DLC_TRY(checkDistinct(plan.scalars, "scalars"));
  return checkScalarsEnd();
}

Status Decoder::checkScalarsEnd() {
  uint64_t end = 0;
  for (const ScalarInfo &scalar : plan.scalars)
    end = std::max<uint64_t>(end, scalar.offset + dtypeSize(scalar.dtype));
  if (end != plan.scalarsBytes)
    return damaged("a scalars block of ", plan.scalarsBytes, " bytes, its scalars end at ", end);
  return {};
}

Status Decoder::decodeKernels() {
  for (const dlc_kernel &kernel : raw.kernels) {
    KernelInfo info;
    DLC_TRY(
        decodeName(kernel.symbol, info.symbol, concat("symbol of kernel ", plan.kernels.size())));
    if (kernel.target != DLC_TARGET_CPU && kernel.target != DLC_TARGET_CUDA)
      return damaged("kernel '", info.symbol, "' is for target ", kernel.target,
                     ", which is unknown");
    info.target = static_cast<dlc_target>(kernel.target);
    info.function = kernel.function;
    info.scratchBytes = kernel.scratch_bytes;
    info.arguments = kernel.arguments;
    info.immediates = kernel.immediates;
    info.threads = kernel.threads;
    info.sharedBytes = kernel.shared_bytes;
    info.images = kernel.images;
    Status status = takeRange(kernel.images, raw.images, taken.images, "its images are");
    if (status.ok() && kernel.scratch_bytes > largestSpace)
      status = damaged("a scratch of ", kernel.scratch_bytes, " bytes");
    if (status.ok() && info.target == DLC_TARGET_CUDA)
      status = checkCudaKernel(kernel);
    DLC_TRY_IN(std::move(status), "kernel '", info.symbol, "'");
    plan.kernels.push_back(info);
  }
  return {};
}

Status Decoder::checkCudaKernel(const dlc_kernel &kernel) {
  constexpr uint32_t maxThreads = 1024, maxShared = 1u << 20;
  if (kernel.threads == 0 || kernel.threads > maxThreads)
    return damaged("blocks of ", kernel.threads, " threads, expected 1 to ", maxThreads);
  if (kernel.shared_bytes > maxShared)
    return damaged("blocks with ", kernel.shared_bytes, " bytes of shared memory");
  return {};
}

Status Decoder::decodeImages() {
  for (size_t i = 0; i < raw.images.size(); ++i) {
    const dlc_image &image = raw.images[i];
    if (image.kind != DLC_IMAGE_CUBIN && image.kind != DLC_IMAGE_PTX)
      return damaged("image ", i, " has kind ", image.kind, ", which is unknown");
    if (image.bytes == 0 || image.offset % DLC_ALIGNMENT != 0 ||
        !fits(image.offset, image.bytes, raw.imageBytes.size()))
      return damaged("image ", i, " is bytes [", image.offset, ", +", image.bytes, ") of ",
                     raw.imageBytes.size(), ", aligned to ", DLC_ALIGNMENT);
  }
  plan.images = std::move(raw.images);
  plan.imageBytes = raw.imageBytes;
  return {};
}

Status Decoder::decodeCalls() {
  for (size_t i = 0; i < raw.calls.size(); ++i) {
    const dlc_library_call &call = raw.calls[i];
    Status status = checkLibraryCall(call);
    // An engine, then pairs of knob and value; cuDNN has some 40 knobs.
    constexpr uint32_t mostNumbers = 1 + 2 * 64;
    if (status.ok() &&
        (!rangeFits(call.engine, raw.immediates) || call.engine.count > mostNumbers ||
         (call.engine.count != 0 && call.engine.count % 2 == 0)))
      status = damaged("its engine is immediates ", rangeText(call.engine, raw.immediates.size()));
    DLC_TRY_IN(std::move(status), "library call ", i);
  }
  plan.calls = std::move(raw.calls);
  return {};
}

Status Decoder::decodeRecordTables() {
  for (size_t i = 0; i < raw.records.size(); ++i) {
    std::string_view name;
    DLC_TRY(decodeOptionalName(raw.records[i].name, name, concat("name of record ", i)));
    plan.recordNames.push_back(name);
  }
  plan.records = std::move(raw.records);
  plan.arguments = std::move(raw.arguments);
  plan.immediates = std::move(raw.immediates);
  return {};
}

Status Decoder::decodeValue(const dlc_value &value, ValueInfo &out) {
  DLC_TRY(decodeType(value.type, out.type));
  if (value.kind < DLC_VALUE_INPUT || value.kind > DLC_VALUE_CHECK)
    return damaged("kind ", value.kind, " is unknown");
  out.kind = static_cast<dlc_value_kind>(value.kind);
  if (value.batch_axis != DLC_NONE && value.batch_axis >= out.type.shape.size())
    return damaged("batch axis ", value.batch_axis, " of ", out.type.str());
  out.batchAxis = value.batch_axis;
  out.location = value.location;
  if (value.location.bytes != out.type.storageBytes())
    return damaged("claims ", value.location.bytes, " bytes, ", out.type.str(), " takes ",
                   out.type.storageBytes());
  if (value.location.dtype != 0 && value.location.dtype != value.type.dtype)
    return damaged("stands where dtype ", value.location.dtype, " is, it is ", out.type.str());
  if (value.of != DLC_NONE &&
      (value.of >= plan.variables.size() || value.kind != DLC_VALUE_GRADIENT))
    return damaged("'of' is ", value.of, ", there are ", plan.variables.size(), " variables");
  if (value.of != DLC_NONE && out.type.shape != plan.variables[value.of].type.shape)
    return damaged("is ", out.type.str(), ", the gradient of ",
                   plan.variables[value.of].type.str());
  out.of = value.of;
  if (value.classes != 0 && (value.kind != DLC_VALUE_INPUT || !isWhole(out.type.dtype)))
    return damaged(value.classes, " classes of ", out.type.str(),
                   ", expected none, or an input of whole numbers");
  if (value.ignored != 0 && value.classes == 0)
    return damaged("ignores ", value.ignored, " of no classes");
  out.classes = value.classes;
  out.ignored = value.ignored;
  return {};
}

Status Decoder::checkInput(const ValueInfo &input, size_t number) {
  if (input.kind != DLC_VALUE_INPUT || input.location.space != DLC_SPACE_INPUT ||
      input.location.index != number || input.location.offset != 0)
    return damaged("an input must stand at the start of its own space");
  return {};
}

/// What counts samples has as many as a run of the entry.
static Status checkBatchAxis(const EntryInfo &entry, const ValueInfo &value) {
  if (value.batchAxis == DLC_NONE || value.type.shape[value.batchAxis] == entry.batch)
    return {};
  return damaged("axis ", value.batchAxis, " of ", value.type.str(),
                 " counts samples, the entry has ", entry.batch);
}

Status Decoder::checkOutput(const EntryInfo &entry, const ValueInfo &output) {
  if (output.kind == DLC_VALUE_INPUT)
    return damaged("an output of kind input");
  const std::string_view what = output.kind == DLC_VALUE_CHECK ? "a check" : "an accumulator";
  if (output.isFetched() &&
      ((output.type.dtype != DLC_F32 && output.type.dtype != DLC_F64) || !output.type.isRowMajor()))
    return damaged(what, " must be of f32 or f64 in row-major order, found ", output.type.str());
  if (output.isFetched() && output.location.space != DLC_SPACE_ARENA &&
      output.location.space != DLC_SPACE_STATE)
    return damaged(what, " must stand in the arena or in the state");
  return checkArgument(plan, entry, output.location);
}

Status Decoder::decodeValues(dlc_range range, const EntryInfo &entry, bool inputs,
                             std::vector<ValueInfo> &out) {
  std::string_view what = inputs ? "inputs" : "outputs";
  DLC_TRY(takeRange(range, raw.values, taken.values, concat(what, " are values")));
  for (uint32_t i = 0; i < range.count; ++i) {
    const dlc_value &value = raw.values[range.first + i];
    ValueInfo info;
    DLC_TRY(decodeName(value.name, info.name, concat("name of ", what, " ", i)));
    Status status = decodeValue(value, info);
    if (status.ok())
      status = inputs ? checkInput(info, i) : checkOutput(entry, info);
    if (status.ok())
      status = checkBatchAxis(entry, info);
    DLC_TRY_IN(std::move(status), inputs ? "input '" : "output '", info.name, "'");
    out.push_back(std::move(info));
  }
  return checkDistinct(out, what);
}

Status Decoder::decodeTerm(const dlc_term &term, const EntryInfo &entry) {
  auto isAccumulator = [&](uint32_t number) {
    return number < entry.outputs.size() && entry.outputs[number].kind == DLC_VALUE_ACCUMULATOR;
  };
  if (!isAccumulator(term.sum))
    return damaged("its sum is output ", term.sum, ", which is no accumulator");
  if (term.count != DLC_NONE && !isAccumulator(term.count))
    return damaged("its count is output ", term.count, ", which is no accumulator");
  if (term.count == DLC_NONE && !(std::isfinite(term.constant_count) && term.constant_count != 0))
    return damaged("its constant count is ", term.constant_count);
  if (!std::isfinite(term.coefficient))
    return damaged("its coefficient is ", term.coefficient);
  return {};
}

/// What a metric's finish expects of its terms.
static Status checkFinish(const MetricInfo &metric, const EntryInfo &entry) {
  auto typeOf = [&](uint32_t output) -> const TensorType & { return entry.outputs[output].type; };
  if (metric.finish == DLC_FINISH_AREA || metric.finish == DLC_FINISH_TABLE) {
    if (metric.terms.size() != 1)
      return damaged("has ", metric.terms.size(), " terms, expected one");
    const TensorType &type = typeOf(metric.terms[0].sum);
    const std::vector<uint64_t> &shape = type.shape;
    const bool good = metric.finish == DLC_FINISH_AREA ? shape.size() == 3 && shape[1] == 2
                                                       : shape.size() == 2 && shape[0] == shape[1];
    return good ? Status()
                : damaged("its sum is ", type.str(), ", expected ", dtypeName(type.dtype),
                          metric.finish == DLC_FINISH_AREA ? "[outputs, 2, bins]"
                                                           : "[classes, classes]");
  }
  for (const dlc_term &term : metric.terms)
    for (uint32_t output : {term.sum, term.count})
      if (output != DLC_NONE && !typeOf(output).shape.empty())
        return damaged("adds up '", entry.outputs[output].name, "', which is ",
                       typeOf(output).str(), ", expected ", dtypeName(typeOf(output).dtype), "[]");
  return {};
}

Status Decoder::decodeMetrics(dlc_range range, EntryInfo &entry) {
  DLC_TRY(takeRange(range, raw.metrics, taken.metrics, "metrics"));
  for (uint32_t i = 0; i < range.count; ++i) {
    const dlc_metric &metric = raw.metrics[range.first + i];
    MetricInfo info;
    DLC_TRY(decodeName(metric.name, info.name, concat("name of metric ", i)));
    if (metric.kind != DLC_METRIC_LOSS && metric.kind != DLC_METRIC_METRIC)
      return damaged("metric '", info.name, "' has kind ", metric.kind, ", which is unknown");
    if (metric.finish > DLC_FINISH_TABLE)
      return damaged("metric '", info.name, "' finishes by ", metric.finish, ", which is unknown");
    info.kind = static_cast<dlc_metric_kind>(metric.kind);
    info.finish = static_cast<dlc_finish>(metric.finish);
    DLC_TRY(takeRange(metric.terms, raw.terms, taken.terms,
                      concat("metric '", info.name, "' has terms")));
    for (uint32_t t = 0; t < metric.terms.count; ++t) {
      info.terms.push_back(raw.terms[metric.terms.first + t]);
      DLC_TRY_IN(decodeTerm(info.terms.back(), entry), "metric '", info.name, "', term ", t);
    }
    DLC_TRY_IN(checkFinish(info, entry), "metric '", info.name, "'");
    entry.metrics.push_back(std::move(info));
  }
  return checkDistinct(entry.metrics, "metrics");
}

Status Decoder::decodeEntry(const dlc_entry &entry, EntryInfo &out) {
  if (entry.kind < DLC_ENTRY_TRAIN || entry.kind > DLC_ENTRY_ACCUMULATE)
    return damaged("kind ", entry.kind, " is unknown");
  out.kind = static_cast<dlc_entry_kind>(entry.kind);
  out.records = entry.records;
  out.arenaBytes = entry.arena_bytes;
  out.streams = entry.streams;
  out.events = entry.events;
  out.batch = entry.batch;
  DLC_TRY(takeRange(entry.records, plan.records, taken.records, "records"));
  constexpr uint32_t maxStreams = 1024;
  if (entry.streams > maxStreams || entry.events > entry.records.count)
    return damaged(entry.streams, " streams and ", entry.events, " events for ",
                   entry.records.count, " records");
  if (entry.batch >> 31)
    return damaged("a batch of ", entry.batch, " samples");
  DLC_TRY(decodeValues(entry.inputs, out, true, out.inputs));
  if (out.kind == DLC_ENTRY_PREPARE && !out.inputs.empty())
    return damaged("prepares variables, but has ", out.inputs.size(), " inputs");
  DLC_TRY(decodeValues(entry.outputs, out, false, out.outputs));
  DLC_TRY(decodeMetrics(entry.metrics, out));
  out.validInput = entry.valid_input;
  if (entry.valid_input != DLC_NONE && (entry.valid_input >= out.inputs.size() ||
                                        out.inputs[entry.valid_input].type.str() != "i32[]"))
    return damaged("the count of valid samples is input ", entry.valid_input,
                   ", which is no i32[]");
  return {};
}

Status Decoder::decodeEntries() {
  for (const dlc_entry &entry : raw.entries) {
    EntryInfo info;
    DLC_TRY(decodeName(entry.name, info.name, concat("name of entry ", plan.entries.size())));
    DLC_TRY_IN(decodeEntry(entry, info), "entry '", info.name, "'");
    plan.entries.push_back(std::move(info));
  }
  return checkDistinct(plan.entries, "entries");
}

Status Decoder::decodeSchedulePart(const dlc_schedule_part &part) {
  if (part.kind < DLC_SCHEDULE_CONSTANT || part.kind > DLC_SCHEDULE_PLATEAU)
    return damaged("kind ", part.kind, " is unknown");
  for (double number : {part.length, part.n, part.a, part.b, part.c})
    if (!std::isfinite(number))
      return damaged("a number is not finite");
  if (part.in_epochs > 1)
    return damaged("'in_epochs' is ", part.in_epochs, ", expected 0 or 1");
  const bool isCurve = part.kind != DLC_SCHEDULE_CONSTANT && part.kind != DLC_SCHEDULE_PLATEAU;
  const bool restarts = part.kind == DLC_SCHEDULE_COSINE_RESTARTS;
  if (part.length < 0 || (isCurve && part.n <= 0) || (restarts && part.b < 1))
    return damaged("length ", part.length, ", n ", part.n, " and b ", part.b);
  SchedulePart info = {static_cast<dlc_schedule_kind>(part.kind),
                       part.in_epochs != 0,
                       part.length,
                       part.n,
                       part.a,
                       part.b,
                       part.c,
                       {}};
  if (part.kind == DLC_SCHEDULE_PLATEAU && part.c != 0 && part.c != 1)
    return damaged("c is ", part.c, ", expected 1 if more is better, else 0");
  if (part.kind == DLC_SCHEDULE_PLATEAU)
    DLC_TRY(decodeName(part.metric, info.metric, "the metric's name"));
  plan.schedule.push_back(info);
  return {};
}

Status Decoder::decodeSchedule() {
  for (size_t i = 0; i < raw.schedule.size(); ++i)
    DLC_TRY_IN(decodeSchedulePart(raw.schedule[i]), "schedule part ", i);
  return {};
}

Status Decoder::decodeSteps() {
  for (size_t i = 0; i < raw.steps.size(); ++i) {
    const dlc_step &step = raw.steps[i];
    if (step.entry >= plan.entries.size() || step.every == 0)
      return damaged("step ", i, " runs entry ", step.entry, " of ", plan.entries.size(), " every ",
                     step.every, " batches");
    dlc_entry_kind kind = plan.entries[step.entry].kind;
    if (kind != DLC_ENTRY_TRAIN && kind != DLC_ENTRY_ACCUMULATE)
      return damaged("step ", i, " runs entry '", plan.entries[step.entry].name,
                     "', which does not train");
    DLC_TRY(takeRange(step.schedule, plan.schedule, taken.schedule,
                      concat("step ", i, " has schedule parts")));
  }
  plan.steps = std::move(raw.steps);
  return checkUpdates();
}

/// Behind each step that accumulates stands the one that takes what it has.
Status Decoder::checkUpdates() {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const size_t update = plan.updateOf(i);
    if (update == i)
      continue;
    const dlc_step *next = update < plan.steps.size() ? &plan.steps[update] : nullptr;
    if (!next || plan.entries[next->entry].kind != DLC_ENTRY_TRAIN ||
        next->every % plan.steps[i].every != 0)
      return damaged("step ", i, " accumulates gradients, and the next one is not their update");
  }
  return {};
}

Status Decoder::decodeSettings() {
  for (const dlc_setting &setting : raw.settings) {
    SettingInfo info;
    DLC_TRY(decodeName(setting.name, info.name, concat("name of setting ", plan.settings.size())));
    info.value = setting.value;
    plan.settings.push_back(info);
  }
  return checkDistinct(plan.settings, "settings");
}

/// What nobody refers to would be read by those who walk whole tables, and checked by nobody.
Status Decoder::checkAllTaken() {
  struct Table {
    std::string_view name, owner;
    size_t size;
    uint32_t taken;
  };
  const Table tables[] = {{"images", "kernel", plan.images.size(), taken.images},
                          {"schedule parts", "step", plan.schedule.size(), taken.schedule},
                          {"values", "entry", raw.values.size(), taken.values},
                          {"metrics", "entry", raw.metrics.size(), taken.metrics},
                          {"terms", "metric", raw.terms.size(), taken.terms},
                          {"records", "entry", plan.records.size(), taken.records}};
  for (const Table &table : tables)
    if (table.taken != table.size)
      return damaged(table.size - table.taken, " of ", table.size, " ", table.name,
                     " belong to no ", table.owner);
  return {};
}

Status Decoder::decodeHeader() {
  const dlc_plan_header &header = raw.header;
  if (header.state_bytes > largestSpace || header.scalars_bytes > largestSpace)
    return damaged("a state of ", header.state_bytes, " bytes, scalars of ", header.scalars_bytes);
  plan.stateBytes = header.state_bytes;
  plan.scalarsBytes = header.scalars_bytes;
  if (header.data_parallel > 1)
    return damaged("data_parallel is ", header.data_parallel, ", expected 0 or 1");
  plan.dataParallel = header.data_parallel == 1;
  DLC_TRY(decodeOptionalName(header.model, plan.model, "the model's name"));
  DLC_TRY(decodeText(header.documentation, plan.documentation, "the model's documentation"));
  DLC_TRY(decodeText(header.report, plan.report, "the compile report"));
  return checkJsonDepth(plan.report).in("the compile report");
}

Result<Plan> Decoder::run() {
  DLC_TRY(decodeHeader());
  plan.constants = raw.constants;
  DLC_TRY(decodeVariables());
  DLC_TRY(decodeScalars());
  DLC_TRY(decodeKernels());
  DLC_TRY(decodeImages());
  DLC_TRY(decodeCalls());
  DLC_TRY(decodeRecordTables());
  DLC_TRY(decodeEntries());
  DLC_TRY(decodeSchedule());
  DLC_TRY(decodeSteps());
  DLC_TRY(decodeSettings());
  DLC_TRY(checkAllTaken());
  DLC_TRY(checkRecords(plan));
  return std::move(plan);
}

} // namespace

Result<Plan> decodePlan(std::span<const std::byte> blob) {
  DLC_TRY_ASSIGN(raw, readPlan(blob));
  return Decoder(std::move(raw)).run();
}

} // namespace dlc::runtime
