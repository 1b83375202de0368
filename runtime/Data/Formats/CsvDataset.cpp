// Columns for inputs, and rows by number.
#include "runtime/Data/Formats/CsvDataset.h"
#include "dlc/plan.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Formats/Csv.h"
#include "runtime/Data/SampleShape.h"

#include <algorithm>
#include <map>

namespace dlc::runtime {
namespace {

// ---------------------------------------------------------------------------------------------
// What --data says

/// "FILE?x=a,b&y=label"
struct Place {
  std::string path;
  /// Inputs, and the columns that feed them.
  std::map<std::string, std::vector<std::string>, std::less<>> columns;
};

std::string pathOf(const std::string &place) {
  return isThere(place) ? place : place.substr(0, place.find('?'));
}

/// Calls hear(part) with each part of a text that `separator` divides.
template <typename Hear> Status forEachPart(std::string_view text, char separator, Hear hear) {
  while (true) {
    const size_t length = std::min(text.find(separator), text.size());
    DLC_TRY(hear(text.substr(0, length)));
    if (length == text.size())
      return {};
    text.remove_prefix(length + 1);
  }
}

Result<Place> parsePlace(const std::string &text) {
  Place place{pathOf(text), {}};
  if (place.path.size() == text.size())
    return place;
  const auto wrong = [&](std::string_view part) {
    return invalid("data 'csv:", text, "': '", excerpt(part),
                   "' names no columns; expected FILE?INPUT=COLUMN,COLUMN&INPUT=COLUMN");
  };
  DLC_TRY(forEachPart(std::string_view(text).substr(place.path.size() + 1), '&',
                      [&](std::string_view part) -> Status {
                        const size_t equals = part.find('=');
                        if (equals == part.npos || equals == 0)
                          return wrong(part);
                        auto &names = place.columns[std::string(part.substr(0, equals))];
                        return forEachPart(part.substr(equals + 1), ',',
                                           [&](std::string_view name) {
                                             names.emplace_back(name);
                                             return name.empty() ? wrong(part) : Status();
                                           });
                      }));
  return place;
}

/// The test data beside a file: of one that is called as training data are, or else itself.
std::string besideOf(const std::string &path) {
  const size_t name = path.rfind('/') + 1;
  return path.find("train", name) == path.npos ? path : concat(path.substr(0, name), "test.csv");
}

/// The file of a split.
std::string fileOf(const std::string &path, Split split) {
  if (split == Split::Train)
    return isFolder(path) ? concat(path, "/train.csv") : path;
  if (!isFolder(path))
    return isThere(besideOf(path)) ? besideOf(path) : path;
  const std::string validation = concat(path, "/val.csv");
  return isThere(validation) ? validation : concat(path, "/test.csv");
}

// ---------------------------------------------------------------------------------------------
// Which columns feed which input

/// The columns of a header, by name; NULL names are none.
class Header {
public:
  Header(std::string path, const CsvRow &row) : path(std::move(path)) {
    for (std::string_view cell : row.cells)
      names.push_back(csvText(cell));
    for (uint32_t i = 0; i < names.size(); ++i)
      numbers.emplace(names[i], i);
  }

  size_t size() const { return names.size(); }
  const std::string &name(uint32_t column) const { return names[column]; }
  const std::vector<std::string> &all() const { return names; }
  bool has(std::string_view name) const { return !name.empty() && numbers.contains(name); }

  /// Fails where there is none of this name, or more than one.
  Result<uint32_t> find(std::string_view name) const {
    const size_t count = name.empty() ? 0 : numbers.count(name);
    if (count == 1)
      return numbers.find(name)->second;
    if (count > 1)
      return damaged(path, ": column '", excerpt(name), "' is there ", count, " times");
    return damaged(path, ": no column '", excerpt(name), "'; ", list());
  }
  /// "there are: a, b, c"
  std::string list() const {
    constexpr size_t most = 20;
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), most); ++i)
      addItem(text, excerpt(names[i]));
    return concat("there are: ", text,
                  names.size() > most ? concat(" and ", names.size() - most, " more") : "");
  }

private:
  std::string path;
  std::vector<std::string> names;
  std::multimap<std::string, uint32_t, std::less<>> numbers;
};

/// What feeds an input.
struct CsvField {
  std::string name;
  dlc_dtype dtype;
  /// Of the input, as ValueInfo has them.
  uint32_t classes = 0;
  int64_t ignored = 0;
  std::vector<uint32_t> columns = {};
};

/// Columns name.0 and on, name_0 and on, or name0 and on; none where there is no first one.
Result<std::vector<uint32_t>> numberedColumns(const Header &header, const std::string &name,
                                              uint64_t count) {
  std::vector<uint32_t> found;
  for (std::string_view separator : {".", "_", ""}) {
    const std::string begin = concat(name, separator);
    if (!header.has(begin + '0'))
      continue;
    for (uint64_t i = 0; i < count; ++i) {
      DLC_TRY_ASSIGN(column, header.find(concat(begin, i)));
      found.push_back(column);
    }
    return found;
  }
  return found;
}

