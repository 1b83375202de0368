// Header, directory and tables of the blob.
#include "runtime/Core/PlanReader.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime {

/// Sizes that ABI version 1 began with. Structs only grow, so no writer has smaller ones.
static constexpr uint32_t firstHeaderSize = 64;

static uint32_t firstStride(uint32_t kind) {
  switch (kind) {
  case DLC_TABLE_STRINGS:
  case DLC_TABLE_CONSTANTS:
  case DLC_TABLE_IMAGE_BYTES:
    return 1;
  case DLC_TABLE_VARIABLES:
    return 152;
  case DLC_TABLE_SCALARS:
    return 32;
  case DLC_TABLE_ENTRIES:
    return 72;
  case DLC_TABLE_VALUES:
    return 152;
  case DLC_TABLE_METRICS:
  case DLC_TABLE_TERMS:
    return 24;
  case DLC_TABLE_KERNELS:
    return 48;
  case DLC_TABLE_RECORDS:
    return 64;
  case DLC_TABLE_ARGUMENTS:
    return 32;
  case DLC_TABLE_IMMEDIATES:
  case DLC_TABLE_STEPS:
    return 8;
  case DLC_TABLE_SETTINGS:
    return 16;
  case DLC_TABLE_IMAGES:
    return 40;
  case DLC_TABLE_CALLS:
    return 288;
  case DLC_TABLE_SCHEDULE:
    return 56;
  default:
    return 0;
  }
}

/// Elements of another size than ours: the common front is copied, the rest is zero.
template <typename T>
static void copyTable(std::span<const std::byte> blob, const dlc_table &table,
                      std::vector<T> &out) {
  out.resize(table.count);
  const size_t bytes = std::min<size_t>(table.stride, sizeof(T));
  for (uint64_t i = 0; i < table.count; ++i)
    std::memcpy(&out[i], blob.data() + table.offset + i * table.stride, bytes);
}

static Status checkTable(const dlc_table &table, size_t number, uint64_t limit) {
  const uint32_t least = firstStride(table.kind);
  const bool bytes = least == 1;
  if (table.stride < least || (bytes && table.stride != 1))
    return damaged("table ", number, " of kind ", table.kind, " has a stride of ", table.stride,
                   " bytes, expected ", bytes ? "" : "at least ", least);
  if (table.offset % DLC_ALIGNMENT != 0)
    return damaged("table ", number, " starts at byte ", table.offset, ", expected a multiple of ",
                   DLC_ALIGNMENT);
  uint64_t size;
  if (__builtin_mul_overflow(table.count, uint64_t(table.stride), &size) ||
      !fits(table.offset, size, limit))
    return damaged("table ", number, " ends beyond the plan: ", table.count, " elements of ",
                   table.stride, " bytes at byte ", table.offset, ", the plan has ", limit);
  return {};
}

static void takeTable(std::span<const std::byte> blob, const dlc_table &table, RawPlan &plan) {
  const std::byte *start = blob.data() + table.offset;
  switch (table.kind) {
  case DLC_TABLE_STRINGS:
    plan.strings = {reinterpret_cast<const char *>(start), table.count};
    return;
  case DLC_TABLE_CONSTANTS:
    plan.constants = {start, table.count};
    return;
  case DLC_TABLE_VARIABLES:
    return copyTable(blob, table, plan.variables);
  case DLC_TABLE_SCALARS:
    return copyTable(blob, table, plan.scalars);
  case DLC_TABLE_ENTRIES:
    return copyTable(blob, table, plan.entries);
  case DLC_TABLE_VALUES:
    return copyTable(blob, table, plan.values);
  case DLC_TABLE_METRICS:
    return copyTable(blob, table, plan.metrics);
  case DLC_TABLE_TERMS:
    return copyTable(blob, table, plan.terms);
  case DLC_TABLE_KERNELS:
    return copyTable(blob, table, plan.kernels);
  case DLC_TABLE_RECORDS:
    return copyTable(blob, table, plan.records);
  case DLC_TABLE_ARGUMENTS:
    return copyTable(blob, table, plan.arguments);
  case DLC_TABLE_IMMEDIATES:
    return copyTable(blob, table, plan.immediates);
  case DLC_TABLE_STEPS:
    return copyTable(blob, table, plan.steps);
  case DLC_TABLE_SETTINGS:
    return copyTable(blob, table, plan.settings);
  case DLC_TABLE_IMAGES:
    return copyTable(blob, table, plan.images);
  case DLC_TABLE_IMAGE_BYTES:
    plan.imageBytes = {start, table.count};
    return;
  case DLC_TABLE_CALLS:
    return copyTable(blob, table, plan.calls);
  case DLC_TABLE_SCHEDULE:
    return copyTable(blob, table, plan.schedule);
  default:
    return;
  }
}

static Status readHeader(std::span<const std::byte> blob, dlc_plan_header &header) {
  if (blob.size() < firstHeaderSize)
    return damaged("the plan has ", blob.size(), " bytes, its header alone ", firstHeaderSize);
  std::memcpy(&header, blob.data(), firstHeaderSize);
  if (header.magic != DLC_PLAN_MAGIC)
    return damaged("the plan does not begin with its magic number");
  if (header.size < firstHeaderSize || header.size > blob.size())
    return damaged("the plan's header claims ", header.size, " bytes");
  std::memcpy(&header, blob.data(), std::min<size_t>(header.size, sizeof(header)));
  if (header.total_size != blob.size())
    return damaged("the plan's header claims ", header.total_size, " bytes, found ", blob.size());
  if (!fits(header.size, uint64_t(header.table_count) * sizeof(dlc_table), blob.size()))
    return damaged("the directory of ", header.table_count, " tables ends beyond the plan");
  return {};
}

Result<RawPlan> readPlan(std::span<const std::byte> blob) {
  RawPlan plan;
  DLC_TRY(readHeader(blob, plan.header));
  uint64_t seen = 0;
  for (uint32_t i = 0; i < plan.header.table_count; ++i) {
    dlc_table table;
    std::memcpy(&table, blob.data() + plan.header.size + i * sizeof(dlc_table), sizeof(table));
    if (firstStride(table.kind) == 0)
      continue;
    if (seen >> table.kind & 1)
      return damaged("two tables of kind ", table.kind);
    seen |= uint64_t(1) << table.kind;
    DLC_TRY(checkTable(table, i, blob.size()));
    takeTable(blob, table, plan);
  }
  return plan;
}

} // namespace dlc::runtime
