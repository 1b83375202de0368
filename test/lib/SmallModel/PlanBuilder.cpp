// Assembling tables and serialising them.
#include "test/lib/SmallModel/PlanBuilder.h"

#include <algorithm>
#include <cstring>

namespace dlc::test {

static uint64_t aligned(uint64_t value) {
  return (value + DLC_ALIGNMENT - 1) / DLC_ALIGNMENT * DLC_ALIGNMENT;
}

uint64_t bytesOf(const dlc_type &type) {
  static constexpr uint64_t sizes[] = {0, 4, 8, 2, 2, 4, 8, 1, 1};
  uint64_t bytes = sizes[type.dtype];
  for (uint32_t i = 0; i < type.rank; ++i)
    bytes *= type.shape[i];
  return bytes;
}

static dlc_argument withAccess(dlc_argument argument, uint32_t access) {
  argument.access = access;
  return argument;
}
dlc_argument reading(dlc_argument argument) { return withAccess(argument, DLC_READ); }
dlc_argument writing(dlc_argument argument) { return withAccess(argument, DLC_WRITE); }
dlc_argument updating(dlc_argument argument) { return withAccess(argument, DLC_READ | DLC_WRITE); }

dlc_string PlanBuilder::text(std::string_view content) {
  dlc_string string{static_cast<uint32_t>(strings.size()), static_cast<uint32_t>(content.size())};
  strings.append(content).push_back('\0');
  return string;
}

dlc_type PlanBuilder::type(dlc_dtype dtype, std::initializer_list<uint64_t> shape) {
  dlc_type type = {};
  type.dtype = dtype;
  for (uint64_t extent : shape)
    type.shape[type.rank++] = extent;
  return type;
}

uint32_t PlanBuilder::variable(std::string_view name, dlc_type type, dlc_role role,
                               dlc_initialiser_kind initialiser, double a, double b, uint32_t of) {
  dlc_variable variable = {};
  variable.name = text(name);
  variable.type = type;
  variable.role = role;
  variable.initialiser = initialiser;
  variable.a = a;
  variable.b = b;
  variable.offset = header.state_bytes;
  variable.bytes = bytesOf(type);
  variable.of = of;
  header.state_bytes += aligned(variable.bytes);
  variables.push_back(variable);
  return static_cast<uint32_t>(variables.size() - 1);
}

uint32_t PlanBuilder::scalar(std::string_view name, double value) {
  scalars.push_back({text(name), DLC_F32, 0, header.scalars_bytes, value});
  header.scalars_bytes += sizeof(float);
  return static_cast<uint32_t>(scalars.size() - 1);
}

uint32_t PlanBuilder::kernel(std::string_view symbol, uint32_t function, uint32_t arguments,
                             uint32_t immediates, uint64_t scratch) {
  dlc_kernel kernel = {};
  kernel.symbol = text(symbol);
  kernel.target = target;
  kernel.threads = target == DLC_TARGET_CUDA ? 32 : 0;
  kernel.function = function;
  kernel.scratch_bytes = scratch;
  kernel.arguments = arguments;
  kernel.immediates = immediates;
  kernels.push_back(kernel);
  return static_cast<uint32_t>(kernels.size() - 1);
}

void PlanBuilder::beginEntry(std::string_view name, dlc_entry_kind kind, uint64_t batch) {
  dlc_entry entry = {};
  entry.name = text(name);
  entry.kind = kind;
  entry.valid_input = DLC_NONE;
  entry.inputs.first = entry.outputs.first = static_cast<uint32_t>(values.size());
  entry.metrics.first = static_cast<uint32_t>(metrics.size());
  entry.records.first = static_cast<uint32_t>(records.size());
  entry.streams = 1;
  entry.batch = batch;
  entries.push_back(entry);
}

uint32_t PlanBuilder::input(std::string_view name, dlc_type type, uint32_t batchAxis) {
  dlc_value value = {};
  value.name = text(name);
  value.type = type;
  value.kind = DLC_VALUE_INPUT;
  value.batch_axis = batchAxis;
  value.location = {DLC_SPACE_INPUT, entry().inputs.count, 0, bytesOf(type), DLC_READ, 0};
  value.of = DLC_NONE;
  values.push_back(value);
  entry().outputs.first = static_cast<uint32_t>(values.size());
  return entry().inputs.count++;
}

uint32_t PlanBuilder::output(std::string_view name, dlc_type type, dlc_value_kind kind,
                             dlc_argument location, uint32_t of) {
  dlc_value value = {};
  value.name = text(name);
  value.type = type;
  value.kind = kind;
  value.batch_axis = kind == DLC_VALUE_RESULT && type.rank > 0 ? 0 : DLC_NONE;
  value.location = reading(location);
  value.of = of;
  values.push_back(value);
  return entry().outputs.count++;
}

void PlanBuilder::metric(std::string_view name, dlc_metric_kind kind, uint32_t sum,
                         uint32_t count) {
  const dlc_range range{static_cast<uint32_t>(terms.size()), 1};
  metrics.push_back({text(name), static_cast<uint32_t>(kind), DLC_FINISH_NONE, range});
  terms.push_back({sum, count, 0, 1});
  ++entry().metrics.count;
}

dlc_argument PlanBuilder::arena(uint64_t bytes) {
  dlc_argument argument{DLC_SPACE_ARENA, 0, entry().arena_bytes, bytes, DLC_READ, DLC_F32};
  entry().arena_bytes += aligned(bytes);
  return argument;
}

void PlanBuilder::launch(std::string_view name, uint32_t kernel, uint32_t tasks,
                         std::vector<dlc_argument> buffers, std::vector<uint64_t> numbers) {
  dlc_record record = {};
  record.kind = DLC_RECORD_LAUNCH;
  record.stream = stream;
  record.index = kernel;
  record.tasks = tasks;
  record.arguments = {static_cast<uint32_t>(arguments.size()),
                      static_cast<uint32_t>(buffers.size())};
  record.immediates = {static_cast<uint32_t>(immediates.size()),
                       static_cast<uint32_t>(numbers.size())};
  record.name = text(name);
  arguments.insert(arguments.end(), buffers.begin(), buffers.end());
  immediates.insert(immediates.end(), numbers.begin(), numbers.end());
  records.push_back(record);
  entry().streams = std::max(entry().streams, stream + 1);
}

void PlanBuilder::library(std::string_view name, const dlc_library_call &call,
                          std::vector<dlc_argument> buffers) {
  calls.push_back(call);
  launch(name, static_cast<uint32_t>(calls.size() - 1), 0, std::move(buffers), {});
  records.back().kind = DLC_RECORD_LIBRARY;
}

void PlanBuilder::event(dlc_record_kind kind, uint32_t event) {
  launch("event", event, 0, {}, {});
  records.back().kind = kind;
  entry().events = std::max(entry().events, event + 1);
}

void PlanBuilder::sumOverRanks(std::string_view name, dlc_argument buffer, uint32_t channel) {
  buffer.access = DLC_READ | DLC_WRITE;
  buffer.dtype = DLC_F32;
  launch(name, DLC_COLLECTIVE_SUM, 0, {buffer}, {});
  records.back().kind = DLC_RECORD_COLLECTIVE;
  records.back().value = channel;
  header.data_parallel = 1;
}

void PlanBuilder::endEntry() {
  entry().records.count = static_cast<uint32_t>(records.size()) - entry().records.first;
}

dlc_argument PlanBuilder::ofVariable(uint32_t variable) const {
  return {DLC_SPACE_STATE, 0, variables[variable].offset, variables[variable].bytes, DLC_READ, 0};
}
dlc_argument PlanBuilder::ofScalar(uint32_t scalar) const {
  return {DLC_SPACE_SCALARS, 0, scalars[scalar].offset, sizeof(float), DLC_READ, 0};
}
dlc_argument PlanBuilder::ofInput(uint32_t number) const {
  return values[entries.back().inputs.first + number].location;
}

template <typename T>
static void putTable(std::vector<std::byte> &blob, size_t slot, uint32_t kind, const T *data,
                     size_t count) {
  blob.resize(aligned(blob.size()));
  dlc_table table{kind, sizeof(T), blob.size(), count};
  std::memcpy(blob.data() + sizeof(dlc_plan_header) + slot * sizeof(dlc_table), &table,
              sizeof(table));
  const auto *bytes = reinterpret_cast<const std::byte *>(data);
  blob.insert(blob.end(), bytes, bytes + count * sizeof(T));
}

std::vector<std::byte> PlanBuilder::blob() const {
  constexpr uint32_t tables = 18;
  std::vector<std::byte> blob(sizeof(dlc_plan_header) + tables * sizeof(dlc_table));
  size_t slot = 0;
  auto put = [&](uint32_t kind, const auto &table) {
    putTable(blob, slot++, kind, table.data(), table.size());
  };
  put(DLC_TABLE_STRINGS, strings);
  put(DLC_TABLE_CONSTANTS, constants);
  put(DLC_TABLE_VARIABLES, variables);
  put(DLC_TABLE_SCALARS, scalars);
  put(DLC_TABLE_ENTRIES, entries);
  put(DLC_TABLE_VALUES, values);
  put(DLC_TABLE_METRICS, metrics);
  put(DLC_TABLE_TERMS, terms);
  put(DLC_TABLE_KERNELS, kernels);
  put(DLC_TABLE_RECORDS, records);
  put(DLC_TABLE_ARGUMENTS, arguments);
  put(DLC_TABLE_IMMEDIATES, immediates);
  put(DLC_TABLE_STEPS, steps);
  put(DLC_TABLE_SETTINGS, settings);
  put(DLC_TABLE_IMAGES, images);
  put(DLC_TABLE_IMAGE_BYTES, imageBytes);
  put(DLC_TABLE_CALLS, calls);
  put(DLC_TABLE_SCHEDULE, schedule);
  blob.resize(aligned(blob.size()));
  dlc_plan_header complete = header;
  complete.magic = DLC_PLAN_MAGIC;
  complete.size = sizeof(complete);
  complete.table_count = tables;
  complete.total_size = blob.size();
  std::memcpy(blob.data(), &complete, sizeof(complete));
  return blob;
}

} // namespace dlc::test
