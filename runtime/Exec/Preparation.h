// Which derived variables an entry reads, and which records of the prepare entry make them: a
// program that only infers makes no form of a weight that evaluation alone looks at.
#ifndef DLC_RUNTIME_EXEC_PREPARATION_H
#define DLC_RUNTIME_EXEC_PREPARATION_H

#include "dlc/plan.h"

namespace dlc::runtime {

/// Numbers of the derived variables that records or outputs of `entry` take from the state, in
/// ascending order.
std::vector<size_t> derivedVariablesOf(const Plan &plan, const EntryInfo &entry);

/// For each record of `prepare` whether these variables need it: it writes one of them, or what
/// another record that is needed reads. Records that launch nothing are kept, so that what is left
/// runs in the same order.
std::vector<bool> recordsThatMake(const Plan &plan, const EntryInfo &prepare,
                                  const std::vector<size_t> &variables);

/// Derived variables that are as fresh behind a run of `entry` as in front of it, or fresher: it
/// writes them itself, with what they are made of, or writes nothing of that.
std::vector<size_t> derivedVariablesKeptBy(const Plan &plan, const EntryInfo &entry);

} // namespace dlc::runtime

#endif
