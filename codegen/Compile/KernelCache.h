//===- KernelCache.h - compiled kernels on disk -------------------------------------*- C++ -*-===//
//
// One file a key: a header with magic, key, size and XXH3-128 of the object, then the object. Files
// appear by rename, so readers never see half of one, and any number of processes may share a
// folder. What does not match its header, or stands under the name of another key, counts as absent
// and is written anew; so does what is no file. Nothing here fails: a cache that cannot be used is
// an empty one.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_COMPILE_KERNELCACHE_H
#define DLC_CODEGEN_COMPILE_KERNELCACHE_H

#include "codegen/Kernel/KernelSpec.h"
#include <optional>

namespace dlc::codegen {

/// XXH3-128 of `text` in canonical byte order.
KernelKey hashText(llvm::StringRef text);
std::string hexadecimal(llvm::ArrayRef<uint8_t> bytes);

class KernelCache {
public:
  /// `folder` empty: $XDG_CACHE_HOME/dlc/kernels, else ~/.cache/dlc/kernels; without a home, no
  /// cache.
  explicit KernelCache(llvm::StringRef folder);

  /// The object of `key`, if there is an undamaged one. May be called from several threads.
  std::optional<std::string> load(const KernelKey &key) const;
  void store(const KernelKey &key, llvm::StringRef object) const;
  /// Deletes what killed compilers left, then the files used longest ago until at most `bytes` are
  /// left.
  void trim(uint64_t bytes) const;

private:
  std::string pathOf(const KernelKey &key) const;
  std::string folder;
};

} // namespace dlc::codegen

#endif
