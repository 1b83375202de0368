// Flags and helpers that the commands share.
#include "tools/dlc-run/Command.h"
#include "runtime/Core/Support.h"

namespace dlc::runtime::tool {

Result<std::shared_ptr<State>> RunFlags::createState() const {
  DLC_TRY_ASSIGN(loaded, Module::load(module));
  DLC_TRY_ASSIGN(device, openCpu({.threads = threads}));
  return State::create(std::move(loaded), std::move(device), seed.value_or(0));
}

Result<const EntryInfo *> selectEntry(const Module &module, const std::string &name,
                                      dlc_entry_kind otherwise) {
  const Plan &plan = module.plan();
  const EntryInfo *entry = name.empty() ? plan.findEntry(otherwise) : plan.findEntry(name);
  if (entry)
    return entry;
  std::string known;
  for (const EntryInfo &other : plan.entries)
    known += (known.empty() ? "" : ", ") + std::string(other.name);
  return invalid(module.path(), ": no entry ",
                 name.empty() ? concat("of kind ", entryKindName(otherwise))
                              : concat("'", name, "'"),
                 "; there are: ", known);
}

} // namespace dlc::runtime::tool
