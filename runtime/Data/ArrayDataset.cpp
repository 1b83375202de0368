// Choosing the arrays of a split.
#include "runtime/Data/ArrayDataset.h"
#include "dlc/plan.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/ArrayFile.h"

#include <algorithm>

namespace dlc::runtime {
namespace {

constexpr std::string_view testPrefixes[] = {"test.", "test/"}, trainPrefix = "train/";

bool isForTests(std::string_view name) {
  return std::ranges::any_of(testPrefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// What stands in front of the names of a split's arrays.
std::string_view prefixOf(const std::vector<std::string> &names, Split split) {
  auto begins = [&](std::string_view prefix) {
    return std::ranges::any_of(names,
                               [&](std::string_view name) { return name.starts_with(prefix); });
  };
  for (std::string_view prefix : testPrefixes)
    if (split == Split::Test && begins(prefix))
      return prefix;
  return begins(trainPrefix) ? trainPrefix : "";
}

/// What the arrays of a file are called; none is read.
Result<std::vector<std::string>> namesIn(const std::string &path) {
  std::vector<std::string> names;
  DLC_TRY_ASSIGN(none, readArrays(path, [&](std::string_view name) {
                   names.emplace_back(name);
                   return false;
                 }));
  return names;
}

/// Their arrays in memory.
class ArrayDataset : public NamedArrays {
public:
  using NamedArrays::NamedArrays;
  Status load() {
    DLC_TRY_ASSIGN(found, readArrays(name(), [&](std::string_view array) { return takes(array); }));
    arrays = std::move(found);
    for (const StoredArray &array : arrays)
      DLC_TRY(addField(array.name, array.dtype, array.shape));
    return {};
  }
  const std::byte *sample(uint64_t index, size_t field) const override {
    return arrays[field].bytes.data() + index * (arrays[field].bytes.size() / size());
  }

private:
  std::vector<StoredArray> arrays;
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
  return !names.ok() || hasTestArrays(*names);
}

bool hasTestArrays(const std::vector<std::string> &names) {
  return std::ranges::any_of(names, isForTests);
}

NamedArrays::NamedArrays(std::string path, std::vector<std::string> all, Split split,
                         const EntryInfo *reader)
    : path(std::move(path)) {
  names.prefix = prefixOf(all, split);
  const bool forTests = isForTests(names.prefix);
  for (const std::string &name : all) {
    if (isForTests(name) != forTests)
      continue;
    const bool isTaken =
        name.starts_with(names.prefix) &&
        (!reader || isInput(*reader, std::string_view(name).substr(names.prefix.size())));
    (isTaken ? taken : names.ignored).push_back(name);
  }
  names.all = std::move(all);
}

bool NamedArrays::takes(std::string_view name) const {
  return std::ranges::find(taken, name) != taken.end();
}

Status NamedArrays::addField(const std::string &name, dlc_dtype dtype,
                             const std::vector<uint64_t> &shape) {
  if (shape.empty())
    return damaged(path, ": '", excerpt(name), "' is one number, expected one a sample");
  if (fieldList.empty())
    samples = shape[0];
  if (shape[0] != samples)
    return damaged(path, ": '", excerpt(name), "' has ", shape[0], " samples, '", names.prefix,
                   excerpt(fieldList[0].name), "' ", samples);
  if (samples == 0)
    return damaged(path, ": there are no samples in it");
  fieldList.push_back({.kind = FieldKind::Named,
                       .dtype = dtype,
                       .shape = {shape.begin() + 1, shape.end()},
                       .file = concat(path, ": '", name, "'"),
                       .name = name.substr(names.prefix.size())});
  return {};
}

Result<std::shared_ptr<const Dataset>> openArrayDataset(const std::string &path, Split split,
                                                        const EntryInfo *reader) {
  DLC_TRY_ASSIGN(all, namesIn(path));
  if (all.empty())
    return damaged(path, ": there are no arrays of samples in it");
  if (all == std::vector<std::string>{""})
    return unsupported(path, ": is one array without a name (.npy); numpy.savez(\"data.npz\", "
                             "image=..., label=...) gives each input's array its name");
  auto dataset = std::make_shared<ArrayDataset>(path, std::move(all), split, reader);
  DLC_TRY(dataset->load());
  return std::shared_ptr<const Dataset>(std::move(dataset));
}

} // namespace dlc::runtime
