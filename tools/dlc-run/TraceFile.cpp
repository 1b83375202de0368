// Trace events as the Trace Event Format has them: complete events ("X") on one line each, times in
// microseconds; each rank is a process, each of its lanes a thread.
#include "tools/dlc-run/TraceFile.h"
#include "runtime/Collectives/RecordSum.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace dlc::runtime::tool {
namespace {

// --- figures ------------------------------------------------------------------------------------

using Interval = std::pair<int64_t, int64_t>;

/// Disjoint and ascending.
std::vector<Interval> unite(std::vector<Interval> intervals) {
  std::ranges::sort(intervals);
  std::vector<Interval> united;
  for (const Interval &next : intervals)
    if (!united.empty() && next.first <= united.back().second)
      united.back().second = std::max(united.back().second, next.second);
    else
      united.push_back(next);
  return united;
}

int64_t lengthOf(const std::vector<Interval> &intervals) {
  int64_t length = 0;
  for (const Interval &interval : intervals)
    length += interval.second - interval.first;
  return length;
}

/// Of two lists that are united.
int64_t overlapOf(const std::vector<Interval> &a, const std::vector<Interval> &b) {
  int64_t length = 0;
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    length +=
        std::max<int64_t>(0, std::min(a[i].second, b[k].second) - std::max(a[i].first, b[k].first));
    ++(a[i].second < b[k].second ? i : k);
  }
  return length;
}

/// One run of a collective: step, record, and which of the runs of that record in that step.
using CollectiveRun = std::tuple<uint64_t, uint32_t, uint64_t>;

class Runs {
public:
  CollectiveRun next(const Span &span) {
    return {span.step, span.number, counts[{span.step, span.number}]++};
  }

private:
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> counts;
};

/// When the last rank came to each.
using Arrivals = std::map<CollectiveRun, int64_t>;

bool isBackward(const Plan &plan, const Span &span) {
  return plan.recordNames[span.number].find("/backward") != std::string_view::npos;
}

Json describeFigures(const StepFigures &figures, unsigned rank, double transportSeconds,
                     int64_t clockError) {
  Json one = {{"rank", rank},
              {"steps", figures.steps},
              {"step_ms", figures.step * 1e3},
              {"backward_ms", figures.backward * 1e3},
              {"communication_ms", figures.communication * 1e3},
              {"exposed_ms", figures.exposed * 1e3},
              {"waiting_ms", figures.waiting * 1e3}};
  if (figures.communication > 0)
    one["overlap"] = 1 - figures.exposed / figures.communication;
  one["transport_cpu_s"] = transportSeconds;
  one["clock_error_us"] = static_cast<double>(clockError) * 1e-3;
  return one;
}

void printFigures(const Json &all) {
  Table table({"rank", "steps", "step ms", "backward ms", "communication ms", "exposed ms",
               "overlap", "waiting ms", "transport CPU s"});
  for (const Json &one : all["ranks"])
    table.add({std::to_string(one["rank"].get<unsigned>()),
               std::to_string(one["steps"].get<uint64_t>()),
               printf("%.3f", one["step_ms"].get<double>()),
               printf("%.3f", one["backward_ms"].get<double>()),
               printf("%.3f", one["communication_ms"].get<double>()),
               printf("%.3f", one["exposed_ms"].get<double>()),
               one.contains("overlap") ? printf("%.1f%%", one["overlap"].get<double>() * 100) : "",
               printf("%.3f", one["waiting_ms"].get<double>()),
               printf("%.3f", one["transport_cpu_s"].get<double>())});
  std::printf("trace of %zu %s in %s\n", all["ranks"].size(),
              all["ranks"].size() == 1 ? "rank" : "ranks", all["file"].get<std::string>().c_str());
  table.print();
}

// --- the file -----------------------------------------------------------------------------------

/// Lanes of a rank; collectives of one moment lie in lanes of their own.
enum Lane { Training = 0, Data = 1, Files = 2, Collectives = 3 };

std::string nameOf(const Plan &plan, const Span &span) {
  switch (span.kind) {
  case SpanKind::Step:
    return concat("step ", span.step);
  case SpanKind::Run:
    return std::string(plan.entries[span.number].name);
  case SpanKind::Kernel:
  case SpanKind::Collective:
    return std::string(plan.recordNames[span.number]);
  case SpanKind::Wait:
    return concat("wait for ", plan.recordNames[span.number]);
  case SpanKind::WaitForData:
    return "wait for data";
  case SpanKind::SumMetrics:
    return "sum metrics";
  case SpanKind::Evaluation:
    return "evaluation";
  case SpanKind::Checkpoint:
    return "checkpoint";
  case SpanKind::LoadData:
    return concat("load batch ", span.number);
  case SpanKind::WriteCheckpoint:
    return "write checkpoint";
  }
  return "";
}

