// What libdlc_hdf5.so reads.
#include "runtime/Data/Formats/Hdf5Dataset.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/ArrayDataset.h"
#include "runtime/Data/Hdf5/Plugin.h"

namespace dlc::runtime {
namespace {

Result<std::vector<std::string>> namesIn(const std::string &path) {
  DLC_TRY_ASSIGN(plugin, openHdf5Plugin());
  return plugin->names(path);
}

class Hdf5Dataset : public NamedArrays {
public:
  using NamedArrays::NamedArrays;
  Status open() {
    DLC_TRY_ASSIGN(plugin, openHdf5Plugin());
    DLC_TRY_ASSIGN(opened,
                   plugin->open(name(), [&](std::string_view array) { return takes(array); }));
    reader = std::move(opened);
    for (const Hdf5Array &array : reader->arrays())
      DLC_TRY(addField(array.name, array.dtype, array.shape));
    return {};
  }
  Status read(uint64_t index, size_t field, std::span<std::byte> bytes) const override {
    return reader->read(field, index, bytes);
  }

private:
  std::unique_ptr<const Hdf5Reader> reader;
};

} // namespace

bool hasHdf5Split(const std::string &path, Split split) {
  if (split == Split::Train)
    return true;
  Result<std::vector<std::string>> names = namesIn(path);
  return !names.ok() || hasTestArrays(*names);
}

Result<std::shared_ptr<const Dataset>> openHdf5Dataset(const std::string &path, Split split,
                                                       const EntryInfo *reader) {
  DLC_TRY_ASSIGN(all, namesIn(path));
  if (all.empty())
    return damaged(path, ": there are no datasets in it");
  auto dataset = std::make_shared<Hdf5Dataset>(path, std::move(all), split, reader);
  DLC_TRY(dataset->open());
  return std::shared_ptr<const Dataset>(std::move(dataset));
}

} // namespace dlc::runtime
