// Those helpers of Support.h that are no templates.
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <stdexcept>
#include <system_error>

namespace dlc::runtime {

/// What snprintf() writes of a number, whatever locale the program has chosen: std::to_chars()
/// would do, and bring 140 kB of tables of digits.
template <typename... Arguments>
static std::string printed(const char *format, Arguments... arguments) {
  char digits[64];
  std::string text(digits, std::snprintf(digits, sizeof(digits), format, arguments...));
  const auto isOfPoint = [](char c) {
    return !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && c != '-' && c != '+';
  };
  const auto from = std::find_if(text.begin(), text.end(), isOfPoint);
  const auto to = std::find_if_not(from, text.end(), isOfPoint);
  return from == text.end() ? text : text.replace(from, to, ".");
}

void append(std::string &text, const TextPart &part) {
  if (part.size == TextPart::isReal) {
    text += printed("%.6g", part.real);
  } else if (part.size == TextPart::isSigned || part.size == TextPart::isUnsigned) {
    char digits[20];
    char *const from = std::begin(digits), *const to = std::end(digits);
    const auto end = part.size == TextPart::isSigned
                         ? std::to_chars(from, to, static_cast<int64_t>(part.whole))
                         : std::to_chars(from, to, part.whole);
    text.append(from, end.ptr);
  } else {
    text.append(part.text, part.size);
  }
}

std::string concatParts(std::initializer_list<TextPart> parts) {
  std::string text;
  for (const TextPart &part : parts)
    append(text, part);
  return text;
}

Status failureOf(StatusCode code, std::initializer_list<TextPart> parts) {
  return Status(code, concatParts(parts));
}

Status ioFailure(std::string_view path, std::string_view what) {
  return failure(StatusCode::Io, path, ": ", what, ": ", std::strerror(errno));
}

void addItem(std::string &list, std::string_view item) {
  if (!list.empty())
    list += ", ";
  list += item;
}

/// Throws again what is being handled, to tell its kind.
static Status describeThrown() {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return Status::outOfMemory();
  } catch (const std::length_error &) {
    // A container that was asked for more than there can be.
    return Status::outOfMemory();
  } catch (const std::system_error &error) {
    return failure(StatusCode::Io, error.what());
  } catch (const std::exception &error) {
    return failure(StatusCode::Failed, "internal error of the runtime: ", error.what());
  }
}

Status thrownStatus() noexcept {
  try {
    return describeThrown();
  } catch (...) {
    return Status::outOfMemory();
  }
}

/// Length of the character at the front of `text`, 0 if it is a control character or no UTF-8.
static size_t sequenceLength(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80)
    return lead >= 0x20 && lead != 0x7f;
  size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                  : (lead & 0xf0) == 0xe0       ? 3
                  : lead >= 0xf0 && lead < 0xf5 ? 4
                                                : 0;
  if (length == 0 || length > text.size())
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  // Over-long forms, surrogates, what lies beyond U+10FFFF, and the control characters from U+0080.
  if ((lead == 0xc2 && byte(1) < 0xa0) || (lead == 0xe0 && byte(1) < 0xa0) ||
      (lead == 0xed && byte(1) >= 0xa0) || (lead == 0xf0 && byte(1) < 0x90) ||
      (lead == 0xf4 && byte(1) >= 0x90))
    return 0;
  return length;
}

bool isPrintableUtf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = sequenceLength(text);
    if (length == 0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

/// Takes the character at the front of `text` and writes it so that a terminal may see it.
static void takePrintable(std::string_view &text, std::string &shown) {
  static constexpr char digits[] = "0123456789abcdef";
  const size_t length = sequenceLength(text);
  if (length == 0) {
    const auto byte = static_cast<unsigned char>(text[0]);
    ((shown += "\\x") += digits[byte >> 4]) += digits[byte & 15];
  }
  shown.append(text, 0, length);
  text.remove_prefix(std::max<size_t>(length, 1));
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty())
    takePrintable(text, shown);
  return shown;
}

std::string excerpt(std::string_view text) {
  constexpr size_t most = 100;
  std::string shown;
  for (size_t characters = 0; !text.empty(); ++characters) {
    if (characters == most)
      return shown + "...";
    takePrintable(text, shown);
  }
  return shown;
}

bool takeSpace(std::string_view &text, const char *end) {
  text.remove_prefix(end - text.data());
  if (text.empty())
    return true;
  const bool isSpace = text.front() == ' ';
  text.remove_prefix(1);
  return isSpace && !text.empty();
}

std::string numberText(double number) {
  return std::isnan(number) ? "not a number" : concat(number);
}

static bool isReadAs(const std::string &text, double number) {
  double read = 0;
  std::from_chars(text.data(), text.data() + text.size(), read);
  return read == number;
}

std::string decimalText(double number) {
  if (!std::isfinite(number))
    return concat(number);
  // 15 digits bring back each decimal of as many, but where doubles lack bits.
  int digits = std::isnormal(number) ? 15 : 1;
  std::string scientific = printed("%.*e", digits - 1, number);
  for (; digits < 17 && !isReadAs(scientific, number); ++digits)
    scientific = printed("%.*e", digits, number);
  const size_t end = scientific.find('e');
  for (size_t last = end - 1; digits > 1 && scientific[last] == '0'; --last)
    --digits;
  const int exponent = std::atoi(&scientific[end + 1]);
  scientific = printed("%.*e", digits - 1, number);
  if (std::abs(exponent) > 25)
    return scientific;
  const std::string fixed = printed("%.*f", std::max(0, digits - 1 - exponent), number);
  return fixed.size() <= scientific.size() ? fixed : scientific;
}

std::string exactText(double number) {
  std::string text = printed("%a", number);
  if (const size_t prefix = text.find("0x"); prefix != std::string::npos)
    text.erase(prefix, 2);
  return text;
}

bool takeNumber(std::string_view &text, double &number) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::hex);
  return error == std::errc() && takeSpace(text, end);
}

} // namespace dlc::runtime
