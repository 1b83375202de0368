// Times what a program pays for a Run beside the entry that it runs: from opening a module to the
// end of its first step, and step() from C++ and from C beside the same entry in a Context, in
// turns. Zeros are what it trains on.
//
// usage: bench-embed MODULE.so [STEPS [ROUNDS]]     a line of JSON
#include "dlc/c.h"
#include "dlc/context.h"
#include "dlc/run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

using namespace dlc::runtime;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Batch {
  std::vector<std::vector<double>> blocks;
  std::vector<Array> arrays;
  /// Doubles, so that all types are aligned; zeros are classes and numbers alike.
  explicit Batch(const EntryInfo &entry) {
    for (const ValueInfo &input : entry.inputs) {
      blocks.emplace_back(input.type.logicalBytes() / sizeof(double) + 1);
      arrays.push_back(
          {std::string(input.name), input.type.dtype, input.type.shape, blocks.back().data()});
    }
  }
};

using CRun = std::unique_ptr<dlc_run, dlc_status (*)(dlc_run *)>;

CRun openInC(const char *path) {
  dlc_options options = {};
  options.size = sizeof(options);
  options.module = path;
  options.batches_per_epoch = 1'000'000;
  dlc_run *run = nullptr;
  dlc_run_open(&options, &run);
  return {run, dlc_run_free};
}

std::vector<dlc_array> inC(const std::vector<Array> &arrays) {
  std::vector<dlc_array> all;
  for (const Array &array : arrays) {
    dlc_array &own = all.emplace_back();
    own.name = array.name.c_str();
    own.dtype = array.dtype;
    own.rank = static_cast<uint32_t>(array.shape.size());
    std::ranges::copy(array.shape, own.shape);
    own.data = array.data;
  }
  return all;
}

Status measure(const char *path, int steps, int rounds) {
  const double begin = now();
  auto opened = Run::open({.module = path, .batches = {.perEpoch = 1'000'000}});
  if (!opened.ok())
    return opened.takeStatus();
  Run &run = **opened;
  const Plan &plan = run.module()->plan();
  const EntryInfo &entry = plan.entries[plan.steps[0].entry];
  const Batch batch(entry);
  if (auto first = run.step(batch.arrays); !first.ok())
    return first.takeStatus();
  const double firstStep = now() - begin;

  auto state = run.state()->clone();
  if (!state.ok())
    return state.takeStatus();
  auto context = Context::create(*state, entry.name);
  if (!context.ok())
    return context.takeStatus();
  (*context)->setEpoch(1'000'000);
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    if (Status bound = (*context)->bind(i, {static_cast<const std::byte *>(batch.arrays[i].data),
                                            entry.inputs[i].type.logicalBytes()});
        !bound.ok())
      return bound;
  const CRun runOfC = openInC(path);
  const std::vector<dlc_array> arrays = inC(batch.arrays);
  auto step = [&](int which) {
    switch (which) {
    case 0:
      return run.step(batch.arrays).takeStatus();
    case 1:
      return (*context)->run();
    default:
      return dlc_run_step(runOfC.get(), arrays.data(), arrays.size()) == DLC_OK
                 ? Status()
                 : Status(StatusCode::Failed, dlc_message());
    }
  };
  std::vector<double> ofRun, ofContext, beyond, beyondInC;
  for (int round = 0; round < rounds; ++round) {
    constexpr int turns = 3;
    double seconds[turns];
    for (int turn = 0; turn < turns; ++turn) {
      const int which = (turn + round) % turns;
      const double start = now();
      for (int i = 0; i < steps; ++i)
        if (Status ran = step(which); !ran.ok())
          return ran;
      seconds[which] = (now() - start) / steps;
    }
    ofRun.push_back(seconds[0] * 1e6);
    ofContext.push_back(seconds[1] * 1e6);
    beyond.push_back((seconds[0] - seconds[1]) * 1e6);
    beyondInC.push_back((seconds[2] - seconds[1]) * 1e6);
  }
  std::printf(
      "{\"model\": \"%s\", \"first_step_ms\": %.3f, \"step_us\": %.3f, \"context_us\": %.3f, "
      "\"beyond_us\": %.3f, \"c_beyond_us\": %.3f, \"steps\": %d, \"rounds\": %d}\n",
      std::string(plan.model).c_str(), firstStep * 1e3, median(ofRun), median(ofContext),
      median(beyond), median(beyondInC), steps, rounds);
  return {};
}

int number(const char *text, int otherwise) {
  const int value = text ? std::atoi(text) : 0;
  return value > 0 ? value : otherwise;
}

} // namespace

int main(int count, char **arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: bench-embed MODULE.so [STEPS [ROUNDS]]\n");
    return 2;
  }
  const Status status = measure(arguments[1], number(count > 2 ? arguments[2] : nullptr, 100),
                                number(count > 3 ? arguments[3] : nullptr, 7));
  if (!status.ok())
    std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return !status.ok();
}
