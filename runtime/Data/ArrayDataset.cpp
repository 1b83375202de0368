// Choosing the arrays of a split.
#include "runtime/Data/ArrayDataset.h"
#include "dlc/plan.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/ArrayFile.h"

#include <algorithm>

namespace dlc::runtime {
namespace {

constexpr std::string_view testPrefix = "test.";

bool isForTests(std::string_view name) { return name.starts_with(testPrefix); }

/// What the arrays of a file are called; none is read.
Result<std::vector<std::string>> namesIn(const std::string &path) {
  std::vector<std::string> names;
  DLC_TRY_ASSIGN(none, readArrays(path, [&](std::string_view name) {
                   names.emplace_back(name);
                   return false;
                 }));
  return names;
}

class ArrayDataset : public Dataset {
public:
  ArrayDataset(std::string path, ArrayNames names, std::vector<StoredArray> arrays)
      : path(std::move(path)), names(std::move(names)), arrays(std::move(arrays)) {
    for (const StoredArray &array : this->arrays) {
      fieldList.push_back({.kind = FieldKind::Named,
                           .dtype = array.dtype,
                           .shape = {array.shape.begin() + 1, array.shape.end()},
                           .file = concat(this->path, ": '", array.name, "'"),
                           .name = array.name.substr(this->names.prefix.size())});
      sampleBytes.push_back(array.bytes.size() / size());
    }
  }
  const std::string &name() const override { return path; }
  uint64_t size() const override { return arrays.empty() ? 0 : arrays[0].shape[0]; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  const ArrayNames *arrayNames() const override { return &names; }
  const std::byte *sample(uint64_t index, size_t field) const override {
    return arrays[field].bytes.data() + index * sampleBytes[field];
  }

private:
  std::string path;
  ArrayNames names;
  std::vector<StoredArray> arrays;
  std::vector<uint64_t> sampleBytes;
  std::vector<DatasetField> fieldList;
};

bool isInput(const EntryInfo &entry, std::string_view name) {
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    if (i != entry.validInput && entry.inputs[i].name == name)
      return true;
  return false;
}

} // namespace

bool hasArraySplit(const std::string &path, Split split) {
  if (split == Split::Train)
    return true;
  Result<std::vector<std::string>> names = namesIn(path);
  return !names.ok() || std::ranges::any_of(*names, isForTests);
}

Result<std::shared_ptr<const Dataset>> openArrayDataset(const std::string &path, Split split,
                                                        const EntryInfo *reader) {
  ArrayNames names;
  DLC_TRY_ASSIGN(all, namesIn(path));
  names.all = std::move(all);
  if (names.all.empty())
    return damaged(path, ": there are no arrays of samples in it");
  if (names.all == std::vector<std::string>{""})
    return unsupported(path, ": is one array without a name (.npy); numpy.savez(\"data.npz\", "
                             "image=..., label=...) gives each input's array its name");
  const bool forTests = split == Split::Test && std::ranges::any_of(names.all, isForTests);
  if (forTests)
    names.prefix = testPrefix;
  auto isTaken = [&](std::string_view name) {
    return isForTests(name) == forTests &&
           (!reader || isInput(*reader, name.substr(names.prefix.size())));
  };
  for (const std::string &name : names.all)
    if (isForTests(name) == forTests && !isTaken(name))
      names.ignored.push_back(name);
  DLC_TRY_ASSIGN(arrays, readArrays(path, isTaken));
  for (const StoredArray &array : arrays) {
    if (array.shape.empty())
      return damaged(path, ": '", excerpt(array.name), "' is one number, expected one a sample");
    if (array.shape[0] != arrays[0].shape[0])
      return damaged(path, ": '", excerpt(array.name), "' has ", array.shape[0], " samples, '",
                     excerpt(arrays[0].name), "' ", arrays[0].shape[0]);
  }
  if (!arrays.empty() && arrays[0].shape[0] == 0)
    return damaged(path, ": there are no samples in it");
  return std::shared_ptr<const Dataset>(
      std::make_shared<ArrayDataset>(path, std::move(names), std::move(arrays)));
}

} // namespace dlc::runtime
