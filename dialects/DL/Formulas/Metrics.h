//===- Metrics.h - metrics that are counted -----------------------------------------*- C++ -*-===//
//
// Places of what is counted in a table or in histograms, which add up over batches, and what is
// made of them. Shares of right answers are single ops.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_FORMULAS_METRICS_H
#define DLC_DIALECTS_DL_FORMULAS_METRICS_H

#include "dialects/DL/Builders/TensorBuilder.h"
#include <optional>

namespace dlc::dl::formulas {

/// Like `labels`: the place in a table [classes, classes] of labels (rows) and answers, the largest
/// logits (columns). A label that is no class lies outside of it.
mlir::Value confusionPlaces(TensorBuilder &b, mlir::Value logits, mlir::Value labels, int64_t axis);

/// i32 like `logits`: the place in histograms [channels, 2, bins] of the scores sigmoid(logits) of
/// no and yes. Without an axis of channels there is one.
mlir::Value scorePlaces(TensorBuilder &b, mlir::Value logits, mlir::Value target, int64_t bins,
                        std::optional<int64_t> channelAxis);
/// The mean area under the receiver operating curves of histograms f32[channels, 2, bins], over
/// channels that have both answers, as the runtime has it: 0.5 if none has.
mlir::Value meanArea(TensorBuilder &b, mlir::Value histograms);

} // namespace dlc::dl::formulas

#endif
