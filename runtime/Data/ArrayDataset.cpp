// Choosing the arrays of a split.
#include "runtime/Data/ArrayDataset.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/ArrayFile.h"

namespace dlc::runtime {
namespace {

constexpr std::string_view testPrefix = "test.";

bool isForTests(std::string_view name) { return name.starts_with(testPrefix); }

/// Whether the file has arrays for tests; none is read.
Result<bool> hasTests(const std::string &path) {
  bool found = false;
  Result<std::vector<StoredArray>> none = readArrays(path, [&](std::string_view name) {
    found |= isForTests(name);
    return false;
  });
  if (!none.ok())
    return none.takeStatus();
  return found;
}

class ArrayDataset : public Dataset {
public:
  ArrayDataset(std::string path, std::vector<StoredArray> arrays)
      : path(std::move(path)), arrays(std::move(arrays)) {
    for (const StoredArray &array : this->arrays) {
      fieldList.push_back(
          {.kind = FieldKind::Named,
           .dtype = array.dtype,
           .shape = {array.shape.begin() + 1, array.shape.end()},
           .file = concat(this->path, ": '", array.name, "'"),
           .name = array.name.substr(isForTests(array.name) ? testPrefix.size() : 0)});
      sampleBytes.push_back(array.bytes.size() / size());
    }
  }
  const std::string &name() const override { return path; }
  uint64_t size() const override { return arrays[0].shape[0]; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  const std::byte *sample(uint64_t index, size_t field) const override {
    return arrays[field].bytes.data() + index * sampleBytes[field];
  }

private:
  std::string path;
  std::vector<StoredArray> arrays;
  std::vector<uint64_t> sampleBytes;
  std::vector<DatasetField> fieldList;
};

} // namespace

bool hasArraySplit(const std::string &path, Split split) {
  if (split == Split::Train)
    return true;
  Result<bool> tests = hasTests(path);
  return !tests.ok() || *tests;
}

Result<std::shared_ptr<const Dataset>> openArrayDataset(const std::string &path, Split split) {
  DLC_TRY_ASSIGN(tests, hasTests(path));
  const bool forTests = split == Split::Test && tests;
  DLC_TRY_ASSIGN(arrays, readArrays(path, [&](std::string_view name) {
                   return isForTests(name) == forTests;
                 }));
  if (arrays.empty())
    return damaged(path, ": there are no arrays of samples in it");
  for (const StoredArray &array : arrays) {
    if (array.shape.empty())
      return damaged(path, ": '", excerpt(array.name), "' is one number, expected one a sample");
    if (array.shape[0] != arrays[0].shape[0])
      return damaged(path, ": '", excerpt(array.name), "' has ", array.shape[0], " samples, '",
                     excerpt(arrays[0].name), "' ", arrays[0].shape[0]);
  }
  if (arrays[0].shape[0] == 0)
    return damaged(path, ": there are no samples in it");
  return std::shared_ptr<const Dataset>(std::make_shared<ArrayDataset>(path, std::move(arrays)));
}

} // namespace dlc::runtime
