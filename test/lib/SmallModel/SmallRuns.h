// Runs for tests: trained to their end, and among ranks of this process.
#ifndef DLC_TEST_LIB_SMALLMODEL_SMALLRUNS_H
#define DLC_TEST_LIB_SMALLMODEL_SMALLRUNS_H

#include "dlc/run.h"
#include "runtime/Collectives/VirtualRanks.h"

#include <functional>
#include <thread>

namespace dlc::test {

/// What went wrong; empty if it was trained.
inline std::string trained(runtime::RunOptions options,
                           std::initializer_list<runtime::TrainObserver *> observers = {}) {
  runtime::Result<std::unique_ptr<runtime::Run>> run = runtime::Run::open(std::move(options));
  const runtime::Status status = run.ok() ? (*run)->train(observers) : run.takeStatus();
  return std::string(status.message());
}

/// Runs body(ranks) on `count` ranks, each on a thread.
inline void among(unsigned count,
                  const std::function<void(const std::shared_ptr<runtime::Ranks> &)> &body) {
  std::vector<std::thread> threads;
  for (auto &transport : runtime::makeVirtualRanks(runtime::selfTransport(), count))
    threads.emplace_back([transport, &body] { body(std::make_shared<runtime::Ranks>(transport)); });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace dlc::test

#endif
