// --trace: what each rank did and when, as a file for Perfetto or chrome://tracing, and what of the
// communication ran beside kernels.
#ifndef DLC_TOOLS_DLC_RUN_TRACEFILE_H
#define DLC_TOOLS_DLC_RUN_TRACEFILE_H

#include "dlc/plan.h"
#include "runtime/Collectives/RankTimelines.h"
#include "tools/dlc-run/Output.h"

#include <string>
#include <vector>

namespace dlc::runtime::tool {

/// Seconds of a step of one rank, means over its steps but the first, where there are several.
struct StepFigures {
  uint64_t steps = 0;
  double step = 0;
  /// Kernels of stage backward.
  double backward = 0;
  /// In which at least one collective of the plan was under way, which all ranks had come to; of
  /// these, in which no kernel ran.
  double communication = 0, exposed = 0;
  /// In which no kernel ran and there were only collectives that some rank had not come to yet.
  double waiting = 0;
};
/// Of each rank.
std::vector<StepFigures> figuresOf(const Plan &plan, const std::vector<RankTimeline> &timelines);

/// The ranks' spans as a Chrome trace.
Status writeTrace(const std::string &path, const Plan &plan,
                  const std::vector<RankTimeline> &timelines);

/// Notes what happens from now on, and shows it at the end: a file and figures on rank 0.
class Tracer {
public:
  /// An empty `path` traces nothing.
  static Result<std::unique_ptr<Tracer>> begin(std::string path, Transport &ranks);
  /// Null if nothing is traced.
  Timeline *timeline() { return path.empty() ? nullptr : &noted; }
  /// The figures are printed, or become `summary`'s "trace".
  Status finish(const Plan &plan, Transport &ranks, Json *summary);

private:
  explicit Tracer(std::string path) : path(std::move(path)) {}

  std::string path;
  Timeline noted;
  ClockReading first = {};
};

} // namespace dlc::runtime::tool

#endif
