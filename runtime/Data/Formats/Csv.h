// Rows of cells between commas (RFC 4180), and the numbers in them.
#ifndef DLC_RUNTIME_DATA_FORMATS_CSV_H
#define DLC_RUNTIME_DATA_FORMATS_CSV_H

#include "dlc/abi.h"
#include "dlc/status.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::runtime {

struct CsvRow {
  /// Without the blanks around them, and without quotes; one in them is doubled still.
  std::vector<std::string_view> cells;
  /// Lines that it has: more than one with a line break in quotes.
  uint64_t lines = 0;
  /// A line with nothing in it.
  bool isBlank = false;
};

/// Takes the row at the front of a text that is not empty, with the line break that ends it.
/// Returns its bytes, or 0 where it does not end in `text` and more follows, which `isAll` says.
/// Fails where a quote is not closed, or has something behind it.
Result<size_t> takeCsvRow(std::string_view text, bool isAll, CsvRow &row);

/// What a cell says, with single quotes for doubled ones.
std::string csvText(std::string_view cell);

/// Writes the number in a cell as an element of a dtype; True and False are 1 and 0. Fails, saying
/// what is wrong with the cell, where there is none, and for one that is not finite or that the
/// dtype does not have: of whole numbers, one that is not whole or out of range.
Status storeCsvNumber(std::string_view cell, dlc_dtype dtype, std::byte *to);

} // namespace dlc::runtime

#endif
