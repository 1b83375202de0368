//===- Jobs.cpp - see Jobs.h ------------------------------------------------------------------===//
#include "codegen/Compile/Jobs.h"
#include "codegen/Compile/KernelCache.h"
#include "codegen/Compile/Threads.h"
#include <atomic>
#include <chrono>

using namespace dlc;
using namespace dlc::codegen;
using llvm::ArrayRef;
using llvm::StringRef;

std::string codegen::packParts(ArrayRef<std::string> parts) {
  std::string sizes, bytes;
  for (const std::string &part : parts) {
    sizes += (sizes.empty() ? "" : " ") + std::to_string(part.size());
    bytes += part;
  }
  return sizes + '\n' + bytes;
}

std::vector<std::string> codegen::unpackParts(StringRef packed) {
  auto [sizes, bytes] = packed.split('\n');
  std::vector<std::string> parts;
  for (StringRef size : llvm::split(sizes, ' ')) {
    size_t count = 0;
    if (size.getAsInteger(10, count) || count > bytes.size())
      return {};
    parts.push_back(bytes.take_front(count).str());
    bytes = bytes.drop_front(count);
  }
  return bytes.empty() ? parts : std::vector<std::string>();
}

namespace {
class Jobs {
public:
  Jobs(ArrayRef<Job> jobs, const CompileOptions &options)
      : jobs(jobs), options(options), cache(options.cacheFolder), results(jobs.size()),
        errors(jobs.size()) {}
  llvm::Expected<std::vector<JobResult>>
  run(const std::function<llvm::Expected<RunJob>()> &createRun);

private:
  void lookUp();
  void work(const std::function<llvm::Expected<RunJob>()> &createRun);
  bool isTrimDue() const;

  ArrayRef<Job> jobs;
  const CompileOptions &options;
  KernelCache cache;
  std::vector<JobResult> results;
  std::vector<std::string> errors; ///< one a job, empty if it went well
  std::vector<size_t> missing;     ///< jobs to run, largest first
  std::atomic<size_t> next = 0;
};
} // namespace

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Jobs::lookUp() {
  for (size_t i = 0; i < jobs.size(); ++i) {
    double start = now();
    std::optional<std::string> object;
    if (options.cache)
      object = cache.load(jobs[i].key);
    if (object)
      results[i] = {std::move(*object), true, now() - start};
    else
      missing.push_back(i);
  }
  llvm::sort(missing, [&](size_t a, size_t b) {
    return std::pair(jobs[b].size, a) < std::pair(jobs[a].size, b);
  });
}

void Jobs::work(const std::function<llvm::Expected<RunJob>()> &createRun) {
  if (next >= missing.size())
    return;
  llvm::Expected<RunJob> run = createRun();
  std::string broken = run ? "" : llvm::toString(run.takeError());
  for (size_t i; (i = next++) < missing.size();) {
    size_t number = missing[i];
    double start = now();
    if (!broken.empty()) {
      errors[number] = broken;
      continue;
    }
    llvm::Expected<std::string> object = (*run)(number);
    if (!object) {
      errors[number] = llvm::toString(object.takeError());
      continue;
    }
    if (options.cache)
      cache.store(jobs[number].key, *object);
    results[number] = {std::move(*object), false, now() - start};
  }
}

/// To look through a full cache, tens of thousands of files, takes longer than to compile a small
/// model: one in 64 of the kernels that are stored, by their keys, has it done, and what is as much
/// as a 64th of the cache.
bool Jobs::isTrimDue() const {
  constexpr unsigned every = 64;
  uint64_t stored = 0;
  bool drawn = false;
  for (size_t i : missing) {
    stored += results[i].object.size();
    drawn |= jobs[i].key.front() % every == 0;
  }
  return drawn || stored >= options.cacheBytes / every;
}

llvm::Expected<std::vector<JobResult>>
Jobs::run(const std::function<llvm::Expected<RunJob>()> &createRun) {
  lookUp();
  runOnThreads(options.threads, missing.size(), [&] { work(createRun); });
  for (const std::string &error : errors)
    if (!error.empty())
      return llvm::createStringError(error);
  if (options.cache && !missing.empty() && isTrimDue())
    cache.trim(options.cacheBytes);
  return std::move(results);
}

llvm::Expected<std::vector<JobResult>>
codegen::runJobs(ArrayRef<Job> jobs, const CompileOptions &options,
                 const std::function<llvm::Expected<RunJob>()> &createRun) {
  return Jobs(jobs, options).run(createRun);
}
