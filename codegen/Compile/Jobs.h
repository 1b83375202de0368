//===- Jobs.h - objects, compiled on all cores or taken from the cache --------------*- C++ -*-===//
#ifndef DLC_CODEGEN_COMPILE_JOBS_H
#define DLC_CODEGEN_COMPILE_JOBS_H

#include "codegen/Compile/CompiledKernel.h"
#include <functional>

namespace dlc::codegen {

/// Makes one object: a kernel's, or a part of one. Its key says all that it depends on.
struct Job {
  KernelKey key;
  size_t size; ///< the largest are started first, so that they do not delay the end
};

struct JobResult {
  std::string object;
  bool fromCache = false;
  double seconds = 0;
};

/// Makes the object of a job, by its number.
using RunJob = std::function<llvm::Expected<std::string>(size_t job)>;

/// Runs those jobs that the cache does not have, on all cores; results in the order of the jobs.
/// `createRun` is called once a thread: what it returns keeps what the thread needs between jobs.
/// Fails with the message of the first job that does.
llvm::Expected<std::vector<JobResult>>
runJobs(llvm::ArrayRef<Job> jobs, const CompileOptions &options,
        const std::function<llvm::Expected<RunJob>()> &createRun);

/// What the cache keeps of a kernel of several parts: a line of their sizes, then the parts.
std::string packParts(llvm::ArrayRef<std::string> parts);
/// Empty if `packed` is not what packParts made.
std::vector<std::string> unpackParts(llvm::StringRef packed);

} // namespace dlc::codegen

#endif
