// A compiled model, loaded.
//
//   Module  immutable, shared         what dlc wrote: entries, variables, kernels
//     State   the variables           one per training run; a clone for inference beside it
//       Context  one entry, ready to run   arena, scalars, bindings; one thread at a time
//
// Loading runs nothing of the file before all of it has been checked: ELF structure, note, ABI
// version, hash of the whole file, target, processor features, then every index, offset, size and
// name of the plan. What is checked and run is a private copy: a file that changes, shrinks or goes
// while its module is loaded makes no difference.
//
// Ownership: load() returns shared ownership; States and Contexts keep their Module loaded.
// Threads: all of a Module may be used by any number of threads at once.
#ifndef DLC_MODULE_H
#define DLC_MODULE_H

#include "dlc/plan.h"
#include "dlc/status.h"

#include <array>
#include <memory>
#include <string>

namespace dlc::runtime {

class DLC_API Module {
public:
  /// Loads `path`. Failures: Io (cannot be read), Damaged (not a module, truncated, changed,
  /// inconsistent), Unsupported (newer ABI, another target or processor). Each message is one line
  /// that begins with `path`.
  static Result<std::shared_ptr<const Module>> load(const std::string &path);

  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  const std::string &path() const;
  const Plan &plan() const;
  /// The note as it stands in the file.
  const dlc_note &note() const;
  bool compiledFor(dlc_target target) const { return note().targets >> target & 1; }
  /// "cpu"; "cuda, simt"
  std::string targetNames() const;
  /// Fails with Unsupported if it was not compiled for this target.
  Status requireTarget(dlc_target target) const;
  /// XXH3-128 of the plan as 32 hexadecimal digits: equal in two modules that compute the same in
  /// the same way.
  std::string graphHash() const;
  /// The native kernels, indexed by KernelInfo::function; for devices.
  std::span<const dlc_kernel_fn> kernelFunctions() const;

private:
  struct Impl;
  explicit Module(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace dlc::runtime

#endif
