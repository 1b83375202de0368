// Handlers set flags, which an observer reads.
#include "tools/dlc-run/Signals.h"

#include <csignal>

namespace dlc::runtime::tool {

static volatile std::sig_atomic_t stopAsked = 0, saveAsked = 0;

void saveOn(int signal) {
  struct sigaction action = {};
  action.sa_handler = [](int) { saveAsked = 1; };
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

void stopOn(std::initializer_list<int> signals) {
  for (int signal : signals) {
    struct sigaction before, action = {};
    action.sa_handler = [](int number) {
      stopAsked = 1;
      if (number == SIGPIPE)
        std::signal(SIGPIPE, SIG_IGN);
    };
    action.sa_flags = SA_RESTART | (signal == SIGPIPE ? 0 : int(SA_RESETHAND));
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
}

bool SignalObserver::shouldStop() { return stopAsked != 0; }

bool SignalObserver::shouldSave() {
  // A signal that comes in between asks for the same checkpoint.
  if (!saves || saveAsked == 0)
    return false;
  saveAsked = 0;
  return true;
}

} // namespace dlc::runtime::tool