/// Fails where an input does not take as many numbers as there are columns.
Status checkCount(const std::string &path, const CsvField &field, uint64_t count) {
  return field.columns.size() == count
             ? Status()
             : invalid(path, ": input '", field.name, "' takes ", count, " numbers a sample, ",
                       field.columns.size(), " columns are meant for it; csv:FILE?", field.name,
                       "=COLUMN,... says which");
}

/// By the names that are given, or that the header has; none where nothing is called so.
Result<std::vector<uint32_t>> namedColumns(const Header &header, const Place &place,
                                           const std::string &name, uint64_t count) {
  std::vector<uint32_t> found;
  if (const auto given = place.columns.find(name); given != place.columns.end()) {
    for (const std::string &column : given->second) {
      DLC_TRY_ASSIGN(number, header.find(column));
      found.push_back(number);
    }
    return found;
  }
  if (count != 1 || !header.has(name))
    return numberedColumns(header, name, count);
  DLC_TRY_ASSIGN(number, header.find(name));
  found.push_back(number);
  return found;
}

/// All columns that have a name, and that nothing else is said to take.
Result<std::vector<uint32_t>> columnsLeft(const Header &header, const Place &place,
                                          const std::vector<CsvField> &fields) {
  std::vector<bool> isTaken(header.size());
  for (const CsvField &field : fields)
    for (uint32_t column : field.columns)
      isTaken[column] = true;
  // Of inputs that another entry has, as the label of one that infers.
  for (const auto &[name, columns] : place.columns)
    for (const std::string &column : columns) {
      DLC_TRY_ASSIGN(number, header.find(column));
      isTaken[number] = true;
    }
  std::vector<uint32_t> left;
  for (uint32_t i = 0; i < header.size(); ++i)
    if (!isTaken[i] && !header.name(i).empty())
      left.push_back(i);
  return left;
}

/// A field for each input of the entry that reads.
Result<std::vector<CsvField>> fieldsFor(const EntryInfo &entry, const Header &header,
                                        const Place &place, const std::string &path) {
  std::vector<CsvField> fields;
  std::vector<uint64_t> counts;
  size_t without = SIZE_MAX;
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    if (i == entry.validInput)
      continue;
    const ValueInfo &input = entry.inputs[i];
    const dlc_dtype dtype = input.type.dtype;
    const uint64_t count = TensorType{dtype, sampleShape(input), {}}.elementCount();
    CsvField field{std::string(input.name), dtype, input.classes, input.ignored};
    DLC_TRY_ASSIGN(columns, namedColumns(header, place, field.name, count));
    field.columns = std::move(columns);
    if (field.columns.empty() && without != SIZE_MAX)
      return invalid(path, ": no column '", input.name, "' for input '", input.name, "' of entry '",
                     entry.name, "'; ", header.list(), "; csv:FILE?", input.name,
                     "=COLUMN,... says which it takes");
    if (field.columns.empty())
      without = fields.size();
    else
      DLC_TRY(checkCount(path, field, count));
    fields.push_back(std::move(field));
    counts.push_back(count);
  }
  if (without == SIZE_MAX)
    return fields;
  DLC_TRY_ASSIGN(left, columnsLeft(header, place, fields));
  fields[without].columns = std::move(left);
  DLC_TRY(checkCount(path, fields[without], counts[without]));
  return fields;
}

/// The same columns, by their names, in a file that may have them in another order.
Status moveColumns(std::vector<CsvField> &fields, const Header &from, const Header &to) {
  for (CsvField &field : fields)
    for (uint32_t &column : field.columns) {
      DLC_TRY_ASSIGN(number, to.find(from.name(column)));
      column = number;
    }
  return {};
}

/// Without an entry: each column by itself, or what is named.
Result<std::vector<CsvField>> allFields(const Header &header, const Place &place) {
  std::vector<CsvField> fields;
  for (const auto &[name, columns] : place.columns) {
    DLC_TRY_ASSIGN(found, namedColumns(header, place, name, columns.size()));
    fields.push_back({.name = name, .dtype = DLC_F64, .columns = std::move(found)});
  }
  for (uint32_t i = 0; i < header.size() && place.columns.empty(); ++i)
    if (!header.name(i).empty())
      fields.push_back({.name = header.name(i), .dtype = DLC_F64, .columns = {i}});
  return fields;
}

// ---------------------------------------------------------------------------------------------
// Rows

/// Where some rows begin.
struct Block {
  uint64_t offset, row, line;
};

