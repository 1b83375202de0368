// Entries by name or kind.
#include "runtime/Exec/Entries.h"
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

} // namespace dlc::runtime
