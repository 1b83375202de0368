// dlc-run link: how long the ranks take to add up how many bytes.
#include "runtime/Collectives/Transport.h"
#include "runtime/Core/Support.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/LinkFit.h"
#include "tools/dlc-run/Median.h"
#include "tools/dlc-run/Output.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace dlc::runtime::tool {
namespace {

/// The medians of several sums of `bytes` bytes of floats, as the slowest rank saw each, and of
/// what they took of this rank's processor.
Result<MeasuredSum> timeSum(Transport &ranks, uint64_t bytes) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t warmUps = 2, runs = 9, least = 3;
  constexpr double enough = 1;
  std::vector<float> buffer(bytes / sizeof(float), 1);
  std::vector<double> times, processor;
  double spent = 0;
  // All ranks know the same times, so they end together.
  for (size_t i = 0; times.size() < runs && (times.size() < least || spent < enough); ++i) {
    double here = 1;
    DLC_TRY(ranks.sum(std::span(&here, 1)));
    const double before = ranks.processorSeconds();
    const Clock::time_point start = Clock::now();
    DLC_TRY(ranks.run({Collective::Kind::Sum, DLC_CHANNEL_BUCKETS, DLC_F32,
                       std::as_writable_bytes(std::span(buffer))}));
    std::vector<double> all(ranks.ranks(), 0);
    all[ranks.rank()] = std::chrono::duration<double>(Clock::now() - start).count();
    const double taken = ranks.processorSeconds() - before;
    DLC_TRY(ranks.sum(all));
    const double slowest = *std::ranges::max_element(all);
    spent += slowest;
    if (i >= warmUps) {
      times.push_back(slowest);
      processor.push_back(taken);
    }
  }
  return MeasuredSum{bytes, medianOf(std::move(times)), medianOf(std::move(processor))};
}

} // namespace

Status link(const LinkFlags &flags) {
  DLC_TRY_ASSIGN(ranks, openTransport());
  if (ranks->ranks() == 1)
    return invalid("link: one rank has no link; dlc-run launch -n 2 -- link measures one");
  std::vector<MeasuredSum> points;
  constexpr uint64_t first = 1 << 10, last = 16 << 20;
  for (uint64_t bytes = first; bytes <= last; bytes *= bytes < leastBytesForBeta ? 4 : 2) {
    DLC_TRY_ASSIGN(sum, timeSum(*ranks, bytes));
    points.push_back(sum);
  }
  DLC_TRY(ranks->leave());
  if (ranks->rank() != 0)
    return {};
  const LinkLine line = fitLink(points);
  const std::string forCompiler = printf("%.3g,%.3g", line.alpha, line.beta);
  if (flags.json) {
    Json sums = Json::array();
    for (const MeasuredSum &point : points)
      sums.push_back({{"bytes", point.bytes},
                      {"seconds", point.seconds},
                      {"processor_seconds", point.processor}});
    printJson({{"ranks", ranks->ranks()},
               {"transport", ranks->name()},
               {"sums", sums},
               {"alpha", line.alpha},
               {"beta", line.beta},
               {"processor", line.processor}});
    return {};
  }
  Table table({"bytes", "time", "MB/s", "processor"});
  for (const MeasuredSum &point : points)
    table.add({bytesText(static_cast<double>(point.bytes)), printf("%.3f ms", point.seconds * 1e3),
               printf("%.1f", static_cast<double>(point.bytes) / point.seconds * 1e-6),
               printf("%.3f ms", point.processor * 1e3)});
  table.print();
  std::printf("a sum over %u ranks takes %.3g s + %.3g s for each byte: dlc --link=%s\n",
              ranks->ranks(), line.alpha, line.beta, forCompiler.c_str());
  std::printf("the processor works %.3g s for each byte: dlc-run simulate --processor=%.3g\n",
              line.processor, line.processor);
  return {};
}

} // namespace dlc::runtime::tool