class CsvDataset : public Dataset {
public:
  CsvDataset(File file, Header header, std::vector<CsvField> fields)
      : file(std::move(file)), header(std::move(header)), csvFields(std::move(fields)) {
    names.all = this->header.all();
    for (const CsvField &field : csvFields) {
      const bool isOne = field.columns.size() == 1;
      fieldList.push_back(
          {.kind = FieldKind::Named,
           .dtype = field.dtype,
           .shape = isOne ? std::vector<uint64_t>() : std::vector<uint64_t>{field.columns.size()},
           .file = concat(name(), ": '", field.name, "'"),
           .name = field.name});
    }
  }
  const std::string &name() const override { return file.path(); }
  uint64_t size() const override { return rows; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  const ArrayNames *arrayNames() const override { return &names; }
  Status read(uint64_t index, size_t field, std::span<std::byte> bytes) const override {
    return guarded([&] { return readRow(index, csvFields[field], bytes.data()); });
  }

  /// Looks at all rows behind the header, which ends at `begin` and has `lines` lines.
  Status scan(uint64_t begin, uint64_t lines);

private:
  Status scanRow(const CsvRow &row, uint64_t line, uint64_t offset);
  Status checkCells(const CsvRow &row, uint64_t line) const;
  Status storeRow(const CsvRow &row, uint64_t line, const CsvField &field, std::byte *to) const;
  Status readRow(uint64_t index, const CsvField &field, std::byte *to) const;
  std::string at(uint64_t line) const { return concat(name(), ":", line); }

  File file;
  Header header;
  std::vector<CsvField> csvFields;
  std::vector<DatasetField> fieldList;
  ArrayNames names;
  std::vector<Block> blocks;
  uint64_t rows = 0;
  /// For scan().
  std::vector<std::byte> room;
};

Status CsvDataset::checkCells(const CsvRow &row, uint64_t line) const {
  return row.cells.size() == header.size() ? Status()
                                           : damaged(at(line), ": has ", row.cells.size(),
                                                     " columns, the header ", header.size());
}

/// Writes the numbers that a row has for an input.
Status CsvDataset::storeRow(const CsvRow &row, uint64_t line, const CsvField &field,
                            std::byte *to) const {
  const uint64_t size = dtypeSize(field.dtype);
  for (uint32_t column : field.columns) {
    Status stored = storeCsvNumber(row.cells[column], field.dtype, to);
    if (stored.ok() && field.classes != 0 &&
        !isClass(loadElement(field.dtype, to), field.classes, field.ignored))
      stored =
          damaged(row.cells[column], " is no class of input '", field.name, "', which are 0 to ",
                  field.classes - 1, field.ignored == 0 ? "" : concat(", and ", field.ignored));
    if (!stored.ok())
      return std::move(stored).in(
          concat(at(line), ": column '", excerpt(header.name(column)), "'"));
    to += size;
  }
  return {};
}

Status CsvDataset::scanRow(const CsvRow &row, uint64_t line, uint64_t offset) {
  constexpr uint64_t blockBytes = 2048;
  DLC_TRY(checkCells(row, line));
  for (const CsvField &field : csvFields) {
    room.resize(std::max(room.size(), field.columns.size() * dtypeSize(field.dtype)));
    DLC_TRY(storeRow(row, line, field, room.data()));
  }
  if (blocks.empty() || offset - blocks.back().offset >= blockBytes)
    blocks.push_back({offset, rows, line});
  ++rows;
  return {};
}

constexpr uint64_t mostRowBytes = uint64_t(1) << 24;

Status CsvDataset::scan(uint64_t begin, uint64_t lines) {
  constexpr uint64_t pieceBytes = uint64_t(1) << 22;
  uint64_t line = lines + 1;
  CsvRow row;
  DLC_TRY(file.readPieces(
      pieceBytes, [&](std::span<const std::byte> piece, uint64_t offset) -> Result<size_t> {
        const bool isLast = offset + piece.size() == file.size();
        const std::string_view text(reinterpret_cast<const char *>(piece.data()), piece.size());
        // The header was read before.
        size_t done = offset < begin ? std::min<uint64_t>(begin - offset, text.size()) : 0;
        while (done < text.size()) {
          Result<size_t> taken = takeCsvRow(text.substr(done), isLast, row);
          if (!taken.ok())
            return taken.takeStatus().in(at(line));
          if (*taken == 0 && text.size() - done > mostRowBytes)
            return damaged(at(line), ": a row of more than ", mostRowBytes,
                           " bytes begins here; is a quote not closed?");
          if (*taken == 0)
            break;
          if (!row.isBlank)
            DLC_TRY(scanRow(row, line, offset + done));
          line += row.lines;
          done += *taken;
        }
        return done;
      }));
  room = {};
  if (rows == 0)
    return damaged(name(), ": there are no samples in it, but a header");
  return {};
}

Status CsvDataset::readRow(uint64_t index, const CsvField &field, std::byte *to) const {
  const auto next = std::ranges::upper_bound(blocks, index, {}, &Block::row);
  const Block &block = *std::prev(next);
  std::string text((next == blocks.end() ? file.size() : next->offset) - block.offset, '\0');
  DLC_TRY(file.readAt(block.offset, std::as_writable_bytes(std::span(text))));
  std::string_view rest = text;
  uint64_t number = block.row, line = block.line;
  for (CsvRow row; !rest.empty();) {
    Result<size_t> taken = takeCsvRow(rest, /*isAll=*/true, row);
    if (!taken.ok())
      return taken.takeStatus().in(at(line));
    if (!row.isBlank && number++ == index) {
      DLC_TRY(checkCells(row, line));
      return storeRow(row, line, field, to);
    }
    line += row.lines;
    rest.remove_prefix(*taken);
  }
  return damaged(name(), ": has changed since it was opened");
}

/// The first row that is not blank.
struct FirstRow {
  Header header;
  /// Behind it.
  uint64_t offset, lines;
};

Result<FirstRow> readHeader(const File &file) {
  std::string text(std::min(file.size(), mostRowBytes), '\0');
  DLC_TRY(file.readAt(0, std::as_writable_bytes(std::span(text))));
  const auto begin = std::as_bytes(std::span(text).first(std::min(text.size(), fileKindBytes)));
  if (const std::string_view kind = fileKind(begin); !kind.empty() && !isTextKind(kind))
    return damaged(file.path(), ": is ", kind, ", expected a header and rows of numbers");
  constexpr std::string_view byteOrderMark = "\xef\xbb\xbf";
  uint64_t offset = text.starts_with(byteOrderMark) ? byteOrderMark.size() : 0, lines = 0;
  for (CsvRow row; offset < text.size();) {
    Result<size_t> taken =
        takeCsvRow(std::string_view(text).substr(offset), text.size() == file.size(), row);
    if (!taken.ok())
      return taken.takeStatus().in(concat(file.path(), ":", lines + 1));
    if (*taken == 0)
      return damaged(file.path(), ":", lines + 1, ": a header of more than ", mostRowBytes,
                     " bytes");
    offset += *taken;
    lines += row.lines;
    if (row.isBlank)
      continue;
    std::byte number[sizeof(double)];
    if (std::ranges::all_of(row.cells, [&](std::string_view cell) {
          return storeCsvNumber(cell, DLC_F64, number).ok();
        }))
      return damaged(file.path(), ":", lines,
                     ": the first row has numbers alone, expected the "
                     "names of the columns");
    return FirstRow{Header(file.path(), row), offset, lines};
  }
  return damaged(file.path(), ": there is nothing in it, expected a header and rows of numbers");
}

/// What feeds the inputs of an entry is said by the header of the training file, if this is
/// another.
Result<std::vector<CsvField>> fieldsOf(const EntryInfo &entry, const Header &header,
                                       const Place &place, const std::string &path) {
  const std::string train = fileOf(place.path, Split::Train);
  if (train == path || !isThere(train))
    return fieldsFor(entry, header, place, path);
  DLC_TRY_ASSIGN(file, File::openForReading(train));
  DLC_TRY_ASSIGN(trained, readHeader(file));
  DLC_TRY_ASSIGN(fields, fieldsFor(entry, trained.header, place, train));
  DLC_TRY(moveColumns(fields, trained.header, header));
  return fields;
}

} // namespace

