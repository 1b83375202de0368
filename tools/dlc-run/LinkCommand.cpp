// dlc-run link: how long the ranks take to add up how many bytes, alone and beside kernels.
#include "runtime/Collectives/Transport.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"
#include "runtime/Exec/Schedule.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/LinkFit.h"
#include "tools/dlc-run/Median.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Tensors.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>

namespace dlc::runtime::tool {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A model that runs again and again on a thread of its own, as if there were no other ranks.
class Kernels {
public:
  static Result<std::unique_ptr<Kernels>> start(const LinkFlags &flags, unsigned threads,
                                                bool first) {
    DLC_TRY_ASSIGN(state, flags.createState({}, threads, first ? Log(printLine) : Log()));
    DLC_TRY_ASSIGN(entry, selectEntry(*state->module(), "", DLC_ENTRY_TRAIN));
    DLC_TRY_ASSIGN(context, Context::create(state, entry->name));
    DLC_TRY(applyFactor(*context, 1));
    DLC_TRY_ASSIGN(inputs, bindRandom(*context, flags.seed.value_or(0)));
    std::unique_ptr<Kernels> kernels(new Kernels(std::move(context), std::move(inputs)));
    kernels->thread = startThread([kernels = kernels.get()] { kernels->work(); });
    return kernels;
  }
  ~Kernels() {
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    if (thread.joinable())
      thread.join();
  }
  /// What the ranks must have alike.
  Facts facts() const {
    return {{"the module", hexadecimal(context->state()->module()->note().file_hash)}};
  }
  /// Those that have ended.
  size_t runs() const {
    std::lock_guard lock(mutex);
    return times.size();
  }
  /// Waits until so many have ended.
  Status await(size_t count) {
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return failed || times.size() >= count; });
    return failed ? Status(failed->code(), failed->message()) : Status();
  }
  /// The median of those from the given one on.
  double secondsFrom(size_t first) const {
    std::lock_guard lock(mutex);
    return medianOf(std::vector(times.begin() + static_cast<std::ptrdiff_t>(first), times.end()));
  }

private:
  Kernels(std::unique_ptr<Context> context, std::vector<HostTensor> inputs)
      : context(std::move(context)), inputs(std::move(inputs)) {}

  void work() {
    for (bool last = false; !last;) {
      const Clock::time_point start = Clock::now();
      Status status = guarded([&] { return context->run(); });
      const double seconds = secondsSince(start);
      std::lock_guard lock(mutex);
      if (status.ok())
        times.push_back(seconds);
      else
        failed = std::move(status);
      last = stopping || failed;
      ended.notify_all();
    }
  }

  const std::unique_ptr<Context> context;
  const std::vector<HostTensor> inputs;
  mutable std::mutex mutex;
  std::condition_variable ended;
  std::vector<double> times;
  std::optional<Status> failed;
  bool stopping = false;
  std::thread thread;
};

class Measuring {
public:
  /// Beside kernels a plan does not wait for its sums.
  Measuring(Transport &ranks, bool besideKernels) : ranks(ranks), besideKernels(besideKernels) {}

  /// Sums of several sizes.
  Result<std::vector<MeasuredSum>> timeSums() {
    std::vector<MeasuredSum> points;
    constexpr uint64_t first = 1 << 10, last = 16 << 20;
    for (uint64_t bytes = first; bytes <= last; bytes *= bytes < leastBytesForBeta ? 4 : 2) {
      DLC_TRY_ASSIGN(seconds, timeSum(bytes));
      points.push_back({bytes, seconds});
    }
    return points;
  }

  /// The seconds that kernels lose for each byte of sums that run beside them all the time: how
  /// much longer their runs take, against how many bytes are summed meanwhile. All ranks run
  /// kernels before that, too, as they may share a machine's memory.
  Result<double> timeLoss(Kernels &kernels) {
    constexpr size_t warmUps = 2, runs = 5;
    constexpr uint64_t bytes = 4 << 20;
    DLC_TRY(kernels.await(warmUps));
    const Clock::time_point before = Clock::now();
    for (size_t count = warmUps + runs; count == warmUps + runs || secondsSince(before) < enough;
         ++count)
      DLC_TRY(kernels.await(count));
    const double alone = kernels.secondsFrom(warmUps);
    double all = 1;
    DLC_TRY(ranks.sum(std::span(&all, 1)));
    // The run that is under way does not count.
    const size_t first = kernels.runs() + 1;
    std::vector<float> buffer(bytes / sizeof(float), 1);
    uint64_t summed = 0;
    const Clock::time_point start = Clock::now();
    for (all = 0; all < ranks.ranks();) {
      DLC_TRY(sum(buffer));
      summed += bytes;
      all = kernels.runs() >= first + runs && secondsSince(start) >= enough;
      DLC_TRY(ranks.sum(std::span(&all, 1)));
    }
    const double perByte = secondsSince(start) / static_cast<double>(summed);
    return std::max(0.0, 1 - alone / kernels.secondsFrom(first)) * perByte;
  }

private:
  /// Seconds that are measured at least, where single runs are short.
  static constexpr double enough = 0.5;

