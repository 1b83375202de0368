// Reading pictures by number.
#include "runtime/Data/Formats/PictureFiles.h"
#include "dlc/plan.h"
#include "runtime/Core/File.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Pictures/Plugin.h"
#include "runtime/Data/SampleShape.h"

namespace dlc::runtime {

void FileNames::append(const FileNames &others) {
  const uint64_t before = text.size();
  text += others.text;
  for (uint64_t end : others.ends)
    ends.push_back(before + end);
}

void FileNames::shrink() {
  text.shrink_to_fit();
  ends.shrink_to_fit();
}

namespace {

/// Files in their order. Labels lie in memory, so they can be checked before the first is read.
class PictureDataset : public Dataset {
public:
  PictureDataset(PictureFiles files, uint32_t channels, PictureDecoder decode)
      : files(std::move(files)), channels(channels), decode(decode) {
    fieldList = pictureFields(this->files.name, channels);
    if (this->files.labels.empty())
      fieldList.pop_back();
    if (!this->files.input.empty()) {
      fieldList[0].kind = FieldKind::Named;
      fieldList[0].name = this->files.input;
    }
    firstColumn = fieldList.size();
    for (const PictureColumn &column : this->files.columns)
      fieldList.push_back(column.field);
  }
  const std::string &name() const override { return files.name; }
  uint64_t size() const override { return files.files.size(); }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  const std::vector<std::string> *classNames() const override {
    return files.classes.empty() ? nullptr : &files.classes;
  }
  std::string sampleName(uint64_t index) const override { return std::string(files.files[index]); }
  const std::byte *sample(uint64_t index, size_t field) const override {
    if (field >= firstColumn) {
      const PictureColumn &column = files.columns[field - firstColumn];
      return column.numbers.empty() ? nullptr
                                    : column.numbers.data() + index * sampleBytes(column.field);
    }
    return field == 0 ? nullptr : reinterpret_cast<const std::byte *>(&files.labels[index]);
  }
  Result<PictureRegion> readPicture(uint64_t index, size_t field, const PictureChooser &choose,
                                    Picture &picture) const override {
    if (!fieldList[field].pictures)
      return Dataset::readPicture(index, field, choose, picture);
    return guarded([&]() -> Result<PictureRegion> {
      const std::string path = pathOf(index, field);
      const uint32_t asked = field == 0 ? channels : files.columns[field - firstColumn].channels;
      DLC_TRY_ASSIGN(content, readWholeFile(path, mostBytes));
      Result<PictureRegion> region = decode(content, asked, choose, picture);
      picture.file = path;
      return region.ok() ? std::move(region) : region.takeStatus().in(path);
    });
  }

  Status readPictureFile(uint64_t index, size_t field,
                         std::vector<std::byte> &file) const override {
    if (!fieldList[field].pictures)
      return Dataset::readPictureFile(index, field, file);
    return guarded([&]() -> Status {
      DLC_TRY_ASSIGN(content, readWholeFile(pathOf(index, field), mostBytes));
      file = std::move(content);
      return {};
    });
  }

private:
  static constexpr uint64_t mostBytes = uint64_t(1) << 30;

  std::string pathOf(uint64_t index, size_t field) const {
    const FileNames &names = field == 0 ? files.files : files.columns[field - firstColumn].files;
    const std::string_view name = names[index];
    return name.starts_with('/') ? std::string(name) : concat(files.folder, name);
  }

  PictureFiles files;
  uint32_t channels;
  PictureDecoder decode;
  std::vector<DatasetField> fieldList;
  size_t firstColumn = 0;
};

} // namespace

uint32_t pictureChannels(const EntryInfo *reader, std::string_view name) {
  constexpr uint32_t grey = 1, colours = 3;
  if (!reader)
    return colours;
  for (const ValueInfo &input : reader->inputs) {
    const bool isOfNumbers = !isWhole(input.type.dtype) || input.type.dtype == DLC_U8;
    if ((name.empty() || input.name == name) && isOfNumbers && takesImages(input) &&
        (input.type.shape[1] == grey || input.type.shape[1] == colours))
      return static_cast<uint32_t>(input.type.shape[1]);
  }
  return colours;
}

std::vector<DatasetField> pictureFields(const std::string &file, uint32_t channels) {
  return {{.kind = FieldKind::Image,
           .dtype = DLC_U8,
           .shape = {channels, 0, 0},
           .file = file,
           .pictures = true},
          {.kind = FieldKind::Label, .dtype = DLC_I32, .shape = {}, .file = file}};
}

Result<std::shared_ptr<const Dataset>> openPictureFiles(PictureFiles files,
                                                        const EntryInfo *reader) {
  DLC_TRY_ASSIGN(decode, openPictureDecoder());
  files.files.shrink();
  files.labels.shrink_to_fit();
  for (PictureColumn &column : files.columns) {
    column.files.shrink();
    column.numbers.shrink_to_fit();
  }
  const uint32_t channels = pictureChannels(reader, files.input);
  return std::shared_ptr<const Dataset>(
      std::make_shared<PictureDataset>(std::move(files), channels, decode));
}

} // namespace dlc::runtime
