// Arrays of samples, and whole ones.
#include "runtime/Training/InputFile.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/ArrayDataset.h"
#include "runtime/Data/ArrayFile.h"

#include <algorithm>

namespace dlc::runtime {
namespace {

/// Arrays of which each is an input as it is: one sample.
class WholeArrays : public Dataset {
public:
  WholeArrays(std::string path, std::vector<StoredArray> arrays)
      : path(std::move(path)), arrays(std::move(arrays)) {
    for (const StoredArray &array : this->arrays)
      fieldList.push_back({.kind = FieldKind::Named,
                           .dtype = array.dtype,
                           .shape = array.shape,
                           .file = concat(this->path, ": '", array.name, "'"),
                           .name = array.name});
  }
  const std::string &name() const override { return path; }
  uint64_t size() const override { return 1; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  const std::byte *sample(uint64_t, size_t field) const override {
    return arrays[field].bytes.data();
  }

private:
  std::string path;
  std::vector<StoredArray> arrays;
  std::vector<DatasetField> fieldList;
};

Result<std::shared_ptr<const Dataset>> readWhole(const std::string &path, const EntryInfo &entry) {
  auto find = [&](std::string_view name) {
    return std::ranges::find(entry.inputs, name, &ValueInfo::name);
  };
  DLC_TRY_ASSIGN(arrays, readArrays(path, [&](std::string_view name) {
                   return find(name) != entry.inputs.end();
                 }));
  if (arrays.empty())
    return invalid(path, ": none of its arrays is an input of entry '", entry.name, "'");
  for (const StoredArray &array : arrays)
    if (const ValueInfo &input = *find(array.name); array.shape != input.type.shape)
      return invalid(path, ": '", array.name, "' is ",
                     TensorType{array.dtype, array.shape, {}}.str(), ", entry '", entry.name,
                     "' expects ", input.type.str());
  return std::shared_ptr<const Dataset>(std::make_shared<WholeArrays>(path, std::move(arrays)));
}

} // namespace

bool takesWholeInputs(const EntryInfo &entry) {
  bool whole = entry.batch == 0;
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    whole |= i != entry.validInput && entry.inputs[i].batchAxis == DLC_NONE;
  return whole;
}

Result<std::shared_ptr<const Dataset>> openInputFile(const std::string &path,
                                                     const EntryInfo &entry) {
  return takesWholeInputs(entry) ? readWhole(path, entry)
                                 : openArrayDataset(path, Split::Train, &entry);
}

} // namespace dlc::runtime
