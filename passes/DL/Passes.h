//===- Passes.h - passes on the dl dialect ------------------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_DL_PASSES_H
#define DLC_PASSES_DL_PASSES_H

#include "dialects/DL/DL.h"
#include "mlir/Pass/Pass.h"
#include "passes/DL/CandidateSource.h"

namespace dlc::dl {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/DL/Passes.h.inc"

/// dl-fuse for a target; null is none.
std::unique_ptr<mlir::Pass> createFuse(FuseOptions options,
                                       std::shared_ptr<CandidateSource> target);
/// The two passes that ask what the target's generators offer; not null. For dlc-opt they are
/// registered with the pipelines, as passes with the option `target`.
std::unique_ptr<mlir::Pass> createChoose(std::shared_ptr<CandidateSource> source);
std::unique_ptr<mlir::Pass> createFuseProductGradients(std::shared_ptr<CandidateSource> source);

} // namespace dlc::dl

#endif
