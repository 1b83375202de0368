// Small helpers of the runtime's own code: passing a failure on, building its message, and turning
// what the C++ library throws into one.
#ifndef DLC_RUNTIME_CORE_SUPPORT_H
#define DLC_RUNTIME_CORE_SUPPORT_H

#include "dlc/status.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

/// Returns the Status of `expression` from the surrounding function unless it is ok.
#define DLC_TRY(expression)                                                                        \
  do {                                                                                             \
    if (::dlc::runtime::Status dlcStatus = (expression); !dlcStatus.ok())                          \
      return dlcStatus;                                                                            \
  } while (false)

/// As DLC_TRY; a failure is preceded by the text that the other arguments make, which is not made
/// otherwise.
#define DLC_TRY_IN(expression, ...)                                                                \
  do {                                                                                             \
    if (::dlc::runtime::Status dlcStatus = (expression); !dlcStatus.ok())                          \
      return std::move(dlcStatus).in(::dlc::runtime::concat(__VA_ARGS__));                         \
  } while (false)

/// Declares `name` with the value of the Result `expression`, or returns its Status.
#define DLC_TRY_ASSIGN(name, expression)                                                           \
  auto name##OrFailure = (expression);                                                             \
  if (!name##OrFailure.ok())                                                                       \
    return name##OrFailure.takeStatus();                                                           \
  auto name = name##OrFailure.take()

namespace dlc::runtime {

/// A part of a text: a text or a number of the expression that it stands in. What takes these takes
/// anything, and is compiled once.
class TextPart {
public:
  template <typename Part> TextPart(const Part &part) {
    if constexpr (std::is_convertible_v<const Part &, std::string_view>)
      setText(part);
    else if constexpr (std::is_same_v<Part, char>)
      setText({&part, 1});
    else if constexpr (std::is_same_v<Part, bool>)
      setText(part ? "1" : "0");
    else if constexpr (std::is_floating_point_v<Part>)
      real = part, size = isReal;
    else if constexpr (std::is_enum_v<Part>)
      *this = TextPart(static_cast<std::underlying_type_t<Part>>(part));
    else
      whole = part, size = std::is_signed_v<Part> ? isSigned : isUnsigned;
  }

private:
  friend void append(std::string &text, const TextPart &part);
  /// Sizes that no text has.
  static constexpr size_t isReal = SIZE_MAX, isSigned = SIZE_MAX - 1, isUnsigned = SIZE_MAX - 2;
  void setText(std::string_view part) { text = part.data(), size = part.size(); }

  union {
    const char *text;
    uint64_t whole;
    double real;
  };
  size_t size;
};

/// Adds a text or a number to a text: whole numbers in full, others to six digits. Machines read
/// some of these texts, so no locale of the program has a part in them, as it has in a stream.
void append(std::string &text, const TextPart &part);
std::string concatParts(std::initializer_list<TextPart> parts);
Status failureOf(StatusCode code, std::initializer_list<TextPart> parts);

/// The parts as one text.
template <typename... Parts>
[[gnu::always_inline]] inline std::string concat(const Parts &...parts) {
  return concatParts({TextPart(parts)...});
}

template <typename... Parts>
[[gnu::always_inline]] inline Status failure(StatusCode code, const Parts &...parts) {
  return failureOf(code, {TextPart(parts)...});
}
template <typename... Parts> [[gnu::always_inline]] inline Status damaged(const Parts &...parts) {
  return failure(StatusCode::Damaged, parts...);
}
template <typename... Parts>
[[gnu::always_inline]] inline Status unsupported(const Parts &...parts) {
  return failure(StatusCode::Unsupported, parts...);
}
template <typename... Parts> [[gnu::always_inline]] inline Status invalid(const Parts &...parts) {
  return failure(StatusCode::InvalidArgument, parts...);
}

/// What errno says of a file.
Status ioFailure(std::string_view path, std::string_view what);

/// Adds to a list of a message: "a, b, c".
void addItem(std::string &list, std::string_view item);

/// The exception being handled as a Status: memory or a thread that cannot be had.
Status thrownStatus() noexcept;

/// What `body` returns, a Status or a Result; what it throws becomes one. Every function of the API
/// that may allocate has its body in one, so that behind this border the C++ library may throw.
template <typename Body> std::invoke_result_t<Body> guarded(Body &&body) noexcept {
  try {
    return body();
  } catch (...) {
    return thrownStatus();
  }
}

/// Makes room for `bytes` bytes in all. For numbers that a file decides: says how much there is
/// not.
template <typename Container> Status reserveRoom(Container &container, uint64_t bytes) {
  static_assert(sizeof(typename Container::value_type) == 1);
  Status status = guarded([&] {
    container.reserve(bytes);
    return Status();
  });
  if (status.ok())
    return status;
  return failure(StatusCode::OutOfMemory, "no memory for ", bytes, " bytes");
}

/// A piece of text that came from a file, fit for a message: printable, at most 100 characters.
std::string excerpt(std::string_view text);

/// Takes a line, without its end, from the front of a text.
inline std::string_view takeLine(std::string_view &text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

/// True if [offset, offset + size) lies in [0, limit); no overflow.
inline bool fits(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

/// The first multiple of `alignment`, a power of two, that is not below `value`.
inline uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

/// Whether `text` is well-formed UTF-8 without control characters: what a name may be.
bool isPrintableUtf8(std::string_view text);

/// `text` as a terminal may see it: each byte of a control character, and of what is no UTF-8, as
/// \xNN. What is printable stays as it is.
std::string printable(std::string_view text);

/// Drops what lies before `end` and one space from the front of `text`; false if something else
/// follows.
bool takeSpace(std::string_view &text, const char *end);

/// For messages: a number without the sign that a NaN may have.
std::string numberText(double number);

/// The shortest decimal that is read as the same number.
std::string decimalText(double number);

/// A number in hexadecimal, so that reading it back gives its bits.
std::string exactText(double number);

/// Takes a number (a floating one as exactText writes it) and one space from the front of `text`.
bool takeNumber(std::string_view &text, double &number);
template <typename Integer> bool takeNumber(std::string_view &text, Integer &number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && takeSpace(text, end);
}

} // namespace dlc::runtime

#endif
