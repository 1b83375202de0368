// Reading CIFAR's records.
#include "runtime/Data/CifarDataset.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Support.h"

#include <algorithm>

namespace dlc::runtime {
namespace {

constexpr uint64_t pictureBytes = 3 * 32 * 32;

/// Records in memory. The label is the byte in front of the picture.
class CifarDataset : public Dataset {
public:
  CifarDataset(std::string folder, std::vector<std::byte> records, uint64_t recordBytes)
      : folder(std::move(folder)), records(std::move(records)), recordBytes(recordBytes) {
    fieldList = {
        {.kind = FieldKind::Image, .dtype = DLC_U8, .shape = {3, 32, 32}, .file = this->folder},
        {.kind = FieldKind::Label, .dtype = DLC_U8, .shape = {}, .file = this->folder}};
  }
  const std::string &name() const override { return folder; }
  uint64_t size() const override { return records.size() / recordBytes; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  const std::byte *sample(uint64_t index, size_t field) const override {
    const std::byte *end = records.data() + (index + 1) * recordBytes;
    return end - pictureBytes - (field == 0 ? 0 : 1);
  }

private:
  std::string folder;
  std::vector<std::byte> records;
  uint64_t recordBytes;
  std::vector<DatasetField> fieldList;
};

struct Files {
  std::vector<std::string> paths;
  uint64_t labelBytes;
};

/// The file of a split of CIFAR-100 if it is there, else those of CIFAR-10, there or not.
Files filesOf(const std::string &folder, Split split) {
  const std::string fine = concat(folder, split == Split::Train ? "/train.bin" : "/test.bin");
  if (isThere(fine))
    return {{fine}, 2};
  if (split == Split::Test)
    return {{concat(folder, "/test_batch.bin")}, 1};
  Files files{{}, 1};
  for (int number = 1; number <= 5; ++number)
    files.paths.push_back(concat(folder, "/data_batch_", number, ".bin"));
  return files;
}

} // namespace

std::vector<std::string> cifarFiles(const std::string &folder, Split split) {
  return filesOf(folder, split).paths;
}

bool hasCifarSplit(const std::string &folder, Split split) {
  return std::ranges::any_of(cifarFiles(folder, split), isThere);
}

Result<std::shared_ptr<const Dataset>> openCifarDataset(const std::string &folder, Split split) {
  constexpr uint64_t mostBytes = uint64_t(1) << 32;
  const Files files = filesOf(folder, split);
  if (!std::ranges::any_of(files.paths, isThere)) {
    return failure(StatusCode::Io, folder,
                   isFolder(folder) ? ": no file " : ": no folder; expected the one with ",
                   split == Split::Train ? "data_batch_1.bin to data_batch_5.bin, or train.bin,"
                                         : "test_batch.bin or test.bin",
                   " of the binary version of CIFAR");
  }
  // Without one of them training would go on with fewer pictures, and say nothing.
  std::string missing;
  for (const std::string &path : files.paths)
    if (!isThere(path))
      addItem(missing, path.substr(folder.size() + 1));
  if (!missing.empty())
    return failure(StatusCode::Io, folder, ": no file ", missing,
                   ", a part of the binary version of CIFAR-10");
  const uint64_t recordBytes = files.labelBytes + pictureBytes;
  std::vector<std::byte> records;
  for (const std::string &path : files.paths) {
    DLC_TRY_ASSIGN(content, readWholeFile(path, mostBytes));
    if (content.empty() || content.size() % recordBytes != 0) {
      const std::string_view kind = fileKind(path);
      return damaged(path, ": ",
                     kind.empty() ? concat(content.size(), " bytes") : concat("is ", kind),
                     ", expected records of ", recordBytes);
    }
    DLC_TRY(reserveRoom(records, records.size() + content.size()).in(path));
    records.insert(records.end(), content.begin(), content.end());
  }
  return std::shared_ptr<const Dataset>(
      std::make_shared<CifarDataset>(folder, std::move(records), recordBytes));
}

} // namespace dlc::runtime
