// Splitting and parsing.
#include "runtime/Data/Formats/Csv.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace dlc::runtime {
namespace {

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// The first place from `at` on that is no blank.
size_t skipBlanks(std::string_view text, size_t at) {
  while (at < text.size() && isBlank(text[at]))
    ++at;
  return at;
}

/// Where the quote ends that begins in front of `at`; the text's size where it does not. A quote at
/// the very end may be the first of two.
size_t endOfQuote(std::string_view text, size_t at, bool isAll, uint64_t &lines) {
  for (; at < text.size(); ++at) {
    if (text[at] == '\n')
      ++lines;
    if (text[at] != '"')
      continue;
    if (at + 1 == text.size())
      return isAll ? at : text.size();
    if (text[at + 1] != '"')
      return at;
    ++at;
  }
  return text.size();
}

/// A whole number, also one that is written as a float.
Status parseWhole(std::string_view cell, int64_t &number) {
  const char *const end = cell.data() + cell.size();
  const auto [next, error] = std::from_chars(cell.data(), end, number);
  if (error == std::errc() && next == end)
    return {};
  double real = 0;
  const auto [stop, failed] = std::from_chars(cell.data(), end, real);
  if (stop != end || failed == std::errc::invalid_argument)
    return damaged("'", excerpt(cell), "' is no number");
  constexpr double mostExact = 0x1p53;
  if (failed != std::errc() || std::fabs(real) > mostExact)
    return damaged("'", excerpt(cell), "' is out of range");
  if (real != std::trunc(real)) // NaN too
    return damaged("'", excerpt(cell), "' is no whole number");
  number = static_cast<int64_t>(real);
  return {};
}

Status storeWhole(std::string_view cell, dlc_dtype dtype, std::byte *to) {
  int64_t number = 0;
  DLC_TRY(parseWhole(cell, number));
  if (dtype == DLC_I64) {
    std::memcpy(to, &number, sizeof(number));
    return {};
  }
  const int64_t least = dtype == DLC_I32 ? INT32_MIN : 0, most = dtype == DLC_I32  ? INT32_MAX
                                                                 : dtype == DLC_U8 ? UINT8_MAX
                                                                                   : 1;
  if (number < least || number > most)
    return damaged("'", excerpt(cell), "' is out of range: ", dtypeName(dtype), " is ", least,
                   " to ", most);
  storeElement(dtype, static_cast<double>(number), to);
  return {};
}

Status storeReal(std::string_view cell, dlc_dtype dtype, std::byte *to) {
  double number = 0;
  const char *const end = cell.data() + cell.size();
  const auto [next, error] = std::from_chars(cell.data(), end, number);
  if (next != end || error == std::errc::invalid_argument)
    return damaged("'", excerpt(cell), "' is no number");
  if (error == std::errc() && !std::isfinite(number))
    return damaged("'", excerpt(cell), "' is not finite");
  storeElement(dtype, number, to);
  if (error != std::errc() || !std::isfinite(loadElement(dtype, to)))
    return damaged("'", excerpt(cell), "' is out of range");
  return {};
}

} // namespace

Result<size_t> takeCsvRow(std::string_view text, bool isAll, CsvRow &row) {
  constexpr size_t more = 0;
  row.cells.clear();
  row.lines = 1;
  for (size_t at = 0;; ++at) {
    const size_t begin = skipBlanks(text, at);
    size_t end = begin;
    const bool isQuoted = begin < text.size() && text[begin] == '"';
    if (isQuoted) {
      end = endOfQuote(text, begin + 1, isAll, row.lines);
      if (end == text.size())
        return isAll ? Result<size_t>(damaged("a quote is not closed")) : more;
      row.cells.push_back(text.substr(begin + 1, end - begin - 1));
      at = skipBlanks(text, end + 1);
      if (at < text.size() && text[at] != ',' && text[at] != '\n')
        return damaged("column ", row.cells.size(), " goes on behind its quote");
    } else {
      while (end < text.size() && text[end] != ',' && text[end] != '\n')
        ++end;
      at = end;
      while (end > begin && isBlank(text[end - 1]))
        --end;
      row.cells.push_back(text.substr(begin, end - begin));
    }
    if (at == text.size() && !isAll)
      return more;
    if (at == text.size() || text[at] == '\n') {
      row.isBlank = row.cells.size() == 1 && row.cells[0].empty() && !isQuoted;
      return std::min(at + 1, text.size());
    }
  }
}

std::string csvText(std::string_view cell) {
  std::string text;
  for (size_t at = 0; at < cell.size(); ++at) {
    text += cell[at];
    at += cell.substr(at).starts_with("\"\"") ? 1 : 0;
  }
  return text;
}

Status storeCsvNumber(std::string_view cell, dlc_dtype dtype, std::byte *to) {
  if (cell.empty())
    return damaged("nothing is there, expected a number");
  if (cell == "True" || cell == "False" || cell == "true" || cell == "false")
    cell = cell.size() == 4 ? "1" : "0";
  // from_chars() knows no plus.
  if (cell.size() > 1 && cell[0] == '+' && cell[1] != '-')
    cell.remove_prefix(1);
  return isWhole(dtype) ? storeWhole(cell, dtype, to) : storeReal(cell, dtype, to);
}

} // namespace dlc::runtime
