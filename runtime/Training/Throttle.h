// Leaves a part of the machine's time to others: rests behind each step for as long as what was
// worked since the last rest asks for.
#ifndef DLC_RUNTIME_TRAINING_THROTTLE_H
#define DLC_RUNTIME_TRAINING_THROTTLE_H

#include <algorithm>
#include <functional>

namespace dlc::runtime {

class Throttle {
public:
  /// Works at most `share` of the time, above 0 and up to 1. `now` gives seconds, `sleep` takes
  /// some.
  Throttle(double share, std::function<double()> now, std::function<void(double)> sleep)
      : share(share), now(std::move(now)), sleep(std::move(sleep)), last(this->now()) {}

  /// What was done until now was not of the run.
  void begin() { last = now(); }

  /// Seconds that are to be rested for what was worked since the last rest.
  double due() const { return (now() - last) * (1 / share - 1); }

  /// Rests so long, in pieces, until `ended` says that nobody waits for the rest any more.
  void rest(double seconds, const std::function<bool()> &ended) {
    constexpr double piece = 0.05;
    const double until = now() + seconds;
    for (double left = seconds; left > 0 && !ended(); left = until - now())
      sleep(std::min(left, piece));
    last = now();
  }

private:
  double share;
  std::function<double()> now;
  std::function<void(double)> sleep;
  double last;
};

} // namespace dlc::runtime

#endif
