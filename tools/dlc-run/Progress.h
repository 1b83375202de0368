// Shows how a run goes: a bar that is redrawn on a terminal; elsewhere a plain line for each tenth
// of the way.
#ifndef DLC_TOOLS_DLC_RUN_PROGRESS_H
#define DLC_TOOLS_DLC_RUN_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace dlc::runtime::tool {

class ProgressLine {
public:
  using Clock = std::chrono::steady_clock;

  /// `plain`: no terminal, whatever standard output is: a starter of ranks gives them one of its
  /// own. Plain lines come `pause` after the one before at the soonest. `now` tells the time.
  explicit ProgressLine(bool plain = false, Clock::duration pause = {},
                        std::function<Clock::time_point()> now = Clock::now);

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
  bool terminal;
  Clock::duration pause;
  std::function<Clock::time_point()> now;
  /// When something was shown last; of plain lines, at first when the object was made.
  Clock::time_point lastDraw;
  /// Tenths of the total that have been written as plain lines.
  uint64_t tenths = 0;
};

} // namespace dlc::runtime::tool

#endif
