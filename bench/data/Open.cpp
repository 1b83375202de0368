// How long a data set takes to open, and the memory that the process has taken at its most then.
//
// usage: bench-open DATA      DATA as dlc-run's --data; a line of JSON
#include "dlc/data.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <sys/resource.h>

using namespace dlc::runtime;
using Clock = std::chrono::steady_clock;

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench-open DATA\n");
    return 2;
  }
  const Clock::time_point start = Clock::now();
  const auto dataset = openDataset(argv[1], Split::Train);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!dataset.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(dataset.status().message()).c_str());
    return 1;
  }
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  std::printf("{\"samples\":%llu,\"seconds\":%.4f,\"peak_mib\":%.1f}\n",
              static_cast<unsigned long long>((*dataset)->size()), seconds,
              static_cast<double>(used.ru_maxrss) / 1024);
  return 0;
}
