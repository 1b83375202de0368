// Messages: one line of bounded length, whatever a file put into them.
#include "dlc/status.h"
#include "runtime/Core/Support.h"

#include <new>

namespace dlc::runtime {

/// The printable form of `text`. If it is too long its middle goes: what failed stands in front,
/// why at the end.
static std::string messageLine(std::string_view text) {
  constexpr size_t longest = 1000, front = 600, back = 390;
  std::string line = printable(text);
  if (line.size() <= longest)
    return line;
  auto isInside = [&](size_t at) { return (line[at] & 0xc0) == 0x80; };
  size_t from = front, to = line.size() - back;
  while (isInside(from))
    --from;
  while (to < line.size() && isInside(to))
    ++to;
  return line.replace(from, to - from, "...");
}

Status::Status(StatusCode code, std::string_view message)
    : reason(code), text(std::make_unique<std::string>(messageLine(message))) {}

Status Status::in(std::string_view context) && noexcept {
  if (!ok())
    try {
      text = std::make_unique<std::string>(messageLine(concat(context, ": ", message())));
    } catch (const std::bad_alloc &) {
      // The bare reason must do.
    }
  return std::move(*this);
}

} // namespace dlc::runtime