  Status sum(std::vector<float> &buffer) {
    return ranks.run({.kind = Collective::Kind::Sum,
                      .channel = DLC_CHANNEL_BUCKETS,
                      .dtype = DLC_F32,
                      .buffer = std::as_writable_bytes(std::span(buffer)),
                      .unhurried = besideKernels});
  }

  /// The median of several sums of `bytes` bytes of floats, as the slowest rank saw each.
  Result<double> timeSum(uint64_t bytes) {
    constexpr size_t warmUps = 2, runs = 9, least = 3;
    constexpr double most = 1;
    std::vector<float> buffer(bytes / sizeof(float), 1);
    std::vector<double> times;
    double spent = 0;
    // All ranks know the same times, so they end together.
    for (size_t i = 0; times.size() < runs && (times.size() < least || spent < most); ++i) {
      double here = 1;
      DLC_TRY(ranks.sum(std::span(&here, 1)));
      const Clock::time_point start = Clock::now();
      DLC_TRY(sum(buffer));
      std::vector<double> all(ranks.ranks(), 0);
      all[ranks.rank()] = secondsSince(start);
      DLC_TRY(ranks.sum(all));
      const double slowest = *std::ranges::max_element(all);
      spent += slowest;
      if (i >= warmUps)
        times.push_back(slowest);
    }
    return medianOf(std::move(times));
  }

  Transport &ranks;
  const bool besideKernels;
};

/// What is measured beside kernels.
struct Beside {
  std::vector<MeasuredSum> sums;
  double lost;
};

Result<Beside> measureBeside(const LinkFlags &flags, const std::shared_ptr<Transport> &ranks) {
  DLC_TRY_ASSIGN(threads, threadsOfRank(*ranks));
  Result<std::unique_ptr<Kernels>> kernels =
      guarded([&] { return Kernels::start(flags, threads, ranks->rank() == 0); });
  DLC_TRY(beginTogether(*ranks, kernels.status(), kernels.ok() ? (*kernels)->facts() : Facts()));
  Measuring measuring(*ranks, /*besideKernels=*/true);
  DLC_TRY_ASSIGN(lost, measuring.timeLoss(**kernels));
  DLC_TRY_ASSIGN(sums, measuring.timeSums());
  return Beside{std::move(sums), lost};
}

Json describe(const std::vector<MeasuredSum> &sums) {
  Json described = Json::array();
  for (const MeasuredSum &sum : sums)
    described.push_back({{"bytes", sum.bytes}, {"seconds", sum.seconds}});
  return described;
}

Json describe(const LinkLine &line) { return {{"alpha", line.alpha}, {"beta", line.beta}}; }

std::vector<std::string> cellsOf(const MeasuredSum &sum) {
  return {printf("%.3f ms", sum.seconds * 1e3),
          printf("%.1f", static_cast<double>(sum.bytes) / sum.seconds * 1e-6)};
}

void printTable(const std::vector<MeasuredSum> &alone, const std::optional<Beside> &beside) {
  std::vector<std::string> heads = {"bytes", "time", "MB/s"};
  if (beside)
    heads.insert(heads.end(), {"beside kernels", "MB/s"});
  Table table(heads);
  for (size_t i = 0; i < alone.size(); ++i) {
    std::vector<std::string> row = {bytesText(static_cast<double>(alone[i].bytes))};
    for (const std::string &cell : cellsOf(alone[i]))
      row.push_back(cell);
    if (beside)
      for (const std::string &cell : cellsOf(beside->sums[i]))
        row.push_back(cell);
    table.add(row);
  }
  table.print();
}

} // namespace

Status link(const LinkFlags &flags) {
  DLC_TRY_ASSIGN(ranks, meetRanks("link"));
  if (ranks->ranks() == 1)
    return invalid("link: one rank has no link; dlc-run launch -n 2 -- link measures one");
  ranks->setPhase(Phase::Compute);
  DLC_TRY_ASSIGN(alone, Measuring(*ranks, /*besideKernels=*/false).timeSums());
  std::optional<Beside> beside;
  if (!flags.module.empty()) {
    DLC_TRY_ASSIGN(measured, measureBeside(flags, ranks));
    beside = std::move(measured);
  }
  DLC_TRY(ranks->leave());
  if (ranks->rank() != 0)
    return {};
  const LinkLine line = fitLink(alone);
  if (flags.json) {
    Json described = describe(line);
    described.update(
        {{"ranks", ranks->ranks()}, {"transport", ranks->name()}, {"sums", describe(alone)}});
    if (beside) {
      described["beside"] = describe(fitLink(beside->sums));
      described["beside"].update({{"lost", beside->lost}, {"sums", describe(beside->sums)}});
    }
    printJson(described);
    return {};
  }
  printTable(alone, beside);
  std::printf("a sum over %u ranks takes %.3g s + %.3g s for each byte: dlc --link=%.3g,%.3g\n",
              ranks->ranks(), line.alpha, line.beta, line.alpha, line.beta);
  if (!beside)
    return {};
  const LinkLine slower = fitLink(beside->sums);
  std::printf("beside kernels %.3g s + %.3g s, and these lose %.3g s for each byte: "
              "dlc-run simulate --beside=%.3g,%.3g,%.3g\n",
              slower.alpha, slower.beta, beside->lost, slower.alpha, slower.beta, beside->lost);
  return {};
}

} // namespace dlc::runtime::tool
