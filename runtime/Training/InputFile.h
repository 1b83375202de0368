// The arrays of one file, safetensors or .npz, as what an entry that infers takes.
#ifndef DLC_RUNTIME_TRAINING_INPUTFILE_H
#define DLC_RUNTIME_TRAINING_INPUTFILE_H

#include "dlc/data.h"
#include "dlc/plan.h"

namespace dlc::runtime {

/// Whether a run takes its inputs as they are, as one of them counts no samples.
bool takesWholeInputs(const EntryInfo &entry);

/// Those arrays that the entry's inputs are called as: any number of samples; or one, of an array
/// for each input in exactly its shape, where the entry takes whole inputs.
Result<std::shared_ptr<const Dataset>> openInputFile(const std::string &path,
                                                     const EntryInfo &entry);

} // namespace dlc::runtime

#endif
