// Texts for language models: a file as numbers of characters or of words, in the order of the text.
#ifndef DLC_RUNTIME_DATA_TEXTDATASET_H
#define DLC_RUNTIME_DATA_TEXTDATASET_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

enum class TextUnit {
  /// Unicode's code points, numbered in their order.
  Characters,
  /// What stands between spaces, and <eos> at the end of a line; numbered by how often they occur,
  /// the most frequent one first, equally frequent ones in the order of their bytes.
  Words
};

/// One split of a UTF-8 file: the last tenth is the test split, the rest is for training. Numbers
/// are those of the whole file.
Result<std::shared_ptr<const Dataset>> openTextDataset(const std::string &path, TextUnit unit,
                                                       Split split);

} // namespace dlc::runtime

#endif
