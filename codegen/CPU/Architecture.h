//===- Architecture.h - the instruction sets of CPUs --------------------------------*- C++ -*-===//
//
// All that the CPU's code generator knows of an instruction set, but for what it emits by a
// generator's flags in CpuTarget. Each is a folder of codegen/CPU, and is listed in CpuTarget.cpp.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_ARCHITECTURE_H
#define DLC_CODEGEN_CPU_ARCHITECTURE_H

#include "codegen/CPU/CpuTarget.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Triple.h"

namespace dlc::codegen {

/// Features by LLVM's names; true: there.
using CpuFeatures = llvm::StringMap<bool>;

class Architecture {
public:
  /// What one bit of a module's note requires of a processor.
  struct Requirement {
    uint64_t bit; ///< dlc_cpu_feature
    CpuFeatures names;
  };
  /// One of our names of processors, and LLVM's.
  struct Alias {
    llvm::StringRef ours, theirs;
  };

  virtual ~Architecture() = default;

  /// LLVM's, of the objects.
  virtual llvm::StringRef triple() const = 0;
  /// Lets LLVM know its code generator. May be called again.
  virtual void registerBackend() const = 0;
  /// LLVM's name of a processor that has no more than all have.
  virtual llvm::StringRef plainest() const = 0;

  virtual llvm::ArrayRef<Alias> aliases() const = 0;
  /// LLVM's names, those of processors without what `requirements` begins with among them.
  virtual llvm::SmallVector<llvm::StringRef> processors() const = 0;
  virtual bool knows(llvm::StringRef cpu) const = 0;
  /// Of a known one.
  virtual CpuFeatures featuresOf(llvm::StringRef cpu) const = 0;

  /// What code may use, the first of which every processor must have.
  virtual llvm::SmallVector<Requirement> requirements() const = 0;
  /// "AVX2 and FMA": the first requirement, for messages.
  virtual llvm::StringRef need() const = 0;
  /// Sets the fields of CpuTarget that say what vectors are, by its `required`.
  virtual void setVectors(CpuTarget &target) const = 0;
};

/// All of them.
llvm::ArrayRef<const Architecture *> architectures();
/// The one of `triple`, which is one of theirs.
const Architecture &architectureOf(const llvm::Triple &triple);

const Architecture &x86();
const Architecture &arm();

} // namespace dlc::codegen

#endif
