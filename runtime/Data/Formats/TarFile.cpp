// Headers of tar files, read and written.
#include "runtime/Data/Formats/TarFile.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime {
namespace {

/// As POSIX has it.
struct Header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
      magic[8], user[32], group[32], major[8], minor[8], prefix[155], unused[12];
};
static_assert(sizeof(Header) == tarBlock);

/// What a field holds in front of its zero.
template <size_t N> std::string_view textOf(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

/// An octal number between blanks and zeros, or a number of base 256 behind a byte 0x80; nothing
/// for another.
std::optional<uint64_t> numberOf(std::span<const char> field) {
  uint64_t number = 0;
  if (field[0] == '\x80') {
    for (char c : field.subspan(1)) {
      if (number >> 56 != 0)
        return std::nullopt;
      number = number << 8 | static_cast<uint8_t>(c);
    }
    return number;
  }
  size_t i = 0;
  while (i < field.size() && field[i] == ' ')
    ++i;
  const size_t begin = i;
  for (; i < field.size() && field[i] >= '0' && field[i] <= '7'; ++i)
    number = number * 8 + static_cast<uint64_t>(field[i] - '0');
  const bool ends = i == field.size() || field[i] == ' ' || field[i] == '\0';
  return i > begin && ends ? std::optional(number) : std::nullopt;
}

/// Of a header whose checksum counts as blanks.
uint64_t checksumOf(const Header &header) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(&header);
  uint64_t sum = 0;
  for (size_t i = 0; i < sizeof(header); ++i)
    sum += bytes[i];
  for (char c : header.checksum)
    sum += uint64_t(' ') - static_cast<uint8_t>(c);
  return sum;
}

bool isSound(const Header &header) { return numberOf(header.checksum) == checksumOf(header); }

Header headerIn(std::span<const std::byte> block) {
  Header header;
  std::memcpy(&header, block.data(), sizeof(header));
  return header;
}

bool isZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte(0); });
}

std::string nameIn(const Header &header) {
  // Old GNU headers have times where POSIX has the prefix.
  const bool hasPrefix = std::memcmp(header.magic, "ustar\0", 6) == 0 && header.prefix[0] != '\0';
  return hasPrefix ? concat(textOf(header.prefix), "/", textOf(header.name))
                   : std::string(textOf(header.name));
}

constexpr uint64_t mostTextBytes = 1 << 16;

} // namespace

/// Behind the first block of zeros there are more, up to a multiple of what tape drives took.
Status TarReader::checkEnd() {
  constexpr uint64_t mostRest = 1 << 20;
  uint64_t end = at;
  if (file.size() - at > mostRest)
    return damaged(file.path(), ": the archive ends at byte ", at, ", ", file.size() - at,
                   " bytes before the file does");
  while (end < file.size()) {
    DLC_TRY_ASSIGN(block, window.at(end, std::min(tarBlock, file.size() - end)));
    if (!isZero(block))
      return damaged(file.path(), ": the archive ends at byte ", at, ", but byte ", end,
                     " is not zero: are these several archives in one file?");
    end += block.size();
  }
  return {};
}

/// What lies behind the header at `at`, which is about the next one.
Result<std::vector<std::byte>> TarReader::extraOf(std::string_view what, uint64_t bytes) {
  Result<std::vector<std::byte>> content = contentOf({{}, at + tarBlock, bytes});
  if (!content.ok())
    return content.takeStatus().in(concat(file.path(), ": the ", what, " at byte ", at));
  return content;
}

Result<std::string> TarReader::longName(uint64_t bytes) {
  DLC_TRY_ASSIGN(text, extraOf("long name", bytes));
  const std::string_view name(reinterpret_cast<const char *>(text.data()), text.size());
  return std::string(name.substr(0, name.find('\0')));
}

/// "LENGTH KEY=VALUE\n", each as long as it says; those of names and sizes are taken.
Status TarReader::readPax(uint64_t bytes, TarMember &member) {
  DLC_TRY_ASSIGN(content, extraOf("pax header", bytes));
  std::string_view rest(reinterpret_cast<const char *>(content.data()), content.size());
  while (!rest.empty()) {
    uint64_t length = 0;
    std::string_view record = rest.substr(0, rest.find('='));
    const size_t digits = record.find(' ');
    std::string_view number = record.substr(0, digits);
    if (digits == std::string_view::npos || !takeNumber(number, length) || length <= digits + 1 ||
        length > rest.size() || rest[length - 1] != '\n' || record.size() >= length)
      return damaged(file.path(), ": the pax header at byte ", at, " is damaged");
    const std::string_view key = record.substr(digits + 1),
                           value = rest.substr(record.size() + 1, length - record.size() - 2);
    if (key == "path")
      member.name = value;
    std::string_view size = value;
    if (key == "size" && !takeNumber(size, member.bytes))
      return damaged(file.path(), ": the pax header at byte ", at, " has size '", excerpt(value),
                     "'");
    if (key.starts_with("GNU.sparse."))
      return unsupported(file.path(), ": the file at byte ", at,
                         " is stored without its holes, expected whole ones");
    rest.remove_prefix(length);
  }
  return {};
}

