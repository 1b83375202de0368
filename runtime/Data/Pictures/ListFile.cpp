// Parsing lines of lists.
#include "runtime/Data/Pictures/ListFile.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Formats/Csv.h"

#include <algorithm>
#include <charconv>

namespace dlc::runtime {
namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view withoutBlanksBehind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// Adds the picture of a line that is not empty.
Status readLine(std::string_view line, PictureFiles &files) {
  const size_t wordAt = line.find_last_of(blanks) + 1;
  const std::string_view word = line.substr(wordAt),
                         path = withoutBlanksBehind(line.substr(0, wordAt));
  int32_t label = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), label);
  if (path.empty() || error != std::errc() || end != word.data() + word.size() || label < 0)
    return damaged("'", excerpt(path.empty() ? line : word), "' is no ",
                   path.empty() ? "line of a list" : "label",
                   ": expected the path of a picture, a space and a whole number from 0");
  files.files.add(path);
  files.labels.push_back(label);
  return {};
}

// ---------------------------------------------------------------------------------------------
// Several columns

using Words = std::vector<std::string_view>;

Words wordsOf(std::string_view line) {
  Words words;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    if (line.empty())
      return words;
    words.push_back(line.substr(0, line.find_first_of(blanks)));
    line.remove_prefix(words.back().size());
  }
}

/// Columns behind the first picture of a line that has no names.
size_t columnsOf(const Words &words) {
  const auto picture = std::ranges::find_if(words, isPictureName);
  const auto columns = static_cast<size_t>(words.end() - picture);
  return columns > 1 ? columns - 1 : 1;
}

/// The input that takes `count` numbers a sample, and has this name if there is one.
const ListInput *inputOfNumbers(std::span<const ListInput> inputs, std::string_view name,
                                uint64_t count) {
  for (const ListInput &input : inputs)
    if (name.empty() ? input.elements == count : input.name == name)
      return &input;
  return nullptr;
}

/// Whether a word is a number that is none of a class, whatever its value is.
bool isFraction(std::string_view word) {
  std::byte number[sizeof(double)];
  return word.find_first_of(".eE") != word.npos && storeCsvNumber(word, DLC_F64, number).ok();
}

/// Neighbouring columns that feed one input.
struct Group {
  size_t begin, count;
  PictureColumn column;
};

class ColumnReader {
public:
  ColumnReader(const std::string &path, std::span<const ListInput> inputs)
      : path(path), inputs(inputs) {}

  /// Takes the names of columns, where `line` begins with a # and a blank.
  bool takeNames(std::string_view line) {
    if (!line.starts_with("# ") && !line.starts_with("#\t"))
      return false;
    names = wordsOf(line.substr(1));
    return true;
  }
  bool hasNames() const { return !names.empty(); }

  /// Told the first line; false if it is a path and the number of a class and nothing else.
  Result<bool> begin(std::string_view line) {
    const Words words = wordsOf(line);
    count = names.empty() ? columnsOf(words) : names.size() - 1;
    if (names.empty() && count == 1 && words.size() > 1 && !isPictureName(words.back())) {
      const ListInput *input = inputOfNumbers(inputs, {}, 1);
      if (input ? input->isWhole : !isFraction(words.back()))
        return false;
    }
    if (names.empty() && words.size() <= count)
      return false;
    if (count == 0)
      return damaged("no columns are named behind that of pictures");
    DLC_TRY(checkCount(words));
    DLC_TRY(group(std::span(words).last(count)));
    return true;
  }

  Status read(std::string_view line, PictureFiles &files) {
    const Words words = wordsOf(line);
    DLC_TRY(checkCount(words));
    const std::span<const std::string_view> behind = std::span(words).last(count);
    for (Group &group : groups)
      for (size_t i = group.begin; i < group.begin + group.count; ++i)
        DLC_TRY_IN(add(behind[i], group.column), "column ",
                   names.empty() ? concat(i + 2) : concat("'", excerpt(names[i + 1]), "'"));
    files.files.add(
        withoutBlanksBehind(line.substr(0, static_cast<size_t>(behind[0].data() - line.data()))));
    return {};
  }

  void finish(PictureFiles &files) {
    if (!names.empty())
      files.input = names[0];
    for (Group &group : groups)
      files.columns.push_back(std::move(group.column));
  }

private:
  Status checkCount(const Words &words) const {
    return words.size() > count ? Status()
                                : damaged("has ", words.size(), " columns, expected ", count + 1);
  }

