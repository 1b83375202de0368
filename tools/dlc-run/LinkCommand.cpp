// dlc-run link: how long the ranks take to add up how many bytes.
#include "runtime/Collectives/Transport.h"
#include "runtime/Core/Support.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace dlc::runtime::tool {
namespace {

struct Measured {
  uint64_t bytes;
  double seconds;
};

/// The median of several sums of `bytes` bytes of floats, as the slowest rank saw each.
Result<double> timeSum(Transport &ranks, uint64_t bytes) {
  using Clock = std::chrono::steady_clock;
  constexpr int warmUps = 2, runs = 9;
  std::vector<float> buffer(bytes / sizeof(float), 1);
  std::vector<double> times;
  for (int i = 0; i < warmUps + runs; ++i) {
    double here = 1;
    DLC_TRY(ranks.sum(std::span(&here, 1)));
    const Clock::time_point start = Clock::now();
    DLC_TRY(ranks.run({Collective::Kind::Sum, DLC_CHANNEL_BUCKETS, DLC_F32,
                       std::as_writable_bytes(std::span(buffer))}));
    std::vector<double> all(ranks.ranks(), 0);
    all[ranks.rank()] = std::chrono::duration<double>(Clock::now() - start).count();
    DLC_TRY(ranks.sum(all));
    if (i >= warmUps)
      times.push_back(*std::ranges::max_element(all));
  }
  std::ranges::nth_element(times, times.begin() + runs / 2);
  return times[runs / 2];
}

struct Line {
  double alpha, beta;
};

/// seconds = alpha + beta * bytes with the least squares of relative errors: small sums count as
/// much as large ones.
Line fit(const std::vector<Measured> &points) {
  double ss = 0, sb = 0, bb = 0, s = 0, b = 0;
  for (const Measured &point : points) {
    const double one = 1 / point.seconds, bytes = static_cast<double>(point.bytes) / point.seconds;
    ss += one * one;
    sb += one * bytes;
    bb += bytes * bytes;
    s += one;
    b += bytes;
  }
  const double determinant = ss * bb - sb * sb;
  const double beta = std::max(0.0, (ss * b - sb * s) / determinant);
  return {std::max(0.0, (s - beta * sb) / ss), beta};
}

} // namespace

Status link(const LinkFlags &flags) {
  DLC_TRY_ASSIGN(ranks, openTransport());
  if (ranks->ranks() == 1)
    return invalid("link: one rank has no link; dlc-run launch -n 2 -- link measures one");
  std::vector<Measured> points;
  constexpr uint64_t first = 1 << 10, last = 16 << 20;
  for (uint64_t bytes = first; bytes <= last; bytes *= 4) {
    DLC_TRY_ASSIGN(seconds, timeSum(*ranks, bytes));
    points.push_back({bytes, seconds});
  }
  DLC_TRY(ranks->leave());
  if (ranks->rank() != 0)
    return {};
  const Line line = fit(points);
  const std::string forCompiler = printf("%.3g,%.3g", line.alpha, line.beta);
  if (flags.json) {
    Json sums = Json::array();
    for (const Measured &point : points)
      sums.push_back({{"bytes", point.bytes}, {"seconds", point.seconds}});
    printJson({{"ranks", ranks->ranks()},
               {"transport", ranks->name()},
               {"sums", sums},
               {"alpha", line.alpha},
               {"beta", line.beta}});
    return {};
  }
  Table table({"bytes", "time", "MB/s"});
  for (const Measured &point : points)
    table.add({bytesText(static_cast<double>(point.bytes)), printf("%.3f ms", point.seconds * 1e3),
               printf("%.1f", static_cast<double>(point.bytes) / point.seconds * 1e-6)});
  table.print();
  std::printf("a sum over %u ranks takes %.3g s + %.3g s for each byte: dlc --link=%s\n",
              ranks->ranks(), line.alpha, line.beta, forCompiler.c_str());
  return {};
}

} // namespace dlc::runtime::tool
