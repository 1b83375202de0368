// The watches of a job of many ranks: how long they take to find each other, and what rank 0's
// costs it then.
//
// Rank 0 is this process. All others are threads of two more, which connect at once when they are
// told to, those of a machine by its local means, machines by the loop of this one. What MPI takes
// to tell them where is not in it. Each rank has three files, so the limit of a process must be
// above three and a half times half of the ranks (ulimit -Hn).
//
// usage: bench-watch [--ranks N] [--per-node N] [--most N] [--seconds S] [--json]
#include "runtime/Collectives/Watch.h"
#include "runtime/Collectives/WatchAddress.h"
#include "runtime/Collectives/WatchTree.h"
#include "runtime/Core/Support.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace dlc::runtime;
using Clock = std::chrono::steady_clock;

namespace {

struct Options {
  unsigned ranks = 4096, perNode = 64;
  /// Whom one rank watches at most: so many or more make it flat.
  unsigned most = mostWatched;
  double seconds = 10;
  bool json = false;
};

bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--json") {
      options.json = true;
      continue;
    }
    const char *value = ++i < argc ? argv[i] : "";
    if (flag == "--ranks")
      options.ranks = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    else if (flag == "--per-node")
      options.perNode = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    else if (flag == "--most")
      options.most = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    else if (flag == "--seconds")
      options.seconds = std::strtod(value, nullptr);
    else
      return false;
  }
  return options.ranks > 1 && options.perNode > 0 && options.most > 0 && options.seconds > 0;
}

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Texts between processes.
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe(ends) != 0)
      std::abort();
  }
  void say(std::string_view text) const { (void)!write(ends[1], text.data(), text.size()); }
  std::string hear() const {
    char text[4096];
    const ssize_t size = read(ends[0], text, sizeof(text));
    return {text, static_cast<size_t>(std::max<ssize_t>(size, 0))};
  }
};

WatchOptions optionsOf(const Options &options, const std::vector<unsigned> &watchers,
                       unsigned rank) {
  return {.rank = rank,
          .ranks = options.ranks,
          .onFailure =
              [rank](const Status &status) {
                std::fprintf(stderr, "rank %u: %s\n", rank, std::string(status.message()).c_str());
              },
          .above = watchers[rank],
          .patience = 300};
}

