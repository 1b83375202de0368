// Texts by GPT-2's byte pairs: a file, and the two tables in its folder.
#ifndef DLC_RUNTIME_DATA_BYTEPAIRDATASET_H
#define DLC_RUNTIME_DATA_BYTEPAIRDATASET_H

#include "runtime/Data/BytePairs.h"
#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// The text and the two tables: FOLDER/vocab.json and FOLDER/merges.txt of FOLDER/TEXT.
std::vector<std::string> bytePairFiles(const std::string &path, Split split);
bool hasBytePairSplit(const std::string &path, Split split);

/// The tables of a text.
Result<std::unique_ptr<const BytePairs>> openBytePairs(const std::string &path);

/// One split of a text: the last tenth of its tokens is the test split. Two bytes a token are kept
/// in memory, four with a vocabulary of more than 65,536, and never the text.
Result<std::shared_ptr<const Dataset>> openBytePairDataset(const std::string &path, Split split);

} // namespace dlc::runtime

#endif
