// Curves of abi.h's dlc_schedule_kind.
#include "runtime/Exec/Schedule.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dlc::runtime {

/// Half a cosine from `from` to `to` while x goes from 0 to 1.
static double halfCosine(double from, double to, double x) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * x)) / 2;
}

/// How far t is into its cycle, where the cycles are n, n * growth, n * growth^2, ... long.
static double cyclePosition(double t, double n, double growth) {
  if (growth == 1)
    return std::fmod(t, n) / n;
  // Cycle i starts at n * (growth^i - 1) / (growth - 1).
  const double i = std::floor(std::log1p(t / n * (growth - 1)) / std::log(growth) + 1e-9);
  const double length = n * std::pow(growth, i);
  const double start = (length - n) / (growth - 1);
  return std::clamp((t - start) / length, 0.0, 1.0);
}

static double oneCycle(const SchedulePart &part, double t, double n) {
  const double top = part.a * n - 1, end = n - 1;
  if (t < top)
    return halfCosine(part.b, 1, t / top);
  return end > top ? halfCosine(1, part.c, std::min(1.0, (t - top) / (end - top))) : part.c;
}

static double factorAt(const SchedulePart &part, double t, double n) {
  const double x = std::min(t / n, 1.0);
  switch (part.kind) {
  case DLC_SCHEDULE_STEP:
    // A product of n and a whole number may lie a rounding below itself.
    return std::pow(part.a, std::floor(t / n + 1e-9));
  case DLC_SCHEDULE_EXPONENTIAL:
    return std::pow(part.a, t / n);
  case DLC_SCHEDULE_POLYNOMIAL:
    return part.b + (1 - part.b) * std::pow(1 - x, part.a);
  case DLC_SCHEDULE_COSINE:
    return halfCosine(1, part.a, x);
  case DLC_SCHEDULE_COSINE_RESTARTS:
    return halfCosine(1, part.a, cyclePosition(t, n, part.b));
  case DLC_SCHEDULE_ONE_CYCLE:
    return oneCycle(part, t, n);
  case DLC_SCHEDULE_CYCLIC: {
    const double way = std::fmod(t, 2 * n) / n;
    return part.a + (1 - part.a) * (way <= 1 ? way : 2 - way);
  }
  case DLC_SCHEDULE_WARMUP:
    return part.a + (1 - part.a) * x;
  case DLC_SCHEDULE_PLATEAU:
    return 1;
  case DLC_SCHEDULE_CONSTANT:
    break;
  }
  return part.a;
}

/// The part that holds, and in `t` the updates since it began. Where one that counts epochs follows
/// one that counted more updates than the epochs so far would have taken, it has just begun.
static const SchedulePart *findPart(std::span<const SchedulePart> parts, const ScheduleTime &time,
                                    double &t) {
  double start = 0;
  bool byEpochs = false;
  for (const SchedulePart &part : parts) {
    byEpochs |= part.inEpochs;
    t = std::max(0.0, static_cast<double>(byEpochs ? time.ofEpochs : time.updates) - start);
    // A part that ends within an update gives it to its successor.
    const double unit = part.inEpochs ? time.epochUpdates : 1;
    const double length = std::floor(part.length * unit);
    if (&part == &parts.back() || t < length)
      return &part;
    start += length;
  }
  return nullptr;
}

const SchedulePart *schedulePart(std::span<const SchedulePart> parts, const ScheduleTime &time) {
  double t = 0;
  return findPart(parts, time, t);
}

double scheduleFactor(std::span<const SchedulePart> parts, const ScheduleTime &time) {
  double t = 0;
  const SchedulePart *part = findPart(parts, time, t);
  if (!part)
    return 1;
  return factorAt(*part, t, part->n * (part->inEpochs ? time.epochUpdates : 1));
}

double ranksFactor(std::span<const SchedulePart> parts, unsigned ranks, const ScheduleTime &time) {
  constexpr double epochs = 5;
  const double all = ranks;
  if (!parts.empty() && parts.front().kind == DLC_SCHEDULE_WARMUP)
    return all;
  const double begun = static_cast<double>(time.ofEpochs) / (epochs * time.epochUpdates);
  return 1 + (all - 1) * std::min(1.0, begun);
}

bool ratesFollowBatch(const Plan &plan) {
  return std::ranges::any_of(
      plan.settings, [](const SettingInfo &setting) { return setting.name == "reference_batch"; });
}

Status applyFactor(Context &context, double factor) {
  for (const ScalarInfo &scalar : context.state()->module()->plan().scalars)
    if (scalar.scheduled)
      DLC_TRY(context.setScalar(scalar, scalar.value * factor));
  return {};
}

void Plateau::observe(const SchedulePart &part, double value) {
  constexpr double threshold = 1e-4;
  const bool isBetter =
      !hasBest || (part.c == 1 ? value > best * (1 + threshold) : value < best * (1 - threshold));
  if (isBetter) {
    hasBest = true;
    best = value;
    worse = 0;
  } else if (static_cast<double>(++worse) > part.b) {
    level *= part.a;
    worse = 0;
  }
}

std::string Plateau::save() const {
  return concat(hasBest ? 1 : 0, " ", worse, " ", exactText(best), " ", exactText(level));
}

Status Plateau::restore(std::string_view text) {
  Plateau restored;
  int seen = 0;
  std::string_view rest = text;
  if (!takeNumber(rest, seen) || !takeNumber(rest, restored.worse) ||
      !takeNumber(rest, restored.best) || !takeNumber(rest, restored.level) || !rest.empty())
    return damaged("the state of a plateau is four numbers, found '", excerpt(text), "'");
  restored.hasBest = seen != 0;
  *this = restored;
  return {};
}

} // namespace dlc::runtime
