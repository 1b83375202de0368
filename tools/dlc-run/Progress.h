// Shows how a run goes: a bar that is redrawn on a terminal, a plain line now and then elsewhere.
#ifndef DLC_TOOLS_DLC_RUN_PROGRESS_H
#define DLC_TOOLS_DLC_RUN_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <string>

namespace dlc::runtime::tool {

class ProgressLine {
public:
  /// `plain`: no terminal, whatever standard output is: a starter of ranks gives them one of its
  /// own.
  explicit ProgressLine(bool plain = false);

  /// Whether there is a bar, and not only lines.
  bool isTerminal() const { return terminal; }
  /// Says that `done` of `total` parts of `title` are done, with `text` beside it and about
  /// `secondsLeft` to go. Draws only when there is something new to see.
  void update(const std::string &title, uint64_t done, uint64_t total, const std::string &text,
              double secondsLeft);
  /// Takes the bar away, for a line on standard error.
  void clear() const;
  /// Takes the bar away and writes a line that stays.
  void finish(const std::string &line);

private:
  using Clock = std::chrono::steady_clock;
  bool terminal;
  Clock::time_point lastDraw;
  /// Tenths of the total that have been written as plain lines.
  uint64_t tenths = 0;
};

} // namespace dlc::runtime::tool

#endif
