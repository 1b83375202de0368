// Any bytes as a table: rows that are in it, and the same in pieces of any length; numbers, or one
// line that says why there is none.
#include "runtime/Data/Formats/Csv.h"

#include <cstdio>

using namespace dlc::runtime;

/// Rows by their cells' bytes, and where they end.
static std::string rowsOf(std::string_view text, size_t piece) {
  std::string all;
  size_t length = piece;
  for (CsvRow row; !text.empty();) {
    const bool isAll = length >= text.size();
    Result<size_t> taken = takeCsvRow(text.substr(0, length), isAll, row);
    if (!taken.ok())
      return all + "!";
    if (*taken == 0 && isAll)
      return "a row of nothing";
    length = *taken == 0 ? length + piece : piece;
    for (std::string_view cell : row.cells)
      if (*taken != 0)
        all.append(cell).append(1, '|');
    if (*taken > text.size())
      return "a row of more than there is";
    text.remove_prefix(*taken);
  }
  return all;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  // What ends early is no error until its end is there, so rows in front of one are the same.
  const std::string whole = rowsOf(text, size + 1), pieces = rowsOf(text, 1 + size / 7);
  bool isSound = whole == pieces;
  for (dlc_dtype dtype : {DLC_F32, DLC_F64, DLC_I32, DLC_I64, DLC_U8, DLC_BOOL}) {
    std::byte number[8];
    const Status stored = storeCsvNumber(text, dtype, number);
    isSound = isSound && (stored.ok() || !stored.message().empty());
  }
  if (!isSound) {
    std::fprintf(stderr, "%s\n%s\n", whole.c_str(), pieces.c_str());
    __builtin_trap();
  }
  return 0;
}