/// The ranks from `first` on, below `end`. Fails where one cannot connect.
Status beRanks(const Options &options, const std::vector<unsigned> &watchers, unsigned first,
               unsigned end, const std::string &root,
               std::vector<std::unique_ptr<Watch>> &watches) {
  std::vector<bool> watch(options.ranks);
  for (unsigned rank = first; rank < end; ++rank)
    watch[watchers[rank]] = true;
  watches.resize(end);
  for (unsigned rank = first; rank < end; ++rank)
    if (watch[rank]) {
      DLC_TRY_ASSIGN(listening, Watch::listen(optionsOf(options, watchers, rank)));
      watches[rank] = std::move(listening);
    }
  std::vector<std::thread> threads;
  std::vector<Status> joined(end);
  for (unsigned rank = first; rank < end; ++rank)
    threads.emplace_back([&, rank] {
      const unsigned above = watchers[rank];
      WatchAddress address = *WatchAddress::parse(above == 0 ? root : watches[above]->address());
      // Another machine's.
      address.node += above / options.perNode != rank / options.perNode;
      if (watch[rank]) {
        joined[rank] = watches[rank]->join(address.text());
      } else if (auto made = Watch::connect(optionsOf(options, watchers, rank), address.text());
                 made.ok()) {
        watches[rank] = made.take();
      } else {
        joined[rank] = made.takeStatus();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (Status &status : joined)
    if (!status.ok())
      return std::move(status);
  return {};
}

/// A process of such ranks: says that it is there, waits for rank 0's address, says that all have
/// connected, and waits for the end.
int beOthers(const Options &options, const std::vector<unsigned> &watchers, unsigned first,
             unsigned end, const Pipe &down, const Pipe &up) {
  close(down.ends[1]);
  const std::string root = down.hear();
  std::vector<std::unique_ptr<Watch>> watches;
  const Status status = beRanks(options, watchers, first, end, root, watches);
  up.say(status.ok() ? "here" : status.message());
  down.hear();
  for (auto &watch : watches)
    if (watch)
      watch->leave();
  up.say("left");
  down.hear();
  _exit(0);
}

int measure(const Options &options) {
  std::vector<uint64_t> nodes(options.ranks);
  for (unsigned rank = 0; rank < options.ranks; ++rank)
    nodes[rank] = rank / options.perNode;
  const std::vector<unsigned> watchers = watchersOf(nodes, options.most);
  unsigned middle = options.ranks / 2;
  while (middle > 1 && watchers[middle] != 0)
    --middle;
  for (unsigned rank = middle; rank < options.ranks; ++rank)
    if (watchers[rank] != 0 && watchers[rank] < middle) {
      std::fprintf(stderr, "error: no two processes can share these ranks\n");
      return 2;
    }
  const Pipe down[2], up[2];
  for (int i : {0, 1})
    if (fork() == 0) {
      close(down[1 - i].ends[1]);
      return beOthers(options, watchers, i == 0 ? 1 : middle, i == 0 ? middle : options.ranks,
                      down[i], up[i]);
    }
  auto listening = Watch::listen(optionsOf(options, watchers, 0));
  if (!listening.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(listening.status().message()).c_str());
    return 1;
  }
  Watch &watch = **listening;
  const Clock::time_point begun = Clock::now();
  for (const Pipe &pipe : down)
    pipe.say(watch.address());
  std::string heard;
  for (const Pipe &pipe : up)
    if (heard = pipe.hear(); heard != "here") {
      std::fprintf(stderr, "error: %s\n", heard.c_str());
      return 1;
    }
  const double startSeconds = secondsSince(begun), startProcessor = watch.processorSeconds();
  const WatchCounts start = watch.counts();
  // What the start has put off.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const Clock::time_point rest = Clock::now();
  const double processor = watch.processorSeconds();
  const WatchCounts before = watch.counts();
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  const double seconds = secondsSince(rest);
  const WatchCounts after = watch.counts();
  const double share = (watch.processorSeconds() - processor) / seconds;
  for (const Pipe &pipe : down)
    pipe.say("leave");
  for (const Pipe &pipe : up)
    pipe.hear();
  watch.leave();
  for (const Pipe &pipe : down)
    close(pipe.ends[1]);
  while (wait(nullptr) > 0)
    ;
  const auto perSecond = [&](uint64_t WatchCounts::*count) {
    return static_cast<double>(after.*count - before.*count) / seconds;
  };
  std::printf(
      options.json
          ? "{\"ranks\":%u,\"per_node\":%u,\"watched\":%llu,\"refused\":%llu,"
            "\"start_seconds\":%.3f,\"start_processor_seconds\":%.4f,\"start_received\":%llu,"
            "\"start_sent\":%llu,\"core_share\":%.5f,\"received_per_second\":%.0f,"
            "\"sent_per_second\":%.0f,\"wake_ups_per_second\":%.1f}\n"
          : "%u ranks, %u on a machine: rank 0 watches %llu of them (%llu refused), after %.3f s, "
            "%.4f s of a processor, %llu messages heard and %llu sent; then it takes %.5f of a "
            "core, hears %.0f messages a second, sends %.0f, and wakes up %.1f times\n",
      options.ranks, options.perNode, static_cast<unsigned long long>(after.watched),
      static_cast<unsigned long long>(start.refused), startSeconds, startProcessor,
      static_cast<unsigned long long>(start.received), static_cast<unsigned long long>(start.sent),
      share, perSecond(&WatchCounts::received), perSecond(&WatchCounts::sent),
      perSecond(&WatchCounts::wakeUps));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: bench-watch [--ranks N] [--per-node N] [--most N] [--seconds S] "
                         "[--json]\n");
    return 2;
  }
  return measure(options);
}
