//===- TargetCandidates.h - what a target's generators offer passes -----------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_TARGETCANDIDATES_H
#define DLC_CODEGEN_PLAN_TARGETCANDIDATES_H

#include "codegen/Compile/KernelSelector.h"
#include "passes/DL/Choice/CandidateSource.h"

namespace dlc::codegen {

/// Asks all generators of the selector's target, about expected regions on `threads` threads; 0:
/// one a core.
std::shared_ptr<dl::CandidateSource> createCandidateSource(std::shared_ptr<KernelSelector> selector,
                                                           unsigned threads = 0);

/// The same for a target by its name.
llvm::Expected<std::shared_ptr<dl::CandidateSource>> findCandidateSource(llvm::StringRef target);

} // namespace dlc::codegen

#endif