Result<std::shared_ptr<const Dataset>> openCsvDataset(const std::string &text, Split split,
                                                      const EntryInfo *reader) {
  return guarded([&]() -> Result<std::shared_ptr<const Dataset>> {
    DLC_TRY_ASSIGN(place, parsePlace(text));
    DLC_TRY_ASSIGN(file, File::openForReading(fileOf(place.path, split)));
    DLC_TRY_ASSIGN(first, readHeader(file));
    DLC_TRY_ASSIGN(fields, reader ? fieldsOf(*reader, first.header, place, file.path())
                                  : allFields(first.header, place));
    auto data =
        std::make_shared<CsvDataset>(std::move(file), std::move(first.header), std::move(fields));
    DLC_TRY(data->scan(first.offset, first.lines));
    return std::shared_ptr<const Dataset>(std::move(data));
  });
}

bool hasCsvSplit(const std::string &place, Split split) {
  const std::string path = pathOf(place), file = fileOf(path, split);
  return isThere(file) && (split == Split::Train || file != path);
}

std::vector<std::string> csvFiles(const std::string &place, Split split) {
  const std::string path = pathOf(place);
  if (split == Split::Train)
    return {fileOf(path, split)};
  if (!isFolder(path))
    return {besideOf(path)};
  return {concat(path, "/val.csv"), concat(path, "/test.csv")};
}

} // namespace dlc::runtime