std::string_view categoryOf(SpanKind kind) {
  switch (kind) {
  case SpanKind::Kernel:
    return "kernel";
  case SpanKind::Collective:
    return "collective";
  case SpanKind::Wait:
  case SpanKind::WaitForData:
  case SpanKind::SumMetrics:
    return "wait";
  case SpanKind::LoadData:
    return "data";
  case SpanKind::WriteCheckpoint:
    return "file";
  default:
    return "training";
  }
}

Json argumentsOf(const Plan &plan, const Span &span) {
  Json all = Json::object();
  if (span.step != 0 && span.kind != SpanKind::LoadData)
    all["step"] = span.step;
  if (span.kind != SpanKind::Kernel && span.kind != SpanKind::Collective)
    return all;
  const dlc_record &record = plan.records[span.number];
  all["record"] = span.number;
  if (record.kind == DLC_RECORD_COLLECTIVE) {
    all["channel"] = record.value;
    all["bytes"] = bytesSent(static_cast<dlc_collective>(record.index),
                             plan.arguments[record.arguments.first].bytes);
    return all;
  }
  if (record.kind == DLC_RECORD_LAUNCH)
    all["kernel"] = plan.kernels[record.index].symbol;
  if (record.flops != 0)
    all["flops"] = record.flops;
  all["bytes"] = record.bytes;
  return all;
}

/// Writes events one after the other: a trace may be longer than memory has room for as JSON.
class TraceWriter {
public:
  TraceWriter(FileWriter &file, const Plan &plan, int64_t origin)
      : file(file), plan(plan), origin(origin) {}

  Status begin() { return text("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"); }
  Status end() { return text("\n]}\n"); }

