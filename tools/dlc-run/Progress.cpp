// The progress line.
#include "tools/dlc-run/Progress.h"
#include "tools/dlc-run/Output.h"

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dlc::runtime::tool {

ProgressLine::ProgressLine(bool plain, Clock::duration pause,
                           std::function<Clock::time_point()> now)
    : terminal(!plain && isatty(STDOUT_FILENO) != 0), pause(pause), now(std::move(now)) {
  if (!terminal)
    lastDraw = this->now();
}

static size_t terminalWidth() {
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void ProgressLine::update(const std::string &title, uint64_t done, uint64_t total,
                          const std::string &text, double secondsLeft) {
  const double share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  if (!terminal) {
    const auto reached = static_cast<uint64_t>(share * 10);
    if (reached <= tenths || done >= total)
      return;
    tenths = reached;
    const Clock::time_point time = now();
    if (time - lastDraw < pause)
      return;
    lastDraw = time;
    std::printf("%s  %llu/%llu  %s\n", title.c_str(), static_cast<unsigned long long>(done),
                static_cast<unsigned long long>(total), text.c_str());
    std::fflush(stdout);
    return;
  }
  constexpr auto interval = std::chrono::milliseconds(100);
  const Clock::time_point time = now();
  if (done < total && time - lastDraw < interval)
    return;
  lastDraw = time;
  // The bar gives way to the numbers where the terminal is narrow.
  constexpr size_t widest = 20, narrowest = 3;
  const std::string tail =
      printf(" %3.0f%%  ", share * 100) + text + "  " + durationText(secondsLeft) + " left";
  const size_t width = terminalWidth() - 1, taken = title.size() + tail.size() + 3;
  const size_t barWidth = std::clamp(width - std::min(width, taken), narrowest, widest);
  const auto filled = static_cast<size_t>(share * static_cast<double>(barWidth));
  std::string line =
      title + " [" + std::string(filled, '=') + std::string(barWidth - filled, ' ') + "]" + tail;
  line.resize(std::min(line.size(), width));
  std::printf("\r\x1b[K%s", line.c_str());
  std::fflush(stdout);
}

void ProgressLine::clear() const {
  std::fputs(terminal ? "\r\x1b[K" : "", stdout);
  std::fflush(stdout);
}

void ProgressLine::finish(const std::string &line) {
  tenths = 0;
  lastDraw = now();
  clear();
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

} // namespace dlc::runtime::tool
