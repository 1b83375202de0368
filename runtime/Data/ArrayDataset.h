// Samples in the arrays of one file, which are called as the inputs of the model: safetensors or
// .npz. Sample i is part i of each array. Arrays called "test.NAME", or "test/NAME", hold the
// samples for tests, those called "train/NAME" the others, where there are such.
#ifndef DLC_RUNTIME_DATA_ARRAYDATASET_H
#define DLC_RUNTIME_DATA_ARRAYDATASET_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// For tests: whether the file has arrays for them. A file that cannot be read has all: to open it
/// says why.
bool hasArraySplit(const std::string &path, Split split);

/// For tests those arrays of the file that are meant for them; all others if there are none. Of
/// these the ones that inputs of `reader` take; without it all.
Result<std::shared_ptr<const Dataset>> openArrayDataset(const std::string &path, Split split,
                                                        const EntryInfo *reader);

/// Whether any of a file's arrays is meant for tests.
bool hasTestArrays(const std::vector<std::string> &names);

/// What files of arrays have in common: how arrays are chosen, and fields of them.
class NamedArrays : public Dataset {
public:
  /// Chooses from `all` arrays of a file as openArrayDataset() does.
  NamedArrays(std::string path, std::vector<std::string> all, Split split, const EntryInfo *reader);
  const std::string &name() const override { return path; }
  uint64_t size() const override { return samples; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  const ArrayNames *arrayNames() const override { return &names; }
  /// Whether an array was chosen.
  bool takes(std::string_view name) const;

protected:
  /// Adds the field of an array, whose first axis counts samples. Fails if these are not as many as
  /// those of the fields before, or none.
  Status addField(const std::string &name, dlc_dtype dtype, const std::vector<uint64_t> &shape);

private:
  std::string path;
  ArrayNames names;
  std::vector<std::string> taken;
  uint64_t samples = 0;
  std::vector<DatasetField> fieldList;
};

} // namespace dlc::runtime

#endif
