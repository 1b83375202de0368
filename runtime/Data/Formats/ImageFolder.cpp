// Walking folders.
#include "runtime/Data/Formats/ImageFolder.h"
#include "runtime/Core/File.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"
#include "runtime/Data/Formats/PictureFiles.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>

namespace dlc::runtime {
namespace {

/// What somebody would miss.
constexpr std::string_view notDecoded[] = {".bmp", ".gif", ".pgm", ".ppm", ".tif", ".tiff"};
constexpr std::string_view expectedEndings = ".jpg, .jpeg, .png or .webp";

/// What is in a folder, by name.
struct Entries {
  std::vector<std::string> folders, pictures;
};

Result<Entries> entriesOf(const std::string &path) {
  const std::unique_ptr<DIR, int (*)(DIR *)> folder(opendir(path.c_str()), closedir);
  if (!folder)
    return ioFailure(path, "cannot open");
  Entries entries;
  errno = 0;
  while (const dirent *entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    const bool mayBeLink = entry->d_type == DT_UNKNOWN || entry->d_type == DT_LNK;
    if (name == "." || name == "..")
      continue;
    if (entry->d_type == DT_DIR || (mayBeLink && isFolder(concat(path, "/", name))))
      entries.folders.emplace_back(name);
    else if (isPictureName(name))
      entries.pictures.emplace_back(name);
    else if (endsInAny(name, notDecoded))
      return unsupported(path, "/", name, ": pictures of this kind are not read, expected ",
                         expectedEndings);
    errno = 0;
  }
  if (errno != 0)
    return ioFailure(path, "cannot read");
  std::ranges::sort(entries.folders);
  std::ranges::sort(entries.pictures);
  return entries;
}

/// The folder of a class and those in it, each with its pictures.
Status walk(const std::string &root, const std::string &folder, int depth,
            std::vector<std::pair<std::string, std::vector<std::string>>> &found) {
  // Links may lead back.
  constexpr int deepest = 32;
  if (depth > deepest)
    return unsupported(root, folder, ": more than ", deepest, " folders in one another");
  const std::string path = root + folder;
  DLC_TRY_ASSIGN(entries, entriesOf(folder.empty() ? path.substr(0, path.size() - 1) : path));
  for (const std::string &inner : entries.folders)
    DLC_TRY(walk(root, folder.empty() ? inner : concat(folder, "/", inner), depth + 1, found));
  found.emplace_back(folder, std::move(entries.pictures));
  return {};
}

/// The pictures of a folder and those in it, in the order of their folders and names.
Status readPictures(const std::string &root, const std::string &name, FileNames &files) {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  DLC_TRY(walk(root, name, 1, found));
  std::ranges::sort(found, {}, [](const auto &folder) -> std::string_view { return folder.first; });
  for (const auto &[folder, pictures] : found)
    for (const std::string &picture : pictures)
      files.add(folder, folder.empty() ? "" : "/", picture);
  return {};
}

Status readClass(const std::string &root, const std::string &name, FileNames &files) {
  DLC_TRY(readPictures(root, name, files));
  if (files.size() == 0)
    return damaged(root, name, ": a class without pictures: no name ends in ", expectedEndings);
  return {};
}

/// Names of the classes in a split's folder.
Result<std::vector<std::string>> classesIn(const std::string &folder) {
  DLC_TRY_ASSIGN(entries, entriesOf(folder));
  if (entries.folders.empty())
    return damaged(folder, ": there are no folders in it, expected one of pictures for each class");
  return std::move(entries.folders);
}

/// Where a split is; of FOLDER/CLASS/... the folder itself.
std::string folderOf(const std::string &folder, Split split) {
  const std::string train = concat(folder, "/train"), validation = concat(folder, "/val"),
                    test = concat(folder, "/test");
  const bool hasValidation = isFolder(validation), hasTest = isFolder(test);
  if (!hasValidation && !hasTest && !isFolder(train))
    return folder;
  return split == Split::Train ? train : hasValidation || !hasTest ? validation : test;
}

/// Whether a folder is called as those of splits are elsewhere.
bool soundsLikeSplit(std::string_view name) {
  constexpr std::string_view words[] = {"train", "training",   "val",  "valid",
                                        "dev",   "validation", "test", "testing"};
  return std::ranges::any_of(words, [&](std::string_view word) {
    return name.size() == word.size() && endsInAny(name, {&word, 1});
  });
}

/// The number of each class of a split, by the names of all.
Result<std::vector<int32_t>> numbersOf(const std::vector<std::string> &own,
                                       const std::vector<std::string> &all,
                                       const std::string &folder, const std::string &train) {
  std::vector<int32_t> numbers;
  for (const std::string &name : own) {
    const auto at = std::ranges::lower_bound(all, name);
    if (at == all.end() || *at != name)
      return damaged(folder, "/", name, ": ", train, " has no such class");
    numbers.push_back(static_cast<int32_t>(at - all.begin()));
  }
  return numbers;
}

} // namespace

Result<std::shared_ptr<const Dataset>> openImageFolder(const std::string &folder, Split split,
                                                       const EntryInfo *reader) {
  return guarded([&]() -> Result<std::shared_ptr<const Dataset>> {
    const std::string own = folderOf(folder, split), train = folderOf(folder, Split::Train);
    if (!isFolder(own))
      return failure(StatusCode::Io, own,
                     ": no folder; expected the one with train/CLASS/... and "
                     "val/CLASS/..., or with CLASS/...");
    DLC_TRY_ASSIGN(names, classesIn(own));
    if (own == folder && std::ranges::all_of(names, soundsLikeSplit))
      return damaged(folder, ": '", names[0], "' would be a class; folders of training and test ",
                     "data are called train and val, or test");
    PictureFiles all{own, concat(own, "/"), {}, {}, names};
    if (own != train && isFolder(train)) {
      DLC_TRY_ASSIGN(trained, classesIn(train));
      all.classes = std::move(trained);
    }
    DLC_TRY_ASSIGN(numbers, numbersOf(names, all.classes, own, train));
    // Of a slow file system as well, as many folders at once as there are processors.
    std::vector<FileNames> files(names.size());
    std::vector<Status> statuses(names.size());
    forEachPiece(names.size(), [&](uint64_t i) {
      statuses[i] = guarded([&] { return readClass(all.folder, names[i], files[i]); });
    });
    for (size_t i = 0; i < names.size(); ++i) {
      DLC_TRY(std::move(statuses[i]));
      all.files.append(files[i]);
      all.labels.resize(all.files.size(), numbers[i]);
      files[i] = {};
    }
    return openPictureFiles(std::move(all), reader);
  });
}

bool hasImageFolderSplit(const std::string &folder, Split split) {
  const std::string own = folderOf(folder, split);
  return isFolder(own) && (split == Split::Train || own != folder);
}

std::vector<std::string> imageFolderFiles(const std::string &folder, Split) { return {folder}; }

Result<std::shared_ptr<const Dataset>> openPictures(const std::string &path, Split,
                                                    const EntryInfo *reader) {
  return guarded([&]() -> Result<std::shared_ptr<const Dataset>> {
    PictureFiles all{path, {}, {}, {}};
    if (isFolder(path)) {
      all.folder = concat(path, "/");
      DLC_TRY(readPictures(all.folder, "", all.files));
    } else {
      const size_t name = path.rfind('/') + 1;
      all.folder = path.substr(0, name);
      all.files.add(path.substr(name));
      if (!isThere(path))
        return failure(StatusCode::Io, path, ": there is no such picture or folder");
    }
    if (all.files.size() == 0)
      return damaged(path, ": a folder without pictures: no name ends in ", expectedEndings);
    return openPictureFiles(std::move(all), reader);
  });
}

bool hasPictures(const std::string &path, Split split) {
  return split == Split::Train && isThere(path);
}

bool isImageFolder(const std::string &folder) {
  const Result<Entries> entries = entriesOf(folder);
  return entries.ok() && !entries->folders.empty();
}

} // namespace dlc::runtime