  /// What is in front of ".3" in a name.
  static std::string_view baseOf(std::string_view name) {
    const size_t dot = name.find_last_of('.');
    const bool isNumbered = dot != name.npos && dot + 1 < name.size() &&
                            name.find_first_not_of("0123456789", dot + 1) == name.npos;
    return isNumbered ? name.substr(0, dot) : name;
  }

  Status group(std::span<const std::string_view> words) {
    for (size_t i = 0; i < words.size(); ++i) {
      const bool isPicture = isPictureName(words[i]);
      const std::string name(names.empty() ? "" : baseOf(names[i + 1]));
      Group *last = groups.empty() ? nullptr : &groups.back();
      if (last && !isPicture && !last->column.field.pictures && last->column.field.name == name) {
        ++last->count;
        continue;
      }
      for (const Group &other : groups)
        if (other.column.field.name == name && other.column.field.pictures == isPicture)
          return damaged("the columns of '", excerpt(name),
                         "' are not side by side, or of two kinds");
      groups.push_back({i,
                        1,
                        {{.kind = FieldKind::Named,
                          .dtype = DLC_U8,
                          .shape = {1, 0, 0},
                          .file = path,
                          .name = name,
                          .pictures = isPicture}}});
    }
    for (Group &group : groups)
      group.column.field.pictures ? setPicture(group.column) : setNumbers(group);
    return {};
  }

  void setPicture(PictureColumn &column) const {
    DatasetField &field = column.field;
    const auto taken = std::ranges::find_if(inputs, [&](const ListInput &input) {
      return field.name.empty() ? input.isMask : input.name == field.name;
    });
    const bool isTaken = taken != inputs.end();
    column.channels = isTaken && !taken->isMask ? taken->channels : classNumbers;
    if (column.channels != classNumbers)
      field.shape[0] = column.channels;
    if (field.name.empty())
      field.name = isTaken ? taken->name : "mask";
  }

  void setNumbers(Group &group) const {
    DatasetField &field = group.column.field;
    const ListInput *taken = inputOfNumbers(inputs, field.name, group.count);
    field.dtype = taken && taken->isWhole ? DLC_I32 : DLC_F32;
    field.shape.clear();
    if (group.count > 1)
      field.shape.push_back(group.count);
    if (field.name.empty())
      field.name = taken ? taken->name : "label";
  }

  static Status add(std::string_view word, PictureColumn &column) {
    if (column.field.pictures) {
      column.files.add(word);
      return isPictureName(word) ? Status() : damaged("'", excerpt(word), "' is no picture's name");
    }
    std::byte number[sizeof(float)];
    DLC_TRY(storeCsvNumber(word, column.field.dtype, number));
    column.numbers.insert(column.numbers.end(), std::begin(number), std::end(number));
    return {};
  }

  const std::string &path;
  std::span<const ListInput> inputs;
  Words names;
  size_t count = 0;
  std::vector<Group> groups;
};

} // namespace

Result<PictureFiles> readPictureList(const std::string &path, std::span<const ListInput> inputs) {
  return guarded([&]() -> Result<PictureFiles> {
    constexpr uint64_t mostBytes = uint64_t(1) << 34;
    DLC_TRY_ASSIGN(content, readWholeFile(path, mostBytes));
    const std::span begin = std::span(content).first(std::min(content.size(), fileKindBytes));
    const std::string_view kind = fileKind(begin);
    if (!kind.empty() && !isTextKind(kind))
      return damaged(path, ": is ", kind, ", expected lines of a path and the number of a class");
    PictureFiles files{path, path.substr(0, path.rfind('/') + 1), {}, {}};
    std::string_view rest(reinterpret_cast<const char *>(content.data()), content.size());
    ColumnReader columns(path, inputs);
    bool hasColumns = false, isFirst = true;
    for (uint64_t number = 1; !rest.empty(); ++number) {
      const std::string_view line = withoutBlanksBehind(takeLine(rest));
      if (line.empty() || (isFirst && !columns.hasNames() && columns.takeNames(line)))
        continue;
      if (std::exchange(isFirst, false)) {
        Result<bool> several = columns.begin(line);
        if (!several.ok())
          return several.takeStatus().in(concat(path, ":", number));
        hasColumns = *several;
      }
      DLC_TRY_IN(hasColumns ? columns.read(line, files) : readLine(line, files), path, ":", number);
    }
    if (files.files.size() == 0)
      return damaged(path, ": there are no samples in it");
    columns.finish(files);
    return files;
  });
}

} // namespace dlc::runtime
