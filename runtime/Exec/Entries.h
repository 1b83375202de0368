// Choosing an entry of a module.
#ifndef DLC_RUNTIME_EXEC_ENTRIES_H
#define DLC_RUNTIME_EXEC_ENTRIES_H

#include "dlc/module.h"

namespace dlc::runtime {

/// The entry of that name, or, without a name, the first of a kind; of those that train the one
/// that the first step begins with.
Result<const EntryInfo *> selectEntry(const Module &module, std::string_view name,
                                      dlc_entry_kind otherwise);

} // namespace dlc::runtime

#endif
