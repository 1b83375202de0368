//===- MetricTerms.h - how a loss or metric adds up over batches and ranks ----------*- C++ -*-===//
//
// A mean over one batch says too little where the last batch is padded, ranks have other samples,
// or the data says how much a sample counts. So a loss or metric is what it is made of: sums and
// counts, which add up, and what they are multiplied by.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_BUILDERS_METRICTERMS_H
#define DLC_DIALECTS_DL_BUILDERS_METRICTERMS_H

#include "mlir/IR/Value.h"
#include <vector>

namespace dlc::dl {

/// coefficient * sum / count; count is a value of its own, the number of valid samples, or 1 if the
/// term does not depend on the data.
struct MetricTerm {
  mlir::Value sum;
  double coefficient = 1;
  bool perSample = false;
  /// f32[] or f64[], added up over batches and ranks as the sum is; null for the number of samples
  /// or 1.
  mlir::Value count = {};
};

/// Their sum.
using MetricTerms = std::vector<MetricTerm>;

MetricTerms scaled(MetricTerms terms, double factor);
/// a + factor * b. Equal sums become one term: adding a loss to itself must not double them.
MetricTerms added(MetricTerms a, const MetricTerms &b, double factor = 1);

} // namespace dlc::dl

#endif
