// Choosing an entry of a module, and what holds for its inputs.
#ifndef DLC_RUNTIME_EXEC_ENTRIES_H
#define DLC_RUNTIME_EXEC_ENTRIES_H

#include "dlc/module.h"

namespace dlc::runtime {

/// The entry of that name, or, without a name, the first of a kind; of those that train the one
/// that the first step begins with.
Result<const EntryInfo *> selectEntry(const Module &module, std::string_view name,
                                      dlc_entry_kind otherwise);

/// Fails with the first number of an input, in its first `samples` samples where its first axis
/// counts them, that is none of the input's classes: it would read another sample's scores or
/// nothing at all, and train on without a word. `source`: all elements, on the host.
Status checkClasses(const EntryInfo &entry, size_t input, const std::byte *source,
                    uint64_t samples);

/// What the records of an entry compute in a run, multiply and add counted as two; 0: they do not
/// say.
uint64_t flopsOf(const Plan &plan, const EntryInfo &entry);

} // namespace dlc::runtime

#endif