Result<bool> TarReader::next(TarMember &member) {
  constexpr uint64_t notSaid = UINT64_MAX;
  member = {{}, 0, notSaid};
  while (true) {
    if (at == file.size())
      return damaged(file.path(), ": ends at byte ", at,
                     " without the block of zeros that ends a tar file: is it whole?");
    DLC_TRY_ASSIGN(block, window.at(at, tarBlock));
    if (isZero(block)) {
      DLC_TRY(checkEnd());
      return false;
    }
    const Header header = headerIn(block);
    const std::optional<uint64_t> size = numberOf(header.size);
    if (!isSound(header) || !size)
      return damaged(file.path(), ": byte ", at, ": no header of a tar file, or a damaged one");
    const bool isExtra =
        header.type == 'L' || header.type == 'K' || header.type == 'x' || header.type == 'g';
    const uint64_t bytes = isExtra || member.bytes == notSaid ? *size : member.bytes;
    // Links and folders have none, whatever their header says.
    const bool hasBytes = header.type < '1' || header.type > '6';
    if (hasBytes && (!fits(at + tarBlock, bytes, file.size()) || bytes > INT64_MAX))
      return damaged(file.path(), ": the header at byte ", at, " claims ", bytes,
                     " bytes, the file ends at byte ", file.size());
    if (header.type == 'L') {
      DLC_TRY_ASSIGN(name, longName(bytes));
      member.name = std::move(name);
    } else if (header.type == 'x') {
      DLC_TRY(readPax(bytes, member));
    } else if (header.type == 'S') {
      return unsupported(file.path(), ": the file at byte ", at,
                         " is stored without its holes, expected whole ones");
    }
    const uint64_t offset = at + tarBlock;
    at = std::min(offset + (hasBytes ? alignUp(bytes, tarBlock) : 0), file.size());
    if (header.type == '0' || header.type == '\0' || header.type == '7') {
      if (member.name.empty())
        member.name = nameIn(header);
      member.offset = offset;
      member.bytes = bytes;
      return true;
    }
    if (!isExtra)
      member = {{}, 0, notSaid};
  }
}

Result<std::vector<std::byte>> TarReader::contentOf(const TarMember &member) {
  if (member.bytes > mostTextBytes)
    return damaged("has ", member.bytes, " bytes, expected at most ", mostTextBytes);
  std::vector<std::byte> content(member.bytes);
  for (uint64_t done = 0; done < member.bytes;) {
    const uint64_t piece = std::min(member.bytes - done, tarBlock);
    DLC_TRY_ASSIGN(bytes, window.at(member.offset + done, piece));
    std::ranges::copy(bytes, content.begin() + static_cast<ptrdiff_t>(done));
    done += piece;
  }
  return content;
}

Status checkTarHeader(std::span<const std::byte> block, uint64_t bytes) {
  const Header header = headerIn(block);
  if (!isSound(header))
    return damaged("no header of a tar file");
  // Of more than 8 GiB pax says it elsewhere, and no picture has so many.
  if (numberOf(header.size) != bytes)
    return damaged("a member of ", numberOf(header.size).value_or(0), " bytes, expected ", bytes);
  return {};
}

template <size_t N> static void setText(char (&field)[N], std::string_view text) {
  std::memcpy(field, text.data(), std::min(N, text.size()));
}

/// Digits of base 8, as many as fit with the zero behind them.
template <size_t N> static void setNumber(char (&field)[N], uint64_t number) {
  for (size_t i = N - 1; i-- > 0; number /= 8)
    field[i] = static_cast<char>('0' + number % 8);
}

static void appendBlock(std::vector<std::byte> &out, std::string_view name, uint64_t bytes,
                        char type) {
  Header header = {};
  setText(header.name, name);
  setNumber(header.mode, 0644);
  setNumber(header.uid, 0);
  setNumber(header.gid, 0);
  setNumber(header.size, bytes);
  setNumber(header.mtime, 0);
  header.type = type;
  setText(header.magic, std::string_view("ustar\00000", 8));
  const uint64_t sum = checksumOf(header);
  // As POSIX's example has it: six digits, a zero and a blank.
  char digits[7] = {};
  setNumber(digits, sum);
  std::memcpy(header.checksum, digits, sizeof(digits));
  header.checksum[7] = ' ';
  const auto block = std::as_bytes(std::span(&header, 1));
  out.insert(out.end(), block.begin(), block.end());
}

void appendTarHeader(std::vector<std::byte> &out, std::string_view name, uint64_t bytes) {
  constexpr size_t mostBytes = sizeof(Header::name);
  if (name.size() > mostBytes) {
    const auto text = std::as_bytes(std::span(name));
    appendBlock(out, "././@LongLink", name.size() + 1, 'L');
    out.insert(out.end(), text.begin(), text.end());
    out.resize(alignUp(out.size() + 1, tarBlock));
  }
  appendBlock(out, name.substr(0, mostBytes), bytes, '0');
}

} // namespace dlc::runtime
