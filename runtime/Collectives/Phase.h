// What a rank is at, where others may have to wait for it.
#ifndef DLC_RUNTIME_COLLECTIVES_PHASE_H
#define DLC_RUNTIME_COLLECTIVES_PHASE_H

#include <cstdint>
#include <string_view>

namespace dlc::runtime {

/// Anything but Compute is known work, which is given more time (Standings::patienceWith).
enum class Phase : uint32_t { Compute, Start, Load, Evaluate, Write, Rest, Program };

constexpr std::string_view phaseText(Phase phase) {
  switch (phase) {
  case Phase::Compute:
    return "computing";
  case Phase::Start:
    return "starting";
  case Phase::Load:
    return "loading";
  case Phase::Evaluate:
    return "evaluating";
  case Phase::Write:
    return "writing a file";
  case Phase::Rest:
    return "resting";
  case Phase::Program:
    return "in code of the program's own";
  }
  return "at something that this rank does not know";
}

} // namespace dlc::runtime

#endif
