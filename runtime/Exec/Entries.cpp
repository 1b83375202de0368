// Entries by name or kind.
#include "runtime/Exec/Entries.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"

namespace dlc::runtime {

/// What an entry of a kind does.
static std::string_view verbOf(dlc_entry_kind kind) {
  return kind == DLC_ENTRY_TRAIN      ? "trains"
         : kind == DLC_ENTRY_EVALUATE ? "evaluates"
         : kind == DLC_ENTRY_INFER    ? "infers"
                                      : "prepares";
}

Result<const EntryInfo *> selectEntry(const Module &module, std::string_view name,
                                      dlc_entry_kind otherwise) {
  const Plan &plan = module.plan();
  const bool isStep = name.empty() && otherwise == DLC_ENTRY_TRAIN && !plan.steps.empty();
  const EntryInfo *entry = isStep         ? &plan.entries[plan.steps[0].entry]
                           : name.empty() ? plan.findEntry(otherwise)
                                          : plan.findEntry(name);
  if (entry)
    return entry;
  std::string known;
  for (const EntryInfo &other : plan.entries)
    addItem(known, other.name);
  return invalid(module.path(), ": no entry ",
                 name.empty() ? concat("that ", verbOf(otherwise)) : concat("'", name, "'"),
                 "; there are: ", known);
}

Status checkClasses(const EntryInfo &entry, size_t input, const std::byte *source,
                    uint64_t samples) {
  const ValueInfo &value = entry.inputs[input];
  if (value.classes == 0)
    return {};
  const bool bySample = value.batchAxis == 0 && entry.batch != 0;
  const uint64_t all = value.type.elementCount(), perSample = bySample ? all / entry.batch : all;
  const uint64_t checked = bySample ? perSample * samples : all;
  for (uint64_t i = 0; i < checked; ++i) {
    const double label = loadElement(value.type.dtype, source + i * dtypeSize(value.type.dtype));
    if (!isClass(label, value.classes, value.ignored))
      return invalid("entry '", entry.name, "': ", bySample ? "sample " : "element ",
                     bySample ? i / perSample : i, " of input '", value.name, "' is ", label,
                     ", its classes are 0 to ", value.classes - 1);
  }
  return {};
}

uint64_t flopsOf(const Plan &plan, const EntryInfo &entry) {
  uint64_t flops = 0;
  for (const dlc_record &record :
       std::span(plan.records).subspan(entry.records.first, entry.records.count))
    if (record.condition != DLC_IF_REFUSED)
      flops += record.flops;
  return flops;
}

} // namespace dlc::runtime
