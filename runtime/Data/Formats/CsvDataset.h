// Tables of numbers with a header, as pandas writes them. A row is a sample: its columns go to
// inputs by their names.
#ifndef DLC_RUNTIME_DATA_FORMATS_CSVDATASET_H
#define DLC_RUNTIME_DATA_FORMATS_CSVDATASET_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// One split of a folder with train.csv and val.csv, or else test.csv; or a file, and test.csv
/// beside one with "train" in its name. Behind "FILE?" may stand which columns feed an input:
/// "x=a,b&y=label". An input that is not named takes the column of its name, or of several numbers
/// x.0, x.1 and on, or x_0, or x0; one input that has no such columns takes all that are left, in
/// the order of the training file.
///
/// All rows are looked at now: a cell that is no number its input can hold is an error with file,
/// line and column. Then the file is read where a sample is asked for: of it lie in memory but the
/// places of some rows.
Result<std::shared_ptr<const Dataset>> openCsvDataset(const std::string &place, Split split,
                                                      const EntryInfo *reader);

/// Whether a split has a file of its own, or is that for training.
bool hasCsvSplit(const std::string &place, Split split);

/// The files of a split that may be there.
std::vector<std::string> csvFiles(const std::string &place, Split split);

} // namespace dlc::runtime

#endif
