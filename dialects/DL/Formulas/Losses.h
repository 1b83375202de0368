//===- Losses.h - losses of each sample or element ----------------------------------*- C++ -*-===//
//
// One value a sample, or an element; who calls them adds up and divides by what counts. Losses that
// are a single op (huber, hinge, ...) stand in Ops/DLCompositeOps.td.
//
// Over classes the logits are [..., classes, ...] with the classes on `axis`, labels and results
// [...] without it. A label that is no class, as -1, has no loss of its own.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_FORMULAS_LOSSES_H
#define DLC_DIALECTS_DL_FORMULAS_LOSSES_H

#include "dialects/DL/Builders/TensorBuilder.h"

namespace dlc::dl::formulas {

/// `labels` with -1 where they are `ignored`, which may be the number of a class.
mlir::Value withoutClass(TensorBuilder &b, mlir::Value labels, int64_t ignored);
/// `perSample` where the label is one of `classes`, else 0.
mlir::Value whereClass(TensorBuilder &b, mlir::Value perSample, mlir::Value labels,
                       int64_t classes);

/// -log softmax(logits)[label], where the target is (1 - smoothing) of the label's class and
/// smoothing / classes of each.
mlir::Value softmaxCrossEntropy(TensorBuilder &b, mlir::Value logits, mlir::Value labels,
                                int64_t axis, double smoothing);
/// The same with each class's logarithm by the weight of that class: `ofLabels` are those of the
/// samples' labels, `ofClasses` those of all, [classes].
mlir::Value weightedCrossEntropy(TensorBuilder &b, mlir::Value logits, mlir::Value labels,
                                 int64_t axis, double smoothing, mlir::Value ofLabels,
                                 mlir::Value ofClasses);
/// The same of probabilities, like the logits, instead of labels; `ofClasses` may be null. No
/// gradient flows through the weights.
mlir::Value probabilityCrossEntropy(TensorBuilder &b, mlir::Value logits, mlir::Value target,
                                    int64_t axis, double smoothing, mlir::Value ofClasses);

/// Of independent yes or no answers: (1 - target) * x + (1 + (p - 1) * target) * log(1 + exp(-x)),
/// with p the weight of elements whose answer is yes; null for 1.
mlir::Value sigmoidCrossEntropy(TensorBuilder &b, mlir::Value logits, mlir::Value target,
                                mlir::Value positiveWeight);

/// With the cosine c of `left` and `right` along their last axis, which is dropped: 1 - c where the
/// sign is above 0, else max(0, c - margin).
mlir::Value cosineEmbedding(TensorBuilder &b, mlir::Value left, mlir::Value right, mlir::Value sign,
                            double margin);

/// What is counted is added up in f32, or in f64 where `x` is of it.
mlir::Value toAccumulated(TensorBuilder &b, mlir::Value x);
/// `sum` by what its terms weigh together; 0 where nothing counts.
mlir::Value meanByWeight(TensorBuilder &b, mlir::Value sum, mlir::Value total);

} // namespace dlc::dl::formulas

#endif