  Status rank(unsigned number, std::vector<Span> spans) {
    // The outer one of two that begin at the same time comes first.
    std::ranges::sort(spans, [](const Span &a, const Span &b) {
      return a.begin != b.begin ? a.begin < b.begin
             : a.end != b.end   ? a.end > b.end
                                : a.kind < b.kind;
    });
    DLC_TRY(name(number, {}, concat("rank ", number)));
    DLC_TRY(name(number, Training, "training"));
    DLC_TRY(name(number, Data, "data"));
    if (std::ranges::find(spans, SpanKind::WriteCheckpoint, &Span::kind) != spans.end())
      DLC_TRY(name(number, Files, "files"));
    std::vector<int64_t> laneEnds;
    for (const Span &span : spans) {
      unsigned lane = span.kind == SpanKind::LoadData          ? Data
                      : span.kind == SpanKind::WriteCheckpoint ? Files
                                                               : Training;
      if (span.kind == SpanKind::Collective) {
        const auto free =
            std::ranges::find_if(laneEnds, [&](int64_t e) { return e <= span.begin; });
        const auto which = static_cast<unsigned>(free - laneEnds.begin());
        lane = Collectives + which;
        if (free == laneEnds.end()) {
          laneEnds.push_back(0);
          DLC_TRY(name(number, lane, concat("collectives ", which + 1)));
        }
        laneEnds[which] = span.end;
      }
      DLC_TRY(event({{"name", nameOf(plan, span)},
                     {"cat", categoryOf(span.kind)},
                     {"ph", "X"},
                     {"pid", number},
                     {"tid", lane},
                     {"ts", static_cast<double>(span.begin - origin) * 1e-3},
                     {"dur", static_cast<double>(span.end - span.begin) * 1e-3},
                     {"args", argumentsOf(plan, span)}}));
    }
    return {};
  }

private:
  /// Of a process, or of one of its lanes.
  Status name(unsigned rank, std::optional<unsigned> lane, const std::string &text) {
    return event({{"name", lane ? "thread_name" : "process_name"},
                  {"ph", "M"},
                  {"pid", rank},
                  {"tid", lane.value_or(0)},
                  {"args", {{"name", text}}}});
  }
  Status event(const Json &object) {
    const std::string separator = empty ? "" : ",\n";
    empty = false;
    return text(separator + object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  Status text(std::string_view content) { return file.append(std::as_bytes(std::span(content))); }

  FileWriter &file;
  const Plan &plan;
  int64_t origin;
  bool empty = true;
};

} // namespace

Status writeTrace(const std::string &path, const Plan &plan,
                  const std::vector<RankTimeline> &timelines) {
  int64_t origin = INT64_MAX;
  for (const RankTimeline &one : timelines)
    for (const Span &span : one.spans)
      origin = std::min(origin, span.begin);
  DLC_TRY_ASSIGN(file, FileWriter::create(path));
  TraceWriter writer(file, plan, origin);
  DLC_TRY(writer.begin());
  for (unsigned rank = 0; rank < timelines.size(); ++rank)
    DLC_TRY(writer.rank(rank, timelines[rank].spans));
  DLC_TRY(writer.end());
  return file.commit();
}

static StepFigures figuresOf(const Plan &plan, const std::vector<Span> &spans,
                             const Arrivals &arrivals) {
  std::set<uint64_t> steps;
  for (const Span &span : spans)
    if (span.kind == SpanKind::Step)
      steps.insert(span.step);
  if (steps.size() > 1)
    steps.erase(steps.begin());
  StepFigures figures{.steps = steps.size()};
  std::vector<Interval> kernels, awaited, collectives;
  int64_t step = 0, backward = 0;
  Runs runs;
  for (const Span &span : spans) {
    if (!steps.contains(span.step))
      continue;
    const int64_t length = span.end - span.begin;
    if (span.kind == SpanKind::Step)
      step += length;
    if (span.kind == SpanKind::Kernel) {
      kernels.emplace_back(span.begin, span.end);
      backward += isBackward(plan, span) ? length : 0;
    }
    if (span.kind == SpanKind::Collective) {
      awaited.emplace_back(span.begin, span.end);
      collectives.emplace_back(std::min(span.end, arrivals.at(runs.next(span))), span.end);
    }
  }
  if (steps.empty())
    return figures;
  kernels = unite(std::move(kernels));
  auto exposed = [&](const std::vector<Interval> &united) {
    return lengthOf(united) - overlapOf(united, kernels);
  };
  awaited = unite(std::move(awaited));
  collectives = unite(std::move(collectives));
  auto perStep = [&](int64_t nanoseconds) {
    return static_cast<double>(nanoseconds) * 1e-9 / static_cast<double>(steps.size());
  };
  figures.step = perStep(step);
  figures.backward = perStep(backward);
  figures.communication = perStep(lengthOf(collectives));
  figures.exposed = perStep(exposed(collectives));
  figures.waiting = perStep(exposed(awaited) - exposed(collectives));
  return figures;
}

std::vector<StepFigures> figuresOf(const Plan &plan, const std::vector<RankTimeline> &timelines) {
  Arrivals arrivals;
  for (const RankTimeline &timeline : timelines) {
    Runs runs;
    for (const Span &span : timeline.spans)
      if (span.kind == SpanKind::Collective) {
        int64_t &latest = arrivals.try_emplace(runs.next(span), span.begin).first->second;
        latest = std::max(latest, span.begin);
      }
  }
  std::vector<StepFigures> figures;
  for (const RankTimeline &timeline : timelines)
    figures.push_back(figuresOf(plan, timeline.spans, arrivals));
  return figures;
}

Result<std::unique_ptr<Tracer>> Tracer::begin(std::string path, Transport &ranks) {
  std::unique_ptr<Tracer> tracer(new Tracer(std::move(path)));
  if (!tracer->timeline())
    return tracer;
  DLC_TRY_ASSIGN(first, compareClocks(ranks));
  tracer->first = first;
  return tracer;
}

Status Tracer::finish(const Plan &plan, Transport &ranks, Json *summary) {
  if (path.empty())
    return {};
  DLC_TRY_ASSIGN(timelines, gatherTimelines(ranks, noted, first));
  if (ranks.rank() != 0)
    return {};
  const PhaseScope writing(ranks, Phase::Write);
  DLC_TRY(writeTrace(path, plan, timelines));
  Json all = {{"file", path}, {"ranks", Json::array()}};
  const std::vector<StepFigures> figures = figuresOf(plan, timelines);
  for (unsigned rank = 0; rank < timelines.size(); ++rank)
    all["ranks"].push_back(describeFigures(figures[rank], rank, timelines[rank].transportSeconds,
                                           timelines[rank].error));
  if (summary)
    (*summary)["trace"] = std::move(all);
  else
    printFigures(all);
  return {};
}

} // namespace dlc::runtime::tool
