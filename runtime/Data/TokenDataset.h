// Files of numbers that a tokenizer has written, as nanoGPT and llm.c have them.
#ifndef DLC_RUNTIME_DATA_TOKENDATASET_H
#define DLC_RUNTIME_DATA_TOKENDATASET_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// One split of a sequence of little-endian numbers: of a folder with `train.bin` and `val.bin`, or
/// of one file, whose last tenth is the test split. Numbers are of 16 bits, or as llm.c's header
/// says, if the file begins with one. The file is mapped, not read.
Result<std::shared_ptr<const Dataset>> openTokenDataset(const std::string &path, Split split);

/// The files of a split, there or not; those of both where it is one file.
std::vector<std::string> tokenFiles(const std::string &path, Split split);
bool hasTokenSplit(const std::string &path, Split split);

} // namespace dlc::runtime

#endif
